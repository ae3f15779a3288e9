// Backups by the command line, of a whole server: made while it runs, damaged, restored on trial
// and for good, to their own end and to a moment between.

import assert from 'node:assert/strict'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Operator, quietOperator } from 'penstock-test/harness/operator.ts'
import pg from 'pg'
import { alerts } from '../../health/monitoring/alerts.ts'
import { sealStep } from '../../ledger/accounts/journal.ts'
import { migrate } from '../../platform/database/migrate.ts'
import { connect, type Sql } from '../../platform/database/sql.ts'
import { runProgram, serverUser } from '../../platform/postgres/programs.ts'
import { type Postgres, startPostgres } from '../../platform/postgres/server.ts'
import { drain } from '../../platform/steps/step.ts'
import { readRepository } from '../../run/backups/pgbackrest.ts'
import { findSource, startRestored } from '../../run/backups/restoring.ts'

type Examination = {
  backup: string
  files_checked: number
  books_balanced: boolean
  broken: { rule: string; subject: string; found: string }[]
  last_entry: number
  restored_to: string | null
}

let server: Postgres
let folder: string
let archive: string
let sql: Sql

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-backups-'))
  archive = join(folder, 'archive')
  await mkdir(archive)
  const user = await serverUser(['postgres', 'nobody'])
  await runProgram('chmod', ['755', folder], undefined)
  if (user) await runProgram('chown', [`${user.uid}:${user.gid}`, archive], undefined)
  server = await startPostgres({
    throw_away: true,
    settings: { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` },
  })
  await migrate(server.url)
  sql = connect({ url: server.url })
})

after(async () => {
  await sql.close()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const backups = () => join(folder, 'backups')

async function operatorOf(t: Parameters<typeof quietOperator>[0]): Promise<Operator> {
  const at = await quietOperator(t)
  at.io.env.DATABASE_URL = server.url
  return at
}

/** A customer with money, and the entries sealed. */
async function give(at: Operator, name: string): Promise<string> {
  const { id } = await at.json<{ id: string }>('customers', 'create', name)
  await at.json('customers', 'credit', id, '5', '--reason', 'a test', '--id', `credit-${name}`)
  await drain([sealStep({ sql, clock: at.io.clock })])
  return id
}

/** Something is changed behind the service's back, with all rights. */
async function byHand(statements: string): Promise<void> {
  const hand = new pg.Client({ connectionString: server.url })
  await hand.connect()
  await hand.query(statements)
  await hand.end()
}

test('a backup is made beside the running server, listed, and proved by restoring', async (t) => {
  const at = await operatorOf(t)
  await give(at, 'Anna')
  const plan = await at.json<{ made: null }>('backup', backups(), '--plan')
  assert.equal(plan.made, null)
  const { made } = await at.json<{ made: { id: string } }>('backup', backups())
  const listed = await at.json<{ id: string }[]>('backup', 'list', backups())
  assert.deepEqual(
    listed.map(({ id }) => id),
    [made.id],
  )
  const { mode } = await stat(join(backups(), made.id, 'base.tar.gz'))
  assert.equal(mode & 0o077, 0)
  // What comes later is not in it.
  await give(at, 'Ben')
  const checked = await at.json<Examination>('restore', backups(), '--check', '--note')
  assert.equal(checked.backup, made.id)
  assert.ok(checked.files_checked > 1_000)
  assert.ok(checked.books_balanced)
  assert.equal(checked.last_entry, 1)
  const [noted] = await sql<{ drilled: boolean; found: string[] }>`
    select restored_at is not null as drilled, found from backup where id = ${made.id}`
  assert.deepEqual(noted, { drilled: true, found: [] })
})

test('one altered entry in a backup is named, and the exit code is 1', async (t) => {
  const at = await operatorOf(t)
  await byHand(`alter table transfer disable trigger user;
    update transfer set amount_sun = amount_sun + 1 where number = 1;
    alter table transfer enable trigger user`)
  await at.json('backup', backups(), '--keep', '1')
  assert.equal((await at.json<unknown[]>('backup', 'list', backups())).length, 1)
  const { code, out } = await at.type('restore', backups(), '--check', '--json')
  assert.equal(code, 1)
  const { broken, books_balanced } = JSON.parse(out) as Examination
  assert.equal(books_balanced, false)
  assert.ok(
    broken.some(({ rule, subject }) => rule === 'C10' && /\b1\b/.test(subject)),
    JSON.stringify(broken),
  )
  await byHand(`alter table transfer disable trigger user;
    update transfer set amount_sun = amount_sun - 1 where number = 1;
    alter table transfer enable trigger user`)
})

test('a moment between is restored by the archived log, and marked as restored', async (t) => {
  const at = await operatorOf(t)
  await rm(backups(), { recursive: true, force: true })
  await at.json('backup', backups())
  await give(at, 'Carl')
  // A moment has whole milliseconds: the first that has not begun when Carl was given something,
  // and is over before Dora is.
  const [row] = await sql<{ at: Date; last: bigint }>`
    select date_trunc('milliseconds', clock_timestamp()) + interval '1 millisecond' as at,
      (select max(number) from transfer) as last`
  const { at: next_ms, last } = row!
  await sql`select pg_sleep_until(${next_ms}::timestamptz + interval '1 millisecond')`
  const moment = next_ms.toISOString()
  await give(at, 'Dora')
  await sql`select pg_switch_wal()`
  await untilArchived()
  const to = join(folder, 'restored')
  const options = ['--to', to, '--at', moment, '--archive', archive]
  const restored = await at.json<Examination>('restore', backups(), ...options)
  assert.ok(restored.books_balanced)
  assert.equal(BigInt(restored.last_entry), last)
  assert.ok(new Date(restored.restored_to!) <= new Date(moment))
  // The folder is a server's, whose database says what it is.
  await requireMarked(at, to)
  const refused = await at.type('restore', backups(), '--to', to)
  assert.deepEqual([refused.code, refused.err], [1, `${to} is not empty.\n`])
})

test('what was restored is marked before anything else can fail', async (t) => {
  const at = await operatorOf(t)
  const to = join(folder, 'interrupted')
  const nowhere = ['--node-url', 'http://127.0.0.1:9']
  const { code, err } = await at.type('restore', backups(), '--to', to, ...nowhere)
  assert.deepEqual([code, /127\.0\.0\.1|node/.test(err)], [1, true], err)
  await requireMarked(at, to)
})

/** Starts a server on a folder and asks whether its database knows that it was restored. */
async function requireMarked(at: Operator, folder: string): Promise<void> {
  const login = { user: 'penstock', database: 'penstock' }
  const as_it_is = { to: undefined, at: undefined, archive: undefined, bin: undefined }
  const source = await findSource(folder)
  const started = await startRestored({ source, ...as_it_is, login, tell() {} })
  const found = await alerts({ sql: started.sql, now: at.io.clock.now() })
  await started.stop()
  const alert = found.find((one) => one.alert === 'database_went_back')
  assert.match(alert?.what ?? '', /was restored as of .*: what came later is gone/)
}

async function untilArchived(): Promise<void> {
  for (;;) {
    const [row] = await sql<{ waits: boolean }>`
      select coalesce(last_archived_wal, '') < pg_walfile_name(pg_current_wal_lsn() - 1) as waits
      from pg_stat_archiver`
    if (!row!.waits) return
  }
}

test('a damaged backup is refused, and the check and the alert say so', async (t) => {
  const at = await operatorOf(t)
  const [{ id } = { id: '' }] = await at.json<{ id: string }[]>('backup', 'list', backups())
  const whole = await at.type('backup', 'check', backups(), '--json')
  assert.deepEqual((JSON.parse(whole.out) as { newest: { id: string } }).newest.id, id)
  const now = () => alerts({ sql, now: at.io.clock.now() })
  const file = join(backups(), id, 'base.tar.gz')
  const bytes = await readFile(file)
  bytes[bytes.length >> 1]! ^= 1
  await writeFile(file, bytes)
  const { code, out } = await at.type('backup', 'check', backups(), '--json')
  assert.equal(code, 1)
  const damage = `${file} is not what was written there`
  assert.ok((JSON.parse(out) as { wrong: string[] }).wrong.includes(damage))
  assert.ok((await now()).some(({ alert, what }) => alert === 'backup_old' && what.includes(file)))
  const { code: refused, err } = await at.type('restore', backups(), '--check')
  assert.deepEqual([refused, err], [1, `${damage}.\n`])
  await writeFile(file, bytes.subarray(0, bytes.length >> 1))
  const cut = await at.type('restore', backups(), '--check')
  assert.deepEqual([cut.code, cut.err], [1, `${damage}.\n`])
})

test('a backup whose own note is damaged is named, and hides no other', async (t) => {
  const at = await operatorOf(t)
  const [{ id } = { id: '' }] = await at.json<{ id: string }[]>('backup', 'list', backups())
  const parent = join(folder, 'with a damaged one')
  await cp(join(backups(), id), join(parent, id), { recursive: true })
  const later = '20990101T000000Z'
  await cp(join(backups(), id), join(parent, later), { recursive: true })
  const about = join(parent, later, 'backup.json')
  const text = await readFile(about, 'utf8')
  const wrong = `${about} is not what was written there.`
  const read = async <Result>(...words: string[]) => {
    const { code, out } = await at.type(...words, '--json')
    return { code, value: JSON.parse(out) as Result }
  }
  const misspelt = ['made_at', 'id', 'archive_bytes', 'schema', 'server_version'].map((name) =>
    text.replace(`"${name}"`, '"other"'),
  )
  for (const cut of ['', '{}', 'null', text.slice(0, -20), ...misspelt]) {
    await writeFile(about, cut)
    const said = await at.type('restore', join(parent, later), '--check')
    assert.deepEqual([said.code, said.err], [1, `${wrong}\n`])
    type Row = { id: string; wrong: string | null }
    const listed = await read<Row[]>('backup', 'list', parent)
    assert.deepEqual(
      [listed.code, listed.value.map((one) => [one.id, one.wrong])],
      [
        1,
        [
          [later, wrong],
          [id, null],
        ],
      ],
    )
  }
  const check = await read<{ newest: { id: string }; wrong: string[] }>('backup', 'check', parent)
  assert.deepEqual([check.code, check.value.newest.id], [1, id])
  assert.ok(check.value.wrong.includes(wrong))
  type Plan = { backup: string; passed_over: string[] }
  const source = await read<Plan>('restore', parent, '--check', '--plan')
  assert.deepEqual([source.value.backup, source.value.passed_over], [id, [wrong]])
  const before = await read<Plan>(
    'restore',
    parent,
    '--check',
    '--plan',
    '--at',
    '2098-01-01T00:00:00Z',
  )
  assert.deepEqual([before.value.backup, before.value.passed_over], [id, []])
  // It is neither counted nor removed.
  const made = await at.json<{ removed: string[]; damaged: string[] }>(
    'backup',
    parent,
    '--keep',
    '1',
  )
  assert.deepEqual([made.removed, made.damaged], [[id], [wrong]])
  assert.deepEqual((await readdir(parent)).length, 2)
  await rm(parent, { recursive: true })
})

test('a disk that is full while a backup is made keeps no half of it', async (t) => {
  const at = await operatorOf(t)
  const small = join(folder, 'small')
  await mkdir(small)
  const mount = (options: string) =>
    runProgram('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', small], undefined)
  const { ok, output } = await mount('size=1m')
  if (!ok) return t.skip(`no disk can be full, because only root may mount a small one: ${output}`)
  t.after(() => runProgram('umount', [small], undefined))
  const { code, err } = await at.type('backup', small)
  assert.equal(code, 1)
  assert.match(err, /^\S+base\.tar\.gz cannot be written: ENOSPC\.\n$/)
  assert.deepEqual(await readdir(small), [])
  await mount('remount,size=200m')
  const { made } = await at.json<{ made: { id: string } }>('backup', small)
  const listed = await at.json<{ id: string }[]>('backup', 'list', small)
  assert.deepEqual(
    listed.map(({ id }) => id),
    [made.id],
  )
})

test('a backup older than a day raises the alert; without any the check fails', async (t) => {
  const at = await operatorOf(t)
  await sql`update backup set found = '{}'`
  const day_later = new Date(Date.now() + 26 * 3_600_000)
  const at_once = await alerts({ sql, now: new Date() })
  assert.ok(!at_once.some(({ alert }) => alert === 'backup_old'))
  const later = await alerts({ sql, now: day_later })
  assert.ok(later.some(({ alert }) => alert === 'backup_old'))
  const none = join(folder, 'none')
  await mkdir(none)
  const { code, out } = await at.type('backup', 'check', none, '--json')
  assert.equal(code, 1)
  assert.ok((JSON.parse(out) as { wrong: string[] }).wrong.includes('there is no backup'))
})

test('what another program has restored is marked by hand, and accepted', async (t) => {
  const at = await operatorOf(t)
  const reason = ['--reason', 'the disk died']
  await at.json('restore', 'begin', ...reason)
  const now = at.io.clock.now()
  assert.ok((await alerts({ sql, now })).some(({ alert }) => alert === 'database_went_back'))
  // What was open then may have been delivered, until it is too old for that.
  const early = await at.type('database', 'accept', ...reason)
  assert.match(early.err, /may have been delivered: not before/)
  Object.assign(at.io.clock, { now: () => new Date(Date.now() + 901_000 + 60_000) })
  // Nor before what the chain knows was noted, which test/stories/operators/restored.test.ts does.
  const blind = await at.type('database', 'accept', ...reason)
  assert.match(blind.err, /first type `penstock-admin restore reconcile --apply`/)
  await sql`update database_loss set reconciled_at = now()`
  const { accepted } = await at.json<{ accepted: number }>('database', 'accept', ...reason)
  assert.equal(accepted, 1)
})

test('who may not replicate is told which attribute the role needs', async (t) => {
  const at = await operatorOf(t)
  await byHand(`create role plain login password 'plain' in role pg_read_all_data`)
  const url = new URL(server.url)
  Object.assign(url, { username: 'plain', password: 'plain' })
  at.io.env.DATABASE_URL = url.toString()
  const { code, err } = await at.type('backup', backups())
  assert.equal(code, 2)
  assert.match(err, /needs a role with the attribute REPLICATION/)
})

test('what pgBackRest says of its repository is read: the newest full one, and faults', () => {
  const full = (label: string, stop: number) => ({
    label,
    type: 'full',
    error: false,
    timestamp: { start: stop - 60, stop },
    info: { repository: { size: 1_000 } },
  })
  const info = {
    name: 'main',
    cipher: 'none',
    status: { code: 0, message: 'ok' },
    backup: [full('20261120-000000F', 1_763_600_000), full('20261121-000000F', 1_763_686_400)],
  }
  const { newest, wrong } = readRepository(JSON.stringify([info]), 'main')
  assert.equal(newest?.id, '20261121-000000F')
  assert.deepEqual(wrong, ['the repository is not encrypted'])
  const broken = {
    ...info,
    cipher: 'aes-256-cbc',
    status: { code: 2, message: 'no valid backups' },
  }
  assert.deepEqual(readRepository(JSON.stringify([{ ...broken, backup: [] }]), 'main'), {
    newest: null,
    wrong: ['the repository: no valid backups'],
  })
  assert.throws(() => readRepository('[]', 'main'), /no stanza main/)
})
