// Lists that are paged by what came last: `limit`, `before` from the `next` of the page before,
// newest first. Nothing is counted, so a page costs the same wherever it lies.

import { type TSchema, Type } from 'typebox'
import type { Fault } from '../../lib/fault.ts'
import { InvalidParams, type Refusal, refuses } from './endpoint.ts'

const LIMIT_MAX = 100
const LIMIT = 25

/** The fields of the body. `before_max`: how long a `next` may be. */
export const listFields = (limit_max = LIMIT_MAX, before_max = 64) => ({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limit_max,
      description: `1 to ${limit_max}; ${LIMIT} when left out`,
      fault: () => InvalidParams('limit', 'Invalid limit'),
    }),
  ),
  before: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: before_max,
      description: '`next` of the page before',
      fault: () => InvalidParams('before', 'Invalid before'),
    }),
  ),
})

/** The field of a list that is narrowed to rows of one state. */
export const stateField = <const State extends string>(states: readonly State[]) =>
  Type.Optional(Type.Enum([...states], { fault: () => InvalidParams('state', 'Invalid state') }))

export const STATE_REFUSAL = refuses(InvalidParams, '`state` is none of the states', 'state')

export const LIST_REFUSALS: readonly Refusal[] = [
  refuses(InvalidParams, '`limit` is out of its range', 'limit'),
  refuses(InvalidParams, '`before` is no `next` of a page', 'before'),
]

/** How many rows to read for a page: one more than it shows. */
export const rowsFor = (limit: number | undefined): number => (limit ?? LIMIT) + 1

/** A page of items. */
export const listOf = <Item extends TSchema>(item: Item) =>
  Type.Object({
    items: Type.Array(item),
    next: Type.Union([Type.String(), Type.Null()], {
      description: '`before` of the next page; null at the end',
    }),
  })

/** The page of rows that rowsFor() has counted, and where the next one begins. */
export function page<Row, Item>(
  rows: readonly Row[],
  limit: number | undefined,
  { print, placeOf }: { print: (row: Row) => Item; placeOf: (row: Row) => string },
): { items: Item[]; next: string | null } {
  const shown = rows.slice(0, limit ?? LIMIT)
  const last = shown.at(-1)
  const more = rows.length > shown.length && last !== undefined
  return { items: shown.map(print), next: more ? placeOf(last) : null }
}

/** The refusal of a place that no page has ended with. */
export const noPlace = (): Fault =>
  InvalidParams('before', 'Invalid before').at('before', 'the `next` of the page before')

/** A number that a page ended with. Throws 2. */
export function readPlace(before: string | undefined): bigint | undefined {
  if (before === undefined) return undefined
  if (!/^\d{1,18}$/.test(before)) throw noPlace()
  return BigInt(before)
}

/** An id of ours that a page ended with. Throws 2. */
export function readIdPlace(before: string | undefined): string | undefined {
  if (before !== undefined && !/^[0-9a-z]{26}$/.test(before)) throw noPlace()
  return before
}
