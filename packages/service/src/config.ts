// The only reader of the environment and of the command line. What is not given has a default that
// works on a bare machine; what is given and makes no sense is one sentence, before anything is
// started.

import { parseArgs } from 'node:util'
import { columns } from 'penstock-command-line/fitting.ts'
import { nearest } from 'penstock-command-line/words.ts'
import { type NodeConfig, nodesInTheClear, nodesOf } from './chain/node/configured.ts'
import { isDatabasePrivate } from './chain/node/plaintext.ts'
import { Misuse } from './lib/fault.ts'
import { sunOf } from './lib/json.ts'
import { isLoopback, isNetwork } from './lib/networks.ts'
import { CONSOLE_LENGTHS, PORTAL_LENGTHS, type SessionLengths } from './people/users/faces.ts'
import { hostUrls } from './platform/database/hosts.ts'
import { readNameServers } from './platform/names/names.ts'
import { readSealingKeys } from './platform/seal/seal.ts'
import { PROCESS_ROLES, type ProcessRole } from './run/program/roles.ts'
import type { ProviderKeys } from './screening/providers/configured.ts'
import { readCustomProvider } from './screening/providers/custom_file.ts'
import { type Explorer, readExplorer } from './web/explorer.ts'

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

export const OPTIONS = {
  port: { type: 'string', value: 'PORT', help: 'port of the API (8080; 0: any free one)' },
  host: { type: 'string', value: 'HOST', help: 'address to listen on (127.0.0.1)' },
  'data-dir': { type: 'string', value: 'DIR', help: 'where everything is kept (./data)' },
  'node-url': {
    type: 'string',
    value: 'URL',
    help: 'a TRON node (npm start: instead of the devchain); may be repeated',
  },
  'solid-node-url': {
    type: 'string',
    value: 'URL',
    help: 'its solidity side, where that has an address of its own',
  },
  'read-node-url': {
    type: 'string',
    value: 'URL',
    help: "a node for customers' reads alone; may be repeated",
  },
  'read-solid-node-url': {
    type: 'string',
    value: 'URL',
    help: 'its solidity side, where that has its own address',
  },
  'chain-port': {
    type: 'string',
    value: 'PORT',
    help: 'port of the devchain (8090, or any free one)',
  },
  role: {
    type: 'string',
    value: 'ROLE',
    help: `what this process does: ${PROCESS_ROLES.join(', ')} (all)`,
  },
  'admin-port': {
    type: 'string',
    value: 'PORT',
    help: 'also answer /livez, /readyz, /startupz and /metrics there',
  },
  'admin-host': {
    type: 'string',
    value: 'HOST',
    help: 'address of the admin port (127.0.0.1): it has no password',
  },
  'console-port': {
    type: 'string',
    value: 'PORT',
    help: "port of the operators' console (8081; any free one with --port 0; off: none)",
  },
  'console-host': {
    type: 'string',
    value: 'HOST',
    help: 'address of the console (127.0.0.1); another one needs PENSTOCK_CONSOLE_URL',
  },
  'ready-file': {
    type: 'string',
    value: 'FILE',
    help: 'write addresses and credentials to FILE, as JSON, when ready',
  },
  json: { type: 'boolean', value: '', help: 'print JSON instead of text' },
  help: { type: 'boolean', value: '', help: 'print this' },
} as const

export const ENVIRONMENT = {
  DATABASE_URL: 'PostgreSQL 15 or later; several hosts with commas (npm start: not a private one)',
  PENSTOCK_API_DATABASE_URL: "the same with a role for customers' calls alone (--role all)",
  PENSTOCK_CONSOLE_DATABASE_URL: "the same with a role for operators' console (--role all)",
  PENSTOCK_DIRECT_URL: 'the same past a pooler, for what listens and looks out',
  PENSTOCK_STANDBYS: 'how many standbys must confirm commits, or the start is refused (0)',
  PG_BIN: "folder of PostgreSQL's programs to use instead of those from npm",
  PENSTOCK_NODE_API_KEY: 'sent as TRON-PRO-API-KEY to the first node and others on its host',
  PENSTOCK_NODE_API_KEYS: 'instead: one for each --node-url, in their order, with commas',
  PENSTOCK_NODES: 'file with the nodes (JSON: url, solid_url, api_key) instead of --node-url',
  PENSTOCK_ALLOW_HTTP_NODES: 'yes: nodes on other machines may be http://',
  PENSTOCK_ALLOW_UNVERIFIED_DATABASE:
    'yes: a database on another machine need not show a certificate that is checked',
  PENSTOCK_TLS_IN_FRONT:
    'yes: TLS ends in front of the API, and --host may be reached by that alone',
  PENSTOCK_PUBLIC_URL: 'where customers reach the API, like https://api.example.com',
  PENSTOCK_EXPLORER: 'templates of links, with {tx_id} and {address}, if not those of Tronscan',
  PENSTOCK_CONSOLE_URL: 'where operators reach the console, like https://console.example.com',
  PENSTOCK_INVOICE_ISSUER: "a line of the house's own on every invoice",
  PENSTOCK_WALLETS: 'file with the wallets that the service acts for',
  PENSTOCK_SECRET_KEY: '64 hexadecimal characters: seals the secrets of API keys',
  PENSTOCK_ROOTS_FILE: "where the journal's daily roots are noted (<data-dir>/roots.log)",
  PENSTOCK_ALLOW_WIDE_KEYS: 'yes: start although a hot key can do more than it needs',
  PENSTOCK_ALLOW_WIDE_ROLE: "yes: --role api, worker or console may work as the database's owner",
  PENSTOCK_ALLOW_OLD_NODE: 'yes: serve on a version of Node that has known holes',
  PENSTOCK_RECHARGE_AT: 'serve: act on a direct recharge at inclusion, or when solid (solid)',
  PENSTOCK_DUST_TRX: 'what nobody can be credited with is ignored below this, and held above (0.1)',
  PENSTOCK_REQUESTS_PER_SECOND: 'limit for each API key (300; 0: none)',
  PENSTOCK_CONNECTIONS_MAX: 'open connections to the API at most (4000)',
  PENSTOCK_CONNECTIONS_PER_ADDRESS: 'of one IPv4 address or IPv6 /64 at most (512)',
  PENSTOCK_READ_REQUESTS_PER_SECOND:
    "limit of what customers' reads ask of the nodes, in all (3000; 0: none)",
  PENSTOCK_READ_NODE_API_KEY: 'sent to the first node of --read-node-url and others on its host',
  PENSTOCK_TRUSTED_PROXIES:
    'addresses or networks (a.b.c.d/n) of proxies whose X-Forwarded-For is believed, with commas',
  PENSTOCK_DNS_SERVERS:
    "name servers to ask instead of the system's (a.b.c.d or a.b.c.d:port, with commas)",
  PENSTOCK_AMLBOT: 'ACCESS_ID:ACCESS_KEY for AMLBot, if a screening policy names it',
  PENSTOCK_MISTTRACK: 'API key for MistTrack, likewise',
  PENSTOCK_CHAINALYSIS: "API key for Chainalysis' sanctions service, likewise",
  PENSTOCK_PROVIDER_FILE: 'a file that describes a screening service of your own, likewise',
  PENSTOCK_AML_RETENTION_DAYS: 'for how long the evidence of checks is kept (1830)',
  PENSTOCK_EVENT_DAYS: 'for how long events are kept (30)',
  PENSTOCK_SIGN_IN_DAYS: 'for how long sign-ins and sessions are kept (30)',
  PENSTOCK_PORTAL_IDLE_MINUTES: 'sessions of the portal end when unused for so long (720 at most)',
  PENSTOCK_PORTAL_LIFE_HOURS: 'and after so long in any case (168 at most)',
  PENSTOCK_CONSOLE_IDLE_MINUTES: 'sessions of the console end when unused for so long (30 at most)',
  PENSTOCK_CONSOLE_LIFE_HOURS: 'and after so long in any case (12 at most)',
} as const

/** What `serve` reads and has no use for: it brings neither chain nor database along. */
const PLAYGROUND_ONLY: ReadonlySet<string> = new Set(['chain-port', 'json', 'PG_BIN'])

/** Variables of other programs: the customers' clients, and the units of systemd. */
const OF_OTHERS = ['URL', 'TOKEN', 'SECRET', 'PROFILE', 'OPTIONS'].map((name) => `PENSTOCK_${name}`)

/** A sentence for each variable that nothing reads, mostly because it is misspelt: its setting
 *  would be left out in silence. */
export function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const known = [...Object.keys(ENVIRONMENT), ...OF_OTHERS]
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
  const number = (name: 'port' | 'chain-port' | 'admin-port') =>
    take(() => (given[name] === undefined ? undefined : portOf(given[name], name)))
  const whole = (name: keyof typeof ENVIRONMENT, least: number, most?: number) =>
    take(() => wholeOf(env, name, least, most))
  const { nodes = [], read_nodes = [] } = take(() => readNodes(given, env)) ?? {}
  const { PG_BIN, PENSTOCK_WALLETS, PENSTOCK_SECRET_KEY } = env
  const urls = databaseUrls(env)
  const loosened = loosenedBy(env, take, {
    nodes: [...nodes, ...read_nodes],
    database_urls:
      take(() => Object.values(urls).flatMap((url) => (url ? hostUrls(url) : []))) ?? [],
  })
  take(() => requireSealingKeys(PENSTOCK_SECRET_KEY))
  return {
    host: given.host ?? '127.0.0.1',
    port: number('port') ?? 8080,
    data_dir: given['data-dir'] ?? 'data',
    ...urls,
    pg_bin: PG_BIN || undefined,
    nodes: nodes.length > 0 ? nodes : undefined,
    chain_port: number('chain-port'),
    role: take(() => roleOf(given.role ?? 'all')) ?? 'all',
    admin_port: number('admin-port'),
    admin_host: given['admin-host'] ?? '127.0.0.1',
    ...(take(() => consoleOf(given, env)) ?? NO_CONSOLE),
    ready_file: given['ready-file'],
    wallets_file: PENSTOCK_WALLETS || undefined,
    secret_key: PENSTOCK_SECRET_KEY || undefined,
    roots_file: env.PENSTOCK_ROOTS_FILE || undefined,
    requests_per_second: whole('PENSTOCK_REQUESTS_PER_SECOND', 0),
    connections_max: whole('PENSTOCK_CONNECTIONS_MAX', 1, 999_999),
    connections_per_address: whole('PENSTOCK_CONNECTIONS_PER_ADDRESS', 1, 999_999),
    read_requests_per_second: whole('PENSTOCK_READ_REQUESTS_PER_SECOND', 0),
    read_nodes: read_nodes.length > 0 ? read_nodes : undefined,
    trusted_proxies: take(() => proxiesOf(env.PENSTOCK_TRUSTED_PROXIES)),
    dns_servers: take(() => serversOf(env.PENSTOCK_DNS_SERVERS)),
    public_url: take(() =>
      urlOf('PENSTOCK_PUBLIC_URL', 'https://api.example.com', env.PENSTOCK_PUBLIC_URL || undefined),
    ),
    explorer: take(() => readExplorer(env.PENSTOCK_EXPLORER || undefined)),
    invoice_issuer: env.PENSTOCK_INVOICE_ISSUER || undefined,
    recharge_at: take(() => rechargeAtOf(env.PENSTOCK_RECHARGE_AT || 'solid')) ?? 'solid',
    dust_sun: take(() => dustOf(env.PENSTOCK_DUST_TRX)),
    allow_wide_keys: env.PENSTOCK_ALLOW_WIDE_KEYS === 'yes',
    loosened,
    tls_in_front: env.PENSTOCK_TLS_IN_FRONT === 'yes' || Boolean(env.PENSTOCK_TRUSTED_PROXIES),
    providers: take(() => providersOf(env)) ?? NO_PROVIDERS,
    standbys: whole('PENSTOCK_STANDBYS', 0, 9),
    retention_days: whole('PENSTOCK_AML_RETENTION_DAYS', 1, 99_999),
    event_days: whole('PENSTOCK_EVENT_DAYS', 7, 400),
    sign_in_days: whole('PENSTOCK_SIGN_IN_DAYS', 7, 400),
    portal_sessions: lengthsOf(whole, 'PORTAL', PORTAL_LENGTHS),
    console_sessions: lengthsOf(whole, 'CONSOLE', CONSOLE_LENGTHS),
  }
}

const NO_CONSOLE = {
  console_port: undefined,
  console_port_any: false,
  console_host: '127.0.0.1',
  console_url: undefined,
}
const NO_PROVIDERS: ProviderKeys = {
  amlbot: undefined,
  misttrack: undefined,
  chainalysis: undefined,
  custom: undefined,
}

function requireSealingKeys(text: string | undefined): void {
  if (text && !readSealingKeys(text))
    throw new Misuse(
      'PENSTOCK_SECRET_KEY is not 64 hexadecimal characters, or a list of id:hex with commas.',
    )
}

/** The same database, with the role of each part of the process. */
const databaseUrls = (env: NodeJS.ProcessEnv) => ({
  database_url: env.DATABASE_URL || undefined,
  api_database_url: env.PENSTOCK_API_DATABASE_URL || undefined,
  console_database_url: env.PENSTOCK_CONSOLE_DATABASE_URL || undefined,
  direct_url: env.PENSTOCK_DIRECT_URL || undefined,
})

/** The nodes that the service works with, and those that customers' reads go to. */
function readNodes(given: GivenOptions, env: NodeJS.ProcessEnv) {
  const nodes = nodesOf({
    node_urls: given['node-url'] ?? [],
    solid_urls: given['solid-node-url'] ?? [],
    file: env.PENSTOCK_NODES,
    key: env.PENSTOCK_NODE_API_KEY,
    keys: env.PENSTOCK_NODE_API_KEYS,
  })
  const read_nodes = nodesOf({
    node_urls: given['read-node-url'] ?? [],
    solid_urls: given['read-solid-node-url'] ?? [],
    prefix: 'read-',
    key: env.PENSTOCK_READ_NODE_API_KEY,
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
      options: {
        ...OPTIONS,
        'node-url': { type: 'string', multiple: true },
        'solid-node-url': { type: 'string', multiple: true },
        'read-node-url': { type: 'string', multiple: true },
        'read-solid-node-url': { type: 'string', multiple: true },
      },
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
  take: Take,
  used: { nodes: NodeConfig[]; database_urls: string[] },
): string[] {
  const { nodes, database_urls } = used
  const [host] = nodesInTheClear(nodes)
  const uses: Record<string, string | undefined> = {
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
      if (sentence && env[name] !== 'yes')
        throw new Misuse(`${sentence} ${name}=yes takes it as it is.`)
    })
  const others = [
    'PENSTOCK_ALLOW_WIDE_KEYS',
    'PENSTOCK_ALLOW_WIDE_ROLE',
    'PENSTOCK_ALLOW_OLD_NODE',
  ].filter((name) => env[name] === 'yes')
  // A fork can take back what was delivered for.
  if (env.PENSTOCK_RECHARGE_AT === 'inclusion') others.push('PENSTOCK_RECHARGE_AT')
  return [...Object.keys(uses).filter((name) => uses[name]), ...others]
}

function roleOf(text: string): ProcessRole {
  const role = PROCESS_ROLES.find((one) => one === text)
  const [some, last] = [PROCESS_ROLES.slice(0, -1), PROCESS_ROLES.at(-1)]
  if (role === undefined) throw new Misuse(`--role ${text}: it is ${some.join(', ')} or ${last}.`)
  return role
}

const CONSOLE_PORT = 8081

/** Where the console listens and is reached. Others on the network may reach it only through what
 *  ends TLS in front of it, which has a name. */
function consoleOf(given: GivenOptions, env: NodeJS.ProcessEnv) {
  const { 'console-port': port, 'console-host': console_host = '127.0.0.1' } = given
  const console_port = consolePortOf(port, given.port)
  const url = env.PENSTOCK_CONSOLE_URL || undefined
  const console_url = urlOf('PENSTOCK_CONSOLE_URL', 'https://console.example.com', url)
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

/** The variable as a whole number; undefined when it is not set. Throws Misuse. */
function wholeOf(
  env: NodeJS.ProcessEnv,
  name: keyof typeof ENVIRONMENT,
  least: number,
  most = 9_999_999,
): number | undefined {
  const text = env[name] || undefined
  if (text === undefined) return undefined
  const number = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN
  if (number >= least && number <= most) return number
  throw new Misuse(`${name} is not a whole number from ${least} to ${most}.`)
}

/** How long sessions of a face last: only shorter than what is usual. */
const lengthsOf = (
  whole: (name: keyof typeof ENVIRONMENT, least: number, most: number) => number | undefined,
  face: 'PORTAL' | 'CONSOLE',
  { idle_minutes, life_hours }: { idle_minutes: number; life_hours: number },
): SessionLengths => ({
  idle_minutes: whole(`PENSTOCK_${face}_IDLE_MINUTES`, 5, idle_minutes),
  life_hours: whole(`PENSTOCK_${face}_LIFE_HOURS`, 1, life_hours),
})

function providersOf(env: NodeJS.ProcessEnv): ProviderKeys {
  const { PENSTOCK_AMLBOT, PENSTOCK_MISTTRACK, PENSTOCK_CHAINALYSIS } = env
  const file = env.PENSTOCK_PROVIDER_FILE || undefined
  const [access_id, access_key, ...more] = (PENSTOCK_AMLBOT || undefined)?.split(':') ?? []
  if (PENSTOCK_AMLBOT && (!access_id || !access_key || more.length > 0))
    throw new Misuse('PENSTOCK_AMLBOT is not ACCESS_ID:ACCESS_KEY.')
  return {
    amlbot: access_id && access_key ? { access_id, access_key } : undefined,
    misttrack: PENSTOCK_MISTTRACK || undefined,
    chainalysis: PENSTOCK_CHAINALYSIS || undefined,
    custom: file === undefined ? undefined : readCustomProvider(file),
  }
}

function proxiesOf(text: string | undefined): string[] | undefined {
  if (!text) return undefined
  return text.split(',').map((part) => {
    const network = part.trim()
    // All the world is nobody's proxy.
    if (isNetwork(network) && !/\/0+$/.test(network)) return network
    throw new Misuse(
      `PENSTOCK_TRUSTED_PROXIES: ${network} is neither an address nor a network such as ` +
        '10.0.0.0/8.',
    )
  })
}

function serversOf(text: string | undefined): string[] | undefined {
  if (!text) return undefined
  const servers = readNameServers(text)
  if (servers) return servers
  throw new Misuse('PENSTOCK_DNS_SERVERS is a list of addresses, each with or without a port.')
}

function rechargeAtOf(text: string): 'inclusion' | 'solid' {
  if (text === 'inclusion' || text === 'solid') return text
  throw new Misuse('PENSTOCK_RECHARGE_AT is inclusion or solid.')
}

/** Throws Misuse when it is no place of the web without a path. */
function urlOf(name: string, like: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const plain = url && /^https?:$/.test(url.protocol) && url.origin === text.replace(/\/$/, '')
  if (!plain) throw new Misuse(`${name} is not like ${like}.`)
  return url.origin
}

function dustOf(text: string | undefined): bigint | undefined {
  if (!text) return undefined
  const sun = sunOf(text)
  if (sun === undefined) throw new Misuse('PENSTOCK_DUST_TRX is not an amount of TRX, like 0.1.')
  return sun
}

/** The text of --help. */
export function usage(command: string): string {
  const has = (name: string) => command !== 'serve' || !PLAYGROUND_ONLY.has(name)
  const options = Object.entries(OPTIONS)
    .filter(([name]) => has(name))
    .map(([name, { value, help }]) => [`--${name} ${value}`.trim(), help] as const)
  const variables = Object.entries(ENVIRONMENT).filter(([name]) => has(name))
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
