// Gives events their numbers. A number of a sequence would become visible in the order of commits,
// and a reader that has passed 8 would never see 7; so notes are written without numbers, and one
// publisher at a time, which holds the row that says so, numbers what is committed by then.

import { idOf } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'

export type Needs = {
  sql: Sql
  /** Tells those who stream that there is something new; a hint. */
  tellStreams(): void
}

const AT_ONCE = 1_000

/** event_note -> event. */
export function publishStep({ sql, tellStreams }: Needs): Step {
  return {
    name: 'publish',
    rest_ms: 1_000,
    due: (sql) => sql`select from event_note`,
    async run() {
      const count = await sql.begin(publishNext)
      if (count > 0) tellStreams()
      return count > 0
    },
  }
}

/** Numbers the oldest notes. Returns how many. */
async function publishNext(tx: Tx): Promise<number> {
  // A statement of its own: the next one sees all that is committed when the row is ours.
  await tx`select 1 from event_publisher for update`
  const notes = await tx<{ id: bigint; at: Date }>`
    select id, at from event_note order by id limit ${AT_ONCE}`
  if (notes.length === 0) return 0
  await tx`
    with named as (
      select * from unnest(${notes.map(({ id }) => id)}::bigint[],
                           ${notes.map(({ id, at }) => idOf(at, `event ${id}`))}::text[])
        as t (note_id, event_id)),
    taken as (
      delete from event_note where id in (select note_id from named) returning *),
    share as (
      select customer_id, count(*) as notes from taken group by customer_id),
    ends as (
      insert into event_counter as c (customer_id, last_number)
      select customer_id, notes from share order by customer_id
      on conflict (customer_id) do update set last_number = c.last_number + excluded.last_number
      returning c.customer_id, c.last_number)
    insert into event (customer_id, number, id, type, subject, at, test, data)
    select t.customer_id,
           e.last_number - s.notes + row_number() over (partition by t.customer_id order by t.id),
           n.event_id, t.type, t.subject, t.at, t.test, t.data
    from taken as t join named as n on n.note_id = t.id join share as s using (customer_id)
      join ends as e using (customer_id)`
  return notes.length
}

/** Numbers whatever is noted, within the transaction that is given. */
export async function publishAll(tx: Tx): Promise<void> {
  while ((await publishNext(tx)) === AT_ONCE);
}
