// The versions of the policy, and what each says otherwise than the one before.

import type { Json } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { sortedJson } from './evidence.ts'
import { SHIPPED_POLICY, withLater } from './policy.ts'

type PolicyChange = {
  /** Where in the policy, such as `weights.mixer`. */
  field: string
  /** As JSON; null: it was not there, or is not any more. */
  before: string | null
  after: string | null
}

type PolicyVersion = {
  version: number
  /** null: it came with Penstock. */
  published_at: Date | null
  published_by: string | null
  changes: PolicyChange[]
}

/** Newest first; the one that was shipped last. */
export async function policyHistory(sql: Sql, limit: number): Promise<PolicyVersion[]> {
  const rows = await sql<{
    version: number
    body: Json
    published_at: Date | null
    published_by: string | null
  }>`
    select version, body, published_at, published_by from policy
    order by version desc limit ${limit + 1}`
  const shipped = {
    version: SHIPPED_POLICY.version,
    body: SHIPPED_POLICY as unknown as Json,
    published_at: null,
    published_by: null,
  }
  const all = rows.length > limit ? rows : [...rows, shipped]
  return all.slice(0, limit).map(({ body, ...row }, i) => {
    const before = all[i + 1]
    return { ...row, changes: before ? differences(whole(before.body), whole(body)) : [] }
  })
}

const whole = (body: Json): Json => withLater(body as Record<string, Json>)

/** In the order of the fields' names. The number of the version is none. */
export function differences(before: Json, after: Json): PolicyChange[] {
  const [old, now] = [leavesOf(before), leavesOf(after)]
  const fields = [...new Set([...old.keys(), ...now.keys()])].filter((one) => one !== 'version')
  return fields
    .sort()
    .map((field) => ({ field, before: old.get(field) ?? null, after: now.get(field) ?? null }))
    .filter((change) => change.before !== change.after)
}

/** Whatever is no object, as JSON, by its path. */
function leavesOf(value: Json, path = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    // The database keeps the keys of a record in an order of its own.
    return new Map([[path, sortedJson(value)]])
  const inside = Object.entries(value).map(([name, one]) =>
    leavesOf(one, path === '' ? name : `${path}.${name}`),
  )
  return new Map(inside.flatMap((leaves) => [...leaves]))
}
