// The customers' command line against a whole service: what each line prints where, and how it
// ends. Commands run in this process; a process of their own is started where signals, pipes and
// arguments are what is tried.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readyText } from 'penstock-playground/start.ts'
import { statementCsv, statementOf } from 'penstock-service/ledger/statements/statements.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import { buildPackage } from '../../../packages/cli/build.ts'
import { secretFor } from '../../../packages/cli/src/commands/events.ts'
import { COMMANDS } from '../../../packages/cli/src/commands/table.ts'
import { ENDPOINTS } from '../../../packages/cli/src/line/endpoints.ts'
import type { Io } from '../../../packages/cli/src/line/io.ts'
import { runCommand } from '../../../packages/cli/src/run.ts'
import { type EventType, Penstock } from '../../../packages/sdk/src/penstock.ts'
import { verifyWebhook } from '../../../packages/sdk/src/webhooks.ts'
import { ROOT } from '../../../tools/source.ts'
import { eventually } from '../../harness/eventually.ts'
import { startSandbox } from '../../harness/sandbox.ts'
import { withoutTriggers } from '../../harness/without_triggers.ts'
import { freePort } from '../../runtimes/runtimes.ts'

const run = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'penstock-cli-'))
const local = await startSandbox()
const { api_url, customer, sandbox, sql } = local
await writeFile(join(folder, 'ready.json'), readyText(local))
const program = await buildPackage(join(folder, 'built'))
after(async () => {
  await local.close()
  await rm(folder, { recursive: true })
})
const { token, secret } = customer
const penstock = new Penstock({ url: api_url, token, secret })
const [address, other] = sandbox.funded_accounts.map((account) => account.address) as [
  string,
  string,
]
const home = { XDG_CONFIG_HOME: join(folder, 'config'), XDG_CACHE_HOME: join(folder, 'cache') }
const signed = { PENSTOCK_URL: api_url, PENSTOCK_TOKEN: token, PENSTOCK_SECRET: secret, ...home }
const nobody = { XDG_CONFIG_HOME: join(folder, 'nobody'), XDG_CACHE_HOME: join(folder, 'nobody') }

type Setting = Partial<Omit<Io, 'input'>> & { input?: string; shows_secret?: boolean }

/** What a line prints, and its exit code. Nothing that it prints has the key in it. */
async function cli(line: string | readonly string[], setting: Setting = {}) {
  const { input = '', env = signed, signal = AbortSignal.timeout(120_000), ...more } = setting
  let [out, err] = ['', '']
  const io: Io = {
    env,
    out: (text) => (out += text),
    err: (text) => (err += text),
    input: async () => input,
    ask: undefined,
    color: false,
    columns: undefined,
    signal,
    ...more,
  }
  const args = typeof line === 'string' ? line.split(' ').filter(Boolean) : line
  const code = await runCommand(args, '1.2.3', io)
  for (const hidden of [token, secret]) assert.ok(!(out + err).includes(hidden), args.join(' '))
  return { code, out, err }
}

const json = async (line: string, setting?: Setting): Promise<unknown> => {
  const { code, out, err } = await cli(`${line} --json`, setting)
  assert.equal(code, 0, `${line}: ${err}`)
  return JSON.parse(out)
}

const rows = async (line: string): Promise<Record<string, unknown>[]> => {
  const { code, out, err } = await cli(`${line} --json`)
  assert.equal(code, 0, `${line}: ${err}`)
  return out
    .split('\n')
    .filter(Boolean)
    .map((one) => JSON.parse(one) as Record<string, unknown>)
}

type Case = [line: string, code: number, out?: RegExp, err?: RegExp, setting?: Setting]

async function tryAll(cases: readonly Case[]) {
  for (const [line, expected, on_out, on_err, setting] of cases) {
    const { code, out, err } = await cli(line, setting)
    assert.equal(code, expected, `penstock ${line}: ${JSON.stringify(out + err)}`)
    assert.match(out, on_out ?? /^$/, `penstock ${line}: ${JSON.stringify(out)}`)
    assert.match(err, on_err ?? /^$/, `penstock ${line}: ${JSON.stringify(err)}`)
  }
}

const NOTHING = /^$/
/** What begins what steers a terminal. */
const ESCAPE = '\x1b'
const JSON_OUT = /^[{[]/
const gone = { ...signed, PENSTOCK_URL: `http://127.0.0.1:${await freePort()}` }
const wrong = { ...signed, PENSTOCK_SECRET: 'pss_wrong' }

test('what is typed wrongly ends with 2 and says what was meant', async () => {
  await tryAll([
    ['', 0, /orders list/],
    ['--help', 0, /Exit codes/],
    ['-h', 0, /orders list/],
    ['help', 0, /orders list/],
    ['--version', 0, /^1\.2\.3\n$/],
    ['-v', 0, /^1\.2\.3\n$/],
    ['orders --help', 0, /orders timeline/],
    ['keys -h', 0, /keys rotate/],
    ['buy --help', 0, /energy\|bandwidth\|bundle\|activation/],
    ['orders list --help', 0, /--external-id-prefix/],
    ['keys create -h', 0, /--daily-cap/],
    ['balanse', 2, NOTHING, /do you mean balance/],
    ['orders', 2, NOTHING, /orders what: list, show/],
    ['orders shwo', 2, NOTHING, /do you mean show/],
    ['orders --json', 2, NOTHING, /orders what/],
    ['nothing at all', 2, NOTHING, /no command nothing/],
    ['balance extra', 2, NOTHING, /does not take "extra"/],
    ['balance --jsno', 2, NOTHING, /do you mean --json/],
    ['balance --json=1', 2, NOTHING, /takes no value/],
    ['orders list --limit', 2, NOTHING, /--limit has no value/],
    ['orders list --limit --json', 2, NOTHING, /--limit has no value/],
    ['orders list --limit x', 2, NOTHING, /whole number/],
    ['orders list --limit 0', 2, NOTHING, /1 at least/],
    ['orders list --limit 1 --all', 2, NOTHING, /not both/],
    ['orders list --limit 1 --limit 2', 2, NOTHING, /more than once/],
    ['orders list --status done', 2, NOTHING, /new, pending, success or failed/],
    ['orders list --status succes', 2, NOTHING, /do you mean success/],
    ['orders show', 2, NOTHING, /ORDER is missing/],
    ['aml show', 2, NOTHING, /ID is missing/],
    ['notices show w', 2, NOTHING, /NUMBER is missing/],
    ['notices show w x', 2, NOTHING, /whole number/],
    ['keys create', 2, NOTHING, /NAME is missing/],
    ['keys create a', 2, NOTHING, /--scopes is missing/],
    ['keys create a --scopes red', 2, NOTHING, /do you mean read/],
    ['keys create a --name b', 2, NOTHING, /the same field/],
    ['settings set --balance-low much', 2, NOTHING, /a number/],
    ['statement --month 2026-13', 2, NOTHING, /like 2026-10/],
    ['statement --month 2026-10 --since 2026-10-01', 2, NOTHING, /without --since/],
    ['statement --since yesterday', 2, NOTHING, /invalid_service_or_params\.since/],
    ['invoices show soon', 2, NOTHING, /no number and no month/],
    ['buy gold T', 2, NOTHING, /energy, bandwidth/],
    [`buy energy ${address}`, 2, NOTHING, /AMOUNT is missing/],
    [`buy energy ${address} 1 2 --yes`, 2, NOTHING, /only a bundle/],
    [`buy bundle ${address} 65000 --yes`, 2, NOTHING, /ENERGY BANDWIDTH/],
    [`buy activation ${address} 5 --yes`, 2, NOTHING, /no amount/],
    [`buy energy ${address} 65000`, 2, NOTHING, /2\.93 TRX\nNobody is here to ask/],
    [`buy energy ${address} 1 --yes`, 2, NOTHING, /invalid_energy_amount/],
    [`buy energy ${address} 65000 --wait forever --yes`, 2, NOTHING, /success, solid or ended/],
    ['buy energy T 65000 --yes', 2, NOTHING, /./],
    [`buy energy ${address} 65000 --yes --external-id=`, 2, NOTHING, /--external-id is empty/],
    [`aml check ${address} --idempotency-key=`, 2, NOTHING, /--idempotency-key is empty/],
    ['call balance', 2, NOTHING, /no path/],
    ['call /v1/balance {', 2, NOTHING, /no JSON/],
    ['call /v1/transaction/check []', 2, NOTHING, /./],
    ['sign', 2, NOTHING, /PATH is missing/],
    ['completion tcsh', 2, NOTHING, /bash, zsh or fish/],
    ['login --with-key --sandbox x', 2, NOTHING, /--with-key/],
    ['login --with-key', 2, NOTHING, /two lines/, { env: nobody }],
    ['login --with-key --url ftp:x', 2, NOTHING, /no address/, { env: nobody, input: 'a\nb' }],
    ['login --with-key --profile __proto__', 2, NOTHING, /1 to 64/, { env: nobody }],
    ['login --with-key --profile a/b', 2, NOTHING, /profile is 1 to 64/, { env: nobody }],
    ['listen --print-secret', 2, NOTHING, /--forward-to/],
    ['listen --forward-to nowhere', 2, NOTHING, /no URL/],
    ['trigger', 2, NOTHING, /TYPE is missing/],
    ['trigger order.done', 2, NOTHING, /order\.created/],
    ['trigger order.ended --real', 2, NOTHING, /login --sandbox/],
  ])
})

test('what is refused, missing or not allowed has a code of its own', async () => {
  const env = (more: object) => ({ env: more as Record<string, string> })
  const fails = { ...signed, PENSTOCK_URL: await answering(503) }
  await tryAll([
    ['balance', 3, NOTHING, /penstock login/, env(nobody)],
    [`login --url ${gone.PENSTOCK_URL}`, 4, NOTHING, /not sent: ECONNREFUSED/, env(nobody)],
    ['orders list', 3, NOTHING, /not signed in/, env(nobody)],
    ['doctor', 3, NOTHING, /not signed in/, env(nobody)],
    ['balance', 3, NOTHING, /belong together/, env({ ...signed, PENSTOCK_URL: '' })],
    ['balance', 3, NOTHING, /belong together/, env({ ...nobody, PENSTOCK_TOKEN: token })],
    ['balance --profile x', 3, NOTHING, /no profile x/, env(nobody)],
    ['balance', 3, NOTHING, /no profile y/, env({ ...signed, PENSTOCK_PROFILE: 'y' })],
    ['balance', 3, NOTHING, /auth.*request/, env(wrong)],
    ['balance --quiet', 3, NOTHING, /auth/, env(wrong)],
    ['balance --json', 3, NOTHING, /^\{"code":1,"key":"auth","error":.*"exit":3\}\n$/, env(wrong)],
    ['doctor', 1, /fail {2}signatures/, NOTHING, env(wrong)],
    ['orders show nothing', 1, NOTHING, /There is no order nothing/],
    [`orders show ${'0'.repeat(64)}`, 1, NOTHING, /There is no order 0/],
    ['orders timeline nothing', 1, NOTHING, /not_found|Transaction not found|request/],
    ['aml show nothing', 1, NOTHING, /request/],
    ['webhooks show nothing', 1, NOTHING, /not_found\.webhook/],
    ['keys revoke nothing', 1, NOTHING, /not_found\.key/],
    ['events show 999999', 1, NOTHING, /not_found\.event/],
    ['invoices show 7', 1, NOTHING, /not_found/],
    ['invoices show 2020-01', 1, NOTHING, /no invoice of 2020-01/],
    [`deposits public ${'0'.repeat(64)}`, 1, NOTHING, /No block/],
    ['profiles use x', 1, NOTHING, /no profile x/, env(nobody)],
    ['profiles remove x', 1, NOTHING, /no profile x/, env(nobody)],
    ['logout', 1, NOTHING, /no profile in use/, env(nobody)],
    ['login --sandbox /nowhere', 1, NOTHING, /npm start first/, env(nobody)],
    [`buy energy ${address} 65000 --max 1`, 1, NOTHING, /more than --max/],
    ['receipts verify /nowhere --keys /nowhere', 1, NOTHING, /ENOENT/],
    ['balance', 4, NOTHING, /not sent: ECONNREFUSED/, env(gone)],
    ['doctor', 1, /fail {2}answer: ECONNREFUSED/, NOTHING, env(gone)],
    ['keys revoke x', 4, NOTHING, /not sent: ECONNREFUSED/, env(gone)],
    [`buy energy ${address} 65000 --yes`, 4, NOTHING, /not sent: ECONNREFUSED/, env(gone)],
    [`buy energy ${address} 65000 --yes`, 4, NOTHING, /503/, env(fails)],
    ['balance', 4, NOTHING, /503/, env(fails)],
    ['call /v1/nothing {}', 1, NOTHING, /Method not found/],
  ])
})

/** A server that answers everything with a status. Returns its address. */
async function answering(status: number): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'retry-after': '0' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('what reads prints text for people and the fields of the wire for programs', async () => {
  await tryAll([
    ['balance', 0, /^balance {2}\d+/],
    ['balance --json', 0, /^\{\n {2}"balance": \d+/],
    ['whoami', 0, /scopes +read, buy/],
    ['status', 0, /network.*\n(.*\n)*balance/],
    ['service status', 0, /^parts\n {2}part +state +up minutes[\s\S]*^ {2}purchase +\d+ +0/m],
    ['service status --json', 0, /"bounds_ms"/],
    ['services', 0, /energy\n {2}duration/],
    ['services --json', 0, JSON_OUT],
    ['prices history', 0, /tiers/],
    ['prices history energy --json', 0, JSON_OUT],
    ['prices recharge', 0, /rates/],
    [`calculate ${address} 65000`, 0, /total/],
    [`calculate ${address} 345 bandwidth --duration 1 --json`, 0, /"bandwidth"/],
    [`quote energy ${address} 65000`, 0, /duration +1/],
    [`estimate ${address} ${other}`, 0, /fee limit/],
    [`address ${address}`, 0, /TRX/],
    ['pool forecast energy 24', 0, /largest order/],
    ['summary --bucket hour --json', 0, /"buckets"/],
    ['settings show', 0, /balance low +-/],
    ['settings set --balance-low 5 --ending-minutes 10', 0, /balance low +5 TRX\n/],
    ['settings set --balance-low 0 --ending-minutes 0 --json', 0, /"balance_low": null/],
    ['refusals list --limit 2', 0, /request id/],
    ['refusals list --code 9999 --json', 0, NOTHING],
    ['deposits list', 0, /credited/],
    ['deposits list --state held', 0, /^none\n$/],
    ['deposits list --state held --json', 0, NOTHING],
    ['invoices list', 0, /none/],
    ['orders list', 0, /none|status/],
    ['subscriptions plans', 0, /^unlimited_energy$[\s\S]*activation fee/m],
    ['subscriptions list --json', 0, NOTHING],
    ['aml prices', 0, /price/],
    ['aml list', 0, /none/],
    ['watches list', 0, /none/],
    ['keys list', 0, /sandbox/],
    ['keys list --all --json', 0, /^\{"id"/],
    ['users list', 0, /owner/],
    ['sessions list', 0, /none|browser/],
    ['actions list', 0, /settings\/change/],
    ['actions list --subject settings --limit 1 --json', 0, /^\{"number":\d+.*\n$/],
    ['webhooks list', 0, /none/],
    ['notices list', 0, /none/],
    ['events list --limit 3', 0, /deposit\.credited/],
    ['events list --types deposit.credited --limit 1 --json', 0, /"deposit\.credited"/],
    ['events show 1', 0, /number +1\n/],
    ['statement', 0, /deposit/],
    ['statement --since 2026-01-01 --json', 0, /"kind":"move"/],
    ['statement --month 2020-01', 0, /^none\n$/],
    ['doctor', 0, /ok {4}stream: open/],
    ['doctor --json', 0, /"what": "clock"/],
    ['doctor', 0, /\[32mok/, NOTHING, { color: true }],
    ['call /v1/balance', 0, JSON_OUT],
    ['call /v1/balance {}', 0, JSON_OUT],
    [
      'call /v1/events/list - --json',
      0,
      /"number": 1/,
      NOTHING,
      { input: '{"limit":1,"after":0}' },
    ],
    ['profiles list', 0, /^none\n$/],
    ['completion bash', 0, /complete -o default -F _penstock penstock/],
    ['completion zsh', 0, /compdef/],
    ['completion fish', 0, /complete -c penstock/],
  ])
  assert.deepEqual(((await json('whoami')) as { key: object }).key, (await penstock.whoami()).key)
  assert.deepEqual(await json('services'), { ...(await penstock.services.list()) })
  const deposits = await Array.fromAsync(penstock.deposits.list())
  assert.deepEqual(await rows('deposits list'), deposits)
  assert.deepEqual(await json(`deposits show ${deposits[0]!.tx_id}`), {
    ...(await penstock.deposits.check(deposits[0]!.tx_id)),
  })
})

test('sign shows what is hashed, and the headers that it makes', async () => {
  const body = '{"id":"o-1"}'
  const value = (await json(`sign /v1/transaction/check ${body}`)) as {
    x_signature_is_of: string
    headers: Record<string, string>
  }
  assert.equal(value.x_signature_is_of, `${body}<secret>`)
  const digest = createHash('sha256')
    .update(body + secret)
    .digest('hex')
  assert.equal(value.headers['x-signature'], digest)
  assert.equal(value.headers.authorization, 'Bearer <token>')
})

test('a profile is made, used and forgotten; others must not be able to read it', async () => {
  const env = { ...home, XDG_CONFIG_HOME: join(folder, 'profiles') }
  const file = join(folder, 'profiles', 'penstock', 'profiles.json')
  const input = `${token}\n${secret}\n`
  const at = { env, input }
  assert.equal((await cli(`login --with-key --url ${api_url} --profile main`, at)).code, 0)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await cli(`login --sandbox ${folder}`, { env })).code, 0)
  const typed = [token, secret]
  const ask = async (_: string, hidden?: boolean) => (hidden ? typed.shift()! : '')
  const asked = await cli(`login --with-key --url ${api_url} --profile typed`, { env, ask })
  assert.equal(asked.code, 0)
  const refused = { env, input: `${token}\npss_wrong\n` }
  await tryAll([
    ['profiles list', 0, /main .*no[^\n]*\n(.*\n)*typed .*yes/, NOTHING, { env }],
    ['profiles use main', 0, /main/, NOTHING, { env }],
    ['balance', 0, /balance/, NOTHING, { env }],
    ['balance --profile sandbox', 0, /balance/, NOTHING, { env }],
    ['balance', 0, /balance/, NOTHING, { env: { ...env, PENSTOCK_PROFILE: 'typed' } }],
    [`login --with-key --url ${api_url} --profile bad`, 3, NOTHING, /auth/, refused],
    ['balance --profile bad', 3, NOTHING, /no profile bad/, { env }],
    ['profiles remove typed', 0, /typed/, NOTHING, { env }],
    ['logout', 0, /main/, NOTHING, { env }],
    ['balance', 3, NOTHING, /not signed in/, { env }],
  ])
  await chmod(file, 0o644)
  await tryAll([
    ['balance --profile sandbox', 3, NOTHING, /Others can read/, { env }],
    ['profiles list', 3, NOTHING, /chmod 600/, { env }],
    ['login --sandbox /nowhere', 1, NOTHING, /npm start/, { env }],
    [`login --sandbox ${folder}`, 3, NOTHING, /Others can read/, { env }],
  ])
  await chmod(file, 0o600)
  await writeFile(file, 'not JSON')
  await tryAll([['balance --profile sandbox', 1, NOTHING, /is broken/, { env }]])
})

test('a purchase shows its price, asks, and is made once under its id', async () => {
  const answers = (answer: string) => ({ ask: async () => answer })
  const line = `buy energy ${address} 65000`
  await tryAll([
    [line, 1, NOTHING, /Nothing is bought/, answers('n')],
    [line, 1, NOTHING, /Nothing is bought/, answers('')],
    [`${line} --max 2.92`, 1, NOTHING, /more than --max/],
    [`${line} --quiet --max 3`, 0, /status +new/],
    [`${line} --external-id asked`, 0, /asked/, /2\.93 TRX/, answers('y')],
  ])
  const bought = (await json(`${line} --external-id once --yes --wait`)) as {
    id: string
    hash: string
  }
  for (const other_line of [`buy energy ${address} 65001`, `buy energy ${other} 65000`])
    await tryAll([[`${other_line} --external-id once --yes`, 1, NOTHING, /another purchase/]])
  const again = await cli(`${line} --external-id once --yes`)
  assert.match(again.err, new RegExp(`Nothing is bought: once is the order ${bought.id}`))
  const { order } = { order: await penstock.orders.check({ external_id: 'once' }) }
  assert.deepEqual([order.id, order.status], [bought.id, 'success'])
  for (const name of [bought.id, 'once', bought.hash])
    assert.deepEqual(await json(`orders show ${name}`), { ...order }, name)
  assert.ok((await rows(`orders show ${address}`)).some(({ id }) => id === bought.id))
  const receipt = join(folder, 'receipt.jws')
  const { out: jws } = await cli(`receipts get ${bought.id}`)
  await writeFile(receipt, jws)
  const keys = join(folder, 'keys.json')
  await writeFile(keys, JSON.stringify(await penstock.receipts.keys()))
  await tryAll([
    ['receipts get nothing', 1, NOTHING, /request/],
    [`receipts verify ${receipt}`, 0, new RegExp(bought.id)],
    [`receipts verify ${receipt} --keys ${keys}`, 0, /state +delivered/, NOTHING, { env: nobody }],
    [`receipts verify ${keys} --keys ${keys}`, 1, NOTHING, /./, { env: nobody }],
  ])
  const timeline = (await json('orders timeline once')) as { sentence: string }
  assert.match(timeline.sentence, /./)
  const bundle = (await json(`buy bundle ${address} 65000 345 --yes`)) as { params: object }
  assert.deepEqual(Object.values(bundle.params)[1], { energy: 65_000, bandwidth: 345 })
  assert.equal((await rows('orders list --all --service energy')).length, 3)
  assert.equal((await rows('orders list --limit 2')).length, 2)
})

/** What the service answers to a request that somebody in front of it hands on. */
async function sentOn(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => /^(auth|x-|content-type|idem)/.test(name)),
  ) as Record<string, string>
  const body = Buffer.concat(parts)
  const answer = await fetch(api_url + request.url, { method: 'POST', headers, body })
  return answer.text()
}

test('a purchase whose answer is lost ends with 5 and the line that finds out', async () => {
  let lost = 0
  const server = createServer(async (request, response) => {
    const text = await sentOn(request)
    // It is done, and nobody hears of it.
    if (/new$/.test(request.url!) && lost++ < 3) request.socket.destroy()
    else response.setHeader('content-type', 'application/json').end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { ...signed, PENSTOCK_URL: url }
  const { code, out, err } = await cli(`buy energy ${other} 65000 --yes`, { env })
  assert.deepEqual([code, out], [5, ''])
  const line = /^penstock (.* --external-id \w+)$/m.exec(err)?.[1]
  assert.ok(line, err)
  const found = await cli(`${line} --json`, { env })
  assert.equal(found.code, 0)
  const [only, ...more] = await rows(`orders list --address ${other}`)
  assert.deepEqual([only!.id, more], [(JSON.parse(found.out) as { id: string }).id, []])
  lost = 0
  const key = await cli('keys create lost --scopes read', { env })
  assert.deepEqual([key.code, key.out], [5, ''])
  assert.match(key.err, /look before you do it again/)
  lost = 0
  const body = '{"name":"lost","scopes":["read"]}'
  const called = await cli(['call', '/v1/key/new', body], { env })
  assert.deepEqual([called.code, called.out], [5, ''])
  lost = 0
  const ended = await cli(`buy energy --yes --json -- ${other} 65001`, { env })
  const { external_id, error, exit } = JSON.parse(ended.err.split('\n').at(-2)!) as JsonError
  const [, typed] = error.split('\n')
  assert.equal(
    typed,
    `penstock buy energy --yes --json --external-id ${external_id} -- ${other} 65001`,
  )
  assert.equal(exit, 5)
  server.closeAllConnections()
  server.close()
})

type JsonError = { external_id: string; error: string; exit: number }

/** A service that buys, and does not tell what becomes of it. Returns its address. */
async function silentAfterwards(): Promise<string> {
  const server = createServer(async (request, response) => {
    const silent = /check$/.test(request.url!)
    const text = silent ? '{"code":20,"error":"Not now"}' : await sentOn(request)
    response.setHeader('content-type', 'application/json').end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('what is bought but not seen to its end can be asked for again', async () => {
  const env = { ...signed, PENSTOCK_URL: await silentAfterwards() }
  const [orders, checks] = [await rows('orders list --all'), await rows('aml list --all')]
  for (const line of [`buy energy ${other} 65002 --yes --wait`, `aml check ${other}`]) {
    const { code, out, err } = await cli(`${line} --quiet`, { env })
    assert.deepEqual([code, out], [5, ''], err)
    const [, again] = /^penstock (.* --(?:external-id|idempotency-key) \w+)$/m.exec(err)!
    const found = JSON.parse((await cli(`${again} --json`)).out) as { id: string }
    assert.ok(err.includes(found.id), err)
  }
  assert.equal((await rows('orders list --all')).length, orders.length + 1)
  assert.equal((await rows('aml list --all')).length, checks.length + 1)
})

test('Ctrl-C while an order is waited for says which it is, and how to go on', async (t) => {
  const end = new AbortController()
  // Who asks how an order is knows its number.
  const knows = Promise.withResolvers<void>()
  const { fetch: send } = globalThis
  t.mock.method(globalThis, 'fetch', (...request: Parameters<typeof fetch>) => {
    if (String(request[0]).endsWith('/v1/transaction/check')) knows.resolve()
    return send(...request)
  })
  const line = `buy energy ${other} 65003 --yes --wait ended --quiet`
  const placed = async () =>
    (await sql`select from orders where energy = 65003 and address = ${other}`).length > 0
  assert.equal(await placed(), false)
  const running = cli(line, { signal: end.signal })
  await Promise.race([knows.promise, running])
  assert.equal(await placed(), true)
  end.abort(new Error('interrupted'))
  const { code, err } = await running
  assert.equal(code, 130)
  const [, id, external_id] = /order (\S+) is placed(?:.*\n)+.*--external-id (\w+)\n/.exec(err)!
  assert.equal((await penstock.orders.check({ external_id: external_id! })).id, id)
})

test('keys, webhooks, watches, checks and subscriptions are made, changed and ended', async () => {
  const made = (await json('keys create second --scopes read,buy --daily-cap 5')) as {
    key: { id: string; scopes: string[]; daily_cap: number }
    secret: string
  }
  const { id } = made.key
  assert.deepEqual([made.key.scopes, made.key.daily_cap], [['read', 'buy'], 5])
  const changed = (await json(`keys change ${id} --daily-cap none --no-require-v2`)) as object
  assert.ok('daily_cap' in changed && changed.daily_cap === null)
  assert.match((await cli(`keys rotate ${id} --overlap-hours 1`)).out, /secret/)
  assert.match((await cli(`keys revoke ${id}`)).out, /revoked at +20/)
  const hook = (await json(
    'webhooks create http://127.0.0.1:59999/ --types order.ended,key.created',
  )) as {
    webhook: { id: string; types: string[] }
  }
  assert.deepEqual(hook.webhook.types, ['order.ended', 'key.created'])
  const webhook = hook.webhook.id
  await tryAll([
    [`webhooks change ${webhook} --state off --description ours`, 0, /ours/],
    [`webhooks change ${webhook} --state on --from-now`, 0, /state +on/],
    [`webhooks test ${webhook} order.ended`, 0, /error +\w+/],
    [`webhooks rotate ${webhook} --overlap-hours 0`, 0, /whsec_/],
    [`webhooks replay ${webhook} --after 0 --which all`, 0, /notices +\d+/],
    [`webhooks show ${webhook} --json`, 0, /"state": "on"/],
    [`notices show ${webhook} 1`, 0, /key\.created/],
    [`webhooks remove ${webhook}`, 0, /removed +yes/],
    [`watches add ${other}`, 0, /since/],
    ['watches list', 0, new RegExp(other)],
    [`watches remove ${other}`, 0, /address/],
    [`aml check ${address}`, 0, /risk level +(low|medium|high)/],
    ['aml list --limit 1', 0, /completed|pending/],
    ['quote energy T 65000 --duration 1', 2, NOTHING, /./],
  ])
  const quote = (await json(`quote energy ${address} 65000 --duration 1`)) as { id: string }
  assert.match((await cli(`quotes accept ${quote.id}`)).out, /status +new/)
  const check = (await rows('aml list --limit 1'))[0] as { id: string }
  assert.match((await cli(`aml report ${check.id}`)).out, /sha256/)
  const plans = Object.entries(await penstock.subscriptions.plans()) as [
    string,
    { transactions_limit: number },
  ][]
  const [plan] = plans.find(([, { transactions_limit }]) => transactions_limit === 0)!
  const started = (await json(`subscriptions start ${plan} ${other} --external-id s1`)) as {
    id: string
  }
  assert.match((await cli(`subscriptions show ${started.id}`)).out, /s1/)
  assert.match((await cli(`subscriptions uses ${started.id}`)).out, /none/)
  while ((await penstock.subscriptions.check(started.id)).status !== 'active') await delay(50)
  await tryAll([[`subscriptions stop ${started.id}`, 0, /stopped at/]])
})

test('the CSV of a statement has the bytes of what the operator prints', async () => {
  const wanted = { customer_id: customer.customer_id, since: undefined, until: undefined }
  const statement = await statementOf(sql, wanted)
  assert.ok(statement.lines.length > 5)
  const since = new Date(statement.lines[2]!.made_at.getTime() + 1_000)
  const text = since.toISOString().slice(0, 19)
  for (const [line, range] of [
    ['statement --csv', wanted],
    [`statement --csv --since ${text}Z`, { ...wanted, since: new Date(`${text}Z`) }],
  ] as const) {
    const csv = async () => statementCsv(await statementOf(sql, range))
    // What was bought above is still charged: until nothing was booked meanwhile.
    const [expected, printed] = await eventually('both at one time', async () => {
      const before = await csv()
      const { out } = await cli(line)
      return (await csv()) === before && ([before, out] as const)
    })
    assert.equal(printed, expected)
  }
})

/** Texts that a CSV must quote, or that a spreadsheet would take for a formula. */
const ODD_IDS = ['a,b', 'a "b"', 'a\nb', '=1+1', '-1', '@a', 'ж', '']

/** A customer with purchases that are charged: two entries each. Returns what signs for it. */
async function customerWithEntries(entries: number) {
  const needs = { ...local.app, clock: systemClock, random: systemRandom }
  const { id, ...key } = await sql.begin(async (tx) => {
    const { id: customer_id } = await createCustomer(tx, needs, { name: 'many' })
    const scopes = ['read', 'money'] as const
    return { id: customer_id, ...(await issueKey(tx, needs, { customer_id, name: 'k', scopes })) }
  })
  await withoutTriggers(sql, async (tx) => {
    await tx`
    with made as (
      select 'many' || lpad(n::text, 22, '0') as id,
        (${ODD_IDS}::text[])[n % ${ODD_IDS.length}::integer + 1] || n as external_id,
        timestamptz '2026-01-01' + n * interval '1 minute' as at
      from generate_series(1, ${entries / 2}::integer) as n
    ), placed as (
      insert into orders (id, customer_id, external_id, service, address, energy, activate,
        to_delegate, amount_sun, due_at, created_at, state, tx_id)
      select id, ${id}, external_id, 'energy', 'T' || substr(id, 15), 65000, false, false,
        2930000, at, at, 'success', id from made
    ), held as (
      insert into transfer (id, kind, debit, credit, amount_sun, made_at)
      select 'order:' || id, 'hold', 'customer:' || ${id}::text, 'revenue', 2930000, at from made
    )
    select 1`
    await tx`
    insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
    select id || '/capture', 'capture', id, debit, credit, amount_sun,
      made_at + interval '3 seconds'
    from transfer where kind = 'hold' and debit = 'customer:' || ${id}::text`
  })
  return { id, ...key }
}

test('the CSV of 10,000 lines is equal bytes from SDK, command line and operators', async () => {
  const { id, token, secret } = await customerWithEntries(10_000)
  const { out } = await cli('statement --csv', {
    env: { ...home, PENSTOCK_URL: api_url, PENSTOCK_TOKEN: token, PENSTOCK_SECRET: secret },
  })
  // Some ids have a line end of their own: lines end with both characters.
  assert.equal(out.split('\r\n').length, 1 + 1 + 10_000 + 1 + 1)
  const from_sdk = await new Penstock({ url: api_url, token, secret }).statement.csv()
  const admin = [`${ROOT}packages/service/src/main.ts`, 'customers', 'statement', id, '--csv']
  const env = { ...process.env, DATABASE_URL: local.database_url }
  const { stdout } = await run(process.execPath, admin, { env, maxBuffer: 16_000_000 })
  assert.ok(from_sdk === out, 'the SDK has other bytes')
  assert.ok(stdout === out, 'operators have other bytes')
})

test('text that others have chosen does not steer a terminal', async () => {
  const external_id = 'x\x1b[31m\u202ex'
  const params = { address, amount: 65_000, duration: 1 }
  await penstock.orders.create({ service: 'energy', params, external_id })
  const shown = await cli(['orders', 'show', external_id])
  assert.match(shown.out, /x·\[31m·x/)
  const printed = (await cli(['orders', 'show', external_id, '--json'])).out
  assert.ok(![ESCAPE, '\u202e'].some((one) => printed.includes(one)))
})

test('events are handed on, signed with a secret that stays the same', async (t) => {
  const heard: { body: string; headers: Record<string, string> }[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const headers = request.headers as Record<string, string>
    heard.push({ body: Buffer.concat(parts).toString(), headers })
    response.writeHead(heard.length === 1 ? 200 : 500).end('ignored')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const place = `:${(server.address() as AddressInfo).port}/hook`
  const end = new AbortController()
  let printed = ''
  const listening = cli(`listen --forward-to ${place} --types order.ended`, {
    signal: end.signal,
    out: (text) => (printed += text),
  })
  const found = await cli(`listen --forward-to ${place} --print-secret`)
  assert.equal(found.out.trim(), secretFor(secret, `http://127.0.0.1${place}`))
  while (heard.length < 2) {
    assert.equal((await cli('trigger order.ended')).code, 0)
    await delay(100)
  }
  while (!/500/.test(printed)) await delay(10)
  end.abort(new Error('interrupted'))
  assert.equal((await listening).code, 130)
  assert.match(printed, /^\d+ order\.ended test:\w+ → 200 \d+ ms\n\d+ order\.ended .* → 500/)
  const event = await verifyWebhook(heard[0]!.body, heard[0]!.headers, found.out.trim())
  assert.equal(event.test, true)
})

test('every line of the documentation does what it says', async () => {
  const page = await readFile(`${ROOT}docs/customers/cli.md`, 'utf8')
  const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text!)
  const lines = blocks.join('').match(/^penstock .*$/gm)!
  assert.ok(lines.length > 15)
  for (const line of lines) {
    const words = line.replace('$ADDRESS', address).replaceAll("'", '').split(' ').slice(1)
    const { code, out, err } = await cli(words)
    assert.equal(code, 0, `${line}: ${err}`)
    assert.ok(out.length > 0, line)
  }
})

/** Those that need few blocks; a purchase that fails, or is over, takes its time. */
const TYPES_TRIED: EventType[] = [
  'order.succeeded',
  'deposit.credited',
  'deposit.held',
  'deposit.gone',
  'subscription.used',
  'aml_check.completed',
  'freeze.lifted',
  'key.revoked',
  'key.cap_reached',
  'balance.low',
  'webhook.enabled',
]

test('what a sandbox can bring about really happens', async () => {
  const env = { ...home, XDG_CONFIG_HOME: join(folder, 'real') }
  assert.equal((await cli(`login --sandbox ${folder}`, { env })).code, 0)
  const [settings, keys] = [await json('settings show'), (await rows('keys list --all')).length]
  const at = { env, signal: AbortSignal.timeout(400_000) }
  for (const type of TYPES_TRIED) {
    const event = (await json(`trigger ${type} --real`, at)) as { type: string; test: boolean }
    assert.deepEqual([event.type, event.test], [type, false])
  }
  // What was changed for that is as before.
  assert.deepEqual(await json('settings show'), settings)
  const left = (await rows('keys list --all')).filter(({ revoked_at }) => revoked_at === null)
  assert.ok((await rows('keys list --all')).length > keys)
  assert.deepEqual(left.map(({ name }) => name).includes('trigger'), false)
  for (const noun of ['webhooks', 'watches']) assert.deepEqual(await rows(`${noun} list`), [])
  await tryAll([['trigger invoice.issued --real', 2, NOTHING, /does not bring/, { env }]])
})

test('every endpoint has a command, and a command calls endpoints that there are', async () => {
  const called = new Set(
    COMMANDS.flatMap(({ path, also = [] }) => [...also, ...(path ? [path] : [])]),
  )
  const document = JSON.parse(await readFile(`${ROOT}packages/service/openapi.json`, 'utf8')) as {
    paths: object
  }
  assert.deepEqual([...called].sort(), Object.keys(document.paths).sort())
  assert.deepEqual(
    Object.keys(ENDPOINTS),
    Object.keys(document.paths).filter((path) => path in ENDPOINTS),
  )
  const words = COMMANDS.map((command) => command.words)
  assert.equal(new Set(words).size, words.length)
})

const typed = async (words: readonly string[]) =>
  (await cli(['complete', '--', ...words])).out.split('\n').filter(Boolean)

test('nouns, verbs, options, types, profiles and ids are completed', async () => {
  await cli('orders list')
  const [first] = await rows('orders list --limit 1')
  assert.deepEqual(await typed(['ord']), ['orders'])
  assert.deepEqual(await typed(['orders', 't']), ['timeline'])
  assert.deepEqual(await typed(['orders', 'list', '--ext']), ['--external-id-prefix'])
  assert.deepEqual(await typed(['orders', 'list', '--status', 's']), ['success'])
  assert.deepEqual(await typed(['buy', 'b']), ['bandwidth', 'bundle'])
  assert.deepEqual(await typed(['trigger', 'invoice']), ['invoice.issued'])
  assert.ok((await typed(['orders', 'show', ''])).includes(String(first!.id)))
  assert.deepEqual(await typed(['nothing', '']), [])
  // What a server says goes into nobody's shell.
  const ids = { orders: ['o-1', '$(reboot)', '`id`', 'a b', '\x1b[2J', 7] }
  await writeFile(join(home.XDG_CACHE_HOME, 'penstock', 'ids.json'), JSON.stringify(ids))
  assert.deepEqual(await typed(['orders', 'show', '']), ['o-1'])
})

const SHELLS: Record<string, string> = {
  bash: `source <(penstock completion bash); COMP_WORDS=(penstock orders ti); COMP_CWORD=2
    _penstock; echo "\${COMPREPLY[@]}"`,
  fish: `penstock completion fish | source; complete -C 'penstock orders ti'`,
  zsh: `autoload -U compinit; compinit -D; source <(penstock completion zsh)
    words=(penstock orders ti); CURRENT=3; compadd() { echo $found }; _penstock`,
}

for (const [name, line] of Object.entries(SHELLS))
  test(`the script of completion completes in ${name}`, async (t) => {
    const here = await run('sh', ['-c', `command -v ${name} || true`])
    if (here.stdout === '')
      return t.skip(`completion of the command line in ${name}, which is not installed here`)
    const path = `${join(folder, 'bin')}`
    await run('sh', ['-c', `mkdir -p ${path} && ln -sf ${program} ${path}/penstock`])
    const PATH = `${join(process.execPath, '..')}:${path}:${process.env.PATH}`
    const env = { ...signed, PATH, HOME: folder }
    const { stdout } = await run(name, ['-c', line], { env })
    assert.equal(stdout.trim(), 'timeline')
  })

test('as a program: pipes, no terminal, Ctrl-C, and one file that needs nothing', async () => {
  const start = (...args: string[]) =>
    spawn(process.execPath, [program, ...args], { env: signed, stdio: ['ignore', 'pipe', 'pipe'] })
  const { stdout } = await run(process.execPath, [program, '--version'], { env: {} })
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  const text = await readFile(program, 'utf8')
  for (const [, from] of text.matchAll(/^import .* from ["']([^"']+)["']/gm))
    assert.match(from!, /^node:/)
  const cut = start('events', 'list', '--all', '--json')
  cut.stdout.destroy()
  const [code] = await new Promise<[number | null]>((resolve) =>
    cut.once('close', (...all) => resolve([all[0]])),
  )
  assert.equal(code, 0, 'a pipe that is closed is no failure')
  // It alone takes as long to load as all the rest.
  assert.doesNotMatch(text, /^import .*"node:http"/m)
  const deaf = start('buy', 'energy', address, '65000', '--yes', '--json')
  deaf.stderr.destroy()
  let bought = ''
  deaf.stdout.on('data', (part) => (bought += part))
  await new Promise((resolve) => deaf.once('close', resolve))
  assert.match(bought, /"status": "new"/, 'a purchase goes on when nobody hears its price')
  const doctor = await run(process.execPath, [program, 'doctor'], {
    env: { ...signed, NO_COLOR: '1' },
  })
  assert.ok(!doctor.stdout.includes(ESCAPE))
  const tail = start('events', 'tail', '--after', '0')
  await new Promise((resolve) => tail.stdout.once('data', resolve))
  const listed = await run('ps', ['-o', 'args=', '-p', String(tail.pid)]).catch(() => undefined)
  if (listed) assert.ok(!listed.stdout.includes(secret))
  tail.kill('SIGINT')
  const ended = await new Promise((resolve) => tail.once('close', resolve))
  assert.equal(ended, 130)
})
