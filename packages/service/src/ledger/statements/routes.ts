// A customer's account on the wire: every entry, and what happened hour by hour or day by day.

import { type Static, Type } from 'typebox'
import { type Clock, wireTime } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  Money,
  refuses,
} from '../../platform/wire/endpoint.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  noPlace,
  page,
  rowsFor,
} from '../../platform/wire/lists.ts'
import { timeField, timeOf } from '../../platform/wire/reading.ts'
import { SERVICES, word } from '../../platform/wire/schemas.ts'
import {
  type Figures,
  figuresBefore,
  type Line,
  listLines,
  type Place,
  purposeOf,
  withFigures,
} from './entries.ts'
import { BUCKET_MS, type Bucket, type Summary, summariesOf } from './summaries.ts'

export type Needs = { sql: Sql; clock: Clock }

const FiguresForm = Type.Object({
  balance: Money({ description: 'TRX' }),
  spendable: Money({ description: 'TRX: the balance less all that is held' }),
})

export const EntryForm = Type.Object({
  at: Type.String(),
  id: Type.String(),
  kind: word(['move', 'hold', 'capture', 'release']),
  for: Type.Object({
    what: word(['order', 'deposit', 'subscription', 'aml', 'correction']),
    id: Type.String({ description: 'Of a deposit: its transaction on the chain' }),
    external_id: Type.Union([Type.String(), Type.Null()]),
    service: Type.Union([word(SERVICES), Type.Null()], { description: 'Of an order' }),
  }),
  amount: Money({ description: 'TRX added to the balance, or taken from it' }),
  held: Money({ description: 'TRX added to what is held, or taken from it' }),
  ...FiguresForm.properties,
})

const printFigures = ({ balance_sun, spendable_sun }: Figures): Static<typeof FiguresForm> => ({
  balance: money(balance_sun),
  spendable: money(spendable_sun),
})

export function printEntry(line: Line & Figures): Static<typeof EntryForm> {
  const { made_at, id, kind, cause, external_id, service, amount_sun, held_sun } = line
  return {
    at: wireTime(made_at),
    id,
    kind,
    for: { ...purposeOf(cause), external_id, service },
    amount: money(amount_sun),
    held: money(held_sun),
    ...printFigures(line),
  }
}

const LIMIT_MAX = 1_000
const BEFORE_LENGTH_MAX = 400

const placeText = ({ made_at, id }: Place): string =>
  Buffer.from(`${made_at.getTime()} ${id}`).toString('base64url')

/** Throws 2 when it is no place that a page ended with. */
function readEntryPlace(before: string | undefined): Place | undefined {
  if (before === undefined) return undefined
  const text = Buffer.from(before, 'base64url').toString()
  const [, ms, id] = /^(\d{1,15}) (\S.*)$/s.exec(text) ?? []
  const made_at = new Date(Number(ms))
  const place = id !== undefined && !id.includes('\0') ? { made_at, id } : undefined
  if (!place || placeText(place) !== before) throw noPlace()
  return place
}

const TIME_REFUSALS = [
  refuses(InvalidParams, '`since` is no time', 'since'),
  refuses(InvalidParams, '`until` is no time, or not after `since`', 'until'),
]

function requireOrder(since: Date | undefined, until: Date | undefined): void {
  if (since && until && until <= since)
    throw InvalidParams('until', 'until is not after since').at('until', 'after since')
}

const statement = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/statement',
    keeps_body: true,
    auth: 'signature',
    scope: 'money',
    summary: 'Every entry of your account, newest first',
    description:
      '`opening` and `closing` are the figures of the whole period, whatever the page shows; ' +
      'each entry has those after it.',
    body: Type.Object({
      since: timeField('since', 'Entries from then on'),
      until: timeField('until', 'Entries before then'),
      ...listFields(LIMIT_MAX, BEFORE_LENGTH_MAX),
    }),
    reply: Type.Object({
      opening: FiguresForm,
      closing: FiguresForm,
      ...listOf(EntryForm).properties,
    }),
    faults: [...TIME_REFUSALS, ...LIST_REFUSALS],
    examples: [
      { summary: 'The newest entries', body: { limit: 2 } },
      { summary: 'A month', body: { since: '2026-11-01', until: '2026-12-01' } },
    ],
    async handle({ body, customer: { customer_id } }) {
      const [since, until] = [timeOf(body.since), timeOf(body.until)]
      requireOrder(since, until)
      const before = readEntryPlace(body.before)
      const limit = rowsFor(body.limit)
      const rows = await listLines(sql, { customer_id, since, until, before, limit })
      const before_time = (at: Date) =>
        figuresBefore(sql, { customer_id, place: { made_at: at, id: '' } })
      const oldest = rows.at(-1)
      const [opening, bottom] = await Promise.all([
        since ? before_time(since) : NOTHING,
        oldest ? figuresBefore(sql, { customer_id, place: oldest }) : undefined,
      ])
      const lines = withFigures(rows, bottom ?? opening)
      // What came since the first page was read belongs to no page.
      const closing =
        (before === undefined ? lines[0] : undefined) ??
        (until ? await before_time(until) : await figuresBefore(sql, { customer_id }))
      const print = { print: printEntry, placeOf: placeText }
      return {
        opening: printFigures(opening),
        closing: printFigures(closing),
        ...page(lines, body.limit, print),
      }
    },
  })

const NOTHING: Figures = { balance_sun: 0n, spendable_sun: 0n }
const DAY_MS = BUCKET_MS.day

/** How long a period may be. */
const DAYS_MAX: Readonly<Record<Bucket, number>> = { hour: 31, day: 400 }

const SummaryForm = Type.Object({
  at: Type.String({ description: 'When it begins; hours and days are those of UTC' }),
  orders: Type.Integer({ description: 'Placed' }),
  succeeded: Type.Integer({ description: 'Delivered and charged' }),
  failed: Type.Integer({ description: 'Given back' }),
  energy: Type.Integer({ description: 'Of the orders that succeeded' }),
  bandwidth: Type.Integer({ description: 'Of the orders that succeeded' }),
  spent: Money({ description: 'TRX, for whatever it was' }),
  deposited: Money({ description: 'TRX' }),
  balance: Money({ description: 'TRX, at the end' }),
  p50_ms: Type.Union([Type.Integer(), Type.Null()], {
    description: 'In which half of the orders that succeeded were delivered',
  }),
  p95_ms: Type.Union([Type.Integer(), Type.Null()]),
})

const printSummary = (one: Summary): Static<typeof SummaryForm> => ({
  at: wireTime(one.at),
  orders: one.orders,
  succeeded: one.succeeded,
  failed: one.failed,
  energy: Number(one.energy),
  bandwidth: Number(one.bandwidth),
  spent: money(one.spent_sun),
  deposited: money(one.deposited_sun),
  balance: money(one.balance_sun),
  p50_ms: one.p50_ms,
  p95_ms: one.p95_ms,
})

const summary = ({ sql, clock }: Needs): Endpoint =>
  endpoint({
    path: '/v1/summary',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'What happened on your account, hour by hour or day by day',
    body: Type.Object({
      since: timeField('since', 'The first hour or day is the one that this is in; 30 days ago'),
      until: timeField('until', 'Hours or days that begin before then; now'),
      bucket: Type.Optional(
        Type.Enum(['hour', 'day'], {
          description: '`day` when left out: 400 days at most; `hour`: 31 days at most',
          fault: () => InvalidParams('bucket', 'Invalid bucket'),
        }),
      ),
    }),
    reply: Type.Object({ buckets: Type.Array(SummaryForm) }),
    faults: [
      ...TIME_REFUSALS,
      refuses(InvalidParams, '`bucket` is neither hour nor day', 'bucket'),
      refuses(InvalidParams, 'The period is too long for that bucket', 'since'),
    ],
    examples: [{ summary: 'A day by hours', body: { since: '2026-11-01', until: '2026-11-02' } }],
    async handle({ body, customer: { customer_id } }) {
      const bucket = body.bucket ?? 'day'
      const until = timeOf(body.until) ?? clock.now()
      const since = timeOf(body.since) ?? new Date(until.getTime() - 30 * DAY_MS)
      requireOrder(since, until)
      if (until.getTime() - since.getTime() > DAYS_MAX[bucket] * DAY_MS)
        throw InvalidParams(
          'since',
          `At most ${DAYS_MAX[bucket]} days of a ${bucket} each`,
        ).because('begin later, or end earlier', 'since')
      const found = await summariesOf(sql, { customer_id, bucket, since, until })
      return { buckets: found.map(printSummary) }
    },
  })

export const routes = (needs: Needs): Endpoint[] => [statement(needs), summary(needs)]
