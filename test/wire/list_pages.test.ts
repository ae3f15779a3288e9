// Lists by pages, while rows are added: who reads on finds each row that was there at the beginning
// once, in order, and nobody else's.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { routes as statementRoutes } from 'penstock-service/ledger/statements/routes.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { routes as transactionRoutes } from 'penstock-service/market/history/routes.ts'
import { useRoutes } from 'penstock-service/market/subscriptions/routes.ts'
import { routes as refusalRoutes } from 'penstock-service/people/refusals/routes.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { Endpoint } from 'penstock-service/platform/wire/endpoint.ts'
import { reportRoutes } from 'penstock-service/screening/reports/routes.ts'
import { routes as depositRoutes } from 'penstock-service/treasury/deposits/routes.ts'
import { routes as invoiceRoutes } from 'penstock-service/treasury/invoices/routes.ts'
import { freshDatabase } from '../harness/database.ts'
import { askEndpoint } from '../harness/endpoint_calls.ts'

type Item = Record<string, unknown>
type Page = { items: Item[]; next: string | null }

const ROWS = 1_000
const LIMIT = 37

/** What is listed, what names an item of it, and rows `from` to `to` of a customer, the later ones
 *  newer; four at a time are of one moment. */
type List = {
  endpoint: (sql: Sql) => Endpoint
  body?: (customer_id: string) => object
  nameOf: (item: Item) => string
  add: (sql: Sql, customer_id: string, from: number, to: number) => Promise<unknown>
}

const named = (routes: readonly Endpoint[], path: string) =>
  routes.find((one) => one.path === path)!

const LISTS: Record<string, List> = {
  transactions: {
    endpoint: (sql) =>
      named(transactionRoutes({ sql, clock: { now: () => new Date(0) } }), '/v1/transactions/list'),
    nameOf: ({ external_id }) => String(external_id),
    add: (sql, customer_id, from, to) => sql`
      insert into orders (id, customer_id, external_id, service, address, energy, activate,
        to_delegate, amount_sun, due_at, created_at)
      select lpad(to_hex(n), 24, '0') || case ${customer_id} when 'anna' then '0a' else '0b' end,
        ${customer_id}, n::text, 'energy', 'T' || repeat('x', 33), 65000, false, false, 1, now(),
        now()
      from generate_series(${from}::integer, ${to}::integer) as n`,
  },
  entries: {
    endpoint: (sql) => named(statementRoutes({ sql, clock: systemClock }), '/v1/statement'),
    nameOf: ({ id }) => String(id).split('/')[1]!,
    add: (sql, customer_id, from, to) => sql`
      insert into transfer (id, kind, debit, credit, amount_sun, made_at)
      select 'deposit:' || lpad(n::text, 8, '0') || ${customer_id} || '/' || n, 'move', 'world',
        'customer:' || ${customer_id}::text, n,
        timestamptz '2026-01-01' + n / 4 * interval '1 minute'
      from generate_series(${from}::integer, ${to}::integer) as n`,
  },
  deposits: {
    endpoint: (sql) => named(depositRoutes({ sql }), '/v1/deposits/list'),
    nameOf: ({ tx_id }) => String(Number.parseInt(String(tx_id).slice(0, 60), 16)),
    add: (sql, customer_id, from, to) => sql`
      insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
        block_time, customer_id, state, solid_at, due_at, seen_at)
      select lpad(to_hex(n), 60, '0')
          || case ${customer_id} when 'anna' then 'aaaa' else 'bbbb' end,
        0, 'T', 'T', 1, 1000 + n / 4, now(), ${customer_id}, 'credited', now(), now(), now()
      from generate_series(${from}::integer, ${to}::integer) as n`,
  },
  invoices: {
    endpoint: (sql) => named(invoiceRoutes({ sql }), '/v1/invoices/list'),
    nameOf: ({ number }) => String(Number(number) >> 1),
    add: (sql, customer_id, from, to) => sql`
      insert into invoice (number, customer_id, month, issued_at, total_sun, document, sha256)
      select 2 * n + case ${customer_id} when 'anna' then 0 else 1 end, ${customer_id},
        date '1990-01-01' + n, now(), 1, '{}', encode(sha256('{}'::bytea), 'hex')
      from generate_series(${from}::integer, ${to}::integer) as n`,
  },
  refusals: {
    endpoint: (sql) => named(refusalRoutes({ sql }), '/v1/refusals/list'),
    nameOf: ({ request_id }) => String(request_id),
    add: (sql, customer_id, from, to) => sql`
      insert into refusal (customer_id, key_id, at, path, code, key, request_id, ip, ms)
      select ${customer_id}, 'k', timestamptz '2026-01-01' + n / 4 * interval '1 second', '/', 2,
        'x', n::text, '::1', 1
      from generate_series(${from}::integer, ${to}::integer) as n`,
  },
  uses: {
    endpoint: (sql) => named(useRoutes({ sql }), '/v1/subscription/uses'),
    body: (customer_id) => ({ id: customer_id }),
    nameOf: ({ tx_id }) => String(Number.parseInt(String(tx_id), 16)),
    add: (sql, customer_id, from, to) => sql`
      insert into subscription_use (subscription_id, tx_id, energy, transactions, charged_sun,
        used_at, block_number)
      select ${customer_id}, lpad(to_hex(n), 64, '0'), 1, 1, 1, now(), n / 4
      from generate_series(${from}::integer, ${to}::integer) as n`,
  },
}

async function begin(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  for (const [i, id] of ['anna', 'bert'].entries()) {
    await sql`
      insert into customer (id, name, created_at, deposit_index, deposit_address)
      values (${id}, ${id}, now(), ${i}, ${`T${String(i).repeat(33)}`})`
    await sql`
      insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
        activate_address, total_sun, look_at, created_at, idle_since)
      select ${id}, ${id}, min(id), ${`T${String(i).repeat(33)}`}, 0, 0, false, 0, now(), now(),
        now() from plan`
  }
  return sql
}

async function readPage(endpoint: Endpoint, customer_id: string, body: object): Promise<Page> {
  return (await askEndpoint([endpoint], endpoint.path, { body, customer: { customer_id } })) as Page
}

test('each row that was there is shown once and in order while others are added', async (t) => {
  const sql = await begin(t)
  for (const [what, list] of Object.entries(LISTS)) {
    for (const customer_id of ['anna', 'bert']) await list.add(sql, customer_id, 1, ROWS)
    const endpoint = list.endpoint(sql)
    const body = { limit: LIMIT, ...list.body?.('anna') }
    const seen: string[] = []
    let before: string | null | undefined
    for (let more = ROWS + 1; before !== null; more += 3) {
      const page = await readPage(endpoint, 'anna', { ...body, ...(before && { before }) })
      seen.push(...page.items.map(list.nameOf))
      before = page.next
      for (const customer_id of ['anna', 'bert']) await list.add(sql, customer_id, more, more + 2)
    }
    // What is of one moment may be in either order; a row is shown once all the same.
    const numbers = seen.map(Number)
    assert.equal(new Set(numbers).size, ROWS, what)
    assert.equal(numbers.length, ROWS, what)
    for (const [i, number] of numbers.entries())
      assert.ok(Math.abs(ROWS - i - number) < 4, `${what}: ${number} as the ${i}th`)
    assert.deepEqual((await readPage(endpoint, 'anna', { ...body, limit: 100 })).items.length, 100)
  }
})

test('watched addresses come by pages, also when the last of a page is removed', async (t) => {
  const sql = await begin(t)
  const addresses = await sql<{ address: string }>`
    insert into aml_watch (customer_id, address, made_at, label_set)
    select 'anna', address, timestamptz '2026-01-01' + n / 4 * interval '1 second', -1
    from unnest(array['TGVpXaZff9J1CzMfoSheN6swLB1yeRx3p8', 'TNHpm3KkhGDBKCfHnzmQbXgHZwNLjPPkDZ',
      'TVyzzXFW212kMBkpfyUp8nCPsX6wk7wms8', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'])
      with ordinality as t (address, n)
    returning address`
  const routes = reportRoutes({ sql, clock: systemClock })
  const endpoint = named(routes, '/v1/aml-watches/list')
  const first = await readPage(endpoint, 'anna', { limit: 2 })
  await sql`delete from aml_watch where address = ${first.items[1]!.address}`
  const second = await readPage(endpoint, 'anna', { limit: 2, before: first.next })
  assert.equal(second.next, null)
  const seen = [...first.items, ...second.items].map(({ address }) => address)
  assert.deepEqual(seen.sort(), addresses.map(({ address }) => address).sort())
})

test('watched addresses are listed by address, and by the level of the newest check', async (t) => {
  const sql = await begin(t)
  const watched = 'TGVpXaZff9J1CzMfoSheN6swLB1yeRx3p8'
  const other = 'TNHpm3KkhGDBKCfHnzmQbXgHZwNLjPPkDZ'
  await sql`
    insert into aml_check (id, customer_id, type, network, address, state, price_sun, solid_number,
      due_at, created_at, ended_at, risk_score, risk_level, risk_factors, provider)
    select level, 'anna', 'address', 'TRX', ${watched}, 'completed', 0, 0, now(), now(), now(), 1,
      level, '[]', 'own' from unnest(array['low', 'high']) as level`
  await sql`
    insert into aml_watch (customer_id, address, made_at, label_set, check_id)
    values ('anna', ${watched}, now(), -1, 'high'), ('anna', ${other}, now(), -1, null)`
  const endpoint = named(reportRoutes({ sql, clock: systemClock }), '/v1/aml-watches/list')
  const found = async (body: object) =>
    (await readPage(endpoint, 'anna', body)).items.map(({ address }) => address)
  assert.deepEqual(await found({ level: 'high' }), [watched])
  assert.deepEqual(await found({ level: 'low' }), [])
  assert.deepEqual(await found({ address: other }), [other])
  assert.deepEqual(await found({ address: other, level: 'high' }), [])
})

test('deposits are listed by the time of their block, its end left out', async (t) => {
  const sql = await begin(t)
  const { add, endpoint, nameOf } = LISTS.deposits!
  await add(sql, 'anna', 1, 3)
  await sql`
    update deposit set block_time =
      date '2026-01-01' + ltrim(left(tx_id, 60), '0')::integer * interval '1 day'`
  const found = async (body: object) =>
    (await readPage(endpoint(sql), 'anna', body)).items.map(nameOf)
  assert.deepEqual(await found({ since: '2026-01-03' }), ['3', '2'])
  assert.deepEqual(await found({ since: '2026-01-03', until: '2026-01-04' }), ['2'])
  assert.deepEqual(await found({ until: '2026-01-02' }), [])
})

test('a rare order is found, and pages that find nothing go on', async (t) => {
  const sql = await begin(t)
  const { add, endpoint } = LISTS.transactions!
  await add(sql, 'anna', 1, 12_000)
  await sql`update orders set state = 'failed' where external_id in ('7', '8000')`
  await sql`
    update orders set address = 'TNHpm3KkhGDBKCfHnzmQbXgHZwNLjPPkDZ' where external_id = '5'`
  const list = endpoint(sql)
  const pages: Page[] = []
  let before: string | null | undefined
  do {
    pages.push(await readPage(list, 'anna', { status: 'failed', ...(before && { before }) }))
    before = pages.at(-1)!.next
  } while (before !== null)
  const names = ({ items }: Page) => items.map(({ external_id }) => external_id)
  assert.deepEqual(pages.map(names), [['8000'], [], ['7']])
  const found = await readPage(list, 'anna', { address: 'TNHpm3KkhGDBKCfHnzmQbXgHZwNLjPPkDZ' })
  assert.deepEqual([names(found), found.next], [['5'], null])
  const prefixed = await readPage(list, 'anna', { external_id_prefix: '1200', limit: 100 })
  assert.deepEqual(names(prefixed), ['12000'])
})
