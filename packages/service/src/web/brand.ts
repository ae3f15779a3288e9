// How the house presents itself to those who open its pages: its name, its colour, where help and
// its terms are, where one looks at the chain. In force within seconds, in every process.

import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../lib/clock.ts'
import { misuse } from '../lib/fault.ts'
import type { Sql, Tx } from '../platform/database/sql.ts'
import { type Explorer, readExplorer } from './explorer.ts'

type BrandRow = {
  name: string
  /** `#rrggbb`; null: that of Penstock. */
  accent: string | null
  /** One line: whom to ask, and how. */
  support: string | null
  terms_url: string | null
  /** Two templates of addresses with a space between; null: as the process is configured. */
  explorer: string | null
}

export type Brand = Omit<BrandRow, 'explorer'> & { explorer: Explorer | undefined }

const DEFAULT_BRAND: Brand = {
  name: 'Penstock',
  accent: null,
  support: null,
  terms_url: null,
  explorer: undefined,
}

const FRESH_MS = 5_000
const WAITS_MS_MAX = 2_000
const NAME_LENGTH_MAX = 40
const SUPPORT_LENGTH_MAX = 200
const URL_LENGTH_MAX = 1_000

export async function showBrand(sql: Sql | Tx): Promise<BrandRow> {
  const [row] = await sql<BrandRow>`select name, accent, support, terms_url, explorer from brand`
  return row!
}

type ReaderNeeds = { sql: Sql; clock: Clock; wait(ms: number): Promise<void> }

/** Reads it at most every five seconds. Pages open whether the database answers or not, and soon:
 *  then it is what was read last. */
export function brandReader({ sql, clock, wait }: ReaderNeeds): () => Promise<Brand> {
  let known = DEFAULT_BRAND
  let read_at_ms = Number.NEGATIVE_INFINITY
  let is_reading = false
  let reading: Promise<void> = Promise.resolve()
  const read = async () => {
    const { explorer, ...row } = await showBrand(sql)
    const found = { ...row, explorer: readExplorer(explorer ?? undefined) }
    // The same object for as long as it says the same: pages that are printed with it stay good.
    if (!isDeepStrictEqual(found, known)) known = found
  }
  return async () => {
    const now_ms = clock.now().getTime()
    if (now_ms - read_at_ms >= FRESH_MS && !is_reading) {
      read_at_ms = now_ms
      is_reading = true
      const read_now = read()
        .catch(() => {})
        .finally(() => {
          is_reading = false
        })
      reading = Promise.race([read_now, wait(WAITS_MS_MAX)])
    }
    await reading
    return known
  }
}

/** Changes what is given; an empty text takes it away. Throws Misuse for what cannot be shown. */
export async function changeBrand(
  tx: Tx,
  given: { [Field in keyof BrandRow]?: string | undefined },
): Promise<{
  result: BrandRow
  actions: { subject: string; before: BrandRow; after: BrandRow }[]
}> {
  const [before] = await tx<BrandRow>`
    select name, accent, support, terms_url, explorer from brand for update`
  const after = { ...before! }
  for (const [field, text] of Object.entries(given)) {
    if (text === undefined) continue
    const key = field as keyof BrandRow
    const value = text.trim()
    if (value !== '') CHECKS[key](value)
    const set = value === '' ? (key === 'name' ? DEFAULT_BRAND.name : null) : value
    Object.assign(after, { [key]: key === 'accent' ? (set?.toLowerCase() ?? null) : set })
  }
  const is_same = Object.keys(after).every(
    (key) => after[key as keyof BrandRow] === before![key as keyof BrandRow],
  )
  if (is_same) return { result: after, actions: [] }
  const { name, accent, support, terms_url, explorer } = after
  await tx`
    update brand set name = ${name}, accent = ${accent}, support = ${support},
                     terms_url = ${terms_url}, explorer = ${explorer}`
  return { result: after, actions: [{ subject: 'brand', before: before!, after }] }
}

const CHECKS: Readonly<Record<keyof BrandRow, (value: string) => void>> = {
  name: (value) => requireLine('The name', value, NAME_LENGTH_MAX),
  support: (value) => requireLine('The line about support', value, SUPPORT_LENGTH_MAX),
  accent(value) {
    if (!/^#[0-9a-f]{6}$/i.test(value)) throw misuse('The accent is a colour like #0b5cad.')
  },
  terms_url(value) {
    requireLine('The address of the terms', value, URL_LENGTH_MAX)
    if (!/^https:\/\//i.test(value) || URL.parse(value) === null)
      throw misuse('The address of the terms begins with https://.')
  },
  explorer(value) {
    requireLine('The explorer', value, URL_LENGTH_MAX)
    readExplorer(value, 'The explorer')
  },
}

function requireLine(what: string, value: string, length_max: number): void {
  if (value.length > length_max) throw misuse(`${what} has more than ${length_max} characters.`)
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value)) throw misuse(`${what} is one line.`)
  if (/\p{Cf}/u.test(value))
    throw misuse(`${what} has characters that hide, or turn what stands around them.`)
}
