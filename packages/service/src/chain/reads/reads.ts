// Customers' reads of the chain: those of a node's questions that a call of theirs may lead to,
// asked within a budget. Those who ask the same share one request and its answer, no matter who
// asked it, until the next block, and no longer than one takes. A purchase shares what is under way
// for another, and what was answered, but waits for no look-up that has to wait for its turn.

import { TooManyRequests } from '../../lib/fault.ts'
import type { Node } from '../node/node.ts'
import { type FollowedBlocks, NO_BLOCKS } from './followed.ts'
import type { ReadBudget, Reader, Timer } from './read_budget.ts'

/** What a call of a customer may ask of the chain. */
export type ReadNode = Pick<
  Node,
  'account' | 'resources' | 'constantCall' | 'parameters' | 'whereabouts'
>

/** The node as a reader may ask it. */
export type Reads = (reader: Reader) => ReadNode

/** The API key whose call asks the chain. */
export type Caller = { key_id: string; customer_id: string }

/** A customer who has waited this long for a purchase is told to come again. */
const PURCHASES_WAIT_MS = 1_000
const LOOK_UPS_WAIT_MS = 2_000
/** A check is looked at again anyway, and must not hold up the others that are answered with it. */
const CHECKS_WAIT_MS = 100

/** A key that buys something. */
export const purchaseReader = ({ key_id, customer_id }: Caller): Reader => ({
  name: `key ${key_id}`,
  customer_id,
  lane: 'purchases',
  wait_ms: PURCHASES_WAIT_MS,
})

/** A key that only wants to know. */
export const keyReader = ({ key_id, customer_id }: Caller): Reader => ({
  name: `key ${key_id}`,
  customer_id,
  lane: 'look_ups',
  wait_ms: LOOK_UPS_WAIT_MS,
})

/** The checks of a customer, which look for their transactions. */
export const checksReader = (customer_id: string): Reader => ({
  name: `checks of ${customer_id}`,
  customer_id,
  lane: 'look_ups',
  wait_ms: CHECKS_WAIT_MS,
})

const BLOCK_MS = 3_000
/** Voting changes them, every six hours at most. */
const PARAMETERS_FRESH_MS = 60_000
const REMEMBERED_MAX = 2_000
/** What a contract returns can be long, and nobody here needs more of it than a word. */
const RESULT_MAX = 256
/** Where a transaction is asks both sides of a node. */
const WHEREABOUTS_WEIGHT = 2

/** `block_id`: the newest block when it was asked; `under_way`: it has no answer yet. */
type CachedAnswer = {
  answer: Promise<unknown>
  lane: Reader['lane']
  block_id: string | undefined
  until_ms: number
  under_way: boolean
}
/** `lasts`: for how long its answer does, where that is not until the next block. */
type Question<T> = { name: string; ask: () => Promise<T>; lasts_ms?: number }

export function nodeReads(
  node: ReadNode,
  budget: ReadBudget,
  timer: Timer,
  followed: FollowedBlocks = NO_BLOCKS,
): Reads {
  const remembered = new Map<string, CachedAnswer>()

  function ask<T>(
    reader: Reader,
    { name, ask, lasts_ms = BLOCK_MS }: Question<T>,
    block_id: string | undefined,
  ): Promise<T> {
    const answer = budget.spend(reader, 1, ask)
    const until_ms = timer.now_ms() + lasts_ms
    const one: CachedAnswer = { answer, lane: reader.lane, block_id, until_ms, under_way: true }
    remembered.delete(name)
    remembered.set(name, one)
    const [oldest] = remembered.keys()
    if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest)
    const forget = () => remembered.get(name) === one && remembered.delete(name)
    answer.then(() => {
      one.under_way = false
    }, forget)
    return answer
  }

  /** The answer to a question of this name, no matter who asked it, while it is good; else it is
   *  asked. */
  async function recall<T>(reader: Reader, question: Question<T>): Promise<T> {
    const block_id = (await followed.newest())?.id
    const known = remembered.get(question.name)
    const is_good =
      known !== undefined &&
      (known.under_way
        ? known.lane === 'purchases' || reader.lane === 'look_ups'
        : known.until_ms > timer.now_ms() && (question.lasts_ms || known.block_id === block_id))
    if (!is_good) return ask(reader, question, block_id)
    // Only a question of the same name, and so of the same answer, is remembered under it.
    return (known.answer as Promise<T>).catch((thrown: unknown) => {
      // Somebody else's share was used up, and not this reader's.
      if (thrown instanceof TooManyRequests) return ask(reader, question, block_id)
      throw thrown
    })
  }

  return (reader) => {
    const read = <T>(name: string, ask: () => Promise<T>) => recall(reader, { name, ask })
    return {
      account: (address) => read(`account ${address}`, () => node.account(address)),
      resources: (address) => read(`resources ${address}`, () => node.resources(address)),
      constantCall: (call) =>
        read(`call ${JSON.stringify(call)}`, async () => {
          const called = await node.constantCall(call)
          return { ...called, result: called.result.slice(0, RESULT_MAX) }
        }),
      parameters: () =>
        recall(reader, {
          name: 'parameters',
          ask: () => node.parameters(),
          lasts_ms: PARAMETERS_FRESH_MS,
        }),
      whereabouts: (tx_id) =>
        budget.spend(reader, WHEREABOUTS_WEIGHT, () => node.whereabouts(tx_id)),
    }
  }
}
