// The chain's state, in layers. The head state is the one at the head block; a layer above
// it holds only what changed (a transaction being tried, the pending pool, a block being made);
// what a layer replaced is kept as an undo, so that blocks can be taken back and the state at the
// solid block can be read. Nothing is ever copied whole.
//
// Records are never modified: a change writes a new record. So a layer can hand out what lies below
// it.

import type { Tables, Totals } from './records.ts'

type Changes = { readonly [Name in keyof Tables]: Map<string, Tables[Name] | undefined> }

const noChanges = (): Changes => ({
  account: new Map(),
  delegation: new Map(),
  partners: new Map(),
  totals: new Map(),
  token: new Map(),
  sample: new Map(),
  asset: new Map(),
  candidate: new Map(),
  earned: new Map(),
  register: new Map(),
  slot: new Map(),
})
export const tableNames = Object.keys(noChanges()) as (keyof Tables)[]

/** Something that can be read. */
export type View = {
  read<Name extends keyof Tables>(table: Name, key: string): Tables[Name] | undefined
}

/** Changes over a view, visible through this layer only until they are merged into what lies
 *  below. */
export class Layer implements View {
  readonly below: View
  readonly changes: Changes = noChanges()

  constructor(below: View) {
    this.below = below
  }

  read<Name extends keyof Tables>(table: Name, key: string): Tables[Name] | undefined {
    const changed = this.changes[table]
    return changed.has(key) ? changed.get(key) : this.below.read(table, key)
  }

  /** Writes a record; undefined deletes it. */
  write<Name extends keyof Tables>(
    table: Name,
    key: string,
    record: Tables[Name] | undefined,
  ): void {
    this.changes[table].set(key, record)
  }

  /** Makes the changes of a layer above this one its own. */
  merge(above: Layer): void {
    for (const table of tableNames) this.mergeTable(table, above)
  }

  private mergeTable<Name extends keyof Tables>(table: Name, above: Layer): void {
    for (const [key, record] of above.changes[table]) this.write(table, key, record)
  }
}

/** The records that a block replaced: undefined where it made a new one. */
export type Undo = Changes

/** The state at the head block. */
export class HeadState implements View {
  private readonly records: Changes = noChanges()

  read<Name extends keyof Tables>(table: Name, key: string): Tables[Name] | undefined {
    return this.records[table].get(key)
  }

  /** Takes over the changes of a layer, and returns what they replaced. */
  absorb(layer: Layer): Undo {
    return this.replace(layer.changes)
  }

  /** Puts back what a block had replaced. Blocks are taken back from the newest to the oldest. */
  restore(undo: Undo): void {
    this.replace(undo)
  }

  /** Every record of a table, in the order in which the records came into being. */
  entries<Name extends keyof Tables>(
    table: Name,
  ): IterableIterator<[string, Tables[Name] | undefined]> {
    return this.records[table].entries()
  }

  /** The number of records of a table. */
  count(table: keyof Tables): number {
    return this.records[table].size
  }

  private replace(changes: Changes): Undo {
    const undo = noChanges()
    for (const table of tableNames) this.replaceTable(table, changes, undo)
    return undo
  }

  private replaceTable<Name extends keyof Tables>(table: Name, changes: Changes, undo: Undo): void {
    const records: Map<string, Tables[Name] | undefined> = this.records[table]
    for (const [key, record] of changes[table]) {
      undo[table].set(key, records.get(key))
      if (record === undefined) records.delete(key)
      else records.set(key, record)
    }
  }
}

/** The state before some of the newest blocks: their undos, the oldest first, over the state at the
 *  head. */
export class PastView implements View {
  private readonly undos: readonly Undo[]
  private readonly head: View

  constructor(undos: readonly Undo[], head: View) {
    this.undos = undos
    this.head = head
  }

  read<Name extends keyof Tables>(table: Name, key: string): Tables[Name] | undefined {
    for (const undo of this.undos) if (undo[table].has(key)) return undo[table].get(key)
    return this.head.read(table, key)
  }
}

const noTotals: Totals = {
  net_weight: 0n,
  energy_weight: 0n,
  rest_net_weight: 0n,
  rest_energy_weight: 0n,
  burned_sun: 0n,
  issued_sun: 0n,
  reward_cycle: 0n,
}

export function totalsOf(view: View): Totals {
  return view.read('totals', '') ?? noTotals
}

/** Adds to the sums over all accounts. */
export function addTotals(state: Layer, added: Partial<Totals>): void {
  const totals: Record<string, bigint> = { ...totalsOf(state) }
  for (const [name, amount] of Object.entries(added)) totals[name] = totals[name]! + amount
  state.write('totals', '', totals as Totals)
}
