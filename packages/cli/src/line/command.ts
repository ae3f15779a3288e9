// A command as data: what is typed, what endpoint it is about, and what it does.

import type { Penstock } from 'penstock-sdk'
import { ENDPOINTS, type Field } from './endpoints.ts'
import type { Io } from './io.ts'
import type { Access, Profiles } from './profiles.ts'

export type Row = Record<string, unknown>

/** What a command was called with. */
export type Invocation = {
  /** The body for the endpoint, made of operands and options. */
  readonly body: Row
  /** What else was typed: the command's own fields. */
  readonly own: Row
  readonly io: Io
  readonly profiles: Profiles
  /** A client of the profile. Throws NotSignedIn when there is none. */
  readonly penstock: Penstock
  readonly access: Access
  /** The result is printed as JSON. */
  readonly json: boolean
  /** How wide a line may be; Infinity without a terminal, and with --wide. */
  readonly width: number
  /** Says something beside the result. */
  note(text: string): void
}

/** One thing, and how it reads; or rows as they come. `ok` false: exit code 1. */
export type Outcome =
  | { value: unknown; text?: string | undefined; ok?: boolean }
  | {
      rows: AsyncIterable<object> | Iterable<object>
      columns?: readonly string[] | undefined
      /** Printed as they come, one line each, for as long as they come. */
      line?: ((row: never) => string) | undefined
    }

export type Command = {
  readonly words: string
  readonly summary: string
  /** Whose fields can be typed. */
  readonly path?: string
  /** Fields that are typed without their names, in this order. */
  readonly operands?: readonly string[]
  /** Fields that are not typed: the command fills them. */
  readonly filled?: readonly string[]
  /** What can be typed beside the fields of the endpoint. */
  readonly own?: readonly Field[]
  /** More endpoints that it calls. */
  readonly also?: readonly string[]
  /** Whether it needs no key, given its own fields. */
  readonly offline?: (own: Row) => boolean
  /** The option that makes a repetition the same call. */
  readonly repeat_by?: '--external-id' | '--idempotency-key'
  run(invocation: Invocation): Promise<Outcome>
}

export const field = (
  name: string,
  help: string,
  more: Partial<Omit<Field, 'name' | 'help'>> = {},
): Field => ({ name, help, type: 'text', needed: false, ...more })

export const LIMIT = field('limit', 'how many at most; 25 when left out', { type: 'whole' })
export const ALL = field('all', 'all there are', { type: 'yes' })

/** Everything that can be typed for a command. */
export function fieldsOf({ path, filled = [], own = [] }: Command): {
  body: readonly Field[]
  own: readonly Field[]
} {
  const paging = own.includes(LIMIT) ? ['limit', 'before', 'page', 'per_page'] : []
  const names = [...filled, ...paging, ...own.map(({ name }) => name)]
  const all = path === undefined ? [] : ENDPOINTS[path]!.fields
  return { body: all.filter(({ name }) => !names.includes(name)), own }
}
