// The execution of a transaction: every check of the node, in the node's order, then the fees, then
// the contract. A refusal leaves no trace; only the outcome of a transaction that passes is kept.

import { checkSignatures } from '../contracts/permissions.ts'
import type { Effects, ExecutionContext } from '../state/execution_context.ts'
import { EXPIRATION_MAX_MS, TRANSACTION_MAX_BYTES } from '../state/parameters.ts'
import { Refusal } from '../state/refusal.ts'
import { chargeBandwidth, chargeExtras, type NetBill } from './bandwidth.ts'
import { contractOf } from './contract_types.ts'
import type { SignedTransaction } from './transactions.ts'

/** The chain as a transaction sees it before it joins. */
export type ChainFacts = {
  readonly head_number: number
  readonly head_time_ms: number
  /** When the next block is due at the earliest. */
  readonly next_slot_time_ms: number
  /** The id of the block of a number, if the chain has it. */
  blockId(number: number): string | undefined
  /** Whether a transaction is in the chain or waiting for it. */
  hasTransaction(id: string): boolean
  /** Whether a transaction needs no signature: an impersonated owner, or a log that is replayed. */
  trusts(transaction: SignedTransaction): boolean
}

/** The outcome of a transaction in a block. */
export type Outcome = Effects &
  NetBill & { readonly extras_sun: bigint; readonly contract_ret: string }

/** The sum of all fees of a transaction, in sun. */
export const feeOf = (outcome: Outcome): bigint =>
  outcome.fee_sun + outcome.net_fee_sun + outcome.extras_sun

/** Checks and executes a transaction. Throws a Refusal; then the state of the context is to be
 *  thrown away. */
export function executeTransaction(
  context: ExecutionContext,
  chain: ChainFacts,
  transaction: SignedTransaction,
): Outcome {
  checkEnvelope(chain, transaction)
  if (!chain.trusts(transaction)) checkSignatures(context.state, transaction)
  checkReference(chain, transaction)
  checkSizeAndTime(chain, transaction)
  if (chain.hasTransaction(transaction.id)) throw new Refusal('DUP_TRANSACTION_ERROR', 'dup trans')
  const bill = chargeBandwidth(context, transaction)
  const extras_sun = chargeExtras(context, transaction)
  const contract = contractOf(transaction.contract_name)
  const fee_limit_sun = BigInt(transaction.raw_data.fee_limit ?? 0)
  const calling = { ...context, fee_limit_sun, transaction_id: transaction.id }
  contract.validate(calling, transaction.message)
  const effects = contract.execute(calling, transaction.message)
  return { ...effects, ...bill, extras_sun, contract_ret: effects.call?.contract_ret ?? 'SUCCESS' }
}

function checkEnvelope({ next_slot_time_ms }: ChainFacts, transaction: SignedTransaction): void {
  if (transaction.raw_data.contract.length !== 1) {
    throw new Refusal(
      'CONTRACT_VALIDATE_ERROR',
      'act size should be exactly 1, this is extend feature',
    )
  }
  if (transaction.expires_at_ms < next_slot_time_ms) {
    throw new Refusal(
      'TRANSACTION_EXPIRATION_ERROR',
      `Transaction expiration time is ${transaction.expires_at_ms}, ` +
        `but next slot time is ${next_slot_time_ms}`,
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

function checkSizeAndTime(
  { head_time_ms }: ChainFacts,
  { bytes, expires_at_ms }: SignedTransaction,
): void {
  if (bytes.length > TRANSACTION_MAX_BYTES)
    throw new Refusal('TOO_BIG_TRANSACTION_ERROR', `${bytes.length} bytes`)
  if (expires_at_ms <= head_time_ms || expires_at_ms > head_time_ms + EXPIRATION_MAX_MS) {
    throw new Refusal('TRANSACTION_EXPIRATION_ERROR', `Transaction expires at ${expires_at_ms}`)
  }
}
