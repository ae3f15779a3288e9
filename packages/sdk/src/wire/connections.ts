// So many exchanges at once: what is more waits for its turn, in the order in which it was asked
// for. Without that a thousand calls at once are a thousand connections, and the service closes
// those of one address beyond its limit.

export class Connections {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** Waits for a turn; false when the signal ends it before. */
  async take(signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted) return false
    if (this.#free > 0) {
      this.#free -= 1
      return true
    }
    return new Promise((resolve) => {
      const turn = () => {
        signal?.removeEventListener('abort', leave)
        resolve(true)
      }
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1)
        resolve(false)
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.push(turn)
    })
  }

  /** The turn is over: the next one has it. */
  give(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free += 1
  }
}
