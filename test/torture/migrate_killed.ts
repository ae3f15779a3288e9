// The command that migrates, killed at random moments and typed again, and typed twice at once,
// each time on a database without a table: whatever happened, the schema and the rights are those
// of a database that was migrated at one go.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Hosts, openClient } from 'penstock-service/platform/database/hosts.ts'
import type pg from 'pg'
import { printRights, printSchema } from '../../tools/print.ts'
import type { Rig } from './rig.ts'

export type KilledMigrations = {
  /** How often it was killed before it had ended by itself. */
  killed: number
  /** How many migrations were applied when it was killed in the middle of them. */
  stopped_at: number[]
  findings: string[]
}

const MAIN = new URL('../../packages/service/src/main.ts', import.meta.url).pathname

export async function killMigrations(rig: Rig, kills: number): Promise<KilledMigrations> {
  const findings: string[] = []
  const at_one_go = await emptyDatabase(rig)
  const [ms, code] = await timed(() => ended(typed(at_one_go)))
  if (code !== 0) findings.push(`migrating at one go ended with ${code}`)
  const wanted = await printed(at_one_go)
  const compare = async (url: string, what: string) => {
    const found = await printed(url)
    if (found !== wanted) findings.push(`${what}: ${firstDifference(wanted, found)}`)
  }
  const stopped_at: number[] = []
  let killed = 0
  for (let round = 1; killed < kills; round++) {
    const url = await emptyDatabase(rig)
    // Each try goes on from where the one before was killed, until one ends.
    for (;;) {
      const child = typed(url)
      const end = ended(child)
      if ((await Promise.race([end, delay(randomInt(Math.round(1.5 * ms)), 'late')])) === 'late')
        child.kill('SIGKILL')
      const code = await end
      if (code === 0) break
      if (code !== null) findings.push(`round ${round}: a migration ended with ${code}`)
      killed += 1
      stopped_at.push(await appliedIn(url))
      if (findings.length > 0 || killed >= 2 * kills) break
    }
    if ((await ended(typed(url))) !== 0) findings.push(`round ${round}: it does not go on`)
    await compare(url, `killed in round ${round}`)
    if (findings.length > 0) break
  }
  const url = await emptyDatabase(rig)
  const codes = await Promise.all([ended(typed(url)), ended(typed(url))])
  if (codes.some((code) => code !== 0)) findings.push(`two at once ended with ${codes}`)
  await compare(url, 'two at once')
  const amid = stopped_at.filter((applied) => applied > 0)
  if (amid.length === 0) findings.push('it was never killed amid the migrations: nothing is shown')
  return { killed, stopped_at: amid, findings }
}

let databases = 0

/** Another database of the rig's server. */
async function emptyDatabase({ database_url }: Rig): Promise<string> {
  const name = `migrated_${++databases}`
  await withClient(database_url, (client) =>
    client.query(`create database ${name} encoding 'UTF8' template template0`),
  )
  const url = new URL(database_url)
  url.pathname = `/${name}`
  return url.toString()
}

async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await openClient(Hosts.of(url), {})
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const typed = (url: string): ChildProcess =>
  spawn(process.execPath, [MAIN, 'migrate'], {
    stdio: 'ignore',
    env: { ...process.env, DATABASE_URL: url },
  })

/** Its exit code; null: it was killed. */
const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.once('exit', (code) => resolve(code)))

async function timed<Result>(work: () => Promise<Result>): Promise<[ms: number, Result]> {
  const began = performance.now()
  const result = await work()
  return [performance.now() - began, result]
}

const printed = async (url: string) => `${await printSchema(url)}\n${await printRights(url)}`

function firstDifference(wanted: string, found: string): string {
  const lines = found.split('\n')
  const at = wanted.split('\n').findIndex((line, i) => line !== lines[i])
  return `line ${at + 1} is ${lines[at] ?? 'missing'}`
}

/** How many migrations are in the database by its own word. */
const appliedIn = (url: string): Promise<number> =>
  withClient(url, async (client) => {
    const table = await client.query<{ there: boolean }>(
      "select to_regclass('migration') is not null as there",
    )
    if (!table.rows[0]!.there) return 0
    const { rows } = await client.query<{ applied: number }>(
      'select count(*)::int as applied from migration',
    )
    return rows[0]!.applied
  })
