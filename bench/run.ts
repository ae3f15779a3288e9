// npm run bench -- <name> [--json]: runs one benchmark. Each is a file here that exports `run` and prints what it
// measured beside its reference or its limit, measured in the same run.

import { readdirSync } from 'node:fs'

export type Bench = { run(options: { json: boolean }): Promise<void> }

const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && !['run.ts', 'load.ts', 'order_load.ts'].includes(file))
  .map((file) => file.slice(0, -'.ts'.length))

const [name, ...flags] = process.argv.slice(2)
const unknown = flags.find((flag) => flag !== '--json')

if (name === undefined || !names.includes(name) || unknown !== undefined) {
  const complaint = unknown === undefined ? '' : `There is no option ${unknown}. `
  process.stderr.write(`${complaint}npm run bench -- ${names.join('|')} [--json]\n`)
  process.exitCode = 2
} else {
  const bench = (await import(`./${name}.ts`)) as Bench
  await bench.run({ json: flags.includes('--json') })
}
