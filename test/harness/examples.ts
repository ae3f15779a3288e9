// Sends every example of every endpoint to a whole service, in the order of the endpoints, and
// keeps the answers: they are what the reference shows. A seed and the chain's own clock make them
// the same each time. Only transaction hashes are replaced: they change with every sun by which the
// development chain's stakes change.

import { hash } from 'node:crypto'
import { TRX } from 'penstock-devchain/scene.ts'
import type { EventKind } from 'penstock-service/events/log/kinds.ts'
import type { Page } from 'penstock-service/platform/http/pages.ts'
import { type Endpoint, SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { EXAMPLE } from 'penstock-service/platform/wire/examples.ts'
import type { ExampleAnswer } from '../../tools/openapi.ts'
import { type Customer, openWorld, type World } from './world.ts'

export type Story = {
  endpoints: readonly Endpoint[]
  pages: readonly Page[]
  kinds: readonly EventKind[]
  tried: ExampleAnswer[]
}

/** Tries the examples on a database of their own. */
export async function tryExamples(): Promise<Story> {
  const world = await openWorld({ seed: 'examples', together: true })
  try {
    await prepareExamples(world)
    const customer = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
    const tried = await callExamples(world, customer)
    const { endpoints, pages, kinds } = world.app
    return { endpoints, pages, kinds, tried }
  } finally {
    await world.discard()
  }
}

/** One customer sends them all. */
export async function callExamples(world: World, customer: Customer): Promise<ExampleAnswer[]> {
  const tried: ExampleAnswer[] = []
  for (const endpoint of world.app.endpoints) {
    for (const { summary, body: written } of endpoint.examples) {
      const body = filled(written, tried)
      const { code, key, request_id, error, result } = await customer.call(endpoint.path, body)
      const answer = code === 0 ? { code, request_id, result } : { code, key, request_id, error }
      tried.push({ path: endpoint.path, summary, body, answer: withoutHashes(answer) })
      await world.settle()
      world.mine()
      await world.drain()
    }
  }
  return tried
}

/** What the examples take for granted. */
export async function prepareExamples(world: World): Promise<void> {
  world.scene.devchain.fund(EXAMPLE.address, 10n * TRX)
  world.mine()
  // Shipped prices begin when a database is made.
  await world.sql`update price set since = '2026-01-01'`
  await world.sql`update fee set since = '2026-01-01'`
  await world.sql`update aml_price set since = '2026-01-01'`
}

const ANSWERED = /^<([\w.]+) of (.+)>$/

/** The body with what earlier answers said: see answered(). */
export function filled(
  body: object,
  tried: readonly Pick<ExampleAnswer, 'path' | 'answer'>[],
): object {
  const known = Object.entries(body).map(([name, value]) => {
    const [, field, path] = ANSWERED.exec(String(value)) ?? []
    if (field === undefined) return [name, value]
    const call = tried.find((one) => one.path === path)
    const { result } = call!.answer as { result: unknown }
    const part = (whole: unknown, key: string) => (whole as Record<string, unknown>)[key]
    return [name, field.split('.').reduce(part, result)]
  })
  return Object.fromEntries(known)
}

const JWS = /"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+"/g

/** The answer with other hashes: the first that it has, the second, and so on. A JWS has some
 *  inside of it. */
function withoutHashes(answer: object): unknown {
  const seen: string[] = []
  const text = JSON.stringify(answer).replace(/"[0-9a-f]{64}"/g, (found) => {
    if (!seen.includes(found)) seen.push(found)
    return `"${hash('sha256', `example ${seen.indexOf(found)}`)}"`
  })
  return JSON.parse(text.replace(JWS, '"eyJhbGciOiJFZERTQSI….eyJyZWNlaXB0….lVYUKSVZv7Bk…"'))
}
