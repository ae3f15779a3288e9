// Signs transactions of the service's own wallets, and nothing else. It decodes the bytes that it is asked to sign and
// checks them against what each key is for, so whoever calls it, with whatever intent, can do no more with it: a pool
// key delegates and takes back, unlocked and within a limit; an activation key creates accounts.

import { bytesToHex } from '@noble/hashes/utils.js'
import { type Address, addressFromHex, isAddress } from '../tron/address.ts'
import { addressOf, type PrivateKey, sign } from '../tron/keys.ts'
import type { Message } from '../tron/protobuf.ts'
import { type Contract, decodeRawData, encodeRawData, transactionId } from '../tron/transaction.ts'

/** A wallet that the service may act for: the account, and the key of one of its permissions (0 is the owner's). A process
 *  that signs nothing, an API alone, needs no keys. */
export type Wallet = {
  address: Address
  permission_id: number
  private_key?: PrivateKey
  /** Other keys that its permission may have: the next hot key while keys are being changed. */
  spare_keys?: readonly Address[]
}

export type SignerOptions = {
  pool: readonly Wallet[]
  activation: Wallet
  refund?: Wallet | undefined
  /** The most that one delegation may stake, in sun. */
  delegation_max_sun?: bigint
  /** The most that one refund may send, in sun. */
  refund_max_sun?: bigint
}

/** Signs the encoded raw data. Throws SigningRefused when the policy does not allow it. */
export type Signer = (raw_data: Uint8Array) => Promise<{ tx_id: string; signature: string }>

export class SigningRefused extends Error {
  override name = 'SigningRefused'
}

/** The most that one delegation stakes: what needs more is delegated in several. */
export const DELEGATION_MAX_SUN = 1_000_000_000_000n
/** The most that one refund sends: what is more, the operator decides about. */
export const REFUND_MAX_SUN = 1_000_000_000n
const EXPIRATION_MAX_MS = 24 * 3_600_000

export function localSigner(options: SignerOptions): Signer {
  const { pool, activation, refund } = options
  const { delegation_max_sun = DELEGATION_MAX_SUN, refund_max_sun = REFUND_MAX_SUN } = options
  const policy = { pool, activation, refund, delegation_max_sun, refund_max_sun }
  for (const wallet of refund ? [...pool, activation, refund] : [...pool, activation]) {
    if (!isAddress(wallet.address)) throw new TypeError(`${wallet.address} is not the address of a wallet`)
    if (wallet.private_key !== undefined) addressOf(wallet.private_key)
  }
  return async (raw_data) => {
    const decoded = decodeRawData(raw_data)
    // What cannot be read back as the same bytes carries something that was not understood.
    if (bytesToHex(encodeRawData(decoded)) !== bytesToHex(raw_data)) throw new SigningRefused('it has unknown fields')
    const [contract, ...more] = decoded.contract
    if (!contract || more.length > 0) throw new SigningRefused('it does not have exactly one contract')
    if (decoded.fee_limit !== undefined || decoded.data !== undefined) {
      throw new SigningRefused('it has a memo or a fee limit')
    }
    const span_ms = Number(decoded.expiration) - Number(decoded.timestamp ?? 0)
    if (span_ms > EXPIRATION_MAX_MS) throw new SigningRefused('it is valid for more than a day')
    const wallet = walletFor(contract, policy)
    const tx_id = transactionId(raw_data)
    if (wallet.private_key === undefined) throw new SigningRefused(`this process has no key for ${wallet.address}`)
    return { tx_id, signature: sign(tx_id, wallet.private_key) }
  }
}

type Policy = Required<Omit<SignerOptions, 'refund'>> & Pick<SignerOptions, 'refund'>

function walletFor(contract: Contract, policy: Policy): Wallet {
  const { value } = contract.parameter
  const wallets = walletsOfType(contract.type, value, policy)
  const owner = addressFromHex(String(value.owner_address))
  const permission_id = contract.Permission_id ?? 0
  const wallet = wallets.find((one) => one.address === owner && one.permission_id === permission_id)
  if (!wallet) throw new SigningRefused(`no key here is for a ${contract.type} of ${owner}`)
  return wallet
}

function walletsOfType(type: string, value: Message, policy: Policy): readonly Wallet[] {
  if (type === 'AccountCreateContract') return [policy.activation]
  if (type === 'TransferContract') {
    const sun = BigInt(String(value.amount ?? 0))
    if (sun <= 0n || sun > policy.refund_max_sun) throw new SigningRefused(`${sun} sun is too much for a refund`)
    return policy.refund ? [policy.refund] : []
  }
  if (type !== 'DelegateResourceContract' && type !== 'UnDelegateResourceContract') {
    throw new SigningRefused(`nothing here signs a ${type}`)
  }
  const stake_sun = BigInt(String(value.balance ?? 0))
  const most_sun = type === 'DelegateResourceContract' ? policy.delegation_max_sun : stake_sun
  if (stake_sun <= 0n || stake_sun > most_sun) throw new SigningRefused(`${stake_sun} sun is too much`)
  if (value.lock) throw new SigningRefused('a locked delegation could not be taken back')
  return policy.pool
}
