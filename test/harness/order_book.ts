// Rows of orders with their parts and activations, for tests of what the steps do with them.

import type { TestContext } from 'node:test'
import {
  customerAccount,
  holdAll,
  moveAll,
  REVENUE,
  WORLD,
} from 'penstock-service/ledger/accounts/ledger.ts'
import { ORDER_COLUMNS, type Order } from 'penstock-service/market/orders/forms.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { makeCustomer } from './customer_rows.ts'
import { freshDatabase } from './database.ts'

export const now = new Date('2026-10-08T15:26:32Z')
export const ago = (minutes: number) => new Date(now.getTime() - minutes * 60_000)
export const clock = { now: () => now }

export type OrderRow = {
  state?: string
  service?: 'energy' | 'activate_address'
  activation_id?: string
  to_delegate?: boolean
  created_at?: Date
  due_at?: Date
  fee_sun?: bigint
}

/** In the way that the steps know what became of an attempt. */
type Attempt = { state?: string; uncovered?: boolean }

export class OrderBook {
  readonly sql: Sql

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<OrderBook> {
    const { sql } = await freshDatabase(t)
    const account = customerAccount('anna')
    await sql.begin(async (tx) => {
      await makeCustomer(tx, { id: 'anna', at: now })
      const deposit = { id: 'deposit:1', debit: WORLD, credit: account }
      await moveAll(tx, [{ ...deposit, amount_sun: 1_000n, made_at: ago(300) }])
    })
    await sql`
      insert into chain (head_number, head_id, head_time, solid_number, seen_at, confirmed_number)
      values (100, 'head', ${now}, 81, ${now}, 81)`
    await sql`update pool set reserved = 1000`
    return new OrderBook(sql)
  }

  /** One of energy that is open, all asked for, a minute old and due, and its price held. */
  async order(id: string, row: OrderRow = {}): Promise<void> {
    const { state = 'pending', service = 'energy', to_delegate = false } = row
    const { created_at = ago(1), due_at = ago(1), activation_id = null, fee_sun = 0n } = row
    await this.sql`
      insert into orders (id, customer_id, service, address, energy, activate, activation_id, state,
        to_delegate, amount_sun, fee_sun, tx_id, due_at, created_at)
      values (${id}, 'anna', ${service}, 'bob', ${service === 'energy' ? 50 : 0}, true,
        ${activation_id}, ${state}, ${to_delegate}, ${1n + fee_sun}, ${fee_sun},
        ${state === 'success' ? 'tx' : null}, ${due_at}, ${created_at})`
    const hold = { id: `order:${id}`, debit: customerAccount('anna'), credit: REVENUE }
    await this.sql.begin(async (tx) =>
      holdAll(tx, [{ ...hold, amount_sun: 1n + fee_sun, made_at: created_at }]),
    )
  }

  async attempt(id: string, { state = 'included', uncovered = false }: Attempt): Promise<void> {
    const in_block = state === 'included' || state === 'solid'
    await this.sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_time, uncovered)
      values (${id}, ${id}, '{}', ${state}, ${`tx of ${id}`}, '', ${now}, ${now}, ${now},
        ${in_block ? 90 : null}, ${in_block ? now : null}, ${uncovered})`
  }

  /** One that has its transaction, and is over when it is ended. */
  async activation(id: string, state: string, attempt?: Attempt): Promise<void> {
    await this.attempt(id, attempt ?? { state: state === 'activating' ? 'sent' : 'included' })
    await this.sql`
      insert into activation (id, address, state, attempt_id, made_at)
      values (${id}, ${id}, ${state}, ${id}, ${now})`
  }

  async delegation(order_id: string, state: string, attempt: Attempt = {}): Promise<void> {
    const id = `${order_id} ${state}`
    await this.attempt(id, attempt)
    const reclaimed = state === 'reclaiming' || state === 'ended'
    if (reclaimed) await this.attempt(`${id} back`, {})
    const at = state === 'delegating' || state === 'failed' ? null : now
    await this.sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
      values (${id}, ${order_id}, 'wallet', 'bob', 'energy', 50, 1000000, ${state}, ${id},
        ${reclaimed ? `${id} back` : null}, ${at}, ${at}, ${state === 'ended' ? now : null})`
  }

  async states(): Promise<string[]> {
    const rows = await this.sql<{ id: string; state: string }>`
      select id, state from orders order by id`
    return rows.map(({ id, state }) => `${id}: ${state}`)
  }

  /** The orders of which a moment is noted. */
  async noted(column: 'ended_at' | 'solid_at' | 'ending_at' | 'delayed_at'): Promise<string[]> {
    const rows = await this.sql<Record<string, unknown> & { id: string }>`
      select id, ended_at, solid_at, ending_at, delayed_at from orders order by id`
    return rows.filter((row) => row[column] !== null).map(({ id }) => id)
  }

  read(...ids: string[]): Promise<Order[]> {
    return this.sql<Order>`select ${ORDER_COLUMNS} from orders where id = any(${ids})`
  }
}
