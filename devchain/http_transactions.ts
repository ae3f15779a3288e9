// Transactions over HTTP: broadcasting them, finding them, and asking who has signed.

import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { accountOf } from './accounts.ts'
import type { Block, Included } from './blocks.ts'
import { printPermission } from './http_accounts.ts'
import { visibleBlock } from './http_blocks.ts'
import { type Json, type JsonObject, printJson, withoutDefaults } from './json.ts'
import { printReceipt, printTransaction, readHex, reading, readTransaction } from './messages.ts'
import { SIGNATURES_MAX } from './parameters.ts'
import { allows, permissionById, weightOfSignatures } from './permissions.ts'
import { invalid, Refusal } from './refusal.ts'
import { type Call, type Routes, viewOf } from './routes.ts'
import { parseTransaction, type SignedTransaction } from './transactions.ts'

const textHex = (text: string) => bytesToHex(new TextEncoder().encode(text))

/** Broadcasts a transaction; undefined stands for success. */
function tryBroadcast({ chain, faults }: Call, transaction: SignedTransaction | undefined): Refusal | undefined {
  try {
    if (!transaction) throw invalid('No contract!')
    const refused = faults.strike('busy', 'false_dup')
    if (refused?.kind === 'busy') throw new Refusal('SERVER_BUSY', 'fault')
    if (refused) throw new Refusal('DUP_TRANSACTION_ERROR', 'fault')
    const held = faults.strike('drop', 'delay')
    const wait_ms = held?.kind === 'drop' ? Number.POSITIVE_INFINITY : (held?.seconds ?? 0) * 1000
    chain.broadcast(transaction, wait_ms)
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

function broadcastTransaction(call: Call): Json {
  const { given } = call
  const transaction = readTransaction(given.members, given.visible)
  const refusal = tryBroadcast(call, transaction)
  const txid = transaction?.id ?? ''
  if (!refusal) return { result: true, txid }
  return { code: refusal.code, txid, message: given.visible ? refusal.spoken : textHex(refusal.spoken) }
}

function broadcastHex(call: Call): Json {
  const { given } = call
  const transaction = reading(() => parseTransaction(hexToBytes(readHex(given.text('transaction')))))
  const refusal = tryBroadcast(call, transaction)
  return {
    result: !refusal,
    code: refusal?.code ?? 'SUCCESS',
    message: refusal?.spoken ?? '',
    transaction: printJson(printTransaction(transaction, given.visible)),
    txid: transaction.id,
  }
}

/** A transaction in a block that the call can see. */
function find(call: Call, id: string): { block: Block; included: Included } | undefined {
  const place = call.chain.placeOf(id.toLowerCase())
  const block = place && visibleBlock(call, place.block)
  return block && { block, included: block.transactions[place.index]! }
}

function printById(call: Call): Json {
  const id = call.given.text('value').toLowerCase()
  const found = find(call, id)
  if (found) return printTransaction(found.included.transaction, call.given.visible, found.included.outcome)
  // The head's interface reads the pending state, and that has the pending transactions too: without `ret`.
  const pending = call.solid ? undefined : call.chain.pendingTransaction(id)
  return pending ? printTransaction(pending, call.given.visible) : {}
}

const placeOf = ({ header }: Block) => ({ number: header.number, time_ms: header.timestamp })

function printReceiptsOfBlock(call: Call): Json {
  const number = call.given.number('num')
  if (number <= 0) return {}
  const block = visibleBlock(call, number)
  return block ? block.transactions.map((included) => printReceipt(included, placeOf(block), call.given.visible)) : []
}

function printPending({ chain, given }: Call): Json {
  const transaction = chain.pendingTransaction(given.text('value').toLowerCase())
  return transaction ? printTransaction(transaction, given.visible) : {}
}

/** The transaction that `getsignweight` and `getapprovedlist` echo. */
function printEcho(transaction: SignedTransaction, visible: boolean): JsonObject {
  return { result: { result: true }, txid: transaction.id, transaction: printTransaction(transaction, visible) }
}

function signatureCode(refusal: Refusal): string {
  if (refusal.message.startsWith('Signature size')) return 'SIGNATURE_FORMAT_ERROR'
  return refusal.message.startsWith('Could not recover') ? 'COMPUTE_ADDRESS_ERROR' : 'PERMISSION_ERROR'
}

function signWeight(call: Call): Json {
  const { visible } = call.given
  const transaction = readTransaction(call.given.members, visible)
  if (!transaction) return { result: { code: 'OTHER_ERROR', message: 'Invalid transaction: no valid contract' } }
  if (transaction.signatures.length > SIGNATURES_MAX)
    return { result: { code: 'OTHER_ERROR', message: 'too many signatures' } }
  const echo = printEcho(transaction, visible)
  const account = accountOf(viewOf(call), transaction.owner_address)
  const refuse = (message: string) => ({ result: { code: 'PERMISSION_ERROR', message }, transaction: echo })
  if (!account) return refuse('Account does not exist!')
  const permission = permissionById(account, transaction.permission_id)
  if (!permission) return refuse('Permission for this, does not exist!')
  if (transaction.permission_id !== 0) {
    if (permission.type !== 'Active') return refuse('Permission type is wrong!')
    if (!allows(permission.operations, transaction.contract_type)) return refuse('Permission denied!')
  }
  const printed = printPermission(permission, visible)
  try {
    const current_weight = weightOfSignatures(permission, transaction)
    return {
      result: current_weight >= permission.threshold ? {} : { code: 'NOT_ENOUGH_PERMISSION' },
      permission: printed,
      ...withoutDefaults({
        approved_list: transaction.signers().map((signer) => call.given.print(signer)),
        current_weight,
      }),
      transaction: echo,
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const result = { code: signatureCode(error), message: error.message }
    return { result, permission: printed, transaction: echo }
  }
}

function approvedList(call: Call): Json {
  const transaction = readTransaction(call.given.members, call.given.visible)
  if (!transaction) return { result: { code: 'OTHER_ERROR', message: 'Invalid transaction: no valid contract' } }
  const echo = printEcho(transaction, call.given.visible)
  try {
    const approved_list = transaction.signers().map((signer) => call.given.print(signer))
    return { result: {}, ...withoutDefaults({ approved_list }), transaction: echo }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { result: { code: signatureCode(error), message: error.message }, transaction: echo }
  }
}

export const transactionRoutes: Routes = {
  broadcasttransaction: { post_only: true, answer: broadcastTransaction },
  broadcasthex: { post_only: true, answer: broadcastHex },
  gettransactionbyid: { answer: printById },
  gettransactioninfobyid: {
    answer(call) {
      const found = find(call, call.given.text('value'))
      if (found && call.faults.strike('hide_receipt')) return {}
      return found ? printReceipt(found.included, placeOf(found.block), call.given.visible) : {}
    },
  },
  gettransactioninfobyblocknum: { answer: printReceiptsOfBlock },
  gettransactionfrompending: { answer: printPending },
  gettransactionlistfrompending: {
    answer: ({ chain }) => withoutDefaults({ txId: chain.pendingTransactions().map(({ id }) => id) }),
  },
  getpendingsize: { answer: ({ chain }) => ({ pendingSize: chain.pendingSize() }) },
  getsignweight: { post_only: true, answer: signWeight },
  getapprovedlist: { post_only: true, answer: approvedList },
}
