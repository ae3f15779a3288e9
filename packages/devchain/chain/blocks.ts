// Blocks: headers that form a hash chain as the real ones do. A block's id is its number in eight
// bytes and the last 24 bytes of the hash of its header; the header names its parent's id and the
// root over its transactions.

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey, sign } from 'penstock-tron/keys.ts'
import { encode, message } from 'penstock-tron/protobuf.ts'
import { encodeTransaction } from 'penstock-tron/transaction.ts'
import { WITNESS_COUNT } from '../state/parameters.ts'
import type { Undo } from '../state/state.ts'
import type { Decree } from './decrees.ts'
import type { Outcome } from './execution.ts'
import type { SignedTransaction } from './transactions.ts'

const BLOCK_VERSION = 34

const HeaderMessage = message({
  timestamp: [1, 'int64'],
  txTrieRoot: [2, 'bytes'],
  parentHash: [3, 'bytes'],
  number: [7, 'int64'],
  witness_address: [9, 'address'],
  version: [10, 'int32'],
})

/** A block producer of the development chain. */
export type Witness = {
  readonly name: string
  readonly address: string
  readonly private_key: PrivateKey
}

/** A transaction's change of an account's balance, in sun. */
export type BalanceChange = { readonly address: string; readonly sun: bigint }

/** A transaction in a block. */
export type IncludedTransaction = {
  readonly transaction: SignedTransaction
  readonly outcome: Outcome
  readonly changes: readonly BalanceChange[]
}

export type Header = {
  readonly number: number
  readonly timestamp: number
  readonly txTrieRoot: string
  readonly parentHash: string
  readonly witness_address: string
  readonly version: number
}

export type Block = {
  /** 64 hexadecimal characters. */
  readonly id: string
  readonly header: Header
  readonly transactions: readonly IncludedTransaction[]
  readonly decrees: readonly Decree[]
  /** The state that taking the block back restores; dropped once the block is solid. */
  undo: Undo | undefined
}

/** The 27 witnesses of a chain. Their keys follow from its seed, so that the same seed makes the
 *  same blocks. */
export function witnessesOf(seed: string): readonly Witness[] {
  const known = witnesses.get(seed) ?? makeWitnesses(seed)
  witnesses.set(seed, known)
  return known
}

/** Making their keys takes longer than the rest of a chain's beginning, and most chains have the
 *  same. */
const witnesses = new Map<string, readonly Witness[]>()

function makeWitnesses(seed: string): Witness[] {
  return Array.from({ length: WITNESS_COUNT }, (_, index) => {
    const private_key = bytesToHex(sha256(utf8ToBytes(`${seed} witness ${index}`)))
    return {
      name: `witness ${index + 1}`,
      address: addressToHex(addressOf(private_key)),
      private_key,
    }
  })
}

const headerBytes = (header: Header) => encode(HeaderMessage, { ...header })

/** The parent of the first block: nothing but a hash of the seed, so that chains of other seeds
 *  share no block. */
export const genesisParent = (seed: string): string =>
  bytesToHex(sha256(utf8ToBytes(`${seed} genesis`)))

export function makeBlock(
  given: Omit<Header, 'txTrieRoot' | 'version'>,
  content: Pick<Block, 'transactions' | 'decrees' | 'undo'>,
): Block {
  const header = { ...given, txTrieRoot: merkleRoot(content.transactions), version: BLOCK_VERSION }
  const number = header.number.toString(16).padStart(16, '0')
  return { id: number + bytesToHex(sha256(headerBytes(header))).slice(16), header, ...content }
}

const signatures = new WeakMap<Block, string>()

/** The signature of the block's producer. Made when first asked for: nothing in the chain depends
 *  on it. */
export function witnessSignature(block: Block, witnesses: readonly Witness[]): string {
  const known = signatures.get(block)
  if (known !== undefined) return known
  const { header } = block
  const witness = witnesses.find(({ address }) => address === header.witness_address)!
  const signature = sign(bytesToHex(sha256(headerBytes(header))), witness.private_key)
  signatures.set(block, signature)
  return signature
}

/** The block is printed without a signature: for who reads thousands of blocks and verifies
 *  none. */
export function leaveUnsigned(block: Block): void {
  signatures.set(block, '')
}

/** The root of the tree over the transactions' hashes; a leaf without a neighbour moves up as it
 *  is. */
function merkleRoot(transactions: readonly IncludedTransaction[]): string {
  if (transactions.length === 0) return '00'.repeat(32)
  let hashes: Uint8Array[] = transactions.map(({ transaction, outcome }) =>
    sha256(
      encodeTransaction(transaction.raw_bytes, transaction.signatures, [
        { contractRet: outcome.contract_ret },
      ]),
    ),
  )
  while (hashes.length > 1) {
    const next: Uint8Array[] = []
    for (let index = 0; index < hashes.length; index += 2) {
      const [left, right] = [hashes[index]!, hashes[index + 1]]
      next.push(right ? sha256(concatBytes(left, right)) : left)
    }
    hashes = next
  }
  return bytesToHex(hashes[0]!)
}

/** The reference to a block that a transaction carries. */
export function referenceTo(block: Block): { ref_block_bytes: string; ref_block_hash: string } {
  return { ref_block_bytes: block.id.slice(12, 16), ref_block_hash: block.id.slice(16, 32) }
}
