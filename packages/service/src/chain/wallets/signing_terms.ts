// What a process signs with, and how much: its wallets and the limits in force, as it tells others.

import type { Address } from 'penstock-tron/address.ts'
import { limitsInForce, type Stakes } from '../signing/signing_limits.ts'
import type { Kind } from './permissions.ts'
import type { Wallets } from './wallet_file.ts'

/** Sums of sun are texts: a JSON number may not hold them. */
export type SigningTerms = {
  wallets: { address: Address; use: Kind; stake_sun: string | null }[]
  limits: Record<string, string | null>
}

/** Null: this process has no key. */
export function signingTerms(wallets: Wallets, stakes: Stakes): SigningTerms | null {
  const { pool, activation, refund, votes = [] } = wallets
  const lines = [
    ...pool.map((line) => ({ ...line, use: 'pool' as const })),
    { ...activation, use: 'activation' as const },
    ...(refund ? [{ ...refund, use: 'refund' as const }] : []),
    ...votes.map((line) => ({ ...line, use: 'votes' as const })),
  ]
  if (lines.every(({ private_key }) => private_key === undefined)) return null
  const limits = Object.entries(limitsInForce(wallets.limits ?? {}, stakes))
  return {
    wallets: lines.map(({ address, use }) => ({
      address,
      use,
      stake_sun: stakes?.get(address)?.toString() ?? null,
    })),
    limits: Object.fromEntries(limits.map(([name, most]) => [name, most?.toString() ?? null])),
  }
}
