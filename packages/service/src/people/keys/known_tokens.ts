// The tokens of all keys, in the memory of each process with an API: so junk can be told from
// customers before anything is read for it, from the first request after a start. Of each token the
// first 64 bits of its hash are kept, which is a few megabytes for a hundred thousand keys. That a
// token is known lets nobody in: its signature does.

import type { Clock } from '../../lib/clock.ts'
import { firstIdAt } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'

/** The step: whoever makes a key wakes it in all processes. */
export const READ_TOKENS = 'read_tokens'
/** Hexadecimal characters of a hash. */
const KEPT_CHARACTERS = 16
/** Clocks of the processes that make keys may differ, and a transaction takes a while. */
const OVERLAP_MS = 600_000

export class KnownTokens {
  private readonly beginnings = new Set<string>()

  has(token_hash: string): boolean {
    return this.beginnings.has(token_hash.slice(0, KEPT_CHARACTERS))
  }

  add(token_hash: string): void {
    this.beginnings.add(token_hash.slice(0, KEPT_CHARACTERS))
  }

  get size(): number {
    return this.beginnings.size
  }
}

/** Reads the tokens of all keys the first time, then those of new ones. Revoked keys stay known
 *  until the process ends: who shows such a token is refused like any other. */
export function readTokensStep(
  { sql, clock }: { sql: Sql; clock: Clock },
  known: KnownTokens,
): Step {
  let read_until_ms: number | undefined
  return {
    name: 'read_tokens',
    rest_ms: 10_000,
    async run() {
      const now_ms = clock.now().getTime()
      const from_id =
        read_until_ms === undefined ? '' : firstIdAt(new Date(read_until_ms - OVERLAP_MS))
      const keys = await sql<{ beginning: string }>`
        select left(token_hash, ${KEPT_CHARACTERS}::int) as beginning from api_key
        where id >= ${from_id} and revoked_at is null and user_id is null`
      for (const { beginning } of keys) known.add(beginning)
      read_until_ms = now_ms
      return false
    },
  }
}
