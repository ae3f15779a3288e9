// Made-up traffic for the flow index, skewed as on a real chain: most transfers go into or come out
// of services, and some people appear far more often than others. The same for the same seed.

import type { LoggedBlock } from 'penstock-service/chain/transfers/packed.ts'
import { categoryNumber } from 'penstock-service/screening/flow/categories.ts'
import type { FlowIndex } from 'penstock-service/screening/flow/flow_index.ts'
import type { Label } from 'penstock-service/screening/flow/labels.ts'

export const SERVICES = 300

export type Draw = () => number

/** Numbers from 0 up to 1, the same for the same seed. */
export function drawer(seed: number): Draw {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The address of the n-th: spread over all values, as hashes are. */
export function writeAddress(words: Uint32Array, at: number, n: number): void {
  let state = n
  for (let i = 0; i < 5; i++) {
    state = (state + 0x9e3779b9) | 0
    const mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    words[at + i] = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97) ^ n
  }
}

function addressText(n: number): string {
  const words = new Uint32Array(5)
  writeAddress(words, 0, n)
  return Buffer.from(words.buffer).toString('hex')
}

/** How the services' traffic divides among categories, in percent: nearly all of it is exchanges,
 *  as on the chain. */
const VOLUMES: Record<string, number> = {
  exchange_licensed: 40,
  exchange_unlicensed: 20,
  payment: 12,
  liquidity_pools: 10,
  bridge: 5,
  gambling: 5,
  unidentified_service: 3,
  mixer: 1,
  scam: 1,
  exchange_fraudulent: 1,
  sanctions: 1,
  issuer_frozen: 1,
}
const kinds = Object.entries(VOLUMES).flatMap(([name, percent]) =>
  Array<number>(percent).fill(categoryNumber(name)!),
)

export const labels: readonly Label[] = Array.from({ length: SERVICES }, (_, n) => ({
  address: addressText(n),
  category: kinds[n % kinds.length]!,
  confidence: n % 13 === 0 ? 30 : 100,
  kind: 'curated',
  from_ms: Number.NEGATIVE_INFINITY,
  to_ms: Number.POSITIVE_INFINITY,
}))

export type Traffic = (draw: Draw) => { from: number; to: number }

/** Traffic among addresses, some of them services. */
export type People = { skewed: Traffic; uniform: Traffic }

export function people(addresses: number): People {
  // People come up by a curve; who came up as often as a service would be one, and labelled.
  const person = (draw: Draw) => SERVICES + Math.floor((addresses - SERVICES) * draw() ** 1.5)
  return {
    // 30 % out of services, 30 % into them, the rest between people.
    skewed: (draw) => {
      const kind = draw()
      const service = Math.floor(SERVICES * draw())
      if (kind < 0.3) return { from: service, to: person(draw) }
      return { from: person(draw), to: kind < 0.6 ? service : person(draw) }
    },
    // Everybody pays everybody.
    uniform: (draw) => ({
      from: draw() < 0.05 ? Math.floor(SERVICES * draw()) : Math.floor(addresses * draw()),
      to: Math.floor(addresses * draw()),
    }),
  }
}

/** The transfers of a block, as the log has them. */
export function blockOf(draw: Draw, traffic: Traffic, size: number): Uint8Array {
  const words = new Uint32Array(size * 13)
  for (let at = 0; at < words.length; at += 13) {
    const { from, to } = traffic(draw)
    const amount = Math.floor(10 ** (3 + 8 * draw()))
    writeAddress(words, at + 1, from)
    writeAddress(words, at + 6, to)
    words[at + 11] = amount
    words[at + 12] = amount / 2 ** 32
  }
  return new Uint8Array(words.buffer)
}

/** The block after the last one of an index. */
export function nextBlock(index: FlowIndex, transfers: Uint8Array): LoggedBlock {
  const number = index.block_number + 1
  return {
    number,
    time_ms: number * 3_000,
    freezes: [],
    first_sequence: index.sequence + 1,
    transfers,
  }
}
