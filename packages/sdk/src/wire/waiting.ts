// Waiting for states. All waiters are woken by one stream of events that is open while there is
// one, and ask then; where there is no stream, they ask again and again.

import { type Caller, sleep } from './calls.ts'
import { PenstockError, TimeoutError } from './errors.ts'
import type { EventType } from './events.ts'
import { follow } from './streams.ts'

export type WaitOptions = {
  signal?: AbortSignal | undefined
  /** How long to wait in all. */
  timeout_ms?: number | undefined
  request_headers?: Readonly<Record<string, string>> | undefined
}

const ASK_AGAIN_MS = 1_000
const ASK_LATER_MS = 3_000
/** From then on it is asked less often. */
const LATER_MS = 10_000
/** While there is a stream: nothing should depend on it. */
const ASK_ANYWAY_MS = 20_000

/** The types that end a wait. */
const TYPES: EventType[] = [
  'order.succeeded',
  'order.failed',
  'order.ended',
  'aml_check.completed',
  'aml_check.failed',
]

/** Wakes those who wait for a subject when something has happened to it. */
export class Waker {
  readonly #caller: Caller
  readonly #waiting = new Map<string, Set<() => void>>()
  #end: AbortController | undefined
  /** Whether there are streams here, as far as that is known. */
  #refused = false
  #open = false

  constructor(caller: Caller) {
    this.#caller = caller
  }

  /** Whether who waits will be woken. */
  get awake(): boolean {
    return this.#open
  }

  /** Calls a function when something happens to a subject, and when the stream opens. Returns what
   *  ends that. */
  add(subject: string, wake: () => void): () => void {
    const of_subject = this.#waiting.get(subject) ?? new Set()
    this.#waiting.set(subject, of_subject.add(wake))
    if (!this.#refused) this.#end ??= this.#listen()
    return () => {
      of_subject.delete(wake)
      if (of_subject.size > 0) return
      this.#waiting.delete(subject)
      if (this.#waiting.size > 0) return
      this.#end?.abort()
      this.#end = undefined
      this.#open = false
    }
  }

  #listen(): AbortController {
    const end = new AbortController()
    const { signal } = end
    const mine = (state: boolean) => {
      if (this.#end === end) this.#open = state
    }
    const opened = () => {
      mine(true)
      for (const wakes of this.#waiting.values()) for (const wake of wakes) wake()
    }
    const listen = async () => {
      const options = { signal, opened, lost: () => mine(false) }
      for await (const { subject } of follow(this.#caller, { types: TYPES }, options))
        for (const wake of this.#waiting.get(subject) ?? []) wake()
    }
    listen().catch(() => {
      // Whatever it is, waiting goes on without a stream.
      mine(false)
      this.#refused ||= !signal.aborted
    })
    return end
  }
}

type Question<Answer> = {
  ask: (timeout_ms: number) => Promise<Answer>
  isThere: (answer: Answer) => boolean | Promise<boolean>
  /** The subject in its events; left out: there are none. */
  subjectOf?: ((answer: Answer) => string) | undefined
}

/** Asks until the answer is there. An outage is waited out. Throws a TimeoutError when it takes too
 *  long, and the reason of the signal. */
export async function waitFor<Answer>(
  waker: Waker,
  { ask, isThere, subjectOf }: Question<Answer>,
  { signal, timeout_ms }: { signal: AbortSignal | undefined; timeout_ms: number },
): Promise<Answer> {
  const began_ms = Date.now()
  let remove: (() => void) | undefined
  let nap = new AbortController()
  const wake = () => nap.abort()
  signal?.addEventListener('abort', wake)
  try {
    for (;;) {
      nap = new AbortController()
      const left_ms = timeout_ms - (Date.now() - began_ms)
      if (left_ms <= 0) throw new TimeoutError(`Not there within ${timeout_ms} ms`, { code: 0 })
      try {
        const answer = await ask(left_ms)
        if (await isThere(answer)) return answer
        if (subjectOf) remove ??= waker.add(subjectOf(answer), wake)
      } catch (thrown) {
        if (!(thrown instanceof PenstockError && thrown.retryable)) throw thrown
      }
      const passed_ms = Date.now() - began_ms
      const soon_ms = passed_ms < LATER_MS ? ASK_AGAIN_MS : ASK_LATER_MS
      const pause_ms = remove && waker.awake ? ASK_ANYWAY_MS : soon_ms
      await sleep(Math.min(pause_ms, Math.max(0, timeout_ms - passed_ms)), nap.signal)
      signal?.throwIfAborted()
    }
  } finally {
    remove?.()
    signal?.removeEventListener('abort', wake)
  }
}
