// Delivering an order: picks wallets for its parts and asks for their transactions.
//
//   order new -> pending, delegation -> delegating        (what becomes of them: settlement.ts)
//
// Orders that are due are planned together, in the order in which they were placed; one that the
// pool cannot deliver whole waits and does not stop the others. One that has waited for too long is
// left to settlement, which gives the money back; a success of which a fork took a part back is
// delivered however long it takes.

import type { Sql, Tx } from '../database/sql.ts'
import { type Clock, later } from '../lib/clock.ts'
import type { NewId } from '../lib/ids.ts'
import type { Resource } from '../node/node.ts'
import {
  type Delegation,
  delegateParts,
  type Permissions,
  type Planned,
} from '../pool/delegations.ts'
import { choose, lockRooms, type Pool, RESOURCES } from '../pool/pool.ts'
import { allOrEach, type Step } from '../steps/step.ts'
import type { Order } from './orders.ts'

export type Needs = { sql: Sql; clock: Clock; new_id: NewId; permissions: Permissions }

/** How long an order may wait for room in the pool before its money is given back. */
export const WAIT_MAX_MS = 600_000
/** How many of its delegations may die before it is given up. */
export const TRIES_MAX = 3
const LOOK_AGAIN_MS = 3_000
const AT_ONCE = 200

export function delegateStep(needs: Needs): Step {
  const { sql, clock } = needs
  return {
    name: 'delegate',
    rest_ms: 1_000,
    after: ['activated', 'survey', 'settle'],
    before: ['sign'],
    async run() {
      const late = later(clock, -WAIT_MAX_MS)
      const due = await sql<{ id: string }>`
        select o.id from orders as o left join activation as a on a.id = o.activation_id
        where o.to_delegate and o.due_at <= ${clock.now()} and (a.id is null or a.state = 'active')
          and (o.state = 'success' or (o.created_at >= ${late} and o.tries < ${TRIES_MAX}))
        order by o.due_at, o.id limit ${AT_ONCE}`
      return allOrEach(
        due.map((row) => row.id),
        (ids) => sql.begin((tx) => delegateOrders(tx, needs, ids)),
        (id) => sql`update orders set due_at = ${later(clock, LOOK_AGAIN_MS)} where id = ${id}`,
      )
    },
  }
}

async function delegateOrders(tx: Tx, needs: Needs, ids: readonly string[]): Promise<boolean> {
  const orders = await tx<Order>`
    select * from orders where id = any(${ids}) and to_delegate order by id for update skip locked`
  if (orders.length === 0) return false
  const locked = orders.map((order) => order.id)
  const delegations = await tx<Delegation>`
    select * from delegation where order_id = any(${locked}) and state <> 'failed'`
  const missing = (order: Order, resource: Resource) =>
    missingOf(
      order,
      delegations.filter((one) => one.order_id === order.id),
      resource,
    )
  const pools = new Map<Resource, Pool>()
  for (const resource of RESOURCES) {
    if (orders.some((order) => missing(order, resource) > 0))
      pools.set(resource, await lockRooms(tx, resource))
  }
  const planned: Planned[] = []
  const waiting: string[] = []
  for (const order of orders) {
    const parts = planOrder(order, pools, missing)
    if (parts) planned.push(...parts)
    else waiting.push(order.id)
  }
  writePlans(tx, needs, planned)
  const done = locked.filter((id) => !waiting.includes(id))
  tx.send`
    update orders set to_delegate = false, state = case state when 'new' then 'pending'
      else state end
    where id = any(${done})`
  // The pool has less than when these were placed, and may have more again soon.
  tx.send`update orders set due_at = ${later(needs.clock, LOOK_AGAIN_MS)} where id = any(${waiting})`
  return done.length > 0
}

/** All parts of what an order still needs, taken off the rooms; or nothing at all when one resource
 *  is short. */
function planOrder(
  order: Order,
  pools: Map<Resource, Pool>,
  missing: (order: Order, resource: Resource) => number,
): Planned[] | undefined {
  const planned: Planned[] = []
  for (const [resource, { rooms, ratio }] of pools) {
    const amount = missing(order, resource)
    if (amount === 0) continue
    // The chain refuses a delegation to the wallet itself.
    const others = rooms.filter((room) => room.wallet !== order.address)
    const parts = choose(amount, others, ratio)
    if (!parts) return undefined
    planned.push(
      ...parts.map((part) => ({ order_id: order.id, receiver: order.address, resource, part })),
    )
  }
  for (const { resource, part } of planned) {
    const room = pools.get(resource)?.rooms.find((one) => one.wallet === part.wallet)
    if (room) {
      room.room_sun -= part.stake_sun
      room.carries -= 2n
    }
  }
  return planned
}

/** The rooms are locked. */
function writePlans(tx: Tx, needs: Needs, planned: readonly Planned[]): void {
  if (planned.length === 0) return
  delegateParts(tx, needs, planned)
  for (const resource of RESOURCES) {
    const amount = planned.reduce(
      (sum, one) => sum + (one.resource === resource ? one.part.amount : 0),
      0,
    )
    if (amount > 0) {
      tx.send`update pool set reserved = reserved - ${amount}, room = room - ${amount} where resource = ${resource}`
    }
  }
}

/** What of an order is neither delegated nor on its way. */
export function missingOf(
  order: Order,
  delegations: readonly Delegation[],
  resource: Resource,
): number {
  const planned = delegations
    .filter((one) => one.resource === resource && one.state !== 'failed')
    .reduce((sum, one) => sum + one.amount, 0n)
  return Number(order[resource] - planned)
}
