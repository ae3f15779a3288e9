// Events over an answer that stays open. When it ends, or nothing is heard any more, it is asked
// for again from the last number on, so that nothing is left out and nothing comes twice.

import { type Caller, type CallOptions, type OpenAnswer, sleep } from './calls.ts'
import type { Streams } from './endpoints.ts'
import { ConnectionError, LimitReached, PenstockError } from './errors.ts'
import type { Event, EventType } from './events.ts'

const PATH = '/v1/events/stream'

/** An event as it is listed and streamed: without the scope of its type `data` is null. */
export type ListedEvent = Event<EventType, null>

export type StreamOptions = Pick<CallOptions, 'signal' | 'request_headers'> & {
  /** Called whenever the stream is open, with the newest number there is. */
  opened?: ((newest: number) => void) | undefined
  /** Called whenever it is not open any more, and is asked for again. */
  lost?: ((reason: unknown) => void) | undefined
}

/** The service says something every 15 seconds. */
const SILENCE_MS_MAX = 45_000
const PAUSE_MS_LEAST = 250
const PAUSE_MS_MOST = 15_000

/** Events as they are numbered, those after a number first if one is given. Goes on until nobody
 *  reads, or the signal ends it, whose reason is thrown then. Throws a PenstockError when asking
 *  again would not help. */
export async function* follow(
  caller: Caller,
  wanted: Streams[typeof PATH]['body'],
  { signal, request_headers, opened, lost }: StreamOptions = {},
): AsyncGenerator<ListedEvent, void, void> {
  let { after } = wanted
  let was_open = false
  for (let failures = 0; ; failures++) {
    let reason: unknown
    try {
      const answer = await caller.open(PATH, { ...wanted, after }, { signal, request_headers })
      for await (const line of linesOf(answer)) {
        const [, newest] = /^: \S+ (\d+)$/.exec(line) ?? []
        if (newest !== undefined) {
          after ??= Number(newest)
          was_open = true
          failures = 0
          opened?.(Number(newest))
        }
        if (!line.startsWith('data: ')) continue
        const event = JSON.parse(line.slice('data: '.length)) as ListedEvent
        after = event.number
        yield event
      }
    } catch (thrown) {
      reason = thrown
      signal?.throwIfAborted()
      // One that was open may still be counted for a moment.
      const passing =
        thrown instanceof PenstockError &&
        (thrown.retryable || (was_open && thrown instanceof LimitReached))
      if (!passing) throw thrown
    }
    lost?.(reason)
    const pause_ms = Math.min(PAUSE_MS_MOST, PAUSE_MS_LEAST * 2 ** failures)
    await sleep(pause_ms * (0.5 + Math.random() / 2), signal)
    signal?.throwIfAborted()
  }
}

/** The lines of an open answer. Throws a ConnectionError when it breaks off, or is silent for too
 *  long. */
async function* linesOf({ chunks, close }: OpenAnswer): AsyncGenerator<string, void, void> {
  const reader = chunks.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    for (;;) {
      clearTimeout(timer)
      timer = setTimeout(close, SILENCE_MS_MAX)
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new ConnectionError('The stream has broken off', { code: 0, retryable: true, cause })
      })
      if (done) return
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = lines.pop()!
      yield* lines
    }
  } finally {
    clearTimeout(timer)
    close()
  }
}
