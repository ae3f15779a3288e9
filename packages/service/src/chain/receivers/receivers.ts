// What the chain says of an address that is to receive something. The answer includes what is only
// pending, and a fork may take a block back: so it is kept until the next block, and no longer than
// one takes. For ever is known only this: an account that was there before the newest confirmed
// block stays, since accounts are never deleted, and one that has signed something never becomes a
// contract. Who has signed is also known from the blocks that are followed; then no node is asked.

import type { Address } from 'penstock-tron/address.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Fault, Outage } from '../../lib/fault.ts'
import { ServiceUnavailable } from '../../platform/wire/endpoint.ts'
import type { AccountState, Node } from '../node/node.ts'
import { type FollowedBlocks, NO_BLOCKS } from '../reads/followed.ts'
import type { Reader } from '../reads/read_budget.ts'
import type { Reads } from '../reads/reads.ts'
import { BoundedMap } from './bounded_map.ts'

/** 'barred': the policy forbids to sell to it; 'ours': the service acts for it itself. */
export type Receiver = 'active' | 'inactive' | 'contract' | 'barred' | 'ours' | 'unknown'

/** The refusal of what cannot be judged without the chain. */
export const chainSilent = (): Fault => ServiceUnavailable().because('the chain does not answer')

const REMEMBERED_MAX = 200_000
const BLOCK_MS = 3_000

/** Looks an address up for a customer's call; without a reader for the service itself. 'unknown'
 *  when the chain cannot be reached. Throws TooManyRequests when the customer asks too much of the
 *  chain. */
export type ReceiverReader = (address: Address, reader?: Reader) => Promise<Receiver>

type Known = { receiver: Receiver; until_ms: number; block_id: string | undefined }

/** An account that stays what it is. */
const ACTIVE_FOR_EVER: Known = {
  receiver: 'active',
  until_ms: Number.POSITIVE_INFINITY,
  block_id: undefined,
}

export function receiverReader({
  clock,
  node,
  reads = () => node,
  is_barred = async () => false,
  followed = NO_BLOCKS,
  ours = new Set(),
}: {
  clock: Clock
  node: Pick<Node, 'account'>
  reads?: (...asked: Parameters<Reads>) => Pick<Node, 'account'>
  is_barred?: (address: Address) => Promise<boolean>
  followed?: FollowedBlocks
  ours?: ReadonlySet<Address>
}): ReceiverReader {
  const remembered = new BoundedMap<Address, Known>(REMEMBERED_MAX)

  async function ask(address: Address, reader: Reader | undefined): Promise<Receiver> {
    // As of before the question: a block that comes meanwhile may know better than the answer.
    const block = await followed.newest()
    const asked_ms = clock.now().getTime()
    const account = await (reader ? reads(reader) : node).account(address)
    const receiver = receiverOf(account)
    const kept = staysActive(account, block?.confirmed_at)
      ? ACTIVE_FOR_EVER
      : { receiver, until_ms: asked_ms + BLOCK_MS, block_id: block?.id }
    remembered.set(address, kept)
    return receiver
  }

  return async (address, reader) => {
    if (ours.has(address)) return 'ours'
    if (await is_barred(address)) return 'barred'
    const known = remembered.get(address)
    if (known === ACTIVE_FOR_EVER || followed.hasSigned(address)) return 'active'
    const is_fresh = known !== undefined && clock.now().getTime() < known.until_ms
    if (is_fresh && known.block_id === (await followed.newest())?.id) return known.receiver
    return ask(address, reader).catch((thrown: unknown) => {
      if (thrown instanceof Outage) return 'unknown'
      throw thrown
    })
  }
}

const receiverOf = ({ contract, active }: AccountState): Receiver =>
  contract ? 'contract' : active ? 'active' : 'inactive'

function staysActive(account: AccountState, confirmed_at: Date | null | undefined): boolean {
  const { active, contract, has_signed, existed_at } = account
  if (!active || contract || !has_signed || !confirmed_at || !existed_at) return false
  return existed_at <= confirmed_at
}
