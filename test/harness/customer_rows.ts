// Customers by themselves, as the service makes them, for tests of rows.

import { person } from 'penstock-devchain/scene.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import type { Tx } from 'penstock-service/platform/database/sql.ts'

/** One that is called as its id is, with the address of the person of that name. */
export async function makeCustomer(tx: Tx, { id, at }: { id: string; at: Date }): Promise<void> {
  const needs = {
    clock: { now: () => at },
    new_id: () => id,
    deposit_address: () => person(id).address,
  }
  await createCustomer(tx, needs, { name: id })
}
