// What is due. One statement asks it of the database for all steps that are looked at, and what has
// nothing to do is not run: a service that sells nothing sleeps.

import { joinFragments, writeFragment } from '../database/fragments.ts'
import type { Query } from '../database/sql.ts'
import type { AskDue, Step } from './step.ts'

/** `sql`: connections that plan a statement once, whatever its values are. */
export function dueAsker(sql: Query, steps: readonly Step[]): AskDue {
  const asking = steps.filter((step) => step.due !== undefined)
  const names_asked = new Set(asking.map(({ name }) => name))
  return async (names) => {
    const due = new Set([...names].filter((name) => !names_asked.has(name)))
    if (due.size === names.size) return due
    // What is not looked at is not looked for.
    const queries = asking.flatMap((step, i) => [
      i === 0 ? 'case when ' : ', case when ',
      { strings: ['', '::boolean'], values: [names.has(step.name)] },
      ` then (select '${step.name}' where exists (`,
      step.due!(writeFragment),
      ')) end',
    ])
    const [row] = await sql<{ due: string[] }>(
      ...joinFragments(['select array_remove(array[', ...queries, ']::text[], null) as due']),
    )
    for (const name of row!.due) due.add(name)
    return due
  }
}
