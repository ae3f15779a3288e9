// The flow index by itself: time for each transfer and memory for each address, with four million
// addresses in one process. The traffic is skewed as on a real chain: most transfers go into or
// come out of services, and some people appear far more often than others. A second figure is for
// uniform traffic, where no address is likelier than another and the processor's caches help least.
// Beside each, in the same run, a bare loop over the same transfers, which finds both addresses in
// a table and keeps their balances: the least that whoever wants to know an address's money must
// do.

import { stateHash, writeCheckpoint } from 'penstock-service/screening/flow/checkpoint.ts'
import { FlowIndex } from 'penstock-service/screening/flow/flow_index.ts'
import { applyBlock, CarriedWriter } from 'penstock-service/screening/flow/log.ts'
import { bitCount, MASK, SLOT } from 'penstock-service/screening/flow/memory.ts'
import {
  blockOf,
  type Draw,
  drawer,
  labels,
  nextBlock,
  people,
  type Traffic,
  writeAddress,
} from './parts/flow_traffic.ts'

const ADDRESSES = 4_000_000
/** Before the clock runs for the figure; the time of these, from an empty index on, is printed
 *  apart. */
const EARLIER = 4_000_000
const TRANSFERS = 4_000_000
const BLOCK = 200

const { skewed, uniform } = people(ADDRESSES)

type Figures = {
  /** Processor time: what others do on the machine does not count. */
  us_per_transfer: number
  wall_us_per_transfer: number
  /** The same from an empty index on, while nearly every transfer makes addresses or categories
   *  that were not there. */
  filling_us_per_transfer: number
  /** The bare loop, and how many times as long the index takes. */
  bare_us_per_transfer: number
  ratio_bare: number
  addresses: number
  cells_per_address: number
  bytes_per_address: number
}

/** Applies transfers and says how long it took. They are made outside of the measured time, a
 *  hundred blocks at once, and applied block by block. */
function apply(index: FlowIndex, traffic: Traffic, how: { draw: Draw; transfers: number }) {
  let wall_us = 0
  let cpu_us = 0
  const end = index.sequence + how.transfers
  while (index.sequence < end) {
    const bytes = blockOf(how.draw, traffic, 100 * BLOCK)
    const start = performance.now()
    const cpu = process.cpuUsage()
    for (let i = 0; i < 100; i++)
      applyBlock(index, nextBlock(index, bytes.subarray(i * BLOCK * 52, (i + 1) * BLOCK * 52)))
    wall_us += (performance.now() - start) * 1_000
    const used = process.cpuUsage(cpu)
    cpu_us += used.user + used.system
  }
  return { us: round(cpu_us / how.transfers), wall_us: round(wall_us / how.transfers) }
}

/** Places for twice as many addresses, so that few share one. */
const PLACES = 2 ** Math.ceil(Math.log2(2 * ADDRESSES))

/** Microseconds of the processor for a transfer in a loop that keeps balances alone: a table with
 *  open places, each with an address, whether it is taken, and its balance, in half a line of the
 *  processor's cache. All addresses are in it before the clock runs, as they are in the index. */
function bareLoop(traffic: Traffic, draw: Draw): number {
  const table = new Uint32Array(PLACES * 8)
  const balances = new Float64Array(table.buffer)
  const isAt = (place: number, words: Uint32Array, at: number) =>
    table[place] === words[at] &&
    table[place + 1] === words[at + 1] &&
    table[place + 2] === words[at + 2] &&
    table[place + 3] === words[at + 3] &&
    table[place + 4] === words[at + 4]
  /** Where the balance of an address is. */
  const balanceOf = (words: Uint32Array, at: number): number => {
    let place = (words[at]! & (PLACES - 1)) * 8
    while (table[place + 5] === 1 && !isAt(place, words, at)) place = (place + 8) % table.length
    if (table[place + 5] === 0) {
      for (let i = 0; i < 5; i++) table[place + i] = words[at + i]!
      table[place + 5] = 1
    }
    return place / 2 + 3
  }
  const address = new Uint32Array(5)
  for (let n = 0; n < ADDRESSES; n++) {
    writeAddress(address, 0, n)
    balanceOf(address, 0)
  }
  let cpu_us = 0
  for (let done = 0; done < TRANSFERS; done += 100 * BLOCK) {
    const words = new Uint32Array(blockOf(draw, traffic, 100 * BLOCK).buffer)
    const cpu = process.cpuUsage()
    for (let at = 0; at < words.length; at += 13) {
      const amount = words[at + 11]! + words[at + 12]! * 2 ** 32
      const [from, to] = [balanceOf(words, at + 1), balanceOf(words, at + 6)]
      balances[from] = balances[from]! - amount
      balances[to] = balances[to]! + amount
    }
    const used = process.cpuUsage(cpu)
    cpu_us += used.user + used.system
  }
  return cpu_us / TRANSFERS
}

function measure(traffic: Traffic): { figures: Figures; index: FlowIndex } {
  const draw = drawer(7)
  const index = new FlowIndex(labels)
  const words = new Uint32Array(5)
  for (let n = 0; n < ADDRESSES; n++) {
    writeAddress(words, 0, n)
    index.slot(0, words)
  }
  const filling = apply(index, traffic, { draw, transfers: EARLIER })
  const steady = apply(index, traffic, { draw, transfers: TRANSFERS })
  const bare_us = round(bareLoop(traffic, draw))
  let cells = 0
  for (let slot = 0; slot < index.memory.slot_count; slot++)
    cells += bitCount(index.memory.slots[slot * SLOT + MASK]!)
  const figures = {
    us_per_transfer: steady.us,
    wall_us_per_transfer: steady.wall_us,
    filling_us_per_transfer: filling.us,
    bare_us_per_transfer: bare_us,
    ratio_bare: Math.round((100 * steady.us) / bare_us) / 100,
    addresses: ADDRESSES,
    cells_per_address: round(cells / ADDRESSES),
    bytes_per_address: Math.round(index.memory.bytes_used / ADDRESSES),
  }
  return { figures, index }
}

const round = (value: number) => Math.round(value * 1_000) / 1_000

/** A block as large as on the main network, with what each transfer carried written down. */
function blockMs(index: FlowIndex): number {
  const draw = drawer(9)
  const times: number[] = []
  for (let i = 0; i < 200; i++) {
    const block = nextBlock(index, blockOf(draw, skewed, BLOCK))
    const start = performance.now()
    const writer = new CarriedWriter(BLOCK)
    applyBlock(index, block, writer)
    writer.written()
    times.push(performance.now() - start)
  }
  return round(times.sort((a, b) => a - b)[100]!)
}

function timed<T>(work: () => T): { ms: number; result: T } {
  const start = performance.now()
  const result = work()
  return { ms: Math.round(performance.now() - start), result }
}

export async function run(options: { json: boolean }): Promise<void> {
  const { figures, index } = measure(skewed)
  const block_of_200_ms = blockMs(index)
  const saved = timed(() => {
    let bytes = 0
    for (const chunk of writeCheckpoint(index)) bytes += chunk.length
    return bytes
  })
  const hashed = timed(() => stateHash(index))
  const checkpoint = {
    checkpoint_bytes: saved.result,
    checkpoint_ms: saved.ms,
    hash_ms: hashed.ms,
    state_sha256: hashed.result,
  }
  const uniform_figures = measure(uniform).figures
  if (options.json) {
    console.log(
      JSON.stringify({ ...figures, block_of_200_ms, ...checkpoint, uniform: uniform_figures }),
    )
    return
  }
  print('skewed traffic', figures)
  print('uniform traffic', uniform_figures)
  console.log(`a block of ${BLOCK} transfers with what each carried: ${block_of_200_ms} ms`)
  console.log(
    `checkpoint: ${Math.round(saved.result / 1e6)} MB in ${saved.ms} ms; ` +
      `state hash in ${hashed.ms} ms`,
  )
}

function print(title: string, figures: Figures): void {
  const { us_per_transfer, wall_us_per_transfer, filling_us_per_transfer, bytes_per_address } =
    figures
  const { bare_us_per_transfer, ratio_bare } = figures
  console.log(
    `${title}: ${us_per_transfer} µs for a transfer (${wall_us_per_transfer} by the clock ` +
      'on the wall)',
  )
  console.log(`  while the index fills: ${filling_us_per_transfer} µs`)
  console.log(
    `  a bare loop that keeps balances: ${bare_us_per_transfer} µs; the index takes ` +
      `${ratio_bare} times as long`,
  )
  console.log(
    `  ${bytes_per_address} bytes for an address, ${figures.cells_per_address} categories each`,
  )
}
