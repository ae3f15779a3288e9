// The switch that stops signing, as an operator uses it and as somebody would get around it.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { worldOperator } from 'penstock-test/harness/operator.ts'
import { makeWorld, type World } from 'penstock-test/harness/world.ts'
import { alerts } from '../../health/monitoring/alerts.ts'

const attempts = async (world: World) =>
  (await world.sql<{ state: string }>`select state from attempt order by id`).map(
    ({ state }) => state,
  )

const alertNames = async (world: World) =>
  (await alerts({ sql: world.sql, now: world.now }))
    .map(({ alert }) => alert)
    .filter((name) => /^signing/.test(name))

test('after a stop no process signs until a record says go; what waited goes on', async (t) => {
  const world = await makeWorld(t)
  const { type, json } = await worldOperator(world)
  const customer = await world.customer({ trx: 100 })
  const bob = world.person('bob', 1)
  assert.deepEqual(await alertNames(world), [])
  await json('signer', 'stop', '--reason', 'a laptop is gone')
  const order = await customer.buyEnergy(bob.address, 65_000)
  await world.drain()
  await world.drain((await world.startProcess()).app)
  assert.deepEqual(await attempts(world), ['new'])
  assert.deepEqual(await alertNames(world), ['signing_stopped'])
  const { code, out } = await type('signer', 'status', '--json')
  assert.equal(code, 1)
  const { by, reason, waiting, stopped } = JSON.parse(out)
  assert.deepEqual(
    { by, reason, waiting, stopped },
    { by: 'ops', reason: 'a laptop is gone', waiting: 1, stopped: true },
  )

  // Somebody with the database turns the row back.
  await world.sql`update signing set stopped = false`
  world.wait(3)
  await world.drain()
  assert.deepEqual(await attempts(world), ['new'])
  const found = await type('books', 'check', '--json')
  assert.equal(found.code, 1)
  assert.match(found.out, /"subject": "signing"/)

  await json('signer', 'go', '--reason', 'found again')
  world.wait(3)
  await world.settle()
  assert.equal((await customer.check(order.id)).status, 'success')
  assert.deepEqual(await alertNames(world), [])
  assert.equal((await type('signer', 'status')).code, 0)
  const actions = await json<{ action: string; reason: string }[]>(
    'actions',
    'list',
    '--subject',
    'signing',
  )
  assert.deepEqual(
    actions.map(({ action, reason }) => [action, reason]),
    [
      ['signer go', 'found again'],
      ['signer stop', 'a laptop is gone'],
    ],
  )
})

test('what cannot be signed for ten minutes is given back', async (t) => {
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  const customer = await world.customer({ trx: 100 })
  const bob = world.person('bob', 1)
  const before = await customer.balance()
  await json('signer', 'stop')
  const order = await customer.buyEnergy(bob.address, 65_000)
  for (let minutes = 0; minutes < 17; minutes++) await world.advance(60)
  assert.equal((await customer.check(order.id)).status, 'failed')
  assert.equal(await customer.balance(), before)
  assert.equal(await world.energyLimit(bob.address), 0)
  await json('signer', 'go')
})

test('a file on a machine stops signing there, whatever the database says', async (t) => {
  const data_dir = await mkdtemp(join(tmpdir(), 'penstock-stop-'))
  t.after(() => rm(data_dir, { recursive: true }))
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  const here = ['--data-dir', data_dir]
  type SignerAnswer = { stopped: boolean; stopped_here: boolean }
  const stopped = await json<SignerAnswer>('signer', 'stop', '--this-machine', ...here)
  assert.deepEqual(stopped, { stopped: true, stopped_here: true })
  assert.deepEqual(await json<SignerAnswer>('signer', 'go', ...here), {
    stopped: false,
    stopped_here: true,
  })
  const gone = await json<SignerAnswer>('signer', 'go', '--this-machine', ...here)
  assert.deepEqual(gone, { stopped: false, stopped_here: false })
})

test('a forged attempt is refused with an alert that names it', async (t) => {
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  await world.sql`
    insert into attempt (id, subject, contract, send_at, made_at)
    values ('forged', 'refund:forged', '{}', ${world.now}, ${world.now})`
  await world.drain()
  const found = (await alerts({ sql: world.sql, now: world.now })).find(
    ({ alert }) => alert === 'signing_refused',
  )
  assert.match(found!.what, /within a day: 1, the last for refund:forged: /)
  assert.equal((await json<{ state: string }>('attempts', 'show', 'forged')).state, 'new')
  const { refused } = JSON.parse((await type('signer', 'status', '--json')).out)
  assert.equal(refused[0].subject, 'refund:forged')
  await world.sql`delete from attempt where id = 'forged'`
})
