// The holdings of addresses in the assets that the index has, read as of one block.

import { bareAddress } from '../../chain/transfers/bare_addresses.ts'
import type { Holding } from '../flow/holdings.ts'
import type { Asset } from '../tracing/flow_log.ts'
import type { Generation } from '../tracing/generations.ts'

export type AssetHolding = { asset: Asset; holding: Holding }

/** Reads the holdings of addresses, in the order of the assets, all as of one block: `read` is
 *  called when the index is at it. */
export function readHoldings<T>(
  generation: Pick<Generation, 'state' | 'assets'>,
  addresses: readonly string[],
  read: (holdingsOf: (address: string) => AssetHolding[]) => T,
): Promise<T> {
  const numbers = () => generation.assets.map(({ number }) => number)
  return generation.state.reading(numbers, addresses.map(bareAddress), (holdingOf) =>
    read((address) => {
      const bytes = bareAddress(address)
      return generation.assets.flatMap((asset) => {
        const holding = holdingOf(asset.number, bytes)
        return holding ? [{ asset, holding }] : []
      })
    }),
  )
}
