// How the service is doing: status, alerts, what operators have changed, whether anything is
// signed, and the check of the books.

import { Type } from 'typebox'
import { checkAllBooks, type RuleReport } from '../audit/books.ts'
import { showChain } from '../chain/progress.ts'
import type { Sql } from '../database/sql.ts'
import { listActions } from '../ledger/actions.ts'
import { appendRoots, missingRoots, readRoots } from '../ledger/roots.ts'
import { misuse, refusal } from '../lib/fault.ts'
import { readWhole } from '../lib/files.ts'
import { alerts } from '../monitoring/alerts.ts'
import { runningProcesses } from '../monitoring/processes.ts'
import { change, LIMIT, limit, look, momentOf } from '../operation/operation.ts'
import { poolRows } from '../pool/figures.ts'
import { switches } from '../prices/switches.ts'
import { screeningState } from '../screening/state.ts'
import { setSigning, signingState } from '../signing/signing_switch.ts'
import {
  Anything,
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  moment,
  NOTHING,
  OrNull,
  optional,
  Text,
  text,
  Whole,
  whole,
} from '../wire/schemas.ts'
import { PoolRows } from './orders.ts'

const Counts = {
  orders_open: Whole,
  attempts_open: Whole,
  delegations_live: Whole,
  deposits_held: Whole,
  customers: Whole,
}

async function counts(sql: Sql) {
  const [row] = await sql<Record<keyof typeof Counts, bigint>>`
    select (select count(*) from orders where state in ('new', 'pending')) as orders_open,
           (select count(*) from attempt where state in ('new', 'signed', 'sent')) as attempts_open,
           (select count(*) from delegation
             where state in ('active', 'reclaiming')) as delegations_live,
           (select count(*) from deposit where state = 'held') as deposits_held,
           (select count(*) from customer) as customers`
  return row!
}

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
      processes: ListOf({
        id: Text,
        role: Text,
        host: Text,
        version: Text,
        started_at: Moment,
        clock_offset_ms: Whole,
      }),
      alerts: ListOf({ alert: Text, since: OrNull(Moment), what: Text }),
    }),
    async handle({ sql, clock, database }) {
      const now = clock.now()
      const chain = await showChain(sql, now)
      const found = await alerts({ sql, now })
      const value = {
        database,
        ...(await counts(sql)),
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
    handle: async ({ sql, body: { limit = LIMIT, ...wanted } }) => ({
      value: await listActions(sql, { ...wanted, limit }),
    }),
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

/** One line for each rule, and the findings below those that are broken. */
function reportText(reports: readonly RuleReport[]): string {
  const lines = reports.flatMap(({ rule, says, state, note, findings }) => [
    `${rule.padEnd(4)} ${state.padEnd(11)} ${says}${note === null ? '' : ` (${note})`}`,
    ...findings.map(({ subject, found }) => `       ${subject}: ${found}`),
  ])
  const broken = reports.filter(({ state }) => state === 'broken').length
  const summary =
    broken === 0
      ? 'Everything that was checked holds.'
      : `${broken} of ${reports.length} rules are broken.`
  return `${[...lines, '', summary].join('\n')}\n`
}

const Root = {
  day: Text,
  number: Whole,
  last_entry: Whole,
  sealed_at: optional(Moment),
  sha256: Text,
}
const ExportedRoots = Type.Object({ file: Text, written: Count, last_day: OrNull(Text) })

export const bookOperations = [
  look({
    path: '/operator/books/check',
    summary:
      'work everything out again and compare: ledger, orders, delegations, deposits, and the ' +
      'chain with --node-url',
    description:
      'What seems broken is looked at again ten seconds later, and only what is found both ' +
      'times counts. The exit code is 1 when a rule is broken, or when a node was named and ' +
      'could not be asked.',
    body: Type.Object({
      since: optional(
        moment('read only blocks from then on from the node; the rest is always checked whole'),
      ),
      noted: optional(Type.Array(Text, { description: 'texts of roots, to compare with' })),
    }),
    reply: Type.Object({
      books_balanced: Flag,
      rules: ListOf({
        rule: Text,
        says: Text,
        state: Text,
        note: OrNull(Text),
        stops_selling: Flag,
        findings: ListOf({ subject: Text, found: Text }),
      }),
      roots_compared: Count,
      record_sha256: OrNull(Text),
      journal_sha256: OrNull(Text),
    }),
    cli: {
      node: 'solid',
      extras: Type.Object({
        roots: optional(
          Type.Array(
            text('FILE', 'roots that were noted outside of the database, to compare with'),
          ),
        ),
      }),
      filled: ['noted'],
      before: async ({ roots = [] }) => ({
        body: { noted: await Promise.all(roots.map(wholeFile)) },
      }),
      text: (value) => reportText(value.rules as RuleReport[]),
    },
    async handle({ sql, wait, body: { since, noted: texts = [] }, ...needs }) {
      const chain = needs.chain()
      const noted = texts.flatMap(readRoots)
      const looking = { sql, wait, chain, notedRoots: async () => noted }
      const rules = await checkAllBooks(looking, momentOf(since))
      const [last] = await sql<{ sha256: string }>`
        select sha256 from operator_action order by number desc limit 1`
      const [seal] = await sql<{ number: bigint; sha256: string }>`
        select number, sha256 from journal order by number desc limit 1`
      const ok = rules.every(
        ({ state }) => state === 'holds' || (state === 'not checked' && !chain),
      )
      const value = {
        books_balanced: !rules.some(({ state }) => state === 'broken'),
        rules,
        roots_compared: noted.length,
        record_sha256: last?.sha256 ?? null,
        journal_sha256: seal?.sha256 ?? null,
      }
      const ends = [
        ...(seal ? [`The journal ends with seal ${seal.number}, ${seal.sha256}.`] : []),
        ...(last ? [`Records of changes end with ${last.sha256}.`] : []),
      ]
      return { value, ok, note: ends.length > 0 ? ends.join('\n') : undefined }
    },
  }),
  look({
    path: '/operator/books/roots',
    summary: 'the root of each day: one sum that stands for every entry and record until then',
    description:
      'Keep them somewhere else. `books check --roots FILE` proves that the entries still lead ' +
      'to each of them. --export writes those of the days that are over at the end of a file, ' +
      'unless it has them.',
    body: Type.Object({
      since: optional(moment('only days from then on')),
      noted: optional(
        Type.Object(
          { name: Text, text: Text },
          { description: 'a text of roots: only those of the days that are over and not in it' },
        ),
      ),
    }),
    reply: ListOf(Root),
    cli: {
      extras: Type.Object({
        export: optional(text('FILE', 'write them at the end of FILE, a line of JSON each')),
      }),
      filled: ['noted'],
      before: async ({ export: file }) =>
        file === undefined
          ? {}
          : { body: { noted: { name: file, text: (await readWhole(file)) ?? '' } } },
      async after(answer, { export: file }) {
        if (file === undefined) return answer
        const roots = answer.value
        const noted = (await readWhole(file)) ?? ''
        await appendRoots(file, noted, roots).catch((thrown: Error) => {
          throw refusal(`${file} cannot be written: ${thrown.message}.`)
        })
        const last_day = roots.at(-1)?.day ?? null
        return { ...answer, value: { file, written: roots.length, last_day } }
      },
      prints: Type.Union([ListOf(Root), ExportedRoots]),
    },
    async handle({ sql, clock, body: { since, noted } }) {
      if (noted !== undefined && since !== undefined)
        throw misuse('--export writes all that the file lacks: leave --since out.')
      if (noted !== undefined) return { value: await missingRoots(sql, clock, noted) }
      const from = momentOf(since) ?? null
      const value = await sql<{
        day: string
        number: bigint
        last_entry: bigint
        sealed_at: Date
        sha256: string
      }>`
        select day::text, number, last_entry, sealed_at, sha256 from journal_root
        where ${from}::timestamptz is null or sealed_at >= ${from} order by day`
      return { value }
    },
  }),
]

async function wholeFile(name: string): Promise<string> {
  const text = await readWhole(name)
  if (text === undefined) throw refusal(`There is no file ${name}.`)
  return text
}
