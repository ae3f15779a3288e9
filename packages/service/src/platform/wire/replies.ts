// What goes out, as text: the envelope of a result, of a refusal, and of what the transport refuses
// by itself. Every answer of an endpoint is HTTP 200, refusals included: old clients read the code
// only from there.

import { STATUS_CODES } from 'node:http'
import type { TSchema } from 'typebox'
import type { Fault } from '../../lib/fault.ts'
import { printJson } from '../../lib/json.ts'
import { complaintOf, type RequestBody } from './complaints.ts'
import type { Entry } from './endpoint.ts'

/** An answer on its way out. */
export type Answer = {
  status: number
  /** The code in the body, for the log. */
  code: number
  /** The key in the body of a refusal, for the record of refusals. */
  key?: string
  body: string | Uint8Array
  /** JSON when left out. */
  content_type?: string
  headers?: Readonly<Record<string, string | string[]>>
  /** A stranger's connection ends with it. */
  last?: boolean
}

/** The answer to a call that succeeded; `result` is JSON text. */
export function success(
  request_id: string,
  result: string,
  headers: Readonly<Record<string, string | string[]>>,
): Answer {
  return {
    status: 200,
    code: 0,
    body: `{"code":0,"request_id":"${request_id}","result":${result}}`,
    headers,
  }
}

/** What a refusal is told with: what was sent, and where its code is explained. */
export type RefusalContext = RequestBody & { doc_url?: string | undefined }

export function refusal(
  request_id: string,
  fault: Fault,
  { doc_url, ...sent }: RefusalContext = {},
): Answer {
  const { code, key } = fault
  const { error, param } = complaintOf(fault, sent)
  const told = { code, key, request_id, error, param, doc_url }
  return { status: 200, code, key, body: printJson(told) }
}

/** What is refused before an endpoint is reached: the code is the HTTP status. */
export function transportRefusal(
  request_id: string,
  status: number,
  headers: Record<string, string> = {},
): Answer {
  const error = status === 404 ? 'Method not found' : (STATUS_CODES[status] ?? 'Bad Request')
  return { status, code: status, body: printJson({ code: status, error, request_id }), headers }
}

/** What a page refuses: the code is the HTTP status, as it is for what the transport refuses. */
export function pageRefusal(request_id: string, status: number, error: string): Answer {
  return { status, code: status, body: printJson({ code: status, error, request_id }) }
}

/** Throws when the text is not what the endpoint documents. */
export type CheckReply = (entry: Pick<Entry, 'path' | 'reply'>, result: string) => void

/** Compares results with their schemas, properties that no schema declares being wrong too. For
 *  tests and development: the validator takes a fifth of a second to load, so production does
 *  without. */
export async function replyChecker(): Promise<CheckReply> {
  const { Errors } = await import('typebox/schema')
  return ({ path, reply }, result) => {
    const schema = closed_schemas.get(reply) ?? (closed(reply) as object)
    closed_schemas.set(reply, schema)
    const [fits, errors] = Errors(schema, JSON.parse(result))
    if (fits) return
    const where = errors.map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${printJson(params)}`,
    )
    throw new Error(`the result of ${path} is not what is documented: ${where.join('; ')}`)
  }
}

/** A process has several servers of the same endpoints. */
const closed_schemas = new WeakMap<TSchema, object>()

/** The schema with every object closed to properties it does not declare. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.fromEntries(
    Object.entries(schema).map(([name, part]) => [name, closed(part)]),
  )
  return 'properties' in parts && !('additionalProperties' in parts)
    ? { ...parts, additionalProperties: false }
    : parts
}
