// How customers see and change their users, sessions and actions: called on rows.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { asks, callerOf, NOW, withKeysAndUsers } from 'penstock-test/harness/keys_and_users.ts'
import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import type { Fault } from '../../lib/fault.ts'
import type { Customer } from '../../platform/wire/endpoint.ts'
import { actionRoutes } from './action_routes.ts'
import { userRoutes } from './routes.ts'
import { sessionRoutes } from './session_routes.ts'
import { beginSession } from './sessions.ts'

const PAGES = 'https://pages.example'
const OTHER_PAGES = 'http://localhost:8080'
const [ANNA, BERT] = ['anna', 'bert'].map((name) => person(name).address) as [string, string]

type User = { id: string; name: string; daily_cap: number | null; receivers: string[] | null }

async function withRoutes(t: TestContext) {
  const found = await withKeysAndUsers(t)
  const { sql, needs, invite } = found
  const ending = { endSubscriptions: async () => [], wake: () => undefined }
  const endpoints = [
    ...userRoutes({ ...needs, ...ending }),
    ...sessionRoutes(needs),
    ...actionRoutes({ sql }),
  ]
  const ask = callerOf(endpoints, { origin: OTHER_PAGES })
  const refusal = (who: Customer, path: string, body: object) =>
    ask(who, path, body).then(
      () => undefined,
      (thrown: unknown) => (thrown as Fault).key,
    )
  const owner = asks(await invite(), 'owner')
  return { ...found, ask, refusal, owner }
}

test('a user is asked for, changed and taken out by its customer alone', async (t) => {
  const { ask, refusal, owner, invite } = await withRoutes(t)
  const [own, foreign] = [
    await invite({ role: 'reader' }),
    await invite({ role: 'reader', customer_id: 'beta' }),
  ]
  for (const path of ['check', 'change', 'recover', 'remove'])
    for (const id of [foreign, 'none'])
      assert.equal(await refusal(owner, `/v1/user/${path}`, { id }), 'not_found.user', path)
  assert.equal((await ask<User>(owner, '/v1/user/check', { id: own })).id, own)
  const removed = await ask<User & { made: object }>(owner, '/v1/user/remove', { id: own })
  assert.deepEqual(removed.made, { keys: [], users: [], webhooks: [] })
  assert.equal(await refusal(owner, '/v1/user/remove', { id: own }), 'not_found.user')
})

test('a cap and receivers are as they were, another, or none', async (t) => {
  const { ask, owner, invite } = await withRoutes(t)
  const limits = { daily_cap_sun: 5_000_000n, receivers: [ANNA] }
  for (const [change, expected] of [
    [{}, [5, [ANNA]]],
    [{ daily_cap: 7 }, [7, [ANNA]]],
    [{ daily_cap: 'none' }, [null, [ANNA]]],
    [{ receivers: [BERT, BERT] }, [5, [BERT]]],
    [{ receivers: ['any'] }, [5, null]],
  ] as const) {
    const id = await invite({ role: 'reader', ...limits })
    const changed = await ask<User>(owner, '/v1/user/change', { id, ...change })
    const { daily_cap, receivers } = JSON.parse(JSON.stringify(changed)) as User
    assert.deepEqual([daily_cap, receivers], expected, JSON.stringify(change))
  }
})

test('a link leads to the page of who asks, of a key to where the portal is', async (t) => {
  const { ask, owner, issue } = await withRoutes(t)
  const body = { name: 'Bert', role: 'reader' }
  const linkOf = async (who: Customer) =>
    (await ask<{ link: string }>(who, '/v1/user/invite', body)).link.replace(/#.{43}$/, '#')
  assert.equal(await linkOf(owner), `${OTHER_PAGES}/portal/join#`)
  const key = asks(await issue({ scopes: ['read', 'manage'] }))
  assert.equal(await linkOf(key), `${PAGES}/portal/join#`)
})

test('a session is seen and ended by its customer, the own by any user', async (t) => {
  const { sql, needs, ask, refusal, owner, invite } = await withRoutes(t)
  const begin = async (user_id: string) => {
    const wanted = { user_id, face: needs.face, place: { ip: '192.0.2.1', browser: 'b' } }
    return (await sql.begin((tx) => beginSession(tx, needs, wanted))).session_id
  }
  const [anna, bert] = [await invite({ role: 'reader' }), await invite({ role: 'reader' })]
  const foreign = await begin(await invite({ role: 'reader', customer_id: 'beta' }))
  const [first, second, berts] = [await begin(anna), await begin(anna), await begin(bert)]
  const current = asks(anna, 'reader')
  const own = { ...current, user: { ...current.user!, session_id: second } }
  type Sessions = { items: { id: string; current: boolean }[] }
  const listed = async (who: Customer) =>
    (await ask<Sessions>(who, '/v1/sessions/list')).items.map((one) => [one.id, one.current])
  assert.deepEqual(await listed(own), [
    [second, true],
    [first, false],
  ])
  assert.deepEqual(
    (await listed(owner)).map(([id]) => id),
    [berts, second, first],
  )
  for (const [who, id] of [
    [own, berts],
    [own, foreign],
    [owner, foreign],
    [owner, 'none'],
  ] as const)
    assert.equal(await refusal(who, '/v1/session/end', { id }), 'not_found.session')
  assert.deepEqual(await ask(own, '/v1/session/end', { id: first }), { ended: true })
  assert.equal(await refusal(own, '/v1/session/end', { id: first }), 'not_found.session')
  assert.deepEqual(await ask(owner, '/v1/session/end', { id: berts }), { ended: true })
  const open = await sql<{ id: string }>`
    select id from user_session where ended_at is null order by id`
  assert.deepEqual(
    open.map(({ id }) => id),
    [foreign, second],
  )
})

test('actions are those of a user or of a key, and say which of the two', async (t) => {
  const { begin, ask, refusal, owner, issue } = await withRoutes(t)
  const key = asks(await issue({ name: 'shop' }))
  await issue({ name: 'other' })
  const change = { action: 'key/new', subject: 'key:a', before: null, after: null }
  for (const actor of [owner, key])
    await begin((tx) => recordCustomerAction(tx, NOW, { actor, ...change }))
  type Actions = { items: { by: object }[] }
  const list = async (body: object) =>
    (await ask<Actions>(owner, '/v1/actions/list', body)).items.map(({ by }) => by)
  const by_user = { user_id: owner.key_id, key_id: null, name: 'Anna' }
  const by_key = { user_id: null, key_id: key.key_id, name: 'shop' }
  assert.deepEqual(await list({}), [by_key, by_user])
  assert.deepEqual(await list({ user_id: owner.key_id }), [by_user])
  assert.deepEqual(await list({ key_id: key.key_id }), [by_key])
  assert.deepEqual(await list({ key_id: owner.key_id }), [])
  const both = { user_id: owner.key_id, key_id: key.key_id }
  assert.equal(await refusal(owner, '/v1/actions/list', both), 'invalid_service_or_params.key_id')
})
