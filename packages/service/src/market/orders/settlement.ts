// What became of an order: reads what the chain said of its attempts, and settles.
//
//   delegation delegating -> active | failed        order pending -> success | failed
//
// Orders of which every part is in a block are settled together; whatever else can be the matter is
// looked at order by order. What the arrows do is in orders.ts and market/pool/delegations.ts.

import type { Resource } from '../../chain/node/node.ts'
import { customerAccount, lockAccounts } from '../../ledger/accounts/ledger.ts'
import { type Clock, later } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { allOrEach, eachRow, type Step } from '../../platform/steps/step.ts'
import {
  activateDelegations,
  DELEGATION_COLUMNS,
  type Delegation,
  failDelegations,
  revertDelegations,
} from '../pool/delegations.ts'
import { missingOf, WAIT_MAX_MS } from './delivery.ts'
import { ORDER_COLUMNS } from './forms.ts'
import {
  deliverAgain,
  endOrders,
  failOrders,
  type Order,
  postponeOrders,
  showTransaction,
  succeedOrders,
} from './orders.ts'

export type Needs = { sql: Sql; clock: Clock }

const LOOK_AGAIN_MS = 3_000
const AT_ONCE = 200
/** Of those that are settled one by one: a process that is asked to stop ends a run first. */
const ONE_BY_ONE_MAX = 20

export function settleStep(needs: Needs): Step {
  const { clock } = needs
  return {
    name: 'settle',
    rest_ms: 1_000,
    due: (sql) => sql`
      select from delegation as d join attempt as a on a.id = d.attempt_id
        join orders as o on o.id = d.order_id
      where d.state = 'delegating' and a.state in ('included', 'solid', 'dead')
        and o.due_at <= ${clock.now()}
      union all
      select from attempt as a join delegation as d on d.attempt_id = a.id
        join orders as o on o.id = d.order_id
      where a.uncovered and a.state in ('signed', 'sent', 'dead') and d.state = 'active'
        and o.due_at <= ${clock.now()}
      union all
      select from orders as o join activation as a on a.id = o.activation_id
      where o.state in ('new', 'pending') and o.due_at <= ${clock.now()}
        and (a.state = 'failed' or (a.state = 'active' and not o.to_delegate and not exists (
          select 1 from delegation as d where d.order_id = o.id and d.state = 'delegating')))
      union all
      select from orders as o left join activation as a on a.id = o.activation_id
      where o.to_delegate and o.state in ('new', 'pending') and o.due_at <= ${clock.now()}
        and o.created_at < ${later(clock, -WAIT_MAX_MS)}
        and (a.id is null or a.state = 'active')`,
    after: ['follow', 'judge', 'activated', 'delegate'],
    before: ['reclaim', 'survey', 'publish'],
    async run() {
      // One half that cannot be done now does not stop the other.
      return eachRow(
        [settleDelivered, settleOthers],
        (half) => half(needs),
        async () => {},
      )
    },
  }
}

/** Orders of which every part is in a block and nothing else is to be waited for. */
async function settleDelivered(needs: Needs): Promise<boolean> {
  const { sql, clock } = needs
  const due = await sql<{ id: string }>`
    select distinct o.id from delegation as d join attempt as a on a.id = d.attempt_id
      join orders as o on o.id = d.order_id
    where d.state = 'delegating' and a.state in ('included', 'solid')
      and o.state = 'pending' and not o.to_delegate and o.activation_id is null
        and o.due_at <= ${clock.now()}
      and not exists (
        select 1 from delegation as other join attempt as b on b.id = other.attempt_id
        where other.order_id = o.id and (other.state <> 'delegating'
          or b.state not in ('included', 'solid')))
    limit ${AT_ONCE}`
  return allOrEach(
    due.map((row) => row.id),
    (ids) => sql.begin((tx) => settleTogether(tx, ids, clock.now())),
    (id) => postponeOrders(sql, [id], later(clock, LOOK_AGAIN_MS)),
  )
}

async function settleTogether(tx: Tx, ids: readonly string[], now: Date): Promise<boolean> {
  const orders = await tx<Order>`
    select ${ORDER_COLUMNS} from orders
    where id = any(${ids}) and state = 'pending' and not to_delegate
    order by id for update skip locked`
  const [, delivered] = await Promise.all([
    lockAccounts(tx, [...new Set(orders.map((order) => customerAccount(order.customer_id)))]),
    // Seen again under the locks: a fork may have taken one of them back meanwhile.
    tx<{ order_id: string; tx_id: string; parts: string[] }>`
      select d.order_id, (array_agg(a.tx_id order by d.resource desc, d.id))[1] as tx_id,
        array_agg(d.id) as parts
      from delegation as d join attempt as a on a.id = d.attempt_id
      where d.order_id = any(${orders.map((order) => order.id)})
      group by d.order_id having bool_and(d.state = 'delegating'
        and a.state in ('included', 'solid'))`,
  ])
  if (delivered.length === 0) return false
  const by_id = new Map(orders.map((order) => [order.id, order]))
  activateDelegations(
    tx,
    delivered.flatMap(({ parts }) => parts),
  )
  await succeedOrders(
    tx,
    delivered.map(({ order_id, tx_id }) => ({
      order: by_id.get(order_id)!,
      tx_id,
      refund_sun: 0n,
    })),
    now,
  )
  return true
}

async function settleOthers(needs: Needs): Promise<boolean> {
  const { sql, clock } = needs
  const late = later(clock, -WAIT_MAX_MS)
  const now = clock.now()
  const due = await sql<{ id: string }>`
    select o.id from delegation as d join attempt as a on a.id = d.attempt_id join orders as o
      on o.id = d.order_id
    where d.state = 'delegating' and a.state in ('included', 'solid', 'dead') and o.due_at <= ${now}
    union
    select o.id from attempt as a join delegation as d on d.attempt_id = a.id
      join orders as o on o.id = d.order_id
    where a.uncovered and a.state in ('signed', 'sent', 'dead') and d.state = 'active'
      and o.due_at <= ${now}
    union
    select o.id from orders as o join activation as a on a.id = o.activation_id
    where o.state in ('new', 'pending') and o.due_at <= ${now}
      and (a.state = 'failed' or (a.state = 'active' and not o.to_delegate and not exists (
        select 1 from delegation as d where d.order_id = o.id and d.state = 'delegating')))
    union
    select o.id from orders as o left join activation as a on a.id = o.activation_id
    where o.to_delegate and o.state in ('new', 'pending') and o.created_at < ${late}
      and (a.id is null or a.state = 'active') and o.due_at <= ${now}
    limit ${AT_ONCE}`
  return eachRow(
    due,
    ({ id }) => sql.begin((tx) => settleOrder(tx, needs, id)),
    ({ id }) => postponeOrders(sql, [id], later(clock, LOOK_AGAIN_MS)),
    ONE_BY_ONE_MAX,
  )
}

type DelegationWithAttempt = Delegation & { attempt: string; attempt_tx_id: string | null }
type ActivationWithAttempt = { state: string; tx_id: string | null }

async function settleOrder(tx: Tx, { clock }: Needs, id: string): Promise<boolean> {
  const [order] =
    await tx<Order>`select ${ORDER_COLUMNS} from orders where id = ${id} for update skip locked`
  if (!order) return false
  await lockAccounts(tx, [customerAccount(order.customer_id)])
  const before = await readParts(tx, id)
  await settleParts(tx, order, before, clock.now())
  const parts = await readParts(tx, id)
  const [activation] = await tx<ActivationWithAttempt>`
    select a.state, t.tx_id from activation as a left join attempt as t on t.id = a.attempt_id
    where a.id = ${order.activation_id}`
  const moved = before.some((part, i) => part.state !== parts[i]?.state)
  if (order.state === 'success') {
    const tx_id = shownOf(parts)
    if (tx_id && tx_id !== order.tx_id) showTransaction(tx, id, tx_id)
  }
  if (order.state === 'success' || order.state === 'failed') return moved
  const outcome = { order: await reread(tx, id), parts, activation }
  return (await conclude(tx, outcome, clock.now())) || moved
}

function readParts(tx: Tx, order_id: string): Promise<DelegationWithAttempt[]> {
  return tx<DelegationWithAttempt>`
    select d.${DELEGATION_COLUMNS}, a.state as attempt, a.tx_id as attempt_tx_id
    from delegation as d join attempt as a on a.id = d.attempt_id where order_id = ${order_id}
    order by resource, d.id for update of d`
}

async function reread(tx: Tx, id: string): Promise<Order> {
  const [order] = await tx<Order>`select ${ORDER_COLUMNS} from orders where id = ${id}`
  if (!order) throw new Error(`order ${id} is gone`)
  return order
}

/** Moves the delegations of an order to where their attempts are. */
async function settleParts(
  tx: Tx,
  order: Order,
  parts: readonly DelegationWithAttempt[],
  now: Date,
): Promise<void> {
  const open = parts.filter(({ state }) => state !== 'failed')
  const dead = open.filter(({ attempt }) => attempt === 'dead')
  const inABlock = ({ attempt }: DelegationWithAttempt) => /^(included|solid)$/.test(attempt)
  const included = open.filter((part) => inABlock(part) && part.state === 'delegating')
  const reverted = open.filter(
    (part) => !inABlock(part) && part.attempt !== 'dead' && part.state === 'active',
  )
  const ids = (some: readonly DelegationWithAttempt[]) => some.map(({ id }) => id)
  // What a failed order has got is taken back at once; the hour is for what was paid.
  activateDelegations(tx, ids(included), order.state === 'failed' ? 0 : 1)
  revertDelegations(tx, ids(reverted))
  failDelegations(tx, ids(dead))
  if (dead.length > 0 && order.state !== 'failed') await deliverAgain(tx, order, dead, now)
}

/** The transaction that an order shows: energy's, where there are several. */
function shownOf(parts: readonly DelegationWithAttempt[]): string | null | undefined {
  const delivered = parts.filter((part) => part.state !== 'failed')
  return (delivered.find((part) => part.resource === 'energy') ?? delivered[0])?.attempt_tx_id
}

type Outcome = {
  order: Order
  parts: readonly DelegationWithAttempt[]
  activation: ActivationWithAttempt | undefined
}

/** Makes an open order a success or a failure when nothing more has to be waited for. */
async function conclude(
  tx: Tx,
  { order, parts, activation }: Outcome,
  now: Date,
): Promise<boolean> {
  if (parts.some((part) => part.state === 'delegating')) return false
  const waits_too_long = now.getTime() - order.created_at.getTime() > WAIT_MAX_MS
  if (activation?.state === 'failed') return fail(tx, order, parts, now)
  if (activation !== undefined && activation.state !== 'active') return false
  if (order.service === 'activate_address') {
    // Active, but not by us: there is nothing to charge for.
    if (!activation?.tx_id) return fail(tx, order, parts, now)
    await succeedOrders(tx, [{ order, tx_id: activation.tx_id, refund_sun: 0n }], now)
    return true
  }
  if (order.to_delegate) return waits_too_long ? fail(tx, order, parts, now) : false
  const tx_id = shownOf(parts)
  if (!tx_id) return false
  const refund_sun = activation !== undefined && activation.tx_id === null ? order.fee_sun : 0n
  await succeedOrders(tx, [{ order, tx_id, refund_sun }], now)
  return true
}

async function fail(
  tx: Tx,
  order: Order,
  parts: readonly DelegationWithAttempt[],
  now: Date,
): Promise<true> {
  const missing = (resource: Resource) =>
    order.to_delegate ? missingOf(order, parts, resource) : 0n
  const all = { energy: missing('energy'), bandwidth: missing('bandwidth') }
  await failOrders(tx, [{ order, missing: all }], now)
  return true
}

/** Notes successes of which the last part is taken back. None has been sooner than an hour after it
 *  was placed, by the chain's clock, from which ours may differ by a minute. */
export function endStep({ sql, clock }: Needs): Step {
  return {
    name: 'end',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from orders as o
      where o.state = 'success' and ended_at is null and energy + bandwidth > 0
        and created_at <= (select head_time from chain) - interval '59 minutes'
        and not to_delegate and not exists (
          select from delegation as d
          where d.order_id = o.id and d.state not in ('ended', 'failed'))`,
    after: ['reclaimed'],
    before: ['publish'],
    run: () =>
      sql.begin(async (tx) => {
        // In the order of the index of those that run: by their ids all orders would be read.
        const orders = await tx<Order>`
          select o.${ORDER_COLUMNS} from orders as o
          where o.state = 'success' and ended_at is null and energy + bandwidth > 0
            and created_at <= (select head_time from chain) - interval '59 minutes'
            and not to_delegate and not exists (
              select from delegation as d
              where d.order_id = o.id and d.state not in ('ended', 'failed'))
          order by o.created_at limit ${AT_ONCE} for no key update skip locked`
        if (orders.length === 0) return false
        await endOrders(tx, orders, clock.now())
        return true
      }),
  }
}
