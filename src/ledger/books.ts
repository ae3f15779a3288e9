// The books' check: everything that the ledger keeps is computed again from its rows and compared. It only reads.

import type { Sql, Tx } from '../lib/sql.ts'

export type Finding = { rule: string; subject: string; found: string }

/** What does not hold, empty when all does. Rules: every kept sum equals the sum of its rows; every capture and release
 *  resolves a hold between the same accounts for no more than it set aside; every account that a transfer names exists. */
export async function checkBooks(sql: Sql | Tx): Promise<Finding[]> {
  return sql<Finding>`
    with effect as (
      select debit as id, -amount_sun as posted, 0 as held from transfer where kind in ('move', 'capture')
      union all
      select credit, amount_sun, 0 from transfer where kind in ('move', 'capture')
      union all
      select hold.debit, 0, hold.amount_sun from transfer as hold
      where hold.kind = 'hold' and not exists (select 1 from transfer as r where r.hold_id = hold.id)
    ), sums as (
      select id, sum(posted)::bigint as posted, sum(held)::bigint as held from effect group by id
    )
    select 'kept sums equal the rows' as rule, account.id as subject,
           format('kept %s posted %s held, rows say %s and %s', posted_sun, held_sun,
                  coalesce(sums.posted, 0), coalesce(sums.held, 0)) as found
    from account left join sums using (id)
    where not may_go_negative and (posted_sun <> coalesce(sums.posted, 0) or held_sun <> coalesce(sums.held, 0))
    union all
    select 'accounts exist', sums.id, 'no such account' from sums left join account using (id) where account.id is null
    union all
    select 'a hold is resolved between its own accounts', r.id, format('%s of %s', r.amount_sun, hold.amount_sun)
    from transfer as r join transfer as hold on hold.id = r.hold_id
    where hold.kind <> 'hold' or r.debit <> hold.debit or r.credit <> hold.credit or r.amount_sun > hold.amount_sun
       or (r.kind = 'release' and r.amount_sun <> hold.amount_sun)
    order by 1, 2`
}
