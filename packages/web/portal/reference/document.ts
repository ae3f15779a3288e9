// The reference, as the service that one talks to prints it: asked for by the pages that show it.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Fault } from '../../shared/calls/ask.ts'
import type { Question } from '../../shared/calls/question.ts'
import { type Field, fieldsOf, type Schema, typeOf } from './schema.ts'

export type Refusal = { code: number; key: string; when: string }

type Example = { title: string; body: unknown; answer: unknown }

export type Endpoint = {
  /** `/v1/transaction/new` */
  path: string
  /** The same in an address: `transaction_new`. */
  name: string
  /** What it is about: `Transactions`. */
  tag: string
  summary: string
  paragraphs: readonly string[]
  fields: readonly Field[]
  /** What `result` is: `object`. */
  result_type: string
  result_fields: readonly Field[]
  refusals: readonly Refusal[]
  examples: readonly Example[]
  /** Whether a call can change something. */
  changes: boolean
  /** Whether it knows the header Idempotency-Key. */
  takes_idempotency_key: boolean
  /** Whether anybody may call it, without a key. */
  is_public: boolean
  /** Whether it answers for as long as one listens. */
  is_stream: boolean
}

export type Tag = { name: string; description: string; endpoints: readonly Endpoint[] }

type Examples = Readonly<Record<string, { summary: string; value: unknown }>>
type Content = { schema: Schema & { oneOf?: readonly Schema[] }; examples?: Examples }
type Operation = {
  operationId: string
  tags: readonly [string]
  summary: string
  description: string
  security: readonly unknown[]
  parameters: readonly { $ref: string }[]
  requestBody: { content: { 'application/json': Content } }
  responses: { 200: { content: { 'application/json': Content; 'text/event-stream'?: Content } } }
  'x-refusals': readonly Refusal[]
}
type OpenApi = {
  tags: readonly { name: string; description: string }[]
  paths: Readonly<Record<string, { post?: Operation }>>
  components: { schemas: Readonly<Record<string, unknown>> }
  /** The paths of those that can change something. */
  'x-changes': readonly string[]
}

/** Schemas that are meant by their names, written out where they stand. None is within itself. */
function resolved<Value>(value: Value, schemas: Readonly<Record<string, unknown>>): Value {
  if (Array.isArray(value)) return value.map((one) => resolved(one, schemas)) as Value
  if (value === null || typeof value !== 'object') return value
  const { $ref, ...rest } = value as { $ref?: string }
  const [, name] = /^#\/components\/schemas\/(\w+)$/.exec($ref ?? '') ?? []
  if (name !== undefined) return { ...(resolved(schemas[name], schemas) as Value), ...rest }
  const entries = Object.entries(value).map(([key, one]) => [key, resolved(one, schemas)])
  return Object.fromEntries(entries) as Value
}

/** Where the description of an endpoint goes on with the table of its refusals. */
const REFUSALS_BEGIN = 'Checked in this order'

function endpointOf(path: string, operation: Operation, changes: boolean): Endpoint {
  const { content } = operation.responses[200]
  const asked = operation.requestBody.content['application/json']
  const said = content['application/json']
  const result = said.schema.oneOf?.[0]?.properties?.result ?? {}
  const examples = Object.entries(asked.examples ?? {}).map(([key, { summary, value }]) => ({
    title: summary,
    body: value,
    answer: said.examples?.[key]?.value,
  }))
  return {
    path,
    name: operation.operationId,
    tag: operation.tags[0],
    summary: operation.summary,
    paragraphs: operation.description.split(REFUSALS_BEGIN, 1)[0]!.trim().split('\n\n'),
    fields: fieldsOf(asked.schema),
    result_type: typeOf(result),
    result_fields: fieldsOf(result),
    refusals: operation['x-refusals'],
    examples,
    changes,
    takes_idempotency_key: operation.parameters.some(({ $ref }) => $ref.endsWith('IdempotencyKey')),
    is_public: operation.security.length === 0,
    is_stream: content['text/event-stream'] !== undefined,
  }
}

/** The endpoints by what they are about, in the order of the document. */
function tagsOf({ tags, paths, components, 'x-changes': changing }: OpenApi): Tag[] {
  const { schemas } = components
  const endpoints = Object.entries(resolved(paths, schemas)).flatMap(([path, { post }]) =>
    post ? [endpointOf(path, post, changing.includes(path))] : [],
  )
  return tags.map(({ name, description }) => ({
    name,
    description,
    endpoints: endpoints.filter(({ tag }) => tag === name),
  }))
}

let kept: readonly Tag[] | undefined

/** Throws a Fault. */
async function read(): Promise<readonly Tag[]> {
  const answer = await fetch('/openapi.json').catch(() => undefined)
  if (!answer?.ok) throw new Fault({ code: -1, key: 'offline', error: '' })
  kept = tagsOf((await answer.json()) as OpenApi)
  return kept
}

/** The reference; asked for once, however many of its pages are opened. */
export function useReference(): Question<readonly Tag[]> {
  const answer = useSignal(kept)
  const fault = useSignal<Fault | undefined>(undefined)
  const answered_at = useSignal(0)
  const again = async () => {
    fault.value = undefined
    const said = await read().catch((thrown: unknown) => Fault.of(thrown))
    if (said instanceof Fault) fault.value = said
    else answer.value = said
  }
  useEffect(() => {
    if (answer.peek() === undefined) void again()
  }, [])
  return { answer, fault, answered_at, again }
}
