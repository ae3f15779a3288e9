// Roots: the last sum that was sealed in a day stands for every entry and record until then.
// Anyone who may do everything in the database can write another history with sums that fit it, but
// not one that fits roots that were noted elsewhere. So the root of each day leaves the database by
// itself: as a line of the log, and as a line of a file that only grows.

import { type Clock, dayOf, later } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { appendText, readWhole } from '../../lib/files.ts'
import type { Log } from '../../lib/log.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { SealFinding } from './seals.ts'

export type Root = { day: string; number: bigint; last_entry: bigint; sha256: string }

/** A day is over so long after its end: clocks of processes differ a little. */
const GRACE_MS = 600_000

/** A root as a line of a file. */
export const rootLine = ({ day, number, last_entry, sha256 }: Root): string =>
  `${JSON.stringify({ day, number: Number(number), last_entry: Number(last_entry), sha256 })}\n`

/** The roots in a file: lines as they are written, or the list that `books roots --json` prints. A
 *  line that was cut short by a crash is passed over. Throws Refused with the line that is not a
 *  root. */
export function readRoots(text: string): Root[] {
  if (text.trimStart().startsWith('[')) return parsed(text, listOf, 'it is not a list in JSON')
  return text.split('\n').flatMap((line, i) => {
    const whole = line.trim()
    if (!whole.endsWith('}')) {
      if (whole === '' || whole.startsWith('{"day"') || '{"day"'.startsWith(whole)) return []
      throw refusal(`Line ${i + 1} is not a root.`)
    }
    return [parsed(whole, rootOf, `line ${i + 1} is not a root`)]
  })
}

function parsed<T>(text: string, read: (value: unknown) => T | undefined, what: string): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refusal(`The roots cannot be read: ${what}.`)
  }
  const found = read(value)
  if (found === undefined) throw refusal(`The roots cannot be read: ${what}.`)
  return found
}

function listOf(value: unknown): Root[] | undefined {
  if (!Array.isArray(value)) return undefined
  const roots = value.map(rootOf)
  return roots.every((one) => one !== undefined) ? roots : undefined
}

function rootOf(value: unknown): Root | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { day, number, last_entry = 0, sha256 } = value as Record<string, unknown>
  const whole = (given: unknown) => Number.isSafeInteger(given) && Number(given) >= 0
  if (
    typeof day !== 'string' ||
    !/^\d{4}-\d\d-\d\d$/.test(day) ||
    !whole(number) ||
    !whole(last_entry)
  )
    return undefined
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return undefined
  return { day, number: BigInt(Number(number)), last_entry: BigInt(Number(last_entry)), sha256 }
}

/** The roots of the days that are over, oldest first; only of days after one when it is given. */
export async function finishedRoots(
  sql: Sql | Tx,
  clock: Clock,
  after: string | undefined,
): Promise<Root[]> {
  // By the time of the seals, so that only those are read that are younger than what was noted.
  return sql<Root>`
    select distinct on (day) day::text, number, last_entry, sha256
    from (select (sealed_at at time zone 'UTC')::date as day, number, last_entry, sha256
      from journal
          where sealed_at < ${dayOf(later(clock, -GRACE_MS))}::timestamp at time zone 'UTC'
            and sealed_at >= coalesce((${after ?? null}::date + 1)::timestamp at time zone 'UTC',
                                      '-infinity')) as seal
    order by day, number desc`
}

/** The noted roots that the journal no longer has. */
export async function checkRoots(sql: Sql | Tx, noted: readonly Root[]): Promise<SealFinding[]> {
  const seals = await sql<{ number: bigint; sha256: string }>`
    select number, sha256 from journal where number
      = any(${noted.map(({ number }) => number)}::bigint[])`
  const kept = new Map(seals.map(({ number, sha256 }) => [number, sha256]))
  return noted.flatMap(({ day, number, sha256 }) => {
    const now = kept.get(number)
    if (now === sha256) return []
    const found = `seal ${number} was noted as ${sha256}, and is ${now ?? 'not there'}`
    return [{ subject: `root of ${day}`, found }]
  })
}

/** The roots of the days that are over that a text of roots lacks. Throws Refused when it has
 *  others than this journal. */
export async function missingRoots(
  sql: Sql | Tx,
  clock: Clock,
  { name, text }: { name: string; text: string },
): Promise<Root[]> {
  const noted = readRoots(text)
  const [wrong] = await checkRoots(sql, noted)
  if (wrong)
    throw refusal(
      `${name} has other roots than this journal: the ${wrong.subject}, ${wrong.found}.`,
    )
  return finishedRoots(sql, clock, noted.at(-1)?.day)
}

/** What is written at the end of a text of roots to add some. */
export function rootsAfter(text: string, roots: readonly Root[]): string {
  // What a crash cut short keeps a line of its own.
  const begin = text === '' || text.endsWith('\n') ? '' : '\n'
  return roots.length > 0 ? begin + roots.map(rootLine).join('') : ''
}

/** Notes the root of each day that is over: in the log and, where there is one, in the file. */
export function noteRootsStep(needs: {
  sql: Sql
  clock: Clock
  log: Log
  file: string | undefined
}): Step {
  const { sql, clock, log, file } = needs
  let noted_until: string | undefined
  return {
    name: 'note_roots',
    rest_ms: GRACE_MS,
    async run() {
      const text = file === undefined ? '' : ((await readWhole(file)) ?? '')
      noted_until ??=
        file === undefined ? dayOf(later(clock, -2 * 86_400_000)) : readRoots(text).at(-1)?.day
      const roots = await finishedRoots(sql, clock, noted_until)
      // With none, too: that the file cannot be written must not first be heard when there is one.
      if (file !== undefined) await appendText(file, rootsAfter(text, roots))
      for (const { day, number, last_entry, sha256 } of roots) {
        log('journal_root', { day, number, last_entry, sha256 })
        noted_until = day
      }
      return false
    },
  }
}
