// Internal transactions: what contracts did while a transaction ran, as a node keeps it for the
// receipt. Two kinds look alike there. Those whose note is `call`, `create` or `suicide` move what
// they name. All others are operations on stakes: their `callValue` is a stake, and no TRX moves.
//
// Each has a hash of its own over its parent's hash, whom it is for, its data, its value and its
// place in the transaction. One that failed stays in the list, as rejected, and has moved nothing.

import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'

/** Internal transactions that a node keeps: none, those with value, or stakes, too. */
export const internalSettings = ['off', 'calls', 'all'] as const
export type InternalSetting = (typeof internalSettings)[number]

export const isInternalSetting = (name: string): name is InternalSetting =>
  internalSettings.includes(name as InternalSetting)

export type InternalTransaction = {
  /** 64 hexadecimal characters. */
  readonly hash: string
  /** Addresses of 42 hexadecimal characters. */
  readonly caller: string
  readonly to: string
  readonly sun: bigint
  /** Amounts of TRC10 tokens by their ids. */
  readonly assets: Readonly<Record<string, bigint>>
  readonly note: string
  readonly rejected: boolean
}

const movingNotes = ['call', 'create', 'suicide']

/** Whether it moves what it names; otherwise it is an operation on a stake. */
const movesValue = ({ note }: InternalTransaction): boolean => movingNotes.includes(note)

/** Those of a receipt that a node with this setting shows. */
export function shownInternal(
  list: readonly InternalTransaction[],
  setting: InternalSetting,
): readonly InternalTransaction[] {
  if (setting === 'off') return []
  return setting === 'all' ? list : list.filter(movesValue)
}

type MutableInternal = { -readonly [Name in keyof InternalTransaction]: InternalTransaction[Name] }
type NewInternal = Pick<InternalTransaction, 'caller' | 'to' | 'sun' | 'note'> & {
  readonly assets?: Readonly<Record<string, bigint>>
}

const int64Hex = (value: bigint | number) => BigInt(value).toString(16).padStart(16, '0')
const hashOf = (hex: string) => bytesToHex(keccak_256(hexToBytes(hex)))

/** The internal transactions of one transaction, in the order in which they began. */
export class InternalList {
  readonly list: MutableInternal[] = []
  private readonly transaction_id: string

  constructor(transaction_id: string) {
    this.transaction_id = transaction_id
  }

  /** Adds one under its parent: the transaction, or the internal one whose call this happens in. */
  add(parent_hash: string, { caller, to, sun, note, assets = {} }: NewInternal): MutableInternal {
    // One that makes a contract has no receiver yet.
    const receiver = note === 'create' ? '' : to
    const place = int64Hex(this.list.length + 1)
    const hash = hashOf(parent_hash + receiver + int64Hex(sun) + place)
    const kept = { hash, caller, to, sun, assets, note, rejected: false }
    this.list.push(kept)
    return kept
  }

  /** The address of the contract that the next one would make. */
  get next_address(): string {
    return `41${hashOf(this.transaction_id + int64Hex(this.list.length)).slice(24)}`
  }

  /** Rejects one, and all that began after it: they happened inside of it. */
  rejectFrom(index: number): void {
    for (const one of this.list.slice(index)) one.rejected = true
  }
}
