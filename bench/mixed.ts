// Every endpoint in turn, 200 requests a second, on the default set-up: `npm start` in a process of
// its own, with its database, its chain with 3-second blocks, and its steps at work on what is
// bought. Ten customers ask, each of whom has a share of what may be asked of the chain. Requests
// go out at their times whether or not the earlier ones are answered. The limit is 20 ms (p99) for
// each endpoint, and 60 ms for those whose every call asks the chain; figures above a limit are
// marked. It fails when a call is refused that should succeed: a refusal takes less time.
//
//   npm run bench -- mixed [--seconds N] [--rate N] [--json]

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { person } from 'penstock-devchain/scene.ts'
import { type Control, devchainControl } from 'penstock-playground/sandbox.ts'
import { httpTransport } from 'penstock-service/chain/node/node.ts'
import { inspectConfig, unknownVariables } from 'penstock-service/config.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { runCommand } from 'penstock-service/operators/command_line/run.ts'
import { type Access, type Reply, signedCall } from './parts/load.ts'

export const OPTIONS = {
  seconds: { type: 'string', default: '60' },
  rate: { type: 'string', default: '200' },
} as const

const P99_LIMIT_MS = 20
const CHAIN_P99_LIMIT_MS = 60
const WARM_UP_SECONDS = 5
/** They ask the chain in every call. */
const CHAIN_CALLS = ['/v1/estimate-energy', '/v1/address-info']
const RECEIVERS = 5
const CUSTOMERS = 10
/** How many younger ones a customer has when a subscription is stopped: some ten seconds' worth. So
 *  many run before the first is stopped. */
const STOP_LAG = 120 / CUSTOMERS
/** How long it may take until they do. */
const ACTIVE_MS_MAX = 60_000
/** All together stay below what a service takes of one address. */
const CONNECTIONS_OF_ONE = 40
const FUNDED_AT_ONCE = 16
const TRX_OF_ONE = 100_000

type SignedCall = ReturnType<typeof signedCall>
type Customer = { call: SignedCall; calls: readonly Call[] }
type Ready = {
  api_url: string
  node_url: string
  customer: Access
  funded_accounts: { address: string }[]
}
type Call = { path: string; body: (n: number) => object; remember?: (id: string) => void }
type Sample = { path: string; ms: number; code: number }

/** What is looked up may not be there yet, and what is stopped not be active yet. */
const EXPECTED_CODES = [0, 20, 21, 30]

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const service = spawn(
    process.execPath,
    [
      join(import.meta.dirname, '../packages/playground/main.ts'),
      'start',
      ...[
        '--port',
        '0',
        '--chain-port',
        '0',
        '--data-dir',
        folder,
        '--ready-file',
        join(folder, 'ready.json'),
      ],
    ],
    { stdio: 'ignore' },
  )
  try {
    const ready = await untilReady(join(folder, 'ready.json'), service)
    const seconds = numbers.seconds!
    const rate = numbers.rate!
    const starts = Math.ceil(((seconds + WARM_UP_SECONDS) * rate) / 10 / CUSTOMERS)
    const customers: Customer[] = []
    for (let i = 0; i < CUSTOMERS; i++) {
      const access = i === 0 ? ready.customer : await makeCustomer(folder, `mixed ${i}`)
      const call = signedCall(ready.api_url, access, CONNECTIONS_OF_ONE)
      customers.push({ call, calls: await prepare(ready, call, `customer-${i}`, starts) })
    }
    await load(customers, { rate, seconds: WARM_UP_SECONDS })
    report(json, await load(customers, { rate, seconds }))
  } finally {
    service.kill('SIGINT')
    await new Promise((resolve) =>
      service.exitCode === null ? service.once('exit', resolve) : resolve(0),
    )
    await rm(folder, { recursive: true, force: true })
  }
}

async function untilReady(file: string, service: ChildProcess): Promise<Ready> {
  for (let tries = 0; tries < 600; tries++) {
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text !== undefined) return JSON.parse(text) as Ready
    if (service.exitCode !== null) throw new Error('the service has ended')
    await delay(100)
  }
  throw new Error('the service was not ready within a minute')
}

/** Runs a command of the operator's, in this process: to start one for each takes seconds. */
async function operate<Answer>(folder: string, ...words: string[]): Promise<Answer> {
  const said = { out: '', err: '' }
  const note = (where: keyof typeof said) => (text: string) => {
    said[where] += text
  }
  const code = await runCommand([...words, '--data-dir', folder, '--json'], {
    env: process.env,
    inspectConfig: (args, env) => ({
      ...inspectConfig(args, env),
      unknown: unknownVariables(env),
    }),
    user: 'bench',
    out: note('out'),
    err: note('err'),
    clock: systemClock,
    random: systemRandom,
    transport: httpTransport,
    wait: (ms) => delay(ms),
    input: async () => '',
  })
  if (code !== 0) throw new Error(`${words.join(' ')}: ${said.err}`)
  return JSON.parse(said.out) as Answer
}

async function makeCustomer(folder: string, name: string): Promise<Access> {
  const { id } = await operate<{ id: string }>(folder, 'customers', 'create', name)
  await operate(folder, 'customers', 'credit', id, String(TRX_OF_ONE), '--reason', 'bench', '--yes')
  return operate<Access>(folder, 'keys', 'issue', id, '--scope', 'all', '--allow-v1')
}

/** What each endpoint is asked by one customer: things that succeed, and change something where the
 *  endpoint does. */
async function prepare(
  { node_url, funded_accounts }: Ready,
  call: SignedCall,
  who: string,
  starts: number,
): Promise<Call[]> {
  const subscribers = Array.from(
    { length: STOP_LAG + starts },
    (_, i) => person(`${who} subscriber-${i}`).address,
  )
  const receivers = Array.from(
    { length: RECEIVERS },
    (_, i) => person(`${who} receiver-${i}`).address,
  )
  await fund(devchainControl(node_url, httpTransport), [...subscribers, ...receivers])
  const holder = funded_accounts[0]!.address
  const receiver = (n: number) => receivers[n % RECEIVERS]!
  const running = await startSome(call, subscribers.splice(0, STOP_LAG))
  const ids = { orders: [] as string[], checks: [] as string[], subscriptions: running }
  const nobody = '01jq7h6bvf6p5t1amnz6y3n8c4'
  const latest = (from: string[], n: number) => ({
    id: from.at(-1 - (n % Math.max(1, from.length))) ?? nobody,
  })
  let started = 0
  let stopped = 0
  const nothing = () => ({})
  return [
    { path: '/v1/services', body: nothing },
    { path: '/v1/balance', body: nothing },
    { path: '/v1/direct-recharge-info', body: nothing },
    {
      path: '/v1/estimate-energy',
      body: (n) => ({ from_address: holder, to_address: receiver(n) }),
    },
    { path: '/v1/calculate', body: (n) => ({ address: receiver(n), amount: 65_000, duration: 1 }) },
    { path: '/v1/address-info', body: (n) => ({ address: receiver(n) }) },
    {
      path: '/v1/transaction/new',
      body: (n) => ({
        service: 'energy',
        params: { address: receiver(n), amount: 32_000, duration: 1 },
      }),
      remember: (id) => ids.orders.push(id),
    },
    { path: '/v1/transaction/check', body: (n) => latest(ids.orders, n) },
    { path: '/v1/subscriptions', body: nothing },
    {
      path: '/v1/subscription/start',
      body: () => subscriptionFor(subscribers[started++ % starts]!),
      remember: (id) => ids.subscriptions.push(id),
    },
    { path: '/v1/subscription/check', body: (n) => latest(ids.subscriptions, n) },
    // The oldest, each once.
    { path: '/v1/subscription/stop', body: () => ({ id: ids.subscriptions[stopped++] ?? nobody }) },
    { path: '/v1/subscriptions/history', body: () => ({ page: 1, per_page: 50 }) },
    { path: '/v1/aml-checks', body: nothing },
    {
      path: '/v1/aml-checks/new',
      body: (n) => ({ type: 'address', network: 'TRX', address: receiver(n) }),
      remember: (id) => ids.checks.push(id),
    },
    { path: '/v1/aml-checks/check', body: (n) => latest(ids.checks, n) },
    { path: '/v1/aml-checks/history', body: (n) => ({ page: 1 + (n % 10), per_page: 50 }) },
  ]
}

async function fund(control: Control, addresses: readonly string[]): Promise<void> {
  for (let from = 0; from < addresses.length; from += FUNDED_AT_ONCE) {
    const some = addresses.slice(from, from + FUNDED_AT_ONCE)
    await Promise.all(some.map((address) => control('fund', { address, sun: 1_000_000 })))
  }
}

const subscriptionFor = (address: string) => ({
  subscription_id: 'unlimited_energy',
  params: { address, duration: 0, transactions_limit: 0 },
})

/** Subscriptions of the customer for these addresses, when all of them are active: their ids. */
async function startSome(call: SignedCall, addresses: readonly string[]): Promise<string[]> {
  const started = addresses.map((one) => call('/v1/subscription/start', subscriptionFor(one)))
  const ids = (await Promise.all(started)).flatMap(({ result }) => result?.id ?? [])
  if (ids.length < addresses.length) throw new Error('a subscription was refused')
  const until_ms = performance.now() + ACTIVE_MS_MAX
  for (const id of ids) {
    while ((await call('/v1/subscription/check', { id })).result?.status !== 'active') {
      if (performance.now() > until_ms) throw new Error('the subscriptions did not become active')
      await delay(100)
    }
  }
  return ids
}

/** Sends each request at its time. */
async function load(
  customers: readonly Customer[],
  { rate, seconds }: { rate: number; seconds: number },
): Promise<Sample[]> {
  const samples: Sample[] = []
  const open: Promise<void>[] = []
  const began_ms = performance.now()
  const send = async (call: SignedCall, { path, body, remember }: Call, n: number) => {
    const sent_ms = performance.now()
    const { code, result }: Reply = await call(path, body(n))
    samples.push({ path, code, ms: performance.now() - sent_ms })
    if (code === 0 && remember && result?.id !== undefined) remember(result.id)
  }
  for (let n = 0; n < rate * seconds; n++) {
    const wait_ms = began_ms + (1_000 * n) / rate - performance.now()
    if (wait_ms > 0) await delay(wait_ms)
    const who = n % customers.length
    const turn = Math.floor(n / customers.length)
    const { call, calls } = customers[who]!
    open.push(send(call, calls[(turn + who) % calls.length]!, Math.floor(turn / calls.length)))
  }
  await Promise.all(open)
  return samples
}

function report(json: boolean, samples: readonly Sample[]): void {
  const round = (ms: number) => Math.round(ms * 10) / 10
  const endpoints = [...Map.groupBy(samples, ({ path }) => path)].map(([path, taken]) => {
    const times = taken.map(({ ms }) => ms).sort((a, b) => a - b)
    const at = (share: number) =>
      round(times[Math.min(times.length - 1, Math.floor(share * times.length))]!)
    const codes: Record<string, number> = {}
    for (const { code } of taken) codes[code] = (codes[code] ?? 0) + 1
    return {
      path,
      requests: times.length,
      p50_ms: at(0.5),
      p99_ms: at(0.99),
      max_ms: round(times.at(-1)!),
      codes,
    }
  })
  const held = endpoints.filter(({ path }) => !CHAIN_CALLS.includes(path))
  const worst = held.reduce((a, b) => (b.p99_ms > a.p99_ms ? b : a))
  const all = samples.map(({ ms }) => ms).sort((a, b) => a - b)
  const figures = {
    customers: CUSTOMERS,
    requests: samples.length,
    p99_ms: round(all[Math.floor(0.99 * all.length)]!),
    worst_p99_ms: worst.p99_ms,
    worst_endpoint: worst.path,
    failures: samples.filter(({ code }) => !EXPECTED_CODES.includes(code)).length,
    endpoints,
  }
  if (json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else {
    const lines = endpoints.map(({ path, requests, p50_ms, p99_ms, max_ms, codes }) => {
      const asks_chain = CHAIN_CALLS.includes(path)
      const limit_ms = asks_chain ? CHAIN_P99_LIMIT_MS : P99_LIMIT_MS
      const above = p99_ms > limit_ms ? `above ${limit_ms} ms` : ''
      const note = [asks_chain ? 'asks the chain' : '', above].join(' ').trim()
      const times = [p50_ms, p99_ms, max_ms].map((ms) => ms.toFixed(1).padStart(8)).join('')
      const counts = `${path.padEnd(28)}${String(requests).padStart(7)}${times}`
      return `${counts}   ${JSON.stringify(codes)} ${note}`.trimEnd()
    })
    const head = `${''.padEnd(28)}requests  p50 ms  p99 ms  max ms   codes`
    const sums =
      `worst p99 ${worst.p99_ms} ms (${worst.path}), limit ${P99_LIMIT_MS} ms; ` +
      `all together p99 ${figures.p99_ms} ms; ${figures.failures} failures`
    process.stdout.write(`${[head, ...lines, sums].join('\n')}\n`)
  }
  if (figures.failures > 0) process.exitCode = 1
}
