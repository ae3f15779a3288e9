// The error matrix, proven: for every endpoint each line of its table is produced by a request with
// that one mistake, and of two mistakes the line that stands first is answered. Every answer on the
// way is held against what the strictest client can decode. (All pairs of /v1/transaction/new are
// in refusals.test.ts.)

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayOf } from 'penstock-service/lib/clock.ts'
import type { Random } from 'penstock-service/lib/ids.ts'
import { issueKey, type NewKey } from 'penstock-service/people/keys/keys.ts'
import type { Endpoint, Refusal } from 'penstock-service/platform/wire/endpoint.ts'
import { signature } from 'penstock-service/platform/wire/signature.ts'
import { FAILED_MAX } from 'penstock-service/screening/checks/placing.ts'
import { publishPolicy, SHIPPED_POLICY } from 'penstock-service/screening/engine/policy.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { checkStrictly, FROZEN } from '../harness/strict.ts'
import { withoutTriggers } from '../harness/without_triggers.ts'
import { Customer, makeWorld, repeatable, type World } from '../harness/world.ts'

type Body = Record<string, unknown>
type Subscriber = { id: string; limited_id: string; limited_address: string }
type Draft = {
  path: string
  who: Customer
  body: Body | string
  headers: Record<string, string>
  /** A service that is off sale meanwhile. */
  off_sale: string | undefined
  /** The chain does not answer meanwhile. */
  down: boolean
}
type Mistake = (draft: Draft, cast: Cast) => void
type Cast = Record<
  | 'rich'
  | 'poor'
  | 'walletless'
  | 'capped'
  | 'bound'
  | 'reader'
  | 'screener'
  | 'suspended'
  | 'strict'
  | 'guesser'
  | 'full',
  Customer
> &
  Record<'bob' | 'nina' | 'contract' | 'barred', string> & {
    subscribers: Map<Customer, Subscriber>
    /** Each by another key of the same scopes, which requires the second signature. */
    by_strict_key: Map<Customer, Customer>
    order_id: string
    check_id: string
  }
type Proof = { good: (cast: Cast) => Body; mistakes: readonly Mistake[]; pairs?: false }

/** Sets fields by their paths: `params.address`. */
const set =
  (fields: Body | ((cast: Cast, who: Customer) => Body)): Mistake =>
  (draft, cast) => {
    if (typeof draft.body === 'string') return
    for (const [path, value] of Object.entries(
      typeof fields === 'function' ? fields(cast, draft.who) : fields,
    )) {
      const names = path.split('.')
      const last = names.pop()!
      const parent = names.reduce<Body>((object, name) => object[name] as Body, draft.body)
      parent[last] = value
    }
  }
const as =
  (who: 'poor' | 'walletless' | 'capped' | 'bound' | 'guesser' | 'full'): Mistake =>
  (draft, cast) => {
    draft.who = cast[who]
  }
const offSale =
  (service: string): Mistake =>
  (draft) => {
    draft.off_sale = service
  }
const down: Mistake = (draft) => {
  draft.down = true
}
const longKey: Mistake = (draft) => {
  draft.headers['idempotency-key'] = 'x'.repeat(129)
  if (typeof draft.body !== 'string') delete draft.body.external_id
}

const unnamed: Mistake = (draft, cast) => {
  draft.who = cast.strict
  delete draft.headers['idempotency-key']
  if (typeof draft.body !== 'string') delete draft.body.external_id
}

/** The mistakes that every endpoint answers in the same way, by the keys of their lines. */
const COMMON: Record<string, Mistake> = {
  auth: (draft) => {
    draft.headers['x-signature'] = '0'.repeat(64)
  },
  'auth.second_signature': (draft, cast) => {
    draft.who = cast.by_strict_key.get(draft.who)!
  },
  'auth.scope': (draft, cast) => {
    draft.who = draft.path.startsWith('/v1/aml') ? cast.reader : cast.screener
  },
  'auth.suspended': (draft, cast) => {
    draft.who = cast.suspended
  },
  invalid_service_or_params: (draft) => {
    draft.body = '[1]'
  },
}

const NAMED: readonly Mistake[] = [set({ id: 5 }), set({ external_id: 5 }), set({ id: 'nobody' })]

/** For each endpoint a good body, and a mistake for each line of its table beyond those in COMMON,
 *  in its order. */
const PROOFS: Record<string, Proof> = {
  '/v1/services': { good: () => ({}), mistakes: [] },
  '/v1/calculate': {
    good: ({ bob }) => ({ address: bob, amount: 65_000, duration: 1 }),
    mistakes: [
      set({ address: 'T123' }),
      set({ duration: 2 }),
      set({ amount: 1, type: 'energy' }),
      set({ amount: 1, type: 'bandwidth' }),
      offSale('energy'),
      set(({ contract }) => ({ address: contract })),
    ],
  },
  '/v1/estimate-energy': {
    good: ({ bob }) => ({ from_address: bob, to_address: bob }),
    mistakes: [
      set({ from_address: 'T123' }),
      set({ to_address: 'T123' }),
      set({ contract_address: 'T123' }),
      down,
      set(({ nina }) => ({ contract_address: nina })),
    ],
  },
  '/v1/address-info': {
    good: ({ bob }) => ({ address: bob }),
    mistakes: [set({ address: 'T123' }), down],
  },
  '/v1/transaction/new': {
    pairs: false,
    good: ({ bob }) => ({
      service: 'resource_bundle',
      params: { address: bob, amounts: { energy: 65_000, bandwidth: 345 }, duration: 1 },
    }),
    mistakes: [
      set({ external_id: 5 }),
      set({ 'params.address': 'T123' }),
      set({ 'params.duration': 24 }),
      set({ 'params.amounts': null }),
      set({ 'params.amounts.energy': 1 }),
      set({ 'params.amounts.bandwidth': 1 }),
      longKey,
      unnamed,
      as('bound'),
      set({ external_id: 'taken' }),
      offSale('resource_bundle'),
      as('full'),
      as('walletless'),
      set(({ contract }) => ({ 'params.address': contract })),
      set(({ barred }) => ({ 'params.address': barred })),
      set({ service: 'activate_address', 'params.amounts': null }),
      set(({ nina }) => ({ 'params.address': nina })),
      as('poor'),
      as('capped'),
    ],
  },
  '/v1/transaction/check': { good: ({ order_id }) => ({ id: order_id }), mistakes: NAMED },
  '/v1/subscriptions': { good: () => ({}), mistakes: [] },
  '/v1/subscription/start': {
    good: ({ bob }) => ({
      subscription_id: 'unlimited_energy',
      params: { address: bob, duration: 0, transactions_limit: 0 },
    }),
    mistakes: [
      set({ external_id: 5 }),
      set({ 'params.address': 'T123' }),
      set({ 'params.duration': -1 }),
      set({ 'params.transactions_limit': -1 }),
      longKey,
      unnamed,
      set({ external_id: 'taken' }),
      as('bound'),
      set({ subscription_id: 'gone' }),
      set({ subscription_id: 'energy_pack_100', 'params.duration': 31 }),
      set({ subscription_id: 'energy_pack_100', 'params.transactions_limit': 101 }),
      offSale('subscription'),
      as('walletless'),
      set(({ contract }) => ({ 'params.address': contract })),
      set(({ barred }) => ({ 'params.address': barred })),
      set(({ subscribers }, who) => ({ 'params.address': subscribers.get(who)!.limited_address })),
      set(({ subscribers }, who) => ({
        'params.address': [...subscribers].find(([customer]) => customer !== who)![1]
          .limited_address,
      })),
      set(({ nina }) => ({ 'params.address': nina })),
      as('full'),
      as('poor'),
      as('capped'),
    ],
  },
  '/v1/subscription/check': {
    good: ({ subscribers, rich }) => ({ id: subscribers.get(rich)!.id }),
    mistakes: NAMED,
  },
  '/v1/subscription/stop': {
    good: ({ subscribers, rich }) => ({ id: subscribers.get(rich)!.id }),
    mistakes: [
      ...NAMED,
      set(({ subscribers, rich }) => ({ id: subscribers.get(rich)!.limited_id })),
    ],
  },
  '/v1/subscriptions/history': {
    good: () => ({}),
    mistakes: [set({ page: 0 }), set({ per_page: 51 }), set({ status: 'success' })],
  },
  '/v1/balance': { good: () => ({}), mistakes: [as('walletless')] },
  '/v1/direct-recharge-info': { good: () => ({}), mistakes: [offSale('direct_recharge')] },
  '/v1/aml-checks': { good: () => ({}), mistakes: [] },
  '/v1/aml-checks/new': {
    good: ({ bob }) => ({
      type: 'hash',
      network: 'TRX',
      address: bob,
      hash: 'ab'.repeat(32),
      direction: 'deposit',
    }),
    mistakes: [
      set({ network: 'BTC' }),
      set({ address: 'T123' }),
      set({ hash: 'ab' }),
      set({ direction: 'sideways' }),
      longKey,
      unnamed,
      (draft) => {
        draft.headers['idempotency-key'] = 'taken'
      },
      offSale('hash'),
      as('guesser'),
      as('walletless'),
      as('poor'),
      as('capped'),
    ],
  },
  '/v1/aml-checks/check': {
    good: ({ check_id }) => ({ id: check_id }),
    mistakes: [set({ id: 5 }), set({ id: 'nobody' })],
  },
  '/v1/aml-checks/history': {
    good: () => ({}),
    mistakes: [set({ page: 0 }), set({ per_page: 51 }), set({ status: 'success' })],
  },
}

/** Customers who have all used the external_id `taken`, for a purchase and for a subscription. */
async function makeCast(world: World): Promise<Cast> {
  const place = (name: string) => world.person(name, 1).address
  const contract = place('contract')
  world.network.answers = (path, body) =>
    path === '/wallet/getaccount' && body.includes(contract)
      ? body.replace('{', '{"type":"Contract",')
      : body
  const barred = place('barred')
  await world.sql.begin(async (tx) => {
    const body = { ...SHIPPED_POLICY, refuse_blacklisted_receivers: true }
    await publishPolicy(tx, { body, published_by: 'test', published_at: world.now })
    await tx`
      insert into flow_freeze (token, address, frozen, number) values (${USDT}, ${barred}, true, 1)`
  })
  world.wait(10)
  const subscribers = new Map<Customer, Subscriber>()
  const customer = async (name: string, trx: number, daily_cap_sun?: bigint) => {
    const who = await world.customer({ trx, ...(daily_cap_sun !== undefined && { daily_cap_sun }) })
    const [address, limited_address] = [place(`${name}-subscribed`), place(`${name}-limited`)]
    const start = (address: string, transactions_limit: number, external_id: string) =>
      who.get<{ id: string }>('/v1/subscription/start', {
        subscription_id: 'unlimited_energy',
        external_id,
        params: { address, duration: 0, transactions_limit },
      })
    const { id } = await start(address, 0, 'taken')
    const { id: limited_id } = await start(limited_address, 10, 'limited')
    await who.buy({
      service: 'bandwidth',
      params: { address, amount: 345, duration: 1 },
      external_id: 'taken',
    })
    const check = { type: 'address', network: 'TRX', address }
    assert.equal(
      (await who.call('/v1/aml-checks/new', check, { 'idempotency-key': 'taken' })).code,
      0,
    )
    subscribers.set(who, { id, limited_id, limited_address })
    return who
  }
  const people = {
    rich: await customer('rich', 1_000),
    poor: await customer('poor', 13.35),
    walletless: await customer('walletless', 1_000),
    // What they have spent by now is 13.35.
    capped: await customer('capped', 1_000, 14_000_000n),
    bound: await customer('bound', 1_000),
    guesser: await customer('guesser', 1_000),
    full: await customer('full', 1_000),
  }
  const order = await people.rich.buyEnergy(place('other'), 65_000)
  const wanted = { type: 'hash', network: 'TRX', address: place('other'), hash: 'cd'.repeat(32) }
  const check = await people.rich.get<{ id: string }>('/v1/aml-checks/new', wanted)
  await world.settle()
  world.mine()
  await world.drain()
  const { rich } = people
  const [reader, screener] = [
    await world.customer({ scopes: ['read'] }),
    await world.customer({ scopes: ['aml'] }),
  ]
  const [suspended, strict] = [
    await world.customer(),
    await world.customer({ require_external_id: true }),
  ]
  await world.sql`
    insert into aml_count (customer_id, day, state, n)
    values (${people.guesser.id}, ${dayOf(world.now)}, 'failed', ${FAILED_MAX})`
  await world.sql`
    update customer set subscriptions_limit = 0, open_orders_limit = 0 where id = ${people.full.id}`
  await world.sql`update customer set state = 'suspended' where id = ${suspended.id}`
  await world.sql`
    update api_key set receivers = ${[place('other')]} where customer_id = ${people.bound.id}`
  const towns = {
    bob: place('bob'),
    nina: world.person('nina').address,
    contract,
    barred,
    order_id: order.id,
  }
  assert.equal(
    (await rich.get<{ status: string }>('/v1/subscription/check', { external_id: 'taken' })).status,
    'active',
  )
  const actors = { ...people, reader, screener, suspended, strict }
  const by_strict_key = new Map<Customer, Customer>()
  const random = repeatable('strict keys')
  for (const who of Object.values(actors))
    by_strict_key.set(who, await strictKeyOf(world, random, who))
  return { ...actors, ...towns, subscribers, by_strict_key, check_id: check.id }
}

/** The customer by another key, which is as the first but that it requires the second signature. */
async function strictKeyOf(
  world: World,
  random: Random,
  { id, deposit_address }: Customer,
): Promise<Customer> {
  const needs = { ...world.app, clock: { now: () => world.now }, random }
  const [first] = await world.sql<NewKey>`
    select customer_id, name, scopes, receivers, daily_cap_sun, require_external_id,
      id as spends_from
    from api_key where customer_id = ${id}`
  const key = await world.sql.begin((tx) => issueKey(tx, needs, { ...first!, require_v2: true }))
  return new Customer(world, { id, deposit_address, token: key.token, secret: key.secret })
}

/** The mistakes of an endpoint beside the lines of its table that they lead to. A failure of ours
 *  is no mistake. */
function linesOf({ path, faults }: Endpoint): { line: Refusal; mistake: Mistake }[] {
  const proof = PROOFS[path]
  assert.ok(proof, `${path} has no proofs`)
  const lines = faults.filter(({ code }) => code !== 500)
  const common = lines.length - proof.mistakes.length
  const mistakes = [...lines.slice(0, common).map(({ key }) => COMMON[key]), ...proof.mistakes]
  return lines.map((line, i) => {
    const mistake = mistakes[i]
    assert.ok(mistake, `${path}: nothing leads to ${line.key}`)
    return { line, mistake }
  })
}

type Request = { draft: Draft; expected: Refusal | undefined; name: string }

/** A good request with the given mistakes; the later ones are made first, so that an earlier one
 *  stands. */
function request(
  cast: Cast,
  endpoint: Endpoint,
  made: readonly { line: Refusal; mistake: Mistake }[],
): Request {
  const body = structuredClone(PROOFS[endpoint.path]!.good(cast))
  const draft: Draft = {
    path: endpoint.path,
    who: cast.rich,
    body,
    headers: {},
    off_sale: undefined,
    down: false,
  }
  for (const { mistake } of made.toReversed()) mistake(draft, cast)
  const faults = made.map(({ line }) => `${line.key} (${line.when})`)
  return { draft, expected: made[0]?.line, name: `${endpoint.path} ${faults.join(' and ')}` }
}

function requestsOf(cast: Cast, endpoint: Endpoint): Request[] {
  const lines = linesOf(endpoint)
  const pairs =
    PROOFS[endpoint.path]!.pairs === false
      ? []
      : lines.flatMap((one, i) => lines.slice(i + 1).map((two) => [one, two]))
  return [...lines.map((one) => [one]), ...pairs].map((made) => request(cast, endpoint, made))
}

/** Sends it and holds the answer against the strictest client. */
async function send(
  api: World['api'],
  { draft }: Request,
): Promise<{ code: number; key?: string }> {
  const { path, who, body, headers } = draft
  const payload = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const signed = {
    authorization: `Bearer ${who.token}`,
    'x-signature': signature(payload, who.secret),
    ...headers,
  }
  const answer = await api.inject({ method: 'POST', url: path, headers: signed, payload })
  assert.equal(answer.statusCode, 200, path)
  checkStrictly(path, answer.body)
  return JSON.parse(answer.body) as { code: number; key?: string }
}

/** Lets a service be off sale, or the chain be away, for the time of the work. */
async function during(
  world: World,
  { off_sale, down }: Draft,
  work: () => Promise<void>,
): Promise<void> {
  const sell = async (on_sale: boolean) => {
    if (off_sale === undefined) return
    await world.sql`update service set on_sale = ${on_sale} where name = ${off_sale}`
    await world.sql`update aml_service set on_sale = ${on_sale} where type = ${off_sale}`
    world.mine()
    await world.drain()
  }
  await sell(false)
  world.network.down = down
  try {
    await work()
  } finally {
    world.network.down = false
    await sell(true)
  }
}

const frozenOf = ({ app }: World) => app.endpoints.filter(({ path }) => FROZEN.includes(path))

test('every line of every error matrix has a request, and the first line answers', async (t) => {
  const world = await makeWorld(t)
  const cast = await makeCast(world)
  const account = `customer:${cast.walletless.id}`
  // No way of the service does that.
  const [kept] = await world.sql<{
    posted_sun: bigint
  }>`delete from account where id = ${account} returning posted_sun`
  const requests = frozenOf(world).flatMap((endpoint) => requestsOf(cast, endpoint))
  const situations = Map.groupBy(requests, ({ draft }) => `${draft.off_sale} ${draft.down}`)
  for (const alike of situations.values()) {
    await during(world, alike[0]!.draft, async () => {
      for (const one of alike) {
        const { code, key } = await send(world.api, one)
        assert.deepEqual([code, key], [one.expected!.code, one.expected!.key], one.name)
      }
    })
  }
  for (const endpoint of frozenOf(world)) {
    const { code } = await send(world.api, request(cast, endpoint, []))
    assert.equal(code, 0, `${endpoint.path} without a mistake`)
  }
  await withoutTriggers(
    world.sql,
    (tx) => tx`
    insert into account (id, may_go_negative, posted_sun)
      values (${account}, false, ${kept!.posted_sun})`,
  )
  t.diagnostic(`${requests.length} requests`)
})

test('a failure of ours is code 500 with every endpoint, and says nothing else', async (t) => {
  const world = await makeWorld(t)
  const cast = await makeCast(world)
  const { api } = await world.startProcess()
  await world.sql`alter schema public rename to away`
  for (const endpoint of frozenOf(world)) {
    const { request_id, ...answer } = (await send(api, request(cast, endpoint, []))) as {
      request_id?: string
    }
    const expected = {
      code: 500,
      key: 'internal_server_error',
      error: 'Internal server error',
      doc_url: '/docs/refusals#code-500',
    }
    assert.deepEqual(answer, expected, endpoint.path)
  }
  await world.sql`alter schema away rename to public`
})

test('the strictest client fails on what it cannot decode', () => {
  const wrap = (result: string) =>
    `{"code":0,"request_id":"5b0f2f5e-6b1b-4d5e-9c0a-0c8a2f7d9b11","result":${result}}`
  const good = '{"balance":125.38,"address":"T"}'
  checkStrictly('/v1/balance', wrap(good))
  const bad: [path: string, text: string][] = [
    ['/v1/balance', wrap(good).replace('"code":0', '"code":0.0')],
    ['/v1/balance', wrap(good).replace('"code":0', '"code":"0"')],
    ['/v1/balance', wrap('null')],
    ['/v1/balance', wrap('[]')],
    ['/v1/balance', good],
    ['/v1/balance', wrap('{"balance":1.2345678,"address":"T"}')],
    ['/v1/balance', wrap('{"balance":1e3,"address":"T"}')],
    ['/v1/balance', wrap('{"balance":"1","address":"T"}')],
    ['/v1/balance', wrap('{"balance":1,"address":null}')],
    ['/v1/balance', wrap('{"balance":1,"address":"T","more":1}')],
    ['/v1/calculate', wrap('{"amount":65000.0}')],
    ['/v1/calculate', wrap('{"amount":6.5e4}')],
    ['/v1/calculate', wrap('{"amount":"65000"}')],
    ['/v1/subscription/check', wrap('{"id":8}')],
    ['/v1/subscription/check', wrap('{"params":[]}')],
    ['/v1/subscription/check', wrap('{"created_at":"2026-10-08 15:26:32"}')],
    ['/v1/subscriptions/history', wrap('{"items":{}}')],
    ['/v1/aml-checks', wrap('{}')],
    ['/v1/aml-checks/check', wrap('{"risk_factors":{}}')],
    ['/v1/aml-checks/check', wrap('{"risk_factors":[{"score":1.2}]}')],
    ['/v1/aml-checks/check', wrap('{"risk_score":25.0}')],
    [
      '/v1/balance',
      '{"code":1,"key":"","request_id":"5b0f2f5e-6b1b-4d5e-9c0a-0c8a2f7d9b11","error":"x"}',
    ],
    ['/v1/balance', '{"code":1,"key":"auth","error":"x"}'],
  ]
  for (const [path, text] of bad)
    assert.throws(() => checkStrictly(path, text), assert.AssertionError, text)
})
