// Compiles the package into dist/ before it is packed: the development chain and the parts of the repository that it
// uses, in a few files without dependencies, with types and the licences of what is bundled. An argument names another
// package folder to put dist/ into.

import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const here = import.meta.dirname
const root = join(here, '..')
const dist = join(process.argv[2] ?? here, 'dist')

rmSync(dist, { recursive: true, force: true })

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['api', 'cli', 'conformance'].map((name) => `devchain/${name}.ts`),
  outdir: dist,
  bundle: true,
  splitting: true,
  minifySyntax: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  metafile: true,
})

const { version } = JSON.parse(readFileSync(join(root, 'node_modules/typescript/package.json'), 'utf8')) as {
  version: string
}
const compiler = join(root, 'node_modules/typescript/bin/tsc')
const declarations = [
  '--declaration',
  '--emitDeclarationOnly',
  '--noEmit',
  'false',
  '--rewriteRelativeImportExtensions',
]
const project = join(dist, 'tsconfig.json')
const compilerOptions = { typeRoots: [join(root, 'node_modules/@types')] }
const settings = { extends: join(root, 'tsconfig.json'), compilerOptions, files: [join(here, 'api.ts')], include: [] }
writeFileSync(project, JSON.stringify(settings))
const places = ['--rootDir', root, '--outDir', join(dist, 'types')]
execFileSync(process.execPath, [compiler, '-p', project, ...declarations, ...places], { stdio: 'inherit' })
rmSync(project)

/** The packages whose code is in the bundle. */
const bundled = new Set(
  Object.keys(metafile.inputs).flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
)
const licences = [...bundled].sort().map((name) => {
  const folder = join(root, 'node_modules', name)
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].map((one) => join(folder, one)).find(existsSync)
  if (file === undefined) throw new Error(`${name} has no licence file`)
  return `${name}\n\n${readFileSync(file, 'utf8').trim()}\n`
})
writeFileSync(join(dist, 'THIRD_PARTY_LICENSES.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`))
copyFileSync(join(root, 'LICENSE'), join(dist, 'LICENSE'))
process.stdout.write(`devchain/dist: ${[...bundled].join(', ')} are inside; types by TypeScript ${version}\n`)
