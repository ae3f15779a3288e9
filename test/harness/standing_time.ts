// Time that stands until a test moves it, and those who wait for it.

/** `settle` lets everything happen that can happen now. */
export function standingTime(settle: () => Promise<unknown>) {
  let now_ms = 0
  let waiting: { at_ms: number; go: () => void }[] = []
  return {
    timer: {
      now_ms: () => now_ms,
      wait: (ms: number) => new Promise<void>((go) => waiting.push({ at_ms: now_ms + ms, go })),
    },
    /** Goes on by so many milliseconds, in steps. */
    async pass(ms: number, step_ms = 1) {
      for (const end_ms = now_ms + ms; now_ms < end_ms; ) {
        now_ms = Math.min(end_ms, now_ms + step_ms)
        const due = waiting.filter(({ at_ms }) => at_ms <= now_ms)
        waiting = waiting.filter(({ at_ms }) => at_ms > now_ms)
        for (const { go } of due) go()
        await settle()
      }
    },
  }
}

/** The most that was asked in any second, wherever it begins. */
export const mostInOneSecond = (times_ms: readonly number[]) =>
  Math.max(
    0,
    ...times_ms.map(
      (at_ms) => times_ms.filter((one) => one >= at_ms && one < at_ms + 1_000).length,
    ),
  )
