// Traffic: small transfers around a ring of accounts, so that blocks are not empty.

import { bytesToHex } from '@noble/hashes/utils.js'
import { addressToHex } from '../src/tron/address.ts'
import { addressOf, type PrivateKey, sign } from '../src/tron/keys.ts'
import { contract, encodeRawData, encodeTransaction, transactionId } from '../src/tron/transaction.ts'
import { referenceTo } from './blocks.ts'
import type { Devchain } from './devchain.ts'

/** Sends `per_block` transfers of a few sun, now and whenever `next` is called; needs two accounts at least. */
export function startTraffic(devchain: Devchain, keys: readonly PrivateKey[], per_block: number): { next(): void } {
  const people = keys.map((key) => ({ key, address: addressToHex(addressOf(key)) }))
  if (people.length < 2) throw new TypeError('traffic needs two accounts at least')
  let sent = 0
  function next(): void {
    for (let count = 0; count < per_block; count++, sent++) {
      const from = people[sent % people.length]!
      const to = people[(sent + 1) % people.length]!
      const head_ms = devchain.head.header.timestamp
      const raw = encodeRawData({
        ...referenceTo(devchain.solid),
        expiration: head_ms + 60_000,
        timestamp: head_ms + sent,
        contract: [contract('TransferContract', { owner_address: from.address, to_address: to.address, amount: 1n })],
      })
      const bytes = encodeTransaction(raw, [sign(transactionId(raw), from.key)])
      devchain.request('POST', '/wallet/broadcasthex', JSON.stringify({ transaction: bytesToHex(bytes) }))
    }
  }
  next()
  return { next }
}
