// How the providers of screening answers do: what they were asked and answered, as the rows of
// their answers tell it, and which processes leave them alone.

import type { Sql } from '../../platform/database/sql.ts'
import { currentPolicy, EMBEDDED } from '../../screening/engine/policy.ts'
import { PROVIDERS } from '../../screening/providers/configured.ts'
import { runningReports } from './report.ts'

export type ProviderState = {
  name: string
  /** Processes that can ask it. */
  processes: number
  /** Those of them that ask it nothing for a while, after several failures in a row. */
  left_alone: number
  /** The policy in force has it asked. */
  in_policy: boolean
  /** What was answered and what failed, in the last hour and in the last day. */
  asked_hour: bigint
  answered_hour: bigint
  failed_hour: bigint
  asked_day: bigint
  answered_day: bigint
  failed_day: bigint
  /** What of it failed because what was paid for is used up. */
  quota_day: bigint
  answered_at: Date | null
  failed_at: Date | null
  /** How it failed last: transient, permanent, unsupported, auth, quota. */
  failure: string | null
  /** In its words. */
  error: string | null
}

/** Those that a process can ask, the policy names, or were asked within a day. */
export async function providerStates(sql: Sql, now: Date): Promise<ProviderState[]> {
  const { routes } = await currentPolicy(sql)
  const named = new Set(Object.values(routes).flatMap(({ use }) => use))
  named.delete(EMBEDDED)
  const reported = (await runningReports(sql)).flatMap(({ report }) => report.providers ?? [])
  const names = new Set([...PROVIDERS, ...named, ...reported.map(({ name }) => name)])
  const outcomes = await outcomesOf(sql, [...names].sort(), now)
  return [...names].sort().flatMap((name) => {
    const own = outcomes.filter(({ provider }) => provider === name)
    const here = reported.filter((one) => one.name === name)
    const in_policy = named.has(name)
    if (here.length === 0 && !in_policy && own.every(({ day }) => day === 0n)) return []
    const left_alone = here.filter((one) => one.left_alone).length
    return [{ name, processes: here.length, left_alone, in_policy, ...summed(own) }]
  })
}

const ANSWERED = 'answered'
const OUTCOMES = [ANSWERED, 'transient', 'permanent', 'unsupported', 'auth', 'quota']

/** The answers of one provider with one outcome; `last_at`: the newest of all times. */
type OutcomeRow = {
  provider: string
  outcome: string
  hour: bigint
  day: bigint
  last_at: Date | null
  error: string | null
}

/** Each outcome by its part of the index: a provider that has not answered for a year costs no more
 *  than one that does. */
const outcomesOf = (sql: Sql, names: readonly string[], now: Date): Promise<OutcomeRow[]> =>
  sql<OutcomeRow>`
    select p.provider, o.outcome, recent.hour, recent.day, last.received_at as last_at, last.error
    from unnest(${names}::text[]) as p (provider)
      cross join unnest(${OUTCOMES}::text[]) as o (outcome)
      cross join lateral (
        select count(*) as day,
          count(*) filter (where received_at > ${now}::timestamptz - interval '1 hour') as hour
        from aml_answer as a where a.provider = p.provider and a.outcome = o.outcome
          and received_at > ${now}::timestamptz - interval '1 day') as recent
      left join lateral (
        select received_at, error from aml_answer as a
        where a.provider = p.provider and a.outcome = o.outcome
        order by received_at desc limit 1) as last on true`

function summed(rows: readonly OutcomeRow[]) {
  const answered = rows.find(({ outcome }) => outcome === ANSWERED)
  const failures = rows.filter(({ outcome }) => outcome !== ANSWERED)
  const last = failures.reduce<OutcomeRow | undefined>(
    (newest, one) => (isLater(one.last_at, newest?.last_at) ? one : newest),
    undefined,
  )
  const sumOf = (window: 'hour' | 'day') => failures.reduce((sum, one) => sum + one[window], 0n)
  const [failed_hour, failed_day] = [sumOf('hour'), sumOf('day')]
  const { hour: answered_hour = 0n, day: answered_day = 0n } = answered ?? {}
  return {
    asked_hour: answered_hour + failed_hour,
    answered_hour,
    failed_hour,
    asked_day: answered_day + failed_day,
    answered_day,
    failed_day,
    quota_day: failures.find(({ outcome }) => outcome === 'quota')?.day ?? 0n,
    answered_at: answered?.last_at ?? null,
    failed_at: last?.last_at ?? null,
    failure: last?.outcome ?? null,
    error: last?.error ?? null,
  }
}

const isLater = (one: Date | null, other: Date | null | undefined): boolean =>
  one !== null && (other == null || one > other)
