// Stakes (2.0): freezing TRX for a resource, unfreezing it, and taking it back after the delay of
// 14 days. The sum of all stakes in whole TRX, account by account, is the weight that everybody's
// limits depend on.

import { accountOf, isAddressHex, requireAccount, writeAccount } from '../state/accounts.ts'
import {
  type Contract,
  type ExecutionContext,
  integerOf,
  resourceOf,
  textOf,
} from '../state/execution_context.ts'
import { SUN_PER_TRX, UNFREEZING_MAX } from '../state/parameters.ts'
import type { Account, StakeType } from '../state/records.ts'
import { invalid } from '../state/refusal.ts'
import { addTotals } from '../state/state.ts'
import { withEarnings } from './rewards.ts'
import { withVotesOfStake } from './witnesses.ts'

const isStakeType = (name: string): name is 'BANDWIDTH' | 'ENERGY' =>
  name === 'BANDWIDTH' || name === 'ENERGY'

/** The stake of an account in whole TRX, what it delegates included. */
function weightOf(account: Account, type: StakeType): bigint {
  const delegated = type === 'TRON_POWER' ? 0n : account.delegated[type]
  return (account.frozen[type] + delegated) / SUN_PER_TRX
}

/** The account with more (or less) frozen; the totals are moved along. */
function addFrozen(
  { state }: ExecutionContext,
  account: Account,
  type: StakeType,
  sun: bigint,
): Account {
  const changed = { ...account, frozen: { ...account.frozen, [type]: account.frozen[type] + sun } }
  const weight = weightOf(changed, type) - weightOf(account, type)
  if (type === 'ENERGY') addTotals(state, { energy_weight: weight })
  if (type === 'BANDWIDTH') addTotals(state, { net_weight: weight })
  return changed
}

const frozenNames = { BANDWIDTH: 'BANDWIDTH', ENERGY: 'Energy' }

export const freeze: Contract = {
  validate({ state }, message) {
    const owner = textOf(message, 'owner_address')
    const sun = integerOf(message, 'frozen_balance')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    const account = accountOf(state, owner)
    if (!account) throw invalid(`Account[${owner}] not exists`)
    if (sun <= 0n) throw invalid('frozenBalance must be positive')
    if (sun < SUN_PER_TRX) throw invalid('frozenBalance must be greater than or equal to 1 TRX')
    if (sun > account.balance)
      throw invalid('frozenBalance must be less than or equal to accountBalance')
    if (!isStakeType(resourceOf(message)))
      throw invalid('ResourceCode error, valid ResourceCode[BANDWIDTH、ENERGY]')
  },

  execute(context, message) {
    const account = requireAccount(context.state, textOf(message, 'owner_address'))
    const sun = integerOf(message, 'frozen_balance')
    const staked = addFrozen(context, account, resourceOf(message) as StakeType, sun)
    writeAccount(context.state, { ...staked, balance: staked.balance - sun })
    return { fee_sun: 0n }
  },
}

/** The account with everything that has come out of its delay paid back to its balance. */
function payExpired(account: Account, now_ms: number): { account: Account; withdrawn_sun: bigint } {
  const expired = account.unfreezing.filter(({ expires_at_ms }) => expires_at_ms <= now_ms)
  const withdrawn_sun = expired.reduce((sum, { sun }) => sum + sun, 0n)
  const unfreezing = account.unfreezing.filter(({ expires_at_ms }) => expires_at_ms > now_ms)
  return {
    account: { ...account, balance: account.balance + withdrawn_sun, unfreezing },
    withdrawn_sun,
  }
}

/** How many more times an account may unfreeze before the earlier ones come out of their delay. */
export function availableUnfreezeCount(account: Account, now_ms: number): number {
  return (
    UNFREEZING_MAX - account.unfreezing.filter(({ expires_at_ms }) => expires_at_ms > now_ms).length
  )
}

/** The amount that an account could withdraw at a time, in sun. */
export function withdrawableAt(account: Account, now_ms: number): bigint {
  return payExpired(account, now_ms).withdrawn_sun
}

export const unfreeze: Contract = {
  validate({ state, now_ms }, message) {
    const owner = textOf(message, 'owner_address')
    const sun = integerOf(message, 'unfreeze_balance')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    const account = accountOf(state, owner)
    if (!account) throw invalid(`Account[${owner}] does not exist`)
    const resource = resourceOf(message)
    if (!isStakeType(resource))
      throw invalid('ResourceCode error.valid ResourceCode[BANDWIDTH、Energy]')
    if (account.frozen[resource] <= 0n) throw invalid(`no frozenBalance(${frozenNames[resource]})`)
    if (sun <= 0n || sun > account.frozen[resource])
      throw invalid(`Invalid unfreeze_balance, [${sun}] is error`)
    if (availableUnfreezeCount(account, now_ms) <= 0) {
      throw invalid('Invalid unfreeze operation, unfreezing times is over limit')
    }
  },

  execute(context, message) {
    const { state, now_ms, unfreeze_delay_ms } = context
    const resource = resourceOf(message) as StakeType
    const sun = integerOf(message, 'unfreeze_balance')
    const { account, withdrawn_sun } = payExpired(
      withEarnings(state, requireAccount(state, textOf(message, 'owner_address'))),
      now_ms,
    )
    const expires_at_ms = now_ms + unfreeze_delay_ms
    const reduced = withVotesOfStake(state, addFrozen(context, account, resource, -sun))
    writeAccount(state, {
      ...reduced,
      unfreezing: [...reduced.unfreezing, { resource, sun, expires_at_ms }],
    })
    return { fee_sun: 0n, withdrawn_sun }
  },
}

export const withdrawExpired: Contract = {
  validate({ state, now_ms }, message) {
    const owner = textOf(message, 'owner_address')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    const account = accountOf(state, owner)
    if (!account) throw invalid(`Account[${owner}] not exists`)
    if (withdrawableAt(account, now_ms) <= 0n) throw invalid('no unFreeze balance to withdraw ')
  },

  execute({ state, now_ms }, message) {
    const { account, withdrawn_sun } = payExpired(
      requireAccount(state, textOf(message, 'owner_address')),
      now_ms,
    )
    writeAccount(state, account)
    return { fee_sun: 0n, withdrawn_sun }
  },
}

export const cancelAllUnfreeze: Contract = {
  validate({ state }, message) {
    const owner = textOf(message, 'owner_address')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    const account = accountOf(state, owner)
    if (!account) throw invalid(`Account[${owner}] not exists`)
    if (account.unfreezing.length === 0) throw invalid('No unfreezeV2 list to cancel')
  },

  execute(context, message) {
    const paid = payExpired(
      requireAccount(context.state, textOf(message, 'owner_address')),
      context.now_ms,
    )
    const cancelled = { BANDWIDTH: 0n, ENERGY: 0n, TRON_POWER: 0n }
    let account = paid.account
    for (const { resource, sun } of account.unfreezing) {
      account = addFrozen(context, account, resource, sun)
      cancelled[resource] += sun
    }
    writeAccount(context.state, { ...account, unfreezing: [] })
    return { fee_sun: 0n, withdrawn_sun: paid.withdrawn_sun, cancelled }
  },
}
