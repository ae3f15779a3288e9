// Sends every example of every endpoint to a whole service, in the order of the endpoints, and
// keeps the answers: they are what the reference shows. A seed and the chain's own clock make them
// the same each time. Only transaction hashes are replaced: they change with every sun by which the
// development chain's stakes change.

import { hash } from 'node:crypto'
import { TRX } from 'penstock-devchain/scene.ts'
import type { Page } from 'penstock-service/http/pages.ts'
import type { Endpoint } from 'penstock-service/wire/endpoint.ts'
import { EXAMPLE } from 'penstock-service/wire/examples.ts'
import type { ExampleAnswer } from '../../tools/openapi.ts'
import { openWorld } from './world.ts'

export type Story = {
  endpoints: readonly Endpoint[]
  pages: readonly Page[]
  tried: ExampleAnswer[]
}

/** Tries the examples on a database of their own. */
export async function tryExamples(): Promise<Story> {
  const world = await openWorld({ seed: 'examples' })
  try {
    world.scene.devchain.fund(EXAMPLE.address, 10n * TRX)
    world.mine()
    const customer = await world.customer({ trx: 1_000 })
    const tried: ExampleAnswer[] = []
    for (const endpoint of world.app.endpoints) {
      for (const { summary, body } of endpoint.examples) {
        const { code, key, request_id, error, result } = await customer.call(endpoint.path, body)
        const answer = code === 0 ? { code, request_id, result } : { code, key, request_id, error }
        tried.push({ path: endpoint.path, summary, body, answer: withoutHashes(answer) })
        await world.settle()
        world.mine()
        await world.drain()
      }
    }
    return { endpoints: world.app.endpoints, pages: world.app.pages, tried }
  } finally {
    await world.discard()
  }
}

/** The answer with other hashes: the first that it has, the second, and so on. */
function withoutHashes(answer: object): unknown {
  const seen: string[] = []
  const text = JSON.stringify(answer).replace(/"[0-9a-f]{64}"/g, (found) => {
    if (!seen.includes(found)) seen.push(found)
    return `"${hash('sha256', `example ${seen.indexOf(found)}`)}"`
  })
  return JSON.parse(text)
}
