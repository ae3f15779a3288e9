// The node's JSON of messages, transactions and addresses. `visible` false: addresses and bytes are
// hexadecimal. True: addresses are text, and so are the few fields of bytes that hold text (the
// memo is not one of them).

import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { addressToHex, isAddress } from 'penstock-tron/address.ts'
import { contractSchemas } from 'penstock-tron/contracts.ts'
import { type Field, MalformedMessage, type Message, type Schema } from 'penstock-tron/protobuf.ts'
import { type Contract, encodeRawData, type RawData } from 'penstock-tron/transaction.ts'
import type { IncludedTransaction } from '../chain/blocks.ts'
import { feeOf, type Outcome } from '../chain/execution.ts'
import { type SignedTransaction, signedTransaction } from '../chain/transactions.ts'
import { addressText } from '../state/accounts.ts'
import type { CallEffects } from '../state/execution_context.ts'
import { type InternalSetting, shownInternal } from '../state/internal.ts'
import { type Json, type JsonObject, withoutDefaults } from '../state/json.ts'

/** An exception of the node that its HTTP interface reports by its Java class. */
export class NodeException extends Error {
  override name = 'NodeException'
  readonly java_class: string

  constructor(java_class: string, message: string) {
    super(message)
    this.java_class = java_class
  }
}

/** Text that does not have the form of the field it was given for. */
export function parseException(message: string): NodeException {
  return new NodeException('org.tron.core.services.http.JsonFormat$ParseException', message)
}

export const printAddress = (hex: string, visible: boolean): string =>
  visible && hex.length === 42 ? addressText(hex) : hex

/** An address of a request as 42 hexadecimal characters. Throws a NodeException for anything else
 *  than text of the expected kind; hexadecimal text of another length passes, since the node lets
 *  it pass too. */
export function readAddress(text: string, visible: boolean): string {
  if (visible) {
    if (text === '') return ''
    if (!isAddress(text)) throw parseException('1:1: INVALID base58 String')
    return addressToHex(text)
  }
  return readHex(text)
}

/** Bytes that hold text. */
export function printText(hex: string, visible: boolean): string {
  return visible ? new TextDecoder().decode(hexToBytes(hex)) : hex
}

export const readText = (text: string): string => bytesToHex(utf8ToBytes(text))

/** Bytes in hexadecimal; as in the node, 0x may stand in front and an odd digit has a 0 before
 *  it. */
export function readHex(text: string): string {
  if (!/^(0x)?[0-9a-fA-F]*$/.test(text)) throw parseException('1:1: INVALID hex String')
  const digits = (text.startsWith('0x') ? text.slice(2) : text).toLowerCase()
  return digits.length % 2 === 0 ? digits : `0${digits}`
}

/** The id of a transaction or block that a request names; text that is none names nothing. */
export const readId = (text: string): string =>
  (text.startsWith('0x') ? text.slice(2) : text).toLowerCase()

const isObject = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isSchema = (type: Field['type']): type is Schema =>
  typeof type === 'object' && 'fields' in type

/** A message with its addresses and text made visible; the codec's own form is the one that is not
 *  visible. */
export function printMessage(schema: Schema, value: Message, visible: boolean): JsonObject {
  return visible ? mapMessage(schema, value, printScalar) : (value as JsonObject)
}

function printScalar(type: Field['type'], value: unknown): Json {
  if (type === 'address') return printAddress(value as string, true)
  if (type === 'text_bytes') return printText(value as string, true)
  return value as Json
}

/** A message of a request in the codec's form. Fields that it does not have are left out. */
export function readMessage(schema: Schema, value: unknown, visible: boolean): Message {
  if (!isObject(value)) throw parseException('1:1: Expected "{".')
  return mapMessage(schema, value, visible ? readVisible : readScalar)
}

function readVisible(type: Field['type'], value: unknown): Json {
  if (type === 'address' && typeof value === 'string') return readAddress(value, true)
  if (type === 'text_bytes' && typeof value === 'string') return readText(value)
  return readScalar(type, value)
}

/** The node takes names of enums in lower case too, as compilers write them into an ABI. */
function readScalar(type: Field['type'], value: unknown): Json {
  if (typeof type === 'object' && typeof value === 'object')
    throw parseException('1:1: Enum type expected.')
  const lower = typeof type === 'object' && typeof value === 'string' && /^[a-z]+$/.test(value)
  return (lower ? value[0]!.toUpperCase() + value.slice(1) : value) as Json
}

function mapMessage(
  schema: Schema,
  value: Message,
  mapScalar: (type: Field['type'], value: unknown) => Json,
): { [name: string]: Json } {
  const result: { [name: string]: Json } = {}
  for (const { name, type } of schema.fields) {
    const given = value[name]
    if (given === undefined || given === null) continue
    const one = (item: unknown): Json =>
      isSchema(type) && isObject(item) ? mapMessage(type, item, mapScalar) : mapScalar(type, item)
    result[name] = Array.isArray(given) ? given.map(one) : one(given)
  }
  return result
}

/** Runs a piece of reading; what the codec refuses becomes the node's exception. */
export function reading<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedMessage) throw parseException(`1:1: ${error.message}`)
    throw error
  }
}

/** The raw data of a transaction as the node prints it. */
function printRawData(raw_data: RawData, visible: boolean): JsonObject {
  const contract = raw_data.contract.map(({ type, parameter, ...rest }) => ({
    parameter: {
      value: printMessage(contractSchemas[type]!, parameter.value, visible),
      type_url: parameter.type_url,
    },
    type,
    ...rest,
  }))
  return { ...raw_data, contract }
}

/** A transaction as the node prints it; `outcome` is what its block made of it. */
export function printTransaction(
  transaction: SignedTransaction,
  visible: boolean,
  outcome?: Outcome,
): JsonObject {
  return {
    ...(outcome ? { ret: [{ contractRet: outcome.contract_ret }] } : {}),
    ...(transaction.signatures.length > 0 ? { signature: transaction.signatures } : {}),
    txID: transaction.id,
    raw_data: printRawData(transaction.raw_data, visible),
    raw_data_hex: bytesToHex(transaction.raw_bytes),
  }
}

/** A transaction that a request carries. It is rebuilt from `raw_data`: the posted id and bytes are
 *  not looked at, as the node does not. Undefined when it has no contract of a known type. */
export function readTransaction(json: unknown, visible: boolean): SignedTransaction | undefined {
  const { raw_data, signature = [] } = (json ?? {}) as { raw_data?: unknown; signature?: unknown }
  if (typeof raw_data !== 'object' || raw_data === null) return undefined
  const { contract } = raw_data as { contract?: unknown }
  if (!Array.isArray(contract)) return undefined
  const known = contract.filter(
    (given) => typeof given?.type === 'string' && Object.hasOwn(contractSchemas, given.type),
  )
  if (known.length === 0) return undefined
  if (!Array.isArray(signature) || !signature.every((one) => typeof one === 'string')) {
    throw parseException('1:1: signature is not a list of text')
  }
  const signatures = signature.map(readHex)
  return reading(() =>
    signedTransaction(
      encodeRawData({
        ...raw_data,
        contract: known.map((given) => readContract(given, visible)),
      } as RawData),
      signatures,
    ),
  )
}

function readContract(given: Contract, visible: boolean): Contract {
  const { type, parameter } = given
  const value = readMessage(contractSchemas[type]!, parameter?.value, visible)
  return { ...given, parameter: { type_url: `type.googleapis.com/protocol.${type}`, value } }
}

/** The receipt of a transaction (`gettransactioninfobyid`). */
export function printReceipt(
  { transaction, outcome }: IncludedTransaction,
  block: { number: number; time_ms: number },
  visible: boolean,
  internal: InternalSetting,
): JsonObject {
  const { net_usage, net_fee_sun, withdrawn_sun, reward_sun, asset_id, cancelled, call } = outcome
  return {
    id: transaction.id,
    ...withoutDefaults({ fee: feeOf(outcome) }),
    blockNumber: block.number,
    blockTimeStamp: block.time_ms,
    contractResult: [call?.output ?? ''],
    ...(call ? { contract_address: printAddress(call.contract_address, visible) } : {}),
    receipt: {
      ...withoutDefaults({ net_usage, net_fee: net_fee_sun }),
      ...(call ? printEnergyBill(call) : {}),
    },
    ...(call ? printCall(call, visible) : {}),
    ...withoutDefaults({
      assetIssueID: asset_id,
      withdraw_amount: reward_sun,
      withdraw_expire_amount: withdrawn_sun,
    }),
    ...(cancelled
      ? {
          cancel_unfreezeV2_amount: Object.entries(cancelled).map(([key, value]) => ({
            key,
            value,
          })),
        }
      : {}),
    ...withoutDefaults({ internal_transactions: call && printInternal(call, visible, internal) }),
  }
}

/** Only calls of contracts have a `result` in their receipt. */
function printEnergyBill({ energy, contract_ret }: CallEffects): JsonObject {
  return {
    ...withoutDefaults({
      energy_usage: energy.usage,
      energy_fee: energy.fee_sun,
      energy_usage_total: energy.total,
      energy_penalty_total: energy.penalty,
    }),
    result: contract_ret,
  }
}

export function printInternal(
  call: Pick<CallEffects, 'internal'>,
  visible: boolean,
  setting: InternalSetting,
): JsonObject[] {
  const shown = shownInternal(call.internal, setting)
  return shown.map(({ hash, caller, to, sun, assets, note, rejected }) => ({
    hash,
    caller_address: printAddress(caller, visible),
    transferTo_address: printAddress(to, visible),
    // The first is TRX, also when there are none.
    callValueInfo: [
      withoutDefaults({ callValue: sun }),
      ...Object.entries(assets).map(([tokenId, callValue]) => ({ callValue, tokenId })),
    ],
    note: readText(note),
    ...withoutDefaults({ rejected }),
  }))
}

function printCall({ logs, contract_ret, failure }: CallEffects, visible: boolean): JsonObject {
  const printed = logs.map(({ address, topics, data }) => ({
    address: visible ? addressText(`41${address}`) : address,
    ...withoutDefaults({ topics, data }),
  }))
  return {
    ...withoutDefaults({ log: printed }),
    ...(contract_ret === 'SUCCESS'
      ? {}
      : { result: 'FAILED', resMessage: bytesToHex(utf8ToBytes(failure)) }),
  }
}
