// What it costs to screen the money of deposits: blocks with deposits to customers are recorded,
// indexed and credited by the real steps, first where the policy holds nothing and the money is
// looked at afterwards, then where money of high risk is held and looked at first. Milliseconds a
// deposit, of this process's processor and by the clock. Limit: 0.2 ms more a deposit.
//
//   npm run bench -- deposits [--deposits N] [--json]

import { Devchain, USDT } from 'penstock-devchain/devchain.ts'
import { tronNode } from 'penstock-service/chain/node/node.ts'
import { addressOfBare } from 'penstock-service/chain/transfers/bare_addresses.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import type { Step } from 'penstock-service/platform/steps/step.ts'
import { heldSenders } from 'penstock-service/screening/engine/barred.ts'
import { issuersOf } from 'penstock-service/screening/engine/issuers.ts'
import { moneyReader } from 'penstock-service/screening/engine/money.ts'
import {
  type HoldDepositsFrom,
  publishPolicy,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import { recordStep } from 'penstock-service/screening/tracing/flow_log.ts'
import { flowGenerations } from 'penstock-service/screening/tracing/generations.ts'
import { creditStep, DUST_SUN } from 'penstock-service/treasury/deposits/deposit_step.ts'
import { screenDepositsStep } from 'penstock-service/treasury/deposits/screenings.ts'
import { ownCpuUs } from './parts/cpu.ts'

export const OPTIONS = { deposits: { type: 'string', default: '4000' } } as const

const CUSTOMERS = 200
const PER_BLOCK = 20
/** Beside the deposits, as on the main network. */
const OTHERS = 180
const LIMIT_MS = 0.2

const addressOf = (n: number) => {
  const bytes = Buffer.alloc(20, 9)
  bytes.writeUInt32LE(Math.imul(n + 1, 0x9e3779b1) >>> 0, 0)
  return addressOfBare(bytes)
}

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const { deposits = 0 } = numbers
  const postgres = await startPostgres({ throw_away: true })
  const sql = connect({ url: postgres.url })
  try {
    await migrate(postgres.url)
    const steps = await prepare(sql)
    const blocks = Math.ceil(deposits / PER_BLOCK / 3)
    await measure(sql, steps, { first: 1, blocks, held: 'none' })
    const none = await measure(sql, steps, { first: blocks + 1, blocks, held: 'none' })
    const high = await measure(sql, steps, { first: 2 * blocks + 1, blocks, held: 'high' })
    const found = { deposits: blocks * PER_BLOCK, none, high, limit_more_ms: LIMIT_MS }
    process.stdout.write(`${JSON.stringify(found, null, json ? 0 : 2)}\n`)
  } finally {
    await sql.close()
    await postgres.stop()
  }
}

type Steps = { index: Step[]; credit: Step; screen: Step }

async function prepare(sql: Sql): Promise<Steps> {
  const devchain = new Devchain({ genesis_time_ms: Date.now() - 180_000 })
  for (let i = 0; i < 20; i++) devchain.mine()
  const transport = async ({ url, body }: { url: string; body: string }) =>
    devchain.request('POST', new URL(url).pathname, body)
  const node = tronNode({ nodes: [{ url: 'http://devchain' }], transport })
  const clock = systemClock
  const kept = { carried_blocks: 100_000, checkpoint_transfers: 10 ** 9 }
  const generations = flowGenerations({ sql, clock, ...kept })
  const money = moneyReader({ sql, clock, generations, carried_blocks: kept.carried_blocks })
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
      values (0, '', now(), 0, 0, now())`
  const making = { clock, new_id: idMaker(clock, systemRandom), deposit_address: addressOf }
  for (let n = 0; n < CUSTOMERS; n++)
    await sql.begin((tx) => createCustomer(tx, making, { name: 'bench' }))
  const credit = creditStep({
    sql,
    clock,
    recharge_address: addressOf(1_000_000),
    recharge_at: 'solid',
    heldSenders: heldSenders({ clock }),
    issuers: issuersOf({ sql, clock, node }),
    dust_sun: DUST_SUN,
    wake: () => {},
  })
  return {
    index: [recordStep({ sql, node, tokens: new Set([USDT]) }), generations.step],
    credit,
    screen: screenDepositsStep({ sql, clock, money }),
  }
}

async function measure(
  sql: Sql,
  { index, credit, screen }: Steps,
  how: { first: number; blocks: number; held: HoldDepositsFrom },
) {
  const body = { ...SHIPPED_POLICY, hold_deposits_from: how.held }
  await sql.begin((tx) =>
    publishPolicy(tx, { body, published_by: 'bench', published_at: new Date() }),
  )
  for (let number = how.first; number < how.first + how.blocks; number++)
    await writeBlock(sql, number)
  for (const step of index) while (await step.run());
  const count = how.blocks * PER_BLOCK
  return { credit: await timed(credit, count), screen: await timed(screen, count) }
}

/** Milliseconds for each. */
async function timed(step: Step, count: number) {
  const [cpu, began_ms] = [process.cpuUsage(), performance.now()]
  while (await step.run());
  return {
    processor_ms: round(ownCpuUs(cpu) / 1_000 / count),
    wall_ms: round((performance.now() - began_ms) / count),
  }
}

const round = (value: number) => Math.round(value * 1_000) / 1_000

async function writeBlock(sql: Sql, number: number): Promise<void> {
  const someone = () => addressOf(10_000 + Math.floor(20_000 * Math.random()))
  const moves = Array.from({ length: PER_BLOCK + OTHERS }, (_, i) => [
    (number * 1_000 + i).toString(16).padStart(64, '0'),
    'transfer',
    0,
    'TRX',
    someone(),
    i < PER_BLOCK ? addressOf(Math.floor(CUSTOMERS * Math.random())) : someone(),
    String(1 + Math.floor(1e9 * Math.random())),
  ])
  await sql`
    insert into block (number, id, parent_id, time, contents)
    values (${number}, ${String(number)}, '', now(), ${JSON.stringify({ m: moves, f: [], e: [] })})`
  await sql`
    update chain set head_number = ${number}, solid_number = ${number},
      confirmed_number = ${number}`
}
