// Lines, bands and bars as the paths of SVG.

import { area, curveLinear, curveStepAfter, line } from 'd3-shape'
import { BOX, rounded, type Scales } from './scales.ts'

export type Point = { at: Date; value: number }
export type Span = { at: Date; least: number; most: number }

/** A line through the points; `steps` for what holds until it changes. */
export function linePath(
  { across, up }: Scales,
  points: readonly Point[],
  { steps = false } = {},
): string {
  const drawn = line<Point>(
    ({ at }) => across(at),
    ({ value }) => up(value),
  )
    .digits(1)
    .curve(steps ? curveStepAfter : curveLinear)
  return drawn([...points]) ?? ''
}

/** The area between the least and the most. */
export function bandPath({ across, up }: Scales, spans: readonly Span[]): string {
  const drawn = area<Span>(
    ({ at }) => across(at),
    ({ least }) => up(least),
    ({ most }) => up(most),
  ).digits(1)
  return drawn([...spans]) ?? ''
}

export type Bar = { x: number; y: number; width: number; height: number }

const BARS_GAP = 2

/** A bar for each point, side by side over the whole width. */
export function barsOf({ up }: Scales, points: readonly Point[], box = BOX): Bar[] {
  const step = (box.width - box.left - box.right) / Math.max(1, points.length)
  const zero = up(0)
  return points.map(({ value }, i) => ({
    x: rounded(box.left + i * step + BARS_GAP / 2),
    y: rounded(Math.min(zero, up(value))),
    width: rounded(Math.max(1, step - BARS_GAP)),
    height: rounded(Math.abs(zero - up(value))),
  }))
}

/** The first point of a line that is below a value, on the line itself; undefined: none is. */
export function crossingBelow(points: readonly Point[], value: number): Point | undefined {
  const i = points.findIndex((point) => point.value < value)
  const [before, below] = [points[i - 1], points[i]]
  if (!before || !below) return below
  const share = (before.value - value) / (before.value - below.value)
  const ms = below.at.getTime() - before.at.getTime()
  return { at: new Date(before.at.getTime() + share * ms), value }
}
