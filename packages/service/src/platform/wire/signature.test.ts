import assert from 'node:assert/strict'
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { isSignature, isSignatureV2, keyV2, signature, signatureV2 } from './signature.ts'

const SECRET = 'secret'
const bytes = (text: string) => new TextEncoder().encode(text)

/** Bodies and what clients that exist send for them, signed with the secret `secret`. */
const VECTORS = [
  ['{}', '6826e169e270a699d36407a3e3f9c9bba4778bb9b27c99e99a0bf47762093d46'],
  ['[]', 'e83b5c00e0a8615480f9c880424c974bbed776e4074b8fb7527cd059893b14f6'],
  ['', '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b'],
  ['{"id":"tx-1"}', 'ba6baeab8c92f9b77d3ceca998dc37a75cdf7483d9ec53c364c5a850a5e59476'],
  ['{"id": "tx-1"}', 'd224685239131ef1ddee3303645d4a03ea19cf55b5125ffc0a2a183aeceabaf3'],
] as const

test('the signature is SHA-256 of the body followed by the secret', () => {
  for (const [body, expected] of VECTORS) {
    assert.equal(signature(bytes(body), SECRET), expected)
    assert.ok(isSignature(expected, bytes(body), SECRET))
  }
})

test('upper-case hexadecimal is accepted, and the digest of other bytes is not', () => {
  assert.ok(isSignature(VECTORS[0][1].toUpperCase(), bytes('{}'), SECRET))
  assert.ok(!isSignature(VECTORS[3][1], bytes('{"id": "tx-1"}'), SECRET))
  assert.ok(!isSignature(VECTORS[0][1], bytes('{}'), 'Secret'))
})

test('whatever is not 64 hexadecimal digits is no signature', () => {
  for (const given of [
    undefined,
    '',
    '0',
    VECTORS[0][1].slice(1),
    `${VECTORS[0][1]}0`,
    ` ${VECTORS[0][1]}`,
    'g'.repeat(64),
    '0'.repeat(64),
  ])
    assert.ok(!isSignature(given, bytes('{}'), SECRET))
})

const NOW = new Date('2026-10-08T15:26:32Z')
const STAMPED = {
  timestamp: '1791473192',
  nonce: 'n-1',
  method: 'POST',
  path: '/v1/balance',
  body: bytes('{}'),
}

test('the second signature is an HMAC over time, nonce, method, path and body', () => {
  assert.equal(Number(STAMPED.timestamp) * 1000, NOW.getTime())
  const key = Buffer.from(hkdfSync('sha256', SECRET, '', 'v2', 32))
  assert.deepEqual(Buffer.from(keyV2(SECRET)), key)
  const body_hash = createHash('sha256').update('{}').digest('hex')
  const text = `1791473192\nn-1\nPOST\n/v1/balance\n${body_hash}`
  assert.equal(
    signatureV2(keyV2(SECRET), STAMPED),
    createHmac('sha256', key).update(text).digest('hex'),
  )
})

test('the second signature has a known value, for clients in other languages', () => {
  assert.equal(
    signatureV2(keyV2(SECRET), STAMPED),
    'd23d46ce7301270dc99d1781a33df504b8fc8fd527c2950b9fbfefc30088fa9b',
  )
})

test('a change of any signed part breaks the second signature', () => {
  const key = keyV2(SECRET)
  const right = signatureV2(key, STAMPED)
  assert.ok(isSignatureV2(right, key, STAMPED, NOW))
  assert.ok(isSignatureV2(right.toUpperCase(), key, STAMPED, NOW))
  const changes = [
    { timestamp: '1791473193' },
    { nonce: 'n-2' },
    { method: 'GET' },
    { path: '/v1/services' },
    { body: bytes('{ }') },
    { idempotency_key: 'order-1' },
  ]
  for (const change of changes)
    assert.ok(!isSignatureV2(right, key, { ...STAMPED, ...change }, NOW))
  assert.ok(!isSignatureV2(right, keyV2('other'), STAMPED, NOW))
})

test('the second signature holds for 300 seconds on either side of its time', () => {
  const key = keyV2(SECRET)
  const right = signatureV2(key, STAMPED)
  const at = (seconds: number) =>
    isSignatureV2(right, key, STAMPED, new Date(NOW.getTime() + seconds * 1000))
  assert.deepEqual([-301, -300, 0, 300, 301].map(at), [false, true, true, true, false])
})

test('a time or a nonce of another form is refused even when it is signed', () => {
  const key = keyV2(SECRET)
  const fits = (change: Partial<typeof STAMPED>) => {
    const stamped = { ...STAMPED, ...change }
    return isSignatureV2(signatureV2(key, stamped), key, stamped, NOW)
  }
  for (const timestamp of [
    '',
    ' 1791473192',
    '1791473192.0',
    '0x6ac7',
    '1.791473192e9',
    '2026-10-08T15:26:32Z',
    '-1',
  ])
    assert.ok(!fits({ timestamp }), timestamp)
  for (const nonce of ['', 'a b', 'a\nb', 'é', 'n'.repeat(129)]) assert.ok(!fits({ nonce }), nonce)
  assert.ok(fits({ nonce: 'n'.repeat(128) }))
})

test('no other body has the signature of a body', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.uint8Array({ maxLength: 60 }),
      (one, other) => {
        const same = Buffer.compare(one, other) === 0
        assert.equal(isSignature(signature(one, SECRET), other, SECRET), same)
      },
    ),
  )
})
