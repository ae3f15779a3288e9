import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemRandom } from '../../lib/ids.ts'
import { sealWith } from './seal.ts'

const OLD = new Uint8Array(32).fill(1)
const NEW = new Uint8Array(32).fill(2)
const before = sealWith({ current: 'a', keys: { a: OLD } }, systemRandom)
const after = sealWith({ current: 'b', keys: { a: OLD, b: NEW } }, systemRandom)

test('what was sealed opens in the same context', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme' }),
      (secret, context) => {
        const text = secret.toWellFormed()
        assert.equal(before.open(before.seal(text, context), context), text)
      },
    ),
  )
})

test('what was sealed does not show what it holds and is never the same twice', () => {
  const [one, other] = [before.seal('hunter2', 'x'), before.seal('hunter2', 'x')]
  assert.notEqual(one, other)
  assert.match(one, /^a\.[\w-]+$/)
  assert.ok(!Buffer.from(one.slice(2), 'base64url').includes('hunter2'))
})

test('another context, another key or any changed bit does not open', () => {
  const sealed = before.seal('hunter2', 'api_key:1')
  assert.throws(() => before.open(sealed, 'api_key:2'))
  assert.throws(() =>
    sealWith({ current: 'a', keys: { a: NEW } }, systemRandom).open(sealed, 'api_key:1'),
  )
  const bytes = Buffer.from(sealed.slice(2), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    assert.throws(() => before.open(`a.${changed.toString('base64url')}`, 'api_key:1'))
  }
  for (const length of [0, 5, 12, 20, bytes.length - 1])
    assert.throws(() =>
      before.open(`a.${bytes.subarray(0, length).toString('base64url')}`, 'api_key:1'),
    )
})

test('after a rotation old texts open, and what is sealed anew is with the new key', () => {
  const [old, fresh] = [before.seal('s', 'x'), after.seal('s', 'x')]
  assert.equal(after.open(old, 'x'), 's')
  assert.deepEqual([after.isCurrent(old), after.isCurrent(fresh)], [false, true])
  assert.throws(() => before.open(fresh, 'x'), /not configured/)
})

test('a mark is of its text, its purpose and its key, and of nothing else', () => {
  const mark = before.mark('text', 'signing key')
  assert.ok(before.isMark(mark, 'text', 'signing key'))
  assert.ok(after.isMark(mark, 'text', 'signing key'), 'older keys show it too')
  assert.deepEqual([before.knowsKeyOf(mark), after.knowsKeyOf('c.x')], [true, false])
  const other = sealWith({ current: 'a', keys: { a: NEW } }, systemRandom)
  const wrong = [
    before.isMark(mark, 'texT', 'signing key'),
    other.isMark(mark, 'text', 'signing key'),
    before.isMark(after.mark('text', 'signing key'), 'text', 'signing key'),
    ...[null, '', 'a', 'a.', mark.slice(0, -1), `${mark}A`].map((one) =>
      before.isMark(one, 'text', 'signing key'),
    ),
  ]
  assert.deepEqual(new Set(wrong), new Set([false]))
  assert.ok(!mark.includes(Buffer.from(OLD).toString('base64url').slice(0, 8)))
})

test('a configuration that cannot seal does not start', () => {
  assert.throws(() => sealWith({ current: 'b', keys: { a: OLD } }, systemRandom), /not configured/)
  assert.throws(() => sealWith({ current: 'toString', keys: {} }, systemRandom), /not configured/)
  assert.throws(
    () => sealWith({ current: 'a', keys: { a: OLD.subarray(1) } }, systemRandom),
    /31 bytes/,
  )
  assert.throws(
    () => sealWith({ current: 'a.b', keys: { 'a.b': OLD } }, systemRandom),
    /not a name/,
  )
})
