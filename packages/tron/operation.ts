// The operation of a transaction, read from the bytes that its id is the hash of: whom it acts for,
// and the TRX or asset that it sends to whom. A node can print anything beside them, so anyone who
// handles money reads the bytes.
//
// Unlike protobuf.ts this reads four messages only, and fast: anyone who follows the chain passes
// every transaction of the network through it. What it makes of odd bytes is what the network's own
// reader makes of them: the last of a doubled field counts, and unknown fields are passed over,
// groups too. So nobody can write a transaction that stops us and not the network.

import { bytesToHex } from '@noble/hashes/utils.js'
import { ContractType } from './contracts.ts'
import { MalformedMessage } from './protobuf.ts'

/** The operation of a transaction. Addresses are 42 hexadecimal characters, an asset's name the
 *  hexadecimal form of its bytes. */
export type Operation = {
  /** The contract type's number (`ContractType.values`). */
  type: number
  /** Who the transaction acts for. Undefined for types other than transfers of TRX and of assets,
   *  calls of contracts, and their creation. */
  owner: string | undefined
  /** The receiver, or the contract that is called. */
  to: string
  /** Sun, or units of the asset; of a call, the sun sent along. */
  amount: bigint
  asset: string
}

const { TransferContract, TransferAssetContract, CreateSmartContract, TriggerSmartContract } =
  ContractType.values

type Place = 'owner' | 'to' | 'amount' | 'asset'

/** Which field of each message is what. */
const PLACES: Readonly<Record<number, Readonly<Record<number, Place>>>> = {
  [TransferContract]: { 1: 'owner', 2: 'to', 3: 'amount' },
  [TransferAssetContract]: { 1: 'asset', 2: 'owner', 3: 'to', 4: 'amount' },
  [CreateSmartContract]: { 1: 'owner' },
  [TriggerSmartContract]: { 1: 'owner', 2: 'to', 3: 'amount' },
}

const RAW_CONTRACT = 11
const CONTRACT_TYPE = 1
const CONTRACT_PARAMETER = 2
const PARAMETER_VALUE = 2

/** Reads encoded raw data. Throws MalformedMessage when the bytes are not what the network would
 *  take. */
export function readOperation(raw_data: Uint8Array): Operation {
  const found: Operation = { type: 0, owner: undefined, to: '', amount: 0n, asset: '' }
  let message: Fields | undefined
  let contracts = 0
  for (const fields = new Fields(raw_data, 0, raw_data.length); fields.next(); ) {
    if (!fields.isBytes(RAW_CONTRACT)) continue
    contracts += 1
    const contract = fields.inner()
    while (contract.next()) {
      if (contract.isNumber(CONTRACT_TYPE))
        found.type = Number(BigInt.asIntN(32, BigInt(contract.value)))
      if (!contract.isBytes(CONTRACT_PARAMETER)) continue
      for (const any = contract.inner(); any.next(); )
        if (any.isBytes(PARAMETER_VALUE)) message = any.inner()
    }
  }
  if (contracts !== 1) throw new MalformedMessage(`a transaction has ${contracts} contracts`)
  const places = PLACES[found.type]
  if (!places || !message) return found
  while (message.next()) {
    const place = places[message.field]
    if (place === undefined) continue
    if (place !== 'amount') {
      if (message.isBytes(message.field)) found[place] = message.hex()
    } else if (message.isNumber(message.field))
      found.amount = BigInt.asIntN(64, BigInt(message.value))
  }
  return found
}

const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const GROUP = 3
const GROUP_END = 4
const FIXED32 = 5
const INT32_MAX = 0x7fffffff

const malformed = () => new MalformedMessage('a transaction is not a message of the protocol')

/** The fields of an encoded message, one after another. */
class Fields {
  /** The number of the field that was read last, and its value when that is a number. */
  field = 0
  value: number | bigint = 0
  private wire = 0
  private begin = 0
  private at: number
  private readonly end: number
  private readonly bytes: Uint8Array

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.bytes = bytes
    this.at = from
    this.end = to
  }

  isNumber(field: number): boolean {
    return this.field === field && this.wire === VARINT
  }

  isBytes(field: number): boolean {
    return this.field === field && this.wire === LENGTH_DELIMITED
  }

  inner(): Fields {
    return new Fields(this.bytes, this.begin, this.at)
  }

  hex(): string {
    return bytesToHex(this.bytes.subarray(this.begin, this.at))
  }

  /** Goes on to the next field. False when there is none. */
  next(): boolean {
    if (this.at >= this.end) return false
    this.readTag()
    if (this.wire === GROUP) this.passGroup()
    else this.passValue()
    return true
  }

  private readTag(): void {
    const tag = low32(this.varint())
    this.wire = tag & 7
    this.field = tag >>> 3
    if (this.field === 0) throw malformed()
  }

  private passValue(): void {
    if (this.wire === VARINT) this.value = this.varint()
    else if (this.wire === LENGTH_DELIMITED) {
      const length = low32(this.varint())
      this.begin = this.at
      if (length > INT32_MAX) throw malformed()
      this.at += length
    } else if (this.wire === FIXED64) this.at += 8
    else if (this.wire === FIXED32) this.at += 4
    else throw malformed()
    if (this.at > this.end) throw malformed()
  }

  private passGroup(): void {
    const open = [this.field]
    while (open.length > 0) {
      this.readTag()
      if (this.wire === GROUP) open.push(this.field)
      else if (this.wire !== GROUP_END) this.passValue()
      else if (open.pop() !== this.field) throw malformed()
    }
    this.wire = GROUP
  }

  /** A plain number up to seven bytes (49 bits), a bigint beyond. */
  private varint(): number | bigint {
    let low = 0
    let high = 0n
    for (let index = 0; index < 10; index++) {
      if (this.at >= this.end) throw malformed()
      const byte = this.bytes[this.at++]!
      if (index < 7) low += (byte & 0x7f) * 2 ** (7 * index)
      else high |= BigInt(byte & 0x7f) << BigInt(7 * index)
      if (byte < 0x80) return high === 0n ? low : BigInt.asUintN(64, high | BigInt(low))
    }
    throw malformed()
  }
}

/** The network's reader takes tags and lengths by their lower 32 bits. */
const low32 = (value: number | bigint): number =>
  typeof value === 'number' && value <= INT32_MAX
    ? value
    : Number(BigInt.asUintN(32, BigInt(value)))
