// Deposits: TRX that arrives at an address of ours, read from solid blocks, each exactly once. What arrives at a
// customer's deposit address is credited; what arrives at the published address is held for the operator. The ledger
// entry, the deposit and the cursor are one transaction, and the deposit's id is the transaction's on the chain.

import { readSolidBlocks, type StoredBlock } from '../chain/blocks.ts'
import { customersOfAddresses } from '../customers/customers.ts'
import { customerAccount, move, WORLD } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { Sql, Tx } from '../lib/sql.ts'
import type { Step } from '../lib/step.ts'
import type { Address } from '../tron/address.ts'
import type { TrxTransfer } from '../tron/node.ts'

export type Needs = { sql: Sql; clock: Clock; recharge_address: Address }

export type Deposit = {
  tx_id: string
  from_address: Address
  to_address: Address
  amount_sun: bigint
  block_number: bigint
  block_time: Date
  customer_id: string | null
  state: 'credited' | 'held'
  reason: string | null
  seen_at: Date
}

export function creditStep(needs: Needs): Step {
  const { sql } = needs
  return {
    name: 'credit',
    rest_ms: 3_000,
    run: () =>
      sql.begin((tx) =>
        readSolidBlocks(tx, 'deposits', async (blocks) => {
          for (const block of blocks) await creditBlock(tx, needs, block)
        }),
      ),
  }
}

async function creditBlock(tx: Tx, needs: Needs, block: StoredBlock): Promise<void> {
  const arrived = block.contents.transfers
    .map(([tx_id, from, to, sun]) => ({ tx_id, from, to, amount_sun: BigInt(sun) }))
    .filter((transfer) => transfer.amount_sun > 0n)
  if (arrived.length === 0) return
  const owners = await customersOfAddresses(
    tx,
    arrived.map((transfer) => transfer.to),
  )
  for (const transfer of arrived) {
    const customer_id = owners.get(transfer.to)
    if (customer_id !== undefined) await credit(tx, needs, { block, transfer, customer_id })
    else if (transfer.to === needs.recharge_address) await holdForOperator(tx, needs, { block, transfer })
  }
}

type Arrival = { block: StoredBlock; transfer: TrxTransfer }

async function credit(tx: Tx, { clock }: Needs, arrival: Arrival & { customer_id: string }): Promise<void> {
  const { block, transfer, customer_id } = arrival
  const { tx_id, from, to, amount_sun } = transfer
  const seen_at = clock.now()
  await tx`
    insert into deposit (tx_id, from_address, to_address, amount_sun, block_number, block_time, customer_id, state, seen_at)
    values (${tx_id}, ${from}, ${to}, ${amount_sun}, ${block.number}, ${block.time}, ${customer_id}, 'credited', ${seen_at})`
  await move(tx, {
    id: `deposit:${tx_id}`,
    debit: WORLD,
    credit: customerAccount(customer_id),
    amount_sun,
    made_at: seen_at,
  })
}

async function holdForOperator(tx: Tx, { clock }: Needs, { block, transfer }: Arrival): Promise<void> {
  const { tx_id, from, to, amount_sun } = transfer
  await tx`
    insert into deposit (tx_id, from_address, to_address, amount_sun, block_number, block_time, state, reason, seen_at)
    values (${tx_id}, ${from}, ${to}, ${amount_sun}, ${block.number}, ${block.time}, 'held',
            'sent to the published address', ${clock.now()})`
}

/** The deposit that a transaction on the chain was, if it was one. */
export async function findDeposit(sql: Sql, tx_id: string): Promise<Deposit | undefined> {
  const [deposit] = await sql<Deposit>`select * from deposit where tx_id = ${tx_id}`
  return deposit
}
