// PostgreSQL through tagged templates: sql`select ... where id = ${id}`. One template is one whole
// statement, sent as a named prepared statement; a test finds every template in the source and
// prepares it against the migrated schema. int8 is bigint. A throw inside begin() is the rollback,
// and the transaction handle is dead once begin() has returned. Statements of a transaction are on
// their way as soon as they are made, in that order: those that do not need each other's answers,
// and the commit, cost one round trip together.

import { createHash } from 'node:crypto'
import pg from 'pg'
import { Outage } from '../lib/fault.ts'

type Row = Record<string, unknown>
/** Runs one statement, in a transaction of its own or in the caller's. */
export type Query = <R extends object = Row>(
  strings: TemplateStringsArray,
  ...values: unknown[]
) => Promise<R[]>

/** Statements of one transaction, and `send` for one whose answer nobody needs: the transaction
 *  waits for it together with its commit, and fails when it fails. */
export type Tx = Query & {
  send(strings: TemplateStringsArray, ...values: unknown[]): void
}

/** Statements each in a transaction of its own, and `begin` for several in one. */
export type Sql = Query & {
  /** Runs the work in one transaction: committed when it returns, rolled back when it throws or
   *  when one of its statements fails, those that were only sent included. Throws Outage
   *  when the connection is lost; if that happens during the commit, the outcome is unknown and the
   *  caller must look. */
  begin<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Waits for the connections in use, then closes them all. */
  close(): Promise<void>
}

/** Told how a pool of connections is used. */
export type Observer = {
  /** Once, with what says how many connections there are and how many wait for one. */
  opened(load: () => { connections: number; waiting: number }): void
  /** After each transaction or single statement. `outage`: why the database did not do it, as the
   *  class of SQLSTATE, `none` when there was no answer. */
  done(seconds: number, outage: string | undefined): void
}

export type SqlOptions = {
  observer?: Observer | undefined
  url: string
  connections_max?: number
  /** Who waits longer for a connection meets an Outage. */
  connection_timeout_ms?: number
  /** A statement that takes longer is cancelled by the server: nothing here is meant to. */
  statement_timeout_ms?: number
  /** Whether the process may end while connections are open that nobody uses. */
  ends_when_idle?: boolean
}

const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, (text: string) => BigInt(text))
types.setTypeParser(pg.types.builtins.NUMERIC, (text: string) => BigInt(text))
/** int8[], which the driver has no name for; one dimension. */
const INT8_ARRAY = 1016
types.setTypeParser(INT8_ARRAY, (text: string) =>
  text === '{}'
    ? []
    : text
        .slice(1, -1)
        .split(',')
        .map((item) => (item === 'NULL' ? null : BigInt(item))),
)

const statements = new WeakMap<TemplateStringsArray, { name: string; text: string }>()

function statement(strings: TemplateStringsArray): { name: string; text: string } {
  let known = statements.get(strings)
  if (!known) {
    const text = strings.reduce((sofar, part, i) => `${sofar}$${i}${part}`)
    known = { name: createHash('sha1').update(text).digest('base64url'), text }
    statements.set(strings, known)
  }
  return known
}

function openPool(options: SqlOptions): pg.Pool {
  const statement_timeout_ms = options.statement_timeout_ms ?? 30_000
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections_max ?? 10,
    types,
    keepAlive: true,
    pipeline: true,
    allowExitOnIdle: options.ends_when_idle ?? false,
    connectionTimeoutMillis: options.connection_timeout_ms ?? 10_000,
    statement_timeout: statement_timeout_ms,
    query_timeout: statement_timeout_ms + 5_000,
    idle_in_transaction_session_timeout: 60_000,
    application_name: 'penstock',
  })
  // An idle connection that the server closes is not an event: the pool drops it and opens another.
  pool.on('error', () => {})
  // One that is lost while it is handed out is seen by the code that uses it; without a listener it
  // would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

export function connect(options: SqlOptions): Sql {
  const pool = openPool(options)
  const { observer } = options
  observer?.opened(() => ({ connections: pool.totalCount, waiting: pool.waitingCount }))
  const observed = <T>(work: () => Promise<T>): Promise<T> =>
    observer ? timed(observer, work) : work()

  const statementAlone = async <R extends object>(
    strings: TemplateStringsArray,
    values: unknown[],
  ) => {
    const client = await pool.connect().catch(asOutage)
    try {
      const rows = await run<R>(client, strings, values)
      client.release()
      return rows
    } catch (thrown) {
      client.release(thrown instanceof Outage)
      throw thrown
    }
  }

  const query: Query = <R extends object>(strings: TemplateStringsArray, ...values: unknown[]) =>
    observed(() => statementAlone<R>(strings, values))

  async function transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch(asOutage)
    let open = true
    const answers: Promise<unknown>[] = []
    let first_failure: unknown
    const keep = <Answer>(answer: Promise<Answer>): Promise<Answer> => {
      // What is not waited for at once is waited for below; until then nobody may miss its failure.
      answer.catch((thrown: unknown) => {
        first_failure ??= thrown
      })
      answers.push(answer)
      return answer
    }
    const query: Query = (strings, ...values) => {
      if (!open) throw new Error('a transaction was used after its end')
      return keep(run(client, strings, values))
    }
    const send: Tx['send'] = (strings, ...values) => void query(strings, ...values)
    try {
      keep(client.query('begin').catch(asOutage))
      const result = await work(Object.assign(query, { send }))
      open = false
      // The server never hears of a value that the driver cannot send, and would commit the rest:
      // such a failure is known once the promises under way have gone on.
      await new Promise<void>((go) => process.nextTick(go))
      if (first_failure !== undefined) throw first_failure
      const [ended] = await Promise.all([client.query('commit').catch(asOutage), ...answers])
      if (ended.command !== 'COMMIT') throw new Error(`the transaction ended with ${ended.command}`)
      client.release()
      return result
    } catch (thrown) {
      open = false
      await client.query('rollback').then(
        () => client.release(),
        () => client.release(true),
      )
      throw isAfterFailure(thrown) ? first_failure : thrown
    }
  }

  const begin = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => observed(() => transaction(work))
  return Object.assign(query, { begin, close: () => pool.end() })
}

async function timed<T>({ done }: Observer, work: () => Promise<T>): Promise<T> {
  const began_ms = performance.now()
  let outage: string | undefined
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof Outage) outage = sqlStateClass(thrown.cause)
    throw thrown
  } finally {
    done((performance.now() - began_ms) / 1_000, outage)
  }
}

const sqlStateClass = (cause: unknown): string =>
  (cause instanceof pg.DatabaseError ? cause.code?.slice(0, 2) : undefined) ?? 'none'

async function run<R>(
  client: pg.PoolClient,
  strings: TemplateStringsArray,
  values: unknown[],
): Promise<R[]> {
  const { name, text } = statement(strings)
  const result = await client.query({ name, text, values }).catch(asOutage)
  return result.rows as R[]
}

/** What the server refused for a reason of its own: lost or unavailable connection, no resources,
 *  shutting down, a deadlock or a failed serialization. The statement did not happen and may
 *  succeed later. */
const OUTAGE_CLASSES = new Set(['08', '40', '53', '55', '57', '58'])

/** What the driver throws is the server's refusal, a value that it cannot send (a bug), or a
 *  connection that is gone. */
function asOutage(thrown: unknown): never {
  const refused = thrown instanceof pg.DatabaseError
  const passing = refused && OUTAGE_CLASSES.has(thrown.code?.slice(0, 2) ?? '')
  const bug = refused ? !passing : thrown instanceof TypeError || thrown instanceof RangeError
  if (bug) throw thrown
  throw new Outage('the database', { cause: thrown })
}

/** Whether a statement was refused only because one before it in its transaction had failed. */
const isAfterFailure = (thrown: unknown): boolean =>
  thrown instanceof pg.DatabaseError && thrown.code === '25P02'

/** The name of the constraint that a statement would have broken, if that is why it was refused. */
export function brokenConstraint(thrown: unknown): string | undefined {
  return thrown instanceof pg.DatabaseError ? thrown.constraint : undefined
}
