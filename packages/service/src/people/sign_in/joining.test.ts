// Joining by a link: what it shows, what it takes, and what it takes away, on rows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator, type Options } from 'penstock-test/harness/authenticator.ts'
import { PAGES, withSignIn } from 'penstock-test/harness/sign_in_pages.ts'
import { PASSWORD } from 'penstock-test/harness/users.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { lockUser, recoverUser } from '../users/users.ts'
import { forgetProofs } from './joining.ts'

const JOIN = '/session/join'
const NO_LINK = 'auth.link'
const HOUSE = { customer_id: null, role: 'admin' }

type JoinPage = {
  kind: string
  customer: { id: string } | null
  sign_in_name: string | null
  passkey: Options | null
  totp: { secret: string; offer: string } | null
  why_not: string | null
  session: { user: { id: string; sign_in_name: string } } | null
  recovery_codes: string[] | null
}

/** What each user signs in with. */
const proofsOf = async (sql: Sql, user_id: string) => {
  const [found] = await sql<{ passkeys: number; passwords: number; codes: number }>`
    select (select count(*) from passkey where user_id = ${user_id})::integer as passkeys,
      (select count(*) from user_password where user_id = ${user_id})::integer as passwords,
      (select count(*) from recovery_code where user_id = ${user_id})::integer as codes`
  return found!
}

test('a link shows what it is for at the face of its user, and nowhere else', async (t) => {
  const { sql, page, invite } = await withSignIn(t)
  const [anna, olga, bert] = [await invite(), await invite(HOUSE), await invite({}, 'sign_in')]
  const berts = await invite({ customer_id: 'beta' })
  const show = ({ token }: { token: string }, face: 'portal' | 'console' = 'portal') =>
    page({ face }).ask<JoinPage>(JOIN, { token })
  for (const [token, face] of [
    [anna.token, 'console'],
    [olga.token, 'portal'],
    ['a'.repeat(43), 'portal'],
    ['a'.repeat(43), 'console'],
  ] as const)
    assert.equal(await page({ face }).refusal(JOIN, { token }), NO_LINK)
  const shown = await show(anna)
  assert.deepEqual([shown.kind, shown.customer?.id, shown.why_not], ['invite', 'alpha', null])
  assert.deepEqual([shown.passkey !== null, shown.totp !== null], [true, true])
  assert.equal((await show(berts)).customer?.id, 'beta')
  assert.equal((await show(olga, 'console')).customer, null)
  const signing_in = await show(bert)
  assert.equal(signing_in.kind, 'sign_in')
  assert.deepEqual([signing_in.passkey, signing_in.totp], [null, null])
  const { token } = anna
  const at_address = await page({ origin: 'https://192.0.2.80' }).ask<JoinPage>(JOIN, { token })
  assert.deepEqual([at_address.passkey, at_address.totp !== null], [null, true])
  assert.match(String(at_address.why_not), /is an address/)
  await sql`update service_user set ended_at = invited_at where id = ${anna.user_id}`
  assert.equal(await page().refusal(JOIN, { token }), NO_LINK)
})

test('a name is looked at before anything is made for it, and uses nothing up', async (t) => {
  const { sql, page, invite, joinByPassword } = await withSignIn(t)
  await joinByPassword('anna')
  const { token } = await invite()
  assert.equal(await page().refusal(JOIN, { token, sign_in_name: 'anna' }), 'conflict.sign_in_name')
  const shown = await page().ask<JoinPage>(JOIN, { token, sign_in_name: 'bert' })
  assert.deepEqual([shown.kind, shown.session], ['invite', null])
  // A link that signs in takes no name.
  const other = await invite({}, 'sign_in')
  const named = { token: other.token, sign_in_name: 'anna', password: PASSWORD }
  assert.equal((await page().ask<JoinPage>(JOIN, named)).session, null)
  const used = await sql`select 1 from user_link where used_at is not null`
  assert.equal(used.length, 1)
  const gone = { before: 2, work: () => sql`delete from user_link` }
  assert.equal(await page().refusal(JOIN, { token, sign_in_name: 'bert' }, gone), NO_LINK)
})

test('a link is followed once, with a passkey or with a password and its code', async (t) => {
  const { sql, page, invite, codeOf } = await withSignIn(t)
  const by_passkey = await invite()
  const own = page()
  const { passkey, totp } = await own.ask<JoinPage>(JOIN, { token: by_passkey.token })
  const made = new Authenticator(PAGES).create(passkey!)
  const named = { token: by_passkey.token, sign_in_name: 'anna' }
  // A passkey is enough: what is sent besides is not looked at.
  const joined = await own.ask<JoinPage>(JOIN, { ...named, passkey: made, password: PASSWORD })
  assert.deepEqual([joined.session?.user.id, joined.sign_in_name], [by_passkey.user_id, 'anna'])
  assert.equal(joined.recovery_codes?.length, 10)
  assert.deepEqual(await proofsOf(sql, by_passkey.user_id), {
    passkeys: 1,
    passwords: 0,
    codes: 10,
  })
  assert.equal(await page().refusal(JOIN, named), NO_LINK, 'it is used')
  const by_password = await invite()
  const fresh = await own.ask<JoinPage>(JOIN, { token: by_password.token })
  const typed = {
    token: by_password.token,
    sign_in_name: 'bert',
    password: PASSWORD,
    code: codeOf(fresh.totp!.secret),
    offer: fresh.totp!.offer,
  }
  const wrong_code = typed.code === '000000' ? '000001' : '000000'
  for (const [name, body] of [
    ['passkey', { ...typed, passkey: made }],
    ['offer', { ...typed, offer: totp!.offer }],
    ['offer', { ...typed, offer: 'none' }],
    ['code', { ...typed, code: wrong_code }],
  ] as const)
    assert.equal(await page().refusal(JOIN, body), `invalid_service_or_params.${name}`)
  await page().ask(JOIN, typed)
  assert.deepEqual(await proofsOf(sql, by_password.user_id), {
    passkeys: 0,
    passwords: 1,
    codes: 10,
  })
})

test('a link that is used, or whose user ends, while one joins is none', async (t) => {
  const { sql, outrun, page, invite, codeOf } = await withSignIn(t)
  const joining = async () => {
    const { token } = await invite()
    const { totp } = await page().ask<JoinPage>(JOIN, { token })
    const { secret, offer } = totp!
    const shown = { password: PASSWORD, code: codeOf(secret), offer }
    return { token, sign_in_name: 'anna', ...shown }
  }
  for (const change of [
    'update user_link set used_at = made_at',
    'update service_user set ended_at = invited_at',
  ]) {
    const body = await joining()
    const join = () => page().refusal(JOIN, body)
    assert.equal(await outrun(change, join), NO_LINK, change)
  }
  for (const change of [
    () => sql`delete from user_link`,
    () => sql`update user_link set purpose = 'sign_in'`,
  ]) {
    const meanwhile = { before: 2, work: change }
    assert.equal(await page().refusal(JOIN, await joining(), meanwhile), NO_LINK)
  }
  assert.equal((await sql`select 1 from user_session`).length, 0)
})

test('a new link of one who has joined takes the place of all that was there', async (t) => {
  const { sql, needs, page, codeOf, setTime, joinByPassword, joinByPasskey } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  const bert = await joinByPasskey('bert')
  await sql`
    insert into passkey (id, user_id, name, public_key, counter, transports, made_at)
    select 'other', ${anna.user_id}, name, public_key, counter, transports, made_at from passkey`
  await sql`
    insert into user_password (user_id, hash, sealed_totp, totp_step, changed_at)
    select ${bert.user_id}, hash, sealed_totp, totp_step, changed_at from user_password`
  const all = { passkeys: 1, passwords: 1, codes: 10 }
  assert.deepEqual(
    [await proofsOf(sql, anna.user_id), await proofsOf(sql, bert.user_id)],
    [all, all],
  )
  await sql.begin((tx) => forgetProofs(tx, anna.user_id))
  assert.deepEqual(await proofsOf(sql, anna.user_id), { passkeys: 0, passwords: 0, codes: 0 })
  assert.deepEqual(await proofsOf(sql, bert.user_id), all)
  setTime(60_000)
  await sql`delete from event_note`
  const { token } = await sql.begin(async (tx) =>
    recoverUser(tx, needs, (await lockUser(tx, { id: anna.user_id }))!),
  )
  const { totp, sign_in_name } = await page().ask<JoinPage>(JOIN, { token })
  assert.equal(sign_in_name, 'anna')
  const shown = { password: PASSWORD, code: codeOf(totp!.secret), offer: totp!.offer }
  await page().ask(JOIN, { token, sign_in_name: 'anna', ...shown })
  const notes = await sql<{ type: string }>`select type from event_note order by id`
  assert.deepEqual(
    notes.map(({ type }) => type),
    ['user.recovered', 'user.changed'],
  )
})
