// Customers, by the operator's hand. What a new customer's address is derived from comes from
// outside of the database, and is first compared with what the database already has: with the wrong
// key deposits would go where nobody looks.
//
//   active <-> suspended (nothing new is begun, everything that looks goes on) -> closed (for good,
//   without keys)

import { type Static, Type } from 'typebox'
import type { Action, Change } from '../../ledger/accounts/actions.ts'
import { customerAccount } from '../../ledger/accounts/ledger.ts'
import { statementCsv, statementOf } from '../../ledger/statements/statements.ts'
import { activityOf } from '../../ledger/statements/summaries.ts'
import { DAY_MS, later } from '../../lib/clock.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import { OPEN_ORDERS_MAX } from '../../market/orders/open_orders.ts'
import { endAll } from '../../market/subscriptions/ending.ts'
import { SUBSCRIPTIONS_MAX } from '../../market/subscriptions/subscriptions.ts'
import {
  type Needs as CreateNeeds,
  CUSTOMER_STATES,
  type CustomerFilter,
  type CustomerRow,
  type CustomerState,
  createCustomer,
  listCustomers,
  requireCustomer,
  requireLockedCustomer,
  setCustomerState,
  setLimits,
} from '../../people/customers/customers.ts'
import type { DepositAddress } from '../../people/customers/deposit_addresses.ts'
import { listKeys, revokeKeys } from '../../people/keys/keys.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  Count,
  flag,
  ListOf,
  Moment,
  moment,
  OrNull,
  oneOf,
  optional,
  Sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { endings } from '../market/orders.ts'
import { type Answer, change, LIMIT, limit, look, momentOf } from '../table/operation.ts'
import { keyShown, ShownKey } from './keys.ts'

/** Throws Refused unless the newest customer's address is derived from the same public key. */
async function requireSameAddresses(tx: Sql | Tx, deposit_address: DepositAddress): Promise<void> {
  const [newest] = await tx<Pick<CustomerRow, 'deposit_index' | 'deposit_address'>>`
    select deposit_index, deposit_address from customer order by deposit_index desc limit 1`
  if (!newest || deposit_address(newest.deposit_index) === newest.deposit_address) return
  throw refusal(
    'The deposit addresses of this database are not from the public key that is configured here.',
  )
}

const lastSeen = (sql: Sql, customer_ids: readonly string[]) =>
  sql<{ customer_id: string; last_seen_at: Date | null }>`
    select customer_id, max(at) as last_seen_at from (
      select customer_id, last_used_at as at from api_key where customer_id = any(${customer_ids})
      union all
      select u.customer_id, s.used_at from service_user as u
        join user_session as s on s.user_id = u.id
      where u.customer_id = any(${customer_ids})) as seen
    group by 1`

/** Creates a customer. */
async function addCustomer(
  tx: Tx,
  needs: CreateNeeds,
  { name }: { name: string },
): Promise<Change<CustomerRow>> {
  await requireSameAddresses(tx, needs.deposit_address)
  const customer = await createCustomer(tx, needs, { name })
  const after = { name, deposit_address: customer.deposit_address }
  return {
    result: customer,
    actions: [{ subject: `customer:${customer.id}`, before: null, after }],
  }
}

const STATE_NOTES: Record<CustomerState, string> = {
  active: 'Resumed: in force in every process within a second.',
  suspended: 'Suspended: nothing new is begun for it, in any process, within a second.',
  closed:
    'Closed, for good. Its subscriptions are ended. Open orders run to their end; what is left ' +
    'of its money stays on its account.',
}

/** Suspends a customer, or takes that back. What is so already is left alone; a closed customer
 *  stays closed. */
async function changeState(
  tx: Tx,
  { customer, state }: { customer: string; state: 'active' | 'suspended' },
): Promise<Change<Answer<StateOfCustomer>>> {
  const { id, state: before } = await requireLockedCustomer(tx, customer)
  if (before === 'closed') throw refusal(`The customer ${id} is closed, for good.`)
  if (before === state) return { result: { value: { id, state }, note: 'No change.' }, actions: [] }
  await setCustomerState(tx, id, state)
  const action = { subject: `customer:${id}`, before: { state: before }, after: { state } }
  return { result: { value: { id, state }, note: STATE_NOTES[state] }, actions: [action] }
}

/** Closes a customer for good: its keys are revoked and its subscriptions ended, each with a
 *  record. */
async function closeCustomer(
  tx: Tx,
  { customer, at }: { customer: string; at: Date },
): Promise<Change<Answer<ClosedCustomer>>> {
  const { id, state: before } = await requireLockedCustomer(tx, customer)
  const value = { id, state: 'closed' as const }
  if (before === 'closed') return { result: { value, note: 'It was closed before.' }, actions: [] }
  const reason = 'its customer was closed'
  // The account is locked before the keys, as everywhere; a start that comes later finds its key
  // revoked.
  const ended = await endAll(tx, { customer_id: id }, { reason, now: at })
  const revoked = await revokeKeys(tx, { customer_id: id, at })
  await setCustomerState(tx, id, 'closed')
  const actions: Action[] = [
    { subject: `customer:${id}`, before: { state: before }, after: { state: 'closed' } },
    ...revoked.map(({ id: key_id, name }) => ({
      subject: `key:${key_id}`,
      before: { customer_id: id, name },
      after: { revoked_at: at },
    })),
    ...endings(ended, reason),
  ]
  const counts = { revoked_keys: revoked.length, ended_subscriptions: ended.length }
  return { result: { value: { ...value, ...counts }, note: STATE_NOTES.closed }, actions }
}

type Money = { spendable_sun: bigint; held_sun: bigint }

/** Customers with what they have, in the order of creation. */
async function customersWithMoney(sql: Sql, filter: CustomerFilter) {
  const customers = await listCustomers(sql, filter)
  const rows = await sql<Money & { id: string }>`
    select id, posted_sun - held_sun as spendable_sun, held_sun from account
    where id = any(${customers.map(({ id }) => customerAccount(id))})`
  const money = new Map(rows.map((row) => [row.id, row]))
  return customers.map(({ id, name, state, created_at, deposit_address }) => {
    const { spendable_sun, held_sun } = money.get(customerAccount(id)) ?? {
      spendable_sun: null,
      held_sun: null,
    }
    return { id, name, state, spendable_sun, held_sun, deposit_address, created_at }
  })
}

/** Everything about one customer that is not a list without end. */
async function customerShown(sql: Sql, customer_id: string) {
  const { id, name, state, created_at, deposit_address } = await requireCustomer(sql, customer_id)
  const [account] = await sql<Money>`
    select posted_sun - held_sun as spendable_sun, held_sun from account
    where id = ${customerAccount(id)}`
  const orders = await sql<{ state: string; orders: bigint; amount_sun: bigint }>`
    select state, count(*) as orders, sum(amount_sun)::bigint as amount_sun from orders
      where customer_id = ${id}
    group by state order by state`
  const deposits = await sql<{ state: string; deposits: bigint; amount_sun: bigint }>`
    select state, count(*) as deposits, sum(amount_sun)::bigint as amount_sun from deposit
      where customer_id = ${id}
    group by state order by state`
  const subscriptions = await sql<{ state: string; resting: string | null; subscriptions: bigint }>`
    select state, resting, count(*) as subscriptions from subscription where customer_id = ${id}
    group by state, resting order by state, resting`
  const [limits] = await sql<{ subscriptions_limit: number; open_orders_limit: number }>`
    select coalesce(subscriptions_limit, ${SUBSCRIPTIONS_MAX})::integer as subscriptions_limit,
           coalesce(open_orders_limit, ${OPEN_ORDERS_MAX})::integer as open_orders_limit
    from customer where id = ${id}`
  const keys = (await listKeys(sql, id)).map(keyShown)
  const lists = { keys, orders, subscriptions, deposits }
  return { id, name, state, created_at, deposit_address, ...account!, ...limits!, ...lists }
}

const customer = text('CUSTOMER', 'the id of the customer')
const OfCustomer = Type.Object({ customer })

const NewCustomer = { id: Text, name: Text, created_at: Moment, deposit_address: Text }
const StateOfCustomer = Type.Object({ id: Text, state: Text })
type StateOfCustomer = Static<typeof StateOfCustomer>
const ClosedCustomer = Type.Object({
  id: Text,
  state: Text,
  revoked_keys: optional(Count),
  ended_subscriptions: optional(Count),
})
type ClosedCustomer = Static<typeof ClosedCustomer>
const Figures = { balance_sun: Sun, spendable_sun: Sun }
const MoneyShown = { spendable_sun: Sun, held_sun: Sun }

const CustomerFilters = {
  after: optional(text('CUSTOMER', 'only those created after this one: the next page')),
  state: optional(oneOf(CUSTOMER_STATES, 'only those in this state')),
  name: optional(text('TEXT', 'only those with this in their name')),
}

export const customerOperations = [
  change({
    path: '/operator/customers/create',
    careful: true,
    summary: 'add a customer, with a deposit address and an empty account',
    body: Type.Object({ name: text('NAME', 'what to call the customer') }),
    reply: Type.Object({ ...NewCustomer, state: Text }),
    cli: { operands: ['name'] },
    async handle({ tx, clock, new_id, body: { name }, ...needs }) {
      const deposit_address = await needs.depositAddress()
      const creating = { clock, new_id, deposit_address }
      const { result, actions } = await addCustomer(tx, creating, { name })
      const { deposit_index: _, ...value } = result
      return { result: { value, note: `Next: penstock-admin keys issue ${value.id}` }, actions }
    },
  }),
  look({
    path: '/operator/customers/list',
    summary: 'customers with what they can spend, in the order of creation',
    body: Type.Object({ limit, ...CustomerFilters }),
    reply: ListOf({
      ...NewCustomer,
      state: Text,
      spendable_sun: OrNull(Sun),
      held_sun: OrNull(Sun),
    }),
    handle: async ({ sql, body: { limit = LIMIT, ...filter } }) => ({
      value: await customersWithMoney(sql, { limit, ...filter }),
    }),
  }),
  look({
    path: '/operator/customers/activity',
    summary: 'what customers ordered and spent lately, and when they were last seen',
    description:
      'A page like that of `customers list`. Sums are of whole hours. Last seen: when a key of ' +
      'theirs was used, or somebody of theirs was signed in.',
    body: Type.Object({
      limit,
      ...CustomerFilters,
      days: optional(whole('N', 'of so many days (30)', { max: 400 })),
      customer: optional(text('CUSTOMER', 'only of this one')),
    }),
    reply: ListOf({
      customer_id: Text,
      orders: Count,
      failed: Count,
      spent_sun: Sun,
      last_seen_at: OrNull(Moment),
    }),
    async handle({ sql, clock, body: { limit = LIMIT, days = 30, customer, ...filter } }) {
      const customers =
        customer === undefined
          ? await listCustomers(sql, { limit, ...filter })
          : [await requireCustomer(sql, customer)]
      const customer_ids = customers.map(({ id }) => id)
      const since = later(clock, -DAY_MS * days)
      const seen = new Map(
        (await lastSeen(sql, customer_ids)).map((one) => [one.customer_id, one.last_seen_at]),
      )
      const rows = await activityOf(sql, { customer_ids, since })
      const by_id = new Map(rows.map((row) => [row.customer_id, row]))
      return {
        value: customer_ids.flatMap((id) => {
          const row = by_id.get(id)
          return row ? [{ ...row, last_seen_at: seen.get(id) ?? null }] : []
        }),
      }
    },
  }),
  look({
    path: '/operator/customers/show',
    summary: 'one customer: money, limits, keys, orders, subscriptions and deposits in sum',
    body: OfCustomer,
    reply: Type.Object({
      ...NewCustomer,
      state: Text,
      ...MoneyShown,
      subscriptions_limit: Count,
      open_orders_limit: Count,
      keys: Type.Array(ShownKey),
      orders: ListOf({ state: Text, orders: Whole, amount_sun: Sun }),
      subscriptions: ListOf({ state: Text, resting: OrNull(Text), subscriptions: Whole }),
      deposits: ListOf({ state: Text, deposits: Whole, amount_sun: OrNull(Sun) }),
    }),
    cli: { operands: ['customer'] },
    handle: async ({ sql, body }) => ({ value: await customerShown(sql, body.customer) }),
  }),
  change({
    path: '/operator/customers/suspend',
    careful: true,
    summary:
      'begin nothing new for a customer; its keys can look, and what is open runs to its end',
    body: OfCustomer,
    reply: StateOfCustomer,
    cli: { operands: ['customer'] },
    handle: async ({ tx, body }) => changeState(tx, { ...body, state: 'suspended' }),
  }),
  change({
    path: '/operator/customers/resume',
    careful: true,
    summary: 'let a suspended customer buy again',
    body: OfCustomer,
    reply: StateOfCustomer,
    cli: { operands: ['customer'] },
    handle: async ({ tx, body }) => changeState(tx, { ...body, state: 'active' }),
  }),
  change({
    path: '/operator/customers/close',
    careful: true,
    summary:
      'end a customer for good: its keys are revoked, its subscriptions end, its money stays',
    body: OfCustomer,
    reply: ClosedCustomer,
    cli: { operands: ['customer'] },
    handle: async ({ tx, at, body }) => closeCustomer(tx, { ...body, at }),
  }),
  look({
    path: '/operator/customers/statement',
    summary: 'what a customer had, paid and got back, from the entries of the ledger',
    description: 'Without a period: everything. A day begins at 00:00 UTC.',
    body: Type.Object({
      customer,
      since: optional(moment('the first moment of the period')),
      until: optional(moment('the first moment after the period')),
    }),
    reply: Type.Object({
      customer_id: Text,
      since: OrNull(Moment),
      until: OrNull(Moment),
      opening: Type.Object(Figures),
      lines: ListOf({
        made_at: Moment,
        id: Text,
        kind: Text,
        service: Text,
        external_id: OrNull(Text),
        amount_sun: Sun,
        held_sun: Sun,
        ...Figures,
      }),
      closing: Type.Object(Figures),
    }),
    cli: {
      operands: ['customer'],
      extras: Type.Object({ csv: flag('print CSV, amounts in TRX') }),
      after: async (answer, { csv }) =>
        csv === true ? { ...answer, text: answer.documents!.csv!() } : answer,
    },
    async handle({ sql, body }) {
      const [since, until] = [momentOf(body.since), momentOf(body.until)]
      if (since && until && since >= until) throw misuse('--since is not before --until.')
      const { id: customer_id } = await requireCustomer(sql, body.customer)
      const value = await statementOf(sql, { customer_id, since, until })
      return { value, documents: { csv: () => statementCsv(value) } }
    },
  }),
]

/** `default`, or a number. */
const LIMIT_PATTERN = /^(default|\d{1,9})$/

function readLimit(given: string, name: string): string {
  if (LIMIT_PATTERN.test(given)) return given
  throw misuse(`${name} ${given}: it is a whole number, or default.`)
}

const ceiling = (description: string) =>
  optional(Type.String({ title: 'N|default', description, pattern: LIMIT_PATTERN.source }))

/** Null: what everybody may have; undefined: as it is. */
const ceilingOf = (given: string | undefined): number | null | undefined =>
  given === undefined ? undefined : given === 'default' ? null : Number(given)

export const limitOperations = [
  change({
    path: '/operator/customers/limits',
    careful: true,
    summary: 'what a customer may have at once',
    description:
      `What is not given stays. Where nothing is set: ${SUBSCRIPTIONS_MAX} subscriptions that ` +
      `run, and ${OPEN_ORDERS_MAX} open orders. What runs already goes on.`,
    body: Type.Object({
      customer,
      subscriptions: ceiling('subscriptions that run'),
      open_orders: ceiling('orders that are not delivered yet'),
    }),
    reply: Type.Object({
      subscriptions_limit: OrNull(Count),
      open_orders_limit: OrNull(Count),
    }),
    cli: {
      operands: ['customer'],
      read: { subscriptions: readLimit, open_orders: readLimit },
    },
    async handle({ tx, body: { customer, subscriptions, open_orders } }) {
      if (subscriptions === undefined && open_orders === undefined)
        throw misuse('Which limit: --subscriptions or --open-orders?')
      const { result, actions } = await setLimits(tx, {
        customer_id: customer,
        subscriptions_limit: ceilingOf(subscriptions),
        open_orders_limit: ceilingOf(open_orders),
      })
      return { result: { value: result }, actions }
    },
  }),
]
