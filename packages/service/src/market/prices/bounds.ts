// Prices that a typing mistake makes: one that leaves the bounds is not put in force without a
// confirmation, because a point in the wrong place sells the pool for nothing before anybody looks.

import { misuse } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'

/** A price as it is and as it shall be, in sun; undefined: there is none. */
export type PriceChange = { what: string; before: bigint | undefined; after: bigint }

/** What a price may be where there is none to compare it with, in sun. Where the least is above 0,
 *  the database itself refuses a price of 0. */
export type Bounds = { least: bigint; most: bigint }

/** By so much a price changes when its point moves by one place. */
const FACTOR_MAX = 10n

/** `32000-130999: 0.045 -> 0.05 TRX (x1.11)` */
export function changeText({ what, before, after }: PriceChange): string {
  const [old, fresh] = [before === undefined ? 'none' : trxText(before), trxText(after)]
  const factor =
    before === undefined || before === 0n ? '' : ` (x${factorText(Number(after) / Number(before))})`
  return `${what}: ${old} -> ${fresh} TRX${factor}`
}

const factorText = (factor: number) => String(Number(factor.toPrecision(3)))

function isWithin({ before, after }: PriceChange, { least, most }: Bounds): boolean {
  if (after === 0n && least > 0n) return true
  if (before === undefined || before === 0n) return after >= least && after <= most
  return after * FACTOR_MAX > before && after < before * FACTOR_MAX
}

/** Throws Refused when a price leaves its bounds and nobody has confirmed it. */
export function requireWithin(
  changes: readonly PriceChange[],
  bounds: Bounds,
  confirmed: boolean,
): void {
  const wild = confirmed ? undefined : changes.find((one) => !isWithin(one, bounds))
  if (!wild) return
  const { least, most } = bounds
  const reason =
    wild.before === undefined || wild.before === 0n
      ? `a new price is from ${trxText(least)} to ${trxText(most)} TRX`
      : 'a price stays above a tenth and below ten times of what it is'
  throw misuse(`${changeText(wild)}: ${reason}. Nothing is changed; --yes does it all the same.`)
}
