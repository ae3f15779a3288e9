// A transaction on a connection of its own, in the way of what the service does.

import type { TestContext } from 'node:test'
import { Outage } from 'penstock-service/lib/fault.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import pg from 'pg'
import { eventually } from './eventually.ts'

/** Begins it; it ends with the test. */
export async function ownTransaction(t: TestContext, url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.after(() => client.end())
  await client.query('begin')
  return {
    query: (statement: string, values?: unknown[]) => client.query(statement, values),
    /** Until one other connection waits for what this one has locked: `asked`, which must not end
     *  before. */
    waitedFor: (asked: Promise<unknown>) =>
      unlessItEnds(
        asked,
        eventually('one is waited for', async () => {
          const { rowCount } = await client.query(`
            select distinct pid from pg_locks
            where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`)
          return rowCount === 1
        }),
      ),
    commit: () => client.query('commit'),
  }
}

/** Until a connection to the same database waits for a lock: that of `asked`, which must not end
 *  before. */
export const untilBlocked = (sql: Sql, asked: Promise<unknown>) =>
  unlessItEnds(
    asked,
    eventually('one waits for a lock', async () => {
      const blocked = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return blocked.length > 0
    }),
  )

const unlessItEnds = (asked: Promise<unknown>, waited: Promise<unknown>) =>
  Promise.race([
    waited,
    asked.then(() => {
      throw new Error('it has not waited')
    }),
  ])

/** Whether a statement was refused because what it locks was locked for too long. */
export const isLockTimeout = (thrown: unknown): boolean =>
  thrown instanceof Outage && (thrown.cause as { code?: unknown }).code === '55P03'
