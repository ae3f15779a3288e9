// The packages that are run and not imported, as Node.js runs them inside node_modules: each module
// that the two programs reach, compiled for itself under its own name, so that what lies beside it
// is found as in the repository; what is no module (migrations, pages) is copied. Tests, tools and
// what only they need stay behind.

import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { buildAhead } from '../../packages/web/build/store.ts'
import { ownSpecifier, type PackageName, ROOT } from './names.ts'

/** Where the modules are looked for from. */
const PROGRAMS = ['packages/service/src/main.ts', 'packages/playground/main.ts']

/** The pages are put together when they are packed. */
const LEFT_OUT = /\/bundle\.ts$/

/** Files that are no modules. */
const FILES: Partial<Record<PackageName, readonly string[]>> = {
  service: ['db/0*.sql', 'openapi.json', 'openapi-3.0.json', 'src/platform/http/*.{html,css,js}'],
}

export type Module = { package: PackageName; path: string; text: string }

export type Programs = {
  modules: readonly Module[]
  /** The packages that the modules of each import. */
  imported: ReadonlyMap<PackageName, ReadonlySet<string>>
}

/** The name of the package in a specifier. */
const packageOf = (specifier: string) => /^(@[^/]+\/)?[^/]+/.exec(specifier)![0]

const BUNDLED = {
  absWorkingDir: ROOT,
  outdir: 'out',
  outbase: 'packages',
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  metafile: true,
} as const

/** tron and devchain are packed for those who import them; the programs do so, too. */
const LIBRARIES: readonly PackageName[] = ['tron', 'sdk', 'devchain']

const isProgram = (specifier: string) => {
  const own = ownSpecifier(specifier)
  return own !== undefined && !LIBRARIES.includes(own.name)
}

/** Leaves packages of others where they are. */
const withoutOthers: Plugin = {
  name: 'without-others',
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ path, kind }) => {
      const followed = kind === 'entry-point' || path.startsWith('.') || isProgram(path)
      return followed && !LEFT_OUT.test(path) ? undefined : { path, external: true }
    })
  },
}

/** Leaves every import where it is, under the name that it has when it is packed. */
const renamed = (prefix: string): Plugin => ({
  name: 'renamed',
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ path, kind }) => {
      if (kind === 'entry-point') return undefined
      const own = ownSpecifier(path)
      const to = own ? `${prefix}${own.name}${own.path}` : path
      // The exports of a library have no ending.
      const ending = own && LIBRARIES.includes(own.name) ? '' : '.js'
      return {
        path: own || path.startsWith('.') ? to.replace(/\.ts$/, ending) : to,
        external: true,
      }
    })
  },
})

/** All modules of the programs, compiled. */
export async function compilePrograms(prefix: string): Promise<Programs> {
  const { metafile } = await build({
    ...BUNDLED,
    entryPoints: PROGRAMS,
    plugins: [withoutOthers],
  })
  const imported = new Map<PackageName, Set<string>>()
  for (const [path, { imports }] of Object.entries(metafile.inputs)) {
    const name = path.split('/')[1] as PackageName
    const others = imported.get(name) ?? new Set()
    for (const { path: to, external } of imports) {
      const other = external ? to : `penstock-${to.split('/')[1]}`
      const named = !other.startsWith('.') && !other.startsWith('node:')
      if (named && other !== `penstock-${name}`) others.add(packageOf(other))
    }
    imported.set(name, others)
  }
  const sources = Object.keys(metafile.inputs)
  const { outputFiles } = await build({
    ...BUNDLED,
    entryPoints: sources.filter((path) => path.endsWith('.ts')),
    plugins: [renamed(prefix)],
  })
  const compiled = outputFiles.map(({ path, text }) => {
    const [name = '', ...rest] = relative(join(ROOT, 'out'), path).split('/')
    return { package: name as PackageName, path: rest.join('/'), text }
  })
  // Packages that are looked up by name are needed, too.
  for (const { package: name, text } of compiled)
    for (const [, other] of text.matchAll(/\bimport\.meta\.resolve\("([^"]+)"\)/g))
      imported.get(name)!.add(packageOf(other!))
  const data = sources.filter((path) => path.endsWith('.json') && basename(path) !== 'package.json')
  const copied = data.map((path) => {
    const [, name = '', ...rest] = path.split('/')
    const text = readFileSync(join(ROOT, path), 'utf8')
    return { package: name as PackageName, path: rest.join('/'), text }
  })
  return { modules: [...compiled, ...copied], imported }
}

/** Writes what a package of the programs is made of, but for its manifest. */
export async function writeProgram(
  name: PackageName,
  { modules }: Programs,
  folder: string,
): Promise<void> {
  for (const { path, text } of modules.filter((module) => module.package === name)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const source = join(ROOT, 'packages', name)
  for (const path of globSync([...(FILES[name] ?? [])], { cwd: source }))
    cpSync(join(source, path), join(folder, path))
  if (name === 'web') await buildAhead(join(folder, 'dist'))
}
