import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person, Scene, TRX } from '../scene.ts'

const alice = person('alice')
const bob = person('bob')

const scene = (seed?: string) =>
  new Scene({ alice: 10_000n * TRX, bob: 100n * TRX }, seed ? { seed } : {})
const signed = (on: Scene) =>
  on.signed(alice, 'TransferContract', { to_address: bob.hex, amount: 1n })
const broadcast = (on: Scene, hex: string) =>
  on.devchain.request('POST', '/wallet/broadcasthex', JSON.stringify({ transaction: hex }))
const codeOf = (answer: { body: string }) => (JSON.parse(answer.body) as { code: string }).code
const receipt = (on: Scene, id: string) => on.post('/wallet/gettransactioninfobyid', { value: id })

test('a lost answer: the broadcast is done and nobody is told', () => {
  const on = scene()
  on.post('/devchain/fault', { kind: 'lose_answer' })
  const { hex, id } = signed(on)
  assert.deepEqual(broadcast(on, hex), { status: 0, body: '' })
  assert.equal(codeOf(broadcast(on, hex)), 'DUP_TRANSACTION_ERROR')
  on.mine()
  assert.equal(receipt(on, id).id, id)
})

test('a dropped transaction: accepted, never in a block, out of the pool after a minute', () => {
  const on = scene()
  on.post('/devchain/fault', { kind: 'drop' })
  const { hex, id } = signed(on)
  assert.equal(codeOf(broadcast(on, hex)), 'SUCCESS')
  on.mine(10)
  assert.deepEqual(receipt(on, id), {})
  assert.equal(codeOf(broadcast(on, hex)), 'DUP_TRANSACTION_ERROR')
  on.mine(12)
  assert.equal(on.devchain.chain.pendingSize(), 0)
  assert.equal(codeOf(broadcast(on, hex)), 'TRANSACTION_EXPIRATION_ERROR')
})

test('a delayed transaction waits for its time', () => {
  const on = scene()
  on.post('/devchain/fault', { kind: 'delay', seconds: 9 })
  const { hex, id } = signed(on)
  broadcast(on, hex)
  on.mine(2)
  assert.deepEqual(receipt(on, id), {})
  on.mine()
  assert.equal(receipt(on, id).id, id)
})

test('a busy node and a false duplicate refuse a broadcast, and do not keep it', () => {
  const on = scene()
  on.post('/devchain/fault', { kind: 'busy', count: 2 })
  on.post('/devchain/fault', { kind: 'false_dup' })
  const { hex, id } = signed(on)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => codeOf(broadcast(on, hex))),
    ['SERVER_BUSY', 'SERVER_BUSY', 'DUP_TRANSACTION_ERROR', 'SUCCESS'],
  )
  on.mine()
  assert.equal(receipt(on, id).id, id)
})

test('time-outs, rate limits and overload strike any request, and nothing is done', () => {
  const on = scene()
  const ask = () => on.devchain.request('GET', '/wallet/getnowblock', '')
  on.post('/devchain/fault', { kind: 'timeout' })
  assert.equal(ask().status, 0)
  on.post('/devchain/fault', { kind: 'rate_limit' })
  assert.equal(ask().status, 429)
  on.post('/devchain/fault', { kind: 'overload' })
  assert.equal(
    ask().body,
    '{"Error":"class java.lang.IllegalAccessException : lack of computing resources"}',
  )
  assert.equal(ask().status, 200)
})

test('a receipt can be missing for a while', () => {
  const on = scene()
  const { id } = on.do(alice, 'TransferContract', { to_address: bob.hex, amount: 1n }) as {
    id: string
  }
  on.post('/devchain/fault', { kind: 'hide_receipt', count: 2 })
  assert.deepEqual([receipt(on, id), receipt(on, id)], [{}, {}])
  assert.equal(receipt(on, id).id, id)
})

test('the receipts of young blocks can be missing, until the fault is cleared', () => {
  const on = scene()
  on.post('/devchain/fault', { kind: 'late_receipt', seconds: 6 })
  const { hex, id } = signed(on)
  broadcast(on, hex)
  const number = on.mine().header.number
  assert.deepEqual(receipt(on, id), {})
  assert.deepEqual(on.post('/wallet/gettransactioninfobyblocknum', { num: number }), [])
  on.mine()
  assert.deepEqual(receipt(on, id), {})
  on.mine()
  assert.equal(receipt(on, id).id, id)
  on.post('/devchain/clear_faults')
  const next = signed(on)
  broadcast(on, next.hex)
  on.mine()
  assert.equal(receipt(on, next.id).id, next.id)
})

test('blocks can come late, and come empty', () => {
  const on = scene()
  on.post('/devchain/fault', { kind: 'slow_block', seconds: 30 })
  on.post('/devchain/fault', { kind: 'empty_block', count: 2 })
  broadcast(on, signed(on).hex)
  const before = on.devchain.head.header.timestamp
  const blocks = [on.mine(), on.mine(), on.mine()]
  assert.deepEqual(
    blocks.map(({ header }) => header.timestamp - before),
    [33_000, 36_000, 39_000],
  )
  assert.deepEqual(
    blocks.map(({ transactions }) => transactions.length),
    [0, 0, 1],
  )
})

test('faults can be disarmed, one kind or all', () => {
  const on = scene()
  for (const kind of ['busy', 'drop', 'timeout']) on.post('/devchain/fault', { kind, count: 5 })
  on.post('/devchain/clear_faults', { kind: 'drop' })
  assert.deepEqual(
    on.devchain.faults.list().map(({ kind }) => kind),
    ['busy', 'timeout'],
  )
  on.post('/devchain/clear_faults')
  assert.deepEqual(on.devchain.faults.list(), [])
})

test('which requests a probable fault strikes follows from the seed', () => {
  const strikes = (seed: string) => {
    const on = scene(seed)
    on.post('/devchain/fault', { kind: 'timeout', count: 1000, probability: 0.3 })
    return Array.from(
      { length: 200 },
      () => on.devchain.request('GET', '/wallet/getnowblock', '').status,
    )
  }
  assert.deepEqual(strikes('one'), strikes('one'))
  assert.notDeepEqual(strikes('one'), strikes('two'))
  const struck = strikes('one').filter((status) => status === 0).length
  assert.ok(struck > 30 && struck < 90, String(struck))
})
