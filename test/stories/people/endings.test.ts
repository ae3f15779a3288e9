// What ends something gets through, whatever somebody has filled: the owner of a stolen key throws
// the thief out although the thief has made as many changes as may be, with that very key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDING_VERBS } from 'penstock-service/ledger/accounts/customer_actions.ts'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { sender, subscribe, wanted } from '../../harness/subscribers.ts'
import { signedIn } from '../../harness/users.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

/** What begins or changes something, by the last word of its path. */
const OTHER_VERBS = ['new', 'start', 'accept', 'approve', 'invite', 'change', 'test', 'trigger']
/** What moves nothing of the customer's, and says so by its word. */
const REPEATING_VERBS = ['replay', 'retry', 'take']

test('of each word that a path ends with is known whether it ends something', async (t) => {
  const { app } = await makeWorld(t)
  const verbs = app.endpoints.flatMap(({ path, mutating }) =>
    mutating ? [path.split('/').at(-1)!] : [],
  )
  const known = [...ENDING_VERBS, ...OTHER_VERBS, ...REPEATING_VERBS]
  assert.deepEqual(
    verbs.filter((verb) => !known.includes(verb)),
    [],
    'say whether they end something (ledger/accounts/customer_actions.ts)',
  )
  for (const verb of ENDING_VERBS) assert.ok(verbs.includes(verb), verb)
})

/** The changes of a day, all by one key or user. */
async function fill({ sql, now }: World, { id }: Customer, made_by: string): Promise<void> {
  // Each row is chained to the one before: all in one statement may take longer than one may.
  for (let i = 0; i < 10; i++)
    await sql`
      insert into customer_action (customer_id, made_at, made_by, action, subject, ip)
      select ${id}, ${now}, ${made_by}, 'settings/change', 'settings', null
      from generate_series(1, 1000)`
}

/** What each path that ends something is called with, where there is something to end. */
async function endings(world: World, anna: Customer): Promise<Record<string, () => object>> {
  const made = await anna.get<{ key: { id: string } }>('/v1/key/new', {
    name: 'a',
    scopes: ['read'],
  })
  const { user } = await anna.get<{ user: { id: string } }>('/v1/user/invite', {
    name: 'Bert',
    role: 'reader',
  })
  const url = 'https://shop.example/hook'
  const hook = await anna.get<{ webhook: { id: string } }>('/v1/webhook/new', { url })
  await anna.get('/v1/aml-watch/new', { address: world.person('nina').address })
  const supplied = sender(world)
  const { id } = await subscribe(world, anna, wanted(supplied.address))
  await world.settle()
  const { code } = await anna.get<{ code: string }>('/v1/pairing/new', { name: 'a program' })
  await signedIn(world, { customer_id: anna.id, role: 'reader' })
  const { items } = await anna.get<{ items: { id: string }[] }>('/v1/sessions/list')
  return {
    '/v1/webhook/rotate': () => ({ id: hook.webhook.id }),
    '/v1/webhook/change': () => ({ id: hook.webhook.id, state: 'off' }),
    '/v1/webhook/remove': () => ({ id: hook.webhook.id }),
    '/v1/key/rotate': () => ({ id: made.key.id }),
    '/v1/key/revoke': () => ({ id: made.key.id }),
    '/v1/user/recover': () => ({ id: user.id }),
    '/v1/user/remove': () => ({ id: user.id }),
    '/v1/session/end': () => ({ id: items[0]!.id }),
    '/v1/subscription/stop': () => ({ id }),
    '/v1/aml-watch/remove': () => ({ address: world.person('nina').address }),
    '/v1/pairing/refuse': () => ({ code }),
  }
}

test('who has made all changes of a day still ends what there is, with a record', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 500, scopes: [...SCOPES] })
  const { id: key_id } = (await anna.get<{ key: { id: string } }>('/v1/whoami')).key
  const asked = await endings(world, anna)
  const ending = world.app.endpoints.filter(
    ({ path, mutating }) => mutating && ENDING_VERBS.includes(path.split('/').at(-1)!),
  )
  assert.deepEqual(
    ending.map(({ path }) => path).filter((path) => !(path in asked)),
    [],
    'nothing is tried with them',
  )
  await fill(world, anna, `key:${key_id}`)
  const { status } = await anna.call('/v1/settings/change', { balance_low: 3 })
  assert.equal(status, 429)
  for (const [path, body] of Object.entries(asked)) {
    const { code, error } = await anna.call(path, body())
    assert.equal(code, 0, `${path}: ${error}`)
    const [last] = await world.sql<{ action: string }>`
      select action from customer_action where customer_id = ${anna.id}
      order by number desc limit 1`
    assert.equal(`/v1/${last!.action}`, path)
  }
  // The very key that was stolen.
  assert.equal((await anna.call('/v1/key/revoke', { id: key_id })).code, 0)
})

test('what a thief fills with one key is not what the owner has', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: [...SCOPES] })
  await fill(world, anna, 'key:stolen')
  assert.equal((await anna.call('/v1/settings/change', { balance_low: 3 })).code, 0)
  const made = await anna.call('/v1/key/new', { name: 'another', scopes: ['read'] })
  assert.equal(made.code, 0)
  const visitor = await signedIn(world, { customer_id: anna.id })
  await fill(world, anna, `user:${visitor.user_id}`)
  const { status } = await visitor.call('/v1/settings/change', { balance_low: 4 })
  assert.equal(status, 429)
  const id = (made.result.key as { id: string }).id
  await visitor.ask('/v1/key/revoke', { id })
})
