import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import pg from 'pg'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { drain } from '../../platform/steps/step.ts'
import { sealStep } from './journal.ts'
import { customerAccount, move, openAccount, WORLD } from './ledger.ts'
import {
  checkRoots,
  finishedRoots,
  missingRoots,
  noteRootsStep,
  readRoots,
  rootLine,
  rootsAfter,
} from './roots.ts'
import { checkJournal } from './seals.ts'

const ANNA = customerAccount('anna')

/** A journal with two seals on each of the given days, in a database whose clock can be set. */
async function journal(t: TestContext, days: readonly string[]) {
  const { sql, url } = await freshDatabase(t)
  const clock = { at: new Date(0), now: () => clock.at }
  const sealAt = async (time: string) => {
    clock.at = new Date(time)
    const id = `entry of ${time}`
    await sql.begin((tx) =>
      move(tx, { id, debit: WORLD, credit: ANNA, amount_sun: 10n, made_at: clock.at }),
    )
    await drain([sealStep({ sql, clock })])
  }
  await sql.begin((tx) => openAccount(tx, ANNA))
  for (const day of days) for (const hour of ['08', '20']) await sealAt(`${day}T${hour}:00:00Z`)
  return { sql, url, clock, sealAt, file: await freshFile(t) }
}

/** Writes at the end of a file the roots that it lacks. */
async function exportRoots(sql: Sql, clock: Clock, file: string) {
  const text = await readFile(file, 'utf8').catch(() => '')
  const roots = await missingRoots(sql, clock, { name: file, text })
  await appendFile(file, rootsAfter(text, roots))
  return roots
}

async function freshFile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-roots-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'roots.log')
}

/** A log that keeps its lines. */
function keptLog(): { log: Log; days: () => unknown[] } {
  const lines: Record<string, unknown>[] = []
  const log: Log = (event, fields) => {
    if (event === 'journal_root') lines.push({ ...fields })
  }
  return { log, days: () => lines.map(({ day }) => day) }
}

test("each day's root leaves once, when the day is over, in log and file", async (t) => {
  const { sql, clock, sealAt, file } = await journal(t, ['2026-11-01', '2026-11-02'])
  const { log, days } = keptLog()
  const step = noteRootsStep({ sql, clock, log, file })
  clock.at = new Date('2026-11-03T00:09:00Z')
  await step.run()
  assert.deepEqual(days(), ['2026-11-01'], 'the second day is not over for every clock')
  clock.at = new Date('2026-11-03T00:10:01Z')
  await step.run()
  await step.run()
  assert.deepEqual(days(), ['2026-11-01', '2026-11-02'])
  // Another process, later, goes on where the file ends.
  await sealAt('2026-11-05T08:00:00Z')
  clock.at = new Date('2026-11-09T00:00:00Z')
  await noteRootsStep({ sql, clock, log, file }).run()
  assert.deepEqual(days(), ['2026-11-01', '2026-11-02', '2026-11-05'])
  const noted = readRoots(await readFile(file, 'utf8'))
  assert.deepEqual(noted, await finishedRoots(sql, clock, undefined))
  assert.deepEqual(
    noted.map(({ number }) => number),
    [2n, 4n, 5n],
  )
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.deepEqual(await checkRoots(sql, noted), [])
})

test('without a file the log has the root of the day before', async (t) => {
  const { sql, clock } = await journal(t, ['2026-11-01', '2026-11-02'])
  const { log, days } = keptLog()
  const step = noteRootsStep({ sql, clock, log, file: undefined })
  clock.at = new Date('2026-11-03T00:10:01Z')
  await step.run()
  await step.run()
  assert.deepEqual(days(), ['2026-11-02'])
})

test('a seal of midnight is of the day that begins', async (t) => {
  const { sql, clock, sealAt } = await journal(t, ['2026-11-01'])
  await sealAt('2026-11-02T00:00:00Z')
  clock.at = new Date('2026-11-04T00:00:00Z')
  const later = await finishedRoots(sql, clock, '2026-11-01')
  assert.deepEqual(
    later.map(({ day, number }) => [day, number]),
    [['2026-11-02', 3n]],
  )
})

/** Writes what the database's own triggers would refuse. */
async function byHand(t: TestContext, url: string) {
  const hand = new pg.Client({ connectionString: url })
  await hand.connect()
  hand.on('error', () => {})
  t.after(() => hand.end())
  await hand.query('set session_replication_role = replica')
  return hand
}

test('a seal that leaves a number out is found, though its sum fits', async (t) => {
  const { sql, url } = await journal(t, ['2026-11-01'])
  const hand = await byHand(t, url)
  await hand.query('update journal set number = 3 where number = 2')
  await hand.query(`
    update journal as j set sha256 =
      journal_sum(j, (select sha256 from journal where number = 1), null,
                  (select entry_text(t) from transfer as t where t.number = 2))
    where number = 3`)
  const found = await sql.begin((tx) => checkJournal(tx))
  assert.deepEqual(
    found.map(({ subject }) => subject),
    ['seal 3'],
  )
})

test('an entry whose number the database never gave is found, below and above', async (t) => {
  const { sql, url } = await journal(t, ['2026-11-01'])
  const hand = await byHand(t, url)
  for (const number of [-7, 99])
    await hand.query(
      `insert into transfer (number, id, kind, debit, credit, amount_sun, made_at)
         overriding system value
       values ($1::bigint, 'forged ' || $1::text, 'move', 'world', 'customer:anna', 1, now())`,
      [number],
    )
  const found = await sql.begin((tx) => checkJournal(tx))
  const named = found.map(({ subject }) => subject).filter((one) => one.startsWith('entry'))
  assert.deepEqual(named, ['entry forged -7', 'entry forged 99'])
})

test('a history written anew, with sums that fit it, does not fit the roots', async (t) => {
  const { sql, url, clock, file } = await journal(t, ['2026-11-01', '2026-11-02'])
  clock.at = new Date('2026-11-04T00:00:00Z')
  await exportRoots(sql, clock, file)
  const hand = await byHand(t, url)
  await hand.query(`
    update transfer set amount_sun = 9 where number = 1;
    update journal as j set sha256 =
      journal_sum(j, '', null, (select entry_text(t) from transfer as t where number = 1))
    where number = 1`)
  for (const number of [2, 3, 4]) {
    await hand.query(
      `update journal as j set sha256 =
         journal_sum(j, (select sha256 from journal where number = $1::int - 1), null,
                     (select entry_text(t) from transfer as t where t.number = $1))
       where number = $1`,
      [number],
    )
  }
  assert.deepEqual(await sql.begin((tx) => checkJournal(tx)), [], 'by itself it fits')
  const found = await checkRoots(sql, readRoots(await readFile(file, 'utf8')))
  assert.deepEqual(
    found.map(({ subject }) => subject),
    ['root of 2026-11-01', 'root of 2026-11-02'],
  )
  await assert.rejects(exportRoots(sql, clock, file), /has other roots than this journal/)
})

test('a seal that was noted and is gone is found', async (t) => {
  const { sql, clock } = await journal(t, ['2026-11-01'])
  clock.at = new Date('2026-11-04T00:00:00Z')
  const [root] = await finishedRoots(sql, clock, undefined)
  const found = await checkRoots(sql, [{ ...root!, number: 77n }])
  assert.match(found[0]!.found, /is not there/)
})

test('a line cut short by a crash is passed over; another broken line is refused', async (t) => {
  const { sql, clock, file } = await journal(t, ['2026-11-01', '2026-11-02'])
  clock.at = new Date('2026-11-04T00:00:00Z')
  const [first] = await finishedRoots(sql, clock, undefined)
  for (const cut of [rootLine(first!).slice(0, -2), '{"d', '{']) {
    await writeFile(file, rootLine(first!) + cut)
    assert.equal((await exportRoots(sql, clock, file)).length, 1, cut)
    assert.deepEqual(
      readRoots(await readFile(file, 'utf8')),
      await finishedRoots(sql, clock, undefined),
      cut,
    )
  }
  const [, ...lines] = (await readFile(file, 'utf8')).split('\n')
  assert.ok(lines.length > 1)
  await appendFile(file, 'something else\n')
  await assert.rejects(exportRoots(sql, clock, file), /Line 4 is not a root/)
})

test('what books roots prints as JSON is read too, and nonsense is not', () => {
  const root = { day: '2026-11-01', number: 2n, last_entry: 9n, sha256: 'ab'.repeat(32) }
  const printed = JSON.stringify([
    { ...root, number: 2, last_entry: 9, sealed_at: '2026-11-01T20:00:00Z' },
  ])
  assert.deepEqual(readRoots(printed), [root])
  assert.deepEqual(readRoots(''), [])
  for (const wrong of [
    '[1]',
    '[null]',
    '[{}]',
    '[',
    '{}',
    '{"day":"2026-11-01","number":"2","sha256":""}',
    'x',
  ])
    assert.throws(() => readRoots(wrong), /not a (root|list)/, wrong)
})

test('a root has a day, whole numbers and a sum, each as it is written', () => {
  const root = { day: '2026-11-01', number: 2, last_entry: 9, sha256: 'ab'.repeat(32) }
  const read = (more: object) => readRoots(JSON.stringify({ ...root, ...more }))
  const [none] = read({ number: 0, last_entry: undefined })
  assert.deepEqual([none?.number, none?.last_entry], [0n, 0n])
  for (const wrong of [
    ...[{ day: ['2026-11-01'] }, { day: '2026-11-1' }, { day: undefined }],
    ...[{ number: -1 }, { number: 1.5 }, { number: '2' }, { number: undefined }],
    ...[{ last_entry: -1 }, { last_entry: 1.5 }, { last_entry: null }],
    ...[{ sha256: ['ab'.repeat(32)] }, { sha256: 'ab' }, { sha256: undefined }],
  ])
    assert.throws(
      () => read(wrong),
      /The roots cannot be read: line 1 is not a root/,
      JSON.stringify(wrong),
    )
})

test('roots are written on lines of their own, and nothing where there are none', () => {
  const root = { day: '2026-11-01', number: 2n, last_entry: 9n, sha256: 'ab'.repeat(32) }
  const line = rootLine(root)
  assert.equal(rootsAfter('', [root, root]), line + line)
  assert.equal(rootsAfter(line, [root]), line)
  assert.equal(rootsAfter('{"d', [root]), `\n${line}`)
  assert.equal(rootsAfter('{"d', []), '')
})

test('a seal of the midnight that has just passed is of a day that is not over', async (t) => {
  const { sql, clock, sealAt } = await journal(t, ['2026-11-01'])
  await sealAt('2026-11-02T00:00:00Z')
  clock.at = new Date('2026-11-02T00:10:00Z')
  const roots = await finishedRoots(sql, clock, undefined)
  assert.deepEqual(
    roots.map(({ day, number }) => [day, number]),
    [['2026-11-01', 2n]],
  )
})
