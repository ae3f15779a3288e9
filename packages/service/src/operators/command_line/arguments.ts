// What was typed, read by the schemas of an operation: its body and what else the command line has
// of it. `--energy-limit` is the field `energy_limit`; a field in sun is typed in TRX and without
// its unit.

import { readWord, sortTyped } from 'penstock-command-line/options.ts'
import { findCommand } from 'penstock-command-line/words.ts'
import { isAddress } from 'penstock-tron/address.ts'
import { type Static, type TObject, type TSchema, Type } from 'typebox'
import { readMoment } from '../../lib/clock.ts'
import { misuse } from '../../lib/fault.ts'
import { flag, text } from '../../platform/wire/schemas.ts'
import { type Operation, readTrx } from '../table/operation.ts'

/** What of a schema says how its value is typed. */
type Node = {
  type?: string
  title?: string
  description?: string
  format?: string
  enum?: readonly string[]
  items?: Node
  minimum?: number
  maximum?: number
}

/** One operand or option. */
export type Parameter = {
  /** The field that it fills. */
  field: string
  /** `--since`. */
  name: string
  /** What stands for its value in the help; empty: it has none. */
  value: string
  help: string
  /** It may be given more than once; an operand of this kind takes all that are left. */
  many: boolean
  needed: boolean
  operand: boolean
  /** Reads one value. Throws Misuse. */
  read(given: string, name: string): unknown
}

/** What every command takes, and what every change takes. */
const COMMON = Type.Object({
  data_dir: Type.Optional(
    text('DIR', 'where `npm start` keeps everything (./data); DATABASE_URL goes before it'),
  ),
  json: flag('print JSON'),
  help: flag('print this'),
})
const CHANGING = Type.Object({
  by: Type.Optional(text('NAME', 'who makes the change (the user of this machine)')),
  reason: Type.Optional(text('TEXT', 'why, for the record')),
})
const NODE = Type.Object({
  node_url: Type.Optional(Type.Array(text('URL', 'a node to ask'))),
})
const SOLID_NODE = Type.Object({
  solid_node_url: Type.Optional(
    Type.Array(text('URL', 'its solidity side, where that has an address of its own')),
  ),
})

/** The groups of what can be typed after the words of a command. */
export function parametersOf({ body, cli, changes }: Operation) {
  const of = (schema: TObject) => parameters(schema, cli)
  return {
    body: of(body).filter(({ field }) => !cli.filled.includes(field)),
    extras: of(cli.extras),
    nodes: [...(cli.node ? of(NODE) : []), ...(cli.node === 'solid' ? of(SOLID_NODE) : [])],
    common: [...(changes ? of(CHANGING) : []), ...of(COMMON)],
  }
}

function parameters(schema: TObject, cli: Operation['cli']): Parameter[] {
  const { operands, read } = cli
  const required = schema.required ?? []
  return Object.entries(schema.properties as Record<string, TSchema & Node>).map(
    ([field, node]) => {
      const one = node.items ?? node
      const operand = operands.includes(field)
      const in_trx = field.endsWith('_sun')
      return {
        field,
        name: optionName(field),
        value: node.title ?? valueName(one),
        help: node.description ?? one.description ?? '',
        many: node.type === 'array',
        needed: required.includes(field) && node.type !== 'array',
        operand,
        read: read[field] ?? (in_trx ? readTrx : readerOf(one)),
      }
    },
  )
}

const optionName = (field: string) => `--${field.replace(/_sun$/, '').replaceAll('_', '-')}`

const valueName = (node: Node): string =>
  node.title ?? (node.type === 'boolean' ? '' : (node.enum?.join('|') ?? 'TEXT'))

function readerOf({ type, format, enum: words, minimum, maximum }: Node): Parameter['read'] {
  if (words) return (given, name) => readWord(words, given, name)
  if (type === 'integer') return (given, name) => readWhole(given, name, minimum, maximum)
  if (format === 'address') return readAddress
  if (format === 'moment') return readMomentText
  return (given) => given
}

function readWhole(
  given: string,
  name: string,
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
): number {
  const number = /^-?\d{1,16}$/.test(given) ? Number(given) : Number.NaN
  if (number >= min && number <= max) return number
  throw misuse(`${name} ${given}: it is a whole number from ${min} to ${max}.`)
}

function readMomentText(given: string, name: string): string {
  if (readMoment(given)) return given
  throw misuse(
    `${name} ${given}: it is a day or a time in UTC, like 2026-11-01 or 2026-11-01T12:00:00Z.`,
  )
}

function readAddress(given: string, name: string): string {
  if (isAddress(given)) return given
  throw misuse(`${name} ${given} is not an address of the TRON network.`)
}

type Row = Record<string, unknown>

/** Other words for a command. */
const ALIASES: Record<string, readonly string[]> = { 'check-books': ['books', 'check'] }
/** What is meant by these words where nothing is named that could be shown. */
const ALONE: Record<string, string> = { 'lists show': 'lists list', 'aml show': 'aml status' }

/** Reads a whole command. Throws Misuse. */
export function readCommand(
  operations: readonly Operation[],
  typed: readonly string[],
): { operation: Operation; given: Arguments } {
  const [first = '', ...more] = typed
  const args = Object.hasOwn(ALIASES, first) ? [...ALIASES[first]!, ...more] : typed
  const { operation, rest } = findOperation(operations, args)
  const alone = operations.find(({ cli }) => cli.words === ALONE[operation.cli.words])
  try {
    return { operation, given: readArguments(operation, rest) }
  } catch (thrown) {
    if (alone === undefined || !(thrown instanceof Error && / is missing: /.test(thrown.message)))
      throw thrown
    return { operation: alone, given: readArguments(alone, rest) }
  }
}

/** The operation that the first words name, and what follows them. Throws Misuse. */
export function findOperation(operations: readonly Operation[], args: readonly string[]) {
  const named = operations.map((operation) => ({ words: operation.cli.words, operation }))
  const { command, rest } = findCommand(named, args)
  return { operation: command.operation, rest }
}

/** What was given to a command: the fields of its body, what else it has on the command line, and
 *  what all have. */
export type Arguments = Static<typeof COMMON> &
  Static<typeof CHANGING> &
  Static<typeof NODE> &
  Static<typeof SOLID_NODE> & { body: Row; extras: Row }

/** Reads what follows the words of a command. With --help nothing else is looked at. Throws
 *  Misuse. */
export function readArguments(operation: Operation, args: readonly string[]): Arguments {
  const { words, operands } = operation.cli
  const groups = parametersOf(operation)
  const all = Object.values(groups).flat()
  const { given, left } = sortTyped(
    words,
    all.filter(({ operand }) => !operand),
    args,
  )
  const readAll = (some: readonly Parameter[]): Row =>
    Object.fromEntries(
      some.flatMap((one) => {
        const value = readParameter(one, given.get(one) ?? [], one.name)
        return value === undefined ? [] : [[one.field, value]]
      }),
    )
  const options = (some: readonly Parameter[]) => readAll(some.filter(({ operand }) => !operand))
  const common = { ...options(groups.common), ...options(groups.nodes) }
  if (common.help === true) return { ...common, body: {}, extras: {} }
  const body = options(groups.body)
  const extras = options(groups.extras)
  for (const field of operands) {
    const one = all.find((parameter) => parameter.field === field)!
    const mine = left.splice(0, one.many ? left.length : 1)
    const value = readParameter(one, mine, operandName(words, one))
    if (value !== undefined) (groups.body.includes(one) ? body : extras)[field] = value
  }
  if (left.length > 0) throw misuse(`${words} does not take ${JSON.stringify(left[0])}.`)
  return { ...common, body, extras }
}

const operandName = (words: string, one: Parameter) => `${words}: ${one.value}`

/** The value of all that was given under one name; undefined when nothing was. Throws Misuse. */
function readParameter(one: Parameter, given: readonly string[], name: string): unknown {
  if (one.many) return given.length === 0 ? undefined : given.map((text) => one.read(text, name))
  if (one.value === '') return given.length > 0 ? true : undefined
  if (given.length > 1) throw misuse(`${name} is given more than once.`)
  if (given[0] !== undefined) return one.read(given[0], name)
  if (one.needed) throw misuse(`${name} is missing: ${one.help}.`)
  return undefined
}
