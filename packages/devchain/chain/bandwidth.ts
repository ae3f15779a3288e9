// The price of a transaction's place in a block: bandwidth (staked, else free, else TRX burned
// for every byte: all of it from one of the three), and the flat fees for a second signature and
// for a memo.

import { assetIdOf, assetOf } from '../contracts/assets.ts'
import { accountOf, addressText, burn, requireAccount, writeAccount } from '../state/accounts.ts'
import { type ExecutionContext, textOf } from '../state/execution_context.ts'
import { RESULT_BYTES } from '../state/parameters.ts'
import type { Account } from '../state/records.ts'
import { invalid, Refusal } from '../state/refusal.ts'
import { fadedFreeUsage, fadedUsage, increaseUsage, limitOfAccount } from '../state/resources.ts'
import type { SignedTransaction } from './transactions.ts'

/** The receipt's bandwidth: bytes used, or sun burned in their place. */
export type NetBill = { readonly net_usage: number; readonly net_fee_sun: bigint }

/** Charges the transaction's bytes to its owner. Throws BANDWITH_ERROR when it has none of the
 *  three means. */
export function chargeBandwidth(
  context: ExecutionContext,
  transaction: SignedTransaction,
): NetBill {
  const owner = transaction.owner_address
  const account = accountOf(context.state, owner)
  if (!account) throw invalid(`account [${addressText(owner)}] does not exist`)
  const bytes = transaction.bytes.length + RESULT_BYTES
  if (createsAccount(context, transaction))
    return chargeForNewAccount(context, account, transaction, bytes)
  checkAsset(context, transaction)
  if (useStaked(context, account, bytes) || useFree(context, account, bytes))
    return { net_usage: bytes, net_fee_sun: 0n }
  const fee = BigInt(context.parameters.getTransactionFee) * BigInt(bytes)
  return burnInstead(context, account, fee)
}

/** The node asks here whether the issuer of a TRC10 token pays for its transfers, and so meets one
 *  that does not exist before the contract's own rules do. */
function checkAsset(
  { state }: ExecutionContext,
  { contract_name, message }: SignedTransaction,
): void {
  if (contract_name !== 'TransferAssetContract') return
  const id = assetIdOf(message)
  if (assetOf(state, id)) return
  const printed = `<ByteString@0 size=${textOf(message, 'asset_name').length / 2} contents="${id}">`
  throw invalid(`asset [${printed}] does not exist`)
}

function createsAccount(
  { state }: ExecutionContext,
  { contract_name, message }: SignedTransaction,
): boolean {
  if (contract_name === 'AccountCreateContract') return true
  const sends = contract_name === 'TransferContract' || contract_name === 'TransferAssetContract'
  return sends && !accountOf(state, textOf(message, 'to_address'))
}

/** A birth is paid from staked bandwidth or by a flat fee; free bandwidth is not for it. */
function chargeForNewAccount(
  context: ExecutionContext,
  account: Account,
  transaction: SignedTransaction,
  bytes: number,
): NetBill {
  const { getMaxCreateAccountTxSize, getCreateNewAccountBandwidthRate, getCreateAccountFee } =
    context.parameters
  const unsigned_bytes = transaction.bytes.length - transaction.signatures.length * 65
  if (unsigned_bytes > getMaxCreateAccountTxSize) {
    throw new Refusal(
      'TOO_BIG_TRANSACTION_ERROR',
      `Too big new account transaction, the size is ${unsigned_bytes} bytes`,
    )
  }
  const cost = bytes * getCreateNewAccountBandwidthRate
  if (useStaked(context, account, cost)) return { net_usage: cost, net_fee_sun: 0n }
  return burnInstead(context, account, BigInt(getCreateAccountFee))
}

function useStaked(context: ExecutionContext, account: Account, bytes: number): boolean {
  const limit = limitOfAccount(context.state, account, 'BANDWIDTH', context.parameters)
  if (bytes > limit - fadedUsage(account.net, context.slot)) return false
  const net = increaseUsage(account.net, bytes, context.slot)
  writeAccount(context.state, { ...account, net, operated_at_ms: context.now_ms })
  return true
}

function useFree(
  { state, parameters, slot, now_ms }: ExecutionContext,
  account: Account,
  bytes: number,
): boolean {
  const { amount, slot: used_at } = account.free_net
  const left = fadedFreeUsage(amount, used_at, slot)
  if (bytes > parameters.getFreeNetLimit - left) return false
  const free_net = { amount: fadedFreeUsage(left, slot, slot, bytes), slot }
  writeAccount(state, { ...account, free_net, operated_at_ms: now_ms })
  return true
}

function burnInstead({ state, now_ms }: ExecutionContext, account: Account, fee: bigint): NetBill {
  if (account.balance < fee) {
    throw new Refusal(
      'BANDWITH_ERROR',
      `account [${addressText(account.address)}] has insufficient bandwidth and balance`,
    )
  }
  writeAccount(state, { ...account, operated_at_ms: now_ms })
  burn(state, account.address, fee)
  return { net_usage: 0, net_fee_sun: fee }
}

/** Burns the fee for more than one signature, and the one for a memo. Returns their sum in sun. */
export function chargeExtras(
  { state, parameters }: ExecutionContext,
  transaction: SignedTransaction,
): bigint {
  const multisig = transaction.signatures.length > 1 ? BigInt(parameters.getMultiSignFee) : 0n
  const memo = transaction.raw_data.data ? BigInt(parameters.getMemoFee) : 0n
  for (const fee of [multisig, memo]) {
    if (fee === 0n) continue
    if (requireAccount(state, transaction.owner_address).balance < fee) {
      throw new Refusal('BANDWITH_ERROR', `Account Insufficient balance[${fee}]`)
    }
    burn(state, transaction.owner_address, fee)
  }
  return multisig + memo
}
