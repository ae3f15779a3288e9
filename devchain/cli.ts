// `penstock-devchain`: a development chain in a terminal. Prints the accounts it has funded, then a line for each block.

import { parseArgs } from 'node:util'
import { bytesToHex } from '@noble/hashes/utils.js'
import { HDKey } from '@scure/bip32'
import { mnemonicToSeedSync, validateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { addressOf, type PrivateKey } from '../src/tron/keys.ts'
import { USDT } from './devchain.ts'
import { startDevchain } from './serve.ts'
import { startTraffic } from './traffic.ts'

const USAGE = `penstock-devchain: a TRON development chain that speaks the node's HTTP API

  --port <n>          port to listen on (default 8090; 0 for a free one)
  --host <address>    address to listen on (default 127.0.0.1)
  --block-time <s>    seconds between blocks (default 3; 0: only on demand, by POST /devchain/mine)
  --accounts <n>      how many accounts to fund with 1,000,000 TRX each (default 10)
  --mnemonic <words>  where their keys come from, m/44'/195'/0'/0/i
  --seed <text>       what everything else derives from (default: penstock)
  --data-dir <path>   where to keep the chain across restarts (default: in memory)
  --traffic <n>       transfers between the accounts in each block (default 0)
`

/** Known to everybody: never send real money to its accounts. */
const PUBLIC_MNEMONIC = 'test test test test test test test test test test test junk'
const FUNDING_SUN = 1_000_000_000_000n

function keysOf(mnemonic: string, count: number): PrivateKey[] {
  const root = HDKey.fromMasterSeed(mnemonicToSeedSync(mnemonic))
  return Array.from({ length: count }, (_, index) => bytesToHex(root.derive(`m/44'/195'/0'/0/${index}`).privateKey!))
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8090' },
      host: { type: 'string', default: '127.0.0.1' },
      'block-time': { type: 'string', default: '3' },
      accounts: { type: 'string', default: '10' },
      mnemonic: { type: 'string', default: PUBLIC_MNEMONIC },
      seed: { type: 'string', default: 'penstock' },
      'data-dir': { type: 'string' },
      traffic: { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  })
  const number = (name: 'port' | 'block-time' | 'accounts' | 'traffic') => {
    const value = Number(values[name])
    if (!Number.isFinite(value) || value < 0) throw new TypeError(`--${name} must be a number of 0 or more`)
    return value
  }
  if (!validateMnemonic(values.mnemonic, wordlist)) throw new TypeError('--mnemonic is not a BIP-39 phrase')
  return {
    help: values.help,
    host: values.host,
    seed: values.seed,
    mnemonic: values.mnemonic,
    data_dir: values['data-dir'],
    port: number('port'),
    block_time_seconds: number('block-time'),
    accounts: number('accounts'),
    traffic: number('traffic'),
  }
}

async function main(): Promise<void> {
  const options = readOptions()
  if (options.help) return void process.stdout.write(USAGE)
  const keys = keysOf(options.mnemonic, options.accounts)
  const served = await startDevchain({
    port: options.port,
    host: options.host,
    block_time_seconds: options.block_time_seconds,
    seed: options.seed,
    genesis_balances: keys.map((key) => ({ address: addressOf(key), sun: FUNDING_SUN })),
    ...(options.data_dir === undefined ? {} : { data_dir: options.data_dir }),
    onBlock({ number, id, time_ms, transactions }) {
      process.stdout.write(`block ${number} ${new Date(time_ms).toISOString()} ${id.slice(0, 24)}… ${transactions}\n`)
      traffic?.next()
    },
  })
  const traffic = options.traffic > 0 ? startTraffic(served.chain, keys, options.traffic) : undefined
  process.stdout.write(`listening on ${served.url}\nUSDT ${USDT}, owner key ${served.chain.usdt_owner_key}\n`)
  for (const key of keys) process.stdout.write(`${addressOf(key)} ${key}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void served.close())
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
