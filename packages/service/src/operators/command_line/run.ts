// Runs one command of the operators in this process, on the database itself: also at three in the
// morning, when no API answers.

import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Misuse as TypedWrongly } from 'penstock-command-line/misuse.ts'
import about from '../../../package.json' with { type: 'json' }
import type { NodeConfig } from '../../chain/node/configured.ts'
import { type Transport, tronNode } from '../../chain/node/node.ts'
import type { ClickHouseServer } from '../../chain/transfers/clickhouse.ts'
import { archiveOn } from '../../chain/transfers/clickhouse_archive.ts'
import { isPublicKey, readWallets } from '../../chain/wallets/wallet_file.ts'
import { chainView } from '../../health/books/chain.ts'
import type { Clock } from '../../lib/clock.ts'
import { failureOf, misuse, refusal } from '../../lib/fault.ts'
import { appendText, readWhole, writeWhole } from '../../lib/files.ts'
import { idMaker, type Random } from '../../lib/ids.ts'
import { depositAddresses } from '../../people/customers/deposit_addresses.ts'
import { consoleFace, originOf } from '../../people/users/faces.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { wakeOthers } from '../../platform/steps/wake.ts'
import { keptSealingKeys } from '../../run/program/sealing_keys.ts'
import { httpDownload } from '../../screening/labels/lists.ts'
import { OPERATIONS } from '../operations.ts'
import type {
  LocalNeeds,
  Needs,
  Operation,
  StartSettings,
  Terminal,
  TerminalAnswer,
} from '../table/operation.ts'
import { databasePlace, stopSigningHere } from '../table/place.ts'
import { type Arguments, readCommand } from './arguments.ts'
import { databaseUrl, withDatabase } from './database.ts'
import { helpOf, overview } from './help.ts'
import { answerText, jsonText, progressText } from './printing.ts'

/** What commands need of the configuration. */
export type Settings = StartSettings & {
  /** The folder of PostgreSQL's programs; undefined: those that come through npm. */
  pg_bin: string | undefined
  clickhouse: ClickHouseServer | undefined
  nodes: NodeConfig[] | undefined
  public_url: string | undefined
  port: number
  console_url: string | undefined
}

/** What the command line has of the world around it. */
export type Io = {
  env: NodeJS.ProcessEnv
  /** Reads both. A sentence for each mistake, and for each variable that nothing reads. */
  inspectConfig(
    args: readonly string[],
    env: NodeJS.ProcessEnv,
  ): { config: Settings; mistakes: string[]; unknown: string[] }
  /** Who runs it, for the record when --by is not given. */
  user: string
  out(text: string): void
  err(text: string): void
  clock: Clock
  random: Random
  transport: Transport
  wait(ms: number): Promise<void>
  /** Standard input, to its end. */
  input(): Promise<string>
  /** Left out: nobody watches. */
  progress?(line: string): void
}

/** Runs one command. Returns the exit code. */
export async function runCommand(args: readonly string[], io: Io): Promise<number> {
  try {
    const [first = ''] = args
    if (first === '' || first === '--help' || first === '-h') {
      io.out(overview(OPERATIONS))
      return 0
    }
    if (args.length === 1 && first === '--version') {
      io.out(`${about.version}\n`)
      return 0
    }
    const of_noun = OPERATIONS.filter(({ cli }) => cli.words.startsWith(`${first} `))
    if (args.length === 2 && /^(--help|-h)$/.test(args[1]!) && of_noun.length > 0) {
      const alone = OPERATIONS.find(({ cli }) => cli.words === first)
      io.out(`${alone ? `${helpOf(alone)}\n` : ''}${overview(of_noun)}`)
      return 0
    }
    const { operation, given } = readCommand(OPERATIONS, args)
    if (given.help === true) {
      io.out(helpOf(operation))
      return 0
    }
    const answer = await answerOf(operation, given, io)
    io.out(given.json === true ? jsonText(answer.value) : answerText(answer, operation.cli))
    return answer.ok === false ? 1 : 0
  } catch (thrown) {
    const { sentence, exit_code } = failureOf(inOurWords(thrown))
    io.err(`${sentence}\n`)
    return exit_code
  }
}

/** A usage error of the command line, as one of the service. */
const inOurWords = (thrown: unknown) =>
  thrown instanceof TypedWrongly ? misuse(thrown.message) : thrown

async function answerOf(operation: Operation, given: Arguments, io: Io): Promise<TerminalAnswer> {
  const { by = io.user, reason = null, data_dir, extras } = given
  const { cli, takes } = operation
  const folder = data_dir === undefined ? [] : ['--data-dir', data_dir]
  const { config, mistakes } = io.inspectConfig(folder, io.env)
  if (mistakes.length > 0 && !cli.checks_configuration) throw misuse(mistakes.join('\n'))
  const settings = await withSandboxPorts(config)
  const terminal = terminalOf(io)
  const filled = await cli.before?.(extras, terminal)
  const call = {
    body: { ...given.body, ...filled },
    operator: { made_by: by, reason },
    ...(takes === 'upload' && { upload: await terminal.openFile(String(extras.file)) }),
    ...(takes === 'secret' && { secret: await terminal.readInput() }),
  }
  const outside = outsideOf({ settings, io, given })
  const answer = operation.local
    ? await operation.run(outside, call)
    : await withDatabase(settings, (sql, url) =>
        operation.run(needsOf({ sql, url, outside, settings, io, given }), call),
      )
  return cli.after ? cli.after(answer, extras, terminal) : answer
}

/** With the addresses at which the sandbox that runs on this data folder is reached: its ports may
 *  be any. Those that somebody has named go before. */
async function withSandboxPorts(settings: Settings): Promise<Settings> {
  const text = await readWhole(join(settings.data_dir, 'ready.json'))
  if (text === undefined) return settings
  try {
    const { portal_sign_in_url, console_sign_in_url, admin } = JSON.parse(text)
    const { database_url = admin.database_url } = settings
    if (database_url !== admin.database_url) return settings
    const originOfLink = (link: unknown) =>
      typeof link === 'string' ? new URL(link).origin : undefined
    return {
      ...settings,
      public_url: settings.public_url ?? originOfLink(portal_sign_in_url),
      console_url: settings.console_url ?? originOfLink(console_sign_in_url),
    }
  } catch {
    // Not what a sandbox writes: what is not known is as it was.
    return settings
  }
}

type CommandSetting = { settings: Settings; io: Io; given: Arguments }

const namedNodes = ({ node_url = [], solid_node_url = [] }: Arguments): string[] => [
  ...node_url.flatMap((one) => ['--node-url', one]),
  ...solid_node_url.flatMap((one) => ['--solid-node-url', one]),
]

/** The nodes that are named, in the order of the command line, or by the environment. Throws
 *  Misuse. */
function nodesOf({ io, given }: CommandSetting): NodeConfig[] | undefined {
  const { config, mistakes } = io.inspectConfig(namedNodes(given), io.env)
  if (mistakes.length > 0) throw misuse(mistakes.join('\n'))
  return config.nodes
}

/** What operations have that is not about the database. */
function outsideOf(setting: CommandSetting): LocalNeeds {
  const { settings, io, given } = setting
  const { clock, random, transport, wait } = io
  return {
    clock,
    random,
    wait,
    new_id: idMaker(clock, random),
    download: httpDownload,
    archive: () => archiveOn(settings.clickhouse),
    progress: (at) => io.progress?.(at ? progressText(at) : ''),
    stopHere: (stopped, by) => stopSigningHere(settings.data_dir, { stopped, by }),
    node() {
      const nodes = nodesOf(setting)
      if (!nodes) throw refusal('No node is named: --node-url URL.')
      return tronNode({ nodes, transport })
    },
    configuration(role) {
      const folder = given.data_dir === undefined ? [] : ['--data-dir', given.data_dir]
      const args = [...namedNodes(given), ...folder, ...(role ? ['--role', role] : [])]
      const { config, mistakes, unknown } = io.inspectConfig(args, io.env)
      const node = config.nodes && tronNode({ nodes: config.nodes, transport })
      return { config, mistakes: [...mistakes, ...unknown], node }
    },
    databaseUrl: () => databaseUrl(settings),
    async findSeal() {
      const keys = await keptSealingKeys(settings)
      return keys && sealWith(keys, random)
    },
    postgres_bin: settings.pg_bin,
    chain() {
      const nodes = nodesOf(setting)
      return nodes && chainView(nodes, transport)
    },
    publicUrl: () => settings.public_url ?? `http://localhost:${settings.port}`,
    consoleUrl: () => originOf(consoleFace(settings.console_url), settings.console_port),
    wallets() {
      const { wallets_file } = settings
      if (!wallets_file) throw refusal('No file of wallets is named: set PENSTOCK_WALLETS.')
      return readWallets(wallets_file, 'optional')
    },
  }
}

function needsOf(setting: CommandSetting & { sql: Sql; url: string; outside: LocalNeeds }): Needs {
  const { sql, url, outside, settings } = setting
  return {
    ...outside,
    sql,
    database: databasePlace(url),
    async seal() {
      const seal = await outside.findSeal?.()
      if (seal) return seal
      throw refusal(
        'There is no sealing key: set PENSTOCK_SECRET_KEY, or --data-dir to the folder that has ' +
          'secret.key.',
      )
    },
    depositAddress: async () => depositAddresses(await depositKey(sql, settings)),
    wake: wakeOthers(sql),
  }
}

/** The files of the machine where the command runs. */
const terminalOf = (io: Io): Terminal => ({
  readInput: () => io.input(),
  readFile: (name) =>
    readFile(name, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
      throw unreadable(name, thrown)
    }),
  findFile: readWhole,
  writeFile: writeWhole,
  appendFile: appendText,
  async openFile(name) {
    const about = await stat(name).catch((thrown: NodeJS.ErrnoException) => {
      throw thrown.code === 'ENOENT'
        ? refusal(`There is no file ${name}.`)
        : unreadable(name, thrown)
    })
    if (!about.isFile()) throw refusal(`${name} is not a file.`)
    const bytes = createReadStream(name, { highWaterMark: 1 << 18 })
    return { origin: name, bytes, bytes_expected: about.size }
  },
})

const unreadable = (name: string, { code }: NodeJS.ErrnoException) =>
  refusal(`${name} cannot be read: ${code}.`)

/** The extended public key that deposit addresses are derived from: the operator's, or the one that
 *  `npm start` has noted in its data folder. */
async function depositKey(
  sql: Sql,
  { wallets_file, data_dir, database_url }: Settings,
): Promise<string> {
  if (wallets_file) return (await readWallets(wallets_file, 'optional')).deposit_xpub
  const file = join(data_dir, 'deposit_xpub')
  const kept = await readFile(file, 'utf8').catch(() => undefined)
  // A sandbox has a customer from the beginning, and with it an address to compare with.
  const [customer] = await sql`select 1 from customer limit 1`
  if (kept === undefined || (database_url !== undefined && !customer)) {
    throw refusal('Deposit addresses need the public key of the wallets: set PENSTOCK_WALLETS.')
  }
  const key = kept.trim()
  if (!isPublicKey(key)) throw refusal(`${file} is not an extended public key.`)
  return key
}
