// Label sets: which version of which list screenings rest on. Loading a list makes a version of it,
// and a set in which that version takes the place of the one before; neither ever changes. A
// screening names its set, so it can be done again.

import { createHash } from 'node:crypto'
import type { Address } from 'penstock-tron/address.ts'
import { refusal } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { categoryNumber } from '../flow/categories.ts'
import type { ListEntry } from './list_entries.ts'

export type LabelEntry = Omit<ListEntry, 'valid_from' | 'valid_to'> & {
  list: string
  valid_from: Date | null
  valid_to: Date | null
}

export type LoadedList = {
  list: string
  title: string
  sha256: string
  entries: number
  loaded_at: Date
}

export type ListLoad = {
  list: string
  /** The file or address it was read from. */
  origin: string
  passed_over: number
  loaded_at: Date
  loaded_by: string
  /** The list may come to have less than half of what it had, or nothing. */
  may_shrink?: boolean
}

/** `entries`: of the version, each counted once however often the file has it. */
export type PublishOutcome = {
  label_set: number
  version_id: bigint
  added: number
  removed: number
  changed: boolean
  entries: number
}

/** Everything that counts of an entry, as one line of text. */
function lineOf(entry: Omit<LabelEntry, 'list'> | ListEntry): string {
  const { address, category, entity, kind, confidence, reference, valid_from, valid_to } = entry
  return JSON.stringify([
    ...[address, category, entity, kind, confidence, reference],
    valid_from?.toISOString() ?? null,
    valid_to?.toISOString() ?? null,
  ])
}

/** Publishes a version of a list, and with it the next label set. When the list says what it said
 *  before, nothing is made and `changed` is false. Throws Refused when an entry is not sound, or
 *  when the list has no entry or has lost more than half of them, unless it may: a publisher's bad
 *  day must not take its list away, and an empty file that was loaded would look like knowledge. */
export async function publishList(
  tx: Tx,
  loading: ListLoad,
  entries: readonly ListEntry[],
): Promise<PublishOutcome> {
  for (const entry of entries) requireSound(entry)
  await tx`lock table label_set in exclusive mode`
  const by_line = new Map(entries.map((entry) => [lineOf(entry), entry]))
  const lines = [...by_line.keys()].sort()
  const sha256 = createHash('sha256').update(lines.join('\n')).digest('hex')
  const { before, same } = await versionInForce(tx, loading.list)
  if (same?.sha256 === sha256) {
    return {
      label_set: before,
      version_id: same.version_id,
      added: 0,
      removed: 0,
      changed: false,
      entries: lines.length,
    }
  }
  const why = shrinking(lines.length, same)
  if (why !== undefined && !loading.may_shrink) throw refusal(why)
  const version_id = await insertVersion(
    tx,
    { ...loading, sha256 },
    lines.map((line) => by_line.get(line)!),
  )
  const number = await insertSet(tx, {
    before,
    replaced: same?.version_id ?? 0n,
    version_id,
    loading,
  })
  const difference = await differenceOf(tx, same?.version_id ?? 0n, version_id)
  return { label_set: number, version_id, ...difference, changed: true, entries: lines.length }
}

/** Puts a version of a list that was loaded before in the place of the one in force: the next label
 *  set has it. Throws Refused when the list has no such version, or it is in force. */
export async function restoreVersion(
  tx: Tx,
  wanted: { list: string; version_id: bigint; by: string; at: Date },
): Promise<PublishOutcome & { version_before: bigint | undefined; passed_over: number }> {
  const { list, version_id, by, at } = wanted
  await tx`lock table label_set in exclusive mode`
  const [version] = await tx<{ origin: string; passed_over: number; entries: number }>`
    select origin, passed_over, entries from list_version
    where id = ${version_id} and list = ${list}`
  if (!version) throw refusal(`The list ${list} has no version ${version_id}.`)
  const { before, same } = await versionInForce(tx, list)
  if (same?.version_id === version_id)
    throw refusal(`Version ${version_id} of ${list} is in force.`)
  const replaced = same?.version_id ?? 0n
  const loading = { list, ...version, loaded_at: at, loaded_by: by }
  const label_set = await insertSet(tx, { before, replaced, version_id, loading })
  const difference = await differenceOf(tx, replaced, version_id)
  const { entries, passed_over } = version
  const outcome = { label_set, version_id, ...difference, changed: true, entries }
  return { ...outcome, passed_over, version_before: same?.version_id }
}

type VersionInForce = { version_id: bigint; sha256: string; entries: number }

/** The newest set, and the version of a list in it. */
async function versionInForce(
  sql: Sql | Tx,
  list: string,
): Promise<{ before: number; same: VersionInForce | undefined }> {
  const [set] = await sql<{
    number: number
  }>`select number from label_set order by number desc limit 1`
  const before = set!.number
  const [same] = await sql<VersionInForce>`
    select v.id as version_id, v.sha256, v.entries from label_set_version as s
      join list_version as v on v.id = s.version_id
    where s.label_set = ${before} and v.list = ${list}`
  return { before, same }
}

/** Why a version with so many entries is not loaded unless it may shrink; undefined when it is. */
function shrinking(entries: number, same: VersionInForce | undefined): string | undefined {
  if (entries === 0) return 'It has no entry for an address of this network.'
  if (same && entries * 2 < same.entries)
    return `It has ${entries} entries where it had ${same.entries} before.`
  return undefined
}

/** What publishing a version would change. `refused`: why it is not loaded unless it may shrink;
 *  `differences`: by address. */
export type ListPreview = {
  entries: number
  entries_before: number
  added: number
  removed: number
  refused: string | null
  differences: Difference[]
}

/** Compares a list with what of it is in force, and changes nothing. Throws Refused when an entry
 *  is not sound. */
export async function previewList(
  sql: Sql,
  list: string,
  entries: readonly ListEntry[],
): Promise<ListPreview> {
  for (const entry of entries) requireSound(entry)
  const { same } = await versionInForce(sql, list)
  const in_force = same
    ? await sql<Omit<LabelEntry, 'list'>>`
        select address, category, entity, kind, confidence, reference, valid_from, valid_to
        from list_entry where version_id = ${same.version_id}`
    : []
  const had = new Map(in_force.map((entry) => [lineOf(entry), entry]))
  const has = new Map(entries.map((entry) => [lineOf(entry), entry]))
  const added = [...has].filter(([line]) => !had.has(line))
  const removed = [...had].filter(([line]) => !has.has(line))
  const differences = [
    ...added.map(([, entry]) => ({
      change: 'added' as const,
      list,
      ...entry,
      valid_from: entry.valid_from ?? null,
      valid_to: entry.valid_to ?? null,
    })),
    ...removed.map(([, entry]) => ({ change: 'removed' as const, list, ...entry })),
  ].sort((a, b) => (a.address < b.address ? -1 : Number(a.address > b.address)))
  return {
    entries: has.size,
    entries_before: had.size,
    added: added.length,
    removed: removed.length,
    refused: shrinking(has.size, same) ?? null,
    differences,
  }
}

function requireSound({ address, category, confidence, entity, reference }: ListEntry): void {
  if (categoryNumber(category) === undefined)
    throw refusal(`${address}: there is no category ${category}.`)
  if (entity.includes('\0') || reference.includes('\0'))
    throw refusal(`${address}: there is a zero byte in its text.`)
  if (!Number.isInteger(confidence) || confidence < 0 || confidence > 100)
    throw refusal(`${address}: the confidence is not a whole number from 0 to 100.`)
}

async function insertVersion(
  tx: Tx,
  loading: ListLoad & { sha256: string },
  entries: readonly ListEntry[],
): Promise<bigint> {
  const { list, origin, sha256, passed_over, loaded_at, loaded_by } = loading
  const [version] = await tx<{ id: bigint }>`
    insert into list_version (list, origin, sha256, entries, passed_over, loaded_at, loaded_by)
    values (${list}, ${origin}, ${sha256}, ${entries.length}, ${passed_over}, ${loaded_at},
            ${loaded_by}) returning id`
  const column = <K extends keyof ListEntry>(name: K) => entries.map((entry) => entry[name] ?? null)
  await tx`
    insert into list_entry (version_id, n, address, category, entity, kind, confidence, reference,
      valid_from, valid_to)
    select ${version!.id}, n, address, category, entity, kind, confidence, reference, valid_from,
      valid_to
    from unnest(${column('address')}::text[], ${column('category')}::text[],
                ${column('entity')}::text[],
                ${column('kind')}::text[], ${column('confidence')}::smallint[],
                ${column('reference')}::text[],
                ${column('valid_from')}::timestamptz[],
                ${column('valid_to')}::timestamptz[]) with ordinality
      as e (address, category, entity, kind, confidence, reference, valid_from, valid_to, n)`
  return version!.id
}

async function insertSet(
  tx: Tx,
  made: { before: number; replaced: bigint; version_id: bigint; loading: ListLoad },
): Promise<number> {
  const { before, replaced, version_id, loading } = made
  const number = before + 1
  const kept = await tx<{ id: bigint; sha256: string }>`
    select v.id, v.sha256 from label_set_version as s join list_version as v on v.id = s.version_id
    where s.label_set = ${before} and v.id <> ${replaced}
    union select id, sha256 from list_version where id = ${version_id}
    order by sha256, id`
  const sha256 = createHash('sha256')
    .update(kept.map((one) => one.sha256).join('\n'))
    .digest('hex')
  await tx`
    insert into label_set (number, sha256, note, published_at, published_by)
    values (${number}, ${sha256}, ${`${loading.list} from ${loading.origin}`}, ${loading.loaded_at},
            ${loading.loaded_by})`
  await tx`
    insert into label_set_version (label_set, version_id)
    select ${number}, id from unnest(${kept.map((one) => one.id)}::bigint[]) as id`
  return number
}

/** How many entries one version has that the other lacks. */
async function differenceOf(
  tx: Tx,
  before: bigint,
  after: bigint,
): Promise<{ added: number; removed: number }> {
  const [row] = await tx<{ added: bigint; removed: bigint }>`
    with had as (select address, category, entity, kind, confidence, reference, valid_from, valid_to
                 from list_entry where version_id = ${before}),
         has as (select address, category, entity, kind, confidence, reference, valid_from, valid_to
                 from list_entry where version_id = ${after})
    select (select count(*) from (select * from has except select * from had) as a) as added,
           (select count(*) from (select * from had except select * from has) as r) as removed`
  return { added: Number(row!.added), removed: Number(row!.removed) }
}

export type Difference = LabelEntry & { change: 'added' | 'removed' }

/** What two label sets say differently, by address. */
export async function diffSets(sql: Sql, before: number, after: number): Promise<Difference[]> {
  return sql<Difference>`
    with had as (select v.list, address, category, entity, kind, confidence, reference, valid_from,
      valid_to
                 from label_set_version join list_entry using (version_id) join list_version as v
                   on v.id = version_id
                 where label_set = ${before}),
         has as (select v.list, address, category, entity, kind, confidence, reference, valid_from,
           valid_to
                 from label_set_version join list_entry using (version_id) join list_version as v
                   on v.id = version_id
                 where label_set = ${after})
    select 'added' as change, a.* from (select * from has except select * from had) as a
    union all
    select 'removed', r.* from (select * from had except select * from has) as r
    order by address, change, list, category`
}

/** What the lists of a set say about addresses, valid or not. */
export async function namedLabels(
  sql: Sql | Tx,
  label_set: number,
  addresses: readonly Address[],
): Promise<LabelEntry[]> {
  return sql<LabelEntry>`
    select v.list, e.address, e.category, e.entity, e.kind, e.confidence, e.reference,
      e.valid_from, e.valid_to
    from list_entry as e join label_set_version as s using (version_id) join list_version as v
      on v.id = e.version_id
    where s.label_set = ${label_set} and e.address = any(${addresses})
    order by e.address, v.list, e.n`
}

/** The lists of a set. */
export async function listsOfSet(sql: Sql | Tx, label_set: number): Promise<LoadedList[]> {
  return sql<LoadedList>`
    select v.list, l.title, v.sha256, v.entries, v.loaded_at
    from label_set_version as s join list_version as v on v.id = s.version_id join list as l
      on l.code = v.list
    where s.label_set = ${label_set} order by v.list, v.id`
}

export type ListState = {
  code: string
  title: string
  url: string | null
  licence: string
  refresh_hours: number | null
  entries: number | null
  loaded_at: Date | null
  origin: string | null
}

/** Every list, and what of it is in the newest set. */
export async function listStates(sql: Sql | Tx): Promise<ListState[]> {
  return sql<ListState>`
    select l.code, l.title, l.url, l.licence, l.refresh_hours, v.entries, v.loaded_at, v.origin
    from list as l left join (
      select v.* from list_version as v join label_set_version as s on s.version_id = v.id
      where s.label_set = (select max(number) from label_set)) as v on v.list = l.code
    order by l.code`
}
