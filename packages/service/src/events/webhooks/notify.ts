// Calls webhooks. Each is a reader of the log with a place of its own; one process at a time has
// it, for half a minute, and goes on with it while there is something to tell. One that is slow or
// away holds up nobody else: a run of the step waits for it only for a moment, and takes up others.

import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { thrownFields } from '../../lib/log.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { Turns } from '../../platform/limits/turns.ts'
import type { Step, StepName } from '../../platform/steps/step.ts'
import { NotFound } from '../../platform/wire/endpoint.ts'
import { type Event, eventBody } from '../log/events.ts'
import type { Readable } from '../log/kinds.ts'
import type { Call, Caller, CallOutcome } from './caller.ts'
import {
  type CallRecord,
  type DueNotice,
  dueNotices,
  FAILED_MAX,
  isDelivered,
  LEASE_MS,
  type LeasedWebhook,
  leasableWebhooks,
  leaseWebhooks,
  noteCalls,
  passForgotten,
  releaseWebhook,
  takeEvents,
} from './notices.ts'
import { signingKey, webhookHeaders } from './signing.ts'
import { type Rules, readTarget } from './targets.ts'
import {
  allowedNetworks,
  noteState,
  type SecretSeal,
  secretsAlive,
  WEBHOOK_COLUMNS,
  type Webhook,
  webhookContext,
} from './webhooks.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  log: Log
  seal: SecretSeal
  caller: Caller
  /** Names this process among those that have webhooks. */
  process: string
  readable: Readable
  /** 0 up to 1. */
  chance(): number
  wait(ms: number): Promise<void>
  /** How long a run waits for those that it has begun with; a moment when left out. */
  patience_ms?: number | undefined
  /** Webhooks that one process has at the same time; as many as it can when left out. */
  webhooks_max?: number | undefined
  wake(step: StepName): void
  user_agent: string
  /** Our own public host, which is never called. */
  own_host?: string | undefined
}

/** Of one process. Once it took as many as it may, each is given back after a batch, so that a slow
 *  receiver keeps no other waiting for longer than that. */
const WEBHOOKS_AT_ONCE = 256
/** Calls under way: of one process, and of one customer, so that there is room for others. Of those
 *  that wait, the one whose customer has fewest is next. */
const CALLS_AT_ONCE = 256
const CALLS_OF_CUSTOMER = 64
/** Statements and transactions about webhooks under way: customers take turns, so that two hundred
 *  webhooks of some hold up no webhook of another. Fewer than there are connections. */
const STATEMENTS_AT_ONCE = 6
/** What is published while a receiver is slow waits no longer than this for the next look. */
const PATIENCE_MS = 10
const NOTICES_AT_ONCE = 200
/** No call is begun in a batch after this long, so that all have ended before the lease has. */
const BATCH_MS = 10_000
const SLOW_MS = 300_000
const DISABLED_AFTER_MS = 5 * 86_400_000
const SLOW_STATUSES = new Set([429, 502, 504])
const GONE = 410

/** notice: due -> delivered or dead; webhook: on -> disabled. */
export function notifyStep(needs: Needs): Step {
  const { sql, clock, process, log, patience_ms = PATIENCE_MS } = needs
  const { webhooks_max = WEBHOOKS_AT_ONCE } = needs
  const active = new Map<string, Promise<void>>()
  const turns = new Turns({
    running_max: CALLS_AT_ONCE,
    lane_waiting_max: Number.POSITIVE_INFINITY,
    waiting_max: Number.POSITIVE_INFINITY,
    fewest_first: true,
  })
  const inTurn = takingTurns()
  // Not by how many it has at this moment: of two that end together, one would see the other gone.
  let is_full = false
  const begin = (webhook: LeasedWebhook) => {
    const told = tellAll(needs, webhook, { turns, inTurn, isFull: () => is_full })
      .catch((thrown: unknown) =>
        log('webhook_failed', { ...thrownFields(thrown), id: webhook.id }),
      )
      .finally(() => {
        active.delete(webhook.id)
        // What came after its last look found it taken.
        needs.wake('notify')
      })
    active.set(webhook.id, told)
  }
  return {
    name: 'notify',
    rest_ms: 1_000,
    due: (sql) => leasableWebhooks(sql, { now: clock.now(), busy: active.size > 0 }),
    after: ['publish'],
    before: ['publish'],
    async run() {
      const limit = webhooks_max - active.size
      const leased = limit > 0 ? await leaseWebhooks(sql, { process, now: clock.now(), limit }) : []
      if (limit > 0) is_full = leased.length === limit
      for (const webhook of leased) begin(webhook)
      if (active.size > 0) {
        await Promise.race([Promise.all(active.values()), needs.wait(patience_ms)])
      }
      return leased.length > 0
    },
  }
}

/** Asks the database about a webhook when it is the turn of its customer. */
type InTurn = <T>(webhook: Pick<Webhook, 'customer_id'>, work: () => Promise<T>) => Promise<T>

function takingTurns(): InTurn {
  const statements = new Turns({
    running_max: STATEMENTS_AT_ONCE,
    lane_waiting_max: Number.POSITIVE_INFINITY,
    waiting_max: Number.POSITIVE_INFINITY,
  })
  return async ({ customer_id }, work) => {
    await statements.begin(customer_id, STATEMENTS_AT_ONCE)
    return work().finally(() => statements.end(customer_id))
  }
}

/** Tells a webhook what there is to tell, and gives it back. When that fails it rests until its
 *  lease is over, or it would be taken up again at once. */
async function tellAll(
  needs: Needs,
  webhook: LeasedWebhook,
  { turns, inTurn, isFull }: { turns: Turns; inTurn: InTurn; isFull: () => boolean },
): Promise<void> {
  const { sql, clock, process, readable } = needs
  const { id } = webhook
  const pace = paceOf(webhook, clock.now())
  const take = () =>
    inTurn(webhook, () =>
      sql.begin((tx) => takeEvents(tx, { id, process, now: clock.now(), readable })),
    )
  await take()
  for (let current: LeasedWebhook | undefined = webhook; current; ) {
    const kept: LeasedWebhook = current
    const due = await inTurn(webhook, () =>
      dueNotices(sql, kept, { now: clock.now(), limit: NOTICES_AT_ONCE }),
    )
    // Where it led before, others may read less than was written since.
    const asked = { ...kept, url: due[0]?.url ?? kept.url }
    if (due.length === 0) {
      if ((await take()) || (await inTurn(webhook, () => passForgotten(sql, asked)))) continue
      break
    }
    // What is to be called next is written meanwhile. Both end before the webhook rests: what is
    // still being written would keep its row from the next lease.
    const [made, taken] = await Promise.allSettled([
      callAll(needs, { webhook: asked, due, turns, inTurn, pace }),
      take(),
    ])
    if (made.status === 'rejected') throw made.reason
    if (taken.status === 'rejected') throw taken.reason
    const calls: readonly CallRecord[] = made.value
    current = await inTurn<LeasedWebhook | undefined>(webhook, () => noted(needs, asked, calls))
    if (isFull()) break
  }
  await inTurn(webhook, () => releaseWebhook(sql, { id, process }))
}

type Pace = (webhook: LeasedWebhook, now: Date) => number

const isSlow = ({ slow_until }: LeasedWebhook, now: Date) => slow_until !== null && slow_until > now

/** Says for each call how many milliseconds to wait before it, so that a webhook has no more of
 *  them a second than it wants, or half of that while it is slow. */
function paceOf({ called_at }: LeasedWebhook, now: Date): Pace {
  // The clock of whoever called it last may be ahead.
  let last_ms = Math.min(called_at?.getTime() ?? 0, now.getTime())
  return (webhook, now) => {
    if (webhook.per_second === null) return 0
    const pause_ms = ((isSlow(webhook, now) ? 2 : 1) * 1_000) / webhook.per_second
    last_ms = Math.max(now.getTime(), last_ms + pause_ms)
    return last_ms - now.getTime()
  }
}

type Batch = {
  webhook: LeasedWebhook
  due: readonly DueNotice[]
  turns: Turns
  inTurn: InTurn
  pace: Pace
}

/** Calls so many at once as the webhook allows. */
async function callAll(
  needs: Needs,
  { webhook, due, turns, inTurn, pace }: Batch,
): Promise<CallRecord[]> {
  const { clock, wait } = needs
  const { customer_id, at_once } = webhook
  const began_at = clock.now()
  const lanes = Math.max(1, Math.floor(at_once / (isSlow(webhook, began_at) ? 2 : 1)))
  const made: CallRecord[] = []
  const queue = [...due]
  let in_a_row = webhook.failed_in_a_row
  const call = await inTurn(webhook, () => callsOf(needs, webhook))
  const isOver = (ms: number) => clock.now().getTime() + ms - began_at.getTime() > BATCH_MS
  const lane = async () => {
    while (queue.length > 0) {
      const pause_ms = pace(webhook, clock.now())
      if (isOver(pause_ms)) return
      if (pause_ms > 0) await wait(pause_ms)
      await turns.begin(customer_id, CALLS_OF_CUSTOMER)
      try {
        const notice = isOver(0) ? undefined : queue.shift()
        if (!notice) return
        const at = clock.now()
        const outcome = await call(notice, at)
        made.push({ notice, at, outcome })
        in_a_row = isDelivered(outcome) ? 0 : in_a_row + 1
        if (stopsBatch(outcome) || in_a_row >= FAILED_MAX) queue.length = 0
      } finally {
        turns.end(customer_id)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(lanes, due.length) }, lane))
  return made
}

/** After this answer nothing more of the batch is called. */
const stopsBatch = (outcome: CallOutcome): boolean =>
  outcome.status === GONE || pauseOf(outcome) !== undefined

/** Seconds that one who refused asks to be left alone. */
const pauseOf = (outcome: CallOutcome): number | undefined =>
  isDelivered(outcome) ? undefined : outcome.retry_after_seconds

/** How one event is told to the webhook, with the secrets and allowances of this moment. Throws
 *  NotFound for one that was removed meanwhile: nothing is called without a signature. */
export async function callsOf(
  {
    sql,
    clock,
    seal,
    caller,
    user_agent,
    own_host,
  }: Pick<Needs, 'sql' | 'clock' | 'seal' | 'caller' | 'user_agent' | 'own_host'>,
  webhook: Pick<LeasedWebhook, 'id' | 'customer_id' | 'url'>,
  { answer_ms }: Pick<Call, 'answer_ms'> = {},
): Promise<(event: Event, at: Date) => Promise<CallOutcome>> {
  const [rows, networks] = await Promise.all([
    secretsAlive(sql, webhook.id, clock.now()),
    allowedNetworks(sql, webhook.customer_id),
  ])
  if (rows.length === 0)
    throw NotFound('webhook', 'There is no such webhook').absent('id', 'webhook of yours')
  const context = webhookContext(webhook.id)
  const keys = rows.map(({ sealed_secret }) => signingKey(seal.open(sealed_secret, context)))
  // An allowance may have been taken back since the webhook was made.
  const url = targetOf(webhook.url, { networks, own_host })
  return async (event, at) => {
    const body = eventBody(event)
    const headers = webhookHeaders(keys, { id: event.id, body }, at)
    if (!url) return { status: null, error: 'address', body: null, ms: 0 }
    const sent = { ...headers, 'user-agent': user_agent }
    const { customer_id } = webhook
    return caller.call({ url, body, headers: sent, customer_id, networks, answer_ms })
  }
}

function targetOf(url: string, rules: Rules): URL | undefined {
  try {
    return readTarget(url, rules)
  } catch {
    return undefined
  }
}

/** Writes what came of the calls, of the notices and of the webhook, and keeps it for longer.
 *  Undefined: this process has it no more, or it is not to be called now. */
async function noted(
  { sql, clock, chance, process }: Needs,
  webhook: LeasedWebhook,
  made: readonly CallRecord[],
): Promise<LeasedWebhook | undefined> {
  const now = clock.now()
  const { id } = webhook
  const after = healthAfter(webhook, made, now)
  const until = new Date(now.getTime() + LEASE_MS)
  const recovered = webhook.failed_in_a_row >= FAILED_MAX && after.failed_in_a_row === 0
  return sql.begin(async (tx) => {
    // Locked before its notices, as everywhere, also by a process that has it no more.
    const locking = tx<Pick<Webhook, 'state'>>`
      select state from webhook where id = ${id} for no key update`
    const keeping = tx<LeasedWebhook>`
      update webhook
      set failed_in_a_row = ${after.failed_in_a_row}, failing_since = ${after.failing_since},
          slow_until = ${after.slow_until}, paused_until = ${after.paused_until},
          called_at = ${made.length > 0 ? now : webhook.called_at},
          state = case when state = 'on' then ${after.state} else state end,
          reason = case when state = 'on' then ${after.reason} else reason end,
          leased_until = ${until}
      where id = ${id} and leased_by = ${process}
      returning ${WEBHOOK_COLUMNS}, slow_until, called_at`
    if (made.length > 0) await noteCalls(tx, id, made, chance)
    if (recovered) {
      tx.send`
        update notice set due_at = ${now}
        where webhook_id = ${id} and state = 'due' and due_at > ${now}`
    }
    const [[before], [kept]] = await Promise.all([locking, keeping])
    if (before?.state === 'on' && kept?.state === 'disabled')
      noteState(tx, 'webhook.disabled', kept, now)
    const goes_on = kept?.state === 'on' && after.paused_until === null && after.goes_on
    return goes_on ? kept : undefined
  })
}

type Health = Pick<
  LeasedWebhook,
  'failed_in_a_row' | 'failing_since' | 'slow_until' | 'state' | 'reason'
> & { paused_until: Date | null; goes_on: boolean }

/** What the calls, in the order in which they ended, say of the webhook. */
function healthAfter(webhook: LeasedWebhook, made: readonly CallRecord[], now: Date): Health {
  let { failed_in_a_row, failing_since, slow_until } = webhook
  let paused_ms = 0
  let gone = false
  for (const { outcome, at } of made) {
    const delivered = isDelivered(outcome)
    failing_since = delivered ? null : (failing_since ?? at)
    failed_in_a_row = delivered ? 0 : failed_in_a_row + 1
    if (SLOW_STATUSES.has(outcome.status ?? 0)) slow_until = new Date(now.getTime() + SLOW_MS)
    paused_ms = Math.max(paused_ms, 1_000 * (pauseOf(outcome) ?? 0))
    gone ||= outcome.status === GONE
  }
  const failing_ms = failing_since === null ? 0 : now.getTime() - failing_since.getTime()
  const worn_out = failed_in_a_row >= FAILED_MAX && failing_ms >= DISABLED_AFTER_MS
  const reason = gone ? 'it answered 410' : worn_out ? 'no call succeeded for five days' : null
  return {
    failed_in_a_row,
    failing_since,
    slow_until,
    paused_until: paused_ms > 0 ? new Date(now.getTime() + paused_ms) : null,
    state: reason === null ? 'on' : 'disabled',
    reason,
    goes_on: failed_in_a_row < FAILED_MAX,
  }
}
