// The customers' command line against a whole service, on a development chain: how long a command
// takes to start and to print, beside Node that does nothing; and how long it is from a call that
// makes an event to the same event at a program that `listen` forwards to, which is more than from
// its number. CPU seconds say more than seconds where others use the machine.
//
//   npm run bench -- cli [--starts N] [--events N] [--json]

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readyText, startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { TESTS } from 'penstock-service/events/webhooks/trial.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { buildPackage } from '../packages/cli/build.ts'
import { runCommand } from '../packages/cli/src/run.ts'
import { Penstock } from '../packages/sdk/src/penstock.ts'

export const OPTIONS = {
  starts: { type: 'string', default: '20' },
  // As many as may be triggered in a row; each one more waits for seconds.
  events: { type: 'string', default: String(TESTS.burst) },
} as const

const LIMITS = { version_ms: 80, balance_ms: 250, listen_p95_ms: 100 }
const PAUSE_MS = 50

type StartFigures = { seconds_ms: number; cpu_ms: number }

const execute = promisify(execFile)
const middle = (all: number[], share = 0.5) =>
  Math.round(all.sort((a, b) => a - b)[Math.floor(share * all.length)] ?? 0)

/** Milliseconds of the median start of a program, by the clock and of the processor. */
async function measureStarts(args: string[], starts: number, env: object): Promise<StartFigures> {
  const script = 'TIMEFORMAT="%R %U %S"; time "$@" > /dev/null'
  const times: { seconds_ms: number; cpu_ms: number }[] = []
  for (let i = 0; i < starts; i++) {
    const all = ['-c', script, 'bash', process.execPath, ...args]
    const { stderr } = await execute('bash', all, { env: { ...process.env, ...env } })
    const [real, user, system] = stderr.trim().split('\n').at(-1)!.split(' ').map(Number)
    times.push({ seconds_ms: 1_000 * real!, cpu_ms: 1_000 * (user! + system!) })
  }
  return {
    seconds_ms: middle(times.map((one) => one.seconds_ms)),
    cpu_ms: middle(times.map((one) => one.cpu_ms)),
  }
}

/** Milliseconds from each call that makes an event until it is forwarded. */
async function measureListen(penstock: Penstock, env: Record<string, string>, events: number) {
  const came = new Map<number, number>()
  const receiver = createServer(async (request, response) => {
    const now_ms = performance.now()
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    came.set((JSON.parse(Buffer.concat(parts).toString()) as { number: number }).number, now_ms)
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const end = new AbortController()
  const { port } = receiver.address() as AddressInfo
  const listening = runCommand(['listen', '--forward-to', `:${port}`, '--after', '0'], 'bench', {
    env,
    out: () => {},
    err: () => {},
    input: async () => '',
    ask: undefined,
    color: false,
    columns: undefined,
    signal: end.signal,
  })
  while (came.size === 0) await delay(PAUSE_MS)
  const made: [number: number, began_ms: number][] = []
  for (let i = 0; i < events; i++) {
    const began_ms = performance.now()
    const { number } = await penstock.events.trigger({ type: 'order.ended' })
    made.push([number, began_ms])
    await delay(PAUSE_MS)
  }
  while (made.some(([number]) => !came.has(number))) await delay(PAUSE_MS)
  end.abort(new Error('done'))
  await listening
  receiver.close()
  const late = made.map(([number, began_ms]) => came.get(number)! - began_ms)
  return { p50_ms: middle([...late]), p95_ms: middle([...late], 0.95) }
}

async function measure(options: { starts: number; events: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-cli-'))
  const args = ['--port', '0', '--chain-port', '0', '--data-dir', folder]
  const { help: _, ...config } = readConfig(args, {})
  const local = await startLocal({ config, log: silentLog, throw_away: true })
  try {
    const program = await buildPackage(join(folder, 'built'))
    await writeFile(join(folder, 'ready.json'), readyText(local))
    const { token, secret } = local.customer
    const places = { XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder }
    const access = { PENSTOCK_URL: local.api_url, PENSTOCK_TOKEN: token, PENSTOCK_SECRET: secret }
    const env = { ...places, ...access }
    const nothing = await measureStarts(['-e', '0'], options.starts, env)
    const version = await measureStarts([program, '--version'], options.starts, env)
    const balance = await measureStarts([program, 'balance'], options.starts, env)
    const penstock = new Penstock({ url: local.api_url, token, secret })
    const listen = await measureListen(penstock, env, options.events)
    return { nothing, version, balance, listen }
  } finally {
    await local.close()
    await rm(folder, { recursive: true, force: true })
  }
}

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const { starts, events } = numbers as { starts: number; events: number }
  const figures = await measure({ starts, events })
  if (json) return void process.stdout.write(`${JSON.stringify({ ...figures, LIMITS })}\n`)
  const { nothing, version, balance, listen } = figures
  const text = ({ seconds_ms, cpu_ms }: StartFigures) => `${seconds_ms} ms, ${cpu_ms} ms of CPU`
  process.stdout.write(
    [
      `node -e 0            ${text(nothing)}`,
      `penstock --version   ${text(version)}; limit ${LIMITS.version_ms} ms`,
      `penstock balance     ${text(balance)}; limit ${LIMITS.balance_ms} ms`,
      `listen --forward-to  p50 ${listen.p50_ms} ms, p95 ${listen.p95_ms} ms from the call that`,
      `                     makes an event; limit ${LIMITS.listen_p95_ms} ms (p95)`,
      '',
    ].join('\n'),
  )
}
