// Until when a challenge or a secret that is offered is good, and for what.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { systemRandom } from '../../lib/ids.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import {
  isChallenge,
  makeChallenge,
  makeOffer,
  openOffer,
  pruneChallengesStep,
  useChallenge,
} from './challenges.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const CHALLENGE_MS = 5 * 60_000
const OFFER_MS = 30 * 60_000

function turnedByHand() {
  let at = NOW
  const clock = { now: () => at }
  const seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)
  const setTime = (ms: number) => {
    at = new Date(NOW.getTime() + ms)
  }
  return { needs: { clock, seal, random: systemRandom }, setTime }
}

test('a challenge is good for five minutes, a secret for half an hour, for one use', () => {
  const { needs, setTime } = turnedByHand()
  const challenge = makeChallenge(needs, 'here')
  const offer = makeOffer(needs, 'here', 'secret')
  const good = (bound_to = 'here') => [
    isChallenge(needs, bound_to, challenge),
    openOffer(needs, bound_to, offer),
  ]
  assert.deepEqual(good(), [true, 'secret'])
  assert.deepEqual(good('elsewhere'), [false, undefined])
  assert.deepEqual(
    [isChallenge(needs, 'here', ''), openOffer(needs, 'here', `${offer}a`)],
    [false, undefined],
  )
  for (const [ms, expected] of [
    [CHALLENGE_MS - 1, [true, 'secret']],
    [CHALLENGE_MS, [false, 'secret']],
    [OFFER_MS - 1, [false, 'secret']],
    [OFFER_MS, [false, undefined]],
  ] as const) {
    setTime(ms)
    assert.deepEqual(good(), expected, `${ms}`)
  }
})

test('a challenge is answered once, and remembered for as long as it is good', async (t) => {
  const { sql } = await freshDatabase(t)
  const { needs, setTime } = turnedByHand()
  const step = pruneChallengesStep({ sql, clock: needs.clock })
  assert.equal(await useChallenge(sql, needs, 'first'), true)
  setTime(1)
  assert.equal(await useChallenge(sql, needs, 'first'), false)
  assert.equal(await useChallenge(sql, needs, 'second'), true)
  const kept = async () => (await sql`select 1 from answered_challenge`).length
  for (const [ms, due, left] of [
    [CHALLENGE_MS, false, 2],
    [CHALLENGE_MS + 1, true, 1],
    [CHALLENGE_MS + 2, true, 0],
  ] as const) {
    setTime(ms)
    assert.equal(await isDue(sql, step), due, `${ms}`)
    assert.equal(await step.run(), false)
    assert.equal(await kept(), left, `${ms}`)
  }
})
