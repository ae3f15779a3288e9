// The wallets that the service acts for, from a file of the operator's. It holds hot keys: keys of
// restricted permissions, which can delegate, take back and activate, and move no funds. The file
// must be readable by its owner only.

import { join } from 'node:path'
import { HDKey } from '@scure/bip32'
import { type Address, isAddress } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { Misuse } from '../../lib/fault.ts'
import { readSecretFile } from '../../lib/files.ts'
import type { Wallet } from '../signing/signer.ts'
import { LIMIT_NAMES, type LimitsConfig } from '../signing/signing_limits.ts'

export type Wallets = {
  /** Staked accounts; the keys' permission allows 57 (delegate) and 58 (take back). */
  pool: Wallet[]
  /** Pays for activations; the key's permission allows 0 (create an account). */
  activation: Wallet
  /** Sends direct recharges back that cannot be delivered; a small float, and a key whose
   *  permission allows 1 (transfer). Absent: they are held for the operator. */
  refund?: Wallet
  /** The published address for direct recharge. */
  recharge_address: Address
  /** Account-level extended public key, m/44'/195'/0': customers' deposit addresses are derived
   *  from it. */
  deposit_xpub: string
  /** Wallets of the pool again, with another permission and key: 4 (vote) and 13 (withdraw what
   *  votes have earned). Left out: no votes. */
  votes?: Wallet[]
  /** Where deposits may be collected to: addresses of the operator's whose keys are on no server.
   *  Left out: deposits are not collected by this service. */
  collect_to?: Address[]
  /** How much is signed within an hour and a day; what is left out follows from the pool's
   *  stakes. */
  limits?: LimitsConfig
}

/** The addresses that the service acts for, or publishes as its own: it sells them nothing. */
export const ownAddresses = ({ pool, activation, refund, recharge_address }: Wallets) =>
  new Set<Address>([
    ...pool.map(({ address }) => address),
    activation.address,
    ...(refund ? [refund.address] : []),
    recharge_address,
  ])

/** While this file is there, nothing is signed on this machine, whatever the database says. */
export const stopFile = (data_dir: string) => join(data_dir, 'signing.stopped')

/** Whether a private_key must be there (where transactions are signed), may be there (operators'
 *  commands), or must not be (an API alone: a key that is not there cannot be stolen from it). */
export type Keys = 'needed' | 'optional' | 'refused'

/** Reads the file. Throws Misuse with what is wrong with it. */
export async function readWallets(file: string, keys: Keys): Promise<Wallets> {
  const text = await readSecretFile(file, 'keys')
  if (text === undefined) throw new Misuse(`There is no file with wallets at ${file}.`)
  return parseWallets(text, file, keys)
}

export function parseWallets(text: string, file: string, keys: Keys): Wallets {
  const bad = (what: string) => new Misuse(`${file}: ${what}.`)
  let value: Partial<Wallets>
  try {
    value = JSON.parse(text) as Partial<Wallets>
  } catch {
    throw bad('it is not JSON')
  }
  if (typeof value !== 'object' || value === null) throw bad('it is not an object')
  const { pool, activation, refund, recharge_address, deposit_xpub, collect_to, votes, limits } =
    value
  if (!Array.isArray(pool) || pool.length === 0) throw bad('pool is not a list of wallets')
  if (!activation) throw bad('activation is missing')
  if (votes !== undefined && !Array.isArray(votes)) throw bad('votes is not a list of wallets')
  for (const wallet of [...pool, activation, ...(refund ? [refund] : []), ...(votes ?? [])]) {
    if (!isAddress(wallet?.address)) throw bad('a wallet has no valid address')
    if (!Number.isInteger(wallet.permission_id))
      throw bad(`permission_id of ${wallet.address} is not a whole number`)
    const { spare_keys = [] } = wallet
    if (!Array.isArray(spare_keys) || !spare_keys.every(isAddress)) {
      throw bad(`spare_keys of ${wallet.address} is not a list of addresses`)
    }
    if (wallet.private_key !== undefined && keys === 'refused') {
      throw bad(
        `it has the private_key of ${wallet.address}, and an API alone signs nothing: ` +
          'give it a copy without keys',
      )
    }
    if (wallet.private_key === undefined && keys !== 'needed') continue
    if (!canSign(wallet)) throw bad(`private_key of ${wallet.address} is not a key`)
  }
  if (new Set(pool.map((wallet) => wallet.address)).size < pool.length)
    throw bad('a wallet is in the pool twice')
  for (const { address, private_key } of votes ?? []) {
    const delegating = pool.find((wallet) => wallet.address === address)
    if (!delegating) throw bad(`votes has ${address}, which is not in the pool`)
    if (private_key !== undefined && private_key === delegating.private_key)
      throw bad(`votes has the key of ${address} that delegates: it needs another`)
  }
  if (new Set(votes?.map(({ address }) => address)).size < (votes?.length ?? 0))
    throw bad('a wallet is in votes twice')
  if (!isAddress(recharge_address)) throw bad('recharge_address is not an address')
  if (typeof deposit_xpub !== 'string' || !isPublicKey(deposit_xpub)) {
    throw bad('deposit_xpub is not an extended public key')
  }
  if (collect_to !== undefined && !(Array.isArray(collect_to) && collect_to.every(isAddress)))
    throw bad('collect_to is not a list of addresses')
  if (collect_to?.includes(recharge_address))
    throw bad('collect_to has recharge_address: what is sent there is sold for')
  const wrong = limits === undefined ? undefined : wrongLimit(limits)
  if (wrong !== undefined) throw bad(wrong)
  return {
    pool,
    activation,
    ...(refund && { refund }),
    recharge_address,
    deposit_xpub,
    ...(votes && { votes }),
    ...(collect_to && { collect_to }),
    ...(limits && { limits }),
  }
}

function wrongLimit(limits: unknown): string | undefined {
  if (typeof limits !== 'object' || limits === null || Array.isArray(limits))
    return 'limits is not an object'
  for (const [name, value] of Object.entries(limits)) {
    if (!(LIMIT_NAMES as readonly string[]).includes(name)) {
      return `limits has no ${name}: there are ${LIMIT_NAMES.join(', ')}`
    }
    if (!Number.isSafeInteger(value) || value < 0) return `limits.${name} is not a whole number`
  }
  return undefined
}

function canSign({ private_key }: Wallet): boolean {
  try {
    return private_key !== undefined && isAddress(addressOf(private_key))
  } catch {
    return false
  }
}

/** Whether it is an extended public key, and not a private one. */
export function isPublicKey(xpub: string): boolean {
  try {
    return HDKey.fromExtendedKey(xpub).privateKey === null
  } catch {
    return false
  }
}
