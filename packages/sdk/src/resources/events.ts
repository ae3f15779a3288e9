// Events: read from the log, or streamed as they are numbered.

import type { Caller, CallOptions, WithResponse } from '../wire/calls.ts'
import type { Streams } from '../wire/endpoints.ts'
import type { Event } from '../wire/events.ts'
import { type Filter, items } from '../wire/lists.ts'
import { methodsOf } from '../wire/methods.ts'
import { follow, type ListedEvent, type StreamOptions } from '../wire/streams.ts'

const AT_ONCE = 100

export function events(caller: Caller) {
  const { call, byNumber } = methodsOf(caller)
  return {
    events: {
      /** All events that are kept, the newest first; with `after` those after that number, the
       *  oldest first and without a gap. */
      list: (filter: Filter<'/v1/events/list'> = {}, options?: CallOptions) =>
        (filter.after === undefined
          ? items(caller, '/v1/events/list', filter, options)
          : eventsAfter(caller, filter, options)) as AsyncGenerator<ListedEvent, void, void>,
      /** One event by its number. */
      check: byNumber('/v1/event/check') as (
        number: number,
        options?: CallOptions,
      ) => Promise<WithResponse<ListedEvent>>,
      /** Events as they are numbered: from now on, or those after a number first. Asks again when
       *  it is cut off, and goes on after the last number. Throws TooOld when events after that
       *  number are not kept any more. */
      stream: (wanted: Streams['/v1/events/stream']['body'] = {}, options?: StreamOptions) =>
        follow(caller, wanted, options),
      /** An event that did not happen, for those who stream with `tests`. */
      trigger: call('/v1/event/trigger') as (
        body: { type: Event['type']; webhook_id?: string | undefined },
        options?: CallOptions,
      ) => Promise<WithResponse<Event>>,
    },
  }
}

async function* eventsAfter(
  caller: Caller,
  { limit = AT_ONCE, ...filter }: Filter<'/v1/events/list'>,
  options?: CallOptions,
) {
  let { after } = filter
  for (;;) {
    const body = { ...filter, limit, after }
    const { items, next } = await caller.post('/v1/events/list', body, options)
    yield* items
    after = items.at(-1)?.number
    if (next === null) return
  }
}
