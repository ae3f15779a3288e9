// What tests of subscriptions share: people who really spend energy, by sending tokens, and what
// the wire says of them.

import assert from 'node:assert/strict'
import { selectorOf, wordOfAddress, wordOfInteger } from 'penstock-devchain/calls/abi.ts'
import type { Person } from 'penstock-devchain/scene.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { type Customer, TRX, type World } from './world.ts'

export type Subscription = {
  id: string
  subscription_id: string
  created_at: string
  expire_at?: string | null
  stopped_at?: string | null
  address?: string
  status: string
  external_id: string | null
  params: {
    address: string
    duration: number
    transactions_limit: number
    activate_address: boolean
  }
  held?: number
}

export type SubscriptionItem = {
  id: string
  status: string
  transactions_limit: number
  transactions_used: number
  energy_used: number
  total_price: number
  started_at: string | null
  renewed_at: string | null
  stopped_at: string | null
  expire_at: string | null
  created_at: string
  reason?: string
  held?: number
}

export const PER_TRANSACTION = 65_000
export const START = '/v1/subscription/start'

export const wanted = (address: string, params: object = {}, more: object = {}) => ({
  subscription_id: 'unlimited_energy',
  params: { address, duration: 0, transactions_limit: 0, ...params },
  ...more,
})

/** Somebody with tokens to send, and TRX for what energy does not cover. */
export function sender(world: World, name = 'bob', trx = 1_000): Person {
  const bob = world.person(name, trx)
  world.scene.post('/devchain/mint', { address: bob.address, amount: 1_000_000_000n })
  // Who holds some already costs less to send to.
  world.scene.post('/devchain/mint', { address: world.person('shop', 1).address, amount: 1n })
  return bob
}

/** Puts a transfer of tokens into the next block. */
export function sendTokens(world: World, from: Person, to: Person = world.person('shop')): string {
  const data = selectorOf('transfer(address,uint256)') + wordOfAddress(to.hex) + wordOfInteger(1n)
  const message = { contract_address: addressToHex(USDT), data }
  const answer = world.scene.send(from, 'TriggerSmartContract', message, {
    fee_limit: 1_000n * TRX,
  })
  assert.equal(answer.result, true, String(answer.message))
  return String(answer.txid)
}

/** Sends tokens and lets the service see the block. Returns the energy that it took. */
export async function use(world: World, from: Person, to?: Person): Promise<number> {
  const tx_id = sendTokens(world, from, to)
  world.mine()
  await world.drain()
  const { receipt } = world.scene.post('/wallet/gettransactioninfobyid', { value: tx_id }) as {
    receipt: { energy_usage_total: number }
  }
  return Number(receipt.energy_usage_total)
}

/** Starts one, and waits until it is active. */
export async function subscribe(world: World, who: Customer, body: object): Promise<Subscription> {
  const started = await who.get<Subscription>(START, body)
  await world.settle()
  const now = await check(who, started.id)
  assert.equal(now.status, 'active')
  return now
}

export const check = (who: Customer, id: string) =>
  who.get<Subscription>('/v1/subscription/check', { id })

export async function listed(who: Customer, id: string): Promise<SubscriptionItem> {
  const { items } = await who.get<{ items: SubscriptionItem[] }>('/v1/subscriptions/history', {
    per_page: 50,
  })
  return items.find((item) => item.id === id)!
}

export const energyLeft = async (world: World, { address }: Person) =>
  Number((await world.node.resource(address, 'energy')).left)

export const expiryOf = (created_at: string, days: number) =>
  `${new Date(Date.parse(created_at) + days * 86_400_000).toISOString().slice(0, 19)}Z`
