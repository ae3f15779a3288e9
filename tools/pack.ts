// `npm run pack [-- NAME ...] [--to FOLDER] [--prefix PREFIX]`: packs the packages that others may
// use, each into one file that npm installs and publishes. Node.js runs no TypeScript inside
// node_modules, so a package is compiled. What is imported (sdk, tron, devchain) and the customers'
// command line are entry points without dependencies, their types, and the licences of the code
// inside; service and playground are their modules, and depend on `command-line`, `web`, `tron` and
// `devchain`. All names begin with PREFIX (tools/ship/names.ts): @scope/ to publish elsewhere.
// tron and devchain have no version here, so that plain `npm pack` refuses to pack their sources.

import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { buildPackage as buildCli } from '../packages/cli/build.ts'
import { buildPackage as buildSdk } from '../packages/sdk/build.ts'
import { leadingComment } from './help.ts'
import {
  isPrefix,
  ownSpecifier,
  PACKAGES,
  type PackageName,
  PREFIX,
  publishedText,
  ROOT,
} from './ship/names.ts'
import { compilePrograms, type Programs, writeProgram } from './ship/programs.ts'

/** The files that the commands of a library start. */
const STARTED: Partial<Record<PackageName, readonly string[]>> = {
  devchain: ['./cli.ts', './conformance/conformance.ts'],
}

/** How each is made. */
const BUILDERS: Record<PackageName, (folder: string, prefix: string) => Promise<unknown>> = {
  tron: (folder) => buildLibrary('tron', folder),
  devchain: (folder) => buildLibrary('devchain', folder),
  sdk: buildSdk,
  cli: buildCli,
  'command-line': (folder, prefix) => buildProgram('command-line', folder, prefix),
  web: (folder, prefix) => buildProgram('web', folder, prefix),
  service: (folder, prefix) => buildProgram('service', folder, prefix),
  playground: (folder, prefix) => buildProgram('playground', folder, prefix),
}

type Manifest = {
  readonly bin?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly version?: string
  readonly [name: string]: unknown
}

const readManifest = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

/** The package's exports, and the source of each: `./*.ts` is for the repository. */
const entriesOf = ({ exports }: Manifest) =>
  Object.entries(exports).filter(([name]) => !name.includes('*'))

/** The contents of a compilation: our files, and the names of other packages. */
type Contents = { files: string[]; packages: string[] }

/** Compiles the given sources into a folder. */
async function compile(folder: string, files: readonly string[]): Promise<Contents> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...files],
    entryNames: '[name]',
    outdir: folder,
    bundle: true,
    splitting: true,
    minifySyntax: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    metafile: true,
  })
  const paths = Object.keys(metafile.inputs)
  const names = paths.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  return {
    files: paths.filter((path) => path.startsWith('packages/')).map((path) => join(ROOT, path)),
    packages: [...new Set(names)].sort(),
  }
}

/** Writes the declarations of the given sources to types/PACKAGE/. */
function writeTypes(folder: string, files: readonly string[]): void {
  const project = join(folder, 'tsconfig.json')
  const types = join(folder, 'types')
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rewriteRelativeImportExtensions: true,
    rootDir: join(ROOT, 'packages'),
    outDir: types,
    typeRoots: [join(ROOT, 'node_modules/@types')],
  }
  const settings = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions,
    files,
    include: [],
  }
  writeFileSync(project, JSON.stringify(settings))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', project], { stdio: 'inherit' })
  rmSync(project)
  for (const file of globSync('**/*.d.ts', { cwd: types })) makeImportsRelative(types, file)
}

/** Declarations name our other packages, which the user does not have: they are beside them. */
function makeImportsRelative(types: string, file: string): void {
  const path = join(types, file)
  const text = readFileSync(path, 'utf8')
  const relative_text = text.replace(/'penstock-(\w+)\/([^']+)\.ts'/g, (_, name, module) => {
    const to = relative(dirname(file), join(name, module))
    return `'${to.startsWith('.') ? to : `./${to}`}.js'`
  })
  if (relative_text !== text) writeFileSync(path, relative_text)
}

function writeLicences(folder: string, bundled: readonly string[]): void {
  const licences = bundled.map((name) => {
    const from = join(ROOT, 'node_modules', name)
    const names = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license']
    const file = names.map((one) => join(from, one)).find(existsSync)
    if (file === undefined) throw new Error(`${name} has no licence file`)
    return `${name}\n\n${readFileSync(file, 'utf8').trim()}\n`
  })
  const line = `\n${'-'.repeat(80)}\n\n`
  writeFileSync(join(folder, 'THIRD_PARTY_LICENSES.txt'), licences.join(line))
}

/** The workspace's manifest with the version of the repository and the compiled files. */
function writeManifest(source: string, folder: string): void {
  const manifest = readManifest(source)
  const { private: _private, scripts: _scripts, dependencies: _bundled, ...kept } = manifest
  const { version } = readManifest(ROOT)
  const exports = entriesOf(manifest).map(([name, file]) => {
    const module = file.replace(/^\.\/|\.ts$/g, '')
    const types = `./types/${basename(source)}/${module}.d.ts`
    return [name, { types, default: `./${basename(module)}.js` }]
  })
  const packed = { ...kept, version, exports: Object.fromEntries(exports) }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(packed, null, 2)}\n`)
}

/** Writes the files of a library to a folder, which is made if need be. */
async function buildLibrary(name: PackageName, folder: string): Promise<void> {
  const source = join(ROOT, 'packages', name)
  const manifest = readManifest(source)
  const commands = Object.values(manifest.bin ?? {})
  const entries = entriesOf(manifest).map(([, file]) => join(source, file))
  const started = (STARTED[name] ?? []).map((file) => join(source, file))
  mkdirSync(folder, { recursive: true })
  const contents = await compile(folder, [...entries, ...started])
  const others = contents.files.filter((file) => !file.startsWith(source))
  // Sources of this package are found through its imports; those of others are not, by their names.
  writeTypes(folder, [...entries, ...others])
  writeLicences(folder, contents.packages)
  writeManifest(source, folder)
  for (const file of ['README.md', ...commands])
    copyFileSync(join(source, file), join(folder, file))
}

/** On which Node: the service on one that its operator keeps up to date, the playground on the one
 *  that comes along, which `npx` finds first. */
const RUNS_ON: Partial<Record<PackageName, object>> = {
  service: { engines: { node: '>=24' } },
  playground: { optionalDependencies: readManifest(ROOT).optionalDependencies },
}

const compiled = new Map<string, Promise<Programs>>()

/** Writes what one of the packages of the programs is made of. */
async function buildProgram(name: PackageName, folder: string, prefix: string): Promise<void> {
  const making = compiled.get(prefix) ?? compilePrograms(prefix)
  compiled.set(prefix, making)
  const programs = await making
  mkdirSync(folder, { recursive: true })
  await writeProgram(name, programs, folder)
  const source = join(ROOT, 'packages', name)
  const manifest = readManifest(source)
  const { private: _private, scripts: _scripts, devDependencies: _dev, ...kept } = manifest
  const { version } = readManifest(ROOT)
  const dependencies = [...(programs.imported.get(name) ?? [])].sort().map((imported) => {
    const own = ownSpecifier(imported)
    if (own) return [`${prefix}${own.name}`, version]
    const pinned = manifest.dependencies?.[imported]
    if (pinned === undefined)
      throw new Error(`packages/${name} does not say that it needs ${imported}`)
    return [imported, pinned]
  })
  const packed = { ...kept, ...RUNS_ON[name], dependencies: Object.fromEntries(dependencies) }
  const text = JSON.stringify(packed, null, 2).replace(/\.ts"/g, '.js"')
  writeFileSync(join(folder, 'package.json'), `${text}\n`)
  if (existsSync(join(source, 'README.md')))
    copyFileSync(join(source, 'README.md'), join(folder, 'README.md'))
  // The pages have the code of others inside.
  if (name === 'web') writeLicences(folder, needed(Object.keys(manifest.dependencies ?? {})))
}

/** Packages of others, and those that they need in turn. What puts the pages together is in none
 *  of them. */
function needed(names: readonly string[]): string[] {
  const found = new Set<string>()
  const left = names.filter((name) => name !== 'esbuild')
  for (let name = left.pop(); name !== undefined; name = left.pop())
    if (!found.has(name)) {
      found.add(name)
      left.push(...Object.keys(readManifest(join(ROOT, 'node_modules', name)).dependencies ?? {}))
    }
  return [...found].sort()
}

/** Writes a package's files to a folder, which is made if need be: under its published name, with
 *  the licence and the history of changes. */
export async function buildPackage(
  name: PackageName,
  folder: string,
  prefix = PREFIX,
): Promise<void> {
  await BUILDERS[name](folder, prefix)
  const { version } = readManifest(ROOT)
  const manifest = { ...readManifest(folder), name: `${prefix}${name}`, version }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  for (const file of ['LICENSE', 'CHANGELOG.md']) copyFileSync(join(ROOT, file), join(folder, file))
  const readme = join(folder, 'README.md')
  if (existsSync(readme)) writeFileSync(readme, publishedText(readFileSync(readme, 'utf8'), prefix))
}

/** Packs a package into the folder `to`, and returns the path of the file. */
export async function packPackage(name: PackageName, to: string, prefix = PREFIX): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `penstock-${name}-`))
  try {
    await buildPackage(name, folder, prefix)
    const arguments_ = ['pack', '--pack-destination', to]
    const printed = execFileSync('npm', arguments_, { cwd: folder, encoding: 'utf8' })
    return join(to, printed.trim().split('\n').at(-1)!)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type PackArguments = { names: PackageName[]; to: string; prefix: string; help: boolean }

function readPackArguments(): PackArguments | string {
  try {
    const { values, positionals } = parseArgs({
      options: {
        to: { type: 'string', default: '.' },
        prefix: { type: 'string', default: PREFIX },
        help: { type: 'boolean', short: 'h', default: false },
      },
      allowPositionals: true,
    })
    const { prefix, help } = values
    const unknown = positionals.find((name) => !PACKAGES.includes(name as PackageName))
    if (unknown !== undefined)
      return `There is no package ${unknown}: it is ${PACKAGES.join(' or ')}.`
    if (!isPrefix(prefix)) return `--prefix is like penstock- or @scope/, and not ${prefix}.`
    const names = positionals.length > 0 ? (positionals as PackageName[]) : [...PACKAGES]
    return { names, to: resolve(process.env.INIT_CWD ?? '.', values.to), prefix, help }
  } catch (thrown) {
    return `${(thrown as Error).message.split(/\.\s/)[0]}.`
  }
}

if (import.meta.main) {
  const given = readPackArguments()
  if (typeof given === 'string') {
    process.stderr.write(`${given}\n`)
    process.exitCode = 2
  } else if (given.help) process.stdout.write(leadingComment(import.meta.filename))
  else
    for (const name of given.names)
      process.stdout.write(`${await packPackage(name, given.to, given.prefix)}\n`)
}
