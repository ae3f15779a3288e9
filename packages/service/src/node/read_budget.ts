// What customers' calls may ask of the nodes: so many requests in any second, all of them together
// and each customer by itself, and so many under way at once. A request that is short of its share
// waits a moment for its turn. Readers who wait take turns, so that no customer uses up the whole,
// and no key what its customer has. The follower and the steps ask the nodes without this: whatever
// customers do, they go on.

import { TooManyRequests } from '../lib/fault.ts'

/** Who asks, and for which customer. */
export type Reader = {
  name: string
  customer_id: string
  /** How long one of its requests may wait for its turn, in milliseconds. */
  wait_ms: number
}

export type ReadLimits = {
  /** Requests in any second, of all customers together, and of one. */
  per_second: number
  per_second_of_one: number
  /** Requests under way at the same time, of all customers together, and of one. */
  at_once: number
  at_once_of_one: number
}

export type ReadBudget = {
  /** Asks when the reader's turn has come. `weight`: how many requests it is. Throws
   *  TooManyRequests. */
  spend<T>(reader: Reader, weight: number, ask: () => Promise<T>): Promise<T>
  /** Whether the customer has used up half of its share, or has something waiting. */
  isBusy(reader: Reader): boolean
}

/** Time that only goes forward, in milliseconds, and something to wait with. */
export type Timer = { now_ms(): number; wait(ms: number): Promise<unknown> }

const SECOND_MS = 1_000
/** Beyond this many customers those who have asked nothing lately are forgotten. */
const CUSTOMERS_MAX = 1_000

/** A little more than a second: what leaves here evenly does not arrive evenly. */
const WINDOW_MS = 1_050

/** When the last requests were made: in no second, wherever it begins, are more than so many. */
class Window {
  readonly size: number
  private readonly made_ms: Float64Array
  private oldest = 0

  constructor(size: number) {
    this.size = size
    this.made_ms = new Float64Array(size).fill(Number.NEGATIVE_INFINITY)
  }

  /** From when on so many more may be made; those that are more than the window holds count as so
   *  many. */
  ready_at_ms(weight: number): number {
    return this.made_ms[(this.oldest + Math.min(weight, this.size) - 1) % this.size]! + WINDOW_MS
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

  constructor(limits: ReadLimits, timer: Timer) {
    this.size = Math.min(limits.per_second_of_one, limits.per_second)
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

export function readBudget(limits: ReadLimits, timer: Timer): ReadBudget {
  return new Budget(limits, timer)
}

class Budget implements ReadBudget {
  private readonly limits: ReadLimits
  private readonly timer: Timer
  private readonly all: Window
  private readonly shares: Shares
  /** Those who wait, in the order of their turns. */
  private turns: Turn[] = []
  private under_way = 0
  private looks_at_ms = Number.POSITIVE_INFINITY

  constructor(limits: ReadLimits, timer: Timer) {
    this.limits = limits
    this.timer = timer
    this.all = new Window(limits.per_second)
    this.shares = new Shares(limits, timer)
  }

  async spend<T>(reader: Reader, weight: number, ask: () => Promise<T>): Promise<T> {
    const share = this.shares.of(reader)
    await this.turnOf(reader, share, weight)
    try {
      return await ask()
    } finally {
      share.under_way -= 1
      this.under_way -= 1
      this.pump()
    }
  }

  isBusy(reader: Reader): boolean {
    const { window, readers } = this.shares.of(reader)
    return readers.size > 0 || window.ready_at_ms(Math.ceil(window.size / 2)) > this.timer.now_ms()
  }

  /** Resolves when it is the reader's turn. Rejects with TooManyRequests when that takes too
   *  long. */
  private turnOf({ name, wait_ms }: Reader, share: Share, weight: number): Promise<void> {
    return new Promise<void>((go, fail) => {
      const refuse = () => fail(new TooManyRequests(1))
      const turn = share.readers.get(name) ?? { share, name, waiting: [] }
      // More would wait than can be asked in that time.
      const waiting_max = Math.ceil((share.window.size * wait_ms) / SECOND_MS)
      if (turn.waiting.length > waiting_max) return refuse()
      turn.waiting.push({ weight, until_ms: this.timer.now_ms() + wait_ms, go, refuse })
      if (turn.waiting.length === 1) {
        share.readers.set(name, turn)
        this.turns.push(turn)
      }
      this.pump()
    })
  }

  /** When the reader's next request may go, as far as time alone says. */
  private ready_at_ms({ share, waiting: [first] }: Turn): number {
    return Math.max(share.window.ready_at_ms(first!.weight), this.all.ready_at_ms(first!.weight))
  }

  /** Lets those go whose turn it is, refuses those who have waited too long, and comes back when
   *  more can be done. */
  private pump(): void {
    const { at_once, at_once_of_one } = this.limits
    const now_ms = this.timer.now_ms()
    this.turns = this.turns.filter((turn) => !isOver(turn, now_ms))
    for (;;) {
      const next = this.turns.findIndex(
        (turn) => turn.share.under_way < at_once_of_one && this.ready_at_ms(turn) <= now_ms,
      )
      if (next < 0 || this.under_way >= at_once) break
      const [turn] = this.turns.splice(next, 1)
      this.start(turn!, now_ms)
      if (!isOver(turn!, now_ms)) this.turns.push(turn!)
    }
    this.lookAgain(now_ms)
  }

  private start({ share, waiting }: Turn, now_ms: number): void {
    const { weight, go } = waiting.shift()!
    share.window.add(weight, now_ms)
    this.all.add(weight, now_ms)
    share.under_way += 1
    this.under_way += 1
    go()
  }

  private lookAgain(now_ms: number): void {
    const next_ms = Math.min(
      ...this.turns.map((turn) => {
        const ready_ms = this.ready_at_ms(turn)
        // Ready, and only waiting for an answer: the answer pumps.
        return Math.min(
          turn.waiting[0]!.until_ms,
          ready_ms > now_ms ? ready_ms : Number.POSITIVE_INFINITY,
        )
      }),
    )
    if (next_ms >= this.looks_at_ms || next_ms === Number.POSITIVE_INFINITY) return
    this.looks_at_ms = next_ms
    void this.timer.wait(Math.max(1, Math.ceil(next_ms - now_ms))).then(() => {
      if (this.looks_at_ms === next_ms) this.looks_at_ms = Number.POSITIVE_INFINITY
      this.pump()
    })
  }
}

/** Refuses what has waited too long; says whether nothing of the reader waits any more. */
function isOver({ share, name, waiting }: Turn, now_ms: number): boolean {
  while (waiting.length > 0 && waiting[0]!.until_ms <= now_ms) waiting.shift()!.refuse()
  if (waiting.length === 0) share.readers.delete(name)
  return waiting.length === 0
}
