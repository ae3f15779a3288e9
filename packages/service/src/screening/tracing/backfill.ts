// The past: blocks from before the service began to follow, read from a node by height into the
// log, the newest first, so that the log is without gaps at every moment. Each block must be the
// parent of the one after it, down from one that the log has. The index is computed from the new
// beginning on when all of it is there; a run that was broken off goes on where it stopped.

import type { Address } from 'penstock-tron/address.ts'
import { contentsOf, type ReadBlock } from '../../chain/follow/contents.ts'
import type { Node } from '../../chain/node/node.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import { Outage, refusal } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { readFlowBasis, recordEarlier } from './flow_log.ts'
import { newestInput } from './generations.ts'

export type Needs = { sql: Sql; node: Node; tokens: ReadonlySet<Address> }

export type BackfillOutcome = { first_number: number; blocks: number; reach: number }

/** Called after each portion: the lowest block that the log has, and the one to reach. */
export type Progress = (reached: number, wanted: number) => void

/** Blocks of one run: with the one above them, as many as a node gives at once. Receipts are asked
 *  for block by block. */
export const PORTION = 99
/** Receipts asked for at a time: the node has others to serve. */
const AT_ONCE = 8

/** Reads blocks from `from_number` on, and has the index computed from there. Throws Refused
 *  when nothing is followed yet, the index begins earlier already, or the node's past is not that
 *  of the log; Outage when the node does not answer. */
export async function backfill(
  needs: Needs,
  wanted: { from_number: number; made_by: string; made_at: Date },
  progress: Progress = () => {},
): Promise<BackfillOutcome> {
  const { sql } = needs
  await requireEarlier(sql, wanted.from_number)
  const basis = await readFlowBasis(needs)
  let blocks = 0
  for (;;) {
    const lowest = await transferLog(sql).first()
    if (!lowest) throw refusal('Nothing is in the log yet: start the service first.')
    progress(lowest.number, wanted.from_number)
    if (lowest.number <= wanted.from_number) break
    const first = Math.max(wanted.from_number, lowest.number - PORTION)
    const earlier = await readEarlier(needs, first, lowest)
    blocks += earlier.length
    await sql.begin(async (tx) => {
      await tx`lock table flow_reach in exclusive mode`
      const now = await transferLog(tx).first()
      // Another run was here meanwhile.
      if (now?.number !== lowest.number) return
      await recordEarlier(tx, earlier, basis)
    })
  }
  return { ...(await setReach(sql, { ...wanted, reason: 'the past was read' })), blocks }
}

/** An index that began later than the one in use would forget what that knows; beyond the chain it
 *  would know nothing. */
async function requireEarlier(sql: Sql, from_number: number): Promise<void> {
  const first_number = (await newestInput(sql))?.first_number
  if (first_number !== undefined && from_number > first_number)
    throw refusal(`The index begins with block ${first_number} already.`)
}

type LowestBlock = { number: number; id: string }

/** The blocks from `first` to the one below the lowest. */
async function readEarlier({ node, tokens }: Needs, first: number, lowest: LowestBlock) {
  const blocks = await node.blocks(first, lowest.number, 'solid')
  if (blocks.length !== lowest.number - first + 1)
    throw new Outage(`the node lacks blocks from ${first} on`)
  if (blocks.at(-1)!.id !== lowest.id)
    throw refusal(`Block ${lowest.number} of this node is not that of the log.`)
  for (const [i, block] of blocks.entries()) {
    if (i > 0 && block.parent_id !== blocks[i - 1]!.id)
      throw refusal(`Block ${block.number} has another parent.`)
  }
  const read: ReadBlock[] = []
  for (let i = 0; i < blocks.length - 1; i += AT_ONCE) {
    const some = blocks.slice(i, Math.min(i + AT_ONCE, blocks.length - 1))
    const receipts = await Promise.all(some.map((block) => node.receipts(block, 'solid')))
    read.push(...some.map((block, j) => contentsOf(tokens, block, receipts[j]!)))
  }
  return read
}

/** Has the index computed anew, from a block on: the log has it. */
export async function setReach(
  sql: Sql,
  wanted: { from_number: number; made_by: string; made_at: Date; reason: string },
): Promise<{ first_number: number; reach: number }> {
  const { from_number, made_by, made_at, reason } = wanted
  const [row] = await sql<{ number: number; first_number: bigint }>`
    insert into flow_reach (first_number, made_at, made_by, reason)
    select greatest(${from_number}, (select first_number from flow_log_ends)), ${made_at},
      ${made_by}, ${reason}
    returning number, first_number`
  return { first_number: Number(row!.first_number), reach: row!.number }
}
