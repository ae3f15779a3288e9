// The attackers of `torture -- names`, in a thread of their own, so that what their calls cost the
// sender does not count for the customers who are timed meanwhile.

import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Penstock } from '../../packages/sdk/src/penstock.ts'

/** A key, and the webhooks that it tries. */
export type Attacker = { token: string; secret: string; ids: string[] }
export type Order = { api_url: string; attackers: Attacker[] }

const LANES = 4
const PAUSE_MS = 1_000

const { api_url, attackers } = workerData as Order
let goes_on = false
parentPort!.on('message', (on: boolean) => {
  goes_on = on
})

/** Calls again and again; what is refused was a call, too. */
async function attack({ token, secret, ids }: Attacker, lane: number): Promise<void> {
  const client = new Penstock({ url: api_url, token, secret, retries: 0, timeout_ms: 15_000 })
  for (let i = lane; ; i += LANES) {
    // What is measured are the names, and not how many calls a machine can take.
    await delay(PAUSE_MS)
    if (!goes_on) continue
    const id = ids[i % ids.length]!
    await client.webhooks.test({ id, type: 'order.created' }).catch(() => {})
    await client.events.trigger({ type: 'order.created', webhook_id: id }).catch(() => {})
  }
}

for (const one of attackers) for (let lane = 0; lane < LANES; lane++) void attack(one, lane)
