// The nightly reading back of where money ended: when one is planned, by which labels it is read,
// and which is taken up after a start.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { temporaryKeptFolder } from 'penstock-test/harness/kept_folder.ts'
import { publishLabels } from 'penstock-test/harness/labels.ts'
import {
  addressNumbered,
  type LoggedMove,
  loggedWorld,
  momentOf,
  writeLog,
} from 'penstock-test/harness/logged_world.ts'
import { bareAddress } from '../../chain/transfers/bare_addresses.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { categoryNumber } from '../flow/categories.ts'
import { stateHash } from '../flow/checkpoint.ts'
import { readHolding } from '../flow/holdings.ts'
import type { KeptPlace } from '../kept/kept_folder.ts'
import type { Generation } from './generations.ts'
import { readSentThen, type SentIndex, type SentReading, sentReading } from './sent.ts'

const [SHOP, OTHER_SHOP] = [addressNumbered(200), addressNumbered(201)]
const FIRST = 100
const CATEGORY = 'exchange_licensed'
const shop = { address: SHOP, category: CATEGORY }

const pay = (from: number, to = SHOP): LoggedMove => ({
  tx: from,
  from: addressNumbered(from),
  to,
  asset: 0,
  amount: 1_000n,
})

/** Each of so many people has paid the shop, one in each block. */
const payments = (count: number) => Array.from({ length: count }, (_, i) => [pay(i + 1)])

async function world(t: TestContext, blocks: LoggedMove[][], rules = 3) {
  const of = await loggedWorld(t, { labels: [shop], blocks })
  const { sql, generations, index } = of
  await sql`
    insert into policy (version, body, published_at, published_by)
    values (2, ${JSON.stringify({ index_rules: rules })}, ${momentOf(0)}, 'me')`
  await index()
  const time = { ms: 0 }
  const clock = { now: () => momentOf(time.ms) }
  const reader = (kept?: KeptPlace) => sentReading({ sql, clock, generations, kept })
  const plans = async () =>
    (
      await sql<{ number: number; height: bigint; begun_at: Date; read_at: Date | null }>`
        select number, height, begun_at, read_at from flow_sent order by number`
    ).map((one) => [one.number, Number(one.height), one.begun_at, one.read_at])
  const append = async (more: LoggedMove[][], first: number) => {
    await writeLog(sql, more, { first })
    await index()
  }
  const hashThen = async (of: Generation, height: number) =>
    stateHash((await readSentThen(sql, of, height))!.state.index)
  return { ...of, time, reader, plans, append, hashThen }
}

/** Runs until it has nothing to do. Returns how often it had. */
async function runs({ step }: SentReading): Promise<number> {
  let count = 0
  while (await step.run()) count += 1
  return count
}

/** What people by number have sent to terminals, by category. */
const endedOf = async ({ state }: SentIndex, ...people: number[]) =>
  people.map((n) =>
    (readHolding(state.index, 0, bareAddress(addressNumbered(n)))?.portions ?? [])
      .filter(({ received }) => received > 0n)
      .map(({ category, received }) => [category, received]),
  )

const shopped = (units: bigint) => [[categoryNumber(CATEGORY), units]]
const SHOPPED = shopped(1_000n)
const NOWHERE = [[categoryNumber('unidentified'), 1_000n]]

test('a reading is planned once a day, and read to the beginning in portions', async (t) => {
  const { sql, time, reader, plans, append, generations, hashThen } = await world(t, payments(130))
  const nightly = reader()
  const { step } = nightly
  const due = () => isDue(sql, step)
  assert.equal(await due(), true)
  assert.equal(await runs(nightly), 6, 'begun, two of candidates, two portions, its end')
  assert.deepEqual(await plans(), [[1, 229, momentOf(0), momentOf(0)]])
  const first = nightly.current()!
  assert.deepEqual(
    [first.height, first.generation, first.time_ms],
    [229, 2, momentOf(129 * 3_000).getTime()],
  )
  assert.deepEqual(await endedOf(first, 1, 30, 130, 131), [SHOPPED, SHOPPED, SHOPPED, []])
  assert.equal(await hashThen(generations.current()!, 229), stateHash(first.state.index))
  const last = readHolding(first.state.index, 0, bareAddress(addressNumbered(130)))!
  assert.deepEqual(
    last.portions.filter(({ received }) => received > 0n).map(({ witness }) => witness),
    [1],
    'the last transfer is the first of the reading',
  )
  assert.equal(await due(), false)
  await append([[pay(131)], [pay(132)]], FIRST + 130)
  time.ms = DAY_MS - 1
  assert.deepEqual([await due(), await step.run()], [false, false])
  assert.equal(nightly.current(), first)
  time.ms = DAY_MS
  assert.equal(await due(), true)
  assert.equal(await step.run(), true)
  assert.equal(await due(), true, 'under way')
  assert.equal(nightly.current(), first, 'until the next one is there')
  await runs(nightly)
  assert.deepEqual(await plans(), [
    [1, 229, momentOf(0), momentOf(0)],
    [2, 231, momentOf(DAY_MS), momentOf(DAY_MS)],
  ])
  assert.deepEqual(await endedOf(nightly.current()!, 1, 131, 132), [SHOPPED, SHOPPED, SHOPPED])
  const parts = await sql<{ number: number }>`select distinct number from flow_sent_part`
  assert.deepEqual(
    parts.map(({ number }) => number),
    [2],
  )
  await nightly.close()
  assert.equal(nightly.current(), undefined)
})

test('without an index, blocks or swaps among its rules nothing is read', async (t) => {
  const { sql, generations, plans, clock } = await world(t, payments(1), 1)
  const used = generations.current()!
  for (const [current, reads] of [
    [undefined, false],
    [used, false],
    [{ ...used, rules: 2, block_id: undefined }, false],
    [{ ...used, rules: 2 }, true],
  ] as const) {
    const nightly = sentReading({ sql, clock, generations: { current: () => current } })
    assert.equal(await nightly.step.run(), reads)
    assert.equal((await plans()).length, reads ? 1 : 0)
  }
})

test('a process that starts takes the last reading up that its index has reached', async (t) => {
  const { sql, time, reader, plans, append, generations, clock } = await world(t, payments(3))
  await runs(reader())
  const started = reader()
  assert.equal(await isDue(sql, started.step), true)
  assert.equal(await started.step.run(), true)
  assert.equal(await isDue(sql, started.step), false)
  assert.deepEqual(await endedOf(started.current()!, 3), [SHOPPED])
  assert.deepEqual([started.current()!.height, await started.step.run()], [102, false])
  // Nights of which none was read to its end, and one that nothing is kept of.
  await append([[pay(4)]], 103)
  const { number } = generations.current()!
  const plan = (read_at: Date | null) => sql`
    insert into flow_sent (generation, height, begun_at, read_at)
    values (${number}, 103, ${momentOf(0)}, ${read_at})`
  for (let night = 0; night < 5; night++) await plan(null)
  await plan(momentOf(0))
  await plan(null)
  const next = reader()
  await next.step.run()
  assert.equal(next.current()!.height, 102)
  await runs(next)
  assert.deepEqual(
    (await plans()).map(([n, , , read_at]) => [n, read_at !== null]),
    [1, 2, 3, 4, 5, 6, 7, 8].map((n) => [n, [1, 7, 8].includes(n)]),
  )
  assert.deepEqual(await endedOf(next.current()!, 4), [SHOPPED])
  // An index that is behind waits for its blocks.
  const used = generations.current()!
  const behind = { ...used, index: Object.create(used.index, { block_number: { value: 102 } }) }
  const waiting = sentReading({ sql, clock, generations: { current: () => behind } })
  assert.equal(await runs(waiting), 0)
  assert.equal(waiting.current(), undefined)
  time.ms = 5
  const last = reader()
  assert.equal(await last.step.run(), true)
  assert.equal(last.current()!.height, 103)
  assert.deepEqual((await plans()).at(-1), [8, 103, momentOf(0), momentOf(0)], 'as it was')
  // What is kept and cannot be read is read back again.
  await sql`update flow_sent_part set bytes = substring(bytes for 3)`
  const again = reader()
  await again.step.run()
  assert.equal(again.current(), undefined)
  await runs(again)
  assert.deepEqual(await endedOf(again.current()!, 4), [SHOPPED])
})

test('a reading is of the labels and blocks of its plan, whatever came meanwhile', async (t) => {
  const { sql, reader, append, generations, hashThen } = await world(t, [
    [pay(1), pay(3)],
    [pay(2, OTHER_SHOP), pay(3)],
  ])
  const planned = reader()
  await planned.step.run()
  await publishLabels(sql, [shop, { ...shop, address: OTHER_SHOP }], { at: momentOf(0) })
  await append([[pay(3)]], 102)
  const used = generations.current()!
  assert.equal(used.number, 3)
  const nightly = reader()
  assert.ok((await runs(nightly)) > 0)
  assert.equal(nightly.current()!.generation, 2)
  const by_plan = [SHOPPED, NOWHERE, shopped(2_000n)]
  assert.deepEqual(await endedOf(nightly.current()!, 1, 2, 3), by_plan)
  const started = reader()
  await started.step.run()
  assert.deepEqual(await endedOf(started.current()!, 1, 2, 3), by_plan)
  const then = async (height: number) => (await readSentThen(sql, used, height))!
  assert.deepEqual(await endedOf(await then(102), 1, 2, 3), [SHOPPED, SHOPPED, shopped(3_000n)])
  assert.deepEqual(await endedOf(await then(101), 1, 2, 3), [SHOPPED, SHOPPED, shopped(2_000n)])
  assert.deepEqual(await endedOf(await then(100), 1, 2, 3), [SHOPPED, [], SHOPPED])
  assert.equal(await readSentThen(sql, used, 99), undefined)
  assert.notEqual(await hashThen(used, 100), await hashThen(used, 101))
})

test('readings in files are taken up, but for those not through or broken', async (t) => {
  const folder = await temporaryKeptFolder(t)
  const kept = { folder, hot_slots: 100 }
  const { sql, time, reader, plans, append } = await world(t, payments(3))
  const nightly = reader(kept)
  await runs(nightly)
  assert.equal(nightly.current()!.height, 102)
  assert.deepEqual(await sql`select from flow_sent_part`, [])
  assert.deepEqual((await plans()).at(-1), [1, 102, momentOf(0), momentOf(0)])
  time.ms = DAY_MS
  await append([[pay(4)]], 103)
  await runs(nightly)
  const has = () => [1, 2, 3].map((number) => folder.has('sent', number))
  assert.deepEqual(has(), [true, true, false], 'that of the night before may still be read')
  time.ms = 2 * DAY_MS
  await runs(nightly)
  assert.deepEqual(has(), [false, true, true])
  await nightly.close()
  const started = reader(kept)
  assert.equal(await started.step.run(), true)
  assert.deepEqual([started.current()!.height, await started.step.run()], [103, false])
  assert.deepEqual(has(), [false, false, true])
  await started.close()
  await writeFile(folder.fileOf('sent', 3), 'no file of an index')
  const again = reader(kept)
  await again.step.run()
  assert.equal(again.current(), undefined)
  await runs(again)
  assert.equal(again.current()!.height, 103)
  await again.close()
  // A file of something else is put aside, and so is one of which a part cannot be read.
  await sql`update flow_sent set begun_at = begun_at + interval '1 second' where number = 3`
  const other = reader(kept)
  await other.step.run()
  assert.equal(other.current(), undefined)
  await runs(other)
  assert.equal(other.current()!.height, 103)
  assert.equal(await isDue(sql, other.step), false)
  Object.defineProperty(other.current()!.state, 'is_broken', { value: true })
  assert.equal(await isDue(sql, other.step), true)
  assert.equal(await other.step.run(), true)
  assert.equal(other.current(), undefined)
  await runs(other)
  assert.equal(other.current()!.height, 103)
  await other.close()
  // Begun and left: it is read back again.
  time.ms = 3 * DAY_MS + 1_000
  const left = reader(kept)
  await left.step.run()
  await left.step.run()
  await left.close()
  assert.ok(existsSync(folder.fileOf('sent', 4)))
  await sql`update flow_sent set read_at = ${momentOf(0)} where number = 4`
  const last = reader(kept)
  await last.step.run()
  assert.equal(last.current()!.height, 103)
  await last.close()
})
