// npm run bench -- <name> [--json]: runs one benchmark. Each is a file here that exports `run`, and
// `OPTIONS` when it takes more than --json, and prints what it measured beside its reference or its
// limit, measured in the same run.

import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { endWhenInterrupted } from '../tools/ending.ts'
import { asksForHelp, leadingComment } from '../tools/help.ts'

export type Bench = {
  /** Numbers that may be given, with their defaults. */
  OPTIONS?: Readonly<Record<string, { readonly type: 'string'; readonly default: string }>>
  run(options: { json: boolean; numbers: Readonly<Record<string, number>> }): Promise<void>
}

const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== basename(import.meta.filename))
  .map((file) => file.slice(0, -'.ts'.length))

const [name, ...flags] = process.argv.slice(2)

function refuse(complaint: string): void {
  process.stderr.write(`${complaint}\nnpm run bench -- ${names.join('|')} [--json]\n`)
  process.exitCode = 2
}

/** What was given, or a sentence about it. */
function read({
  OPTIONS = {},
}: Bench): { json: boolean; numbers: Record<string, number> } | string {
  try {
    const { values } = parseArgs({
      args: flags,
      options: { ...OPTIONS, json: { type: 'boolean', default: false } },
    })
    const { json, ...given } = values as Record<string, string | boolean>
    const numbers = Object.fromEntries(
      Object.entries(given).map(([key, value]) => [key, Number(value)]),
    )
    const wrong = Object.entries(numbers).find(([, value]) => !Number.isInteger(value) || value < 1)
    return wrong ? `--${wrong[0]} takes a whole number from 1.` : { json: json === true, numbers }
  } catch (thrown) {
    return `${(thrown as Error).message.split(/\.\s/)[0]}.`
  }
}

const aboutOf = (bench: string) =>
  leadingComment(join(import.meta.dirname, `${bench}.ts`))
    .replace(/^/gm, '  ')
    .trimEnd()

if (asksForHelp(name) || asksForHelp(flags[0])) {
  const shown = names.filter((one) => asksForHelp(name) || one === name)
  const all = shown.map((one) => `\n${one}\n${aboutOf(one)}\n`)
  process.stdout.write([leadingComment(import.meta.filename), ...all].join(''))
} else if (name === undefined || !names.includes(name))
  refuse(name === undefined ? 'Which benchmark?' : `There is no benchmark ${JSON.stringify(name)}.`)
else {
  const bench = (await import(`./${name}.ts`)) as Bench
  const options = read(bench)
  if (typeof options === 'string') refuse(options)
  else {
    endWhenInterrupted()
    await bench.run(options).catch((thrown: unknown) => {
      if (!(thrown instanceof Misuse)) throw thrown
      refuse(thrown.message)
    })
  }
}
