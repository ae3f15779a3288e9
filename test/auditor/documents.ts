// What customers were invoiced is what they were charged: month by month, by the two sides of the
// account `revenue`, with the months of the clock in UTC.

import type { Rows } from './rows.ts'

const monthOf = (at: Date) => at.toISOString().slice(0, 7)

/** Invoices less credit notes come to what `revenue` got from each customer in each month that has
 *  documents, less what it gave back. Credit notes of corrections are about other money. */
export function documentsAreCharges({ rows }: { rows: Rows }): string[] {
  const months = rows.invoices.map(({ month }) => month).sort()
  const [first] = months
  const last = months.at(-1)
  if (first === undefined || last === undefined) return []
  const sums = new Map<string, { issued: bigint; charged: bigint }>()
  const add = (key: string, what: { issued?: bigint; charged?: bigint }) => {
    const { issued, charged } = sums.get(key) ?? { issued: 0n, charged: 0n }
    sums.set(key, {
      issued: issued + (what.issued ?? 0n),
      charged: charged + (what.charged ?? 0n),
    })
  }
  for (const { customer_id, month, total_sun, correction_id } of rows.invoices)
    if (correction_id === null) add(`${month} ${customer_id}`, { issued: total_sun })
  const customers = new Set(rows.customers.map(({ id }) => `customer:${id}`))
  for (const { kind, debit, credit, amount_sun, made_at } of rows.transfers) {
    if (kind !== 'move' && kind !== 'capture') continue
    if (debit !== 'revenue' && credit !== 'revenue') continue
    const account = credit === 'revenue' ? debit : credit
    const month = monthOf(made_at)
    if (!customers.has(account) || month < first || month > last) continue
    const charged = credit === 'revenue' ? amount_sun : -amount_sun
    add(`${month} ${account.slice('customer:'.length)}`, { charged })
  }
  return (
    [...sums]
      .filter(([, { issued, charged }]) => issued !== charged)
      // The customers after the one that is looked at have no document of the last month yet.
      .filter(([key, { issued }]) => !(key.startsWith(last) && issued === 0n))
      .map(([key, { issued, charged }]) => `C16 ${key}: ${issued} invoiced, ${charged} charged`)
  )
}
