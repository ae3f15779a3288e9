// How a subscription ends by our hand, and how its energy is taken back.
//
//   active -> stopped | expired;  new, pending -> error (paid back)
//   withdraw_supply    takes back what one that has ended, or rests, still has, then gives back what is held for it

import { releasePrice } from '../customers/purse.ts'
import type { Sql, Tx } from '../database/sql.ts'
import { customerAccount, lockAccounts } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import { eachRow, type Step } from '../steps/step.ts'
import { releaseHolds } from './holds.ts'
import { HOUSE, holdOf, type Subscription } from './subscriptions.ts'

type Named = Pick<Subscription, 'id' | 'customer_id'>

/** Ends a subscription that runs, for a reason. One that has not begun yet is an error, and what
 *  its start cost is given back; an active one is `stopped`, or what is asked for. `begun`: only if
 *  it is active, or only if it is not yet. Returns its state, or undefined when it goes on or did
 *  not run. */
export async function endSubscription(
  tx: Tx,
  { id, customer_id }: Named,
  end: { reason: string; now: Date; as?: 'stopped' | 'expired'; begun?: boolean },
): Promise<'stopped' | 'expired' | 'error' | undefined> {
  const { reason, now, as = 'stopped', begun } = end
  await lockAccounts(tx, [customerAccount(customer_id)])
  const [running] = await tx<Subscription>`
    select * from subscription where id = ${id} and state in ('new', 'pending', 'active') for update`
  const is_active = running?.state === 'active'
  if (!running || (begun !== undefined && begun !== is_active)) return undefined
  if (is_active) {
    await tx`
      update subscription set state = ${as}, stopped_at = ${now}, reason = ${reason}, resting = null where id = ${id}`
    return as
  }
  const { total_sun, key_id, created_at } = running
  await tx`update subscription set state = 'error', reason = ${reason}, total_sun = 0 where id = ${id}`
  const price = { hold_id: holdOf(id), key_id, price_sun: total_sun }
  await releasePrice(tx, price, { held_at: created_at, now })
  return 'error'
}

/** A subscription that was ended, as it was and as it is. */
export type Ended = { id: string; before: string; state: string }

/** Ends all that run of a customer, or those that one of its keys has started, because the customer
 *  is closed or the key revoked. The caller's transaction does that too, so that nothing is started
 *  afterwards. */
export async function endAll(
  tx: Tx,
  { customer_id, key_id = null }: { customer_id: string; key_id?: string | null },
  { reason, now }: { reason: string; now: Date },
): Promise<Ended[]> {
  await lockAccounts(tx, [customerAccount(customer_id)])
  const started = await tx<{ id: string; state: string }>`
    select id, state from subscription
    where customer_id = ${customer_id} and (${key_id}::text is null or key_id = ${key_id})
      and state in ('new', 'pending', 'active')
    order by id`
  const ended: Ended[] = []
  for (const { id, state: before } of started) {
    const state = await endSubscription(tx, { id, customer_id }, { reason, now })
    if (state !== undefined) ended.push({ id, before, state })
  }
  return ended
}

type Needs = { sql: Sql; clock: Clock }

/** What a subscription that has ended or rests still has is due at once; it is looked at until
 *  nothing of it is left. */
export function withdrawSupplyStep({ sql, clock }: Needs): Step {
  return {
    name: 'withdraw_supply',
    rest_ms: 3_000,
    after: ['use', 'supply'],
    before: ['reclaim'],
    async run() {
      // One that was placed before a crash and not noted; after the end nobody else looks for it.
      await sql`
        insert into subscription_supply (subscription_id, order_id)
        select s.id, o.id from subscription as s
        join orders as o on o.customer_id = ${HOUSE}
          and o.external_id = s.id || '/' || (s.supplies + 1)
        where s.state in ('stopped', 'expired', 'error') and not s.withdrawn
        on conflict do nothing`
      const due = await sql`
        update delegation set expires_at = delegated_at
        from subscription as s join subscription_supply as supply on supply.subscription_id = s.id
        where (s.state in ('stopped', 'expired', 'error') or s.resting is not null)
          and not s.withdrawn
          and delegation.order_id = supply.order_id and delegation.state = 'active'
          and delegation.expires_at > delegation.delegated_at
        returning delegation.id`
      const withdrawn = await withdrawnWhole(sql)
      await eachRow(
        withdrawn,
        (one) => sql.begin((tx) => closeWithdrawn(tx, one, clock.now())),
        async () => {},
      )
      return due.length > 0
    },
  }
}

type Whole = Named & Pick<Subscription, 'supplies'>

/** Those of which nothing is left: all is taken back by solid blocks, and what was used in them is
 *  noted. Until then a use may come to light that what is held pays for. */
const withdrawnWhole = (sql: Sql) => sql<Whole>`
  select s.id, s.customer_id, s.supplies from subscription as s
  where (s.state in ('stopped', 'expired', 'error') or s.resting is not null) and not s.withdrawn
    and not exists (
      select 1 from subscription_supply as supply join orders as o on o.id = supply.order_id
        left join delegation as d on d.order_id = o.id left join attempt as r on r.id = d.reclaim_id
      where supply.subscription_id = s.id
        and (o.state in ('new', 'pending') or o.to_delegate
          or d.state in ('delegating', 'active', 'reclaiming')
          or (d.state = 'ended' and (r.state <> 'solid'
            or r.block_number > coalesce((select number from cursor where name = 'subscriptions'), -1)))))`

async function closeWithdrawn(
  tx: Tx,
  { id, customer_id, supplies }: Whole,
  now: Date,
): Promise<true> {
  await lockAccounts(tx, [customerAccount(customer_id)])
  // One that was woken meanwhile goes on.
  const [whole] = await tx<Subscription>`
    select * from subscription
    where id = ${id} and supplies = ${supplies} and not withdrawn
      and (state in ('stopped', 'expired', 'error') or resting is not null) for update`
  if (!whole) return true
  const count = whole.holds_made - whole.holds_ended
  await releaseHolds(tx, whole, { count, now })
  await tx`update subscription set withdrawn = true where id = ${id}`
  return true
}
