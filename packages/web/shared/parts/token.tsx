// Amounts of tokens, exact: those of a token that everybody knows in whole coins with its symbol,
// those of any other in its smallest unit, with its contract.

import { inGroups, say } from '../words/words.ts'
import { LongText } from './address.tsx'

type Known = { symbol: string; decimals: number }

/** Contracts of the main network. A symbol that a contract gives itself proves nothing. */
const KNOWN: Readonly<Record<string, Known>> = {
  TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t: { symbol: 'USDT', decimals: 6 },
}

/** `25000000` with six decimals as `25`. */
function unitsText(units: string, decimals: number): string {
  const digits = units.padStart(decimals + 1, '0')
  const whole = inGroups(digits.slice(0, digits.length - decimals))
  const part = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return part === '' ? whole : `${whole}.${part}`
}

type TokenAmountProps = {
  /** In its smallest unit. */
  units: string
  /** Its contract, the number of a TRC-10 asset, or a word when nobody knows. */
  token: string
}

export function TokenAmount({ units, token }: TokenAmountProps) {
  const known = KNOWN[token]
  if (known === undefined) {
    return (
      <>
        <span class="figure">{say('token.units', { units: inGroups(units) })}</span>{' '}
        <LongText text={token} what={say('token')} />
      </>
    )
  }
  return (
    <span class="figure">
      {unitsText(units, known.decimals)} <abbr title={token}>{known.symbol}</abbr>
    </span>
  )
}
