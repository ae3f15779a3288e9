// Preloaded into a process whose clock is to be wrong, by as many milliseconds as the variable
// CLOCK_AHEAD_MS says. What stands in for a machine's wrong clock where libfaketime is not there.

const ahead_ms = Number(process.env.CLOCK_AHEAD_MS)
const RightDate = Date

globalThis.Date = class extends RightDate {
  constructor(...given) {
    if (given.length === 0) super(RightDate.now() + ahead_ms)
    else super(...given)
  }
  static now() {
    return RightDate.now() + ahead_ms
  }
}
const { timeOrigin } = performance
Object.defineProperty(performance, 'timeOrigin', { get: () => timeOrigin + ahead_ms })
