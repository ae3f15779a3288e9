// A way over addresses, from the first on the left to the last on the right: a box for each, an
// arrow for each transfer between two.

export const WAY_NODE = { width: 136, height: 44 }
const GAP = 64
const EDGE = 2
const ROOM_FOR_TIP = 4

export type WayNode = { x: number; y: number; middle: number }
/** From the right side of one box to the left side of the next. */
export type WayArrow = { x1: number; x2: number; y: number; middle: number }
export type Way = { width: number; height: number; nodes: WayNode[]; arrows: WayArrow[] }

/** The places of so many boxes and of the arrows between them. */
export function wayOf(boxes: number): Way {
  const place = (i: number) => EDGE + i * (WAY_NODE.width + GAP)
  const nodes = Array.from({ length: boxes }, (_, i) => ({
    x: place(i),
    y: EDGE,
    middle: place(i) + WAY_NODE.width / 2,
  }))
  const arrows = Array.from({ length: Math.max(0, boxes - 1) }, (_, i) => ({
    x1: place(i) + WAY_NODE.width,
    x2: place(i + 1) - ROOM_FOR_TIP,
    y: EDGE + WAY_NODE.height / 2,
    middle: place(i) + WAY_NODE.width + GAP / 2,
  }))
  const width = boxes === 0 ? 0 : place(boxes - 1) + WAY_NODE.width + EDGE
  return { width, height: WAY_NODE.height + 2 * EDGE, nodes, arrows }
}
