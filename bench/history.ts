// Pages of the screening history when there are ten million checks, three million of them one
// customer's: through HTTP, signed, on a PostgreSQL that is made for it and thrown away. The checks
// are made by SQL, the totals compared with a count of the rows. Limits: the first hundred pages
// within 10 ms (p99), any page within 100 ms.
//
//   npm run bench -- history [--checks N] [--json]

import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import type { RunningService } from 'penstock-service/serve.ts'
import pg from 'pg'
import { withApi } from './parts/api.ts'
import { type Access, signedCall } from './parts/load.ts'

export const OPTIONS = { checks: { type: 'string', default: '10000000' } } as const

const FIRST_PAGES = 100
const ROUNDS = 3
/** Customers of the crowd, for whom nobody asks. */
const CROWD = 5_000
const P99_LIMIT_MS = 10
const ANY_LIMIT_MS = 100
const STATES = ['completed', 'failed', 'processing', 'pending'] as const

type PageQuery = { page: number; per_page: number; status?: string }
type Page = { code: number; result: { total: number; items: { id: string; status: string }[] } }
type Owner = Access & { customer_id: string; share: string; checks: number }

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}) {
  const say = (line: string) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`)
  await withApi({ settings: { maintenance_work_mem: '512MB' } }, async (serving, url) => {
    const owners = await makeOwners(serving, numbers.checks!)
    const began_ms = performance.now()
    await makeChecks(url, owners, say)
    const made_seconds = Math.round((performance.now() - began_ms) / 1_000)
    say('asking for pages')
    const figures = await measure(serving, owners)
    say('')
    report(json, { checks: numbers.checks!, made_seconds, ...figures })
  })
}

/** Three tenths are one customer's, three hundredths another's, some 400 a third's; the rest are a
 *  crowd's. */
async function makeOwners({ sql, app }: RunningService, checks: number): Promise<Owner[]> {
  const sizes: [share: string, checks: number][] = [
    ['large', Math.round(checks * 0.3)],
    ['middle', Math.round(checks * 0.03)],
    ['small', Math.min(400, Math.round(checks * 0.01))],
  ]
  const left = checks - sizes.reduce((sum, [, size]) => sum + size, 0)
  sizes.push(['crowd', left])
  const needs = { ...app, clock: systemClock, random: systemRandom }
  const owners: Owner[] = []
  for (const [share, checks] of sizes) {
    owners.push(
      await sql.begin(async (tx) => {
        const { id } = await createCustomer(tx, needs, { name: share })
        const { token, secret } = await issueKey(tx, needs, { customer_id: id, name: 'bench' })
        return { customer_id: id, token, secret, share, checks }
      }),
    )
  }
  return owners
}

/** A check for each number up to $3: a third of transactions, one in twenty failed, few still
 *  open. */
const MAKE = `
  insert into aml_check (id, customer_id, type, network, address, hash, direction, state, price_sun,
                         solid_number,
                         due_at, created_at, ended_at, risk_score, risk_level, risk_factors, error)
  select '01' || $1::text || lpad(to_hex(n), 23, '0'),
         $2::text || case when $4::int = 1 then '' else (n % $4::int)::text end,
         case when hashed then 'hash' else 'address' end, 'TRX',
           'T' || substr(encode(sha256(n::text::bytea), 'hex'), 1, 33),
         case when hashed then encode(sha256(n::text::bytea), 'hex') end,
           case when hashed then 'deposit' end,
         state, 1000000, 1, at, at, case when state in ('completed', 'failed') then at end,
         case when state = 'completed' then '12.5' end,
           case when state = 'completed' then 'low' end,
         case when state = 'completed'
           then '[{"name":"exchange","label":"Exchange","group":"low","score":0.62},'
           '{"name":"unidentified","label":"Unidentified","group":"low","score":0.38}]'
             else '[]' end::jsonb,
         case when state = 'failed' then 'the chain does not know it' end
  from (
    select n, n % 3 = 0 as hashed, timestamptz '2026-01-01' + n * interval '1 second' as at,
           case when n % 20 = 0 then 'failed' when n % 1000 = 1 then 'processing' when n % 1000 = 2
             then 'pending'
                else 'completed' end as state
    from generate_series(1, $3::int) as n
  ) as made`

/** Makes the checks. Indexes are taken away meanwhile and built again at the end, which takes a
 *  third of the time. */
async function makeChecks(
  url: string,
  owners: readonly Owner[],
  say: (line: string) => void,
): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(`
    select indexname as name, indexdef as definition from pg_indexes
    where tablename = 'aml_check' and indexname not in (select conname from pg_constraint)`)
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  for (const [i, { customer_id, checks, share }] of owners.entries()) {
    say(`making ${checks} checks`)
    await client.query(MAKE, [i, customer_id, checks, share === 'crowd' ? CROWD : 1])
  }
  for (const { name, definition } of indexes) {
    say(`building ${name}`)
    await client.query(definition)
  }
  say('counting')
  await client.query(
    `insert into aml_count (customer_id, day, state, n)
     select customer_id, (created_at at time zone 'UTC')::date, state, count(*) from aml_check
       group by 1, 2, 3`,
  )
  // What autovacuum would have done by then.
  await client.query('vacuum (analyze) aml_check')
  await client.end()
}

type Figures = {
  p99_first_100_pages_ms: number
  p50_first_100_pages_ms: number
  max_any_page_ms: number
  slowest: string
  totals_exact: boolean
}

async function measure(
  { api_url, sql }: RunningService,
  owners: readonly Owner[],
): Promise<Figures> {
  const asked = owners.filter(({ share }) => share !== 'crowd')
  const first: number[] = []
  const any: { ms: number; what: string }[] = []
  let totals_exact = true
  for (const owner of asked) {
    const call = signedCall(api_url!, owner)
    const ask = async (page: PageQuery) => {
      const began_ms = performance.now()
      const { code, result } = (await call('/v1/aml-checks/history', page)) as unknown as Page
      const ms = performance.now() - began_ms
      if (code !== 0) throw new Error(`a page was refused with code ${code}`)
      any.push({ ms, what: `${owner.share} ${JSON.stringify(page)}` })
      return { ms, result }
    }
    await ask({ page: 1, per_page: 10 })
    any.pop()
    for (let round = 0; round < ROUNDS; round++) {
      for (let page = 1; page <= FIRST_PAGES; page++) {
        const filter = page % 2 === 0 ? { status: STATES[(page / 2) % 2]! } : {}
        first.push((await ask({ page, per_page: round === 0 ? 50 : 10, ...filter })).ms)
      }
    }
    for (const status of [undefined, ...STATES]) {
      const filter = status === undefined ? {} : { status }
      const { total } = (await ask({ page: 1, per_page: 10, ...filter })).result
      const [row] = await sql<{ n: bigint }>`
        select count(*) as n from aml_check
        where customer_id = ${owner.customer_id}
          and (${status ?? null}::text is null or state = ${status ?? null})`
      totals_exact &&= Number(row!.n) === total
      const pages = Math.ceil(total / 10)
      // The middle is the farthest from both ends.
      for (const share of [0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1]) {
        const page = Math.max(1, Math.round(pages * share))
        const { result } = await ask({ page, per_page: 10, ...filter })
        const expected = Math.max(0, Math.min(10, total - (page - 1) * 10))
        if (result.items.length !== expected)
          throw new Error(`page ${page} has ${result.items.length} items`)
      }
      await ask({ page: pages + 10, per_page: 10, ...filter })
    }
  }
  first.sort((a, b) => a - b)
  const slowest = any.reduce((a, b) => (b.ms > a.ms ? b : a))
  const at = (share: number) =>
    round(first[Math.min(first.length - 1, Math.floor(share * first.length))]!)
  return {
    p99_first_100_pages_ms: at(0.99),
    p50_first_100_pages_ms: at(0.5),
    max_any_page_ms: round(slowest.ms),
    slowest: slowest.what,
    totals_exact,
  }
}

const round = (ms: number) => Math.round(ms * 100) / 100

function report(json: boolean, figures: Figures & { checks: number; made_seconds: number }): void {
  if (json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else {
    const {
      checks,
      made_seconds,
      p50_first_100_pages_ms,
      p99_first_100_pages_ms,
      max_any_page_ms,
    } = figures
    process.stdout.write(
      [
        `${checks} checks, made in ${made_seconds} s`,
        `the first 100 pages    p50 ${p50_first_100_pages_ms} ms   ` +
          `p99 ${p99_first_100_pages_ms} ms   (limit ${P99_LIMIT_MS} ms)`,
        `the slowest of all     ${max_any_page_ms} ms: ${figures.slowest}   ` +
          `(limit ${ANY_LIMIT_MS} ms)`,
        `totals                 ${figures.totals_exact ? 'exact' : 'WRONG'}`,
        '',
      ].join('\n'),
    )
  }
  if (!figures.totals_exact) process.exitCode = 1
}
