// Delivering an order: has its address activated if that was bought, picks wallets for its parts,
// and asks for their transactions.
//
//   order new -> pending, activation new -> activating -> active | failed
//   order new -> pending, delegation -> delegating        (what becomes of them: settlement.ts)
//
// Orders that are due are planned together, in the order in which they were placed; one that the
// pool cannot deliver whole waits and does not stop the others. One that has waited for too long is
// left to settlement, which gives the money back; a success of which a fork took a part back is
// delivered however long it takes.

import type { Node, Resource } from '../../chain/node/node.ts'
import { type Clock, later } from '../../lib/clock.ts'
import type { NewId } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { allOrEach, eachRow, type Step } from '../../platform/steps/step.ts'
import {
  type Activation,
  type ActivationAttempt,
  type ActivationWallet,
  beginActivations,
  retryActivation,
  revertActivations,
  succeedActivation,
  takeActivated,
} from '../pool/activations.ts'
import {
  DELEGATION_COLUMNS,
  type Delegation,
  insertDelegations,
  type NewDelegation,
  type Permissions,
} from '../pool/delegations.ts'
import { choose, lockRooms, type Pool, RESOURCES, useRoom } from '../pool/pool.ts'
import { ORDER_COLUMNS } from './forms.ts'
import {
  awaitActivations,
  awaitDelegations,
  type Order,
  postponeOrders,
  showActivation,
} from './orders.ts'

export type Needs = { sql: Sql; clock: Clock; new_id: NewId; permissions: Permissions }
export type ActivationNeeds = Pick<Needs, 'sql' | 'clock' | 'new_id'> & {
  node: Pick<Node, 'account'>
  activation_wallet: ActivationWallet
}

/** How long an order may wait for room in the pool, or be delivered again because its transactions
 *  died, before its money is given back. */
export const WAIT_MAX_MS = 600_000
const LOOK_AGAIN_MS = 3_000
const AT_ONCE = 200
const ACTIVATIONS_AT_ONCE = 50

/** activation new -> activating, and the orders that pay for it become pending. */
export function activateStep(needs: ActivationNeeds): Step {
  const { sql } = needs
  return {
    name: 'activate',
    rest_ms: 1_000,
    due: (sql) => sql`select from activation where state = 'new'`,
    after: ['activated'],
    before: ['sign'],
    async run() {
      const due = await sql<Activation>`
        select id, address from activation where state = 'new'
        order by made_at, id limit ${ACTIVATIONS_AT_ONCE}`
      return eachRow(
        due,
        (one) => sql.begin((tx) => activate(tx, needs, one)),
        async () => {},
      )
    },
  }
}

async function activate(tx: Tx, needs: ActivationNeeds, one: Activation): Promise<boolean> {
  const [mine] = await tx`
    select 1 from activation where id = ${one.id} and state = 'new' for update skip locked`
  if (!mine) return false
  beginActivations(tx, needs, [one])
  awaitActivations(tx, [one.id])
  return true
}

type ActivationWithAttempt = ActivationAttempt & {
  address: Activation['address']
  attempt: 'included' | 'solid' | 'dead'
}

/** activation activating -> active | new | failed, by what became of the attempt; and back when a
 *  fork took its block. */
export function activatedStep(needs: Pick<ActivationNeeds, 'sql' | 'node'>): Step {
  const { sql } = needs
  return {
    name: 'activated',
    rest_ms: 1_000,
    due: (sql) => sql`
      select from activation as v join attempt as a on a.id = v.attempt_id
      where v.state = 'activating' and a.state in ('included', 'solid', 'dead')
      union all
      select from attempt as a join activation as v on v.attempt_id = a.id
      where a.uncovered and a.state in ('signed', 'sent', 'dead') and v.state = 'active'`,
    after: ['follow', 'judge'],
    async run() {
      const reverted = await revertActivations(sql)
      const due = await sql<ActivationWithAttempt>`
        select activation.id, attempt_id, address, attempt.state as attempt
        from activation join attempt on attempt.id = attempt_id
        where activation.state = 'activating' and attempt.state in ('included', 'solid', 'dead')
        order by activation.id limit ${ACTIVATIONS_AT_ONCE}`
      const moved = await eachRow(
        due,
        (one) => concludeActivation(needs, one),
        async () => {},
      )
      return moved || reverted
    },
  }
}

async function concludeActivation(
  { sql, node }: Pick<ActivationNeeds, 'sql' | 'node'>,
  one: ActivationWithAttempt,
): Promise<true> {
  if (one.attempt !== 'dead') {
    // First: once it is active it is not taken up again, should the process die in between.
    await showActivation(sql, one.id)
    await succeedActivation(sql, one)
  } else if ((await node.account(one.address)).active) await takeActivated(sql, one)
  else await retryActivation(sql, one)
  return true
}

/** order new -> pending, delegation -> delegating */
export function delegateStep(needs: Needs): Step {
  const { sql, clock } = needs
  return {
    name: 'delegate',
    rest_ms: 1_000,
    due: (sql) => sql`
      select from orders as o left join activation as a on a.id = o.activation_id
      where o.to_delegate and o.due_at <= ${clock.now()} and (a.id is null or a.state = 'active')
        and (o.state = 'success' or o.created_at >= ${later(clock, -WAIT_MAX_MS)})`,
    after: ['activated', 'survey', 'settle'],
    before: ['sign'],
    async run() {
      const late = later(clock, -WAIT_MAX_MS)
      const due = await sql<{ id: string }>`
        select o.id from orders as o left join activation as a on a.id = o.activation_id
        where o.to_delegate and o.due_at <= ${clock.now()} and (a.id is null or a.state = 'active')
          and (o.state = 'success' or o.created_at >= ${late})
        order by o.due_at, o.id limit ${AT_ONCE}`
      return allOrEach(
        due.map((row) => row.id),
        (ids) => sql.begin((tx) => delegateOrders(tx, needs, ids)),
        (id) => postponeOrders(sql, [id], later(clock, LOOK_AGAIN_MS)),
      )
    },
  }
}

async function delegateOrders(tx: Tx, needs: Needs, ids: readonly string[]): Promise<boolean> {
  const orders = await tx<Order>`
    select ${ORDER_COLUMNS} from orders
    where id = any(${ids}) and to_delegate order by id for update skip locked`
  if (orders.length === 0) return false
  const locked = orders.map((order) => order.id)
  const delegations = await tx<Delegation>`
    select ${DELEGATION_COLUMNS} from delegation
    where order_id = any(${locked}) and state <> 'failed'`
  const missing = (order: Order, resource: Resource) =>
    Number(
      missingOf(
        order,
        delegations.filter((one) => one.order_id === order.id),
        resource,
      ),
    )
  const pools = new Map<Resource, Pool>()
  for (const resource of RESOURCES) {
    if (orders.some((order) => missing(order, resource) > 0))
      pools.set(resource, await lockRooms(tx, resource))
  }
  // By the time that it is now: the rooms may have been locked for long, or the process stopped.
  const late = later(needs.clock, -WAIT_MAX_MS)
  const wanted = orders.filter((order) => order.state === 'success' || order.created_at >= late)
  const planned: NewDelegation[] = []
  const waiting: string[] = []
  for (const order of wanted) {
    const parts = planOrder(order, pools, missing)
    if (parts) planned.push(...parts)
    else waiting.push(order.id)
  }
  if (planned.length > 0) {
    insertDelegations(tx, needs, planned)
    const used = (resource: Resource) =>
      planned.reduce((sum, one) => sum + (one.resource === resource ? one.part.amount : 0), 0)
    useRoom(tx, { energy: BigInt(used('energy')), bandwidth: BigInt(used('bandwidth')) })
  }
  const done = wanted.map((order) => order.id).filter((id) => !waiting.includes(id))
  awaitDelegations(tx, done)
  // The pool has less than when these were placed, and may have more again soon.
  await postponeOrders(tx, waiting, later(needs.clock, LOOK_AGAIN_MS))
  return done.length > 0
}

/** All parts of what an order still needs, taken off the rooms; or nothing at all when one resource
 *  is short. */
function planOrder(
  order: Order,
  pools: Map<Resource, Pool>,
  missing: (order: Order, resource: Resource) => number,
): NewDelegation[] | undefined {
  const planned: NewDelegation[] = []
  for (const [resource, { rooms, ratio }] of pools) {
    const amount = missing(order, resource)
    if (amount === 0) continue
    // The chain refuses a delegation to the wallet itself.
    const others = rooms.filter((room) => room.wallet !== order.address)
    const parts = choose(amount, others, ratio)
    if (!parts) return undefined
    planned.push(
      ...parts.map((part) => ({
        order_id: order.id,
        receiver: order.address,
        resource,
        part,
        ratio,
      })),
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

/** What of an order is neither delegated nor on its way. */
export function missingOf(
  order: Order,
  delegations: readonly Delegation[],
  resource: Resource,
): bigint {
  const planned = delegations
    .filter((one) => one.resource === resource && one.state !== 'failed')
    .reduce((sum, one) => sum + one.amount, 0n)
  return order[resource] - planned
}
