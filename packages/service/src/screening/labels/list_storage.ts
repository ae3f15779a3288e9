// A version of a list is stored as its difference from the version that was loaded before it, of
// the same list: what it adds, and what it no longer has (`version_entry` is the whole of it). What
// an entry says is compared by a digest, which PostgreSQL makes of rows as we do of entries, so
// that a version of a million entries is compared without reading them. All of it goes in portions:
// a service that loads a list by schedule answers its customers meanwhile.

import { createHash, hash } from 'node:crypto'
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { ListEntry } from './list_entries.ts'

/** Entries, each once however often the file has it, and where they are by what they say. */
export type Distinct = { entries: ListEntry[]; places: Map<string, number> }

/** An entry as its row says it. */
export type StoredEntry = Omit<ListEntry, 'valid_from' | 'valid_to'> & {
  valid_from: Date | null
  valid_to: Date | null
}

/** Where an entry is stored. */
export type EntryKey = { entry_version: bigint; n: number }

/** So many entries take some milliseconds. */
const PORTION = 2_000

const DIGEST_BYTES = 16
const DIGESTS_AT_ONCE = 8_000

/** What counts of an entry, in few bytes. In SQL the same is said by `digestsOf`. */
function digestOf(entry: ListEntry): string {
  const { address, category, entity, kind, confidence, reference, valid_from, valid_to } = entry
  const times = `${valid_from?.getTime() ?? ''}|${valid_to?.getTime() ?? ''}`
  const text =
    `${address}|${category}|${kind}|${confidence}|${times}` +
    `|${Buffer.byteLength(entity)}|${entity}|${reference}`
  return hash('sha256', text, 'buffer').toString('latin1', 0, DIGEST_BYTES)
}

/** The entries of a list, each once. `judge` is called for each, and throws what is wrong. */
export async function distinctEntries(
  entries: readonly ListEntry[],
  judge: (entry: ListEntry) => void,
): Promise<Distinct> {
  const distinct: Distinct = { entries: [], places: new Map() }
  const { entries: kept, places } = distinct
  for (let at = 0; at < entries.length; at += PORTION) {
    for (const entry of entries.slice(at, at + PORTION)) {
      judge(entry)
      const digest = digestOf(entry)
      if (places.has(digest)) continue
      places.set(digest, kept.length)
      kept.push(entry)
    }
    await turnOfLoop()
  }
  return distinct
}

const instantText = (at: Date | undefined) => (at ? `"${at.toISOString()}"` : 'null')

/** Everything that counts of an entry, as one line of JSON; most of it needs no escapes. */
function lineOf(entry: ListEntry): string {
  const { address, category, entity, kind, confidence, reference, valid_from, valid_to } = entry
  return (
    `["${address}","${category}",${JSON.stringify(entity)},"${kind}",${confidence},` +
    `${JSON.stringify(reference)},${instantText(valid_from)},${instantText(valid_to)}]`
  )
}

/** The hash of a version: of its entries, a line each, in order. Evidence names it. */
export async function contentHash({ entries }: Distinct): Promise<string> {
  // Lines begin with the address: those of a few addresses are sorted at once.
  const buckets = new Map<string, ListEntry[]>()
  let seen = 0
  for (const entry of entries) {
    const key = entry.address.slice(0, 3)
    const bucket = buckets.get(key)
    if (bucket) bucket.push(entry)
    else buckets.set(key, [entry])
    if (++seen % (10 * PORTION) === 0) await turnOfLoop()
  }
  const content = createHash('sha256')
  let between = ''
  for (const key of [...buckets.keys()].sort()) {
    content.update(between + buckets.get(key)!.map(lineOf).sort().join('\n'))
    between = '\n'
    if (entries.length > PORTION) await turnOfLoop()
  }
  return content.digest('hex')
}

/** What a list would change of a version (0: nothing is in it): entries that it adds, and where
 *  those are stored that it lacks. */
export async function comparedWith(
  sql: Sql | Tx,
  version: bigint,
  { entries, places }: Distinct,
): Promise<{ added: ListEntry[]; removed: EntryKey[] }> {
  const had = new Uint8Array(entries.length)
  const removed: EntryKey[] = []
  for await (const { entry_version, digests } of digestsOf(sql, version)) {
    for (let at = 0; at < digests.length; at += 4 + DIGEST_BYTES) {
      const digest = digests.toString('latin1', at + 4, at + 4 + DIGEST_BYTES)
      const same = places.get(digest)
      if (same !== undefined) had[same] = 1
      else removed.push({ entry_version, n: digests.readInt32BE(at) })
    }
  }
  const added: ListEntry[] = []
  for (const [i, entry] of entries.entries()) {
    if (had[i] === 0) added.push(entry)
    if (i % (10 * PORTION) === 0) await turnOfLoop()
  }
  return { added, removed }
}

/** Of each entry of a version its number and its digest, in one run of bytes a portion. */
async function* digestsOf(
  sql: Sql | Tx,
  version: bigint,
): AsyncGenerator<{ entry_version: bigint; digests: Buffer }> {
  const stored = await sql<{ id: bigint; last: number }>`
    select o.id, coalesce((select max(n) from list_entry where version_id = o.id), 0) as last
    from list_version as v join list_version as o on o.list = v.list and o.id <= v.id
    where v.id = ${version} order by o.id`
  const portionAt = (id: bigint, after: number) =>
    sql<{ digests: Buffer | null }>`
        with portion as (
          select e.n, e.address, e.category, e.entity, e.kind, e.confidence, e.reference,
            e.valid_from, e.valid_to
          from list_entry as e left join list_removal as r on r.entry_version = e.version_id
            and r.n = e.n
          where e.version_id = ${id} and e.n > ${after} and e.n <= ${after + DIGESTS_AT_ONCE}
            and (r.version_id is null or r.version_id > ${version}))
        select string_agg(int4send(n) || substring(sha256(convert_to(concat_ws('|',
            address, category, kind, confidence,
            coalesce((extract(epoch from valid_from) * 1000)::bigint::text, ''),
            coalesce((extract(epoch from valid_to) * 1000)::bigint::text, ''),
            octet_length(entity), entity, reference), 'UTF8')) for ${DIGEST_BYTES}), ''::bytea)
          as digests
        from portion`
  const portions = stored.flatMap(({ id, last }) =>
    Array.from({ length: Math.ceil(last / DIGESTS_AT_ONCE) }, (_, i) => ({
      id,
      after: i * DIGESTS_AT_ONCE,
    })),
  )
  // The next one is worked out while the last one is compared.
  let coming = portions[0] && portionAt(portions[0].id, portions[0].after)
  for (const [i, { id }] of portions.entries()) {
    const [row] = await coming!
    const next = portions[i + 1]
    coming = next && portionAt(next.id, next.after)
    if (row?.digests) yield { entry_version: id, digests: row.digests }
  }
}

/** Stores what a version says otherwise than the one that was loaded before it. */
export async function storeDifference(
  tx: Tx,
  version: bigint,
  { added, removed }: { added: readonly ListEntry[]; removed: readonly EntryKey[] },
): Promise<void> {
  for (let at = 0; at < removed.length; at += PORTION) {
    const portion = removed.slice(at, at + PORTION)
    await tx`
      insert into list_removal (entry_version, n, version_id)
      select entry_version, n, ${version}
      from unnest(${portion.map((one) => one.entry_version)}::bigint[],
                  ${portion.map((one) => one.n)}::integer[]) as r (entry_version, n)`
  }
  // The next portion is put together while the last one is written.
  let writing: Promise<unknown> = Promise.resolve()
  for (let at = 0; at < added.length; at += PORTION) {
    const portion = added.slice(at, at + PORTION)
    const column = <K extends keyof ListEntry>(name: K) =>
      portion.map((entry) => entry[name] ?? null)
    await writing
    writing = tx`
      insert into list_entry (version_id, n, address, category, entity, kind, confidence, reference,
        valid_from, valid_to)
      select ${version}, ${at}::integer + n, address, category, entity, kind, confidence, reference,
        valid_from, valid_to
      from unnest(${column('address')}::text[], ${column('category')}::text[],
                  ${column('entity')}::text[],
                  ${column('kind')}::text[], ${column('confidence')}::smallint[],
                  ${column('reference')}::text[],
                  ${column('valid_from')}::timestamptz[],
                  ${column('valid_to')}::timestamptz[]) with ordinality
        as e (address, category, entity, kind, confidence, reference, valid_from, valid_to, n)`
  }
  await writing
}

/** Entries by where they are stored. */
export async function storedEntries(sql: Sql, keys: readonly EntryKey[]): Promise<StoredEntry[]> {
  return sql<StoredEntry>`
    select e.address, e.category, e.entity, e.kind, e.confidence, e.reference, e.valid_from,
      e.valid_to
    from unnest(${keys.map((one) => one.entry_version)}::bigint[],
                ${keys.map((one) => one.n)}::integer[]) as k (entry_version, n)
    join list_entry as e on e.version_id = k.entry_version and e.n = k.n`
}

/** How many of stored entries bar an address at an instant. */
export async function barringAmong(
  sql: Sql | Tx,
  keys: readonly EntryKey[],
  at: Date,
): Promise<number> {
  const [row] = await sql<{ barring: number }>`
    select count(*)::integer as barring
    from unnest(${keys.map((one) => one.entry_version)}::bigint[],
                ${keys.map((one) => one.n)}::integer[]) as k (entry_version, n)
    join list_entry as e on e.version_id = k.entry_version and e.n = k.n
    where e.kind = 'authority' and (e.valid_from is null or e.valid_from <= ${at})
      and (e.valid_to is null or e.valid_to > ${at})`
  return row!.barring
}

/** What counts of an entry for the index. */
export type LabelRow = Pick<StoredEntry, 'address' | 'category' | 'confidence' | 'kind'> &
  Pick<StoredEntry, 'valid_from' | 'valid_to'>

/** What the lists of a set say, in portions. */
export async function* labelsOfSet(sql: Sql, label_set: number): AsyncGenerator<LabelRow[]> {
  const stored = await sql<{ version: bigint; id: bigint }>`
    select v.id as version, o.id
    from label_set_version as s join list_version as v on v.id = s.version_id
    join list_version as o on o.list = v.list and o.id <= v.id
    where s.label_set = ${label_set} order by v.id, o.id`
  for (const { version, id } of stored) {
    for (let after = 0; ; ) {
      const rows = await sql<LabelRow & { n: number }>`
        select e.n, e.address, e.category, e.confidence, e.kind, e.valid_from, e.valid_to
        from list_entry as e left join list_removal as r on r.entry_version = e.version_id
          and r.n = e.n
        where e.version_id = ${id} and e.n > ${after}
          and (r.version_id is null or r.version_id > ${version})
        order by e.n limit ${PORTION}`
      if (rows.length === 0) break
      yield rows
      after = rows.at(-1)!.n
    }
  }
}
