// How many streams there may be, what each of them tells, and when it ends: of each bound both
// sides.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { CALLER } from 'penstock-test/harness/endpoint_calls.ts'
import type { Fault } from '../../lib/fault.ts'
import type { Customer } from '../../platform/wire/endpoint.ts'
import { EventStreams, type Needs, type StreamOptions } from './streams.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const HOUR_MS = 3_600_000

const asks = (customer_id: string, key_id = customer_id, session_id?: string): Customer => ({
  ...CALLER,
  customer_id,
  key_id,
  user:
    session_id === undefined
      ? undefined
      : {
          user_id: key_id,
          session_id,
          name: 'Anna',
          sign_in_name: null,
          role: 'reader',
          scopes: [],
          stepped_up_until: null,
        },
})

/** Anna's log has six events, of two types and subjects; the fifth did not happen. */
async function withStreams(t: TestContext, more: Partial<Needs> = {}) {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into event (customer_id, number, id, type, subject, at, test, data)
    select 'anna', n, n::text, case when n % 2 = 0 then 'order.failed' else 'order.created' end,
      case when n < 4 then 'order:a' else 'order:b' end, ${NOW}, n = 5, '{}'
    from generate_series(1, 6) as n`
  await sql`insert into event_counter (customer_id, last_number) values ('anna', 6)`
  let at = NOW
  const streams = new EventStreams({
    sql,
    clock: { now: () => at },
    print: ({ type }) => type,
    scopesOf: async (ids) => new Map(ids.map((id) => [id, undefined])),
    openSessions: async () => new Set(),
    ...more,
  })
  t.after(() => streams.close())
  const open = async (customer: Customer, wanted: Partial<StreamOptions> = {}) => {
    const options = { customer, tests: false, ...wanted }
    const lines = await streams.open(options, new AbortController().signal)
    return lines[Symbol.asyncIterator]()
  }
  const setTime = (ms: number) => {
    at = new Date(NOW.getTime() + ms)
  }
  return { sql, streams, open, setTime }
}

test('streams are limited by key, by customer and by process', async (t) => {
  const limits = { key_max: 2, customer_max: 3, process_max: 4 }
  const { open, streams } = await withStreams(t, { limits })
  const opened = (customer_id: string, key_id?: string) =>
    open(asks(customer_id, key_id)).then(
      () => 'open',
      (thrown: Fault) => thrown.message,
    )
  assert.deepEqual([await opened('anna', 'a'), await opened('anna', 'a')], ['open', 'open'])
  assert.match(await opened('anna', 'a'), /Too many streams of this key are open/)
  assert.equal(await opened('anna', 'b'), 'open')
  assert.match(await opened('anna', 'c'), /^Too many streams are open/)
  assert.equal(await opened('bert', 'a'), 'open', 'those of another customer do not count')
  assert.notEqual(await opened('carl'), 'open')
  assert.equal(streams.count, 4)
})

test('a stream tells what was asked for, from the number on that was asked for', async (t) => {
  const { open } = await withStreams(t)
  const told = async (wanted: Partial<StreamOptions>) => {
    const lines = await open(asks('anna'), wanted)
    assert.match(String((await lines.next()).value), / 6\n\n$/)
    const { value } = await lines.next()
    return [...String(value).matchAll(/^id: (\d+)$/gm)].map(([, number]) => number).join('')
  }
  assert.equal(await told({ after: 0n }), '12346')
  assert.equal(await told({ after: 5n }), '6')
  assert.equal(await told({ after: 0n, tests: true }), '123456')
  assert.equal(await told({ after: 0n, types: ['order.created'] }), '13')
  assert.equal(await told({ after: 0n, types: ['order.created'], tests: true }), '135')
  assert.equal(await told({ after: 0n, subject: 'order:b' }), '46')
})

test('a stream without a number, or after the last one, tells what is new', async (t) => {
  const { sql, open, streams } = await withStreams(t)
  for (const [after, number] of [
    [undefined, 7],
    [7n, 8],
  ] as const) {
    const lines = await open(asks('anna'), after === undefined ? {} : { after })
    await lines.next()
    const news = lines.next()
    await sql`
      insert into event (customer_id, number, id, type, subject, at, test, data)
      values ('anna', ${number}, ${String(number)}, 'order.failed', 'a', ${NOW}, false, '{}')`
    await sql`update event_counter set last_number = ${number}`
    streams.poke()
    assert.equal((await news).value, `id: ${number}\nevent: order.failed\ndata: order.failed\n\n`)
  }
})

test('where nothing is kept after the number asked for, what is new is waited for', async (t) => {
  const { sql } = await withStreams(t)
  await sql`delete from event`
  let readings = 0
  const counting = Object.assign((...of: Parameters<typeof sql>) => {
    if (of[0].join('').includes('from event where')) readings += 1
    return sql(...of)
  }, sql) as typeof sql
  const needs = { sql: counting, clock: { now: () => NOW }, print: () => 'told' }
  const of_keys = async (ids: readonly string[]) => new Map(ids.map((id) => [id, undefined]))
  const rest = { scopesOf: of_keys, openSessions: async () => new Set<string>() }
  const own = new EventStreams({ ...needs, ...rest })
  t.after(() => own.close())
  const wanted = { customer: asks('anna'), after: 0n, tests: false }
  const lines = (await own.open(wanted, new AbortController().signal))[Symbol.asyncIterator]()
  await lines.next()
  const news = lines.next()
  await delay(300)
  assert.ok(readings < 10, `the log was read ${readings} times`)
  await sql`
    insert into event (customer_id, number, id, type, subject, at, test, data)
    values ('anna', 7, '7', 'order.failed', 'a', ${NOW}, false, '{}')`
  await sql`update event_counter set last_number = 7`
  own.poke()
  assert.equal((await news).value, 'id: 7\nevent: order.failed\ndata: told\n\n')
})

test('a stream ends an hour after it was begun', async (t) => {
  const { open, setTime, streams } = await withStreams(t)
  for (const [ms, is_over] of [
    [HOUR_MS - 1, false],
    [HOUR_MS, true],
  ] as const) {
    setTime(0)
    const lines = await open(asks('anna'), { after: 0n })
    await lines.next()
    setTime(ms)
    assert.equal((await lines.next()).done, is_over)
    await lines.return?.()
  }
  assert.equal(streams.count, 0)
})

test('a stream of one who is signed in ends with the session, of a key it does not', async (t) => {
  const asked: string[][] = []
  const openSessions = async (ids: readonly string[]) => {
    asked.push([...ids])
    return new Set(['open'])
  }
  for (const [session, stays] of [
    ['open', true],
    ['over', false],
    [undefined, true],
  ] as const) {
    const looked = Promise.withResolvers<void>()
    const { open, streams } = await withStreams(t, {
      openSessions,
      scopesOf: async (ids) => {
        // What is found is judged before anything else can happen.
        setImmediate(() => looked.resolve())
        return new Map(ids.map((id) => [id, undefined]))
      },
    })
    const lines = await open(asks('anna', 'key', session), { after: 0n })
    await looked.promise
    await lines.next()
    assert.equal((await lines.next()).done, !stays, session)
    streams.close()
  }
  assert.deepEqual(asked, [['open'], ['over']])
})
