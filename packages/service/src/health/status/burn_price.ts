// The prices of going without us: TRX is burned, for as much as the chain says.

import type { Node } from '../../chain/node/node.ts'

const FRESH_MS = 10 * 60_000

/** In sun: of 1000 units, and of an account that is created. Undefined: the chain has not said. */
export type BurnPrices = {
  energy_sun: bigint | undefined
  bandwidth_sun: bigint | undefined
  activation_sun: bigint | undefined
}

function pricesOf(parameters: ReadonlyMap<string, bigint>): BurnPrices {
  const [energy, unit, account, its_bandwidth] = [
    'getEnergyFee',
    'getTransactionFee',
    'getCreateNewAccountFeeInSystemContract',
    'getCreateAccountFee',
  ].map((name) => parameters.get(name))
  return {
    energy_sun: energy && energy * 1_000n,
    bandwidth_sun: unit && unit * 1_000n,
    activation_sun: account && account + (its_bandwidth ?? 0n),
  }
}

const UNKNOWN = pricesOf(new Map())

/** Reads the prices. The first who asks waits for them: later those that were heard last
 *  are given while they are asked for anew. */
export function burnPriceReader(
  node: Pick<Node, 'parameters'>,
  now_ms: () => number,
): () => Promise<BurnPrices> {
  let known = UNKNOWN
  let asked_ms: number | undefined
  let asking: Promise<void> | undefined
  async function ask(): Promise<void> {
    const parameters = await node.parameters().catch(() => undefined)
    if (parameters) known = pricesOf(parameters)
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
