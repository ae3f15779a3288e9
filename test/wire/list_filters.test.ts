// The filters of the lists that portal and programs narrow: each finds what fits and nothing else,
// of one's own alone, and refuses a value that it can't mean.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from 'penstock-tron/address.ts'
import { joinedByPassword, signedIn } from '../harness/users.ts'
import { type Customer, makeWorld } from '../harness/world.ts'

const named = async (customer: Customer, path: string, body: object, field: string) => {
  const { items } = await customer.get<{ items: Record<string, string>[] }>(path, body)
  return items.map((item) => item[field])
}

test('users are narrowed by role and by state', async (t) => {
  const world = await makeWorld(t)
  const scopes = ['manage', 'read', 'buy', 'aml', 'money', 'webhooks'] as const
  const anna = await world.customer({ scopes })
  const bob = await world.customer({ scopes })
  await joinedByPassword(world, { customer_id: anna.id, name: 'Olga' })
  for (const [name, role] of [
    ['Ivan', 'finance'],
    ['Li', 'reader'],
    ['Gone', 'finance'],
  ] as const) {
    const { user } = await anna.get<{ user: { id: string } }>('/v1/user/invite', { name, role })
    if (name === 'Gone') await anna.get('/v1/user/remove', { id: user.id })
  }
  await bob.get('/v1/user/invite', { name: 'Foreign', role: 'reader' })
  const users = (body: object) => named(anna, '/v1/users/list', body, 'name')
  assert.deepEqual(await users({ role: 'finance' }), ['Gone', 'Ivan'])
  assert.deepEqual(await users({ state: 'invited' }), ['Li', 'Ivan'])
  assert.deepEqual(await users({ state: 'active' }), ['Olga'])
  assert.deepEqual(await users({ state: 'ended' }), ['Gone'])
  assert.deepEqual(await users({ role: 'finance', state: 'invited' }), ['Ivan'])
  assert.deepEqual(await users({ role: 'developer' }), [])
  assert.deepEqual(await users({ role: 'finance', limit: 1 }), ['Gone'])
})

test('webhooks are narrowed by state, and removed ones never come back', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['webhooks', 'read'] })
  const made: string[] = []
  for (const description of ['one', 'two', 'three']) {
    const url = `https://shop.example/${description}`
    const body = { url, description }
    const { webhook } = await anna.get<{ webhook: { id: string } }>('/v1/webhook/new', body)
    made.push(webhook.id)
  }
  await anna.get('/v1/webhook/change', { id: made[1], state: 'off' })
  await anna.get('/v1/webhook/remove', { id: made[2] })
  const webhooks = (body: object) => named(anna, '/v1/webhooks/list', body, 'description')
  assert.deepEqual(await webhooks({}), ['two', 'one'])
  assert.deepEqual(await webhooks({ state: 'on' }), ['one'])
  assert.deepEqual(await webhooks({ state: 'off' }), ['two'])
  assert.deepEqual(await webhooks({ state: 'disabled' }), [])
})

test('sessions are narrowed by a part of the name, taken as it is typed', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['manage', 'read'] })
  const bob = await world.customer({ scopes: ['manage'] })
  await signedIn(world, { customer_id: anna.id, name: 'Olga_P' })
  await signedIn(world, { customer_id: anna.id, name: 'Ivan' })
  await signedIn(world, { customer_id: bob.id, name: 'Olga' })
  const users = async (name: string) => {
    type Session = { user: { name: string } }
    const path = '/v1/sessions/list'
    const { items } = await anna.get<{ items: Session[] }>(path, { name })
    return items.map(({ user }) => user.name)
  }
  assert.deepEqual(await users('olga'), ['Olga_P'])
  assert.deepEqual(await users('A'), ['Ivan', 'Olga_P'])
  for (const nobody of ['%', 'Ivan%', "' or true --", 'nobody'])
    assert.deepEqual(await users(nobody), [], nobody)
  assert.deepEqual(await users('_'), ['Olga_P'])
})

test('purchases are narrowed by receiver and by service, each with its own times', async (t) => {
  const world = await makeWorld(t)
  const [anna, zoe] = [await world.customer({ trx: 100 }), await world.customer({ trx: 100 })]
  const [bob, carl] = [world.person('bob', 1).address, world.person('carl', 1).address]
  const { address: nina } = world.person('nina')
  const buy = (customer: Customer, address: Address, external_id: string) =>
    customer.buy({
      service: 'energy',
      params: { address, amount: 65_000, duration: 1 },
      external_id,
    })
  await buy(anna, bob, 'to bob')
  await world.settle()
  await world.advance(60)
  await buy(anna, carl, 'to carl')
  await buy(zoe, bob, 'of zoe')
  const activation = { service: 'activate_address', params: { address: nina } }
  await anna.buy({ ...activation, external_id: 'nina' })
  await world.settle()
  const path = '/v1/transactions/list'
  const purchases = (body: object) => named(anna, path, body, 'external_id')
  assert.deepEqual(await purchases({}), ['nina', 'to carl', 'to bob'])
  assert.deepEqual(await purchases({ address: bob }), ['to bob'])
  assert.deepEqual(await purchases({ service: 'energy' }), ['to carl', 'to bob'])
  assert.deepEqual(await purchases({ service: 'activate_address' }), ['nina'])
  assert.deepEqual(await purchases({ address: bob, service: 'activate_address' }), [])
  const [second, first] = await named(anna, path, { service: 'energy' }, 'delivered_at')
  assert.ok(Date.parse(second!) - Date.parse(first!) >= 60_000, `${first}, ${second}`)
})

test('what a filter can not mean is refused, with the name of the field', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['manage', 'money', 'webhooks', 'read'] })
  const cases: [path: string, body: object, expected: string][] = [
    ['/v1/users/list', { role: 'king' }, 'role'],
    ['/v1/users/list', { state: 'Active' }, 'state'],
    ['/v1/users/list', { state: ['active'] }, 'state'],
    ['/v1/webhooks/list', { state: 'removed' }, 'state'],
    ['/v1/webhooks/list', { state: 7 }, 'state'],
    ['/v1/invoices/list', { month: '2026-13' }, 'month'],
    ['/v1/invoices/list', { month: '2026-1' }, 'month'],
    ['/v1/invoices/list', { month: ' 2026-10' }, 'month'],
    ['/v1/invoices/list', { month: '2026-10\n' }, 'month'],
    ['/v1/invoices/list', { month: 202610 }, 'month'],
    ['/v1/sessions/list', { name: 'x'.repeat(101) }, 'name'],
    ['/v1/sessions/list', { name: 7 }, 'name'],
  ]
  for (const [path, body, field] of cases) {
    const { code, key } = await anna.call(path, body)
    assert.deepEqual(
      [code, key],
      [2, `invalid_service_or_params.${field}`],
      JSON.stringify([path, body]),
    )
  }
  assert.deepEqual(await anna.get('/v1/invoices/list', { month: '2026-10' }), {
    items: [],
    next: null,
  })
})
