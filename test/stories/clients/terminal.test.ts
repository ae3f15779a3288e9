// The customers' command line on a terminal of 80 columns: every command, run against a service,
// with ids, names and addresses as long as they may be.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { COMMANDS } from '../../../packages/cli/src/commands/table.ts'
import type { Io } from '../../../packages/cli/src/line/io.ts'
import { runCommand } from '../../../packages/cli/src/run.ts'
import { startSandbox } from '../../harness/sandbox.ts'

const folder = await mkdtemp(join(tmpdir(), 'penstock-terminal-'))
const local = await startSandbox()
after(async () => {
  await local.close()
  await rm(folder, { recursive: true })
})
const { token, secret } = local.customer
const [address, other] = local.sandbox.funded_accounts.map((account) => account.address) as [
  string,
  string,
]
const WIDTH = 80
const LONGEST = 'order of the shop '.repeat(8).slice(0, 128)

const ENV = {
  PENSTOCK_URL: local.api_url,
  PENSTOCK_TOKEN: token,
  PENSTOCK_SECRET: secret,
  XDG_CONFIG_HOME: join(folder, 'config'),
  XDG_CACHE_HOME: join(folder, 'cache'),
}

type Setting = Partial<Pick<Io, 'columns' | 'env' | 'out' | 'signal'>>

async function typed(args: readonly string[], setting: Setting = {}) {
  let [out, err] = ['', '']
  const code = await runCommand(args, '1.2.3', {
    env: ENV,
    out: (text) => (out += text),
    err: (text) => (err += text),
    input: async () => '',
    ask: undefined,
    color: false,
    columns: WIDTH,
    signal: AbortSignal.timeout(120_000),
    ...setting,
  })
  return { code, out, err }
}

/** What is for programs, or never ends, or would ask or open something: its lines are as they
 *  are. */
const NOT_TRIED = new Map([
  ['call', 'prints JSON'],
  ['completion', 'prints a script'],
  ['complete', 'prints words for a script'],
  ['login', 'waits for a user; its result is that of profiles'],
  ['logout', 'needs a profile'],
  ['profiles use', 'needs a profile'],
  ['profiles remove', 'needs a profile'],
  ['events tail', 'never ends: its lines are tried below'],
  ['orders watch', 'never ends: likewise'],
  ['deposits watch', 'never ends: likewise'],
  ['listen', 'never ends: likewise'],
  ['pairings show', 'needs a program that waits'],
  ['pairings approve', 'needs a program that waits'],
  ['pairings refuse', 'needs a program that waits'],
  ['users recover', 'needs a user who has joined'],
  ['invoices show', 'needs a month that is over'],
  ['deposits public', 'needs a deposit at the address that is public'],
  ['deposits from', 'needs a deposit at the address that is public'],
  ['sessions end', 'needs somebody who is signed in'],
  ['receipts get', 'prints a signed document'],
])

type ListItem = { id: string; tx_id: string; number: number }

/** A command's result as a program reads it. */
async function read(line: readonly string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await typed([...line, '--json'])
  assert.equal(code, 0, `${line.join(' ')}: ${err}`)
  return JSON.parse(out.startsWith('{\n') ? out : out.split('\n')[0]!) as Record<string, unknown>
}

const first = async (...list: string[]) => (await read([...list, 'list'])) as unknown as ListItem
const made = async (name: string, ...line: string[]) => (await read(line))[name] as ListItem

/** What is typed for each command, in this order. Names, ids and URLs are as long as may be. */
async function linesToTry(): Promise<Map<string, readonly (readonly string[])[]>> {
  const buy = ['buy', 'energy', address, '65000', '--yes', '--external-id', LONGEST]
  const order = (await read([...buy, '--wait'])).id as string
  const url = `https://example.com/${'hooks/'.repeat(30)}`
  const webhook = (await made('webhook', 'webhooks', 'create', url)).id
  const key = (await made('key', 'keys', 'create', 'n'.repeat(60), '--scopes', 'read,buy,aml')).id
  const user = (await made('user', 'users', 'invite', 'Ю'.repeat(60), 'reader')).id
  const check = (await read(['aml', 'check', address])).id as string
  const quote = (await read(['quote', 'energy', address, '65000'])).id as string
  await typed(['webhooks', 'test', webhook, 'order.succeeded'])
  await typed(['keys', 'revoke', 'nothing'])
  await typed(['aml', 'check', 'nothing'])
  const receipt = join(folder, 'receipt.jws')
  await writeFile(receipt, (await typed(['receipts', 'get', order])).out)
  const [{ tx_id }, { number: event }] = [await first('deposits'), await first('events')]
  const notice = String((await first('notices')).number)
  const plan = Object.keys(await read(['subscriptions', 'plans']))[0]!
  const started = (await read(['subscriptions', 'start', plan, other])).id as string
  const bundle = ['bundle', address, '65000', '345', '--yes']
  const found: [string, ...(readonly string[])[]][] = [
    ['doctor', []],
    ['status', []],
    ['service status', []],
    ['buy', bundle],
    ['orders list', []],
    ['orders show', [order], [LONGEST], [address]],
    ['orders timeline', [order]],
    ['whoami', []],
    ['services', []],
    ['prices history', []],
    ['prices recharge', []],
    ['calculate', [address, '65000']],
    ['estimate', [address, other]],
    ['address', [address]],
    ['pool forecast', ['energy', '24']],
    ['balance', []],
    ['summary', []],
    ['settings show', []],
    ['settings set', ['--ending-minutes', '10']],
    ['refusals list', []],
    ['deposits list', []],
    ['deposits show', [tx_id]],
    ['invoices list', []],
    ['subscriptions plans', []],
    ['subscriptions start', [plan, address]],
    ['subscriptions list', []],
    ['subscriptions show', [started]],
    ['subscriptions uses', [started]],
    ['subscriptions stop', [started]],
    ['aml prices', []],
    ['aml check', [address]],
    ['aml list', []],
    ['aml show', [check]],
    ['aml report', [check]],
    ['watches add', [address]],
    ['watches list', []],
    ['watches remove', [address]],
    ['keys list', []],
    ['keys create', ['m'.repeat(60), '--scopes', 'read']],
    ['keys change', [key, '--daily-cap', '5']],
    ['keys made', [key]],
    ['keys rotate', [key]],
    ['keys revoke', [key]],
    ['users list', []],
    ['users show', [user]],
    ['users invite', ['Я'.repeat(60), 'reader']],
    ['users change', [user, '--role', 'finance']],
    ['users remove', [user]],
    ['sessions list', []],
    ['actions list', []],
    ['webhooks list', []],
    ['webhooks show', [webhook]],
    ['webhooks change', [webhook, '--description', LONGEST]],
    ['webhooks create', [url]],
    ['webhooks rotate', [webhook]],
    ['webhooks test', [webhook, 'order.failed']],
    ['webhooks replay', [webhook, '--since', '2026-01-01']],
    ['notices list', []],
    ['notices show', [webhook, notice]],
    ['notices retry', [webhook, notice]],
    ['webhooks remove', [webhook]],
    ['events list', []],
    ['events show', [String(event)]],
    ['quote', ['energy', address, '65000', '--duration', '1']],
    ['quotes accept', [quote]],
    ['sign', ['/v1/balance', '{}']],
    ['receipts verify', [receipt]],
    ['statement', []],
    ['trigger', ['order.succeeded']],
    ['profiles list', []],
  ]
  return new Map(found.map(([words, ...lines]) => [words, lines]))
}

/** One word that stands alone is whole, however long: broken, a link could not be copied. */
const isTooWide = (line: string) => line.length > WIDTH && /\S\s+\S/.test(line)

/** What has nothing to list here. */
const EMPTY = ['invoices list', 'sessions list', 'subscriptions uses', 'profiles list']

test('on 80 columns every command prints lines of at most 80', async () => {
  const lines = await linesToTry()
  assert.deepEqual(
    COMMANDS.map(({ words }) => words).filter(
      (words) => !lines.has(words) && !NOT_TRIED.has(words),
    ),
    [],
    'commands of which this test knows nothing',
  )
  const faults: string[] = []
  for (const [words, each] of lines)
    for (const more of each) {
      const { code, out, err } = await typed([...words.split(' '), ...more])
      const line = `${words} ${more.join(' ')}`
      if (code !== 0) faults.push(`${line} ends with ${code}: ${err}`)
      if (/list$/.test(words) && (out === 'none\n') !== EMPTY.includes(words))
        faults.push(`${line}: ${out}`)
      faults.push(
        ...out
          .split('\n')
          .filter(isTooWide)
          .map((one) => `${line}: ${one}`),
      )
    }
  assert.deepEqual(faults, [])
})

test('help fits, too, and so does each line of a stream', async () => {
  for (const words of [[], ...COMMANDS.map((command) => command.words.split(' '))]) {
    const { out } = await typed([...words, '--help'])
    assert.deepEqual(out.split('\n').filter(isTooWide), [], words.join(' '))
    assert.doesNotMatch(out, /undefined/)
  }
  const end = new AbortController()
  let printed = ''
  const print = (text: string) => {
    printed += text
    if (printed.split('\n').length > 9) end.abort(new Error('seen enough'))
  }
  await typed(['events', 'tail', '--after', '0'], { out: print, signal: end.signal })
  assert.deepEqual(
    printed.split('\n').filter((line) => line.length > WIDTH),
    [],
  )
  assert.match(printed, /subscription\.|aml_check\./)
})

test('what is shortened is whole with --wide, without a terminal, and when typed', async () => {
  const { id, params } = (await read(['orders', 'list'])) as unknown as {
    id: string
    params: { address: string }
  }
  const [short] = (await typed(['orders', 'list'])).out.match(/\w{6}…\w{6}/)!
  const wide = (await typed(['orders', 'list', '--wide'])).out
  const deposits = await typed(['deposits', 'list'], { columns: undefined })
  assert.equal(deposits.out, (await typed(['deposits', 'list', '--wide'])).out)
  for (const whole of [id, params.address, 'Z']) assert.ok(wide.includes(whole), whole)
  assert.match((await typed(['orders', 'list'])).out, /with --wide: .*hash/)
  assert.match((await typed(['orders', 'show', short])).out, new RegExp(id))
  const unknown = await typed(['orders', 'show', 'abc…xyz'])
  assert.deepEqual([unknown.code, /is shortened/.test(unknown.err)], [2, true])
})

test('doctor ends with whether all is well', async () => {
  const last = async (more: Setting) =>
    (await typed(['doctor'], more)).out.trimEnd().split('\n').at(-1)
  assert.match(
    (await last({}))!,
    /^Ready(: all \d+ are as they should be|, but look at webhook)\.$/,
  )
  const env = { ...ENV, PENSTOCK_SECRET: 'pss_wrong' }
  assert.equal(await last({ env }), 'Not ready: mend signatures.')
})
