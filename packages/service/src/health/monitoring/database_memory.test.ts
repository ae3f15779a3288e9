import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freshDatabase, TestDatabase } from 'penstock-test/harness/database.ts'
import { correctedClock, systemClock } from '../../lib/clock.ts'
import { silentLog } from '../../lib/log.ts'
import { alerts } from './alerts.ts'
import { acceptLosses, listLosses } from './database_losses.ts'
import { marksIn } from './database_marks.ts'
import { type BeatRow, DatabaseMemory } from './database_memory.ts'
import { beatStep } from './processes.ts'

/** A process that beats and compares when it is told to, by a clock that is ours to turn. */
async function remembering(t: TestContext) {
  const { sql, name, url } = await freshDatabase(t)
  const folder = join(await mkdtemp(join(tmpdir(), 'penstock-marks-')), 'marks')
  t.after(() => rm(join(folder, '..'), { recursive: true }))
  const clock = { ahead_ms: 0, now: () => new Date(Date.now() + clock.ahead_ms) }
  const marks = marksIn(folder, silentLog)
  const start = (id: string, by = sql) => {
    const named = { id, host: 'here', role: 'api' }
    const memory = new DatabaseMemory(clock, named)
    const facts = { ...named, version: '1', schema: 1, standbys: 0, started_at: clock.now() }
    const needs = { sql: by, corrected: correctedClock(systemClock), unreplicated: () => 0 }
    const { run: beat } = beatStep({ ...needs, report: () => '{}', facts, memory, marks })
    const compare = async (server = 'one') => {
      const [row] = await sql<BeatRow>`
        select (select beat from process where id = ${id}) as beat,
          exists (select from database_loss where accepted_at is null) as open`
      await memory.compare(sql, server, row!)
    }
    return { memory, beat, compare }
  }
  const went_back = async () => {
    const found = await alerts({ sql, now: new Date() })
    return found.find(({ alert }) => alert === 'database_went_back')?.what
  }
  const reads_only = () => {
    const only = new TestDatabase({ name, url }).connect({ role: 'penstock_read' })
    t.after(() => only.close())
    return only
  }
  return { sql, clock, folder, marks, start, went_back, reads_only }
}

test('a beat that is lower than was acknowledged stops every process until accepted', async (t) => {
  const { sql, start, went_back } = await remembering(t)
  const [one, other] = [start('one'), start('other')]
  for (const { beat, compare } of [one, other, one, one]) {
    await beat()
    await compare()
  }
  assert.equal(one.memory.wentBack(), false)
  await sql`update process set beat = 1 where id = 'one'`
  // The row stays as it is until it was looked at.
  await one.beat()
  assert.deepEqual(await sql`select beat from process where id = 'one'`, [{ beat: 1n }])
  await one.compare()
  assert.equal(one.memory.wentBack(), true)
  await one.beat()
  await other.compare()
  assert.equal(other.memory.wentBack(), true)
  const [loss, ...more] = await listLosses(sql, { limit: 10 })
  assert.deepEqual(
    [loss?.process_id, loss?.beat, loss?.beat_found, loss?.missing, more.length],
    ['one', 3n, 1n, [], 0],
  )
  assert.match((await went_back()) ?? '', /none of it/)
  assert.equal((await sql.begin((tx) => acceptLosses(tx, new Date()))).length, 1)
  for (const { memory, compare, beat } of [one, other]) {
    await compare()
    await beat()
    await compare('another')
    assert.equal(memory.wentBack(), false)
  }
  assert.equal(await went_back(), undefined)
})

test('what customers were told of is looked for on another server, and named', async (t) => {
  const { sql, start, went_back } = await remembering(t)
  const { memory, compare, beat } = start('one')
  await beat()
  await compare()
  for (const name of ['order:o1', 'check:c1', 'subscription:s1']) memory.noteTold(name)
  await compare()
  assert.equal(memory.wentBack(), false, 'the same server has them')
  await compare('another')
  assert.equal(memory.wentBack(), true)
  await beat()
  const [loss] = await listLosses(sql, { limit: 10 })
  assert.deepEqual([...loss!.missing].sort(), ['check:c1', 'order:o1', 'subscription:s1'])
  assert.match((await went_back()) ?? '', /order:o1/)
  await sql.begin((tx) => acceptLosses(tx, new Date()))
  await compare('a third')
  assert.equal(memory.wentBack(), false, 'it is told once')
})

test('a row that is not there is a loss, but not after a day', async (t) => {
  const { sql, clock, start } = await remembering(t)
  const { memory, compare, beat } = start('one')
  await beat()
  await compare()
  await sql`delete from process`
  clock.ahead_ms = 24 * 3_600_000
  await beat()
  await compare()
  assert.equal(memory.wentBack(), false)
  await beat()
  assert.deepEqual(await sql`select beat from process`, [{ beat: 1n }])
  await sql`delete from process`
  await compare()
  assert.equal(memory.wentBack(), true)
})

test('a process that is started again knows what the one before was told', async (t) => {
  const { sql, clock, folder, marks, start } = await remembering(t)
  const before = start('before')
  await before.beat()
  before.memory.noteTold('order:gone')
  await before.beat()
  const [mark, ...more] = await marks.read()
  assert.deepEqual([mark?.beat, mark?.told, more.length], [2n, ['order:gone'], 0])
  const after = start('after')
  await after.memory.compareMark(sql, mark!)
  assert.equal(after.memory.wentBack(), true)
  await after.beat()
  const [loss] = await listLosses(sql, { limit: 10 })
  assert.deepEqual([loss?.process_id, loss?.missing], ['before', ['order:gone']])
  assert.equal((await readdir(folder)).length, 2, 'the one before may still run')
  clock.ahead_ms = 61_000
  const last = start('last')
  await last.memory.compareMark(sql, mark!)
  await last.beat()
  assert.deepEqual((await readdir(folder)).sort(), ['after.json', 'last.json'])
})

test('the file of an ended process stays until what it misses is in the database', async (t) => {
  const { sql, clock, folder, marks, start, reads_only } = await remembering(t)
  const before = start('before')
  before.memory.noteTold('order:gone')
  await before.beat()
  clock.ahead_ms = 61_000
  // It finds out, but cannot write that down, and ends: as when a commit waits for a standby.
  const after = start('after', reads_only())
  const [mark] = await marks.read()
  await after.memory.compareMark(sql, mark!)
  await assert.rejects(after.beat(), /permission denied/)
  assert.deepEqual(await readdir(folder), ['before.json'])
  const later = start('later')
  await later.memory.compareMark(sql, mark!)
  await later.beat()
  assert.deepEqual(await readdir(folder), ['later.json'])
  assert.equal((await listLosses(sql, { limit: 10 })).length, 1)
})

test('a folder that cannot be written, and a file that cannot be read, are logged', async (t) => {
  const { marks, start, folder } = await remembering(t)
  const lines: string[] = []
  const nowhere = marksIn('/proc/nowhere', (event) => void lines.push(event))
  const { memory, beat } = start('one')
  await beat()
  for (let i = 0; i < 2; i++) await nowhere.write(memory.mark)
  assert.deepEqual(await nowhere.read(), [])
  await marks.write(memory.mark)
  await writeFile(join(folder, 'half.json'), '{"process_id":')
  const read = await marksIn(folder, (event) => void lines.push(event)).read()
  assert.deepEqual(
    [read.length, lines],
    [1, ['database_mark_not_written', 'database_mark_not_read']],
  )
})
