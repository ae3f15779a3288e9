// The database that commands work on, and what of it must be so before one runs.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Outage, refusal } from '../../lib/fault.ts'
import { schemaComplaint } from '../../platform/database/migrations.ts'
import { connect, type Sql } from '../../platform/database/sql.ts'

/** A check of the books of millions of rows takes its time. */
const STATEMENT_MS_MAX = 3_600_000

type DatabasePlace = { database_url: string | undefined; data_dir: string }

/** Connects, does the work, and disconnects. Throws Refused when nothing runs on the data folder,
 *  or the database is not one of this version. */
export async function withDatabase<Result>(
  { database_url, data_dir }: DatabasePlace,
  work: (sql: Sql, url: string) => Promise<Result>,
): Promise<Result> {
  const url = await databaseUrl({ database_url, data_dir })
  const sql = connect({ url, connections_max: 3, statement_timeout_ms: STATEMENT_MS_MAX })
  try {
    await requireSchema(sql).catch((thrown) => {
      if (!isUnreachable(thrown)) throw thrown
      if (database_url === undefined) throw nothingRuns(data_dir)
      throw thrown instanceof Outage ? thrown : refusal(`DATABASE_URL: ${thrown.message}.`)
    })
    return await work(sql, url)
  } finally {
    await sql.close()
  }
}

/** Throws Refused when none is named and nothing runs on the data folder. */
export const databaseUrl = async ({ database_url, data_dir }: DatabasePlace): Promise<string> =>
  database_url ?? privateDatabase(data_dir)

const nothingRuns = (data_dir: string) =>
  refusal(
    `Nothing runs on ${data_dir}: start it (npm start), name its folder (--data-dir), or set ` +
      `DATABASE_URL.`,
  )

/** The address of the private PostgreSQL that `npm start` runs on a folder: the server itself notes
 *  its port there. */
async function privateDatabase(data_dir: string): Promise<string> {
  const read = (name: string) =>
    readFile(join(data_dir, 'pg', name), 'utf8').catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === 'EACCES')
        throw refusal(`${data_dir} belongs to another user: run this as the one who started it.`)
      throw nothingRuns(data_dir)
    })
  const password = await read('password')
  const port = (await read(join('data', 'postmaster.pid'))).split('\n')[3]
  return `postgres://penstock:${password}@127.0.0.1:${port}/penstock`
}

/** No server, or another one that has got the port since. */
function isUnreachable(thrown: unknown): thrown is Error {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  return thrown instanceof Outage || code.startsWith('28') || code === '3D000'
}

/** Throws Refused unless this program can work on the database. */
async function requireSchema(sql: Sql): Promise<void> {
  const complaint = await schemaComplaint(sql)
  if (complaint !== undefined) throw refusal(complaint)
}
