// What an account has and who may sign for it, as a node answers it.

import type { Address } from 'penstock-tron/address.ts'
import { addressOf, fieldsOf, hex, integer, listOf, signed, text } from './answers.ts'

export type Resource = 'energy' | 'bandwidth'

export type AccountState = {
  active: boolean
  contract: boolean
  /** The earliest time at which it was there, as far as the node says. */
  existed_at: Date | undefined
  /** Somebody has its key, so no contract can ever be made at it: its address is the hash of a key,
   *  and that of a contract the hash of something else. */
  has_signed: boolean
  balance_sun: bigint
  /** What is staked for each resource, with what of it is delegated. */
  staked_sun: Record<Resource, bigint>
  /** Of that, what is not delegated: it can be taken back. */
  free_stake_sun: Record<Resource, bigint>
  /** On its way back to the balance: at `until` it can be withdrawn. */
  leaving: { resource: Resource; sun: bigint; until: Date }[]
  /** When it last withdrew what its votes had earned. */
  withdrew_at: Date | undefined
  /** Votes for witnesses, one for each TRX of stake at most. */
  votes: { witness: Address; count: bigint }[]
  /** What of its stakes is used up and comes back by itself. */
  recovering: Record<Resource, Recovery>
  /** May do everything. An account that never set one has its own key here. */
  owner: Permission
  /** May produce blocks; only witnesses have it. */
  witness: Permission | undefined
  /** The active permissions, 2 and up. */
  permissions: Permission[]
}
/** Who may sign: keys that reach the threshold together. `operations` are the bits of the contract
 *  types that an active permission may use; the others have none. */
export type Permission = {
  id: number
  name: string
  threshold: bigint
  operations: string
  keys: { address: Address; weight: bigint }[]
}
/** Units that are used up, and in how many seconds the last of them has come back: evenly, unless
 *  more is used before. */
export type Recovery = { units: bigint; seconds: bigint }
/** A resource of an account: what its stakes give, what of that is used, and what is left for use
 *  now, the free part of bandwidth included. One TRX of stake gives `total_limit / total_weight`
 *  units a day. */
export type ResourceState = {
  limit: bigint
  used: bigint
  left: bigint
  total_limit: bigint
  total_weight: bigint
}

const where = 'getaccount'
const sunOf = (value: unknown): bigint => BigInt(integer(value ?? 0, where))
const sumOf = (given: unknown, field: string): bigint =>
  listOf(given ?? [], where).reduce(
    (sum: bigint, one) => sum + sunOf(fieldsOf(one, where)[field]),
    0n,
  )

/** All TRX of an account, in sun, wherever its owner has put them. */
export function holdingsOf(answer: unknown): bigint {
  const account = fieldsOf(answer, where)
  const resource = fieldsOf(account.account_resource ?? {}, where)
  const old_energy = fieldsOf(resource.frozen_balance_for_energy ?? {}, where)
  const delegated = [
    account.delegated_frozenV2_balance_for_bandwidth,
    resource.delegated_frozenV2_balance_for_energy,
    account.delegated_frozen_balance_for_bandwidth,
    resource.delegated_frozen_balance_for_energy,
  ]
  return (
    sunOf(account.balance) +
    sumOf(account.frozen, 'frozen_balance') +
    sunOf(old_energy.frozen_balance) +
    sumOf(account.frozenV2, 'amount') +
    sumOf(account.unfrozenV2, 'unfreeze_amount') +
    delegated.reduce((sum: bigint, one) => sum + sunOf(one), 0n)
  )
}

/** The account as `getaccount` shows it; one that is not there has its address as its owner's
 *  key. */
export function accountOf(answer: unknown, address: Address): AccountState {
  const account = fieldsOf(answer, 'getaccount')
  const { owner_permission, witness_permission, latest_withdraw_time } = account
  const withdrew_ms = Number(integer(latest_withdraw_time ?? 0, 'latest_withdraw_time'))
  const times = [account.create_time, account.latest_opration_time]
  const [made_ms, signed_ms] = times.map((time) => Number(signed(time ?? 0, 'getaccount')))
  const known = [made_ms!, signed_ms!].filter((time) => time > 0)
  const own = {
    id: 0,
    name: 'owner',
    threshold: 1n,
    operations: '',
    keys: [{ address, weight: 1n }],
  }
  return {
    active: 'address' in account,
    contract: account.type === 'Contract',
    existed_at: known.length > 0 ? new Date(Math.min(...known)) : undefined,
    has_signed: signed_ms! > 0,
    balance_sun: BigInt(integer(account.balance ?? 0, 'balance')),
    staked_sun: stakesOf(account, true),
    free_stake_sun: stakesOf(account, false),
    leaving: leavingOf(account),
    withdrew_at: withdrew_ms > 0 ? new Date(withdrew_ms) : undefined,
    votes: listOf(account.votes ?? [], 'votes').map((one) => {
      const { vote_address, vote_count } = fieldsOf(one, 'votes')
      return {
        witness: addressOf(vote_address, 'votes'),
        count: BigInt(integer(vote_count ?? 0, 'votes')),
      }
    }),
    recovering: recoveriesOf(account),
    owner: owner_permission === undefined ? own : permissionOf(owner_permission),
    witness: witness_permission === undefined ? undefined : permissionOf(witness_permission),
    permissions: listOf(account.active_permission ?? [], 'active_permission').map((one) => {
      const permission = permissionOf(one)
      hex(permission.operations, 64, 'active_permission')
      return permission
    }),
  }
}

/** What an account has frozen is kept apart from what of it is delegated. */
function stakesOf(
  account: Record<string, unknown>,
  with_delegated: boolean,
): Record<Resource, bigint> {
  const where = 'frozenV2'
  const resources = fieldsOf(account.account_resource ?? {}, where)
  const frozen = listOf(account.frozenV2 ?? [], where).map((one) => fieldsOf(one, where))
  const staked = (resource: string, delegated: unknown) =>
    frozen
      // Bandwidth is the default, which nodes leave out.
      .filter(({ type = 'BANDWIDTH' }) => type === resource)
      .reduce(
        (sum, { amount }) => sum + BigInt(integer(amount ?? 0, where)),
        with_delegated ? BigInt(integer(delegated ?? 0, where)) : 0n,
      )
  return {
    energy: staked('ENERGY', resources.delegated_frozenV2_balance_for_energy),
    bandwidth: staked('BANDWIDTH', account.delegated_frozenV2_balance_for_bandwidth),
  }
}

function leavingOf({ unfrozenV2 }: Record<string, unknown>): AccountState['leaving'] {
  const where = 'unfrozenV2'
  return listOf(unfrozenV2 ?? [], where).map((one) => {
    const { type = 'BANDWIDTH', unfreeze_amount, unfreeze_expire_time } = fieldsOf(one, where)
    return {
      resource: type === 'ENERGY' ? 'energy' : 'bandwidth',
      sun: BigInt(integer(unfreeze_amount ?? 0, where)),
      until: new Date(Number(integer(unfreeze_expire_time ?? 0, where))),
    }
  })
}

/** What is used up of one resource comes back over a day at most. */
const RECOVERY_SLOTS = 28_800n
const SLOT_SECONDS = 3n

function recoveriesOf(account: Record<string, unknown>): Record<Resource, Recovery> {
  const where = 'usage'
  const { energy_usage, energy_window_size, energy_window_optimized } = fieldsOf(
    account.account_resource ?? {},
    where,
  )
  const { net_usage, net_window_size, net_window_optimized } = account
  const recovery = (usage: unknown, window: unknown, in_thousandths: unknown): Recovery => {
    const size = BigInt(integer(window ?? 0, where))
    const slots = in_thousandths === true ? size / 1_000n : size
    const is_known = slots > 0n && slots < RECOVERY_SLOTS
    return {
      units: BigInt(integer(usage ?? 0, where)),
      seconds: (is_known ? slots : RECOVERY_SLOTS) * SLOT_SECONDS,
    }
  }
  return {
    energy: recovery(energy_usage, energy_window_size, energy_window_optimized),
    bandwidth: recovery(net_usage, net_window_size, net_window_optimized),
  }
}

function permissionOf(given: unknown): Permission {
  const where = 'permission'
  const permission = fieldsOf(given, where)
  return {
    id: Number(integer(permission.id ?? 0, where)),
    name: text(permission.permission_name ?? '', where),
    threshold: BigInt(integer(permission.threshold ?? 0, where)),
    operations: text(permission.operations ?? '', where),
    keys: listOf(permission.keys ?? [], where).map((one) => {
      const { address, weight } = fieldsOf(one, where)
      return { address: addressOf(address, where), weight: BigInt(integer(weight ?? 0, where)) }
    }),
  }
}

/** A resource as `getaccountresource` shows it. */
export function resourceOf(answer: unknown, resource: Resource): ResourceState {
  const account = fieldsOf(answer, 'getaccountresource')
  const [own, total] = resource === 'energy' ? ['Energy', 'TotalEnergy'] : ['Net', 'TotalNet']
  const read = (name: string) => BigInt(integer(account[name] ?? 0, name))
  const above_zero = (value: bigint) => (value > 0n ? value : 0n)
  const limit = read(`${own}Limit`)
  const used = read(`${own}Used`)
  const free =
    resource === 'bandwidth' ? above_zero(read('freeNetLimit') - read('freeNetUsed')) : 0n
  return {
    limit,
    used,
    left: above_zero(limit - used) + free,
    total_limit: read(`${total}Limit`),
    total_weight: read(`${total}Weight`),
  }
}
