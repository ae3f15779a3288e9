// Reviews: answers of screening that wait for a person of the house.
//
//   open -> decided (allow | deny | leave)
//
// The customer has had the answer all along, and it never changes: a review decides what is
// answered from then on. To allow or deny makes an entry about the address, for this customer
// alone, and asks again at no price; the new answer stands beside the one it supersedes. To leave
// changes nothing. One address of a customer waits once, and again only for a worse answer; one
// that was allowed, when more of it has become severe since.

import type { Address } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { HOUSE } from '../../events/log/events.ts'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { noteEvents } from '../../events/log/notes.ts'
import { type Clock, wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import { readEvidence } from '../engine/evidence.ts'
import { currentPolicy, type Policy } from '../engine/policy.ts'
import { allowedUntil, makeEntry, noteAllowed } from '../labels/entries.ts'
import type { AnsweredCheck } from './checks.ts'
import { CHECK_COLUMNS, type Check } from './forms.ts'
import { placeAgain } from './placing.ts'
import { severeOf } from './watch_rules.ts'

export type ReviewState = 'open' | 'decided'
export const REVIEW_STATES: readonly ReviewState[] = ['open', 'decided']

export type Decision = 'allow' | 'deny' | 'leave'
export const DECISIONS: readonly Decision[] = ['allow', 'deny', 'leave']

/** `check_id`: of the answer that waits; a review is known by it. */
export type Review = {
  check_id: string
  customer_id: string
  address: Address
  state: ReviewState
  opened_at: Date
  decision: Decision | null
  reason: string | null
  decided_by: string | null
  decided_at: Date | null
  /** What was made of the decision; null when the answer was left as it is. */
  entry_id: string | null
  next_check_id: string | null
}

const REVIEW_COLUMNS = columnsOf<Review>()([
  'check_id',
  'customer_id',
  'address',
  'state',
  'opened_at',
  'decision',
  'reason',
  'decided_by',
  'decided_at',
  'entry_id',
  'next_check_id',
])

const SAMPLE = {
  check_id: '01m7xps0ca8ksnnfg71x89vdp6',
  customer_id: '01m7xps0ca8ksnnfg71x89vdp7',
  address: EXAMPLE.address,
  risk_score: '82.0',
  blacklist: false,
  opened_at: '2026-11-21T00:05:57Z',
}

export const reviewKinds: readonly EventKind[] = [
  eventKind('review.opened', {
    data: Type.Object({
      check_id: Type.String(),
      customer_id: Type.String(),
      address: Type.String(),
      risk_score: Type.String(),
      blacklist: Type.Boolean(),
      opened_at: Type.String(),
    }),
    when: 'an answer of screening waits for a decision of the house',
    scope: 'house',
    sample: SAMPLE,
  }),
]

/** The address that an answer is about: of a check of a transaction, its counterparty. Only where
 *  outside providers alone have answered is that not known. */
function screenedAddress({ check, result }: AnsweredCheck): string {
  type Facts = { screened?: { address: string } }
  const { answers = [], ...own } = JSON.parse(result.evidence) as Facts & {
    answers?: { facts: Facts }[]
  }
  const screened = own.screened ?? answers.find(({ facts }) => facts.screened)?.facts.screened
  return screened?.address ?? check.address
}

type OpenedReview = Pick<Review, 'check_id' | 'customer_id' | 'address' | 'opened_at'> & {
  risk_score: string
  blacklist: boolean
}

/** Whether the level would be high if nothing were allowed. */
const isRawHigh = ({ result: { outcome } }: AnsweredCheck, { high_from }: Policy) =>
  outcome.level === 'high' || Number(outcome.raw_score) >= high_from

/** Those of high answers that wait, if nothing was decided before: of what is allowed, those of
 *  which more is severe than was seen when it was. */
async function waitingAmong(
  tx: Tx,
  answered: readonly AnsweredCheck[],
  policy: Policy,
): Promise<{ one: AnsweredCheck; grown: boolean }[]> {
  const high = answered.filter((answer) => isRawHigh(answer, policy))
  // By their ids: an entry is locked when it is used first, and many answers use the house's.
  const uses = high
    .flatMap((one) => (one.result.bars?.entries ?? []).map((entry) => ({ one, entry })))
    .filter(({ entry }) => entry.kind === 'allow')
    .sort((a, b) => (a.entry.id < b.entry.id ? -1 : Number(a.entry.id > b.entry.id)))
  const grown = new Set<AnsweredCheck>()
  for (const { one, entry } of uses)
    if (await noteAllowed(tx, entry.id, await severeOf(tx, one.result))) grown.add(one)
  return high
    .filter((one) => grown.has(one) || one.result.outcome.level === 'high')
    .map((one) => ({ one, grown: grown.has(one) }))
}

/** -> open: for those of these answers whose level is high, where the policy has them reviewed. An
 *  address that waits already, was denied, or was decided about an answer no better than this one
 *  does not wait again. The caller has locked the accounts of the customers and the checks. */
export async function openReviews(
  tx: Tx,
  answered: readonly AnsweredCheck[],
  now: Date,
): Promise<void> {
  if (answered.length === 0) return
  const policy = await currentPolicy(tx)
  if (!policy.review_high_answers) return
  const waiting = await waitingAmong(tx, answered, policy)
  if (waiting.length === 0) return
  const high = waiting.map(({ one }) => one)
  // One that is open is in the way by its index, which waits while that is being decided: to look
  // for it would take it for open, and a worse answer would wait for no decision.
  const opened = await tx<OpenedReview>`
    with high as (
      select distinct on (customer_id, address) * from unnest(
        ${high.map(({ check }) => check.id)}::text[],
        ${high.map(({ check }) => check.customer_id)}::text[],
        ${high.map(screenedAddress)}::text[],
        ${high.map(({ result }) => result.outcome.score)}::numeric[],
        ${high.map(({ result }) => result.outcome.blacklist)}::boolean[],
        ${waiting.map(({ grown }) => grown)}::boolean[])
        as h (check_id, customer_id, address, risk_score, blacklist, grown)
      order by customer_id, address, risk_score desc, check_id
    ), opened as (
      insert into aml_review (check_id, customer_id, address, risk_score, opened_at)
      select check_id, customer_id, address, risk_score, ${now} from high
      where not exists (
        select 1 from aml_review as r left join aml_entry as e on e.id = r.entry_id
        where r.customer_id = high.customer_id and r.address = high.address
          and ((r.risk_score >= high.risk_score and not high.grown)
            or (r.decision = 'deny' and e.withdrawn_at is null)))
      order by customer_id, address
      on conflict (customer_id, address) where state = 'open' do nothing
      returning check_id, customer_id, address, risk_score::text, opened_at
    )
    select check_id, o.customer_id, o.address, o.risk_score, blacklist, o.opened_at
    from opened as o join high using (check_id) order by check_id`
  noteEvents(
    tx,
    opened.map(({ opened_at, ...data }) => ({
      type: 'review.opened',
      subject: `review:${data.check_id}`,
      customer_id: HOUSE,
      at: now,
      data: { ...data, opened_at: wireTime(opened_at) },
    })),
  )
}

const noReview = (check_id: string) => refusal(`There is no review of check ${check_id}.`)

type DecisionInput = { check_id: string; decision: Decision; reason: string; by: string; at: Date }

/** open -> decided. Throws Refused when there is no such review, or it is decided. */
export async function decideReview(
  tx: Tx,
  needs: { clock: Clock; new_id: NewId },
  { check_id, decision, reason, by, at }: DecisionInput,
): Promise<{ before: Review; after: Review }> {
  const [before] = await tx<Review>`
    select ${REVIEW_COLUMNS} from aml_review where check_id = ${check_id} for update`
  if (!before) throw noReview(check_id)
  if (before.state === 'decided')
    throw refusal(`${before.decided_by} has decided it already: ${before.decision}.`)
  const effect =
    decision === 'leave'
      ? { entry_id: null, next_check_id: null }
      : await apply(tx, needs, before, { kind: decision, reason, made_by: by, made_at: at })
  const decided = { decision, reason, decided_by: by, decided_at: at, ...effect }
  await tx`
    update aml_review set state = 'decided', decision = ${decision}, reason = ${reason},
      decided_by = ${by}, decided_at = ${at}, entry_id = ${effect.entry_id},
      next_check_id = ${effect.next_check_id}
    where check_id = ${check_id} and state = 'open'`
  return { before, after: { ...before, state: 'decided', ...decided } }
}

/** Makes the entry of a decision, and asks again what was asked. */
async function apply(
  tx: Tx,
  needs: { clock: Clock; new_id: NewId },
  { check_id, customer_id, address }: Review,
  decided: { kind: 'allow' | 'deny'; reason: string; made_by: string; made_at: Date },
): Promise<{ entry_id: string; next_check_id: string }> {
  const expires_at = decided.kind === 'allow' ? allowedUntil(decided.made_at) : null
  const entry = { customer_id, address, expires_at, ...decided }
  const { id: entry_id } = await makeEntry(tx, needs.new_id, entry)
  const [check] = await tx<Check>`select ${CHECK_COLUMNS} from aml_check where id = ${check_id}`
  if (decided.kind === 'allow') await noteSeen(tx, entry_id, check!)
  const { id: next_check_id } = await placeAgain(tx, needs, check!, {
    customer_id,
    supersedes: check_id,
  })
  return { entry_id, next_check_id }
}

/** Allowed is as much as was severe of the answer that was decided about: the next one may have
 *  more of it, unseen. */
async function noteSeen(
  tx: Tx,
  entry_id: string,
  { id, policy, risk_factors: factors }: Check,
): Promise<void> {
  const evidence = await readEvidence(tx, id)
  if (!evidence || policy === null) return
  const answer = { outcome: { factors }, evidence: evidence.canonical, policy }
  await noteAllowed(tx, entry_id, await severeOf(tx, answer))
}

/** What waits, or is decided, with the answer that it is about. */
export type ReviewRow = Review &
  Pick<Check, 'type' | 'network' | 'hash' | 'risk_score' | 'risk_level' | 'blacklist'>

/** Newest checks first; those listed after `before`. */
export function listReviews(
  sql: Sql,
  wanted: { state?: ReviewState | undefined; before?: string | undefined; limit: number },
): Promise<ReviewRow[]> {
  const { state = null, before = null, limit } = wanted
  return sql<ReviewRow>`
    select r.${REVIEW_COLUMNS}, c.type, c.network, c.hash, c.risk_score, c.risk_level, c.blacklist
    from aml_review as r join aml_check as c on c.id = r.check_id
    where (${state}::text is null or r.state = ${state})
      and (${before}::text is null or r.check_id < ${before})
    order by r.check_id desc limit ${limit}`
}

/** One review, what its answer rests on (null when that is not kept any more), and what was decided
 *  about the address before. Throws Refused when there is none. */
export async function showReview(sql: Sql, check_id: string) {
  const [row] = await sql<ReviewRow & Pick<Check, 'risk_factors'>>`
    select r.${REVIEW_COLUMNS}, c.type, c.network, c.hash, c.risk_score, c.risk_level, c.blacklist,
      c.risk_factors
    from aml_review as r join aml_check as c on c.id = r.check_id where r.check_id = ${check_id}`
  if (!row) throw noReview(check_id)
  const evidence = await readEvidence(sql, check_id)
  const earlier = await sql<Review>`
    select ${REVIEW_COLUMNS} from aml_review
    where customer_id = ${row.customer_id} and address = ${row.address} and check_id < ${check_id}
    order by check_id desc limit 20`
  return {
    ...row,
    evidence: evidence ? (JSON.parse(evidence.canonical) as unknown) : null,
    earlier,
  }
}
