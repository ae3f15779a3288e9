// The client: how it is made, what its resources send, what is read page by page, and what is
// waited for.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { inspect } from 'node:util'
import {
  CheckFailed,
  fromSun,
  NotSupported,
  OrderFailed,
  Penstock,
  type PenstockOptions,
  TimeoutError,
  toSun,
} from './penstock.ts'

const ACCESS = { url: 'https://api.example', token: 'pst_token', secret: 'pss_secret' }

type Call = { path: string; body: Record<string, unknown> }

/** A client whose calls are answered by a function. */
function answered(answer: (call: Call, number: number) => object | Promise<object>) {
  const calls: Call[] = []
  const fetch = async (url: unknown, how: RequestInit = {}) => {
    const path = String(url).slice(ACCESS.url.length)
    calls.push({ path, body: JSON.parse(String(how.body ?? '{}')) })
    const result = await answer(calls.at(-1)!, calls.length)
    const envelope = 'code' in result ? result : { code: 0, request_id: 'r', result }
    return new Response(JSON.stringify(envelope))
  }
  const options = { ...ACCESS, fetch: fetch as typeof globalThis.fetch }
  return { penstock: new Penstock(options), calls }
}

/** A path as the reference has it. */
const publicPath = (path: string) =>
  path
    .replace(/^\/deposits\/from\/.*/, '/deposits/from/{address}')
    .replace(/^\/deposits\/[0-9a-f]+$/, '/deposits/{tx_id}')

test('a client is made of an address, a token and a secret, or of the environment', () => {
  assert.throws(() => new Penstock({ url: 'api.example' }), /address/)
  assert.throws(() => new Penstock({ url: ACCESS.url, token: 't' }), /belong together/)
  assert.throws(() => new Penstock({ url: ACCESS.url, secret: 's' }), /belong together/)
  const env = { PENSTOCK_URL: ACCESS.url, PENSTOCK_TOKEN: 't', PENSTOCK_SECRET: 's' }
  assert.ok(Penstock.fromEnv({}, env) instanceof Penstock)
  assert.throws(() => Penstock.fromEnv({}, { ...env, PENSTOCK_SECRET: '' }), /PENSTOCK_SECRET/)
})

test('the address is that of the service, with what was copied along or without', async () => {
  for (const end of ['', '/', '/v1', '/v1/', '//']) {
    const called: string[] = []
    const fetch = async (url: string | URL | Request) => {
      called.push(String(url))
      return new Response(JSON.stringify({ code: 0, request_id: 'r', result: { balance: 1 } }))
    }
    await new Penstock({ ...ACCESS, url: `https://api.example${end}`, fetch }).balance.get()
    assert.deepEqual(called, ['https://api.example/v1/balance'], end)
  }
})

test('a client shows its secret to nobody who prints it', () => {
  const penstock = new Penstock(ACCESS)
  const shown = [inspect(penstock, { depth: 9, showHidden: true }), JSON.stringify(penstock)]
  for (const text of shown) assert.doesNotMatch(text, /pss_secret|pst_token/)
})

test('a secret in a page is refused unless that is allowed', (t) => {
  const page = { window: {}, document: {} }
  Object.assign(globalThis, page)
  t.after(() => {
    for (const name of Object.keys(page)) Reflect.deleteProperty(globalThis, name)
  })
  assert.throws(() => new Penstock(ACCESS), /allowSecretInBrowser/)
  assert.ok(new Penstock({ ...ACCESS, allowSecretInBrowser: true }))
  assert.ok(new Penstock({ url: ACCESS.url }), 'without a secret there is nothing to lose')
})

test('without credentials a call is not signed', async () => {
  let headers = new Headers()
  const fetch = (async (_: unknown, how: RequestInit) => {
    headers = new Headers(how.headers)
    return new Response('{"code":0,"result":{}}')
  }) as PenstockOptions['fetch']
  await new Penstock({ url: ACCESS.url, fetch }).deposits.rechargeInfo()
  assert.deepEqual([...headers.keys()].sort(), ['accept', 'content-type', 'user-agent'])
})

test('every endpoint and page of the reference has a method', async () => {
  const { penstock, calls } = answered(() => ({ items: [], total: 0, page: 1, next: null }))
  const [id, address, number] = ['x-1', 'T', 7]
  const { orders, quotes, subscriptions, aml, watches, statement, keys, webhooks } = penstock
  const { pairings, users } = penstock
  const wanted = { service: 'energy', params: { address } } as const
  await penstock.whoami()
  await penstock.status()
  await penstock.services.list()
  await penstock.prices.calculate({ address, amount: 65_000, duration: 1 })
  await penstock.prices.estimate({ from_address: address, to_address: address })
  await penstock.prices.history({})
  await penstock.addresses.get(address)
  await penstock.pool.forecast({ resource: 'energy', hours: 24 })
  await penstock.balance.get()
  await penstock.deposits.check('ab')
  await penstock.deposits.checkPublic('ab')
  await penstock.deposits.listPublic('T1')
  await penstock.deposits.rechargeInfo()
  await Promise.all([orders.create(wanted), orders.check('o-1'), orders.timeline({ id })])
  await Promise.all([quotes.create(wanted), quotes.accept({ id })])
  await Promise.all([penstock.receipts.get(id), penstock.receipts.keys()])
  await subscriptions.plans()
  await subscriptions.start({ subscription_id: 'plan', params: { address } })
  await subscriptions.check({ external_id: 'sub-1' })
  await subscriptions.stop('s-1')
  await aml.prices()
  await aml.create({ type: 'address', network: 'TRX', address })
  await Promise.all([aml.check('c-1'), aml.report('c-1')])
  await Promise.all([watches.add(address), watches.remove(address)])
  await Promise.all([statement.page({}), statement.summary({})])
  await Promise.all([penstock.invoices.check(number), penstock.settings.get()])
  await penstock.settings.change({ balance_low: 5 })
  await keys.create({ name: 'k', scopes: ['read'] })
  await Promise.all([keys.change({ id }), keys.rotate({ id }), keys.revoke({ id })])
  await keys.made({ id })
  await Promise.all([pairings.create({ name: 'p' }), pairings.take({ poll_secret: 'x' })])
  await Promise.all([pairings.check({ code: 'A' }), pairings.refuse({ code: 'A' })])
  await pairings.approve({ code: 'A', scopes: ['read'] })
  await Promise.all([users.check(id), users.recover(id), users.remove(id)])
  await Promise.all([users.invite({ name: 'u', role: 'reader' }), users.change({ id })])
  await penstock.sessions.end(id)
  await Promise.all([webhooks.create({ url: 'https://a.example' }), webhooks.change({ id })])
  await Promise.all([webhooks.check(id), webhooks.remove(id), webhooks.rotate({ id })])
  await Promise.all([webhooks.test({ id, type: 'order.ended' }), webhooks.replay({ id })])
  await penstock.notices.check({ webhook_id: id, number })
  await penstock.notices.retry({ webhook_id: id, number })
  await Promise.all([
    penstock.events.check(number),
    penstock.events.trigger({ type: 'order.ended' }),
  ])
  const lists = [
    subscriptions.list({ status: 'active' }),
    subscriptions.uses({ id }),
    aml.list(),
    orders.list({ status: 'failed' }),
    penstock.deposits.list(),
    penstock.invoices.list(),
    penstock.refusals.list(),
    watches.list(),
    keys.list(),
    webhooks.list(),
    penstock.notices.list(),
    users.list(),
    penstock.sessions.list(),
    penstock.actions.list(),
    penstock.events.list(),
  ]
  for (const list of lists) await Array.fromAsync(list as AsyncIterable<unknown>)
  await assert.rejects(penstock.events.stream().next(), NotSupported)
  const reference = new URL('../../service/openapi.json', import.meta.url)
  const { paths } = JSON.parse(await readFile(reference, 'utf8')) as { paths: object }
  const reached = calls.map(({ path }) => publicPath(path))
  assert.deepEqual(reached.sort(), Object.keys(paths).sort())
  const body = (path: string) => calls.find((call) => call.path === path)?.body
  assert.deepEqual(body('/v1/transaction/check'), { id: 'o-1' })
  assert.deepEqual(body('/v1/subscription/check'), { external_id: 'sub-1' })
  assert.deepEqual(body('/v1/subscriptions/history'), { status: 'active', page: 1, per_page: 50 })
  assert.deepEqual(body('/v1/transactions/list'), { status: 'failed', limit: 100 })
})

test('a list is read by places until its end, and by its path as well', async () => {
  const { penstock, calls } = answered(({ body: { before = '0' } }) => {
    const at = Number(before)
    return { items: [{ id: `o-${at}` }, { id: `o-${at + 1}` }], next: at < 4 ? `${at + 2}` : null }
  })
  const read = await Array.fromAsync(penstock.orders.list({ limit: 2, service: 'energy' }))
  assert.deepEqual(
    read.map(({ id }) => id),
    ['o-0', 'o-1', 'o-2', 'o-3', 'o-4', 'o-5'],
  )
  assert.deepEqual(calls.at(-1)?.body, { limit: 2, service: 'energy', before: '4' })
  const same = await Array.fromAsync(penstock.list('/v1/transactions/list'))
  assert.equal(same.length, 6)
})

test('events after a number are read in order until the newest', async () => {
  const { penstock, calls } = answered(({ body }) => {
    const after = Number(body.after)
    const items = [{ number: after + 1 }, { number: after + 2 }]
    return { items, next: after < 4 ? 'more' : null }
  })
  const read = await Array.fromAsync(penstock.events.list({ after: 0 }))
  assert.deepEqual(
    read.map(({ number }) => number),
    [1, 2, 3, 4, 5, 6],
  )
  assert.deepEqual(
    calls.map(({ body }) => body.after),
    [0, 2, 4],
  )
})

test('a list is read page by page, and what is added meanwhile is not given twice', async () => {
  const all = Array.from({ length: 120 }, (_, i) => ({ id: `c-${i}` }))
  const { penstock, calls } = answered(({ body }) => {
    const { page, per_page } = body as { page: number; per_page: number }
    // Two more have been added since the first page was read: all others have moved.
    const now = page === 1 ? all : [{ id: 'new-1' }, { id: 'new-2' }, ...all]
    const items = now.slice((page - 1) * per_page, page * per_page)
    return { page, per_page, total: now.length, items }
  })
  const read = await Array.fromAsync(penstock.aml.list({ status: 'completed' }))
  assert.deepEqual(
    read.map(({ id }) => id),
    all.map(({ id }) => id),
  )
  assert.equal(calls.length, 3)
  for await (const { id } of penstock.aml.list()) {
    assert.equal(id, 'c-0')
    break
  }
  assert.equal(calls.length, 4, 'who stops reading asks no more')
})

test('however many are added while a list is read, none of the others is given twice', async () => {
  const all = Array.from({ length: 130 }, (_, i) => ({ id: `c-${i}` }))
  const added = Array.from({ length: 70 }, (_, i) => ({ id: `new-${i}` }))
  const { penstock } = answered(({ body }) => {
    const { page, per_page } = body as { page: number; per_page: number }
    const now = page === 1 ? all : [...added, ...all]
    const items = now.slice((page - 1) * per_page, page * per_page)
    return { page, per_page, total: now.length, items }
  })
  const read = (await Array.fromAsync(penstock.aml.list())).map(({ id }) => id)
  assert.deepEqual(
    read.filter((id) => !id.startsWith('new')),
    all.map(({ id }) => id),
  )
})

const delegation = (more = {}) => ({ resource: 'energy', amount: 65_000, hash: 'ab', ...more })

test('an order is waited for until it is delivered, or until its hour is over', async () => {
  const states = [
    { status: 'new', delegations: [] },
    { status: 'success', delegations: [delegation()] },
    { status: 'success', delegations: [delegation({ reclaimed_at: 'then' })] },
  ]
  let asking = 0
  const { penstock, calls } = answered(({ path }) =>
    path === '/v1/events/stream' ? {} : states[Math.min(asking++, 2)]!,
  )
  const delivered = await penstock.orders.waitFor('o-1')
  const asked = () => calls.filter(({ path }) => path !== '/v1/events/stream').length
  assert.deepEqual([delivered.status, asked()], ['success', 2])
  const ended = await penstock.orders.waitFor({ external_id: 'order-1' }, { until: 'ended' })
  assert.deepEqual([ended.delegations[0]?.reclaimed_at, asked()], ['then', 3])
  assert.deepEqual(calls.at(-1)?.body, { external_id: 'order-1' })
})

test('an order and a check that fail are errors that have them', async () => {
  const { penstock } = answered(() => ({ id: 'x-1', status: 'failed', delegations: [] }))
  await assert.rejects(
    penstock.orders.waitFor('x-1'),
    (thrown) => thrown instanceof OrderFailed && thrown.order.id === 'x-1',
  )
  await assert.rejects(
    penstock.aml.waitFor('x-1'),
    (thrown) => thrown instanceof CheckFailed && thrown.check.id === 'x-1',
  )
})

test('waiting ends in time, with its signal, and with what will not change', async () => {
  const { penstock } = answered(() => ({ status: 'new', delegations: [] }))
  await assert.rejects(penstock.orders.waitFor('o-1', { timeout_ms: 100 }), TimeoutError)
  const reason = new Error('enough')
  const abort = new AbortController()
  setTimeout(() => abort.abort(reason), 50)
  await assert.rejects(penstock.orders.waitFor('o-1', { signal: abort.signal }), reason)
  const gone = answered(() => ({ code: 20, key: 'k', error: 'No', request_id: 'r' }))
  await assert.rejects(gone.penstock.orders.waitFor('o-1'), { code: 20 })
})

test('an outage is waited out', async () => {
  const off = { code: 503, error: 'Off', request_id: 'r' }
  const done = { status: 'completed' }
  const { penstock, calls } = answered((_, number) => (number < 5 ? off : done))
  assert.equal((await penstock.aml.waitFor('c-1')).status, 'completed')
  assert.equal(calls.length, 5)
})

test('TRX is sun, exactly', () => {
  assert.equal(toSun(2.93), 2_930_000n)
  assert.equal(fromSun(2_930_000n), 2.93)
  const exact: [number | string, bigint][] = [
    [0, 0n],
    [0.000001, 1n],
    [-1.5, -1_500_000n],
    [1e9, 10n ** 15n],
    [999_999_999.999999, 999_999_999_999_999n],
    ['0.1', 100_000n],
    ['12', 12_000_000n],
  ]
  for (const [trx, sun] of exact) {
    assert.equal(toSun(trx), sun)
    assert.equal(fromSun(sun), Number(trx))
  }
  for (let sun = 1n; sun < 10n ** 15n; sun = sun * 3n + 7n) assert.equal(toSun(fromSun(sun)), sun)
  const wrong = [1e9 + 1, -2e9, 0.0000001, 0.1 + 0.2, NaN, Infinity, '', '1e3', '1.0000001', ' 1']
  for (const trx of wrong) assert.throws(() => toSun(trx), RangeError, String(trx))
  assert.throws(() => fromSun(10n ** 15n + 1n), RangeError)
})
