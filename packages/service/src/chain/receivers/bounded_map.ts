// A map that holds so many entries and no more: those go first that were neither put in nor asked
// for lately.

export class BoundedMap<Key, Value> {
  private readonly half: number
  private recent = new Map<Key, Value>()
  private older = new Map<Key, Value>()

  constructor(size_max: number) {
    this.half = Math.max(1, Math.floor(size_max / 2))
  }

  get(key: Key): Value | undefined {
    const found = this.recent.get(key)
    if (found !== undefined) return found
    const old = this.older.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: Key, value: Value): void {
    if (this.recent.size >= this.half && !this.recent.has(key)) {
      this.older = this.recent
      this.recent = new Map()
    }
    this.recent.set(key, value)
  }

  /** With what is about to go. */
  get size(): number {
    return this.recent.size + this.older.size
  }
}
