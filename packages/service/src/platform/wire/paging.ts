// Lists that come in pages: what may be asked for, what is refused, and the frame around the items.

import { type TSchema, Type } from 'typebox'
import { InvalidParams, type Refusal, refuses } from './endpoint.ts'

const PER_PAGE_MAX = 50

/** The fields of the body: `page` from 1, `per_page`, and `status`, one of the states. */
export const pageFields = <State extends string>(states: readonly State[]) => ({
  page: Type.Optional(
    Type.Integer({ minimum: 1, fault: () => InvalidParams('page', 'Invalid page') }),
  ),
  per_page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PER_PAGE_MAX,
      fault: () => InvalidParams('per_page', 'Invalid per_page'),
    }),
  ),
  status: Type.Optional(
    Type.Enum([...states], { fault: () => InvalidParams('status', 'Invalid status') }),
  ),
})

/** What these fields are refused for. */
export const PAGE_REFUSALS: readonly Refusal[] = [
  refuses(InvalidParams, '`page` is not an integer from 1', 'page'),
  refuses(InvalidParams, `\`per_page\` is not an integer from 1 to ${PER_PAGE_MAX}`, 'per_page'),
  refuses(InvalidParams, '`status` is none of the states', 'status'),
]

/** A page of items. */
export const pageOf = <Item extends TSchema>(item: Item, total: { description?: string } = {}) =>
  Type.Object({
    page: Type.Integer(),
    per_page: Type.Integer(),
    total: Type.Integer(total),
    items: Type.Array(item),
  })
