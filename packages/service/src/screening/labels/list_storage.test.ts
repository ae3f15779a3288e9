import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { numberedEntry } from 'penstock-test/harness/labels.ts'
import { addressFromBytes } from 'penstock-tron/address.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { diffSets, previewList, publishList, restoreVersion } from './label_sets.ts'
import type { ListEntry } from './list_entries.ts'
import { contentHash, distinctEntries, labelsOfSet } from './list_storage.ts'

const address = (n: number) =>
  addressFromBytes(
    Uint8Array.of(0x41, ...createHash('sha256').update(`stored ${n}`).digest().subarray(0, 20)),
  )

const entry = (n: number, more: Partial<ListEntry> = {}) => numberedEntry(n, address(n), more)

const publish = (sql: Sql, entries: readonly ListEntry[], list = 'operator') =>
  sql.begin((tx) =>
    publishList(
      tx,
      {
        list,
        origin: 'test',
        passed_over: 0,
        loaded_at: new Date(0),
        loaded_by: 'test',
        may_shrink: true,
      },
      entries,
    ),
  )

const revert = (sql: Sql, version_id: bigint) =>
  sql.begin((tx) =>
    restoreVersion(tx, { list: 'operator', version_id, by: 'test', at: new Date(0) }),
  )

const rows = async (sql: Sql) => {
  const [row] = await sql<{ entries: bigint; removals: bigint }>`
    select (select count(*) from list_entry) as entries,
      (select count(*) from list_removal) as removals`
  return [Number(row!.entries), Number(row!.removals)]
}

const text = (one: Omit<ListEntry, 'valid_from' | 'valid_to'>) =>
  `${one.address} ${one.category} ${one.entity}`
/** What of it is for the index, whose entries have no entity. */
const placed = (one: Pick<ListEntry, 'address' | 'category'>) => `${one.address} ${one.category}`
const withoutEntity = (whole: string) => whole.split(' ', 2).join(' ')

test('the hash of a version is that of its lines of JSON, in order', async () => {
  const whole = [
    entry(2, { entity: 'Жёлтый "и" \\ co', reference: 'a\tb', valid_to: new Date(0) }),
    entry(1, { confidence: 40, valid_from: new Date('2026-01-31T00:00:00Z') }),
  ]
  const lines = whole.map((one) =>
    JSON.stringify([
      one.address,
      one.category,
      one.entity,
      one.kind,
      one.confidence,
      one.reference,
      one.valid_from?.toISOString() ?? null,
      one.valid_to?.toISOString() ?? null,
    ]),
  )
  const wanted = createHash('sha256').update(lines.sort().join('\n')).digest('hex')
  assert.equal(await contentHash(await distinctEntries(whole, () => {})), wanted)
})

test('what a version has like the one before it is not stored again', async (t) => {
  const { sql } = await freshDatabase(t)
  const all = Array.from({ length: 300 }, (_, n) => entry(n))
  await publish(sql, all)
  assert.deepEqual(await rows(sql), [300, 0])
  const changed = [...all.slice(0, 299), entry(299, { category: 'scam' })]
  const second = await publish(sql, changed)
  assert.deepEqual([second.added, second.removed, second.entries], [1, 1, 300])
  assert.deepEqual(await rows(sql), [301, 1])
  const third = await publish(sql, [...changed, entry(300)])
  assert.deepEqual([third.added, third.removed], [1, 0])
  assert.deepEqual(await rows(sql), [302, 1])
  const given = (await Array.fromAsync(labelsOfSet(sql, third.label_set))).flat()
  assert.deepEqual(given.map(placed).sort(), [...changed, entry(300)].map(placed).sort())
})

test('a long list is compared in portions, each entry of it once', async (t) => {
  const { sql } = await freshDatabase(t)
  const all = Array.from({ length: 8_003 }, (_, n) => entry(n))
  await publish(sql, all)
  // By their places, from 1: at the ends of the portions, and beside them.
  const gone = [1, 2_000, 2_001, 7_999, 8_000, 8_001, 8_003]
  const left = all.filter((_, i) => !gone.includes(i + 1))
  const preview = await previewList(sql, 'operator', { entries: left, at: new Date(0) })
  assert.deepEqual([preview.added, preview.removed], [0, gone.length])
  assert.deepEqual(
    preview.differences.map(({ entity }) => entity).sort(),
    gone.map((place) => all[place - 1]!.entity).sort(),
  )
  const second = await publish(sql, left)
  assert.deepEqual([second.added, second.removed], [0, gone.length])
  const portions = await Array.fromAsync(labelsOfSet(sql, second.label_set))
  assert.deepEqual(
    portions.flat().map((one) => one.address),
    left.map((one) => one.address),
  )
  assert.ok(portions.length > 1)
  assert.equal((await publish(sql, left)).changed, false)
})

test('texts and times are compared as they are stored', async (t) => {
  const { sql } = await freshDatabase(t)
  const odd = [
    entry(1, { entity: 'a|b', reference: 'c' }),
    entry(1, { entity: 'a', reference: 'b|c' }),
    entry(2, { entity: 'Обменник 😀 "quoted" \\', reference: 'line\nbreak' }),
    entry(3, {
      valid_from: new Date('2026-01-31T12:00:00.123Z'),
      valid_to: new Date('2027-01-01'),
    }),
    entry(4, { valid_to: new Date('0999-12-31T23:59:59.001Z'), confidence: 0 }),
    entry(5, { valid_from: new Date(-1) }),
  ]
  const first = await publish(sql, odd)
  assert.deepEqual([first.added, first.entries], [6, 6])
  const again = await publish(sql, odd.toReversed())
  assert.deepEqual([again.changed, again.label_set], [false, 1])
  assert.deepEqual(await rows(sql), [6, 0])
})

test('whatever is loaded and gone back to, each version has what was loaded as it', async (t) => {
  const { sql } = await freshDatabase(t)
  const content = fc.uniqueArray(
    fc.record({ n: fc.nat(6), category: fc.constantFrom('mixer', 'scam') }),
    { selector: ({ n, category }) => `${n} ${category}`, maxLength: 8 },
  )
  const act = fc.oneof(
    { weight: 3, arbitrary: fc.record({ load: content }) },
    { weight: 1, arbitrary: fc.record({ back: fc.nat() }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 5 }), async (acts) => {
      for (const one of acts) {
        if ('load' in one) {
          const entries = one.load.map(({ n, category }) => entry(n, { category }))
          const before = await previewList(sql, 'operator', { entries, at: new Date(0) })
          const made = await publish(sql, entries)
          assert.deepEqual([before.added, before.removed], [made.added, made.removed])
          if (made.changed) loaded.set(made.version_id, entries.map(text).sort())
        } else if (loaded.size > 0) {
          const wanted = [...loaded.keys()][one.back % loaded.size]!
          await revert(sql, wanted).catch((thrown: unknown) =>
            assert.match(String(thrown), /is in force/),
          )
        }
      }
      await requireStored(sql, loaded)
    }),
    { numRuns: 8 },
  )
})

/** What was loaded as each version. */
const loaded = new Map<bigint, string[]>()

/** Every version has what it had, the index is given the same, and what two sets say differently is
 *  what their versions do. */
async function requireStored(sql: Sql, versions: ReadonlyMap<bigint, string[]>): Promise<void> {
  for (const [id, texts] of versions) {
    const found = await sql<ListEntry>`
      select address, category, entity from version_entry where version_id = ${id}`
    assert.deepEqual(found.map(text).sort(), texts)
  }
  const sets = await sql<{ number: number; id: bigint }>`
    select label_set as number, version_id as id from label_set_version order by label_set`
  const last = sets.at(-1)
  for (const set of sets.slice(-4)) {
    const given = (await Array.fromAsync(labelsOfSet(sql, set.number))).flat()
    assert.deepEqual(given.map(placed).sort(), versions.get(set.id)!.map(withoutEntity).sort())
    const [had, has] = [new Set(versions.get(set.id)), new Set(versions.get(last!.id))]
    const differences = await diffSets(sql, set.number, last!.number)
    assert.deepEqual(
      differences.map((one) => `${one.change} ${text(one)}`).sort(),
      [
        ...[...has].filter((one) => !had.has(one)).map((one) => `added ${one}`),
        ...[...had].filter((one) => !has.has(one)).map((one) => `removed ${one}`),
      ].sort(),
    )
  }
}
