// Users as they go over the wire, and what is told of them.

import { type Static, Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { timeOrNull, wireTime } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { Money } from '../../platform/wire/endpoint.ts'
import { OrNull, word } from '../../platform/wire/schemas.ts'
import { CUSTOMER_ROLES } from './roles.ts'

export type UserRow = {
  id: string
  /** Null: of the house. */
  customer_id: string | null
  name: string
  role: string
  sign_in_name: string | null
  invited_at: Date
  invited_by: string
  joined_at: Date | null
  ended_at: Date | null
}

/** A user with what belongs to the user. */
export type UserReport = UserRow & {
  daily_cap_sun: bigint | null
  /** The addresses for which alone the user buys; null: any. */
  receivers: string[] | null
  /** That can be used. */
  passkeys: number
  totp: boolean
}

export const UserForm = Type.Object({
  id: Type.String(),
  name: Type.String(),
  sign_in_name: OrNull(Type.String({ description: 'Null: the user has not chosen one yet' })),
  role: word(CUSTOMER_ROLES),
  daily_cap: OrNull(Money({ description: 'TRX; null: no limit' })),
  receivers: OrNull(
    Type.Array(Type.String(), {
      description: 'Who may receive what the user buys; null: any address',
    }),
  ),
  passkeys: Type.Integer(),
  totp: Type.Boolean({ description: 'There is a password with codes' }),
  invited_at: Type.String(),
  joined_at: OrNull(Type.String()),
  ended_at: OrNull(Type.String()),
})

export function printUser(user: UserReport): Static<typeof UserForm> {
  const { id, name, sign_in_name, role, daily_cap_sun, receivers, passkeys, totp } = user
  return {
    id,
    name,
    sign_in_name,
    role,
    daily_cap: daily_cap_sun === null ? null : money(daily_cap_sun),
    receivers,
    passkeys,
    totp,
    invited_at: wireTime(user.invited_at),
    joined_at: timeOrNull(user.joined_at),
    ended_at: timeOrNull(user.ended_at),
  }
}

export const USER_STATES = ['invited', 'active', 'ended'] as const
type UserState = (typeof USER_STATES)[number]

/** Users, newest first. `customer_id`: null for those of the house; undefined: whose ever. */
export function reportUsers(
  sql: Sql | Tx,
  wanted: {
    customer_id?: string | null | undefined
    ids?: readonly string[] | undefined
    role?: string | undefined
    state?: UserState | undefined
    before?: string | undefined
    limit: number
  },
): Promise<UserReport[]> {
  const { customer_id, ids = null, role = null, state = null, before = null, limit } = wanted
  const anybody = customer_id === undefined
  return sql<UserReport>`
    select u.id, u.customer_id, u.name, u.role, u.sign_in_name, u.invited_at, u.invited_by,
      u.joined_at, u.ended_at, k.daily_cap_sun, k.receivers,
      (select count(*) from passkey as p where p.user_id = u.id and p.off_at is null)::integer
        as passkeys,
      exists (select 1 from user_password as p where p.user_id = u.id) as totp
    from service_user as u left join api_key as k on k.id = u.id
    where (${anybody} or u.customer_id is not distinct from ${customer_id ?? null})
      and (${ids}::text[] is null or u.id = any(${ids}))
      and (${role}::text is null or u.role = ${role})
      and (${state}::text is null or ${state} = case
        when u.ended_at is not null then 'ended'
        when u.joined_at is null then 'invited' else 'active' end)
      and (${before}::text is null or u.id < ${before})
    order by u.id desc limit ${limit}`
}

const SAMPLE = {
  id: '01m7xps0ca8ksnnfg71x89vdp6',
  name: 'Anna',
  sign_in_name: 'anna',
  role: 'developer',
  daily_cap: 500,
  receivers: null,
  passkeys: 1,
  totp: false,
  invited_at: '2026-11-21T00:05:57Z',
  joined_at: '2026-11-21T00:09:12Z',
  ended_at: null,
}

const kind = (name: string, when: string, sample: object = {}): EventKind =>
  eventKind(`user.${name}`, {
    data: UserForm,
    when,
    scope: 'manage',
    sample: { ...SAMPLE, ...sample },
  })

export const userKinds: readonly EventKind[] = [
  kind('invited', 'somebody is invited to sign in for you', {
    sign_in_name: null,
    passkeys: 0,
    joined_at: null,
  }),
  kind('joined', 'a user has followed the link and signs in from now on'),
  kind('changed', "a user's name, role or cap is another, or what the user signs in with"),
  kind('removed', 'a user may not sign in any more', { ended_at: '2026-11-28T00:05:57Z' }),
  kind('recovered', 'a user gets a new link, has signed in by a recovery code, or has used it up'),
]
