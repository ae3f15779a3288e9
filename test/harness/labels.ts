// Labels as an operator's list has them, for tests and the simulator.

import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { publishList } from 'penstock-service/screening/labels/label_sets.ts'
import type { ListEntry } from 'penstock-service/screening/labels/list_entries.ts'

/** An entry of which only the address and the category have to be said. */
export type BriefEntry = Partial<ListEntry> & Pick<ListEntry, 'address' | 'category'>

const PLAIN = {
  entity: 'Somebody',
  kind: 'curated',
  confidence: 100,
  reference: 'test',
  valid_from: undefined,
  valid_to: undefined,
} as const

/** The entry of a list of mixers that has a number in it. */
export const numberedEntry = (
  n: number,
  address: ListEntry['address'],
  more: Partial<ListEntry> = {},
): ListEntry => ({
  ...PLAIN,
  address,
  category: 'mixer',
  entity: `Number ${n}`,
  confidence: 90,
  reference: '',
  ...more,
})

/** Publishes a whole list: that of the operator when it is not named. */
export function publishLabels(
  sql: Sql,
  entries: readonly BriefEntry[],
  { at, list = 'operator' }: { at: Date; list?: string },
) {
  const loading = {
    list,
    origin: 'test',
    passed_over: 0,
    loaded_at: at,
    loaded_by: 'test',
    may_shrink: true,
  }
  const whole = entries.map((entry): ListEntry => ({ ...PLAIN, ...entry }))
  return sql.begin((tx) => publishList(tx, loading, whole))
}
