// A checkpoint byte by byte, its chunks, and what is refused as none.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { Input } from './bytes.ts'
import {
  addressOfSlot,
  BrokenCheckpoint,
  canonicalSlot,
  hasMoved,
  readCheckpoint,
  readingCheckpoint,
  stateHash,
  writeCheckpoint,
} from './checkpoint.ts'
import { FlowIndex, type FlowRules } from './flow_index.ts'
import { readHolding } from './holdings.ts'
import { LabelTable } from './label_table.ts'
import { addressWords, CELLS, COUNT_IN, placeOf, SLOT, VISITS, WITNESS_AMOUNT } from './memory.ts'

const RULES: FlowRules = { net: true, swaps: false, counterparties_max: 3 }
const WITHOUT_VISITS: FlowRules = { net: false, swaps: false }
const MEBIBYTE = 2 ** 20

const person = (n: number) => {
  const bytes = Buffer.alloc(20, 9)
  bytes.writeUInt32BE(n, 0)
  return bytes
}
const slotOf = (index: FlowIndex, n: number, asset = 0) =>
  index.slot(asset, addressWords(person(n)))

/** Makes a slot that has moved something, and has no cells. */
function moved(index: FlowIndex, n: number, asset = 0): number {
  const slot = slotOf(index, n, asset)
  index.memory.slots.set([1, 2, 3, 4], slot * SLOT + COUNT_IN)
  return slot
}

const chunksOf = (index: FlowIndex) => [...writeCheckpoint(index)]
const hexOf = (chunks: readonly Uint8Array[]) =>
  chunks.map((one) => Buffer.from(one).toString('hex'))

/** What follows the header in the first chunk, without the sum. */
function bodyOf(index: FlowIndex): string {
  const [chunk] = chunksOf(index)
  const input = new Input(chunk!)
  input.bytes(input.number())
  const body: number[] = []
  while (!input.atEnd()) body.push(input.byte())
  return Buffer.from(body.slice(0, -4)).toString('hex')
}

const read = (chunks: readonly Uint8Array[], rules = RULES) => readCheckpoint([], chunks, rules)

function withCells(rules: FlowRules): FlowIndex {
  const index = new FlowIndex([], 16, rules)
  const { memory } = index
  const [slot, next] = [moved(index, 0x01020304, 5), moved(index, 0x01020304, 6)]
  memory.ensureCells(slot, 0b101)
  const place = placeOf(memory.slots[slot * SLOT + CELLS]!)
  const { doubles, words } = memory.pageOf(slot)
  doubles.set([1, 2, 3, 4, 5, 1, 0.5, 200], place)
  words.set([6, 7], 2 * place + 16)
  doubles[place + 9 + WITNESS_AMOUNT] = 1
  if (!rules.net) return index
  memory.visits.set([1, 0.5], slot * VISITS)
  memory.visits[next * VISITS] = 1
  return index
}

test('a checkpoint has each slot with its cells, and where its money has been', async () => {
  const address = `01020304${'09'.repeat(16)}`
  const one = '000000000000f03f'
  const first = `0102030405${one}000000000000e03fc8010600000007000000`
  const second = `0000000000${'00'.repeat(8)}${one}000000000000000000`
  const slot = `05${address}00000102030405${first}${second}`
  const next = `06${address}00000102030400`
  const plain = withCells(WITHOUT_VISITS)
  assert.equal(bodyOf(plain), `${slot}00${next}00`)
  const noted = withCells(RULES)
  assert.equal(bodyOf(noted), `${slot}030000803f0000003f${next}010000803f`)
  assert.deepEqual(hexOf(chunksOf(await read(chunksOf(noted)))), hexOf(chunksOf(noted)))
  assert.deepEqual(
    hexOf(chunksOf(await read(chunksOf(plain), WITHOUT_VISITS))),
    hexOf(chunksOf(plain)),
  )
})

test('a checkpoint has those whom an address dealt with, or one more for too many', async () => {
  const words = (...all: number[]) => Uint32Array.from(all)
  const others: [Uint32Array | undefined, string][] = [
    [words(1, 2), '010100000002000000'],
    [words(1, 2, 5, 6, 3, 4), `03${[1, 2, 5, 6, 3, 4].map((n) => `0${n}000000`).join('')}`],
    [undefined, '04'],
  ]
  for (const [all, hex] of others) {
    const index = new FlowIndex([], 16, RULES)
    const slot = moved(index, 7)
    const before = bodyOf(index)
    index.counterparties.restore(slot, all)
    const address = `00${person(7).toString('hex')}`
    assert.equal(bodyOf(index), `${before}${address}${hex}`)
    const restored = await read(chunksOf(index))
    assert.deepEqual([...restored.counterparties.counted()], [{ slot, others: all }])
  }
  const lost = new FlowIndex([], 16, RULES)
  lost.counterparties.restore(slotOf(lost, 7), undefined)
  await assert.rejects(read(chunksOf(lost)), BrokenCheckpoint, 'a slot that has moved nothing')
})

test('slots that have moved nothing are left out, also where memory is full', async () => {
  const label = { address: '44'.repeat(20), category: 7, confidence: 100, kind: 'curated' } as const
  const labels = [{ ...label, from_ms: -Infinity, to_ms: Infinity }]
  const full = new FlowIndex(labels, 16, RULES)
  const roomy = new FlowIndex(labels, 99, RULES)
  for (const index of [full, roomy]) {
    for (let n = 0; n < 14; n++) moved(index, n)
    slotOf(index, 14)
    assert.deepEqual(
      Array.from({ length: 16 }, (_, slot) => hasMoved(index, slot)),
      Array.from({ length: 16 }, (_, slot) => slot > 0 && slot < 15),
    )
  }
  assert.equal(full.memory.slot_count * SLOT, full.memory.slots.length)
  assert.deepEqual(hexOf(chunksOf(full)), hexOf(chunksOf(roomy)))
  assert.equal(stateHash(full), stateHash(roomy))
  assert.equal((await readCheckpoint([], chunksOf(full), RULES)).memory.slot_count, 14)
})

test('the hash is over the slots in the order of assets, then of addresses as bytes', () => {
  const index = new FlowIndex([])
  const slots: number[] = []
  for (const asset of [2, 0, 1])
    for (const at of [0, 3, 4, 7, 19])
      for (const byte of [200, 1, 100]) {
        const bytes = Buffer.alloc(20, 50)
        bytes[at] = byte
        const slot = index.slot(asset, addressWords(bytes))
        index.memory.slots[slot * SLOT + COUNT_IN + 3] = 1
        slots.push(slot)
      }
  const key = (slot: number) =>
    `${index.memory.slots[slot * SLOT + 5]! & 255} ${addressOfSlot(index, slot).toString('hex')}`
  const lines = slots
    .sort((a, b) => (key(a) < key(b) ? -1 : 1))
    .map((slot) => canonicalSlot(index, slot))
  const hash = createHash('sha256').update(lines.join('')).digest('hex')
  assert.equal(stateHash(index), hash)
})

/** An index with so many slots, and a header of the length that its freezes make. */
function indexWith(slots: number, token: string, counted: readonly number[] = []): FlowIndex {
  const index = new FlowIndex([], slots, { ...RULES, net: false, counterparties_max: 200_000 })
  index.beginBlock(1, 0, [{ token, address: '55'.repeat(20), frozen: true }])
  for (let n = 0; n < slots; n++) moved(index, n)
  for (const [i, count] of counted.entries()) {
    const others = Uint32Array.from({ length: 2 * count }, (_, word) => word + 1)
    index.counterparties.restore(slotOf(index, i), others)
  }
  return index
}

/** The lengths of its chunks without their sums. */
const lengthsOf = (index: FlowIndex) => chunksOf(index).map((one) => one.length - 4)

test('a chunk ends with the slot that fills a mebibyte, be it to the last byte', async () => {
  const slot_bytes = 29
  const slots = Math.ceil(MEBIBYTE / slot_bytes)
  // The header grows by what the last slot but one leaves free.
  const [beyond] = lengthsOf(indexWith(slots, ''))
  const token = 'T'.repeat((slot_bytes * 40 + MEBIBYTE - beyond!) % slot_bytes)
  const exact = indexWith(slots, token)
  const lengths = lengthsOf(exact)
  assert.equal(lengths[0], MEBIBYTE)
  assert.equal(lengths.length, 2)
  const wider = lengthsOf(indexWith(slots, `${token}T`))
  assert.deepEqual([wider.length, wider[0]], [2, MEBIBYTE + 1])
  const chunks = chunksOf(exact)
  assert.equal(stateHash(await read(chunks)), stateHash(exact))
  await assert.rejects(read(chunks.slice(0, 1)), BrokenCheckpoint, 'slots are missing')
  await assert.rejects(read([]), BrokenCheckpoint)
})

test('counterparties are in chunks of their own as soon as those before are full', async () => {
  const counts = [131_000, 5]
  const [beyond] = lengthsOf(indexWith(2, '', counts))
  // As long as the first one takes a whole mebibyte, and the second does not begin in it.
  const exact = indexWith(2, 'T'.repeat(MEBIBYTE - beyond! + 21 + 1 + 5 * 8), counts)
  assert.deepEqual(lengthsOf(exact), [MEBIBYTE, 21 + 1 + 5 * 8])
  const chunks = chunksOf(exact)
  const restored = await read(chunks, exact.rules)
  assert.deepEqual(
    [...restored.counterparties.counted()].map(({ others }) => others?.length),
    [262_000, 10],
  )
  await assert.rejects(read(chunks.slice(0, 1), exact.rules), BrokenCheckpoint)
})

test('a checkpoint with a byte that is not as it was written is none', async () => {
  const [chunk] = chunksOf(withCells(RULES))
  for (const at of chunk!.keys()) {
    const broken = chunk!.slice()
    broken[at]! ^= 1
    await assert.rejects(read([broken]), BrokenCheckpoint, `${at}`)
  }
  for (const length of [0, 3])
    await assert.rejects(read([chunk!.subarray(0, length)]), BrokenCheckpoint)
  // The sum of nothing is 0: a part may have nothing in it.
  const empty = new Uint8Array(4)
  assert.equal((await read([chunk!, empty])).memory.slot_count, 2)
})

test('a checkpoint of another version is none', async () => {
  const text = '{"format":"penstock flow 4","slots":0,"counted":0,"freezes":[],"wide":[],"big":[]}'
  const bytes = Buffer.concat([Buffer.of(text.length), Buffer.from(text), Buffer.alloc(4)])
  bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4)
  await assert.rejects(read([bytes]), { name: 'BrokenCheckpoint', message: /another version/ })
})

test('others have their turn after each two thousand slots that are read', async () => {
  for (const [slots, turns] of [
    [1_999, 1],
    [2_000, 2],
    [4_001, 3],
  ] as const) {
    const index = new FlowIndex([], slots, WITHOUT_VISITS)
    for (let n = 0; n < slots; n++) moved(index, n)
    let count = 0
    const reading = readingCheckpoint(new LabelTable(), chunksOf(index), WITHOUT_VISITS)
    for await (const _ of reading) count += 1
    assert.equal(count, turns)
  }
})

test('a checkpoint has freezes with their ends, balances, and sums beyond doubles', async () => {
  const index = new FlowIndex([], 16, RULES)
  assert.equal((await read(chunksOf(index))).block_time_ms, Number.NEGATIVE_INFINITY)
  const freeze = (token: string, frozen: boolean) => ({ token, address: '55'.repeat(20), frozen })
  index.beginBlock(3, 30, [freeze('T', true), freeze('U', true)])
  index.beginBlock(4, 40, [freeze('T', false)])
  index.sequence = 77
  const [from, to] = [slotOf(index, 1), slotOf(index, 2)]
  index.transfer(from, to, { low: 500, high: 0 }, 78)
  index.transfer(from, slotOf(index, 3), { low: 0, high: 2 ** 30 }, 79)
  index.memory.giveAway(to, 20, 1)
  const restored = await read(chunksOf(index))
  const saidBy = ({ freezes, block_number, block_time_ms, sequence, memory }: FlowIndex) => ({
    freezes: freezes.map(({ token, from_ms, to_ms }) => [token, from_ms, to_ms]),
    at: [block_number, block_time_ms, sequence],
    wide: memory.wideSums().map(({ slot: _, ...wide }) => wide),
    big: [...memory.big.values()],
  })
  assert.deepEqual(saidBy(restored), saidBy(index))
  assert.deepEqual(saidBy(restored).freezes, [
    ['T', 30, 40],
    ['U', 30, Number.POSITIVE_INFINITY],
  ])
  assert.equal(saidBy(restored).big.length, 1)
  assert.equal(stateHash(restored), stateHash(index))
  const balances = [1, 2, 3].map((n) => readHolding(restored, 0, person(n))!.balance)
  assert.deepEqual(balances, [0n, 500n, 2n ** 62n])
  restored.transfer(slotOf(restored, 2), slotOf(restored, 1), { low: 400, high: 0 }, 80)
  assert.equal(readHolding(restored, 0, person(2))!.balance, 100n)
})
