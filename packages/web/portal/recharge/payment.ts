// The payment for an amount of energy, by the rates of the recharge. All is computed in
// sun, as the service computes it: what is sent buys at the rate of the highest tier that it
// reaches.

import { fromSun, toSun } from 'penstock-sdk'

export type Rate = {
  min_energy: number
  max_energy: number
  /** TRX for 1000 energy. */
  price: number
}

export type Payment = {
  trx: number
  /** Bought by it: as much as was asked for, or more where that costs less. */
  energy: number
}

/** The energy that so much buys; undefined: it reaches no tier, or more than the tier sells. */
function energyFor(rates: readonly Rate[], sun: bigint): number | undefined {
  const reached = rates
    .map((rate) => ({ ...rate, energy: Number((sun * 1000n) / toSun(rate.price)) }))
    .filter(({ energy, min_energy }) => energy >= min_energy)
    .at(-1)
  return reached && reached.energy <= reached.max_energy ? reached.energy : undefined
}

/** The least payment for this much energy; undefined where that cannot be bought at once. `rates`
 *  are in the order of their amounts. */
export function paymentFor(rates: readonly Rate[], wanted: number): Payment | undefined {
  const payments = rates.flatMap(({ min_energy, max_energy, price }) => {
    const energy = Math.max(wanted, min_energy)
    if (energy > max_energy) return []
    const sun = (BigInt(energy) * toSun(price) + 999n) / 1000n
    const bought = energyFor(rates, sun)
    return bought !== undefined && bought >= wanted ? [{ sun, energy: bought }] : []
  })
  const [least] = payments.sort((a, b) => (a.sun < b.sun ? -1 : 1))
  return least && { trx: fromSun(least.sun), energy: least.energy }
}

/** By how many whole percent a sum is less than another, exact; 0 where it is not. */
export function percentBelow(sum: number, other: number): number {
  const [less, all] = [toSun(sum), toSun(other)]
  return less < all ? Number(((all - less) * 100n) / all) : 0
}

/** By how many hundredths a payment is less than burning for the same; 0 where it is not. */
export const savedPercent = ({ trx, energy }: Payment, burning_price: number): number =>
  percentBelow(trx, burningCost(burning_price, energy))

/** The cost of burning for so much energy. `price`: TRX for 1000. */
export const burningCost = (price: number, energy: number): number =>
  fromSun((toSun(price) * BigInt(energy)) / 1000n)
