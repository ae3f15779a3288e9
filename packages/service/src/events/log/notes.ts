// What happened to what is a customer's, told once, by the code that makes it happen and in the
// same transaction. Every function that moves rows along an arrow of a state machine ends by noting
// what that means to the customer. The step `publish` gives the notes their numbers.

import { printJson } from '../../lib/json.ts'
import type { Tx } from '../../platform/database/sql.ts'

export const EVENT_TYPES = [
  'order.created',
  'order.succeeded',
  'order.failed',
  /** It is open for five minutes. */
  'order.delayed',
  /** A fork took a delivered part back: it is delivered again. */
  'order.reverted',
  /** No fork can take back any part of it. */
  'order.solid',
  'order.ending',
  /** The last of what was delegated is taken back. */
  'order.ended',
  'deposit.seen',
  'deposit.credited',
  'deposit.held',
  'deposit.resolved',
  'deposit.gone',
  'subscription.started',
  'subscription.supplied',
  'subscription.used',
  'subscription.stopped',
  'subscription.expired',
  'subscription.failed',
  'aml_check.completed',
  'aml_check.failed',
  /** An address that is watched has another level than before. */
  'aml_watch.changed',
  /** A rule of a watch holds: a transfer, or a share that has crossed its threshold. */
  'aml_watch.alert',
  /** The issuer of a token has frozen a watched address. */
  'freeze.executed',
  'freeze.lifted',
  'balance.low',
  'invoice.issued',
  'key.created',
  'key.revoked',
  'key.ending',
  'key.cap_reached',
  'user.invited',
  'user.joined',
  'user.changed',
  'user.removed',
  'user.recovered',
  'webhook.enabled',
  'webhook.disabled',
  /** The operator has changed what things cost. */
  'price.changed',
  /** The operator, or the check of the books, has taken services off sale. */
  'service.off',
  'service.on',
  'customer.created',
  'action.made',
  'alert.raised',
  'alert.cleared',
  /** An answer of screening waits for a person of the house. */
  'review.opened',
  /** An address that officers of the house look into. */
  'case.opened',
  'case.changed',
  /** It is not closed when it was due. */
  'case.late',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/** An event that has no number yet. `subject`: what it happened to: `order:ID`, `deposit:TX_ID`,
 *  `deposit:TX_ID/POSITION`. */
export type EventNote = {
  type: EventType
  subject: string
  customer_id: string
  at: Date
  /** What is told: mostly what the endpoint of the subject answers now. */
  data: object
}

/** Longer ones would be dear for everybody who is told: then it is said that there was an event,
 *  and its subject can be asked for. */
const DATA_LENGTH_MAX = 20_000

function dataText(data: object): string {
  const text = printJson(data)
  return text.length <= DATA_LENGTH_MAX ? text : 'null'
}

/** Notes events in the transaction that makes them true. Those of one subject are in order when
 *  its row is locked. */
export function noteEvents(tx: Tx, events: readonly EventNote[]): void {
  if (events.length === 0) return
  tx.send`
    insert into event_note (customer_id, type, subject, at, data)
    select t.* from unnest(${events.map(({ customer_id }) => customer_id)}::text[],
                           ${events.map(({ type }) => type)}::text[],
                           ${events.map(({ subject }) => subject)}::text[],
                           ${events.map(({ at }) => at)}::timestamptz[],
                           ${events.map(({ data }) => dataText(data))}::text[])
      as t (customer_id, type, subject, at, data)
    where t.type <> 'order.created'
      or t.at >= (select order_created_from from event_publisher)`
}

/** Notes for every customer who is not closed what concerns them all. */
export function noteForAll(tx: Tx, event: Omit<EventNote, 'customer_id'>): void {
  tx.send`
    insert into event_note (customer_id, type, subject, at, data)
    select id, ${event.type}, ${event.subject}, ${event.at}, ${dataText(event.data)}
    from customer where state <> 'closed' order by id`
}

/** Notes what did not happen, for those who try their webhooks and streams. `data`: JSON. */
export function noteTest(
  tx: Tx,
  {
    customer_id,
    type,
    subject,
    at,
    data,
  }: Omit<EventNote, 'type' | 'data'> & { type: string; data: string },
): void {
  tx.send`
    insert into event_note (customer_id, type, subject, at, test, data)
    values (${customer_id}, ${type}, ${subject}, ${at}, true, ${data})`
}
