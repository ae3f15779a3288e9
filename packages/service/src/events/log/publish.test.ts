import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { drain } from '../../platform/steps/step.ts'
import { listEvents } from './events.ts'
import { noteEvents } from './notes.ts'
import { publishStep } from './publish.ts'

const step = (sql: Sql) => publishStep({ sql, tellStreams: () => {} })

async function note(
  sql: Sql,
  customer_id: string,
  count: number,
  subject = 'order:a',
): Promise<void> {
  await sql`
    insert into event_note (customer_id, type, subject, at, data)
    select ${customer_id}, 'order.created', ${subject}, now(), json_build_object('n', n)::text
    from generate_series(1, ${count}) as n`
}

test('events of a customer are numbered from 1, without gaps, as they were noted', async (t) => {
  const { sql } = await freshDatabase(t)
  await note(sql, 'anna', 3)
  await note(sql, 'bert', 2)
  await note(sql, 'anna', 1)
  await drain([step(sql)])
  const seen = await listEvents(sql, { customer_id: 'anna', after: 0n, limit: 10 })
  assert.deepEqual(
    seen.map(({ number, data }) => [number, (JSON.parse(data) as { n: number }).n]),
    [
      [1n, 1],
      [2n, 2],
      [3n, 3],
      [4n, 1],
    ],
  )
  const [left] = await sql<{ count: bigint }>`select count(*) as count from event_note`
  assert.equal(left!.count, 0n)
  assert.equal((await listEvents(sql, { customer_id: 'bert', limit: 10 })).length, 2)
})

test('several publishers and notes that come late: who reads on has read all', async (t) => {
  const { sql } = await freshDatabase(t, { connections_max: 12 })
  const steps = [step(sql), step(sql), step(sql)]
  let noting = true
  const read: bigint[] = []
  const reader = (async () => {
    for (let done = false; !done; ) {
      done = !noting
      const after = read.at(-1) ?? 0n
      const events = await listEvents(sql, { customer_id: 'anna', after, limit: 50 })
      read.push(...events.map(({ number }) => number))
      if (events.length > 0) done = false
    }
  })()
  const publishers = steps.map(async (one) => {
    while (noting) await one.run()
  })
  const writers = Array.from({ length: 4 }, async (_, i) => {
    for (let round = 0; round < 30; round++) {
      // A transaction that takes its time: its notes become visible after those of others that have
      // begun later.
      await sql.begin(async (tx) => {
        await tx`
          insert into event_note (customer_id, type, subject, at, data)
          values ('anna', 'order.created', ${`order:${i}`}, now(), '{}')`
        if (round % 3 === 0) await tx`select pg_sleep(0.005)`
      })
    }
  })
  await Promise.all(writers)
  await drain(steps)
  noting = false
  await Promise.all([reader, ...publishers])
  assert.deepEqual(
    read,
    Array.from({ length: 120 }, (_, i) => BigInt(i + 1)),
  )
})

test('a note that is rolled back takes no number', async (t) => {
  const { sql } = await freshDatabase(t)
  await note(sql, 'anna', 1)
  const undone = sql.begin(async (tx) => {
    await tx`
      insert into event_note (customer_id, type, subject, at, data)
      values ('anna', 'order.failed', 'order:b', now(), '{}')`
    throw new Error('undone')
  })
  await assert.rejects(undone, /undone/)
  await note(sql, 'anna', 1)
  await drain([step(sql)])
  const events = await listEvents(sql, { customer_id: 'anna', limit: 10 })
  assert.deepEqual(
    events.map(({ number, type }) => [number, type]),
    [
      [2n, 'order.created'],
      [1n, 'order.created'],
    ],
  )
})

test('what is longer than an event may be is told without its data', async (t) => {
  const { sql } = await freshDatabase(t)
  const longest = 'x'.repeat(20_000 - '{"text":""}'.length)
  const events = ['', longest, `${longest}x`].map((text) => ({
    type: 'order.failed' as const,
    subject: 'order:a',
    customer_id: 'anna',
    at: new Date(),
    data: { text },
  }))
  await sql.begin(async (tx) => noteEvents(tx, events))
  await drain([step(sql)])
  const told = await listEvents(sql, { customer_id: 'anna', after: 0n, limit: 10 })
  assert.deepEqual(
    told.map(({ data }) => data),
    ['{"text":""}', `{"text":"${longest}"}`, 'null'],
  )
})

test('lists by type and subject are parts of the whole, from wherever they are read', async (t) => {
  const { sql } = await freshDatabase(t)
  const TYPES = ['order.created', 'order.success', 'key.ending']
  const SUBJECTS = ['a', 'b', 'c']
  for (let n = 0; n < 60; n++) {
    const type = TYPES[n % 20 === 7 ? 2 : n % 2]
    await sql`
      insert into event_note (customer_id, type, subject, at, data)
      values ('anna', ${type}, ${SUBJECTS[n % 3]}, now(), '{}')`
  }
  await drain([step(sql)])
  const all = await listEvents(sql, { customer_id: 'anna', after: 0n, limit: 100 })
  assert.equal(all.length, 60)
  const numbersOf = (events: readonly { number: bigint }[]) => events.map(({ number }) => number)
  for (const types of [undefined, ['key.ending'], ['key.ending', 'order.created', 'key.ending']])
    for (const subject of [undefined, 'a', 'nothing'])
      for (const limit of [1, 7, 100])
        for (const place of [0n, 8n, 28n, 61n]) {
          const wanted = { customer_id: 'anna', types, subject, limit }
          const mine = all.filter(
            (event) =>
              (types?.includes(event.type) ?? true) && (subject ?? event.subject) === event.subject,
          )
          assert.deepEqual(
            numbersOf(await listEvents(sql, { ...wanted, after: place })),
            numbersOf(mine.filter(({ number }) => number > place).slice(0, limit)),
          )
          assert.deepEqual(
            numbersOf(await listEvents(sql, { ...wanted, before: place })),
            numbersOf(
              mine
                .filter(({ number }) => number < place)
                .reverse()
                .slice(0, limit),
            ),
          )
        }
})
