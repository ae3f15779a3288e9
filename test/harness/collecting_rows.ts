// Transfers of collections, what came to deposit addresses and what has left them, for tests of
// rows.

import { person } from 'penstock-devchain/scene.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import {
  insertCollection,
  type NewTransfer,
} from 'penstock-service/treasury/collecting/collections.ts'
import type { Address } from 'penstock-tron/address.ts'

export const at = (ms: number) => new Date(Date.parse('2026-11-01T00:00:00Z') + ms)
export const now = at(0)
export const safe = person('safe').address

export type BriefTransfer = Partial<NewTransfer> & { tx_id: string }

const madeOf = (more: BriefTransfer): NewTransfer => ({
  from: person('payer').address,
  to: safe,
  token: null,
  amount: 5n,
  fee_limit_sun: 0n,
  expires_at: at(1_000),
  raw: Buffer.from(more.tx_id),
  index: 0,
  ...more,
})

export const insertTransfers = (sql: Sql, id: string, transfers: readonly BriefTransfer[]) =>
  sql.begin((tx) => {
    const times = { expires_at: at(1_000), made_at: now }
    const collection = { id, receiver: safe, digest: 'd', made_by: 'anna', ...times }
    return insertCollection(tx, collection, transfers.map(madeOf))
  })

export const payers = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => person(name).address)

export const addCustomer = (sql: Sql, id: string, i: number, address = person(id).address) => sql`
  insert into customer (id, name, created_at, deposit_index, deposit_address)
  values (${id}, ${id}, ${now}, ${i}, ${address})`

type DepositRow = {
  n: number
  to?: Address
  sun?: bigint
  token?: string | null
  state?: string
  reason?: string | null
  block?: number
  solid?: boolean
  customer?: string | null
}

/** A deposit of TRX, or of a token. */
export const addDeposit = (
  sql: Sql,
  {
    n,
    to = payers[0]!,
    sun = 100n,
    token = null,
    state = 'held',
    reason = null,
    block = 1,
    solid = true,
    customer = 'c0',
  }: DepositRow,
) => sql`
  insert into deposit (tx_id, position, from_address, to_address, amount_sun, token, token_amount,
    block_number, block_time, customer_id, state, reason, solid_at, due_at, seen_at)
  values (${`d${n}`}, 0, 'x', ${to}, ${token === null ? sun : null}, ${token},
    ${token === null ? null : sun}, ${block}, ${at(block)}, ${customer}, ${state},
    ${reason ?? (state === 'credited' ? null : 'odd')}, ${solid ? now : null}, ${now}, ${now})`

export const addOutflow = (
  sql: Sql,
  tx_id: string,
  { address = payers[0]!, block = 5, sun = 10n, fee = 0n as bigint | null } = {},
) => sql`
  insert into deposit_outflow (tx_id, address, block_number, amount_sun, fee_sun)
  values (${tx_id}, ${address}, ${block}, ${sun}, ${fee})`
