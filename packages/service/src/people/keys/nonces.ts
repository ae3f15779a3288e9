// Nonces of the second signature: each key uses each of its nonces once. They are kept for longer
// than a signature holds, which is until 300 seconds after its own time, itself at most 300 seconds
// ahead of ours.

import { type Clock, later } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'

export type NonceUse = { key_id: string; nonce: string }

/** Ten minutes, and one for clocks that differ between processes. */
const KEPT_SECONDS = 660

const PRUNED_AT_ONCE = 10_000

/** Uses nonces up. For each says whether it was new; of twins in one call the first is. */
export async function useNonces(
  sql: Sql,
  uses: readonly NonceUse[],
  seen_at: Date,
): Promise<boolean[]> {
  const rows = await sql<NonceUse>`
    insert into api_key_nonce (key_id, nonce, seen_at)
    select key_id, nonce, ${seen_at}::timestamptz
    from unnest(${uses.map((use) => use.key_id)}::text[],
                ${uses.map((use) => use.nonce)}::text[]) as used (key_id, nonce)
    order by 1, 2
    on conflict do nothing returning key_id, nonce`
  const name = (use: NonceUse) => `${use.key_id} ${use.nonce}`
  const fresh = new Set(rows.map(name))
  return uses.map((use) => fresh.delete(name(use)))
}

/** Forgets nonces that no valid signature can carry any more. */
export function pruneNonces({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  const before = () => later(clock, -KEPT_SECONDS * 1000)
  return {
    name: 'prune_nonces',
    rest_ms: 60_000,
    duty: 'upkeep',
    due: (sql) => sql`select where (select min(seen_at) from api_key_nonce) < ${before()}`,
    async run() {
      const pruned = await sql`
        delete from api_key_nonce where (key_id, nonce) in (
          select key_id, nonce from api_key_nonce
          where seen_at < ${before()} limit ${PRUNED_AT_ONCE})
        returning 1`
      // Some expire all the time: only a full batch means that there is more to do now.
      return pruned.length === PRUNED_AT_ONCE
    },
  }
}
