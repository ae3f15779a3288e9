// A key that is bound to receivers: nothing that it begins is delivered to anybody else, by no
// endpoint that there is, and nothing that it makes is bound to less.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Customer, makeWorld, type World } from '../harness/world.ts'

type Access = { token: string; secret: string }
type Key = { id: string; receivers: string[] | null }
type NewKey = Access & { key: Key }

const by = (world: World, { id, deposit_address }: Customer, access: Access) =>
  new Customer(world, { id, deposit_address, token: access.token, secret: access.secret })

/** What may be begun, and how much of it is delivered to an address. */
const DELIVERS = ['/v1/quote/accept', '/v1/subscription/start', '/v1/transaction/new']
const DELIVERS_NOTHING = ['/v1/aml-checks/new', '/v1/aml-watch/new']

const REFUSED = [73, 'forbidden.receiver', 'params.address']

async function setUp(t: Parameters<typeof makeWorld>[0]) {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 500, scopes: ['read', 'buy', 'manage'] })
  const [mine, other] = [world.person('carl', 1).address, world.person('dora', 1).address]
  const make = (asks: Customer, more: object) =>
    asks.get<NewKey>('/v1/key/new', { name: 'shop', scopes: ['read', 'buy', 'manage'], ...more })
  const shop = by(world, anna, await make(anna, { receivers: [mine, mine] }))
  return { world, anna, mine, other, make, shop }
}

test('each endpoint that begins something either delivers nothing or is tried here', async (t) => {
  const { world } = await setUp(t)
  const begins = world.app.endpoints.filter(({ creates }) => creates).map(({ path }) => path)
  assert.deepEqual(begins.sort(), [...DELIVERS, ...DELIVERS_NOTHING].sort())
})

test('nothing is delivered to an address that a key is not bound to', async (t) => {
  const { world, anna, mine, other, shop } = await setUp(t)
  const energy = (address: string) => ({
    service: 'energy',
    params: { address, amount: 65_000, duration: 1 },
  })
  const calls: Record<string, (address: string) => Promise<[path: string, body: object]>> = {
    energy: async (address) => ['/v1/transaction/new', energy(address)],
    'energy by a name of its own': async (address) => [
      '/v1/transaction/new',
      { ...energy(address), external_id: `e-${address}` },
    ],
    bandwidth: async (address) => [
      '/v1/transaction/new',
      { service: 'bandwidth', params: { address, amount: 1_000, duration: 1 } },
    ],
    'a bundle': async (address) => [
      '/v1/transaction/new',
      {
        service: 'resource_bundle',
        params: { address, amounts: { energy: 65_000, bandwidth: 345 }, duration: 1 },
      },
    ],
    // Whoever made the quote, it is accepted by this key.
    'a quote': async (address) => [
      '/v1/quote/accept',
      { id: (await anna.get<{ id: string }>('/v1/quote/new', energy(address))).id },
    ],
    'a subscription': async (address) => [
      '/v1/subscription/start',
      { subscription_id: 'unlimited_energy', params: { address, duration: 1 } },
    ],
  }
  for (const [what, callFor] of Object.entries(calls)) {
    const [path, body] = await callFor(other)
    const { code, key, param } = await shop.call(path, body)
    assert.deepEqual([code, key, path.includes('quote') ? REFUSED[2] : param], REFUSED, what)
  }
  const fresh = world.person('erna', 0).address
  const activation = { service: 'activate_address', params: { address: fresh } }
  assert.equal((await shop.call('/v1/transaction/new', activation)).key, 'forbidden.receiver')
  assert.deepEqual(await world.sql`select id from orders union all select id from subscription`, [])
  for (const [what, callFor] of Object.entries(calls))
    assert.equal((await shop.call(...(await callFor(mine)))).code, 0, what)
  const { key } = await shop.get<{ key: Key }>('/v1/whoami')
  assert.deepEqual(key.receivers, [mine], 'each once')
})

test('what was bought before is answered to a key that may not buy it any more', async (t) => {
  const { anna, mine, other, world, make } = await setUp(t)
  const { key, ...access } = await make(anna, {})
  const shop = by(world, anna, access)
  const body = {
    service: 'energy',
    params: { address: other, amount: 65_000, duration: 1 },
    external_id: 'once',
  }
  const { id } = await shop.get<{ id: string }>('/v1/transaction/new', body)
  await anna.get('/v1/key/change', { id: key.id, receivers: [mine] })
  world.wait(1)
  assert.equal((await shop.get<{ id: string }>('/v1/transaction/new', body)).id, id)
  const next = await shop.call('/v1/transaction/new', { ...body, external_id: 'twice' })
  assert.equal(next.key, 'forbidden.receiver')
  await anna.get('/v1/key/change', { id: key.id, receivers: ['any'] })
  world.wait(1)
  await shop.get('/v1/transaction/new', { ...body, external_id: 'twice' })
})

test('a key makes no key and no user that delivers to more addresses than itself', async (t) => {
  const { anna, mine, other, make, shop, world } = await setUp(t)
  const heir = await make(shop, {})
  assert.deepEqual(heir.key.receivers, [mine])
  for (const receivers of [['any'], [other], [mine, other]]) {
    const { key, param } = await shop.call('/v1/key/new', {
      name: 'wide',
      scopes: ['buy'],
      receivers,
    })
    assert.deepEqual([key, param], ['forbidden.wider', 'receivers'])
  }
  const eve = { name: 'Eve', role: 'reader' }
  const invited = await shop.get<{ user: Key }>('/v1/user/invite', eve)
  assert.deepEqual(invited.user.receivers, [mine])
  const anywhere = { id: invited.user.id, receivers: ['any'] }
  assert.equal((await shop.call('/v1/user/change', anywhere)).key, 'forbidden.wider')
  const wide = await make(anna, {})
  const change = { id: wide.key.id, name: 'mine now' }
  assert.equal((await shop.call('/v1/key/change', change)).key, 'forbidden.wider')
  // What was made before its maker was bound is bound with it, down the tree.
  const child = await make(by(world, anna, wide), { receivers: [mine, other] })
  const grandchild = await make(by(world, anna, child), { receivers: [other] })
  await anna.get('/v1/key/change', { id: wide.key.id, receivers: [mine] })
  const { items } = await anna.get<{ items: Key[] }>('/v1/keys/list')
  const receiversOf = ({ key }: NewKey) => items.find(({ id }) => id === key.id)!.receivers
  assert.deepEqual([wide, child, grandchild].map(receiversOf), [[mine], [mine], []])
  world.wait(1)
  const buys = await by(world, anna, grandchild).call('/v1/transaction/new', {
    service: 'energy',
    params: { address: other, amount: 65_000, duration: 1 },
  })
  assert.equal(buys.key, 'forbidden.receiver', 'an empty list is nobody')
})
