// Whether a process of the service would start with the configuration of this machine, and do well
// with what it names: every mistake at once, before anything is started.

import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Type } from 'typebox'
import { reportNodes } from '../../chain/follow/node_report.ts'
import type { Node } from '../../chain/node/node.ts'
import { lookAtKeys } from '../../chain/wallets/permissions.ts'
import { readWallets } from '../../chain/wallets/wallet_file.ts'
import type { Clock } from '../../lib/clock.ts'
import { failureOf, refusal } from '../../lib/fault.ts'
import { silentLog } from '../../lib/log.ts'
import { requireAnswering } from '../../platform/database/durable.ts'
import { schemaComplaint } from '../../platform/database/migrations.ts'
import { connect, type Sql } from '../../platform/database/sql.ts'
import { Flag, ListOf, oneOf, optional, Text } from '../../platform/wire/schemas.ts'
import { whyRefused } from '../../run/program/node_version.ts'
import { requireRights } from '../../run/program/rights.ts'
import { hasCallers, isWorker, PROCESS_ROLES } from '../../run/program/roles.ts'
import { keptSealingKeys, sealingKeys } from '../../run/program/sealing_keys.ts'
import { type Configuration, local, type StartSettings } from '../table/operation.ts'
import { databasePlace } from '../table/place.ts'

/** One thing that was looked at, whether it is as it should be, and a sentence. */
type Finding = { check: string; ok: boolean; what: string }

/** `what` of that which is right; throws, or lists, what is wrong. */
type Look = () => Promise<string | { wrong: string[] }>

async function found(check: string, look: Look): Promise<Finding[]> {
  const result = await look().catch((thrown: unknown) => ({
    wrong: failureOf(thrown).sentence.split('\n'),
  }))
  return typeof result === 'string'
    ? [{ check, ok: true, what: result }]
    : result.wrong.map((what) => ({ check, ok: false, what }))
}

/** An alert is raised above it (`clock_off`). */
const CLOCK_OFF_MS_MAX = 1_000
const HEAD_AGE_MS_MAX = 60_000
/** Marks of the database, roots and a log of signatures are written there all the time. */
const FREE_BYTES_MIN = 1_000_000_000

function lookAtSettings({ config, mistakes, node }: Configuration): Finding[] {
  const missing: [boolean, string][] = [
    [!config.database_url, 'DATABASE_URL is not set.'],
    [!node, 'No node is named: --node-url, or PENSTOCK_NODES.'],
    [!config.wallets_file, 'PENSTOCK_WALLETS is not set.'],
  ]
  const wrong = [...mistakes, ...missing.flatMap(([is, what]) => (is ? [what] : []))]
  const refused = whyRefused(process.version)
  if (refused !== undefined && !config.loosened.includes('PENSTOCK_ALLOW_OLD_NODE'))
    wrong.push(refused)
  if (wrong.length > 0) return wrong.map((what) => ({ check: 'configuration', ok: false, what }))
  const allowed = config.loosened.length > 0 ? `; allowed by ${config.loosened.join(', ')}` : ''
  return [
    { check: 'configuration', ok: true, what: `for a process of role ${config.role}${allowed}` },
  ]
}

async function lookAtDatabase(config: StartSettings, clock: Clock): Promise<Finding[]> {
  const { database_url, standbys, role } = config
  if (database_url === undefined) return []
  const { api_database_url = database_url, console_database_url = database_url } = config
  const urls = [...new Set([database_url, api_database_url, console_database_url])]
  const pools = new Map(urls.map((url) => [url, connect({ url, connections_max: 1 })]))
  const sql = pools.get(database_url)!
  const api = pools.get(api_database_url)!
  try {
    const answering = await found('database', async () => {
      for (const one of pools.values()) await requireAnswering(one, standbys)
      const [server] = await sql<{ version: string }>`
        select current_setting('server_version') as version`
      return `PostgreSQL ${server!.version} at ${databasePlace(database_url)}`
    })
    // Without an answer each of the others would say the same.
    if (answering.some(({ ok }) => !ok)) return answering
    const schema = await found('schema', async () => {
      const complaint = await schemaComplaint(sql)
      return complaint === undefined ? 'the one that this version knows' : { wrong: [complaint] }
    })
    const clocks = await found('clock', () => compareClocks(sql, clock))
    if (schema.some(({ ok }) => !ok)) return [...answering, ...schema, ...clocks]
    const rights = await found('rights', async () => {
      const console_ = pools.get(console_database_url)!
      await requireRights({ api, worker: sql, console: console_ }, { ...config, log: silentLog })
      return 'each connection may do its work'
    })
    const sealing = await found('sealing key', async () => {
      if (!(await keptSealingKeys(config))) return 'none yet: the first start makes one'
      await sealingKeys(config, sql, hasCallers(role) ? api : undefined)
      return 'opens the secrets of the database'
    })
    return [...answering, ...schema, ...clocks, ...rights, ...sealing]
  } finally {
    for (const one of pools.values()) await one.close()
  }
}

async function compareClocks(sql: Sql, clock: Clock): Promise<string | { wrong: string[] }> {
  const before_ms = clock.now().getTime()
  const [{ now } = { now: new Date(0) }] = await sql<{ now: Date }>`select clock_timestamp() as now`
  const off_ms = now.getTime() - (before_ms + clock.now().getTime()) / 2
  const seconds = (Math.abs(off_ms) / 1_000).toFixed(1)
  return Math.abs(off_ms) <= CLOCK_OFF_MS_MAX
    ? 'as that of the database'
    : { wrong: [`The clock of the database is ${seconds} s ${off_ms > 0 ? 'ahead' : 'behind'}.`] }
}

async function lookAtNodes(node: Node | undefined, clock: Clock): Promise<Finding[]> {
  if (!node) return []
  const reports = await reportNodes({ node, clock })
  const each = reports.map(({ name, head_number, head_time, error }): Finding => {
    const check = 'node'
    if (error !== null || head_time === null)
      return { check, ok: false, what: `${name} does not answer: ${error}.` }
    const age_ms = clock.now().getTime() - head_time.getTime()
    const what = `${name}: block ${head_number}`
    return age_ms <= HEAD_AGE_MS_MAX
      ? { check, ok: true, what }
      : { check, ok: false, what: `${what} is ${Math.round(age_ms / 1_000)} s old.` }
  })
  const answering = reports.filter(({ error }) => error === null)
  return [...each, ...(await lookAtAgreement(node, answering))]
}

/** Whether nodes say the same of the newest block that all of them hold for solid. */
async function lookAtAgreement(
  node: Node,
  reports: readonly { name: string; solid_number: number | null }[],
): Promise<Finding[]> {
  if (reports.length < 2) return []
  const number = Math.min(...reports.map(({ solid_number }) => solid_number ?? 0))
  return found('nodes', async () => {
    const ids = await Promise.all(
      reports.map(async ({ name }) => {
        const [block] = await node.only(name).blocks(number, number, 'solid')
        return { name, id: block?.id ?? 'no block' }
      }),
    )
    const different = new Set(ids.map(({ id }) => id))
    if (different.size === 1) return `agree about the solid block ${number}`
    const said = ids.map(({ name, id }) => `${name} says ${id}`).join(', ')
    return { wrong: [`The nodes disagree about the solid block ${number}: ${said}.`] }
  })
}

async function lookAtWallets({ config, node }: Configuration): Promise<Finding[]> {
  const { wallets_file, role, loosened } = config
  if (wallets_file === undefined) return []
  return found('wallets', async () => {
    const wallets = await readWallets(wallets_file, isWorker(role) ? 'needed' : 'refused')
    if (!node || !isWorker(role)) return `${wallets.pool.length} of the pool`
    const { complaints } = await lookAtKeys(node, wallets)
    if (complaints.length > 0 && !loosened.includes('PENSTOCK_ALLOW_WIDE_KEYS'))
      return { wrong: complaints.map(({ said }) => said) }
    return `${wallets.pool.length} of the pool; keys may do what they need`
  })
}

/** The folder, or the one in which it will be made. */
async function nearestFolder(folder: string): Promise<string> {
  const there = await stat(folder).catch(() => undefined)
  return there || dirname(folder) === folder ? folder : nearestFolder(dirname(folder))
}

const lookAtDisk = ({ data_dir }: StartSettings): Promise<Finding[]> =>
  found('data folder', async () => {
    const folder = await nearestFolder(resolve(data_dir))
    await access(folder, constants.W_OK | constants.X_OK).catch(() => {
      throw refusal(`${folder} cannot be written to.`)
    })
    const { bavail, bsize } = await statfs(folder)
    const gigabytes = ((bavail * bsize) / 1e9).toFixed(1)
    return bavail * bsize >= FREE_BYTES_MIN
      ? `${folder}, ${gigabytes} GB are free`
      : { wrong: [`${folder} has ${gigabytes} GB left.`] }
  })

export const configurationOperations = [
  local({
    path: '/operator/config/check',
    role: 'admin',
    summary: 'whether the service would start here, and what is wrong, all of it at once',
    description:
      'Reads the environment as `serve` does and tries what it names: settings and misspelt ' +
      'names, the database with its standbys, schema and roles, clocks, the sealing key, each ' +
      'node and whether they agree, wallets and what their keys may do, the data folder. ' +
      'Nothing is changed. The exit code is 1 when something is wrong.',
    body: Type.Object({
      role: optional(oneOf(PROCESS_ROLES, 'the role of the process that will be started (all)')),
    }),
    reply: ListOf({ check: Text, ok: Flag, what: Text }),
    cli: {
      node: 'solid',
      checks_configuration: true,
      text: (value) =>
        (value as Finding[])
          .map(({ check, ok, what }) => `${ok ? 'ok   ' : 'WRONG'}  ${check}: ${what}\n`)
          .join(''),
    },
    async handle({ clock, configuration, body: { role } }) {
      if (!configuration) throw refusal('It is typed, where the service will be started.')
      const asked = configuration(role)
      const [database, nodes, wallets, disk] = await Promise.all([
        lookAtDatabase(asked.config, clock),
        lookAtNodes(asked.node, clock),
        lookAtWallets(asked),
        lookAtDisk(asked.config),
      ])
      const value = [...lookAtSettings(asked), ...database, ...nodes, ...wallets, ...disk]
      return { value, ok: value.every(({ ok }) => ok) }
    },
  }),
]
