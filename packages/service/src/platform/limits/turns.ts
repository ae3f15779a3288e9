// How many requests are worked on at once: of one lane (a key, or a network of those who show
// none), and in all. More of them wait, so that a burst is served one after another and not
// refused; too many that wait are refused. Lanes that wait take turns, so none holds up another.

type Lane = { name: string; running: number; running_max: number; waiting: (() => void)[] }

export type TurnLimits = {
  /** Worked on at once, in all. */
  running_max: number
  /** Waiting, in one lane and in all. */
  lane_waiting_max: number
  waiting_max: number
}

/** The lane has too many waiting requests, or all lanes together have. */
export type FullLane = 'lane full' | 'full'

export class Turns {
  private readonly limits: TurnLimits
  private readonly lanes = new Map<string, Lane>()
  /** Lanes in which somebody waits, each once; the first has its turn next. */
  private readonly queue = new Set<Lane>()
  private running = 0
  private waiting = 0

  constructor(limits: TurnLimits) {
    this.limits = limits
  }

  /** Undefined: it may begin now. Else a promise of its turn, or why there is none. Anyone who had
   *  a turn calls end(). */
  begin(name: string, running_max: number): undefined | Promise<void> | FullLane {
    const lane = this.lanes.get(name) ?? { name, running: 0, running_max, waiting: [] }
    if (lane.running < lane.running_max && this.running < this.limits.running_max) {
      this.start(lane)
      return undefined
    }
    if (lane.waiting.length >= this.limits.lane_waiting_max) return 'lane full'
    if (this.waiting >= this.limits.waiting_max) return 'full'
    this.lanes.set(name, lane)
    this.waiting += 1
    this.queue.add(lane)
    return new Promise((resolve) => lane.waiting.push(resolve))
  }

  end(name: string): void {
    const lane = this.lanes.get(name)
    if (!lane) return
    lane.running -= 1
    this.running -= 1
    if (lane.running === 0 && lane.waiting.length === 0) this.lanes.delete(name)
    this.startNext()
  }

  private start(lane: Lane): void {
    this.lanes.set(lane.name, lane)
    lane.running += 1
    this.running += 1
  }

  private startNext(): void {
    for (const lane of this.queue) {
      if (this.running >= this.limits.running_max) return
      if (lane.running >= lane.running_max) continue
      this.queue.delete(lane)
      const go = lane.waiting.shift()
      if (!go) continue
      this.waiting -= 1
      if (lane.waiting.length > 0) this.queue.add(lane)
      this.start(lane)
      go()
      return
    }
  }
}
