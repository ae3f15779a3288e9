// Reads a request's parameters by the schema that also documents and types them. The reading is
// ours, because a general JSON Schema validator answers another question: which clients depend on
// here is the first wrong field, in the order the schema declares, and the code that belongs to
// that field. The keyword `fault` says what a node throws; without it that is InvalidParams. Which
// field it is, and what its value must be, is added here from the schema, for every endpoint alike.
// A keyword that this file does not enforce stops the process at start: what is documented holds.

import { isAddress } from 'penstock-tron/address.ts'
import { type TSchema, type TUnsafe, Type } from 'typebox'
import { readMoment } from '../../lib/clock.ts'
import { type Fault, type FaultKind, fault } from '../../lib/fault.ts'
import { type Json, JsonError, OtherNumber, parseJson } from '../../lib/json.ts'

export const InvalidParams: FaultKind = fault(
  2,
  'invalid_service_or_params',
  'Invalid service or parameters',
)

/** The refusal of a field that does not fit, named: `Invalid label`. */
export const invalid = (field: string): { fault: () => Fault } => ({
  fault: () => InvalidParams(field, `Invalid ${field}`),
})

/** Documented with the given schema, and handed over as it came (undefined when absent): for a
 *  field whose meaning, or whose place in the order of checks, depends on other fields, so that the
 *  handler judges it. */
export function unchecked(schema: TSchema): TUnsafe<Json | undefined> {
  return Type.Unsafe<Json | undefined>({ ...schema, checked_by_handler: true })
}

/** Turns a JSON value into the typed one, or throws the fault of the first node that does not
 *  fit. */
export type Read = (value: Json | undefined) => unknown

type Node = {
  type?: string
  properties?: Record<string, Node>
  required?: readonly string[]
  items?: Node
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly Node[]
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  fault?: () => Fault
  checked_by_handler?: boolean
}

const ANNOTATIONS = ['type', 'title', 'description', 'examples', 'default', 'deprecated', 'fault']
/** What a text may be required to be. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  address: isAddress,
  moment: (text) => readMoment(text) !== undefined,
}
const ENFORCED: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required'],
  array: ['items', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  words: ['enum', 'const', 'anyOf'],
}

/** The reader of a schema made of objects, arrays, strings, integers, booleans and literals.
 *  Properties that the schema does not declare are left out; `""` and `null` leave an optional
 *  property out. Throws at once when the schema has a type or a keyword that would not be
 *  enforced. */
export function bodyReader(schema: TSchema): Read {
  return reader(schema as Node, undefined)
}

/** `path`: of the field, with `[]` for the place in a list. */
function reader(node: Node, path: string | undefined): Read {
  if (node.checked_by_handler) return (value) => value
  const fault = node.fault ?? (() => InvalidParams())
  const kind = node.enum || node.anyOf || node.const !== undefined ? 'words' : (node.type ?? '')
  const enforced = ENFORCED[kind]
  if (!enforced) throw new Error(`parameters of type ${kind || 'unknown'} are not supported`)
  for (const keyword of Object.keys(node))
    if (!ANNOTATIONS.includes(keyword) && !enforced.includes(keyword))
      throw new Error(`the keyword ${keyword} would not be enforced on ${kind} parameters`)
  const fails = (sent?: Json) =>
    fault().at(path, node.format === 'address' ? addressRule(sent) : mustBe(kind, node))
  switch (kind) {
    case 'object':
      return objectReader(node, path, fails)
    case 'array':
      return arrayReader(node, path, fails)
    case 'string':
      return stringReader(node, fails)
    case 'integer':
      return integerReader(node, fails)
    case 'boolean':
      return checked((value) => typeof value === 'boolean', fails)
    default:
      return wordReader(node, fails)
  }
}

/** What a value of the schema must be, in words. */
function mustBe(kind: string, node: Node): string {
  switch (kind) {
    case 'object':
      return 'a JSON object'
    case 'array':
      return `a list${rangeText(node.minItems, node.maxItems, 'items')}`
    case 'string':
      return textRule(node)
    case 'integer':
      return `an integer${rangeText(node.minimum, node.maximum)}`
    case 'boolean':
      return 'true or false'
    default:
      return wordsText(wordsOf(node))
  }
}

const ADDRESS_FORM = /^T[1-9A-HJ-NP-Za-km-z]{33}$/

/** What an address must be, by what was sent instead. */
export const addressRule = (sent: Json | undefined): string =>
  typeof sent === 'string' && ADDRESS_FORM.test(sent)
    ? 'an address of the network with a right checksum (one of its characters is wrong)'
    : 'an address of the network, 34 characters that begin with T'

/** A text that must be more than text: what it must be. */
const FORMAT_RULES: Readonly<Record<string, string>> = {
  moment: 'a day or a time in UTC, such as 2026-11-01 or 2026-11-01T12:00:00Z',
}

function textRule({ format, pattern, minLength, maxLength }: Node): string {
  if (format !== undefined) return FORMAT_RULES[format] ?? 'text'
  const length = rangeText(minLength, maxLength, 'characters')
  return pattern === undefined ? `text${length}` : `text${length} of the form ${pattern}`
}

function rangeText(min: number | undefined, max: number | undefined, unit?: string): string {
  if (min === undefined && max === undefined) return ''
  const [of, things] = unit === undefined ? [' from', ''] : [' of', ` ${unit}`]
  if (max === undefined) return unit ? ` of at least ${min}${things}` : ` of at least ${min}`
  if (min === undefined) return ` of at most ${max}${things}`
  return min === max && unit ? `${of} ${min}${things}` : `${of} ${min} to ${max}${things}`
}

const WORDS_SHOWN_MAX = 12

function wordsText(words: readonly unknown[]): string {
  const shown = words.slice(0, WORDS_SHOWN_MAX).map((word) => JSON.stringify(word))
  if (words.length === 1) return shown[0]!
  const more = words.length > shown.length ? ` or another of ${words.length} (see the docs)` : ''
  return `one of ${shown.join(', ')}${more}`
}

function checked(fits: (value: Json | undefined) => boolean, fails: (sent?: Json) => Fault): Read {
  return (value) => {
    if (!fits(value)) throw fails(value)
    return value
  }
}

function objectReader(node: Node, path: string | undefined, fails: () => Fault): Read {
  const properties = Object.entries(node.properties ?? {}).map(([name, property]) => ({
    name,
    read: reader(property, path === undefined ? name : `${path}.${name}`),
    optional: !node.required?.includes(name),
    // Where an empty text is a value, a schema says so: it takes away what was set.
    takes_empty: property.minLength === 0,
  }))
  return (value) => {
    if (!isObject(value)) throw fails()
    const result: Record<string, unknown> = {}
    for (const { name, read, optional, takes_empty } of properties) {
      const given = Object.hasOwn(value, name) ? value[name] : undefined
      const is_absent = given === undefined || given === null || (given === '' && !takes_empty)
      if (optional && is_absent) continue
      result[name] = read(given)
    }
    return result
  }
}

function arrayReader(node: Node, path: string | undefined, fails: () => Fault): Read {
  if (!node.items) throw new Error('an array needs the schema of its items')
  const any_item = `${path ?? ''}[]`
  const read = reader(node.items, any_item)
  const readItem = (item: Json, i: number) => {
    try {
      return read(item)
    } catch (thrown) {
      const { about } = thrown as Partial<Fault>
      if (about?.param?.startsWith(any_item))
        Object.assign(about, { param: about.param.replace(any_item, `${path ?? ''}[${i}]`) })
      throw thrown
    }
  }
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = node
  return (value) => {
    if (!Array.isArray(value) || value.length < minItems || value.length > maxItems) throw fails()
    return value.map(readItem)
  }
}

function stringReader(node: Node, fails: (sent?: Json) => Fault): Read {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = node
  const pattern = node.pattern === undefined ? undefined : new RegExp(node.pattern, 'u')
  const isOfFormat = node.format === undefined ? () => true : FORMATS[node.format]
  if (!isOfFormat) throw new Error(`the format ${node.format} would not be enforced`)
  return checked((value) => {
    if (typeof value !== 'string') return false
    const length = codePoints(value)
    const fits = length >= minLength && length <= maxLength
    return fits && (pattern === undefined || pattern.test(value)) && isOfFormat(value)
  }, fails)
}

function integerReader(node: Node, fails: () => Fault): Read {
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = node
  return checked(
    (value) => typeof value === 'number' && value >= minimum && value <= maximum,
    fails,
  )
}

function wordReader(node: Node, fails: () => Fault): Read {
  const words = new Set(wordsOf(node))
  if (words.has(undefined)) throw new Error('only literals can be alternatives')
  return checked((value) => words.has(value), fails)
}

const wordsOf = (node: Node): readonly unknown[] =>
  node.enum ?? node.anyOf?.map((choice) => choice.const) ?? [node.const]

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof OtherNumber)
  )
}

/** Length as JSON Schema and users count it. The text is well-formed: every high surrogate has its
 *  low one. */
export function codePoints(text: string): number {
  let pairs = 0
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xd800) pairs += 1
  return text.length - pairs
}

/** The parameters in a body as JSON: no bytes at all and `[]` mean none, as old clients send them.
 *  Throws InvalidParams for what is not JSON. */
export function parseBody(bytes: Uint8Array): Json {
  if (bytes.length === 0) return {}
  const value = jsonOrRefusal(bytes)
  return Array.isArray(value) && value.length === 0 ? {} : value
}

function jsonOrRefusal(bytes: Uint8Array): Json {
  try {
    return parseJson(bytes)
  } catch (thrown) {
    if (!(thrown instanceof JsonError)) throw thrown
    const { complaint, byte, is_json } = thrown
    const what = is_json ? 'the body is not JSON that is taken here' : 'the body is not JSON'
    throw InvalidParams().because(`${what}: ${complaint} at byte ${byte}`)
  }
}
