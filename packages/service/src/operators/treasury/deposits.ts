// What arrived: deposits, and how an operator ends those that are held. What is said to have sent a
// deposit back is looked up on the solid chain before anything is changed: in the blocks that the
// service has kept, or at a node that is named.

import type { Address } from 'penstock-tron/address.ts'
import { type Static, Type } from 'typebox'
import { keptBlockWith, type StoredBlock } from '../../chain/follow/blocks.ts'
import { contentsOf } from '../../chain/follow/contents.ts'
import { fieldsOf, integer } from '../../chain/node/answers.ts'
import type { ChainView } from '../../health/books/chain.ts'
import type { Change } from '../../ledger/accounts/actions.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import {
  address,
  Count,
  flag,
  ListOf,
  Moment,
  OrNull,
  oneOf,
  optional,
  Sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { heldSenders } from '../../screening/engine/barred.ts'
import { listDeposits, showDeposits } from '../../treasury/deposits/deposit_lookup.ts'
import { type Deposit, placeOf } from '../../treasury/deposits/deposits.ts'
import { DEPOSIT_STATES } from '../../treasury/deposits/forms.ts'
import { recountHolding } from '../../treasury/deposits/holdings.ts'
import {
  assetOf,
  openDeposit,
  type Resolution,
  resolveDeposit,
  sentIn,
  type Way,
} from '../../treasury/deposits/resolutions.ts'
import { Entries, period } from '../market/orders.ts'
import {
  type Answer,
  change,
  LIMIT,
  look,
  momentOf,
  type Needs,
  paging,
  reasonOf,
  undertaking,
} from '../table/operation.ts'

const Sent = { way: Text, sent_by: OrNull(Text), sent_to: OrNull(Text), sent_amount: OrNull(Whole) }
const ResolvedDeposit = Type.Object({
  tx_id: Text,
  position: Count,
  amount_sun: optional(OrNull(Sun)),
  token: optional(OrNull(Text)),
  token_amount: optional(OrNull(Whole)),
  state: Text,
  ...Sent,
  sent_block: OrNull(Whole),
  customer_id: OrNull(Text),
})

const transaction = (description: string) => text('TX_ID', description)

const Resolve = Type.Object({
  tx_id: transaction('the transaction that brought it'),
  position: optional(
    whole('N', 'which one, when the transaction brought several', {
      min: -Number.MAX_SAFE_INTEGER,
    }),
  ),
  sent_by: optional(transaction('it was sent back, by this transaction')),
  to: optional(address('to this address, and not to the sender')),
  keep_rest: flag('the transaction has sent less than came: write the rest off'),
  credit: optional(text('CUSTOMER', "add it to this customer's account")),
  written_off: flag("it stays with us, and is nobody's"),
  blocked_reviewed: flag('it was held as blocked, and you have looked into it'),
})

/** The solid block that has a transaction, as a node says; undefined when its solid chain has it
 *  not. */
async function blockAtNode(
  { node, ask }: ChainView,
  tx_id: string,
  asset: string,
): Promise<StoredBlock | undefined> {
  const path = '/walletsolidity/gettransactioninfobyid'
  const { blockNumber } = fieldsOf(await ask(path, { value: tx_id }), path)
  if (blockNumber === undefined) return undefined
  const number = Number(integer(blockNumber, path))
  const [block] = await node.blocks(number, number, 'solid')
  return block && contentsOf(new Set([asset]), block, await node.receipts(block, 'solid'))
}

type ResolveBody = Omit<Static<typeof Resolve>, 'to'> & { to?: Address }

/** Throws misuse unless it is one way, and nothing is said that does not belong to it. */
function requireOneWay({
  sent_by,
  credit,
  written_off = false,
  to,
  keep_rest = false,
}: ResolveBody): void {
  const ways = [sent_by !== undefined, credit !== undefined, written_off].filter(Boolean).length
  if (ways !== 1)
    throw misuse('deposits resolve takes one of --sent-by, --credit and --written-off.')
  if (sent_by === undefined && (to !== undefined || keep_rest)) {
    throw misuse('--to and --keep-rest belong to --sent-by.')
  }
}

/** Which way is meant. Throws Refused when a transaction is named and has not sent it. */
async function wayOf({ sql, ...needs }: Needs, given: ResolveBody, deposit: Deposit): Promise<Way> {
  const { sent_by, to = deposit.from_address, keep_rest = false, credit } = given
  if (credit !== undefined) return { way: 'credited', customer_id: credit }
  if (sent_by === undefined) return { way: 'written_off' }
  const chain = needs.chain()
  const asset = assetOf(deposit)
  const block = chain ? await blockAtNode(chain, sent_by, asset) : await keptBlockWith(sql, sent_by)
  if (!block) {
    const where = chain
      ? "on the node's solid chain"
      : 'in a solid block that is kept here; --node-url asks a node'
    throw refusal(`The transaction ${sent_by} is not ${where}.`)
  }
  return { way: 'sent_back', sent: sentIn(block, { tx_id: sent_by, to, asset }), keep_rest }
}

/** What was done, as the record has it and as it is answered. */
function changeOf(
  before: Deposit,
  resolution: Resolution,
): Change<Answer<Static<typeof ResolvedDeposit>>> {
  const { amount_sun, token, token_amount, from_address, to_address, state, reason } = before
  const { tx_id, position, way, sent_by, sent_to, sent_amount, sent_block, customer_id } =
    resolution
  const money = token === null ? { amount_sun } : { token, token_amount }
  const after = { state: 'resolved', way, sent_by, sent_to, sent_amount, sent_block, customer_id }
  return {
    result: { value: { tx_id, position, ...money, ...after }, note: 'Resolved.' },
    actions: [
      {
        subject: `deposit:${placeOf(before)}`,
        before: { state, reason, ...money, from_address, to_address },
        after,
      },
    ],
  }
}

const TO_DO =
  'To end one: penstock-admin deposits resolve TX_ID, with --sent-by TX_ID, --credit CUSTOMER or ' +
  '--written-off, and --reason.'

/** A transaction id as it is kept. Throws misuse. */
function transactionId(given: string): string {
  if (!/^[0-9a-fA-F]{64}$/.test(given)) throw misuse(`${given} is not the id of a transaction.`)
  return given.toLowerCase()
}

const DepositListed = {
  block_time: Moment,
  state: Text,
  amount_sun: OrNull(Sun),
  token: OrNull(Text),
  token_amount: OrNull(Whole),
  from_address: Text,
  to_address: Text,
  customer_id: OrNull(Text),
  reason: OrNull(Text),
  block_number: Whole,
  tx_id: Text,
  position: Count,
}
const DepositShown = {
  ...DepositListed,
  energy: OrNull(Whole),
  order_id: OrNull(Text),
  refund_id: OrNull(Text),
  left_out: Count,
  solid_at: OrNull(Moment),
  seen_at: Moment,
  due_at: optional(Moment),
}

const Reading = Type.Object({
  generation: Count,
  label_set: Count,
  policy: Count,
  risk_score: Text,
  risk_level: Text,
  severe_share: Text,
  severe_usd: Text,
  factors: ListOf({ category: Text, share: Text, usd: Text, direct_usd: Text }),
  floors: Type.Array(Text),
})
const WayStep = {
  tx_id: Text,
  from: Text,
  to: Text,
  block: Text,
  asset: Text,
  amount: Text,
  carried: OrNull(Text),
}

export const depositOperations = [
  look({
    path: '/operator/deposits/list',
    summary: 'TRX and tokens that arrived, newest first',
    body: Type.Object({
      customer: optional(text('CUSTOMER', 'only to this customer')),
      state: optional(oneOf(DEPOSIT_STATES, 'only in this state')),
      from: optional(address('only from this sender')),
      ...period,
      limit: paging.limit,
    }),
    reply: ListOf({ ...DepositListed, age_seconds: Count, risk_level: OrNull(Text) }),
    async handle({ body: { since, until, limit = LIMIT, ...wanted }, ...needs }) {
      const within = { since: momentOf(since), until: momentOf(until) }
      const value = await listDeposits(needs, { ...wanted, ...within, limit })
      return { value, note: value.some(({ state }) => state === 'held') ? TO_DO : undefined }
    },
  }),
  look({
    path: '/operator/deposits/show',
    summary: 'one deposit: what became of it, where its money came from, its entries',
    body: Type.Object({ tx_id: transaction('the id of the transaction on the chain') }),
    reply: Type.Object({
      ...DepositShown,
      further: ListOf(DepositShown),
      refund: OrNull(
        Type.Object({ id: Text, state: Text, tx_id: OrNull(Text), answer: OrNull(Text) }),
      ),
      resolutions: ListOf({
        tx_id: Text,
        position: Count,
        ...Sent,
        sent_block: OrNull(Whole),
        customer_id: OrNull(Text),
        made_at: Moment,
        made_by: Text,
        reason: Text,
      }),
      screenings: ListOf({
        tx_id: Text,
        position: Count,
        screened_at: OrNull(Moment),
        reading: OrNull(Reading),
        ways: OrNull(ListOf({ category: Text, steps: ListOf(WayStep) })),
      }),
      entries: Entries,
    }),
    cli: { operands: ['tx_id'] },
    handle: async ({ sql, body }) => ({ value: await showDeposits(sql, body.tx_id) }),
  }),
  undertaking({
    path: '/operator/deposits/resolve',
    careful: true,
    summary:
      'end a deposit that is held or ignored: sent back by hand, credited to a customer, or ' +
      'written off',
    description:
      'One of the three, and --reason. A transaction that sent it back is looked up on the ' +
      'solid chain: in the blocks that are kept here, or at the node that is named.',
    body: Resolve,
    reply: ResolvedDeposit,
    cli: { operands: ['tx_id'], node: 'solid' },
    second: ({ body }) => body.credit !== undefined,
    async handle({ body, record, reason: given_reason, by, ...needs }) {
      const { sent_by: sender, tx_id, ...rest } = body
      const sent_by = sender === undefined ? {} : { sent_by: transactionId(sender) }
      const given = { ...rest, tx_id: transactionId(tx_id), ...sent_by } as ResolveBody
      requireOneWay(given)
      const reason = reasonOf(given_reason)
      const { position, blocked_reviewed = false } = given
      const deposit = await openDeposit(needs.sql, { tx_id: given.tx_id, position })
      const way = await wayOf(needs, given, deposit)
      return record(async (tx, made_at) => {
        const made = { made_at, made_by: by, reason }
        const wanted = { deposit, way, blocked_reviewed, ...made }
        const { before, resolution } = await resolveDeposit(tx, heldSenders(needs), wanted)
        return changeOf(before, resolution)
      })
    },
  }),
  change({
    path: '/operator/deposits/recount',
    careful: true,
    summary: 'take what the chain shows at an address where deposits arrive as right, from now on',
    description:
      'For what nobody has seen come or go there, once you know what it was: it ends the alert, ' +
      'and the finding of C13. No account changes: customers credit and customers debit do ' +
      'that.',
    body: Type.Object({ address: address('the published address, or that of a customer') }),
    reply: Type.Object({ address: Text, prior_sun: OrNull(Sun), surplus_sun: Sun }),
    cli: { operands: ['address'] },
    async handle({ tx, reason, body }) {
      reasonOf(reason)
      const of = body.address as Address
      const before = await recountHolding(tx, of)
      const note = 'It is counted anew within a minute.'
      return {
        result: { value: { address: of, ...before }, note },
        actions: [{ subject: `holding:${of}`, before, after: { prior_sun: null } }],
      }
    },
  }),
]
