// What a process remembers of the database, because a database can go back: a standby that had less
// is promoted, an old primary returns, a copy is restored. Then what was acknowledged is gone, and
// nothing may be sold by what is left until an operator has looked. Positions of the server's log
// would not say it: it writes more than it acknowledges.

import type { Clock } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type DatabaseLoss,
  type DatabaseMark,
  insertLoss,
  isBehind,
  lossOf,
} from './database_losses.ts'
import type { Marks } from './database_marks.ts'

/** So many things that customers were told of are remembered. */
const TOLD_MAX = 1_000

export type ProcessName = { id: string; host: string; role: string }

/** The beat of a process as the database has it, and whether something was found and not
 *  accepted. */
export type BeatRow = { beat: bigint | null; open: boolean }

export class DatabaseMemory {
  private readonly clock: Clock
  private readonly process: ProcessName
  /** The one that was told last comes last. */
  private readonly told = new Set<string>()
  private beat = 0n
  private beat_at = new Date(0)
  /** The server that has all of it. */
  private server: string | undefined
  /** What was found and is not written down yet. */
  private readonly losses: DatabaseLoss[] = []
  /** Marks of others that were compared, and are still in their files. */
  private readonly compared: DatabaseMark[] = []
  /** Something was found, by any process, and not accepted. */
  private open = false

  constructor(clock: Clock, process: ProcessName) {
    this.clock = clock
    this.process = process
  }

  /** Whether the database lacks what it had acknowledged, and nobody has accepted that. */
  wentBack(): boolean {
    return this.open || this.losses.length > 0
  }

  /** A customer is told of it: `order:ID`, `check:ID` or `subscription:ID`. */
  noteTold(name: string): void {
    this.told.delete(name)
    this.told.add(name)
    const [oldest] = this.told
    if (this.told.size > TOLD_MAX) this.told.delete(oldest!)
  }

  /** A beat was acknowledged. */
  noteBeat(beat: bigint): void {
    this.beat = beat
    this.beat_at = this.clock.now()
  }

  get mark(): DatabaseMark {
    const { id: process_id, host, role } = this.process
    return { process_id, host, role, beat: this.beat, beat_at: this.beat_at, told: [...this.told] }
  }

  get process_id(): string {
    return this.process.id
  }

  /** Compares with what the server has: the beat each time, all of it when it is another server
   *  than before. */
  async compare(sql: Sql, server: string, { beat, open }: BeatRow): Promise<void> {
    const now = this.clock.now()
    const { mark } = this
    if (server !== this.server || isBehind(mark, beat, now)) {
      const loss = await lossOf(sql, mark, now)
      if (loss) this.remember(loss)
      this.server = server
    }
    // A row that is not there, and need not be, is made anew.
    if (beat === null) this.beat = 0n
    this.open = open
  }

  /** Compares with what another process, or this one before it was started again, has noted. */
  async compareMark(sql: Sql, mark: DatabaseMark): Promise<void> {
    const loss = await lossOf(sql, mark, this.clock.now())
    if (loss) this.losses.push(loss)
    this.compared.push(mark)
  }

  /** From here on what is left counts. */
  private remember(loss: DatabaseLoss): void {
    this.losses.push(loss)
    for (const name of loss.missing) this.told.delete(name)
    this.beat = loss.beat_found ?? 0n
  }

  /** Writes down what was found, for the operator and the other processes. */
  async writeLosses(sql: Sql): Promise<void> {
    for (let [loss] = this.losses; loss; [loss] = this.losses) {
      await insertLoss(sql, loss)
      this.open = true
      this.losses.shift()
    }
  }

  /** Removes the compared marks of ended processes: only when what they said is missing is written
   *  down, or nobody would know of it once this process ends. */
  async removeCompared(marks: Marks): Promise<void> {
    if (this.losses.length > 0) return
    await marks.removeEnded(this.compared.splice(0), this.clock.now())
  }
}
