// What is swapped at a pool, inside one transaction, keeps its origin.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type LoggedTransfer, packTransfers } from '../../chain/transfers/packed.ts'
import { categoryNumber, LIQUIDITY_POOLS } from './categories.ts'
import { stateHash } from './checkpoint.ts'
import { FlowIndex, type FlowRules } from './flow_index.ts'
import { readHolding } from './holdings.ts'
import type { Label } from './labels.ts'
import { applyBlock } from './log.ts'
import { reversedBlock, reversedLabels } from './reversed.ts'

const EXCHANGE = categoryNumber('exchange_licensed')!
const STOLEN = categoryNumber('stolen_coins')!
const SANCTIONS = categoryNumber('sanctions')!
const SWAPS: FlowRules = { net: true, swaps: true }

const person = (n: number) => Buffer.alloc(20, n)
const [EXCHANGE_AT, THIEF, POOL, OTHER_POOL, SDN] = [1, 2, 3, 4, 5].map(person) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
  Buffer,
]
const [OWNER, STRANGER] = [person(10), person(11)]
const label = (address: Buffer, category: number): Label => ({
  address: address.toString('hex'),
  category,
  confidence: 100,
  kind: 'curated',
  from_ms: -Infinity,
  to_ms: Infinity,
})
const LABELS = [
  label(EXCHANGE_AT, EXCHANGE),
  label(THIEF, STOLEN),
  label(POOL, LIQUIDITY_POOLS),
  label(OTHER_POOL, LIQUIDITY_POOLS),
  label(SDN, SANCTIONS),
]

const move = (asset: number, from: Buffer, to: Buffer, amount: bigint): LoggedTransfer => ({
  asset,
  from,
  to,
  amount,
})

/** One block; each list is a transaction. */
function blockOf(transactions: readonly LoggedTransfer[][]) {
  const ids = transactions.flatMap((all, n) => all.map(() => Buffer.alloc(32, n + 1)))
  const transfers = packTransfers(transactions.flat())
  return {
    number: 1,
    time_ms: 1,
    freezes: [],
    first_sequence: 1,
    transfers,
    tx_ids: Buffer.concat(ids),
  }
}

function received(
  transactions: readonly LoggedTransfer[][],
  { asset, who, rules = SWAPS }: { asset: number; who: Buffer; rules?: FlowRules },
) {
  const index = new FlowIndex(LABELS, 16, rules)
  applyBlock(index, blockOf(transactions))
  const { portions } = readHolding(index, asset, who)!
  return Object.fromEntries(
    portions.filter((one) => one.received > 0n).map((one) => [one.category, one.received]),
  )
}

const loot = [[move(1, THIEF, OWNER, 300n)], [move(1, EXCHANGE_AT, OWNER, 100n)]]
const swap = [move(1, OWNER, POOL, 400n), move(0, POOL, OWNER, 1_000n)]

test('stolen tokens become stolen TRX at a pool', () => {
  const asked = { asset: 0, who: OWNER }
  assert.deepEqual(received([...loot, swap], asked), { [STOLEN]: 750n, [EXCHANGE]: 250n })
  const plain = { net: true, swaps: false }
  assert.deepEqual(received([...loot, swap], { ...asked, rules: plain }), {
    [LIQUIDITY_POOLS]: 1_000n,
  })
})

test('what a pool pays in another transaction, or to another, is its own', () => {
  const apart = [[move(1, OWNER, POOL, 400n)], [move(0, POOL, OWNER, 1_000n)]]
  assert.deepEqual(received([...loot, ...apart], { asset: 0, who: OWNER }), {
    [LIQUIDITY_POOLS]: 1_000n,
  })
  const to_stranger = [move(1, OWNER, POOL, 400n), move(0, POOL, STRANGER, 1_000n)]
  assert.deepEqual(received([...loot, to_stranger], { asset: 0, who: STRANGER }), {
    [LIQUIDITY_POOLS]: 1_000n,
  })
})

test('of one who gave several things nobody knows which of them bought it', () => {
  const dust = move(2, OWNER, POOL, 1n)
  const both = [...loot, [move(2, EXCHANGE_AT, OWNER, 1n)], [swap[0]!, dust, swap[1]!]]
  assert.deepEqual(received(both, { asset: 0, who: OWNER }), { [LIQUIDITY_POOLS]: 1_000n })
})

test('a swap may go over several pools', () => {
  const route = [
    move(1, OWNER, POOL, 400n),
    move(2, POOL, OTHER_POOL, 7n),
    move(0, OTHER_POOL, OWNER, 1_000n),
  ]
  assert.deepEqual(received([...loot, route], { asset: 0, who: OWNER }), {
    [STOLEN]: 750n,
    [EXCHANGE]: 250n,
  })
})

test('what came by a swap is not direct, and is new once when it goes to and fro', () => {
  const back = [move(0, OWNER, POOL, 1_000n), move(1, POOL, OWNER, 400n)]
  const index = new FlowIndex(LABELS, 16, SWAPS)
  applyBlock(index, blockOf([...loot, swap, back, swap, back, swap]))
  const trx = readHolding(index, 0, OWNER)!.portions.find(({ category }) => category === STOLEN)!
  assert.deepEqual([trx.direct, trx.received, trx.net_new], [0n, 2_250n, 750n])
  const token = readHolding(index, 1, OWNER)!.portions.find(({ category }) => category === STOLEN)!
  assert.deepEqual([token.direct, token.received, token.net_new], [300n, 900n, 300n])
})

test('read back, what was swapped ends where what it bought has gone', () => {
  const transactions = [...loot, swap, [move(0, OWNER, SDN, 1_000n)]]
  const block = blockOf(transactions)
  const start = { number: 1, time_ms: 1, sequence: block.transfers.length / 52 }
  const rules = { net: false, swaps: true, reversed: true }
  const index = new FlowIndex([...reversedLabels(LABELS, [], start)], 16, rules)
  applyBlock(index, reversedBlock(block, start))
  const { portions } = readHolding(index, 1, OWNER)!
  const sent = portions.filter((one) => one.received > 0n)
  assert.deepEqual(
    sent.map(({ category, received }) => [category, received]),
    [[SANCTIONS, 400n]],
  )
})

test('a pool pays whole units: what is held is what was received less what was sent', () => {
  const people = [OWNER, STRANGER]
  const any = fc.record({
    who: fc.nat(1),
    given: fc.bigInt({ min: 1n, max: 2n ** 60n }),
    paid: fc.bigInt({ min: 1n, max: 2n ** 60n }),
    asset: fc.nat(1),
    before: fc.array(fc.bigInt({ min: 1n, max: 2n ** 54n }), { maxLength: 3 }),
  })
  fc.assert(
    fc.property(fc.array(any, { maxLength: 12 }), (all) => {
      const transactions = all.flatMap(({ who, given, paid, asset, before }) => [
        ...before.map((units, i) => [
          move(asset, i % 2 === 0 ? THIEF : EXCHANGE_AT, people[who]!, units),
        ]),
        [move(asset, people[who]!, POOL, given), move(1 - asset, POOL, people[who]!, paid)],
      ])
      const index = new FlowIndex(LABELS, 16, SWAPS)
      applyBlock(index, blockOf(transactions))
      for (const who of people) {
        for (const asset of [0, 1]) {
          const holding = readHolding(index, asset, who)
          if (!holding) continue
          const total = holding.portions.reduce((sum, one) => sum + one.received, 0n)
          assert.equal(total - holding.sent, holding.balance)
        }
      }
      assert.match(stateHash(index), /^[0-9a-f]{64}$/)
    }),
  )
})

test('only what was given at a pool buys something, and only a pool sells it', () => {
  const unsure = person(12)
  const labels = [...LABELS, { ...label(unsure, LIQUIDITY_POOLS), confidence: 49 }]
  const paid = (given_to: Buffer, by: Buffer) => {
    const index = new FlowIndex(labels, 16, SWAPS)
    const swap = [move(1, OWNER, given_to, 400n), move(0, by, OWNER, 1_000n)]
    applyBlock(index, blockOf([...loot, swap]))
    const { portions } = readHolding(index, 0, OWNER)!
    return portions.filter((one) => one.received > 0n).map((one) => one.category)
  }
  assert.deepEqual(paid(POOL, POOL), [STOLEN, EXCHANGE])
  assert.deepEqual(paid(POOL, OTHER_POOL), [STOLEN, EXCHANGE])
  for (const given_to of [STRANGER, SDN, unsure])
    assert.deepEqual(paid(given_to, POOL), [LIQUIDITY_POOLS])
  assert.deepEqual(paid(POOL, SDN), [SANCTIONS])
})
