import assert from 'node:assert/strict'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { migrate } from '../../platform/database/migrate.ts'
import { MIGRATIONS_FOLDER, readMigrations } from '../../platform/database/migrations.ts'

test('the migration deletes the bodies that were kept, and lets none in beside /v1', async (t) => {
  const { sql, url } = await freshDatabase(t)
  await sql`drop schema public cascade`
  await sql`create schema public`
  const all = await readMigrations()
  const { number } = all.find(({ name }) => name === 'kept_bodies')!
  const before = await mkdtemp(join(tmpdir(), 'penstock-migrations-'))
  t.after(() => rm(before, { recursive: true }))
  const isEarlier = (file: string) => Number(basename(file).slice(0, 4)) < number
  await cp(MIGRATIONS_FOLDER, before, {
    recursive: true,
    filter: (file) => file === MIGRATIONS_FOLDER || isEarlier(file),
  })
  await migrate(url, { folder: before })
  const insert = (path: string, body: string | null) => sql`
    insert into refusal (customer_id, key_id, at, path, code, key, request_id, ip, ms, body)
    values ('c', 'k', now(), ${path}, 2, 'x', 'r', '192.0.2.1', 1, ${body})`
  await insert('/session/totp', '{"password":"hunter2"}')
  await insert('/v1/transaction/new', '{"service":"energy"}')
  const list = () => sql<{ id: bigint; path: string; body: string | null }>`
    select id, path, body from refusal order by id`
  const [first, second] = await list()
  await migrate(url)
  const kept = [first!, second!].map((one) => ({ ...one, body: null }))
  assert.deepEqual(await list(), kept)
  await assert.rejects(insert('/session/totp', '{}'), /refusal_body_for_keys/)
  await insert('/session/totp', null)
  await insert('/v1/transaction/new', '{}')
  assert.equal((await list()).length, 4)
})
