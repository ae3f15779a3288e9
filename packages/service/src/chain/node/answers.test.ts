import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Outage } from '../../lib/fault.ts'
import {
  addressOf,
  assetOf,
  fieldsOf,
  hex,
  integer,
  isBusyAnswer,
  listOf,
  parseNodeJson,
  plain,
  signed,
  text,
} from './answers.ts'

test('64-bit integers come back whole, wherever they stand; small ones are plain numbers', () => {
  const value = parseNodeJson(
    '{"a":9223372036854775807,"b":[9007199254740993,-9007199254740993,12],"c":{"d":1}}',
    'x',
  )
  assert.deepEqual(value, {
    a: 2n ** 63n - 1n,
    b: [2n ** 53n + 1n, -(2n ** 53n) - 1n, 12],
    c: { d: 1 },
  })
})

test('long digits inside of text, and fractions, stay what they are', () => {
  const text =
    '{"name":"12345678901234567890","raw":"a:[12345678901234567890",' +
    '"f":0.1234567890123456789,"e":1e20}'
  assert.deepEqual(parseNodeJson(text, 'x'), JSON.parse(text))
})

test('every integer of 64 bits survives', () => {
  fc.assert(
    fc.property(
      fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
      fc.constantFrom(' ', '', '\n'),
      (value, blank) => {
        const { n } = parseNodeJson(`{"n":${blank}${value}}`, 'x') as { n: number | bigint }
        assert.equal(BigInt(n), value)
        assert.equal(typeof n, Number.isSafeInteger(Number(value)) ? 'number' : 'bigint')
      },
    ),
  )
})

test('what is not JSON is an outage, and says where', () => {
  for (const body of ['', '<html>', '{"a":', 'undefined']) {
    assert.throws(
      () => parseNodeJson(body, '/wallet/getblock'),
      (thrown) => {
        assert.ok(thrown instanceof Outage)
        assert.match(thrown.message, /\/wallet\/getblock/)
        return true
      },
    )
  }
})

const outage = (read: () => unknown) => assert.throws(read, Outage)

test('a field of another kind than it should be is an outage', () => {
  for (const value of [null, [], 'x', 5, undefined, true]) outage(() => fieldsOf(value, 'x'))
  for (const value of [null, {}, 'x', 5, undefined]) outage(() => listOf(value, 'x'))
  for (const value of [null, {}, [], 5, undefined]) outage(() => text(value, 'x'))
  for (const value of [null, 'ab', 'abcdef', 'ABCD', 'abcg', 'ab d', 5])
    outage(() => hex(value, 4, 'x'))
  for (const value of [null, '5', 1.5, -1, -1n, Number.NaN, 1e300, 2 ** 53, {}, undefined]) {
    outage(() => integer(value, 'x'))
  }
  for (const value of [null, '5', 1.5, 2 ** 53, {}, undefined]) outage(() => signed(value, 'x'))
  assert.deepEqual(fieldsOf({ a: 1 }, 'x'), { a: 1 })
  assert.deepEqual(listOf([1], 'x'), [1])
  assert.equal(hex('ab01', 4, 'x'), 'ab01')
  assert.equal(integer(0, 'x'), 0)
  assert.equal(integer(2n ** 60n, 'x'), 2n ** 60n)
  assert.equal(signed(-1, 'x'), -1)
})

test('what says that too much is asked is short, and has the status for it', () => {
  const no_resources = (length: number) => 'lack of computing resources'.padEnd(length, ' ')
  for (const [is_busy, status, body] of [
    [true, 429, ''],
    [true, 503, ''],
    [true, 403, 'rate limit'],
    [false, 403, 'no'],
    [false, 200, 'rate limit'],
    [false, 500, 'rate limit'],
    [true, 200, no_resources(499)],
    [false, 200, no_resources(500)],
    [false, 500, no_resources(40)],
    [false, 200, 'else'],
  ] as const)
    assert.equal(isBusyAnswer({ status, body }), is_busy, `${status} ${body}`)
})

test('the number of an asset and a message are read from hexadecimal, others as they are', () => {
  assert.equal(assetOf('31303030303031', 'x'), '1000001')
  assert.equal(assetOf('6162', 'x'), '6162')
  assert.equal(assetOf('z'.repeat(70), 'x'), 'z'.repeat(64))
  assert.equal(plain('6e6f'), 'no')
  assert.equal(plain('no'), 'no')
})

test('an address is read in either form, and anything else is an outage', () => {
  const address = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'
  assert.equal(addressOf(address, 'x'), address)
  assert.equal(addressOf('41a614f803b6fd780986a42c78ec9c7f77e6ded13c', 'x'), address)
  for (const value of ['', 'T123', '41a6', 5]) outage(() => addressOf(value, 'x'))
})
