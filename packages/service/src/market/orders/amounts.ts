// How much a request to buy asks for. The wire lets an amount come from three places and lays down
// which mistake is answered first, so these fields are judged here, after the schema has seen to
// the rest.

import type { Resource } from '../../chain/node/node.ts'
import type { Fault } from '../../lib/fault.ts'
import { type Json, type JsonObject, OtherNumber } from '../../lib/json.ts'
import { InvalidParams } from '../../platform/wire/endpoint.ts'
import {
  isAbsent,
  objectOf,
  readAddress,
  readDuration,
  readFlag,
} from '../../platform/wire/reading.ts'
import { amountRefusal, type Prices, tierFor } from '../prices/prices.ts'

export type Service = 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address'

export type AmountFields = {
  amounts?: Json | undefined
  amount?: Json | undefined
  energy_amount?: Json | undefined
}
export type Amounts = Record<Resource, number>

/** A field in which an amount can stand, and what stands there. */
type Source = readonly [param: string, value: Json | undefined]

/** The resources that a service sells. */
const SOLD: Record<Service, readonly Resource[]> = {
  energy: ['energy'],
  bandwidth: ['bandwidth'],
  resource_bundle: ['energy', 'bandwidth'],
  activate_address: [],
}

/** Whether nothing is asked for: absent, or a number that is not above 0. */
function isNothing(value: Json | undefined): boolean {
  if (value instanceof OtherNumber) return !(Number(value.text) > 0)
  return isAbsent(value) || (typeof value === 'number' && value <= 0)
}

/** How much of each resource is asked for: from `amounts`, else `amount`, else (energy only)
 *  `energy_amount`. A source that is absent or lacks the resource is passed over. An amount that no
 *  tier answers for is only noted in `refusal`: it may repeat a purchase that was made when one
 *  did. Throws 2, 11 or 50. */
function readAmounts(
  service: Service,
  fields: AmountFields,
  prices: Prices,
): Amounts & { refusal?: Fault } {
  const amounts = objectOf(fields.amounts)
  for (const resource of ['energy', 'bandwidth'] as const) {
    if (!SOLD[service].includes(resource) && !isNothing(amounts?.[resource]))
      throw InvalidParams().because(
        `the service ${service} has no ${resource}: leave ${resource} out of amounts, or buy ` +
          'a resource_bundle',
        `params.amounts.${resource}`,
      )
  }
  const read: Amounts = { energy: 0, bandwidth: 0 }
  let refusal: Fault | undefined
  if (service === 'resource_bundle' && !amounts)
    throw InvalidParams().at('params.amounts', 'an object with energy and bandwidth')
  for (const resource of SOLD[service]) {
    const sources: Source[] = [[`params.amounts.${resource}`, amounts?.[resource]]]
    if (service !== 'resource_bundle') sources.push(['params.amount', fields.amount])
    if (service === 'energy') sources.push(['params.energy_amount', fields.energy_amount])
    const usable = amounts !== undefined || isAbsent(fields.amounts)
    const source = usable ? sources.find(([, value]) => !isAbsent(value)) : undefined
    const given = source?.[1]
    const is_amount = typeof given === 'number' && given > 0
    if (!is_amount || !tierFor(prices, resource, given))
      refusal ??= usable
        ? amountRefusal(prices, resource, source?.[0] ?? missingOf(service, resource, amounts))
        : amountRefusal(prices, resource, 'params.amounts').at('params.amounts', 'an object')
    if (!is_amount) throw refusal
    read[resource] = given
  }
  return refusal ? { ...read, refusal } : read
}

/** Which field is missing when there is none with an amount. */
const missingOf = (service: Service, resource: Resource, amounts: JsonObject | undefined) =>
  service === 'resource_bundle' || Object.keys(amounts ?? {}).length > 0
    ? `params.amounts.${resource}`
    : 'params.amount'

export type PurchaseBody = {
  service: Service
  params: AmountFields & {
    [Field in 'address' | 'duration' | 'activate_address']?: Json | undefined
  }
}

/** What is asked for: of what, how much, for which address. Throws 2, 10, 11, 12 and 50; an amount
 *  that no tier answers for is only noted in `refusal`. */
export function readPurchase({ service, params }: PurchaseBody, prices: Prices) {
  const activate =
    readFlag(params.activate_address, 'params.activate_address') || service === 'activate_address'
  const address = readAddress(params.address, 'params.address')
  if (service !== 'activate_address') readDuration(params.duration, 'params.duration')
  return { service, address, activate, ...readAmounts(service, params, prices) }
}

/** The first source that is present, when it is an amount that a tier answers for. Throws 11 or
 *  50. */
export function readAmount(resource: Resource, sources: readonly Source[], prices: Prices): number {
  const [param, given] = sources.find(([, value]) => !isAbsent(value)) ?? sources[0]!
  if (typeof given !== 'number' || !tierFor(prices, resource, given))
    throw amountRefusal(prices, resource, param)
  return given
}
