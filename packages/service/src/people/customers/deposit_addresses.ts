// Each customer pays into an address of its own. The addresses are children of an extended public
// key, so this service can make any number of them and spend from none: the private side stays with
// the operator's wallet. The path is the one wallets use, m/44'/195'/0'/0/index, and the given key
// is the account's: m/44'/195'/0'.

import { HDKey } from '@scure/bip32'
import type { Address } from 'penstock-tron/address.ts'
import { addressOfPublicKey } from 'penstock-tron/keys.ts'

/** The address of a customer's deposit index, 0 to 2^31-1. */
export type DepositAddress = (deposit_index: number) => Address

const ACCOUNT_DEPTH = 3
const EXTERNAL_CHAIN = 0

/** The deposit addresses of an account's extended public key (`xpub…`). Throws when it is not one:
 *  a private key is refused, because this service must not be able to spend deposits, and so is a
 *  key of another depth, whose addresses no wallet would find. */
export function depositAddresses(account_public_key: string): DepositAddress {
  const account = HDKey.fromExtendedKey(account_public_key)
  if (account.privateKey)
    throw new Error('deposit addresses need an extended public key, and this one is private')
  if (account.depth !== ACCOUNT_DEPTH)
    throw new Error("deposit addresses need the key of an account, m/44'/195'/0'")
  const external = account.deriveChild(EXTERNAL_CHAIN)
  return (deposit_index) => addressOfPublicKey(external.deriveChild(deposit_index).publicKey!)
}
