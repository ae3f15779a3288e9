// Whether a call to a webhook of yours is from the service: Standard Webhooks 1.0.0, with HMAC
// (`v1`). Give the body as it came, byte for byte, and all secrets that are alive.

import { fromBase64, utf8, webCrypto } from './wire/crypto.ts'
import type { Event } from './wire/events.ts'

export type { Event, EventData, EventType } from './wire/events.ts'

/** An event, by its `type`. */
export type WebhookEvent = Event

/** As `fetch` or as Node has them. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }

export type WebhookOptions = {
  /** How far the time of the call may be from ours. */
  tolerance_seconds?: number
  /** Unix time in milliseconds. */
  now_ms?: number
}

/** The call is not from the service, or is too old. Answer it with 400. */
export class InvalidWebhook extends Error {
  override name = 'InvalidWebhook'
}

/** The standard's length of a secret. Anybody can guess an empty one. */
const SECRET_BYTES_MIN = 24

/** The event of a call that was signed with one of the secrets (`whsec_…`). Throws InvalidWebhook,
 *  and a TypeError when what is given is no secret. */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { tolerance_seconds = 300, now_ms = Date.now() }: WebhookOptions = {},
): Promise<WebhookEvent> {
  const id = header(headers, 'webhook-id')
  const timestamp = header(headers, 'webhook-timestamp')
  const signatures = header(headers, 'webhook-signature').split(' ')
  if (!/^\d{1,12}$/.test(timestamp))
    throw new InvalidWebhook('webhook-timestamp is not a Unix timestamp')
  if (Math.abs(now_ms / 1000 - Number(timestamp)) > tolerance_seconds)
    throw new InvalidWebhook('The call is too old, or its time is not yet')
  const bytes = typeof body === 'string' ? utf8(body) : new Uint8Array(body)
  const signed = joined(utf8(`${id}.${timestamp}.`), bytes)
  for (const secret of typeof secrets === 'string' ? [secrets] : secrets)
    for (const signature of signatures)
      if (await isSigned(signed, signature, secret))
        return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent
  throw new InvalidWebhook(
    'No signature matches. Pass the raw request body, and the secret that was shown as whsec_…',
  )
}

/** A call as the service makes it, for tests of your receiver: the body to send, and its headers.
 *  Throws a TypeError when the secret is none. */
export async function signTestWebhook(
  event: Partial<WebhookEvent>,
  secret: string,
  { id = `test_${Date.now()}`, now_ms = Date.now() }: { id?: string; now_ms?: number } = {},
): Promise<{ body: string; headers: Record<string, string> }> {
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor(now_ms / 1000))
  const { subtle } = await webCrypto()
  const key = await subtle.importKey('raw', keyOf(secret), HMAC, false, ['sign'])
  const digest = await subtle.sign('HMAC', key, utf8(`${id}.${timestamp}.${body}`))
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${base64(digest)}`,
  }
  return { body, headers }
}

const HMAC = { name: 'HMAC', hash: 'SHA-256' }

const base64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)))

function header(headers: WebhookHeaders, name: string): string {
  const get = headers.get
  const named = Object.keys(headers).find((one) => one.toLowerCase() === name) ?? name
  const value =
    typeof get === 'function'
      ? get.call(headers, name)
      : (headers as Record<string, string | readonly string[] | undefined>)[named]
  if (typeof value !== 'string' || value === '') throw new InvalidWebhook(`There is no ${name}`)
  return value
}

async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  signature: string,
  secret: string,
): Promise<boolean> {
  const [version, digest] = signature.split(',')
  if (version !== 'v1' || !digest || !/^[A-Za-z0-9+/]{43}=$/.test(digest)) return false
  const { subtle } = await webCrypto()
  const key_bytes = keyOf(secret)
  const key = await subtle.importKey('raw', key_bytes, HMAC, false, ['verify'])
  return subtle.verify('HMAC', key, fromBase64(digest), signed)
}

/** The key that a secret is. Throws a TypeError when it is none, as a variable that is not set. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  try {
    const key = fromBase64(secret.replace(/^whsec_/, ''))
    if (key.length >= SECRET_BYTES_MIN) return key
  } catch {}
  throw new TypeError('Not a webhook secret (expected whsec_…)')
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}
