// The month's account of the house, for a ledger program.

import { Type } from 'typebox'
import { isDay } from '../../lib/clock.ts'
import { misuse } from '../../lib/fault.ts'
import { ListOf, oneOf, optional, Sun, Text, text } from '../../platform/wire/schemas.ts'
import { houseJournal } from '../../treasury/accounts/house_journal.ts'
import {
  csvText,
  hledgerText,
  type PriceTable,
  type Rate,
} from '../../treasury/accounts/ledger_file.ts'
import { monthSheet } from '../../treasury/accounts/month_sheet.ts'
import { look } from '../table/operation.ts'

const FORMATS = ['hledger', 'csv'] as const

const Rates = Type.Array(Type.Object({ day: Type.String(), rate: Type.String() }))

/** Lines of `2026-10-01 0.25`. Throws misuse with the first that is another. */
function readRates(given: string, name: string): Rate[] {
  const lines = given.split('\n').map((line) => line.trim())
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [day = '', rate = '', ...more] = line.split(/\s+/)
      const fits =
        /^\d{4}-\d\d-\d\d$/.test(day) && isDay(day) && /^\d{1,9}(\.\d{1,12})?$/.test(rate)
      if (fits && more.length === 0) return { day, rate }
      throw misuse(`${name}: ${line.slice(0, 40)} is not a day and a rate, like 2026-10-01 0.25.`)
    })
}

const MONTH = text('MONTH', 'like 2026-10')

/** Throws misuse unless it is a month. */
function requireMonth(month: string): void {
  if (!/^20\d{2}-(0[1-9]|1[0-2])$/.test(month))
    throw misuse(`${month} is not a month like 2026-10.`)
}

export const accountOperations = [
  look({
    path: '/operator/accounts/show',
    summary: 'a month of the house on one page: each account, and revenue by day',
    description:
      'The journal of accounts export in short, with its sums: debits are above zero, revenue by ' +
      'day and service is. All customers are one line, `customer`; `held` is set aside for what ' +
      'is not delivered yet.',
    body: Type.Object({ month: MONTH }),
    reply: Type.Object({
      month: Text,
      first_day: Text,
      last_day: Text,
      accounts: ListOf({ account: Text, opening_sun: Sun, change_sun: Sun, closing_sun: Sun }),
      revenue: ListOf({ day: Text, service: Text, sun: Sun }),
    }),
    cli: { operands: ['month'] },
    async handle({ sql, body: { month } }) {
      requireMonth(month)
      return { value: monthSheet(await houseJournal(sql, month)) }
    },
  }),
  look({
    path: '/operator/accounts/export',
    summary: "the house's journal of a month, for a ledger program",
    description:
      'Debits are above zero. Revenue by what was sold and day, what is held for what is not ' +
      'delivered, customers, network fees, rewards of votes and corrections, to the sun. The ' +
      'format hledger asserts every balance at the end of the month, so that hledger itself ' +
      'finds a sum that is wrong. Revenue is earned when it is charged, prepaid packs with it.',
    body: Type.Object({
      month: MONTH,
      currency: optional(text('CODE', 'of the rates, like EUR')),
      rates: optional(Rates),
    }),
    reply: Type.Object({
      month: Text,
      opening: ListOf({ account: Text, sun: Sun }),
      postings: ListOf({ day: Text, what: Text, account: Text, sun: Sun }),
      closing: ListOf({ account: Text, sun: Sun }),
    }),
    cli: {
      filled: ['rates'],
      extras: Type.Object({
        file: optional(text('FILE', 'where it is written to')),
        format: optional(oneOf(FORMATS, 'of the file (hledger)')),
        rates_file: optional(text('FILE', 'a day and what a TRX cost then, on each line')),
      }),
      async before({ rates_file }, { readFile }) {
        if (rates_file === undefined) return {}
        return { rates: readRates(await readFile(rates_file), rates_file) }
      },
      async after(answer, { file, format = 'hledger' }, terminal) {
        const document = answer.documents![format]!()
        if (file === undefined) return { ...answer, text: document }
        await terminal.writeFile(file, document)
        return { ...answer, text: '', note: `The journal of ${answer.value.month} is in ${file}.` }
      },
    },
    async handle({ sql, body: { month, currency = 'USD', rates } }) {
      requireMonth(month)
      if (!/^[A-Z]{3,5}$/.test(currency)) throw misuse(`${currency} is not a currency like EUR.`)
      const journal = await houseJournal(sql, month)
      const pricing: PriceTable | undefined = rates && { currency, rates }
      const { opening, postings, closing } = journal
      return {
        value: { month, opening, postings, closing },
        documents: {
          hledger: () => hledgerText(journal, pricing),
          csv: () => csvText(journal, pricing),
        },
      }
    },
  }),
]
