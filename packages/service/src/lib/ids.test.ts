import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { firstIdAt, idMaker, systemRandom } from './ids.ts'

const zeros = { bytes: (length: number) => new Uint8Array(length) }
const ones = { bytes: (length: number) => new Uint8Array(length).fill(0xff) }

test('an id is a ULID in lower case: its first ten characters are the time', () => {
  const at = new Date(1_469_918_176_385)
  const id = idMaker({ now: () => at }, zeros)()
  assert.equal(id, '01aryz6s410000000000000000')
  assert.match(idMaker({ now: () => at }, systemRandom)(), /^01aryz6s41[0-9a-hjkmnp-tv-z]{16}$/)
})

test('the ids of one maker sort in the order of their making, whatever the clock does', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 2, maxLength: 200 }),
      (times) => {
        let now_ms = 0
        const make = idMaker({ now: () => new Date(1_700_000_000_000 + now_ms) }, ones)
        const made = times.map((ms) => {
          now_ms = ms
          return make()
        })
        assert.deepEqual(made.toSorted(), made)
        assert.equal(new Set(made).size, made.length)
      },
    ),
  )
})

test('ids of several makers at the same time are different', () => {
  const at = new Date()
  const makers = Array.from({ length: 50 }, () => idMaker({ now: () => at }, systemRandom))
  const made = makers.flatMap((make) => Array.from({ length: 50 }, make))
  assert.equal(new Set(made).size, 2_500)
})

test('whatever was made before an instant sorts below the first identifier of it', () => {
  const made = (at_ms: number) =>
    idMaker(
      { now: () => new Date(at_ms) },
      { bytes: (length) => new Uint8Array(length).fill(255) },
    )()
  assert.ok(made(1_799_999_999_999) < firstIdAt(new Date(1_800_000_000_000)))
  assert.ok(made(1_800_000_000_000) >= firstIdAt(new Date(1_800_000_000_000)))
})
