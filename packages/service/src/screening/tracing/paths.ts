// The way that money came: from a transfer back to the one that had brought its sender most of that
// category, and so on, until where it began. Read from the log and from what each transfer carried,
// both of which never change; every step back is earlier than the one before.

import type { Address } from 'penstock-tron/address.ts'
import { addressOfBare } from '../../chain/transfers/bare_addresses.ts'
import { countTransfers, transferAt } from '../../chain/transfers/packed.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import type { TransferArchive } from '../../chain/transfers/transfer_archive.ts'
import type { CarriedRange, RecordedBlock } from '../../chain/transfers/transfer_log.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { type CarriedPart, readCarried } from '../flow/log.ts'

/** A transfer of the log, in words. */
export type Transfer = {
  sequence: number
  tx_id: string
  block_number: number
  block_time_ms: number
  asset: number
  from: Address
  to: Address
  amount: bigint
  /** What it carried by category; undefined when that is not kept any more. */
  carried: CarriedPart[] | undefined
}

/** One step back: a transfer, and how much of the category it carried. */
export type PathStep = { transfer: Transfer; carried: bigint | undefined }

/** Reads transfers of the log with what they carried. */
export type TransferReader = {
  /** The transfers of one transaction, in order. */
  ofTransaction(block_number: number, tx_id: string): Promise<Transfer[]>
  /** The transfers of the given transactions of several blocks, by transaction. */
  ofTransactions(
    sql: Sql | Tx,
    wanted: readonly { block_number: number; tx_id: string }[],
  ): Promise<Map<string, Transfer[]>>
  /** Transfers by their numbers. Those read before are kept, for many ways back lead over the same
   *  ones. */
  bySequence(sequences: readonly number[]): Promise<Map<number, Transfer>>
}

const TRANSFERS_KEPT = 100_000

/** Reads for a generation: where it is written down what transfers carried, what it numbers
 *  transfers from, and what they carried by block as far as that is not in the database. */
export function transferReader(
  sql: Sql,
  generation: {
    carried: readonly CarriedRange[]
    base: bigint
    archive: TransferArchive | undefined
    unsaved: ReadonlyMap<number, Uint8Array>
  },
): TransferReader {
  const { archive, unsaved } = generation
  let kept = new Map<number, Transfer>()

  async function readUnknown(sequences: readonly number[]): Promise<void> {
    const unknown = sequences.filter((sequence) => !kept.has(sequence))
    if (unknown.length === 0) return
    // Looked at first: what is written down while we ask is not here any more afterwards.
    const recent = new Map(unsaved)
    for (const block of await transferLog(sql, archive).ofTransfers(unknown, generation)) {
      const read = transfersOf(block, recent.get(block.number) ?? block.carried)
      const count = countTransfers(block.transfers)
      for (const sequence of unknown) {
        const i = sequence - block.first_sequence
        if (i >= 0 && i < count) kept.set(sequence, read(i))
      }
    }
  }

  const ofTransactions: TransferReader['ofTransactions'] = async (sql, wanted) => {
    const ids = new Set(wanted.map(({ tx_id }) => tx_id))
    const numbers = [...new Set(wanted.map(({ block_number }) => block_number))]
    // Looked at first: what is written down while we ask is not here any more afterwards.
    const recent = new Map(numbers.map((number) => [number, unsaved.get(number)]))
    const found = new Map<string, Transfer[]>()
    for (const block of await transferLog(sql, archive).at(numbers, generation)) {
      const read = transfersOf(block, recent.get(block.number) ?? block.carried)
      for (let i = 0; i < countTransfers(block.transfers); i++) {
        const id = idOf(block, i)
        if (ids.has(id)) found.set(id, [...(found.get(id) ?? []), read(i)])
      }
    }
    return found
  }

  return {
    async ofTransaction(block_number, tx_id) {
      return (await ofTransactions(sql, [{ block_number, tx_id }])).get(tx_id) ?? []
    },
    ofTransactions,
    async bySequence(sequences) {
      if (kept.size > TRANSFERS_KEPT) kept = new Map()
      await readUnknown(sequences)
      const found = new Map<number, Transfer>()
      for (const sequence of sequences) {
        const transfer = kept.get(sequence)
        if (transfer) found.set(sequence, transfer)
      }
      return found
    },
  }
}

const idOf = ({ tx_ids }: RecordedBlock, i: number) =>
  Buffer.from(tx_ids.subarray(32 * i, 32 * i + 32)).toString('hex')

/** Reads one transfer of a block at a time: the text of an address costs more than finding the
 *  transfer. */
function transfersOf(
  block: RecordedBlock,
  carried: Uint8Array | undefined,
): (i: number) => Transfer {
  const parts = carried && readCarried(carried)
  return (i) => {
    const { asset, from, to, amount } = transferAt(block.transfers, i)
    return {
      sequence: block.first_sequence + i,
      tx_id: idOf(block, i),
      block_number: block.number,
      block_time_ms: block.time_ms,
      asset,
      amount,
      from: addressOfBare(from),
      to: addressOfBare(to),
      carried: parts?.[i],
    }
  }
}

const STEPS_MAX = 10

/** The ways back from several transfers, each for its category. A way ends where the money began,
 *  after ten steps, or at a block before `since`, of which it is not kept what its transfers
 *  carried. */
export async function pathsBack(
  reader: TransferReader,
  starts: readonly { sequence: number; category: number }[],
  since: number,
): Promise<PathStep[][]> {
  const ways = starts.map(({ sequence, category }) => ({
    next: sequence,
    category,
    steps: [] as PathStep[],
  }))
  for (let step = 0; step < STEPS_MAX; step++) {
    const open = ways.filter(({ next }) => next > 0)
    if (open.length === 0) break
    const found = await reader.bySequence(open.map(({ next }) => next))
    for (const way of open) {
      const transfer = found.get(way.next)
      if (!transfer) {
        way.next = 0
        continue
      }
      const kept = transfer.block_number >= since
      const part = kept
        ? transfer.carried?.find(({ category }) => category === way.category)
        : undefined
      way.steps.push({ transfer, carried: part?.amount })
      way.next = part?.prior ?? 0
    }
  }
  return ways.map(({ steps }) => steps)
}
