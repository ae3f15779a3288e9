// Customers' accounts, put right by hand, and the second operator that this may want.

import { type Static, Type } from 'typebox'
import { misuse } from '../../lib/fault.ts'
import { requireCustomer } from '../../people/customers/customers.ts'
import {
  flag,
  Moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  Sun,
  sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import {
  approveCorrection,
  correctOrPropose,
  isLooser,
  listProposals,
  readApprovalRule,
  SECONDS,
  setApprovalRule,
} from '../../treasury/corrections/approvals.ts'
import { Correction, listCorrections } from '../../treasury/corrections/corrections.ts'
import {
  allowOperation,
  listOperationProposals,
  type OperationProposal as Proposed,
} from '../../treasury/corrections/second_operators.ts'
import { change, LIMIT, limit, look, reasonOf } from '../table/operation.ts'

/** From here on a correction has to be confirmed: three zeros too many are soon typed. */
const UNCONFIRMED_MAX_SUN = 1_000_000_000

/** `made_at` is null while it waits for a second operator, until `ends_at`. */
const RequestedCorrection = Type.Object({
  ...Correction.fields,
  made_at: OrNull(Moment),
  ends_at: OrNull(Moment),
})
const Rule = Type.Object({ second: Type.Enum([...SECONDS]), from_sun: Sun })
const OperationProposal = Type.Object({
  id: Text,
  action: Text,
  body: Text,
  reason: OrNull(Text),
  proposed_at: Moment,
  proposed_by: Text,
  ends_at: Moment,
  approved_at: OrNull(Moment),
  approved_by: OrNull(Text),
  used_at: OrNull(Moment),
})

function proposalShown(proposal: Proposed): Static<typeof OperationProposal> {
  const { proposed_role: _, body, ...shown } = proposal
  return { ...shown, body: JSON.stringify(body) }
}

/** One correction, by the sign of what it does to the account. */
const correcting = (word: 'credit' | 'debit', summary: string) =>
  change({
    path: `/operator/customers/${word}`,
    careful: true,
    summary,
    description:
      'An entry against the account `corrections`; the statement has it with its id. --reason ' +
      'must be given. Where approvals set wants a second operator, it is proposed and not made.',
    body: Type.Object({
      customer: text('CUSTOMER', 'its id'),
      amount_sun: sun('AMOUNT', 'TRX, with at most 6 decimals'),
      id: optional(text('ID', 'a name for it: the same again changes nothing')),
      ...(word === 'credit' && {
        invoice: optional(whole('NUMBER', 'the invoice that it is given back for: a credit note')),
      }),
      yes: flag('more than 1,000 TRX is meant'),
    }),
    reply: RequestedCorrection,
    cli: { operands: ['customer', 'amount_sun'] },
    async handle({ tx, new_id, body, by, at, reason }) {
      const { customer, amount_sun, id = new_id(), yes = false } = body
      const { invoice } = body as { invoice?: number }
      if (amount_sun === 0) throw misuse(`customers ${word}: AMOUNT is more than 0.`)
      if (amount_sun > UNCONFIRMED_MAX_SUN && !yes)
        throw misuse('More than 1,000 TRX: --yes says that it is meant.')
      const outcome = await correctOrPropose(tx, {
        id,
        customer_id: customer,
        amount_sun: BigInt(word === 'credit' ? amount_sun : -amount_sun),
        made_at: at,
        made_by: by,
        reason: reasonOf(reason),
        invoice_number: invoice === undefined ? null : BigInt(invoice),
      })
      const { value, note, kind } = shown(outcome)
      const { customer_id, amount_sun: after_sun } = value
      const after = { customer_id, amount_sun: after_sun }
      const actions = kind ? [{ subject: `${kind}:${id}`, before: null, after }] : []
      return { result: { value, note }, actions }
    },
  })

/** What was asked for, as it is answered; `kind`: what the record calls it, if anything is new. */
function shown(outcome: Awaited<ReturnType<typeof correctOrPropose>>): {
  value: Static<typeof RequestedCorrection>
  note: string
  kind: 'correction' | 'proposal' | undefined
} {
  if ('correction' in outcome) {
    const { correction, made } = outcome
    return {
      value: { ...correction, ends_at: null },
      note: made ? 'Done.' : 'It was made before.',
      kind: made ? 'correction' : undefined,
    }
  }
  const { id, customer_id, amount_sun, invoice_number, reason, proposed_by, ends_at } =
    outcome.proposal
  const wanted = { id, customer_id, amount_sun, invoice_number, reason }
  return {
    value: { ...wanted, made_at: null, made_by: proposed_by, ends_at },
    note:
      'Proposed. Another operator makes it within the hour: ' +
      `penstock-admin approvals give "${id}"`,
    kind: outcome.proposed ? 'proposal' : undefined,
  }
}

export const correctionOperations = [
  correcting('credit', "add to a customer's account by hand"),
  correcting('debit', "take from a customer's account by hand, never more than it can spend"),
  look({
    path: '/operator/customers/corrections',
    summary: "what was added to customers' accounts, or taken from them, by hand, newest first",
    body: Type.Object({ customer: optional(text('CUSTOMER', 'only of this customer')), limit }),
    reply: Type.Array(Type.Object(Correction.fields)),
    cli: { operands: ['customer'] },
    async handle({ sql, body: { customer, limit = LIMIT } }) {
      if (customer !== undefined) await requireCustomer(sql, customer)
      return { value: await listCorrections(sql, { customer_id: customer, limit }) }
    },
  }),
]

export const approvalOperations = [
  look({
    path: '/operator/approvals/show',
    summary: 'what wants a second operator',
    body: NOTHING,
    reply: Rule,
    handle: async ({ sql, clock }) => ({ value: await readApprovalRule(sql, clock.now()) }),
  }),
  change({
    path: '/operator/approvals/set',
    role: 'admin',
    careful: true,
    summary: 'what wants a second operator, from now on',
    description:
      'none: nothing. name: an operator of another name (--by) approves. role: one who has also ' +
      'logged into the database as another role. It is for corrections that together come to ' +
      '--from within a day, for deposits that are credited by hand, keys of customers, wider ' +
      'limits of these, people who may buy or may agree, prices and plans outside their bounds, ' +
      'for what screening lets go, and for a rule that asks for less. One who is alone can do ' +
      'none of it then: let the second one in first.',
    body: Type.Object({
      second: oneOf([...SECONDS], 'who must approve'),
      from_sun: optional(sun('AMOUNT', 'corrections of a day of so much, either way (0: each)')),
    }),
    reply: Rule,
    cli: { operands: ['second'] },
    async second({ sql, at, body: { second, from_sun = 0 } }) {
      return isLooser({ second, from_sun: BigInt(from_sun) }, await readApprovalRule(sql, at))
    },
    async handle({ tx, at, by, body: { second, from_sun = 0 } }) {
      const rule = { second, from_sun: BigInt(from_sun) }
      const { result, actions } = await setApprovalRule(tx, rule, { at, by })
      return { result: { value: result }, actions }
    },
  }),
  look({
    path: '/operator/approvals/list',
    summary: 'corrections that were proposed, newest first',
    body: Type.Object({ open: flag('only those that can still be approved'), limit }),
    reply: Type.Array(
      Type.Object({
        id: Text,
        customer_id: Text,
        amount_sun: Sun,
        reason: Text,
        proposed_at: Moment,
        proposed_by: Text,
        proposed_role: Text,
        ends_at: Moment,
        approved_at: OrNull(Moment),
        approved_by: OrNull(Text),
        approved_role: OrNull(Text),
        invoice_number: OrNull(Whole),
      }),
    ),
    async handle({ sql, clock, body: { open = false, limit = LIMIT } }) {
      return { value: await listProposals(sql, { open, now: clock.now(), limit }) }
    },
  }),
  change({
    path: '/operator/approvals/give',
    careful: true,
    summary: 'approve a correction that another operator has proposed, and make it',
    body: Type.Object({ id: text('ID', 'that it was proposed under') }),
    reply: Type.Object(Correction.fields),
    cli: { operands: ['id'] },
    async handle({ tx, at, by, body: { id } }) {
      const correction = await approveCorrection(tx, { id, at, by })
      const { customer_id, amount_sun, made_by: proposed_by } = correction
      const after = { customer_id, amount_sun, proposed_by }
      return {
        result: { value: correction, note: 'Done.' },
        actions: [{ subject: `correction:${id}`, before: null, after }],
      }
    },
  }),
  look({
    path: '/operator/approvals/operations',
    summary: 'what else was proposed that wants a second operator, newest first',
    body: Type.Object({ limit }),
    reply: Type.Array(OperationProposal),
    handle: async ({ sql, body: { limit = LIMIT } }) => ({
      value: (await listOperationProposals(sql, { limit })).map(proposalShown),
    }),
  }),
  change({
    path: '/operator/approvals/allow',
    careful: true,
    summary: 'let another operator do what he has proposed: he does it again, within the hour',
    body: Type.Object({ id: text('ID', 'that it was proposed under') }),
    reply: OperationProposal,
    cli: { operands: ['id'] },
    async handle({ tx, at, by, body: { id } }) {
      const proposal = await allowOperation(tx, { id, at, by })
      const { action, body, proposed_by } = proposal
      const after = { action, body, proposed_by }
      return {
        result: { value: proposalShown(proposal), note: `${proposed_by} can do it now, once.` },
        actions: [{ subject: `proposal:${id}`, before: null, after }],
      }
    },
  }),
]
