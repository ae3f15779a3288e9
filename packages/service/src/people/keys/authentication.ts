// Who sent a request. A key that was read within the last second is used from memory, so a revoked
// key works for up to a second longer in each process; a refusal is decided on the row itself,
// unless the caller has been refused too often to be read for. An unknown token takes the same path
// as a wrong signature, with a secret that nobody has: neither the answer nor its time tells them
// apart. Why it was refused is for the log alone, but that a key requires the second signature is
// told to who has shown to hold its secret.

import type { BlockList } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import { isListed, networkList } from '../../lib/networks.ts'
import { Recent } from '../../lib/recent.ts'
import { hiderOf } from '../../lib/secrets.ts'
import { batched } from '../../platform/database/batch.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Authenticate, Credentials } from '../../platform/http/server.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import { type AuthFailure, type Customer, unauthenticated } from '../../platform/wire/endpoint.ts'
import { isSignature, isSignatureV2, keyV2 } from '../../platform/wire/signature.ts'
import { isToken, keysOfTokens, type SealedKey, sealContext, tokenHash } from './keys.ts'
import { type NonceUse, useNonces } from './nonces.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  seal: Seal
  /** Called with each key that is let in. */
  noteUse?: (key_id: string) => void
}

/** How long a key may be used as it was read. Secrets stay in memory as long, and until the next
 *  key is read. */
const FRESH_MS = 1_000
const BATCH_MAX = 500
/** It signs for no key. */
const NOBODYS_SECRET = `pss_${'0'.repeat(43)}`

/** A secret, and the key of the second signature, which is made of it for the first one that is
 *  sent: most requests have none. */
class Secret {
  readonly secret: string
  #v2: Uint8Array | undefined

  constructor(secret: string) {
    this.secret = secret
  }

  get v2(): Uint8Array {
    this.#v2 ??= keyV2(this.secret)
    return this.#v2
  }
}

type OpenKey = {
  customer: Customer
  secret: Secret
  /** The secret before, while both sign; a stand-in when there is none, so that it takes no other
   *  time. */
  old_secret: Secret
  old_secret_until: Date | null
  require_v2: boolean
  networks: BlockList | undefined
  expires_at: Date | null
}

/** The check of credentials for signed endpoints. Throws Unauthenticated, alike for every reason
 *  that could help who does not hold the secret, and Outage when the database does not answer. */
export function authenticator({ sql, clock, seal, noteUse }: Needs): Authenticate {
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
    sealed_secret: seal.seal(NOBODYS_SECRET, sealContext('nobody')),
    old_sealed_secret: null,
    old_secret_until: null,
    spends_from: null,
    scopes: null,
    allowed_networks: null,
    receivers: null,
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
    const key = openKey(row ?? nobody, credentials.token ?? '', seal)
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
    noteUse?.(key_id)
    return key.customer
  }
}

function openKey(row: SealedKey, token: string, seal: Seal): OpenKey {
  const { id, customer_id, sealed_secret, scopes, allowed_networks, daily_cap_sun, require_v2 } =
    row
  const { require_external_id, expires_at, customer_state } = row
  const { spends_from, old_sealed_secret, old_secret_until } = row
  const secret = seal.open(sealed_secret, sealContext(id))
  const old_secret =
    old_sealed_secret === null ? NOBODYS_SECRET : seal.open(old_sealed_secret, sealContext(id))
  return {
    customer: {
      customer_id,
      key_id: id,
      scopes: scopes ?? undefined,
      daily_cap_sun: daily_cap_sun ?? undefined,
      spends_from: spends_from ?? undefined,
      receivers: row.receivers ?? undefined,
      require_external_id,
      suspended: customer_state !== 'active',
      hideOwn: hiderOf(old_sealed_secret === null ? [token, secret] : [token, secret, old_secret]),
    },
    secret: new Secret(secret),
    old_secret: new Secret(old_secret),
    old_secret_until,
    require_v2,
    expires_at,
    networks: allowed_networks ? networkList(allowed_networks) : undefined,
  }
}

/** What is wrong, but for a nonce that is not new: all of it is looked at, whatever is wrong first.
 *  The second signature, once sent, must be right also for a key that does not require it, and by
 *  the same secret as the first. */
function failureOf(key: OpenKey, credentials: Credentials, now: Date): AuthFailure | undefined {
  const signed_v2_missing = credentials.v2.signature === undefined
  const by_new = signedBy(key.secret, credentials, now)
  // Nobody learns by the time of an answer whether there is an old one who does not have the new.
  const by_old = by_new.v1 ? by_new : signedBy(key.old_secret, credentials, now)
  const old_signs = key.old_secret_until !== null && now < key.old_secret_until
  const by = by_old.v1 && old_signs ? by_old : by_new
  const from_allowed = key.networks === undefined || isListed(key.networks, credentials.ip)
  const in_force = key.expires_at === null || now < key.expires_at
  if (!by.v1) return 'wrong_signature'
  if (!signed_v2_missing && !by.v2) return 'wrong_signature_v2'
  if (!from_allowed) return 'network'
  if (!in_force) return 'expired'
  // Last: it alone is told, and only to who could call with that signature beside the first.
  return signed_v2_missing && key.require_v2 ? 'v2_required' : undefined
}

/** Which of the signatures are right by a secret; a second one that was not sent is not. */
function signedBy(
  by: Secret,
  { body, method, path, idempotency_key, signature, v2 }: Credentials,
  now: Date,
): { v1: boolean; v2: boolean } {
  const { timestamp = '', nonce = '' } = v2
  const stamped = { method, path, body, idempotency_key, timestamp, nonce }
  return {
    v1: isSignature(signature, body, by.secret),
    v2: v2.signature !== undefined && isSignatureV2(v2.signature, by.v2, stamped, now),
  }
}
