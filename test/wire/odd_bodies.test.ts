// Nothing that anybody signs makes us fail: a few thousand bodies for each endpoint, from nearly
// right to nonsense, and every answer is a documented one. A result that is not what its schema
// says is a 500 here, so it would show as well.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Endpoint, SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { makeWorld, post, type World } from '../harness/world.ts'

/** For an endpoint without parameters a tenth of them. */
const BODIES = 500
const SEED = 7
const AT_ONCE = 25

/** Where a good part of what is generated must be right, or little is tried. */
const SUCCEEDS = new Set([
  '/v1/services',
  '/v1/balance',
  '/v1/calculate',
  '/v1/transaction/new',
  '/v1/direct-recharge-info',
])

/** Values that have broken somebody's server before, as JSON text. */
const ODD = [
  ...[
    'null',
    'true',
    'false',
    '""',
    '" "',
    '"0"',
    '"1"',
    '"undefined"',
    '"\\u0000"',
    '"a\\u0000b"',
    '"\\ud800"',
  ],
  ...[
    '"\\ufeff"',
    '"é"',
    '"e\\u0301"',
    '"𝒳"',
    '"%00"',
    '"\'; drop table orders;--"',
    '"{{7*7}}"',
    '"../../etc/passwd"',
  ],
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '1.0',
    '1e3',
    '1e400',
    '-1e-400',
    '0.1',
    '65000',
    '9007199254740993',
    '1e19',
    '99999999999999999999',
  ],
  ...[
    '[]',
    '{}',
    '[null]',
    '[[]]',
    '{"":null}',
    '{"__proto__":{"a":1}}',
    '{"constructor":1}',
    '{"a":1,"a":2}',
    'NaN',
    '01',
  ],
  ...[
    `"${'x'.repeat(5_000)}"`,
    '['.repeat(20) + ']'.repeat(20),
    `"${'9'.repeat(128)}"`,
    '-',
    '"',
    '{',
  ],
]

const odd = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD) },
  { weight: 1, arbitrary: fc.jsonValue().map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value)) },
)

/** Values that are right for a field of a given name, as JSON text. */
function rightFor(world: World): Record<string, fc.Arbitrary<string>> {
  const text = (...values: string[]) =>
    fc.constantFrom(...values.map((value) => JSON.stringify(value)))
  return {
    service: text('energy', 'bandwidth', 'resource_bundle', 'activate_address'),
    type: text('energy', 'energy', 'bandwidth', 'address', 'hash'),
    address: text(world.person('bob').address, world.person('nina').address),
    duration: fc.constant('1'),
    amount: fc.constantFrom('65000', '345', '131000'),
    energy: fc.constantFrom('65000', '131000'),
    bandwidth: fc.constantFrom('345', '65000'),
    energy_amount: fc.constant('65000'),
    activate_address: fc.constantFrom('true', 'false'),
    external_id: fc.oneof(
      text('a'),
      fc.nat(1_000_000).map((n) => `"${n}"`),
    ),
    id: text('a', '01jq7h6bvf6p5t1amnz6y3n8c4'),
    from_address: text(world.person('bob').address),
    to_address: text(world.person('nina').address),
    subscription_id: text('unlimited_energy', 'energy_pack_100'),
    transactions_limit: fc.constant('0'),
    network: text('TRX', 'ETH'),
    hash: text('ab'.repeat(32)),
    direction: text('deposit', 'withdrawal'),
    page: fc.constantFrom('1', '2'),
    per_page: fc.constantFrom('1', '50'),
    status: text('new', 'active', 'pending', 'completed'),
  }
}

/** Fields that exclude each other are left out more often than one in twelve. */
const LEFT_OUT: Record<string, number> = { amounts: 12, energy: 6, bandwidth: 6, external_id: 12 }

type Shape = { properties?: Record<string, Shape> }

/** Objects with the fields of a schema, each right, odd, or left out. */
function near(shape: Shape, right: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<string> {
  const members = Object.entries(shape.properties ?? {}).map(([name, field]) => {
    const good = field.properties ? near(field, right) : (right[name] ?? odd)
    const value = fc.oneof({ weight: 7, arbitrary: good }, { weight: 1, arbitrary: odd })
    const member = value.map((text) => `${JSON.stringify(name)}:${text}`)
    return fc.oneof(
      { weight: 12, arbitrary: member },
      { weight: LEFT_OUT[name] ?? 1, arbitrary: fc.constant('') },
    )
  })
  const extra = odd.map((text) => `"more":${text}`)
  return fc
    .tuple(...members, fc.option(extra, { nil: '', freq: 8 }))
    .map((all) => `{${all.filter((member) => member !== '').join(',')}}`)
}

const nonsense = fc.oneof(
  odd,
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.constantFrom(
    '',
    '{}',
    '[]',
    ' ',
    '\ufeff{}',
    '{}{}',
    '/**/{}',
    `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`,
  ),
)

function bodiesFor(endpoint: Endpoint, world: World): string[] {
  const close = near(endpoint.body as Shape, rightFor(world))
  const body = fc.oneof({ weight: 9, arbitrary: close }, { weight: 1, arbitrary: nonsense })
  const has_fields = Object.keys(endpoint.body.properties).length > 0
  return fc.sample(body, { seed: SEED, numRuns: has_fields ? BODIES : BODIES / 10 })
}

/** What is answered to what was sent. */
const BODY_CODES = new Set([2, 10, 11, 12, 50])

/** Fails unless a sentence names the field, or the body as a whole. */
function saysWhere(error: string, param: string | undefined): void {
  const name = param === undefined ? 'the body' : param.split('.').at(-1)!.replace(/\[.*/, '')
  assert.ok(error.toLowerCase().includes(name), `${error} (${param})`)
  assert.ok([...error].length < 500 && !/[\p{Cc}\u202e]/u.test(error), error)
}

test('no signed body makes an endpoint fail, and every refusal is documented', async (t) => {
  const world = await makeWorld(t)
  world.person('bob', 1)
  const anna = await world.customer({ trx: 50_000, scopes: [...SCOPES] })
  const fields: Record<string, string>[] = []
  for (const endpoint of world.app.endpoints) {
    // An answer that stays open is nothing to wait for.
    if (endpoint.open) continue
    const documented = new Set([0, ...endpoint.faults.map(({ code }) => code)])
    const seen = new Map<number, number>()
    const bodies = bodiesFor(endpoint, world)
    for (let i = 0; i < bodies.length; i += AT_ONCE) {
      // Several at once: a purchase is placed together with its neighbours, and must not fail with
      // them.
      await Promise.all(
        bodies.slice(i, i + AT_ONCE).map(async (body) => {
          const {
            status,
            code,
            error = '',
            param,
          } = endpoint.auth === 'public'
            ? await post(world.api, endpoint.path, body)
            : await anna.call(endpoint.path, body)
          seen.set(code, (seen.get(code) ?? 0) + 1)
          assert.equal(status, 200, `${endpoint.path} ${body}`)
          assert.ok(
            code !== 500 && documented.has(code),
            `${endpoint.path} answers ${code} (${error}) to ${body}`,
          )
          if (BODY_CODES.has(code)) saysWhere(error, param)
        }),
      )
    }
    fields.push({ path: endpoint.path, codes: [...seen].sort(([a], [b]) => a - b).join(' ') })
    if (SUCCEEDS.has(endpoint.path))
      assert.ok(
        (seen.get(0) ?? 0) > bodies.length / 40,
        `${endpoint.path} hardly succeeds: ${[...seen].join(' ')}`,
      )
  }
  t.diagnostic(JSON.stringify(fields))
})

test('bytes that are no text are refused like any other nonsense', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  for (const hex of [
    'ff',
    'c0af',
    'eda080',
    '7b22c3287d',
    '00',
    'efbbbf7b7d',
    'f4908080',
    '7b2261223a2280227d',
  ]) {
    const body = Buffer.from(hex, 'hex')
    const { code } = await anna.call('/v1/balance', body)
    assert.equal(code, 2, hex)
  }
})

test('odd headers make nothing fail', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 1_000 })
  const body = { service: 'energy', params: { address: bob.address, amount: 65_000, duration: 1 } }
  const values = [
    '',
    ' ',
    '0',
    'a b',
    'é',
    'ÿ',
    '\'"',
    'x'.repeat(128),
    'x'.repeat(129),
    'x'.repeat(5_000),
    'a,b',
  ]
  for (const value of values) {
    const { code } = await anna.call('/v1/transaction/new', body, { 'idempotency-key': value })
    assert.ok(code === 0 || code === 2, `idempotency-key ${value}: ${code}`)
    const timed = { 'x-timestamp': value, 'x-nonce': value, 'x-signature-v2': value }
    const v2 = await anna.call('/v1/balance', {}, timed)
    assert.ok(v2.code === 0 || v2.code === 1, `second signature ${value}: ${v2.code}`)
    for (const name of [
      'accept',
      'content-type',
      'x-forwarded-for',
      'user-agent',
      'x-request-id',
      'cookie',
    ]) {
      assert.equal(
        (await anna.call('/v1/balance', {}, { [name]: value })).code,
        0,
        `${name}: ${value}`,
      )
    }
  }
})
