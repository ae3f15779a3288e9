// Receipts signed with Node's own Ed25519, and everything that is no receipt of the service.

import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { InvalidReceipt, verifyReceipt } from './receipts.ts'

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

const pair = (kid: string) => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return { key: privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' } }
}
const old = pair('2026-10')
const current = pair('2026-11')
const keys = { keys: [old.jwk, current.jwk] as never }

const HEADER = { alg: 'EdDSA', typ: 'penstock-receipt+json', kid: '2026-11' }
const RECEIPT = { receipt: 1, state: 'delivered', order: { id: 'o-1', amount: 2.93 } }

function signed(payload: object, header: object = HEADER, key: KeyObject = current.key): string {
  const text = `${base64url(header)}.${base64url(payload)}`
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
}

test('a receipt is what the key that it names has signed, an old key too', async () => {
  assert.deepEqual(await verifyReceipt(signed(RECEIPT), keys), RECEIPT)
  const before = signed(RECEIPT, { ...HEADER, kid: '2026-10' }, old.key)
  assert.deepEqual(await verifyReceipt(`${before}\n`, keys), RECEIPT)
})

test('no letter of a receipt can be altered', async () => {
  const jws = signed(RECEIPT)
  for (let at = 0; at < jws.length; at++) {
    if (jws[at] === '.') continue
    const other = jws[at] === 'A' ? 'B' : 'A'
    const altered = jws.slice(0, at) + other + jws.slice(at + 1)
    await assert.rejects(verifyReceipt(altered, keys), InvalidReceipt)
  }
  // The last letter of a signature has bits that mean nothing.
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const forms = [...letters].map((letter) => jws.slice(0, -1) + letter)
  const results = await Promise.allSettled(forms.map((form) => verifyReceipt(form, keys)))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
})

test('what is no receipt of the service is refused', async () => {
  const none = { keys: [] }
  await assert.rejects(verifyReceipt(signed(RECEIPT), none), InvalidReceipt)
  for (const jws of [
    '',
    'a.b',
    `${signed(RECEIPT)}.x`,
    `${signed(RECEIPT)}=`,
    signed(RECEIPT, { ...HEADER, alg: 'none' }),
    signed(RECEIPT, { ...HEADER, alg: 'HS256' }),
    signed(RECEIPT, { ...HEADER, typ: 'JWT' }),
    signed(RECEIPT, { ...HEADER, crit: ['b64'], b64: false }),
    signed(RECEIPT, { ...HEADER, kid: '2026-10' }),
    signed(RECEIPT, { ...HEADER, kid: undefined }),
    signed(RECEIPT, { ...HEADER, kid: '2027-01' }),
    signed({ ...RECEIPT, receipt: 2 }),
    signed(null as never, null as never),
    `e30.${signed(RECEIPT).split('.').slice(1).join('.')}`,
  ])
    await assert.rejects(verifyReceipt(jws, keys), InvalidReceipt, jws)
})

test('a JWS of another kind is refused, however right it is: the example of RFC 8037', async () => {
  const jws =
    'eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.' +
    'hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg'
  const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'
  const rfc = { keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid: 'rfc' }] }
  await assert.rejects(verifyReceipt(jws, rfc), /its header says something else/)
})
