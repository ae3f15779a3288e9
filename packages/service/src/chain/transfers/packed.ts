// The transfers of a block, packed: a record is 13 words: asset, sender, receiver, amount, the
// lower byte and the lower word first.

/** A change of a token's list of frozen addresses. */
export type Freeze = { readonly token: string; readonly address: string; readonly frozen: boolean }

/** A transfer of an asset (0 to 254) between addresses of 20 bytes; 0 < amount < 2^64. */
export type LoggedTransfer = { asset: number; from: Uint8Array; to: Uint8Array; amount: bigint }

export type LoggedBlock = {
  number: number
  time_ms: number
  freezes: readonly Freeze[]
  /** The number of its first transfer in the whole log; the first of all is 1. */
  first_sequence: number
  transfers: Uint8Array
  /** The ids of their transactions, 32 bytes each: only swaps are told by them. */
  tx_ids?: Uint8Array
}

export const RECORD = 13
export const RECORD_BYTES = RECORD * 4
export const FROM = 1
export const TO = 6
export const AMOUNT = 11

export const countTransfers = (transfers: Uint8Array) => transfers.length / RECORD_BYTES

export function packTransfers(transfers: readonly LoggedTransfer[]): Uint8Array {
  const bytes = new Uint8Array(transfers.length * RECORD_BYTES)
  const view = new DataView(bytes.buffer)
  for (const [i, { asset, from, to, amount }] of transfers.entries()) {
    const at = i * RECORD_BYTES
    bytes[at] = asset
    bytes.set(from, at + FROM * 4)
    bytes.set(to, at + TO * 4)
    view.setBigUint64(at + AMOUNT * 4, amount, true)
  }
  return bytes
}

/** One transfer of a block. */
export function transferAt(bytes: Uint8Array, i: number): LoggedTransfer {
  const at = i * RECORD_BYTES
  return {
    asset: bytes[at]!,
    from: bytes.subarray(at + FROM * 4, at + TO * 4),
    to: bytes.subarray(at + TO * 4, at + AMOUNT * 4),
    amount: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(
      at + AMOUNT * 4,
      true,
    ),
  }
}

/** The bytes as words. Words of this machine are those of the log: every platform that runs this
 *  has the lower byte first. */
export function wordsOf(bytes: Uint8Array): Uint32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice()
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4)
}

/** The transfers of a block in the other order, each from its receiver to its sender. */
export function reverseTransfers(bytes: Uint8Array): { transfers: Uint8Array; count: number } {
  const words = wordsOf(bytes)
  const reversed = new Uint32Array(words.length)
  const count = words.length / RECORD
  for (let i = 0; i < count; i++) {
    const [at, to] = [i * RECORD, (count - 1 - i) * RECORD]
    reversed[to] = words[at]!
    for (let word = 0; word < 5; word++) {
      reversed[to + FROM + word] = words[at + TO + word]!
      reversed[to + TO + word] = words[at + FROM + word]!
    }
    reversed[to + AMOUNT] = words[at + AMOUNT]!
    reversed[to + AMOUNT + 1] = words[at + AMOUNT + 1]!
  }
  return { transfers: new Uint8Array(reversed.buffer), count }
}
