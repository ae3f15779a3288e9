// A watched address is screened again when money moves to or from it, and the rules of its watch
// are asked: once, whatever crashes.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { drain } from 'penstock-service/platform/steps/step.ts'
import { watchBlocksStep } from 'penstock-service/screening/checks/watch_blocks.ts'
import { rescreenStep, watch } from 'penstock-service/screening/checks/watches.ts'
import { listWatches } from 'penstock-service/screening/reports/watch_routes.ts'
import {
  makeScreeningWorld,
  type Person,
  type ScreeningProcess,
  type ScreeningWorld,
  TRX,
} from '../../harness/screening_world.ts'

type Answer = { risk_score: string; risk_level: string; blacklist: boolean; index_number: bigint }

const answersOf = (world: ScreeningWorld, { address }: Person) =>
  world.sql<Answer>`
    select risk_score, risk_level, blacklist, index_number from aml_check
    where address = ${address} and state = 'completed' order by id`

async function changesOf(world: ScreeningWorld): Promise<[string, string][]> {
  const notes = await world.sql<{ data: string }>`
    select data from event_note where type = 'aml_watch.changed' order by id`
  return notes.map(({ data }) => {
    const { level_before, risk_level } = JSON.parse(data) as Record<string, string>
    return [level_before!, risk_level!]
  })
}

function addWatching(
  { sql, clock, new_id }: Pick<ScreeningWorld, 'sql' | 'clock' | 'new_id'>,
  { steps, generations }: ScreeningProcess,
): void {
  steps.push(watchBlocksStep({ sql }), rescreenStep({ sql, clock, new_id, generations }))
}

/** Makes blocks solid, and goes on when they have been caught up with. */
async function settle(world: ScreeningWorld): Promise<void> {
  await world.settle()
  await world.drain()
}

async function watchShop(world: ScreeningWorld) {
  addWatching(world, world.process)
  const customer_id = await world.customer()
  const [mixer, shop] = [world.person(), world.person()]
  await world.publish('operator', [{ address: mixer.address, category: 'mixer' }])
  world.send(world.person(), shop, 10n * TRX)
  await settle(world)
  const watches = [{ address: shop.address }]
  const made_at = world.clock.now()
  await world.sql.begin((tx) => watch(tx, { customer_id, made_at, watches }))
  await world.drain()
  return { customer_id, mixer, shop }
}

test('S2: dirty money that reaches a watched address is told when it is solid', async (t) => {
  const world = await makeScreeningWorld(t)
  const { mixer, shop } = await watchShop(world)
  assert.deepEqual(
    (await answersOf(world, shop)).map(({ risk_score }) => risk_score),
    ['25.0'],
  )
  world.send(mixer, shop, 50_000n * TRX)
  await world.drain()
  assert.equal((await answersOf(world, shop)).length, 1, 'not before it is solid')
  await settle(world)
  const answers = await answersOf(world, shop)
  assert.deepEqual(
    answers.map(({ risk_score, risk_level }) => [risk_score, risk_level]),
    [
      ['25.0', 'low'],
      ['100.0', 'high'],
    ],
  )
  assert.deepEqual(await changesOf(world), [['low', 'high']])
  const ofLevel = async (level: string) =>
    (await listWatches(world.sql, { limit: 9, level })).map(({ address }) => address)
  assert.deepEqual([await ofLevel('high'), await ofLevel('low')], [[shop.address], []])
  // What it sends is looked at as well; what others do is not its.
  world.send(shop, world.person(), TRX)
  await settle(world)
  assert.equal((await answersOf(world, shop)).length, 3)
  world.send(mixer, world.person(), TRX)
  await settle(world)
  assert.equal((await answersOf(world, shop)).length, 3)
})

test('in a minute it is screened again once, and the last answer knows all blocks', async (t) => {
  const world = await makeScreeningWorld(t)
  const { mixer, shop } = await watchShop(world)
  await settle(world)
  // A block each three seconds, with a payment in each.
  for (let block = 0; block < 40; block++) {
    world.send(mixer, shop, TRX)
    await world.drain()
  }
  const last = world.scene.devchain.head.header.number
  const busy = (await answersOf(world, shop)).length - 1
  assert.ok(busy >= 1 && busy <= 3, `${busy} answers in two minutes`)
  for (let i = 0; i < 4; i++) await settle(world)
  const answers = await answersOf(world, shop)
  assert.ok(Number(answers.at(-1)!.index_number) >= last)
  const quiet = answers.length
  for (let i = 0; i < 3; i++) await settle(world)
  assert.equal((await answersOf(world, shop)).length, quiet)
})

test('a watched address that a list names is told before the index knows the list', async (t) => {
  const world = await makeScreeningWorld(t)
  const { shop } = await watchShop(world)
  await world.publish('ofac_sdn', [
    { address: shop.address, category: 'sanctions', kind: 'authority' },
  ])
  await world.drainWithout('index')
  const answers = await answersOf(world, shop)
  assert.deepEqual(
    answers.map(({ blacklist }) => blacklist),
    [false, true],
  )
  assert.deepEqual(await changesOf(world), [['low', 'high']])
})

test('without anything happening it is screened again each day', async (t) => {
  const world = await makeScreeningWorld(t)
  const { shop } = await watchShop(world)
  world.now_ms += 86_399_000
  await world.drain()
  assert.equal((await answersOf(world, shop)).length, 1)
  world.now_ms += 2_000
  await world.drain()
  assert.equal((await answersOf(world, shop)).length, 2)
})

/** Screens in a process of its own, which is killed when this step has moved something. */
async function killAfter(world: ScreeningWorld, step: string): Promise<void> {
  const file = new URL('../../harness/watch_child.ts', import.meta.url).pathname
  const { url, now_ms, options } = world
  const child = spawn(
    process.execPath,
    [file, url, String(now_ms), String(options.carried_blocks), step],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const ended = once(child, 'exit')
  const said: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line)
    child.kill('SIGKILL')
  }
  await ended
  assert.deepEqual(said, [step])
}

test('of two processes, one killed between block and answer: told once', async (t) => {
  const world = await makeScreeningWorld(t)
  const { customer_id, mixer, shop } = await watchShop(world)
  const large = { any_incoming_usd: 1_000n, severe_share_bp: null, severe_usd: null }
  const rule = { address: shop.address, rules: { ...large, sent_to: false } }
  const made_at = world.clock.now()
  await world.sql.begin((tx) => watch(tx, { customer_id, made_at, watches: [rule] }))
  await world.drain()
  const before = (await answersOf(world, shop)).length
  const sql = world.connect()
  t.after(() => sql.close())
  const other = world.startProcess(sql)
  addWatching({ ...world, sql, clock: world.clock }, other)
  // The blocks are there, and recorded; what follows from them is others' to do.
  const bring = async (amount: bigint) => {
    world.send(mixer, shop, amount)
    world.mine(20)
    const steps = world.process.steps.filter(({ name }) => /^(follow|record)$/.test(name))
    await drain(steps)
  }
  for (const [i, step] of ['watch_blocks', 'rescreen', 'screen'].entries()) {
    await bring(50_000n * TRX)
    await killAfter(world, step)
    // What a killed process had taken up is left alone for a while.
    world.now_ms += 91_000
    await Promise.all([world.drain(), world.drain(other)])
    await Promise.all([world.drain(), world.drain(other)])
    assert.equal((await answersOf(world, shop)).length, before + 1 + i, step)
    assert.deepEqual(await changesOf(world), [['low', 'high']])
    const alerts = await world.sql`select 1 from event_note where type = 'aml_watch.alert'`
    assert.equal(alerts.length, 1 + i, `alerts, after ${step}`)
    world.mine(40)
  }
})
