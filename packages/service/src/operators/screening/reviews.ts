// Reviews: the answers of screening that wait for a decision of the house, and the decision.

import { Type } from 'typebox'
import { misuse } from '../../lib/fault.ts'
import {
  Flag,
  ListOf,
  Moment,
  OrNull,
  oneOf,
  optional,
  Text,
  text,
} from '../../platform/wire/schemas.ts'
import { FactorForm } from '../../screening/checks/forms.ts'
import {
  DECISIONS,
  decideReview,
  listReviews,
  REVIEW_STATES,
  showReview,
} from '../../screening/checks/reviews.ts'
import { change, LIMIT, look, paging, reasonOf } from '../table/operation.ts'

/** A decision's reason is kept with the entry that is made of it. */
const REASON_LENGTH_MAX = 1_000

const check = text('CHECK', 'the id of the check whose answer waits')

const Review = {
  check_id: Text,
  customer_id: Text,
  address: Text,
  state: Text,
  opened_at: Moment,
  decision: OrNull(Text),
  reason: OrNull(Text),
  decided_by: OrNull(Text),
  decided_at: OrNull(Moment),
  entry_id: OrNull(Text),
  next_check_id: OrNull(Text),
}
const ReviewedAnswer = {
  ...Review,
  type: Text,
  network: Text,
  hash: OrNull(Text),
  risk_score: OrNull(Text),
  risk_level: OrNull(Text),
  blacklist: Flag,
}

/** What of the evidence every version has; the rest of it is not said here. */
const Evidence = Type.Unsafe<unknown>({
  ...Type.Object({
    blacklisted_by: optional(Type.Array(Text)),
    floors: optional(ListOf({ rule: Text, category: OrNull(Text), points: Text })),
  }),
  additionalProperties: true,
})

export const reviewOperations = [
  look({
    path: '/operator/aml/reviews/list',
    summary: 'the answers of screening that wait for a decision, or waited, newest check first',
    body: Type.Object({
      state: optional(oneOf(REVIEW_STATES, 'only those in this state')),
      ...paging,
    }),
    reply: ListOf(ReviewedAnswer),
    handle: async ({ sql, body: { state, before, limit = LIMIT } }) => ({
      value: await listReviews(sql, { state, before, limit }),
    }),
  }),
  look({
    path: '/operator/aml/reviews/show',
    summary: 'one of them: what the answer rests on, and what was decided about the address before',
    body: Type.Object({ check }),
    reply: Type.Object({
      ...ReviewedAnswer,
      risk_factors: Type.Unsafe<unknown>(Type.Array(FactorForm)),
      evidence: OrNull(Evidence),
      earlier: ListOf(Review),
    }),
    cli: { operands: ['check'] },
    handle: async ({ sql, body }) => ({ value: await showReview(sql, body.check) }),
  }),
  change({
    path: '/operator/aml/reviews/decide',
    summary: 'decide about an answer that waits; --reason stands in the evidence from then on',
    description:
      'The answer itself never changes. `allow` and `deny` make an entry about the address for ' +
      'this customer (`aml allow`, `aml deny`) and ask again at no price: the customer is told ' +
      'of the new answer. What an authority says stands whatever is allowed, and an allowed ' +
      'address waits again when more of it has become severe. `leave` changes nothing.',
    body: Type.Object({ check, decision: oneOf(DECISIONS, 'what is decided') }),
    reply: Type.Object(Review),
    cli: { operands: ['check', 'decision'] },
    second: ({ body }) => body.decision === 'allow',
    async handle({ tx, body: { check: check_id, decision }, by, at, reason: given, ...needs }) {
      const reason = reasonOf(given)
      if (reason.length > REASON_LENGTH_MAX)
        throw misuse(`--reason has more than ${REASON_LENGTH_MAX} characters.`)
      const deciding = { check_id, decision, reason, by, at }
      const { before, after } = await decideReview(tx, needs, deciding)
      return {
        result: { value: after },
        actions: [{ subject: `review:${check_id}`, before, after }],
      }
    },
  }),
]
