// How long a process lets nobody else have its event loop, in processor time: on a machine that is
// shared, the clock says how long others had the processor.

/** Watches until it is stopped, which says the longest turn, in milliseconds of the processor. */
export function watchTurns(): { stop(): number } {
  let longest_us = 0
  let watching = true
  let before = process.threadCpuUsage()
  const look = () => {
    const { user, system } = process.threadCpuUsage(before)
    before = process.threadCpuUsage()
    longest_us = Math.max(longest_us, user + system)
    if (watching) setImmediate(look)
  }
  setImmediate(look)
  return {
    stop() {
      watching = false
      return longest_us / 1_000
    },
  }
}
