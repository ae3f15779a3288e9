// Customers' reads of the chain: those of a node's questions that a call of theirs may lead to,
// asked within a budget. Anyone who is within half of its share gets fresh answers; anyone who asks
// more gets, where there is one, an answer that is up to a second old, because it is the same
// question over and over that uses a share up.

import { TooManyRequests } from '../lib/fault.ts'
import type { Node } from './node.ts'
import type { ReadBudget, Reader, Timer } from './read_budget.ts'

/** What a call of a customer may ask of the chain. */
export type ReadNode = Pick<
  Node,
  'account' | 'resources' | 'constantCall' | 'parameters' | 'whereabouts'
>

/** The node as a reader may ask it. */
export type Reads = (reader: Reader) => ReadNode

const WAIT_MS = 2_000
/** A check is looked at again anyway, and must not hold up the others that are answered with it. */
const CHECKS_WAIT_MS = 100

/** An API key whose call asks the chain. */
export const keyReader = ({
  key_id,
  customer_id,
}: {
  key_id: string
  customer_id: string
}): Reader => ({
  name: `key ${key_id}`,
  customer_id,
  wait_ms: WAIT_MS,
})

/** The checks of a customer, which look for their transactions. */
export const checksReader = (customer_id: string): Reader => ({
  name: `checks of ${customer_id}`,
  customer_id,
  wait_ms: CHECKS_WAIT_MS,
})

const FRESH_MS = 1_000
/** Voting changes them, every six hours at most. */
const PARAMETERS_FRESH_MS = 60_000
const REMEMBERED_MAX = 2_000
/** What a contract returns can be long, and nobody here needs more of it than a word. */
const RESULT_MAX = 256
/** Where a transaction is asks both sides of a node. */
const WHEREABOUTS_WEIGHT = 2

type CachedAnswer = { answer: Promise<unknown>; until_ms: number }

export function nodeReads(node: ReadNode, budget: ReadBudget, timer: Timer): Reads {
  const remembered = new Map<string, CachedAnswer>()

  function ask<T>(
    reader: Reader,
    name: string,
    question: () => Promise<T>,
    fresh_ms = FRESH_MS,
  ): Promise<T> {
    const answer = budget.spend(reader, 1, question)
    const one: CachedAnswer = { answer, until_ms: Number.POSITIVE_INFINITY }
    remembered.delete(name)
    remembered.set(name, one)
    const [oldest] = remembered.keys()
    if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest)
    const forget = () => remembered.get(name) === one && remembered.delete(name)
    answer.then(() => {
      one.until_ms = timer.now_ms() + fresh_ms
    }, forget)
    return answer
  }

  /** The answer to a question of this name, no matter who asked it, while it is fresh; else it is
   *  asked. */
  async function recall<T>(
    reader: Reader,
    name: string,
    question: () => Promise<T>,
    fresh_ms?: number,
  ): Promise<T> {
    const known = remembered.get(name)
    if (!known || known.until_ms <= timer.now_ms()) return ask(reader, name, question, fresh_ms)
    try {
      // Only a question of the same name, and so of the same answer, is remembered under it.
      return (await known.answer) as T
    } catch (thrown) {
      // Somebody else's share was used up, and not this reader's.
      if (thrown instanceof TooManyRequests) return ask(reader, name, question, fresh_ms)
      throw thrown
    }
  }

  return (reader) => {
    const read = <T>(name: string, question: () => Promise<T>) =>
      budget.isBusy(reader) ? recall(reader, name, question) : ask(reader, name, question)
    return {
      account: (address) => read(`account ${address}`, () => node.account(address)),
      resources: (address) => read(`resources ${address}`, () => node.resources(address)),
      constantCall: (call) =>
        read(`call ${JSON.stringify(call)}`, async () => {
          const called = await node.constantCall(call)
          return { ...called, result: called.result.slice(0, RESULT_MAX) }
        }),
      parameters: () => recall(reader, 'parameters', () => node.parameters(), PARAMETERS_FRESH_MS),
      whereabouts: (tx_id) =>
        budget.spend(reader, WHEREABOUTS_WEIGHT, () => node.whereabouts(tx_id)),
    }
  }
}
