// What is due, asked of the database: what has nothing to do is not run, and a service that sells
// nothing sleeps. One statement asks for all steps that are looked at. To begin it costs more than
// to ask for a few, so a few that are looked at together have a statement of their own.

import { type Fragment, joinFragments, writeFragment } from '../database/fragments.ts'
import type { Query } from '../database/sql.ts'
import type { AskDue, Step } from './step.ts'

/** `sql`: connections that plan a statement once, whatever its values are. */
export function dueAsker(sql: Query, steps: readonly Step<string>[]): AskDue {
  const asking = new Map(steps.flatMap((step) => (step.due ? [[step.name, step.due]] : [])))
  const askAll = allAsker(sql, asking)
  const askFew = fewAsker(sql, asking)
  return async (names) => {
    const asked = [...asking.keys()].filter((name) => names.has(name))
    const due = new Set([...names].filter((name) => !asking.has(name)))
    if (asked.length === 0) return due
    for (const name of (await askFew(asked)) ?? (await askAll(names))) due.add(name)
    return due
  }
}

/** Up to so many are asked by a statement of their own. */
const FEW = 6
/** No more such statements than these: each is prepared on every connection. Steps wake the same
 *  others each time, so a process needs some dozens. */
const STATEMENTS_MAX = 100

type Due = NonNullable<Step['due']>
type DueOf = ReadonlyMap<string, Due>

/** Undefined, and nothing asked: of more than FEW, or when there are STATEMENTS_MAX already. */
function fewAsker(
  sql: Query,
  due_of: DueOf,
): (names: readonly string[]) => Promise<string[] | undefined> {
  const known = new Set<string>()
  return async (names) => {
    if (names.length > FEW) return undefined
    const key = names.join(' ')
    if (!known.has(key) && known.size === STATEMENTS_MAX) return undefined
    known.add(key)
    const parts = names.flatMap((name, i) => [
      i === 0 ? 'select exists (' : ', exists (',
      due_of.get(name)!(writeFragment),
      `) as due${i}`,
    ])
    const [row] = await sql<Record<string, boolean>>(...joinFragments(parts))
    return names.filter((_, i) => row![`due${i}`])
  }
}

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
