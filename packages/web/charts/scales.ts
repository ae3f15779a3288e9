// From values to places on a drawing. Pure functions: what they return is tested as text, and drawn
// alike with and without a program in the page.

import { extent, max, min } from 'd3-array'
import { type ScaleLinear, type ScaleTime, scaleLinear, scaleUtc } from 'd3-scale'

/** What a chart is drawn into, in units of its own: it is as wide as its place. */
export const BOX = { width: 640, height: 200, left: 56, right: 12, top: 12, bottom: 24 }
export type Box = typeof BOX

const TICKS_ACROSS = 6
const TICKS_UP = 4

export type Scales = { across: ScaleTime<number, number>; up: ScaleLinear<number, number> }

/** Time from left to right, values from zero, or the least of them, upwards. */
export function scalesOf(times: readonly Date[], values: readonly number[], box = BOX): Scales {
  const [first = new Date(0), last = new Date(1)] = extent(times) as [Date, Date]
  const least = Math.min(0, min(values) ?? 0)
  const most = Math.max(max(values) ?? 1, least + 1)
  return {
    across: scaleUtc([first, last], [box.left, box.width - box.right]),
    up: scaleLinear([least, most], [box.height - box.bottom, box.top]).nice(TICKS_UP),
  }
}

export type Tick<Value> = { value: Value; place: number }

export const ticksUp = ({ up }: Scales): Tick<number>[] =>
  up.ticks(TICKS_UP).map((value) => ({ value, place: rounded(up(value)) }))

export const ticksAcross = ({ across }: Scales): Tick<Date>[] =>
  across.ticks(TICKS_ACROSS).map((value) => ({ value, place: rounded(across(value)) }))

/** A tenth of a unit is not seen. */
export const rounded = (place: number): number => Math.round(place * 10) / 10
