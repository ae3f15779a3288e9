// Trying a webhook: an event that did not happen, with the sample of its kind, numbered like any
// other and marked as a test. It goes to the webhook that is named, and to streams that ask for
// tests.

import { type Actor, recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { type Clock, later } from '../../lib/clock.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import { firstIdAt, type NewId } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Turns } from '../../platform/limits/turns.ts'
import { LimitReached } from '../../platform/wire/endpoint.ts'
import { EVENT_COLUMNS, type Event } from '../log/events.ts'
import type { EventKind } from '../log/kinds.ts'
import { noteTest } from '../log/notes.ts'
import { publishAll } from '../log/publish.ts'
import type { Caller } from './caller.ts'
import { addCall, addNotice, type CallRow, isDelivered } from './notices.ts'
import { callsOf } from './notify.ts'
import { lockWebhook, noteAnswered, type SecretSeal, type Webhook } from './webhooks.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  seal: SecretSeal
  caller: Caller
  user_agent: string
  own_host?: string | undefined
  tellStreams(): void
  /** The tests that this process writes at once. */
  writing: Turns
}

/** Events are numbered one after the other in the whole service, and whoever waits for that holds
 *  a connection: of one process one does, and the others wait without any. */
export const WRITING = { running_max: 1, lane_waiting_max: 8, waiting_max: 256 }

/** Of one customer in an hour: what did not happen is kept as long as what did. */
export const TESTS_AN_HOUR = 500
/** Of one customer in a process: at once, and a second after those. Each is an event, a notice and
 *  a record, whatever comes of the call, and others wait for the processor meanwhile. */
export const TESTS = { burst: 20, per_second: TESTS_AN_HOUR / 3_600 }
const HOUR_MS = 3_600_000

/** Notes and numbers an event of this kind that did not happen. A webhook that is named is told of
 *  it as of any other event; `tried`: the one that is called with it. Throws NotFound,
 *  LimitReached, and TooManyRequests when too many wait. */
export async function triggerTest(needs: TestNeeds, actor: Actor, test: TestEvent): Promise<Event> {
  const { writing } = needs
  const { customer_id } = actor
  const turn = writing.begin(customer_id, 1)
  if (typeof turn === 'string') throw new TooManyRequests(1)
  await turn
  const event = await writeTest(needs, actor, test).finally(() => writing.end(customer_id))
  needs.tellStreams()
  return event
}

type TestNeeds = Pick<Needs, 'sql' | 'clock' | 'new_id' | 'tellStreams' | 'writing'>
type TestEvent = { kind: EventKind; webhook_id?: string; tried?: Webhook }

async function writeTest(
  { sql, clock, new_id }: TestNeeds,
  actor: Actor,
  { kind, webhook_id, tried }: TestEvent,
): Promise<Event> {
  const { customer_id } = actor
  const subject = `test:${new_id()}`
  const data = JSON.stringify(kind.sample)
  return sql.begin(async (tx) => {
    const at = clock.now()
    const webhook =
      webhook_id === undefined ? undefined : await lockWebhook(tx, { customer_id, id: webhook_id })
    await requireFewTests(tx, customer_id, later(clock, -HOUR_MS))
    noteTest(tx, { customer_id, type: kind.type, subject, at, data })
    await publishAll(tx)
    const [made] = await tx<Event>`
      select ${EVENT_COLUMNS} from event
      where customer_id = ${customer_id} and subject = ${subject}`
    passTest(tx, made!)
    if (webhook) addNotice(tx, webhook, made!, { state: 'due', calls: 0, due_at: at })
    await recordCustomerAction(tx, at, {
      actor,
      action: tried ? 'webhook/test' : 'event/trigger',
      subject: tried ? `webhook:${tried.id}` : subject,
      before: null,
      after: { type: kind.type, ...(webhook && { webhook_id }) },
    })
    return made!
  })
}

/** The log's tests concern no webhook: those that have read all before this one need not be taken
 *  up to pass it. One whose calls are under way passes it by itself. */
function passTest(tx: Tx, { customer_id, number }: Event): void {
  tx.send`
    update webhook set position = ${number} where id in (
      select id from webhook
      where customer_id = ${customer_id} and state = 'on' and position = ${number - 1n}
      for no key update skip locked)`
}

async function requireFewTests(tx: Tx, customer_id: string, since: Date): Promise<void> {
  const [tests] = await tx<{ count: bigint }>`
    select count(*) as count from event
    where customer_id = ${customer_id} and subject >= ${`test:${firstIdAt(since)}`}
      and starts_with(subject, 'test:')`
  if (tests!.count >= BigInt(TESTS_AN_HOUR))
    throw LimitReached('test', `There were ${TESTS_AN_HOUR} tests within an hour`)
}

/** Somebody waits for it, for ten seconds at most. */
const TRIAL_MS = 9_000

/** Calls one webhook with an event that did not happen, once, and keeps what came of it. When it
 *  has answered as it should, what waits for its next try is called at once. Throws LimitReached,
 *  and NotFound when it was removed meanwhile. */
export async function tryWebhook(
  needs: Needs,
  actor: Actor,
  { webhook, kind }: { webhook: Webhook; kind: EventKind },
): Promise<{ event: Event; call: CallRow }> {
  const { sql, clock } = needs
  const event = await triggerTest(needs, actor, { kind, tried: webhook })
  const call = await callsOf(needs, webhook, { answer_ms: TRIAL_MS })
  const at = clock.now()
  const { status, error, body, ms } = await call(event, at)
  const made = { number: event.number, at, ms, status, error, body }
  const state = isDelivered(made) ? 'delivered' : 'dead'
  await sql.begin(async (tx) => {
    // Locked before its notices, as everywhere.
    if (isDelivered(made)) await lockWebhook(tx, webhook)
    addNotice(tx, webhook, event, { state, calls: 1, due_at: at })
    addCall(tx, webhook.id, made)
    if (isDelivered(made)) await noteAnswered(tx, webhook, at)
  })
  return { event, call: made }
}
