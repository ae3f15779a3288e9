// Keys on the wire: seen, made, changed, given new secrets and revoked by keys that may manage.

import { Type } from 'typebox'
import type { Sql, Tx } from '../database/sql.ts'
import { dayOf } from '../lib/clock.ts'
import {
  Conflict,
  type Customer,
  type Endpoint,
  endpoint,
  Forbidden,
  InvalidParams,
  NotFound,
  refuses,
} from '../wire/endpoint.ts'
import { answered } from '../wire/examples.ts'
import { LIST_REFUSALS, listFields, listOf, page, rowsFor } from '../wire/lists.ts'
import {
  ID_REFUSED,
  IdField,
  KeyForm,
  LIMIT_REFUSALS,
  LimitFields,
  NameField,
  printKey,
  readLimits,
  reportKeys,
} from './forms.ts'
import {
  alterKey,
  giveUpKey,
  grantKey,
  NEW_KEY_REFUSALS,
  ownOnly,
  rotateKey,
  WIDER,
} from './grants.ts'
import type { Needs as MakerNeeds } from './keys.ts'

export type Needs = MakerNeeds & {
  sql: Sql
  wake(step: string): void
  /** Ends the subscriptions that a key has started, whose account it locks; says which. */
  endSubscriptions(
    tx: Tx,
    of: { customer_id: string; key_id: string },
    end: { reason: string; now: Date },
  ): Promise<readonly unknown[]>
}

const NO_KEY = refuses(NotFound, 'There is no such key of yours', 'key')
const OTHER_KEY_REFUSALS = [
  NO_KEY,
  refuses(Conflict, 'The key is revoked', 'revoked'),
  refuses(Forbidden, 'It is the key that asks', 'self'),
  WIDER,
]

async function report({ sql, clock }: Needs, { customer_id }: Customer, id: string) {
  const now = clock.now()
  const wanted = { customer_id, ids: [id], limit: 1, day: dayOf(now) }
  const [key] = await reportKeys(sql, wanted)
  return printKey(key!, now)
}

const list = ({ sql, clock }: Needs): Endpoint =>
  endpoint({
    path: '/v1/keys/list',
    auth: 'signature',
    scope: 'manage',
    role_scope: 'keys',
    summary: 'Your API keys, newest first, revoked ones too',
    body: Type.Object(listFields()),
    reply: listOf(KeyForm),
    faults: [...LIST_REFUSALS],
    async handle({ body: { limit, before }, customer }) {
      const now = clock.now()
      const seen = { customer_id: customer.customer_id, made_by_key: ownOnly(customer) }
      const wanted = { ...seen, before, limit: rowsFor(limit), day: dayOf(now) }
      const keys = await reportKeys(sql, wanted)
      return page(keys, limit, { print: (key) => printKey(key, now), placeOf: ({ id }) => id })
    },
  })

const create = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'manage',
    role_scope: 'keys',
    mutating: true,
    second_signature: true,
    careful: true,
    path: '/v1/key/new',
    summary: 'A new API key, no wider than the one that asks',
    description:
      'What is left out is as the asking key has it. A key takes both signatures unless ' +
      '`require_v2` is true: existing clients know the first one alone, which protects neither ' +
      'path nor time, so that who sees a purchase without an `external_id` can repeat it; ' +
      '`require_external_id` refuses such purchases. ' +
      'What the keys spend that a key with a daily cap has made counts against its own cap.',
    body: Type.Object({ name: NameField, ...LimitFields }),
    reply: Type.Object({
      key: KeyForm,
      token: Type.String({ description: 'Names it; shown this once' }),
      secret: Type.String({ description: 'Signs; shown this once' }),
    }),
    faults: [...LIMIT_REFUSALS, ...NEW_KEY_REFUSALS],
    examples: [
      { summary: 'A key that only looks', body: { name: 'accounting', scopes: ['read'] } },
    ],
    async handle({ body: { name, ...limits }, customer }) {
      const given = { name, ...readLimits(limits, needs.clock.now()) }
      const made = await needs.sql.begin((tx) => grantKey(tx, needs, customer, given))
      needs.wake('publish')
      const { key_id, token, secret } = made
      return { key: await report(needs, customer, key_id), token, secret }
    },
  })

const change = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'manage',
    role_scope: 'keys',
    mutating: true,
    second_signature: true,
    careful: true,
    path: '/v1/key/change',
    summary: 'Puts other limits on a key; what is left out stays as it is',
    description: 'Every process follows within a second.',
    body: Type.Object({
      id: IdField,
      name: Type.Optional(NameField),
      ...LimitFields,
      scopes: Type.Optional(LimitFields.scopes),
    }),
    reply: KeyForm,
    faults: [ID_REFUSED, ...LIMIT_REFUSALS, ...OTHER_KEY_REFUSALS],
    examples: [
      {
        summary: 'From one network only',
        body: { id: answered('/v1/key/new', 'key.id'), networks: ['203.0.113.0/24'] },
      },
    ],
    async handle({ body: { id, name, ...limits }, customer }) {
      const at = needs.clock.now()
      const given = { id, name, at, ...readLimits(limits, at) }
      await needs.sql.begin((tx) => alterKey(tx, customer, given))
      return report(needs, customer, id)
    },
  })

const rotate = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'manage',
    role_scope: 'keys',
    mutating: true,
    second_signature: true,
    careful: true,
    path: '/v1/key/rotate',
    summary: 'A new secret for a key; the one before signs for a while',
    body: Type.Object({
      id: IdField,
      overlap_hours: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 168,
          description: '24 when left out; 0 ends those before at once',
          fault: () => InvalidParams('overlap_hours', 'Invalid overlap_hours'),
        }),
      ),
    }),
    reply: Type.Object({
      key: KeyForm,
      secret: Type.String({ description: 'Shown this once' }),
    }),
    faults: [
      ID_REFUSED,
      refuses(InvalidParams, '`overlap_hours` is out of its range', 'overlap_hours'),
      ...OTHER_KEY_REFUSALS,
      refuses(
        Conflict,
        'Two secrets are alive already, and not both are to end at once',
        'two_secrets',
      ),
    ],
    examples: [{ summary: 'For a day both sign', body: { id: answered('/v1/key/new', 'key.id') } }],
    async handle({ body: { id, overlap_hours = 24 }, customer }) {
      const which = { id, overlap_hours }
      const { secret } = await needs.sql.begin((tx) => rotateKey(tx, needs, customer, which))
      return { key: await report(needs, customer, id), secret }
    },
  })

const revoke = (needs: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'manage',
    role_scope: 'keys',
    mutating: true,
    second_signature: true,
    path: '/v1/key/revoke',
    summary: 'Ends a key for good, whichever of yours: the one that asks, too',
    description:
      'The subscriptions that it has started end with it, unless they are to be kept. Keys that ' +
      'it has made stay.',
    body: Type.Object({
      id: IdField,
      keep_subscriptions: Type.Optional(
        Type.Boolean({
          description: 'The subscriptions that it has started go on',
          fault: () => InvalidParams('keep_subscriptions', 'Invalid keep_subscriptions'),
        }),
      ),
    }),
    reply: Type.Object({ key: KeyForm, ended_subscriptions: Type.Integer() }),
    faults: [
      ID_REFUSED,
      refuses(InvalidParams, 'It is neither true nor false', 'keep_subscriptions'),
      NO_KEY,
    ],
    examples: [{ summary: 'By its id', body: { id: answered('/v1/key/new', 'key.id') } }],
    async handle({ body: { id, keep_subscriptions = false }, customer }) {
      const { sql, clock } = needs
      const now = clock.now()
      const of = { customer_id: customer.customer_id, key_id: id }
      const reason = 'the key that started it was revoked'
      // The account is locked before the key, as everywhere.
      const ended = await sql.begin(async (tx) => {
        const all = keep_subscriptions ? [] : await needs.endSubscriptions(tx, of, { reason, now })
        await giveUpKey(tx, customer, { id, at: now })
        return all.length
      })
      needs.wake('publish')
      return { key: await report(needs, customer, id), ended_subscriptions: ended }
    },
  })

export const keyRoutes = (needs: Needs): Endpoint[] => [
  list(needs),
  create(needs),
  change(needs),
  rotate(needs),
  revoke(needs),
]
