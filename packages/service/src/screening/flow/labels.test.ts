// Which label is in force, and what becomes of labels and freezes when the log is read backwards.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packTransfers } from '../../chain/transfers/packed.ts'
import { ISSUER_FROZEN } from './categories.ts'
import { categoryNamed } from './category_names.ts'
import { Counterparties } from './counterparties.ts'
import { FlowIndex } from './flow_index.ts'
import { LabelTable } from './label_table.ts'
import { isTerminal, isValidAt, KINDS, type Label, labelInForce } from './labels.ts'
import { SLOT } from './memory.ts'
import { reversedBlock, reversedLabels } from './reversed.ts'

const EVER = { from_ms: Number.NEGATIVE_INFINITY, to_ms: Number.POSITIVE_INFINITY }
const ADDRESS = '11'.repeat(20)
const label = (more: Partial<Label> = {}): Label => ({
  address: ADDRESS,
  category: 7,
  confidence: 60,
  kind: 'curated',
  ...EVER,
  ...more,
})

test('a label is valid from its first instant until the one at which it ends', () => {
  const times = { from_ms: 10, to_ms: 20 }
  assert.deepEqual(
    [9, 10, 19, 20].map((at) => isValidAt(times, at)),
    [false, true, true, false],
  )
  assert.deepEqual(
    [49, 50].map((confidence) => isTerminal({ confidence })),
    [false, true],
  )
})

test('of several labels the more believed is in force, then the surer, worse and first', () => {
  const better: [Partial<Label>, Partial<Label>][] = [
    ...KINDS.slice(1).map((kind, i): [Partial<Label>, Partial<Label>] => [
      { kind: KINDS[i]!, confidence: 1, category: 27 },
      { kind, confidence: 100, category: 0 },
    ]),
    [
      { confidence: 61, category: 27 },
      { confidence: 60, category: 0 },
    ],
    [{ category: 13 }, { category: 14 }],
    [{ category: 12 }, { category: 13 }],
    [{ category: 7 }, { category: 8 }],
    [{ to_ms: 101 }, { kind: 'authority', to_ms: 100 }],
    [{ from_ms: 100 }, { kind: 'authority', from_ms: 101 }],
  ]
  for (const [first, second] of better) {
    const [a, b] = [label(first), label(second)]
    assert.equal(labelInForce([a, b], 100), a)
    assert.equal(labelInForce([b, a], 100), a)
  }
  const [one, same] = [label(), label()]
  assert.equal(labelInForce([one, same], 100), one, 'of equal ones the first')
  assert.equal(labelInForce([label({ to_ms: 100 })], 100), undefined)
})

test('a table is worn when more than half of its rows are out', () => {
  const labels = Array.from({ length: 40 }, (_, from_ms) => label({ from_ms }))
  const table = LabelTable.of(labels)
  const steps: boolean[] = []
  for (const one of labels.slice(0, 21)) {
    table.remove(one)
    steps.push(table.is_worn)
  }
  assert.deepEqual(steps.slice(18), [false, false, true])
  assert.equal(table.copy().is_worn, true)
  table.remove(labels[0]!)
  assert.equal(table.row_count, 40)
  assert.deepEqual([...table.all()], labels.slice(21))
})

test('the labels of a table come as they were put in, and its rows have their times', () => {
  const all = [
    label({ address: '0123456789abcdef0123456789abcdef01234567', from_ms: 5, to_ms: 9 }),
    label({ from_ms: 6 }),
    label({ from_ms: 7 }),
    label({ from_ms: 7, to_ms: 8 }),
  ]
  const table = LabelTable.of(all)
  table.remove(label({ from_ms: 7, to_ms: 8 }))
  assert.deepEqual([...table.all()], all.slice(0, 3))
  assert.deepEqual(table.timesOf(0), [5, 9])
  assert.equal(table.at(3), undefined)
  assert.deepEqual(
    table.at(1)!.labels.map(({ from_ms }) => from_ms),
    [6, 7],
  )
})

test('turned round, a label begins where it ended, and what a list froze is one', () => {
  const start = { number: 9, time_ms: 1_000, sequence: 50 }
  const freeze = (from_ms: number, to_ms: number) => ({
    token: 'T',
    address: ADDRESS,
    from_ms,
    to_ms,
  })
  const freezes = [freeze(1_000, 1_001), freeze(1_001, 1_002), freeze(5, 1_000), freeze(6, 999)]
  const times = [...reversedLabels([label({ from_ms: 10, to_ms: 20 })], freezes, start)].map(
    ({ category, kind, from_ms, to_ms }) => [category, kind, from_ms, to_ms],
  )
  assert.deepEqual(times, [
    [7, 'curated', -19, -9],
    [ISSUER_FROZEN, 'ledger', Number.NEGATIVE_INFINITY, -999],
    [ISSUER_FROZEN, 'ledger', -999, -4],
    [ISSUER_FROZEN, 'ledger', -998, -5],
  ])
})

test('turned round, the last transfer of the last block is the first', () => {
  const people = [1, 2].map((n) => Buffer.alloc(20, n)) as [Buffer, Buffer]
  const [from, to] = people
  const moves = [3n, 4n].map((amount) => ({ asset: 0, from, to, amount }))
  const tx_ids = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)])
  const block = {
    number: 8,
    time_ms: 500,
    freezes: [],
    first_sequence: 40,
    transfers: packTransfers(moves),
  }
  const start = { number: 9, time_ms: 1_000, sequence: 50 }
  const turned = reversedBlock({ ...block, tx_ids }, start)
  const { number, time_ms, first_sequence } = turned
  assert.deepEqual([number, time_ms, first_sequence], [2, -500, 10])
  assert.deepEqual(
    Buffer.from(turned.transfers),
    Buffer.from(
      packTransfers([4n, 3n].map((amount) => ({ asset: 0, from: to, to: from, amount }))),
    ),
  )
  assert.deepEqual(
    Buffer.from(turned.tx_ids!),
    Buffer.concat([Buffer.alloc(32, 2), Buffer.alloc(32, 1)]),
  )
  assert.equal('tx_ids' in reversedBlock(block, start), false)
})

test('a category is known by its own name, and by those of others', () => {
  const names: [string, string | undefined][] = [
    ['mixer', 'mixer'],
    [' Dark  Market ', 'dark_market'],
    ['Darknet-Market', 'dark_market'],
    ['coinjoin', 'mixer'],
    ['constructor', undefined],
    ['something', undefined],
    ['', undefined],
  ]
  for (const [name, category] of names) assert.equal(categoryNamed(name), category, name)
})

test('a label is in force from a block of its first instant to one of its last', () => {
  const index = new FlowIndex([
    label({ from_ms: 10, to_ms: 20 }),
    label({ address: '22'.repeat(20), from_ms: 30 }),
  ])
  const at = (time_ms: number) => {
    index.beginBlock(time_ms, time_ms)
    const { address } = label()
    return [index.labelOf(address) !== undefined, index.validLabelsOf(address).length]
  }
  assert.deepEqual([...index.changing(19)], [ADDRESS])
  assert.deepEqual([...index.changing(20)], [ADDRESS, ADDRESS])
  assert.deepEqual(
    [at(9), at(10), at(19)],
    [
      [false, 0],
      [true, 1],
      [true, 1],
    ],
  )
  assert.deepEqual([...index.changing(30)], [ADDRESS, '22'.repeat(20)])
  assert.deepEqual(at(20), [false, 0])
  assert.equal(index.labelAt(ADDRESS, 15)?.category, 7)
  assert.deepEqual([...index.changing(29)], [])
})

test('a freeze lasts from its block to the thaw, once however often it is said', () => {
  const index = new FlowIndex([])
  const say = (number: number, frozen: boolean, token = 'T', address = ADDRESS) =>
    index.beginBlock(number, number * 10, [{ token, address, frozen }])
  say(1, false)
  assert.equal(index.labelOf(ADDRESS), undefined)
  say(2, true)
  say(3, true)
  say(4, true, 'U')
  say(4, true, 'T', '33'.repeat(20))
  assert.equal(index.labelOf(ADDRESS)?.category, ISSUER_FROZEN)
  say(5, false)
  assert.equal(index.labelOf(ADDRESS)?.category, ISSUER_FROZEN, 'by the other token')
  say(6, false, 'U')
  assert.equal(index.labelOf(ADDRESS), undefined)
  say(7, true)
  assert.deepEqual(
    index.labelsOf(ADDRESS).map(({ from_ms, to_ms }) => [from_ms, to_ms]),
    [
      [20, 50],
      [40, 60],
      [70, Number.POSITIVE_INFINITY],
    ],
  )
})

/** The first words of so many others, a slot each. */
function othersOf(count: number): Uint32Array {
  const others = new Uint32Array(count * SLOT)
  for (let n = 0; n < count; n++) others.set([n, n === 0 ? 0 : 5], n * SLOT)
  return others
}

test('whom an address deals with is counted up to a limit, with the memory it takes', () => {
  const counted = new Counterparties(30)
  const others = othersOf(31)
  const note = (count: number) => {
    for (let n = 0; n < count; n++) counted.note(1, others, n)
    return [counted.of(1)?.others?.length, counted.bytes_used, counted.size]
  }
  assert.deepEqual([counted.of(1), counted.bytes_used], [undefined, 0])
  assert.deepEqual(note(1), [2, 128, 1])
  assert.deepEqual(note(10), [20, 128, 1])
  assert.deepEqual(note(11), [22, 256, 1])
  assert.deepEqual(note(30), [60, 512, 1])
  const restored = new Counterparties(30)
  restored.restore(4, counted.of(1)!.others)
  assert.deepEqual(restored.of(4), counted.of(1))
  assert.equal(restored.bytes_used, 512)
  restored.restore(5, new Uint32Array(0))
  assert.equal(restored.of(5), undefined)
  assert.deepEqual(note(31), [undefined, 0, 1])
  assert.deepEqual(counted.of(1), { others: undefined })
  restored.restore(6, undefined)
  assert.deepEqual([...restored.counted()].at(-1), { slot: 6, others: undefined })
  restored.drop(4)
  restored.drop(6)
  assert.deepEqual([restored.size, restored.bytes_used], [0, 0])
  assert.deepEqual([counted.transfers_before, new Counterparties(39).transfers_before], [1, 1])
})
