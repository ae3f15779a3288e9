// API keys. A key is a token, which names it, and a secret, which signs: both made here from 32
// random bytes, shown once and never chosen by anybody, because the old signature is only safe with
// secrets of one length. A revoked key stays as a row, since orders name it.

import { hash } from 'node:crypto'
import type { Sql, Tx } from '../database/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { NewId, Random } from '../lib/ids.ts'
import { isNetwork } from '../lib/networks.ts'
import { InvalidParams, type Scope } from '../wire/endpoint.ts'
import type { CustomerState } from './customers.ts'
import type { Seal } from './seal.ts'

export type Needs = { clock: Clock; random: Random; new_id: NewId; seal: Seal }

export type KeyWanted = {
  customer_id: string
  name: string
  /** Left out: everything. */
  scopes?: readonly Scope[] | undefined
  /** Addresses (`203.0.113.7`) and networks (`203.0.113.0/24`) it may be used from. Left out:
   *  anywhere. */
  allowed_networks?: readonly string[] | undefined
  /** What it may spend in a day, in sun. Left out: no limit. */
  daily_cap_sun?: bigint | undefined
  /** Refuse requests that carry only the old signature. */
  require_v2?: boolean | undefined
  /** Refuse to begin anything that the caller gives no id of its own. */
  require_external_id?: boolean | undefined
  /** From when on it is refused like an unknown one. Left out: never. */
  expires_at?: Date | undefined
}

/** A key as its owner may see it at any time. */
export type KeyRow = {
  id: string
  customer_id: string
  name: string
  scopes: Scope[] | null
  allowed_networks: string[] | null
  daily_cap_sun: bigint | null
  require_v2: boolean
  require_external_id: boolean
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
}

/** A key as authentication needs it. */
export type SealedKey = Omit<KeyRow, 'name' | 'created_at' | 'revoked_at'> & {
  token_hash: string
  sealed_secret: string
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
  wanted: KeyWanted,
): Promise<{ key_id: string; token: string; secret: string }> {
  const { customer_id, name, scopes = null, allowed_networks = null, daily_cap_sun = null } = wanted
  const { require_v2 = false, require_external_id = false, expires_at = null } = wanted
  if (allowed_networks) requireNetworks(allowed_networks)
  const key_id = needs.new_id()
  const random = () => Buffer.from(needs.random.bytes(RANDOM_BYTES)).toString('base64url')
  const token = `${TOKEN_PREFIX}${random()}`
  const secret = `${SECRET_PREFIX}${random()}`
  const sealed_secret = needs.seal.seal(secret, sealContext(key_id))
  await tx`
    insert into api_key (id, customer_id, name, token_hash, sealed_secret, scopes,
      allowed_networks, daily_cap_sun,
      require_v2, require_external_id, created_at, expires_at)
    values (${key_id}, ${customer_id}, ${name}, ${tokenHash(token)}, ${sealed_secret}, ${scopes},
            ${allowed_networks},
      ${daily_cap_sun}, ${require_v2}, ${require_external_id}, ${needs.clock.now()}, ${expires_at})`
  return { key_id, token, secret }
}

/** The customer's keys, oldest first, revoked ones included. */
export async function listKeys(sql: Sql | Tx, customer_id: string): Promise<KeyRow[]> {
  return sql<KeyRow>`
    select id, customer_id, name, scopes, allowed_networks, daily_cap_sun, require_v2,
      require_external_id, created_at,
      expires_at, revoked_at
    from api_key where customer_id = ${customer_id} order by id`
}

/** Revokes a key of the customer, for good. False when there is none that is not revoked. A server
 *  may accept the key for a second longer (see authentication). */
export async function revokeKey(
  tx: Sql | Tx,
  { customer_id, key_id, at }: { customer_id: string; key_id: string; at: Date },
): Promise<boolean> {
  const revoked = await tx`
    update api_key set revoked_at = ${at}
    where id = ${key_id} and customer_id = ${customer_id} and revoked_at is null returning id`
  return revoked.length > 0
}

/** Revokes all keys of a customer; says which there were. */
export async function revokeKeys(
  tx: Tx,
  { customer_id, at }: { customer_id: string; at: Date },
): Promise<{ id: string; name: string }[]> {
  return tx<{ id: string; name: string }>`
    update api_key set revoked_at = ${at} where customer_id = ${customer_id} and revoked_at is null
      returning id, name`
}

/** What of a key can be changed. Undefined: as it was; null: no limit. */
export type KeyLimits = {
  name?: string | undefined
  scopes?: readonly Scope[] | null | undefined
  allowed_networks?: readonly string[] | null | undefined
  daily_cap_sun?: bigint | null | undefined
  require_v2?: boolean | undefined
  require_external_id?: boolean | undefined
  expires_at?: Date | null | undefined
}

/** Puts other limits on a key. Servers follow within a second. Throws InvalidParams when an allowed
 *  network is none. */
export async function changeKey(tx: Tx, key: KeyRow, limits: KeyLimits): Promise<KeyRow> {
  const given = Object.fromEntries(
    Object.entries(limits).filter(([, limit]) => limit !== undefined),
  )
  const after: KeyRow = { ...key, ...given }
  const {
    name,
    scopes,
    allowed_networks,
    daily_cap_sun,
    require_v2,
    require_external_id,
    expires_at,
  } = after
  if (allowed_networks) requireNetworks(allowed_networks)
  await tx`
    update api_key
    set name = ${name}, scopes = ${scopes}, allowed_networks = ${allowed_networks},
      daily_cap_sun = ${daily_cap_sun},
      require_v2 = ${require_v2}, require_external_id = ${require_external_id},
        expires_at = ${expires_at}
    where id = ${key.id}`
  return after
}

/** A key, which stays as it is until the transaction ends. */
export async function lockKey(tx: Tx, key_id: string): Promise<KeyRow | undefined> {
  const [key] = await tx<KeyRow>`
    select id, customer_id, name, scopes, allowed_networks, daily_cap_sun, require_v2,
      require_external_id, created_at,
      expires_at, revoked_at
    from api_key where id = ${key_id} for no key update`
  return key
}

/** The keys of the given token hashes that are not revoked, expired ones included. */
export async function keysOfTokens(
  sql: Sql | Tx,
  token_hashes: readonly string[],
): Promise<SealedKey[]> {
  return sql<SealedKey>`
    select k.id, customer_id, token_hash, sealed_secret, scopes, allowed_networks, daily_cap_sun,
      require_v2,
      require_external_id, expires_at, c.state as customer_state
    from api_key as k join customer as c on c.id = customer_id
    where token_hash = any(${token_hashes}) and revoked_at is null`
}

/** Seals the secrets again that another sealing key than the current one sealed; says how many.
 *  After this the other keys can leave the configuration. */
export async function resealSecrets(tx: Tx, seal: Seal): Promise<number> {
  const keys = await tx<{
    id: string
    sealed_secret: string
  }>`select id, sealed_secret from api_key for update`
  const old = keys.filter(({ sealed_secret }) => !seal.isCurrent(sealed_secret))
  const sealed = old.map(({ id, sealed_secret }) =>
    seal.seal(seal.open(sealed_secret, sealContext(id)), sealContext(id)),
  )
  await tx`
    update api_key set sealed_secret = fresh.sealed_secret
    from unnest(${old.map(({ id }) => id)}::text[], ${sealed}::text[]) as fresh (id, sealed_secret)
    where api_key.id = fresh.id`
  return old.length
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
    select id, sealed_secret from api_key where revoked_at is null order by id desc limit 1`
  return newest
}

/** The names of the sealing keys without which secrets of this database cannot be opened: they are
 *  not configured, or under their name another one is. Empty: all is well. Of each sealing key the
 *  newest secret is tried; those of revoked keys are needed by nobody. */
export async function sealingKeysMissing(sql: Sql | Tx, seal: Seal): Promise<string[]> {
  const newest = await sql<{ id: string; sealed_secret: string; sealed_by: string }>`
    select distinct on (sealed_by) id, sealed_secret, sealed_by
    from (select id, sealed_secret, split_part(sealed_secret, '.', 1) as sealed_by from api_key
          where revoked_at is null) as sealed
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
    throw InvalidParams('allowed_networks', `Not an address or network: ${wrong}`)
}
