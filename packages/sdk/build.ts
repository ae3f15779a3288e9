// `npm run build -w penstock-sdk [-- --to FOLDER]` makes the package in a folder, `dist` beside
// this file when none is named: for each entry an ES module, a CommonJS module and a file of types,
// for browsers and Workers as well as for Node. That folder is what is published. Within the
// repository the entries are the sources themselves, and the workspace is private.

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

const here = import.meta.dirname
const root = join(here, '../..')

/** The package's exports, by the names of the sources. */
const ENTRIES = { penstock: '.', webhooks: './webhooks', receipts: './receipts' } as const
type Entry = keyof typeof ENTRIES
const NAMES = Object.keys(ENTRIES) as Entry[]

/** Makes the package in a folder, which is made if need be. */
export async function buildPackage(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const [format, extension] of [
    ['esm', '.js'],
    ['cjs', '.cjs'],
  ] as const)
    await build({
      absWorkingDir: here,
      entryPoints: NAMES.map((name) => `src/${name}.ts`),
      outdir: folder,
      outExtension: { '.js': extension },
      bundle: true,
      format,
      platform: 'neutral',
      target: 'es2022',
    })
  writeTypes(folder)
  const {
    private: _,
    scripts: __,
    exports: ___,
    ...said
  } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as Record<string, unknown>
  const own = { main: './penstock.cjs', types: './penstock.d.cts', exports: exports() }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...said, ...own }, null, 2)}\n`)
  copyFileSync(join(here, 'README.md'), join(folder, 'README.md'))
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
}

function exports(): Record<string, unknown> {
  const entries = NAMES.map((name) => {
    const module = (types: string, code: string) => ({
      types: `./${name}${types}`,
      default: `./${name}${code}`,
    })
    return [ENTRIES[name], { import: module('.d.ts', '.js'), require: module('.d.cts', '.cjs') }]
  })
  return { ...Object.fromEntries(entries), './package.json': './package.json' }
}

/** One file of types for each entry: the declarations of all the files it is made of, of which only
 *  what the entry exports is seen. */
function writeTypes(folder: string): void {
  const made = mkdtempSync(join(tmpdir(), 'penstock-sdk-types-'))
  try {
    const settings = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        typeRoots: [join(root, 'node_modules/@types')],
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        rootDir: join(here, 'src'),
        outDir: made,
      },
      files: NAMES.map((name) => join(here, `src/${name}.ts`)),
      include: [],
    }
    writeFileSync(join(made, 'tsconfig.json'), JSON.stringify(settings))
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [compiler, '-p', made], { stdio: 'inherit' })
    for (const name of NAMES)
      for (const extension of ['.d.ts', '.d.cts'])
        writeFileSync(join(folder, `${name}${extension}`), joinedTypes(made, name))
  } finally {
    rmSync(made, { recursive: true })
  }
}

const FROM = /^(?:import|export) (?:type )?\{[^}]*\} from '(\.{1,2}\/[\w/.]+)\.ts';\n/gm

/** A type that is named where it is used. */
const INLINE = /import\("(\.{1,2}\/[\w/.]+)\.ts"\)\./g

/** The declarations of a file and of what it imports, in one text. No name is declared twice in the
 *  sources: if one were, the compiler of those who use the types would say so. */
function joinedTypes(folder: string, entry: string): string {
  const read = (name: string) => readFileSync(join(folder, `${name}.d.ts`), 'utf8')
  const names = [entry]
  for (const name of names)
    for (const pattern of [FROM, INLINE])
      for (const [, other] of read(name).matchAll(pattern)) {
        const meant = join(dirname(name), other!)
        if (!names.includes(meant)) names.push(meant)
      }
  const declared = names.map((name) =>
    read(name)
      .replace(FROM, '')
      .replace(INLINE, '')
      .replace(/^export \{\};\n/gm, '')
      .replace(/^export (?=declare |type )/gm, ''),
  )
  return `${declared.join('')}export { ${exported(read(entry)).join(', ')} };\n`
}

/** The names that a file of declarations exports; types are marked. */
function exported(text: string): string[] {
  const own = [...text.matchAll(/^export (?:declare )?(type|\w+) (?:function )?(\w+)/gm)].map(
    ([, kind, name]) => (kind === 'type' ? `type ${name}` : name!),
  )
  const passed_on = [...text.matchAll(/^export (type )?\{([^}]*)\} from/gm)].flatMap(
    ([, type = '', names]) => names!.match(/\w[^,\n]*/g)!.map((name) => `${type}${name.trim()}`),
  )
  return [...own, ...passed_on]
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { to: { type: 'string' } } })
  const given = values.to && resolve(process.env.INIT_CWD ?? '.', values.to)
  await buildPackage(given ?? join(here, 'dist'))
}
