import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  makeScreeningWorld,
  type Person,
  type ScreeningProcess,
  type ScreeningWorld,
  TRX,
} from 'penstock-test/harness/screening_world.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import { drain } from '../../platform/steps/step.ts'
import { stateAt } from '../checks/replay.ts'
import { stateHash } from '../flow/checkpoint.ts'
import { diffSets, listStates } from '../labels/label_sets.ts'
import { importList, refreshStep } from '../labels/lists.ts'

const hashOf = ({ generations }: ScreeningProcess) => stateHash(generations.current()!.index)

/** Indexes all over again, from nothing but the log and the labels. */
async function rebuilt(world: ScreeningWorld): Promise<string> {
  const fresh = world.startProcess()
  await world.sql`delete from flow_checkpoint_part`
  await world.sql`delete from flow_checkpoint`
  await world.drain(fresh)
  return hashOf(fresh)
}

/** Some traffic among people; the first is meant to be labelled. */
function traffic(world: ScreeningWorld, people: readonly Person[], rounds = 3): void {
  for (let round = 0; round < rounds; round++) {
    for (const [i, from] of people.entries()) {
      const to = people[(i * 7 + round + 1) % people.length]!
      if (from === to) continue
      if ((i + round) % 2 === 0) world.send(from, to, BigInt(1_000_001 + i * 777 + round))
      else world.sendToken(from, to, BigInt(3_000_003 + i * 131))
    }
  }
}

test('processes that index in portions of their own agree to the last unit', async (t) => {
  const world = await makeScreeningWorld(t)
  const people = Array.from({ length: 6 }, () => world.person())
  await world.publish('operator', [
    { address: people[0]!.address, category: 'mixer' },
    { address: people[1]!.address, category: 'exchange_licensed', confidence: 30 },
  ])
  traffic(world, people, 1)
  await world.settle()
  traffic(world, people, 2)
  await world.settle()
  assert.equal(await rebuilt(world), hashOf(world.process))
})

test('labels that touch nothing change the generation and not the state', async (t) => {
  const world = await makeScreeningWorld(t)
  const people = Array.from({ length: 5 }, () => world.person())
  traffic(world, people)
  await world.settle()
  const before = world.process.generations.current()!
  const hash = hashOf(world.process)
  await world.publish('operator', [{ address: world.person('apart').address, category: 'scam' }])
  await world.drain()
  const after = world.process.generations.current()!
  assert.notEqual(after.number, before.number)
  assert.equal(after.label_set, 1)
  assert.equal(hashOf(world.process), hash)
  assert.equal(await rebuilt(world), hash)
})

test('relabelling from the last checkpoint before the change equals a rebuild', async (t) => {
  const world = await makeScreeningWorld(t, { checkpoint_transfers: 5 })
  const people = Array.from({ length: 5 }, () => world.person())
  traffic(world, people)
  await world.settle()
  const saved = await world.sql`select number from flow_checkpoint`
  assert.ok(saved.length > 0)
  const late = world.person('late')
  world.send(late, people[2]!, 5n * TRX)
  traffic(world, people)
  await world.settle()
  await world.publish('operator', [{ address: late.address, category: 'stolen_coins' }])
  await world.drain()
  const hash = hashOf(world.process)
  assert.equal(await rebuilt(world), hash)
})

test('a process that starts takes the newest checkpoint to the same state', async (t) => {
  const world = await makeScreeningWorld(t, { checkpoint_transfers: 5 })
  const people = Array.from({ length: 5 }, () => world.person())
  traffic(world, people)
  await world.settle()
  // What the checkpoint has is not read of the log again.
  const emptied = await world.sql`
    update flow_block set transfers = '', tx_ids = ''
    where number <= (select max(number) from flow_checkpoint) and octet_length(transfers) > 0
    returning number`
  assert.ok(emptied.length > 0)
  const started = world.startProcess()
  await started.generations.step.run()
  assert.equal(started.generations.current(), undefined)
  traffic(world, people)
  await world.settle()
  await world.drain(started)
  assert.equal(hashOf(started), hashOf(world.process))
})

test('a broken or missing checkpoint is passed over, and the state is the same', async (t) => {
  const world = await makeScreeningWorld(t, { checkpoint_transfers: 5 })
  const { sql } = world
  const people = Array.from({ length: 5 }, () => world.person())
  for (let i = 0; i < 3; i++) {
    traffic(world, people)
    await world.settle()
  }
  const hash = hashOf(world.process)
  const saved = await sql<{
    number: bigint
  }>`select number from flow_checkpoint order by number desc`
  assert.equal(saved.length, 2)
  for (const block of [1, 1_000_000])
    await assert.rejects(
      stateAt({ sql }, block),
      /^Refused: Block \d+ is not in the index: it has \d+ to \d+\.$/,
    )
  const comesToTheSame = async (what: string) => {
    const started = world.startProcess()
    await world.drain(started)
    assert.equal(hashOf(started), hash, what)
    assert.equal((await stateAt({ sql }, undefined)).state_sha256, hash, what)
  }
  const [newest, older] = saved as [{ number: bigint }, { number: bigint }]
  await sql`
    update flow_checkpoint_part set bytes = set_byte(bytes, octet_length(bytes) - 20,
      get_byte(bytes, octet_length(bytes) - 20) # 1)
    where number = ${newest.number}`
  await comesToTheSame('a bit is another')
  await sql`
    update flow_checkpoint_part set bytes = substring(bytes for 3) where number = ${older.number}`
  await comesToTheSame('cut off')
  await sql`delete from flow_checkpoint_part`
  await comesToTheSame('without its parts')
  await world.publish('operator', [{ address: world.person('late').address, category: 'mixer' }])
  await world.drain()
  assert.equal(world.process.generations.current()!.label_set, 1)
  assert.equal(hashOf(world.process), hash, 'under labels that touch nothing')
})

test('while the next generation is computed, checks use the current one', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [thief, end] = [world.person(), world.person()]
  world.send(thief, end, 10n * TRX)
  await world.settle()
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  await world.process.generations.step.run()
  const { check } = await world.process.place({
    customer_id,
    idempotency_key: null,
    type: 'address',
    network: 'TRX',
    address: end.address,
    hash: null,
    direction: null,
  })
  await world.process.steps.find(({ name }) => name === 'screen')!.run()
  const during = await world.check(check.id)
  assert.deepEqual([during.state, during.label_set, during.risk_score], ['completed', 0, '25.0'])
  await world.drain()
  const after = await world.ask({ customer_id, address: end.address })
  assert.deepEqual([after.label_set, after.risk_score], [1, '100.0'])
})

test('all that there is of a token can move at once, and is in the log', async (t) => {
  const world = await makeScreeningWorld(t)
  const [one, other] = [world.person(), world.person()]
  const each = 1_000_000_000_000n
  world.sendToken(one, other, each)
  world.mine()
  world.sendToken(other, one, 2n * each)
  await world.settle()
  const moved = await world.sql<{ transfers: Buffer }>`
    select transfers from flow_block where octet_length(transfers) > 0 order by number`
  assert.deepEqual(
    moved.map(({ transfers }) => transfers.readBigUInt64LE(44)),
    [each, 2n * each],
  )
})

test('it is known whether it is kept what all transfers of some blocks carried', async (t) => {
  const world = await makeScreeningWorld(t)
  const people = [world.person(), world.person(), world.person()]
  traffic(world, people)
  await world.settle()
  const { carried, first_block, index } = world.process.generations.current()!
  const blocks = { first: first_block, last: index.block_number }
  const log = transferLog(world.sql)
  assert.equal(await log.isNoted(carried, blocks), true)
  assert.equal(await log.isNoted([], blocks), false, 'by no generation')
  await world.sql`
    delete from flow_carried where number = (select max(number) from flow_carried)`
  assert.equal(await log.isNoted(carried, blocks), false)
})

test('old transfers are forgotten, and a deposit check says what stands in for them', async (t) => {
  const world = await makeScreeningWorld(t, { carried_blocks: 10 })
  const customer_id = await world.customer()
  const [mixer, sender, recipient] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: mixer.address, category: 'mixer' }])
  world.send(mixer, sender, 30n * TRX)
  const hash = world.send(sender, recipient, 10n * TRX)
  await world.settle()
  world.mine(40)
  await world.settle()
  await world.settle()
  const kept = await world.sql`select number from flow_carried`
  assert.equal(kept.length, 0)
  const check = await world.ask({
    customer_id,
    type: 'hash',
    address: recipient.address,
    hash,
    direction: 'deposit',
  })
  assert.deepEqual(
    [check.state, check.risk_factors.map(({ name }) => name)],
    ['completed', ['mixer']],
  )
  const { notes } = await world.evidence(check.id)
  assert.ok(notes.some((note) => note.startsWith('It is not kept any more')))
})

async function* text(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content)
}

test('a list is loaded once, each version stays, and sets can be compared', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock } = world
  const [a, b] = [world.person().address, world.person().address]
  const load = (content: string) =>
    importList(
      { sql, clock },
      { list: 'operator', origin: 'labels.csv', bytes: text(content), loaded_by: 'me' },
    )
  const first = await load(`address,category\n${a},mixer\n`)
  assert.deepEqual([first.label_set, first.added, first.removed, first.changed], [1, 1, 0, true])
  const same = await load(`address,category\n${a},mixer\n${a},mixer\n`)
  assert.deepEqual([same.label_set, same.changed], [1, false])
  const second = await load(`address,category\n${a},scam\n${b},mixer\n`)
  assert.deepEqual([second.label_set, second.added, second.removed], [2, 2, 1])
  await assert.rejects(load('address,category\nnobody,mixer\n'), /line 2/)
  const changes = await diffSets(sql, 1, 2)
  assert.deepEqual(
    changes.map(({ change, address, category }) => `${change} ${address} ${category}`).sort(),
    [`added ${a} scam`, `added ${b} mixer`, `removed ${a} mixer`].sort(),
  )
  const states = await listStates(sql)
  assert.equal(states.find(({ code }) => code === 'operator')!.entries, 2)
  await assert.rejects(sql`update list_entry set category = 'mixer'`, /append-only/)
  await assert.rejects(sql`delete from label_set where number = 1`, /append-only/)
})

test('a list with a schedule is loaded from its publisher when its time has come', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock } = world
  const a = world.person().address
  await sql`
    update list set refresh_hours = 24, url = 'https://lists.example/nbctf.csv'
      where code = 'nbctf'`
  const asked: string[] = []
  const step = refreshStep({
    sql,
    clock,
    download: async (url) => {
      asked.push(url)
      return { bytes: text(`order,address\n1,${a}\n`), bytes_expected: undefined }
    },
  })
  await drain([step])
  assert.deepEqual(asked, ['https://lists.example/nbctf.csv'])
  world.now_ms += 23 * 3_600_000
  await drain([step])
  assert.equal(asked.length, 1)
  world.now_ms += 2 * 3_600_000
  await drain([step])
  assert.equal(asked.length, 2)
  const versions = await sql`select 1 from list_version`
  assert.equal(versions.length, 1)
})
