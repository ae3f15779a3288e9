// Which mistake is answered first. Clients branch on the code alone, so a request with two mistakes
// must get the same one today and tomorrow: authentication, form, address, duration, amount,
// external_id, service, wallet, activation, funds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { signature } from 'penstock-service/platform/wire/signature.ts'
import { withoutTriggers } from '../harness/without_triggers.ts'
import { type Customer, makeWorld, post, type World } from '../harness/world.ts'

const NEW = '/v1/transaction/new'

type Body = { service?: unknown; params?: Record<string, unknown> | null; external_id?: unknown }
type Draft = {
  who: Customer
  body: Body & { params: Record<string, unknown> }
  headers: Record<string, string>
  off_sale: boolean
}
type Mistake = { name: string; code: number; make: (draft: Draft, people: People) => void }
type People = { rich: Customer; poor: Customer; walletless: Customer; bob: string; nina: string }

/** In the order in which they are answered. */
const MISTAKES: Mistake[] = [
  {
    name: 'a wrong signature',
    code: 1,
    make: (draft) => Object.assign(draft.headers, { 'x-signature': '0'.repeat(64) }),
  },
  {
    name: 'an unknown service',
    code: 2,
    make: ({ body }) => Object.assign(body, { service: 'gas' }),
  },
  {
    name: 'an invalid address',
    code: 10,
    make: ({ body }) => Object.assign(body.params, { address: 'T123' }),
  },
  {
    name: 'another duration',
    code: 12,
    make: ({ body }) => Object.assign(body.params, { duration: 24 }),
  },
  {
    name: 'an amount in no tier',
    code: 11,
    make: ({ body }) => Object.assign(body.params, { amount: 1 }),
  },
  {
    name: 'an external_id of another meaning',
    code: 2,
    make: ({ body }) => Object.assign(body, { external_id: 'taken' }),
  },
  {
    name: 'a service off sale',
    code: 35,
    make: (draft) => Object.assign(draft, { off_sale: true }),
  },
  {
    name: 'no wallet',
    code: 5,
    make: (draft, { walletless }) => Object.assign(draft, { who: walletless }),
  },
  {
    name: 'an inactive address',
    code: 24,
    make: ({ body }, { nina }) => Object.assign(body.params, { address: nina }),
  },
  {
    name: 'too little money',
    code: 6,
    make: (draft, { poor }) => Object.assign(draft, { who: poor }),
  },
]

/** Three customers who have all used the external_id `taken`. */
async function makePeople(world: World): Promise<People> {
  const bob = world.person('bob', 1).address
  const other = world.person('other', 1).address
  const [rich, poor, walletless] = [
    await world.customer({ trx: 1_000 }),
    await world.customer({ trx: 3 }),
    await world.customer({ trx: 3 }),
  ]
  for (const one of [rich, poor, walletless]) {
    await one.buy({
      service: 'energy',
      params: { address: other, amount: 60_000, duration: 1 },
      external_id: 'taken',
    })
  }
  await world.settle()
  return { rich, poor, walletless, bob, nina: world.person('nina').address }
}

/** Takes a customer's account away, which no way of the service does, and puts it back after the
 *  work. */
async function without(world: World, customer: Customer, work: () => Promise<void>): Promise<void> {
  const account = `customer:${customer.id}`
  const [row] = await world.sql<{
    posted_sun: bigint
  }>`delete from account where id = ${account} returning posted_sun`
  try {
    await work()
  } finally {
    await withoutTriggers(
      world.sql,
      (tx) => tx`
      insert into account (id, may_go_negative, posted_sun)
        values (${account}, false, ${row!.posted_sun})`,
    )
  }
}

async function sell(world: World, on_sale: boolean): Promise<void> {
  const changed = await world.sql`
    update service set on_sale = ${on_sale} where name = 'energy' and on_sale <> ${on_sale}
      returning name`
  if (changed.length === 0) return
  world.mine()
  await world.drain()
}

async function answer(world: World, people: People, mistakes: readonly Mistake[]): Promise<number> {
  const draft: Draft = {
    who: people.rich,
    body: { service: 'energy', params: { address: people.bob, amount: 65_000, duration: 1 } },
    headers: {},
    off_sale: false,
  }
  // The later ones first, so that an earlier one that changes the same field stands.
  for (const mistake of mistakes.toReversed()) mistake.make(draft, people)
  await sell(world, !draft.off_sale)
  return (await draft.who.call(NEW, draft.body, draft.headers)).code
}

test('of two mistakes the earlier is answered, for every pair, each with its code', async (t) => {
  const world = await makeWorld(t)
  const people = await makePeople(world)
  const balance = await people.rich.balance()
  await without(world, people.walletless, async () => {
    for (const [i, first] of MISTAKES.entries()) {
      assert.equal(await answer(world, people, [first]), first.code, first.name)
      for (const second of MISTAKES.slice(i + 1)) {
        assert.equal(
          await answer(world, people, [first, second]),
          first.code,
          `${first.name}, ${second.name}`,
        )
      }
    }
    assert.equal(await answer(world, people, MISTAKES), 1, 'all at once')
  })
  assert.equal(await people.rich.balance(), balance, 'a refusal costs nothing')
  assert.equal(await answer(world, people, []), 0, 'none at all')
})

test('what is answered by 2, before anything else is looked at', async (t) => {
  const world = await makeWorld(t)
  const { rich, bob } = await makePeople(world)
  const good = { service: 'energy', params: { address: bob, amount: 65_000, duration: 1 } }
  const bad_params = { ...good.params, address: 'T123', duration: 2, amount: -1 }
  const bodies: unknown[] = [
    {},
    [],
    [good],
    '"energy"',
    'null',
    '5',
    '',
    'nonsense',
    '{"service":"energy","service":"energy"}',
    { params: bad_params },
    { ...good, service: 'ENERGY', params: bad_params },
    { ...good, service: null, params: bad_params },
    { ...good, service: ['energy'], params: bad_params },
    { service: 'energy' },
    { service: 'energy', params: null },
    { service: 'energy', params: [] },
    { service: 'energy', params: 'address' },
    { ...good, params: { ...bad_params, activate_address: 'yes' } },
    { ...good, params: { ...bad_params, activate_address: 1 } },
    { ...good, params: { ...bad_params, activate_address: [] } },
  ]
  for (const body of bodies) {
    const { code, key } = await rich.call(NEW, body)
    assert.deepEqual([code, key], [2, 'invalid_service_or_params'], JSON.stringify(body))
  }
  for (const external_id of [5, true, [], {}, 'x'.repeat(129), ['a']]) {
    const { code, key } = await rich.call(NEW, { ...good, params: bad_params, external_id })
    assert.deepEqual(
      [code, key],
      [2, 'invalid_service_or_params.external_id'],
      JSON.stringify(external_id),
    )
  }
})

test('an address is refused with 10 unless it is one of the network', async (t) => {
  const world = await makeWorld(t)
  const { rich, bob } = await makePeople(world)
  const last = bob.at(-1) === 'A' ? 'B' : 'A'
  const wrong = [
    undefined,
    null,
    '',
    5,
    [],
    {},
    'T',
    bob.slice(0, 33),
    `${bob}a`,
    ` ${bob}`,
    bob.slice(0, 33) + last,
  ]
  const foreign = [
    'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
    '0x52908400098527886E0F7030069857D2E4169EE7',
  ]
  const other_version = '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2'
  for (const address of [
    ...wrong,
    ...foreign,
    other_version,
    '41'.padEnd(42, '0'),
    bob.toLowerCase(),
  ]) {
    for (const service of ['energy', 'activate_address']) {
      const { code } = await rich.call(NEW, {
        service,
        params: { address, amount: 65_000, duration: 2 },
      })
      assert.equal(code, 10, JSON.stringify(address))
    }
    assert.equal((await rich.call('/v1/calculate', { address, amount: 1, duration: 2 })).code, 10)
  }
})

test('a duration is 1 or refused with 12, and nobody asks an activation for one', async (t) => {
  const world = await makeWorld(t)
  const { rich, bob, nina } = await makePeople(world)
  for (const duration of [
    'undefined',
    'null',
    '""',
    '"1"',
    '0',
    '-1',
    '2',
    '24',
    '1.0',
    '1e0',
    'true',
    '[1]',
    '{}',
  ]) {
    const member = duration === 'undefined' ? '' : `,"duration":${duration}`
    const params = `{"address":"${bob}","amount":1${member}}`
    assert.equal(
      (await rich.call(NEW, `{"service":"energy","params":${params}}`)).code,
      12,
      duration,
    )
    assert.equal((await rich.call('/v1/calculate', params)).code, 12, duration)
    const activation = `{"service":"activate_address","params":{"address":"${bob}"${member}}}`
    assert.equal((await rich.call(NEW, activation)).code, 25, duration)
  }
  await rich.buy({ service: 'activate_address', params: { address: nina, duration: 24 } })
})

test('the receiver: 24 inactive, 25 activation not needed, 10 a contract', async (t) => {
  const world = await makeWorld(t)
  const { rich, bob, nina } = await makePeople(world)
  const params = (address: string, more = {}) => ({ address, amount: 65_000, duration: 1, ...more })
  const code = async (service: string, given: object) =>
    (await rich.call(NEW, { service, params: given })).code
  assert.equal(await code('energy', params(nina)), 24)
  assert.equal(await code('energy', params(nina, { activate_address: false })), 24)
  assert.equal(await code('bandwidth', params(nina, { amount: 345 })), 24)
  assert.equal(
    await code('resource_bundle', params(nina, { amounts: { energy: 65_000, bandwidth: 345 } })),
    24,
  )
  assert.equal(await code('activate_address', params(bob)), 25)
  const contract = world.person('contract', 1).address
  world.network.answers = (path, body) =>
    path === '/wallet/getaccount' && body.includes(contract)
      ? body.replace('{', '{"type":"Contract",')
      : body
  assert.equal(await code('energy', params(contract)), 10)
  assert.equal(await code('energy', params(contract, { activate_address: true })), 10)
  assert.equal(await code('activate_address', params(contract)), 10)
  assert.equal((await rich.call('/v1/calculate', params(contract))).code, 10)
})

test('what a purchase would cost: its price, and the fee of an activation', async (t) => {
  const world = await makeWorld(t)
  const { rich, bob, nina } = await makePeople(world)
  const common = { address: bob, type: 'energy', duration: 1, activation_fee: 0 }
  const price = (body: object) => rich.get('/v1/calculate', { address: bob, duration: 1, ...body })
  assert.deepEqual(await price({ amount: 65_000 }), {
    ...common,
    amount: 65_000,
    energy: 65_000,
    price: 2.93,
    total: 2.93,
  })
  assert.deepEqual(await price({ energy: 131_000 }), {
    ...common,
    amount: 131_000,
    energy: 131_000,
    price: 5.5,
    total: 5.5,
  })
  assert.deepEqual(await price({ type: 'bandwidth', amount: 345 }), {
    address: bob,
    type: 'bandwidth',
    duration: 1,
    activation_fee: 0,
    amount: 345,
    price: 0.35,
    total: 0.35,
  })
  assert.deepEqual(await price({ address: nina, amount: 65_000 }), {
    ...common,
    address: nina,
    activation_fee: 1.4,
    amount: 65_000,
    energy: 65_000,
    price: 2.93,
    total: 4.33,
  })
  const rows: [string, number][] = [
    ['"amount":65000,"energy":1', 0],
    ['"amount":null,"energy":65000', 0],
    ['"amount":"","energy":65000', 0],
    ['"type":"","amount":65000', 0],
    ['"type":null,"amount":65000', 0],
    ['"type":"gas","amount":65000', 2],
    ['"type":5,"amount":65000', 2],
    ['"amount":0,"energy":65000', 11],
    ['"amount":65000.0', 11],
    ['"amount":"65000"', 11],
    ['"amount":1', 11],
    ['"x":1', 11],
    ['"type":"bandwidth","energy":345', 50],
    ['"type":"bandwidth","amount":1', 50],
  ]
  for (const [fields, code] of rows) {
    const reply = await rich.call('/v1/calculate', `{"address":"${bob}","duration":1,${fields}}`)
    assert.equal(reply.code, code, fields)
  }
})

test('an order is looked up by id, by external_id, or by both of the same order', async (t) => {
  const world = await makeWorld(t)
  const { rich, poor, bob } = await makePeople(world)
  const order = await rich.buyEnergy(bob, 65_000)
  const named = await rich.get<{ id: string }>('/v1/transaction/check', { external_id: 'taken' })
  const rows: [body: object, outcome: number | string][] = [
    [{ id: order.id }, order.id],
    [{ transaction_id: order.id }, order.id],
    [{ id: '', transaction_id: order.id }, order.id],
    [{ id: order.id, external_id: null }, order.id],
    [{ id: order.id, external_id: '' }, order.id],
    [{ id: named.id, external_id: 'taken' }, named.id],
    [{ id: null, external_id: 'taken' }, named.id],
    [{ id: order.id, external_id: 'taken' }, 20],
    [{ id: 'x' }, 20],
    [{ id: 'x'.repeat(10_000) }, 20],
    [{ external_id: '0' }, 20],
    [{ external_id: 'x'.repeat(200) }, 20],
    [{}, 2],
    [{ id: null }, 2],
    [{ id: '', external_id: '' }, 2],
    [{ id: 5 }, 2],
    [{ id: [order.id] }, 2],
    [{ id: true }, 2],
    [{ external_id: 5 }, 2],
    [{ id: order.id, external_id: {} }, 2],
  ]
  for (const [body, outcome] of rows) {
    const { code, result } = await rich.call('/v1/transaction/check', body)
    assert.equal(code === 0 ? result.id : code, outcome, JSON.stringify(body))
  }
  const { code, key } = await poor.call('/v1/transaction/check', { id: order.id })
  assert.deepEqual([code, key], [20, 'subscription_not_found'])
  assert.equal((await rich.call('/v1/transaction/check', {})).key, 'invalid_service_or_params.id')
})

test('endpoints without parameters take {}, [] and no body, and only objects', async (t) => {
  const world = await makeWorld(t)
  const { rich, walletless } = await makePeople(world)
  for (const path of ['/v1/services', '/v1/balance']) {
    for (const body of ['', '{}', '[]', ' { } ', '{"page":1}'])
      assert.equal((await rich.call(path, body)).code, 0, body)
    for (const body of ['null', '5', '"x"', '[1]', '{', '{"a":1,"a":2}', 'true']) {
      assert.equal((await rich.call(path, body)).code, 2, body)
    }
  }
  await without(world, walletless, async () => {
    assert.equal((await walletless.call('/v1/balance')).code, 5)
  })
})

test('the services list shows every tier under both names, and the flat fee', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  assert.deepEqual(await anna.get('/v1/services'), {
    energy: [
      {
        duration: 1,
        min_amount: 32_000,
        max_amount: 130_999,
        min_energy: 32_000,
        max_energy: 130_999,
        price: 0.045,
        price_32k: 1.44,
        price_65k: 2.93,
        price_131k: 5.9,
      },
      {
        duration: 1,
        min_amount: 131_000,
        max_amount: 3_000_000,
        min_energy: 131_000,
        max_energy: 3_000_000,
        price: 0.042,
        price_32k: 1.34,
        price_65k: 2.73,
        price_131k: 5.5,
      },
    ],
    bandwidth: [{ duration: 1, min_amount: 300, max_amount: 100_000, price: 1 }],
    activate_address: { price: 1.4 },
  })
})

test('the public endpoint answers without credentials, body and content type', async (t) => {
  const world = await makeWorld(t)
  const path = '/v1/direct-recharge-info'
  const wrong = {
    authorization: 'Bearer nobody',
    'x-signature': 'f'.repeat(64),
    'content-type': 'application/json',
  }
  const replies = [
    await post(world.api, path, undefined),
    await post(world.api, path, undefined, { 'content-type': 'application/json' }),
    await post(world.api, path, '{}', wrong),
    await post(world.api, path, '[]', wrong),
    await post(world.api, path, 'nonsense', { 'content-type': 'text/plain' }),
    await post(world.api, path, '{"a":', { authorization: 'Basic x' }),
  ]
  for (const { status, code, result } of replies) {
    assert.deepEqual([status, code, result.address], [200, 0, world.recharge.address])
  }
})

test('every signed endpoint refuses an unknown caller with 1, and no more', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: [...SCOPES] })
  const zoe = await world.customer()
  const read_only = await world.customer({ scopes: ['read'] })
  for (const { path, auth, open } of world.app.endpoints) {
    if (auth === 'public') continue
    const refusals = [
      await post(world.api, path, '{'),
      await post(world.api, path, '{}', { authorization: `Bearer ${anna.token}` }),
      await anna.call(path, {}, { 'x-signature': 'f'.repeat(64) }),
      await anna.call(path, {}, { authorization: `Bearer ${zoe.token}` }),
      await anna.call(path, {}, { authorization: 'Bearer pst_nobody' }),
      await anna.call(path, {}, { authorization: `Basic ${anna.token}` }),
    ]
    for (const { status, code, key, error } of refusals) {
      assert.deepEqual(
        [status, code, key, error],
        [200, 1, 'auth', 'Incorrect token or signature'],
        path,
      )
    }
    // An answer that stays open is nothing to wait for.
    if (open) continue
    const upper_case = signature(Buffer.from('{}'), anna.secret).toUpperCase()
    assert.notEqual((await anna.call(path, '{}', { 'x-signature': upper_case })).code, 1, path)
  }
  assert.equal((await read_only.call(NEW, {})).code, 1, 'a key that may only look does not buy')
  assert.equal((await read_only.call('/v1/services')).code, 0)
})
