// The ways of the money as one drawing, from the origins on the left to the screened address on the
// right. Ways that end alike are one from there on: a tree, so that no arrow crosses another. An
// address that the money passed on two different ways stands on each.

export const FLOW_BOX = { width: 148, height: 46 }
const GAP = 132
const ROW = 68
const EDGE = 2
/** The part of an arrow in which several meet. */
const MEETING = 22
const ROOM_FOR_TIP = 4

export type Hop = { tx_id: string; from: string; to: string; asset: string; amount: string }
/** From the end backwards. */
export type WayBack = { path: readonly Hop[] }

export type FlowBox = {
  address: string
  x: number
  y: number
  is_end: boolean
  /** The way that begins here, by its place in the list. */
  way: number | undefined
}
/** One arrow for all transfers between two boxes; sums by asset, in the smallest unit. */
export type FlowArrow = { d: string; x: number; y: number; sums: [asset: string, units: string][] }
export type Flow = { width: number; height: number; boxes: FlowBox[]; arrows: FlowArrow[] }

type Branch = {
  address: string
  depth: number
  way: number | undefined
  /** To the branch that it leads to. */
  hops: Hop[]
  sources: Map<string, Branch>
}

const branch = (address: string, depth: number): Branch => ({
  address,
  depth,
  way: undefined,
  hops: [],
  sources: new Map(),
})

export function flowOf(ways: readonly WayBack[]): Flow {
  const ends = new Map<string, Branch>()
  for (const [way, { path }] of ways.entries()) grow(ends, way, path)
  const depth = Math.max(0, ...ways.map(({ path }) => path.length))
  const columnOf = (one: Branch) => EDGE + (depth - one.depth) * (FLOW_BOX.width + GAP)
  const flow: Flow = { width: 0, height: 0, boxes: [], arrows: [] }
  let rows = 0
  /** Draws a branch with all that leads to it; returns the height of its middle. */
  const draw = (one: Branch): number => {
    const sources = [...one.sources.values()]
    const middles = sources.map(draw)
    const middle =
      middles.length === 0
        ? EDGE + ROW * rows++ + FLOW_BOX.height / 2
        : (middles[0]! + middles.at(-1)!) / 2
    const { address, way } = one
    const x = columnOf(one)
    const is_end = one.depth === 0
    flow.boxes.push({ address, x, y: middle - FLOW_BOX.height / 2, is_end, way })
    for (const [i, { hops }] of sources.entries())
      flow.arrows.push({ ...arrow(x, middles[i]!, middle), sums: sumsOf(hops) })
    return middle
  }
  for (const end of ends.values()) draw(end)
  if (rows === 0) return flow
  const width = 2 * EDGE + depth * (FLOW_BOX.width + GAP) + FLOW_BOX.width
  return { ...flow, width, height: 2 * EDGE + ROW * (rows - 1) + FLOW_BOX.height }
}

function grow(ends: Map<string, Branch>, way: number, path: readonly Hop[]): void {
  const last = path[0]
  if (!last) return
  let at = ends.get(last.to) ?? branch(last.to, 0)
  ends.set(last.to, at)
  for (const hop of path) {
    const source = at.sources.get(hop.from) ?? branch(hop.from, at.depth + 1)
    at.sources.set(hop.from, source)
    source.hops.push(hop)
    at = source
  }
  at.way ??= way
}

/** To the box at `x`: along the row of the source, then to that of the box. */
function arrow(x: number, from: number, to: number): Omit<FlowArrow, 'sums'> {
  const bend = x - MEETING
  const start = x - GAP
  const way = from === to ? '' : `H${bend}V${to}`
  const d = `M${start} ${from}${way}H${x - ROOM_FOR_TIP}m-6 -4l6 4l-6 4`
  return { d, x: (start + bend) / 2, y: from - 6 }
}

/** A transfer that two ways have in common counts once. */
function sumsOf(hops: readonly Hop[]): [string, string][] {
  const seen = new Map(hops.map((hop) => [`${hop.tx_id} ${hop.asset}`, hop]))
  const sums = new Map<string, bigint>()
  for (const { asset, amount } of seen.values())
    sums.set(asset, (sums.get(asset) ?? 0n) + BigInt(amount))
  return [...sums].map(([asset, units]) => [asset, String(units)])
}
