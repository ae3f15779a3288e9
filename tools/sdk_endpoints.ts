// The types of the SDK, printed from the endpoints: what each one takes and answers, and how a call
// of it is repeated without being carried out twice; and from the kinds of events: what each one
// tells. No code is made for an endpoint: the SDK has one way to call them all.

import type { Endpoint } from 'penstock-service/platform/wire/endpoint.ts'
import { ofCustomers, type Reference, templated } from './openapi.ts'

/** The part of JSON Schema that our schemas use. */
export type Schema = {
  type?: string
  enum?: readonly string[]
  const?: unknown
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
  patternProperties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  description?: string
  deprecated?: boolean
}

/** A caller may give `undefined` for a field that may be left out; an answer never has it. */
type Side = 'sent' | 'answered'

const COLUMNS = 100
export const PRIMITIVES: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
}

/** The whole file `packages/sdk/src/wire/endpoints.ts`. */
export function printSdkEndpoints({ endpoints: all, pages }: Reference): string {
  const endpoints = all.filter(({ open }) => open === undefined)
  const open = all.filter(({ open }) => open !== undefined)
  const readable = pages.flatMap(({ path, summary, reply, document }) => {
    const schema = (reply ?? document) as Schema | undefined
    return schema ? [entry(summary, templated(path), resultOf(schema))] : []
  })
  return `${[
    HEADER,
    block(
      'What each endpoint takes, and what it answers.',
      'Endpoints',
      endpoints.map(endpointEntry),
    ),
    block(
      'What is answered as long as somebody reads: each event on lines of its own.',
      'Streams',
      open.map(streamEntry),
    ),
    block('What is read with GET, without credentials.', 'Pages', readable),
    REPETITION,
    ...endpoints.flatMap((endpoint) => {
      const repetition = repetitionOf(endpoint)
      return repetition === undefined ? [] : [`  '${endpoint.path}': '${repetition}',`]
    }),
    '}',
  ].join('\n')}\n`
}

/** The whole file `packages/sdk/src/wire/events.ts`. */
export function printSdkEvents({ kinds }: Reference): string {
  const told = ofCustomers(kinds).map(({ type, when, data }) =>
    entry(`Told when ${when}`, type, typeOf(data as Schema, 'answered', 1)),
  )
  const comment = 'What each type of event tells: its subject, as the endpoint of it answers.'
  return `${EVENTS_HEADER}\n${block(comment, 'EventData', told)}\n${EVENT}`
}

const EVENTS_HEADER = `// Printed by \`npm run print\` from the kinds of events of the service; a
// test says that it is fresh.
`

const EVENT = `export type EventType = keyof EventData

/** What has happened, told once, as one union: \`type\` says what \`data\` is. Later versions of
 *  the service may tell of more types: pass over what you do not know. */
export type Event<Type extends EventType = EventType, Hidden = never> = {
  [One in Type]: {
    type: One
    /** The same in every call that tells of this event. */
    id: string
    timestamp: string
    /** 1, 2, 3 … without gaps; of two with one subject the larger is the newer. */
    number: number
    /** \`order:<id>\` and so on. */
    subject: string
    /** Sent to try a receiver out: nothing has happened. */
    test: boolean
    data: EventData[One] | Hidden
  }
}[Type]
`

const HEADER = `// Printed by \`npm run print\` from the endpoints of the service; a test says that
// it is fresh.
`

const REPETITION = `/** The endpoints that change something, and what makes a second call the
 *  same one: a field of the body, or a header. \`nothing\`: the second call is another one. */
export const REPETITION: {
  readonly [path: string]: 'external_id' | 'idempotency_key' | 'nothing' | undefined
} = {`

function repetitionOf({ mutating, faults, body }: Endpoint): string | undefined {
  if (!mutating) return undefined
  if (!faults.some(({ when }) => when.includes('Idempotency-Key'))) return 'nothing'
  return 'external_id' in body.properties ? 'external_id' : 'idempotency_key'
}

function block(comment: string, name: string, entries: readonly string[]): string {
  return `/** ${comment} */\nexport type ${name} = {\n${entries.join('\n')}\n}\n`
}

function endpointEntry({ path, summary, body, reply }: Endpoint): string {
  const sent = `    body: ${typeOf(body as Schema, 'sent', 2)}\n`
  return entry(summary, path, resultOf(reply as Schema, sent))
}

const streamEntry = ({ path, summary, body }: Endpoint): string =>
  entry(summary, path, `{\n    body: ${typeOf(body as Schema, 'sent', 2)}\n  }`)

const resultOf = (reply: Schema, before = '') =>
  `{\n${before}    result: ${typeOf(reply, 'answered', 2)}\n  }`

const entry = (summary: string, path: string, type: string) =>
  `${comment(summary, 1)}  '${path}': ${type}`

function typeOf(schema: Schema, side: Side, depth: number): string {
  if (schema.enum) return wordsOf(schema.enum, side)
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, side, depth)).join(' | ')
  if (schema.type === 'array') {
    const items = typeOf(schema.items ?? {}, side, depth)
    return schema.items?.type === undefined || schema.items.enum ? `(${items})[]` : `${items}[]`
  }
  const [values] = Object.values(schema.patternProperties ?? {})
  if (values) return `Record<string, ${typeOf(values, side, depth)}>`
  if (schema.type === 'object') return objectOf(schema, side, depth)
  if (schema.type === undefined) return 'unknown'
  const primitive = PRIMITIVES[schema.type ?? '']
  if (primitive === undefined) throw new Error(`no type for ${JSON.stringify(schema)}`)
  return primitive
}

function objectOf(schema: Schema, side: Side, depth: number): string {
  const fields = Object.entries(schema.properties ?? {})
  if (fields.length === 0) return 'Record<string, never>'
  const indent = '  '.repeat(depth + 1)
  const lines = fields.map(([name, field]) => {
    const optional = !schema.required?.includes(name)
    const type = typeOf(field, side, depth + 1)
    const more = optional && side === 'sent' ? ' | undefined' : ''
    const note = comment(noteOf(field), depth + 1)
    const head = `${indent}${name}${optional ? '?' : ''}:`
    const line = `${head} ${type}${more}`
    // Many words are one a line.
    if (line.length <= COLUMNS || !/^[^{(]* \| /.test(type)) return note + line
    return `${note}${head}${`${type}${more}`.replace(/(^| \| )/g, `\n${indent}  | `)}`
  })
  return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`
}

const quoted = (text: string) => `'${text}'`

/** A later version of the service may answer words that this one does not know. */
const wordsOf = (words: readonly string[], side: Side): string =>
  [...words.map(quoted), ...(side === 'answered' ? ['(string & {})'] : [])].join(' | ')

const noteOf = ({ deprecated, description }: Schema) =>
  deprecated ? `@deprecated ${description ?? ''}` : description

/** A comment, wrapped, with its line end; nothing when there is nothing to say. */
function comment(text: string | undefined, depth: number): string {
  if (text === undefined) return ''
  const indent = '  '.repeat(depth)
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`
    // Room for the end of the comment, too.
    if (indent.length + ' *'.length + line.length + ' */'.length > COLUMNS) lines.push(` ${word}`)
    else lines[lines.length - 1] = line
  }
  return `${lines.map((line, i) => `${indent}${i === 0 ? '/**' : ' * '}${line}`).join('\n')} */\n`
}
