// A room for the tests of `npm run mutate`: rules in TypeScript and in a statement, one of which
// its test forgets.

import type { Query } from 'penstock-service/platform/database/sql.ts'

export type Payment = { amount: number; day: number }

/** Whether so much may be spent, of ten a day. */
export function maySpend(spent: number, amount: number): boolean {
  if (amount <= 0) return false
  return spent + amount <= 10
}

/** What was spent on a day. */
export async function spentOn(
  sql: Query,
  payments: readonly Payment[],
  day: number,
): Promise<number> {
  const [row] = await sql<{ spent: bigint }>`
    select coalesce(sum(amount), 0)::bigint as spent
    from unnest(${payments.map((one) => one.amount)}::integer[],
                ${payments.map((one) => one.day)}::integer[]) as payment (amount, day)
    where day = ${day} and amount > 0`
  return Number(row!.spent)
}
