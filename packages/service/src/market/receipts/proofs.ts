// The proof of an order, from purchase to reclaim, as one document that anybody can check without
// the service: its signed receipt with the key, the bytes of each transaction, and the journal from
// the first of its entries to the root of the day. A seal is a sum over whole entries, so those of
// other customers in the same seals come along: it is for auditors, not for customers.

import { type Static, Type } from 'typebox'
import { rawDataOf, type WrittenBytes } from '../../chain/follow/attempt_bytes.ts'
import type { Root } from '../../ledger/accounts/roots.ts'
import {
  readPlainly,
  readSeals,
  type SealedEntry,
  type SealRow,
} from '../../ledger/accounts/seals.ts'
import { type Clock, wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { printJson } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import { OrNull } from '../../platform/wire/schemas.ts'
import type { Order } from '../orders/orders.ts'
import { type Receipt, ReceiptForm, receiptOf } from './receipts.ts'
import { keySet, PublicKeyForm, receiptSigner } from './routes.ts'
import { claimsOf } from './verifying.ts'

const EntryForm = Type.Object({
  number: Type.Integer(),
  kind: Type.String(),
  amount_sun: Type.Integer(),
  made_at: Type.String(),
  id: Type.String(),
  debit: Type.String(),
  credit: Type.String(),
  hold_id: OrNull(Type.String()),
})
const SealForm = Type.Object({
  number: Type.Integer(),
  first_entry: Type.Integer(),
  last_entry: Type.Integer(),
  actions: Type.Integer(),
  record: OrNull(Type.String()),
  sealed_at: Type.String(),
  sha256: Type.String(),
  entries: Type.Array(EntryForm),
})

export const ProofForm = Type.Object({
  proof: Type.Literal(1),
  order_id: Type.String(),
  receipt: ReceiptForm,
  jws: Type.String(),
  keys: Type.Array(PublicKeyForm),
  transactions: Type.Array(Type.Object({ hash: Type.String(), raw_data_hex: Type.String() })),
  /** Of the seal before the first. */
  previous_sha256: Type.String(),
  seals: Type.Array(SealForm),
  root: Type.Object({
    day: Type.String(),
    number: Type.Integer(),
    last_entry: Type.Integer(),
    sha256: Type.String(),
  }),
})
export type Proof = Static<typeof ProofForm>

/** More would make a document of many megabytes. */
const ENTRIES_MAX = 100_000

export type ProofNeeds = { sql: Sql; clock: Clock; seal: Seal }

/** The proof of an order as it stands. Throws Refused while it is not delivered or its entries are
 *  not sealed, and where the root of its day is too far away. */
export async function proofOf(needs: ProofNeeds, order: Order): Promise<Proof> {
  const { sql, clock, seal } = needs
  const issuer = { service: 'Penstock', network: null, issued_at: wireTime(clock.now()) }
  const receipt = order.state === 'success' ? await receiptOf(sql, order, issuer) : undefined
  if (!receipt) throw refusal(`Order ${order.id} is not delivered: there is nothing to prove.`)
  const jws = await receiptSigner(needs)(printJson(receipt))
  const { kid } = JSON.parse(Buffer.from(jws.split('.', 1)[0]!, 'base64url').toString()) as {
    kid: string
  }
  return {
    proof: 1,
    order_id: order.id,
    receipt,
    jws,
    keys: (await keySet(sql, seal)).filter((key) => key.kid === kid),
    transactions: await transactionsOf(sql, receipt),
    ...(await journalOf(sql, receipt)),
  }
}

async function transactionsOf(sql: Sql, receipt: Receipt): Promise<Proof['transactions']> {
  const hashes = claimsOf(receipt).map(({ hash }) => hash)
  const rows = await sql<WrittenBytes & { tx_id: string }>`
    select tx_id, signed, stamp, contract, expires_at from attempt
    where tx_id = any(${hashes}) order by tx_id`
  return rows.map(({ tx_id, ...written }) => ({
    hash: tx_id,
    raw_data_hex: Buffer.from(rawDataOf(written)).toString('hex'),
  }))
}

type Journal = Pick<Proof, 'previous_sha256' | 'seals' | 'root'>

async function journalOf(sql: Sql, { entries, seal }: Receipt): Promise<Journal> {
  const first_entry = entries[0]?.number
  if (first_entry === undefined)
    throw refusal('A subscription placed it and pays for it: the order has no entries of its own.')
  if (seal === null) throw refusal('Its entries are not sealed yet: that takes some seconds.')
  return sql.begin(async (tx) => {
    await tx`set transaction isolation level repeatable read, read only`
    await readPlainly(tx)
    const [first] = await tx<{ number: bigint }>`
      select number from journal where last_entry >= ${first_entry} order by number limit 1`
    const [root] = await tx<Root>`
      with last as (select (sealed_at at time zone 'UTC')::date as day from journal
                    where number = ${seal.number})
      select last.day::text, number, last_entry, sha256 from journal, last
      where sealed_at >= last.day::timestamp at time zone 'UTC'
        and sealed_at < (last.day + 1)::timestamp at time zone 'UTC'
      order by number desc limit 1`
    const range = { first: first!.number, last: root!.number }
    const [counted] = await tx<{ entries: bigint }>`
      select sum(entries)::bigint as entries from journal
      where number between ${range.first} and ${range.last}`
    if (counted!.entries > ENTRIES_MAX)
      throw refusal(
        `Between it and the root of its day are ${counted!.entries} entries, more than ` +
          `${ENTRIES_MAX}: books check --roots proves them all.`,
      )
    const read = await readSeals(tx, range)
    return {
      previous_sha256: read.previous_sha256,
      seals: read.seals.map((one) => printSeal(one, read.entries)),
      root: printRoot(root!),
    }
  })
}

const printRoot = ({ day, number, last_entry, sha256 }: Root): Proof['root'] => ({
  day,
  number: Number(number),
  last_entry: Number(last_entry),
  sha256,
})

function printSeal(seal: SealRow, all: readonly SealedEntry[]): Proof['seals'][number] {
  const { number, first_entry, last_entry, actions, record, sealed_at, sha256 } = seal
  const covered = all.filter((one) => one.number >= first_entry && one.number <= last_entry)
  return {
    number: Number(number),
    first_entry: Number(first_entry),
    last_entry: Number(last_entry),
    actions: Number(actions),
    record,
    sealed_at,
    sha256,
    entries: covered.map((entry) => ({
      ...entry,
      number: Number(entry.number),
      amount_sun: Number(entry.amount_sun),
    })),
  }
}
