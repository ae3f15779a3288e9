// What the steps cost when they have nothing to do, on a new database and on one that has grown
// old: by default a million orders that are over, 300,000 whose hour is running, 100,000
// subscriptions that have ended. Each step is run on both, in turn; it should take no notice of the
// history. Anyone who buys waits for the same database, so this is also its latency.
//
//   npm run bench -- aged [--orders N] [--json]

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalOptions, type LocalService, startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { removeData, startAged } from './parts/history.ts'
import { signedCall } from './parts/load.ts'
import { median } from './parts/median.ts'

export const OPTIONS = { orders: { type: 'string', default: '1000000' } } as const

const ROUNDS = 15
const PURCHASES = 30
const LIMIT_MS = 10
/** These look at everything by design, as often as it says there. */
const LOOK_AT_ALL = ['watch_books']

function optionsOf(data_dir: string): LocalOptions {
  const args = ['--port', '0', '--chain-port', '0', '--data-dir', data_dir]
  const { help: _, ...config } = readConfig(args, { PENSTOCK_REQUESTS_PER_SECOND: '0' })
  return { config, log: silentLog }
}

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
  const [new_data, aged_data] = [join(folder, 'new'), join(folder, 'aged')]
  const closers: (() => Promise<void>)[] = []
  const opened = async (starting: Promise<LocalService>) => {
    const local = await starting
    closers.push(local.close)
    return local
  }
  try {
    const fresh = await opened(startLocal(optionsOf(new_data)))
    const history = { orders: numbers.orders!, customers: 0, say }
    const aged = await opened(startAged(optionsOf(aged_data), history))
    say('running the steps')
    const steps = await measureSteps(fresh, aged)
    say('buying')
    const purchase = await measurePurchases(fresh, aged)
    say('')
    report(json, numbers.orders!, [...steps, purchase])
  } finally {
    for (const close of closers) await close()
    for (const data of [new_data, aged_data]) await removeData(data)
    await rm(folder, { recursive: true, force: true })
  }
}

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
