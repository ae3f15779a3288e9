// The names that customers have chosen, and with them how long an answer takes. A few of one
// customer are looked up at once, more wait for their turn; a name that is not found is not looked
// up again for a minute, whoever asks.

import type { LookupAddress } from 'node:dns'
import { Turns } from '../limits/turns.ts'
import { type Look, nameServers } from './names.ts'

/** All addresses of a name that a customer has chosen. Throws when there is none. */
export type Resolve = (name: string, customer_id: string) => Promise<LookupAddress[]>

/** Under way at once, of one customer and in all. */
export const LOOKS_OF_CUSTOMER = 4
export const LOOKS_MAX = 256
const TURN_LIMITS = { running_max: LOOKS_MAX, lane_waiting_max: 64, waiting_max: 4_000 }
const MISSING_MS = 60_000
const MISSING_MAX = 10_000

/** `now_ms`: any clock that only goes forward. */
export function customersNames(
  look: Look = nameServers(),
  now_ms: () => number = () => performance.now(),
): Resolve {
  const turns = new Turns(TURN_LIMITS)
  /** Until when a name counts as missing; those that do for longest come last. */
  const missing = new Map<string, number>()
  const requireUnknown = (name: string) => {
    const until_ms = missing.get(name)
    if (until_ms !== undefined && until_ms > now_ms()) throw new Error(`${name} was not found`)
  }
  const miss = (name: string) => {
    missing.delete(name)
    if (missing.size >= MISSING_MAX) missing.delete(missing.keys().next().value!)
    missing.set(name, now_ms() + MISSING_MS)
  }
  return async (name, customer_id) => {
    requireUnknown(name)
    const turn = turns.begin(customer_id, LOOKS_OF_CUSTOMER)
    if (typeof turn === 'string') throw new Error('too many names are looked up')
    await turn
    try {
      requireUnknown(name)
      return await look(name).catch((failed: Error) => {
        miss(name)
        throw failed
      })
    } finally {
      turns.end(customer_id)
    }
  }
}
