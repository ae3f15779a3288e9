// Calls webhooks. Each is a reader of the log with a place of its own; one process at a time has
// it, for half a minute, and goes on with it while there is something to tell. One that is slow or
// away holds up nobody else: a run of the step waits for it only for a moment, and takes up others.

import type { Sql } from '../database/sql.ts'
import { type Event, eventBody } from '../events/events.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { thrownFields } from '../lib/log.ts'
import type { Step } from '../steps/step.ts'
import type { Scope } from '../wire/endpoint.ts'
import type { Caller, CallOutcome } from './caller.ts'
import {
  type CallMade,
  type DueNotice,
  dueNotices,
  FAILED_MAX,
  isDelivered,
  LEASE_MS,
  type LeasedWebhook,
  leaseWebhooks,
  noteCalls,
  releaseWebhook,
  takeEvents,
} from './notices.ts'
import { webhookHeaders } from './signing.ts'
import { readTarget } from './targets.ts'
import { allowedNetworks, type SecretSeal, secretsAlive, webhookContext } from './webhooks.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  log: Log
  seal: SecretSeal
  caller: Caller
  /** Names this process among those that have webhooks. */
  process: string
  /** The types that a webhook of these scopes may be told. */
  readable(scopes: readonly Scope[]): readonly string[]
  /** 0 up to 1. */
  chance(): number
  wait(ms: number): Promise<void>
  user_agent: string
}

/** Webhooks that one process has at the same time, and its calls under way: those of one customer
 *  leave room for others. */
const WEBHOOKS_AT_ONCE = 64
const CALLS_AT_ONCE = 256
/** How long a run waits for those that it has begun with. */
const PATIENCE_MS = 100
const NOTICES_AT_ONCE = 100
/** No call is begun in a batch after this long, so that all have ended before the lease has. */
const BATCH_MS = 10_000
const SLOW_MS = 300_000
const DISABLED_AFTER_MS = 5 * 86_400_000
const SLOW_STATUSES = new Set([429, 502, 504])
const GONE = 410

/** notice: due -> delivered or dead; webhook: on -> disabled. */
export function notifyStep(needs: Needs): Step {
  const { sql, clock, process, log } = needs
  const active = new Map<string, Promise<void>>()
  const calls = { under_way: 0 }
  const begin = (webhook: LeasedWebhook) => {
    const told = tellAll(needs, webhook, calls)
      .catch((thrown: unknown) =>
        log('webhook_failed', { ...thrownFields(thrown), id: webhook.id }),
      )
      .finally(() => active.delete(webhook.id))
    active.set(webhook.id, told)
  }
  return {
    name: 'notify',
    rest_ms: 1_000,
    after: ['publish'],
    async run() {
      const limit = WEBHOOKS_AT_ONCE - active.size
      const leased = limit > 0 ? await leaseWebhooks(sql, { process, now: clock.now(), limit }) : []
      for (const webhook of leased) begin(webhook)
      if (active.size > 0) {
        await Promise.race([Promise.all(active.values()), needs.wait(PATIENCE_MS)])
      }
      return leased.length > 0
    },
  }
}

/** Tells a webhook what there is to tell, and gives it back. */
async function tellAll(needs: Needs, webhook: LeasedWebhook, calls: { under_way: number }) {
  const { sql, clock, process, readable } = needs
  const { id } = webhook
  try {
    for (let current: LeasedWebhook | undefined = webhook; current; ) {
      const taken = await sql.begin((tx) =>
        takeEvents(tx, { id, process, now: clock.now(), readable }),
      )
      const limit = Math.max(1, Math.min(NOTICES_AT_ONCE, CALLS_AT_ONCE - calls.under_way))
      const due = await dueNotices(sql, current, { now: clock.now(), limit })
      if (due.length === 0 && !taken) break
      calls.under_way += due.length
      const made = await callAll(needs, current, due).finally(() => {
        calls.under_way -= due.length
      })
      current = await noted(needs, current, made)
    }
  } finally {
    await releaseWebhook(sql, { id, process })
  }
}

/** Calls so many at once as the webhook allows. */
async function callAll(
  needs: Needs,
  webhook: LeasedWebhook,
  due: readonly DueNotice[],
): Promise<CallMade[]> {
  const { clock } = needs
  const began_at = clock.now()
  const slow = webhook.slow_until !== null && webhook.slow_until > began_at
  const lanes = Math.max(1, Math.floor(webhook.at_once / (slow ? 2 : 1)))
  const pause_ms = webhook.per_second === null ? 0 : ((slow ? 2 : 1) * 1_000) / webhook.per_second
  const made: CallMade[] = []
  const queue = [...due]
  let in_a_row = webhook.failed_in_a_row
  const sign = await callsOf(needs, webhook)
  const lane = async () => {
    for (let notice = queue.shift(); notice; notice = queue.shift()) {
      const at = clock.now()
      if (at.getTime() - began_at.getTime() > BATCH_MS) return
      const outcome = await sign(notice, at)
      made.push({ notice, at, outcome })
      in_a_row = isDelivered(outcome) ? 0 : in_a_row + 1
      if (stopsBatch(outcome) || in_a_row >= FAILED_MAX) queue.length = 0
      if (pause_ms > 0) await needs.wait(pause_ms * lanes)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return made
}

/** After this answer nothing more of the batch is called. */
const stopsBatch = (outcome: CallOutcome): boolean =>
  outcome.status === GONE || outcome.retry_after_seconds !== undefined

/** How one event is told to the webhook, with the secrets and allowances of this moment. */
export async function callsOf(
  {
    sql,
    clock,
    seal,
    caller,
    user_agent,
  }: Pick<Needs, 'sql' | 'clock' | 'seal' | 'caller' | 'user_agent'>,
  webhook: Pick<LeasedWebhook, 'id' | 'customer_id' | 'url'>,
): Promise<(event: Event, at: Date) => Promise<CallOutcome>> {
  const [rows, networks] = await Promise.all([
    secretsAlive(sql, webhook.id, clock.now()),
    allowedNetworks(sql, webhook.customer_id),
  ])
  const context = webhookContext(webhook.id)
  const secrets = rows.map(({ sealed_secret }) => seal.open(sealed_secret, context))
  return async (event, at) => {
    const body = eventBody(event)
    const headers = webhookHeaders(secrets, { id: event.id, body }, at)
    // An allowance may have been taken back since the webhook was made.
    const url = targetOf(webhook.url, networks)
    if (!url) return { status: null, error: 'address', body: null, ms: 0 }
    return caller.call({ url, body, headers: { ...headers, 'user-agent': user_agent }, networks })
  }
}

function targetOf(url: string, networks: readonly string[]): URL | undefined {
  try {
    return readTarget(url, { networks })
  } catch {
    return undefined
  }
}

/** Writes what came of the calls, of the notices and of the webhook, and keeps it for longer.
 *  Undefined: this process has it no more, or it is not to be called now. */
async function noted(
  { sql, clock, chance, process }: Needs,
  webhook: LeasedWebhook,
  made: readonly CallMade[],
): Promise<LeasedWebhook | undefined> {
  const now = clock.now()
  const after = healthAfter(webhook, made, now)
  const until = new Date(now.getTime() + LEASE_MS)
  const recovered = webhook.failed_in_a_row >= FAILED_MAX && after.failed_in_a_row === 0
  return sql.begin(async (tx) => {
    const [kept] = await tx<LeasedWebhook>`
      update webhook
      set failed_in_a_row = ${after.failed_in_a_row}, failing_since = ${after.failing_since},
          slow_until = ${after.slow_until}, paused_until = ${after.paused_until},
          called_at = ${made.length > 0 ? now : webhook.called_at},
          state = case when state = 'on' then ${after.state} else state end,
          reason = case when state = 'on' then ${after.reason} else reason end,
          leased_until = ${until}
      where id = ${webhook.id} and leased_by = ${process} returning *`
    if (made.length > 0) await noteCalls(tx, webhook.id, made, chance)
    if (recovered) {
      await tx`
        update notice set due_at = ${now}
        where webhook_id = ${webhook.id} and state = 'due' and due_at > ${now}`
    }
    const goes_on = kept?.state === 'on' && after.paused_until === null && after.goes_on
    return goes_on ? kept : undefined
  })
}

type Health = Pick<
  LeasedWebhook,
  'failed_in_a_row' | 'failing_since' | 'slow_until' | 'state' | 'reason'
> & { paused_until: Date | null; goes_on: boolean }

/** What the calls, in the order in which they ended, say of the webhook. */
function healthAfter(webhook: LeasedWebhook, made: readonly CallMade[], now: Date): Health {
  let { failed_in_a_row, failing_since, slow_until } = webhook
  let paused_ms = 0
  let gone = false
  for (const { outcome, at } of made) {
    const delivered = isDelivered(outcome)
    failing_since = delivered ? null : (failing_since ?? at)
    failed_in_a_row = delivered ? 0 : failed_in_a_row + 1
    if (SLOW_STATUSES.has(outcome.status ?? 0)) slow_until = new Date(now.getTime() + SLOW_MS)
    paused_ms = Math.max(paused_ms, 1_000 * (outcome.retry_after_seconds ?? 0))
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
