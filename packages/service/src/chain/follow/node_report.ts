// What each node says of the chain at this moment: how far it is, how long it took to answer, and
// why it did not.

import type { Clock } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import type { Node } from '../node/node.ts'

/** Numbers are null where the node has not answered: `error` says why. */
export type NodeReport = {
  /** Its host: its address may have a key in it. */
  name: string
  head_number: number | null
  head_time: Date | null
  solid_number: number | null
  /** Blocks that the furthest of the nodes has beyond its head. */
  behind_blocks: number | null
  /** How long both its sides took to answer. */
  answered_ms: number | null
  error: string | null
}

type Needs = { node: Pick<Node, 'names' | 'only'>; clock: Clock }

/** Asks all nodes at once, each for its head and for its newest solid block. */
export async function reportNodes({ node, clock }: Needs): Promise<NodeReport[]> {
  const found = await Promise.all(node.names.map((name) => askNode(node.only(name), name, clock)))
  const furthest = Math.max(...found.map(({ head_number }) => head_number ?? 0))
  return found.map((one) => ({
    ...one,
    behind_blocks: one.head_number === null ? null : furthest - one.head_number,
  }))
}

async function askNode(
  node: Pick<Node, 'head' | 'solidHead'>,
  name: string,
  clock: Clock,
): Promise<Omit<NodeReport, 'behind_blocks'>> {
  const began_ms = clock.now().getTime()
  try {
    const [head, solid] = await Promise.all([node.head(), node.solidHead()])
    return {
      name,
      head_number: head.number,
      head_time: head.time,
      solid_number: solid.number,
      answered_ms: Math.max(0, clock.now().getTime() - began_ms),
      error: null,
    }
  } catch (thrown) {
    if (!(thrown instanceof Outage)) throw thrown
    const nothing = { head_number: null, head_time: null, solid_number: null, answered_ms: null }
    return { name, ...nothing, error: thrown.message }
  }
}
