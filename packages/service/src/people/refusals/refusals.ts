// What customers' calls were refused for, so that they can see why a client of theirs fails. It is
// written after the answer, in batches, one at a time: a flood of refusals costs one connection and
// some memory, and what is too much is left out and counted. Kept for a week.

import { type Clock, dayOf, later } from '../../lib/clock.ts'
import { batched } from '../../platform/database/batch.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { RefusedCall } from '../../platform/http/calls.ts'
import type { Step } from '../../platform/steps/step.ts'
import { keptText } from './kept_text.ts'
import { hintOf, type SecretsOf, type SignatureHint } from './signature_hint.ts'

export type Needs = { sql: Sql; clock: Clock; secretsOf: SecretsOf }

export type Refusal = {
  id: bigint
  at: Date
  path: string
  code: number
  key: string
  request_id: string
  key_id: string
  ip: string
  ms: number
  body: string | null
  hashed_bytes: number | null
  body_sha256: string | null
  right_for: SignatureHint['right_for']
}

const REFUSAL_COLUMNS = columnsOf<Refusal>()([
  'id',
  'at',
  'path',
  'code',
  'key',
  'request_id',
  'key_id',
  'ip',
  'ms',
  'body',
  'hashed_bytes',
  'body_sha256',
  'right_for',
])

export type Refusals = {
  /** Takes note of a refusal, or leaves it out. */
  note(call: RefusedCall): void
  /** Resolves when all that was noted is written. */
  written(): Promise<void>
}

const BATCH_MAX = 500
/** What may wait to be written; a body has at most 64 KiB. */
const WAITING_MAX = 2_000
const WAITING_BYTES_MAX = 8 * 1024 * 1024
export const KEPT_A_DAY = 10_000
/** Codes for which the body may be what is wrong. */
const BODY_CODES: ReadonlySet<number> = new Set([2, 10, 11, 12, 50])

export function refusalRecorder(needs: Needs): Refusals {
  let waiting = 0
  let waiting_bytes = 0
  let all_written = Promise.resolve()
  /** By key: what was left out since the last batch. */
  const left_out = new Map<string, number>()
  const write = batched(BATCH_MAX, async (calls: RefusedCall[]) => {
    const skipped = [...left_out]
    left_out.clear()
    await needs.sql.begin((tx) => writeRefusals(tx, needs, calls, skipped))
    return calls
  })

  return {
    note(call) {
      const bytes = call.body.length
      if (waiting >= WAITING_MAX || waiting_bytes + bytes > WAITING_BYTES_MAX) {
        left_out.set(call.key_id, (left_out.get(call.key_id) ?? 0) + 1)
        return
      }
      waiting += 1
      waiting_bytes += bytes
      // Whatever happens to it, the call was answered.
      const written = write(call)
        .catch(() => {})
        .finally(() => {
          waiting -= 1
          waiting_bytes -= bytes
        })
      all_written = Promise.all([all_written, written]).then(() => {})
    },
    written: () => all_written,
  }
}

async function writeRefusals(
  tx: Tx,
  { secretsOf }: Needs,
  calls: readonly RefusedCall[],
  skipped: readonly (readonly [key_id: string, count: number])[],
): Promise<void> {
  const key_ids = [...new Set([...calls.map(({ key_id }) => key_id), ...skipped.map(([id]) => id)])]
  const owners = await tx<{ id: string; customer_id: string }>`
    select id, customer_id from api_key where id = any(${key_ids})`
  const owner_of = new Map(owners.map(({ id, customer_id }) => [id, customer_id]))
  const rows = calls.filter(({ key_id }) => owner_of.has(key_id))
  const kept = await keepOfDays(tx, { rows, skipped, owner_of })
  const doubted = kept.filter(({ signature }) => signature !== undefined)
  const secrets = await secretsOf(tx, [...new Set(doubted.map(({ key_id }) => key_id))])
  const hints = kept.map((call) => hintOf(call, secrets.get(call.key_id) ?? []))
  const column = <Key extends keyof RefusedCall>(name: Key) => kept.map((call) => call[name])
  tx.send`
    insert into refusal (customer_id, key_id, at, path, code, key, request_id, ip, ms, body,
      hashed_bytes, body_sha256, right_for)
    select * from unnest(${kept.map(({ key_id }) => owner_of.get(key_id)!)}::text[],
      ${column('key_id')}::text[], ${column('at')}::timestamptz[], ${column('path')}::text[],
      ${column('code')}::integer[], ${column('key')}::text[], ${column('request_id')}::text[],
      ${column('ip')}::text[], ${column('ms')}::integer[],
      ${kept.map((call) => (BODY_CODES.has(call.code) ? keptText(call) : null))}::text[],
      ${hints.map((hint) => hint?.hashed_bytes ?? null)}::integer[],
      ${hints.map((hint) => hint?.body_sha256 ?? null)}::text[],
      ${hints.map((hint) => hint?.right_for ?? null)}::text[])`
}

type RefusedDays = {
  rows: readonly RefusedCall[]
  skipped: readonly (readonly [key_id: string, count: number])[]
  owner_of: ReadonlyMap<string, string>
}

/** Counts what was refused, and gives those that are still to be kept of each customer's day. */
async function keepOfDays(
  tx: Tx,
  { rows, skipped, owner_of }: RefusedDays,
): Promise<RefusedCall[]> {
  const day = dayOf(rows[0]?.at ?? new Date(0))
  const of_customer = Map.groupBy(rows, ({ key_id }) => owner_of.get(key_id)!)
  const owners = [...of_customer.keys()].sort()
  await tx`
    insert into refusal_day (customer_id, day, kept, left_out)
    select customer_id, ${day}, 0, 0 from unnest(${owners}::text[]) as t (customer_id)
    on conflict (customer_id, day) do nothing`
  const days = await tx<{ customer_id: string; kept: number }>`
    select customer_id, kept from refusal_day
    where customer_id = any(${owners}) and day = ${day} order by customer_id for update`
  const lost_of = new Map<string, number>()
  for (const [key_id, count] of skipped) {
    const owner = owner_of.get(key_id) ?? ''
    lost_of.set(owner, (lost_of.get(owner) ?? 0) + count)
  }
  const shares = days.map(({ customer_id, kept }) => {
    const own = of_customer.get(customer_id)!
    const keep = own.slice(0, Math.max(0, KEPT_A_DAY - kept))
    return { keep, lost: own.length - keep.length + (lost_of.get(customer_id) ?? 0) }
  })
  tx.send`
    update refusal_day as d set kept = d.kept + t.kept, left_out = d.left_out + t.lost
    from unnest(${days.map(({ customer_id }) => customer_id)}::text[],
                ${shares.map(({ keep }) => keep.length)}::integer[],
                ${shares.map(({ lost }) => lost)}::integer[]) as t (customer_id, kept, lost)
    where d.customer_id = t.customer_id and d.day = ${day}`
  return shares.flatMap(({ keep }) => keep)
}

export type RefusalFilter = {
  customer_id: string
  since?: Date | undefined
  code?: number | undefined
  before?: { at: Date; id: bigint } | undefined
  limit: number
}

/** Before the newest. */
const FIRST = { at: 'infinity', id: 0n }

/** A customer's refusals, newest first. */
export async function listRefusals(sql: Sql, wanted: RefusalFilter): Promise<Refusal[]> {
  const { customer_id, since = '-infinity', code, before = FIRST, limit } = wanted
  if (code === undefined) {
    return sql<Refusal>`
      select ${REFUSAL_COLUMNS} from refusal
      where customer_id = ${customer_id} and at >= ${since} and at <= ${before.at}
        and (at, id) < (${before.at}, ${before.id}::bigint)
      order by at desc, id desc limit ${limit}`
  }
  return sql<Refusal>`
    select ${REFUSAL_COLUMNS} from refusal
    where customer_id = ${customer_id} and code = ${code} and at >= ${since} and at <= ${before.at}
      and (at, id) < (${before.at}, ${before.id}::bigint)
    order by at desc, id desc limit ${limit}`
}

/** How many refusals of the days that are kept were left out. */
export async function leftOut(sql: Sql, customer_id: string): Promise<number> {
  const [sum] = await sql<{ left_out: number }>`
    select coalesce(sum(left_out), 0)::integer as left_out from refusal_day
    where customer_id = ${customer_id}`
  return sum!.left_out
}

export const REFUSAL_DAYS = 7
const KEPT_MS = REFUSAL_DAYS * 86_400_000
const PRUNED_AT_ONCE = 5_000

/** Deletes what is older than a week. */
export function pruneRefusalsStep({ sql, clock }: Pick<Needs, 'sql' | 'clock'>): Step {
  const before = () => later(clock, -KEPT_MS)
  return {
    name: 'prune_refusals',
    rest_ms: 600_000,
    duty: 'upkeep',
    // Of days there are a few for each customer who was refused: they are read without an index.
    due: (sql) => sql`
      select where (select min(at) from refusal) < ${before()}
        or (select min(day) from refusal_day) < ${dayOf(before())}`,
    async run() {
      await sql`delete from refusal_day where day < ${dayOf(before())}`
      const gone = await sql`
        delete from refusal where id in (
          select id from refusal where at < ${before()} order by at limit ${PRUNED_AT_ONCE})
        returning 1`
      return gone.length > 0
    },
  }
}
