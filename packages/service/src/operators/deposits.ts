// What arrived: deposits, for looking things up, and how an operator ends those that are held. What
// is said to have sent a deposit back is looked up on the solid chain before anything is changed:
// in the blocks that the service has kept, or at a node that is named.

import type { Address } from 'penstock-tron/address.ts'
import type { ChainView } from '../audit/chain.ts'
import { keptBlockWith, type StoredBlock } from '../chain/blocks.ts'
import { contentsOf } from '../chain/contents.ts'
import { type Change, perform } from '../ledger/actions.ts'
import { misuse, refusal } from '../lib/fault.ts'
import { fieldsOf, integer } from '../node/answers.ts'
import { heldSenders } from '../screening/barred.ts'
import { DEPOSIT_STATES, listDeposits, showDeposits } from '../treasury/deposit_lookup.ts'
import { type Deposit, placeOf } from '../treasury/deposits.ts'
import { recountHolding } from '../treasury/holdings.ts'
import {
  assetOf,
  openDeposit,
  type Resolution,
  resolveDeposit,
  sentIn,
  type Way,
} from '../treasury/resolutions.ts'
import {
  type Answer,
  address,
  change,
  command,
  flag,
  LIMIT,
  many,
  type Needs,
  needed,
  oneOf,
  paging,
  text,
  undertaking,
  whole,
} from './command.ts'
import { reasonOf } from './corrections.ts'
import { period } from './orders.ts'

/** The solid block that has a transaction, as a node says; undefined when its solid chain has it
 *  not. */
async function blockAtNode(
  { node, ask }: ChainView,
  tx_id: string,
  asset: string,
): Promise<StoredBlock | undefined> {
  const path = '/walletsolidity/gettransactioninfobyid'
  const { blockNumber } = fieldsOf(await ask(path, { value: tx_id }), path)
  if (blockNumber === undefined) return undefined
  const number = Number(integer(blockNumber, path))
  const [block] = await node.blocks(number, number, 'solid')
  return block && contentsOf(new Set([asset]), block, await node.receipts(block, 'solid'))
}

type Given = {
  tx_id: string
  position: number | undefined
  sent_by: string | undefined
  to: Address | undefined
  keep_rest: boolean
  credit: string | undefined
  written_off: boolean
  blocked_reviewed: boolean
  node_url: string[]
  solid_node_url: string[]
}

/** Throws misuse unless it is one way, and nothing is said that does not belong to it. */
function requireOneWay({ sent_by, credit, written_off, to, keep_rest }: Given): void {
  const ways = [sent_by !== undefined, credit !== undefined, written_off].filter(Boolean).length
  if (ways !== 1)
    throw misuse('deposits resolve takes one of --sent-by, --credit and --written-off.')
  if (sent_by === undefined && (to !== undefined || keep_rest)) {
    throw misuse('--to and --keep-rest belong to --sent-by.')
  }
}

/** Which way is meant. Throws Refused when a transaction is named and has not sent it. */
async function wayOf({ sql, chainAt }: Needs, given: Given, deposit: Deposit): Promise<Way> {
  const { sent_by, to = deposit.from_address, keep_rest, credit } = given
  if (credit !== undefined) return { way: 'credited', customer_id: credit }
  if (sent_by === undefined) return { way: 'written_off' }
  const chain = chainAt(given.node_url, given.solid_node_url)
  const asset = assetOf(deposit)
  const block = chain ? await blockAtNode(chain, sent_by, asset) : await keptBlockWith(sql, sent_by)
  if (!block) {
    const where = chain
      ? "on the node's solid chain"
      : 'in a solid block that is kept here; --node-url asks a node'
    throw refusal(`The transaction ${sent_by} is not ${where}.`)
  }
  return { way: 'sent_back', sent: sentIn(block, { tx_id: sent_by, to, asset }), keep_rest }
}

/** What was done, as the record has it and as it is answered. */
function changeOf(before: Deposit, resolution: Resolution): Change<Answer> {
  const { amount_sun, token, token_amount, from_address, to_address, state, reason } = before
  const { tx_id, position, way, sent_by, sent_to, sent_amount, sent_block, customer_id } =
    resolution
  const money = token === null ? { amount_sun } : { token, token_amount }
  const after = { state: 'resolved', way, sent_by, sent_to, sent_amount, sent_block, customer_id }
  return {
    result: { value: { tx_id, position, ...money, ...after }, note: 'Resolved.' },
    actions: [
      {
        subject: `deposit:${placeOf(before)}`,
        before: { state, reason, ...money, from_address, to_address },
        after,
      },
    ],
  }
}

const TO_DO =
  'To end one: penstock deposits resolve TX_ID, with --sent-by TX_ID, --credit CUSTOMER or --written-off, and --reason.'

const transaction = (help: string) => text('TX_ID', help)

/** A transaction id as it is kept. Throws misuse. */
function transactionId(given: string): string {
  if (!/^[0-9a-fA-F]{64}$/.test(given)) throw misuse(`${given} is not the id of a transaction.`)
  return given.toLowerCase()
}

const resolve = undertaking({
  words: 'deposits resolve',
  summary:
    'end a deposit that is held or ignored: sent back by hand, credited to a customer, or written off',
  details:
    'One of the three, and --reason. A transaction that sent it back is looked up on the solid chain: in the blocks that are kept here, or at the node that is named.',
  operands: { tx_id: needed(transaction('the transaction that brought it')) },
  options: {
    position: whole('N', 'which one, when the transaction brought several', {
      min: -Number.MAX_SAFE_INTEGER,
    }),
    sent_by: transaction('it was sent back, by this transaction'),
    to: address('to this address, and not to the sender'),
    keep_rest: flag('the transaction has sent less than came: write the rest off'),
    credit: text('CUSTOMER', "add it to this customer's account"),
    written_off: flag("it stays with us, and is nobody's"),
    blocked_reviewed: flag('the sender is or was blacklisted, and you have looked into it'),
    node_url: many(text('URL', 'a node to look the transaction up at')),
    solid_node_url: many(text('URL', 'its solidity side, where that has an address of its own')),
  },
  async run(needs, typed, operator) {
    const sent_by = typed.sent_by === undefined ? undefined : transactionId(typed.sent_by)
    const given: Given = { ...typed, tx_id: transactionId(typed.tx_id), sent_by }
    requireOneWay(given)
    const reason = reasonOf(operator)
    const { sql, clock } = needs
    const deposit = await openDeposit(sql, given)
    const way = await wayOf(needs, given, deposit)
    return perform(needs, { operator, action: 'deposits resolve' }, async (tx, made_at) => {
      const { blocked_reviewed } = given
      const made = { made_at, made_by: operator.made_by, reason }
      const wanted = { deposit, way, blocked_reviewed, ...made }
      const { before, resolution } = await resolveDeposit(tx, heldSenders({ clock }), wanted)
      return changeOf(before, resolution)
    })
  },
})

export const depositCommands = [
  command({
    words: 'deposits list',
    summary: 'TRX and tokens that arrived, newest first',
    options: {
      customer: text('CUSTOMER', 'only to this customer'),
      state: oneOf(DEPOSIT_STATES, 'only in this state'),
      from: address('only from this sender'),
      ...period,
      limit: paging.limit,
    },
    async run(needs, wanted) {
      const value = await listDeposits(needs, { ...wanted, limit: wanted.limit ?? LIMIT })
      return { value, ...(value.some(({ state }) => state === 'held') && { note: TO_DO }) }
    },
  }),
  command({
    words: 'deposits show',
    summary: 'one deposit: what became of it, its entries in the ledger',
    operands: { tx_id: needed(transaction('the id of the transaction on the chain')) },
    run: async ({ sql }, { tx_id }) => ({ value: await showDeposits(sql, tx_id) }),
  }),
  resolve,
  change({
    words: 'deposits recount',
    summary: 'take what the chain shows at an address where deposits arrive as right, from now on',
    details:
      'For what nobody has seen come or go there, once you know what it was: it ends the alert, and the finding of C13. No account changes: customers credit and customers debit do that.',
    operands: { address: needed(address('the published address, or that of a customer')) },
    async run(tx, _needs, { address, ...changing }) {
      reasonOf(changing)
      const before = await recountHolding(tx, address)
      const note = 'It is counted anew within a minute.'
      return {
        result: { value: { address, ...before }, note },
        actions: [{ subject: `holding:${address}`, before, after: { prior_sun: null } }],
      }
    },
  }),
]
