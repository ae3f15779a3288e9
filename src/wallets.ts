// The wallets that the service acts for, from a file of the operator's. It holds hot keys: keys of restricted
// permissions, which can delegate, take back and activate, and move no funds. The file must be readable by its owner only.

import { readFile, stat } from 'node:fs/promises'
import { HDKey } from '@scure/bip32'
import type { Wallet } from './chain/signer.ts'
import { Misuse } from './config.ts'
import { type Address, isAddress } from './tron/address.ts'
import { addressOf } from './tron/keys.ts'

export type Wallets = {
  /** Staked accounts; the keys' permission allows 57 (delegate) and 58 (take back). */
  pool: Wallet[]
  /** Pays for activations; the key's permission allows 0 (create an account). */
  activation: Wallet
  /** Sends direct recharges back that cannot be delivered; a small float, and a key whose permission allows 1 (transfer).
   *  Absent: they are held for the operator. */
  refund?: Wallet
  /** The published address for direct recharge. */
  recharge_address: Address
  /** Account-level extended public key, m/44'/195'/0': customers' deposit addresses are derived from it. */
  deposit_xpub: string
}

/** Reads the file. Throws Misuse with what is wrong with it. */
export async function readWallets(file: string): Promise<Wallets> {
  const found = await stat(file).catch(() => undefined)
  if (!found) throw new Misuse(`There is no file with wallets at ${file}.`)
  if ((found.mode & 0o077) !== 0) throw new Misuse(`${file} holds keys and can be read by others: chmod 600 it.`)
  return parseWallets(await readFile(file, 'utf8'), file)
}

export function parseWallets(text: string, file: string): Wallets {
  const bad = (what: string) => new Misuse(`${file}: ${what}.`)
  let value: Partial<Wallets>
  try {
    value = JSON.parse(text) as Partial<Wallets>
  } catch {
    throw bad('it is not JSON')
  }
  const { pool, activation, refund, recharge_address, deposit_xpub } = value
  if (!Array.isArray(pool) || pool.length === 0) throw bad('pool is not a list of wallets')
  if (!activation) throw bad('activation is missing')
  for (const wallet of [...pool, activation, ...(refund ? [refund] : [])]) {
    if (!isAddress(wallet?.address)) throw bad('a wallet has no valid address')
    if (!Number.isInteger(wallet.permission_id)) throw bad(`permission_id of ${wallet.address} is not a whole number`)
    if (!canSign(wallet)) throw bad(`private_key of ${wallet.address} is not a key`)
  }
  if (!isAddress(recharge_address)) throw bad('recharge_address is not an address')
  if (typeof deposit_xpub !== 'string' || !isPublicKey(deposit_xpub)) {
    throw bad('deposit_xpub is not an extended public key')
  }
  return { pool, activation, ...(refund && { refund }), recharge_address, deposit_xpub }
}

function canSign({ private_key }: Wallet): boolean {
  try {
    return isAddress(addressOf(private_key))
  } catch {
    return false
  }
}

function isPublicKey(xpub: string): boolean {
  try {
    return HDKey.fromExtendedKey(xpub).privateKey === null
  } catch {
    return false
  }
}
