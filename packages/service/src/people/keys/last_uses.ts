// When each key was last used, to the minute: noted in memory by every process with an API, and
// written by a step, so that a request waits for nothing. A process that is killed forgets a
// minute.

import type { Clock } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'

export type LastUses = { note(key_id: string): void; step: Step }

export function lastUses({ sql, clock }: { sql: Sql; clock: Clock }): LastUses {
  let uses = new Map<string, Date>()
  return {
    note: (key_id) => uses.set(key_id, clock.now()),
    step: {
      name: 'note_key_uses',
      rest_ms: 60_000,
      async run() {
        if (uses.size === 0) return false
        const noted = uses
        uses = new Map()
        await sql`
          update api_key set last_used_at = greatest(last_used_at, used.at)
          from unnest(${[...noted.keys()]}::text[],
                      ${[...noted.values()]}::timestamptz[]) as used (key_id, at)
          where id = used.key_id and id in (
            select id from api_key where id = any(${[...noted.keys()]})
            order by id for no key update)`
        return false
      },
    },
  }
}
