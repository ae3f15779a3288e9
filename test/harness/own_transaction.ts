// A transaction on a connection of its own, in the way of what the service does.

import type { TestContext } from 'node:test'
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
    /** Until one other connection waits for what this one has locked. */
    waitedFor: () =>
      eventually('one is waited for', async () => {
        const { rowCount } = await client.query(`
          select distinct pid from pg_locks
          where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`)
        return rowCount === 1
      }),
    commit: () => client.query('commit'),
  }
}
