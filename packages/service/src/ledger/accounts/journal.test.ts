import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import {
  createDatabase,
  dropDatabase,
  freshDatabase,
  testCluster,
} from 'penstock-test/harness/database.ts'
import pg from 'pg'
import { migrate } from '../../platform/database/migrate.ts'
import { connect, type Sql, type Tx } from '../../platform/database/sql.ts'
import { drain } from '../../platform/steps/step.ts'
import { recordActions } from './actions.ts'
import { sealStep } from './journal.ts'
import {
  captureAll,
  customerAccount,
  holdAll,
  move,
  openAccount,
  REVENUE,
  WORLD,
} from './ledger.ts'
import { checkJournal, readPlainly, readSeals, sumOfSeal } from './seals.ts'

const made_at = new Date('2026-10-08T15:26:32.123Z')
const clock = { now: () => made_at }
const ANNA = customerAccount('anna')

async function ledger(t: TestContext): Promise<{ sql: Sql; url: string }> {
  const { sql, url } = await freshDatabase(t, { connections_max: 6 })
  await sql.begin((tx) => openAccount(tx, ANNA))
  await deposit(sql, 'first')
  return { sql, url }
}

const deposit = (sql: Sql, id: string) =>
  sql.begin((tx) => move(tx, { id, debit: WORLD, credit: ANNA, amount_sun: 10n, made_at }))

const seal = (sql: Sql) => drain([sealStep({ sql, clock })])

const look = (sql: Sql) => sql.begin((tx) => checkJournal(tx))

const sealed = async (sql: Sql) =>
  sql<{
    entries: bigint
    last_entry: bigint
  }>`select entries, last_entry from journal order by number`

test('entries are sealed once, in order of their numbers, and the seal holds', async (t) => {
  const { sql } = await ledger(t)
  await seal(sql)
  await deposit(sql, 'second')
  await deposit(sql, 'third')
  await Promise.all([seal(sql), seal(sql), seal(sql)])
  await seal(sql)
  assert.deepEqual(await sealed(sql), [
    { entries: 1n, last_entry: 1n },
    { entries: 2n, last_entry: 3n },
  ])
  assert.deepEqual(await look(sql), [])
})

test('entries of many small seals are read together, and each is in its own', async (t) => {
  const { sql } = await ledger(t)
  for (let i = 0; i < 20; i++) {
    await deposit(sql, `deposit ${i}`)
    await seal(sql)
  }
  let reads = 0
  const found = await sql.begin((tx) => {
    const counting = ((...of: Parameters<Tx>) => {
      if (/from transfer\s+where number >/.test(of[0].join(''))) reads += 1
      return tx(...of)
    }) as Tx
    return checkJournal(Object.assign(counting, tx))
  })
  assert.deepEqual(found, [])
  assert.ok(reads <= 3, `${reads} for ${(await sealed(sql)).length} seals`)
})

test('an entry of an open transaction is waited for; nobody waits for the journal', async (t) => {
  const { sql } = await ledger(t)
  const step = sealStep({ sql, clock })
  await sql.begin(async (slow) => {
    await move(slow, { id: 'slow', debit: WORLD, credit: REVENUE, amount_sun: 1n, made_at })
    await deposit(sql, 'quick')
    assert.equal(await step.run(), false)
    assert.deepEqual(await sealed(sql), [])
    await deposit(sql, 'quicker')
  })
  await drain([step])
  const all = await sealed(sql)
  assert.deepEqual(
    [all.reduce((sum, one) => sum + one.entries, 0n), all.at(-1)?.last_entry],
    [4n, 4n],
  )
  assert.deepEqual(await look(sql), [])
})

test('numbers of what was rolled back are left out', async (t) => {
  const { sql } = await ledger(t)
  const undone = sql.begin(async (tx) => {
    await move(tx, { id: 'undone', debit: WORLD, credit: ANNA, amount_sun: 1n, made_at })
    throw new Error('undone')
  })
  await assert.rejects(undone, /undone/)
  await deposit(sql, 'second')
  await seal(sql)
  assert.deepEqual(await sealed(sql), [{ entries: 2n, last_entry: 3n }])
  assert.deepEqual(await look(sql), [])
})

test('after a fail-over nothing is sealed by what only the server before had', async (t) => {
  const { sql } = await ledger(t)
  const step = sealStep({ sql, clock })
  await drain([step])
  // What a standby has that is promoted later: of the sequence as much as was logged ahead.
  const marks = await sql`select last_entry, writers, made_at from journal_mark`
  const lost = sql.begin(async (tx) => {
    for (let i = 0; i < 49; i++)
      await move(tx, { id: `lost ${i}`, debit: WORLD, credit: ANNA, amount_sun: 1n, made_at })
    assert.equal(await step.run(), false)
    throw new Error('the server is gone')
  })
  await assert.rejects(lost, /the server is gone/)
  await sql`select setval('transfer_number_seq', 33)`
  await sql`delete from journal_mark`
  for (const { last_entry, writers, made_at } of marks)
    await sql`
      insert into journal_mark (last_entry, writers, made_at)
      values (${last_entry}, ${writers}, ${made_at})`
  for (let i = 0; i < 5; i++) {
    await deposit(sql, `later ${i}`)
    await drain([step])
  }
  assert.deepEqual(await look(sql), [])
  const all = await sealed(sql)
  assert.deepEqual(
    [all.reduce((sum, one) => sum + one.entries, 0n), all.at(-1)?.last_entry],
    [6n, 38n],
  )
})

/** By the hand of somebody who may do anything. */
const TAMPERINGS: Record<string, string> = {
  'an amount': `update transfer set amount_sun = 11 where id = 'second'`,
  'a time': `update transfer set made_at = made_at + interval '1 microsecond' where id = 'second'`,
  'a party': `update transfer set credit = 'customer:zoe' where id = 'second'`,
  'an entry that is taken out': `delete from transfer where id = 'second'`,
  'an entry that is put in': `
    insert into transfer (id, kind, debit, credit, amount_sun, made_at, number)
    overriding system value
    select 'more', kind, debit, credit, amount_sun, made_at, number from transfer
    where id = 'second'`,
  'an entry in the place of another': `update transfer set id = 'other' where id = 'third'`,
  'a seal that is taken out': 'delete from journal where number = 1',
  'the sum of a seal': `update journal set sha256 = repeat('0', 64) where number = 2`,
  'the time of a seal': `
    update journal set sealed_at = sealed_at - interval '1 day' where number = 2`,
}

test('whatever of a sealed entry or of a seal is changed, shows', async (t) => {
  const { sql, url } = await ledger(t)
  await seal(sql)
  await deposit(sql, 'second')
  await seal(sql)
  await deposit(sql, 'third')
  await seal(sql)
  const hand = new pg.Client({ connectionString: url })
  await hand.connect()
  hand.on('error', () => {})
  t.after(() => hand.end())
  for (const [what, statement] of Object.entries(TAMPERINGS)) {
    await hand.query('begin; set local session_replication_role = replica')
    await hand.query(statement)
    await hand.query('commit')
    const found = await look(sql)
    assert.notEqual(found.length, 0, what)
    await hand.query('begin; set local session_replication_role = replica')
    await hand.query(
      `delete from transfer where id in ('more', 'second', 'other'); delete from journal;
       delete from journal_mark`,
    )
    await hand.query('alter sequence transfer_number_seq restart with 1')
    await hand.query(`delete from transfer; commit`)
    for (const id of ['first', 'second', 'third']) {
      await deposit(sql, id)
      await seal(sql)
    }
    assert.deepEqual(await look(sql), [], `after ${what}`)
  }
})

test("what is written stays by grant too: the tables' owner may not change it", async (t) => {
  const { name, url } = await createDatabase()
  const admin = new pg.Client({ connectionString: await testCluster() })
  await admin.connect()
  const role = `owner_${randomBytes(6).toString('hex')}`
  const password = randomBytes(12).toString('hex')
  await admin.query(`create role ${role} login password '${password}'`)
  await admin.query(`create database ${role} owner ${role} template template0`)
  const owned = new URL(url)
  owned.pathname = `/${role}`
  owned.username = role
  owned.password = password
  await migrate(owned.toString())
  const sql = connect({ url: owned.toString() })
  t.after(async () => {
    await sql.close()
    await dropDatabase(role)
    await dropDatabase(name)
    await admin.query(`drop role ${role}`)
    await admin.end()
  })
  await sql.begin((tx) => openAccount(tx, ANNA))
  await deposit(sql, 'first')
  await sql.begin(async (tx) =>
    holdAll(tx, [{ id: 'h', debit: ANNA, credit: REVENUE, amount_sun: 3n, made_at }]),
  )
  await sql.begin(async (tx) => captureAll(tx, [{ hold_id: 'h', amount_sun: 3n }], made_at))
  await seal(sql)
  assert.deepEqual(await sealed(sql), [{ entries: 3n, last_entry: 3n }])
  for (const change of [
    () => sql`update transfer set amount_sun = 1`,
    () => sql`delete from transfer`,
    () => sql`truncate transfer cascade`,
    () => sql`update journal set sha256 = ''`,
    () => sql`delete from journal`,
    () => sql`update operator_action set reason = ''`,
  ]) {
    await assert.rejects(change(), /permission denied/)
  }
})

/** The database's own functions, replaced by some that know only what was there when they were
 *  made. */
const FUNCTIONS_THAT_LIE = `
  create table kept_text as select number, entry_text(t) as text from transfer as t;
  create or replace function entry_text(of transfer) returns text language sql stable as $$
    select coalesce((select text from kept_text where kept_text.number = of.number), '') $$;
  create table kept_sum as select number, sha256 from journal;
  create or replace function journal_sum(of journal, previous text, record text, entries text)
    returns text language sql stable as $$
      select sha256 from kept_sum where kept_sum.number = of.number $$`

test('an altered entry is found though trigger and functions were replaced', async (t) => {
  const { sql, url } = await ledger(t)
  await deposit(sql, 'second')
  await seal(sql)
  const hand = new pg.Client({ connectionString: url })
  await hand.connect()
  hand.on('error', () => {})
  t.after(() => hand.end())
  await hand.query(FUNCTIONS_THAT_LIE)
  await hand.query('alter table transfer disable trigger transfer_is_append_only')
  assert.deepEqual(
    (await look(sql)).map(({ subject }) => subject),
    ['trigger transfer_is_append_only'],
  )
  await hand.query(`update transfer set amount_sun = 9000000 where id = 'second'`)
  await hand.query('alter table transfer enable trigger transfer_is_append_only')
  const found = await look(sql)
  // By the database's own account all is well.
  const { rows } = await hand.query(
    `select 1 from journal as j where sha256 <> journal_sum(j, '', null, '')`,
  )
  assert.equal(rows.length, 0)
  assert.deepEqual(
    found.map(({ subject }) => subject),
    ['seal 1'],
  )
  await hand.query('drop table kept_text, kept_sum')
})

test('sums worked out here equal those of the sealing functions, for any text', async (t) => {
  const { sql } = await ledger(t)
  const texts = ['a "b" \\ c', '(x,y)', 'line\nfeed\ttab', '𝄞 clef é', "it's", 'null', ' ', ',']
  const times = [
    '1969-12-31T23:59:59.999999Z',
    '1999-12-31T23:59:59.5Z',
    '2000-01-01T00:00:00Z',
    '2026-10-08T15:26:32.1234Z',
  ]
  for (const [i, id] of texts.entries()) {
    await sql`insert into transfer (id, kind, debit, credit, amount_sun, made_at)
              values (${id}, 'move', ${`d${id}`}, ${`c${id}`}, ${i + 1},
                      ${times[i % times.length]!}::timestamptz)`
    if (i % 3 === 0) await seal(sql)
  }
  await sql.begin(async (tx) =>
    holdAll(tx, [{ id: 'h"', debit: ANNA, credit: REVENUE, amount_sun: 3n, made_at }]),
  )
  await sql.begin(async (tx) => captureAll(tx, [{ hold_id: 'h"', amount_sun: 3n }], made_at))
  await seal(sql)
  assert.ok((await sealed(sql)).length > 2)
  assert.deepEqual(await look(sql), [])
})

test('numbers that were never used do not make the check read for ever', async (t) => {
  const { sql } = await ledger(t)
  await sql`select setval('transfer_number_seq', 9000000000000)`
  await deposit(sql, 'far')
  await sql`
    insert into journal (number, first_entry, last_entry, entries, actions, sealed_at, sha256)
    values (1, 1, 9000000000001, 2, 0, now(), 'no sum')`
  const found = 'its entries 1 to 9000000000001 are not those that were sealed: 2 then, 2 now'
  assert.deepEqual(await look(sql), [{ subject: 'seal 1', found }])
})

test("a seal that is handed out comes with the operators' record that it stands on", async (t) => {
  const { sql } = await ledger(t)
  const record = (action: string) =>
    sql.begin((tx) => {
      const operator = { made_by: 'berta', reason: null }
      return recordActions(tx, { operator, action, made_at }, [
        { subject: 'price', before: null, after: { action } },
      ])
    })
  const seals: bigint[] = []
  for (const action of ['prices set', 'prices remove']) {
    await record(action)
    await deposit(sql, action)
    await seal(sql)
    seals.push(BigInt(seals.length + 1))
  }
  const read = await sql.begin(async (tx) => {
    await readPlainly(tx)
    return readSeals(tx, { first: 1n, last: 2n })
  })
  assert.deepEqual(
    read.seals.map(({ number, actions }) => [number, actions]),
    seals.map((number) => [number, number]),
  )
  let previous = read.previous_sha256
  for (const one of read.seals) {
    const entries = read.entries.filter(
      ({ number }) => number >= one.first_entry && number <= one.last_entry,
    )
    assert.equal(sumOfSeal(previous, one, entries), one.sha256)
    previous = one.sha256
  }
  const second = await sql.begin((tx) => readSeals(tx, { first: 2n, last: 2n }))
  assert.equal(second.previous_sha256, read.seals[0]?.sha256)
})
