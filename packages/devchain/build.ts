// Makes the package in a folder: the development chain and the parts of the repository that it
// uses, compiled into a few files without dependencies, with types, the commands, the description
// for its users, and the licences of what is inside. The folder is all that the package is: the
// workspace has no version, so that `npm pack` refuses it instead of packing it without the code.

import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const here = import.meta.dirname
const root = join(here, '../..')
const commands = {
  'penstock-devchain': 'penstock-devchain.js',
  'penstock-conformance': 'penstock-conformance.js',
}

type Description = { readonly [name: string]: unknown }

const readDescription = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Description

/** Compiles, and returns the names of the packages whose code is in the result. */
async function compile(folder: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['api', 'cli', 'conformance/conformance'].map(
      (name) => `packages/devchain/${name}.ts`,
    ),
    entryNames: '[name]',
    outdir: folder,
    bundle: true,
    splitting: true,
    minifySyntax: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    metafile: true,
  })
  const paths = Object.keys(metafile.inputs)
  const names = paths.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  return [...new Set(names)].sort()
}

function writeTypes(folder: string): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const project = join(folder, 'tsconfig.json')
  const compilerOptions = { typeRoots: [join(root, 'node_modules/@types')] }
  const files = { files: [join(here, 'api.ts')], include: [] }
  const settings = { extends: join(root, 'tsconfig.json'), compilerOptions, ...files }
  writeFileSync(project, JSON.stringify(settings))
  const only_types = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false']
  const places = [
    '--rewriteRelativeImportExtensions',
    '--rootDir',
    root,
    '--outDir',
    join(folder, 'types'),
  ]
  execFileSync(process.execPath, [compiler, '-p', project, ...only_types, ...places], {
    stdio: 'inherit',
  })
  rmSync(project)
}

function writeLicences(folder: string, bundled: readonly string[]): void {
  const licences = bundled.map((name) => {
    const from = join(root, 'node_modules', name)
    const names = ['LICENSE', 'LICENSE.md', 'LICENSE.txt']
    const file = names.map((one) => join(from, one)).find(existsSync)
    if (file === undefined) throw new Error(`${name} has no licence file`)
    return `${name}\n\n${readFileSync(file, 'utf8').trim()}\n`
  })
  const line = `\n${'-'.repeat(80)}\n\n`
  writeFileSync(join(folder, 'THIRD_PARTY_LICENSES.txt'), licences.join(line))
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
}

/** What the package says of itself: what the workspace says, with the version of the repository. */
function writeDescription(folder: string): void {
  const {
    private: _private,
    scripts: _scripts,
    dependencies: _bundled,
    ...said
  } = readDescription(here)
  const { version } = readDescription(root)
  const types = './types/packages/devchain/api.d.ts'
  const own = { version, bin: commands, exports: { '.': { types, default: './api.js' } } }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...said, ...own }, null, 2)}\n`)
}

/** Makes the package in a folder, which is made if need be. */
export async function buildPackage(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const bundled = await compile(folder)
  writeTypes(folder)
  writeLicences(folder, bundled)
  writeDescription(folder)
  for (const name of ['README.md', ...Object.values(commands)])
    copyFileSync(join(here, name), join(folder, name))
}
