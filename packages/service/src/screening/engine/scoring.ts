// From exposure to a score: pure and exact. The score is the weighted mean of the shares, raised to
// the highest floor that acts. Shares are ratios of whole numbers until they are published: four
// decimals that sum to exactly 1.0000, and a score with one decimal, half to even. A blacklist
// match is about the address itself and makes the score 100.

import { CATEGORIES, CATEGORY_COUNT, categoryNumber, UNIDENTIFIED } from '../flow/categories.ts'
import { isTerminal } from '../flow/labels.ts'
import { splitBig } from '../flow/split.ts'
import { type Count, type Floor, type Group, groupOf, type Policy } from './policy.ts'

/** Value in units of 10^-24 dollars: a unit of an asset with up to 18 decimals, times a price in
 *  micro-dollars, is whole. */
export const VALUE_PER_USD = 10n ** 24n

/** Units of an asset as value. */
export function worth(units: bigint, asset: { decimals: number; micro_usd: number }): bigint {
  return units * BigInt(asset.micro_usd) * 10n ** BigInt(18 - asset.decimals)
}

/** Value in dollars and cents, cut off. */
export function printUsd(value: bigint): string {
  const cents = value / (VALUE_PER_USD / 100n)
  return `${cents / 100n}.${(cents % 100n).toString().padStart(2, '0')}`
}

/** Dollars and cents as value. */
export function readUsd(usd: string): bigint {
  const [dollars = '0', cents = '0'] = usd.split('.')
  return (BigInt(dollars) * 100n + BigInt(cents.padEnd(2, '0'))) * (VALUE_PER_USD / 100n)
}

/** Value by category, and how much of it came from terminals directly. */
export type Exposure = { amounts: bigint[]; direct: bigint[] }

export const noExposure = (): Exposure => ({
  amounts: Array<bigint>(CATEGORY_COUNT).fill(0n),
  direct: Array<bigint>(CATEGORY_COUNT).fill(0n),
})

export type Subject = {
  /** All that was received, or what a transfer carried. */
  exposure: Exposure
  /** Of what was received: what is new, and what of that is recent. Undefined where the money of a
   *  transfer is judged: it is all new. */
  net_new?: Exposure | undefined
  recent?: Exposure | undefined
  /** The label in force of the screened address. */
  own: { category: number; confidence: number } | undefined
  /** The address is the sender of a transfer whose money is judged: its own label does not replace
   *  the exposure. */
  by_transfer: boolean
  /** Value sent to terminals by category, and everything sent: for withdrawals, and under a policy
   *  that looks at what is sent. */
  destinations: { amounts: bigint[]; sent: bigint } | undefined
  /** Where what was sent has ended, by the last night's reading. */
  ended?: Exposure | undefined
  /** Why the address is blacklisted; empty: it is not. */
  blacklisted_by: string[]
  /** The customer has allowed the address: floors do not act. */
  allowed: boolean
}

export type Factor = { name: string; label: string; group: Group; score: number }
/** A floor that acts: which, for which category (null: all severe ones together), the points it
 *  raises to, and, where it is not of all that was received, what is counted of that. */
export type ActingFloor = {
  rule: string
  category: string | null
  points: Ratio
  of?: Count
}

export type Outcome = {
  factors: Factor[]
  /** The same of what was sent, by where it ended; none where that is not looked at. */
  sent_factors?: Factor[]
  /** The weighted mean alone. */
  base_score: string
  /** What the score would be if nothing were allowed. */
  raw_score: string
  score: string
  level: Group
  blacklist: boolean
  floors: ActingFloor[]
}

/** A ratio of whole numbers; the divisor is positive. */
export type Ratio = { over: bigint; under: bigint }

const isMore = (a: Ratio, b: Ratio) => a.over * b.under > b.over * a.under

export function scoreOf(policy: Policy, subject: Subject): Outcome {
  const { own, by_transfer, blacklisted_by, allowed } = subject
  const replaced = own !== undefined && isTerminal(own) && !by_transfer
  const exposure = replaced ? wholly(own.category) : orUnidentified(subject.exposure)
  const counted = replaced ? [] : countedOf(policy, { ...subject, exposure })
  const main = counted.find(({ of }) => of === 'net_new') ?? counted[0]
  const base = meanOf(policy, main?.exposure ?? exposure)
  const floors = [
    ...ownFloor(policy, own),
    ...counted.flatMap((one) => exposureFloors(policy, one, { by_amount: one === main })),
    ...(replaced ? [] : destinationFloors(policy, subject)),
  ]
  const highest = floors.reduce((best, { points }) => (isMore(points, best) ? points : best), base)
  const blacklist = blacklisted_by.length > 0
  const score = blacklist ? { over: 100n, under: 1n } : allowed ? base : highest
  const tenths = roundHalfEven(score.over * 10n, score.under)
  return {
    factors: factorsOf(policy, exposure.amounts),
    sent_factors: replaced ? [] : sentFactors(policy, subject.ended),
    base_score: printPoints(base),
    raw_score: blacklist ? '100.0' : printPoints(highest),
    score: printTenths(tenths),
    level: levelOf(policy, tenths, blacklist),
    blacklist,
    floors,
  }
}

type ExposureOfCount = { of: Count; exposure: Exposure }

/** What the policy counts of what was received, as far as there is any. */
function countedOf({ counts }: Policy, { exposure, net_new, recent }: Subject): ExposureOfCount[] {
  const all = { gross: exposure, net_new, recent }
  const counted = counts.flatMap((of) => {
    const one = all[of]
    return one && sum(one.amounts) > 0n ? [{ of, exposure: one }] : []
  })
  return counted.length > 0 ? counted : [{ of: 'gross', exposure }]
}

/** The mean of the weights by share. */
function meanOf({ weights }: Policy, { amounts }: Exposure): Ratio {
  const over = amounts.map((amount, k) => amount * BigInt(weights[CATEGORIES[k]!.name]!))
  return { over: sum(over), under: sum(amounts) }
}

/** What becomes of an outcome, whoever found it, when the address itself is barred. */
export const barred = (outcome: Outcome): Outcome => ({
  ...outcome,
  raw_score: '100.0',
  score: '100.0',
  level: 'high',
  blacklist: true,
})

const sum = (amounts: readonly bigint[]) => amounts.reduce((a, b) => a + b, 0n)

function wholly(category: number): Exposure {
  const exposure = noExposure()
  exposure.amounts[category] = 1n
  return exposure
}

/** An address without history is one of which nothing is known. */
function orUnidentified(exposure: Exposure): Exposure {
  return sum(exposure.amounts) > 0n ? exposure : wholly(UNIDENTIFIED)
}

function ownFloor(policy: Policy, own: Subject['own']): ActingFloor[] {
  if (!own) return []
  const { name } = CATEGORIES[own.category]!
  const weight = policy.weights[name]!
  if (groupOf(weight) !== 'high') return []
  const confidence = Math.min(own.confidence, policy.full_confidence)
  const points = { over: BigInt(weight * confidence), under: BigInt(policy.full_confidence) }
  return [{ rule: 'own_label', category: name, points }]
}

const severeOf = (policy: Policy) =>
  policy.severe.map((name) => ({ name, k: categoryNumber(name)! }))

function acts(floor: Floor, amount: bigint, total: bigint): boolean {
  return (
    amount * 10_000n >= BigInt(floor.share_bp) * total &&
    amount >= BigInt(floor.usd) * VALUE_PER_USD &&
    amount > 0n
  )
}

const raised = (rule: string, category: string | null, { points }: Floor): ActingFloor => ({
  rule,
  category,
  points: { over: BigInt(points), under: 1n },
})

function exposureFloors(
  policy: Policy,
  { of, exposure: { amounts, direct } }: ExposureOfCount,
  { by_amount }: { by_amount: boolean },
): ActingFloor[] {
  const severe = severeOf(policy)
  const total = sum(amounts)
  const each = severe.flatMap(({ name, k }) => {
    const indirect = amounts[k]! - direct[k]!
    const acting = (rule: string, floors: Floor[], amount: bigint) =>
      floors.filter((floor) => acts(floor, amount, total)).map((floor) => raised(rule, name, floor))
    return [
      ...acting('direct', policy.direct, direct[k]!),
      ...acting('indirect', policy.indirect, indirect),
      ...(by_amount ? acting('direct_amount', policy.direct_amount, direct[k]!) : []),
      ...(by_amount ? acting('indirect_amount', policy.indirect_amount, indirect) : []),
    ]
  })
  const together = sum(severe.map(({ k }) => amounts[k]!))
  const combined = policy.combined.filter((floor) => acts(floor, together, total))
  const acting = [...each, ...combined.map((floor) => raised('combined', null, floor))]
  return of === 'gross' ? acting : acting.map((floor) => ({ ...floor, of }))
}

function destinationFloors(policy: Policy, { destinations, ended }: Subject): ActingFloor[] {
  const severe = severeOf(policy)
  const acting = (rule: string, floors: Floor[], of: (k: number) => bigint, total: bigint) =>
    severe.flatMap(({ name, k }) =>
      floors.filter((floor) => acts(floor, of(k), total)).map((floor) => raised(rule, name, floor)),
    )
  const { amounts, direct } = ended ?? noExposure()
  return [
    ...(destinations
      ? acting(
          'destination',
          policy.destination,
          (k) => destinations.amounts[k]!,
          destinations.sent,
        )
      : []),
    ...acting(
      'destination_indirect',
      policy.destination_indirect,
      (k) => amounts[k]! - direct[k]!,
      sum(amounts),
    ),
  ]
}

const sentFactors = (policy: Policy, ended: Exposure | undefined): Factor[] =>
  ended && sum(ended.amounts) > 0n ? factorsOf(policy, ended.amounts) : []

/** The level of a score in tenths. */
export function levelOf(policy: Policy, tenths: bigint, blacklist: boolean): Group {
  if (blacklist || tenths >= BigInt(policy.high_from) * 10n) return 'high'
  return tenths >= BigInt(policy.medium_from) * 10n ? 'medium' : 'low'
}

/** The published shares, in ten-thousandths of the whole; they sum to exactly 10,000. */
export function publishedShares(amounts: readonly bigint[]): number[] {
  return splitBigger(amounts, 10_000n).map(Number)
}

/** Like splitBig(), also for holdings smaller than what is split. */
function splitBigger(amounts: readonly bigint[], q: bigint): bigint[] {
  const total = sum(amounts)
  return splitBig(
    amounts.map((amount) => amount * q),
    q,
    total * q,
  )
}

/** The factors as they are published. */
export function factorsOf(policy: Policy, amounts: readonly bigint[]): Factor[] {
  return publishedShares(amounts)
    .map((share, k) => {
      const { name, label } = CATEGORIES[k]!
      return { name, label, group: groupOf(policy.weights[name]!), score: share / 10_000 }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
}

/** over / under as a whole number, a half to the even one. */
export function roundHalfEven(over: bigint, under: bigint): bigint {
  const floor = over / under
  const twice = (over % under) * 2n
  return twice > under || (twice === under && floor % 2n === 1n) ? floor + 1n : floor
}

/** Points with one decimal, half to even. */
export const printPoints = ({ over, under }: Ratio) => printTenths(roundHalfEven(over * 10n, under))

const printTenths = (tenths: bigint) => `${tenths / 10n}.${tenths % 10n}`
