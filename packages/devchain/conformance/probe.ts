// A node as the conformance suite sees it: an address that answers HTTP, and a key with some TRX.
// Nothing here knows which node it is; blocks are waited for, never asked for.

import { setTimeout as delay } from 'node:timers/promises'
import { bytesToHex } from '@noble/hashes/utils.js'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { addressOf, newPrivateKey, type PrivateKey, sign } from 'penstock-tron/keys.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  contract,
  encodeRawData,
  encodeTransaction,
  type RawData,
  transactionId,
} from 'penstock-tron/transaction.ts'
import { parseJson } from '../state/json.ts'

export type Json = { [name: string]: unknown }
export type Reply = { readonly status: number; readonly text: string; readonly json: Json }

export type ProbeOptions = {
  readonly url: string
  /** Where `/walletsolidity` is; the same address when absent. */
  readonly solid_url?: string | undefined
  readonly key: PrivateKey
  /** A TRC20 token to ask about; the checks of calls are not run without one. */
  readonly token?: Address | undefined
  /** How often to look for what is waited for, and for how long. */
  readonly poll_ms: number
  readonly patience_ms: number
}

export type Party = { readonly key: PrivateKey; readonly address: Address; readonly hex: string }

const partyOf = (key: PrivateKey): Party => {
  const address = addressOf(key)
  return { key, address, hex: addressToHex(address) }
}

/** Somebody whom no chain knows. */
export const stranger = (): Party => partyOf(newPrivateKey())

/** A transaction that is signed and not sent. */
export type SignedBytes = {
  readonly id: string
  readonly hex: string
  readonly raw: Uint8Array
  readonly bytes: number
}

export type Envelope = Partial<RawData> & {
  readonly signer?: Party
  readonly permission_id?: number
}

export class Probe {
  readonly me: Party
  readonly token: Address | undefined
  private readonly options: ProbeOptions
  private sent = 0

  constructor(options: ProbeOptions) {
    this.options = options
    this.me = partyOf(options.key)
    this.token = options.token
  }

  /** Whether anything answers there. */
  async answers(): Promise<boolean> {
    try {
      return typeof (await this.get('/wallet/getnowblock')).json.blockID === 'string'
    } catch {
      return false
    }
  }

  async post(path: string, body: object | string = {}): Promise<Reply> {
    const text = typeof body === 'string' ? body : printNumbers(body)
    return this.ask(path, {
      method: 'POST',
      body: text,
      headers: { 'content-type': 'application/json' },
    })
  }

  async get(path: string): Promise<Reply> {
    return this.ask(path, {})
  }

  private async ask(path: string, init: RequestInit): Promise<Reply> {
    const { url, solid_url = url, patience_ms } = this.options
    const root = path.startsWith('/walletsolidity/') ? solid_url : url
    const response = await fetch(`${root.replace(/\/+$/, '')}${path}`, {
      ...init,
      signal: AbortSignal.timeout(patience_ms),
    })
    const text = await response.text()
    return { status: response.status, text, json: readObject(text) }
  }

  /** Asks again until an answer is as wanted. Throws when patience is at its end. */
  async until<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
    const { poll_ms, patience_ms } = this.options
    for (let waited_ms = 0; waited_ms <= patience_ms; waited_ms += poll_ms) {
      const found = await look()
      if (found !== undefined) return found
      await delay(poll_ms)
    }
    throw new Error(`${what} did not come within ${patience_ms / 1000} s`)
  }

  async head(): Promise<Json> {
    return (await this.get('/wallet/getnowblock')).json
  }

  async balance(who: Party): Promise<bigint> {
    const { json } = await this.post('/wallet/getaccount', { address: who.hex })
    return BigInt((json.balance ?? 0) as number | bigint)
  }

  /** Signs a transaction that refers to the solid block. */
  async signed(type: string, message: Message, envelope: Envelope = {}): Promise<SignedBytes> {
    const { signer = this.me, permission_id = 0, ...rest } = envelope
    const block = (await this.get('/walletsolidity/getnowblock')).json
    const id_of_block = String(block.blockID)
    const head_ms = timeOf(await this.head())
    const raw = encodeRawData({
      ref_block_bytes: id_of_block.slice(12, 16),
      ref_block_hash: id_of_block.slice(16, 32),
      expiration: head_ms + 60_000,
      timestamp: head_ms + this.sent++,
      contract: [contract(type, { owner_address: this.me.hex, ...message }, permission_id)],
      ...rest,
    })
    const id = transactionId(raw)
    const whole = encodeTransaction(raw, [sign(id, signer.key)])
    return { id, raw, hex: bytesToHex(whole), bytes: whole.length }
  }

  async broadcast({ hex }: SignedBytes): Promise<Json> {
    return (await this.post('/wallet/broadcasthex', { transaction: hex })).json
  }

  /** Sends, and waits for the receipt on the head's side. Throws with the node's words when it is
   *  not taken. */
  async settle(
    type: string,
    message: Message,
    envelope: Envelope = {},
  ): Promise<Json & { bytes: number }> {
    const transaction = await this.signed(type, message, envelope)
    const answer = await this.broadcast(transaction)
    if (answer.result !== true)
      throw new Error(`${type} was refused: ${answer.code} ${answer.message}`)
    const receipt = await this.receipt(transaction.id, 'wallet')
    return { ...receipt, bytes: transaction.bytes }
  }

  /** The receipt of a transaction, once there is one. */
  async receipt(id: string, root: 'wallet' | 'walletsolidity'): Promise<Json> {
    return this.until(`the receipt of ${id} on /${root}`, async () => {
      const { json } = await this.post(`/${root}/gettransactioninfobyid`, { value: id })
      return json.id === id ? json : undefined
    })
  }
}

export const headerOf = (block: Json): Json => (block.block_header as Json).raw_data as Json
export const timeOf = (block: Json): number => Number(headerOf(block).timestamp)
export const numberOf = (block: Json): number => Number(headerOf(block).number ?? 0)
export const utf8Of = (hex: unknown): string => Buffer.from(String(hex), 'hex').toString('utf8')

/** JSON with bigint as number literals. */
function printNumbers(body: object): string {
  return JSON.stringify(body, (_name, value) =>
    typeof value === 'bigint' ? JSON.rawJSON(value.toString()) : value,
  )
}

/** Answers that are no JSON object are told apart by their text. */
function readObject(text: string): Json {
  try {
    const parsed = parseJson(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Json) : {}
  } catch {
    return {}
  }
}
