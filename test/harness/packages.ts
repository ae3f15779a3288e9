// A package as its users get it: packed as the documentation says, or as it was built, and
// installed into an empty folder without a registry.

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'

export const ROOT = join(import.meta.dirname, '../..')

const run = promisify(execFile)

export type InstalledPackage = {
  /** The folder that it was installed into. */
  folder: string
  /** The text of one of its files. */
  textOf: (path: string) => string
  /** Runs a program in the folder, and returns what it prints. */
  run: (program: string) => Promise<string>
  /** Compiles a TypeScript program in the folder; throws what the compiler prints. `types` are the
   *  ambient types it may use. */
  compile: (program: string, types?: readonly string[]) => Promise<void>
}

export async function installPackage(t: TestContext, name: string): Promise<InstalledPackage> {
  const folder = mkdtempSync(join(tmpdir(), `penstock-${name}-installed-`))
  t.after(() => rmSync(folder, { recursive: true }))
  const pack = ['run', '--silent', `pack:${name}`, '--', '--to', folder]
  const { stdout } = await run('npm', pack, { cwd: ROOT })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  await run('npm', ['install', ...QUIET, stdout.trim().split('\n').at(-1)!], { cwd: folder })
  return {
    folder,
    textOf: (path) => readFileSync(join(folder, 'node_modules', `penstock-${name}`, path), 'utf8'),
    run: async (program) => {
      const options = ['--input-type=module', '-e', program]
      return (await run(process.execPath, options, { cwd: folder })).stdout
    },
    compile: (program, types = []) => compile(folder, program, types),
  }
}

const QUIET = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund']

/** Packs what was built, and installs it in a folder. Returns the files that are in it. */
export async function installBuilt(built: string, folder: string): Promise<string[]> {
  const npm = (...args: string[]) => run('npm', args, { cwd: folder })
  type Report = { filename: string; files: { path: string }[] }
  const [packed] = JSON.parse((await npm('pack', '--json', built)).stdout) as [Report]
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  await npm('install', ...QUIET, `./${packed.filename}`)
  return packed.files.map(({ path }) => path).sort()
}

async function compile(folder: string, program: string, types: readonly string[]): Promise<void> {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  writeFileSync(join(folder, 'program.ts'), program)
  const compilerOptions = {
    strict: true,
    target: 'es2022',
    lib: ['es2023', 'dom'],
    module: 'nodenext',
    noEmit: true,
    types,
    typeRoots: [join(ROOT, 'node_modules/@types')],
  }
  const settings = { compilerOptions, files: ['program.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  await run(process.execPath, [compiler, '-p', folder]).catch((thrown: { stdout: string }) => {
    throw new Error(thrown.stdout)
  })
}
