// What is said to a purchase, and what it costs: judged by rows, alone and together with others.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ago, clock, now, OrderBook } from 'penstock-test/harness/order_book.ts'
import { withRace } from 'penstock-test/harness/race.ts'
import type { Reader } from '../../chain/reads/read_budget.ts'
import type { Receiver } from '../../chain/receivers/receivers.ts'
import { customerAccount, moveAll, WORLD } from '../../ledger/accounts/ledger.ts'
import { Fault, fault } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Prices, Tier } from '../prices/prices.ts'
import {
  type Needs,
  type OrderCause,
  orderPlacer,
  type Placement,
  type Purchase,
  type QuotePrice,
} from './placing.ts'

const CENT_SUN = 10_000n

const tier = (resource: Tier['resource'], min_amount: number): Tier => ({
  resource,
  duration_hours: 1,
  min_amount,
  max_amount: 200,
  price_sun: 1_000n * CENT_SUN,
})

const SERVICES = ['energy', 'bandwidth', 'resource_bundle', 'activate_address']

/** A unit of either costs a cent, and an activation three. */
const PRICES: Prices = {
  tiers: [tier('energy', 1), tier('bandwidth', 1)],
  activation_sun: 3n * CENT_SUN,
  on_sale: new Set(SERVICES),
}

const without = (service: string): Partial<Prices> => ({
  on_sale: new Set(SERVICES.filter((one) => one !== service)),
})

const WANTED: Purchase = {
  customer_id: 'anna',
  external_id: null,
  service: 'energy',
  address: 'bob',
  energy: 10,
  bandwidth: 0,
  activate: false,
}

const RECEIVERS: readonly Receiver[] = ['inactive', 'contract', 'barred', 'ours', 'unknown']

/** As its first word says; else it is active. */
async function receiver(address: string): Promise<Receiver> {
  const [word] = address.split(' ')
  return RECEIVERS.find((one) => one === word) ?? 'active'
}

type OrderDesk = {
  sql: Sql
  tryOrder: (wanted?: Partial<Purchase>, prices?: Partial<Prices>) => Promise<string>
  /** At once. */
  tryAll: (...wanted: Partial<Purchase>[]) => Promise<string[]>
}

/** Anna has ten TRX, and the pool twice as many units as she can pay. */
async function openDesk(t: TestContext, needs: Partial<Needs> = {}): Promise<OrderDesk> {
  const { sql } = await OrderBook.of(t)
  const deposit = { id: 'deposit:2', debit: WORLD, credit: customerAccount('anna') }
  await sql.begin(async (tx) =>
    moveAll(tx, [{ ...deposit, amount_sun: 1_000n * CENT_SUN - 1_000n, made_at: now }]),
  )
  await sql`update pool set room = 2500, reserved = 500`
  await sql`update chain set head_seen_at = ${now}`
  let made = 0
  let current = PRICES
  const placer = orderPlacer({
    sql,
    clock,
    new_id: () => `id${++made}`,
    prices: async () => current,
    receiver,
    wake: () => {},
    ...needs,
  })
  const tryOrder = async (wanted: Partial<Purchase> = {}, prices: Partial<Prices> = {}) => {
    current = { ...PRICES, ...prices }
    return said(await placer.tryOrder({ ...WANTED, ...wanted }))
  }
  const tryAll = (...wanted: Partial<Purchase>[]) => Promise.all(wanted.map((one) => tryOrder(one)))
  return { sql, tryOrder, tryAll }
}

const cents = (sun: bigint) => Number(sun) / Number(CENT_SUN)

/** In cents, or the refusal and its reason. */
function said(outcome: Placement | Fault): string {
  if (outcome instanceof Fault) {
    const { key, about } = outcome
    return about && 'because' in about ? `${key}: ${about.because}` : key
  }
  const { order, replayed } = outcome
  const { amount_sun, fee_sun, activation_id } = order
  return [
    replayed ? 'again for' : 'for',
    cents(amount_sun),
    ...(fee_sun > 0n ? ['of which', cents(fee_sun)] : []),
    ...(activation_id === null ? [] : ['by an activation']),
  ].join(' ')
}

function assertSaid(actual: string, expected: string | RegExp, what: string): void {
  if (typeof expected === 'string') assert.equal(actual, expected, what)
  else assert.match(actual, expected, what)
}

const ACTIVATED = 'for 13 of which 3 by an activation'
const OFF_SALE = /^service_unavailable: .* off sale$/
const NOT_ACTIVATED = /^address_not_activated: .*send params\.activate_address as true/
const SILENT = 'service_unavailable: the chain does not answer'

type Case = [wanted: Partial<Purchase>, said: string | RegExp, prices?: Partial<Prices>]

async function tryEach({ tryOrder }: OrderDesk, cases: readonly Case[]): Promise<void> {
  for (const [i, [wanted, expected, prices]] of cases.entries())
    assertSaid(await tryOrder(wanted, prices), expected, `${i}`)
}

const activates = { address: 'inactive', activate: true }
const no_activations = without('activate_address')

test('a purchase costs its amounts and the activation that it takes along', async (t) => {
  const desk = await openDesk(t)
  for (const state of ['new', 'activating', 'active', 'failed'])
    await desk.sql`
      insert into activation (id, address, state, made_at)
      values (${state}, ${`inactive ${state}`}, ${state}, ${now})`
  const alone = { service: 'activate_address', energy: 0, activate: true } as const
  await tryEach(desk, [
    [{}, 'for 10'],
    [{ energy: 1 }, 'for 1'],
    [{ service: 'bandwidth', energy: 0, bandwidth: 20 }, 'for 20'],
    [{ service: 'bandwidth', energy: 0, bandwidth: 1 }, 'for 1'],
    [{ service: 'resource_bundle', bandwidth: 20 }, 'for 30'],
    [activates, ACTIVATED],
    [{ activate: true }, 'for 10'],
    [{ ...alone, address: 'inactive alone' }, 'for 3 of which 3 by an activation'],
    [alone, /^address_already_activated/],
    // Whoever pays for it, one is enough.
    ...['new', 'activating', 'active'].flatMap((state): Case[] => [
      [{ address: `inactive ${state}` }, 'for 10 by an activation'],
      [{ address: `inactive ${state}`, activate: true }, 'for 10 by an activation', no_activations],
      [{ ...alone, address: `inactive ${state}` }, /^address_already_activated/],
    ]),
    [{ address: 'inactive failed', activate: true }, ACTIVATED],
  ])
})

test('a purchase is refused by what it wants, where it goes, and what is on sale', async (t) => {
  const desk = await openDesk(t)
  const bandwidth = { service: 'bandwidth', energy: 0, bandwidth: 1 } as const
  await tryEach(desk, [
    [{ address: 'inactive' }, NOT_ACTIVATED],
    [{ address: 'inactive' }, /first TRX that somebody sends it$/, no_activations],
    [activates, OFF_SALE, no_activations],
    [{ activate: true }, 'for 10', no_activations],
    [{ address: 'contract', activate: true }, /^invalid_network_address/, no_activations],
    [{}, OFF_SALE, without('energy')],
    [bandwidth, 'for 1', without('energy')],
    ...['contract', 'ours'].map((address): Case => [{ address }, /^invalid_network_address: /]),
    [{ address: 'barred' }, /^invalid_network_address\.blacklisted/],
    [{ address: 'unknown' }, SILENT],
    [{ energy: 1 }, /^invalid_energy_amount/, { tiers: [tier('energy', 2)] }],
    [{ energy: 2 }, 'for 2', { tiers: [tier('energy', 2)] }],
    [bandwidth, /^invalid_bandwidth_amount/, { tiers: [tier('bandwidth', 2)] }],
    [{ ...bandwidth, bandwidth: 2 }, 'for 2', { tiers: [tier('bandwidth', 2)] }],
    [{ refusal: fault(1, 'suspended', 'Suspended')() }, 'suspended'],
    [{ customer_id: 'stranger' }, /^wallet_not_found/],
    [{ customer_id: 'stranger', address: 'barred' }, /^wallet_not_found/],
  ])
  await desk.sql`update chain set seen_at = ${ago(1)}`
  assert.equal(await desk.tryOrder(), SILENT)
  const orders = await desk.sql`select from orders`
  assert.equal(orders.length, 4, 'of what is refused there is nothing')
})

test('so much is sold as the pool has, of each resource, and no more', async (t) => {
  const desk = await openDesk(t)
  await desk.sql`update pool set room = 100, reserved = case resource when 'energy' then 90 else 80
    end`
  const bundle = { service: 'resource_bundle' } as const
  const short = /^service_unavailable: so much cannot be delivered now/
  await tryEach(desk, [
    [{ energy: 11 }, short],
    [{ ...bundle, energy: 11, bandwidth: 20 }, short],
    [{ ...bundle, energy: 10, bandwidth: 21 }, short],
    [{ ...bundle, energy: 10, bandwidth: 20 }, 'for 30'],
    [{ energy: 1 }, short],
  ])
  await desk.sql`update pool set reserved = 90`
  const [first, second, third] = await desk.tryAll({ energy: 4 }, { energy: 6 }, { energy: 1 })
  assert.deepEqual([first, second], ['for 4', 'for 6'])
  assert.match(third!, short)
})

test('so much is sold as a customer can pay, one after the other', async (t) => {
  const desk = await openDesk(t)
  const room = { energy: 200 }
  const poor = /^insufficient_funds: it costs .*; send TRX to /
  const all = await desk.tryAll(room, room, room, room, { energy: 199 }, { energy: 2 })
  assert.deepEqual(all.slice(0, 5), [...Array(4).fill('for 200'), 'for 199'])
  assert.match(all[5]!, poor)
  assert.match(await desk.tryOrder({ energy: 2 }), poor)
  assert.equal(await desk.tryOrder({ energy: 1 }), 'for 1')
})

test('so many activations are sold as their wallet can pay for, one for an address', async (t) => {
  const desk = await openDesk(t)
  await desk.sql`insert into activation_float values (true, 'wallet', 0, 1)`
  assert.match(await desk.tryOrder(activates), OFF_SALE)
  assert.equal(await desk.tryOrder(), 'for 10')
  await desk.sql`update activation_float set payable = 1`
  const other = { address: 'inactive other', activate: true }
  const found = await desk.tryAll({}, activates, activates, { address: 'inactive' }, other)
  assert.deepEqual(found.slice(0, 4), [
    'for 10',
    ACTIVATED,
    'for 10 by an activation',
    'for 10 by an activation',
  ])
  assert.match(found[4]!, OFF_SALE)
  const begun = await desk.sql`select address, state from activation`
  assert.deepEqual(begun, [{ address: 'inactive', state: 'new' }])
})

test('the same again under its name is answered with what was bought, and not sold', async (t) => {
  const desk = await openDesk(t)
  const { tryOrder, tryAll } = desk
  await desk.sql`
    insert into orders (id, customer_id, external_id, service, address, energy, activate,
      to_delegate, amount_sun, due_at, created_at)
    values ('other', 'aaron', 'x', 'energy', 'bob', 10, false, false, 0, ${now}, ${now}),
      ('earlier', 'anna', 'w', 'energy', 'bob', 7, false, false, 70000, ${now}, ${now})`
  const x = { external_id: 'x' }
  assert.equal(await tryOrder(x), 'for 10')
  const taken = /^invalid_service_or_params\.external_id: it is that of the transaction id/
  await tryEach(desk, [
    [x, 'again for 10'],
    [{ external_id: 'w', energy: 7 }, 'again for 7'],
    [{ ...x, energy: 11 }, taken],
    [{ ...x, address: 'carl' }, taken],
    [{ ...x, activate: true }, taken],
    [{ ...x, service: 'resource_bundle', bandwidth: 1 }, taken],
    [{ external_id: 'y' }, 'for 10'],
    // Whatever would refuse it now.
    [{ ...x, refusal: fault(1, 'suspended', 'Suspended')() }, 'again for 10'],
    [x, 'again for 10', without('energy')],
    [{ ...x, energy: 11, refusal: fault(1, 'suspended', 'Suspended')() }, 'suspended'],
  ])
  const z = { external_id: 'z' }
  assert.deepEqual(await tryAll(z, z, {}), ['for 10', 'again for 10', 'for 10'])
  const orders = await desk.sql`select from orders where customer_id = 'anna'`
  assert.equal(orders.length, 5)
})

const QUOTE: QuotePrice = {
  id: 'q1',
  amount_sun: 8n * CENT_SUN,
  fee_sun: 2n * CENT_SUN,
  expires_at: new Date(now.getTime() + 1),
}

const insertQuotes = (sql: Sql, ids: readonly string[]) => sql`
  insert into quote (id, customer_id, service, address, energy, bandwidth, activate, amount_sun,
    fee_sun, made_at, expires_at)
  select id, 'anna', 'energy', 'bob', 10, 0, true, 1, 0, ${ago(1)}, ${QUOTE.expires_at}
  from unnest(${ids}::text[]) as id`

test('a quote costs no more than it says in any part, though the price be gone', async (t) => {
  const desk = await openDesk(t)
  const dear: Partial<QuotePrice> = { amount_sun: 20n * CENT_SUN, fee_sun: 5n * CENT_SUN }
  const gone: Partial<Prices> = { tiers: [] }
  type QuoteCase = [wanted: Partial<Purchase>, said: string, more?: Partial<QuotePrice>]
  const cases: [...QuoteCase, prices?: Partial<Prices>][] = [
    [{}, 'for 6'],
    [{}, 'for 10', dear],
    [{}, 'for 6', {}, gone],
    [activates, 'for 8 of which 2 by an activation'],
    [{ address: 'inactive 2', activate: true }, ACTIVATED, dear],
    [{ address: 'inactive 3', activate: true }, 'for 8 of which 2 by an activation', {}, gone],
  ]
  const ids = cases.map((_, i) => `quote ${i}`)
  await insertQuotes(desk.sql, ids)
  for (const [i, [wanted, expected, more, prices]] of cases.entries()) {
    const quote = { ...QUOTE, ...more, id: ids[i]! }
    assert.equal(await desk.tryOrder({ ...wanted, quote }, prices), expected, `${i}`)
  }
})

test('a quote is taken until the moment it ends, once, and then answered with that', async (t) => {
  const desk = await openDesk(t)
  await insertQuotes(desk.sql, ['q1', 'q2', 'q3', 'q4'])
  const over = { ...QUOTE, expires_at: now }
  assert.equal(await desk.tryOrder({ quote: over }), 'quote_expired')
  const [x, y] = [{ external_id: 'x' }, { external_id: 'y' }]
  assert.equal(await desk.tryOrder({ ...x, quote: QUOTE }), 'for 6')
  assert.equal(await desk.tryOrder({ quote: { ...QUOTE, id: 'q2' } }), 'for 6')
  await tryEach(desk, [
    [{ quote: QUOTE }, 'again for 6'],
    [{ ...x, quote: QUOTE }, 'again for 6'],
    [{ ...x, quote: over }, 'again for 6'],
    [{ ...y, quote: QUOTE }, 'quote_expired.used'],
    [{ ...y, quote: { ...QUOTE, id: 'q2' } }, 'quote_expired.used'],
    // The name is taken, though it was for the same.
    [{ ...x, quote: { ...QUOTE, id: 'q3' } }, /^invalid_service_or_params\.external_id/],
    [{ ...y, quote: { ...QUOTE, id: 'q3' } }, 'for 6'],
  ])
  const last = { quote: { ...QUOTE, id: 'q4' } }
  assert.deepEqual(await desk.tryAll(last, last), ['for 6', 'again for 6'])
})

test('nothing is bought by what was read more than eight seconds before', async (t) => {
  let passed_ms = 0
  let takes_ms = 8_000
  const desk = await openDesk(t, {
    clock: { now: () => new Date(now.getTime() + passed_ms) },
    receiver: async () => {
      passed_ms += takes_ms
      return 'active'
    },
  })
  assert.equal(await desk.tryOrder({ external_id: 'x' }), 'for 10')
  takes_ms = 8_001
  assert.equal(await desk.tryOrder(), 'service_unavailable: it took too long: ask again')
  assert.equal(await desk.tryOrder({ external_id: 'x' }), 'again for 10')
})

test('what the service buys costs what was agreed, whoever pays and what is on sale', async (t) => {
  const desk = await openDesk(t)
  const internal = { agreed_sun: 5n * CENT_SUN }
  const free = { internal: { agreed_sun: 0n } }
  await tryEach(desk, [
    [{ internal }, 'for 5'],
    [{ internal }, 'for 5', without('energy')],
    [{ internal }, 'for 5', { tiers: [] }],
    [{ ...free, customer_id: 'stranger' }, 'for 0'],
    [{ ...free, address: 'barred' }, /^invalid_network_address\.blacklisted/],
    [{ ...free, address: 'unknown' }, SILENT],
    [{ ...free, address: 'inactive' }, NOT_ACTIVATED],
    [{ ...free, energy: 2_001 }, /^service_unavailable: so much/],
  ])
  assert.equal(await desk.tryOrder({ internal: { agreed_sun: 985n * CENT_SUN } }), 'for 985')
  assert.match(await desk.tryOrder({ energy: 1 }), /^insufficient_funds/)
})

/** One that notes what is done with it. */
function causeOf(name: string, done: string[], refusal?: Fault): OrderCause {
  return {
    async lock() {
      done.push(`lock ${name}`)
      return refusal
    },
    async note(_, { id }) {
      done.push(`note ${name} ${id}`)
    },
  }
}

test('what an order is placed for is locked by name, and noted when it is placed', async (t) => {
  const desk = await openDesk(t)
  const done: string[] = []
  const by = (external_id: string, refusal?: Fault): Partial<Purchase> => ({
    external_id,
    internal: { agreed_sun: 0n, cause: causeOf(external_id, done, refusal) },
  })
  assert.deepEqual(await desk.tryAll(by('b'), {}, by('a')), ['for 0', 'for 10', 'for 0'])
  assert.deepEqual(done.splice(0), ['lock a', 'lock b', 'note b id1', 'note a id2'])
  const gone = fault(1, 'gone', 'Gone')()
  assert.deepEqual(await desk.tryAll(by('a', gone), by('c', gone)), ['again for 0', 'gone'])
  assert.deepEqual(done, ['lock a', 'lock c'])
})

test('who is to go on is woken for what is placed, and customers are told of theirs', async (t) => {
  const woken: string[] = []
  const told: string[] = []
  const desk = await openDesk(t, {
    wake: (step) => void woken.push(step),
    told: (name) => void told.push(name),
  })
  const alone = { service: 'activate_address', energy: 0, ...activates } as const
  const x = { external_id: 'x' }
  const internal = { agreed_sun: 0n }
  const cases: [wanted: Partial<Purchase>, woken: string[], told: string[]][] = [
    [x, ['delegate', 'publish'], ['order:id1']],
    [x, [], ['order:id1']],
    [{ ...x, energy: 11 }, [], []],
    [{ energy: 2_001 }, [], []],
    [{ internal }, ['delegate', 'publish'], []],
    [alone, ['activate', 'publish'], ['order:id4']],
    [{ address: 'inactive' }, ['activate', 'delegate', 'publish'], ['order:id5']],
  ]
  for (const [i, [wanted, steps, names]] of cases.entries()) {
    await desk.tryOrder(wanted)
    assert.deepEqual([...new Set(woken.splice(0))].sort(), steps, `case ${i}`)
    assert.deepEqual(told.splice(0), names, `case ${i}`)
  }
})

test('a customer has at most its open orders; those of the service do not count', async (t) => {
  let fails = false
  const desk = await openDesk(t, {
    again: (work) => (fails ? Promise.reject(new Error('it fails')) : work()),
  })
  const { sql, tryOrder } = desk
  await sql`update customer set open_orders_limit = 2`
  const x = { external_id: 'x' }
  const internal = { agreed_sun: 0n }
  const full = 'service_unavailable.open_orders'
  await tryEach(desk, [
    [{ energy: 2_001 }, /^service_unavailable: so much/],
    [{ address: 'barred' }, /^invalid_network_address/],
    [x, 'for 10'],
    [x, 'again for 10'],
    [x, 'again for 10'],
    [{ internal }, 'for 0'],
    [{ internal, address: 'barred' }, /^invalid_network_address/],
    [{ internal, address: 'barred' }, /^invalid_network_address/],
  ])
  fails = true
  await assert.rejects(tryOrder({ internal }), /it fails/)
  await assert.rejects(tryOrder(), /it fails/)
  await assert.rejects(tryOrder(), /it fails/)
  fails = false
  await tryEach(desk, [
    [{}, 'for 10'],
    [{}, full],
    [{}, full],
    [x, 'again for 10'],
    [{ internal }, 'for 0'],
  ])
})

test('a purchase with an external id or a quote is repeatable, and its buyer asks', async (t) => {
  const asked: (Reader | undefined)[] = []
  const repeatable: boolean[] = []
  const desk = await openDesk(t, {
    again: (work, how) => {
      repeatable.push(how.repeatable)
      return work()
    },
    receiver: async (_address, reader) => {
      asked.push(reader)
      return 'active'
    },
  })
  await insertQuotes(desk.sql, ['q1', 'q2'])
  const asked_by = { customer_id: 'anna', key_id: 'key' }
  await desk.tryOrder()
  await desk.tryOrder({ external_id: 'x', asked_by })
  await desk.tryOrder({ quote: QUOTE })
  await desk.tryOrder({ external_id: 'y', quote: { ...QUOTE, id: 'q2' } })
  assert.deepEqual(repeatable, [false, true, true, true])
  assert.deepEqual(
    asked.slice(0, 2).map((reader) => reader && [reader.name, reader.lane]),
    [undefined, ['key key', 'purchases']],
  )
})

test('what a user buys is recorded once, and what a key buys is not', async (t) => {
  const desk = await openDesk(t)
  const key = { customer_id: 'anna', key_id: 'key' }
  const user = {
    user_id: 'key',
    session_id: 'session',
    name: 'Anna',
    sign_in_name: null,
    role: 'owner',
    scopes: [],
    stepped_up_until: null,
  }
  await desk.tryAll(
    { external_id: 'x', asked_by: { ...key, user } },
    { external_id: 'x', asked_by: { ...key, user } },
    { energy: 2_001, asked_by: { ...key, user } },
    { asked_by: key },
    {},
  )
  const actions = await desk.sql`select action, subject from customer_action`
  assert.deepEqual(actions, [{ action: 'transaction/new', subject: 'order:id1' }])
})

test('a placement that breaks a unique constraint is tried again, and no other', async (t) => {
  const { sql } = await openDesk(t)
  const activateTwice = (address: string) => sql`
    insert into activation (id, address, made_at)
    select ${address} || i, ${address}, ${now} from generate_series(1, 2) as i`
  const placed = async (race: () => Promise<unknown>) => {
    const placer = orderPlacer({
      sql: withRace(sql, race),
      clock,
      new_id: () => 'placed',
      prices: async () => PRICES,
      receiver,
      wake: () => {},
    })
    const { order } = await placer.placeOrder({ ...WANTED, energy: 1 })
    await sql`delete from orders where id = ${order.id}`
    return order.id
  }
  await assert.rejects(
    placed(() => sql`select 1 / 0`),
    /division by zero/,
  )
  assert.equal(await placed(() => activateTwice('x')), 'placed')
  await assert.rejects(
    placed(() => sql`insert into activation_float values (true, 'x', -1, 1)`),
    /activation_float_payable/,
  )
})

test('a purchase that another one is always ahead of fails after ten looks', async (t) => {
  const desk = await openDesk(t)
  await desk.sql`create sequence looks`
  await desk.sql`
    create function be_first() returns trigger language plpgsql as $$ begin
      perform nextval('looks');
      raise unique_violation using constraint = 'orders_external_id_once';
    end $$`
  await desk.sql`
    create trigger be_first before insert on orders for each row execute function be_first()`
  await assert.rejects(desk.tryOrder({ energy: 1 }), { code: '23505' })
  const [looks] = await desk.sql`select last_value::int as n from looks`
  assert.equal(looks!.n, 10)
})

test('what is refused is thrown to who only wants it placed', async (t) => {
  const { sql } = await openDesk(t)
  const needs = { sql, clock, new_id: () => 'id', prices: async () => PRICES, wake: () => {} }
  const { placeOrder } = orderPlacer({ ...needs, receiver })
  await assert.rejects(placeOrder({ ...WANTED, address: 'barred' }), Fault)
  assert.equal((await placeOrder(WANTED)).order.id, 'id')
})
