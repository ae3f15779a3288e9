// The period of a statement, as it stands in the address: a month, or from a day until another.
// Days and months are those of UTC, as on the wire.

import { spokenLanguage } from '../../shared/words/words.ts'

export type Period = { since?: string; until?: string }

const MONTHS = 24

const monthOf = (at: Date): string => at.toISOString().slice(0, 7)

/** The month that is so many months after another: `2026-11`. */
function monthAfter(month: string, months: number): string {
  const at = new Date(`${month}-01T00:00:00Z`)
  at.setUTCMonth(at.getUTCMonth() + months)
  return monthOf(at)
}

/** The last two years, the newest first, as the language writes them. */
export function monthChoices(): { value: string; text: string }[] {
  const newest = monthOf(new Date())
  return Array.from({ length: MONTHS }, (_, i) => {
    const value = monthAfter(newest, -i)
    return { value, text: monthText(value) }
  })
}

/** `2026-10` as the language writes it. */
export const monthText = (month: string): string =>
  new Intl.DateTimeFormat(spokenLanguage(), {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(new Date(`${month}-01T00:00:00Z`))

export const periodOfMonth = (month: string): Required<Period> => ({
  since: `${month}-01`,
  until: `${monthAfter(month, 1)}-01`,
})

/** What the address says; this month when it says nothing. `month` is empty for a free period. */
export function chosenPeriod(query: Readonly<Record<string, string>>): Period & { month: string } {
  const { month, since, until } = query
  if (since || until) return { month: '', ...(since && { since }), ...(until && { until }) }
  const is_month = month !== undefined && /^\d{4}-(0[1-9]|1[0-2])$/.test(month)
  const chosen = is_month ? month : monthOf(new Date())
  return { month: chosen, ...periodOfMonth(chosen) }
}
