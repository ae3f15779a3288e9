// Label sets and their lists: how they are made, how far one may shrink, and when it is loaded, by
// rows just inside and just outside of each rule.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { numberedEntry } from 'penstock-test/harness/labels.ts'
import { addressFromBytes } from 'penstock-tron/address.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  diffSets,
  type ListLoad,
  listStates,
  listsOfSet,
  namedLabels,
  previewList,
  publishList,
  restoreVersion,
} from './label_sets.ts'
import type { ListEntry } from './list_entries.ts'
import { labelsOfSet } from './list_storage.ts'
import {
  listVersions,
  newestSet,
  requireSet,
  setSchedule,
  updatableLists,
} from './list_versions.ts'
import { importList, openList, readList, refreshStep } from './lists.ts'
import { makeList, type NewList } from './made_lists.ts'

const HOUR_MS = 3_600_000
const at = (ms: number) => new Date(Date.parse('2026-11-01T00:00:00Z') + ms)
const address = (n: number) => addressFromBytes(Uint8Array.of(0x41, ...new Uint8Array(20).fill(n)))

const entry = (n: number, more: Partial<ListEntry> = {}) => numberedEntry(n, address(n), more)
const entries = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => entry(from + i))

const publish = (sql: Sql, given: readonly ListEntry[], more: Partial<ListLoad> = {}) =>
  sql.begin((tx) => {
    const loading = { list: 'operator', origin: 'test', passed_over: 3, loaded_by: 'test' }
    return publishList(tx, { ...loading, loaded_at: at(0), ...more }, given)
  })

const restore = (sql: Sql, version_id: bigint, list = 'operator') =>
  sql.begin((tx) => restoreVersion(tx, { list, version_id, by: 'test', at: at(0) }))

test('a list may lose half of its entries, and not one more, unless it is said', async (t) => {
  const { sql } = await freshDatabase(t)
  await publish(sql, entries(4))
  await publish(sql, entries(2))
  await publish(sql, entries(5))
  const why = /It has 2 entries where it had 5 before/
  await assert.rejects(publish(sql, entries(2)), why)
  const { refused, entries_before } = await previewList(sql, 'operator', {
    entries: entries(2),
    at: at(0),
  })
  assert.match(refused!, why)
  assert.equal(entries_before, 5)
  const preview = await previewList(sql, 'operator', { entries: entries(3), at: at(0) })
  assert.deepEqual([preview.refused, preview.removed, preview.added], [null, 2, 0])
  assert.equal((await publish(sql, entries(2), { may_shrink: true })).removed, 3)
})

test('a list that bars may not stop to bar more than half of what it bars', async (t) => {
  const { sql } = await freshDatabase(t)
  const now = at(0)
  const barring = { kind: 'authority' } as const
  const all = (more: readonly Partial<ListEntry>[]) => more.map((one, i) => entry(i + 1, one))
  await publish(sql, all([barring, barring, barring, barring]))
  // As many as before, of which the publisher's file does not say any more that they are barred,
  // or says that they were.
  const why = /It bars 1 where it barred 4 before/
  const over = { ...barring, valid_to: now }
  const later = { ...barring, valid_from: at(1) }
  const broken = [all([barring, {}, over, later]), all([barring, {}, {}, {}, {}])]
  for (const given of broken) {
    await assert.rejects(publish(sql, given), why)
    const { refused } = await previewList(sql, 'operator', { entries: given, at: now })
    assert.match(refused!, why)
  }
  const half = all([barring, { ...barring, valid_from: now, valid_to: at(1) }, {}, {}])
  const preview = await previewList(sql, 'operator', { entries: half, at: now })
  assert.equal(preview.refused, null)
  assert.equal((await publish(sql, half)).changed, true)
  // What has ended by itself is not missed.
  assert.equal((await publish(sql, all([barring, {}]), { loaded_at: at(1) })).changed, true)
  await assert.rejects(publish(sql, all([{}, {}])), /It bars 0 where it barred 1 before/)
  assert.equal((await publish(sql, all([{}, {}]), { may_shrink: true })).changed, true)
})

test('a preview names each entry that is added or gone, by address', async (t) => {
  const { sql } = await freshDatabase(t)
  await publish(sql, [...entries(3), entry(9)])
  await publish(sql, [...entries(4), entry(9)])
  const changed = [entry(1, { category: 'scam' }), entry(3), entry(5), entry(9)]
  const { differences } = await previewList(sql, 'operator', { entries: changed, at: at(0) })
  const order = entries(9).map((one) => one.address)
  const by_address = [1, 2, 4, 5].sort((a, b) => (order[a - 1]! < order[b - 1]! ? -1 : 1))
  const said: Record<number, string[]> = {
    1: ['added scam', 'removed mixer'],
    2: ['removed mixer'],
    4: ['removed mixer'],
    5: ['added mixer'],
  }
  assert.deepEqual(
    differences.map((one) => [one.entity, `${one.change} ${one.category}`]),
    by_address.flatMap((n) => said[n]!.map((text) => [`Number ${n}`, text])),
  )
})

test('a list that was read is up to date, whatever it says, and no other one is', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`
    update list set read_at = ${at(-1)}, failing_since = ${at(-1)}, error = 'down'
    where code in ('operator', 'tagpacks')`
  const read = async () =>
    (
      await sql<{ code: string; read_at: Date; error: string | null }>`
        select code, read_at, error from list where code in ('operator', 'tagpacks') order by code`
    ).map((one) => [one.code, one.read_at, one.error])
  const untouched = ['tagpacks', at(-1), 'down']
  await publish(sql, entries(1))
  assert.deepEqual(await read(), [['operator', at(0), null], untouched])
  await publish(sql, entries(1), { loaded_at: at(5) })
  assert.deepEqual(await read(), [['operator', at(5), null], untouched])
})

test('a list without an entry is one if it names parties and had none before', async (t) => {
  const { sql } = await freshDatabase(t)
  const why = /It has no entry for an address of this network/
  await assert.rejects(publish(sql, []), why)
  await assert.rejects(publish(sql, [], { designations: 0 }), why)
  const first = await publish(sql, [], { designations: 1 })
  assert.deepEqual([first.changed, first.entries, first.label_set], [true, 0, 1])
  // It says what it said: nothing is made of it.
  const again = await publish(sql, [])
  assert.deepEqual([again.changed, again.version_id], [false, first.version_id])
  await publish(sql, entries(1))
  await assert.rejects(publish(sql, [], { designations: 1 }), why)
})

test('an entry that is not sound is refused with its address', async (t) => {
  const { sql } = await freshDatabase(t)
  const wrong: [Partial<ListEntry>, RegExp][] = [
    [{ category: 'nonsense' }, /there is no category nonsense/],
    [{ entity: 'a\0' }, /a zero byte/],
    [{ reference: 'a\0' }, /a zero byte/],
    [{ confidence: -1 }, /not a whole number from 0 to 100/],
    [{ confidence: 101 }, /not a whole number from 0 to 100/],
    [{ confidence: 0.5 }, /not a whole number from 0 to 100/],
  ]
  for (const [more, why] of wrong) await assert.rejects(publish(sql, [entry(1, more)]), why)
  const sound = [entry(1, { confidence: 0 }), entry(2, { confidence: 100 })]
  assert.equal((await publish(sql, sound)).entries, 2)
})

/** Two lists, the first in two versions: three sets after that with nothing in it. */
async function twoLists(t: TestContext) {
  const { sql } = await freshDatabase(t)
  const first = await publish(sql, [...entries(2), entry(1)])
  const other = await publish(sql, entries(2, 2), { list: 'tagpacks', loaded_at: at(1) })
  const second = await publish(sql, [entry(1), entry(3)], { loaded_at: at(2) })
  return { sql, first, other, second }
}

test('a set has the newest version of each list, by the hashes of those', async (t) => {
  const { sql, first, other, second } = await twoLists(t)
  assert.deepEqual([first.label_set, other.label_set, second.label_set], [1, 2, 3])
  assert.deepEqual([first.entries, first.added, second.added, second.removed], [2, 2, 1, 1])
  const codes = async (set: number) => (await listsOfSet(sql, set)).map(({ list }) => list)
  assert.deepEqual(await Promise.all([0, 1, 2, 3].map(codes)), [
    [],
    ['operator'],
    ['operator', 'tagpacks'],
    ['operator', 'tagpacks'],
  ])
  const lists = await listsOfSet(sql, 3)
  assert.deepEqual(
    lists.map(({ title, entries, loaded_at }) => [title, entries, loaded_at]),
    [
      ["The operator's own labels", 2, at(2)],
      ['GraphSense TagPacks', 2, at(1)],
    ],
  )
  const [set] = await sql<{ sha256: string }>`select sha256 from label_set where number = 3`
  const hashes = lists.map(({ sha256 }) => sha256).sort()
  assert.equal(set!.sha256, createHash('sha256').update(hashes.join('\n')).digest('hex'))
  const states = await listStates(sql)
  assert.deepEqual(
    states.flatMap(({ code, entries, loaded_at }) =>
      entries === null ? [] : [[code, entries, loaded_at]],
    ),
    [
      ['operator', 2, at(2)],
      ['tagpacks', 2, at(1)],
    ],
  )
})

test('two sets are compared list by list, and a set says its own labels', async (t) => {
  const { sql } = await twoLists(t)
  const compared = async (before: number, after: number) =>
    (await diffSets(sql, before, after)).map(
      (one) => `${one.change} ${one.list} ${one.entity.slice(-1)}`,
    )
  assert.deepEqual((await compared(1, 3)).sort(), [
    'added operator 3',
    'added tagpacks 2',
    'added tagpacks 3',
    'removed operator 2',
  ])
  assert.deepEqual((await compared(2, 1)).sort(), ['removed tagpacks 2', 'removed tagpacks 3'])
  assert.deepEqual(await compared(3, 3), [])
  const named = async (set: number, n: number) =>
    (await namedLabels(sql, set, [address(n)])).map(({ list }) => list)
  assert.deepEqual(await named(1, 3), [])
  assert.deepEqual(await named(2, 2), ['operator', 'tagpacks'])
  assert.deepEqual(await named(3, 2), ['tagpacks'])
  const given = async (set: number) =>
    (await Array.fromAsync(labelsOfSet(sql, set))).flat().map((one) => one.address)
  assert.deepEqual((await given(1)).sort(), [address(1), address(2)].sort())
  assert.equal((await given(3)).length, 4)
  assert.deepEqual(await given(0), [])
})

test('a version is gone back to where it is of the list and not in force', async (t) => {
  const { sql, first, other, second } = await twoLists(t)
  const refused = (version_id: bigint, why: RegExp, list?: string) =>
    assert.rejects(restore(sql, version_id, list), why)
  await refused(999n, /The list operator has no version 999/)
  await refused(other.version_id, /The list operator has no version/)
  await refused(second.version_id, /is in force/)
  const back = await restore(sql, first.version_id)
  assert.deepEqual(
    [back.label_set, back.added, back.removed, back.entries, back.passed_over],
    [4, 1, 1, 2, 3],
  )
  assert.equal(back.version_before, second.version_id)
  // The next one is compared with the version in force, not with the last one that was loaded.
  const again = await publish(sql, entries(2))
  assert.deepEqual([again.changed, again.version_id], [false, first.version_id])
  const third = await publish(sql, [entry(1), entry(3)])
  assert.deepEqual([third.changed, third.added, third.removed], [true, 1, 1])
  const versions = await listVersions(sql, { list: 'operator', limit: 2 })
  assert.deepEqual(
    versions.map(({ id, first_set, last_set }) => [id, first_set, last_set]),
    [
      [third.version_id, 5, 5],
      [second.version_id, 3, 3],
    ],
  )
  const [one, ...more] = (await listVersions(sql, { list: 'operator', limit: 9 })).slice(2)
  assert.deepEqual([one!.first_set, one!.last_set, more], [1, 4, []])
  assert.equal(await newestSet(sql), 5)
  assert.equal(await requireSet(sql, 5), 5)
  await assert.rejects(requireSet(sql, 6), /There is no label set 6; the newest is 5/)
})

const NEW: NewList = {
  code: 'court',
  title: 'A court',
  licence: 'public',
  kind: 'authority',
  reader: 'table',
  columns: [],
  category: undefined,
  url: undefined,
  hours: undefined,
  made_by: 'anna',
}

test('a list of its own is made as it is said, or refused by what is wrong', async (t) => {
  const { sql } = await freshDatabase(t)
  const make = (more: Partial<NewList>) => sql.begin((tx) => makeList(tx, { ...NEW, ...more }))
  const wrong: [Partial<NewList>, RegExp][] = [
    [{ code: 'a' }, /is no code/],
    [{ code: 'A1' }, /is no code/],
    [{ code: '1a' }, /is no code/],
    [{ code: 'a'.repeat(31) }, /is no code/],
    [{ code: 'operator' }, /There is a list operator already/],
    [{ reader: 'tagpack' }, /make it --kind curated/],
    [{ reader: 'opensanctions' }, /make it --kind curated/],
    [{ hours: 1 }, /--hours needs --url/],
    [{ reader: 'ofac', columns: ['address=A'] }, /belong to --reader table/],
    [{ reader: 'ofac', category: 'scam' }, /belong to --reader table/],
    [{ columns: ['who=A'] }, /"who=A" maps no field/],
    [{ columns: ['address='] }, /"address=" names no column/],
    [{ columns: ['address'] }, /"address" names no column/],
    [{ columns: ['address=A', 'address=B'] }, /address is mapped twice/],
    [{ category: 'nonsense' }, /There is no category "nonsense"/],
  ]
  for (const [more, why] of wrong) await assert.rejects(make(more), why, JSON.stringify(more))
  const table = await make({ columns: ['address= A=b '], category: 'scam' })
  assert.deepEqual([table.columns, table.category], [{ address: 'A=b' }, 'scam'])
  const two = await make({ code: 'a1', columns: ['address=A', 'entity=B'] })
  assert.deepEqual([two.columns, two.category], [{ address: 'A', entity: 'B' }, null])
  const plain = await make({ code: 'a'.repeat(30), reader: 'ofac', url: 'https://x' })
  assert.deepEqual([plain.columns, plain.url, plain.refresh_hours], [null, 'https://x', null])
  const often = await make({
    code: 'often',
    reader: 'tagpack',
    kind: 'curated',
    url: 'x',
    hours: 2,
  })
  assert.deepEqual([often.kind, often.refresh_hours], ['curated', 2])
  await assert.rejects(make({}), /There is a list court already/)
})

test('a list is loaded by the schedule that was set of it, and of no other', async (t) => {
  const { sql } = await freshDatabase(t)
  const set = (list: string, more: { url?: string; hours?: number; off?: boolean }) =>
    sql.begin((tx) =>
      setSchedule(tx, { list, url: undefined, hours: undefined, off: false, ...more }),
    )
  await sql`update list set url = null, refresh_hours = null`
  await assert.rejects(set('operator', { hours: 5 }), /operator has no address to load it from/)
  await set('operator', { url: 'https://x' })
  assert.deepEqual(await set('operator', { hours: 5 }), {
    before: { url: 'https://x', refresh_hours: null },
    after: { url: 'https://x', refresh_hours: 5 },
  })
  const kept = await set('operator', { url: 'https://y' })
  assert.deepEqual(kept.after, { url: 'https://y', refresh_hours: 5 })
  assert.deepEqual((await set('tagpacks', {})).after, { url: null, refresh_hours: null })
  const off = await set('operator', { hours: 9, off: true })
  assert.deepEqual(off.after, { url: 'https://y', refresh_hours: null })
  // Updated is what has an address, and is loaded again and again or was loaded once.
  assert.deepEqual(await updatableLists(sql), [])
  await set('nbctf', { url: 'https://z', hours: 1 })
  await publish(sql, entries(1), { list: 'tagpacks' })
  assert.deepEqual(await updatableLists(sql), ['nbctf'])
  await publish(sql, entries(1))
  assert.deepEqual(await updatableLists(sql), ['nbctf', 'operator'])
})

test('a list is due the hour its time is over, and after a failure in ten minutes', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`update list set url = null, refresh_hours = null`
  await sql`update list set url = 'https://a', refresh_hours = 2 where code = 'operator'`
  await sql`update list set url = 'https://b' where code = 'tagpacks'`
  await sql`update list set refresh_hours = 1 where code = 'nbctf'`
  let now = at(0)
  let asked: string[] = []
  let text: string | Error = `address,category\n${address(1)},scam\n`
  const step = refreshStep({
    sql,
    clock: { now: () => now },
    download: async (url) => {
      asked.push(url)
      if (text instanceof Error) throw text
      return { bytes: bytesOf(text), bytes_expected: undefined }
    },
  })
  const runAt = async (ms: number) => {
    now = at(ms)
    asked = []
    const more = await step.run()
    return [more, ...asked]
  }
  assert.deepEqual(await runAt(0), [true, 'https://a'])
  assert.deepEqual(await runAt(2 * HOUR_MS - 1), [false])
  assert.deepEqual(await runAt(2 * HOUR_MS), [false, 'https://a'], 'nothing has changed')
  text = new Outage('it is away')
  await assert.rejects(runAt(4 * HOUR_MS), /it is away/)
  const failing = () => sql`select code, error, failing_since from list where error is not null`
  const failed = { code: 'operator', error: 'it is away', failing_since: at(4 * HOUR_MS) }
  assert.deepEqual(await failing(), [failed])
  assert.deepEqual(await runAt(4 * HOUR_MS + 599_999), [false])
  text = `address,category\n${address(2)},scam\n`
  assert.deepEqual(await runAt(4 * HOUR_MS + 600_000), [true, 'https://a'])
  assert.deepEqual(await failing(), [])
})

test('what was asked for before is not published over what was asked for later', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`update list set url = null, refresh_hours = null`
  await sql`update list set url = 'https://a', refresh_hours = 1 where code = 'operator'`
  let now = at(0)
  const older = `address,category\n${address(1)},scam\n`
  /** A worker that meets this text at the publisher, and whatever happens before it has it. */
  const worker = (text: string, meanwhile = async () => {}) =>
    refreshStep({
      sql,
      clock: { now: () => now },
      download: async () => {
        await meanwhile()
        return { bytes: bytesOf(text), bytes_expected: undefined }
      },
    })
  await worker(older).run()
  now = at(HOUR_MS)
  const newer = worker(`${older}${address(2)},scam\n`)
  const paused = worker(older, async () => {
    now = at(2 * HOUR_MS)
    assert.equal(await newer.run(), true)
    now = at(3 * HOUR_MS)
  })
  assert.equal(await paused.run(), false)
  const labels = async () => namedLabels(sql, await newestSet(sql), [address(1), address(2)])
  assert.equal((await labels()).length, 2)
  const [row] = await sql<{ read_at: Date }>`select read_at from list where code = 'operator'`
  assert.deepEqual(row!.read_at, at(2 * HOUR_MS), 'it is due by the later one')
  // Nor does it fail by what one met that was asked before.
  const failing = worker(older, async () => {
    now = at(5 * HOUR_MS)
    await worker(older).run()
    throw new Outage('it was away')
  })
  now = at(4 * HOUR_MS)
  await assert.rejects(failing.run(), /it was away/)
  const [said] = await sql`select error from list where code = 'operator'`
  assert.deepEqual(said, { error: null })
})

test('a list that an operator has gone back on stays so for what was asked before', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`update list set url = 'https://a' where code = 'operator'`
  const text = (...numbers: number[]) =>
    `address,category\n${numbers.map((n) => `${address(n)},scam\n`).join('')}`
  /** Loads the list as it is at the publisher, and whatever happens before it has come. */
  const load = async (of: string, now: Date, meanwhile = async () => {}) => {
    const download = async () => ({ bytes: bytesOf(of), bytes_expected: undefined })
    const needs = { sql, download, clock: { now: () => now } }
    const source = await openList(needs, 'operator')
    await meanwhile()
    return importList(needs, { ...source, loaded_by: 'schedule' })
  }
  const good = await load(text(1), at(-3))
  const bad = text(1, 2)
  assert.equal((await load(bad, at(-2))).changed, true)
  const back = async () => void (await restore(sql, good.version_id))
  assert.equal((await load(bad, at(-1), back)).changed, false)
  const labels = async () => namedLabels(sql, await newestSet(sql), [address(1), address(2)])
  assert.equal((await labels()).length, 1)
  assert.equal((await load(bad, at(1))).changed, true, 'that is as the publisher says by now')
  assert.equal((await labels()).length, 2)
})

test('what a broken list says is noted, whatever bytes it has', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`update list set url = null, refresh_hours = null`
  await sql`update list set url = 'https://a', refresh_hours = 1 where code = 'operator'`
  const text = `address,category,valid_from\n${address(1)},scam,20\0${'x'.repeat(1_000)}\n`
  const step = refreshStep({
    sql,
    clock: { now: () => at(0) },
    download: async () => ({ bytes: bytesOf(text), bytes_expected: undefined }),
  })
  await assert.rejects(step.run(), /is not a date/)
  const [row] = await sql<{ error: string; failing_since: Date | null }>`
    select error, failing_since from list where code = 'operator'`
  assert.match(row!.error, /^line 2: "20 xxx/)
  assert.deepEqual([row!.error.length, row!.failing_since], [200, at(0)])
})

async function* bytesOf(text: string) {
  yield Buffer.from(text)
}

test('a list says its kind: its own of an authority bars, and others as they are', async (t) => {
  const { sql } = await freshDatabase(t)
  const make = (more: Partial<NewList>) => sql.begin((tx) => makeList(tx, { ...NEW, ...more }))
  await make({ columns: ['address=who'], category: 'scam' })
  await make({ code: 'own', kind: 'curated' })
  await make({ code: 'orders', kind: 'curated', reader: 'orders' })
  await make({ code: 'tags', kind: 'curated', reader: 'tagpack' })
  const kindOf = async (list: string, text: string) => {
    const source = { list, origin: 'x', bytes: bytesOf(text), bytes_expected: undefined }
    return (await readList(sql, source, () => {})).entries.map(({ kind }) => kind)
  }
  const table = `address,category\n${address(1)},scam\n`
  assert.deepEqual(await kindOf('court', `who\n${address(1)}\n`), ['authority'])
  assert.deepEqual(await kindOf('own', table), ['curated'])
  assert.deepEqual(await kindOf('operator', table), ['curated'])
  assert.deepEqual(await kindOf('orders', `address\n${address(1)}\n`), ['curated'])
  assert.deepEqual(await kindOf('nbctf', `address\n${address(1)}\n`), ['authority'])
  const tags = `tags:\n  - {address: ${address(1)}, category: scam}\n`
  assert.deepEqual(await kindOf('tags', tags), ['heuristic'])
  await assert.rejects(kindOf('none', table), /There is no list none; there are court, /)
})

test('a list is loaded from its own address, and what is misspelt is counted', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`update list set url = null`
  await sql`update list set url = 'https://n' where code = 'nbctf'`
  const text = `address\n${address(1)}\n${address(2).slice(0, -1)}0\n0xabc\n`
  const download = async (url: string) => {
    assert.equal(url, 'https://n')
    return { bytes: bytesOf(text), bytes_expected: 5 }
  }
  const needs = { sql, download, clock: { now: () => at(0) } }
  await assert.rejects(openList(needs, 'operator'), /operator has no address/)
  await assert.rejects(openList(needs, 'none'), /There is no list none/)
  const source = await openList(needs, 'nbctf')
  const { passed_over, entries, changed } = await importList(needs, { ...source, loaded_by: 'x' })
  assert.deepEqual([passed_over, entries, changed], [2, 1, true])
})
