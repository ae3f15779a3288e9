// What happens while one looks. One tab of a browser reads the stream and passes it on to the
// others: the one that holds the lock. When it is closed, another takes over and goes on after the
// last number.

import { signal } from '@preact/signals'
import type { Event } from 'penstock-sdk'
import { type Envelope, UNAUTHENTICATED } from './ask.ts'
import { forgetSession } from './session.ts'
import { startData } from './start_data.ts'

export type LiveState = 'connecting' | 'live' | 'away'

export const live_state = signal<LiveState>('connecting')
/** When the stream was last heard of, in milliseconds. */
export const heard_at = signal(Date.now())

/** An event as any face may be told it; the portal's are those of the customer. */
export type LiveEvent = Event | { type: string; id?: string; number?: number; data: unknown }

type Listener = (event: LiveEvent) => void
/** Called with each event, and when the stream is back after it was away. */
const listeners = new Set<Listener>()
const returns = new Set<() => void>()

export function onEvent(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** What is shown may be old then: it is asked for again. */
export function onReturn(listener: () => void): () => void {
  returns.add(listener)
  return () => returns.delete(listener)
}

type Message =
  | { state: LiveState }
  | { event: LiveEvent; number: string }
  | { beat: true }
  /** Nobody is signed in any more. */
  | { ended: true }
  /** A tab that has just been opened wants to know how it is. */
  | { asks: true }

const RETRY_MS = 1_000
const RETRY_MS_MAX = 10_000
/** The stream says something every 15 seconds. */
const SILENT_MS = 25_000
let stop: (() => void) | undefined

/** Begins, when somebody is signed in. `after`: the number of an event that all that is asked for
 *  from now on has; what happens after it is heard of, also before the stream is open. */
export function startLive(after: number | null | undefined): void {
  stop?.()
  const ended = new AbortController()
  const channel = new BroadcastChannel(`penstock-live-${startData().face}`)
  let last = after?.toString()
  const hear = (passed: Message) => {
    if ('ended' in passed) return forgetSession()
    if ('event' in passed) {
      // A message between the events, as a tick, has none.
      if (passed.number !== '') last = passed.number
      for (const listener of listeners) listener(passed.event)
    }
    if ('state' in passed) change(passed.state)
    else if (!('asks' in passed)) change('live')
  }
  const pass = (passed: Message) => {
    channel.postMessage(passed)
    hear(passed)
  }
  let is_reader = false
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (!('asks' in data)) hear(data)
    else if (is_reader) channel.postMessage({ state: live_state.peek() } satisfies Message)
  }
  channel.postMessage({ asks: true } satisfies Message)
  const hold = () => {
    is_reader = true
    return readOn({ pass, last: () => last, ended: ended.signal })
  }
  void navigator.locks
    .request(`penstock-live-${startData().face}`, { signal: ended.signal }, hold)
    .catch(() => {})
  stop = () => {
    ended.abort()
    channel.close()
  }
}

/** All that is shown is asked for again: for one who has signed in again. */
export function askAgain(): void {
  for (const listener of returns) listener()
}

/** Ends, when nobody is signed in any more. */
export function stopLive(): void {
  stop?.()
  stop = undefined
  live_state.value = 'connecting'
}

function change(state: LiveState): void {
  const was = live_state.peek()
  if (state === 'live') heard_at.value = Date.now()
  live_state.value = state
  if (state === 'live' && was === 'away') askAgain()
}

type ReadInput = {
  pass: (passed: Message) => void
  last: () => string | undefined
  ended: AbortSignal
}

/** Reads the stream, again and again, until this tab is closed. */
async function readOn({ pass, last, ended }: ReadInput): Promise<void> {
  let pause_ms = RETRY_MS
  while (!ended.aborted) {
    const began = Date.now()
    await readOnce({ pass, last, ended }).catch(() => {})
    if (ended.aborted) return
    if (Date.now() - began > RETRY_MS_MAX) pause_ms = RETRY_MS
    await new Promise((resolve) => setTimeout(resolve, pause_ms))
    if (ended.aborted) return
    // Not before: a page that is left ends its stream too, and the next one is not away.
    pass({ state: 'away' })
    pause_ms = Math.min(2 * pause_ms, RETRY_MS_MAX)
  }
}

async function readOnce({ pass, last, ended }: ReadInput): Promise<void> {
  const gone = new AbortController()
  const signal = AbortSignal.any([ended, gone.signal])
  const after = last()
  const headers: Record<string, string> = { accept: 'text/event-stream', 'x-penstock': '1' }
  if (after !== undefined) headers['last-event-id'] = after
  const answer = await fetch(`${startData().base}/events`, { headers, signal })
  if (!answer.ok || !/event-stream/.test(answer.headers.get('content-type') ?? '')) {
    const { code } = (await answer.json()) as Envelope
    if (code === UNAUTHENTICATED) pass({ ended: true })
    return
  }
  pass({ state: 'live' })
  let silence = setTimeout(() => gone.abort(), SILENT_MS)
  let rest = ''
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    clearTimeout(silence)
    silence = setTimeout(() => gone.abort(), SILENT_MS)
    const blocks = (rest + piece.value).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const event = eventOf(block)
      pass(event ?? { beat: true })
    }
  }
  clearTimeout(silence)
}

/** An event of its lines; undefined for a comment. */
export function eventOf(block: string): { event: LiveEvent; number: string } | undefined {
  const fields: Record<string, string> = {}
  for (const line of block.split('\n')) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (name !== undefined) fields[name] = (fields[name] ?? '') + value
  }
  if (fields.data === undefined) return undefined
  const data = JSON.parse(fields.data) as LiveEvent
  const event = typeof data === 'object' && 'type' in data ? data : undefined
  return {
    event: event ?? { type: fields.event ?? 'message', data },
    number: fields.id ?? '',
  }
}
