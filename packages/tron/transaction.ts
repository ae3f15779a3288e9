// A TRON transaction: raw data, its id, its signatures, and the bytes of all three.
//
// The JSON form is the node's: `raw_data.contract[0].parameter` is `{ type_url, value }` with the
// contract's own message as value. The id is the SHA-256 of the encoded raw data, so it is known
// before anything is sent, and anyone who changes a byte makes another transaction.

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { ContractResult, ContractType, contractSchemas } from './contracts.ts'
import { decode, encode, enumeration, MalformedMessage, type Message, message } from './protobuf.ts'

const Any = message({ type_url: [1, 'string'], value: [2, 'bytes'] })

const ContractMessage = message({
  type: [1, ContractType],
  parameter: [2, Any],
  provider: [3, 'bytes'],
  ContractName: [4, 'bytes'],
  Permission_id: [5, 'int32'],
})

const RawMessage = message({
  ref_block_bytes: [1, 'bytes'],
  ref_block_num: [3, 'int64'],
  ref_block_hash: [4, 'bytes'],
  expiration: [8, 'int64'],
  data: [10, 'bytes'],
  contract: [11, ContractMessage, 'repeated'],
  scripts: [12, 'bytes'],
  timestamp: [14, 'int64'],
  fee_limit: [18, 'int64'],
})

const ResultMessage = message({
  fee: [1, 'int64'],
  ret: [2, enumeration({ SUCESS: 0, FAILED: 1 })],
  contractRet: [3, ContractResult],
})

const TransactionMessage = message({
  raw_data: [1, 'bytes'],
  signature: [2, 'bytes', 'repeated'],
  ret: [5, ResultMessage, 'repeated'],
})

/** One operation. `parameter.value` is the message of the type, in the node's JSON form
 *  (hexadecimal addresses, amounts in sun). */
export type Contract = {
  type: string
  parameter: { type_url: string; value: Message }
  /** 0 or absent: the owner permission; 2 and up: an active permission. */
  Permission_id?: number
  provider?: string
  ContractName?: string
}

/** The part of a transaction that is signed. `ref_block_bytes` and `ref_block_hash` name a recent
 *  block (bytes 6 to 8 of its number, bytes 8 to 16 of its id) and so tie it to one branch of the
 *  chain; `expiration` and `timestamp` are milliseconds since 1970; `fee_limit` is in sun; `data`
 *  and `scripts` are hexadecimal. */
export type RawData = {
  ref_block_bytes: string
  ref_block_num?: number | bigint
  ref_block_hash: string
  expiration: number | bigint
  data?: string
  contract: Contract[]
  scripts?: string
  timestamp?: number | bigint
  fee_limit?: number | bigint
}

/** A contract of the given type, its message in the node's JSON form. `permission_id` 0 is the
 *  owner permission, 2 and up are active ones. */
export function contract(type: string, value: Message, permission_id = 0): Contract {
  const parameter = { type_url: `type.googleapis.com/protocol.${type}`, value }
  return permission_id === 0
    ? { type, parameter }
    : { type, parameter, Permission_id: permission_id }
}

/** The bytes of the raw data. Throws MalformedMessage for a field of the wrong kind or a contract
 *  type not known here. */
export function encodeRawData(raw_data: RawData): Uint8Array {
  const contracts = raw_data.contract.map((given) => ({
    ...given,
    parameter: {
      type_url: given.parameter.type_url,
      value: bytesToHex(encode(schemaOf(given.type), given.parameter.value)),
    },
  }))
  return encode(RawMessage, { ...raw_data, contract: contracts })
}

/** The inverse of encodeRawData(): integers of 64 bits come back as bigint, and fields with their
 *  default value are absent. Throws MalformedMessage for bytes that are not raw data. */
export function decodeRawData(bytes: Uint8Array): RawData {
  const raw = decode(RawMessage, bytes)
  const contracts = ((raw.contract ?? []) as Message[]).map((given) => {
    const type = String(given.type ?? ContractType.names.get(0))
    const parameter = (given.parameter ?? {}) as { type_url?: string; value?: string }
    const type_url = parameter.type_url ?? ''
    if (type_url.slice(type_url.lastIndexOf('.') + 1) !== type) {
      throw new MalformedMessage(`a ${type} carries a message of type ${JSON.stringify(type_url)}`)
    }
    return {
      ...given,
      type,
      parameter: { type_url, value: decode(schemaOf(type), hexToBytes(parameter.value ?? '')) },
    }
  })
  return { ...raw, contract: contracts } as RawData
}

function schemaOf(type: string) {
  const schema = Object.hasOwn(contractSchemas, type) ? contractSchemas[type] : undefined
  if (!schema) throw new MalformedMessage(`no contract type ${JSON.stringify(type)} is known here`)
  return schema
}

/** The transaction id: SHA-256 of the encoded raw data, 64 lower-case hexadecimal characters. */
export function transactionId(raw_data: Uint8Array): string {
  return bytesToHex(sha256(raw_data))
}

/** The bytes of a whole signed transaction, as `/wallet/broadcasthex` takes them. `ret` is what a
 *  block adds: fee and outcome. Throws MalformedMessage for signatures that are not hexadecimal. */
export function encodeTransaction(
  raw_data: Uint8Array,
  signatures: readonly string[],
  ret: Message[] = [],
): Uint8Array {
  return encode(TransactionMessage, { raw_data: bytesToHex(raw_data), signature: signatures, ret })
}

/** The inverse of encodeTransaction(). Throws MalformedMessage. */
export function decodeTransaction(bytes: Uint8Array): {
  raw_data: Uint8Array
  signatures: string[]
  ret: Message[]
} {
  const { raw_data = '', signature = [], ret = [] } = decode(TransactionMessage, bytes)
  return {
    raw_data: hexToBytes(raw_data as string),
    signatures: signature as string[],
    ret: ret as Message[],
  }
}
