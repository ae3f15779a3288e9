// What the steps cost when they have nothing to do, on a new database and on one that has grown
// old: by default a million orders that are over, 300,000 whose hour is running, 100,000
// subscriptions that have ended. Each step is run on both, in turn; it should take no notice of the
// history. Anyone who buys waits for the same database, so this is also its latency.
//
//   npm run bench -- aged [--orders N] [--json]

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalService, startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import pg from 'pg'
import { signedCall } from './parts/load.ts'
import { median } from './parts/median.ts'

export const OPTIONS = { orders: { type: 'string', default: '1000000' } } as const

const ROUNDS = 15
const PURCHASES = 30
const LIMIT_MS = 10
/** These look at everything by design, as often as it says there. */
const LOOK_AT_ALL = ['watch_books']

type Figure = { step: string; new_ms: number; aged_ms: number }

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}) {
  const say = (line: string) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const closers: (() => Promise<void>)[] = []
  const start = async (name: string) => {
    const args = ['--port', '0', '--chain-port', '0', '--data-dir', join(folder, name)]
    const { help: _, ...config } = readConfig(args, { PENSTOCK_REQUESTS_PER_SECOND: '0' })
    const local = await startLocal({ config, log: silentLog, throw_away: true })
    closers.push(local.close)
    return local
  }
  try {
    const fresh = await start('new')
    const aged = await start('aged')
    await age(aged, { orders: numbers.orders!, customers: 0, say })
    say('running the steps')
    const steps = await measureSteps(fresh, aged)
    say('buying')
    const purchase = await measurePurchases(fresh, aged)
    say('')
    report(json, numbers.orders!, [...steps, purchase])
  } finally {
    for (const close of closers) await close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** How the ids of orders begin, by what became of them: they come before those of real ones, whose
 *  ids begin with the time of this century. */
export const ORDER_ID_PREFIXES = { over: '00over', running: '00running', lost: '00lost' } as const

const KINDS = [
  // [name, orders, state of the delegation, state of its attempt]
  [ORDER_ID_PREFIXES.over, 1, 'ended', 'solid'],
  [ORDER_ID_PREFIXES.running, 0.3, 'active', 'solid'],
  [ORDER_ID_PREFIXES.lost, 0.01, 'failed', 'dead'],
] as const

/** Rows as the service would have left them, made without asking what they refer to. The orders
 *  are those of so many customers, made with them; 0: all of the sandbox's one. */
export async function age(
  { database_url, sandbox, customer }: LocalService,
  { orders, customers, say }: { orders: number; customers: number; say: (line: string) => void },
) {
  const client = new pg.Client({ connectionString: database_url })
  await client.connect()
  await client.query("set session_replication_role = 'replica'")
  const [wallet] = sandbox.wallets.pool
  say(`making ${customers} customers`)
  for (const text of CUSTOMERS) await client.query(text, [customers])
  const receivers = sandbox.funded_accounts.map(({ address }) => address)
  for (const [kind, share, state, attempt] of KINDS) {
    const count = Math.max(1, Math.round(orders * share))
    say(`making ${count} orders: ${kind}`)
    for (const text of [ATTEMPTS, ORDERS, DELEGATIONS]) {
      await client.query(
        `with given as (select $1::text as kind, $2::bigint as count, $3::text as state,
                               $4::text as attempt, $5::text as wallet, $6::text[] as receivers,
                               $7::text as customer, $8::bigint as customers) ${text}`,
        [
          ...[kind, count, state, attempt, wallet!.address, receivers, customer.customer_id],
          customers,
        ],
      )
    }
  }
  say('making reclaims, entries and subscriptions')
  for (const text of AFTERWARDS) await client.query(text, [])
  say('vacuum')
  // What autovacuum would have done by then.
  await client.query('vacuum (analyze)')
  await client.end()
}

/** The customer with this number; a name of 26 characters, as all ids have. */
const customerId = (n: string) => `'00customer' || lpad((${n})::text, 16, '0')`

const CUSTOMERS = [
  `insert into customer (id, name, created_at, deposit_index, deposit_address)
   select ${customerId('n')}, 'Customer ' || n, timestamptz '2026-01-01' + n * interval '1 minute',
          1000000 + n, 'T' || lpad(translate(n::text, '0', 'z'), 33, 'A')
   from generate_series(0, $1::bigint - 1) as n`,
  `insert into account (id, may_go_negative, posted_sun)
   select 'customer:' || ${customerId('n')}, false, 1000000000
   from generate_series(0, $1::bigint - 1) as n`,
]

const AT = "timestamptz '2026-01-01' + n * interval '10 seconds'"
/** What stays of the bytes of a transaction that is solid for long. */
const STAMP = "decode(repeat('00', 18), 'hex')"

const ATTEMPTS = `
  insert into attempt (id, subject, contract, state, tx_id, signed, stamp, expires_at, send_at,
                       sends, block_number, block_time, made_at, sent_at)
  select kind || '/' || n, 'delegate:' || kind || '/' || n, '{}', attempt,
         encode(sha256((kind || n)::bytea), 'hex'),
         case when attempt = 'dead' then '\\x00'::bytea end,
         case when attempt = 'solid' then ${STAMP} end, ${AT}, ${AT}, 1,
         case when attempt = 'solid' then 1 end, case when attempt = 'solid' then ${AT} end,
         ${AT}, ${AT}
  from given, generate_series(1, count) as n`
const ORDERS = `
  insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
                      amount_sun, tx_id, due_at, created_at)
  select kind || '/' || n, case when customers = 0 then customer
           else ${customerId('n % greatest(customers, 1)')} end,
         'energy', receivers[1 + n % cardinality(receivers)], 65000,
         false, case state when 'failed' then 'failed' else 'success' end, false, 3000000,
         encode(sha256((kind || n)::bytea), 'hex'), ${AT}, ${AT}
  from given, generate_series(1, count) as n`
const DELEGATIONS = `
  insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
                          attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
  select kind || '/' || n, kind || '/' || n, wallet, receivers[1 + n % cardinality(receivers)],
         'energy', 65000, 1000000, state, kind || '/' || n,
         case when state = 'ended' then 'reclaim/' || n end,
         case when state <> 'failed' then ${AT} end,
         case when state = 'active' then timestamptz '2100-01-01'
              when state = 'ended' then ${AT} + interval '1 hour' end,
         case when state = 'ended' then ${AT} + interval '61 minutes' end
  from given, generate_series(1, count) as n`

const AFTERWARDS = [
  `insert into attempt (id, subject, contract, state, tx_id, stamp, expires_at, send_at, sends,
                        block_number, block_time, made_at, sent_at)
   select reclaim_id, 'reclaim:' || id, '{}', 'solid', encode(sha256(reclaim_id::bytea), 'hex'),
          ${STAMP}, reclaimed_at, reclaimed_at, 1, 1, reclaimed_at, reclaimed_at, reclaimed_at
   from delegation where state = 'ended'`,
  `insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
   select 'order:' || id || suffix, kind, case kind when 'capture' then 'order:' || id end,
          'customer:' || customer_id, 'revenue', amount_sun, created_at
   from orders cross join (values ('', 'hold'), ('/capture', 'capture')) as entry (suffix, kind)
   where state = 'success' order by created_at, id, suffix`,
  `insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
                             activate_address, state, total_sun, supplies, order_id, look_at,
                             created_at, started_at, stopped_at, withdrawn, idle_since)
   select 'ended/' || substr(id, 8), customer_id, 1, address, 0, 0, false, 'stopped', 1000000, 1,
          id, created_at, created_at, created_at, created_at + interval '1 hour', true, created_at
   from orders where id like '00over/%0'`,
  `insert into subscription_supply (subscription_id, order_id)
   select 'ended/' || substr(id, 8), id from orders where id like '00over/%0'`,
]

/** Each step in turn on both, nothing being due: the median. */
async function measureSteps(fresh: LocalService, aged: LocalService): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [i, step] of fresh.app.steps.entries()) {
    if (LOOK_AT_ALL.includes(step.name)) continue
    const other = aged.app.steps[i]!
    // What is due, and what is read for the first time.
    for (let runs = 0; runs < 1_000 && (await other.run()); runs++);
    const times = { fresh: [] as number[], aged: [] as number[] }
    for (let round = 0; round < ROUNDS; round++) {
      times.fresh.push(await taken(() => step.run()))
      times.aged.push(await taken(() => other.run()))
    }
    figures.push({ step: step.name, new_ms: middle(times.fresh), aged_ms: middle(times.aged) })
  }
  return figures
}

async function measurePurchases(fresh: LocalService, aged: LocalService): Promise<Figure> {
  const buyer = ({ api_url, customer, sandbox }: LocalService) => {
    const call = signedCall(api_url, customer)
    const address = sandbox.funded_accounts[0]!.address
    return async () => {
      const { code } = await call('/v1/transaction/new', {
        service: 'energy',
        params: { address, amount: 32_000, duration: 1 },
      })
      if (code !== 0) throw new Error(`a purchase was refused with code ${code}`)
    }
  }
  const [one, other] = [buyer(fresh), buyer(aged)]
  const times = { fresh: [] as number[], aged: [] as number[] }
  for (let n = 0; n < PURCHASES; n++) {
    times.fresh.push(await taken(one))
    times.aged.push(await taken(other))
  }
  return { step: 'a purchase', new_ms: middle(times.fresh), aged_ms: middle(times.aged) }
}

async function taken(work: () => Promise<unknown>): Promise<number> {
  const began_ms = performance.now()
  await work()
  return performance.now() - began_ms
}

const middle = (times: readonly number[]) => Math.round(median(times) * 100) / 100

function report(json: boolean, orders: number, figures: readonly Figure[]): void {
  const worst = figures.reduce((a, b) => (b.aged_ms > a.aged_ms ? b : a))
  if (json) {
    const summary = { orders, worst_ms: worst.aged_ms, worst_step: worst.step, figures }
    process.stdout.write(`${JSON.stringify(summary)}\n`)
    return
  }
  const lines = figures.map(({ step, new_ms, aged_ms }) => {
    const ratio = (aged_ms / new_ms).toFixed(1)
    const times = `${new_ms.toFixed(2).padStart(9)}${aged_ms.toFixed(2).padStart(10)}`
    return `${step.padEnd(18)}${times}${ratio.padStart(8)}`
  })
  const head = `${''.padEnd(18)}   new ms   aged ms   ratio`
  const sums = `the most: ${worst.step}, ${worst.aged_ms} ms (limit ${LIMIT_MS} ms)`
  process.stdout.write(`${[head, ...lines, sums].join('\n')}\n`)
}
