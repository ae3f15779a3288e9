// `npm run build -w penstock-cli [-- --to FOLDER]` makes the package in a folder, `dist` beside
// this file when none is named: one file with everything in it. That folder is what is published.

import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

const here = import.meta.dirname

/** Makes the package in a folder, which is made if need be. Returns the program's file. */
export async function buildPackage(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'penstock.js')
  const text = readFileSync(join(here, 'package.json'), 'utf8')
  const {
    private: _,
    scripts: __,
    devDependencies: ___,
    ...said
  } = JSON.parse(text) as Record<string, unknown>
  await build({
    absWorkingDir: here,
    entryPoints: ['src/main.ts'],
    outfile: file,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    define: { PENSTOCK_CLI_VERSION: JSON.stringify(said.version) },
  })
  chmodSync(file, 0o755)
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...said, bin: { penstock: 'penstock.js' } }, null, 2)}\n`,
  )
  copyFileSync(join(here, 'README.md'), join(folder, 'README.md'))
  copyFileSync(join(here, '../../LICENSE'), join(folder, 'LICENSE'))
  return file
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { to: { type: 'string' } } })
  const given = values.to && resolve(process.env.INIT_CWD ?? '.', values.to)
  await buildPackage(given ?? join(here, 'dist'))
}
