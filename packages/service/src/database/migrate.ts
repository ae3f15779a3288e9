// Brings a database to the newest schema: the files db/0001_*.sql and on, in order, forward only.
// Each runs in one transaction whose first statement is the insert of its own row, so it is applied
// once and whole, or not at all. A file that has been applied never changes; what it did is altered
// by a later file.

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { Misuse } from '../lib/fault.ts'
import { Hosts, openClient } from './hosts.ts'

export type Migration = { number: number; name: string; sha256: string; text: string }

type AppliedMigration = Omit<Migration, 'text'>

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../db', import.meta.url))

/** One number for all who migrate a database: they do it one after another. */
const LOCK = 7_204_615_091

/** The migrations of a folder, in order. Throws when two have the same number. */
export async function readMigrations(folder = MIGRATIONS_FOLDER): Promise<Migration[]> {
  const migrations: Migration[] = []
  for (const file of (await readdir(folder)).sort()) {
    const [, number, name] = /^(\d{4})_(\w+)\.sql$/.exec(file) ?? []
    if (number === undefined || name === undefined) continue
    const text = await readFile(join(folder, file), 'utf8')
    if (migrations.at(-1)?.number === Number(number))
      throw new Error(`Two migrations have the number ${number}.`)
    migrations.push({
      number: Number(number),
      name,
      sha256: createHash('sha256').update(text).digest('hex'),
      text,
    })
  }
  return migrations
}

/** Applies what is missing and returns it. Safe when several processes do it at once. Throws one
 *  sentence when the database and the files do not belong together; then nothing has been
 *  changed. */
export async function migrate(
  url: string,
  folder = MIGRATIONS_FOLDER,
): Promise<AppliedMigration[]> {
  const migrations = await readMigrations(folder)
  const client = await openClient(Hosts.of(url), { application_name: 'penstock migrate' })
  try {
    await inTransaction(client, () => client.query(TABLE))
    const done: AppliedMigration[] = []
    for (const migration of migrations)
      if (await inTransaction(client, () => apply(client, migration, migrations)))
        done.push(migration)
    return done
  } finally {
    await client.end()
  }
}

const TABLE = `create table if not exists migration (
  number int not null constraint migration_pk primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default clock_timestamp()
)`

async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    await client.query('select pg_advisory_xact_lock($1)', [LOCK])
    const result = await work()
    await client.query('commit')
    return result
  } catch (thrown) {
    await client.query('rollback').catch(() => {})
    throw thrown
  }
}

/** True when the migration was missing and is applied now. */
async function apply(
  client: pg.Client,
  migration: Migration,
  known: readonly Migration[],
): Promise<boolean> {
  const { rows } = await client.query<AppliedMigration>(
    'select number, name, sha256 from migration order by number',
  )
  requireBelong(rows, known)
  if (rows.some(({ number }) => number === migration.number)) return false
  const { number, name, sha256 } = migration
  await client.query('insert into migration (number, name, sha256) values ($1, $2, $3)', [
    number,
    name,
    sha256,
  ])
  await client.query(migration.text).catch((thrown: unknown) => {
    throw thrown instanceof pg.DatabaseError
      ? new Error(whereRefused(migration, thrown), { cause: thrown })
      : thrown
  })
  return true
}

function requireBelong(applied: readonly AppliedMigration[], known: readonly Migration[]): void {
  for (const { number, name, sha256 } of applied) {
    const file = known.find((migration) => migration.number === number)
    if (!file)
      throw new Misuse(
        `The database has migration ${number} (${name}): it needs a newer Penstock than this one.`,
      )
    if (file.sha256 !== sha256)
      throw new Misuse(`Migration ${number} (${name}) has changed since it was applied.`)
  }
  const newest = applied.at(-1)?.number ?? 0
  const late = known.find(
    ({ number }) => number < newest && !applied.some((other) => other.number === number),
  )
  if (late)
    throw new Error(
      `Migration ${late.number} (${late.name}) comes too late: ${newest} is applied already.`,
    )
}

function whereRefused({ number, name, text }: Migration, refused: pg.DatabaseError): string {
  const line =
    refused.position === undefined
      ? undefined
      : text.slice(0, Number(refused.position)).split('\n').length
  return (
    `Migration ${number} (${name})${line === undefined ? '' : `, line ${line}`}: ` +
    `${refused.message}`
  )
}
