// The only reader of the environment and of the command line. What is not given has a default that
// works on a bare machine; what is given and makes no sense is one sentence, before anything is
// started.

import { parseArgs } from 'node:util'
import { columns } from 'penstock-command-line/fitting.ts'
import { nearest } from 'penstock-command-line/words.ts'
import { type NodeConfig, nodesInTheClear, nodesOf } from './chain/node/configured.ts'
import { isDatabasePrivate } from './chain/node/plaintext.ts'
import type { ClickHouseServer } from './chain/transfers/clickhouse.ts'
import { Misuse } from './lib/fault.ts'
import { isLoopback } from './lib/networks.ts'
import type { SmtpServer } from './people/sign_up/mailer.ts'
import type { SessionLengths } from './people/users/faces.ts'
import { hostUrls } from './platform/database/hosts.ts'
import { readSealingKeys } from './platform/seal/seal.ts'
import { isWorker, PROCESS_ROLES, type ProcessRole } from './run/program/roles.ts'
import type { ProviderKeys } from './screening/providers/configured.ts'
import {
  LOOSENING,
  OPTIONS,
  readSettings,
  SETTING_FACTS,
  SETTINGS,
  type SettingName,
  type SettingValues,
} from './settings.ts'
import type { Explorer } from './web/explorer.ts'

export { Misuse }

export type Config = {
  host: string
  port: number
  data_dir: string
  /** Undefined: a private PostgreSQL under data_dir. */
  database_url: string | undefined
  /** By which customers' calls are answered; undefined: as all else. */
  api_database_url: string | undefined
  /** By which the console works; undefined: as all else. */
  console_database_url: string | undefined
  /** Straight to the servers, for what a pooler cannot do; undefined: database_url does. */
  direct_url: string | undefined
  /** A folder with PostgreSQL's programs, to use instead of those that come through npm. */
  pg_bin: string | undefined
  /** Undefined: the bundled devchain. */
  nodes: NodeConfig[] | undefined
  chain_port: number | undefined
  role: ProcessRole
  /** Whether it computes a screening index. */
  has_index: boolean
  /** The port that machines ask about this process. Undefined: none. */
  admin_port: number | undefined
  admin_host: string
  /** The port of the operators' console. Undefined: none; 0: any free one. */
  console_port: number | undefined
  /** Nobody has named it: when it is taken, any free one will do. */
  console_port_any: boolean
  console_host: string
  /** Where operators reach the console. Undefined: on this machine, as localhost. */
  console_url: string | undefined
  ready_file: string | undefined
  /** The file with the wallets that the service acts for; made by `start` on a devchain. */
  wallets_file: string | undefined
  /** 32 bytes, hexadecimal, or a list of id:hex during a rotation: seals the secrets of API keys.
   *  Undefined: kept in a file under data_dir. */
  secret_key: string | undefined
  /** Where the roots of the journal are noted. Undefined: in a file under data_dir. */
  roots_file: string | undefined
  /** Requests a second for each API key; 0: no limit. */
  requests_per_second: number | undefined
  /** Open connections, in all and of one address. Undefined: the server's own limits. */
  connections_max: number | undefined
  connections_per_address: number | undefined
  /** Requests a second that customers' calls may send to the nodes, in all; 0: no limit. */
  read_requests_per_second: number | undefined
  /** Nodes for customers' calls alone. Undefined: those of the service. */
  read_nodes: Config['nodes']
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. Undefined: none. */
  trusted_proxies: readonly string[] | undefined
  /** Name servers that are asked instead of those of the system. Undefined: none. */
  dns_servers: readonly string[] | undefined
  /** Where customers reach the API. Undefined: nobody has said. */
  public_url: string | undefined
  /** Whether strangers may make an account. */
  sign_up: boolean
  /** How letters go out, and where their links lead; undefined: none does. */
  letters: { smtp: SmtpServer; from: string; origin: string } | undefined
  /** Where one looks at transactions and addresses. Undefined: where the network is known for. */
  explorer: Explorer | undefined
  /** A line of the house's own on every invoice. */
  invoice_issuer: string | undefined
  /** When a direct recharge is acted on. */
  recharge_at: 'inclusion' | 'solid'
  /** What would be held for the operator is ignored when it is less than this; undefined: the
   *  default. */
  dust_sun: bigint | undefined
  /** Start although a hot key can do more than it needs, or cannot do what it is for. */
  allow_wide_keys: boolean
  /** The variables that are set and allow what is refused otherwise. */
  loosened: readonly string[]
  /** Whether TLS is known to end in front of the API, so that to listen for others is no
   *  mistake. */
  tls_in_front: boolean
  providers: ProviderKeys
  /** How many standbys must confirm commits; undefined: none is asked for. */
  standbys: number | undefined
  /** What the screening index may take of memory, in MB; undefined: all of it is there. */
  index_memory_mb: number | undefined
  /** Where transfers of older blocks can be moved; undefined: they stay in PostgreSQL. */
  clickhouse: ClickHouseServer | undefined
  /** For how long the evidence of checks is kept; undefined: five years. */
  retention_days: number | undefined
  /** For how long events are kept; undefined: 30 days. */
  event_days: number | undefined
  /** For how long sign-ins and sessions are kept, with network and browser; undefined: 30 days. */
  sign_in_days: number | undefined
  /** How long people stay signed in to each face. */
  portal_sessions: SessionLengths
  console_sessions: SessionLengths
  json: boolean
}

/** `serve` reads them and has no use for them: it brings neither chain nor database along. */
const PLAYGROUND_ONLY: ReadonlySet<string> = new Set(['chain-port', 'json', 'PG_BIN'])

/** Variables of other programs: the customers' clients, and the units of systemd. */
const OF_OTHERS = ['URL', 'TOKEN', 'SECRET', 'PROFILE', 'OPTIONS'].map((name) => `PENSTOCK_${name}`)

/** A sentence for each variable that nothing reads, mostly because it is misspelt: its setting
 *  would be left out in silence. */
export function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const known = [...Object.keys(SETTINGS), ...OF_OTHERS]
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith('PENSTOCK_') && !known.includes(name),
  )
  return unknown.sort().map((name) => `There is no ${name}${nearest(name, known)}.`)
}

/** Reads both. Throws Misuse, with every mistake. */
export function readConfig(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Config & { help: boolean } {
  const { config, mistakes } = inspectConfig(args, env)
  if (mistakes.length > 0) throw new Misuse(mistakes.join('\n'))
  return config
}

type GivenOptions = Partial<ReturnType<typeof readOptions>>

/** Returns what a reader of the configuration finds, or undefined after a mistake, which is
 *  noted. */
type Take = <T>(read: () => T) => T | undefined

/** Reads both, and goes on behind a mistake, as if the wrong value were not given: `mistakes` has
 *  a sentence for each. */
export function inspectConfig(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): { config: Config & { help: boolean }; mistakes: string[] } {
  const mistakes: string[] = []
  const take: Take = (read) => {
    try {
      return read()
    } catch (thrown) {
      if (!(thrown instanceof Misuse)) throw thrown
      mistakes.push(thrown.message)
      return undefined
    }
  }
  const read = take(() => {
    refuseSwallowed(args, env)
    return readOptions(args)
  })
  const given: GivenOptions = { ...read }
  for (const name of Object.keys(given) as (keyof GivenOptions)[])
    if (given[name] === '') {
      mistakes.push(`--${name} is given without a value.`)
      delete given[name]
    }
  const config = { ...configOf(given, env, take), json: given.json ?? false }
  return { config: { ...config, help: given.help ?? false }, mistakes }
}

function configOf(given: GivenOptions, env: NodeJS.ProcessEnv, take: Take): Omit<Config, 'json'> {
  const set = readSettings(env, take)
  const number = (name: 'port' | 'chain-port' | 'admin-port') =>
    take(() => (given[name] === undefined ? undefined : portOf(given[name], name)))
  const { nodes = [], read_nodes = [] } = take(() => readNodes(given, set)) ?? {}
  const urls = {
    database_url: set.DATABASE_URL,
    api_database_url: set.PENSTOCK_API_DATABASE_URL,
    console_database_url: set.PENSTOCK_CONSOLE_DATABASE_URL,
    direct_url: set.PENSTOCK_DIRECT_URL,
  }
  const loosened = loosenedBy(env, set, take, {
    nodes: [...nodes, ...read_nodes],
    database_urls:
      take(() => Object.values(urls).flatMap((url) => (url ? hostUrls(url) : []))) ?? [],
  })
  take(() => requireSealingKeys(set.PENSTOCK_SECRET_KEY))
  const parts = take(() => partsOf(given)) ?? { role: 'all', has_index: true }
  return {
    host: given.host ?? '127.0.0.1',
    port: number('port') ?? 8080,
    data_dir: given['data-dir'] ?? 'data',
    ...urls,
    pg_bin: set.PG_BIN,
    nodes: nodes.length > 0 ? nodes : undefined,
    chain_port: number('chain-port'),
    ...parts,
    admin_port: number('admin-port'),
    admin_host: given['admin-host'] ?? '127.0.0.1',
    ...(take(() => consoleOf(given, set.PENSTOCK_CONSOLE_URL)) ?? NO_CONSOLE),
    ready_file: given['ready-file'],
    wallets_file: set.PENSTOCK_WALLETS,
    secret_key: set.PENSTOCK_SECRET_KEY,
    roots_file: set.PENSTOCK_ROOTS_FILE,
    read_nodes: read_nodes.length > 0 ? read_nodes : undefined,
    sign_up: set.PENSTOCK_SIGN_UP === true,
    letters: take(() => lettersOf(set, parts.role)),
    explorer: set.PENSTOCK_EXPLORER,
    invoice_issuer: set.PENSTOCK_INVOICE_ISSUER,
    recharge_at: set.PENSTOCK_RECHARGE_AT ?? 'solid',
    dust_sun: set.PENSTOCK_DUST_TRX,
    allow_wide_keys: set.PENSTOCK_ALLOW_WIDE_KEYS === true,
    loosened,
    // A list that makes no sense is said once, and not that the proxies are missing.
    tls_in_front: set.PENSTOCK_TLS_IN_FRONT === true || Boolean(env.PENSTOCK_TRUSTED_PROXIES),
    providers: {
      amlbot: set.PENSTOCK_AMLBOT,
      misttrack: set.PENSTOCK_MISTTRACK,
      chainalysis: set.PENSTOCK_CHAINALYSIS,
      custom: set.PENSTOCK_PROVIDER_FILE,
    },
    standbys: set.PENSTOCK_STANDBYS,
    ...limitsOf(set),
    ...lengthsOf(set),
  }
}

/** Throws Misuse where letters are to go out, and something that this needs is missing. */
function lettersOf(set: SettingValues, role: ProcessRole): Config['letters'] {
  const { PENSTOCK_SMTP_URL: smtp, PENSTOCK_LETTERS_FROM: from } = set
  const { PENSTOCK_PUBLIC_URL: origin } = set
  if (smtp && from && origin) return { smtp, from, origin }
  if (!smtp && !from && !(set.PENSTOCK_SIGN_UP && isWorker(role))) return undefined
  const missing = [
    ...(smtp ? [] : ['PENSTOCK_SMTP_URL']),
    ...(from ? [] : ['PENSTOCK_LETTERS_FROM']),
    ...(origin ? [] : ['PENSTOCK_PUBLIC_URL']),
  ]
  throw new Misuse(`Nobody can send letters without ${missing.join(' and ')}.`)
}

const limitsOf = (set: SettingValues) => ({
  index_memory_mb: set.PENSTOCK_INDEX_MEMORY_MB,
  clickhouse: set.PENSTOCK_CLICKHOUSE_URL,
  requests_per_second: set.PENSTOCK_REQUESTS_PER_SECOND,
  connections_max: set.PENSTOCK_CONNECTIONS_MAX,
  connections_per_address: set.PENSTOCK_CONNECTIONS_PER_ADDRESS,
  read_requests_per_second: set.PENSTOCK_READ_REQUESTS_PER_SECOND,
  trusted_proxies: set.PENSTOCK_TRUSTED_PROXIES,
  dns_servers: set.PENSTOCK_DNS_SERVERS,
  public_url: set.PENSTOCK_PUBLIC_URL,
})

/** For how long what is kept, and how long sessions of a face last. */
const lengthsOf = (set: SettingValues) => ({
  retention_days: set.PENSTOCK_AML_RETENTION_DAYS,
  event_days: set.PENSTOCK_EVENT_DAYS,
  sign_in_days: set.PENSTOCK_SIGN_IN_DAYS,
  portal_sessions: {
    idle_minutes: set.PENSTOCK_PORTAL_IDLE_MINUTES,
    life_hours: set.PENSTOCK_PORTAL_LIFE_HOURS,
  },
  console_sessions: {
    idle_minutes: set.PENSTOCK_CONSOLE_IDLE_MINUTES,
    life_hours: set.PENSTOCK_CONSOLE_LIFE_HOURS,
  },
})

const NO_CONSOLE = {
  console_port: undefined,
  console_port_any: false,
  console_host: '127.0.0.1',
  console_url: undefined,
}
function requireSealingKeys(text: string | undefined): void {
  if (text && !readSealingKeys(text))
    throw new Misuse(
      'PENSTOCK_SECRET_KEY is not 64 hexadecimal characters, or a list of id:hex with commas.',
    )
}

/** The nodes that the service works with, and those that customers' reads go to. */
function readNodes(given: GivenOptions, set: SettingValues) {
  const nodes = nodesOf({
    node_urls: given['node-url'] ?? [],
    solid_urls: given['solid-node-url'] ?? [],
    file: set.PENSTOCK_NODES,
    key: set.PENSTOCK_NODE_API_KEY,
    keys: set.PENSTOCK_NODE_API_KEYS,
  })
  const read_nodes = nodesOf({
    node_urls: given['read-node-url'] ?? [],
    solid_urls: given['read-solid-node-url'] ?? [],
    prefix: 'read-',
    key: set.PENSTOCK_READ_NODE_API_KEY,
  })
  return { nodes, read_nodes }
}

/** npm takes options for itself that come without a double dash before them, and starts us
 *  without. */
function refuseSwallowed(args: readonly string[], env: NodeJS.ProcessEnv): void {
  const { npm_lifecycle_event: script } = env
  if (script === undefined || !['start', 'serve', 'demo'].includes(script)) return
  for (const [name, { value }] of Object.entries(OPTIONS)) {
    const swallowed = env[`npm_config_${name.replaceAll('-', '_')}`]
    if (value === '' || swallowed === undefined) continue
    const command = script === 'start' ? 'npm start' : `npm run ${script}`
    const shown =
      swallowed === 'true' ? (args.find((one) => !one.startsWith('-')) ?? value) : swallowed
    throw new Misuse(
      `npm has kept --${name} for itself. Give options after a double dash: ` +
        `${command} -- --${name} ${shown}`,
    )
  }
}

function readOptions(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      strict: true,
      allowPositionals: false,
      options: OPTIONS,
    })
    return values
  } catch (thrown) {
    // The first sentence of parseArgs names the option; the rest is advice about positional
    // arguments.
    const [sentence] = (thrown as Error).message.split(/\.\s/)
    throw new Misuse(`${sentence}. --help lists the options.`)
  }
}

function portOf(text: string, name: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new Misuse(`--${name} ${text} is not a port.`)
  return Number(text)
}

/** Refuses what others on the network could read or answer, unless that was allowed. Returns what
 *  is allowed and used. */
function loosenedBy(
  env: NodeJS.ProcessEnv,
  set: SettingValues,
  take: Take,
  used: { nodes: NodeConfig[]; database_urls: string[] },
): string[] {
  const { nodes, database_urls } = used
  const [host] = nodesInTheClear(nodes)
  const uses: Partial<Record<SettingName, string | undefined>> = {
    PENSTOCK_ALLOW_HTTP_NODES:
      host &&
      `Whoever is on the way to ${host} can invent what the chain says: give the node as https://.`,
    PENSTOCK_ALLOW_UNVERIFIED_DATABASE: database_urls.some((url) => !isDatabasePrivate(url, env))
      ? 'DATABASE_URL leads to another machine and does not check its certificate: ' +
        'add sslmode=verify-full.'
      : undefined,
  }
  for (const [name, sentence] of Object.entries(uses))
    take(() => {
      if (sentence && set[name as SettingName] !== true)
        throw new Misuse(`${sentence} ${name}=yes takes it as it is.`)
    })
  const used_ones = LOOSENING.filter((name) =>
    name in uses ? Boolean(uses[name]) : set[name] === true,
  )
  // A fork can take back what was delivered for.
  return set.PENSTOCK_RECHARGE_AT === 'inclusion'
    ? [...used_ones, 'PENSTOCK_RECHARGE_AT']
    : used_ones
}

function roleOf(text: string): ProcessRole {
  const role = PROCESS_ROLES.find((one) => one === text)
  const [some, last] = [PROCESS_ROLES.slice(0, -1), PROCESS_ROLES.at(-1)]
  if (role === undefined) throw new Misuse(`--role ${text}: it is ${some.join(', ')} or ${last}.`)
  return role
}

/** Only a worker can leave the index to others. */
function partsOf({ role: typed = 'all', index }: GivenOptions): {
  role: ProcessRole
  has_index: boolean
} {
  const role = roleOf(typed)
  if (index !== undefined && index !== 'own' && index !== 'none')
    throw new Misuse(`--index ${index}: it is own or none.`)
  if (index !== undefined && !isWorker(role))
    throw new Misuse(`--index goes with --role worker or all, and not with ${role}.`)
  return { role, has_index: role === 'index' || (isWorker(role) && index !== 'none') }
}

const CONSOLE_PORT = 8081

/** Where the console listens and is reached. Others on the network may reach it only through what
 *  ends TLS in front of it, which has a name. */
function consoleOf(given: GivenOptions, console_url: string | undefined) {
  const { 'console-port': port, 'console-host': console_host = '127.0.0.1' } = given
  const console_port = consolePortOf(port, given.port)
  if (console_url !== undefined && !isSafeOrigin(new URL(console_url)))
    throw new Misuse('PENSTOCK_CONSOLE_URL is https://, or http://localhost.')
  if (console_port !== undefined && !isLoopback(console_host) && console_url === undefined)
    throw new Misuse(
      `--console-host ${console_host}: others reach the console there. Set PENSTOCK_CONSOLE_URL ` +
        'to where TLS ends in front of it.',
    )
  return { console_port, console_port_any: port === undefined, console_host, console_url }
}

function consolePortOf(port: string | undefined, of_api: string | undefined): number | undefined {
  if (port === 'off') return undefined
  if (port !== undefined) return portOf(port, 'console-port')
  return of_api === '0' ? 0 : CONSOLE_PORT
}

/** Whether nobody on the way can read what is typed there. */
const isSafeOrigin = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || hostname === 'localhost'

/** The text of --help. */
export function usage(command: string): string {
  const has = (name: string) => command !== 'serve' || !PLAYGROUND_ONLY.has(name)
  const options = Object.entries(OPTIONS)
    .filter(([name]) => has(name))
    .map(([name, { value, help }]) => [`--${name} ${value}`.trim(), help] as const)
  const variables = SETTING_FACTS.filter(([name]) => has(name)).map(
    ([name, { help, otherwise }]) =>
      [name, otherwise === undefined ? help : `${help} (${otherwise})`] as const,
  )
  return [
    'Penstock: a marketplace for TRON resources',
    '',
    'npm start -- [options]     everything at once, on a development chain, for trying out',
    'npm run serve -- [options] the service alone, with a database, nodes and wallets of your own',
    'npm run demo -- [--json]   one purchase from deposit to reclaim, shown and ended',
    '',
    'Options',
    ...columns(options),
    '',
    'Environment',
    ...columns(variables),
    '',
  ].join('\n')
}
