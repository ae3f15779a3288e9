// The source as a syntax tree, for the tests that hold rules about all of it. Types are blanked
// out, not cut out, so that every position in the tree is the position in the file.

import { glob, readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path/posix'
import { fileURLToPath } from 'node:url'
import { type Node, parse } from 'acorn'
import { transformSync } from 'esbuild'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

export type Source = {
  /** From the root of the repository, with `/`. */
  path: string
  /** The text without types and comments; positions are those of the file. */
  code: string
  tree: Node
}

/** Parses TypeScript. An import of types stays in the tree: it is one like any other to the
 *  rules. */
export function parseSource(path: string, text: string): Source {
  const imports_kept = text
    .replace(/^(import|export) type(?= [{*]| \w+ from )/gm, '$1     ')
    .replace(/^(import|export) +\{[^}]*\}/gm, (names) => names.replace(/\btype /g, '     '))
  const stripped = path.endsWith('.tsx')
    ? asCalls(imports_kept)
    : stripTypeScriptTypes(imports_kept)
  let code = stripped
  const onComment = (_block: boolean, _text: string, start: number, end: number) => {
    const blank = code.slice(start, end).replace(/[^\n]/g, ' ')
    code = code.slice(0, start) + blank + code.slice(end)
  }
  const tree = parse(stripped, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    allowHashBang: true,
    onComment,
  })
  return { path, code, tree }
}

/** Elements as the calls they stand for; lines are about those of the file. */
function asCalls(text: string): string {
  const kept = { verbatimModuleSyntax: true }
  const tsconfigRaw = { compilerOptions: { ...kept, jsx: 'react' as const, jsxFactory: 'h' } }
  return transformSync(text, { loader: 'tsx', target: 'esnext', tsconfigRaw }).code
}

/** Parses every `.ts` and `.tsx` file under the given folders, in order of their paths. */
export async function readSources(...folders: string[]): Promise<Source[]> {
  const paths: string[] = []
  const ignored = (path: string) => /node_modules|^packages\/\w+\/dist\b/.test(path)
  for await (const path of glob(
    folders.map((folder) => `${folder}/**/*.{ts,tsx}`),
    { cwd: ROOT, exclude: ignored },
  ))
    paths.push(path)
  return Promise.all(paths.sort().map(readSource))
}

const sources = new Map<string, Promise<Source>>()

/** Parses a file, once for all that ask in this process. */
function readSource(path: string): Promise<Source> {
  const known = sources.get(path)
  if (known) return known
  const source = readFile(`${ROOT}${path}`, 'utf8').then((text) => parseSource(path, text))
  sources.set(path, source)
  return source
}

/** `src/market/orders/orders.ts:12`, for the position in the source. */
export function where({ path, code }: Source, position: number): string {
  return `${path}:${code.slice(0, position).split('\n').length}`
}

/** A node of the tree with the fields that its kind has. */
export type Tree = Node & Record<string, unknown>

const below = new WeakMap<Node, readonly Tree[]>()

/** Every node of the tree, parents first. The list is kept: each rule wants it of every file. */
export function walk(node: Node): readonly Tree[] {
  const known = below.get(node)
  if (known) return known
  const found: Tree[] = []
  const open = [node as Tree]
  for (let next = open.pop(); next; next = open.pop()) {
    found.push(next)
    open.push(...Object.values(next).flat().filter(isNode).reverse())
  }
  below.set(node, found)
  return found
}

export function isNode(value: unknown): value is Tree {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
  )
}

/** The file that a specifier names; undefined for what is not ours. */
export function importedFile(from: string, specifier: string): string | undefined {
  if (/^\.\.?\//.test(specifier)) return join(dirname(from), specifier)
  const [, name, path] = /^penstock-([\w-]+)\/(.+)$/.exec(specifier) ?? []
  if (name === undefined) return undefined
  if (name === 'test') return `test/${path}`
  return name === 'service' ? `packages/service/src/${path}` : `packages/${name}/${path}`
}
