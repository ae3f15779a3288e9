// What an answer rests on, as canonical JSON: keys in order, numbers as text, no blanks. The same
// facts give the same bytes, so a hash of them is enough to show later that a screening said this
// and nothing else.

import { createHash } from 'node:crypto'
import type { Sql, Tx } from '../../platform/database/sql.ts'

/** Facts: text, truth, lists and records of them. Numbers are text, so that no reader can round
 *  them. */
export type Fact = string | boolean | null | readonly Fact[] | { readonly [key: string]: Fact }

export function canonical(fact: Fact): string {
  if (typeof fact !== 'object' || fact === null) return JSON.stringify(fact)
  if (isList(fact)) return `[${fact.map(canonical).join(',')}]`
  const keys = Object.keys(fact).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(fact[key]!)}`).join(',')}}`
}

const isList = (fact: Fact): fact is readonly Fact[] => Array.isArray(fact)

export const sha256Of = (text: string | Uint8Array) =>
  createHash('sha256').update(text).digest('hex')

export type Evidence = { check_id: string; canonical: string; sha256: string }

export async function readEvidence(sql: Sql | Tx, check_id: string): Promise<Evidence | undefined> {
  const [row] = await sql<Evidence>`
      select check_id, canonical, sha256 from aml_evidence where check_id = ${check_id}`
  return row
}
