// What an operator does about a deposit that is held or ignored: its money goes exactly one way.
//
//   held, ignored -> resolved       sent back by hand, credited to a customer, or written off
//
// A resolution is made once and never changed. TRX is moved from where it was booked when it came;
// tokens are in no account, so of them there is the resolution alone.

import type { Address } from 'penstock-tron/address.ts'
import type { StoredBlock } from '../../chain/follow/blocks.ts'
import {
  customerAccount,
  HELD_DEPOSITS,
  lockAccounts,
  moveAll,
  type Transfer,
  WORLD,
  WRITTEN_OFF,
} from '../../ledger/accounts/ledger.ts'
import { refusal } from '../../lib/fault.ts'
import { DIRECT_RECHARGE, findCustomer } from '../../people/customers/customers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { HeldSenders } from '../../screening/engine/barred.ts'
import {
  BLOCKED,
  type Deposit,
  findDeposits,
  HIGH_RISK,
  markResolved,
  placeOf,
} from './deposits.ts'
import { DEPOSIT_COLUMNS } from './forms.ts'

/** A transaction on the solid chain that has sent something to somebody. */
export type SentTransfer = { tx_id: string; to: Address; amount: bigint; block_number: number }

/** Which way the money goes. `keep_rest`: the transaction may have sent less than came. */
export type Way =
  | { way: 'sent_back'; sent: SentTransfer; keep_rest: boolean }
  | { way: 'credited'; customer_id: string }
  | { way: 'written_off' }

export type NewResolution = {
  deposit: Pick<Deposit, 'tx_id' | 'position'>
  way: Way
  /** Somebody has looked at the lists that the sender is on, or at where the money came from. */
  blocked_reviewed: boolean
  made_at: Date
  made_by: string
  reason: string
}

/** As the row says. */
export type Resolution = {
  tx_id: string
  position: number
  way: Way['way']
  sent_by: string | null
  sent_to: Address | null
  sent_amount: bigint | null
  sent_block: bigint | null
  customer_id: string | null
  made_at: Date
  made_by: string
  reason: string
}

const isOpen = ({ state }: Deposit) => state === 'held' || state === 'ignored'

/** The deposit of a transaction that can be resolved: the one at the position, or the only one
 *  there is. Throws Refused when it is not clear which, or none can. */
export async function openDeposit(
  sql: Sql | Tx,
  { tx_id, position }: { tx_id: string; position: number | undefined },
): Promise<Deposit> {
  const all = await findDeposits(sql, tx_id)
  const meant = all.filter((one) => position === undefined || one.position === position)
  const open = meant.filter(isOpen)
  const [deposit, other] = open
  if (deposit && !other) return deposit
  if (other) {
    const positions = open.map((one) => one.position).join(', ')
    throw refusal(
      `The transaction has several that are held or ignored, at ${positions}: which --position?`,
    )
  }
  if (all.length === 0) throw refusal(`No deposit came with the transaction ${tx_id}.`)
  if (meant.length === 0)
    throw refusal(`There is no deposit at the position ${position} of ${tx_id}.`)
  const states = [...new Set(meant.map((one) => one.state))].join(', ')
  throw refusal(`The deposit is ${states}: only what is held or ignored can be resolved.`)
}

/** What a transaction of a solid block has sent to somebody of what came with a deposit. Throws a
 *  sentence when it has sent nothing of that. */
export function sentIn(
  { number, contents }: Pick<StoredBlock, 'number' | 'contents'>,
  { tx_id, to, asset }: { tx_id: string; to: Address; asset: string },
): SentTransfer {
  const amount = [...contents.moves, ...contents.unfollowed]
    .filter((move) => move.tx_id === tx_id && move.to === to && move.asset === asset)
    .reduce((sum, move) => sum + move.amount, 0n)
  if (amount > 0n) return { tx_id, to, amount, block_number: number }
  const what = asset === 'TRX' ? 'TRX' : `of the token ${asset}`
  throw refusal(
    `The transaction ${tx_id} has sent no ${what} to ${to}; --to names another receiver.`,
  )
}

/** What it is made of, as moves say it. */
export const assetOf = ({ token }: Deposit): string => token ?? 'TRX'

/** Resolves a deposit: its money, its state and the row. Throws Refused when that may not be. */
export async function resolveDeposit(
  tx: Tx,
  heldSenders: HeldSenders,
  { deposit: { tx_id, position }, way, blocked_reviewed, ...made }: NewResolution,
): Promise<{ before: Deposit; resolution: Resolution }> {
  // Accounts before deposits, as crediting does.
  if (way.way === 'credited') await requireCreditable(tx, way.customer_id)
  const [before] = await tx<Deposit>`
    select ${DEPOSIT_COLUMNS} from deposit
    where tx_id = ${tx_id} and position = ${position} for update`
  if (!before || !isOpen(before)) {
    throw refusal(`The deposit is ${before?.state}: only what is held or ignored can be resolved.`)
  }
  const blocked =
    before.reason === BLOCKED || (await heldSenders(tx, [before.from_address])).size > 0
  if (blocked && !blocked_reviewed) {
    throw refusal(
      'The sender is or was blacklisted: --blocked-reviewed says that you have looked into it.',
    )
  }
  if (before.reason === HIGH_RISK && !blocked_reviewed) {
    throw refusal(
      'The money is of high risk: --blocked-reviewed says that you have looked into it.',
    )
  }
  if (way.way === 'sent_back') await requireSentBack(tx, before, way)
  const sent = way.way === 'sent_back' ? way.sent : undefined
  const resolution: Resolution = {
    tx_id,
    position,
    way: way.way,
    sent_by: sent?.tx_id ?? null,
    sent_to: sent?.to ?? null,
    sent_amount: sent?.amount ?? null,
    sent_block: sent ? BigInt(sent.block_number) : null,
    customer_id: way.way === 'credited' ? way.customer_id : null,
    ...made,
  }
  const transfers = transfersOf(before, resolution)
  if (way.way === 'credited' && transfers.length === 0) {
    throw refusal('A token cannot be credited: accounts are in TRX.')
  }
  await insertResolution(tx, resolution)
  await moveAll(tx, transfers)
  await markResolved(tx, before, resolution.made_at)
  return { before, resolution }
}

async function requireCreditable(tx: Tx, customer_id: string): Promise<void> {
  await lockAccounts(tx, [customerAccount(customer_id)])
  const customer = await findCustomer(tx, customer_id)
  if (!customer) throw refusal(`There is no customer ${customer_id}.`)
  if (customer.state === 'closed') throw refusal(`The customer ${customer_id} is closed, for good.`)
}

type SentBackWay = Extract<Way, { way: 'sent_back' }>

/** Throws Refused unless the transaction can have sent this very deposit back. */
async function requireSentBack(
  tx: Tx,
  deposit: Deposit,
  { sent, keep_rest }: SentBackWay,
): Promise<void> {
  const came = deposit.amount_sun ?? deposit.token_amount ?? 0n
  const unit = deposit.token === null ? 'sun' : 'of the token'
  if (sent.amount > came)
    throw refusal(`It has sent ${sent.amount} ${unit}, and only ${came} came.`)
  if (sent.amount < came && !keep_rest) {
    throw refusal(`It has sent ${sent.amount} ${unit} of ${came}: --keep-rest writes the rest off.`)
  }
  if (BigInt(sent.block_number) < deposit.block_number)
    throw refusal('It was in a block before the deposit.')
  const [ours] = await tx`select 1 from attempt where tx_id = ${sent.tx_id}`
  if (ours) throw refusal(`The service itself has sent ${sent.tx_id}, for something else.`)
  const [collected] = await tx`select 1 from collection_transfer where tx_id = ${sent.tx_id}`
  if (collected)
    throw refusal(`The transaction ${sent.tx_id} is part of a collection, and is booked as such.`)
}

/** The entries of a resolution. */
function transfersOf(
  deposit: Deposit,
  { way, customer_id, sent_amount, made_at }: Resolution,
): Transfer[] {
  const { amount_sun } = deposit
  if (amount_sun === null) return []
  const debit = deposit.customer_id === null ? customerAccount(DIRECT_RECHARGE) : HELD_DEPOSITS
  const id = `resolution:${placeOf(deposit)}`
  if (way === 'credited')
    return [{ id, debit, credit: customerAccount(customer_id!), amount_sun, made_at }]
  if (way === 'written_off') return [{ id, debit, credit: WRITTEN_OFF, amount_sun, made_at }]
  const rest_sun = amount_sun - sent_amount!
  const rest = { id: `${id}/rest`, debit, credit: WRITTEN_OFF, amount_sun: rest_sun, made_at }
  const back = { id, debit, credit: WORLD, amount_sun: sent_amount!, made_at }
  return rest_sun > 0n ? [back, rest] : [back]
}

async function insertResolution(tx: Tx, one: Resolution): Promise<void> {
  await tx`
    insert into deposit_resolution (tx_id, position, way, sent_by, sent_to, sent_amount, sent_block,
                                    customer_id, made_at, made_by, reason)
    values (${one.tx_id}, ${one.position}, ${one.way}, ${one.sent_by}, ${one.sent_to},
            ${one.sent_amount?.toString() ?? null}::numeric, ${one.sent_block}, ${one.customer_id},
            ${one.made_at}, ${one.made_by}, ${one.reason})`
}

/** How the deposits of a transaction were resolved. */
export async function findResolutions(sql: Sql, tx_id: string): Promise<Resolution[]> {
  return sql<Resolution>`
    select tx_id, position, way, sent_by, sent_to, sent_amount, sent_block, customer_id, made_at,
      made_by, reason
    from deposit_resolution where tx_id = ${tx_id} order by position`
}
