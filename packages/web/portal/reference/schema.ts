// Fields as the schemas of the reference have them, one row for each, however deep it lies.

/** The words of JSON Schema that the reference uses. */
export type Schema = {
  type?: string
  description?: string
  deprecated?: boolean
  const?: unknown
  enum?: readonly unknown[]
  properties?: Readonly<Record<string, Schema>>
  patternProperties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  items?: Schema
  anyOf?: readonly Schema[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

export type Field = {
  /** `params.address`; `items[].id` is the id of each item. */
  name: string
  /** `integer, 1 to 100`; `"a" or "b"`. */
  type: string
  is_required: boolean
  is_deprecated: boolean
  description: string
}

/** Deeper than any schema of ours. */
const DEPTH_MAX = 8

/** The fields of an object, and those of what lies in it. */
export function fieldsOf(schema: Schema, inside = '', depth = 0): Field[] {
  if (depth > DEPTH_MAX) return []
  const deeper = (one: Schema, name: string) => fieldsOf(one, name, depth + 1)
  const { properties = {}, patternProperties = {}, required = [], items, anyOf = [] } = schema
  const named = Object.entries(properties).flatMap(([key, one]) => {
    const name = inside === '' ? key : `${inside}.${key}`
    return [fieldOf(one, name, required.includes(key)), ...deeper(one, name)]
  })
  const patterns = Object.values(patternProperties).flatMap((one) => {
    const name = inside === '' ? '*' : `${inside}.*`
    return [fieldOf(one, name, false), ...deeper(one, name)]
  })
  return [
    ...named,
    ...patterns,
    ...(items ? deeper(items, `${inside}[]`) : []),
    ...anyOf.flatMap((one) => deeper(one, inside)),
  ]
}

function fieldOf(schema: Schema, name: string, is_required: boolean): Field {
  const { deprecated: is_deprecated = false, anyOf = [] } = schema
  const description = [schema, ...anyOf].find((one) => one.description)?.description ?? ''
  return { name, type: typeOf(schema), is_required, is_deprecated, description }
}

/** What a value may be. */
export function typeOf(schema: Schema): string {
  const { type = 'object', items, anyOf } = schema
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(' | ')
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' | ')
  const kind = type === 'array' && items ? `array of ${typeOf(items)}` : type
  return kind + boundsOf(schema)
}

function boundsOf(schema: Schema): string {
  const least = schema.minimum ?? schema.minLength ?? schema.minItems
  const most = schema.maximum ?? schema.maxLength ?? schema.maxItems
  if (least === undefined && most === undefined) return ''
  return ` (${least ?? ''}…${most ?? ''})`
}
