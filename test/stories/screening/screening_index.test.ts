// The index as a thing that lives long: killed, started again, beside others of its kind,
// relabelled, with more of the past than it began with, and with services that nobody has labelled.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import fc from 'fast-check'
import { bareHex } from 'penstock-service/chain/transfers/bare_addresses.ts'
import { packTransfers } from 'penstock-service/chain/transfers/packed.ts'
import { transferLog } from 'penstock-service/chain/transfers/postgres_log.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { replayCheck, stateAt } from 'penstock-service/screening/checks/replay.ts'
import { publishPolicy, SHIPPED_POLICY } from 'penstock-service/screening/engine/policy.ts'
import { stateHash } from 'penstock-service/screening/flow/checkpoint.ts'
import { readHolding } from 'penstock-service/screening/flow/holdings.ts'
import { KeptFlow } from 'penstock-service/screening/kept/kept.ts'
import { KeptFolder, type KeptPlace } from 'penstock-service/screening/kept/kept_folder.ts'
import { restoreNewest } from 'penstock-service/screening/kept/positions.ts'
import { backfill, setReach } from 'penstock-service/screening/tracing/backfill.ts'
import {
  flowGenerations,
  type Generations,
} from 'penstock-service/screening/tracing/generations.ts'
import { addressFromBytes } from 'penstock-tron/address.ts'
import { freshDatabase } from '../../harness/database.ts'
import {
  makeScreeningWorld,
  type Person,
  type ScreeningWorld,
  TRX,
  USDT,
} from '../../harness/screening_world.ts'

const hashOf = (generations: Generations) => stateHash(generations.current()!.index)

const bytesOf = (n: number) => createHash('sha256').update(`person ${n}`).digest().subarray(0, 20)
const addressOf = (n: number) => addressFromBytes(Uint8Array.of(0x41, ...bytesOf(n)))

/** A log of blocks that were never on a chain, of 1 to 12 transfers among 60 people. */
async function writeLog(sql: Sql, blocks: number): Promise<void> {
  let drawn = 0
  const draw = (n: number) =>
    createHash('sha256').update(`draw ${drawn++}`).digest().readUInt32LE() % n
  let sequence = 1
  const rows = Array.from({ length: blocks }, (_, i) => {
    const transfers = Array.from({ length: 1 + draw(12) }, () => {
      const from = draw(60)
      const to = (from + 1 + draw(59)) % 60
      return {
        asset: 0,
        from: bytesOf(from),
        to: bytesOf(to),
        amount: BigInt(1 + draw(10 ** (1 + draw(9)))),
      }
    })
    const first_sequence = sequence
    sequence += transfers.length
    return {
      number: 100 + i,
      first_sequence,
      transfers: Buffer.from(packTransfers(transfers)),
      count: transfers.length,
    }
  })
  await sql`
    insert into flow_block (number, id, time, first_sequence, transfers, tx_ids, freezes)
    select number, number::text, to_timestamp(number * 3), first_sequence, transfers,
      decode(repeat('00', 32 * count), 'hex'), '[]'
    from unnest(${rows.map((row) => row.number)}::bigint[],
                ${rows.map((row) => row.first_sequence)}::bigint[],
                ${rows.map((row) => row.transfers)}::bytea[],
                ${rows.map((row) => row.count)}::integer[])
      as r (number, first_sequence, transfers, count)`
}

async function labelSome(sql: Sql): Promise<void> {
  await sql`
    insert into list_version (list, origin, sha256, entries, passed_over, loaded_at, loaded_by)
    values ('operator', 'test', ${'0'.repeat(64)}, 3, 0, now(), 'test')`
  await sql`
    insert into list_entry
      (version_id, n, address, category, entity, kind, confidence, reference)
    select 1, n, address, category, 'x', 'curated', confidence, '' from unnest(
      ${[1, 2, 3]}::integer[], ${[addressOf(0), addressOf(1), addressOf(2)]}::text[],
      ${['mixer', 'exchange_licensed', 'scam']}::text[], ${[100, 90, 30]}::integer[])
      as e (n, address, category, confidence)`
  await sql`
    insert into label_set (number, sha256, note, published_at, published_by)
      values (1, ${'0'.repeat(64)}, 'x', now(), 'test')`
  await sql`insert into label_set_version (label_set, version_id) values (1, 1)`
}

const processOn = (sql: Sql, kept?: KeptPlace) =>
  flowGenerations({
    sql,
    kept,
    clock: systemClock,
    carried_blocks: 1_000_000,
    checkpoint_transfers: 10 ** 9,
  })

async function catchUp(generations: Generations): Promise<Generations> {
  while (await generations.step.run());
  return generations
}

async function carriedHash(sql: Sql): Promise<string> {
  const hash = createHash('sha256')
  const rows = await sql<{
    number: bigint
    carried: Uint8Array
  }>`select number, carried from flow_carried order by number`
  for (const { number, carried } of rows) hash.update(`${number} `).update(carried)
  return `${rows.length} ${hash.digest('hex')}`
}

/** Indexes in a process of its own, which is killed after some portions; `folder`: on disk. */
async function indexInChild(
  url: string,
  kill_after: number,
  folder: string[] = [],
): Promise<'killed' | 'done'> {
  const program = new URL('../../harness/screening_child.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [program, url, '150', String(kill_after), ...folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let portions = 0
  let end: 'killed' | 'done' = 'killed'
  for await (const line of createInterface({ input: child.stdout })) {
    portions += 1
    if (line.startsWith('done')) end = 'done'
    else if (portions === kill_after) child.kill('SIGKILL')
  }
  await ended
  return end
}

test('an index killed again and again comes to the state of one that never was', async (t) => {
  const { sql, url } = await freshDatabase(t)
  await writeLog(sql, 4_000)
  await labelSome(sql)
  let kills = 0
  // A portion is 50 blocks; a checkpoint comes after 1,500 transfers, so each life gets a little
  // further.
  for (; kills < 40; kills++) if ((await indexInChild(url, 20)) === 'done') break
  assert.ok(kills >= 2 && kills < 40, `${kills} kills`)
  const survivor = await catchUp(processOn(sql))
  const carried = await carriedHash(sql)

  const other = await freshDatabase(t)
  await writeLog(other.sql, 4_000)
  await labelSome(other.sql)
  const replica = await catchUp(processOn(other.sql))
  assert.equal(hashOf(survivor), hashOf(replica))
  assert.equal(carried, await carriedHash(other.sql), 'also what each transfer carried')
  assert.equal(survivor.current()!.index.block_number, 4_099)
  for (const block of [4_099, 2_000]) {
    const states = [await stateAt({ sql }, block), await stateAt(other, block)]
    assert.deepEqual(states[0], states[1])
    assert.equal(states[0]!.block, block)
  }
  assert.equal((await stateAt({ sql }, undefined)).state_sha256, hashOf(survivor))
})

test('so does one on disk, which goes on from its file', async (t) => {
  const { sql, url } = await freshDatabase(t)
  await writeLog(sql, 4_000)
  await labelSome(sql)
  const folder = mkdtempSync(join(tmpdir(), 'penstock-index-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  let kills = 0
  for (; kills < 40; kills++) if ((await indexInChild(url, 20, [folder])) === 'done') break
  assert.ok(kills >= 2 && kills < 40, `${kills} kills`)
  const kept = { folder: await KeptFolder.take(folder), hot_slots: 20 }
  t.after(() => kept.folder.close())
  const survivor = await catchUp(processOn(sql, kept))
  const { state, block_id } = survivor.current()!
  assert.ok(state instanceof KeptFlow)
  await state.save(block_id)

  const other = await freshDatabase(t)
  await writeLog(other.sql, 4_000)
  await labelSome(other.sql)
  assert.equal(await state.stateHash(), hashOf(await catchUp(processOn(other.sql))))
  assert.equal(await carriedHash(sql), await carriedHash(other.sql))
  await survivor.close()
})

test('what was carried and could not be written is written later, known meanwhile', async (t) => {
  const { sql } = await freshDatabase(t)
  await writeLog(sql, 300)
  let broken = true
  const flaky = Object.assign(
    (strings: TemplateStringsArray, ...values: unknown[]) => {
      if (broken && strings[0]!.includes('insert into flow_carried'))
        return Promise.reject(new Error('gone'))
      return (
        sql as unknown as (
          strings: TemplateStringsArray,
          ...values: unknown[]
        ) => Promise<unknown[]>
      )(strings, ...values)
    },
    { begin: sql.begin.bind(sql), close: sql.close.bind(sql) },
  ) as unknown as Sql
  const generations = processOn(flaky)
  await assert.rejects(catchUp(generations), /gone/)
  broken = false
  await catchUp(generations)
  const [row] = await sql<{ n: bigint }>`select count(*) as n from flow_carried`
  assert.equal(row!.n, 300n)
})

/** Sums of everything, for an address in every asset. */
function requireConserved(generations: Generations, people: readonly Person[]): void {
  const { index } = generations.current()!
  for (const asset of [0, 1]) {
    for (const { address } of people) {
      const holding = readHolding(index, asset, Buffer.from(bareHex(address), 'hex'))
      if (!holding) continue
      assert.equal(
        holding.portions.reduce((sum, { held }) => sum + held, 0n),
        holding.balance,
      )
    }
  }
}

function traffic(world: ScreeningWorld, people: readonly Person[], rounds: number): void {
  for (let round = 0; round < rounds; round++) {
    for (const [i, from] of people.entries()) {
      const to = people[(i * 5 + round + 1) % people.length]!
      if (from !== to) world.send(from, to, BigInt(2_000_003 + i * 977 + round))
    }
  }
}

test('while the next generation is computed, the current one follows the chain', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [thief, end] = [world.person(), world.person()]
  world.send(thief, end, 10n * TRX)
  world.mine(300)
  await world.settle()
  const used = world.process.generations.current()!.number
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  world.send(world.person(), end, 30n * TRX)
  for (const process of [world.process, world.startProcess()]) {
    const index = process.steps.find(({ name }) => name === 'index')!
    world.mine(20)
    for (const step of process.steps) if (step !== index) while (await step.run());
    const solid = Number(
      (await world.sql<{ solid_number: bigint }>`select solid_number from chain`)[0]!.solid_number,
    )
    for (let i = 0; i < 40; i++) {
      await index.run()
      if (process.generations.current()?.index.block_number === solid) break
    }
    assert.deepEqual(
      [process.generations.current()!.number, process.generations.current()!.index.block_number],
      [used, solid],
    )
    const { check } = await process.place({
      customer_id,
      idempotency_key: null,
      type: 'address',
      network: 'TRX',
      address: end.address,
      hash: null,
      direction: null,
    })
    await process.steps.find(({ name }) => name === 'screen')!.run()
    assert.deepEqual(
      [(await world.check(check.id)).state, (await world.check(check.id)).generation],
      ['completed', used],
    )
  }
  await world.drain()
  assert.equal((await world.ask({ customer_id, address: end.address })).label_set, 1)
})

test('with the past read from the node, the index is as if there from the start', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, node } = world
  const people = Array.from({ length: 6 }, () => world.person())
  await world.publish('operator', [{ address: people[0]!.address, category: 'mixer' }])
  traffic(world, people, 3)
  for (let i = 0; i < 6; i++) world.sendToken(people[i]!, people[(i + 1) % 6]!, 4_000_000n)
  await world.settle()
  world.mine(150)
  await world.settle()
  const whole = hashOf(world.process.generations)
  const [{ first_number: beginning }] =
    (await sql`select first_number from flow_generation limit 1`) as [{ first_number: bigint }]
  // A service that starts only now knows nothing of all that.
  const late = await lateWorld(world)
  assert.notEqual(hashOf(late.process.generations), whole)
  const before = await late.ask({ customer_id: late.customer_id, address: people[1]!.address })
  assert.deepEqual(
    before.risk_factors.map(({ name }) => name),
    ['unidentified'],
  )

  const reached: number[] = []
  const wanted = { from_number: Number(beginning), made_by: 'me', made_at: world.clock.now() }
  // Broken off once, in the middle.
  let requests = 0
  const weak = {
    ...node,
    blocks: async (...range: Parameters<typeof node.blocks>) => {
      if (++requests === 2) throw new Error('ECONNRESET')
      return node.blocks(...range)
    },
  }
  await assert.rejects(
    backfill({ sql: late.sql, node: weak, tokens: new Set([USDT]) }, wanted),
    /ECONNRESET/,
  )
  // A node that makes one of the blocks a child of another, below those that are there.
  const lying = {
    ...node,
    blocks: async (...range: Parameters<typeof node.blocks>) => {
      const blocks = await node.blocks(...range)
      return blocks.map((block, i) => (i === 1 ? { ...block, parent_id: 'ab'.repeat(32) } : block))
    },
  }
  await assert.rejects(
    backfill({ sql: late.sql, node: lying, tokens: new Set([USDT]) }, wanted),
    /has another parent/,
  )
  await late.drain()
  const still = await late.ask({ customer_id: late.customer_id, address: people[1]!.address })
  assert.equal(still.generation, before.generation, 'half of the past changes nothing')
  const made = await backfill({ sql: late.sql, node, tokens: new Set([USDT]) }, wanted, (at) =>
    reached.push(at),
  )
  assert.equal(made.first_number, Number(beginning))
  assert.ok(reached.length > 1 && reached.every((at, i) => i === 0 || at < reached[i - 1]!))
  await late.drain()
  assert.equal(hashOf(late.process.generations), whole)
  const after = await late.ask({ customer_id: late.customer_id, address: people[1]!.address })
  assert.ok(after.risk_factors.some(({ name }) => name === 'mixer'))
  for (const { id } of [before, still, after]) assert.ok((await replayCheck(late, id)).same)
  const facts = await late.evidence(after.id)
  assert.ok(facts.factors.some(({ path }) => path.length > 0))
})

test("a beginning later than the index's is refused: nothing known is given up", async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, node } = world
  await world.settle()
  const { first_block, index } = world.process.generations.current()!
  const from = (from_number: number) =>
    backfill(
      { sql, node, tokens: new Set([USDT]) },
      { from_number, made_by: 'me', made_at: world.clock.now() },
    )
  for (const later of [first_block + 1, index.block_number + 1_000_000])
    await assert.rejects(
      from(later),
      new RegExp(`^Refused: The index begins with block ${first_block} already\\.$`),
    )
  assert.equal((await from(first_block)).first_number, first_block)
})

/** A second service on the same chain, which begins to follow it now. */
async function lateWorld(world: ScreeningWorld) {
  const late = await world.another()
  await late.publish('operator', [{ address: world.person('person-1').address, category: 'mixer' }])
  world.mine()
  late.now_ms = world.now_ms
  await late.settle()
  return Object.assign(late, { customer_id: await late.customer() })
}

test('an unlabelled address that deals with very many becomes a service', async (t) => {
  const world = await makeScreeningWorld(t, { hub_counterparties: 5 })
  const { sql } = world
  const customer_id = await world.customer()
  const [hub, quiet, thief, end] = [world.person(), world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  for (let i = 0; i < 6; i++) world.send(world.person(), hub, 10n * TRX)
  for (let i = 0; i < 9; i++) world.send(thief, quiet, 10n * TRX)
  world.send(thief, hub, 10n * TRX)
  world.send(hub, end, 50n * TRX)
  await world.settle()
  const before = await world.ask({ customer_id, address: end.address })
  assert.ok(before.risk_factors.some(({ name }) => name === 'stolen_coins'))
  await setReach(sql, { from_number: 0, made_by: 'me', made_at: world.clock.now(), reason: 'hubs' })
  await world.drain()
  const hubs = await sql<{ address: string }>`select address from flow_hub`
  assert.deepEqual(
    hubs.map(({ address }) => address),
    [bareHex(hub.address)],
  )
  const after = await world.ask({ customer_id, address: end.address })
  assert.deepEqual(
    after.risk_factors.map(({ name }) => name),
    ['unidentified_service'],
  )
  assert.equal(after.risk_score, '40.0')
  // What a list says goes before it, and what was found stays in the generations after.
  await world.publish('tagpacks', [
    { address: hub.address, category: 'exchange_licensed', kind: 'curated' },
  ])
  await world.drain()
  assert.equal((await world.ask({ customer_id, address: end.address })).risk_score, '10.0')
  assert.equal((await sql`select 1 from flow_hub`).length, 2)
  for (const { id } of [before, after]) assert.ok((await replayCheck({ sql }, id)).same)
})

test('a service is found by what the index has counted, without a look at the log', async (t) => {
  const world = await makeScreeningWorld(t, { hub_counterparties: 5, checkpoint_transfers: 4 })
  const { sql } = world
  const [hub, apart] = [world.person(), world.person()]
  for (let i = 0; i < 4; i++) world.send(world.person(), hub, 10n * TRX)
  await world.settle()
  assert.ok((await sql`select 1 from flow_checkpoint`).length > 0)
  // Whoever looked would find nothing: the transfers of before are known to the checkpoint alone.
  await sql`update flow_block set transfers = '', tx_ids = ''`
  const started = world.startProcess()
  await world.drain(started)
  for (let i = 0; i < 3; i++) world.sendToken(world.person(), hub, 5_000_000n)
  world.mine(20)
  await world.drain(started)
  await world.publish('operator', [{ address: apart.address, category: 'scam' }])
  await world.drain(started)
  assert.equal(started.generations.current()!.label_set, 1)
  const hubs = await sql<{ address: string }>`select address from flow_hub`
  assert.deepEqual(
    hubs.map(({ address }) => address),
    [bareHex(hub.address)],
    'seven others, in two assets, before and after a start',
  )
})

test('labels that touch nothing have nothing of what transfers carried copied', async (t) => {
  const world = await makeScreeningWorld(t, { carried_blocks: 1_000 })
  const { sql } = world
  const customer_id = await world.customer()
  const [thief, middle, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  world.send(thief, middle, 10n * TRX)
  const hash = world.send(middle, end, 5n * TRX)
  await world.settle()
  const first = world.process.generations.current()!.number
  const written = await sql`select distinct number from flow_carried`
  const way = async () => {
    const check = await world.ask({ customer_id, address: end.address, type: 'hash', hash })
    assert.equal(check.state, 'completed')
    const { factors } = await world.evidence(check.id)
    assert.ok((await replayCheck({ sql }, check.id)).same)
    return factors.map(({ category, path }) => [category, path.map(({ tx_id }) => tx_id)])
  }
  const before = await way()
  assert.ok(before.some(([, path]) => path!.length === 2))
  for (const category of ['scam', 'mixer', 'payment']) {
    await world.publish('tagpacks', [{ address: world.person('apart').address, category }])
    await world.drain()
    assert.deepEqual(await way(), before)
  }
  const prune = world.process.steps.find(({ name }) => name === 'prune_index')!
  while (await prune.run());
  const now = world.process.generations.current()!.number
  assert.ok(now > first + 2, 'the first is not among the two that are kept')
  assert.equal((await sql`select 1 from flow_carried`).length, written.length)
  assert.deepEqual(await way(), before)
  // A label that touches the way has it computed, and written, anew; then the old goes.
  await world.publish('operator', [{ address: thief.address, category: 'scam' }])
  await world.drain()
  await world.publish('tagpacks', [{ address: world.person('apart').address, category: 'bridge' }])
  await world.drain()
  while (await prune.run());
  const generations = await sql<{ generation: number }>`
    select distinct generation from flow_carried`
  assert.deepEqual(
    generations.map(({ generation }) => generation),
    [now + 1],
  )
  assert.equal((await sql`select 1 from flow_carried_from`).length, 1)
})

test('going back to the labels and rules in use ends what was begun since', async (t) => {
  const world = await makeScreeningWorld(t)
  world.send(world.person(), world.person(), 10n * TRX)
  world.mine(200)
  await world.settle()
  const used = world.process.generations.current()!.number
  const publish = async (body: object) =>
    world.sql.begin((tx) =>
      publishPolicy(tx, { body, published_by: 'test', published_at: world.clock.now() }),
    )
  const { step } = world.process.generations
  await publish({ ...SHIPPED_POLICY, index_rules: 2 })
  await step.run()
  await publish(SHIPPED_POLICY)
  while (await step.run());
  assert.deepEqual(
    world.process.generations.memory().map(({ generation }) => generation),
    [used],
  )
})

test('where carried amounts are is forgotten with them, however many label sets', async (t) => {
  const world = await makeScreeningWorld(t, { carried_blocks: 20 })
  const apart = world.person()
  const links = async () => (await world.sql`select 1 from flow_carried_from`).length
  let most = 0
  for (let i = 0; i < 12; i++) {
    world.send(world.person(), world.person(), 10n * TRX)
    await world.publish('operator', [
      { address: apart.address, category: i % 2 === 0 ? 'scam' : 'mixer' },
    ])
    await world.settle()
    most = Math.max(most, await links())
  }
  // A window of twice 20 blocks, and 20 and more between two of them.
  assert.ok(most >= 1 && most <= 4, `${most} ranges`)
})

test('a checkpoint that another process deletes while it is read is no loss', async (t) => {
  const world = await makeScreeningWorld(t, { checkpoint_transfers: 1 })
  const { sql } = world
  for (let i = 0; i < 3; i++) {
    world.send(world.person(), world.person(), 10n * TRX)
    await world.settle()
  }
  const generation = world.process.generations.current()!
  const newest = generation.index.block_number
  const [{ parts, bytes } = assert.fail()] = await sql<{ parts: number; bytes: Uint8Array }>`
    select parts, bytes from flow_checkpoint join flow_checkpoint_part using (generation, number)
    where generation = ${generation.number} order by number desc limit 1`
  await sql`delete from flow_checkpoint where generation = ${generation.number}`
  await sql`delete from flow_checkpoint_part where generation = ${generation.number}`
  // Listed, and gone when its first part is asked for: there is a newer one by then.
  const save = async (number: number, part: Uint8Array | undefined) => {
    await sql`
      insert into flow_checkpoint (generation, number, parts, made_at)
      values (${generation.number}, ${number}, ${parts}, ${world.clock.now()})`
    if (part)
      await sql`
        insert into flow_checkpoint_part (generation, number, part, bytes)
        values (${generation.number}, ${number}, 0, ${Buffer.from(part)})`
  }
  await save(newest - 1, undefined)
  let is_saved = false
  const reading = new Proxy(sql, {
    apply(_sql, _this, [text, ...values]: [TemplateStringsArray, ...never[]]) {
      if (is_saved || !text.join('').includes('flow_checkpoint_part')) return sql(text, ...values)
      is_saved = true
      return save(newest, bytes).then(() => sql(text, ...values))
    },
  })
  const { labels, index } = generation
  const sources = { sql: reading, log: transferLog(sql) }
  const restored = await restoreNewest(sources, generation.number, { labels, rules: index.rules })
  assert.equal(restored?.state.index.block_number, newest)
})

test('whatever is labelled in any order, the state is that of a rebuild', async (t) => {
  const world = await makeScreeningWorld(t, { checkpoint_transfers: 7 })
  const people = Array.from({ length: 5 }, () => world.person())
  traffic(world, people, 2)
  await world.settle()
  const labels = fc.array(
    fc.record({
      address: fc.constantFrom(...people.map(({ address }) => address)),
      category: fc.constantFrom('mixer', 'exchange_licensed', 'scam', 'payment'),
      confidence: fc.constantFrom(10, 40, 50, 100),
    }),
    { maxLength: 4 },
  )
  await fc.assert(
    fc.asyncProperty(labels, async (entries) => {
      await world.publish('operator', entries)
      traffic(world, people.slice(0, 3), 1)
      await world.settle()
      requireConserved(world.process.generations, people)
      const relabelled = hashOf(world.process.generations)
      await world.sql`delete from flow_checkpoint_part`
      await world.sql`delete from flow_checkpoint`
      const fresh = world.startProcess()
      await world.drain(fresh)
      assert.equal(hashOf(fresh.generations), relabelled)
    }),
    { numRuns: 12 },
  )
})
