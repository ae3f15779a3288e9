// The forms in which webhooks, notices and calls go over the wire.

import { type Static, Type } from 'typebox'
import { timeOrNull, wireTime } from '../../lib/clock.ts'
import { InvalidParams, invalid, NotFound, refuses } from '../../platform/wire/endpoint.ts'
import { word } from '../../platform/wire/schemas.ts'
import { type EventKind, eventKind } from '../log/kinds.ts'
import type { CallRow, NoticeReport } from './notices.ts'
import { URL_LENGTH_MAX } from './targets.ts'
import type { Webhook, WebhookReport } from './webhooks.ts'

const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) =>
  Type.Union([schema, Type.Null()])

export const Id = Type.String({ minLength: 1, maxLength: 40, ...invalid('id') })
export const ID_REFUSED = refuses(InvalidParams, '`id` is no text', 'id')
export const NO_WEBHOOK = refuses(NotFound, 'You have no such webhook', 'webhook')

/** Of those that a customer sees: what was removed is in no list. */
export const WEBHOOK_STATES = ['on', 'off', 'disabled'] as const

export const WebhookForm = Type.Object({
  id: Type.String(),
  url: Type.String(),
  description: nullable(Type.String()),
  types: nullable(Type.Array(Type.String())),
  state: word([...WEBHOOK_STATES], { description: '`disabled` with the reason' }),
  reason: nullable(Type.String()),
  at_once: Type.Integer({ description: 'Calls under way at the same time, at most' }),
  per_second: nullable(Type.Integer()),
  cursor: Type.Integer({ description: 'The number of the last event that was looked at' }),
  waiting: Type.Integer({ description: 'Events after that' }),
  due: Type.Integer({ description: 'Notices that are still to be delivered' }),
  dead: Type.Integer({ description: 'Notices that were given up' }),
  failing_since: nullable(Type.String()),
  created_at: Type.String(),
  secrets: Type.Array(Type.Object({ made_at: Type.String(), until: nullable(Type.String()) })),
})

/** What is told of a webhook itself. */
const ToldWebhook = Type.Pick(WebhookForm, [
  'id',
  'url',
  'description',
  'types',
  'state',
  'reason',
  'failing_since',
  'created_at',
])

const SAMPLE: Static<typeof ToldWebhook> = {
  id: '01m7xps0ca8ksnnfg71x89vdp6',
  url: 'https://shop.example/penstock',
  description: null,
  types: ['order.succeeded', 'order.failed'],
  state: 'on',
  reason: null,
  failing_since: null,
  created_at: '2026-11-21T00:05:57Z',
}

const webhookKind = (
  what: string,
  when: string,
  sample: Partial<Static<typeof ToldWebhook>> = {},
) =>
  eventKind(`webhook.${what}`, {
    data: ToldWebhook,
    when,
    scope: 'webhooks',
    sample: { ...SAMPLE, ...sample },
  })

export const webhookKinds: readonly EventKind[] = [
  webhookKind('enabled', 'it is put on again after it was disabled'),
  webhookKind(
    'disabled',
    'it was refused for five days, or answered 410: it is not called any more',
    {
      state: 'disabled',
      reason: 'it answered 410',
      failing_since: '2026-11-20T23:00:00Z',
    },
  ),
  webhookKind('test', 'never: it is there to be tried'),
]

export const CallForm = Type.Object({
  at: Type.String(),
  ms: Type.Integer(),
  status: nullable(Type.Integer()),
  error: nullable(
    word(['resolve', 'address', 'connect', 'tls', 'timeout', 'reset', 'too_long'], {
      description: 'There was no answer',
    }),
  ),
  body: nullable(Type.String({ description: 'The beginning of the answer' })),
})

export const NoticeForm = Type.Object({
  webhook_id: Type.String(),
  number: Type.Integer({ description: 'Of the event' }),
  event_id: Type.String(),
  type: Type.String(),
  subject: Type.String(),
  state: word(['due', 'delivered', 'dead', 'passed']),
  calls: Type.Integer({ description: 'Since it was last made due' }),
  due_at: nullable(Type.String()),
  last: nullable(CallForm),
})

/** What can be said of a webhook, made or changed. */
export const WebhookFields = {
  description: Type.Optional(Type.String({ maxLength: 200, ...invalid('description') })),
  types: Type.Optional(
    Type.Array(Type.String({ maxLength: 64, ...invalid('types') }), {
      maxItems: 64,
      description: 'Every type that the key may read when it is empty or left out',
      ...invalid('types'),
    }),
  ),
  at_once: Type.Optional(Type.Integer({ minimum: 1, maximum: 16, ...invalid('at_once') })),
  per_second: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000,
      description: 'Calls a second at most; 0: as fast as it answers',
      ...invalid('per_second'),
    }),
  ),
}

export const UrlField = Type.String({
  minLength: 1,
  maxLength: URL_LENGTH_MAX,
  description: 'https, of a public host',
  ...invalid('url'),
})

/** The fields as they are kept: an empty list of types means all of them, 0 calls a second no
 *  limit. */
export function readFields<
  Fields extends { types?: readonly string[] | undefined; per_second?: number | undefined },
>({ types, per_second, ...rest }: Fields) {
  return {
    ...rest,
    ...(types && { types: types.length > 0 ? types : null }),
    ...(per_second !== undefined && { per_second: per_second > 0 ? per_second : null }),
  }
}

export function printWebhook(webhook: WebhookReport): Static<typeof WebhookForm> {
  const { id, url, description, types, state, reason, at_once, per_second } = webhook
  return {
    id,
    url,
    description,
    types,
    state,
    reason,
    at_once,
    per_second,
    cursor: Number(webhook.position),
    waiting: Number(webhook.waiting),
    due: Number(webhook.due),
    dead: Number(webhook.dead),
    failing_since: timeOrNull(webhook.failing_since),
    created_at: wireTime(webhook.made_at),
    secrets: webhook.secrets.map(({ made_at, until }) => ({
      made_at: wireTime(made_at),
      until: timeOrNull(until),
    })),
  }
}

/** What the record of a customer says of a webhook. A query may have a secret in it: of it the
 *  record says only that there is one. */
export function recordedWebhook(webhook: Webhook) {
  const { url, description, types, state, at_once, per_second } = webhook
  const shown = url.replace(/\?.+$/, '?…')
  return { url: shown, description, types, state, at_once, per_second }
}

export function printCall({ at, ms, status, error, body }: CallRow): Static<typeof CallForm> {
  return { at: at.toISOString(), ms, status, error, body }
}

export function printNotice(notice: NoticeReport): Static<typeof NoticeForm> {
  const { webhook_id, event_id, type, subject, state, calls, last } = notice
  return {
    webhook_id,
    number: Number(notice.number),
    event_id,
    type,
    subject,
    state,
    calls,
    due_at: state === 'due' ? wireTime(notice.due_at) : null,
    last: last && printCall(last),
  }
}
