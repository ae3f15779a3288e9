// Why a signature may be wrong: mostly it is right for other bytes than those that were sent,
// because a client has signed before it printed, or has printed twice. This is worked out after the
// answer, so that neither the answer nor its time say anything about it, and shown to the key's
// customer alone.

import { createHash } from 'node:crypto'
import type { Tx } from '../../platform/database/sql.ts'
import type { RefusedCall } from '../../platform/http/calls.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import { isSignature } from '../../platform/wire/signature.ts'
import { sealContext } from '../keys/keys.ts'

/** `right_for`: which other body the signature is right for, if it is one of these. */
export type SignatureHint = {
  hashed_bytes: number
  body_sha256: string
  right_for: 'empty' | '{}' | 'no_final_newline' | 'reprinted' | null
}

/** The secrets that are alive of each of these keys. */
export type SecretsOf = (tx: Tx, key_ids: readonly string[]) => Promise<Map<string, string[]>>

export const secretReader =
  (seal: Pick<Seal, 'open'>): SecretsOf =>
  async (tx, key_ids) => {
    if (key_ids.length === 0) return new Map()
    const rows = await tx<{ id: string; sealed: string[] }>`
      select id, array_remove(array[sealed_secret, old_sealed_secret], null) as sealed
      from api_key where id = any(${key_ids})`
    return new Map(
      rows.map(({ id, sealed }) => [id, sealed.map((one) => seal.open(one, sealContext(id)))]),
    )
  }

/** Undefined unless it was the signature that was wrong. */
export function hintOf(
  { body, signature }: Pick<RefusedCall, 'body' | 'signature'>,
  secrets: readonly string[],
): SignatureHint | undefined {
  if (signature === undefined) return undefined
  const others = [
    ['empty', ''],
    ['{}', '{}'],
    [
      'no_final_newline',
      Buffer.from(body)
        .toString()
        .replace(/\r?\n$/, ''),
    ],
    ['reprinted', reprinted(body)],
  ] as const
  const right = others.find(([, text]) =>
    secrets.some(
      (secret) => text !== undefined && isSignature(signature, Buffer.from(text), secret),
    ),
  )
  return {
    hashed_bytes: body.length,
    body_sha256: createHash('sha256').update(body).digest('hex'),
    right_for: right?.[0] ?? null,
  }
}

/** The same JSON without blanks. */
function reprinted(body: Uint8Array): string | undefined {
  try {
    return JSON.stringify(JSON.parse(Buffer.from(body).toString()))
  } catch {
    return undefined
  }
}
