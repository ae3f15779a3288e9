// The customers of `torture -- names` who are timed, in a thread of their own: what the chain, the
// name server and the receiver of the same program cost is not counted as the service's.

import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Penstock } from '../../packages/sdk/src/penstock.ts'

export type BuyerOrder = { api_url: string; token: string; secret: string; address: string }
/** Milliseconds of each call, and what was refused or not answered. */
export type BuyerTimes = { purchase: number[]; read: number[]; failed: string[] }

const EVERY_MS = 100

const { api_url, token, secret, address } = workerData as BuyerOrder
const client = new Penstock({ url: api_url, token, secret, retries: 0, timeout_ms: 15_000 })

/** One customer buys and reads, so often a second; each answer is timed. */
async function useFor(seconds: number): Promise<BuyerTimes> {
  const times: BuyerTimes = { purchase: [], read: [], failed: [] }
  const timed = async (what: 'purchase' | 'read', call: () => Promise<unknown>) => {
    const began_ms = performance.now()
    try {
      await call()
    } catch (thrown) {
      times.failed.push(`${what}: ${String(thrown)}`)
    }
    times[what].push(performance.now() - began_ms)
  }
  const params = { address, amount: 32_000, duration: 1 }
  const ends_ms = performance.now() + seconds * 1_000
  const asked: Promise<void>[] = []
  while (performance.now() < ends_ms) {
    asked.push(timed('purchase', () => client.orders.create({ service: 'energy', params })))
    await delay(EVERY_MS / 2)
    asked.push(timed('read', () => client.balance.get()))
    await delay(EVERY_MS / 2)
  }
  await Promise.all(asked)
  return times
}

parentPort!.on('message', (seconds: number) => {
  void useFor(seconds).then((times) => parentPort!.postMessage(times))
})
