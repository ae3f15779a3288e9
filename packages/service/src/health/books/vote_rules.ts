// The rules of the books about votes: each reward that was withdrawn is booked once, in full, and
// nothing else is income of votes.

import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'

/** Everything about votes and rewards that does not hold (C19). */
export function wrongRewards(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    with wanted as (
      select 'reward:' || id as id, reward_sun as sun from reward_claim where state = 'claimed'
    ), booked as (
      select id, kind, debit, credit, amount_sun as sun from transfer
      where id like 'reward:%' or debit in ('income:votes', 'treasury:wallets')
        or credit in ('income:votes', 'treasury:wallets')
    )
    select coalesce(wanted.id, booked.id) as subject,
           case when booked.id is null then format('%s sun are not booked', wanted.sun)
                when wanted.id is null then format('%s sun from %s to %s, of no withdrawal',
                  booked.sun, booked.debit, booked.credit)
                else format('%s sun were withdrawn, booked are %s sun from %s to %s', wanted.sun,
                  booked.sun, booked.debit, booked.credit) end as found
    from wanted full join booked using (id)
    where wanted.id is null or booked.id is null or kind <> 'move'
       or debit <> 'treasury:wallets' or credit <> 'income:votes' or wanted.sun <> booked.sun
    union all
    select 'claim ' || c.id, format('it is %s while its transaction is %s', c.state, a.state)
    from reward_claim as c join attempt as a on a.id = c.attempt_id
    where (c.state = 'claimed' and a.state <> 'solid') or (c.state = 'failed' and a.state <> 'dead')
    union all
    select 'vote ' || v.id, format('it is %s while its transaction is %s', v.state, a.state)
    from vote as v join attempt as a on a.id = v.attempt_id
    where (v.state = 'cast' and a.state <> 'solid') or (v.state = 'failed' and a.state <> 'dead')
    order by 1 limit ${FINDINGS_MAX}`
}
