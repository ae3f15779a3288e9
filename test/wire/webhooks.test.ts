// Webhooks over the wire: what each endpoint answers, everything that it refuses, and that a
// webhook of somebody else is as one that does not exist.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { TESTS_AN_HOUR } from 'penstock-service/events/webhooks/trial.ts'
import { firstIdAt } from 'penstock-service/lib/ids.ts'
import { signature } from 'penstock-service/platform/wire/signature.ts'
import { Webhook as Verifier } from 'standardwebhooks'
import { type Customer, makeWorld, post, type Reply, type World } from '../harness/world.ts'

const ABSENT = '01m7xps0ca8ksnnfg71x89vdp6'
const URL = 'https://shop.example/penstock'

type Webhook = {
  id: string
  url: string
  types: string[] | null
  state: string
  reason: string | null
  due: number
  waiting: number
  cursor: number
  secrets: { made_at: string; until: string | null }[]
}
type NewWebhook = { webhook: Webhook; secret: string }
type Notice = { number: number; webhook_id: string; state: string; calls: number }
type Page<Item> = { items: Item[]; next: string | null }

const hooked = (world: World) => world.customer({ trx: 1_000, scopes: ['read', 'buy', 'webhooks'] })

function resultOf<Result>(reply: Reply): Result {
  assert.equal(reply.code, 0, `${reply.key} ${reply.error}`)
  return reply.result as Result
}

const make = async (customer: Customer, more: object = {}) =>
  resultOf<NewWebhook>(await customer.call('/v1/webhook/new', { url: URL, ...more }))

const check = async (customer: Customer, id: string) =>
  resultOf<Webhook>(await customer.call('/v1/webhook/check', { id }))

/** As many tests as may be in an hour. */
async function tryOften(world: World, customer: Customer): Promise<void> {
  await world.sql`
    insert into event_note (customer_id, type, subject, at, test, data)
    select ${customer.id}, 'webhook.test', 'test:' || ${firstIdAt(world.now)}, ${world.now}, true,
      '{}'
    from generate_series(1, ${TESTS_AN_HOUR})`
  await world.drain()
}

/** Orders that were sold, so that there are events. */
async function buy(world: World, customer: Customer, count = 1): Promise<void> {
  for (let i = 0; i < count; i++)
    await customer.buyEnergy(world.person(`receiver-${i}`, 1).address, 65_000)
  await world.drain()
}

test('a test takes up no webhook that is not told of it', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const bert = await hooked(world)
  const [told, other, late] = await Promise.all([make(anna), make(anna), make(anna)])
  const of_bert = await make(bert)
  await world.drain()
  const cursor = async (customer: Customer, { webhook }: NewWebhook) =>
    (await check(customer, webhook.id)).cursor
  const [before, of_bert_before] = [await cursor(anna, other), await cursor(bert, of_bert)]
  // One has not read all that happened: the test must not carry it past that.
  await world.sql`
    update webhook set position = ${before - 1}, leased_until = ${world.now}::timestamptz + '1 hour'
    where id = ${late.webhook.id}`
  const { id: webhook_id } = told.webhook
  await anna.call('/v1/event/trigger', { type: 'webhook.test', webhook_id })
  assert.deepEqual(
    [await cursor(anna, told), await cursor(anna, other), await cursor(anna, late)],
    [before + 1, before + 1, before - 1],
  )
  assert.equal(await cursor(bert, of_bert), of_bert_before)
  const behind = await world.sql`select webhook_id from webhook_to_tell order by webhook_id`
  assert.deepEqual(
    behind.map(({ webhook_id }) => webhook_id),
    [told.webhook.id, late.webhook.id].sort(),
  )
})

test('a webhook is made, called with what happens, changed and removed', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const { webhook, secret } = await make(anna, { types: ['order.created'], per_second: 100 })
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const { id, cursor } = webhook
  assert.deepEqual(webhook, {
    id,
    url: URL,
    description: null,
    types: ['order.created'],
    state: 'on',
    reason: null,
    at_once: 8,
    per_second: 100,
    cursor,
    waiting: 0,
    due: 0,
    dead: 0,
    failing_since: null,
    created_at: webhook.secrets[0]!.made_at,
    secrets: [{ made_at: webhook.secrets[0]!.made_at, until: null }],
  })
  await buy(world, anna)
  const [{ body, headers, url }] = world.called as [(typeof world.called)[0]]
  assert.equal(String(url), URL)
  const real = Date.now
  // The library reads the time of the machine; the world has a clock of its own.
  Date.now = () => world.now.getTime()
  try {
    new Verifier(secret).verify(body, { ...headers })
  } finally {
    Date.now = real
  }
  const event = JSON.parse(body) as { id: string; type: string; number: number; data: object }
  assert.deepEqual([event.type, event.id], ['order.created', headers['webhook-id']])
  assert.deepEqual(resultOf(await anna.call('/v1/event/check', { number: event.number })), event)
  const changed = resultOf<Webhook>(
    await anna.call('/v1/webhook/change', { id, types: [], per_second: 0, at_once: 2 }),
  )
  assert.deepEqual(
    { ...changed, cursor, waiting: 0 },
    {
      ...webhook,
      types: null,
      per_second: null,
      at_once: 2,
    },
  )
  assert.deepEqual(resultOf<Page<Webhook>>(await anna.call('/v1/webhooks/list')), {
    items: [changed],
    next: null,
  })
  assert.deepEqual(resultOf(await anna.call('/v1/webhook/remove', { id })), { removed: true })
  assert.equal((await anna.call('/v1/webhook/check', { id })).key, 'not_found.webhook')
  const calls = world.called.length
  await buy(world, anna)
  assert.equal(world.called.length, calls)
})

test('a rotation: two secrets until the first ends, or the new one at once', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const { webhook, secret } = await make(anna)
  const rotate = async (overlap_hours?: number) =>
    resultOf<NewWebhook>(await anna.call('/v1/webhook/rotate', { id: webhook.id, overlap_hours }))
  const second = await rotate()
  assert.notEqual(second.secret, secret)
  const untils = (one: Webhook) => one.secrets.map(({ until }) => until !== null)
  assert.deepEqual(untils(second.webhook), [false, true])
  const refused = await anna.call('/v1/webhook/rotate', { id: webhook.id })
  assert.deepEqual([refused.code, refused.key], [74, 'conflict.two_secrets'])
  const third = await rotate(0)
  assert.deepEqual(untils(third.webhook), [false])
  await buy(world, anna)
  assert.equal(world.called.at(-1)!.headers['webhook-signature']!.split(' ').length, 1)
  await rotate(168)
  await buy(world, anna)
  assert.equal(world.called.at(-1)!.headers['webhook-signature']!.split(' ').length, 2)
})

test('a sample of any type goes to the webhook that is tried, and to nobody else', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const tried = (await make(anna)).webhook
  const other = (await make(anna, { url: 'https://other.example/' })).webhook
  world.hook = () => ({ status: 503, body: 'busy' })
  type TestReply = {
    event: { number: number; test: boolean }
    call: { status: number; body: string }
  }
  const { event, call } = resultOf<TestReply>(
    await anna.call('/v1/webhook/test', { id: tried.id, type: 'order.failed' }),
  )
  assert.deepEqual([event.test, call.status, call.body], [true, 503, 'busy'])
  await world.drain()
  assert.deepEqual(
    world.called.map(({ url }) => url.host),
    ['shop.example'],
  )
  const { notice, calls } = resultOf<{ notice: Notice; calls: { status: number }[] }>(
    await anna.call('/v1/notice/check', { webhook_id: tried.id, number: event.number }),
  )
  assert.deepEqual([notice.state, calls.length, calls[0]!.status], ['dead', 1, 503])
  world.hook = () => ({})
  await anna.call('/v1/notice/retry', { webhook_id: tried.id, number: event.number })
  await world.drain()
  assert.equal(world.called.length, 2)
  const triggered = resultOf<{ number: number }>(
    await anna.call('/v1/event/trigger', { type: 'webhook.test', webhook_id: other.id }),
  )
  await world.drain()
  const { host } = world.called.at(-1)!.url
  assert.deepEqual(
    [triggered.number, host, world.called.length],
    [event.number + 1, 'other.example', 3],
  )
})

test('one that answered 410 is disabled, and enabled again goes on where it stopped', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const { webhook } = await make(anna, { types: ['order.created'] })
  const { id } = webhook
  world.hook = () => ({ status: 410 })
  await buy(world, anna)
  const off = await check(anna, id)
  assert.deepEqual([off.state, off.reason, off.due], ['disabled', 'it answered 410', 1])
  for (const [path, body] of [
    ['/v1/webhook/replay', { id, after: 0 }],
    ['/v1/notice/retry', { webhook_id: id, number: off.cursor }],
  ] as const) {
    const [notice] = resultOf<Page<Notice>>(await anna.call('/v1/notices/list')).items
    const refused = await anna.call(path, { ...body, number: notice!.number })
    assert.deepEqual([refused.code, refused.key], [74, 'conflict.not_on'], path)
  }
  world.hook = () => ({})
  const on = resultOf<Webhook>(await anna.call('/v1/webhook/change', { id, state: 'on' }))
  assert.deepEqual([on.state, on.reason, on.due], ['on', null, 1])
  await world.drain()
  assert.equal((await check(anna, id)).due, 0)
  const again = resultOf<{ notices: number }>(
    await anna.call('/v1/webhook/replay', { id, since: '2020-01-01', which: 'all' }),
  )
  assert.deepEqual(again, { notices: 1 })
  assert.equal((await check(anna, id)).due, 1, 'that is how far a replay is')
})

test('a test that is answered, and a replay, send what waits for its next try', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const { webhook } = await make(anna)
  const { id } = webhook
  for (const again of [
    () => anna.call('/v1/webhook/test', { id, type: 'webhook.test' }),
    () => anna.call('/v1/webhook/replay', { id, after: 0 }),
  ]) {
    world.hook = () => ({ status: 500 })
    await buy(world, anna)
    const { due } = await check(anna, id)
    assert.ok(due > 0)
    // Mended, with minutes to go until the next try.
    world.hook = () => ({})
    await world.drain()
    assert.equal((await check(anna, id)).due, due)
    assert.equal((await again()).code, 0)
    await world.drain()
    assert.equal((await check(anna, id)).due, 0)
  }
})

test('notices are paged without a gap or a double, by webhook, state and event', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const first = (await make(anna)).webhook
  await make(anna, { url: 'https://other.example/' })
  await buy(world, anna, 4)
  await world.settle()
  const list = async (body: object) =>
    resultOf<Page<Notice>>(await anna.call('/v1/notices/list', body))
  const all = (await list({ limit: 100 })).items
  const seen: Notice[] = []
  for (let before: string | null | undefined; before !== null; ) {
    const page: Page<Notice> = await list({ limit: 5, ...(before && { before }) })
    seen.push(...page.items)
    before = page.next
  }
  assert.ok(seen.length >= 16)
  assert.deepEqual(seen, all)
  const own = (await list({ webhook_id: first.id, limit: 100 })).items
  assert.deepEqual(
    own,
    all.filter(({ webhook_id }) => webhook_id === first.id),
  )
  const { number } = own[3]!
  assert.equal((await list({ event: number })).items.length, 2)
  assert.equal((await list({ state: 'dead' })).items.length, 0)
})

/** Everything that the endpoints of webhooks refuse, with what leads to it. `own`: a webhook of the
 *  customer; `number`: an event that it was told of. */
const REFUSED: Record<
  string,
  (has: { id: string; number: number }) => { good: object; wrong: [string, object][] }
> = {
  '/v1/webhooks/list': () => ({
    good: { state: 'on' },
    wrong: [...LISTS, ['invalid_service_or_params.state', { state: 'removed' }]],
  }),
  '/v1/webhook/check': ({ id }) => ({ good: { id }, wrong: ids({}) }),
  '/v1/webhook/new': () => ({
    good: { url: URL },
    wrong: [
      ['invalid_service_or_params.url', { url: 7 }],
      ...URLS,
      ...FIELDS,
      // Last: from here on there are as many as may be.
      ['limit_reached.webhook', { url: URL }],
    ],
  }),
  '/v1/webhook/change': ({ id }) => ({
    good: { id },
    wrong: [
      ...ids({}),
      ['invalid_service_or_params.url', { id, url: 'x'.repeat(513) }],
      ...[...URLS, ...FIELDS].map(([key, body]): [string, object] => [key, { id, ...body }]),
      ['invalid_service_or_params.state', { id, state: 'disabled' }],
      ['invalid_service_or_params.from_now', { id, from_now: 'yes' }],
    ],
  }),
  '/v1/webhook/remove': () => ({ good: { id: ABSENT }, wrong: ids({}) }),
  '/v1/webhook/rotate': ({ id }) => ({
    good: { id },
    wrong: [
      ...ids({}),
      ['invalid_service_or_params.overlap_hours', { id, overlap_hours: 169 }],
      ['invalid_service_or_params.overlap_hours', { id, overlap_hours: -1 }],
      ['conflict.two_secrets', { id }],
    ],
  }),
  '/v1/webhook/test': ({ id }) => ({
    good: { id, type: 'webhook.test' },
    wrong: [
      ...ids({ type: 'webhook.test' }),
      ...types({ id }),
      // Last: from here on there were as many as may be.
      ['limit_reached.test', { id, type: 'webhook.test' }],
    ],
  }),
  '/v1/event/trigger': ({ id }) => ({
    good: { type: 'webhook.test' },
    wrong: [
      ...types({ webhook_id: id }),
      ['invalid_service_or_params.webhook_id', { type: 'webhook.test', webhook_id: 7 }],
      ['not_found.webhook', { type: 'webhook.test', webhook_id: ABSENT }],
      ['limit_reached.test', { type: 'webhook.test' }],
    ],
  }),
  '/v1/webhook/replay': ({ id }) => ({
    good: { id, after: 0 },
    wrong: [
      ...ids({ after: 0 }),
      ['invalid_service_or_params.after', { id }],
      ['invalid_service_or_params.after', { id, after: -1 }],
      ['invalid_service_or_params.after', { id, after: 0, since: '2026-01-01' }],
      ['invalid_service_or_params.since', { id, since: 'yesterday' }],
      ['invalid_service_or_params.until', { id, after: 0, until: 'tomorrow' }],
      ['invalid_service_or_params.types', { id, after: 0, types: 'all' }],
      ['invalid_service_or_params.which', { id, after: 0, which: 'some' }],
    ],
  }),
  '/v1/notices/list': () => ({
    good: {},
    wrong: [
      ['invalid_service_or_params.webhook_id', { webhook_id: 7 }],
      ['invalid_service_or_params.state', { state: 'new' }],
      ['invalid_service_or_params.event', { event: 0 }],
      ...LISTS,
      ['invalid_service_or_params.before', { before: 'x.y' }],
    ],
  }),
  '/v1/notice/check': (has) => notices(has),
  '/v1/notice/retry': (has) => notices(has),
}

const LISTS: [string, object][] = [
  ['invalid_service_or_params.limit', { limit: 101 }],
  ['invalid_service_or_params.before', { before: 7 }],
]
const URLS: [string, object][] = [
  ['url_refused.scheme', { url: 'http://shop.example/' }],
  ['url_refused.port', { url: 'https://shop.example:22/' }],
  ['url_refused.address', { url: 'https://127.0.0.1/' }],
]
const FIELDS: [string, object][] = [
  ['invalid_service_or_params.description', { url: URL, description: 'x'.repeat(201) }],
  ['invalid_service_or_params.types', { url: URL, types: 'order.created' }],
  ['invalid_service_or_params.types', { url: URL, types: ['order.nothing'] }],
  ['invalid_service_or_params.types', { url: URL, types: ['order.created', 'x'.repeat(65)] }],
  ['invalid_service_or_params.at_once', { url: URL, at_once: 17 }],
  ['invalid_service_or_params.per_second', { url: URL, per_second: 1_001 }],
]
const ids = (more: object): [string, object][] => [
  ['invalid_service_or_params.id', { id: 7, ...more }],
  ['not_found.webhook', { id: ABSENT, ...more }],
]
const types = (more: object): [string, object][] => [
  ['invalid_service_or_params.type', { ...more, type: 7 }],
  ['invalid_service_or_params.type', { ...more, type: 'order.nothing' }],
]
const notices = ({ id: webhook_id, number }: { id: string; number: number }) => ({
  good: { webhook_id, number },
  wrong: [
    ['invalid_service_or_params.webhook_id', { webhook_id: 7, number }],
    ['invalid_service_or_params.number', { webhook_id, number: 0 }],
    ['not_found.webhook', { webhook_id: ABSENT, number }],
    ['not_found.notice', { webhook_id, number: number + 1_000 }],
  ] as [string, object][],
})

/** The same answer, no matter who asks and whenever. */
/** The sentence names the id that was asked for. */
const answerOf = ({ status, code, key, error, result }: Reply) => ({
  status,
  code,
  key,
  error: error?.replace(/"\w{26}"/, '"…"'),
  result,
})

test('each endpoint refuses what it documents, and whom it must', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const unnamed = await world.customer({ trx: 10 })
  const { webhook } = await make(anna)
  await buy(world, anna)
  const [told] = resultOf<Page<Notice>>(await anna.call('/v1/notices/list')).items
  const has = { id: webhook.id, number: told!.number }
  const documented = world.app.endpoints.filter(({ scopes }) => scopes.join() === 'webhooks')
  assert.deepEqual(documented.map(({ path }) => path).sort(), Object.keys(REFUSED).sort())
  for (const { path, faults, second_signature } of documented) {
    const { good, wrong } = REFUSED[path]!(has)
    const ask = (body: object) => anna.call(path, body)
    const lacking = await unnamed.call(path, good)
    assert.deepEqual([lacking.code, lacking.key], [1, 'auth.scope'], path)
    if (second_signature) {
      const bytes = Buffer.from(JSON.stringify(good))
      const unsigned = await post(world.api, path, bytes, {
        authorization: `Bearer ${anna.token}`,
        'x-signature': signature(bytes, anna.secret),
      })
      assert.deepEqual([unsigned.code, unsigned.key], [1, 'auth.second_signature'], path)
    }
    const seen = new Set<string | undefined>()
    for (const [key, body] of wrong) {
      // As many as may be, and two secrets that are alive.
      if (key === 'limit_reached.test') await tryOften(world, anna)
      if (key === 'limit_reached.webhook') for (let i = 0; i < 19; i++) await make(anna)
      if (key === 'conflict.two_secrets') await ask(body)
      const reply = await ask(body)
      assert.deepEqual([reply.key, reply.code > 0], [key, true], `${path} ${JSON.stringify(body)}`)
      seen.add(reply.key)
    }
    // These have a test of their own, or one for all endpoints.
    const elsewhere = [
      'conflict.not_on',
      'too_old',
      'internal_server_error',
      'invalid_service_or_params',
    ]
    const missing = faults
      .map(({ key }) => key)
      .filter((key) => !seen.has(key) && !elsewhere.includes(key) && !key.startsWith('auth'))
    assert.deepEqual(missing, [], `${path} documents what no case leads to`)
  }
})

test('a receiver that does not answer keeps four calls of its customer, and no more', async (t) => {
  const world = await makeWorld(t)
  const [anna, bert] = [await hooked(world), await hooked(world)]
  const tried = async (customer: Customer) => {
    const { webhook } = await make(customer)
    return () => customer.call('/v1/webhook/test', { id: webhook.id, type: 'webhook.test' })
  }
  const [annas, berts] = [await tried(anna), await tried(bert)]
  let answer = (_outcome: object) => {}
  const answered = new Promise<object>((resolve) => {
    answer = resolve
  })
  world.hook = () => answered
  const five = Array.from({ length: 5 }, annas)
  assert.equal((await Promise.race(five)).code, 429)
  world.hook = () => ({})
  assert.equal((await berts()).code, 0)
  answer({})
  const codes = (await Promise.all(five)).map(({ code }) => code)
  assert.deepEqual(codes.sort(), [0, 0, 0, 0, 429])
  assert.equal((await annas()).code, 0)
})

test('tests come twenty in a row, then at their pace, and leave others theirs', async (t) => {
  const world = await makeWorld(t)
  const [anna, bert] = [await hooked(world), await hooked(world)]
  const { id } = (await make(anna)).webhook
  const test = () => anna.call('/v1/webhook/test', { id, type: 'webhook.test' })
  const trigger = (customer = anna) => customer.call('/v1/event/trigger', { type: 'webhook.test' })
  for (let i = 0; i < 10; i++)
    for (const call of [test, trigger]) assert.equal((await call()).code, 0)
  for (const call of [test, trigger]) {
    const { code, headers } = await call()
    assert.deepEqual([code, headers['retry-after']], [429, '8'])
  }
  assert.equal((await trigger(bert)).code, 0)
  world.wait(8)
  assert.equal((await trigger()).code, 0)
  assert.equal((await test()).code, 429)
})

test('tests that wait for their numbers hold one connection, whoever makes them', async (t) => {
  const world = await makeWorld(t)
  const customers = await Promise.all(Array.from({ length: 5 }, () => hooked(world)))
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const holding = world.sql.begin(async (tx) => {
    await tx`select 1 from event_publisher for update`
    await held
  })
  const tests = customers.flatMap((customer) =>
    Array.from({ length: 4 }, () => customer.call('/v1/event/trigger', { type: 'webhook.test' })),
  )
  const waiting = async () => {
    const [row] = await world.sql<{ count: bigint }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    return row!.count
  }
  while ((await waiting()) === 0n) await delay(5)
  await delay(500)
  const count = await waiting()
  release()
  await holding
  assert.equal(count, 1n)
  assert.ok((await Promise.all(tests)).every(({ code }) => code === 0))
})

test('a webhook of somebody else is as one that does not exist', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const bert = await hooked(world)
  const { webhook } = await make(anna)
  await buy(world, anna)
  const [told] = resultOf<Page<Notice>>(await anna.call('/v1/notices/list')).items
  const { number } = told!
  const paths: [string, (id: string) => object][] = [
    ['/v1/webhook/check', (id) => ({ id })],
    ['/v1/webhook/change', (id) => ({ id, state: 'off' })],
    ['/v1/webhook/remove', (id) => ({ id })],
    ['/v1/webhook/rotate', (id) => ({ id })],
    ['/v1/webhook/test', (id) => ({ id, type: 'webhook.test' })],
    ['/v1/event/trigger', (webhook_id) => ({ webhook_id, type: 'webhook.test' })],
    ['/v1/webhook/replay', (id) => ({ id, after: 0 })],
    ['/v1/notices/list', (webhook_id) => ({ webhook_id })],
    ['/v1/notice/check', (webhook_id) => ({ webhook_id, number })],
    ['/v1/notice/retry', (webhook_id) => ({ webhook_id, number })],
  ]
  for (const [path, body] of paths) {
    const foreign = await bert.call(path, body(webhook.id))
    assert.deepEqual(answerOf(foreign), answerOf(await bert.call(path, body(ABSENT))), path)
  }
  const kept = await check(anna, webhook.id)
  assert.deepEqual([kept.state, kept.secrets.length], ['on', 1])
})

test('what is not kept any more cannot be told again', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  const { webhook } = await make(anna)
  await buy(world, anna, 3)
  await world.sql`delete from event where customer_id = ${anna.id} and number <= 3`
  const replay = (body: object) =>
    anna.call('/v1/webhook/replay', { id: webhook.id, which: 'all', ...body })
  const refused = await replay({ after: 1 })
  assert.deepEqual([refused.code, refused.key], [76, 'too_old'])
  assert.equal((await replay({ after: 3 })).code, 0)
})
