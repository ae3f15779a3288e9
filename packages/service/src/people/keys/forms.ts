// What a key is, the forms in which it goes over the wire, and what is told of it.

import { isAddress } from 'penstock-tron/address.ts'
import { type Static, Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { dayOf, readMoment, timeOrNull, wireTime } from '../../lib/clock.ts'
import { type Json, money } from '../../lib/json.ts'
import { isNetwork } from '../../lib/networks.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  InvalidParams,
  invalid,
  Money,
  refuses,
  SCOPES,
  type Scope,
  unchecked,
} from '../../platform/wire/endpoint.ts'
import { readMoney } from '../../platform/wire/reading.ts'
import { type RowOf, row } from '../../platform/wire/row.ts'
import { Flag, Moment, OrNull, oneOf, Sun, Text } from '../../platform/wire/schemas.ts'

/** A key as its owner may see it at any time. */
export const Key = row({
  id: Text,
  customer_id: Text,
  name: Text,
  scopes: OrNull(Type.Array(oneOf(SCOPES, 'what it may do'))),
  allowed_networks: OrNull(Type.Array(Text)),
  receivers: OrNull(Type.Array(Text)),
  daily_cap_sun: OrNull(Sun),
  require_v2: Flag,
  require_external_id: Flag,
  created_at: Moment,
  expires_at: OrNull(Moment),
  revoked_at: OrNull(Moment),
  made_by_key: OrNull(Text),
  spends_from: OrNull(Text),
  secret_made_at: Moment,
  /** The secret before, which signs until then. */
  old_secret_made_at: OrNull(Moment),
  old_secret_until: OrNull(Moment),
  last_used_at: OrNull(Moment),
  /** The user for whom it stands; null: it signs. */
  user_id: OrNull(Text),
})
export type KeyRow = RowOf<typeof Key>

const NETWORKS_MAX = 100
const RECEIVERS_MAX = 100

export const IdField = Type.String({ minLength: 1, maxLength: 40, ...invalid('id') })

/** What limits a key, in a request. */
export const LimitFields = {
  scopes: Type.Array(Type.Enum([...SCOPES], invalid('scopes')), {
    minItems: 1,
    maxItems: SCOPES.length,
    description: 'What it may do',
    ...invalid('scopes'),
  }),
  networks: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64, ...invalid('networks') }), {
      minItems: 1,
      maxItems: NETWORKS_MAX,
      description: 'Where it may be used from: addresses and networks, or `any` alone',
      ...invalid('networks'),
    }),
  ),
  receivers: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64, ...invalid('receivers') }), {
      minItems: 1,
      maxItems: RECEIVERS_MAX,
      description: 'The addresses that may receive what it buys, or `any` alone',
      ...invalid('receivers'),
    }),
  ),
  daily_cap: Type.Optional(
    unchecked(
      Type.Union([Type.Number(), Type.Literal('none')], {
        description: 'The most that it may spend in a day (UTC), in TRX, or `none`',
      }),
    ),
  ),
  require_v2: Type.Optional(
    Type.Boolean({
      description:
        'It refuses requests without the second signature, which the SDK and the command line ' +
        'send; clients that know the first alone do not work with it',
      ...invalid('require_v2'),
    }),
  ),
  require_external_id: Type.Optional(
    Type.Boolean({
      description:
        'It begins nothing without an `external_id` or an `Idempotency-Key`: what the first ' +
        'signature alone leaves open, that a body is sent again, then buys nothing twice',
      ...invalid('require_external_id'),
    }),
  ),
  ends_at: Type.Optional(
    Type.String({
      maxLength: 40,
      description: 'A time that is still to come, from which on it is refused, or `never`',
      ...invalid('ends_at'),
    }),
  ),
}

export const NameField = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'What to call it',
  ...invalid('name'),
})

export const ID_REFUSED = refuses(InvalidParams, '`id` is no text', 'id')
export const LIMIT_REFUSALS = [
  refuses(InvalidParams, '`name` is not text of 1 to 200 characters', 'name'),
  refuses(InvalidParams, '`scopes` is no list of scopes', 'scopes'),
  refuses(InvalidParams, '`networks` is no list of addresses and networks', 'networks'),
  refuses(InvalidParams, '`receivers` is no list of addresses of the network', 'receivers'),
  refuses(InvalidParams, '`require_v2` is neither true nor false', 'require_v2'),
  refuses(InvalidParams, '`require_external_id` is neither true nor false', 'require_external_id'),
  refuses(InvalidParams, '`daily_cap` is no amount of TRX', 'daily_cap'),
  refuses(InvalidParams, '`ends_at` is no time that is still to come', 'ends_at'),
]

type LimitFieldValues = {
  scopes?: Scope[] | undefined
  networks?: string[] | undefined
  receivers?: string[] | undefined
  daily_cap?: Json | undefined
  require_v2?: boolean | undefined
  require_external_id?: boolean | undefined
  ends_at?: string | undefined
}

/** What limits a key, as it was asked for. Throws 2. */
export function readLimits(
  { scopes, networks, receivers, daily_cap, ends_at, ...careful }: LimitFieldValues,
  now: Date,
) {
  const { require_v2, require_external_id } = careful
  return {
    scopes: scopes && [...new Set(scopes)],
    allowed_networks: networks && readNetworks(networks),
    receivers: receivers && readReceivers(receivers),
    require_v2,
    require_external_id,
    daily_cap_sun:
      daily_cap === undefined
        ? undefined
        : daily_cap === 'none'
          ? null
          : readMoney(daily_cap, 'daily_cap'),
    expires_at: ends_at === undefined ? undefined : readEnd(ends_at, now),
  }
}

function readNetworks(networks: readonly string[]): readonly string[] | null {
  if (networks.length === 1 && networks[0] === 'any') return null
  const wrong = networks.find((network) => !isNetwork(network))
  if (wrong !== undefined)
    throw InvalidParams('networks', 'Not an address or network').at(
      `networks[${networks.indexOf(wrong)}]`,
      'an address or a network, such as 203.0.113.0/24',
    )
  return networks
}

/** Null: any address. Throws 2. */
export function readReceivers(receivers: readonly string[]): readonly string[] | null {
  if (receivers.length === 1 && receivers[0] === 'any') return null
  const wrong = receivers.find((receiver) => !isAddress(receiver))
  if (wrong !== undefined)
    throw InvalidParams('receivers', 'Not an address').at(
      `receivers[${receivers.indexOf(wrong)}]`,
      'an address of the network',
    )
  return [...new Set(receivers)]
}

function readEnd(given: string, now: Date): Date | null {
  if (given === 'never') return null
  const ends_at = readMoment(given)
  if (!ends_at || ends_at <= now)
    throw InvalidParams('ends_at', 'Invalid ends_at').at(
      'ends_at',
      'a day or a time in UTC that is still to come, or never',
    )
  return ends_at
}

const SPENT_TODAY =
  'TRX since midnight (UTC) that counts against its cap, with what keys have spent that share ' +
  'it; null: not counted, because it has no cap, or not for the whole of today'

export const KeyForm = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: OrNull(Type.Array(Type.String())),
  networks: OrNull(Type.Array(Type.String())),
  receivers: OrNull(
    Type.Array(Type.String(), { description: 'Who may receive what it buys; null: any address' }),
  ),
  daily_cap: OrNull(Money({ description: 'TRX; null: no limit' })),
  spent_today: OrNull(Money({ description: SPENT_TODAY })),
  require_v2: Type.Boolean(),
  require_external_id: Type.Boolean(),
  created_at: Type.String(),
  made_by: OrNull(Type.String({ description: 'The key that made it; null: the operator' })),
  last_used_at: OrNull(Type.String()),
  ends_at: OrNull(Type.String()),
  revoked_at: OrNull(Type.String()),
  secrets: Type.Array(Type.Object({ made_at: Type.String(), until: OrNull(Type.String()) }), {
    description: 'Those that sign now, the newest first',
  }),
})

export type KeyReport = KeyRow & { spent_today_sun: bigint | null }

/** A key is one of these at a moment. */
export const KEY_STATES = ['active', 'ended', 'revoked'] as const
type KeyState = (typeof KEY_STATES)[number]

/** Keys, newest first; those that stand for users only when they are named. `day`: of which to say
 *  what was spent. `made_by_key`: only those that it has made. `is`: what they are, and when. */
export async function reportKeys(
  sql: Sql | Tx,
  wanted: {
    customer_id?: string
    ids?: readonly string[] | undefined
    made_by_key?: string | undefined
    is?: { state: KeyState; at: Date } | undefined
    before?: string | undefined
    limit: number
    day: string
  },
): Promise<KeyReport[]> {
  const { customer_id = null, ids = null, made_by_key = null, before = null, limit, day } = wanted
  const { state = null, at = null } = wanted.is ?? {}
  return sql<KeyReport>`
    select ${Key.columns},
      api_key_spent_on(id, ${day}::date) as spent_today_sun
    from api_key
    where (${customer_id}::text is null or customer_id = ${customer_id})
      and (${before}::text is null or id < ${before})
      and (${made_by_key}::text is null or made_by_key = ${made_by_key})
      and (${state}::text is null or ${state} = case
        when revoked_at is not null then 'revoked'
        when expires_at <= ${at}::timestamptz then 'ended' else 'active' end)
      and (case when ${ids}::text[] is null then user_id is null else id = any(${ids}) end)
    order by id desc limit ${limit}`
}

/** A key in the wire's form. `at`: when it is looked at. */
export function printKey(key: KeyReport, at: Date): Static<typeof KeyForm> {
  const { id, name, scopes, require_v2, daily_cap_sun, made_by_key } = key
  return {
    id,
    name,
    scopes,
    networks: key.allowed_networks,
    receivers: key.receivers,
    daily_cap: daily_cap_sun === null ? null : money(daily_cap_sun),
    spent_today: key.spent_today_sun === null ? null : money(key.spent_today_sun),
    require_v2,
    require_external_id: key.require_external_id,
    created_at: wireTime(key.created_at),
    made_by: made_by_key,
    last_used_at: timeOrNull(key.last_used_at),
    ends_at: timeOrNull(key.expires_at),
    revoked_at: timeOrNull(key.revoked_at),
    secrets: secretsOf(key, at),
  }
}

/** What the record of a customer says of a key. */
export function recordedKey(key: KeyRow, at: Date) {
  const { name, scopes, allowed_networks: networks, receivers, daily_cap_sun, require_v2 } = key
  return {
    name,
    scopes,
    networks,
    receivers,
    daily_cap: daily_cap_sun === null ? null : money(daily_cap_sun),
    require_v2,
    require_external_id: key.require_external_id,
    ends_at: timeOrNull(key.expires_at),
    revoked_at: timeOrNull(key.revoked_at),
    secrets: secretsOf(key, at),
  }
}

function secretsOf(key: KeyRow, at: Date) {
  const { revoked_at, secret_made_at, old_secret_made_at, old_secret_until, user_id } = key
  if (revoked_at || user_id) return []
  const newest = { made_at: wireTime(secret_made_at), until: null }
  if (!old_secret_made_at || !old_secret_until || old_secret_until <= at) return [newest]
  return [newest, { made_at: wireTime(old_secret_made_at), until: wireTime(old_secret_until) }]
}

const SAMPLE = {
  id: '01m7xps0ca8ksnnfg71x89vdp6',
  name: 'shop',
  scopes: ['read', 'buy'],
  networks: ['203.0.113.0/24'],
  receivers: null,
  daily_cap: 500,
  spent_today: 0,
  require_v2: true,
  require_external_id: false,
  created_at: '2026-11-21T00:05:57Z',
  made_by: null,
  last_used_at: null,
  ends_at: null,
  revoked_at: null,
  secrets: [{ made_at: '2026-11-21T00:05:57Z', until: null }],
}

export const keyKinds: readonly EventKind[] = [
  eventKind('key.created', {
    data: KeyForm,
    when: 'an API key is made, by a key of yours or by the operator',
    scope: 'manage',
    sample: SAMPLE,
  }),
  eventKind('key.revoked', {
    data: KeyForm,
    when: 'an API key is revoked',
    scope: 'manage',
    sample: { ...SAMPLE, revoked_at: '2026-11-21T00:07:00Z', secrets: [] },
  }),
  eventKind('key.ending', {
    data: KeyForm,
    when: 'an API key ends within seven days',
    scope: 'manage',
    sample: { ...SAMPLE, ends_at: '2026-11-28T00:05:57Z' },
  }),
  eventKind('key.cap_reached', {
    data: KeyForm,
    when: 'something would have cost more than an API key may still spend today; once a day',
    scope: 'manage',
    sample: { ...SAMPLE, spent_today: 498.2 },
  }),
]

/** Keys as they are listed at that time, by id. */
export async function keyForms(
  tx: Tx,
  ids: readonly string[],
  at: Date,
): Promise<ReadonlyMap<string, Static<typeof KeyForm>>> {
  const keys = await reportKeys(tx, { ids, limit: ids.length, day: dayOf(at) })
  return new Map(keys.map((key) => [key.id, printKey(key, at)]))
}
