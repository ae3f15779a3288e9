// How a subscription ends, by its customer's hand or by ours, and how its energy is taken back.
//
//   withdraw_supply    takes back what one that has ended, or rests, still has, then gives back
//                      what is held for it

import { type Actor, recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { customerAccount, lockAccounts } from '../../ledger/accounts/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import { type FaultKind, fault } from '../../lib/fault.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { StepName } from '../../platform/steps/step.ts'
import { eachRow, type Step } from '../../platform/steps/step.ts'
import { endDelegationsNow } from '../pool/delegations.ts'
import {
  hasEnded,
  hasLimit,
  isStartHeld,
  SUBSCRIPTION_COLUMNS,
  type SubscriptionRow,
} from './forms.ts'
import { releaseHolds } from './holds.ts'
import {
  closeStoppedStart,
  endSubscriptions,
  failSubscriptions,
  findSubscription,
  type Names,
  noteLateSupplies,
  noteLostSupplies,
  type Subscription,
  SubscriptionNotFound,
  type SubscriptionRef,
} from './subscriptions.ts'

export const CannotStop: FaultKind = fault(
  21,
  'cannot_stop_subscription',
  'This subscription cannot be stopped',
)

/** Stops the customer's subscription, if it has no limit of transactions: also one that has not
 *  begun yet. Throws 20 and 21. */
export async function stopSubscription(
  { sql, clock, wake }: Needs & { wake: (step: StepName) => void },
  names: Names,
  actor: Actor,
): Promise<Subscription> {
  const { id } = await findSubscription(sql, names)
  const stopped = await sql.begin(async (tx) => {
    const [running] = await tx<Subscription>`
      select s.${SUBSCRIPTION_COLUMNS}, plan.key as plan_key, plan.price_sun,
        plan.transactions_limit as plan_transactions_limit
      from subscription as s join plan on plan.id = plan_id
      where s.id = ${id} for update of s`
    if (!running) throw SubscriptionNotFound()
    if (hasEnded(running)) throw CannotStop().because('it has ended already', 'id')
    if (hasLimit(running))
      throw CannotStop().because(
        'it has a limit of transactions, and ends with them or its days',
        'id',
      )
    const now = clock.now()
    const end = { ...running, state: 'stopped', reason: null, at: await endsAt(tx, now) } as const
    await endSubscriptions(tx, [end])
    await recordCustomerAction(tx, now, {
      actor,
      action: 'subscription/stop',
      subject: `subscription:${id}`,
      before: { status: running.state },
      after: { status: end.state },
    })
    return { ...end, stopped_at: end.at, resting: null }
  })
  wake('withdraw_supply')
  wake('publish')
  return stopped
}

/** Now, or the time of the newest block where the chain is ahead, as where it begins: what is used
 *  by its blocks up to then was used before the end. */
async function endsAt(tx: Tx, now: Date): Promise<Date> {
  const [found] = await tx<{ ends_at: Date }>`
    select greatest(${now}::timestamptz, (select head_time from chain)) as ends_at`
  return found!.ends_at
}

/** Why a subscription ends that runs. An active one is stopped, unless its days are used up. */
export type End = { reason: string; now: Date; as?: 'stopped' | 'expired' }

/** Ends a subscription that runs. One that has not begun yet is an error, and what its start cost
 *  is given back. `begun`: only if it is active, or only if it is not yet. Returns its state, or
 *  undefined when it goes on or did not run. */
export async function endSubscription(
  tx: Tx,
  { id, customer_id }: SubscriptionRef,
  { begun, ...end }: End & { begun?: boolean },
): Promise<'stopped' | 'expired' | 'error' | undefined> {
  await lockAccounts(tx, [customerAccount(customer_id)])
  const [running] = await tx<SubscriptionRow>`
    select ${SUBSCRIPTION_COLUMNS} from subscription where id = ${id}
      and state in ('new', 'pending', 'active') for update`
  if (!running || (begun !== undefined && begun !== (running.state === 'active'))) return undefined
  const [ended] = await endRunning(tx, [running], end)
  return ended?.state
}

/** A subscription that was ended, as it was and as it is. */
export type EndedSubscription = {
  id: string
  before: string
  state: 'stopped' | 'expired' | 'error'
}

/** Ends all that run of a customer, or those that one of its keys has started, because the customer
 *  is closed or the key revoked. The caller's transaction does that too, so that nothing is started
 *  afterwards. Customers revoke keys themselves: what has been supplied is stopped as if they had
 *  said so, and pays for what was used and activated, also before it is active. */
export async function endAll(
  tx: Tx,
  { customer_id, key_id = null }: { customer_id: string; key_id?: string | null },
  end: End,
): Promise<EndedSubscription[]> {
  await lockAccounts(tx, [customerAccount(customer_id)])
  const running = await tx<RunningRow>`
    select ${SUBSCRIPTION_COLUMNS}, exists (
        select from orders as o where o.customer_id = ${SUBSCRIPTIONS}
          and o.external_id = subscription.id || '/1') as is_supplied
    from subscription
    where customer_id = ${customer_id} and (${key_id}::text is null or key_id = ${key_id})
      and state in ('new', 'pending', 'active')
    order by id for update`
  return endRunning(tx, running, end)
}

/** `is_supplied`: something was ordered for it, and it is stopped also when it is not active. */
type RunningRow = SubscriptionRow & { is_supplied?: boolean }

/** The caller has locked the accounts and the subscriptions. */
async function endRunning(
  tx: Tx,
  running: readonly RunningRow[],
  { reason, now, as = 'stopped' }: End,
): Promise<EndedSubscription[]> {
  const isBegun = ({ state, is_supplied = false }: RunningRow) => state === 'active' || is_supplied
  const begun = running.filter(isBegun)
  const not_begun = running.filter((one) => !isBegun(one))
  const at = await endsAt(tx, now)
  await endSubscriptions(
    tx,
    begun.map(({ id, customer_id }) => ({ id, customer_id, state: as, reason, at })),
  )
  await failSubscriptions(tx, not_begun, { reason, now })
  return running.map((one) => ({
    id: one.id,
    before: one.state,
    state: isBegun(one) ? as : 'error',
  }))
}

type Needs = { sql: Sql; clock: Clock }

/** What a subscription that has ended or rests still has is due at once; it is looked at until
 *  nothing of it is left. */
export function withdrawSupplyStep({ sql, clock }: Needs): Step {
  return {
    name: 'withdraw_supply',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from subscription
      where (state in ('stopped', 'expired', 'error') or resting is not null) and not withdrawn
      union all
      select from orders as o join subscription as s on s.id = split_part(o.external_id, '/', 1)
      where o.customer_id = ${SUBSCRIPTIONS}
        and (o.state in ('new', 'pending') or (o.state = 'success' and o.solid_at is null))
        and not exists (select from subscription_supply where order_id = o.id)
        and s.state in ('stopped', 'expired', 'error') and s.withdrawn`,
    after: ['use', 'supply'],
    before: ['reclaim'],
    async run() {
      await noteLateSupplies(sql)
      // Nobody looks for the next supply of one that has ended or rests.
      const withdrawing = await sql<{ id: string }>`
        select id from subscription
        where (state in ('stopped', 'expired', 'error') or resting is not null) and not withdrawn`
      if (withdrawing.length === 0) return false
      await noteLostSupplies(
        sql,
        withdrawing.map(({ id }) => id),
      )
      const due = await sql.begin(async (tx) => {
        const supplied = await suppliedOrders(tx)
        endDelegationsNow(tx, supplied)
        return supplied.length > 0
      })
      const withdrawn = await withdrawnWhole(sql)
      await eachRow(
        withdrawn,
        (one) => sql.begin((tx) => closeWithdrawn(tx, one, clock.now())),
        async () => {},
      )
      return due
    },
  }
}

/** The orders by which one that has ended or rests has energy that is not due yet. */
async function suppliedOrders(tx: Tx): Promise<string[]> {
  const rows = await tx<{ id: string }>`
    select distinct supply.order_id as id
    from subscription as s join subscription_supply as supply on supply.subscription_id = s.id
      join delegation as d on d.order_id = supply.order_id
    where (s.state in ('stopped', 'expired', 'error') or s.resting is not null)
      and not s.withdrawn and d.state = 'active' and d.expires_at > d.delegated_at`
  return rows.map(({ id }) => id)
}

type SuppliesRow = SubscriptionRef & Pick<Subscription, 'supplies'>

/** Those of which nothing is left: all is taken back by solid blocks, and what was used in them is
 *  noted. Until then a use may come to light that what is held pays for. */
const withdrawnWhole = (sql: Sql) => sql<SuppliesRow>`
  select s.id, s.customer_id, s.supplies from subscription as s
  where (s.state in ('stopped', 'expired', 'error') or s.resting is not null) and not s.withdrawn
    and not exists (
      select 1 from subscription_supply as supply join orders as o on o.id = supply.order_id
        left join delegation as d on d.order_id = o.id left join attempt as r on r.id = d.reclaim_id
      where supply.subscription_id = s.id
        and (o.state in ('new', 'pending') or o.to_delegate
          or d.state in ('delegating', 'active', 'reclaiming')
          or (d.state = 'ended' and (r.state <> 'solid'
            or r.block_number > coalesce((select number from cursor
              where name = 'subscriptions'), -1)))))`

async function closeWithdrawn(
  tx: Tx,
  { id, customer_id, supplies }: SuppliesRow,
  now: Date,
): Promise<true> {
  await lockAccounts(tx, [customerAccount(customer_id)])
  // One that was woken meanwhile goes on.
  const [whole] = await tx<SubscriptionRow>`
    select ${SUBSCRIPTION_COLUMNS} from subscription
    where id = ${id} and supplies = ${supplies} and not withdrawn
      and (state in ('stopped', 'expired', 'error') or resting is not null) for update`
  if (!whole) return true
  const count = whole.holds_made - whole.holds_ended
  await releaseHolds(tx, whole, { count, now })
  if (isStartHeld(whole)) await closeStoppedStart(tx, whole, now)
  await tx`update subscription set withdrawn = true where id = ${id}`
  return true
}
