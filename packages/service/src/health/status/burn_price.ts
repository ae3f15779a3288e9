// What energy costs for an address that has none: TRX is burned, at a price of the chain.

import type { Node } from '../../chain/node/node.ts'

const FRESH_MS = 10 * 60_000

/** The price of 1000 energy in sun. Nobody waits for it but the first who asks: later the one that
 *  was heard last is told while it is asked for anew. Undefined: the chain has not said. */
export function burnPriceReader(
  node: Pick<Node, 'parameters'>,
  now_ms: () => number,
): () => Promise<bigint | undefined> {
  let known: bigint | undefined
  let asked_ms: number | undefined
  let asking: Promise<void> | undefined
  async function ask(): Promise<void> {
    const parameters = await node.parameters().catch(() => undefined)
    const sun = parameters?.get('getEnergyFee')
    if (sun !== undefined) known = sun * 1_000n
    asking = undefined
  }
  return async () => {
    const is_first = asked_ms === undefined
    if (asked_ms === undefined || Math.abs(now_ms() - asked_ms) > FRESH_MS) {
      asked_ms = now_ms()
      asking ??= ask()
    }
    if (is_first) await asking
    return known
  }
}
