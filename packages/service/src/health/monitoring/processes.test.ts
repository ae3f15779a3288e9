import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Misuse } from '../../lib/fault.ts'
import { silentLog } from '../../lib/log.ts'
import { requireDurable } from '../../platform/database/durable.ts'
import { connect } from '../../platform/database/sql.ts'
import { alerts } from './alerts.ts'
import { marksIn } from './database_marks.ts'
import { DatabaseMemory } from './database_memory.ts'
import { beatStep, runningProcesses } from './processes.ts'

/** Processes that say that they are there when they are told to. */
async function beating(t: TestContext) {
  const { sql } = await freshDatabase(t)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-marks-'))
  t.after(() => rm(folder, { recursive: true }))
  const clock = { now: () => new Date() }
  let told = 0
  const start = (id: string, { offset_ms = 0, standbys = 0, unreplicated = 0 } = {}) => {
    const named = { id, host: `${id}'s machine`, role: 'worker' }
    return beatStep({
      sql,
      corrected: { ...clock, learn: () => {}, offset_ms: () => offset_ms },
      unreplicated: () => unreplicated,
      report: () => JSON.stringify({ told: ++told }),
      facts: { ...named, version: '1.2.3', schema: 7, standbys, started_at: clock.now() },
      memory: new DatabaseMemory(clock, named),
      marks: marksIn(folder, silentLog),
    })
  }
  const found = async () => {
    const wanted = ['standby_missing', 'commit_unreplicated', 'clock_off', 'data_folder_unwritten']
    const all = await alerts({ sql, now: clock.now() })
    return all.filter(({ alert }) => wanted.includes(alert)).map(({ what }) => what)
  }
  const names = async () => (await runningProcesses(sql)).map(({ id }) => id)
  const age = (id: string, seconds: number) => sql`
    update process set seen_at = clock_timestamp() - make_interval(secs => ${seconds})
    where id = ${id}`
  return { sql, folder, start, found, names, age }
}

test('a process is there while it says so; a row that is a day old is removed', async (t) => {
  const { sql, start, names, age } = await beating(t)
  const [one, other] = [start('one'), start('other')]
  await one.run()
  await other.run()
  assert.deepEqual(await names(), ['one', 'other'])
  await age('one', 16)
  assert.deepEqual(await names(), ['other'])
  await one.run()
  assert.deepEqual(await names(), ['one', 'other'])
  const rows = await sql`select id, beat, host, version, schema from process order by id`
  const facts = (id: string, beat: bigint) => {
    return { id, beat, host: `${id}'s machine`, version: '1.2.3', schema: 7 }
  }
  assert.deepEqual(rows, [facts('one', 2n), facts('other', 1n)])
  await age('one', 25 * 3_600)
  await start('third').run()
  assert.deepEqual(await sql`select id from process order by id`, [
    { id: 'other' },
    { id: 'third' },
  ])
})

test('what a process says of itself comes with the first of five beats', async (t) => {
  const { sql, start } = await beating(t)
  const step = start('one')
  const told: unknown[] = []
  for (let beat = 1; beat <= 7; beat++) {
    await step.run()
    const [row] = await sql<{ report: { told: number } }>`select report from process`
    told.push(row!.report.told)
  }
  assert.deepEqual(told, [1, 1, 1, 1, 1, 2, 2])
})

test('a wrong clock, a lonely commit and a missing standby are alerts', async (t) => {
  const { start, found, age } = await beating(t)
  await start('good', { offset_ms: -900 }).run()
  assert.deepEqual(await found(), [])
  await start('bad', { offset_ms: -2_500, standbys: 2, unreplicated: 3 }).run()
  assert.deepEqual(await found(), [
    'standbys that confirm commits: 0, asked for: 2',
    'commits that no standby has confirmed and that went on: 3',
    "the clock of bad's machine (worker) is -2.5 s off the clock of the database",
  ])
  // That commits stand alone outlives the process that saw it.
  await age('bad', 60)
  assert.deepEqual(await found(), ['commits that no standby has confirmed and that went on: 3'])
})

test('a process that cannot write in its data folder says so until it can', async (t) => {
  const { folder, start, found } = await beating(t)
  const one = start('one')
  await one.run()
  await rm(folder, { recursive: true })
  await writeFile(folder, '')
  for (let i = 0; i < 2; i++) await one.run()
  assert.deepEqual(await found(), ["one's machine (worker) cannot write in its data folder"])
  await rm(folder)
  await mkdir(folder)
  for (let i = 0; i < 2; i++) await one.run()
  assert.deepEqual(await found(), [])
})

test('a server that asks no standby is refused where one is asked for', async (t) => {
  const { url } = await freshDatabase(t)
  const sql = connect({ url, connections_max: 1 })
  t.after(() => sql.close())
  await requireDurable(sql, 0)
  await assert.rejects(requireDurable(sql, 1), (thrown) => {
    assert.ok(thrown instanceof Misuse)
    assert.match(thrown.message, /no synchronous_standby_names/)
    return true
  })
})
