// The index's memory: a slot of 64 bytes for each (asset, address), found by open addressing, and
// for each category that the address ever had, a cell of 72 bytes. A slot's cells lie together in
// the order of their categories; a mask of 28 bits says which there are, so a cell is found by
// counting bits. Cells are kept in pages, so that there is never a moment in which all of them are
// copied.
//
// Amounts are doubles and always whole and exact. A sum of gross flow that would reach 2^53 gives a
// 2^53 away, counted apart; a holding that would reach 2^52 is kept in bigint from then on. Nearly
// no address ever gets there.

/** Words (32 bits) of a slot and what they hold. ASSET is the asset, the capacity for cells << 8,
 *  what the number of its first cell has beyond 32 bits << 13, and the label << 16. */
export const SLOT = 16
export const ASSET = 5
export const CELLS = 8
export const MASK = 9
export const COUNT_IN = 12
export const COUNT_OUT = 13
export const FIRST_BLOCK = 14
export const LAST_BLOCK = 15
/** Its doubles, in units of eight bytes. A balance of infinity is one that is kept in bigint. */
export const SLOT_DOUBLES = 8
export const BALANCE = 3
export const SENT = 5

/** Doubles of a cell: held, received, received from terminals directly, sent to terminals directly,
 *  the transfer that brought most (its witness), the sum of amount times hops, what the witness
 *  brought, and what was received less what came back. NEW_AT_PERIOD is a float: what NEW was when
 *  the period of the slot's last transfer began; NEW_AT_PERIOD_BEFORE, the period before. */
export const CELL = 9
export const HELD = 0
export const RECEIVED = 1
export const DIRECT = 2
export const DESTINATION = 3
export const WITNESS = 4
export const HOPS = 5
export const WITNESS_AMOUNT = 6
export const NEW = 7
export const NEW_AT_PERIOD = 16
export const NEW_AT_PERIOD_BEFORE = 17
/** In place of a field of a cell: what the slot has sent, and what is new of its cell. */
export const SENT_SUM = 7
export const NEW_SUM = 4

/** Of what a slot holds: the fraction that has been, since it left a terminal, at any address of
 *  each of so many groups. Addresses fall into groups by their own bits. */
export const VISITS = 16

/** A cell's number is its page and, in these bits, its place there. */
const PAGE_BITS = 19
const PAGE_CELLS = 2 ** PAGE_BITS
/** A run has fewer cells: `start * RUN_MAX + count` is sorted as one double, exact below 2^53. */
const RUN_MAX = 2 ** 17
/** There are 35 bits for the number of a cell: 32 in CELLS, three in ASSET. */
const CELLS_MAX = 2 ** 35
const HIGH_AT = 13
const CAPACITY_MASK = 31
/** The table keeps one more than a slot's number, in 32 bits. */
const SLOTS_MAX = 2 ** 32 - 1

/** Cells. All arrays are of the same bytes. */
export type Page = { words: Uint32Array; doubles: Float64Array; floats: Float32Array }

/** Doubles beyond a page's last cell, so that reading ahead of it stays inside. */
const PAGE_MARGIN = 24

function makePage(cells: number): Page {
  const doubles = new Float64Array(cells * CELL + PAGE_MARGIN)
  const { buffer } = doubles
  return { words: new Uint32Array(buffer), doubles, floats: new Float32Array(buffer) }
}

/** Where in its page's doubles a cell begins; its words begin at twice that. The lowest 32 bits of
 *  its number say that, too. */
export const placeOf = (cell: number) => (cell & (PAGE_CELLS - 1)) * CELL

/** The page of the cells of the slot whose words begin at `base`. */
const pageNumber = (slots: Uint32Array, base: number) =>
  (slots[base + CELLS]! >>> PAGE_BITS) |
  (((slots[base + ASSET]! >>> HIGH_AT) & 7) << (32 - PAGE_BITS))

/** The asset of slots that only carry an address's label. */
export const LABEL_ASSET = 255

const WORD = 2 ** 32
/** Holdings from here on are kept in bigint. */
export const BIG = 2 ** 52
const SUM_MAX = 2 ** 53

/** How many bits of a 28-bit mask are set. */
export function bitCount(mask: number): number {
  let n = mask - ((mask >>> 1) & 0x55555555)
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333)
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** Capacities that a slot's cells can have. */
const CAPACITIES = [1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28]

function capacityFor(count: number): number {
  for (const capacity of CAPACITIES) if (capacity >= count) return capacity
  throw new RangeError('more cells than categories')
}

const largestCapacity = (count: number) => CAPACITIES.findLast((one) => one <= count)!

export class Memory {
  slots: Uint32Array
  slot_doubles: Float64Array
  /** Slots that were ever in use at once: their numbers are below. */
  slot_count = 0
  /** How many were made, dropped ones included. */
  made = 0
  /** For each slot VISITS fractions; empty where nobody asks what is new. */
  visits: Float32Array
  readonly pages: Page[]
  /** What slots hold by category whose holding is kept in bigint. */
  readonly big: Map<number, bigint[]> = new Map()
  /** How many 2^53 sums have given away. */
  private readonly wide: Map<number, number> = new Map()
  /** Slots that were dropped, to be used again. */
  private readonly dropped: number[] = []
  /** The first cell that was never given out, and how many are in use. */
  private cell_end = 0
  private cells_given = 0
  /** Free blocks of cells by their capacity: where each begins. */
  private readonly free: number[][] = Array.from({ length: 29 }, () => [])
  /** Free cells side by side: where they begin, and how many there are. */
  private runs: { start: number; count: number }[] = []
  /** Pairs of a hash and one more than the slot; 0: none. With the hash beside it, nearly no slot
   *  is looked at in vain. */
  private table: Uint32Array

  /** `cells_before`: cells that count as given out already. Tests begin where numbers no longer
   *  fit into 32 bits. */
  constructor(
    slots_expected: number,
    { with_visits, cells_before = 0 }: { with_visits: boolean; cells_before?: number },
  ) {
    const count = Math.max(16, slots_expected)
    this.visits = new Float32Array(with_visits ? count * VISITS : 0)
    this.slots = slotWords(count)
    this.slot_doubles = doublesOf(this.slots)
    this.pages = [makePage(Math.min(PAGE_CELLS, count))]
    const pages_before = Math.floor(cells_before / PAGE_CELLS)
    if (pages_before > 0) {
      const empty = makePage(0)
      for (let i = 1; i < pages_before; i++) this.pages.push(empty)
      this.pages.push(makePage(PAGE_CELLS))
      this.cell_end = cells_before
    }
    this.table = new Uint32Array(2 * 2 ** Math.ceil(Math.log2(count * 1.5)))
  }

  /** Bytes in use by the slots, their cells and the table that finds them. */
  get bytes_used(): number {
    const count = this.slots_used
    const visits = this.visits.length > 0 ? count * VISITS * 4 : 0
    return count * SLOT * 4 + visits + this.cells_given * CELL * 8 + this.table.byteLength
  }

  /** Slots that hold an address. */
  get slots_used(): number {
    return this.slot_count - this.dropped.length
  }

  /** Cells of pages, whether a slot has them or not. */
  get cells_taken(): number {
    return this.cell_end
  }

  /** The slot of an address (five words from `at`), or -1. */
  find(asset: number, words: Uint32Array, at: number): number {
    return this.table[this.place(asset, words, at) + 1]! - 1
  }

  /** What the table has for an address, by the hash alone: 0, or one more than the slot that it
   *  nearly surely is. */
  guess(asset: number, words: Uint32Array, at: number): number {
    const { table } = this
    const hash = hashOf(asset, words[at]!, words[at + 1]!)
    const { length } = table
    for (let place = homeOf(hash, length); ; place = placeAfter(place, length)) {
      if (table[place] === hash || table[place + 1] === 0) return table[place + 1]!
    }
  }

  /** Fetches up to FETCH_MAX slots that were guessed, and the first of their cells. Without
   *  branches, so that no read waits for another. The result says nothing: it keeps the reads
   *  alive. */
  fetch(guesses: Uint32Array, count: number): number {
    const { slots } = this
    let read = 0
    for (let i = 0; i < count; i++) {
      const base = (Math.max(guesses[i]!, 1) - 1) * SLOT
      read ^= slots[base]!
      ahead[i] = base
    }
    for (let i = 0; i < count; i++) {
      const base = ahead[i]!
      ahead[i] = slots[base + CELLS]!
      ahead_pages[i] = pageNumber(slots, base)
    }
    for (let i = 0; i < count; i++) {
      const { words } = this.pages[ahead_pages[i]!]!
      const word = placeOf(ahead[i]!) * 2
      read ^= words[word]! ^ words[word + 16]! ^ words[word + 32]!
    }
    return read
  }

  /** The slot of an address; made, empty and without a label, when there is none. */
  findOrMake(asset: number, words: Uint32Array, at: number): number {
    const place = this.place(asset, words, at)
    const found = this.table[place + 1]!
    return found > 0 ? found - 1 : this.make(asset, words, { at, place })
  }

  private make(asset: number, words: Uint32Array, where: { at: number; place: number }): number {
    const slot = this.dropped.pop() ?? this.slot_count
    if (slot >= SLOTS_MAX) throw new RangeError('more slots than an index can have')
    if ((slot + 1) * SLOT > this.slots.length) this.widenSlots()
    for (let i = 0; i < 5; i++) this.slots[slot * SLOT + i] = words[where.at + i]!
    this.slots[slot * SLOT + ASSET] = asset
    if (slot === this.slot_count) this.slot_count += 1
    this.made += 1
    this.table[where.place] = hashOf(asset, words[where.at]!, words[where.at + 1]!)
    this.table[where.place + 1] = slot + 1
    if (this.slots_used * 3 > this.table.length) this.widenTable()
    return slot
  }

  /** Forgets a slot and its cells; its number is given to another address. */
  drop(slot: number): void {
    const base = slot * SLOT
    const { slots } = this
    this.close(this.place(slots[base + ASSET]! & 255, slots, base))
    const capacity = (slots[base + ASSET]! >>> 8) & CAPACITY_MASK
    if (capacity > 0)
      this.giveBack(
        pageNumber(slots, base) * PAGE_CELLS + (slots[base + CELLS]! % PAGE_CELLS),
        capacity,
      )
    slots.fill(0, base, base + SLOT)
    if (this.visits.length > 0) this.visits.fill(0, slot * VISITS, (slot + 1) * VISITS)
    this.big.delete(slot)
    if (this.wide.size > 0) for (const key of this.wideKeys(slot)) this.wide.delete(key)
    this.dropped.push(slot)
  }

  /** Empties a place of the table, and moves what was put behind it for want of it. */
  private close(closed: number): void {
    const { table } = this
    const { length } = table
    let open = closed
    for (let at = placeAfter(open, length); table[at + 1] !== 0; at = placeAfter(at, length)) {
      const home = homeOf(table[at]!, length)
      // It may move when its home does not lie behind the open place, on the way round.
      if ((at - home + length) % length < (at - open + length) % length) continue
      table[open] = table[at]!
      table[open + 1] = table[at + 1]!
      open = at
    }
    table[open] = 0
    table[open + 1] = 0
  }

  /** Where in the table the address is, or would be put. */
  private place(asset: number, words: Uint32Array, at: number): number {
    const { table } = this
    const hash = hashOf(asset, words[at]!, words[at + 1]!)
    let place = homeOf(hash, table.length)
    for (;;) {
      const found = table[place + 1]!
      if (found === 0 || (table[place] === hash && this.isAt(found - 1, asset, words, at)))
        return place
      place = placeAfter(place, table.length)
    }
  }

  /** The page that all cells of a slot are in. */
  pageOf(slot: number): Page {
    return this.pages[pageNumber(this.slots, slot * SLOT)]!
  }

  /** Whether a slot is that of an address. */
  isAt(slot: number, asset: number, words: Uint32Array, at: number): boolean {
    const { slots } = this
    const base = slot * SLOT
    return (
      slots[base] === words[at] &&
      slots[base + 1] === words[at + 1] &&
      slots[base + 2] === words[at + 2] &&
      slots[base + 3] === words[at + 3] &&
      slots[base + 4] === words[at + 4] &&
      (slots[base + ASSET]! & 255) === asset
    )
  }

  /** Twice as many; beyond a gibibyte by half, because both live while the old is copied. */
  private widenSlots(): void {
    const count = this.slots.length / SLOT
    const larger = slotWords(Math.ceil(this.slots.length < 2 ** 28 ? count * 2 : count * 1.5))
    larger.set(this.slots)
    this.slots = larger
    this.slot_doubles = doublesOf(larger)
    if (this.visits.length === 0) return
    const visits = new Float32Array((larger.length / SLOT) * VISITS)
    visits.set(this.visits)
    this.visits = visits
  }

  private widenTable(): void {
    const before = this.table
    const table = new Uint32Array(before.length * 2)
    for (let at = 0; at < before.length; at += 2) {
      if (before[at + 1] === 0) continue
      let place = homeOf(before[at]!, table.length)
      while (table[place + 1] !== 0) place = placeAfter(place, table.length)
      table[place] = before[at]!
      table[place + 1] = before[at + 1]!
    }
    this.table = table
  }

  /** Makes sure that the slot has a cell for each category of the mask. New cells are zero. */
  ensureCells(slot: number, wanted: number): void {
    const base = slot * SLOT
    const had = this.slots[base + MASK]!
    const mask = (had | wanted) >>> 0
    if (mask === had) return
    const old_count = bitCount(had)
    const count = bitCount(mask)
    const capacity = (this.slots[base + ASSET]! >>> 8) & CAPACITY_MASK
    const from =
      pageNumber(this.slots, base) * PAGE_CELLS + (this.slots[base + CELLS]! % PAGE_CELLS)
    let to = from
    if (count > capacity) {
      const larger = capacityFor(count)
      to = this.takeCells(larger)
      if (capacity > 0) this.giveBack(from, capacity)
      this.slots[base + CELLS] = to % WORD
      this.slots[base + ASSET] =
        (this.slots[base + ASSET]! & 0xffff00ff) |
        (larger << 8) |
        (Math.floor(to / WORD) << HIGH_AT)
    }
    // From the last cell to the first, so that cells can move up within their own block. Word by
    // word: for so few the array's own copy and fill are several times slower, and doubles would
    // not carry every pattern of bits unchanged.
    const source = this.pages[Math.floor(from / PAGE_CELLS)]!.words
    const target = this.pages[Math.floor(to / PAGE_CELLS)]!.words
    let read = (placeOf(from) + old_count * CELL) * 2
    let end = (placeOf(to) + count * CELL) * 2
    for (let rest = mask; rest !== 0; ) {
      const bit = 0x80000000 >>> Math.clz32(rest)
      rest ^= bit
      end -= CELL * 2
      if ((had & bit) === 0) for (let i = 0; i < CELL * 2; i++) target[end + i] = 0
      else {
        read -= CELL * 2
        if (from === to && read === end) break
        for (let i = 0; i < CELL * 2; i++) target[end + i] = source[read + i]!
      }
    }
    this.slots[base + MASK] = mask
  }

  private giveBack(cell: number, capacity: number): void {
    this.free[capacity]!.push(cell)
    this.cells_given -= capacity
  }

  /** A block of cells, of undefined content, all in one page. */
  private takeCells(capacity: number): number {
    const reused = this.free[capacity]!.pop() ?? this.takeOfRuns(capacity)
    if (reused !== undefined) {
      this.cells_given += capacity
      return reused
    }
    const number = this.pages.length - 1
    const place = this.cell_end & (PAGE_CELLS - 1)
    if (Math.floor(this.cell_end / PAGE_CELLS) > number || place + capacity > PAGE_CELLS) {
      if ((number + 2) * PAGE_CELLS > CELLS_MAX)
        throw new RangeError('more cells than an index can have')
      this.pages.push(makePage(PAGE_CELLS))
      this.cell_end = (number + 1) * PAGE_CELLS
    } else if ((place + capacity) * CELL > this.pages[number]!.doubles.length - PAGE_MARGIN)
      this.widenFirstPage(place + capacity)
    const start = this.cell_end
    this.cells_given += capacity
    this.cell_end += capacity
    return start
  }

  /** Cells of the last run. One that is too short is cut into free blocks: each run is looked at
   *  once, and `mergeFree` puts them together again. */
  private takeOfRuns(capacity: number): number | undefined {
    for (let run = this.runs.at(-1); run; run = this.runs.at(-1)) {
      const { start } = run
      const enough = run.count >= capacity
      const taken = enough ? capacity : largestCapacity(run.count)
      run.start += taken
      run.count -= taken
      if (run.count === 0) this.runs.pop()
      if (enough) return start
      this.free[taken]!.push(start)
    }
    return undefined
  }

  /** Puts free cells together that lie side by side in a page. Slots come with few cells and go
   *  with many: what was given back in small pieces would never be used again. It sorts all free
   *  blocks in one go. */
  mergeFree(): void {
    const blocks = new Float64Array(
      this.free.reduce((sum, starts) => sum + starts.length, this.runs.length),
    )
    let end = 0
    for (const { start, count } of this.runs) blocks[end++] = start * RUN_MAX + count
    for (const [capacity, starts] of this.free.entries()) {
      for (const start of starts) blocks[end++] = start * RUN_MAX + capacity
      starts.length = 0
    }
    blocks.sort()
    const runs: typeof this.runs = []
    let last: { start: number; count: number } | undefined
    for (const block of blocks) {
      const start = Math.floor(block / RUN_MAX)
      const count = block % RUN_MAX
      const is_next = last && last.start + last.count === start && start % PAGE_CELLS !== 0
      if (last && is_next && last.count + count < RUN_MAX) last.count += count
      else {
        last = { start, count }
        runs.push(last)
      }
    }
    this.runs = runs
  }

  /** Only the first page begins small. */
  private widenFirstPage(cells: number): void {
    const page = makePage(
      Math.min(PAGE_CELLS, Math.max(cells, (2 * this.pages[0]!.doubles.length) / CELL)),
    )
    page.words.set(this.pages[0]!.words)
    this.pages[0] = page
  }

  /** Counts one more 2^53 that a sum has given away. */
  giveAway(slot: number, category: number, field: number): void {
    const key = wideKey(slot, category, field)
    this.wide.set(key, (this.wide.get(key) ?? 0) + 1)
  }

  private *wideKeys(slot: number): Generator<number> {
    for (let key = slot * 256; key < (slot + 1) * 256; key++) if (this.wide.has(key)) yield key
  }

  /** The sums of a slot that have given something away, and how many 2^53. */
  wideSumsOf(slot: number): { category: number; field: number; beyond: number }[] {
    if (this.wide.size === 0) return []
    return [...this.wideKeys(slot)].map((key) => ({
      category: Math.floor(key / 8) % 32,
      field: key % 8,
      beyond: this.wide.get(key)!,
    }))
  }

  /** Whether any sum has given something away. */
  get has_wide(): boolean {
    return this.wide.size > 0
  }

  /** The sums that have given something away, and how many 2^53. */
  wideSums(): { slot: number; category: number; field: number; beyond: number }[] {
    return [...this.wide].map(([key, beyond]) => ({
      slot: Math.floor(key / 256),
      category: Math.floor(key / 8) % 32,
      field: key % 8,
      beyond,
    }))
  }

  /** A sum of gross flow, whole: of a slot's cell, or SENT_SUM. `kept` is what is in the double. */
  wholeSum(kept: number, of: { slot: number; category: number; field: number }): bigint {
    const beyond =
      this.wide.size === 0 ? undefined : this.wide.get(wideKey(of.slot, of.category, of.field))
    return BigInt(kept) + (beyond === undefined ? 0n : BigInt(beyond) << 53n)
  }
}

const wideKey = (slot: number, category: number, field: number) =>
  (slot * 32 + category) * 8 + field

/** The group of a slot's address. */
export function visitGroup(slots: Uint32Array, slot: number): number {
  return Math.imul(slots[slot * SLOT + 1]! ^ slots[slot * SLOT + 3]!, 0x9e3779b1) >>> 28
}

/** How many slots can be fetched at once. */
export const FETCH_MAX = 512
const ahead = new Float64Array(FETCH_MAX)
const ahead_pages = new Uint32Array(FETCH_MAX)

/** Adds to a sum of gross flow. True when it gave a 2^53 away. */
export function addSum(doubles: Float64Array, at: number, amount: number): boolean {
  const before = doubles[at]!
  const sum = before + amount
  if (sum < SUM_MAX) {
    doubles[at] = sum
    return false
  }
  // In this order nothing is rounded.
  doubles[at] = before - SUM_MAX + amount
  return true
}

/** An address's 20 bytes as five words, the form in which slots keep it. */
export function addressWords(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(5)
  for (let i = 0; i < 20; i++) words[i >>> 2]! |= bytes[i]! << ((i & 3) * 8)
  return words
}

/** Writes an address's 20 bytes from its slot. */
export function writeAddress(
  slots: Uint32Array,
  slot: number,
  bytes: Uint8Array,
  at: number,
): void {
  for (let i = 0; i < 20; i++) bytes[at + i] = slots[slot * SLOT + (i >>> 2)]! >>> ((i & 3) * 8)
}

export function hashOf(asset: number, a: number, b: number): number {
  let mixed = Math.imul(a ^ (asset << 24), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ b, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** Where in a table of a power of two of words, two for each place, one begins to look for a hash.
 *  Bits of 32 are enough for 2^32 words; of more, each place has a bit of the hash of its own. */
export const homeOf = (hash: number, words: number): number =>
  words > WORD ? hash * 2 : ((hash << 1) & (words - 1)) >>> 0

/** The next place after one; after the last, the first. */
export const placeAfter = (place: number, words: number): number =>
  place + 2 === words ? 0 : place + 2

/** Words for so many slots. Large buffers begin 16 bytes into a cache line: beginning 48 bytes
 *  later, no slot lies on two. */
function slotWords(count: number): Uint32Array {
  const length = count * SLOT
  return new Uint32Array(new ArrayBuffer(48 + length * 4), 48, length)
}

const doublesOf = (words: Uint32Array) =>
  new Float64Array(words.buffer, words.byteOffset, words.length / 2)
