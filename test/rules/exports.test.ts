// No package exports what nobody imports. It counts for values alone: types are cut out before the
// source is parsed. An import by a test, a bench or a tool is one; what a package publishes under a
// name of its own is for others.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import {
  importedFile,
  isNode,
  parseSource,
  ROOT,
  readSources,
  type Source,
  type Tree,
  walk,
  where,
} from '../../tools/source.ts'

/** What a program in JavaScript imports, which is not read here. */
const BY_PROGRAMS = new Set(['packages/devchain/conformance/conformance.ts main'])

/** The parts that pages are made of stand ready before every page does. */
const isPart = (path: string) => path.startsWith('packages/web/shared/parts/')

/** What every name of a file counts as. */
const ALL = '*'

/** The names that other files import of each file. */
function importedNames(sources: readonly Source[]): Map<string, Set<string>> {
  const imported = new Map<string, Set<string>>()
  for (const source of sources) {
    for (const node of walk(source.tree)) {
      const specifier = isNode(node.source) ? node.source.value : undefined
      if (typeof specifier !== 'string') continue
      const file = importedFile(source.path, specifier)
      if (file === undefined) continue
      const names = imported.get(file) ?? new Set()
      for (const name of namesOf(node)) names.add(name)
      imported.set(file, names)
    }
  }
  return imported
}

/** What an import or a re-export takes of its source. */
function namesOf({ type, specifiers }: Tree): string[] {
  if (type === 'ImportExpression' || type === 'ExportAllDeclaration') return [ALL]
  return (specifiers as Tree[]).map(({ type, imported, local }) => {
    if (type === 'ImportNamespaceSpecifier') return ALL
    if (type === 'ImportDefaultSpecifier') return 'default'
    return nameOf(type === 'ImportSpecifier' ? imported : local)
  })
}

const nameOf = (node: unknown): string =>
  isNode(node) ? String(node.type === 'Literal' ? node.value : node.name) : ''

/** The names that a file exports, with where it does. */
function exportedNames(source: Source): { name: string; start: number }[] {
  const statements = (source.tree as Tree).body as Tree[]
  return statements.flatMap(({ type, declaration, specifiers, start }) => {
    if (type === 'ExportDefaultDeclaration') return [{ name: 'default', start }]
    if (type !== 'ExportNamedDeclaration') return []
    if (!isNode(declaration))
      return (specifiers as Tree[]).map((one) => ({ name: nameOf(one.exported), start }))
    const declared = (declaration.declarations as Tree[] | undefined) ?? [declaration]
    return declared.map(({ id }) => ({ name: nameOf(id), start }))
  })
}

/** `packages/tron/address.ts:12 exports addressOf`, for what nobody imports. */
function unusedExports(sources: readonly Source[], published: ReadonlySet<string>): string[] {
  const imported = importedNames(sources)
  const ours = sources.filter(
    ({ path }) =>
      path.startsWith('packages/') &&
      !isPart(path) &&
      !published.has(path) &&
      !path.endsWith('.test.ts'),
  )
  return ours.flatMap((source) => {
    const names = imported.get(source.path)
    if (names?.has(ALL)) return []
    return exportedNames(source)
      .filter(({ name }) => !names?.has(name) && !BY_PROGRAMS.has(`${source.path} ${name}`))
      .map(({ name, start }) => `${where(source, start)} exports ${name}`)
  })
}

/** The files that packages publish by name; a pattern of names is for the workspace. */
function publishedFiles(): Set<string> {
  const manifests = globSync('packages/*/package.json', { cwd: ROOT })
  return new Set(
    manifests.flatMap((path) => {
      const { exports } = JSON.parse(readFileSync(`${ROOT}${path}`, 'utf8')) as {
        exports?: Record<string, string>
      }
      const files = Object.values(exports ?? {}).filter((file) => !file.includes('*'))
      return files.map((file) => join(dirname(path), file))
    }),
  )
}

const sources = await readSources('packages', 'test', 'bench', 'tools')

test('no package exports what nobody imports', () => {
  const published = publishedFiles()
  assert.ok(published.size > 5, `${published.size} files are published`)
  const unused = unusedExports(sources, published)
  assert.equal(unused.length, 0, `\n${unused.join('\n')}`)
})

test('an export that nobody imports is named by file and line', () => {
  const src = 'packages/service/src'
  const files = [
    parseSource(`${src}/a.ts`, '\nexport const used = 1, unused = 2'),
    parseSource(
      `${src}/b.ts`,
      'export function one() {}\nexport class Two {}\nexport { one as three }',
    ),
    parseSource(`${src}/c.ts`, `import { used as u } from './a.ts'\nexport { Two } from './b.ts'`),
    parseSource(`${src}/d.ts`, 'export const whole = 1'),
    parseSource(`${src}/public.ts`, 'export const offered = 1'),
    parseSource(
      'test/e.test.ts',
      `import * as d from 'penstock-service/d.ts'\nexport const free = d`,
    ),
  ]
  assert.deepEqual(unusedExports(files, new Set([`${src}/public.ts`])), [
    `${src}/a.ts:2 exports unused`,
    `${src}/b.ts:1 exports one`,
    `${src}/b.ts:3 exports three`,
    `${src}/c.ts:2 exports Two`,
  ])
})
