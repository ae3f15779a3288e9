// What the result of a check rests on, as far as its page shows it. The evidence is JSON with all
// figures as text; where providers were asked, the facts of our own engine stand within.

import type { VerdictFacts } from '../../shared/reports/verdict.ts'
import { say } from '../../shared/words/words.ts'

/** A transfer of the way back. `carried`: how much of the category it brought, if that is kept.
 *  Amounts are in the smallest unit of the asset. */
export type Transfer = {
  tx_id: string
  from: string
  to: string
  asset: string
  amount: string
  block: string
  carried: string | null
}

type Origin = { category: string; entity: string; list: string; reference: string }

/** What of the money is of one category, and the way from its origin, the last transfer first. */
export type Factor = {
  category: string
  share: string
  usd: string
  origins: Origin[]
  path: Transfer[]
}

export type Evidence = {
  factors: Factor[]
  floors: { rule: string; category: string | null; points: string }[]
  blacklisted_by: string[]
  notes: string[]
  index: { first_block: string; last_block: string; last_block_time: string | null }
  /** The lists that were asked, as they were then. */
  lists: { list: string; title: string; entries: string; loaded_at: string; sha256: string }[]
  asked: { network: string }
  screened?: VerdictFacts['screened']
  result: VerdictFacts['result']
}

const NOTHING: Evidence = {
  factors: [],
  floors: [],
  blacklisted_by: [],
  notes: [],
  index: { first_block: '', last_block: '', last_block_time: null },
  lists: [],
  asked: { network: '' },
  result: { risk_score: '', risk_factors: [] },
}

/** Reads the text that `/v1/aml-check/report` answers with. */
export function readEvidence(text: string): Evidence {
  const facts = JSON.parse(text) as Partial<Evidence> & {
    answers?: { name: string; facts: Partial<Evidence> | null }[]
  }
  const ours = facts.answers?.find(({ name }) => name === 'embedded')?.facts
  return { ...NOTHING, ...ours, ...facts }
}

const THIN_SPACE = '\u2009'
const DECIMALS = 6
/** Of other assets the decimals are not known here. */
const IN_MILLIONTHS = ['TRX', 'USDT']

/** `16 177.957533 TRX`. */
export const amountText = (units: string, asset: string): string => printed(units, asset, DECIMALS)

/** The same for where there is little room: of whole coins no more than two decimals, cut off. */
export function shortAmount(units: string, asset: string): string {
  const symbol = asset.slice(0, 8)
  if (!isKnown(units, asset)) return symbol
  return printed(units, asset, units.length > DECIMALS ? 2 : DECIMALS)
}

const isKnown = (units: string, asset: string) =>
  IN_MILLIONTHS.includes(asset) && /^\d+$/.test(units)

function printed(units: string, asset: string, places: number): string {
  if (!isKnown(units, asset)) return say('way.units', { units, asset })
  const digits = units.padStart(DECIMALS + 1, '0')
  const whole = digits.slice(0, -DECIMALS).replace(/\B(?=(\d{3})+$)/g, THIN_SPACE)
  const decimals = digits.slice(-DECIMALS).slice(0, places).replace(/0+$/, '')
  return `${whole}${decimals === '' ? '' : `.${decimals}`} ${asset}`
}

/** A share from 0 to 1 in percent, to two places. */
export const percentText = (share: number): string => `${(share * 100).toFixed(2)} %`
