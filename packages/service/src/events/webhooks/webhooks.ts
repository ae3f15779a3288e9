// Webhooks: where a customer, or the house, wants to be told. Here are their rows and what their
// owner does with them; notify.ts calls them.

import { type Clock, later, wireTime } from '../../lib/clock.ts'
import { firstIdAt, type NewId, type Random } from '../../lib/ids.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { Conflict, LimitReached, NotFound } from '../../platform/wire/endpoint.ts'
import type { EventScope, Readable } from '../log/kinds.ts'
import { noteEvents } from '../log/notes.ts'
import { newWebhookSecret } from './signing.ts'
import { type Rules, readTarget } from './targets.ts'

export type WebhookState = 'on' | 'off' | 'disabled' | 'removed'

export type Webhook = {
  id: string
  customer_id: string
  url: string
  description: string | null
  types: string[] | null
  /** What the key could read that made it, or gave it its types. */
  scopes: EventScope[]
  state: WebhookState
  reason: string | null
  at_once: number
  per_second: number | null
  position: bigint
  made_at: Date
  failing_since: Date | null
  failed_in_a_row: number
}

export const WEBHOOK_COLUMNS = columnsOf<Webhook>()([
  'id',
  'customer_id',
  'url',
  'description',
  'types',
  'scopes',
  'state',
  'reason',
  'at_once',
  'per_second',
  'position',
  'made_at',
  'failing_since',
  'failed_in_a_row',
])

export type SecretRow = { number: number; made_at: Date; until: Date | null }

/** What a customer may have, removed ones not counted. */
export const WEBHOOKS_MAX = 20
/** What a customer may make in a day: a removed one stays as a row. */
export const WEBHOOKS_A_DAY = 200
const HOUR_MS = 3_600_000

/** Seals and opens the secrets of webhooks. */
export type SecretSeal = {
  seal(secret: string, context: string): string
  open(sealed: string, context: string): string
}

export type Needs = { clock: Clock; new_id: NewId; random: Random; seal: SecretSeal }

/** What the sealed secret of a webhook is bound to. */
export const webhookContext = (webhook_id: string): string => `webhook:${webhook_id}`

export type NewWebhook = {
  customer_id: string
  /** The key that makes it; left out: the operator. */
  made_by_key?: string | undefined
  url: string
  description?: string | undefined
  types?: readonly string[] | null | undefined
  scopes: readonly EventScope[]
  at_once?: number | undefined
  per_second?: number | null | undefined
}

/** The networks that an operator has allowed for a customer. */
export async function allowedNetworks(sql: Sql | Tx, customer_id: string): Promise<string[]> {
  const rows = await sql<{ network: string }>`
    select network from webhook_network where customer_id = ${customer_id} order by network`
  return rows.map(({ network }) => network)
}

/** Allows a network for a customer's webhooks, and with it plain http. False when it was allowed
 *  before. */
export async function allowNetwork(
  tx: Tx,
  { customer_id, network, at }: { customer_id: string; network: string; at: Date },
): Promise<boolean> {
  const made = await tx`
    insert into webhook_network (customer_id, network, made_at)
    values (${customer_id}, ${network}, ${at}) on conflict do nothing returning network`
  return made.length > 0
}

/** Takes it back: the next call is refused. False when it was not allowed. */
export async function denyNetwork(
  tx: Tx,
  { customer_id, network }: { customer_id: string; network: string },
): Promise<boolean> {
  const gone = await tx`
    delete from webhook_network where customer_id = ${customer_id} and network = ${network}
    returning network`
  return gone.length > 0
}

/** Makes a webhook, which reads from now on, and its secret, which is shown this once. Throws
 *  UrlRefused, and LimitReached when the customer has as many as may be. */
export async function createWebhook(
  tx: Tx,
  needs: Needs,
  wanted: NewWebhook,
  own_host?: string,
): Promise<{ webhook: Webhook; secret: string }> {
  const { customer_id, url, description = null, types = null } = wanted
  readTarget(url, { networks: await allowedNetworks(tx, customer_id), own_host })
  await lockCustomer(tx, customer_id)
  const [count] = await tx<{ count: bigint }>`
    select count(*) as count from webhook where customer_id = ${customer_id} and state <> 'removed'`
  if (count!.count >= BigInt(WEBHOOKS_MAX))
    throw LimitReached('webhook', `There are ${WEBHOOKS_MAX} webhooks already`)
  const a_day_ago = later(needs.clock, -24 * HOUR_MS)
  const [made] = await tx<{ count: bigint }>`
    select count(*) as count from webhook
    where customer_id = ${customer_id} and id >= ${firstIdAt(a_day_ago)}`
  if (made!.count >= BigInt(WEBHOOKS_A_DAY))
    throw LimitReached('webhook', `${WEBHOOKS_A_DAY} webhooks were made within a day`)
  const id = needs.new_id()
  const [webhook] = await tx<Webhook>`
    insert into webhook (id, customer_id, url, description, types, scopes, at_once, per_second,
      position, made_at, made_by_key)
    select ${id}, ${customer_id}, ${url}, ${description}, ${types}, ${wanted.scopes},
      ${wanted.at_once ?? 8}, ${wanted.per_second ?? null},
      coalesce((select last_number from event_counter where customer_id = ${customer_id}), 0),
      ${needs.clock.now()}, ${wanted.made_by_key ?? null}
    returning ${WEBHOOK_COLUMNS}`
  const secret = await addSecret(tx, needs, webhook!)
  return { webhook: webhook!, secret }
}

/** Nobody else counts the customer's webhooks meanwhile. The house has no row, and one operator at
 *  a time is enough. */
async function lockCustomer(tx: Tx, customer_id: string): Promise<void> {
  await tx`select 1 from customer where id = ${customer_id} for no key update`
}

async function addSecret(tx: Tx, needs: Needs, { id }: Pick<Webhook, 'id'>): Promise<string> {
  const secret = newWebhookSecret(needs.random)
  await tx`
    insert into webhook_secret (webhook_id, number, sealed_secret, made_at)
    select ${id}, coalesce(max(number), 0) + 1, ${needs.seal.seal(secret, webhookContext(id))},
      ${needs.clock.now()}
    from webhook_secret where webhook_id = ${id}`
  return secret
}

/** One webhook of a customer that is not removed. Throws NotFound. */
export async function findWebhook(
  sql: Sql | Tx,
  { customer_id, id }: { customer_id: string; id: string },
  field = 'id',
): Promise<Webhook> {
  const [webhook] = await sql<Webhook>`
    select ${WEBHOOK_COLUMNS} from webhook
    where id = ${id} and customer_id = ${customer_id} and state <> 'removed'`
  if (!webhook)
    throw NotFound('webhook', 'There is no such webhook').absent(field, 'webhook of yours')
  return webhook
}

/** findWebhook(), and it stays as it is until the transaction ends. Throws NotFound. */
export async function lockWebhook(
  tx: Tx,
  { customer_id, id }: { customer_id: string; id: string },
  field = 'id',
): Promise<Webhook> {
  const [webhook] = await tx<Webhook>`
    select ${WEBHOOK_COLUMNS} from webhook
    where id = ${id} and customer_id = ${customer_id} and state <> 'removed' for no key update`
  if (!webhook)
    throw NotFound('webhook', 'There is no such webhook').absent(field, 'webhook of yours')
  return webhook
}

export type WebhookChange = {
  url?: string | undefined
  description?: string | undefined
  /** Null: all that may be read. */
  types?: readonly string[] | null | undefined
  /** What those may read who change it. */
  scopes: readonly EventScope[]
  /** The key that changes it, which made it from then on if it leads it elsewhere. */
  by_key?: string | undefined
  at_once?: number | undefined
  per_second?: number | null | undefined
  /** `on` also puts one on again that was disabled. */
  state?: 'on' | 'off' | undefined
  /** Put on again, it goes on with what comes from now on, and not where it stopped. */
  from_now?: boolean | undefined
}

/** Changes a webhook of a customer. `readable`: needed where it may be led elsewhere. Throws
 *  NotFound and UrlRefused. */
export async function changeWebhook(
  tx: Tx,
  needs: Pick<Needs, 'clock'> & { readable?: Readable | undefined },
  which: { customer_id: string; id: string },
  change: WebhookChange,
  rules: Pick<Rules, 'own_host'> = {},
): Promise<Webhook> {
  const before = await lockWebhook(tx, which)
  const { url = before.url, types = before.types, state = before.state, from_now = false } = change
  const { per_second = before.per_second } = change
  if (url !== before.url) {
    readTarget(url, { networks: await allowedNetworks(tx, which.customer_id), ...rules })
  }
  // Anyone who says where it goes, or what it is told, must not learn more by it than they may
  // read.
  const led_elsewhere = url !== before.url || change.types !== undefined
  const begins = state === 'on' && before.state !== 'on'
  const now = needs.clock.now()
  const [webhook] = await tx<Webhook>`
    update webhook
    set url = ${url}, description = ${change.description ?? before.description},
        types = ${types}, scopes = ${led_elsewhere ? change.scopes : before.scopes},
        made_by_key = case when ${url !== before.url}::boolean then ${change.by_key ?? null}
          else made_by_key end,
        at_once = ${change.at_once ?? before.at_once}, per_second = ${per_second},
        state = ${state}, reason = ${state === 'disabled' ? before.reason : null},
        failing_since = ${begins ? null : before.failing_since},
        failed_in_a_row = ${begins ? 0 : before.failed_in_a_row},
        paused_until = case when ${begins}::boolean then null else paused_until end,
        position = case when ${begins && from_now}::boolean
          then coalesce((select last_number from event_counter as c
                         where c.customer_id = webhook.customer_id), 0)
          else position end
    where id = ${which.id} returning ${WEBHOOK_COLUMNS}`
  if (begins && from_now) await passDue(tx, which.id, null)
  else if (types !== null && change.types !== undefined) await passDue(tx, which.id, types)
  // Calls that were written for others to read may be open still.
  if (led_elsewhere && needs.readable) await passDue(tx, which.id, needs.readable(webhook!.scopes))
  if (begins) {
    await makeDue(tx, which.id, now)
    // What its owner puts off and on again, as often as may be, is no news.
    if (before.state === 'disabled') noteState(tx, 'webhook.enabled', webhook!, now)
  }
  return webhook!
}

/** on, off -> disabled, by hand. Throws NotFound. */
export async function disableWebhook(
  tx: Tx,
  which: { customer_id: string; id: string },
  { reason, at }: { reason: string; at: Date },
): Promise<void> {
  await lockWebhook(tx, which)
  const [webhook] = await tx<Webhook>`
    update webhook set state = 'disabled', reason = ${reason} where id = ${which.id}
    returning ${WEBHOOK_COLUMNS}`
  noteState(tx, 'webhook.disabled', webhook!, at)
}

/** Notes what a webhook has become, as the kinds in forms.ts say. */
export function noteState(
  tx: Tx,
  type: 'webhook.enabled' | 'webhook.disabled',
  webhook: Webhook,
  at: Date,
): void {
  const { id, customer_id, url, description, types, state, reason } = webhook
  const data = {
    id,
    url,
    description,
    types,
    state,
    reason,
    failing_since: webhook.failing_since && wireTime(webhook.failing_since),
    created_at: wireTime(webhook.made_at),
  }
  noteEvents(tx, [{ type, subject: `webhook:${id}`, customer_id, at, data }])
}

/** The receiver is called as one that never failed, because somebody says that it is mended. */
export function callAnew(tx: Tx, { id }: Pick<Webhook, 'id'>): void {
  tx.send`update webhook set failed_in_a_row = 0, paused_until = null where id = ${id}`
}

/** The receiver has just answered as it should: whatever is open is called at once. The webhook is
 *  locked. */
export async function noteAnswered(tx: Tx, webhook: Pick<Webhook, 'id'>, now: Date): Promise<void> {
  callAnew(tx, webhook)
  tx.send`update webhook set failing_since = null where id = ${webhook.id}`
  await makeDue(tx, webhook.id, now)
}

/** Whatever is open is called at once. */
async function makeDue(tx: Tx, webhook_id: string, now: Date): Promise<void> {
  await tx`
    update notice set due_at = ${now}, calls = 0
    where webhook_id = ${webhook_id} and state = 'due'`
}

/** due -> passed, where the type is none of those that are left: nobody is told of it any more. */
async function passDue(tx: Tx, webhook_id: string, left: readonly string[] | null): Promise<void> {
  await tx`
    update notice set state = 'passed'
    where webhook_id = ${webhook_id} and state = 'due'
      and (${left}::text[] is null or not type = any(${left}))`
}

/** Removes a webhook of a customer, for good. Throws NotFound. */
export async function removeWebhook(
  tx: Tx,
  which: { customer_id: string; id: string },
): Promise<void> {
  await lockWebhook(tx, which)
  await tx`update webhook set state = 'removed', reason = null where id = ${which.id}`
  await passDue(tx, which.id, null)
  await tx`delete from webhook_secret where webhook_id = ${which.id}`
}

const ERASED_URL = 'https://erased.invalid/'

/** Removes all webhooks of a customer, and where they were. */
export async function eraseWebhooks(tx: Tx, customer_id: string): Promise<number> {
  const webhooks = await tx<{ id: string }>`
    select id from webhook where customer_id = ${customer_id} and state <> 'removed'
    order by id for update`
  for (const { id } of webhooks) await removeWebhook(tx, { customer_id, id })
  await tx`
    update webhook set url = ${ERASED_URL}, description = null where customer_id = ${customer_id}`
  return webhooks.length
}

/** Makes another secret and ends those before after so many hours. Until then calls carry a
 *  signature by each. Throws NotFound, and Conflict while two are alive already, unless they are
 *  to end at once: a secret that is known to strangers must not wait. */
export async function rotateSecret(
  tx: Tx,
  needs: Needs,
  which: { customer_id: string; id: string; overlap_hours: number },
): Promise<{ webhook: Webhook; secret: string }> {
  const webhook = await lockWebhook(tx, which)
  const { id } = webhook
  const now = needs.clock.now()
  const alive = await secretsAlive(tx, id, now)
  if (alive.length > 1 && which.overlap_hours > 0)
    throw Conflict('two_secrets', 'Two secrets are alive already')
  const until = new Date(now.getTime() + which.overlap_hours * HOUR_MS)
  const secret = await addSecret(tx, needs, webhook)
  await tx`
    update webhook_secret set until = ${until}
    where webhook_id = ${id} and (until is null or until > ${until})
      and number < (select max(number) from webhook_secret where webhook_id = ${id})`
  return { webhook, secret }
}

/** Seals the secrets again that another sealing key than the current one has sealed; says how
 *  many. */
export async function resealWebhookSecrets(
  tx: Tx,
  seal: SecretSeal & { isCurrent(sealed: string): boolean },
): Promise<number> {
  const secrets = await tx<{ webhook_id: string; number: number; sealed_secret: string }>`
    select webhook_id, number, sealed_secret from webhook_secret
    order by webhook_id, number for update`
  const old = secrets.filter(({ sealed_secret }) => !seal.isCurrent(sealed_secret))
  const sealed = old.map(({ webhook_id, sealed_secret }) => {
    const context = webhookContext(webhook_id)
    return seal.seal(seal.open(sealed_secret, context), context)
  })
  await tx`
    update webhook_secret as s set sealed_secret = fresh.sealed_secret
    from unnest(${old.map(({ webhook_id }) => webhook_id)}::text[],
                ${old.map(({ number }) => number)}::integer[],
                ${sealed}::text[]) as fresh (webhook_id, number, sealed_secret)
    where s.webhook_id = fresh.webhook_id and s.number = fresh.number`
  return old.length
}

/** Of each sealing key the newest secret that it has sealed and that still signs: none of them can
 *  sign where one of these cannot be opened. */
export async function newestSealedSecrets(
  sql: Sql | Tx,
  at: Date,
): Promise<{ webhook_id: string; sealed_secret: string; sealed_by: string }[]> {
  return sql<{ webhook_id: string; sealed_secret: string; sealed_by: string }>`
    select distinct on (sealed_by) webhook_id, sealed_secret, sealed_by
    from webhook_secret as s join webhook as w on w.id = webhook_id,
      lateral (select split_part(sealed_secret, '.', 1) as sealed_by) as sealing
    where w.state <> 'removed' and (s.until is null or s.until > ${at})
    order by sealed_by, s.made_at desc`
}

/** The secrets that sign at this moment, newest first. */
export async function secretsAlive(
  sql: Sql | Tx,
  webhook_id: string,
  at: Date,
): Promise<(SecretRow & { sealed_secret: string })[]> {
  return sql<SecretRow & { sealed_secret: string }>`
    select number, made_at, until, sealed_secret from webhook_secret
    where webhook_id = ${webhook_id} and (until is null or until > ${at}) order by number desc`
}

/** How much of the log a webhook has before it, and how its notices stand. */
export type WebhookCounts = { waiting: bigint; due: bigint; dead: bigint }

export type WebhookReport = Webhook & WebhookCounts & { secrets: SecretRow[] }

/** Webhooks that are not removed, newest first: of a customer, or of all. */
export async function listWebhooks(
  sql: Sql | Tx,
  wanted: {
    customer_id?: string | undefined
    id?: string | undefined
    state?: WebhookState | undefined
    before?: string | undefined
    limit: number
    at: Date
  },
): Promise<WebhookReport[]> {
  const { customer_id = null, before = null, id = null, state = null, limit, at } = wanted
  const webhooks = await sql<Webhook & WebhookCounts>`
    select w.${WEBHOOK_COLUMNS},
      coalesce((select last_number from event_counter as c where c.customer_id = w.customer_id), 0)
        - position as waiting,
      (select count(*) from notice as n where n.webhook_id = w.id and n.state = 'due') as due,
      (select count(*) from notice as n where n.webhook_id = w.id and n.state = 'dead') as dead
    from webhook as w
    where w.state <> 'removed' and (${customer_id}::text is null or customer_id = ${customer_id})
      and (${before}::text is null or w.id < ${before}) and (${id}::text is null or w.id = ${id})
      and (${state}::text is null or w.state = ${state})
    order by w.id desc limit ${limit}`
  const secrets = await sql<SecretRow & { webhook_id: string }>`
    select webhook_id, number, made_at, until from webhook_secret
    where webhook_id = any(${webhooks.map((one) => one.id)}) and (until is null or until > ${at})
    order by number desc`
  return webhooks.map((webhook) => ({
    ...webhook,
    secrets: secrets
      .filter(({ webhook_id }) => webhook_id === webhook.id)
      .map(({ number, made_at, until }) => ({ number, made_at, until })),
  }))
}
