// What a use of a subscribed address is paid by, what it ends and wakes, and what is given back
// when a fork has taken it away: on rows written by hand, each of a customer of its own.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Address } from 'penstock-tron/address.ts'
import { type EnergyUse, pack } from '../../chain/follow/contents.ts'
import {
  customerAccount,
  holdAll,
  moveAll,
  REVENUE,
  spendable,
  WORLD,
} from '../../ledger/accounts/ledger.ts'
import { later } from '../../lib/clock.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { leastPriceOf, readPrices } from '../prices/prices.ts'
import { confirmUsesStep, useStep } from './uses.ts'

const now = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => now }
const at = (ms: number) => later(clock, ms)
const TODAY = '2026-10-08'
const YESTERDAY = '2026-10-07'
const DAY_MS = 86_400_000
const BLOCK = 95
/** When the block came whose uses are counted. */
const block_time = at(-3_000)
/** More than what was used has cost by orders: the start pays nothing. */
const MUCH_SUN = 10n ** 12n

/** One that is active, of which a transaction costs 100 sun and takes 1,000 of energy, and of whose
 *  energy some lies at its address, unless it says else. */
type Row = {
  state?: string
  stopped_at?: Date
  resting?: string
  rested_at?: Date
  withdrawn?: boolean
  price_sun?: bigint
  included?: number
  limit?: number
  plan_limit?: number
  used?: number
  holds?: number
  held_at?: Date
  free_sun?: bigint
  /** What its key may spend in a day; null: any amount. Left out: no key has started it. */
  cap_sun?: bigint | null
  spent_sun?: bigint
  total_sun?: bigint
  by_orders_sun?: bigint
  initial_sun?: bigint
  supplied?: boolean
}

type CountedRow = {
  number?: number
  energy?: bigint
  own?: bigint
  charged?: bigint
  solid?: boolean
}

class UseBook {
  readonly sql: Sql
  readonly needs: { sql: Sql; clock: typeof clock }

  constructor(sql: Sql) {
    this.sql = sql
    this.needs = { sql, clock }
  }

  static async of(t: TestContext): Promise<UseBook> {
    const { sql } = await freshDatabase(t)
    await sql`
      insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
      values (${BLOCK}, 'head', ${now}, ${BLOCK}, ${BLOCK}, ${now})`
    await sql`insert into cursor (name, number) values ('subscriptions', ${BLOCK - 1})`
    return new UseBook(sql)
  }

  async add(id: string, row: Row = {}): Promise<void> {
    await this.#customer(id, row)
    const { price_sun = 100n, included = 0, plan_limit = 0, initial_sun = 0n } = row
    const { state = 'active', stopped_at = null, resting = null, withdrawn = false } = row
    const { limit = 0, used = 0, holds = 0, total_sun = 0n, by_orders_sun = MUCH_SUN } = row
    const order_id = `order of ${id}`
    await this.sql`
      insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included,
        transactions_limit, duration_days, energy_per_transaction, idle_hours, changed_by)
      values (${id}, ${id}, 0, ${initial_sun}, ${price_sun}, ${included}, ${plan_limit}, 0, 1000,
        2, 'olga')`
    await this.#delegation(order_id, row)
    await this.sql`
      insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
        activate_address, state, total_sun, supplies, order_id, look_at, created_at, started_at,
        stopped_at, idle_since, resting, rested_at, withdrawn, transactions_used, by_orders_sun,
        holds_made, key_id)
      select ${id}, ${id}, plan.id, ${`address of ${id}`}, 0, ${limit}, true, ${state},
        ${total_sun}, 1, ${order_id}, ${at(DAY_MS)}, ${now}, ${now}, ${stopped_at}, ${at(-DAY_MS)},
        ${resting}, ${resting === null ? null : (row.rested_at ?? now)}, ${withdrawn}, ${used},
        ${by_orders_sun}, ${holds}, ${row.cap_sun === undefined ? null : `key of ${id}`}
      from plan where key = ${id}`
    await this.sql`
      insert into subscription_supply (subscription_id, order_id) values (${id}, ${order_id})`
  }

  /** With so much money beside what is held, and a key that has spent what is held, or more. */
  async #customer(id: string, row: Row): Promise<void> {
    const { holds = 0, held_at = now, price_sun = 100n, free_sun = 1_000n, cap_sun } = row
    const account = customerAccount(id)
    const held_sun = BigInt(holds) * price_sun
    const deposit = { id: `deposit:${id}`, debit: WORLD, credit: account, made_at: now }
    await this.sql.begin(async (tx) => {
      await makeCustomer(tx, { id, at: now })
      const amount_sun = free_sun + held_sun
      if (amount_sun > 0n) await moveAll(tx, [{ ...deposit, amount_sun }])
      const holding = { debit: account, credit: REVENUE, amount_sun: price_sun, made_at: held_at }
      const numbers = Array.from({ length: holds }, (_, i) => i + 1)
      holdAll(
        tx,
        numbers.map((one) => ({ ...holding, id: `subscription:${id}/next/${one}` })),
      )
    })
    if (cap_sun === undefined) return
    await this.sql`
      insert into api_key (id, customer_id, name, token_hash, sealed_secret, require_v2,
        created_at, secret_made_at, daily_cap_sun)
      values (${`key of ${id}`}, ${id}, 'key', encode(sha256(${id}::text::bytea), 'hex'), '', false,
        ${now}, ${now}, ${cap_sun})`
    await this.sql`
      insert into api_key_spending (key_id, day, spent_sun)
      values (${`key of ${id}`}, ${TODAY}, ${row.spent_sun ?? 0n}), (${`key of ${id}`},
        ${YESTERDAY}, 500)`
  }

  async #delegation(order_id: string, { supplied = true }: Row): Promise<void> {
    await this.sql`
      insert into orders (id, customer_id, external_id, service, address, energy, activate, state,
        to_delegate, amount_sun, tx_id, due_at, created_at)
      values (${order_id}, ${SUBSCRIPTIONS}, ${order_id}, 'energy', 'bob', 1000, false, 'success',
        false, 0, 'tx', ${now}, ${now})`
    await this.sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_time)
      values (${order_id}, ${order_id}, '{}', 'included', ${order_id}, '', ${now}, ${now}, ${now},
        ${supplied ? 50 : BLOCK}, ${now})`
    await this.sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id, delegated_at, expires_at)
      values (${order_id}, ${order_id}, 'wallet', 'bob', 'energy', 1000, 1000000, 'active',
        ${order_id}, ${now}, ${now})`
  }

  async block(number: number, energy_uses: EnergyUse[]): Promise<void> {
    const nothing = { moves: [], unfollowed: [], unknown: [], fees: [], freezes: [] }
    await this.sql`
      insert into block (number, id, parent_id, time, contents, read_from, outcomes_sha256)
      values (${number}, ${`b${number}`}, ${`b${number - 1}`}, ${block_time},
        ${pack({ ...nothing, energy_uses })}, '{one}', '')`
  }

  /** Reads a block in which each that is named has used the energy of so many transactions. */
  async use(uses: Record<string, number>): Promise<void> {
    await this.block(
      BLOCK,
      Object.entries(uses).map(([id, count]) => used(id, count)),
    )
    assert.equal(await useStep(this.needs).run(), true)
  }

  /** A use that was counted yesterday, of 1,000 and charged with 100 sun, unless it says else. */
  async counted(id: string, tx_id: string, row: CountedRow = {}): Promise<void> {
    const { number = 80, energy = 1_000n, own = 0n, charged = 100n, solid = false } = row
    await this.sql`
      insert into subscription_use (subscription_id, tx_id, energy, transactions, charged_sun,
        used_at, block_number, own_energy, by_orders_sun, solid)
      values (${id}, ${tx_id}, ${energy}, 1, ${charged}, ${at(-DAY_MS)}, ${number}, ${own}, 7,
        ${solid})`
  }

  /** In so many runs, and no more. */
  async confirm(runs = 1): Promise<void> {
    for (let i = 0; i < runs; i++) assert.equal(await confirmUsesStep(this.needs).run(), true)
    assert.equal(await confirmUsesStep(this.needs).run(), false)
  }

  /** Each use that is counted: what it has cost, and whether it is certain. */
  async uses(): Promise<string[]> {
    const rows = await this.sql<Record<'id' | 'tx_id', string> & { sun: bigint; solid: boolean }>`
      select subscription_id as id, tx_id, charged_sun as sun, solid from subscription_use
      order by id, tx_id`
    return rows.map(({ id, tx_id, sun, solid }) => `${id}, ${tx_id}: ${sun} ${solid}`)
  }

  /** What was given back: by which entry, and how much. */
  async back(): Promise<string[]> {
    const rows = await this.sql<{ id: string; amount_sun: bigint }>`
      select id, amount_sun from transfer where debit = ${REVENUE} order by id`
    return rows.map(({ id, amount_sun }) => `${id}: ${amount_sun}`)
  }

  async spent(id: string, day = TODAY): Promise<bigint | undefined> {
    const [row] = await this.sql<{ spent_sun: bigint }>`
      select spent_sun from api_key_spending where key_id = ${`key of ${id}`} and day = ${day}`
    return row?.spent_sun
  }
}

const used = (id: string, count: number): EnergyUse => ({
  tx_id: `tx of ${id}`,
  owner: `address of ${id}` as Address,
  energy: BigInt(count) * 1_000n,
  staked: BigInt(count) * 1_000n,
})

type Payment = {
  charged: bigint
  /** What can be spent afterwards. */
  free: bigint
  state?: string
  rests?: boolean
  held?: number
  spent?: bigint
  refused?: boolean
}

const PAID: [id: string, count: number, row: Row, paid: Payment][] = [
  ['held', 1, { holds: 2, free_sun: 0n }, { charged: 100n, free: 0n, held: 1 }],
  ['held and free', 2, { holds: 1, free_sun: 100n }, { charged: 200n, free: 0n }],
  ['free', 1, { free_sun: 100n }, { charged: 100n, free: 0n }],
  ['short', 3, { free_sun: 299n }, { charged: 200n, free: 99n, state: 'stopped' }],
  ['without money', 1, { free_sun: 99n }, { charged: 0n, free: 99n, state: 'stopped' }],
  ['included', 2, { included: 2, holds: 1 }, { charged: 0n, free: 1_000n, held: 1 }],
  ['in part', 2, { included: 2, used: 1 }, { charged: 100n, free: 900n }],
  ['of one sun', 1, { price_sun: 1n }, { charged: 1n, free: 999n }],
  ['for nothing', 3, { price_sun: 0n }, { charged: 0n, free: 1_000n }],
  ['within', 1, { cap_sun: 100n }, { charged: 100n, free: 900n, spent: 100n }],
  [
    'below its cap',
    3,
    { cap_sun: 250n },
    { charged: 200n, free: 800n, rests: true, spent: 200n, refused: true },
  ],
  [
    'at its cap',
    1,
    { cap_sun: 300n, spent_sun: 201n },
    { charged: 0n, free: 1_000n, rests: true, spent: 201n, refused: true },
  ],
  [
    'capped, and no more free',
    2,
    { cap_sun: 100n, free_sun: 200n },
    { charged: 100n, free: 100n, rests: true, spent: 100n, refused: true },
  ],
  ['uncapped', 1, { cap_sun: null }, { charged: 100n, free: 900n, spent: 100n }],
  [
    'short, with a key',
    2,
    { cap_sun: 900n, free_sun: 100n },
    { charged: 100n, free: 0n, state: 'stopped', spent: 100n },
  ],
  [
    'held today',
    1,
    { cap_sun: 100n, spent_sun: 100n, holds: 1 },
    { charged: 100n, free: 1_000n, spent: 100n },
  ],
  [
    'ended',
    2,
    { state: 'stopped', stopped_at: block_time, holds: 1 },
    { charged: 100n, free: 1_000n, state: 'stopped' },
  ],
  [
    'ended later',
    2,
    { state: 'stopped', stopped_at: now, holds: 1 },
    { charged: 200n, free: 900n, state: 'stopped' },
  ],
  [
    'ended later, at its cap',
    1,
    { state: 'stopped', stopped_at: now, cap_sun: 99n },
    { charged: 0n, free: 1_000n, state: 'stopped', spent: 0n, refused: true },
  ],
]

test('a use is paid by holds, then by the balance and within the cap, in wholes', async (t) => {
  const book = await UseBook.of(t)
  const { sql } = book
  for (const [id, , row] of PAID) await book.add(id, row)
  await book.use(Object.fromEntries(PAID.map(([id, count]) => [id, count])))
  for (const [id, count, , paid] of PAID) {
    const [row] = await sql<{ charged: bigint; held: number; state: string; rests: string | null }>`
      select charged_sun as charged, holds_made - holds_ended as held, state, resting as rests
      from subscription join subscription_use on subscription_id = id where id = ${id}`
    const refused = await sql`select from api_key_cap where key_id = ${`key of ${id}`}`
    const { state = 'active', rests = false, held = 0, spent } = paid
    assert.deepEqual(
      {
        free: await spendable(sql, customerAccount(id)),
        spent: await book.spent(id),
        refused: refused.length === 1,
        ...row,
      },
      {
        charged: paid.charged,
        free: paid.free,
        state,
        rests: rests ? 'daily_cap' : null,
        held,
        spent,
        refused: paid.refused ?? false,
      },
      id,
    )
    const [sums] = await sql`
      select total_sun, transactions_used - ${count}::integer as before, energy_used
      from subscription where id = ${id}`
    const [, , before] = PAID.find(([name]) => name === id)!
    const energy_used = BigInt(count) * 1_000n
    assert.deepEqual(sums, { total_sun: paid.charged, before: before.used ?? 0, energy_used }, id)
  }
})

test('a use costs no more than by orders, to the sun; what is held beyond is free', async (t) => {
  const book = await UseBook.of(t)
  const by_orders_sun = leastPriceOf(await readPrices(book.sql), 2_000n)!
  // So much of the start is unused that 150 sun are left of the price of an order.
  const row = { total_sun: by_orders_sun - 150n, by_orders_sun: 0n }
  await book.add('exact', { ...row, free_sun: 150n })
  await book.add('held', { ...row, holds: 2, free_sun: 0n })
  await book.add('unused', { by_orders_sun: 0n, total_sun: by_orders_sun, free_sun: 0n })
  await book.add('nearly', { by_orders_sun: 0n, total_sun: by_orders_sun - 1n })
  await book.use({ exact: 2, held: 2, unused: 2, nearly: 2 })
  const rows = await book.sql<{ id: string; charged_sun: bigint; state: string }>`
    select id, charged_sun, state from subscription join subscription_use on subscription_id = id
    order by id`
  assert.deepEqual(
    rows.map(({ id, charged_sun, state }) => `${id}: ${charged_sun} ${state}`),
    ['exact: 150 active', 'held: 150 active', 'nearly: 1 active', 'unused: 0 active'],
  )
  assert.equal(await spendable(book.sql, customerAccount('held')), 50n)
})

test('what was held before counts as spent on its day no more, and the use today', async (t) => {
  const book = await UseBook.of(t)
  await book.add('one', { cap_sun: 100n, holds: 2, held_at: at(-DAY_MS) })
  await book.add('other', { cap_sun: 100n, holds: 2, held_at: at(-DAY_MS) })
  await book.use({ one: 1 })
  assert.deepEqual([await book.spent('one'), await book.spent('one', YESTERDAY)], [100n, 400n])
  assert.deepEqual([await book.spent('other'), await book.spent('other', YESTERDAY)], [0n, 500n])
  const holds = await book.sql`
    select id, holds_ended from subscription order by id`
  assert.deepEqual(holds, [
    { id: 'one', holds_ended: 1 },
    { id: 'other', holds_ended: 0 },
  ])
})

test('a use that cannot be paid, or is the last of a limit, ends its subscription', async (t) => {
  const book = await UseBook.of(t)
  const rows: Record<string, Row> = {
    unpaid: { free_sun: 0n },
    last: { limit: 2, used: 1 },
    'last of the plan': { plan_limit: 2, used: 1 },
    'last but one': { limit: 3, used: 1 },
    'paid before': { plan_limit: 2, used: 1, initial_sun: 2n * MUCH_SUN },
    'last, and unpaid': { limit: 2, used: 1, free_sun: 0n },
    'stopped later, used up': { limit: 2, used: 1, state: 'stopped', stopped_at: now },
    'stopped later': { state: 'stopped', stopped_at: now },
    'stopped before': { limit: 2, used: 1, holds: 1, state: 'stopped', stopped_at: at(-9_000) },
  }
  for (const [id, row] of Object.entries(rows)) await book.add(id, row)
  await book.add('not used', { state: 'stopped', stopped_at: now })
  await book.use(Object.fromEntries(Object.keys(rows).map((id) => [id, 1])))
  const found = await book.sql<{ id: string; state: string; ms: Date; reason: string | null }>`
    select id, state, stopped_at as ms, reason from subscription`
  const short = 'a transaction could not be paid'
  const used_up = 'its transactions are used up'
  assert.deepEqual(
    Object.fromEntries(found.map(({ id, state, ms, reason }) => [id, [state, ms, reason]])),
    {
      unpaid: ['stopped', block_time, short],
      last: ['expired', block_time, used_up],
      'last of the plan': ['expired', block_time, used_up],
      'last but one': ['active', null, null],
      'paid before': ['active', null, null],
      'last, and unpaid': ['stopped', block_time, short],
      'stopped later, used up': ['stopped', block_time, null],
      'stopped later': ['stopped', now, null],
      'stopped before': ['stopped', at(-9_000), null],
      'not used': ['stopped', now, null],
    },
  )
})

test('a use wakes an idle subscription, and one at its daily cap rests on', async (t) => {
  const book = await UseBook.of(t)
  const early = at(-9_000)
  const rests = (resting: string): Row => ({ resting, rested_at: early, withdrawn: true })
  const idle = rests('idle')
  await book.add('idle', idle)
  await book.add('capped', rests('daily_cap'))
  await book.add('capped again', { resting: 'daily_cap', rested_at: early, cap_sun: 0n })
  await book.add('idle, then capped', { resting: 'idle', rested_at: early, cap_sun: 0n })
  await book.add('without energy', { ...idle, supplied: false })
  await book.add('ended, without energy', {
    ...idle,
    supplied: false,
    state: 'stopped',
    stopped_at: now,
    withdrawn: false,
  })
  const uses = ['idle', 'capped', 'capped again', 'idle, then capped', 'without energy']
  await book.add('not used', idle)
  await book.use(Object.fromEntries([...uses, 'ended, without energy'].map((id) => [id, 1])))
  const rows = await book.sql<{
    id: string
    resting: string | null
    rested_at: Date
    withdrawn: boolean
    idle_since: Date
    look_at: Date
  }>`select id, resting, rested_at, withdrawn, idle_since, look_at from subscription`
  const next_day = new Date('2026-10-09T00:00:00Z')
  const was = { idle_since: at(-DAY_MS), look_at: at(DAY_MS), rested_at: early }
  const is = { idle_since: block_time, look_at: now, rested_at: early }
  const expected = [
    { id: 'idle', resting: null, withdrawn: false, ...is },
    { id: 'capped', resting: 'daily_cap', withdrawn: true, ...is },
    { id: 'capped again', resting: 'daily_cap', withdrawn: false, ...is, look_at: next_day },
    {
      id: 'idle, then capped',
      resting: 'daily_cap',
      withdrawn: false,
      ...is,
      look_at: next_day,
      rested_at: now,
    },
    { id: 'without energy', resting: null, withdrawn: false, ...is },
    { id: 'ended, without energy', resting: 'idle', withdrawn: false, ...was },
    { id: 'not used', resting: 'idle', withdrawn: true, ...was },
  ]
  const byId = <One extends { id: string }>(all: One[]) => new Map(all.map((one) => [one.id, one]))
  assert.deepEqual(byId(rows), byId(expected))
})

test('a use counts only for the subscription of its own address', async (t) => {
  const book = await UseBook.of(t)
  await book.add('one')
  await book.add('other')
  // A row of another one by the same transaction is none of this one's.
  await book.counted('other', 'tx of one', { solid: true })
  await book.use({ one: 1 })
  const rows = await book.sql`select id, transactions_used as uses from subscription order by id`
  assert.deepEqual(rows, [
    { id: 'one', uses: 1 },
    { id: 'other', uses: 0 },
  ])
  const [charge] = await book.sql`select id from transfer where credit = ${REVENUE}`
  assert.deepEqual(charge, { id: `subscription:one/tx of one/${BLOCK}` })
  const uses = await book.sql`
    select subscription_id as id, block_number from subscription_use order by id`
  assert.deepEqual(uses, [
    { id: 'one', block_number: 95n },
    { id: 'other', block_number: 80n },
  ])
})

test('a use counts for a subscription that has ended after its block', async (t) => {
  const book = await UseBook.of(t)
  await book.add('one', { state: 'stopped', stopped_at: now })
  await book.add('other', { state: 'stopped', stopped_at: now })
  await book.use({ one: 1 })
  assert.deepEqual(await book.uses(), ['one, tx of one: 100 false'])
})

test('a use of one that was stopped before it began is paid, after a free start too', async (t) => {
  const book = await UseBook.of(t)
  for (const id of ['free to start', 'given back'])
    await book.add(id, { state: 'stopped', stopped_at: at(-9_000), holds: 1 })
  await book.sql`update subscription set started_at = null`
  await book.sql`update plan set initial_price_sun = 100 where key = 'given back'`
  await book.use({ 'free to start': 1, 'given back': 1 })
  assert.deepEqual(await book.uses(), ['free to start, tx of free to start: 100 false'])
  const [row] = await book.sql`
    select started_at, transactions_used as used from subscription where id = 'free to start'`
  assert.deepEqual(row, { started_at: now, used: 1 })
})

test('a use stays that is in its block as it was counted; others are given back', async (t) => {
  const book = await UseBook.of(t)
  const row: Row = { cap_sun: 1_000n, used: 3, total_sun: 300n }
  for (const id of ['there', 'gone', 'free', 'forgotten', 'certain', 'of one sun'])
    await book.add(id, row)
  await book.add('unsupplied', { ...row, supplied: false })
  await book.block(80, [{ ...used('there', 1), energy: 5_000n }, used('unsupplied', 1)])
  await book.counted('there', 'tx of there', { energy: 900n, own: 100n })
  await book.counted('there', 'tx of gone', { number: 96 })
  await book.counted('gone', 'tx of gone')
  await book.counted('gone', 'tx of there', { number: 96 })
  await book.counted('free', 'a', { charged: 0n })
  await book.counted('of one sun', 'a', { charged: 1n })
  await book.counted('forgotten', 'a', { number: 79 })
  await book.counted('certain', 'a', { solid: true })
  await book.counted('unsupplied', 'tx of unsupplied')
  await book.confirm()
  assert.deepEqual(await book.uses(), [
    'certain, a: 100 true',
    'forgotten, a: 100 true',
    'gone, tx of there: 100 false',
    'there, tx of gone: 100 false',
    'there, tx of there: 100 true',
  ])
  assert.deepEqual(await book.back(), [
    'subscription:gone/tx of gone/80/back: 100',
    'subscription:of one sun/a/80/back: 1',
    'subscription:unsupplied/tx of unsupplied/80/back: 100',
  ])
  const rows = await book.sql<{ id: string; sums: string }>`
    select id, concat_ws(' ', transactions_used, energy_used, total_sun,
      by_orders_sun - ${MUCH_SUN}) as sums
    from subscription`
  const same = '3 0 300 0'
  assert.deepEqual(Object.fromEntries(rows.map(({ id, sums }) => [id, sums])), {
    there: same,
    gone: '2 -1000 200 -7',
    free: '2 -1000 300 -7',
    forgotten: same,
    certain: same,
    'of one sun': '2 -1000 299 -7',
    unsupplied: '2 -1000 200 -7',
  })
  assert.deepEqual([await book.spent('gone', YESTERDAY), await book.spent('gone')], [400n, 0n])
  assert.equal(await book.spent('there', YESTERDAY), 500n)
  assert.equal(await spendable(book.sql, customerAccount('gone')), 1_100n)
})

test('a use that took other energy where it stays is counted as it is there', async (t) => {
  const book = await UseBook.of(t)
  for (const id of ['more', 'less']) await book.add(id, { used: 1, total_sun: 100n })
  await book.add('failed', { state: 'error' })
  await book.block(80, [used('more', 2), used('less', 1), used('failed', 2)])
  await book.counted('failed', 'tx of failed', { charged: 0n })
  await book.counted('more', 'tx of more')
  await book.counted('less', 'tx of less', { energy: 1_001n })
  await book.confirm(2)
  assert.deepEqual(await book.uses(), ['less, tx of less: 100 true', 'more, tx of more: 200 true'])
  const charges = await book.sql`select id, amount_sun from transfer where credit = ${REVENUE}
    order by id`
  assert.deepEqual(charges, [
    { id: 'subscription:less/tx of less/80-solid', amount_sun: 100n },
    { id: 'subscription:more/tx of more/80-solid', amount_sun: 200n },
  ])
})

test('what the plan includes covers the next uses when one of its own is gone', async (t) => {
  const book = await UseBook.of(t)
  for (const number of [80, 81]) await book.block(number, [])
  const add = async (id: string, row: Row, charged: Record<string, bigint>) => {
    const sums = Object.values(charged)
    const total_sun = sums.reduce((all, sun) => all + sun, 0n)
    await book.add(id, { used: sums.length, total_sun, cap_sun: 1_000n, ...row })
    for (const [i, [name, sun]] of Object.entries(charged).entries()) {
      const gone = name.startsWith('gone')
      const number = gone ? 80 + i : 60 + Math.floor(i / 3)
      await book.counted(id, name, { number, charged: sun, solid: !gone })
    }
  }
  const three = { b: 0n, c: 100n, d: 100n, e: 100n }
  await add('one', { included: 2 }, { gone: 0n, ...three })
  // By orders it would have cost 150: of 300 that were charged.
  await add('dear', { included: 2, initial_sun: 10n, by_orders_sun: 167n }, { gone: 0n, ...three })
  await add('of one sun', { included: 1, price_sun: 1n }, { gone: 0n, c: 1n })
  await add('paid', {}, { gone: 100n, c: 100n })
  await add('two gone', { included: 2 }, { gone: 0n, 'gone, too': 0n, c: 100n, d: 100n })
  await add('other', { included: 1 }, { c: 100n })
  await book.confirm()
  assert.deepEqual(await book.uses(), [
    'dear, b: 0 true',
    'dear, c: 0 true',
    'dear, d: 50 true',
    'dear, e: 100 true',
    'of one sun, c: 0 true',
    'one, b: 0 true',
    'one, c: 0 true',
    'one, d: 100 true',
    'one, e: 100 true',
    'other, c: 100 true',
    'paid, c: 100 true',
    'two gone, c: 0 true',
    'two gone, d: 0 true',
  ])
  assert.deepEqual(await book.back(), [
    'subscription:dear/c/60/covered/gone/80: 100',
    'subscription:dear/d/61/covered/gone/80: 50',
    'subscription:of one sun/c/60/covered/gone/80: 1',
    'subscription:one/c/60/covered/gone/80: 100',
    'subscription:paid/gone/80/back: 100',
    'subscription:two gone/c/60/covered/gone, too/81: 100',
    'subscription:two gone/d/61/covered/gone, too/81: 100',
  ])
  const rows = await book.sql<{ id: string; total_sun: bigint }>`
    select id, total_sun from subscription`
  assert.deepEqual(Object.fromEntries(rows.map(({ id, total_sun }) => [id, total_sun])), {
    one: 200n,
    dear: 150n,
    'of one sun': 0n,
    paid: 100n,
    'two gone': 0n,
    other: 100n,
  })
  assert.deepEqual([await book.spent('one', YESTERDAY), await book.spent('one')], [400n, 0n])
  assert.equal(await book.spent('dear', YESTERDAY), 350n)
})
