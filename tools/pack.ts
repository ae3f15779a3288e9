// `npm run pack [-- NAME ...] [--to FOLDER]`: packs the packages that others may use, each into one
// file that npm installs and publishes: sdk, cli, tron and devchain. Node.js runs no TypeScript
// inside node_modules, so a package is compiled: its entry points as JavaScript without
// dependencies, their types, its commands, its README, and the licences of the code inside. The
// workspaces have no version, so that plain `npm pack` refuses to pack sources that would not run.

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

const ROOT = join(import.meta.dirname, '..')

/** The packages, each with the files that its commands start. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  tron: [],
  devchain: ['./cli.ts', './conformance/conformance.ts'],
}

/** Those that have a way of their own to be made: `npm run build -w penstock-sdk`. */
const BUILDERS: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  sdk: buildSdk,
  cli: buildCli,
}
const NAMES = [...Object.keys(BUILDERS), ...Object.keys(PACKAGES)]

type Manifest = {
  readonly bin?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string>>
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
    const names = ['LICENSE', 'LICENSE.md', 'LICENSE.txt']
    const file = names.map((one) => join(from, one)).find(existsSync)
    if (file === undefined) throw new Error(`${name} has no licence file`)
    return `${name}\n\n${readFileSync(file, 'utf8').trim()}\n`
  })
  const line = `\n${'-'.repeat(80)}\n\n`
  writeFileSync(join(folder, 'THIRD_PARTY_LICENSES.txt'), licences.join(line))
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
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

/** Writes a package's files to a folder, which is made if need be. */
export async function buildPackage(name: string, folder: string): Promise<void> {
  const source = join(ROOT, 'packages', name)
  const manifest = readManifest(source)
  const commands = Object.values(manifest.bin ?? {})
  const entries = entriesOf(manifest).map(([, file]) => join(source, file))
  const started = PACKAGES[name]!.map((file) => join(source, file))
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

/** Packs a package into the folder `to`, and returns the path of the file. */
export async function packPackage(name: string, to: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `penstock-${name}-`))
  try {
    await (BUILDERS[name]?.(folder) ?? buildPackage(name, folder))
    const arguments_ = ['pack', '--pack-destination', to]
    const printed = execFileSync('npm', arguments_, { cwd: folder, encoding: 'utf8' })
    return join(to, printed.trim().split('\n').at(-1)!)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readPackArguments(): { names: string[]; to: string; help: boolean } | string {
  try {
    const { values, positionals } = parseArgs({
      options: {
        to: { type: 'string', default: '.' },
        help: { type: 'boolean', short: 'h', default: false },
      },
      allowPositionals: true,
    })
    const unknown = positionals.find((name) => !NAMES.includes(name))
    if (unknown !== undefined) return `There is no package ${unknown}: it is ${NAMES.join(' or ')}.`
    const names = positionals.length > 0 ? positionals : NAMES
    return { names, to: resolve(process.env.INIT_CWD ?? '.', values.to), help: values.help }
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
    for (const name of given.names) process.stdout.write(`${await packPackage(name, given.to)}\n`)
}
