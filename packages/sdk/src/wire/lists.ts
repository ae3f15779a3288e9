// Lists that are read page by page while somebody goes through them.

import type { Caller, CallOptions } from './calls.ts'
import type { Endpoints } from './endpoints.ts'

type ResultWith<Part> = {
  [Path in keyof Endpoints]: Endpoints[Path]['result'] extends Part ? Path : never
}[keyof Endpoints]

/** The endpoints that list, newest first: by places in the list, or by numbers of pages. */
export type ListPath = ResultWith<{ items: unknown[]; next: string | null }>
export type NumberedPath = ResultWith<{ items: unknown[]; per_page: number }>

export type Item<Path extends ListPath | NumberedPath> = Endpoints[Path]['result']['items'][number]

/** The part of a list to read. `limit` is the size of a page. */
export type Filter<Path extends ListPath | NumberedPath> = Omit<
  Endpoints[Path]['body'],
  'before' | 'page' | 'per_page'
>

const AT_ONCE = 100
const PER_PAGE = 50

/** Every item of a list. What is added meanwhile is not given. */
export async function* items<Path extends ListPath>(
  caller: Caller,
  path: Path,
  filter: Filter<Path>,
  options?: CallOptions,
): AsyncGenerator<Item<Path>, void, void> {
  let before: string | undefined
  do {
    const body = { limit: AT_ONCE, ...filter, before } as Endpoints[Path]['body']
    const page: { items: Item<Path>[]; next: string | null } = await caller.post(
      path,
      body,
      options,
    )
    yield* page.items
    before = page.next ?? undefined
  } while (before !== undefined)
}

/** Every item of a list whose pages have numbers. What is added meanwhile moves the others on, by
 *  any number of places: what was on a page before is not given twice. */
export async function* numberedItems<Path extends NumberedPath>(
  caller: Caller,
  path: Path,
  filter: Filter<Path>,
  options?: CallOptions,
): AsyncGenerator<Item<Path>, void, void> {
  const given = new Set<string>()
  for (let page = 1; ; page++) {
    const body = { ...filter, page, per_page: PER_PAGE } as Endpoints[Path]['body']
    const { items, per_page, total } = await caller.post(path, body, options)
    for (const item of items) {
      if (given.has(item.id)) continue
      given.add(item.id)
      yield item
    }
    if (items.length === 0 || page * per_page >= total) return
  }
}
