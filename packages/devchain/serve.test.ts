import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { referenceTo } from './chain/blocks.ts'
import { audit, person, Scene, TRX } from './scene.ts'
import { type ServeOptions, startDevchain } from './serve.ts'

const alice = person('alice')
const folders: string[] = []

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'devchain-'))
  folders.push(made)
  return made
}

after(() => {
  for (const made of folders) rmSync(made, { recursive: true })
})

const start = (options: ServeOptions = {}) => startDevchain({ block_time_seconds: 0, ...options })

test('the same chain answers over a socket and in process, and blocks are announced', async () => {
  const announced: number[] = []
  const served = await start({ onBlock: ({ number }) => announced.push(number) })
  const state = await (
    await fetch(`${served.url}/devchain/mine`, { method: 'POST', body: '{"blocks":2}' })
  ).json()
  assert.equal((state as { head: { id: string } }).head.id, served.chain.head.id)
  const { number } = served.chain.head.header
  assert.deepEqual(announced, [number - 1, number])
  const response = await fetch(`${served.url}/wallet/getnowblock`)
  assert.match(response.headers.get('content-type')!, /^application\/json/)
  assert.equal(((await response.json()) as { blockID: string }).blockID, served.chain.head.id)
  await served.close()
})

test('a lost answer is a broken connection', async () => {
  const served = await start()
  await fetch(`${served.url}/devchain/fault`, { method: 'POST', body: '{"kind":"timeout"}' })
  await assert.rejects(fetch(`${served.url}/wallet/getnowblock`))
  await served.close()
})

test('a chain on disk survives a restart: blocks, balances, recent fundings', async () => {
  const data_dir = folder()
  const genesis_balances = [{ address: alice.address, sun: 9_007_199_254_740_993n }]
  const first = await start({ data_dir, genesis_balances, seed: 'kept', solid_lag_blocks: 5 })
  first.chain.fund(person('bob').address, 3n * TRX)
  first.chain.mine()
  first.chain.mine()
  first.chain.reorganize(1)
  const snapshot = first.chain.chain.snapshot()
  for (let made = 0; made < 30; made++) first.chain.mine()
  first.chain.chain.restore(snapshot)
  first.chain.fund(person('carol').address, TRX)
  const before = { id: first.chain.head.id, audit: audit(first.chain), solid: first.chain.solid.id }
  await first.close()

  const second = await start({ data_dir })
  assert.deepEqual(
    { id: second.chain.head.id, audit: audit(second.chain), solid: second.chain.solid.id },
    before,
  )
  const { body } = second.chain.request(
    'GET',
    `/wallet/getaccount?address=${person('carol').hex}`,
    '',
  )
  assert.match(body, /"balance":1000000/)
  second.chain.mine()
  await second.close()
})

test('a last line that was torn off is cut away, and the chain goes on', async () => {
  const data_dir = folder()
  const first = await start({ data_dir })
  first.chain.mine()
  const { id } = first.chain.head
  await first.close()
  const path = join(data_dir, 'chain.jsonl')
  appendFileSync(path, '{"kind":"block","id":"0000')
  const second = await start({ data_dir })
  assert.equal(second.chain.head.id, id)
  second.chain.mine()
  await second.close()
  for (const line of readFileSync(path, 'utf8').trimEnd().split('\n')) JSON.parse(line)
})

test('a log that comes out as another chain is refused', async () => {
  const data_dir = folder()
  const first = await start({ data_dir })
  first.chain.mine()
  await first.close()
  const path = join(data_dir, 'chain.jsonl')
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(/"id":"([0-9a-f]{60})[0-9a-f]{4}"/, '"id":"$1ffff"'),
  )
  await assert.rejects(start({ data_dir }), /is of another version/)
})

test('a second chain on the same folder is refused, in this process and in another', async () => {
  const data_dir = folder()
  const first = await start({ data_dir })
  await assert.rejects(start({ data_dir }), /the data folder is in use/)
  await first.close()
  const again = await start({ data_dir })
  await again.close()
})

/** Runs a chain in a process of its own until it says that it is up. */
async function runElsewhere(data_dir: string) {
  const serve = new URL('./serve.ts', import.meta.url).href
  const script = `const { startDevchain } = await import(${JSON.stringify(serve)})
    const data_dir = ${JSON.stringify(data_dir)}
    const served = await startDevchain({ data_dir, block_time_seconds: 0 })
    for (let made = 0; made < 20; made++) served.chain.mine()
    console.log(served.url, served.chain.head.id)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()))
    child.once('exit', () => reject(new Error('it ended before it was up')))
  })
  const [url, id] = line.split(' ')
  return { child, url: url!, id: id! }
}

test('a chain survives kill -9, and while it runs no other process gets its folder', async () => {
  const data_dir = folder()
  const { child, id } = await runElsewhere(data_dir)
  await assert.rejects(start({ data_dir }), new RegExp(`in use by process ${child.pid}`))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  const served = await start({ data_dir })
  assert.equal(served.chain.head.id, id)
  await served.close()
})

test('the lock of an ended process blocks nobody, even when its id is in use again', async () => {
  const data_dir = folder()
  const { child, id } = await runElsewhere(data_dir)
  const lock = readFileSync(join(data_dir, 'lock'), 'utf8')
  const [pid, began] = lock.trim().split(' ')
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  assert.equal(Number(pid), child.pid)
  // Only Linux tells when a process began.
  writeFileSync(join(data_dir, 'lock'), `${process.ppid} ${began ?? ''}\n`)
  if (process.platform !== 'linux')
    return void (await assert.rejects(start({ data_dir }), /in use/))
  const served = await start({ data_dir })
  assert.equal(served.chain.head.id, id)
  await served.close()
})

test('a start that fails leaves the data folder free', async () => {
  const data_dir = folder()
  await assert.rejects(
    start({ data_dir, genesis_balances: [{ address: 'nobody' as never, sun: 1n }] }),
  )
  const served = await start({ data_dir: folder() })
  const port = Number(new URL(served.url).port)
  const taken = folder()
  await assert.rejects(start({ data_dir: taken, port }), /EADDRINUSE/)
  await (await start({ data_dir: taken })).close()
  await served.close()
  await (await start({ data_dir })).close()
})

test('an instant chain makes a block for each transaction, near the present time', async () => {
  const on = new Scene({ alice: 100n * TRX }, { instant: true })
  const { number } = on.devchain.head.header
  const sent = on.send(alice, 'TransferContract', { to_address: person('bob').hex, amount: TRX })
  assert.equal(
    on.post('/wallet/gettransactioninfobyid', { value: sent.txid }).blockNumber,
    number + 1,
  )
  assert.equal(
    on.send(alice, 'TransferContract', { to_address: alice.hex, amount: TRX }).result,
    false,
  )
  assert.equal(on.devchain.head.header.number, number + 1)

  const served = await start({
    instant: true,
    genesis_balances: [{ address: alice.address, sun: 100n * TRX }],
  })
  const { hex } = on.signed(
    alice,
    'TransferContract',
    { to_address: person('bob').hex, amount: 1n },
    {
      ...referenceTo(served.chain.head),
      expiration: Date.now() + 60_000,
    },
  )
  await fetch(`${served.url}/wallet/broadcasthex`, {
    method: 'POST',
    body: JSON.stringify({ transaction: hex }),
  })
  assert.equal(served.chain.head.transactions.length, 1)
  assert.ok(Math.abs(served.chain.head.header.timestamp - Date.now()) < 10_000)
  await served.close()
})

test('a chain keeps another unfreezing delay and another parent of its first block', async () => {
  const data_dir = folder()
  const genesis_parent_hash = 'ab'.repeat(32)
  const first = await start({ data_dir, genesis_parent_hash, unfreeze_delay_seconds: 60 })
  const { id } = first.chain.head
  await first.close()
  const second = await start({ data_dir })
  assert.equal(second.chain.chain.block(0)!.header.parentHash, genesis_parent_hash)
  assert.equal(second.chain.chain.unfreeze_delay_ms, 60_000)
  assert.equal(second.chain.head.id, id)
  await second.close()
})

test('two slow blocks are two blocks late, each by its own delay', async () => {
  const delay_ms = 150
  const times_ms: number[] = []
  let tell = () => {}
  const both = new Promise<void>((resolve) => {
    tell = resolve
  })
  const served = await startDevchain({
    block_time_seconds: 0.02,
    onBlock() {
      times_ms.push(performance.now())
      if (times_ms.length === 2) tell()
    },
  })
  const { timestamp } = served.chain.head.header
  times_ms.length = 0
  const armed_ms = performance.now()
  served.chain.faults.arm({
    kind: 'slow_block',
    count: 2,
    probability: 1,
    seconds: delay_ms / 1000,
  })
  await both
  assert.ok(times_ms[1]! - armed_ms >= 2 * delay_ms)
  assert.ok(served.chain.head.header.timestamp >= timestamp)
  assert.deepEqual(served.chain.faults.list(), [])
  await served.close()
})

test('with an interval, blocks come by themselves, at the time of the wall clock', async () => {
  const before_ms = Date.now()
  const block = await new Promise<{ number: number; time_ms: number }>((resolve, reject) => {
    const started = startDevchain({
      block_time_seconds: 0.05,
      onBlock(made) {
        started.then((served) => served.close()).then(() => resolve(made), reject)
      },
    })
  })
  assert.ok(Math.abs(block.time_ms - before_ms) < 60_000)
})

test('blocks of an interval are made when their slots begin, not in between', async (t) => {
  const slot_ms = 1_780_000_002_000
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: slot_ms + 1_100 })
  const late_ms: number[] = []
  const served = await startDevchain({
    block_time_seconds: 3,
    genesis_time_ms: slot_ms - 600_000,
    onBlock: ({ time_ms }) => late_ms.push(Date.now() - time_ms),
  })
  t.after(() => served.close())
  late_ms.length = 0
  t.mock.timers.tick(1_901)
  assert.deepEqual(late_ms, [1])
  for (let i = 0; i < 9; i++) t.mock.timers.tick(1_000)
  assert.deepEqual(late_ms, [1, 1, 1, 1])
})
