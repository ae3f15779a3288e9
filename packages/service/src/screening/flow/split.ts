// Takes q out of a holding in proportion, in whole units: floor(held * q / balance) of each
// category, and what is left over one by one to the largest remainders, ties to the lower category.
// Always exact: products beyond 2^53 are computed in two doubles without loss, and holdings too
// large for that in bigint.

/** Numbers below this go the fast way. Remainders of products then stay below 2^53. */
export const FAST_BELOW = 2 ** 52

const SPLITTER = 2 ** 27 + 1

/** Splits `q` over `held[0..count)`, whose sum is `balance`; 0 < q <= balance < FAST_BELOW. Writes
 *  the parts. */
export function split(
  held: Float64Array,
  count: number,
  amounts: { q: number; balance: number },
  parts: Float64Array,
) {
  const { q, balance } = amounts
  if (q === balance) {
    for (let i = 0; i < count; i++) parts[i] = held[i]!
    return
  }
  // Halves of the factors that all products share (Veltkamp): each product of halves is exact.
  const q_split = SPLITTER * q
  const q_high = q_split - (q_split - q)
  const q_low = q - q_high
  const b_split = SPLITTER * balance
  const b_high = b_split - (b_split - balance)
  const b_low = balance - b_high
  let left = q
  for (let i = 0; i < count; i++) {
    const h = held[i]!
    const product = h * q
    let part = Math.floor(product / balance)
    let rest: number
    if (product < 2 ** 53) rest = product - part * balance
    else {
      // The errors of both products (Dekker) make their difference exact; the quotient may be one
      // off.
      const h_split = SPLITTER * h
      const h_high = h_split - (h_split - h)
      const h_low = h - h_high
      const error = h_high * q_high - product + h_high * q_low + h_low * q_high + h_low * q_low
      const back = part * balance
      const p_split = SPLITTER * part
      const p_high = p_split - (p_split - part)
      const p_low = part - p_high
      const back_error = p_high * b_high - back + p_high * b_low + p_low * b_high + p_low * b_low
      rest = product - back + (error - back_error)
      while (rest < 0) {
        part -= 1
        rest += balance
      }
      while (rest >= balance) {
        part += 1
        rest -= balance
      }
    }
    parts[i] = part
    remainders[i] = rest
    left -= part
  }
  for (; left > 0; left--) {
    let largest = 0
    for (let i = 1; i < count; i++) if (remainders[i]! > remainders[largest]!) largest = i
    parts[largest]! += 1
    remainders[largest] = -1
  }
}

const remainders = new Float64Array(32)

/** The same for numbers of any size. Also splits 0. */
export function splitBig(held: readonly bigint[], q: bigint, balance: bigint): bigint[] {
  if (q === 0n) return held.map(() => 0n)
  const parts = held.map((h) => (h * q) / balance)
  const rests = held.map((h) => (h * q) % balance)
  for (let left = q - parts.reduce((sum, part) => sum + part, 0n); left > 0n; left--) {
    let largest = 0
    for (let i = 1; i < held.length; i++) if (rests[i]! > rests[largest]!) largest = i
    parts[largest]! += 1n
    rests[largest] = -1n
  }
  return parts
}

/** floor(amount * percent / 100) without leaving the safe integers. */
export function percentOf(amount: number, percent: number): number {
  const hundreds = Math.floor(amount / 100)
  return hundreds * percent + Math.floor(((amount - hundreds * 100) * percent) / 100)
}
