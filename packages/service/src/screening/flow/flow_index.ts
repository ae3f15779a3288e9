// The flow index: for every address and asset, how much of each category it holds and has received,
// kept exactly, unit by unit, as transfers are applied in the order of the chain. Always: the
// categories held sum to the balance, and those received to all that arrived. Labels begin and end
// with the time of blocks, so the same blocks and labels give the same state, however they are cut
// into portions.

import type { Freeze } from '../../chain/transfers/packed.ts'
import { Carried, type SwapPart } from './carried.ts'
import { CATEGORY_COUNT, ISSUER_FROZEN, LIQUIDITY_POOLS, UNIDENTIFIED } from './categories.ts'
import { Counterparties, HUB_COUNTERPARTIES } from './counterparties.ts'
import { LabelTable } from './label_table.ts'
import { isTerminal, isValidAt, type Label, labelInForce } from './labels.ts'
import {
  ASSET,
  addressWords,
  addSum,
  BALANCE,
  BIG,
  bitCount,
  CELL,
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
  visitGroup,
  WITNESS,
  WITNESS_AMOUNT,
  writeAddress,
} from './memory.ts'
import { percentOf, split, splitBig } from './split.ts'

/** What a freeze list said about an address: from when, and until when. */
export type FreezeSpell = { token: string; address: string; from_ms: number; to_ms: number }

/** What an index takes note of beyond what moves. `net`: how much of what arrives is new where it
 *  arrives. `swaps`: what is swapped at a pool, inside one transaction, keeps its origin.
 *  `reversed`: transfers come turned round, so what an address has not seen arrive is what it kept,
 *  and is not among what it sent. */
export type FlowRules = {
  net: boolean
  swaps: boolean
  reversed?: boolean
  counterparties_max?: number
}
export const PLAIN_RULES: FlowRules = { net: true, swaps: false }

/** What an address gave at a pool in the transaction at hand, and where that had been. */
type GivenLeg = {
  slot: number
  sequence: number
  parts: readonly SwapPart[]
  visits: Float64Array
}

/** Blocks of a period, 45 days: what is recent came in this one or the one before. */
export const PERIOD_BLOCKS = 45 * 28_800
export const periodOf = (block_number: number) => Math.floor(block_number / PERIOD_BLOCKS)

const WORD = 2 ** 32
/** Amounts of this many words times 2^32 and more are bigint. */
const BIG_WORDS = BIG / WORD
/** Counts of an address stop here. */
const COUNT_MAX = WORD - 1
const TERMINAL_BIT = 1 << 13
const LABELS_AT_ONCE = 2_000

function hexOf(words: Uint32Array): string {
  const bytes = Buffer.alloc(20)
  writeAddress(words, 0, bytes, 0)
  return bytes.toString('hex')
}

/** A label in 16 bits: 0 is none. */
const packLabel = (label: Omit<Label, 'address'> | undefined) =>
  label === undefined
    ? 0
    : (label.category + 1) | (label.confidence << 5) | (isTerminal(label) ? TERMINAL_BIT : 0)

/** Whether two slots are of one address, of whatever assets. */
function isSameAddress(slots: Uint32Array, a: number, b: number): boolean {
  for (let word = 0; word < 5; word++)
    if (slots[a * SLOT + word] !== slots[b * SLOT + word]) return false
  return true
}

const categoryOf = (packed: number) => (packed & 31) - 1
/** Of a label that is not a terminal's. */
const percentIn = (packed: number) => packed >>> 5

export class FlowIndex {
  readonly memory: Memory
  readonly carried: Carried = new Carried()
  /** The last block begun. */
  block_number = 0
  block_time_ms: number = Number.NEGATIVE_INFINITY
  /** The period of the last block begun. */
  period = 0
  readonly rules: FlowRules
  /** The result of reading ahead, which only has to go somewhere. */
  fetched = 0
  /** The number, in the log, of the last transfer applied. */
  sequence = 0
  readonly freezes: FreezeSpell[] = []
  readonly counterparties: Counterparties
  private labels = new LabelTable()
  /** What freeze lists said, as labels. */
  private readonly frozen = new Map<string, (FreezeSpell & Label)[]>()
  /** Instants at which static labels begin or end, in order, and how many of them have passed. */
  private readonly agenda: { at_ms: number; address: string }[] = []
  private agenda_done = 0
  private assets = 0
  private readonly held = new Float64Array(CATEGORY_COUNT)
  private readonly parts = new Float64Array(CATEGORY_COUNT)
  private readonly soft_parts = new Float64Array(CATEGORY_COUNT)
  private readonly categories = new Uint8Array(CATEGORY_COUNT)
  private readonly places = new Uint32Array(CATEGORY_COUNT)
  /** Of what the transfer at hand carries: the fraction that has been at its receiver before, and
   *  that at addresses of each group. */
  private returning = 0
  private readonly visits = new Float64Array(VISITS)
  private given: GivenLeg[] = []

  constructor(labels: readonly Label[], slots_expected = 1_024, rules: FlowRules = PLAIN_RULES) {
    this.rules = rules
    this.memory = new Memory(slots_expected, { with_visits: rules.net })
    this.counterparties = new Counterparties(rules.counterparties_max ?? HUB_COUNTERPARTIES)
    const taking = this.takeLabels(LabelTable.of(labels))
    while (!taking.next().done);
  }

  /** Takes its labels, which it had none of before, in portions of a few milliseconds. Nothing
   *  moves before the last of them; a state that is restored begins its block first. */
  *takeLabels(labels: LabelTable): Generator<undefined, void> {
    this.labels = labels
    for (let row = 0; row < labels.row_count; row++) {
      const label = labels.at(row)
      if (label) this.takeLabel(label, labels.timesOf(row))
      if (row % LABELS_AT_ONCE === LABELS_AT_ONCE - 1) yield
    }
    this.agenda.sort((a, b) => a.at_ms - b.at_ms)
  }

  private takeLabel(
    { words, labels }: { words: Uint32Array; labels: readonly Omit<Label, 'address'>[] },
    times: readonly number[],
  ): void {
    const coming = times.filter((at_ms) => Number.isFinite(at_ms) && at_ms > this.block_time_ms)
    const address = coming.length > 0 || this.frozen.size > 0 ? hexOf(words) : ''
    for (const at_ms of coming) this.agenda.push({ at_ms, address })
    const all = [...labels, ...(this.frozen.get(address) ?? [])]
    this.putLabel(words, labelInForce(all, this.block_time_ms))
  }

  /** Begins a block: labels that have begun or ended by its time, and changes of freeze lists in
   *  it, are in force for all its transfers. Blocks come in order. */
  beginBlock(number: number, time_ms: number, freezes: readonly Freeze[] = []): void {
    this.block_number = number
    this.block_time_ms = time_ms
    this.period = periodOf(number)
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

  /** Addresses whose labels change by their own times until an instant. */
  *changing(until_ms: number): Generator<string> {
    for (let next = this.agenda_done; next < this.agenda.length; next++) {
      const { at_ms, address } = this.agenda[next]!
      if (at_ms > until_ms) break
      yield address
    }
  }

  /** One more than the highest asset that moved. */
  get asset_count(): number {
    return this.assets
  }

  /** Says so of a state whose slots are not all here. */
  expectAssets(count: number): void {
    this.assets = Math.max(this.assets, count)
  }

  private noteFreeze({ token, address, frozen }: Freeze, at_ms: number): void {
    const open = this.freezes.find(
      (one) =>
        one.to_ms === Number.POSITIVE_INFINITY && one.token === token && one.address === address,
    )
    if (frozen && !open) {
      this.addSpell({ token, address, from_ms: at_ms, to_ms: Number.POSITIVE_INFINITY })
    } else if (!frozen && open) open.to_ms = at_ms
  }

  /** Takes over what a freeze list said. The spell itself is kept among the address's labels, so
   *  that its end is seen. */
  private addSpell(spell: FreezeSpell): void {
    this.freezes.push(spell)
    const label = Object.assign(spell, {
      category: ISSUER_FROZEN,
      confidence: 100,
      kind: 'ledger' as const,
    })
    const known = this.frozen.get(spell.address)
    if (known) known.push(label)
    else this.frozen.set(spell.address, [label])
  }

  /** Restores the freeze lists and the time of a saved state, before any slot is. */
  restore(
    block: { number: number; time_ms: number; sequence: number },
    spells: readonly FreezeSpell[],
  ): void {
    for (const { token, address, from_ms, to_ms } of spells)
      this.addSpell({ token, address, from_ms, to_ms })
    this.beginBlock(block.number, block.time_ms)
    this.sequence = block.sequence
    for (const { address } of spells) this.relabel(address)
  }

  /** The labels of an address, valid or not. */
  labelsOf(address: string): readonly Label[] {
    const listed = this.labels.of(address)
    const frozen = this.frozen.get(address)
    return frozen ? [...listed, ...frozen] : listed
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

  /** Puts the label in force into the address's slots. A terminal holds nothing: its customers'
   *  money is not its own. */
  private relabel(address: string): void {
    this.putLabel(addressWords(Buffer.from(address, 'hex')), this.labelOf(address))
  }

  private putLabel(words: Uint32Array, label: Omit<Label, 'address'> | undefined): void {
    const { memory } = this
    const packed = packLabel(label)
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
    const { slots, slot_doubles, big } = this.memory
    const first = slots[slot * SLOT + CELLS]!
    const { doubles } = this.memory.pageOf(slot)
    const end = placeOf(first) + bitCount(slots[slot * SLOT + MASK]!) * CELL
    for (let place = placeOf(first); place < end; place += CELL) doubles[place + HELD] = 0
    slot_doubles[slot * SLOT_DOUBLES + BALANCE] = 0
    big.delete(slot)
  }

  /** The slot of an address (five words from `at`) for an asset (0 to 254), made when there is
   *  none. */
  slot(asset: number, words: Uint32Array, at = 0): number {
    const { memory } = this
    const { made } = memory
    const slot = memory.findOrMake(asset, words, at)
    if (memory.made > made) {
      if (asset >= this.assets) this.assets = asset + 1
      const labelled = memory.find(LABEL_ASSET, words, at)
      if (labelled >= 0)
        memory.slots[slot * SLOT + ASSET]! |=
          (memory.slots[labelled * SLOT + ASSET]! & 0xffff0000) >>> 0
    }
    return slot
  }

  /** Applies a transfer of `low + high * 2^32` units between two slots of one asset; `sequence`
   *  (from 1) is its number in the log. What it carried is in `carried`. Returns false, and does
   *  nothing, for a transfer of nothing or to itself. */
  transfer(
    from: number,
    to: number,
    amount: { low: number; high: number },
    sequence: number,
  ): boolean {
    const { low, high } = amount
    this.sequence = sequence
    if (from === to || (low === 0 && high === 0)) return false
    if (this.rules.net) {
      this.beginPeriod(from)
      this.beginPeriod(to)
    }
    if (high >= BIG_WORDS) this.transferBig(from, to, (BigInt(high) << 32n) | BigInt(low))
    else this.transferFast(from, to, low + high * WORD)
    this.touch(from, COUNT_OUT, to)
    this.touch(to, COUNT_IN, from)
    return true
  }

  /** The next transfer is the first of its transaction: what was given in the one before bought
   *  something there, or nothing. */
  beginTransaction(): void {
    if (this.given.length > 0) this.given = []
  }

  /** What the receiver of a transfer from a pool gave at one before, in the same transaction. Of
   *  one who gave several things it cannot be said which of them bought this. */
  private givenBy(from: number, to: number): GivenLeg | undefined {
    if (this.given.length === 0 || !this.isPool(from)) return undefined
    const { slots } = this.memory
    const given = this.given.filter(({ slot }) => isSameAddress(slots, slot, to))
    return given.length === 1 ? given[0] : undefined
  }

  private isPool(slot: number): boolean {
    const label = this.memory.slots[slot * SLOT + ASSET]! >>> 16
    return (label & TERMINAL_BIT) !== 0 && categoryOf(label) === LIQUIDITY_POOLS
  }

  /** Notes what is given at a pool, when it is in `carried`. */
  private noteGiven(from: number, to: number): void {
    if (!this.rules.swaps || !this.isPool(to) || this.isPool(from)) return
    this.given.push({
      slot: from,
      sequence: this.sequence,
      parts: this.carried.parts(),
      visits: this.visits.slice(),
    })
  }

  /** What a pool pays for what was given: of the same origin, and as far from it. */
  private carrySwapped(given: GivenLeg, to: number, q: bigint): void {
    this.carried.putSwapped(given.parts, q, given.sequence)
    this.visits.set(given.visits)
    this.returning = this.visits[visitGroup(this.memory.slots, to)]!
  }

  private touch(slot: number, count: number, other: number): void {
    const { counterparties } = this
    const { slots } = this.memory
    const base = slot * SLOT
    if (slots[base + count]! < COUNT_MAX) slots[base + count]! += 1
    if (slots[base + LAST_BLOCK] === 0) slots[base + FIRST_BLOCK] = this.block_number
    slots[base + LAST_BLOCK] = this.block_number
    if (slots[base + COUNT_IN]! + slots[base + COUNT_OUT]! > counterparties.transfers_before)
      counterparties.note(slot, slots, other)
  }

  /** With the first transfer of a period: notes what was new until then. */
  private beginPeriod(slot: number): void {
    const { memory, period } = this
    const { slots } = memory
    const base = slot * SLOT
    const last = periodOf(slots[base + LAST_BLOCK]!)
    if (last === period || slots[base + LAST_BLOCK] === 0) return
    const first = slots[base + CELLS]!
    const { doubles, floats } = memory.pageOf(slot)
    let place = placeOf(first)
    for (let rest = slots[base + MASK]!; rest !== 0; place += CELL) {
      const category = 31 - Math.clz32(rest & -rest)
      rest &= rest - 1
      const now = this.sumOf(doubles[place + NEW]!, { slot, category, field: NEW_SUM })
      floats[2 * place + NEW_AT_PERIOD_BEFORE] =
        last === period - 1 ? floats[2 * place + NEW_AT_PERIOD]! : now
      floats[2 * place + NEW_AT_PERIOD] = now
    }
  }

  /** A sum of gross flow, as near as a double comes. */
  private sumOf(kept: number, of: { slot: number; category: number; field: number }): number {
    return this.memory.has_wide ? Number(this.memory.wholeSum(kept, of)) : kept
  }

  private balanceOf(slot: number): number {
    const balance = this.memory.slot_doubles[slot * SLOT_DOUBLES + BALANCE]!
    if (balance !== Number.POSITIVE_INFINITY) return balance
    return Number(this.heldOf(slot).reduce((sum, one) => sum + one, 0n))
  }

  /** Money that nobody saw arrive has been nowhere. */
  private dilutesVisits(slot: number, missing: number): void {
    const { visits } = this.memory
    if (visits.length === 0) return
    const balance = this.balanceOf(slot)
    const kept = balance / (balance + missing)
    for (let i = slot * VISITS; i < (slot + 1) * VISITS; i++) visits[i]! *= kept
  }

  /** Where the money of a transfer has been: what the sender holds in proportion, and at the sender
   *  all of it. Money that leaves a terminal has been nowhere. */
  private carryVisits(from: number, to: number, terminal: boolean): void {
    const { visits } = this.memory
    if (visits.length === 0) return
    if (terminal) {
      this.visits.fill(0)
      this.returning = 0
      return
    }
    const { slots } = this.memory
    for (let i = 0; i < VISITS; i++) this.visits[i] = visits[from * VISITS + i]!
    this.returning = this.visits[visitGroup(slots, to)]!
    this.visits[visitGroup(slots, from)] = 1
  }

  /** Mixes where the money has been into what the receiver holds, before it holds the money. */
  private deliverVisits(to: number, q: number): void {
    const { visits } = this.memory
    if (visits.length === 0) return
    const share = q / (this.balanceOf(to) + q)
    for (let i = 0; i < VISITS; i++) {
      const at = to * VISITS + i
      visits[at] = visits[at]! + (this.visits[i]! - visits[at]!) * share
    }
  }

  private transferFast(from: number, to: number, q: number): void {
    const { memory, carried } = this
    const { slots, slot_doubles } = memory
    const label = slots[from * SLOT + ASSET]! >>> 16
    const terminal = (label & TERMINAL_BIT) !== 0
    carried.begin()
    this.noteDestination(from, to, q)
    const given = terminal ? this.givenBy(from, to) : undefined
    if (given) this.carrySwapped(given, to, BigInt(q))
    else if (terminal) carried.putOrigin(categoryOf(label), q)
    else {
      const balance = slot_doubles[from * SLOT_DOUBLES + BALANCE]!
      if (balance === Number.POSITIVE_INFINITY) this.carryBig(from, BigInt(q), label)
      else {
        if (balance < q) this.topUp(from, q - balance)
        this.carryFast(from, q, label)
      }
    }
    if (!given) this.carryVisits(from, to, terminal)
    if (!terminal) this.noteGiven(from, to)
    if (addSum(slot_doubles, from * SLOT_DOUBLES + SENT, q)) memory.giveAway(from, 0, SENT_SUM)
    if (carried.big) this.deliverBig(to)
    else this.deliver(to, q)
    if (terminal && !given) this.addTo(to, categoryOf(label), DIRECT, q)
  }

  /** Notes at the sender to which kind of terminal it sends. */
  private noteDestination(from: number, to: number, q: number): void {
    const { memory } = this
    const label = memory.slots[to * SLOT + ASSET]! >>> 16
    if ((label & TERMINAL_BIT) === 0) return
    memory.ensureCells(from, 1 << categoryOf(label))
    this.addTo(from, categoryOf(label), DESTINATION, q)
  }

  /** Adds to a sum of gross flow of a cell that is there. */
  private addTo(slot: number, category: number, field: number, q: number): void {
    const { memory } = this
    const cell = this.cellOf(slot, category)
    const { doubles } = memory.pageOf(slot)
    if (addSum(doubles, placeOf(cell) + field, q)) memory.giveAway(slot, category, field)
  }

  private addNew(slot: number, category: number, q: number): void {
    const { memory } = this
    const cell = this.cellOf(slot, category)
    const { doubles } = memory.pageOf(slot)
    if (addSum(doubles, placeOf(cell) + NEW, q)) memory.giveAway(slot, category, NEW_SUM)
  }

  private cellOf(slot: number, category: number): number {
    const { slots } = this.memory
    return (
      slots[slot * SLOT + CELLS]! + bitCount(slots[slot * SLOT + MASK]! & ((1 << category) - 1))
    )
  }

  /** What an address spends beyond what it was seen to receive was there before the index began. */
  private topUp(slot: number, missing: number): void {
    const { memory } = this
    this.dilutesVisits(slot, missing)
    memory.ensureCells(slot, 1 << UNIDENTIFIED)
    const cell = this.cellOf(slot, UNIDENTIFIED)
    const { doubles } = memory.pageOf(slot)
    doubles[placeOf(cell) + HELD]! += missing
    if (addSum(doubles, placeOf(cell) + NEW, missing)) memory.giveAway(slot, UNIDENTIFIED, NEW_SUM)
    memory.slot_doubles[slot * SLOT_DOUBLES + BALANCE]! += missing
    if (!this.rules.reversed) this.addTo(slot, UNIDENTIFIED, RECEIVED, missing)
  }

  /** Takes q from the slot's holding. */
  private carryFast(slot: number, q: number, label: number): void {
    const { memory, carried, held, categories, places, parts } = this
    const { slots, slot_doubles } = memory
    const first = slots[slot * SLOT + CELLS]!
    const { doubles } = memory.pageOf(slot)
    const balance = slot_doubles[slot * SLOT_DOUBLES + BALANCE]!
    let count = 0
    let place = placeOf(first)
    for (let rest = slots[slot * SLOT + MASK]!; rest !== 0; place += CELL) {
      const bit = rest & -rest
      rest ^= bit
      const h = doubles[place + HELD]!
      if (h === 0) continue
      categories[count] = 31 - Math.clz32(bit)
      places[count] = place
      held[count] = h
      count += 1
    }
    split(held, count, { q, balance }, parts)
    slot_doubles[slot * SLOT_DOUBLES + BALANCE] = balance - q
    const turned = label === 0 ? 0 : percentOf(q, percentIn(label))
    let carrying = parts
    if (turned > 0) {
      carrying = this.soft_parts
      split(parts, count, { q: q - turned, balance: q }, carrying)
    }
    for (let i = 0; i < count; i++) {
      const at = places[i]!
      doubles[at + HELD] = held[i]! - parts[i]!
      const part = carrying[i]!
      if (part === 0) continue
      const category = categories[i]!
      carried.mask |= 1 << category
      carried.amounts[category] = part
      const kept = doubles[at + RECEIVED]!
      const received = memory.has_wide
        ? Number(memory.wholeSum(kept, { slot, category, field: RECEIVED }))
        : kept
      carried.hops[category] = 1 + doubles[at + HOPS]! / received
      carried.prior[category] = doubles[at + WITNESS]!
    }
    if (turned > 0) carried.addOrigin(categoryOf(label), turned)
  }

  /** Adds what is carried to the receiver. */
  private deliver(to: number, q: number): void {
    const { memory, carried, sequence } = this
    const { amounts, hops } = carried
    memory.ensureCells(to, carried.mask)
    const { slots, slot_doubles } = memory
    const base = to * SLOT
    const keeps = ((slots[base + ASSET]! >>> 16) & TERMINAL_BIT) === 0
    const balance = slot_doubles[to * SLOT_DOUBLES + BALANCE]! + q
    if (keeps && balance >= BIG) {
      this.deliverBig(to)
      return
    }
    if (keeps) {
      this.deliverVisits(to, q)
      slot_doubles[to * SLOT_DOUBLES + BALANCE] = balance
    }
    const { returning } = this
    const mask = slots[base + MASK]!
    const first = slots[base + CELLS]!
    const first_place = placeOf(first)
    const { doubles } = memory.pageOf(to)
    for (let rest = carried.mask; rest !== 0; ) {
      const bit = rest & -rest
      rest ^= bit
      const category = 31 - Math.clz32(bit)
      const place = first_place + bitCount(mask & (bit - 1)) * CELL
      const amount = amounts[category]!
      let fresh = amount
      if (keeps) {
        // What came back is no more than what was here and is not any more.
        if (returning > 0) {
          const ever = this.sumOf(doubles[place + NEW]!, { slot: to, category, field: NEW_SUM })
          const away = Math.max(0, ever - doubles[place + HELD]!)
          fresh -= Math.min(Math.ceil(amount * returning), amount, away)
        }
        doubles[place + HELD]! += amount
      }
      if (addSum(doubles, place + NEW, fresh)) memory.giveAway(to, category, NEW_SUM)
      if (addSum(doubles, place + RECEIVED, amount)) memory.giveAway(to, category, RECEIVED)
      doubles[place + HOPS]! += amount * hops[category]!
      if (amount > doubles[place + WITNESS_AMOUNT]!) {
        doubles[place + WITNESS_AMOUNT] = amount
        doubles[place + WITNESS] = sequence
      }
    }
  }

  // The same for transfers and holdings that doubles would not hold exactly. Nothing here has to be
  // fast.

  private transferBig(from: number, to: number, q: bigint): void {
    const { memory, carried } = this
    const label = memory.slots[from * SLOT + ASSET]! >>> 16
    const terminal = (label & TERMINAL_BIT) !== 0
    const receiver_label = memory.slots[to * SLOT + ASSET]! >>> 16
    carried.begin()
    if ((receiver_label & TERMINAL_BIT) !== 0) {
      memory.ensureCells(from, 1 << categoryOf(receiver_label))
      this.addBig(from, categoryOf(receiver_label), DESTINATION, q)
    }
    const given = terminal ? this.givenBy(from, to) : undefined
    if (given) this.carrySwapped(given, to, q)
    else if (terminal) carried.putOrigin(categoryOf(label), q)
    else this.carryBig(from, q, label)
    if (!given) this.carryVisits(from, to, terminal)
    if (!terminal) this.noteGiven(from, to)
    this.addBig(from, 0, SENT_SUM, q)
    this.deliverBig(to)
    if (terminal && !given) this.addBig(to, categoryOf(label), DIRECT, q)
  }

  /** Adds any amount to a sum of gross flow, in portions that doubles hold. */
  private addBig(slot: number, category: number, field: number, q: bigint): void {
    const portion = BigInt(BIG)
    const { memory } = this
    for (let left = q; left > 0n; left -= portion) {
      const part = Number(left < portion ? left : portion)
      if (field === NEW_SUM) this.addNew(slot, category, part)
      else if (field !== SENT_SUM) this.addTo(slot, category, field, part)
      else if (addSum(memory.slot_doubles, slot * SLOT_DOUBLES + SENT, part))
        memory.giveAway(slot, category, field)
    }
  }

  /** What a slot holds by category. */
  heldOf(slot: number): bigint[] {
    const { slots, big } = this.memory
    const known = big.get(slot)
    if (known) return known.slice()
    const held = Array<bigint>(CATEGORY_COUNT).fill(0n)
    const first = slots[slot * SLOT + CELLS]!
    const { doubles } = this.memory.pageOf(slot)
    let place = placeOf(first)
    for (let category = 0; category < CATEGORY_COUNT; category++) {
      if (((slots[slot * SLOT + MASK]! >>> category) & 1) === 0) continue
      held[category] = BigInt(doubles[place + HELD]!)
      place += CELL
    }
    return held
  }

  /** Writes what a slot holds, in doubles if they can. Cells for its categories are there. */
  setHeld(slot: number, held: readonly bigint[]): void {
    const { memory } = this
    const balance = held.reduce((sum, one) => sum + one, 0n)
    const is_big = balance >= BigInt(BIG)
    if (is_big) memory.big.set(slot, held.slice())
    else memory.big.delete(slot)
    memory.slot_doubles[slot * SLOT_DOUBLES + BALANCE] = is_big
      ? Number.POSITIVE_INFINITY
      : Number(balance)
    for (const [category, amount] of held.entries()) {
      if (((memory.slots[slot * SLOT + MASK]! >>> category) & 1) === 0) continue
      const cell = this.cellOf(slot, category)
      memory.pageOf(slot).doubles[placeOf(cell) + HELD] = is_big ? 0 : Number(amount)
    }
  }

  private carryBig(slot: number, q: bigint, label: number): void {
    const { carried, memory } = this
    const held = this.heldOf(slot)
    const balance = held.reduce((sum, one) => sum + one, 0n)
    if (balance < q) {
      this.dilutesVisits(slot, Number(q - balance))
      memory.ensureCells(slot, 1 << UNIDENTIFIED)
      held[UNIDENTIFIED]! += q - balance
      this.addBig(slot, UNIDENTIFIED, NEW_SUM, q - balance)
      if (!this.rules.reversed) this.addBig(slot, UNIDENTIFIED, RECEIVED, q - balance)
    }
    const taken = splitBig(held, q, balance < q ? q : balance)
    this.setHeld(
      slot,
      held.map((one, category) => one - taken[category]!),
    )
    const turned = label === 0 ? 0n : (q * BigInt(percentIn(label))) / 100n
    const parts = turned > 0n ? splitBig(taken, q - turned, q) : taken
    carried.big = []
    for (const [category, part] of parts.entries()) {
      if (part === 0n) continue
      const cell = this.cellOf(slot, category)
      const { doubles } = memory.pageOf(slot)
      const place = placeOf(cell)
      const received = memory.wholeSum(doubles[place + RECEIVED]!, {
        slot,
        category,
        field: RECEIVED,
      })
      carried.mask |= 1 << category
      carried.big[category] = part
      carried.hops[category] = 1 + doubles[place + HOPS]! / Number(received)
      carried.prior[category] = doubles[place + WITNESS]!
    }
    if (turned > 0n) carried.addOriginBig(categoryOf(label), turned)
  }

  /** How much of an amount that arrives has been here before. */
  private returnedBig(
    slot: number,
    category: number,
    { amount, held }: { amount: bigint; held: bigint },
  ): bigint {
    const cell = this.cellOf(slot, category)
    const kept = this.memory.pageOf(slot).doubles[placeOf(cell) + NEW]!
    const away = this.memory.wholeSum(kept, { slot, category, field: NEW_SUM }) - held
    const part = BigInt(Math.ceil(Number(amount) * this.returning))
    const most = part < amount ? part : amount
    return away < most ? (away > 0n ? away : 0n) : most
  }

  private deliverBig(to: number): void {
    const { memory, carried, sequence } = this
    memory.ensureCells(to, carried.mask)
    const keeps = ((memory.slots[to * SLOT + ASSET]! >>> 16) & TERMINAL_BIT) === 0
    const held = this.heldOf(to)
    if (keeps) this.deliverVisits(to, Number(carried.total))
    for (let category = 0; category < CATEGORY_COUNT; category++) {
      const amount = carried.amount(category)
      if (amount === 0n) continue
      const returned = keeps
        ? this.returnedBig(to, category, { amount, held: held[category]! })
        : 0n
      this.addBig(to, category, NEW_SUM, amount - returned)
      held[category]! += amount
      this.addBig(to, category, RECEIVED, amount)
      const cell = this.cellOf(to, category)
      const { doubles } = memory.pageOf(to)
      const place = placeOf(cell)
      doubles[place + HOPS]! += Number(amount) * carried.hops[category]!
      if (Number(amount) > doubles[place + WITNESS_AMOUNT]!) {
        doubles[place + WITNESS_AMOUNT] = Number(amount)
        doubles[place + WITNESS] = sequence
      }
    }
    if (keeps) this.setHeld(to, held)
  }
}
