// What the database knows of its own backups: when each was made, and what was found when it was
// looked at or restored on trial. A restored database knows of those before it alone; the folder of
// backups says what there is.

import type { Query } from '../../platform/database/sql.ts'

/** `place`: a folder and its machine, or a repository of pgBackRest. */
export type BackupNote = { place: string; id: string; made_at: Date; bytes: bigint }

/** Notes that a backup is there. */
export async function noteBackup(
  sql: Query,
  { place, id, made_at, bytes }: BackupNote,
): Promise<void> {
  await sql`
    insert into backup (place, id, made_at, bytes) values (${place}, ${id}, ${made_at}, ${bytes})
    on conflict (place, id) do nothing`
}

/** Notes what a look at a backup has found; `restored`: by restoring it on trial. */
export async function noteLook(
  sql: Query,
  look: { place: string; id: string; at: Date; found: readonly string[]; restored: boolean },
): Promise<void> {
  const { place, id, at, found, restored } = look
  await sql`
    update backup set checked_at = ${at}, found = ${found},
      restored_at = case when ${restored} then ${at}::timestamptz else restored_at end
    where place = ${place} and id = ${id}`
}

/** For so long the log may wait to be archived. */
const ARCHIVE_SECONDS_MAX = 60

/** How the server archives its log: `off`, or what is wrong with it. */
export async function lookAtArchive(
  sql: Query,
): Promise<{ archives: boolean; wrong: string | undefined }> {
  const [row] = await sql<{ mode: string; failing: boolean; behind_seconds: number | null }>`
    select current_setting('archive_mode') as mode,
      coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) as failing,
      extract(epoch from clock_timestamp() - last_archived_time)::float8 as behind_seconds
    from pg_stat_archiver`
  const { mode, failing, behind_seconds } = row!
  if (mode === 'off') return { archives: false, wrong: undefined }
  if (failing) return { archives: true, wrong: 'the server fails to archive its log' }
  if (behind_seconds === null) return { archives: true, wrong: 'no log was archived yet' }
  const late = behind_seconds > ARCHIVE_SECONDS_MAX
  const wrong = `the last log was archived ${Math.round(behind_seconds)} seconds ago`
  return { archives: true, wrong: late ? wrong : undefined }
}
