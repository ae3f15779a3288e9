// The table of the configuration: every variable of the environment and every option, each with its
// type, its default, its meaning, its readers, and whether it is a secret. config.ts reads by it,
// --help and docs/operators/configuration.md are printed from it.

import { choice } from 'penstock-command-line/words.ts'
import { type ClickHouseServer, readClickHouseUrl } from './chain/transfers/clickhouse.ts'
import { Misuse } from './lib/fault.ts'
import { sunOf } from './lib/json.ts'
import { isNetwork } from './lib/networks.ts'
import { isEmail, readSmtpUrl, type SmtpServer } from './people/sign_up/mailer.ts'
import { CONSOLE_LENGTHS, PORTAL_LENGTHS } from './people/users/faces.ts'
import { readNameServers } from './platform/names/names.ts'
import { PROCESS_ROLES } from './run/program/roles.ts'
import { readCustomProvider } from './screening/providers/custom_file.ts'
import { readExplorer } from './web/explorer.ts'

/** The type of a setting: in words, and as the function that reads it. `read` throws Misuse, with a
 *  sentence that begins with the name. */
type Kind<Value> = { type: string; read(text: string, name: string): Value }

type Reader = 'api' | 'worker' | 'index' | 'console' | '--role all' | 'commands' | 'npm start'

type Facts = {
  /** In one line, for --help. */
  help: string
  /** The sentences after it, on the page alone: Markdown. */
  more?: string
  /** In words; left out: nothing is done. */
  otherwise?: string
  read_by: readonly Reader[]
  /** It opens something, or may: it is repeated nowhere. */
  secret?: true
  /** It takes what is refused, or not acted on, without it. */
  loosens?: true
}

type Setting<Value> = Kind<Value> & Facts

const setting = <Value>(kind: Kind<Value>, facts: Facts): Setting<Value> => ({ ...kind, ...facts })

/** Read as it is; what else it must be is judged together with others. */
const text = (type: string): Kind<string> => ({ type, read: (given) => given })

const file = text('a file')

const yes: Kind<boolean> = {
  type: '`yes`',
  read(given, name) {
    if (given !== 'yes' && given !== 'no') throw new Misuse(`${name} is yes, or left out.`)
    return given === 'yes'
  },
}

const whole = (least: number, most = 9_999_999): Kind<number> => ({
  type: `a whole number from ${least} to ${most}`,
  read(given, name) {
    const number = /^\d{1,7}$/.test(given) ? Number(given) : Number.NaN
    if (number >= least && number <= most) return number
    throw new Misuse(`${name} is not a whole number from ${least} to ${most}.`)
  },
})

const oneOf = <Word extends string>(...words: readonly Word[]): Kind<Word> => ({
  type: choice(words.map((word) => `\`${word}\``)),
  read(given, name) {
    const word = words.find((one) => one === given)
    if (word === undefined) throw new Misuse(`${name} is ${choice(words)}.`)
    return word
  },
})

/** A place of the web without a path. */
const place = (like: string): Kind<string> => ({
  type: `a URL like ${like}`,
  read(given, name) {
    const url = URL.canParse(given) ? new URL(given) : undefined
    const plain = url && /^https?:$/.test(url.protocol) && url.origin === given.replace(/\/$/, '')
    if (!plain) throw new Misuse(`${name} is not like ${like}.`)
    return url.origin
  },
})

const trx: Kind<bigint> = {
  type: 'an amount of TRX',
  read(given, name) {
    const sun = sunOf(given)
    if (sun === undefined) throw new Misuse(`${name} is not an amount of TRX, like 0.1.`)
    return sun
  },
}

const networks: Kind<string[]> = {
  type: 'addresses or networks, with commas',
  read: (given, name) =>
    given.split(',').map((part) => {
      const network = part.trim()
      // All the world is nobody's proxy.
      if (isNetwork(network) && !/\/0+$/.test(network)) return network
      throw new Misuse(
        `${name}: ${network} is neither an address nor a network such as 10.0.0.0/8.`,
      )
    }),
}

const nameServers: Kind<string[]> = {
  type: 'addresses, each with or without a port, with commas',
  read(given, name) {
    const servers = readNameServers(given)
    if (servers) return servers
    throw new Misuse(`${name} is a list of addresses, each with or without a port.`)
  },
}

const pairOfKeys: Kind<{ access_id: string; access_key: string }> = {
  type: 'ACCESS_ID:ACCESS_KEY',
  read(given, name) {
    const [access_id, access_key, ...more] = given.split(':')
    if (!access_id || !access_key || more.length > 0)
      throw new Misuse(`${name} is not ACCESS_ID:ACCESS_KEY.`)
    return { access_id, access_key }
  },
}

const explorer: Kind<NonNullable<ReturnType<typeof readExplorer>>> = {
  type: 'two templates with a blank between them',
  read: (given, name) => readExplorer(given, name)!,
}

const providerFile: Kind<ReturnType<typeof readCustomProvider>> = {
  type: 'a JSON file',
  read: (given) => readCustomProvider(given),
}

const clickHouseServer: Kind<ClickHouseServer> = {
  type: 'a URL like `http://user:password@host:8123/database`',
  read: readClickHouseUrl,
}

const smtpServer: Kind<SmtpServer> = { type: 'a URL with smtps:// or smtp://', read: readSmtpUrl }

const email: Kind<string> = {
  type: 'an e-mail address',
  read(given, name) {
    if (!isEmail(given)) throw new Misuse(`${name} is not an address like penstock@example.com.`)
    return given
  },
}

const database = text('a URL with postgres://')
const key = text('text')

const EVERY = ['api', 'worker', 'index', 'console'] as const
const NODES = [...EVERY, 'commands'] as const

/** By name, in the order of --help and of the page. */
export const SETTINGS = {
  DATABASE_URL: setting(database, {
    help: 'PostgreSQL 15 or later; several hosts with commas (npm start: not a private one)',
    more:
      'UTF-8, with `fsync`, `full_page_writes` and `synchronous_commit` on; anything less is ' +
      'refused at the start. With standbys give all hosts: ' +
      '`postgres://user:password@h1:5432,h2:5432/penstock?sslmode=verify-full`. A host that does ' +
      'not answer within 2 seconds, and one that is a standby, is left for the next; the one ' +
      'that worked last is asked first',
    read_by: NODES,
    secret: true,
  }),
  PENSTOCK_API_DATABASE_URL: setting(database, {
    help: "the same with a role for customers' calls alone",
    more: 'See [roles](database_roles.md)',
    read_by: ['--role all'],
    secret: true,
  }),
  PENSTOCK_CONSOLE_DATABASE_URL: setting(database, {
    help: "the same with a role for operators' console",
    more: 'See [roles](database_roles.md)',
    read_by: ['--role all'],
    secret: true,
  }),
  PENSTOCK_DIRECT_URL: setting(database, {
    help: 'the same past a pooler, for what listens and looks out',
    more:
      'It has the role of `DATABASE_URL`. Neither the listening nor the look whether the server ' +
      'is still the one can go through a pooler',
    read_by: EVERY,
    secret: true,
  }),
  PENSTOCK_STANDBYS: setting(whole(0, 9), {
    help: 'how many standbys must confirm commits, or the start is refused',
    more: 'See [standbys](standbys.md)',
    otherwise: '0',
    read_by: [...EVERY, 'npm start'],
  }),
  PG_BIN: setting(text('a folder'), {
    help: "folder of PostgreSQL's programs to use instead of those from npm",
    read_by: ['npm start', 'commands'],
  }),
  PENSTOCK_NODE_API_KEY: setting(key, {
    help: 'sent as TRON-PRO-API-KEY to the first node and others on its host',
    more: 'Nodes of another operator do not see it',
    read_by: NODES,
    secret: true,
  }),
  PENSTOCK_NODE_API_KEYS: setting(text('texts, with commas'), {
    help: 'instead: one for each --node-url, in their order, with commas',
    more: 'Between two commas may be none',
    read_by: NODES,
    secret: true,
  }),
  PENSTOCK_NODES: setting(file, {
    help: 'file with the nodes (JSON: url, solid_url, api_key) instead of --node-url',
    more:
      'Readable by its owner only, for addresses and keys that are secrets: ' +
      '`[{"url": "https://…", "solid_url": "https://…", "api_key": "…"}]`; `--node-url` goes ' +
      'before it',
    read_by: NODES,
  }),
  PENSTOCK_ALLOW_HTTP_NODES: setting(yes, {
    help: 'yes: nodes on other machines may be http://',
    more: 'Anyone who is on the way can then invent what the chain says',
    read_by: NODES,
    loosens: true,
  }),
  PENSTOCK_ALLOW_UNVERIFIED_DATABASE: setting(yes, {
    help: 'yes: a database on another machine need not show a certificate that is checked',
    more:
      'That is a `DATABASE_URL` without `sslmode=verify-full` (or `verify-ca` with ' +
      '`sslrootcert`), which is refused otherwise; `require` is not enough, since what it checks ' +
      "is up to the driver's version",
    read_by: NODES,
    loosens: true,
  }),
  PENSTOCK_TLS_IN_FRONT: setting(yes, {
    help: 'yes: TLS ends in front of the API, and --host may be reached by that alone',
    more:
      'See [tls.md](tls.md). Without it, or trusted proxies, an API that listens for other ' +
      'machines logs `api_in_the_clear`',
    read_by: ['api'],
  }),
  PENSTOCK_PUBLIC_URL: setting(place('https://api.example.com'), {
    help: 'where customers reach the API, like https://api.example.com',
    more: '`/v1/whoami` tells them, and no webhook may point there',
    otherwise: 'http://localhost and the port',
    read_by: [...EVERY, 'commands'],
  }),
  PENSTOCK_SIGN_UP: setting(yes, {
    help: 'yes: strangers may make an account at the portal, by e-mail',
    more: 'A worker sends the letters: see [sign-up](sign_up.md)',
    read_by: ['api', 'worker'],
  }),
  PENSTOCK_SMTP_URL: setting(smtpServer, {
    help: 'the SMTP server that letters go to, like smtps://user:password@mail.example.com',
    more:
      '`smtps://` is TLS from the first byte (port 465), `smtp://` STARTTLS (port 587); in the ' +
      'clear nothing goes but to this machine. Its certificate is checked',
    read_by: ['worker'],
    secret: true,
  }),
  PENSTOCK_LETTERS_FROM: setting(email, {
    help: 'the address that letters are from, like penstock@example.com',
    read_by: ['worker'],
  }),
  PENSTOCK_EXPLORER: setting(explorer, {
    help: 'templates of links, with {tx_id} and {address}, if not those of Tronscan',
    more:
      "The portal's links lead there that show a transaction or an address: " +
      '`https://one.example/tx/{tx_id} https://one.example/address/{address}`. Left out: ' +
      'Tronscan where the network is a public one, and no links elsewhere',
    read_by: ['api', 'console'],
  }),
  PENSTOCK_CONSOLE_URL: setting(place('https://console.example.com'), {
    help: 'where operators reach the console, like https://console.example.com',
    more: 'See [console](console.md)',
    otherwise: 'http://localhost and its port',
    read_by: ['console', 'commands'],
  }),
  PENSTOCK_INVOICE_ISSUER: setting(text('text'), {
    help: "a line of the house's own on every invoice",
    more: 'Like a name and an address',
    read_by: ['worker'],
  }),
  PENSTOCK_WALLETS: setting(file, {
    help: 'file with the wallets that the service acts for',
    more: 'Readable by its owner only; see [wallets](wallets.md)',
    read_by: NODES,
  }),
  PENSTOCK_SECRET_KEY: setting(text('64 hexadecimal characters, or `id:hex` with commas'), {
    help: '64 hexadecimal characters: seals the secrets of API keys',
    more:
      '`openssl rand -hex 32` makes one. Without it the service makes one in ' +
      '`<data-dir>/secret.key` on its first start (readable by its owner only, or it is ' +
      "refused). A start with another key than the database's, or with none where secrets are " +
      'sealed already, is refused. Keep it apart from the database and its backups. Anyone who ' +
      'loses it must revoke every key and issue new ones',
    read_by: NODES,
    secret: true,
  }),
  PENSTOCK_ROOTS_FILE: setting(file, {
    help: "where the journal's daily roots are noted",
    more: 'See [journal](../guarantees/journal.md)',
    otherwise: '<data-dir>/roots.log',
    read_by: ['worker'],
  }),
  PENSTOCK_ALLOW_WIDE_KEYS: setting(yes, {
    help: 'yes: start although a hot key can do more than it needs',
    more: 'See [wallets](wallets.md)',
    read_by: ['worker'],
    loosens: true,
  }),
  PENSTOCK_ALLOW_WIDE_ROLE: setting(yes, {
    help: "yes: --role api, worker, index or console may work as the database's owner",
    more: 'So may any [role](database_roles.md) that can do the work of the others',
    read_by: EVERY,
    loosens: true,
  }),
  PENSTOCK_ALLOW_OLD_NODE: setting(yes, {
    help: 'yes: serve on a version of Node that has known holes',
    read_by: EVERY,
    loosens: true,
  }),
  PENSTOCK_RECHARGE_AT: setting(oneOf('inclusion', 'solid'), {
    help: 'serve: act on a direct recharge at inclusion, or when solid',
    otherwise: 'solid',
    read_by: ['worker'],
  }),
  PENSTOCK_DUST_TRX: setting(trx, {
    help: 'what nobody can be credited with is ignored below this, and held above',
    otherwise: '0.1',
    read_by: ['worker'],
  }),
  PENSTOCK_REQUESTS_PER_SECOND: setting(whole(0), {
    help: 'limit for each API key; 0: none',
    otherwise: '300',
    read_by: ['api'],
  }),
  PENSTOCK_CONNECTIONS_MAX: setting(whole(1, 999_999), {
    help: 'open connections to the API at most',
    otherwise: '4000',
    read_by: ['api'],
  }),
  PENSTOCK_CONNECTIONS_PER_ADDRESS: setting(whole(1, 999_999), {
    help: 'of one IPv4 address or IPv6 /64 at most',
    more: 'Trusted proxies have no such limit',
    otherwise: '512',
    read_by: ['api'],
  }),
  PENSTOCK_READ_REQUESTS_PER_SECOND: setting(whole(0), {
    help: "limit of what customers' reads ask of the nodes, in all; 0: none",
    more: 'Each process has its own (see "What customers ask of the nodes")',
    otherwise: '3000',
    read_by: ['api'],
  }),
  PENSTOCK_READ_NODE_API_KEY: setting(key, {
    help: 'sent to the first node of --read-node-url and others on its host',
    more: 'As `TRON-PRO-API-KEY`',
    read_by: ['api', 'worker', 'index'],
    secret: true,
  }),
  PENSTOCK_TRUSTED_PROXIES: setting(networks, {
    help: 'addresses or networks (a.b.c.d/n) of proxies whose X-Forwarded-For is believed',
    more:
      'Like `10.0.0.5,fd00::/8`. The header says who calls, for the limits of addresses and the ' +
      'allow-lists of keys; without this it is not looked at',
    read_by: ['api', 'console'],
  }),
  PENSTOCK_DNS_SERVERS: setting(nameServers, {
    help: "name servers to ask instead of the system's (a.b.c.d or a.b.c.d:port)",
    more: 'Like `10.0.0.53,127.0.0.1:5353`: see **Names** below',
    read_by: EVERY,
  }),
  PENSTOCK_AMLBOT: setting(pairOfKeys, {
    help: 'access to AMLBot, if a screening policy names it',
    more: 'See [aml.md](../customers/aml.md)',
    read_by: ['worker', 'index'],
    secret: true,
  }),
  PENSTOCK_MISTTRACK: setting(key, {
    help: 'API key for MistTrack, likewise',
    read_by: ['worker', 'index'],
    secret: true,
  }),
  PENSTOCK_CHAINALYSIS: setting(key, {
    help: "API key for Chainalysis' sanctions service, likewise",
    read_by: ['worker', 'index'],
    secret: true,
  }),
  PENSTOCK_PROVIDER_FILE: setting(providerFile, {
    help: 'a file that describes a screening service of your own, likewise',
    more:
      'Policies name it `custom`: see [aml.md](../customers/aml.md#outside-providers). It holds ' +
      'keys: `chmod 600`',
    read_by: ['worker', 'index'],
  }),
  PENSTOCK_INDEX_MEMORY_MB: setting(whole(64, 4_000_000), {
    help: 'what the screening index may take of memory, the rest being in files under --data-dir',
    more: 'Without it all of it is in memory, which is faster: see [aml.md](../customers/aml.md)',
    read_by: ['worker', 'index'],
  }),
  PENSTOCK_CLICKHOUSE_URL: setting(clickHouseServer, {
    help: 'ClickHouse, where transfers of older blocks can be moved',
    more:
      'Moved once that is begun: see [archive.md](archive.md). It is a user and a database that ' +
      'nobody else has',
    read_by: ['worker', 'index', 'console', 'commands'],
    secret: true,
  }),
  PENSTOCK_AML_RETENTION_DAYS: setting(whole(1, 99_999), {
    help: 'for how long the evidence of checks is kept',
    otherwise: '1830',
    read_by: ['worker'],
  }),
  PENSTOCK_EVENT_DAYS: setting(whole(7, 400), {
    help: 'for how long events are kept',
    otherwise: '30',
    read_by: ['worker'],
  }),
  PENSTOCK_SIGN_IN_DAYS: setting(whole(7, 400), {
    help: 'for how long sign-ins and sessions are kept',
    more: 'With network and browser',
    otherwise: '30',
    read_by: ['worker'],
  }),
  PENSTOCK_PORTAL_IDLE_MINUTES: setting(whole(5, PORTAL_LENGTHS.idle_minutes), {
    help: 'sessions of the portal end when unused for so long',
    otherwise: `${PORTAL_LENGTHS.idle_minutes}`,
    read_by: ['api'],
  }),
  PENSTOCK_PORTAL_LIFE_HOURS: setting(whole(1, PORTAL_LENGTHS.life_hours), {
    help: 'and after so long in any case',
    otherwise: `${PORTAL_LENGTHS.life_hours}`,
    read_by: ['api'],
  }),
  PENSTOCK_CONSOLE_IDLE_MINUTES: setting(whole(5, CONSOLE_LENGTHS.idle_minutes), {
    help: 'sessions of the console end when unused for so long',
    otherwise: `${CONSOLE_LENGTHS.idle_minutes}`,
    read_by: ['console'],
  }),
  PENSTOCK_CONSOLE_LIFE_HOURS: setting(whole(1, CONSOLE_LENGTHS.life_hours), {
    help: 'and after so long in any case',
    otherwise: `${CONSOLE_LENGTHS.life_hours}`,
    read_by: ['console'],
  }),
} as const

export type SettingName = keyof typeof SETTINGS

/** Each with its facts. */
export const SETTING_FACTS: readonly (readonly [SettingName, Facts & { type: string }])[] =
  Object.entries(SETTINGS as Record<string, Facts & { type: string }>).map(([name, facts]) => [
    name as SettingName,
    facts,
  ])

/** Those that take what is refused without them. */
export const LOOSENING: readonly SettingName[] = SETTING_FACTS.flatMap(([name, { loosens }]) =>
  loosens ? [name] : [],
)

/** Undefined: it is not set, or makes no sense. */
export type SettingValues = {
  [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['read']> | undefined
}

/** Each variable, read as its type says; `take` notes a Misuse. An empty one is not set. */
export function readSettings(
  env: NodeJS.ProcessEnv,
  take: <T>(read: () => T) => T | undefined,
): SettingValues {
  const entries = Object.entries(SETTINGS as Record<string, Setting<unknown>>)
  const values = entries.map(([name, { read }]) => {
    const given = env[name]
    return [name, given ? take(() => read(given, name)) : undefined] as const
  })
  return Object.fromEntries(values) as SettingValues
}

/** Of the command line: `value` is what follows it; '': nothing does. */
export const OPTIONS = {
  port: { type: 'string', value: 'PORT', help: 'port of the API (8080; 0: any free one)' },
  host: { type: 'string', value: 'HOST', help: 'address to listen on (127.0.0.1)' },
  'data-dir': { type: 'string', value: 'DIR', help: 'where everything is kept (./data)' },
  'node-url': {
    type: 'string',
    multiple: true,
    value: 'URL',
    help: 'a TRON node (npm start: instead of the devchain); may be repeated',
  },
  'solid-node-url': {
    type: 'string',
    multiple: true,
    value: 'URL',
    help: 'its solidity side, where that has an address of its own',
  },
  'read-node-url': {
    type: 'string',
    multiple: true,
    value: 'URL',
    help: "a node for customers' reads alone; may be repeated",
  },
  'read-solid-node-url': {
    type: 'string',
    multiple: true,
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
  index: {
    type: 'string',
    value: 'WHERE',
    help: "a worker's screening index: own, or none: it is left to --role index (own)",
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
