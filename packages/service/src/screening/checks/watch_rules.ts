// The rules that a watch may have beside the level, and what is told when one of them holds: about
// single transfers as soon as a solid block has one, about severe shares and amounts when an answer
// has crossed the threshold. The note and what it follows from are one transaction: told once.

import type { Address } from 'penstock-tron/address.ts'
import type { Static } from 'typebox'
import { noteEvents } from '../../events/log/notes.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { keepAlerts } from '../cases/case_opening.ts'
import { readPolicy } from '../engine/policy.ts'
import type { Outcome } from '../engine/scoring.ts'
import type { SevereAmounts } from '../labels/entries.ts'
import type { Check, WatchAlertForm } from './forms.ts'

export type WatchRules = {
  /** An incoming transfer of so many dollars or more. */
  any_incoming_usd: bigint | null
  /** An answer whose severe share (hundredths of a percent) or amount has reached this. */
  severe_share_bp: number | null
  severe_usd: bigint | null
  /** Money sent to an address of a severe category, or one that is barred. */
  sent_to: boolean
}

/** Dollars that a rule can be about. */
export const USD_MAX = 1_000_000_000_000
/** Characters of what a customer calls an address. */
export const REFERENCE_MAX = 100

export type WatchAlert = {
  customer_id: string
  at: Date
  data: Static<typeof WatchAlertForm>
}

export function noteAlerts(tx: Tx, alerts: readonly WatchAlert[]): void {
  if (alerts.length === 0) return
  noteEvents(
    tx,
    alerts.map(({ customer_id, at, data }) => ({
      type: 'aml_watch.alert' as const,
      subject: `aml_watch:${data.address}`,
      customer_id,
      at,
      data,
    })),
  )
  keepAlerts(tx, alerts)
}

/** An answer, as far as watches look at it. */
export type WatchAnswer = {
  check: Pick<Check, 'id' | 'price_sun' | 'key_id'>
  outcome: Outcome
  evidence: string
  policy: number
  label_set: number | undefined
}

type WatchState = Pick<WatchRules, 'severe_share_bp' | 'severe_usd'> & {
  customer_id: string
  address: Address
  reference: string | null
  check_id: string
  label_set: number
  seen_share_bp: number | null
  seen_usd: bigint | null
}

/** Locks the watches whose newest checks are these, in the order in which whoever changes several
 *  watches takes them: else two would wait for each other. */
export async function lockWatches(tx: Tx, check_ids: readonly string[]): Promise<void> {
  await tx`
    select from aml_watch where check_id = any(${check_ids})
    order by customer_id, address for update`
}

/** Asks the rules of watches about their newest answers. One that was made under older labels than
 *  its watch knows is made anew. */
export async function noteWatchAnswers(
  tx: Tx,
  all: readonly WatchAnswer[],
  now: Date,
): Promise<void> {
  // Watches cost nothing, and no key asks for them.
  const answers = new Map(
    all
      .filter(({ check }) => check.price_sun === 0n && check.key_id === null)
      .map((one) => [one.check.id, one]),
  )
  if (answers.size === 0) return
  const watches = await tx<WatchState>`
    select customer_id, address, reference, check_id, label_set, severe_share_bp, severe_usd,
      seen_share_bp, seen_usd
    from aml_watch where check_id = any(${[...answers.keys()]})
    order by customer_id, address for update`
  for (const watch of watches) {
    const answer = answers.get(watch.check_id)!
    const seen = await severeOf(tx, answer)
    const outdated = answer.label_set !== undefined && answer.label_set < watch.label_set
    await tx`
      update aml_watch set seen_share_bp = ${seen.share_bp}, seen_usd = ${seen.usd},
        label_set = case when ${outdated} then -1 else label_set end
      where customer_id = ${watch.customer_id} and address = ${watch.address}`
    noteAlerts(tx, crossings(watch, seen, now))
  }
}

/** What of an answer is severe; dollars are known of our own engine's alone. */
export async function severeOf(
  tx: Tx,
  {
    outcome,
    evidence,
    policy,
  }: Pick<WatchAnswer, 'evidence' | 'policy'> & { outcome: Pick<Outcome, 'factors'> },
): Promise<SevereAmounts> {
  const severe = new Set((await readPolicy(tx, policy)).severe)
  const share_bp = outcome.factors
    .filter(({ name }) => severe.has(name))
    .reduce((sum, { score }) => sum + Math.round(score * 10_000), 0)
  const { factors } = JSON.parse(evidence) as { factors?: { category: string; usd: string }[] }
  if (!factors) return { share_bp, usd: null }
  const cents = factors
    .filter(({ category }) => severe.has(category))
    .reduce((sum, { usd }) => sum + BigInt(usd.replace('.', '')), 0n)
  return { share_bp, usd: cents / 100n }
}

const shareText = (bp: number | null) => (bp === null ? null : (bp / 10_000).toFixed(4))

function crossings(watch: WatchState, seen: SevereAmounts, at: Date): WatchAlert[] {
  const { customer_id, address, reference, check_id, severe_share_bp, severe_usd } = watch
  const plain = { address, reference, transfer: null, transfers: 0, check_id }
  const alerts: WatchAlert[] = []
  const has_share = severe_share_bp !== null && seen.share_bp >= severe_share_bp
  if (has_share && (watch.seen_share_bp ?? 0) < severe_share_bp) {
    const [before, after] = [shareText(watch.seen_share_bp), shareText(seen.share_bp)]
    const threshold = shareText(severe_share_bp)
    const data = { ...plain, rule: 'severe_share' as const, threshold, before, after }
    alerts.push({ customer_id, at, data })
  }
  const has_usd = severe_usd !== null && seen.usd !== null && seen.usd >= severe_usd
  if (has_usd && (watch.seen_usd ?? 0n) < severe_usd) {
    const before = watch.seen_usd === null ? null : String(watch.seen_usd)
    const [threshold, after] = [String(severe_usd), String(seen.usd)]
    const data = { ...plain, rule: 'severe_usd' as const, threshold, before, after }
    alerts.push({ customer_id, at, data })
  }
  return alerts
}

/** Why a check failed that may be answered a while later. */
const PASSES = ['timed_out', 'provider_transient', 'provider_auth', 'provider_quota']
/** In an hour, and twice as long after each further failure, up to the day after which a watch is
 *  due anyway: others of the check have answered, and are paid each time. */
const AGAIN_MS = 3_600_000
const FAILURES_MAX = 6

/** Watches whose check failed because no index was there for it are screened again at once, and
 *  those whose check failed for another reason that passes a while later: what moved must not go
 *  unseen until the next day's. Who has no answer for it is asked by the day alone. */
export async function hurryFailed(
  tx: Tx,
  failed: readonly { check: Pick<Check, 'id'>; error: string }[],
  now: Date,
): Promise<void> {
  const idsOf = (errors: readonly string[]) =>
    failed.flatMap(({ check, error }) => (errors.includes(error) ? check.id : []))
  const at_once = idsOf(['index_stale'])
  const soon = idsOf(PASSES)
  if (at_once.length + soon.length > 0) await lockWatches(tx, [...at_once, ...soon])
  if (at_once.length > 0)
    await tx`update aml_watch set label_set = -1 where check_id = any(${at_once})`
  if (soon.length > 0)
    await tx`
      with recursive failure as (
        select check_id, check_id as id, 0 as before from aml_watch where check_id = any(${soon})
        union all
        select f.check_id, c.supersedes, before + 1 from failure as f
        join aml_check as c using (id) join aml_check as earlier on earlier.id = c.supersedes
        where earlier.state = 'failed' and before + 1 < ${FAILURES_MAX}
      ), failures as (select check_id, max(before) as before from failure group by check_id)
      update aml_watch as w set due_at = least(due_at,
        ${now}::timestamptz + 2 ^ f.before * ${AGAIN_MS} * interval '1 millisecond')
      from failures as f where w.check_id = f.check_id`
}
