// The transaction that stakes TRX of a wallet for energy or bandwidth. Made, signed and carried
// like an update of permissions: only the owner's key can sign it.

import { type Address, addressFromHex, addressToHex } from 'penstock-tron/address.ts'
import { contract, decodeRawData, encodeRawData } from 'penstock-tron/transaction.ts'
import { refusal } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'
import type { BlockHead } from '../node/node.ts'
import { type CarriedUpdate, describeUpdate } from './permission_update.ts'

const TYPE = 'FreezeBalanceV2Contract'

export type Stake = { address: Address; amount_sun: bigint; resource: 'energy' | 'bandwidth' }

/** The bytes to sign: valid for so long after the newest block. */
export const stakeBytes = (
  { address, amount_sun, resource }: Stake,
  { head, hours }: { head: BlockHead; hours: number },
) =>
  encodeRawData({
    ref_block_bytes: head.id.slice(12, 16),
    ref_block_hash: head.id.slice(16, 32),
    timestamp: head.time.getTime(),
    expiration: head.time.getTime() + hours * 3_600_000,
    contract: [
      contract(TYPE, {
        owner_address: addressToHex(address),
        frozen_balance: amount_sun,
        // What is left out is bandwidth: the chain's 0.
        ...(resource === 'energy' && { resource: 'ENERGY' }),
      }),
    ],
  })

/** What the bytes do, in words, and until when. Throws Refused when they are neither a stake nor an
 *  update of permissions. */
export function describeCarried(raw_data: Uint8Array): CarriedUpdate {
  const { contract: contracts, expiration, data, fee_limit } = decodeRawData(raw_data)
  const [first, ...more] = contracts
  if (first?.type !== TYPE || more.length > 0) return describeUpdate(raw_data)
  if (data !== undefined || fee_limit !== undefined || first.Permission_id !== undefined)
    throw refusal('This is not a plain stake.')
  const { owner_address, frozen_balance, resource } = first.parameter.value
  const address = addressFromHex(String(owner_address))
  const says = [
    `${address} stakes ${trxText(BigInt(String(frozen_balance)))} TRX for ` +
      `${resource === 'ENERGY' ? 'energy' : 'bandwidth'}.`,
    'It stays its own. Taking it back later takes 14 days on the main network.',
  ]
  return { address, expires_at: new Date(Number(expiration)), says }
}
