// Plans: rows with history, as prices are. A running subscription keeps the version of its plan
// that it began with.

import type { Sql, Tx } from '../database/sql.ts'

export type Plan = {
  id: number
  key: string
  name: string
  activation_fee_sun: bigint
  initial_price_sun: bigint
  price_sun: bigint
  included: number
  transactions_limit: number
  duration_days: number
  energy_per_transaction: number
  /** So long without a use an address is kept supplied. 0: for ever. */
  idle_hours: number
}

/** The plans on sale, in the order in which they were first made. */
export async function listPlans(sql: Sql | Tx): Promise<Plan[]> {
  return sql<Plan>`select * from plan where until is null order by (select min(p.id) from plan as p where p.key = plan.key)`
}

export async function findPlan(sql: Sql | Tx, key: string): Promise<Plan | undefined> {
  const [plan] = await sql<Plan>`select * from plan where key = ${key} and until is null`
  return plan
}
