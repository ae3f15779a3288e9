// What a quote is given for, what it costs, and what is refused, with a chain that answers as each
// test wants it.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { CALLER } from 'penstock-test/harness/endpoint_calls.ts'
import { delivered_at, ReceiptBook, receiver } from 'penstock-test/harness/receipt_book.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type { Receiver } from '../../chain/receivers/receivers.ts'
import { Fault, Outage } from '../../lib/fault.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { printJson } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { readPrices } from '../prices/prices.ts'
import { quoteRoutes } from './routes.ts'

const other = person('nina').address

type QuoteAnswer = {
  id: string
  energy: number
  bandwidth: number
  amount: number
  fee: number
  expires_at: string
  params: { address: string; activate_address: boolean }
  fee_limit?: number
  burning_costs: number | null
}

type Chain = {
  receiver?: Receiver
  /** Left out: what the chain answers as a rule. */
  parameters?: Record<string, bigint> | Error
}

const PARAMETERS = { getEnergyFee: 100n, getTransactionFee: 1_000n }
const USER = {
  user_id: 'u',
  session_id: 's',
  name: 'Anna',
  sign_in_name: 'anna',
  role: 'owner',
  scopes: [],
  stepped_up_until: null,
}

/** What an order was asked for by a quote. */
type PlacedOrder = { quote: { id: string; energy: bigint }; refusal: Fault | undefined }

/** The endpoints of quotes, of a customer with a balance. */
async function makeDesk(t: TestContext) {
  const book = await ReceiptBook.of(t)
  const { sql, clock } = book
  const new_id = idMaker(clock, systemRandom)
  const contracts: string[] = []
  const placed: PlacedOrder[] = []
  let replayed = false
  const routes = ({ receiver = 'active', parameters = PARAMETERS }: Chain) =>
    quoteRoutes({
      sql,
      clock,
      new_id,
      prices: () => readPrices(sql),
      receiver: async () => receiver,
      reads: () =>
        ({
          async parameters() {
            if (parameters instanceof Error) throw parameters
            return new Map(Object.entries(parameters))
          },
          async constantCall({ contract }: { contract: string }) {
            contracts.push(contract)
            return { succeeded: true, energy: 40_000n, result: '', said: '' }
          },
        }) as never,
      async placeOrder(wanted) {
        placed.push(wanted as unknown as PlacedOrder)
        return { order: await book.read('o1'), replayed } as never
      },
    })
  const call = async (i: number, body: object, chain: Chain, customer: object) => {
    const reply_headers: Record<string, string> = {}
    const asked = { body, customer: { ...CALLER, ...customer }, headers: {}, reply_headers }
    const answer = await routes(chain)[i]!.handle({ ...asked, request_id: 'r' } as never)
    return { answer: JSON.parse(printJson(answer as object)) as QuoteAnswer, reply_headers }
  }
  return {
    book,
    sql,
    contracts,
    placed,
    replay: () => (replayed = true),
    quote: async (body: object, chain: Chain = {}, customer: object = {}) =>
      (await call(0, body, chain, customer)).answer,
    accept: (body: object, customer: object = {}) => call(1, body, {}, customer),
  }
}

const energy = (params: object = {}) => ({
  service: 'energy',
  params: { address: receiver, amount: 65_000, duration: 1, ...params },
})
const bandwidth = { ...energy({ amount: 1_000 }), service: 'bandwidth' }
const activation = { service: 'activate_address', params: { address: receiver } }

/** Also says which field it is about, or why. */
const refused = (code: number, why: RegExp) => (thrown: unknown) =>
  thrown instanceof Fault &&
  thrown.code === code &&
  why.test(`${thrown.key} ${JSON.stringify(thrown.about)}`)

const turnOff = (sql: Sql, ...names: string[]) =>
  sql`update service set on_sale = not (name = any(${names}))`

test('a quote costs its amounts, and an activation where the address is not active', async (t) => {
  const { quote } = await makeDesk(t)
  const rows: [body: object, receiver: Receiver, amount: number, fee: number][] = [
    [energy(), 'active', 2.93, 0],
    [energy({ activate_address: true }), 'active', 2.93, 0],
    [energy({ activate_address: true }), 'inactive', 4.33, 1.4],
    [bandwidth, 'active', 1, 0],
    [activation, 'inactive', 1.4, 1.4],
  ]
  for (const [body, receiver, amount, fee] of rows) {
    const given = await quote(body, { receiver })
    assert.deepEqual([given.amount, given.fee], [amount, fee], JSON.stringify([body, receiver]))
    assert.equal('fee_limit' in given, false)
  }
  const bundle = { ...energy({ amounts: { energy: 65_000, bandwidth: 1_000 } }) }
  assert.equal((await quote({ ...bundle, service: 'resource_bundle' })).amount, 3.93)
})

test('the smallest amount of all has a price like any other', async (t) => {
  const { quote, sql } = await makeDesk(t)
  await sql`update price set min_amount = 1 where min_amount < 100000`
  assert.equal((await quote(energy({ amount: 1 }))).amount, 0.01)
  assert.equal((await quote({ ...bandwidth, params: energy({ amount: 1 }).params })).amount, 0.01)
})

test('an address that is active, or must be, is refused before a price is made', async (t) => {
  const { quote } = await makeDesk(t)
  const rows: [body: object, receiver: Receiver, code: number, why: RegExp][] = [
    [activation, 'active', 25, /params.address/],
    [energy(), 'inactive', 24, /./],
    [energy(), 'unknown', 35, /the chain does not answer/],
    [energy(), 'contract', 10, /params.address/],
    [energy(), 'barred', 10, /blacklisted/],
  ]
  for (const [body, receiver, code, why] of rows)
    await assert.rejects(quote(body, { receiver }), refused(code, why), receiver)
  assert.equal((await quote(energy())).energy, 65_000)
})

test('what is off sale is refused, and an activation only where one is needed', async (t) => {
  const { quote, sql } = await makeDesk(t)
  const with_activation = energy({ activate_address: true })
  await turnOff(sql, 'activate_address')
  assert.equal((await quote(with_activation)).fee, 0)
  await assert.rejects(quote(energy(), { receiver: 'inactive' }), refused(24, /./))
  const why = /the activation of the address is off sale/
  await assert.rejects(quote(with_activation, { receiver: 'inactive' }), refused(35, why))
  await turnOff(sql, 'energy')
  await assert.rejects(quote(energy(), { receiver: 'unknown' }), refused(35, /energy is off sale/))
  await turnOff(sql)
  await assert.rejects(quote(energy({ amount: 1 })), refused(11, /params.amount/))
})

test('a quote says what burning would cost, where the chain says both of its prices', async (t) => {
  const { quote } = await makeDesk(t)
  const costs = async (body: object, chain: Chain = {}) => (await quote(body, chain)).burning_costs
  assert.equal(await costs(energy()), 6.5)
  assert.equal(await costs(bandwidth), 1)
  assert.equal(await costs(activation, { receiver: 'inactive' }), null)
  const { getEnergyFee, getTransactionFee } = PARAMETERS
  for (const parameters of [{ getEnergyFee }, { getTransactionFee }, {}, new Outage('no node')])
    assert.equal(await costs(energy(), { parameters }), null)
  await assert.rejects(costs(energy(), { parameters: new Error('a bug') }), /a bug/)
})

test('a quote for a transfer is of the energy that it takes, for its sender', async (t) => {
  const { quote, contracts, sql } = await makeDesk(t)
  const transfer = { from: receiver, to: other }
  const given = await quote({ transfer })
  assert.deepEqual([given.energy, given.amount, given.fee], [40_000, 1.8, 0])
  assert.deepEqual([given.fee_limit, given.params.activate_address], [4_000_000, false])
  assert.equal(given.params.address, receiver)
  await quote({ transfer: { ...transfer, contract: other } })
  assert.deepEqual(contracts, [USDT, other])
  await sql`update fee set price_sun = 1`
  const inactive = await quote({ transfer }, { receiver: 'inactive' })
  assert.equal(inactive.params.activate_address, true)
})

test('either a purchase or a transfer is quoted: not half of one, and not both', async (t) => {
  const { quote } = await makeDesk(t)
  const { service, params } = energy()
  const transfer = { from: receiver, to: other }
  for (const body of [{}, { service }, { params }, { service, params, transfer }])
    await assert.rejects(quote(body), refused(2, /give either service and params, or transfer/))
  assert.equal((await quote({ service, params })).energy, 65_000)
  assert.equal((await quote({ transfer })).energy, 40_000)
})

test('a quote is for a minute, or for as long as is wanted and offered', async (t) => {
  const { quote, sql } = await makeDesk(t)
  const seconds = async (wanted?: number) => {
    const body = { ...energy(), ...(wanted !== undefined && { seconds: wanted }) }
    return (Date.parse((await quote(body)).expires_at) - delivered_at.getTime()) / 1_000
  }
  const offered = (most: number) => sql`update offer set quote_seconds_max = ${most}`
  assert.deepEqual([await seconds(), await seconds(5), await seconds(300)], [60, 5, 300])
  await offered(30)
  assert.deepEqual([await seconds(), await seconds(30)], [30, 30])
  await assert.rejects(seconds(31), refused(2, /an integer from 5 to 30/))
  await offered(0)
  await assert.rejects(seconds(), refused(35, /service_unavailable.quotes/))
})

test('what a user asks for is recorded, and what a key asks for is not', async (t) => {
  const { quote, sql } = await makeDesk(t)
  await quote(energy())
  const records = () => sql<{ subject: string }>`select subject from customer_action`
  assert.deepEqual(await records(), [])
  const { id } = await quote(energy(), {}, { user: USER })
  assert.deepEqual(await records(), [{ subject: `quote:${id}` }])
})

test('a quote of the customer is accepted as it was made, and no other one is', async (t) => {
  const { quote, accept, book, placed, replay } = await makeDesk(t)
  await book.order('o1')
  const { id } = await quote(energy({ activate_address: true }), { receiver: 'inactive' })
  for (const [body, customer] of [
    [{ id: 'none' }, {}],
    [{ id }, { customer_id: 'bert' }],
  ] as const)
    await assert.rejects(accept(body, customer), refused(70, /quote of yours/))
  assert.equal(placed.length, 0)
  const { reply_headers } = await accept({ id, external_id: 'mine' })
  assert.deepEqual(reply_headers, {})
  const { quote: of, ...wanted } = placed[0]!
  assert.deepEqual([of.id, of.energy], [id, 65_000n])
  assert.deepEqual(wanted, {
    customer_id: 'anna',
    key: undefined,
    asked_by: CALLER,
    external_id: 'mine',
    service: 'energy',
    address: receiver,
    activate: true,
    energy: 65_000,
    bandwidth: 0,
    refusal: undefined,
  })
  await accept({ id }, { receivers: [other] })
  assert.equal(placed[1]?.refusal?.code, 73)
  replay()
  const again = await accept({ id, external_id: 'mine' })
  assert.deepEqual(again.reply_headers, { 'idempotency-replayed': 'true' })
})
