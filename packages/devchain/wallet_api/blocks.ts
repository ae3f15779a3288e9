// Blocks over HTTP.

import { type Block, witnessSignature } from '../chain/blocks.ts'
import { printAddress, printTransaction, readId } from '../http/messages.ts'
import { type Call, newestOf, type Routes } from '../http/routes.ts'
import type { Json, JsonObject } from '../state/json.ts'
import { withoutDefaults } from '../state/json.ts'

const LIST_MAX = 100

function printBlock({ chain, given: { visible } }: Call, block: Block, detail = true): JsonObject {
  const { number, txTrieRoot, witness_address, parentHash, version, timestamp } = block.header
  return {
    blockID: block.id,
    block_header: {
      raw_data: {
        ...withoutDefaults({ number }),
        txTrieRoot,
        witness_address: printAddress(witness_address, visible),
        parentHash,
        version,
        timestamp,
      },
      witness_signature: witnessSignature(block, chain.witnesses),
    },
    ...(detail && block.transactions.length > 0
      ? {
          transactions: block.transactions.map(({ transaction, outcome }) =>
            printTransaction(transaction, visible, outcome),
          ),
        }
      : {}),
  }
}

/** The block of a number as far as the call can see. */
export function visibleBlock(call: Call, number: number): Block | undefined {
  return number <= newestOf(call).header.number ? call.chain.block(number) : undefined
}

/** The block of an id: its number is in its first 16 characters. */
function blockOfId(call: Call, id: string): Block | undefined {
  const block = visibleBlock(call, Number.parseInt(id.slice(0, 16), 16))
  return block?.id === id ? block : undefined
}

function printFound(call: Call, block: Block | undefined, detail = true): Json {
  return block ? printBlock(call, block, detail) : {}
}

function blockByIdOrNumber(call: Call): Block | undefined {
  const asked = call.given.text('id_or_num')
  if (asked === '') return newestOf(call)
  return /^\d+$/.test(asked) && asked.length < 64
    ? visibleBlock(call, Number(asked))
    : blockOfId(call, readId(asked))
}

/** Blocks from a number up to, and without, another. */
function printRange(call: Call, start: number, end: number): Json {
  const blocks: Block[] = []
  for (let number = start; number < end; number++) {
    const block = visibleBlock(call, number)
    if (block) blocks.push(block)
  }
  return blocks.length > 0 ? { block: blocks.map((block) => printBlock(call, block)) } : {}
}

export const blockRoutes: Routes = {
  getnowblock: { int64_as_number: true, answer: (call) => printBlock(call, newestOf(call)) },
  getblock: {
    answer: (call) => printFound(call, blockByIdOrNumber(call), call.given.flag('detail')),
  },
  getblockbynum: {
    answer: (call) => printFound(call, visibleBlock(call, call.given.number('num'))),
  },
  getblockbyid: {
    answer: (call) => printFound(call, blockOfId(call, readId(call.given.text('value')))),
  },
  getblockbylimitnext: {
    answer(call) {
      const start = call.given.number('startNum')
      const end = call.given.number('endNum')
      return end > 0 && end > start && end - start <= LIST_MAX ? printRange(call, start, end) : {}
    },
  },
  getblockbylatestnum: {
    answer(call) {
      const count = call.given.number('num')
      const newest = newestOf(call).header.number
      return count > 0 && count < LIST_MAX ? printRange(call, newest - count + 1, newest + 1) : {}
    },
  },
  gettransactioncountbyblocknum: {
    answer(call) {
      const block = visibleBlock(call, call.given.number('num'))
      return { count: block ? block.transactions.length : 0 }
    },
  },
}
