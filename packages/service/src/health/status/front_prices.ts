// The prices of the first page, beside what burning costs: of usual amounts, and of those that were
// typed, which stand in the address.

import { escaped } from '../../lib/html.ts'
import { trxText } from '../../lib/json.ts'
import { charge, isOnSale, leastPriceOf, type Prices, tierFor } from '../../market/prices/prices.ts'
import type { BurnPrices } from './burn_price.ts'
import type { Words } from './words.ts'

export type PriceQuestion = {
  prices: Prices
  burning: BurnPrices
  query: URLSearchParams
  words: Words
}

/** A transfer of USDT to an address that has some, and to one that has none. */
const USUAL = { transfer: 65_000, transfer_to_new: 131_000 } as const
/** The bytes of such a transfer. */
const USUAL_BANDWIDTH = 345

type Price = { sun: bigint | undefined; burning_sun: bigint | undefined }
type Line = Price & { what: string; usual?: string }

export function pricesHtml(asked: PriceQuestion): string {
  const { query, words } = asked
  const energy = amountOf(query, 'energy')
  const bandwidth = amountOf(query, 'bandwidth')
  const activates = query.get('activate') === 'on'
  const chosen: Line[] = [
    ...(energy === undefined ? [] : [energyLine(asked, energy)]),
    ...(bandwidth === undefined ? [] : [bandwidthLine(asked, bandwidth)]),
    ...(activates ? [activationLine(asked)] : []),
  ]
  const usual = [
    energyLine(asked, USUAL.transfer),
    energyLine(asked, USUAL.transfer_to_new),
    bandwidthLine(asked, USUAL_BANDWIDTH),
    activationLine(asked),
  ]
  const others = chosen.filter(({ what }) => usual.every((line) => line.what !== what))
  const all = chosen.length > 1 ? [{ what: words.say('front.together'), ...sumOf(chosen) }] : []
  const title = escaped(words.say('front.prices'))
  const heads = (['front.for', 'front.price', 'front.burning'] as const).map(
    (one) => `<th scope="col">${escaped(words.say(one))}</th>`,
  )
  const rows = [...usual, ...others, ...all].map((line) => rowHtml(line, words))
  return (
    `<section class="panel" aria-label="${title}">` +
    `<div class="table-frame"><table><caption>${title}</caption>` +
    `<thead><tr>${heads.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>` +
    calculatorHtml({ energy: energy ?? USUAL.transfer, bandwidth, activates }, words) +
    `<p><a class="button main" href="/buy?energy=${energy ?? USUAL.transfer}">` +
    `${escaped(words.say('front.buy'))}</a></p></section>`
  )
}

/** The amount in a field; undefined: there is none. */
function amountOf(query: URLSearchParams, name: string): number | undefined {
  const typed = query.get(name)?.replace(/[\s,.'\u2009]/g, '')
  return typed !== undefined && /^\d{1,9}$/.test(typed) ? Number(typed) : undefined
}

const burnt = (of_1000: bigint | undefined, amount: number): bigint | undefined =>
  of_1000 && (of_1000 * BigInt(amount)) / 1_000n

function energyLine({ prices, burning, words }: PriceQuestion, energy: number): Line {
  const usual =
    energy === USUAL.transfer
      ? words.say('front.transfer')
      : energy === USUAL.transfer_to_new
        ? words.say('front.transfer_to_new')
        : ''
  // An order has a largest amount; less than the least is bought as that.
  const is_sold =
    energy > 0 &&
    prices.tiers.some(({ resource, max_amount }) => resource === 'energy' && energy <= max_amount)
  return {
    what: words.say('front.energy', { n: energy }),
    usual,
    sun: is_sold ? leastPriceOf(prices, BigInt(energy)) : undefined,
    burning_sun: burnt(burning.energy_sun, energy),
  }
}

function bandwidthLine({ prices, burning, words }: PriceQuestion, bandwidth: number): Line {
  const tier = tierFor(prices, 'bandwidth', bandwidth)
  const is_sold = tier !== undefined && isOnSale(prices, 'bandwidth', false)
  return {
    what: words.say('front.bandwidth', { n: bandwidth }),
    usual: bandwidth === USUAL_BANDWIDTH ? words.say('front.bytes') : '',
    sun: is_sold ? charge(tier.price_sun, bandwidth) : undefined,
    burning_sun: burnt(burning.bandwidth_sun, bandwidth),
  }
}

const activationLine = ({ prices, burning, words }: PriceQuestion): Line => ({
  what: words.say('front.activation'),
  usual: words.say('front.new_address'),
  sun: isOnSale(prices, 'activate_address', false) ? prices.activation_sun : undefined,
  burning_sun: burning.activation_sun,
})

/** Of all; undefined where one of them is not known. */
function sumOf(lines: readonly Price[]): Price {
  const sum = (values: readonly (bigint | undefined)[]) =>
    values.reduce((all, one) => (all === undefined || one === undefined ? undefined : all + one))
  return {
    sun: sum(lines.map(({ sun }) => sun)),
    burning_sun: sum(lines.map(({ burning_sun }) => burning_sun)),
  }
}

function rowHtml({ what, usual = '', sun, burning_sun }: Line, words: Words): string {
  const price = sun === undefined ? words.say('front.not_sold') : `${trxText(sun)} TRX`
  const is_less = sun !== undefined && burning_sun !== undefined && sun < burning_sun
  const saved = is_less ? Number(((burning_sun - sun) * 100n) / burning_sun) : undefined
  const burning =
    burning_sun === undefined
      ? '–'
      : `${trxText(burning_sun)} TRX` +
        (saved === undefined ? '' : ` (${words.say('front.saved', { n: saved })})`)
  return (
    `<tr><td>${escaped(what)} <span class="quiet">${escaped(usual)}</span></td>` +
    `<td><strong>${escaped(price)}</strong></td><td>${escaped(burning)}</td></tr>`
  )
}

type CalculatorInput = { energy: number; bandwidth: number | undefined; activates: boolean }

function calculatorHtml({ energy, bandwidth, activates }: CalculatorInput, words: Words): string {
  const field = (name: string, label: string, value: number | undefined) =>
    `<label for="${name}">${escaped(label)}</label>` +
    `<input id="${name}" name="${name}" inputmode="numeric" autocomplete="off" maxlength="12" ` +
    `value="${value ?? ''}"> `
  return (
    `<form method="get" action="/" class="calculator">` +
    field('energy', words.say('recharge.energy'), energy) +
    field('bandwidth', words.say('front.bandwidth_field'), bandwidth) +
    `<label><input type="checkbox" name="activate"${activates ? ' checked' : ''}> ` +
    `${escaped(words.say('front.activation'))}</label>` +
    `<button type="submit">${escaped(words.say('front.calculate'))}</button></form>`
  )
}
