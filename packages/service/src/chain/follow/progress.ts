// How far the chain has been followed, as this database has it.

import type { Clock } from '../../lib/clock.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

/** Times are those of the blocks. By our own clock are `seen_at`, when a node last answered, and
 *  `head_seen_at`, when the newest block came. */
export type ChainState = {
  head_number: number
  head_id: string
  head_time: Date
  solid_number: number
  /** Up to here a second node says what the first one did; with one node, the solid block. */
  confirmed_number: number
  /** Since when solid blocks wait for that, by our clock. */
  unconfirmed_since: Date | null
  /** The block about which the nodes disagree. */
  disputed_number: number | null
  /** Blocks that the node had beyond ours when it last answered. */
  behind: number
  seen_at: Date
  head_seen_at: Date
}

/** A node that was not heard of for this long says nothing about now. */
const STALE_MS = 30_000
/** Twenty blocks are due in this time: a chain that makes none takes nothing either. */
const STILL_MS = 60_000
/** Further behind than this, what we have followed says nothing about now either. */
const BEHIND_MAX = 5

/** As the database has it. */
export type ChainRow = Omit<ChainState, Numbers> &
  Record<Exclude<Numbers, 'disputed_number'>, bigint> & { disputed_number: bigint | null }
type Numbers = 'head_number' | 'solid_number' | 'confirmed_number' | 'disputed_number'

export const CHAIN_COLUMNS = columnsOf<ChainRow>()([
  'head_number',
  'head_id',
  'head_time',
  'solid_number',
  'confirmed_number',
  'unconfirmed_since',
  'disputed_number',
  'behind',
  'seen_at',
  'head_seen_at',
])

/** Undefined before the first block is stored. */
export async function chainState(sql: Sql | Tx): Promise<ChainState | undefined> {
  const [row] = await sql<ChainRow>`select ${CHAIN_COLUMNS} from chain`
  return row && chainOf(row)
}

export const chainOf = (row: ChainRow): ChainState => ({
  ...row,
  head_number: Number(row.head_number),
  solid_number: Number(row.solid_number),
  confirmed_number: Number(row.confirmed_number),
  disputed_number: row.disputed_number === null ? null : Number(row.disputed_number),
})

/** Whether it says nothing about now: no node was heard of, or blocks are missing. */
export function isStale({ behind, seen_at }: ChainState, clock: Clock): boolean {
  return behind > BEHIND_MAX || clock.now().getTime() - seen_at.getTime() > STALE_MS
}

/** Whether something may be signed on the strength of it: it is not stale, and the chain goes
 *  on. */
export function isCurrent(chain: ChainState | undefined, clock: Clock): chain is ChainState {
  if (chain === undefined || isStale(chain, clock)) return false
  return clock.now().getTime() - chain.head_seen_at.getTime() <= STILL_MS
}

/** Whether something may be sold on the strength of it: it is current, and the nodes are of one
 *  mind. */
export function isAgreed(chain: ChainState | undefined, clock: Clock): chain is ChainState {
  return isCurrent(chain, clock) && chain.disputed_number === null
}

export type ChainReport = ChainState & {
  /** By our clock, since a node last answered. */
  silent_seconds: number
  /** By our clock and the time of the newest block; below 0 when the chain is ahead. */
  behind_seconds: number
  blocks_to_solid: number
  readers: { name: string; number: bigint; behind_blocks: bigint }[]
}

/** How far the chain has been followed, and by whom. Undefined before the first block. */
export async function showChain(sql: Sql, now: Date): Promise<ChainReport | undefined> {
  const chain = await chainState(sql)
  if (!chain) return undefined
  const readers = await sql<ChainReport['readers'][number]>`
    select name, number, greatest(confirmed_number - number, 0) as behind_blocks from cursor, chain
      order by name`
  const since = (at: Date) => Math.round((now.getTime() - at.getTime()) / 1_000)
  return {
    ...chain,
    silent_seconds: Math.max(0, since(chain.seen_at)),
    behind_seconds: since(chain.head_time),
    blocks_to_solid: chain.head_number - chain.solid_number,
    readers,
  }
}
