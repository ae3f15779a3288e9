// Screening checks, a hundred a second, answered by a process with the index (`--role index`) with
// two workers beside it that have none, and, in turns, by two workers that have one each: how long
// from placed to answered, by the rows, and the memory of each process, over a log of made-up
// transfers. Purchases go on meanwhile. The limits are 60 ms (p99) and 250 MB for a worker without.
//
//   npm run bench -- checks [--transfers N] [--addresses N] [--seconds N] [--rate N] [--rounds N]
//                           [--json]

import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { addressOfBare } from 'penstock-service/chain/transfers/bare_addresses.ts'
import { RECORD_BYTES } from 'penstock-service/chain/transfers/packed.ts'
import { transferLog } from 'penstock-service/chain/transfers/postgres_log.ts'
import { type Member, Rig, type Role } from 'penstock-test/torture/rig.ts'
import { blockOf, drawer, people, SERVICES, writeAddress } from './parts/flow_traffic.ts'
import { type Access, type Reply, signedCall } from './parts/load.ts'

export const OPTIONS = {
  transfers: { type: 'string', default: '2000000' },
  addresses: { type: 'string', default: '300000' },
  seconds: { type: 'string', default: '15' },
  rate: { type: 'string', default: '100' },
  rounds: { type: 'string', default: '2' },
} as const

type Numbers = Record<keyof typeof OPTIONS, number>
type Say = (line: string) => unknown

/** Transfers. */
const A_BLOCK = 500
/** Blocks. */
const PORTION = 100
const WARM_UP_SECONDS = 3
const BLOCK_MS = 1_000
/** Purchases beside the checks. */
const ORDERS_PER_SECOND = 5
const P99_LIMIT_MS = 60
const WORKER_LIMIT_MB = 250
const FIRST_SUN = 1_000_000_000_000n

const SETUPS = {
  apart: [['index'], ['worker', '--index', 'none'], ['worker', '--index', 'none']],
  each: [['worker'], ['worker']],
} as const satisfies Record<string, readonly (readonly [Role, ...string[]])[]>
type Setup = keyof typeof SETUPS

export async function run({ json, numbers }: { json: boolean; numbers: Numbers }): Promise<void> {
  const say = (line: string) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`)
  const measured = await measure(numbers, say)
  say('')
  const figures = { ...numbers, ...measured }
  if (json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else console.table(measured)
  const { check_p99_ms, worker_mb } = measured.apart
  if (check_p99_ms > P99_LIMIT_MS || worker_mb > WORKER_LIMIT_MB) process.exitCode = 1
}

type Turn = { ms: number[]; worker_mb: number[]; index_mb: number[] }

async function measure(numbers: Numbers, say: Say) {
  const rig = await Rig.open({ env: { PENSTOCK_RECHARGE_AT: 'solid' } })
  try {
    const first = await rig.start('worker', ['--index', 'none'])
    await rig.until('the chain is not followed', async () => {
      const found = await rig.sql`select from block`
      return found.length > 0
    })
    await fundCustomers(rig)
    await fill(rig, numbers, say)
    await first.kill('SIGTERM')
    const turns: Record<Setup, Turn[]> = { apart: [], each: [] }
    for (let round = 0; round < numbers.rounds; round++)
      for (const setup of ['apart', 'each'] as const)
        turns[setup].push(await takeTurn(rig, { setup, numbers, say }))
    return { apart: figuresOf(turns.apart), each: figuresOf(turns.each) }
  } finally {
    await rig.close()
  }
}

/** Transfers in blocks before the first that is followed. */
async function fill(rig: Rig, { transfers, addresses }: Numbers, say: Say): Promise<void> {
  const [row] = await rig.sql<{ first: bigint }>`select min(number) as first from block`
  const blocks = Math.ceil(transfers / A_BLOCK)
  const first = Number(row!.first) - blocks
  const began_ms = Date.now() - 3_000 * blocks
  const draw = drawer(7)
  const { skewed } = people(addresses)
  for (let done = 0; done < blocks; done += PORTION) {
    say(`writing the log: ${Math.round((100 * done) / blocks)} %`)
    const count = Math.min(PORTION, blocks - done)
    const bytes = blockOf(draw, skewed, count * A_BLOCK)
    const rows = Array.from({ length: count }, (_, i) => ({
      number: first + done + i,
      id: `bench ${done + i}`,
      time: new Date(began_ms + 3_000 * (done + i)),
      freezes: [],
      transfers: bytes.subarray(i * A_BLOCK * RECORD_BYTES, (i + 1) * A_BLOCK * RECORD_BYTES),
      tx_ids: new Uint8Array(A_BLOCK * 32).map((_, at) => (done + i) * 31 + at),
    }))
    await rig.sql.begin((tx) => transferLog(tx).append(rows))
  }
}

type TurnInput = { setup: Setup; numbers: Numbers; say: Say }

async function takeTurn(rig: Rig, { setup, numbers, say }: TurnInput): Promise<Turn> {
  const started = [
    await rig.start('api'),
    ...(await Promise.all(SETUPS[setup].map(([role, ...more]) => rig.start(role, more)))),
  ]
  try {
    rig.keepMining(BLOCK_MS)
    await untilIndexed(rig, (line) => say(`${setup}: ${line}`))
    say(`${setup}: ${numbers.rate} checks a second for ${numbers.seconds} s`)
    const [api] = started
    await load(rig, api!, { ...numbers, seconds: WARM_UP_SECONDS })
    const ids = await load(rig, api!, numbers)
    const ms = await answered(rig, ids)
    const of = (role: Role) => started.filter((one) => one.role === role).map(memoryMb)
    return { ms, worker_mb: of('worker'), index_mb: of('index') }
  } finally {
    await rig.stopMining()
    await Promise.all(started.map((one) => one.kill('SIGTERM')))
  }
}

async function fundCustomers(rig: Rig): Promise<void> {
  for (const { customer_id } of rig.customers)
    await rig.sql`
      insert into transfer (id, kind, debit, credit, amount_sun, made_at)
      values (${`bench ${customer_id}`}, 'move', 'world', ${`customer:${customer_id}`},
        ${FIRST_SUN}, now())`
}

/** Until each process that has an index is at the end of the log. */
const untilIndexed = async (rig: Rig, say: Say): Promise<void> => {
  for (;;) {
    const [row] = await rig.sql<{ behind: bigint | null; pool: boolean }>`
      select exists (select from pool where room > 0) as pool,
        (select max(log.last_number - coalesce((
          select max((i ->> 'block_number')::bigint)
          from jsonb_array_elements(p.report -> 'indexes') as i
          where (i ->> 'in_use')::boolean), 0))
        from process as p, flow_log_ends as log
        where jsonb_typeof(p.report -> 'indexes') = 'array'
          and p.seen_at > now() - interval '5 seconds') as behind`
    if (row!.pool && row!.behind !== null && row!.behind < 10n) return
    say(`${row!.behind ?? 'all'} blocks to index`)
    await delay(500)
  }
}

/** Places checks, and buys, each at its time. Returns the ids of the checks. */
async function load(
  rig: Rig,
  { api_url }: Member,
  { seconds, rate, addresses }: Pick<Numbers, 'seconds' | 'rate' | 'addresses'>,
): Promise<string[]> {
  const calls = rig.customers.map((access: Access) => signedCall(api_url!, access))
  const words = new Uint32Array(5)
  const { address } = rig.sandbox.funded_accounts[0]!
  const placed: Promise<string>[] = []
  const bought: Promise<Reply>[] = []
  const began_ms = performance.now()
  for (let n = 0; n < seconds * rate; n++) {
    const wait_ms = began_ms + (1_000 * n) / rate - performance.now()
    if (wait_ms > 0) await delay(wait_ms)
    const call = calls[n % calls.length]!
    writeAddress(words, 0, SERVICES + Math.floor(Math.random() * addresses))
    const asked = addressOfBare(new Uint8Array(words.buffer.slice(0)))
    placed.push(
      call('/v1/aml-checks/new', { type: 'address', network: 'TRX', address: asked }).then(
        (reply) => {
          if (reply.code !== 0) throw new Error(`a check was refused: ${JSON.stringify(reply)}`)
          return reply.result!.id!
        },
      ),
    )
    if (n % Math.round(rate / ORDERS_PER_SECOND) === 0) {
      const params = { address, amount: 65_000, duration: 1 }
      bought.push(call('/v1/transaction/new', { service: 'energy', params }))
    }
  }
  const refused = (await Promise.all(bought)).filter(({ code }) => code !== 0)
  if (refused.length > 0) throw new Error(`a purchase was refused: ${JSON.stringify(refused[0])}`)
  return Promise.all(placed)
}

/** How long each took, when all are answered. */
async function answered(rig: Rig, ids: readonly string[]): Promise<number[]> {
  for (let tries = 0; tries < 200; tries++) {
    const rows = await rig.sql<{ state: string; ms: number }>`
      select state, extract(epoch from ended_at - created_at)::float8 * 1000 as ms
      from aml_check where id = any(${ids})`
    const open = rows.filter(({ state }) => state === 'pending' || state === 'processing')
    if (open.length === 0) {
      const failed = rows.filter(({ state }) => state !== 'completed')
      if (failed.length > 0) throw new Error(`${failed.length} checks have failed`)
      return rows.map(({ ms }) => ms)
    }
    await delay(50)
  }
  throw new Error('checks are not answered')
}

function memoryMb({ child }: Member): number {
  const text = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(text)![1]) / 1_024)
}

function figuresOf(turns: readonly Turn[]) {
  const ms = turns.flatMap((one) => one.ms).sort((a, b) => a - b)
  const at = (share: number) => Math.round(ms[Math.floor(share * (ms.length - 1))]! * 10) / 10
  const index_mb = turns.flatMap((one) => one.index_mb)
  const sums = turns.map((one) => [...one.worker_mb, ...one.index_mb].reduce((a, b) => a + b, 0))
  return {
    checks: ms.length,
    check_p50_ms: at(0.5),
    check_p99_ms: at(0.99),
    worker_mb: Math.max(...turns.flatMap((one) => one.worker_mb)),
    index_mb: index_mb.length > 0 ? Math.max(...index_mb) : null,
    together_mb: Math.max(...sums),
  }
}
