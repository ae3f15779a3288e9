// What customers read of their account when one of them has a million entries: pages of the
// statement and of the purchases, wherever they begin, and the summary of a month; through HTTP,
// signed, on a PostgreSQL that is made for it and thrown away. Entries are made by SQL over four
// hundred days, and summarised by the step that does it. Limits: any page within 20 ms (p99), the
// summary of 30 days within 50 ms.
//
//   npm run bench -- statement [--entries N] [--json]

import { summarizeStep } from 'penstock-service/ledger/statements/summaries.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { firstIdAt, systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { RunningService } from 'penstock-service/serve.ts'
import { withApi } from './parts/api.ts'
import { type Access, signedCall } from './parts/load.ts'

export const OPTIONS = { entries: { type: 'string', default: '1000000' } } as const

const DAYS = 400
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const ASKED = 400
const PAGE_LIMIT_MS = 20
const SUMMARY_LIMIT_MS = 50
/** Customers of the crowd, for whom nobody asks, and what they have of the entries besides. */
const CROWD = 200
const CROWD_SHARE = 0.2
const AT_ONCE = 2_000

type Owner = Access & { customer_id: string; began_at: Date }
type Times = { what: string; limit_ms: number; ms: number[] }
type Page = { code: number; result: { items: { id: string }[]; next: string | null } }

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}) {
  const say = (line: string) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`)
  await withApi({ settings: { maintenance_work_mem: '256MB' } }, async (serving) => {
    const owner = await makeOwner(serving)
    say('making entries')
    await makeEntries(serving.sql, owner, numbers.entries!)
    say('summarising')
    const summarised_seconds = await summarise(serving.sql)
    say('asking')
    const times = await measure(serving, owner)
    say('')
    report(json, { entries: numbers.entries!, summarised_seconds, times })
  })
}

async function makeOwner({ sql, app }: RunningService): Promise<Owner> {
  const needs = { ...app, clock: systemClock, random: systemRandom }
  const began_at = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - DAYS * DAY_MS)
  return sql.begin(async (tx) => {
    const { id: customer_id } = await createCustomer(tx, needs, { name: 'large' })
    const key = { customer_id, name: 'bench', scopes: ['read', 'money'] as const }
    const { token, secret } = await issueKey(tx, needs, key)
    await tx`update customer set created_at = ${began_at} where id = ${customer_id}`
    return { customer_id, token, secret, began_at }
  })
}

/** Orders with their holds and captures, spread evenly, and seals as they would have been made. */
async function makeEntries(sql: Sql, owner: Owner, entries: number): Promise<void> {
  // First, because no account may be overdrawn in between.
  await sql`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    select 'deposit:' || n, 'move', 'world', 'customer:' || ${owner.customer_id}::text,
      100000000000, ${owner.began_at}::timestamptz + n * interval '1 day'
    from generate_series(0, ${DAYS - 1}::integer) as n`
  await insertOrders(sql, owner, Math.floor(entries / 2))
  await sql`
    insert into journal (number, first_entry, last_entry, entries, actions, sealed_at, sha256)
    select row_number() over (order by hour), first, last, last - first + 1, 0,
      hour + interval '61 minutes', ''
    from (
      select hour, coalesce(lag(last) over (order by hour), 0) + 1 as first, last
      from (
        select date_trunc('hour', made_at, 'UTC') as hour,
          max(max(number)) over (order by date_trunc('hour', made_at, 'UTC')) as last
        from transfer group by 1) as hours) as ranges
    where last >= first`
  await sql`analyze`
}

/** One of so many orders is the crowd's. */
const CROWD_EVERY = Math.round(1 + 1 / CROWD_SHARE)

/** So many of the owner, and those of the crowd among them: numbers follow times. */
async function insertOrders(
  sql: Sql,
  { began_at, customer_id }: Owner,
  own_orders: number,
): Promise<void> {
  const orders = Math.ceil(own_orders / (1 - 1 / CROWD_EVERY))
  const step_ms = (DAYS * DAY_MS - HOUR_MS) / orders
  for (let from = 0; from < orders; from += AT_ONCE) {
    const made = Array.from({ length: Math.min(AT_ONCE, orders - from) }, (_, i) => {
      const n = from + i
      const at = new Date(began_at.getTime() + Math.floor(n * step_ms))
      const id = `${firstIdAt(at).slice(0, 10)}${String(n).padStart(16, '0')}`
      const crowd = n % CROWD_EVERY === CROWD_EVERY - 1
      return { id, at, customer: crowd ? `crowd${n % (CROWD * CROWD_EVERY)}` : customer_id }
    })
    await sql`
      with made as (
        select * from unnest(${made.map(({ id }) => id)}::text[],
          ${made.map(({ at }) => at)}::timestamptz[],
          ${made.map((one) => one.customer)}::text[]) as t (id, at, customer)
      ), placed as (
        insert into orders (id, customer_id, external_id, service, address, energy, activate,
          to_delegate, amount_sun, due_at, created_at, state, tx_id)
        select id, customer, 'order-' || id, 'energy', 'T' || substr(id, 15), 65000, false, false,
          2930000, at, at, 'success', id from made
      )
      insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
      select entry.id, entry.kind, entry.hold_id, 'customer:' || customer, 'revenue', 2930000,
        entry.at
      from made cross join lateral (values
        ('order:' || id, 'hold', null, at),
        ('order:' || id || '/capture', 'capture', 'order:' || id, at + interval '3 seconds')
      ) as entry (id, kind, hold_id, at)
      order by entry.at`
    // A plan is kept until the table is looked at anew, and one of an empty table reads all of it.
    if (Number.isInteger(Math.log2(1 + from / AT_ONCE))) await sql`analyze transfer`
  }
}

async function summarise(sql: Sql): Promise<number> {
  const began_ms = performance.now()
  const step = summarizeStep({ sql, clock: systemClock })
  while (await step.run());
  await sql`analyze`
  return Math.round((performance.now() - began_ms) / 1_000)
}

async function measure({ api_url }: RunningService, owner: Owner): Promise<Times[]> {
  const call = signedCall(api_url!, owner)
  const times: Times[] = []
  const timed = (what: string, limit_ms: number) => {
    const ms: number[] = []
    times.push({ what, limit_ms, ms })
    return async (path: string, body: object) => {
      const began_ms = performance.now()
      const reply = (await call(path, body)) as unknown as Page
      ms.push(performance.now() - began_ms)
      if (reply.code !== 0) throw new Error(`${path} was refused with code ${reply.code}`)
      return reply.result
    }
  }
  const at = (share: number) => new Date(owner.began_at.getTime() + share * DAYS * DAY_MS)
  /** Anywhere, evenly, and not at the beginning of an hour. */
  const anywhere = (i: number) => at(((i * 0.618) % 0.98) + 0.01).toISOString()
  for (const path of ['/v1/statement', '/v1/transactions/list']) {
    const first = timed(`${path}, page after page`, PAGE_LIMIT_MS)
    let before: string | null = null
    for (let i = 0; i < ASKED; i++)
      before = (await first(path, before === null ? { limit: 100 } : { limit: 100, before })).next
    const any = timed(`${path}, from anywhere`, PAGE_LIMIT_MS)
    for (let i = 0; i < ASKED; i++) await any(path, { limit: 100, until: anywhere(i) })
  }
  const period = timed('/v1/statement, of a day', PAGE_LIMIT_MS)
  for (let i = 0; i < ASKED; i++) {
    const since = anywhere(i)
    const until = new Date(Date.parse(since) + DAY_MS).toISOString()
    await period('/v1/statement', { limit: 100, since, until })
  }
  for (const bucket of ['day', 'hour']) {
    const month = timed(`/v1/summary of 30 days, by ${bucket}s`, SUMMARY_LIMIT_MS)
    for (let i = 0; i < ASKED / 2; i++) await month('/v1/summary', { bucket })
  }
  return times
}

const round = (ms: number) => Math.round(ms * 100) / 100

function report(
  json: boolean,
  {
    entries,
    summarised_seconds,
    times,
  }: {
    entries: number
    summarised_seconds: number
    times: readonly Times[]
  },
): void {
  const rows = times.map(({ what, limit_ms, ms }) => {
    const sorted = ms.toSorted((a, b) => a - b)
    const part = (share: number) => round(sorted[Math.floor(share * (sorted.length - 1))]!)
    return { what, p50_ms: part(0.5), p99_ms: part(0.99), max_ms: part(1), limit_ms }
  })
  if (json) {
    process.stdout.write(`${JSON.stringify({ entries, summarised_seconds, rows })}\n`)
  } else {
    const lines = rows.map(
      ({ what, p50_ms, p99_ms, max_ms, limit_ms }) =>
        `${what.padEnd(44)} p50 ${p50_ms}   p99 ${p99_ms} (limit ${limit_ms})   max ${max_ms} ms`,
    )
    const head = `${entries} entries of one customer, summarised in ${summarised_seconds} s`
    process.stdout.write(`${[head, ...lines, ''].join('\n')}`)
  }
  if (rows.some(({ p99_ms, limit_ms }) => p99_ms > limit_ms)) process.exitCode = 1
}
