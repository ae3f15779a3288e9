// What a request to buy asks for, from whichever field, and which mistake in it is answered first.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { Fault } from '../../lib/fault.ts'
import { type Json, OtherNumber } from '../../lib/json.ts'
import type { Prices, Tier } from '../prices/prices.ts'
import { type PurchaseBody, readAmount, readPurchase, type Service } from './amounts.ts'

const tier = (resource: Tier['resource'], min_amount: number, max_amount: number): Tier => ({
  resource,
  duration_hours: 1,
  min_amount,
  max_amount,
  price_sun: 1n,
})

const PRICES: Prices = {
  tiers: [tier('energy', 100, 200), tier('bandwidth', 10, 20)],
  activation_sun: 1n,
  on_sale: new Set(),
}

const { address } = person('bob')

/** The code, and the field that it is about. */
const refusal = ({ code, about }: Fault) => `${code} ${about?.param}`

function thrown(work: () => unknown): string {
  try {
    return `${work()}`
  } catch (fault) {
    assert.ok(fault instanceof Fault)
    return refusal(fault)
  }
}

type Params = PurchaseBody['params']

/** So much energy, so much bandwidth, and what is only noted; or the refusal. */
const read = (service: Service, params: Params) =>
  thrown(() => {
    const wanted = { service, params: { address, duration: 1, ...params } }
    const { energy, bandwidth, refusal: noted } = readPurchase(wanted, PRICES)
    return `${energy} ${bandwidth}${noted ? ` but ${refusal(noted)}` : ''}`
  })

type Case = [params: Params, read: string]

function readEach(service: Service, cases: readonly Case[]): void {
  for (const [params, expected] of cases)
    assert.equal(read(service, params), expected, JSON.stringify(params))
}

const other = (text: string) => new OtherNumber(text)

test('energy is asked for in one of three fields, of which the first that is there counts', () => {
  readEach('energy', [
    [{ amounts: { energy: 100 } }, '100 0'],
    [{ amount: 100 }, '100 0'],
    [{ energy_amount: 100 }, '100 0'],
    [{ amounts: { energy: 100 }, amount: 150, energy_amount: 151 }, '100 0'],
    [{ amount: 150, energy_amount: 151 }, '150 0'],
    ...[{}, [], null, '', undefined, { energy: null }, { energy: '' }].map(
      (amounts): Case => [{ amounts, amount: 150 }, '150 0'],
    ),
    [{ amount: null, energy_amount: 151 }, '151 0'],
  ])
})

test('an amount must be one that is sold; one above 0 is refused only when it is new', () => {
  readEach('energy', [
    [{ amount: 200 }, '200 0'],
    [{ amount: 201 }, '201 0 but 11 params.amount'],
    [{ amount: 99 }, '99 0 but 11 params.amount'],
    [{ amount: 1 }, '1 0 but 11 params.amount'],
    [{ amount: 0 }, '11 params.amount'],
    [{ amount: -1 }, '11 params.amount'],
    [{ amount: '100' }, '11 params.amount'],
    [{ amount: other('100.5') }, '11 params.amount'],
    [{ energy_amount: 99 }, '99 0 but 11 params.energy_amount'],
    [{ amounts: { energy: 99 }, amount: 100 }, '99 0 but 11 params.amounts.energy'],
    [{ amounts: 5, amount: 100 }, '11 params.amounts'],
    [{ amounts: [5], amount: 100 }, '11 params.amounts'],
    [{}, '11 params.amount'],
    [{ amounts: {} }, '11 params.amount'],
    [{ amounts: { bandwidth: 0 } }, '11 params.amounts.energy'],
  ])
})

test('of what a service has not, nothing may be asked for', () => {
  const BANDWIDTH = '2 params.amounts.bandwidth'
  const cases: [asked: Json, read: string][] = [
    [1, BANDWIDTH],
    [other('0.5'), BANDWIDTH],
    ['text', BANDWIDTH],
    [{}, BANDWIDTH],
    ...[0, -1, null, '', other('0.0'), other('-1.5')].map((asked): [Json, string] => [
      asked,
      '100 0',
    ]),
  ]
  for (const [bandwidth, expected] of cases)
    assert.equal(read('energy', { amounts: { energy: 100, bandwidth } }), expected, `${bandwidth}`)
  readEach('bandwidth', [
    [{ amounts: { bandwidth: 10 } }, '0 10'],
    [{ amounts: { bandwidth: 10, energy: 1 } }, '2 params.amounts.energy'],
    [{ amount: 10 }, '0 10'],
    [{ amount: 9 }, '0 9 but 50 params.amount'],
    [{ energy_amount: 10 }, '50 params.amount'],
  ])
  readEach('activate_address', [
    [{}, '0 0'],
    [{ amounts: { energy: 0, bandwidth: 0 } }, '0 0'],
    [{ amounts: { energy: 1 } }, '2 params.amounts.energy'],
  ])
})

test('a bundle has both of its amounts, each in its own field', () => {
  readEach('resource_bundle', [
    [{ amounts: { energy: 100, bandwidth: 10 } }, '100 10'],
    [{ amounts: { energy: 99, bandwidth: 10 } }, '99 10 but 11 params.amounts.energy'],
    [{ amounts: { energy: 100, bandwidth: 9 } }, '100 9 but 50 params.amounts.bandwidth'],
    [{ amounts: { energy: 99, bandwidth: 9 } }, '99 9 but 11 params.amounts.energy'],
    [{ amounts: { energy: 99, bandwidth: 0 } }, '11 params.amounts.energy'],
    [{ amounts: { energy: 100 }, amount: 10 }, '50 params.amounts.bandwidth'],
    [{ amounts: {} }, '11 params.amounts.energy'],
    [{ amount: 100 }, '2 params.amounts'],
    [{ amounts: 5 }, '2 params.amounts'],
  ])
})

test('an activation is bought by its service or by its flag, and lasts longer than an hour', () => {
  const activates = (service: Service, params: Params) =>
    readPurchase({ service, params: { address, duration: 1, amount: 100, ...params } }, PRICES)
      .activate
  assert.equal(activates('energy', {}), false)
  assert.equal(activates('energy', { activate_address: false }), false)
  assert.equal(activates('energy', { activate_address: true }), true)
  assert.equal(activates('activate_address', {}), true)
  assert.equal(activates('activate_address', { duration: 5 }), true)
  readEach('energy', [
    [{ duration: 2, amount: 100 }, '12 params.duration'],
    [{ address: 'bob', amount: 100 }, '10 params.address'],
    [{ activate_address: 'yes', amount: 100 }, '2 params.activate_address'],
  ])
})

test('an amount alone is the first that is there, and must be sold', () => {
  const amount = (...values: (Json | undefined)[]) =>
    thrown(() =>
      readAmount(
        'energy',
        values.map((value, i) => [`field${i}`, value] as const),
        PRICES,
      ),
    )
  assert.equal(amount(100, 150), '100')
  assert.equal(amount(undefined, null, 150), '150')
  assert.equal(amount(undefined, 99), '11 field1')
  assert.equal(amount('100'), '11 field0')
  assert.equal(amount(undefined, undefined), '11 field0')
})
