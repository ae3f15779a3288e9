// The operator's commands, on the database of DATABASE_URL or on the private one of a running `npm
// start`: connects, runs the command, and prints what it answers, as text for reading or as JSON.
// Exit codes: 0 done, 1 not so or not there or broken, 2 asked wrongly. No secret comes in by an
// argument; the one that goes out, a new key's, goes out once.

import { existsSync, realpathSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chainView } from './audit/chain.ts'
import { type Config, readConfig } from './config.ts'
import { depositAddresses } from './customers/deposit_addresses.ts'
import { sealWith } from './customers/seal.ts'
import { readMigrations } from './database/migrate.ts'
import { connect, type Sql } from './database/sql.ts'
import { httpDownload } from './labels/lists.ts'
import { type Clock, systemClock, wireTime } from './lib/clock.ts'
import { failureOf, Outage, refusal } from './lib/fault.ts'
import { requireWritable, writeWhole } from './lib/files.ts'
import { idMaker, type Random, systemRandom } from './lib/ids.ts'
import { trxText } from './lib/json.ts'
import { httpTransport, type Transport, tronNode } from './node/node.ts'
import { amlCommands } from './operators/aml.ts'
import { bookCommands } from './operators/books.ts'
import { chainCommands } from './operators/chain.ts'
import {
  type Answer,
  type Command,
  findCommand,
  helpOf,
  type Needs,
  type Outside,
  overview,
  type Reading,
  readArguments,
} from './operators/command.ts'
import { correctionCommands } from './operators/corrections.ts'
import { customerCommands } from './operators/customers.ts'
import { depositCommands } from './operators/deposits.ts'
import { keyCommands } from './operators/keys.ts'
import { listCommands } from './operators/lists.ts'
import { orderCommands } from './operators/orders.ts'
import { planCommands } from './operators/plans.ts'
import { priceCommands, switchCommands } from './operators/prices.ts'
import { signerCommands } from './operators/signer.ts'
import { statusCommands } from './operators/status.ts'
import { subscriptionCommands } from './operators/subscriptions.ts'
import { walletCommands } from './operators/wallets.ts'
import { keptSealingKeys } from './program/sealing_keys.ts'
import { readWallets, stopFile } from './wallets/wallet_file.ts'

/** What the command line has of the world around it. */
export type Io = {
  env: NodeJS.ProcessEnv
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

export const COMMANDS: readonly Command[] = [
  ...statusCommands,
  ...customerCommands,
  ...correctionCommands,
  ...keyCommands,
  ...priceCommands,
  ...planCommands,
  ...switchCommands,
  ...orderCommands,
  ...depositCommands,
  ...subscriptionCommands,
  ...chainCommands,
  ...signerCommands,
  ...walletCommands,
  ...listCommands,
  ...amlCommands,
  ...bookCommands,
]

/** Other words for a command. */
const ALIASES: Record<string, string[]> = { 'check-books': ['books', 'check'] }

/** A books' check of millions of rows takes its time. */
const STATEMENT_MS_MAX = 3_600_000

/** Runs one command. Returns the exit code. */
export async function runCommand(args: readonly string[], io: Io): Promise<number> {
  try {
    const [first = ''] = args
    if (first === '' || first === '--help' || first === '-h') {
      io.out(overview(COMMANDS))
      return 0
    }
    const meant = Object.hasOwn(ALIASES, first) ? [...ALIASES[first]!, ...args.slice(1)] : args
    const { command, rest } = findCommand(COMMANDS, meant)
    const given = readArguments(command, rest)
    if (given.help) {
      io.out(helpOf(command))
      return 0
    }
    const answer = await answerOf(command, given, io)
    io.out(given.json ? jsonText(answer.value) : answerText(answer))
    return answer.ok === false ? 1 : 0
  } catch (thrown) {
    const { sentence, exit_code } = failureOf(thrown)
    io.err(`${sentence}\n`)
    return exit_code
  }
}

async function answerOf(command: Command, given: Reading, io: Io): Promise<Answer> {
  const { values, data_dir, by = io.user, reason = null } = given
  const config = readConfig(data_dir === undefined ? [] : ['--data-dir', data_dir], io.env)
  if (command.runAlone) return command.runAlone(outsideOf({ config, io }), values)
  const url = config.database_url ?? (await privateDatabase(config.data_dir))
  const sql = connect({ url, connections_max: 3, statement_timeout_ms: STATEMENT_MS_MAX })
  try {
    await requireSchema(sql).catch((thrown) => {
      throw config.database_url === undefined && isUnreachable(thrown)
        ? nothingRuns(config.data_dir)
        : thrown
    })
    return await command.run(needsOf({ sql, config, url, io }), values, { made_by: by, reason })
  } finally {
    await sql.close()
  }
}

const nothingRuns = (data_dir: string) =>
  refusal(
    `Nothing runs on ${data_dir}: start it (npm start), name its folder (--data-dir), or set DATABASE_URL.`,
  )

/** The address of the private PostgreSQL that `npm start` runs on a folder: the server itself notes
 *  its port there. */
async function privateDatabase(data_dir: string): Promise<string> {
  const read = (name: string) =>
    readFile(join(data_dir, 'pg', name), 'utf8').catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === 'EACCES')
        throw refusal(`${data_dir} belongs to another user: run this as the one who started it.`)
      throw nothingRuns(data_dir)
    })
  const password = await read('password')
  const port = (await read(join('data', 'postmaster.pid'))).split('\n')[3]
  return `postgres://penstock:${password}@127.0.0.1:${port}/penstock`
}

/** No server, or another one that has got the port since. */
function isUnreachable(thrown: unknown): boolean {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  return thrown instanceof Outage || code.startsWith('28') || code === '3D000'
}

/** Throws Refused unless the database has the tables of this very version. */
async function requireSchema(sql: Sql): Promise<void> {
  const [table] = await sql<{
    there: boolean
  }>`select to_regclass('migration') is not null as there`
  if (!table?.there)
    throw refusal('This database has no Penstock yet: the service makes it when it starts.')
  const [applied] = await sql<{ number: number }>`select max(number) as number from migration`
  const newest = (await readMigrations()).at(-1)!.number
  const is = applied?.number ?? 0
  if (is < newest)
    throw refusal(
      `The database is at version ${is} and this Penstock at ${newest}: start the service once.`,
    )
  if (is > newest)
    throw refusal(
      `The database is at version ${is} and this Penstock at ${newest}: use the newer one.`,
    )
}

type Setting = { sql: Sql; config: Config; url: string; io: Io }

/** What commands have that is not about the database. */
function outsideOf({ config, io }: Pick<Setting, 'config' | 'io'>): Outside {
  const { clock, random, transport, wait } = io
  return {
    ...{ clock, random, wait, new_id: idMaker(clock, random), download: httpDownload },
    progress: (line) => io.progress?.(line),
    stopHere: (stopped, by) => stopSigningHere(config.data_dir, { stopped, by }),
    readInput: () => io.input(),
    readFile: (name) =>
      readFile(name, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
        throw refusal(`${name} cannot be read: ${thrown.code}.`)
      }),
    writeFile: writeWhole,
    nodeAt(urls) {
      const { nodes } = readConfig(
        urls.flatMap((one) => ['--node-url', one]),
        io.env,
      )
      if (!nodes) throw refusal('No node is named: --node-url URL.')
      return tronNode({ nodes, transport })
    },
    wallets() {
      if (!config.wallets_file) throw refusal('No file of wallets is named: set PENSTOCK_WALLETS.')
      return readWallets(config.wallets_file, 'optional')
    },
  }
}

function needsOf({ sql, config, url, io }: Setting): Needs {
  const { random, transport } = io
  const { hostname, port, pathname } = new URL(url)
  return {
    ...outsideOf({ config, io }),
    sql,
    database: `${hostname}:${port || 5432}${pathname}`,
    async seal() {
      const keys = await keptSealingKeys(config)
      if (keys) return sealWith(keys, random)
      throw refusal(
        'There is no sealing key: set PENSTOCK_SECRET_KEY, or --data-dir to the folder that has secret.key.',
      )
    },
    depositAddress: async () => depositAddresses(await depositKey(sql, config)),
    chainAt(node_urls, solid_urls) {
      const named = [
        ...node_urls.map((one) => ['--node-url', one]),
        ...solid_urls.map((one) => ['--solid-node-url', one]),
      ]
      const { nodes } = readConfig(named.flat(), io.env)
      return nodes && chainView(nodes, transport)
    },
  }
}

async function stopSigningHere(
  data_dir: string,
  wanted: { stopped?: boolean | undefined; by?: string | undefined },
) {
  const file = stopFile(data_dir)
  if (wanted.stopped === true) {
    await requireWritable(data_dir)
    await writeWhole(file, `stopped by ${wanted.by}\n`)
  }
  if (wanted.stopped === false) await rm(file, { force: true })
  return existsSync(file)
}

/** The extended public key that deposit addresses are derived from: the operator's, or the one that
 *  `npm start` has noted in its data folder. */
async function depositKey(
  sql: Sql,
  { wallets_file, data_dir, database_url }: Config,
): Promise<string> {
  if (wallets_file) return (await readWallets(wallets_file, 'optional')).deposit_xpub
  const kept = await readFile(join(data_dir, 'deposit_xpub'), 'utf8').catch(() => undefined)
  // A sandbox has a customer from the beginning, and with it an address to compare with.
  const [customer] = await sql`select 1 from customer limit 1`
  if (kept === undefined || (database_url !== undefined && !customer)) {
    throw refusal('Deposit addresses need the public key of the wallets: set PENSTOCK_WALLETS.')
  }
  return kept.trim()
}

/** JSON with whole integers and times as text. Control characters that JSON lets through are
 *  written as escapes. */
function jsonText(value: unknown): string {
  const text = JSON.stringify(
    value,
    (_key, one: unknown) => (typeof one === 'bigint' ? JSON.rawJSON(one.toString()) : one),
    2,
  )
  return `${text.replace(/[\x7f-\x9f]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`)}\n`
}

function answerText({ value, text, note }: Answer): string {
  return `${text ?? `${shown(value).join('\n').trimStart()}\n`}${note === undefined ? '' : `\n${note}\n`}`
}

type Row = Record<string, unknown>

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !(value instanceof Date) && !Array.isArray(value)
const isTable = (value: unknown): value is Row[] =>
  Array.isArray(value) && (value.length === 0 || value.every(isRow))

/** A list as a table; one thing as its fields, with what it holds below. */
function shown(value: unknown): string[] {
  if (isTable(value)) return table(value)
  if (!isRow(value)) return [cell('', value)]
  const parts = Object.entries(value).filter(([, one]) => isRow(one) || isTable(one))
  const fields = Object.entries(value).filter((field) => !parts.some(([key]) => key === field[0]))
  const width = Math.max(0, ...fields.map(([key]) => heading(key).length)) + 2
  const lines = fields.map(([key, one]) => `${heading(key).padEnd(width)}${cell(key, one) || '-'}`)
  return [
    ...lines,
    ...parts.flatMap(([key, one]) => ['', heading(key), ...shown(one).map((line) => `  ${line}`)]),
  ]
}

/** `amount_sun` is read in TRX. */
const heading = (key: string) => key.replace(/_sun$/, ' TRX').replaceAll('_', ' ')

function table(rows: readonly Row[]): string[] {
  const [first] = rows
  if (!first) return ['none']
  const keys = Object.keys(first)
  const lines = [keys.map(heading), ...rows.map((row) => keys.map((key) => cell(key, row[key])))]
  const widths = keys.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)))
  const right = keys.map((key) =>
    rows.every((row) => row[key] === null || /^(bigint|number)$/.test(typeof row[key])),
  )
  const pad = (text: string, i: number) =>
    right[i] ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)
  return lines.map((line) => line.map(pad).join('  ').trimEnd())
}

/** One value on one line. What customers have written must not steer a terminal. */
function cell(key: string, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return wireTime(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'bigint') return key.endsWith('_sun') ? trxText(value) : value.toString()
  if (Array.isArray(value)) return value.map((one) => cell('', one)).join(', ')
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.replace(/\p{Cc}|\p{Cf}/gu, '\u00b7')
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a number that has no name.
    return `user ${process.getuid?.() ?? ''}`.trim()
  }
}

const [, script] = process.argv
if (script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url)) {
  // A reader that has seen enough, like `head`, is no failure.
  process.stdout.on('error', () => process.exit(0))
  process.exitCode = await runCommand(process.argv.slice(2), {
    env: process.env,
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
