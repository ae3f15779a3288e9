import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { migrate, pendingMigrations } from './migrate.ts'
import { type AppliedMigration, readMigrations, whyUnfit } from './migrations.ts'
import type { Sql } from './sql.ts'

/** An empty database, and a function that writes migrations (name -> text) to a folder of their
 *  own. */
async function setUp(t: TestContext) {
  const { sql, url } = await freshDatabase(t)
  await sql`drop schema public cascade`
  await sql`create schema public`
  const folder = await mkdtemp(join(tmpdir(), 'penstock-migrations-'))
  t.after(() => rm(folder, { recursive: true }))
  const write = (name: string, text: string) => writeFile(join(folder, `${name}.sql`), text)
  return { sql, url, folder, write, run: () => migrate(url, { folder }) }
}

async function applied(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }>`select name from migration order by applied_at, number`
  return rows.map(({ name }) => name)
}

const numbers = (migrations: readonly { number: number }[]) =>
  migrations.map(({ number }) => number)

test('migrations are applied once each, in order of their numbers', async (t) => {
  const { sql, write, run } = await setUp(t)
  await write('0002_b', 'insert into a values (2)')
  await write('0001_a', 'create table a (n int); insert into a values (1);')
  await write('schema', 'this is not a migration')
  assert.deepEqual(numbers(await run()), [1, 2])
  await write('0010_c', 'insert into a values (10)')
  assert.deepEqual(numbers(await run()), [10])
  assert.deepEqual(numbers(await run()), [])
  assert.deepEqual(await sql`select n from a order by n`, [{ n: 1 }, { n: 2 }, { n: 10 }])
  assert.deepEqual(await applied(sql), ['a', 'b', 'c'])
})

test('several processes that migrate at once apply each migration once', async (t) => {
  const { sql, write, run } = await setUp(t)
  for (let n = 1; n <= 5; n++) await write(`000${n}_t`, `create table t${n} (n int)`)
  const done = await Promise.all(Array.from({ length: 6 }, run))
  assert.deepEqual(numbers(done.flat()).sort(), [1, 2, 3, 4, 5])
  assert.equal((await applied(sql)).length, 5)
})

test('a migration that fails leaves nothing of itself, and is named with the line', async (t) => {
  const { sql, write, run } = await setUp(t)
  await write('0001_a', 'create table a (n int)')
  await write(
    '0002_b',
    'create table b (n int);\ninsert into a values (1);\ninsert into a values (no);',
  )
  await assert.rejects(run(), { message: 'Migration 2 (b), line 3: column "no" does not exist' })
  assert.deepEqual(await applied(sql), ['a'])
  assert.deepEqual(await sql`select n from a`, [])
  await write('0002_b', 'create table b (n int)')
  assert.deepEqual(numbers(await run()), [2])
})

test('a migration that has changed since it was applied is refused', async (t) => {
  const { write, run } = await setUp(t)
  await write('0001_a', 'create table a (n int)')
  await run()
  await write('0001_a', 'create table a (n bigint)')
  await write('0002_b', 'create table b (n int)')
  await assert.rejects(run(), { message: 'Migration 1 (a) has changed since it was applied.' })
})

test('a database that is ahead of the code is refused', async (t) => {
  const { folder, write, run } = await setUp(t)
  await write('0001_a', 'create table a (n int)')
  await write('0002_b', 'create table b (n int)')
  await run()
  await rm(join(folder, '0002_b.sql'))
  await assert.rejects(run(), {
    message: 'The database has migration 2 (b): it needs a newer Penstock than this one.',
  })
})

test('a migration that appears before one that is applied is refused', async (t) => {
  const { write, run } = await setUp(t)
  await write('0002_b', 'create table b (n int)')
  await run()
  await write('0001_a', 'create table a (n int)')
  await assert.rejects(run(), { message: 'Migration 1 (a) comes too late: 2 is applied already.' })
})

test('the one that landed after later ones is applied to a database that has those', async (t) => {
  const { write, run } = await setUp(t)
  await write('0070_b', 'create table b (n int)')
  await write('0071_c', 'create table c (n int)')
  await run()
  await write('0069_a', 'create table a (n int)')
  assert.deepEqual(
    (await run()).map(({ number }) => number),
    [69],
  )
  await write('0068_z', 'create table z (n int)')
  await assert.rejects(run(), {
    message: 'Migration 68 (z) comes too late: 71 is applied already.',
  })
})

test('two migrations with one number are refused', async (t) => {
  const { folder, write } = await setUp(t)
  await write('0001_a', 'select 1')
  await write('0001_b', 'select 1')
  await assert.rejects(readMigrations(folder), { message: 'Two migrations have the number 0001.' })
})

test('an older program goes on after an expand, and not after a contract', async (t) => {
  const { sql, folder, write, run } = await setUp(t)
  await write('0001_a', 'create table a (n int)')
  await write('0002_b', '-- kind: expand\nalter table a add column m int')
  const older = async () =>
    whyUnfit(await readApplied(sql), (await readMigrations(folder)).slice(0, 1))
  assert.deepEqual(
    (await run()).map(({ needs }) => needs),
    [1, 1],
  )
  assert.equal(await older(), undefined)
  await write('0003_c', '-- kind: contract, needs 2\nalter table a drop column n')
  assert.match(
    (await whyUnfit(await readApplied(sql), await readMigrations(folder)))!,
    /no migration 3/,
  )
  await run()
  assert.match((await older())!, /^The database has migration 3 \(c\): it needs a newer Penstock/)
  const second = (await readMigrations(folder)).slice(0, 2)
  assert.equal(whyUnfit(await readApplied(sql), second), undefined)
})

const readApplied = (sql: Sql) => sql<AppliedMigration>`
  select number, name, sha256, needs from migration order by number`

test('what is to be applied is said without applying it', async (t) => {
  const { url, folder, write, run } = await setUp(t)
  await write('0001_a', 'create table a (n int)')
  assert.deepEqual(numbers(await pendingMigrations(url, folder)), [1])
  await run()
  await write('0002_b', 'create table b (n int)')
  assert.deepEqual(numbers(await pendingMigrations(url, folder)), [2])
  assert.deepEqual(numbers(await run()), [2])
})

test('nobody waits long behind a migration that waits for a lock', async (t) => {
  const { sql, url, folder, write, run } = await setUp(t)
  await write('0001_a', 'create table a (n int)')
  await run()
  await write('0002_b', '-- kind: expand\nalter table a add column m int')
  let told = 0
  let migrating: Promise<unknown> | undefined
  let has_waited = false
  let longest_ms = 0
  const isWaiting = async () => {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query like 'insert into a %'`
    return waiting.length > 0
  }
  await sql.begin(async (tx) => {
    await tx`insert into a values (1)`
    migrating = migrate(url, { folder, waits: () => told++ })
    // For as long as the table is held. Whether one comes to wait behind the migration, or between
    // two of its tries, is chance.
    while (told < 2 || !has_waited) {
      const began = performance.now()
      let is_over = false
      const inserted = sql`insert into a values (2)`.finally(() => {
        is_over = true
      })
      while (!is_over) has_waited = (await isWaiting()) || has_waited
      await inserted
      longest_ms = Math.max(longest_ms, performance.now() - began)
    }
  })
  await migrating
  assert.deepEqual(await sql`select distinct m from a`, [{ m: null }])
  assert.ok(longest_ms < 30_000, `${longest_ms}`)
})

test('an index is built without a transaction, and one that was not finished is', async (t) => {
  const { sql, write, run } = await setUp(t)
  await write('0001_a', 'create table a (n int); insert into a values (1), (1)')
  await run()
  await assert.rejects(sql`create unique index concurrently a_n on a (n)`)
  await write(
    '0002_b',
    '-- kind: expand\n-- transaction: none\ncreate index concurrently if not exists a_n on a (n)',
  )
  await run()
  // As when the process was killed between the statement and the note of it.
  await sql`delete from migration where number = 2`
  await run()
  for (const comment of ['', '-- if not exists: later', "/* one's\nif not exists */"]) {
    const statement = `create index concurrently a_m on a (n) ${comment}`
    await write('0003_c', `-- transaction: none\n${statement}`)
    await assert.rejects(run(), /Migration 0003 has no transaction: it must say "if not exists"/)
  }
  const [index] = await sql<{ valid: boolean }>`
    select indisvalid as valid from pg_index where indexrelid = 'a_n'::regclass`
  assert.equal(index?.valid, true)
})
