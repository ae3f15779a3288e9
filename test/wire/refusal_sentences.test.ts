// What refusals say: for every code, what was wrong in at least two requests, and the sentence. It
// names the field, what was sent and what it must be, and repeats no secret and little text.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CODES } from 'penstock-service/platform/http/refusal_codes.ts'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { withoutTriggers } from '../harness/without_triggers.ts'
import { type Customer, makeWorld, type Reply, type World } from '../harness/world.ts'

const NEW = '/v1/transaction/new'

type Scene = {
  world: World
  rich: Customer
  poor: Customer
  bob: string
  nina: string
}
type Row = readonly [
  code: number,
  sentence: string | RegExp,
  param: string | undefined,
  ask: (scene: Scene) => Promise<Reply>,
]

const buy =
  (params: object, more: object = {}) =>
  ({ rich, bob }: Scene) =>
    rich.call(NEW, {
      service: 'energy',
      params: { address: bob, amount: 65_000, duration: 1, ...params },
      ...more,
    })
const call =
  (path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
  ({ rich }: Scene) =>
    rich.call(path, body, headers)

const ADDRESS = 'an address of the network, 34 characters that begin with T'
const TAKEN = { external_id: 'taken' }

const ROWS: Row[] = [
  [
    1,
    'Incorrect token or signature',
    undefined,
    call('/v1/balance', {}, { 'x-signature': '0'.repeat(64) }),
  ],
  [
    1,
    'Incorrect token or signature',
    undefined,
    call('/v1/balance', {}, { authorization: `Bearer pst_${'A'.repeat(43)}` }),
  ],
  [
    1,
    'This key needs X-Signature-V2 as well: send both, or use a key that takes the first alone',
    undefined,
    async ({ world }) => (await world.customer({ require_v2: true })).call('/v1/balance'),
  ],
  [
    2,
    'Invalid service or parameters: service must be one of "energy", "bandwidth", ' +
      '"resource_bundle", "activate_address", not the text "gas"',
    'service',
    buy({}, { service: 'gas' }),
  ],
  [
    2,
    'Invalid service or parameters: the body is not JSON: unexpected end at byte 104',
    undefined,
    ({ rich, bob }) =>
      rich.call(
        NEW,
        `{"service":"energy","params":{"address":"${bob}","amount":65000,"duration":1`,
      ),
  ],
  [
    2,
    'Invalid service or parameters: the body must be a JSON object, not a list',
    undefined,
    call(NEW, '[1]'),
  ],
  [
    2,
    'Invalid service or parameters: the body is not JSON that is taken here: a key given twice ' +
      'at byte 7',
    undefined,
    call('/v1/balance', '{"a":1,"a":2}'),
  ],
  [
    2,
    'Invalid external_id: external_id must be text of 1 to 128 characters, not 5',
    'external_id',
    buy({}, { external_id: 5 }),
  ],
  [
    2,
    /^Invalid external_id: it is that of the transaction \w{26}, which asked for something else$/,
    'external_id',
    buy({ amount: 66_000 }, TAKEN),
  ],
  [
    2,
    'Invalid service or parameters: params.activate_address must be true or false, not the text ' +
      '"yes"',
    'params.activate_address',
    buy({ activate_address: 'yes' }),
  ],
  [
    2,
    'Invalid scopes: scopes[1] must be one of "read", "buy", "aml", "money", "webhooks", ' +
      '"manage", not the text "sell"',
    'scopes[1]',
    call('/v1/key/new', { name: 'a', scopes: ['read', 'sell'] }),
  ],
  [
    2,
    'Invalid limit: limit must be an integer from 1 to 100, not 1e3',
    'limit',
    call('/v1/transactions/list', '{"limit":1e3}'),
  ],
  [
    6,
    new RegExp(
      '^Insufficient funds: it costs 2\\.93 TRX, 1 TRX can be spent: 1\\.93 TRX are missing; ' +
        'send TRX to T\\w{33}, your deposit address$',
    ),
    undefined,
    ({ poor, bob }) =>
      poor.call(NEW, {
        service: 'energy',
        params: { address: bob, amount: 65_000, duration: 1 },
      }),
  ],
  [
    6,
    'The daily cap of this key is reached: it costs 2.93 TRX, and 0 of 1 TRX are spent today (UTC)',
    undefined,
    async ({ world, bob }) => {
      const capped = await world.customer({ trx: 9, daily_cap_sun: 1_000_000n })
      return capped.call(NEW, {
        service: 'energy',
        params: { address: bob, amount: 65_000, duration: 1 },
      })
    },
  ],
  [
    10,
    'Invalid network address: params.address is missing (there is params.adress)',
    'params.address',
    ({ rich, bob }) =>
      rich.call(NEW, { service: 'energy', params: { adress: bob, amount: 65_000, duration: 1 } }),
  ],
  [
    10,
    'Invalid network address: params.address is missing (there is address)',
    'params.address',
    ({ rich, bob }) =>
      rich.call(NEW, { service: 'energy', address: bob, params: { amount: 65_000, duration: 1 } }),
  ],
  [
    10,
    `Invalid network address: params.address must be ${ADDRESS}, not the text "T123"`,
    'params.address',
    buy({ address: 'T123' }),
  ],
  [
    10,
    `Invalid network address: to_address must be ${ADDRESS}, not null`,
    'to_address',
    ({ rich, bob }) => rich.call('/v1/estimate-energy', { from_address: bob, to_address: null }),
  ],
  [
    11,
    'Invalid energy amount: params.amount must be an integer from 32000 to 3000000, not the text ' +
      '"65000"',
    'params.amount',
    buy({ amount: '65000' }),
  ],
  [
    11,
    'Invalid energy amount: params.amounts.energy must be an integer from 32000 to 3000000, not 5',
    'params.amounts.energy',
    buy({ amounts: { energy: 5 } }),
  ],
  [
    11,
    'Invalid energy amount: params.amount is missing (there is params.Amount)',
    'params.amount',
    buy({ amount: undefined, Amount: 65_000 }),
  ],
  [
    12,
    'Duration must be equal to 1 (1 hour): params.duration must be the integer 1, not 24',
    'params.duration',
    buy({ duration: 24 }),
  ],
  [
    12,
    'Duration must be equal to 1 (1 hour): duration is missing: it must be the integer 1',
    'duration',
    ({ rich, bob }) => rich.call('/v1/calculate', { address: bob, amount: 65_000 }),
  ],
  [
    20,
    'Transaction not found: no transaction of yours has the id "x"',
    'id',
    call('/v1/transaction/check', { id: 'x' }),
  ],
  [
    20,
    /^.*not found: no subscription of yours has the external_id "none"$/,
    'external_id',
    call('/v1/subscription/check', { external_id: 'none' }),
  ],
  [
    24,
    'Address is not activated: the address has no account on the chain: send ' +
      'params.activate_address as true, or buy the service activate_address for it first',
    'params.address',
    (scene) => buy({ address: scene.nina })(scene),
  ],
  [
    24,
    /^Address is not activated: .*params\.activate_address as true/,
    'params.address',
    ({ rich, nina }) =>
      rich.call('/v1/quote/new', {
        service: 'bandwidth',
        params: { address: nina, amount: 345, duration: 1 },
      }),
  ],
  [
    25,
    'Address is already activated: it has an account on the chain: there is nothing to do',
    'params.address',
    ({ rich, bob }) => rich.call(NEW, { service: 'activate_address', params: { address: bob } }),
  ],
  [
    25,
    /^Address is already activated: /,
    'params.address',
    ({ rich, bob }) =>
      rich.call('/v1/quote/new', { service: 'activate_address', params: { address: bob } }),
  ],
  [
    30,
    'AML check not found: no check of yours has the id "x"',
    'id',
    call('/v1/aml-checks/check', { id: 'x' }),
  ],
  [
    30,
    /^AML check not found: no check of yours has the id "y"$/,
    'id',
    call('/v1/aml-checks/check', { id: 'y' }),
  ],
  [
    35,
    'Service unavailable: bandwidth is off sale',
    undefined,
    async ({ world, rich, bob }) => {
      await world.sql`update service set on_sale = false where name = 'bandwidth'`
      world.mine()
      await world.drain()
      const body = { service: 'bandwidth', params: { address: bob, amount: 345, duration: 1 } }
      return rich.call(NEW, body)
    },
  ],
  [
    35,
    'Service unavailable: so much cannot be delivered now; /v1/pool-forecast says how much can',
    undefined,
    async (scene) => {
      await scene.world.sql`update pool set room = reserved where resource = 'energy'`
      return buy({ amount: 3_000_000 })(scene)
    },
  ],
  [
    50,
    'Invalid bandwidth amount: params.amount must be an integer from 300 to 100000, not 299',
    'params.amount',
    buy({ amount: 299 }, { service: 'bandwidth' }),
  ],
  [
    50,
    'Invalid bandwidth amount: amount must be an integer from 300 to 100000, not true',
    'amount',
    ({ rich, bob }) =>
      rich.call('/v1/calculate', { type: 'bandwidth', address: bob, amount: true, duration: 1 }),
  ],
]

const MORE: Row[] = [
  [5, 'Wallet not found', undefined, withoutWallet(({ poor }) => poor.call('/v1/balance'))],
  [
    5,
    'Wallet not found',
    undefined,
    withoutWallet(({ poor, bob }) =>
      poor.call(NEW, { service: 'energy', params: { address: bob, amount: 65_000, duration: 1 } }),
    ),
  ],
  [
    10,
    'Invalid network address: params.address must be an address of the network with a ' +
      'right checksum (one of its characters is wrong), not the text ' +
      '"TRX9aJKRHkVTAuz4dUMwcyCJuiaXh4vYpM"',
    'params.address',
    buy({ address: 'TRX9aJKRHkVTAuz4dUMwcyCJuiaXh4vYpM' }),
  ],
  [
    11,
    'Invalid energy amount: params.amounts.energy is missing (there is params.amounts.enrgy)',
    'params.amounts.energy',
    buy({ amount: undefined, amounts: { enrgy: 65_000 } }),
  ],
  [
    2,
    'Invalid types: types[1] must be a type of event, such as "order.succeeded" (see the docs), ' +
      'not the text "order.succeded"',
    'types[1]',
    call('/v1/events/list', { types: ['order.failed', 'order.succeded'] }),
  ],
  [
    21,
    'This subscription cannot be stopped: it has ended already',
    'id',
    async (scene) => {
      const id = await subscribed(scene, { duration: 1, transactions_limit: 0 })
      await scene.rich.call('/v1/subscription/stop', { id })
      return scene.rich.call('/v1/subscription/stop', { id })
    },
  ],
  [
    21,
    'This subscription cannot be stopped: it has a limit of transactions, and ends with them or ' +
      'its days',
    'id',
    async (scene) => {
      const id = await subscribed(scene, { duration: 1, transactions_limit: 5 })
      return scene.rich.call('/v1/subscription/stop', { id })
    },
  ],
  [
    71,
    'This quote has expired',
    undefined,
    async (scene) => {
      const id = await quoted(scene)
      scene.world.wait(5)
      return scene.rich.call('/v1/quote/accept', { id })
    },
  ],
  [
    71,
    'This quote was used for another transaction',
    undefined,
    async (scene) => {
      const id = await quoted(scene)
      await scene.rich.call('/v1/quote/accept', { id, external_id: 'one' })
      return scene.rich.call('/v1/quote/accept', { id, external_id: 'other' })
    },
  ],
  [
    72,
    'There are 20 webhooks already',
    undefined,
    async ({ rich }) => {
      const url = 'https://shop.example/hook'
      for (let i = 0; i < 20; i++) await rich.call('/v1/webhook/new', { url })
      return rich.call('/v1/webhook/new', { url })
    },
  ],
  [
    72,
    'Too many codes wait: try again in some minutes',
    undefined,
    async ({ rich }) => {
      for (let i = 0; i < 10; i++) await rich.call('/v1/pairing/new', { name: 'a program' })
      return rich.call('/v1/pairing/new', { name: 'a program' })
    },
  ],
  [
    74,
    'This transaction is not delivered',
    undefined,
    async ({ rich, bob }) => {
      const params = { address: bob, amount: 65_000, duration: 1 }
      await rich.call(NEW, { service: 'energy', params, external_id: 'late' })
      return rich.call('/v1/receipt', { external_id: 'late' })
    },
  ],
  [
    74,
    'That key is revoked',
    undefined,
    async ({ rich }) => {
      const made = await rich.get<{ key: { id: string } }>('/v1/key/new', {
        name: 'short',
        scopes: ['read'],
      })
      await rich.call('/v1/key/revoke', { id: made.key.id })
      return rich.call('/v1/key/change', { id: made.key.id, name: 'other' })
    },
  ],
  [
    76,
    /^The oldest event that is kept has the number \d+$/,
    undefined,
    withoutEvents(({ rich }) => rich.call('/v1/events/list', { after: 0 })),
  ],
  [
    76,
    'No longer available',
    undefined,
    withoutEvents(({ rich }) => rich.call('/v1/event/check', { number: 1 })),
  ],
  [500, 'Internal server error', undefined, broken('/v1/balance')],
  [500, 'Internal server error', undefined, broken('/v1/transactions/list')],
  [
    70,
    'There is no such key: no key of yours has the id "x"',
    'id',
    call('/v1/key/revoke', { id: 'x' }),
  ],
  [
    70,
    'There is no such webhook: no webhook of yours has the id "x"',
    'id',
    call('/v1/webhook/remove', { id: 'x' }),
  ],
  [
    70,
    'There is no such event: no event of yours has the number 12345',
    'number',
    call('/v1/event/check', { number: 12_345 }),
  ],
  [73, 'A key does not change itself: name another key', 'id', ({ rich }) => changeSelf(rich)],
  [
    73,
    'That key would be wider than the one that asks: by scopes',
    'scopes',
    async ({ world }) =>
      (await world.customer({ scopes: ['manage'] })).call('/v1/key/new', {
        name: 'wide',
        scopes: ['buy'],
      }),
  ],
  [
    75,
    'Only https is called: url must be an https URL, not the text "http://a.example/"',
    'url',
    call('/v1/webhook/new', { url: 'http://a.example/' }),
  ],
  [
    75,
    'That address is not public: url must be the URL of a host that is reached from everywhere, ' +
      'not the text "https://10.0.0.1/"',
    'url',
    call('/v1/webhook/new', { url: 'https://10.0.0.1/' }),
  ],
]

const quoteBody = ({ bob }: Scene) => ({
  seconds: 5,
  service: 'energy',
  params: { address: bob, amount: 65_000, duration: 1 },
})

async function quoted(scene: Scene): Promise<string> {
  const { id } = await scene.rich.get<{ id: string }>('/v1/quote/new', quoteBody(scene))
  return id
}

/** A subscription of an address of its own. */
async function subscribed({ world, rich }: Scene, params: object): Promise<string> {
  const address = world.person(`receiver-${Object.values(params).join('-')}`, 1).address
  const { id } = await rich.get<{ id: string }>('/v1/subscription/start', {
    subscription_id: 'unlimited_energy',
    params: { address, ...params },
  })
  return id
}

/** While the oldest events are away, as they are when they are too old. */
function withoutEvents(ask: (scene: Scene) => Promise<Reply>): Row[3] {
  return async (scene) => {
    await scene.world.drain()
    await scene.world.sql`delete from event where customer_id = ${scene.rich.id}`
    return ask(scene)
  }
}

/** While the tables are away. */
function broken(path: string): Row[3] {
  return async ({ world, rich }) => {
    const { sql } = world
    await rich.call('/v1/balance')
    await sql`alter schema public rename to away`
    const reply = await rich.call(path)
    await sql`alter schema away rename to public`
    return reply
  }
}

/** While the account of the poor customer is away, which no way of the service does. */
function withoutWallet(ask: Row[3]): Row[3] {
  return async (scene) => {
    const id = `customer:${scene.poor.id}`
    const { sql } = scene.world
    const [row] = await sql<{ posted_sun: bigint }>`
      delete from account where id = ${id} returning posted_sun`
    const reply = await ask(scene)
    await withoutTriggers(
      sql,
      (tx) => tx`
      insert into account (id, may_go_negative, posted_sun)
        values (${id}, false, ${row!.posted_sun})`,
    )
    return reply
  }
}

async function changeSelf(rich: Customer): Promise<Reply> {
  const { key } = await rich.get<{ key: { id: string } }>('/v1/whoami')
  return rich.call('/v1/key/change', { id: key.id, name: 'other' })
}

async function sceneOf(t: Parameters<typeof makeWorld>[0]): Promise<Scene> {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1).address
  const rich = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  await rich.buyEnergy(bob, 65_000)
  await rich.buy({
    service: 'energy',
    params: { address: bob, amount: 65_000, duration: 1 },
    ...TAKEN,
  })
  const poor = await world.customer({ trx: 1 })
  await world.settle()
  return { world, rich, poor, bob, nina: world.person('nina').address }
}

test('every code says what is wrong with what was sent, and where it is explained', async (t) => {
  const scene = await sceneOf(t)
  const page = (await scene.world.api.inject({ method: 'GET', url: '/docs/refusals' })).body
  // Last what is sold out for all.
  const rows = [...ROWS, ...MORE].sort(
    ([one], [other]) => Number(one === 35) - Number(other === 35),
  )
  for (const [code, sentence, param, ask] of rows) {
    const reply = await ask(scene)
    const { error = '' } = reply
    if (typeof sentence === 'string') assert.equal(error, sentence)
    else assert.match(error, sentence)
    const told = [reply.code, reply.param, reply.doc_url]
    assert.deepEqual(told, [code, param, `/docs/refusals#code-${code}`], error)
    assert.ok(page.includes(`id="code-${code}"`), `${code}`)
  }
  const shown = new Map<number, number>()
  for (const [code] of rows) shown.set(code, (shown.get(code) ?? 0) + 1)
  for (const { code } of CODES) assert.ok(shown.get(code)! >= 2, `${code} is asked for twice`)
})

test('what is off sale is named, and nothing is advised that would be refused', async (t) => {
  const { world, rich, nina } = await sceneOf(t)
  await world.sql`update service set on_sale = false where name = 'activate_address'`
  world.mine()
  await world.drain()
  const params = { address: nina, amount: 65_000, duration: 1 }
  const off = 'Service unavailable: the activation of the address is off sale'
  const energy = { service: 'energy', params: { ...params, activate_address: true } }
  for (const path of [NEW, '/v1/quote/new']) {
    assert.equal((await rich.call(path, energy)).error, off)
    const { code, error } = await rich.call(path, { service: 'energy', params })
    assert.equal(code, 24)
    assert.match(error!, /activations are off sale/)
    assert.doesNotMatch(error!, /activate_address/)
  }
  assert.equal((await rich.call('/v1/calculate', params)).error, off)
})

test('no secret and little text of the caller is repeated, and nothing that steers', async (t) => {
  const { rich, bob } = await sceneOf(t)
  const secrets = [
    rich.token,
    rich.secret,
    // As they are copied without the prefix, or in part.
    rich.token.slice(4),
    rich.secret.slice(4),
    rich.secret.slice(10, 26),
    'ab'.repeat(32),
    'AB'.repeat(40),
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
  ]
  const body = (address: unknown) => ({ service: 'energy', params: { address, amount: 1 } })
  for (const secret of secrets) {
    const { error = '', code } = await rich.call(NEW, body(secret))
    assert.equal(code, 10)
    assert.ok(!error.includes(secret.slice(0, 12)), error)
    assert.match(error, /not the text that was sent \(\d+ characters\)$/)
    const sought = (await rich.call('/v1/transaction/check', { id: secret })).error!
    assert.match(sought, /^Transaction not found: .* has the id that was sent \(\d+ characters\)$/)
  }
  const long = (await rich.call(NEW, body('x'.repeat(20_000)))).error!
  assert.ok(long.length < 250, long)
  const odd = (await rich.call(NEW, body('a\u202eb\u0007\u2028c"<'))).error!
  assert.match(odd, /not the text "a\\u\{202e\}b\\u0007\\u\{2028\}c\\"<"$/)
  const hidden = { service: 'energy', params: { 'addres\u202es': bob, ['x'.repeat(9_000)]: 1 } }
  const named = (await rich.call(NEW, hidden)).error!
  assert.match(named, /^Invalid network address: params\.address is missing: it must be /)
  const offered = (await rich.call('/v1/pairing/take', { poll_secret: 'p'.repeat(101) })).error!
  assert.match(offered, /not the text that was sent \(101 characters\)$/)
})
