// The books' check: everything that the ledger keeps is computed again from its rows and compared.
// It only reads.

import type { Sql, Tx } from '../../platform/database/sql.ts'

export type Finding = { rule: string; subject: string; found: string }

/** An account as it is kept and as its rows add up. */
export type AccountSum = {
  id: string
  /** False: transfers name it, and it does not exist. */
  exists: boolean
  /** The system's own accounts keep no sum. */
  keeps_sum: boolean
  kept_posted_sun: bigint
  kept_held_sun: bigint
  posted_sun: bigint
  held_sun: bigint
}

/** Every account, worked out from its rows. */
export async function accountSums(sql: Sql | Tx): Promise<AccountSum[]> {
  return sql<AccountSum>`
    with flow as (
      select kind, debit, credit, sum(amount_sun) as sun from transfer group by kind, debit, credit
    ), side as (
      select debit as id, -sun as posted, 0 as held from flow where kind in ('move', 'capture')
      union all
      select credit, sun, 0 from flow where kind in ('move', 'capture')
      union all
      select hold.debit, 0, sum(hold.amount_sun) from transfer as hold
      where hold.kind = 'hold' and not exists (select 1 from transfer as r
        where r.hold_id = hold.id) group by hold.debit
    ), sums as (
      select id, sum(posted)::bigint as posted, sum(held)::bigint as held from side group by id
    )
    select id, account.id is not null as exists, not coalesce(may_go_negative, true) as keeps_sum,
           coalesce(account.posted_sun, 0) as kept_posted_sun, coalesce(account.held_sun,
             0) as kept_held_sun,
           coalesce(sums.posted, 0) as posted_sun, coalesce(sums.held, 0) as held_sun
    from account full join sums using (id) order by id`
}

/** What does not hold, empty when all does; of resolutions only those after an entry when one is
 *  given. Rules: every kept sum equals the sum of its rows; every
 *  capture and release resolves a hold between the same accounts for no more than it set aside;
 *  every account that a transfer names exists. */
export async function checkBooks(
  sql: Sql | Tx,
  sums?: readonly AccountSum[],
  after: bigint | null = null,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const one of sums ?? (await accountSums(sql))) {
    const { id, kept_posted_sun, kept_held_sun, posted_sun, held_sun } = one
    if (!one.exists)
      findings.push({ rule: 'accounts exist', subject: id, found: 'no such account' })
    if (!one.keeps_sum || (kept_posted_sun === posted_sun && kept_held_sun === held_sun)) continue
    // Told by the difference, which stays the same while the account is used.
    const found =
      `kept ${kept_posted_sun - posted_sun} sun posted and ${kept_held_sun - held_sun} held ` +
      'more than the rows say'
    findings.push({ rule: 'kept sums equal the rows', subject: id, found })
  }
  const resolutions = await sql<Finding>`
    select 'a hold is resolved between its own accounts' as rule, r.id as subject,
           format('%s of %s', r.amount_sun, hold.amount_sun) as found
    from transfer as r join transfer as hold on hold.id = r.hold_id
    where (${after}::bigint is null or r.number > ${after})
      and (hold.kind <> 'hold' or r.debit <> hold.debit or r.credit <> hold.credit
        or r.amount_sun > hold.amount_sun
        or (r.kind = 'release' and r.amount_sun <> hold.amount_sun))
    order by r.id`
  return [...resolutions, ...findings].sort((a, b) =>
    a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0,
  )
}
