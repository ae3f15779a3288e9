// The fields of every endpoint as the customers' command line reads them, printed from the schemas
// of the bodies: what can be typed, and what it means.

import type { Endpoint } from 'penstock-service/platform/wire/endpoint.ts'
import { ofCustomers, type Reference } from './openapi.ts'

/** The part of JSON Schema that decides how a value is typed. */
type Schema = {
  type?: string
  enum?: readonly string[]
  anyOf?: readonly Schema[]
  items?: Schema
  maxLength?: number
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  description?: string
  deprecated?: boolean
}

type Field = {
  name: string
  type: string
  words?: readonly string[]
  help: string
  needed: boolean
}

/** The whole file `packages/cli/src/line/endpoints.ts`. */
export function printCliEndpoints({ endpoints, kinds }: Reference): string {
  const entries = endpoints.map((endpoint) => `  '${endpoint.path}': ${entry(endpoint)},`)
  const types = ofCustomers(kinds).map(({ type }) => `  '${type}',`)
  return `${HEADER}\n${entries.join('\n')}\n}\n\n${TYPES_HEAD}\n${types.join('\n')}\n] as const\n`
}

const HEADER = `// Printed by \`npm run print\` from the endpoints of the service; a test says that
// it is fresh.

/** The option for a field of a body. */
export type Field = {
  /** Where it is in the body: \`params.address\`. */
  readonly name: string
  /** \`list\`: several words, with commas between; \`lines\`: several texts. */
  readonly type: 'text' | 'whole' | 'number' | 'yes' | 'list' | 'lines' | 'number or word'
  readonly words?: readonly string[]
  /** The value when it is typed without one. */
  readonly bare?: string
  readonly help: string
  readonly needed: boolean
}

export type EndpointFields = {
  readonly summary: string
  /** It changes something. */
  readonly changes: boolean
  readonly fields: readonly Field[]
}

export const ENDPOINTS: { readonly [path: string]: EndpointFields } = {`

function entry({ path, summary, mutating, body }: Endpoint): string {
  const fields = fieldsOf(body as Schema, '', true)
  const lines = fields.map(({ name, type, words, help, needed }) =>
    [
      `      {`,
      `        name: '${name}',`,
      `        type: '${type}',`,
      ...(words ? [`        words: [${words.map((word) => `'${word}'`).join(', ')}],`] : []),
      ...helpLines(help),
      `        needed: ${needed},`,
      `      },`,
    ].join('\n'),
  )
  if (path.includes("'")) throw new Error(`${path} needs escapes`)
  const list = lines.length === 0 ? '[]' : `[\n${lines.join('\n')}\n    ]`
  const said = `    summary: ${JSON.stringify(summary)},\n    changes: ${Boolean(mutating)},\n`
  return `{\n${said}    fields: ${list},\n  }`
}

const COLUMNS = 100

/** A text that may take several lines. */
function helpLines(help: string): string[] {
  const lines = ['']
  for (const word of help.split(' ')) {
    const line = `${lines.at(-1)}${word} `
    if (JSON.stringify(line).length > COLUMNS - 14) lines.push(`${word} `)
    else lines[lines.length - 1] = line
  }
  const texts = lines.map((line, i) => JSON.stringify(i === lines.length - 1 ? line.trim() : line))
  if (texts.length === 1) return [`        help: ${texts[0]},`]
  return [
    '        help:',
    ...texts.map((text, i) => `          ${text}${i < texts.length - 1 ? ' +' : ','}`),
  ]
}

/** The fields of an object and of the objects in it; those that are only other names of fields are
 *  left out. */
function fieldsOf(schema: Schema, prefix: string, needed_above: boolean): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    if (field.deprecated) return []
    const needed = needed_above && (schema.required?.includes(name) ?? false)
    if (field.type === 'object') return fieldsOf(field, `${prefix}${name}.`, needed)
    const words = field.enum ?? field.items?.enum
    const help = field.description ?? ''
    return [{ name: prefix + name, type: typeOf(field), ...(words && { words }), help, needed }]
  })
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole',
  number: 'number',
  boolean: 'yes',
  array: 'list',
}

const TYPES_HEAD = `/** The types of events. */
export const EVENT_TYPES = [`

/** Words are shorter. */
const LINE_LENGTH = 100

function typeOf({ type, anyOf, enum: words, items, ...schema }: Schema): string {
  if (anyOf) return 'number or word'
  if (words) return 'text'
  if ((items?.maxLength ?? 0) >= LINE_LENGTH) return 'lines'
  const name = TYPES[type ?? '']
  if (name === undefined) throw new Error(`no way to type ${JSON.stringify(schema)}`)
  return name
}
