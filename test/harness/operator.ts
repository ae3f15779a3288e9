// What an operator types: the commands of packages/service as they are typed, on a real
// database, with or without a service.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { HDKey } from '@scure/bip32'
import { person } from 'penstock-devchain/scene.ts'
import { inspectConfig, unknownVariables } from 'penstock-service/config.ts'
import { readCommand } from 'penstock-service/operators/command_line/arguments.ts'
import { type Io, runCommand } from 'penstock-service/operators/command_line/run.ts'
import { OPERATIONS } from 'penstock-service/operators/operations.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { replyChecker } from 'penstock-service/platform/wire/replies.ts'
import { asRole, freshDatabase, testCluster } from './database.ts'
import { repeatable, type World } from './world.ts'

export const SEALING_KEY = '07'.repeat(32)
export type CommandOutput = { code: number; out: string; err: string }

/** An operator at work: what is typed, with blanks between the words, and what comes back. */
export type Operator = {
  sql: Sql
  io: Io
  type(...words: string[]): Promise<CommandOutput>
  /** The answer of a command that succeeds, as JSON. */
  json<Value>(...words: string[]): Promise<Value>
}

type Place = { sql: Sql; env: NodeJS.ProcessEnv; now(): Date; transport: Io['transport'] }

const checking = replyChecker()

/** Throws unless JSON that a command has printed is what its operation documents. */
export async function checkPrinted(words: readonly string[], out: string): Promise<void> {
  if (!words.includes('--json') || out === '') return
  const { path, reply, cli } = readCommand(OPERATIONS, words).operation
  const check = await checking
  check({ path, reply: cli.prints ?? reply }, out)
}

function operator({ sql, env, now, transport }: Place): Operator {
  const said = { out: '', err: '' }
  const io: Io = {
    env,
    inspectConfig: (args, env) => ({
      ...inspectConfig(args, env),
      unknown: unknownVariables(env),
    }),
    user: 'ops',
    transport,
    random: repeatable('cli'),
    clock: { now },
    out: (text) => {
      said.out += text
    },
    err: (text) => {
      said.err += text
    },
    wait: async () => {},
    input: async () => '',
  }
  const type = async (...words: string[]): Promise<CommandOutput> => {
    Object.assign(said, { out: '', err: '' })
    const code = await runCommand(words, io)
    await checkPrinted(words, said.out)
    return { code, ...said }
  }
  return {
    sql,
    io,
    type,
    async json(...words) {
      const { code, out, err } = await type(...words, '--json')
      assert.equal(code, 0, `${words.join(' ')}: ${err}`)
      return JSON.parse(out)
    },
  }
}

const deposit_xpub = HDKey.fromMasterSeed(repeatable('wallets').bytes(32)).derive(
  "m/44'/195'/0'",
).publicExtendedKey

/** A file with wallets that differ only by the key of the deposit addresses. */
export async function walletsFile(t: TestContext, xpub = deposit_xpub): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-cli-'))
  t.after(() => rm(folder, { recursive: true }))
  const { address, key } = person('pool-0')
  const wallet = { address, permission_id: 2, private_key: key }
  const wallets = {
    pool: [wallet],
    activation: wallet,
    recharge_address: address,
    deposit_xpub: xpub,
  }
  const file = join(folder, 'wallets.json')
  await writeFile(file, JSON.stringify(wallets), { mode: 0o600 })
  return file
}

/** An operator at a database without a running service. */
export async function quietOperator(t: TestContext): Promise<Operator> {
  const { sql, url } = await freshDatabase(t)
  const env = {
    DATABASE_URL: asRole(url, 'penstock_admin'),
    PENSTOCK_SECRET_KEY: SEALING_KEY,
    PENSTOCK_WALLETS: await walletsFile(t),
  }
  // After the rows that the migrations have made.
  let now_ms = Date.now()
  const now = () => {
    now_ms += 1_000
    return new Date(now_ms)
  }
  return operator({ sql, env, now, transport: () => Promise.reject(new Error('no node')) })
}

/** An operator at a whole service on a chain. */
export async function worldOperator(
  world: Pick<World, 'sql' | 'scene' | 'now'>,
): Promise<Operator> {
  const [row] = await world.sql<{ name: string }>`select current_database()::text as name`
  const url = new URL(await testCluster())
  url.pathname = `/${row!.name}`
  return operator({
    sql: world.sql,
    env: {
      DATABASE_URL: asRole(url.toString(), 'penstock_admin'),
      PENSTOCK_SECRET_KEY: SEALING_KEY,
    },
    now: () => world.now,
    transport: async ({ url, body }) =>
      world.scene.devchain.request('POST', new URL(url).pathname, body),
  })
}

/** What `books check` finds, each with its rule. */
export async function booksFindings(at: Operator): Promise<string[]> {
  const { out } = await at.type('books', 'check', '--json')
  type Report = { rule: string; findings: { subject: string; found: string }[] }
  const { rules } = JSON.parse(out) as { rules: Report[] }
  return rules.flatMap(({ rule, findings }) =>
    findings.map(({ subject, found }) => `${rule} ${subject}: ${found}`),
  )
}

/** An operator at the database of a service that runs by the real time. */
export const operatorAt = (sql: Sql, database_url: string): Operator =>
  operator({
    sql,
    env: {
      DATABASE_URL: asRole(database_url, 'penstock_admin'),
      PENSTOCK_SECRET_KEY: SEALING_KEY,
    },
    now: () => new Date(),
    transport: () => Promise.reject(new Error('no node')),
  })

/** An operator with one customer. */
export async function operatorWithCustomer(
  t: TestContext,
): Promise<Operator & { customer: string }> {
  const at = await quietOperator(t)
  const { id } = await at.json<{ id: string }>('customers', 'create', 'Anna')
  return { ...at, customer: id }
}
