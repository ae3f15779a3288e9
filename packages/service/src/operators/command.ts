// Commands as data. A noun's file lists what operators may do with it by command() and change();
// here what was typed is found in that list, read and explained. A change() runs in one transaction
// together with the record of who made it and why: no command can forget the record, because it is
// not the one that makes it.

import { parseArgs } from 'node:util'
import { type Address, isAddress } from 'penstock-tron/address.ts'
import type { ChainView } from '../audit/chain.ts'
import type { DepositAddress } from '../customers/deposit_addresses.ts'
import type { Seal } from '../customers/seal.ts'
import type { Sql, Tx } from '../database/sql.ts'
import type { Download } from '../labels/lists.ts'
import { type Change, type Operator, perform } from '../ledger/actions.ts'
import { type Clock, isDay } from '../lib/clock.ts'
import { misuse } from '../lib/fault.ts'
import type { NewId, Random } from '../lib/ids.ts'
import { sunOf } from '../lib/json.ts'
import type { Node } from '../node/node.ts'
import type { OwnWallets } from '../wallets/permissions.ts'

/** What commands work on that is not about the database. */
export type Outside = {
  clock: Clock
  random: Random
  new_id: NewId
  wait(ms: number): Promise<void>
  /** Whether a file in the data folder stops signing on this machine; puts it there or takes it
   *  away when told to. */
  stopHere(stopped?: boolean, by?: string): Promise<boolean>
  /** The nodes that are named. Throws Refused when none is. */
  nodeAt(urls: readonly string[]): Node
  /** The file of wallets that PENSTOCK_WALLETS names. */
  wallets(): Promise<OwnWallets>
  readFile(name: string): Promise<string>
  /** Readable by its owner only, in place of what was there. */
  writeFile(name: string, text: string): Promise<void>
  /** Standard input, to its end. */
  readInput(): Promise<string>
  /** Opens a publisher's list. */
  download: Download
  /** Shows how far a long work is, in place of what was shown before; empty: it is over. */
  progress(line: string): void
}

/** What commands work on. What is made only when it is asked for may throw Refused for what is
 *  missing. */
export type Needs = Outside & {
  sql: Sql
  /** The database, for reading: host, port and name. */
  database: string
  seal(): Promise<Seal>
  /** Of the operator's extended public key; throws when it is not the one that this database's
   *  addresses are from. */
  depositAddress(): Promise<DepositAddress>
  /** A node to compare with; undefined when none is named. */
  chainAt(node_urls: readonly string[], solid_urls: readonly string[]): ChainView | undefined
}

/** What a command found or made. JSON is printed from `value`, and the text for reading too, unless
 *  `text` is given. */
export type Answer = {
  value: unknown
  text?: string
  /** A line for reading after the value. */
  note?: string
  /** False: the exit code says that something is wrong. */
  ok?: boolean
}

/** An option or an operand: how it is named in the help, and how it is read. */
export type Option<T> = {
  /** What stands for its value in the help; empty: it has none. */
  value: string
  help: string
  /** It may be given more than once; an operand of this kind takes all that are left. */
  many: boolean
  needed: boolean
  /** Reads all that were given under the name. Throws misuse. */
  read(given: readonly string[], name: string): T
}

type Options = Record<string, Option<unknown>>
type Given<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never }

/** One command as the command line sees it. */
export type Command = {
  /** `customers create`. */
  readonly words: string
  readonly summary: string
  readonly details: string | undefined
  readonly operands: Options
  readonly options: Options
  readonly changes: boolean
  /** The same as run(), for a command that works without a database. */
  readonly runAlone?: (needs: Outside, given: Record<string, unknown>) => Promise<Answer>
  run(needs: Needs, given: Record<string, unknown>, operator: Operator): Promise<Answer>
}

type Description<Operands extends Options, Others extends Options> = {
  words: string
  summary: string
  details?: string
  operands?: Operands
  options?: Others
}

/** Who changes something, when and why: the same as in the record. */
export type Changing = { changed_by: string; at: Date; reason: string | null }

/** Declares a command that only looks. */
export function command<
  Operands extends Options = Record<never, never>,
  Others extends Options = Record<never, never>,
>(
  spec: Description<Operands, Others> & {
    run(needs: Needs, given: Given<Operands> & Given<Others>): Promise<Answer>
  },
): Command {
  const { words, summary, details, operands = {}, options = {} } = spec
  // The command line calls run() with what the operands and options of this very command have read.
  const run: Command['run'] = (needs, given) =>
    spec.run(needs, given as Given<Operands> & Given<Others>)
  return { words, summary, details, operands, options, changes: false, run }
}

/** Declares a command that needs no database, and records nothing there. */
export function standalone<
  Operands extends Options = Record<never, never>,
  Others extends Options = Record<never, never>,
>(
  spec: Description<Operands, Others> & {
    run(needs: Outside, given: Given<Operands> & Given<Others>): Promise<Answer>
  },
): Command {
  return {
    ...command(spec),
    runAlone: (needs, given) => spec.run(needs, given as Given<Operands> & Given<Others>),
  }
}

/** Declares a command that changes something. It runs in a transaction, which also records what it
 *  says it has done. */
export function change<
  Operands extends Options = Record<never, never>,
  Others extends Options = Record<never, never>,
>(
  spec: Description<Operands, Others> & {
    run(
      tx: Tx,
      needs: Needs,
      given: Given<Operands> & Given<Others> & Changing,
    ): Promise<Change<Answer>>
  },
): Command {
  const { words, summary, details, operands = {}, options = {} } = spec
  return {
    ...{ words, summary, details, operands, options, changes: true },
    run: (needs, given, operator) =>
      perform(needs, { operator, action: words }, (tx, at) =>
        spec.run(tx, needs, {
          ...(given as Given<Operands> & Given<Others>),
          changed_by: operator.made_by,
          at,
          reason: operator.reason,
        }),
      ),
  }
}

/** Declares a command that changes something after work that no transaction should wait for: it
 *  calls perform() itself. */
export function undertaking<
  Operands extends Options = Record<never, never>,
  Others extends Options = Record<never, never>,
>(
  spec: Description<Operands, Others> & {
    run(needs: Needs, given: Given<Operands> & Given<Others>, operator: Operator): Promise<Answer>
  },
): Command {
  const { words, summary, details, operands = {}, options = {} } = spec
  const run: Command['run'] = (needs, given, operator) =>
    spec.run(needs, given as Given<Operands> & Given<Others>, operator)
  return { words, summary, details, operands, options, changes: true, run }
}

function single<T>(
  value: string,
  help: string,
  parse: (text: string, name: string) => T,
): Option<T | undefined> {
  return {
    ...{ value, help, many: false, needed: false },
    read(given, name) {
      if (given.length > 1) throw misuse(`${name} is given more than once.`)
      return given[0] === undefined ? undefined : parse(given[0], name)
    },
  }
}

export const text = (value: string, help: string) => single(value, help, (given) => given)

/** A whole number. */
export const whole = (
  value: string,
  help: string,
  { min = 1, max = Number.MAX_SAFE_INTEGER } = {},
) =>
  single(value, help, (given, name) => {
    const number = /^-?\d{1,16}$/.test(given) ? Number(given) : Number.NaN
    if (number >= min && number <= max) return number
    throw misuse(`${name} ${given}: it is a whole number from ${min} to ${max}.`)
  })

/** An amount of TRX, read as sun. */
export const trx = (value: string, help: string) => single(value, help, readTrx)

export function readTrx(given: string, name: string): bigint {
  const sun = sunOf(given)
  if (sun === undefined)
    throw misuse(`${name} ${given}: it is an amount of TRX with at most 6 decimals, like 12.5.`)
  return sun
}

/** A moment: a day (`2026-11-01`, its beginning in UTC) or a time (`2026-11-01T12:00:00Z`). */
export const time = (help: string) =>
  single('TIME', help, (given, name) => {
    const at = readTime(given)
    if (at) return at
    throw misuse(
      `${name} ${given}: it is a day or a time in UTC, like 2026-11-01 or 2026-11-01T12:00:00Z.`,
    )
  })

/** The moment that a text of that form names; undefined when it names none. */
export function readTime(given: string): Date | undefined {
  const at = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/.test(given)
    ? new Date(given)
    : new Date(Number.NaN)
  return !Number.isNaN(at.getTime()) && isDay(given.slice(0, 10)) ? at : undefined
}

export const oneOf = <const Word extends string>(words: readonly Word[], help: string) =>
  single(words.join('|'), help, (given, name) => {
    const word = words.find((one) => one === given)
    if (word !== undefined) return word
    throw misuse(`${name} ${given}: it is ${words.slice(0, -1).join(', ')} or ${words.at(-1)}.`)
  })

/** An address of the network. */
export const address = (help: string) =>
  single('ADDRESS', help, (given, name): Address => {
    if (isAddress(given)) return given
    throw misuse(`${name} ${given} is not an address of the TRON network.`)
  })

export const flag = (help: string): Option<boolean> => ({
  ...{ value: '', help, many: false, needed: false },
  read: (given) => given.length > 0,
})

/** It must be given. */
export function needed<T>(option: Option<T | undefined>): Option<T> {
  return {
    ...option,
    needed: true,
    read(given, name) {
      const value = option.read(given, name)
      if (value === undefined) throw misuse(`${name} is missing: ${option.help}.`)
      return value
    },
  }
}

/** It may be given any number of times. */
export function many<T>(option: Option<T | undefined>): Option<T[]> {
  return {
    ...option,
    many: true,
    read: (given, name) => given.flatMap((one) => option.read([one], name) ?? []),
  }
}

/** How many rows a list shows, newest first, and where it goes on. */
export const paging = {
  limit: whole('N', 'how many at most (50)', { max: 10_000 }),
  before: text('ID', 'only those listed after this one: the next page'),
}

export const LIMIT = 50

/** What every command takes, and what every change takes. */
export const COMMON = {
  data_dir: text('DIR', 'where `npm start` keeps everything (./data); DATABASE_URL goes before it'),
  json: flag('print JSON'),
  help: flag('print this'),
}
export const CHANGING = {
  by: text('NAME', 'who makes the change (the user of this machine)'),
  reason: text('TEXT', 'why, for the record'),
}

export const optionName = (key: string) => `--${key.replaceAll('_', '-')}`

/** What was given to a command: its own operands and options, and those that are common. */
export type Reading = Given<typeof COMMON> &
  Given<typeof CHANGING> & { values: Record<string, unknown> }

/** Finds the command that the first words name. Throws misuse, with the nearest words there are. */
export function findCommand(
  commands: readonly Command[],
  args: readonly string[],
): { command: Command; rest: string[] } {
  const [noun = '', verb = ''] = args
  for (const words of [`${noun} ${verb}`, noun]) {
    const command = commands.find((one) => one.words === words)
    if (command) return { command, rest: args.slice(words.split(' ').length) }
  }
  const all = commands.map(({ words }) => words.split(' '))
  const verbs = all.flatMap(([first, second]) =>
    first === noun && second !== undefined ? [second] : [],
  )
  const choice = `${verbs.slice(0, -1).join(', ')} or ${verbs.at(-1)}`
  if (verbs.length > 0 && (verb === '' || verb.startsWith('-')))
    throw misuse(`${noun} what: ${choice}?`)
  if (verbs.length > 0)
    throw misuse(`There is no ${noun} ${verb}${nearest(verb, verbs)}: it is ${choice}.`)
  const nouns = [...new Set(all.map(([first]) => first!))]
  throw misuse(`There is no command ${noun}${nearest(noun, nouns)}. --help lists them all.`)
}

/** Reads what follows the words of a command. With --help nothing else is looked at. Throws
 *  misuse. */
export function readArguments(command: Command, args: readonly string[]): Reading {
  const { options, operands, words } = command
  const known: Options = { ...options, ...(command.changes && CHANGING), ...COMMON }
  const { given, left } = sortTokens(words, known, args)
  const read = (key: string, option: Option<unknown>) =>
    option.read(given.get(key) ?? [], optionName(key))
  const readAll = (wanted: Options) =>
    Object.fromEntries(Object.entries(wanted).map(([key, one]) => [key, read(key, one)]))
  // Their own readers have read them, so the types are theirs.
  const common = readAll({ ...CHANGING, ...COMMON }) as Given<typeof COMMON> &
    Given<typeof CHANGING>
  if (common.help) return { ...common, values: {} }
  const values = readAll(options)
  for (const [key, option] of Object.entries(operands)) {
    const mine = left.splice(0, option.many ? left.length : 1)
    values[key] = option.read(mine, `${words}: ${option.value}`)
  }
  if (left.length > 0) throw misuse(`${words} does not take ${JSON.stringify(left[0])}.`)
  return { ...common, values }
}

function sortTokens(words: string, known: Options, args: readonly string[]) {
  const keys = new Map(Object.keys(known).map((key) => [optionName(key), key]))
  const types = Object.entries(known).map(([key, { value }]) => [
    optionName(key).slice(2),
    {
      type: value === '' ? ('boolean' as const) : ('string' as const),
      ...(key === 'help' && { short: 'h' }),
    },
  ])
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    options: Object.fromEntries(types),
  })
  const given = new Map<string, string[]>()
  const left: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') left.push(token.value)
    if (token.kind !== 'option') continue
    const { rawName: name, value, inlineValue } = token
    const key = keys.get(`--${token.name}`)
    if (key === undefined)
      throw misuse(`${words} has no option ${name}${nearest(name, [...keys.keys()])}.`)
    const { value: wanted } = known[key]!
    if (wanted === '' && value !== undefined) throw misuse(`${name} takes no value.`)
    // An option's name where its value should be: the value was forgotten.
    const forgotten =
      wanted !== '' && (value === undefined || (!inlineValue && value.startsWith('--')))
    if (forgotten) throw misuse(`${name} has no value: ${name} ${wanted}.`)
    given.set(key, [...(given.get(key) ?? []), value ?? ''])
  }
  return { given, left }
}

/** ` (do you mean orders?)`, or nothing when no known word is near. */
function nearest(word: string, known: readonly string[]): string {
  const near = known.filter(
    (one) => distance(word, one) <= 2 || (word.length > 1 && one.startsWith(word)),
  )
  return near.length === 0 ? '' : ` (do you mean ${near.join(' or ')}?)`
}

/** How many characters must be changed, put in or taken out to make one word of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const above = row
    row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + same))
    }
  }
  return row.at(-1)!
}

const columns = (rows: readonly (readonly [string, string])[]) => {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`)
}

/** The help of one command. */
export function helpOf({ words, summary, details, operands, options, changes }: Command): string {
  const shown = Object.values(operands).map(({ value, needed, many }) => {
    const one = many ? `${value}...` : value
    return needed ? one : `[${one}]`
  })
  const line = ([key, { value, help, many }]: [string, Option<unknown>]): [string, string] => [
    `${optionName(key)} ${value}`.trim(),
    many ? `${help}; may be repeated` : help,
  ]
  return [
    `penstock ${[words, ...shown].join(' ')} [options]`,
    '',
    `${summary}.`,
    ...(details === undefined ? [] : ['', details]),
    ...(shown.length === 0
      ? []
      : ['', ...columns(Object.values(operands).map(({ value, help }) => [value, help]))]),
    '',
    ...columns(Object.entries({ ...options, ...(changes && CHANGING), ...COMMON }).map(line)),
    '',
  ].join('\n')
}

/** All commands with what they are for. */
export function overview(commands: readonly Command[]): string {
  return [
    'penstock NOUN VERB [options]      npm run -s penstock -- NOUN VERB [options]',
    '',
    ...columns(commands.map(({ words, summary }) => [words, summary])),
    '',
    'Each has --help and --json. They work on the database of DATABASE_URL or, without it, on the one that npm start',
    'runs in ./data (--data-dir DIR). Every change is recorded with its author (--by) and reason (--reason).',
    'Exit codes: 0 done; 1 not so, not there, or broken; 2 asked wrongly.',
    '',
  ].join('\n')
}
