// Lists that are read page by page, and what is waited for by asking again.

import { sleep } from './calls.ts'
import { PenstockError, TimeoutError } from './errors.ts'

export type Page<Item> = { page: number; per_page: number; total: number; items: Item[] }

const PER_PAGE = 50
const ASK_AGAIN_MS = 1_000
const ASK_LATER_MS = 3_000
/** From then on it is asked less often. */
const LATER_MS = 10_000

/** Every item of a list, the newest first. What is added meanwhile moves the others one place on:
 *  what was on the page before is not given twice. */
export async function* pages<Item extends { id: string }>(
  read: (page: number, per_page: number) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, void> {
  let before = new Set<string>()
  for (let page = 1; ; page++) {
    const { items, per_page, total } = await read(page, PER_PAGE)
    for (const item of items) if (!before.has(item.id)) yield item
    if (items.length === 0 || page * per_page >= total) return
    before = new Set(items.map(({ id }) => id))
  }
}

export type WaitOptions = {
  signal?: AbortSignal | undefined
  /** How long to wait in all. */
  timeout_ms?: number | undefined
  request_headers?: Readonly<Record<string, string>> | undefined
}

/** Asks until the answer is there. An outage is waited out. Throws a TimeoutError when it takes too
 *  long, and the reason of the signal. */
export async function poll<Answer>(
  ask: (timeout_ms: number) => Promise<Answer>,
  isThere: (answer: Answer) => boolean,
  { signal, timeout_ms }: { signal: AbortSignal | undefined; timeout_ms: number },
): Promise<Answer> {
  const began_ms = Date.now()
  for (;;) {
    const left_ms = timeout_ms - (Date.now() - began_ms)
    if (left_ms <= 0) throw new TimeoutError(`Not there within ${timeout_ms} ms`, { code: 0 })
    try {
      const answer = await ask(left_ms)
      if (isThere(answer)) return answer
    } catch (thrown) {
      if (!(thrown instanceof PenstockError && thrown.retryable)) throw thrown
    }
    const passed_ms = Date.now() - began_ms
    const pause_ms = passed_ms < LATER_MS ? ASK_AGAIN_MS : ASK_LATER_MS
    await sleep(Math.min(pause_ms, Math.max(0, timeout_ms - passed_ms)), signal)
    signal?.throwIfAborted()
  }
}
