// Label sets: which version of which list screenings rest on. Loading a list makes a version of it,
// and a set in which that version takes the place of the one before; neither ever changes. A
// screening names its set, so it can be done again.

import { createHash } from 'node:crypto'
import type { Address } from 'penstock-tron/address.ts'
import { refusal } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { categoryNumber } from '../flow/categories.ts'
import type { ListContents, ListEntry } from './list_entries.ts'
import {
  barringAmong,
  comparedWith,
  contentHash,
  distinctEntries,
  type EntryKey,
  type StoredEntry,
  storeDifference,
  storedEntries,
} from './list_storage.ts'

export type LabelEntry = StoredEntry & { list: string }

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
  /** Of an official list, how many parties it names. */
  designations?: number | undefined
  loaded_at: Date
  loaded_by: string
  /** When its publisher was asked for it; left out: it is a file that an operator has. */
  asked_at?: Date | undefined
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

/** Publishes a version of a list, and with it the next label set. When the list says what it said
 *  before, or what is there was asked for later, or an operator has gone back to it since, nothing
 *  is made and `changed` is false: a process that was held up must not take away what another has
 *  loaded since. Throws Refused when an entry
 *  is not sound, or when the list has no entry or has lost more than half of them, or of those that
 *  bar, unless it may: a publisher's bad day must not take its list away, and an empty file that
 *  was loaded would look like knowledge. */
export async function publishList(
  tx: Tx,
  loading: ListLoad,
  entries: readonly ListEntry[],
): Promise<PublishOutcome> {
  const distinct = await distinctEntries(entries, requireSound)
  await tx`lock table label_set in exclusive mode`
  const { before, same, newest } = await versionInForce(tx, loading.list)
  const unchanged = ({ version_id }: VersionInForce): PublishOutcome => {
    const none = { added: 0, removed: 0, changed: false }
    return { label_set: before, version_id, ...none, entries: distinct.entries.length }
  }
  const is_newer = await noteRead(tx, loading)
  if (same && !is_newer) return unchanged(same)
  // Where the one in force is not the newest, an operator has gone back to it.
  if (same && same.version_id !== newest && (await isGoneBackSince(tx, same, loading)))
    return unchanged(same)
  const difference = await comparedWith(tx, newest, distinct)
  const shown =
    same && same.version_id !== newest
      ? await comparedWith(tx, same.version_id, distinct)
      : difference
  const counts = { added: shown.added.length, removed: shown.removed.length }
  if (same && counts.added + counts.removed === 0) return unchanged(same)
  const why =
    shrinking(distinct.entries.length, same, loading.designations) ??
    (await unbarring(tx, { ...shown, entries: distinct.entries, at: loading.loaded_at }))
  if (why !== undefined && !loading.may_shrink) throw refusal(why)
  const sha256 = await contentHash(distinct)
  const version_id = await insertVersion(tx, {
    ...loading,
    sha256,
    entries: distinct.entries.length,
  })
  await storeDifference(tx, version_id, difference)
  const label_set = await insertSet(tx, {
    before,
    replaced: same?.version_id ?? 0n,
    version_id,
    loading,
  })
  return { label_set, version_id, ...counts, changed: true, entries: distinct.entries.length }
}

/** Notes that a list is known to be up to date, also when it says what it said before. False when
 *  what is known was asked for later. */
async function noteRead(tx: Tx, { list, loaded_at, asked_at }: ListLoad): Promise<boolean> {
  const noted = await tx`
    update list set read_at = ${asked_at ?? loaded_at}, failing_since = null, error = null
    where code = ${list} and (read_at is null or ${asked_at ?? null}::timestamptz is null
      or read_at <= ${asked_at ?? null}::timestamptz)
    returning 1`
  return noted.length > 0
}

/** Whether a version has come into force again since a list was asked for: that was to replace. */
async function isGoneBackSince(
  tx: Tx,
  { version_id }: VersionInForce,
  { asked_at }: ListLoad,
): Promise<boolean> {
  if (asked_at === undefined) return false
  const [set] = await tx<{ published_at: Date }>`
    select s.published_at from label_set as s join label_set_version as m
      on m.label_set = s.number and m.version_id = ${version_id}
    where not exists (select from label_set_version as before
      where before.label_set = s.number - 1 and before.version_id = ${version_id})
    order by s.number desc limit 1`
  return set!.published_at > asked_at
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

type VersionInForce = { version_id: bigint; entries: number }

/** The newest set, the version of a list in it, and the newest version that there is of it (0:
 *  none). */
async function versionInForce(
  sql: Sql | Tx,
  list: string,
): Promise<{ before: number; same: VersionInForce | undefined; newest: bigint }> {
  const [set] = await sql<{
    number: number
  }>`select number from label_set order by number desc limit 1`
  const before = set!.number
  const [same] = await sql<VersionInForce>`
    select v.id as version_id, v.entries from label_set_version as s
      join list_version as v on v.id = s.version_id
    where s.label_set = ${before} and v.list = ${list}`
  const [newest] = await sql<{ id: bigint }>`
    select id from list_version where list = ${list} order by id desc limit 1`
  return { before, same, newest: newest?.id ?? 0n }
}

/** Why a version with so many entries is not loaded unless it may shrink; undefined when it is. One
 *  without an entry is known to be whole when it names parties. */
function shrinking(
  entries: number,
  same: VersionInForce | undefined,
  designations = 0,
): string | undefined {
  const had_none = same === undefined || same.entries === 0
  if (entries === 0 && !(designations > 0 && had_none))
    return 'It has no entry for an address of this network.'
  if (same && entries * 2 < same.entries)
    return `It has ${entries} entries where it had ${same.entries} before.`
  return undefined
}

/** Why a version is not loaded unless it may shrink of which too few entries bar an address, though
 *  there are enough of them: a file that has a field less, or another date, may say of each that no
 *  authority lists it any more. */
async function unbarring(
  sql: Sql | Tx,
  version: {
    entries: readonly ListEntry[]
    added: readonly ListEntry[]
    removed: readonly EntryKey[]
    at: Date
  },
): Promise<string | undefined> {
  const { entries, added, removed, at } = version
  const bars = ({ kind, valid_from, valid_to }: ListEntry) =>
    kind === 'authority' && (!valid_from || valid_from <= at) && (!valid_to || valid_to > at)
  const now = entries.filter(bars).length
  // Entries that stay bar as before.
  if (removed.length <= now) return undefined
  const before = now - added.filter(bars).length + (await barringAmong(sql, removed, at))
  return now * 2 < before ? `It bars ${now} where it barred ${before} before.` : undefined
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
  { entries, designations, at }: Pick<ListContents, 'entries' | 'designations'> & { at: Date },
): Promise<ListPreview> {
  const distinct = await distinctEntries(entries, requireSound)
  const { same } = await versionInForce(sql, list)
  const { added, removed } = await comparedWith(sql, same?.version_id ?? 0n, distinct)
  const refused =
    shrinking(distinct.entries.length, same, designations) ??
    (await unbarring(sql, { entries: distinct.entries, added, removed, at }))
  const gone = await storedEntries(sql, removed)
  const differences = [
    ...added.map((entry) => ({
      change: 'added' as const,
      list,
      ...entry,
      valid_from: entry.valid_from ?? null,
      valid_to: entry.valid_to ?? null,
    })),
    ...gone.map((entry) => ({ change: 'removed' as const, list, ...entry })),
  ].sort((a, b) => (a.address < b.address ? -1 : Number(a.address > b.address)))
  return {
    entries: distinct.entries.length,
    entries_before: same?.entries ?? 0,
    added: added.length,
    removed: removed.length,
    refused: refused ?? null,
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
  version: ListLoad & { sha256: string; entries: number },
): Promise<bigint> {
  const { list, origin, sha256, entries, passed_over, loaded_at, loaded_by } = version
  const [made] = await tx<{ id: bigint }>`
    insert into list_version (list, origin, sha256, entries, passed_over, loaded_at, loaded_by)
    values (${list}, ${origin}, ${sha256}, ${entries}, ${passed_over}, ${loaded_at}, ${loaded_by})
    returning id`
  return made!.id
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
    select count(*) filter (where change = 'added') as added,
      count(*) filter (where change = 'removed') as removed
    from version_difference(${before}, ${after})`
  return { added: Number(row!.added), removed: Number(row!.removed) }
}

export type Difference = LabelEntry & { change: 'added' | 'removed' }

/** What two label sets say differently, by address. */
export async function diffSets(sql: Sql, before: number, after: number): Promise<Difference[]> {
  return sql<Difference>`
    with had as (select v.list, v.id from label_set_version join list_version as v
                   on v.id = version_id
                 where label_set = ${before}),
         has as (select v.list, v.id from label_set_version join list_version as v
                   on v.id = version_id
                 where label_set = ${after})
    select d.change, d.list, d.address, d.category, d.entity, d.kind, d.confidence, d.reference,
      d.valid_from, d.valid_to
    from had full join has using (list)
    cross join lateral version_difference(coalesce(had.id, 0), coalesce(has.id, 0)) as d
    where had.id is distinct from has.id
    order by d.address, d.change, d.list, d.category`
}

/** What the lists of a set say about addresses, valid or not. */
export async function namedLabels(
  sql: Sql | Tx,
  label_set: number,
  addresses: readonly Address[],
): Promise<LabelEntry[]> {
  return sql<LabelEntry>`
    select e.list, e.address, e.category, e.entity, e.kind, e.confidence, e.reference,
      e.valid_from, e.valid_to
    from version_entry as e join label_set_version as s using (version_id)
    where s.label_set = ${label_set} and e.address = any(${addresses})
    order by e.address, e.list, e.entry_version, e.n`
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
  kind: string
  reader: string
  refresh_hours: number | null
  entries: number | null
  loaded_at: Date | null
  origin: string | null
}

/** Every list, and what of it is in the newest set. */
export async function listStates(sql: Sql | Tx): Promise<ListState[]> {
  return sql<ListState>`
    select l.code, l.title, l.url, l.licence, l.kind, l.reader, l.refresh_hours, v.entries,
      v.loaded_at, v.origin
    from list as l left join (
      select v.* from list_version as v join label_set_version as s on s.version_id = v.id
      where s.label_set = (select max(number) from label_set)) as v on v.list = l.code
    order by l.code`
}
