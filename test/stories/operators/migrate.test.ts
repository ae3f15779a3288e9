// Migrating beside a service that sells: somebody else holds a table for long, and no customer
// waits behind the migration for longer than it waits for a lock.

import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { MIGRATIONS_FOLDER, readMigrations } from 'penstock-service/platform/database/migrations.ts'
import { freshDatabase } from '../../harness/database.ts'
import { quietOperator } from '../../harness/operator.ts'
import { makeWorld } from '../../harness/world.ts'

/** So long the table is held: several times as long as the migration waits at once. */
const HELD_MS = 6_000
/** What a purchase takes by itself on a machine where much else runs. */
const OWN_MS = 3_000
/** For so long the migration waits for a lock before it lets everybody else go first. */
const LOCK_MS = 2_000

/** The migrations of this version and one more, which changes the orders. */
async function oneMore(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-migrations-'))
  t.after(() => rm(folder, { recursive: true }))
  await cp(MIGRATIONS_FOLDER, folder, { recursive: true })
  await writeFile(
    join(folder, '9999_more.sql'),
    '-- kind: expand\nalter table orders add column more int;\n',
  )
  return folder
}

test('customers buy while a migration waits for a table that somebody holds', async (t) => {
  const world = await makeWorld(t)
  const { address } = world.person('bob', 1)
  const anna = await world.customer({ trx: 1_000 })
  const folder = await oneMore(t)
  const waits: number[] = []
  const state = { tries: 0, migrated: false }
  let migrating = Promise.resolve()
  const buy = async () => {
    const began_ms = performance.now()
    await anna.buy({ service: 'energy', params: { address, amount: 32_000, duration: 1 } })
    waits.push(performance.now() - began_ms)
  }
  await buy()
  await world.sql.begin(async (tx) => {
    await tx`select count(*) from orders`
    const end_ms = performance.now() + HELD_MS
    migrating = migrate(world.database.url, {
      folder,
      waits: (_migration, tries) => {
        state.tries = tries
      },
    }).then(() => {
      state.migrated = true
    })
    while (performance.now() < end_ms || state.tries < 2) {
      await buy()
      await delay(20)
    }
    assert.equal(state.migrated, false, 'the table was held')
  })
  await migrating
  await buy()
  const [made] = await world.sql<{ orders: number; more: number }>`
    select count(*)::int as orders, count(more)::int as more from orders`
  assert.deepEqual(made, { orders: waits.length, more: 0 })
  const longest_ms = Math.round(Math.max(...waits))
  t.diagnostic(`${waits.length} orders, the longest took ${longest_ms} ms`)
  assert.ok(longest_ms > LOCK_MS / 4, `the migration was waited for: ${longest_ms} ms`)
  assert.ok(longest_ms < LOCK_MS + OWN_MS, `${longest_ms} ms`)
})

test('migrate says what it would apply, applies it, and finds it done', async (t) => {
  const { sql, url } = await freshDatabase(t)
  await sql`drop schema public cascade`
  await sql`create schema public`
  const at = await quietOperator(t)
  at.io.env.DATABASE_URL = url
  const of = async (...words: string[]) => {
    const { applied, migrations } = await at.json<{
      applied: boolean
      migrations: { number: number; name: string; kind: string }[]
    }>('migrate', ...words)
    return { applied, numbers: migrations.map(({ number }) => number) }
  }
  const numbers = (await readMigrations()).map(({ number }) => number)
  assert.deepEqual(await of('--plan'), { applied: false, numbers })
  assert.deepEqual(await sql`select to_regclass('orders') as orders`, [{ orders: null }])
  assert.deepEqual(await of(), { applied: true, numbers })
  assert.deepEqual(await of('--plan'), { applied: false, numbers: [] })
  assert.deepEqual(await of(), { applied: true, numbers: [] })
})
