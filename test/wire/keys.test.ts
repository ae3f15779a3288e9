// Keys in the hands of customers: each refusal of their endpoints, what is shown, and that a secret
// is replaced without a pause.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import type { Scope } from 'penstock-service/platform/wire/endpoint.ts'
import { Customer, makeWorld, type Reply, type World } from '../harness/world.ts'

type Key = {
  require_v2: boolean
  require_external_id: boolean
  id: string
  name: string
  scopes: string[] | null
  networks: string[] | null
  receivers: string[] | null
  daily_cap: number | null
  spent_today: number | null
  made_by: string | null
  revoked_at: string | null
  ends_at: string | null
  secrets: { made_at: string; until: string | null }[]
}
type NewKey = { key: Key; token: string; secret: string }

const ALL: readonly Scope[] = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage']
const DAY = '2099-01-01T00:00:00Z'

/** The customer at the front door by another key. */
const by = (world: World, owner: Customer, { token, secret }: { token: string; secret: string }) =>
  new Customer(world, { id: owner.id, deposit_address: owner.deposit_address, token, secret })

const said = ({ code, key }: Reply) => (code === 0 ? 'done' : key!.replace(/^[a-z_]+/, `${code}`))

test('each mistake with a key has its own refusal', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['read', 'manage'], daily_cap_sun: 5_000_000n })
  const bob = await world.customer({ scopes: ['manage'] })
  const [mine] = (await anna.get<{ items: Key[] }>('/v1/keys/list')).items
  const [foreign] = (await bob.get<{ items: Key[] }>('/v1/keys/list')).items
  const made = await anna.get<NewKey>('/v1/key/new', { name: 'made', scopes: ['read'] })
  const gone = await anna.get<NewKey>('/v1/key/new', { name: 'gone', scopes: ['read'] })
  await anna.get('/v1/key/revoke', { id: gone.key.id })
  const { id } = made.key
  const whole = { name: 'one', scopes: ['read'] }
  const cases: [path: string, body: object, expected: string][] = [
    ['/v1/keys/list', { limit: 101 }, '2.limit'],
    ['/v1/keys/list', { before: 7 }, '2.before'],
    ['/v1/key/new', { ...whole, name: '' }, '2.name'],
    ['/v1/key/new', { ...whole, name: 'x'.repeat(201) }, '2.name'],
    ['/v1/key/new', { name: 'one' }, '2.scopes'],
    ['/v1/key/new', { ...whole, scopes: [] }, '2.scopes'],
    ['/v1/key/new', { ...whole, scopes: ['all'] }, '2.scopes'],
    ['/v1/key/new', { ...whole, networks: [] }, '2.networks'],
    ['/v1/key/new', { ...whole, networks: ['203.0.113.0/33'] }, '2.networks'],
    ['/v1/key/new', { ...whole, networks: ['any', '203.0.113.7'] }, '2.networks'],
    ['/v1/key/new', { ...whole, receivers: [] }, '2.receivers'],
    ['/v1/key/new', { ...whole, receivers: 'any' }, '2.receivers'],
    ['/v1/key/new', { ...whole, receivers: ['TNotAnAddress'] }, '2.receivers'],
    ['/v1/key/new', { ...whole, receivers: ['any', person('bob').address] }, '2.receivers'],
    ['/v1/key/new', { ...whole, receivers: Array(101).fill(person('bob').address) }, '2.receivers'],
    ['/v1/key/new', { ...whole, require_v2: 1 }, '2.require_v2'],
    ['/v1/key/new', { ...whole, daily_cap: '5' }, '2.daily_cap'],
    ['/v1/key/new', { ...whole, daily_cap: -1 }, '2.daily_cap'],
    ['/v1/key/new', { ...whole, daily_cap: 0.0000001 }, '2.daily_cap'],
    ['/v1/key/new', { ...whole, ends_at: 'soon' }, '2.ends_at'],
    ['/v1/key/new', { ...whole, ends_at: '2020-01-01' }, '2.ends_at'],
    ['/v1/key/new', { ...whole, scopes: ['read', 'buy'] }, '73.wider'],
    ['/v1/key/new', { ...whole, daily_cap: 5.000001 }, '73.wider'],
    ['/v1/key/new', { ...whole, daily_cap: 'none' }, '73.wider'],
    ['/v1/key/change', { id: 7 }, '2.id'],
    ['/v1/key/change', { id, scopes: ['manage', 'money'] }, '73.wider'],
    ['/v1/key/change', { id: mine!.id, name: 'me' }, '73.self'],
    ['/v1/key/change', { id: gone.key.id, name: 'gone' }, '74.revoked'],
    ['/v1/key/rotate', { id: mine!.id }, '73.self'],
    ['/v1/key/rotate', { id, overlap_hours: 169 }, '2.overlap_hours'],
    ['/v1/key/rotate', { id: gone.key.id }, '74.revoked'],
    ['/v1/key/rotate', { id }, 'done'],
    ['/v1/key/rotate', { id }, '74.two_secrets'],
    ['/v1/key/revoke', { id, keep_subscriptions: 1 }, '2.keep_subscriptions'],
    ['/v1/key/revoke', { id }, 'done'],
  ]
  for (const [path, body, expected] of cases)
    assert.equal(said(await anna.call(path, body)), expected, `${path} ${JSON.stringify(body)}`)
  for (const path of ['change', 'rotate', 'revoke']) {
    const [absent, other] = await Promise.all(
      ['01m7xps0ca8ksnnfg71x89vdp6', foreign!.id].map((id) => anna.call(`/v1/key/${path}`, { id })),
    )
    // The sentence names the id that was asked for.
    const without_id = ({ request_id: _, headers: __, error, ...rest }: Reply) => ({
      ...rest,
      error: error?.replace(/"\w{26}"/, '"…"'),
    })
    assert.equal(said(other!), '70.key')
    assert.deepEqual(without_id(other!), without_id(absent!))
  }
})

test('what a key has spent today is the truth, or it is not said', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 50, scopes: ['read', 'buy', 'manage'] })
  const carl = world.person('carl', 1).address
  type Shop = { key: Key; token: string; secret: string }
  const make = (more: object) =>
    anna.get<Shop>('/v1/key/new', { name: 'shop', scopes: ['read', 'buy'], ...more })
  const spentOf = async (shop: Shop) => {
    const { key } = await by(world, anna, shop).get<{ key: Key }>('/v1/whoami')
    const { items } = await anna.get<{ items: Key[] }>('/v1/keys/list')
    assert.equal(items.find(({ id }) => id === shop.key.id)!.spent_today, key.spent_today)
    return key.spent_today
  }
  const capped = await make({ daily_cap: 20 })
  assert.equal(await spentOf(capped), 0)
  const price = (await by(world, anna, capped).buyEnergy(carl, 65_000)).amount
  assert.equal(await spentOf(capped), price)
  const free = await make({ daily_cap: 'none' })
  await by(world, anna, free).buyEnergy(carl, 65_000)
  assert.equal(await spentOf(free), null, 'nobody counts without a cap')
  await anna.get('/v1/key/change', { id: free.key.id, daily_cap: 20 })
  world.wait(1)
  await by(world, anna, free).buyEnergy(carl, 65_000)
  assert.equal(await spentOf(free), null, 'what it spent before the cap was not counted')
  await world.settle()
  await world.advance(86_400)
  assert.deepEqual([await spentOf(capped), await spentOf(free)], [0, 0], 'a new day')
  await by(world, anna, free).buyEnergy(carl, 65_000)
  assert.equal(await spentOf(free), price)
  await anna.get('/v1/key/change', { id: free.key.id, daily_cap: 'none' })
  assert.equal(await spentOf(free), null)
})

test('a key takes either signature unless it is asked for, or its maker does not', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['read', 'manage'] })
  const make = (asks: typeof anna, more: object = {}) =>
    asks.get<NewKey>('/v1/key/new', { name: 'k', scopes: ['read', 'manage'], ...more })
  const either = await make(anna)
  assert.deepEqual([either.key.require_v2, either.key.require_external_id], [false, false])
  assert.equal((await by(world, anna, either).call('/v1/whoami')).code, 0)
  const strict = await make(anna, { require_v2: true, require_external_id: true })
  assert.deepEqual([strict.key.require_v2, strict.key.require_external_id], [true, true])
  const shop = by(world, anna, strict)
  const refused = await shop.call('/v1/whoami')
  assert.deepEqual([refused.code, refused.key], [1, 'auth.second_signature'])
  const heir = await make(shop)
  assert.deepEqual([heir.key.require_v2, heir.key.require_external_id], [true, true])
  assert.equal(
    (await shop.call('/v1/key/new', { name: 'k', scopes: ['read'], require_v2: false })).key,
    'forbidden.wider',
  )
  await world.drain()
  await world.app.refusals.written()
  const { items } = await anna.get<{ items: { key: string; hint: unknown }[] }>(
    '/v1/refusals/list',
    { code: 1 },
  )
  assert.deepEqual(
    items.map(({ key, hint }) => [key, hint]),
    [['auth.second_signature', 'second_signature']],
  )
})

test('a new key has the limits of the one that made it, and works at once', async (t) => {
  const world = await makeWorld(t)
  const limits = { daily_cap_sun: 5_000_000n, expires_at: new Date(DAY) }
  const networks = ['127.0.0.0/8', '203.0.113.0/24']
  const anna = await world.customer({
    trx: 20,
    scopes: ['read', 'buy', 'manage'],
    allowed_networks: networks,
    ...limits,
  })
  const wanted = { name: 'shop', scopes: ['read', 'buy'], require_v2: false }
  const { key, ...shop } = await anna.get<NewKey>('/v1/key/new', wanted)
  const { items } = await anna.get<{ items: Key[] }>('/v1/keys/list')
  assert.deepEqual(items[0], key)
  assert.deepEqual(
    [key.networks, key.daily_cap, key.ends_at, key.made_by, key.secrets.length],
    [networks, 5, DAY, items[1]!.id, 1],
  )
  const carl = world.person('carl', 1).address
  const price = (await by(world, anna, shop).buyEnergy(carl, 65_000)).amount
  await world.settle()
  const spent = await anna.get<{ items: Key[] }>('/v1/keys/list')
  assert.deepEqual(
    spent.items.map(({ spent_today }) => spent_today),
    [price, price],
    'both spend from one sum',
  )
  const refused = await anna.call('/v1/transaction/new', {
    service: 'energy',
    params: { address: carl, amount: 131_000, duration: 1 },
  })
  assert.equal(refused.key, 'insufficient_funds.daily_cap')
  const { ended_subscriptions, key: revoked } = await anna.get<{
    ended_subscriptions: number
    key: Key
  }>('/v1/key/revoke', { id: key.id })
  assert.deepEqual([ended_subscriptions, revoked.secrets], [0, []])
  world.wait(1)
  assert.equal((await by(world, anna, shop).call('/v1/balance')).code, 1)
  await world.drain()
  const types = await world.sql<{ type: string; data: string }>`
    select type, data from event where subject = ${`key:${key.id}`} order by number`
  assert.deepEqual(
    types.map(({ type, data }) => [type, (JSON.parse(data) as Key).revoked_at === null]),
    [
      ['key.created', true],
      ['key.revoked', false],
    ],
  )
})

test('without the second signature a key that requires it calls nothing at all', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100, require_v2: true, scopes: [...ALL] })
  const old = world.app.endpoints.filter((one) => one.auth === 'signature' && !one.second_signature)
  const changing = old.filter(({ mutating }) => mutating).map(({ path }) => path)
  assert.ok(changing.includes('/v1/transaction/new') && changing.includes('/v1/subscription/stop'))
  for (const { path, open } of old) {
    if (open) continue
    // The harness adds the second one only where an endpoint asks for it.
    const { code, key } = await anna.call(path)
    assert.deepEqual([code, key], [1, 'auth.second_signature'], path)
    // Who does not hold the secret is not told what the key requires.
    const guessed = await anna.call(path, {}, { 'x-signature': '0'.repeat(64) })
    assert.deepEqual([guessed.code, guessed.key], [1, 'auth'], path)
  }
})

test('both secrets sign while one replaces the other, and then the new one alone', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['manage'] })
  const { key, token, secret } = await anna.get<NewKey>('/v1/key/new', {
    name: 'shop',
    scopes: ['manage'],
    require_v2: true,
  })
  const old = by(world, anna, { token, secret })
  const asked = { id: key.id, overlap_hours: 1 }
  const rotated = await anna.get<{ key: Key; secret: string }>('/v1/key/rotate', asked)
  const fresh = by(world, anna, { token, secret: rotated.secret })
  assert.equal(rotated.key.secrets.length, 2)
  world.wait(1)
  const answers = async () => {
    const paths = ['/v1/keys/list', '/v1/key/new'] as const
    const said: number[] = []
    for (const one of [old, fresh])
      for (const path of paths)
        said.push((await one.call(path, { name: 'x', scopes: ['manage'] })).code)
    return said
  }
  // The list is asked with the first signature alone, which the key does not take.
  assert.deepEqual(await answers(), [1, 0, 1, 0])
  await world.advance(3_600)
  assert.deepEqual(await answers(), [1, 1, 1, 0])
  await anna.get('/v1/key/rotate', asked)
  assert.equal((await anna.call('/v1/key/rotate', asked)).key, 'conflict.two_secrets')
  // Secrets that are known to strangers must not wait until they are over.
  const at_once = await anna.get<{ key: Key }>('/v1/key/rotate', { id: key.id, overlap_hours: 0 })
  assert.equal(at_once.key.secrets.length, 1)
  world.wait(1)
  assert.deepEqual(await answers(), [1, 1, 1, 1])
})

test('every endpoint is for keys of its scope, and a key without scopes has three', async (t) => {
  const world = await makeWorld(t)
  const address = person('somebody').address
  const body = { name: 'x', scopes: ['read'], id: 'x', url: 'x', address }
  for (const scopes of [undefined, ...ALL.map((one) => [one] as const)]) {
    const anna = await world.customer(scopes ? { scopes } : {})
    const may: readonly string[] = scopes ?? ['read', 'buy', 'aml']
    for (const { path, scopes: any_of, auth, open } of world.app.endpoints) {
      if (auth !== 'signature' || open) continue
      const { key } = await anna.call(path, body)
      const refused = key === 'auth.scope'
      const allowed = any_of.some((one) => may.includes(one))
      assert.equal(refused, !allowed, `${path} by a key of ${may.join()}`)
    }
  }
})
