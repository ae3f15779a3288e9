// What is due. One statement asks it of the database for all steps that are looked at, and what has
// nothing to do is not run: a service that sells nothing sleeps.

import { type Fragment, joinFragments, writeFragment } from '../database/fragments.ts'
import type { Query } from '../database/sql.ts'
import type { AskDue, Step } from './step.ts'

/** `sql`: connections that plan a statement once, whatever its values are. */
export function dueAsker(sql: Query, steps: readonly Step<string>[]): AskDue {
  const asking = steps.filter((step) => step.due !== undefined)
  const names_asked = new Set(asking.map(({ name }) => name))
  let template: TemplateStringsArray | undefined
  return async (names) => {
    const due = new Set([...names].filter((name) => !names_asked.has(name)))
    if (due.size === names.size) return due
    const queries = asking.map((step) => ({
      name: step.name,
      looked_at: { strings: ['', '::boolean'], values: [names.has(step.name)] },
      query: step.due!(writeFragment),
    }))
    template ??= templateOf(queries)
    const values = queries.flatMap((one) => [...one.looked_at.values, ...one.query.values])
    const [row] = await sql<{ due: string[] }>(template, ...values)
    for (const name of row!.due) due.add(name)
    return due
  }
}

type NamedQuery = { name: string; looked_at: Fragment; query: Fragment }

/** The names of those that are looked at and find a row. What is not looked at is not looked
 *  for. */
function templateOf(queries: readonly NamedQuery[]): TemplateStringsArray {
  const parts = queries.flatMap(({ name, looked_at, query }, i) => [
    i === 0 ? 'case when ' : ', case when ',
    looked_at,
    ` then (select '${name}' where exists (`,
    query,
    ')) end',
  ])
  const [template] = joinFragments([
    'select array_remove(array[',
    ...parts,
    ']::text[], null) as due',
  ])
  return template
}
