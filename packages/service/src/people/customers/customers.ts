// Customers: who pays. Each has a deposit address and an account in the ledger from its first
// moment, made in the same transaction.

import type { Address } from 'penstock-tron/address.ts'
import { HOUSE } from '../../events/log/events.ts'
import { noteEvents } from '../../events/log/notes.ts'
import type { Change } from '../../ledger/accounts/actions.ts'
import { customerAccount, openAccount } from '../../ledger/accounts/ledger.ts'
import { type Clock, wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { DepositAddress } from './deposit_addresses.ts'

/** suspended: nothing new is begun for the customer, and everything that only looks goes on.
 *  closed: for good. */
export const CUSTOMER_STATES = ['active', 'suspended', 'closed'] as const
export type CustomerState = (typeof CUSTOMER_STATES)[number]

/** In place of a name that somebody wants erased. */
export const ERASED = 'erased'

/** Whom direct recharges belong to in the ledger and among the orders. */
export const DIRECT_RECHARGE = 'direct_recharge'
/** Whom the orders that supply subscriptions belong to. */
export const SUBSCRIPTIONS = 'subscriptions'

/** Whether somebody else pays, and is told what happens: the service itself buys too. */
export const isCustomer = (id: string): boolean => id !== DIRECT_RECHARGE && id !== SUBSCRIPTIONS

export type CustomerRow = {
  id: string
  name: string
  state: CustomerState
  created_at: Date
  deposit_index: number
  deposit_address: Address
}

export type Needs = { clock: Clock; new_id: NewId; deposit_address: DepositAddress }

/** Creates a customer, with the next deposit address and an empty ledger account. The name has 1 to
 *  200 characters and need not be unique. */
export async function createCustomer(
  tx: Tx,
  needs: Needs,
  { name }: { name: string },
): Promise<CustomerRow> {
  const [next] = await tx<{
    deposit_index: number
  }>`select nextval('customer_deposit_index')::integer as deposit_index`
  const { deposit_index } = next!
  const id = needs.new_id()
  const created_at = needs.clock.now()
  const deposit_address = needs.deposit_address(deposit_index)
  await tx`
    insert into customer (id, name, created_at, deposit_index, deposit_address)
    values (${id}, ${name}, ${created_at}, ${deposit_index}, ${deposit_address})`
  await openAccount(tx, customerAccount(id))
  const data = { id, name, deposit_address, created_at: wireTime(created_at) }
  const subject = `customer:${id}`
  noteEvents(tx, [{ type: 'customer.created', subject, customer_id: HOUSE, at: created_at, data }])
  return { id, name, state: 'active', created_at, deposit_index, deposit_address }
}

export async function findCustomer(
  sql: Sql | Tx,
  customer_id: string,
): Promise<CustomerRow | undefined> {
  const [customer] = await sql<CustomerRow>`
    select id, name, state, created_at, deposit_index, deposit_address from customer
      where id = ${customer_id}`
  return customer
}

/** The customer, whose state stays as it is until the transaction ends; until then nobody else
 *  counts, makes or changes what the customer has: keys, users, webhooks, watches, quotes. */
export async function lockCustomer(tx: Tx, customer_id: string): Promise<CustomerRow | undefined> {
  const [customer] = await tx<CustomerRow>`
    select id, name, state, created_at, deposit_index, deposit_address from customer
      where id = ${customer_id}
    for no key update`
  return customer
}

/** The customer. Throws Refused when there is none. */
export async function requireCustomer(sql: Sql | Tx, customer_id: string): Promise<CustomerRow> {
  return orRefused(await findCustomer(sql, customer_id), customer_id)
}

/** The customer, which nobody else changes before the transaction ends. Throws Refused when there
 *  is none. */
export async function requireLockedCustomer(tx: Tx, customer_id: string): Promise<CustomerRow> {
  return orRefused(await lockCustomer(tx, customer_id), customer_id)
}

function orRefused(customer: CustomerRow | undefined, customer_id: string): CustomerRow {
  if (!customer) throw refusal(`There is no customer ${customer_id}.`)
  return customer
}

/** Replaces the name of a customer. */
export async function eraseCustomerName(tx: Tx, customer_id: string): Promise<void> {
  await tx`update customer set name = ${ERASED} where id = ${customer_id}`
}

/** Puts a customer into another state. Servers act on it within a second (see authentication). */
export async function setCustomerState(
  tx: Tx,
  customer_id: string,
  state: CustomerState,
): Promise<void> {
  await tx`update customer set state = ${state} where id = ${customer_id}`
}

export type CustomerFilter = {
  after?: string | undefined
  limit?: number | undefined
  state?: CustomerState | undefined
  /** A part of the name; capitals make no difference. */
  name?: string | undefined
}

/** Customers in the order of creation, from the one after `after` on. */
export async function listCustomers(
  sql: Sql | Tx,
  { after = '', limit = 100, state, name = '' }: CustomerFilter = {},
): Promise<CustomerRow[]> {
  return sql<CustomerRow>`
    select id, name, state, created_at, deposit_index, deposit_address from customer
    where id > ${after} and (${state ?? null}::text is null or state = ${state ?? null})
      and strpos(lower(name), lower(${name})) > 0
    order by id limit ${limit}`
}

export type AddressOwner = Pick<CustomerRow, 'id' | 'state'>

/** Which customers the given addresses belong to; addresses of nobody are not in the answer. */
export async function customersOfAddresses(
  sql: Sql | Tx,
  addresses: readonly Address[],
): Promise<Map<Address, AddressOwner>> {
  if (addresses.length === 0) return new Map()
  const rows = await sql<AddressOwner & { deposit_address: Address }>`
    select id, state, deposit_address from customer where deposit_address = any(${addresses})`
  return new Map(rows.map(({ id, state, deposit_address }) => [deposit_address, { id, state }]))
}

/** `undefined`: as it is; null: what everybody may have. */
export type Limits = {
  subscriptions_limit: number | null | undefined
  open_orders_limit: number | null | undefined
}
type LimitsInForce = Record<keyof Limits, number | null>

/** Sets what a customer may have at once. */
export async function setLimits(
  tx: Tx,
  { customer_id, ...wanted }: Limits & { customer_id: string },
): Promise<Change<LimitsInForce>> {
  const [before] = await tx<LimitsInForce>`
    select subscriptions_limit, open_orders_limit from customer
      where id = ${customer_id} for no key update`
  if (!before) throw refusal(`There is no customer ${customer_id}.`)
  const given = Object.fromEntries(
    Object.entries(wanted).filter(([, value]) => value !== undefined),
  )
  const after = { ...before, ...given }
  const { subscriptions_limit, open_orders_limit } = after
  const same = Object.entries(before).every(
    ([name, value]) => after[name as keyof Limits] === value,
  )
  if (same) return { result: after, actions: [] }
  await tx`
    update customer set subscriptions_limit = ${subscriptions_limit},
      open_orders_limit = ${open_orders_limit}
    where id = ${customer_id}`
  return { result: after, actions: [{ subject: `customer:${customer_id}`, before, after }] }
}
