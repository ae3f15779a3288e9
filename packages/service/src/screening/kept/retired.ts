// Indexes on disk that are not used any more: closed some time after, and their files removed.

import { type Clock, later } from '../../lib/clock.ts'
import { type FlowState, MemoryFlow } from './flow_state.ts'
import type { KeptPlace } from './kept_folder.ts'

/** Whoever has taken up an index may go on to read it for as long. */
const RETIRED_MS = 60_000

type Needs = { clock: Clock; kept?: KeptPlace | undefined }

/** `kind`: of their files. */
export class RetiredIndexes<Index extends { number: number; state: FlowState }> {
  private retired: { index: Index; at: Date }[] = []
  private readonly needs: Needs
  private readonly kind: string

  constructor(needs: Needs, kind: string) {
    this.needs = needs
    this.kind = kind
  }

  /** One in memory needs no end. */
  add(index: Index): void {
    const at = this.needs.clock.now()
    if (!(index.state instanceof MemoryFlow)) this.retired.push({ index, at })
  }

  /** One that is asked for again: its file is open. */
  takeBack(number: number): Index | undefined {
    const found = this.retired.find(({ index }) => index.number === number)
    this.retired = this.retired.filter((one) => one !== found)
    return found?.index
  }

  /** Ends those whose time is over, and removes the files before those that are `wanted`. */
  async end(wanted: readonly number[]): Promise<void> {
    const until = later(this.needs.clock, -RETIRED_MS)
    const over = this.retired.filter(({ at }) => at <= until)
    if (over.length === 0) return
    this.retired = this.retired.filter(({ at }) => at > until)
    for (const { index } of over) await index.state.close()
    if (this.retired.length === 0 && wanted.length > 0)
      this.needs.kept?.folder.removeBefore(this.kind, Math.min(...wanted))
  }

  async endAll(): Promise<void> {
    for (const { index } of this.retired.splice(0)) await index.state.close()
  }
}
