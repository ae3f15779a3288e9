// Who is signed in at this face. `undefined` until the service has said; `null`: nobody.

import { computed, signal } from '@preact/signals'
import { post } from './ask.ts'

export type Scope = string

export type Session = {
  id: string
  user: { id: string; name: string; sign_in_name: string | null; role: string }
  customer: { id: string; name: string } | null
  scopes: readonly Scope[]
  ends_at: string
  idle_at: string
  stepped_up_until: string | null
}

/** What a page needs to start, as `session/begin` answers it. */
export type BeginAnswer = {
  /** The time of the service. */
  now: string
  session: Session | null
  /** The newest event by then: what is asked for later has it, and the stream goes on after it. */
  event_number: number | null
  /** What a browser asks a passkey for; null where none can be. */
  passkey: unknown
  passkeys_possible: boolean
  /** Whether one can make an account here. */
  sign_up_possible: boolean
  why_not: string | null
  network: string | null
  brand: unknown
}

export const beginning = signal<BeginAnswer | undefined>(undefined)

export const session = computed<Session | null | undefined>(() => beginning.value?.session)

/** Who was signed in until the session ended by itself or from elsewhere: what they have typed
 *  waits for them, out of sight. */
export const awaited = signal<Session | null>(null)

let ahead_ms = 0

/** How far the clock of this browser is ahead of the service's. */
export const clockAheadMs = (): number => ahead_ms

/** Asks who is signed in. Throws a Fault. */
export async function begin(): Promise<BeginAnswer> {
  const said = await post<BeginAnswer>('/session/begin', {})
  ahead_ms = Date.now() - Date.parse(said.now)
  beginning.value = said
  if (said.session) awaited.value = said.session
  return said
}

/** Whoever was signed in has left: nothing of theirs is kept. */
export function leaveSession(): void {
  awaited.value = null
  forgetSession()
}

/** Nobody is, whatever we thought. */
export function forgetSession(): void {
  const said = beginning.peek()
  if (said?.session) beginning.value = { ...said, session: null }
}

/** Whether the one who is signed in, or whose page waits, may call what needs this scope, or one of
 *  these. */
export function may(scope: Scope | readonly Scope[] | null): boolean {
  if (scope === null) return true
  const wanted = typeof scope === 'string' ? [scope] : scope
  const { scopes } = session.value ?? awaited.value ?? {}
  return scopes?.some((one) => wanted.includes(one)) ?? false
}
