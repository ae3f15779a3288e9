// The clock is handed in, so that a simulator can turn it. What is decided or stored takes its time
// from here; the few files that wait, or measure how long something takes, are listed in
// test/rules/floors.test.ts. It says when things happened here; whether an hour is over on the
// chain is decided by the time of blocks.

export type Clock = { now(): Date }

/** Of UTC: every day has as many. */
export const DAY_MS = 86_400_000

export const systemClock: Clock = { now: () => new Date() }

/** A clock that goes as another one does: that of the database, by which processes on different
 *  machines agree about what is late. */
export type CorrectedClock = Clock & {
  /** The other clock said this between two moments of ours. */
  learn(look: { began: Date; ended: Date; said: Date }): void
  /** How far the other one is ahead of ours, as far as is known. */
  offset_ms(): number
}

/** It is moved no further than what was said needs: two clocks that agree stay as they are, however
 *  long an answer has taken. */
export function correctedClock(own: Clock): CorrectedClock {
  let offset_ms = 0
  return {
    now: () => new Date(own.now().getTime() + offset_ms),
    learn({ began, ended, said }) {
      const least_ms = said.getTime() - ended.getTime()
      const most_ms = said.getTime() - began.getTime()
      offset_ms = Math.min(Math.max(offset_ms, least_ms), Math.max(least_ms, most_ms))
    },
    offset_ms: () => offset_ms,
  }
}

/** So many milliseconds from now; before now when negative. */
export function later(clock: Clock, ms: number): Date {
  return new Date(clock.now().getTime() + ms)
}

/** The day of an instant in UTC: `2026-10-08`. */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10)

/** Whether a text of the form `2026-10-08` is a day: Date counts the 31st of a shorter month on
 *  into the next one. */
export const isDay = (text: string): boolean =>
  new Date(`${text}T00:00:00Z`).getUTCDate() === Number(text.slice(8))

/** The moment that `2026-11-01` (its beginning in UTC) or `2026-11-01T12:00:00Z` names; undefined
 *  for any other text. */
export function readMoment(given: string): Date | undefined {
  const at = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/.test(given)
    ? new Date(given)
    : new Date(Number.NaN)
  return !Number.isNaN(at.getTime()) && isDay(given.slice(0, 10)) ? at : undefined
}

/** The given instant in the wire's form, whole seconds in UTC: `2026-10-08T15:26:32Z`. */
export function wireTime(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`
}

export const timeOrNull = (at: Date | null): string | null => (at === null ? null : wireTime(at))
