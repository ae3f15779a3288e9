// What customers were told, against the rows: each change of state exactly once, in order, under
// numbers without a gap; nothing of what was rolled back, and nothing of what is nobody's. A note
// that has no number yet counts as told: it follows what is numbered.

import type { Event, Rows } from './rows.ts'
import type { Books } from './rules.ts'

/** Each customer's events are numbered 1, 2, 3, ..., and no two have one id. */
export function eventsAreNumbered({ rows }: Books): string[] {
  const numbered = rows.events.filter(({ number }) => number !== null)
  const counters = new Map(rows.event_counters.map((one) => [one.customer_id, one.last_number]))
  const findings: string[] = []
  for (const [customer_id, events] of Map.groupBy(numbered, (one) => one.customer_id)) {
    const numbers = events.map(({ number }) => Number(number)).sort((a, b) => a - b)
    const last = Number(counters.get(customer_id) ?? 0n)
    if (numbers.some((number, i) => number !== i + 1) || last !== numbers.length)
      findings.push(
        `C14 events of ${customer_id} are numbered ${numbers}, the counter says ${last}`,
      )
  }
  const ids = new Set(numbered.map(({ id }) => id))
  if (ids.size !== numbered.length) findings.push('C14 two events have one id')
  return findings
}

/** Whose something is, and what must have been told of it, type after type, as `created succeeded
 *  ended`. */
type Story = { customer_id: string; told: RegExp; more?: (told: readonly Event[]) => boolean }

/** What was told of each thing is what its row says has become of it. */
export function rowsAreTold({ rows }: Books): string[] {
  const stories = storiesOf(rows)
  const events = rows.events.filter(({ test }) => !test)
  const told = Map.groupBy(events, ({ customer_id, subject }) => `${customer_id} ${subject}`)
  const findings: string[] = []
  for (const [subject, { customer_id, told: fits, more }] of stories) {
    const own = told.get(`${customer_id} ${subject}`) ?? []
    const words = wordsOf(own)
    if (!fits.test(words) || more?.(own) === false)
      findings.push(`C14 of ${subject} was told: ${words || 'nothing'}`)
  }
  for (const { customer_id, subject, type } of events) {
    if (!/^(order|deposit|subscription|aml_check|key|invoice):/.test(subject)) continue
    const story = stories.get(subject)
    // By the word of another node, or on another branch, a deposit can be another customer's.
    const was = subject.startsWith('deposit:') && /^deposit\.(seen|gone)$/.test(type)
    if (story?.customer_id !== customer_id && !(story && was))
      findings.push(`C14 ${customer_id} was told ${type} of ${subject}, which is not theirs`)
  }
  return findings
}

/** What does not end a chapter: it is counted elsewhere, or comes as often as it is so. */
const ASIDES = /^(order\.(delayed|solid|ending)|key\.(ending|cap_reached))$/

const wordsOf = (events: readonly Event[]) =>
  events
    .filter(({ type }) => !ASIDES.test(type))
    .map(({ type }) => type.slice(type.indexOf('.') + 1))
    .join(' ')

/** By subject. */
function storiesOf(rows: Rows): Map<string, Story> {
  const stories = new Map<string, Story>()
  const customers = new Set(rows.customers.map(({ id }) => id))
  const add = (subject: string, story: Story) => {
    if (customers.has(story.customer_id)) stories.set(subject, story)
  }
  for (const order of rows.orders) add(`order:${order.id}`, orderStory(order))
  for (const { tx_id, position, customer_id, state } of rows.deposits) {
    const place = position === 0 ? tx_id : `${tx_id}/${position}`
    const told = DEPOSITS[state] ?? NEVER
    if (customer_id !== null) add(`deposit:${place}`, { customer_id, told })
  }
  for (const one of rows.subscriptions) add(`subscription:${one.id}`, subscriptionStory(rows, one))
  for (const { id, customer_id, state } of rows.checks) {
    const told = state === 'completed' || state === 'failed' ? new RegExp(`^${state}$`) : /^$/
    add(`aml_check:${id}`, { customer_id, told })
  }
  for (const { id, customer_id, revoked } of rows.keys)
    add(`key:${id}`, { customer_id, told: revoked ? /^created revoked$/ : /^created$/ })
  for (const { number, customer_id } of rows.invoices)
    add(`invoice:${number}`, { customer_id, told: /^issued$/ })
  return stories
}

const NEVER = /(?!)/

/** What is told of an order in between, once, and when: what is not noted there is not told. */
const IN_BETWEEN = { delayed: 'delayed_at', solid: 'solid_at', ending: 'ending_at' } as const

/** A success that is to be delivered again was told as reverted, and so was no other state. */
function orderStory(order: Rows['orders'][number]): Story {
  const { customer_id, state, to_delegate, ended_at } = order
  const more = (told: readonly Event[]) =>
    Object.entries(IN_BETWEEN).every(([word, at]) => {
      const times = told.filter(({ type }) => type === `order.${word}`).length
      return times === (order[at] === null ? 0 : 1)
    })
  const reverted = to_delegate ? '( reverted)+' : '( reverted)*'
  const ended = ended_at === null ? '' : ' ended( reverted)*'
  const whole = { success: ` succeeded${reverted}${ended}`, failed: ' failed' }[state as string]
  return { customer_id, told: new RegExp(`^created${whole ?? ''}$`), more }
}

/** A deposit may come, go with its branch, and come again. */
const DEPOSITS: Readonly<Record<string, RegExp>> = {
  seen: /^(seen gone )*seen$/,
  gone: /^(seen gone( |$))+$/,
  unproven: /^(seen gone ?)*(seen)?$/,
  ignored: /^(seen gone ?)*(seen)?$/,
  credited: /^(seen gone )*(seen )?credited$/,
  held: /^(seen gone )*(seen )?held$/,
  resolved: /^(seen gone )*(seen )?(held )?resolved$/,
}

function subscriptionStory(rows: Rows, one: Rows['subscriptions'][number]): Story {
  const { id, customer_id, state, supplies } = one
  const began = ['active', 'expired'].includes(state)
  const end = { stopped: 'stopped', expired: 'expired', error: 'failed' }[state as string]
  const uses = rows.uses.filter((use) => use.subscription_id === id)
  const more = (told: readonly Event[]) => {
    const count = (word: string) =>
      told.filter(({ type }) => type === `subscription.${word}`).length
    const ends = count('stopped') + count('expired') + count('failed')
    return (
      count('supplied') === supplies &&
      // One that was stopped may or may not have been active before.
      (state === 'stopped' || count('started') === (began ? 1 : 0)) &&
      ends === (end === undefined ? 0 : 1) &&
      (end === undefined || count(end) === 1) &&
      // A use that a fork took away stays told.
      uses.every(({ tx_id }) => told.some(({ used }) => used === tx_id))
    )
  }
  // What was used before the end may be read in a block after it.
  const stories = [
    /^(supplied ?)*(failed)?$/,
    /^(supplied )+started( supplied| used| stopped| expired)*$/,
    /^(supplied )*stopped( supplied| used)*$/,
  ]
  const told = new RegExp(stories.map(({ source }) => source).join('|'))
  return { customer_id, told, more }
}

/** Nothing waits for its number. */
export const notesAreNumbered = ({ rows }: Books): string[] =>
  rows.events
    .filter(({ number }) => number === null)
    .map(({ type, subject }) => `C14 ${type} of ${subject} has no number`)
