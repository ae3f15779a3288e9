// Sums of TRX, exact: of the number on the wire its decimal text is read, and nothing is computed
// with fractions.

import { fromSun, toSun } from 'penstock-sdk'
import { inGroups, say } from '../words/words.ts'

const MINUS = '\u2212'

/** `8412.07` as it is read: groups of three, no zeros at the end. */
export function moneyText(trx: number, { sign = false }: { sign?: boolean } = {}): string {
  const sun = toSun(trx)
  const size = sun < 0n ? -sun : sun
  const whole = inGroups(String(size / 1_000_000n))
  const decimals = String(size % 1_000_000n)
    .padStart(6, '0')
    .replace(/0+$/, '')
  const before = sun < 0n ? MINUS : sign && sun > 0n ? '+' : ''
  return `${before}${whole}${decimals === '' ? '' : `.${decimals}`}`
}

/** Whether a text is a sum of TRX as people type one. */
export const isSum = (text: string): boolean => /^\d{1,12}(\.\d{1,6})?$/.test(text)

/** The sum of sums, exact. */
export const sumOf = (sums: readonly number[]): number =>
  fromSun(sums.reduce((sum, one) => sum + toSun(one), 0n))

/** What is left of a sum, exact. */
export const lessBy = (sum: number, less: number): number => fromSun(toSun(sum) - toSun(less))

/** A sum; `sign` for what is added or taken. */
export function Money({ trx, sign = false }: { trx: number; sign?: boolean }) {
  return (
    <span class="figure">
      {moneyText(trx, { sign })} <abbr title={say('money.trx')}>TRX</abbr>
    </span>
  )
}
