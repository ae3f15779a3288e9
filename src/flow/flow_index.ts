// The flow index: for every address and asset, how much of each category it holds and has received, kept exactly, unit by
// unit, as transfers are applied in the order of the chain. Always: the categories held sum to the balance, and those
// received to all that arrived. Labels begin and end with the time of blocks, so the same blocks and labels give the same
// state, however they are cut into portions.

import { CATEGORY_COUNT, ISSUER_FROZEN, UNIDENTIFIED } from './categories.ts'
import { isTerminal, isValidAt, type Label, labelInForce } from './labels.ts'
import {
  ASSET,
  add,
  addressWords,
  BALANCE,
  bitCount,
  CELL,
  CELL_DOUBLES,
  CELLS,
  COUNT_IN,
  COUNT_OUT,
  DESTINATION,
  DIRECT,
  FIRST_BLOCK,
  HELD,
  HOPS,
  LABEL_ASSET,
  LAST_BLOCK,
  MASK,
  Memory,
  OF_SLOT,
  RECEIVED,
  readBig,
  readNumber,
  SENT,
  SLOT,
  WITNESS,
  WITNESS_AMOUNT,
  writeBig,
} from './memory.ts'
import { FAST_BELOW, percentOf, split, splitBig } from './split.ts'

/** A change of a token issuer's freeze list. */
export type Freeze = { readonly token: string; readonly address: string; readonly frozen: boolean }

/** What a freeze list said about an address: from when, and until when. */
export type FreezeSpell = { token: string; address: string; from_ms: number; to_ms: number }

const WORD = 2 ** 32
const TERMINAL_BIT = 1 << 13

/** A label in 16 bits: 0 is none. */
const packLabel = (label: Label | undefined) =>
  label === undefined ? 0 : (label.category + 1) | (label.confidence << 5) | (isTerminal(label) ? TERMINAL_BIT : 0)

/** What a transfer carried, by category: valid until the next one is applied. */
export class Carried {
  mask = 0
  readonly low: Uint32Array = new Uint32Array(CATEGORY_COUNT)
  readonly high: Uint32Array = new Uint32Array(CATEGORY_COUNT)
  /** One more than the mean number of hops that this money had behind it at the sender. */
  readonly hops: Float64Array = new Float64Array(CATEGORY_COUNT)
  /** The transfer that had brought the sender most of this category; 0: none, the money begins there. */
  readonly prior: Uint32Array = new Uint32Array(CATEGORY_COUNT)

  /** The amount of a category, exact. */
  amount(category: number): bigint {
    return (this.mask >>> category) & 1 ? (BigInt(this.high[category]!) << 32n) | BigInt(this.low[category]!) : 0n
  }

  put(category: number, amount: number): void {
    const high = Math.floor(amount / WORD)
    this.high[category] = high
    this.low[category] = amount - high * WORD
    this.mask |= 1 << category
  }

  putBig(category: number, amount: bigint): void {
    this.low[category] = Number(amount & 0xffffffffn)
    this.high[category] = Number(amount >> 32n)
    this.mask |= 1 << category
  }
}

export class FlowIndex {
  readonly memory: Memory
  readonly carried: Carried = new Carried()
  /** The last block begun. */
  block_number = 0
  block_time_ms: number = Number.NEGATIVE_INFINITY
  /** The result of reading ahead, which only has to go somewhere. */
  fetched = 0
  /** The number, in the log, of the last transfer applied. */
  sequence = 0
  readonly freezes: FreezeSpell[] = []
  private readonly labels = new Map<string, Label[]>()
  /** Instants at which static labels begin or end, in order, and how many of them have passed. */
  private readonly agenda: { at_ms: number; address: string }[] = []
  private agenda_done = 0
  private assets = 0
  private readonly held = new Float64Array(CATEGORY_COUNT)
  private readonly parts = new Float64Array(CATEGORY_COUNT)
  private readonly soft_parts = new Float64Array(CATEGORY_COUNT)
  private readonly categories = new Uint8Array(CATEGORY_COUNT)
  private readonly words = new Uint32Array(CATEGORY_COUNT)

  constructor(labels: readonly Label[], slots_expected = 1_024) {
    this.memory = new Memory(slots_expected)
    for (const label of labels) {
      const known = this.labels.get(label.address)
      if (known) known.push(label)
      else this.labels.set(label.address, [label])
      for (const at_ms of [label.from_ms, label.to_ms])
        if (Number.isFinite(at_ms)) this.agenda.push({ at_ms, address: label.address })
    }
    this.agenda.sort((a, b) => a.at_ms - b.at_ms)
    for (const address of this.labels.keys()) this.relabel(address)
  }

  /** Begins a block: labels that have begun or ended by its time, and changes of freeze lists in it, are in force for all
   *  its transfers. Blocks come in order. */
  beginBlock(number: number, time_ms: number, freezes: readonly Freeze[] = []): void {
    this.block_number = number
    this.block_time_ms = time_ms
    const changed = new Set<string>()
    for (; this.agenda_done < this.agenda.length; this.agenda_done++) {
      const next = this.agenda[this.agenda_done]!
      if (next.at_ms > time_ms) break
      changed.add(next.address)
    }
    for (const freeze of freezes) {
      this.noteFreeze(freeze, time_ms)
      changed.add(freeze.address)
    }
    for (const address of changed) this.relabel(address)
  }

  private noteFreeze({ token, address, frozen }: Freeze, at_ms: number): void {
    const open = this.freezes.find(
      (one) => one.to_ms === Number.POSITIVE_INFINITY && one.token === token && one.address === address,
    )
    if (frozen && !open) {
      this.addSpell({ token, address, from_ms: at_ms, to_ms: Number.POSITIVE_INFINITY })
    } else if (!frozen && open) open.to_ms = at_ms
  }

  /** Takes over what a freeze list said. The spell itself is kept among the address's labels, so that its end is seen. */
  private addSpell(spell: FreezeSpell): void {
    this.freezes.push(spell)
    const label = Object.assign(spell, { category: ISSUER_FROZEN, confidence: 100, kind: 'ledger' as const })
    const known = this.labels.get(spell.address)
    if (known) known.push(label)
    else this.labels.set(spell.address, [label])
  }

  /** Restores the freeze lists and the time of a saved state, before any slot is. */
  restore(block: { number: number; time_ms: number; sequence: number }, spells: readonly FreezeSpell[]): void {
    for (const { token, address, from_ms, to_ms } of spells) this.addSpell({ token, address, from_ms, to_ms })
    this.beginBlock(block.number, block.time_ms)
    this.sequence = block.sequence
    for (const { address } of spells) this.relabel(address)
  }

  /** The labels of an address, valid or not. */
  labelsOf(address: string): readonly Label[] {
    return this.labels.get(address) ?? []
  }

  /** The label in force for an address as of the last block. */
  labelOf(address: string): Label | undefined {
    return this.labelAt(address, this.block_time_ms)
  }

  /** The label that was in force at an instant that is not later than the last block. */
  labelAt(address: string, at_ms: number): Label | undefined {
    return labelInForce(this.labelsOf(address), at_ms)
  }

  validLabelsOf(address: string): Label[] {
    return this.labelsOf(address).filter((label) => isValidAt(label, this.block_time_ms))
  }

  /** Puts the label in force into the address's slots. A terminal holds nothing: its customers' money is not its own. */
  private relabel(address: string): void {
    const { memory } = this
    const words = addressWords(Buffer.from(address, 'hex'))
    const packed = packLabel(this.labelOf(address))
    const slots = [memory.findOrMake(LABEL_ASSET, words, 0)]
    for (let asset = 0; asset < this.assets; asset++) {
      const slot = memory.find(asset, words, 0)
      if (slot >= 0) slots.push(slot)
    }
    for (const slot of slots) {
      const base = slot * SLOT
      memory.slots[base + ASSET] = (memory.slots[base + ASSET]! & 0xffff) | (packed << 16)
      if ((packed & TERMINAL_BIT) !== 0) this.empty(slot)
    }
  }

  private empty(slot: number): void {
    const { slots, cells } = this.memory
    const base = slot * SLOT
    const end = slots[base + CELLS]! + bitCount(slots[base + MASK]!)
    for (let cell = slots[base + CELLS]!; cell < end; cell++) cells.fill(0, cell * CELL + HELD, cell * CELL + HELD + 2)
    slots.fill(0, base + BALANCE, base + BALANCE + 2)
  }

  /** The slot of an address (five words from `at`) for an asset (0 to 254), made when there is none. */
  slot(asset: number, words: Uint32Array, at = 0): number {
    const { memory } = this
    const count = memory.slot_count
    const slot = memory.findOrMake(asset, words, at)
    if (memory.slot_count > count) {
      if (asset >= this.assets) this.assets = asset + 1
      const labelled = memory.find(LABEL_ASSET, words, at)
      if (labelled >= 0)
        memory.slots[slot * SLOT + ASSET]! |= (memory.slots[labelled * SLOT + ASSET]! & 0xffff0000) >>> 0
    }
    return slot
  }

  /** Applies a transfer of `low + high * 2^32` units between two slots of one asset; `sequence` (from 1) is its number in
   *  the log. What it carried is in `carried`. Returns false, and does nothing, for a transfer of nothing or to itself. */
  transfer(from: number, to: number, amount: { low: number; high: number }, sequence: number): boolean {
    const { low, high } = amount
    this.sequence = sequence
    if (from === to || (low === 0 && high === 0)) return false
    const { slots } = this.memory
    const sender = from * SLOT
    const label = slots[sender + ASSET]! >>> 16
    this.carried.mask = 0
    if ((label & TERMINAL_BIT) !== 0) this.carryFromTerminal((label & 31) - 1, low, high)
    else {
      this.topUp(from, low, high)
      if (readNumber(slots, sender + BALANCE) < FAST_BELOW) this.carryFast(from, low + high * WORD, label)
      else this.carryBig(from, (BigInt(high) << 32n) | BigInt(low), label)
    }
    this.countOut(from, to, low, high)
    this.deliver(to, sequence)
    if ((label & TERMINAL_BIT) !== 0) this.noteDirect(to, (label & 31) - 1, low, high)
    return true
  }

  private carryFromTerminal(category: number, low: number, high: number): void {
    const { carried } = this
    carried.mask = 1 << category
    carried.low[category] = low
    carried.high[category] = high
    carried.hops[category] = 1
    carried.prior[category] = 0
  }

  /** What an address spends beyond what it was seen to receive was there before the index began. */
  private topUp(slot: number, low: number, high: number): void {
    const { memory } = this
    const base = slot * SLOT
    const lacks =
      memory.slots[base + BALANCE + 1]! < high ||
      (memory.slots[base + BALANCE + 1]! === high && memory.slots[base + BALANCE]! < low)
    if (!lacks) return
    memory.ensureCells(slot, 1 << UNIDENTIFIED)
    const { slots, cells } = memory
    const cell = this.cellOf(slot, UNIDENTIFIED) * CELL
    let missing_low = low - slots[base + BALANCE]!
    let missing_high = high - slots[base + BALANCE + 1]!
    if (missing_low < 0) {
      missing_low += WORD
      missing_high -= 1
    }
    add(cells, cell + HELD, missing_low, missing_high)
    if (add(cells, cell + RECEIVED, missing_low, missing_high)) memory.carryOut(slot, UNIDENTIFIED, RECEIVED)
    slots[base + BALANCE] = low
    slots[base + BALANCE + 1] = high
  }

  private cellOf(slot: number, category: number): number {
    const { slots } = this.memory
    return slots[slot * SLOT + CELLS]! + bitCount(slots[slot * SLOT + MASK]! & ((1 << category) - 1))
  }

  /** Takes q from the slot's holding, in doubles: for balances below FAST_BELOW. */
  private carryFast(slot: number, q: number, label: number): void {
    const { carried, held, categories } = this
    const { slots, cells, doubles } = this.memory
    const base = slot * SLOT
    const balance = readNumber(slots, base + BALANCE)
    let count = 0
    let cell = slots[base + CELLS]!
    for (let rest = slots[base + MASK]!; rest !== 0; cell++) {
      const bit = rest & -rest
      rest ^= bit
      const word = cell * CELL
      const h = readNumber(cells, word + HELD)
      if (h === 0) continue
      const category = 31 - Math.clz32(bit)
      const received = readNumber(cells, word + RECEIVED)
      carried.hops[category] = 1 + doubles[cell * CELL_DOUBLES + HOPS]! / received
      carried.prior[category] = cells[word + WITNESS]!
      categories[count] = category
      this.words[count] = word
      held[count] = h
      count += 1
    }
    split(held, count, { q, balance }, this.parts)
    this.takeFast(count)
    const left = balance - q
    slots[base + BALANCE + 1] = Math.floor(left / WORD)
    slots[base + BALANCE] = left
    this.carryParts(count, q, label)
  }

  private takeFast(count: number): void {
    const { held, parts, words } = this
    const { cells } = this.memory
    for (let i = 0; i < count; i++) {
      const left = held[i]! - parts[i]!
      const word = words[i]!
      cells[word + HELD] = left
      cells[word + HELD + 1] = Math.floor(left / WORD)
    }
  }

  /** Puts what was taken into `carried`; a soft label turns its percentage into the label's category first. */
  private carryParts(count: number, q: number, label: number): void {
    const { carried, categories } = this
    let parts = this.parts
    const percent = label >>> 5
    const turned = label === 0 ? 0 : percentOf(q, percent)
    if (turned > 0) {
      split(this.parts, count, { q: q - turned, balance: q }, this.soft_parts)
      parts = this.soft_parts
    }
    for (let i = 0; i < count; i++) if (parts[i]! > 0) carried.put(categories[i]!, parts[i]!)
    if (turned > 0) this.turn((label & 31) - 1, turned)
  }

  /** Adds what a soft label turns into its category: money that begins at the sender. */
  private turn(category: number, turned: number): void {
    const { carried } = this
    const bit = 1 << category
    if ((carried.mask & bit) === 0) {
      carried.hops[category] = 1
      carried.prior[category] = 0
      carried.put(category, turned)
      return
    }
    const own = carried.low[category]! + carried.high[category]! * WORD
    carried.hops[category] = (carried.hops[category]! * own + turned) / (own + turned)
    if (turned > own) carried.prior[category] = 0
    carried.put(category, own + turned)
  }

  /** The same as carryFast, in bigint. */
  private carryBig(slot: number, q: bigint, label: number): void {
    const { carried } = this
    const { slots, cells, doubles } = this.memory
    const base = slot * SLOT
    const present: { category: number; word: number; held: bigint }[] = []
    for (let category = 0; category < CATEGORY_COUNT; category++) {
      if (((slots[base + MASK]! >>> category) & 1) === 0) continue
      const cell = this.cellOf(slot, category)
      const word = cell * CELL
      const held = readBig(cells, word + HELD)
      if (held === 0n) continue
      carried.hops[category] = 1 + doubles[cell * CELL_DOUBLES + HOPS]! / readNumber(cells, word + RECEIVED)
      carried.prior[category] = cells[word + WITNESS]!
      present.push({ category, word, held })
    }
    const balance = readBig(slots, base + BALANCE)
    const held = present.map((one) => one.held)
    const taken = splitBig(held, q, balance)
    for (const [i, { word }] of present.entries()) writeBig(cells, word + HELD, held[i]! - taken[i]!)
    writeBig(slots, base + BALANCE, balance - q)
    const turned = label === 0 ? 0n : (q * BigInt(label >>> 5)) / 100n
    const parts = turned > 0n ? splitBig(taken, q - turned, q) : taken
    for (const [i, { category }] of present.entries()) if (parts[i]! > 0n) carried.putBig(category, parts[i]!)
    if (turned > 0n) this.turnBig((label & 31) - 1, turned)
  }

  private turnBig(category: number, turned: bigint): void {
    const { carried } = this
    const own = carried.amount(category)
    const share = Number(own) / Number(own + turned)
    carried.hops[category] = own === 0n ? 1 : carried.hops[category]! * share + 1 - share
    if (turned > own) carried.prior[category] = 0
    carried.putBig(category, own + turned)
  }

  /** Notes at the sender that it sent, and to which kind of terminal. */
  private countOut(from: number, to: number, low: number, high: number): void {
    const { memory } = this
    const sender = from * SLOT
    const receiver_label = memory.slots[to * SLOT + ASSET]! >>> 16
    if ((receiver_label & TERMINAL_BIT) !== 0) {
      const category = (receiver_label & 31) - 1
      memory.ensureCells(from, 1 << category)
      const word = this.cellOf(from, category) * CELL
      if (add(memory.cells, word + DESTINATION, low, high)) memory.carryOut(from, category, DESTINATION)
    }
    const { slots } = memory
    if (add(slots, sender + SENT, low, high)) memory.carryOut(from, OF_SLOT, SENT)
    slots[sender + COUNT_OUT]! += 1
    this.touch(sender)
  }

  /** Adds what is carried to the receiver. */
  private deliver(to: number, sequence: number): void {
    const { memory, carried } = this
    const { low, high, hops } = carried
    memory.ensureCells(to, carried.mask)
    const { slots, cells, doubles } = memory
    const base = to * SLOT
    const keeps = ((slots[base + ASSET]! >>> 16) & TERMINAL_BIT) === 0
    const mask = slots[base + MASK]!
    const first = slots[base + CELLS]!
    for (let rest = carried.mask; rest !== 0; ) {
      const bit = rest & -rest
      rest ^= bit
      const category = 31 - Math.clz32(bit)
      const cell = first + bitCount(mask & (bit - 1))
      const word = cell * CELL
      const l = low[category]!
      const h = high[category]!
      const amount = l + h * WORD
      if (add(cells, word + RECEIVED, l, h)) memory.carryOut(to, category, RECEIVED)
      if (keeps) {
        add(cells, word + HELD, l, h)
        if (add(slots, base + BALANCE, l, h)) throw new RangeError('a balance left 64 bits')
      }
      const double = cell * CELL_DOUBLES
      doubles[double + HOPS]! += amount * hops[category]!
      if (amount > doubles[double + WITNESS_AMOUNT]!) {
        doubles[double + WITNESS_AMOUNT] = amount
        cells[word + WITNESS] = sequence
      }
    }
    slots[base + COUNT_IN]! += 1
    this.touch(base)
  }

  private touch(base: number): void {
    const { slots } = this.memory
    if (slots[base + LAST_BLOCK] === 0) slots[base + FIRST_BLOCK] = this.block_number
    slots[base + LAST_BLOCK] = this.block_number
  }

  private noteDirect(to: number, category: number, low: number, high: number): void {
    const { memory } = this
    if (add(memory.cells, this.cellOf(to, category) * CELL + DIRECT, low, high)) memory.carryOut(to, category, DIRECT)
  }
}
