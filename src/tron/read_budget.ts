// What customers' calls may ask of the nodes: so many requests in any second, all of them together and each customer by
// itself, and so many under way at once. A request that is short of its share waits a moment for its turn. Readers who
// wait take turns, so that no customer uses up the whole, and no key what its customer has. The follower and the steps
// ask the nodes without this: whatever customers do, they go on.

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
  /** Asks when the reader's turn has come. `weight`: how many requests it is. Throws TooManyRequests. */
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

  /** From when on so many more may be made; those that are more than the window holds count as so many. */
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

type Waiting = { weight: number; until_ms: number; go(): void; refuse(): void }
type Share = { window: Window; under_way: number; readers: Map<string, Turn> }
/** A reader who waits. */
type Turn = { share: Share; name: string; waiting: Waiting[] }

export function readBudget(limits: ReadLimits, timer: Timer): ReadBudget {
  const all = new Window(limits.per_second)
  const shares = new Map<string, Share>()
  /** Those who wait, in the order of their turns. */
  let turns: Turn[] = []
  let under_way = 0
  let looks_at_ms = Number.POSITIVE_INFINITY

  function shareOf({ customer_id }: Reader): Share {
    const known = shares.get(customer_id)
    if (known) return known
    if (shares.size >= CUSTOMERS_MAX) forgetIdle()
    const window = new Window(Math.min(limits.per_second_of_one, limits.per_second))
    const share = { window, under_way: 0, readers: new Map() }
    shares.set(customer_id, share)
    return share
  }

  function forgetIdle(): void {
    const now_ms = timer.now_ms()
    for (const [customer_id, { window, under_way, readers }] of shares) {
      const idle = under_way === 0 && readers.size === 0 && window.ready_at_ms(window.size) <= now_ms
      if (idle) shares.delete(customer_id)
    }
  }

  /** When the reader's next request may go, as far as time alone says. */
  const ready_at_ms = ({ share, waiting: [first] }: Turn) =>
    Math.max(share.window.ready_at_ms(first!.weight), all.ready_at_ms(first!.weight))

  /** Lets go whoever's turn it is, refuses whoever has waited too long, and comes back when more can be done. */
  function pump(): void {
    const now_ms = timer.now_ms()
    turns = turns.filter((turn) => !isOver(turn, now_ms))
    for (;;) {
      const next = turns.findIndex(
        (turn) => turn.share.under_way < limits.at_once_of_one && ready_at_ms(turn) <= now_ms,
      )
      if (next < 0 || under_way >= limits.at_once) break
      const [turn] = turns.splice(next, 1)
      start(turn!, now_ms)
      if (!isOver(turn!, now_ms)) turns.push(turn!)
    }
    lookAgain(now_ms)
  }

  function start({ share, waiting }: Turn, now_ms: number): void {
    const { weight, go } = waiting.shift()!
    share.window.add(weight, now_ms)
    all.add(weight, now_ms)
    share.under_way += 1
    under_way += 1
    go()
  }

  function lookAgain(now_ms: number): void {
    const next_ms = Math.min(
      ...turns.map((turn) => {
        const ready_ms = ready_at_ms(turn)
        // Ready, and only waiting for an answer: the answer pumps.
        return Math.min(turn.waiting[0]!.until_ms, ready_ms > now_ms ? ready_ms : Number.POSITIVE_INFINITY)
      }),
    )
    if (next_ms >= looks_at_ms || next_ms === Number.POSITIVE_INFINITY) return
    looks_at_ms = next_ms
    void timer.wait(Math.max(1, Math.ceil(next_ms - now_ms))).then(() => {
      if (looks_at_ms === next_ms) looks_at_ms = Number.POSITIVE_INFINITY
      pump()
    })
  }

  async function spend<T>(reader: Reader, weight: number, ask: () => Promise<T>): Promise<T> {
    const share = shareOf(reader)
    await new Promise<void>((go, fail) => {
      const refuse = () => fail(new TooManyRequests(1))
      const turn = share.readers.get(reader.name) ?? { share, name: reader.name, waiting: [] }
      // More would wait than can be asked in that time.
      const waiting_max = Math.ceil((share.window.size * reader.wait_ms) / SECOND_MS)
      if (turn.waiting.length > waiting_max) return refuse()
      turn.waiting.push({ weight, until_ms: timer.now_ms() + reader.wait_ms, go, refuse })
      if (turn.waiting.length === 1) {
        share.readers.set(reader.name, turn)
        turns.push(turn)
      }
      pump()
    })
    try {
      return await ask()
    } finally {
      share.under_way -= 1
      under_way -= 1
      pump()
    }
  }

  return {
    spend,
    isBusy(reader) {
      const { window, readers } = shareOf(reader)
      return readers.size > 0 || window.ready_at_ms(Math.ceil(window.size / 2)) > timer.now_ms()
    },
  }
}

/** Refuses what has waited too long; says whether nothing of the reader waits any more. */
function isOver({ share, name, waiting }: Turn, now_ms: number): boolean {
  while (waiting.length > 0 && waiting[0]!.until_ms <= now_ms) waiting.shift()!.refuse()
  if (waiting.length === 0) share.readers.delete(name)
  return waiting.length === 0
}
