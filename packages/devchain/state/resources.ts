// Bandwidth and energy: what a stake yields, and how usage fades. All of it is the node's own
// arithmetic, step by step: 64-bit integers that round where it rounds, and IEEE doubles where it
// uses doubles, so that the last unit agrees.
//
// Usage fades linearly over a window of at most 28,800 slots (24 h). Each new use merges the two
// windows by weight; the window is kept in thousandths of a slot ("optimized").

import type { Parameters } from './parameters.ts'
import type { Account, Resource, Totals, Usage } from './records.ts'
import { totalsOf, type View } from './state.ts'

export const noUsage: Usage = { amount: 0, slot: 0, window: 0, optimized: false }

const WINDOW_SLOTS = 28_800
const WINDOW_PRECISION = 1000
const PRECISION = 1_000_000n

const divideUp = (numerator: bigint, denominator: bigint) =>
  numerator / denominator + (numerator % denominator > 0n ? 1n : 0n)

function windowSlots({ window, optimized }: Usage): number {
  if (window === 0 || (optimized && window < WINDOW_PRECISION)) return WINDOW_SLOTS
  return optimized ? Math.floor(window / WINDOW_PRECISION) : window
}

function windowThousandths({ window, optimized }: Usage): number {
  if (window === 0) return WINDOW_SLOTS * WINDOW_PRECISION
  return optimized ? window : window * WINDOW_PRECISION
}

/** The average use per slot that is left of an earlier average, in millionths. */
function fadedAverage(amount: number, age_slots: number, window_slots: number): bigint {
  const average = divideUp(BigInt(amount) * PRECISION, BigInt(window_slots))
  if (age_slots === 0) return average
  if (age_slots >= window_slots) return 0n
  return BigInt(Math.round(Number(average) * ((window_slots - age_slots) / window_slots)))
}

/** A usage, recovered up to a slot. */
export function fadedUsage(usage: Usage, slot: number): number {
  const window = windowSlots(usage)
  return Number(
    (fadedAverage(usage.amount, slot - usage.slot, window) * BigInt(window)) / PRECISION,
  )
}

/** A use of the free bandwidth, recovered, whose window is always the whole day. */
export function fadedFreeUsage(
  amount: number,
  used_at_slot: number,
  slot: number,
  added = 0,
): number {
  const window = BigInt(WINDOW_SLOTS)
  const average =
    fadedAverage(amount, slot - used_at_slot, WINDOW_SLOTS) +
    divideUp(BigInt(added) * PRECISION, window)
  return Number((average * window) / PRECISION)
}

/** The usage after `added` more units at a slot; with 0 added, what is left of it, its window
 *  brought up to date. */
export function increaseUsage(usage: Usage, added: number, slot: number): Usage {
  const window = windowSlots(usage)
  const average = fadedAverage(usage.amount, slot - usage.slot, window)
  const left = average * BigInt(window)
  const fresh = divideUp(BigInt(added) * PRECISION, BigInt(WINDOW_SLOTS)) * BigInt(WINDOW_SLOTS)
  const amount = (left + fresh) / PRECISION
  const remaining = left / PRECISION
  const whole_window = WINDOW_SLOTS * WINDOW_PRECISION
  if (remaining === 0n)
    return { amount: Number(amount), slot, window: whole_window, optimized: true }
  const remaining_window = BigInt(windowThousandths(usage) - (slot - usage.slot) * WINDOW_PRECISION)
  const merged = divideUp(
    remaining * remaining_window + BigInt(added) * BigInt(whole_window),
    amount,
  )
  return {
    amount: Number(amount),
    slot,
    window: Math.min(Number(merged), whole_window),
    optimized: true,
  }
}

/** The owner's usage after `moved` units came back from the receiver of an ended delegation, whose
 *  own usage has been brought up to date. */
export function takeBackUsage(owner: Usage, receiver: Usage, moved: number, slot: number): Usage {
  const own = increaseUsage(owner, 0, slot)
  const amount = own.amount + moved
  const whole_window = WINDOW_SLOTS * WINDOW_PRECISION
  if (amount === 0) return { amount: 0, slot, window: whole_window, optimized: true }
  const weighted =
    BigInt(own.amount) * BigInt(Math.max(0, windowThousandths(own))) +
    BigInt(moved) * BigInt(Math.max(0, windowThousandths(receiver)))
  const merged = Number(divideUp(weighted, BigInt(amount)))
  return { amount, slot, window: Math.min(merged, whole_window), optimized: true }
}

/** A day's supply of one resource, and the TRX that share it. */
export type ResourceSupply = { readonly limit: number; readonly weight: bigint }

export function supplyOf(
  resource: Resource,
  totals: Totals,
  parameters: Parameters,
): ResourceSupply {
  return resource === 'ENERGY'
    ? {
        limit: parameters.getTotalEnergyCurrentLimit,
        weight: totals.energy_weight + totals.rest_energy_weight,
      }
    : { limit: parameters.getTotalNetLimit, weight: totals.net_weight + totals.rest_net_weight }
}

/** The units per day that a stake yields. */
export function limitOfStake(sun: bigint, { limit, weight }: ResourceSupply): number {
  if (weight === 0n) return 0
  return Math.trunc((Number(sun) / 1e6) * (limit / Number(weight)))
}

/** The stake that a usage takes up: what may not be delegated away while the usage lasts. */
export function stakeOfUsage(units: number, { limit, weight }: ResourceSupply): bigint {
  return BigInt(Math.trunc(Number(BigInt(units) * 1_000_000n) * (Number(weight) / limit)))
}

/** The stakes that yield a resource to an account: its own and those delegated to it. */
export function effectiveStake(account: Account, resource: Resource): bigint {
  return account.frozen[resource] + account.acquired[resource]
}

/** The units per day that an account may use, as the state of the network has it. */
export function limitOfAccount(
  view: View,
  account: Account,
  resource: Resource,
  parameters: Parameters,
): number {
  return limitOfStake(
    effectiveStake(account, resource),
    supplyOf(resource, totalsOf(view), parameters),
  )
}

export const usageOf = (account: Account, resource: Resource): Usage =>
  resource === 'ENERGY' ? account.energy : account.net

export function withUsage(account: Account, resource: Resource, usage: Usage): Account {
  return resource === 'ENERGY' ? { ...account, energy: usage } : { ...account, net: usage }
}
