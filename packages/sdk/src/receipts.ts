// Receipts: what an order got on the chain, as a JWS (EdDSA) that proves itself with the public
// keys of the service, which stand at `/.well-known/jwks.json`. Any other JOSE library can do the
// same.

import { fromBase64, utf8, webCrypto } from './wire/crypto.ts'

export type Receipt = {
  receipt: 1
  state: 'delivered' | 'solid' | 'ended'
  service: string
  network: string | null
  issued_at: string
  order: {
    id: string
    external_id: string | null
    service: string
    params: Record<string, unknown>
    amount: number
    created_at: string
  }
  activation: {
    hash: string
    block_number: number
    block_id: string | null
    block_time: string
  } | null
  parts: {
    resource: string
    amount: number
    stake_sun: number
    units_of_stake: number | null
    hash: string
    block_number: number
    block_id: string | null
    block_time: string
    expires_at: string
    reclaim_hash: string | null
    reclaim_block_number: number | null
  }[]
  entries: { id: string; kind: string; amount: number; number: number }[]
  seal: { number: number; sha256: string } | null
}

/** Public keys, as `/.well-known/jwks.json` has them. */
export type Jwks = {
  readonly keys: readonly {
    readonly kty: string
    readonly crv?: string
    readonly x?: string
    readonly kid?: string
  }[]
}

/** It is no receipt, or not one of this service. */
export class InvalidReceipt extends Error {
  override name = 'InvalidReceipt'
}

const TYPE = 'penstock-receipt+json'

/** The content of a receipt that one of the keys has signed. Throws InvalidReceipt. */
export async function verifyReceipt(jws: string, { keys }: Jwks): Promise<Receipt> {
  const parts = jws.trim().split('.')
  const [protected_header = '', payload = '', signature = ''] = parts
  if (parts.length !== 3) throw new InvalidReceipt('It does not have three parts')
  const { alg, typ, kid, crit } = objectOf(protected_header) as Record<string, unknown>
  if (alg !== 'EdDSA' || typ !== TYPE || crit !== undefined)
    throw new InvalidReceipt('It is no receipt: its header says something else')
  const key = keys.find((one) => one.kid === kid && one.kty === 'OKP' && one.crv === 'Ed25519')
  if (!kid || !key) throw new InvalidReceipt('No key of the service has signed it')
  const { subtle } = await webCrypto()
  const how = { name: 'Ed25519' }
  const imported = await subtle.importKey('raw', bytesOf(key.x ?? ''), how, false, ['verify'])
  const signed = utf8(`${protected_header}.${payload}`)
  if (!(await subtle.verify(how, imported, bytesOf(signature), signed)))
    throw new InvalidReceipt('Its signature is wrong')
  const receipt = objectOf(payload) as Receipt
  if (receipt.receipt !== 1) throw new InvalidReceipt('It is of a form that is not known here')
  return receipt
}

/** Bytes of base64url, of which there is one text only. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const standard = text.replaceAll('-', '+').replaceAll('_', '/')
  try {
    if (/[+/=]/.test(text)) throw new Error()
    const bytes = fromBase64(standard)
    // Bits that are left over in the last letter change nothing, so they must be zero.
    if (btoa(String.fromCharCode(...bytes)).replace(/=+$/, '') === standard) return bytes
  } catch {}
  throw new InvalidReceipt('It is not base64url')
}

function objectOf(text: string): object {
  try {
    const read = new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(text))
    return Object(JSON.parse(read)) as object
  } catch {
    throw new InvalidReceipt('It has no JSON')
  }
}
