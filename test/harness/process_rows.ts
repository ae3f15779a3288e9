// A process that is there, as its row tells others of it, where a test starts none.

import type { ProcessReport } from 'penstock-service/health/processes/report.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'

/** A worker that has just said that it is there, and this of itself. */
export async function insertWorker(
  sql: Sql,
  report: Partial<ProcessReport>,
  id = 'worker',
): Promise<void> {
  await sql`
    insert into process (id, role, host, version, schema, started_at, seen_at, beat, standbys,
      clock_offset_ms, unreplicated_commits, report)
    values (${id}, 'worker', 'machine-1', '1.2.3', 1, '2026-01-01T00:00:00Z',
      now() + interval '1 hour', 1, 0, 0, 0, ${JSON.stringify(report)}::jsonb)`
}
