// What was typed, read by the fields of a command: `--max-amount` is the field `max_amount`, and
// `--address` is `params.address`.

import { readWord, sortTyped } from 'penstock-command-line/options.ts'
import { type Command, field, fieldsOf, type Row } from './command.ts'
import type { Field } from './endpoints.ts'
import { Misuse } from './errors.ts'

/** What every command takes. */
export const COMMON: readonly Field[] = [
  field('profile', 'which profile to use'),
  field('json', 'print JSON; lists as one line each', { type: 'yes' }),
  field('wide', 'print whole values and times in UTC, however narrow the terminal', {
    type: 'yes',
  }),
  field('quiet', 'print nothing but the result', { type: 'yes' }),
  field('help', 'print this', { type: 'yes' }),
]

export const optionName = ({ name }: Field): string =>
  `--${name.split('.').at(-1)!.replaceAll('_', '-')}`

/** What stands for the value of an option; empty: it has none. */
export function valueName({ type }: Field): string {
  if (type === 'yes') return ''
  if (type === 'list') return 'A,B'
  return type === 'text' || type === 'lines' ? 'TEXT' : 'NUMBER'
}

const optionOf = (field: Field) => ({
  field,
  name: optionName(field),
  value: valueName(field),
  bare: field.bare,
  with_no: true,
})

export type Arguments = { common: Row; body: Row; own: Row }

/** Reads what follows the words of a command. With --help nothing else is looked at. Throws
 *  Misuse. */
export function readArguments(command: Command, args: readonly string[]): Arguments {
  const { words, operands = [] } = command
  const fields = fieldsOf(command)
  const all = [...fields.body, ...fields.own, ...COMMON]
  const { given: options, left } = sortTyped(words, all.map(optionOf), args)
  const given = new Map(Array.from(options, ([{ field }, texts]) => [field, texts]))
  for (const name of operands) {
    const one = all.find((each) => each.name === name)!
    const mine = /^(list|lines)$/.test(one.type) ? left.splice(0) : left.splice(0, 1)
    if (mine.length > 0 && given.has(one))
      throw new Misuse(`${optionName(one)} and ${mine[0]} are the same field.`)
    if (mine.length > 0) given.set(one, mine)
  }
  const read = (some: readonly Field[]): Row => {
    const row: Row = {}
    for (const one of some) {
      const texts = given.get(one)
      if (texts) setIn(row, one.name, valueOfTexts(one, texts))
    }
    return row
  }
  const common = read(COMMON)
  if (common.help === true) return { common, body: {}, own: {} }
  if (left.length > 0) throw new Misuse(`${words} does not take ${JSON.stringify(left[0])}.`)
  const missing = [...fields.body, ...fields.own].find((one) => one.needed && !given.has(one))
  if (missing) throw new Misuse(`${nameFor(command, missing)} is missing${about(missing)}.`)
  return { common, body: read(fields.body), own: read(fields.own) }
}

/** How a field is named to a person. */
const nameFor = ({ operands = [] }: Command, one: Field): string =>
  operands.includes(one.name) ? operandName(one) : optionName(one)

export const operandName = ({ name }: Field): string =>
  name.split('.').at(-1)!.replace(/_id$/, '').replaceAll('_', '-').toUpperCase()

const about = ({ help }: Field) => (help === '' ? '' : `: ${help}`)

function setIn(row: Row, name: string, value: unknown): void {
  const parts = name.split('.')
  let at = row
  for (const part of parts.slice(0, -1)) {
    at[part] ??= {}
    at = at[part] as Row
  }
  at[parts.at(-1)!] = value
}

/** The value of all that was given for one field. Throws Misuse. */
function valueOfTexts(one: Field, texts: readonly string[]): unknown {
  const name = optionName(one)
  const wordOf = (text: string) => (one.words ? readWord(one.words, text, name) : text)
  if (one.type === 'lines') return texts
  if (one.type === 'list') {
    const words = texts.flatMap((text) => text.split(',')).filter((text) => text !== '')
    return words.map(wordOf)
  }
  if (texts.length > 1) throw new Misuse(`${name} is given more than once.`)
  const [text] = texts as [string]
  // The service takes an empty one for none: each repetition would buy again.
  if (text === '' && /^(external_id|idempotency_key)$/.test(one.name))
    throw new Misuse(`${name} is empty.`)
  if (one.type === 'yes') return text !== 'no'
  if (one.type === 'whole' && !/^-?\d{1,15}$/.test(text))
    throw new Misuse(`${name} ${text}: it is a whole number.`)
  const decimal = /^-?\d{1,15}(\.\d{1,6})?$/.test(text)
  if (one.type === 'number' && !decimal)
    throw new Misuse(`${name} ${text}: it is a number with at most 6 decimals.`)
  const number = one.type === 'whole' || one.type === 'number'
  if (number || (one.type === 'number or word' && decimal)) return Number(text)
  return wordOf(text)
}
