// Traffic: people who send each other TRX and tokens, and deal with a few services,
// so that anyone who reads blocks has something to read. Who sends what to whom follows from the
// seed. The services are labelled: what a list of known addresses would say of them.

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey, sign } from 'penstock-tron/keys.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  contract,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'
import { selectorOf, wordOfAddress, wordOfInteger } from './calls/abi.ts'
import { referenceTo } from './chain/blocks.ts'
import { type Devchain, USDT } from './devchain.ts'
import { RandomSeries } from './http/faults.ts'
import { accountOf } from './state/accounts.ts'

const TRX = 1_000_000n
const PEOPLE = 60
const PURSE_SUN = 20_000n * TRX
const PURSE_USDT = 20_000n * TRX
const STAKE_SUN = 15_000n * TRX
const FEE_LIMIT_SUN = 100n * TRX
/** How often a transfer has a service at one end, and how often it is of tokens. */
const SERVICE_SHARE = 0.5
const TOKEN_SHARE = 0.6

/** An address of the traffic. */
export type Label = { readonly address: Address; readonly name: string; readonly category: string }

const services: readonly (readonly [name: string, category: string])[] = [
  ['Harbour Exchange', 'exchange'],
  ['Lantern Exchange', 'exchange'],
  ['Plain Payments', 'payment_processor'],
  ['Red Dice', 'gambling'],
  ['Fog Mixer', 'mixer'],
  ['Old Bridge', 'bridge'],
  ['Basement Market', 'darknet_market'],
  ['Number Nine', 'sanctions'],
]

type Person = { readonly key: PrivateKey; readonly hex: string }

const usdt = addressToHex(USDT)

export class Traffic {
  /** The services they use. */
  readonly labels: readonly Label[]
  private readonly devchain: Devchain
  private readonly people: readonly Person[]
  private readonly shops: readonly Person[]
  private readonly random: RandomSeries
  private sent = 0

  /** Founds the accounts: anyone who is not on the chain yet gets TRX, USDT and a stake. */
  constructor(devchain: Devchain, seed: string) {
    this.devchain = devchain
    this.random = new RandomSeries(`${seed} traffic`)
    const personOf = (name: string): Person => {
      const key = bytesToHex(sha256(utf8ToBytes(`${seed} ${name}`)))
      return { key, hex: addressToHex(addressOf(key)) }
    }
    this.people = Array.from({ length: PEOPLE }, (_, index) => personOf(`person ${index}`))
    this.shops = services.map(([name]) => personOf(name))
    this.labels = services.map(([name, category], index) => {
      return { address: addressOf(this.shops[index]!.key), name, category }
    })
    const everybody = [...this.people, ...this.shops]
    const newcomers = everybody.filter(({ hex }) => !accountOf(devchain.chain.headView(), hex))
    for (const { hex } of newcomers) {
      devchain.chain.decree({ kind: 'fund', address: hex, sun: PURSE_SUN })
      devchain.chain.decree({ kind: 'mint', token: usdt, address: hex, amount: PURSE_USDT })
    }
    for (const one of newcomers) {
      this.send(one, 'FreezeBalanceV2Contract', { frozen_balance: STAKE_SUN, resource: 'ENERGY' })
    }
  }

  /** Sends that many transfers. */
  next(transfers: number): void {
    for (let count = 0; count < transfers; count++) this.transfer()
  }

  private pick<Item>(list: readonly Item[]): Item {
    return list[Math.floor(this.random.next() * list.length)]!
  }

  private transfer(): void {
    const [one, other] = [this.pick(this.people), this.pick(this.people)]
    const [from, to] =
      this.random.next() >= SERVICE_SHARE
        ? [one, other]
        : this.random.next() < 0.5
          ? [one, this.pick(this.shops)]
          : [this.pick(this.shops), one]
    if (from === to) return
    // Many small sums and few large ones.
    const amount = BigInt(Math.floor(10 ** (4 + 4 * this.random.next())))
    if (this.random.next() >= TOKEN_SHARE)
      this.send(from, 'TransferContract', { to_address: to.hex, amount })
    else {
      const data =
        selectorOf('transfer(address,uint256)') + wordOfAddress(to.hex) + wordOfInteger(amount)
      this.send(from, 'TriggerSmartContract', { contract_address: usdt, data })
    }
  }

  /** A refused transaction is not sent again. */
  private send(from: Person, type: string, message: Message): void {
    const head_ms = this.devchain.head.header.timestamp
    const raw = encodeRawData({
      ...referenceTo(this.devchain.solid),
      expiration: head_ms + 60_000,
      timestamp: head_ms + this.sent++,
      contract: [contract(type, { owner_address: from.hex, ...message })],
      ...(type === 'TriggerSmartContract' ? { fee_limit: FEE_LIMIT_SUN } : {}),
    })
    const bytes = encodeTransaction(raw, [sign(transactionId(raw), from.key)])
    this.devchain.request(
      'POST',
      '/wallet/broadcasthex',
      JSON.stringify({ transaction: bytesToHex(bytes) }),
    )
  }
}
