// What a rule of the books finds wrong in rows that are put there by themselves, looked at as a
// whole or from an entry on.

import type { Finding } from 'penstock-service/health/books/chain.ts'
import { type Scope, WHOLE } from 'penstock-service/health/books/scope.ts'
import { firstIdAt } from 'penstock-service/lib/ids.ts'
import type { Sql, Tx } from 'penstock-service/platform/database/sql.ts'
import type { BareRows } from './bare_tables.ts'

/** From when on a check looks that goes on, and just before. */
export const SINCE = '2026-10-08T00:00:00.000Z'
export const BEFORE = '2026-10-07T23:59:59.999Z'
/** The ids that are looked at begin with the first; the other sorts before it. */
export const FIRST_ID = firstIdAt(new Date(SINCE))
export const OLD_ID = firstIdAt(new Date(BEFORE))

/** Of a check that goes on from this entry: rows since a day, and entries after the tenth. */
export const scopeFrom = (sealed_entry: bigint): Scope => ({
  seal: undefined,
  sealed_entry,
  since: new Date(SINCE),
  first_id: FIRST_ID,
  before_entry: 10n,
})

/** `subject: found` of each finding, in the order of the rule; those of one subject by their words,
 *  since a rule says nothing of these. */
export async function foundIn(
  sql: Sql,
  rule: (tx: Tx, scope: Scope) => Promise<Finding[]>,
  scope: Scope = WHOLE,
): Promise<string[]> {
  const findings = await sql.begin((tx) => rule(tx, scope))
  return [...Map.groupBy(findings, ({ subject }) => subject)].flatMap(([subject, all]) =>
    all.map(({ found }) => `${subject}: ${found}`).sort(),
  )
}

/** Entries of the ledger that move money, unless they say another kind. */
export const entryRows = (
  rows: readonly (readonly [
    number: number,
    id: string,
    debit: string,
    credit: string,
    sun: number,
    kind?: string,
    hold_id?: string | undefined,
    made_at?: string,
  ])[],
): BareRows => ({
  table: 'transfer',
  columns: 'number id debit credit amount_sun kind hold_id made_at',
  rows: rows.map(([number, id, debit, credit, sun, kind = 'move', hold_id, made_at = SINCE]) => [
    number,
    id,
    debit,
    credit,
    sun,
    kind,
    hold_id ?? null,
    made_at,
  ]),
})
