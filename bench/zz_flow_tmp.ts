// The flow index by itself: time for each transfer and memory for each address, with four million addresses in one
// process. The traffic is skewed as on a real chain: most transfers are between people who rarely appear, many go to and
// come from exchanges, some are mixed further. Two figures, because the dense one is the worst that can happen: there,
// everybody pays everybody until every address holds nearly every category.

import { categoryNumber } from '../src/flow/categories.ts'
import { stateHash, writeCheckpoint } from '../src/flow/checkpoint.ts'
import { FlowIndex } from '../src/flow/flow_index.ts'
import type { Label } from '../src/flow/labels.ts'
import { applyBlock, CarriedWriter } from '../src/flow/log.ts'
import { bitCount, MASK, SLOT } from '../src/flow/memory.ts'

const ADDRESSES = 4_000_000
const SERVICES = 300
const TRANSFERS = 4_000_000
const BLOCK = 200

type Draw = () => number

/** Numbers from 0 up to 1, the same for the same seed. */
function drawer(seed: number): Draw {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The address of the n-th: spread over all values, as hashes are. */
function writeAddress(words: Uint32Array, at: number, n: number): void {
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

/** How the services' traffic divides among categories, in percent: nearly all of it is exchanges, as on the chain. */
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
const kinds = Object.entries(VOLUMES).flatMap(([name, percent]) => Array<number>(percent).fill(categoryNumber(name)!))

const labels: Label[] = Array.from({ length: SERVICES }, (_, n) => ({
  address: addressText(n),
  category: kinds[n % kinds.length]!,
  confidence: n % 13 === 0 ? 30 : 100,
  kind: 'curated',
  from_ms: Number.NEGATIVE_INFINITY,
  to_ms: Number.POSITIVE_INFINITY,
}))

type Traffic = (draw: Draw) => { from: number; to: number }

const person = (draw: Draw) => SERVICES + Math.floor((ADDRESSES - SERVICES) * draw() ** 3)

/** 30 % out of services, 30 % into them, the rest between people, who come up by a steep curve. */
const skewed: Traffic = (draw) => {
  const kind = draw()
  const service = Math.floor(SERVICES * draw())
  if (kind < 0.3) return { from: service, to: person(draw) }
  return { from: person(draw), to: kind < 0.6 ? service : person(draw) }
}

/** Everybody pays everybody. */
const dense: Traffic = (draw) => ({
  from: draw() < 0.05 ? Math.floor(SERVICES * draw()) : Math.floor(ADDRESSES * draw()),
  to: Math.floor(ADDRESSES * draw()),
})

function blockOf(draw: Draw, traffic: Traffic, size: number): Uint8Array {
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

type Figures = {
  /** Processor time: what others do on the machine does not count. */
  us_per_transfer: number
  wall_us_per_transfer: number
  addresses: number
  cells_per_address: number
  bytes_per_address: number
}

function measure(traffic: Traffic, transfers: number): Figures & { index: FlowIndex } {
  const draw = drawer(7)
  const index = new FlowIndex(labels)
  // Every address is there before the clock runs: growing is paid once in the life of an index.
  const seen = new Uint32Array(5)
  for (let n = 0; n < ADDRESSES; n++) {
    writeAddress(seen, 0, n)
    index.slot(0, seen)
  }
  let wall_ms = 0
  let cpu_us = 0
  let sequence = 1
  const portion = 100 * BLOCK
  for (let number = 1; sequence <= transfers; number += 100) {
    // Made outside of the measured time, a hundred blocks at once, and applied block by block.
    const bytes = blockOf(draw, traffic, portion)
    const start = performance.now()
    const cpu = process.cpuUsage()
    for (let i = 0; i < 100; i++) {
      const part = bytes.subarray(i * BLOCK * 52, (i + 1) * BLOCK * 52)
      applyBlock(index, {
        number: number + i,
        time_ms: (number + i) * 3_000,
        freezes: [],
        first_sequence: sequence,
        transfers: part,
      })
      sequence += BLOCK
    }
    wall_ms += performance.now() - start
    const used = process.cpuUsage(cpu)
    cpu_us += used.user + used.system
  }
  let cells = 0
  for (let slot = 0; slot < index.memory.slot_count; slot++) cells += bitCount(index.memory.slots[slot * SLOT + MASK]!)
  return {
    us_per_transfer: round(cpu_us / (sequence - 1)),
    wall_us_per_transfer: round((wall_ms * 1_000) / (sequence - 1)),
    addresses: ADDRESSES,
    cells_per_address: round(cells / ADDRESSES),
    bytes_per_address: Math.round(index.memory.bytes_used / ADDRESSES),
    index,
  }
}

const round = (value: number) => Math.round(value * 1_000) / 1_000

/** A block as large as on the main network, with what each transfer carried written down. */
function blockMs(index: FlowIndex): number {
  const draw = drawer(9)
  const times: number[] = []
  let sequence = index.sequence + 1
  for (let i = 1; i <= 200; i++, sequence += BLOCK) {
    const transfers = blockOf(draw, skewed, BLOCK)
    const number = index.block_number + 1
    const start = performance.now()
    const writer = new CarriedWriter(BLOCK)
    applyBlock(index, { number, time_ms: number * 3_000, freezes: [], first_sequence: sequence, transfers }, writer)
    writer.written()
    times.push(performance.now() - start)
  }
  return round(times.sort((a, b) => a - b)[100]!)
}

export async function run(options: { json: boolean }): Promise<void> {
  const sparse = measure(skewed, TRANSFERS)
  const block_ms = blockMs(sparse.index)
  let started = performance.now()
  let checkpoint_bytes = 0
  for (const chunk of writeCheckpoint(sparse.index)) checkpoint_bytes += chunk.length
  const checkpoint_ms = Math.round(performance.now() - started)
  started = performance.now()
  const state_sha256 = stateHash(sparse.index)
  const hash_ms = Math.round(performance.now() - started)
  const { index: _, ...figures } = sparse
  const { index: __, ...dense_figures } = measure(dense, TRANSFERS)
  const result = {
    ...figures,
    block_of_200_ms: block_ms,
    checkpoint_bytes,
    checkpoint_ms,
    hash_ms,
    state_sha256,
    dense: dense_figures,
  }
  if (options.json) console.log(JSON.stringify(result))
  else {
    console.log(
      `skewed traffic: ${figures.us_per_transfer} µs for a transfer, ${figures.bytes_per_address} bytes for an address`,
    )
    console.log(
      `  (${figures.addresses} addresses, ${figures.cells_per_address} categories each, ${TRANSFERS} transfers)`,
    )
    console.log(
      `dense traffic:  ${dense_figures.us_per_transfer} µs, ${dense_figures.bytes_per_address} bytes, ${dense_figures.cells_per_address} categories each`,
    )
    console.log(`a block of ${BLOCK} transfers with what each carried: ${block_ms} ms`)
    console.log(
      `checkpoint: ${Math.round(checkpoint_bytes / 1e6)} MB in ${checkpoint_ms} ms; state hash in ${hash_ms} ms: ${state_sha256}`,
    )
  }
}
