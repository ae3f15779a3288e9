// A chart in its place: a title, a sentence of what it says, the drawing with a reading line that
// arrow keys move, and the same as a table.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Table } from '../parts/table.tsx'
import { clockText, dayText, is_utc, timeText } from '../parts/time.tsx'
import { count, say } from '../words/words.ts'
import { BOX, rounded, roundTicksAcross, type Scales, ticksAcross, ticksUp } from './scales.ts'

/** What stands over one place of the chart. */
export type ChartReading = { at: Date; texts: readonly string[] }

export type ChartProps = {
  title: string
  /** What it says, computed. */
  sentence: string
  scales: Scales
  /** Of each place from left to right; the columns of the table. */
  columns: readonly string[]
  readings: readonly ChartReading[]
  /** Days have no time of day. */
  days?: boolean
  /** The shapes. */
  children: ComponentChildren
}

export function Chart(props: ChartProps) {
  const { title, sentence, scales, columns, readings, days = false, children } = props
  const id = useId()
  const reading = useSignal<number | undefined>(undefined)
  const atText = days ? dayText : (at: Date) => timeText(at)
  const chosen = reading.value === undefined ? undefined : readings[reading.value]
  const said = chosen && [atText(chosen.at), ...textsWith(columns, chosen)].join(', ')
  function move(event: KeyboardEvent) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (by === undefined || readings.length === 0) return
    event.preventDefault()
    const from = reading.value ?? (by > 0 ? -1 : readings.length)
    reading.value = Math.min(readings.length - 1, Math.max(0, from + by))
  }
  return (
    <figure class="chart panel" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      <figcaption>{sentence}</figcaption>
      <svg
        viewBox={`0 0 ${BOX.width} ${BOX.height}`}
        role="img"
        aria-label={`${title}. ${sentence} ${say('chart.keys')}`}
        tabIndex={0}
        onKeyDown={move}
        onBlur={() => {
          reading.value = undefined
        }}
      >
        <Axes scales={scales} days={days} />
        {children}
        {chosen && <ReadingLine place={scales.across(chosen.at)} />}
      </svg>
      <p class="quiet" role="status">
        {said}
      </p>
      <details>
        <summary>{say('chart.table')}</summary>
        <Table
          caption={title}
          rows={readings}
          keyOf={({ at }) => at.toISOString()}
          columns={[
            { title: say('time'), cell: ({ at }) => atText(at) },
            ...columns.map((column, i) => ({
              title: column,
              is_figure: true,
              cell: ({ texts }: ChartReading) => texts[i],
            })),
          ]}
        />
      </details>
    </figure>
  )
}

const textsWith = (columns: readonly string[], { texts }: ChartReading): string[] =>
  texts.map((text, i) => `${columns[i]} ${text}`)

const ReadingLine = ({ place }: { place: number }) => (
  <line
    class="reading"
    x1={rounded(place)}
    x2={rounded(place)}
    y1={BOX.top}
    y2={BOX.height - BOX.bottom}
  />
)

/** Lines for the values, words for the times. */
function Axes({ scales, days }: { scales: Scales; days: boolean }) {
  const up = ticksUp(scales)
  const unit = unitOf(Math.max(...up.map(({ value }) => Math.abs(value))))
  const zone_ms = is_utc.value ? 0 : -MINUTE_MS * new Date().getTimezoneOffset()
  const across = days ? ticksAcross(scales) : roundTicksAcross(scales, zone_ms)
  const has_days = across.some(({ value }, i) => i > 0 && isOtherDay(value, across[i - 1]!.value))
  const label = (at: Date) => (days || has_days ? dayText(at) : clockText(at))
  return (
    <g aria-hidden="true">
      {up.map(({ value, place }) => (
        <g key={value}>
          <line class="grid" x1={BOX.left} x2={BOX.width - BOX.right} y1={place} y2={place} />
          <text x={BOX.left - 6} y={place + 4} text-anchor="end">
            {shortCount(value, unit)}
          </text>
        </g>
      ))}
      {across.map(({ value, place }) => (
        <text key={place} x={place} y={BOX.height - 6} text-anchor="middle">
          {label(value)}
        </text>
      ))}
    </g>
  )
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const isOtherDay = (one: Date, other: Date) => one.getTime() - other.getTime() >= DAY_MS

/** Beside an axis there is little room. Largest first. */
const UNITS = [
  [1_000_000_000, 'G'],
  [1_000_000, 'M'],
  [1_000, 'k'],
] as const
type Unit = (typeof UNITS)[number]

/** The unit of a whole axis, by its largest value: `8 k` stands below `10 k`. */
const unitOf = (most: number): Unit | undefined =>
  UNITS.find(([size]) => most >= (size === 1_000 ? 10 * size : size))

const shortCount = (value: number, unit: Unit | undefined): string =>
  unit === undefined || value === 0 ? count(value) : `${count(value / unit[0])} ${unit[1]}`
