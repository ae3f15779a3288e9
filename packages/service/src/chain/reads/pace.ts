// How many requests a second a node allows, as far as it can be seen: it answers 429 when that is
// too many, and says nothing before. A refusal takes the pace below what was answered in the best
// of the last seconds; while somebody waits because of the pace it grows a little every second, so
// it follows a node that allows more again, and whoever asks little is never held up.

const SECOND_MS = 1_000
/** Answers are counted by parts of a second: the best second of those that are looked back on may
 *  begin with any of them. */
const PARTS_OF_SECOND = 10
const PARTS = 10 * PARTS_OF_SECOND
const PART_MS = SECOND_MS / PARTS_OF_SECOND
/** How long nobody asks after a refusal; twice as long after each that follows without an answer
 *  between. */
const HOLD_MS = 100
const HOLD_MS_MAX = 1_600
/** A refusal takes the pace to this share of what was answered, and of what it was. */
const BELOW_ANSWERED = 0.9
const BELOW_PACE = 0.8
/** The pace does not grow for so long after a refusal. */
const QUIET_MS = 3_000
/** Of itself the pace grows by this in a second, and by one at least. */
const GROWTH = 0.1

export class Pace {
  /** Requests a second, now and where nobody refuses. */
  per_second: number
  readonly most: number
  /** Nobody asks before. */
  held_until_ms = Number.NEGATIVE_INFINITY
  /** By the part of a second, in a ring: which part it was, and how many answers came. */
  private readonly parts = Array.from({ length: PARTS }, () => ({ part: -1, answers: 0 }))
  private refusals = 0
  private grown_ms = Number.NEGATIVE_INFINITY
  private lowered_ms = Number.NEGATIVE_INFINITY
  private refused_ms = Number.NEGATIVE_INFINITY
  private is_wanted = false

  constructor(most: number) {
    this.most = most
    this.per_second = most
  }

  /** Somebody waits for no other reason than the pace. */
  wanted(): void {
    this.is_wanted = true
  }

  /** `requests`: the requests of which the question is made. */
  answered(now_ms: number, requests = 1): void {
    const part = Math.floor(now_ms / PART_MS)
    const one = this.parts[part % PARTS]!
    if (one.part !== part) Object.assign(one, { part, answers: 0 })
    one.answers += requests
    this.refusals = 0
    const changed_ms = Math.max(this.grown_ms, this.refused_ms + QUIET_MS - SECOND_MS)
    if (this.per_second >= this.most || !this.is_wanted || now_ms - changed_ms < SECOND_MS) return
    const more = Math.max(1, Math.floor(GROWTH * this.per_second))
    this.per_second = Math.min(this.most, this.per_second + more)
    this.grown_ms = now_ms
    this.is_wanted = false
  }

  refused(now_ms: number): void {
    const hold_ms = Math.min(HOLD_MS_MAX, HOLD_MS * 2 ** this.refusals)
    // Those that were under way together are one refusal.
    if (now_ms >= this.held_until_ms) {
      this.held_until_ms = now_ms + hold_ms
      this.refusals += 1
    }
    this.refused_ms = now_ms
    if (now_ms - this.lowered_ms < SECOND_MS) return
    const lower = Math.min(BELOW_ANSWERED * this.bestSecond(now_ms), BELOW_PACE * this.per_second)
    this.per_second = Math.max(1, Math.floor(lower))
    this.lowered_ms = now_ms
    this.is_wanted = false
  }

  /** How many were answered in the best of the last seconds, wherever it begins. */
  private bestSecond(now_ms: number): number {
    const newest = Math.floor(now_ms / PART_MS)
    let best = 0
    let in_second = 0
    const answersIn = (part: number) => {
      const one = part < 0 ? undefined : this.parts[part % PARTS]
      return one?.part === part ? one.answers : 0
    }
    for (let part = newest - PARTS + 1; part <= newest; part++) {
      in_second += answersIn(part)
      if (part - PARTS_OF_SECOND > newest - PARTS) in_second -= answersIn(part - PARTS_OF_SECOND)
      best = Math.max(best, in_second)
    }
    return best
  }
}
