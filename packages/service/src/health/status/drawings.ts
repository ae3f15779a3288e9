// The drawings of the status page, as text of SVG: the shapes are those of the pages that have
// programs. What a drawing says is said beside it in a sentence, and in a table below.

import {
  BOX,
  type Scales,
  scalesOf,
  ticksAcross,
  ticksUp,
} from 'penstock-web/shared/charts/scales.ts'
import { barsOf, linePath } from 'penstock-web/shared/charts/shapes.ts'
import { UPTIME_BOX, uptimeParts } from 'penstock-web/shared/charts/uptime.ts'
import { escaped } from '../../lib/html.ts'
import type { LatencyStatus, PartStatus } from './report.ts'

/** The days of a part, each with its words when one points at it. */
export function uptimeDrawing(
  days: PartStatus['days'],
  { label, wordsOfDay }: { label: string; wordsOfDay(day: PartStatus['days'][number]): string },
): string {
  const bars = uptimeParts(days).map(
    ({ day, kind, x, y, width, height }) =>
      `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}">` +
      `<title>${escaped(wordsOfDay(days[day]!))}</title></rect>`,
  )
  const { width, height } = UPTIME_BOX
  // Days of which nothing is known stand behind all of them, as one.
  const behind = `<path class="unknown" d="${emptyDays(days.length)}"/>`
  return (
    `<svg class="uptime" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" ` +
    `aria-label="${escaped(label)}">${behind}${bars.join('')}</svg>`
  )
}

/** The places of all days, as one path. */
function emptyDays(days: number): string {
  const { height } = UPTIME_BOX
  const places = uptimeParts(Array.from({ length: days }, () => ({ up: 1, slow: 0, down: 0 })))
  return places.map(({ x, width }) => `M${x},0h${width}v${height}h-${width}z`).join('')
}

const SPARK = { ...BOX, width: 120, height: 24, left: 2, right: 2, top: 4, bottom: 4 }

/** The line of 95 of 100 alone, small: the sentence beside it says the last of it. */
export function sparkDrawing(days: LatencyStatus['days']): string {
  const points = days.flatMap(({ day, p95_ms: value }) =>
    value === null ? [] : [{ at: new Date(`${day}T00:00:00Z`), value }],
  )
  if (points.length < 2) return ''
  const scales = scalesOf(
    points.map(({ at }) => at),
    points.map(({ value }) => value),
    SPARK,
  )
  return (
    `<svg class="spark" viewBox="0 0 ${SPARK.width} ${SPARK.height}" aria-hidden="true">` +
    `<path class="line" d="${linePath(scales, points)}"/></svg>`
  )
}

/** Three lines over the days: half, 95 and 99 of 100 lie below them. A day with no samples, or in
 *  which so many failed, has no point. */
export function percentilesDrawing(
  days: LatencyStatus['days'],
  { label, duration }: { label: string; duration(ms: number): string },
): string {
  const at = (day: string) => new Date(`${day}T00:00:00Z`)
  const lines = (['p99_ms', 'p95_ms', 'p50_ms'] as const).map((field) =>
    days.flatMap(({ day, [field]: value }) => (value === null ? [] : [{ at: at(day), value }])),
  )
  const scales = scalesOf(
    days.map(({ day }) => at(day)),
    lines.flat().map(({ value }) => value),
  )
  const paths = lines.map((points, i) => {
    const name = ['line third', 'line second', 'line'][i]!
    // One day alone would be a line without length.
    const dots = points.length > 1 ? '' : points.map((point) => dot(scales, name, point)).join('')
    return `<path class="${name}" d="${linePath(scales, points)}"/>${dots}`
  })
  return chart(label, axes(scales, duration) + paths.join(''))
}

/** TRX for 1000 energy, as sun for one. */
const SUN_OF_ONE = 1_000

/** What 1000 energy cost, in TRX, from the smallest order to the largest: a step for each tier, all
 *  of one width, and dashed what burning costs. */
export function pricesDrawing(
  tiers: readonly { from: string; trx: number }[],
  { burning_trx, label }: { burning_trx: number | undefined; label: string },
): string {
  const ends = Array.from({ length: tiers.length + 1 }, (_, i) => new Date(i))
  // In sun for one energy: a scale reaches to 1 at least.
  const sunOf = (trx: number) => trx * SUN_OF_ONE
  const values = [...tiers.map(({ trx }) => trx), burning_trx ?? 0]
  const scales = scalesOf(ends, values.map(sunOf))
  const at = (i: number) => tiers[Math.min(i, tiers.length - 1)]!
  const steps = ends.map((end, i) => ({ at: end, value: sunOf(at(i).trx) }))
  const dashed = ends.map((end) => ({ at: end, value: sunOf(burning_trx ?? 0) }))
  const names = tiers.map(
    ({ from }, i) =>
      `<text x="${scales.across(ends[i]!)}" y="${BOX.height - 6}" aria-hidden="true">` +
      `${escaped(from)}</text>`,
  )
  return chart(
    label,
    grid(scales, (sun) => String(sun / SUN_OF_ONE)) +
      names.join('') +
      `<path class="line" d="${linePath(scales, steps, { steps: true })}"/>` +
      (burning_trx === undefined
        ? ''
        : `<path class="line second" d="${linePath(scales, dashed)}"/>`),
  )
}

const dot = ({ across, up }: Scales, name: string, { at, value }: { at: Date; value: number }) =>
  `<path class="${name}" d="M${across(at) - 6},${up(value)}h12"/>`

/** How many took so long. */
export function histogramDrawing(counts: readonly number[], label: string): string {
  const points = counts.map((value, i) => ({ at: new Date(i), value }))
  const scales = scalesOf(
    points.map(({ at }) => at),
    counts,
  )
  const bars = barsOf(scales, points)
    .filter(({ height }) => height > 0)
    .map(
      ({ x, y, width, height }) =>
        `<rect class="bar" x="${x}" y="${y}" width="${width}" height="${height}"/>`,
    )
  return chart(label, grid(scales, String) + bars.join(''))
}

const chart = (label: string, inside: string) =>
  `<svg viewBox="0 0 ${BOX.width} ${BOX.height}" role="img" aria-label="${escaped(label)}">` +
  `${inside}</svg>`

const axes = (scales: Scales, duration: (ms: number) => string) =>
  grid(scales, duration) +
  ticksAcross(scales)
    .map(
      ({ value, place }) =>
        `<text x="${place}" y="${BOX.height - 6}" text-anchor="middle" aria-hidden="true">` +
        `${value.toISOString().slice(5, 10)}</text>`,
    )
    .join('')

const grid = (scales: Scales, print: (value: number) => string) =>
  ticksUp(scales)
    .map(
      ({ value, place }) =>
        `<line class="grid" x1="${BOX.left}" x2="${BOX.width - BOX.right}" y1="${place}" ` +
        `y2="${place}"/><text x="${BOX.left - 6}" y="${place + 4}" text-anchor="end" ` +
        `aria-hidden="true">${escaped(print(value))}</text>`,
    )
    .join('')
