// What must hold when everything has come to rest: the network is well, time has passed, and
// nothing is left to do.

import type { ChainTransaction } from './branch.ts'
import { sentBackByHand } from './by_hand.ts'
import { checksAreAnswered } from './checks.ts'
import { notesAreNumbered } from './events.ts'
import type { Deposit } from './rows.ts'
import { type Books, isOvertaken } from './rules.ts'
import { subscriptionsHaveEnded, suppliesAreKnown, usesAreOnTheChain } from './subscriptions.ts'

const isPast = (block: number) => (one: ChainTransaction) => one.block_number > block

/** Nothing is under way: orders and delegations have ended, attempts are solid or dead, no money or
 *  room is set aside. */
export function nothingIsLeft({ rows }: Books): string[] {
  const findings: string[] = []
  const left = (
    what: string,
    rows: readonly { id: string; state: string }[],
    final: readonly string[],
  ) => {
    for (const { id, state } of rows)
      if (!final.includes(state)) findings.push(`C9 ${what} ${id} is still ${state}`)
  }
  left('order', rows.orders, ['success', 'failed'])
  left('delegation', rows.delegations, ['ended', 'failed'])
  left('attempt', rows.attempts, ['solid', 'dead'])
  left('activation', rows.activations, ['active', 'failed'])
  left(
    'deposit',
    rows.deposits.map(({ tx_id, state }) => ({ id: tx_id, state })),
    ['credited', 'delivered', 'refunded', 'held', 'ignored', 'resolved', 'gone'],
  )
  for (const { id, to_delegate } of rows.orders)
    if (to_delegate) findings.push(`order ${id} is still to be delegated`)
  for (const { id, held_sun } of rows.accounts)
    if (held_sun !== 0n) findings.push(`C4 ${id} still holds ${held_sun}`)
  for (const { resource, reserved } of rows.pool) {
    if (reserved !== 0n) findings.push(`${reserved} ${resource} are still reserved`)
  }
  return findings
}

/** Every successful order was delivered in full on the solid chain, and its hash leads there. */
export function successIsOnTheChain({ rows, branch }: Books): string[] {
  const findings: string[] = []
  const attempts = new Map(rows.attempts.map((one) => [one.id, one]))
  const delegations = Map.groupBy(rows.delegations, ({ order_id }) => order_id)
  for (const order of rows.orders) {
    if (order.state !== 'success') continue
    const hash = branch.transactions.get(order.tx_id ?? '')
    const gone = order.service === 'activate_address' && isOvertaken(rows, order)
    if (!gone && (!hash || hash.block_number > branch.solid_number)) {
      findings.push(
        `C5 order ${order.id} is a success and its hash ${order.tx_id} is not on the chain`,
      )
    }
    if (order.service === 'activate_address') continue
    for (const resource of ['energy', 'bandwidth'] as const) {
      const given = (delegations.get(order.id) ?? []).filter((one) => {
        const tx_id = attempts.get(one.attempt_id)?.tx_id
        return one.resource === resource && branch.transactions.has(tx_id ?? '')
      })
      const units = given.reduce((sum, { amount }) => sum + amount, 0n)
      if (units !== order[resource])
        findings.push(`C5 order ${order.id} got ${units} of ${order[resource]} ${resource}`)
    }
  }
  return findings
}

/** An hour begins with the block that has the delegation, on the branch that stayed. */
export function hoursBeginOnTheChain({ rows, branch }: Books): string[] {
  const attempts = new Map(rows.attempts.map((one) => [one.id, one]))
  return rows.delegations.flatMap(({ id, attempt_id, delegated_at }) => {
    const given = branch.transactions.get(attempts.get(attempt_id)?.tx_id ?? '')
    const late_ms = given && delegated_at ? given.block_time_ms - delegated_at.getTime() : 0
    return late_ms === 0
      ? []
      : [`C9 the hour of ${id} was counted from ${late_ms / 1000} s before its block`]
  })
}

/** C8: nothing of ours is delegated any more. */
export function stakesAreBack({ branch, wallets }: Books): string[] {
  const stakes = new Map<string, bigint>()
  for (const { type, owner, to, resource, sun } of branch.transactions.values()) {
    const sign =
      type === 'DelegateResourceContract' ? 1n : type === 'UnDelegateResourceContract' ? -1n : 0n
    const key = `${owner} ${to} ${resource}`
    if (wallets.includes(owner)) stakes.set(key, (stakes.get(key) ?? 0n) + sign * sun)
  }
  return [...stakes].flatMap(([key, sun]) =>
    sun === 0n ? [] : [`C8 ${sun} sun are still delegated: ${key}`],
  )
}

export type Place = {
  first_block: number
  recharge_address: string
  refund_address: string | undefined
  /** Whose money was held all the time: who was blacklisted, or sends money of high risk. */
  held_senders: readonly string[]
}

/** C6: every transfer to an address of ours since the service began to read has its end in the
 *  rows. */
export function depositsAreKnown(
  { rows, branch }: Books,
  { first_block, recharge_address }: Place,
): string[] {
  const ours = new Set([
    recharge_address,
    ...rows.customers.map(({ deposit_address }) => deposit_address),
  ])
  const solid = new Set(
    rows.deposits.filter(({ solid_at }) => solid_at !== null).map(({ tx_id }) => tx_id),
  )
  return [...branch.transactions.values()]
    .filter(isPast(first_block))
    .filter(
      (one) => one.succeeded && sentIn(one).some(({ to }) => ours.has(to)) && !solid.has(one.tx_id),
    )
    .map(({ tx_id, sun }) => `C6 deposit ${tx_id} of ${sun} sun is not known`)
}

/** What a transaction moves, by itself and by contracts. */
const sentIn = ({ type, to, sun, inner }: ChainTransaction) =>
  type === 'TransferContract' ? [{ to, sun }, ...inner] : inner

/** What the states of direct recharges say is so. */
export function rechargesAreDone({ rows, branch }: Books): string[] {
  const attempts = new Map(rows.attempts.map((one) => [one.id, one]))
  const orders = new Map(rows.orders.map((one) => [one.id, one]))
  return rows.deposits.flatMap((deposit) => {
    const { tx_id, position, state, solid_at, order_id, refund_id } = deposit
    const refund = branch.transactions.get(attempts.get(refund_id ?? '')?.tx_id ?? '')
    const on_chain = isOnTheChain(deposit, { rows, branch })
    const fits =
      state === 'delivered'
        ? orders.get(order_id ?? '')?.state === 'success'
        : state === 'refunded'
          ? on_chain && refund !== undefined
          : state === 'gone'
            ? !on_chain
            : solid_at !== null
    return fits
      ? []
      : [
          `deposit ${tx_id} at ${position} is ${state}, on the chain: ${on_chain}, ` +
            `order ${order_id}, refund ${refund_id}`,
        ]
  })
}

/** Whether the chain has what a deposit says, and not only its transaction: of a real one, a node
 *  that lies can say that a contract sent something in it. Events of tokens are not read here, and
 *  are counted by block: on another branch the same one is another row. */
function isOnTheChain(deposit: Deposit, { rows, branch }: Pick<Books, 'rows' | 'branch'>): boolean {
  const { tx_id, to_address, amount_sun } = deposit
  const found = branch.transactions.get(tx_id)
  if (!found?.succeeded) return false
  if (amount_sun === null) {
    return !rows.deposits.some((one) => one.tx_id === tx_id && one.solid_at !== null)
  }
  return sentIn(found).some(({ to, sun }) => to === to_address && sun === amount_sun)
}

/** Accounts of what of the chain is ours, or was. */
const OUTSIDE = ['world', 'treasury:collected', 'treasury:fees', 'treasury:wallets']

/** C7: what lies on the chain for us is what customers have, what was earned and what recharges
 *  owe, to the sun. */
export function fundsAreThere({ rows, branch }: Books, place: Place): string[] {
  const { first_block, recharge_address, refund_address } = place
  const ours = new Set([
    recharge_address,
    ...rows.customers.map(({ deposit_address }) => deposit_address),
  ])
  let on_chain = 0n
  for (const one of branch.transactions.values()) {
    if (!one.succeeded || !isPast(first_block)(one)) continue
    for (const { to, sun } of sentIn(one)) if (ours.has(to)) on_chain += sun
    if (one.type === 'TransferContract' && one.owner === refund_address) on_chain -= one.sun
  }
  on_chain -= sentBackByHand(rows)
  for (const { state, reward_sun } of rows.claims)
    if (state === 'claimed') on_chain += reward_sun ?? 0n
  let in_books = 0n
  for (const { kind, debit, credit, amount_sun } of rows.transfers) {
    if (kind !== 'move' && kind !== 'capture') continue
    if (!OUTSIDE.includes(debit)) in_books -= amount_sun
    if (!OUTSIDE.includes(credit)) in_books += amount_sun
  }
  return on_chain === in_books ? [] : [`C7 ${on_chain} sun on the chain, ${in_books} in the books`]
}

/** Rules that hold at rest, beside those that always do. */
export const AT_REST: readonly ((books: Books) => string[])[] = [
  nothingIsLeft,
  successIsOnTheChain,
  hoursBeginOnTheChain,
  stakesAreBack,
  rechargesAreDone,
  subscriptionsHaveEnded,
  usesAreOnTheChain,
  suppliesAreKnown,
  checksAreAnswered,
  notesAreNumbered,
]
