// What an index makes of a history, to the last unit: a long one that is the same each time, and
// short ones where something is at its limit.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type LoggedTransfer, packTransfers } from '../../chain/transfers/packed.ts'
import { categoryNumber, ISSUER_FROZEN, LIQUIDITY_POOLS, UNIDENTIFIED } from './categories.ts'
import { FlowIndex, type FlowRules, PERIOD_BLOCKS, PLAIN_RULES } from './flow_index.ts'
import { readHolding } from './holdings.ts'
import { LabelTable } from './label_table.ts'
import type { Label } from './labels.ts'
import { applyBlock, CarriedWriter } from './log.ts'
import { addressWords, COUNT_IN, COUNT_OUT, SLOT } from './memory.ts'

const EVER = { from_ms: Number.NEGATIVE_INFINITY, to_ms: Number.POSITIVE_INFINITY }
const [SANCTIONS, EXCHANGE, STOLEN, MIXER] = [
  'sanctions',
  'exchange_licensed',
  'stolen_coins',
  'mixer',
].map((name) => categoryNumber(name)!) as [number, number, number, number]
const person = (n: number) => createHash('sha256').update(`person ${n}`).digest().subarray(0, 20)
const hexOf = (n: number) => person(n).toString('hex')
const label = (n: number, category: number, more: Partial<Label> = {}): Label => ({
  address: hexOf(n),
  category,
  confidence: 100,
  kind: 'curated',
  ...EVER,
  ...more,
})

const PEOPLE = 14
/** An exchange, one who is on a list, and two pools; two of whom it is not sure; two for a time. */
const LABELS = [
  label(0, EXCHANGE),
  label(1, SANCTIONS),
  label(2, LIQUIDITY_POOLS),
  label(3, LIQUIDITY_POOLS),
  label(4, MIXER, { confidence: 1 }),
  label(5, MIXER, { confidence: 40 }),
  label(6, STOLEN, { from_ms: 20, to_ms: 40 }),
  label(7, EXCHANGE, { from_ms: 30, confidence: 20 }),
]
/** By asset: small amounts, those about the border of doubles, and large ones. */
const AMOUNTS = [
  [1n, 1n, 2n, 7n, 100n, 150n, 199n, 1_000n, 999_983n],
  [1n, 100n, 2n ** 40n + 3n, 2n ** 51n, 2n ** 51n + 1n, 2n ** 52n - 1n, 2n ** 52n],
  [1n, 100n, 2n ** 52n + 1n, 3n * 2n ** 52n + 1n, 2n ** 61n, 2n ** 61n, 2n ** 62n + 5n],
]

/** Whole numbers below a limit, the same ones each time. */
function numbers(): (below: number) => number {
  let state = 12_345
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
}

/** One block after the other, each applied as soon as it is made: some transfers are of all that
 *  the sender has. */
function applyHistory(index: FlowIndex, seen: (text: string) => void): void {
  const below = numbers()
  let number = 1
  for (let i = 0; i < 70; i++) {
    const transfers: LoggedTransfer[] = []
    const ids: Buffer[] = []
    for (let id = 0; id < 5; id++) {
      const asset = below(3)
      const [from, to] = [below(PEOPLE), below(PEOPLE)]
      const held = readHolding(index, asset, person(from))?.balance ?? 0n
      const all = below(4) === 0 && held > 0n && held < 2n ** 63n
      const amount = all ? held : AMOUNTS[asset]![below(AMOUNTS[asset]!.length)]!
      const move = (asset: number, from: number, to: number, amount: bigint) => {
        transfers.push({ asset, from: person(from), to: person(to), amount })
        ids.push(Buffer.alloc(32, id + 1))
      }
      move(asset, from, to, amount)
      // What was given at a pool buys something there.
      if (to !== 2 && to !== 3) continue
      const bought = (asset + 1) % 3
      move(bought, to, from, AMOUNTS[bought]![below(AMOUNTS[bought]!.length)]!)
    }
    const token = 'T'
    const freezes = below(6) > 0 ? [] : [{ token, address: hexOf(8 + below(2)), frozen: i % 2 > 0 }]
    const writer = new CarriedWriter(transfers.length)
    const packed = packTransfers(transfers)
    const first_sequence = index.sequence + 1
    const block = { number, time_ms: i, freezes, first_sequence, transfers: packed }
    applyBlock(index, Object.assign(block, { tx_ids: Buffer.concat(ids) }), writer)
    seen(Buffer.from(writer.written()).toString('hex'))
    seen(stateOf(index))
    number += below(8) === 0 ? PERIOD_BLOCKS : 1
  }
}

const stateOf = (index: FlowIndex): string =>
  JSON.stringify(
    [0, 1, 2].flatMap((asset) =>
      Array.from({ length: PEOPLE }, (_, n) => readHolding(index, asset, person(n)) ?? null),
    ),
    (_, value) => (typeof value === 'bigint' ? String(value) : value),
  )

test('a history makes the same of every number, bit by bit, in every version', () => {
  const kinds: [FlowRules, string][] = [
    [PLAIN_RULES, '3889fdb813b5593f'],
    [{ net: true, swaps: true }, 'c8af8ee1b4d6c9d6'],
    [{ net: false, swaps: true, reversed: true }, 'eeab658fac4dc9e8'],
  ]
  const found = kinds.map(([rules]) => {
    const hash = createHash('sha256')
    const index = new FlowIndex(LABELS, 16, rules)
    applyHistory(index, (text) => hash.update(text))
    return hash.digest('hex').slice(0, 16)
  })
  assert.deepEqual(
    found,
    kinds.map(([, hash]) => hash),
  )
})

const slotOf = (index: FlowIndex, n: number, asset = 0) =>
  index.slot(asset, addressWords(person(n)))

function transfer(index: FlowIndex, from: number, to: number, amount: bigint): boolean {
  const words = { low: Number(amount & 0xffffffffn), high: Number(amount >> 32n) }
  return index.transfer(slotOf(index, from), slotOf(index, to), words, index.sequence + 1)
}

/** What one carries, by category. */
const carriedBy = ({ carried }: FlowIndex) =>
  carried.parts().map(({ category, amount }) => [category, amount])

test('a transfer of nothing or to oneself is none', () => {
  const index = new FlowIndex([])
  index.beginBlock(1, 1)
  assert.equal(transfer(index, 1, 2, 0n), false)
  assert.equal(transfer(index, 1, 1, 5n), false)
  assert.equal(readHolding(index, 0, person(1)), undefined)
  for (const amount of [1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 33n])
    assert.equal(transfer(index, 1, 2, amount), true)
  assert.equal(readHolding(index, 0, person(2))!.balance, 2n ** 34n + 2n)
})

test('what one holds is kept in bigint from 2^52 units on, and in doubles below', () => {
  for (const [first, second] of [
    [2n ** 52n - 2n, 1n],
    [2n ** 51n, 2n ** 51n],
  ] as const) {
    const index = new FlowIndex([])
    index.beginBlock(1, 1)
    transfer(index, 1, 2, first)
    transfer(index, 3, 2, second)
    const [to, is_big] = [slotOf(index, 2), first + second >= 2n ** 52n]
    assert.equal(index.memory.big.has(to), is_big)
    index.setHeld(to, index.heldOf(to))
    assert.equal(index.memory.big.has(to), is_big)
    assert.equal(readHolding(index, 0, person(2))!.balance, first + second)
    transfer(index, 2, 4, 1n)
    assert.equal(index.memory.big.has(to), false)
  }
})

test('counts of transfers stop at the last number of a word', () => {
  const index = new FlowIndex([])
  index.beginBlock(1, 1)
  const [from, to] = [slotOf(index, 1), slotOf(index, 2)]
  const { slots } = index.memory
  slots[from * SLOT + COUNT_OUT] = slots[to * SLOT + COUNT_IN] = 2 ** 32 - 3
  const counts: number[][] = []
  for (let i = 0; i < 3; i++) {
    transfer(index, 1, 2, 1n)
    counts.push([slots[from * SLOT + COUNT_OUT]!, slots[to * SLOT + COUNT_IN]!])
  }
  const last = 2 ** 32 - 1
  assert.deepEqual(counts, [
    [last - 1, last - 1],
    [last, last],
    [last, last],
  ])
})

test('counterparties are counted from the transfer after the first twentieth of the most', () => {
  const index = new FlowIndex([], 16, { ...PLAIN_RULES, counterparties_max: 40 })
  index.beginBlock(1, 1)
  const sizes = [1, 2, 3, 4].map((n) => {
    transfer(index, 0, n, 1n)
    return index.counterparties.of(slotOf(index, 0))?.others?.length
  })
  assert.deepEqual(sizes, [undefined, undefined, 2, 4])
})

test('the first address of an index is frozen like others, in every asset', () => {
  const index = new FlowIndex([])
  index.beginBlock(1, 1)
  transfer(index, 1, 2, 10n)
  transfer(index, 2, 1, 4n)
  index.beginBlock(2, 2, [{ token: 'T', address: hexOf(1), frozen: true }])
  assert.equal(slotOf(index, 1), 0)
  assert.equal(index.asset_count, 1)
  slotOf(index, 5, 4)
  assert.equal(index.asset_count, 5)
  assert.equal(readHolding(index, 0, person(1))!.balance, 0n)
  transfer(index, 1, 2, 3n)
  assert.deepEqual(carriedBy(index), [[ISSUER_FROZEN, 3n]])
})

test('labels are taken in turns, those of an index that goes on by what is still to come', () => {
  for (const [count, turns] of [
    [1_999, 0],
    [2_000, 1],
    [4_001, 2],
  ] as const) {
    const index = new FlowIndex([])
    const table = LabelTable.of(Array.from({ length: count }, (_, n) => label(n, STOLEN)))
    assert.equal([...index.takeLabels(table)].length, turns)
    assert.equal(index.memory.slot_count, count, 'an address each, and no other')
  }
  const index = new FlowIndex([])
  const spell = { token: 'T', address: hexOf(1), from_ms: 1, to_ms: Number.POSITIVE_INFINITY }
  index.restore({ number: 9, time_ms: 15, sequence: 3 }, [spell])
  const timed = [
    label(1, STOLEN, { kind: 'tenant' }),
    label(2, STOLEN, { from_ms: 10, to_ms: 20 }),
    label(3, STOLEN, { from_ms: 15, to_ms: 30 }),
    label(4, STOLEN, { from_ms: 16 }),
  ]
  for (const _ of index.takeLabels(LabelTable.of(timed)));
  const coming = [...index.changing(Number.POSITIVE_INFINITY)]
  assert.deepEqual(coming, [hexOf(4), hexOf(2), hexOf(3)])
  const categories = [1, 2, 3, 4].map((n) => {
    transfer(index, n, 9, 5n)
    return carriedBy(index)
  })
  assert.deepEqual(
    categories,
    [ISSUER_FROZEN, STOLEN, STOLEN, UNIDENTIFIED].map((category) => [[category, 5n]]),
  )
})

test('one who sends all that he was seen to receive had nothing else', () => {
  for (const amount of [5n, 2n ** 51n, 2n ** 52n, 2n ** 60n]) {
    const index = new FlowIndex(LABELS)
    index.beginBlock(1, 1)
    transfer(index, 0, 8, amount)
    transfer(index, 8, 9, amount)
    const { portions, balance, sent } = readHolding(index, 0, person(8))!
    assert.deepEqual([balance, sent], [0n, amount])
    assert.deepEqual(
      portions.map(({ category, received, direct }) => [category, received, direct]),
      [[EXCHANGE, amount, amount]],
    )
    transfer(index, 8, 9, amount)
    const unknown = readHolding(index, 0, person(8))!.portions.find(
      ({ category }) => category === UNIDENTIFIED,
    )
    assert.deepEqual([unknown?.received, unknown?.direct], [amount, 0n])
  }
})
