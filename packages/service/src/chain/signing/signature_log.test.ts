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
import { fileLog, type SignatureRecord } from './signature_log.ts'

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
