import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outage } from '../../lib/fault.ts'
import { againFor } from './again.ts'
import { NothingDone } from './outages.ts'

/** A clock that is turned by those who wait. */
function timer() {
  let ms = 0
  return {
    now_ms: () => ms,
    async wait(more_ms: number) {
      ms += more_ms
    },
  }
}

/** Fails so often, and says how often it was done. */
function failing(times: number, thrown: () => Error) {
  const work = async () => {
    work.done += 1
    if (work.done <= times) throw thrown()
    return 'done'
  }
  work.done = 0
  return work
}

const nothing = () => new NothingDone('the database')
const unknown = () => new Outage('the database')

test('what was surely not done is done again, until it is or patience ends', async () => {
  const work = failing(3, nothing)
  assert.equal(await againFor(3_000, timer())(work, { repeatable: false }), 'done')
  assert.equal(work.done, 4)
  const clock = timer()
  const never = failing(Number.POSITIVE_INFINITY, nothing)
  await assert.rejects(againFor(3_000, clock)(never, { repeatable: false }), NothingDone)
  assert.ok(clock.now_ms() > 2_500 && clock.now_ms() <= 3_000, String(clock.now_ms()))
})

test('what may have been done is done again only where that finds it', async () => {
  const again = againFor(3_000, timer())
  const once = failing(1, unknown)
  await assert.rejects(again(once, { repeatable: false }), Outage)
  assert.equal(once.done, 1)
  assert.equal(await again(failing(1, unknown), { repeatable: true }), 'done')
})

test('a refusal and a bug are thrown at once', async () => {
  const again = againFor(3_000, timer())
  const bug = failing(1, () => new TypeError('a bug'))
  await assert.rejects(again(bug, { repeatable: true }), TypeError)
  assert.equal(bug.done, 1)
})

test('in an outage that lasts nobody is kept waiting, until something succeeds', async () => {
  const clock = timer()
  const again = againFor(3_000, clock)
  const never = failing(Number.POSITIVE_INFINITY, nothing)
  await assert.rejects(again(never, { repeatable: false }), NothingDone)
  const before_ms = clock.now_ms()
  await clock.wait(1_000)
  await assert.rejects(again(never, { repeatable: false }), NothingDone)
  assert.equal(clock.now_ms(), before_ms + 1_000)
  assert.equal(await again(failing(0, nothing), { repeatable: false }), 'done')
  assert.equal(await again(failing(2, nothing), { repeatable: false }), 'done')
})
