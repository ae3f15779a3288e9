// What the database lacks although it had acknowledged it: found by processes that remember, kept
// until an operator has accepted it.
//
//   (found) -> open -> accepted

import type { Query, Sql, Tx } from '../../platform/database/sql.ts'

/** What a process remembers of the database. */
export type DatabaseMark = {
  process_id: string
  host: string
  role: string
  /** The last beat of its row that was acknowledged; 0: none. */
  beat: bigint
  /** When that was, by the process's own clock. */
  beat_at: Date
  /** What customers were told of last: `order:ID`, `check:ID`, `subscription:ID`. */
  told: readonly string[]
}

export type DatabaseLoss = Pick<DatabaseMark, 'process_id' | 'host' | 'role' | 'beat'> & {
  found_at: Date
  beat_found: bigint | null
  missing: readonly string[]
}

/** Rows of processes are removed after a day: that one is not there says nothing from then on. */
const ROW_KEPT_MS = 23 * 3_600_000

/** Whether the row has a lower beat than was acknowledged. */
export function isBehind({ beat, beat_at }: DatabaseMark, found: bigint | null, now: Date) {
  if (found !== null) return found < beat
  return beat > 0n && now.getTime() - beat_at.getTime() < ROW_KEPT_MS
}

/** What of a mark is not there; undefined when all of it is. */
export async function lossOf(
  sql: Sql,
  mark: DatabaseMark,
  found_at: Date,
): Promise<DatabaseLoss | undefined> {
  const [[row], missing] = await Promise.all([
    sql<{ beat: bigint }>`select beat from process where id = ${mark.process_id}`,
    missingOf(sql, mark.told),
  ])
  const beat_found = row?.beat ?? null
  if (missing.length === 0 && !isBehind(mark, beat_found, found_at)) return undefined
  const { process_id, host, role, beat } = mark
  return { process_id, host, role, beat, found_at, beat_found, missing }
}

async function missingOf(sql: Sql, told: readonly string[]): Promise<string[]> {
  const names = told.map((name) => name.split(':'))
  const rows = await sql<{ name: string }>`
    select kind || ':' || t.id as name
    from unnest(${names.map(([kind]) => kind)}::text[], ${names.map(([, id]) => id)}::text[])
      as t (kind, id)
    where not case kind
      when 'order' then exists (select from orders as o where o.id = t.id)
      when 'check' then exists (select from aml_check as c where c.id = t.id)
      else exists (select from subscription as s where s.id = t.id) end`
  return rows.map(({ name }) => name)
}

/** (found) -> open. Done twice, it is one. */
export async function insertLoss(sql: Query, loss: DatabaseLoss): Promise<void> {
  const { process_id, found_at, host, role, beat, beat_found, missing } = loss
  await sql`
    insert into database_loss (process_id, found_at, host, role, beat, beat_found, missing)
    values (${process_id}, ${found_at}, ${host}, ${role}, ${beat}, ${beat_found}, ${missing})
    on conflict do nothing`
}

/** (found) -> open: the whole database was restored as of a moment. From the block on the chain
 *  knows more than it. */
export async function insertRestored(
  sql: Query,
  restored: { found_at: Date; host: string; restored_to: Date; from_block: bigint },
): Promise<void> {
  const { found_at, host, restored_to, from_block } = restored
  await sql`
    insert into database_loss (process_id, found_at, host, role, beat, missing, restored_to,
      from_block)
    values ('restore', ${found_at}, ${host}, 'restore', 0, '{}', ${restored_to}, ${from_block})`
}

/** `found_at`: when it was restored, after everything that the lost database has done;
 *  `reconciled`: what the chain knew more was noted since. */
export type OpenRestore = {
  restored_to: Date
  from_block: bigint
  found_at: Date
  reconciled: boolean
}

/** The restore that nobody has accepted yet; undefined: there is none. */
export async function openRestore(sql: Query): Promise<OpenRestore | undefined> {
  const [row] = await sql<OpenRestore>`
    select min(restored_to) as restored_to, min(from_block) as from_block,
      max(found_at) as found_at, bool_and(reconciled_at is not null) as reconciled
    from database_loss where accepted_at is null and restored_to is not null
    having count(*) > 0`
  return row
}

/** What the chain knew more than the restored database was noted. */
export async function noteReconciled(tx: Tx, at: Date): Promise<void> {
  await tx`
    update database_loss set reconciled_at = ${at} where (process_id, found_at) in (
      select process_id, found_at from database_loss
      where accepted_at is null and restored_to is not null
      order by process_id, found_at for update)`
}

/** open -> accepted. Returns them. */
export const acceptLosses = (tx: Tx, at: Date): Promise<DatabaseLoss[]> => tx<DatabaseLoss>`
  update database_loss set accepted_at = ${at} where (process_id, found_at) in (
    select process_id, found_at from database_loss where accepted_at is null
    order by process_id, found_at for update)
  returning process_id, found_at, host, role, beat, beat_found, missing`

/** The newest first. */
export const listLosses = (sql: Sql, { limit }: { limit: number }) =>
  sql<DatabaseLoss & { restored_to: Date | null; accepted_at: Date | null }>`
    select process_id, found_at, host, role, beat, beat_found, missing, restored_to, accepted_at
    from database_loss order by found_at desc, process_id limit ${limit}`
