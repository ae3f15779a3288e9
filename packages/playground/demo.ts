// The main job, once, in the open: a customer pays in on the chain, asks the price, buys 65,000
// energy for an address that has none, and an hour later the energy is gone again. Everything runs
// for real, on free ports and in temporary places, and ends.

import { hash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from 'penstock-service/config.ts'
import { checkBooks } from 'penstock-service/ledger/accounts/books.ts'
import { customerAccount, type Entry, entries } from 'penstock-service/ledger/accounts/ledger.ts'
import { wireTime } from 'penstock-service/lib/clock.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { addressOf, newPrivateKey } from 'penstock-tron/keys.ts'
import { type LocalService, startLocal } from './start.ts'

const ENERGY = 65_000
const WAIT_MS_MAX = 60_000

type Transaction = {
  id: string
  status: string
  amount: number
  hash?: string
  delegations?: { hash: string; expires_at: string; reclaim_hash?: string; reclaimed_at?: string }[]
}

export async function demo(config: Config): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'penstock-demo-'))
  // However it ends: a signal in the middle of it leaves nothing behind either.
  process.once('exit', () => rmSync(data_dir, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
  const say = config.json ? () => {} : (line = '') => process.stdout.write(`${line}\n`)
  const local = await startLocal({
    config: { ...config, data_dir, port: 0, chain_port: 0, role: 'all' },
    log: silentLog,
    throw_away: true,
    progress: say,
  })
  try {
    const told = await tell(local, say)
    if (config.json) process.stdout.write(`${JSON.stringify(told)}\n`)
    if (!told.books_balanced) throw new Error('the books do not balance')
  } finally {
    await local.close()
  }
  say('Stopped, and everything of it is deleted.')
}

async function tell(local: LocalService, say: (line?: string) => void) {
  const { control, customer, node, sql } = local
  const balance = await call<{ balance: number; address: string }>(local, '/v1/balance', {})
  say(
    `A customer has paid ${balance.balance} TRX to ${balance.address}; ` +
      'it is credited, the block being solid.',
  )

  const receiver = addressOf(newPrivateKey())
  await control('fund', { address: receiver, sun: 1_000_000 })
  await control('mine', { blocks: 1 })
  const energy_before = Number((await node.resource(receiver, 'energy')).limit)
  say()
  say(`Receiver ${receiver}, fresh and active. Energy limit on the chain: ${energy_before}`)

  const asked = { address: receiver, amount: ENERGY, duration: 1 }
  const { total } = await call<{ total: number }>(local, '/v1/calculate', asked)
  say(`Price of ${ENERGY.toLocaleString('en')} energy for an hour: ${total} TRX`)
  say()

  const accepted_ms = performance.now()
  const placed = await call<Transaction>(local, '/v1/transaction/new', {
    service: 'energy',
    params: asked,
  })
  const after = (since_ms: number) => `${Math.round(performance.now() - since_ms)} ms`.padStart(8)
  say(`${after(accepted_ms)}  order ${placed.id} is ${placed.status}`)
  const order = await watch(local, placed, (status) =>
    say(`${after(accepted_ms)}  order is ${status}`),
  )
  const accepted_to_delivered_ms = Math.round(performance.now() - accepted_ms)
  if (order.status !== 'success' || order.hash === undefined)
    throw new Error(`the order ended as ${order.status}`)
  const energy_after = Number((await node.resource(receiver, 'energy')).limit)
  say()
  say(`Delegated by transaction ${order.hash}`)
  say(`Energy limit on the chain: ${energy_after} (${energy_after - energy_before} more)`)
  say()
  say('The ledger, in sun:')
  const ledger = await entries(sql, customerAccount(customer.customer_id))
  for (const entry of ledger) say(printEntry(entry))

  say()
  say('An hour passes on the chain.')
  await control('advance', { seconds: 3_600 })
  // The delegation is taken back when it is solid, which is 18 blocks later.
  await control('mine', { blocks: 20 })
  const reclaim_hash = await reclaimed(local, order)
  const energy_at_end = Number((await node.resource(receiver, 'energy')).limit)
  say(`Taken back by transaction ${reclaim_hash}`)
  say(`Energy limit on the chain: ${energy_at_end}`)
  const books_balanced = await tellBooks(sql, say)
  return {
    order,
    energy_before,
    energy_after,
    hash: order.hash,
    accepted_to_delivered_ms,
    reclaim_hash,
    energy_at_end,
    ledger: ledger.map((entry) => ({
      ...entry,
      amount_sun: Number(entry.amount_sun),
      made_at: wireTime(entry.made_at),
    })),
    books_balanced,
  }
}

async function tellBooks(sql: LocalService['sql'], say: (line?: string) => void): Promise<boolean> {
  const findings = await checkBooks(sql)
  for (const { rule, subject, found } of findings) say(`The books: ${rule}: ${subject}: ${found}`)
  if (findings.length === 0) say('The books balance.')
  return findings.length === 0
}

/** One signed call, as any client makes it. */
async function call<Result>(
  { api_url, customer }: LocalService,
  path: string,
  params: object,
): Promise<Result> {
  const body = JSON.stringify(params)
  const response = await fetch(api_url + path, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${customer.token}`,
      'x-signature': hash('sha256', body + customer.secret),
      'content-type': 'application/json',
    },
  })
  const answer = (await response.json()) as { code: number; error?: string; result?: Result }
  if (answer.code !== 0 || answer.result === undefined)
    throw new Error(`${path}: ${answer.code} ${answer.error}`)
  return answer.result
}

/** Asks after the order until it ends, and reports each change. */
async function watch(
  local: LocalService,
  placed: Transaction,
  changed: (status: string) => void,
): Promise<Transaction> {
  let seen = placed.status
  for (const began_ms = performance.now(); performance.now() - began_ms < WAIT_MS_MAX; ) {
    const order = await call<Transaction>(local, '/v1/transaction/check', { id: placed.id })
    if (order.status !== seen) changed(order.status)
    seen = order.status
    if (seen === 'success' || seen === 'failed') return order
    await delay(20)
  }
  throw new Error(`the order is still ${seen} after ${WAIT_MS_MAX / 1_000} seconds`)
}

async function reclaimed(local: LocalService, { id }: Transaction): Promise<string> {
  for (const began_ms = performance.now(); performance.now() - began_ms < WAIT_MS_MAX; ) {
    const { delegations = [] } = await call<Transaction>(local, '/v1/transaction/check', { id })
    const [ended] = delegations.filter((one) => one.reclaimed_at !== undefined)
    if (ended?.reclaim_hash !== undefined) return ended.reclaim_hash
    await delay(50)
  }
  throw new Error(`the delegation was not taken back in ${WAIT_MS_MAX / 1_000} seconds`)
}

function printEntry({ kind, debit, credit, amount_sun, made_at }: Entry): string {
  const [from, to] = [debit, credit].map((account) => account.replace(/:.*/, ''))
  return (
    `  ${wireTime(made_at)}  ${kind.padEnd(8)} ${String(amount_sun).padStart(14)}  ${from} ` +
    `-> ${to}`
  )
}
