// The wallets that the service acts for, from a file of the operator's. It holds hot keys: keys of restricted
// permissions, which can delegate, take back and activate, and move no funds. The file must be readable by its owner only.

import { HDKey } from '@scure/bip32'
import type { Wallet } from './chain/signer.ts'
import { Misuse } from './config.ts'
import { readSecretFile } from './lib/files.ts'
import { type Address, isAddress } from './tron/address.ts'
import { addressOf } from './tron/keys.ts'
import type { Node } from './tron/node.ts'

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

/** Whether a wallet without its private_key is a mistake (where transactions are signed) or as it should be. */
export type Keys = 'needed' | 'optional'

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
  const { pool, activation, refund, recharge_address, deposit_xpub } = value
  if (!Array.isArray(pool) || pool.length === 0) throw bad('pool is not a list of wallets')
  if (!activation) throw bad('activation is missing')
  for (const wallet of [...pool, activation, ...(refund ? [refund] : [])]) {
    if (!isAddress(wallet?.address)) throw bad('a wallet has no valid address')
    if (!Number.isInteger(wallet.permission_id)) throw bad(`permission_id of ${wallet.address} is not a whole number`)
    if (wallet.private_key === undefined && keys === 'optional') continue
    if (!canSign(wallet)) throw bad(`private_key of ${wallet.address} is not a key`)
  }
  if (new Set(pool.map((wallet) => wallet.address)).size < pool.length) throw bad('a wallet is in the pool twice')
  if (!isAddress(recharge_address)) throw bad('recharge_address is not an address')
  if (typeof deposit_xpub !== 'string' || !isPublicKey(deposit_xpub)) {
    throw bad('deposit_xpub is not an extended public key')
  }
  return { pool, activation, ...(refund && { refund }), recharge_address, deposit_xpub }
}

function canSign({ private_key }: Wallet): boolean {
  try {
    return private_key !== undefined && isAddress(addressOf(private_key))
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

/** The contract types that each kind of hot key needs, by their numbers. */
const NEEDED = { pool: [57, 58], activation: [0], refund: [1] } as const

/** Asks the chain whether each hot key can do what it is for, and nothing else. Returns a sentence for each that cannot or
 *  can do more: a key that could move funds or change permissions is not one to keep on a server. */
export async function checkWallets(node: Pick<Node, 'account'>, wallets: Wallets): Promise<string[]> {
  const complaints: string[] = []
  const check = async (kind: keyof typeof NEEDED, wallet: Wallet) => {
    const { address, permission_id } = wallet
    if (permission_id === 0) {
      complaints.push(`The key for ${address} (${kind}) is one of the owner: it can do everything.`)
      return
    }
    const { permissions } = await node.account(address)
    const permission = permissions.find((one) => one.id === permission_id)
    const signer = wallet.private_key && addressOf(wallet.private_key)
    const key = permission?.keys.find((one) => one.address === signer)
    if (!permission || !key || key.weight < permission.threshold) {
      complaints.push(`The key for ${address} (${kind}) cannot act alone with permission ${permission_id}.`)
      return
    }
    const allowed = allowedTypes(permission.operations)
    const missing = NEEDED[kind].filter((type) => !allowed.includes(type))
    const more = allowed.filter((type) => !(NEEDED[kind] as readonly number[]).includes(type))
    if (missing.length > 0)
      complaints.push(`The key for ${address} (${kind}) lacks contract type ${missing.join(', ')}.`)
    if (more.length > 0)
      complaints.push(`The key for ${address} (${kind}) may also use contract type ${more.join(', ')}.`)
  }
  for (const wallet of wallets.pool) await check('pool', wallet)
  await check('activation', wallets.activation)
  if (wallets.refund) await check('refund', wallets.refund)
  return complaints
}

/** The numbers of the contract types that a bitmap allows: bit i%8 of byte i/8. */
function allowedTypes(operations: string): number[] {
  const bytes = Buffer.from(operations, 'hex')
  return Array.from({ length: 256 }, (_, type) => type).filter((type) => (bytes[type >> 3]! >> (type & 7)) & 1)
}
