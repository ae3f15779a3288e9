// The attackers of `torture -- names`, in a thread of their own, so that what their calls cost the
// sender does not count for the customers who are timed meanwhile.

import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { TESTS } from 'penstock-service/events/webhooks/trial.ts'
import { Penstock } from '../../packages/sdk/src/penstock.ts'

/** A key, and the webhooks that it tries. */
export type Attacker = { token: string; secret: string; ids: string[] }
export type Order = { api_url: string; attackers: Attacker[] }

/** Faster calls are refused before any name is looked at, and what is measured are the names. */
const PAUSE_MS = 1_000 / TESTS.per_second
const IN_A_ROW = TESTS.burst

const { api_url, attackers } = workerData as Order
let goes_on = false
parentPort!.on('message', (on: boolean) => {
  goes_on = on
})

/** Calls as often as may be, and waits for no answer: those whose names are silent overlap. */
async function attack({ token, secret, ids }: Attacker): Promise<void> {
  const client = new Penstock({ url: api_url, token, secret, retries: 0, timeout_ms: 15_000 })
  const type = 'order.created'
  // Not all at the same moment.
  await delay(PAUSE_MS * Math.random())
  for (let called = 0; ; ) {
    await delay(called < IN_A_ROW ? PAUSE_MS / IN_A_ROW : PAUSE_MS)
    if (!goes_on) continue
    const id = ids[called % ids.length]!
    const call =
      called % 2 === 0
        ? client.webhooks.test({ id, type })
        : client.events.trigger({ type, webhook_id: id })
    call.catch(() => {})
    called += 1
  }
}

for (const one of attackers) void attack(one)
