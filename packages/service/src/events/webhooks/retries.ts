// When a notice is called again after a call that failed, and when it is dead.

/** Seconds from a call that failed to the next. */
const SCHEDULE_SECONDS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
/** So far a pause may differ from the schedule, so that not all come back at once. */
const SPREAD = 0.1

/** The calls of a notice that count, and when the next is due. */
type Calls = { calls: number; due_at: Date }

/** The state of a notice after a call. A call ahead of its time, to see whether a webhook that
 *  failed on and on is back, uses up nothing of the schedule when it fails. `chance`: 0 up to 1,
 *  for how far the pause differs. */
export function afterCall(
  before: Calls,
  { at, is_delivered }: { at: Date; is_delivered: boolean },
  chance: () => number,
): Calls & { state: 'delivered' | 'due' | 'dead' } {
  const calls = before.calls + 1
  if (is_delivered) return { state: 'delivered', calls, due_at: at }
  if (before.due_at > at) return { state: 'due', calls: before.calls, due_at: before.due_at }
  const seconds = SCHEDULE_SECONDS[before.calls]
  if (seconds === undefined) return { state: 'dead', calls, due_at: at }
  const factor = 1 - SPREAD + 2 * SPREAD * chance()
  return { state: 'due', calls, due_at: new Date(at.getTime() + seconds * 1_000 * factor) }
}
