// The index's memory: a slot of 64 bytes for each (asset, address), found by open addressing, and for each category that
// the address ever had a cell of 56 bytes. A slot's cells lie together in the order of their categories; a mask of 28 bits
// says which there are, so a cell is found by counting bits. Amounts are 64-bit, in two words: beyond is an error.

/** Words (32 bits) of a slot and what they hold. ASSET is the asset, the capacity for cells << 8, and the label << 16. */
export const SLOT = 16
export const ASSET = 5
export const BALANCE = 6
export const CELLS = 8
export const MASK = 9
export const SENT = 10
export const COUNT_IN = 12
export const COUNT_OUT = 13
export const FIRST_BLOCK = 14
export const LAST_BLOCK = 15

/** Words of a cell: 64-bit amounts held, received, received from terminals directly, sent to terminals directly; the
 *  transfer that brought most of it; and two doubles: the sum of amount times hops, and what that transfer brought. */
export const CELL = 14
export const HELD = 0
export const RECEIVED = 2
export const DIRECT = 4
export const DESTINATION = 6
export const WITNESS = 8
/** Places of the doubles, in units of eight bytes. */
export const CELL_DOUBLES = 7
export const HOPS = 5
export const WITNESS_AMOUNT = 6

/** The asset of slots that only carry an address's label. */
export const LABEL_ASSET = 255

const WORD = 2 ** 32

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

export class Memory {
  slots: Uint32Array
  slot_count = 0
  cells: Uint32Array
  doubles: Float64Array
  /** How many 2^64 a sum of gross flow has beyond its two words. Nearly always empty. */
  private readonly wide: Map<number, number> = new Map()
  private cell_end = 0
  private readonly free: number[][] = Array.from({ length: 29 }, () => [])
  private table: Uint32Array

  constructor(slots_expected: number) {
    this.slots = onLines(Math.max(16, slots_expected) * SLOT)
    this.cells = new Uint32Array(Math.max(16, slots_expected) * CELL)
    this.doubles = new Float64Array(this.cells.buffer)
    this.table = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(16, slots_expected) * 2)))
  }

  /** Bytes in use by the slots, their cells (freed blocks included) and the table that finds them. */
  get bytes_used(): number {
    return (this.slot_count * SLOT + this.cell_end * CELL) * 4 + this.table.byteLength
  }

  /** The slot of an address (five words from `at`), or -1. */
  find(asset: number, words: Uint32Array, at: number): number {
    return this.table[this.place(asset, words, at)]! - 1
  }

  /** Fetches what the table has for an address, without comparing: 0, or one more than the slot that it may be. */
  guess(asset: number, words: Uint32Array, at: number): number {
    const { table } = this
    return table[hashOf(asset, words[at]!, words[at + 1]!) & (table.length - 1)]!
  }

  /** Fetches slots that were guessed, and the first of their cells. Without branches, so that no read waits for another.
   *  The result says nothing: it keeps the reads alive. */
  fetch(guesses: Uint32Array, count: number): number {
    const { slots, cells } = this
    let read = 0
    for (let i = 0; i < count; i++) {
      const base = (Math.max(guesses[i]!, 1) - 1) * SLOT
      read ^= slots[base]!
      guesses[i] = base
    }
    for (let i = 0; i < count; i++) guesses[i] = slots[guesses[i]! + CELLS]! * CELL
    for (let i = 0; i < count; i++) {
      const word = guesses[i]!
      read ^=
        cells[word]! ^ cells[Math.min(word + 16, cells.length - 1)]! ^ cells[Math.min(word + 32, cells.length - 1)]!
    }
    return read
  }

  /** The slot of an address; made, empty and without a label, when there is none. */
  findOrMake(asset: number, words: Uint32Array, at: number): number {
    const place = this.place(asset, words, at)
    const found = this.table[place]!
    return found > 0 ? found - 1 : this.make(asset, words, { at, place })
  }

  private make(asset: number, words: Uint32Array, where: { at: number; place: number }): number {
    const slot = this.slot_count
    if ((slot + 1) * SLOT > this.slots.length) this.slots = grown(this.slots, onLines)
    for (let i = 0; i < 5; i++) this.slots[slot * SLOT + i] = words[where.at + i]!
    this.slots[slot * SLOT + ASSET] = asset
    this.slot_count += 1
    this.table[where.place] = slot + 1
    if (this.slot_count * 2 > this.table.length) this.widenTable()
    return slot
  }

  /** Where in the table the address is, or would be put. */
  private place(asset: number, words: Uint32Array, at: number): number {
    const { table, slots } = this
    const a = words[at]!
    const b = words[at + 1]!
    const last = table.length - 1
    let place = hashOf(asset, a, b) & last
    for (;;) {
      const found = table[place]!
      if (found === 0) return place
      const base = (found - 1) * SLOT
      if (
        slots[base] === a &&
        slots[base + 1] === b &&
        slots[base + 2] === words[at + 2] &&
        slots[base + 3] === words[at + 3] &&
        slots[base + 4] === words[at + 4] &&
        (slots[base + ASSET]! & 255) === asset
      )
        return place
      place = (place + 1) & last
    }
  }

  private widenTable(): void {
    const table = new Uint32Array(this.table.length * 2)
    const last = table.length - 1
    const { slots } = this
    for (let slot = 0; slot < this.slot_count; slot++) {
      const base = slot * SLOT
      let place = hashOf(slots[base + ASSET]! & 255, slots[base]!, slots[base + 1]!) & last
      while (table[place] !== 0) place = (place + 1) & last
      table[place] = slot + 1
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
    const capacity = (this.slots[base + ASSET]! >>> 8) & 255
    let from = this.slots[base + CELLS]!
    let to = from
    if (count > capacity) {
      const larger = capacityFor(count)
      to = this.takeCells(larger)
      if (capacity > 0) this.free[capacity]!.push(from)
      this.slots[base + CELLS] = to
      this.slots[base + ASSET] = (this.slots[base + ASSET]! & 0xffff00ff) | (larger << 8)
    }
    // From the last cell to the first, so that cells can move up within their own block. Word by word: for so few words
    // the array's own copy and fill are several times slower.
    from = (from + old_count) * CELL
    let end = (to + count) * CELL
    const { cells } = this
    for (let rest = mask; rest !== 0; ) {
      const bit = 0x80000000 >>> Math.clz32(rest)
      rest ^= bit
      end -= CELL
      if ((had & bit) === 0) for (let i = 0; i < CELL; i++) cells[end + i] = 0
      else {
        from -= CELL
        if (from === end) break
        for (let i = 0; i < CELL; i++) cells[end + i] = cells[from + i]!
      }
    }
    this.slots[base + MASK] = mask
  }

  /** A block of cells, of undefined content. */
  private takeCells(capacity: number): number {
    const reused = this.free[capacity]!.pop()
    if (reused !== undefined) return reused
    const start = this.cell_end
    this.cell_end += capacity
    if (this.cell_end * CELL > this.cells.length) {
      this.cells = grown(this.cells, (length) => new Uint32Array(length))
      this.doubles = new Float64Array(this.cells.buffer)
    }
    return start
  }

  /** Counts one more 2^64 of a sum; see `wide`. */
  carryOut(slot: number, category: number, field: number): void {
    const key = wideKey(slot, category, field)
    this.wide.set(key, (this.wide.get(key) ?? 0) + 1)
  }

  /** The sums that have left 64 bits, and how many 2^64 each has beyond. */
  wideSums(): { slot: number; category: number; field: number; beyond: number }[] {
    return [...this.wide].map(([key, beyond]) => ({
      slot: Math.floor(key / 512),
      category: Math.floor(key / 16) % 32,
      field: key % 16,
      beyond,
    }))
  }

  /** A sum of gross flow: of a slot's cell (RECEIVED, DIRECT, DESTINATION) or of the slot (SENT). Exact. */
  readWide(words: Uint32Array, at: number, of: { slot: number; category: number; field: number }): bigint {
    const beyond = this.wide.size === 0 ? undefined : this.wide.get(wideKey(of.slot, of.category, of.field))
    return readBig(words, at) + (beyond === undefined ? 0n : BigInt(beyond) << 64n)
  }
}

/** In place of a category, for sums of the slot itself. */
export const OF_SLOT = 31
const wideKey = (slot: number, category: number, field: number) => (slot * 32 + category) * 16 + field

/** Adds to a 64-bit amount. True when the sum left 64 bits. */
export function add(words: Uint32Array, at: number, low: number, high: number): boolean {
  const sum = words[at]! + low
  const sum_high = words[at + 1]! + high + (sum >= WORD ? 1 : 0)
  words[at] = sum
  words[at + 1] = sum_high
  return sum_high >= WORD
}

/** A 64-bit amount, exact. */
export function readBig(words: Uint32Array, at: number): bigint {
  return (BigInt(words[at + 1]!) << 32n) | BigInt(words[at]!)
}

export function writeBig(words: Uint32Array, at: number, amount: bigint): void {
  words[at] = Number(amount & 0xffffffffn)
  words[at + 1] = Number(amount >> 32n)
}

/** A 64-bit amount as a double: exact below 2^53. */
export function readNumber(words: Uint32Array, at: number): number {
  return words[at]! + words[at + 1]! * WORD
}

/** An address's 20 bytes as five words, the form in which slots keep it. */
export function addressWords(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(5)
  for (let i = 0; i < 20; i++) words[i >>> 2]! |= bytes[i]! << ((i & 3) * 8)
  return words
}

/** Writes an address's 20 bytes from its slot. */
export function writeAddress(slots: Uint32Array, slot: number, bytes: Uint8Array, at: number): void {
  for (let i = 0; i < 20; i++) bytes[at + i] = slots[slot * SLOT + (i >>> 2)]! >>> ((i & 3) * 8)
}

function hashOf(asset: number, a: number, b: number): number {
  let mixed = Math.imul(a ^ (asset << 24), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ b, 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** Large buffers begin 16 bytes into a cache line. Beginning 48 bytes later, no slot lies on two lines. */
function onLines(length: number): Uint32Array {
  return new Uint32Array(new ArrayBuffer(48 + length * 4), 48, length)
}

/** Twice as large while small; then by half, because both live while the old is copied. */
function grown(words: Uint32Array, make: (length: number) => Uint32Array): Uint32Array {
  const larger = words.length < 2 ** 28 ? words.length * 2 : Math.ceil((words.length * 1.5) / 112) * 112
  const copy = make(larger)
  copy.set(words)
  return copy
}
