// Signed transactions as the chain holds them, and their execution: every check of the node, in the node's order, then
// the fees, then the contract. A refusal leaves no trace; only the outcome of a transaction that passes is kept.

import { bytesToHex } from '@noble/hashes/utils.js'
import { addressToHex } from '../src/tron/address.ts'
import { ContractType } from '../src/tron/contracts.ts'
import { recoverAddress } from '../src/tron/keys.ts'
import { MalformedMessage, type Message } from '../src/tron/protobuf.ts'
import {
  decodeRawData,
  decodeTransaction,
  encodeTransaction,
  type RawData,
  transactionId,
} from '../src/tron/transaction.ts'
import { chargeBandwidth, chargeExtras, type NetBill } from './bandwidth.ts'
import { contractOf } from './contracts.ts'
import { EXPIRATION_MAX_MS, SLOT_MS, TRANSACTION_MAX_BYTES } from './parameters.ts'
import { checkSignatures, type Signed } from './permissions.ts'
import { Refusal } from './refusal.ts'
import type { Effects, World } from './world.ts'

export type SignedTransaction = Signed & {
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

/** A transaction of encoded raw data and signatures. Throws MalformedMessage for bytes that are not one. */
export function signedTransaction(raw_bytes: Uint8Array, signatures: readonly string[]): SignedTransaction {
  const raw_data = decodeRawData(raw_bytes)
  const contract = raw_data.contract[0]
  if (!contract) throw new MalformedMessage('contract count is 0')
  const id = transactionId(raw_bytes)
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
    owner_address: String(contract.parameter.value.owner_address ?? ''),
    signers() {
      recovered ??= signatures.map((signature) => recoverSigner(id, signature))
      return recovered
    },
  }
}

/** The inverse of `transaction.bytes`. Throws MalformedMessage. */
export function parseTransaction(bytes: Uint8Array): SignedTransaction {
  const { raw_data, signatures } = decodeTransaction(bytes)
  return signedTransaction(raw_data, signatures)
}

function recoverSigner(id: string, signature: string): string {
  const bytes = signature.length / 2
  if (bytes < 65 || bytes > 68) throw new Refusal('SIGERROR', `Signature size is ${bytes}`)
  try {
    return addressToHex(recoverAddress(id, signature))
  } catch {
    throw new Refusal('SIGERROR', 'Could not recover public key from signature')
  }
}

/** What a transaction may ask of the chain it wants to join. */
export type ChainFacts = {
  readonly head_number: number
  readonly head_time_ms: number
  /** The id of the block of a number, if the chain has it. */
  blockId(number: number): string | undefined
  /** Whether a transaction is in the chain or waiting for it. */
  hasTransaction(id: string): boolean
}

/** What became of a transaction that a block took in. */
export type Outcome = Effects & NetBill & { readonly extras_sun: bigint; readonly contract_ret: string }

/** The sum of all fees of a transaction, in sun. */
export const feeOf = (outcome: Outcome): bigint => outcome.fee_sun + outcome.net_fee_sun + outcome.extras_sun

/** Checks and executes a transaction. Throws a Refusal; then the state of the world is to be thrown away. */
export function executeTransaction(world: World, chain: ChainFacts, transaction: SignedTransaction): Outcome {
  checkEnvelope(chain, transaction)
  checkSignatures(world.state, transaction)
  checkReference(chain, transaction)
  checkSizeAndTime(chain, transaction)
  if (chain.hasTransaction(transaction.id)) throw new Refusal('DUP_TRANSACTION_ERROR', 'dup trans')
  const bill = chargeBandwidth(world, transaction)
  const extras_sun = chargeExtras(world, transaction)
  const contract = contractOf(transaction.contract_name)
  contract.validate(world, transaction.message)
  const effects = contract.execute(world, transaction.message)
  return { ...effects, ...bill, extras_sun, contract_ret: 'SUCCESS' }
}

function checkEnvelope({ head_time_ms }: ChainFacts, transaction: SignedTransaction): void {
  if (transaction.raw_data.contract.length !== 1) {
    throw new Refusal('CONTRACT_VALIDATE_ERROR', 'act size should be exactly 1, this is extend feature')
  }
  const next_slot_ms = head_time_ms + SLOT_MS
  if (transaction.expires_at_ms < next_slot_ms) {
    throw new Refusal(
      'TRANSACTION_EXPIRATION_ERROR',
      `Transaction expiration time is ${transaction.expires_at_ms}, but next slot time is ${next_slot_ms}`,
    )
  }
}

/** The block that a transaction refers to must be on this branch, among the last 65,536. */
function checkReference(chain: ChainFacts, { raw_data }: SignedTransaction): void {
  const low = Number.parseInt(raw_data.ref_block_bytes ?? '', 16)
  const number = chain.head_number - ((chain.head_number - low) & 0xffff)
  const id = raw_data.ref_block_bytes?.length === 4 ? chain.blockId(number) : undefined
  if (id === undefined || id.slice(16, 32) !== raw_data.ref_block_hash) {
    throw new Refusal('TAPOS_ERROR', 'Tapos failed, different block hash')
  }
}

function checkSizeAndTime({ head_time_ms }: ChainFacts, { bytes, expires_at_ms }: SignedTransaction): void {
  if (bytes.length > TRANSACTION_MAX_BYTES) throw new Refusal('TOO_BIG_TRANSACTION_ERROR', `${bytes.length} bytes`)
  if (expires_at_ms <= head_time_ms || expires_at_ms > head_time_ms + EXPIRATION_MAX_MS) {
    throw new Refusal('TRANSACTION_EXPIRATION_ERROR', `Transaction expires at ${expires_at_ms}`)
  }
}

/** The bytes of a transaction as text, for logs and for `broadcasthex`. */
export const transactionHex = (transaction: SignedTransaction): string => bytesToHex(transaction.bytes)
