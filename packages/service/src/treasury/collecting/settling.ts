// The ends of collections' transfers: what the reader of deposits has seen leave deposit addresses
// is looked up in its block, and what has expired is dead when it never left.

import { isDead, type LateAttempt } from '../../chain/follow/attempts.ts'
import { blocksAt, type StoredBlock } from '../../chain/follow/blocks.ts'
import { contentsOf } from '../../chain/follow/contents.ts'
import type { Node } from '../../chain/node/node.ts'
import { type Clock, later } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { eachRow, type Step } from '../../platform/steps/step.ts'
import {
  buryTransfers,
  type CollectionTransfer,
  endTransfer,
  postponeTransfers,
  TRANSFER_COLUMNS,
} from './collections.ts'

export type Needs = { sql: Sql; clock: Clock; node: Node }

const AT_ONCE = 50
const AGAIN_MS = 5_000

type LeftTransfer = CollectionTransfer & { receiver: string; left_in: bigint; left_fee_sun: bigint }

/** made -> collected | failed: a confirmed block has them, and what the network took is known. */
export function collectedStep(needs: Needs): Step {
  const { sql, clock } = needs
  return {
    name: 'collected',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from collection_transfer as t join deposit_outflow as o on o.tx_id = t.tx_id
      where t.state = 'made' and o.fee_sun is not null and t.due_at <= ${clock.now()}`,
    duty: 'blocks',
    after: ['credit', 'holdings'],
    async run() {
      const left = await sql<LeftTransfer>`
        select t.${TRANSFER_COLUMNS}, c.receiver, o.block_number as left_in,
          o.fee_sun as left_fee_sun
        from collection_transfer as t join deposit_outflow as o on o.tx_id = t.tx_id
          join collection as c on c.id = t.collection_id
        where t.state = 'made' and o.fee_sun is not null and t.due_at <= ${clock.now()}
        order by o.block_number, t.tx_id limit ${AT_ONCE}`
      return eachRow(
        left,
        (one) => end(needs, one),
        ({ tx_id }) => postponeTransfers(sql, [tx_id], later(clock, AGAIN_MS)),
      )
    },
  }
}

async function end(needs: Needs, transfer: LeftTransfer): Promise<boolean> {
  const { sql, clock } = needs
  const { tx_id, token, address, receiver, left_in, left_fee_sun } = transfer
  const block = await blockOf(needs, transfer)
  const { moves, unfollowed } = block.contents
  const moved = [...moves, ...unfollowed]
    .filter((one) => one.tx_id === tx_id && one.asset === (token ?? 'TRX'))
    .filter(({ from, to }) => from === address && to === receiver)
    .reduce((sum, { amount }) => sum + amount, 0n)
  const ending = { tx_id, moved, fee_sun: left_fee_sun, block_number: left_in }
  return sql.begin((tx) => endTransfer(tx, ending, clock.now()))
}

/** The block as it is kept here, else as a node has it. */
async function blockOf({ sql, node }: Needs, { left_in }: LeftTransfer): Promise<StoredBlock> {
  const [kept] = await sql.begin((tx) => blocksAt(tx, [left_in]))
  if (kept) return kept
  const found = await node.blockWithReceipts(Number(left_in), 'solid')
  if (!found) throw new Error(`no node has the block ${left_in}`)
  return contentsOf(new Set(), found.block, found.receipts)
}

/** made -> dead: expired before a confirmed block that is read, and on no node's solid chain. */
export function expireStep({ sql, clock, node }: Needs): Step {
  return {
    name: 'expire_collections',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from collection_transfer as t
      where state = 'made' and due_at <= ${clock.now()}
        and expires_at <= (select time from block, chain where number = confirmed_number - 1)
        and (select number from cursor where name = 'deposits')
          >= (select confirmed_number from chain)
        and not exists (select 1 from deposit_outflow where tx_id = t.tx_id)`,
    duty: 'blocks',
    after: ['credit'],
    async run() {
      const late = await sql<LateAttempt>`
        select t.tx_id as id, t.tx_id, confirmed_number
        from collection_transfer as t, chain
        where state = 'made' and due_at <= ${clock.now()}
          and expires_at <= (select time from block where number = confirmed_number - 1)
          and (select number from cursor where name = 'deposits') >= confirmed_number
          and not exists (select 1 from deposit_outflow where tx_id = t.tx_id)
        order by expires_at, t.tx_id limit ${AT_ONCE}`
      return eachRow(
        late,
        (one) => judge({ sql, clock, node }, one),
        ({ tx_id }) => postponeTransfers(sql, [tx_id], later(clock, AGAIN_MS)),
      )
    },
  }
}

async function judge({ sql, clock, node }: Needs, late: LateAttempt): Promise<boolean> {
  const { tx_id, confirmed_number } = late
  if (await isDead(node, late)) return buryTransfers(sql, [tx_id], clock.now())
  // A node has it, and the reader of blocks has seen nothing leave: a call that had no energy.
  const where = await node.whereabouts(tx_id)
  if (where.found === 'solid' && BigInt(where.block_number) <= confirmed_number) {
    const fee_sun = (await node.feeOf(tx_id)) ?? 0n
    const ending = { tx_id, moved: 0n, fee_sun, block_number: BigInt(where.block_number) }
    return sql.begin((tx) => endTransfer(tx, ending, clock.now()))
  }
  await postponeTransfers(sql, [tx_id], later(clock, AGAIN_MS))
  return false
}
