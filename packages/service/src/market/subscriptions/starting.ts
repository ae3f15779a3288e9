// Starting a subscription: judged as the wire lays it down, and placed with its price held.

import type { Address } from 'penstock-tron/address.ts'
import { chainState, isAgreed } from '../../chain/follow/progress.ts'
import { purchaseReader } from '../../chain/reads/reads.ts'
import { chainSilent, type Receiver, type ReceiverReader } from '../../chain/receivers/receivers.ts'
import { type Actor, recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { type Clock, DAY_MS } from '../../lib/clock.ts'
import { Fault } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import {
  type Buyer,
  isReplay,
  openPurse,
  type Purse,
  refuseReceiver,
} from '../../people/customers/purse.ts'
import { type Again, notAgain } from '../../platform/database/again.ts'
import { brokenConstraint, type Sql, type Tx } from '../../platform/database/sql.ts'
import type { StepName } from '../../platform/steps/step.ts'
import {
  InvalidParams,
  ServiceUnavailable,
  Suspended,
  Unauthenticated,
} from '../../platform/wire/endpoint.ts'
import { InvalidAddress, InvalidDuration } from '../../platform/wire/reading.ts'
import { notActivated, refusalOfOld } from '../orders/placing.ts'
import { isOnSale, offSale, type Prices } from '../prices/prices.ts'
import { printStarted } from './forms.ts'
import { findPlan, type Plan } from './plans.ts'
import {
  findByExternalId,
  narrower,
  placeSubscription,
  SUBSCRIPTIONS_MAX,
  type Subscription,
} from './subscriptions.ts'

export type NewSubscription = Buyer & {
  external_id: string | null
  plan_key: string
  address: Address
  duration: number
  transactions_limit: number
  activate_address: boolean
  key_id: string
  /** The user or the key whose call this is. */
  asked_by: Actor
  /** Why nothing may be begun, while a repetition is answered. */
  refusal?: Fault | undefined
}

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  prices: () => Promise<Prices>
  receiver: ReceiverReader
  /** How a start is tried again that the database could not do. */
  again?: Again | undefined
  /** Told of each subscription whose customer is told of it. */
  told?: ((name: string) => void) | undefined
  wake: (step: StepName) => void
}

/** Starts a subscription; the same external id with the same meaning returns the one that is
 *  there. */
export async function startSubscription(
  needs: Needs,
  wanted: NewSubscription,
): Promise<{ subscription: Subscription; replayed: boolean }> {
  const { sql, wake, again = notAgain } = needs
  const read_at = needs.clock.now()
  const [plan, receiver, prices] = await Promise.all([
    findPlan(sql, wanted.plan_key),
    needs.receiver(wanted.address, purchaseReader(wanted.asked_by)),
    needs.prices(),
  ])
  const repeatable = wanted.external_id !== null
  const place = () =>
    again(() => sql.begin((tx) => start(tx, needs, { wanted, plan, receiver, prices, read_at })), {
      repeatable,
    })
  const started = await place().catch((thrown: unknown) => {
    // Somebody else subscribed the same address in between: now that is seen, so look again.
    if (brokenConstraint(thrown) === 'subscription_one_per_address') return place()
    throw thrown
  })
  if (started instanceof Fault) throw started
  needs.told?.(`subscription:${started.subscription.id}`)
  if (!started.replayed) wake('supply')
  return started
}

/** A limit may narrow that of the plan, and not widen it. */
const fits = (asked: number, plan: number) => asked === 0 || plan === 0 || asked <= plan

/** What a replay has in common with what was started before under its external id. */
const MEANING = [
  'plan_key',
  'address',
  'duration',
  'transactions_limit',
  'activate_address',
] as const

type Terms = {
  wanted: NewSubscription
  plan: Plan | undefined
  receiver: Receiver
  prices: Prices
  /** Since when plan, receiver and prices are known. */
  read_at: Date
}

async function start(
  tx: Tx,
  needs: Needs,
  terms: Terms,
): Promise<{ subscription: Subscription; replayed: boolean } | Fault> {
  const now = needs.clock.now()
  const state = await readState(tx, needs.clock, { ...terms, now })
  if (state.earlier) {
    if (!isReplay(state.earlier, terms.wanted, MEANING))
      throw InvalidParams('external_id', 'Invalid external_id').because(
        `it is that of the subscription ${state.earlier.id}, which asked for something else`,
        'external_id',
      )
    return { subscription: state.earlier, replayed: true }
  }
  if (state.revoked) throw Unauthenticated()
  if (state.suspended) return Suspended()
  if (terms.wanted.refusal) return terms.wanted.refusal
  const old = refusalOfOld(terms.read_at, now)
  if (old) return old
  const plan = judge(terms, state)
  await state.purse.noteRefusals(tx, now)
  if (plan instanceof Fault) return plan
  const subscription = newSubscription(terms.wanted, {
    id: needs.new_id(),
    plan,
    now,
    begins_at: state.begins_at,
  })
  placeSubscription(tx, subscription)
  await recordCustomerAction(tx, now, {
    actor: terms.wanted.asked_by,
    action: 'subscription/start',
    subject: `subscription:${subscription.id}`,
    before: null,
    after: printStarted(subscription),
  })
  return { subscription, replayed: false }
}

type PlacementState = {
  purse: Purse
  earlier: Subscription | undefined
  /** The pool has room for the first energy, and the chain answers. */
  can_supply: boolean
  running: { customer_id: string } | undefined
  /** The customer has as many as it may have. */
  at_limit: boolean
  /** Now, or the time of the newest block when the chain is ahead: its days begin then. */
  begins_at: Date
  /** The key was revoked, or the customer closed or suspended, after the request was let in. */
  revoked: boolean
  suspended: boolean
}

/** What a start is judged on, in one round trip: others that need the account wait for it. */
async function readState(
  tx: Tx,
  clock: Clock,
  { wanted, plan, now }: Terms & { now: Date },
): Promise<PlacementState> {
  const [purse, earlier, can_supply, [running], [allowed]] = await Promise.all([
    openPurse(tx, [wanted], now),
    wanted.external_id === null ? undefined : findByExternalId(tx, wanted),
    plan === undefined ? false : canSupply(tx, clock, plan),
    tx<{ customer_id: string }>`
      select customer_id from subscription where address = ${wanted.address}
        and state in ('new', 'pending', 'active')`,
    tx<{ at_limit: boolean; revoked: boolean; suspended: boolean; begins_at: Date }>`
      select greatest(${now}::timestamptz, (select head_time from chain)) as begins_at,
        (select count(*) from subscription where customer_id = customer.id
        and state in ('new', 'pending', 'active'))
               >= coalesce(subscriptions_limit, ${SUBSCRIPTIONS_MAX}) as at_limit,
             state = 'closed' or exists (select 1 from api_key where id = ${wanted.key_id}
               and revoked_at is not null) as revoked, state = 'suspended' as suspended
      from customer where id = ${wanted.customer_id}`,
  ])
  const { at_limit = false, revoked = false, suspended = false, begins_at = now } = allowed ?? {}
  return { purse, earlier, can_supply, running, at_limit, revoked, suspended, begins_at }
}

/** The plan that is started, or the first refusal in the order that the wire lays down. */
function judge({ wanted, plan, receiver, prices }: Terms, state: PlacementState): Plan | Fault {
  const { purse, running } = state
  if (!plan)
    return InvalidParams(undefined, 'Unknown subscription plan').at(
      'subscription_id',
      'a key of /v1/subscriptions',
    )
  if (!fits(wanted.duration, plan.duration_days))
    return InvalidDuration(undefined, 'Invalid duration').at(
      'params.duration',
      `at most the ${plan.duration_days} days of the plan`,
    )
  if (!fits(wanted.transactions_limit, plan.transactions_limit))
    return InvalidParams().at(
      'params.transactions_limit',
      `at most the ${plan.transactions_limit} transactions of the plan`,
    )
  const activates = receiver === 'inactive' && wanted.activate_address
  const on_sale = isOnSale(prices, 'subscription', activates)
  if (!on_sale) return offSale(prices, 'subscription')
  if (receiver === 'unknown') return chainSilent()
  if (!state.can_supply) return ServiceUnavailable().because('no more can be supplied now')
  const refused = purse.refuseWallet(wanted) ?? refuseReceiver(receiver)
  if (refused) return refused
  if (running?.customer_id === wanted.customer_id) {
    return InvalidAddress(
      'already_subscribed',
      'The address already has an active subscription',
    ).because('one supplies it: look at /v1/subscriptions/history', 'params.address')
  }
  if (running)
    return InvalidParams('address_owner', 'Address belongs to another user').because(
      'a subscription of theirs supplies it',
      'params.address',
    )
  if (receiver === 'inactive' && !wanted.activate_address)
    return notActivated(prices, 'subscription')
  if (state.at_limit)
    return ServiceUnavailable('subscriptions', 'As many subscriptions as are allowed run already')
  // Where the plan includes nothing, the first transaction is held for too, before it is supplied.
  const needed_sun = totalOf(plan) + (plan.included === 0 ? plan.price_sun : 0n)
  return purse.refusePrice(wanted, needed_sun) ?? plan
}

/** What the start of a subscription costs. */
const totalOf = (plan: Plan): bigint => plan.activation_fee_sun + plan.initial_price_sun

function newSubscription(
  { key: _key, asked_by: _asker, refusal: _none, ...wanted }: NewSubscription,
  { id, plan, now, begins_at }: { id: string; plan: Plan; now: Date; begins_at: Date },
): Subscription {
  const days = narrower(wanted.duration, plan.duration_days)
  const expire_at = days === 0 ? null : new Date(begins_at.getTime() + days * DAY_MS)
  return {
    ...wanted,
    id,
    expire_at,
    plan_id: plan.id,
    plan_transactions_limit: plan.transactions_limit,
    price_sun: plan.price_sun,
    total_sun: totalOf(plan),
    created_at: now,
    idle_since: now,
    state: 'new',
    reason: null,
    transactions_used: 0,
    energy_used: 0n,
    supplies: 0,
    order_id: null,
    resting: null,
    holds_made: 0,
    holds_ended: 0,
    started_at: null,
    renewed_at: null,
    stopped_at: null,
  }
}

/** Whether the first energy could be given now: the chain answers, and the pool has room. */
async function canSupply(tx: Tx, clock: Clock, plan: Plan): Promise<boolean> {
  const [room, chain] = await Promise.all([
    tx`
      select 1 from pool where resource = 'energy'
        and room - reserved >= ${plan.energy_per_transaction}`,
    chainState(tx),
  ])
  return room.length > 0 && isAgreed(chain, clock)
}
