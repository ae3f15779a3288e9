// From values to places on a drawing. Pure functions: what they return is tested as text, and drawn
// alike with and without a program in the page.

import { extent, max, min } from 'd3-array'
import { type ScaleLinear, scaleLinear } from 'd3-scale'

/** What a chart is drawn into, in units of its own: it is as wide as its place. */
export const BOX = { width: 420, height: 170, left: 48, right: 12, top: 12, bottom: 24 }

const TICKS_ACROSS = 5
const TICKS_UP = 4

export type Scales = {
  /** The place of a time, from left to right. */
  across: (at: Date) => number
  up: ScaleLinear<number, number>
  times: readonly Date[]
}

/** Time from left to right; values from zero, or the least of them, upwards. */
export function scalesOf(times: readonly Date[], values: readonly number[], box = BOX): Scales {
  const [first = 0, last = 1] = extent(times, (at) => at.getTime()) as [number, number]
  const least = Math.min(0, min(values) ?? 0)
  const most = Math.max(max(values) ?? 1, least + 1)
  // The scale of times that d3 has is as large as all the rest of a page: it can write dates.
  const across = scaleLinear([first, last], [box.left, box.width - box.right])
  const up = scaleLinear([least, most], [box.height - box.bottom, box.top]).nice(TICKS_UP)
  return { across: (at) => across(at.getTime()), up, times }
}

export type Tick<Value> = { value: Value; place: number }

export const ticksUp = ({ up }: Scales): Tick<number>[] =>
  up.ticks(TICKS_UP).map((value) => ({ value, place: rounded(up(value)) }))

/** Some of the times that are drawn, at even distances. */
export function ticksAcross({ across, times }: Scales): Tick<Date>[] {
  const step = Math.max(1, Math.ceil(times.length / TICKS_ACROSS))
  return times
    .filter((_, i) => i % step === Math.floor(step / 2))
    .map((value) => ({ value, place: rounded(across(value)) }))
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Distances at which people look at a clock or a calendar. */
const STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 7, 14, 30, 90].map((days) => days * DAY_MS),
]

/** Round times between the first and the last, such as full hours. `ahead_ms`: how far the clock
 *  that they are read by is ahead of UTC. */
export function roundTicksAcross({ across, times }: Scales, ahead_ms = 0): Tick<Date>[] {
  const [first, last] = extent(times, (at) => at.getTime() + ahead_ms)
  if (first === undefined || last === undefined) return []
  const step = STEPS_MS.find((one) => (last - first) / one <= TICKS_ACROSS) ?? 365 * DAY_MS
  const begin = Math.ceil(first / step) * step
  const ticks: Tick<Date>[] = []
  for (let at_ms = begin; at_ms <= last; at_ms += step) {
    const value = new Date(at_ms - ahead_ms)
    ticks.push({ value, place: rounded(across(value)) })
  }
  return ticks
}

/** A tenth of a unit is not seen. */
export const rounded = (place: number): number => Math.round(place * 10) / 10
