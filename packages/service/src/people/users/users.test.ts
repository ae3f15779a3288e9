// Which users are counted, locked, listed and kept, and which links work: rows on both sides of
// every bound.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { ownTransaction } from 'penstock-test/harness/own_transaction.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { firstIdAt, idMaker, systemRandom } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { reportUsers } from './forms.ts'
import { userTokenHash } from './sessions.ts'
import {
  changeUser,
  endLinkOf,
  endOpenLinks,
  eraseName,
  findLink,
  inviteUser,
  joinUser,
  keepLink,
  lockUser,
  makeLink,
  recoverUser,
  removeUser,
  requireFreeName,
  useLink,
  usersLinkedBy,
} from './users.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const LINK_MS = 72 * 3_600_000
const after = (ms: number) => new Date(NOW.getTime() + ms)
const clock = { now: () => NOW }
const needs = { clock, random: systemRandom, new_id: idMaker(clock, systemRandom) }

async function withCustomers(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  for (const [i, id] of ['one', 'two', 'three'].entries())
    await sql`
      insert into customer (id, name, deposit_index, deposit_address, created_at)
      values (${id}, ${id}, ${i}, ${`T${String(i).padStart(33, '2')}`}, ${NOW})`
  return sql
}

type Row = {
  customer_id?: string | null
  role?: string
  joined?: boolean
  ended?: boolean
  sign_in_name?: string
}

async function insert(sql: Sql, id: string, row: Row = {}): Promise<void> {
  const { customer_id = 'one', role = 'reader', joined = true, ended = false } = row
  await sql`
    insert into service_user (id, customer_id, name, role, invited_at, invited_by, joined_at,
      ended_at, sign_in_name)
    values (${id}, ${customer_id}, ${id}, ${role}, ${NOW}, 'olga', ${joined ? NOW : null},
      ${ended ? NOW : null}, ${row.sign_in_name ?? null})`
}

const idsOf = async (sql: Sql, which: 'ended' | 'open') => {
  const rows = await sql<{ id: string }>`
    select id from service_user where (ended_at is not null) = ${which === 'ended'} order by id`
  return rows.map(({ id }) => id)
}

for (const [whose, customer_id, other, role] of [
  ['a customer', 'one', 'two', 'reader'],
  ['the house', null, 'one', 'auditor'],
] as const)
  test(`${whose} has at most 50 users who have not ended, and invites 200 in a day`, async (t) => {
    const sql = await withCustomers(t)
    const invite = () =>
      sql.begin((tx) =>
        inviteUser(tx, needs, { customer_id, name: 'Anna', role, invited_by: 'olga' }),
      )
    /** Users by the time of their ids. */
    const add = (at: Date, count: number, of: string | null, ended: boolean) => sql`
      insert into service_user (id, customer_id, name, role, invited_at, invited_by, ended_at)
      select ${firstIdAt(at).slice(0, 20)} || lpad((${of === customer_id ? 0 : 500} + n)::text, 6,
          '0'), ${of}, 'Bert', case when ${of}::text is null then 'auditor' else 'reader' end,
        ${NOW}, 'olga', ${ended ? NOW : null}
      from generate_series(0, ${count - 1}) as n`
    await add(after(-3 * DAY_MS), 300, customer_id, true)
    await add(after(-2 * DAY_MS), 49, customer_id, false)
    await add(after(-4 * DAY_MS), 60, other, false)
    assert.equal((await invite()).customer_id, customer_id)
    await assert.rejects(invite(), /There are 50 users/)
    await sql`update service_user set ended_at = ${NOW}`
    await add(after(-DAY_MS - 1), 20, customer_id, true)
    await add(after(-DAY_MS), 198, customer_id, true)
    await add(after(-1), 60, other, true)
    assert.ok(await invite())
    await assert.rejects(invite(), /200 users were invited within a day/)
  })

test('a user is locked who has not ended, and is of the customer that is named', async (t) => {
  const sql = await withCustomers(t)
  await insert(sql, 'anna')
  await insert(sql, 'ended', { ended: true })
  await insert(sql, 'olga', { customer_id: null, role: 'admin' })
  const lock = async (id: string, customer_id?: string | null) =>
    (await sql.begin((tx) => lockUser(tx, { id, customer_id })))?.id
  assert.deepEqual([await lock('anna'), await lock('anna', 'one')], ['anna', 'anna'])
  assert.deepEqual([await lock('olga'), await lock('olga', null)], ['olga', 'olga'])
  for (const [id, customer_id] of [
    ['anna', 'two'],
    ['anna', null],
    ['olga', 'one'],
    ['ended', 'one'],
    ['ended', undefined],
    ['none', undefined],
  ] as const)
    assert.equal(await lock(id, customer_id), undefined, `${id} of ${customer_id}`)
})

test('another owner has the same customer and role, has joined and is there', async (t) => {
  const sql = await withCustomers(t)
  await insert(sql, 'anna', { role: 'owner' })
  await insert(sql, 'far', { customer_id: 'two', role: 'owner' })
  await insert(sql, 'reader')
  await insert(sql, 'invited', { role: 'owner', joined: false })
  await insert(sql, 'gone', { role: 'owner', ended: true })
  await insert(sql, 'olga', { customer_id: null, role: 'admin' })
  await insert(sql, 'otto', { customer_id: null, role: 'operator' })
  const change = (id: string, role: string, name = id) =>
    sql.begin(async (tx) => {
      const user = (await lockUser(tx, { id }))!
      return changeUser(tx, { user, change: { role, name }, at: NOW })
    })
  const remove = (id: string, even_last?: boolean) =>
    sql.begin(async (tx) => {
      const user = (await lockUser(tx, { id }))!
      return removeUser(tx, { user, at: NOW, ...(even_last && { even_last }) })
    })
  await assert.rejects(change('anna', 'reader'), /anna is the last owner/)
  await assert.rejects(remove('anna'), /anna is the last owner/)
  await assert.rejects(change('olga', 'operator'), /olga is the last admin/)
  assert.equal((await change('anna', 'owner', 'Anna')).name, 'Anna', 'no other role')
  assert.equal((await change('invited', 'reader')).role, 'reader', 'who has not joined')
  assert.equal((await change('otto', 'auditor')).role, 'auditor', 'no owner, nor admin')
  await insert(sql, 'lone', { customer_id: 'three', role: 'owner', joined: false })
  assert.equal((await change('lone', 'reader')).role, 'reader', 'who has not joined, and is alone')
  await insert(sql, 'bert', { role: 'owner' })
  assert.equal((await change('anna', 'finance')).role, 'finance')
  await assert.rejects(remove('bert'), /bert is the last owner/)
  assert.deepEqual(await idsOf(sql, 'ended'), ['gone'])
  assert.ok((await remove('bert', true)).ended_at)
  assert.ok((await remove('anna')).ended_at)
  assert.deepEqual(await idsOf(sql, 'ended'), ['anna', 'bert', 'gone'])
  const rows = await sql<{ role: string }>`select role from service_user where id = 'far'`
  assert.equal(rows[0]!.role, 'owner')
})

test('whose role changes has to sign in again, and nobody else', async (t) => {
  const sql = await withCustomers(t)
  for (const [i, id] of ['anna', 'bert'].entries()) {
    await insert(sql, id)
    await sql`
      insert into user_session (id, token_hash, user_id, made_at, used_at, ends_at, ip, browser)
      values (${id}, ${String(i).repeat(64)}, ${id}, ${NOW}, ${NOW}, ${after(1)}, '', '')`
  }
  const change = (wanted: { name?: string; role?: string }) =>
    sql.begin(async (tx) => {
      const user = (await lockUser(tx, { id: 'anna' }))!
      await changeUser(tx, { user, change: wanted, at: NOW })
    })
  const ended = async () =>
    (await sql`select 1 from user_session where ended_at is not null and id = 'anna'`).length
  await change({ name: 'Anna' })
  assert.equal(await ended(), 0)
  await change({ role: 'finance' })
  assert.equal(await ended(), 1)
  assert.equal((await sql`select 1 from user_session where ended_at is null`).length, 1)
})

test('a link works until the moment that it ends, once, for one who has not ended', async (t) => {
  const sql = await withCustomers(t)
  await insert(sql, 'anna')
  await insert(sql, 'bert')
  const make = (user_id: string) =>
    sql.begin((tx) => makeLink(tx, needs, { user_id, purpose: 'join' }))
  const [annas, berts] = [await make('anna'), await make('bert')]
  const find = async (token: string, ms = 0) =>
    (await sql.begin((tx) => findLink(tx, token, after(ms))))?.user_id
  const use = (token: string, ms = 0) => sql.begin((tx) => useLink(tx, token, after(ms)))
  assert.deepEqual(annas.ends_at, after(LINK_MS))
  assert.deepEqual([await find(annas.token), await find(berts.token)], ['anna', 'bert'])
  assert.equal(await find('a'.repeat(43)), undefined)
  assert.deepEqual(
    [await find(annas.token, LINK_MS - 1), await find(annas.token, LINK_MS)],
    ['anna', undefined],
  )
  assert.equal(await use(annas.token, LINK_MS), false)
  assert.deepEqual([await use(annas.token, LINK_MS - 1), await use(annas.token)], [true, false])
  assert.equal(await find(annas.token), undefined)
  assert.equal(await find(berts.token), 'bert')
  await sql`update service_user set ended_at = ${NOW} where id = 'bert'`
  assert.equal(await find(berts.token), undefined)
})

test('links that are put out are open ones of the one user, or of the one maker', async (t) => {
  const sql = await withCustomers(t)
  for (const id of ['anna', 'bert']) await insert(sql, id)
  for (const id of ['key', 'other'])
    await sql`
      insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at,
        require_v2, created_at)
      values (${id}, 'one', 'Key', ${id === 'key' ? '0'.repeat(64) : '1'.repeat(64)}, 'sealed',
        ${NOW}, false, ${NOW})`
  const LINKS = [
    ['anna, open', 'anna', 'key', false],
    ['anna, used', 'anna', 'key', true],
    ['bert, open', 'bert', 'other', false],
    ['bert, of an operator', 'bert', null, false],
  ] as const
  const leftAfter = async (work: (tx: Tx) => unknown) => {
    await sql`delete from user_link`
    for (const [token, user_id, made_by, is_used] of LINKS) {
      await sql.begin((tx) => keepLink(tx, needs, { token, user_id, purpose: 'join', made_by }))
      if (is_used)
        await sql`update user_link set used_at = ${NOW} where token_hash = ${userTokenHash(token)}`
    }
    await sql.begin(async (tx) => {
      await work(tx)
    })
    const rows = await sql<{ token_hash: string }>`select token_hash from user_link`
    const hashes = new Set(rows.map(({ token_hash }) => token_hash))
    const left = LINKS.flatMap(([token]) => (hashes.has(userTokenHash(token)) ? [token] : []))
    return [left, rows.length - left.length]
  }
  const [, used, berts, operators] = LINKS.map(([token]) => token)
  const kept = [used, berts, operators]
  const link = { user_id: 'anna', purpose: 'join' } as const
  assert.deepEqual(await leftAfter((tx) => endOpenLinks(tx, 'key')), [kept, 0])
  assert.deepEqual(await leftAfter((tx) => endLinkOf(tx, 'anna')), [kept, 0])
  assert.deepEqual(await leftAfter((tx) => makeLink(tx, needs, link)), [kept, 1])
  const user = async (tx: Tx) => (await lockUser(tx, { id: 'anna' }))!
  const recover = async (tx: Tx) => recoverUser(tx, needs, await user(tx), 'other')
  assert.deepEqual(await leftAfter(recover), [kept, 1])
  const remove = async (tx: Tx) => removeUser(tx, { user: await user(tx), at: NOW })
  assert.deepEqual(await leftAfter(remove), [kept, 0])
  assert.deepEqual(await leftAfter((tx) => eraseName(tx, 'anna')), [kept.slice(1), 0])
})

test('a name to sign in with is of one user, who may choose it again', async (t) => {
  const sql = await withCustomers(t)
  await insert(sql, 'anna', { sign_in_name: 'anna', joined: false })
  await insert(sql, 'bert', { customer_id: 'two', sign_in_name: 'bert' })
  await insert(sql, 'carl')
  await requireFreeName(sql, 'anna', 'anna')
  await requireFreeName(sql, 'anna', 'new')
  await requireFreeName(sql, 'anna', null)
  await assert.rejects(requireFreeName(sql, 'anna', 'bert'), /Somebody else has that name/)
  const join = (id: string, sign_in_name: string, ms: number) =>
    sql.begin(async (tx) => {
      const user = (await lockUser(tx, { id }))!
      await joinUser(tx, { user, sign_in_name, at: after(ms) })
    })
  await join('anna', 'other', 1)
  await join('anna', 'third', 2)
  await assert.rejects(join('anna', 'bert', 3), /Somebody else has that name/)
  const rows = await sql<{ sign_in_name: string | null; joined_at: Date }>`
    select sign_in_name, joined_at from service_user order by id`
  assert.deepEqual(
    rows.map(({ sign_in_name, joined_at }) => [sign_in_name, joined_at.getTime() - NOW.getTime()]),
    [
      ['third', 1],
      ['bert', 0],
      [null, 0],
    ],
  )
})

test('a list of users has what was asked for, newest first', async (t) => {
  const sql = await withCustomers(t)
  await insert(sql, 'a')
  await insert(sql, 'b', { joined: false })
  await insert(sql, 'c', { role: 'owner', ended: true })
  await insert(sql, 'd', { role: 'owner', joined: false, ended: true })
  await insert(sql, 'e', { customer_id: 'two' })
  await insert(sql, 'f', { customer_id: null, role: 'admin' })
  for (const [id, user_id, off_at] of [
    ['first', 'a', null],
    ['second', 'a', null],
    ['off', 'a', NOW],
    ['other', 'b', null],
  ] as const)
    await sql`
      insert into passkey (id, user_id, name, public_key, counter, transports, made_at, off_at)
      values (${id}, ${user_id}, 'passkey', '', 0, '{}', ${NOW}, ${off_at})`
  await sql`
    insert into user_password (user_id, hash, sealed_totp, totp_step, changed_at)
    values ('b', '', '', 7, ${NOW})`
  type Filter = Partial<Parameters<typeof reportUsers>[1]>
  for (const [wanted, expected] of [
    [{}, 'fedcba'],
    [{ limit: 2 }, 'fe'],
    [{ customer_id: null }, 'f'],
    [{ customer_id: 'one' }, 'dcba'],
    [{ customer_id: 'two' }, 'e'],
    [{ customer_id: 'one', ids: ['a', 'e'] }, 'a'],
    [{ ids: [] }, ''],
    [{ role: 'owner' }, 'dc'],
    [{ state: 'ended' }, 'dc'],
    [{ state: 'invited' }, 'b'],
    [{ state: 'active' }, 'fea'],
    [{ before: 'c' }, 'ba'],
  ] as const satisfies [Filter, string][]) {
    const rows = await reportUsers(sql, { limit: 9, ...wanted })
    assert.equal(rows.map(({ id }) => id).join(''), expected, JSON.stringify(wanted))
  }
  const rows = await reportUsers(sql, { customer_id: 'one', limit: 9 })
  assert.deepEqual(
    rows.map(({ id, passkeys, totp }) => [id, passkeys, totp]),
    [
      ['d', 0, false],
      ['c', 0, false],
      ['b', 1, true],
      ['a', 2, false],
    ],
  )
})

test('a name is erased of one user, who may still be there', async (t) => {
  const sql = await withCustomers(t)
  for (const id of ['anna', 'bert']) await insert(sql, id, { sign_in_name: id })
  await sql.begin((tx) => eraseName(tx, 'anna'))
  const rows = await sql<{ name: string; sign_in_name: string | null }>`
    select name, sign_in_name from service_user order by id`
  assert.deepEqual(
    rows.map(({ name, sign_in_name }) => [name === 'anna', name === 'bert', sign_in_name]),
    [
      [false, false, null],
      [false, true, 'bert'],
    ],
  )
})

test('an operator was shown those open links that no other operator has made anew', async (t) => {
  const sql = await withCustomers(t)
  const act = (id: string, made_by: string, action: string) => sql`
    insert into operator_action (made_at, made_by, action, subject)
    values (${NOW}, ${made_by}, ${action}, ${`user:${id}`})`
  const WAYS = ['operators invite', 'operators recover', 'users invite', 'users recover']
  const link = async (id: string, made_by: string | null = null) => {
    await insert(sql, id)
    const wanted = { token: id, user_id: id, purpose: 'join' as const, made_by }
    await sql.begin((tx) => keepLink(tx, needs, wanted))
  }
  for (const [i, action] of WAYS.entries()) {
    await link(`way ${i}`)
    await act(`way ${i}`, 'olga', action)
  }
  await sql`
    insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at,
      require_v2, created_at)
    values ('key', 'one', 'Key', ${'0'.repeat(64)}, 'sealed', ${NOW}, false, ${NOW})`
  for (const id of ['anew', 'back', 'changed', 'other', 'unsaid', 'used']) await link(id)
  await link('by a key', 'key')
  for (const [id, made_by, action] of [
    ['anew', 'olga', 'users invite'],
    ['anew', 'otto', 'users recover'],
    ['back', 'otto', 'users invite'],
    ['back', 'olga', 'users recover'],
    ['by a key', 'olga', 'users invite'],
    ['changed', 'olga', 'users invite'],
    ['changed', 'otto', 'users change'],
    ['other', 'otto', 'users invite'],
    ['used', 'olga', 'users invite'],
  ] as const)
    await act(id, made_by, action)
  await sql`update user_link set used_at = ${NOW} where user_id = 'used'`
  const linkedBy = (operator: string) => sql.begin((tx) => usersLinkedBy(tx, operator))
  const ways = WAYS.map((_, i) => `way ${i}`)
  assert.deepEqual((await linkedBy('olga')).sort(), ['back', 'changed', ...ways])
  assert.deepEqual((await linkedBy('otto')).sort(), ['anew', 'other'])
  assert.deepEqual(await linkedBy('nobody'), [])
})

test('a locked user is kept as it is, and those of other customers are not', async (t) => {
  const sql = await withCustomers(t)
  await insert(sql, 'anna')
  await insert(sql, 'far', { customer_id: 'two' })
  const isFree = (id: string) =>
    sql
      .begin((tx) => tx`select 1 from service_user where id = ${id} for no key update nowait`)
      .then(
        () => true,
        () => false,
      )
  await sql.begin(async (tx) => {
    await lockUser(tx, { id: 'anna' })
    assert.deepEqual([await isFree('anna'), await isFree('far')], [false, true])
  })
})

test('a new link of one who has joined is told as a recovery, else as an invitation', async (t) => {
  const sql = await withCustomers(t)
  await insert(sql, 'anna')
  await insert(sql, 'bert', { joined: false })
  for (const id of ['anna', 'bert'])
    await sql.begin(async (tx) => {
      await recoverUser(tx, needs, (await lockUser(tx, { id }))!)
    })
  const notes = await sql<{ type: string; subject: string }>`
    select type, subject from event_note order by id`
  assert.deepEqual(
    notes.map(({ type, subject }) => [type, subject]),
    [
      ['user.recovered', 'user:anna'],
      ['user.invited', 'user:bert'],
    ],
  )
})

test('a name that somebody else takes at the same moment is refused as one taken', async (t) => {
  const { sql, url } = await freshDatabase(t)
  for (const id of ['olga', 'otto']) await insert(sql, id, { customer_id: null, role: 'admin' })
  const other = await ownTransaction(t, url)
  await other.query("update service_user set sign_in_name = 'boss' where id = 'otto'")
  const join = (sign_in_name: string) =>
    sql.begin(async (tx) => {
      const user = (await lockUser(tx, { id: 'olga' }))!
      await joinUser(tx, { user, sign_in_name, at: NOW })
    })
  const refused = assert.rejects(join('boss'), /Somebody else has that name/)
  await other.waitedFor(refused)
  await other.commit()
  await refused
  await assert.rejects(join('No name'), /service_user_sign_in_name_form/)
})
