// What happened in a run, in order: counted by kind, hashed whole, and printed by its end when
// something is wrong.

import { createHash } from 'node:crypto'

export class Trace {
  readonly title: string
  readonly lines: string[] = []
  readonly counts: Record<string, number> = {}
  moment = 0
  private readonly sum = createHash('sha256')

  constructor(title: string) {
    this.title = title
  }

  /** Counts without telling. */
  add(kind: string, count: number): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + count
  }

  note(kind: string, what: string): void {
    const line = `${this.moment} ${kind} ${what}`
    this.add(kind, 1)
    this.lines.push(line)
    this.sum.update(`${line}\n`)
  }

  /** The same for the same events in the same order. */
  get digest(): string {
    return this.sum.copy().digest('hex').slice(0, 16)
  }

  last(count: number): string {
    const from = Math.max(0, this.lines.length - count)
    return [`(${this.title}; ${from} lines before)`, ...this.lines.slice(from)].join('\n')
  }
}
