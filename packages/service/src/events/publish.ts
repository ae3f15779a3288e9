// Gives events their numbers. A number of a sequence would become visible in the order of commits,
// and a reader that has passed 8 would never see 7; so notes are written without numbers, and one
// publisher at a time, which holds the row that says so, numbers what is committed by then.

import type { Sql, Tx } from '../database/sql.ts'
import { idOf } from '../lib/ids.ts'
import { type Log, thrownFields } from '../lib/log.ts'
import type { Step } from '../steps/step.ts'
import type { Subject, SubjectPrinter } from './kinds.ts'

export type Publisher = {
  /** By the noun of the subject: `order` prints what is told of `order:…`. */
  printers: Readonly<Record<string, SubjectPrinter>>
  log: Log
}

export type Needs = Publisher & {
  sql: Sql
  /** Tells those who stream that there is something new; a hint. */
  tellStreams(): void
}

const AT_ONCE = 1_000
/** Of an event of which there is more to tell, nothing is: its subject can be asked for. */
const DATA_LENGTH_MAX = 20_000
const NOTHING = 'null'

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
async function publishNext(tx: Tx, publisher: Publisher): Promise<number> {
  // A statement of its own: the next one sees all that is committed when the row is ours.
  await tx`select 1 from event_publisher for update`
  const notes = await tx<Note>`
    select id, at, type, subject, data, detail from event_note order by id limit ${AT_ONCE}`
  if (notes.length === 0) return 0
  const data = await printed(tx, notes, publisher)
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
async function printed(tx: Tx, notes: readonly Note[], publisher: Publisher): Promise<string[]> {
  const told = new Map<bigint, string>()
  for (const { id, data } of notes) if (data !== null) told.set(id, data)
  const open = notes.filter(({ data }) => data === null)
  for (const [noun, own] of Map.groupBy(open, ({ subject }) => subject.split(':', 1)[0]!)) {
    const texts = await printNoun(tx, { noun, notes: own }, publisher)
    for (const [i, { id, detail }] of own.entries()) told.set(id, withDetail(texts[i]!, detail))
  }
  return notes.map(({ id }) => {
    const data = told.get(id)!
    return data.length > DATA_LENGTH_MAX ? NOTHING : data
  })
}

/** What is told of notes of one noun. One of which it cannot be printed must not keep those of
 *  everybody from being numbered. */
async function printNoun(
  tx: Tx,
  { noun, notes }: { noun: string; notes: readonly Note[] },
  { printers, log }: Publisher,
): Promise<string[]> {
  const print = printers[noun]
  if (!print) throw new Error(`nobody prints what is told of ${noun}`)
  try {
    return await print(tx, notes)
  } catch (thrown) {
    const [note, another] = notes
    if (!another) {
      log('event_not_printed', { ...thrownFields(thrown), id: note!.subject })
      return [NOTHING]
    }
    const texts: string[] = []
    for (const one of notes)
      texts.push(...(await printNoun(tx, { noun, notes: [one] }, { printers, log })))
    return texts
  }
}

/** The fields of `detail` stand at the end of the object. */
const withDetail = (data: string, detail: string | null): string =>
  detail === null || data === NOTHING ? data : `${data.slice(0, -1)},${detail.slice(1)}`

/** Numbers whatever is noted, within the transaction that is given. */
export async function publishAll(tx: Tx, publisher: Publisher): Promise<void> {
  while ((await publishNext(tx, publisher)) === AT_ONCE);
}
