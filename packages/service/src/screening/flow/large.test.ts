// The arithmetic of the index where numbers no longer fit into 32 bits: past so many transfers,
// cells and places of its table. Memory for all of them is not needed for that: an index begins
// where they are given out already.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { packTransfers } from '../../chain/transfers/packed.ts'
import { UNIDENTIFIED } from './categories.ts'
import { readCheckpoint, stateHash, writeCheckpoint } from './checkpoint.ts'
import { FlowIndex } from './flow_index.ts'
import { readHolding } from './holdings.ts'
import { LabelTable } from './label_table.ts'
import type { Label } from './labels.ts'
import { applyBlock, CarriedWriter, readCarried } from './log.ts'
import { addressWords, homeOf, Memory, placeAfter } from './memory.ts'

const WORD = 2 ** 32
const person = (i: number) => Buffer.alloc(20, i)
const SERVICES = [0, 3, 7, 9, 12, 20]
/** The first people are services, each of another category. */
const LABELS: Label[] = SERVICES.map((category, i) => ({
  address: person(i).toString('hex'),
  category,
  confidence: 100,
  kind: 'curated',
  from_ms: -Infinity,
  to_ms: Infinity,
}))

type Transfers = Parameters<typeof packTransfers>[0]
const blockOf = (all: Transfers, first_sequence: number) => ({
  number: 1,
  time_ms: 0,
  freezes: [],
  first_sequence,
  transfers: packTransfers(all),
})

/** An index whose cells have numbers from `cells_before` on. */
function indexFrom(cells_before: number): FlowIndex {
  const index = new FlowIndex([])
  Object.assign(index, { memory: new Memory(16, { with_visits: true, cells_before }) })
  for (const _ of index.takeLabels(LabelTable.of(LABELS)));
  return index
}

test('a witness past 2^32 transfers leads to the transfer itself', async () => {
  const first = WORD - 2
  const index = new FlowIndex(LABELS)
  const [a, b, c] = [person(30), person(31), person(32)]
  const all = [
    { asset: 0, from: person(2), to: b, amount: 100n },
    { asset: 0, from: a, to: b, amount: 100n },
    { asset: 0, from: person(3), to: b, amount: 100n },
    { asset: 0, from: b, to: c, amount: 30n },
  ]
  const writer = new CarriedWriter(all.length)
  applyBlock(index, blockOf(all, first), writer)
  assert.deepEqual(readCarried(writer.written())[3], [
    { category: 7, amount: 10n, prior: WORD - 2 },
    { category: 9, amount: 10n, prior: WORD },
    { category: UNIDENTIFIED, amount: 10n, prior: WORD - 1 },
  ])
  const restored = await readCheckpoint(LABELS, writeCheckpoint(index))
  for (const one of [index, restored]) {
    assert.equal(one.sequence, WORD + 1)
    const { portions } = readHolding(one, 0, c)!
    assert.deepEqual(
      portions.map(({ witness }) => witness),
      [WORD + 1, WORD + 1, WORD + 1],
    )
    const brought = readHolding(one, 0, b)!.portions.map(({ witness }) => witness)
    assert.deepEqual(brought, [WORD - 2, WORD, WORD - 1])
  }
})

test('what a transfer carried fits into its room, however large its numbers', () => {
  const index = new FlowIndex(LABELS)
  index.beginBlock(1, 0)
  const writer = new CarriedWriter(1)
  const { carried } = index
  carried.begin()
  carried.big = []
  for (let category = 0; category < 28; category++) {
    carried.mask |= 1 << category
    carried.big[category] = 2n ** 64n - 1n
    carried.prior[category] = Number.MAX_SAFE_INTEGER
  }
  writer.note(index, true)
  const [parts] = readCarried(writer.written())
  assert.equal(parts!.length, 28)
  for (const { amount, prior } of parts!)
    assert.deepEqual([amount, prior], [2n ** 64n - 1n, Number.MAX_SAFE_INTEGER])
})

const transfer = fc.record({
  asset: fc.nat(1),
  from: fc.nat(14).map(person),
  to: fc.nat(14).map(person),
  amount: fc.bigInt(1n, 2n ** 55n),
})

test('cells past 2^32 of them hold what they would hold among the first', async () => {
  const histories = fc.array(transfer, { minLength: 40, maxLength: 200 })
  // Some of the cells lie before the border, and slots that grow move across it.
  const borders = fc.constantFrom(WORD - 40, WORD - 9, WORD, 3 * WORD - 20)
  await fc.assert(
    fc.asyncProperty(histories, borders, async (all, border) => {
      const near = new FlowIndex(LABELS)
      const far = indexFrom(border)
      const [near_writer, far_writer] = [all, all].map(() => new CarriedWriter(all.length))
      applyBlock(near, blockOf(all, 1), near_writer)
      applyBlock(far, blockOf(all, 1), far_writer)
      assert.deepEqual(far_writer!.written(), near_writer!.written())
      assert.equal(stateHash(far), stateHash(near))
      assert.deepEqual([...writeCheckpoint(far)], [...writeCheckpoint(near)])
    }),
    { numRuns: 30 },
  )
})

test('an index that has no numbers for more cells says so, and changes nothing', () => {
  const index = indexFrom(2 ** 35 - 3)
  const { memory } = index
  const slot = index.slot(0, addressWords(person(40)))
  memory.ensureCells(slot, 0b11)
  const before = [...memory.slots.subarray(0, memory.slot_count * 16)]
  const used = memory.bytes_used
  assert.throws(() => memory.ensureCells(slot, 0b1111), /more cells than an index can have/)
  assert.deepEqual([...memory.slots.subarray(0, memory.slot_count * 16)], before)
  assert.equal(memory.bytes_used, used)
})

test('a table past 715,827,882 slots finds a place inside of it for each hash', () => {
  const hashes = [0, 1, 2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, WORD - 2, WORD - 1]
  for (const words of [2 ** 7, 2 ** 31, WORD, 2 * WORD, 4 * WORD]) {
    const homes = hashes.map((hash) => homeOf(hash, words))
    for (const home of homes) {
      assert.ok(home >= 0 && home < words && home % 2 === 0, `${home} of ${words}`)
      assert.ok(placeAfter(home, words) < words)
    }
    assert.equal(placeAfter(words - 2, words), 0)
    // From 2^33 words on there is a place for each hash; of fewer, the lowest bits say it.
    assert.deepEqual(
      homes,
      hashes.map((hash) => Number((BigInt(hash) * 2n) % BigInt(words))),
    )
  }
})
