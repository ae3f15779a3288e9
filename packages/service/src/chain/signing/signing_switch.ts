// The switch that stops signing. It is a row that every process reads with each batch, and its
// record: anyone who changes the row back leaves signing stopped until a record says otherwise,
// which cannot be written unseen. A file on a signing machine stops that machine, whatever the
// database says.

import type { Sql, Tx } from '../../platform/database/sql.ts'

export type SigningState = {
  stopped: boolean
  /** The last record about it. */
  since: Date | null
  by: string | null
  reason: string | null
  /** Whether the row and the record say the same. */
  recorded: boolean
}

export async function signingState(sql: Sql | Tx): Promise<SigningState> {
  const [[row], [last]] = await Promise.all([
    sql<{ stopped: boolean }>`select stopped from signing`,
    sql<{ stopped: boolean; made_at: Date; made_by: string; reason: string | null }>`
      select (after ->> 'stopped')::boolean as stopped, made_at, made_by, reason
        from operator_action
      where subject = 'signing' order by number desc limit 1`,
  ])
  const by_row = row?.stopped ?? true
  const by_record = last?.stopped ?? false
  return {
    stopped: by_row || by_record,
    since: last?.made_at ?? null,
    by: last?.made_by ?? null,
    reason: last?.reason ?? null,
    recorded: by_row === by_record,
  }
}

/** Turns the switch. Written also when the row was so already: the record, which the caller makes,
 *  decides as well. Returns whether signing was stopped before. */
export async function setSigning(
  tx: Tx,
  { stopped, changed_by }: { stopped: boolean; changed_by: string },
): Promise<boolean> {
  const before = await signingState(tx)
  await tx`
    insert into signing (stopped, changed_by) values (${stopped}, ${changed_by})
    on conflict (one) do update set stopped = excluded.stopped, changed_by = excluded.changed_by`
  return before.stopped
}
