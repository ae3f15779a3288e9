// JSON as the node speaks it: 64-bit integers are plain number literals, so reading and printing
// must not go through doubles. In memory such an integer is a bigint (any size), or a number where
// it is known to be small.

export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Json[]
  | { readonly [name: string]: Json | undefined }
export type JsonObject = { readonly [name: string]: Json | undefined }

/** No request of the node's interface needs a tenth of it; much deeper ones would exhaust the stack
 *  of those who read. */
const DEPTH_MAX = 200

function isNestedTooDeeply(text: string): boolean {
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (quoted) {
      if (sign === '\\') at++
      else if (sign === '"') quoted = false
    } else if (sign === '"') quoted = true
    else if (sign === '{' || sign === '[') depth++
    else if (sign === '}' || sign === ']') depth--
    if (depth > DEPTH_MAX) return true
  }
  return false
}

/** Reads JSON; integers beyond 2^53 become bigint. Throws SyntaxError, for what is nested too
 *  deeply too. */
export function parseJson(text: string): unknown {
  if (text.length > 2 * DEPTH_MAX && isNestedTooDeeply(text))
    throw new SyntaxError('nested too deeply')
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_name: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' &&
    !Number.isSafeInteger(value) &&
    /^-?\d+$/.test(context?.source ?? '')
      ? BigInt(context!.source!)
      : value,
  )
}

/** Prints JSON; members that are undefined are left out. */
export function printJson(value: Json): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(printJson).join(',')}]`
  const members: string[] = []
  for (const name in value) {
    const member = value[name]
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${printJson(member)}`)
  }
  return `{${members.join(',')}}`
}

/** Members of 32 bits: they stay numbers when 64-bit integers are asked for as text. */
const smallNames = new Set(['version', 'id', 'Permission_id', 'brokerage'])

/** The same with every 64-bit integer as text, for readers that know doubles only. */
export function int64AsText(value: Json, name = ''): Json {
  if (typeof value === 'bigint' || typeof value === 'number')
    return smallNames.has(name) ? value : String(value)
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map((item) => int64AsText(item, name))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      item === undefined ? item : int64AsText(item, key),
    ]),
  )
}

const isList = (value: readonly Json[] | JsonObject): value is readonly Json[] =>
  Array.isArray(value)

/** The members that do not have the default of their kind: what the node prints of a message. */
export function withoutDefaults(members: JsonObject): JsonObject {
  const kept: Record<string, Json> = {}
  for (const [name, value] of Object.entries(members)) {
    const empty =
      value === undefined || value === 0 || value === 0n || value === false || value === ''
    if (!empty && !(Array.isArray(value) && value.length === 0)) kept[name] = value
  }
  return kept
}
