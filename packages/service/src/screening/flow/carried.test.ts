// What one transfer carries, how it is written, and what is read of an address after it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoggedTransfer, packTransfers } from '../../chain/transfers/packed.ts'
import { Input, Output } from './bytes.ts'
import { Carried } from './carried.ts'
import { UNIDENTIFIED } from './categories.ts'
import { FlowIndex, type FlowRules, PERIOD_BLOCKS, PLAIN_RULES } from './flow_index.ts'
import { readHolding } from './holdings.ts'
import type { Label } from './labels.ts'
import { applyBlock, CarriedWriter, readCarried } from './log.ts'
import { addressWords } from './memory.ts'

/** The transfers of this many units are the first that are kept in bigint. */
const LARGE = 2n ** 52n

test('what is carried of a category is what was put there since the transfer began', () => {
  const carried = new Carried()
  carried.begin()
  carried.putOrigin(0, 5)
  assert.deepEqual([carried.amount(0), carried.amount(1), carried.total], [5n, 0n, 5n])
  carried.begin()
  assert.deepEqual([carried.amount(0), carried.total, carried.parts()], [0n, 0n, []])
  carried.putOrigin(3, LARGE)
  assert.deepEqual(carried.parts(), [{ category: 3, amount: LARGE, hops: 1 }])
  carried.begin()
  carried.putOrigin(3, 1)
  carried.mask |= 1 << 4
  carried.amounts[4] = 0
  assert.deepEqual(carried.parts(), [{ category: 3, amount: 1n, hops: 1 }])
})

test('what was swapped is of the same parts, one hop further, in bigint where it is large', () => {
  const parts = [
    { category: 2, amount: 3n, hops: 4 },
    { category: 5, amount: 1n, hops: 7 },
    { category: 6, amount: 0n, hops: 9 },
  ]
  for (const amount of [4n, LARGE - 4n, LARGE, 4n * LARGE]) {
    const carried = new Carried()
    carried.begin()
    carried.putSwapped(parts, amount, 77)
    assert.equal(carried.big !== undefined, amount >= LARGE)
    assert.deepEqual(carried.parts(), [
      { category: 2, amount: (amount / 4n) * 3n, hops: 5 },
      { category: 5, amount: amount / 4n, hops: 8 },
    ])
    assert.deepEqual([carried.mask, carried.prior[2], carried.prior[5]], [0b100100, 77, 77])
  }
})

test('money that begins at the sender is one hop away, and mixes with what it had', () => {
  const cases: [own: number, amount: number, hops: number, prior: number][] = [
    [0, 6, 1, 0],
    [1, 3, 1.5, 0],
    [2, 6, 1.5, 0],
    [6, 6, 2, 9],
    [6, 2, 2.5, 9],
  ]
  for (const category of [0, 4])
    for (const [own, amount, hops, prior] of cases)
      for (const is_big of [false, true]) {
        const carried = new Carried()
        carried.begin()
        // Left by a transfer before.
        carried.amounts[category] = 99
        carried.hops[category] = 3
        carried.prior[category] = 9
        if (is_big) carried.big = []
        if (own > 0) {
          carried.mask = 1 << category
          if (is_big) carried.big![category] = BigInt(own)
          else carried.amounts[category] = own
        }
        if (is_big) carried.addOriginBig(category, BigInt(amount))
        else carried.addOrigin(category, amount)
        assert.equal(carried.amount(category), BigInt(own + amount))
        assert.deepEqual([carried.hops[category], carried.prior[category]], [hops, prior])
        assert.equal(carried.mask, 1 << category)
      }
})

test('numbers take a byte for each seven bits, and end with their bytes', () => {
  const numbers: [number, string][] = [
    [0, '00'],
    [1, '01'],
    [127, '7f'],
    [128, '8001'],
    [129, '8101'],
    [16_383, 'ff7f'],
    [16_384, '808001'],
    [2 ** 32, '8080808010'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f'],
  ]
  for (const [number, hex] of numbers) {
    const out = new Output(100)
    out.number(number)
    out.big(BigInt(number))
    assert.equal(Buffer.from(out.written()).toString('hex'), hex + hex)
    const input = new Input(out.written())
    assert.equal(input.atEnd(), false)
    assert.deepEqual([input.number(), input.big(), input.atEnd()], [number, BigInt(number), true])
    const bytes = new Input(out.written()).bytes(hex.length)
    assert.equal(bytes.length, hex.length)
    const short = new Input(out.written().subarray(0, hex.length / 2))
    assert.throws(() => short.bytes(hex.length / 2 + 1), /end in the middle/)
    assert.equal(short.number(), number)
    assert.throws(() => short.byte(), /end in the middle/)
    assert.throws(() => short.big(), /end in the middle/)
  }
})

const person = (n: number) => Buffer.alloc(20, n)
const move = (from: Buffer, to: Buffer, amount: bigint): LoggedTransfer => ({
  asset: 0,
  from,
  to,
  amount,
})
const labelOf = (address: Buffer, category: number): Label => ({
  address: address.toString('hex'),
  category,
  confidence: 100,
  kind: 'curated',
  from_ms: Number.NEGATIVE_INFINITY,
  to_ms: Number.POSITIVE_INFINITY,
})

/** Applies blocks by their numbers, and returns what is read of a person then. */
function apply(index: FlowIndex, number: number, ...transfers: LoggedTransfer[]): void {
  const first_sequence = index.sequence + 1
  const packed = packTransfers(transfers)
  applyBlock(index, { number, time_ms: number, freezes: [], first_sequence, transfers: packed })
}

test('an address is read when it was part of a transfer, be its slot the first', () => {
  const index = new FlowIndex([])
  index.slot(0, addressWords(person(1)))
  assert.equal(readHolding(index, 0, person(1)), undefined, 'its slot has moved nothing')
  assert.equal(readHolding(index, 0, person(2)), undefined)
  apply(index, 1, move(person(1), person(2), 1n))
  const [sender, receiver] = [1, 2].map((n) => readHolding(index, 0, person(n))!)
  const { portions, ...counts } = receiver!
  const numbers = { balance: 1n, sent: 0n, count_in: 1, count_out: 0 }
  assert.deepEqual(counts, { ...numbers, first_block: 1, last_block: 1 })
  assert.deepEqual(portions, [
    {
      category: UNIDENTIFIED,
      held: 1n,
      received: 1n,
      direct: 0n,
      net_new: 1n,
      recent: 1n,
      destination: 0n,
      hops: 1,
      witness: 1,
    },
  ])
  assert.deepEqual([sender!.sent, sender!.count_out, sender!.balance], [1n, 1, 0n])
  assert.equal(readHolding(index, 1, person(1)), undefined, 'it has nothing of another asset')
})

test('a category to which one has only sent has no hops', () => {
  const index = new FlowIndex([labelOf(person(9), 7)])
  apply(index, 5, move(person(1), person(9), 4n))
  const [sent] = readHolding(index, 0, person(1))!.portions
  assert.deepEqual([sent!.category, sent!.destination, sent!.hops], [7, 4n, 0])
})

test('what is recent is what came in the period of the last block or the one before', () => {
  const came = [1n, 10n, 100n, 1_000n]
  const index = new FlowIndex([labelOf(person(9), 7)])
  const recent = () => readHolding(index, 0, person(1))!.portions[0]!.recent
  const seen: bigint[] = []
  for (const [period, amount] of came.entries()) {
    index.beginBlock((period + 1) * PERIOD_BLOCKS, period)
    if (period > 0) seen.push(recent())
    apply(index, (period + 1) * PERIOD_BLOCKS, move(person(9), person(1), amount))
    seen.push(recent())
  }
  assert.deepEqual(seen, [1n, 1n, 11n, 10n, 110n, 100n, 1_100n])
  for (const [period, expected] of [
    [5, 1_000n],
    [6, 0n],
    [7, 0n],
  ] as const) {
    index.beginBlock(period * PERIOD_BLOCKS, period)
    assert.equal(recent(), expected, `${period}`)
  }
  apply(index, 7 * PERIOD_BLOCKS, move(person(9), person(1), 5n))
  assert.equal(recent(), 5n)
})

test('addresses that begin alike are told apart in one portion of transfers', () => {
  const alike = (n: number) => Buffer.concat([Buffer.alloc(8, 1), Buffer.alloc(12, n)])
  const people = Array.from({ length: 6 }, (_, n) => alike(n))
  for (const rules of [PLAIN_RULES, { net: true, swaps: true } satisfies FlowRules]) {
    const index = new FlowIndex([], 16, rules)
    apply(index, 1, ...people.map((one) => move(person(9), one, 10n)))
    // The number of the first to be dropped goes to one that is like it.
    for (const n of [0, 1]) index.memory.drop(index.slot(0, addressWords(people[n]!)))
    const moves = people.map((one, n) => move(one, people[(n + 1) % 6]!, BigInt(n + 1)))
    apply(index, 2, ...moves.toReversed())
    const balances = people.map((one) => readHolding(index, 0, one)!.balance)
    assert.deepEqual(balances, [5n, 1n, 9n, 9n, 9n, 9n])
  }
})

test('a full portion of transfers is applied like others, and one more after it', () => {
  for (const count of [1, 255, 256, 257, 512]) {
    const index = new FlowIndex([])
    const writer = new CarriedWriter(count)
    const transfers = Array.from({ length: count }, (_, i) =>
      move(person(i % 7), person(7 + (i % 5)), BigInt(i + 1)),
    )
    const packed = packTransfers(transfers)
    const block = { number: 1, time_ms: 1, freezes: [], first_sequence: 1, transfers: packed }
    applyBlock(index, block, writer)
    assert.deepEqual(
      readCarried(writer.written()).map(([part]) => part!.amount),
      transfers.map(({ amount }) => amount),
    )
    assert.equal(index.sequence, count)
  }
})
