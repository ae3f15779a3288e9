// Which mutants the compiler refuses: nobody could have written them. All are checked in one go, as
// copies of their files in a folder of their own that stands for the root of the repository; the
// other files do not hear of the change.

import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROOT } from '../source.ts'
import { applied, type Mutant } from './mutants.ts'

/** Below the root, so that packages are found from there; ignored by git. */
const FOLDER = join(ROOT, `data/mutate/types-${process.pid}`)
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
/** Every wing adds the names of its steps to those that there are. */
const APP = join(ROOT, 'packages/service/src/app.ts')
const OUTPUT_BYTES_MAX = 2 ** 26

/** Those that the compiler takes. */
export async function compiling(mutants: readonly Mutant[]): Promise<Mutant[]> {
  if (mutants.length === 0) return []
  for (const mutant of mutants) {
    const copy = copyOf(mutant)
    await mkdir(dirname(copy), { recursive: true })
    await writeFile(copy, applied(await readFile(join(ROOT, mutant.path), 'utf8'), mutant))
  }
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    // Unused names that a change leaves are no reason.
    compilerOptions: {
      rootDirs: [ROOT, FOLDER],
      noUnusedLocals: false,
      noUnusedParameters: false,
      allowUnreachableCode: true,
    },
    include: [],
    files: [APP, ...mutants.map(copyOf)],
  }
  await writeFile(join(FOLDER, 'tsconfig.json'), JSON.stringify(config))
  const told = await output(['--singleThreaded', '--pretty', 'false', '-p', FOLDER])
  await rm(FOLDER, { recursive: true, force: true })
  const refused = new Set(
    [...told.matchAll(/\.([0-9a-f]+)\.ts\(\d+,\d+\): error /g)].map(([, id]) => id),
  )
  // Errors elsewhere say nothing of a mutant.
  const other = told
    .split('\n')
    .filter((line) => /error TS/.test(line) && !/\.[0-9a-f]{8}\.ts\(/.test(line))
  if (other.length > 0) throw new Error(`the source itself does not compile:\n${other.join('\n')}`)
  return mutants.filter(({ id }) => !refused.has(id))
}

const copyOf = ({ path, id }: Mutant) => join(FOLDER, path.replace(/\.ts$/, `.${id}.ts`))

const output = (args: readonly string[]) =>
  new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [TSC, ...args],
      { cwd: ROOT, maxBuffer: OUTPUT_BYTES_MAX },
      (_, text) => resolve(text),
    )
  })
