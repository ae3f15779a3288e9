// Who is thrown out leaves nothing behind: what a stolen key has made is listed when it is revoked,
// and ends with it when that is wanted, down the whole tree.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { worldOperator } from '../../harness/operator.ts'
import { check, sender, subscribe, wanted } from '../../harness/subscribers.ts'
import { codeAt, PASSWORD, signedIn } from '../../harness/users.ts'
import { Visitor } from '../../harness/visitor.ts'
import { Customer, makeWorld, type World } from '../../harness/world.ts'

type Creation = { id: string; name: string; made_by: string; ended: boolean }
type Creations = { keys: Creation[]; users: Creation[]; webhooks: Creation[] }
type MadeKey = { key: { id: string }; token: string; secret: string }
type Invitation = { user: { id: string }; link: string }

const idsOf = (things: readonly Creation[]) => things.map(({ id }) => id)
const idOfKey = async (customer: Customer) =>
  (await customer.get<{ key: { id: string } }>('/v1/whoami')).key.id

/** What one who asks has made: a key, a user, a webhook. */
async function spread(thief: Customer, name: string) {
  const key = await thief.get<MadeKey>('/v1/key/new', { name: `${name} key`, scopes: [...SCOPES] })
  const invited = await thief.get<Invitation>('/v1/user/invite', { name, role: 'owner' })
  const url = `https://${name}.example/hook?token=hidden`
  const hook = await thief.get<{ webhook: { id: string } }>('/v1/webhook/new', { url })
  return { key, invited, webhook_id: hook.webhook.id }
}

/** Somebody who has followed an invitation. */
async function joined(world: World, { link }: Invitation, sign_in_name: string) {
  const visitor = new Visitor(world.api)
  const token = link.split('#')[1]!
  const { totp } = await visitor.ask('/session/join', { token })
  const { secret, offer } = totp as { secret: string; offer: string }
  const code = codeAt(secret, world.now)
  await visitor.ask('/session/join', { token, sign_in_name, password: PASSWORD, code, offer })
  return visitor
}

/** A customer with an owner and a key that was stolen, and what the thief has made of it. */
async function robbed(world: World) {
  const thief = await world.customer({ trx: 100, scopes: [...SCOPES] })
  const stolen = await idOfKey(thief)
  const owner = await signedIn(world, { customer_id: thief.id })
  const first = await spread(thief, 'mallory')
  const child = new Customer(world, { ...thief, ...first.key })
  const second = await spread(child, 'trudy')
  const mallory = await joined(world, first.invited, 'mallory')
  return { thief, stolen, owner, first, child, second, mallory }
}

test('a revoked key takes with it all that it has made, down the whole tree', async (t) => {
  const world = await makeWorld(t)
  const { thief, stolen, owner, first, child, second, mallory } = await robbed(world)
  const grandchild = new Customer(world, { ...thief, ...second.key })
  const by_mallory = await mallory.ask('/v1/key/new', { name: 'backdoor', scopes: ['read'] })
  const backdoor = (by_mallory as MadeKey).key.id
  const seen = (await owner.ask('/v1/made/check', { id: stolen })) as Creations
  const made = (await owner.ask('/v1/key/revoke', { id: stolen, with_made: true }))
    .made as Creations
  const keys = [first.key.key.id, second.key.key.id, backdoor].sort()
  const users = [first.invited.user.id, second.invited.user.id].sort()
  const webhooks = [first.webhook_id, second.webhook_id].sort()
  for (const { keys: k, users: u, webhooks: w } of [seen, made]) {
    assert.deepEqual([idsOf(k), idsOf(u), idsOf(w)], [keys, users, webhooks])
    assert.deepEqual(
      w.map(({ name }) => name),
      ['mallory.example', 'trudy.example'],
    )
  }
  const all = (of: Creations) => [...of.keys, ...of.users, ...of.webhooks]
  assert.ok(all(made).every(({ ended }) => ended))
  assert.ok(all(seen).every(({ ended }) => !ended))
  world.wait(2)
  for (const one of [thief, child, grandchild])
    assert.equal((await one.call('/v1/balance')).code, 1)
  assert.equal((await mallory.call('/v1/balance')).key, 'auth.session')
  const token = second.invited.link.split('#')[1]
  assert.equal((await new Visitor(world.api).call('/session/join', { token })).key, 'auth.link')
  assert.deepEqual((await owner.ask('/v1/webhooks/list')).items, [])
  assert.deepEqual(
    idsOf(((await owner.ask('/v1/made/check', { id: stolen })) as Creations).keys),
    [],
  )
  const { items } = (await owner.ask('/v1/actions/list')) as { items: { subject: string }[] }
  for (const id of [...keys, ...users, ...webhooks])
    assert.ok(
      items.some(({ subject }) => subject.endsWith(`:${id}`)),
      id,
    )
})

test('subscriptions of all that a key has made end with it, or stay when wanted', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  const owner = await signedIn(world, { customer_id: anna.id })
  const began = async (name: string) => {
    const wide = { name, scopes: [...SCOPES] }
    const parent = await anna.get<MadeKey>('/v1/key/new', wide)
    const child = await new Customer(world, { ...anna, ...parent }).get<MadeKey>(
      '/v1/key/new',
      wide,
    )
    const of_child = new Customer(world, { ...anna, ...child })
    const { id } = await subscribe(world, of_child, wanted(sender(world, name).address))
    return { parent: parent.key.id, subscription: id }
  }
  const [gone, kept] = [await began('gone'), await began('kept')]
  const revoke = (id: string, keep_subscriptions: boolean) =>
    owner.ask('/v1/key/revoke', { id, with_made: true, keep_subscriptions })
  const ended = await revoke(gone.parent, false)
  const left = await revoke(kept.parent, true)
  await world.settle()
  assert.deepEqual([ended.ended_subscriptions, left.ended_subscriptions], [1, 0])
  const states = [gone, kept].map(
    async ({ subscription }) => (await check(anna, subscription)).status,
  )
  assert.deepEqual(await Promise.all(states), ['stopped', 'active'])
})

test('without being asked, a revocation ends open invitations and names the rest', async (t) => {
  const world = await makeWorld(t)
  const { stolen, owner, first, child, mallory } = await robbed(world)
  const made = (await owner.ask('/v1/key/revoke', { id: stolen })).made as Creations
  world.wait(2)
  assert.equal((await child.call('/v1/balance')).code, 0)
  assert.equal((await mallory.call('/v1/balance')).code, 0)
  const ended = [...made.keys, ...made.users, ...made.webhooks].filter((one) => one.ended)
  assert.equal(ended.length, 1)
  assert.equal(ended[0]!.name, 'trudy')
  // What is left is found by the revoked key, and ended by its children.
  const left = (await owner.ask('/v1/made/check', { id: stolen })) as Creations
  assert.deepEqual(idsOf(left.users), [first.invited.user.id])
  await owner.ask('/v1/key/revoke', { id: stolen, with_made: true })
  world.wait(2)
  assert.equal((await child.call('/v1/balance')).code, 1)
  assert.equal((await mallory.call('/v1/balance')).key, 'auth.session')
})

test('a user who is removed takes the keys along, and the one who asks stays', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ scopes: [...SCOPES] })
  const owner = await signedIn(world, { customer_id: customer.id })
  const wanted = { name: 'Bert', role: 'developer' }
  const invited = (await owner.ask('/v1/user/invite', wanted)) as unknown as Invitation
  const bert = await joined(world, invited, 'bert')
  const { key, ...access } = (await bert.ask('/v1/key/new', {
    name: 'his',
    scopes: ['read'],
  })) as MadeKey
  const his = new Customer(world, { ...customer, ...access })
  const removed = await owner.ask('/v1/user/remove', { id: invited.user.id, with_made: true })
  assert.deepEqual(idsOf((removed.made as Creations).keys), [key.id])
  world.wait(2)
  assert.equal((await his.call('/v1/balance')).code, 1)
  // The owner was let in by a key: it goes, the owner does not.
  const second = await customer.get<Invitation>('/v1/user/invite', { name: 'Olga', role: 'owner' })
  const olga = await joined(world, second, 'olga')
  const id = await idOfKey(customer)
  const { made } = (await olga.ask('/v1/key/revoke', { id, with_made: true })) as {
    made: Creations
  }
  assert.deepEqual(made.users, [])
  assert.equal((await olga.call('/v1/balance')).code, 0)
})

test('a narrow key ends no user by its maker, and whom it rotates or leads is found', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ scopes: [...SCOPES] })
  const stolen = await idOfKey(customer)
  const owner = await signedIn(world, { customer_id: customer.id })
  const honest = (await owner.ask('/v1/key/new', { name: 'shop', scopes: ['read'] })) as MadeKey
  const url = 'https://shop.example/hook'
  const { webhook } = (await owner.ask('/v1/webhook/new', { url })) as { webhook: { id: string } }
  assert.deepEqual(
    idsOf(((await owner.ask('/v1/made/check', { id: stolen })) as Creations).keys),
    [],
  )
  await customer.get('/v1/key/rotate', { id: honest.key.id })
  await customer.get('/v1/webhook/change', { id: webhook.id, url: 'https://mallory.example/' })
  const invitation = { name: 'Otto', role: 'owner' }
  const otto = await customer.get<Invitation>('/v1/user/invite', invitation)
  await joined(world, otto, 'otto')
  const narrow = (await owner.ask('/v1/key/new', {
    name: 'narrow',
    scopes: ['manage'],
  })) as MadeKey
  const asking = new Customer(world, { ...customer, ...narrow })
  const { made } = await asking.get<{ made: Creations }>('/v1/key/revoke', {
    id: stolen,
    with_made: true,
  })
  const ended = (things: readonly Creation[]) => things.map(({ id, ended: is }) => [id, is])
  assert.deepEqual(ended(made.keys), [[honest.key.id, true]])
  assert.deepEqual(ended(made.webhooks), [[webhook.id, true]])
  assert.deepEqual(ended(made.users), [[otto.user.id, false]])
})

test('the operator names what a key has made, and ends it when that is asked for', async (t) => {
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  const { thief, stolen, first, child, second, mallory } = await robbed(world)
  const named = await json<{ made: Creations }>('keys', 'revoke', stolen)
  const all = ({ keys, users, webhooks }: Creations) => [...keys, ...users, ...webhooks]
  // The open invitation is gone; all else is named, and stays.
  const ended = all(named.made).filter((one) => one.ended)
  assert.deepEqual(idsOf(ended), [second.invited.user.id])
  assert.equal(all(named.made).length, 6)
  const token = second.invited.link.split('#')[1]
  assert.equal((await new Visitor(world.api).call('/session/join', { token })).key, 'auth.link')
  world.wait(2)
  assert.equal((await child.call('/v1/balance')).code, 0)
  const { out } = await type('keys', 'revoke', stolen)
  assert.match(out, /It was revoked before\. What it has made is still there \(5\): --with-made/)
  const { made } = await json<{ made: Creations }>('keys', 'revoke', stolen, '--with-made')
  assert.ok(all(made).length === 5 && all(made).every((one) => one.ended))
  world.wait(2)
  for (const one of [thief, child]) assert.equal((await one.call('/v1/balance')).code, 1)
  assert.equal((await mallory.call('/v1/balance')).key, 'auth.session')
  // Each is in the operators' record.
  const records = await json<{ action: string; subject: string }[]>('actions', 'list')
  for (const one of ['key', 'user', 'webhook'] as const)
    for (const { id } of made[`${one}s`])
      assert.ok(
        records.some((record) => record.subject === `${one}:${id}` && record.action === REVOKE),
        `${one}:${id}`,
      )
  assert.equal(first.key.key.id, made.keys.find(({ made_by }) => made_by === stolen)?.id)
})

const REVOKE = 'keys revoke'

test('a user whom the operator removes takes along what that user has made', async (t) => {
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  const customer = await world.customer({ scopes: [...SCOPES] })
  const owner = await signedIn(world, { customer_id: customer.id })
  await signedIn(world, { customer_id: customer.id })
  const { key, ...access } = (await owner.ask('/v1/key/new', {
    name: 'his',
    scopes: ['read'],
  })) as MadeKey
  const his = new Customer(world, { ...customer, ...access })
  await owner.ask('/v1/user/invite', { name: 'Otto', role: 'owner' })
  const remove = ['users', 'remove', owner.user_id, '--with-made']
  const { made, ...removed } = await json<{ made: Creations; ended_at: string }>(...remove)
  assert.ok(removed.ended_at)
  assert.deepEqual([idsOf(made.keys), made.users.length], [[key.id], 1])
  world.wait(2)
  assert.equal((await his.call('/v1/balance')).code, 1)
  assert.equal((await owner.call('/v1/balance')).key, 'auth.session')
})
