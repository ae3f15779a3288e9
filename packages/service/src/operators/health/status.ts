// How the service is doing: status, alerts, what operators have changed, whether anything is
// signed, and the check of the books.

import { type Static, Type } from 'typebox'
import { showChain } from '../../chain/follow/progress.ts'
import { setSigning, signingState } from '../../chain/signing/signing_switch.ts'
import { proveRecords } from '../../health/books/records.ts'
import { alerts } from '../../health/monitoring/alerts.ts'
import { figuresReader, raisedAlerts } from '../../health/monitoring/figures.ts'
import { figuresHistory } from '../../health/monitoring/history.ts'
import { namesShown, readMeasures, totalsOf } from '../../health/monitoring/measures.ts'
import { runningProcesses } from '../../health/monitoring/processes.ts'
import { seeAlert } from '../../health/monitoring/watch_alerts.ts'
import { listActions } from '../../ledger/accounts/actions.ts'
import { refusal } from '../../lib/fault.ts'
import { poolRows } from '../../market/pool/figures.ts'
import { switches } from '../../market/prices/switches.ts'
import {
  Anything,
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  optional,
  Sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { screeningState } from '../../screening/engine/state.ts'
import { PoolRows, period } from '../market/orders.ts'
import { change, LIMIT, limit, look, momentOf } from '../table/operation.ts'
import { Processes } from './processes.ts'

const COUNTS = namesShown('status')
const Counts = Object.fromEntries(COUNTS.map((name) => [name, Whole]))

/** What screenings rest on. */
export const ScreeningState = Type.Object({
  policy: Text,
  label_set: Count,
  generation: OrNull(Count),
  first_block: OrNull(Whole),
  last_block: OrNull(Whole),
  behind: OrNull(Whole),
  hubs: Whole,
  lists: Type.Union([Text, Type.Array(Text)]),
})

export const statusOperations = [
  look({
    path: '/operator/status',
    summary: 'how the service is doing, and what a person should look at',
    description: 'The exit code is 1 when there is an alert.',
    body: NOTHING,
    reply: Type.Object({
      database: Text,
      ...Counts,
      chain: OrNull(
        Type.Object({
          head_number: Count,
          solid_number: Count,
          confirmed_number: Count,
          silent_seconds: Count,
          behind_seconds: Count,
        }),
      ),
      off_sale: Type.Array(Text),
      pool: PoolRows,
      screening: ScreeningState,
      processes: Processes,
      alerts: ListOf({ alert: Text, since: OrNull(Moment), what: Text }),
    }),
    async handle({ sql, clock, database }) {
      const now = clock.now()
      const chain = await showChain(sql, now)
      const found = await alerts({ sql, now })
      const value = {
        database,
        ...totalsOf(await readMeasures(sql, { names: COUNTS, now }), COUNTS),
        chain: chain
          ? {
              head_number: chain.head_number,
              solid_number: chain.solid_number,
              confirmed_number: chain.confirmed_number,
              silent_seconds: chain.silent_seconds,
              behind_seconds: chain.behind_seconds,
            }
          : null,
        off_sale: (await switches(sql)).filter((one) => !one.on_sale).map(({ name }) => name),
        pool: await poolRows(sql),
        screening: await screeningState(sql),
        processes: await runningProcesses(sql),
        alerts: found,
      }
      const ok = found.length === 0
      return { value, ok, note: ok ? 'No alerts.' : undefined }
    },
  }),
]

export const actionOperations = [
  look({
    path: '/operator/actions/prove',
    summary: 'what operators have changed with what proves the record whole, newest first',
    description:
      'Each sum is the SHA-256 of the sum before it and the text, a list in JSON: number, time, ' +
      'who, why, action, subject, before, after, and the role and address that the database saw. ' +
      'A record that was altered or taken out breaks every sum after it.',
    body: Type.Object({
      before: optional(whole('NUMBER', 'only those before this one: the next page')),
      limit,
    }),
    reply: ListOf({ number: Whole, previous_sha256: Text, text: Text, sha256: Text }),
    handle: async ({ sql, body: { before, limit = LIMIT } }) => ({
      value: await proveRecords(sql, { before, limit }),
    }),
  }),
  look({
    path: '/operator/actions/list',
    summary: 'what operators have changed, and why, newest first',
    body: Type.Object({
      subject: optional(
        text(
          'SUBJECT',
          'only about this: price, fee, plan, service, customer, key, subscription, deposit, ' +
            'correction, list, signing ...; or one of them with a colon and its name',
        ),
      ),
      made_by: optional(text('NAME', 'only by this operator')),
      action: optional(
        text('ACTION', 'only what this did: prices set; or the first word of it, such as prices'),
      ),
      ...period,
      before: optional(whole('NUMBER', 'only those before this one: the next page')),
      limit,
    }),
    reply: ListOf({
      number: Whole,
      made_at: Moment,
      made_by: Text,
      made_role: OrNull(Text),
      made_from: OrNull(Text),
      reason: OrNull(Text),
      action: Text,
      subject: Text,
      before: Anything,
      after: Anything,
    }),
    async handle({ sql, body: { since, until, limit = LIMIT, ...wanted } }) {
      const within = { since: momentOf(since), until: momentOf(until) }
      return { value: await listActions(sql, { ...wanted, ...within, limit }) }
    },
  }),
]

const switching = (word: 'stop' | 'go', summary: string, description: string) =>
  change({
    path: `/operator/signer/${word}`,
    // Stopping must be quick.
    careful: word === 'go',
    summary,
    description,
    body: Type.Object({
      this_machine: flag(
        'also by a file in --data-dir, which nobody with only the database can undo',
      ),
    }),
    reply: Type.Object({ stopped: Flag, stopped_here: Flag }),
    async handle({ tx, stopHere, by, body: { this_machine = false } }) {
      const stopped = word === 'stop'
      const before = await setSigning(tx, { stopped, changed_by: by })
      // Stopped first and freed last, whatever becomes of the transaction.
      if (this_machine) await stopHere(stopped, by)
      const value = { stopped, stopped_here: await stopHere() }
      const note = stopped
        ? 'Nothing more is signed, in any process.'
        : 'Signing goes on, in every process.'
      const held =
        value.stopped_here && !stopped
          ? ' Not on this machine: its file is there (--this-machine).'
          : ''
      return {
        result: { value, note: note + held },
        actions: [{ subject: 'signing', before: { stopped: before }, after: { stopped } }],
      }
    },
  })

export const signerOperations = [
  switching(
    'stop',
    'sign nothing more, in every process, until signer go',
    'Orders wait, and are given back after 10 minutes; what is signed already is sent. ' +
      'Effective within a second.',
  ),
  switching('go', 'sign again', 'What waited is signed within seconds.'),
  look({
    path: '/operator/signer/status',
    summary: 'whether anything is signed, what waits for it, and what was refused',
    description: 'The exit code is 1 while signing is stopped.',
    body: NOTHING,
    reply: Type.Object({
      stopped: Flag,
      since: OrNull(Moment),
      by: OrNull(Text),
      reason: OrNull(Text),
      recorded: Flag,
      stopped_here: Flag,
      waiting: Whole,
      refused_today: Whole,
      wallets: ListOf({ address: Text, checked_at: Moment, stopped: Flag, complaints: Text }),
      refused: ListOf({ refused_at: Moment, subject: Text, why: OrNull(Text) }),
    }),
    async handle({ sql, clock, stopHere }) {
      const state = { ...(await signingState(sql)), stopped_here: await stopHere() }
      const [counts] = await sql<{ waiting: bigint; refused_today: bigint }>`
        select (select count(*) from attempt where state = 'new') as waiting,
          (select count(*) from attempt
            where refused_at > ${clock.now()}::timestamptz - interval '1 day') as refused_today`
      const refused = await sql<{ refused_at: Date; subject: string; why: string | null }>`
        select refused_at, subject, answer as why from attempt where refused_at is not null
        order by refused_at desc limit 10`
      const wallets = await sql<{
        address: string
        checked_at: Date
        stopped: boolean
        complaints: string
      }>`
        select address, checked_at, stopped, array_to_string(complaints, ' ') as complaints
        from wallet_check order by address`
      return {
        value: { ...state, ...counts!, wallets, refused },
        ok: !state.stopped && !state.stopped_here,
      }
    },
  }),
]

const Alert = Type.Object({
  alert: Text,
  what: Text,
  since: OrNull(Moment),
  raised_at: Moment,
  seen_at: OrNull(Moment),
  seen_by: OrNull(Text),
})

/** What a tick of the console says, too. */
const FiguresForm = Type.Object({
  at: Moment,
  alerts: Type.Array(Alert),
  off_sale: Type.Array(Text),
  orders_last_minute: Whole,
  ended: Whole,
  delivered: Whole,
  broadcast_p50_ms: OrNull(Count),
  broadcast_p95_ms: OrNull(Count),
  block_p50_ms: OrNull(Count),
  block_p95_ms: OrNull(Count),
  pool: ListOf({ resource: Text, room: Whole, reserved: Whole }),
  chain: OrNull(
    Type.Object({
      head_number: Count,
      solid_number: Count,
      behind_seconds: Count,
      silent_seconds: Count,
    }),
  ),
  earned_today_sun: Sun,
  orders_open: Whole,
  deposits_held: Whole,
  deposits_open: Whole,
  signing_stopped: Flag,
  attempts: ListOf({ state: Text, attempts: Whole }),
})

export const figureOperations = [
  look({
    path: '/operator/figures/show',
    summary: 'the figures of the moment: what is sold, how fast it is delivered, what is open',
    description:
      'Latencies are those of the newest 500 orders of the last hour: from acceptance to the ' +
      'broadcast, and to the time of the block. A day begins at 00:00 UTC.',
    body: NOTHING,
    reply: FiguresForm,
    async handle({ sql, clock }) {
      const value: Static<typeof FiguresForm> = await figuresReader({ sql, clock })()
      return { value }
    },
  }),
  look({
    path: '/operator/figures/history',
    summary: 'what customers ordered and spent, and how long it took, by the hour or by the day',
    description:
      'Oldest first, in UTC, this hour or day included. The time to the block is from the ' +
      'acceptance of an order; it is the bound below which so many lie.',
    body: Type.Object({
      last: optional(whole('N', 'so many hours or days (24)', { max: 400 })),
      days: flag('by the day'),
    }),
    reply: ListOf({
      at: Moment,
      orders: Count,
      succeeded: Count,
      failed: Count,
      energy: Whole,
      bandwidth: Whole,
      spent_sun: Sun,
      deposited_sun: Sun,
      block_p50_ms: OrNull(Count),
      block_p95_ms: OrNull(Count),
    }),
    async handle({ sql, clock, body: { last = 24, days = false } }) {
      const bucket = days ? 'day' : 'hour'
      return { value: await figuresHistory({ sql, clock, bucket, buckets: last }) }
    },
  }),
  look({
    path: '/operator/alerts/list',
    summary: 'what a worker has found and a person should look at, what nobody has seen to first',
    description: '`status` looks anew; this is what webhooks were told of, and what was seen to.',
    body: NOTHING,
    reply: Type.Array(Alert),
    handle: async ({ sql }) => ({ value: await raisedAlerts(sql) }),
  }),
  change({
    path: '/operator/alerts/seen',
    summary: 'say that you look after an alert; it stays until its cause is gone',
    body: Type.Object({ alert: text('ALERT', 'its name, like deposit_held') }),
    reply: Type.Object({ alert: Text, seen_at: OrNull(Moment), seen_by: OrNull(Text) }),
    cli: { operands: ['alert'] },
    async handle({ tx, at, by, body: { alert } }) {
      const seen = await seeAlert(tx, { alert, by, at })
      if (!seen) throw refusal(`The alert ${alert} is not raised.`)
      const { before, after } = seen
      const is_new = before.seen_at === null
      const actions = is_new ? [{ subject: `alert:${alert}`, before: null, after }] : []
      const note = is_new ? undefined : `${before.seen_by} has seen to it before.`
      return { result: { value: { alert, ...after }, note }, actions }
    },
  }),
]
