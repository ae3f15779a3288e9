// The blocks that are stored: those of the branch of the head, from the slowest reader's on. A fork
// takes back what is not confirmed. What is confirmed is never taken back: if it would have to be,
// that is a throw, because then the nodes are lying or on another chain.

import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { includeAttempts, revertAttempts } from './attempts.ts'
import {
  type Contents,
  outcomesSum,
  type PackedContents,
  pack,
  type ReadBlock,
  unpack,
} from './contents.ts'

/** Blocks kept below the slowest reader, for looking things up and for forks. */
const KEPT = 2_000

/** Forgets the blocks above `keep`, as if they had never been seen: what was in them may be in
 *  others. Readers that are at work end before, and others begin after: one that had read a block
 *  which goes now would move its cursor past it later, and never read the one in its place. */
export async function takeBack(tx: Tx, keep: number): Promise<void> {
  await tx`lock table cursor in exclusive mode`
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
  await revertAttempts(tx, keep)
}

/** The very first block was a lie: then nothing was ever confirmed, and another first run is
 *  due. */
async function beginAgain(tx: Tx, keep: number): Promise<void> {
  const before = await tx`select 1 from block where number <= ${keep}`
  if (before.length > 0) throw new Error(`the block ${keep} is missing`)
  await tx`delete from block`
  await tx`delete from cursor`
  await tx`delete from chain`
  await revertAttempts(tx, keep)
}

/** Stores a block, and marks our transactions in it. */
export function storeBlock(tx: Tx, block: ReadBlock): void {
  tx.send`
    insert into block (number, id, parent_id, time, contents, read_from, outcomes_sha256)
    values (${block.number}, ${block.id}, ${block.parent_id}, ${block.time},
            ${pack(block.contents)},
            ${[...block.read_from].sort()}::text[], ${outcomesSum(block)})`
  // The receipts' giver came last.
  const giver = [...block.read_from].at(-1)
  if (block.hidden_in !== undefined && giver !== undefined) {
    noteHiding(tx, { node: giver, number: block.number, tx_id: block.hidden_in, time: block.time })
  }
  includeAttempts(tx, block, block.receipts)
}

/** A node does not show what contracts send. */
export function noteHiding(
  tx: Tx,
  seen: { node: string; number: number; tx_id: string; time: Date },
): void {
  tx.send`
    insert into node_hiding (node, number, tx_id, seen_at)
    values (${seen.node}, ${seen.number}, ${seen.tx_id}, ${seen.time})
    on conflict (node) do update set number = excluded.number, tx_id = excluded.tx_id,
      seen_at = excluded.seen_at`
}

export type StoredBlock = { number: number; id: string; time: Date; contents: Contents }

export type BlockRow = { number: bigint; id: string; time: Date; contents: PackedContents }

export const unpackRow = (row: BlockRow): StoredBlock => ({
  ...row,
  number: Number(row.number),
  contents: unpack(row.contents),
})

/** Those blocks of the given numbers that are kept. */
export async function blocksAt(tx: Tx, numbers: readonly bigint[]): Promise<StoredBlock[]> {
  const rows = await tx<BlockRow>`
      select number, id, time, contents from block where number = any(${numbers}::bigint[])`
  return rows.map(unpackRow)
}

/** The confirmed block among those that are kept which has the transaction; undefined when none
 *  has. */
export async function keptBlockWith(
  sql: Sql | Tx,
  tx_id: string,
): Promise<StoredBlock | undefined> {
  const [row] = await sql<BlockRow>`
    select number, id, time, contents from block
    where number <= (select confirmed_number from chain) and strpos(contents::text, ${tx_id}) > 0
    order by number desc limit 1`
  return row && unpackRow(row)
}

/** Forgets blocks that every reader has passed long ago. */
export function pruneStep({ sql }: { sql: Sql }): Step {
  return {
    name: 'prune',
    rest_ms: 60_000,
    duty: 'upkeep',
    due: (sql) => sql`
      select where (select min(number) from block) < least(
        (select min(number) from cursor), (select confirmed_number from chain)) - ${KEPT}::bigint`,
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
