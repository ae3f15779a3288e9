// Who waits for an answer is kept waiting a little while another server takes over, instead of
// being sent away. Work that was surely not done is done again; work whose outcome nobody knows is
// so only when that finds what was done before.

import { Outage } from '../../lib/fault.ts'
import { NothingDone } from './outages.ts'

/** Does the work, and for a while again when the database could not. `repeatable`: doing it twice
 *  is as good as once, because it only reads, or finds by a name what it has made before. */
export type Again = <T>(work: () => Promise<T>, how: { repeatable: boolean }) => Promise<T>

/** What fails has failed: for those who try again by themselves. */
export const notAgain: Again = (work) => work()

type Timer = { now_ms(): number; wait(ms: number): Promise<void> }

const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 400

/** Tries again for so long. When nothing has succeeded for as long, nobody is kept waiting any
 *  more: such an outage will last. */
export function againFor(patience_ms: number, { now_ms, wait }: Timer): Again {
  let failing_since_ms: number | undefined
  return async (work, { repeatable }) => {
    const until_ms = now_ms() + patience_ms
    for (let pause_ms = PAUSE_MS_MIN; ; pause_ms = Math.min(2 * pause_ms, PAUSE_MS_MAX)) {
      try {
        const done = await work()
        failing_since_ms = undefined
        return done
      } catch (thrown) {
        const may = repeatable ? thrown instanceof Outage : thrown instanceof NothingDone
        if (!may) throw thrown
        failing_since_ms ??= now_ms()
        const again_ms = now_ms() + pause_ms
        if (again_ms > until_ms || again_ms > failing_since_ms + patience_ms) throw thrown
        await wait(pause_ms)
      }
    }
  }
}
