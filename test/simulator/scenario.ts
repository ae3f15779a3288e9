// Where a run takes place: a chain with staked wallets, people with and without accounts, and the
// numbers that make one run different from another. Keys are the same in all runs; everything else
// is drawn.

import { HDKey } from '@scure/bip32'
import { selectorOf, wordOfAddress, wordOfInteger } from 'penstock-devchain/calls/abi.ts'
import { leaveUnsigned } from 'penstock-devchain/chain/blocks.ts'
import { type Person, person, Scene, TRX } from 'penstock-devchain/scene.ts'
import { mainnetWeights } from 'penstock-devchain/state/parameters.ts'
import type { Wallets } from 'penstock-service/chain/wallets/wallet_file.ts'
import { type Address, addressFromBytes, addressToHex } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type { Dice } from './dice.ts'

export type Scenario = {
  scene: Scene
  wallets: Wallets
  /** Addresses that exist on the chain from the start, and some that do not. */
  active: Address[]
  inactive: Address[]
  payers: Person[]
  /** People with tokens, who spend energy when they send them to the shop. The last has no account
   *  at first. */
  subscribers: Person[]
  shop: Person
  /** Whom deposits are collected to. */
  safe: Person
  /** Owners of the pool wallets, and what each has staked at first, in sun. */
  pool: Person[]
  stakes: ReadonlyMap<Address, bigint>
  /** Every transaction that was in a block, also in one that a fork took back. */
  mined: ReadonlySet<string>
  rest_of_network: { energy_weight_trx: bigint; net_weight_trx: bigint }
}

/** Far above what a run asks for: what is refused is refused for another reason. */
const AMPLE = {
  delegated_trx_hour: 1_000_000_000,
  delegated_trx_day: 1_000_000_000,
  wallet_trx_hour: 1_000_000_000,
  wallet_trx_day: 1_000_000_000,
  delegations_minute: 1_000_000,
  activations_day: 1_000_000,
  refund_trx_day: 1_000_000_000,
  refunds_hour: 1_000_000,
}
const ACCOUNT = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).derive("m/44'/195'/0'")
/** What an operator has offline: the keys of the deposit addresses. */
export const DEPOSIT_SECRET = ACCOUNT.privateExtendedKey
const PAYERS = ['payer 1', 'payer 2']
const POOL_MAX = 3
const people = new Map<string, Person>()
/** Keys cost a millisecond each, and are the same in all runs. */
function personOf(name: string): Person {
  const known = people.get(name) ?? person(name)
  people.set(name, known)
  return known
}
const pool_people = Array.from({ length: POOL_MAX }, (_, i) => personOf(`pool ${i}`))
const activation_person = personOf('activation')
const recharge_person = personOf('recharge')
const refund_person = personOf('refund')
const payers = PAYERS.map(personOf)
const subscribers = ['subscriber 1', 'subscriber 2', 'subscriber 3'].map(personOf)
const shop = personOf('shop')
const safe = personOf('safe')

/** Stakes in whole TRX: enough for some orders, and in some runs for hardly one. A 32,000 energy
 *  order takes some 3,400. */
function drawStakes(dice: Dice): { energy: number; bandwidth: number }[] {
  const tight = dice.chance(0.3)
  return Array.from({ length: dice.between(1, POOL_MAX) }, () => ({
    energy: tight ? dice.between(2_000, 9_000) : dice.between(20_000, 90_000),
    bandwidth: tight ? dice.between(600, 1_500) : dice.between(3_000, 9_000),
  }))
}

const drawAddress = (dice: Dice): Address =>
  addressFromBytes(Uint8Array.of(0x41, ...dice.bytes(20)))

export function buildScenario(dice: Dice): Scenario {
  const stakes = drawStakes(dice)
  const pool = pool_people.slice(0, stakes.length)
  const funded = [...pool.map((_, i) => `pool ${i}`), 'refund', ...PAYERS]
  const active = Array.from({ length: dice.between(1, 3) }, () => drawAddress(dice))
  const balances = [
    ...funded.map((name) => ({ address: personOf(name).address, sun: 10_000_000n * TRX })),
    { address: activation_person.address, sun: dice.chance(0.1) ? TRX : 1_000n * TRX },
    ...[...active, recharge_person.address, safe.address].map((address) => ({ address, sun: TRX })),
    ...[...subscribers.slice(0, -1), shop].map(({ address }) => ({ address, sun: 1_000n * TRX })),
  ]
  const scene = new Scene(
    {},
    { solid_lag_blocks: dice.pick([2, 3, 3, 5, 18]), genesis_balances: balances },
  )
  // Nobody here verifies a block; signing each would take a quarter of the time.
  const mined = new Set<string>()
  scene.devchain.chain.onInput = (input) => {
    if (input.kind !== 'block') return
    leaveUnsigned(input.block)
    for (const { transaction } of input.block.transactions) mined.add(transaction.id)
  }
  for (const [i, { energy, bandwidth }] of stakes.entries()) {
    const freeze = (resource: string, trx: number) =>
      scene.send(pool[i]!, 'FreezeBalanceV2Contract', {
        frozen_balance: BigInt(trx) * TRX,
        resource,
      })
    freeze('ENERGY', energy)
    freeze('BANDWIDTH', bandwidth)
  }
  for (const { address } of subscribers)
    scene.post('/devchain/mint', { address, amount: 1_000_000_000n })
  // Who holds some already costs less to send to.
  scene.post('/devchain/mint', { address: shop.address, amount: 1n })
  scene.mine()
  const wallet = ({ address, key }: Person) => ({ address, permission_id: 0, private_key: key })
  return {
    scene,
    wallets: {
      pool: pool.map(wallet),
      activation: wallet(activation_person),
      ...(dice.chance(0.7) && { refund: wallet(refund_person) }),
      votes: pool.map(wallet),
      recharge_address: recharge_person.address,
      deposit_xpub: ACCOUNT.publicExtendedKey,
      limits: { ...AMPLE },
    },
    active,
    inactive: Array.from({ length: dice.between(1, 2) }, () => drawAddress(dice)),
    payers,
    subscribers,
    shop,
    safe,
    pool,
    stakes: new Map(
      stakes.map(({ energy, bandwidth }, i) => [
        pool[i]!.address,
        BigInt(energy + bandwidth) * TRX,
      ]),
    ),
    mined,
    rest_of_network: mainnetWeights,
  }
}

/** Sends TRX from somebody outside to an address, straight to the chain. Returns whether the chain
 *  took it. */
export function pay(
  scenario: Scenario,
  from: Person,
  payment: { to: Address; sun: bigint },
): boolean {
  const { to, sun } = payment
  return (
    scenario.scene.send(from, 'TransferContract', { to_address: addressToHex(to), amount: sun })
      .result === true
  )
}

/** Sends a token to the shop, which takes energy. Returns whether the chain took it. */
export function spendEnergy(scenario: Scenario, from: Person): boolean {
  return sendToken(scenario, from, scenario.shop.address)
}

/** Sends the least of a token there is. Returns whether the chain took it. */
export function sendToken(scenario: Scenario, from: Person, to: Address): boolean {
  const data =
    selectorOf('transfer(address,uint256)') + wordOfAddress(addressToHex(to)) + wordOfInteger(1n)
  const message = { contract_address: addressToHex(USDT), data }
  return (
    scenario.scene.send(from, 'TriggerSmartContract', message, { fee_limit: 1_000n * TRX })
      .result === true
  )
}
