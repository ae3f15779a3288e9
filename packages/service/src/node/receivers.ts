// What the chain says of an address that is to receive something. An address that is active, or a
// contract, is remembered for a minute; anything else is asked again each time. Not for longer,
// because the answer includes what is only pending: a payment that seems to activate an address may
// never get into a block.

import type { Address } from 'penstock-tron/address.ts'
import type { Clock } from '../lib/clock.ts'
import { Outage } from '../lib/fault.ts'
import type { Node } from './node.ts'
import { keyReader, type Reads } from './reads.ts'

/** 'barred': the policy forbids to sell to it. */
export type Receiver = 'active' | 'inactive' | 'contract' | 'barred' | 'unknown'

const REMEMBERED_MAX = 200_000
const REMEMBERED_MS = 60_000

/** Looks an address up, for the call of a customer; without one for the service itself. 'unknown'
 *  when the chain cannot be reached. Throws TooManyRequests when the key asks too much of the
 *  chain. */
export type ReceiverReader = (address: Address, asked_by?: Caller) => Promise<Receiver>

/** The API key whose call asks the chain. */
export type Caller = { key_id: string; customer_id: string }

export function receiverReader({
  clock,
  node,
  reads = () => node,
  is_barred = async () => false,
}: {
  clock: Clock
  node: Pick<Node, 'account'>
  reads?: (...asked: Parameters<Reads>) => Pick<Node, 'account'>
  is_barred?: (address: Address) => Promise<boolean>
}): ReceiverReader {
  const remembered = new Map<Address, { receiver: Receiver; until_ms: number }>()
  return async (address, asked_by) => {
    if (await is_barred(address)) return 'barred'
    const now_ms = clock.now().getTime()
    const known = remembered.get(address)
    if (known && known.until_ms > now_ms) return known.receiver
    try {
      const asked = asked_by ? reads(keyReader(asked_by)) : node
      const account = await asked.account(address)
      const receiver = account.contract ? 'contract' : account.active ? 'active' : 'inactive'
      if (receiver !== 'inactive') {
        if (remembered.size >= REMEMBERED_MAX) remembered.clear()
        remembered.set(address, { receiver, until_ms: now_ms + REMEMBERED_MS })
      }
      return receiver
    } catch (thrown) {
      if (thrown instanceof Outage) return 'unknown'
      throw thrown
    }
  }
}
