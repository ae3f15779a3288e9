// How somebody who is signed in shows to be there: by what, whose, and what is noted of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator, type Options } from 'penstock-test/harness/authenticator.ts'
import { withSignIn } from 'penstock-test/harness/sign_in_pages.ts'
import { PASSWORD } from 'penstock-test/harness/users.ts'
import type { Sql } from '../../platform/database/sql.ts'

const REFUSED = 'auth.sign_in'
const MINUTE_MS = 60_000
const STEP_UP = '/session/step-up'

type Reply = {
  session: { user: { id: string }; stepped_up_until: string } | null
  passkey: (Options & { allowCredentials: { id: string }[] }) | null
  password: boolean
}

const triesOf = async (sql: Sql) =>
  (
    await sql<{ outcome: string; user_id: string }>`
      select outcome, user_id from sign_in where way = 'step_up' order by id`
  ).map(({ outcome, user_id }) => [outcome, user_id])

test('a user is asked for what there is: passkeys that are on, and a password', async (t) => {
  const { sql, page, joinByPassword, joinByPasskey } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  const bert = await joinByPasskey('bert')
  const optionsOf = async (own: ReturnType<typeof page>) => {
    const { session, passkey, password } = await own.ask<Reply>(STEP_UP)
    assert.equal(session, null)
    return [passkey?.allowCredentials.map(({ id }) => id), password]
  }
  assert.deepEqual(await optionsOf(anna.page), [undefined, true])
  assert.deepEqual(await optionsOf(bert.page), [[bert.authenticator.id], false])
  await sql`
    insert into passkey (id, user_id, name, public_key, counter, transports, made_at, off_at)
    select 'off', user_id, 'off', public_key, counter, transports, made_at, made_at from passkey`
  assert.deepEqual(await optionsOf(bert.page), [[bert.authenticator.id], false])
  await sql`update passkey set off_at = made_at`
  assert.deepEqual(await optionsOf(bert.page), [undefined, false])
  await sql`update passkey set off_at = null`
  const at_address = page({ origin: 'https://192.0.2.80' })
  at_address.cookies = bert.page.cookies
  assert.deepEqual(await optionsOf(at_address), [undefined, false])
})

test('a password steps up its own user, by the code of that user', async (t) => {
  const { sql, setTime, codeOf, joinByPassword, joinByPasskey } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  const bert = await joinByPassword('bert')
  const carl = await joinByPasskey('carl')
  setTime(4 * MINUTE_MS)
  const by = (secret: string) => ({ password: PASSWORD, code: codeOf(secret) })
  assert.equal(await bert.page.refusal(STEP_UP, by(anna.secret)), REFUSED)
  assert.equal(await carl.page.refusal(STEP_UP, by(anna.secret)), REFUSED)
  const { session, passkey } = await bert.page.ask<Reply>(STEP_UP, by(bert.secret))
  assert.deepEqual([session?.user.id, passkey], [bert.user_id, null])
  assert.equal(session?.stepped_up_until, '2026-10-08T15:35:32Z')
  assert.deepEqual(await triesOf(sql), [
    ['failed', bert.user_id],
    ['failed', carl.user_id],
    ['done', bert.user_id],
  ])
})

test('a passkey steps up its own user, in the session that has asked', async (t) => {
  const { sql, joinByPasskey } = await withSignIn(t)
  const anna = await joinByPasskey('anna')
  const bert = await joinByPasskey('bert')
  const asked = async (by: Authenticator, own = anna.page) =>
    by.get((await own.ask<Reply>(STEP_UP)).passkey!)
  const refused = async (passkey: object) =>
    assert.equal(await anna.page.refusal(STEP_UP, { passkey }), REFUSED)
  await refused(await asked(bert.authenticator))
  await refused(await asked(anna.authenticator, bert.page))
  await refused(await asked(new Authenticator(anna.authenticator.origin)))
  const passkey = await asked(anna.authenticator)
  const { session } = await anna.page.ask<Reply>(STEP_UP, { passkey })
  assert.equal(session?.user.id, anna.user_id)
  const failed = ['failed', anna.user_id]
  assert.deepEqual(await triesOf(sql), [failed, failed, failed, ['done', anna.user_id]])
})
