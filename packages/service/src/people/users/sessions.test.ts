// Which sessions are read, ended, listed and forgotten: rows on both sides of every bound.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { firstIdAt, idMaker, systemRandom } from '../../lib/ids.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { consoleFace, portalFace } from './faces.ts'
import {
  beginSession,
  endSessionBefore,
  endSessions,
  erasePlaces,
  listSessions,
  openSessions,
  pruneSessionsStep,
  sessionReader,
  stepUp,
} from './sessions.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const MINUTE_MS = 60_000
const LENGTHS = { idle_minutes: 10, life_hours: 1 }
const PORTAL = portalFace(undefined, LENGTHS)
const CONSOLE = consoleFace(undefined, LENGTHS)
const place = { ip: '192.0.2.1', browser: 'a browser' }
const seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)
const after = (ms: number) => new Date(NOW.getTime() + ms)

/** Anna and bert of two customers, olga of the house, and a clock that is turned by hand. */
async function withUsers(t: TestContext) {
  const { sql } = await freshDatabase(t)
  for (const [i, id] of ['anna', 'bert'].entries())
    await sql`
      insert into customer (id, name, deposit_index, deposit_address, created_at)
      values (${`of-${id}`}, ${`${id} ltd`}, ${i}, ${`T${String(i).padStart(33, '1')}`}, ${NOW})`
  for (const [id, customer_id, role] of [
    ['anna', 'of-anna', 'owner'],
    ['bert', 'of-bert', 'reader'],
    ['olga', null, 'admin'],
  ] as const)
    await sql`
      insert into service_user (id, customer_id, name, role, invited_at, invited_by)
      values (${id}, ${customer_id}, ${`${id.toUpperCase()} Smith`}, ${role}, ${NOW}, 'olga')`
  let at = NOW
  const clock = { now: () => at }
  const needs = { sql, clock, seal, random: systemRandom, new_id: idMaker(clock, systemRandom) }
  const begin = (user_id: string, face = PORTAL) =>
    sql.begin((tx) => beginSession(tx, needs, { user_id, face, place }))
  /** As a process reads it that has not read it before. */
  const read = (token: string | undefined, face = PORTAL) =>
    sessionReader(needs).read(token, face, 'page')
  const ended = async () =>
    (
      await sql<{ id: string }>`
        select id from user_session where ended_at is not null order by id`
    ).map(({ id }) => id)
  const setTime = (ms: number) => {
    at = after(ms)
  }
  return { sql, needs, begin, read, ended, setTime }
}

test('a session is of its user and face, and over from the moment on that it ends', async (t) => {
  const { sql, begin, read, setTime } = await withUsers(t)
  const [annas, berts, olgas] = [await begin('anna'), await begin('bert'), await begin('olga')]
  const session = await read(annas.token)
  assert.deepEqual(
    [session?.id, session?.user_id, session?.customer_id, session?.customer_name],
    [annas.session_id, 'anna', 'of-anna', 'anna ltd'],
  )
  assert.equal(session?.daily_cap_sun, null)
  assert.equal((await read(berts.token))?.user_id, 'bert')
  assert.equal(await read(annas.token, CONSOLE), undefined)
  assert.equal(await read(olgas.token), undefined)
  assert.equal((await read(olgas.token, CONSOLE))?.user_id, 'olga')
  for (const none of [undefined, '', `${annas.token}a`, 'a'.repeat(43)])
    assert.equal(await read(none), undefined)
  const isOpenAt = async (ms: number) => {
    setTime(ms)
    return (await read(annas.token)) !== undefined
  }
  assert.deepEqual(
    [await isOpenAt(10 * MINUTE_MS - 1), await isOpenAt(10 * MINUTE_MS)],
    [true, false],
  )
  await sql`update user_session set used_at = ${after(55 * MINUTE_MS)}`
  assert.deepEqual(
    [await isOpenAt(60 * MINUTE_MS - 1), await isOpenAt(60 * MINUTE_MS)],
    [true, false],
  )
})

test('what ends a session: its end, that of its user, and a closed customer', async (t) => {
  const { sql, begin, read } = await withUsers(t)
  const [annas, berts] = [await begin('anna'), await begin('bert')]
  await sql`update customer set state = 'suspended' where id = 'of-anna'`
  assert.equal((await read(annas.token))?.customer_state, 'suspended')
  await sql`update customer set state = 'closed' where id = 'of-anna'`
  assert.equal(await read(annas.token), undefined)
  assert.ok(await read(berts.token))
  await sql`update user_session set ended_at = ${NOW} where user_id = 'bert'`
  assert.equal(await read(berts.token), undefined)
  const again = await begin('bert')
  await sql`update service_user set ended_at = ${NOW} where id = 'bert'`
  assert.equal(await read(again.token), undefined)
})

test('a session that somebody else has written is none, nor a proof of presence', async (t) => {
  const { sql, needs, begin, read, setTime } = await withUsers(t)
  const { token, session_id } = await begin('anna')
  const proof = async (of = token) => (await read(of))?.stepped_up_until ?? null
  assert.deepEqual(await proof(), after(5 * MINUTE_MS))
  await sql`update user_session set stepped_up_until = ${after(9 * MINUTE_MS)}`
  assert.equal(await proof(), null)
  const prove = (id = session_id) => sql.begin((tx) => stepUp(tx, needs, id))
  setTime(MINUTE_MS)
  const fresh = await prove()
  assert.equal(await read(token), undefined, 'its token is another')
  assert.deepEqual(await proof(fresh.token), after(6 * MINUTE_MS))
  setTime(0)
  const same = await prove()
  assert.deepEqual(await proof(same.token), after(6 * MINUTE_MS), 'no proof is shortened')
  // A proof is of the one session, and of none that is not there, or not of our making.
  const other = await begin('anna')
  setTime(MINUTE_MS)
  assert.equal(await read((await prove('none')).token), undefined)
  const another = await prove()
  assert.deepEqual(await proof(other.token), after(5 * MINUTE_MS))
  await sql`update user_session set user_id = 'bert' where id = ${session_id}`
  assert.equal(await read(another.token), undefined)
  assert.equal(await read((await prove()).token), undefined)
  await sql`update user_session set ended_at = ${NOW} where id = ${other.session_id}`
  await prove(other.session_id)
  await sql`update user_session set ended_at = null where id = ${other.session_id}`
  assert.ok(await read(other.token), 'one that has ended keeps its token')
})

test('a session rests on from when a person has caused a request, to the minute', async (t) => {
  const { sql, needs, begin, setTime } = await withUsers(t)
  const [{ token, session_id }] = [await begin('anna'), await begin('bert')]
  const used = async () => {
    const rows = await sql<{ id: string; used_at: Date }>`
      select id, used_at from user_session where used_at <> ${NOW}`
    return rows.map(({ id, used_at }) => [id, used_at.getTime() - NOW.getTime()])
  }
  const readBy = async (by: 'person' | 'page', ms: number) => {
    setTime(ms)
    await sessionReader(needs).read(token, PORTAL, by)
    return used()
  }
  assert.deepEqual(await readBy('person', MINUTE_MS), [])
  assert.deepEqual(await readBy('page', MINUTE_MS + 1), [])
  const noted = [[session_id, MINUTE_MS + 1]]
  assert.deepEqual(await readBy('person', MINUTE_MS + 1), noted)
  assert.deepEqual(await readBy('person', MINUTE_MS + 2), noted)
})

test('a session is read again after a second, and at once when it is forgotten', async (t) => {
  const { sql, needs, begin, setTime } = await withUsers(t)
  const { token } = await begin('anna')
  const { read, forget } = sessionReader(needs)
  const isOpen = async () => (await read(token, PORTAL, 'page')) !== undefined
  const setEnd = (ended_at: Date | null) => sql`update user_session set ended_at = ${ended_at}`
  assert.ok(await isOpen())
  await setEnd(NOW)
  setTime(500)
  assert.ok(await isOpen())
  setTime(1_400)
  assert.equal(await isOpen(), false, 'what was used from memory is not fresh by it')
  await setEnd(null)
  assert.ok(await isOpen())
  await setEnd(NOW)
  forget(undefined)
  assert.ok(await isOpen())
  forget(token)
  assert.equal(await isOpen(), false)
})

test("ending ends a user's own open sessions: all, one, or all but one", async (t) => {
  const { sql, begin, ended } = await withUsers(t)
  const first = (await begin('anna')).session_id
  const second = (await begin('anna')).session_id
  const third = (await begin('anna')).session_id
  const berts = (await begin('bert')).session_id
  const end = async (which: { user_id: string; id?: string; except?: string }) => {
    const count = await sql.begin((tx) => endSessions(tx, { ...which, at: NOW }))
    const gone = await ended()
    await sql`update user_session set ended_at = null`
    return [count, gone]
  }
  assert.deepEqual(await end({ user_id: 'anna', id: second }), [1, [second]])
  assert.deepEqual(await end({ user_id: 'anna', id: berts }), [0, []])
  assert.deepEqual(await end({ user_id: 'anna', except: second }), [2, [first, third]])
  assert.deepEqual(await end({ user_id: 'anna' }), [3, [first, second, third]])
  assert.deepEqual(await end({ user_id: 'anna', id: first, except: first }), [0, []])
  await sql`update user_session set ended_at = ${after(-1)} where id = ${first}`
  const count = await sql.begin((tx) => endSessions(tx, { user_id: 'anna', at: NOW }))
  assert.equal(count, 2, 'one that had ended keeps its end')
})

test('who signs in anew ends the session of the browser, and no other', async (t) => {
  const { sql, begin, ended } = await withUsers(t)
  const [annas, berts] = [await begin('anna'), await begin('bert')]
  const endBefore = (token: string | undefined, at = NOW) =>
    sql.begin((tx) => endSessionBefore(tx, token, at))
  for (const none of [undefined, '', 'a'.repeat(43)]) await endBefore(none)
  assert.deepEqual(await ended(), [])
  await endBefore(annas.token)
  assert.deepEqual(await ended(), [annas.session_id])
  await endBefore(annas.token, after(1))
  const [row] = await sql<{ at: Date }>`
    select ended_at as at from user_session where id = ${annas.session_id}`
  assert.deepEqual(row!.at, NOW)
  await endBefore(berts.token)
  assert.equal((await ended()).length, 2)
})

test('the twenty-first open session of a user ends the oldest one of that user', async (t) => {
  const { sql, begin, ended } = await withUsers(t)
  const berts = await begin('bert')
  const over = await begin('anna')
  await sql`update user_session set ended_at = ${after(-1)} where id = ${over.session_id}`
  const first = await begin('anna')
  for (let more = 1; more < 20; more++) await begin('anna')
  assert.deepEqual(await ended(), [over.session_id], 'those that have ended do not count')
  await begin('anna')
  assert.deepEqual(await ended(), [over.session_id, first.session_id])
  const [row] = await sql<{ at: Date }>`
    select ended_at as at from user_session where id = ${over.session_id}`
  assert.deepEqual(row!.at, after(-1))
  await begin('bert')
  assert.ok(!(await ended()).includes(berts.session_id))
})

test('open are those sessions that were asked for, and are neither over nor ended', async (t) => {
  const { sql, begin } = await withUsers(t)
  const { session_id } = await begin('anna')
  await begin('anna')
  const isOpen = async (ms: number) => {
    const open = await openSessions(sql, PORTAL, { ids: [session_id, 'none'], now: after(ms) })
    return open.size === 1 && open.has(session_id)
  }
  assert.deepEqual([await isOpen(10 * MINUTE_MS - 1), await isOpen(10 * MINUTE_MS)], [true, false])
  await sql`update user_session set used_at = ${after(55 * MINUTE_MS)}`
  assert.deepEqual([await isOpen(60 * MINUTE_MS - 1), await isOpen(60 * MINUTE_MS)], [true, false])
  await sql`update user_session set ended_at = ${NOW} where id = ${session_id}`
  assert.equal(await isOpen(0), false)
})

test('a list of sessions has what was asked for, newest first', async (t) => {
  const { sql, needs, begin } = await withUsers(t)
  await sql`
    insert into service_user (id, customer_id, name, role, invited_at, invited_by)
    values ('adam', 'of-anna', 'Adam', 'reader', ${NOW}, 'anna')`
  const names = new Map<string, string>()
  for (const [name, user_id] of [
    ['first', 'anna'],
    ['second', 'anna'],
    ['adams', 'adam'],
    ['berts', 'bert'],
    ['olgas', 'olga'],
  ] as const)
    names.set((await begin(user_id)).session_id, name)
  const idOf = (name: string) => [...names].find(([, one]) => one === name)![0]
  await sql`update user_session set ended_at = ${NOW} where id = ${idOf('first')}`
  await sql`update user_session set used_at = ${after(7)} where id = ${idOf('adams')}`
  type Filter = Partial<Parameters<typeof listSessions>[1]>
  const listed = async (wanted: Filter) => {
    const rows = await listSessions(needs.sql, { customer_id: 'of-anna', limit: 9, ...wanted })
    return rows.map(({ id }) => names.get(id)).join(' ')
  }
  const ends_ms = PORTAL.life_ms
  for (const [wanted, expected] of [
    [{}, 'adams second first'],
    [{ limit: 2 }, 'adams second'],
    [{ customer_id: null }, 'olgas'],
    [{ customer_id: 'of-bert' }, 'berts'],
    [{ user_id: 'anna' }, 'second first'],
    [{ user_id: 'bert' }, ''],
    [{ id: idOf('second') }, 'second'],
    [{ id: idOf('berts') }, ''],
    [{ name: 'smiTH' }, 'second first'],
    [{ name: 'ADAM' }, 'adams'],
    [{ name: '%' }, ''],
    [{ before: idOf('adams') }, 'second first'],
    [{ before: idOf('second') }, 'first'],
    [{ open_at: NOW }, 'adams second'],
    [{ open_at: after(ends_ms - 1) }, 'adams second'],
    [{ open_at: after(ends_ms) }, ''],
    [{ used_since: after(-1) }, 'adams second first'],
    [{ used_since: NOW }, 'adams'],
    [{ used_since: after(7) }, ''],
  ] as const satisfies [Filter, string][])
    assert.equal(await listed(wanted), expected, JSON.stringify(wanted))
})

test('where sessions came from is erased of one user, and counted if it was there', async (t) => {
  const { sql, begin } = await withUsers(t)
  const ids: string[] = []
  for (let more = 0; more < 4; more++) ids.push((await begin('anna')).session_id)
  await begin('bert')
  await sql`update user_session set ip = '' where id = any(${ids.slice(0, 2)})`
  await sql`update user_session set browser = '' where id = any(${ids.slice(1, 3)})`
  const erase = () => sql.begin((tx) => erasePlaces(tx, 'anna'))
  assert.deepEqual([await erase(), await erase()], [3, 0])
  const left = await sql<{ user_id: string; ip: string; browser: string }>`
    select distinct user_id, ip, browser from user_session order by user_id`
  assert.deepEqual(
    left.map(({ user_id, ip, browser }) => [user_id, ip, browser]),
    [
      ['anna', '', ''],
      ['bert', place.ip, place.browser],
    ],
  )
})

test('sessions are forgotten that began before the days for which they are kept', async (t) => {
  const { sql, needs } = await withUsers(t)
  const step = pruneSessionsStep(needs, 30)
  const insert = (id: string, count = 1) => sql`
    insert into user_session (id, token_hash, user_id, made_at, used_at, ends_at, ip, browser)
    select ${id} || n, encode(sha256((${id} || n)::bytea), 'hex'), 'anna', ${NOW}, ${NOW}, ${NOW},
      '', ''
    from generate_series(1, ${count}) as n`
  const oldest_kept = firstIdAt(after(-30 * DAY_MS))
  await sql`
    insert into user_session (id, token_hash, user_id, made_at, used_at, ends_at, ip, browser)
    values (${oldest_kept}, ${'a'.repeat(64)}, 'anna', ${NOW}, ${NOW}, ${NOW}, '', '')`
  assert.equal(await isDue(sql, step), false)
  await step.run()
  await insert(firstIdAt(after(-30 * DAY_MS - 1)), 1_001)
  assert.equal(await isDue(sql, step), true)
  assert.deepEqual([await step.run(), await step.run()], [true, false])
  assert.equal(await isDue(sql, step), false)
  const left = await sql<{ id: string }>`select id from user_session`
  assert.deepEqual(
    left.map(({ id }) => id),
    [oldest_kept],
  )
})

test('sessions that have ended push out none that is open', async (t) => {
  const { sql, begin, ended } = await withUsers(t)
  for (let once = 0; once < 20; once++) await begin('anna')
  await sql`
    update user_session set ended_at = ${NOW}
    where id = (select max(id) from user_session)`
  await begin('anna')
  assert.equal((await ended()).length, 1)
})

test('a proof of presence is of the session that has given it, from then on', async (t) => {
  const { sql, needs, begin, read, setTime } = await withUsers(t)
  await begin('anna')
  const { session_id } = await begin('bert')
  await begin('anna')
  const prove = async () => {
    const { token } = await sql.begin((tx) => stepUp(tx, needs, session_id))
    const session = await read(token)
    return [session?.user_id, session?.stepped_up_until]
  }
  setTime(MINUTE_MS)
  assert.deepEqual(await prove(), ['bert', after(6 * MINUTE_MS)])
  setTime(0)
  assert.deepEqual(await prove(), ['bert', after(6 * MINUTE_MS)], 'a longer one stays')
})

test("a session has the limits of its user's key, and of no other", async (t) => {
  const { sql, begin, read } = await withUsers(t)
  for (const [id, customer_id, cap] of [
    ['anna', 'of-anna', 5n],
    ['bert', 'of-bert', 7n],
  ] as const)
    await sql`
      insert into api_key (id, user_id, customer_id, name, secret_made_at, require_v2, created_at,
        daily_cap_sun)
      values (${id}, ${id}, ${customer_id}, ${id}, ${NOW}, false, ${NOW}, ${cap})`
  const caps: (bigint | null | undefined)[] = []
  for (const id of ['anna', 'bert']) caps.push((await read((await begin(id)).token))?.daily_cap_sun)
  assert.deepEqual(caps, [5n, 7n])
})
