// Text of a report: what is escaped, shortened and printed in whole coins, and the facts that its
// parts share.

import { escaped } from '../../lib/html.ts'
import type { Words } from './words.ts'

/** In whose words a report is, and where the point of its amounts stands. */
export type Edition = {
  words: Words
  /** By symbol; a symbol that two assets share is left out. */
  decimals: ReadonlyMap<string, number>
}

export type LabelFact = {
  category: string
  entity: string
  list: string
  reference: string
  confidence: string
}

export type TransferFact = {
  tx_id: string
  from: string
  to: string
  asset: string
  /** In the smallest unit of the asset. */
  amount: string
  block: string
}

/** A transfer of the way back. `carried`: how much of the category it brought, if that is kept. */
export type PathFact = TransferFact & { carried: string | null }

export type FactorFact = {
  category: string
  share: string
  usd: string
  direct_usd: string
  mean_hops: string | null
  /** By symbol, in the smallest unit. */
  units: Record<string, string>
  origins: LabelFact[]
  path: PathFact[]
}

/** The beginning and the end of an address or a transaction id. */
export const short = (id: string) => (id.length > 16 ? `${id.slice(0, 6)}…${id.slice(-6)}` : id)

export const percent = (share: string) => `${(Number(share) * 100).toFixed(2)} %`

/** Who says something, and where. */
export const said = ({ list, reference }: LabelFact) =>
  escaped([list, reference].filter((one) => one !== '').join(', '))

/** `part` of `whole` in percent, cut off after two decimals; undefined when there is no whole. */
export function percentOf(part: bigint, whole: bigint): string | undefined {
  if (whole <= 0n) return undefined
  const hundredths = (part * 10_000n) / whole
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, '0')} %`
}

/** An amount in whole coins, such as `16,177.957533 TRX`. Where the decimals of the asset are not
 *  known, it says that it counts the smallest units. HTML. */
export function amountText(units: string, asset: string, { words, decimals }: Edition): string {
  const places = decimals.get(asset)
  if (places === undefined || !/^\d+$/.test(units))
    return words.say('amount.units', { units: escaped(units), asset: escaped(asset) })
  const [whole, fraction] = partsOf(units, places)
  return escaped(`${grouped(whole, words)}${fraction === '' ? '' : `.${fraction}`} ${asset}`)
}

/** The same for where there is little room: of whole coins no more than two decimals, cut off. */
export function shortAmount(units: string, asset: string, { words, decimals }: Edition): string {
  const places = decimals.get(asset)
  const symbol = asset.slice(0, 8)
  if (places === undefined || !/^\d+$/.test(units)) return escaped(symbol)
  const [whole, fraction] = partsOf(units, places)
  const kept = whole === '0' ? fraction : fraction.slice(0, 2).replace(/0+$/, '')
  return escaped(`${grouped(whole, words)}${kept === '' ? '' : `.${kept}`} ${symbol}`)
}

function partsOf(units: string, places: number): [whole: string, fraction: string] {
  const digits = units.padStart(places + 1, '0')
  const at = digits.length - places
  return [digits.slice(0, at), digits.slice(at).replace(/0+$/, '')]
}

/** A comma would be a decimal one elsewhere. */
const grouped = (whole: string, { language }: Words): string =>
  whole.replace(/\B(?=(\d{3})+$)/g, language === 'en' ? ',' : '\u2009')

/** For those who want to know more: closed on a screen, open on paper. */
export const folded = (title: string, body: string): string =>
  `<section><details><summary><h2>${title}</h2></summary>${body}</details></section>`

/** A table of cells that are HTML. On a phone each cell is a line that begins with its title. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = columns.map((one) => `<th scope="col">${one}</th>`).join('')
  const cell = (one: string, i: number) => `<td data-title="${columns[i]!}">${one}</td>`
  const body = rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`)
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table>`
}
