// How many requests are worked on at once: of one lane (a key, or a network of those who show
// none), and in all. More of them wait, so that a burst is served one after another and not
// refused; too many that wait are refused. Lanes that wait take turns, so none holds up another.
// What takes no room waits as what does, and holds up nothing but its own lane.

/** `room`: of the places of all lanes together, 1 or none. */
type Waiter = { room: 0 | 1; go: () => void }
type Lane = { name: string; running: number; running_max: number; waiting: Waiter[] }

export type TurnLimits = {
  /** Worked on at once, in all. */
  running_max: number
  /** Waiting, in one lane and in all. */
  lane_waiting_max: number
  waiting_max: number
  /** A lane that has fewer running has its turn before others: those who take long do not also get
   *  the places of those who are quick. */
  fewest_first?: boolean
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
   *  a turn calls end(), with the same room. */
  begin(name: string, running_max: number, room: 0 | 1 = 1): undefined | Promise<void> | FullLane {
    const lane = this.lanes.get(name) ?? { name, running: 0, running_max, waiting: [] }
    if (lane.running < lane.running_max && this.running < this.limits.running_max) {
      this.start(lane, room)
      return undefined
    }
    if (lane.waiting.length >= this.limits.lane_waiting_max) return 'lane full'
    if (this.waiting >= this.limits.waiting_max) return 'full'
    this.lanes.set(name, lane)
    this.waiting += room
    this.queue.add(lane)
    return new Promise((go) => lane.waiting.push({ room, go }))
  }

  end(name: string, room: 0 | 1 = 1): void {
    const lane = this.lanes.get(name)
    if (!lane) return
    lane.running -= 1
    this.running -= room
    if (lane.running === 0 && lane.waiting.length === 0) this.lanes.delete(name)
    this.startNext()
  }

  private start(lane: Lane, room: 0 | 1): void {
    this.lanes.set(lane.name, lane)
    lane.running += 1
    this.running += room
  }

  private startNext(): void {
    for (let lane = this.nextLane(); lane; lane = this.nextLane()) {
      this.queue.delete(lane)
      const next = lane.waiting.shift()
      if (!next) continue
      this.waiting -= next.room
      // At the end of the queue: the others have their turn first.
      if (lane.waiting.length > 0) this.queue.add(lane)
      this.start(lane, next.room)
      next.go()
    }
  }

  /** Undefined while there is no room, or none that waits may begin. */
  private nextLane(): Lane | undefined {
    if (this.running >= this.limits.running_max) return undefined
    let first: Lane | undefined
    for (const lane of this.queue) {
      if (lane.running >= lane.running_max) continue
      if (!this.limits.fewest_first) return lane
      if (first === undefined || lane.running < first.running) first = lane
    }
    return first
  }
}
