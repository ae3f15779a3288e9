// Which checks are placed, by what a customer has under way and what has become of its day's
// checks; which are repetitions; and what is noted of them.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { customerAccount, move, WORLD } from '../../ledger/accounts/ledger.ts'
import { DAY_MS, dayOf } from '../../lib/clock.ts'
import { Fault } from '../../lib/fault.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { Suspended } from '../../platform/wire/endpoint.ts'
import { checkPlacer, checkPrices, type NewCheck } from './placing.ts'

const AT = new Date('2026-11-21T12:00:00Z')
const clock = { now: () => AT }
const HASH = 'ab'.repeat(32)

/** Anna and Bert, who can pay; Carl, who cannot. */
async function placing(t: TestContext) {
  const { sql } = await freshDatabase(t)
  await sql.begin(async (tx) => {
    for (const id of ['anna', 'bert', 'carl']) {
      await makeCustomer(tx, { id, at: AT })
      const gift = { debit: WORLD, credit: customerAccount(id), amount_sun: 1_000_000_000n }
      if (id !== 'carl') await move(tx, { id: `gift:${id}`, ...gift, made_at: AT })
    }
  })
  const noted = { told: [] as string[], woken: 0, repeatable: [] as boolean[] }
  const place = checkPlacer({
    sql,
    clock,
    new_id: idMaker(clock, systemRandom),
    told: (name) => noted.told.push(name),
    wake: () => {
      noted.woken += 1
    },
    again: (work, { repeatable }) => {
      noted.repeatable.push(repeatable)
      return work()
    },
  })
  const ask = (wanted: Partial<NewCheck> = {}) =>
    place({
      customer_id: 'anna',
      idempotency_key: null,
      type: 'address',
      network: 'TRX',
      address: 'there',
      hash: wanted.type === 'hash' ? HASH : null,
      direction: null,
      ...wanted,
    })
  /** Whether it is placed, or the key of its refusal. */
  const outcome = (wanted: Partial<NewCheck> = {}) =>
    ask(wanted).then(
      () => 'placed',
      (thrown: unknown) => {
        assert.ok(thrown instanceof Fault, String(thrown))
        return thrown.key
      },
    )
  return { sql, ask, outcome, noted }
}

type DayRow = { customer_id?: string; day?: Date; failed?: number; completed?: number }

test('a hash is checked unless too many are open, or more have failed than not', async (t) => {
  const { sql, outcome } = await placing(t)
  const open = (
    count: number,
    how: { customer_id?: string; type?: string; state?: string } = {},
  ) => {
    const { customer_id = 'anna', type = 'hash', state = 'pending' } = how
    const has_ended = state === 'failed'
    return sql`
      insert into aml_check (id, customer_id, type, network, address, hash, state, price_sun,
        solid_number, due_at, created_at, ended_at, error)
      select concat_ws(' ', ${customer_id}::text, ${type}::text, ${state}::text, n), ${customer_id},
        ${type}, 'TRX', 'x', case ${type}::text when 'hash' then 'x' end, ${state}, 0, 0, ${AT},
        ${AT}, ${has_ended ? AT : null}, ${has_ended ? 'x' : null}
      from generate_series(1, ${count}::integer) as n`
  }
  const count = (table: 'sums' | 'changes', row: DayRow) => {
    const { customer_id = 'anna', day = AT, failed = 0, completed = 0 } = row
    const [states, counts] = [
      ['failed', 'completed', 'processing'],
      [failed, completed, 5_000],
    ]
    return table === 'sums'
      ? sql`
          insert into aml_count (customer_id, day, state, n)
          select ${customer_id}, ${dayOf(day)}, state, n
          from unnest(${states}::text[], ${counts}::bigint[]) as s (state, n)`
      : sql`
          insert into aml_count_delta (customer_id, day, state, d)
          select ${customer_id}, ${dayOf(day)}, state, n
          from unnest(${states}::text[], ${counts}::bigint[]) as s (state, n)`
  }
  for (const [under_way, failed, completed, placed] of [
    [199, 0, 0, true],
    [200, 0, 0, false],
    [0, 5, 4, true],
    [0, 999, 998, true],
    [0, 1_000, 1_000, true],
    [0, 1_000, 999, false],
    [0, 1_001, 1_000, false],
  ] as const)
    for (const table of ['sums', 'changes'] as const) {
      await open(Math.floor(under_way / 2))
      await open(Math.ceil(under_way / 2), { state: 'processing' })
      await count(table, { failed, completed })
      // None of these count.
      await open(300, { type: 'address' })
      await open(300, { state: 'failed' })
      await open(300, { customer_id: 'bert' })
      const contrary = placed ? { failed: 3_000 } : { completed: 3_000 }
      await count(table, { day: new Date(+AT - DAY_MS), ...contrary })
      await count(table, { customer_id: 'bert', ...contrary })
      const refused = 'service_unavailable.too_many_checks'
      const what = `${under_way} ${failed} ${completed} ${table}`
      assert.equal(await outcome({ type: 'hash' }), placed ? 'placed' : refused, what)
      assert.equal(await outcome(), 'placed', 'of addresses any number is')
      await sql`delete from aml_check`
      await sql`delete from aml_count`
      await sql`delete from aml_count_delta`
    }
})

test('of those who ask together as many are placed as one may have open', async (t) => {
  const { sql, outcome } = await placing(t)
  await sql`
    insert into aml_check (id, customer_id, type, network, address, hash, state, price_sun,
      solid_number, due_at, created_at)
    select n::text, 'anna', 'hash', 'TRX', 'x', 'x', 'pending', 0, 0, ${AT}, ${AT}
    from generate_series(1, 197) as n`
  // The first is placed alone, those that come meanwhile together.
  const all = [...Array<'anna'>(6).fill('anna'), 'bert', 'carl'] as const
  const found = await Promise.all(all.map((customer_id) => outcome({ customer_id, type: 'hash' })))
  const refused = 'service_unavailable.too_many_checks'
  assert.deepEqual(found, [
    'placed',
    'placed',
    'placed',
    refused,
    refused,
    refused,
    'placed',
    'insufficient_funds',
  ])
})

test("a name of a check is its customer's own, and what it means stays", async (t) => {
  const { ask, outcome, noted } = await placing(t)
  const hash = { type: 'hash', hash: HASH, direction: 'deposit' } as const
  const id = async (wanted: Partial<NewCheck>) => {
    const { check, replayed } = await ask(wanted)
    return `${check.id}${replayed ? ' again' : ''}`
  }
  const first = await id({ idempotency_key: 'one', ...hash })
  assert.deepEqual([noted.told, noted.woken], [[`check:${first}`], 1])
  assert.equal(await id({ idempotency_key: 'one', ...hash }), `${first} again`)
  assert.deepEqual([noted.told.length, noted.woken], [2, 1])
  const refusal = Suspended()
  assert.equal(await id({ idempotency_key: 'one', ...hash, refusal }), `${first} again`)
  assert.equal(await outcome({ idempotency_key: 'two', ...hash, refusal }), refusal.key)
  for (const other of [
    { type: 'address', hash: null, direction: null } as const,
    { network: 'ETH' },
    { address: 'elsewhere' },
    { hash: 'cd'.repeat(32) },
    { direction: 'withdrawal' } as const,
  ])
    assert.equal(
      await outcome({ idempotency_key: 'one', ...hash, ...other }),
      'invalid_service_or_params.external_id',
      JSON.stringify(other),
    )
  const other = await id({ customer_id: 'bert', idempotency_key: 'one', ...hash })
  const nameless = [await id(hash), await id(hash)]
  const ids = new Set([first, other, ...nameless, await id({ idempotency_key: 'two', ...hash })])
  assert.equal(ids.size, 5)
  const repeatable = noted.repeatable.filter((one) => !one)
  assert.equal(repeatable.length, 2, 'what has no name is not tried again')
})

test('a check costs what its type does now, while that is on sale', async (t) => {
  const { sql, ask, outcome } = await placing(t)
  await sql`
    insert into aml_price (type, price_sun, since, until, changed_by)
    select type, 77, ${new Date(0)}, ${new Date(1)}, 'x'
    from unnest(array['address', 'hash']) as type`
  const prices = await checkPrices(sql)
  for (const type of ['address', 'hash'] as const) {
    const { price_sun } = (await ask({ type })).check
    assert.notEqual(price_sun, 77n)
    assert.equal(prices.get(type)!.price_sun, price_sun)
  }
  assert.equal(await outcome({ customer_id: 'carl' }), 'insufficient_funds')
  await sql`update aml_service set on_sale = false where type = 'hash'`
  assert.equal(await outcome({ type: 'hash' }), 'service_unavailable')
  assert.equal(await outcome(), 'placed')
})

test('what a user has asked for is noted, and what a key has names it already', async (t) => {
  const { sql, ask, outcome } = await placing(t)
  const user = {
    user_id: 'u',
    session_id: 's',
    name: 'Ann',
    sign_in_name: 'ann',
    role: 'owner',
    scopes: [],
    stepped_up_until: null,
  }
  const by_user = { asked_by: { customer_id: 'anna', key_id: 'u', user } }
  await ask({ asked_by: { customer_id: 'anna', key_id: 'k' } })
  const { check } = await ask({ idempotency_key: 'one', ...by_user })
  await ask({ idempotency_key: 'one', ...by_user })
  await sql`update aml_service set on_sale = false where type = 'hash'`
  assert.equal(await outcome({ type: 'hash', ...by_user }), 'service_unavailable')
  const noted = await sql`select action, subject from customer_action`
  assert.deepEqual(noted, [{ action: 'aml-checks/new', subject: `aml_check:${check.id}` }])
})
