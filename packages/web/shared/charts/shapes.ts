// Lines, bands and bars as the paths of SVG.

import { BOX, rounded, type Scales } from './scales.ts'

export type Point = { at: Date; value: number }
export type Span = { at: Date; least: number; most: number }

type Place = readonly [x: number, y: number]

/** From place to place; `steps`: along first, then up or down. */
const through = (places: readonly Place[], steps: boolean): string =>
  places
    .flatMap(([x, y], i) => {
      const before = places[i - 1]
      return steps && before ? [`${x},${before[1]}`, `${x},${y}`] : [`${x},${y}`]
    })
    .join('L')

/** A line through the points; `steps` for what holds until it changes. */
export function linePath(
  { across, up }: Scales,
  points: readonly Point[],
  { steps = false } = {},
): string {
  const places = points.map(({ at, value }): Place => [rounded(across(at)), rounded(up(value))])
  return places.length === 0 ? '' : `M${through(places, steps)}`
}

/** The area between the least and the most. */
export function bandPath(
  { across, up }: Scales,
  spans: readonly Span[],
  { steps = false } = {},
): string {
  const edge = (value: 'least' | 'most') =>
    spans.map((span): Place => [rounded(across(span.at)), rounded(up(span[value]))])
  if (spans.length === 0) return ''
  const below = through(edge('least'), steps).split('L').reverse().join('L')
  return `M${through(edge('most'), steps)}L${below}Z`
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
