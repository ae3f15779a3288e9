// Money on the wire is TRX, a JSON number with at most six decimals. Sums are exact in sun: whole
// numbers, of which a million are one TRX.

const SUN_MAX = 10n ** 15n

/** TRX as sun: `toSun(2.93) === 2930000n`. Throws a RangeError for more than six decimals, more
 *  than 10^9 TRX, and what is no number. */
export function toSun(trx: number | string): bigint {
  const text = typeof trx === 'number' ? decimalOf(trx) : trx
  const [, sign, whole = '', decimals = ''] = /^(-?)(\d{1,10})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  const sun = whole === '' ? SUN_MAX + 1n : BigInt(whole + decimals.padEnd(6, '0'))
  if (sun > SUN_MAX) throw new RangeError(`${trx} is no amount of TRX`)
  return sign === '-' ? -sun : sun
}

/** The number with six decimals; what is not exactly that becomes no number at all. */
function decimalOf(trx: number): string {
  const text = Math.abs(trx) <= 1e9 ? trx.toFixed(6) : ''
  return Number(text) === trx ? text : ''
}

/** Sun as TRX: `fromSun(2930000n) === 2.93`. Throws a RangeError above 10^9 TRX. */
export function fromSun(sun: bigint): number {
  if (sun > SUN_MAX || sun < -SUN_MAX) throw new RangeError(`${sun} sun is more than 10^9 TRX`)
  return Number(sun) / 1e6
}
