// The process. `start` brings up everything for trying out, `serve` the service alone, `demo` makes one purchase.

import { hash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Config, Misuse, readConfig, usage } from './config.ts'
import { demo } from './demo.ts'
import { systemClock } from './lib/clock.ts'
import { Outage } from './lib/fault.ts'
import { requireWritable, writeWhole } from './lib/files.ts'
import { jsonLog, type Log, thrownFields } from './lib/log.ts'
import { isLoopback } from './lib/networks.ts'
import { type Local, startLocal } from './local.ts'
import { requireSafeNode } from './runtime.ts'
import { serve } from './serve.ts'
import { readWallets } from './wallets.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

/** A value that can be no other line and moves no cursor. */
const plain = (value: unknown) => String(value).replace(/[\p{Cc}\u2028\u2029]/gu, ' ')

/** On a terminal a line for reading, elsewhere JSON. */
function processLog(): Log {
  if (!process.stdout.isTTY) return jsonLog((line) => process.stderr.write(line), systemClock.now)
  return (event, fields = {}) => {
    const parts = Object.entries(fields).filter(([name]) => name !== 'stack' && name !== 'request_id')
    const text = parts
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${plain(value)}`)
      .join(' ')
    process.stderr.write(`${systemClock.now().toISOString().slice(11, 19)} ${event} ${text}\n`)
  }
}

/** What nobody caught is a bug whose reach nobody knows: it is logged, and the process ends, for its supervisor to start
 *  another. Every row is where it can be taken up again. */
function endOnBug(log: Log): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (thrown: unknown) => {
      log('crashed', { why: event, ...thrownFields(thrown) })
      process.exit(1)
    })
  }
}

/** A line for `sh` that buys 65,000 energy, signed over exactly the bytes it sends. */
export function purchaseLine(api_url: string, customer: { token: string; secret: string }, address: string): string {
  const body = JSON.stringify({ service: 'energy', params: { address, amount: 65_000, duration: 1 } })
  const signature = hash('sha256', body + customer.secret)
  const headers = [
    `Authorization: Bearer ${customer.token}`,
    `X-Signature: ${signature}`,
    'Content-Type: application/json',
  ]
  return `curl -s ${api_url}/v1/transaction/new ${headers.map((one) => `-H '${one}'`).join(' ')} -d '${body}'`
}

function announce({ api_url, node_url, customer, sandbox, database_url }: Local): void {
  const [receiver] = sandbox.funded_accounts
  print('')
  print('Penstock is ready. Everything here is a sandbox: a chain of its own, money that is worth nothing.')
  print('')
  print(`  API        ${api_url}/v1`)
  print(`  Chain      ${node_url}   (a TRON node's HTTP API; POST /devchain/mine, /advance, /fund, /state)`)
  print(`  Database   ${database_url.replace(/:[^:@/]*@/, ':…@')}`)
  print('')
  print(`  Token      ${customer.token}`)
  print(`  Secret     ${customer.secret}`)
  print(`  Deposits   ${customer.deposit_address}`)
  print('')
  print('Buy 65,000 energy for an hour (it is delegated within a block, about 3 seconds):')
  print('')
  print(purchaseLine(api_url, customer, receiver!.address))
  print('')
  print('Ctrl-C stops it; starting again goes on where it was.')
}

/** What a program needs to use what was started. */
function readyText(local: Local): string {
  const { api_url, admin_url, node_url, customer, sandbox, database_url, token: sample } = local
  const { token, secret, deposit_address, customer_id } = customer
  const ready = {
    ...{ api_url, node_url, customer: { token, secret, deposit_address, customer_id } },
    admin: { database_url },
    funded_accounts: sandbox.funded_accounts,
    ...(sample && { token: sample }),
    ...(admin_url && { admin_url }),
  }
  return `${JSON.stringify(ready, null, 2)}\n`
}

/** Resolves at the first request to stop. A request while nothing is ready yet, and a second one, end the process at
 *  once: nothing here needs a farewell to be right when it is started again. */
function askedToStop(): { asked: Promise<void>; ready(): void } {
  let ready = false
  const asked = new Promise<void>((resolve) => {
    const ask = () => {
      if (!ready) process.exit(130)
      ready = false
      resolve()
    }
    process.on('SIGINT', ask)
    process.on('SIGTERM', ask)
  })
  return {
    asked,
    ready() {
      ready = true
    },
  }
}

/** A file of an earlier start would tell whoever waits for it that this one is ready. */
async function clearReady({ ready_file }: Config): Promise<void> {
  if (ready_file === undefined) return
  await requireWritable(dirname(ready_file))
  await rm(ready_file, { force: true }).catch((thrown: NodeJS.ErrnoException) => {
    throw new Misuse(`--ready-file ${ready_file} cannot be written: ${thrown.code}.`)
  })
}

async function start(config: Config): Promise<void> {
  const stop = askedToStop()
  if (config.role !== 'all') throw new Misuse('start runs everything; roles are for serve.')
  await clearReady(config)
  const progress = config.json ? () => {} : print
  const local = await startLocal({ config, log: processLog(), progress })
  try {
    if (config.ready_file !== undefined) await writeWhole(config.ready_file, readyText(local))
    if (config.json) print(readyText(local).trimEnd())
    else announce(local)
    stop.ready()
    await Promise.race([stop.asked, local.broken])
    if (!config.json) print('Stopping.')
    await clearReady(config)
  } finally {
    await local.close()
  }
}

async function serveOnly(config: Config): Promise<void> {
  const stop = askedToStop()
  const { database_url, nodes, wallets_file } = config
  if (!database_url) throw new Misuse('serve needs a database: set DATABASE_URL.')
  if (!nodes) throw new Misuse('serve needs a chain: --node-url URL, or a file of nodes in PENSTOCK_NODES.')
  if (!wallets_file) throw new Misuse('serve needs the wallets it acts for: set PENSTOCK_WALLETS.')
  const mended_in = requireSafeNode(process.version, config.loosened.includes('PENSTOCK_ALLOW_OLD_NODE'))
  const log = processLog()
  if (mended_in !== undefined) log('node_outdated', { version: process.version, mended_in })
  if (!isLoopback(config.host) && !config.tls_in_front && config.role !== 'worker')
    log('api_in_the_clear', { host: config.host, what: 'no TLS: see docs/operating.md, or PENSTOCK_TLS_IN_FRONT=yes' })
  await clearReady(config)
  const wallets = await readWallets(wallets_file, config.role === 'api' ? 'refused' : 'needed')
  const serving = await serve({
    config,
    database_url,
    nodes,
    wallets,
    log,
    recharge_at: config.recharge_at,
  })
  try {
    const { api_url, admin_url } = serving
    const ready = `${JSON.stringify({ api_url: api_url ?? null, ...(admin_url && { admin_url }) })}\n`
    if (config.ready_file !== undefined) await writeWhole(config.ready_file, ready)
    print(api_url ? `Penstock serves ${api_url}/v1` : 'Penstock works')
    stop.ready()
    await stop.asked
    await clearReady(config)
  } finally {
    await serving.close()
  }
}

const COMMANDS: Record<string, (config: Config) => Promise<void>> = { start, serve: serveOnly, demo }

async function main(args: string[]): Promise<void> {
  const [command = 'start', ...rest] = args[0]?.startsWith('-') ? ['start', ...args] : args
  const run = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined
  if (!run) throw new Misuse(`There is no command ${command}: it is ${Object.keys(COMMANDS).join(', ')}.`)
  const { help, ...config } = readConfig(rest, process.env)
  endOnBug(processLog())
  if (help) process.stdout.write(usage())
  else await run(config)
}

/** What ended the program, as a person reads it: a stack is for mistakes of ours alone. */
function sentenceOf(thrown: unknown): string {
  if (thrown instanceof Misuse) return thrown.message
  if (thrown instanceof Outage) {
    const cause = thrown.cause instanceof Error ? ` (${thrown.cause.message})` : ''
    return `It does not answer: ${thrown.message}${cause}. Starting again goes on where it was.`
  }
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}

main(process.argv.slice(2)).catch((thrown: unknown) => {
  process.stderr.write(`${sentenceOf(thrown)}\n`)
  process.exit(thrown instanceof Misuse ? 2 : 1)
})
