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
  { outcome, evidence, policy }: Pick<WatchAnswer, 'outcome' | 'evidence' | 'policy'>,
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

/** Watches whose check failed because no index was there for it are screened again at once. */
export async function hurryFailed(
  tx: Tx,
  failed: readonly { check: Pick<Check, 'id'>; error: string }[],
): Promise<void> {
  const ids = failed.flatMap(({ check, error }) => (error === 'index_stale' ? check.id : []))
  if (ids.length === 0) return
  await tx`update aml_watch set label_set = -1 where check_id = any(${ids})`
}
