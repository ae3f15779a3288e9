// Rows of delegations, for tests of what is read of them.

import { person } from 'penstock-devchain/scene.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'

/** The wallet that they are of, unless they say another. */
export const wallet = person('pool').address
/** The block in which they were delegated. */
export const begun_at = new Date('2026-10-08T12:00:00Z')
export const HOUR_MS = 3_600_000

export type DelegationRow = {
  id: string
  state: string
  /** The states of the attempts that give it and take it back. */
  attempt?: string
  reclaim?: string
  /** Of the attempt that takes it back, if there is one, else of the other. */
  uncovered?: boolean
  order?: string
  delegated_at?: Date
  expires_at?: Date
  of_wallet?: string
  resource?: string
  stake_sun?: bigint
  block_number?: number
}

const HAS_RECLAIM = ['reclaiming', 'ended']
const WITHOUT_TIMES = ['delegating', 'failed']

type AttemptRow = { key: string; state: string; uncovered: boolean; block_number: number }

function insertAttempt(sql: Sql, { key, state, uncovered, block_number }: AttemptRow) {
  const in_block = ['included', 'solid'].includes(state)
  const tx_id = state === 'new' ? null : key
  return sql`
    insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at,
      block_number, block_time, uncovered)
    values (${key}, ${key}, '{}', ${state}, ${tx_id}, ${tx_id && Buffer.alloc(0)},
      ${tx_id && begun_at}, now(), now(), ${in_block ? block_number : null},
      ${in_block ? begun_at : null}, ${uncovered})`
}

/** A delegation with an order of its own, and the attempts that give it and take it back. */
export async function insertDelegation(sql: Sql, one: DelegationRow): Promise<void> {
  const { id, state, attempt = 'solid', reclaim = 'included', order = 'success' } = one
  const { resource = 'energy', stake_sun = 1_000_000n, block_number = 5, uncovered = false } = one
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
      amount_sun, tx_id, due_at, created_at)
    values (${`order of ${id}`}, 'anna', 'energy', 'bob', 1, false, ${order}, false, 0, 'tx', now(),
      now())`
  const reclaim_id = HAS_RECLAIM.includes(state) ? `reclaim:${id}` : null
  const given = { key: `delegate:${id}`, state: attempt, block_number }
  await insertAttempt(sql, { ...given, uncovered: uncovered && reclaim_id === null })
  if (reclaim_id)
    await insertAttempt(sql, { key: reclaim_id, state: reclaim, uncovered, block_number })
  const delegated_at = WITHOUT_TIMES.includes(state) ? null : (one.delegated_at ?? begun_at)
  const over_at = one.expires_at ?? new Date(begun_at.getTime() + HOUR_MS)
  await sql`
    insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
      attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
    values (${id}, ${`order of ${id}`}, ${one.of_wallet ?? wallet}, ${person('bob').address},
      ${resource}, 1, ${stake_sun}, ${state}, ${`delegate:${id}`}, ${reclaim_id}, ${delegated_at},
      ${delegated_at && over_at}, ${state === 'ended' ? over_at : null})`
}
