// Notices: one event for one webhook. They are written before anything is called, together with the
// webhook's place in the log, and what came of the calls is written after. A crash in between
// leaves them due: they are called again, under the same id.
//
//   due -> delivered | dead (the schedule is used up) | passed (the webhook is off, or removed)
//    ^-------'------------'    (replayed; what is due later is due now)

import { type Clock, DAY_MS, later } from '../../lib/clock.ts'
import type { Fragment, WriteFragment } from '../../platform/database/fragments.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { EVENT_COLUMNS, type Event } from '../log/events.ts'
import type { Readable } from '../log/kinds.ts'
import type { CallError, CallOutcome } from './caller.ts'
import { afterCall } from './retries.ts'
import { callAnew, WEBHOOK_COLUMNS, type Webhook } from './webhooks.ts'

export type NoticeState = 'due' | 'delivered' | 'dead' | 'passed'

/** A webhook that one process has for a while. */
export type LeasedWebhook = Webhook & {
  slow_until: Date | null
  called_at: Date | null
}

/** An event that is to be called now. `url`: where the webhook led when this was seen to be due. */
export type DueNotice = Event & { calls: number; due_at: Date; url: string }

/** From then on another process may have a webhook whose process has died. */
export const LEASE_MS = 30_000
/** With so many open the log waits: a receiver that is away costs no more rows. */
const OPEN_MAX = 1_000
const EVENTS_AT_ONCE = 200
/** With so many calls failed in a row, only the oldest open notice is called, and seldom. */
export const FAILED_MAX = 20
const PROBE_MS = 60_000

/** Finds a row when one has something to be told, or, when this process is `busy`, always. */
export const leasableWebhooks = (
  sql: WriteFragment,
  { now, busy }: { now: Date; busy: boolean },
): Fragment => sql`
  select where ${busy}::boolean
  union all
  select from webhook as w left join event_counter as c on c.customer_id = w.customer_id
  where w.id = any(array(select webhook_id from webhook_to_tell))
    and w.state = 'on' and (leased_until is null or leased_until <= ${now})
    and (paused_until is null or paused_until <= ${now})
    and (failed_in_a_row < ${FAILED_MAX}
      or called_at <= ${new Date(now.getTime() - PROBE_MS)})
    and (position < coalesce(last_number, 0) or exists (
      select from notice where webhook_id = w.id and notice.state = 'due'
        and (due_at <= ${now} or failed_in_a_row >= ${FAILED_MAX})))`

/** Takes webhooks that have something to be told, those that have waited longest first. */
export async function leaseWebhooks(
  sql: Sql,
  { process, now, limit }: { process: string; now: Date; limit: number },
): Promise<LeasedWebhook[]> {
  const until = new Date(now.getTime() + LEASE_MS)
  const probed_before = new Date(now.getTime() - PROBE_MS)
  return sql<LeasedWebhook>`
    update webhook set leased_by = ${process}, leased_until = ${until}
    where id in (
      select w.id from webhook as w left join event_counter as c on c.customer_id = w.customer_id
      where w.id = any(array(select webhook_id from webhook_to_tell))
        and w.state = 'on' and (leased_until is null or leased_until <= ${now})
        and (paused_until is null or paused_until <= ${now})
        and (failed_in_a_row < ${FAILED_MAX} or called_at <= ${probed_before})
        and (exists (
               select from (
                 select distinct on (subject) due_at from (
                   select subject, number, due_at from notice
                   where webhook_id = w.id and state = 'due'
                   order by number limit ${OPEN_MAX}) as open
                 order by subject, number) as first
               where due_at <= ${now} or failed_in_a_row >= ${FAILED_MAX})
             or position < coalesce(last_number, 0)
                and (select count(*) from notice as n where n.webhook_id = w.id and n.state = 'due')
                    < ${OPEN_MAX})
      order by called_at nulls first, w.id limit ${limit} for update of w skip locked)
    returning ${WEBHOOK_COLUMNS}, slow_until, called_at`
}

/** Gives a webhook back. */
export async function releaseWebhook(
  sql: Sql,
  { id, process }: { id: string; process: string },
): Promise<void> {
  await sql`
    update webhook set leased_by = null, leased_until = null
    where id = ${id} and leased_by = ${process}`
}

/** The types that a webhook is told: of those that it asks for, or of all, what it may read. */
function typesOf(
  { types, scopes }: Pick<Webhook, 'types' | 'scopes'>,
  readable: Readable,
): readonly string[] {
  const allowed = readable(scopes)
  return types?.filter((type) => allowed.includes(type)) ?? allowed
}

/** Writes notices of the next events in the log that the webhook wants, and moves its place: to the
 *  end when what comes next is not kept any more. True when it was moved. */
export async function takeEvents(
  tx: Tx,
  { id, process, now, readable }: { id: string; process: string; now: Date; readable: Readable },
): Promise<boolean> {
  const leasing = tx<Webhook>`
    select ${WEBHOOK_COLUMNS} from webhook
    where id = ${id} and leased_by = ${process} and state = 'on'
    for no key update`
  const [open] = await tx<{ count: bigint }>`
    select count(*) as count from notice where webhook_id = ${id} and state = 'due'`
  const [webhook] = await leasing
  if (!webhook) return false
  const room = OPEN_MAX - Number(open!.count)
  if (room <= 0) return false
  const { customer_id, position } = webhook
  const [reached] = await tx<{ number: bigint }>`
    select coalesce(
      (select max(number) from (
        select number from event where customer_id = ${customer_id} and number > ${position}
        order by number limit ${Math.min(room, EVENTS_AT_ONCE)}) as next),
      (select last_number from event_counter where customer_id = ${customer_id}), 0) as number`
  if (reached!.number <= position) return false
  tx.send`
    insert into notice (webhook_id, number, event_id, type, subject, due_at)
    select ${id}, number, id, type, subject, ${now} from event
    where customer_id = ${customer_id} and number > ${position} and number <= ${reached!.number}
      and not test and type = any(${typesOf(webhook, readable)})`
  tx.send`update webhook set position = ${reached!.number} where id = ${id}`
  return true
}

/** The notices to call now, oldest first: of one subject only the oldest that is open, among those
 *  that are open longest: more of them a replay makes wait, as the log does. While the
 *  webhook fails on and on it is its oldest open notice alone, whenever that is due. */
export async function dueNotices(
  sql: Sql,
  { id, customer_id, failed_in_a_row }: LeasedWebhook,
  { now, limit }: { now: Date; limit: number },
): Promise<DueNotice[]> {
  const failing = failed_in_a_row >= FAILED_MAX
  return sql<DueNotice>`
    select e.${EVENT_COLUMNS}, n.calls, n.due_at, w.url from (
      select number, calls, due_at from (
        select distinct on (subject) number, calls, due_at from (
          select number, subject, calls, due_at from notice
          where webhook_id = ${id} and state = 'due' order by number limit ${OPEN_MAX}) as open
        order by subject, number) as first
      where due_at <= ${now} or ${failing}::boolean
      order by number limit ${failing ? 1 : limit}) as n
      join event as e on e.customer_id = ${customer_id} and e.number = n.number
      join webhook as w on w.id = ${id}
    order by n.number`
}

/** A call that was made. */
export type CallRecord = { notice: DueNotice; at: Date; outcome: CallOutcome }

export const isDelivered = ({ status }: CallOutcome): boolean =>
  status !== null && status >= 200 && status < 300

/** Makes a notice of one event that the webhook would not be told of by itself. */
export function addNotice(
  tx: Tx,
  { id }: Pick<Webhook, 'id'>,
  event: Event,
  { state, calls, due_at }: Pick<Notice, 'state' | 'calls' | 'due_at'>,
): void {
  tx.send`
    insert into notice (webhook_id, number, event_id, type, subject, state, calls, due_at)
    values (${id}, ${event.number}, ${event.id}, ${event.type}, ${event.subject}, ${state},
      ${calls}, ${due_at})`
}

export function addCall(tx: Tx, webhook_id: string, call: CallRow): void {
  const { number, at, ms, status, error, body } = call
  tx.send`
    insert into webhook_call (webhook_id, number, at, ms, status, error, body)
    values (${webhook_id}, ${number}, ${at}, ${ms}, ${status}, ${error}, ${body})`
}

/** Writes what came of calls. `chance`: 0 up to 1, for how far a pause differs. */
export async function noteCalls(
  tx: Tx,
  webhook_id: string,
  made: readonly CallRecord[],
  chance: () => number,
): Promise<void> {
  const fates = made.map(({ notice, at, outcome }) => {
    const call = { at, is_delivered: isDelivered(outcome) }
    return { number: notice.number, ...afterCall(notice, call, chance) }
  })
  tx.send`
    update notice set state = t.state, calls = t.calls, due_at = t.due_at
    from unnest(${fates.map(({ number }) => number)}::bigint[],
                ${fates.map(({ state }) => state)}::text[],
                ${fates.map(({ calls }) => calls)}::integer[],
                ${fates.map(({ due_at }) => due_at)}::timestamptz[])
      as t (number, state, calls, due_at)
    where webhook_id = ${webhook_id} and notice.number = t.number and notice.state = 'due'`
  tx.send`
    insert into webhook_call (webhook_id, number, at, ms, status, error, body)
    select ${webhook_id}, *
    from unnest(${made.map(({ notice }) => notice.number)}::bigint[],
                ${made.map(({ at }) => at)}::timestamptz[],
                ${made.map(({ outcome }) => outcome.ms)}::integer[],
                ${made.map(({ outcome }) => outcome.status)}::integer[],
                ${made.map(({ outcome }) => outcome.error)}::text[],
                ${made.map(({ outcome }) => outcome.body)}::text[])
    on conflict do nothing`
}

/** due -> passed where the event is not kept any more. Says whether there were any. */
export async function passForgotten(
  sql: Sql,
  { id, customer_id }: Pick<Webhook, 'id' | 'customer_id'>,
): Promise<boolean> {
  const passed = await sql`
    update notice set state = 'passed'
    where webhook_id = ${id} and state = 'due' and not exists (
      select from event as e where e.customer_id = ${customer_id} and e.number = notice.number)
    returning number`
  return passed.length > 0
}

export type Notice = {
  webhook_id: string
  number: bigint
  event_id: string
  type: string
  subject: string
  state: NoticeState
  calls: number
  due_at: Date
}

export type CallRow = {
  number: bigint
  at: Date
  ms: number
  status: number | null
  error: CallError | null
  body: string | null
}

export type NoticeReport = Notice & { last: CallRow | null }

export type NoticeFilter = {
  customer_id: string
  webhook_id?: string | undefined
  state?: NoticeState | undefined
  number?: bigint | undefined
  /** What the event is about. */
  subject?: string | undefined
  before?: { number: bigint; webhook_id: string } | undefined
  limit: number
}

/** Notices of a customer's webhooks with the last call of each, newest event first. */
export async function listNotices(sql: Sql, wanted: NoticeFilter): Promise<NoticeReport[]> {
  const { customer_id, webhook_id = null, state = null, number = null, limit } = wanted
  const { subject = null } = wanted
  const { number: before = null, webhook_id: before_webhook = null } = wanted.before ?? {}
  const notices = await sql<Notice>`
    select n.webhook_id, n.number, n.event_id, n.type, n.subject, n.state, n.calls, n.due_at
    from webhook as w cross join lateral (
      select * from notice
      where webhook_id = w.id and (${state}::text is null or state = ${state})
        and (${number}::bigint is null or number = ${number})
        and (${subject}::text is null or number in (
          select e.number from event as e
          where e.customer_id = w.customer_id and e.subject = ${subject}))
        and (${before}::bigint is null
             or number < ${before} or number = ${before} and w.id < ${before_webhook})
      order by number desc limit ${limit}) as n
    where w.customer_id = ${customer_id} and w.state <> 'removed'
      and (${webhook_id}::text is null or w.id = ${webhook_id})
    order by n.number desc, n.webhook_id desc limit ${limit}`
  const last = await sql<CallRow & { webhook_id: string }>`
    select distinct on (c.webhook_id, c.number) c.webhook_id, c.number, c.at, c.ms, c.status,
      c.error, c.body
    from webhook_call as c
      join unnest(${notices.map((one) => one.webhook_id)}::text[],
                  ${notices.map((one) => one.number)}::bigint[]) as n (webhook_id, number)
      on c.webhook_id = n.webhook_id and c.number = n.number
    order by c.webhook_id, c.number, at desc`
  const key = (one: { webhook_id: string; number: bigint }) => `${one.webhook_id} ${one.number}`
  const last_of = new Map(last.map((call) => [key(call), call]))
  return notices.map((notice) => ({ ...notice, last: last_of.get(key(notice)) ?? null }))
}

/** All calls of a notice, newest first. */
export async function callsOfNotice(
  sql: Sql,
  { webhook_id, number }: Pick<Notice, 'webhook_id' | 'number'>,
): Promise<CallRow[]> {
  return sql<CallRow>`
    select number, at, ms, status, error, body from webhook_call
    where webhook_id = ${webhook_id} and number = ${number} order by at desc limit 100`
}

export type Replay = {
  /** From the event after this number on. */
  after: bigint
  since?: Date | undefined
  until?: Date | undefined
  types?: readonly string[] | undefined
  /** Only what was not delivered, or all that the webhook has asked for. */
  which: 'dead' | 'all'
}

export const REPLAY_MAX = 100_000

/** Makes notices of events of the log due: also of events that were passed over while the webhook
 *  was not told, and of those that wait for their next try. At most REPLAY_MAX, the oldest. Says
 *  how many. The webhook is locked. */
export async function replayNotices(
  tx: Tx,
  webhook: Webhook,
  { after, since, until, types, which }: Replay,
  { now, readable }: { now: Date; readable: Readable },
): Promise<number> {
  const { id, customer_id, position } = webhook
  const told = typesOf(webhook, readable)
  const [again] = await tx<{ count: bigint }>`
    with due as (
      insert into notice (webhook_id, number, event_id, type, subject, due_at)
      select ${id}, e.number, e.id, e.type, e.subject, ${now}
      from event as e left join notice as n on n.webhook_id = ${id} and n.number = e.number
      where e.customer_id = ${customer_id} and e.number > ${after} and e.number <= ${position}
        and not e.test and e.type = any(${types?.filter((type) => told.includes(type)) ?? told})
        and (${since ?? null}::timestamptz is null or e.at >= ${since ?? null})
        and (${until ?? null}::timestamptz is null or e.at <= ${until ?? null})
        and (n.state = 'dead' or n.state = 'due' and n.due_at > ${now}
             or ${which} = 'all' and n.state is distinct from 'due')
      order by e.number limit ${REPLAY_MAX}
      on conflict (webhook_id, number)
        do update set state = 'due', calls = 0, due_at = excluded.due_at
      returning 1)
    select count(*) as count from due`
  callAnew(tx, webhook)
  return Number(again!.count)
}

/** any -> due, for one. False when there is none that the webhook may still read, or its event is
 *  not kept any more. The webhook is locked. */
export async function retryNotice(
  tx: Tx,
  { id, customer_id, scopes }: Pick<Webhook, 'id' | 'customer_id' | 'scopes'>,
  { number, now, readable }: { number: bigint; now: Date; readable: Readable },
): Promise<boolean> {
  const again = await tx`
    update notice set state = 'due', calls = 0, due_at = ${now}
    where webhook_id = ${id} and number = ${number} and type = any(${readable(scopes)})
      and exists (
        select from event as e where e.customer_id = ${customer_id} and e.number = ${number})
    returning number`
  return again.length > 0
}

export const CALL_DAYS = 14
const PRUNED_AT_ONCE = 5_000

/** Deletes calls that were made long ago, and notices of events that are not kept any more. */
export function pruneNoticesStep(
  { sql, clock }: { sql: Sql; clock: Clock },
  event_days: number,
): Step {
  const calls_before = () => later(clock, -CALL_DAYS * DAY_MS)
  const notices_before = () => later(clock, -event_days * DAY_MS)
  return {
    name: 'prune_notices',
    rest_ms: 600_000,
    duty: 'upkeep',
    due: (sql) => sql`
      select where (select min(at) from webhook_call) < ${calls_before()}
        or (select min(due_at) from notice) < ${notices_before()}`,
    async run() {
      const calls = await sql`
        delete from webhook_call where (webhook_id, number, at) in (
          select webhook_id, number, at from webhook_call
          where at < ${calls_before()} order by at limit ${PRUNED_AT_ONCE})
        returning 1`
      const notices = await sql`
        delete from notice where (webhook_id, number) in (
          select n.webhook_id, n.number from notice as n join webhook as w on w.id = n.webhook_id
          where n.due_at < ${notices_before()}
            and not exists (
              select from event as e where e.customer_id = w.customer_id and e.number = n.number)
          order by n.due_at limit ${PRUNED_AT_ONCE})
        returning 1`
      return calls.length === PRUNED_AT_ONCE || notices.length === PRUNED_AT_ONCE
    },
  }
}
