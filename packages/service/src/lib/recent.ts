// What was read or counted a moment ago, by name, so that it need not be for every request. It
// holds no more than comes in the time for which it is used: what is older goes when something is
// put in.

import type { Clock } from './clock.ts'

export class Recent<Value> {
  private readonly age_ms_max: number
  /** In the order in which they were put in: the oldest is the first. */
  private readonly kept = new Map<string, { value: Value; at_ms: number }>()

  /** `age_ms_max`: what is as old as this is forgotten, also when the clock was put back so far. */
  constructor(age_ms_max: number) {
    this.age_ms_max = age_ms_max
  }

  /** What is kept under the name; undefined when there is nothing, or it is too old. */
  get(name: string, now_ms: number): Value | undefined {
    const found = this.kept.get(name)
    return found && this.isRecent(found.at_ms, now_ms) ? found.value : undefined
  }

  set(name: string, value: Value, now_ms: number): void {
    for (const [other, { at_ms }] of this.kept) {
      if (this.isRecent(at_ms, now_ms)) break
      this.kept.delete(other)
    }
    this.kept.delete(name)
    this.kept.set(name, { value, at_ms: now_ms })
  }

  get size(): number {
    return this.kept.size
  }

  private isRecent(at_ms: number, now_ms: number): boolean {
    return Math.abs(now_ms - at_ms) < this.age_ms_max
  }
}

/** What `read` has answered to a question that began less than `age_ms_max` ago: those who ask
 *  meanwhile share its answer. A failure is not kept. */
export function recently<Value>(
  age_ms_max: number,
  { clock, read }: { clock: Clock; read: () => Promise<Value> },
): () => Promise<Value> {
  let began_ms = Number.NEGATIVE_INFINITY
  let answer: Promise<Value> | undefined
  return () => {
    const now_ms = clock.now().getTime()
    if (answer && Math.abs(now_ms - began_ms) < age_ms_max) return answer
    began_ms = now_ms
    const fresh = read()
    fresh.catch(() => {
      if (answer === fresh) answer = undefined
    })
    answer = fresh
    return fresh
  }
}
