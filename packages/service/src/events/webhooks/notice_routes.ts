// What webhooks were told, on the wire: looked into, told once more, and tried with samples.

import { Type } from 'typebox'
import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { readMoment } from '../../lib/clock.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import { type RateLimiter, rateLimiter } from '../../platform/limits/rate_limit.ts'
import { Turns } from '../../platform/limits/turns.ts'
import type { StepName } from '../../platform/steps/step.ts'
import {
  Conflict,
  type Customer,
  type Endpoint,
  endpoint,
  InvalidParams,
  LimitReached,
  NotFound,
  refuses,
  TooOld,
} from '../../platform/wire/endpoint.ts'
import { answered } from '../../platform/wire/examples.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  noPlace,
  page,
  rowsFor,
  STATE_REFUSAL,
  stateField,
} from '../../platform/wire/lists.ts'
import { eventBounds } from '../log/events.ts'
import { type EventKind, mayRead, readableTypes } from '../log/kinds.ts'
import { EventForm, eventPrinter } from '../log/routes.ts'
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
import {
  callsOfNotice,
  listNotices,
  type Notice,
  REPLAY_MAX,
  replayNotices,
  retryNotice,
} from './notices.ts'
import {
  TESTS,
  TESTS_AN_HOUR,
  type Needs as TrialNeeds,
  triggerTest,
  tryWebhook,
  WRITING,
} from './trial.ts'
import { findWebhook, lockWebhook, type Webhook } from './webhooks.ts'

type AllNeeds = TrialNeeds & { kinds: readonly EventKind[]; wake(step: StepName): void }
export type Needs = Omit<AllNeeds, 'writing'>

const TypeField = Type.String({
  maxLength: 64,
  fault: () => InvalidParams('type', 'Invalid type'),
})
const TYPE_REFUSED = refuses(
  InvalidParams,
  '`type` is none of the types, or one that this key may not read',
  'type',
)

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
const noType = () =>
  InvalidParams('type', 'There is no such type').at('type', 'a type whose scope the key has')

/** The kind of this type. Throws 2 when there is none that the customer's key may read. */
function kindOf(kinds: readonly EventKind[], type: string, { scopes }: Customer) {
  const kind = kinds.find((one) => one.type === type)
  if (!kind || !mayRead(scopes, kind.scope)) throw noType()
  return kind
}

/** A receiver that never answers keeps each for seconds, and a turn of the server with it. */
const TRIALS_AT_ONCE = 4
const TRIAL_LIMITS = { running_max: 64, lane_waiting_max: 0, waiting_max: 0 }
const TOO_MANY_TESTS = refuses(LimitReached, `${TESTS_AN_HOUR} tests within an hour`, 'test')

/** Throws TooManyRequests. */
function countTest(tests: RateLimiter, customer_id: string): void {
  const { allowed, retry_after_seconds } = tests.take(customer_id)
  if (!allowed) throw new TooManyRequests(retry_after_seconds)
}

/** Throws TooManyRequests while a customer, or all of them, have as many under way as may be. */
async function inTrialTurn<T>(turns: Turns, customer_id: string, work: () => Promise<T>) {
  if (turns.begin(customer_id, TRIALS_AT_ONCE) !== undefined) throw new TooManyRequests(1)
  try {
    return await work()
  } finally {
    turns.end(customer_id)
  }
}

const webhookTest = (
  needs: AllNeeds,
  tests: RateLimiter,
  turns = new Turns(TRIAL_LIMITS),
): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    path: '/v1/webhook/test',
    summary: 'Calls a webhook once with a sample, and says what it answered',
    description: 'When it answers 2xx, what waits for its next try is sent at once.',
    body: Type.Object({ id: Id, type: TypeField }),
    reply: Type.Object({ event: EventForm, call: CallForm }),
    faults: [ID_REFUSED, TYPE_REFUSED, NO_WEBHOOK, TOO_MANY_TESTS],
    examples: [
      {
        summary: 'A delivered order',
        body: { id: answered('/v1/webhook/new', 'webhook.id'), type: 'order.succeeded' },
      },
    ],
    async handle({ body, customer }) {
      const kind = kindOf(needs.kinds, body.type, customer)
      const { customer_id } = customer
      countTest(tests, customer_id)
      const webhook = await findWebhook(needs.sql, { customer_id, id: body.id })
      const { event, call } = await inTrialTurn(turns, customer_id, () =>
        tryWebhook(needs, customer, { webhook, kind }),
      )
      needs.wake('notify')
      return { event: eventPrinter(needs.kinds)(event, customer), call: printCall(call) }
    },
  })

const eventTrigger = (needs: AllNeeds, tests: RateLimiter): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    path: '/v1/event/trigger',
    summary: 'An event that did not happen, for those who stream with `tests`',
    description: 'A webhook that is named is told of it too, and until it has answered 2xx.',
    body: Type.Object({ type: TypeField, webhook_id: Type.Optional(WebhookIdField) }),
    reply: EventForm,
    faults: [
      TYPE_REFUSED,
      refuses(InvalidParams, '`webhook_id` is no text', 'webhook_id'),
      NO_WEBHOOK,
      TOO_MANY_TESTS,
    ],
    examples: [{ summary: 'A delivered order', body: { type: 'order.succeeded' } }],
    async handle({ body, customer }) {
      const { type, ...named } = body
      const kind = kindOf(needs.kinds, type, customer)
      countTest(tests, customer.customer_id)
      const event = await triggerTest(needs, customer, { kind, ...named })
      needs.wake('notify')
      return eventPrinter(needs.kinds)(event, customer)
    },
  })

const Moment = (field: string, description: string) =>
  Type.Optional(
    Type.String({
      format: 'moment',
      description,
      fault: () => InvalidParams(field, `Invalid ${field}`),
    }),
  )

const momentOf = (given: string | undefined) =>
  given === undefined ? undefined : readMoment(given)

const NOT_ON = refuses(Conflict, 'The webhook is off or disabled: put it on first', 'not_on')

/** Throws Conflict unless the webhook is called at all. */
function requireOn({ state }: Webhook): void {
  if (state !== 'on') throw Conflict('not_on', `The webhook is ${state}`)
}

const ReplayBody = Type.Object({
  id: Id,
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'From the event after this number on',
      fault: () => InvalidParams('after', 'Invalid after'),
    }),
  ),
  since: Moment('since', 'What happened at this time or later; either this or `after`'),
  until: Moment('until', 'What happened until then; until now when left out'),
  types: WebhookFields.types,
  which: Type.Optional(
    Type.Enum(['dead', 'all'], {
      description: 'Only what was not delivered (when left out), or all',
      fault: () => InvalidParams('which', 'Invalid which'),
    }),
  ),
})

const webhookReplay = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    path: '/v1/webhook/replay',
    summary: 'Tells a webhook once more what it was told, or should have been',
    description:
      'The calls carry the same ids as before. What waits for its next try is sent at once. How ' +
      'many are left is the `due` of the webhook.',
    body: ReplayBody,
    reply: Type.Object({
      notices: Type.Integer({
        description: `How many are due again: ${REPLAY_MAX} at most, the oldest`,
      }),
    }),
    faults: [
      ID_REFUSED,
      refuses(InvalidParams, '`after` is no number, or stands beside `since`, or neither', 'after'),
      refuses(InvalidParams, '`since` is no time', 'since'),
      refuses(InvalidParams, '`until` is no time', 'until'),
      refuses(InvalidParams, '`types` is no list of types', 'types'),
      refuses(InvalidParams, '`which` is neither dead nor all', 'which'),
      NO_WEBHOOK,
      NOT_ON,
      refuses(TooOld, 'Events after that number are no longer available'),
    ],
    examples: [
      {
        summary: 'What was given up',
        body: { id: answered('/v1/webhook/new', 'webhook.id'), after: 0 },
      },
    ],
    async handle({ body, customer }) {
      const { customer_id } = customer
      const { id, after, types, which = 'dead' } = body
      const since = momentOf(body.since)
      const until = momentOf(body.until)
      if ((after === undefined) === (since === undefined))
        throw InvalidParams('after', 'Either after or since').because(
          after === undefined ? 'both are missing' : 'both are given',
          'after',
        )
      const now = needs.clock.now()
      const from = BigInt(after ?? 0)
      const notices = await needs.sql.begin(async (tx) => {
        const webhook = await lockWebhook(tx, { customer_id, id })
        requireOn(webhook)
        const { oldest } = await eventBounds(tx, customer_id)
        if (after !== undefined && from + 1n < oldest)
          throw TooOld(undefined, `The oldest that is kept is ${oldest}`)
        const replay = { after: from, since, until, types, which }
        const made = { now, readable: readableTypes(needs.kinds) }
        const replayed = await replayNotices(tx, webhook, replay, made)
        await recordCustomerAction(tx, now, {
          actor: customer,
          action: 'webhook/replay',
          subject: `webhook:${id}`,
          before: null,
          after: { after, since: body.since, until: body.until, types, which, notices: replayed },
        })
        return replayed
      })
      needs.wake('notify')
      return { notices }
    },
  })

const NOTICE_REFUSALS = [
  refuses(InvalidParams, '`webhook_id` is no text', 'webhook_id'),
  refuses(InvalidParams, '`number` is no number', 'number'),
  NO_WEBHOOK,
  refuses(NotFound, 'That webhook has no notice of that event', 'notice'),
]

const NoNotice = () =>
  NotFound('notice', 'There is no such notice').absent('number', 'notice of that webhook')

/** Where a page of notices ends: one event has a notice for each webhook. */
const placeOf = ({ number, webhook_id }: Pick<Notice, 'number' | 'webhook_id'>): string =>
  `${number}.${webhook_id}`

/** Throws 2 for what no page has ended with. */
function readPlace(before: string): { number: bigint; webhook_id: string } {
  const [, number, webhook_id] = /^(\d{1,18})\.(\w{1,40})$/.exec(before) ?? []
  if (number === undefined || webhook_id === undefined) throw noPlace()
  return { number: BigInt(number), webhook_id }
}

const noticesList = ({ sql }: Pick<Needs, 'sql'>): Endpoint =>
  endpoint({
    path: '/v1/notices/list',
    auth: 'signature',
    scope: 'webhooks',
    summary: 'What your webhooks were told, or are to be told, newest event first',
    body: Type.Object({
      webhook_id: Type.Optional(WebhookIdField),
      state: stateField(['due', 'delivered', 'dead', 'passed']),
      event: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'The number of an event',
          fault: () => InvalidParams('event', 'Invalid event'),
        }),
      ),
      ...listFields(),
    }),
    reply: listOf(NoticeForm),
    faults: [
      refuses(InvalidParams, '`webhook_id` is no text', 'webhook_id'),
      STATE_REFUSAL,
      refuses(InvalidParams, '`event` is no number', 'event'),
      ...LIST_REFUSALS,
    ],
    examples: [{ summary: 'What was given up', body: { state: 'dead' } }],
    async handle({ body, customer: { customer_id } }) {
      const { webhook_id, state, event, limit } = body
      const before = body.before === undefined ? undefined : readPlace(body.before)
      const number = event === undefined ? undefined : BigInt(event)
      const wanted = { customer_id, webhook_id, state, number, before, limit: rowsFor(limit) }
      return page(await listNotices(sql, wanted), limit, { print: printNotice, placeOf })
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
      await findWebhook(sql, { customer_id, id: webhook_id }, 'webhook_id')
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
    faults: [...NOTICE_REFUSALS, NOT_ON],
    examples: [
      {
        summary: 'The test from above',
        body: {
          webhook_id: answered('/v1/webhook/new', 'webhook.id'),
          number: answered('/v1/webhook/test', 'event.number'),
        },
      },
    ],
    async handle({ body, customer }) {
      const { customer_id } = customer
      const { webhook_id } = body
      const number = BigInt(body.number)
      const now = needs.clock.now()
      const again = { number, now, readable: readableTypes(needs.kinds) }
      await needs.sql.begin(async (tx) => {
        const webhook = await lockWebhook(tx, { customer_id, id: webhook_id }, 'webhook_id')
        if (!(await retryNotice(tx, webhook, again))) throw NoNotice()
        requireOn(webhook)
        await recordCustomerAction(tx, now, {
          actor: customer,
          action: 'notice/retry',
          subject: `webhook:${webhook_id}`,
          before: null,
          after: { number: body.number },
        })
      })
      needs.wake('notify')
      const [notice] = await listNotices(needs.sql, { customer_id, webhook_id, number, limit: 1 })
      return printNotice(notice!)
    },
  })

export function noticeRoutes(needs: Needs): Endpoint[] {
  const tests = rateLimiter(TESTS, needs.clock)
  const trial = { ...needs, writing: new Turns(WRITING) }
  return [
    webhookTest(trial, tests),
    eventTrigger(trial, tests),
    webhookReplay(needs),
    noticesList(needs),
    noticeCheck(needs),
    noticeRetry(needs),
  ]
}
