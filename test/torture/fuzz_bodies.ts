// Bodies for the fuzzer, from nearly right to nonsense: made from an endpoint's schema with values
// that are right for the name of a field, or odd, or missing; and good bodies with a few bytes
// changed. A seed makes the same ones again.

import type { Endpoint } from 'penstock-service/platform/wire/endpoint.ts'

/** Draws from 0 to 1, the same in every run of a seed. */
export type Draw = () => number

/** Numbers that look random (mulberry32). */
export function drawer(seed: string): Draw {
  let state = 2_166_136_261
  for (const unit of Buffer.from(seed)) state = Math.imul(state ^ unit, 16_777_619)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const below = (draw: Draw, count: number) => Math.floor(draw() * count)
const pick = <T>(draw: Draw, from: readonly T[]): T => from[below(draw, from.length)]!

/** Values that have broken somebody's server before, as JSON text. */
const ODD: readonly string[] = [
  ...[
    'null',
    'true',
    'false',
    '""',
    '" "',
    '"0"',
    '"1"',
    '"null"',
    '[]',
    '{}',
    '[null]',
    '[[]]',
    '{"":null}',
    '-',
    '"',
  ],
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '2',
    '51',
    '1.0',
    '1e3',
    '1e400',
    '-1e-400',
    '0.1',
    '65000.0',
    '01',
    'NaN',
    '1e',
    '+1',
    '0x1',
  ],
  ...[
    '2147483648',
    '9007199254740991',
    '9007199254740992',
    '9223372036854775808',
    '1e19',
    '99999999999999999999999',
  ],
  ...[
    '"\\u0000"',
    '"a\\u0000b"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\ufeff"',
    '"é"',
    '"e\\u0301"',
    '"𝒳"',
    '"\\/"',
    '"\\x"',
  ],
  ...[
    '"\'; drop table orders;--"',
    '"%00"',
    '"{{7*7}}"',
    '"../../etc/passwd"',
    '"<script>"',
    '"\\n\\r\\t"',
    '"$1"',
  ],
  ...[
    '{"__proto__":{"a":1}}',
    '{"constructor":1}',
    '{"a":1,"a":2}',
    '[1,]',
    '{"a":1,}',
    '/**/1',
    'Infinity',
    'undefined',
  ],
  ...[
    `"${'x'.repeat(129)}"`,
    `"${'x'.repeat(3_000)}"`,
    '['.repeat(17) + ']'.repeat(17),
    `"${'9'.repeat(128)}"`,
    '1'.repeat(400),
  ],
]

const NONSENSE: readonly string[] = [
  ...[
    '',
    ' ',
    '{}',
    '[]',
    '[{}]',
    'null',
    '\ufeff{}',
    '{}{}',
    '{',
    '}',
    '{"a"',
    '/**/{}',
    '{"a":1}x',
    '"',
    '\0',
    '{"a":\u0001}',
  ],
  `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`,
  `{${Array.from({ length: 201 }, (_one, i) => `"k${i}":1`).join(',')}}`,
]

/** What is right for a field of a name, as JSON text. */
export type Right = { [name: string]: readonly string[] }

type Shape = { properties?: Record<string, Shape> }

/** Fields of which the last ones take part only when the first are left out. */
const LEFT_OUT: Record<string, number> = {
  amounts: 0.5,
  energy: 0.3,
  bandwidth: 0.3,
  external_id: 0.5,
  status: 0.6,
}

function near(draw: Draw, shape: Shape, right: Right): string {
  const members: string[] = []
  const daring = draw() < 0.5 ? 0 : 0.15
  for (const [name, field] of Object.entries(shape.properties ?? {})) {
    if (draw() < (LEFT_OUT[name] ?? 0.04)) continue
    const values = right[name]
    const odd = draw() < daring || (!field.properties && !values)
    const usual = () => (field.properties ? near(draw, field, right) : pick(draw, values!))
    members.push(`"${name}":${odd ? pick(draw, ODD) : usual()}`)
  }
  if (draw() < 0.05) members.push(`"more":${pick(draw, ODD)}`)
  if (draw() < 0.02 && members[0] !== undefined) members.push(members[0])
  return `{${members.join(draw() < 0.1 ? ' ,\n' : ',')}}`
}

/** A good body with a few bytes changed. */
function mutated(draw: Draw, good: string, other: string): Buffer {
  let bytes = Buffer.from(good)
  for (let n = 1 + below(draw, 4); n > 0; n--) {
    const at = below(draw, bytes.length + 1)
    const length = 1 + below(draw, 4)
    const [head, rest] = [bytes.subarray(0, at), bytes.subarray(at)]
    switch (below(draw, 6)) {
      case 0:
        if (at < bytes.length) bytes[at] = bytes[at]! ^ (1 << below(draw, 8))
        break
      case 1:
        bytes = Buffer.concat([head, rest.subarray(length)])
        break
      case 2:
        bytes = Buffer.concat([
          head,
          Buffer.from(Array.from({ length }, () => below(draw, 256))),
          rest,
        ])
        break
      case 3:
        bytes = Buffer.concat([head, rest.subarray(0, 8 * length), rest])
        break
      case 4:
        bytes = Buffer.concat([head, Buffer.from(pick(draw, ODD)), rest.subarray(length)])
        break
      default:
        bytes = Buffer.concat([head, Buffer.from(other).subarray(at)])
    }
  }
  return bytes
}

/** The next body for an endpoint. */
export function bodyFor(draw: Draw, endpoint: Endpoint, right: Right): Buffer {
  const shape = endpoint.body as Shape
  const kind = draw()
  if (kind < 0.7) return Buffer.from(near(draw, shape, right))
  if (kind < 0.95)
    return mutated(
      draw,
      near(() => 0.5 + draw() / 2, shape, right),
      near(draw, shape, right),
    )
  return Buffer.from(pick(draw, NONSENSE))
}
