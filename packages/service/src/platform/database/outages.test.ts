import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { Outage } from '../../lib/fault.ts'
import { asOutage, isOwnRefusal, isRefusal } from './outages.ts'

const refused = (code: string, routine?: string) =>
  Object.assign(new pg.DatabaseError('no', 1, 'error'), { code, routine })

/** What becomes of it: whether it may pass, whether the connection is used again, and whether the
 *  server itself said no. */
function meaning(thrown: Error) {
  let told: unknown
  try {
    asOutage(thrown)
  } catch (as) {
    told = as
  }
  return [told instanceof Outage, isOwnRefusal(thrown), isRefusal(told)]
}

const OWN = [false, true, true]
const PASSES = [true, false, true]
/** Nobody knows what became of what was under way. */
const LOST = [true, false, false]

const MEANINGS: readonly (readonly [string, Error, readonly boolean[]])[] = [
  ['a broken constraint', refused('23505'), OWN],
  ['a raised exception', refused('P0001'), OWN],
  ['a type that does not fit', refused('42804'), OWN],
  ['a deadlock', refused('40P01'), PASSES],
  ['a failed serialization', refused('40001'), PASSES],
  ['a server that takes no writes', refused('25006'), PASSES],
  ['a prepared statement that is gone', refused('26000'), PASSES],
  ['a prepared statement that is there already', refused('42P05'), PASSES],
  ['a plan that died', refused('0A000', 'RevalidateCachedQuery'), PASSES],
  ['a statement that was cancelled', refused('57014'), PASSES],
  ['a server that shuts down', refused('57P01'), LOST],
  ['a database that was dropped', refused('57P04'), LOST],
  ['a connection that failed', refused('08006'), LOST],
  ['no answer', new Error('Connection terminated unexpectedly'), LOST],
]

for (const [what, thrown, means] of MEANINGS)
  test(`${what}: for the caller and for the connection`, () => {
    assert.deepEqual(meaning(thrown), means)
  })

test('what the server does not have, and what the driver cannot send, are bugs', () => {
  assert.throws(() => asOutage(refused('0A000')), pg.DatabaseError)
  assert.throws(() => asOutage(new TypeError('a value')), TypeError)
})
