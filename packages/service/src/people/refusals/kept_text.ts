// What is kept of the body of a refused call: what of it the endpoint asks for, and only of those
// that say so. Colleagues read it, and it lies in backups: a secret that was sent by mistake, under
// another name or in text that is no JSON, must not be in it.

import type { TSchema } from 'typebox'
import { type Json, OtherNumber, parseJson } from '../../lib/json.ts'
import { LEFT_OUT, type Place, plainValue } from '../../lib/secrets.ts'
import type { RefusedCall } from '../../platform/http/calls.ts'

const TEXT_LENGTH_MAX = 1_024

/** The beginning of the body as text, each value that the endpoint does not ask for left out. Null:
 *  nothing of it is kept. */
export function keptText({
  body,
  kept,
  hideOwn,
}: Pick<RefusedCall, 'body' | 'kept' | 'hideOwn'>): string | null {
  if (kept === undefined) return null
  const json = jsonOf(body)
  const text =
    json === undefined
      ? outline(Buffer.from(body.subarray(0, TEXT_LENGTH_MAX)).toString(), namesIn(kept))
      : JSON.stringify(fitting(json, kept, { hideOwn }))
  return text.slice(0, TEXT_LENGTH_MAX)
}

function jsonOf(body: Uint8Array): Json | undefined {
  try {
    return parseJson(body)
  } catch {
    return undefined
  }
}

/** The value with what the schema has. Names stay: a wrong one is what its sender looks for. */
function fitting(value: Json, schema: TSchema | undefined, place: Place): unknown {
  if (schema === undefined) return LEFT_OUT
  const { properties, items } = schema as Fields
  if (value instanceof OtherNumber) return JSON.rawJSON(value.text)
  if (Array.isArray(value)) return value.map((one) => fitting(one, items, place))
  if (typeof value !== 'object' || value === null) {
    if (properties) return LEFT_OUT
    return typeof value === 'string' ? plainValue(value, place) : value
  }
  const fields = Object.entries(value)
  const { hideOwn } = place
  return Object.fromEntries(
    fields.map(([name, field]) => [
      plainValue(name, { hideOwn }),
      fitting(field, fieldOf(properties, name), { field: name, hideOwn }),
    ]),
  )
}

type Fields = { properties?: Record<string, TSchema>; items?: TSchema }

const fieldOf = (properties: Fields['properties'], name: string): TSchema | undefined =>
  properties && Object.hasOwn(properties, name) ? properties[name] : undefined

/** Text that is no JSON without its words, but for the names that the endpoint knows: what is wrong
 *  with it is mostly a comma or a quote. */
function outline(text: string, names: ReadonlySet<string>): string {
  return text.replace(/[^\s{}[\]:,"'=&]+/g, (word) => (names.has(word) ? word : LEFT_OUT))
}

function namesIn({ properties = {}, items }: Fields): Set<string> {
  const inner = items ? [items] : Object.values(properties)
  return new Set([...Object.keys(properties), ...inner.flatMap((one) => [...namesIn(one)])])
}
