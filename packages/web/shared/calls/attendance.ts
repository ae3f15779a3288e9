// Whether somebody is at the page. What a page asks by itself, because something has happened or a
// while is over, must not keep a session alive that nobody uses.

const AWAY_AFTER_MS = 60_000
const SIGNS = ['pointerdown', 'pointermove', 'keydown', 'wheel']
let touched_at = Date.now()

export function watchAttendance(): void {
  const touched = () => {
    touched_at = Date.now()
  }
  for (const sign of SIGNS) addEventListener(sign, touched, { capture: true, passive: true })
}

/** The header of a call that nobody at the page has caused. */
export const attendanceHeaders = (): Record<string, string> =>
  Date.now() - touched_at > AWAY_AFTER_MS ? { 'x-penstock-unattended': '1' } : {}
