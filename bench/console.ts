// The operators' console on a database that has grown large: by default a million orders that are
// over, 300,000 whose hour is running, 10,000 customers. What each page reads, through HTTP, as the
// page asks for it: all at once; the first time and the median of the next ones. What a tick of the
// figures takes, and how much of a core the console's process takes while nobody looks on and
// while one person does.
//
//   npm run bench -- console [--orders N] [--customers N] [--json]

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { LocalService } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { figuresReader } from 'penstock-service/health/monitoring/figures.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { Outage } from 'penstock-service/lib/fault.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { inviteUser, makeLink } from 'penstock-service/people/users/users.ts'
import { asRole } from 'penstock-test/harness/database.ts'
import { ownCpuUs, processCpuUs, serverCpuReader } from './parts/cpu.ts'
import { ORDER_ID_PREFIXES, removeData, startAged } from './parts/history.ts'
import { median } from './parts/median.ts'

export const OPTIONS = {
  orders: { type: 'string', default: '1000000' },
  customers: { type: 'string', default: '10000' },
} as const

const ROUNDS = 5
const TICKS = 15
const TRIES = 10
const IDLE_MS = 20_000
/** After its start, and after what was asked of it. */
const QUIET_MS = 5_000
const LIMITS = { page_ms: 1_000, tick_ms: 50, idle_percent: 2 }
const TIER = { min_amount: 32_000, max_amount: 130_999, price_sun: 50_000 }

type Ask = readonly [words: string, options?: object]
type Page = { page: string; asks: readonly Ask[] }
/** `cpu_ms`: of the processor, the console's and the database's, for one reading; it is the same
 *  while others use the machine. */
type PageFigure = {
  page: string
  first_ms: number
  median_ms: number
  cpu_ms: number
  slowest: string
}

/** The operations and options that the pages of packages/web/console*\/ ask. */
const pagesOf = ({ order, customer, wallet }: Record<string, string>): readonly Page[] => [
  { page: 'Now', asks: [['figures show']] },
  { page: 'Orders', asks: [['orders list', { limit: 50 }]] },
  { page: 'Orders, open', asks: [['orders list', { limit: 50, open: true }]] },
  { page: 'Orders of one', asks: [['orders list', { limit: 50, customer }]] },
  { page: 'Order', asks: [['orders show', { order }]] },
  { page: 'Pool', asks: [['pool show'], ['pool forecast', { hours: 24 }]] },
  {
    page: 'Wallet',
    asks: [
      ['wallets show', { wallet }],
      ['delegations list', { wallet, state: 'active', limit: 50 }],
    ],
  },
  {
    page: 'Chain',
    asks: [['chain show'], ['attempts list', { open: true, limit: 100 }], ['nodes list']],
  },
  { page: 'Customers', asks: [['customers list', { limit: 100 }]] },
  {
    page: 'Customer',
    asks: [
      ['customers show', { customer }],
      ['users list', { customer, limit: 100 }],
    ],
  },
  { page: 'Held deposits', asks: [['deposits list', { state: 'held', limit: 100 }]] },
  { page: 'Prices', asks: [['prices list']] },
  {
    page: 'Prices, preview',
    asks: [['prices preview', { resource: 'energy', tiers: [TIER] }]],
  },
  { page: 'Screening', asks: [['aml reviews list', { limit: 50 }], ['lists list']] },
  { page: 'Books', asks: [['books findings', { limit: 100 }]] },
  { page: 'Events', asks: [['events list', { customer: 'house', limit: 50 }]] },
  {
    page: 'Record',
    asks: [
      ['actions list', { limit: 50 }],
      ['actions prove', { limit: 50 }],
    ],
  },
  {
    page: 'Settings',
    asks: [
      ['operators list', { limit: 100 }],
      ['sessions list', { limit: 100 }],
      ['incidents list', { limit: 20 }],
      ['approvals list', { open: true, limit: 100 }],
      ...['approvals show', 'events show', 'status-page show', 'brand show'].map(
        (words): Ask => [words],
      ),
    ],
  },
]

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const { orders = 0, customers = 0 } = numbers
  const say = (line: string) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const given = ['--port', '0', '--chain-port', '0', '--console-port', 'off', '--data-dir', folder]
  const { help: _, ...config } = readConfig(given, {})
  say('growing old')
  const local = await startAged({ config, log: silentLog }, { orders, customers, say })
  let child: ChildProcess | undefined
  try {
    say('starting the console')
    const console_process = await startConsole(local, folder)
    child = console_process.child
    const signed_in = await patiently(() => signIn(local, console_process.url))
    const databaseCpu = await patiently(() => serverCpuReader(local.sql))
    const cpuUs = async () => (await databaseCpu()) + (await processCpuUs(child!.pid!))
    say('reading the pages')
    const pages = await measurePages(
      signed_in,
      pagesOf(await patiently(() => subjectsOf(local))),
      cpuUs,
    )
    say('ticks')
    const ticks = await measureTicks(local, databaseCpu)
    const idle = await measureIdle(signed_in, child.pid!, say)
    say('')
    print(json, { orders, customers, pages, ...ticks, ...idle, limits: LIMITS })
  } finally {
    if (child) await ended(child)
    await local.close()
    await removeData(folder)
  }
}

/** A process of the console alone, as houses have it. */
async function startConsole({ database_url, node_url, sandbox }: LocalService, folder: string) {
  const wallets_file = join(folder, 'wallets.json')
  // Without keys: nothing is signed here.
  const text = JSON.stringify(sandbox.wallets, (key, value) =>
    key === 'private_key' ? undefined : value,
  )
  await writeFile(wallets_file, text, { mode: 0o600 })
  const ready_file = join(folder, 'console.json')
  const main = join(import.meta.dirname, '../packages/service/src/main.ts')
  const args = ['serve', '--role', 'console', '--port', '0', '--console-port', '0']
  const child = spawn(
    process.execPath,
    [main, ...args, '--data-dir', folder, '--node-url', node_url, '--ready-file', ready_file],
    {
      env: {
        ...process.env,
        DATABASE_URL: asRole(database_url, 'penstock_admin'),
        PENSTOCK_WALLETS: wallets_file,
      },
      stdio: 'ignore',
    },
  )
  for (;;) {
    const text = await readFile(ready_file, 'utf8').catch(() => undefined)
    if (text !== undefined) {
      const { console_url } = JSON.parse(text) as { console_url: string }
      return { child, url: console_url }
    }
    if (child.exitCode !== null) throw new Error(`the console has ended: ${child.exitCode}`)
    await delay(100)
  }
}

/** On a machine that is shared, a connection may take longer than it may. */
async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++)
    try {
      return await work()
    } catch (thrown) {
      if (!(thrown instanceof Outage) || tries === TRIES) throw thrown
      await delay(1_000)
    }
}

async function ended(child: ChildProcess): Promise<void> {
  child.kill('SIGINT')
  if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve))
}

type SignedIn = { url: string; headers: Record<string, string> }

async function signIn({ sql, app }: LocalService, url: string): Promise<SignedIn> {
  const { token } = await sql.begin(async (tx) => {
    const wanted = { customer_id: null, name: 'Bench', role: 'admin', invited_by: 'bench' }
    const user = await inviteUser(tx, app.sign_in, wanted as Parameters<typeof inviteUser>[2])
    return makeLink(tx, app.sign_in, { user_id: user.id, purpose: 'sign_in' })
  })
  const headers = { origin: new URL(url).origin, 'x-penstock': '1' }
  const body = JSON.stringify({ token })
  const answer = await fetch(`${url}/console/session/link`, { method: 'POST', headers, body })
  const cookie = answer.headers.get('set-cookie')?.split(';', 1)[0]
  if (cookie === undefined) throw new Error(`the link was refused: ${await answer.text()}`)
  return { url, headers: { ...headers, cookie } }
}

async function subjectsOf({ sql }: LocalService): Promise<Record<string, string>> {
  const [order] = await sql<{ id: string; customer_id: string }>`
    select id, customer_id from orders where id like ${`${ORDER_ID_PREFIXES.over}/%`}
    order by id limit 1`
  const [wallet] = await sql<{ address: string }>`select address from pool_wallet limit 1`
  return { order: order!.id, customer: order!.customer_id, wallet: wallet!.address }
}

/** Milliseconds until one answer is whole. */
async function ask({ url, headers }: SignedIn, [words, options = {}]: Ask): Promise<number> {
  const began_ms = performance.now()
  const path = `${url}/console/run/${words.replaceAll(' ', '/')}`
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(options) })
  const { code, message } = (await answer.json()) as { code: number; message: string }
  if (code !== 0) throw new Error(`${words}: ${code} ${message}`)
  return performance.now() - began_ms
}

async function measurePages(
  on: SignedIn,
  pages: readonly Page[],
  cpuUs: () => Promise<number>,
): Promise<PageFigure[]> {
  const figures: PageFigure[] = []
  for (const { page, asks } of pages) {
    const times: number[] = []
    let slowest = ''
    let before_us = 0
    for (let round = 0; round <= ROUNDS; round++) {
      if (round === 1) before_us = await cpuUs()
      const each = await Promise.all(asks.map((one) => ask(on, one)))
      const most = Math.max(...each)
      times.push(most)
      slowest = asks[each.indexOf(most)]![0]
    }
    const cpu_ms = rounded(((await cpuUs()) - before_us) / 1_000 / ROUNDS)
    const [first = 0, ...others] = times
    figures.push({
      page,
      first_ms: rounded(first),
      median_ms: rounded(median(others)),
      cpu_ms,
      slowest,
    })
  }
  return figures
}

async function measureTicks({ sql }: LocalService, databaseCpu: () => Promise<number>) {
  const read = figuresReader({ sql, clock: systemClock })
  const times: number[] = []
  let before = { own: process.cpuUsage(), database_us: 0 }
  for (let round = 0; round <= TICKS; round++) {
    if (round === 1) before = { own: process.cpuUsage(), database_us: await databaseCpu() }
    const began_ms = performance.now()
    await patiently(read)
    times.push(performance.now() - began_ms)
  }
  const taken_us = ownCpuUs(before.own) + (await databaseCpu()) - before.database_us
  const tick_cpu_ms = rounded(taken_us / 1_000 / TICKS)
  const [first = 0, ...others] = times
  return { tick_cpu_ms, first_tick_ms: rounded(first), tick_ms: rounded(median(others)) }
}

/** Percent of a core. */
async function measureIdle(on: SignedIn, pid: number, say: (line: string) => void) {
  const share = async () => {
    await delay(QUIET_MS)
    const [before_us, began_ms] = [await processCpuUs(pid), performance.now()]
    await delay(IDLE_MS)
    const taken_us = (await processCpuUs(pid)) - before_us
    return rounded(taken_us / 10 / (performance.now() - began_ms))
  }
  say('idle')
  const idle_percent = await share()
  say('one person looks on')
  const closing = new AbortController()
  const { cookie } = on.headers
  const stream = await fetch(`${on.url}/console/events`, {
    headers: { cookie: cookie!, 'sec-fetch-site': 'same-origin' },
    signal: closing.signal,
  })
  if (!stream.headers.get('content-type')?.startsWith('text/event-stream'))
    throw new Error(`the stream was refused: ${await stream.text()}`)
  const reading = (async () => {
    for await (const _ of stream.body!);
  })().catch(() => {})
  const watched_percent = await share()
  closing.abort()
  await reading
  return { idle_percent, watched_percent }
}

const rounded = (figure: number) => Math.round(figure * 10) / 10

type Figures = Awaited<ReturnType<typeof measureTicks>> &
  Awaited<ReturnType<typeof measureIdle>> & {
    orders: number
    customers: number
    pages: PageFigure[]
    limits: typeof LIMITS
  }

function print(json: boolean, figures: Figures): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(figures)}\n`)
    return
  }
  const lines = figures.pages.map(
    ({ page, first_ms, median_ms, cpu_ms, slowest }) =>
      page.padEnd(18) +
      [first_ms, median_ms, cpu_ms].map((ms) => ms.toFixed(1).padStart(10)).join('') +
      `  ${slowest}`,
  )
  const { first_tick_ms, tick_ms, tick_cpu_ms, idle_percent, watched_percent } = figures
  const { page_ms, tick_ms: limit_ms, idle_percent: limit } = LIMITS
  process.stdout.write(
    `${[
      `${''.padEnd(18)}  first ms    median       cpu  (limit ${page_ms} ms)`,
      ...lines,
      `a tick: ${tick_ms} ms, ${tick_cpu_ms} of the processor; the first ${first_tick_ms} ms ` +
        `(limit ${limit_ms} ms)`,
      `of a core: ${idle_percent} % idle, ${watched_percent} % while one looks on (limit ${limit})`,
    ].join('\n')}\n`,
  )
}
