// The portal's Home in Chromium, beside the status page of the same service, which has no scripts:
// when something is painted first, when the largest part is, when the balance stands there, and how
// much the page moves meanwhile. Once as it is on this machine, and once on a slow phone: a fourth
// of the processor, 1.6 Mbit/s and 150 ms to the service. Every load is that of a new visitor with
// nothing kept. And what a start of everything takes, until the ready line is printed, and how long
// /status takes to answer: to the first who asks, to the first in another language, and to
// those who come later.
//
//   npm run bench -- faces [--loads N] [--json]

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { startBrowser } from '../test/harness/browser.ts'
import { median } from './parts/median.ts'

export const OPTIONS = { loads: { type: 'string', default: '10' } } as const

/** Milliseconds; how far parts move has no unit. */
const LIMITS = {
  here: { paint_ms: 300, data_ms: 700, shift: 0.02 },
  phone: { paint_ms: 1_800, largest_ms: 2_500, shift: 0.02 },
  status: { ms: 50 },
}
const PHONE = {
  latency: 150,
  downloadThroughput: 200_000,
  uploadThroughput: 90_000,
  offline: false,
}

type Load = { paint_ms: number; largest_ms: number; data_ms: number; shift: number }
type Visit = { path: string; data: string; on_phone: boolean }

/** What the browser itself has noted of the page. */
const NOTED = `new Promise((resolve) => {
  const noted = { paint_ms: 0, largest_ms: 0, shift: 0 }
  noted.paint_ms = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0
  const watch = (type, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take))
      .observe({ type, buffered: true })
  watch('largest-contentful-paint', (one) => { noted.largest_ms = one.startTime })
  watch('layout-shift', (one) => { noted.shift += one.value })
  setTimeout(() => resolve(JSON.stringify(noted)), 300)
})`

async function load(context: BrowserContext, origin: string, visit: Visit): Promise<Load> {
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  if (visit.on_phone) {
    await session.send('Emulation.setCPUThrottlingRate', { rate: 4 })
    await session.send('Network.emulateNetworkConditions', PHONE)
  }
  await page.goto(origin + visit.path, { waitUntil: 'commit' })
  await page.locator(visit.data).first().waitFor()
  const data_ms = await noted(page, 'performance.now()')
  const rest = JSON.parse(await noted(page, NOTED)) as Omit<Load, 'data_ms'>
  await page.close()
  return { ...rest, data_ms: Number(data_ms) }
}

const WARM_CALLS = 50

/** Milliseconds until the whole of /status has come: first of all, the first in each language, and
 *  the middle of those who come later. */
async function measureStatus(origin: string) {
  const ask = async (language: string): Promise<number> => {
    const began_ms = performance.now()
    const answer = await fetch(`${origin}/status?language=${language}`)
    await answer.arrayBuffer()
    return Number((performance.now() - began_ms).toFixed(1))
  }
  const cold_ms = await ask('en')
  const others_ms = [await ask('zh'), await ask('ru')]
  const later: number[] = []
  for (let i = 0; i < WARM_CALLS; i++) later.push(await ask('en'))
  return { cold_ms, others_ms, warm_ms: median(later) }
}

const noted = async (page: Page, expression: string): Promise<string> =>
  String(await page.evaluate(expression))

function middleOf(loads: readonly Load[]): Load {
  const of = (name: keyof Load) => median(loads.map((one) => one[name]))
  const whole = (name: keyof Load) => Math.round(of(name))
  return {
    paint_ms: whole('paint_ms'),
    largest_ms: whole('largest_ms'),
    data_ms: whole('data_ms'),
    shift: Number(of('shift').toFixed(3)),
  }
}

async function measureLoads(browser: Browser, link: string, loads: number) {
  const { origin } = new URL(link)
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  await page.goto(link)
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  await page.close()
  const kinds = { here: false, phone: true }
  const found = {
    here: { home: [] as Load[], status: [] as Load[] },
    phone: { home: [] as Load[], status: [] as Load[] },
  }
  // In turns, so that what disturbs one disturbs the other.
  for (let turn = 0; turn < loads; turn++)
    for (const [where, on_phone] of Object.entries(kinds) as ['here' | 'phone', boolean][]) {
      const home = { path: '/portal', data: 'main :text("TRX")', on_phone }
      const status = { path: '/status', data: 'main', on_phone }
      found[where].home.push(await load(context, origin, home))
      found[where].status.push(await load(context, origin, status))
    }
  await context.close()
  const figures = (where: 'here' | 'phone') => {
    const [home, status] = [middleOf(found[where].home), middleOf(found[where].status)]
    return { home, status, ratio_paint: Number((home.paint_ms / status.paint_ms).toFixed(2)) }
  }
  return { here: figures('here'), phone: figures('phone') }
}

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-faces-'))
  const args = ['--port', '0', '--chain-port', '0', '--data-dir', folder]
  const { help: _, ...config } = readConfig(args, {})
  const began_ms = performance.now()
  const local = await startLocal({ config, log: silentLog, throw_away: true })
  const start_ms = Math.round(performance.now() - began_ms)
  const status = await measureStatus(new URL(local.sign_in.portal).origin)
  const browser = await startBrowser()
  try {
    const figures = await measureLoads(browser, local.sign_in.portal, numbers.loads!)
    const all = { start_ms, status, ...figures, limits: LIMITS }
    process.stdout.write(json ? `${JSON.stringify(all)}\n` : textOf(all))
  } finally {
    await browser.close()
    await local.close()
    await rm(folder, { recursive: true, force: true })
  }
}

type Figures = Awaited<ReturnType<typeof measureLoads>> & {
  start_ms: number
  status: Awaited<ReturnType<typeof measureStatus>>
}

function textOf({ start_ms, status, here, phone }: Figures): string {
  const line = (name: string, { paint_ms, largest_ms, data_ms, shift }: Load) =>
    `  ${name.padEnd(8)} painted ${paint_ms} ms, largest ${largest_ms} ms, ` +
    `data ${data_ms} ms, moves ${shift}`
  return [
    `everything started in ${start_ms} ms`,
    `/status (at most 50 ms): first of all ${status.cold_ms} ms, first in another language ` +
      `${status.others_ms.join(' and ')} ms, later ${status.warm_ms} ms`,
    'on this machine (painted at most 300 ms, data 700 ms)',
    line('Home', here.home),
    line('/status', here.status),
    `  Home is painted after ${here.ratio_paint} of the time of /status`,
    'on a slow phone (painted at most 1,800 ms, largest 2,500 ms)',
    line('Home', phone.home),
    line('/status', phone.status),
    `  Home is painted after ${phone.ratio_paint} of the time of /status`,
    '',
  ].join('\n')
}
