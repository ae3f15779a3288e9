// A chain that a test makes up, and a node that answers of it what readers of the past ask: blocks,
// what they left, and what tokens say of themselves.

import { topicOf } from 'penstock-devchain/calls/abi.ts'
import { contentsOf } from 'penstock-service/chain/follow/contents.ts'
import type { Block, Node, Receipt } from 'penstock-service/chain/node/node.ts'
import type { Address } from 'penstock-tron/address.ts'
import { addressWord, numberWord, USDT } from 'penstock-tron/tokens.ts'
import { addressNumbered, idNumbered, type LoggedMove, momentOf } from './logged_world.ts'

export type MadeBlock = Block & { receipts: Receipt[] }

/** The id of a block: its first half is its number. */
export const blockIdOf = (number: number) =>
  `${number.toString(16).padStart(16, '0')}${'ab'.repeat(24)}`

/** `frozen`: the numbers of addresses that the token freezes. */
export function madeBlock(
  number: number,
  { moves = [], frozen = [] }: { moves?: readonly LoggedMove[]; frozen?: readonly number[] } = {},
): MadeBlock {
  const log = (event: string, words: readonly string[]) => ({
    contract: USDT,
    topics: [topicOf(event), ...words],
    data: '',
  })
  const events = [
    ...moves.map(({ tx, asset, from, to, amount }) => ({
      tx,
      logs:
        asset === 0
          ? []
          : [
              log('Transfer(address,address,uint256)', [
                addressWord(from),
                addressWord(to),
                numberWord(amount),
              ]),
            ],
    })),
    ...frozen.map((n) => ({
      tx: n,
      logs: [log('AddedBlackList(address)', [addressWord(addressNumbered(n))])],
    })),
  ]
  return {
    number,
    id: blockIdOf(number),
    parent_id: blockIdOf(number - 1),
    time: momentOf(3_000 * number),
    read_from: new Set(),
    transactions: events.map(({ tx }) => ({
      tx_id: idNumbered(tx),
      owner: undefined,
      contract_type: 'x',
      succeeded: true,
      call: undefined,
    })),
    transfers: moves
      .filter(({ asset }) => asset === 0)
      .map(({ tx, from, to, amount }) => ({ tx_id: idNumbered(tx), from, to, amount_sun: amount })),
    asset_transfers: [],
    receipts: events.map(({ tx, logs }) => ({
      tx_id: idNumbered(tx),
      fee_sun: 0n,
      bandwidth: 0n,
      energy: 0n,
      staked: 0n,
      logs,
      internal: [],
      unknown_internal: [],
      internal_shown: 0,
    })),
  }
}

/** What a token answers to a question, as hexadecimal digits; undefined: the call fails. */
export type TokenWord = (contract: Address, selector: string) => string | undefined

const saysNumbers: TokenWord = (_contract, selector) =>
  numberWord(selector === 'decimals()' ? 6n : 10n ** 15n)
/** The text X, which a call that fails may leave. */
const LEFT_BY_FAILURE = [numberWord(32n), numberWord(1n), '58'.padEnd(64, '0')].join('')

/** Answers of these blocks. */
export function madeNode(blocks: readonly MadeBlock[], says: TokenWord = saysNumbers): Node {
  const at = (number: number) => blocks.find((block) => block.number === number)
  const answers: Pick<Node, 'blocks' | 'receipts' | 'blockWithReceipts' | 'constantCall'> = {
    blocks: async (first, last) => blocks.filter(({ number }) => number >= first && number <= last),
    receipts: async ({ number }) => at(number)!.receipts,
    async blockWithReceipts(number) {
      const block = at(number)
      return block && { block, receipts: block.receipts }
    },
    async constantCall({ contract, selector }) {
      const said = says(contract, selector)
      // A call that fails can leave words all the same.
      const result = said ?? LEFT_BY_FAILURE
      return { succeeded: said !== undefined, energy: 0n, result, said: '' }
    },
  }
  return answers as Node
}

/** A block as followers keep it. */
export const storedBlock = (block: MadeBlock) => contentsOf(new Set([USDT]), block, block.receipts)
