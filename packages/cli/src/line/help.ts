// What the command line says of itself.

import { type Command, fieldsOf } from './command.ts'
import type { Field } from './endpoints.ts'
import { COMMON, operandName, optionName } from './reading.ts'

const columns = (rows: readonly (readonly [string, string])[]) => {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`.trimEnd())
}

/** The help of one command. */
export function helpOf(command: Command): string {
  const { body, own } = fieldsOf(command)
  const all = [...body, ...own]
  const operands = (command.operands ?? []).map((name) => all.find((one) => one.name === name)!)
  const typed = operands.map((one) => (one.needed ? operandName(one) : `[${operandName(one)}]`))
  const options = [...all, ...COMMON].filter((one) => !operands.includes(one))
  const rows = [...operands.map(operandRow), ...options.map(optionRow)]
  const head = ['penstock', command.words, ...typed, '[options]'].join(' ')
  return `${[head, '', `${command.summary}.`, '', ...columns(rows), ''].join('\n')}`
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
export function overview(commands: readonly Command[]): string {
  return [
    'penstock NOUN VERB [options]',
    '',
    ...columns(commands.map(({ words, summary }) => [words, summary] as const)),
    '',
    'Each has --help, --json, --quiet and --profile NAME. Whose key signs: --profile, then',
    'PENSTOCK_PROFILE, then PENSTOCK_URL with PENSTOCK_TOKEN and PENSTOCK_SECRET, then the profile',
    'in use. Exit codes: 0 done; 1 refused, or not there; 2 typed wrongly; 3 not signed in, or not',
    'allowed; 4 not available: try again; 5 outcome unknown; 130 interrupted.',
    '',
  ].join('\n')
}
