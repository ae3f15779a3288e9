// The screening index in a process of its own: workers have none, and what reads it is done there,
// without a key of any wallet.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { publishPolicy, SHIPPED_POLICY } from 'penstock-service/screening/engine/policy.ts'
import { signedCall } from '../../../bench/parts/load.ts'
import { databaseAsServer } from '../../harness/database.ts'
import type { Reply } from '../../torture/buyers.ts'
import { Ended, type Member, Rig } from '../../torture/rig.ts'

const ON_DISK = { env: { PENSTOCK_INDEX_MEMORY_MB: '64' } }

/** An API, a worker without an index, and a process that has it. */
async function someRig(t: TestContext) {
  const rig = await Rig.open({ database: await databaseAsServer() })
  t.after(() => rig.close())
  const [api, index] = await Promise.all([
    rig.start('api'),
    rig.start('index', [], ON_DISK),
    rig.start('worker', ['--index', 'none']),
  ])
  await rig.fund()
  const [anna] = rig.customers
  return { rig, index, anna: anna!, call: signedCall(api.api_url!, anna!) }
}

const balanceOf = async (rig: Rig, customer_id: string) => {
  const [row] = await rig.sql<{ posted_sun: bigint }>`
    select posted_sun from account where id = ${`customer:${customer_id}`}`
  return row!.posted_sun
}

/** Makes blocks until it is so. */
const mineUntil = (rig: Rig, otherwise: string, isSo: () => Promise<boolean>) =>
  rig.until(otherwise, async () => {
    await rig.mineWhenFollowed(1)
    return isSo()
  })

type Call = ReturnType<typeof signedCall>

const buy = async (call: Call, address: string): Promise<string> => {
  const params = { address, amount: 65_000, duration: 1 }
  const sold = (await call('/v1/transaction/new', { service: 'energy', params })) as Reply
  assert.equal(sold.code, 0, JSON.stringify(sold))
  return sold.result!.id!
}

const screen = async (call: Call, address: string): Promise<string> => {
  const asked = { type: 'address', network: 'TRX', address }
  const placed = (await call('/v1/aml-checks/new', asked)) as Reply
  assert.equal(placed.code, 0, JSON.stringify(placed))
  return placed.result!.id!
}

const delivered = (rig: Rig, id: string) =>
  mineUntil(rig, 'it is not delivered', async () => {
    const found = await rig.sql`select from orders where id = ${id} and state = 'success'`
    return found.length === 1
  })

const answered = (rig: Rig, id: string) =>
  mineUntil(rig, 'the check is not answered', async () => {
    const found = await rig.sql`select from aml_check where id = ${id} and state = 'completed'`
    return found.length === 1
  })

type Process = { role: string; duties: string[]; has_reported: boolean; has_index: boolean }

const processesOf = (rig: Rig): Promise<Process[]> => rig.sql<Process>`
  select role, coalesce(report ? 'nodes', false) as has_reported,
    coalesce(report ? 'indexes', false) as has_index,
    array(select name from duty where process_id = process.id order by name) as duties
  from process order by role`

test('what reads the index is done where it is, and all else in the worker', async (t) => {
  const { rig, anna, call } = await someRig(t)
  await rig.until('the processes do not say what they have', async () => {
    const known = await processesOf(rig)
    return known.every(({ has_reported }) => has_reported)
  })
  const processes = await processesOf(rig)
  assert.deepEqual(
    processes.map(({ role, duties, has_index }) => [role, duties.join(' '), has_index]),
    [
      ['api', '', false],
      ['index', '', true],
      ['worker', 'blocks chain upkeep', false],
    ],
  )

  const { address } = rig.sandbox.funded_accounts[0]!
  await delivered(rig, await buy(call, address))
  await answered(rig, await screen(call, address))

  await rig.pay(anna.deposit_address, 7_000_000n)
  await screened(rig, 7_000_000n)
  assert.deepEqual(await rig.lookAtRest(), [])
})

/** The deposit of that amount is screened. */
const screened = (rig: Rig, sun: bigint) =>
  mineUntil(rig, 'the deposit is not screened', async () => {
    const found = await rig.sql`
      select from deposit_screening as s join deposit using (tx_id, position)
      where amount_sun = ${sun} and reading is not null`
    return found.length === 1
  })

test('without an index all else goes on, and checks fail after ten minutes', async (t) => {
  const { rig, index, anna, call } = await someRig(t)
  await index.kill('SIGKILL')
  const { address } = rig.sandbox.funded_accounts[0]!
  const check_id = await screen(call, address)
  const before = await balanceOf(rig, anna.customer_id)
  await rig.pay(anna.deposit_address, 7_000_000n)
  const order_id = await buy(call, address)
  await delivered(rig, order_id)
  const [order] = await rig.sql<{ amount_sun: bigint }>`
    select amount_sun from orders where id = ${order_id}`
  const after = before + 7_000_000n - order!.amount_sun
  await mineUntil(
    rig,
    'the deposit is not booked',
    async () => (await balanceOf(rig, anna.customer_id)) === after,
  )
  const stateOf = async () => {
    const [check] = await rig.sql<{ state: string; error: string | null }>`
      select state, error from aml_check where id = ${check_id}`
    return check!
  }
  assert.deepEqual(await stateOf(), { state: 'pending', error: null })
  await rig.sql`
    update aml_check set created_at = created_at - interval '11 minutes',
      due_at = due_at - interval '11 minutes' where id = ${check_id}`
  await rig.until('it does not fail', async () => (await stateOf()).state !== 'pending')
  assert.deepEqual(await stateOf(), { state: 'failed', error: 'index_stale' })
  assert.equal(await balanceOf(rig, anna.customer_id), after, 'it costs nothing')
  assert.deepEqual(await rig.lookAtRest(), [])
})

test('where money of high risk is held, deposits wait for a process with an index', async (t) => {
  const { rig, index, anna, call } = await someRig(t)
  const held = { ...SHIPPED_POLICY, hold_deposits_from: 'high' as const }
  await rig.sql.begin((tx) =>
    publishPolicy(tx, { body: held, published_by: 'test', published_at: new Date() }),
  )
  await index.kill('SIGKILL')
  const before = await balanceOf(rig, anna.customer_id)
  await rig.pay(anna.deposit_address, 7_000_000n)
  const check_id = await screen(call, rig.sandbox.funded_accounts[0]!.address)
  await mineUntil(rig, 'it is not queued', async () => {
    const queued = await rig.sql`
      select from deposit_screening join deposit using (tx_id, position)
      where amount_sun = 7000000 and state = 'seen' and screened_at is null`
    return queued.length === 1
  })
  assert.equal(await balanceOf(rig, anna.customer_id), before)

  await rig.start('index', [], ON_DISK)
  await answered(rig, check_id)
  const [check] = await rig.sql<{ price_sun: bigint }>`
    select price_sun from aml_check where id = ${check_id}`
  const after = before - check!.price_sun + 7_000_000n
  await mineUntil(
    rig,
    'it is not booked',
    async () => (await balanceOf(rig, anna.customer_id)) === after,
  )
  const [order] = await rig.sql<{ is_first: boolean }>`
    select s.screened_at <= d.solid_at as is_first
    from deposit_screening as s join deposit as d using (tx_id, position)
    where amount_sun = 7000000`
  assert.ok(order!.is_first, 'it was screened before it was booked')
  assert.deepEqual(await rig.lookAtRest(), [])
  assert.equal(await balanceOf(rig, anna.customer_id), after)
})

test('a process with the index has no key, and refuses a file that has some', async (t) => {
  const rig = await Rig.open({ database: await databaseAsServer() })
  t.after(() => rig.close())
  const keys = await readFile(join(rig.folder, 'wallets.json'), 'utf8')
  assert.match(keys, /private_key/)
  await assert.rejects(
    rig.start('index', [], { wallets_file: 'wallets.json' }),
    (thrown) => thrown instanceof Ended && /private_key/.test(thrown.message),
  )
  const member: Member = await rig.start('index')
  await rig.until('it does not begin', async () => (await rig.sql`select from process`).length > 0)
  assert.equal(await member.kill('SIGTERM'), 0)
})
