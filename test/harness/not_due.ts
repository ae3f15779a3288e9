// Holds steps to what they say of themselves: one that is not due changes nothing. What a drain has
// left out is run after it, one drain in so many; with DUE=all after each.

import { Outage } from 'penstock-service/lib/fault.ts'
import { joinFragments } from 'penstock-service/platform/database/fragments.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { AskDue, Step } from 'penstock-service/platform/steps/step.ts'

const ONE_IN = 64
let drains = 0
/** What the API writes a while after it has answered. */
const WRITTEN_LATER = /^refusal/

/** What a drain calls at its end. Others of the same database may be under way: then nothing is
 *  said. */
export async function sampleNotDue(
  sql: Sql,
  steps: readonly Step<string>[],
  { ask, isAlone }: { ask: AskDue; isAlone: () => boolean },
): Promise<void> {
  drains += 1
  if (process.env.DUE !== 'all' && drains % ONE_IN !== 0) return
  await runNotDue(sql, steps, ask).catch((thrown: unknown) => {
    if (isAlone()) throw thrown
  })
}

/** Runs the steps that say that they are not due. Throws when one of them changed a row. Nothing
 *  else may be under way. */
export async function runNotDue(
  sql: Sql,
  steps: readonly Step<string>[],
  ask: AskDue,
): Promise<void> {
  const asked = steps.filter((step) => step.due !== undefined)
  const due = await ask(new Set(asked.map(({ name }) => name)))
  const said_not = asked.filter(({ name }) => !due.has(name))
  const before = await rowsOf(sql)
  /** For each step, the first transaction that could be its own. */
  const begins: { name: string; transaction: bigint }[] = []
  for (const step of said_not) {
    begins.push({ name: step.name, transaction: await nextTransaction(sql) })
    const moved = await step.run().catch((thrown: unknown) => {
      if (!(thrown instanceof Outage)) throw thrown
      return false
    })
    if (moved) throw new Error(`the step ${step.name} was not due, and moved something`)
  }
  const after = await rowsOf(sql)
  const changed = [...after].filter(
    ([table, { count, last }]) =>
      !WRITTEN_LATER.test(table) &&
      (before.get(table)?.count !== count || before.get(table)?.last !== last),
  )
  const [first] = changed
  if (!first) return
  const [table, { last }] = first
  const step = begins.findLast(({ transaction }) => transaction <= last)?.name
  throw new Error(`the step ${step} was not due, and changed rows of ${table}`)
}

async function nextTransaction(sql: Sql): Promise<bigint> {
  const [row] = await sql<{ next: bigint }>`
    select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next`
  return row!.next
}

type Rows = { count: bigint; last: bigint }

/** For each table, how many rows it has, and the last transaction that wrote one. */
async function rowsOf(sql: Sql): Promise<Map<string, Rows>> {
  const template = templates.get(sql) ?? (await writeTemplate(sql))
  templates.set(sql, template)
  const rows = await sql<Rows & { name: string }>(template)
  return new Map(rows.map(({ name, count, last }) => [name, { count, last }]))
}

/** By database: one test makes a table of its own. */
const templates = new WeakMap<Sql, TemplateStringsArray>()

async function writeTemplate(sql: Sql): Promise<TemplateStringsArray> {
  const tables = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
  const parts = tables.map(
    ({ name }) => `select '${name}' as name, count(*) as count,
      coalesce(max(xmin::text::bigint), 0) as last from "${name}"`,
  )
  const [template] = joinFragments([parts.join(' union all ')])
  return template
}
