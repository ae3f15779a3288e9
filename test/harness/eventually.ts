// Waits for something that becomes true by itself, of a service that runs in real time.

import { setTimeout as delay } from 'node:timers/promises'

/** No measure: an end for what would hang. */
const MS_MAX = 120_000
const LOOK_MS = 50

/** Looks again and again until something is found. Throws what never happened. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  ms_max = MS_MAX,
): Promise<T> {
  const end_ms = performance.now() + ms_max
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > end_ms) throw new Error(`it never happened: ${what}`)
    await delay(LOOK_MS)
  }
}
