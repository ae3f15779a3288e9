// JSON as the node speaks it: 64-bit integers are plain number literals, so reading and printing must not go through
// doubles. In memory such an integer is a bigint (any size), or a number where it is known to be small.

export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Json[]
  | { readonly [name: string]: Json | undefined }
export type JsonObject = { readonly [name: string]: Json | undefined }

/** Reads JSON; integers beyond 2^53 become bigint. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_name: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
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

const isList = (value: readonly Json[] | JsonObject): value is readonly Json[] => Array.isArray(value)

/** The members that do not have the default of their kind: what the node prints of a message. */
export function withoutDefaults(members: JsonObject): JsonObject {
  const kept: Record<string, Json> = {}
  for (const [name, value] of Object.entries(members)) {
    const empty = value === undefined || value === 0 || value === 0n || value === false || value === ''
    if (!empty && !(Array.isArray(value) && value.length === 0)) kept[name] = value
  }
  return kept
}
