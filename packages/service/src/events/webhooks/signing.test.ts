// Anyone who follows Standard Webhooks can tell that a call is ours: judged by the package of that
// name, with the old secret, the new one, and both.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook as Verifier } from 'standardwebhooks'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { newWebhookSecret, signingKey, webhookHeaders } from './signing.ts'

const BODIES = 10_000

/** Texts of all kinds, as customers name things. */
const NAMES = ['order-42', 'заказ', '订单 7', '😀', 'a"b\\c', '\u2028', '', 'x'.repeat(300)]

test('10,000 bodies are verified with the old secret, the new one and both', () => {
  const clock = { now: () => new Date() }
  const new_id = idMaker(clock, systemRandom)
  const secrets = () => [newWebhookSecret(systemRandom), newWebhookSecret(systemRandom)] as const
  const [old, fresh] = secrets()
  const [stranger] = secrets()
  const [by_old, by_fresh, by_stranger] = [old, fresh, stranger].map((one) => new Verifier(one))
  const verifies = (verifier: Verifier, body: string, headers: Record<string, string>) => {
    try {
      verifier.verify(body, headers)
      return true
    } catch {
      return false
    }
  }
  for (let i = 0; i < BODIES; i++) {
    const id = new_id()
    const body = JSON.stringify({ type: 'order.succeeded', id, number: i, name: NAMES[i % 8] })
    const alive = [[old], [fresh], [fresh, old]][i % 3]!
    const headers = webhookHeaders(alive.map(signingKey), { id, body }, new Date())
    assert.equal(verifies(by_old!, body, headers), alive.includes(old), `${i} by the old one`)
    assert.equal(verifies(by_fresh!, body, headers), alive.includes(fresh), `${i} by the new one`)
    assert.equal(verifies(by_stranger!, body, headers), false)
    const verifier = alive.includes(fresh) ? by_fresh! : by_old!
    const seconds = Number(headers['webhook-timestamp'])
    const altered: [string, Record<string, string>][] = [
      [body.replace(`"number":${i}`, `"number":${i + 1}`), headers],
      [body, { ...headers, 'webhook-id': new_id() }],
      [body, { ...headers, 'webhook-timestamp': String(seconds + 1) }],
    ]
    for (const [given, with_headers] of altered)
      assert.equal(verifies(verifier, given, with_headers), false, `${i} altered`)
  }
})

test('what is old is refused by the time that it carries', () => {
  const secret = newWebhookSecret(systemRandom)
  const event = { id: 'x', body: '{}' }
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000)
  const verifier = new Verifier(secret)
  assert.throws(
    () => verifier.verify('{}', webhookHeaders([signingKey(secret)], event, ago(600))),
    /old/,
  )
  assert.ok(verifier.verify('{}', webhookHeaders([signingKey(secret)], event, ago(60))))
})
