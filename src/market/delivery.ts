// What happens to an order after it is placed: its parts are delegated, and when the chain has spoken it is settled.
//
//   delegate   picks wallets and asks for the transactions      order new -> pending, delegation delegating
//   settle     reads what became of the attempts                delegation -> active | failed, order -> success | failed
//
// The customer is charged in the same transaction that makes the order a success, and gets the money back in the one
// that makes it a failure. A success stays one: if a fork takes a delivered part back and its transaction then dies, the
// part is delegated again at our cost.

import { addSpending } from '../customers/spending.ts'
import { capture, customerAccount, lockAccounts, release } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { NewId } from '../lib/ids.ts'
import type { Sql, Tx } from '../lib/sql.ts'
import { eachRow, type Step } from '../lib/step.ts'
import type { Resource } from '../tron/node.ts'
import { type Delegation, delegatePart, type Permissions } from './delegations.ts'
import { holdOf, type Order } from './orders.ts'
import { choose, lockRooms, type Part, RESOURCES } from './pool.ts'

export type Needs = { sql: Sql; clock: Clock; new_id: NewId; permissions: Permissions }

/** How long an order may wait for room in the pool before its money is given back. */
const WAIT_MAX_MS = 600_000
/** How many of its delegations may die before it is given up. */
const TRIES_MAX = 3
const LOOK_AGAIN_MS = 3_000
const AT_ONCE = 50

const later = (clock: Clock, ms: number) => new Date(clock.now().getTime() + ms)

export function delegateStep(needs: Needs): Step {
  const { sql, clock } = needs
  return {
    name: 'delegate',
    rest_ms: 1_000,
    wakes: ['sign', 'settle'],
    async run() {
      const due = await sql<{ id: string }>`
        select o.id from orders as o left join activation as a on a.id = o.activation_id
        where o.to_delegate and o.due_at <= ${clock.now()} and (a.id is null or a.state = 'active')
        order by o.due_at, o.id limit ${AT_ONCE}`
      return eachRow(
        due,
        ({ id }) => sql.begin((tx) => delegateOrder(tx, needs, id)),
        ({ id }) => sql`update orders set due_at = ${later(clock, LOOK_AGAIN_MS)} where id = ${id}`,
      )
    },
  }
}

async function delegateOrder(tx: Tx, needs: Needs, id: string): Promise<boolean> {
  const [order] = await tx<Order>`select * from orders where id = ${id} and to_delegate for update skip locked`
  if (!order) return false
  const delegations = await tx<Delegation>`select * from delegation where order_id = ${id} order by id`
  const plans: { resource: Resource; missing: number; parts: Part[] }[] = []
  for (const resource of RESOURCES) {
    const missing = missingOf(order, delegations, resource)
    if (missing === 0) continue
    const { rooms, ratio } = await lockRooms(tx, resource)
    const parts = choose(missing, rooms, ratio)
    if (!parts) {
      // The pool has less than when the order was placed, and may have more again soon.
      await tx`update orders set due_at = ${later(needs.clock, LOOK_AGAIN_MS)} where id = ${id}`
      return false
    }
    plans.push({ resource, missing, parts })
  }
  for (const { resource, missing, parts } of plans) {
    for (const part of parts) await delegatePart(tx, needs, { order_id: id, receiver: order.address, resource, part })
    await tx`update pool set reserved = reserved - ${missing}, room = room - ${missing} where resource = ${resource}`
  }
  await tx`
    update orders set to_delegate = false, state = case state when 'new' then 'pending' else state end where id = ${id}`
  return true
}

/** What of an order is neither delegated nor on its way. */
function missingOf(order: Order, delegations: readonly Delegation[], resource: Resource): number {
  const planned = delegations
    .filter((one) => one.resource === resource && one.state !== 'failed')
    .reduce((sum, one) => sum + one.amount, 0n)
  return Number(order[resource] - planned)
}

export function settleStep(needs: Needs): Step {
  const { sql, clock } = needs
  return {
    name: 'settle',
    rest_ms: 1_000,
    wakes: ['delegate', 'reclaim', 'survey', 'recharged', 'supply'],
    async run() {
      const late = later(clock, -WAIT_MAX_MS)
      const due = await sql<{ id: string }>`
        select order_id as id from delegation as d join attempt as a on a.id = d.attempt_id
        where d.state = 'delegating' and a.state in ('included', 'solid', 'dead')
        union
        select order_id from delegation as d join attempt as a on a.id = d.attempt_id
        where d.state = 'active' and a.state in ('signed', 'sent', 'dead')
        union
        select o.id from orders as o join activation as a on a.id = o.activation_id
        where o.state in ('new', 'pending')
          and (a.state = 'failed' or (a.state = 'active' and o.service = 'activate_address'))
        union
        select o.id from orders as o left join activation as a on a.id = o.activation_id
        where o.to_delegate and o.state in ('new', 'pending') and (o.created_at < ${late} or o.tries >= ${TRIES_MAX})
          and (a.id is null or a.state = 'active')
        limit ${AT_ONCE}`
      return eachRow(
        due,
        ({ id }) => sql.begin((tx) => settleOrder(tx, needs, id)),
        async () => {},
      )
    },
  }
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
    select a.state, t.state as attempt, t.tx_id from activation as a left join attempt as t on t.id = a.attempt_id
    where a.id = ${order.activation_id}`
  const moved = before.some((part, i) => part.state !== parts[i]?.state)
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

type Situation = { order: Order; parts: Tried[]; activation: Activation | undefined }

/** Makes an open order a success or a failure when nothing more has to be waited for. */
async function conclude(tx: Tx, { clock }: Needs, { order, parts, activation }: Situation): Promise<boolean> {
  if (parts.some((part) => part.state === 'delegating')) return false
  const now = clock.now()
  const waits_too_long = now.getTime() - order.created_at.getTime() > WAIT_MAX_MS || order.tries >= TRIES_MAX
  if (activation?.state === 'failed') return fail(tx, order, parts, now)
  if (activation !== undefined && activation.state !== 'active') return false
  if (order.service === 'activate_address') {
    // Active, but not by us: there is nothing to charge for.
    return activation?.tx_id
      ? succeed(tx, { order, tx_id: activation.tx_id, refund_sun: 0n, now })
      : fail(tx, order, parts, now)
  }
  if (order.to_delegate) return waits_too_long ? fail(tx, order, parts, now) : false
  const delivered = parts.filter((part) => part.state !== 'failed')
  const tx_id = (delivered.find((part) => part.resource === 'energy') ?? delivered[0])?.attempt_tx_id
  if (!tx_id) return false
  const refund_sun = activation !== undefined && activation.tx_id === null ? order.fee_sun : 0n
  return succeed(tx, { order, tx_id, refund_sun, now })
}

async function succeed(tx: Tx, outcome: { order: Order; tx_id: string; refund_sun: bigint; now: Date }): Promise<true> {
  const { order, tx_id, refund_sun, now } = outcome
  const amount_sun = order.amount_sun - refund_sun
  await tx`
    update orders set state = 'success', tx_id = ${tx_id}, amount_sun = ${amount_sun}, fee_sun = fee_sun - ${refund_sun}
    where id = ${order.id}`
  if (order.amount_sun > 0n) await capture(tx, holdOf(order.id), now, amount_sun)
  await giveBack(tx, order, refund_sun)
  return true
}

/** What is not charged after all does not count against the cap of the key either. */
async function giveBack(tx: Tx, { key_id, created_at }: Order, sun: bigint): Promise<void> {
  if (key_id !== null && sun > 0n) await addSpending(tx, key_id, { sun: -sun, at: created_at })
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
      if (missing > 0) await tx`update pool set reserved = reserved - ${missing} where resource = ${resource}`
    }
  }
  return true
}
