// What the start of a subscription is judged on, at the exact limits: on rows written by hand.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Address } from 'penstock-tron/address.ts'
import type { Receiver } from '../../chain/receivers/receivers.ts'
import { customerAccount, moveAll, WORLD } from '../../ledger/accounts/ledger.ts'
import { later } from '../../lib/clock.ts'
import { Fault } from '../../lib/fault.ts'
import type { Again } from '../../platform/database/again.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { Suspended } from '../../platform/wire/endpoint.ts'
import { readPrices } from '../prices/prices.ts'
import { type Needs, type NewSubscription, startSubscription } from './starting.ts'

const now = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => now }
const DAY_MS = 86_400_000

const BALANCE_SUN = 1_000n

type PlanRow = { included?: number; limit?: number; days?: number; initial_sun?: bigint }
type Wish = Partial<NewSubscription> & {
  receiver?: Receiver
  again?: Again
  /** How long it takes to ask the chain. */
  asked_ms?: number
}

class StartBook {
  readonly sql: Sql
  readonly woken: string[] = []
  readonly told: string[] = []
  /** What happens between the judgement and the placing. */
  between: () => void = () => {}
  count = 0

  constructor(sql: Sql) {
    this.sql = sql
  }

  /** With room for exactly the energy of one transaction. */
  static async of(t: TestContext): Promise<StartBook> {
    const { sql } = await freshDatabase(t)
    const counter = new StartBook(sql)
    await sql`
      insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at,
        head_seen_at)
      values (1000, 'head', ${now}, 900, 900, ${now}, ${now})`
    await sql`update pool set room = 1100, reserved = 100 where resource = 'energy'`
    await sql`update pool set room = 0 where resource = 'bandwidth'`
    for (const id of ['anna', 'ben']) await counter.customer(id)
    await counter.plan('plain')
    return counter
  }

  async customer(id: string): Promise<void> {
    const deposit = { id: `deposit:${id}`, debit: WORLD, credit: customerAccount(id) }
    await this.sql.begin(async (tx) => {
      await makeCustomer(tx, { id, at: now })
      await moveAll(tx, [{ ...deposit, amount_sun: BALANCE_SUN, made_at: now }])
    })
    await this.sql`
      insert into api_key (id, customer_id, name, token_hash, sealed_secret, require_v2,
        created_at, secret_made_at)
      values (${`key of ${id}`}, ${id}, 'key', ${(id === 'anna' ? 'a' : 'b').repeat(64)}, '', false,
        ${now}, ${now})`
  }

  /** One whose start costs 30 sun to activate and 70 besides, and a transaction 7. */
  async plan(key: string, row: PlanRow = {}): Promise<void> {
    const { included = 0, limit = 0, days = 0, initial_sun = 70n } = row
    await this.sql`
      insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included,
        transactions_limit, duration_days, energy_per_transaction, idle_hours, changed_by)
      values (${key}, ${key}, 30, ${initial_sun}, 7, ${included}, ${limit}, ${days}, 1000, 2,
        'olga')`
  }

  /** One of a customer that is there already. */
  async row(id: string, row: { state?: string; of?: string; address?: string }): Promise<void> {
    const { state = 'active', of = 'anna', address = `address of ${id}` } = row
    await this.sql`
      insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
        activate_address, state, total_sun, look_at, created_at, idle_since)
      select ${id}, ${of}, min(id), ${address}, 0, 0, false, ${state}, 100, ${now}, ${now}, ${now}
      from plan`
  }

  /** Starts one of Anna's, for an address of its own and by the plain plan, unless it says else. */
  async start({ receiver = 'active', again, asked_ms = 0, ...asked }: Wish = {}) {
    let passed_ms = 0
    const number = ++this.count
    const { customer_id = 'anna' } = asked
    const key_id = asked.key_id ?? `key of ${customer_id}`
    const prices = await readPrices(this.sql)
    const needs: Needs = {
      sql: this.sql,
      clock: { now: () => later(clock, passed_ms) },
      new_id: () => {
        this.between()
        return `made ${number}`
      },
      prices: async () => prices,
      receiver: async () => {
        passed_ms = asked_ms
        return receiver
      },
      again,
      told: (name) => void this.told.push(name),
      wake: (step) => void this.woken.push(step),
    }
    const by = { user: undefined, ip: undefined, customer_id, key_id }
    const wanted = {
      external_id: null,
      plan_key: 'plain',
      address: `new address ${number}` as Address,
      duration: 0,
      transactions_limit: 0,
      activate_address: false,
    }
    return startSubscription(needs, Object.assign(wanted, { asked_by: by }, by, asked))
  }

  /** What became of a start: the key of its refusal, or that it was made. */
  async outcome(asked: Wish = {}): Promise<string> {
    const started = await this.start(asked).catch((thrown: unknown) => {
      if (thrown instanceof Fault) return thrown
      throw thrown
    })
    if (started instanceof Fault) return started.key
    return started.replayed ? 'replayed' : 'started'
  }
}

test('the limits of a start are at most those of its plan, where that has any', async (t) => {
  const counter = await StartBook.of(t)
  await counter.plan('narrow', { limit: 5, days: 3 })
  await counter.plan('of one', { limit: 1, days: 1 })
  const days = (plan_key: string, duration: number) => counter.outcome({ plan_key, duration })
  const uses = (plan_key: string, transactions_limit: number) =>
    counter.outcome({ plan_key, transactions_limit })
  assert.deepEqual([await days('narrow', 3), await uses('narrow', 5)], ['started', 'started'])
  assert.equal(await days('narrow', 4), 'invalid_duration')
  assert.equal(await uses('narrow', 6), 'invalid_service_or_params')
  assert.equal(await days('of one', 2), 'invalid_duration')
  assert.deepEqual([await days('plain', 1_000), await uses('plain', 1)], ['started', 'started'])
})

test('its days begin now, or with the newest block where that is ahead', async (t) => {
  const counter = await StartBook.of(t)
  await counter.plan('narrow', { days: 3 })
  const ends = async (plan_key: string, duration: number) => {
    const { subscription } = await counter.start({ plan_key, duration })
    return subscription.expire_at && subscription.expire_at.getTime() - now.getTime()
  }
  assert.deepEqual([await ends('plain', 0), await ends('plain', 1)], [null, DAY_MS])
  assert.deepEqual([await ends('narrow', 0), await ends('narrow', 2)], [3 * DAY_MS, 2 * DAY_MS])
  await counter.sql`update chain set head_time = ${later(clock, -9)}`
  assert.equal(await ends('plain', 1), DAY_MS)
  await counter.sql`update chain set head_time = ${later(clock, 9)}`
  assert.equal(await ends('plain', 1), DAY_MS + 9)
})

test('a plan that is on sale is started, and no other', async (t) => {
  const counter = await StartBook.of(t)
  const { sql } = counter
  const sell = (name: string, on_sale: boolean) =>
    sql`update service set on_sale = ${on_sale} where name = ${name}`
  assert.equal(await counter.outcome({ plan_key: 'absent' }), 'invalid_service_or_params')
  await sell('subscription', false)
  assert.equal(await counter.outcome(), 'service_unavailable')
  await sell('subscription', true)
  await sell('activate_address', false)
  const activating = { activate_address: true, receiver: 'inactive' as const }
  assert.equal(await counter.outcome(activating), 'service_unavailable')
  assert.equal(await counter.outcome({ activate_address: true }), 'started')
  assert.equal(
    await counter.outcome({ receiver: 'inactive' }),
    'address_not_activated.subscription',
  )
  await sell('activate_address', true)
  assert.equal(await counter.outcome(activating), 'started')
  await sql`update plan set until = ${now} where key = 'plain'`
  assert.equal(await counter.outcome(), 'invalid_service_or_params')
})

test('an address is supplied of which the chain says that it may receive', async (t) => {
  const counter = await StartBook.of(t)
  const rows: [Receiver, string][] = [
    ['active', 'started'],
    ['inactive', 'address_not_activated.subscription'],
    ['unknown', 'service_unavailable'],
    ['contract', 'invalid_network_address'],
    ['ours', 'invalid_network_address'],
    ['barred', 'invalid_network_address.blacklisted'],
  ]
  for (const [receiver, outcome] of rows)
    assert.equal(await counter.outcome({ receiver }), outcome, receiver)
  const stranger = { customer_id: 'stranger' }
  assert.equal(await counter.outcome(stranger), 'wallet_not_found', 'who has no wallet')
})

test('a start needs energy in the pool for its first use, and a chain that answers', async (t) => {
  const counter = await StartBook.of(t)
  const { sql } = counter
  const may = async (outcome: string) => assert.equal(await counter.outcome(), outcome)
  await may('started')
  await sql`update pool set reserved = 101 where resource = 'energy'`
  await may('service_unavailable')
  await sql`update pool set room = 5000 where resource = 'bandwidth'`
  await may('service_unavailable')
  await sql`update pool set reserved = 0 where resource = 'energy'`
  await may('started')
  await sql`update chain set seen_at = ${later(clock, -30_001)}`
  await may('service_unavailable')
  await sql`update chain set seen_at = ${later(clock, -30_000)}`
  await may('started')
})

test('an address has one running subscription, whoever has started it', async (t) => {
  const counter = await StartBook.of(t)
  const mine = 'invalid_network_address.already_subscribed'
  const theirs = 'invalid_service_or_params.address_owner'
  const rows: [state: string, of: string, outcome: string][] = [
    ['new', 'anna', mine],
    ['pending', 'anna', mine],
    ['active', 'ben', theirs],
    ['stopped', 'anna', 'started'],
    ['expired', 'ben', 'started'],
    ['error', 'anna', 'started'],
  ]
  for (const [state, of, outcome] of rows) {
    const address = `address of ${state}` as Address
    await counter.row(state, { state, of })
    assert.equal(await counter.outcome({ address }), outcome, state)
  }
})

test('of two starts for an address at the same moment the second hears of the first', async (t) => {
  const counter = await StartBook.of(t)
  const inserted = Promise.withResolvers<void>()
  const judged = Promise.withResolvers<void>()
  const address = 'contended' as Address
  const other = counter.sql.begin(async (tx) => {
    await new StartBook(tx as unknown as Sql).row('of ben', { of: 'ben', address })
    inserted.resolve()
    await judged.promise
  })
  await inserted.promise
  counter.between = () => judged.resolve()
  assert.equal(await counter.outcome({ address }), 'invalid_service_or_params.address_owner')
  await other
})

test('a customer runs as many as it may, and those that have ended do not count', async (t) => {
  const counter = await StartBook.of(t)
  const { sql } = counter
  await sql`update customer set subscriptions_limit = 3 where id = 'anna'`
  await sql`update customer set subscriptions_limit = 0 where id = 'ben'`
  for (const state of ['new', 'pending', 'stopped', 'expired', 'error'])
    await counter.row(state, { state })
  for (const id of ['of ben', 'his second']) await counter.row(id, { of: 'ben' })
  assert.deepEqual(
    [await counter.outcome(), await counter.outcome()],
    ['started', 'service_unavailable.subscriptions'],
  )
  await sql`update customer set subscriptions_limit = null`
  await sql`
    insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
      activate_address, state, total_sun, look_at, created_at, idle_since)
    select id || n, customer_id, plan_id, address || n, 0, 0, false, state, 0, look_at, created_at,
      idle_since
    from subscription, generate_series(1, 96) as n where id = 'new'`
  assert.deepEqual(
    [await counter.outcome(), await counter.outcome()],
    ['started', 'service_unavailable.subscriptions'],
    'a hundred where nothing else is set',
  )
})

test('a start takes its fee and price, and the first use where none is included', async (t) => {
  const counter = await StartBook.of(t)
  const { sql } = counter
  const rows: [PlanRow, outcome: string][] = [
    [{ initial_sun: BALANCE_SUN - 37n }, 'started'],
    [{ initial_sun: BALANCE_SUN - 36n }, 'insufficient_funds'],
    [{ initial_sun: BALANCE_SUN - 30n, included: 1 }, 'started'],
    [{ initial_sun: BALANCE_SUN - 29n, included: 1 }, 'insufficient_funds'],
  ]
  for (const [i, [row, outcome]] of rows.entries()) {
    const id = `customer ${i}`
    await sql.begin(async (tx) => {
      const deposit = { id: `deposit:${id}`, debit: WORLD, credit: customerAccount(id) }
      await makeCustomer(tx, { id, at: now })
      await moveAll(tx, [{ ...deposit, amount_sun: BALANCE_SUN, made_at: now }])
    })
    await counter.plan(`plan ${i}`, row)
    assert.equal(await counter.outcome({ customer_id: id, plan_key: `plan ${i}` }), outcome, id)
  }
})

test('nothing is begun by a key that was revoked, or for who may not buy any more', async (t) => {
  const counter = await StartBook.of(t)
  const { sql } = counter
  const revoke = (id: string, at: Date | null) =>
    sql`update api_key set revoked_at = ${at} where id = ${id}`
  const set = (id: string, state: string) =>
    sql`update customer set state = ${state} where id = ${id}`
  await revoke('key of ben', now)
  await set('ben', 'closed')
  const named = { external_id: 'mine', address: 'known' as Address }
  assert.equal(await counter.outcome(named), 'started', 'others are others')
  const refused = async (key: string, asked: Wish = {}) => {
    assert.equal(await counter.outcome(asked), key)
    assert.equal(await counter.outcome({ ...asked, ...named }), 'replayed')
  }
  await revoke('key of anna', now)
  await refused('auth')
  await revoke('key of anna', null)
  await set('anna', 'closed')
  await refused('auth')
  await set('anna', 'suspended')
  await refused('auth.suspended')
  await set('anna', 'active')
  await refused('auth.suspended', { refusal: Suspended() })
  await set('ben', 'suspended')
  assert.equal(await counter.outcome(), 'started')
})

test('nothing is begun by what was known more than eight seconds ago', async (t) => {
  const book = await StartBook.of(t)
  assert.equal(await book.outcome({ asked_ms: 8_001 }), 'service_unavailable')
  assert.equal(await book.outcome({ asked_ms: 8_000, external_id: 'one' }), 'started')
  const again = { external_id: 'one', address: 'new address 2' as Address }
  assert.equal(await book.outcome({ ...again, asked_ms: 3_600_000 }), 'replayed')
})

test('one external id with one meaning is one start, and wakes no step again', async (t) => {
  const counter = await StartBook.of(t)
  const meant = { external_id: 'mine', address: 'known' as Address, duration: 2 }
  const { subscription } = await counter.start(meant)
  assert.deepEqual([counter.woken, counter.told], [['supply'], [`subscription:${subscription.id}`]])
  const again = await counter.start(meant)
  assert.deepEqual([again.replayed, again.subscription.id], [true, subscription.id])
  assert.deepEqual([counter.woken.length, counter.told.length], [1, 2])
  for (const change of [{ duration: 1 }, { address: 'other' as Address }])
    assert.equal(
      await counter.outcome({ ...meant, ...change }),
      'invalid_service_or_params.external_id',
    )
  assert.equal(
    await counter.outcome({ ...meant, customer_id: 'ben' }),
    'invalid_service_or_params.address_owner',
    "it is no other customer's",
  )
  assert.deepEqual([await counter.outcome(), await counter.outcome()], ['started', 'started'])
})

test('a start is marked as repeatable only when it has an external id', async (t) => {
  const counter = await StartBook.of(t)
  const asked: boolean[] = []
  const again: Again = (work, { repeatable }) => {
    asked.push(repeatable)
    return work()
  }
  await counter.start({ again })
  await counter.start({ again, external_id: 'mine' })
  assert.deepEqual(asked, [false, true])
})
