// Texts as PostgreSQL writes them, for sums that are worked out here over what it stores as plain
// columns. A sum that the database itself worked out would convict nobody who may change the
// database: docs/guarantees/journal.md has the exact bytes.

const HEX_DIGITS = 16
const UNIX_SECONDS_IN_2000 = 946_684_800

type Moment = { seconds: number; microseconds: number }

let last_second = { text: '', seconds: 0 }

/** A `timestamptz` as text under the time zone UTC: `2026-10-08 15:26:32.123456+00`. Undefined when
 *  it is none. */
function momentOf(text: string): Moment | undefined {
  const [, day, time, fraction = ''] =
    /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/.exec(text) ?? []
  if (day === undefined) return undefined
  const second = `${day}T${time}Z`
  // Entries of one order, and those of one second, come one after another.
  if (second !== last_second.text)
    last_second = { text: second, seconds: Date.parse(second) / 1_000 }
  return { seconds: last_second.seconds, microseconds: Number(fraction.padEnd(6, '0')) }
}

/** What `encode(timestamptz_send(t), 'hex')` gives: microseconds since 2000, as 64 bits. A text
 *  that is no such time gives itself, which is in no sum. */
export function timeHex(text: string): string {
  const moment = momentOf(text)
  if (!moment) return text
  const { seconds, microseconds } = moment
  const since_2000 = BigInt(seconds - UNIX_SECONDS_IN_2000) * 1_000_000n + BigInt(microseconds)
  return BigInt.asUintN(64, since_2000).toString(16).padStart(HEX_DIGITS, '0')
}

/** What `extract(epoch from t)` gives: seconds since 1970 with six decimals. */
export function epochText(text: string): string {
  const moment = momentOf(text)
  if (!moment) return text
  const total = BigInt(moment.seconds) * 1_000_000n + BigInt(moment.microseconds)
  const digits = (total < 0n ? -total : total).toString().padStart(7, '0')
  return `${total < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`
}

/** How many characters a text has as PostgreSQL counts them: one for each code point. -1 when there
 *  is none. */
export function lengthOf(text: string | null): number {
  if (text === null) return -1
  let pairs = 0
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xd800) pairs += 1
  return text.length - pairs
}

/** A text within a quoted field of a row as text. */
export const quotedPart = (text: string): string =>
  /["\\]/.test(text) ? text.replace(/["\\]/g, '$&$&') : text

/** One field of a row as text: nothing for null, in quotes when it would be read otherwise without
 *  them. */
export function rowField(text: string | null): string {
  if (text === null) return ''
  return text === '' || /["\\(), \t\n\v\f\r]/.test(text) ? `"${quotedPart(text)}"` : text
}
