// The operators' list of watched addresses: by address, by customer; by level in watched_moves.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld } from '../../harness/world.ts'

type Watch = { customer_id: string; address: string; risk_level: string | null }

test('watches are listed by address, by customer and by level', async (t) => {
  const world = await makeWorld(t)
  const at = await worldOperator(world)
  const [anna, bob] = [await world.customer(), await world.customer()]
  const [nina, otto] = ['nina', 'otto'].map((name) => world.person(name).address) as [
    string,
    string,
  ]
  for (const [customer, address] of [
    [anna, nina],
    [anna, otto],
    [bob, nina],
  ] as const)
    await at.json('aml', 'watch', customer.id, address)
  const listed = async (...filter: string[]) =>
    (await at.json<Watch[]>('aml', 'watches', ...filter))
      .map(({ customer_id, address }) => [customer_id, address].join(' '))
      .sort()
  const all = [
    [anna.id, nina],
    [anna.id, otto],
    [bob.id, nina],
  ]
    .map((one) => one.join(' '))
    .sort()
  assert.deepEqual(await listed(), all)
  assert.deepEqual(
    await listed('--address', nina),
    all.filter((one) => one.includes(nina)),
  )
  assert.deepEqual(
    await listed('--customer', anna.id),
    all.filter((one) => one.includes(anna.id)),
  )
  assert.deepEqual(await listed('--address', otto, '--customer', bob.id), [])
  assert.deepEqual(await listed('--level', 'high'), [])
  const { code, err } = await at.type('aml', 'watches', '--level', 'dreadful')
  assert.notEqual(code, 0)
  assert.match(err, /low, medium/)
})
