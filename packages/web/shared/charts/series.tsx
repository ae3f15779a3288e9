// Kinds of marks over the same times, as SVG: each has its shape, and a tone with a pattern of its
// own.

import { BOX, type Box, rounded, type Scales, scalesOf } from './scales.ts'
import { bandPath, barsOf, linePath, type Point } from './shapes.ts'

export type Series = {
  /** In the legend, beside the pointer and above its column. */
  name: string
  /** `band`: down to `least`; `dots` stand on the first line; `none`: said, and not drawn. */
  shape: 'line' | 'steps' | 'area' | 'bars' | 'band' | 'dots' | 'none'
  tone?: Tone
  /** One for each time; null: nothing is known of it. */
  values: readonly (number | null)[]
  least?: readonly number[]
  /** A value in words. */
  text?: (value: number) => string
}
type Tone = 'second' | 'third' | 'limit'

export const toneOf = (name: string, tone: Tone | undefined): string =>
  tone === undefined ? name : `${name} ${tone}`

type ShapesProps = {
  series: readonly Series[]
  times: readonly Date[]
  scales: Scales
  box: Box
  /** The place that is read. */
  place: number | undefined
}

export const Shapes = ({ series, ...drawing }: ShapesProps) => (
  <g aria-hidden="true">
    {series.map((one) => (
      <Shape key={one.name} {...one} {...drawing} line={series[0]!.values} />
    ))}
  </g>
)

type ShapeProps = Series & Omit<ShapesProps, 'series'> & { line: Series['values'] }

function Shape({ shape, tone, values, least, times, scales, box, place, line }: ShapeProps) {
  const points = times.flatMap((at, i): Point[] => {
    const value = values[i]
    return value == null ? [] : [{ at, value }]
  })
  if (shape === 'none') return null
  if (shape === 'bars') {
    const bars = barsOf(
      scales,
      times.map((at, i) => ({ at, value: values[i] ?? 0 })),
      box,
    )
    return (
      <>
        {bars.map((bar, i) => (
          <rect
            key={bar.x}
            class={`${toneOf('bar', tone)}${place === undefined || place === i ? '' : ' is-dim'}`}
            rx={Math.min(2, bar.width / 2)}
            {...bar}
          />
        ))}
      </>
    )
  }
  if (shape === 'dots') {
    const marked = times.flatMap((at, i) => (values[i] ? [{ at, value: line[i] ?? 0 }] : []))
    return (
      <>
        {marked.map(({ at, value }) => (
          <circle
            key={at.getTime()}
            class={toneOf('dot', tone)}
            cx={rounded(scales.across(at))}
            cy={rounded(scales.up(value))}
            r={4}
          />
        ))}
      </>
    )
  }
  const steps = shape === 'steps' || shape === 'area'
  const spans = points.map(({ at, value }, i) => ({ at, least: least?.[i] ?? 0, most: value }))
  return (
    <>
      {shape === 'band' && <path class="band" d={bandPath(scales, spans)} />}
      {shape === 'area' && <path class="area" d={bandPath(scales, spans, { steps })} />}
      {shape !== 'band' && (
        <path class={toneOf('line', tone)} d={linePath(scales, points, { steps })} />
      )}
    </>
  )
}

/** The look of a kind of mark, beside its name. */
export function Swatch({ shape, tone }: Pick<Series, 'shape' | 'tone'>) {
  if (shape === 'none') return null
  return (
    <svg class="swatch" viewBox="0 0 16 12" aria-hidden="true">
      {shape === 'bars' && (
        <rect class={toneOf('bar', tone)} x={3} y={1} width={10} height={10} rx={2} />
      )}
      {shape === 'band' && <rect class="band" x={0} y={1} width={16} height={10} />}
      {shape === 'dots' && <circle class={toneOf('dot', tone)} cx={8} cy={6} r={4} />}
      {/line|steps|area/.test(shape) && <path class={toneOf('line', tone)} d="M1 6h14" />}
    </svg>
  )
}

const SPARK: Box = { ...BOX, width: 200, height: 36, left: 0, right: 0, top: 3, bottom: 3 }

/** A small line beside a figure, for the eye alone: what it says is said elsewhere. */
export function Spark({ values }: { values: readonly number[] }) {
  const points = values.map((value, i) => ({ at: new Date(i), value }))
  const scales = scalesOf(
    points.map(({ at }) => at),
    values,
    SPARK,
  )
  const spans = points.map(({ at, value }) => ({ at, least: 0, most: value }))
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${SPARK.width} ${SPARK.height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="area" d={bandPath(scales, spans)} />
      <path class="line" vector-effect="non-scaling-stroke" d={linePath(scales, points)} />
    </svg>
  )
}
