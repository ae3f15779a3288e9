// What was read or counted a moment ago, by name, so that it need not be for every request. It
// holds no more than comes in the time for which it is used: what is older goes when something is
// put in.

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
