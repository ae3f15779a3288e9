// The history of an account (`/v1/accounts/<address>/transactions` and `.../transactions/trc20`),
// in the shape of the public service that wallets ask for their history. Blocks are read from the
// newest to the oldest until a page is full.

import { addressToHex, isAddress } from 'penstock-tron/address.ts'
import { readLog } from '../calls/contract_abi.ts'
import { tokenOf } from '../calls/tokens.ts'
import type { Block, IncludedTransaction } from '../chain/blocks.ts'
import { feeOf } from '../chain/execution.ts'
import { printInternal, printTransaction } from '../http/messages.ts'
import type { Node } from '../http/routes.ts'
import { addressText } from '../state/accounts.ts'
import { textOf } from '../state/execution_context.ts'
import type { Json } from '../state/json.ts'

type LocatedTransaction = { readonly block: Block; readonly included: IncludedTransaction }
type Query = URLSearchParams

/** The fields of contracts that name somebody else than the owner. */
const otherNames = ['to_address', 'receiver_address', 'account_address', 'contract_address']

/** Whether a transaction has to do with an account: as its owner, as whom it names, or as whom a
 *  contract paid. `side` leaves one of the two. */
function concerns(
  { transaction, outcome }: IncludedTransaction,
  address: string,
  side: 'from' | 'to' | 'both',
): boolean {
  const from = transaction.owner_address === address
  const named = otherNames.some((name) => textOf(transaction.message, name) === address)
  const paid =
    outcome.call?.internal.some(({ to, rejected }) => to === address && !rejected) ?? false
  if (side === 'from') return from
  return named || paid || (side === 'both' && from)
}

const flag = (query: Query, name: string) => query.get(name) === 'true'

function sideOf(query: Query): 'from' | 'to' | 'both' {
  if (flag(query, 'only_from')) return 'from'
  return flag(query, 'only_to') ? 'to' : 'both'
}

function printEntry({ block, included }: LocatedTransaction, node: Node): Json {
  const { transaction, outcome } = included
  const { call, net_usage, net_fee_sun } = outcome
  const fee = Number(feeOf(outcome))
  return {
    ret: [{ contractRet: outcome.contract_ret, fee }],
    ...printTransaction(transaction, false),
    net_usage,
    net_fee: net_fee_sun,
    energy_usage: call?.energy.usage ?? 0,
    energy_fee: call?.energy.fee_sun ?? 0,
    energy_usage_total: call?.energy.total ?? 0,
    blockNumber: block.header.number,
    block_timestamp: block.header.timestamp,
    internal_transactions: call ? printInternal(call, false, node.internal) : [],
  }
}

/** The transfers of tokens in a transaction that an account took part in. */
function printTransfers(
  { block, included }: LocatedTransaction,
  node: Node,
  address: string,
  query: Query,
): Json[] {
  const { call } = included.outcome
  const wanted = query.get('contract_address')
  const side = sideOf(query)
  return (call?.logs ?? []).flatMap((log) => {
    const read = readLog(log)
    const token = tokenOf(node.chain.headView(), `41${log.address}`)
    if (read?.event.name !== 'Transfer' || !token) return []
    const [from, to, value] = read.values as [string, string, string]
    const mine = (from === address && side !== 'to') || (to === address && side !== 'from')
    const contract = addressText(token.address)
    if (!mine || (wanted !== null && wanted !== contract)) return []
    const { symbol, decimals, name } = token
    return {
      transaction_id: included.transaction.id,
      token_info: { symbol, address: contract, decimals, name },
      block_timestamp: block.header.timestamp,
      from: addressText(from),
      to: addressText(to),
      type: 'Transfer',
      value,
    }
  })
}

/** The source of a page: entries of an account, the newest first. Empty where nothing is asked
 *  for. */
export function historyOf(
  node: Node,
  blocks: readonly Block[],
  query: Query,
  asked: HistoryPath,
): Json[] {
  const { address, tokens_only } = asked
  const found = blocks.flatMap((block) =>
    block.transactions.map((included) => ({ block, included })),
  )
  if (tokens_only) return found.flatMap((one) => printTransfers(one, node, address, query))
  const side = sideOf(query)
  return found
    .filter(({ included }) => concerns(included, address, side))
    .map((one) => printEntry(one, node))
}

export type HistoryPath = { readonly address: string; readonly tokens_only: boolean }

/** Reads `<address>/transactions[/trc20]`; undefined when the path is another. */
export function readHistoryPath(
  which: string,
  rest: readonly string[],
): HistoryPath | 'invalid' | undefined {
  const [what, kind, ...more] = rest
  if (what !== 'transactions' || more.length > 0 || (kind !== undefined && kind !== 'trc20'))
    return undefined
  if (!isAddress(which)) return 'invalid'
  return { address: addressToHex(which), tokens_only: kind === 'trc20' }
}
