// How much is signed within an hour and a day, whatever asks for it. A signature that is dead since
// counts too.

import { SUN_PER_TRX } from '../../lib/json.ts'
import type { SignatureRecord } from './signature_log.ts'

/** What the file of wallets may say; what is left out is worked out from what the pool has staked.
 *  TRX are whole. */
export type LimitsConfig = {
  /** Stake that is delegated, by all wallets and by each. */
  delegated_trx_hour?: number
  delegated_trx_day?: number
  wallet_trx_hour?: number
  wallet_trx_day?: number
  delegations_minute?: number
  activations_day?: number
  refund_trx_day?: number
  refunds_hour?: number
}

export const LIMIT_NAMES = [
  'delegated_trx_hour',
  'delegated_trx_day',
  'wallet_trx_hour',
  'wallet_trx_day',
  'delegations_minute',
  'activations_day',
  'refund_trx_day',
  'refunds_hour',
] as const satisfies readonly (keyof LimitsConfig)[]

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
/** What is delegated comes back after an hour: more than the stake is what came back sooner. */
const HOUR_PERCENT = 150n
const DAY_PERCENT = 2_400n
const DELEGATIONS_A_MINUTE = 600
const ACTIVATIONS_A_DAY = 200
const REFUND_TRX_A_DAY = 5_000
const REFUNDS_AN_HOUR = 100

/** A sum over the last so many milliseconds, in steps of a sixtieth of it: never over less. */
class RollingSum {
  private readonly span_ms: number
  private readonly step_ms: number
  private readonly parts = new Map<number, bigint>()
  private sum = 0n

  constructor(span_ms: number) {
    this.span_ms = span_ms
    this.step_ms = span_ms / 60
  }

  add(at: number, value: bigint): void {
    const part = Math.floor(at / this.step_ms)
    this.parts.set(part, (this.parts.get(part) ?? 0n) + value)
    this.sum += value
  }

  at(now: number): bigint {
    for (const [part, value] of this.parts) {
      if ((part + 1) * this.step_ms > now - this.span_ms) continue
      this.parts.delete(part)
      this.sum -= value
    }
    return this.sum
  }
}

/** One limit: what is counted, over how long, and how much of it may be. */
type Limit = {
  name: (typeof LIMIT_NAMES)[number]
  span_ms: number
  /** What it counts for; undefined: it does not count here. */
  counts(one: SignatureFigures): bigint | undefined
  /** Kept apart for each wallet. */
  by_wallet: boolean
}

/** What of a signature the limits look at; of several together where it says how many. */
type SignatureFigures = Pick<SignatureRecord, 'type' | 'wallet' | 'sun'> & { signatures?: bigint }

const delegated = ({ type, sun }: SignatureFigures) =>
  type === 'DelegateResourceContract' ? sun : undefined
const refunded = ({ type, sun }: SignatureFigures) =>
  type === 'TransferContract' ? sun : undefined
const number = (counts: Limit['counts']) => (operation: SignatureFigures) =>
  counts(operation) === undefined ? undefined : (operation.signatures ?? 1n)
const activated = ({ type, signatures = 1n }: SignatureFigures) =>
  type === 'AccountCreateContract' ? signatures : undefined

const LIMITS: readonly Limit[] = [
  { name: 'delegated_trx_hour', span_ms: HOUR_MS, counts: delegated, by_wallet: false },
  { name: 'delegated_trx_day', span_ms: DAY_MS, counts: delegated, by_wallet: false },
  { name: 'wallet_trx_hour', span_ms: HOUR_MS, counts: delegated, by_wallet: true },
  { name: 'wallet_trx_day', span_ms: DAY_MS, counts: delegated, by_wallet: true },
  { name: 'delegations_minute', span_ms: MINUTE_MS, counts: number(delegated), by_wallet: false },
  { name: 'activations_day', span_ms: DAY_MS, counts: activated, by_wallet: false },
  { name: 'refund_trx_day', span_ms: DAY_MS, counts: refunded, by_wallet: false },
  { name: 'refunds_hour', span_ms: HOUR_MS, counts: number(refunded), by_wallet: false },
]

/** What each pool wallet has staked, in sun; undefined while it was never asked for. */
export type Stakes = ReadonlyMap<string, bigint> | undefined

/** How much of a limit there is: as wanted, else by the stakes. Undefined: no end, as long as the
 *  stakes are not known. */
function mostOf(
  { name }: Limit,
  wallet: string,
  wanted: LimitsConfig,
  stakes: Stakes,
): bigint | undefined {
  const given = wanted[name]
  if (given !== undefined)
    return name.includes('_trx_') ? BigInt(given) * SUN_PER_TRX : BigInt(given)
  if (name === 'activations_day') return BigInt(ACTIVATIONS_A_DAY)
  if (name === 'refund_trx_day') return BigInt(REFUND_TRX_A_DAY) * SUN_PER_TRX
  if (name === 'refunds_hour') return BigInt(REFUNDS_AN_HOUR)
  if (stakes === undefined) return undefined
  if (name === 'delegations_minute') return BigInt(DELEGATIONS_A_MINUTE * Math.max(1, stakes.size))
  const all_sun = [...stakes.values()].reduce((sum, sun) => sum + sun, 0n)
  const sun = name.startsWith('wallet') ? (stakes.get(wallet) ?? 0n) : all_sun
  return (sun * (name.endsWith('hour') ? HOUR_PERCENT : DAY_PERCENT)) / 100n
}

/** What each limit is now, in sun or in how many; null: none, as the stakes are not known. Of those
 *  that each wallet has, the largest. */
export function limitsInForce(
  wanted: LimitsConfig,
  stakes: Stakes,
): Record<keyof LimitsConfig, bigint | null> {
  const wallets = [...(stakes?.keys() ?? [])]
  const mostFor = (limit: Limit) => {
    const of_each = (limit.by_wallet && wallets.length > 0 ? wallets : ['']).map((wallet) =>
      mostOf(limit, wallet, wanted, stakes),
    )
    return of_each.reduce<bigint | null>(
      (most, one) => (one === undefined || (most !== null && most > one) ? most : one),
      null,
    )
  }
  const limits = LIMITS.map((limit) => [limit.name, mostFor(limit)])
  return Object.fromEntries(limits) as Record<keyof LimitsConfig, bigint | null>
}

/** The sums of what was signed, and what more may be. */
export class SignedSums {
  private readonly sums = new Map<string, RollingSum>()

  add(signed: SignatureFigures & { at: number }): void {
    for (const limit of LIMITS) {
      const value = limit.counts(signed)
      if (value === undefined) continue
      const key = limit.by_wallet ? `${limit.name} ${signed.wallet}` : limit.name
      const sum = this.sums.get(key) ?? new RollingSum(limit.span_ms)
      this.sums.set(key, sum)
      sum.add(signed.at, value)
    }
  }

  /** Takes back what was added with the same time. */
  remove({ sun, signatures = 1n, ...same }: SignatureFigures & { at: number }): void {
    this.add({ ...same, sun: -sun, signatures: -signatures })
  }

  /** The limit that one more would be above, in words; undefined when there is none. */
  above(
    next: SignatureFigures & { at: number },
    wanted: LimitsConfig,
    stakes: Stakes,
  ): string | undefined {
    for (const limit of LIMITS) {
      const value = limit.counts(next)
      const most = value === undefined ? undefined : mostOf(limit, next.wallet, wanted, stakes)
      if (value === undefined || most === undefined) continue
      const key = limit.by_wallet ? `${limit.name} ${next.wallet}` : limit.name
      const so_far = this.sums.get(key)?.at(next.at) ?? 0n
      if (so_far + value > most)
        return `${limit.name}: ${so_far} and ${value} more is above ${most}`
    }
    return undefined
  }
}
