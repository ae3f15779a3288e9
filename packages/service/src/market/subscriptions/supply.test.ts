// What one look at a subscription does, on rows written by hand and by what a node is made to say:
// at the exact limits.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { customerAccount, holdAll, moveAll, REVENUE, WORLD } from '../../ledger/accounts/ledger.ts'
import { later } from '../../lib/clock.ts'
import type { Fault } from '../../lib/fault.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { InvalidParams, ServiceUnavailable } from '../../platform/wire/endpoint.ts'
import { InvalidAddress } from '../../platform/wire/reading.ts'
import { type Needs, supplyStep } from './supply.ts'

const now = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => now }
const at = (ms: number) => later(clock, ms)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A plan of two idle hours puts to rest a quarter of an hour early. */
const IDLE_MS = 2 * HOUR_MS - 900_000

/** One that is active, and has the energy of one transaction for an hour, unless it says else. */
type Row = {
  state?: string
  order?: string
  look_ms?: number
  made_ms?: number
  idle_ms?: number
  expire_ms?: number
  resting?: string
  /** When its energy ends, and how much it is; 0 is none. */
  ends_ms?: number
  energy?: number
  /** When it was given back, in a block. */
  ended_ms?: number
  left?: bigint
  limit?: bigint
  unread?: number
  suspended?: boolean
  idle_hours?: number
  price_sun?: number
  balance_sun?: bigint
  /** An order by that name, of us or of another. */
  lost?: string
  lost_of?: string
  refusal?: () => Fault
}

type Look = {
  due?: boolean
  moved?: boolean
  state?: string
  look_ms?: number
  resting?: string | null
  asked?: number[]
  holds?: number
  own?: bigint
  supplies?: number
}

class Town {
  readonly sql: Sql
  count = 0

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<Town> {
    const { sql } = await freshDatabase(t)
    await sql`
      insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
      values (1000, 'head', ${now}, 900, 900, ${now})`
    await sql`insert into cursor (name, number) values ('other', 5)`
    await sql`insert into cursor (name, number) values ('subscriptions', 1000)`
    await sql`insert into pool (resource) values ('energy'), ('bandwidth') on conflict do nothing`
    await sql`update pool set total_limit = 1, total_weight = 1 where resource = 'energy'`
    await sql`update pool set total_limit = 9, total_weight = 1 where resource = 'bandwidth'`
    return new Town(sql)
  }

  async order(id: string, external_id: string, state: string, of = SUBSCRIPTIONS): Promise<void> {
    await this.sql`
      insert into orders (id, customer_id, external_id, service, address, energy, activate, state,
        to_delegate, amount_sun, tx_id, due_at, created_at)
      values (${id}, ${of}, ${external_id}, 'energy', 'bob', 1000, false, ${state}, false, 0, 'tx',
        ${now}, ${now})`
  }

  async delegation(order_id: string, energy: number, row: Row): Promise<void> {
    const { ends_ms = HOUR_MS, ended_ms } = row
    for (const [id, block_ms] of [
      [`${order_id} given`, -HOUR_MS],
      [`${order_id} back`, ended_ms ?? -HOUR_MS],
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
      values (${order_id}, ${order_id}, 'wallet', 'bob', 'energy', 1, ${energy * 1_000_000},
        ${ended ? 'ended' : 'active'}, ${`${order_id} given`}, ${ended ? `${order_id} back` : null},
        ${now}, ${at(ends_ms)}, ${ended ? now : null})`
  }

  async customer(id: string, balance_sun: bigint): Promise<void> {
    const deposit = { id: `deposit:${id}`, debit: WORLD, credit: customerAccount(id) }
    await this.sql.begin(async (tx) => {
      await makeCustomer(tx, { id, at: now })
      await moveAll(tx, [{ ...deposit, amount_sun: balance_sun, made_at: now }])
    })
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
    await this.customer(id, (row.balance_sun ?? 1_000n) + 100n)
    if (suspended) await this.sql`update customer set state = 'suspended' where id = ${id}`
    await this.plan(id, row)
    await this.order(`order of ${id}`, `${id}/1`, order)
    const order_id = state === 'new' ? null : `order of ${id}`
    await this.sql`
      insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
        activate_address, state, total_sun, supplies, order_id, look_at, created_at, idle_since,
        expire_at, resting, rested_at)
      select ${id}, ${id}, plan.id, ${`address of ${id}`}, 0, 0, true, ${state}, 100, 1,
        ${order_id}, ${at(look_ms)}, ${at(made_ms)}, ${at(idle_ms)},
        ${expire_ms === undefined ? null : at(expire_ms)}, ${resting}, ${resting && now}
      from plan where key = ${id}`
    const hold = { id: `subscription:${id}`, debit: customerAccount(id), credit: REVENUE }
    await this.sql.begin(async (tx) => holdAll(tx, [{ ...hold, amount_sun: 100n, made_at: now }]))
    await this.sql`
      insert into subscription_supply (subscription_id, order_id)
      values (${id}, ${`order of ${id}`})`
    if (energy > 0) await this.delegation(`order of ${id}`, energy, row)
    if (lost !== undefined)
      await this.order(`lost of ${id}`, `${id}/${lost}`, 'new', row.lost_of ?? SUBSCRIPTIONS)
    await this.sql`
      update cursor set number = ${1_000 - (row.unread ?? 0)} where name = 'subscriptions'`
  }

  /** What the step does with one such, and with nothing else. */
  async look(row: Row): Promise<Required<Look>> {
    const id = `s${++this.count}`
    await this.sql`update subscription set state = 'stopped', resting = null where id <> 'other'`
    await this.subscription(id, row)
    const asked: number[] = []
    const { left = 1_000n, limit = 1_000n, refusal } = row
    const needs = {
      sql: this.sql,
      clock,
      node: { resource: async () => ({ left, limit }) },
      tryOrder: async ({ energy }: { energy: number }) => {
        asked.push(energy)
        return refusal ? refusal() : { replayed: false, order: { id: 'made' } }
      },
    } as unknown as Needs
    const step = supplyStep(needs)
    const due = await isDue(this.sql, step)
    const moved = await step.run()
    const [after] = await this.sql<{
      state: string
      look_at: Date
      resting: string | null
      holds: number
      own: bigint
      supplies: number
    }>`
      select state, look_at, resting, holds_made as holds, own_energy as own, supplies
      from subscription where id = ${id}`
    const { look_at, ...others } = after!
    return { due, moved, asked, look_ms: look_at.getTime() - now.getTime(), ...others }
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
        JSON.stringify(row, (_, v) => `${v}` && (v?.toString() ?? v)),
      )
    }
  }
}

const QUIET = {
  due: true,
  moved: false,
  asked: [],
  state: 'active',
  look_ms: 60_000,
  resting: null,
}
const SUPPLIED = { due: true, moved: true, asked: [1_000] }

test('a look is due when its time has come, or what it waits for is there', async (t) => {
  const town = await Town.of(t)
  const never = { due: false, moved: false, asked: [] }
  await town.subscription('other', { look_ms: DAY_MS })
  await town.expect([
    [{}, QUIET],
    [{ look_ms: 1 }, never],
    [{ state: 'stopped' }, never],
    [{ state: 'expired' }, never],
    [{ state: 'error' }, never],
    [{ look_ms: 1, order: 'failed' }, never],
    [{ look_ms: 1, state: 'pending', order: 'pending' }, never],
    [
      { look_ms: 1, state: 'pending', order: 'success' },
      { due: true, state: 'active' },
    ],
    [
      { state: 'pending', order: 'success' },
      { moved: true, state: 'active' },
    ],
    [
      { look_ms: 1, state: 'pending', order: 'failed' },
      { due: true, state: 'error' },
    ],
    [
      { look_ms: 1, expire_ms: 0 },
      { due: true, moved: true, state: 'expired' },
    ],
    [{ look_ms: 1, expire_ms: 1 }, never],
    [{ look_ms: 1, state: 'new', expire_ms: 0 }, never],
  ])
  const [other] = await town.sql`select state, look_at, own_energy, supplies
    from subscription where id = 'other'`
  assert.deepEqual(
    other,
    { state: 'active', look_at: at(DAY_MS), own_energy: 0n, supplies: 1 },
    'one that is not due is left as it is',
  )
})

test('a start is supplied until ten minutes are over, and then an error', async (t) => {
  const town = await Town.of(t)
  const fresh = { state: 'new', energy: 0 }
  await town.expect([
    [{ ...fresh, made_ms: -600_000 }, SUPPLIED],
    [
      { ...fresh, made_ms: -600_001 },
      { moved: true, asked: [], state: 'error' },
    ],
    [
      { state: 'pending', order: 'failed' },
      { moved: true, asked: [], state: 'error' },
    ],
    [{ made_ms: -DAY_MS, order: 'failed' }, QUIET],
    // What holds an active one back does not hold back a start.
    [{ ...fresh, expire_ms: 0 }, SUPPLIED],
    [{ ...fresh, unread: 21 }, SUPPLIED],
    [{ ...fresh, suspended: true }, SUPPLIED],
    [{ ...fresh, idle_ms: -IDLE_MS }, SUPPLIED],
    [{ ...fresh, left: 0n }, SUPPLIED],
  ])
})

test('an active one waits for what is on its way, unread or not allowed', async (t) => {
  const town = await Town.of(t)
  const soon = { ends_ms: 0 }
  const waits = { due: true, moved: false, asked: [], state: 'active' }
  await town.expect([
    [{ ...soon }, SUPPLIED],
    [
      { ...soon, order: 'new' },
      { ...waits, look_ms: 500 },
    ],
    [
      { ...soon, order: 'pending' },
      { ...waits, look_ms: 500 },
    ],
    [
      { state: 'pending', order: 'new' },
      { ...waits, state: 'pending', look_ms: 500 },
    ],
    [{ ...soon, unread: 20 }, SUPPLIED],
    [
      { ...soon, unread: 21 },
      { ...waits, look_ms: 15_000 },
    ],
    [
      { ...soon, suspended: true },
      { ...waits, look_ms: 60_000 },
    ],
    [
      { ...soon, expire_ms: 0 },
      { asked: [], state: 'expired' },
    ],
    [{ ...soon, expire_ms: 1 }, SUPPLIED],
  ])
})

test('what ends within five minutes is renewed, and what is missing ordered', async (t) => {
  const town = await Town.of(t)
  await town.expect([
    [{ ends_ms: 300_000 }, SUPPLIED],
    [{ ends_ms: 300_001 }, QUIET],
    [{ left: 999n }, { moved: true, asked: [1] }],
    [{ left: 1_001n }, QUIET],
    [{ left: 0n }, SUPPLIED],
  ])
})

test('one that is idle rests when it would be renewed, and not before', async (t) => {
  const town = await Town.of(t)
  const soon = { ends_ms: 0 }
  const rests = { moved: true, asked: [], state: 'active', resting: 'idle' }
  await town.expect([
    [
      { ...soon, idle_ms: -IDLE_MS },
      { ...rests, look_ms: DAY_MS },
    ],
    [{ ...soon, idle_ms: -IDLE_MS + 1 }, SUPPLIED],
    [{ ...soon, idle_ms: -DAY_MS, idle_hours: 0 }, SUPPLIED],
    [{ ...soon, idle_ms: -HOUR_MS, idle_hours: 1 }, rests],
    [{ idle_ms: -IDLE_MS }, QUIET],
    [
      { ...soon, idle_ms: -IDLE_MS, expire_ms: HOUR_MS },
      { ...rests, look_ms: HOUR_MS },
    ],
    [
      { ...soon, idle_ms: -IDLE_MS, expire_ms: 2 * DAY_MS },
      { ...rests, look_ms: DAY_MS },
    ],
    [
      { ...soon, resting: 'idle' },
      { ...rests, moved: false, look_ms: DAY_MS },
    ],
    [{ resting: 'daily_cap' }, QUIET],
    [{ ...soon, resting: 'daily_cap', idle_ms: -IDLE_MS }, SUPPLIED],
  ])
})

test('the price of each transaction that its energy is for is held, or it ends', async (t) => {
  const town = await Town.of(t)
  const priced = { price_sun: 100 }
  const ends = { moved: true, asked: [], state: 'stopped', holds: 0 }
  await town.expect([
    [priced, { ...QUIET, holds: 1 }],
    [
      { ...priced, left: 999n },
      { asked: [1], holds: 1 },
    ],
    [
      { ...priced, ends_ms: 0 },
      { asked: [1_000], holds: 2 },
    ],
    [
      { ...priced, energy: 1_100, left: 1_100n, limit: 1_100n },
      { ...QUIET, holds: 1 },
    ],
    [
      { ...priced, energy: 1_101, left: 1_101n, limit: 1_101n },
      { ...QUIET, holds: 2 },
    ],
    [
      { ...priced, balance_sun: 100n },
      { ...QUIET, holds: 1 },
    ],
    [{ ...priced, balance_sun: 99n }, ends],
    [{ ...priced, left: 999n, balance_sun: 99n }, ends],
    // Enough for what is there, until that ends.
    [
      { ...priced, ends_ms: 0, balance_sun: 199n },
      { ...QUIET, holds: 1 },
    ],
    [
      { ...priced, ends_ms: 0, balance_sun: 200n },
      { asked: [1_000], holds: 2 },
    ],
  ])
})

test('what was ordered for its next supply and not noted is its supply', async (t) => {
  const town = await Town.of(t)
  await town.expect([
    [{ lost: '2' }, { moved: true, asked: [], supplies: 2, look_ms: 0 }],
    [{ lost: '3' }, { ...QUIET, supplies: 1 }],
    [
      { lost: '2', lost_of: 'anna' },
      { ...QUIET, supplies: 1 },
    ],
  ])
})

test('a refused supply is tried again, and the address given up if that is why', async (t) => {
  const town = await Town.of(t)
  const soon = { ends_ms: 0 }
  const again = { moved: false, asked: [1_000], state: 'active', look_ms: 3_000 }
  await town.expect([
    [{ ...soon, refusal: () => ServiceUnavailable() }, again],
    [{ ...soon, refusal: () => InvalidParams() }, again],
    [
      { ...soon, refusal: () => InvalidAddress(undefined, 'It is a contract') },
      { moved: true, asked: [1_000], state: 'stopped' },
    ],
  ])
})

test("energy beside ours is the address's own from a hundredth of one on", async (t) => {
  const town = await Town.of(t)
  const back = { left: 0n, limit: 1_000n }
  await town.expect([
    [{ limit: 1_009n }, { own: 0n }],
    [{ limit: 1_010n }, { own: 10n }],
    [{ energy: 0 }, { own: 1_000n }],
    // Given back so shortly before that a node may still show it.
    [
      { ...back, ended_ms: -59_999 },
      { own: 0n, asked: [1_000] },
    ],
    [
      { ...back, ended_ms: -60_000 },
      { own: 1_000n, asked: [1_000] },
    ],
  ])
})
