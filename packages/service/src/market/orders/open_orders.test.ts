import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { openOrderCounter } from './open_orders.ts'

test('a refused purchase leaves its place to another, and what is open takes one', async (t) => {
  const { sql } = await freshDatabase(t)
  let now = new Date('2026-10-08T15:26:32Z')
  for (const [id, limit] of [
    ['anna', 2],
    ['bert', null],
  ] as const)
    await sql`
      insert into customer (id, name, state, created_at, deposit_index, deposit_address,
        open_orders_limit)
      values (${id}, ${id}, 'active', ${now}, ${id === 'anna' ? 1 : 2},
        ${id.padEnd(34)}, ${limit})`
  const open = openOrderCounter({ sql, clock: { now: () => now } })
  const added = (customer_id = 'anna') => open.add(customer_id)
  assert.deepEqual([await added(), await added(), await added()], [true, true, false])
  assert.equal(await added('bert'), true)
  open.remove('anna')
  assert.deepEqual([await added(), await added()], [true, false])
  // At the limit it is counted anew, and only what stands in the database counts then.
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
      amount_sun, due_at, created_at)
    select customer || state, customer, 'energy', 'bob', 1, false, state, false, 0, ${now}, ${now}
    from unnest(array['anna', 'bert', 'bert'], array['new', 'new', 'pending'])
      as t (customer, state)`
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
      amount_sun, due_at, created_at)
    values ('over', 'anna', 'energy', 'bob', 1, false, 'failed', false, 0, ${now}, ${now})`
  now = new Date(now.getTime() + 249)
  assert.equal(await added(), false)
  now = new Date(now.getTime() + 1)
  assert.deepEqual([await added(), await added()], [true, false])
})

test('what was let in is not forgotten by counting while there is room for more', async (t) => {
  const { sql } = await freshDatabase(t)
  let now = new Date('2026-10-08T15:26:32Z')
  await sql`
    insert into customer (id, name, created_at, deposit_index, deposit_address, open_orders_limit)
    values ('anna', 'Anna', ${now}, 1, ${'anna'.padEnd(34)}, 3)`
  const open = openOrderCounter({ sql, clock: { now: () => now } })
  assert.deepEqual([await open.add('anna'), await open.add('anna')], [true, true])
  now = new Date(now.getTime() + 250)
  assert.equal(await open.add('anna'), true)
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, to_delegate,
      amount_sun, due_at, created_at)
    select i::text, 'anna', 'energy', 'bob', 1, false, true, 0, ${now}, ${now}
    from generate_series(1, 3) as i`
  assert.equal(await open.add('anna'), false)
})
