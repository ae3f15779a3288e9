// Accounts: what is known of one address, how it comes into being, and its permissions.

import { hexToBytes } from '@noble/hashes/utils.js'
import { addressFromBytes } from 'penstock-tron/address.ts'
import type { Account, Permissions } from './records.ts'
import { Refusal } from './refusal.ts'
import { noUsage } from './resources.ts'
import { addTotals, type Layer, type View } from './state.ts'

/** The contract types that exist on the chain, one bit each: what an active permission may name. */
export const availableOperations =
  '7fff1fc0037efb0f000000000000000000000000000000000000000000000000'
/** The operations of the active permission that every account is born with: all but changing
 *  permissions. */
const defaultOperations = '7fff1fc0033efb0f000000000000000000000000000000000000000000000000'

// Shared by all accounts that have none: records are never modified, and there may be a million of
// them.
const noStakes: Account['frozen'] = { BANDWIDTH: 0n, ENERGY: 0n, TRON_POWER: 0n }
const noDelegations: Account['delegated'] = { BANDWIDTH: 0n, ENERGY: 0n }
const noFreeUse: Account['free_net'] = { amount: 0, slot: 0 }
const noUnfreezing: Account['unfreezing'] = []

export function newAccount(address: string, now_ms: number): Account {
  return {
    address,
    type: 'Normal',
    balance: 0n,
    created_at_ms: now_ms,
    operated_at_ms: 0,
    is_witness: false,
    net: noUsage,
    energy: noUsage,
    free_net: noFreeUse,
    frozen: noStakes,
    delegated: noDelegations,
    acquired: noDelegations,
    unfreezing: noUnfreezing,
  }
}

/** The permissions of an account, or those that it would be born with. */
export function permissionsOf(
  account: Pick<Account, 'address' | 'permissions' | 'is_witness'>,
): Permissions {
  if (account.permissions) return account.permissions
  const keys = [{ address: account.address, weight: 1n }]
  const common = { threshold: 1n, keys }
  return {
    owner: { type: 'Owner', id: 0, name: 'owner', operations: '', ...common },
    ...(account.is_witness
      ? { witness: { type: 'Witness' as const, id: 1, name: 'witness', operations: '', ...common } }
      : {}),
    actives: [{ type: 'Active', id: 2, name: 'active', operations: defaultOperations, ...common }],
  }
}

/** Whether 42 characters are an address: the byte 41 in front. */
export const isAddressHex = (hex: string): boolean => hex.length === 42 && hex.startsWith('41')

/** The text form. The node's messages use it for bandwidth, balances and signatures only: the rules
 *  of contracts name addresses in hexadecimal. */
export const addressText = (hex: string): string => addressFromBytes(hexToBytes(hex))

export const accountOf = (view: View, address: string): Account | undefined =>
  view.read('account', address)

/** An account that is known to exist. */
export function requireAccount(view: View, address: string): Account {
  const account = accountOf(view, address)
  if (!account) throw new Error(`account ${address} is expected to exist`)
  return account
}

export function writeAccount(state: Layer, account: Account): void {
  state.write('account', account.address, account)
}

/** Adds to a balance, or takes from it. False, and nothing changes, when it would fall below
 *  zero. */
export function adjustBalance(state: Layer, address: string, sun: bigint): boolean {
  const account = requireAccount(state, address)
  if (account.balance + sun < 0n) return false
  writeAccount(state, { ...account, balance: account.balance + sun })
  return true
}

/** Takes a fee out of the context. Throws CONTRACT_EXE_ERROR when the account does not have it. */
export function burn(state: Layer, address: string, sun: bigint): void {
  if (!adjustBalance(state, address, -sun)) {
    const { balance } = requireAccount(state, address)
    const amounts = `balance: ${balance}, amount: ${-sun}`
    const reason = `${addressText(address)} insufficient balance, ${amounts}`
    throw new Refusal('CONTRACT_EXE_ERROR', reason)
  }
  addTotals(state, { burned_sun: sun })
}
