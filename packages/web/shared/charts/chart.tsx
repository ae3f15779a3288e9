// A chart in its place: a title, a sentence of what it says, the drawing, and the same as a table.
// A line for reading follows the pointer and a finger, and the arrow keys; where it stands, the
// time and the values are shown, and said to those who hear the page.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Table } from '../parts/table.tsx'
import { clockText, dayText, is_utc, timeText } from '../parts/time.tsx'
import { count, say } from '../words/words.ts'
import {
  type Box,
  nearest,
  rounded,
  roundTicksAcross,
  type Scales,
  scalesOf,
  ticksAcross,
  ticksUp,
} from './scales.ts'
import { type Series, Shapes, Swatch, toneOf } from './series.tsx'

export type { Series } from './series.tsx'

/** As high as the style sheet has it. */
const HEIGHT = 220
/** Before its place is measured. */
const WIDTH = 560

export type ChartProps = {
  title: string
  /** What it says, computed. */
  sentence: string
  /** From left to right. */
  times: readonly Date[]
  /** Drawn over these times; the columns of the table. */
  series: readonly Series[]
  /** Days have no time of day. */
  days?: boolean
  /** A value beside the axis. */
  axisText?: (value: number) => string
  /** Where no heading stands above it but that of the page. */
  is_top?: boolean
  /** Beside the title, such as a choice of the period. */
  actions?: ComponentChildren
  /** More that is drawn, such as where a line crosses another. */
  children?: (scales: Scales) => ComponentChildren
}

export function Chart(props: ChartProps) {
  const {
    title,
    sentence,
    times,
    series,
    days = false,
    is_top = false,
    actions,
    children: more,
  } = props
  const id = useId()
  const reading = useReading(times.length)
  const atText = days ? dayText : (at: Date) => timeText(at)
  const chosen = reading.place.value
  const at = chosen === undefined ? undefined : times[chosen]
  const columns = series.map(({ name, values, text }) => ({
    name,
    text: (i: number) => (values[i] == null ? '' : (text ?? count)(values[i])),
  }))
  const drawn = series.filter(({ shape }) => shape !== 'none')
  const said = (i: number) =>
    [atText(times[i]!), ...columns.map(({ name, text }) => `${name} ${text(i)}`)].join(', ')
  return (
    <figure class="chart panel" aria-labelledby={id}>
      <div class="panel-head">
        {is_top ? <h2 id={id}>{title}</h2> : <h3 id={id}>{title}</h3>}
        {actions}
      </div>
      <figcaption>{sentence}</figcaption>
      <Plot {...props} days={days} reading={reading} more={more}>
        {at && (
          <Tip time={atText(at)}>
            {series.map((one, i) => (
              <p key={one.name}>
                <span>
                  <Swatch {...one} /> {one.name}
                </span>
                <span class="figure">{columns[i]!.text(chosen!)}</span>
              </p>
            ))}
          </Tip>
        )}
      </Plot>
      {drawn.length > 1 && (
        <ul class="legend">
          {drawn.map((one) => (
            <li key={one.name}>
              <Swatch {...one} /> {one.name}
            </li>
          ))}
        </ul>
      )}
      <p class="for-ears" role="status">
        {reading.by_key.value && chosen !== undefined && said(chosen)}
      </p>
      <details>
        <summary>{say('chart.table')}</summary>
        <Table
          caption={title}
          rows={times.map((_, i) => i)}
          keyOf={(i) => times[i]!.toISOString()}
          columns={[
            { title: say('time'), cell: (i: number) => atText(times[i]!) },
            ...columns.map(({ name, text }) => ({ title: name, is_figure: true, cell: text })),
          ]}
        />
      </details>
    </figure>
  )
}

type Reading = ReturnType<typeof useReading>

/** Which place is read, by which hand. */
function useReading(places: number) {
  const place = useSignal<number | undefined>(undefined)
  const by_key = useSignal(false)
  return {
    place,
    by_key,
    point(at: number | undefined) {
      by_key.value = false
      place.value = at
    },
    press(event: KeyboardEvent) {
      const last = places - 1
      const from = place.value
      const to: Record<string, number> = {
        ArrowLeft: (from ?? places) - 1,
        ArrowRight: (from ?? -1) + 1,
        Home: 0,
        End: last,
      }
      const wanted = to[event.key]
      if (event.key === 'Escape') place.value = undefined
      if (wanted === undefined || places === 0) return
      event.preventDefault()
      by_key.value = true
      place.value = Math.min(last, Math.max(0, wanted))
    },
    leave() {
      place.value = undefined
    },
  }
}

type PlotProps = Omit<ChartProps, 'children' | 'days'> & {
  days: boolean
  reading: Reading
  more: ChartProps['children']
  /** The words beside the line for reading. */
  children: ComponentChildren
}

function Plot(props: PlotProps) {
  const { title, sentence, times, series, days, reading, axisText, children, more } = props
  const svg = useRef<SVGSVGElement>(null)
  const width = useWidth(svg)
  const box: Box = { width, height: HEIGHT, left: 52, right: 12, top: 12, bottom: 28 }
  const drawn = series.filter(({ shape }) => shape !== 'none')
  const values = drawn.flatMap((one) => one.values.filter((value) => value !== null))
  const scales = scalesOf(
    times,
    values,
    box,
    drawn.some(({ shape }) => shape === 'bars'),
  )
  const place = reading.place.value
  const at = place === undefined ? undefined : times[place]
  const point = ({ clientX }: PointerEvent) => {
    const { left } = svg.current!.getBoundingClientRect()
    reading.point(nearest(scales, clientX - left))
  }
  return (
    <svg
      ref={svg}
      class="plot"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={`${title}. ${sentence} ${say('chart.keys')}`}
      tabIndex={0}
      onKeyDown={reading.press}
      onBlur={reading.leave}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={({ pointerType }) => {
        // A finger has left when it has read: what it read stays until it reads elsewhere.
        if (pointerType === 'mouse') reading.leave()
      }}
    >
      <Axes scales={scales} box={box} days={days} axisText={axisText} />
      <Shapes series={series} times={times} scales={scales} box={box} place={place} />
      {more?.(scales)}
      {at && <ReadingLine scales={scales} box={box} at={at} series={series} place={place!} />}
      {at && (
        <TipFrame place={scales.across(at)} box={box}>
          {children}
        </TipFrame>
      )}
    </svg>
  )
}

/** As wide as its place, so that words have one size however wide that is. */
function useWidth(svg: { current: SVGSVGElement | null }): number {
  const width = useSignal(WIDTH)
  useLayoutEffect(() => {
    const measure = () => {
      const { clientWidth = 0 } = svg.current ?? {}
      if (clientWidth > 0) width.value = clientWidth
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(svg.current!)
    return () => observer.disconnect()
  }, [])
  return width.value
}

type ReadingLineProps = {
  scales: Scales
  box: Box
  at: Date
  place: number
  series: readonly Series[]
}

function ReadingLine({ scales, box, at, place, series }: ReadingLineProps) {
  const x = rounded(scales.across(at))
  const dots = series.flatMap(({ shape, tone, values }) => {
    const value = values[place]
    return value == null || !/line|steps|area/.test(shape) ? [] : [{ value, tone }]
  })
  return (
    <g aria-hidden="true">
      <line class="reading" x1={x} x2={x} y1={box.top} y2={box.height - box.bottom} />
      {dots.map(({ value, tone }) => (
        <circle
          key={value}
          class={toneOf('dot', tone)}
          cx={x}
          cy={rounded(scales.up(value))}
          r={5}
        />
      ))}
    </g>
  )
}

const TIP_WIDTH = 260
const TIP_GAP = 12

/** On the side of the line where there is more room. */
function TipFrame(props: { place: number; box: Box; children: ComponentChildren }) {
  const { place, box, children } = props
  const is_left = place > box.width / 2
  const width = Math.min(TIP_WIDTH, (is_left ? place : box.width - place) - TIP_GAP)
  const x = is_left ? place - width - TIP_GAP : place + TIP_GAP
  return (
    <foreignObject class="tip-frame" x={x} y={box.top} width={width} height={1} aria-hidden="true">
      <div class={is_left ? 'tip is-left' : 'tip'}>{children}</div>
    </foreignObject>
  )
}

const Tip = ({ time, children }: { time: string; children: ComponentChildren }) => (
  <>
    <strong>{time}</strong>
    {children}
  </>
)

type AxesProps = {
  scales: Scales
  box: Box
  days: boolean
  axisText: ChartProps['axisText']
}

/** Lines for the values, words for the times. */
function Axes({ scales, box, days, axisText }: AxesProps) {
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
          <line
            class={value === 0 ? 'grid is-zero' : 'grid'}
            x1={box.left}
            x2={box.width - box.right}
            y1={place}
            y2={place}
          />
          <text x={box.left - 8} y={place + 4} text-anchor="end">
            {axisText ? axisText(value) : shortCount(value, unit)}
          </text>
        </g>
      ))}
      {across.map(({ value, place }) => (
        <text key={place} x={place} y={box.height - 8} text-anchor="middle">
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
