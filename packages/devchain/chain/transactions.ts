// Signed transactions as the chain holds them.

import { bytesToHex } from '@noble/hashes/utils.js'
import { ContractType } from 'penstock-tron/contracts.ts'
import { MalformedMessage, type Message } from 'penstock-tron/protobuf.ts'
import {
  decodeRawData,
  decodeTransaction,
  encodeTransaction,
  type RawData,
  transactionId,
} from 'penstock-tron/transaction.ts'
import type { SignatureFacts } from '../contracts/permissions.ts'
import { signerOf } from './signers.ts'

export type SignedTransaction = SignatureFacts & {
  /** 64 hexadecimal characters. */
  readonly id: string
  readonly raw_data: RawData
  readonly raw_bytes: Uint8Array
  /** The whole transaction without the outcome that a block adds: what bandwidth is paid for. */
  readonly bytes: Uint8Array
  readonly expires_at_ms: number
  readonly contract_name: string
  readonly message: Message
}

/** A transaction of encoded raw data and signatures. Throws MalformedMessage for bytes that are not
 *  one. */
export function signedTransaction(
  raw_bytes: Uint8Array,
  signatures: readonly string[],
): SignedTransaction {
  const raw_data = decodeRawData(raw_bytes)
  const contract = raw_data.contract[0]
  if (!contract) throw new MalformedMessage('contract count is 0')
  const id = transactionId(raw_bytes)
  const owner_address = String(contract.parameter.value.owner_address ?? '')
  let recovered: readonly string[] | undefined
  return {
    id,
    raw_data,
    raw_bytes,
    signatures,
    bytes: encodeTransaction(raw_bytes, signatures),
    expires_at_ms: Number(raw_data.expiration ?? 0),
    contract_name: contract.type,
    contract_type: ContractType.values[contract.type]!,
    permission_id: contract.Permission_id ?? 0,
    message: contract.parameter.value,
    owner_address,
    signers() {
      recovered ??= signatures.map((signature) => signerOf(id, signature, owner_address))
      return recovered
    },
  }
}

/** The inverse of `transaction.bytes`. Throws MalformedMessage. */
export function parseTransaction(bytes: Uint8Array): SignedTransaction {
  const { raw_data, signatures } = decodeTransaction(bytes)
  return signedTransaction(raw_data, signatures)
}

/** The bytes of a transaction as text, for logs and for `broadcasthex`. */
export const transactionHex = (transaction: SignedTransaction): string =>
  bytesToHex(transaction.bytes)
