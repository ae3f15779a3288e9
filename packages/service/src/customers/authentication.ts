// Who sent a request. A key that was read within the last second is used from memory, so a revoked
// key works for up to a second longer in each process; a refusal is decided on the row itself,
// unless the caller has been refused too often to be read for. An unknown token takes the same path
// as a wrong signature, with a secret that nobody has: neither the answer nor its time tells them
// apart. Why it was refused is for the log alone.

import type { BlockList } from 'node:net'
import { batched } from '../database/batch.ts'
import type { Sql } from '../database/sql.ts'
import type { Authenticate, Credentials } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { isListed, networkList } from '../lib/networks.ts'
import { Recent } from '../lib/recent.ts'
import { type AuthFailure, type Customer, unauthenticated } from '../wire/endpoint.ts'
import { isSignature, isSignatureV2, keyV2 } from '../wire/signature.ts'
import { isToken, keysOfTokens, type SealedKey, sealContext, tokenHash } from './keys.ts'
import { type NonceUse, useNonces } from './nonces.ts'
import type { Seal } from './seal.ts'

export type Needs = { sql: Sql; clock: Clock; seal: Seal }

/** How long a key may be used as it was read. Secrets stay in memory as long, and until the next
 *  key is read. */
const FRESH_MS = 1_000
const BATCH_MAX = 500

type OpenKey = {
  customer: Customer
  secret: string
  require_v2: boolean
  networks: BlockList | undefined
  expires_at: Date | null
}

/** The check of credentials for signed endpoints. Throws Unauthenticated for every reason alike,
 *  and Outage when the database does not answer. */
export function authenticator({ sql, clock, seal }: Needs): Authenticate {
  const open_keys = new Recent<OpenKey>(FRESH_MS)
  const readKey = batched(BATCH_MAX, async (token_hashes: string[]) => {
    const keys = new Map(
      (await keysOfTokens(sql, token_hashes)).map((key) => [key.token_hash, key]),
    )
    return token_hashes.map((token_hash) => keys.get(token_hash))
  })
  const useNonce = batched(BATCH_MAX, (uses: NonceUse[]) => useNonces(sql, uses, clock.now()))
  const nobody: SealedKey = {
    id: 'nobody',
    customer_id: 'nobody',
    token_hash: '',
    sealed_secret: seal.seal(`pss_${'0'.repeat(43)}`, sealContext('nobody')),
    scopes: null,
    allowed_networks: null,
    daily_cap_sun: null,
    require_v2: false,
    require_external_id: false,
    expires_at: null,
    customer_state: 'active',
  }

  /** Reads the key and checks the credentials. What takes time is done for unknown tokens too. */
  async function admit(token_hash: string, credentials: Credentials): Promise<OpenKey> {
    const row = await readKey(token_hash)
    const now = clock.now()
    const key = openKey(row ?? nobody, seal)
    if (row) open_keys.set(token_hash, key, now.getTime())
    const failure = failureOf(key, credentials, now)
    if (!row) throw unauthenticated('unknown_token')
    if (failure) throw unauthenticated(failure, row.id)
    return key
  }

  /** The key as it was read within the last second, when the credentials are right by it; else as
   *  it is now. */
  async function keyOf(token_hash: string, credentials: Credentials): Promise<OpenKey> {
    const now = clock.now()
    const fresh = open_keys.get(token_hash, now.getTime())
    const failure = fresh && failureOf(fresh, credentials, now)
    if (fresh && !failure) return fresh
    if (fresh && failure && credentials.mayReadAgain?.() === false)
      throw unauthenticated(failure, fresh.customer.key_id)
    return admit(token_hash, credentials)
  }

  return async (credentials) => {
    // That a text is not even a token is no secret.
    if (!isToken(credentials.token)) throw unauthenticated('no_token')
    const key = await keyOf(tokenHash(credentials.token), credentials)
    const { signature, nonce } = credentials.v2
    const { key_id } = key.customer
    if (signature !== undefined && nonce !== undefined) {
      const fresh_nonce = await useNonce({ key_id, nonce })
      if (!fresh_nonce) throw unauthenticated('nonce_used', key_id)
    }
    return key.customer
  }
}

function openKey(row: SealedKey, seal: Seal): OpenKey {
  const { id, customer_id, sealed_secret, scopes, allowed_networks, daily_cap_sun, require_v2 } =
    row
  const { require_external_id, expires_at, customer_state } = row
  const secret = seal.open(sealed_secret, sealContext(id))
  return {
    customer: {
      customer_id,
      key_id: id,
      scopes: scopes ?? undefined,
      daily_cap_sun: daily_cap_sun ?? undefined,
      require_external_id,
      suspended: customer_state !== 'active',
    },
    secret,
    require_v2,
    expires_at,
    networks: allowed_networks ? networkList(allowed_networks) : undefined,
  }
}

/** What is wrong, but for a nonce that is not new: all of it is looked at, whatever is wrong first.
 *  The second signature, once sent, must be right also for a key that does not require it. */
function failureOf(key: OpenKey, credentials: Credentials, now: Date): AuthFailure | undefined {
  const { body, method, path, idempotency_key, v2, ip } = credentials
  const stamped = { method, path, body, idempotency_key }
  const signed = isSignature(credentials.signature, body, key.secret)
  const { signature, timestamp = '', nonce = '' } = v2
  const signed_v2 =
    signature === undefined
      ? !key.require_v2
      : isSignatureV2(signature, keyV2(key.secret), { ...stamped, timestamp, nonce }, now)
  const from_allowed = key.networks === undefined || isListed(key.networks, ip)
  const in_force = key.expires_at === null || now < key.expires_at
  if (!signed) return 'wrong_signature'
  if (!signed_v2) return signature === undefined ? 'v2_required' : 'wrong_signature_v2'
  if (!from_allowed) return 'network'
  return in_force ? undefined : 'expired'
}
