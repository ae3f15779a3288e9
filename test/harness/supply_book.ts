// Rows of subscriptions that are supplied, each with an order and energy of its own, for tests of
// what one look at each does.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import {
  customerAccount,
  holdAll,
  moveAll,
  REVENUE,
  WORLD,
} from 'penstock-service/ledger/accounts/ledger.ts'
import { later } from 'penstock-service/lib/clock.ts'
import type { Fault } from 'penstock-service/lib/fault.ts'
import { type Needs, supplyStep } from 'penstock-service/market/subscriptions/supply.ts'
import { SUBSCRIPTIONS } from 'penstock-service/people/customers/customers.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { makeCustomer } from './customer_rows.ts'
import { freshDatabase } from './database.ts'
import { isDue } from './is_due.ts'

export const now = new Date('2026-10-08T15:26:32Z')
export const clock = { now: () => now }
export const at = (ms: number) => later(clock, ms)
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** A plan of two idle hours puts to rest a quarter of an hour early. */
export const IDLE_MS = 2 * HOUR_MS - 900_000

/** One that is active, and has the energy of one transaction for an hour, unless it says else. */
export type Row = {
  state?: string
  order?: string
  look_ms?: number
  made_ms?: number
  idle_ms?: number
  expire_ms?: number
  resting?: string
  rested_ms?: number
  withdrawn?: boolean
  /** When its energy ends, and how much it is; 0 is none. */
  ends_ms?: number
  energy?: number
  /** When it was given back, in a block. */
  ended_ms?: number
  left?: bigint
  limit?: bigint
  unread?: number
  /** How many transactions it may have, and has had. */
  uses_max?: number
  used?: number
  suspended?: boolean
  idle_hours?: number
  price_sun?: number
  balance_sun?: bigint
  /** An order by that name, of us or of another. */
  lost?: string
  lost_of?: string
  refusal?: () => Fault
  /** What its key may spend in a day; left out: no key has started it. */
  cap_sun?: bigint
  /** Energy of another resource that was delegated beside it. */
  bandwidth?: number
  /** What was ordered is an order that was there already. */
  replayed?: boolean
  /** What another process does while the node, or the pool, is asked. */
  meanwhile?: (sql: Sql) => Promise<unknown>
}

export type Look = {
  due?: boolean
  moved?: boolean
  state?: string
  reason?: string | null
  look_ms?: number
  resting?: string | null
  rested_ms?: number | null
  withdrawn?: boolean
  asked?: number[]
  holds?: number
  own?: bigint
  supplies?: number
}

type Purchase = Parameters<Needs['tryOrder']>[0]

export class SupplyBook {
  readonly sql: Sql
  count = 0
  /** What was ordered last. */
  ordered: Purchase | undefined

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<SupplyBook> {
    const { sql } = await freshDatabase(t)
    await sql`
      insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
      values (1000, 'head', ${now}, 900, 900, ${now})`
    await sql`insert into cursor (name, number) values ('other', 5)`
    await sql`insert into cursor (name, number) values ('subscriptions', 1000)`
    await sql`insert into pool (resource) values ('energy'), ('bandwidth') on conflict do nothing`
    await sql`update pool set total_limit = 1, total_weight = 1 where resource = 'energy'`
    await sql`update pool set total_limit = 9, total_weight = 1 where resource = 'bandwidth'`
    return new SupplyBook(sql)
  }

  async order(id: string, external_id: string, state: string, of = SUBSCRIPTIONS): Promise<void> {
    await this.sql`
      insert into orders (id, customer_id, external_id, service, address, energy, activate, state,
        to_delegate, amount_sun, tx_id, due_at, created_at)
      values (${id}, ${of}, ${external_id}, 'energy', 'bob', 1000, false, ${state}, false, 0, 'tx',
        ${now}, ${now})`
  }

  async delegation(
    order_id: string,
    amount: number,
    { ends_ms = HOUR_MS, ended_ms }: Row,
    resource = 'energy',
  ): Promise<void> {
    const name = `${order_id} ${resource}`
    for (const [id, block_ms] of [
      [`${name} given`, -HOUR_MS],
      [`${name} back`, ended_ms ?? -HOUR_MS],
    ] as const)
      await this.sql`
        insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
          made_at, block_number, block_time)
        values (${id}, ${id}, '{}', 'included', ${id}, '', ${now}, ${now}, ${now}, 950,
          ${at(block_ms)})`
    const ended = ended_ms !== undefined
    await this.sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
      values (${name}, ${order_id}, 'wallet', 'bob', ${resource}, 1, ${amount * 1_000_000},
        ${ended ? 'ended' : 'active'}, ${`${name} given`}, ${ended ? `${name} back` : null},
        ${now}, ${at(ends_ms)}, ${ended ? now : null})`
  }

  async customer(id: string, balance_sun: bigint): Promise<void> {
    const deposit = { id: `deposit:${id}`, debit: WORLD, credit: customerAccount(id) }
    await this.sql.begin(async (tx) => {
      await makeCustomer(tx, { id, at: now })
      await moveAll(tx, [{ ...deposit, amount_sun: balance_sun, made_at: now }])
    })
  }

  async key(id: string, cap_sun: bigint): Promise<void> {
    await this.sql`
      insert into api_key (id, customer_id, name, token_hash, sealed_secret, require_v2,
        created_at, secret_made_at, daily_cap_sun)
      values (${`key of ${id}`}, ${id}, 'key', encode(sha256(${id}::text::bytea), 'hex'), '', false,
        ${now}, ${now}, ${cap_sun})`
  }

  async plan(id: string, { idle_hours = 2, price_sun = 0 }: Row): Promise<void> {
    await this.sql`
      insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included,
        transactions_limit, duration_days, energy_per_transaction, idle_hours, changed_by)
      values (${id}, ${id}, 0, 100, ${price_sun}, 0, 0, 0, 1000, ${idle_hours}, 'olga')`
  }

  async subscription(id: string, row: Row): Promise<void> {
    const { state = 'active', order = 'success', look_ms = 0, made_ms = 0, idle_ms = 0 } = row
    const { expire_ms, resting = null, energy = 1_000, suspended = false, lost } = row
    const { rested_ms = 0, withdrawn = false, cap_sun } = row
    await this.customer(id, (row.balance_sun ?? 1_000n) + 100n)
    if (cap_sun !== undefined) await this.key(id, cap_sun)
    if (suspended) await this.sql`update customer set state = 'suspended' where id = ${id}`
    await this.plan(id, row)
    await this.order(`order of ${id}`, `${id}/1`, order)
    const order_id = state === 'new' ? null : `order of ${id}`
    await this.sql`
      insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
        activate_address, state, total_sun, supplies, order_id, look_at, created_at, idle_since,
        expire_at, resting, rested_at, withdrawn, key_id, transactions_used)
      select ${id}, ${id}, plan.id, ${`address of ${id}`}, 0, ${row.uses_max ?? 0}, true,
        ${state}, 100, 1,
        ${order_id}, ${at(look_ms)}, ${at(made_ms)}, ${at(idle_ms)},
        ${expire_ms === undefined ? null : at(expire_ms)}, ${resting},
        ${resting && at(rested_ms)}, ${withdrawn}, ${cap_sun === undefined ? null : `key of ${id}`},
        ${row.used ?? 0}
      from plan where key = ${id}`
    const hold = { id: `subscription:${id}`, debit: customerAccount(id), credit: REVENUE }
    await this.sql.begin(async (tx) => holdAll(tx, [{ ...hold, amount_sun: 100n, made_at: now }]))
    await this.sql`
      insert into subscription_supply (subscription_id, order_id)
      values (${id}, ${`order of ${id}`})`
    if (energy > 0) await this.delegation(`order of ${id}`, energy, row)
    if (row.bandwidth !== undefined)
      await this.delegation(`order of ${id}`, row.bandwidth, row, 'bandwidth')
    if (row.replayed) await this.order('made', 'made before', 'new')
    if (lost !== undefined)
      await this.order(`lost of ${id}`, `${id}/${lost}`, 'new', row.lost_of ?? SUBSCRIPTIONS)
    await this.sql`
      update cursor set number = ${1_000 - (row.unread ?? 0)} where name = 'subscriptions'`
  }

  /** What the step does with one such; beside it there is only one that is called `other`. */
  async look(row: Row): Promise<Required<Look>> {
    const id = `s${++this.count}`
    await this.sql`update subscription set state = 'stopped', resting = null where id <> 'other'`
    await this.subscription(id, row)
    const asked: number[] = []
    const { left = 1_000n, limit = 1_000n, refusal, replayed = false, meanwhile } = row
    const needs = {
      sql: this.sql,
      clock,
      node: {
        resource: async () => {
          await meanwhile?.(this.sql)
          return { left, limit }
        },
      },
      tryOrder: async (purchase: Purchase) => {
        this.ordered = purchase
        asked.push(purchase.energy)
        if (row.state === 'new') await meanwhile?.(this.sql)
        return refusal ? refusal() : { replayed, order: { id: 'made' } }
      },
    } as unknown as Needs
    const step = supplyStep(needs)
    const due = await isDue(this.sql, step)
    const moved = await step.run()
    const [after] = await this.sql<{
      state: string
      reason: string | null
      look_at: Date
      resting: string | null
      rested_at: Date | null
      withdrawn: boolean
      holds: number
      own: bigint
      supplies: number
    }>`
      select state, reason, look_at, resting, rested_at, withdrawn, holds_made as holds,
        own_energy as own, supplies
      from subscription where id = ${id}`
    const { look_at, rested_at, ...others } = after!
    const rested_ms = rested_at && rested_at.getTime() - now.getTime()
    const look_ms = look_at.getTime() - now.getTime()
    return { due, moved, asked, look_ms, rested_ms, ...others }
  }

  /** Holds each look against what is said of it. */
  async expect(rows: readonly [row: Row, look: Look][]): Promise<void> {
    for (const [row, look] of rows) {
      const all = await this.look(row)
      const seen = Object.fromEntries(
        Object.keys(look).map((name) => [name, all[name as keyof Look]]),
      )
      assert.deepEqual(
        seen,
        look,
        JSON.stringify(row, (_, v) => (['bigint', 'function'].includes(typeof v) ? String(v) : v)),
      )
    }
  }
}
