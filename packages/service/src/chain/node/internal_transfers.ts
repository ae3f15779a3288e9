// What contracts did within a transaction, as a node shows it. A node that runs with
// `vm.saveFeaturedInternalTx` shows operations on stakes in the form of transfers: only the note
// tells them apart, and only three notes move value. What is known to move nothing is dropped; what
// is not known is handed on as such, and is money for nobody.

import type { Address } from 'penstock-tron/address.ts'
import { addressOf, fieldsOf, integer, keptName, listOf, text } from './answers.ts'

/** Sent by a contract: TRX when `asset` is undefined. */
export type InternalTransfer = {
  from: Address
  to: Address
  amount: bigint
  asset: string | undefined
}
/** An internal transaction with a note that says nothing to us: whether it moved anything is not
 *  known. */
export type UnknownInternal = InternalTransfer & { note: string }

export type Internals = {
  transfers: InternalTransfer[]
  unknown: UnknownInternal[]
  /** Entries of any kind: none at all is what a node shows that does not keep them. */
  shown: number
}

const hexOf = (note: string) => Buffer.from(note).toString('hex')
const MOVING = new Set(['call', 'create', 'suicide'].map(hexOf))

/** Operations on stakes, votes and rewards, as java-tron notes them; those of resources end with
 *  the resource's name. */
const STAKES = [
  ...['freezeFor', 'unfreezeFor', 'freezeBalanceV2For', 'unfreezeBalanceV2For'],
  ...['delegateResourceOf', 'unDelegateResourceOf'],
].flatMap((name) =>
  ['Bandwidth', 'Energy', 'TronPower', 'UnknownType'].map((resource) => name + resource),
)
const OTHERS = [
  ...['voteWitness', 'withdrawReward', 'withdrawExpireUnfreeze', 'cancelAllUnfreezeV2'],
  ...['withdrawExpireUnfreezeWhileCanceling', 'withdrawExpireUnfreezeWhileUnfreezing'],
]
const MOVING_NOTHING = new Set([...STAKES, ...OTHERS].map(hexOf))

export function internalsOf(given: unknown, tx_id: string): Internals {
  const list = listOf(given, tx_id)
  const internals: Internals = { transfers: [], unknown: [], shown: list.length }
  for (const one of list) {
    const {
      caller_address,
      transferTo_address,
      callValueInfo,
      rejected,
      note = '',
    } = fieldsOf(one, tx_id)
    const said = text(note, tx_id).toLowerCase()
    if (rejected === true || MOVING_NOTHING.has(said)) continue
    for (const part of listOf(callValueInfo ?? [], tx_id)) {
      const { callValue, tokenId } = fieldsOf(part, tx_id)
      if (callValue === undefined || callValue === 0) continue
      const transfer: InternalTransfer = {
        from: addressOf(caller_address, tx_id),
        to: addressOf(transferTo_address, tx_id),
        amount: BigInt(integer(callValue, tx_id)),
        asset: tokenId === undefined ? undefined : numberOf(tokenId, tx_id),
      }
      if (MOVING.has(said)) internals.transfers.push(transfer)
      else internals.unknown.push({ ...transfer, note: readable(said) })
    }
  }
  return internals
}

/** The number of a TRC-10 asset: nodes print it as text, and could as a number. */
const numberOf = (token_id: unknown, where: string): string =>
  typeof token_id === 'string' ? keptName(token_id) : String(integer(token_id, where))

/** A note as text, for people; as it was given when it is none. */
function readable(note: string): string {
  const plain = Buffer.from(note, 'hex').toString('latin1')
  return keptName(/^[\x20-\x7e]+$/.test(plain) ? plain : note)
}
