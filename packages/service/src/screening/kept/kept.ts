// A flow index whose state is in two parts: hot slots in memory, and all of them in a `SlotStore`.
// Before blocks are applied, the slots that they touch and that are not hot are loaded; then
// the index in memory applies them as ever, and what has changed is saved together with the block,
// whole or not at all. So the kept part always is the state at the end of a block, and whoever
// starts goes on from there. Labels are no part of the state: all of them stay in memory.

import { createHash } from 'node:crypto'
import { type LoggedBlock, wordsOf } from '../../chain/transfers/packed.ts'
import { finished } from '../../lib/portions.ts'
import { canonicalSlot, hasMoved } from '../flow/checkpoint.ts'
import { FlowIndex, type FlowRules, type FreezeSpell } from '../flow/flow_index.ts'
import { type Holding, readSlot } from '../flow/holdings.ts'
import type { LabelTable } from '../flow/label_table.ts'
import { addressWords, LAST_BLOCK, SLOT } from '../flow/memory.ts'
import { applyBlocks, type BlockNote, type FlowState, type HoldingOf } from './flow_state.ts'
import {
  BrokenState,
  KEY,
  type KeptSlot,
  readRecord,
  writeKey,
  writeRecord,
} from './slot_record.ts'

/** The block that the slots are of, and what else the index knows at it. */
export type KeptHeader = {
  /** Of the state, as the caller names it: no other goes on from this one. */
  identity: string
  number: number
  time_ms: number | null
  sequence: number
  /** The id of the block, as the caller names it. */
  block_id: string | undefined
  /** One more than the highest asset. */
  assets: number
  slots: number
  freezes: [token: string, address: string, from_ms: number, to_ms: number | null][]
}

export type Entry = KeptSlot & { key: Uint8Array }

/** Where slots are kept. What fails leaves it as it was. */
export type SlotStore = {
  /** As it was opened; undefined: nothing has been saved. */
  readonly header: KeptHeader | undefined
  /** Slots by their keys, which lie one behind the other. */
  load(keys: Uint8Array): Promise<(KeptSlot | undefined)[]>
  /** Puts slots and the header, all or none. */
  save(entries: Iterable<Entry>, header: KeptHeader): Promise<void>
  /** A page of slots in the order of the keys. `after`: the last key of the page before. A page may
   *  have a few more than `limit`; an empty one is the end. `counted`: only those whose
   *  counterparties are counted. */
  scan(after: Uint8Array | undefined, how: { limit: number; counted: boolean }): Promise<Entry[]>
  /** Puts all of it, as it was saved last, under another name. */
  copyTo(name: string): Promise<void>
  close(): Promise<void>
}

/** Of a slot: that it is one of the state, has been used of late, has changed, was never saved. */
const HERE = 1
const USED = 2
const CHANGED = 4
const UNSAVED = 8
const NEWS = CHANGED | UNSAVED

/** Of the slots that may be hot, those that stay when there are too many: fewer, so that many
 *  blocks are applied before slots have to be dropped again. */
const STAYS = 2 / 3

/** Room beyond `hot_slots` from the start: arrays would be doubled for the portion of blocks that
 *  is applied before `is_full` is asked. */
const PORTION_SLOTS = 40_000

/** Slots that are dropped before others have their turn. */
const DROPPED_AT_ONCE = 20_000

/** Slots that are put in order at once. */
const SORTED = 2 ** 20

/** Slots that are read of `SlotStore` at once. */
const SCANNED = 2_000

/** `hot_slots`: how many may be in memory; a portion of blocks may go beyond until it is saved. */
export type KeptOptions = { rules?: FlowRules | undefined; hot_slots: number; identity: string }

export class KeptFlow implements FlowState {
  readonly index: FlowIndex
  private identity: string
  private readonly kept: SlotStore
  /** The number of slots from which on some are dropped when the changed ones are saved. */
  private readonly hot_slots: number
  private marks = new Uint8Array(1_024)
  /** Slots that have changed since they were saved. */
  private changed: number[] = []
  private hot = 0
  private kept_slots: number
  private hand = 0
  /** The slots being loaded: until then, some are here that are empty and should not be. */
  private loading: Promise<unknown> | undefined
  /** Rises before slots change or are dropped: a reading that waited for the file begins again. */
  private version = 0
  /** A place for one slot that is looked at and not made hot. */
  private readonly glass: FlowIndex
  private saved_number: number
  private saved_id: string | undefined
  private broken = false

  private constructor(index: FlowIndex, kept: SlotStore, how: Omit<KeptOptions, 'rules'>) {
    this.index = index
    this.identity = how.identity
    this.kept = kept
    this.hot_slots = how.hot_slots
    this.kept_slots = kept.header?.slots ?? 0
    this.saved_number = kept.header?.number ?? 0
    this.saved_id = kept.header?.block_id
    this.glass = new FlowIndex([], 16, index.rules)
  }

  /** Goes on from what is kept, in portions of a few milliseconds; the labels are those under which
   *  it was computed, or differ only in addresses of which nothing is kept. Throws BrokenState when
   *  something else is kept. */
  static async *opening(
    kept: SlotStore,
    labels: LabelTable,
    { rules, ...how }: KeptOptions,
  ): AsyncGenerator<undefined, KeptFlow> {
    const { header } = kept
    const { hot_slots, identity } = how
    if (header && header.identity !== identity) throw new BrokenState('it is another state')
    const index = new FlowIndex([], hot_slots + PORTION_SLOTS, rules)
    if (header) {
      const block = { ...header, time_ms: header.time_ms ?? Number.NEGATIVE_INFINITY }
      index.restore(block, spellsOf(header))
      index.expectAssets(header.assets)
    }
    yield* index.takeLabels(labels)
    return new KeptFlow(index, kept, how)
  }

  /** Puts a state that is whole in memory where there is nothing yet. */
  static async moving(
    index: FlowIndex,
    kept: SlotStore,
    { block_id, ...how }: Omit<KeptOptions, 'rules'> & { block_id: string | undefined },
  ): Promise<KeptFlow> {
    const flow = new KeptFlow(index, kept, how)
    for (let slot = 0; slot < index.memory.slot_count; slot++) {
      if (!hasMoved(index, slot)) continue
      flow.mark(slot, HERE | CHANGED | UNSAVED)
      flow.changed.push(slot)
      flow.hot += 1
    }
    flow.saved_number = -1
    await flow.save(block_id)
    return flow
  }

  /** Whether it is time to save, so that slots can be dropped. */
  get is_full(): boolean {
    return this.hot > this.hot_slots
  }

  get hot_count(): number {
    return this.hot
  }

  /** Slots of the whole state, as it was saved last. */
  get slot_count(): number {
    return this.kept_slots
  }

  get is_broken(): boolean {
    return this.broken
  }

  /** The id of the block that was saved last, as the caller named it. */
  get block_id(): string | undefined {
    return this.saved_id
  }

  /** Whether the last block is saved. */
  get is_saved(): boolean {
    return this.changed.length === 0 && this.saved_number === this.index.block_number
  }

  private hasMoved(slot: number): boolean {
    return this.index.memory.slots[slot * SLOT + LAST_BLOCK] !== 0
  }

  private is(slot: number, mark: number): boolean {
    return (this.marks[slot]! & mark) !== 0
  }

  private mark(slot: number, marks: number): void {
    if (slot >= this.marks.length) {
      const wider = new Uint8Array(Math.max(slot + 1, this.index.memory.slots.length / SLOT))
      wider.set(this.marks)
      this.marks = wider
    }
    this.marks[slot]! |= marks
  }

  /** Applies blocks, in memory. */
  async apply<Block extends LoggedBlock>(
    blocks: readonly Block[],
    noteOf: (block: Block) => BlockNote | undefined = () => undefined,
  ): Promise<void> {
    await this.prepare(blocks)
    this.version += 1
    applyBlocks(this.index, blocks, noteOf)
  }

  /** Makes all slots hot that the blocks touch. */
  private async prepare(blocks: readonly LoggedBlock[]): Promise<void> {
    const wanted = new KeyList()
    const changed: number[] = []
    for (const { transfers } of blocks) {
      const words = wordsOf(transfers)
      for (let at = 0; at < words.length; at += 13) {
        this.want(words[at]!, words, { at: at + 1, wanted, changed })
        this.want(words[at]!, words, { at: at + 6, wanted, changed })
      }
    }
    this.wantRelabelled(blocks, wanted, changed)
    if (wanted.count > 0) await this.load(wanted)
    for (const slot of wanted.slots) if (slot >= 0) changed.push(slot)
    for (const slot of changed) {
      if (!this.is(slot, CHANGED)) this.changed.push(slot)
      this.mark(slot, CHANGED | USED)
    }
  }

  /** Notes a slot that will change: one that is here, or one that is made and has to be loaded. */
  private want(
    asset: number,
    words: Uint32Array,
    { at, wanted, changed }: { at: number; wanted: KeyList; changed: number[] },
  ): void {
    const { memory } = this.index
    const found = memory.find(asset, words, at)
    if (found >= 0) {
      if (!this.is(found, CHANGED)) changed.push(found)
      return
    }
    const slot = this.index.slot(asset, words, at)
    this.mark(slot, HERE | CHANGED)
    this.hot += 1
    wanted.add(this.index, slot)
  }

  /** Labels that begin or end in these blocks change the slots of their addresses, of every asset
   *  that they have moved. */
  private wantRelabelled(blocks: readonly LoggedBlock[], wanted: KeyList, changed: number[]): void {
    const { index } = this
    const last = blocks.at(-1)
    if (!last) return
    const addresses = new Set(index.changing(last.time_ms))
    for (const { freezes } of blocks) for (const { address } of freezes) addresses.add(address)
    for (const address of addresses) {
      const bytes = Buffer.from(address, 'hex')
      const words = addressWords(bytes)
      for (let asset = 0; asset < index.asset_count; asset++) {
        const found = index.memory.find(asset, words, 0)
        if (found < 0) wanted.addKey(asset, bytes)
        else if (!this.is(found, CHANGED)) changed.push(found)
      }
    }
  }

  /** Loads what is wanted. When that fails, what was made for it is dropped again. */
  private async load(wanted: KeyList): Promise<void> {
    const loading = this.loadKept(wanted.keys())
    this.loading = loading
    try {
      const found = await loading
      for (const [i, one] of found.entries()) {
        const key = wanted.key(i)
        let slot = wanted.slots[i]!
        if (!one && slot >= 0) this.mark(slot, UNSAVED)
        if (!one) continue
        if (slot < 0) {
          slot = this.index.slot(key[0]!, addressWords(key.subarray(1)))
          this.mark(slot, HERE)
          this.hot += 1
          wanted.slots[i] = slot
        }
        readRecord(this.index, slot, { ...one, key })
      }
      for (const slot of wanted.slots) if (slot >= 0) this.marks[slot]! &= ~CHANGED
    } catch (thrown) {
      for (const slot of wanted.slots) if (slot >= 0) this.drop(slot)
      throw this.noted(thrown)
    } finally {
      this.loading = undefined
    }
  }

  private async loadKept(keys: Uint8Array): Promise<(KeptSlot | undefined)[]> {
    try {
      return await this.kept.load(keys)
    } catch (thrown) {
      throw this.noted(thrown)
    }
  }

  /** Something that was thrown, by which the state can be seen to be broken. */
  private noted(thrown: unknown): unknown {
    this.broken ||= thrown instanceof BrokenState
    return thrown
  }

  private drop(slot: number): void {
    this.index.memory.drop(slot)
    this.index.counterparties.drop(slot)
    this.marks[slot] = 0
    this.hot -= 1
  }

  /** Saves what has changed, with the block; then drops slots when too many are hot. Until it has
   *  ended no block may be applied: what that changes could be dropped unsaved. */
  async save(block_id: string | undefined): Promise<void> {
    if (this.is_saved && block_id === this.saved_id) return
    const header = this.headerAt(block_id)
    await this.kept.save(this.entries(), header).catch((thrown) => {
      throw this.noted(thrown)
    })
    for (const slot of this.changed) this.marks[slot]! &= this.hasMoved(slot) ? ~NEWS : ~CHANGED
    this.changed = []
    this.kept_slots = header.slots
    this.saved_number = header.number
    this.saved_id = block_id
    if (this.is_full) await finished(this.cooling())
  }

  private headerAt(block_id: string | undefined): KeptHeader {
    const { index } = this
    let count = this.kept_slots
    for (const slot of this.changed) if (this.is(slot, UNSAVED) && this.hasMoved(slot)) count += 1
    return {
      identity: this.identity,
      number: index.block_number,
      time_ms: Number.isFinite(index.block_time_ms) ? index.block_time_ms : null,
      sequence: index.sequence,
      block_id,
      assets: index.asset_count,
      slots: count,
      freezes: index.freezes.map(({ token, address, from_ms, to_ms }) => [
        token,
        address,
        from_ms,
        Number.isFinite(to_ms) ? to_ms : null,
      ]),
    }
  }

  /** The slots that have changed, roughly by key: neighbours lie on one page of a file. */
  private *entries(): Generator<Entry> {
    const { index, changed } = this
    const { slots } = index.memory
    for (let from = 0; from < changed.length; from += SORTED) {
      const order = new Float64Array(Math.min(SORTED, changed.length - from))
      for (let i = 0; i < order.length; i++)
        order[i] = firstBytes(slots[changed[from + i]! * SLOT]!) * SORTED + i
      order.sort()
      for (const place of order) {
        const slot = changed[from + (place % SORTED)]!
        if (!this.hasMoved(slot)) continue
        const key = new Uint8Array(KEY)
        writeKey(index, slot, key)
        yield { key, ...writeRecord(index, slot, key) }
      }
    }
  }

  /** Drops slots that have not been used since the hand came by last, until few enough are hot. */
  private *cooling(): Generator<undefined> {
    const { memory } = this.index
    for (let looked = 0; this.hot > this.hot_slots * STAYS; looked++) {
      if (looked % DROPPED_AT_ONCE === 0) {
        yield
        // After the turn of others: who has looked in it must look again.
        this.version += 1
      }
      const slot = this.hand
      this.hand = slot + 1 >= memory.slot_count ? 0 : slot + 1
      if (!this.is(slot, HERE)) continue
      if (this.is(slot, USED)) this.marks[slot]! &= ~USED
      else this.drop(slot)
    }
    memory.mergeFree()
  }

  /** Reads what addresses (20 bytes) have of the assets that there are, all as of one block: `read`
   *  is called when the index is at it, with a look-up that answers for these. */
  async reading<T>(
    assets: () => readonly number[],
    addresses: readonly Uint8Array[],
    read: (holdingOf: HoldingOf) => T,
  ): Promise<T> {
    for (;;) {
      while (this.loading) await this.loading.catch(() => {})
      const { version } = this
      const cold = new KeyList()
      for (const address of addresses)
        for (const asset of assets())
          if (this.index.memory.find(asset, addressWords(address), 0) < 0)
            cold.addKey(asset, address)
      const found = cold.count > 0 ? await this.loadKept(cold.keys()) : []
      if (this.loading || this.version !== version) continue
      const known = new Map<string, Holding | undefined>()
      for (const [i, one] of found.entries())
        known.set(nameOf(cold.key(i)), one && this.lookAt({ ...one, key: cold.key(i) }))
      return read((asset, address) => {
        const slot = this.index.memory.find(asset, addressWords(address), 0)
        if (slot < 0) return known.get(nameOf([asset, ...address]))
        return this.hasMoved(slot) ? readSlot(this.index, slot) : undefined
      })
    }
  }

  /** A kept slot in words, without making it hot. */
  private lookAt(entry: Entry): Holding {
    return this.through(entry, (glass, slot) => readSlot(glass, slot))
  }

  private through<T>(entry: Entry, look: (glass: FlowIndex, slot: number) => T): T {
    const { glass } = this
    glass.period = this.index.period
    const slot = glass.slot(entry.key[0]!, addressWords(entry.key.subarray(1)))
    try {
      readRecord(glass, slot, entry)
      return look(glass, slot)
    } catch (thrown) {
      throw this.noted(thrown)
    } finally {
      glass.memory.drop(slot)
      glass.counterparties.drop(slot)
    }
  }

  /** Every slot, in the order of the keys, as it was saved last. `counted`: only those whose
   *  counterparties are counted. */
  async *all<T>(
    look: (index: FlowIndex, slot: number) => T,
    { counted = false }: { counted?: boolean } = {},
  ): AsyncGenerator<T[]> {
    let after: Uint8Array | undefined
    for (;;) {
      const entries = await this.kept.scan(after, { limit: SCANNED, counted }).catch((thrown) => {
        throw this.noted(thrown)
      })
      yield entries.map((entry) => this.through(entry, look))
      after = entries.at(-1)?.key
      if (!after) return
    }
  }

  /** The hash of the whole state, as it was saved last: that of an index which has all of it in
   *  memory. */
  async stateHash(): Promise<string> {
    const hash = createHash('sha256')
    for await (const lines of this.all(canonicalSlot)) for (const line of lines) hash.update(line)
    return hash.digest('hex')
  }

  /** Goes on as another state, which it is the same as: from the next save on. */
  async become(identity: string): Promise<void> {
    this.identity = identity
    this.saved_number = -1
    await this.save(this.saved_id)
  }

  /** Puts what was saved last under another name. */
  copyTo(name: string): Promise<void> {
    return this.kept.copyTo(name)
  }

  close(): Promise<void> {
    return this.kept.close()
  }
}

/** Keys to load, and the slots that were made for them; -1: none is made before it is found. */
class KeyList {
  readonly slots: number[] = []
  private bytes = new Uint8Array(64 * KEY)

  get count(): number {
    return this.slots.length
  }

  add(index: FlowIndex, slot: number): void {
    this.widen()
    writeKey(index, slot, this.bytes.subarray(this.count * KEY))
    this.slots.push(slot)
  }

  addKey(asset: number, address: Uint8Array): void {
    this.widen()
    this.bytes[this.count * KEY] = asset
    this.bytes.set(address, this.count * KEY + 1)
    this.slots.push(-1)
  }

  keys(): Uint8Array {
    return this.bytes.slice(0, this.count * KEY)
  }

  key(i: number): Uint8Array {
    return this.bytes.subarray(i * KEY, (i + 1) * KEY)
  }

  private widen(): void {
    if ((this.count + 1) * KEY <= this.bytes.length) return
    const wider = new Uint8Array(2 * this.bytes.length)
    wider.set(this.bytes)
    this.bytes = wider
  }
}

const nameOf = (key: ArrayLike<number>) => Buffer.from(Uint8Array.from(key)).toString('latin1')

/** The first bytes of an address, from its first word. */
const firstBytes = (word: number) =>
  ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0

function spellsOf({ freezes }: KeptHeader): FreezeSpell[] {
  return freezes.map(([token, address, from_ms, to_ms]) => ({
    token,
    address,
    from_ms,
    to_ms: to_ms ?? Number.POSITIVE_INFINITY,
  }))
}
