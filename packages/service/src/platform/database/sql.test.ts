import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { freshDatabase, testCluster } from 'penstock-test/harness/database.ts'
import { Outage } from '../../lib/fault.ts'
import { NothingDone } from './outages.ts'
import { brokenConstraint, connect, type Sql, type Tx } from './sql.ts'

test('values of all kinds go in and come out as they are', async (t) => {
  const { sql } = await freshDatabase(t)
  const at = new Date('2026-10-08T15:26:32.123Z')
  const bytes = Buffer.from([0, 1, 255])
  const sun = 2n ** 62n
  const texts = ['a', "it's", 'x"y,{}', '']
  const [row] = await sql<Record<string, unknown>>`
    select ${sun}::bigint as sun, ${5}::integer as small, ${at}::timestamptz as at,
      ${bytes}::bytea as bytes,
           ${texts}::text[] as texts, ${[sun, -1n]}::bigint[] as sums, ${null}::text as nothing,
           ${true}::boolean as yes,
           count(*) as n from generate_series(1, 3)`
  assert.deepEqual(row, {
    sun,
    small: 5,
    at,
    bytes,
    texts,
    sums: [sun, -1n],
    nothing: null,
    yes: true,
    n: 3n,
  })
})

test('lists of all kinds go in as arrays, with whatever their items hold', async (t) => {
  const { sql } = await freshDatabase(t)
  const texts = ['', 'a,b', '{}', 'NULL', '"', '\\', '\\"', ' ', 'é', '𝒳"', '\n"', '\t\\', null]
  const dates = [
    new Date(0),
    new Date('2026-11-23T01:02:03.456Z'),
    new Date('0099-01-02T00:00:00Z'),
  ]
  const far = [new Date(Date.UTC(12_345, 0, 2)), dates[1]]
  const [row] = await sql`
    select ${texts}::text[] as texts, ${[1n, 2n ** 62n, null, -3n]}::bigint[] as numbers,
      ${[1.5, -0.25]}::float8[] as floats, ${[true, false, null]}::boolean[] as flags,
      ${[...dates, dates[2]]}::timestamptz[] as dates, ${far}::timestamptz[] as far,
      ${[]}::text[] as none, ${[Buffer.from('\\"')]}::bytea[] as bytes`
  assert.deepEqual(row, {
    texts,
    numbers: [1n, 2n ** 62n, null, -3n],
    floats: [1.5, -0.25],
    flags: [true, false, null],
    dates: [...dates, dates[2]],
    far,
    none: [],
    bytes: [Buffer.from('\\"')],
  })
})

test('a value is never part of the statement', async (t) => {
  const { sql } = await freshDatabase(t)
  const nasty = "'; drop table transfer; --"
  const [row] = await sql<{ text: string }>`select ${nasty}::text as text`
  assert.equal(row?.text, nasty)
  await sql`select 1 from transfer`
})

test('a throw is the rollback, and a return the commit', async (t) => {
  const { sql } = await freshDatabase(t)
  const open = (tx: Tx, id: string) =>
    tx`insert into account (id, may_go_negative) values (${id}, false)`
  await sql.begin((tx) => open(tx, 'kept'))
  await assert.rejects(
    sql.begin(async (tx) => {
      await open(tx, 'gone')
      throw new Error('no')
    }),
    /no/,
  )
  // A statement that fails spoils the transaction, also when somebody swallows it.
  await assert.rejects(
    sql.begin(async (tx) => {
      await open(tx, 'gone too')
      await tx`select 1 / 0`.catch(() => {})
      await open(tx, 'and this')
    }),
  )
  const rows = await sql`select id from account where not may_go_negative`
  assert.deepEqual(rows, [{ id: 'kept' }])
})

test('a statement only sent is done in its turn, and its failure fails the rest', async (t) => {
  const { sql } = await freshDatabase(t)
  const open = (tx: Tx, id: string): void =>
    tx.send`insert into account (id, may_go_negative) values (${id}, false)`
  const kept = () => sql`select id from account where not may_go_negative`
  const seen = await sql.begin(async (tx) => {
    open(tx, 'kept')
    return tx`select id from account where not may_go_negative`
  })
  assert.deepEqual([seen, await kept()], [[{ id: 'kept' }], [{ id: 'kept' }]])
  for (const then of [async () => {}, (tx: Tx) => tx`select 1`]) {
    const broken = sql.begin(async (tx) => {
      open(tx, 'gone')
      open(tx, 'kept')
      await then(tx)
    })
    // Not that a statement after it could not be done.
    await assert.rejects(broken, (thrown) => brokenConstraint(thrown) === 'account_pkey')
  }
  assert.deepEqual(await kept(), [{ id: 'kept' }])
})

test('a value that cannot be sent fails its transaction', async (t) => {
  const { sql } = await freshDatabase(t)
  const broken = sql.begin(async (tx) => {
    tx.send`insert into account (id, may_go_negative) values ('gone', false)`
    tx.send`select ${{ sun: 1n }}::jsonb`
  })
  await assert.rejects(broken, TypeError)
  assert.deepEqual(await sql`select id from account where not may_go_negative`, [])
})

test('a transaction cannot be used after its end', async (t) => {
  const { sql } = await freshDatabase(t)
  let kept: Tx | undefined
  await sql.begin(async (tx) => {
    kept = tx
  })
  assert.throws(() => kept!.send`select 1`, /after its end/)
})

test('when its connection dies a transaction is an outage, and none of it happens', async (t) => {
  const { sql } = await freshDatabase(t, { connections_max: 2 })
  const open = (tx: Tx, id: string) =>
    tx`insert into account (id, may_go_negative) values (${id}, false)`
  let later: unknown
  await assert.rejects(
    sql.begin(async (tx) => {
      await open(tx, 'before')
      const [me] = await tx<{ pid: number }>`select pg_backend_pid() as pid`
      await sql`select pg_terminate_backend(${me!.pid})`
      later = await open(tx, 'after').catch((thrown: unknown) => thrown)
      await open(tx, 'after that')
    }),
    Outage,
  )
  assert.ok(later instanceof Error)
  assert.deepEqual(await sql`select id from account where not may_go_negative`, [])
  for (let i = 0; i < 5; i++) await sql.begin((tx) => tx`select 1`)
})

test('idle connections that the server closes are replaced without a word', async (t) => {
  const { sql } = await freshDatabase(t, { connections_max: 3 })
  await Promise.all([1, 2, 3].map(() => sql`select pg_sleep(0.02)`))
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()`
  // A connection may be handed out before its end is noticed: an outage then, and the next one
  // works.
  for (let i = 0; i < 10; i++)
    await sql`select 1`.catch((thrown) => assert.ok(thrown instanceof Outage, String(thrown)))
  assert.deepEqual(await sql`select 1 as one`, [{ one: 1 }])
})

test('a server that is not there, and one that is too slow, is an outage', async () => {
  const nowhere = connect({ url: 'postgres://localhost:1/none' })
  await assert.rejects(nowhere`select 1`, Outage)
  await assert.rejects(
    nowhere.begin((tx) => tx`select 1`),
    Outage,
  )
  await nowhere.close()
  const impatient = connect({ url: await testCluster(), statement_timeout_ms: 1_000 })
  await assert.rejects(impatient`select pg_sleep(10)`, Outage)
  assert.deepEqual(await impatient`select 1 as one`, [{ one: 1 }])
  await impatient.close()
})

test('a deadlock is an outage for one of the two: nothing happened, it may retry', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`insert into account (id, may_go_negative) values ('a', false), ('b', false)`
  let both = 0
  let go = () => {}
  const met = new Promise<void>((resolve) => {
    go = resolve
  })
  const lock = (first: string, second: string) =>
    sql.begin(async (tx) => {
      await tx`select 1 from account where id = ${first} for update`
      both += 1
      if (both === 2) go()
      await met
      await tx`select 1 from account where id = ${second} for update`
    })
  const outcomes = await Promise.allSettled([lock('a', 'b'), lock('b', 'a')])
  const lost = outcomes.filter((one) => one.status === 'rejected')
  assert.equal(lost.length, 1)
  assert.ok(lost[0]!.reason instanceof Outage)
})

test('a broken constraint is named, and everything else has no name', async (t) => {
  const { sql } = await freshDatabase(t)
  const insert = () => sql`insert into account (id, may_go_negative) values ('a', false)`
  await insert()
  await assert.rejects(insert(), (thrown) => brokenConstraint(thrown) === 'account_pkey')
  await assert.rejects(sql`select 1 / 0`, (thrown) => brokenConstraint(thrown) === undefined)
  assert.equal(brokenConstraint(new Error('account_pkey')), undefined)
})

const backend = async (sql: Sql) =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`)[0]!.pid

test('a connection is used again after the refusal of a statement, and no other', async (t) => {
  const { sql } = await freshDatabase(t, { connections_max: 1 })
  const insert = () => sql`insert into account (id, may_go_negative) values ('a', false)`
  await insert()
  const first = await backend(sql)
  await assert.rejects(insert(), (thrown) => brokenConstraint(thrown) === 'account_pkey')
  await assert.rejects(
    sql.begin((tx) => tx`insert into account (id, may_go_negative) values ('a', false)`),
    (thrown) => brokenConstraint(thrown) === 'account_pkey',
  )
  assert.equal(await backend(sql), first)
  const look = () => sql`select * from changing`
  const spoilt: Record<string, () => Promise<unknown>> = {
    'takes no writes': async () => {
      await sql`select set_config('default_transaction_read_only', 'on', false)`
      await sql`delete from account where id = 'b'`
    },
    'has a plan that died': async () => {
      await sql`create table changing (a int)`
      await look()
      await sql`alter table changing add column b int`
      await look()
    },
    'has a statement by that name already': async () => {
      const text = 'select 42 as answer'
      const name = createHash('sha1').update(text).digest('base64url')
      await sql([`prepare "${name}" as ${text}`] as unknown as TemplateStringsArray)
      await sql`select 42 as answer`
    },
    'has lost its prepared statements': async () => {
      await look()
      await sql`deallocate all`
      await look()
    },
  }
  for (const [what, spoil] of Object.entries(spoilt)) {
    const before = await backend(sql)
    await assert.rejects(spoil(), NothingDone, what)
    assert.notEqual(await backend(sql), before, what)
    assert.deepEqual(await sql`select id from account where not may_go_negative`, [{ id: 'a' }])
  }
  assert.deepEqual(await look(), [])
})

test('an outage says when it is sure that nothing was done', async (t) => {
  const { sql } = await freshDatabase(t, { connections_max: 2 })
  const insert = (tx: Tx) => tx`insert into account (id, may_go_negative) values ('a', false)`
  const end = (tx: Tx) => tx`select pg_terminate_backend(pg_backend_pid())`
  const before = sql.begin(async (tx) => {
    await insert(tx)
    await end(tx)
  })
  await assert.rejects(before, NothingDone)
  // While it commits, its connection is lost.
  await sql`create function end_me() returns trigger language plpgsql as
    $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`
  await sql`create constraint trigger ends after insert on account deferrable initially deferred
    for each row execute function end_me()`
  const unknown = (thrown: unknown) => thrown instanceof Outage && !(thrown instanceof NothingDone)
  await assert.rejects(sql.begin(insert), unknown)
  await assert.rejects(sql`insert into account (id, may_go_negative) values ('b', false)`, unknown)
  await assert.rejects(connect({ url: 'postgres://localhost:1/none' })`select 1`, NothingDone)
})

test('what is under way on connections that are dropped fails at once', async (t) => {
  const { url } = await freshDatabase(t)
  const sql = connect({ url })
  const under_way = [
    sql`select pg_sleep(60)`,
    sql.begin(async (tx) => {
      await tx`select 1`
      await tx`select pg_sleep(60)`
    }),
  ]
  const sleeping = async () => {
    const rows = await sql`
      select 1 from pg_stat_activity
      where datname = current_database() and wait_event = 'PgSleep'`
    return rows.length
  }
  while ((await sleeping()) < under_way.length) await delay(10)
  const failed = Promise.all(under_way.map((one) => assert.rejects(one, Outage)))
  sql.drop()
  await failed
  assert.deepEqual(await sql`select 1 as one`, [{ one: 1 }])
  await sql.close()
})

test('what was planned for a few rows is planned anew when a statement took long', async (t) => {
  const { sql } = await freshDatabase(t, { connections_max: 1 })
  const ids = (n: number) => Array.from({ length: n }, (_, i) => `${i}`)
  await sql`create temporary table thing (id text primary key, name text)`
  const make = (these: readonly string[]) =>
    sql`insert into thing select id, id from unnest(${these}::text[]) as id`
  /** How often all rows were read to find one of them. */
  const findOne = () =>
    sql.begin(async (tx) => {
      const count = async () => {
        const [row] = await tx<{ scans: bigint }>`
          select pg_stat_get_xact_numscans('thing'::regclass) as scans`
        return row!.scans
      }
      const before = await count()
      await tx`select name from thing where id = ${'0'}`
      return (await count()) - before
    })
  await make(ids(1))
  await sql`analyze thing`
  // What is asked so often is planned once for all.
  for (let i = 0; i < 6; i++) assert.equal(await findOne(), 1n)
  await make(ids(5_000).slice(1))
  // At once, unless something before has taken long and they were planned anew a moment ago.
  const looks: bigint[] = []
  while (looks.at(-1) !== 0n && looks.length < 100) {
    await sql`select pg_sleep(0.15)`
    looks.push(await findOne())
  }
  assert.equal(looks.at(-1), 0n)
  await sql`drop table thing`
})
