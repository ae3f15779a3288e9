// An archive of the log in memory, of which tests take things away: what moves transfers there and
// back is tried by it, on every machine. ClickHouse itself is in stories/screening.

import type {
  BlockContents,
  TransferArchive,
} from 'penstock-service/chain/transfers/transfer_archive.ts'
import { Outage } from 'penstock-service/lib/fault.ts'

export class MemoryArchive implements TransferArchive {
  /** The id of the log whose tables these are. */
  log_id: string | undefined
  readonly blocks = new Map<number, BlockContents>()
  /** The blocks of which transfers are found by address. */
  readonly with_legs = new Set<number>()
  /** What happens before and after something is put. */
  beforePut: () => Promise<void> | void = () => {}
  afterPut: () => Promise<void> | void = () => {}
  puts = 0

  async prepare(log_id: string): Promise<void> {
    this.log_id ??= log_id
    await this.verify(log_id)
  }

  async verify(log_id: string): Promise<void> {
    if (this.log_id !== log_id) throw new Outage('The tables are not those of this log.')
  }

  async put(blocks: readonly BlockContents[]): Promise<void> {
    await this.beforePut()
    this.puts += 1
    for (const { number, transfers, tx_ids } of blocks) {
      this.with_legs.add(number)
      // As by rows: of a block without transfers there is nothing.
      if (transfers.length > 0)
        this.blocks.set(number, { number, transfers: transfers.slice(), tx_ids: tx_ids.slice() })
    }
    await this.afterPut()
  }

  async contents(numbers: readonly number[]): Promise<Map<number, BlockContents>> {
    const found = numbers.flatMap((number) => this.blocks.get(number) ?? [])
    return new Map(found.map((block) => [block.number, block]))
  }

  async hasSomeLegs({ number }: BlockContents): Promise<boolean> {
    return this.with_legs.has(number)
  }

  counterparties(): Promise<never> {
    throw new Error('Nobody is looked up in it.')
  }
}
