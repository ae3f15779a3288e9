// Balances as they were: what each transaction of a block changed, and what an account had at a
// block. A node tells this when it keeps the history of balances, as this chain does.

import type { Block, IncludedTransaction } from '../chain/blocks.ts'
import { NodeException, readAddress, readId } from '../http/messages.ts'
import { Arguments, type Call, type Routes } from '../http/routes.ts'
import { accountOf } from '../state/accounts.ts'
import { type Json, type JsonObject, withoutDefaults } from '../state/json.ts'
import { visibleBlock } from './blocks.ts'

const wrong = (message: string) => new NodeException('java.lang.IllegalArgumentException', message)

const identifierOf = ({ id, header }: Block): JsonObject => ({ hash: id, number: header.number })

/** The block that a request names by its number and its hash, which must be of one and the same. */
function namedBlock(call: Call, identifier: Arguments): Block {
  const hash = readId(identifier.text('hash'))
  if (hash.length !== 64) throw wrong('hash length not equals 32')
  const block = visibleBlock(call, identifier.number('number'))
  if (block?.id !== hash) throw wrong('number and hash do not match')
  return block
}

function printTrace(call: Call, { transaction, outcome, changes }: IncludedTransaction): Json {
  const operations = changes.map(({ address, sun }, index) => ({
    ...withoutDefaults({ operation_identifier: index }),
    address: call.given.print(address),
    amount: sun,
  }))
  return {
    transaction_identifier: transaction.id,
    ...withoutDefaults({ operation: operations }),
    type: transaction.contract_name,
    status: outcome.contract_ret,
  }
}

/** A block's change of an account's balance. */
function changeOf({ transactions, decrees }: Block, address: string): bigint {
  const changes = transactions.flatMap((included) => included.changes)
  const funds = decrees.filter((decree) => decree.kind === 'fund')
  const all = [...changes, ...funds].filter((change) => change.address === address)
  return all.reduce((sum, change) => sum + change.sun, 0n)
}

/** An object within the request. */
function within({ given }: Call, name: string): Arguments {
  const value = given.members[name]
  if (typeof value !== 'object' || value === null) throw wrong(`${name} is null`)
  return new Arguments(value as Record<string, unknown>)
}

function balanceAt(call: Call): Json {
  const account = within(call, 'account_identifier')
  const block = namedBlock(call, within(call, 'block_identifier'))
  const address = readAddress(account.text('address'), call.given.visible)
  const { chain } = call
  let balance = accountOf(chain.head_state, address)?.balance ?? 0n
  for (let number = chain.head_number; number > block.header.number; number--) {
    balance -= changeOf(chain.block(number)!, address)
  }
  return { ...withoutDefaults({ balance }), block_identifier: identifierOf(block) }
}

export const balanceRoutes: Routes = {
  getaccountbalance: { post_only: true, answer: balanceAt },
  getblockbalance: {
    post_only: true,
    answer(call) {
      const block = namedBlock(call, call.given)
      const traces = block.transactions.map((included) => printTrace(call, included))
      return {
        block_identifier: identifierOf(block),
        timestamp: block.header.timestamp,
        ...withoutDefaults({ transaction_balance_trace: traces }),
      }
    },
  },
}
