// A node that has nothing to do but to serve prepared blocks, in a process of its own: what the
// follower is measured against. Who starts it says over the process's channel how far its chain
// reaches, and is told when it does.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { numberWord } from 'penstock-tron/tokens.ts'
import { FIRST_NUMBER, mainnetBlocks } from './mainnet_blocks.ts'

/** Where the chain ends. */
export type Reach = { head: number; solid: number }
export type StartedNode = { url: string }

type NodeRequest = { startNum?: number; endNum?: number; num?: number; function_selector?: string }

const blocks = mainnetBlocks(Math.floor(Date.now() / 3_000) * 3_000 - 86_400_000)
let reach: Reach = { head: FIRST_NUMBER, solid: FIRST_NUMBER }

const SYMBOL = Buffer.from('USDT').toString('hex').padEnd(64, '0')

/** Answers of the token's contract, by the function called. */
const WORDS: Record<string, string> = {
  'decimals()': numberWord(6n),
  'totalSupply()': numberWord(10n ** 17n),
  'symbol()': `${numberWord(32n)}${numberWord(4n)}${SYMBOL}`,
}

function answer(path: string, asked: NodeRequest): Buffer {
  const [, side, name] = path.split('/')
  const last = side === 'walletsolidity' ? reach.solid : reach.head
  const has = (number: number) => number >= FIRST_NUMBER && number <= last
  if (name === 'getblock') return Buffer.from(JSON.stringify(blocks.head(last)))
  if (name === 'getblockbylimitnext') {
    const { startNum = 0, endNum = 0 } = asked
    const numbers = Array.from({ length: endNum - startNum }, (_, i) => startNum + i).filter(has)
    const parts = numbers.flatMap((number, i) => [
      Buffer.from(i === 0 ? '' : ','),
      blocks.block(number),
    ])
    return Buffer.concat([Buffer.from('{"block":['), ...parts, Buffer.from(']}')])
  }
  if (name === 'gettransactioninfobyblocknum') {
    return has(asked.num ?? 0) ? blocks.receipts(asked.num!) : Buffer.from('[]')
  }
  const constant_result = [WORDS[asked.function_selector ?? ''] ?? '']
  return Buffer.from(
    JSON.stringify({ result: { result: true }, energy_used: 500, constant_result }),
  )
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const server = createServer(async (request, response) => {
  const bytes = answer(
    request.url ?? '',
    JSON.parse((await bodyOf(request)) || '{}') as NodeRequest,
  )
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length })
  response.end(bytes)
})

process.on('message', (wanted: Reach) => {
  blocks.prepare(reach.head, wanted.head)
  reach = wanted
  process.send?.('reached')
})
// It ends with the process that started it.
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => {
  process.send?.({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  } satisfies StartedNode)
})
