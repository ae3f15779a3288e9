// Rows that somebody changes who has all rights on the database: no trigger keeps them.

import type { Sql, Tx } from 'penstock-service/platform/database/sql.ts'

/** Does the work in one transaction, while the triggers and foreign keys of the tables are off. */
export const withoutTriggers = <Result>(sql: Sql, work: (tx: Tx) => Promise<Result>) =>
  sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    return work(tx)
  })

/** Keeps so much more in a customer's account than its entries say. */
export const keepMore = (sql: Sql, account_id: string, more_sun: bigint) =>
  withoutTriggers(
    sql,
    (tx) => tx`
      update account set posted_sun = posted_sun + ${more_sun} where id = ${account_id}`,
  )
