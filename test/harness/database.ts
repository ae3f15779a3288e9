// A migrated database for each test: a clone of a template that is migrated once. The server is, in
// this order: the one in TEST_DATABASE_URL (PostgreSQL 15 or later, a superuser), the one that `npm
// test` has started for the whole run, or a throw-away cluster of this process. A database whose
// test fails is kept as long as the server is there; that of a test that has passed is restored and
// given to a later test of the same file.

import { createHash, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { TestContext } from 'node:test'
import type { DatabaseRole } from 'penstock-service/operators/database/roles.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { readMigrations } from 'penstock-service/platform/database/migrations.ts'
import { connect, type Sql, type Tx } from 'penstock-service/platform/database/sql.ts'
import { type Postgres, startPostgres } from 'penstock-service/platform/postgres/server.ts'
import pg from 'pg'

/** The server of the processes of a run, or of this one. */
const CLUSTER_VARIABLE = 'TEST_CLUSTER_URL'

/** Where that server listens beside its port; nothing for one that listens there alone. */
const SOCKET_VARIABLE = 'TEST_CLUSTER_SOCKET'

/** Starts a server to test on, for this process and those that it starts. What is asked within a
 *  process goes over its socket: a fifth of the cost of a round trip less. */
export async function startCluster(settings: Record<string, string> = {}): Promise<Postgres> {
  const folder = socketFolder()
  const sockets = folder !== undefined && { unix_socket_directories: folder }
  const server = await startPostgres({ throw_away: true, settings: { ...sockets, ...settings } })
  process.env[CLUSTER_VARIABLE] = server.url
  if (folder !== undefined) process.env[SOCKET_VARIABLE] = folder
  return server
}

/** What the system's name of a socket may have, without the file itself. */
const SOCKET_FOLDER_LENGTH_MAX = 90
const OTHERS_MAY_WRITE = 0o003

/** Where such a socket can be. As root, the server is somebody else, who may not write there. */
function socketFolder(): string | undefined {
  const folder = tmpdir()
  const may_write =
    process.getuid?.() !== 0 || (statSync(folder).mode & OTHERS_MAY_WRITE) === OTHERS_MAY_WRITE
  return may_write && folder.length <= SOCKET_FOLDER_LENGTH_MAX ? folder : undefined
}

/** Its socket, as a parameter of a connection. */
export function socketHost(): { host?: string } {
  const host = process.env[SOCKET_VARIABLE]
  return host === undefined || process.env.TEST_DATABASE_URL !== undefined ? {} : { host }
}

let cluster: Promise<string> | undefined
let template: Promise<string> | undefined

/** The server that tests run on, as a superuser; it ends with this process if this process has
 *  started it. */
export function testCluster(): Promise<string> {
  const url = process.env.TEST_DATABASE_URL ?? process.env[CLUSTER_VARIABLE]
  cluster ??= url ? Promise.resolve(url) : startCluster().then(({ url }) => url)
  return cluster
}

/** A freshly migrated database with connections to it, for this test alone. */
export async function freshDatabase(
  t: TestContext,
  options: Omit<ConnectionOptions, 'role'> = {},
): Promise<{ sql: Sql; url: string; name: string }> {
  const database = await takeDatabase()
  t.after(() => database.end(t))
  return { sql: database.connect(options), url: database.url, name: database.name }
}

type ConnectionOptions = {
  connections_max?: number
  role?: DatabaseRole
  /** The server sees the address of who asks, as it does in a house. */
  by_tcp?: boolean
  plans_once?: boolean
}

const kindOf = ({
  connections_max = 0,
  role,
  by_tcp = false,
  plans_once = false,
}: ConnectionOptions) => `${connections_max} ${role ?? ''} ${by_tcp} ${plans_once}`

/** A database of one test at a time. */
export class TestDatabase {
  readonly name: string
  /** For other processes; what is here uses connect(). */
  readonly url: string
  /** Connections that stay from test to test: what the server knows of a statement by then is
   *  half of the work of a test. By the kind of what they are. */
  private readonly pools = new Map<string, Sql[]>()
  private lent: { pool: Sql; close(): Promise<void>; kind: string }[] = []

  constructor({ name, url }: { name: string; url: string }) {
    this.name = name
    this.url = url
  }

  /** Connections for the test that runs now, whose commits need not reach the disk; with the rights
   *  of a role of the service, or with all of them. */
  connect(options: ConnectionOptions = {}): Sql {
    const kind = kindOf(options)
    const pool = this.pools.get(kind)?.pop() ?? this.open(options)
    const sql = untilClosed(pool)
    this.lent.push({ pool, close: sql.close, kind })
    return sql
  }

  /** Takes back connections before the test is over. */
  async giveBack(sql: Sql): Promise<void> {
    const lent = this.lent.find(({ close }) => close === sql.close)!
    await sql.close()
    this.lent = this.lent.filter((one) => one !== lent)
    this.keep(lent.pool, lent.kind)
  }

  /** From now on emptyTables() brings back the rows that there are now: the database is of no use
   *  to other tests. */
  async keepRows(): Promise<void> {
    const client = new pg.Client({ connectionString: this.url })
    await client.connect()
    await client.query('drop schema test_harness cascade')
    await client.query(HARNESS)
    await client.end()
  }

  private open({ connections_max, role, by_tcp, plans_once }: ConnectionOptions): Sql {
    const more = role === undefined ? '' : `-c role=${role}`
    return connect({
      url: withoutSync(this.url, {
        application_name: KEPT,
        more,
        ...(!by_tcp && socketHost()),
      }),
      ends_when_idle: true,
      statement_timeout_ms: STATEMENT_MS_MAX,
      connection_timeout_ms: STATEMENT_MS_MAX,
      ...(plans_once !== undefined && { plans_once }),
      ...(connections_max !== undefined && { connections_max }),
    })
  }

  /** The test is over: the database waits for the next one, or is kept when the test has failed. */
  async end(t: TestContext, passed = hasPassed(t)): Promise<void> {
    await this.takeBack()
    if (!passed) {
      await this.close()
      t.diagnostic(`kept: database ${this.name}`)
    } else if (process.env.TEST_DATABASE_URL) await this.drop()
    else spare.push(this)
  }

  /** Nobody needs the database any more. */
  async drop(): Promise<void> {
    await this.takeBack()
    await this.close()
    await dropDatabase(this.name)
  }

  private async takeBack(): Promise<void> {
    for (const { pool, close, kind } of this.lent.splice(0)) {
      await close()
      this.keep(pool, kind)
    }
  }

  private keep(pool: Sql, kind: string): void {
    this.pools.set(kind, [...(this.pools.get(kind) ?? []), pool])
  }

  private async close(): Promise<void> {
    const pools = [...this.pools.values()].flat()
    this.pools.clear()
    await Promise.all(pools.map((pool) => pool.close()))
  }

  /** Ends what else is connected and restores the rows. False, and the database is gone, when the
   *  schema has been changed: that is not restored. */
  async restore(): Promise<boolean> {
    const kind = kindOf({})
    const pool = this.pools.get(kind)?.pop() ?? this.open({})
    this.keep(pool, kind)
    const restored = await pool.begin(async (tx) => {
      await tx`
        select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
          and backend_type = 'client backend' and (application_name <> ${KEPT} or state <> 'idle')`
      const changed = await tx`select from test_harness.schema_change limit 1`
      if (changed.length === 0) await tx`select test_harness.empty_tables()`
      return changed.length === 0
    })
    if (!restored) await this.drop()
    return restored
  }
}

// Node's types lack `passed`.
const hasPassed = (t: TestContext) => (t as TestContext & { readonly passed: boolean }).passed

/** The name that connections which stay go by at the server. */
const KEPT = 'test harness'

/** Databases of tests that have passed. Restoring one takes a tenth of what a clone takes; it is
 *  restored when it is used again, because by then the test before is over with all that it has to
 *  clean up. */
const spare: TestDatabase[] = []

/** A freshly migrated database for a caller that says when the test is over. */
export async function takeDatabase(): Promise<TestDatabase> {
  for (let database = spare.pop(); database; database = spare.pop())
    if (await database.restore()) return database
  return new TestDatabase(await createDatabase())
}

/** The same connections for one test: it ends with what the test has begun, and not before. */
function untilClosed(pool: Sql): Sql {
  const running = new Set<Promise<unknown>>()
  let closed = false
  const during = <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) return Promise.reject(new Error('the connections were used after their end'))
    const result = work()
    running.add(result)
    const done = () => running.delete(result)
    result.then(done, done)
    return result
  }
  const query = <R extends object>(strings: TemplateStringsArray, ...values: unknown[]) =>
    during(() => pool<R>(strings, ...values))
  return Object.assign(query, {
    begin: <T>(work: (tx: Tx) => Promise<T>) => during(() => pool.begin(work)),
    async close() {
      closed = true
      await Promise.allSettled(running)
    },
  })
}

/** On a machine whose disk is busy a test may be slow, but does not fail for it. */
const STATEMENT_MS_MAX = 120_000

/** The address with a commit that does not wait for the disk: what tests write need not outlive
 *  the server. The server itself is one that money may be kept on. */
export function withoutSync(
  url: string,
  { more = '', ...parameters }: { more?: string; application_name?: string; host?: string } = {},
): string {
  const options = `-c synchronous_commit=off ${more}`.trim()
  return `${url}?${new URLSearchParams({ options, application_name: 'penstock', ...parameters })}`
}

/** The same database with the rights of one role of the service, and no others. */
export function asRole(url: string, role: DatabaseRole): string {
  const options = new URLSearchParams({ options: `-c role=${role}` })
  return `${url}${url.includes('?') ? '&' : '?'}${options}`
}

/** A clone of the migrated template, for those who clean up themselves. */
export async function createDatabase(): Promise<{ url: string; name: string }> {
  template ??= makeTemplate()
  const from = await template
  const name = `${databasesOf(process.pid)}${randomBytes(6).toString('hex')}`
  await asAdmin(`create database ${name} template ${from}`)
  return { name, url: await urlOf(name) }
}

/** A clone for those who would start a server of their own and need no more of it than a database:
 *  to make and migrate one takes longer than most of what is done with it. */
export async function databaseAsServer(): Promise<Postgres> {
  const { name, url } = await createDatabase()
  return { url, stop: () => dropDatabase(name), ended: new Promise(() => {}) }
}

const databasesOf = (pid: number) => `test_${pid}_`

/** Drops what a process that was killed has left. */
export async function dropDatabasesOf(pid: number): Promise<void> {
  const left = await asAdmin<{ datname: string }>(
    `select datname from pg_database where starts_with(datname, '${databasesOf(pid)}')`,
  )
  for (const { datname } of left.rows) await dropDatabase(datname)
}

export async function dropDatabase(name: string): Promise<void> {
  await asAdmin(`drop database if exists ${name} with (force)`)
}

/** Brings a database back to the state after the migrations, their rows included, in a few
 *  milliseconds. Only for databases of this harness, and while no transaction is open on it. */
export async function emptyTables(sql: Sql): Promise<void> {
  await sql`select test_harness.empty_tables()`
}

let admins: pg.Pool | undefined

/** Runs one statement on the server's own database, on one connection that stays but does not keep
 *  the process alive. */
async function asAdmin<Row extends pg.QueryResultRow>(
  statement: string,
): Promise<pg.QueryResult<Row>> {
  const connectionString = await testCluster()
  if (!admins) {
    admins = new pg.Pool({ connectionString, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
    // The server may end before this process does.
    admins.on('error', () => {})
  }
  return admins.query<Row>(statement)
}

async function urlOf(name: string): Promise<string> {
  const url = new URL(await testCluster())
  url.pathname = `/${name}`
  return url.toString()
}

/** Makes the template unless it is there. Its name tells its content, so that an old one is never
 *  used; it gets the name when it is complete, and a lock keeps several processes from making it at
 *  once. */
export async function makeTemplate(): Promise<string> {
  const sum = createHash('sha256').update(HARNESS)
  for (const { sha256 } of await readMigrations()) sum.update(sha256)
  const name = `template_${sum.digest('hex').slice(0, 16)}`
  await asAdmin(`select pg_advisory_lock(${TEMPLATE_LOCK})`)
  try {
    const made = await asAdmin(`select from pg_database where datname = '${name}'`)
    if (made.rows.length > 0) return name
    await asAdmin(`drop database if exists ${name}_unfinished with (force)`)
    await asAdmin(`create database ${name}_unfinished template template0`)
    const url = await urlOf(`${name}_unfinished`)
    await migrate(url)
    const harness = new pg.Client({ connectionString: url })
    await harness.connect()
    await harness.query(HARNESS)
    await harness.end()
    await asAdmin(`alter database ${name}_unfinished rename to ${name}`)
    return name
  } finally {
    await asAdmin(`select pg_advisory_unlock(${TEMPLATE_LOCK})`)
  }
}

const TEMPLATE_LOCK = 7_204_615_092

/** Keeps the rows that the migrations have made, and a function that restores them; notes when the
 *  schema is changed. Small tables are emptied by delete, which touches few pages; a table that has
 *  grown is truncated, so that thousands of rounds leave no dead rows behind. */
const HARNESS = `
create schema test_harness;
do $$
declare
  t record;
  clear text := '';
  fill text := '';
  n bigint;
begin
  for t in
    select c.oid, c.relname, format('%I.%I', s.nspname, c.relname) as name,
           format('test_harness.%I', c.relname) as seed,
           (select string_agg(format('%I', attname), ', ' order by attnum)
              from pg_attribute
             where attrelid = c.oid and attnum > 0 and not attisdropped
               and attgenerated = '') as columns
      from pg_class c join pg_namespace s on s.oid = c.relnamespace
     where s.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname <> 'migration'
     order by c.relname
  loop
    clear := clear || format(
      'if pg_relation_size(%1$L) > 262144 then truncate %1$s cascade; '
      'elsif pg_relation_size(%1$L) > 0 or %2$L then delete from %1$s; end if;' || chr(10),
      t.name, exists (select from pg_inherits where inhparent = t.oid));
    execute format('select count(*) from %s', t.name) into n;
    if n > 0 then
      execute format('create table %s as select %s from %s', t.seed, t.columns, t.name);
      fill := fill || format(
        'insert into %s (%s) overriding system value select * from %s;' || chr(10),
        t.name, t.columns, t.seed);
    end if;
  end loop;
  for t in
    select format('%I.%I', schemaname, sequencename) as name, start_value, last_value
      from pg_sequences where schemaname = 'public'
  loop
    fill := fill || format('perform setval(%L, %s, %L);' || chr(10),
                           t.name, coalesce(t.last_value, t.start_value), t.last_value is not null);
  end loop;
  execute format('create function test_harness.empty_tables() returns void language plpgsql '
                 'set session_replication_role = replica as %L',
                 'begin' || chr(10) || clear || fill || 'end');
end $$;
create table test_harness.schema_change (tag text);
create function test_harness.note_schema_change() returns event_trigger language plpgsql as
  $$ begin insert into test_harness.schema_change values (tg_tag); end $$;
create event trigger test_harness_schema_change on ddl_command_end
  execute function test_harness.note_schema_change();
-- Also where a test has turned triggers off to take constraints away.
alter event trigger test_harness_schema_change enable always;
analyze`
