// What the rows say of rest: whether the run has to go on, and what the service itself has found
// wrong.

import { ORDER_TOO_OLD } from 'penstock-service/chain/signing/signing_reasons.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'

/** Whether something is on its way that time alone brings on. */
export async function hasOpenOrders(sql: Sql): Promise<boolean> {
  const [row] = await sql`
      select 1 from orders where state in ('new', 'pending') or to_delegate
      union all select 1 from aml_check where state in ('pending', 'processing')
      union all select 1 from subscription where state in ('new', 'pending')
      union all select 1 from attempt where state in ('new', 'signed', 'sent') limit 1`
  return row !== undefined
}

/** Whether a fork took back what was delivered, and it is not delivered again (the alert
 *  `order_owed`). When too little is staked, time alone does not help. */
export async function hasOwedOrders(sql: Sql): Promise<boolean> {
  const [row] = await sql`select 1 from orders where state = 'success' and to_delegate limit 1`
  return row !== undefined
}

/** Whether nothing is left to do. */
export async function isAtRest(sql: Sql): Promise<boolean> {
  const [row] = await sql`
      select 1 from orders where state in ('new', 'pending') or to_delegate
      union all select 1 from attempt where state not in ('solid', 'dead')
      union all select 1 from subscription where state in ('new', 'pending', 'active')
        or not withdrawn
      union all select 1 from subscription_use where not solid
      union all select 1 from aml_check where state in ('pending', 'processing')
      union all select 1 from activation where state in ('new', 'activating')
      union all select 1 from delegation where state not in ('ended', 'failed')
      union all select 1 from deposit
        where state in ('seen', 'unproven', 'received', 'delivering', 'returning', 'refunding')
      union all select 1 from collection_transfer where state = 'made'
      union all select 1 from vote where state = 'casting'
      union all select 1 from reward_claim where state = 'claiming'
      union all select 1 from notice where state = 'due'
      union all select 1 from webhook as w join event_counter as c using (customer_id)
        where w.state = 'on' and w.position < c.last_number
      limit 1`
  return row === undefined
}

/** What the service's own check of its books has found, and what it would not sign; but that of a
 *  process that a day passed by between two of its statements. */
export async function ownFindings(sql: Sql): Promise<string[]> {
  const refused = await sql<{ subject: string; answer: string }>`
    select subject, answer from attempt where refused_at is not null
      and not starts_with(id, 'forged') and answer is distinct from ${ORDER_TOO_OLD}`
  const rows = await sql<{ rule: string; subject: string; found: string }>`
    select rule, subject, found from books_finding`
  return [
    ...refused.map(({ subject, answer }) => `it refuses to sign for ${subject}: ${answer}`),
    ...rows.map(
      ({ rule, subject, found }) => `it finds itself that ${rule} is broken: ${subject} ${found}`,
    ),
  ]
}
