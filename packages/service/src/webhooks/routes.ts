// Webhooks on the wire: made, changed, tried and looked into by those who want to be told.

import { Type } from 'typebox'
import { eventBounds } from '../events/events.ts'
import type { EventKind } from '../events/kinds.ts'
import { EventForm, eventPrinter, TooOld } from '../events/routes.ts'
import type { Random } from '../lib/ids.ts'
import {
  type Customer,
  type Endpoint,
  endpoint,
  InvalidParams,
  refuses,
  UNNAMED_SCOPES,
} from '../wire/endpoint.ts'
import { LIST_REFUSALS, listFields, listOf, page, readPlace, rowsFor } from '../wire/lists.ts'
import {
  CallForm,
  Id,
  NoticeForm,
  printCall,
  printNotice,
  printWebhook,
  UrlField,
  WebhookFields,
  WebhookForm,
} from './forms.ts'
import { callsOfNotice, listNotices, replayNotices, retryNotice } from './notices.ts'
import { UrlRefused } from './targets.ts'
import { type Needs as TrialNeeds, triggerTest, tryWebhook } from './trial.ts'
import {
  Conflict,
  changeWebhook,
  createWebhook,
  findWebhook,
  LimitReached,
  listWebhooks,
  NotFound,
  removeWebhook,
  rotateSecret,
  WEBHOOKS_MAX,
} from './webhooks.ts'

export type Needs = TrialNeeds & {
  random: Random
  kinds: readonly EventKind[]
  own_host?: string | undefined
  wake(step: string): void
}

const ID_REFUSED = refuses(InvalidParams, '`id` is no text', 'id')
const NO_WEBHOOK = refuses(NotFound, 'There is no such webhook of yours', 'webhook')
const URL_REFUSALS = [
  refuses(InvalidParams, '`url` is no text of that length', 'url'),
  refuses(UrlRefused, 'It is no https, or has a user name or a fragment', 'scheme'),
  refuses(UrlRefused, 'The port is below 1024 and not 443', 'port'),
  refuses(UrlRefused, 'The host is no public one', 'address'),
]
const FIELD_REFUSALS = [
  refuses(InvalidParams, '`description` is too long', 'description'),
  refuses(
    InvalidParams,
    '`types` names a type that there is not, or that this key may not read',
    'types',
  ),
  refuses(InvalidParams, '`at_once` is out of its range', 'at_once'),
  refuses(InvalidParams, '`per_second` is out of its range', 'per_second'),
]

const WebhookWithSecret = Type.Object({
  webhook: WebhookForm,
  secret: Type.String({ description: 'Shown this once' }),
})

export function webhookRoutes(needs: Needs): Endpoint[] {
  return [...readingRoutes(needs), ...changingRoutes(needs), ...noticeRoutes(needs)]
}

/** The types that a key of these scopes may read. */
export const readableTypes =
  (kinds: readonly EventKind[]) =>
  (scopes: readonly string[]): string[] =>
    kinds.filter(({ scope }) => scopes.includes(scope)).map(({ type }) => type)

/** Throws 2 unless each of the types is one that this customer's key may read. */
function requireReadable(
  kinds: readonly EventKind[],
  types: readonly string[] | undefined,
  { scopes = UNNAMED_SCOPES }: Customer,
): void {
  const readable = readableTypes(kinds)(scopes)
  for (const type of types ?? []) {
    if (!readable.includes(type))
      throw InvalidParams('types', `There is no type ${type} that this key may read`)
  }
}

async function report({ sql, clock }: Needs, customer_id: string, id: string) {
  const wanted = { customer_id, id, limit: 1, at: clock.now() }
  const [found] = await listWebhooks(sql, wanted)
  if (!found) throw NotFound('webhook', 'There is no such webhook')
  return printWebhook(found)
}

function readingRoutes(needs: Needs): Endpoint[] {
  const { sql, clock } = needs
  return [
    endpoint({
      path: '/v1/webhooks/list',
      auth: 'signature',
      scope: 'webhooks',
      summary: 'Your webhooks, newest first',
      body: Type.Object(listFields()),
      reply: listOf(WebhookForm),
      faults: [...LIST_REFUSALS],
      async handle({ body, customer }) {
        const { limit, before } = body
        const wanted = { customer_id: customer.customer_id, before, at: clock.now() }
        const rows = await listWebhooks(sql, { ...wanted, limit: rowsFor(limit) })
        return page(rows, limit, { print: printWebhook, placeOf: ({ id }) => id })
      },
    }),
    endpoint({
      path: '/v1/webhook/check',
      auth: 'signature',
      scope: 'webhooks',
      summary: 'One of your webhooks',
      body: Type.Object({ id: Id }),
      reply: WebhookForm,
      faults: [ID_REFUSED, NO_WEBHOOK],
      handle: ({ body, customer }) => report(needs, customer.customer_id, body.id),
    }),
  ]
}

function changingRoutes(needs: Needs): Endpoint[] {
  const { sql, kinds, own_host } = needs
  return [
    endpoint({
      auth: 'signature',
      scope: 'webhooks',
      mutating: true,
      second_signature: true,
      path: '/v1/webhook/new',
      summary: 'A new webhook, which is told of what happens from now on',
      body: Type.Object({ url: UrlField, ...WebhookFields }),
      reply: WebhookWithSecret,
      faults: [
        ...URL_REFUSALS,
        ...FIELD_REFUSALS,
        refuses(LimitReached, `There are ${WEBHOOKS_MAX} webhooks`, 'webhook'),
      ],
      async handle({ body, customer }) {
        requireReadable(kinds, body.types, customer)
        const { customer_id, scopes = UNNAMED_SCOPES } = customer
        const wanted = { ...body, customer_id, scopes }
        const made = await sql.begin((tx) => createWebhook(tx, needs, wanted, own_host))
        const webhook = await report(needs, customer_id, made.webhook.id)
        return { webhook, secret: made.secret }
      },
    }),
    endpoint({
      auth: 'signature',
      scope: 'webhooks',
      mutating: true,
      second_signature: true,
      path: '/v1/webhook/change',
      summary: 'Changes a webhook; what is left out stays as it is',
      body: Type.Object({
        id: Id,
        url: Type.Optional(UrlField),
        ...WebhookFields,
        state: Type.Optional(
          Type.Enum(['on', 'off'], { fault: () => InvalidParams('state', 'Invalid state') }),
        ),
        from_now: Type.Optional(
          Type.Boolean({
            description: 'Put on again, it goes on from now and not where it stopped',
            fault: () => InvalidParams('from_now', 'Invalid from_now'),
          }),
        ),
      }),
      reply: WebhookForm,
      faults: [
        ID_REFUSED,
        ...URL_REFUSALS,
        ...FIELD_REFUSALS,
        refuses(InvalidParams, '`state` is neither on nor off', 'state'),
        refuses(InvalidParams, '`from_now` is neither true nor false', 'from_now'),
        NO_WEBHOOK,
      ],
      async handle({ body, customer }) {
        requireReadable(kinds, body.types, customer)
        const { id, ...change } = body
        const { customer_id, scopes = UNNAMED_SCOPES } = customer
        const given = { ...change, ...(change.types && { scopes }) }
        await sql.begin((tx) => changeWebhook(tx, needs, { customer_id, id }, given, { own_host }))
        needs.wake('notify')
        return report(needs, customer_id, id)
      },
    }),
    endpoint({
      auth: 'signature',
      scope: 'webhooks',
      mutating: true,
      second_signature: true,
      path: '/v1/webhook/remove',
      summary: 'Removes a webhook; it is told of nothing more',
      body: Type.Object({ id: Id }),
      reply: Type.Object({ removed: Type.Boolean() }),
      faults: [ID_REFUSED, NO_WEBHOOK],
      async handle({ body, customer: { customer_id } }) {
        await sql.begin((tx) => removeWebhook(tx, { customer_id, id: body.id }))
        return { removed: true }
      },
    }),
    endpoint({
      auth: 'signature',
      scope: 'webhooks',
      mutating: true,
      second_signature: true,
      path: '/v1/webhook/rotate',
      summary: 'A new secret; the one before stays valid for a while',
      body: Type.Object({
        id: Id,
        overlap_hours: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 168,
            description: '24 when left out',
            fault: () => InvalidParams('overlap_hours', 'Invalid overlap_hours'),
          }),
        ),
      }),
      reply: WebhookWithSecret,
      faults: [
        ID_REFUSED,
        refuses(InvalidParams, '`overlap_hours` is out of its range', 'overlap_hours'),
        NO_WEBHOOK,
        refuses(Conflict, 'Two secrets are alive already', 'two_secrets'),
      ],
      async handle({ body, customer: { customer_id } }) {
        const { id, overlap_hours = 24 } = body
        const { secret } = await sql.begin((tx) =>
          rotateSecret(tx, needs, { customer_id, id, overlap_hours }),
        )
        return { webhook: await report(needs, customer_id, id), secret }
      },
    }),
    ...tryingRoutes(needs),
  ]
}

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

function tryingRoutes(needs: Needs): Endpoint[] {
  const { sql, kinds } = needs
  const print = eventPrinter(kinds)
  return [
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
      async handle({ body, customer }) {
        const kind = kindOf(kinds, body.type, customer)
        const { customer_id } = customer
        const webhook = await findWebhook(sql, { customer_id, id: body.id })
        const { event, call } = await tryWebhook(needs, webhook, kind)
        return { event: print(event, customer), call: printCall(call) }
      },
    }),
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
      async handle({ body, customer }) {
        const kind = kindOf(kinds, body.type, customer)
        const { customer_id } = customer
        return print(await triggerTest(needs, { customer_id, kind }), customer)
      },
    }),
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
      async handle({ body, customer: { customer_id } }) {
        const { id, types, which = 'dead' } = body
        const after = BigInt(body.after)
        const webhook = await findWebhook(sql, { customer_id, id })
        const { oldest } = await eventBounds(sql, customer_id)
        if (after + 1n < oldest) throw TooOld(undefined, `The oldest that is kept is ${oldest}`)
        const wanted = { webhook_id: webhook.id, customer_id, after, types, which }
        const now = needs.clock.now()
        const notices = await sql.begin((tx) => replayNotices(tx, { ...wanted, now }))
        needs.wake('notify')
        return { notices }
      },
    }),
  ]
}

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

function noticeRoutes(needs: Needs): Endpoint[] {
  const { sql, clock } = needs
  const noNotice = () => NotFound('notice', 'There is no such notice')
  return [
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
      async handle({ body, customer: { customer_id } }) {
        const { webhook_id, state, limit } = body
        const before = readPlace(body.before)
        const wanted = { customer_id, webhook_id, state, before, limit: rowsFor(limit) }
        const rows = await listNotices(sql, wanted)
        const placeOf = ({ number }: { number: bigint }) => String(number)
        return page(rows, limit, { print: printNotice, placeOf })
      },
    }),
    endpoint({
      path: '/v1/notice/check',
      auth: 'signature',
      scope: 'webhooks',
      summary: 'One notice with all of its calls, newest first',
      body: Type.Object({ webhook_id: WebhookIdField, number: NumberField }),
      reply: Type.Object({ notice: NoticeForm, calls: Type.Array(CallForm) }),
      faults: NOTICE_REFUSALS,
      async handle({ body, customer: { customer_id } }) {
        const { webhook_id } = body
        await findWebhook(sql, { customer_id, id: webhook_id })
        const number = BigInt(body.number)
        const [notice] = await listNotices(sql, { customer_id, webhook_id, number, limit: 1 })
        if (!notice) throw noNotice()
        const calls = await callsOfNotice(sql, notice)
        return { notice: printNotice(notice), calls: calls.map(printCall) }
      },
    }),
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
      async handle({ body, customer: { customer_id } }) {
        const { webhook_id } = body
        const number = BigInt(body.number)
        await findWebhook(sql, { customer_id, id: webhook_id })
        const which = { webhook_id, customer_id, number, now: clock.now() }
        if (!(await sql.begin((tx) => retryNotice(tx, which)))) throw noNotice()
        needs.wake('notify')
        const [notice] = await listNotices(sql, { customer_id, webhook_id, number, limit: 1 })
        return printNotice(notice!)
      },
    }),
  ]
}
