#!/usr/bin/env node
// The program: `serve` is the process of the service, everything else a command of the operators,
// which runs in a process of its own. `npm start` and `npm run demo` are those of the playground.

import { userInfo } from 'node:os'
import { text as readText } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { httpTransport } from './chain/node/node.ts'
import { readWallets } from './chain/wallets/wallet_file.ts'
import { type Config, inspectConfig, Misuse, unknownVariables, usage } from './config.ts'
import { systemClock } from './lib/clock.ts'
import { writeWhole } from './lib/files.ts'
import { systemRandom } from './lib/ids.ts'
import { isLoopback } from './lib/networks.ts'
import { runCommand } from './operators/command_line/run.ts'
import { useOwnNames } from './platform/names/names.ts'
import { requireSafeNode } from './run/program/node_version.ts'
import { askedToStop, clearReady, print, processLog, runProgram } from './run/program/program.ts'
import { hasApi, isWorker } from './run/program/roles.ts'

/** Names that nothing reads are mistakes, too. Throws Misuse, with every mistake. */
function readAll(args: readonly string[], env: NodeJS.ProcessEnv): Config & { help: boolean } {
  const { config, mistakes } = inspectConfig(args, env)
  const all = config.help ? mistakes : [...mistakes, ...unknownVariables(env)]
  if (all.length > 0) throw new Misuse(all.join('\n'))
  return config
}

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
  if (!isLoopback(config.host) && !config.tls_in_front && hasApi(config.role))
    log('api_in_the_clear', {
      host: config.host,
      what: 'no TLS: see docs/operators/tls.md, or PENSTOCK_TLS_IN_FRONT=yes',
    })
  useOwnNames(config.dns_servers)
  await clearReady(config.ready_file)
  const wallets = await readWallets(wallets_file, isWorker(config.role) ? 'needed' : 'refused')
  // A command loads nothing of the server.
  const { serve } = await import('./serve.ts')
  const serving = await serve({
    config,
    database_url,
    nodes,
    wallets,
    log,
    recharge_at: config.recharge_at,
  })
  try {
    const { api_url, admin_url, console_url } = serving
    const urls = {
      api_url: api_url ?? null,
      ...(admin_url && { admin_url }),
      ...(console_url && { console_url }),
    }
    // Whoever reads the file may stop it at once.
    stop.ready()
    if (config.ready_file !== undefined)
      await writeWhole(config.ready_file, `${JSON.stringify(urls)}\n`)
    print(api_url ? `Penstock serves ${api_url}/v1` : 'Penstock works')
    if (console_url) print(`Operators sign in at ${console_url}`)
    await stop.asked
    await clearReady(config.ready_file)
  } finally {
    await serving.close()
  }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a number that has no name.
    return `user ${process.getuid?.() ?? ''}`.trim()
  }
}

/** Runs a command of the operators with what this process has. */
function runTyped(args: readonly string[]): Promise<number> {
  // A reader that has seen enough, like `head`, is no failure.
  process.stdout.on('error', () => process.exit(0))
  return runCommand(args, {
    env: process.env,
    inspectConfig: (args, env) => ({
      ...inspectConfig(args, env),
      unknown: unknownVariables(env),
    }),
    user: userName(),
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    clock: systemClock,
    random: systemRandom,
    transport: httpTransport,
    wait: (ms) => delay(ms),
    input: () => readText(process.stdin),
    ...(process.stderr.isTTY && { progress: (line) => process.stderr.write(`\r\x1b[K${line}`) }),
  })
}

const [word] = process.argv.slice(2)
if (word === 'serve') runProgram({ commands: { serve: serveOnly }, readConfig: readAll, usage })
else process.exitCode = await runTyped(process.argv.slice(2))
