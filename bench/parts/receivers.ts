// Orders a second by how many receivers they are for: one, a few, and another for each order, with
// the limits of the default settings, and with none. And what comes through a node that allows 15
// requests a second.

import type { Task } from './order_load.ts'

/** What a load is, and what it is sent to. */
export type ReceiverLoad = Pick<Task, 'keys' | 'addresses' | 'per_second'> & {
  clients: number
  seconds: number
  /** How long it goes on before it is measured. */
  warm_up_ms?: number
}
export type ReceiverFigures = {
  receivers: string
  customers: string
  limits: 'default' | 'none' | '15 a second at the node'
  /** Orders a second that were sent; null: as many as there were answers. */
  sent: number | null
  per_second: number
  p50_ms: number
  p99_ms: number
  refused: number
  service_us_per_order: number
  /** What the node was asked for an order, and how often it said 429. */
  node_requests_per_order: number
  node_refused: number
}

export type LoadOutcome = Pick<
  ReceiverFigures,
  | 'per_second'
  | 'p50_ms'
  | 'p99_ms'
  | 'refused'
  | 'service_us_per_order'
  | 'node_requests_per_order'
  | 'node_refused'
>
export type ReceiverBench = {
  keys: Task['keys']
  /** Of one customer, as many as it needs to buy so much. */
  keys_of_one: Task['keys']
  /** Addresses that nothing was sold to. */
  fresh(count: number): Promise<string[]>
  /** Sends a load to a service with these limits; `node`: how many requests a second it may ask. */
  send(load: ReceiverLoad, limits: ReceiverFigures['limits']): Promise<LoadOutcome>
  say(line: string): void
}

const CLIENTS = 256
const SECONDS = 3
const PACED_SECONDS = 5
/** A service that has just begun is slower, and a line forms before it: of the same load, 1,500 a
 *  second, the p99 was 164 ms after four seconds and 22 ms after fifteen, one run each. Measured is
 *  a service that has been at work, and not one that was just started. */
const WARM_UP_MS = 8_000
const PACED_WARM_UP_MS = 15_000
/** Above what comes through in that time, with what goes before it. */
const FRESH = 40_000
const FEW = 50
/** What is sent to the default settings, of all customers and of one, and to a slow node. The last
 *  of each is wanted, with p99 below 100 ms (a second at the slow node); those before it show what
 *  waiting in line adds, on a processor that load, chain and database share. */
const SENT = { all: [500, 1_000, 1_500], one: [500], slow: 10 }
const SLOW_SECONDS = 20
/** Few enough that none of their connections waits long for its first request. */
const SLOW_CLIENTS = 20

export async function measureReceivers(bench: ReceiverBench): Promise<ReceiverFigures[]> {
  const figures: ReceiverFigures[] = []
  const { keys, keys_of_one } = bench
  const measure = async (
    about: Pick<ReceiverFigures, 'receivers' | 'customers' | 'limits'>,
    load: Omit<ReceiverLoad, 'keys' | 'clients'> & { clients?: number },
  ) => {
    bench.say(`${about.receivers} receivers, ${about.customers}, limits: ${about.limits}`)
    const of_one = about.customers === 'one customer'
    const whole = { clients: CLIENTS, ...load, keys: of_one ? keys_of_one : keys }
    const sent = await bench.send(whole, about.limits)
    figures.push({ ...about, sent: load.per_second ?? null, ...sent })
  }
  const few = await bench.fresh(FEW)
  const customers = `${keys.length} customers`
  for (const limits of ['default', 'none'] as const) {
    const load = { seconds: SECONDS, warm_up_ms: WARM_UP_MS }
    await measure({ receivers: 'one', customers, limits }, { ...load, addresses: few.slice(0, 1) })
    await measure({ receivers: 'few', customers, limits }, { ...load, addresses: few })
    const addresses = await bench.fresh(FRESH)
    await measure({ receivers: 'distinct', customers, limits }, { ...load, addresses })
  }
  for (const [who, rates] of [
    [customers, SENT.all],
    ['one customer', SENT.one],
  ] as const)
    for (const per_second of rates) {
      const paced_ms = PACED_WARM_UP_MS + 1_000 * (PACED_SECONDS + 1)
      const addresses = await bench.fresh((paced_ms / 1_000) * per_second)
      const about = { receivers: 'distinct', customers: who, limits: 'default' } as const
      const load = { seconds: PACED_SECONDS, warm_up_ms: PACED_WARM_UP_MS, per_second }
      await measure(about, { ...load, addresses })
    }
  const addresses = await bench.fresh((SLOW_SECONDS + 2) * SENT.slow)
  const slow = { receivers: 'distinct', customers, limits: '15 a second at the node' } as const
  const load = { clients: SLOW_CLIENTS, seconds: SLOW_SECONDS, per_second: SENT.slow, addresses }
  await measure(slow, load)
  return figures
}

/** The part of the rate for one receiver that is left with another for each order, within the
 *  default settings: both are measured in one run, so it is the same on a slow machine as on a
 *  fast one. */
export function distinctOverOne(figures: readonly ReceiverFigures[]): number {
  const rateOf = (receivers: string) =>
    figures.find((one) => one.receivers === receivers && one.limits === 'default')!.per_second
  return Math.round((100 * rateOf('distinct')) / rateOf('one')) / 100
}

export function receiverLines(figures: readonly ReceiverFigures[]): string[] {
  const cells = (...all: (string | number)[]) => all.map((one) => String(one).padStart(9)).join(' ')
  const rows = figures.map((one) => {
    const title = `  ${one.receivers}, ${one.customers}, limits: ${one.limits}`.padEnd(56)
    const asked = Math.round(100 * one.node_requests_per_order) / 100
    const load = cells(one.sent ?? '-', one.per_second, one.p50_ms, one.p99_ms, one.refused)
    return `${title}${load} ${cells(one.service_us_per_order, asked, one.node_refused)}`
  })
  const head = cells('sent', 'orders/s', 'p50 ms', 'p99 ms', 'refused', 'us', 'asked', '429')
  const share = `another receiver for each order: ${distinctOverOne(figures)} of the rate for one`
  return [`${'receivers'.padEnd(56)}${head}`, ...rows, share]
}
