// The memory that the flow index takes as addresses deal with each other more and more: with each
// transfer shares mix, until everybody has some of everything, so bytes an address is a curve over
// transfers an address and no single figure. Beside what is in use: what the process has taken from
// the system, room taken ahead among it. And the time of a transfer as the service applies it, with
// what each carried written down. At the end the main network's horizons are read off the curve.
//
//   npm run bench -- flow-curve [--addresses N] [--transfers_each N] [--json]

import { FlowIndex } from 'penstock-service/screening/flow/flow_index.ts'
import { applyBlock, CarriedWriter } from 'penstock-service/screening/flow/log.ts'
import { bitCount, MASK, SLOT } from 'penstock-service/screening/flow/memory.ts'
import { ownCpuUs } from './parts/cpu.ts'
import { blockOf, drawer, labels, nextBlock, people } from './parts/flow_traffic.ts'

export const OPTIONS = {
  addresses: { type: 'string', default: '1000000' },
  transfers_each: { type: 'string', default: '10' },
} as const

const BLOCK = 200
const BLOCKS_AT_ONCE = 100

/** Horizons of the main network: transfers and addresses as the documentation has them. */
const HORIZONS = [
  { what: '30 days', transfers: 173e6, addresses: 30e6 },
  { what: 'a year', transfers: 2.1e9, addresses: 180e6 },
  { what: 'all USDT', transfers: 3.8e9, addresses: 300e6 },
  { what: 'USDT and TRX', transfers: 9e9, addresses: 670e6 },
] as const

type Point = {
  transfers_each: number
  categories_each: number
  bytes_each: number
  rss_each: number
  us_per_transfer: number
}

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const { addresses = 0, transfers_each = 0 } = numbers
  const points = curveOf(addresses, transfers_each)
  const horizons = HORIZONS.map((one) => ({ ...one, ...readOff(points, one) }))
  if (json) {
    process.stdout.write(`${JSON.stringify({ addresses, points, horizons })}\n`)
    return
  }
  process.stdout.write(`traffic among ${addresses} addresses\n`)
  console.table(points)
  console.table(horizons)
}

/** A point for each two transfers an address. */
function curveOf(addresses: number, transfers_each: number): Point[] {
  const { skewed } = people(addresses)
  const draw = drawer(7)
  const rss_before = process.memoryUsage.rss()
  const index = new FlowIndex(labels)
  const points: Point[] = []
  let cpu_us = 0
  let measured = 0
  while (index.sequence < addresses * transfers_each) {
    const bytes = blockOf(draw, skewed, BLOCKS_AT_ONCE * BLOCK)
    const cpu = process.cpuUsage()
    for (let i = 0; i < BLOCKS_AT_ONCE; i++) {
      const writer = new CarriedWriter(BLOCK)
      const transfers = bytes.subarray(i * BLOCK * 52, (i + 1) * BLOCK * 52)
      applyBlock(index, nextBlock(index, transfers), writer)
      writer.written()
    }
    cpu_us += ownCpuUs(cpu)
    measured += BLOCKS_AT_ONCE * BLOCK
    if (index.sequence < addresses * 2 * (points.length + 1)) continue
    points.push(pointOf(index, { rss_before, us_per_transfer: cpu_us / measured }))
    cpu_us = 0
    measured = 0
  }
  return points
}

/** Addresses without a transfer are not there, so the figures are of those that are. */
function pointOf(
  { memory, sequence }: FlowIndex,
  { rss_before, us_per_transfer }: { rss_before: number; us_per_transfer: number },
): Point {
  let cells = 0
  for (let slot = 0; slot < memory.slot_count; slot++)
    cells += bitCount(memory.slots[slot * SLOT + MASK]!)
  const count = memory.slot_count
  return {
    transfers_each: round(sequence / count),
    categories_each: round(cells / count),
    bytes_each: Math.round(memory.bytes_used / count),
    rss_each: Math.round((process.memoryUsage.rss() - rss_before) / count),
    us_per_transfer: round(us_per_transfer),
  }
}

/** Gigabytes of a worker at a number of transfers an address, between two points of the curve. */
function readOff(points: readonly Point[], at: { transfers: number; addresses: number }) {
  const each = at.transfers / at.addresses
  const above = points.find((point) => point.transfers_each >= each) ?? points.at(-1)!
  const below = points.findLast((point) => point.transfers_each <= each) ?? above
  const span = above.transfers_each - below.transfers_each
  const share = span === 0 ? 0 : (each - below.transfers_each) / span
  const bytes = below.bytes_each + share * (above.bytes_each - below.bytes_each)
  const beyond = each > points.at(-1)!.transfers_each
  return {
    transfers_each: round(each),
    gigabytes: Math.round((bytes * at.addresses) / 1e9),
    ...(beyond && { at_least: true }),
  }
}

const round = (value: number) => Math.round(value * 100) / 100
