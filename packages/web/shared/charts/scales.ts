// From values to places on a drawing. Pure functions: what they return is tested as text, and drawn
// alike with and without a program in the page.

import { extent, max, min, nice, ticks } from 'd3-array'

/** What a chart is drawn into, in units of its own: it is as wide as its place. */
export type Box = Record<'width' | 'height' | 'left' | 'right' | 'top' | 'bottom', number>
export const BOX: Box = { width: 420, height: 170, left: 48, right: 12, top: 12, bottom: 24 }

const TICKS_ACROSS = 5
const TICKS_UP = 4

export type Scales = {
  /** The place of a time, from left to right. */
  across: (at: Date) => number
  /** The place of a value. */
  up: (value: number) => number
  /** From the value at the foot to that at the top: round numbers. */
  range: readonly [least: number, most: number]
  times: readonly Date[]
  /** All values are zero, or there are none. */
  is_zero: boolean
}

/** Time from left to right; values from zero, or the least of them, upwards. `for_bars`: half a bar
 *  stands beside the first and the last time. */
export function scalesOf(
  times: readonly Date[],
  values: readonly number[],
  box = BOX,
  for_bars = false,
): Scales {
  const [first = 0, last = 1] = extent(times, (at) => at.getTime()) as [number, number]
  const least = Math.min(0, min(values) ?? 0)
  const most = Math.max(max(values) ?? 1, least + 1)
  const range = nice(least, most, TICKS_UP)
  const half = for_bars ? (box.width - box.left - box.right) / (2 * Math.max(1, times.length)) : 0
  const across = linear([first, last], [box.left + half, box.width - box.right - half])
  const up = linear(range, [box.height - box.bottom, box.top])
  const is_zero = values.every((value) => value === 0)
  return { across: (at) => across(at.getTime()), up, range, times, is_zero }
}

/** From one range to another, as a line goes. A range of one value stands in the middle. */
function linear([from, to]: readonly [number, number], [begin, end]: readonly [number, number]) {
  const share = (value: number) => (to === from ? 0.5 : (value - from) / (to - from))
  return (value: number): number => begin + share(value) * (end - begin)
}

export type Tick<Value> = { value: Value; place: number }

/** Round values. A short axis has whole ones alone, since nothing that is drawn comes in parts; one
 *  on which nothing is more than zero has that alone. */
export const ticksUp = ({ up, range: [least, most], is_zero }: Scales): Tick<number>[] =>
  ticks(least, most, TICKS_UP)
    .filter((value) => (most - least > TICKS_UP || Number.isInteger(value)) && !(is_zero && value))
    .map((value) => ({ value, place: rounded(up(value)) }))

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

/** Which of the times that are drawn is the nearest to a place; undefined: none is drawn. */
export function nearest({ across, times }: Scales, place: number): number | undefined {
  const distances = times.map((at) => Math.abs(across(at) - place))
  return distances.length === 0 ? undefined : distances.indexOf(Math.min(...distances))
}

/** A tenth of a unit is not seen. */
export const rounded = (place: number): number => Math.round(place * 10) / 10
