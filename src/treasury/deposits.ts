// Deposits: what arrives at an address of ours, read from blocks. As soon as a block has one it is noted, as seen; what
// becomes of it is decided when that block is solid, except for direct recharges that are acted on at inclusion
// (recharges.ts). A customer's deposit is credited then, once, whatever is restarted: the ledger entry, the deposit and
// the cursor are one transaction, and the deposit's key is the transaction's on the chain, with a position: 0 its own
// transfer, n the nth event of its block, -n the nth transfer that contracts made in it. Held for the operator is what
// can neither be credited nor go back: a token that is not TRX, and TRX that a contract sent to the published address,
// because a contract can receive neither energy nor a plain transfer.

import { readBlocks, readSolidBlocks, type StoredBlock } from '../chain/blocks.ts'
import type { Move } from '../chain/contents.ts'
import { customersOfAddresses } from '../customers/customers.ts'
import { customerAccount, lockAccounts, move, WORLD } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { Sql, Tx } from '../lib/sql.ts'
import type { Step } from '../lib/step.ts'
import type { Address } from '../tron/address.ts'

/** `recharge_at`: whether a direct recharge is acted on when a block has it, or when that block is solid. */
export type Needs = { sql: Sql; clock: Clock; recharge_address: Address; recharge_at: 'inclusion' | 'solid' }

export type Deposit = {
  tx_id: string
  position: number
  from_address: Address
  to_address: Address
  amount_sun: bigint | null
  /** The contract of a token, or the number of a TRC-10 asset. */
  token: string | null
  token_amount: bigint | null
  block_number: bigint
  block_time: Date
  customer_id: string | null
  state:
    | 'seen'
    | 'credited'
    | 'received'
    | 'delivering'
    | 'delivered'
    | 'returning'
    | 'refunding'
    | 'refunded'
    | 'held'
    | 'gone'
  reason: string | null
  energy: bigint | null
  order_id: string | null
  refund_id: string | null
  solid_at: Date | null
  seen_at: Date
}

/** Whom direct recharges belong to in the ledger and among the orders. */
export const DIRECT_RECHARGE = 'direct_recharge'

/** Reads solid blocks: credits customers, and books what arrived for direct recharge. */
export function creditStep(needs: Needs): Step {
  const { sql } = needs
  return {
    name: 'credit',
    rest_ms: 3_000,
    wakes: ['recharge', 'refund'],
    run: () =>
      sql.begin((tx) =>
        readSolidBlocks(tx, 'deposits', async (blocks) => {
          // All accounts of the portion at once, in the order of their ids: one by one could deadlock with a purchase.
          const receivers = blocks.flatMap((block) => arrivalsOf(block).map((one) => one.to))
          const owners = await customersOfAddresses(tx, [...new Set(receivers)])
          await lockAccounts(tx, [...new Set(owners.values())].map(customerAccount))
          for (const block of blocks) await readBlock(tx, needs, { block, solid: true })
        }),
      ),
  }
}

/** Reads blocks of the head: notes what they bring. */
export function arriveStep(needs: Needs): Step {
  const { sql } = needs
  return {
    name: 'arrive',
    rest_ms: 3_000,
    wakes: ['recharge'],
    run: () =>
      sql.begin((tx) =>
        readBlocks(tx, { name: 'arrivals', side: 'head' }, async (blocks) => {
          await forgetOthers(tx, blocks)
          for (const block of blocks) await readBlock(tx, needs, { block, solid: false })
        }),
      ),
  }
}

type Arrival = {
  tx_id: string
  position: number
  from: Address
  to: Address
  amount_sun: bigint | null
  token: string | null
  token_amount: bigint | null
}

/** Transfers of TRX and of tokens, whoever made them. */
function arrivalsOf({ contents }: StoredBlock): Arrival[] {
  const by_contracts = new Map<string, number>()
  const positionOf = ({ tx_id, kind, index }: Move) => {
    if (kind === 'transfer' || kind === 'event') return index
    const before = by_contracts.get(tx_id) ?? 0
    by_contracts.set(tx_id, before + 1)
    return -1 - before
  }
  return [...contents.moves, ...contents.unfollowed]
    .map((move) => ({ ...move, position: positionOf(move) }))
    .filter(({ amount }) => amount > 0n)
    .map(({ tx_id, position, asset, from, to, amount }) => ({
      ...{ tx_id, position, from, to },
      amount_sun: asset === 'TRX' ? amount : null,
      token: asset === 'TRX' ? null : asset,
      token_amount: asset === 'TRX' ? null : amount,
    }))
}

type Fate = { state: Deposit['state']; reason: string | null }

/** What becomes of it now. */
function fateOf({ token, position, to }: Arrival, { recharge_address, recharge_at }: Needs, solid: boolean): Fate {
  const recharge = to === recharge_address
  const held = token !== null || (recharge && position < 0)
  if (!solid && (held || !recharge || recharge_at === 'solid')) return { state: 'seen', reason: null }
  if (token !== null) return { state: 'held', reason: 'a token that is not TRX' }
  if (held) return { state: 'held', reason: 'it was sent by a contract' }
  return { state: recharge ? 'received' : 'credited', reason: null }
}

async function readBlock(
  tx: Tx,
  needs: Needs,
  { block, solid }: { block: StoredBlock; solid: boolean },
): Promise<void> {
  const arrivals = arrivalsOf(block)
  if (arrivals.length === 0) return
  const owners = await customersOfAddresses(tx, [...new Set(arrivals.map((one) => one.to))])
  for (const arrival of arrivals) {
    const customer_id = owners.get(arrival.to)
    if (customer_id === undefined && arrival.to !== needs.recharge_address) continue
    const fate = fateOf(arrival, needs, solid)
    await note(tx, needs, { block, arrival, solid, ...fate, customer_id: customer_id ?? null })
    if (!solid || arrival.amount_sun === null) continue
    await move(tx, {
      id: `deposit:${arrival.tx_id}${arrival.position === 0 ? '' : `/${arrival.position}`}`,
      debit: WORLD,
      credit: customerAccount(customer_id ?? DIRECT_RECHARGE),
      amount_sun: arrival.amount_sun,
      made_at: needs.clock.now(),
    })
  }
}

/** What was seen before in blocks of these numbers, and is in none that is there now, was taken back by a fork. */
async function forgetOthers(tx: Tx, blocks: readonly StoredBlock[]): Promise<void> {
  const present = blocks.flatMap(arrivalsOf).map((one) => one.tx_id)
  await tx`
    update deposit set state = 'gone', reason = 'taken back by a fork'
    where block_number = any(${blocks.map((block) => block.number)}) and solid_at is null
      and state in ('seen', 'received', 'returning') and not tx_id = any(${present})`
}

type Noted = Fate & { block: StoredBlock; arrival: Arrival; solid: boolean; customer_id: string | null }

/** Writes the deposit, or, when it was noted before, where it is now, and its fate if that was open. */
async function note(tx: Tx, { clock }: Needs, noted: Noted): Promise<void> {
  const { block, arrival, solid, state, reason, customer_id } = noted
  const { tx_id, position, from, to, amount_sun, token, token_amount } = arrival
  const now = clock.now()
  await tx`
    insert into deposit (tx_id, position, from_address, to_address, amount_sun, token, token_amount, block_number, block_time,
                         customer_id, state, reason, solid_at, due_at, seen_at)
    values (${tx_id}, ${position}, ${from}, ${to}, ${amount_sun}, ${token}, ${token_amount}, ${block.number}, ${block.time},
            ${customer_id}, ${state}, ${reason}, ${solid ? now : null}, ${now}, ${now})
    on conflict (tx_id, position) do update
      set block_number = excluded.block_number, block_time = excluded.block_time,
          solid_at = coalesce(deposit.solid_at, excluded.solid_at),
          customer_id = coalesce(deposit.customer_id, excluded.customer_id),
          state = case when deposit.state in ('seen', 'gone') then excluded.state else deposit.state end,
          reason = case when deposit.state in ('seen', 'gone') then excluded.reason else deposit.reason end`
}

/** The deposits that a transaction on the chain made, if it made any. */
export async function findDeposits(sql: Sql, tx_id: string): Promise<Deposit[]> {
  return sql<Deposit>`select * from deposit where tx_id = ${tx_id} order by position`
}
