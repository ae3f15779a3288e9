// After the answer: addresses that are screened again whenever what is known of them changes
// (labels, freezes, money that moved to or from them), and each day; and how long evidence is kept.
// A new answer stands beside the one that it supersedes; the old one never changes.

import { type Address, isAddress } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import type { StoredBlock } from '../../chain/follow/blocks.ts'
import { isBehind, readSolidBlocks } from '../../chain/follow/cursors.ts'
import { noteEvents } from '../../events/log/notes.ts'
import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { type Clock, later, wireTime } from '../../lib/clock.ts'
import { firstIdAt, type NewId } from '../../lib/ids.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  LimitReached,
  NotFound,
  refuses,
} from '../../platform/wire/endpoint.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  noPlace,
  page,
  rowsFor,
} from '../../platform/wire/lists.ts'
import type { Generations } from '../tracing/generations.ts'
import type { Check } from './checks.ts'
import { CHECK_COLUMNS, CheckForm, printCheck } from './forms.ts'
import { aboutAddress, placeAgain } from './placing.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  generations: Pick<Generations, 'current'>
}

export type Watch = {
  customer_id: string
  address: Address
  made_at: Date
  label_set: number
  check_id: string | null
}

const WATCH_COLUMNS = columnsOf<Watch>()([
  'customer_id',
  'address',
  'made_at',
  'label_set',
  'check_id',
])

/** Watches an address for a customer from now on. False: it was watched already. */
export async function watch(
  tx: Tx,
  wanted: { customer_id: string; address: Address; made_at: Date },
): Promise<boolean> {
  const { customer_id, address, made_at } = wanted
  // Minus one is before every label set: it is screened for the first time at once.
  const begun = await tx`
    insert into aml_watch (customer_id, address, made_at, label_set)
      values (${customer_id}, ${address}, ${made_at}, -1)
    on conflict do nothing returning 1`
  return begun.length > 0
}

/** False when it was not watched. */
export async function unwatch(
  tx: Tx,
  which: { customer_id: string; address: Address },
): Promise<boolean> {
  const gone = await tx`
    delete from aml_watch where customer_id = ${which.customer_id} and address = ${which.address}
      returning 1`
  return gone.length > 0
}

const AT_ONCE = 100
/** Addresses that a customer may watch. */
const WATCHES_MAX = 1_000

/** For this long after one answer, money that moves brings no other. */
const MOVES_REST_MS = 60_000
const DAY_MS = 86_400_000

/** Places checks of watched addresses that were last screened under older labels, in a process that
 *  lags behind as well, before an official list named them or an issuer's last word on them, before
 *  money moved to or from them, or a day ago; and of those that no index was there for. */
export function rescreenStep(needs: Needs): Step {
  const { sql, clock, generations } = needs
  return {
    name: 'rescreen',
    rest_ms: 10_000,
    due: (sql) => sql`select from aml_watch`,
    after: ['index', 'watch_blocks'],
    async run() {
      const label_set = generations.current()?.label_set
      if (label_set === undefined) return false
      const now = clock.now()
      const [rested, day_ago] = [later(clock, -MOVES_REST_MS), later(clock, -DAY_MS)]
      return sql.begin(async (tx) => {
        const due = await tx<Watch>`
          select w.${WATCH_COLUMNS}
          from aml_watch as w left join aml_check as c on c.id = w.check_id
          where w.label_set < ${label_set} or (c.state = 'failed' and c.error = 'index_stale')
            or (c.state in ('completed', 'failed') and (c.created_at <= ${day_ago}
              or (w.moved_number > coalesce(c.index_number, c.solid_number)
                and c.created_at <= ${rested})))
            or (c.state = 'completed' and (c.label_set < least(w.label_set, ${label_set})
              or exists (
              select 1 from flow_freeze as f where f.address = w.address
                and f.number > c.index_number)
              or (not c.blacklist and coalesce(c.label_set, 0) < (select max(number) from label_set)
                and exists (
              select 1 from list_entry as e join label_set_version as m using (version_id)
              where e.address = w.address and e.kind = 'authority'
                and m.label_set = (select max(number) from label_set)
                and (e.valid_from is null or e.valid_from <= ${now})
                and (e.valid_to is null or e.valid_to > ${now})))))
          order by w.label_set, w.customer_id, w.address
            limit ${AT_ONCE} for update of w skip locked`
        for (const { customer_id, address, check_id } of due) {
          const { id } = await placeAgain(tx, needs, aboutAddress(address), {
            customer_id,
            supersedes: check_id,
          })
          await tx`
            update aml_watch set label_set = greatest(label_set, ${label_set}::integer),
              check_id = ${id}
            where customer_id = ${customer_id} and address = ${address}`
        }
        return due.length > 0
      })
    },
  }
}

type WatchedFreeze = { address: Address; token: string; frozen: boolean; block: StoredBlock }

/** Reads what confirmed blocks say of watched addresses, each block once: tells of freezes and of
 *  their ends, and notes that money moved, for which an address is screened again. */
export function watchBlocksStep({ sql }: Pick<Needs, 'sql'>): Step {
  return {
    name: 'watch_blocks',
    rest_ms: 3_000,
    due: (sql) => isBehind(sql, { name: 'freezes', side: 'solid' }),
    after: ['follow', 'confirm'],
    before: ['publish'],
    run: () =>
      readSolidBlocks(sql, 'freezes', async (tx, blocks) => {
        const freezes = blocks.flatMap((block) =>
          block.contents.freezes.flatMap(({ kind, token, address }) =>
            kind === 'destroyed' ? [] : [{ address, token, frozen: kind === 'added', block }],
          ),
        )
        await noteMoves(tx, blocks)
        await noteFreezes(tx, freezes)
      }),
  }
}

/** Notes on watched addresses the newest block that moved money to or from them. */
async function noteMoves(tx: Tx, blocks: readonly StoredBlock[]): Promise<void> {
  const newest = new Map<Address, number>()
  for (const { number, contents } of blocks)
    for (const { from, to, amount } of contents.moves) {
      if (amount === 0n || from === to) continue
      newest.set(from, number)
      newest.set(to, number)
    }
  if (newest.size === 0) return
  await tx`
    update aml_watch as w set moved_number = m.number
    from unnest(${[...newest.keys()]}::text[], ${[...newest.values()]}::bigint[])
      as m (address, number)
    where w.address = m.address`
}

async function noteFreezes(tx: Tx, freezes: readonly WatchedFreeze[]): Promise<void> {
  if (freezes.length === 0) return
  const watches = await tx<Pick<Watch, 'customer_id' | 'address'>>`
    select customer_id, address from aml_watch
    where address = any(${freezes.map(({ address }) => address)}) order by customer_id`
  const watches_of = Map.groupBy(watches, ({ address }) => address)
  noteEvents(
    tx,
    freezes.flatMap(({ address, token, frozen, block }) =>
      (watches_of.get(address) ?? []).map(({ customer_id }) => ({
        type: frozen ? ('freeze.executed' as const) : ('freeze.lifted' as const),
        subject: `freeze:${address}`,
        customer_id,
        at: block.time,
        data: { address, token, block_number: block.number },
      })),
    ),
  )
}

const ADDRESS_REFUSED = refuses(InvalidParams, '`address` is no address of the network', 'address')

const AddressField = Type.String({
  format: 'address',
  fault: () => InvalidParams('address', 'Invalid address'),
})

const WatchForm = Type.Object({
  address: Type.String(),
  since: Type.String(),
  check: Type.Union([CheckForm, Type.Null()], {
    description: 'The newest; null until the first is placed',
  }),
  level_before: Type.Union([Type.String(), Type.Null()], {
    description: 'The level of the answer that the newest one supersedes',
  }),
})

type WatchRow = Pick<Watch, 'address' | 'made_at'> & {
  newest: Check | null
  level_before: string | null
}

const printWatch = ({ address, made_at, newest, level_before }: WatchRow) => ({
  address,
  since: wireTime(made_at),
  check: newest && printCheck(newest),
  level_before,
})

/** Where a page ends. */
type WatchPlace = Pick<Watch, 'made_at' | 'address'>

const placeText = ({ made_at, address }: WatchPlace): string => `${made_at.getTime()}.${address}`

/** Throws 2 when it is no place that a page ended with. */
function readWatchPlace(before: string | undefined): WatchPlace | undefined {
  if (before === undefined) return undefined
  const [, ms, address] = /^(\d{1,14})\.(\w{34})$/.exec(before) ?? []
  if (!isAddress(address)) throw noPlace()
  return { made_at: new Date(Number(ms)), address }
}

/** Watched addresses, newest first, or one of them, with the newest check of each. */
async function readWatches(
  sql: Sql,
  wanted: {
    customer_id: string
    address?: Address
    before?: WatchPlace | undefined
    limit: number
  },
): Promise<WatchRow[]> {
  const { customer_id, address = null, before, limit } = wanted
  const { made_at: before_at = null, address: before_address = null } = before ?? {}
  const watches = await sql<Watch & { level_before: string | null }>`
    with recursive page as (
      select ${WATCH_COLUMNS} from aml_watch as w
      where customer_id = ${customer_id} and (${address}::text is null or address = ${address})
        and (${before_at}::timestamptz is null
          or (made_at, address) < (${before_at}, ${before_address}::text))
      order by made_at desc, address desc limit ${limit}
    ), back as (
      select page.address, c.supersedes as id from page join aml_check as c on c.id = page.check_id
      union all
      select back.address, gone.supersedes from back join aml_check as gone on gone.id = back.id
      where gone.state <> 'completed'
    )
    select page.*, (
      select c.risk_level from back join aml_check as c on c.id = back.id
      where back.address = page.address and c.state = 'completed') as level_before
    from page order by made_at desc, address desc`
  const checks = await sql<Check>`
    select ${CHECK_COLUMNS} from aml_check
    where id = any(${watches.map(({ check_id }) => check_id)})`
  const check_of = new Map(checks.map((check) => [check.id, check]))
  return watches.map((one) => ({ ...one, newest: check_of.get(one.check_id ?? '') ?? null }))
}

const list = ({ sql }: Pick<Needs, 'sql'>): Endpoint =>
  endpoint({
    path: '/v1/aml-watches/list',
    auth: 'signature',
    scope: 'aml',
    summary: 'The addresses that are screened again whenever what is known changes',
    body: Type.Object(listFields()),
    reply: listOf(WatchForm),
    faults: [...LIST_REFUSALS],
    async handle({ body: { before, limit }, customer: { customer_id } }) {
      const place = readWatchPlace(before)
      const rows = await readWatches(sql, { customer_id, before: place, limit: rowsFor(limit) })
      return page(rows, limit, { print: printWatch, placeOf: placeText })
    },
  })

const create = ({ sql, clock }: Pick<Needs, 'sql' | 'clock'>): Endpoint =>
  endpoint({
    path: '/v1/aml-watch/new',
    keeps_body: true,
    auth: 'signature',
    scope: 'aml',
    mutating: true,
    creates: true,
    second_signature: true,
    summary: 'Watch an address: it is screened now, and again whenever what is known changes',
    description: 'Without charge. An address that is watched already stays so.',
    body: Type.Object({ address: AddressField }),
    reply: WatchForm,
    faults: [
      ADDRESS_REFUSED,
      refuses(LimitReached, `${WATCHES_MAX} addresses are watched already`, 'watch'),
      refuses(NotFound, 'It was removed at the same moment', 'watch'),
    ],
    examples: [{ summary: 'An address', body: { address: EXAMPLE.address } }],
    async handle({ body: { address }, customer }) {
      const { customer_id } = customer
      const watched = { customer_id, address: address as Address }
      await sql.begin(async (tx) => {
        await tx`select 1 from customer where id = ${customer_id} for no key update`
        const [counted] = await tx<{ watches: number }>`
          select count(*)::integer as watches from aml_watch
          where customer_id = ${customer_id} and address <> ${address}`
        if (counted!.watches >= WATCHES_MAX)
          throw LimitReached('watch', `${WATCHES_MAX} addresses are watched already`)
        const made_at = clock.now()
        if (await watch(tx, { ...watched, made_at })) {
          const changed = { subject: `aml_watch:${address}`, before: null, after: { address } }
          const record = { actor: customer, action: 'aml-watch/new', ...changed }
          await recordCustomerAction(tx, made_at, record)
        }
      })
      const [row] = await readWatches(sql, { ...watched, limit: 1 })
      if (!row) throw NotFound('watch', 'It was removed at the same moment')
      return printWatch(row)
    },
  })

const remove = ({ sql, clock }: Pick<Needs, 'sql' | 'clock'>): Endpoint =>
  endpoint({
    path: '/v1/aml-watch/remove',
    keeps_body: true,
    auth: 'signature',
    scope: 'aml',
    mutating: true,
    second_signature: true,
    summary: 'Watch an address no longer; its checks stay',
    body: Type.Object({ address: AddressField }),
    reply: Type.Object({ address: Type.String() }),
    faults: [ADDRESS_REFUSED, refuses(NotFound, 'You do not watch it', 'watch')],
    examples: [{ summary: 'An address', body: { address: EXAMPLE.address } }],
    async handle({ body: { address }, customer }) {
      const watched = { customer_id: customer.customer_id, address: address as Address }
      await sql.begin(async (tx) => {
        if (!(await unwatch(tx, watched))) throw NotFound('watch', 'You do not watch this address')
        const changed = { subject: `aml_watch:${address}`, before: { address }, after: null }
        const record = { actor: customer, action: 'aml-watch/remove', ...changed }
        await recordCustomerAction(tx, clock.now(), record)
      })
      return { address }
    },
  })

export const watchRoutes = (needs: Pick<Needs, 'sql' | 'clock'>): Endpoint[] => [
  list(needs),
  create(needs),
  remove(needs),
]

/** The addresses that are watched, with their newest answers, newest first. */
export async function listWatches(sql: Sql, limit: number) {
  return sql<{
    customer_id: string
    address: string
    made_at: Date
    label_set: number | null
    check_id: string | null
    state: string | null
    risk_score: string | null
    risk_level: string | null
  }>`
    select w.customer_id, w.address, w.made_at, w.label_set, w.check_id, c.state, c.risk_score,
      c.risk_level
    from aml_watch as w left join aml_check as c on c.id = w.check_id
    order by w.made_at desc, w.address limit ${limit}`
}

/** How many of these addresses somebody watches. */
export async function watchedAmong(sql: Sql, addresses: ReadonlySet<string>): Promise<number> {
  const [row] = await sql<{ watched: number }>`
    select count(distinct address)::integer as watched from aml_watch
    where address = any(${[...addresses]})`
  return row!.watched
}

export type LevelChange = {
  customer_id: string
  address: Address
  check_id: string
  from_level: string
  to_level: string
  ended_at: Date
}

/** Answers since an instant whose level is another than that of the answer they supersede, oldest
 *  first. Checks that were never answered are passed over. */
export async function levelChanges(sql: Sql | Tx, since: Date): Promise<LevelChange[]> {
  return sql<LevelChange>`
    with recursive back as (
      select id, supersedes as before_id from aml_check
      where state = 'completed' and ended_at >= ${since} and supersedes is not null
      union all
      select back.id, gone.supersedes from back join aml_check as gone on gone.id = back.before_id
      where gone.state <> 'completed'
    )
    select c.customer_id, c.address, c.id as check_id, before.risk_level as from_level,
      c.risk_level as to_level, c.ended_at
    from back join aml_check as c using (id) join aml_check as before on before.id = back.before_id
    where before.state = 'completed' and c.risk_level <> before.risk_level
    order by c.ended_at, c.id`
}

/** Five years, as the recommendations for those who keep such records ask. */
export const DEFAULT_RETENTION_DAYS = 5 * 366

/** Deletes evidence and providers' answers of checks that ended longer ago than is to be kept. The
 *  checks stay. */
export function retainStep(
  { sql, clock }: Pick<Needs, 'sql' | 'clock'>,
  retention_days: number,
): Step {
  return {
    name: 'retain',
    rest_ms: 3_600_000,
    duty: 'upkeep',
    async run() {
      const before = later(clock, -retention_days * 86_400_000)
      // By their ids, which tell when they were asked: there is no index of when they ended.
      const made_before = firstIdAt(before)
      const evidence = await sql`
        delete from aml_evidence where check_id in (
          select e.check_id from aml_evidence as e join aml_check as c on c.id = e.check_id
          where e.check_id < ${made_before} and c.ended_at < ${before} limit 1000)
        returning 1`
      const answers = await sql`
        delete from aml_answer where id in (
          select a.id from aml_answer as a join aml_check as c on c.id = a.check_id
          where a.check_id < ${made_before} and c.ended_at < ${before} limit 1000)
        returning 1`
      return evidence.length + answers.length > 0
    },
  }
}
