// What became of an order: reads what the chain said of its attempts, and settles.
//
//   delegation delegating -> active | failed        order pending -> success | failed
//
// The customer is charged in the same transaction that makes the order a success, and gets the
// money back in the one that makes it a failure. A success stays one: if a fork takes a delivered
// part back and its transaction then dies, the part is delegated again at our cost. Orders of which
// every part is in a block are settled together; whatever else can be the matter is looked at order
// by order.

import { addSpending } from '../customers/spending.ts'
import type { Sql, Tx } from '../database/sql.ts'
import { captureAll, customerAccount, lockAccounts, release } from '../ledger/ledger.ts'
import { type Clock, later } from '../lib/clock.ts'
import type { Delegation } from '../pool/delegations.ts'
import { RESOURCES } from '../pool/pool.ts'
import { allOrEach, eachRow, type Step } from '../steps/step.ts'
import { missingOf, TRIES_MAX, WAIT_MAX_MS } from './delivery.ts'
import { holdOf, type Order } from './orders.ts'

export type Needs = { sql: Sql; clock: Clock }

const LOOK_AGAIN_MS = 3_000
const AT_ONCE = 200

export function settleStep(needs: Needs): Step {
  return {
    name: 'settle',
    rest_ms: 1_000,
    after: ['follow', 'judge', 'activated', 'delegate'],
    before: ['reclaim', 'survey'],
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
    (id) => postpone(needs, id),
  )
}

async function settleTogether(tx: Tx, ids: readonly string[], now: Date): Promise<boolean> {
  const orders = await tx<Order>`
    select * from orders where id = any(${ids}) and state = 'pending' and not to_delegate
    order by id for update skip locked`
  const [, delivered] = await Promise.all([
    lockAccounts(tx, [...new Set(orders.map((order) => customerAccount(order.customer_id)))]),
    // Seen again under the locks: a fork may have taken one of them back meanwhile.
    tx<{ order_id: string; tx_id: string }>`
      select d.order_id, (array_agg(a.tx_id order by d.resource desc, d.id))[1] as tx_id
      from delegation as d join attempt as a on a.id = d.attempt_id
      where d.order_id = any(${orders.map((order) => order.id)})
      group by d.order_id having bool_and(d.state = 'delegating' and a.state in ('included', 'solid'))`,
  ])
  if (delivered.length === 0) return false
  const tx_ids = new Map(delivered.map(({ order_id, tx_id }) => [order_id, tx_id]))
  const settled = orders.filter((order) => tx_ids.has(order.id))
  const settled_ids = settled.map((order) => order.id)
  tx.send`
    update delegation set state = 'active', delegated_at = attempt.block_time,
      expires_at = attempt.block_time + interval '1 hour'
    from attempt where attempt.id = attempt_id and order_id = any(${settled_ids}) and delegation.state = 'delegating'`
  tx.send`
    update orders set state = 'success', tx_id = t.tx_id
    from unnest(${settled_ids}::text[], ${settled_ids.map((id) => tx_ids.get(id))}::text[]) as t (id, tx_id)
    where orders.id = t.id`
  const paid = settled.filter((order) => order.amount_sun > 0n)
  captureAll(
    tx,
    paid.map((order) => ({ hold_id: holdOf(order.id), amount_sun: order.amount_sun })),
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
    where o.to_delegate and o.state in ('new', 'pending') and (o.created_at < ${late}
      or o.tries >= ${TRIES_MAX})
      and (a.id is null or a.state = 'active') and o.due_at <= ${now}
    limit ${AT_ONCE}`
  return eachRow(
    due,
    ({ id }) => sql.begin((tx) => settleOrder(tx, needs, id)),
    ({ id }) => postpone(needs, id),
  )
}

async function postpone({ sql, clock }: Needs, id: string): Promise<void> {
  await sql`update orders set due_at = ${later(clock, LOOK_AGAIN_MS)} where id = ${id}`
}

type Tried = Delegation & { attempt: string; block_time: Date | null; attempt_tx_id: string | null }
type Activation = { state: string; attempt: string | null; tx_id: string | null }

async function settleOrder(tx: Tx, needs: Needs, id: string): Promise<boolean> {
  const [order] = await tx<Order>`select * from orders where id = ${id} for update skip locked`
  if (!order) return false
  await lockAccounts(tx, [customerAccount(order.customer_id)])
  const before = await readParts(tx, id)
  for (const part of before) await settlePart(tx, order, part)
  const parts = await readParts(tx, id)
  const [activation] = await tx<Activation>`
    select a.state, t.state as attempt, t.tx_id from activation as a left join attempt as t
      on t.id = a.attempt_id
    where a.id = ${order.activation_id}`
  const moved = before.some((part, i) => part.state !== parts[i]?.state)
  if (order.state === 'success') await showDelivered(tx, order, parts)
  if (order.state === 'success' || order.state === 'failed') return moved
  const concluded = await conclude(tx, needs, { order: await reread(tx, id), parts, activation })
  return moved || concluded
}

function readParts(tx: Tx, order_id: string): Promise<Tried[]> {
  return tx<Tried>`
    select d.*, a.state as attempt, a.block_time, a.tx_id as attempt_tx_id
    from delegation as d join attempt as a on a.id = d.attempt_id where order_id = ${order_id}
    order by resource, d.id for update of d`
}

async function reread(tx: Tx, id: string): Promise<Order> {
  const [order] = await tx<Order>`select * from orders where id = ${id}`
  if (!order) throw new Error(`order ${id} is gone`)
  return order
}

/** Moves one delegation to where its attempt is. */
async function settlePart(tx: Tx, order: Order, part: Tried): Promise<void> {
  const in_a_block = part.attempt === 'included' || part.attempt === 'solid'
  if (part.state === 'failed') return
  if (in_a_block && part.state === 'delegating') {
    // What a failed order has got is taken back at once; the hour is for what was paid.
    const hours = order.state === 'failed' ? 0 : 1
    await tx`
      update delegation set state = 'active', delegated_at = ${part.block_time},
        expires_at = ${part.block_time}::timestamptz + ${hours} * interval '1 hour'
      where id = ${part.id}`
  } else if (!in_a_block && part.attempt !== 'dead' && part.state === 'active') {
    await tx`
      update delegation set state = 'delegating', delegated_at = null, expires_at = null where id = ${part.id}`
  } else if (part.attempt === 'dead') {
    await tx`
      update delegation set state = 'failed', delegated_at = null, expires_at = null where id = ${part.id}`
    if (order.state === 'failed') return
    await tx`update orders set to_delegate = true, tries = tries + 1 where id = ${order.id}`
    await tx`update pool set reserved = reserved + ${part.amount} where resource = ${part.resource}`
  }
}

/** The transaction that an order shows: energy's, where there are several. */
function shownOf(parts: readonly Tried[]): string | null | undefined {
  const delivered = parts.filter((part) => part.state !== 'failed')
  return (delivered.find((part) => part.resource === 'energy') ?? delivered[0])?.attempt_tx_id
}

/** A success whose part was delegated again shows the transaction that is on the chain. */
async function showDelivered(tx: Tx, order: Order, parts: readonly Tried[]): Promise<void> {
  const tx_id = shownOf(parts)
  if (tx_id && tx_id !== order.tx_id)
    await tx`update orders set tx_id = ${tx_id} where id = ${order.id}`
}

type Situation = { order: Order; parts: Tried[]; activation: Activation | undefined }

/** Makes an open order a success or a failure when nothing more has to be waited for. */
async function conclude(
  tx: Tx,
  { clock }: Needs,
  { order, parts, activation }: Situation,
): Promise<boolean> {
  if (parts.some((part) => part.state === 'delegating')) return false
  const now = clock.now()
  const waits_too_long =
    now.getTime() - order.created_at.getTime() > WAIT_MAX_MS || order.tries >= TRIES_MAX
  if (activation?.state === 'failed') return fail(tx, order, parts, now)
  if (activation !== undefined && activation.state !== 'active') return false
  if (order.service === 'activate_address') {
    // Active, but not by us: there is nothing to charge for.
    return activation?.tx_id
      ? succeed(tx, { order, tx_id: activation.tx_id, refund_sun: 0n, now })
      : fail(tx, order, parts, now)
  }
  if (order.to_delegate) return waits_too_long ? fail(tx, order, parts, now) : false
  const tx_id = shownOf(parts)
  if (!tx_id) return false
  const refund_sun = activation !== undefined && activation.tx_id === null ? order.fee_sun : 0n
  return succeed(tx, { order, tx_id, refund_sun, now })
}

async function succeed(
  tx: Tx,
  outcome: { order: Order; tx_id: string; refund_sun: bigint; now: Date },
): Promise<true> {
  const { order, tx_id, refund_sun, now } = outcome
  const amount_sun = order.amount_sun - refund_sun
  await tx`
    update orders set state = 'success', tx_id = ${tx_id}, amount_sun = ${amount_sun},
      fee_sun = fee_sun - ${refund_sun}
    where id = ${order.id}`
  if (order.amount_sun > 0n) captureAll(tx, [{ hold_id: holdOf(order.id), amount_sun }], now)
  await giveBack(tx, order, refund_sun)
  return true
}

/** What is not charged after all does not count against the cap of the key either. */
async function giveBack(tx: Tx, { key_id, created_at }: Order, sun: bigint): Promise<void> {
  if (key_id !== null && sun > 0n) addSpending(tx, key_id, { sun: -sun, at: created_at })
}

async function fail(tx: Tx, order: Order, parts: readonly Tried[], now: Date): Promise<true> {
  await tx`update orders set state = 'failed', to_delegate = false where id = ${order.id}`
  if (order.amount_sun > 0n) await release(tx, holdOf(order.id), now)
  await giveBack(tx, order, order.amount_sun)
  // What was delivered of it is due at once.
  await tx`update delegation set expires_at = delegated_at where order_id = ${order.id} and state = 'active'`
  if (order.to_delegate) {
    for (const resource of RESOURCES) {
      const missing = missingOf(order, parts, resource)
      if (missing > 0)
        await tx`update pool set reserved = reserved - ${missing} where resource = ${resource}`
    }
  }
  return true
}
