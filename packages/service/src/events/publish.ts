// Gives events their numbers. A number of a sequence would become visible in the order of commits,
// and a reader that has passed 8 would never see 7; so notes are written without numbers, and one
// publisher at a time, which holds the row that says so, numbers what is committed by then.

import type { Sql, Tx } from '../database/sql.ts'
import { idOf } from '../lib/ids.ts'
import type { Step } from '../steps/step.ts'
import type { Subject, SubjectPrinter } from './kinds.ts'

export type Publisher = {
  /** By the noun of the subject: `order` prints what is told of `order:…`. */
  printers: Readonly<Record<string, SubjectPrinter>>
}

export type Needs = Publisher & {
  sql: Sql
  /** Tells those who stream that there is something new; a hint. */
  tellStreams(): void
}

const AT_ONCE = 1_000

/** event_note -> event. */
export function publishStep({ sql, tellStreams, ...publisher }: Needs): Step {
  return {
    name: 'publish',
    rest_ms: 250,
    async run() {
      // Looked at first without the lock: mostly there is nothing.
      const [waiting] = await sql`select 1 from event_note limit 1`
      if (!waiting) return false
      const count = await sql.begin((tx) => publishNext(tx, publisher))
      if (count > 0) tellStreams()
      return count > 0
    },
  }
}

type Note = Subject & { id: bigint; at: Date; data: string | null; detail: string | null }

/** Numbers the oldest notes. Returns how many. */
async function publishNext(tx: Tx, { printers }: Publisher): Promise<number> {
  // A statement of its own: the next one sees all that is committed when the row is ours.
  await tx`select 1 from event_publisher for update`
  const notes = await tx<Note>`
    select id, at, type, subject, data, detail from event_note order by id limit ${AT_ONCE}`
  if (notes.length === 0) return 0
  const data = await printed(tx, notes, printers)
  await tx`
    with named as (
      select * from unnest(${notes.map(({ id }) => id)}::bigint[],
                           ${notes.map(({ id, at }) => idOf(at, `event ${id}`))}::text[],
                           ${data}::text[]) as t (note_id, event_id, data)),
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
           n.event_id, t.type, t.subject, t.at, t.test, n.data
    from taken as t join named as n on n.note_id = t.id join share as s using (customer_id)
      join ends as e using (customer_id)`
  return notes.length
}

/** What is told of each note, in their order. */
async function printed(
  tx: Tx,
  notes: readonly Note[],
  printers: Publisher['printers'],
): Promise<string[]> {
  const told = new Map<bigint, string>()
  for (const { id, data } of notes) if (data !== null) told.set(id, data)
  const open = notes.filter(({ data }) => data === null)
  for (const [noun, own] of Map.groupBy(open, ({ subject }) => subject.split(':', 1)[0]!)) {
    const print = printers[noun]
    if (!print) throw new Error(`nobody prints what is told of ${noun}`)
    const texts = await print(tx, own)
    for (const [i, { id, detail }] of own.entries()) told.set(id, withDetail(texts[i]!, detail))
  }
  return notes.map(({ id }) => told.get(id)!)
}

/** The fields of `detail` stand at the end of the object. */
const withDetail = (data: string, detail: string | null): string =>
  detail === null ? data : `${data.slice(0, -1)},${detail.slice(1)}`

/** Numbers whatever is noted, within the transaction that is given. */
export async function publishAll(tx: Tx, publisher: Publisher): Promise<void> {
  while ((await publishNext(tx, publisher)) === AT_ONCE);
}
