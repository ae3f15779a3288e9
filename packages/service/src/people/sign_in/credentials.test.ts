// How users change their ways to sign in: whose these are, that one stays, and who else is
// signed out by it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator, type Options } from 'penstock-test/harness/authenticator.ts'
import { PAGES, type SignInPage, withSignIn } from 'penstock-test/harness/sign_in_pages.ts'
import { PASSWORD } from 'penstock-test/harness/users.ts'
import type { Sql } from '../../platform/database/sql.ts'

const PASSKEYS = '/session/passkeys'
const HOUSE = { customer_id: null, role: 'admin' }

type Credentials = {
  passkeys: { id: string; name: string }[]
  password: boolean
  recovery_codes: number
}
type NewPasskey = { options: (Options & { excludeCredentials: { id: string }[] }) | null }
type Totp = { totp: { secret: string; offer: string } | null; credentials: Credentials | null }

/** Passkeys that a user has, but has not made here. */
const insertPasskeys = (sql: Sql, user_id: string, ids: readonly string[]) => sql`
  insert into passkey (id, user_id, name, public_key, counter, transports, made_at)
  select one.id, ${user_id}, one.id, '\\x01', 0, '{}', invited_at
  from service_user, unnest(${ids}::text[]) as one (id) where service_user.id = ${user_id}`

async function addPasskey(page: SignInPage, body: object = {}) {
  const { options } = await page.ask<NewPasskey>(`${PASSKEYS}/new`)
  const passkey = new Authenticator(PAGES).create(options!)
  await page.ask(`${PASSKEYS}/new`, { ...body, passkey })
  return passkey.id
}

test('the list is of what the user has, and codes that are not used', async (t) => {
  const { sql, joinByPassword, joinByPasskey } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  const bert = await joinByPasskey('bert')
  const list = async ({ page }: { page: SignInPage }) => {
    const { passkeys, password, recovery_codes } = await page.ask<Credentials>(`${PASSKEYS}/list`)
    return [passkeys.map(({ id }) => id), password, recovery_codes]
  }
  await sql`
    update recovery_code set used_at = now() where code_hash in (
      select code_hash from recovery_code where user_id = ${anna.user_id} limit 3)`
  await sql`
    update recovery_code set used_at = now() where code_hash in (
      select code_hash from recovery_code where user_id = ${bert.user_id} limit 1)`
  assert.deepEqual(await list(anna), [[], true, 7])
  assert.deepEqual(await list(bert), [[bert.authenticator.id], false, 9])
})

test('a user has twenty passkeys at most, each made once', async (t) => {
  const { sql, page, joinByPasskey } = await withSignIn(t)
  const { page: own, user_id, authenticator } = await joinByPasskey('anna')
  const others = Array.from({ length: 18 }, (_, i) => `passkey-${i}`)
  await insertPasskeys(sql, user_id, others)
  const { options } = await own.ask<NewPasskey>(`${PASSKEYS}/new`)
  const excluded = options!.excludeCredentials.map(({ id }) => id).sort()
  assert.deepEqual(excluded, [...others, authenticator.id].sort())
  const at_address = page({ origin: 'https://192.0.2.80' })
  at_address.cookies = own.cookies
  assert.equal(await at_address.refusal(`${PASSKEYS}/new`), 'forbidden.insecure')
  await addPasskey(own, { name: 'twentieth' })
  const { passkeys } = await own.ask<Credentials>(`${PASSKEYS}/list`)
  assert.deepEqual([passkeys.length, passkeys.some(({ name }) => name === 'twentieth')], [20, true])
  assert.equal(await own.refusal(`${PASSKEYS}/new`), 'limit_reached.passkey')
})

test('a passkey is renamed and taken away by its user alone, and one way in stays', async (t) => {
  const { sql, joinByPassword, joinByPasskey } = await withSignIn(t)
  const anna = await joinByPasskey('anna')
  const bert = await joinByPasskey('bert')
  await joinByPassword('carl')
  const id = anna.authenticator.id
  const rename = { id, name: 'phone' }
  assert.equal(await bert.page.refusal(`${PASSKEYS}/rename`, rename), 'not_found.passkey')
  const renamed = await anna.page.ask<Credentials>(`${PASSKEYS}/rename`, rename)
  assert.equal(renamed.passkeys[0]?.name, 'phone')
  assert.equal(await bert.page.refusal(`${PASSKEYS}/remove`, { id }), 'not_found.passkey')
  const remove = () => anna.page.refusal(`${PASSKEYS}/remove`, { id })
  assert.equal(await remove(), 'conflict.last_credential')
  await insertPasskeys(sql, anna.user_id, ['off'])
  await sql`update passkey set off_at = made_at where id = 'off'`
  assert.equal(await remove(), 'conflict.last_credential', 'one that is off is no way in')
  await sql`update passkey set off_at = null`
  assert.equal(await remove(), undefined)
  await sql`
    insert into user_password (user_id, hash, sealed_totp, totp_step, changed_at)
    select ${anna.user_id}, hash, sealed_totp, totp_step, changed_at from user_password`
  const last = await anna.page.ask<Credentials>(`${PASSKEYS}/remove`, { id: 'off' })
  assert.deepEqual([last.passkeys, last.password], [[], true])
})

test('what a session changes after its end, or for one who is gone, is refused', async (t) => {
  const { sql, joinByPassword } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  const change = (end: () => Promise<unknown>) =>
    anna.page.refusal('/session/recovery/new', {}, { before: 1, work: end })
  const codes = () => sql`select code_hash from recovery_code order by code_hash`
  const before = await codes()
  const end = () => sql`update user_session set ended_at = made_at`
  assert.equal(await change(end), 'auth.session')
  await sql`update user_session set ended_at = null`
  const remove = () => sql`update service_user set ended_at = invited_at`
  assert.equal(await change(remove), 'not_found.user')
  await sql`update service_user set ended_at = null`
  assert.deepEqual(await codes(), before)
  assert.equal(await change(async () => undefined), undefined)
  assert.notDeepEqual(await codes(), before)
})

test('others are signed out when it is asked for, and by a new password always', async (t) => {
  const { sql, page, setTime, codeOf, joinByPassword } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  const bert = await joinByPassword('bert')
  let minutes = 0
  const signIn = async () => {
    minutes += 1
    setTime(minutes * 60_000)
    const other = page()
    const typed = { sign_in_name: 'anna', password: PASSWORD, code: codeOf(anna.secret) }
    await other.ask('/session/password', typed)
    return other
  }
  const isIn = async (one: SignInPage) => (await one.refusal(`${PASSKEYS}/list`)) === undefined
  const other = await signIn()
  await anna.page.ask('/session/recovery/new', { end_others: false })
  await anna.page.ask('/session/recovery/new')
  assert.equal(await isIn(other), true)
  await anna.page.ask('/session/recovery/new', { end_others: true })
  assert.equal(await isIn(other), false)
  const third = await signIn()
  const { totp, credentials } = await anna.page.ask<Totp>('/session/totp')
  assert.deepEqual([await isIn(third), credentials], [true, null])
  const { secret, offer } = totp!
  const chosen = { password: 'another horse battery', code: codeOf(secret), offer }
  const changed = await anna.page.ask<Totp>('/session/totp', chosen)
  assert.deepEqual([changed.totp, changed.credentials?.password], [null, true])
  assert.deepEqual(
    [await isIn(third), await isIn(anna.page), await isIn(bert.page)],
    [false, true, true],
  )
  const actions = await sql<{ action: string }>`
    select action from customer_action where customer_id = 'alpha' order by number`
  assert.deepEqual(
    actions.map(({ action }) => action),
    ['session/recovery/new', 'session/recovery/new', 'session/recovery/new', 'session/totp'],
  )
})

test('what one of the house changes is no action of a customer', async (t) => {
  const { sql, joinByPassword } = await withSignIn(t)
  const olga = await joinByPassword('olga', HOUSE)
  await olga.page.ask('/session/recovery/new')
  assert.equal((await sql`select 1 from customer_action`).length, 0)
})

test('who came by a link that signs in has no name, so no password', async (t) => {
  const { page, invite } = await withSignIn(t)
  const { token } = await invite({}, 'sign_in')
  const own = page()
  await own.ask('/session/link', { token })
  assert.equal(await own.refusal('/session/totp'), 'conflict.sign_in_name')
})

test('signing out ends the session, and everywhere only after a proof of presence', async (t) => {
  const { sql, page, setTime, codeOf, joinByPassword } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  const open = async () => (await sql`select 1 from user_session where ended_at is null`).length
  const signIn = async (minutes: number) => {
    setTime(minutes * 60_000)
    const own = page()
    const typed = { sign_in_name: 'anna', password: PASSWORD, code: codeOf(anna.secret) }
    await own.ask('/session/password', typed)
    return own
  }
  const [one, two] = [await signIn(1), await signIn(2)]
  setTime(6 * 60_000)
  assert.equal(await one.refusal('/session/end', { everywhere: true }), 'forbidden.step_up')
  assert.deepEqual(await one.ask('/session/end'), { ended: 1 })
  assert.equal(await open(), 2)
  assert.deepEqual(await two.ask('/session/end', { everywhere: true }), { ended: 2 })
  assert.equal(await open(), 0)
})
