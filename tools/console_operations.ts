// What the console's pages know of the operators' operations, printed from their table: what each
// one takes and answers. Only those that a page names are printed.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OPERATIONS } from 'penstock-service/operators/operations.ts'
import type { Operation } from 'penstock-service/operators/table/operation.ts'
import { PRIMITIVES, type Schema } from './sdk_endpoints.ts'
import { ROOT } from './source.ts'

const COLUMNS = 100

export const CONSOLE_FILE = fileURLToPath(
  new URL('../packages/web/console/calls/operations.ts', import.meta.url),
)

const HEADER = `// Printed by \`npm run print\` from the table of operations, for those that a
// page names; a test says that it is fresh.

/** The body and the reply of each operation. */
export type Operations = {`

/** The whole file. */
export function printConsoleOperations(): string {
  const named = wordsOfPages()
  const entries = OPERATIONS.filter(({ cli }) => named.has(cli.words)).flatMap(entry)
  return `${[HEADER, ...entries, '}'].join('\n')}\n`
}

/** Every text in the pages of the console that could be the words of an operation. */
function wordsOfPages(): ReadonlySet<string> {
  const pages = globSync('packages/web/console/**/*.{ts,tsx}', { cwd: ROOT })
  const texts = pages
    .map((page) => join(ROOT, page))
    .filter((file) => file !== CONSOLE_FILE)
    .map((file) => readFileSync(file, 'utf8'))
  return new Set(texts.flatMap((text) => text.match(/(?<=['"])[a-z][a-z -]*(?=['"])/g) ?? []))
}

function entry({ cli, body, reply, changes, takes }: Operation): string[] {
  const more = [
    ...(changes ? ['reason: string'] : []),
    ...(takes === 'upload' ? ['file: { name: string; text: string }'] : []),
  ]
  const types = `body: ${objectOf(body as Schema, more)}; reply: ${typeOf(reply as Schema)}`
  return broken(`  '${cli.words}': { ${types} }`)
}

function typeOf({ enum: words, anyOf, type, items, ...schema }: Schema): string {
  if (words) return words.map((word) => `'${word}'`).join(' | ')
  if (anyOf) return anyOf.map(typeOf).join(' | ')
  if (type === 'array') {
    const one = typeOf(items ?? {})
    return one.includes(' | ') && !one.startsWith('{') ? `(${one})[]` : `${one}[]`
  }
  if (type === 'object') return objectOf({ type, ...schema })
  return type === undefined ? 'unknown' : PRIMITIVES[type]!
}

function objectOf(
  { properties = {}, required = [] }: Schema,
  more: readonly string[] = [],
): string {
  const fields = Object.entries(properties).map(
    ([name, field]) => `${name}${required.includes(name) ? '' : '?'}: ${typeOf(field)}`,
  )
  const all = [...fields, ...more]
  return all.length === 0 ? 'object' : `{ ${all.join('; ')} }`
}

/** A long line in several, broken between fields. */
function broken(text: string): string[] {
  const lines: string[] = ['']
  for (const word of text.split(/(?<=[;{]) |(?= \| ')/)) {
    const last = lines.at(-1)!
    const line = last === '' || word.startsWith(' ') ? last + word : `${last} ${word}`
    if (line.length <= COLUMNS) lines[lines.length - 1] = line
    else lines.push(`    ${word.trimStart()}`)
  }
  return lines
}
