// A database in which something else happens between what a step has found and its transaction.

import type { Sql } from 'penstock-service/platform/database/sql.ts'

/** As `sql`; what happens does so once, just before a transaction: the first, or the one that
 *  `before` numbers from 1. */
export function withRace(sql: Sql, happens: () => Promise<unknown>, { before = 1 } = {}): Sql {
  let begun = 0
  const begin: Sql['begin'] = async (...of) => {
    begun += 1
    if (begun === before) await happens()
    return sql.begin(...of)
  }
  return Object.assign(sql.bind(undefined), sql, { begin })
}
