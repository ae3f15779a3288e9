// How long a check takes from asking to the answer as a customer sees it, through HTTP, while
// blocks with traffic are followed and indexed; what the read of the index takes beside three steps
// back in SQL over the same data, which sum what each address has at each step; and how long a
// block as large as the main network's takes to be recorded and indexed.

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Devchain, USDT } from 'penstock-devchain/devchain.ts'
import { type LocalService, startLocal } from 'penstock-playground/start.ts'
import { tronNode } from 'penstock-service/chain/node/node.ts'
import { addressOfBare } from 'penstock-service/chain/transfers/bare_addresses.ts'
import { readConfig } from 'penstock-service/config.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { drain } from 'penstock-service/platform/steps/step.ts'
import { readHoldings } from 'penstock-service/screening/engine/asset_holdings.ts'
import { SHIPPED_POLICY } from 'penstock-service/screening/engine/policy.ts'
import { noExposure, scoreOf, worth } from 'penstock-service/screening/engine/scoring.ts'
import { recordStep } from 'penstock-service/screening/tracing/flow_log.ts'
import { flowGenerations, type Generation } from 'penstock-service/screening/tracing/generations.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { signedCall } from './parts/load.ts'

const WARM_UP = 20
const CHECKS = 300
const TRAFFIC = 60

const ADDRESSES = 20_000
const BLOCKS = 800
const TRX_MOVES = 100
const TOKEN_MOVES = 100
const WALKS = 40

const at = (values: readonly number[], share: number) => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}
const round = (value: number) => Math.round(value * 1_000) / 1_000

export async function run({ json }: { json: boolean }): Promise<void> {
  const say = (line: string) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`)
  const asked = await askOverHttp(say)
  const read = await readBesideWalk(say)
  say('')
  const figures = { ...asked, ...read }
  if (json) {
    process.stdout.write(`${JSON.stringify(figures)}\n`)
    return
  }
  process.stdout.write(
    [
      `a check, asked to answered   p50 ${figures.check_p50_ms} ms   ` +
        `p99 ${figures.check_p99_ms} ms   (${figures.checks} checks, one after another)`,
      `the read and the score       ${figures.read_us} µs`,
      `3 steps back in SQL          ${figures.walk_ms} ms, ` +
        `over ${figures.transfers} transfers: ${figures.speedup_over_walk} times as long`,
      `a block of ${TRX_MOVES} TRX and ${TOKEN_MOVES} token transfers, ` +
        `recorded and indexed: p50 ${figures.block_p50_ms} ms   p99 ${figures.block_p99_ms} ms`,
      '',
    ].join('\n'),
  )
}

async function askOverHttp(say: (line: string) => void) {
  const data_dir = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const chain = await startChain()
  const { help: _, ...config } = readConfig(
    ['--port', '0', '--data-dir', data_dir, '--node-url', chain.url],
    {
      PENSTOCK_REQUESTS_PER_SECOND: '0',
    },
  )
  const local = await startLocal({ config, log: silentLog, throw_away: true })
  try {
    await enrich(local)
    const addresses = await seenAddresses(local, say)
    const call = signedCall(local.api_url, local.customer)
    const times: number[] = []
    for (let i = 0; i < WARM_UP + CHECKS; i++) {
      const ms = await ask(call, addresses[i % addresses.length]!)
      if (i >= WARM_UP) times.push(ms)
      say(`${i + 1} of ${WARM_UP + CHECKS} checks`)
      await delay(10 + Math.random() * 40)
    }
    return {
      checks: CHECKS,
      check_p50_ms: round(at(times, 0.5)),
      check_p99_ms: round(at(times, 0.99)),
    }
  } finally {
    await local.close()
    chain.stop()
    await rm(data_dir, { recursive: true, force: true })
  }
}

async function startChain(): Promise<{ url: string; stop(): void }> {
  const file = join(import.meta.dirname, '../packages/devchain/cli.ts')
  const child = spawn(process.execPath, [file, '--port', '0', '--traffic', String(TRAFFIC)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += String(chunk)
      const [found] = text.slice(0, 10_000).match(/http:\/\/[\d.]+:\d+/) ?? []
      if (found !== undefined) resolve(found)
    })
    child.on('exit', () => reject(new Error(`the devchain ended: ${text}`)))
  })
  return { url, stop: () => child.kill() }
}

async function enrich({ sql, customer }: LocalService): Promise<void> {
  const account = `customer:${customer.customer_id}`
  await sql`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    values ('bench', 'move', 'world', ${account}, 1000000000000, now())`
}

/** Addresses that took part in transfers, once some are indexed. */
async function seenAddresses(
  { sql }: LocalService,
  say: (line: string) => void,
): Promise<string[]> {
  for (;;) {
    const rows = await sql<{ transfers: Uint8Array }>`
      select transfers from flow_block where octet_length(transfers) > 0 order by number limit 50`
    const addresses = rows.flatMap(({ transfers }) =>
      Array.from({ length: transfers.length / 52 }, (_, i) =>
        addressOfBare(transfers.subarray(i * 52 + 24, i * 52 + 44)),
      ),
    )
    if (rows.length >= 3 && addresses.length > 100) return [...new Set(addresses)]
    say('waiting for traffic to be solid')
    await delay(1_000)
  }
}

async function ask(call: ReturnType<typeof signedCall>, address: string): Promise<number> {
  const began_ms = performance.now()
  const { result } = await call('/v1/aml-checks/new', { type: 'address', network: 'TRX', address })
  for (;;) {
    const { result: now } = await call('/v1/aml-checks/check', { id: result?.id })
    const { status } = now as { status?: string }
    if (status === 'completed') return performance.now() - began_ms
    if (status !== 'pending' && status !== 'processing') throw new Error('a check was not answered')
    await delay(1)
  }
}

type Move = [
  tx_id: string,
  kind: string,
  index: number,
  asset: string,
  from: string,
  to: string,
  amount: string,
]

/** Blocks of made-up traffic go through the steps that record and index; the same transfers lie in
 *  a table for the walk. */
async function readBesideWalk(say: (line: string) => void) {
  const postgres = await startPostgres({ throw_away: true })
  await migrate(postgres.url)
  const sql = connect({ url: postgres.url, statement_timeout_ms: 300_000 })
  try {
    const { generation, blocks } = await indexBlocks(sql, say)
    const walk = await measureWalk(sql, generation, say)
    const indexed = { block_p50_ms: round(at(blocks, 0.5)), block_p99_ms: round(at(blocks, 0.99)) }
    return { ...walk, ...indexed, transfers: BLOCKS * (TRX_MOVES + TOKEN_MOVES) }
  } finally {
    await sql.close()
    await postgres.stop()
  }
}

const addresses = Array.from({ length: ADDRESSES }, (_, n) => {
  const bytes = Buffer.alloc(20, 7)
  bytes.writeUInt32LE(Math.imul(n + 1, 0x9e3779b1) >>> 0, 0)
  return addressOfBare(bytes)
})
const someone = () => addresses[Math.floor(ADDRESSES * Math.random() ** 2)]!

function madeUpMoves(number: number): Move[] {
  return Array.from({ length: TRX_MOVES + TOKEN_MOVES }, (_, i) => {
    const tx_id = (number * 1_000 + i).toString(16).padStart(64, '0')
    const amount = String(1 + Math.floor(1e9 * Math.random()))
    return [
      tx_id,
      i < TRX_MOVES ? 'transfer' : 'event',
      i,
      i < TRX_MOVES ? 'TRX' : USDT,
      someone(),
      someone(),
      amount,
    ]
  })
}

async function indexBlocks(
  sql: Sql,
  say: (line: string) => void,
): Promise<{ generation: Generation; blocks: number[] }> {
  const devchain = new Devchain({ genesis_time_ms: Date.now() - 180_000 })
  devchain.request(
    'POST',
    '/devchain/mint',
    JSON.stringify({ address: addressToHex(USDT), amount: 10 ** 15 }),
  )
  for (let i = 0; i < 20; i++) devchain.mine()
  const transport = async ({ url, body }: { url: string; body: string }) =>
    devchain.request('POST', new URL(url).pathname, body)
  const node = tronNode({ nodes: [{ url: 'http://devchain' }], transport })
  const generations = flowGenerations({
    sql,
    clock: systemClock,
    carried_blocks: 100_000,
    checkpoint_transfers: 10 ** 9,
  })
  const record = recordStep({ sql, node, tokens: new Set([USDT]) })
  await sql`
    create table bench_edge (from_address text not null, to_address text not null,
                             amount bigint not null)`
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
      values (0, '', now(), 0, 0, now())`
  const times: number[] = []
  for (let number = 1; number <= BLOCKS; number++) {
    const moves = madeUpMoves(number)
    await sql`
      insert into block (number, id, parent_id, time, contents)
      values (${number}, ${String(number)}, '', now(),
              ${JSON.stringify({ m: moves, f: [], e: [] })})`
    await sql`
      update chain set head_number = ${number}, solid_number = ${number},
        confirmed_number = ${number}`
    await sql`
      insert into bench_edge select *
        from unnest(${moves.map((move) => move[4])}::text[],
                    ${moves.map((move) => move[5])}::text[],
        ${moves.map((move) => move[6])}::bigint[])`
    const began_ms = performance.now()
    await record.run()
    while (await generations.step.run());
    times.push(performance.now() - began_ms)
    if (number % 20 === 0) say(`${number} of ${BLOCKS} blocks`)
  }
  await drain([record, generations.step])
  return { generation: generations.current()!, blocks: times.slice(20) }
}

async function measureWalk(sql: Sql, generation: Generation, say: (line: string) => void) {
  await sql`create index on bench_edge (to_address) include (from_address, amount)`
  await sql`vacuum analyze bench_edge`
  const reads: number[] = []
  const walks: number[] = []
  for (let i = 0; i < WALKS; i++) {
    const address = someone()
    // A read is too short for one look at the clock.
    const began_ms = performance.now()
    for (let again = 0; again < 100; again++) await readAndScore(generation, address)
    reads.push((performance.now() - began_ms) / 100)
    const walk_ms = performance.now()
    await sql`
      with step_0 as (
        select ${address}::text as address, 1::float8 as weight
      ), step_1 as (
        select e.from_address as address, sum(w.weight * e.amount / t.total) as weight
        from step_0 as w
        cross join lateral (select sum(amount)::float8 as total from bench_edge
          where to_address = w.address) as t
        join bench_edge as e on e.to_address = w.address
        group by e.from_address
      ), step_2 as (
        select e.from_address as address, sum(w.weight * e.amount / t.total) as weight
        from step_1 as w
        cross join lateral (select sum(amount)::float8 as total from bench_edge
          where to_address = w.address) as t
        join bench_edge as e on e.to_address = w.address
        group by e.from_address
      ), step_3 as (
        select e.from_address as address, sum(w.weight * e.amount / t.total) as weight
        from step_2 as w
        cross join lateral (select sum(amount)::float8 as total from bench_edge
          where to_address = w.address) as t
        join bench_edge as e on e.to_address = w.address
        group by e.from_address
      )
      select address, weight from step_3 order by weight desc limit 28`
    walks.push(performance.now() - walk_ms)
    say(`${i + 1} of ${WALKS} walks`)
  }
  const [read_ms, walk_ms] = [at(reads, 0.5), at(walks, 0.5)]
  return {
    read_us: round(read_ms * 1_000),
    walk_ms: round(walk_ms),
    speedup_over_walk: Math.round(walk_ms / read_ms),
  }
}

async function readAndScore(generation: Generation, address: string): Promise<string> {
  const exposure = noExposure()
  const holdings = await readHoldings(generation, [address], (holdingsOf) => holdingsOf(address))
  for (const { asset, holding } of holdings) {
    const price = { decimals: asset.decimals, micro_usd: asset.number === 0 ? 300_000 : 1_000_000 }
    for (const { category, received, direct } of holding.portions) {
      exposure.amounts[category]! += worth(received, price)
      exposure.direct[category]! += worth(direct, price)
    }
  }
  const subject = {
    exposure,
    own: undefined,
    by_transfer: false,
    destinations: undefined,
    blacklisted_by: [],
    allowed: false,
  }
  return scoreOf(SHIPPED_POLICY, subject).score
}
