// The keys that sign receipts (Ed25519). One signs, and the first is made when the service first
// starts. When another takes its place, its private part is gone, and its public part stays
// published: what it has signed is verified for ever.

import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import type { Seal } from '../customers/seal.ts'
import type { Sql, Tx } from '../database/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { refusal } from '../lib/fault.ts'
import type { Random } from '../lib/ids.ts'

export type Needs = { sql: Sql; clock: Clock; random: Random; seal: Seal }

/** `id`: the thumbprint of the public part, which is `kid` in the header of a receipt. */
export type SigningKey = { id: string; sealed_private_key: string; made_at: Date }
export type PublicKey = { id: string; public_key: string }

const SEED_BYTES = 32
/** What stands before the seed in the DER of an Ed25519 key (RFC 8410). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

const contextOf = (key_id: string): string => `signing_key:${key_id}`

const privateKey = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })

/** Makes a key that signs from now on; undefined when there is one that does. */
async function insertKey(
  sql: Sql | Tx,
  { clock, random, seal }: Omit<Needs, 'sql'>,
): Promise<SigningKey | undefined> {
  const seed = random.bytes(SEED_BYTES)
  const { x = '' } = createPublicKey(privateKey(seed)).export({ format: 'jwk' })
  const id = await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x })
  const sealed = seal.seal(Buffer.from(seed).toString('base64url'), contextOf(id))
  const [made] = await sql<SigningKey>`
    insert into signing_key (id, public_key, sealed_private_key, made_at)
    values (${id}, ${x}, ${sealed}, ${clock.now()})
    on conflict do nothing returning id, sealed_private_key, made_at`
  return made
}

/** The key that signs; undefined before the first start. */
export async function findSigningKey(sql: Sql | Tx): Promise<SigningKey | undefined> {
  const [key] = await sql<SigningKey>`
    select id, sealed_private_key, made_at from signing_key where retired_at is null`
  return key
}

/** Makes the first key, if there is none. */
export async function makeSigningKey(needs: Needs): Promise<void> {
  if (!(await findSigningKey(needs.sql))) await insertKey(needs.sql, needs)
}

/** The key that signs. */
export async function signingKey(sql: Sql): Promise<SigningKey> {
  const key = await findSigningKey(sql)
  if (!key) throw new Error('no key signs receipts: none was made at the start')
  return key
}

/** The private part. Throws when the sealing key is not configured. */
export function openSigningKey(seal: Seal, { id, sealed_private_key }: SigningKey): KeyObject {
  return privateKey(Buffer.from(seal.open(sealed_private_key, contextOf(id)), 'base64url'))
}

/** The name of the sealing key without which nothing can be signed: it is not configured, or under
 *  its name another one is. Undefined: all is well. */
export async function signingKeyMissing(sql: Sql | Tx, seal: Seal): Promise<string | undefined> {
  const key = await findSigningKey(sql)
  try {
    if (key) openSigningKey(seal, key)
    return undefined
  } catch {
    return key?.sealed_private_key.split('.', 1)[0]
  }
}

/** Every public key there was, the newest first. */
export async function publicKeys(sql: Sql): Promise<PublicKey[]> {
  return sql<PublicKey>`select id, public_key from signing_key order by made_at desc, id`
}

/** Retires the key that signs and makes another. Throws Refused when somebody else just has. */
export async function rotateSigningKey(
  tx: Tx,
  needs: Omit<Needs, 'sql'>,
): Promise<{ before: string | null; after: SigningKey }> {
  const [retired] = await tx<{ id: string }>`
    update signing_key set retired_at = ${needs.clock.now()}, sealed_private_key = null
    where retired_at is null returning id`
  const after = await insertKey(tx, needs)
  if (!after) throw refusal('Somebody else has just changed the key.')
  return { before: retired?.id ?? null, after }
}

/** Seals the private part again if another sealing key than the current one has sealed it. Returns
 *  how many that were. */
export async function resealSigningKey(tx: Tx, seal: Seal): Promise<number> {
  const [key] = await tx<SigningKey>`
    select id, sealed_private_key, made_at from signing_key where retired_at is null for update`
  if (!key || seal.isCurrent(key.sealed_private_key)) return 0
  const context = contextOf(key.id)
  const sealed = seal.seal(seal.open(key.sealed_private_key, context), context)
  await tx`update signing_key set sealed_private_key = ${sealed} where id = ${key.id}`
  return 1
}
