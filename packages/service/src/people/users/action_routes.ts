// The record of what a customer's users and keys have changed, on the wire.

import { type Static, Type } from 'typebox'
import {
  type CustomerActionRow,
  listCustomerActions,
} from '../../ledger/accounts/customer_actions.ts'
import { wireTime } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Endpoint, endpoint, InvalidParams, refuses } from '../../platform/wire/endpoint.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  page,
  readPlace,
  rowsFor,
} from '../../platform/wire/lists.ts'
import { timeField, timeOf } from '../../platform/wire/reading.ts'
import { Anything, OrNull } from '../../platform/wire/schemas.ts'

export type Needs = { sql: Sql }

const ActionForm = Type.Object({
  number: Type.Integer({ description: '1, 2, 3 and so on, without gaps' }),
  at: Type.String(),
  by: Type.Object({
    user_id: OrNull(Type.String({ description: 'Null: a key has signed' })),
    key_id: OrNull(Type.String({ description: 'Null: a user was signed in' })),
    name: Type.String({ description: 'What the user or the key is called now' }),
  }),
  action: Type.String({ description: 'The endpoint, without `/v1/`: `key/new`' }),
  subject: Type.String({ description: 'What was changed: `key:…`, `user:…`, `settings`' }),
  before: Anything,
  after: Anything,
  ip: OrNull(Type.String()),
})

type NamedAction = CustomerActionRow & { name: string }

function printAction(action: NamedAction): Static<typeof ActionForm> {
  const { number, made_at, made_by, name, subject, before, after, ip } = action
  const [kind, id = ''] = made_by.split(':')
  const by = { user_id: kind === 'user' ? id : null, key_id: kind === 'key' ? id : null, name }
  const what = { action: action.action, subject, before, after, ip }
  return { number: Number(number), at: wireTime(made_at), by, ...what }
}

/** With the names of those who have acted: a user has a key of the same id. */
async function withNames(sql: Sql, actions: readonly CustomerActionRow[]): Promise<NamedAction[]> {
  const idOf = ({ made_by }: CustomerActionRow) => made_by.replace(/^\w+:/, '')
  const ids = [...new Set(actions.map(idOf))]
  const keys = await sql<{ id: string; name: string }>`
    select id, name from api_key where id = any(${ids})`
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  return actions.map((one) => ({ ...one, name: names.get(idOf(one)) ?? '' }))
}

const filter = (field: string, description: string, maxLength = 40) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength,
      description,
      fault: () => InvalidParams(field, `Invalid ${field}`),
    }),
  )
const refused = (field: string, when = `\`${field}\` is no text, or too long`) =>
  refuses(InvalidParams, when, field)

const list = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/actions/list',
    auth: 'signature',
    scope: 'manage',
    summary: 'What your users and keys have changed, newest first',
    description:
      'Kept for ever, and altered by nobody. What keys buy, quote and screen is not in it: an ' +
      'order and a check name their key.',
    body: Type.Object({
      user_id: filter('user_id', 'What this user has changed'),
      key_id: filter('key_id', 'What this key has changed; not beside `user_id`'),
      action: filter('action', 'Such as `key/new`', 64),
      subject: filter('subject', 'Such as `key:…`, or `key` for all keys', 128),
      since: timeField('since', 'Changed from then on'),
      until: timeField('until', 'Changed before then'),
      ...listFields(),
    }),
    reply: listOf(ActionForm),
    faults: [
      refused('user_id'),
      refused('key_id', '`key_id` is no text, too long, or stands beside `user_id`'),
      refused('action'),
      refused('subject'),
      refused('since', '`since` is no time'),
      refused('until', '`until` is no time'),
      ...LIST_REFUSALS,
    ],
    examples: [{ summary: 'What was done with keys', body: { subject: 'key', limit: 2 } }],
    async handle({ body, customer: { customer_id } }) {
      const { user_id, key_id, action, subject, limit } = body
      if (user_id !== undefined && key_id !== undefined)
        throw InvalidParams('key_id', 'Either user_id or key_id').because(
          'both are given',
          'key_id',
        )
      const wanted = {
        customer_id,
        made_by: user_id ? `user:${user_id}` : key_id && `key:${key_id}`,
        action,
        subject,
        since: timeOf(body.since),
        until: timeOf(body.until),
        before: readPlace(body.before),
      }
      const rows = await listCustomerActions(sql, { ...wanted, limit: rowsFor(limit) })
      const placeOf = ({ number }: NamedAction) => String(number)
      return page(await withNames(sql, rows), limit, { print: printAction, placeOf })
    },
  })

export const actionRoutes = (needs: Needs): Endpoint[] => [list(needs)]
