// ClickHouse over HTTP: one statement an exchange, rows in its binary form. Its answers are bounded
// in bytes and in time, by its own limits and by ours.

import { Agent, request } from 'undici'
import { Misuse, Outage } from '../../lib/fault.ts'

export type ClickHouseServer = { url: string; user: string; password: string; database: string }

/** A statement of which ClickHouse said that it reads more rows than it may. */
export class TooManyRows extends Error {
  override name = 'TooManyRows'
}

export type ClickHouse = {
  /** Sends a statement, with rows for it, and answers with what comes back. Throws Outage when it
   *  was not carried out, or may not have been. */
  run(
    statement: string,
    how?: { rows?: Buffer; rows_read_max?: number; bytes_max?: number },
  ): Promise<Buffer>
}

const DEADLINE_MS = 60_000
/** Far above 500 blocks of the network. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024
const TOO_MANY_ROWS = /^Code: 158\b/
/** Inserts into tables of several machines end when all of them have the rows. An answer is whole
 *  or an error, whatever the user's profile says. */
const ALWAYS = {
  insert_distributed_sync: '1',
  // Lost rows are put again, and replicas would pass over those that they have seen before.
  insert_deduplicate: '0',
  skip_unavailable_shards: '0',
  distributed_group_by_no_merge: '0',
  read_overflow_mode: 'throw',
  timeout_overflow_mode: 'throw',
  group_by_overflow_mode: 'throw',
  wait_end_of_query: '1',
  max_execution_time: String(DEADLINE_MS / 1_000),
  max_insert_block_size: '1048576',
}

const DATABASE = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/

/** Reads `http://user:password@host:8123/database`. */
export function readClickHouseUrl(given: string, name: string): ClickHouseServer {
  const url = URL.canParse(given) ? new URL(given) : undefined
  const database = url?.pathname.slice(1) || 'default'
  const plain = url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  const user = decoded(url?.username ?? '')
  const password = decoded(url?.password ?? '')
  if (!plain || user === undefined || password === undefined || !DATABASE.test(database))
    throw new Misuse(`${name} is not like http://user:password@host:8123/database.`)
  return { url: url.origin, user: user || 'default', password, database }
}

/** Undefined: it is not encoded as it should be, or has what no header can have. */
function decoded(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part)
    return /^[ -~]*$/.test(text) ? text : undefined
  } catch {
    return undefined
  }
}

export function clickHouse({ url, user, password, database }: ClickHouseServer): ClickHouse {
  const dispatcher = new Agent({
    connections: 8,
    headersTimeout: DEADLINE_MS,
    bodyTimeout: DEADLINE_MS,
    maxResponseSize: ANSWER_BYTES_MAX,
    allowH2: false,
  })
  const headers = { 'x-clickhouse-user': user, 'x-clickhouse-key': password }
  return {
    async run(statement, { rows, rows_read_max, bytes_max = ANSWER_BYTES_MAX } = {}) {
      const limits = rows_read_max === undefined ? {} : { max_rows_to_read: String(rows_read_max) }
      const query = new URLSearchParams({ database, ...ALWAYS, ...limits })
      // With rows the body is taken: the statement goes into the URL. Those of inserts are short.
      if (rows) query.set('query', statement)
      const signal = AbortSignal.timeout(DEADLINE_MS)
      const body = rows ?? statement
      const asked = { method: 'POST', headers, body, dispatcher, signal } as const
      const { status, bytes } = await exchange(`${url}/?${query}`, asked, bytes_max).catch(
        (cause) => {
          throw new Outage('ClickHouse does not answer.', { cause })
        },
      )
      if (status === 200) return bytes
      // The beginning says what it is; the rest repeats the statement.
      const said = bytes
        .subarray(0, 300)
        .toString('latin1')
        .replaceAll(/[^ -~]+/g, ' ')
      if (TOO_MANY_ROWS.test(said)) throw new TooManyRows(said)
      throw new Outage(`ClickHouse refuses a statement: ${said}`)
    },
  }
}

async function exchange(url: string, asked: Parameters<typeof request>[1], bytes_max: number) {
  const { statusCode: status, body } = await request(url, asked)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (status === 200 && length > bytes_max) throw new Error(`more than ${bytes_max} bytes`)
    chunks.push(chunk)
  }
  return { status, bytes: Buffer.concat(chunks) }
}
