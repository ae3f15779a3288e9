import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hiderOf, holdsSecret, plainValue, withoutSecrets } from './secrets.ts'

const RANDOM = 'aB3-dE_fGh1jKlMn0pQrStUvWxYz2AbCdEfGh4iJkLm'
const BASE64 = 'Zm9vYmFyYmF6+XV4cXV1eGNvcmdlZ3JhdWx0Z2FycGE='
const HEX = '9f'.repeat(32)
const WORDS = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const XPRV = `xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPP${'q'.repeat(56)}`

test('a secret is left out, wherever in a text it stands, with its prefix and without', () => {
  for (const [text, shown] of [
    [`pss_${RANDOM}`, 'pss_…'],
    [`pst_${RANDOM}`, 'pst_…'],
    [`psp_${RANDOM}`, 'psp_…'],
    [`whsec_${BASE64}`, 'whsec_…'],
    [RANDOM, '…'],
    [BASE64, '…'],
    [BASE64.slice(0, -1), '…'],
    [HEX, '…'],
    [`0x${HEX.toUpperCase()}`, '0x…'],
    [HEX + HEX, '…'],
    [XPRV, '…'],
    ['postgres://anna:hunter2@db.example/x', 'postgres://anna:…@db.example/x'],
  ] as const) {
    assert.equal(withoutSecrets(text), shown)
    assert.equal(withoutSecrets(`before "${text}", after`), `before "${shown}", after`)
    assert.ok(holdsSecret(text, { field: 'params.address' }), text)
  }
})

test('the words of a wallet are left out, with what stands beside them', () => {
  for (const words of [WORDS, WORDS.replaceAll(' ', ', ').toUpperCase()])
    for (const text of [words, `The key 1: ${words}`])
      assert.ok(!/winner|wave/i.test(withoutSecrets(text)), text)
})

test('what is no secret stays', () => {
  for (const text of [
    'TRX9aJKRHkVTAuz4dUMwcyCJuiaXh4vYpL',
    '01jtest0000000000000000000',
    '0d5a1f34-5bde-4a62-8e54-0fd0ff0a6f2d',
    'https://example.com/hooks/orders/of/the/shop/that/sells/Energy/v2?x=1',
    'at read (file:///opt/Penstock2/packages/service/src/subscriptions/starting.ts:120:9)',
    'a-name-of-mine-that-is-long-but-has-no-capitals-at-all-1',
    'the chain has not been asked about these orders since then, so they wait for it still now',
  ])
    assert.equal(withoutSecrets(text), text)
})

test('64 hexadecimal digits are a hash where hashes stand, and a key elsewhere', () => {
  for (const field of ['hash', 'tx_id', 'params.tx_id', 'body_sha256', 'error'])
    assert.equal(withoutSecrets(HEX, { field }), HEX)
  for (const field of ['params.address', 'external_id', 'path', 'id', undefined])
    assert.equal(withoutSecrets(HEX, { field }), '…')
  assert.equal(withoutSecrets(`pss_${RANDOM}`, { field: 'hash' }), 'pss_…')
})

test('what stands in the field of a secret is one, and twelve words in any language', () => {
  for (const field of ['password', 'new_password', 'poll_secret', 'session_token', 'code'])
    assert.equal(withoutSecrets('abc', { field }), '…')
  const russian = Array.from({ length: 12 }, () => 'слово').join(' ')
  assert.equal(plainValue(russian, { field: 'name' }), '…')
  // A sentence of our own has as many words.
  assert.equal(withoutSecrets(russian, { field: 'error' }), russian)
})

test('the secrets of a key are left out in pieces, and whatever stands around them', () => {
  const secret = `pss_${RANDOM}`
  const hideOwn = hiderOf([secret])
  for (const text of [secret, RANDOM, `xx${RANDOM}yy`, RANDOM.slice(8, 22), RANDOM.slice(0, 12)])
    assert.equal(withoutSecrets(`a ${text} z`, { hideOwn }), 'a … z')
  for (const text of ['aB3', RANDOM.slice(0, 11), 'TRX9aJKRHkVTAuz4dUMwcyCJuiaXh4vYpL'])
    assert.equal(withoutSecrets(text, { hideOwn }), text)
})
