// The process of the service: `serve`. `npm start` and `npm run demo` are those of the playground.

import { type Config, Misuse, readConfig, usage } from './config.ts'
import { writeWhole } from './lib/files.ts'
import { isLoopback } from './lib/networks.ts'
import { requireSafeNode } from './program/node_version.ts'
import { askedToStop, clearReady, print, processLog, runProgram } from './program/program.ts'
import { serve } from './serve.ts'
import { readWallets } from './wallets/wallet_file.ts'

async function serveOnly(config: Config): Promise<void> {
  const stop = askedToStop()
  const { database_url, nodes, wallets_file } = config
  if (!database_url) throw new Misuse('serve needs a database: set DATABASE_URL.')
  if (!nodes)
    throw new Misuse('serve needs a chain: --node-url URL, or a file of nodes in PENSTOCK_NODES.')
  if (!wallets_file) throw new Misuse('serve needs the wallets it acts for: set PENSTOCK_WALLETS.')
  const mended_in = requireSafeNode(
    process.version,
    config.loosened.includes('PENSTOCK_ALLOW_OLD_NODE'),
  )
  const log = processLog()
  if (mended_in !== undefined) log('node_outdated', { version: process.version, mended_in })
  if (!isLoopback(config.host) && !config.tls_in_front && config.role !== 'worker')
    log('api_in_the_clear', {
      host: config.host,
      what: 'no TLS: see docs/operating.md, or PENSTOCK_TLS_IN_FRONT=yes',
    })
  await clearReady(config.ready_file)
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
    await clearReady(config.ready_file)
  } finally {
    await serving.close()
  }
}

runProgram({ commands: { serve: serveOnly }, readConfig, usage })
