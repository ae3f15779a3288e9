// The labels of an index, by address: a million of them in some fifty bytes each. A table is made
// once, and the next one from a copy of it and what has changed.

import { KINDS, type Label } from './labels.ts'
import { addressWords, hashOf } from './memory.ts'

/** Words of a row: the address, what the label says, and one more than the next row of the same
 *  address. */
const ROW = 8
const SAYS = 5
const NEXT = 6
const GONE = 2 ** 31

export class LabelTable {
  /** Rows that are there, and those of them that were taken out again. */
  private count = 0
  private gone = 0
  private rows = new Uint32Array(16 * ROW)
  /** From when and until when, by row. */
  private times = new Float64Array(16 * 2)
  /** One more than the first row of an address, by open addressing. */
  private table = new Uint32Array(64)

  static of(labels: readonly Label[]): LabelTable {
    const table = new LabelTable()
    for (const label of labels) table.add(label)
    return table
  }

  /** Whether most of its rows are out: it is better made anew than copied. */
  get is_worn(): boolean {
    return this.gone * 2 > this.count
  }

  /** How many rows there are, those that are out included. */
  get row_count(): number {
    return this.count
  }

  copy(): LabelTable {
    const copy = new LabelTable()
    copy.count = this.count
    copy.gone = this.gone
    copy.rows = this.rows.slice()
    copy.times = this.times.slice()
    copy.table = this.table.slice()
    return copy
  }

  add(label: Label): void {
    if ((this.count + 1) * ROW > this.rows.length) this.widen()
    const row = this.count
    const base = row * ROW
    this.rows.set(addressWords(Buffer.from(label.address, 'hex')), base)
    this.rows[base + SAYS] = saysOf(label)
    this.times[2 * row] = label.from_ms
    this.times[2 * row + 1] = label.to_ms
    this.count += 1
    this.link(row)
  }

  /** Takes out a label that says the same. */
  remove(label: Label): void {
    const says = saysOf(label)
    for (const row of this.rowsAt(addressWords(Buffer.from(label.address, 'hex')), 0)) {
      if (this.rows[row * ROW + SAYS] !== says) continue
      if (this.times[2 * row] !== label.from_ms || this.times[2 * row + 1] !== label.to_ms) continue
      this.rows[row * ROW + SAYS] = (says | GONE) >>> 0
      this.gone += 1
      return
    }
  }

  /** The labels of an address, in the order in which they were put in. */
  of(address: string): Label[] {
    const words = addressWords(Buffer.from(address, 'hex'))
    return this.rowsAt(words, 0).map((row) => this.label(row, address))
  }

  /** The words of a row's address, and the labels of that; undefined when it is out. */
  at(row: number): { words: Uint32Array; labels: Omit<Label, 'address'>[] } | undefined {
    const base = row * ROW
    if (this.isGone(row)) return undefined
    const labels = this.rowsAt(this.rows, base).map((one) => this.label(one, ''))
    return { words: this.rows.subarray(base, base + 5), labels }
  }

  /** Every label, in the order of its row. */
  *all(): Generator<Label> {
    const bytes = Buffer.alloc(20)
    for (let row = 0; row < this.count; row++) {
      if (this.isGone(row)) continue
      for (let i = 0; i < 20; i++) bytes[i] = this.rows[row * ROW + (i >>> 2)]! >>> ((i & 3) * 8)
      yield this.label(row, bytes.toString('hex'))
    }
  }

  /** From when and until when the label of a row is valid. */
  timesOf(row: number): readonly [from_ms: number, to_ms: number] {
    return [this.times[2 * row]!, this.times[2 * row + 1]!]
  }

  private isGone(row: number): boolean {
    return (this.rows[row * ROW + SAYS]! & GONE) !== 0
  }

  private label(row: number, address: string): Label {
    const says = this.rows[row * ROW + SAYS]!
    return {
      address,
      category: says & 31,
      confidence: (says >>> 5) & 127,
      kind: KINDS[(says >>> 12) & 7]!,
      from_ms: this.times[2 * row]!,
      to_ms: this.times[2 * row + 1]!,
    }
  }

  private rowsAt(words: Uint32Array, at: number): number[] {
    const found: number[] = []
    for (let next = this.table[this.place(words, at)]!; next !== 0; ) {
      if (!this.isGone(next - 1)) found.push(next - 1)
      next = this.rows[(next - 1) * ROW + NEXT]!
    }
    return found
  }

  private link(row: number): void {
    const place = this.place(this.rows, row * ROW)
    const first = this.table[place]!
    if (first === 0) this.table[place] = row + 1
    else {
      let at = (first - 1) * ROW + NEXT
      while (this.rows[at] !== 0) at = (this.rows[at]! - 1) * ROW + NEXT
      this.rows[at] = row + 1
    }
    if (this.count * 2 > this.table.length) this.widenTable()
  }

  private place(words: Uint32Array, at: number): number {
    const { table, rows } = this
    const last = table.length - 1
    for (let place = hashOf(0, words[at]!, words[at + 1]!) & last; ; place = (place + 1) & last) {
      const row = table[place]! - 1
      if (row < 0) return place
      let same = 0
      while (same < 5 && rows[row * ROW + same] === words[at + same]) same++
      if (same === 5) return place
    }
  }

  private widen(): void {
    const rows = new Uint32Array(this.rows.length * 2)
    rows.set(this.rows)
    this.rows = rows
    const times = new Float64Array(this.times.length * 2)
    times.set(this.times)
    this.times = times
  }

  private widenTable(): void {
    const heads = this.table.filter((head) => head !== 0)
    this.table = new Uint32Array(this.table.length * 2)
    for (const head of heads) this.table[this.place(this.rows, (head - 1) * ROW)] = head
  }
}

const saysOf = ({ category, confidence, kind }: Label) =>
  category | (confidence << 5) | (KINDS.indexOf(kind) << 12)
