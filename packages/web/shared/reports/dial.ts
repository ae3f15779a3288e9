// A dial from 0 to 100: half a circle in the bands of the levels, and a hand at the score.

export const DIAL = { width: 200, height: 112, radius: 82, thick: 16 }
const MIDDLE = { x: 100, y: 100 }
const TOP = 100
/** Of the scale, between two bands. */
const GAP = 0.5

/** The scores from which the risk is medium, and high. */
export type Levels = { medium_from: number; high_from: number }

export type Dial = {
  /** `level` is empty where the bands are not known. */
  bands: { level: 'low' | 'medium' | 'high' | ''; d: string }[]
  hand: string
  ticks: { text: string; x: number; y: number }[]
}

export function dialOf(score: number, levels: Levels | null): Dial {
  const edges = levels === null ? [] : [levels.medium_from, levels.high_from]
  const ends = [0, ...edges, TOP]
  const names = levels === null ? ([''] as const) : (['low', 'medium', 'high'] as const)
  const bands = names.flatMap((level, i) => {
    const from = ends[i]! + (i === 0 ? 0 : GAP)
    const to = ends[i + 1]! - (i === names.length - 1 ? 0 : GAP)
    return from < to ? [{ level, d: arc(from, to) }] : []
  })
  const [inner, outer] = [DIAL.radius - DIAL.thick, DIAL.radius + DIAL.thick / 2]
  const at = Math.min(TOP, Math.max(0, score))
  const hand = `M${pointText(at, inner)}L${pointText(at, outer)}`
  const ticks = edges
    .filter((edge) => edge > 0 && edge < TOP)
    .map((edge) => ({ text: String(edge), ...place(edge, DIAL.radius + DIAL.thick) }))
  return { bands, hand, ticks }
}

/** Where a score lies at so far from the middle; 0 is on the left. */
function place(score: number, radius: number): { x: number; y: number } {
  const angle = Math.PI * (1 - score / TOP)
  return {
    x: rounded(MIDDLE.x + radius * Math.cos(angle)),
    y: rounded(MIDDLE.y - radius * Math.sin(angle)),
  }
}

const rounded = (length: number) => Math.round(length * 10) / 10

function pointText(score: number, radius: number): string {
  const { x, y } = place(score, radius)
  return `${x} ${y}`
}

function arc(from: number, to: number): string {
  const { radius } = DIAL
  return `M${pointText(from, radius)}A${radius} ${radius} 0 0 1 ${pointText(to, radius)}`
}
