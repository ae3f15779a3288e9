// Orders with the bytes of their transactions, their entries and the seals of those, for tests of
// what is said and proven of what was delivered.

import type { TestContext } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { sealStep } from 'penstock-service/ledger/accounts/journal.ts'
import {
  captureAll,
  customerAccount,
  holdAll,
  moveAll,
  REVENUE,
  WORLD,
} from 'penstock-service/ledger/accounts/ledger.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { ORDER_COLUMNS, type Order } from 'penstock-service/market/orders/forms.ts'
import { makeSigningKey } from 'penstock-service/market/receipts/signing_keys.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { sealWith } from 'penstock-service/platform/seal/seal.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import {
  type Contract,
  contract,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'
import { makeCustomer } from './customer_rows.ts'
import { freshDatabase } from './database.ts'

export const delivered_at = new Date('2026-10-08T15:26:32Z')
export const receiver = person('bob').address
const wallet = person('pool').address

type OrderValues = {
  service?: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address'
  state?: string
  energy?: number
  bandwidth?: number
  activate?: boolean
  activation_id?: string | null
  external_id?: string | null
  /** Its price; no: somebody else has paid for it. */
  is_held?: boolean
}

type PartValues = {
  order?: string
  resource?: 'energy' | 'bandwidth'
  amount?: number
  state?: 'delegating' | 'active' | 'reclaiming' | 'ended' | 'failed'
  /** The states of the transactions that give it and take it back; by default in a block. */
  attempt?: string
  reclaim?: string
  ratio?: [limit: number | null, weight: number | null]
}

export class ReceiptBook {
  readonly sql: Sql
  readonly clock = { now: () => delivered_at }
  readonly seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)

  private constructor(sql: Sql) {
    this.sql = sql
  }

  /** A customer with a balance, and a key that signs receipts. */
  static async of(t: TestContext): Promise<ReceiptBook> {
    const { sql } = await freshDatabase(t)
    const made = new ReceiptBook(sql)
    await sql.begin(async (tx) => {
      await makeCustomer(tx, { id: 'anna', at: delivered_at })
      const deposit = { id: 'deposit:1', debit: WORLD, credit: customerAccount('anna') }
      await moveAll(tx, [{ ...deposit, amount_sun: 1_000_000_000n, made_at: delivered_at }])
    })
    await makeSigningKey(sql, { ...made, random: systemRandom })
    return made
  }

  /** One of 50 units of energy for 1 TRX, unless it says otherwise; its price is held. */
  async order(id: string, values: OrderValues = {}): Promise<void> {
    const { service = 'energy', state = 'success', activate = false } = values
    const { activation_id = null, external_id = null, is_held = true } = values
    const { energy = service === 'energy' ? 50 : 0, bandwidth = 0 } = values
    await this.sql`
      insert into orders (id, customer_id, external_id, service, address, energy, bandwidth,
        activate, activation_id, state, to_delegate, amount_sun, tx_id, due_at, created_at)
      values (${id}, 'anna', ${external_id}, ${service}, ${receiver}, ${energy}, ${bandwidth},
        ${activate}, ${activation_id}, ${state}, false, 1000000, 'tx', ${delivered_at},
        ${delivered_at})`
    const hold = { id: `order:${id}`, debit: customerAccount('anna'), credit: REVENUE }
    if (!is_held) return
    await this.sql.begin(async (tx) =>
      holdAll(tx, [{ ...hold, amount_sun: 1_000_000n, made_at: delivered_at }]),
    )
  }

  async charge(id: string): Promise<void> {
    const capture = { hold_id: `order:${id}`, amount_sun: 1_000_000n }
    await this.sql.begin(async (tx) => captureAll(tx, [capture], delivered_at))
  }

  async read(id: string): Promise<Order> {
    const [order] = await this.sql<Order>`select ${ORDER_COLUMNS} from orders where id = ${id}`
    return order!
  }

  /** A transaction with its bytes; one of a block is in number 90. Returns its hash. */
  async attempt(id: string, done: Contract, state = 'included'): Promise<string> {
    const raw_data = encodeRawData({
      ref_block_bytes: '0001',
      ref_block_hash: '0011223344556677',
      expiration: delivered_at.getTime(),
      contract: [done],
      data: Buffer.from(id).toString('hex'),
    })
    const hash = transactionId(raw_data)
    const signed = Buffer.from(encodeTransaction(raw_data, ['00'.repeat(65)]))
    const in_block = state === 'included' || state === 'solid'
    await this.sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_id, block_time)
      values (${id}, ${id}, '{}', ${state}, ${hash}, ${signed}, ${delivered_at}, ${delivered_at},
        ${delivered_at}, ${in_block ? 90 : null}, ${in_block ? 'block 90' : null},
        ${in_block ? delivered_at : null})`
    return hash
  }

  /** A part of an order, by a stake of 2 TRX, and the hashes of what gives it and takes it back. */
  async part(id: string, values: PartValues = {}): Promise<string[]> {
    const { order = 'o1', resource = 'energy', amount = 50, state = 'active' } = values
    const { attempt, reclaim, ratio = [30, 1] } = values
    const value = {
      owner_address: addressToHex(wallet),
      receiver_address: addressToHex(receiver),
      balance: 2_000_000,
      ...(resource === 'energy' && { resource: 'ENERGY' }),
    }
    const hashes = [await this.attempt(id, contract('DelegateResourceContract', value), attempt)]
    const is_back = state === 'reclaiming' || state === 'ended'
    const back = contract('UnDelegateResourceContract', value)
    if (is_back) hashes.push(await this.attempt(`${id} back`, back, reclaim))
    const at = state === 'delegating' || state === 'failed' ? null : delivered_at
    await this.sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at, total_limit, total_weight)
      values (${id}, ${order}, ${wallet}, ${receiver}, ${resource}, ${amount}, 2000000, ${state},
        ${id}, ${is_back ? `${id} back` : null}, ${at}, ${at}, ${state === 'ended' ? at : null},
        ${ratio[0]}, ${ratio[1]})`
    return hashes
  }

  /** The activation of the receiver; without an attempt, somebody else was quicker. */
  async activation(id: string, state = 'active', attempt: string | null = 'included') {
    const value = {
      owner_address: addressToHex(wallet),
      account_address: addressToHex(receiver),
    }
    const hash =
      attempt === null
        ? null
        : await this.attempt(id, contract('AccountCreateContract', value), attempt)
    await this.sql`
      insert into activation (id, address, state, attempt_id, made_at)
      values (${id}, ${receiver}, ${state}, ${hash && id}, ${delivered_at})`
    return hash
  }

  /** Seals all entries that are not sealed yet, at that moment. */
  async sealAt(at: Date): Promise<void> {
    await sealStep({ sql: this.sql, clock: { now: () => at } }).run()
  }
}
