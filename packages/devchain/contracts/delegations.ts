// Delegations: the weight of a stake lent to another account. Not energy moves but stake: `frozen`
// falls and `delegated` rises at the owner, `acquired` rises at the receiver. What the receiver
// used in the meantime comes back to the owner with the stake, as usage.
//
// One pair of accounts has at most two rows: unlocked, and locked. A new lock overwrites the expiry
// of all that was locked before; a locked row whose time is over is moved to the unlocked one by
// the next contract of the pair.

import type { Message } from 'penstock-tron/protobuf.ts'
import { accountOf, isAddressHex, requireAccount, writeAccount } from '../state/accounts.ts'
import {
  type Contract,
  type ExecutionContext,
  flagOf,
  integerOf,
  resourceOf,
  textOf,
} from '../state/execution_context.ts'
import { DEFAULT_LOCK_PERIOD, type Parameters, SLOT_MS, SUN_PER_TRX } from '../state/parameters.ts'
import type { Account, Delegation, Partners, Resource } from '../state/records.ts'
import { invalid } from '../state/refusal.ts'
import {
  effectiveStake,
  fadedUsage,
  increaseUsage,
  limitOfStake,
  stakeOfUsage,
  supplyOf,
  takeBackUsage,
  usageOf,
  withUsage,
} from '../state/resources.ts'
import { type Layer, totalsOf, type View } from '../state/state.ts'

const isResource = (name: string): name is Resource => name === 'BANDWIDTH' || name === 'ENERGY'

const keyOf = (from: string, to: string, locked: boolean) => `${from}${to}${locked ? 'locked' : ''}`

export function delegationOf(
  view: View,
  from: string,
  to: string,
  locked: boolean,
): Delegation | undefined {
  return view.read('delegation', keyOf(from, to, locked))
}

const noPartners: Partners = { from: [], to: [] }

export const partnersOf = (view: View, address: string): Partners =>
  view.read('partners', address) ?? noPartners

/** Searched and copied natively: a pool's wallet has thousands of partners, and each delegation
 *  comes through here. */
function without(list: readonly string[], address: string): readonly string[] {
  const at = list.indexOf(address)
  return at < 0 ? list : list.toSpliced(at, 1)
}

/** A pair that is linked already becomes its newest: the node sorts partners by the time of the
 *  last delegation. */
function link(state: Layer, from: string, to: string): void {
  const owner = partnersOf(state, from)
  state.write('partners', from, { ...owner, to: [...without(owner.to, to), to] })
  const receiver = partnersOf(state, to)
  state.write('partners', to, { ...receiver, from: [...without(receiver.from, from), from] })
}

function unlink(state: Layer, from: string, to: string): void {
  const owner = partnersOf(state, from)
  state.write('partners', from, { ...owner, to: without(owner.to, to) })
  const receiver = partnersOf(state, to)
  state.write('partners', to, { ...receiver, from: without(receiver.from, from) })
}

const emptyRow = (from: string, to: string): Delegation => ({
  from,
  to,
  sun: { BANDWIDTH: 0n, ENERGY: 0n },
  expires_at_ms: { BANDWIDTH: 0, ENERGY: 0 },
})

function withSun(
  row: Delegation,
  resource: Resource,
  sun: bigint,
  expires_at_ms: number,
): Delegation {
  return {
    ...row,
    sun: { ...row.sun, [resource]: sun },
    expires_at_ms: { ...row.expires_at_ms, [resource]: expires_at_ms },
  }
}

function writeRow(state: Layer, row: Delegation, locked: boolean): void {
  const empty = row.sun.BANDWIDTH === 0n && row.sun.ENERGY === 0n
  state.write('delegation', keyOf(row.from, row.to, locked), empty ? undefined : row)
}

/** Moves what is locked no longer to the unlocked row: strictly after its expiry. */
function unlockExpired(state: Layer, from: string, to: string, now_ms: number): void {
  let locked = delegationOf(state, from, to, true)
  if (!locked) return
  let unlocked = delegationOf(state, from, to, false) ?? emptyRow(from, to)
  for (const resource of ['ENERGY', 'BANDWIDTH'] as const) {
    if (locked.expires_at_ms[resource] >= now_ms) continue
    unlocked = withSun(unlocked, resource, unlocked.sun[resource] + locked.sun[resource], 0)
    locked = withSun(locked, resource, 0n, 0)
  }
  writeRow(state, locked, true)
  writeRow(state, unlocked, false)
}

/** The bytes that a node reserves for the delegating transaction itself when it says how much
 *  bandwidth can be delegated: its usual size, and what the numbers of a large one add to it. */
function reservedBytes(account: Account, parameters: Parameters): number {
  const varintBytes = (value: bigint) =>
    value === 0n ? 0 : Math.ceil(value.toString(2).length / 7)
  const field = (value: bigint) => (value === 0n ? 0 : 1 + varintBytes(value))
  const lock = 2 + field(BigInt(parameters.getMaxDelegateLockPeriod))
  return 275 + Math.max(0, lock + field(account.frozen.BANDWIDTH) - field(SUN_PER_TRX))
}

/** The sun of its own stake that an account could delegate now: what its usage does not hold
 *  back. */
export function delegatable(
  context: Omit<ExecutionContext, 'state'> & { state: View },
  account: Account,
  resource: Resource,
): bigint {
  const { state, parameters, slot } = context
  const reserved =
    resource === 'BANDWIDTH' && context.building ? reservedBytes(account, parameters) : 0
  const used = fadedUsage(usageOf(account, resource), slot) + reserved
  const held =
    stakeOfUsage(used, supplyOf(resource, totalsOf(state), parameters)) - account.acquired[resource]
  return account.frozen[resource] - (held > 0n ? held : 0n)
}

function lockPeriodOf(message: Message): bigint {
  return integerOf(message, 'lock_period') || BigInt(DEFAULT_LOCK_PERIOD)
}

function checkLock({ state, parameters, now_ms }: ExecutionContext, message: Message): void {
  const period = lockPeriodOf(message)
  const longest = parameters.getMaxDelegateLockPeriod
  if (period < 0n || period > BigInt(longest)) {
    throw invalid(
      `The lock period of delegate resource cannot be less than 0 and cannot exceed ${longest}!`,
    )
  }
  const resource = resourceOf(message) as Resource
  const row = delegationOf(
    state,
    textOf(message, 'owner_address'),
    textOf(message, 'receiver_address'),
    true,
  )
  const remaining_ms = (row?.expires_at_ms[resource] ?? 0) - now_ms
  if (row && Number(period) * SLOT_MS < remaining_ms) {
    throw invalid(
      `The lock period for ${resource} this time cannot be less than the remaining ` +
        `time[${remaining_ms}ms] of the last lock period for ${resource}!`,
    )
  }
}

export const delegate: Contract = {
  validate(context, message) {
    const { state } = context
    const owner = textOf(message, 'owner_address')
    const receiver = textOf(message, 'receiver_address')
    const sun = integerOf(message, 'balance')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    const account = accountOf(state, owner)
    if (!account) throw invalid(`Account[${owner}] not exists`)
    if (sun < SUN_PER_TRX) throw invalid('delegateBalance must be greater than or equal to 1 TRX')
    const resource = resourceOf(message)
    if (!isResource(resource))
      throw invalid('ResourceCode error, valid ResourceCode[BANDWIDTH、ENERGY]')
    if (delegatable(context, account, resource) < sun) {
      const name = resource === 'ENERGY' ? 'FreezeEnergyV2' : 'FreezeBandwidthV2'
      throw invalid(`delegateBalance must be less than or equal to available ${name} balance`)
    }
    if (!isAddressHex(receiver)) throw invalid('Invalid receiverAddress')
    if (receiver === owner) throw invalid('receiverAddress must not be the same as ownerAddress')
    const receiving = accountOf(state, receiver)
    if (!receiving) throw invalid(`Account[${receiver}] not exists`)
    if (flagOf(message, 'lock')) checkLock(context, message)
    if (receiving.type === 'Contract')
      throw invalid('Do not allow delegate resources to contract addresses')
  },

  execute({ state, now_ms }, message) {
    const from = textOf(message, 'owner_address')
    const to = textOf(message, 'receiver_address')
    const sun = integerOf(message, 'balance')
    const resource = resourceOf(message) as Resource
    const lock = flagOf(message, 'lock')
    unlockExpired(state, from, to, now_ms)
    const expires_at_ms = lock ? now_ms + Number(lockPeriodOf(message)) * SLOT_MS : 0
    const row = delegationOf(state, from, to, lock) ?? emptyRow(from, to)
    writeRow(state, withSun(row, resource, row.sun[resource] + sun, expires_at_ms), lock)
    link(state, from, to)
    const receiver = requireAccount(state, to)
    writeAccount(state, {
      ...receiver,
      acquired: { ...receiver.acquired, [resource]: receiver.acquired[resource] + sun },
    })
    moveStake(state, requireAccount(state, from), resource, sun)
    return { fee_sun: 0n }
  },
}

/** From an account's own stake to what it delegates (or back, when the sum is negative). */
function moveStake(state: Layer, owner: Account, resource: Resource, sun: bigint): void {
  writeAccount(state, {
    ...owner,
    delegated: { ...owner.delegated, [resource]: owner.delegated[resource] + sun },
    frozen: { ...owner.frozen, [resource]: owner.frozen[resource] - sun },
  })
}

const quoted = {
  BANDWIDTH: 'delegatedFrozenBalance(BANDWIDTH)',
  ENERGY: 'delegateFrozenBalance(Energy)',
}

export const undelegate: Contract = {
  validate({ state, now_ms }, message) {
    const owner = textOf(message, 'owner_address')
    const receiver = textOf(message, 'receiver_address')
    const sun = integerOf(message, 'balance')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    if (!accountOf(state, owner)) throw invalid(`Account[${owner}] does not exist`)
    if (!isAddressHex(receiver)) throw invalid('Invalid receiverAddress')
    if (receiver === owner) throw invalid('receiverAddress must not be the same as ownerAddress')
    const unlocked = delegationOf(state, owner, receiver, false)
    const locked = delegationOf(state, owner, receiver, true)
    if (!unlocked && !locked) throw invalid('delegated Resource does not exist')
    if (sun <= 0n) throw invalid('unDelegateBalance must be more than 0 TRX')
    const resource = resourceOf(message)
    if (!isResource(resource))
      throw invalid('ResourceCode error.valid ResourceCode[BANDWIDTH、Energy]')
    const expired = locked && locked.expires_at_ms[resource] < now_ms ? locked.sun[resource] : 0n
    const available = (unlocked?.sun[resource] ?? 0n) + expired
    if (available < sun)
      throw invalid(`insufficient ${quoted[resource]}, request=${sun}, unlock_balance=${available}`)
  },

  execute(context, message) {
    const { state, now_ms, slot } = context
    const from = textOf(message, 'owner_address')
    const to = textOf(message, 'receiver_address')
    const sun = integerOf(message, 'balance')
    const resource = resourceOf(message) as Resource
    const { receiver, moved } = releaseFromReceiver(
      context,
      requireAccount(state, to),
      resource,
      sun,
    )
    writeAccount(state, receiver)

    unlockExpired(state, from, to, now_ms)
    const row = delegationOf(state, from, to, false)!
    writeRow(state, withSun(row, resource, row.sun[resource] - sun, 0), false)
    if (!delegationOf(state, from, to, false) && !delegationOf(state, from, to, true))
      unlink(state, from, to)

    const owner = requireAccount(state, from)
    const usage = takeBackUsage(usageOf(owner, resource), usageOf(receiver, resource), moved, slot)
    moveStake(state, moved > 0 ? withUsage(owner, resource, usage) : owner, resource, -sun)
    return { fee_sun: 0n }
  },
}

/** The receiver without the stake, and the usage that leaves with it: its share of what was used,
 *  but no more than the stake would yield today. */
function releaseFromReceiver(
  { state, parameters, slot }: ExecutionContext,
  account: Account,
  resource: Resource,
  sun: bigint,
): { receiver: Account; moved: number } {
  const usage = increaseUsage(usageOf(account, resource), 0, slot)
  const share = Math.trunc(usage.amount * (Number(sun) / Number(effectiveStake(account, resource))))
  const moved = Math.min(limitOfStake(sun, supplyOf(resource, totalsOf(state), parameters)), share)
  const released = {
    ...account,
    acquired: { ...account.acquired, [resource]: account.acquired[resource] - sun },
  }
  return {
    receiver: withUsage(released, resource, { ...usage, amount: usage.amount - moved }),
    moved,
  }
}
