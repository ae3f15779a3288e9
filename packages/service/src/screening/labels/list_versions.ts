// The versions of the lists that were loaded, and when a list is loaded again.

import { refusal } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

export type ListVersion = {
  id: bigint
  list: string
  entries: number
  passed_over: number
  loaded_at: Date
  loaded_by: string
  origin: string
  sha256: string
  /** The first and the last label set that has it. */
  first_set: number | null
  last_set: number | null
}

/** Every version that was ever loaded, newest first. */
export async function listVersions(
  sql: Sql,
  { list, limit }: { list: string; limit: number },
): Promise<ListVersion[]> {
  return sql<ListVersion>`
    select v.id, v.list, v.entries, v.passed_over, v.loaded_at, v.loaded_by, v.origin, v.sha256,
      (select min(label_set) from label_set_version where version_id = v.id) as first_set,
      (select max(label_set) from label_set_version where version_id = v.id) as last_set
    from list_version as v where v.list = ${list} order by v.id desc limit ${limit}`
}

export async function newestSet(sql: Sql): Promise<number> {
  const [row] = await sql<{ number: number }>`select max(number) as number from label_set`
  return row!.number
}

/** Throws Refused when there is no such label set. */
export async function requireSet(sql: Sql, number: number): Promise<number> {
  const [found] = await sql`select 1 from label_set where number = ${number}`
  if (!found)
    throw refusal(`There is no label set ${number}; the newest is ${await newestSet(sql)}.`)
  return number
}

/** Lists that have an address to be loaded from, and were loaded before or are loaded again and
 *  again. */
export async function updatableLists(sql: Sql): Promise<string[]> {
  const rows = await sql<{ code: string }>`
    select code from list
    where url is not null and (refresh_hours is not null or exists (select 1 from list_version
      where list = code))
    order by code`
  return rows.map(({ code }) => code)
}

export type Schedule = { url: string | null; refresh_hours: number | null }

/** Says from where a list is loaded, and how often: never when `off`. What is undefined stays.
 *  Throws Refused when it should be loaded and has no address. */
export async function setSchedule(
  tx: Tx,
  wanted: { list: string; url: string | undefined; hours: number | undefined; off: boolean },
): Promise<{ before: Schedule; after: Schedule }> {
  const { list, url, hours, off } = wanted
  const [row] = await tx<Schedule>`
    select url, refresh_hours from list where code = ${list} for update`
  const before = row!
  const after = {
    url: url ?? before.url,
    refresh_hours: off ? null : (hours ?? before.refresh_hours),
  }
  if (after.refresh_hours !== null && after.url === null)
    throw refusal(`The list ${list} has no address to load it from: give --url.`)
  await tx`
    update list set url = ${after.url}, refresh_hours = ${after.refresh_hours} where code = ${list}`
  return { before, after }
}
