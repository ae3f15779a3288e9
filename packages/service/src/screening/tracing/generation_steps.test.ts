// Generations step by step, on a log that the test writes: what each run does, when there is more
// to do, and what of an index is taken over into the next one.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { temporaryKeptFolder } from 'penstock-test/harness/kept_folder.ts'
import { type BriefEntry, publishLabels } from 'penstock-test/harness/labels.ts'
import {
  addressNumbered,
  type LoggedMove,
  momentOf,
  writeLog,
} from 'penstock-test/harness/logged_world.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { bareHex } from '../../chain/transfers/bare_addresses.ts'
import { drain } from '../../platform/steps/step.ts'
import { stateHash } from '../flow/checkpoint.ts'
import { KeptFlow } from '../kept/kept.ts'
import { setReach } from './backfill.ts'
import { describeGeneration, flowGenerations, type Generations, type Needs } from './generations.ts'

const AT = momentOf(0)
const FIRST = 100

/** Each of the first ten pays the next of them, so that block 100 + n moves what person n has. */
const transfer = (n: number, more: Partial<LoggedMove> = {}): LoggedMove => ({
  tx: n + 1,
  asset: 0,
  amount: BigInt(1_000 + n),
  from: addressNumbered((n % 10) + 1),
  to: addressNumbered(((n + 1) % 10) + 1),
  ...more,
})
const blocksOf = (count: number, from = 0): LoggedMove[][] =>
  Array.from({ length: count }, (_, i) => [transfer(from + i)])

async function world(t: TestContext, blocks: LoggedMove[][], options: Partial<Needs> = {}) {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into flow_asset (number, contract, symbol, decimals) values (1, ${USDT}, 'USDT', 6)`
  if (blocks.length > 0) await writeLog(sql, blocks)
  const needs = {
    sql,
    clock: { now: () => AT },
    carried_blocks: 10_000,
    checkpoint_transfers: 1_000_000,
    ...options,
  }
  const label = (...entries: BriefEntry[]) => publishLabels(sql, entries, { at: AT })
  const append = (more: LoggedMove[][], first: number) => writeLog(sql, more, { first })
  /** Takes over up to which block from which generation. */
  const takenOver = async () =>
    (
      await sql<{ generation: number; from_generation: number; until: bigint }>`
        select generation, from_generation, until from flow_carried_from
        order by generation, from_generation`
    ).map((one) => [one.generation, one.from_generation, Number(one.until)])
  const checkpoints = async () =>
    (
      await sql<{ generation: number; number: bigint }>`
        select generation, number from flow_checkpoint order by generation, number`
    ).map((one) => [one.generation, Number(one.number)])
  const generations = flowGenerations(needs)
  return { sql, needs, generations, label, append, takenOver, checkpoints }
}

const mixer = (n: number, more: Partial<BriefEntry> = {}): BriefEntry => ({
  address: addressNumbered(n),
  category: 'mixer',
  ...more,
})

const memory = (generations: Generations) =>
  generations.memory().map((one) => [one.generation, one.in_use, one.block_number])

const hashOf = (generations: Generations) => stateHash(generations.current()!.index)

/** Runs until the step has nothing to do. Returns how often it had. */
async function runs({ step }: Generations): Promise<number> {
  let count = 0
  while (await step.run()) count += 1
  return count
}

/** Runs until there is one, before anything is applied to it. */
async function begin(generations: Generations): Promise<void> {
  while (generations.memory().length === 0) assert.equal(await generations.step.run(), true)
}

test('an index is begun, caught up in portions, and then follows the log', async (t) => {
  const { sql, generations, append, label } = await world(t, [])
  const { step } = generations
  const due = () => isDue(sql, step)
  assert.equal(await step.run(), false, 'there is no block')
  assert.deepEqual(memory(generations), [])
  await append(blocksOf(60), FIRST)
  assert.equal(await due(), true)
  assert.equal(await step.run(), true)
  assert.deepEqual(memory(generations), [], 'begun')
  assert.equal(await step.run(), true)
  assert.deepEqual(memory(generations), [[1, false, 0]])
  assert.equal(await step.run(), true)
  assert.deepEqual(memory(generations), [[1, false, 149]])
  assert.equal(await step.run(), true)
  assert.deepEqual(memory(generations), [[1, false, 159]])
  assert.equal(generations.current(), undefined)
  assert.equal(await due(), true)
  assert.equal(await step.run(), true, 'it is used')
  assert.deepEqual(memory(generations), [[1, true, 159]])
  assert.deepEqual([await due(), await step.run()], [false, false])
  await append([[]], 160)
  assert.equal(await due(), true, 'a block')
  assert.deepEqual([await step.run(), await due(), await step.run()], [true, false, false])
  await label(mixer(200))
  assert.equal(await due(), true, 'labels')
  assert.equal(await step.run(), true)
  assert.equal(await step.run(), true)
  assert.deepEqual(memory(generations), [
    [1, true, 160],
    [2, false, 160],
  ])
  assert.equal(await runs(generations), 1)
  assert.deepEqual(memory(generations), [[2, true, 160]])
  assert.equal(await due(), false)
  await setReach(sql, { from_number: FIRST, made_by: 'me', made_at: AT, reason: 'so' })
  assert.equal(await due(), true, 'a reach')
  await drain([step])
  await sql`
    insert into policy (version, body, published_at, published_by)
    values (2, '{"index_rules": 3}', ${AT}, 'me')`
  assert.equal(await due(), true, 'rules')
  await drain([step])
  assert.equal(await due(), false)
  const { number, rules, label_set, index } = generations.current()!
  assert.deepEqual([number, rules, label_set, index.rules.swaps], [4, 3, 1, true])
  await append(blocksOf(1, 61), 161)
  await label(mixer(201), mixer(202))
  await step.run()
  assert.equal(generations.current()!.index.block_number, 161, 'the one in use goes on')
  await generations.close()
  assert.deepEqual(memory(generations), [])
})

test('a process goes on with the index in use before, until that of now is there', async (t) => {
  const { needs, generations, label, sql } = await world(t, blocksOf(60))
  await runs(generations)
  const later = { ...needs, clock: { now: () => momentOf(5_000) } }
  const same = flowGenerations(later)
  await same.step.run()
  assert.equal(same.current(), undefined, 'what is wanted is begun anew')
  await same.step.run()
  await same.step.run()
  assert.deepEqual(memory(same), [[1, false, 149]])
  await label(mixer(2))
  await same.step.run()
  assert.equal(same.current(), undefined, 'what was begun is not used')
  await drain([same.step])
  assert.deepEqual(memory(same), [[2, true, 159]])
  assert.equal(await isDue(sql, generations.step), true, 'another process has it alone')
  await label(mixer(2), mixer(3))
  await sql`
    insert into flow_generation (label_set, begun_at, reach, first_number, rules)
    values (0, ${AT}, 9, ${FIRST}, 1)`
  const started = flowGenerations(later)
  await started.step.run()
  assert.equal(started.current()!.number, 2, 'used before')
  await drain([started.step])
  assert.equal(started.current()!.number, 4)
  assert.equal(hashOf(started), hashOf(await afresh(needs)))
  const used = await sql<{ number: number; active_at: Date | null }>`
    select number, active_at from flow_generation order by number`
  assert.deepEqual(
    used.map(({ active_at }) => active_at),
    [AT, momentOf(5_000), null, momentOf(5_000)],
    'since it was used first',
  )
})

/** An index of the newest labels from nothing but the log. */
async function afresh({ sql, ...needs }: Needs): Promise<Generations> {
  await sql`delete from flow_checkpoint_part`
  await sql`delete from flow_checkpoint`
  const generations = flowGenerations({ ...needs, sql, kept: undefined })
  await drain([generations.step])
  return generations
}

test('an index is taken over whole when no address of other labels had moved', async (t) => {
  const { needs, generations, label, takenOver } = await world(t, blocksOf(9))
  await label(mixer(1, { entity: 'One' }), mixer(201))
  await runs(generations)
  await label(mixer(1, { entity: 'Another' }), mixer(202))
  assert.equal(await runs(generations), 3)
  const { labels, label_set } = generations.current()!
  assert.equal(label_set, 2)
  const known = [1, 201, 202].map((n) => labels.of(bareHex(addressNumbered(n))).length)
  assert.deepEqual(known, [1, 0, 1])
  assert.deepEqual(await takenOver(), [[2, 1, 108]])
  assert.equal(hashOf(generations), hashOf(await afresh(needs)))
  await label(mixer(1, { confidence: 40 }), mixer(202))
  await runs(generations)
  assert.deepEqual(await takenOver(), [[2, 1, 108]], 'it says something else')
  assert.equal(hashOf(generations), hashOf(await afresh(needs)))
})

test('of an index with checkpoints the last before the first change is taken over', async (t) => {
  const { sql, needs, generations, label, append, takenOver, checkpoints } = await world(
    t,
    blocksOf(4),
    { checkpoint_transfers: 4 },
  )
  await runs(generations)
  await append(blocksOf(4, 4), 104)
  await runs(generations)
  assert.deepEqual(await checkpoints(), [
    [1, 103],
    [1, 107],
  ])
  // The fifth moves something from block 103 on, and the sixth from 104.
  await label(mixer(6))
  await runs(generations)
  assert.deepEqual(await takenOver(), [[2, 1, 103]])
  const hash = hashOf(generations)
  await label(mixer(6), mixer(5))
  await sql`delete from flow_checkpoint where generation <> 1`
  await sql`delete from flow_checkpoint_part where generation <> 1`
  await runs(generations)
  assert.deepEqual(await takenOver(), [[2, 1, 103]], 'nothing of the second, and not of the first')
  const third = hashOf(generations)
  await label(mixer(6))
  await runs(generations)
  assert.equal(hashOf(generations), hash)
  await label(mixer(6), mixer(99))
  await runs(generations)
  assert.deepEqual((await takenOver()).at(-1), [5, 4, 107], 'nothing had moved')
  assert.equal(hashOf(generations), hashOf(await afresh(needs)))
  assert.notEqual(third, hash)
})

test('an index of another beginning or of other rules shares nothing with the next', async (t) => {
  const { sql, needs, generations, takenOver } = await world(t, blocksOf(9))
  await sql`
    insert into flow_generation (label_set, begun_at, active_at, reach, first_number, rules)
    values (0, ${AT}, ${AT}, 0, 104, 1)`
  await drain([generations.step])
  assert.equal(generations.current()!.first_block, 104)
  await setReach(sql, { from_number: 101, made_by: 'me', made_at: AT, reason: 'so' })
  await drain([generations.step])
  const { first_block, index } = generations.current()!
  assert.deepEqual([first_block, index.sequence], [101, 8])
  await sql`
    insert into flow_deposit_found (address, service, entity, category, sweeps, height)
    values (${bareHex(addressNumbered(90))}, ${bareHex(addressNumbered(91))}, 'X', 'mixer', 9, 100)`
  await setReach(sql, { from_number: 101, made_by: 'me', made_at: AT, reason: 'again' })
  await drain([generations.step])
  assert.deepEqual(await sql`select from flow_deposit`, [], 'the first rules know none')
  assert.deepEqual(await takenOver(), [[3, 2, 108]])
  await sql`
    insert into policy (version, body, published_at, published_by)
    values (2, '{"index_rules": 2}', ${AT}, 'me')`
  await drain([generations.step])
  assert.deepEqual(await takenOver(), [[3, 2, 108]])
  const deposits = await sql<{ generation: number }>`select generation from flow_deposit`
  assert.deepEqual(
    deposits.map(({ generation }) => generation),
    [4],
  )
  const { rules, index: next } = generations.current()!
  assert.deepEqual([rules, next.rules.swaps, next.sequence], [2, true, 8])
  assert.equal(hashOf(generations), hashOf(await afresh(needs)))
  const swaps = async (number: number) => (await describeGeneration(needs, number)).index.rules
  assert.deepEqual(await swaps(1), { net: true, swaps: false })
  assert.deepEqual(await swaps(4), { net: true, swaps: true })
  await assert.rejects(describeGeneration(needs, 9), /^Error: there is no generation 9$/)
  assert.equal((await describeGeneration(needs, 2)).first_block, 101)
})

test('a checkpoint is due by transfers, and by ten times as many while it is behind', async (t) => {
  const { sql, needs, generations, append, checkpoints } = await world(t, blocksOf(4), {
    checkpoint_transfers: 5,
  })
  await runs(generations)
  assert.deepEqual(await checkpoints(), [])
  assert.equal(await isDue(sql, generations.step), false)
  await append(blocksOf(1, 4), 104)
  assert.equal(await generations.step.run(), true)
  assert.deepEqual(await checkpoints(), [], 'there may be more')
  assert.equal(await isDue(sql, generations.step), true)
  assert.equal(await generations.step.run(), false)
  assert.deepEqual(await checkpoints(), [[1, 104]])
  assert.equal(await isDue(sql, generations.step), false)
  await append(blocksOf(49, 5), 105)
  await generations.step.run()
  assert.deepEqual(await checkpoints(), [[1, 104]])
  await generations.step.run()
  assert.deepEqual(await checkpoints(), [
    [1, 104],
    [1, 153],
  ])
  await append(blocksOf(50, 54), 154)
  await generations.step.run()
  assert.deepEqual((await checkpoints()).at(-1), [1, 203], 'ten times as many')
  const started = flowGenerations(needs)
  await begin(started)
  assert.deepEqual(memory(started), [[1, false, 203]], 'from the newest one')
  await drain([started.step])
  assert.equal(hashOf(started), hashOf(generations))
})

test('what transfers of the newest blocks carried is kept', async (t) => {
  const blocks = blocksOf(60)
  blocks[57] = []
  const { sql, generations, append } = await world(t, blocks, { carried_blocks: 5 })
  const carried = async () =>
    (await sql<{ number: bigint }>`select number from flow_carried order by number`).map((one) =>
      Number(one.number),
    )
  await runs(generations)
  assert.deepEqual(await carried(), [154, 155, 156, 158, 159])
  await append(blocksOf(1, 60), 160)
  await runs(generations)
  assert.deepEqual(await carried(), [154, 155, 156, 158, 159, 160])
  const { unsaved } = generations.current()!
  assert.equal(unsaved.size, 0)
  // As a broken connection leaves it.
  unsaved.set(157, Uint8Array.of(1))
  assert.equal(await isDue(sql, generations.step), true)
  assert.equal(await generations.step.run(), true)
  assert.deepEqual(await carried(), [154, 155, 156, 157, 158, 159, 160])
  assert.deepEqual([unsaved.size, await isDue(sql, generations.step)], [0, false])
})

test('assets are read anew before a block that moves a new one', async (t) => {
  const { sql, generations, append } = await world(t, blocksOf(3))
  await runs(generations)
  const { assets } = generations.current()!
  assert.deepEqual(
    assets.map(({ number }) => number),
    [0, 1],
  )
  await sql`
    insert into flow_asset (number, contract, symbol, decimals)
    values (2, ${addressNumbered(250)}, 'NEW', 6)`
  await append([[transfer(3), transfer(3, { asset: 1 })], []], 103)
  await runs(generations)
  assert.equal(generations.current()!.assets, assets)
  await append([[transfer(3), transfer(3, { asset: 2 })]], 105)
  await runs(generations)
  assert.deepEqual(
    generations.current()!.assets.map(({ symbol }) => symbol),
    ['TRX', 'USDT', 'NEW'],
  )
})

test('an index in a file is copied when nothing of it changes, and goes on later', async (t) => {
  const folder = await temporaryKeptFolder(t)
  const kept = { folder, hot_slots: 100 }
  let now_ms = 0
  const { needs, generations, label, append, takenOver, checkpoints } = await world(
    t,
    blocksOf(5),
    { kept, checkpoint_transfers: 1, clock: { now: () => momentOf(now_ms) } },
  )
  const files = () => [1, 2, 3].filter((number) => folder.has('generation', number))
  const keptHash = async (of: Generations) => {
    const { state } = of.current()!
    assert.ok(state instanceof KeptFlow)
    assert.equal(state.is_saved, true)
    return state.stateHash()
  }
  await runs(generations)
  assert.deepEqual(await checkpoints(), [])
  const first = await keptHash(generations)
  await label(mixer(99))
  await runs(generations)
  assert.deepEqual(await takenOver(), [[2, 1, 104]])
  assert.equal(await keptHash(generations), first)
  await label(mixer(99), mixer(2))
  await runs(generations)
  assert.deepEqual(await takenOver(), [[2, 1, 104]], 'from the beginning')
  const third = await keptHash(generations)
  assert.equal(third, hashOf(await afresh(needs)))
  now_ms = 59_999
  await runs(generations)
  assert.deepEqual(files(), [1, 2, 3], 'for a minute others may go on to read them')
  now_ms = 60_000
  await runs(generations)
  assert.deepEqual(files(), [3])
  // What cannot be read is put aside, and computed anew.
  Object.defineProperty(generations.current()!.state, 'is_broken', { value: true })
  assert.equal(await generations.step.run(), true)
  assert.equal(generations.current(), undefined)
  assert.deepEqual(files(), [])
  await runs(generations)
  assert.equal(await keptHash(generations), third)
  await generations.close()
  const started = flowGenerations(needs)
  await begin(started)
  assert.deepEqual(memory(started), [[3, false, 104]], 'from its file')
  await append(blocksOf(1, 5), 105)
  await runs(started)
  assert.equal(await keptHash(started), hashOf(await afresh(needs)))
  await started.close()
})
