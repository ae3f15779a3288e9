// Whose passkey has answered: user, page, challenge and counter, each on both sides.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Alteration, Authenticator } from 'penstock-test/harness/authenticator.ts'
import { withRace } from 'penstock-test/harness/race.ts'
import { PAGES, withSignIn } from 'penstock-test/harness/sign_in_pages.ts'
import { consoleFace, portalFace } from '../users/faces.ts'
import {
  assertionOptions,
  listPasskeys,
  registrationOptions,
  verifyAssertion,
  verifyRegistration,
} from './passkeys.ts'

const FACES = { portal: portalFace(PAGES), console: consoleFace(PAGES) }

/** Anna of a customer and olga of the house, who have a passkey each. */
async function withPasskeys(t: TestContext) {
  const { sql, needs, joinByPasskey } = await withSignIn(t)
  const anna = await joinByPasskey('anna')
  const bert = await joinByPasskey('bert')
  const olga = await joinByPasskey('olga', { customer_id: null, role: 'admin' })
  const bound_to = 'test'
  const optionsAt = (face: keyof typeof FACES) =>
    assertionOptions({ ...needs, face: FACES[face] }, { origin: PAGES, bound_to })
  /** The user whose passkey answers. */
  const answer = (
    by: Authenticator,
    altered: Alteration = {},
    face: keyof typeof FACES = 'portal',
  ) =>
    verifyAssertion(
      { ...needs, face: FACES[face] },
      { assertion: by.get(optionsAt(face), altered) as never, origin: PAGES, bound_to },
    )
  return { sql, needs, anna, bert, olga, answer, bound_to, optionsAt }
}

test('a passkey answers for its user, at the face of that one, while both are there', async (t) => {
  const { sql, anna, bert, olga, answer } = await withPasskeys(t)
  assert.equal(await answer(anna.authenticator), anna.user_id)
  assert.equal(await answer(bert.authenticator), bert.user_id)
  assert.equal(await answer(olga.authenticator, {}, 'console'), olga.user_id)
  assert.equal(await answer(anna.authenticator, {}, 'console'), undefined)
  assert.equal(await answer(olga.authenticator), undefined)
  assert.equal(await answer(new Authenticator(PAGES)), undefined, 'an unknown one')
  const counted = await sql<{ id: string; counter: bigint }>`select id, counter from passkey`
  assert.deepEqual(
    new Map(counted.map(({ id, counter }) => [id, counter])),
    new Map([
      [anna.authenticator.id, 1n],
      [bert.authenticator.id, 1n],
      [olga.authenticator.id, 1n],
    ]),
  )
  await sql`delete from answered_challenge`
  await sql`update passkey set off_at = made_at where user_id = ${anna.user_id}`
  assert.equal(await answer(anna.authenticator), undefined, 'one that is off')
  assert.equal((await sql`select 1 from answered_challenge`).length, 0, 'it is not looked at')
  await sql`update passkey set off_at = null`
  await sql`update service_user set ended_at = invited_at where id = ${anna.user_id}`
  assert.equal(await answer(anna.authenticator), undefined, 'of one who has ended')
  await sql`update service_user set ended_at = null`
  assert.equal(await answer(anna.authenticator), anna.user_id)
})

test('an answer is of our own page alone, signed by the passkey, and good once', async (t) => {
  const { sql, needs, anna, answer, bound_to, optionsAt } = await withPasskeys(t)
  for (const altered of [
    { crossOrigin: true },
    { topOrigin: PAGES },
    { stranger: true },
    { challenge: 'none' },
    { origin: 'https://other.example' },
  ])
    assert.equal(await answer(anna.authenticator, altered), undefined, JSON.stringify(altered))
  const assertion = anna.authenticator.get(optionsAt('portal')) as never
  const verify = () =>
    verifyAssertion({ ...needs, face: FACES.portal }, { assertion, origin: PAGES, bound_to })
  assert.deepEqual([await verify(), await verify()], [anna.user_id, undefined])
  const [passkey] = await listPasskeys(sql, anna.user_id)
  assert.equal(passkey!.off_at, null, 'who says it again puts nothing off')
})

test('a counter that does not grow puts a passkey off, unless it never counts', async (t) => {
  const { sql, anna, olga, answer } = await withPasskeys(t)
  const off = async (user_id: string) => (await listPasskeys(sql, user_id))[0]!.off_at !== null
  for (const [before, counter, is_off] of [
    [0n, 0, false],
    [0n, 1, false],
    [1n, 2, false],
    [1n, 1, true],
    [1n, 0, true],
    [5n, 4, true],
  ] as const) {
    await sql`update passkey set counter = 100, off_at = null where user_id <> ${anna.user_id}`
    await sql`
      update passkey set counter = ${before}, off_at = null where user_id = ${anna.user_id}`
    await sql`delete from event_note`
    const answered = await answer(anna.authenticator, { counter })
    const name = `${counter} after ${before}`
    assert.deepEqual(
      [answered, await off(anna.user_id)],
      [is_off ? undefined : anna.user_id, is_off],
      name,
    )
    assert.equal(await off(olga.user_id), false)
    const notes = await sql`select 1 from event_note where type = 'user.changed'`
    assert.equal(notes.length, is_off ? 1 : 0, `it is noted: ${name}`)
    const [other] = await sql`select counter from passkey where user_id = ${olga.user_id}`
    assert.equal(other!.counter, 100n)
  }
})

test('a passkey that is put off while it answers signs nobody in', async (t) => {
  const { sql, needs, anna, bound_to, optionsAt } = await withPasskeys(t)
  const assertion = anna.authenticator.get(optionsAt('portal')) as never
  const put_off = withRace(sql, () => sql`update passkey set off_at = made_at`)
  const of_face = { ...needs, sql: put_off, face: FACES.portal }
  const answered = await verifyAssertion(of_face, { assertion, origin: PAGES, bound_to })
  assert.equal(answered, undefined)
})

test('a passkey is made on our own page, for a challenge of ours', async (t) => {
  const { needs } = await withSignIn(t)
  const face = FACES.portal
  const user = { id: 'anna', name: 'Anna', sign_in_name: null }
  const make = async (altered: Alteration = {}) => {
    const wanted = { origin: PAGES, bound_to: 'test', user }
    const options = await registrationOptions({ ...needs, face }, wanted)
    const made = new Authenticator(PAGES).create(options, altered)
    return verifyRegistration({ ...needs, face }, { made, origin: PAGES, bound_to: 'test' })
  }
  assert.equal((await make()).counter, 0n)
  for (const altered of [{ crossOrigin: true }, { topOrigin: PAGES }, { challenge: 'none' }])
    await assert.rejects(make(altered), /not what was asked for/, JSON.stringify(altered))
})
