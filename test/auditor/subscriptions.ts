// What must hold of subscriptions: each start is paid once or given back, each use of energy is one
// that the chain has and is charged once, and what the house supplies is supplied to somebody who
// is subscribed.

import type { ChainTransaction } from './branch.ts'
import type { Order, Rows, Subscription, Transfer, Use } from './rows.ts'
import { type Books, HOUSE } from './rules.ts'
import { layThere } from './supplies.ts'

/** A use that came before the end may be in another block of the branch that stays: so far away at
 *  most. */
const FORK_MS = 120_000

/** Whether it is over. */
export const isEnded = ({ state }: Subscription): boolean =>
  state === 'stopped' || state === 'expired' || state === 'error'

/** The orders of the house for a subscription; they are numbered. */
export const supplyOrdersOf = (rows: Rows, subscription_id: string): Order[] =>
  rows.orders.filter(
    ({ customer_id, external_id }) =>
      customer_id === HOUSE && external_id?.startsWith(`${subscription_id}/`) === true,
  )

/** Whether a transfer sets money aside for a transaction to come. */
export const isNextHold = ({ kind, id }: Transfer): boolean =>
  kind === 'hold' && /^subscription:\w+\/next\/\d+$/.test(id)

const sumOf = (numbers: readonly bigint[]) => numbers.reduce((sum, one) => sum + one, 0n)

/** What may have become of the hold of its start. One that was stopped before it was active pays
 *  for what was used all the same, else at most for the activation of its address, and that is
 *  known when nothing of it lies there any more. */
function endsOfStart(one: Subscription, uses: readonly Use[]): string[] {
  const { state, start_sun, started_at, withdrawn, total_sun } = one
  if (state === 'new' || state === 'pending') return ['']
  if (state === 'error') return [`release ${start_sun}`]
  if (state !== 'stopped') return [`capture ${start_sun}`]
  if (started_at === null)
    return withdrawn ? [`release ${start_sun}`] : ['', `release ${start_sun}`]
  const fee = one.activate_address && uses.length === 0 && total_sun < start_sun
  return [`capture ${fee ? total_sun : start_sun}`]
}

/** C4: the start is held, then captured once when the subscription is active, or released once when
 *  it never is. */
export function startsArePaidOnce({ rows }: Books): string[] {
  const ends = Map.groupBy(rows.transfers, ({ hold_id }) => hold_id)
  const uses = Map.groupBy(rows.uses, ({ subscription_id }) => subscription_id)
  const holds = new Map(
    rows.transfers
      .filter(
        (one) => one.kind === 'hold' && one.id.startsWith('subscription:') && !isNextHold(one),
      )
      .map((one) => [one.id, one]),
  )
  const findings: string[] = []
  for (const one of rows.subscriptions) {
    const { id, customer_id, state, start_sun } = one
    const hold = holds.get(`subscription:${id}`)
    holds.delete(`subscription:${id}`)
    if (start_sun === 0n && !hold) continue
    if (hold?.debit !== `customer:${customer_id}` || hold.amount_sun !== start_sun) {
      findings.push(
        `C4 subscription ${id} of ${start_sun} sun holds ${hold?.amount_sun} of ${hold?.debit}`,
      )
      continue
    }
    const said = (ends.get(hold.id) ?? [])
      .map(({ kind, amount_sun }) => `${kind} ${amount_sun}`)
      .join(', ')
    const expected = endsOfStart(one, uses.get(id) ?? [])
    if (!expected.includes(said))
      findings.push(`C4 subscription ${id} is ${state} and its start: ${said || 'open'}`)
  }
  return [...findings, ...[...holds.keys()].map((id) => `C4 hold ${id} is of no subscription`)]
}

/** What was moved for each use, less what was given back. */
function movedForUses(transfers: readonly Transfer[]): Map<string, bigint> {
  const moved = new Map<string, bigint>()
  for (const { id, kind, debit, amount_sun } of transfers) {
    const [, use] = /^subscription:(\w+\/\w+)/.exec(id) ?? []
    if (kind !== 'move' || use === undefined) continue
    moved.set(
      use,
      (moved.get(use) ?? 0n) + (debit.startsWith('customer:') ? amount_sun : -amount_sun),
    )
  }
  return moved
}

/** Each use is noted once and what it was charged is what was moved for it; what a subscription has
 *  cost is the sum. */
export function usesAreChargedOnce({ rows }: Books): string[] {
  const findings: string[] = []
  const moved = movedForUses(rows.transfers)
  const uses = Map.groupBy(rows.uses, ({ subscription_id }) => subscription_id)
  const noted = new Set<string>()
  for (const { subscription_id, tx_id, charged_sun } of rows.uses) {
    const name = `${subscription_id}/${tx_id}`
    if (noted.has(name)) findings.push(`use ${name} is noted twice`)
    noted.add(name)
    if ((moved.get(name) ?? 0n) !== charged_sun)
      findings.push(`use ${name} of ${charged_sun} sun moved ${moved.get(name)}`)
  }
  for (const [name, sun] of moved)
    if (sun !== 0n && !noted.has(name)) findings.push(`${sun} sun moved for ${name}, no use`)
  for (const one of rows.subscriptions) {
    const mine = uses.get(one.id) ?? []
    const uses_sun = sumOf(mine.map(({ charged_sun }) => charged_sun))
    // What became of a start that was stopped before it was active, C4 says.
    const stopped_early = one.state === 'stopped' && mine.length === 0
    const start_sun = stopped_early ? one.total_sun : one.start_sun
    const paid_sun = (one.state === 'error' ? 0n : start_sun) + uses_sun
    const used = mine.reduce((sum, { transactions }) => sum + transactions, 0)
    const energy = sumOf(mine.map((use) => use.energy))
    if (one.total_sun !== paid_sun)
      findings.push(`subscription ${one.id} says ${one.total_sun} sun, paid were ${paid_sun}`)
    if (one.transactions_used !== used || one.energy_used !== energy) {
      findings.push(
        `subscription ${one.id} says ${one.transactions_used} used of ${one.energy_used}, ` +
          `uses: ${used} of ${energy}`,
      )
    }
    if (one.state === 'error' && mine.length > 0)
      findings.push(`subscription ${one.id} is an error and was used`)
  }
  return findings
}

/** Whether a supply is taken back before its hour only from who is not subscribed any more. */
export function suppliesLastAsLong({ rows, branch }: Books): string[] {
  const attempts = new Map(rows.attempts.map((one) => [one.id, one]))
  const subscriptions = new Map(rows.subscriptions.map((one) => [one.id, one]))
  const ordered = new Map(rows.orders.map(({ id, created_at }) => [id, created_at]))
  const of_order = new Map(
    rows.supplies.map(({ order_id, subscription_id }) => [order_id, subscription_id]),
  )
  return rows.delegations.flatMap(({ id, order_id, attempt_id, reclaim_id }) => {
    const subscription = subscriptions.get(of_order.get(order_id) ?? '')
    if (!subscription || isEnded(subscription)) return []
    const given = branch.transactions.get(attempts.get(attempt_id)?.tx_id ?? '')
    const taken = branch.transactions.get(attempts.get(reclaim_id ?? '')?.tx_id ?? '')
    const early = given && taken && taken.block_time_ms - given.block_time_ms < 3_600_000
    // What was ordered when it was put to rest went back, also when forks have delayed it.
    const { rested_at } = subscription
    const ordered_at = ordered.get(order_id)
    const rested = ordered_at && rested_at && ordered_at.getTime() <= rested_at.getTime() + FORK_MS
    return early && !rested
      ? [`supply ${id} was taken from ${subscription.id}, which is ${subscription.state}`]
      : []
  })
}

/** Every order of the house is for a subscription, by its number, to its address, for nothing. */
export function houseOrdersAreSupplies({ rows }: Books): string[] {
  const by_id = new Map(rows.subscriptions.map((one) => [one.id, one]))
  return rows.orders.flatMap(({ id, customer_id, external_id, address, energy, amount_sun }) => {
    if (customer_id !== HOUSE) return []
    const [of = '', number = ''] = external_id?.split('/') ?? []
    const subscription = by_id.get(of)
    const fits = subscription?.address === address && Number(number) > 0 && amount_sun === 0n
    return fits && energy <= subscription.energy_per_transaction
      ? []
      : [`order ${id} supplies ${energy} to ${address} as ${external_id} for ${amount_sun} sun`]
  })
}

/** What the chain says an address used of energy that lay there, while its subscription ran. */
export const energyUsesOf = (
  { branch }: Pick<Books, 'branch'>,
  address: string,
): ChainTransaction[] =>
  [...branch.transactions.values()].filter((one) => one.owner === address && one.energy_staked > 0n)

const beyond = ({ included }: Subscription, used: number) => BigInt(Math.max(0, used - included))

/** At rest: uses are those that the chain has, counted by the energy they took, while energy of
 *  ours lay there; all are paid as the plan says, but those from the end on, for which nothing was
 *  held, and those that a cap did not allow. */
export function usesAreOnTheChain(books: Books): string[] {
  const { rows, branch } = books
  const findings: string[] = []
  const uses = Map.groupBy(rows.uses, ({ subscription_id }) => subscription_id)
  for (const one of rows.subscriptions) {
    const mine = uses.get(one.id) ?? []
    for (const use of mine) findings.push(...judgeUse(use, one, books))
    const due_sun = dueOf(one, mine)
    const charged_sun = sumOf(mine.map((use) => use.charged_sun))
    findings.push(...judgeCost(one, mine))
    const unpaid = due_sun - charged_sun
    const end_ms = (one.stopped_at?.getTime() ?? Number.POSITIVE_INFINITY) - FORK_MS
    const late = mine.filter(
      ({ tx_id }) => (branch.transactions.get(tx_id)?.block_time_ms ?? 0) >= end_ms,
    )
    const may_be_unpaid = sumOf(
      late.map(({ transactions }) => BigInt(transactions) * one.price_sun),
    )
    if (unpaid < 0n || (unpaid > may_be_unpaid && one.daily_cap_sun === null)) {
      findings.push(
        `subscription ${one.id} (${one.state}) used ${one.transactions_used}, ` +
          `due ${due_sun}, paid ${charged_sun}`,
      )
    }
    findings.push(...judgeLimit(one, mine))
  }
  return findings
}

/** As how many transactions so much energy counts. */
function countOf(energy: number, { whole, total }: { whole: number; total: number }): number {
  // A rest, where nearly all was burnt.
  if (energy * 10 < whole && energy * 10 < total) return 0
  if (energy <= whole) return energy > 0 ? 1 : 0
  return Math.ceil((energy * 99) / 100 / whole)
}

/** What uses cost in the order of their blocks: by the plan, and by orders at most. */
function dueOf(one: Subscription, uses: readonly Use[]): bigint {
  let [used, paid_sun, by_orders_sun] = [0, one.initial_price_sun, 0n]
  for (const use of uses.toSorted((a, b) => Number(a.block_number - b.block_number))) {
    const plan_sun = (beyond(one, used + use.transactions) - beyond(one, used)) * one.price_sun
    used += use.transactions
    by_orders_sun += use.by_orders_sun
    const sums = [plan_sun, use.by_orders_sun, by_orders_sun - paid_sun]
    const due_sun = sums.reduce((a, b) => (a < b ? a : b))
    if (due_sun > 0n) paid_sun += due_sun
  }
  return paid_sun - one.initial_price_sun
}

/** A use costs no more than by orders, nor do all of them, once they have come to the start. */
function judgeCost(one: Subscription, uses: readonly Use[]): string[] {
  const { id, initial_price_sun } = one
  const by_orders_sun = sumOf(uses.map((use) => use.by_orders_sun))
  const paid_sun = initial_price_sun + sumOf(uses.map(({ charged_sun }) => charged_sun))
  const dear = uses.filter((use) => use.charged_sun > use.by_orders_sun)
  return [
    ...dear.map(({ tx_id }) => `use ${tx_id} of ${id} costs more than by orders`),
    ...(paid_sun > initial_price_sun && paid_sun > by_orders_sun
      ? [`subscription ${id} has cost ${paid_sun} sun, by orders ${by_orders_sun}`]
      : []),
    ...(one.by_orders_sun === by_orders_sun
      ? []
      : [`subscription ${id} says ${one.by_orders_sun} sun by orders, uses: ${by_orders_sun}`]),
  ]
}

function judgeUse(use: Use, subscription: Subscription, books: Books): string[] {
  const { tx_id, energy, transactions, block_number, solid } = use
  const found = books.branch.transactions.get(tx_id)
  const same =
    solid &&
    found?.owner === subscription.address &&
    found.energy_staked === energy + use.own_energy &&
    BigInt(found.block_number) === block_number &&
    transactions ===
      countOf(Number(energy), {
        whole: subscription.energy_per_transaction,
        total: Number(found.energy_used),
      })
  if (!same)
    return [
      `use ${tx_id} of ${energy} as ${transactions} in ${block_number} is on the chain: ` +
        `${JSON.stringify(found?.block_number)}`,
    ]
  const served = layThere(books, subscription.id).some(
    ({ from, to }) => from < found.block_number && found.block_number <= to,
  )
  return served
    ? []
    : [`use ${tx_id} was charged to ${subscription.id}, and nothing of ours was there`]
}

/** A limit ends it with the use that reaches it. */
function judgeLimit(one: Subscription, uses: readonly Use[]): string[] {
  const { id, state, transactions_used, transactions_limit, plan_limit } = one
  const limit = transactions_limit || plan_limit
  if (limit === 0) return []
  const most = Math.max(0, ...uses.map(({ transactions }) => transactions))
  // The plan's own limit waits until what was paid at the start is used up.
  const is_own = transactions_limit === 0 || transactions_limit === plan_limit
  const last_sun = uses.map((use) => use.by_orders_sun).reduce((a, b) => (a > b ? a : b), 0n)
  const [before_last, at_all] = [one.by_orders_sun - last_sun, one.by_orders_sun].map(
    (sun) => !is_own || sun >= one.initial_price_sun,
  )
  const over = transactions_used - most >= limit && before_last
  const goes_on = state === 'active' && transactions_used >= limit && at_all
  return over || goes_on
    ? [`subscription ${id} (${state}) used ${transactions_used} of ${limit}`]
    : []
}

/** At rest: what an address used after the chain had come to a block and the address was seen to be
 *  subscribed, while energy of ours lay there, is counted: until the end always, and after it as
 *  long as something was held or included. */
export function laterUsesAreCounted(
  books: Books,
  active_at: ReadonlyMap<string, number>,
): string[] {
  const noted = new Set(
    books.rows.uses.map(({ subscription_id, tx_id }) => `${subscription_id}/${tx_id}`),
  )
  return books.rows.subscriptions.flatMap((one) => {
    const { id, address, stopped_at, state } = one
    const from_block = active_at.get(id)
    if (from_block === undefined || state === 'error') return []
    const end_ms = stopped_at?.getTime() ?? Number.POSITIVE_INFINITY
    // What a fork took away later was still counted when it was noted.
    const taken_back = books.rows.transfers.some(
      (move) => move.id.startsWith(`subscription:${id}/`) && /\/back$/.test(move.id),
    )
    const included = one.transactions_used < one.included && !isUsedUp(one) && !taken_back
    const covered = unspentHolds(books, id) > 0 || included
    const lay = layThere(books, id)
    return energyUsesOf(books, address)
      .filter(
        ({ block_number: at }) =>
          at > from_block && lay.some(({ from, to }) => from < at && at <= to),
      )
      .filter(({ tx_id }) => !noted.has(`${id}/${tx_id}`))
      .filter(({ block_time_ms }) => block_time_ms < end_ms || covered)
      .map(
        ({ tx_id, block_number }) =>
          `use ${tx_id} in block ${block_number} was not charged to ${id}`,
      )
  })
}

const isUsedUp = ({ transactions_used, transactions_limit, plan_limit }: Subscription): boolean => {
  const limit = transactions_limit || plan_limit
  return limit > 0 && transactions_used >= limit
}

/** How many holds for a next transaction were given back and nothing was charged at the same
 *  moment. */
export function unspentHolds({ rows }: Books, subscription_id: string): number {
  const mine = rows.transfers.filter(({ id }) => id.startsWith(`subscription:${subscription_id}/`))
  const charged = new Set(
    mine.filter(({ kind }) => kind === 'move').map(({ made_at }) => made_at.getTime()),
  )
  return mine.filter(({ kind, made_at }) => kind === 'release' && !charged.has(made_at.getTime()))
    .length
}

/** At rest: every order of the house is known to the subscription that it is for. */
export function suppliesAreKnown({ rows }: Books): string[] {
  const orders = new Set(rows.supplies.map(({ order_id }) => order_id))
  return rows.orders
    .filter(({ id, customer_id }) => customer_id === HOUSE && !orders.has(id))
    .map(
      ({ id, external_id }) =>
        `order ${id} is of the house and not known to whom it supplies: ${external_id}`,
    )
}

/** At rest none runs. */
export function subscriptionsHaveEnded({ rows }: Books): string[] {
  return rows.subscriptions
    .filter((one) => !isEnded(one))
    .map(({ id, state }) => `C9 subscription ${id} is still ${state}`)
}

/** Rules of subscriptions that hold at every moment. */
export const ALWAYS_OF_SUBSCRIPTIONS: readonly ((books: Books) => string[])[] = [
  startsArePaidOnce,
  usesAreChargedOnce,
  suppliesLastAsLong,
  houseOrdersAreSupplies,
]
