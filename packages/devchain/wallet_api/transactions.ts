// Transactions over HTTP: broadcasting them, finding them, and asking who has signed.

import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { MalformedMessage } from 'penstock-tron/protobuf.ts'
import type { Block, IncludedTransaction } from '../chain/blocks.ts'
import { parseTransaction, type SignedTransaction } from '../chain/transactions.ts'
import { allows, permissionById, weightOfSignatures } from '../contracts/permissions.ts'
import {
  NodeException,
  printReceipt,
  printTransaction,
  readHex,
  readId,
  readTransaction,
} from '../http/messages.ts'
import { type Call, type Routes, viewOf } from '../http/routes.ts'
import { accountOf } from '../state/accounts.ts'
import { type Json, type JsonObject, printJson, withoutDefaults } from '../state/json.ts'
import { SIGNATURES_MAX } from '../state/parameters.ts'
import type { Permission } from '../state/records.ts'
import { invalid, Refusal } from '../state/refusal.ts'
import { printPermission } from './accounts.ts'
import { visibleBlock } from './blocks.ts'

const textHex = (text: string) => bytesToHex(new TextEncoder().encode(text))

/** Broadcasts a transaction; undefined stands for success. */
function tryBroadcast(call: Call, transaction: SignedTransaction | undefined): Refusal | undefined {
  const { chain, faults } = call
  try {
    if (!transaction) throw invalid('No contract!')
    const refused = faults.strike('busy', 'false_dup')
    if (refused?.kind === 'busy') throw new Refusal('SERVER_BUSY', 'fault')
    if (refused) throw new Refusal('DUP_TRANSACTION_ERROR', 'fault')
    const held = faults.strike('drop', 'delay')
    const wait_ms = held?.kind === 'drop' ? Number.POSITIVE_INFINITY : (held?.seconds ?? 0) * 1000
    chain.broadcast(transaction, wait_ms)
    if (call.instant) call.makeBlockNow()
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
  return {
    code: refusal.code,
    txid,
    message: given.visible ? refusal.spoken : textHex(refusal.spoken),
  }
}

/** Throws the exception of the node's own decoder. */
function readEncoded(hex: string): SignedTransaction {
  try {
    return parseTransaction(hexToBytes(hex))
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error
    throw new NodeException(
      'com.google.protobuf.InvalidProtocolBufferException',
      `Protocol message ${error.message}`,
    )
  }
}

function broadcastHex(call: Call): Json {
  const { given } = call
  const transaction = readEncoded(readHex(given.text('transaction')))
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
function find(call: Call, id: string): { block: Block; included: IncludedTransaction } | undefined {
  const place = call.chain.placeOf(id)
  const block = place && visibleBlock(call, place.block)
  return block && { block, included: block.transactions[place.index]! }
}

function printById(call: Call): Json {
  const id = readId(call.given.text('value'))
  const found = find(call, id)
  if (found)
    return printTransaction(found.included.transaction, call.given.visible, found.included.outcome)
  // The head's interface reads the pending state, and that has the pending transactions too:
  // without `ret`.
  const pending = call.solid ? undefined : call.chain.pendingTransaction(id)
  return pending ? printTransaction(pending, call.given.visible) : {}
}

/** Whether the node shows what became of a block's transactions: a fault makes it late. */
function hasReceipts({ chain, faults }: Call, { header }: Block): boolean {
  const late = faults.standing('late_receipt')
  return late === undefined || chain.head_time_ms - header.timestamp >= late.seconds * 1000
}

const placeOf = ({ header }: Block) => ({ number: header.number, time_ms: header.timestamp })

function receiptOf(
  { given, internal }: Call,
  block: Block,
  included: IncludedTransaction,
): JsonObject {
  return printReceipt(included, placeOf(block), given.visible, internal)
}

function printReceiptsOfBlock(call: Call): Json {
  const number = call.given.number('num')
  if (number <= 0) return {}
  const block = visibleBlock(call, number)
  if (!block || !hasReceipts(call, block)) return []
  return block.transactions.map((included) => receiptOf(call, block, included))
}

function printPending({ chain, given }: Call): Json {
  const transaction = chain.pendingTransaction(readId(given.text('value')))
  return transaction ? printTransaction(transaction, given.visible) : {}
}

/** The transaction that `getsignweight` and `getapprovedlist` echo. */
function printEcho(transaction: SignedTransaction, visible: boolean): JsonObject {
  return {
    result: { result: true },
    txid: transaction.id,
    transaction: printTransaction(transaction, visible),
  }
}

function signatureCode(refusal: Refusal): string {
  if (refusal.message.startsWith('Signature size')) return 'SIGNATURE_FORMAT_ERROR'
  const unreadable = /^(Could not recover|Header byte)/.test(refusal.message)
  return unreadable ? 'COMPUTE_ADDRESS_ERROR' : 'PERMISSION_ERROR'
}

/** What can be said of a posted transaction's signatures before looking at them; undefined when
 *  nothing is wrong. */
function unfit(transaction: SignedTransaction | undefined): Json | undefined {
  const refuse = (message: string) => ({ result: { code: 'OTHER_ERROR', message } })
  if (!transaction) return refuse('Invalid transaction: no valid contract')
  return transaction.signatures.length > SIGNATURES_MAX ? refuse('too many signatures') : undefined
}

/** The permission that a transaction claims, or why it cannot have it. */
function claimedPermission(call: Call, transaction: SignedTransaction): Permission | string {
  const account = accountOf(viewOf(call), transaction.owner_address)
  if (!account) return 'Account does not exist!'
  const permission = permissionById(account, transaction.permission_id)
  if (!permission) return 'Permission for this, does not exist!'
  if (transaction.permission_id === 0) return permission
  if (permission.type !== 'Active') return 'Permission type is wrong!'
  return allows(permission.operations, transaction.contract_type)
    ? permission
    : 'Permission denied!'
}

/** Looks at the signatures; what is wrong with them is the text of a refusal. */
function weigh(permission: Permission, transaction: SignedTransaction): bigint | Refusal {
  try {
    return weightOfSignatures(permission, transaction)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

function signWeight(call: Call): Json {
  const { visible } = call.given
  const transaction = readTransaction(call.given.members, visible)
  const wrong = unfit(transaction)
  if (!transaction || wrong) return wrong!
  const echo = printEcho(transaction, visible)
  const permission = claimedPermission(call, transaction)
  if (typeof permission === 'string') {
    return { result: { code: 'PERMISSION_ERROR', message: permission }, transaction: echo }
  }
  const printed = printPermission(permission, visible)
  const weight = weigh(permission, transaction)
  if (weight instanceof Refusal) {
    return {
      result: { code: signatureCode(weight), message: weight.message },
      permission: printed,
      transaction: echo,
    }
  }
  return {
    result: weight >= permission.threshold ? {} : { code: 'NOT_ENOUGH_PERMISSION' },
    permission: printed,
    ...withoutDefaults({ approved_list: printSigners(call, transaction), current_weight: weight }),
    transaction: echo,
  }
}

const printSigners = ({ given }: Call, { signers }: SignedTransaction) =>
  signers().map((signer) => given.print(signer))

/** Here a missing permission is an exception like any other, told with its class. */
function approvedList(call: Call): Json {
  const transaction = readTransaction(call.given.members, call.given.visible)
  const wrong = unfit(transaction)
  if (!transaction || wrong) return wrong!
  const echo = printEcho(transaction, call.given.visible)
  const refuse = (code: string, message: string) => ({
    result: { code, message },
    transaction: echo,
  })
  const exception = (message: string) =>
    refuse('OTHER_ERROR', `class org.tron.core.exception.PermissionException : ${message}`)
  const permission = claimedPermission(call, transaction)
  if (typeof permission === 'string') return exception(permission)
  const weight = weigh(permission, transaction)
  if (weight instanceof Refusal) {
    const code = signatureCode(weight)
    return code === 'PERMISSION_ERROR' ? exception(weight.message) : refuse(code, weight.message)
  }
  return {
    result: {},
    ...withoutDefaults({ approved_list: printSigners(call, transaction) }),
    transaction: echo,
  }
}

export const transactionRoutes: Routes = {
  broadcasttransaction: { post_only: true, answer: broadcastTransaction },
  broadcasthex: { post_only: true, answer: broadcastHex },
  gettransactionbyid: { answer: printById },
  gettransactioninfobyid: {
    answer(call) {
      const found = find(call, readId(call.given.text('value')))
      if (!found || !hasReceipts(call, found.block) || call.faults.strike('hide_receipt')) return {}
      return receiptOf(call, found.block, found.included)
    },
  },
  gettransactionreceiptbyid: {
    answer(call) {
      const found = find(call, readId(call.given.text('value')))
      if (!found || !hasReceipts(call, found.block)) return {}
      return { Receipt: receiptOf(call, found.block, found.included).receipt }
    },
  },
  gettransactioninfobyblocknum: { answer: printReceiptsOfBlock },
  gettransactionfrompending: { answer: printPending },
  gettransactionlistfrompending: {
    answer: ({ chain }) =>
      withoutDefaults({ txId: chain.pendingTransactions().map(({ id }) => id) }),
  },
  getpendingsize: { answer: ({ chain }) => ({ pendingSize: chain.pendingSize() }) },
  getsignweight: { post_only: true, answer: signWeight },
  getapprovedlist: { post_only: true, answer: approvedList },
}
