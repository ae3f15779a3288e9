// A signature of the first kind belongs to a body, not to an endpoint: anyone who has seen one
// request can send its body to any other endpoint. So no endpoint that changes something may accept
// a body that is good for another one. The wire leaves the exceptions below, which
// docs/customers/api.md explains; the second signature has none.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Endpoint, SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { keyV2, signature, signatureV2 } from 'penstock-service/platform/wire/signature.ts'
import { type Customer, makeWorld, post, type World } from '../../harness/world.ts'

type Body = Record<string, unknown>

/** Where a body of the first path is accepted by the second: both name a thing by the customer's
 *  own id and no more. */
const EXCEPTIONS = [
  ['/v1/transaction/new', '/v1/subscription/stop'],
  ['/v1/transaction/check', '/v1/subscription/stop'],
  ['/v1/subscription/check', '/v1/subscription/stop'],
]

const start = (address: string, external_id: string) => ({
  subscription_id: 'unlimited_energy',
  params: { address, duration: 0, transactions_limit: 0 },
  external_id,
})

/** Subscriptions that run, each with an external_id that a purchase has too: the worst case. */
async function makeSubscriptions(
  world: World,
  who: Customer,
  count: number,
): Promise<{ id: string; name: string }[]> {
  const address = world.person('bob', 1).address
  const running: { id: string; name: string }[] = []
  for (let i = 0; i < count; i++) {
    const name = `same-${i}`
    const { id } = await who.get<{ id: string }>(
      '/v1/subscription/start',
      start(world.person(`subscriber-${i}`, 1).address, name),
    )
    await who.buy({
      service: 'bandwidth',
      params: { address, amount: 345, duration: 1 },
      external_id: name,
    })
    running.push({ id, name })
  }
  await world.settle()
  world.mine()
  await world.drain()
  return running
}

/** Good bodies of each endpoint, in every form in which it takes them. */
async function goodBodies(world: World, who: Customer): Promise<Record<string, Body[]>> {
  const names = await makeSubscriptions(world, who, 6)
  const [first, second, third, fourth, fifth, sixth] = names as [
    { id: string; name: string },
    ...typeof names,
  ]
  const bob = world.person('bob').address
  const params = { address: bob, amount: 345, duration: 1 }
  const order = await who.buyEnergy(bob, 65_000)
  const written = Object.fromEntries(
    world.app.endpoints.map(({ path, examples }) => [path, examples.map(({ body }) => body)]),
  )
  return {
    ...written,
    '/v1/transaction/new': [
      { service: 'bandwidth', params },
      { service: 'bandwidth', params, external_id: first.name },
    ],
    '/v1/transaction/check': [
      { id: order.id },
      { transaction_id: order.id },
      { external_id: second!.name },
      { id: '', external_id: third!.name },
    ],
    '/v1/subscription/start': [start(world.person('new', 1).address, 'fresh')],
    '/v1/subscription/check': [
      { id: fourth!.id },
      { subscription_id: fifth!.id },
      { external_id: sixth!.name },
    ],
    '/v1/subscription/stop': [{ id: first.id }],
  }
}

test("an endpoint that changes something refuses every other endpoint's bodies", async (t) => {
  const world = await makeWorld(t)
  const who = await world.customer({ trx: 1_000 })
  const bodies = await goodBodies(world, who)
  const accepted = new Set<string>()
  // Those that require the second signature are bound to their path by it, and what nobody signs
  // can be sent by anyone anyway.
  const first_only = ({ auth, mutating, second_signature }: Endpoint) =>
    auth === 'signature' && mutating && !second_signature
  for (const target of world.app.endpoints.filter(first_only)) {
    for (const source of world.app.endpoints.filter(
      (one) => one !== target && one.auth === 'signature',
    )) {
      for (const body of bodies[source.path]!) {
        const { code } = await who.call(target.path, body)
        assert.notEqual(code, 500)
        if (code === 0) accepted.add(`${source.path} ${target.path}`)
      }
    }
  }
  assert.deepEqual(
    [...accepted],
    EXCEPTIONS.map((pair) => pair.join(' ')),
  )
})

test('what changes something says so, and the rest moves no money', async (t) => {
  const world = await makeWorld(t)
  const { endpoints } = world.app
  const unbound = endpoints.filter(
    (one) => one.auth === 'signature' && one.mutating && !one.second_signature,
  )
  assert.deepEqual(
    unbound.map(({ path }) => path).filter((path) => !/\/(new|start|stop)$/.test(path)),
    [],
  )
  const verbs = new RegExp(
    '/(new|start|stop|change|remove|accept|approve|refuse|take|rotate|revoke|test|trigger|replay' +
      '|retry|invite|recover|end)$',
  )
  assert.deepEqual(
    endpoints.filter(({ path, mutating }) => verbs.test(path) !== mutating).map(({ path }) => path),
    [],
  )
  const who = await world.customer({ trx: 1_000 })
  const bodies = await goodBodies(world, who)
  const rows = async () =>
    world.sql`
      select (select count(*) from orders) as orders,
             (select count(*) from subscription where state = 'active') as running,
             (select count(*) from transfer) as transfers`
  const before = await rows()
  for (const { path } of world.app.endpoints.filter((one) => !one.mutating)) {
    for (const body of Object.values(bodies).flat()) await who.call(path, body)
  }
  assert.deepEqual(await rows(), before)
})

test('a request with the second signature is refused by every other endpoint', async (t) => {
  const world = await makeWorld(t)
  const who = await world.customer({ trx: 100, require_v2: true, scopes: [...SCOPES] })
  const key = keyV2(who.secret)
  const body = '{"external_id":"sub-7"}'
  const timestamp = String(Math.floor(world.now.getTime() / 1_000))
  const headers = (path: string, nonce: string) => ({
    authorization: `Bearer ${who.token}`,
    'x-signature': signature(Buffer.from(body), who.secret),
    'x-timestamp': timestamp,
    'x-nonce': nonce,
    'x-signature-v2': signatureV2(key, {
      timestamp,
      nonce,
      method: 'POST',
      path,
      body: Buffer.from(body),
    }),
  })
  const code = async (path: string, sent: Record<string, string>) =>
    (await post(world.api, path, body, sent)).code
  for (const [i, { path }] of world.app.endpoints
    .filter(({ auth }) => auth === 'signature')
    .entries()) {
    const others = world.app.endpoints.filter(
      (one) => one.path !== path && one.auth === 'signature',
    )
    for (const other of others)
      assert.equal(await code(other.path, headers(path, `other-${i}`)), 1, other.path)
    const sent = headers(path, `own-${i}`)
    assert.notEqual(await code(path, sent), 1, path)
    assert.equal(await code(path, sent), 1, `${path} again`)
    const { 'x-signature-v2': _second, ...first_only } = sent
    assert.equal(await code(path, first_only), 1, `${path} with the first signature alone`)
  }
})
