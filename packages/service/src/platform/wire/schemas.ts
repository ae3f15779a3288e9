// Short names for the schemas of the operators' operations. In memory a whole number that the
// database counts is a bigint and a moment is a Date; as JSON they are an integer and a text.

import { type TObject, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox'

/** Of a reply. */
export const Text = Type.String()
export const Flag = Type.Boolean()
export const Count = Type.Integer()
export const Whole: TUnsafe<bigint> = Type.Unsafe<bigint>({ type: 'integer' })
/** An amount in sun, a millionth of a TRX. */
export const Sun: TUnsafe<bigint> = Type.Unsafe<bigint>({ type: 'integer' })
export const Moment: TUnsafe<Date> = Type.Unsafe<Date>({ type: 'string', format: 'date-time' })
/** A text whose type is narrower than its schema says: `textAs<Address>()`. */
export const textAs = <As extends string>(): TUnsafe<As> => Type.Unsafe<As>({ type: 'string' })
/** A document whose form its own version says: a policy, the evidence of a check. */
export const Anything: TUnsafe<unknown> = Type.Unsafe<unknown>({})
export const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
/** A word of a reply: one of these, and of more in later versions. */
export const word = (words: readonly string[], options: { description?: string } = {}) =>
  Type.String({ enum: [...words], ...options })
export const RESOURCES = ['energy', 'bandwidth'] as const
export const SERVICES = ['energy', 'bandwidth', 'resource_bundle', 'activate_address'] as const
export const ListOf = <Properties extends TProperties>(properties: Properties) =>
  Type.Array(Type.Object(properties))

/** Fields of a body. `title` stands for the value in a command's help, `description` says what it
 *  is. */
export const text = (title: string, description: string) => Type.String({ title, description })
/** A text that may be empty, which takes away what was set. */
export const clearable = (title: string, description: string) =>
  Type.String({ title, description, minLength: 0 })
export const address = (description: string) =>
  Type.String({ title: 'ADDRESS', format: 'address', description })
/** A day (`2026-11-01`, its beginning in UTC) or a time (`2026-11-01T12:00:00Z`). */
export const moment = (description: string) =>
  Type.String({ title: 'TIME', format: 'moment', description })
export const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
export const whole = (
  title: string,
  description: string,
  { min = 1, max = Number.MAX_SAFE_INTEGER } = {},
) => Type.Integer({ title, description, minimum: min, maximum: max })
/** In sun; its field's name ends in `_sun`. */
export const sun = (title: string, description: string) =>
  Type.Integer({ title, description, minimum: 0 })
export const oneOf = <const Word extends string>(words: readonly Word[], description: string) =>
  Type.Enum([...words], { title: words.join('|'), description })

/** Every field may be left out. */
export const optional = Type.Optional
export const NOTHING: TObject<Record<never, never>> = Type.Object({})
