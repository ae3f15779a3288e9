// What is due, asked of the database: what has nothing to do is not run, and a service that sells
// nothing sleeps. One statement asks for all steps that are looked at; to begin it costs more than
// to ask for a few, so those are asked each by its own.

import { type Fragment, joinFragments, writeFragment } from '../database/fragments.ts'
import type { Query, Sql, Tx } from '../database/sql.ts'
import type { AskDue, Step } from './step.ts'

/** `sql`: connections that plan a statement once, whatever its values are. */
export function dueAsker(sql: Sql, steps: readonly Step<string>[]): AskDue {
  const asking = new Map(steps.flatMap((step) => (step.due ? [[step.name, step.due]] : [])))
  const askAll = allAsker(sql, asking)
  return async (names) => {
    const asked = [...names].filter((name) => asking.has(name))
    const due = new Set([...names].filter((name) => !asking.has(name)))
    if (asked.length === 0) return due
    const found = asked.length > FEW ? await askAll(names) : await askEach(sql, asking, asked)
    for (const name of found) due.add(name)
    return due
  }
}

/** Up to so many are asked each by its own. */
const FEW = 6

type Due = NonNullable<Step['due']>
type DueOf = ReadonlyMap<string, Due>

async function askEach(sql: Sql, due_of: DueOf, names: readonly string[]): Promise<string[]> {
  const ask = async (query: Query, name: string) => {
    const wanted = due_of.get(name)!(writeFragment)
    const [row] = await query<{ due: boolean }>(
      ...joinFragments(['select exists (', wanted, ') as due']),
    )
    return row!.due
  }
  const [name] = names
  const found =
    names.length === 1
      ? [await ask(sql, name!)]
      : await readTogether(sql, (tx) => Promise.all(names.map((one) => ask(tx, one))))
  return names.filter((_, i) => found[i])
}

/** The answers of statements that are sent at once. They only read: nothing hangs on the end of
 *  their transaction, and it is not waited for. */
const readTogether = <Answer>(sql: Sql, read: (tx: Tx) => Promise<Answer>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    sql.begin(async (tx) => resolve(await read(tx))).catch(reject)
  })

/** The names of those that are looked at and find a row. What is not looked at is not looked for:
 *  its values are not read, and stay those of the first time. */
function allAsker(sql: Query, due_of: DueOf): (names: ReadonlySet<string>) => Promise<string[]> {
  let first: { template: TemplateStringsArray; values: Map<string, readonly unknown[]> } | undefined
  return async (names) => {
    if (!first) {
      const queries = [...due_of].map(([name, due]) => ({ name, query: due(writeFragment) }))
      const values = new Map(queries.map(({ name, query }) => [name, query.values]))
      first = { template: templateOf(queries), values }
    }
    const { template, values } = first
    const of_all = [...due_of].flatMap(([name, due]) =>
      names.has(name) ? [true, ...due(writeFragment).values] : [false, ...values.get(name)!],
    )
    const [row] = await sql<{ due: string[] }>(template, ...of_all)
    return row!.due
  }
}

const LOOKED_AT: Fragment = { strings: ['', '::boolean'], values: [undefined] }

function templateOf(queries: readonly { name: string; query: Fragment }[]): TemplateStringsArray {
  const parts = queries.flatMap(({ name, query }, i) => [
    i === 0 ? 'case when ' : ', case when ',
    LOOKED_AT,
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
