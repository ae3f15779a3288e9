import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { CALLER } from 'penstock-test/harness/endpoint_calls.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { drain } from '../../platform/steps/step.ts'
import type { Customer, Scope } from '../../platform/wire/endpoint.ts'
import { publishStep } from './publish.ts'
import { EventStreams } from './streams.ts'

const anna: Customer = { ...CALLER, key_id: 'key' }

/** What the key may read now; undefined: it is revoked. */
type KeyNow = { scopes: readonly Scope[] | undefined } | undefined

const streamsOn = (sql: Sql, keyNow: () => KeyNow = () => ({ scopes: undefined })) =>
  new EventStreams({
    sql,
    clock: { now: () => new Date() },
    print: ({ type }) => JSON.stringify({ type }),
    scopesOf: async () => {
      const now = keyNow()
      return new Map(now && [['key', now.scopes]])
    },
    openSessions: async () => new Set(),
  })

const open = async (streams: EventStreams, gone = new AbortController()) => {
  const lines = await streams.open({ customer: anna, tests: false }, gone.signal)
  return lines[Symbol.asyncIterator]()
}

async function tell(sql: Sql, streams: EventStreams): Promise<void> {
  await sql`
    insert into event_note (customer_id, type, subject, at, data)
    values ('anna', 'order.created', 'order:a', now(), '{}')`
  await drain([publishStep({ sql, tellStreams: () => streams.poke() })])
}

test('a stream tells what is numbered once it is open, and ends with the process', async (t) => {
  const { sql } = await freshDatabase(t)
  const streams = streamsOn(sql)
  await tell(sql, streams)
  const lines = await open(streams)
  assert.match(String((await lines.next()).value), /^: \S+ 1\n\n$/)
  const news = lines.next()
  await tell(sql, streams)
  assert.equal(
    (await news).value,
    'id: 2\nevent: order.created\ndata: {"type":"order.created"}\n\n',
  )
  const last = lines.next()
  streams.close()
  assert.equal((await last).done, true)
  assert.equal(streams.count, 0)
})

test('a database that is away ends no process', async (t) => {
  const { sql } = await freshDatabase(t)
  let away = false
  const breaking = Object.assign(
    (strings: TemplateStringsArray, ...values: unknown[]) =>
      away ? Promise.reject(new Error('the database is away')) : sql(strings, ...values),
    sql,
  ) as Sql
  const streams = streamsOn(breaking)
  const lines = await open(streams)
  await lines.next()
  const news = lines.next()
  away = true
  streams.poke()
  // Whatever nobody has caught would be told by now.
  await new Promise((resolve) => setTimeout(resolve, 20))
  away = false
  await tell(sql, streams)
  assert.match(String((await news).value), /^id: 1\n/)
  streams.close()
})

test('a key has ten streams at most, and one that is gone makes room', async (t) => {
  const { sql } = await freshDatabase(t)
  const streams = streamsOn(sql)
  const gone = new AbortController()
  const lines = await open(streams, gone)
  await lines.next()
  for (let i = 1; i < 10; i++) await open(streams)
  await assert.rejects(open(streams), { code: 72, key: 'limit_reached.stream' })
  const end = lines.next()
  gone.abort()
  assert.equal((await end).done, true)
  await open(streams)
  assert.equal(streams.count, 10)
  streams.close()
})

test('one that is gone before its first line was asked for makes room too', async (t) => {
  const { sql } = await freshDatabase(t)
  const streams = streamsOn(sql)
  const early = new AbortController()
  early.abort()
  const late = new AbortController()
  await open(streams, early)
  await open(streams, late)
  late.abort()
  assert.equal(streams.count, 0)
  streams.close()
})

test('a stream ends when its key is revoked, and when it may read less', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const after of [undefined, { scopes: ['buy'] as const }]) {
    let now: KeyNow = { scopes: undefined }
    const streams = streamsOn(sql, () => now)
    const lines = await open(streams)
    await lines.next()
    const end = lines.next()
    now = after
    assert.equal((await end).done, true)
    assert.equal(streams.count, 0)
  }
})

test('streams of a customer share a reading, and each is told what its key may read', async (t) => {
  const { sql } = await freshDatabase(t)
  let readings = 0
  const counting = Object.assign((strings: TemplateStringsArray, ...values: unknown[]) => {
    if (strings.join('').includes('from event\n')) readings += 1
    return sql(strings, ...values)
  }, sql) as Sql
  const scopes_of = (i: number): Customer['scopes'] => (i % 2 === 0 ? ['read'] : ['buy'])
  const streams = new EventStreams({
    sql: counting,
    clock: { now: () => new Date() },
    print: ({ number }, { scopes }) => `${number} ${scopes}`,
    scopesOf: async (ids) => new Map(ids.map((id) => [id, scopes_of(Number(id))])),
    openSessions: async () => new Set(),
  })
  const all = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const customer = { ...anna, key_id: String(i % 4), scopes: scopes_of(i) }
      const lines = await streams.open({ customer, tests: false }, new AbortController().signal)
      return lines[Symbol.asyncIterator]()
    }),
  )
  await Promise.all(all.map((lines) => lines.next()))
  for (const number of [1, 2, 3]) {
    const news = all.map((lines) => lines.next())
    await tell(sql, streams)
    for (const [i, told] of (await Promise.all(news)).entries())
      assert.match(String(told.value), new RegExp(`^id: ${number}\n.*\ndata: .* ${scopes_of(i)}\n`))
  }
  assert.ok(readings <= 6, `${readings} readings for 3 events`)
  streams.close()
})
