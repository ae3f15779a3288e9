// Which events are noted, numbered, listed and forgotten: of two customers, and on both sides of
// every bound.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { DAY_MS } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { eventBody, eventBounds, findEvent, listEvents } from './events.ts'
import { type EventNote, noteEvents, noteForAll, noteTest } from './notes.ts'
import { changeOrderCreated, readOrderCreated } from './order_created.ts'
import { pruneEventsStep } from './prune.ts'
import { publishAll, publishStep } from './publish.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const after = (ms: number) => new Date(NOW.getTime() + ms)

type Row = { customer_id?: string; number: number; type?: string; subject?: string; at?: Date }

async function insert(sql: Sql, row: Row, count = 1): Promise<void> {
  const { customer_id = 'anna', number, type = 'order.created', subject = 'order:a' } = row
  await sql`
    insert into event (customer_id, number, id, type, subject, at, test, data)
    select ${customer_id}, n, ${customer_id} || n, ${type}, ${subject}, ${row.at ?? NOW}, false,
      '{}'
    from generate_series(${number}::integer, ${number + count - 1}) as n`
}

const note = (sql: Sql, customer_id: string, count: number) => sql`
  insert into event_note (customer_id, type, subject, at, data)
  select ${customer_id}, 'order.failed', 'order:a', ${NOW}, n::text
  from generate_series(1, ${count}) as n`

test('a list of events has what was asked for of one customer, from a place on', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const customer_id of ['anna', 'bert'])
    for (const [i, [type, subject]] of [
      ['order.created', 'a'],
      ['order.failed', 'a'],
      ['order.created', 'b'],
      ['key.ending', 'a'],
    ].entries())
      await insert(sql, { customer_id, number: i + 1, type: type!, subject: subject! })
  type Filter = Omit<Partial<Parameters<typeof listEvents>[1]>, 'customer_id'>
  const types = ['order.created', 'key.ending']
  const subject = 'a'
  for (const [wanted, expected] of [
    [{}, '4321'],
    [{ limit: 2 }, '43'],
    [{ before: 3n }, '21'],
    [{ after: 0n }, '1234'],
    [{ after: 2n }, '34'],
    [{ after: 1n, limit: 2 }, '23'],
    [{ types }, '431'],
    [{ types, limit: 2 }, '43'],
    [{ types, before: 4n }, '31'],
    [{ types, before: 3n }, '1'],
    [{ types, after: 0n }, '134'],
    [{ types, after: 1n }, '34'],
    [{ types, after: 0n, limit: 2 }, '13'],
    [{ types: ['order.created', 'order.created'] }, '31'],
    [{ subject }, '421'],
    [{ subject, limit: 2 }, '42'],
    [{ subject, before: 4n }, '21'],
    [{ subject, before: 2n }, '1'],
    [{ subject, after: 1n }, '24'],
    [{ subject, after: 0n, limit: 2 }, '12'],
    [{ subject, types }, '41'],
    [{ subject: 'none' }, ''],
  ] as [Filter, string][]) {
    const found = await listEvents(sql, { customer_id: 'bert', limit: 9, ...wanted })
    const text = JSON.stringify({ ...wanted, after: `${wanted.after}`, before: `${wanted.before}` })
    assert.equal(found.map(({ number }) => number).join(''), expected, text)
    assert.ok(
      found.every((one) => one.customer_id === 'bert'),
      text,
    )
  }
})

test("an event is found by its number in its customer's log, whose ends are known", async (t) => {
  const { sql } = await freshDatabase(t)
  await insert(sql, { number: 4 }, 3)
  await insert(sql, { customer_id: 'bert', number: 2 }, 9)
  await sql`
    insert into event_counter (customer_id, last_number)
    values ('anna', 6), ('bert', 10), ('carl', 7)`
  const find = async (customer_id: string, number: bigint) =>
    (await findEvent(sql, { customer_id, number }))?.id
  assert.deepEqual([await find('anna', 4n), await find('bert', 4n)], ['anna4', 'bert4'])
  assert.deepEqual([await find('anna', 3n), await find('bert', 3n)], [undefined, 'bert3'])
  assert.deepEqual(await eventBounds(sql, 'anna'), { oldest: 4n, newest: 6n })
  assert.deepEqual(await eventBounds(sql, 'bert'), { oldest: 2n, newest: 10n })
  assert.deepEqual(await eventBounds(sql, 'carl'), { oldest: 8n, newest: 7n }, 'none is kept')
  assert.deepEqual(await eventBounds(sql, 'dora'), { oldest: 1n, newest: 0n }, 'there was none')
  const event = (await findEvent(sql, { customer_id: 'anna', number: 4n }))!
  assert.deepEqual(JSON.parse(eventBody({ ...event, data: '{"a":1}' })), {
    type: 'order.created',
    timestamp: NOW.toISOString(),
    id: 'anna4',
    number: 4,
    subject: 'order:a',
    test: false,
    data: { a: 1 },
  })
})

const noteOf = (type: EventNote['type'], at: Date, subject = 'order:a'): EventNote => ({
  type,
  subject,
  customer_id: 'anna',
  at,
  data: {},
})

test('that an order was placed is told from the moment on from which it is to be', async (t) => {
  const { sql } = await freshDatabase(t)
  const noted = async () => {
    const rows = await sql<{ type: string; at: Date }>`
      delete from event_note returning type, at`
    return rows.map(({ type, at }) => `${type} ${at.getTime() - NOW.getTime()}`).sort()
  }
  const noteAt = (...times: number[]) =>
    sql.begin(async (tx) => {
      noteEvents(
        tx,
        times.flatMap((ms) => [
          noteOf('order.created', after(ms)),
          noteOf('order.failed', after(ms)),
        ]),
      )
    })
  const change = (order_created: boolean) =>
    sql.begin((tx) => changeOrderCreated(tx, order_created, NOW))
  assert.deepEqual(await readOrderCreated(sql), { order_created: true, from: null })
  assert.deepEqual((await change(true)).actions, [])
  const off = { order_created: false, from: null }
  const before = { order_created: true, from: null }
  assert.deepEqual(await change(false), {
    result: off,
    actions: [{ subject: 'event:order.created', before, after: off }],
  })
  assert.deepEqual(await readOrderCreated(sql), off)
  assert.deepEqual((await change(false)).actions, [])
  await noteAt(0)
  assert.deepEqual(await noted(), ['order.failed 0'])
  const on = { order_created: true, from: after(10_000) }
  assert.deepEqual((await change(true)).result, on)
  assert.deepEqual(await readOrderCreated(sql), on)
  await noteAt(9_999, 10_000)
  assert.deepEqual(await noted(), [
    'order.created 10000',
    'order.failed 10000',
    'order.failed 9999',
  ])
  assert.deepEqual((await change(true)).result, on, 'what is on stays on as it was')
})

test('what concerns all is noted for each customer who is not closed', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const [i, state] of ['active', 'suspended', 'closed'].entries())
    await sql`
      insert into customer (id, name, deposit_index, deposit_address, created_at, state)
      values (${state}, ${state}, ${i}, ${`T${String(i).padStart(33, '1')}`}, ${NOW}, ${state})`
  await sql.begin(async (tx) => {
    noteForAll(tx, noteOf('service.off', NOW))
    noteEvents(tx, [])
    noteTest(tx, {
      customer_id: 'anna',
      type: 'order.failed',
      subject: 'test:a',
      at: NOW,
      data: '{}',
    })
  })
  const rows = await sql<{ customer_id: string; type: string; test: boolean }>`
    select customer_id, type, test from event_note order by id`
  assert.deepEqual(
    rows.map(({ customer_id, type, test }) => [customer_id, type, test]),
    [
      ['active', 'service.off', false],
      ['suspended', 'service.off', false],
      ['anna', 'order.failed', true],
    ],
  )
})

test('notes are numbered a thousand at once, on from the last number of each log', async (t) => {
  const { sql } = await freshDatabase(t)
  let told = 0
  const step = publishStep({ sql, tellStreams: () => told++ })
  assert.equal(await isDue(sql, step), false)
  assert.deepEqual([await step.run(), told], [false, 0])
  await note(sql, 'bert', 2)
  await note(sql, 'anna', 1_000)
  await note(sql, 'bert', 1)
  assert.equal(await isDue(sql, step), true)
  const left = async () => (await sql`select 1 from event_note`).length
  assert.deepEqual([await step.run(), told, await left()], [true, 1, 3])
  assert.deepEqual([await step.run(), told, await left()], [true, 2, 0])
  const berts = await listEvents(sql, { customer_id: 'bert', after: 0n, limit: 9 })
  assert.deepEqual(
    berts.map(({ number, data }) => `${number} ${data}`),
    ['1 1', '2 2', '3 1'],
  )
  const ends = await sql<{ customer_id: string; last_number: bigint }>`
    select customer_id, last_number from event_counter order by customer_id`
  assert.deepEqual(
    ends.map(({ customer_id, last_number }) => [customer_id, last_number]),
    [
      ['anna', 1_000n],
      ['bert', 3n],
    ],
  )
  await note(sql, 'anna', 2_001)
  await sql.begin(publishAll)
  assert.deepEqual([await left(), (await eventBounds(sql, 'anna')).newest], [0, 3_001n])
})

test('events are forgotten after their days, 5,000 at once, of each log its first', async (t) => {
  const { sql } = await freshDatabase(t)
  const step = pruneEventsStep({ sql, clock: { now: () => NOW } }, 7)
  const bound = after(-7 * DAY_MS)
  const old = new Date(bound.getTime() - 1)
  const kept = async () => {
    const rows = await sql<{ id: string }>`select id from event order by id`
    return rows.map(({ id }) => id)
  }
  await insert(sql, { number: 1, at: bound })
  assert.deepEqual([await isDue(sql, step), await step.run()], [false, false])
  await insert(sql, { customer_id: 'bert', number: 1, at: old }, 5_001)
  await sql`
    update event set at = at - (5002 - number) * interval '1 second' where customer_id = 'bert'`
  await insert(sql, { customer_id: 'carl', number: 1 })
  await insert(sql, { customer_id: 'carl', number: 2, at: old })
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  assert.deepEqual(await kept(), ['anna1', 'bert5001', 'carl1', 'carl2'])
  assert.deepEqual([await step.run(), await step.run()], [true, false])
  assert.deepEqual(await kept(), ['anna1', 'carl1', 'carl2'])
})
