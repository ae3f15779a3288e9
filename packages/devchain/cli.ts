// `penstock-devchain`: a development chain in a terminal. Prints the accounts it has funded, then a
// line for each block.

import { pbkdf2Sync } from 'node:crypto'
import { parseArgs } from 'node:util'
import { bytesToHex } from '@noble/hashes/utils.js'
import { HDKey } from '@scure/bip32'
import { validateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey } from 'penstock-tron/keys.ts'
import { USDT } from './devchain.ts'
import { type ServeOptions, startDevchain } from './serve.ts'
import { accountOf } from './state/accounts.ts'
import { type InternalSetting, internalSettings, isInternalSetting } from './state/internal.ts'
import { mainnetWeights } from './state/parameters.ts'
import { Traffic } from './traffic.ts'

const USAGE = `penstock-devchain: a TRON development chain that speaks the node's HTTP API

  --port <n>               port to listen on (default 8090; 0 for a free one)
  --host <address>         address to listen on (default 127.0.0.1)
  --allow-control          the controls (/devchain, /admin, /tre) also where others reach them
  --control-origin <o>     let pages of an origin use the controls; may be given several times
  --block-time <s>         seconds between blocks (default 3; 0: on demand, by POST /devchain/mine)
  --wall-clock             blocks have the present time instead of slots of 3 s: with --instant or
                           short intervals the chain does not run ahead of clocks
  --instant                a block for every transaction, at once (with --block-time 0: no others)
  --accounts <n>           how many accounts to fund with 1,000,000 TRX each (default 10)
  --mnemonic <words>       where their keys come from, m/44'/195'/0'/0/i
  --seed <text>            what everything else derives from (default: penstock)
  --genesis-time <time>    when the chain begins, as a date or in milliseconds; with the same seed,
                           the same calls then give the same chain, byte for byte (default: now;
                           with blocks on demand only: midnight UTC)
  --data-dir <path>        where to keep the chain across restarts (default: in memory)
  --solid-lag <blocks>     how far the solid block is behind the head (default 18)
  --energy-weight <trx>    TRX that the rest of the network has staked for energy (default: the
                           main network's)
  --net-weight <trx>       the same for bandwidth; 0 for both gives all resources to your stakes
  --unfreeze-delay <s>     seconds until unfrozen TRX can be withdrawn (default: 14 days)
  --genesis-parent <hash>  the parent that the first block names, 64 hexadecimal characters
  --internal <which>       internal transactions in receipts: off, calls, or all (default: all)
  --traffic <n>            transfers in each block, among made-up people and labelled services
                           (default 0)
  --help                   this text
`

/** Known to everybody: never send real money to its accounts. */
const PUBLIC_MNEMONIC = 'test test test test test test test test test test test junk'
const FUNDING_SUN = 1_000_000_000_000n
/** Times are not negative: there must be room for the blocks that the chain begins with. */
const LAG_OF_GENESIS_MS = 86_400_000

/** The seed of a BIP-39 phrase. Node's own PBKDF2: the start of the command is waited for. */
const seedOf = (mnemonic: string) =>
  pbkdf2Sync(mnemonic.normalize('NFKD'), 'mnemonic', 2048, 64, 'sha512')

function keysOf(mnemonic: string, count: number): PrivateKey[] {
  const account = HDKey.fromMasterSeed(seedOf(mnemonic)).derive("m/44'/195'/0'/0")
  return Array.from({ length: count }, (_, index) =>
    bytesToHex(account.deriveChild(index).privateKey!),
  )
}

const options = {
  port: { type: 'string', default: '8090' },
  host: { type: 'string', default: '127.0.0.1' },
  'allow-control': { type: 'boolean', default: false },
  'control-origin': { type: 'string', multiple: true },
  'block-time': { type: 'string', default: '3' },
  'wall-clock': { type: 'boolean', default: false },
  instant: { type: 'boolean', default: false },
  accounts: { type: 'string', default: '10' },
  mnemonic: { type: 'string', default: PUBLIC_MNEMONIC },
  seed: { type: 'string', default: 'penstock' },
  'genesis-time': { type: 'string' },
  'data-dir': { type: 'string' },
  'solid-lag': { type: 'string', default: '18' },
  'energy-weight': { type: 'string', default: String(mainnetWeights.energy_weight_trx) },
  'net-weight': { type: 'string', default: String(mainnetWeights.net_weight_trx) },
  'unfreeze-delay': { type: 'string' },
  'genesis-parent': { type: 'string' },
  internal: { type: 'string', default: 'all' },
  traffic: { type: 'string', default: '0' },
  help: { type: 'boolean', default: false },
} as const

/** The most that an option may be, where more would only hang. */
const most: Readonly<Record<string, number>> = {
  port: 65_535,
  'block-time': 86_400,
  accounts: 100_000,
  'solid-lag': 100_000,
  'unfreeze-delay': 3_155_760_000,
  traffic: 5_000,
}

function numberOf(name: string, text: string, whole: boolean): number {
  const value = Number(text)
  const bound = most[name] ?? Number.MAX_SAFE_INTEGER
  const fits =
    text.trim() !== '' && value >= 0 && value <= bound && (!whole || Number.isInteger(value))
  if (!fits) {
    const upper = most[name] === undefined ? '' : ` and at most ${bound}`
    throw new TypeError(`--${name} must be a ${whole ? 'whole ' : ''}number of 0 or more${upper}`)
  }
  return value
}

/** When the chain begins. Where only calls move it, all runs of a day begin alike, and are the same
 *  for the same calls. */
function genesisOf(text: string | undefined, on_demand: boolean): number {
  if (text === undefined) return on_demand ? new Date().setUTCHours(0, 0, 0, 0) : Date.now()
  const time_ms = /^\d+$/.test(text) ? Number(text) : Date.parse(text)
  if (!Number.isSafeInteger(time_ms) || time_ms < LAG_OF_GENESIS_MS) {
    throw new TypeError('--genesis-time must be a date, or milliseconds since 1970')
  }
  return time_ms
}

function originOf(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null'
  if (origin === 'null') throw new TypeError('--control-origin must be like http://localhost:5173')
  return origin
}

function internalOf(text: string): InternalSetting {
  if (isInternalSetting(text)) return text
  throw new TypeError(`--internal must be one of ${internalSettings.join(', ')}`)
}

type Settings = { serve: ServeOptions; keys: PrivateKey[]; seed: string; traffic: number }

/** Reads the command line; undefined when only help is wanted. Throws a TypeError in one
 *  sentence. */
function readSettings(): Settings | undefined {
  const { values } = parseArgs({ options })
  if (values.help) return undefined
  const count = (
    name: 'port' | 'accounts' | 'solid-lag' | 'energy-weight' | 'net-weight' | 'traffic',
  ) => numberOf(name, values[name], true)
  if (!validateMnemonic(values.mnemonic, wordlist))
    throw new TypeError('--mnemonic is not a BIP-39 phrase')
  const parent = values['genesis-parent']
  if (parent !== undefined && !/^[0-9a-f]{64}$/.test(parent)) {
    throw new TypeError('--genesis-parent must be 64 hexadecimal characters')
  }
  const keys = keysOf(values.mnemonic, count('accounts'))
  const wall_clock = values['wall-clock']
  const block_time_seconds = numberOf('block-time', values['block-time'], false)
  const serve: ServeOptions = {
    port: count('port'),
    host: values.host,
    allow_control: values['allow-control'],
    control_origins: (values['control-origin'] ?? []).map(originOf),
    seed: values.seed,
    instant: values.instant,
    wall_clock,
    internal: internalOf(values.internal),
    block_time_seconds,
    genesis_time_ms: genesisOf(
      values['genesis-time'],
      block_time_seconds === 0 && !values.instant && !wall_clock,
    ),
    solid_lag_blocks: count('solid-lag'),
    rest_of_network: {
      energy_weight_trx: BigInt(count('energy-weight')),
      net_weight_trx: BigInt(count('net-weight')),
    },
    genesis_balances: keys.map((key) => ({ address: addressOf(key), sun: FUNDING_SUN })),
    ...(values['data-dir'] === undefined ? {} : { data_dir: values['data-dir'] }),
    ...(parent === undefined ? {} : { genesis_parent_hash: parent }),
    ...(values['unfreeze-delay'] === undefined
      ? {}
      : { unfreeze_delay_seconds: numberOf('unfreeze-delay', values['unfreeze-delay'], true) }),
  }
  if (values.instant && count('traffic') > 0)
    throw new TypeError('--traffic does not go with --instant')
  return { serve, keys, seed: values.seed, traffic: count('traffic') }
}

const say = (line: string) => process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const settings = readSettings()
  if (!settings) return void say(USAGE.trimEnd())
  let traffic: Traffic | undefined
  const served = await startDevchain({
    ...settings.serve,
    onBlock({ number, id, time_ms, transactions }) {
      say(`block ${number} ${new Date(time_ms).toISOString()} ${id.slice(0, 24)}… ${transactions}`)
      traffic?.next(settings.traffic)
    },
  })
  const exists = (key: PrivateKey) =>
    accountOf(served.chain.chain.headView(), addressToHex(addressOf(key))) !== undefined
  const keys = settings.keys.filter(exists)
  served.chain.known_keys.given.push(...keys)
  if (settings.traffic > 0) traffic = new Traffic(served.chain, settings.seed)
  say(`listening on ${served.url}`)
  say(`USDT ${USDT}, owner key ${served.chain.usdt_owner_key}`)
  for (const key of keys) say(`${addressOf(key)} ${key}`)
  if (keys.length < settings.keys.length) {
    say(
      `${settings.keys.length - keys.length} accounts of these options are not on the ` +
        'chain in the data folder',
    )
  }
  for (const { address, name, category } of traffic?.labels ?? [])
    say(`${address} ${category}: ${name}`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void served.close())
}

main().catch((error: unknown) => {
  const [sentence] = (error instanceof Error ? error.message : String(error)).split('\n')
  process.stderr.write(`${sentence}\n`)
  process.exitCode = 1
})
