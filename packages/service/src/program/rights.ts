// Whether the role of the database that a part of a process signs in as may do that part's work:
// said in one sentence at the start, and not by the first customer who meets it.

import type { Sql } from '../database/sql.ts'
import { Misuse } from '../lib/fault.ts'

export type Part = 'api' | 'worker' | 'console'

/** What each part writes and no other does, and the role that may. */
const WORK: Readonly<Record<Part, { table: string; role: string; name: string }>> = {
  api: { table: 'api_key_nonce', role: 'penstock_api', name: "customers' calls" },
  worker: { table: 'block', role: 'penstock_worker', name: 'the steps' },
  console: { table: 'price', role: 'penstock_admin', name: 'the console' },
}

/** Throws Misuse when these connections are of a role that may not do this. */
export async function requireRights(sql: Sql, part: Part): Promise<void> {
  const { table, role, name } = WORK[part]
  const [found] = await sql<{ me: string; may: boolean }>`
    select current_user::text as me, has_table_privilege(${table}, 'insert') as may`
  if (found!.may) return
  throw new Misuse(
    `The role ${found!.me} of the database may not do the work of ${name}: ` +
      `sign in as ${role} there.`,
  )
}
