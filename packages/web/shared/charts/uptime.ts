// Days as bars: what of each a service was up, and below that, what it was slow or down. A day of
// which little was lost still shows it: no part that there is is thinner than one can see.

import { rounded } from './scales.ts'

export type UptimeDay = { up: number; slow: number; down: number }
export type UptimeKind = keyof UptimeDay

/** What the bars are drawn into, in units of its own. */
export const UPTIME_BOX = { width: 640, height: 36 }
const GAP = 2
const LEAST_HEIGHT = 4

export type UptimePart = {
  day: number
  kind: UptimeKind
  x: number
  y: number
  width: number
  height: number
}

/** The parts of the bars, from the bottom up: down, slow, up. Days that have none have no bar. */
export function uptimeParts(days: readonly UptimeDay[], box = UPTIME_BOX): UptimePart[] {
  const step = box.width / Math.max(1, days.length)
  return days.flatMap(({ up, slow, down }, day) => {
    const all = up + slow + down
    const place = { x: rounded(day * step), width: rounded(Math.max(1, step - GAP)) }
    let bottom = box.height
    const part = (kind: UptimeKind, minutes: number, height: number): UptimePart[] => {
      if (minutes === 0) return []
      bottom -= height
      return [{ day, kind, ...place, y: rounded(bottom), height: rounded(height) }]
    }
    const least = (minutes: number) => (minutes === 0 ? 0 : LEAST_HEIGHT)
    const height = (minutes: number, left: number) =>
      minutes === 0 ? 0 : Math.min(left, Math.max(LEAST_HEIGHT, (minutes / all) * box.height))
    const down_height = height(down, box.height - least(slow) - least(up))
    const slow_height = height(slow, box.height - down_height - least(up))
    return [
      ...part('down', down, down_height),
      ...part('slow', slow, slow_height),
      ...part('up', up, box.height - down_height - slow_height),
    ]
  })
}
