// What became of one order, step by step, and why it is where it is: read from the rows that moved
// it, so it says nothing that did not happen. Times of steps on the chain are those of blocks,
// whose clock is another than ours: steps stand in the order in which one leads to the other.

import { money } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Order } from '../orders/orders.ts'

/** `at`: null while it has not happened; `expected`: about when it will. */
export type TimelineStep = {
  what: string
  at: Date | null
  expected: Date | null
  resource?: string
  amount?: number
  tx_id?: string
  block_number?: number
  detail?: string
}

type AttemptTimes = {
  attempt_state: string
  tx_id: string | null
  made_at: Date
  sent_at: Date | null
  block_number: bigint | null
  block_time: Date | null
  attempt_expires_at: Date | null
}

type Part = AttemptTimes & {
  resource: string
  amount: bigint
  state: string
  expires_at: Date | null
  reclaim_tx_id: string | null
  reclaim_asked_at: Date | null
  reclaimed_at: Date | null
  reclaim_block: bigint | null
}

type Activation = AttemptTimes & { state: string; asked_at: Date }

type EntryTime = { kind: string; made_at: Date; amount_sun: bigint }

/** Everything that is known of an order. */
export type OrderFacts = {
  order: Order
  parts: Part[]
  activation: Activation | undefined
  entries: EntryTime[]
  /** What was told of it, by type: `solid`, `reverted`, `ended`. */
  told: { type: string; at: Date }[]
  head_time: Date | null
}

export async function factsOf(sql: Sql, order: Order): Promise<OrderFacts> {
  const hold = `order:${order.id}`
  const [parts, [activation], entries, told, [chain]] = await Promise.all([
    sql<Part>`
      select d.resource, d.amount, d.state, d.expires_at, d.reclaimed_at,
        a.state as attempt_state, a.tx_id, a.made_at, a.sent_at, a.block_number, a.block_time,
        a.expires_at as attempt_expires_at, r.tx_id as reclaim_tx_id,
        r.made_at as reclaim_asked_at, r.block_number as reclaim_block
      from delegation as d join attempt as a on a.id = d.attempt_id
        left join attempt as r on r.id = d.reclaim_id
      where d.order_id = ${order.id} order by a.made_at, d.id`,
    sql<Activation>`
      select v.state, v.made_at as asked_at, a.state as attempt_state, a.tx_id,
        coalesce(a.made_at, v.made_at) as made_at, a.sent_at, a.block_number, a.block_time,
        a.expires_at as attempt_expires_at
      from activation as v left join attempt as a on a.id = v.attempt_id
      where v.id = ${order.activation_id}`,
    sql<EntryTime>`
      select kind, made_at, amount_sun from transfer
      where id = ${hold} or hold_id = ${hold} order by made_at, id`,
    sql<{ type: string; at: Date }>`
      select type, at from event where customer_id = ${order.customer_id} and subject = ${hold}
      order by number`,
    sql<{ head_time: Date }>`select head_time from chain`,
  ])
  return { order, parts, activation, entries, told, head_time: chain?.head_time ?? null }
}

const BLOCK_MS = 3_000
/** Nineteen of twenty-seven producers have built on a block by then. */
const SOLID_MS = 19 * BLOCK_MS

const after = (at: Date, ms: number) => new Date(at.getTime() + ms)
const happened = (
  what: string,
  at: Date,
  more: Omit<TimelineStep, 'what' | 'at' | 'expected'> = {},
) => ({
  what,
  at,
  expected: null,
  ...more,
})
const toCome = (what: string, expected: Date | null, more: object = {}): TimelineStep => ({
  what,
  at: null,
  expected,
  ...more,
})

/** A step, and when it can have happened at the earliest: not before what led to it. Times are
 *  those of two clocks, ours and the chain's, which differ by hours where a chain was pushed. */
type CausedStep = TimelineStep & { after_ms: number }

/** In the order of cause: of two that can have happened at the same time the first is what leads to
 *  the other. */
const RANKS = [
  'accepted',
  'held',
  'activating',
  'activated',
  'planned',
  'sent',
  'dead',
  'included',
  'charged',
  'refunded',
  'solid',
  'reverted',
  'over',
  'reclaiming',
  'ended',
]

const rankOf = ({ what }: TimelineStep): number => RANKS.indexOf(what)
const timeOf = ({ at, expected }: TimelineStep): number | undefined => (at ?? expected)?.getTime()
/** The latest of these steps, or when they can have come about. */
const latest = (steps: readonly CausedStep[], least_ms: number): number =>
  Math.max(least_ms, ...steps.map(({ after_ms }) => after_ms))

/** Each step with the time from which on it can have happened, each after what led to it. */
function caused(steps: readonly TimelineStep[], since_ms: number): CausedStep[] {
  let least_ms = since_ms
  return steps.map((step) => {
    least_ms = Math.max(least_ms, timeOf(step) ?? Number.MAX_SAFE_INTEGER)
    return { ...step, after_ms: least_ms }
  })
}

/** The parts, each after those before it that died: they are delivered again. */
function causedParts(
  parts: readonly Part[],
  { head_time, since_ms }: { head_time: Date | null; since_ms: number },
): CausedStep[] {
  const all: CausedStep[] = []
  for (const part of parts) {
    const earlier = parts.filter((one) => one.made_at < part.made_at)
    const died = all.filter(({ what }) => what === 'dead')
    // Behind them, not beside: they died at the time of the chain, which may be ahead of ours.
    const since = earlier.length > 0 ? latest(died, since_ms - 1) + 1 : since_ms
    all.push(...caused(partSteps(part, head_time), since))
  }
  return all
}

/** The steps in the order in which one led to another, and then those that are still to come. */
export function stepsOf(facts: OrderFacts): TimelineStep[] {
  const { order, parts, activation, entries, told } = facts
  const accepted_ms = order.created_at.getTime()
  const entryStep = ({ kind, made_at, amount_sun }: EntryTime) =>
    happened(ENTRY_STEPS[kind] ?? kind, made_at, { detail: `${money(amount_sun).rawJSON} TRX` })
  const beginning = [
    happened('accepted', order.created_at),
    ...entries.filter(({ kind }) => kind === 'hold').map(entryStep),
    ...(activation ? activationSteps(activation) : []),
  ]
  const begun = caused(beginning, accepted_ms)
  const delivering = causedParts(parts, {
    head_time: facts.head_time,
    since_ms: latest(
      begun.filter(({ at }) => at !== null),
      accepted_ms,
    ),
  })
  const happening = [...begun, ...delivering].filter(({ at }) => at !== null)
  const delivered_ms = latest(
    happening.filter(({ what }) => /^(included|activated|dead)$/.test(what)),
    accepted_ms,
  )
  const settled = entries.filter(({ kind }) => kind !== 'hold').map(entryStep)
  const marks = told.flatMap(({ type, at }) =>
    type === 'order.solid' || type === 'order.reverted' ? [happened(type.slice(6), at)] : [],
  )
  const waiting = toBeSolid(facts)
  const steps = [
    ...begun,
    ...delivering,
    ...[...settled, ...marks, ...waiting].flatMap((step) => caused([step], delivered_ms)),
  ]
  const inOrder = (some: CausedStep[]) =>
    some.sort((a, b) => a.after_ms - b.after_ms || rankOf(a) - rankOf(b))
  const past = inOrder(steps.filter(({ at }) => at !== null))
  const coming = inOrder(steps.filter(({ at }) => at === null))
  return [...past, ...coming].map(({ after_ms: _, ...step }) => step)
}

/** That what was delivered becomes irreversible, while it is not yet. */
function toBeSolid({ order, parts }: OrderFacts): TimelineStep[] {
  const delivered = parts.filter(({ state }) => state !== 'failed' && state !== 'delegating')
  const is_solid = delivered.every(({ attempt_state }) => attempt_state === 'solid')
  const last = delivered.at(-1)?.block_time
  return order.state === 'success' && last && !is_solid
    ? [toCome('solid', after(last, SOLID_MS))]
    : []
}

/** How far the chain is ahead of our clock, in seconds; 0 while it is not, but for the few seconds
 *  by which clocks differ. */
export function aheadSeconds({ head_time }: OrderFacts, now: Date): number {
  const seconds = head_time ? Math.round((head_time.getTime() - now.getTime()) / 1_000) : 0
  return seconds >= AHEAD_SECONDS_MIN ? seconds : 0
}
const AHEAD_SECONDS_MIN = 15

const ENTRY_STEPS: Readonly<Record<string, string>> = {
  hold: 'held',
  capture: 'charged',
  release: 'refunded',
}

function activationSteps({ state, asked_at, ...attempt }: Activation): TimelineStep[] {
  const tx = attempt.tx_id === null ? {} : { tx_id: attempt.tx_id }
  const steps: TimelineStep[] = [happened('activating', asked_at, tx)]
  if (state === 'active' && attempt.block_time)
    steps.push(happened('activated', attempt.block_time, { ...tx, ...blockOf(attempt) }))
  else if (state !== 'failed' && state !== 'active') steps.push(toCome('activated', null, tx))
  return steps
}

const blockOf = ({ block_number }: Pick<AttemptTimes, 'block_number'>) =>
  block_number === null ? {} : { block_number: Number(block_number) }

function partSteps(part: Part, head_time: Date | null): TimelineStep[] {
  const { resource, state, made_at, sent_at, block_time, expires_at } = part
  const what = { resource, amount: Number(part.amount) }
  const tx = { ...what, ...(part.tx_id !== null && { tx_id: part.tx_id }) }
  const steps: TimelineStep[] = [happened('planned', made_at, what)]
  if (sent_at) steps.push(happened('sent', sent_at, tx))
  if (part.attempt_state === 'dead' && part.attempt_expires_at)
    return [...steps, happened('dead', part.attempt_expires_at, tx)]
  if (block_time) steps.push(happened('included', block_time, { ...tx, ...blockOf(part) }))
  else steps.push(toCome('included', after(sent_at ?? made_at, 2 * BLOCK_MS), tx))
  if (!expires_at) return steps
  const over = head_time && head_time >= expires_at
  steps.push(over ? happened('over', expires_at, what) : toCome('over', expires_at, what))
  const reclaim = { ...what, ...(part.reclaim_tx_id !== null && { tx_id: part.reclaim_tx_id }) }
  if (part.reclaim_asked_at) steps.push(happened('reclaiming', part.reclaim_asked_at, reclaim))
  const ended = { ...reclaim, ...blockOf({ block_number: part.reclaim_block }) }
  if (part.reclaimed_at) steps.push(happened('ended', part.reclaimed_at, ended))
  else if (state !== 'failed') steps.push(toCome('ended', after(expires_at, SOLID_MS), what))
  return steps
}

/** One sentence: where it is, and what it waits for. */
export function sentenceOf({ order, parts, activation }: OrderFacts): string {
  const live = parts.filter(({ state }) => state !== 'failed')
  if (order.state === 'failed') return 'It could not be delivered: the whole price was given back.'
  if (order.state === 'success') {
    if (live.length === 0) return 'The address is active.'
    if (live.every(({ state }) => state === 'ended'))
      return 'It was delivered, its hour is over, and all of it was taken back.'
    if (live.some(({ state }) => state === 'reclaiming' || state === 'ended'))
      return 'It was delivered, its hour is over, and it is being taken back.'
    if (order.to_delegate || live.some(({ state }) => state === 'delegating'))
      return 'A fork of the chain took a part of it back: it is being delivered again, at our cost.'
    return 'It was delivered and can be used until its hour is over.'
  }
  if (activation && activation.state !== 'active')
    return activation.block_time
      ? 'The address was just activated: what else was bought comes next.'
      : 'It waits until the activation of the address is in a block.'
  const waiting = live.find(({ state }) => state === 'delegating')
  if (!waiting)
    return order.tries > 0
      ? 'A transaction of it did not reach the chain in time: it is being delivered again.'
      : 'It waits for wallets to be chosen that have room for it.'
  if (waiting.tx_id === null) return 'It waits until its transaction is signed.'
  if (!waiting.sent_at) return 'Its transaction is signed and waits to be sent.'
  return 'Its transaction was sent and waits for a block that has it.'
}
