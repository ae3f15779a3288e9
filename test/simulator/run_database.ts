// The database that runs share: one of the test cluster, with its statistics and its vacuum out of
// the way, so that the same statements find the same rows in the same order in every run.

import { connect } from 'penstock-service/platform/database/sql.ts'
import pg from 'pg'
import { createDatabase, dropDatabase, socketHost, withoutSync } from '../harness/database.ts'
import type { RunDatabase } from './run.ts'

const CONNECTIONS = 20
/** Tables are small here, and a statement is cheaper than its plan or than other processes that
 *  help with it. */
const SETTINGS = {
  deadlock_timeout: '20ms',
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '0',
}

/** Nothing here has to outlive the server. A table can only be unlogged when all that refer to it
 *  are. */
const UNLOGGED = `
do $$
declare
  t record;
  changed boolean := true;
begin
  while changed loop
    changed := false;
    for t in
      select c.oid::regclass as name from pg_class as c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
        and c.relpersistence = 'p' and not exists (
          select from pg_constraint as f join pg_class as r on r.oid = f.conrelid
          where f.contype = 'f' and f.confrelid = c.oid and f.conrelid <> c.oid
            and r.relpersistence = 'p')
    loop
      execute format('alter table %s set unlogged', t.name);
      changed := true;
    end loop;
  end loop;
end $$`

export async function openRunDatabase(
  more_sql?: string,
): Promise<RunDatabase & { close(): Promise<void> }> {
  const { url, name } = await createDatabase()
  const more = Object.entries(SETTINGS).map(([name, value]) => `-c ${name}=${value}`)
  const fast = withoutSync(url, { more: more.join(' '), ...socketHost() })
  const sql = connect({ url: fast, connections_max: CONNECTIONS })
  const auditor = new pg.Client({ connectionString: fast })
  const warden = new pg.Client({ connectionString: fast })
  await Promise.all([auditor.connect(), warden.connect()])
  const tables = await warden.query(`select format('%I', relname) as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r'`)
  for (const { name } of tables.rows as { name: string }[]) {
    await warden.query(`alter table ${name} set (autovacuum_enabled = off)`)
  }
  await warden.query(UNLOGGED)
  if (more_sql !== undefined) await warden.query(more_sql)
  const countBlocked = async () => {
    const { rows } = await warden.query({
      name: 'blocked',
      text: `select count(*)::int as blocked from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
          and cardinality(pg_blocking_pids(pid)) > 0`,
    })
    return (rows[0] as { blocked: number }).blocked
  }
  return {
    sql,
    auditor,
    countBlocked,
    async close() {
      await Promise.all([sql.close(), auditor.end(), warden.end()])
      await dropDatabase(name)
    },
  }
}
