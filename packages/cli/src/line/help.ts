// What the command line says of itself.

import { type Command, fieldsOf } from './command.ts'
import type { Field } from './endpoints.ts'
import { wrapped } from './fitting.ts'
import { COMMON, operandName, optionName } from './reading.ts'

const WIDTH_MAX = 100
/** What is longer stands on lines of its own, and what it means below it. */
const NAME_MAX = 36

/** The lines of a list of names with what each means, the meanings below one another. */
function columns(
  rows: readonly (readonly [name: string, meaning: string])[],
  width: number,
): string[] {
  const short = rows.map(([name]) => name.length).filter((length) => length <= NAME_MAX)
  const place = Math.max(0, ...short) + 4
  return rows.flatMap(([name, meaning]) => {
    const [first = '', ...others] = wrapped(name, width - 6)
    const names = [`  ${first}`, ...others.map((line) => `      ${line}`)]
    const meanings = wrapped(meaning, width - place)
    const beside = name.length <= NAME_MAX ? `${names.pop()!.padEnd(place)}${meanings.shift()}` : ''
    const below = meanings.map((line) => `${' '.repeat(place)}${line}`)
    return [...names, beside, ...below].map((line) => line.trimEnd()).filter((line) => line !== '')
  })
}

/** The help of one command. */
export function helpOf(command: Command, columns_max = WIDTH_MAX): string {
  const width = Math.min(columns_max, WIDTH_MAX)
  const { body, own } = fieldsOf(command)
  const all = [...body, ...own]
  const operands = (command.operands ?? []).map((name) => all.find((one) => one.name === name)!)
  const typed = operands.map((one) => (one.needed ? operandName(one) : `[${operandName(one)}]`))
  const options = [...all, ...COMMON].filter((one) => !operands.includes(one))
  const rows = [...operands.map(operandRow), ...options.map(optionRow)]
  const head = ['penstock', command.words, ...typed, '[options]'].join(' ')
  const summary = wrapped(`${command.summary}.`, width)
  return [...wrapped(head, width), '', ...summary, '', ...columns(rows, width), ''].join('\n')
}

const operandRow = (one: Field): [string, string] => [operandName(one), meaning(one)]

function optionRow(one: Field): [string, string] {
  const kind =
    one.type === 'yes'
      ? ''
      : one.type === 'list'
        ? ' A,B'
        : one.type === 'lines'
          ? ' TEXT ...'
          : ` ${valueName(one)}`
  const must = one.needed ? '; must be given' : ''
  return [`${optionName(one)}${kind}`, `${meaning(one)}${must}`]
}

const valueName = ({ type }: Field) => (type === 'text' ? 'TEXT' : 'NUMBER')

const meaning = ({ words, help }: Field) =>
  words ? [words.join('|'), help].filter(Boolean).join(': ') : help

/** All commands with what they are for. */
export function overview(commands: readonly Command[], columns_max = WIDTH_MAX): string {
  const width = Math.min(columns_max, WIDTH_MAX)
  const rows = commands.map(({ words, summary }) => [words, summary] as const)
  const head = 'penstock NOUN VERB [options]'
  return [head, '', ...columns(rows, width), '', ...wrapped(COMMON_HELP, width), ''].join('\n')
}

const COMMON_HELP =
  'Each has --help, --json, --wide, --quiet and --profile NAME. Whose key signs: --profile, then ' +
  'PENSTOCK_PROFILE, then PENSTOCK_URL with PENSTOCK_TOKEN and PENSTOCK_SECRET, then the profile ' +
  'in use. Exit codes: 0 done; 1 refused, or not there; 2 usage error; 3 not signed in, or not ' +
  'allowed; 4 not available: try again; 5 outcome unknown; 130 interrupted.'
