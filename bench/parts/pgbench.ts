// The same orders by PostgreSQL's own pgbench, without a service: what the database alone reaches
// with the statements that the service has sent (recording.ts). Their values are constants here,
// which is a little less for the server than values that are sent each time.

import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { Placement } from './recording.ts'

/** Of each run. */
export const SECONDS = 2

export function findPgbench(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort().reverse() : []
  const folders = [
    process.env.PG_BIN ?? '',
    ...versions.map((version) => `${debian}/${version}/bin`),
  ]
  folders.push(...(process.env.PATH ?? '').split(':'))
  return folders.map((folder) => join(folder, 'pgbench')).find((file) => existsSync(file))
}

/** Says the recorded transaction over and over, each time for orders that are new. Transactions a
 *  second. */
export async function pgbenchRun(
  { url, folder }: { url: string; folder: string },
  program: string,
  { recording, clients }: { recording: Placement; clients: number },
): Promise<number> {
  const script = join(folder, 'place.sql')
  await writeFile(script, await scriptOf(url, recording))
  const args = ['-n', '-M', 'prepared', '-f', script, '-c', `${clients}`, '-T', `${SECONDS}`, url]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += String(chunk)))
  await new Promise((resolve) => child.on('close', resolve))
  const [, per_second] = /tps = ([\d.]+)/.exec(text) ?? []
  if (per_second === undefined || text.includes('aborted'))
    throw new Error(`pgbench failed: ${text}`)
  return Math.round(Number(per_second) * 10) / 10
}

/** Stands in a value for what is another each time. */
const RUN = '@run@'
/** How many characters of an identifier say when it was made. */
const TIME_CHARACTERS = 10
/** As many digits that grow from one transaction to the next, and differ between connections. */
const RUN_TEXT = `lpad((((extract(epoch from now()) * 1000000)::bigint * 4 + :client_id)
  % 10000000000)::text, ${TIME_CHARACTERS}, '0')`

/** The statements as they were sent, with their values in place. Where an order is named, or what
 *  its customer calls it, that name is another in each transaction. */
async function scriptOf(url: string, { statements, orders }: Placement): Promise<string> {
  const varying = [
    ...new Set(orders.map(({ id }) => id.slice(0, TIME_CHARACTERS))),
    ...new Set(orders.map(({ external_id }) => external_id.replace(/-\d+$/, ''))),
  ]
  const types = await typesOf(
    url,
    statements.map(({ text }) => text),
  )
  const lines = statements.map(({ text, values }, i) =>
    text.replace(/\$(\d+)\b/g, (_, digits: string) => {
      const n = Number(digits) - 1
      return valueText(values[n], types[i]![n]!, varying)
    }),
  )
  return ['begin', ...lines, 'commit', ''].join(';\n')
}

/** What the server takes each `$n` of a statement for. */
async function typesOf(url: string, texts: readonly string[]): Promise<string[][]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const [i, text] of texts.entries()) await client.query(`prepare recorded_${i} as ${text}`)
    const { rows } = await client.query<{ name: string; types: string[] }>(
      'select name, parameter_types::text[] as types from pg_prepared_statements',
    )
    const found = new Map(rows.map(({ name, types }) => [name, types]))
    return texts.map((_, i) => found.get(`recorded_${i}`) ?? [])
  } finally {
    await client.end()
  }
}

function valueText(value: unknown, type: string, varying: readonly string[]): string {
  if (value === null || value === undefined) return `null::${type}`
  const plain =
    value instanceof Date
      ? value.toISOString()
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
  const text = varying.reduce((sofar, part) => sofar.replaceAll(part, RUN), plain)
  return text.includes(RUN)
    ? `replace(${literal(text)}, '${RUN}', ${RUN_TEXT})::${type}`
    : `${literal(text)}::${type}`
}

/** Without a colon: pgbench takes what follows one for a variable, in texts too. */
const literal = (text: string) =>
  `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''").replaceAll(':', '\\x3a')}'`
