// What was signed, as files: read again after a restart, shared by processes, and not altered
// unseen.

import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { repeatable } from 'penstock-test/harness/world.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { Misuse } from '../../lib/fault.ts'
import { idMaker } from '../../lib/ids.ts'
import { fileLog, KEPT_MS, REFUNDS_KEPT_MS, type SignatureRecord } from './signature_log.ts'

async function folderOf(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-signed-'))
  t.after(() => rm(folder, { recursive: true }))
  let now_ms = 1_780_000_000_000
  const clock = { now: () => new Date(now_ms) }
  const new_id = idMaker(clock, repeatable('signed'))
  return {
    folder,
    open: () => fileLog(folder, { clock, new_id }),
    wait: (ms: number) => {
      now_ms += ms
    },
    entry: (attempt: string, type = 'DelegateResourceContract'): SignatureRecord => ({
      at: now_ms,
      attempt,
      subject: `delegate:${attempt}`,
      tx_id: attempt.padEnd(64, '0'),
      type,
      wallet: person('pool').address,
      receiver: person('bob').address,
      sun: 2n ** 60n + 1n,
      expires_at: now_ms + 60_000,
      raw_data: 'AAAA',
    }),
  }
}

const attemptsOf = (entries: readonly SignatureRecord[]) => entries.map(({ attempt }) => attempt)

test('what was signed is there after a restart, as it was', async (t) => {
  const { open, entry } = await folderOf(t)
  const first = await open()
  const entries = [entry('a'), entry('b', 'TransferContract')]
  await first.append(entries)
  await first.append([entry('c')])
  assert.deepEqual(await first.news(), [], 'its own it knows')
  const second = await open()
  assert.deepEqual((await second.news()).slice(0, 2), entries)
  assert.deepEqual(await second.news(), [])
})

test('two processes on one folder hear of each other', async (t) => {
  const { open, entry } = await folderOf(t)
  const [one, two] = [await open(), await open()]
  await one.append([entry('a')])
  await two.append([entry('b')])
  assert.deepEqual(attemptsOf(await two.news()), ['a'])
  assert.deepEqual(attemptsOf(await one.news()), ['b'])
  await one.append([entry('c')])
  assert.deepEqual(attemptsOf(await two.news()), ['c'])
  assert.deepEqual(attemptsOf(await (await open()).news()).sort(), ['a', 'b', 'c'])
})

test('a line half written when its process died is dropped, and the rest stays', async (t) => {
  const { folder, open, entry } = await folderOf(t)
  await (await open()).append([entry('a')])
  const [file] = await readdir(folder)
  await appendFile(join(folder, file!), `${'0'.repeat(64)} {"at":1`)
  const next = await open()
  assert.deepEqual(attemptsOf(await next.news()), ['a'])
  await next.append([entry('b')])
  assert.deepEqual(attemptsOf(await (await open()).news()).sort(), ['a', 'b'])
})

test('a line of another process is read when it is whole, and once', async (t) => {
  const { folder, open, entry } = await folderOf(t)
  const other = await open()
  await other.append([entry('a'), entry('b')])
  const [file] = await readdir(folder)
  const path = join(folder, file!)
  const text = await readFile(path)
  const half = text.lastIndexOf('{') + 1
  await writeFile(path, text.subarray(0, half))
  const log = await open()
  assert.deepEqual(attemptsOf(await log.news()), ['a'])
  await writeFile(path, text)
  assert.deepEqual(attemptsOf(await log.news()), ['b'])
  assert.deepEqual(await log.news(), [])
})

test('what is no file of a process is left alone', async (t) => {
  const { folder, open, entry } = await folderOf(t)
  const names = ['notes.txt', `${'0'.repeat(26)}.log.old`, `a${'0'.repeat(26)}.log`]
  for (const name of names) await writeFile(join(folder, name), 'not ours\n')
  const log = await open()
  await log.append([entry('a')])
  assert.deepEqual(attemptsOf(await (await open()).news()), ['a'])
  for (const name of names) assert.equal(await readFile(join(folder, name), 'utf8'), 'not ours\n')
})

test('a file that another process has only begun stays, and what it signs is read', async (t) => {
  const { folder, open, entry } = await folderOf(t)
  const other = await open()
  await other.append([entry('b')])
  const [file] = await readdir(folder)
  const path = join(folder, file!)
  const text = await readFile(path, 'utf8')
  for (const begun of [text.slice(0, text.indexOf('\n') + 1), '']) {
    await writeFile(path, begun)
    const log = await open()
    assert.deepEqual(await log.news(), [])
    await log.append([entry('a')])
    await log.close()
    assert.ok((await readdir(folder)).includes(file!), `there after ${begun.length} bytes`)
    await writeFile(path, text)
    assert.deepEqual(attemptsOf(await log.news()), ['b'])
    for (const one of await readdir(folder)) if (one !== file) await rm(join(folder, one))
  }
})

test('a line altered, removed or inserted, and a missing file, are noticed', async (t) => {
  const { folder, open, entry } = await folderOf(t)
  const first = await open()
  await first.append([entry('a'), entry('b')])
  await (await open()).append([entry('c')])
  const [file] = (await readdir(folder)).sort()
  const path = join(folder, file!)
  const text = await readFile(path, 'utf8')
  const lines = text.split('\n')
  const changes = [
    text.replace('"attempt":"a"', '"attempt":"x"'),
    [lines[0], lines[2], ''].join('\n'),
    [...lines.slice(0, 2), lines[1], ...lines.slice(2)].join('\n'),
    // The end is taken off; the other file says how far it was.
    [...lines.slice(0, 2), ''].join('\n'),
  ]
  const reading = await open()
  await reading.news()
  await writeFile(path, changes[3]!)
  await assert.rejects(reading.news(), Misuse, 'of one that has read all of it, too')
  for (const changed of changes) {
    await writeFile(path, changed)
    await assert.rejects(
      open(),
      (thrown) => thrown instanceof Misuse && thrown.message.includes(path),
    )
  }
  await rm(path)
  await assert.rejects(open(), Misuse)
  await writeFile(path, text)
  await open()
})

test('a day has a file, old ones are removed, refunds are carried on for a month', async (t) => {
  const { folder, open, entry, wait } = await folderOf(t)
  const log = await open()
  await log.append([entry('a'), entry('r', 'TransferContract')])
  for (let day = 1; day < 5; day++) {
    wait(DAY_MS + 1)
    await log.append([entry(`d${day}`)])
  }
  assert.ok((await readdir(folder)).length <= 3)
  const known = attemptsOf(await (await open()).news())
  assert.ok(
    known.includes('d4') && known.includes('r') && !known.includes('a') && !known.includes('d1'),
  )
  wait(32 * DAY_MS)
  await log.append([entry('late')])
  assert.deepEqual(attemptsOf(await (await open()).news()), ['late'])
})

test('a file is written to for a day, and kept until its last entry is two days old', async (t) => {
  const { folder, open, entry, wait } = await folderOf(t)
  const files = async () => (await readdir(folder)).length
  const log = await open()
  await log.append([entry('a')])
  await log.append([entry('b')])
  assert.equal(await files(), 1)
  wait(DAY_MS)
  await log.append([entry('c')])
  assert.equal(await files(), 1)
  wait(1)
  await log.append([entry('d')])
  assert.equal(await files(), 2)
  wait(KEPT_MS - 1)
  await log.append([entry('e')])
  assert.equal(await files(), 3, 'the first has an entry of two days ago')
  wait(DAY_MS + 1)
  await log.append([entry('f')])
  assert.deepEqual(attemptsOf(await (await open()).news()).sort(), ['e', 'f'])
})

test('refunds of other processes are carried on too, until their time is over', async (t) => {
  const { open, entry, wait } = await folderOf(t)
  await (await open()).append([entry('refund', 'TransferContract'), entry('a')])
  wait(KEPT_MS + 1)
  const log = await open()
  await log.news()
  await log.append([entry('b')])
  assert.deepEqual(attemptsOf(await (await open()).news()), ['refund', 'b'])
  wait(REFUNDS_KEPT_MS - KEPT_MS - 1)
  await log.append([entry('c')])
  assert.deepEqual(attemptsOf(await (await open()).news()), ['refund', 'c'])
  wait(KEPT_MS + 1)
  await log.append([entry('d')])
  assert.deepEqual(attemptsOf(await (await open()).news()), ['d'])
})
