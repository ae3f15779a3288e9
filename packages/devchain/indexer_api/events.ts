// Events of tokens by contract, transaction and block, and the history of accounts (`/v1/...`): not
// the node's own interface but that of the service beside it, in the shape of the public one, as
// far as clients ask for it.

import { addressToHex, isAddress } from 'penstock-tron/address.ts'
import { declarationOf, readLog } from '../calls/contract_abi.ts'
import type { Block, IncludedTransaction } from '../chain/blocks.ts'
import type { Node } from '../http/routes.ts'
import { addressText } from '../state/accounts.ts'
import { type Json, printJson } from '../state/json.ts'
import type { Answer, Exchange } from '../wallet_api/wallet_api.ts'
import { historyOf, readHistoryPath } from './history.ts'

const PAGE = 20
const PAGE_MAX = 200

type Query = URLSearchParams
type PrintedEvent = { readonly name: string; readonly json: Json }

/** The events of one transaction. */
function eventsOf(
  { chain }: Node,
  block: Block,
  { transaction, outcome }: IncludedTransaction,
): PrintedEvent[] {
  const { call } = outcome
  if (!call) return []
  const solid = block.header.number <= chain.solid_block.header.number
  return call.logs.flatMap((log, event_index) => {
    const read = readLog(log)
    if (!read) return []
    const { event, values } = read
    const named = event.parameters.map(({ name, type }, index) => {
      const value = values[index]!
      // The service prints addresses as other chains do: 20 bytes.
      return [name, type === 'address' ? `0x${value.slice(2)}` : value] as const
    })
    const json = {
      block_number: block.header.number,
      block_timestamp: block.header.timestamp,
      caller_contract_address: addressText(call.contract_address),
      contract_address: addressText(`41${log.address}`),
      event_index,
      event_name: event.name,
      result: {
        ...Object.fromEntries(named.map(([, value], index) => [String(index), value])),
        ...Object.fromEntries(named),
      },
      result_type: Object.fromEntries(event.parameters.map(({ name, type }) => [name, type])),
      event: declarationOf(event),
      transaction_id: transaction.id,
      ...(solid ? {} : { _unconfirmed: true }),
    }
    return [{ name: event.name, json }]
  })
}

const flag = (query: Query, name: string) => query.get(name) === 'true'

/** The blocks between two numbers that the query lets through. */
function blocksOf({ chain }: Node, query: Query, first: number, last: number): Block[] {
  const solid = chain.solid_block.header.number
  const from = flag(query, 'only_unconfirmed') ? Math.max(first, solid + 1) : first
  const to = flag(query, 'only_confirmed') ? Math.min(last, solid) : last
  const earliest = Number(query.get('min_block_timestamp') ?? 0)
  const latest = Number(query.get('max_block_timestamp') ?? Number.MAX_SAFE_INTEGER)
  const blocks: Block[] = []
  for (let number = Math.max(from, 0); number <= to; number++) {
    const block = chain.block(number)
    if (block && block.header.timestamp >= earliest && block.header.timestamp <= latest)
      blocks.push(block)
  }
  return blocks
}

/** A page of what was found, the newest first unless asked otherwise; the fingerprint of one leads
 *  to the next. */
function page(node: Node, query: Query, found: readonly Json[]): Answer {
  const ordered =
    query.get('order_by') === 'block_timestamp,asc' ? [...found] : [...found].reverse()
  const size = Math.min(Math.max(Number(query.get('limit') ?? PAGE) || PAGE, 1), PAGE_MAX)
  const start = Math.max(Number(query.get('fingerprint') ?? 0) || 0, 0)
  const shown = ordered.slice(start, start + size)
  const more = start + size < ordered.length ? { fingerprint: String(start + size) } : {}
  return ok({
    data: shown,
    success: true,
    meta: { at: node.chain.head_time_ms, ...more, page_size: shown.length },
  })
}

const ok = (json: Json): Answer => ({ status: 200, body: printJson(json) })
const refuse = (error: string): Answer => ({
  status: 400,
  body: printJson({ success: false, error, statusCode: 400 }),
})

function ofContract(node: Node, query: Query, text: string): Answer {
  if (!isAddress(text)) return refuse('A valid contract address must be provided.')
  const contract = addressToHex(text)
  const asked = query.get('block_number')
  const [first, last] =
    asked === null ? [0, node.chain.head_number] : [Number(asked), Number(asked)]
  const name = query.get('event_name')
  const found = blocksOf(node, query, first, last).flatMap((block) =>
    block.transactions
      .filter(({ outcome }) => outcome.call?.contract_address === contract)
      .flatMap((included) => eventsOf(node, block, included)),
  )
  return page(
    node,
    query,
    found.filter((one) => name === null || one.name === name).map(({ json }) => json),
  )
}

function ofTransaction(node: Node, query: Query, id: string): Answer {
  const place = node.chain.placeOf(id.toLowerCase())
  const blocks = place ? blocksOf(node, query, place.block, place.block) : []
  return page(
    node,
    query,
    blocks
      .flatMap((block) => eventsOf(node, block, block.transactions[place!.index]!))
      .map(({ json }) => json),
  )
}

function ofBlock(node: Node, query: Query, which: string): Answer {
  const number = which === 'latest' ? node.chain.head_number : Number(which)
  if (!Number.isSafeInteger(number)) return refuse('Invalid block_number provided.')
  const found = blocksOf(node, query, number, number).flatMap((block) =>
    block.transactions.flatMap((included) => eventsOf(node, block, included)),
  )
  return page(
    node,
    query,
    found.map(({ json }) => json),
  )
}

const kinds: Readonly<Record<string, (node: Node, query: Query, which: string) => Answer>> = {
  contracts: ofContract,
  transactions: ofTransaction,
  blocks: ofBlock,
}

/** The transactions of an account, or the transfers of tokens among them. */
function ofAccount(node: Node, query: Query, which: string, rest: readonly string[]): Answer {
  const asked = readHistoryPath(which, rest)
  if (asked === undefined) return notFound
  if (asked === 'invalid') return refuse('A valid account address must be provided.')
  const blocks = blocksOf(node, query, 0, node.chain.head_number)
  return page(node, query, historyOf(node, blocks, query, asked))
}

const notFound: Answer = { status: 404, body: printJson({ error: 'Not Found' }) }

/** Answers `/v1/{contracts|transactions|blocks}/{which}/events` and
 *  `/v1/accounts/{which}/transactions[/trc20]`. */
export function answerEvents(node: Node, { path }: Exchange): Answer {
  const [route, query = ''] = path.split('?', 2)
  const [, , kind = '', which = '', what, ...rest] = route!.split('/')
  if (kind === 'accounts')
    return ofAccount(node, new URLSearchParams(query), which, route!.split('/').slice(4))
  const answer = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
  if (!answer || what !== 'events' || rest.length > 0) return notFound
  return answer(node, new URLSearchParams(query), which)
}
