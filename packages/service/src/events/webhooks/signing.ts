// What a webhook's call carries so that its receiver can tell that it is ours: the headers of
// Standard Webhooks 1.0.0, an HMAC for each secret that is alive.

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { Random } from '../../lib/ids.ts'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** `whsec_` and 32 random bytes in base64: shown once, and kept sealed. */
export const newWebhookSecret = (random: Random): string =>
  `${PREFIX}${Buffer.from(random.bytes(SECRET_BYTES)).toString('base64')}`

/** The value of `webhook-signature` for one call. `id`, the same for every call of one event, the
 *  Unix time of this call in seconds, and the body are signed together. */
function webhookSignature(
  keys: readonly KeyObject[],
  { id, seconds, body }: { id: string; seconds: number; body: string },
): string {
  const sign = (key: KeyObject) =>
    createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
  return keys.map((key) => `v1,${sign(key)}`).join(' ')
}

/** The key that a secret stands for. */
export const signingKey = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(secret.slice(PREFIX.length), 'base64'))

/** The headers of one call. */
export function webhookHeaders(
  keys: readonly KeyObject[],
  event: { id: string; body: string },
  at: Date,
): Record<string, string> {
  const seconds = Math.floor(at.getTime() / 1_000)
  return {
    'content-type': 'application/json',
    'webhook-id': event.id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': webhookSignature(keys, { ...event, seconds }),
  }
}
