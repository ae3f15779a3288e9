// The SDK against a whole service: what a customer does with it, and what becomes of it when the
// network is bad.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { checkBooks } from 'penstock-service/ledger/books.ts'
import {
  AuthError,
  InvalidRequest,
  NotFound,
  Penstock,
  toSun,
} from '../../../packages/sdk/src/penstock.ts'
import { startSandbox } from '../../harness/sandbox.ts'
import { buyUnreliably } from '../../torture/sdk.ts'

const { api_url, customer, sandbox, control, sql, close } = await startSandbox()
after(close)
const penstock = new Penstock({ url: api_url, ...customer })
const [address, other] = sandbox.funded_accounts.map((account) => account.address) as [
  string,
  string,
]

test('subscriptions, screening and deposits are reached, and lists are read to their end', async () => {
  const [plan] = Object.keys(await penstock.subscriptions.plans())
  const start = { subscription_id: plan!, params: { address }, external_id: 'sub-1' }
  const subscription = await penstock.subscriptions.start(start)
  assert.equal((await penstock.subscriptions.start(start)).id, subscription.id)
  assert.equal((await penstock.subscriptions.check({ external_id: 'sub-1' })).address, address)
  const listed = await Array.fromAsync(penstock.subscriptions.list())
  assert.deepEqual(
    listed.map(({ id }) => id),
    [subscription.id],
  )

  assert.ok((await penstock.aml.prices()).length > 0)
  const wanted = { type: 'address', network: 'TRX', address } as const
  const made = await penstock.aml.create(wanted)
  const { idempotency_key } = made.lastResponse
  const same = await penstock.aml.create(wanted, { idempotency_key })
  assert.deepEqual([same.id, same.lastResponse.replayed], [made.id, true])
  const check = await penstock.aml.waitFor(made.id)
  assert.match(check.risk_score!, /^\d+\.\d$/)
  for (let number = 0; number < 60; number++) await penstock.aml.create(wanted)
  const checks = await Array.fromAsync(penstock.aml.list())
  assert.deepEqual([checks.length, new Set(checks.map(({ id }) => id)).size], [61, 61])

  const { rates } = await penstock.deposits.rechargeInfo()
  assert.ok(rates.length > 0)
  await assert.rejects(penstock.deposits.check('0'.repeat(64)), NotFound)
})

test('what the service refuses is an error of its own kind', async () => {
  const buy = (amount: number, external_id: string, who = penstock) =>
    who.orders.create({
      service: 'energy',
      params: { address, amount, duration: 1 },
      external_id,
    })
  await assert.rejects(buy(1, 'order-1'), { name: 'InvalidRequest', code: 11 })
  await assert.rejects(penstock.orders.check('nothing'), NotFound)
  await buy(65_000, 'order-2')
  await assert.rejects(
    buy(70_000, 'order-2'),
    (thrown) => thrown instanceof InvalidRequest && /external_id$/.test(thrown.key!),
  )
  const stranger = new Penstock({ url: api_url, token: customer.token, secret: 'pss_other' })
  await assert.rejects(buy(65_000, 'order-3', stranger), AuthError)
})

test('purchases through a proxy that loses, cuts, delays and doubles are made once', async () => {
  const purchases = 60
  const wanted = { api_url, access: customer, address: other, purchases, seed: 3 }
  const { ids, findings, happened } = await buyUnreliably(wanted)
  assert.deepEqual(findings, [])
  assert.ok(Object.keys(happened).length > 4, JSON.stringify(happened))
  assert.equal(ids.size, purchases)
  const rows = await sql<{ id: string; holds: bigint }>`
    select o.id, count(*) as holds from orders as o join transfer as t on t.id = 'order:' || o.id
    where o.address = ${other} group by o.id`
  assert.deepEqual(rows.map(({ id }) => id).sort(), [...ids.values()].sort())
  assert.ok(rows.every(({ holds }) => holds === 1n))
  assert.deepEqual(await checkBooks(sql), [])
})

test('a customer looks, buys, waits until it is delivered and until its hour is over', async () => {
  const { energy } = await penstock.services.list()
  assert.ok(energy.length > 0)
  const before = await penstock.balance.get()
  const price = await penstock.prices.calculate({ address, amount: 65_000, duration: 1 })
  const transfer = { from_address: address, to_address: other }
  assert.ok((await penstock.prices.estimate(transfer)).energy! > 10_000)

  const purchase = {
    service: 'energy',
    params: { address, amount: 65_000, duration: 1 },
    external_id: 'order-1',
  } as const
  const order = await penstock.orders.create(purchase)
  const again = await penstock.orders.create(purchase)
  assert.deepEqual([order.lastResponse.replayed, again.lastResponse.replayed], [false, true])
  assert.deepEqual([again.id, order.amount], [order.id, price.total])
  const delivered = await penstock.orders.waitFor(order.id)
  assert.match(delivered.hash!, /^[0-9a-f]{64}$/)
  assert.ok((await penstock.addresses.get(address)).resources.energy >= 65_000)
  const { balance } = await penstock.balance.get()
  assert.equal(toSun(before.balance) - toSun(balance), toSun(order.amount))

  await control('advance', { seconds: 3_700 })
  const ended = await penstock.orders.waitFor({ external_id: 'order-1' }, { until: 'ended' })
  assert.ok(ended.delegations.every(({ reclaim_hash }) => reclaim_hash))
})
