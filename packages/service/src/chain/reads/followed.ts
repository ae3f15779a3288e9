// What those who ask the nodes are told of the blocks that the service follows, so that they need
// not ask.

import type { Address } from 'penstock-tron/address.ts'

/** What is known of the blocks that the service has followed. */
export type FollowedBlocks = {
  /** The newest of them, as of a moment ago; undefined before the first. */
  newest(): Promise<{ id: string; confirmed_at: Date | null } | undefined>
  /** Whether a confirmed block has a transaction that the address has signed. What is not known is
   *  false. */
  hasSigned(address: Address): boolean
}

/** Where no blocks are followed nothing is known of them. */
export const NO_BLOCKS: FollowedBlocks = { newest: async () => undefined, hasSigned: () => false }
