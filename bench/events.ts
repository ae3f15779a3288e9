// What events cost and how soon they are there: how many a second `publish` numbers, beside
// PostgreSQL moving as many rows by the same statement alone; what a thousand idle streams hold of
// memory; and, at 200 events a second for twenty customers with fifty streams each, how long it is
// from the commit of what happened to the line on a stream, beside a bare LISTEN that is told in
// the same transaction. The readers are a process of their own; API, publisher, PostgreSQL and
// readers share the machine.
//
//   npm run bench -- events [--streams N] [--seconds N] [--json]

import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { startSteps } from 'penstock-service/platform/steps/step.ts'
import type { RunningService } from 'penstock-service/serve.ts'
import pg from 'pg'
import {
  latenessWithin,
  type StreamReaders,
  startStreamReaders,
  type Tally,
} from '../tools/stream_readers.ts'
import { withApi } from './parts/api.ts'
import type { Access } from './parts/load.ts'
import { median } from './parts/median.ts'

export const OPTIONS = {
  streams: { type: 'string', default: '1000' },
  seconds: { type: 'string', default: '20' },
} as const

const CUSTOMERS = 20
const NOTES = 30_000
const ROUNDS = 3
const EVENTS_PER_SECOND = 200
/** As long as a delivered order is. */
const DATA = JSON.stringify({ id: 'x'.repeat(26), text: 'x'.repeat(700) })
const LIMITS = { publish_per_second: 8_000, p50_ms: 15, p99_ms: 60, megabytes: 60 }

type Customer = Access & { customer_id: string }
type Setting = {
  serving: RunningService
  url: string
  customers: Customer[]
  publish(): Promise<boolean>
}
type Numbering = { publish: number; postgres: number }
type Lateness = { heard: Tally; lost: number; listen_ms: number[] }
type Figures = { numbering: Numbering; streams: number; megabytes: number; lateness: Lateness }

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const env = {
    PENSTOCK_CONNECTIONS_PER_ADDRESS: '20000',
    PENSTOCK_CONNECTIONS_MAX: '20000',
  }
  await withApi({ env }, async (serving, url) => {
    const readers = await startStreamReaders()
    try {
      const publish = serving.app.steps.find(({ name }) => name === 'publish')!
      const customers = await makeCustomers(serving)
      const setting = { serving, url, customers, publish: () => publish.run() }
      const { streams, seconds } = { streams: numbers.streams!, seconds: numbers.seconds! }
      const megabytes = await openStreams(setting, readers, streams)
      const lateness = await measureLateness(setting, readers, { streams, seconds })
      readers.stop()
      report(json, { streams, megabytes, lateness, numbering: await measureNumbering(setting) })
    } finally {
      readers.stop()
    }
  })
}

async function makeCustomers({ sql, app }: RunningService): Promise<Customer[]> {
  const needs = { ...app, clock: systemClock, random: systemRandom }
  const customers: Customer[] = []
  for (let i = 0; i < CUSTOMERS; i++) {
    // Ten streams are open of a key at most, fifty of a customer.
    await sql.begin(async (tx) => {
      const { id: customer_id } = await createCustomer(tx, needs, { name: `reader ${i}` })
      for (let key = 0; key < 5; key++) {
        const named = { customer_id, name: `key ${key}`, scopes: ['read'] as const }
        customers.push({ customer_id, ...(await issueKey(tx, needs, named)) })
      }
    })
  }
  return customers
}

const residentMegabytes = () => process.memoryUsage().rss / 1_048_576

/** Megabytes more in the process that serves them. */
async function openStreams(
  { serving, customers }: Setting,
  readers: StreamReaders,
  streams: number,
): Promise<number> {
  const api_url = serving.api_url!
  // What is compiled and connected at the first is not what streams hold.
  await readers.open({ api_url, keys: customers, streams: customers.length })
  const before = residentMegabytes()
  const left = streams - customers.length
  await readers.open({ api_url, keys: customers, streams: left })
  return ((residentMegabytes() - before) / left) * streams
}

/** Notes at a steady pace, as many a customer as another, each told on all of its streams. */
async function measureLateness(
  { serving, url, customers, publish }: Setting,
  readers: StreamReaders,
  { streams, seconds }: { streams: number; seconds: number },
): Promise<Lateness> {
  const { sql } = serving
  const listener = await startListener(url)
  const step = { name: 'publish', rest_ms: 250, run: publish }
  const worker = startSteps([step], silentLog)
  const count = EVENTS_PER_SECOND * seconds
  const ids = [...new Set(customers.map(({ customer_id }) => customer_id))]
  const began_ms = Date.now()
  for (let i = 0; i < count; i++) {
    await delay(Math.max(0, began_ms + (i * 1_000) / EVENTS_PER_SECOND - Date.now()))
    const committed_ms = Date.now()
    const data = `{"committed_ms":${committed_ms},${DATA.slice(1)}`
    await sql`
      with told as (select pg_notify('bare', ${String(committed_ms)}))
      insert into event_note (customer_id, type, subject, at, data)
      select ${ids[i % ids.length]!}, 'order.succeeded', ${`order:${i}`}, now(), ${data} from told`
    worker.wake('publish')
  }
  const expected = (count * streams) / ids.length
  let heard = await readers.heard()
  for (let tries = 0; heard.events < expected && tries < 100; tries++) {
    await delay(100)
    heard = await readers.heard()
  }
  await worker.stop()
  await listener.stop()
  return {
    heard,
    lost: expected - heard.events + heard.findings.length + heard.reopened,
    listen_ms: listener.lateness_ms,
  }
}

async function startListener(url: string) {
  const client = new pg.Client({ connectionString: url })
  const lateness_ms: number[] = []
  client.on('notification', ({ payload }) => lateness_ms.push(Date.now() - Number(payload)))
  await client.connect()
  await client.query('listen bare')
  return { lateness_ms, stop: () => client.end() }
}

/** Events a second, each way in turns; the middle of the rounds. */
async function measureNumbering({ serving, customers, publish }: Setting): Promise<Numbering> {
  const { sql } = serving
  const rates = { publish: [] as number[], postgres: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    await insertNotes(sql, customers)
    rates.publish.push(await rateOf(() => untilDone(publish)))
    await insertNotes(sql, customers)
    rates.postgres.push(await rateOf(() => untilDone(() => numberBySql(sql))))
  }
  return { publish: median(rates.publish), postgres: median(rates.postgres) }
}

async function untilDone(run: () => Promise<boolean>): Promise<void> {
  while (await run());
}

async function rateOf(work: () => Promise<void>): Promise<number> {
  const began_ms = performance.now()
  await work()
  return Math.round((NOTES / (performance.now() - began_ms)) * 1_000)
}

const insertNotes = (sql: Sql, customers: readonly Customer[]) => sql`
  insert into event_note (customer_id, type, subject, at, data)
  select (${customers.map((one) => one.customer_id)}::text[])[1 + n % ${customers.length}::int],
    'order.succeeded', 'order:' || n, now(), ${DATA}
  from generate_series(1, ${NOTES}::int) as n`

/** A thousand of the oldest, by the server alone. */
async function numberBySql(sql: Sql): Promise<boolean> {
  const rows = await sql`
    with taken as (
      delete from event_note where id in (select id from event_note order by id limit 1000)
      returning *),
    share as (
      select customer_id, count(*) as notes from taken group by customer_id),
    ends as (
      insert into event_counter as c (customer_id, last_number)
      select customer_id, notes from share order by customer_id
      on conflict (customer_id) do update set last_number = c.last_number + excluded.last_number
      returning c.customer_id, c.last_number)
    insert into event (customer_id, number, id, type, subject, at, test, data)
    select t.customer_id,
           e.last_number - s.notes + row_number() over (partition by t.customer_id order by t.id),
           'bare ' || t.id, t.type, t.subject, t.at, t.test, t.data
    from taken as t join share as s using (customer_id) join ends as e using (customer_id)
    returning 1 as one`
  return rows.length > 0
}

function report(json: boolean, { numbering, streams, megabytes, lateness }: Figures): void {
  const part = (ms: number[], share: number) =>
    ms.toSorted((a, b) => a - b)[Math.floor(share * (ms.length - 1))] ?? Number.NaN
  const ratio = (a: number, b: number) => Math.round((a / b) * 100) / 100
  const figures = {
    publish_per_second: numbering.publish,
    postgres_alone_per_second: numbering.postgres,
    publish_ratio: ratio(numbering.publish, numbering.postgres),
    streams,
    streams_megabytes: Math.round(megabytes),
    events_on_streams: lateness.heard.events,
    lost: lateness.lost,
    commit_to_stream_p50_ms: latenessWithin(lateness.heard, 0.5),
    commit_to_stream_p99_ms: latenessWithin(lateness.heard, 0.99),
    commit_to_listen_p50_ms: part(lateness.listen_ms, 0.5),
    commit_to_listen_p99_ms: part(lateness.listen_ms, 0.99),
  }
  if (json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else {
    const all = figures
    process.stdout.write(
      [
        `PostgreSQL alone         ${all.postgres_alone_per_second} events a second`,
        `publish                  ${all.publish_per_second}, ${all.publish_ratio} of it ` +
          `(${LIMITS.publish_per_second} are wanted)`,
        `${streams} idle streams       ${all.streams_megabytes} MB (limit ${LIMITS.megabytes})`,
        `commit to stream         p50 ${all.commit_to_stream_p50_ms} (limit ${LIMITS.p50_ms})   ` +
          `p99 ${all.commit_to_stream_p99_ms} ms (limit ${LIMITS.p99_ms}), ` +
          `${all.events_on_streams} told, ${all.lost} lost`,
        `commit to a bare LISTEN  p50 ${all.commit_to_listen_p50_ms}   ` +
          `p99 ${all.commit_to_listen_p99_ms} ms`,
        '',
      ].join('\n'),
    )
  }
  if (figures.lost !== 0) process.exitCode = 1
}
