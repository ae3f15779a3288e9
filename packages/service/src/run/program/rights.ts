// Whether the role of the database that a part of a process signs in as may do that part's work,
// and no other's: said in one sentence at the start, and not by the first customer who meets it.

import { Misuse } from '../../lib/fault.ts'
import type { Log } from '../../lib/log.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { hasApi, hasConsole, hasSteps, type ProcessRole } from './roles.ts'

export type Part = 'api' | 'worker' | 'console'

/** What each part writes and no other does, and the role that may. */
const WORK: Readonly<Record<Part, { table: string; role: string; name: string }>> = {
  api: { table: 'api_key_nonce', role: 'penstock_api', name: "customers' calls" },
  worker: { table: 'block', role: 'penstock_worker', name: 'the steps' },
  console: { table: 'price', role: 'penstock_admin', name: 'the console' },
}
const TABLES = Object.values(WORK).map(({ table }) => table)

/** How a process was started. */
export type StartConfig = {
  role: ProcessRole
  /** Undefined: without a console. */
  console_port: number | undefined
  /** The variables by which its operator has allowed what is refused otherwise. */
  loosened: readonly string[]
  log: Log
}

/** Throws Misuse when a part that this process has may not do its work with its connections, or
 *  when a process of one part alone may do another part's work as well: anyone who got hold of the
 *  process could, too. A process that does everything may have one role for all of it, which the
 *  log says. */
export async function requireRights(
  pools: Readonly<Record<Part, Sql>>,
  { role, loosened, log, ...started }: StartConfig,
): Promise<void> {
  const parts: Part[] = []
  if (hasApi(role)) parts.push('api')
  if (hasSteps(role)) parts.push('worker')
  if (hasConsole(role) && started.console_port !== undefined) parts.push('console')
  const wide_roles = new Set<string>()
  for (const part of parts) {
    const wide_role = await requireWork(pools[part], part)
    if (wide_role === undefined) continue
    if (role !== 'all' && !loosened.includes('PENSTOCK_ALLOW_WIDE_ROLE'))
      throw new Misuse(
        `The role ${wide_role} of the database may do more than the work of ${WORK[part].name}: ` +
          `sign in as ${WORK[part].role} there. PENSTOCK_ALLOW_WIDE_ROLE=yes starts all the same.`,
      )
    wide_roles.add(wide_role)
  }
  const what = 'it may do the work of several parts: see docs/operators/database_roles.md'
  for (const wide_role of wide_roles) log('wide_database_role', { role: wide_role, what })
}

/** Throws Misuse when these connections are of a role that may not do the work of this part.
 *  Returns the role if it may do that of another part, too: the owner of the database, a superuser,
 *  and anyone who was given several roles. */
async function requireWork(sql: Sql, part: Part): Promise<string | undefined> {
  const rows = await sql<{ me: string; written: string; may: boolean }>`
    select current_user::text as me, written, has_table_privilege(written, 'insert') as may
    from unnest(${TABLES}::text[]) written`
  const { table, role, name } = WORK[part]
  const { me, may } = rows.find(({ written }) => written === table)!
  if (!may)
    throw new Misuse(
      `The role ${me} of the database may not do the work of ${name}: sign in as ${role} there.`,
    )
  return rows.some((row) => row.may && row.written !== table) ? me : undefined
}
