// What keys with a daily cap may spend: worked out again from what was bought by them, day by day.

import type { Rows, Transfer } from './rows.ts'
import type { Books } from './rules.ts'

const dayOf = (at: Date) => at.toISOString().slice(0, 10)

/** What is set aside by a hold, or was taken of it; what was given back counts for nothing. */
function keptOfHolds(transfers: readonly Transfer[]): (hold_id: string) => bigint {
  const holds = new Map(transfers.map((one) => [one.id, one]))
  const ends = new Map(transfers.map((one) => [one.hold_id, one]))
  return (hold_id) => {
    const end = ends.get(hold_id)
    if (end?.kind === 'release') return 0n
    return (end ?? holds.get(hold_id))?.amount_sun ?? 0n
  }
}

/** What was spent from the sum of each key on each day (UTC), by what was bought. */
function spentOf(rows: Rows): Map<string, bigint> {
  const spent = new Map<string, bigint>()
  const shared = new Map(rows.sharing.map(({ id, spends_from }) => [id, spends_from]))
  const add = (key_id: string | null, at: Date, sun: bigint) => {
    const name = `${shared.get(key_id ?? '') ?? key_id} ${dayOf(at)}`
    if (key_id !== null) spent.set(name, (spent.get(name) ?? 0n) + sun)
  }
  for (const { key_id, created_at, state, amount_sun } of rows.orders)
    if (state !== 'failed') add(key_id, created_at, amount_sun)
  for (const { key_id, created_at, state, price_sun } of rows.checks)
    if (state !== 'failed') add(key_id, created_at, price_sun)
  const holds = new Map(rows.transfers.map(({ id, made_at }) => [id, made_at]))
  const keys = new Map(rows.subscriptions.map(({ id, key_id }) => [id, key_id]))
  // What a start must come to, C4 says: one that was stopped before it was active may cost nothing,
  // or only the activation of its address.
  const kept = keptOfHolds(rows.transfers)
  for (const one of rows.subscriptions) {
    const { id, key_id, created_at, price_sun, holds_made, holds_ended } = one
    add(key_id, created_at, kept(`subscription:${id}`))
    for (let number = holds_ended + 1; number <= holds_made; number++) {
      const made_at = holds.get(`subscription:${id}/next/${number}`)
      if (made_at) add(key_id, made_at, price_sun)
    }
  }
  for (const { subscription_id, used_at, charged_sun } of rows.uses)
    add(keys.get(subscription_id) ?? null, used_at, charged_sun)
  return spent
}

/** What is kept of a key's spending is what was bought by it, and over any days no more than its
 *  caps. What was set aside on one day may be used on the next, so the days are looked at
 *  together. */
export function capsAreKept({ rows }: Books): string[] {
  const spent = spentOf(rows)
  const findings: string[] = []
  const sums = new Map<string, { spent_sun: bigint; days: bigint }>()
  for (const { key_id, day, spent_sun, daily_cap_sun } of rows.spending) {
    const is = spent.get(`${key_id} ${day}`) ?? 0n
    spent.delete(`${key_id} ${day}`)
    if (is !== spent_sun)
      findings.push(`key ${key_id} has spent ${is} on ${day}, kept is ${spent_sun}`)
    const sum = sums.get(key_id) ?? { spent_sun: 0n, days: 0n }
    sum.spent_sun += spent_sun
    sum.days += 1n
    sums.set(key_id, sum)
    if (daily_cap_sun !== null && sum.spent_sun > sum.days * daily_cap_sun)
      findings.push(
        `key ${key_id} has spent ${sum.spent_sun} in ${sum.days} days, its cap is ${daily_cap_sun}`,
      )
  }
  for (const [name, sun] of spent)
    if (sun !== 0n) findings.push(`key and day ${name}: spent ${sun}, nothing is kept`)
  return findings
}
