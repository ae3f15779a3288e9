// What the chain knows and the rows do not, from a block on: what our wallets did by transactions
// that no attempt has, and what came to our addresses. It is looked at after a database was
// restored.

import type { Address } from 'penstock-tron/address.ts'
import type { Block, Node } from '../../chain/node/node.ts'
import type { Sql } from '../../platform/database/sql.ts'

export type UnknownTransaction = {
  tx_id: string
  block_number: bigint
  block_id: string
  block_time: Date
  wallet: Address
  contract_type: string
  /** Of a transfer of TRX alone. */
  to: Address | null
  sun: bigint | null
}

export type Payment = { tx_id: string; block_number: bigint; from: Address; sun: bigint }

type Scan = {
  from_block: bigint
  /** Ours, that sign. */
  wallets: readonly Address[]
  recharge_address: Address
  tell: (block: number, last: number) => void
}

const BLOCKS_AT_ONCE = 100

/** Reads the solid chain from a block to its end. Throws Outage. */
export async function unknownTransactions(
  sql: Sql,
  node: Node,
  { from_block, wallets, recharge_address, tell }: Scan,
): Promise<{ to_block: bigint; unknown: UnknownTransaction[]; recharges: Payment[] }> {
  const ours = new Set(wallets)
  const unknown: UnknownTransaction[] = []
  const recharges: Payment[] = []
  const last = (await node.solidHead()).number
  for (let first = Number(from_block); first <= last; first += BLOCKS_AT_ONCE) {
    const end = Math.min(last, first + BLOCKS_AT_ONCE - 1)
    for (const block of await node.blocks(first, end, 'solid')) {
      unknown.push(...(await unknownOf(sql, block, ours)))
      recharges.push(
        ...block.transfers
          .filter(({ to, from }) => to === recharge_address && !ours.has(from))
          .map(({ tx_id, from, amount_sun: sun }) => ({
            tx_id,
            block_number: BigInt(block.number),
            from,
            sun,
          })),
      )
    }
    tell(end, last)
  }
  return { to_block: BigInt(last), unknown, recharges: await undecided(sql, recharges) }
}

/** Without those whose fate the rows have: they are of the last block that was read. */
async function undecided(sql: Sql, payments: readonly Payment[]): Promise<Payment[]> {
  const decided = await sql<{ tx_id: string }>`
    select tx_id from deposit
    where tx_id = any(${payments.map(({ tx_id }) => tx_id)}) and state not in ('seen', 'unproven')`
  const known = new Set(decided.map(({ tx_id }) => tx_id))
  return payments.filter(({ tx_id }) => !known.has(tx_id))
}

/** What a block has of our wallets that no attempt is for. */
async function unknownOf(
  sql: Sql,
  block: Block,
  ours: ReadonlySet<Address>,
): Promise<UnknownTransaction[]> {
  const own = block.transactions.flatMap(({ tx_id, owner, contract_type, succeeded }) =>
    succeeded && owner !== undefined && ours.has(owner)
      ? [{ tx_id, wallet: owner, contract_type }]
      : [],
  )
  if (own.length === 0) return []
  const ids = own.map(({ tx_id }) => tx_id)
  const known = await sql<{ tx_id: string }>`select tx_id from attempt where tx_id = any(${ids})`
  const there = new Set(known.map(({ tx_id }) => tx_id))
  return own
    .filter(({ tx_id }) => !there.has(tx_id))
    .map((one) => {
      const sent = block.transfers.find(({ tx_id }) => tx_id === one.tx_id)
      const { to = null, amount_sun: sun = null } = sent ?? {}
      const { id: block_id, time: block_time } = block
      return { ...one, block_number: BigInt(block.number), block_id, block_time, to, sun }
    })
}
