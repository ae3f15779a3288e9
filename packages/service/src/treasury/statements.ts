// A customer's statement, worked out from the entries of the ledger.

import type { Sql } from '../database/sql.ts'
import { customerAccount } from '../ledger/ledger.ts'
import { wireTime } from '../lib/clock.ts'
import { trxText } from '../lib/json.ts'

/** One entry of the ledger as the customer sees it. */
export type StatementLine = {
  made_at: Date
  id: string
  kind: string
  /** What it was for: the service of an order, or `deposit`, `subscription`, `aml`. */
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

type Figures = { balance_sun: bigint; spendable_sun: bigint }

const NOTHING: Figures = { balance_sun: 0n, spendable_sun: 0n }

/** The entries from `since` on and before `until`. The sums that are kept for balances are not
 *  used, so a statement also shows when those are wrong. */
export async function statementOf(
  sql: Sql,
  wanted: { customer_id: string; since: Date | undefined; until: Date | undefined },
): Promise<Statement> {
  const { customer_id, since = null, until = null } = wanted
  const account = customerAccount(customer_id)
  // With the last entry before the period, which has the opening figures.
  const found = await sql<StatementLine>`
    with entry as (
      select t.made_at, t.id, t.kind, coalesce(t.hold_id, t.id) as cause,
             case when t.kind not in ('move', 'capture') then 0
               when t.credit = ${account} then t.amount_sun
                  else -t.amount_sun end as amount_sun,
             case when t.debit <> ${account} then 0 when t.kind = 'hold' then t.amount_sun
                  else -coalesce(hold.amount_sun, 0) end as held_sun
      from transfer as t left join transfer as hold on hold.id = t.hold_id
      where (t.debit = ${account} or t.credit = ${account}) and (${until}::timestamptz is null
        or t.made_at < ${until})
    ), line as (
      select *, sum(amount_sun) over so_far as balance_sun, sum(amount_sun - held_sun)
        over so_far as spendable_sun
      from entry window so_far as (order by made_at, id)
    )
    select line.made_at, line.id, line.kind,
           coalesce(o.service, split_part(line.cause, ':', 1)) as service,
           o.external_id, line.amount_sun, line.held_sun, line.balance_sun, line.spendable_sun
    from line left join orders as o on line.cause = 'order:' || o.id
      and o.customer_id = ${customer_id}
    where ${since}::timestamptz is null or line.made_at >= ${since}
       or line.id = (select id from line where made_at < ${since} order by made_at desc, id desc
         limit 1)
    order by line.made_at, line.id`
  const lines = found.filter(({ made_at }) => since === null || made_at >= since)
  const figures = ({ balance_sun, spendable_sun }: Figures) => ({ balance_sun, spendable_sun })
  const opening = figures(found.length > lines.length ? found[0]! : NOTHING)
  return { customer_id, since, until, opening, lines, closing: figures(lines.at(-1) ?? opening) }
}

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
