// A customer's statement, whole: every entry of a period, with the figures before and after.

import { wireTime } from '../../lib/clock.ts'
import { trxText } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Figures, figuresBefore, listLines, purposeOf, withFigures } from './entries.ts'

/** One entry of the ledger as the customer sees it. */
export type StatementLine = {
  made_at: Date
  id: string
  kind: string
  /** The service of an order, or what else it was for: `deposit`, `subscription`... */
  service: string
  external_id: string | null
  /** What was added to the balance, or taken from it. */
  amount_sun: bigint
  /** What was added to what is held for open orders, or taken from it. */
  held_sun: bigint
  balance_sun: bigint
  /** The balance less all that is held: what could be spent after this entry. */
  spendable_sun: bigint
}

export type Statement = {
  customer_id: string
  since: Date | null
  until: Date | null
  opening: Figures
  lines: StatementLine[]
  closing: Figures
}

const AT_ONCE = 10_000

/** The entries from `since` on and before `until`, oldest first. */
export async function statementOf(
  sql: Sql,
  wanted: { customer_id: string; since: Date | undefined; until: Date | undefined },
): Promise<Statement> {
  const { customer_id, since, until } = wanted
  const newest_first = []
  for (;;) {
    const page = await listLines(sql, { ...wanted, before: newest_first.at(-1), limit: AT_ONCE })
    newest_first.push(...page)
    if (page.length < AT_ONCE) break
  }
  const place = since && { made_at: since, id: '' }
  const opening = place ? await figuresBefore(sql, { customer_id, place }) : NOTHING
  const lines = withFigures(newest_first, opening)
    .toReversed()
    .map(({ cause, service, ...line }) => ({
      ...line,
      service: service ?? purposeOf(cause).what,
    }))
  const { balance_sun, spendable_sun } = lines.at(-1) ?? opening
  const closing = { balance_sun, spendable_sun }
  return { customer_id, since: since ?? null, until: until ?? null, opening, lines, closing }
}

const NOTHING: Figures = { balance_sun: 0n, spendable_sun: 0n }

/** The statement as CSV (RFC 4180), amounts in TRX, with a line for the opening and for the closing
 *  figures. */
export function statementCsv({ since, until, opening, lines, closing }: Statement): string {
  const head = [
    'made_at',
    'id',
    'kind',
    'service',
    'external_id',
    'amount_trx',
    'held_trx',
    'balance_trx',
    'spendable_trx',
  ]
  const border = (kind: string, at: Date | null, { balance_sun, spendable_sun }: Figures) => [
    ...[at ? wireTime(at) : '', '', kind, '', '', '', ''],
    ...[trxText(balance_sun), trxText(spendable_sun)],
  ]
  const rows = lines.map((line) => [
    ...[wireTime(line.made_at), line.id, line.kind, line.service, harmless(line.external_id ?? '')],
    ...[line.amount_sun, line.held_sun, line.balance_sun, line.spendable_sun].map(trxText),
  ])
  const all = [head, border('opening', since, opening), ...rows, border('closing', until, closing)]
  return all.map((row) => `${row.map(quoted).join(',')}\r\n`).join('')
}

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Text that a customer has chosen, so that no spreadsheet takes it for a formula. */
const harmless = (cell: string) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell)
