// Blocks and receipts as a node answers them, read and checked. The id of every transaction must be
// the hash of its bytes, and what moves money is read from those bytes: a node that invents or
// alters a transaction has to invent its bytes too, and one that prints something else than they
// say is caught. What is in no bytes here, outcomes, events and what contracts sent, is as good as
// the node's word; where there are several nodes, they are compared.
//
// Whether the block itself is the chain's, by its header, its producer's signature and its tree of
// transactions, is not looked at: blockOf() is where that would be.

import { hash } from 'node:crypto'
import { type Address, addressFromHex, isAddress } from 'penstock-tron/address.ts'
import { ContractType } from 'penstock-tron/contracts.ts'
import { type Operation, readOperation } from 'penstock-tron/operation.ts'
import { MalformedMessage } from 'penstock-tron/protobuf.ts'
import type { ContractLog } from 'penstock-tron/tokens.ts'
import { Outage } from '../../lib/fault.ts'
import { addressOf, assetOf, fieldsOf, hex, integer, listOf, text } from './answers.ts'
import { type InternalTransfer, internalsOf, type UnknownInternal } from './internal_transfers.ts'

const {
  TransferContract: TRANSFER,
  TransferAssetContract: TRANSFER_ASSET,
  CreateSmartContract: CREATE,
  TriggerSmartContract: CALL,
} = ContractType.values

export type BlockHead = { number: number; id: string; parent_id: string; time: Date }
export type TrxTransfer = { tx_id: string; from: Address; to: Address; amount_sun: bigint }
/** A transfer of a TRC-10 asset, which is named by its number. */
export type AssetTransfer = { asset: string; from: Address; to: Address; amount: bigint }
/** A transaction of a block, in short. `owner` is who signed for it, undefined where nobody did
 *  openly; `call`, what it sent along to a contract. */
export type BlockTransaction = {
  tx_id: string
  owner: Address | undefined
  contract_type: string
  succeeded: boolean
  call: { contract: Address; value_sun: bigint } | undefined
}
/** A block: what every reader here needs of it. `transfers` are plain, successful transfers of TRX;
 *  `read_from`, the nodes that gave it, and, once these were asked for, its receipts. */
export type Block = BlockHead & {
  read_from: Set<string>
  transactions: BlockTransaction[]
  transfers: TrxTransfer[]
  asset_transfers: (AssetTransfer & { tx_id: string })[]
}
/** What the execution of a transaction left: all energy it took, no matter who paid, its events,
 *  and what contracts did. */
export type Receipt = {
  tx_id: string
  /** What the network took of its owner for it, in sun. */
  fee_sun: bigint
  /** The bandwidth that it took, allowed or staked; what TRX was burned for is none of it. */
  bandwidth: bigint
  energy: bigint
  /** What of it was paid with energy that was there, its own or delegated to it. */
  staked: bigint
  logs: ContractLog[]
  internal: InternalTransfer[]
  /** Internal transactions of a kind that is not known: they count for nothing. */
  unknown_internal: UnknownInternal[]
  /** How many internal transactions of any kind the node shows. */
  internal_shown: number
}

export function headOf(answer: unknown, where: string): BlockHead {
  const block = fieldsOf(answer, where)
  const id = hex(block.blockID, 64, `${where}.blockID`)
  const raw = fieldsOf(fieldsOf(block.block_header, where).raw_data, where)
  const number = Number(integer(raw.number ?? 0, `${where}.number`))
  // The first eight bytes of a block's id are its number.
  if (BigInt(`0x${id.slice(0, 16)}`) !== BigInt(number))
    throw new Outage(`block ${number} has the id of another`)
  return {
    number,
    id,
    parent_id: hex(raw.parentHash, 64, `${where}.parentHash`),
    time: new Date(Number(integer(raw.timestamp ?? 0, `${where}.timestamp`))),
  }
}

/** `node`: who answers it. */
export function blockOf(answer: unknown, where: string, node: string): Block {
  const lists = { transactions: [], transfers: [], asset_transfers: [] }
  const block: Block = { ...headOf(answer, where), read_from: new Set([node]), ...lists }
  const listed = listOf(fieldsOf(answer, where).transactions ?? [], where)
  for (const one of listed) addTransaction(block, fieldsOf(one, where), where)
  // Twice in a block, a transfer would be there once and count twice.
  if (new Set(block.transactions.map(({ tx_id }) => tx_id)).size < listed.length) {
    throw new Outage(`${where}: block ${block.number} has a transaction twice`)
  }
  return block
}

/** What the bytes say. Throws Outage when they are not those of a transaction. */
function operationOf(raw: Buffer): Operation {
  try {
    return readOperation(raw)
  } catch (thrown) {
    if (thrown instanceof MalformedMessage) throw new Outage(thrown.message)
    throw thrown
  }
}

function addTransaction(block: Block, transaction: Record<string, unknown>, where: string): void {
  const tx_id = hex(transaction.txID, 64, `${where}.txID`)
  const operation = operationOf(rawBytes(transaction.raw_data_hex, tx_id))
  const { type, amount } = operation
  const [contract] = listOf(fieldsOf(transaction.raw_data ?? {}, tx_id).contract ?? [], tx_id)
  const printed = fieldsOf(contract ?? {}, tx_id)
  const value = printedValue(printed)
  const succeeded = outcomeOf(transaction, tx_id) === 'SUCCESS'
  requireSame(operation, printed.type, value, tx_id)
  const owner =
    operation.owner === undefined ? printedOwner(value) : addressOf(operation.owner, tx_id)
  const contract_type = typeof printed.type === 'string' ? printed.type : String(type)
  const call =
    type === CALL ? { contract: addressOf(operation.to, tx_id), value_sun: amount } : undefined
  block.transactions.push({ tx_id, owner, contract_type, succeeded, call })
  // A transfer of a token is another contract type.
  if (!succeeded || owner === undefined || (type !== TRANSFER && type !== TRANSFER_ASSET)) return
  if (amount < 0n) throw new Outage(`the transaction ${tx_id} sends ${amount}`)
  const to = addressOf(operation.to, tx_id)
  if (type === TRANSFER) block.transfers.push({ tx_id, from: owner, to, amount_sun: amount })
  else
    block.asset_transfers.push({
      tx_id,
      asset: assetOf(operation.asset, tx_id),
      from: owner,
      to,
      amount,
    })
}

/** Whether a node shows the transaction, itself and no other, as a success. */
export function isSuccess(transaction: Record<string, unknown>, tx_id: string): boolean {
  if (transaction.txID !== tx_id) return false
  rawBytes(transaction.raw_data_hex, tx_id)
  return outcomeOf(transaction, tx_id) === 'SUCCESS'
}

function outcomeOf({ ret }: Record<string, unknown>, tx_id: string): unknown {
  const [outcome] = listOf(ret ?? [], tx_id)
  return fieldsOf(outcome ?? {}, tx_id).contractRet
}

/** The bytes of which the id is the hash. */
function rawBytes(given: unknown, tx_id: string): Buffer {
  const printed = text(given, tx_id)
  const bytes = Buffer.from(printed, 'hex')
  const is_hex = 2 * bytes.length === printed.length
  if (!is_hex || hash('sha256', bytes, 'hex') !== tx_id)
    throw new Outage(`the transaction ${tx_id} has the id of another`)
  return bytes
}

/** The message that the node prints, where it prints one: of some types it knows none. */
function printedValue({ parameter }: Record<string, unknown>): Record<string, unknown> {
  const value =
    typeof parameter === 'object' && parameter !== null && 'value' in parameter
      ? parameter.value
      : undefined
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** Who signed, as the node prints it: shielded transfers have nobody, and no message does that we
 *  do not know. */
function printedOwner({ owner_address }: Record<string, unknown>): Address | undefined {
  if (typeof owner_address !== 'string') return undefined
  if (isAddress(owner_address)) return owner_address
  return /^41[0-9a-f]{40}$/.test(owner_address) ? addressFromHex(owner_address) : undefined
}

const TYPES = new Map(
  [TRANSFER, TRANSFER_ASSET, CREATE, CALL].map((type) => [type, ContractType.names.get(type)]),
)
const TYPE_NAMES = new Set<unknown>(TYPES.values())

/** Throws Outage when the node prints another transfer or call than the bytes are. */
function requireSame(
  operation: Operation,
  printed_type: unknown,
  value: Record<string, unknown>,
  tx_id: string,
): void {
  const { type, owner, to, amount } = operation
  const is = TYPES.get(type)
  const same_type = is === undefined ? !TYPE_NAMES.has(printed_type) : printed_type === is
  if (same_type && is === undefined) return
  const receiver = type === CALL ? value.contract_address : value.to_address
  const sent = (type === CALL ? value.call_value : value.amount) ?? 0
  const same =
    same_type &&
    isSame(value.owner_address, owner) &&
    (type === CREATE || (isSame(receiver, to) && BigInt(integer(sent, tx_id)) === amount)) &&
    (type !== TRANSFER_ASSET || value.asset_name === operation.asset)
  if (!same)
    throw new Outage(`the node prints the transaction ${tx_id} otherwise than its bytes say`)
}

/** Nodes print addresses in hexadecimal unless asked for the other form. */
const isSame = (printed: unknown, hexadecimal: string | undefined) =>
  printed === hexadecimal ||
  (typeof printed === 'string' && isAddress(printed) && isText(printed, hexadecimal))

const isText = (address: Address, hexadecimal = '') =>
  addressOf(hexadecimal, 'a transaction') === address

export function receiptsOf(answer: unknown, where: string): Receipt[] {
  return listOf(answer, where).map((one) => {
    const given = fieldsOf(one, where)
    const tx_id = hex(given.id, 64, `${where}.id`)
    const logs = listOf(given.log ?? [], tx_id).map((one) => {
      const log = fieldsOf(one, tx_id)
      // Twenty bytes, without the version byte of the network's addresses.
      const contract = addressFromHex(`41${hex(log.address, 40, tx_id)}`)
      const topics = listOf(log.topics ?? [], tx_id).map((topic) => hex(topic, 64, tx_id))
      const data = text(log.data ?? '', tx_id)
      return { contract, topics, data: hex(data, data.length, tx_id) }
    })
    const receipt = fieldsOf(given.receipt ?? {}, tx_id)
    const energy = BigInt(integer(receipt.energy_usage_total ?? 0, tx_id))
    const staked = BigInt(integer(receipt.energy_usage ?? 0, tx_id))
    const fee_sun = BigInt(integer(given.fee ?? 0, tx_id))
    const bandwidth = BigInt(integer(receipt.net_usage ?? 0, tx_id))
    const { transfers, unknown, shown } = internalsOf(given.internal_transactions ?? [], tx_id)
    return {
      tx_id,
      fee_sun,
      bandwidth,
      energy,
      staked,
      logs,
      internal: transfers,
      unknown_internal: unknown,
      internal_shown: shown,
    }
  })
}
