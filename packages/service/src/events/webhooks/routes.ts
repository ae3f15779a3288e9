// Webhooks on the wire: made, changed, tried and looked into by those who want to be told.

import { Type } from 'typebox'
import {
  type CustomerAction,
  recordCustomerAction,
} from '../../ledger/accounts/customer_actions.ts'
import type { Random } from '../../lib/ids.ts'
import type { Tx } from '../../platform/database/sql.ts'
import {
  Conflict,
  type Customer,
  type Endpoint,
  endpoint,
  InvalidParams,
  LimitReached,
  NotFound,
  refuses,
  UNNAMED_SCOPES,
} from '../../platform/wire/endpoint.ts'
import { answered } from '../../platform/wire/examples.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  page,
  rowsFor,
  STATE_REFUSAL,
  stateField,
} from '../../platform/wire/lists.ts'
import { type EventKind, readableTypes } from '../log/kinds.ts'
import {
  ID_REFUSED,
  Id,
  NO_WEBHOOK,
  printWebhook,
  readFields,
  recordedWebhook,
  UrlField,
  WEBHOOK_STATES,
  WebhookFields,
  WebhookForm,
} from './forms.ts'
import { type Needs as NoticeNeeds, noticeRoutes } from './notice_routes.ts'
import { UrlRefused } from './targets.ts'
import {
  changeWebhook,
  createWebhook,
  listWebhooks,
  lockWebhook,
  removeWebhook,
  rotateSecret,
  WEBHOOKS_A_DAY,
  WEBHOOKS_MAX,
} from './webhooks.ts'

export type Needs = NoticeNeeds & { random: Random; own_host?: string | undefined }

const URL_REFUSALS = [
  refuses(InvalidParams, '`url` is no text of that length', 'url'),
  refuses(UrlRefused, 'It is no https, or has a user name or a fragment', 'scheme'),
  refuses(UrlRefused, 'The port is below 1024 and not that of the scheme', 'port'),
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

export const webhookRoutes = (needs: Needs): Endpoint[] => [
  webhookNew(needs),
  webhooksList(needs),
  webhookCheck(needs),
  webhookChange(needs),
  webhookRotate(needs),
  ...noticeRoutes(needs),
  webhookRemove(needs),
]

/** Throws 2 unless each of the types is one that this customer's key may read. */
function requireReadable(
  kinds: readonly EventKind[],
  types: readonly string[] | undefined,
  { scopes = UNNAMED_SCOPES }: Customer,
): void {
  const readable = readableTypes(kinds)(scopes)
  for (const type of types ?? []) {
    if (!readable.includes(type))
      throw InvalidParams('types', 'There is no such type that this key may read').at(
        `types[${(types ?? []).indexOf(type)}]`,
        'a type of /v1/events/list whose scope the key has',
      )
  }
}

/** Records what was done with a webhook. */
const record = (
  tx: Tx,
  { clock }: Needs,
  actor: Customer,
  { id, ...change }: { id: string } & Omit<CustomerAction, 'actor' | 'subject'>,
): Promise<void> =>
  recordCustomerAction(tx, clock.now(), { actor, subject: `webhook:${id}`, ...change })

async function report({ sql, clock }: Needs, customer_id: string, id: string) {
  const wanted = { customer_id, id, limit: 1, at: clock.now() }
  const [found] = await listWebhooks(sql, wanted)
  if (!found) throw NotFound('webhook', 'There is no such webhook').absent('id', 'webhook of yours')
  return printWebhook(found)
}

const webhooksList = ({ sql, clock }: Needs): Endpoint =>
  endpoint({
    path: '/v1/webhooks/list',
    auth: 'signature',
    scope: 'webhooks',
    summary: 'Your webhooks, newest first',
    body: Type.Object({
      state: stateField(WEBHOOK_STATES),
      ...listFields(),
    }),
    reply: listOf(WebhookForm),
    faults: [STATE_REFUSAL, ...LIST_REFUSALS],
    async handle({ body: { state, limit, before }, customer: { customer_id } }) {
      const wanted = { customer_id, state, before, at: clock.now() }
      const rows = await listWebhooks(sql, { ...wanted, limit: rowsFor(limit) })
      return page(rows, limit, { print: printWebhook, placeOf: ({ id }) => id })
    },
  })

const webhookCheck = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/webhook/check',
    auth: 'signature',
    scope: 'webhooks',
    summary: 'One of your webhooks',
    body: Type.Object({ id: Id }),
    reply: WebhookForm,
    faults: [ID_REFUSED, NO_WEBHOOK],
    examples: [{ summary: 'By its id', body: { id: answered('/v1/webhook/new', 'webhook.id') } }],
    handle: ({ body, customer }) => report(needs, customer.customer_id, body.id),
  })

const webhookNew = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    careful: true,
    path: '/v1/webhook/new',
    summary: 'A new webhook, which is told of what happens from now on',
    body: Type.Object({ url: UrlField, ...WebhookFields }),
    reply: WebhookWithSecret,
    faults: [
      ...URL_REFUSALS,
      ...FIELD_REFUSALS,
      refuses(
        LimitReached,
        `There are ${WEBHOOKS_MAX} webhooks, or ${WEBHOOKS_A_DAY} were made within a day`,
        'webhook',
      ),
    ],
    examples: [
      {
        summary: 'For what becomes of orders',
        body: { url: 'https://shop.example/penstock', types: ['order.succeeded', 'order.failed'] },
      },
    ],
    async handle({ body, customer }) {
      requireReadable(needs.kinds, body.types, customer)
      const { customer_id, key_id, scopes = UNNAMED_SCOPES } = customer
      const wanted = { ...readFields(body), customer_id, scopes, made_by_key: key_id }
      const made = await needs.sql.begin(async (tx) => {
        const created = await createWebhook(tx, needs, wanted, needs.own_host)
        const { id } = created.webhook
        const change = { before: null, after: recordedWebhook(created.webhook) }
        await record(tx, needs, customer, { action: 'webhook/new', id, ...change })
        return created
      })
      const webhook = await report(needs, customer_id, made.webhook.id)
      return { webhook, secret: made.secret }
    },
  })

const webhookChange = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    careful: true,
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
    examples: [
      {
        summary: 'Of everything, and slower',
        body: { id: answered('/v1/webhook/new', 'webhook.id'), types: [], per_second: 20 },
      },
    ],
    async handle({ body, customer }) {
      requireReadable(needs.kinds, body.types, customer)
      const { id, ...change } = body
      const { customer_id, key_id, scopes = UNNAMED_SCOPES } = customer
      const given = { ...readFields(change), scopes, by_key: key_id }
      const which = { customer_id, id }
      const changing = { ...needs, readable: readableTypes(needs.kinds) }
      await needs.sql.begin(async (tx) => {
        const before = await lockWebhook(tx, which)
        const after = await changeWebhook(tx, changing, which, given, needs)
        const elsewhere = after.url !== before.url && { url_changed: true }
        await record(tx, needs, customer, {
          action: 'webhook/change',
          id,
          before: recordedWebhook(before),
          after: { ...recordedWebhook(after), ...elsewhere },
          ends: before.state === 'on' && after.state === 'off',
        })
      })
      needs.wake('notify')
      needs.wake('publish')
      return report(needs, customer_id, id)
    },
  })

const webhookRemove = (needs: Needs): Endpoint =>
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
    examples: [{ summary: 'By its id', body: { id: answered('/v1/webhook/new', 'webhook.id') } }],
    async handle({ body: { id }, customer }) {
      const which = { customer_id: customer.customer_id, id }
      await needs.sql.begin(async (tx) => {
        const before = recordedWebhook(await lockWebhook(tx, which))
        await removeWebhook(tx, which)
        await record(tx, needs, customer, { action: 'webhook/remove', id, before, after: null })
      })
      return { removed: true }
    },
  })

const webhookRotate = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'webhooks',
    mutating: true,
    second_signature: true,
    careful: true,
    path: '/v1/webhook/rotate',
    summary: 'A new secret; the one before stays valid for a while',
    body: Type.Object({
      id: Id,
      overlap_hours: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 168,
          description: '24 when left out; 0 ends those before at once',
          fault: () => InvalidParams('overlap_hours', 'Invalid overlap_hours'),
        }),
      ),
    }),
    reply: WebhookWithSecret,
    faults: [
      ID_REFUSED,
      refuses(InvalidParams, '`overlap_hours` is out of its range', 'overlap_hours'),
      NO_WEBHOOK,
      refuses(
        Conflict,
        'Two secrets are alive already, and not both are to end at once',
        'two_secrets',
      ),
    ],
    examples: [
      {
        summary: 'With two days to change over',
        body: { id: answered('/v1/webhook/new', 'webhook.id'), overlap_hours: 48 },
      },
    ],
    async handle({ body, customer }) {
      const { id, overlap_hours = 24 } = body
      const { customer_id } = customer
      const { secret } = await needs.sql.begin(async (tx) => {
        const rotated = await rotateSecret(tx, needs, { customer_id, id, overlap_hours })
        const change = { before: null, after: { overlap_hours } }
        await record(tx, needs, customer, { action: 'webhook/rotate', id, ...change })
        return rotated
      })
      return { webhook: await report(needs, customer_id, id), secret }
    },
  })
