// The check of the books that runs by itself. What it finds twice, and the check before had not
// found, takes everything off sale, by the switches and with the record of an operator's change,
// and stops money that leaves (signing_reasons.ts); reading, delivering what was sold and taking it
// back go on. An operator who has seen to it, or accepts it, puts everything on sale again, and
// lets money leave: `services on --all`.
//
// A whole check that takes long is made once a day; those in between go on from the seal of the
// journal at which it held.
//
//   (found) -> (gone): not found any more; -> (accepted): by an operator

import { perform } from '../../events/log/changes.ts'
import type { Action } from '../../ledger/accounts/actions.ts'
import {
  findSumsSeal,
  forgetSums,
  keepSums,
  type SealedSums,
  type SumsSeal,
} from '../../ledger/accounts/sealed_sums.ts'
import { type Clock, dayOf } from '../../lib/clock.ts'
import { setSwitches, switches } from '../../market/prices/switches.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import {
  type BooksSources,
  type BooksStart,
  foundByBoth,
  LOOK_AGAIN_MS,
  lookAtBooks,
  type RuleReport,
} from './books.ts'

export type Needs = BooksSources & { clock: Clock }

/** The least time from one check to the next; a check that takes long is made more seldom, so that
 *  it takes at most a twentieth of the time. */
const EVERY_MS = 600_000
const SHARE = 20
/** A whole check that takes no longer is the one that is made each time. */
const WHOLE_MS_MAX = EVERY_MS / SHARE
/** Below this every check is whole, whatever the sums say that are kept: who writes as a worker
 *  cannot make it otherwise. */
const LARGE_ENTRIES = 500_000n
/** How long the process that makes a check has it alone. */
const ALONE_MS = 1_800_000
/** After a first look that found something, how much longer than a look the second may take. */
const SOON_MS = 120_000
/** Blocks are read from the node again so far back from the last check. */
const OVERLAP_MS = 3_600_000

const later = (at: Date, ms: number) => new Date(at.getTime() + ms)

const stops = ({ state, stops_selling }: RuleReport) => state === 'broken' && stops_selling

export function watchBooksStep(needs: Needs): Step {
  const { sql, clock } = needs
  let first: FirstLook | undefined
  async function look(start: BooksStart): Promise<Look> {
    const looked_at = clock.now()
    let sums: SealedSums | undefined
    const sealed = (at_seal: SealedSums | undefined) => {
      sums = at_seal
    }
    const reports = await lookAtBooks(needs, { ...start, sealed })
    const took_ms = clock.now().getTime() - looked_at.getTime()
    return { reports, took_ms, whole: start.from === undefined, sums }
  }
  return {
    name: 'watch_books',
    rest_ms: LOOK_AGAIN_MS,
    due: (sql) => sql`
      select from (values (1)) as one left join books_check on true
      where ${first !== undefined}::boolean or due_at is null or due_at <= ${clock.now()}`,
    before: ['publish'],
    async run() {
      const began_at = clock.now()
      if (first) {
        if (began_at < later(first.began_at, LOOK_AGAIN_MS)) return false
        const { reports, start, began_at: first_at, before } = first
        // Another process may have made the check meanwhile, of a first look that took long: not
        // by the time, or what takes longer than one is alone would never be concluded.
        if (before?.getTime() !== (await lastCheck(sql))?.getTime()) {
          first = undefined
          return false
        }
        // A whole check keeps the sums of its second snapshot, so all rules are asked of that.
        const second = await look(start.from ? { ...start, looked: reports } : start)
        const sums = second.reports.some(stops) ? undefined : second.sums
        const both = foundByBoth(reports, second.reports)
        await conclude(needs, { ...second, sums, reports: both }, { began_at: first_at, before })
        first = undefined
        return true
      }
      const due = await claim(sql, began_at)
      if (!due) return false
      const { before } = due
      const since = before && later(before, -OVERLAP_MS)
      const start = { since, from: await startOf(sql, began_at) }
      const looked = await look(start)
      if (looked.reports.some(stops)) {
        first = { reports: looked.reports, start, began_at, before }
        await leaveToOthers(sql, { before, due_at: later(clock.now(), SOON_MS + looked.took_ms) })
      } else await conclude(needs, looked, { began_at, before })
      return true
    },
  }
}

/** A look that has found something, and is made again; `before`: when the last check began. */
type FirstLook = {
  reports: RuleReport[]
  start: BooksStart
  began_at: Date
  before: Date | undefined
}

/** One look at the books, or two. */
type Look = {
  reports: RuleReport[]
  took_ms: number
  whole: boolean
  /** Of a whole one that found nothing, at the newest seal. */
  sums: SealedSums | undefined
}

/** Where the check goes on from; undefined: it is a whole one. */
async function startOf(sql: Sql, now: Date): Promise<SumsSeal | undefined> {
  const seal = await findSumsSeal(sql)
  if (!seal || seal.took_ms <= WHOLE_MS_MAX || dayOf(seal.made_at) !== dayOf(now)) return undefined
  const [given] = await sql<{ entries: bigint }>`
    select last_value as entries from transfer_number_seq`
  return given!.entries >= LARGE_ENTRIES ? seal : undefined
}

/** Takes up the check when it is due. `before`: when the last one was; undefined at the first. */
async function claim(sql: Sql, now: Date): Promise<{ before: Date | undefined } | undefined> {
  const [taken] = await sql<{ checked_at: Date | null }>`
    insert into books_check (checked_at, due_at) values ('-infinity', ${later(now, ALONE_MS)})
    on conflict (one) do update set due_at = excluded.due_at where books_check.due_at <= ${now}
    returning case when isfinite(checked_at) then checked_at end as checked_at`
  return taken && { before: taken.checked_at ?? undefined }
}

/** A first look stops nothing: if this process ends before its second, another is not to wait until
 *  it has had the check alone for all its time. */
async function leaveToOthers(
  sql: Sql,
  { before, due_at }: { before: Date | undefined; due_at: Date },
): Promise<void> {
  await sql`
    update books_check set due_at = least(due_at, ${due_at}::timestamptz)
    where checked_at = coalesce(${before ?? null}::timestamptz, '-infinity')`
}

async function lastCheck(sql: Sql): Promise<Date | undefined> {
  const [row] = await sql<{ checked_at: Date }>`
    select checked_at from books_check where isfinite(checked_at)`
  return row?.checked_at
}

/** Not when another process has made the check since it began: what that found is newer, and an
 *  operator may have seen to it. */
async function conclude(
  { sql, clock }: Needs,
  { reports, took_ms, whole, sums }: Look,
  { began_at, before }: Pick<FirstLook, 'began_at' | 'before'>,
): Promise<void> {
  const now = clock.now()
  const held = !reports.some(stops)
  // The next one is not whole, and soon made.
  const next_ms = whole && held && took_ms > WHOLE_MS_MAX ? 0 : now.getTime() - began_at.getTime()
  const due_at = later(now, Math.max(EVERY_MS, SHARE * next_ms))
  const findings = reports
    .filter(stops)
    .flatMap(({ rule, findings }) => findings.map((one) => ({ ...one, rule })))
  const column = (name: 'rule' | 'subject' | 'found') => findings.map((one) => one[name])
  const rules = [...new Set(column('rule'))].join(', ')
  // What could not be looked at may be as it was.
  const unchecked = reports.filter(({ state }) => state === 'not checked').map(({ rule }) => rule)
  const operator = {
    made_by: 'books check',
    reason: findings.length === 0 ? null : `${rules} broken`,
  }
  await perform({ sql, clock }, { operator, action: 'books check' }, async (tx) => {
    const concluded = await tx`
      update books_check set checked_at = ${began_at}, due_at = ${due_at}
      where checked_at = coalesce(${before ?? null}::timestamptz, '-infinity') returning 1`
    if (concluded.length === 0) return { result: undefined, actions: [] }
    const fresh = await tx`
      with gone as (
        update books_finding set gone_at = ${now}
        where gone_at is null and rule <> all (${unchecked}) and (rule, subject, found) not in (
          select * from unnest(${column('rule')}::text[], ${column('subject')}::text[],
                               ${column('found')}::text[]))
      )
      insert into books_finding (rule, subject, found, found_at)
      select distinct rule, subject, found, ${now}::timestamptz
      from unnest(${column('rule')}::text[], ${column('subject')}::text[],
                  ${column('found')}::text[]) as f (rule, subject, found)
      on conflict (rule, subject, found) do update set found_at = excluded.found_at, gone_at = null
        where books_finding.gone_at is not null
      returning 1`
    if (whole && held && sums) await keepSums(tx, sums, { took_ms, at: now })
    else if (whole && !held) await forgetSums(tx)
    return { result: undefined, actions: fresh.length > 0 ? await stopSelling(tx, now) : [] }
  })
}

/** One of the rules is broken there, since `found_at`. */
type StandingFinding = { rule: string; subject: string; found: string; found_at: Date }

/** What the last check that ran by itself has found, the oldest first; `findings` are all that
 *  there are, though no more than `limit` are listed. `checked_at`: null before the first. */
export async function readFindings(
  sql: Sql,
  { limit }: { limit: number },
): Promise<{ checked_at: Date | null; findings: bigint; listed: StandingFinding[] }> {
  const [check] = await sql<{ checked_at: Date | null; findings: bigint }>`
    select (select checked_at from books_check where isfinite(checked_at)) as checked_at,
           (select count(*) from books_finding where gone_at is null) as findings`
  const listed = await sql<StandingFinding>`
    select rule, subject, found, found_at from books_finding where gone_at is null
    order by found_at, rule, subject, found limit ${limit}`
  return { ...check!, listed }
}

/** An operator has seen to what was found, or accepts it: money may leave again. What is gone is
 *  forgotten. The actions to record. */
export async function acceptFindings(tx: Tx, at: Date): Promise<Action[]> {
  const forgotten = await tx`
    delete from books_finding where gone_at is not null
    returning accepted_at is null or accepted_at < found_at as is_open`
  const accepted = await tx`
    update books_finding set accepted_at = ${at}
    where accepted_at is null or accepted_at < found_at returning 1`
  const findings = accepted.length + forgotten.filter(({ is_open }) => is_open).length
  return findings === 0 ? [] : [{ subject: 'books', before: null, after: { accepted: findings } }]
}

async function stopSelling(tx: Tx, at: Date) {
  const names = (await switches(tx)).map(({ name }) => name)
  return (await setSwitches(tx, { names, on_sale: false, changed_by: 'books check', at })).actions
}
