// After the answer: addresses that are screened again whenever what is known of them changes
// (labels, freezes, money that moved to or from them), and each day; and how long evidence is kept.
// A new answer stands beside the one that it supersedes; the old one never changes. A watch says
// itself when it is due, so that nothing looks at all of them to find out: at `due_at`, or when its
// label set is older than the index's. Minus one is older than any.

import type { Address } from 'penstock-tron/address.ts'
import { type Clock, DAY_MS, later } from '../../lib/clock.ts'
import { firstIdAt, type NewId } from '../../lib/ids.ts'
import { lockCustomer } from '../../people/customers/customers.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Generations } from '../tracing/generations.ts'
import type { CheckState } from './forms.ts'
import { aboutAddress, placeAgain } from './placing.ts'
import type { WatchRules } from './watch_rules.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  generations: Pick<Generations, 'current'>
}

export type Watch = WatchRules & {
  customer_id: string
  address: Address
  made_at: Date
  label_set: number
  check_id: string | null
  /** What its customer calls it. */
  reference: string | null
}

export const WATCH_COLUMNS = columnsOf<Watch>()([
  'customer_id',
  'address',
  'made_at',
  'label_set',
  'check_id',
  'reference',
  'any_incoming_usd',
  'severe_share_bp',
  'severe_usd',
  'sent_to',
])

/** Addresses that a customer may watch. */
export const WATCHES_MAX = 100_000

/** What is wanted of a watch; of one that is there already what is left out stays. */
export type NewWatch = Pick<Watch, 'address'> & { reference?: string; rules?: WatchRules }

/** Watches addresses for a customer from now on: those that were watched already by these rules.
 *  Says how many were not watched before. The caller has locked the customer. */
export async function watch(
  tx: Tx,
  wanted: { customer_id: string; made_at: Date; watches: readonly NewWatch[] },
): Promise<number> {
  const { customer_id, made_at, watches } = wanted
  const rule = <K extends keyof WatchRules>(name: K) =>
    watches.map(({ rules }) => rules?.[name] ?? null)
  const addresses = watches.map((one) => one.address)
  await tx`
    select from aml_watch where customer_id = ${customer_id} and address = any(${addresses})
    order by address for update`
  const added = await tx`
    with wanted as (
      select * from unnest(${addresses}::text[],
        ${watches.map((one) => one.reference ?? null)}::text[],
        ${watches.map((one) => one.rules !== undefined)}::boolean[],
        ${rule('any_incoming_usd')}::bigint[], ${rule('severe_share_bp')}::integer[],
        ${rule('severe_usd')}::bigint[], ${rule('sent_to')}::boolean[])
        as w (address, reference, has_rules, any_incoming_usd, severe_share_bp, severe_usd, sent_to)
    ), ruled as (
      update aml_watch as w set label_set = -1, seen_share_bp = null, seen_usd = null,
        any_incoming_usd = n.any_incoming_usd, severe_share_bp = n.severe_share_bp,
        severe_usd = n.severe_usd, sent_to = n.sent_to,
        reference = coalesce(n.reference, w.reference)
      from wanted as n
      where w.customer_id = ${customer_id} and w.address = n.address and n.has_rules
    ), named as (
      update aml_watch as w set reference = n.reference
      from wanted as n
      where w.customer_id = ${customer_id} and w.address = n.address and not n.has_rules
        and n.reference is not null
    )
    insert into aml_watch (customer_id, address, made_at, label_set, reference, any_incoming_usd,
      severe_share_bp, severe_usd, sent_to)
    select ${customer_id}, address, ${made_at}, -1, reference, any_incoming_usd, severe_share_bp,
      severe_usd, coalesce(sent_to, false) from wanted
    on conflict do nothing returning 1`
  return added.length
}

/** The same under a lock of the customer; undefined: that would be more than a customer may watch,
 *  and the caller rolls it back. */
export async function watchWithin(
  tx: Tx,
  wanted: { customer_id: string; made_at: Date; watches: readonly NewWatch[] },
): Promise<number | undefined> {
  const { customer_id } = wanted
  await lockCustomer(tx, customer_id)
  const added = await watch(tx, wanted)
  const [counted] = await tx<{ watches: number }>`
    select count(*)::integer as watches from aml_watch where customer_id = ${customer_id}`
  return counted!.watches > WATCHES_MAX ? undefined : added
}

/** Ends the watch of an address, or all of the customer; 0 when there was none. */
export async function unwatch(
  tx: Tx,
  { customer_id, address }: { customer_id: string; address?: Address },
): Promise<number> {
  const gone = await tx`
    with held as (
      select customer_id, address from aml_watch where customer_id = ${customer_id}
        and address = coalesce(${address ?? null}, address)
      order by address for update
    )
    delete from aml_watch as w using held
    where w.customer_id = held.customer_id and w.address = held.address returning 1`
  return gone.length
}

const AT_ONCE = 100
/** An answer that is on its way is looked at again after so long. */
const OPEN_MS = 10_000

type DueWatch = Pick<Watch, 'customer_id' | 'address' | 'check_id'> & {
  outdated: boolean
  state: CheckState | null
  /** Whether the newest answer knows all that moved, and when the next is due then. */
  knows: boolean
  next_at: Date | null
}

/** Places checks of watched addresses that were last screened under older labels, or that are due:
 *  because money moved to or from them, or since a day. */
export function rescreenStep(needs: Needs): Step {
  const { sql, clock, generations } = needs
  let looked_at_set = -1
  return {
    name: 'rescreen',
    rest_ms: 10_000,
    needs_index: true,
    due: (sql) => sql`
      select where (select min(due_at) from aml_watch) <= ${clock.now()}::timestamptz
        or (select min(label_set) from aml_watch)
          < ${generations.current()?.label_set ?? -1}::integer
        or exists (select from aml_watch, (select max(number) as number from label_set) as newest
          where newest.number > ${looked_at_set}::integer)`,
    after: ['index', 'watch_blocks'],
    async run() {
      const label_set = generations.current()?.label_set
      if (label_set === undefined) return false
      const now = clock.now()
      const { newest, moved } = await sql.begin(async (tx) => {
        const newest = await newestSet(tx)
        if (newest > looked_at_set) await hurryListed(tx, newest, now)
        const due = await dueWatches(tx, label_set, now)
        const wanted = due.filter((one) => one.outdated || !(isOpen(one) || isCurrent(one, now)))
        for (const { customer_id, address, check_id } of wanted) {
          const { id } = await placeAgain(tx, needs, aboutAddress(address), {
            customer_id,
            supersedes: check_id,
          })
          await tx`
            update aml_watch set label_set = greatest(label_set, ${label_set}::integer),
              check_id = ${id}, due_at = ${later(clock, DAY_MS)}
            where customer_id = ${customer_id} and address = ${address}`
        }
        const others = due.filter((one) => !wanted.includes(one))
        if (others.length > 0) await postpone(tx, others, later(clock, OPEN_MS))
        return { newest, moved: wanted.length > 0 }
      })
      // Only now: who was hurried by a transaction that failed was not.
      looked_at_set = newest
      return moved
    },
  }
}

const isOpen = ({ state }: DueWatch) => state === 'pending' || state === 'processing'
const isCurrent = ({ state, knows, next_at }: DueWatch, now: Date) =>
  state === 'completed' && knows && next_at !== null && next_at > now

async function newestSet(tx: Tx): Promise<number> {
  const [row] = await tx<{ number: number }>`select max(number) as number from label_set`
  return row!.number
}

/** Whoever an official list names is screened again before the index knows that list. */
async function hurryListed(tx: Tx, label_set: number, now: Date): Promise<void> {
  await tx`
    with listed as (
      select w.customer_id, w.address
      from aml_watch as w join version_entry as e on e.address = w.address
        join label_set_version as m using (version_id)
      where e.kind = 'authority' and m.label_set = ${label_set}
        and (e.valid_from is null or e.valid_from <= ${now})
        and (e.valid_to is null or e.valid_to > ${now})
        and not exists (select 1 from aml_check as c where c.id = w.check_id and c.blacklist)
      order by w.customer_id, w.address for update of w
    )
    update aml_watch as w set label_set = -1
    from listed where w.customer_id = listed.customer_id and w.address = listed.address`
}

/** Each row by an index: of the label set, or of the time. */
function dueWatches(tx: Tx, label_set: number, now: Date): Promise<DueWatch[]> {
  return tx<DueWatch>`
    with outdated as materialized (
      select customer_id, address from aml_watch where label_set < ${label_set}
      order by label_set, customer_id, address limit ${AT_ONCE} for update skip locked
    ), late as materialized (
      select customer_id, address from aml_watch where due_at <= ${now}
      order by due_at, customer_id, address limit ${AT_ONCE} for update skip locked
    ), due as (select * from outdated union select * from late)
    select w.customer_id, w.address, w.check_id, w.label_set < ${label_set} as outdated, c.state,
      coalesce(w.moved_number, 0) <= coalesce(c.index_number, 0) as knows,
      c.created_at + interval '1 day' as next_at
    from due join aml_watch as w using (customer_id, address)
    left join aml_check as c on c.id = w.check_id
    order by w.label_set, w.customer_id, w.address`
}

/** Until the answer that is on its way is there, or until the next day's. */
async function postpone(tx: Tx, watches: readonly DueWatch[], soon: Date): Promise<void> {
  await tx`
    update aml_watch as w set due_at = d.due_at
    from unnest(${watches.map((one) => one.customer_id)}::text[],
      ${watches.map((one) => one.address)}::text[],
      ${watches.map((one) => (isOpen(one) ? soon : one.next_at))}::timestamptz[])
      as d (customer_id, address, due_at)
    where w.customer_id = d.customer_id and w.address = d.address`
}

/** How many of these addresses somebody watches. */
export async function watchedAmong(sql: Sql, addresses: ReadonlySet<string>): Promise<number> {
  const [row] = await sql<{ watched: number }>`
    select count(distinct address)::integer as watched from aml_watch
    where address = any(${[...addresses]})`
  return row!.watched
}

/** Five years, as the recommendations for those who keep such records ask. */
export const DEFAULT_RETENTION_DAYS = 5 * 366

/** Deletes evidence and providers' answers of checks that ended longer ago than is to be kept. The
 *  checks stay. */
export function retainStep(
  { sql, clock }: Pick<Needs, 'sql' | 'clock'>,
  retention_days: number,
): Step {
  const before = () => later(clock, -retention_days * 86_400_000)
  // By their ids, which tell when they were asked: there is no index of when they ended.
  const made_before = () => firstIdAt(before())
  return {
    name: 'retain',
    rest_ms: 3_600_000,
    duty: 'upkeep',
    due: (sql) => sql`
      select where (select min(check_id) from aml_evidence) < ${made_before()}
        or (select min(check_id) from aml_answer) < ${made_before()}`,
    async run() {
      const evidence = await sql`
        delete from aml_evidence where check_id in (
          select e.check_id from aml_evidence as e join aml_check as c on c.id = e.check_id
          where e.check_id < ${made_before()} and c.ended_at < ${before()} limit 1000)
        returning 1`
      const answers = await sql`
        delete from aml_answer where id in (
          select a.id from aml_answer as a join aml_check as c on c.id = a.check_id
          where a.check_id < ${made_before()} and c.ended_at < ${before()} limit 1000)
        returning 1`
      return evidence.length + answers.length > 0
    },
  }
}
