// What we add between a purchase and its broadcast, on the idle default set-up: one order at a
// time, at random moments. The clock begins before the first byte of the request is sent, and ends
// when the node has the transaction in its hands, so the figure leaves nothing of ours out: HTTP,
// the signature, what is asked of the node and the commit are in it, and the client, too. The rest
// of the way is the block interval.

import { hash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startDevchain } from 'penstock-devchain/serve.ts'
import { type LocalService, startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { atEnd } from '../tools/ending.ts'

const WARM_UP = 10
const ORDERS = 100
const PAUSE_MS_MAX = 200

export async function run({ json }: { json: boolean }): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const remove = atEnd(() => rm(data_dir, { recursive: true, force: true }))
  const devchain = await startDevchain({ genesis_time_ms: Date.now() - 180_000 })
  const arrivals: number[] = []
  const answer = devchain.chain.request.bind(devchain.chain)
  devchain.chain.request = (method, path, body) => {
    if (path === '/wallet/broadcasthex') arrivals.push(performance.now())
    return answer(method, path, body)
  }
  const { help: _, ...config } = readConfig(
    ['--port', '0', '--data-dir', data_dir, '--node-url', devchain.url],
    {},
  )
  const local = await startLocal({ config, log: silentLog, throw_away: true })
  try {
    const overheads: number[] = []
    const replies: number[] = []
    for (let i = 0; i < WARM_UP + ORDERS; i++) {
      const seen = arrivals.length
      const { began_ms, reply_ms } = await buy(local)
      while (arrivals.length === seen) await delay(1)
      if (i >= WARM_UP) {
        overheads.push(arrivals[seen]! - began_ms)
        replies.push(reply_ms)
      }
      await delay(Math.random() * PAUSE_MS_MAX)
      if (process.stderr.isTTY) process.stderr.write(`\r${i + 1} of ${WARM_UP + ORDERS} orders`)
    }
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    report(json, overheads, replies)
  } finally {
    await local.close()
    await devchain.close()
    await remove()
  }
}

async function buy({
  api_url,
  customer,
  sandbox,
}: LocalService): Promise<{ began_ms: number; reply_ms: number }> {
  const body = JSON.stringify({
    service: 'energy',
    params: { address: sandbox.funded_accounts[0]!.address, amount: 65_000, duration: 1 },
  })
  const signature = hash('sha256', body + customer.secret)
  const headers = { authorization: `Bearer ${customer.token}`, 'x-signature': signature }
  const began_ms = performance.now()
  const response = await fetch(`${api_url}/v1/transaction/new`, { method: 'POST', body, headers })
  const { code } = (await response.json()) as { code: number }
  if (code !== 0) throw new Error(`a purchase was refused with code ${code}`)
  return { began_ms, reply_ms: performance.now() - began_ms }
}

function report(json: boolean, overheads: number[], replies: number[]): void {
  const at = (values: number[], share: number) => {
    const sorted = [...values].sort((a, b) => a - b)
    return (
      Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]! * 10) / 10
    )
  }
  const figures = {
    request_to_broadcast_p50_ms: at(overheads, 0.5),
    request_to_broadcast_p99_ms: at(overheads, 0.99),
    reply_p50_ms: at(replies, 0.5),
    block_interval_ms: 3_000,
    orders: overheads.length,
  }
  if (json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else {
    const share = ((100 * figures.request_to_broadcast_p50_ms) / figures.block_interval_ms).toFixed(
      1,
    )
    process.stdout.write(
      [
        `request to broadcast    p50 ${figures.request_to_broadcast_p50_ms} ms   ` +
          `p99 ${figures.request_to_broadcast_p99_ms} ms`,
        `reply to the customer   p50 ${figures.reply_p50_ms} ms`,
        `block interval          ${figures.block_interval_ms} ms: ours is ${share} % of it`,
        '',
      ].join('\n'),
    )
  }
}
