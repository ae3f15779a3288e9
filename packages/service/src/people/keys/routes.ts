// Keys on the wire: seen, made, changed, given new secrets and revoked by keys that may manage.

import { Type } from 'typebox'
import { recordCustomerActions } from '../../ledger/accounts/customer_actions.ts'
import { dayOf } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { StepName } from '../../platform/steps/step.ts'
import {
  Conflict,
  type Customer,
  type Endpoint,
  endpoint,
  Forbidden,
  InvalidParams,
  NotFound,
  refuses,
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
import {
  ID_REFUSED,
  IdField,
  KEY_STATES,
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
  requireSeen,
  rotateKey,
  WIDER,
} from './grants.ts'
import type { Needs as MakerNeeds } from './keys.ts'
import {
  type EndSubscriptions,
  type EvictionReport,
  findMade,
  KEY_REVOKED,
  MadeForm,
  type MakerEnd,
  printMade,
  WITH_MADE_REFUSED,
  WithMadeField,
} from './made.ts'

export type Needs = MakerNeeds & {
  sql: Sql
  wake(step: StepName): void
  endSubscriptions: EndSubscriptions
  /** Ends what a key has made: open invitations, and when it is asked for all else. */
  endMade(tx: Tx, asks: Customer, end: MakerEnd): Promise<EvictionReport>
}

const NO_KEY = refuses(NotFound, 'You have no such key', 'key')
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
    body: Type.Object({
      state: stateField(KEY_STATES),
      ...listFields(),
    }),
    reply: listOf(KeyForm),
    faults: [STATE_REFUSAL, ...LIST_REFUSALS],
    async handle({ body: { state, limit, before }, customer }) {
      const now = clock.now()
      const seen = { customer_id: customer.customer_id, made_by_key: ownOnly(customer) }
      const is = state && { state, at: now }
      const wanted = { ...seen, is, before, limit: rowsFor(limit), day: dayOf(now) }
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
      'The subscriptions that it has started end with it, unless they are to be kept. So do its ' +
      'open invitations. `made` lists what it has made, and what that has made in turn; with ' +
      '`with_made` that ends, too, but for users who may do more than the one who asks.',
    body: Type.Object({
      id: IdField,
      keep_subscriptions: Type.Optional(
        Type.Boolean({
          description: 'The subscriptions that it has started go on',
          fault: () => InvalidParams('keep_subscriptions', 'Invalid keep_subscriptions'),
        }),
      ),
      with_made: WithMadeField,
    }),
    reply: Type.Object({ key: KeyForm, ended_subscriptions: Type.Integer(), made: MadeForm }),
    faults: [
      ID_REFUSED,
      refuses(InvalidParams, 'It is neither true nor false', 'keep_subscriptions'),
      WITH_MADE_REFUSED,
      NO_KEY,
    ],
    examples: [{ summary: 'By its id', body: { id: answered('/v1/key/new', 'key.id') } }],
    async handle({ body, customer }) {
      const { id, keep_subscriptions = false, with_made = false } = body
      const { sql, clock } = needs
      const now = clock.now()
      const of = { customer_id: customer.customer_id, key_id: id }
      const reason = KEY_REVOKED
      const { made, ended_subscriptions } = await sql.begin(async (tx) => {
        await requireSeen(tx, customer, id)
        const ending = { ...of, id, with_made, keep_subscriptions, at: now }
        // It locks the account before the keys, as everywhere.
        const { ended, ...report } = await needs.endMade(tx, customer, ending)
        const all = keep_subscriptions ? [] : await needs.endSubscriptions(tx, of, { reason, now })
        await giveUpKey(tx, customer, { id, at: now })
        const actions = ended.map((one) => ({ actor: customer, ...one }))
        recordCustomerActions(tx, now, actions)
        return { ...report, ended_subscriptions: report.ended_subscriptions + all.length }
      })
      needs.wake('publish')
      return { key: await report(needs, customer, id), ended_subscriptions, made }
    },
  })

const made = ({ sql }: Needs): Endpoint =>
  endpoint({
    auth: 'signature',
    scope: 'manage',
    role_scope: 'keys',
    path: '/v1/made/check',
    summary: 'What a key or a user has made: keys, users and webhooks, and what those have made',
    description:
      'What is still of use, oldest first, each with the key or the user that has made it. A key ' +
      'is listed, too, under the one that was shown its newest secret, a user under the one that ' +
      'was shown the link that was followed, a webhook under the one that has last said where it ' +
      'calls: each of them knows a way in.',
    body: Type.Object({ id: IdField }),
    reply: MadeForm,
    faults: [ID_REFUSED, refuses(NotFound, 'You have no such key or user', 'key')],
    examples: [{ summary: 'By the id', body: { id: answered('/v1/key/new', 'key.id') } }],
    async handle({ body: { id }, customer }) {
      await requireSeen(sql, customer, id, { users: true })
      const things = await findMade(sql, { customer_id: customer.customer_id, id })
      return printMade(things, new Set())
    },
  })

export const keyRoutes = (needs: Needs): Endpoint[] => [
  list(needs),
  create(needs),
  change(needs),
  rotate(needs),
  revoke(needs),
  made(needs),
]
