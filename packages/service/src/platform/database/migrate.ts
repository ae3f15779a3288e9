// Brings a database to the newest schema. Each migration runs in one transaction whose first
// statement is the insert of its own row, so it is applied once and whole, or not at all. It waits
// for a lock no longer than customers may wait behind it, and tries again after a rest.

import pg from 'pg'
import { Misuse } from '../../lib/fault.ts'
import { Hosts, openClient } from './hosts.ts'
import {
  type AppliedMigration,
  MIGRATIONS_FOLDER,
  type Migration,
  readMigrations,
  whyForeign,
} from './migrations.ts'

/** One number for all who migrate a database: they do it one after another. */
const LOCK = 7_204_615_091
/** Everybody who comes after it waits behind a statement that waits for a lock. */
const LOCK_TIMEOUT_MS = 1_500
const TRIES = 30
const REST_SECONDS = 1
/** How soon it is looked again whether another process has ended its migration. */
const TURN_SECONDS = 0.1

/** A lock was not to be had in time, or a deadlock was ended. */
const BUSY: ReadonlySet<string | undefined> = new Set(['55P03', '40P01'])

export type MigrateOptions = {
  folder?: string
  /** Told of a migration that waits for a lock. */
  waits?: (migration: Migration, tries: number) => void
}

/** Applies what is missing and returns it. Safe when several processes do it at once. Throws one
 *  sentence when the database and the files do not belong together; then nothing has been
 *  changed. */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<Migration[]> {
  const migrations = await readMigrations(options.folder)
  return asMigrator(url, async (client) => {
    await inTurn(client, () => inTransaction(client, () => client.query(TABLE)))
    const done: Migration[] = []
    for (const migration of migrations)
      if (await tryOften(client, () => applyOne(client, migration, migrations), migration, options))
        done.push(migration)
    return done
  })
}

/** What migrate() would apply. Throws Misuse as it does. */
export async function pendingMigrations(
  url: string,
  folder = MIGRATIONS_FOLDER,
): Promise<Migration[]> {
  const migrations = await readMigrations(folder)
  return asMigrator(url, async (client) => {
    const { rows } = await client.query<{ there: boolean }>(
      "select to_regclass('migration') is not null as there",
    )
    if (!rows[0]!.there) return migrations
    const applied = await readApplied(client)
    requireOwn(applied, migrations)
    return migrations.filter(({ number }) => !applied.some((one) => one.number === number))
  })
}

async function asMigrator<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await openClient(Hosts.of(url), { application_name: 'penstock-admin migrate' })
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const TABLE = `
create table if not exists migration (
  number int not null constraint migration_pk primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default clock_timestamp()
);
do $$
begin
  if not exists (select from pg_attribute where attrelid = 'migration'::regclass
      and attname = 'needs') then
    alter table migration add column needs int;
  end if;
end $$`

const rest = (client: pg.Client, seconds: number) => client.query('select pg_sleep($1)', [seconds])

/** Waits in short statements: what runs without a transaction waits for every other to end. */
async function inTurn<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const { rows } = await client.query<{ mine: boolean }>(
      'select pg_try_advisory_lock($1) as mine',
      [LOCK],
    )
    if (rows[0]!.mine) break
    await rest(client, TURN_SECONDS)
  }
  try {
    return await work()
  } finally {
    await client.query('select pg_advisory_unlock($1)', [LOCK])
  }
}

async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (thrown) {
    await client.query('rollback').catch(() => {})
    throw thrown
  }
}

async function tryOften<T>(
  client: pg.Client,
  work: () => Promise<T>,
  migration: Migration,
  { waits = () => {} }: MigrateOptions,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (thrown) {
      const { cause = thrown } = thrown as { cause?: unknown }
      const is_busy = cause instanceof pg.DatabaseError && BUSY.has(cause.code)
      if (!is_busy || tries === TRIES) throw thrown
      waits(migration, tries)
      await rest(client, REST_SECONDS)
    }
  }
}

/** True when the migration was missing and is applied now. */
const applyOne = (client: pg.Client, migration: Migration, known: readonly Migration[]) =>
  inTurn(client, async () => {
    const applied = await readApplied(client)
    requireOwn(applied, known)
    if (applied.some(({ number }) => number === migration.number)) return false
    const run = () => client.query(migration.text).catch(refused(migration))
    if (migration.in_transaction)
      await inTransaction(client, async () => {
        await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
        await note(client, migration)
        await run()
      })
    else {
      await dropInvalidIndexes(client)
      await run()
      await note(client, migration)
    }
    return true
  })

/** An index that could not be finished stays, and stands in the way of the next try. */
async function dropInvalidIndexes(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(`
    select indexrelid::regclass::text as name from pg_index join pg_class on oid = indexrelid
    where not indisvalid and relnamespace = 'public'::regnamespace`)
  for (const { name } of rows) await client.query(`drop index concurrently ${name}`)
}

async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(`
    select number, name, sha256, (to_jsonb(migration) ->> 'needs')::int as needs
    from migration order by number`)
  return rows
}

const note = (client: pg.Client, { number, name, sha256, needs }: Migration) =>
  client.query('insert into migration (number, name, sha256, needs) values ($1, $2, $3, $4)', [
    number,
    name,
    sha256,
    needs,
  ])

function requireOwn(applied: readonly AppliedMigration[], known: readonly Migration[]): void {
  const complaint = whyForeign(applied, known)
  if (complaint !== undefined) throw new Misuse(complaint)
}

const refused = (migration: Migration) => (thrown: unknown) => {
  throw thrown instanceof pg.DatabaseError
    ? new Error(whereRefused(migration, thrown), { cause: thrown })
    : thrown
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
