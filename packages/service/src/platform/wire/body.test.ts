import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type TSchema, Type } from 'typebox'
import { Fault, fault } from '../../lib/fault.ts'
import { OtherNumber, parseJson } from '../../lib/json.ts'
import { bodyReader, InvalidParams, parseBody, unchecked } from './body.ts'

const BadAddress = fault(10, 'bad_address', 'Bad address')
const BadAmount = fault(11, 'bad_amount', 'Bad amount')

const bytes = (text: string) => new TextEncoder().encode(text)
const read = (schema: TSchema, text: string) => bodyReader(schema)(parseBody(bytes(text)))
/** The code and key that a body is refused with. */
function refusal(schema: TSchema, text: string): string {
  try {
    return `accepted ${JSON.stringify(read(schema, text))}`
  } catch (thrown) {
    if (thrown instanceof Fault) return `${thrown.code} ${thrown.key}`
    throw thrown
  }
}

const Order = Type.Object({
  external_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4,
      fault: () => InvalidParams('external_id', 'Invalid external_id'),
    }),
  ),
  service: Type.Union([Type.Literal('energy'), Type.Literal('bandwidth')]),
  params: Type.Object({
    address: Type.String({ pattern: '^T', fault: BadAddress }),
    amount: Type.Integer({ minimum: 1, maximum: 100, fault: BadAmount }),
    activate: Type.Optional(Type.Boolean()),
  }),
})
const order = (change: string) =>
  `{"service":"energy","params":{"address":"T1","amount":5}${change}}`

test('what fits is handed over, without what the schema does not declare', () => {
  const text =
    '{"x":1,"service":"energy",' +
    '"params":{"y":[],"address":"T1","amount":5,"activate":true},"external_id":"a"}'
  assert.deepEqual(read(Order, text), {
    external_id: 'a',
    service: 'energy',
    params: { address: 'T1', amount: 5, activate: true },
  })
})

test('the first failing field in the order of the schema gives its fault', () => {
  assert.equal(
    refusal(Order, '{"params":{},"service":"gas","external_id":7}'),
    '2 invalid_service_or_params.external_id',
  )
  assert.equal(refusal(Order, '{"params":{},"service":"gas"}'), '2 invalid_service_or_params')
  assert.equal(
    refusal(Order, '{"params":{"amount":"x","address":5},"service":"energy"}'),
    '10 bad_address',
  )
  assert.equal(
    refusal(Order, '{"params":{"amount":"x","address":"T"},"service":"energy"}'),
    '11 bad_amount',
  )
  assert.equal(
    refusal(Order, '{"params":{"amount":1,"address":"T","activate":1},"service":"energy"}'),
    '2 invalid_service_or_params',
  )
})

test('a refusal says how much there must be, by whichever bounds there are', () => {
  const ranges: [schema: TSchema, must: string][] = [
    [Type.String(), 'text'],
    [Type.String({ minLength: 2 }), 'text of at least 2 characters'],
    [Type.String({ maxLength: 5 }), 'text of at most 5 characters'],
    [Type.String({ minLength: 2, maxLength: 5 }), 'text of 2 to 5 characters'],
    [Type.String({ minLength: 5, maxLength: 5 }), 'text of 5 characters'],
    [Type.Integer(), 'an integer'],
    [Type.Integer({ minimum: 2 }), 'an integer of at least 2'],
    [Type.Integer({ maximum: 5 }), 'an integer of at most 5'],
    [Type.Integer({ minimum: 2, maximum: 5 }), 'an integer from 2 to 5'],
    [Type.Array(Type.Boolean(), { maxItems: 5 }), 'a list of at most 5 items'],
  ]
  for (const [schema, must] of ranges)
    assert.throws(
      () => read(Type.Object({ field: schema }), '{"field":{}}'),
      (thrown: Fault) => {
        assert.deepEqual(thrown.about, { param: 'field', must })
        return true
      },
    )
})

test('a required field that is absent gives its own fault', () => {
  assert.equal(refusal(Order, '{"service":"energy","params":{"amount":5}}'), '10 bad_address')
  assert.equal(refusal(Order, '{"service":"energy","params":{"address":"T"}}'), '11 bad_amount')
  assert.equal(refusal(Order, '{"service":"energy","params":null}'), '2 invalid_service_or_params')
  assert.equal(refusal(Order, '{"service":"energy","params":[]}'), '2 invalid_service_or_params')
})

test('empty text and null leave an optional field out, and "0" is a value', () => {
  for (const empty of ['""', 'null'])
    assert.ok(
      !Object.hasOwn(read(Order, order(`,"external_id":${empty}`)) as object, 'external_id'),
    )
  assert.equal(
    (read(Order, order(',"external_id":"0"')) as { external_id: string }).external_id,
    '0',
  )
})

test('an integer is an integer literal within its bounds', () => {
  const schema = Type.Object({ n: Type.Integer({ minimum: -2, maximum: 3 }) })
  assert.deepEqual(read(schema, '{"n":-2}'), { n: -2 })
  for (const n of [
    '1.0',
    '1e0',
    '"1"',
    'true',
    'null',
    '[]',
    '4',
    '-3',
    '9007199254740993',
    '{}',
    '""',
  ])
    assert.equal(refusal(schema, `{"n":${n}}`), '2 invalid_service_or_params', n)
})

test('the length of text is counted in characters, not in UTF-16 units', () => {
  const schema = Type.Object({ text: Type.String({ minLength: 2, maxLength: 3 }) })
  for (const text of ['ab', 'abc', '😀😀😀'])
    assert.deepEqual(read(schema, JSON.stringify({ text })), { text })
  for (const text of ['', 'a', '😀', 'abcd', '😀😀😀😀'])
    assert.notEqual(refusal(schema, JSON.stringify({ text })).indexOf('2 '), -1)
})

test('arrays and literals are checked item by item', () => {
  const schema = Type.Object({
    list: Type.Array(Type.Enum(['a', 'b']), { minItems: 1, maxItems: 2 }),
  })
  assert.deepEqual(read(schema, '{"list":["a","b"]}'), { list: ['a', 'b'] })
  for (const list of ['[]', '["a","a","a"]', '["c"]', '"a"', '{"0":"a"}', '[null]'])
    assert.equal(refusal(schema, `{"list":${list}}`), '2 invalid_service_or_params')
})

test('a field that the handler judges is handed over as it came', () => {
  const schema = Type.Object({
    address: unchecked(Type.String({ minLength: 34, description: 'an address' })),
    amount: Type.Optional(unchecked(Type.Integer())),
  })
  assert.deepEqual(read(schema, '{}'), { address: undefined })
  assert.deepEqual(read(schema, '{"address":[1.5],"amount":""}'), {
    address: [new OtherNumber('1.5')],
  })
  assert.deepEqual(JSON.parse(JSON.stringify(schema)).properties.address, {
    type: 'string',
    minLength: 34,
    description: 'an address',
    checked_by_handler: true,
  })
})

test('no bytes, an empty array and an empty object are no parameters', () => {
  const schema = Type.Object({ page: Type.Optional(Type.Integer()) })
  for (const text of ['', '[]', '{}', ' [ ] ', '{"page":null}'])
    assert.deepEqual(read(schema, text), {})
})

test('any other body that is not an object is refused', () => {
  const schema = Type.Object({})
  for (const text of [
    'null',
    '1',
    '1.5',
    '"x"',
    'true',
    '[1]',
    '[[]]',
    ' ',
    '{',
    '{"a":1,"a":2}',
    '{"__proto__":1}',
    '\ufeff{}',
  ])
    assert.equal(refusal(schema, text), '2 invalid_service_or_params', text)
})

test('inherited names are not taken for fields that were sent', () => {
  const schema = Type.Object({
    toString: Type.Optional(Type.String()),
    valueOf: Type.Optional(Type.Integer()),
  })
  assert.deepEqual(read(schema, '{}'), {})
})

test('a schema that would not be enforced does not start', () => {
  const schemas = [
    Type.Number(),
    Type.Null(),
    Type.Any(),
    Type.String({ format: 'uuid' }),
    Type.Integer({ multipleOf: 5 }),
  ]
  const unions = [
    Type.Union([Type.Literal('a'), Type.String()]),
    Type.Object({ a: Type.Array(Type.Number()) }),
  ]
  for (const schema of [...schemas, ...unions, Type.Object({}, { additionalProperties: false })])
    assert.throws(() => bodyReader(schema), Error)
})

test('whatever JSON comes in, the reader returns what the schema says or throws a Fault', () => {
  const reader = bodyReader(Order)
  const part = fc.constantFrom('energy', 'T1', 5, 0, '', null, true, [], {}, 1.5)
  const params = fc.record({ address: part, amount: part, activate: part }, { requiredKeys: [] })
  const body = fc.record(
    { service: part, external_id: part, params: fc.oneof(part, params) },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.oneof(body, fc.jsonValue()), (value) => {
      const text = JSON.stringify(value)
      try {
        const { service, params } = reader(parseJson(bytes(text))) as {
          service: string
          params: { address: string; amount: number }
        }
        assert.ok(['energy', 'bandwidth'].includes(service))
        assert.ok(
          params.address.startsWith('T') && Number.isInteger(params.amount) && params.amount >= 1,
        )
      } catch (thrown) {
        assert.ok(thrown instanceof Fault || (thrown as Error).name === 'JsonError')
      }
    }),
    { numRuns: 2_000 },
  )
})
