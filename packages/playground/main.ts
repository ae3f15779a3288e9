#!/usr/bin/env node
// `npm start`: everything for trying out, until it is interrupted. `npm run demo`: one purchase,
// and the end.

import { hash } from 'node:crypto'
import { join } from 'node:path'
import { type Config, Misuse, readConfig, usage } from 'penstock-service/config.ts'
import { writeWhole } from 'penstock-service/lib/files.ts'
import {
  askedToStop,
  clearReady,
  print,
  processLog,
  runProgram,
} from 'penstock-service/run/program/program.ts'
import type { LocalService } from './start.ts'

/** A line for `sh` that buys 65,000 energy, signed over exactly the bytes it sends. */
function purchaseLine(
  api_url: string,
  customer: { token: string; secret: string },
  address: string,
): string {
  const body = JSON.stringify({
    service: 'energy',
    params: { address, amount: 65_000, duration: 1 },
  })
  const signature = hash('sha256', body + customer.secret)
  const headers = [
    `Authorization: Bearer ${customer.token}`,
    `X-Signature: ${signature}`,
    'Content-Type: application/json',
  ]
  return (
    `curl -s ${api_url}/v1/transaction/new ${headers.map((one) => `-H '${one}'`).join(' ')} ` +
    `-d '${body}'`
  )
}

function announce(local: LocalService): void {
  const { api_url, node_url, customer, sandbox, database_url, sign_in } = local
  const [receiver] = sandbox.funded_accounts
  const second = customer.second_signature_key
  print('')
  print(
    'Penstock is ready. Everything here is a sandbox: a chain of its own, ' +
      'money that is worth nothing.',
  )
  print('')
  print(`  API        ${api_url}/v1`)
  print(
    `  Chain      ${node_url}   (a TRON node's HTTP API; ` +
      'POST /devchain/mine, /advance, /fund, /state)',
  )
  print(`  Database   ${database_url.replace(/:[^:@/]*@/, ':…@')}`)
  print('')
  print(`  Portal     ${sign_in.portal}   (signs in, once)`)
  if (sign_in.console) print(`  Console    ${sign_in.console}   (likewise)`)
  print('')
  print(`  Token      ${customer.token}   (takes either signature: any client)`)
  print(`  Secret     ${customer.secret}`)
  print(`  Token 2    ${second.token}   (requires the second: SDK, command line)`)
  print(`  Secret 2   ${second.secret}`)
  print(`  Deposits   ${customer.deposit_address}`)
  print('')
  print('Buy 65,000 energy for an hour (it is delegated within a block, about 3 seconds):')
  print('')
  print(purchaseLine(api_url, customer, receiver!.address))
  print('')
  print('Ctrl-C stops it; starting again goes on where it was.')
}

async function start(config: Config): Promise<void> {
  const stop = askedToStop()
  if (config.role !== 'all' || !config.has_index)
    throw new Misuse('start runs everything; roles are for serve.')
  // The customers' command line finds a sandbox by its data folder.
  const ready_files = [join(config.data_dir, 'ready.json'), config.ready_file].filter(
    (file) => file !== undefined,
  )
  // A mistake in how it is started is said before the service is loaded.
  const { readyText, startLocal } = await import('./start.ts')
  const progress = config.json ? () => {} : print
  const log = processLog()
  const local = await startLocal({
    config,
    // A person who looks on is told by `progress`.
    log: (event, fields) => event !== 'pages_ready' && log(event, fields),
    progress,
    // Not before: another one may run on this folder, and is found by its file.
    begun: async () => {
      for (const file of ready_files) await clearReady(file)
    },
  })
  try {
    stop.ready()
    for (const file of ready_files) await writeWhole(file, readyText(local))
    if (config.json) print(readyText(local).trimEnd())
    else announce(local)
    await Promise.race([stop.asked, local.broken])
    if (!config.json) print('Stopping.')
    for (const file of ready_files) await clearReady(file)
  } finally {
    await local.close()
  }
}

async function demo(config: Config): Promise<void> {
  await (await import('./demo.ts')).demo(config)
}

runProgram({ commands: { start, demo }, readConfig, usage })
