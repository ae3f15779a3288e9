import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  ASSET,
  addressWords,
  addSum,
  CELL,
  CELLS,
  FETCH_MAX,
  hashOf,
  Memory,
  NEW_SUM,
  placeOf,
  RECEIVED,
  SLOT,
  VISITS,
  visitGroup,
  writeAddress,
} from './memory.ts'

const PAGE = 2 ** 19
const wordsOf = (n: number) => new Uint32Array([n, 7, 0, 0, 0])
const smallMemory = (slots = 16, cells_before = 0) =>
  new Memory(slots, { with_visits: false, cells_before })

/** A slot with so many cells, the lowest categories. */
function slotWith(memory: Memory, n: number, cells: number): number {
  const slot = memory.findOrMake(0, wordsOf(n), 0)
  memory.ensureCells(slot, 2 ** cells - 1)
  return slot
}

test('cells that were given back in small pieces serve slots with many', () => {
  // As far out as numbers of cells go.
  const memory = new Memory(1_000, { with_visits: false, cells_before: 2 ** 35 - 2 ** 19 })
  const slotOf = (n: number) => memory.findOrMake(0, new Uint32Array([n, 7, 0, 0, 0]), 0)
  for (let n = 0; n < 1_000; n++) memory.ensureCells(slotOf(n), 1)
  const { cells_taken } = memory
  for (let n = 0; n < 1_000; n++) if (n % 10 > 0) memory.drop(slotOf(n))
  memory.mergeFree()
  for (let n = 1_000; n < 1_200; n++) {
    const slot = slotOf(n)
    memory.ensureCells(slot, 0b1111)
    const { words } = memory.pageOf(slot)
    const first = placeOf(memory.slots[slot * SLOT + CELLS]!) * 2
    words.fill(n, first, first + 4 * CELL * 2)
  }
  assert.equal(memory.cells_taken, cells_taken)
  for (let n = 1_000; n < 1_200; n++) {
    const slot = slotOf(n)
    const first = placeOf(memory.slots[slot * SLOT + CELLS]!) * 2
    const own = memory.pageOf(slot).words.subarray(first, first + 4 * CELL * 2)
    assert.ok(
      own.every((word) => word === n),
      'no two slots have the same cells',
    )
  }
})

type Name = { asset: number; words: Uint32Array }
/** Addresses of which many have the same hash: it is over the asset and the first two words. */
const NAMES: Name[] = [0, 1].flatMap((asset) =>
  Array.from({ length: 27 }, (_, n) => ({
    asset,
    words: new Uint32Array([n % 3, Math.floor(n / 3) % 3, Math.floor(n / 9), 4, 5]),
  })),
)

test('an address is found where it was put until it is dropped, however full memory is', () => {
  const act = fc.record({ which: fc.nat(NAMES.length - 1), drops: fc.boolean() })
  fc.assert(
    fc.property(fc.array(act, { minLength: 30, maxLength: 120 }), (acts) => {
      const memory = smallMemory()
      const known = new Map<Name, number>()
      for (const { which, drops } of acts) {
        const name = NAMES[which]!
        const found = known.get(name)
        if (drops && found !== undefined) {
          memory.drop(found)
          known.delete(name)
        } else if (!drops) {
          const slot = memory.findOrMake(name.asset, name.words, 0)
          assert.ok(found === undefined ? ![...known.values()].includes(slot) : found === slot)
          known.set(name, slot)
        }
        assert.equal(memory.slots_used, known.size)
      }
      assertFound(memory, known)
    }),
  )
})

/** Each is at its slot, and is guessed to be at one with its hash. */
function assertFound(memory: Memory, known: ReadonlyMap<Name, number>): void {
  const hash = ({ asset, words }: Name) => hashOf(asset, words[0]!, words[1]!)
  const slots = Map.groupBy(known, ([name]) => hash(name))
  for (const name of NAMES) {
    assert.equal(memory.find(name.asset, name.words, 0), known.get(name) ?? -1)
    const guess = memory.guess(name.asset, name.words, 0)
    const likely = slots.get(hash(name))?.map(([, slot]) => slot + 1) ?? [0]
    assert.ok(likely.includes(guess))
  }
  for (const slot of known.values()) assert.ok(slot < memory.slot_count)
}

test('a slot is that of an address when all of its words and its asset are', () => {
  const memory = smallMemory()
  const words = new Uint32Array([90, 91, 92, 93, 94, 95, 96])
  const slot = memory.findOrMake(3, words, 1)
  assert.equal(memory.isAt(slot, 3, words, 1), true)
  assert.equal(memory.isAt(slot, 2, words, 1), false)
  for (let at = 1; at < 6; at++) {
    const other = words.with(at, 0)
    assert.equal(memory.isAt(slot, 3, other, 1), false)
    assert.equal(memory.find(3, other, 1), -1)
  }
  memory.slots[slot * SLOT + ASSET]! |= 0xffff00
  assert.equal(memory.isAt(slot, 3, words, 1), true, 'beside the asset are other things')
})

test('memory has room for as many slots as are expected, and then for twice as many', () => {
  for (const with_visits of [false, true]) {
    const memory = new Memory(16, { with_visits })
    const sizes: number[][] = []
    for (let n = 0; n < 33; n++) {
      memory.findOrMake(0, wordsOf(n), 0)
      sizes.push([memory.slots.length / SLOT, memory.visits.length / VISITS])
    }
    const sizeOf = (slots: number) => [slots, with_visits ? slots : 0]
    assert.deepEqual([sizes[0], sizes[15], sizes[16]], [sizeOf(16), sizeOf(16), sizeOf(32)])
    assert.deepEqual([sizes[31], sizes[32]], [sizeOf(32), sizeOf(64)])
  }
})

test('what memory takes are its slots, their cells, their visits, and the table', () => {
  for (const visits of [0, VISITS * 4]) {
    const memory = new Memory(16, { with_visits: visits > 0 })
    const table = 64 * 4
    const taken = (slots: number, cells: number) =>
      slots * (SLOT * 4 + visits) + cells * CELL * 8 + table
    assert.equal(memory.bytes_used, taken(0, 0))
    const one = slotWith(memory, 1, 1)
    assert.equal(memory.bytes_used, taken(1, 1))
    slotWith(memory, 2, 5)
    assert.equal(memory.bytes_used, taken(2, 7), 'there is room for six')
    memory.ensureCells(one, 0b11)
    assert.equal(memory.bytes_used, taken(2, 8), 'the first cell was given back')
    memory.drop(one)
    slotWith(memory, 3, 1)
    assert.equal(memory.bytes_used, taken(2, 7))
    memory.drop(memory.find(0, wordsOf(3), 0))
    assert.equal(memory.bytes_used, taken(1, 6))
  }
})

test('what is dropped leaves nothing behind, and its neighbours as they were', () => {
  const memory = new Memory(16, { with_visits: true })
  const [one, two, three] = [1, 2, 3].map((n) => slotWith(memory, n, 1)) as [number, number, number]
  memory.visits.fill(0.5, 0, 3 * VISITS)
  memory.giveAway(two, 3, RECEIVED)
  memory.big.set(two, [1n])
  memory.drop(two)
  assert.deepEqual([memory.big.size, memory.wideSums(), memory.has_wide], [0, [], false])
  const visits = (slot: number) => memory.visits.subarray(slot * VISITS, (slot + 1) * VISITS)
  assert.deepEqual(
    [one, two, three].map((slot) => new Set(visits(slot))),
    [new Set([0.5]), new Set([0]), new Set([0.5])],
  )
  const [made, asset] = [memory.findOrMake(4, wordsOf(9), 0), 4]
  assert.deepEqual([made, memory.slot_count], [two, 3], 'its number is used again')
  assert.deepEqual(
    [...memory.slots.subarray(made * SLOT, (made + 1) * SLOT)],
    [...wordsOf(9), asset, ...Array<number>(10).fill(0)],
  )
})

test('a slot keeps its cells by their categories when it gets more', () => {
  const masks = fc.array(fc.integer({ min: 1, max: 2 ** 28 - 1 }), { minLength: 1, maxLength: 6 })
  const few = fc.array(
    fc.nat(27).map((category) => 1 << category),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(fc.oneof(masks, few), (all) => {
      const memory = smallMemory()
      const [slot, other] = [0, 1].map((n) => memory.findOrMake(0, wordsOf(n), 0))
      const cells = new Map<number, number[]>()
      let value = 1
      for (const mask of all) {
        memory.ensureCells(slot!, mask)
        memory.ensureCells(other!, mask)
        const first = 2 * placeOf(memory.slots[slot! * SLOT + CELLS]!)
        const { words } = memory.pageOf(slot!)
        let at = first
        for (let category = 0; category < 28; category++) {
          if (((mask >>> category) & 1) !== 0 && !cells.has(category))
            cells.set(category, Array<number>(2 * CELL).fill(0))
          const known = cells.get(category)
          if (!known) continue
          assert.deepEqual([...words.subarray(at, at + 2 * CELL)], known)
          for (let i = 0; i < known.length; i++) known[i] = words[at + i] = value++
          at += 2 * CELL
        }
      }
    }),
  )
})

test('cells that fit into the block of a slot are made there', () => {
  const memory = smallMemory()
  const slot = slotWith(memory, 1, 5)
  assert.equal(memory.cells_taken, 6)
  memory.ensureCells(slot, 0b111111)
  assert.equal(memory.cells_taken, 6)
  memory.ensureCells(slot, 0b1111111)
  assert.equal(memory.cells_taken, 6 + 8)
})

/** Gives back the cells of these, in runs of those that lie side by side. */
function dropAll(memory: Memory, ...all: readonly number[]): void {
  for (const n of all) memory.drop(memory.find(0, wordsOf(n), 0))
  memory.mergeFree()
}

test('free cells side by side serve again, to the last of them, and others do not', () => {
  /** How many cells are taken anew for slots of so many, after some of eight were dropped. */
  const takenAnew = (dropped: readonly number[], ...wanted: readonly number[]) => {
    const memory = smallMemory()
    memory.findOrMake(0, wordsOf(99), 0)
    for (let n = 0; n < 8; n++) slotWith(memory, n, 1)
    dropAll(memory, 99, ...dropped)
    return wanted.map((cells, i) => {
      const before = memory.cells_taken
      slotWith(memory, 100 + i, cells)
      return memory.cells_taken - before
    })
  }
  assert.deepEqual(takenAnew([0, 1], 2, 1), [0, 1])
  assert.deepEqual(takenAnew([2, 3, 4, 5], 4, 1), [0, 1])
  assert.deepEqual(takenAnew([2, 3, 4, 5], 3, 1, 1), [0, 0, 1])
  assert.deepEqual(takenAnew([2, 3, 4], 4, 3, 1), [4, 0, 1])
  assert.deepEqual(takenAnew([1, 3], 2, 1, 1, 1), [2, 0, 0, 1])
  assert.deepEqual(takenAnew([1, 2, 4, 5], 3, 2, 2, 1), [3, 0, 0, 1])
  assert.deepEqual(takenAnew([], 1), [1])
})

test('a long run of free cells is given out once, however often runs are made of it', () => {
  const memory = smallMemory(40_000)
  for (let n = 0; n < 40_000; n++) slotWith(memory, n, 4)
  const { cells_taken } = memory
  dropAll(memory, ...Array(40_000).keys())
  memory.mergeFree()
  const starts = new Set<number>()
  for (let n = 0; n < 40_000; n++) starts.add(memory.slots[slotWith(memory, n, 4) * SLOT + CELLS]!)
  assert.equal(memory.cells_taken, cells_taken)
  assert.equal(starts.size, 40_000)
  for (const start of starts) assert.equal(start % 4, 0)
})

test('the first page grows when its last cell is given out, and not before', () => {
  const memory = smallMemory()
  const length = memory.pages[0]!.doubles.length
  for (let n = 0; n < 16; n++) slotWith(memory, n, 1)
  assert.equal(memory.pages[0]!.doubles.length, length)
  memory.pageOf(15).doubles.fill(3, 15 * CELL, 16 * CELL)
  slotWith(memory, 16, 1)
  assert.ok(memory.pages[0]!.doubles.length >= 2 * (length - 24))
  assert.deepEqual(new Set(memory.pageOf(15).doubles.subarray(15 * CELL, 16 * CELL)), new Set([3]))
})

test('the cells of a slot lie in one page, which is used to its last cell', () => {
  assert.equal(smallMemory().pages.length, 1)
  for (const page of [1, 2, 2 ** 16 - 2]) {
    /** Where the cells of slots begin, the first of them so many before the end of a page. */
    const begins = (before: number, ...cells: readonly number[]) => {
      const memory = smallMemory(16, (page + 1) * PAGE - before)
      assert.equal(memory.pages.length, page + 1)
      return cells.map((count, n) => {
        slotWith(memory, n, count)
        return memory.cells_taken - count - (page + 1) * PAGE
      })
    }
    assert.deepEqual(begins(4, 4, 1), [-4, 0])
    assert.deepEqual(begins(6, 4, 3, 2), [-6, 0, 3])
    assert.deepEqual(begins(1, 2, 1), [0, 2])
    assert.deepEqual(begins(PAGE, 1, 2), [-PAGE, 1 - PAGE])
  }
})

test('cells that move to the same place of another page keep what they have', () => {
  const memory = smallMemory(20_000, PAGE)
  const slot = slotWith(memory, 0, 1)
  const cellOf = () => memory.pageOf(slot).words.subarray(0, 2 * CELL)
  cellOf().fill(7)
  // The page is full to its last cell.
  for (let n = 1; n <= 18_724; n++) slotWith(memory, n, 28)
  for (const cells of [12, 3]) slotWith(memory, 20_000 + cells, cells)
  assert.equal(memory.cells_taken, 2 * PAGE)
  memory.ensureCells(slot, 0b11)
  assert.equal(memory.slots[slot * SLOT + CELLS], 2 * PAGE)
  assert.deepEqual(new Set(cellOf()), new Set([7]))
})

test('free cells on both sides of the border of two pages are not put together', () => {
  const memory = smallMemory(16, 2 * PAGE - 3)
  for (let n = 0; n < 6; n++) slotWith(memory, n, 1)
  dropAll(memory, 1, 2, 3, 4)
  const { cells_taken } = memory
  slotWith(memory, 10, 3)
  assert.equal(memory.cells_taken, cells_taken + 3)
  for (const n of [11, 12]) slotWith(memory, n, 2)
  assert.equal(memory.cells_taken, cells_taken + 3)
})

test('there are numbers for 2^32 - 1 slots, and for no more', () => {
  const memory = smallMemory()
  memory.slot_count = 2 ** 32 - 2
  assert.equal(memory.findOrMake(0, wordsOf(1), 0), 2 ** 32 - 2)
  assert.throws(() => memory.findOrMake(0, wordsOf(2), 0), /more slots than an index can have/)
})

test('as many as can be fetched at once are fetched', () => {
  const memory = smallMemory()
  slotWith(memory, 1, 1)
  memory.fetch(new Uint32Array(FETCH_MAX).fill(1), FETCH_MAX)
})

test('a sum gives away 2^53 when it comes to that, and is whole with what it gave', () => {
  const doubles = new Float64Array([0, 2 ** 53 - 5])
  assert.equal(addSum(doubles, 1, 4), false)
  assert.equal(addSum(doubles, 1, 1), true)
  assert.deepEqual([...doubles], [0, 0])
  assert.equal(addSum(doubles, 1, 2 ** 52 + 1), false)
  assert.equal(addSum(doubles, 1, 2 ** 52 + 1), true)
  assert.equal(doubles[1], 2)
  const memory = smallMemory()
  const of = { slot: 5, category: 3, field: NEW_SUM }
  assert.deepEqual([memory.has_wide, memory.wideSumsOf(5), memory.wholeSum(7, of)], [false, [], 7n])
  memory.giveAway(5, 3, NEW_SUM)
  assert.equal(memory.has_wide, true)
  assert.deepEqual(memory.wideSumsOf(5), [{ category: 3, field: NEW_SUM, beyond: 1 }])
  assert.equal(memory.wholeSum(7, of), 2n ** 53n + 7n)
  memory.giveAway(5, 3, NEW_SUM)
  memory.giveAway(6, 0, 0)
  assert.deepEqual(memory.wideSumsOf(5), [{ category: 3, field: NEW_SUM, beyond: 2 }])
  assert.deepEqual(memory.wideSums(), [
    { slot: 5, category: 3, field: NEW_SUM, beyond: 2 },
    { slot: 6, category: 0, field: 0, beyond: 1 },
  ])
  for (const [more, kept] of [
    [{ slot: 4 }, 7n],
    [{ category: 2 }, 7n],
    [{ field: RECEIVED }, 7n],
    [{}, 2n ** 54n + 7n],
  ] as const)
    assert.equal(memory.wholeSum(7, { ...of, ...more }), kept)
})

test('the bytes of an address come back from its words, and its group is by two of them', () => {
  const bytes = Uint8Array.from({ length: 20 }, (_, i) => 17 * i + 3)
  const slots = new Uint32Array(2 * SLOT)
  slots.set(addressWords(bytes), SLOT)
  slots[SLOT + ASSET] = 0xffffffff
  const into = new Uint8Array(24).fill(1)
  writeAddress(slots, 1, into, 2)
  assert.deepEqual([...into], [1, 1, ...bytes, 1, 1])
  const group = (words: readonly number[]) => visitGroup(Uint32Array.from(words), 0)
  assert.equal(group([1, 0, 1, 0, 1]), 0)
  assert.equal(group([0, 1, 0, 0, 0]), 9)
  assert.equal(group([0, 0, 0, 1, 0]), 9)
  assert.equal(group([0, 1, 0, 1, 0]), 0)
})
