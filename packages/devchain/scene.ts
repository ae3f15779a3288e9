// A chain with a few funded keys, and the shortest way to sign, send and look: what the tests of
// this folder stand on.

import { bytesToHex } from '@noble/hashes/utils.js'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey, sign } from 'penstock-tron/keys.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  contract,
  encodeRawData,
  encodeTransaction,
  type RawData,
  transactionId,
} from 'penstock-tron/transaction.ts'
import { type Block, leaveUnsigned, referenceTo } from './chain/blocks.ts'
import { Devchain, type DevchainOptions } from './devchain.ts'
import { parseJson } from './state/json.ts'
import { totalsOf } from './state/state.ts'

export const TRX = 1_000_000n
export const GENESIS_MS = 1_780_000_000_000 - (1_780_000_000_000 % 3000)

/** The key of a name: the same in every test. */
export function keyOf(name: string): PrivateKey {
  const bytes = new TextEncoder().encode(name.padStart(32, '.'))
  return bytesToHex(bytes.subarray(0, 32))
}

export type Person = { readonly key: PrivateKey; readonly address: Address; readonly hex: string }

const people = new Map<string, Person>()

/** Somebody with the key of a name. */
export function person(name: string): Person {
  const known = people.get(name)
  if (known) return known
  const key = keyOf(name)
  const address = addressOf(key)
  const made = { key, address, hex: addressToHex(address) }
  people.set(name, made)
  return made
}

export type Answer = { [name: string]: unknown }

/** Options of a transaction beyond its contract. */
export type Extras = Partial<RawData> & { permission_id?: number; keys?: PrivateKey[] }

export class Scene {
  readonly devchain: Devchain
  private sent = 0

  constructor(funded: Record<string, bigint> = {}, options: Partial<DevchainOptions> = {}) {
    const genesis_balances = Object.entries(funded).map(([name, sun]) => ({
      address: person(name).address,
      sun,
    }))
    this.devchain = new Devchain({ genesis_time_ms: GENESIS_MS, genesis_balances, ...options })
  }

  /** Saves a tenth of the time of those who verify no block. */
  leaveBlocksUnsigned(): void {
    this.devchain.chain.onInput = (input) => {
      if (input.kind === 'block') leaveUnsigned(input.block)
    }
  }

  /** POST of JSON, answered as JSON. */
  post(path: string, body: Message = {}): Answer {
    const text = JSON.stringify(body, (_name, value) =>
      typeof value === 'bigint' ? Number(value) : value,
    )
    return parseJson(this.devchain.request('POST', path, text).body) as Answer
  }

  get(path: string): Answer {
    return parseJson(this.devchain.request('GET', path, '').body) as Answer
  }

  /** A signed transaction as bytes and id; every one is different. */
  signed(
    signer: Person,
    type: string,
    message: Message,
    extras: Extras = {},
  ): { id: string; hex: string; raw: Uint8Array } {
    const { permission_id = 0, keys = [signer.key], ...rest } = extras
    const head = this.devchain.head
    const raw = encodeRawData({
      ...referenceTo(head),
      expiration: head.header.timestamp + 60_000,
      timestamp: head.header.timestamp + this.sent++,
      contract: [contract(type, { owner_address: signer.hex, ...message }, permission_id)],
      ...rest,
    })
    const id = transactionId(raw)
    const signatures = keys.map((key) => sign(id, key))
    return { id, hex: bytesToHex(encodeTransaction(raw, signatures)), raw }
  }

  /** Signs and broadcasts. The node's answer: `{ result, code, message, txid }`. */
  send(signer: Person, type: string, message: Message, extras: Extras = {}): Answer {
    return this.post('/wallet/broadcasthex', {
      transaction: this.signed(signer, type, message, extras).hex,
    })
  }

  /** Sends and makes a block. Throws with the node's words when the chain does not take it; returns
   *  the receipt. */
  do(signer: Person, type: string, message: Message, extras: Extras = {}): Answer {
    const answer = this.send(signer, type, message, extras)
    if (answer.result !== true) throw new Error(`${answer.code}: ${answer.message}`)
    this.mine()
    const receipt = this.post('/wallet/gettransactioninfobyid', { value: answer.txid })
    if (receipt.id !== answer.txid) throw new Error(`${type} was not included`)
    return receipt
  }

  mine(blocks = 1): Block {
    let block = this.devchain.head
    for (let made = 0; made < blocks; made++) block = this.devchain.mine()
    return block
  }

  /** Moves the chain's clock forward. */
  wait(seconds: number): Block {
    return this.devchain.mine(this.devchain.head.header.timestamp + seconds * 1000)
  }

  account({ hex }: Person): Answer {
    return this.post('/wallet/getaccount', { address: hex })
  }

  resources({ hex }: Person): Answer {
    return this.post('/wallet/getaccountresource', { address: hex })
  }

  balance(who: Person): bigint {
    return BigInt((this.account(who).balance ?? 0) as number | bigint)
  }
}

/** Every sun of the chain's head state, by where it is; what was issued is what all of it adds up
 *  to. */
export function audit(devchain: Devchain): {
  held_sun: bigint
  burned_sun: bigint
  issued_sun: bigint
} {
  const { head_state } = devchain.chain
  let held_sun = 0n
  for (const [, account] of head_state.entries('account')) {
    const { balance, frozen, delegated, unfreezing } = account!
    held_sun +=
      balance +
      frozen.BANDWIDTH +
      frozen.ENERGY +
      frozen.TRON_POWER +
      delegated.BANDWIDTH +
      delegated.ENERGY
    held_sun += unfreezing.reduce((sum, { sun }) => sum + sun, 0n)
  }
  const { burned_sun, issued_sun } = totalsOf(head_state)
  return { held_sun, burned_sun, issued_sun }
}
