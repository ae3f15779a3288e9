// When two nodes say the same of a block: by what they say, field by field.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeWorld, type World } from 'penstock-test/harness/world.ts'
import { chainState } from './progress.ts'

type RawBlock = {
  block_header: { raw_data: { number?: number; parentHash: string; timestamp: number } }
}
type Alter = (raw: RawBlock['block_header']['raw_data']) => void

/** A node that says otherwise of solid blocks, from one on. */
function alterBlocks(world: World, name: string, from: number, alter: Alter): void {
  world.network.nodes.set(name, (path, body) => {
    const answer = world.scene.devchain.request('POST', path, body)
    if (path !== '/walletsolidity/getblockbylimitnext') return answer
    const found = JSON.parse(answer.body) as { block?: RawBlock[] }
    for (const { block_header } of found.block ?? [])
      if ((block_header.raw_data.number ?? 0) >= from) alter(block_header.raw_data)
    return { ...answer, body: JSON.stringify(found) }
  })
}

async function run(world: World, ...names: string[]): Promise<void> {
  for (const name of names) {
    const step = world.app.steps.find((one) => one.name === name)!
    while (await step.run()) {}
  }
}

async function confirmedWorld(t: TestContext) {
  const world = await makeWorld(t, { nodes: 2 })
  await world.solidify()
  const stateNow = async () => {
    const { confirmed_number, solid_number, disputed_number } = (await chainState(world.sql))!
    return { confirmed_number, solid_number, disputed_number }
  }
  const { confirmed_number, solid_number } = await stateNow()
  assert.equal(confirmed_number, solid_number)
  world.mine(5)
  await run(world, 'follow')
  return { world, before: confirmed_number, stateNow }
}

test('a block with another parent or another time is another one, by whatever id', async (t) => {
  for (const alter of [
    (raw) => (raw.parentHash = 'ab'.repeat(32)),
    (raw) => (raw.timestamp += 1),
  ] satisfies Alter[]) {
    const { world, before, stateNow } = await confirmedWorld(t)
    alterBlocks(world, 'node2', before + 1, alter)
    await run(world, 'confirm')
    const { confirmed_number, disputed_number } = await stateNow()
    assert.deepEqual([confirmed_number, Number(disputed_number)], [before, before + 1])
    world.network.nodes.delete('node2')
    await run(world, 'confirm')
    const after = await stateNow()
    assert.equal(after.confirmed_number, after.solid_number)
  }
})

test('of who gave a block nothing is known: then one that differs confirms nothing', async (t) => {
  const { world, before, stateNow } = await confirmedWorld(t)
  await world.sql`update block set read_from = '{}' where number > ${before}`
  alterBlocks(world, 'devchain', before + 3, (raw) => (raw.timestamp += 1))
  const step = world.app.steps.find(({ name }) => name === 'confirm')!
  await step.run()
  assert.equal((await stateNow()).confirmed_number, before, 'nobody else was asked')
  world.network.nodes.delete('devchain')
  await run(world, 'confirm')
  const after = await stateNow()
  assert.equal(after.confirmed_number, after.solid_number)
})

test('a block that changes while the others are asked is confirmed as it then is', async (t) => {
  const { world, before, stateNow } = await confirmedWorld(t)
  let is_changed = false
  world.network.onRequest = async (path) => {
    if (is_changed || path !== '/walletsolidity/getblockbylimitnext') return
    is_changed = true
    await world.sql`update block set time = time where number = ${before + 2}`
  }
  const step = world.app.steps.find(({ name }) => name === 'confirm')!
  await step.run()
  assert.ok(is_changed)
  assert.equal((await stateNow()).confirmed_number, before)
  await run(world, 'confirm')
  const after = await stateNow()
  assert.equal(after.confirmed_number, after.solid_number)
})
