// Trying a webhook: an event that did not happen, with the sample of its kind, numbered like any
// other and marked as a test. It goes to the webhook that is named, and to streams that ask for
// tests.

import type { Sql } from '../database/sql.ts'
import type { Event } from '../events/events.ts'
import type { EventKind } from '../events/kinds.ts'
import { noteTest } from '../events/notes.ts'
import { type Publisher, publishAll } from '../events/publish.ts'
import type { Clock } from '../lib/clock.ts'
import type { NewId } from '../lib/ids.ts'
import type { Caller } from './caller.ts'
import { type CallRow, isDelivered } from './notices.ts'
import { callsOf } from './notify.ts'
import type { SecretSeal, Webhook } from './webhooks.ts'

export type Needs = Publisher & {
  sql: Sql
  clock: Clock
  new_id: NewId
  seal: SecretSeal
  caller: Caller
  user_agent: string
  tellStreams(): void
}

/** Notes and numbers an event of this kind that did not happen. */
export async function triggerTest(
  needs: Pick<Needs, 'sql' | 'clock' | 'new_id' | 'printers' | 'tellStreams'>,
  { customer_id, kind }: { customer_id: string; kind: EventKind },
): Promise<Event> {
  const { sql, clock, new_id } = needs
  const subject = `test:${new_id()}`
  const data = JSON.stringify(kind.sample)
  const event = await sql.begin(async (tx) => {
    noteTest(tx, { customer_id, type: kind.type, subject, at: clock.now(), data })
    await publishAll(tx, needs)
    const [made] = await tx<Event>`
      select * from event where customer_id = ${customer_id} and subject = ${subject}`
    return made!
  })
  needs.tellStreams()
  return event
}

/** Calls one webhook with an event that did not happen, once, and keeps what came of it. */
export async function tryWebhook(
  needs: Needs,
  webhook: Webhook,
  kind: EventKind,
): Promise<{ event: Event; call: CallRow }> {
  const { sql, clock } = needs
  const event = await triggerTest(needs, { customer_id: webhook.customer_id, kind })
  const call = await callsOf(needs, webhook)
  const at = clock.now()
  const { status, error, body, ms } = await call(event, at)
  const made = { number: event.number, at, ms, status, error, body }
  const state = isDelivered(made) ? 'delivered' : 'dead'
  await sql.begin(async (tx) => {
    await tx`
      insert into notice (webhook_id, number, event_id, type, subject, state, calls, due_at)
      values (${webhook.id}, ${event.number}, ${event.id}, ${event.type}, ${event.subject},
        ${state}, 1, ${at})`
    await tx`
      insert into webhook_call (webhook_id, number, at, ms, status, error, body)
      values (${webhook.id}, ${event.number}, ${at}, ${ms}, ${status}, ${error}, ${body})`
  })
  return { event, call: made }
}
