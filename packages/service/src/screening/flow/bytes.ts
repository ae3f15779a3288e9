// Numbers as bytes, for what is stored: whole numbers in groups of seven bits, the lowest first, so
// that small ones take one byte. Reading checks that the bytes do not end too early.

import { writeAddress } from './memory.ts'

/** Writes into a buffer of the given size; writing past its end loses bytes. */
export class Output {
  length = 0
  private readonly buffer: Uint8Array
  private readonly view: DataView
  constructor(bytes: number) {
    this.buffer = new Uint8Array(bytes)
    this.view = new DataView(this.buffer.buffer)
  }
  byte(value: number): void {
    this.buffer[this.length++] = value
  }
  setByte(at: number, value: number): void {
    this.buffer[at] = value
  }
  bytes(bytes: Uint8Array): void {
    this.buffer.set(bytes, this.length)
    this.length += bytes.length
  }
  address(slots: Uint32Array, slot: number): void {
    writeAddress(slots, slot, this.buffer, this.length)
    this.length += 20
  }
  number(value: number): void {
    for (; value > 127; value = Math.floor(value / 128)) this.byte((value % 128) | 128)
    this.byte(value)
  }
  /** Any whole number below 2^64. */
  big(value: bigint): void {
    for (; value > 127n; value >>= 7n) this.byte(Number(value & 127n) | 128)
    this.byte(Number(value))
  }
  /** A whole number below 2^32, in four bytes. */
  word(value: number): void {
    this.view.setUint32(this.length, value, true)
    this.length += 4
  }
  float(value: number): void {
    this.view.setFloat32(this.length, value, true)
    this.length += 4
  }
  double(value: number): void {
    this.view.setFloat64(this.length, value, true)
    this.length += 8
  }
  written(): Uint8Array {
    return this.buffer.subarray(0, this.length)
  }
}

export class Input {
  private at = 0
  private readonly buffer: Uint8Array
  private readonly view: DataView
  constructor(buffer: Uint8Array) {
    this.buffer = buffer
    this.view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  }
  atEnd(): boolean {
    return this.at >= this.buffer.length
  }
  byte(): number {
    const value = this.buffer[this.at++]
    if (value === undefined) throw new Error('the bytes end in the middle')
    return value
  }
  bytes(length: number): Uint8Array {
    const end = this.at + length
    if (end > this.buffer.length) throw new Error('the bytes end in the middle')
    const bytes = this.buffer.subarray(this.at, end)
    this.at = end
    return bytes
  }
  number(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte()
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }
  big(): bigint {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  word(): number {
    const value = this.view.getUint32(this.at, true)
    this.at += 4
    return value
  }
  float(): number {
    const value = this.view.getFloat32(this.at, true)
    this.at += 4
    return value
  }
  double(): number {
    const value = this.view.getFloat64(this.at, true)
    this.at += 8
    return value
  }
}
