// What the console's pages hear of: the events of the house as they are numbered, and every few
// seconds a `tick` with what the first page shows, worked out once for all who look on, and only
// while somebody does.

import { setTimeout as delay } from 'node:timers/promises'
import { eventBody } from '../../events/log/events.ts'
import { EventStreams } from '../../events/log/streams.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Log, thrownFields } from '../../lib/log.ts'
import type { Face } from '../../people/users/faces.ts'
import { customerOf } from '../../people/users/mount.ts'
import { openSessions, type Session } from '../../people/users/sessions.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { frame } from './progress.ts'

const TICK_MS = 5_000
/** Streams of one session: a browser has one for all its pages, and a few while it changes over. */
const STREAMS_OF_ONE_MAX = 5

export type LiveNeeds = {
  sql: Sql
  clock: Clock
  log: Log
  face: Face
  /** What a tick says, as JSON. */
  tick(): Promise<string>
  tick_ms?: number
}

export class ConsoleLive {
  private readonly needs: LiveNeeds
  private readonly streams: EventStreams
  private readonly readers = new Set<(lines: string) => void>()
  private readonly closing = new AbortController()
  private last_tick: string | undefined
  private ticking = false

  constructor(needs: LiveNeeds) {
    const { sql, clock, face } = needs
    this.needs = needs
    this.streams = new EventStreams({
      sql,
      clock,
      print: eventBody,
      // No key stands for somebody of the house: the session alone says how long it may read.
      scopesOf: async (ids) => new Map(ids.map((id) => [id, []])),
      openSessions: (ids) => openSessions(sql, face, { ids, now: clock.now() }),
      limits: { key_max: STREAMS_OF_ONE_MAX, customer_max: 100, process_max: 100 },
    })
  }

  /** Ends all streams. */
  close(): void {
    this.closing.abort()
    this.streams.close()
  }

  /** Lines of server-sent events, from the next event on or after a number; they end with the
   *  session, after an hour, or when nobody reads any more. Throws LimitReached. */
  async open(
    session: Session,
    after: bigint | undefined,
    gone: AbortSignal,
  ): Promise<AsyncIterable<string>> {
    const customer = { ...customerOf(session), key_id: session.id, scopes: [] }
    const events = await this.streams.open({ customer, after, tests: false }, gone)
    return this.merged(events)
  }

  /** The events, and the ticks between them. */
  private async *merged(events: AsyncIterable<string>): AsyncGenerator<string> {
    const iterator = events[Symbol.asyncIterator]()
    let tick = this.last_tick
    let wake = () => {}
    const reader = (lines: string) => {
      tick = lines
      wake()
    }
    this.readers.add(reader)
    if (!this.ticking) void this.keepTicking()
    try {
      let next = iterator.next()
      while (true) {
        if (tick !== undefined) {
          // One who reads slowly gets the newest one only.
          const newest = tick
          tick = undefined
          yield newest
        }
        const ticked = new Promise<undefined>((resolve) => {
          wake = () => resolve(undefined)
        })
        if (tick !== undefined) continue
        const came = await Promise.race([next, ticked])
        if (came === undefined) continue
        if (came.done) return
        next = iterator.next()
        yield came.value
      }
    } finally {
      this.readers.delete(reader)
      void iterator.return?.()
    }
  }

  private async keepTicking(): Promise<void> {
    const { tick, tick_ms = TICK_MS, log } = this.needs
    this.ticking = true
    while (this.readers.size > 0 && !this.closing.signal.aborted) {
      try {
        this.last_tick = frame('tick', await tick())
        for (const reader of this.readers) reader(this.last_tick)
      } catch (thrown) {
        log('console_tick_failed', thrownFields(thrown))
      }
      const { signal } = this.closing
      await delay(tick_ms, undefined, { ref: false, signal }).catch(() => {})
    }
    this.ticking = false
    this.last_tick = undefined
  }
}
