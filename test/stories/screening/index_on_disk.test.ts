// An index whose state is in a file beside its hot slots answers as one in memory does: through new
// labels, starts, broken files, and beside another process of the same machine.

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readHoldings } from 'penstock-service/screening/engine/asset_holdings.ts'
import {
  publishPolicy,
  SHIPPED_NEWEST,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import { KeptFolder, type KeptPlace } from 'penstock-service/screening/kept/kept_folder.ts'
import { BrokenState } from 'penstock-service/screening/kept/slot_record.ts'
import {
  makeScreeningWorld,
  type Person,
  type ScreeningOptions,
  type ScreeningProcess,
  type ScreeningWorld,
  TRX,
} from '../../harness/screening_world.ts'

/** Fewer than there are people, so that most slots are on disk alone. */
const HOT_SLOTS = 6

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-index-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function placeIn(t: TestContext, path: string): Promise<KeptPlace> {
  const folder = await KeptFolder.take(path)
  t.after(() => folder.close())
  return { folder, hot_slots: HOT_SLOTS }
}

type Crowd = { world: ScreeningWorld; people: Person[]; customer_id: string }

async function crowded(t: TestContext): Promise<Crowd> {
  const world = await followed(t, { hub_counterparties: 8 })
  const customer_id = await world.customer()
  const people = Array.from({ length: 20 }, () => world.person())
  await world.publish('operator', [{ address: people[0]!.address, category: 'mixer' }])
  await move({ world, people })
  return { world, people, customer_id }
}

/** A world under a policy that looks at what was sent too. */
async function followed(t: TestContext, options: ScreeningOptions): Promise<ScreeningWorld> {
  const world = await makeScreeningWorld(t, options)
  await judgeBy(world, SHIPPED_NEWEST)
  return world
}

async function judgeBy(world: ScreeningWorld, body: object): Promise<void> {
  const published = { published_by: 'test', published_at: world.clock.now() }
  await world.sql.begin((tx) => publishPolicy(tx, { body, ...published }))
  world.now_ms += 2_000
}

/** Everybody sends something to somebody, of one asset or the other. */
async function move({ world, people }: Pick<Crowd, 'world' | 'people'>): Promise<void> {
  for (const [i, from] of people.entries()) {
    const to = people[(i * 7 + 3) % people.length]!
    if (to === from) continue
    world.send(from, to, BigInt(i + 2) * TRX)
    if (i % 3 === 0) world.sendToken(from, to, BigInt(1_000_000 + i))
  }
  await world.settle()
}

/** Starts a process with its index on disk, which ends with the test. */
async function onDisk(t: TestContext, { world }: Crowd, kept: KeptPlace) {
  const process = world.startProcess(world.sql, kept)
  t.after(() => ended(process))
  await world.drain(process)
  return process
}

async function ended({ sent, generations }: ScreeningProcess): Promise<void> {
  await sent.close()
  await generations.close()
}

/** What everybody has, and what became of what they sent. */
async function known({ people }: Crowd, { generations, sent }: ScreeningProcess) {
  const { state, assets, index, number } = generations.current()!
  const addresses = people.map(({ address }) => address)
  const all = (of: Parameters<typeof readHoldings>[0]) =>
    readHoldings(of, addresses, (holdingsOf) => addresses.map(holdingsOf))
  const read = sent.current()!
  return {
    number,
    block: index.block_number,
    holdings: await all({ state, assets }),
    sent: await all({ state: read.state, assets }),
    height: read.height,
  }
}

async function requireAgreement(crowd: Crowd, process: ScreeningProcess): Promise<void> {
  const { world, people, customer_id } = crowd
  await world.drain()
  await world.drain(process)
  const here = await known(crowd, process)
  assert.deepEqual(here, await known(crowd, world.process))
  assert.ok(here.holdings.flat().length > people.length)
  assert.ok(here.sent.flat().some(({ holding }) => holding.portions.length > 0))
  for (const address of people.slice(1, 4).map((one) => one.address)) {
    const checks = [
      await world.ask({ customer_id, address }, process),
      await world.ask({ customer_id, address }),
    ]
    assert.ok(checks.every(({ state }) => state === 'completed'))
    const [one, other] = await Promise.all(checks.map(({ id }) => world.evidence(id)))
    assert.deepEqual(one, other)
  }
}

test('an index on disk answers as one in memory does, with whatever labels', async (t) => {
  const crowd = await crowded(t)
  const { world, people } = crowd
  const { folder, hot_slots } = await placeIn(t, newFolder(t))
  const process = await onDisk(t, crowd, { folder, hot_slots })
  await requireAgreement(crowd, process)
  await move(crowd)
  await requireAgreement(crowd, process)
  // Of an address that never moved anything, and of one that did.
  for (const labelled of [world.person(), people[3]!]) {
    const before = process.generations.current()!.number
    assert.ok(folder.has('generation', before))
    await world.publish('tagpacks', [{ address: labelled.address, category: 'scam' }])
    await requireAgreement(crowd, process)
    assert.ok(process.generations.current()!.number > before)
    // Whoever has taken up the index of before has a minute to go on.
    assert.ok(folder.has('generation', before))
    world.now_ms += 60_000
    await move(crowd)
    // The next night.
    await world.sql`update flow_sent set begun_at = begun_at - interval '1 day'`
    await requireAgreement(crowd, process)
    assert.ok(!folder.has('generation', before))
  }
})

test('an index that is asked for again at once is taken back as it is', async (t) => {
  const crowd = await crowded(t)
  const { world } = crowd
  const process = await onDisk(t, crowd, await placeIn(t, newFolder(t)))
  await requireAgreement(crowd, process)
  const { number, state } = process.generations.current()!
  await judgeBy(world, SHIPPED_POLICY)
  await world.drain()
  await world.drain(process)
  assert.notEqual(process.generations.current()!.number, number)
  await judgeBy(world, SHIPPED_NEWEST)
  await requireAgreement(crowd, process)
  assert.equal(process.generations.current()!.number, number)
  assert.equal(process.generations.current()!.state, state)
})

test('after a start it goes on from its file, and not from the log', async (t) => {
  const crowd = await crowded(t)
  const { world } = crowd
  const path = newFolder(t)
  const place = await placeIn(t, path)
  const process = await onDisk(t, crowd, place)
  const { state, block_id, number } = process.generations.current()!
  await state.save(block_id)
  await ended(process)
  place.folder.close()
  // Whoever read the log from its beginning would find nothing.
  await world.sql`update flow_block set transfers = '', tx_ids = ''`
  const again = await onDisk(t, crowd, await placeIn(t, path))
  assert.equal(again.generations.current()!.number, number)
  assert.deepEqual(await known(crowd, again), await known(crowd, world.process))
})

test('labels that come while an index catches up after a start lose none of it', async (t) => {
  const crowd = await crowded(t)
  const { world } = crowd
  const place = await placeIn(t, newFolder(t))
  const process = await onDisk(t, crowd, place)
  const { state, block_id } = process.generations.current()!
  await state.save(block_id)
  await ended(process)
  await world.sql`update flow_block set transfers = '', tx_ids = ''`
  for (const runs of [1, 2, 3]) {
    const again = world.startProcess(world.sql, place)
    const index = again.steps.find(({ name }) => name === 'index')!
    for (let i = 0; i < runs; i++) await index.run()
    // Of an address that never moved anything: nothing has to be computed anew.
    await world.publish('tagpacks', [{ address: world.person().address, category: 'scam' }])
    await world.drain()
    await world.drain(again)
    const holdings = async (of: ScreeningProcess) => (await known(crowd, of)).holdings
    assert.deepEqual(await holdings(again), await holdings(world.process))
    await ended(again)
  }
})

test('a file of another database, or of later blocks, is put aside', async (t) => {
  const crowd = await crowded(t)
  const { world } = crowd
  const place = await placeIn(t, newFolder(t))
  const process = await onDisk(t, crowd, place)
  await requireAgreement(crowd, process)
  const { number } = process.generations.current()!
  const aside = () => existsSync(`${place.folder.fileOf('generation', number)}.broken`)
  await ended(process)
  await world.sql`
    update flow_generation set begun_at = begun_at + interval '1 second' where number = ${number}`
  const again = await onDisk(t, crowd, place)
  assert.ok(aside())
  await requireAgreement(crowd, again)
  const { holdings } = await known(crowd, again)
  await ended(again)
  rmSync(`${place.folder.fileOf('generation', number)}.broken`)
  // As after the database went back to a moment before.
  await world.sql`
    update flow_block set id = 'other' where number = (select max(number) from flow_block)`
  const third = await onDisk(t, crowd, place)
  assert.ok(aside())
  assert.deepEqual((await known(crowd, third)).holdings, holdings)
})

test('what was in memory until now is put into a file', async (t) => {
  const world = await followed(t, { checkpoint_transfers: 4 })
  const people = Array.from({ length: 20 }, () => world.person())
  const crowd = { world, people, customer_id: await world.customer() }
  await world.publish('operator', [{ address: people[0]!.address, category: 'mixer' }])
  await world.drain()
  await move(crowd)
  assert.ok((await world.sql`select from flow_checkpoint`).length > 0)
  await world.sql`update flow_block set transfers = '', tx_ids = ''`
  const process = await onDisk(t, crowd, await placeIn(t, newFolder(t)))
  const holdings = async (of: ScreeningProcess) => (await known(crowd, of)).holdings
  assert.deepEqual(await holdings(process), await holdings(world.process))
})

test('a file that cannot be read is put aside, at a start and while it is used', async (t) => {
  const crowd = await crowded(t)
  const path = newFolder(t)
  const place = await placeIn(t, path)
  const process = await onDisk(t, crowd, place)
  const { state, block_id, number } = process.generations.current()!
  await state.save(block_id)
  await ended(process)
  const file = place.folder.fileOf('generation', number)
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.fill(0x5a, 4_096, bytes.length - 4_096))
  const again = await onDisk(t, crowd, place)
  await requireAgreement(crowd, again)
  assert.ok(existsSync(`${file}.broken`))
  await ended(again)

  let broken = false
  const { folder } = place
  const open = folder.open.bind(folder)
  folder.open = async (kind, of) => {
    const store = await open(kind, of)
    const load = (keys: Uint8Array) =>
      broken && kind === 'generation'
        ? store.load(keys).then((found) => found.map((one) => one && { ...one, state: wrong(one) }))
        : store.load(keys)
    return { ...store, load }
  }
  const third = await onDisk(t, crowd, place)
  broken = true
  await move(crowd)
  await assert.rejects(crowd.world.drain(third), BrokenState)
  broken = false
  await requireAgreement(crowd, third)
})

/** With a bit that is not as it was written. */
const wrong = ({ state }: { state: Uint8Array }) =>
  state.map((byte, i) => (i === state.length - 1 ? byte ^ 1 : byte))

test('two processes of one folder each have a part of it', async (t) => {
  const crowd = await crowded(t)
  const path = newFolder(t)
  const places = [await placeIn(t, path), await placeIn(t, path)]
  assert.notEqual(places[0]!.folder.path, places[1]!.folder.path)
  for (const place of places) await requireAgreement(crowd, await onDisk(t, crowd, place))
  places[0]!.folder.close()
  assert.equal((await KeptFolder.take(path)).path, places[0]!.folder.path)
  assert.deepEqual(readdirSync(path).sort(), ['1', '2'])
})
