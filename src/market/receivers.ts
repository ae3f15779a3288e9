// What the chain says of an address that is to receive something. An address that is active stays active and one that is
// a contract stays one, so both are remembered; anything else is asked again each time.

import { Outage } from '../lib/fault.ts'
import type { Address } from '../tron/address.ts'
import type { Node } from '../tron/node.ts'

export type Receiver = 'active' | 'inactive' | 'contract' | 'unknown'

const REMEMBERED_MAX = 200_000

/** Looks an address up. 'unknown' when the chain cannot be reached. */
export function receiverReader({ node }: { node: Pick<Node, 'account'> }): (address: Address) => Promise<Receiver> {
  const remembered = new Map<Address, Receiver>()
  return async (address) => {
    const known = remembered.get(address)
    if (known) return known
    try {
      const account = await node.account(address)
      const receiver = account.contract ? 'contract' : account.active ? 'active' : 'inactive'
      if (receiver !== 'inactive') {
        if (remembered.size >= REMEMBERED_MAX) remembered.clear()
        remembered.set(address, receiver)
      }
      return receiver
    } catch (thrown) {
      if (thrown instanceof Outage) return 'unknown'
      throw thrown
    }
  }
}
