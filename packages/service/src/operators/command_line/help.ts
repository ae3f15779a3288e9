// What the command line says of itself: all commands, and each of them.

import { columns, wrapped } from 'penstock-command-line/fitting.ts'
import type { Operation } from '../table/operation.ts'
import { type Parameter, parametersOf } from './arguments.ts'

/** The help of one command. */
export function helpOf(operation: Operation): string {
  const { cli, summary, description } = operation
  const { body, extras, nodes, common } = parametersOf(operation)
  const all = [...body, ...extras, ...nodes, ...common]
  const operands = cli.operands.map((field) => all.find((one) => one.field === field)!)
  const shown = operands.map(({ value, needed, many }) => {
    const one = many ? `${value}...` : value
    return needed ? one : `[${one}]`
  })
  const line = ({ name, value, help, many }: Parameter): [string, string] => [
    `${name} ${value}`.trim(),
    many ? `${help}; may be repeated` : help,
  ]
  return [
    ...wrapped(`penstock-admin ${[cli.words, ...shown].join(' ')} [options]`),
    '',
    ...wrapped(`${summary}.`),
    ...(description === undefined ? [] : ['', ...wrapped(description)]),
    ...(shown.length === 0
      ? []
      : ['', ...columns(operands.map(({ value, help }) => [value, help] as const))]),
    '',
    ...columns(all.filter(({ operand }) => !operand).map(line)),
    '',
  ].join('\n')
}

/** All commands with what they are for. */
export function overview(operations: readonly Operation[]): string {
  return [
    'penstock-admin NOUN VERB [options]      npm run -s admin -- NOUN VERB [options]',
    '',
    ...columns(operations.map(({ cli, summary }) => [cli.words, summary])),
    '',
    'Each has --help and --json. They work on the database of DATABASE_URL or, without it, on the',
    'one that npm start runs in ./data (--data-dir DIR). Every change is recorded with its author',
    '(--by) and reason (--reason). The service itself: `npm run serve`, with a --help of its own.',
    'Exit codes: 0 ok; 1 check failed, not found, or error; 2 usage error.',
    '',
  ].join('\n')
}
