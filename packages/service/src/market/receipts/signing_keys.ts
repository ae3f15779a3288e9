// The keys that sign receipts (Ed25519). One signs, and the first is made by who migrates. When
// another takes its place, its private part is gone, and its public part stays published: what it
// has signed is verified for ever. Each row has a mark that only the sealing key makes; a row
// without it is neither published nor used, whoever has put it there.

import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { perform } from '../../events/log/changes.ts'
import type { Action } from '../../ledger/accounts/actions.ts'
import type { Clock } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import type { Random } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'

export type Needs = { sql: Sql; clock: Clock; random: Random; seal: Seal }

/** `id`: the thumbprint of the public part, which is `kid` in the header of a receipt. */
export type SigningKey = { id: string; sealed_private_key: string; made_at: Date }
export type PublicKey = { id: string; public_key: string }
type KeyRow = PublicKey & { sealed_private_key: string | null; mark: string | null; made_at: Date }

const SEED_BYTES = 32
/** What stands before the seed in the DER of an Ed25519 key (RFC 8410). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

const contextOf = (key_id: string): string => `signing_key:${key_id}`

const privateKey = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })

const publicPart = (key: KeyObject): string =>
  createPublicKey(key).export({ format: 'jwk' }).x ?? ''

const markOf = (seal: Seal, { id, public_key }: PublicKey): string =>
  seal.mark(`${id} ${public_key}`, 'signing key')

const isOurs = (seal: Seal, { id, public_key, mark }: KeyRow): boolean =>
  seal.isMark(mark, `${id} ${public_key}`, 'signing key')

/** Every row there is, ours or not, the newest first. */
const readRows = (sql: Sql | Tx): Promise<KeyRow[]> => sql<KeyRow>`
  select id, public_key, sealed_private_key, mark, made_at from signing_key
  order by made_at desc, id`

/** Makes a key that signs from now on; undefined when there is one that does. */
async function insertKey(
  sql: Sql | Tx,
  { clock, random, seal }: Omit<Needs, 'sql'>,
): Promise<SigningKey | undefined> {
  const seed = random.bytes(SEED_BYTES)
  const x = publicPart(privateKey(seed))
  const id = await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x })
  const sealed = seal.seal(Buffer.from(seed).toString('base64url'), contextOf(id))
  const [made] = await sql<SigningKey>`
    insert into signing_key (id, public_key, sealed_private_key, mark, made_at)
    values (${id}, ${x}, ${sealed}, ${markOf(seal, { id, public_key: x })}, ${clock.now()})
    on conflict do nothing returning id, sealed_private_key, made_at`
  return made
}

/** Whether there is a key that signs, ours or not. */
export async function hasSigningKey(sql: Sql | Tx): Promise<boolean> {
  return (await sql`select 1 from signing_key where retired_at is null`).length > 0
}

/** Makes the first key, and returns it; undefined when there is one. */
export async function makeSigningKey(
  sql: Sql | Tx,
  needs: Omit<Needs, 'sql'>,
): Promise<SigningKey | undefined> {
  return (await hasSigningKey(sql)) ? undefined : insertKey(sql, needs)
}

/** Sees to it that a key of ours signs: marks those that were made before there were marks, and
 *  makes the first. What it has done is to be recorded. */
export async function provideSigningKey(tx: Tx, needs: Omit<Needs, 'sql'>): Promise<Action[]> {
  const marked = await markOldKeys(tx, needs.seal)
  const actions: Action[] = []
  if (marked.length > 0)
    actions.push({ subject: 'receipts', before: null, after: { marked_keys: marked } })
  const made = await makeSigningKey(tx, needs)
  if (made) actions.push({ subject: 'receipts', before: null, after: { key_id: made.id } })
  return actions
}

/** The same by itself, with its record. */
export async function ownerProvidesSigningKey(needs: Needs, made_by: string): Promise<void> {
  const by = { operator: { made_by, reason: null }, action: 'receipts key' }
  await perform(needs, by, async (tx) => ({
    result: undefined,
    actions: await provideSigningKey(tx, needs),
  }))
}

/** Marks keys that have no mark, or that of a sealing key that is gone, and can be shown to be
 *  ours: the one that signs, because its private part is sealed by us, and older ones because a
 *  record names them. Says which. */
async function markOldKeys(tx: Tx, seal: Seal): Promise<string[]> {
  const marked: string[] = []
  for (const row of await readRows(tx)) {
    if (seal.knowsKeyOf(row.mark) || !(await isShownToBeOurs(tx, seal, row))) continue
    await tx`update signing_key set mark = ${markOf(seal, row)} where id = ${row.id}`
    marked.push(row.id)
  }
  return marked
}

async function isShownToBeOurs(tx: Tx, seal: Seal, row: KeyRow): Promise<boolean> {
  const { id, public_key, sealed_private_key } = row
  const thumbprint = await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x: public_key })
  if (thumbprint !== id) return false
  if (sealed_private_key !== null) {
    try {
      return publicPart(openSigningKey(seal, { ...row, sealed_private_key })) === public_key
    } catch {
      return false
    }
  }
  const [record] = await tx`
    select 1 from operator_action where subject = 'receipts'
      and (${id} in (before ->> 'key_id', after ->> 'key_id')
        or after -> 'marked_keys' ? ${id})
    limit 1`
  return record !== undefined
}

/** The key that signs; undefined when there is none of ours. */
export async function findSigningKey(sql: Sql | Tx, seal: Seal): Promise<SigningKey | undefined> {
  const row = (await readRows(sql)).find(({ sealed_private_key }) => sealed_private_key !== null)
  if (!row || row.sealed_private_key === null || !isOurs(seal, row)) return undefined
  const { id, sealed_private_key, made_at } = row
  return { id, sealed_private_key, made_at }
}

/** The key that signs. */
export async function signingKey(sql: Sql, seal: Seal): Promise<SigningKey> {
  const key = await findSigningKey(sql, seal)
  if (!key) throw new Error('no key of ours signs receipts: who migrates makes one')
  return key
}

/** The private part. Throws when the sealing key is not configured. */
export function openSigningKey(
  seal: Seal,
  { id, sealed_private_key }: Pick<SigningKey, 'id' | 'sealed_private_key'>,
): KeyObject {
  return privateKey(Buffer.from(seal.open(sealed_private_key, contextOf(id)), 'base64url'))
}

/** The name of the sealing key without which nothing can be signed: it is not configured, or under
 *  its name another one is. Undefined: all is well. */
export const signingKeyMissing = async (sql: Sql | Tx, seal: Seal): Promise<string | undefined> =>
  missingFor(seal, await readRows(sql))

/** The same, of rows that were read. It is asked every second, so no key is made of what opens:
 *  what is none is found when it signs. */
export function missingFor(
  seal: Seal,
  rows: readonly Pick<KeyRow, 'id' | 'sealed_private_key'>[],
): string | undefined {
  for (const { id, sealed_private_key } of rows)
    try {
      if (sealed_private_key !== null) seal.open(sealed_private_key, contextOf(id))
    } catch {
      return sealed_private_key?.split('.', 1)[0]
    }
  return undefined
}

/** Every public key of ours that there was, the newest first. */
export async function publicKeys(sql: Sql, seal: Seal): Promise<PublicKey[]> {
  return (await readRows(sql)).filter((row) => isOurs(seal, row))
}

/** Retires the key that signs and makes another. Throws Refused when somebody else just has. */
export async function rotateSigningKey(
  tx: Tx,
  needs: Omit<Needs, 'sql'>,
): Promise<{ before: string | null; after: SigningKey }> {
  const [retired] = await tx<{ id: string }>`
    update signing_key set retired_at = ${needs.clock.now()}, sealed_private_key = null
    where retired_at is null returning id`
  await markOldKeys(tx, needs.seal)
  const after = await insertKey(tx, needs)
  if (!after) throw refusal('Somebody else has just changed the key.')
  return { before: retired?.id ?? null, after }
}

/** Marks the keys again, and seals the private part again, where another sealing key than the
 *  current one has. Returns how many private parts that were. */
export async function resealSigningKey(tx: Tx, seal: Seal): Promise<number> {
  const rows = await readRows(tx)
  for (const row of rows.filter(({ mark }) => mark !== null && !seal.isCurrent(mark)))
    if (isOurs(seal, row))
      await tx`update signing_key set mark = ${markOf(seal, row)} where id = ${row.id}`
  let resealed = 0
  for (const { id, sealed_private_key } of rows) {
    if (sealed_private_key === null || seal.isCurrent(sealed_private_key)) continue
    const sealed = seal.seal(seal.open(sealed_private_key, contextOf(id)), contextOf(id))
    await tx`update signing_key set sealed_private_key = ${sealed} where id = ${id}`
    resealed += 1
  }
  return resealed
}
