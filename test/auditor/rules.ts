// What must always hold between the rows and the chain, whatever has crashed. Every rule gives a
// line for each thing that is wrong, and nothing when all is well. Marks C1 to C9 are those of the
// conservation set in the documentation.

import type { Branch, ChainTransaction } from './branch.ts'
import type { Delegation, Order, Rows, Transfer } from './rows.ts'

export type Books = {
  rows: Rows
  branch: Branch
  /** Accounts that only the service acts for: whatever they do must be known to it. */
  wallets: readonly string[]
  /** Units of a resource that one TRX of stake gives, by the chain. */
  units_per_trx: Record<'energy' | 'bandwidth', number>
  /** The TRX that the solid chain has at each customer's deposit address, in sun. */
  holdings: ReadonlyMap<string, bigint>
}

/** Whom the orders that supply subscriptions belong to. */
export const HOUSE = 'subscriptions'
const HOUR_MS = 3_600_000
/** What the network takes for a refund. */
const REFUND_FEE_SUN = 300_000n
const sumOf = (numbers: readonly bigint[]) => numbers.reduce((sum, one) => sum + one, 0n)
const isOpen = ({ state }: Order) => state === 'new' || state === 'pending'

/** C1: each entry takes from one account what it gives to another, and both exist; what a hold set
 *  aside was taken or given back between its own accounts. */
export function entriesHaveTwoSides({ rows }: Books): string[] {
  const accounts = new Set(rows.accounts.map(({ id }) => id))
  const holds = new Map(
    rows.transfers.filter(({ kind }) => kind === 'hold').map((one) => [one.id, one]),
  )
  return rows.transfers.flatMap(({ id, kind, debit, credit, amount_sun, hold_id }) => {
    const findings: string[] = []
    if (!accounts.has(debit) || !accounts.has(credit) || debit === credit || amount_sun <= 0n) {
      findings.push(`C1 ${id} moves ${amount_sun} from ${debit} to ${credit}`)
    }
    const ends = kind === 'capture' || kind === 'release'
    const hold = holds.get(hold_id ?? '')
    const fits = hold?.debit === debit && hold.credit === credit && amount_sun <= hold.amount_sun
    if (ends ? !fits : hold_id !== null)
      findings.push(`C1 ${id} is a ${kind} of the hold ${hold_id}`)
    return findings
  })
}

/** C2, C3: what an account has is what its transfers say, and never less than nothing. */
export function accountsAddUp({ rows }: Books): string[] {
  const posted = new Map<string, bigint>()
  const held = new Map<string, bigint>()
  const add = (to: Map<string, bigint>, id: string, sun: bigint) =>
    to.set(id, (to.get(id) ?? 0n) + sun)
  for (const { kind, debit, credit, amount_sun } of rows.transfers) {
    if (kind === 'hold') add(held, debit, amount_sun)
    if (kind === 'hold' || kind === 'release') continue
    add(posted, debit, -amount_sun)
    add(posted, credit, amount_sun)
  }
  const by_id = new Map(rows.transfers.map((one) => [one.id, one]))
  for (const { hold_id } of rows.transfers) {
    const hold = hold_id === null ? undefined : by_id.get(hold_id)
    if (hold) add(held, hold.debit, -hold.amount_sun)
  }
  const findings: string[] = []
  for (const { id, may_go_negative, posted_sun, held_sun } of rows.accounts) {
    if (may_go_negative) continue
    const [is, holds] = [posted.get(id) ?? 0n, held.get(id) ?? 0n]
    if (posted_sun !== is || held_sun !== holds) {
      findings.push(
        `C2 ${id} keeps ${posted_sun}, held ${held_sun}; its transfers say ${is} and ${holds}`,
      )
    }
    if (posted_sun - held_sun < 0n || held_sun < 0n)
      findings.push(`C3 ${id} has ${posted_sun} and holds ${held_sun}`)
  }
  return findings
}

/** C4: every open order holds its money, and no other; a success took it, a failure gave it
 *  back. */
export function holdsAreOrders({ rows }: Books): string[] {
  const resolutions = new Map<string, Transfer[]>()
  for (const one of rows.transfers) {
    if (one.hold_id !== null)
      resolutions.set(one.hold_id, [...(resolutions.get(one.hold_id) ?? []), one])
  }
  const holds = new Map(
    rows.transfers.filter(({ kind }) => kind === 'hold').map((one) => [one.id, one]),
  )
  const findings: string[] = []
  for (const order of rows.orders) {
    const hold = holds.get(`order:${order.id}`)
    holds.delete(`order:${order.id}`)
    // What costs nothing holds nothing.
    if (!hold && order.amount_sun === 0n) continue
    if (!hold || hold.debit !== `customer:${order.customer_id}`) {
      findings.push(`C4 order ${order.id} has no hold`)
      continue
    }
    const ends = resolutions.get(hold.id) ?? []
    const said = ends.map(({ kind, amount_sun }) => `${kind} ${amount_sun}`).join(', ')
    const expected = isOpen(order)
      ? ''
      : order.state === 'success'
        ? `capture ${order.amount_sun}`
        : `release ${hold.amount_sun}`
    if (said !== expected)
      findings.push(`C4 order ${order.id} is ${order.state} and its hold: ${said || 'open'}`)
    const more = hold.amount_sun - order.amount_sun
    if (more !== 0n && (order.state !== 'success' || more < 0n)) {
      findings.push(`C4 order ${order.id} costs ${order.amount_sun} and held ${hold.amount_sun}`)
    }
  }
  for (const id of holds.keys())
    if (id.startsWith('order:')) findings.push(`C4 hold ${id} is of no order`)
  const captured = rows.transfers.filter(
    ({ kind, id }) => kind === 'capture' && id.startsWith('order:'),
  )
  const sold = rows.orders.filter(({ state }) => state === 'success')
  if (sumOf(captured.map((one) => one.amount_sun)) !== sumOf(sold.map((one) => one.amount_sun))) {
    findings.push('C4 what was captured is not what successful orders cost')
  }
  return findings
}

/** What orders still need is reserved, to the unit. */
export function reservesAreNeeded({ rows }: Books): string[] {
  return rows.pool.flatMap(({ resource, reserved }) => {
    const needed = rows.orders
      .filter(({ to_delegate }) => to_delegate)
      .map((order) => order[resource] - plannedOf(rows, order, resource))
    return sumOf(needed) === reserved
      ? []
      : [`reserved ${resource} is ${reserved}, orders need ${sumOf(needed)}`]
  })
}

const planned_of = new WeakMap<Rows, Map<string, bigint>>()

/** What of an order is delegated or on its way; summed once for all orders. */
function plannedOf(rows: Rows, { id }: Order, resource: 'energy' | 'bandwidth'): bigint {
  let sums = planned_of.get(rows)
  if (!sums) {
    sums = new Map()
    for (const one of rows.delegations) {
      const key = `${one.order_id} ${one.resource}`
      if (one.state !== 'failed') sums.set(key, (sums.get(key) ?? 0n) + one.amount)
    }
    planned_of.set(rows, sums)
  }
  return sums.get(`${id} ${resource}`) ?? 0n
}

/** Every order is at any time either delivered, on its way, or waiting for it, in full and never
 *  more. */
export function ordersAreWhole({ rows }: Books): string[] {
  const findings: string[] = []
  const names = new Set<string>()
  for (const order of rows.orders) {
    const name = `${order.customer_id} ${order.external_id}`
    if (order.external_id !== null && names.has(name)) findings.push(`two orders of ${name}`)
    names.add(name)
    if (order.service === 'activate_address') continue
    for (const resource of ['energy', 'bandwidth'] as const) {
      const planned = plannedOf(rows, order, resource)
      const short = order.state !== 'failed' && !order.to_delegate && planned < order[resource]
      if (planned > order[resource] || short) {
        findings.push(
          `order ${order.id} (${order.state}) bought ${order[resource]} ${resource} and ` +
            `has ${planned}`,
        )
      }
    }
  }
  return findings
}

/** C6: what came in is on the solid chain, once, with that amount, and was booked to whom it is
 *  for. */
export function depositsExist({ rows, branch }: Books): string[] {
  const findings: string[] = []
  const customers = new Map(rows.customers.map(({ id, deposit_address }) => [deposit_address, id]))
  const moves = new Map(
    rows.transfers.filter(({ id }) => id.startsWith('deposit:')).map((one) => [one.id, one]),
  )
  for (const {
    tx_id,
    position,
    to_address,
    amount_sun,
    customer_id,
    solid_at,
    state,
  } of rows.deposits) {
    if (solid_at === null || amount_sun === null) continue
    const found = branch.transactions.get(tx_id)
    const solid = found?.succeeded && found.block_number <= branch.solid_number
    const sent = [...(found?.type === 'TransferContract' ? [found] : []), ...(found?.inner ?? [])]
    if (!solid || !sent.some(({ to, sun }) => to === to_address && sun === amount_sun)) {
      findings.push(`C6 deposit ${tx_id} is not on the chain`)
    }
    if (customers.get(to_address) !== (customer_id ?? undefined))
      findings.push(`C6 deposit ${tx_id} is another's`)
    const id = position === 0 ? `deposit:${tx_id}` : `deposit:${tx_id}/${position}`
    const move = moves.get(id)
    moves.delete(id)
    const kept = customer_id !== null && state !== 'credited'
    const credit = kept ? 'held_deposits' : `customer:${customer_id ?? 'direct_recharge'}`
    if (move?.amount_sun !== amount_sun || move.credit !== credit || move.debit !== 'world') {
      findings.push(
        `C6 deposit ${tx_id} of ${amount_sun} booked ${move?.amount_sun} to ${move?.credit}`,
      )
    }
  }
  for (const id of moves.keys()) findings.push(`C6 ${id} was booked and is no deposit`)
  const from_outside = rows.transfers.filter(
    ({ debit, id }) => debit === 'world' && !id.startsWith('deposit:'),
  )
  return [...findings, ...from_outside.map(({ id }) => `C6 ${id} came out of nothing`)]
}

/** C13: nothing was booked as having come to a deposit address that is not there, or has left
 *  it. */
export function addressesHoldDeposits({ rows, branch, holdings }: Books): string[] {
  return rows.customers.flatMap(({ deposit_address }) => {
    const booked = rows.deposits
      .filter(({ to_address, solid_at }) => to_address === deposit_address && solid_at !== null)
      .map(({ amount_sun }) => amount_sun ?? 0n)
    const left = [...branch.transactions.values()]
      .filter(({ owner }) => owner === deposit_address)
      .map(({ sun }) => sun)
    const there = (holdings.get(deposit_address) ?? 0n) + sumOf(left)
    return there < sumOf(booked)
      ? [`C13 ${deposit_address} has ${there} and ${sumOf(booked)} were booked`]
      : []
  })
}

/** A direct recharge is delivered, or goes back once and to its sender, or neither; never both. */
export function rechargesEndOnce({ rows, branch }: Books): string[] {
  const orders = new Map(rows.orders.map((one) => [one.id, one]))
  return rows.deposits.flatMap((deposit) => {
    const { tx_id, position, order_id, from_address, amount_sun } = deposit
    // Only what a transaction itself has sent is delivered or goes back: not what contracts send in
    // it.
    if (position !== 0)
      return order_id === null ? [] : [`deposit ${tx_id}/${position} has an order`]
    const findings: string[] = []
    const sent = rows.attempts.filter((one) => one.subject === `refund:${tx_id}`)
    const refunds = sent.flatMap((one) => branch.transactions.get(one.tx_id ?? '') ?? [])
    const order = orders.get(order_id ?? '')
    if (refunds.length > 1) findings.push(`deposit ${tx_id} went back ${refunds.length} times`)
    if (sent.length > 0 && order && order.state !== 'failed')
      findings.push(`deposit ${tx_id} is sold and sent back`)
    for (const { to, sun } of refunds) {
      const fits = to === from_address && amount_sun !== null && sun === amount_sun - REFUND_FEE_SUN
      if (!fits)
        findings.push(
          `deposit ${tx_id} of ${amount_sun} from ${from_address} went back as ${sun} to ${to}`,
        )
    }
    if (order && (order.address !== from_address || order.external_id !== `deposit:${tx_id}`)) {
      findings.push(`deposit ${tx_id} was delivered by ${order.id} to ${order.address}`)
    }
    // The shipped prices of energy, in sun for each unit.
    if (order && ![45n, 42n].some((price_sun) => order.energy === (amount_sun ?? 0n) / price_sun)) {
      findings.push(`deposit ${tx_id} of ${amount_sun} bought ${order.energy}`)
    }
    return findings
  })
}

/** C5: the chain has nothing of our wallets that was not written down before, and what is dead
 *  stays off it. */
export function chainIsKnown({ rows, branch, wallets }: Books): string[] {
  const findings: string[] = []
  const attempts = new Map(rows.attempts.map((one) => [one.tx_id, one]))
  const alive = new Set<string>()
  const on_chain = new Map<string, string>()
  for (const { subject, state, tx_id } of rows.attempts) {
    if (state === 'dead') continue
    if (alive.has(subject))
      findings.push(`C5 ${subject} has two attempts that are alive, one is ${tx_id}`)
    alive.add(subject)
  }
  for (const one of branch.transactions.values()) {
    const ours =
      wallets.includes(one.owner) &&
      /^(Un)?DelegateResource|^AccountCreate|^Transfer|^VoteWitness|^WithdrawBalance/.test(one.type)
    if (!ours) continue
    const attempt = attempts.get(one.tx_id)
    if (!attempt)
      findings.push(`C5 ${one.type} ${one.tx_id} is on the chain and nobody knows of it`)
    else if (attempt.state === 'dead')
      findings.push(`C5 ${attempt.subject} ${one.tx_id} is dead and on the chain`)
    else if (on_chain.has(attempt.subject))
      findings.push(`C5 ${attempt.subject} is on the chain twice`)
    if (attempt) on_chain.set(attempt.subject, one.tx_id)
  }
  for (const { state, tx_id, block_number, subject } of rows.attempts) {
    if (state !== 'solid') continue
    const found = branch.transactions.get(tx_id ?? '')
    if (!found || BigInt(found.block_number) !== block_number)
      findings.push(`C5 ${subject} is solid and not on the chain`)
  }
  return findings
}

type PlacedDelegation = {
  delegation: Delegation
  order: Order
  given: ChainTransaction
  taken: ChainTransaction | undefined
}

/** The delegations that are on the branch, with what the branch says of them. */
function placedDelegations({ rows, branch }: Books): PlacedDelegation[] {
  const orders = new Map(rows.orders.map((one) => [one.id, one]))
  const attempts = Map.groupBy(rows.attempts, ({ subject }) => subject)
  const transactionsOf = (subject: string) =>
    (attempts.get(subject) ?? []).flatMap(({ tx_id }) => branch.transactions.get(tx_id ?? '') ?? [])
  return rows.delegations.flatMap((delegation) => {
    const [given] = transactionsOf(`delegate:${delegation.id}`)
    const [taken] = transactionsOf(`reclaim:${delegation.id}`)
    const order = orders.get(delegation.order_id)
    return given && order ? [{ delegation, order, given, taken }] : []
  })
}

/** C5, C8: what the chain was given for an order is what was bought: to whom, by whom, enough, and
 *  not twice. */
export function deliveriesAreExact(books: Books): string[] {
  const findings: string[] = []
  const delivered = new Map<string, bigint>()
  for (const { delegation, order, given } of placedDelegations(books)) {
    const { id, wallet, receiver, resource, amount, stake_sun } = delegation
    const same =
      given.owner === wallet &&
      given.to === receiver &&
      given.resource === resource &&
      given.sun === stake_sun
    if (!same || receiver !== order.address)
      findings.push(`C8 delegation ${id} is another on the chain: ${given.tx_id}`)
    const units = Math.trunc((Number(given.sun) / 1e6) * books.units_per_trx[resource])
    if (units < Number(amount))
      findings.push(`C5 delegation ${id} gives ${units} ${resource}, sold were ${amount}`)
    const stake_max = (Number(amount) * 1.03) / books.units_per_trx[resource] + 2
    if (Number(given.sun) / 1e6 > stake_max)
      findings.push(`C8 delegation ${id} gives ${units}, sold were ${amount}`)
    const key = `${order.id} ${resource}`
    delivered.set(key, (delivered.get(key) ?? 0n) + amount)
    if (delivered.get(key)! > order[resource]) findings.push(`C5 order ${key} is delivered twice`)
  }
  return findings
}

/** What was given is taken back once, exactly, and from a customer who paid not before the hour is
 *  over. */
export function reclaimsAreExact(books: Books): string[] {
  return placedDelegations(books).flatMap(({ delegation, order, given, taken }) => {
    if (!taken) return []
    const findings: string[] = []
    const same =
      taken.owner === given.owner &&
      taken.to === given.to &&
      taken.resource === given.resource &&
      taken.sun === given.sun
    if (!same || taken.type !== 'UnDelegateResourceContract') {
      findings.push(`C9 ${delegation.id} was given ${given.sun} and ${taken.sun} were taken back`)
    }
    const lasted_ms = taken.block_time_ms - given.block_time_ms
    // What supplies a subscription may be taken back with its end: that is judged there.
    if (order.state !== 'failed' && order.customer_id !== HOUSE && lasted_ms < HOUR_MS) {
      findings.push(
        `C9 ${delegation.id} of order ${order.id} (${order.state}) lasted ${lasted_ms / 1000} s`,
      )
    }
    return findings
  })
}

/** Nothing is taken back before what was given is solid: a fork could make it another order's. */
export function reclaimsWaitForSolid({ rows }: Books): string[] {
  const attempts = new Map(rows.attempts.map((one) => [one.id, one]))
  return rows.delegations.flatMap(({ id, attempt_id, reclaim_id }) =>
    reclaim_id !== null && attempts.get(attempt_id)?.state !== 'solid'
      ? [`C9 ${id} is taken back and not solid`]
      : [],
  )
}

/** C8: as the blocks have it, no wallet takes back more than it gave, for no receiver, at no
 *  time. */
export function stakesStayPositive({ branch, wallets }: Books): string[] {
  const stakes = new Map<string, bigint>()
  return [...branch.transactions.values()].flatMap(({ type, owner, to, resource, sun, tx_id }) => {
    if (!wallets.includes(owner)) return []
    const sign =
      type === 'DelegateResourceContract' ? 1n : type === 'UnDelegateResourceContract' ? -1n : 0n
    const key = `${owner} ${to} ${resource}`
    stakes.set(key, (stakes.get(key) ?? 0n) + sign * sun)
    return stakes.get(key)! < 0n ? [`C8 ${tx_id} takes more from ${key} than was given`] : []
  })
}

/** An activation is paid for once, and only when it is ours. */
export function activationsArePaidOnce({ rows, branch }: Books): string[] {
  const findings: string[] = []
  const attempts = new Map(rows.attempts.map((one) => [one.id, one]))
  const payers = new Map<string, string>()
  for (const order of rows.orders) {
    if (order.fee_sun === 0n || order.state === 'failed' || order.activation_id === null) continue
    const before = payers.get(order.activation_id)
    if (before !== undefined)
      findings.push(`orders ${before} and ${order.id} pay for one activation`)
    payers.set(order.activation_id, order.id)
    if (order.state !== 'success') continue
    const activation = rows.activations.find(({ id }) => id === order.activation_id)
    const attempt = attempts.get(activation?.attempt_id ?? '')
    const settled = attempt?.state === 'solid' && branch.transactions.has(attempt.tx_id ?? '')
    if (
      attempt?.state !== 'included' &&
      attempt?.state !== 'sent' &&
      !settled &&
      !isOvertaken(rows, order)
    ) {
      findings.push(`order ${order.id} paid for an activation that was not ours: ${attempt?.state}`)
    }
  }
  return findings
}

/** Whether its activation was ours when it was charged; then a fork took it back, and somebody else
 *  was there first. It stays a success, and charged. */
export function isOvertaken({ attempts, activations }: Rows, { activation_id }: Order): boolean {
  const subject = `activate:${activation_id}`
  const by_others = activations.some(
    ({ id, attempt_id }) => id === activation_id && attempt_id === null,
  )
  return (
    by_others &&
    attempts.some((one) => one.subject === subject && one.state === 'dead' && one.uncovered)
  )
}

/** What a quote is for is bought once. */
export function quotesBuyOnce({ rows }: Books): string[] {
  const bought = Map.groupBy(
    rows.orders.filter(({ quote_id }) => quote_id !== null),
    ({ quote_id }) => quote_id,
  )
  return [...bought].flatMap(([id, orders]) =>
    orders.length === 1 ? [] : [`C1 quote ${id} has bought ${orders.length} orders`],
  )
}

/** Rules of orders, deposits and the chain that hold at every moment. */
export const ALWAYS: readonly ((books: Books) => string[])[] = [
  entriesHaveTwoSides,
  accountsAddUp,
  holdsAreOrders,
  reservesAreNeeded,
  ordersAreWhole,
  depositsExist,
  addressesHoldDeposits,
  rechargesEndOnce,
  chainIsKnown,
  deliveriesAreExact,
  reclaimsAreExact,
  reclaimsWaitForSolid,
  stakesStayPositive,
  activationsArePaidOnce,
  quotesBuyOnce,
]
