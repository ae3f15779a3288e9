// What webhooks were told, on the wire: looked into, told once more, and tried with samples.

import { Type } from 'typebox'
import { eventBounds } from '../events/events.ts'
import type { EventKind } from '../events/kinds.ts'
import { EventForm, eventPrinter } from '../events/routes.ts'
import {
  type Customer,
  type Endpoint,
  endpoint,
  InvalidParams,
  NotFound,
  refuses,
  TooOld,
  UNNAMED_SCOPES,
} from '../wire/endpoint.ts'
import { answered } from '../wire/examples.ts'
import { LIST_REFUSALS, listFields, listOf, page, readPlace, rowsFor } from '../wire/lists.ts'
import {
  CallForm,
  ID_REFUSED,
  Id,
  NO_WEBHOOK,
  NoticeForm,
  printCall,
  printNotice,
  WebhookFields,
} from './forms.ts'
import { callsOfNotice, listNotices, replayNotices, retryNotice } from './notices.ts'
import { type Needs as TrialNeeds, triggerTest, tryWebhook } from './trial.ts'
import { findWebhook } from './webhooks.ts'

export type Needs = TrialNeeds & { kinds: readonly EventKind[]; wake(step: string): void }

const TypeField = Type.String({
  maxLength: 64,
  fault: () => InvalidParams('type', 'Invalid type'),
})
const TYPE_REFUSED = refuses(
  InvalidParams,
  '`type` is none of the types, or one that this key may not read',
  'type',
)

/** The kind of this type. Throws 2 when there is none that the customer's key may read. */
function kindOf(kinds: readonly EventKind[], type: string, { scopes = UNNAMED_SCOPES }: Customer) {
  const kind = kinds.find((one) => one.type === type)
  if (!kind || !scopes.includes(kind.scope)) throw InvalidParams('type', `There is no type ${type}`)
  return kind
}

const webhookTest = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    path: '/v1/webhook/test',
    summary: 'Calls a webhook once with a sample, and says what it answered',
    body: Type.Object({ id: Id, type: TypeField }),
    reply: Type.Object({ event: EventForm, call: CallForm }),
    faults: [ID_REFUSED, TYPE_REFUSED, NO_WEBHOOK],
    examples: [
      {
        summary: 'A delivered order',
        body: { id: answered('/v1/webhook/new', 'webhook.id'), type: 'order.succeeded' },
      },
    ],
    async handle({ body, customer }) {
      const kind = kindOf(needs.kinds, body.type, customer)
      const { customer_id } = customer
      const webhook = await findWebhook(needs.sql, { customer_id, id: body.id })
      const { event, call } = await tryWebhook(needs, webhook, kind)
      return { event: eventPrinter(needs.kinds)(event, customer), call: printCall(call) }
    },
  })

const eventTrigger = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    path: '/v1/event/trigger',
    summary: 'An event that did not happen, for those who stream with `tests`',
    body: Type.Object({ type: TypeField }),
    reply: EventForm,
    faults: [TYPE_REFUSED],
    examples: [{ summary: 'A delivered order', body: { type: 'order.succeeded' } }],
    async handle({ body, customer }) {
      const kind = kindOf(needs.kinds, body.type, customer)
      const { customer_id } = customer
      const event = await triggerTest(needs, { customer_id, kind })
      return eventPrinter(needs.kinds)(event, customer)
    },
  })

const webhookReplay = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    path: '/v1/webhook/replay',
    summary: 'Tells a webhook once more what it was told, or should have been',
    body: Type.Object({
      id: Id,
      after: Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'From the event after this number on',
        fault: () => InvalidParams('after', 'Invalid after'),
      }),
      types: WebhookFields.types,
      which: Type.Optional(
        Type.Enum(['dead', 'all'], {
          description: 'Only what was given up (when left out), or all',
          fault: () => InvalidParams('which', 'Invalid which'),
        }),
      ),
    }),
    reply: Type.Object({ notices: Type.Integer({ description: 'How many are due again' }) }),
    faults: [
      ID_REFUSED,
      refuses(InvalidParams, '`after` is no number', 'after'),
      refuses(InvalidParams, '`types` is no list of types', 'types'),
      refuses(InvalidParams, '`which` is neither dead nor all', 'which'),
      NO_WEBHOOK,
      refuses(TooOld, 'Events after that number are not kept any more'),
    ],
    examples: [
      {
        summary: 'What was given up',
        body: { id: answered('/v1/webhook/new', 'webhook.id'), after: 0 },
      },
    ],
    async handle({ body, customer: { customer_id } }) {
      const { id, types, which = 'dead' } = body
      const after = BigInt(body.after)
      const webhook = await findWebhook(needs.sql, { customer_id, id })
      const { oldest } = await eventBounds(needs.sql, customer_id)
      if (after + 1n < oldest) throw TooOld(undefined, `The oldest that is kept is ${oldest}`)
      const wanted = { webhook_id: webhook.id, customer_id, after, types, which }
      const now = needs.clock.now()
      const notices = await needs.sql.begin((tx) => replayNotices(tx, { ...wanted, now }))
      needs.wake('notify')
      return { notices }
    },
  })

const NumberField = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Of the event',
  fault: () => InvalidParams('number', 'Invalid number'),
})
const WebhookIdField = Type.String({
  minLength: 1,
  maxLength: 40,
  fault: () => InvalidParams('webhook_id', 'Invalid webhook_id'),
})
const NOTICE_REFUSALS = [
  refuses(InvalidParams, '`webhook_id` is no text', 'webhook_id'),
  refuses(InvalidParams, '`number` is no number', 'number'),
  NO_WEBHOOK,
  refuses(NotFound, 'That webhook has no notice of that event', 'notice'),
]

const NoNotice = () => NotFound('notice', 'There is no such notice')

const noticesList = ({ sql }: Pick<Needs, 'sql'>): Endpoint =>
  endpoint({
    path: '/v1/notices/list',
    auth: 'signature',
    scope: 'webhooks',
    summary: 'What your webhooks were told, or are to be told, newest event first',
    body: Type.Object({
      webhook_id: Type.Optional(WebhookIdField),
      state: Type.Optional(
        Type.Enum(['due', 'delivered', 'dead', 'passed'], {
          fault: () => InvalidParams('state', 'Invalid state'),
        }),
      ),
      ...listFields(),
    }),
    reply: listOf(NoticeForm),
    faults: [
      refuses(InvalidParams, '`webhook_id` is no text', 'webhook_id'),
      refuses(InvalidParams, '`state` is none of the states', 'state'),
      ...LIST_REFUSALS,
    ],
    examples: [{ summary: 'What was given up', body: { state: 'dead' } }],
    async handle({ body, customer: { customer_id } }) {
      const { webhook_id, state, limit } = body
      const before = readPlace(body.before)
      const wanted = { customer_id, webhook_id, state, before, limit: rowsFor(limit) }
      const rows = await listNotices(sql, wanted)
      const placeOf = ({ number }: { number: bigint }) => String(number)
      return page(rows, limit, { print: printNotice, placeOf })
    },
  })

const noticeCheck = ({ sql }: Pick<Needs, 'sql'>): Endpoint =>
  endpoint({
    path: '/v1/notice/check',
    auth: 'signature',
    scope: 'webhooks',
    summary: 'One notice with all of its calls, newest first',
    body: Type.Object({ webhook_id: WebhookIdField, number: NumberField }),
    reply: Type.Object({ notice: NoticeForm, calls: Type.Array(CallForm) }),
    faults: NOTICE_REFUSALS,
    examples: [
      {
        summary: 'The test from above',
        body: {
          webhook_id: answered('/v1/webhook/new', 'webhook.id'),
          number: answered('/v1/webhook/test', 'event.number'),
        },
      },
    ],
    async handle({ body, customer: { customer_id } }) {
      const { webhook_id } = body
      await findWebhook(sql, { customer_id, id: webhook_id })
      const number = BigInt(body.number)
      const [notice] = await listNotices(sql, { customer_id, webhook_id, number, limit: 1 })
      if (!notice) throw NoNotice()
      const calls = await callsOfNotice(sql, notice)
      return { notice: printNotice(notice), calls: calls.map(printCall) }
    },
  })

const noticeRetry = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/notice/retry',
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    summary: 'Tells a webhook once more of one event',
    body: Type.Object({ webhook_id: WebhookIdField, number: NumberField }),
    reply: NoticeForm,
    faults: NOTICE_REFUSALS,
    examples: [
      {
        summary: 'Once more',
        body: {
          webhook_id: answered('/v1/webhook/new', 'webhook.id'),
          number: answered('/v1/webhook/test', 'event.number'),
        },
      },
    ],
    async handle({ body, customer: { customer_id } }) {
      const { webhook_id } = body
      const number = BigInt(body.number)
      await findWebhook(needs.sql, { customer_id, id: webhook_id })
      const which = { webhook_id, customer_id, number, now: needs.clock.now() }
      if (!(await needs.sql.begin((tx) => retryNotice(tx, which)))) throw NoNotice()
      needs.wake('notify')
      const [notice] = await listNotices(needs.sql, { customer_id, webhook_id, number, limit: 1 })
      return printNotice(notice!)
    },
  })

export const noticeRoutes = (needs: Needs): Endpoint[] => [
  webhookTest(needs),
  eventTrigger(needs),
  webhookReplay(needs),
  noticesList(needs),
  noticeCheck(needs),
  noticeRetry(needs),
]
