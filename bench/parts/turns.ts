// How long a process lets nobody else have its event loop, in processor time: on a machine that is
// shared, the clock says how long others had the processor.

/** Watches until it is stopped, which says the longest turn, in milliseconds of the processor. */
export function watchTurns(): { stop(): number } {
  let longest_us = 0
  let watching = true
  let before = process.threadCpuUsage()
  // To look after each turn would take as much of the processor as many of them do: what is seen is
  // a millisecond of turns and the one after.
  const look = () => {
    const now = process.threadCpuUsage()
    longest_us = Math.max(longest_us, now.user + now.system - before.user - before.system)
    before = now
    if (watching) setTimeout(look, 1)
  }
  setTimeout(look, 1)
  return {
    stop() {
      watching = false
      return longest_us / 1_000
    },
  }
}
