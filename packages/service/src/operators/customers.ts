// Customers and their statements, by the operator's hand. What a new customer's address is derived
// from comes from outside of the database, and is first compared with what the database already
// has: with the wrong key deposits would go where nobody looks.
//
//   active <-> suspended (nothing new is begun, everything that looks goes on) -> closed (for good, without keys)

import {
  type Needs as CreateNeeds,
  type CustomerRow,
  type CustomerState,
  createCustomer,
  listCustomers,
  requireCustomer,
  requireLockedCustomer,
  setCustomerState,
} from '../customers/customers.ts'
import type { DepositAddress } from '../customers/deposit_addresses.ts'
import { listKeys, revokeKeys } from '../customers/keys.ts'
import type { Sql, Tx } from '../database/sql.ts'
import type { Action, Change } from '../ledger/actions.ts'
import { customerAccount } from '../ledger/ledger.ts'
import { misuse, refusal } from '../lib/fault.ts'
import { OPEN_ORDERS_MAX } from '../market/open_orders.ts'
import { endAll } from '../subscriptions/ending.ts'
import { SUBSCRIPTIONS_MAX } from '../subscriptions/subscriptions.ts'
import { statementCsv, statementOf } from '../treasury/statements.ts'
import { type Answer, change, command, flag, LIMIT, needed, text, time, whole } from './command.ts'
import { keyShown } from './keys.ts'
import { endings } from './subscriptions.ts'

/** Throws Refused unless the newest customer's address is derived from the same public key. */
export async function requireSameAddresses(
  tx: Sql | Tx,
  deposit_address: DepositAddress,
): Promise<void> {
  const [newest] = await tx<Pick<CustomerRow, 'deposit_index' | 'deposit_address'>>`
    select deposit_index, deposit_address from customer order by deposit_index desc limit 1`
  if (!newest || deposit_address(newest.deposit_index) === newest.deposit_address) return
  throw refusal(
    'The deposit addresses of this database are not from the public key that is configured here.',
  )
}

/** Creates a customer. */
export async function addCustomer(
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
    'Closed, for good. Its subscriptions are ended. Open orders run to their end; what is left of its money stays on its account.',
}

/** Suspends a customer, or takes that back. What is so already is left alone; a closed customer
 *  stays closed. */
async function changeState(
  tx: Tx,
  { customer, state }: { customer: string; state: 'active' | 'suspended' },
): Promise<Change<Answer>> {
  const { id, state: before } = await requireLockedCustomer(tx, customer)
  if (before === 'closed') throw refusal(`The customer ${id} is closed, for good.`)
  if (before === state)
    return { result: { value: { id, state }, note: 'It was so already.' }, actions: [] }
  await setCustomerState(tx, id, state)
  const action = { subject: `customer:${id}`, before: { state: before }, after: { state } }
  return { result: { value: { id, state }, note: STATE_NOTES[state] }, actions: [action] }
}

/** Closes a customer for good: its keys are revoked and its subscriptions ended, each with a
 *  record. */
async function closeCustomer(
  tx: Tx,
  { customer, at }: { customer: string; at: Date },
): Promise<Change<Answer>> {
  const { id, state: before } = await requireLockedCustomer(tx, customer)
  const value = { id, state: 'closed' }
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
async function customersWithMoney(sql: Sql, page: { after?: string | undefined; limit: number }) {
  const { after = '', limit } = page
  const customers = await listCustomers(sql, { after, limit })
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
  const [money] = await sql<Money>`
    select posted_sun - held_sun as spendable_sun, held_sun from account where id = ${customerAccount(id)}`
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
  const [limits] = await sql`
    select coalesce(subscriptions_limit, ${SUBSCRIPTIONS_MAX})::integer as subscriptions_limit,
           coalesce(open_orders_limit, ${OPEN_ORDERS_MAX})::integer as open_orders_limit
    from customer where id = ${id}`
  const keys = (await listKeys(sql, id)).map(keyShown)
  const lists = { keys, orders, subscriptions, deposits }
  return { id, name, state, created_at, deposit_address, ...money, ...limits, ...lists }
}

const customer = needed(text('CUSTOMER', 'the id of the customer'))

export const customerCommands = [
  change({
    words: 'customers create',
    summary: 'add a customer, with a deposit address and an empty account',
    operands: { name: needed(text('NAME', 'what to call the customer')) },
    async run(tx, needs, { name }) {
      const { clock, new_id } = needs
      const deposit_address = await needs.depositAddress()
      const { result, actions } = await addCustomer(
        tx,
        { clock, new_id, deposit_address },
        { name },
      )
      const { deposit_index: _, ...value } = result
      return { result: { value, note: `Next: penstock keys issue ${value.id}` }, actions }
    },
  }),
  command({
    words: 'customers list',
    summary: 'customers with what they can spend, in the order of creation',
    options: {
      limit: whole('N', `how many at most (${LIMIT})`, { max: 10_000 }),
      after: text('CUSTOMER', 'only those created after this one: the next page'),
    },
    run: async ({ sql }, { after, limit = LIMIT }) => ({
      value: await customersWithMoney(sql, { after, limit }),
    }),
  }),
  command({
    words: 'customers show',
    summary: 'one customer: money, limits, keys, orders, subscriptions and deposits in sum',
    operands: { customer },
    run: async ({ sql }, { customer }) => ({ value: await customerShown(sql, customer) }),
  }),
  change({
    words: 'customers suspend',
    summary:
      'begin nothing new for a customer; its keys can look, and what is open runs to its end',
    operands: { customer },
    run: async (tx, _needs, { customer }) => changeState(tx, { customer, state: 'suspended' }),
  }),
  change({
    words: 'customers resume',
    summary: 'let a suspended customer buy again',
    operands: { customer },
    run: async (tx, _needs, { customer }) => changeState(tx, { customer, state: 'active' }),
  }),
  change({
    words: 'customers close',
    summary:
      'end a customer for good: its keys are revoked, its subscriptions end, its money stays',
    operands: { customer },
    run: async (tx, _needs, { customer, at }) => closeCustomer(tx, { customer, at }),
  }),
  command({
    words: 'customers statement',
    summary: 'what a customer had, paid and got back, from the entries of the ledger',
    details: 'Without a period: everything. A day begins at 00:00 UTC.',
    operands: { customer },
    options: {
      since: time('the first moment of the period'),
      until: time('the first moment after the period'),
      csv: flag('print CSV, amounts in TRX'),
    },
    async run({ sql }, { customer, since, until, csv }) {
      if (since && until && since >= until) throw misuse('--since is not before --until.')
      const { id: customer_id } = await requireCustomer(sql, customer)
      const statement = await statementOf(sql, { customer_id, since, until })
      return csv ? { value: statement, text: statementCsv(statement) } : { value: statement }
    },
  }),
]
