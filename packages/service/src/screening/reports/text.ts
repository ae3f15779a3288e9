// Text of a report: what is escaped, shortened and printed in whole coins, and the facts that its
// parts share.

import { escaped } from '../../lib/html.ts'

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

/** What a category is called: `terrorism_financing` is for programs. */
export const categoryText = (name: string): string => escaped(name.replaceAll('_', ' '))

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
 *  known, it says that it counts the smallest units. */
export function amountText(
  units: string,
  asset: string,
  decimals: ReadonlyMap<string, number>,
): string {
  const places = decimals.get(asset)
  if (places === undefined || !/^\d+$/.test(units))
    return escaped(`${units} smallest units of ${asset}`)
  const digits = units.padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return escaped(`${grouped}${fraction === '' ? '' : `.${fraction}`} ${asset}`)
}
