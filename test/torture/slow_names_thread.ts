// The attackers of `torture -- names`, in a thread of their own, so that what their calls cost the
// sender does not count for the customers who are timed meanwhile.

import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Penstock } from '../../packages/sdk/src/penstock.ts'

/** A key, and the webhooks that it tries. */
export type Attacker = { token: string; secret: string; ids: string[] }
export type Order = { api_url: string; attackers: Attacker[] }

const LANES = 4
/** On average: whoever calls together once a second is measured as a burst. */
const PAUSE_MS = 1_000

const { api_url, attackers } = workerData as Order
let goes_on = false
let calling = new AbortController()
parentPort!.on('message', (on: boolean) => {
  goes_on = on
  calling.abort()
  calling = new AbortController()
})

/** Calls as fast as a customer may try webhooks, and waits when it is told to. Faster calls are
 *  refused before any name is looked at, and what is measured are the names. */
async function attack({ token, secret, ids }: Attacker, lane: number): Promise<void> {
  const client = new Penstock({ url: api_url, token, secret, timeout_ms: 60_000 })
  for (let i = lane; ; i += LANES) {
    await delay(PAUSE_MS * (0.5 + Math.random()))
    if (!goes_on) continue
    const id = ids[i % ids.length]!
    const { signal } = calling
    const type = 'order.created'
    await client.webhooks.test({ id, type }, { signal }).catch(() => {})
    await client.events.trigger({ type, webhook_id: id }, { signal }).catch(() => {})
  }
}

for (const one of attackers) for (let lane = 0; lane < LANES; lane++) void attack(one, lane)
