// The reference as a page of Markdown, from the same table as the OpenAPI document: what each
// endpoint takes, what it gives, and its error matrix.

import type { Endpoint } from 'penstock-service/platform/wire/endpoint.ts'
import type { TSchema } from 'typebox'
import { type ExampleAnswer, type Reference, refusalTable, templated } from './openapi.ts'

type Field = {
  type?: string
  description?: string
  deprecated?: boolean
  properties?: Record<string, Field>
  patternProperties?: Record<string, Field>
  required?: readonly string[]
  items?: Field
  anyOf?: readonly Field[]
  enum?: readonly unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
}

const HEAD = `# Reference

Printed by \`npm run print\` from the endpoints themselves; a test says that it is fresh. The same
as OpenAPI documents: [openapi.json](../../packages/service/openapi.json) (3.1), and
[openapi-3.0.json](../../packages/service/openapi-3.0.json) for programs that generate clients
([clients.md](clients.md)). For trying out in a browser: \`/docs\` of a running service. How to
sign, what every answer looks like and what the limits are: [api.md](api.md).

Every endpoint is a POST. An endpoint checks in the order of its table, and the first check that
fails answers; a refusal is HTTP 200, like a result. The answers shown are real ones, of a service
on a development chain, but for the hashes of transactions.
`

/** The page as text. */
export function printReference({ endpoints, pages, tried }: Reference): string {
  const contents = endpoints.map(
    ({ path, summary }) => `- [\`${path}\`](#${anchor(path)}): ${summary}`,
  )
  const sections = endpoints.map((endpoint) => {
    const calls = tried.filter(({ path }) => path === endpoint.path)
    return section(endpoint, calls)
  })
  const readable = pages.flatMap(({ path, summary, reply }) =>
    reply
      ? [[`## GET ${templated(path)}`, summary, 'Public.', table('`result`', reply)].join('\n\n')]
      : [],
  )
  return `${[HEAD.trimEnd(), contents.join('\n'), ...sections, ...readable].join('\n\n')}\n`
}

const resultTable = (reply: Field) =>
  reply.type === 'array' && reply.items
    ? `\`result\` is an array.\n\n${table('`result[]`', reply.items)}`
    : table('`result`', reply)

const anchor = (path: string) => path.toLowerCase().replace(/[^\w-]/g, '')

function section(endpoint: Endpoint, calls: readonly ExampleAnswer[]): string {
  const { path, auth, scopes, summary, description, body, reply, faults } = endpoint
  const access =
    auth === 'public'
      ? 'Public: nothing is signed.'
      : `Signed; scope of the key: \`${scopes.join('` or `')}\`.`
  const has_parameters = Object.keys(body.properties).length > 0
  const parts = [
    `## ${path}`,
    summary,
    ...(description === undefined ? [] : [description]),
    access,
    has_parameters ? table('field', body) : 'No parameters.',
    resultTable(reply as Field),
    refusalTable(faults),
    ...calls.map(example),
  ]
  return parts.join('\n\n')
}

function example({ summary, body, answer }: ExampleAnswer): string {
  return [
    `${summary}:`,
    '```json',
    JSON.stringify(body),
    '```',
    '```json',
    JSON.stringify(answer, null, 1),
    '```',
  ].join('\n')
}

function table(title: string, schema: TSchema | Field): string {
  const rows = fields(schema as Field, '').map(
    ({ name, type, description }) => `| \`${name}\` | ${type} | ${description} |`,
  )
  return [`| ${title} | type | |`, '|---|---|---|', ...rows].join('\n')
}

type Row = { name: string; type: string; description: string }

function fields(schema: Field, prefix: string): Row[] {
  const named = Object.entries(schema.properties ?? {})
  const keyed = Object.values(schema.patternProperties ?? {}).map((one) => ['<key>', one] as const)
  return [...named, ...keyed].flatMap(([key, field]) => {
    const name = `${prefix}${key}`
    const optional = schema.required?.includes(key) || key === '<key>' ? '' : ', optional'
    const description = `${field.deprecated ? 'Deprecated. ' : ''}${field.description ?? ''}`
    const inner =
      field.type === 'array' ? fields(field.items ?? {}, `${name}[].`) : fields(field, `${name}.`)
    return [{ name, type: `${typeOf(field)}${optional}`, description }, ...inner]
  })
}

function typeOf(field: Field): string {
  if (field.anyOf) return field.anyOf.map(typeOf).join(' or ')
  if (field.enum) return field.enum.map((word) => `\`${word}\``).join(', ')
  const { type = 'any', minimum, maximum, minLength, maxLength } = field
  if (minLength !== undefined) {
    return `${type} of ${minLength === maxLength ? minLength : `${minLength} to ${maxLength}`}`
  }
  if (minimum === undefined) return type
  return maximum === undefined || maximum >= 1_000_000
    ? `${type} from ${minimum}`
    : `${type} ${minimum} to ${maximum}`
}
