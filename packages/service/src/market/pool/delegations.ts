// Delegations: what an order is delivered with, and how it is taken back.
//
//   delegating -> active -> reclaiming -> ended
//        `-> failed (nothing is on the chain)
//
// The hour begins with the block that has the delegation and is over by the time of a later block
// that is solid: on whatever branch the reclaim ends up, it comes after that one. Only then is
// exactly the stake that was delegated taken back. The chain keeps one sum for a wallet and a
// receiver, whatever orders it is from: keeping each order's own stake here is what keeps them
// apart. So nothing is taken back before the delegation itself is solid, or a fork could make one
// order's reclaim take another's stake. Until then a fork can take it back.

import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { contract } from 'penstock-tron/transaction.ts'
import { enqueueAttempts } from '../../chain/follow/attempts.ts'
import type { Resource } from '../../chain/node/node.ts'
import type { Clock } from '../../lib/clock.ts'
import type { NewId } from '../../lib/ids.ts'
import { noteEvent } from '../../lib/tracing.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import { allOrEach, type Step } from '../../platform/steps/step.ts'
import type { Part, Ratio } from './pool.ts'

/** By wallet address: the permission that its hot key has. */
export type Permissions = ReadonlyMap<Address, number>

export type Needs = { sql: Sql; clock: Clock; new_id: NewId; permissions: Permissions }

export type Delegation = {
  id: string
  order_id: string
  wallet: Address
  receiver: Address
  resource: Resource
  amount: bigint
  stake_sun: bigint
  state: 'delegating' | 'active' | 'reclaiming' | 'ended' | 'failed'
  attempt_id: string
  reclaim_id: string | null
  delegated_at: Date | null
  expires_at: Date | null
  reclaimed_at: Date | null
}

export const DELEGATION_COLUMNS = columnsOf<Delegation>()([
  'id',
  'order_id',
  'wallet',
  'receiver',
  'resource',
  'amount',
  'stake_sun',
  'state',
  'attempt_id',
  'reclaim_id',
  'delegated_at',
  'expires_at',
  'reclaimed_at',
])

const AT_ONCE = 200

function operation(
  type: 'DelegateResourceContract' | 'UnDelegateResourceContract',
  of: { wallet: Address; receiver: Address; resource: Resource; stake_sun: bigint },
  permissions: Permissions,
) {
  const { wallet, receiver, resource, stake_sun } = of
  const value = {
    owner_address: addressToHex(wallet),
    resource: resource === 'energy' ? 'ENERGY' : 'BANDWIDTH',
    balance: stake_sun,
    receiver_address: addressToHex(receiver),
  }
  const permission_id = permissions.get(wallet)
  if (permission_id === undefined) throw new Error(`no key is configured for the wallet ${wallet}`)
  return contract(type, value, permission_id)
}

/** `ratio`: the network's, by which it was planned. */
export type NewDelegation = {
  order_id: string
  receiver: Address
  resource: Resource
  part: Part
  ratio: Ratio
}

/** -> delegating: parts of orders are planned, and their transactions asked for. */
export function insertDelegations(tx: Tx, needs: Needs, planned: readonly NewDelegation[]): void {
  const rows = planned.map(({ part, ratio, ...of }) => ({
    ...of,
    ...part,
    ...ratio,
    id: needs.new_id(),
  }))
  const attempts = rows.map(({ id, ...of }) => ({
    subject: `delegate:${id}`,
    contract: operation('DelegateResourceContract', of, needs.permissions),
  }))
  const attempt_ids = enqueueAttempts(tx, needs, attempts)
  for (const [i, { order_id }] of rows.entries())
    noteEvent('delegation', {
      'penstock.order': order_id,
      'penstock.attempt': attempt_ids[i]!,
    })
  const column = <K extends keyof (typeof rows)[number]>(name: K) => rows.map((row) => row[name])
  tx.send`
    insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun,
      total_limit, total_weight, attempt_id)
    select * from unnest(${column('id')}::text[], ${column('order_id')}::text[],
                         ${column('wallet')}::text[],
                         ${column('receiver')}::text[], ${column('resource')}::text[],
                         ${column('amount')}::bigint[],
                         ${column('stake_sun')}::bigint[],
                         ${column('total_limit')}::bigint[],
                         ${column('total_weight')}::bigint[], ${attempt_ids}::text[])`
}

/** delegating -> active: a block has them. Their hour begins with it; `hours` is 0 for what is to
 *  be taken back at once. */
export function activateDelegations(tx: Tx, ids: readonly string[], hours: 0 | 1 = 1): void {
  if (ids.length === 0) return
  tx.send`
    update delegation set state = 'active', delegated_at = attempt.block_time,
      expires_at = attempt.block_time + ${hours} * interval '1 hour'
    from attempt
    where attempt.id = attempt_id and delegation.state = 'delegating' and delegation.id in (
      select id from delegation where id = any(${ids}) order by id for update)`
}

/** active -> delegating: a fork took the block back. */
export function revertDelegations(tx: Tx, ids: readonly string[]): void {
  if (ids.length === 0) return
  tx.send`
    update delegation set state = 'delegating', delegated_at = null, expires_at = null
    where id in (select id from delegation where id = any(${ids}) order by id for update)`
}

/** delegating, active -> failed: the attempt is dead. */
export function failDelegations(tx: Tx, ids: readonly string[]): void {
  if (ids.length === 0) return
  tx.send`
    update delegation set state = 'failed', delegated_at = null, expires_at = null
    where id in (select id from delegation where id = any(${ids}) order by id for update)`
}

/** What orders have got is due at once. */
export function endDelegationsNow(tx: Tx, order_ids: readonly string[]): void {
  if (order_ids.length === 0) return
  tx.send`
    update delegation set expires_at = delegated_at where id in (
      select id from delegation where order_id = any(${order_ids}) and state = 'active'
      order by id for update)`
}

/** active -> reclaiming, when a solid block says that the hour is over. */
export function reclaimStep(needs: Needs): Step {
  const { sql } = needs
  // What a wallet has delegated that is no longer configured waits for it, and keeps nothing else
  // waiting.
  const wallets = [...needs.permissions.keys()]
  return {
    name: 'reclaim',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from delegation as d join attempt as a on a.id = d.attempt_id
      where d.state = 'active' and a.state = 'solid' and d.wallet = any(${wallets})
        and d.expires_at <= (select time from block, chain where number = confirmed_number)`,
    after: ['follow', 'confirm', 'reclaimed'],
    before: ['sign'],
    async run() {
      const due = await sql<{ id: string }>`
        select d.id from delegation as d join attempt as a on a.id = d.attempt_id
        where d.state = 'active' and a.state = 'solid'
          and d.expires_at <= ${await confirmedTime(sql)}
          and d.wallet = any(${wallets})
        order by d.expires_at limit ${AT_ONCE}`
      return allOrEach(
        due.map((row) => row.id),
        (ids) => sql.begin((tx) => reclaimDelegations(tx, needs, ids)),
        async () => {},
      )
    },
  }
}

/** The time of the newest confirmed block. */
async function confirmedTime(sql: Query): Promise<Date | null> {
  const [row] = await sql<{
    time: Date
  }>`select time from block, chain where number = confirmed_number`
  return row?.time ?? null
}

async function reclaimDelegations(tx: Tx, needs: Needs, ids: readonly string[]): Promise<boolean> {
  // A fork may have moved a delegation to another block since its hour was counted; now that it is
  // solid, that is final.
  const moved = await tx`
    update delegation set delegated_at = a.block_time,
      expires_at = a.block_time + (delegation.expires_at - delegated_at)
    from attempt as a
    where a.id = attempt_id and delegated_at <> a.block_time and delegation.id in (
      select d.id from delegation as d join attempt as solid on solid.id = d.attempt_id
      where d.id = any(${ids}) and d.state = 'active' and solid.state = 'solid'
        and d.delegated_at <> solid.block_time
      order by d.id for update of d skip locked)
    returning delegation.id`
  // One may be taken back already: after a restore its attempt is there before it is asked for.
  const due = await tx<Delegation & { found_id: string | null }>`
    select d.${DELEGATION_COLUMNS}, (
        select f.id from attempt as f where f.subject = 'reclaim:' || d.id and f.state <> 'dead'
      ) as found_id
    from delegation as d join attempt as a on a.id = d.attempt_id
    where d.id = any(${ids}) and d.state = 'active' and a.state = 'solid'
      and d.expires_at <= ${await confirmedTime(tx)}
    order by d.id for update of d skip locked`
  if (due.length === 0) return moved.length > 0
  const wanted = due
    .filter((delegation) => delegation.found_id === null)
    .map((delegation) => ({
      subject: `reclaim:${delegation.id}`,
      contract: operation('UnDelegateResourceContract', delegation, needs.permissions),
    }))
  const made = enqueueAttempts(tx, needs, wanted).values()
  const attempt_ids = due.map(({ found_id }) => found_id ?? made.next().value!)
  await tx`
    update delegation set state = 'reclaiming', reclaim_id = t.attempt_id
    from unnest(${due.map((one) => one.id)}::text[], ${attempt_ids}::text[]) as t (id, attempt_id)
    where delegation.id = t.id`
  return true
}

/** What a transaction that is in a block may have taken back: nothing is noted that does. The one
 *  whose hour ends first comes first. */
export const delegationsOnChain = (tx: Tx) => tx<
  Pick<Delegation, 'id' | 'wallet' | 'receiver' | 'resource' | 'stake_sun'> & {
    begun_at: Date
    due_at: Date
  }
>`
  select d.id, d.wallet, d.receiver, d.resource, d.stake_sun, a.block_time as begun_at,
    coalesce(d.expires_at, a.block_time + interval '1 hour') as due_at
  from delegation as d join attempt as a on a.id = d.attempt_id
  where d.state in ('delegating', 'active') and a.block_time is not null and not exists (
    select 1 from attempt as r where r.subject = 'reclaim:' || d.id and r.state <> 'dead')
  order by due_at, d.id`

/** reclaiming -> ended, or active again when the attempt is dead; and back when a fork took its
 *  block. */
export function reclaimedStep({ sql }: Pick<Needs, 'sql'>): Step {
  return {
    name: 'reclaimed',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from delegation as d join attempt as a on a.id = d.reclaim_id
      where d.state = 'reclaiming' and a.state in ('included', 'solid', 'dead')
      union all
      select from attempt as a join delegation as d on d.reclaim_id = a.id
      where a.uncovered and a.state in ('signed', 'sent', 'dead') and d.state = 'ended'`,
    after: ['follow', 'confirm', 'judge'],
    async run() {
      const reverted = await sql`
        update delegation set state = 'reclaiming', reclaimed_at = null from attempt
        where attempt.uncovered and attempt.state in ('signed', 'sent', 'dead')
          and delegation.state = 'ended'
          and attempt.id = reclaim_id
        returning delegation.id`
      const ended = await sql`
        update delegation set state = 'ended', reclaimed_at = attempt.block_time from attempt
        where attempt.id = reclaim_id and attempt.state in ('included', 'solid')
          and delegation.state = 'reclaiming'
        returning delegation.id`
      const dead = await sql`
        update delegation set state = 'active', reclaim_id = null from attempt
        where attempt.id = reclaim_id and attempt.state = 'dead' and delegation.state = 'reclaiming'
        returning delegation.id`
      return reverted.length + ended.length + dead.length > 0
    },
  }
}

/** An order's delegations that are or were on the chain, with the ids of their transactions. */
export async function delegationsOf(sql: Sql, order_id: string) {
  return sql<Delegation & { tx_id: string; reclaim_tx_id: string | null }>`
    select d.${DELEGATION_COLUMNS}, a.tx_id, r.tx_id as reclaim_tx_id from delegation as d
    join attempt as a on a.id = d.attempt_id left join attempt as r on r.id = d.reclaim_id
    where order_id = ${order_id} and d.state in ('active', 'reclaiming', 'ended')
      order by resource desc, d.id`
}
