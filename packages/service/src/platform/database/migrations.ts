// The migrations of this program, db/0001_*.sql and on, in order, forward only, and whether the
// program fits a database. A file that has been applied never changes; what it did is altered by a
// later file. The first lines of a file say what it asks of programs that are older than it:
//
//   -- kind: expand               they go on: it only adds
//   -- kind: contract, needs 60   those go on that know migration 60: it takes away what the
//                                 others use; without `needs`, only those that know this very one
//   -- transaction: none          one statement that no transaction may hold, like `create index
//                                 concurrently if not exists`: it may be run again, when a process
//                                 was killed after it and before it was noted
//
// So programs of two releases run beside each other, and the older one can be put back, until a
// contract.

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Query } from './sql.ts'

export type Migration = {
  number: number
  name: string
  sha256: string
  text: string
  kind: 'expand' | 'contract'
  /** The newest migration that a program must know at least to work on what this one leaves. */
  needs: number
  in_transaction: boolean
}

/** As the database remembers it. */
export type AppliedMigration = Pick<Migration, 'number' | 'name' | 'sha256'> & {
  /** Null: applied before programs could be older than the database. */
  needs: number | null
}

/** Migrations that may be applied to a database that has later ones already. 69 reached main after
 *  70 and 71, so there are databases with those alone; it touches nothing of theirs. */
export const LATE: ReadonlySet<number> = new Set([69])

export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../db', import.meta.url))

/** The migrations of a folder, in order. Throws when two have the same number. */
export async function readMigrations(folder = MIGRATIONS_FOLDER): Promise<Migration[]> {
  const migrations: Migration[] = []
  for (const file of (await readdir(folder)).sort()) {
    const [, digits, name] = /^(\d{4})_(\w+)\.sql$/.exec(file) ?? []
    if (digits === undefined || name === undefined) continue
    const text = await readFile(join(folder, file), 'utf8')
    const before = migrations.at(-1)
    if (before?.number === Number(digits))
      throw new Error(`Two migrations have the number ${digits}.`)
    const in_transaction = !/^-- transaction: none$/m.test(text)
    if (!in_transaction && !/\bif\s+(not\s+)?exists\b/i.test(statementsOf(text)))
      throw new Error(`Migration ${digits} has no transaction: it must say "if not exists".`)
    migrations.push({
      number: Number(digits),
      name,
      sha256: createHash('sha256').update(text).digest('hex'),
      text,
      ...kindOf(text, Number(digits), before?.needs ?? 0),
      in_transaction,
    })
  }
  return migrations
}

/** A text of SQL without its comments, and without what stands in quotes. */
const statementsOf = (text: string): string =>
  text.replace(/--.*$|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"/gm, ' ')

const KIND = /^-- kind: (?:(expand)|contract(?:, needs (\d+))?)$/m

/** One that does not say its kind is a contract. */
function kindOf(text: string, number: number, before: number): Pick<Migration, 'kind' | 'needs'> {
  const [, expand, needs = number] = KIND.exec(text) ?? []
  return expand
    ? { kind: 'expand', needs: before }
    : { kind: 'contract', needs: Math.max(before, Number(needs)) }
}

/** Why a program with these migrations cannot work on a database with those: a sentence; undefined
 *  when it can. */
export function whyUnfit(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
): string | undefined {
  const unapplied = known.find(({ number }) => !applied.some((one) => one.number === number))
  if (unapplied)
    return (
      `The database has no migration ${unapplied.number} (${unapplied.name}) yet: ` +
      'penstock-admin migrate applies it.'
    )
  return whyForeign(applied, known)
}

/** Why these migrations cannot be those of that database, or may not go on from it: a sentence. */
export function whyForeign(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
): string | undefined {
  const newest = known.at(-1)?.number ?? 0
  for (const { number, name, sha256, needs } of applied) {
    const file = known.find((migration) => migration.number === number)
    if (!file && (number <= newest || (needs ?? number) > newest))
      return (
        `The database has migration ${number} (${name}): ` +
        'it needs a newer Penstock than this one.'
      )
    if (file && file.sha256 !== sha256)
      return `Migration ${number} (${name}) has changed since it was applied.`
  }
  const last = applied.at(-1)?.number ?? 0
  const late = known.find(
    ({ number }) =>
      number < last && !LATE.has(number) && !applied.some((other) => other.number === number),
  )
  return (
    late && `Migration ${late.number} (${late.name}) comes too late: ${last} is applied already.`
  )
}

/** Why this program cannot work on a database: a sentence; undefined when it can. */
export async function schemaComplaint(sql: Query): Promise<string | undefined> {
  const [table] = await sql<{ there: boolean }>`
    select to_regclass('migration') is not null as there`
  if (!table!.there) return 'This database has no Penstock yet: penstock-admin migrate makes it.'
  const applied = await sql<AppliedMigration>`
    select number, name, sha256, needs from migration order by number`
  return whyUnfit(applied, await readMigrations())
}
