// What several workers do of which one is enough. With real processes, and for minutes: `npm run
// torture -- idle`.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { dueAsker } from 'penstock-service/platform/steps/due.ts'
import { holdDuties } from 'penstock-service/platform/steps/duties.ts'
import { drain, type Step } from 'penstock-service/platform/steps/step.ts'
import { databaseAsServer } from '../harness/database.ts'
import { makeWorld } from '../harness/world.ts'
import { Rig } from './rig.ts'

/** A duty is over after 5 s, and asked for every second; machines are slow. */
const TAKEN_MS_MAX = 30_000

test('a worker that is killed has its duties taken over by another within seconds', async (t) => {
  const rig = await Rig.open({ database: await databaseAsServer() })
  t.after(() => rig.close())
  const followed = async () => {
    const [chain] = await rig.sql<{ head_number: bigint }>`select head_number from chain`
    return Number(chain?.head_number ?? 0)
  }
  const holders = async () => {
    const rows = await rig.sql<{ process_id: string }>`
      select distinct process_id from duty where until > clock_timestamp()`
    return rows.map(({ process_id }) => process_id)
  }
  const first = await rig.start('worker')
  const [holder, ...more] = await holders()
  assert.deepEqual(more, [])
  await rig.start('worker')
  await rig.fund()
  assert.deepEqual(await holders(), [holder])

  await first.kill('SIGKILL')
  const began_ms = performance.now()
  rig.mine(3)
  const head = rig.chain.chain.chain.head_number
  await rig.until('nobody follows the chain', async () => (await followed()) === head)
  const taken_ms = performance.now() - began_ms
  assert.ok(taken_ms < TAKEN_MS_MAX, `${taken_ms}`)
  const [other, ...others] = await holders()
  assert.deepEqual(others, [])
  assert.notEqual(other, holder)
  const listed = JSON.parse(await rig.operate('processes', 'list', '--json')) as {
    id: string
    duties: string[]
  }[]
  const duties = new Map(listed.map((one) => [one.id, one.duties]))
  assert.deepEqual(duties.get(other!), ['blocks', 'chain', 'upkeep'])
  // It may be gone from the list by now.
  assert.deepEqual(duties.get(holder!) ?? [], [])
})

/** How often a step may look, whatever it rests: what is due in between is done then. */
const LOOK_MS = 250
const LOOKS_PER_BLOCK = 12
const BLOCKS = 3

/** What so many workers ask their node by the path in some blocks in which nothing is sold; time
 *  stands until it is moved. */
async function askedIdle(t: TestContext, workers: number): Promise<Record<string, number>> {
  const world = await makeWorld(t)
  const clock = { now: () => world.now }
  const processes: { steps: Step<string>[]; due_ms: Map<string, number> }[] = []
  for (let number = 0; number < workers; number++) {
    const { app } = await world.startProcess()
    const needs = { sql: world.sql, clock, process_id: `${number}`, wakeOthers: () => {} }
    const { steps } = holdDuties(needs, app.steps, () => true)
    processes.push({ steps, due_ms: new Map<string, number>() })
  }
  const look = async () => {
    const now_ms = world.now.getTime()
    for (const { steps, due_ms } of processes) {
      const rested = steps.filter(({ name }) => (due_ms.get(name) ?? 0) <= now_ms)
      const ask = dueAsker(world.sql, steps)
      await drain(steps, { woken: new Set(rested.map(({ name }) => name)), ask })
      for (const { name, rest_ms, rest_now_ms } of rested)
        due_ms.set(name, now_ms + (rest_now_ms?.() ?? rest_ms))
    }
  }
  const passBlock = async () => {
    for (let looks = 1; looks < LOOKS_PER_BLOCK; looks++) {
      world.wait(LOOK_MS / 1_000)
      await look()
    }
    world.mine()
    await look()
  }
  // What comes with the start.
  await passBlock()
  const asked: Record<string, number> = {}
  world.network.onRequest = (path) => {
    asked[path] = (asked[path] ?? 0) + 1
  }
  for (let block = 0; block < BLOCKS; block++) await passBlock()
  return asked
}

test('two workers ask their node what one asks while nothing is sold: little', async (t) => {
  const [one, two] = [await askedIdle(t, 1), await askedIdle(t, 2)]
  assert.deepEqual(two, one)
  assert.equal(one['/wallet/getblockbylimitnext'], BLOCKS, 'each block is read')
  const requests = Object.values(one).reduce((sum, count) => sum + count, 0)
  assert.ok(requests <= 6 * BLOCKS, JSON.stringify(one))
})
