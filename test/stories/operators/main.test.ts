// The program as its users start it: a process of its own, stopped, killed and started again, and
// started wrongly.

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { connect } from 'penstock-service/platform/database/sql.ts'
import { signature } from 'penstock-service/platform/wire/signature.ts'
import { eventually } from '../../harness/eventually.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** Processes that are started side by side. */
const AT_ONCE = 4

/** What a program reads in the ready file. */
type Ready = {
  api_url: string
  node_url: string
  customer: { token: string; secret: string; deposit_address: string; customer_id: string }
  portal_sign_in_url: string
  console_sign_in_url: string
  admin: Record<string, string>
  funded_accounts: { address: string; private_key: string }[]
}

type ProgramOutput = { code: number | null; stdout: string; stderr: string }
type RunningProgram = { child: ChildProcess; ended: Promise<ProgramOutput>; said: () => string }

/** Starts what `npm start`, `npm run demo`, `npm run serve` or a command of the operators runs, in
 *  a process group of its own. */
function run(
  t: TestContext,
  args: readonly string[],
  env: Record<string, string> = {},
): RunningProgram {
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(DATABASE_URL|PENSTOCK_|NODE_(?!COMPILE_CACHE))/.test(name),
    ),
  )
  const of_sandbox = /^(start|demo)$/.test(args[0] ?? '') || args[0]?.startsWith('-')
  const program = of_sandbox ? 'packages/playground/main.ts' : 'packages/service/src/main.ts'
  const child = spawn(process.execPath, [program, ...args], {
    cwd: ROOT,
    detached: true,
    env: { ...clean, ...env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    stdout,
    stderr,
  }))
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) killGroup(child, 'SIGKILL')
    await ended
  })
  return { child, ended, said: () => stdout }
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  process.kill(-child.pid!, signal)
}

/** What is on stderr beside the lines of the log. */
const sentences = ({ stderr }: Pick<ProgramOutput, 'stderr'>) =>
  stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))

async function freshFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-main-'))
  // As root, the database is another user's: it would lie elsewhere, and stay, if this were closed.
  await chmod(folder, 0o755)
  t.after(async () => {
    // A PostgreSQL that has lost its parent ends by itself when its folder is gone.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return folder
}

/** The command lines of processes that have to do with a folder. */
async function processesOf(folder: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'args='])
  return stdout.split('\n').filter((line) => line.includes(folder))
}

async function start(
  t: TestContext,
  folder: string,
  more: string[] = [],
): Promise<RunningProgram & { ready: Ready }> {
  const file = join(folder, 'ready.json')
  await rm(file, { force: true })
  const own = ['--port', '0', '--chain-port', '0', '--data-dir', folder, '--ready-file', file]
  const started = run(t, ['start', ...own, ...more])
  let ended: ProgramOutput | undefined
  void started.ended.then((how) => {
    ended = how
  })
  const text = await eventually('the ready file', async () => {
    assert.equal(ended, undefined, `it ended: ${ended?.stderr}`)
    return readFile(file, 'utf8').catch(() => undefined)
  })
  return { ...started, ready: JSON.parse(text) as Ready }
}

async function stop({ child, ended }: RunningProgram, folder: string): Promise<ProgramOutput> {
  killGroup(child, 'SIGINT')
  const how = await ended
  assert.equal(how.code, 0, how.stderr)
  assert.deepEqual(await processesOf(folder), [], 'nothing is left running')
  return how
}

async function call(
  ready: Ready,
  path: string,
  body: object = {},
): Promise<Record<string, unknown>> {
  const text = JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${ready.customer.token}`,
    'x-signature': signature(Buffer.from(text), ready.customer.secret),
  }
  const response = await fetch(`${ready.api_url}${path}`, { method: 'POST', headers, body: text })
  const { code, result, error } = (await response.json()) as {
    code: number
    result: object
    error: string
  }
  assert.equal(code, 0, error)
  return result as Record<string, unknown>
}

async function onChain(
  ready: Ready,
  path: string,
  body: object = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(`${ready.node_url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, unknown>
}

const energyLimit = async (ready: Ready, address: string) =>
  Number(
    (await onChain(ready, '/wallet/getaccountresource', { address, visible: true })).EnergyLimit ??
      0,
  )

/** Makes blocks until the order is settled. */
async function settled(ready: Ready, id: unknown): Promise<Record<string, unknown>> {
  return eventually(`order ${id} is settled`, async () => {
    await onChain(ready, '/devchain/mine')
    const order = await call(ready, '/v1/transaction/check', { id })
    return order.status === 'success' || order.status === 'failed' ? order : undefined
  })
}

test('start, buy as printed, Ctrl-C, start, kill, start: found, delivered once', async (t) => {
  const folder = await freshFolder(t)
  const first = await start(t, folder)
  const { ready } = first
  const [one, two] = ready.funded_accounts.map(({ address }) => address)
  assert.match(ready.api_url, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.match(ready.node_url, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.match(ready.customer.token, /^pst_[\w-]{43}$/)
  assert.match(ready.customer.secret, /^pss_[\w-]{43}$/)
  assert.match(ready.customer.deposit_address, /^T\w{33}$/)
  assert.match(String(ready.admin.database_url), /^postgres/)
  assert.equal((await stat(join(folder, 'ready.json'))).mode & 0o077, 0, 'it holds keys')
  const { balance } = await call(ready, '/v1/balance')
  assert.ok(Number(balance) > 0)
  const newest = await fetch(`${ready.node_url}/wallet/getnowblock`)
  const { block_header } = (await newest.json()) as {
    block_header: { raw_data: { timestamp: number } }
  }
  assert.ok(
    Date.now() - block_header.raw_data.timestamp < 30_000,
    'what is signed now does not expire with the next block',
  )

  // The line that the text shows is one that works, as it stands.
  const line = await eventually('the line is printed', async () =>
    first
      .said()
      .split('\n')
      .find((text) => text.startsWith('curl ')),
  )
  const { stdout } = await promisify(execFile)('sh', ['-c', line])
  const bought = JSON.parse(stdout) as { code: number; result: { id: string } }
  assert.equal(bought.code, 0, stdout)
  const order = await settled(ready, bought.result.id)
  assert.equal(order.status, 'success')
  assert.ok((await energyLimit(ready, one!)) >= 65_000)
  const { balance: left } = await call(ready, '/v1/balance')
  assert.equal(Number(left), Number(balance) - 2.93)
  await stop(first, folder)

  const second = await start(t, folder)
  assert.deepEqual(second.ready.customer, ready.customer)
  assert.deepEqual(second.ready.funded_accounts, ready.funded_accounts)
  assert.equal((await call(second.ready, '/v1/balance')).balance, left)
  const found = await call(second.ready, '/v1/transaction/check', { id: bought.result.id })
  assert.deepEqual([found.status, found.hash], ['success', order.hash])
  assert.equal(await energyLimit(second.ready, two!), 0)
  const purchase = {
    service: 'energy',
    params: { address: two, amount: 65_000, duration: 1 },
    external_id: 'once',
  }
  const accepted = await call(second.ready, '/v1/transaction/new', purchase)
  killGroup(second.child, 'SIGKILL')
  assert.equal((await second.ended).code, null)

  const third = await start(t, folder, ['--host', '0.0.0.0'])
  // Where others reach the service they do not reach the chain, which makes money from nothing.
  assert.match(third.ready.node_url, /^http:\/\/127\.0\.0\.1:\d+$/)
  const replayed = await call(third.ready, '/v1/transaction/new', purchase)
  assert.equal(replayed.id, accepted.id)
  const done = await settled(third.ready, accepted.id)
  assert.equal(done.status, 'success')
  assert.equal((done.delegations as object[]).length, 1)
  const limit = await energyLimit(third.ready, two!)
  assert.ok(limit >= 65_000 && limit < 67_000, `${limit}`)
  // A second one on the same folder gives way, and says so.
  const beside = await run(t, ['start', '--port', '0', '--chain-port', '0', '--data-dir', folder])
    .ended
  assert.equal(beside.code, 2, beside.stderr)
  assert.deepEqual(sentences(beside), [`Another Penstock is running on ${join(folder, 'pg')}.`])
  const found_by = JSON.parse(await readFile(join(folder, 'ready.json'), 'utf8')) as Ready
  assert.equal(found_by.api_url, third.ready.api_url, 'the one that runs is still found')
  // What invites leads to the ports that it has, whatever these are.
  for (const [words, link] of [
    [['users', 'invite', ready.customer.customer_id, 'Ada'], found_by.portal_sign_in_url],
    [['operators', 'invite', 'Ada'], found_by.console_sign_in_url],
  ] as const) {
    const invited = await run(t, [...words, '--data-dir', folder, '--json']).ended
    assert.equal(invited.code, 0, invited.stderr)
    assert.ok(invited.stdout.includes(`"${new URL(link).origin}/`), invited.stdout)
  }
  await stop(third, folder)
})

test('a mistake in how it is started is one sentence on stderr and exit code 2', async (t) => {
  const folder = await freshFolder(t)
  const own = ['--data-dir', folder]
  const mistakes: [args: string[], names: RegExp, env?: Record<string, string>][] = [
    [['sell'], /sell/],
    [['start', '--port', 'http', ...own], /port http/],
    [['--port', '70000', ...own], /70000/],
    [['start', '--port', '-1', ...own], /port/],
    [['start', '--chain-port', '1.5', ...own], /1\.5/],
    [['start', '--colour', ...own], /--colour/],
    [['start', '--port'], /port/],
    [['start', 'now', ...own], /now/],
    [['start', '--node-url', 'ftp://node', ...own], /ftp:\/\/node/],
    [['start', '--node-url', 'node', ...own], /node/],
    [['serve', '--role', 'boss', ...own], /boss/],
    [['start', '--role', 'api', ...own], /role/],
    [['serve', ...own], /DATABASE_URL/],
    [['serve', ...own], /DATABASE_URL/, { DATABASE_URL: 'mysql://localhost/x' }],
    [['serve', ...own], /node-url/, { DATABASE_URL: 'postgres://localhost/x' }],
    [['start', ...own], /PENSTOCK_SECRET_KEY/, { PENSTOCK_SECRET_KEY: 'secret' }],
    [['start', ...own], /PENSTOCK_REQUESTS_PER_SECOND/, { PENSTOCK_REQUESTS_PER_SECOND: 'many' }],
  ]
  for (let i = 0; i < mistakes.length; i += AT_ONCE) {
    await Promise.all(
      mistakes.slice(i, i + AT_ONCE).map(async ([args, names, env]) => {
        const { code, stdout, stderr } = await run(t, args, env).ended
        const what = `${args.join(' ')}: ${stderr}`
        assert.equal(code, 2, what)
        assert.equal(stdout, '', what)
        assert.match(stderr, names)
        assert.equal(stderr.trimEnd().split('\n').length, 1, what)
      }),
    )
  }
  assert.deepEqual(await processesOf(folder), [])
})

test('a port that is taken is said in one sentence, and nothing is left running', async (t) => {
  const folder = await freshFolder(t)
  const taken = createServer()
  taken.listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const options = ['--data-dir', folder, '--port', String(port), '--chain-port', '0']
  const { code, stderr } = await run(t, ['start', ...options]).ended
  assert.equal(code, 2, stderr)
  assert.deepEqual(sentences({ stderr }), [
    `Port ${port} is in use; choose another, or 0 for any free one.`,
  ])
  assert.deepEqual(await processesOf(folder), [])
})

test('what it needs and does not find is said in one sentence too', async (t) => {
  const folder = await freshFolder(t)
  const file = join(folder, 'file')
  await writeFile(file, '')
  await mkdir(join(folder, 'broken'))
  await writeFile(join(folder, 'broken', 'sandbox.json'), '{"phrase"')
  const ports = ['--port', '0', '--chain-port', '0']
  const missing: [args: string[], names: RegExp, env?: Record<string, string>][] = [
    [['start', ...ports, '--data-dir', file], /file/],
    [['start', ...ports, '--data-dir', join(folder, 'broken')], /sandbox\.json/],
    [
      ['start', ...ports, '--data-dir', folder],
      /127\.0\.0\.1:1\b/,
      { DATABASE_URL: 'postgres://127.0.0.1:1/penstock' },
    ],
    [
      ['start', '--port', '0', '--node-url', 'http://127.0.0.1:1', '--data-dir', folder],
      /127\.0\.0\.1:1\b/,
    ],
  ]
  for (const [args, names, env] of missing) {
    const ended = await run(t, args, env).ended
    const said = sentences(ended)
    assert.deepEqual([ended.code, said.length], [2, 1], `${args.join(' ')}: ${ended.stderr}`)
    assert.match(said[0]!, names)
  }
  assert.deepEqual(await processesOf(folder), [])
})

test('an uncaught error is one line in the log, and ends the process', async (t) => {
  const folder = await freshFolder(t)
  // A database that accepts and says nothing keeps it waiting until it is made to stumble.
  const silent = createTcpServer()
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const { port } = silent.address() as AddressInfo
  const stumble = "process.once('SIGUSR2', () => { throw new Error('a stumble\\nof two lines') })"
  const options = ['--data-dir', folder, '--port', '0', '--chain-port', '0']
  const { child, ended } = run(t, ['start', ...options], {
    DATABASE_URL: `postgres://somebody:canary@127.0.0.1:${port}/penstock`,
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(stumble)}`,
  })
  const [socket] = (await once(silent, 'connection')) as [Socket]
  t.after(() => socket.destroy())
  child.kill('SIGUSR2')
  const { code, stderr } = await ended
  assert.equal(code, 1, stderr)
  const lines = stderr.trimEnd().split('\n')
  assert.equal(lines.length, 1, stderr)
  const { event, error } = JSON.parse(lines[0]!) as Record<string, string>
  assert.deepEqual([event, error], ['crashed', 'Error: a stumble\nof two lines'])
  assert.doesNotMatch(stderr, /canary/)
})

test('when its private database is killed it ends, and a new start finds everything', async (t) => {
  const folder = await freshFolder(t)
  const first = await start(t, folder)
  const { customer, admin, funded_accounts } = first.ready
  const params = { address: funded_accounts[0]!.address, amount: 65_000, duration: 1 }
  const order = await call(first.ready, '/v1/transaction/new', { service: 'energy', params })
  const sql = connect({ url: admin.database_url! })
  const [row] = await sql<{
    pid: string
  }>`select split_part(pg_read_file('postmaster.pid'), chr(10), 1) as pid`
  await sql.close()
  process.kill(Number(row!.pid), 'SIGKILL')
  const ended = await first.ended
  assert.notEqual(ended.code, 0)
  assert.match(ended.stderr, /PostgreSQL has ended/)
  assert.deepEqual(await processesOf(folder), [])

  const second = await start(t, folder)
  assert.deepEqual(second.ready.customer, customer)
  assert.equal((await settled(second.ready, order.id)).status, 'success')
  await stop(second, folder)
})

test('--help names every option and every variable, and starts nothing', async (t) => {
  for (const args of [['--help'], ['start', '--help'], ['serve', '--help', '--port', '1']]) {
    const { code, stdout, stderr } = await run(t, args).ended
    assert.deepEqual([code, stderr], [0, ''])
    for (const name of [
      '--port',
      '--data-dir',
      '--node-url',
      '--role',
      '--ready-file',
      'DATABASE_URL',
      'PENSTOCK_SECRET_KEY',
    ])
      assert.ok(stdout.includes(name), `${args.join(' ')}: ${name}`)
  }
})
