import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { connect } from 'penstock-service/platform/database/sql.ts'
import pg from 'pg'
import { bareTables } from './bare_tables.ts'
import {
  createDatabase,
  dropDatabase,
  emptyTables,
  freshDatabase,
  testCluster,
} from './database.ts'

/** The rows of every table, and what every sequence has reached. */
async function content(url: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows: tables } = await client.query<{ name: string }>(
    `select format('%I', relname) as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`,
  )
  const found: Record<string, unknown> = {}
  for (const { name } of tables)
    found[name] = (await client.query(`select t::text from ${name} t order by 1`)).rows.map(
      ({ t }) => t,
    )
  const sequences = await client.query(
    `select sequencename, last_value from pg_sequences order by 1`,
  )
  await client.end()
  return { ...found, sequences: sequences.rows }
}

test('each test has a database of its own, and none of another test', async (t) => {
  const [one, two] = await Promise.all([freshDatabase(t), freshDatabase(t)])
  await one.sql`create table mine (n int)`
  assert.deepEqual(await two.sql`select to_regclass('mine') as found`, [{ found: null }])
})

/** A test that is over when `end` is called. */
function pretend(passed: boolean) {
  const hooks: (() => Promise<void>)[] = []
  const t = { passed, after: (hook: () => Promise<void>) => hooks.push(hook), diagnostic() {} }
  const end = async () => {
    for (const hook of hooks) await hook()
  }
  return { t: t as unknown as TestContext, end }
}

async function exists(name: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: await testCluster() })
  await client.connect()
  const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
  await client.end()
  return rowCount === 1
}

test('the database of a test that has failed is kept as it is', async () => {
  const { t, end } = pretend(false)
  const { sql, name, url } = await freshDatabase(t)
  await sql`insert into account (id, may_go_negative) values ('left', false)`
  await end()
  const look = connect({ url })
  assert.deepEqual(await look`select id from account where id = 'left'`, [{ id: 'left' }])
  await look.close()
  await dropDatabase(name)
})

test('a test finds nothing of the one before, even if that is still connected', async () => {
  const first = pretend(true)
  const database = await freshDatabase(first.t)
  const before = await content(database.url)
  const left = new pg.Client({ connectionString: database.url })
  const ended = new Promise((resolve) => left.on('error', resolve))
  await left.connect()
  await left.query('begin')
  await left.query(`insert into account (id, may_go_negative) values ('open', false)`)
  await database.sql`insert into account (id, may_go_negative) values ('done', false)`
  await first.end()
  const second = pretend(true)
  const { url } = await freshDatabase(second.t)
  await ended
  assert.deepEqual(await content(url), before)
  await second.end()
})

test('a database whose schema a test has changed is not given to another', async (t) => {
  const first = pretend(true)
  const { sql, name } = await freshDatabase(first.t)
  await sql`alter table account add column extra int`
  await first.end()
  assert.notEqual((await freshDatabase(t)).name, name)
  assert.equal(await exists(name), false)
})

test('a database whose tables were made bare is not given to another', async (t) => {
  const first = pretend(true)
  const sql = await bareTables(first.t, [{ table: 'pool', columns: 'resource', rows: [] }])
  const [{ name } = { name: '' }] = await sql<{ name: string }>`select current_database() as name`
  await first.end()
  assert.notEqual((await freshDatabase(t)).name, name)
  assert.equal(await exists(name), false)
})

test('emptyTables restores what the migrations have left, rows and sequences', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const before = await content(url)
  await emptyTables(sql)
  assert.deepEqual(await content(url), before)

  const tables = await sql<{ name: string }>`
    select format('%I', relname) as name from pg_class c
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      and relname <> 'migration'`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('set session_replication_role = replica')
  for (const { name } of tables) await client.query(`delete from ${name}`)
  await client.query(
    `select setval(format('%I', sequencename), 1000) from pg_sequences where schemaname = 'public'`,
  )
  await client.end()
  assert.notDeepEqual(await content(url), before)
  await emptyTables(sql)
  assert.deepEqual(await content(url), before)
})

test('emptyTables removes the rows of a table that has grown', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const before = await content(url)
  await sql`
    insert into account (id, may_go_negative) select 'x' || n, false
      from generate_series(1, 5000) n`
  assert.notDeepEqual(await content(url), before)
  await emptyTables(sql)
  assert.deepEqual(await content(url), before)
})

test('a database can be made and dropped without a test', async () => {
  const { url, name } = await createDatabase()
  assert.match(url, new RegExp(`/${name}$`))
  await dropDatabase(name)
})
