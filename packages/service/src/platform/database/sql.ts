// PostgreSQL through tagged templates: sql`select ... where id = ${id}`. One template is one whole
// statement, sent as a named prepared statement; a test finds every template in the source and
// prepares it against the migrated schema. int8 is bigint. A throw inside begin() is the rollback,
// and the transaction handle is dead once begin() has returned. Statements of a transaction are on
// their way as soon as they are made, in that order: those that do not need each other's answers,
// and the commit, cost one round trip together.

import { createHash } from 'node:crypto'
import pg from 'pg'
import { Outage } from '../../lib/fault.ts'
import { type Again, notAgain } from './again.ts'
import { writeOutColumns } from './columns.ts'
import { clientOf, cutOff, Hosts, socketOf } from './hosts.ts'
import {
  asOutage,
  isAfterFailure,
  isOwnRefusal,
  isRefusal,
  isUnreplicated,
  outageClass,
  withNothingDone,
} from './outages.ts'

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
   *  when one of its statements fails, those that were only sent included. Throws NothingDone when
   *  the database could not do it and surely did not; any other Outage when the connection was lost
   *  during the commit, or the commit was not replicated: the outcome is unknown and the caller
   *  must look. */
  begin<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Waits for the connections in use, then closes them all. */
  close(): Promise<void>
}

/** The connections of one pool. */
export type Connections = Sql & {
  /** Ends them all at once, whatever is under way on them: for a server that answers no more. What
   *  is asked afterwards gets new ones. */
  drop(): void
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
  /** Told of each commit that stands on the disk of the primary alone. */
  unreplicated?: (() => void) | undefined
  /** One host or several: see hosts.ts. */
  url: string
  connections_max?: number
  /** Who waits longer for a connection meets an Outage. */
  connection_timeout_ms?: number
  /** A statement that takes longer is cancelled by the server: nothing here is meant to. */
  statement_timeout_ms?: number
  /** What surely was not done, and what only reads, is done again by this; transactions wait for a
   *  connection by it, and are not done again. Left out: nothing is. */
  again?: Again | undefined
  /** What is not answered for so long is given up, and its connection with it; left out: a little
   *  longer than the server may take. */
  answer_timeout_ms?: number
  /** Whether the process may end while connections are open that nobody uses. */
  ends_when_idle?: boolean
  /** Whether a statement is planned once, and not anew for its values: for one that is long and
   *  asked often. */
  plans_once?: boolean
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

type Statement = { name: string; text: string; kept: readonly number[] | undefined }

/** A template has the same lists of columns whenever it is used: they are constants. */
const statements = new WeakMap<TemplateStringsArray, Statement>()

function statement(template: TemplateStringsArray, values: readonly unknown[]): Statement {
  let known = statements.get(template)
  if (!known) {
    const { strings, kept } = writeOutColumns(template, values) ?? { strings: template }
    const text = strings.reduce((sofar, part, i) => `${sofar}$${i}${part}`)
    known = { name: createHash('sha1').update(text).digest('base64url'), text, kept }
    statements.set(template, known)
  }
  return known
}

/** Whether a statement alone changes no row: no function of ours does. */
const onlyReads = ([first = '']: TemplateStringsArray) => /^\s*select\b/.test(first)

/** A server that does not even say that it cancels is given up so much later. */
const UNANSWERED_MS = 3_000

function openPool(options: SqlOptions, hosts: Hosts): pg.Pool {
  const statement_timeout_ms = options.statement_timeout_ms ?? 30_000
  const pool = new pg.Pool({
    Client: clientOf(hosts),
    max: options.connections_max ?? 10,
    types,
    keepAlive: true,
    pipeline: true,
    allowExitOnIdle: options.ends_when_idle ?? false,
    connectionTimeoutMillis: options.connection_timeout_ms ?? 10_000,
    statement_timeout: statement_timeout_ms,
    query_timeout: options.answer_timeout_ms ?? statement_timeout_ms + UNANSWERED_MS,
    idle_in_transaction_session_timeout: 60_000,
    application_name: 'penstock',
  })
  // An idle connection that the server closes is not an event: the pool drops it and opens another.
  pool.on('error', () => {})
  // What is asked next comes after it; a connection that is gone fails that, too.
  if (options.plans_once)
    pool.on('connect', (client) => {
      client.query('set plan_cache_mode = force_generic_plan').catch(() => {})
    })
  return pool
}

/** The connections of a pool that are open, and those whose last commit was not replicated. */
function watchPool(pool: pg.Pool, unreplicated: (() => void) | undefined) {
  const connected = new Set<pg.PoolClient>()
  const alone = new WeakSet<pg.PoolClient>()
  const dropped = new WeakSet<pg.PoolClient>()
  pool.on('connect', (client) => {
    connected.add(client)
    client.on('notice', (notice) => {
      if (isUnreplicated(notice)) alone.add(client)
    })
  })
  pool.on('remove', (client) => connected.delete(client))
  return {
    drop() {
      for (const client of connected) {
        dropped.add(client)
        cutOff(client)
      }
    },
    /** The pool notices the end of a connection a little later. */
    async take(): Promise<pg.PoolClient> {
      for (;;) {
        const client = await pool.connect()
        if (!dropped.has(client)) return client
        client.release(true)
      }
    },
    requireReplicated(client: pg.PoolClient): void {
      if (!alone.has(client)) return
      unreplicated?.()
      const cause = new Error('the commit was not replicated: its outcome is unknown')
      throw new Outage('the database', { cause })
    },
  }
}

export function connect(options: SqlOptions): Connections {
  const hosts = Hosts.of(options.url)
  const pool = openPool(options, hosts)
  const { drop, requireReplicated, ...watched } = watchPool(pool, options.unreplicated)
  const { observer, again = notAgain } = options
  observer?.opened(() => ({ connections: pool.totalCount, waiting: pool.waitingCount }))
  const observed = <T>(work: () => Promise<T>): Promise<T> =>
    observer ? timed(observer, work) : work()

  const take = (): Promise<pg.PoolClient> =>
    hosts
      .reach(watched.take)
      .catch(asOutage)
      .catch((thrown: unknown) => Promise.reject(withNothingDone(thrown)))

  const statementAlone = async <R extends object>(
    strings: TemplateStringsArray,
    values: unknown[],
  ) => {
    const client = await take()
    try {
      const rows = await run<R>(client, strings, values)
      requireReplicated(client)
      client.release()
      return rows
    } catch (thrown) {
      client.release(!isOwnRefusal(thrown))
      throw isRefusal(thrown) ? withNothingDone(thrown) : thrown
    }
  }

  const query: Query = <R extends object>(strings: TemplateStringsArray, ...values: unknown[]) =>
    again(() => observed(() => statementAlone<R>(strings, values)), {
      repeatable: onlyReads(strings),
    })

  const takeInTime = () => again(take, { repeatable: false })
  const begin = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    observed(() => transaction({ take: takeInTime, requireReplicated }, work))
  return Object.assign(query, { begin, drop, close: () => pool.end() })
}

type Pool = {
  take(): Promise<pg.PoolClient>
  requireReplicated(client: pg.PoolClient): void
}

async function transaction<T>(
  { take, requireReplicated }: Pool,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const client = await take()
  let open = true
  let committing = false
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
    inOnePiece(client)
    keep(client.query('begin').catch(asOutage))
    const result = await work(Object.assign(query, { send }))
    open = false
    // The server never hears of a value that the driver cannot send, and would commit the rest:
    // such a failure is known once the promises under way have gone on.
    await new Promise<void>((go) => process.nextTick(go))
    if (first_failure !== undefined) throw first_failure
    committing = true
    const commit = keep(client.query('commit').catch(asOutage))
    const [ended] = await Promise.all([commit, ...answers])
    if (ended.command !== 'COMMIT') throw new Error(`the transaction ended with ${ended.command}`)
    requireReplicated(client)
    client.release()
    return result
  } catch (thrown) {
    open = false
    const failure = isAfterFailure(thrown) ? first_failure : thrown
    await giveBack(client, first_failure ?? (committing ? failure : undefined))
    const surely_nothing = !committing || isRefusal(first_failure)
    throw surely_nothing && failure === first_failure ? withNothingDone(failure) : failure
  }
}

/** Ends what is open on a connection and gives it back; one that may not be as good as before is
 *  not used again. */
async function giveBack(client: pg.PoolClient, failure: unknown): Promise<void> {
  if (failure !== undefined && !isOwnRefusal(failure)) return client.release(true)
  await client.query('rollback').then(
    () => client.release(),
    () => client.release(true),
  )
}

async function timed<T>({ done }: Observer, work: () => Promise<T>): Promise<T> {
  const began_ms = performance.now()
  let outage: string | undefined
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof Outage) outage = outageClass(thrown)
    throw thrown
  } finally {
    done((performance.now() - began_ms) / 1_000, outage)
  }
}

async function run<R>(
  client: pg.PoolClient,
  strings: TemplateStringsArray,
  values: unknown[],
): Promise<R[]> {
  const { name, text, kept } = statement(strings, values)
  const sent = (kept ? kept.map((i) => values[i]) : values).map(withText)
  inOnePiece(client)
  const asked_ms = performance.now()
  const result = await client.query({ name, text, values: sent }).catch(asOutage)
  if (performance.now() - asked_ms > SLOW_MS) planAnew(client)
  return result.rows as R[]
}

/** An answer that takes longer was perhaps planned while its tables were a fraction of what they
 *  are. It may have waited as well: there is no harm in that. */
const SLOW_MS = 100
/** To plan all statements of a connection anew takes some tens of milliseconds. */
const DISCARD_EVERY_MS = 10_000
const discarded_ms = new WeakMap<pg.PoolClient, number>()

/** Lets a connection plan its statements anew. A prepared statement keeps a plan until PostgreSQL
 *  has looked at its tables again, which takes a minute and more: one made for a few orders reads
 *  all of them when there are a hundred thousand. */
function planAnew(client: pg.PoolClient): void {
  const now_ms = performance.now()
  if (now_ms - (discarded_ms.get(client) ?? Number.NEGATIVE_INFINITY) < DISCARD_EVERY_MS) return
  discarded_ms.set(client, now_ms)
  // In a transaction that has failed, or on a connection that is gone, there is nothing to gain.
  client.query('discard plans').catch(() => {})
}

const gathering = new WeakSet<pg.PoolClient>()

/** What is asked of a connection in one turn is written to it in one piece: a piece for each
 *  statement would cost a call of the system here, and wake the server for each. */
function inOnePiece(client: pg.PoolClient): void {
  if (gathering.has(client)) return
  gathering.add(client)
  const socket = socketOf(client)
  socket.cork()
  process.nextTick(() => {
    gathering.delete(client)
    socket.uncork()
  })
}

const withText = (value: unknown) => (Array.isArray(value) ? (arrayText(value) ?? value) : value)

/** A list as PostgreSQL reads an array of one dimension. The driver's own way is a large part of
 *  what a batch of orders costs; what is rare is left to it: undefined. */
function arrayText(items: readonly unknown[]): string | undefined {
  const texts: string[] = []
  let last_date: Date | undefined
  let date_text = ''
  for (const item of items) {
    if (typeof item === 'string') texts.push(quoted(item))
    else if (item === null) texts.push('NULL')
    else if (typeof item === 'bigint' || typeof item === 'number' || typeof item === 'boolean')
      texts.push(String(item))
    else if (item instanceof Date) {
      // Rows that are made together were mostly made at one moment.
      if (item !== last_date) date_text = item.toISOString()
      // The year of any other is more than four digits.
      if (date_text.length !== DATE_LENGTH) return undefined
      last_date = item
      texts.push(date_text)
    } else return undefined
  }
  return `{${texts.join()}}`
}

const DATE_LENGTH = '2026-11-23T00:00:00.000Z'.length
/** Control characters and surrogates: what JSON may write in a way that PostgreSQL does not
 *  read. */
const UNLIKE_JSON = /[^ -\ud7ff\ue000-\uffff]/

/** An item of an array. Quotes and backslashes are escaped as they are in JSON. */
function quoted(text: string): string {
  if (!/["\\]/.test(text)) return `"${text}"`
  if (!UNLIKE_JSON.test(text)) return JSON.stringify(text)
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** The name of the constraint that a statement would have broken, if that is why it was refused. */
export function brokenConstraint(thrown: unknown): string | undefined {
  return thrown instanceof pg.DatabaseError ? thrown.constraint : undefined
}
