// Collections, and the transfers that they are made of.
//
//   transfer   (new) -> made        its bytes are kept, and go into a file to be signed
//              made -> collected    a confirmed block has it, and it moved something
//              made -> failed       a confirmed block has it, and it moved nothing
//              made -> dead         it has expired, and no node's solid chain has it
//
// Whoever has a signed file may send it at any time until it expires, and again, and in parts, so
// an address has one transfer of TRX and of each token that is made, and gets another only when
// that has ended. What is booked is what a confirmed block has, once: by the id of its transaction.

import type { Address } from 'penstock-tron/address.ts'
import { moveAll, type Transfer, WORLD } from '../../ledger/accounts/ledger.ts'
import { refusal } from '../../lib/fault.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { BatchTransfer, CollectedTransfer } from './batch.ts'

/** At the addresses of the operator's that deposits were collected to. */
export const COLLECTED = 'treasury:collected'
/** Taken by the network for transfers from deposit addresses. */
export const NETWORK_FEES = 'treasury:fees'

export type TransferState = 'made' | 'collected' | 'failed' | 'dead'

export type Collection = {
  id: string
  receiver: Address
  digest: string
  expires_at: Date
  made_at: Date
  made_by: string
}

export type CollectionTransfer = {
  tx_id: string
  collection_id: string
  position: number
  address: Address
  deposit_index: number
  token: Address | null
  /** In sun, or in the smallest unit of the token. */
  amount: bigint
  energy: bigint | null
  expires_at: Date
  state: TransferState
  moved: bigint | null
  fee_sun: bigint | null
  block_number: bigint | null
  ended_at: Date | null
}

export const TRANSFER_COLUMNS = columnsOf<CollectionTransfer>()([
  'tx_id',
  'collection_id',
  'position',
  'address',
  'deposit_index',
  'token',
  'amount',
  'energy',
  'expires_at',
  'state',
  'moved',
  'fee_sun',
  'block_number',
  'ended_at',
])

/** A transfer that is to be made, in the order of the file. */
export type NewTransfer = CollectedTransfer & Pick<BatchTransfer, 'index' | 'energy'>

/** (new) -> made. Returns how many there were not before. Throws Refused when another transfer from
 *  one of the addresses may still get into a block. */
export async function insertCollection(
  tx: Tx,
  collection: Collection,
  transfers: readonly NewTransfer[],
): Promise<number> {
  const { id, receiver, digest, expires_at, made_at, made_by } = collection
  await tx`
    insert into collection (id, receiver, digest, expires_at, made_at, made_by)
    values (${id}, ${receiver}, ${digest}, ${expires_at}, ${made_at}, ${made_by})
    on conflict (id) do nothing`
  const made = await tx`
    insert into collection_transfer (tx_id, collection_id, position, address, deposit_index, token,
      amount, energy, raw_data, expires_at, due_at)
    select tx_id, ${id}, position - 1, address, deposit_index, token, amount, energy,
      decode(raw_data, 'hex'), expires_at, ${made_at}
    from unnest(${transfers.map((one) => one.tx_id)}::text[],
                ${transfers.map((one) => one.from)}::text[],
                ${transfers.map((one) => one.index)}::integer[],
                ${transfers.map((one) => one.token)}::text[],
                ${transfers.map((one) => String(one.amount))}::numeric[],
                ${transfers.map((one) => one.energy ?? null)}::bigint[],
                ${transfers.map((one) => Buffer.from(one.raw).toString('hex'))}::text[],
                ${transfers.map((one) => one.expires_at)}::timestamptz[])
      with ordinality as t (tx_id, address, deposit_index, token, amount, energy, raw_data,
        expires_at, position)
    on conflict do nothing returning 1`
  const kept = await tx`
    select 1 from collection_transfer
    where collection_id = ${id} and tx_id = any(${transfers.map((one) => one.tx_id)})`
  if (kept.length < transfers.length)
    throw refusal('Another collection from some of these addresses is under way: do it again.')
  return made.length
}

/** The part of a confirmed block that is about one. `moved`: nothing when it has failed. */
export type Ending = { tx_id: string; moved: bigint; fee_sun: bigint; block_number: bigint }

/** made -> collected | failed, with the entries of it. True when it was made. */
export async function endTransfer(tx: Tx, ending: Ending, now: Date): Promise<boolean> {
  const { tx_id, moved, fee_sun, block_number } = ending
  const [ended] = await tx<{ token: Address | null }>`
    update collection_transfer set state = case when ${String(moved)}::numeric > 0
        then 'collected' else 'failed' end,
      moved = ${String(moved)}::numeric, fee_sun = ${fee_sun}, block_number = ${block_number},
      ended_at = ${now}
    where tx_id = ${tx_id} and state = 'made' returning token`
  if (!ended) return false
  const entry = { id: `collected:${tx_id}`, credit: WORLD, made_at: now }
  const entries: Transfer[] = [
    { ...entry, debit: COLLECTED, amount_sun: ended.token === null ? moved : 0n },
    { ...entry, id: `${entry.id}/fee`, debit: NETWORK_FEES, amount_sun: fee_sun },
  ]
  await moveAll(
    tx,
    entries.filter(({ amount_sun }) => amount_sun > 0n),
  )
  return true
}

/** made -> dead: those that can never get into a block any more. True when any was made. */
export async function buryTransfers(
  sql: Sql,
  tx_ids: readonly string[],
  now: Date,
): Promise<boolean> {
  if (tx_ids.length === 0) return false
  const dead = await sql`
    update collection_transfer set state = 'dead', ended_at = ${now}
    where state = 'made' and tx_id = any(${tx_ids}) returning 1`
  return dead.length > 0
}

/** Puts off when they are looked at next. */
export async function postponeTransfers(
  sql: Sql,
  tx_ids: readonly string[],
  due_at: Date,
): Promise<void> {
  if (tx_ids.length === 0) return
  await sql`
    update collection_transfer set due_at = ${due_at}
    where state = 'made' and tx_id = any(${tx_ids})`
}

export async function findCollection(sql: Sql | Tx, id: string): Promise<Collection> {
  const [collection] = await sql<Collection>`
    select id, receiver, digest, expires_at, made_at, made_by from collection where id = ${id}`
  if (!collection) throw refusal(`There is no collection ${id}.`)
  return collection
}

/** The transfers of a collection in the order of its file, with their bytes. */
export const transfersWithBytes = (sql: Sql | Tx, collection_id: string) =>
  sql<CollectionTransfer & { raw_data: Buffer }>`
    select ${TRANSFER_COLUMNS}, raw_data from collection_transfer
    where collection_id = ${collection_id} order by position`

export type CollectionSums = Collection & {
  transfers: bigint
  made: bigint
  collected: bigint
  failed: bigint
  dead: bigint
  /** TRX of all its transfers, and what of that has arrived. */
  amount_sun: bigint
  collected_sun: bigint
  fees_sun: bigint
}

/** Collections with what became of their transfers, newest first. */
export const listCollections = (
  sql: Sql,
  { limit, before = null }: { limit: number; before?: string | null | undefined },
): Promise<CollectionSums[]> =>
  sql<CollectionSums>`
    select c.id, c.receiver, c.digest, c.expires_at, c.made_at, c.made_by,
      count(*) as transfers,
      count(*) filter (where t.state = 'made') as made,
      count(*) filter (where t.state = 'collected') as collected,
      count(*) filter (where t.state = 'failed') as failed,
      count(*) filter (where t.state = 'dead') as dead,
      coalesce(sum(amount) filter (where token is null), 0)::bigint as amount_sun,
      coalesce(sum(moved) filter (where token is null), 0)::bigint as collected_sun,
      coalesce(sum(fee_sun), 0)::bigint as fees_sun
    from collection as c join collection_transfer as t on t.collection_id = c.id
    where ${before}::text is null or c.id < ${before}
    group by c.id order by c.id desc limit ${limit}`
