// Loading lists: from a file that an operator has, or from the publisher. Whatever was loaded
// stays; a list that says what it said before makes no new version. A file that cannot be read as
// its list changes nothing.

import type { Clock } from '../../lib/clock.ts'
import { errorText, Outage, refusal } from '../../lib/fault.ts'
import { isLoopback } from '../../lib/networks.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { eachRow, type Step } from '../../platform/steps/step.ts'
import { readEu, readOfsi, readUn } from './designations.ts'
import { type PublishOutcome, publishList } from './label_sets.ts'
import { counted, type ListContents, type ListEntry, type ListReader } from './list_entries.ts'
import { readOfac } from './ofac.ts'
import { readOpenSanctions } from './opensanctions.ts'
import { readOperatorTable, readSeizureOrders, readTable, type TableShape } from './tables.ts'
import { readTagPack } from './tagpacks.ts'

/** Readers by name. Those of official lists say `authority` of all that they have. */
const READERS = {
  ofac: readOfac,
  orders: readSeizureOrders,
  opensanctions: readOpenSanctions,
  tagpack: readTagPack,
  table: readOperatorTable,
  ofsi: readOfsi,
  eu: readEu,
  un: readUn,
} as const satisfies Readonly<Record<string, ListReader>>

export type ReaderName = keyof typeof READERS
export const READER_NAMES = Object.keys(READERS) as ReaderName[]

/** Opens a publisher's file. Rejects with an Outage when it is not to be had. `bytes_expected`:
 *  undefined when not said. */
export type Download = (
  url: string,
) => Promise<{ bytes: AsyncIterable<Uint8Array>; bytes_expected: number | undefined }>

export type Needs = { sql: Sql; clock: Clock; download: Download }

export type LoadOutcome = PublishOutcome & { passed_over: number }

/** Called as bytes are read. */
export type Progress = (bytes_read: number, bytes_expected: number | undefined) => void

/** A list's bytes, and where they are from. */
export type Source = {
  list: string
  /** The file or address. */
  origin: string
  bytes: AsyncIterable<Uint8Array>
  bytes_expected?: number | undefined
  /** When its publisher was asked for it; left out: it is a file that an operator has. */
  asked_at?: Date | undefined
}

type ListRow = TableShape & {
  code: string
  kind: 'authority' | 'curated'
  reader: ReaderName
  made_by: string | null
}

/** Throws Refused when there is no such list. */
async function listNamed(sql: Sql | Tx, code: string): Promise<ListRow> {
  const lists = await sql<ListRow>`
    select code, kind, reader, columns, category, made_by from list order by code`
  const found = lists.find((list) => list.code === code)
  if (found) return found
  const codes = lists.map((list) => list.code).join(', ')
  throw refusal(`There is no list ${code}; there are ${codes}.`)
}

/** Throws Refused when there is no such list. */
export async function requireList(sql: Sql | Tx, code: string): Promise<string> {
  return (await listNamed(sql, code)).code
}

/** Reads a list. Throws Refused when there is no such list or it cannot be read. */
export async function readList(
  sql: Sql,
  { list, bytes, bytes_expected }: Source,
  progress: Progress,
): Promise<ListContents> {
  const { reader, columns, category, kind, made_by } = await listNamed(sql, list)
  const passing = counted(bytes, (read) => progress(read, bytes_expected))
  const shape = { columns: columns ?? undefined, category: category ?? undefined }
  const contents =
    reader === 'table' ? await readTable(passing, shape) : await READERS[reader](passing)
  // Of a list of the operator's own it is said once how far it counts.
  if (made_by !== null) for (const entry of contents.entries) entry.kind = kindIn(kind, entry)
  return contents
}

const kindIn = (kind: ListRow['kind'], entry: ListEntry): ListEntry['kind'] =>
  kind === 'authority' || entry.kind === 'authority' ? kind : entry.kind

/** Reads a list and publishes it. Throws Refused when there is no such list or it cannot be
 *  read. */
export async function importList(
  { sql, clock }: Pick<Needs, 'sql' | 'clock'>,
  from: Source & { loaded_by: string },
  progress: Progress = () => {},
): Promise<LoadOutcome> {
  const { list, origin, asked_at, loaded_by } = from
  const contents = await readList(sql, from, progress)
  const { entries, passed_over: others, misspelt, designations } = contents
  // What is misspelt is not used either: nothing is dropped without being counted.
  const passed_over = others + misspelt.length
  const counts = { passed_over, designations }
  const loading = { list, origin, asked_at, ...counts, loaded_at: clock.now(), loaded_by }
  const published = await sql.begin((tx) => publishList(tx, loading, entries))
  return { ...published, passed_over }
}

/** Opens the newest version of a list at its publisher. Throws Refused when the list has no
 *  address to load it from. */
export async function openList({ sql, clock, download }: Needs, list: string): Promise<Source> {
  await requireList(sql, list)
  const asked_at = clock.now()
  const [row] = await sql<{ url: string | null }>`select url from list where code = ${list}`
  if (!row?.url) throw refusal(`The list ${list} has no address to load it from: import a file.`)
  return { list, origin: row.url, asked_at, ...(await download(row.url)) }
}

/** A list that could not be loaded is tried again after this. */
const TRY_AGAIN_MS = 600_000

/** Loads lists from their publishers when their time has come. */
export function refreshStep(needs: Needs): Step {
  const { sql, clock } = needs
  /** When a list that could not be loaded may be tried again in this process. */
  const rests = new Map<string, number>()
  return {
    name: 'refresh_lists',
    rest_ms: 60_000,
    duty: 'upkeep',
    async run() {
      const now_ms = clock.now().getTime()
      const rows = await sql<{ code: string; refresh_hours: number; read_at: Date | null }>`
        select code, refresh_hours, read_at from list
        where refresh_hours is not null and url is not null order by code`
      const due = rows.filter(({ code, refresh_hours, read_at }) => {
        const due_ms = (read_at?.getTime() ?? 0) + refresh_hours * 3_600_000
        return now_ms >= Math.max(rests.get(code) ?? 0, due_ms)
      })
      return eachRow(
        due,
        async ({ code }) => {
          const asked_at = clock.now()
          try {
            const source = await openList(needs, code)
            return (await importList(needs, { ...source, loaded_by: 'schedule' })).changed
          } catch (thrown) {
            await noteFailure(sql, { code, thrown, asked_at })
            throw thrown
          }
        },
        async ({ code }) => rests.set(code, now_ms + TRY_AGAIN_MS),
      )
    },
  }
}

/** Somebody should look at it (`list_failing`), unless another has loaded it since. */
async function noteFailure(
  sql: Sql,
  { code, thrown, asked_at }: { code: string; thrown: unknown; asked_at: Date },
): Promise<void> {
  // It may repeat what the publisher's file has.
  const error = errorText(thrown instanceof Error ? thrown.message : String(thrown))
  await sql`
    update list set failing_since = coalesce(failing_since, ${asked_at}), error = ${error}
    where code = ${code} and (read_at is null or read_at <= ${asked_at})`
}

const DOWNLOAD_MS_MAX = 600_000
/** Several times what the largest list has today. */
const DOWNLOAD_BYTES_MAX = 512 * 1024 * 1024
const REDIRECTS_MAX = 5

/** A publisher as it may be named anywhere: an address may have a key in it. */
const nameOf = (url: URL): string => url.host

/** The address of a publisher. Throws an Outage unless it is one that nobody on the way can answer
 *  for: what a list says decides whose money is refused. */
function secureUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href))
    throw new Outage('a publisher sends us on to what is no address')
  const url = new URL(text, base)
  const here = url.protocol === 'http:' && isLoopback(url.hostname)
  if (url.protocol !== 'https:' && !here) throw new Outage(`${nameOf(url)} is not asked over https`)
  return url
}

/** The transport of production: HTTPS, redirects followed to HTTPS alone, and no more bytes than a
 *  list can have. */
export const httpDownload: Download = async (text) => {
  const signal = AbortSignal.timeout(DOWNLOAD_MS_MAX)
  let url = secureUrl(text)
  for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
    const response = await fetch(url, { signal, redirect: 'manual' }).catch((cause: unknown) => {
      throw new Outage(`${nameOf(url)} does not answer`, { cause })
    })
    const location =
      response.status >= 300 && response.status < 400 ? response.headers.get('location') : null
    if (location === null) return contentOf(response, nameOf(url))
    await response.body?.cancel()
    url = secureUrl(location, url)
  }
  throw new Outage(`${nameOf(url)} sends us on more than ${REDIRECTS_MAX} times`)
}

function contentOf(response: Response, name: string): Awaited<ReturnType<Download>> {
  if (!response.ok || response.body === null)
    throw new Outage(`${name} answers with HTTP ${response.status}`)
  const length = Number(response.headers.get('content-length') ?? Number.NaN)
  const bytes_expected = Number.isFinite(length) ? length : undefined
  return { bytes: limited(response.body, DOWNLOAD_BYTES_MAX, name), bytes_expected }
}

/** Passes bytes on, up to so many. Throws an Outage at the first beyond. */
export async function* limited(
  bytes: AsyncIterable<Uint8Array>,
  max: number,
  name: string,
): AsyncGenerator<Uint8Array> {
  let passed = 0
  for await (const chunk of bytes) {
    passed += chunk.length
    if (passed > max) throw new Outage(`${name} sends more than ${max} bytes`)
    yield chunk
  }
}
