import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createDatabase, dropDatabase, emptyTables, freshDatabase, testCluster } from './database.ts'

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
    found[name] = (await client.query(`select t::text from ${name} t order by 1`)).rows.map(({ t }) => t)
  const sequences = await client.query(`select sequencename, last_value from pg_sequences order by 1`)
  await client.end()
  return { ...found, sequences: sequences.rows }
}

test('each test has a database of its own, and none of another test', async (t) => {
  const [one, two] = await Promise.all([freshDatabase(t), freshDatabase(t)])
  await one.sql`create table mine (n int)`
  assert.deepEqual(await two.sql`select to_regclass('mine') as found`, [{ found: null }])
})

test('a database is gone when its test has passed, and kept when it has failed', async () => {
  const left = async (name: string) => {
    const client = new pg.Client({ connectionString: await testCluster() })
    await client.connect()
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    await client.end()
    return rowCount
  }
  for (const passed of [true, false]) {
    const hooks: (() => Promise<void>)[] = []
    const t = { passed, after: (hook: () => Promise<void>) => hooks.push(hook), diagnostic() {} }
    const { name } = await freshDatabase(t as unknown as Parameters<typeof freshDatabase>[0])
    for (const hook of hooks) await hook()
    assert.equal(await left(name), passed ? 0 : 1)
    await dropDatabase(name)
  }
})

test('emptyTables restores what the migrations have left, rows and sequences', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const before = await content(url)
  await emptyTables(sql)
  assert.deepEqual(await content(url), before)

  const tables = await sql<{ name: string }>`
    select format('%I', relname) as name from pg_class c
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> 'migration'`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('set session_replication_role = replica')
  for (const { name } of tables) await client.query(`delete from ${name}`)
  await client.query(`select setval(format('%I', sequencename), 1000) from pg_sequences where schemaname = 'public'`)
  await client.end()
  assert.notDeepEqual(await content(url), before)
  await emptyTables(sql)
  assert.deepEqual(await content(url), before)
})

test('emptyTables removes the rows of a table that has grown', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const before = await content(url)
  await sql`insert into account (id, may_go_negative) select 'x' || n, false from generate_series(1, 5000) n`
  assert.notDeepEqual(await content(url), before)
  await emptyTables(sql)
  assert.deepEqual(await content(url), before)
})

test('a database can be made and dropped without a test', async () => {
  const { url, name } = await createDatabase()
  assert.match(url, new RegExp(`/${name}$`))
  await dropDatabase(name)
})
