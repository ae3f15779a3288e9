// Prices are rows, changed without a restart; what is charged is computed here and nowhere else.
// All amounts are integer sun; a charge is rounded half up to 0.01 TRX and is at least that.

import type { Resource } from '../../chain/node/node.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Fault, type FaultKind, fault } from '../../lib/fault.ts'
import { least } from '../../lib/json.ts'
import { recently } from '../../lib/recent.ts'
import type { Query, Sql } from '../../platform/database/sql.ts'
import { ServiceUnavailable } from '../../platform/wire/endpoint.ts'

export const InvalidEnergyAmount: FaultKind = fault(
  11,
  'invalid_energy_amount',
  'Invalid energy amount',
)
export const InvalidBandwidthAmount: FaultKind = fault(
  50,
  'invalid_bandwidth_amount',
  'Invalid bandwidth amount',
)

/** A price in force: `price_sun` is that of 1000 units, for any amount from `min_amount` to
 *  `max_amount`. */
export type Tier = {
  resource: Resource
  duration_hours: number
  min_amount: number
  max_amount: number
  price_sun: bigint
}

export type Prices = {
  /** By resource, then by amount. */
  tiers: Tier[]
  activation_sun: bigint
  /** Services that are on sale: see onSale(). */
  on_sale: ReadonlySet<string>
}

/** What a service is made of: it is on sale only while all of that is. */
const MADE_OF: Readonly<Record<string, readonly string[]>> = {
  resource_bundle: ['energy', 'bandwidth'],
  direct_recharge: ['energy'],
  subscription: ['energy'],
}

/** What is on sale of what is switched on. */
const onSale = (switched: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...switched].filter((name) => (MADE_OF[name] ?? []).every((part) => switched.has(part))))

/** Whether it can be bought: the service, and the activation that it takes along, if it does. */
export const isOnSale = ({ on_sale }: Prices, service: string, activates: boolean): boolean =>
  on_sale.has(service) && (!activates || on_sale.has('activate_address'))

/** The refusal of what is off sale: the service itself, or the activation that it takes along. */
export const offSale = ({ on_sale }: Prices, service: string): Fault =>
  ServiceUnavailable().because(
    on_sale.has(service) ? 'the activation of the address is off sale' : `${service} is off sale`,
  )

const CENT_SUN = 10_000n

/** What `amount` units cost at a price per 1000. */
export function charge(price_sun: bigint, amount: number | bigint): bigint {
  const thousandths = price_sun * BigInt(amount)
  const cents = (thousandths + 500n * CENT_SUN) / (1000n * CENT_SUN)
  return (cents > 0n ? cents : 1n) * CENT_SUN
}

/** The tier that answers for an amount, if one does. */
export function tierFor(prices: Prices, resource: Resource, amount: number): Tier | undefined {
  return prices.tiers.find(
    (tier) => tier.resource === resource && tier.min_amount <= amount && amount <= tier.max_amount,
  )
}

/** The amounts that tiers answer for: `from 32000 to 3000000`. */
function rangesOf({ tiers }: Prices, resource: Resource): string {
  const ranges: { min: number; max: number }[] = []
  const sold = tiers.filter((tier) => tier.resource === resource)
  for (const { min_amount: min, max_amount: max } of sold.toSorted(
    (one, other) => one.min_amount - other.min_amount,
  )) {
    const last = ranges.at(-1)
    if (last && min <= last.max + 1) last.max = Math.max(last.max, max)
    else ranges.push({ min, max })
  }
  return ranges.map(({ min, max }) => `from ${min} to ${max}`).join(', or ')
}

/** The refusal of an amount. `param`: the field that it came from. */
export function amountRefusal(prices: Prices, resource: Resource, param: string): Fault {
  const refused = resource === 'energy' ? InvalidEnergyAmount() : InvalidBandwidthAmount()
  const ranges = rangesOf(prices, resource)
  return ranges === ''
    ? refused.because(`no ${resource} is on sale`, param)
    : refused.at(param, `an integer ${ranges}`)
}

/** The refusal of an amount that nobody has typed, or that had a price when it was. */
export function untieredRefusal(prices: Prices, resource: Resource, amount: number): Fault {
  const refused = resource === 'energy' ? InvalidEnergyAmount() : InvalidBandwidthAmount()
  const ranges = rangesOf(prices, resource) || 'none'
  return refused.because(`${amount} ${resource} is not on sale now, which is ${ranges}`)
}

/** What an amount costs. Throws 11 or 50 when no tier answers for it. */
export function priceOf(prices: Prices, resource: Resource, amount: number): bigint {
  const tier = tierFor(prices, resource, amount)
  if (!tier) throw untieredRefusal(prices, resource, amount)
  return charge(tier.price_sun, amount)
}

/** What so much energy, or more of it, costs at least by one order now. Undefined while none is on
 *  sale. More than an order can have is as dear as in the largest. */
export function leastPriceOf(prices: Prices, amount: bigint): bigint | undefined {
  const tiers = prices.tiers.filter(({ resource }) => resource === 'energy')
  const largest = tiers.toSorted((one, other) => other.max_amount - one.max_amount)[0]
  const fitting = tiers.filter(({ max_amount }) => amount <= max_amount)
  const offers = fitting.map(({ price_sun, min_amount }) =>
    charge(price_sun, amount < min_amount ? min_amount : amount),
  )
  const [first, ...others] = offers
  if (first !== undefined) return least(first, ...others)
  return largest && charge(largest.price_sun, amount)
}

export async function readPrices(sql: Query): Promise<Prices> {
  const tiers = await sql<Record<'min_amount' | 'max_amount', bigint> & Tier>`
    select resource, duration_hours, min_amount, max_amount, price_sun from price
    where until is null order by resource desc, min_amount`
  const [fee] = await sql<{ price_sun: bigint }>`
    select price_sun from fee where name = 'activate_address' and until is null`
  const services = await sql<{ name: string }>`select name from service where on_sale`
  if (!fee) throw new Error('the fee for an activation has no price')
  return {
    tiers: tiers.map((tier) => ({
      ...tier,
      min_amount: Number(tier.min_amount),
      max_amount: Number(tier.max_amount),
    })),
    activation_sun: fee.price_sun,
    on_sale: onSale(new Set(services.map(({ name }) => name))),
  }
}

/** How long a changed price may take to be in force in every process. */
const FRESH_MS = 1_000

/** Reads prices, and what is on sale, at most once a second. `activationsLeft`: for how many the
 *  wallet can pay that activates addresses; what it cannot pay for is not on sale. */
export function priceReader({
  sql,
  clock,
  activationsLeft = async () => Number.POSITIVE_INFINITY,
}: {
  sql: Sql
  clock: Clock
  activationsLeft?: (sql: Sql) => Promise<number>
}): () => Promise<Prices> {
  async function read(): Promise<Prices> {
    const [prices, left] = await Promise.all([readPrices(sql), activationsLeft(sql)])
    if (left > 0) return prices
    const on_sale = new Set(prices.on_sale)
    on_sale.delete('activate_address')
    return { ...prices, on_sale }
  }
  return recently(FRESH_MS, { clock, read })
}
