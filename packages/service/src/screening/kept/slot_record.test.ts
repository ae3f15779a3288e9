// A slot as bytes: it has what is not nothing, and comes back bit by bit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { CATEGORY_COUNT } from '../flow/categories.ts'
import { FlowIndex, type FlowRules, PLAIN_RULES } from '../flow/flow_index.ts'
import {
  addressWords,
  BALANCE,
  BIG,
  CELL,
  CELLS,
  COUNT_IN,
  COUNT_OUT,
  DESTINATION,
  DIRECT,
  FIRST_BLOCK,
  HELD,
  HOPS,
  LAST_BLOCK,
  MASK,
  NEW,
  NEW_AT_PERIOD,
  NEW_AT_PERIOD_BEFORE,
  NEW_SUM,
  placeOf,
  RECEIVED,
  SENT,
  SENT_SUM,
  SLOT,
  SLOT_DOUBLES,
  VISITS,
  WITNESS,
  WITNESS_AMOUNT,
} from '../flow/memory.ts'
import { BrokenState, isCounted, KEY, readRecord, writeKey, writeRecord } from './slot_record.ts'

const ADDRESS = Uint8Array.from({ length: 20 }, (_, i) => 3 * i + 1)
const WITHOUT_VISITS: FlowRules = { net: false, swaps: false }
/** Fields of a cell, and what they are. */
type Fields = readonly (readonly [field: number, value: number])[]
/** Places among the words of a cell. */
const isWord = (field: number) => field === NEW_AT_PERIOD || field === NEW_AT_PERIOD_BEFORE

function cellsOf({ memory }: FlowIndex, slot: number) {
  const place = placeOf(memory.slots[slot * SLOT + CELLS]!)
  return { place, page: memory.pageOf(slot) }
}

/** A slot with a cell for each of these, beside others whose numbers are not 0. */
function slotWith(cells: readonly Fields[], rules = WITHOUT_VISITS) {
  const index = new FlowIndex([], 16, rules)
  const { memory } = index
  const [before, slot, after] = [8, 7, 9].map((asset) => index.slot(asset, addressWords(ADDRESS)))
  for (const one of [before!, slot!, after!]) {
    memory.ensureCells(one, one === slot ? 2 ** cells.length - 1 : 1)
    const { place, page } = cellsOf(index, one)
    if (one !== slot) page.doubles.fill(5, place, place + CELL)
    else
      for (const [i, fields] of cells.entries())
        for (const [field, value] of fields)
          if (isWord(field)) page.words[2 * (place + i * CELL) + field] = value
          else page.doubles[place + i * CELL + field] = value
    if (one !== slot) memory.visits.fill(0.25, one * VISITS, (one + 1) * VISITS)
  }
  const base = slot! * SLOT
  memory.slot_doubles[slot! * SLOT_DOUBLES + SENT] = 1
  memory.slots.set([2, 3, 10, 14], base + COUNT_IN)
  return { index, slot: slot! }
}

function written({ index, slot }: { index: FlowIndex; slot: number }) {
  const key = new Uint8Array(KEY)
  writeKey(index, slot, key)
  return { key, ...writeRecord(index, slot, key) }
}

/** The index and the slot that a record is read into. */
function restored(entry: ReturnType<typeof written>, rules = WITHOUT_VISITS) {
  const index = new FlowIndex([], 16, rules)
  for (const asset of [1, 2]) index.slot(asset, addressWords(ADDRESS))
  const slot = index.slot(entry.key[0]!, addressWords(entry.key.subarray(1)))
  index.slot(3, addressWords(ADDRESS))
  readRecord(index, slot, entry)
  return { index, slot }
}

/** All that is known of a slot. */
function everything({ index, slot }: { index: FlowIndex; slot: number }) {
  const { memory, counterparties } = index
  const { place, page } = cellsOf(index, slot)
  const count = memory.slots[slot * SLOT + MASK]!.toString(2).replaceAll('0', '').length
  return {
    words: [COUNT_IN, COUNT_OUT, FIRST_BLOCK, LAST_BLOCK, MASK].map(
      (word) => memory.slots[slot * SLOT + word],
    ),
    sent: memory.slot_doubles[slot * SLOT_DOUBLES + SENT],
    cells: [...page.words.subarray(2 * place, 2 * (place + count * CELL))],
    visits: [...memory.visits.subarray(slot * VISITS, (slot + 1) * VISITS)],
    held: index.heldOf(slot),
    is_big: memory.big.has(slot),
    wide: memory.wideSumsOf(slot),
    others: counterparties.of(slot),
  }
}

/** Without the sum over it; `tail`: what follows the cells. */
const recordOf = (is: string, mask: string, cells: string, tail = '0000') =>
  `${is}0102030a04${mask}${cells}${tail}`
const hexOf = (state: Uint8Array) => Buffer.from(state.subarray(4)).toString('hex')

test('a cell of a record has its fields that are not 0, and comes back with them', () => {
  const cells: [Fields, string][] = [
    [[], '40'],
    [[[HELD, 1]], '4101'],
    [[[RECEIVED, 1]], '020100'],
    [[[NEW, 1]], '0001'],
    [
      [
        [RECEIVED, 1],
        [NEW, 1],
      ],
      '4201',
    ],
    [[[DIRECT, 1]], '4401'],
    [[[DESTINATION, 1]], '4801'],
    [
      [
        [WITNESS, 1],
        [WITNESS_AMOUNT, 200],
      ],
      '5001c801',
    ],
    [[[HOPS, 1]], '60000000000000f03f'],
    [[[NEW_AT_PERIOD, 1]], 'c00100000000000000'],
    [[[NEW_AT_PERIOD_BEFORE, 1]], 'c00000000001000000'],
  ]
  for (const [fields, hex] of cells) {
    const alone = slotWith([fields])
    const entry = written(alone)
    assert.equal(hexOf(entry.state), recordOf('00', '01000000', hex))
    assert.deepEqual(everything(restored(entry)), everything(alone))
    const beside = slotWith([fields, [[HELD, 9]]])
    const two = written(beside)
    assert.equal(hexOf(two.state), recordOf('00', '03000000', `${hex}4109`))
    assert.deepEqual(everything(restored(two)), everything(beside))
  }
  const all = slotWith(cells.map(([fields]) => fields))
  const back = restored(written(all))
  assert.deepEqual(everything(back), everything(all))
  assert.equal(back.index.memory.slot_doubles[back.slot * SLOT_DOUBLES + BALANCE], 1)
})

test('a record has the groups where its money has been, where that is noted', () => {
  const slot = slotWith([[]], PLAIN_RULES)
  slot.index.memory.visits.set([1, 0.5], slot.slot * VISITS)
  slot.index.memory.visits[slot.slot * VISITS + 15] = 2
  const entry = written(slot)
  const floats = '0000803f' + '0000003f' + '00000040'
  assert.equal(hexOf(entry.state), recordOf('00', '01000000', '40', `0380${floats}`))
  assert.deepEqual(everything(restored(entry, PLAIN_RULES)), everything(slot))
})

test('a record has sums beyond doubles, and holdings in bigint', () => {
  const sums: [category: number, field: number, beyond: number][] = [
    [1, RECEIVED, 1],
    [0, SENT_SUM, 3],
    [1, NEW_SUM, 2],
  ]
  for (const count of [1, 2, 3]) {
    const slot = slotWith([[[HELD, 2]], [[RECEIVED, 7]]])
    // Of another slot.
    slot.index.memory.giveAway(slot.slot + 1, 0, RECEIVED)
    for (const [category, field, beyond] of sums.slice(0, count))
      for (let i = 0; i < beyond; i++) slot.index.memory.giveAway(slot.slot, category, field)
    const entry = written(slot)
    assert.equal(entry.state[4], 2)
    assert.equal(everything(slot).wide.length, count)
    assert.deepEqual(everything(restored(entry)), everything(slot))
  }
  const big = slotWith([[], []])
  const held = Array<bigint>(CATEGORY_COUNT).fill(0n)
  held.splice(0, 2, 2n ** 60n, 5n)
  big.index.setHeld(big.slot, held)
  const entry = written(big)
  assert.equal(entry.state[4], 1)
  const back = restored(entry)
  assert.deepEqual(everything(back), everything(big))
  assert.deepEqual([everything(back).held, everything(back).is_big], [held, true])
  assert.ok(held[0]! > BigInt(BIG))
})

test('a record says whether it is counted whom an address deals with, and how many', () => {
  const pairs = [Uint32Array.of(1, 2, 3, 4), Uint32Array.of(1, 2), undefined]
  for (const others of pairs) {
    const slot = slotWith([[]])
    slot.index.counterparties.restore(slot.slot, others)
    const entry = written(slot)
    assert.equal(entry.state[4], 4)
    assert.equal(isCounted(entry.state), true)
    assert.equal(entry.others?.length, others ? others.byteLength : 0)
    assert.deepEqual(everything(restored(entry)), everything(slot))
    assert.throws(() => restored({ ...entry, others: undefined }), BrokenState)
  }
  const plain = written(slotWith([[]]))
  assert.deepEqual([isCounted(plain.state), plain.others], [false, undefined])
})

test('a record that is not as it was written, or of another key, is refused', () => {
  const entry = written(slotWith([[]]))
  const { key } = entry
  for (const at of entry.state.keys()) {
    const state = entry.state.slice()
    state[at]! ^= 1
    assert.throws(() => restored({ ...entry, state }), BrokenState, `${at}`)
  }
  assert.throws(() => restored({ ...entry, key: key.with(20, 0) }), BrokenState)
  const sum_alone = new Uint8Array(4)
  new DataView(sum_alone.buffer).setUint32(0, crc32(key), true)
  for (const state of [sum_alone, new Uint8Array(3), new Uint8Array(0)])
    assert.throws(() => restored({ ...entry, state }), BrokenState)
})
