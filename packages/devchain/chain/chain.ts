// The chain itself: blocks, the pool of pending transactions, and the three states that can be read
// (head with pending, head, solid). Synchronous and without a clock: time passes only in blocks,
// and a block's transactions are executed at the time of its parent, as on the real chain. The same
// calls in the same order make the same blocks.

import { addCandidate } from '../contracts/candidates.ts'
import { endCycle } from '../contracts/rewards.ts'
import { countVotes } from '../contracts/witnesses.ts'
import { newAccount } from '../state/accounts.ts'
import { Calendar } from '../state/calendar.ts'
import type { ExecutionContext } from '../state/execution_context.ts'
import {
  BLOCK_MAX_BYTES,
  DAY_MS,
  defaultParameters,
  type Parameters,
  PENDING_MAX_MS,
  SLOT_MS,
} from '../state/parameters.ts'
import { Refusal } from '../state/refusal.ts'
import { HeadState, Layer, PastView, type View } from '../state/state.ts'
import {
  type BalanceChange,
  type Block,
  genesisParent,
  type IncludedTransaction,
  makeBlock,
  type Witness,
  witnessesOf,
} from './blocks.ts'
import { applyDecree, type Decree } from './decrees.ts'
import { type ChainFacts, executeTransaction, type Outcome } from './execution.ts'
import type { SignedTransaction } from './transactions.ts'

export type ChainOptions = {
  readonly genesis_time_ms: number
  readonly seed: string
  readonly solid_lag_blocks: number
  /** The genesis state. */
  readonly decrees: readonly Decree[]
  readonly parameters?: Partial<Parameters> | undefined
  readonly pending_max: number
  /** Absent: as many days as the parameter says. */
  readonly unfreeze_delay_ms?: number | undefined
  /** Blocks have any time after their parent's, and not that of a slot. */
  readonly wall_clock?: boolean | undefined
  /** Absent: a hash of the seed. */
  readonly genesis_parent_hash?: string | undefined
}

/** The votes of the first witness; each has one less than the one before. */
const VOTES_AT_GENESIS = 1_000_000_000n

/** The balances that a layer changes, as it finds them below. */
function balanceChanges({ below, changes }: Layer): BalanceChange[] {
  return Array.from(changes.account, ([address, account]) => {
    const before = below.read('account', address)?.balance ?? 0n
    return { address, sun: (account?.balance ?? 0n) - before }
  }).filter(({ sun }) => sun !== 0n)
}

/** Where a transaction stands in the chain. */
export type Place = { readonly block: number; readonly index: number }

/** Everything that changes the chain; the same inputs in the same order make the same chain. */
export type ChainInput =
  | { readonly kind: 'decree'; readonly decree: Decree }
  | { readonly kind: 'block'; readonly block: Block }
  | { readonly kind: 'reorganize'; readonly blocks: number }
  | { readonly kind: 'solid_lag'; readonly blocks: number }
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'restore'; readonly snapshot: number }

type PendingTransaction = {
  readonly transaction: SignedTransaction
  readonly since_ms: number
  /** No block before this time takes it: a fault. */
  readonly held_until_ms: number
}

/** Where a chain stood: what restoring it goes back to. */
type Snapshot = {
  readonly block: Block
  readonly solid: number
  readonly solid_lag: number
  readonly waiting: ReadonlyMap<string, PendingTransaction>
  readonly decrees: readonly Decree[]
}

export class Chain implements ChainFacts {
  readonly parameters: Parameters
  readonly witnesses: readonly Witness[]
  readonly calendar: Calendar
  readonly head_state = new HeadState()
  readonly pending_max: number
  readonly unfreeze_delay_ms: number
  readonly wall_clock: boolean
  private solid_lag: number
  /** Told of every input when all of its effect is there, so that it may put in the next. */
  onInput: (input: ChainInput) => void = () => {}
  private readonly blocks: Block[] = []
  private readonly places = new Map<string, Place>()
  private waiting = new Map<string, PendingTransaction>()
  private decrees: Decree[] = []
  private pending = new Layer(this.head_state)
  private readonly impersonated = new Set<string>()
  private snapshots: Snapshot[] = []
  /** Blocks up to this one have no undo any more. */
  private settled = 0
  private solid = 0
  private builds = 0
  private lag = 0
  private replaying = false

  constructor(options: ChainOptions) {
    this.parameters = { ...defaultParameters, ...options.parameters }
    this.witnesses = witnessesOf(options.seed)
    this.calendar = new Calendar(
      options.genesis_time_ms,
      this.parameters.getMaintenanceTimeInterval,
    )
    const genesis_ms = this.calendar.genesis_ms
    this.solid_lag = options.solid_lag_blocks
    this.pending_max = options.pending_max
    this.wall_clock = options.wall_clock ?? false
    this.unfreeze_delay_ms =
      options.unfreeze_delay_ms ?? this.parameters.getUnfreezeDelayDays * DAY_MS
    const state = new Layer(this.head_state)
    for (const { address } of this.witnesses) {
      state.write('account', address, { ...newAccount(address, genesis_ms), is_witness: true })
    }
    for (const [rank, { name, address }] of this.witnesses.entries()) {
      addCandidate(
        state,
        address,
        `http://${name.replace(' ', '-')}.invalid`,
        VOTES_AT_GENESIS - BigInt(rank),
      )
    }
    for (const decree of options.decrees) applyDecree(state, decree, this.rulesAt(genesis_ms))
    this.head_state.absorb(state)
    const header = {
      number: 0,
      timestamp: genesis_ms,
      parentHash: options.genesis_parent_hash ?? genesisParent(options.seed),
      witness_address: this.witnesses[0]!.address,
    }
    this.blocks.push(makeBlock(header, { transactions: [], decrees: [], undo: undefined }))
  }

  get head(): Block {
    return this.blocks.at(-1)!
  }

  get head_number(): number {
    return this.head.header.number
  }

  get head_time_ms(): number {
    return this.head.header.timestamp
  }

  get solid_block(): Block {
    return this.blocks[this.solid]!
  }

  /** How many blocks the solid block is behind the head. */
  get solid_lag_blocks(): number {
    return this.solid_lag
  }

  /** Takes effect with the next block; the solid block never moves back. */
  setSolidLag(blocks: number): void {
    this.solid_lag = blocks
    this.onInput({ kind: 'solid_lag', blocks })
  }

  blockId(number: number): string | undefined {
    return this.block(number)?.id
  }

  /** The block of a number, if there is one. */
  block(number: number): Block | undefined {
    return this.blocks[number]
  }

  hasTransaction(id: string): boolean {
    return this.places.has(id) || this.waiting.has(id)
  }

  trusts({ owner_address }: SignedTransaction): boolean {
    return this.replaying || this.impersonated.has(owner_address)
  }

  /** Lets transactions of an account pass without its signature, or no longer. */
  impersonate(address: string, allowed: boolean): void {
    if (allowed) this.impersonated.add(address)
    else this.impersonated.delete(address)
  }

  /** Makes readers see the chain some blocks behind its head, as on a node that lags. */
  setLag(blocks: number): void {
    this.lag = blocks
  }

  /** The newest block that readers see: the head, unless the node lags. */
  get seen_head(): Block {
    return this.blocks[Math.max(this.solid, this.head_number - this.lag)]!
  }

  /** Where a transaction stands in the chain; undefined while it is pending and when it is
   *  unknown. */
  placeOf(id: string): Place | undefined {
    return this.places.get(id)
  }

  /** The transactions that wait for a block, in the order in which they came. */
  pendingTransactions(): SignedTransaction[] {
    return Array.from(this.waiting.values(), ({ transaction }) => transaction)
  }

  pendingTransaction(id: string): SignedTransaction | undefined {
    return this.waiting.get(id)?.transaction
  }

  pendingSize(): number {
    return this.waiting.size
  }

  /** The state that `/wallet` reads: the head's, with everything pending done. */
  headView(): View {
    return this.lag === 0 ? this.pending : this.viewAt(this.seen_head.header.number)
  }

  /** The head's state with everything pending done, even where readers are made to lag. */
  pendingView(): View {
    return this.pending
  }

  /** The state that `/walletsolidity` reads. */
  solidView(): View {
    return this.viewAt(this.solid)
  }

  private viewAt(number: number): View {
    return new PastView(
      this.blocks.slice(number + 1).map(({ undo }) => undo!),
      this.head_state,
    )
  }

  /** A context over a layer of its own, at the time of the head. Whatever is done in it is gone
   *  with it. */
  context(view: View, building = false): ExecutionContext {
    return { ...this.rulesAt(this.head_time_ms, building), state: new Layer(view) }
  }

  /** The parameters at the time of a block. */
  rulesAt(now_ms: number, building = false): Omit<ExecutionContext, 'state'> {
    const { parameters, unfreeze_delay_ms } = this
    const slot = this.calendar.slotOf(now_ms)
    const cycle = this.calendar.cycleOf(now_ms)
    const none = { fee_limit_sun: 0n, transaction_id: '' }
    return { parameters, unfreeze_delay_ms, now_ms, slot, cycle, building, ...none }
  }

  get next_slot_time_ms(): number {
    return this.slotAt(0)
  }

  /** Counts the transactions that were built here. */
  nextBuild(): number {
    return this.builds++
  }

  /** Takes a transaction into the pending pool, or throws a Refusal. Blocks leave it there for
   *  `held_ms`. */
  broadcast(transaction: SignedTransaction, held_ms = 0): void {
    if (this.waiting.size > this.pending_max) throw new Refusal('SERVER_BUSY', 'too many pending')
    const context = this.context(this.pending)
    executeTransaction(context, this, transaction)
    this.pending.merge(context.state)
    this.waiting.set(transaction.id, {
      transaction,
      since_ms: this.head_time_ms,
      held_until_ms: this.head_time_ms + held_ms,
    })
  }

  /** Lets a decree hold at once; the next block takes it in. */
  decree(decree: Decree): void {
    applyDecree(this.pending, decree, this.rulesAt(this.head_time_ms))
    this.decrees.push(decree)
    this.onInput({ kind: 'decree', decree })
  }

  /** The time of the slot at or before a time, but after the head. On the wall clock the time
   *  itself, and at least a millisecond after the head: slots then only divide time for resources
   *  and witnesses. */
  slotAt(time_ms: number): number {
    const { calendar, head_time_ms, head_number } = this
    if (this.wall_clock) return Math.max(time_ms, head_time_ms + 1)
    const next = calendar.slotAfter(head_time_ms, this.block(head_number - 1)?.header.timestamp)
    return calendar.timeOf(Math.max(calendar.slotOf(time_ms), next))
  }

  /** Makes a block of what is pending. Pending transactions that have become invalid, or too old,
   *  are dropped without a word; those that do not fit wait on, and all of them do when the block
   *  is to be empty. */
  mine(time_ms: number = this.head_time_ms + SLOT_MS, empty = false): Block {
    const state = new Layer(this.head_state)
    this.applyDecrees(state)
    const { included, left } = this.fill(state, empty ? 0 : BLOCK_MAX_BYTES, this.slotAt(time_ms))
    const block = this.append(time_ms, state, included)
    this.waiting = new Map(left.map((waiting) => [waiting.transaction.id, waiting]))
    this.renewPending()
    this.onInput({ kind: 'block', block })
    return block
  }

  /** Makes a block of exactly these transactions, whose signatures were checked when the block was
   *  first made. Throws a Refusal when one does not execute. */
  replay(time_ms: number, transactions: readonly SignedTransaction[]): Block {
    const state = new Layer(this.head_state)
    this.applyDecrees(state)
    this.waiting.clear()
    this.replaying = true
    const included = transactions.map((transaction) => this.include(state, transaction))
    this.replaying = false
    const block = this.append(time_ms, state, included)
    this.renewPending()
    return block
  }

  /** Takes blocks back, the newest first. Their decrees and, unless they are to be lost, their
   *  transactions wait for a block again. Only blocks that are not solid yet can be taken back. */
  reorganize(count: number, drop_transactions: boolean): void {
    if (count > this.head_number - this.solid)
      throw new RangeError(`only ${this.head_number - this.solid} blocks are not solid`)
    const returned: SignedTransaction[] = []
    for (let taken = 0; taken < count; taken++) {
      const block = this.takeBack()
      this.decrees.unshift(...block.decrees)
      returned.unshift(...block.transactions.map(({ transaction }) => transaction))
    }
    if (!drop_transactions) {
      const back = returned.map((transaction) => ({
        transaction,
        since_ms: this.head_time_ms,
        held_until_ms: 0,
      }))
      this.waiting = new Map(
        [...back, ...this.waiting.values()].map((waiting) => [waiting.transaction.id, waiting]),
      )
    }
    this.renewPending()
    this.onInput({ kind: 'reorganize', blocks: count })
  }

  private takeBack(): Block {
    const block = this.blocks.pop()!
    this.head_state.restore(block.undo!)
    for (const { transaction } of block.transactions) this.places.delete(transaction.id)
    return block
  }

  /** Remembers where the chain stands. Returns the number to restore it by. */
  snapshot(): number {
    const { head: block, solid, solid_lag } = this
    this.snapshots.push({
      block,
      solid,
      solid_lag,
      waiting: new Map(this.waiting),
      decrees: [...this.decrees],
    })
    this.onInput({ kind: 'snapshot' })
    return this.snapshots.length
  }

  /** Goes back to a snapshot, solid blocks and all; it and the later ones are used up. Throws a
   *  RangeError when there is no such snapshot, or when a fork has replaced its block. */
  restore(snapshot: number): void {
    const found = this.snapshots[snapshot - 1]
    if (!found) throw new RangeError(`there is no snapshot ${snapshot}`)
    const { number } = found.block.header
    if (this.block(number) !== found.block)
      throw new RangeError(`a fork has replaced the block of snapshot ${snapshot}`)
    while (this.head_number > number) this.takeBack()
    this.solid = found.solid
    this.solid_lag = found.solid_lag
    this.waiting = new Map(found.waiting)
    this.decrees = [...found.decrees]
    this.snapshots = this.snapshots.slice(0, snapshot - 1)
    this.renewPending()
    this.onInput({ kind: 'restore', snapshot })
  }

  /** Replaces the newest blocks by one more of another branch, the first a slot later than the
   *  first that is lost: what a node sees of a fork. Throws a RangeError as reorganize() does. */
  fork(count: number, drop_transactions: boolean): Block {
    const first_lost = this.block(this.head_number - count + 1)
    const step_ms = this.wall_clock ? 1 : SLOT_MS
    this.reorganize(count, drop_transactions)
    this.mine(first_lost!.header.timestamp + step_ms)
    for (let made = 0; made < count; made++) this.mine(this.head_time_ms + step_ms)
    return this.head
  }

  private fill(
    state: Layer,
    room_bytes: number,
    time_ms: number,
  ): { included: IncludedTransaction[]; left: PendingTransaction[] } {
    const included: IncludedTransaction[] = []
    const left: PendingTransaction[] = []
    const closed = new Set<string>()
    let bytes = 0
    const candidates = [...this.waiting.values()]
    this.waiting = new Map()
    for (const waiting of candidates) {
      const { transaction } = waiting
      const held = waiting.held_until_ms > time_ms || closed.has(transaction.owner_address)
      if (held || bytes + transaction.bytes.length + 3 > room_bytes) {
        left.push(waiting)
        continue
      }
      const result = this.attempt(state, transaction)
      if (!result) continue
      included.push(result)
      bytes += transaction.bytes.length + 3
      // Anyone who changed permissions in a block does nothing else in it: the node's rule.
      if (transaction.contract_name === 'AccountPermissionUpdateContract')
        closed.add(transaction.owner_address)
    }
    return { included, left }
  }

  private attempt(state: Layer, transaction: SignedTransaction): IncludedTransaction | undefined {
    try {
      return this.include(state, transaction)
    } catch (error) {
      if (error instanceof Refusal) return undefined
      throw error
    }
  }

  private include(state: Layer, transaction: SignedTransaction): IncludedTransaction {
    const context = this.context(state)
    const outcome: Outcome = executeTransaction(context, this, transaction)
    const changes = balanceChanges(context.state)
    state.merge(context.state)
    return { transaction, outcome, changes }
  }

  private append(time_ms: number, state: Layer, transactions: IncludedTransaction[]): Block {
    const timestamp = this.slotAt(time_ms)
    const slot = this.calendar.slotOf(timestamp)
    const header = {
      number: this.head_number + 1,
      timestamp,
      parentHash: this.head.id,
      witness_address: this.witnesses[slot % this.witnesses.length]!.address,
    }
    if (this.calendar.maintains(this.head_time_ms, timestamp)) {
      endCycle(state, this.madeInCycle(header.witness_address), this.parameters)
      countVotes(state)
    }
    const block = makeBlock(header, {
      transactions,
      decrees: this.decrees,
      undo: this.head_state.absorb(state),
    })
    this.decrees = []
    this.blocks.push(block)
    transactions.forEach(({ transaction }, index) => {
      this.places.set(transaction.id, { block: header.number, index })
    })
    this.settle()
    return block
  }

  /** How many blocks each witness has made since the last maintenance, with one more by the witness
   *  of the block that does the next. */
  private madeInCycle(last_witness: string): Map<string, bigint> {
    const made = new Map([[last_witness, 1n]])
    for (let number = this.head_number; number > 0; number--) {
      const { timestamp, witness_address } = this.block(number)!.header
      if (this.calendar.maintains(this.block(number - 1)!.header.timestamp, timestamp)) break
      made.set(witness_address, (made.get(witness_address) ?? 0n) + 1n)
    }
    return made
  }

  /** Moves the solid block up; it never moves back. What no fork and no snapshot can take back
   *  needs no undo. */
  private settle(): void {
    this.solid = Math.max(this.solid, this.head_number - this.solid_lag)
    const final = Math.min(this.solid, ...this.snapshots.map(({ solid }) => solid))
    for (; this.settled < final; this.settled++) this.blocks[this.settled + 1]!.undo = undefined
  }

  /** Applies the decrees that no block has yet. */
  private applyDecrees(state: Layer): void {
    const moment = this.rulesAt(this.head_time_ms)
    for (const decree of this.decrees) applyDecree(state, decree, moment)
  }

  /** Executes what still waits on the new head. */
  private renewPending(): void {
    this.pending = new Layer(this.head_state)
    this.applyDecrees(this.pending)
    const candidates = [...this.waiting.values()]
    this.waiting = new Map()
    for (const waiting of candidates) {
      if (this.head_time_ms - waiting.since_ms > PENDING_MAX_MS) continue
      if (this.attempt(this.pending, waiting.transaction))
        this.waiting.set(waiting.transaction.id, waiting)
    }
  }
}
