// Once a second a process asks which server it works with, on a connection of its own. One that
// hangs ends nobody's wait: after two looks that nobody answered in time, every connection of the
// process is ended, so that what waits fails now and the next host is tried. When another server
// answers than before, what is still connected to the one before is ended too.

import type { Clock, CorrectedClock } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'

export type ServerSeen = {
  /** By the server's own clock. */
  now: Date
  standby: boolean
  /** Which one it is: another after a fail-over, a restart or a promotion. */
  identity: string
}

/** So many looks without an answer are the end of every connection. */
const MISSES_MAX = 2

type Needs<Seen extends ServerSeen> = {
  /** Asks what is there, of a connection that gives a statement up that is not answered soon. */
  look(): Promise<Seen>
  /** Our own. */
  clock: Clock
  /** Learns how far the server's clock is from ours. */
  corrected: CorrectedClock
  /** Ends every other connection of the process. */
  drop(): void
}

/** Gives what looks once: throws Outage when the server does not answer in time. */
export function lookout<Seen extends ServerSeen>({
  look,
  clock,
  corrected,
  drop,
}: Needs<Seen>): () => Promise<Seen> {
  let misses = 0
  let before: string | undefined
  return async () => {
    const began = clock.now()
    const server = await look().catch((thrown: unknown) => {
      if (!(thrown instanceof Outage)) throw thrown
      misses += 1
      if (misses >= MISSES_MAX) drop()
      throw thrown
    })
    misses = 0
    const { identity, now } = server
    corrected.learn({ began, ended: clock.now(), said: now })
    if (before !== undefined && before !== identity) drop()
    before = identity
    return server
  }
}
