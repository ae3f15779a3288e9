// Whether a database server is one that money may be kept on.

import { Misuse } from '../lib/fault.ts'
import type { Sql } from './sql.ts'

/** Throws unless the server is one that money may be kept on: PostgreSQL 15 or later, in UTF-8,
 *  every commit on disk. */
export async function requireDurable(sql: Sql): Promise<void> {
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
}
