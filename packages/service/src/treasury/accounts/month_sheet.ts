// A month of the house on one page: each account at its beginning and its end, all customers as
// one, and revenue by day and service. It is the journal in short: its sums are those of the
// journal.

import type { HouseJournal } from './house_journal.ts'

export type SheetLine = {
  account: string
  opening_sun: bigint
  change_sun: bigint
  closing_sun: bigint
}

export type RevenueLine = { day: string; service: string; sun: bigint }

export type MonthSheet = {
  month: string
  first_day: string
  last_day: string
  accounts: SheetLine[]
  revenue: RevenueLine[]
}

/** The line that an account is part of: customers, what is held for them, revenue, or itself. */
function lineOf(account: string): string {
  const [first = ''] = account.split(':')
  if (account.startsWith('held:customer:')) return 'held'
  return first === 'customer' || first === 'revenue' ? first : account
}

export function monthSheet(journal: HouseJournal): MonthSheet {
  const { month, first_day, last_day, opening, postings, closing } = journal
  const lines = new Map<string, SheetLine>()
  const line = (account: string): SheetLine => {
    const name = lineOf(account)
    const known = lines.get(name)
    if (known) return known
    const fresh = { account: name, opening_sun: 0n, change_sun: 0n, closing_sun: 0n }
    lines.set(name, fresh)
    return fresh
  }
  for (const { account, sun } of opening) line(account).opening_sun += sun
  for (const { account, sun } of postings) line(account).change_sun += sun
  for (const { account, sun } of closing) line(account).closing_sun += sun
  const revenue = new Map<string, RevenueLine>()
  for (const { day, account, sun } of postings) {
    const [, service] = /^revenue:(.*)$/.exec(account) ?? []
    if (service === undefined) continue
    const known = revenue.get(`${day} ${service}`)
    // Revenue is a credit; here it is above zero.
    if (known) known.sun -= sun
    else revenue.set(`${day} ${service}`, { day, service, sun: -sun })
  }
  return {
    month,
    first_day,
    last_day,
    accounts: [...lines.values()].sort((a, b) => (a.account < b.account ? -1 : 1)),
    revenue: [...revenue.values()].sort((a, b) =>
      `${a.day} ${a.service}` < `${b.day} ${b.service}` ? -1 : 1,
    ),
  }
}
