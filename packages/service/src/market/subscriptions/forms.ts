// What a subscription is, the form in which it goes over the wire, and what is told of it.

import type { Address } from 'penstock-tron/address.ts'
import { type Static, Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { timeOrNull, wireTime } from '../../lib/clock.ts'
import { type Money as MoneyOnWire, money } from '../../lib/json.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { Money } from '../../platform/wire/endpoint.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import { word } from '../../platform/wire/schemas.ts'

export const STATES = ['new', 'pending', 'error', 'active', 'stopped', 'expired'] as const

export type Subscription = {
  id: string
  customer_id: string
  external_id: string | null
  key_id: string | null
  plan_id: number
  plan_key: string
  /** What the plan says: its limit, and what a transaction costs beyond those that it includes. */
  plan_transactions_limit: number
  price_sun: bigint
  address: Address
  duration: number
  transactions_limit: number
  activate_address: boolean
  state: (typeof STATES)[number]
  reason: string | null
  transactions_used: number
  energy_used: bigint
  total_sun: bigint
  supplies: number
  order_id: string | null
  /** Why it is not supplied, while it runs. */
  resting: 'idle' | 'daily_cap' | null
  /** Since when it has not been used. */
  idle_since: Date
  holds_made: number
  holds_ended: number
  created_at: Date
  started_at: Date | null
  renewed_at: Date | null
  stopped_at: Date | null
  expire_at: Date | null
}

type OfPlan = 'plan_key' | 'plan_transactions_limit' | 'price_sun'
/** A subscription without what its plan says. */
export type SubscriptionRow = Omit<Subscription, OfPlan>

export const SUBSCRIPTION_COLUMNS = columnsOf<SubscriptionRow>()([
  'id',
  'customer_id',
  'external_id',
  'key_id',
  'plan_id',
  'address',
  'duration',
  'transactions_limit',
  'activate_address',
  'state',
  'reason',
  'transactions_used',
  'energy_used',
  'total_sun',
  'supplies',
  'order_id',
  'resting',
  'idle_since',
  'holds_made',
  'holds_ended',
  'created_at',
  'started_at',
  'renewed_at',
  'stopped_at',
  'expire_at',
])

export const Params = Type.Object({
  address: Type.String(),
  duration: Type.Integer({ description: 'Days; 0: unlimited' }),
  transactions_limit: Type.Integer({ description: '0: unlimited' }),
  activate_address: Type.Boolean(),
})

export const Time = Type.Union([Type.String(), Type.Null()])
export const Reason = Type.Optional(
  Type.String({ description: 'Why it has ended, when it was not the customer who ended it' }),
)

export const Resting = Type.Optional(
  Type.String({
    description:
      'Only while it runs and is not supplied: `idle` until its address is used, ' +
      '`daily_cap` until the next day (UTC)',
  }),
)

export const Held = Type.Optional(
  Money({
    description:
      'Only after its end: TRX that is still set aside. What is not used of it is given back ' +
      'when its energy is taken back for certain, some two minutes later',
  }),
)

export const Started = Type.Object({
  id: Type.String(),
  subscription_id: Type.String({ description: 'The key of the plan' }),
  created_at: Type.String(),
  expire_at: Time,
  address: Type.String(),
  status: word(STATES),
  external_id: Type.Union([Type.String(), Type.Null()]),
  params: Params,
  reason: Reason,
  resting: Resting,
  held: Held,
})

export const reasonOf = ({ reason, resting }: Subscription) => ({
  ...(reason !== null && { reason }),
  ...(resting !== null && { resting }),
})

const RUNNING: readonly string[] = ['new', 'pending', 'active']

export const hasEnded = ({ state }: Pick<Subscription, 'state'>): boolean =>
  !RUNNING.includes(state)

export const hasLimit = (
  one: Pick<Subscription, 'transactions_limit' | 'plan_transactions_limit'>,
) => one.transactions_limit > 0 || one.plan_transactions_limit > 0

/** Whether it was stopped before it was active, and what its start costs is still set aside. */
export const isStartHeld = ({ state, started_at, total_sun }: SubscriptionRow): boolean =>
  state === 'stopped' && started_at === null && total_sun > 0n

/** What is set aside for one that has ended. */
export function heldOf(one: Subscription): { held?: MoneyOnWire } {
  const next_sun = BigInt(one.holds_made - one.holds_ended) * one.price_sun
  const held_sun = next_sun + (isStartHeld(one) ? one.total_sun : 0n)
  return hasEnded(one) && held_sun > 0n ? { held: money(held_sun) } : {}
}

export function common(subscription: Subscription) {
  const { id, plan_key, created_at, state, external_id, address, duration, transactions_limit } =
    subscription
  const params = {
    address,
    duration,
    transactions_limit,
    activate_address: subscription.activate_address,
  }
  return {
    id,
    subscription_id: plan_key,
    created_at: wireTime(created_at),
    status: state,
    external_id,
    params,
  }
}

export const printStarted = (subscription: Subscription): Static<typeof Started> => ({
  ...common(subscription),
  address: subscription.address,
  expire_at: timeOrNull(subscription.expire_at),
  ...reasonOf(subscription),
  ...heldOf(subscription),
})

const UseForm = Type.Object({
  tx_id: Type.String({ description: 'The transaction that was served' }),
  energy: Type.Integer(),
  transactions: Type.Integer({ description: 'As how many it counts' }),
  charged: Money({ description: 'TRX' }),
})

const SAMPLE: Static<typeof Started> = {
  id: '01m7xps0ca8ksnnfg71x89vdp6',
  subscription_id: 'unlimited_energy',
  created_at: '2026-11-21T00:05:57Z',
  status: 'active',
  external_id: 'sub-7',
  params: {
    address: EXAMPLE.address,
    duration: 30,
    transactions_limit: 0,
    activate_address: false,
  },
  address: EXAMPLE.address,
  expire_at: '2026-12-21T00:05:57Z',
}

const kind = (name: string, when: string, status: string = 'active'): EventKind =>
  eventKind(`subscription.${name}`, { data: Started, when, sample: { ...SAMPLE, status } })

export const subscriptionKinds: readonly EventKind[] = [
  kind('started', 'its address has its first energy; the start is charged'),
  kind('supplied', 'energy is on its way to its address'),
  eventKind('subscription.used', {
    data: Type.Object({ ...Started.properties, use: UseForm }),
    when: 'a transaction of its address was served',
    sample: {
      ...SAMPLE,
      use: { tx_id: '5d1e'.repeat(16), energy: 64_285, transactions: 1, charged: 2.1 },
    },
  }),
  kind('stopped', 'the customer has stopped it, or we for the reason that it tells', 'stopped'),
  kind('expired', 'its time is over, or its transactions are used up', 'expired'),
  kind('failed', 'it could not be started; what it cost is given back', 'error'),
]

/** Subscriptions as they are told of, by id. */
export async function subscriptionForms(
  tx: Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Static<typeof Started>>> {
  const rows = await tx<Subscription>`
    select s.${SUBSCRIPTION_COLUMNS}, plan.key as plan_key, plan.price_sun,
      plan.transactions_limit as plan_transactions_limit
    from subscription as s join plan on plan.id = plan_id
    where s.id = any(${ids})`
  return new Map(rows.map((row) => [row.id, printStarted(row)]))
}
