// The journal of the house as files: the plain text that hledger reads, whose last entry asserts
// every balance, and CSV. Amounts are exact, in TRX with six decimals.

import { trxText } from '../../lib/json.ts'
import type { Balance, HouseJournal, JournalLine } from './house_journal.ts'

/** Price of a TRX on a day, as the operator gives it. */
export type Rate = { day: string; rate: string }
export type PriceTable = { currency: string; rates: readonly Rate[] }

const SALES = 'revenues:sales'
const NAMES: Readonly<Record<string, string>> = {
  world: 'assets:deposit addresses',
  'treasury:collected': 'assets:collected',
  'treasury:wallets': 'assets:pool wallets',
  'treasury:fees': 'expenses:network fees',
  held_deposits: 'liabilities:held deposits',
  corrections: 'expenses:corrections',
  written_off: 'revenues:written off',
  'income:votes': 'revenues:votes',
  revenue: SALES,
}

/** An account of the ledger as accountants sort it. */
function accountName(account: string): string {
  const [, held] = /^held:customer:(.*)$/.exec(account) ?? []
  if (held !== undefined) return `liabilities:held:${held}`
  const [, customer] = /^customer:(.*)$/.exec(account) ?? []
  if (customer !== undefined) return `liabilities:customers:${customer}`
  const [, service] = /^revenue:(.*)$/.exec(account) ?? []
  if (service !== undefined) return `${SALES}:${service}`
  return NAMES[account] ?? `equity:${account}`
}

const amountText = (sun: bigint): string => {
  const text = trxText(sun)
  const [whole, decimals = ''] = text.split('.')
  return `${whole}.${decimals.padEnd(6, '0')} TRX`
}

const line = (account: string, amount: string) => `    ${accountName(account)}  ${amount}`

/** Accounts of the ledger that are one name, added up. */
function byName(balances: readonly Balance[]): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const { account, sun } of balances) {
    const name = accountName(account)
    sums.set(name, (sums.get(name) ?? 0n) + sun)
  }
  return sums
}

/** For hledger, and programs that read its format. The entry of the last day asserts all balances,
 *  sales as a whole. */
export function hledgerText(journal: HouseJournal, pricing: PriceTable | undefined): string {
  const { month, first_day, last_day, opening, closing } = journal
  const parts = [`; The house's journal of ${month}, in TRX.\ncommodity 1.000000 TRX\n`]
  for (const { day, rate } of pricing?.rates ?? [])
    parts.push(`P ${day} TRX ${rate} ${pricing!.currency}\n`)
  if (opening.length > 0) {
    const lines = opening.map(({ account, sun }) => line(account, amountText(sun)))
    parts.push(`\n${first_day} opening balances\n${lines.join('\n')}\n`)
  }
  for (const [, of] of Map.groupBy(journal.postings, ({ day, what }) => `${day} ${what}`)) {
    const { day, what } = of[0]!
    const lines = of.map(({ account, sun }) => line(account, amountText(sun)))
    parts.push(`\n${day} ${what}\n${lines.join('\n')}\n`)
  }
  const asserted = [...byName(closing)].map(
    ([name, sun]) =>
      `    ${name}  ${amountText(0n)} ${name === SALES ? '=*' : '='} ${amountText(sun)}`,
  )
  if (asserted.length > 0)
    parts.push(`\n${last_day} balances at the end of the month\n${asserted.join('\n')}\n`)
  return parts.join('')
}

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

/** One posting a line, in TRX and, where there is a rate of the day, in its currency. */
export function csvText({ postings }: HouseJournal, pricing: PriceTable | undefined): string {
  const rates = new Map(pricing?.rates.map(({ day, rate }) => [day, rate]))
  const row = ({ day, what, account, sun }: JournalLine) =>
    [day, quoted(what), quoted(accountName(account)), trxText(sun), rates.get(day) ?? ''].join(',')
  const currency = pricing?.currency ?? ''
  return `${['day,what,account,trx', `rate ${currency}`.trim()].join(',')}\n${postings
    .map(row)
    .map((text) => `${text}\n`)
    .join('')}`
}
