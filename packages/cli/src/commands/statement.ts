// The statement of an account, and invoices by their month.

import { type Command, field, type Outcome } from '../line/command.ts'
import { Misuse, Refusal } from '../line/errors.ts'

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/
/** The most wanted first: a narrow terminal has no room for the last. */
const WHAT = ['at', 'kind', 'for.what', 'amount', 'balance', 'for.external_id', 'for.service']
const COLUMNS = [...WHAT, 'held', 'spendable']

const statement: Command = {
  words: 'statement',
  summary: 'Every entry of your account, newest first; as CSV oldest first',
  path: '/v1/statement',
  filled: ['limit', 'before'],
  own: [
    field('month', '2026-10; instead of --since and --until'),
    field('csv', 'print CSV, with the figures before and after', { type: 'yes' }),
  ],
  async run({ penstock, body, own, io }): Promise<Outcome> {
    const { month, csv } = own as { month?: string; csv?: boolean }
    if (month !== undefined && (!MONTH.test(month) || body.since || body.until))
      throw new Misuse('--month is like 2026-10, and stands without --since and --until.')
    const period = month === undefined ? body : monthOf(month)
    const { signal } = io
    if (csv === true) {
      const text = await penstock.statement.csv(period, { signal })
      return { value: { csv: text }, text }
    }
    const rows = penstock.statement.entries({ ...period, limit: 1_000 }, { signal })
    return { rows, columns: COLUMNS }
  },
}

function monthOf(month: string): { since: string; until: string } {
  const [year, number] = month.split('-').map(Number) as [number, number]
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  return { since: day(Date.UTC(year, number - 1)), until: day(Date.UTC(year, number)) }
}

const invoice: Command = {
  words: 'invoices show',
  summary: 'An invoice by its number or its month, line by line',
  operands: ['invoice'],
  also: ['/v1/invoice/check', '/v1/invoices/list'],
  own: [field('invoice', 'its number, or 2026-10', { needed: true })],
  async run({ penstock, own, io }): Promise<Outcome> {
    const { signal } = io
    const named = String(own.invoice)
    if (!MONTH.test(named)) {
      if (!/^\d{1,15}$/.test(named)) throw new Misuse(`${named} is no number and no month.`)
      return { value: await penstock.invoices.check(Number(named), { signal }) }
    }
    for await (const { number, month } of penstock.invoices.list({}, { signal }))
      if (month === named) return { value: await penstock.invoices.check(number, { signal }) }
    throw new Refusal(`There is no invoice of ${named}.`)
  },
}

export const STATEMENT: readonly Command[] = [statement, invoice]
