// Whose failures make whom wait, from when to when, and which tries are noted and kept: rows on
// both sides of every bound.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import { firstIdAt, idMaker, systemRandom } from '../../lib/ids.ts'
import { networkOf } from '../../lib/networks.ts'
import {
  type Attempt,
  beginTry,
  type Claim,
  endTry,
  nameHashOf,
  noteTry,
  pruneTriesStep,
} from './tries.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const after = (ms: number) => new Date(NOW.getTime() + ms)
const HERE = '192.0.2.1'
const THERE = '198.51.100.7'
const FAR = '203.0.113.10'
const HOUR_MS = 3_600_000

async function withTries(t: TestContext) {
  const { sql } = await freshDatabase(t)
  let at = NOW
  const clock = { now: () => at }
  const needs = { sql, clock, new_id: idMaker(clock, systemRandom) }
  const setTime = (ms: number) => {
    at = after(ms)
  }
  const attempt = (ip = HERE, way: Attempt['way'] = 'password'): Attempt => ({
    face: 'portal',
    way,
    place: { ip, browser: 'a browser' },
  })
  const begin = (claim: Claim, ip = HERE, way: Attempt['way'] = 'password') =>
    beginTry(needs, attempt(ip, way), claim)
  /** Tries and fails; says for how long one has to wait, instead. */
  const fail = async (claim: Claim, ip = HERE, way: Attempt['way'] = 'password') => {
    const thrown = await begin(claim, ip, way).then(
      ({ id }) => endTry(sql, id, { outcome: 'failed' }),
      (error: unknown) => error,
    )
    if (thrown instanceof TooManyRequests) return thrown.retry_after_seconds
    if (thrown) throw thrown
    return 0
  }
  const failOften = async (times: number, ...of: Parameters<typeof fail>) => {
    for (let once = 0; once < times; once++) assert.equal(await fail(...of), 0, `${once}`)
  }
  const succeed = async (...of: Parameters<typeof begin>) => {
    const { id } = await begin(...of)
    await endTry(sql, id, { outcome: 'done', user_id: 'anna', session_id: 'session' })
  }
  return { sql, needs, attempt, begin, fail, failOften, succeed, setTime }
}

const named = (sign_in_name: string, browser_id?: string): Claim => ({ sign_in_name, browser_id })

test('five failures are free; then one waits twice as long after each', async (t) => {
  const { fail, failOften, setTime } = await withTries(t)
  const anna = named('anna')
  await failOften(5, anna)
  assert.equal(await fail(anna), 2)
  assert.equal(await fail(named('bert')), 0, 'another name')
  setTime(1_999)
  assert.equal(await fail(anna), 1)
  setTime(2_000)
  assert.deepEqual([await fail(anna), await fail(anna)], [0, 4])
  setTime(6_000)
  assert.deepEqual([await fail(anna), await fail(anna)], [0, 8])
})

test('one who has failed often waits for a quarter of an hour, and no longer', async (t) => {
  const { sql, fail, failOften, setTime } = await withTries(t)
  await failOften(1, named('anna'))
  await sql`
    insert into sign_in (id, at, face, way, outcome, name_hash, count_hash, network, ip, browser)
    select id || n, at, face, way, outcome, name_hash, count_hash, 'elsewhere', ip, browser
    from sign_in, generate_series(1, 40) as n`
  setTime(1)
  assert.equal(await fail(named('anna')), 900)
})

test('failures count for a day, and until one has signed in', async (t) => {
  const { sql, fail, failOften, succeed, setTime } = await withTries(t)
  const anna = named('anna', 'browser')
  await failOften(6 - 1, anna)
  await sql`update sign_in set at = ${after(2_000)} where id = (select max(id) from sign_in)`
  setTime(24 * HOUR_MS)
  assert.equal(await fail(anna), 0, 'those of a day ago are over')
  await failOften(3, anna)
  assert.equal(await fail(anna), 2, 'one is not')
  setTime(24 * HOUR_MS + 2_000)
  await succeed(anna)
  await failOften(5, anna)
  assert.equal(await fail(anna), 2)
})

test('a try under way counts as failed; one that was too soon does not', async (t) => {
  const { begin, fail, failOften } = await withTries(t)
  const anna = named('anna')
  for (let once = 0; once < 5; once++) await begin(anna)
  for (let once = 0; once < 3; once++) assert.equal(await fail(anna), 2)
  await failOften(5, named('bert'))
})

test('browsers, networks, sessions and codes on paper have counts of their own', async (t) => {
  const { fail, failOften, succeed } = await withTries(t)
  await succeed(named('anna'), THERE)
  await failOften(5, named('anna'))
  assert.equal(await fail(named('anna')), 2)
  assert.equal(await fail(named('anna'), '203.0.113.9'), 2, 'from everywhere')
  await failOften(5, named('anna'), THERE)
  assert.equal(await fail(named('anna'), THERE), 2)
  await failOften(5, named('anna', 'browser'))
  assert.equal(await fail(named('anna', 'browser')), 2)
  assert.equal(await fail(named('anna', 'other')), 0)
  await failOften(5, named('anna'), FAR, 'recovery')
  assert.equal(await fail(named('anna'), FAR, 'recovery'), 2)
  assert.equal(await fail(named('anna'), '203.0.113.9', 'recovery'), 0)
  await failOften(5, { session_id: 'anna' })
  assert.equal(await fail({ session_id: 'anna' }), 2)
  assert.equal(await fail({ session_id: 'bert' }), 0)
})

test('whoever is known waits for a hash apart from strangers', async (t) => {
  const { begin, succeed } = await withTries(t)
  const lanes = async (...of: Parameters<typeof begin>) => (await begin(...of)).lane.is_known
  assert.equal(await lanes(named('bert')), false)
  assert.equal(await lanes(named('bert'), HERE, 'recovery'), false)
  assert.equal(await lanes(named('bert', 'browser')), true)
  assert.equal(await lanes({ session_id: 'carl' }), true)
  await succeed(named('carl'))
  assert.equal(await lanes(named('carl')), true)
  assert.equal(await lanes(named('carl'), THERE), false)
  assert.equal(await lanes(named('carl'), HERE, 'recovery'), true)
})

test('a network is known for a name that has signed in from it, and not for a try', async (t) => {
  const { begin, failOften, succeed } = await withTries(t)
  const isKnown = async (name: string, ip = HERE) => (await begin(named(name), ip)).lane.is_known
  await failOften(1, named('anna'))
  assert.equal(await isKnown('anna'), false)
  await succeed(named('anna'))
  assert.deepEqual(
    [await isKnown('anna'), await isKnown('anna', THERE), await isKnown('bert')],
    [true, false, false],
  )
})

test('twenty failures of a network in an hour make its strangers wait', async (t) => {
  const { fail, failOften, succeed, setTime } = await withTries(t)
  await succeed(named('done'))
  for (const name of ['a', 'b', 'c', 'd']) await failOften(5, named(name))
  assert.equal(await fail(named('anna')), 2)
  assert.equal(await fail(named('anna'), THERE), 0, 'another network')
  assert.equal(await fail(named('anna', 'browser')), 0, 'a known browser')
  assert.equal(await fail({ session_id: 'anna' }), 0, 'one who is signed in')
  setTime(HOUR_MS - 1)
  assert.equal(await fail(named('bert')), 0)
  setTime(HOUR_MS)
  await failOften(4, named('bert'))
  assert.equal(await fail(named('carl')), 0, 'those of an hour ago are over')
})

test('of what fails in one network 60 are noted in a minute, and all that is done', async (t) => {
  const { sql, needs, attempt, setTime } = await withTries(t)
  const note = (outcome: 'done' | 'too_soon', ip = HERE) =>
    noteTry(sql, needs, attempt(ip), { outcome, user_id: 'anna', session_id: 'session' })
  const count = async (ip = HERE) =>
    (await sql`select 1 from sign_in where network = ${networkOf(ip)} and outcome <> 'done'`).length
  await note('done')
  await note('too_soon', THERE)
  for (let once = 0; once < 59; once++) await note('too_soon')
  assert.equal(await count(), 59)
  await note('too_soon')
  await note('too_soon')
  assert.equal(await count(), 60)
  await note('too_soon', THERE)
  assert.equal(await count(THERE), 2)
  await note('done')
  assert.equal((await sql`select 1 from sign_in where outcome = 'done'`).length, 2)
  setTime(59_999)
  await note('too_soon')
  assert.equal(await count(), 60)
  setTime(60_000)
  await note('too_soon')
  assert.equal(await count(), 61)
})

test('what a try has come to is kept of it alone', async (t) => {
  const { sql, begin } = await withTries(t)
  const [{ id }] = [await begin(named('anna')), await begin(named('bert'))]
  await endTry(sql, id, { outcome: 'done', user_id: 'anna', session_id: 'session' })
  const rows = await sql<{ outcome: string; user_id: string | null; session_id: string | null }>`
    select outcome, user_id, session_id from sign_in order by id`
  assert.deepEqual(
    rows.map(({ outcome, user_id, session_id }) => [outcome, user_id, session_id]),
    [
      ['done', 'anna', 'session'],
      ['trying', null, null],
    ],
  )
})

test('tries are forgotten that are older than the days for which they are kept', async (t) => {
  const { sql, needs } = await withTries(t)
  const step = pruneTriesStep(needs, 30)
  const insert = (id: string, count: number) => sql`
    insert into sign_in (id, at, face, way, outcome, network, ip, browser)
    select ${id} || case when n = 0 then '' else n::text end, ${NOW}, 'portal', 'link', 'failed',
      '', '', ''
    from generate_series(0, ${count - 1}) as n`
  const oldest_kept = firstIdAt(after(-30 * DAY_MS))
  await insert(oldest_kept, 1)
  assert.equal(await isDue(sql, step), false)
  await step.run()
  await insert(firstIdAt(after(-30 * DAY_MS - 1)), 1_001)
  assert.equal(await isDue(sql, step), true)
  assert.deepEqual([await step.run(), await step.run()], [true, false])
  assert.equal(await isDue(sql, step), false)
  const left = await sql<{ id: string }>`select id from sign_in`
  assert.deepEqual(
    left.map(({ id }) => id),
    [oldest_kept],
  )
})

test("the tries of a user's name are found by what they are kept under", async (t) => {
  const { sql, begin } = await withTries(t)
  for (const id of ['anna', 'bert'])
    await sql`
      insert into service_user (id, name, role, sign_in_name, invited_at, invited_by)
      values (${id}, ${id}, 'admin', ${`${id}-smith`}, ${NOW}, 'olga')`
  await begin(named('bert-smith'), THERE)
  await begin({ session_id: 'anna-smith' }, THERE)
  const tries = [await begin(named('anna-smith')), await begin(named('anna-smith', 'browser'))]
  const rows = await sql<{ id: string }>`
    select id from sign_in where name_hash = ${await nameHashOf(sql, 'anna')} order by id`
  assert.deepEqual(
    rows.map(({ id }) => id),
    tries.map(({ id }) => id),
  )
  assert.equal(await nameHashOf(sql, 'none'), null)
})
