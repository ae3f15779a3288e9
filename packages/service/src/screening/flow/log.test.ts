import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  countTransfers,
  type LoggedBlock,
  packTransfers,
  transferAt,
} from '../../chain/transfers/packed.ts'
import { UNIDENTIFIED } from './categories.ts'
import { readCheckpoint, stateHash, writeCheckpoint } from './checkpoint.ts'
import { FlowIndex } from './flow_index.ts'
import { readHolding } from './holdings.ts'
import { applyBlock, CarriedWriter, readCarried } from './log.ts'

const person = (i: number) => Buffer.alloc(20, i)
const transfer = fc.record({
  asset: fc.nat(3),
  from: fc.integer({ min: 1, max: 5 }).map(person),
  to: fc.integer({ min: 1, max: 5 }).map(person),
  amount: fc.bigInt(1n, 2n ** 60n),
})
const transfers = fc.array(transfer, { maxLength: 30 })

test('packed transfers come back as they were', () => {
  fc.assert(
    fc.property(transfers, (all) => {
      const packed = packTransfers(all)
      assert.equal(countTransfers(packed), all.length)
      for (const [i, one] of all.entries()) {
        const { from, to, ...rest } = transferAt(packed, i)
        assert.deepEqual({ ...rest, from: Buffer.from(from), to: Buffer.from(to) }, { ...one })
      }
    }),
  )
})

test('what transfers carried sums to what they moved, and comes back as it was written', () => {
  fc.assert(
    fc.property(transfers, (all) => {
      const index = new FlowIndex([])
      const writer = new CarriedWriter(all.length)
      applyBlock(index, blockOf(all), writer)
      const carried = readCarried(writer.written())
      assert.equal(carried.length, all.length)
      for (const [i, { from, to, amount }] of all.entries()) {
        const moved = from.equals(to) ? 0n : amount
        assert.equal(
          carried[i]!.reduce((sum, part) => sum + part.amount, 0n),
          moved,
        )
      }
    }),
  )
})

test('the last transfer of a portion goes to its own address, whatever was there before', () => {
  const many = Array.from({ length: 20 }, (_, i) => ({
    asset: 0,
    from: person(1 + i),
    to: person(40 + i),
    amount: 5n,
  }))
  // Its second portion finds all of them.
  const before = new FlowIndex([])
  applyBlock(before, blockOf(many), undefined)
  applyBlock(before, blockOf(many), undefined)
  // The zero address is what an empty place looks like.
  const index = new FlowIndex([])
  applyBlock(index, blockOf([{ asset: 0, from: person(1), to: person(0), amount: 7n }]), undefined)
  assert.equal(readHolding(index, 0, person(0))?.balance, 7n)
})

test('the borders of portions leave no trace in the state', () => {
  fc.assert(
    fc.property(fc.array(transfers, { maxLength: 6 }), (blocks) => {
      const logged = blocks.map((all, i) => ({
        ...blockOf(all),
        number: i + 1,
        time_ms: i * 3_000,
      }))
      const one_go = new FlowIndex([], 1)
      for (const block of logged) applyBlock(one_go, block)
      const noting = new FlowIndex([], 4096)
      for (const block of logged) applyBlock(noting, block, new CarriedWriter(30))
      assert.equal(stateHash(noting), stateHash(one_go))
    }),
  )
})

test('a witness leads back, transfer by transfer, to where the money came from', () => {
  const [a, b, c] = [person(1), person(2), person(3)]
  const index = new FlowIndex([
    {
      address: a.toString('hex'),
      category: 7,
      confidence: 100,
      kind: 'curated',
      from_ms: -Infinity,
      to_ms: Infinity,
    },
  ])
  const all = [
    { asset: 0, from: a, to: b, amount: 100n },
    { asset: 0, from: person(4), to: b, amount: 100n },
    { asset: 0, from: b, to: c, amount: 50n },
  ]
  const writer = new CarriedWriter(all.length)
  applyBlock(index, blockOf(all), writer)
  assert.deepEqual(readCarried(writer.written()), [
    [{ category: 7, amount: 100n, prior: 0 }],
    [{ category: UNIDENTIFIED, amount: 100n, prior: 0 }],
    [
      { category: 7, amount: 25n, prior: 1 },
      { category: UNIDENTIFIED, amount: 25n, prior: 2 },
    ],
  ])
})

function blockOf(all: Parameters<typeof packTransfers>[0]): LoggedBlock {
  return { number: 1, time_ms: 0, freezes: [], first_sequence: 1, transfers: packTransfers(all) }
}

test('an index with more cells than a page holds is whole, saved and restored', async () => {
  const count = 300_000
  const address = (n: number) => {
    const bytes = Buffer.alloc(20, 9)
    bytes.writeUInt32LE(n, 0)
    return bytes
  }
  const mixer = address(count)
  const labelled = new FlowIndex([
    {
      address: mixer.toString('hex'),
      category: 7,
      confidence: 100,
      kind: 'curated',
      from_ms: -Infinity,
      to_ms: Infinity,
    },
  ])
  for (let from = 0, number = 1; from < count; from += 1_000, number++) {
    const transfers = Array.from({ length: 1_000 }, (_, i) => [
      { asset: 0, from: mixer, to: address(from + i), amount: 1_000n },
      { asset: 0, from: address(from + i), to: address(from + i + 1), amount: 1_500n },
    ]).flat()
    applyBlock(labelled, {
      number,
      time_ms: number,
      freezes: [],
      first_sequence: 2 * from + 1,
      transfers: packTransfers(transfers),
    })
  }
  for (const n of [0, 1, 150_000, 262_143, 262_144, 262_145, count - 2]) {
    const holding = readHolding(labelled, 0, address(n))!
    const sum = holding.portions.reduce((total, { held }) => total + held, 0n)
    assert.equal(sum, holding.balance)
    assert.equal(holding.portions.find(({ category }) => category === 7)!.direct, 1_000n)
  }
  const label = labelled.labelsOf(mixer.toString('hex'))
  const restored = await readCheckpoint(label, writeCheckpoint(labelled))
  for (const n of [0, 262_144, count - 1]) {
    assert.deepEqual(readHolding(restored, 0, address(n)), readHolding(labelled, 0, address(n)))
  }
})
