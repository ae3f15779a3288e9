// Whether a database server is one that money may be kept on.

import { Misuse, Outage } from '../../lib/fault.ts'
import type { Sql } from './sql.ts'

/** Throws unless the server is one that money may be kept on: PostgreSQL 15 or later, in UTF-8,
 *  every commit on disk, and confirmed by so many standbys as are asked for. */
export async function requireDurable(sql: Sql, standbys = 0): Promise<void> {
  const wanted: Record<string, string[]> = {
    fsync: ['on'],
    full_page_writes: ['on'],
    synchronous_commit: ['on', 'remote_apply'],
    server_encoding: ['UTF8'],
    // A commit that no standby has is told of in a warning.
    client_min_messages: [
      'notice',
      'warning',
      'log',
      'debug1',
      'debug2',
      'debug3',
      'debug4',
      'debug5',
    ],
  }
  const [version] = await sql<{ version: string; number: number }>`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as number`
  if (version!.number < 150_000)
    throw new Misuse(`PostgreSQL 15 or later is needed; this one is ${version!.version}.`)
  const settings = await sql<{ name: string; value: string }>`
    select name, current_setting(name) as value from unnest(${Object.keys(wanted)}::text[]) as name`
  for (const { name, value } of settings)
    if (!wanted[name]?.includes(value))
      throw new Misuse(
        `The PostgreSQL server has ${name} = ${value}; Penstock needs ` +
          `${wanted[name]?.slice(0, 2).join(' or ')}.`,
      )
  if (standbys > 0) await requireStandbys(sql, standbys)
}

async function requireStandbys(sql: Sql, standbys: number): Promise<void> {
  const [found] = await sql<{ names: string; confirming: bigint; seen: boolean }>`
    select current_setting('synchronous_standby_names') as names,
      (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum'))
        as confirming,
      pg_has_role('pg_read_all_stats', 'usage') as seen`
  const { names, confirming, seen } = found!
  if (names === '')
    throw new Misuse('PENSTOCK_STANDBYS: the PostgreSQL server has no synchronous_standby_names.')
  if (!seen)
    throw new Misuse('PENSTOCK_STANDBYS: the role of DATABASE_URL needs pg_read_all_stats.')
  if (confirming < standbys)
    throw new Misuse(
      `PENSTOCK_STANDBYS asks for ${standbys}, and ${confirming} standbys confirm commits.`,
    )
}

/** requireDurable() at a start: that nothing answers is a mistake of who starts us. */
export async function requireAnswering(sql: Sql, standbys: number | undefined): Promise<void> {
  await requireDurable(sql, standbys).catch((thrown: unknown) => {
    const cause =
      thrown instanceof Outage && thrown.cause instanceof Error ? thrown.cause : undefined
    throw cause
      ? new Misuse(`The database does not answer: ${cause.message || String(cause)}.`)
      : thrown
  })
}
