// An authenticator in software: makes a passkey and answers challenges, as a browser writes them.
// Each part of an answer can be altered before it is signed, or after.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url')
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest()

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const HAS_CREDENTIAL = 0x40

/** A byte string, or a text, in CBOR. */
const head = (major: number, length: number) =>
  length < 24
    ? Buffer.from([(major << 5) | length])
    : length < 256
      ? Buffer.from([(major << 5) | 24, length])
      : Buffer.from([(major << 5) | 25, length >> 8, length & 0xff])
const bytesOf = (bytes: Uint8Array) => Buffer.concat([head(2, bytes.length), bytes])
const textOf = (text: string) => Buffer.concat([head(3, text.length), Buffer.from(text)])

export type Options = Record<string, unknown> & { challenge: string }

export type Alteration = {
  origin?: string
  type?: string
  challenge?: string
  crossOrigin?: boolean
  topOrigin?: string
  rp_id?: string
  flags?: number
  counter?: number
  id?: string
  /** Signs with a key of somebody else. */
  stranger?: boolean
  /** Changes what is signed, after it was. */
  after?: (response: Record<string, string>) => void
}

export class Authenticator {
  readonly id = base64url(randomBytes(32))
  readonly origin: string
  counter = 0
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  constructor(origin = 'https://api.example.com') {
    this.origin = origin
  }

  /** What navigator.credentials.create() gives. */
  create(options: Options, altered: Alteration = {}) {
    const { x, y } = this.keys.publicKey.export({ format: 'jwk' }) as { x: string; y: string }
    // kty EC2, alg ES256, crv P-256, x, y
    const key = Buffer.concat([
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
      bytesOf(Buffer.from(x, 'base64url')),
      Buffer.from([0x22]),
      bytesOf(Buffer.from(y, 'base64url')),
    ])
    const id = Buffer.from(this.id, 'base64url')
    const length = Buffer.from([id.length >> 8, id.length & 0xff])
    const credential = Buffer.concat([Buffer.alloc(16), length, id, key])
    const flags = USER_PRESENT | USER_VERIFIED | HAS_CREDENTIAL
    const data = Buffer.concat([this.data({ flags, ...altered }), credential])
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      textOf('fmt'),
      textOf('none'),
      textOf('attStmt'),
      Buffer.from([0xa0]),
      textOf('authData'),
      bytesOf(data),
    ])
    const client = this.client('webauthn.create', options, altered)
    const response = {
      clientDataJSON: base64url(client),
      attestationObject: base64url(attestation),
      transports: ['internal'],
    }
    return { id: this.id, rawId: this.id, type: 'public-key', response }
  }

  /** What navigator.credentials.get() gives. */
  get(options: Options, altered: Alteration = {}) {
    this.counter += 1
    const data = this.data({ counter: this.counter, ...altered })
    const client = this.client('webauthn.get', options, altered)
    const signed = Buffer.concat([data, sha256(client)])
    const response: Record<string, string> = {
      clientDataJSON: base64url(client),
      authenticatorData: base64url(data),
      signature: base64url(sign('sha256', signed, this.signer(altered))),
    }
    altered.after?.(response)
    const id = altered.id ?? this.id
    return { id, rawId: id, type: 'public-key', response }
  }

  private signer({ stranger = false }: Alteration): KeyObject {
    return stranger
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
      : this.keys.privateKey
  }

  private data({ rp_id, flags = USER_PRESENT | USER_VERIFIED, counter = 0 }: Alteration): Buffer {
    const counted = Buffer.alloc(4)
    counted.writeUInt32BE(counter)
    const name = rp_id ?? new URL(this.origin).hostname
    return Buffer.concat([sha256(name), Buffer.from([flags]), counted])
  }

  private client(type: string, { challenge }: Options, altered: Alteration): string {
    const { topOrigin } = altered
    return JSON.stringify({
      type: altered.type ?? type,
      challenge: altered.challenge ?? challenge,
      origin: altered.origin ?? this.origin,
      crossOrigin: altered.crossOrigin ?? false,
      ...(topOrigin !== undefined && { topOrigin }),
    })
  }
}
