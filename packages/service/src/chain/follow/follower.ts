// Follows the chain: stores each block on the branch of the head, marks our transactions that are
// in it, and takes both back when a fork shows that the branch was another, or when other nodes
// show that a solid block is another (confirm.ts). What is confirmed is never taken back; if it
// would have to be, the follower stops, because then the nodes are lying or on another chain. With
// one node every solid block is confirmed.
//
// Readers of blocks (deposits, …) keep cursors of their own, and nothing here knows them.

import type { Address } from 'penstock-tron/address.ts'
import type { Clock } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Block, BlockHead, Node } from '../node/node.ts'
import { makeAttemptsSolid } from './attempts.ts'
import { storeBlock, takeBack } from './blocks.ts'
import { contentsOf, type ReadBlock } from './contents.ts'
import { CHAIN_COLUMNS, type ChainRow, type ChainState, chainOf } from './progress.ts'

/** `tokens`: the TRC20 contracts whose events are kept. */
export type Needs = { sql: Sql; clock: Clock; node: Node; tokens: ReadonlySet<Address> }

/** From one block to the next. */
const BLOCK_MS = 3_000
/** From one look to the next while a block is due. */
const LOOK_MS = 250
const EARLY_MS = 50
/** While the head stays the same, the solid side is asked, and the row written, no more often than
 *  this. */
const QUIET_MS = 4_000
/** So many blocks above the solid one as it was, the next block is none of the solid side yet. */
const UNSURE = 5
/** Blocks of one run: a catch-up goes in portions, and each portion is one transaction. */
const PORTION = 20
/** Blocks of one answer of the node: while it is taken apart nothing else of the process gets its
 *  turn. */
const AT_ONCE = 5
/** Blocks in which a fork is looked for at a time: hardly any is deeper. */
const FORK_PORTION = 50

/** It looks when the next block is due; while a transaction of ours waits for a block, all the
 *  time. */
export function followStep(needs: Needs): Step {
  const pace = chainPace(needs.clock)
  let rest_ms = LOOK_MS
  return {
    name: 'follow',
    rest_ms: BLOCK_MS,
    rest_now_ms: () => rest_ms,
    duty: 'chain',
    async run() {
      rest_ms = LOOK_MS
      const reading = readProgress(needs.sql)
      if (await followFrom(needs, reading)) return true
      const before = await reading
      if (!before) return false
      const due_ms = pace(before.head_number)
      if (!before.waits) rest_ms = Math.max(LOOK_MS, due_ms)
      return false
    },
  }
}

/** `waits`: a transaction of ours has not been seen in a block; `included`: one is in a block that
 *  is not confirmed. */
type Progress = ChainState & { waits: boolean; included: boolean }

async function readProgress(sql: Sql): Promise<Progress | undefined> {
  const [row] = await sql<ChainRow & { waits: boolean; included: boolean }>`
    select ${CHAIN_COLUMNS},
      exists (select from attempt where state in ('signed', 'sent')) as waits,
      exists (select from attempt where state = 'included') as included
    from chain`
  return row && { ...chainOf(row), waits: row.waits, included: row.included }
}

/** Told the number of the newest block, again and again, says in how many milliseconds the next one
 *  is due: as the last ones came, whatever their times say, and never after more than BLOCK_MS. */
export function chainPace(clock: Clock): (head_number: number) => number {
  let seen: { number: number; at_ms: number } | undefined
  let pace_ms = BLOCK_MS
  return (number) => {
    const now_ms = clock.now().getTime()
    if (seen === undefined || number !== seen.number) {
      const blocks = number - (seen?.number ?? number)
      if (seen && blocks > 0) pace_ms = Math.min(BLOCK_MS, (now_ms - seen.at_ms) / blocks)
      seen = { number, at_ms: now_ms }
    }
    // Every look comes a little early, so that they come nearer to the moment of the block until
    // one comes before it.
    return Math.min(BLOCK_MS, seen.at_ms + pace_ms - EARLY_MS - now_ms)
  }
}

/** Reads what the node has beyond the stored head. True when blocks were stored, taken back, or
 *  became solid. */
export const follow = (needs: Needs) => followFrom(needs, readProgress(needs.sql))

async function followFrom(needs: Needs, reading: Promise<Progress | undefined>): Promise<boolean> {
  const { sql, clock, node } = needs
  const [before, head] = await Promise.all([reading, node.head()])
  if (before?.head_id === head.id && clock.now().getTime() - before.seen_at.getTime() < QUIET_MS)
    return false
  const [solid, newest] = await Promise.all([
    node.solidHead(),
    before ? newestBlock(needs, before, head) : undefined,
  ])
  if (!before) return begin(needs, solid, head)
  const portion = await nextPortion(needs, before, { solid, head, newest })
  const forked = portion[0] !== undefined && portion[0].parent_id !== before.head_id
  const disagreeing = await disagrees(sql, before, solid)
  const keep = forked || disagreeing ? await forkPoint(needs, before) : before.head_number
  const taken_back = keep < before.head_number
  if ((forked || disagreeing) && !taken_back)
    throw new Outage('the nodes are on different branches')
  return sql.begin(async (tx) => {
    if (taken_back) {
      const [same] = await tx`select 1 from chain where head_id = ${before.head_id} for update`
      if (same) await takeBack(tx, keep)
      return true
    }
    const last = portion.at(-1)
    const head_number = last?.number ?? before.head_number
    // A head that the solid side has passed, and has not shown to be its own, stays unproven.
    const unproven = solid.number > before.head_number && last === undefined
    const reached = unproven ? before.solid_number : Math.min(solid.number, head_number)
    const solid_number = Math.max(before.solid_number, reached)
    // The fence against another process that follows too: the one that finds the head moved has
    // read in vain.
    const [same] = await tx`
      update chain set head_number = ${head_number}, head_id = ${last?.id ?? before.head_id},
        head_time = ${last?.time ?? before.head_time},
        solid_number = greatest(solid_number, ${solid_number}::bigint),
        behind = ${Math.max(0, head.number - head_number)}, seen_at = ${clock.now()},
        head_seen_at = ${last ? clock.now() : before.head_seen_at}
      where head_id = ${before.head_id} returning 1`
    if (!same) return true
    for (const block of portion) storeBlock(tx, block)
    // With one node nobody else is there to be asked, unless it was another that gave the blocks.
    if (node.names.length === 1 && solid_number > before.confirmed_number) {
      tx.send`
        update chain set confirmed_number = greatest(confirmed_number, least(solid_number, (
          select min(number) - 1 from block where number > confirmed_number
            and not read_from <@ ${[...node.names]}::text[])))`
      const solid_at_once = portion[0] !== undefined && portion[0].number <= solid_number
      if (before.included || solid_at_once) makeAttemptsSolid(tx)
    }
    return portion.length > 0 || solid_number > before.solid_number
  })
}

/** The first run starts at the solid block: what happened before is not this service's business. */
async function begin(needs: Needs, solid: BlockHead, head: BlockHead): Promise<boolean> {
  const { sql, clock, node } = needs
  const confirmed_number = node.names.length === 1 ? solid.number : solid.number - 1
  const [block] = await node.blocks(solid.number, solid.number, 'solid')
  if (!block) return false
  const first = contentsOf(needs.tokens, block, await node.receipts(block, 'solid'))
  await sql.begin(async (tx) => {
    const made = await tx`
      insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, behind,
        seen_at, head_seen_at)
      values (${first.number}, ${first.id}, ${first.time}, ${first.number}, ${confirmed_number},
              ${head.number - first.number}, ${clock.now()}, ${clock.now()})
      on conflict (one) do nothing returning 1`
    if (made.length > 0) storeBlock(tx, first)
  })
  return true
}

/** The one new block of the head, when that is sure to be what is read next: it costs no round trip
 *  of its own. */
async function newestBlock(
  { node, tokens }: Needs,
  at: ChainState,
  head: BlockHead,
): Promise<ReadBlock | undefined> {
  if (head.number !== at.head_number + 1 || at.head_number - at.solid_number < UNSURE)
    return undefined
  const found = await node.blockWithReceipts(head.number, 'head')
  return found && contentsOf(tokens, found.block, found.receipts)
}

type Ends = { solid: BlockHead; head: BlockHead; newest: ReadBlock | undefined }

/** The next blocks: from the solid side as far as that reaches, else from the head's. A run never
 *  mixes the two. */
async function nextPortion(
  { node, tokens }: Needs,
  at: ChainState,
  ends: Ends,
): Promise<ReadBlock[]> {
  const { solid, head, newest } = ends
  const first = at.head_number + 1
  const side = solid.number >= first ? 'solid' : 'head'
  if (side === 'head' && newest) return [newest]
  const last = Math.min(side === 'solid' ? solid.number : head.number, at.head_number + PORTION)
  const asked: Promise<Block[]>[] = []
  for (let from = first; from <= last; from += AT_ONCE)
    asked.push(node.blocks(from, Math.min(last, from + AT_ONCE - 1), side))
  const linked: Block[] = []
  for (const block of (await Promise.all(asked)).flat()) {
    const parent_id = linked.at(-1)?.id
    if (
      block.number !== first + linked.length ||
      (parent_id !== undefined && block.parent_id !== parent_id)
    )
      break
    linked.push(block)
  }
  return Promise.all(
    linked.map(async (block) => contentsOf(tokens, block, await node.receipts(block, side))),
  )
}

/** Whether the solid chain has another block where ours is stored. */
async function disagrees(sql: Sql, at: ChainState, solid: BlockHead): Promise<boolean> {
  if (solid.number > at.head_number || solid.number <= at.solid_number) return false
  const [ours] = await sql<{ id: string }>`select id from block where number = ${solid.number}`
  return ours !== undefined && ours.id !== solid.id
}

/** The highest stored block that the node's branch still has. Below the solid one that is so only
 *  when nodes disagree. */
async function forkPoint({ sql, node }: Needs, at: ChainState): Promise<number> {
  for (let last = at.head_number; last > at.confirmed_number; last -= FORK_PORTION) {
    const first = Math.max(at.confirmed_number + 1, last - FORK_PORTION + 1)
    const ours = await sql<{ number: bigint; id: string }>`
      select number, id from block where number between ${first} and ${last} order by number desc`
    const theirs = new Map(
      (await node.blocks(first, last, 'head')).map((block) => [block.number, block.id]),
    )
    for (const { number, id } of ours) if (theirs.get(Number(number)) === id) return Number(number)
  }
  return at.confirmed_number
}
