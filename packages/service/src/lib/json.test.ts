import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Json, JsonError, money, OtherNumber, parseJson, printJson } from './json.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const parse = (text: string) => parseJson(bytes(text))
const refused = (text: string) => assert.throws(() => parse(text), JsonError, JSON.stringify(text))

/** JSON.parse() tells -0 from 0, which an integer here does not. */
const unsignedZero = (value: unknown) => (value === 0 ? 0 : value)

/** What JSON.parse() would have made of it. */
function plain(value: Json): unknown {
  if (value instanceof OtherNumber) return unsignedZero(JSON.parse(value.text))
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}

const REFUSED_KEYS = new Set(['__proto__', 'constructor', 'prototype'])
const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((s) => !s.includes('\0'))
const document = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger(),
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((n) => (n === 0 ? 0 : n)),
    text,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(
      text.filter((key) => !REFUSED_KEYS.has(key)),
      tie('value'),
      { maxKeys: 5, noNullPrototype: true },
    ),
  ),
})).value

test('every document without traps is read as by JSON.parse(), indented, escaped or not', () => {
  fc.assert(
    fc.property(document, fc.constantFrom(0, 2, '\t'), fc.boolean(), (value, indent, escaped) => {
      const printed = JSON.stringify(value, null, indent)
      const sent = escaped
        ? printed.replace(
            /[\u007f-\uffff]/g,
            (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
          )
        : printed
      assert.deepEqual(plain(parse(sent)), JSON.parse(printed))
    }),
    { numRuns: 500 },
  )
})

test('a zero with a sign is a zero; one with decimals or an exponent is no integer', () => {
  assert.ok(Object.is(parse('-0'), 0))
  for (const zero of ['-0.0', '-0e5', '-0E-7']) {
    const value = parse(zero)
    assert.ok(value instanceof OtherNumber)
    assert.equal(value.text, zero)
  }
})

test('bytes of any kind either read as JSON.parse() reads them or throw a JsonError', () => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    'u',
    'd800',
    '"a"',
    '1',
    '-',
    '0',
    '.',
    'e',
    'null',
    'true',
    ' ',
  ]
  const junk = fc.oneof(
    fc.array(fc.constantFrom(...pieces), { maxLength: 20 }).map((parts) => bytes(parts.join(''))),
    fc.uint8Array({ maxLength: 40 }),
  )
  fc.assert(
    fc.property(junk, (input) => {
      let value: Json
      try {
        value = parseJson(input)
      } catch (thrown) {
        assert.ok(thrown instanceof JsonError)
        return
      }
      const text = new TextDecoder('utf-8', { fatal: true }).decode(input)
      const same = JSON.parse(text, (_key, one) => unsignedZero(one))
      assert.deepEqual(plain(value), same)
    }),
    { numRuns: 3_000 },
  )
})

test('a valid document with one byte changed never throws anything but a JsonError', () => {
  const valid = bytes(
    '{"service":"energy","params":{"address":"TÜ\\u00e9","amounts":{"energy":65000},' +
      '"duration":1,"x":[1.5]}}',
  )
  fc.assert(
    fc.property(fc.nat(valid.length - 1), fc.nat(255), (at, byte) => {
      const changed = valid.slice()
      changed[at] = byte
      try {
        parseJson(changed)
      } catch (thrown) {
        assert.ok(thrown instanceof JsonError)
      }
    }),
    { numRuns: 3_000 },
  )
})

test('only integer literals within 2^53-1 become numbers', () => {
  assert.deepEqual(
    parse('[0, 7, -7, 65000, 9007199254740991, -9007199254740991]'),
    [0, 7, -7, 65000, 9007199254740991, -9007199254740991],
  )
  assert.ok(Object.is(parse('-0'), 0))
  for (const literal of [
    '1.0',
    '1e3',
    '1E0',
    '-0.0',
    '9007199254740992',
    '9007199254740993',
    '-9007199254740992',
    '1e400',
  ])
    assert.deepEqual(parse(literal), new OtherNumber(literal))
  assert.deepEqual(parse('1'.repeat(400)), new OtherNumber('1'.repeat(400)))
})

test('what is not JSON is refused', () => {
  const texts = [
    '',
    ' ',
    '{',
    '[',
    '[1,]',
    '{"a":1,}',
    '{"a"}',
    '{a:1}',
    "{'a':1}",
    '01',
    '-',
    '+1',
    '.5',
    '1.',
    '1e',
    'nul',
  ]
  for (const text of [
    ...texts,
    'NaN',
    'tru',
    '"',
    '"a',
    '"\\',
    '"\\u12"',
    '"\\x"',
    '"\n"',
    '"\\u000g"',
    '[1 2]',
    '{"a" 1}',
  ])
    refused(text)
})

test('trailing content is refused', () => {
  for (const text of ['{} {}', '1 2', '[]]', '{}x', 'nullnull', '{}\u00a0']) refused(text)
  assert.deepEqual(parse(' \r\n\t{ } \n'), {})
})

test('a key given twice is refused, also when one of them is escaped', () => {
  for (const text of ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"x":{"b":1,"b":null}}'])
    refused(text)
  assert.deepEqual(parse('{"a":{"a":1},"A":2}'), { a: { a: 1 }, A: 2 })
})

test('keys that reach a prototype are refused, and inherited names are ordinary keys', () => {
  for (const key of ['__proto__', 'constructor', 'prototype', '\\u005f_proto__'])
    for (const text of [`{"${key}":1}`, `[{"b":{"${key}":{}}}]`]) refused(text)
  assert.deepEqual(parse('{"toString":1,"hasOwnProperty":2}'), { toString: 1, hasOwnProperty: 2 })
})

test('nesting of 16 is read and of 17 refused', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  parse(nested(16))
  parse(objects(16))
  refused(nested(17))
  refused(objects(17))
  refused('['.repeat(60_000))
})

test('an object of 200 keys is read and of 201 refused', () => {
  const keys = (count: number) =>
    `{${Array.from({ length: count }, (_, i) => `"k${i}":${i}`).join(',')}}`
  assert.equal(Object.keys(parse(keys(200)) as object).length, 200)
  refused(keys(201))
})

test('text that is not well-formed Unicode is refused', () => {
  for (const text of ['"\\ud800"', '"\\udc00\\ud800"', '{"\\udfff":1}', '"\\u0000"', '\ufeff{}'])
    refused(text)
  assert.equal(parse('"\\ud83d\\ude00"'), '😀')
  for (const invalid of [
    [0xff],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0xef, 0xbb, 0xbf, 0x31],
    [0x22, 0xe2, 0x82, 0x22],
  ])
    assert.throws(() => parseJson(Uint8Array.from(invalid)), JsonError)
})

test('the error says where', () => {
  assert.throws(() => parse('{"a":1,"a":2}'), {
    name: 'JsonError',
    message: 'a key given twice at byte 7',
    byte: 7,
    is_json: true,
  })
})

test('the error counts bytes, and tells an early end from what is wrong', () => {
  const rows: [text: string | Uint8Array, message: string][] = [
    ['{"a":1', 'unexpected end at byte 6'],
    ['{"a":"é', 'unexpected end at byte 8'],
    ['', 'unexpected end at byte 0'],
    ['{"é":1,}', 'a key was expected at byte 8'],
    ['{"a":1} x', 'more after its end at byte 8'],
    ['{"a":"b\nc"}', 'a control character in a text at byte 7'],
    ['{"a":tru}', 'unexpected text at byte 5'],
    [Uint8Array.from([0x22, 0xc3, 0xa9, 0xff, 0x22]), 'invalid UTF-8 at byte 3'],
    [Uint8Array.from([0xff]), 'invalid UTF-8 at byte 0'],
  ]
  for (const [text, message] of rows) {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text
    assert.throws(() => parseJson(bytes), { name: 'JsonError', message })
  }
})

test('money prints as a number that is exactly the sun', () => {
  const printed = (sun: bigint) => printJson({ amount: money(sun) })
  assert.equal(printed(12_100_000n), '{"amount":12.1}')
  assert.equal(printed(0n), '{"amount":0}')
  assert.equal(printed(1n), '{"amount":0.000001}')
  assert.equal(printed(-1_500_000n), '{"amount":-1.5}')
  assert.equal(printed(9_007_199_254_740_993_000_001n), '{"amount":9007199254740993.000001}')
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (sun) => {
      const [, sign, whole, decimals = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(
        printJson(money(sun)),
      )!
      assert.equal(BigInt(`${sign}${whole}${decimals.padEnd(6, '0')}`), sun)
      assert.doesNotMatch(decimals, /0$/)
    }),
  )
})

test('a stray bigint or nothing at all does not print', () => {
  assert.throws(() => printJson({ amount_sun: 5n }), TypeError)
  assert.throws(() => printJson(undefined), TypeError)
})

test('a complaint names the byte where the fault begins', () => {
  const bytesOf = (text: string) => Buffer.from(text)
  for (const [bytes, byte] of [
    [bytesOf('{"a":"ж\\x"}'), 8],
    [bytesOf('{"a":"b\\u12"}'), 7],
    [bytesOf('{"a":"\\ud83d\\ude00 \\n \\ud800 b"}'), 22],
    [bytesOf('{"a":"\\\\u0000 \\u0000 b"}'), 14],
    [Buffer.concat([bytesOf('["'), Buffer.from([0xe2, 0x28]), bytesOf('"]')]), 2],
    [Buffer.concat([bytesOf('["\ufffdж'), Buffer.from([0xff]), bytesOf('"]')]), 7],
  ] as const)
    assert.throws(() => parseJson(bytes), { byte }, `${bytes}`)
})
