// What an answer rests on, as canonical JSON: keys in order, numbers as text, no blanks. The same
// facts give the same bytes, so a hash of them is enough to show later that a screening said this
// and nothing else.

import { createHash } from 'node:crypto'
import type { Sql, Tx } from '../../platform/database/sql.ts'

/** Facts: text, truth, lists and records of them. Numbers are text, so that no reader can round
 *  them. */
export type Fact = string | boolean | null | readonly Fact[] | { readonly [key: string]: Fact }

export const canonical = (fact: Fact): string => sortedJson(fact)

/** What can be written as JSON, without blanks, the keys of each record in order. */
export function sortedJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`
  const record = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(record).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${sortedJson(record[key])}`).join(',')}}`
}

export const sha256Of = (text: string | Uint8Array) =>
  createHash('sha256').update(text).digest('hex')

export type Evidence = { check_id: string; canonical: string; sha256: string }

export async function readEvidence(sql: Sql | Tx, check_id: string): Promise<Evidence | undefined> {
  const [row] = await sql<Evidence>`
      select check_id, canonical, sha256 from aml_evidence where check_id = ${check_id}`
  return row
}
