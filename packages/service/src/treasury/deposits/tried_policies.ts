// Deposits under a policy that is not in force yet: how many it would hold. Levels are worked out
// from what was found of each, in cents.

import type { Sql } from '../../platform/database/sql.ts'
import { levelOfReading, type MoneyReading } from '../../screening/engine/money.ts'
import type { Policy } from '../../screening/engine/policy.ts'
import { BLOCKED, HIGH_RISK } from './deposits.ts'

export type TriedDeposits = {
  /** Those since a moment of which it was found out what money they were. */
  deposits: number
  /** Held for what screening says of them, as it was and as it would have been. */
  held: { before: number; after: number }
}

const PORTION = 2_000

export async function tryOnDeposits(
  sql: Sql,
  { policy, since }: { policy: Policy; since: Date },
): Promise<TriedDeposits> {
  const tried: TriedDeposits = { deposits: 0, held: { before: 0, after: 0 } }
  for (let place = { block: -1n, tx_id: '', position: 0 }; ; ) {
    const rows = await sql<{
      block_number: bigint
      tx_id: string
      position: number
      reason: string | null
      reading: MoneyReading
    }>`
      select d.block_number, d.tx_id, d.position, d.reason, s.reading
      from deposit as d join deposit_screening as s using (tx_id, position)
      where d.block_time >= ${since} and s.reading is not null
        and (d.block_number, d.tx_id, d.position)
          > (${place.block}, ${place.tx_id}, ${place.position}::integer)
      order by d.block_number, d.tx_id, d.position limit ${PORTION}`
    for (const { reason, reading } of rows) {
      const barred = reason === BLOCKED
      const high = levelOfReading(policy, reading) === 'high'
      const { hold_deposits_from: from } = policy
      tried.deposits += 1
      if (barred || reason === HIGH_RISK) tried.held.before += 1
      if (from !== 'none' && (barred || (from === 'high' && high))) tried.held.after += 1
    }
    const last = rows.at(-1)
    if (!last) return tried
    place = { block: last.block_number, tx_id: last.tx_id, position: last.position }
  }
}
