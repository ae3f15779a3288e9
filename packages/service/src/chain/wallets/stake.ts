// The transactions that change what a wallet has staked. Made, signed and carried like an update of
// permissions: only the owner's key can sign them.

import { type Address, addressFromHex, addressToHex } from 'penstock-tron/address.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import { contract, decodeRawData, encodeRawData } from 'penstock-tron/transaction.ts'
import { refusal } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'
import type { BlockHead, Resource } from '../node/node.ts'
import { type CarriedUpdate, describeUpdate } from './permission_update.ts'

type Amount = { address: Address; amount_sun: bigint; resource: Resource }

/** Stake more; begin to take some back; move to the balance what has come out; stop taking back. */
export type StakeChange =
  | ({ change: 'stake' | 'unstake' } & Amount)
  | { change: 'withdraw' | 'cancel-unstake'; address: Address }

const TYPES = {
  stake: 'FreezeBalanceV2Contract',
  unstake: 'UnfreezeBalanceV2Contract',
  withdraw: 'WithdrawExpireUnfreezeContract',
  'cancel-unstake': 'CancelAllUnfreezeV2Contract',
} as const

/** The bytes to sign: valid for so long after the newest block. */
export const stakeBytes = (
  change: StakeChange,
  { head, hours }: { head: BlockHead; hours: number },
) =>
  encodeRawData({
    ref_block_bytes: head.id.slice(12, 16),
    ref_block_hash: head.id.slice(16, 32),
    timestamp: head.time.getTime(),
    expiration: head.time.getTime() + hours * 3_600_000,
    contract: [contract(TYPES[change.change], messageOf(change))],
  })

function messageOf(change: StakeChange): Message {
  const owner_address = addressToHex(change.address)
  if (!('amount_sun' in change)) return { owner_address }
  const { change: which, amount_sun, resource } = change
  return {
    owner_address,
    [which === 'stake' ? 'frozen_balance' : 'unfreeze_balance']: amount_sun,
    // What is left out is bandwidth: the chain's 0.
    ...(resource === 'energy' && { resource: 'ENERGY' }),
  }
}

/** What the bytes do, in words, and until when. Throws Refused when they neither change a stake nor
 *  update permissions. */
export function describeCarried(raw_data: Uint8Array): CarriedUpdate {
  const { contract: contracts, expiration, data, fee_limit } = decodeRawData(raw_data)
  const [first, ...more] = contracts
  const change = Object.entries(TYPES).find(([, type]) => type === first?.type)?.[0]
  if (!first || change === undefined || more.length > 0) return describeUpdate(raw_data)
  if (data !== undefined || fee_limit !== undefined || first.Permission_id !== undefined)
    throw refusal('This is not a plain change of a stake.')
  const { owner_address, frozen_balance, unfreeze_balance, resource } = first.parameter.value
  const address = addressFromHex(String(owner_address))
  const trx = trxText(BigInt(String(frozen_balance ?? unfreeze_balance ?? 0)))
  const what = resource === 'ENERGY' ? 'energy' : 'bandwidth'
  const says = {
    stake: [
      `${address} stakes ${trx} TRX for ${what}.`,
      'It stays its own. Taking it back later takes 14 days on the main network.',
    ],
    unstake: [
      `${address} begins to take ${trx} TRX back that are staked for ${what}.`,
      'They can be withdrawn after 14 days on the main network; votes that they gave are lost now.',
    ],
    withdraw: [`${address} moves to its balance what was unstaked and has come out.`],
    'cancel-unstake': [
      `${address} stakes again, for what it was staked, all that has not come out yet.`,
      'What has come out is moved to its balance.',
    ],
  }[change as keyof typeof TYPES]
  return { address, expires_at: new Date(Number(expiration)), says }
}
