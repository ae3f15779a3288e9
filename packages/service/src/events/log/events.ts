// The log of events, as its readers see it: numbered for each customer, without gaps.

import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

/** For those who run the service. */
export const HOUSE = 'house'

export type Event = {
  customer_id: string
  number: bigint
  id: string
  type: string
  subject: string
  at: Date
  /** Nothing happened: somebody tries a webhook. */
  test: boolean
  /** JSON. */
  data: string
}

export const EVENT_COLUMNS = columnsOf<Event>()([
  'customer_id',
  'number',
  'id',
  'type',
  'subject',
  'at',
  'test',
  'data',
])

/** The body in which an event is told. `data` goes out as it was noted, byte for byte. */
export function eventBody(event: Event): string {
  const { type, id, number, subject, test, data } = event
  const head = {
    type,
    timestamp: event.at.toISOString(),
    id,
    number: Number(number),
    subject,
    test,
  }
  return `${JSON.stringify(head).slice(0, -1)},"data":${data}}`
}

export type EventFilter = {
  customer_id: string
  /** Only those after this number, oldest first; else the newest first, before `before`. */
  after?: bigint | undefined
  before?: bigint | undefined
  types?: readonly string[] | undefined
  subject?: string | undefined
  limit: number
}

/** Each way has an index that it is read by: what is rare costs no more than what is not. */
export function listEvents(sql: Sql | Tx, wanted: EventFilter): Promise<Event[]> {
  if (wanted.subject !== undefined) return eventsOfSubject(sql, wanted)
  return wanted.types ? eventsOfTypes(sql, wanted, wanted.types) : eventsOfAll(sql, wanted)
}

function eventsOfAll(sql: Sql | Tx, wanted: EventFilter): Promise<Event[]> {
  const { customer_id, after, before = null, limit } = wanted
  if (after !== undefined) {
    return sql<Event>`
      select ${EVENT_COLUMNS} from event where customer_id = ${customer_id} and number > ${after}
      order by number limit ${limit}`
  }
  return sql<Event>`
    select ${EVENT_COLUMNS} from event
    where customer_id = ${customer_id} and (${before}::bigint is null or number < ${before})
    order by number desc limit ${limit}`
}

function eventsOfTypes(
  sql: Sql | Tx,
  wanted: EventFilter,
  types: readonly string[],
): Promise<Event[]> {
  const { customer_id, after, before = null, limit } = wanted
  if (after !== undefined) {
    return sql<Event>`
      select event.${EVENT_COLUMNS} from (select distinct unnest(${types}::text[]) as type)
        as wanted
      cross join lateral (
        select ${EVENT_COLUMNS} from event
        where customer_id = ${customer_id} and event.type = wanted.type and number > ${after}
        order by number limit ${limit}) as event
      order by number limit ${limit}`
  }
  return sql<Event>`
    select event.${EVENT_COLUMNS} from (select distinct unnest(${types}::text[]) as type)
        as wanted
    cross join lateral (
      select ${EVENT_COLUMNS} from event
      where customer_id = ${customer_id} and event.type = wanted.type
        and (${before}::bigint is null or number < ${before})
      order by number desc limit ${limit}) as event
    order by number desc limit ${limit}`
}

/** One thing has few events: all of them are sorted. */
function eventsOfSubject(sql: Sql | Tx, wanted: EventFilter): Promise<Event[]> {
  const { customer_id, before = null, types = null, subject, limit } = wanted
  const after = wanted.after ?? null
  return sql<Event>`
    select ${EVENT_COLUMNS} from event
    where customer_id = ${customer_id} and subject = ${subject}
      and (${after}::bigint is null or number > ${after})
      and (${before}::bigint is null or number < ${before})
      and (${types}::text[] is null or type = any(${types}))
    order by case when ${after}::bigint is null then -number else number end limit ${limit}`
}

export async function findEvent(
  sql: Sql | Tx,
  { customer_id, number }: { customer_id: string; number: bigint },
): Promise<Event | undefined> {
  const [event] = await sql<Event>`
    select ${EVENT_COLUMNS} from event where customer_id = ${customer_id} and number = ${number}`
  return event
}

/** The numbers of the oldest event that is kept and of the newest one; 0 when there was none
 *  ever. */
export async function eventBounds(
  sql: Sql | Tx,
  customer_id: string,
): Promise<{ oldest: bigint; newest: bigint }> {
  const [bounds] = await sql<{ oldest: bigint; newest: bigint }>`
    select coalesce((select min(number) from event where customer_id = ${customer_id}),
                    (select last_number + 1 from event_counter where customer_id = ${customer_id}),
                    1) as oldest,
           coalesce((select last_number from event_counter where customer_id = ${customer_id}),
                    0) as newest`
  return bounds!
}
