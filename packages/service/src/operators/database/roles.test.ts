import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { freshDatabase, TestDatabase, testCluster } from 'penstock-test/harness/database.ts'
import { quietOperator } from 'penstock-test/harness/operator.ts'
import pg from 'pg'
import { systemRandom } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type DatabaseRole, setPassword, verifierOf } from './roles.ts'

/** The same database once with all rights, and once with those of a role. */
async function setUp(t: TestContext, role: DatabaseRole): Promise<{ all: Sql; sql: Sql }> {
  const { sql: all, url, name } = await freshDatabase(t)
  const sql = new TestDatabase({ name, url }).connect({ role })
  t.after(() => sql.close())
  await all`insert into account (id, may_go_negative) values ('customer:a', false)`
  await all`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    values ('given', 'move', 'world', 'customer:a', 100, now())`
  return { all, sql }
}

const denied = { code: '42501' }

test('the API holds a price and moves no money', async (t) => {
  const { all, sql } = await setUp(t, 'penstock_api')
  await sql`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    values ('subscription:s', 'hold', 'customer:a', 'revenue', 5, now())`
  await sql`update account set held_sun = 0 where id = 'customer:a'`
  await assert.rejects(
    sql`
      insert into transfer (id, kind, debit, credit, amount_sun, made_at)
      values ('m', 'move', 'world', 'customer:a', 5, now())`,
    denied,
  )
  await assert.rejects(sql`update account set posted_sun = 1000`, denied)
  await assert.rejects(sql`update transfer set number = default`, denied)
  await assert.rejects(sql`delete from transfer`, denied)
  await assert.rejects(
    sql`
      insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
      values ('c', 'capture', 'subscription:s', 'customer:a', 'revenue', 5, now())`,
    denied,
  )
  const release = () => sql`
    insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
    values ('r', 'release', 'subscription:s', 'customer:a', 'revenue', 5, now())`
  await assert.rejects(release(), denied)
  for (const [credit, debit] of [
    ['customer:b', 'customer:a'],
    ['revenue', 'customer:direct_recharge'],
  ])
    await assert.rejects(
      sql`
        insert into transfer (id, kind, debit, credit, amount_sun, made_at)
        values ('h', 'hold', ${debit}, ${credit}, 5, now())`,
      denied,
    )
  const [entries] = await all`select count(*)::int as n from transfer`
  assert.equal(entries?.n, 2)
  const [account] = await all`select posted_sun, held_sun from account where id = 'customer:a'`
  assert.deepEqual(account, { posted_sun: 100n, held_sun: 5n }, 'nothing that it writes is heard')
  // Nor by a trigger of a table of its own, which is as deep as the ledger's.
  await sql
    .begin(async (tx) => {
      await tx`create temporary table mine (id int)`
      await tx`create function pg_temp.give() returns trigger language plpgsql as
        'begin update account set held_sun = 0; return null; end'`
      await tx`create trigger give after insert on mine for each row
        execute function pg_temp.give()`
      await tx`insert into mine values (1)`
    })
    .catch(() => {})
  const [after] = await all`select held_sun from account where id = 'customer:a'`
  assert.deepEqual(after, { held_sun: 5n })
})

test('the API signs nothing, deletes no order, and reads no record of operators', async (t) => {
  const { sql } = await setUp(t, 'penstock_api')
  await assert.rejects(
    sql`
      insert into attempt (id, subject, contract, send_at, made_at)
      values ('a', 'order:o', '{}', now(), now())`,
    denied,
  )
  await assert.rejects(sql`delete from orders`, denied)
  await assert.rejects(sql`select signed from attempt`, denied)
  await assert.rejects(sql`select 1 from operator_action`, denied)
  await assert.rejects(sql`update price set until = now()`, denied)
  await assert.rejects(sql`create table mine ()`, denied)
  await assert.rejects(sql`delete from notice`, denied)
  await assert.rejects(sql`update api_key_cap set told_at = now()`, denied)
  await assert.rejects(
    sql`insert into signing_key (id, public_key, made_at) values ('a', 'b', now())`,
    denied,
  )
  await sql`select id, state from attempt`
})

test('a worker changes no customer, key, price, plan or policy', async (t) => {
  const { sql } = await setUp(t, 'penstock_worker')
  const writes = [
    sql`update customer set state = 'closed'`,
    sql`update api_key set daily_cap_sun = null`,
    sql`update price set until = now()`,
    sql`update fee set until = now()`,
    sql`update plan set until = now()`,
    sql`delete from policy`,
    sql`delete from transfer`,
    sql`delete from operator_action`,
    sql`delete from journal`,
    sql`insert into signing_key (id, public_key, made_at) values ('a', 'b', now())`,
  ]
  for (const write of writes) await assert.rejects(write, denied)
})

test('a worker counts what it signs, and takes back nothing that a limit looks at', async (t) => {
  const { sql } = await setUp(t, 'penstock_worker')
  const count = (sun: bigint, hours: number) => sql`
    insert into signing_amount (attempt, type, wallet, sun, at)
    values ('a', 'TransferContract', 'T', ${sun}, now() - ${hours}::float8 * interval '1 hour')`
  await count(5n, 1)
  await count(6n, 49)
  await assert.rejects(count(-5n, 1), /signing_amount_adds/)
  await assert.rejects(
    sql`
      insert into signing_amount (number, attempt, type, wallet, sun, at) overriding system value
      values (9, 'a', 'TransferContract', 'T', 0, now())`,
    denied,
  )
  await assert.rejects(sql`update signing_amount set sun = 0`, denied)
  await assert.rejects(sql`select setval('signing_amount_number_seq', 9000)`, denied)
  await sql`delete from signing_amount`
  assert.deepEqual(await sql`select sun from signing_amount`, [{ sun: 5n }])
})

test('a worker empties no transaction that is young or not solid', async (t) => {
  const { all, sql } = await setUp(t, 'penstock_worker')
  const insert = (id: string, state: string, made_days: number, block_days: number) => all`
    insert into attempt (id, subject, contract, state, send_at, made_at, tx_id, signed, expires_at,
      block_number, block_time)
    select ${id}, ${id}, '{}', ${state}, now(), now() - ${made_days}::int * interval '1 day', ${id},
      'bytes', now(), case when has_block then 1 end,
      case when has_block then now() - ${block_days}::int * interval '1 day' end
    from (select ${state} in ('included', 'solid') as has_block) as t`
  await insert('young', 'solid', 29, 29)
  await insert('young_by_block', 'solid', 31, 29)
  await insert('old_included', 'included', 31, 31)
  await insert('old_sent', 'sent', 31, 31)
  await insert('old', 'solid', 31, 31)
  const empty = (id: string) => sql`
    update attempt set signed = null, answer = null, stamp = decode(repeat('00', 18), 'hex')
    where id = ${id}`
  const keeps = { constraint: 'attempt_keeps_signed' }
  for (const id of ['young', 'young_by_block', 'old_included', 'old_sent'])
    await assert.rejects(empty(id), keeps, id)
  // Nor by making it old, or solid, first.
  await assert.rejects(sql`update attempt set made_at = made_at - interval '9 days'`, denied)
  await assert.rejects(sql`update attempt set contract = '{}'`, denied)
  await sql`update attempt set block_time = now() - interval '31 days' where id = 'young'`
  await assert.rejects(empty('young'), keeps)
  await assert.rejects(sql`update attempt set signed = 'other' where id = 'old'`, keeps)
  await assert.rejects(sql`update attempt set signed = null where id = 'old'`, {
    constraint: /attempt_(stamp|signed_has_bytes)/,
  })
  await empty('old')
  const rows = await all`select id from attempt where signed is null`
  assert.deepEqual(rows, [{ id: 'old' }])
})

test('a worker reads nothing that people prove themselves with, and begins nothing', async (t) => {
  const { all, sql } = await setUp(t, 'penstock_worker')
  const reads = [
    sql`select 1 from passkey`,
    sql`select 1 from recovery_code`,
    sql`select 1 from user_link`,
    sql`select 1 from pairing`,
    sql`select token_hash from user_session`,
    sql`select challenge_hash from answered_challenge`,
    sql`select name_hash from sign_in`,
  ]
  for (const read of reads) await assert.rejects(read, denied)
  const writes = [
    sql`insert into service_user select * from service_user`,
    sql`insert into subscription select * from subscription`,
    sql`insert into api_key_nonce select * from api_key_nonce`,
    sql`delete from aml_watch`,
    sql`delete from user_link`,
  ]
  for (const write of writes) await assert.rejects(write, denied)
  // It opens customers, and none that may spend what it has not.
  await assert.rejects(sql`insert into account (id, may_go_negative) values ('customer:b', true)`, {
    constraint: 'account_of_customer_never_negative',
  })
  await assert.rejects(sql`insert into account (id, posted_sun) values ('customer:b', 1)`, denied)
  // What is old it deletes all the same.
  await sql`delete from user_session where id < 'a'`
  await sql`delete from answered_challenge where ends_at < now()`
  const [made] = await all`select count(*)::int as n from account where id = 'customer:b'`
  assert.equal(made?.n, 0)
})

test('an operator signs nothing, and the reader reads no secret', async (t) => {
  const { all, sql } = await setUp(t, 'penstock_admin')
  const insert = (by: Sql, id: string, state: string) => by`
    insert into attempt (id, subject, contract, state, send_at, made_at, tx_id, signed, expires_at,
      block_number, block_id, block_time)
    select ${id}, ${`refund:${id}`}, '{}', ${state}, now(), now(), t.*, b.*
    from (select ${id}, ''::bytea, now() where ${state} <> 'new'
      union all select null, null, null::timestamptz where ${state} = 'new') as t,
      (select 1::bigint, 'b', now() where ${state} = 'included'
       union all select null, null, null::timestamptz where ${state} <> 'included') as b`
  for (const state of ['new', 'signed', 'sent', 'included']) await insert(all, state, state)
  // Only what is in a block may be noted, and nothing that was signed is changed.
  for (const state of ['new', 'signed', 'sent', 'dead'])
    await assert.rejects(insert(sql, `${state}_too`, state), denied)
  await insert(sql, 'found', 'included')
  await assert.rejects(sql`update attempt set state = 'dead' where id = 'new'`, denied)
  await sql`update attempt set state = 'dead' where id <> 'new'`
  const [kept] = await all`select count(*)::int as dead from attempt where state = 'dead'`
  assert.equal(kept?.dead, 0)
  await assert.rejects(sql`update attempt set contract = '{}'`, denied)
  await assert.rejects(sql`delete from orders`, denied)
  const reader = await setUp(t, 'penstock_read')
  await reader.sql`select id, customer_id, daily_cap_sun from api_key`
  await reader.sql`select count(*) from transfer`
  await assert.rejects(reader.sql`select sealed_secret from api_key`, denied)
  await assert.rejects(reader.sql`select sealed_private_key from signing_key`, denied)
  await assert.rejects(reader.sql`select canonical from aml_evidence`, denied)
  const writings = [
    reader.sql`select body from refusal`,
    reader.sql`select url from webhook`,
    reader.sql`select before from operator_action`,
    reader.sql`select after from operator_action`,
    reader.sql`select after from customer_action`,
    reader.sql`select body from operation_proposal`,
    reader.sql`select ip from sign_in`,
    reader.sql`select ip from pairing`,
  ]
  for (const read of writings) await assert.rejects(read, denied)
  await reader.sql`select id, customer_id, code, at from refusal`
  await reader.sql`select number, made_by, action, subject from operator_action`
  await reader.sql`select face, way, outcome, at from sign_in`
  await assert.rejects(reader.sql`insert into cursor (name, number) values ('x', 1)`, denied)
})

async function signInAs(url: string, role: DatabaseRole, password: string): Promise<string> {
  const connectionString = Object.assign(new URL(url), { username: role, password }).toString()
  const client = new pg.Client({ connectionString })
  try {
    await client.connect()
    return (await client.query('select current_user as me')).rows[0].me as string
  } finally {
    await client.end()
  }
}

test('a role signs in with the password that was set, and with no other', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const password = randomBytes(24).toString('base64url')
  await setPassword(sql, systemRandom, { role: 'penstock_read', password })
  const signIn = (given: string) => signInAs(url, 'penstock_read', given)
  assert.equal(await signIn(password), 'penstock_read')
  await assert.rejects(signIn(`${password}x`), { code: '28P01' })
  await assert.rejects(
    setPassword(sql, systemRandom, { role: 'postgres' as DatabaseRole, password }),
    /no role postgres/,
  )
})

test('roles apply takes passwords from standard input, and shows none', async (t) => {
  const at = await quietOperator(t)
  const [row] = await at.sql<{ name: string }>`select current_database()::text as name`
  const url = Object.assign(new URL(await testCluster()), { pathname: `/${row!.name}` }).toString()
  const password = randomBytes(24).toString('base64url')
  const apply = (input: string) => {
    at.io.input = async () => input
    return at.type('roles', 'apply', '--json')
  }
  const lines = `penstock_signer ${password}\n\npenstock_read ${password}\n`
  assert.match((await apply(lines)).err, /set the password of penstock_signer: a superuser may/)
  at.io.env = { ...at.io.env, DATABASE_URL: url }
  for (const wrong of ['', 'postgres 0123456789abcdef', `penstock_read ${password} x`]) {
    const { code, err } = await apply(wrong)
    assert.equal(code, 1)
    assert.match(err, /^(No role and no password|Line 1 is not a role)/)
    assert.doesNotMatch(err, /0123456789abcdef/)
  }
  const { out } = await apply(lines)
  const roles = [{ role: 'penstock_signer' }, { role: 'penstock_read' }]
  assert.deepEqual(JSON.parse(out), { roles })
  assert.equal(await signInAs(url, 'penstock_signer', password), 'penstock_signer')
  const record = await at.sql<{ subject: string; text: string }>`
    select subject, to_jsonb(operator_action)::text as text from operator_action order by subject`
  assert.deepEqual(
    record.map(({ subject }) => subject),
    // The first that has the sealing key makes the key that signs receipts.
    ['receipts', 'role:penstock_read', 'role:penstock_signer'],
  )
  for (const { text } of record) assert.doesNotMatch(text, new RegExp(`${password}|SCRAM`))
})

test('what the server keeps of a password is what RFC 7677 makes of it', () => {
  const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')
  assert.equal(
    verifierOf('pencil', salt),
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$' +
      'WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
  )
})

/** Tables that a part of the service may read nothing of. */
const unreadable = (sql: Sql) => sql<{ role: string; name: string }>`
  select role, relname as name from pg_class,
    unnest(array['penstock_api', 'penstock_worker', 'penstock_admin']) as role
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm')
    and not has_any_column_privilege(role, oid, 'select')
  order by role, name`

test('the migration of a table says what each part of the service may do with it', async (t) => {
  const { sql } = await freshDatabase(t)
  const of_people = ['customer_note', 'pairing', 'passkey', 'recovery_code', 'user_link']
  const of_officers = ['aml_case', 'aml_case_alert', 'aml_case_entry', 'aml_case_subject']
  const of_books = ['sealed_sum', 'sums_seal']
  const meant = [
    ...[
      ...[...of_officers, 'capital', 'customer_note', 'operator_action', 'price_rule'],
      ...of_books,
    ].map((name) => ({ role: 'penstock_api', name })),
    ...of_people.map((name) => ({ role: 'penstock_worker', name })),
  ]
  assert.deepEqual(await unreadable(sql), meant, 'a table without rights: see db/0056_roles.sql')
  await sql`create table forgotten (id int)`
  const roles = (await unreadable(sql)).filter(({ name }) => name === 'forgotten')
  assert.deepEqual(
    roles.map(({ role }) => role),
    ['penstock_admin', 'penstock_api', 'penstock_worker'],
  )
})

const SUPERUSER_FILE = new URL('../../../../../deploy/postgresql/roles.sql', import.meta.url)

test('what a superuser runs before the first migration makes the same roles', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const roles = () => sql`
    select rolname, rolconfig from pg_roles
    where rolname ~ '^penstock_(api|worker|admin|signer|read)$' order by rolname`
  const before = await roles()
  assert.equal(before.length, 5)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  await client.query(await readFile(SUPERUSER_FILE, 'utf8'))
  const made = await client.query<{ name: string; config: string[] | null }>(`
    select rolname as name, rolconfig as config from pg_roles
    where rolname like 'penstock\\_%' order by rolname`)
  await client.query('rollback')
  await client.end()
  const owner = made.rows.find(({ name }) => name === 'penstock_owner')
  assert.deepEqual(owner, { name: 'penstock_owner', config: null })
  assert.deepEqual(
    made.rows.filter(({ name }) => before.some((one) => one.rolname === name)),
    before.map(({ rolname, rolconfig }) => ({ name: rolname, config: rolconfig })),
  )
})
