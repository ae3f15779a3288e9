// Protocol buffers for the messages of a TRON transaction, driven by a table of fields.
//
// A message in memory has the shape of the node's JSON with `visible: false`: bytes and addresses
// are lower-case hexadecimal text, enums are their names, 64-bit integers are bigint. As proto3
// demands, a field that has its default value is not written, and a decoded message does not have
// it. The golden vectors in fixtures/ prove the result byte for byte.

import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'

/** `address` and `text_bytes` are `bytes` on the wire; the names say how a node prints them with
 *  `visible: true`. */
export type Scalar = 'int32' | 'int64' | 'bool' | 'string' | 'bytes' | 'address' | 'text_bytes'
/** An enum of the protocol: its numbers by name, and its names by number. */
export type Enum<Name extends string = string> = {
  readonly values: Readonly<Record<string, number>> & Readonly<Record<Name, number>>
  readonly names: ReadonlyMap<number, string>
}
/** A field of a message: its name in JSON, and its number on the wire. */
export type Field = {
  readonly name: string
  readonly number: number
  readonly type: Scalar | Enum | Schema
  readonly repeated: boolean
  /** Written and kept even with its default: what every protobuf library does with keys and values
   *  of maps. */
  readonly kept: boolean
}
/** The fields of a message, in ascending order of their numbers. */
export type Schema = {
  readonly fields: readonly Field[]
  readonly by_number: ReadonlyMap<number, Field>
}
/** A message in memory; its schema says what each field holds. */
export type Message = { [name: string]: unknown }

/** A value that a schema cannot encode, or bytes that it cannot decode. */
export class MalformedMessage extends Error {
  override name = 'MalformedMessage'
}

type FieldSpec = readonly [number: number, type: Scalar | Enum | Schema, how?: 'repeated' | 'kept']

/** The schema of a message whose fields are `name: [number, type, 'repeated' | 'kept']`. */
export function message(spec: Record<string, FieldSpec>): Schema {
  const fields = Object.entries(spec)
    .map(([name, [number, type, how]]) => ({
      name,
      number,
      type,
      repeated: how === 'repeated',
      kept: how === 'kept',
    }))
    .sort((a, b) => a.number - b.number)
  return { fields, by_number: new Map(fields.map((field) => [field.number, field])) }
}

/** An enum of the given names and numbers. */
export function enumeration<Name extends string>(values: Record<Name, number>): Enum<Name> {
  const pairs = Object.entries<number>(values)
  return { values, names: new Map(pairs.map(([name, number]) => [number, name])) }
}

const isSchema = (type: Field['type']): type is Schema =>
  typeof type === 'object' && 'fields' in type
const isEnum = (type: Field['type']): type is Enum => typeof type === 'object' && 'values' in type

const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const FIXED32 = 5

/** Serializes a message: fields in ascending order of their numbers, defaults left out. Enums may
 *  be given as numbers, and integers as `number` where they are whole. Throws MalformedMessage when
 *  a field does not hold what the schema says; fields that it does not name are left out. */
export function encode(schema: Schema, value: Message): Uint8Array {
  const out: number[] = []
  encodeInto(out, schema, value)
  return Uint8Array.from(out)
}

function encodeInto(out: number[], schema: Schema, value: Message): void {
  for (const field of schema.fields) {
    const given = value[field.name]
    if (given === undefined || given === null) continue
    if (!field.repeated) encodeField(out, field, given, field.kept)
    else {
      if (!Array.isArray(given)) throw new MalformedMessage(`${field.name} is not a list`)
      for (const item of given) encodeField(out, field, item, true)
    }
  }
}

function encodeField(out: number[], field: Field, value: unknown, keepDefault: boolean): void {
  const { name, number, type } = field
  if (isSchema(type)) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new MalformedMessage(`${name} is not an object`)
    }
    const inner: number[] = []
    encodeInto(inner, type, value as Message)
    writeBytes(out, number, inner)
  } else if (isEnum(type)) {
    const code = typeof value === 'number' ? value : type.values[String(value)]
    if (code === undefined || !Number.isInteger(code))
      throw new MalformedMessage(`${name} is not one of its names`)
    if (code !== 0 || keepDefault) writeVarintField(out, number, code)
  } else if (type === 'int64' || type === 'int32') {
    const integer = toInteger(name, value, type === 'int64' ? 63n : 31n)
    if (integer !== 0n || keepDefault) writeVarintField(out, number, integer)
  } else if (type === 'bool') {
    if (typeof value !== 'boolean') throw new MalformedMessage(`${name} is not true or false`)
    if (value || keepDefault) writeVarintField(out, number, value ? 1 : 0)
  } else {
    if (typeof value !== 'string') throw new MalformedMessage(`${name} is not text`)
    const bytes = type === 'string' ? new TextEncoder().encode(value) : fromHex(name, value)
    if (bytes.length > 0 || keepDefault) writeBytes(out, number, bytes)
  }
}

function toInteger(name: string, value: unknown, bits: bigint): bigint {
  const integer =
    typeof value === 'bigint'
      ? value
      : typeof value === 'number' && Number.isInteger(value)
        ? BigInt(value)
        : undefined
  if (integer === undefined) throw new MalformedMessage(`${name} is not an integer`)
  if (integer >= 1n << bits || integer < -(1n << bits))
    throw new MalformedMessage(`${name} is out of range`)
  return integer
}

function fromHex(name: string, text: string): Uint8Array {
  try {
    return hexToBytes(text)
  } catch {
    throw new MalformedMessage(`${name} is not hexadecimal`)
  }
}

function writeVarintField(out: number[], number: number, value: bigint | number): void {
  writeVarint(out, (number << 3) | VARINT)
  writeVarint(out, value)
}

function writeBytes(out: number[], number: number, bytes: ArrayLike<number>): void {
  writeVarint(out, (number << 3) | LENGTH_DELIMITED)
  writeVarint(out, bytes.length)
  for (let i = 0; i < bytes.length; i++) out.push(bytes[i]!)
}

function writeVarint(out: number[], value: bigint | number): void {
  let small: number
  if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) small = Number(value)
  else {
    // Negative numbers take ten bytes: proto3 writes them as their 64-bit two's complement.
    let rest = BigInt.asUintN(64, BigInt(value))
    while (rest > BigInt(Number.MAX_SAFE_INTEGER)) {
      out.push(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    small = Number(rest)
  }
  while (small > 0x7f) {
    out.push((small % 0x80) | 0x80)
    small = Math.floor(small / 0x80)
  }
  out.push(small)
}

/** The deepest nesting that decode() follows; no message of the protocol needs a third of it. */
const DEPTH_MAX = 16

/** Reads a message. Fields that the schema does not name are passed over, as every protobuf reader
 *  does. Throws MalformedMessage for bytes that are not a message of the schema. */
export function decode(schema: Schema, bytes: Uint8Array): Message {
  return decodeNested(schema, bytes, 0)
}

function decodeNested(schema: Schema, bytes: Uint8Array, depth: number): Message {
  if (depth > DEPTH_MAX) throw new MalformedMessage('nested too deeply')
  const value: Message = {}
  let at = 0

  /** A plain number up to seven bytes (49 bits), a bigint beyond: nearly every number of the
   *  protocol is small. */
  function varint(): bigint | number {
    let low = 0
    let high = 0n
    for (let index = 0; index < 10; index++) {
      const byte = bytes[at++]
      if (byte === undefined) throw new MalformedMessage('ends inside a number')
      if (index < 7) low += (byte & 0x7f) * 2 ** (7 * index)
      else high |= BigInt(byte & 0x7f) << BigInt(7 * index)
      if (byte < 0x80) return high === 0n ? low : BigInt.asUintN(64, high | BigInt(low))
    }
    throw new MalformedMessage('has a number of more than ten bytes')
  }
  function slice(length: number): Uint8Array {
    if (length > bytes.length - at) throw new MalformedMessage('ends inside a field')
    at += length
    return bytes.subarray(at - length, at)
  }

  while (at < bytes.length) {
    const tag = Number(varint())
    const wire = tag & 7
    const raw =
      wire === VARINT
        ? varint()
        : wire === LENGTH_DELIMITED
          ? slice(Number(varint()))
          : wire === FIXED64
            ? slice(8)
            : wire === FIXED32
              ? slice(4)
              : undefined
    if (raw === undefined) throw new MalformedMessage(`has a field of unknown wire type ${wire}`)
    const field = schema.by_number.get(Math.floor(tag / 8))
    if (!field) continue
    const item = decodeField(field, wire, raw, depth)
    if (field.repeated) {
      const list = (value[field.name] as unknown[] | undefined) ?? []
      list.push(item)
      value[field.name] = list
    } else if (!field.kept && isDefault(field.type, item)) delete value[field.name]
    else value[field.name] = item
  }
  return value
}

function decodeField(
  field: Field,
  wire: number,
  raw: bigint | number | Uint8Array,
  depth: number,
): unknown {
  const { name, type } = field
  const isNumber = isEnum(type) || type === 'int64' || type === 'int32' || type === 'bool'
  if (wire !== (isNumber ? VARINT : LENGTH_DELIMITED))
    throw new MalformedMessage(`${name} has the wrong wire type`)
  if (!(raw instanceof Uint8Array)) {
    if (type === 'bool') return raw > 0
    if (type === 'int64') return BigInt.asIntN(64, BigInt(raw))
    const code = Number(BigInt.asIntN(32, BigInt(raw)))
    return isEnum(type) ? (type.names.get(code) ?? code) : code
  }
  if (isSchema(type)) return decodeNested(type, raw, depth + 1)
  if (type !== 'string') return bytesToHex(raw)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(raw)
  } catch {
    throw new MalformedMessage(`${name} is not UTF-8`)
  }
}

function isDefault(type: Field['type'], value: unknown): boolean {
  if (isSchema(type)) return false
  if (isEnum(type)) return value === (type.names.get(0) ?? 0)
  return value === 0n || value === 0 || value === false || value === ''
}
