// What customers' calls may ask of the nodes: so many requests in any second, all of them together
// and each customer by itself, and so many under way at once. What a purchase needs goes first, in
// a lane of its own: look-ups have a part of the whole and never the last of it, so no purchase
// waits behind them, not even behind those of the same customer. A request that is short of its
// share waits a moment for its turn. Readers who wait take turns, so that no customer uses up the
// whole, and no key what its customer has. A node that refuses because it is asked too much sets
// the pace (pace.ts): what it has refused is asked again, if it may still wait. The follower and
// the steps ask the nodes without this: whatever customers do, they go on.

import { TooManyRequests } from '../../lib/fault.ts'
import { NodeBusy } from '../node/answers.ts'
import { Pace } from './pace.ts'

/** In the order in which they go. */
const LANES = ['purchases', 'look_ups'] as const
export type Lane = (typeof LANES)[number]

/** Who asks, for which customer, and what for. */
export type Reader = {
  name: string
  customer_id: string
  lane: Lane
  /** How long one of its requests may wait for its turn, in milliseconds. */
  wait_ms: number
}

export type LaneLimits = {
  /** Requests in any second, of all customers together, and of one. */
  per_second: number
  per_second_of_one: number
  /** Requests under way at the same time, of all customers together, and of one. */
  at_once: number
  at_once_of_one: number
}

/** `per_second`: of all lanes together. */
export type ReadLimits = Record<Lane, LaneLimits> & { per_second: number }

export type ReadBudget = {
  /** Asks when the reader's turn has come. `weight`: how many requests it is. Throws
   *  TooManyRequests. */
  spend<T>(reader: Reader, weight: number, ask: () => Promise<T>): Promise<T>
}

/** Time that only goes forward, in milliseconds, and something to wait with. */
export type Timer = { now_ms(): number; wait(ms: number): Promise<unknown> }

const SECOND_MS = 1_000
/** How often is looked whether somebody's turn has come, while somebody waits. */
const LOOK_MS = 10
/** Beyond this many customers those who have asked nothing lately are forgotten. */
const CUSTOMERS_MAX = 1_000

/** A little more than a second: what leaves here evenly does not arrive evenly. */
const WINDOW_MS = 1_050

/** What of so many requests a second a lane may use. */
const PARTS: Record<Lane, (per_second: number) => number> = {
  purchases: (per_second) => per_second,
  look_ups: (per_second) => Math.max(1, Math.floor(per_second / 3)),
}

const LOOK_UPS = { per_second: 300, per_second_of_one: 60, at_once: 32, at_once_of_one: 8 }
const PURCHASES = { per_second_of_one: 1_000, at_once: 128, at_once_of_one: 64 }

/** The limits where all together may make so many requests a second. */
export const readLimits = (per_second: number): ReadLimits => ({
  per_second,
  purchases: { ...PURCHASES, per_second },
  look_ups: LOOK_UPS,
})

/** When the last requests were made: in no second, wherever it begins, are more than so many. */
class Window {
  readonly size: number
  private readonly made_ms: Float64Array
  private oldest = 0

  constructor(size: number) {
    this.size = size
    this.made_ms = new Float64Array(size).fill(Number.NEGATIVE_INFINITY)
  }

  /** From when on so many more may be made, where `most` may be in any second; those that are more
   *  than that count as so many. */
  ready_at_ms(weight: number, most = this.size): number {
    const held = Math.min(most, this.size)
    const place = this.oldest - held + Math.min(weight, held) - 1
    return this.made_ms[(place + this.size) % this.size]! + WINDOW_MS
  }

  add(weight: number, now_ms: number): void {
    for (let i = 0; i < Math.min(weight, this.size); i++) {
      this.made_ms[this.oldest] = now_ms
      this.oldest = (this.oldest + 1) % this.size
    }
  }
}

type QueuedRead = { weight: number; until_ms: number; go(): void; refuse(): void }
type Share = { window: Window; under_way: number; readers: Map<string, Turn> }
/** A reader who waits. */
type Turn = { share: Share; name: string; waiting: QueuedRead[] }

/** What each customer has of the whole. */
class Shares {
  private readonly shares = new Map<string, Share>()
  private readonly size: number
  private readonly timer: Timer

  constructor(size: number, timer: Timer) {
    this.size = size
    this.timer = timer
  }

  of({ customer_id }: Reader): Share {
    const known = this.shares.get(customer_id)
    if (known) return known
    if (this.shares.size >= CUSTOMERS_MAX) this.forgetIdle()
    const share: Share = { window: new Window(this.size), under_way: 0, readers: new Map() }
    this.shares.set(customer_id, share)
    return share
  }

  private forgetIdle(): void {
    const now_ms = this.timer.now_ms()
    for (const [customer_id, { window, under_way, readers }] of this.shares) {
      const idle =
        under_way === 0 && readers.size === 0 && window.ready_at_ms(window.size) <= now_ms
      if (idle) this.shares.delete(customer_id)
    }
  }
}

/** Those who ask for one kind of thing. */
class Queue {
  readonly limits: LaneLimits
  readonly shares: Shares
  readonly window: Window
  /** Those who wait, in the order of their turns. */
  turns: Turn[] = []
  under_way = 0
  private readonly partOf: (per_second: number) => number

  constructor(lane: Lane, { per_second, ...limits }: ReadLimits, timer: Timer) {
    this.limits = limits[lane]
    this.partOf = PARTS[lane]
    const most = Math.min(this.limits.per_second, this.partOf(per_second))
    this.window = new Window(most)
    this.shares = new Shares(Math.min(this.limits.per_second_of_one, most), timer)
  }

  /** When the reader's next request may go at that pace, as far as its lane and its share say. */
  ready_at_ms({ share, waiting: [first] }: Turn, pace: number): number {
    const { weight } = first!
    const most = this.partOf(pace)
    return Math.max(share.window.ready_at_ms(weight, most), this.window.ready_at_ms(weight, most))
  }
}

export function readBudget(limits: ReadLimits, timer: Timer): ReadBudget {
  return new Budget(limits, timer)
}

class Budget implements ReadBudget {
  private readonly timer: Timer
  private readonly all: Window
  private readonly pace: Pace
  private readonly lanes: Record<Lane, Queue>
  private is_looking = false

  constructor(limits: ReadLimits, timer: Timer) {
    this.timer = timer
    this.all = new Window(limits.per_second)
    this.pace = new Pace(limits.per_second)
    this.lanes = {
      purchases: new Queue('purchases', limits, timer),
      look_ups: new Queue('look_ups', limits, timer),
    }
  }

  async spend<T>(reader: Reader, weight: number, ask: () => Promise<T>): Promise<T> {
    const lane = this.lanes[reader.lane]
    const share = lane.shares.of(reader)
    const until_ms = this.timer.now_ms() + reader.wait_ms
    for (let tries = 0; ; tries++) {
      await this.turnOf(reader, share, { weight, until_ms, again: tries > 0 })
      const asked = await ask()
        .then(
          (answer) => {
            this.pace.answered(this.timer.now_ms(), weight)
            return { answer }
          },
          (thrown: unknown) => {
            if (!(thrown instanceof NodeBusy)) throw thrown
            this.pace.refused(this.timer.now_ms())
            return undefined
          },
        )
        .finally(() => {
          share.under_way -= 1
          lane.under_way -= 1
          this.pump()
        })
      if (asked) return asked.answer
    }
  }

  /** Resolves when it is the reader's turn. Rejects with TooManyRequests when that takes too
   *  long. */
  private turnOf(
    { name, lane, wait_ms }: Reader,
    share: Share,
    { weight, until_ms, again }: { weight: number; until_ms: number; again: boolean },
  ): Promise<void> {
    return new Promise<void>((go, fail) => {
      const refuse = () => fail(new TooManyRequests(1))
      const turn = share.readers.get(name) ?? { share, name, waiting: [] }
      // More would wait than can be asked in that time.
      const waiting_max = Math.ceil((share.window.size * wait_ms) / SECOND_MS)
      if (turn.waiting.length > waiting_max) return refuse()
      const queued = { weight, until_ms, go, refuse }
      if (again) turn.waiting.unshift(queued)
      else turn.waiting.push(queued)
      if (turn.waiting.length === 1) {
        share.readers.set(name, turn)
        this.lanes[lane].turns.push(turn)
      }
      this.pump()
    })
  }

  /** Lets those go whose turn it is, and looks again while somebody waits. */
  private pump(): void {
    const now_ms = this.timer.now_ms()
    if (this.pace.held_until_ms <= now_ms)
      for (const lane of LANES) this.pumpLane(this.lanes[lane], now_ms)
    if (!this.is_looking && LANES.some((lane) => this.lanes[lane].turns.length > 0)) this.look()
  }

  /** Whoever is ready, or has waited too long, is found by the next look: to know the moment
   *  would cost more than to look. */
  private look(): void {
    this.is_looking = true
    void this.timer.wait(LOOK_MS).then(() => {
      this.is_looking = false
      const now_ms = this.timer.now_ms()
      for (const lane of LANES) {
        const queue = this.lanes[lane]
        queue.turns = queue.turns.filter((turn) => !isOver(turn, now_ms))
      }
      this.pump()
    })
  }

  private pumpLane(queue: Queue, now_ms: number): void {
    const { at_once, at_once_of_one } = queue.limits
    const { per_second, most } = this.pace
    const isReady = (turn: Turn, pace: number) =>
      turn.share.under_way < at_once_of_one && this.ready_at_ms(queue, turn, pace) <= now_ms
    while (queue.under_way < at_once) {
      const next = queue.turns.findIndex((turn) => isReady(turn, per_second))
      const turn = queue.turns[next]
      if (!turn) break
      queue.turns.splice(next, 1)
      if (isOver(turn, now_ms)) continue
      this.start(queue, turn, now_ms)
      if (!isOver(turn, now_ms)) queue.turns.push(turn)
    }
    if (per_second < most && queue.turns.some((turn) => isReady(turn, most))) this.pace.wanted()
  }

  /** When the reader's next request may go at that pace, as far as time alone says. */
  private ready_at_ms(queue: Queue, turn: Turn, pace: number): number {
    const all_ms = this.all.ready_at_ms(turn.waiting[0]!.weight, pace)
    return Math.max(all_ms, queue.ready_at_ms(turn, pace))
  }

  private start(queue: Queue, { share, waiting }: Turn, now_ms: number): void {
    const { weight, go } = waiting.shift()!
    for (const window of [share.window, queue.window, this.all]) window.add(weight, now_ms)
    share.under_way += 1
    queue.under_way += 1
    go()
  }
}

/** Refuses what has waited too long; says whether nothing of the reader waits any more. */
function isOver({ share, name, waiting }: Turn, now_ms: number): boolean {
  while (waiting.length > 0 && waiting[0]!.until_ms <= now_ms) waiting.shift()!.refuse()
  if (waiting.length === 0) share.readers.delete(name)
  return waiting.length === 0
}
