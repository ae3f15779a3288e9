import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { GENESIS_MS, person, Scene, TRX } from './scene.ts'
import { startDevchain } from './serve.ts'

const alice = person('alice')
const bob = person('bob')

/** A chain on a clock that the test moves, with a block for every transaction. */
function scene() {
  const on = new Scene({ alice: 1000n * TRX }, { wall_clock: true, instant: true })
  const clock = { now_ms: GENESIS_MS + 1500 }
  on.devchain.clock = () => clock.now_ms
  return { on, clock }
}

const headTime = (on: Scene) => on.devchain.head.header.timestamp

test('many blocks at once stay at the present time, so that a client is never late', () => {
  const { on, clock } = scene()
  const sent = (expiration: number) =>
    on.send(alice, 'TransferContract', { to_address: bob.hex, amount: 1n }, { expiration })
  for (let made = 0; made < 100; made++) {
    assert.equal(sent(clock.now_ms + 60_000).result, true)
  }
  assert.equal(headTime(on), clock.now_ms + 99)
  assert.equal(on.balance(bob), 100n)
  assert.equal(sent(clock.now_ms).code, 'TRANSACTION_EXPIRATION_ERROR')
  clock.now_ms += 10_000
  on.mine()
  assert.equal(headTime(on), clock.now_ms)
})

test('resources fade by the time that has passed, however many blocks there were', () => {
  const { on, clock } = scene()
  on.devchain.fund(bob.address, TRX)
  on.do(alice, 'TransferContract', { to_address: bob.hex, amount: 1n })
  const used = Number(on.resources(alice).freeNetUsed)
  on.mine(50)
  assert.equal(on.resources(alice).freeNetUsed, used)
  clock.now_ms += 12 * 3_600_000
  on.mine()
  assert.ok(Math.abs(Number(on.resources(alice).freeNetUsed) - used / 2) <= 1)
})

test('a fork and an advance keep time in order', () => {
  const { on } = scene()
  on.mine(3)
  on.post('/devchain/reorg', { blocks: 2 })
  const before = headTime(on)
  on.post('/devchain/advance', { seconds: 3600 })
  assert.ok(headTime(on) >= before + 3_600_000)
  const { chain } = on.devchain
  for (let number = 1; number <= chain.head_number; number++) {
    assert.ok(chain.block(number)!.header.timestamp > chain.block(number - 1)!.header.timestamp)
  }
})

test('a chain on the wall clock is the same after a restart, and near the present', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'devchain-'))
  const options = { data_dir, block_time_seconds: 0, wall_clock: true }
  const first = await startDevchain(options)
  for (let made = 0; made < 200; made++) first.chain.makeBlockNow()
  const { id, header } = first.chain.head
  assert.ok(header.timestamp <= Date.now() + 200)
  await first.close()
  const second = await startDevchain({ data_dir, block_time_seconds: 0 })
  assert.equal(second.chain.head.id, id)
  second.chain.makeBlockNow()
  assert.ok(second.chain.head.header.timestamp <= Date.now() + 400)
  await second.close()
  rmSync(data_dir, { recursive: true })
})
