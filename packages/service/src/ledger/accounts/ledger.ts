// The ledger: integer sun, double entry, append-only. holdAll() sets money aside, captureAll()
// takes it, release() gives it back, move() does both at once. Everything happens in the caller's
// transaction: a customer is charged if and only if what was bought is recorded too. The database
// keeps the sums of the accounts as entries are made, and hears nobody else about them. Accounts
// are locked in the order of their ids, so two callers never deadlock here.

import { type FaultKind, fault } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

export const InsufficientFunds: FaultKind = fault(6, 'insufficient_funds', 'Insufficient funds')

export const WalletNotFound: FaultKind = fault(5, 'wallet_not_found', 'Wallet not found')

/** Where money comes from and goes to outside of this ledger: the chain. */
export const WORLD = 'world'
/** What has been earned. */
export const REVENUE = 'revenue'
/** What came to customers' addresses and was not credited: it is nobody's until an operator
 *  decides. */
export const HELD_DEPOSITS = 'held_deposits'
/** What nobody can be found for, and stays: it is not earned. */
export const WRITTEN_OFF = 'written_off'
/** The other side of what is added to a customer's account by hand, or taken from it. */
export const CORRECTIONS = 'corrections'

export const customerAccount = (customer_id: string) => `customer:${customer_id}`

export type Transfer = {
  id: string
  debit: string
  credit: string
  amount_sun: bigint
  made_at: Date
}

/** Opens a customer's account, empty. Opening it again changes nothing. */
export async function openAccount(tx: Tx, account_id: string): Promise<void> {
  await tx`
    insert into account (id, may_go_negative) values (${account_id}, false)
      on conflict (id) do nothing`
}

/** Locks the given accounts until the end of the transaction and says what each can spend, in sun.
 *  An account that does not exist is not in the answer. */
export async function lockAccounts(
  tx: Tx,
  account_ids: readonly string[],
): Promise<Map<string, bigint>> {
  if (account_ids.length === 0) return new Map()
  const rows = await tx<{ id: string; free_sun: bigint }>`
    select id, posted_sun - held_sun as free_sun from account
    where id = any(${account_ids}) and not may_go_negative
    order by id for update`
  return new Map(rows.map((row) => [row.id, row.free_sun]))
}

/** Sets money aside, any number of holds at once. The caller has locked the debited accounts and
 *  seen that each can pay: an overdraft here breaks `account_not_overdrawn` and is a bug. */
export function holdAll(tx: Tx, holds: readonly Transfer[]): void {
  if (holds.length === 0) return
  tx.send`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    select id, 'hold', debit, credit, amount_sun, made_at
    from unnest(${holds.map((t) => t.id)}::text[], ${holds.map((t) => t.debit)}::text[],
                ${holds.map((t) => t.credit)}::text[],
                ${holds.map((t) => t.amount_sun)}::bigint[],
                ${holds.map((t) => t.made_at)}::timestamptz[]) as t (id, debit, credit,
                  amount_sun, made_at)`
}

/** Takes held money of any number of holds, each with what is to be taken of it: what is left of a
 *  hold is the customer's again. The caller has locked the accounts. When one names no hold or
 *  takes more than it set aside, the transaction cannot commit. A hold is resolved once: a second
 *  time breaks `transfer_hold_resolved_once`. */
export function captureAll(
  tx: Tx,
  captures: readonly { hold_id: string; amount_sun: bigint }[],
  made_at: Date,
): void {
  if (captures.length === 0) return
  const hold_ids = captures.map((one) => one.hold_id)
  tx.send`
    with asked as (
      select hold_id, amount_sun
        from unnest(${hold_ids}::text[], ${captures.map((one) => one.amount_sun)}::bigint[])
        as t (hold_id, amount_sun)
    ), captured as (
      insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
      select hold.id || '/capture', 'capture', hold.id, hold.debit, hold.credit,
        asked.amount_sun, ${made_at}
      from asked join transfer as hold on hold.id = asked.hold_id and hold.kind = 'hold'
      where asked.amount_sun <= hold.amount_sun
      returning 1
    )
    select must(count(*) = ${captures.length},
                'a capture names no hold, or takes more than it set aside') from captured`
}

/** Gives held money back. The caller has locked the debited account. Throws when there is no such
 *  hold; resolving one a second time breaks `transfer_hold_resolved_once`. */
export async function release(tx: Tx, hold_id: string, made_at: Date): Promise<void> {
  const [hold] = await tx`
    insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
    select id || '/release', 'release', id, debit, credit, amount_sun, ${made_at} from transfer
    where id = ${hold_id} and kind = 'hold'
    returning 1`
  if (!hold) throw new Error(`there is no hold ${hold_id}`)
}

/** Moves money at once. Returns false, and changes nothing, when the very same transfer was made
 *  before; throws when its id was used for another one. */
export async function move(tx: Tx, transfer: Transfer): Promise<boolean> {
  await lockAccounts(tx, [transfer.debit, transfer.credit])
  return (await moveAll(tx, [transfer])).size > 0
}

/** move() for any number at once, each with an id of its own; the caller has locked the accounts.
 *  Returns the ids of those that were not made before. */
export async function moveAll(
  tx: Tx,
  transfers: readonly Transfer[],
): Promise<ReadonlySet<string>> {
  if (transfers.length === 0) return new Set()
  const made = await tx<{ id: string }>`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    select id, 'move', debit, credit, amount_sun, made_at
    from unnest(${transfers.map((t) => t.id)}::text[], ${transfers.map((t) => t.debit)}::text[],
                ${transfers.map((t) => t.credit)}::text[],
                ${transfers.map((t) => t.amount_sun)}::bigint[],
                ${transfers.map((t) => t.made_at)}::timestamptz[]) as t (id, debit, credit,
                  amount_sun, made_at)
    on conflict (id) do nothing returning id`
  const ids = new Set(made.map(({ id }) => id))
  for (const transfer of transfers) if (!ids.has(transfer.id)) await requireSame(tx, transfer)
  return ids
}

async function requireSame(tx: Tx, { id, debit, credit, amount_sun }: Transfer): Promise<void> {
  const [same] = await tx`
    select 1 from transfer where id = ${id} and kind = 'move' and debit = ${debit}
      and credit = ${credit}
      and amount_sun = ${amount_sun}`
  if (!same) throw new Error(`transfer ${id} was made before, with other parts`)
}

/** What the account can spend now, in sun: holds are already taken off. Undefined when there is no
 *  such account. */
export async function spendable(sql: Sql | Tx, account_id: string): Promise<bigint | undefined> {
  const [row] = await sql<{ free_sun: bigint }>`
    select posted_sun - held_sun as free_sun from account where id = ${account_id}`
  return row?.free_sun
}

export type Entry = {
  id: string
  kind: string
  debit: string
  credit: string
  amount_sun: bigint
  made_at: Date
}

/** The account's transfers, oldest first, the first `limit` of them. */
export async function entries(sql: Sql | Tx, account_id: string, limit = 1_000): Promise<Entry[]> {
  return sql<Entry>`
    select id, kind, debit, credit, amount_sun, made_at from transfer
    where debit = ${account_id} or credit = ${account_id} order by made_at, id limit ${limit}`
}

/** An entry of the ledger, for reading. */
export type EntryRow = {
  made_at: Date
  id: string
  kind: string
  debit: string
  credit: string
  amount_sun: bigint
}
