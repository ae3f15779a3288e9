// What customers do with their keys, by a key of theirs or as a user. A key makes only keys that
// are no wider than itself, changes only such, and never changes itself: so a thief of one gets
// nothing more by it. A user is a key to this; one who may not manage keys sees only those of the
// user's own making. The limits of the key that asks are read under its lock, not as they were when
// its request was let in.

import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { DAY_MS, later } from '../../lib/clock.ts'
import { isWithin } from '../../lib/networks.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  Conflict,
  type Customer,
  Forbidden,
  LimitReached,
  mayDo,
  NotFound,
  refuses,
  type Scope,
  UNNAMED_SCOPES,
  unauthenticated,
} from '../../platform/wire/endpoint.ts'
import { lockCustomer } from '../customers/customers.ts'
import { recordedKey } from './forms.ts'
import {
  changeKey,
  countKeys,
  countKeysSince,
  issueKey,
  type KeyLimits,
  type KeyRow,
  lockKeys,
  type Needs as MakerNeeds,
  revokeKey,
  rotateSecret,
} from './keys.ts'

/** What a customer may have that can still be used. */
export const KEYS_MAX = 100
/** What a customer may make in a day: a revoked one stays as a row. */
export const KEYS_A_DAY = 500

export const WIDER = refuses(
  Forbidden,
  'The key could do something, from somewhere, for somebody, for longer or for more than the one ' +
    'that asks',
  'wider',
)
/** Of what makes a key. */
export const NEW_KEY_REFUSALS = [
  WIDER,
  refuses(
    LimitReached,
    `There are ${KEYS_MAX} keys that may be used, or ${KEYS_A_DAY} were made within a day`,
    'key',
  ),
]

type LimitsInForce = Pick<
  KeyRow,
  | 'scopes'
  | 'allowed_networks'
  | 'receivers'
  | 'daily_cap_sun'
  | 'require_v2'
  | 'require_external_id'
  | 'expires_at'
>

/** Whether a key of these limits could do anything that one of the other limits cannot. */
export const isWider = (limits: LimitsInForce, than: LimitsInForce): boolean =>
  widerLimit(limits, than) !== undefined

/** The limit by which it could. */
function widerLimit(limits: LimitsInForce, than: LimitsInForce): keyof LimitsInForce | undefined {
  const { allowed_networks, receivers, daily_cap_sun, expires_at } = limits
  const scopes = than.scopes ?? UNNAMED_SCOPES
  const same_scopes = (limits.scopes ?? UNNAMED_SCOPES).every((scope) => scopes.includes(scope))
  const networks = than.allowed_networks
  const same_networks =
    networks === null ||
    (allowed_networks?.every((one) => networks.some((other) => isWithin(one, other))) ?? false)
  const same_receivers =
    than.receivers === null || (receivers?.every((one) => than.receivers!.includes(one)) ?? false)
  const same_cap =
    than.daily_cap_sun === null || (daily_cap_sun !== null && daily_cap_sun <= than.daily_cap_sun)
  const same_end =
    than.expires_at === null || (expires_at !== null && expires_at <= than.expires_at)
  if (!same_scopes) return 'scopes'
  if (!same_networks) return 'allowed_networks'
  if (!same_receivers) return 'receivers'
  if (!same_cap) return 'daily_cap_sun'
  if (!same_end) return 'expires_at'
  if (than.require_v2 && !limits.require_v2) return 'require_v2'
  return than.require_external_id && !limits.require_external_id ? 'require_external_id' : undefined
}

/** What the wire calls a limit. */
const FIELD_OF = {
  scopes: 'scopes',
  allowed_networks: 'networks',
  receivers: 'receivers',
  daily_cap_sun: 'daily_cap',
  expires_at: 'ends_at',
  require_v2: 'require_v2',
  require_external_id: 'require_external_id',
} as const satisfies Record<keyof LimitsInForce, string>

/** `param`: the field that names a key as it is; left out: the limit that is asked for. */
function requireNarrow(limits: LimitsInForce, asking: KeyRow, param?: string): void {
  const wider = widerLimit(limits, asking)
  if (wider === undefined) return
  throw Forbidden('wider', 'That key would be wider than the one that asks').because(
    `by ${FIELD_OF[wider]}`,
    param ?? FIELD_OF[wider],
  )
}

/** Purchases and screenings are paid for. */
const SPENDING: readonly Scope[] = ['buy', 'aml']

/** Throws Forbidden when one with a cap would be shown how to sign as another that spends from
 *  another sum: it could spend both. */
export function requireSameSum(key: KeyRow, asking: KeyRow): void {
  const sumOf = ({ id, spends_from }: KeyRow) => spends_from ?? id
  const spends = key.daily_cap_sun !== 0n && mayDo({ scopes: key.scopes ?? undefined }, SPENDING)
  if (asking.daily_cap_sun === null || !spends || sumOf(key) === sumOf(asking)) return
  throw Forbidden('wider', 'Both together could spend more than the one that asks').because(
    'its daily_cap is not that of the one that asks',
    'id',
  )
}

/** Makes a key; what is not given is as the asking key has it. Throws InvalidParams, Forbidden and
 *  LimitReached. */
export async function grantKey(
  tx: Tx,
  needs: MakerNeeds,
  asks: Customer,
  { name, action = 'key/new', ...given }: KeyLimits & { name: string; action?: string },
): Promise<{ key_id: string; token: string; secret: string }> {
  const { customer_id } = asks
  const now = needs.clock.now()
  await lockCustomer(tx, customer_id)
  const [asking] = await lockAsked(tx, asks, [])
  const limits = { ...inheritedFrom(asking), ...givenOf(given) }
  requireNarrow(limits, asking)
  if ((await countKeys(tx, customer_id, now)) >= KEYS_MAX)
    throw LimitReached('key', `There are ${KEYS_MAX} keys already`)
  if ((await countKeysSince(tx, customer_id, later(needs.clock, -DAY_MS))) >= KEYS_A_DAY)
    throw LimitReached('key', `${KEYS_A_DAY} keys were made within a day`)
  const { scopes, allowed_networks, receivers, daily_cap_sun, expires_at, ...careful } = limits
  const made = await issueKey(tx, needs, {
    customer_id,
    name,
    ...careful,
    scopes: scopes ?? undefined,
    allowed_networks: allowed_networks ?? undefined,
    receivers: receivers ?? undefined,
    daily_cap_sun: daily_cap_sun ?? undefined,
    expires_at: expires_at ?? undefined,
    made_by_key: asking.id,
    ...(asking.daily_cap_sun !== null && { spends_from: asking.spends_from ?? asking.id }),
  })
  const change = { action, id: made.key_id, before: undefined, at: now }
  await recordKey(tx, asks, change)
  return made
}

/** Records what has become of a key. */
async function recordKey(
  tx: Tx,
  asks: Customer,
  change: { action: string; id: string; before: KeyRow | undefined; at: Date; more?: object },
): Promise<void> {
  const { action, id, before, at, more } = change
  const key = (await lockKeys(tx, [id])).get(id)!
  await recordCustomerAction(tx, at, {
    actor: asks,
    action,
    subject: `key:${id}`,
    before: before ? recordedKey(before, at) : null,
    after: { ...recordedKey(key, at), ...more },
  })
}

/** What a new key has where nothing is said: as its maker. */
const inheritedFrom = (asking: KeyRow): LimitsInForce => ({
  scopes: asking.scopes,
  allowed_networks: asking.allowed_networks,
  receivers: asking.receivers,
  daily_cap_sun: asking.daily_cap_sun,
  require_v2: asking.require_v2,
  require_external_id: asking.require_external_id,
  expires_at: asking.expires_at,
})

/** Puts other limits on a key. Throws InvalidParams, NotFound, Conflict and Forbidden. */
export async function alterKey(
  tx: Tx,
  asks: Customer,
  { id, at, ...given }: KeyLimits & { id: string; at: Date },
): Promise<void> {
  // A cap is that of the keys made by this one, too: nobody makes another meanwhile.
  await lockCustomer(tx, asks.customer_id)
  const [asking, key] = await lockOther(tx, asks, id)
  requireNarrow({ ...key, ...givenOf(given) }, asking)
  await changeKey(tx, key, { ...given, at })
  await recordKey(tx, asks, { action: 'key/change', id, before: key, at })
}

/** Gives a key a new secret. Throws NotFound, Conflict and Forbidden. */
export async function rotateKey(
  tx: Tx,
  needs: MakerNeeds,
  asks: Customer,
  { id, overlap_hours }: { id: string; overlap_hours: number },
): Promise<{ secret: string }> {
  const [asking, key] = await lockOther(tx, asks, id)
  requireSameSum(key, asking)
  const wanted = { key, overlap_hours, shown_to: asking.id }
  const rotated = await rotateSecret(tx, needs, wanted)
  const change = { action: 'key/rotate', id, before: key, at: needs.clock.now() }
  await recordKey(tx, asks, { ...change, more: { overlap_hours } })
  return rotated
}

/** Revokes a key of the customer, whichever: the one that asks too. Throws NotFound. */
export async function giveUpKey(
  tx: Tx,
  asks: Customer,
  { id, at }: { id: string; at: Date },
): Promise<void> {
  const [, key] = await lockAsked(tx, asks, [id])
  await revokeKey(tx, { customer_id: asks.customer_id, key_id: id, at })
  await recordKey(tx, asks, { action: 'key/revoke', id, before: key, at })
}

/** The key that asks, and the one that it wants to change. */
async function lockOther(tx: Tx, asks: Customer, id: string): Promise<[KeyRow, KeyRow]> {
  const [asking, key] = await lockAsked(tx, asks, [id])
  if (key!.revoked_at) throw Conflict('revoked', 'That key is revoked')
  if (key!.id === asking.id)
    throw Forbidden('self', 'A key does not change itself').because('name another key', 'id')
  requireNarrow(key!, asking, 'id')
  return [asking, key!]
}

/** Locks the key that asks, and those of its customer that are named. Throws NotFound, and
 *  Unauthenticated when the key that asks was revoked meanwhile. */
async function lockAsked(
  tx: Tx,
  asks: Customer,
  ids: readonly string[],
): Promise<[KeyRow, ...KeyRow[]]> {
  const { customer_id, key_id } = asks
  const own = ownOnly(asks)
  const keys = await lockKeys(tx, [key_id, ...ids])
  const asking = keys.get(key_id)
  if (!asking || asking.revoked_at) throw unauthenticated('unknown_token', key_id)
  const named = ids.map((id) => {
    const key = keys.get(id)
    const is_seen = key?.customer_id === customer_id && key.user_id === null
    if (!is_seen || (own !== undefined && key.made_by_key !== own))
      throw NotFound('key', 'There is no such key').absent('id', 'key of yours')
    return key
  })
  return [asking, ...named]
}

/** The user who sees only the keys of that user's own making; undefined: all are seen. */
export const ownOnly = ({ user }: Customer): string | undefined =>
  user && !user.scopes.includes('manage') ? user.user_id : undefined

/** Throws NotFound unless a key of the customer, or with `users` that of a user, is one that may be
 *  seen by the one who asks. */
export async function requireSeen(
  sql: Sql | Tx,
  asks: Customer,
  id: string,
  { users = false }: { users?: boolean } = {},
): Promise<void> {
  const own = ownOnly(asks) ?? null
  const [seen] = await sql`
    select 1 from api_key
    where id = ${id} and customer_id = ${asks.customer_id} and (user_id is null or ${users})
      and (${own}::text is null or made_by_key = ${own} or user_id = ${own})`
  if (!seen) throw NotFound('key', 'There is no such key').absent('id', 'key of yours')
}

/** Those of the limits that are to be others. */
export const givenOf = (limits: KeyLimits): Partial<LimitsInForce> =>
  Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined))
