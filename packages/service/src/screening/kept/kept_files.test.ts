// The files of indexes: which part of a folder a process takes, what is removed, and what is
// refused or put aside.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Misuse } from '../../lib/fault.ts'
import type { Entry, KeptHeader } from './kept.ts'
import { KeptFolder, keptPlace } from './kept_folder.ts'
import { HeldFile, KeptStore, keptHere } from './kept_store.ts'
import { openKept } from './kept_thread.ts'
import { BrokenState, KEY } from './slot_record.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-kept-files-'))
test.after(() => rmSync(folder, { recursive: true }))
/** No measure: an end for what would hang. */
const HANGS_MS = 120_000
let files = 0
const newPath = () => join(folder, `${files++}`)

const HEADER: KeptHeader = {
  identity: 'a state',
  number: 1,
  time_ms: null,
  sequence: 0,
  block_id: undefined,
  assets: 1,
  slots: 0,
  freezes: [],
}
const headerOf = (number: number, slots: number): KeptHeader =>
  Object.assign(structuredClone(HEADER), { number, slots })

const keyOf = (n: number) => {
  const key = Buffer.alloc(KEY)
  key.writeUInt32BE(n, 1)
  return key
}
/** A record of so many bytes, whose counterparties are counted or not. */
const entryOf = (n: number, { bytes = 9, counted = false } = {}): Entry => ({
  key: keyOf(n),
  state: Buffer.alloc(bytes).fill(counted ? 4 : 0, 4, 5),
  others: counted ? Buffer.alloc(8, 1) : undefined,
})

/** Takes a part, which is let go of when the test ends; `waits`: how long, each time. */
function taking(t: TestContext, path: string) {
  const waits: number[] = []
  const take = async (wait?: (ms: number) => Promise<void>) => {
    const taken = await KeptFolder.take(path, wait)
    t.after(() => taken.close())
    return taken
  }
  const waiting = async (ms: number) => void waits.push(ms)
  return { take, waiting, waits }
}

test('a process takes the first part of a folder that is free, and waits for none', async (t) => {
  const path = newPath()
  const { take, waiting, waits } = taking(t, path)
  const first = await take(waiting)
  assert.deepEqual([basename(first.path), waits], ['1', []])
  const second = await take()
  assert.equal(basename(second.path), '2')
  first.close()
  first.close()
  const again = await take(waiting)
  assert.deepEqual([basename(again.path), waits], ['1', []], 'it takes what others have left')
})

test('where all parts are taken a process waits fifty times, and then has a new one', async (t) => {
  const path = newPath()
  const { take, waiting, waits } = taking(t, path)
  const first = await take()
  assert.equal(basename((await take(waiting)).path), '2')
  assert.deepEqual(waits, Array(50).fill(100))
  let left = 3
  const until_free = async () => {
    left -= 1
    if (left === 0) first.close()
  }
  assert.equal(basename((await take(until_free)).path), '1')
  assert.equal(left, 0)
})

test('a folder has 64 parts, and is one', async (t) => {
  const path = newPath()
  const { take } = taking(t, path)
  const claims = Array.from({ length: 64 }, (_, i) => {
    mkdirSync(join(path, `${i + 1}`), { recursive: true })
    const claim = new DatabaseSync(join(path, `${i + 1}`, 'claim'))
    t.after(() => claim.isOpen && claim.close())
    claim.exec('pragma locking_mode = exclusive; begin immediate; commit')
    return claim
  })
  await assert.rejects(take(), (thrown: Error) => {
    assert.ok(thrown instanceof Misuse)
    return /All 64 parts/.test(thrown.message)
  })
  claims.at(-1)!.close()
  assert.equal(basename((await take()).path), '64')
  const file = newPath()
  writeFileSync(file, '')
  await assert.rejects(KeptFolder.take(file), /cannot be used/)
})

test('memory is shared by five indexes of 900 bytes a slot', async () => {
  const place = await keptPlace(newPath(), 9, async () => {})
  assert.equal(place.hot_slots, Math.floor((9 * 2 ** 20) / 4_500))
  place.folder.close()
})

test('the states of a kind before a number are removed, with what was put aside', async (t) => {
  const kept = await taking(t, newPath()).take()
  const names = ['index-1', 'index-2', 'index-10', 'other-1'].map((name) => `${name}.sqlite`)
  for (const name of [...names, 'index-1.sqlite.broken', 'index-1.sqlite-wal', 'index-1.txt'])
    writeFileSync(join(kept.path, name), '')
  const left = () =>
    readdirSync(kept.path)
      .filter((name) => !name.startsWith('claim'))
      .sort()
  assert.deepEqual([kept.has('index', 1), kept.has('index', 3)], [true, false])
  kept.removeBefore('index', 2)
  assert.deepEqual(left(), ['index-1.txt', ...names.slice(1)].sort())
  kept.remove('other', 1)
  assert.equal(kept.has('other', 1), false)
})

test('a state that is open is refused, and not put aside', async (t) => {
  const kept = await taking(t, newPath()).take()
  const store = await kept.open('index', 1)
  await assert.rejects(kept.open('index', 1), HeldFile)
  assert.equal(existsSync(`${kept.fileOf('index', 1)}.broken`), false)
  await store.save([entryOf(1), entryOf(2, { counted: true })], headerOf(7, 2))
  writeFileSync(kept.fileOf('index', 2), 'what was there')
  await kept.copy(store, 'index', 2)
  await store.close()
  const copy = await kept.open('index', 2)
  assert.equal(copy.header?.number, 7)
  const found = await copy.load(Buffer.concat([1, 2, 3].map(keyOf)))
  assert.deepEqual(
    found.map((one) => one && [one.state.length, one.others?.length]),
    [[9, undefined], [9, 8], undefined],
  )
  assert.equal(existsSync(`${kept.fileOf('index', 2)}.copy`), false)
  await copy.close()
})

/** Changes a file that is closed. */
function edit(path: string, sql: string): void {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

test('a file whose slots or block are not all there is refused', async () => {
  const path = newPath()
  const store = keptHere(new KeptStore(path))
  assert.deepEqual(await store.scan(undefined, { limit: 5, counted: false }), [])
  assert.deepEqual(await store.scan(undefined, { limit: 5, counted: true }), [])
  await store.save([entryOf(0), entryOf(2), entryOf(3, { counted: true })], headerOf(1, 3))
  await store.close()
  const open = () => new KeptStore(path).close()
  open()
  const db = new DatabaseSync(path)
  const first = db.prepare('select id from slot order by id limit 1')
  first.setReadBigInts(true)
  assert.deepEqual({ ...first.get() }, { id: 1n - 2n ** 63n })
  db.close()
  edit(path, `insert into counted (key, others) values (x'${keyOf(9).toString('hex')}', x'01')`)
  const counted = keptHere(new KeptStore(path))
  await assert.rejects(counted.scan(undefined, { limit: 5, counted: true }), BrokenState)
  await counted.close()
  edit(path, 'delete from slot where id = (select max(id) from slot)')
  assert.throws(open, { name: 'BrokenState', message: 'slots are missing' })
  // A large one would take too long: what is behind its pages counts for its size.
  truncateSync(path, 2 ** 28)
  assert.throws(open, { name: 'BrokenState', message: 'slots are missing' })
  truncateSync(path, 2 ** 28 + 1)
  open()
  truncateSync(path, 2 ** 20)
  edit(path, 'delete from slot; update header set sum = sum + 1')
  assert.throws(open, { name: 'BrokenState', message: /its block/ })
  edit(path, 'delete from header')
  open()
  edit(path, "insert into slot (id, key, state) values (1, x'00', x'00')")
  assert.throws(open, { name: 'BrokenState', message: 'slots are missing' })
})

/** A file that does not take a slot. */
async function refusing(n: number) {
  const path = newPath()
  const made = keptHere(new KeptStore(path))
  await made.save([entryOf(5_000)], headerOf(1, 1))
  await made.close()
  edit(
    path,
    `create trigger refused before insert on slot when new.key = x'${keyOf(n).toString('hex')}'
     begin select raise(fail, 'it is refused'); end`,
  )
  return path
}

test('nothing is saved when a slot is not taken, in whatever portion it comes', async () => {
  // Two of them make a portion.
  const entries = [1, 2, 3, 4, 5].map((n) => entryOf(n, { bytes: 600_000 }))
  for (const n of [1, 2, 3, 5]) {
    const path = await refusing(n)
    const kept = await openKept(path)
    await assert.rejects(kept.save(entries, headerOf(2, 6)), /it is refused/)
    assert.equal((await kept.scan(undefined, { limit: 9, counted: false })).length, 1)
    await kept.save(
      entries.filter(({ key }) => !keyOf(n).equals(key)),
      headerOf(3, 5),
    )
    await kept.close()
    const again = new KeptStore(path)
    assert.equal(again.header!.number, 3)
    again.close()
  }
})

test('a file that was closed answers nobody any more', async () => {
  const path = newPath()
  const kept = await openKept(path)
  assert.equal(kept.header, undefined)
  await kept.save([], headerOf(4, 0))
  await kept.close()
  await assert.rejects(kept.load(keyOf(1)), { name: 'LostThread' })
  const again = await openKept(path)
  assert.equal(again.header?.number, 4)
  await again.close()
})

const THREAD = JSON.stringify(new URL('./kept_thread.ts', import.meta.url))

test('a process with an open file that asks nothing ends by itself', () => {
  const script = `
    const { openKept } = await import(${THREAD})
    const kept = await openKept(${JSON.stringify(newPath())})
    const found = await kept.load(new Uint8Array(${KEY}))
    console.log(found.length)`
  // A thread takes over what its process is begun with.
  const file = `${newPath()}.mjs`
  writeFileSync(file, script)
  const { status, stdout } = spawnSync(process.execPath, [file], { timeout: HANGS_MS })
  assert.deepEqual([status, `${stdout}`.trim()], [0, '1'])
})

test('a thread of something else that loads the same module serves no file', async () => {
  const file = `${newPath()}.mjs`
  writeFileSync(file, `import ${THREAD}`)
  const worker = new Worker(file, { workerData: { other: 1 } })
  const first = await new Promise((resolve, reject) => {
    worker.on('message', resolve)
    worker.on('error', reject)
    worker.on('exit', (code) => resolve(`ended with ${code}`))
  })
  await worker.terminate()
  assert.equal(first, 'ended with 0')
})
