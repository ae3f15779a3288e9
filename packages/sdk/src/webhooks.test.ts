// Calls to a webhook: those of the service are taken, everything else is refused.

import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { InvalidWebhook, signTestWebhook, verifyWebhook } from './webhooks.ts'

/** The example of the documentation of Standard Webhooks. */
const EXAMPLE = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  body: '{"test": 2432232314}',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  now_ms: 1_614_265_330_000,
}

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`

/** A call as the service makes it, signed with each secret. */
function signed(body: string, ...secrets: string[]) {
  const id = `e-${randomBytes(8).toString('hex')}`
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

test('the published example of Standard Webhooks is taken', async () => {
  const { body, headers, secret, now_ms } = EXAMPLE
  assert.deepEqual(await verifyWebhook(body, headers, secret, { now_ms }), { test: 2432232314 })
})

test('a call is taken while one of its secrets is ours, whatever form it comes in', async () => {
  const [old, fresh, other] = [newSecret(), newSecret(), newSecret()]
  const body = '{"type":"order.succeeded","id":"e-1","number":412,"data":{"name":"Ö 😀"}}'
  for (const secrets of [[old], [fresh], [old, fresh]]) {
    const headers = signed(body, ...secrets)
    for (const ours of [
      [old, fresh],
      [fresh, other, old],
    ]) {
      const event = await verifyWebhook(body, headers, ours)
      assert.deepEqual([event.type, event.number], ['order.succeeded', 412])
    }
    await assert.rejects(verifyWebhook(body, headers, other), InvalidWebhook)
    await assert.rejects(verifyWebhook(body, headers, []), InvalidWebhook)
  }
  const headers = signed(body, old)
  const named = {
    'Webhook-Id': headers['webhook-id'],
    'WEBHOOK-TIMESTAMP': headers['webhook-timestamp'],
  }
  const odd = { ...named, 'Webhook-Signature': headers['webhook-signature'] }
  const bytes = new TextEncoder().encode(body)
  for (const form of [headers, new Headers(headers), odd])
    for (const given of [body, bytes, bytes.buffer, Buffer.from(body)])
      assert.equal((await verifyWebhook(given, form, old)).id, 'e-1')
})

test('a call with anything altered, left out or out of date is refused', async () => {
  const secret = newSecret()
  const body = '{"type":"order.succeeded"}'
  const headers = signed(body, secret)
  const refuses = (given: string, altered: object, options = {}) =>
    assert.rejects(
      verifyWebhook(given, { ...headers, ...altered }, secret, options),
      InvalidWebhook,
      JSON.stringify(altered),
    )
  await refuses(`${body} `, {})
  await refuses('', {})
  const now = Number(headers['webhook-timestamp'])
  const [right] = headers['webhook-signature'].split(' ')
  for (const altered of [
    { 'webhook-id': 'e-2' },
    { 'webhook-id': undefined },
    { 'webhook-timestamp': String(now + 1) },
    { 'webhook-timestamp': `${now}.0` },
    { 'webhook-timestamp': '' },
    { 'webhook-signature': '' },
    { 'webhook-signature': [right, right] },
    { 'webhook-signature': right!.replace('v1,', 'v2,') },
    { 'webhook-signature': right!.replace('v1,', '') },
    { 'webhook-signature': `v1,${'A'.repeat(43)}=` },
    { 'webhook-signature': 'v1,' },
    { 'webhook-signature': `v1a,${right!.slice(3)}` },
  ])
    await refuses(body, altered)
  for (const seconds of [-302, 302]) await refuses(body, {}, { now_ms: (now + seconds) * 1000 })
  for (const seconds of [-299, 299])
    await verifyWebhook(body, headers, secret, { now_ms: (now + seconds) * 1000 })
  await refuses(body, {}, { now_ms: (now + 11) * 1000, tolerance_seconds: 10 })
})

test('what is no secret takes nothing, though somebody signs with it', async () => {
  const body = '{"type":"order.succeeded"}'
  for (const secret of ['', 'whsec_', 'null', 'whsec_AAAA', 'undefined'])
    await assert.rejects(verifyWebhook(body, signed(body, secret), secret), TypeError, secret)
  const [none] = [undefined] as unknown as [string]
  await assert.rejects(verifyWebhook(body, signed(body, newSecret()), none), TypeError)
})

test('a call that is signed for a test is taken, and with another secret it is not', async () => {
  const [secret, other] = [newSecret(), newSecret()]
  const { body, headers } = await signTestWebhook({ type: 'order.succeeded', number: 7 }, secret)
  const event = await verifyWebhook(body, headers, secret)
  assert.deepEqual([event.type, event.number], ['order.succeeded', 7])
  await assert.rejects(verifyWebhook(body, headers, other), InvalidWebhook)
  const old = await signTestWebhook({}, secret, { now_ms: Date.now() - 600_000 })
  await assert.rejects(verifyWebhook(old.body, old.headers, secret), /too old/)
  await assert.rejects(signTestWebhook({}, 'whsec_short'), TypeError)
})
