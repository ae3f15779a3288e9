// The archive of the log: the transfers of older blocks, in a database that is made for billions of
// them, and that finds those of an address. What is asked of it; clickhouse_archive.ts answers.

import { createHash } from 'node:crypto'
import type { Address } from 'penstock-tron/address.ts'
import { Outage } from '../../lib/fault.ts'

/** The transfers of a block, packed, and the ids of their transactions. */
export type BlockContents = { number: number; transfers: Uint8Array; tx_ids: Uint8Array }

/** Whom an address has dealt with in an asset, how much went each way, how often, and in which
 *  blocks first and last. */
export type Counterparty = {
  other: Address
  asset: number
  received: bigint
  sent: bigint
  transfers: bigint
  first_number: bigint
  last_number: bigint
}

/** A page of those whom an address has dealt with, in the order of their bytes. */
export type CounterpartyPage = {
  after: { other: Address; asset: number } | undefined
  limit: number
}

export type TransferArchive = {
  /** Makes its tables where there are none, and makes them those of the log with that id. Throws
   *  Refused when they are those of another log. */
  prepare(log_id: string): Promise<void>
  /** Throws Outage unless they are those of the log with that id. */
  verify(log_id: string): Promise<void>
  /** Puts blocks; the same again changes nothing. */
  put(blocks: readonly BlockContents[]): Promise<void>
  /** Those of the blocks that it has, by their numbers. */
  contents(numbers: readonly number[]): Promise<Map<number, BlockContents>>
  /** Whether it finds some transfers of a block by their addresses. */
  hasSomeLegs(block: BlockContents): Promise<boolean>
  /** In the blocks from one to another. */
  counterparties(
    address: Address,
    range: { first: number; last: number },
    page: CounterpartyPage,
  ): Promise<Counterparty[]>
}

/** Throws Outage: what lies there cannot be had without it. */
export function requireArchive(archive: TransferArchive | undefined): TransferArchive {
  if (archive) return archive
  throw new Outage('Transfers lie in ClickHouse, and PENSTOCK_CLICKHOUSE_URL does not say where.')
}

/** Whether a block is there, and is that of the hash. */
export const isWhole = (
  block: BlockContents | undefined,
  contents_sha256: Buffer,
): block is BlockContents => !!block && contentsSha256(block).equals(contents_sha256)

export const contentsSha256 = ({ transfers, tx_ids }: Omit<BlockContents, 'number'>): Buffer =>
  createHash('sha256').update(transfers).update(tx_ids).digest()
