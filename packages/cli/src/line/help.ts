// What the command line says of itself.

import { columns, wrapped } from 'penstock-command-line/fitting.ts'
import { type Command, fieldsOf } from './command.ts'
import type { Field } from './endpoints.ts'
import { COMMON, operandName, optionName, valueName } from './reading.ts'

const WIDTH_MAX = 100
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
  const more = one.type === 'lines' ? ' ...' : ''
  const must = one.needed ? '; must be given' : ''
  return [`${optionName(one)} ${valueName(one)}${more}`.trim(), `${meaning(one)}${must}`]
}

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
