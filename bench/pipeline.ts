// From orders accepted to delegations included, sustained: a backlog of paid orders is placed over
// HTTP, and each block of the chain is looked at for how many of our delegations it has. The chain
// runs in a process of its own with 3-second blocks, as a node would; the block itself would hold
// some 5,000.

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type LocalService, startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { atEnd } from '../tools/ending.ts'
import { signedCall } from './parts/load.ts'

const ORDERS = 5_000
const CLIENTS = 64
const POOL_WALLETS = 20

export async function run({ json }: { json: boolean }): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const remove = atEnd(() => rm(data_dir, { recursive: true, force: true }))
  const chain = await startChain()
  const { help: _, ...config } = readConfig(
    ['--port', '0', '--data-dir', data_dir, '--node-url', chain.url],
    {
      PENSTOCK_REQUESTS_PER_SECOND: '0',
    },
  )
  const local = await startLocal({
    config,
    log: silentLog,
    throw_away: true,
    pool_wallets: POOL_WALLETS,
  })
  try {
    await enrich(local)
    const placing_ms = await placeOrders(local)
    const blocks = await untilDelivered(local, json)
    report(json, placing_ms, blocks, await stages(local))
  } finally {
    await local.close()
    await chain.stop()
    await remove()
  }
}

async function startChain(): Promise<{ url: string; stop(): Promise<void> }> {
  const file = join(import.meta.dirname, '../packages/devchain/cli.ts')
  const child = spawn(process.execPath, [file, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = atEnd(() => child.kill())
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += String(chunk)
      const [found] = text.slice(0, 10_000).match(/http:\/\/[\d.]+:\d+/) ?? []
      if (found !== undefined) resolve(found)
    })
    child.on('exit', () => reject(new Error(`the devchain ended: ${text}`)))
  })
  return { url, stop }
}

/** Money for all of it. */
async function enrich({ sql, customer }: LocalService): Promise<void> {
  const account = `customer:${customer.customer_id}`
  await sql`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    values ('bench', 'move', 'world', ${account}, 1000000000000, now())`
}

async function placeOrders({ api_url, customer, sandbox, sql }: LocalService): Promise<number> {
  const receivers = sandbox.funded_accounts.map((one) => one.address)
  const call = signedCall(api_url, customer)
  let placed = 0
  const began_ms = performance.now()
  async function client() {
    while (placed < ORDERS) {
      const address = receivers[placed % receivers.length]!
      placed += 1
      const { code, error } = await call('/v1/transaction/new', {
        service: 'energy',
        params: { address, amount: 32_000, duration: 1 },
      })
      if (code !== 0)
        throw new Error(
          `a purchase was refused with code ${code} (${error}): ${await chainText(sql)}`,
        )
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return performance.now() - began_ms
}

/** How far the follower was, which is what a refusal usually comes from. */
async function chainText(sql: LocalService['sql']): Promise<string> {
  const [row] = await sql<{ behind: number; silent: number; still: number }>`
    select behind, extract(epoch from now() - seen_at)::float8 as silent,
           extract(epoch from now() - head_seen_at)::float8 as still from chain`
  if (!row) return 'the chain was never followed'
  const { behind, silent, still } = row
  return (
    `${behind} blocks behind, ${silent.toFixed(1)} s since a node answered, ` +
    `${still.toFixed(1)} s since a block`
  )
}

type BlockCount = { number: bigint; delegations: number }

async function untilDelivered({ sql }: LocalService, json: boolean): Promise<BlockCount[]> {
  for (;;) {
    const [open] = await sql<{
      open: bigint
    }>`select count(*) as open from orders where state in ('new', 'pending')`
    if (!json && process.stderr.isTTY) process.stderr.write(`\r${open!.open} orders open `)
    if (open!.open === 0n) break
    await delay(500)
  }
  const [lost] = await sql<{
    failed: bigint
  }>`select count(*) as failed from orders where state <> 'success'`
  if (lost!.failed > 0n) throw new Error(`${lost!.failed} orders were not delivered`)
  // A block between the first and the last that has none of them counts too.
  return sql<BlockCount>`
    with given as (
      select block_number from attempt where subject like 'delegate:%' and block_number is not null
    )
    select number, (select count(*)::int from given where block_number = number) as delegations
    from generate_series((select min(block_number) from given), (select max(block_number)
      from given)) as number
    order by number`
}

/** Where the time of an order goes, in the middle of the run. */
async function stages({ sql }: LocalService): Promise<Record<string, number>> {
  const [row] = await sql<Record<string, number>>`
    select percentile_cont(0.5) within group (order by extract(epoch
      from a.made_at - o.created_at))::float8 as to_delegate_s,
           percentile_cont(0.5) within group (order by extract(epoch
             from a.sent_at - a.made_at))::float8 as to_send_s
    from orders as o join delegation as d on d.order_id = o.id
      join attempt as a on a.id = d.attempt_id`
  return row!
}

function report(
  json: boolean,
  placing_ms: number,
  blocks: BlockCount[],
  times: Record<string, number>,
): void {
  // The first and the last block are only partly ours.
  const full = blocks.slice(1, -1).map((one) => one.delegations)
  const sustained =
    full.length === 0 ? 0 : Math.round(full.reduce((sum, one) => sum + one, 0) / full.length)
  const figures = {
    delegations_per_block: sustained,
    delegations_per_block_max: Math.max(...blocks.map((one) => one.delegations)),
    blocks: blocks.length,
    orders: ORDERS,
    orders_placed_per_second: Math.round((1_000 * ORDERS) / placing_ms),
    ...Object.fromEntries(
      Object.entries(times).map(([name, value]) => [name, Math.round(value * 100) / 100]),
    ),
  }
  if (json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else {
    process.stdout.write(
      `\ndelegations in a block   ${sustained} sustained, ` +
        `${figures.delegations_per_block_max} at most ` +
        `(${blocks.map((one) => one.delegations).join(' ')})\n`,
    )
    process.stdout.write(`a block would hold       some 5000\n`)
    process.stdout.write(`orders placed            ${figures.orders_placed_per_second} a second\n`)
    process.stdout.write(`median of an order       ${JSON.stringify(times)}\n`)
  }
}
