// API keys. A key is a token, which names it, and a secret, which signs: both made here from 32
// random bytes, shown once and never chosen by anybody, because the old signature is only safe with
// secrets of one length. While a secret is replaced, the old one and the new one sign side by side.
// A revoked key stays as a row, since orders name it.

import { hash } from 'node:crypto'
import { type EventType, noteEvents } from '../../events/log/notes.ts'
import { type Clock, dayOf } from '../../lib/clock.ts'
import { firstIdAt, type NewId, type Random } from '../../lib/ids.ts'
import { isNetwork } from '../../lib/networks.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import { wakeAtCommit } from '../../platform/steps/wake.ts'
import { Conflict, InvalidParams, type Scope } from '../../platform/wire/endpoint.ts'
import type { CustomerState } from '../customers/customers.ts'
import { Key, type KeyRow, keyForms } from './forms.ts'
import { READ_TOKENS } from './known_tokens.ts'

export type { KeyRow } from './forms.ts'

export type Needs = { clock: Clock; random: Random; new_id: NewId; seal: Seal }

export type NewKey = {
  customer_id: string
  name: string
  /** Left out: UNNAMED_SCOPES. */
  scopes?: readonly Scope[] | undefined
  /** Addresses (`203.0.113.7`) and networks (`203.0.113.0/24`) it may be used from. Left out:
   *  anywhere. */
  allowed_networks?: readonly string[] | undefined
  /** The addresses that may receive what it buys. Left out: any. */
  receivers?: readonly string[] | undefined
  /** What it may spend in a day, in sun. Left out: no limit. */
  daily_cap_sun?: bigint | undefined
  /** Refuse requests that carry only the old signature. */
  require_v2?: boolean | undefined
  /** Refuse to begin anything that the caller gives no id of its own. */
  require_external_id?: boolean | undefined
  /** From when on it is refused like an unknown one. Left out: never. */
  expires_at?: Date | undefined
  /** The key that makes it; left out: the operator does. */
  made_by_key?: string | undefined
  /** The key whose spending of a day this one's counts as; left out: its own. */
  spends_from?: string | undefined
}

/** What names a key to us. */
export type KeyRef = Pick<KeyRow, 'id' | 'customer_id'>

/** A key as authentication needs it. */
export type SealedKey = Pick<
  KeyRow,
  | 'id'
  | 'customer_id'
  | 'scopes'
  | 'allowed_networks'
  | 'receivers'
  | 'daily_cap_sun'
  | 'spends_from'
  | 'require_v2'
  | 'require_external_id'
  | 'expires_at'
  | 'old_secret_until'
> & {
  token_hash: string
  sealed_secret: string
  old_sealed_secret: string | null
  customer_state: CustomerState
}

const TOKEN_PREFIX = 'pst_'
const SECRET_PREFIX = 'pss_'
const RANDOM_BYTES = 32

/** Whether the text has the form of a token: prefix and 43 base64url characters. */
export const isToken = (text: string | undefined): text is string =>
  text !== undefined && /^pst_[\w-]{43}$/.test(text)

/** Hexadecimal SHA-256, as a token is stored. */
export const tokenHash = (token: string): string => hash('sha256', token)

/** What the sealed secret of a key is bound to. */
export const sealContext = (key_id: string): string => `api_key:${key_id}`

/** Makes a key. Its token and secret are in the answer and nowhere else. Throws InvalidParams when
 *  an allowed network is none. */
export async function issueKey(
  tx: Tx,
  needs: Needs,
  wanted: NewKey,
): Promise<{ key_id: string; token: string; secret: string }> {
  const { customer_id, name, scopes = null, allowed_networks = null, daily_cap_sun = null } = wanted
  const { require_v2 = false, require_external_id = false, expires_at = null } = wanted
  const { receivers = null } = wanted
  const { made_by_key = null, spends_from = null } = wanted
  if (allowed_networks) requireNetworks(allowed_networks)
  const key_id = needs.new_id()
  const token = `${TOKEN_PREFIX}${randomText(needs)}`
  const { secret, sealed_secret } = newSecret(needs, key_id)
  const now = needs.clock.now()
  await tx`
    insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at, scopes,
      allowed_networks, receivers, daily_cap_sun, spending_counted_from, require_v2,
      require_external_id, created_at, expires_at, made_by_key, spends_from)
    values (${key_id}, ${customer_id}, ${name}, ${tokenHash(token)}, ${sealed_secret}, ${now},
      ${scopes}, ${allowed_networks}, ${receivers}, ${daily_cap_sun},
      ${daily_cap_sun === null ? null : dayOf(now)}, ${require_v2}, ${require_external_id},
      ${now}, ${expires_at}, ${made_by_key}, ${spends_from})`
  await noteKeys(tx, 'key.created', [{ id: key_id, customer_id }], now)
  wakeAtCommit(tx, READ_TOKENS)
  return { key_id, token, secret }
}

const randomText = ({ random }: Pick<Needs, 'random'>): string =>
  Buffer.from(random.bytes(RANDOM_BYTES)).toString('base64url')

function newSecret(needs: Pick<Needs, 'random' | 'seal'>, key_id: string) {
  const secret = `${SECRET_PREFIX}${randomText(needs)}`
  return { secret, sealed_secret: needs.seal.seal(secret, sealContext(key_id)) }
}

/** Notes what is listed of each key now. */
async function noteKeys(tx: Tx, type: EventType, keys: readonly KeyRef[], at: Date): Promise<void> {
  if (keys.length === 0) return
  const form_of = await keyForms(
    tx,
    keys.map(({ id }) => id),
    at,
  )
  noteEvents(
    tx,
    keys.map(({ id, customer_id }) => ({
      type,
      subject: `key:${id}`,
      customer_id,
      at,
      data: form_of.get(id)!,
    })),
  )
}

const HOUR_MS = 3_600_000

/** Gives a key a new secret, which is in the answer and nowhere else. The one before signs for so
 *  many hours more. The caller has locked the key. Throws Conflict while two sign already, unless
 *  both are to end at once: one that is known to strangers must not wait. `shown_to`: the key that
 *  asks; left out: an operator. */
export async function rotateSecret(
  tx: Tx,
  needs: Needs,
  { key, overlap_hours, shown_to }: { key: KeyRow; overlap_hours: number; shown_to?: string },
): Promise<{ secret: string; old_secret_until: Date | null }> {
  const now = needs.clock.now()
  if (overlap_hours > 0 && key.old_secret_until !== null && key.old_secret_until > now)
    throw Conflict('two_secrets', 'Two secrets are alive already')
  const until = overlap_hours === 0 ? null : new Date(now.getTime() + overlap_hours * HOUR_MS)
  const { secret, sealed_secret } = newSecret(needs, key.id)
  await tx`
    update api_key
    set old_sealed_secret = case when ${until}::timestamptz is null then null
          else sealed_secret end,
        old_secret_made_at = case when ${until}::timestamptz is null then null
          else secret_made_at end,
        old_secret_until = ${until}, sealed_secret = ${sealed_secret}, secret_made_at = ${now},
        secret_by_key = ${shown_to ?? null}
    where id = ${key.id}`
  return { secret, old_secret_until: until }
}

/** The customer's keys, oldest first, revoked ones included. */
export async function listKeys(sql: Sql | Tx, customer_id: string): Promise<KeyRow[]> {
  return sql<KeyRow>`
    select ${Key.columns}
    from api_key where customer_id = ${customer_id} and user_id is null order by id`
}

/** Revokes a key of the customer, for good. False when there is none that is not revoked. A server
 *  may accept the key for a second longer (see authentication). */
export async function revokeKey(
  tx: Tx,
  { customer_id, key_id, at }: { customer_id: string; key_id: string; at: Date },
): Promise<boolean> {
  const revoked = await tx<{ id: string }>`
    update api_key set revoked_at = ${at}
    where id = ${key_id} and customer_id = ${customer_id} and user_id is null
      and revoked_at is null
    returning id`
  await noteKeys(
    tx,
    'key.revoked',
    revoked.map(({ id }) => ({ id, customer_id })),
    at,
  )
  return revoked.length > 0
}

/** Revokes all keys of a customer; says which there were. */
export async function revokeKeys(
  tx: Tx,
  { customer_id, at }: { customer_id: string; at: Date },
): Promise<{ id: string; name: string }[]> {
  const revoked = await tx<{ id: string; name: string }>`
    update api_key set revoked_at = ${at}
    where customer_id = ${customer_id} and user_id is null and revoked_at is null
    returning id, name`
  await noteKeys(
    tx,
    'key.revoked',
    revoked.map(({ id }) => ({ id, customer_id })),
    at,
  )
  return revoked
}

/** Notes that keys end soon, once. The caller has locked them. */
export async function noteEndings(tx: Tx, keys: readonly KeyRef[], now: Date): Promise<void> {
  if (keys.length === 0) return
  tx.send`update api_key set ending_at = ${now} where id = any(${keys.map(({ id }) => id)})`
  await noteKeys(tx, 'key.ending', keys, now)
}

/** Notes that keys may spend nothing more today. */
export async function noteReachedCaps(tx: Tx, keys: readonly KeyRef[], now: Date): Promise<void> {
  await noteKeys(tx, 'key.cap_reached', keys, now)
}

/** What of a key can be changed. Undefined: as it was; null: no limit. */
export type KeyLimits = {
  name?: string | undefined
  scopes?: readonly Scope[] | null | undefined
  allowed_networks?: readonly string[] | null | undefined
  receivers?: readonly string[] | null | undefined
  daily_cap_sun?: bigint | null | undefined
  require_v2?: boolean | undefined
  require_external_id?: boolean | undefined
  expires_at?: Date | null | undefined
}

/** Puts other limits on a key. Servers follow within a second. Throws InvalidParams when an allowed
 *  network is none. */
export async function changeKey(
  tx: Tx,
  key: KeyRow,
  { at, ...limits }: KeyLimits & { at: Date },
): Promise<KeyRow> {
  const given = Object.fromEntries(
    Object.entries(limits).filter(([, limit]) => limit !== undefined),
  )
  const after: KeyRow = { ...key, ...given }
  const {
    name,
    scopes,
    allowed_networks,
    receivers,
    daily_cap_sun,
    require_v2,
    require_external_id,
    expires_at,
  } = after
  if (allowed_networks) requireNetworks(allowed_networks)
  await tx`
    update api_key
    set name = ${name}, scopes = ${scopes}, allowed_networks = ${allowed_networks},
      receivers = ${receivers},
      daily_cap_sun = ${daily_cap_sun},
      spending_counted_from = case when ${daily_cap_sun}::bigint is null then null
        when daily_cap_sun is null then ${dayAfter(at)}::date else spending_counted_from end,
      require_v2 = ${require_v2}, require_external_id = ${require_external_id},
        expires_at = ${expires_at},
        ending_at = case when expires_at = ${expires_at} then ending_at end
    where id = ${key.id}`
  await narrowMadeKeys(tx, after, at)
  return after
}

/** What a locked key with a daily cap has made, the users whom it has invited among it, and what
 *  those have made, spends from its cap and has no larger one; of what a key with receivers has
 *  made, nothing is delivered to others. Both also where it was made before the limit was there, or
 *  was so narrow. The caller has locked the customer, so that no other is made meanwhile. */
async function narrowMadeKeys(
  tx: Tx,
  key: Pick<KeyRow, 'id' | 'customer_id' | 'daily_cap_sun' | 'spends_from' | 'receivers'>,
  at: Date,
): Promise<void> {
  const { id, customer_id, daily_cap_sun, receivers } = key
  if (daily_cap_sun === null && receivers === null) return
  const made = await tx<{ id: string }>`
    with recursive made_by (id, maker) as (
      select id, made_by_key from api_key
      where customer_id = ${customer_id} and made_by_key is not null
      union all
      select id, invited_by from service_user where customer_id = ${customer_id}
    ), made (id) as (
      select id from made_by where maker = ${id}
      union
      select m.id from made join made_by as m on m.maker = made.id)
    select id from api_key where id in (select id from made) and id <> ${id} and revoked_at is null
    order by id for no key update`
  const ids = made.map((one) => one.id)
  if (ids.length === 0) return
  if (receivers !== null)
    await tx`
      update api_key set receivers = case when receivers is null then ${receivers}::text[]
        else array(select one from unnest(receivers) as one where one = any(${receivers})) end
      where id = any(${ids})`
  if (daily_cap_sun !== null) await capKeys(tx, ids, { ...key, daily_cap_sun }, at)
}

async function capKeys(
  tx: Tx,
  ids: readonly string[],
  {
    id,
    daily_cap_sun,
    spends_from,
  }: { id: string; daily_cap_sun: bigint; spends_from: string | null },
  at: Date,
): Promise<void> {
  await tx`
    update api_key
    set daily_cap_sun = least(daily_cap_sun, ${daily_cap_sun}), spends_from = ${spends_from ?? id},
      spending_counted_from = case
        when daily_cap_sun is null or spends_from is distinct from ${spends_from ?? id}
          then ${dayAfter(at)}::date
        else spending_counted_from end
    where id = any(${ids})`
}

/** The first day of which all is counted when counting begins in the middle of one. */
const dayAfter = (at: Date): string => dayOf(new Date(at.getTime() + 24 * HOUR_MS))

/** A key, which stays as it is until the transaction ends. */
export async function lockKey(tx: Tx, key_id: string): Promise<KeyRow | undefined> {
  return (await lockKeys(tx, [key_id])).get(key_id)
}

/** Keys, which stay as they are until the transaction ends. */
export async function lockKeys(
  tx: Tx,
  key_ids: readonly string[],
): Promise<ReadonlyMap<string, KeyRow>> {
  const keys = await tx<KeyRow>`
    select ${Key.columns}
    from api_key where id = any(${key_ids}) order by id for no key update`
  return new Map(keys.map((key) => [key.id, key]))
}

/** How many keys a customer has that may still be used. */
export async function countKeys(tx: Tx, customer_id: string, at: Date): Promise<number> {
  const [count] = await tx<{ keys: bigint }>`
    select count(*) as keys from api_key
    where customer_id = ${customer_id} and user_id is null and revoked_at is null
      and (expires_at is null or expires_at > ${at})`
  return Number(count!.keys)
}

/** How many keys a customer was given since a time, revoked ones included. */
export async function countKeysSince(tx: Tx, customer_id: string, since: Date): Promise<number> {
  const [count] = await tx<{ keys: bigint }>`
    select count(*) as keys from api_key
    where customer_id = ${customer_id} and user_id is null and id >= ${firstIdAt(since)}`
  return Number(count!.keys)
}

/** The keys of the given token hashes that are not revoked, expired ones included. */
export async function keysOfTokens(
  sql: Sql | Tx,
  token_hashes: readonly string[],
): Promise<SealedKey[]> {
  return sql<SealedKey>`
    select k.id, customer_id, token_hash, sealed_secret, old_sealed_secret, old_secret_until,
      scopes, allowed_networks, receivers, daily_cap_sun, spends_from, require_v2,
      require_external_id, expires_at, c.state as customer_state
    from api_key as k join customer as c on c.id = customer_id
    where token_hash = any(${token_hashes}) and revoked_at is null`
}

/** The scopes of those of these keys that may be used. */
export async function scopesOfKeys(
  sql: Sql,
  key_ids: readonly string[],
  at: Date,
): Promise<Map<string, readonly Scope[] | undefined>> {
  const rows = await sql<Pick<KeyRow, 'id' | 'scopes'>>`
    select id, scopes from api_key
    where id = any(${key_ids}) and revoked_at is null
      and (expires_at is null or expires_at > ${at})`
  return new Map(rows.map(({ id, scopes }) => [id, scopes ?? undefined]))
}

/** Seals the secrets again that another sealing key than the current one sealed; says how many.
 *  After this the other keys can leave the configuration. */
export async function resealSecrets(tx: Tx, seal: Seal): Promise<number> {
  type SealedRow = { id: string; sealed_secret: string; old_sealed_secret: string | null }
  const keys = await tx<SealedRow>`
    select id, sealed_secret, old_sealed_secret from api_key where user_id is null
    order by id for update`
  const again = (id: string, sealed: string) =>
    seal.isCurrent(sealed) ? sealed : seal.seal(seal.open(sealed, sealContext(id)), sealContext(id))
  const fresh = keys.flatMap(({ id, sealed_secret, old_sealed_secret }) => {
    const secret = again(id, sealed_secret)
    const old = old_sealed_secret === null ? null : again(id, old_sealed_secret)
    const same = secret === sealed_secret && old === old_sealed_secret
    return same ? [] : [{ id, secret, old }]
  })
  await tx`
    update api_key set sealed_secret = fresh.secret, old_sealed_secret = fresh.old
    from unnest(${fresh.map(({ id }) => id)}::text[],
                ${fresh.map(({ secret }) => secret)}::text[],
                ${fresh.map(({ old }) => old)}::text[]) as fresh (id, secret, old)
    where api_key.id = fresh.id`
  return fresh.length
}

/** Whether any API key has a secret that this database keeps sealed, and that may still be used. */
export async function hasSecrets(sql: Sql | Tx): Promise<boolean> {
  const [one] = await sql`select 1 from api_key where revoked_at is null limit 1`
  return one !== undefined
}

/** The sealed secret that was issued last, of those that may still be used. */
export async function newestSecret(
  sql: Sql | Tx,
): Promise<{ id: string; sealed_secret: string } | undefined> {
  const [newest] = await sql<{ id: string; sealed_secret: string }>`
    select id, sealed_secret from api_key where revoked_at is null and user_id is null
    order by id desc limit 1`
  return newest
}

/** The names of the sealing keys without which secrets of this database cannot be opened: they are
 *  not configured, or under their name another one is. Empty: all is well. Of each sealing key the
 *  newest secret is tried; those of revoked keys are needed by nobody. */
export async function sealingKeysMissing(sql: Sql | Tx, seal: Seal): Promise<string[]> {
  const newest = await sql<{ id: string; sealed_secret: string; sealed_by: string }>`
    select distinct on (sealed_by) id, one.sealed_secret, sealed_by
    from api_key as k, unnest(array[k.sealed_secret, k.old_sealed_secret]) as one (sealed_secret),
      lateral (select split_part(one.sealed_secret, '.', 1) as sealed_by) as sealing
    where revoked_at is null and one.sealed_secret is not null
    order by sealed_by, id desc`
  return newest.flatMap(({ id, sealed_secret, sealed_by }) => {
    try {
      seal.open(sealed_secret, sealContext(id))
      return []
    } catch {
      return [sealed_by]
    }
  })
}

/** Throws InvalidParams when one of them is neither an address nor a network. */
function requireNetworks(networks: readonly string[]): void {
  const wrong = networks.find((network) => !isNetwork(network))
  if (wrong !== undefined)
    throw InvalidParams('allowed_networks', `Not an address or network: ${wrong}`).because(
      'give such as 203.0.113.0/24',
      'networks',
    )
}
