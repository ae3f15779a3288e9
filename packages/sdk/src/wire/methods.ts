// The parts of resources: methods that call one endpoint each.

import type { Caller, CallOptions, WithResponse } from './calls.ts'
import type { Endpoints } from './endpoints.ts'
import {
  type Filter,
  type Item,
  items,
  type ListPath,
  type NumberedPath,
  numberedItems,
} from './lists.ts'

export type Body<Path extends keyof Endpoints> = Endpoints[Path]['body']
export type Result<Path extends keyof Endpoints> = Endpoints[Path]['result']
export type Answer<Path extends keyof Endpoints> = Promise<WithResponse<Result<Path>>>

/** The endpoints that take these fields. */
type PathWith<Fields> = {
  [Path in keyof Endpoints]: Fields extends Body<Path> ? Path : never
}[keyof Endpoints]

export function methodsOf(caller: Caller) {
  return {
    /** A method that takes the whole body. */
    call:
      <Path extends keyof Endpoints>(path: Path) =>
      (body: Body<Path>, options?: CallOptions): Answer<Path> =>
        caller.post(path, body, options),
    /** A method that needs no body. */
    read:
      <Path extends PathWith<Record<string, never>>>(path: Path) =>
      (options?: CallOptions): Answer<Path> =>
        caller.post(path, {} as Body<Path>, options),
    /** A method that takes an id. */
    byId:
      <Path extends PathWith<{ id: string }>>(path: Path) =>
      (id: string, options?: CallOptions): Answer<Path> =>
        caller.post(path, { id } as Body<Path>, options),
    /** A method that takes a number. */
    byNumber:
      <Path extends PathWith<{ number: number }>>(path: Path) =>
      (number: number, options?: CallOptions): Answer<Path> =>
        caller.post(path, { number } as Body<Path>, options),
    /** A method that takes an address. */
    byAddress:
      <Path extends PathWith<{ address: string }>>(path: Path) =>
      (address: string, options?: CallOptions): Answer<Path> =>
        caller.post(path, { address } as Body<Path>, options),
    /** A method that takes an id, or a body with `id`, `external_id` or both. */
    byRef:
      <Path extends PathWith<{ id: string; external_id: string }>>(path: Path) =>
      (one: string | Body<Path>, options?: CallOptions): Answer<Path> =>
        caller.post(path, refBody<Body<Path>>(one), options),
    /** A method that lists. */
    list:
      <Path extends ListPath>(path: Path) =>
      (filter: Filter<Path> = {} as Filter<Path>, options?: CallOptions) =>
        items(caller, path, filter, options),
    /** A method that lists by pages that have numbers. */
    numberedList:
      <Path extends NumberedPath>(path: Path) =>
      (
        filter: Filter<Path> = {} as Filter<Path>,
        options?: CallOptions,
      ): AsyncGenerator<Item<Path>, void, void> =>
        numberedItems(caller, path, filter, options),
  }
}

export const refBody = <Ref>(one: string | Ref): Ref =>
  (typeof one === 'string' ? { id: one } : one) as Ref
