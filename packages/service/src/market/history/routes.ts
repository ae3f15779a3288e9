// A customer's purchases on the wire: lists of them, and what became of one, step by step.

import { type Static, Type } from 'typebox'
import { NoticeForm, printNotice } from '../../events/webhooks/forms.ts'
import { listNotices } from '../../events/webhooks/notices.ts'
import { figuresBefore, linesOfHold, withFigures } from '../../ledger/statements/entries.ts'
import { EntryForm, printEntry } from '../../ledger/statements/routes.ts'
import { type Clock, timeOrNull } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  invalid,
  refuses,
  unchecked,
} from '../../platform/wire/endpoint.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  readIdPlace,
  rowsFor,
} from '../../platform/wire/lists.ts'
import { InvalidAddress, readNames, timeField, timeOf } from '../../platform/wire/reading.ts'
import { RESOURCES, SERVICES, word } from '../../platform/wire/schemas.ts'
import {
  CheckedTransaction,
  noOrder,
  OrderNotFound,
  printDelegation,
  printOrder,
  Transaction,
} from '../orders/forms.ts'
import { ORDER_STATES } from '../orders/order_lookup.ts'
import { findOrder } from '../orders/orders.ts'
import { delegationsOf } from '../pool/delegations.ts'
import { aheadSeconds, factsOf, sentenceOf, stepsOf, type TimelineStep } from './timeline.ts'
import { type ListedOrder, listTransactions } from './transactions.ts'

export type Needs = { sql: Sql; clock: Clock }

const TimeOrNull = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description })

const ListedTransaction = Type.Object({
  ...Transaction.properties,
  delivered_at: TimeOrNull('When the last part of it was in a block, by the time of that block'),
  ended_at: TimeOrNull('When the last of it was taken back'),
  delivered_ms: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Milliseconds from its acceptance to its charge, by the clock of the service',
  }),
})

const printListed = (order: ListedOrder): Static<typeof ListedTransaction> => ({
  ...printOrder(order),
  delivered_at: timeOrNull(order.delivered_at),
  ended_at: timeOrNull(order.ended_at),
  delivered_ms: order.delivered_ms,
})

const ListBody = Type.Object({
  status: Type.Optional(Type.Enum([...ORDER_STATES], invalid('status'))),
  service: Type.Optional(Type.Enum([...SERVICES], invalid('service'))),
  address: Type.Optional(
    Type.String({ format: 'address', description: 'The receiver', fault: () => InvalidAddress() }),
  ),
  external_id_prefix: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, ...invalid('external_id_prefix') }),
  ),
  key_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Bought with this key, if it has a daily cap: only then that is noted',
      ...invalid('key_id'),
    }),
  ),
  since: timeField('since', 'Placed from then on'),
  until: timeField('until', 'Placed before then'),
  ...listFields(),
})

const list = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/transactions/list',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'Your purchases, newest first',
    description:
      'A page looks at 5,000 purchases at most: with a filter that few of them pass it may show ' +
      'fewer than `limit`, even none, and there are more as long as `next` is not null.',
    body: ListBody,
    reply: listOf(ListedTransaction),
    faults: [
      refuses(InvalidParams, '`status` is none of the states', 'status'),
      refuses(InvalidParams, '`service` is none of the services', 'service'),
      refuses(InvalidAddress, '`address` is no address of the network'),
      refuses(InvalidParams, '`external_id_prefix` is no text', 'external_id_prefix'),
      refuses(InvalidParams, '`key_id` is no text', 'key_id'),
      refuses(InvalidParams, '`since` is no time', 'since'),
      refuses(InvalidParams, '`until` is no time', 'until'),
      ...LIST_REFUSALS,
    ],
    examples: [
      { summary: 'The newest', body: { limit: 2 } },
      { summary: 'Those that failed', body: { status: 'failed' } },
    ],
    async handle({ body, customer: { customer_id } }) {
      const { since, until, before, limit, ...filters } = body
      const wanted = {
        ...filters,
        customer_id,
        since: timeOf(since),
        until: timeOf(until),
        before: readIdPlace(before),
        limit: rowsFor(limit) - 1,
      }
      const { orders, next } = await listTransactions(sql, wanted)
      return { items: orders.map(printListed), next }
    },
  })

const StepForm = Type.Object({
  what: Type.String({
    description:
      'accepted, held, activating, activated, planned, sent, included, charged, solid, reverted, ' +
      'dead, refunded, over, reclaiming or ended',
  }),
  at: TimeOrNull('With milliseconds; null while it has not happened'),
  expected: TimeOrNull('About when it will happen'),
  resource: Type.Optional(word(RESOURCES)),
  amount: Type.Optional(Type.Integer()),
  tx_id: Type.Optional(Type.String()),
  block_number: Type.Optional(Type.Integer()),
  detail: Type.Optional(Type.String()),
})

const printStep = ({ at, expected, ...step }: TimelineStep): Static<typeof StepForm> => ({
  ...step,
  at: at?.toISOString() ?? null,
  expected: expected?.toISOString() ?? null,
})

const NOTICES_MAX = 100

const timeline = ({ sql, clock }: Needs): Endpoint =>
  endpoint({
    path: '/v1/transaction/timeline',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'What became of a purchase, step by step, and what it waits for',
    body: Type.Object({
      id: Type.Optional(unchecked(Type.String())),
      external_id: Type.Optional(
        unchecked(Type.String({ description: 'Beside id, or instead of it; both must match' })),
      ),
    }),
    reply: Type.Object({
      transaction: CheckedTransaction,
      sentence: Type.String({ description: 'Where it is and why, in English' }),
      steps: Type.Array(StepForm, {
        description: 'What happened, in the order of cause, and then what is to come',
      }),
      chain_ahead_seconds: Type.Integer({
        description:
          'How far the chain is ahead of our clock, as a development chain may be: then times of ' +
          'steps on the chain are by another clock than the others. 0 when it is not',
      }),
      entries: Type.Array(EntryForm, { description: 'On your account; oldest first' }),
      notices: Type.Array(NoticeForm, {
        description: 'What your webhooks were told; newest first',
      }),
    }),
    faults: [
      refuses(InvalidParams, 'Neither `id` nor `external_id` is given, or `id` is not text', 'id'),
      refuses(InvalidParams, '`external_id` is not text', 'external_id'),
      refuses(OrderNotFound, 'The customer has no such transaction'),
    ],
    examples: [{ summary: "By the caller's own id", body: { external_id: 'order-42' } }],
    async handle({ body, customer: { customer_id } }) {
      const named = readNames(body.id, body.external_id)
      const order = await findOrder(sql, { ...named, customer_id })
      if (!order) throw noOrder(named)
      const subject = `order:${order.id}`
      const [facts, delegations, lines, notices] = await Promise.all([
        factsOf(sql, order),
        delegationsOf(sql, order.id),
        linesOfHold(sql, { customer_id, hold_id: subject }),
        listNotices(sql, { customer_id, subject, limit: NOTICES_MAX }),
      ])
      const entries = await Promise.all(
        lines
          .toReversed()
          .map(async (line) =>
            printEntry(
              withFigures([line], await figuresBefore(sql, { customer_id, place: line }))[0]!,
            ),
          ),
      )
      return {
        transaction: { ...printOrder(order), delegations: delegations.map(printDelegation) },
        sentence: sentenceOf(facts),
        steps: stepsOf(facts).map(printStep),
        chain_ahead_seconds: aheadSeconds(facts, clock.now()),
        entries,
        notices: notices.map(printNotice),
      }
    },
  })

export const routes = (needs: Needs): Endpoint[] => [list(needs), timeline(needs)]
