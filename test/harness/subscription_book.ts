// Rows of subscriptions with their orders and delegations, for tests of what is done with them.

import type { TestContext } from 'node:test'
import {
  customerAccount,
  holdAll,
  moveAll,
  REVENUE,
  WORLD,
} from 'penstock-service/ledger/accounts/ledger.ts'
import { later } from 'penstock-service/lib/clock.ts'
import { SUBSCRIPTIONS } from 'penstock-service/people/customers/customers.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { makeCustomer } from './customer_rows.ts'
import { freshDatabase } from './database.ts'

export const now = new Date('2026-10-08T15:26:32Z')
export const clock = { now: () => now }

export const STATES = ['new', 'pending', 'active', 'stopped', 'expired', 'error']

type Row = { state?: string; withdrawn?: boolean; resting?: string | null; supplies?: number }
type OrderRow = { state?: string; solid?: boolean; customer_id?: string }

export class SubscriptionBook {
  readonly sql: Sql

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<SubscriptionBook> {
    const { sql } = await freshDatabase(t)
    const deposit = { id: 'deposit:1', debit: WORLD, credit: customerAccount('anna') }
    await sql.begin(async (tx) => {
      await makeCustomer(tx, { id: 'anna', at: now })
      await moveAll(tx, [{ ...deposit, amount_sun: 10_000n, made_at: now }])
    })
    return new SubscriptionBook(sql)
  }

  /** One whose start costs 100 sun, which are held. */
  async subscription(id: string, row: Row = {}): Promise<void> {
    const { state = 'stopped', withdrawn = false, resting = null, supplies = 0 } = row
    await this.sql`
      insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
        activate_address, state, total_sun, supplies, look_at, created_at, withdrawn, resting,
        rested_at, idle_since)
      select ${id}, 'anna', min(id), ${`address of ${id}`}, 0, 0, true, ${state}, 100, ${supplies},
        ${now}, ${now}, ${withdrawn}, ${resting}, ${resting === null ? null : now}, ${now}
      from plan`
    const hold = { id: `subscription:${id}`, debit: customerAccount('anna'), credit: REVENUE }
    await this.sql.begin(async (tx) => holdAll(tx, [{ ...hold, amount_sun: 100n, made_at: now }]))
  }

  /** An order for a supply of a subscription, by its external id. */
  async order(external_id: string, row: OrderRow = {}): Promise<void> {
    const { state = 'success', solid = false, customer_id = SUBSCRIPTIONS } = row
    await this.sql`
      insert into orders (id, customer_id, external_id, service, address, energy, activate, state,
        to_delegate, amount_sun, tx_id, due_at, created_at, solid_at)
      values (${`${customer_id} ${external_id}`}, ${customer_id}, ${external_id}, 'energy', 'bob',
        50, false, ${state}, false, 0, ${state === 'success' ? 'tx' : null}, ${now}, ${now},
        ${solid ? now : null})`
  }

  async attempt(id: string, state: string, block_number = 90): Promise<void> {
    const in_block = state === 'included' || state === 'solid'
    await this.sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_time)
      values (${id}, ${id}, '{}', ${state}, ${id}, '', ${now}, ${now}, ${now},
        ${in_block ? block_number : null}, ${in_block ? now : null})`
  }

  /** A delegation of an order that is a supply, and is being taken back, or was. */
  async taken(external_id: string, reclaim: string, block_number = 90): Promise<void> {
    const order_id = `${SUBSCRIPTIONS} ${external_id}`
    await this.order(external_id)
    await this.attempt(`${order_id} given`, 'solid')
    await this.attempt(`${order_id} back`, reclaim, block_number)
    const state = reclaim === 'sent' ? 'reclaiming' : 'ended'
    await this.sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
      values (${order_id}, ${order_id}, 'wallet', 'bob', 'energy', 50, 1000000, ${state},
        ${`${order_id} given`}, ${`${order_id} back`}, ${now}, ${now},
        ${state === 'ended' ? now : null})`
    await this.supply(external_id)
  }

  /** A delegation of an order that is a supply, and lies at the address for another hour. */
  async given(external_id: string, state = 'active'): Promise<void> {
    const order_id = `${SUBSCRIPTIONS} ${external_id}`
    await this.order(external_id)
    await this.attempt(`${order_id} given`, 'solid')
    await this.attempt(`${order_id} back`, 'sent')
    await this.sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id, reclaim_id, delegated_at, expires_at)
      values (${order_id}, ${order_id}, 'wallet', 'bob', 'energy', 50, 1000000, ${state},
        ${`${order_id} given`}, ${state === 'active' ? null : `${order_id} back`}, ${now},
        ${later(clock, 3_600_000)})`
    await this.supply(external_id)
  }

  /** Notes that an order is a supply, of the subscription that its external id names. */
  async supply(external_id: string): Promise<void> {
    await this.sql`
      insert into subscription_supply (subscription_id, order_id)
      values (${external_id.split('/')[0]!}, ${`${SUBSCRIPTIONS} ${external_id}`})`
  }

  /** Confirmed until block 10. */
  async chain(head_time: Date, head_number = 20): Promise<void> {
    await this.sql`
      insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
      values (${head_number}, 'head', ${head_time}, 10, 10, ${now})`
  }

  async supplied(): Promise<string[]> {
    const rows = await this.sql<{ subscription_id: string; external_id: string }>`
      select subscription_id, external_id from subscription_supply
      join orders on orders.id = order_id order by external_id`
    return rows.map(({ subscription_id, external_id }) => `${subscription_id}: ${external_id}`)
  }

  async withdrawn(): Promise<string[]> {
    const rows = await this.sql<{ id: string }>`
      select id from subscription where withdrawn order by id`
    return rows.map(({ id }) => id)
  }
}
