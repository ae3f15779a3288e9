// Follows the chain: stores each block on the branch of the head, marks our transactions that are
// in it, and takes both back when a fork shows that the branch was another, or when other nodes
// show that a solid block is another (confirm.ts). What is confirmed is never taken back; if it
// would have to be, the follower stops, because then the nodes are lying or on another chain. With
// one node every solid block is confirmed.
//
// Readers of blocks (deposits, …) keep cursors of their own, and nothing here knows them.

import type { Address } from 'penstock-tron/address.ts'
import type { Sql, Tx } from '../database/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { Outage } from '../lib/fault.ts'
import type { Block, BlockHead, Node } from '../node/node.ts'
import type { Step } from '../steps/step.ts'
import { includeAttempts, settleAttempts, uncoverAttempts } from './attempts.ts'
import {
  type Contents,
  contentsOf,
  outcomesSum,
  type Packed,
  pack,
  type ReadBlock,
  unpack,
} from './contents.ts'
import { type ChainState, chainState } from './progress.ts'

/** `tokens`: the TRC20 contracts whose events are kept. */
export type Needs = { sql: Sql; clock: Clock; node: Node; tokens: ReadonlySet<Address> }

/** While the head stays the same, the solid side is asked, and the row written, no more often than
 *  this. */
const QUIET_MS = 2_000
/** So many blocks above the solid one as it was, the next block is none of the solid side yet. */
const UNSURE = 5
/** Blocks of one run: a catch-up goes in portions, and each portion is one transaction. */
const PORTION = 20
/** Blocks of one answer of the node: while it is taken apart nothing else of the process gets its
 *  turn. */
const AT_ONCE = 5
/** Blocks in which a fork is looked for at a time: hardly any is deeper. */
const FORK_PORTION = 50
/** Blocks kept below the slowest reader, for looking things up and for forks. */
const KEPT = 2_000

export function followStep(needs: Needs): Step {
  return {
    name: 'follow',
    rest_ms: 250,
    run: () => follow(needs),
  }
}

/** Reads what the node has beyond the stored head. True when blocks were stored, taken back, or
 *  became solid. */
export async function follow(needs: Needs): Promise<boolean> {
  const { sql, clock, node } = needs
  const [before, head] = await Promise.all([chainState(sql), node.head()])
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
    // The fence against another process that follows too: whoever finds the head moved has read in
    // vain.
    const [same] = await tx`select 1 from chain where head_id = ${before.head_id} for update`
    if (!same) return true
    if (taken_back) {
      await takeBack(tx, keep)
      return true
    }
    for (const block of portion) store(tx, block)
    const last = portion.at(-1)
    const head_number = last?.number ?? before.head_number
    // A head that the solid side has passed, and has not shown to be its own, stays unproven.
    const unproven = solid.number > before.head_number && last === undefined
    const reached = unproven ? before.solid_number : Math.min(solid.number, head_number)
    const solid_number = Math.max(before.solid_number, reached)
    tx.send`
      update chain set head_number = ${head_number}, head_id = ${last?.id ?? before.head_id},
        head_time = ${last?.time ?? before.head_time},
          solid_number = greatest(solid_number, ${solid_number}::bigint),
        behind = ${Math.max(0, head.number - head_number)}, seen_at = ${clock.now()},
        head_seen_at = ${last ? clock.now() : before.head_seen_at}`
    // With one node nobody else is there to be asked, unless it was another that gave the blocks.
    if (node.names.length === 1 && solid_number > before.confirmed_number) {
      tx.send`
        update chain set confirmed_number = greatest(confirmed_number, least(solid_number, (
          select min(number) - 1 from block where number > confirmed_number and not read_from <@ ${[...node.names]}::text[])))`
      settleAttempts(tx)
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
    if (made.length > 0) store(tx, first)
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
  if (last < first) return []
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

/** Forgets the blocks above `keep`, as if they had never been seen: what was in them may be in
 *  others. */
export async function takeBack(tx: Tx, keep: number): Promise<void> {
  const [top] = await tx<{ id: string; time: Date; confirmed_number: bigint }>`
    select block.id, block.time, chain.confirmed_number from block, chain where number = ${keep}`
  if (!top) return beginAgain(tx, keep)
  if (keep < Number(top.confirmed_number))
    throw new Error(`the confirmed block below ${keep} is not the node's`)
  await tx`delete from block where number > ${keep}`
  await tx`
    update chain set head_number = ${keep}, head_id = ${top.id}, head_time = ${top.time},
      solid_number = least(solid_number, ${keep}::bigint)`
  await tx`update cursor set number = ${keep} where number > ${keep}`
  await uncoverAttempts(tx, keep)
}

/** The very first block was a lie: then nothing was ever confirmed, and another first run is
 *  due. */
async function beginAgain(tx: Tx, keep: number): Promise<void> {
  const before = await tx`select 1 from block where number <= ${keep}`
  if (before.length > 0) throw new Error(`the block ${keep} is missing`)
  await tx`delete from block`
  await tx`delete from cursor`
  await tx`delete from chain`
  await uncoverAttempts(tx, keep)
}

function store(tx: Tx, block: ReadBlock): void {
  tx.send`
    insert into block (number, id, parent_id, time, contents, read_from, outcomes_sha256)
    values (${block.number}, ${block.id}, ${block.parent_id}, ${block.time}, ${pack(block.contents)},
            ${[...block.read_from].sort()}::text[], ${outcomesSum(block)})`
  // The receipts' giver came last.
  const giver = [...block.read_from].at(-1)
  if (block.hidden_in !== undefined && giver !== undefined) {
    noteHiding(tx, { node: giver, number: block.number, tx_id: block.hidden_in, time: block.time })
  }
  includeAttempts(tx, block)
}

/** A node does not show what contracts send. */
export function noteHiding(
  tx: Tx,
  seen: { node: string; number: number; tx_id: string; time: Date },
): void {
  tx.send`
    insert into node_hiding (node, number, tx_id, seen_at)
    values (${seen.node}, ${seen.number}, ${seen.tx_id}, ${seen.time})
    on conflict (node) do update set number = excluded.number, tx_id = excluded.tx_id, seen_at = excluded.seen_at`
}

export type StoredBlock = { number: number; id: string; time: Date; contents: Contents }

/** Hands the blocks after the cursor to `work`, oldest first, and moves the cursor, all in the
 *  transaction given, whatever crashes. Returns false when there is none. A cursor begins at the
 *  oldest block that is kept when it is first used. A block of the solid side is read exactly once;
 *  one of the head's side is read again, as it then is, when a fork takes it back. */
export async function readBlocks(
  tx: Tx,
  reader: { name: string; side: 'head' | 'solid' },
  work: (blocks: StoredBlock[]) => Promise<void>,
): Promise<boolean> {
  const { name, side } = reader
  const at = await lockCursor(tx, name)
  if (at === undefined) return false
  const rows = await tx<Row>`
    select number, id, time, contents from block
    where number > ${at}
      and number <= (select case when ${side} = 'head' then head_number else confirmed_number end
        from chain)
    order by number limit ${PORTION}`
  const last = rows.at(-1)
  if (!last) return false
  await work(rows.map(unpackRow))
  await tx`update cursor set number = ${last.number} where name = ${name}`
  return true
}

/** The last block that a reader has read; undefined before its first. */
export async function readCursor(sql: Sql | Tx, name: string): Promise<bigint | undefined> {
  const [row] = await sql<{ number: bigint }>`select number from cursor where name = ${name}`
  return row?.number
}

/** Where a reader stands, which nobody else moves until the transaction ends. Undefined before the
 *  first block is stored. */
async function lockCursor(tx: Tx, name: string): Promise<bigint | undefined> {
  const [known] = await tx<{
    number: bigint
  }>`select number from cursor where name = ${name} for update`
  if (known) return known.number
  const [made] = await tx<{ number: bigint }>`
    insert into cursor (name, number) select ${name}, (select min(number) - 1 from block) from chain
    on conflict (name) do nothing returning number`
  return made?.number
}

type Row = { number: bigint; id: string; time: Date; contents: Packed }

const unpackRow = (row: Row): StoredBlock => ({
  ...row,
  number: Number(row.number),
  contents: unpack(row.contents),
})

/** Those blocks of the given numbers that are kept. */
export async function blocksAt(tx: Tx, numbers: readonly bigint[]): Promise<StoredBlock[]> {
  const rows =
    await tx<Row>`select number, id, time, contents from block where number = any(${numbers}::bigint[])`
  return rows.map(unpackRow)
}

/** The confirmed block among those that are kept which has the transaction; undefined when none
 *  has. */
export async function keptBlockWith(
  sql: Sql | Tx,
  tx_id: string,
): Promise<StoredBlock | undefined> {
  const [row] = await sql<Row>`
    select number, id, time, contents from block
    where number <= (select confirmed_number from chain) and strpos(contents::text, ${tx_id}) > 0
    order by number desc limit 1`
  return row && unpackRow(row)
}

/** readBlocks() of the solid side, as far as it is confirmed. */
export function readSolidBlocks(
  tx: Tx,
  name: string,
  work: (blocks: StoredBlock[]) => Promise<void>,
): Promise<boolean> {
  return readBlocks(tx, { name, side: 'solid' }, work)
}

/** Forgets blocks that every reader has passed long ago. */
export function pruneStep({ sql }: Pick<Needs, 'sql'>): Step {
  return {
    name: 'prune',
    rest_ms: 60_000,
    async run() {
      const gone = await sql`
        delete from block where number in (
          select number from block
          where number < least((select min(number) from cursor), (select confirmed_number
            from chain)) - ${KEPT}::bigint
          order by number limit 5000)
        returning number`
      return gone.length > 0
    },
  }
}
