// An order, its parts and its record in the form that goes over the wire.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, now, OrderBook } from 'penstock-test/harness/order_book.ts'
import type { Delegation } from '../pool/delegations.ts'
import {
  AddressText,
  noOrder,
  type Order,
  printDelegation,
  printOrder,
  printParams,
  purchaseRecord,
} from './forms.ts'

const ACTOR = { customer_id: 'anna', key_id: 'key' }

test('what was bought is shown with the amounts that it has, and no others', () => {
  const of = (service: Order['service'], energy: bigint, bandwidth: bigint) =>
    printParams({ service, address: 'bob', energy, bandwidth, activate: false })
  const shared = { address: 'bob', duration: 1, activate_address: false }
  assert.deepEqual(of('energy', 1n, 0n), { ...shared, amounts: { energy: 1 } })
  assert.deepEqual(of('bandwidth', 0n, 1n), { ...shared, amounts: { bandwidth: 1 } })
  assert.deepEqual(of('resource_bundle', 2n, 3n), {
    ...shared,
    amounts: { energy: 2, bandwidth: 3 },
  })
  assert.deepEqual(of('activate_address', 0n, 0n), { address: 'bob', activate_address: true })
})

test('an order shows its transaction once it is a success, and its record its quote', async (t) => {
  const book = await OrderBook.of(t)
  await book.order('one')
  const [order] = await book.read('one')
  const hashOf = (more: Partial<Order>) => {
    const printed = printOrder({ ...order!, ...more })
    return 'hash' in printed ? printed.hash : 'none'
  }
  assert.equal(hashOf({ state: 'success', tx_id: 'tx' }), 'tx')
  assert.equal(hashOf({ state: 'pending', tx_id: 'tx' }), 'none')
  assert.equal(hashOf({ state: 'failed', tx_id: 'tx' }), 'none')
  assert.equal(hashOf({ state: 'success' }), 'none')
  const plain = purchaseRecord(ACTOR, order!)
  const by_quote = purchaseRecord(ACTOR, { ...order!, quote_id: 'q1' })
  assert.deepEqual([plain.action, plain.subject], ['transaction/new', 'order:one'])
  assert.equal(by_quote.action, 'quote/accept')
  assert.deepEqual(by_quote.after, { ...plain.after, quote_id: 'q1' })
  assert.equal('quote_id' in plain.after!, false)
})

test('a part shows what took it back, and when, as far as something has', () => {
  const one: Delegation & { tx_id: string; reclaim_tx_id: string | null } = {
    id: 'd1',
    order_id: 'one',
    wallet: 'wallet',
    receiver: 'bob',
    resource: 'energy',
    amount: 50n,
    stake_sun: 1_000_000n,
    state: 'active',
    attempt_id: 'a1',
    reclaim_id: null,
    delegated_at: ago(60),
    expires_at: now,
    reclaimed_at: null,
    tx_id: 'tx',
    reclaim_tx_id: null,
  }
  const time = now.toISOString().replace('.000', '')
  const active = { resource: 'energy', amount: 50, hash: 'tx', expires_at: time }
  assert.deepEqual(printDelegation(one), active)
  const asked = { ...active, reclaim_hash: 'back' }
  assert.deepEqual(printDelegation({ ...one, reclaim_tx_id: 'back' }), asked)
  const ended = { ...one, reclaim_tx_id: 'back', reclaimed_at: now }
  assert.deepEqual(printDelegation(ended), { ...asked, reclaimed_at: time })
})

test('what is not found is named by the id that was asked for; texts are described', () => {
  assert.equal(noOrder({ id: null }).about?.param, 'external_id')
  assert.equal(noOrder({ id: '1' }).about?.param, 'id')
  assert.equal('description' in AddressText(), false)
  assert.match(JSON.stringify(AddressText('Who receives it')), /Who receives it/)
})
