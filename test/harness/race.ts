// A database in which something else happens between what a step has found and its transaction.

import type { Sql } from 'penstock-service/platform/database/sql.ts'

/** As `sql`; what happens does so once, before the first transaction. */
export function withRace(sql: Sql, happens: () => Promise<unknown>): Sql {
  let has_happened = false
  const begin: Sql['begin'] = async (work) => {
    if (!has_happened) {
      has_happened = true
      await happens()
    }
    return sql.begin(work)
  }
  return Object.assign(sql.bind(undefined), sql, { begin })
}
