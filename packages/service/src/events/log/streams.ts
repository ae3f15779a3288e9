// Events over one open answer, as they are numbered. What is new is looked for once for all streams
// of a process, when somebody says that there is something and once a second in any case; each
// stream then reads on from its own last number, so nothing is left out and nothing comes twice.
// Streams that ask for the same at once share one reading, and what is printed of it.

import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Customer, LimitReached, type Scope } from '../../platform/wire/endpoint.ts'
import { type Event, eventBounds, listEvents } from './events.ts'

/** By this name one process tells the others that there is something new. */
export const STREAMS = 'streams'

export type StreamOptions = {
  customer: Customer
  /** Left out: from now on. */
  after?: bigint | undefined
  types?: readonly string[] | undefined
  subject?: string | undefined
  /** Events too that did not happen. */
  tests: boolean
}

export type StreamLimits = { key_max: number; customer_max: number; process_max: number }

const STREAM_LIMITS: StreamLimits = { key_max: 10, customer_max: 50, process_max: 5_000 }

/** The scopes of those of these keys that may still be used. */
export type ScopesOf = (
  key_ids: readonly string[],
) => Promise<ReadonlyMap<string, readonly Scope[] | undefined>>

export type Needs = {
  sql: Sql
  clock: Clock
  /** The body of an event, as far as this customer's key may read it. */
  print: (event: Event, customer: Customer) => string
  scopesOf: ScopesOf
  /** Those of these sessions that are not over. */
  openSessions: (ids: readonly string[]) => Promise<ReadonlySet<string>>
  limits?: StreamLimits
}

const LOOK_MS = 1_000
const BEAT_MS = 15_000
const LIFE_MS = 3_600_000
const EVENTS_AT_ONCE = 200

/** An event, and its lines by the scopes of those who were told. */
type EventLines = { event: Event; lines: Map<string, string> }

/** The part of the log to read: after a number, up to the newest one that was heard of. */
type Between = { after: bigint; until: bigint }

type Reader = Pick<Customer, 'customer_id' | 'key_id' | 'scopes' | 'user'> & {
  wake: () => void
  /** Its key, or its session, may not read on as it did. */
  refused: AbortController
}

export class EventStreams {
  private readonly needs: Needs
  private readonly limits: StreamLimits
  private readonly readers = new Set<Reader>()
  /** The newest number of each customer who streams, when it was last looked up. */
  private readonly newest = new Map<string, bigint>()
  /** What is being read at the moment, by customer and number. */
  private readonly readings = new Map<string, Promise<EventLines[]>>()
  private readonly closing = new AbortController()
  private looking: Promise<void> | undefined
  private look_again = false
  private keeps_looking = false

  constructor(needs: Needs) {
    this.needs = needs
    this.limits = needs.limits ?? STREAM_LIMITS
  }

  get count(): number {
    return this.readers.size
  }

  /** Somebody has numbered events. */
  poke(): void {
    if (this.readers.size === 0) return
    this.look_again = true
    // While the database is away nobody is woken; it is looked at again within a second.
    const done = () => {
      this.looking = undefined
    }
    this.looking ??= this.look().then(done, done)
  }

  /** Ends all streams: their readers go on elsewhere after their last number. */
  close(): void {
    this.closing.abort()
    for (const { wake } of this.readers) wake()
  }

  private async look(): Promise<void> {
    while (this.look_again) {
      this.look_again = false
      const customers = [...new Set([...this.readers].map(({ customer_id }) => customer_id))]
      const rows = await this.needs.sql<{ customer_id: string; last_number: bigint }>`
        select customer_id, last_number from event_counter where customer_id = any(${customers})`
      const moved = new Set<string>()
      for (const { customer_id, last_number } of rows) {
        if (this.newest.get(customer_id) !== last_number) moved.add(customer_id)
        this.newest.set(customer_id, last_number)
      }
      for (const { customer_id, wake } of this.readers) if (moved.has(customer_id)) wake()
    }
  }

  private admit({ customer_id, key_id, scopes, user }: Customer): Reader {
    const own = [...this.readers].filter((one) => one.customer_id === customer_id)
    const { key_max, customer_max, process_max } = this.limits
    if (this.readers.size >= process_max) throw new TooManyRequests(5)
    if (own.length >= customer_max) throw LimitReached('stream', 'Too many streams are open')
    if (own.filter((one) => one.key_id === key_id).length >= key_max)
      throw LimitReached('stream', 'Too many streams of this key are open')
    const refused = new AbortController()
    const reader: Reader = { customer_id, key_id, scopes, user, wake: () => {}, refused }
    this.readers.add(reader)
    if (!this.keeps_looking) void this.keepLooking()
    return reader
  }

  private leave(reader: Reader): void {
    this.readers.delete(reader)
    const { customer_id } = reader
    const isOwn = (one: Reader) => one.customer_id === customer_id
    if (![...this.readers].some(isOwn)) this.newest.delete(customer_id)
  }

  /** While anybody streams. A wake that is lost costs a second. */
  private async keepLooking(): Promise<void> {
    this.keeps_looking = true
    while (this.readers.size > 0 && !this.closing.signal.aborted) {
      this.poke()
      // While the database is away nobody can change a key either.
      await this.endRefused().catch(() => {})
      await delay(LOOK_MS, undefined, { ref: false })
    }
    this.keeps_looking = false
  }

  /** Ends the streams of keys that may not be used any more, or have other scopes, and those of
   *  sessions that are over. */
  private async endRefused(): Promise<void> {
    const readers = [...this.readers]
    const sessions = readers.flatMap(({ user }) => user?.session_id ?? [])
    const [scopes_of, open] = await Promise.all([
      this.needs.scopesOf([...new Set(readers.map(({ key_id }) => key_id))]),
      sessions.length === 0 ? new Set<string>() : this.needs.openSessions(sessions),
    ])
    for (const { key_id, scopes, user, refused } of readers) {
      const same = scopes_of.has(key_id) && `${scopes_of.get(key_id)}` === `${scopes}`
      if (!same || (user && !open.has(user.session_id))) refused.abort()
    }
  }

  /** Lines of server-sent events. Throws LimitReached before the first of them. Ends after an hour,
   *  when the process stops, when the key is revoked or has other scopes, or when `gone` says that
   *  nobody reads any more. */
  async open(wanted: StreamOptions, gone: AbortSignal): Promise<AsyncIterable<string>> {
    const reader = this.admit(wanted.customer)
    // Whoever goes before the first line is written is nobody whose lines end.
    gone.addEventListener('abort', () => this.leave(reader), { once: true })
    if (gone.aborted) this.leave(reader)
    try {
      const { newest } = await eventBounds(this.needs.sql, wanted.customer.customer_id)
      return this.lines(reader, wanted, { newest, gone })
    } catch (thrown) {
      this.leave(reader)
      throw thrown
    }
  }

  private async *lines(
    reader: Reader,
    wanted: StreamOptions,
    { newest, gone }: { newest: bigint; gone: AbortSignal },
  ): AsyncGenerator<string> {
    const { clock } = this.needs
    const ended = AbortSignal.any([gone, reader.refused.signal, this.closing.signal])
    const until_ms = clock.now().getTime() + LIFE_MS
    let last = wanted.after ?? newest
    ended.addEventListener('abort', () => reader.wake(), { once: true })
    try {
      yield `: ${clock.now().toISOString()} ${newest}\n\n`
      while (!ended.aborted && clock.now().getTime() < until_ms) {
        const news = this.next(reader)
        const known = this.newest.get(reader.customer_id) ?? 0n
        const until = known > newest ? known : newest
        if (last < until) {
          const { lines, read_to } = await this.readOn(wanted, { after: last, until })
          last = read_to
          if (lines !== '') yield lines
        } else if ((await news) === 'beat') yield ': \n\n'
      }
    } finally {
      this.leave(reader)
    }
  }

  /** The lines of what this reader asked for after a number, and how far that was read. */
  private async readOn(
    { customer, types, subject, tests }: StreamOptions,
    between: Between,
  ): Promise<{ lines: string; read_to: bigint }> {
    const found = await this.read(customer.customer_id, between)
    const lines = found
      .filter(
        ({ event }) =>
          (tests || !event.test) &&
          (types?.includes(event.type) ?? true) &&
          (subject === undefined || event.subject === subject),
      )
      .map((reading) => this.linesOf(reading, customer))
    // Where there is nothing, it is not kept any more: looked for again, it would be so at once.
    return { lines: lines.join(''), read_to: found.at(-1)?.event.number ?? between.until }
  }

  private read(customer_id: string, { after, until }: Between): Promise<EventLines[]> {
    // A reading that began before the newest event was heard of may not have it: not joined.
    const name = `${after} ${until} ${customer_id}`
    const under_way = this.readings.get(name)
    if (under_way) return under_way
    const reading = listEvents(this.needs.sql, { customer_id, after, limit: EVENTS_AT_ONCE })
      .then((events) => events.map((event) => ({ event, lines: new Map<string, string>() })))
      .finally(() => this.readings.delete(name))
    this.readings.set(name, reading)
    return reading
  }

  private linesOf({ event, lines }: EventLines, customer: Customer): string {
    const scopes = `${customer.scopes}`
    const printed = lines.get(scopes) ?? eventLines(event, this.needs.print(event, customer))
    lines.set(scopes, printed)
    return printed
  }

  /** Settles when there is something new, or after a while. */
  private next(reader: Reader): Promise<'news' | 'beat'> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve('beat'), BEAT_MS).unref()
      reader.wake = () => {
        clearTimeout(timer)
        resolve('news')
      }
    })
  }
}

const eventLines = ({ number, type }: Event, body: string): string =>
  `id: ${number}\nevent: ${type}\ndata: ${body}\n\n`
