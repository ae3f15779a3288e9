// Money that the house takes is screened by what each transfer carried: held where the policy holds
// money of high risk, and looked at afterwards where it does not.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { selectorOf } from 'penstock-devchain/calls/abi.ts'
import {
  type Policy,
  publishPolicy,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import { BLOCKED, findDeposits, HIGH_RISK } from 'penstock-service/treasury/deposits/deposits.ts'
import { findScreenings } from 'penstock-service/treasury/deposits/screenings.ts'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { addressWord, numberWord, USDT } from 'penstock-tron/tokens.ts'
import { publishLabels } from '../../harness/labels.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, TRX, type World, type WorldOptions } from '../../harness/world.ts'

const HIGH: Partial<Policy> = { hold_deposits_from: 'high' }

async function publish(world: World, more: Partial<Policy>): Promise<void> {
  const body = { ...SHIPPED_POLICY, ...more }
  await world.sql.begin((tx) =>
    publishPolicy(tx, { body, published_by: 'test', published_at: world.now }),
  )
}

const label = (world: World, address: Address, category: string) =>
  publishLabels(world.sql, [{ address, category, entity: 'Blender' }], { at: world.now })

/** A world in which a mule holds 20,000 TRX of a mixer, one hop away. */
async function withMule(t: TestContext, policy: Partial<Policy>, options: WorldOptions = {}) {
  const world = await makeWorld(t, { tokens: [USDT], ...options })
  const [mixer, mule] = [world.person('mixer', 100_000), world.person('mule', 100)]
  await label(world, mixer.address, 'mixer')
  await publish(world, policy)
  world.pay(mule.address, 20_000n * TRX, mixer)
  await world.solidify()
  return { world, mule, mixer, anna: await world.customer() }
}

const fatesOf = async (world: World, paid: readonly string[]) => {
  const deposits = await Promise.all(paid.map((tx_id) => findDeposits(world.sql, tx_id)))
  return deposits.map(([one]) => [one!.state, one!.reason])
}

const bookedTo = async (world: World, tx_id: string) =>
  (
    await world.sql<{ credit: string }>`
      select credit from transfer where id = ${`deposit:${tx_id}`}`
  ).map(({ credit }) => credit)

/** Drains all steps but one. */
const drainWithout = (world: World, name: string) =>
  world.drain({ ...world.app, steps: world.app.steps.filter((step) => step.name !== name) })

test('money of high risk is held, shown with its share and way, and resolved', async (t) => {
  const { world, mule, mixer, anna } = await withMule(t, HIGH)
  const paid = [
    world.pay(anna.deposit_address, 5_000n * TRX, mule),
    world.pay(anna.deposit_address, 7n * TRX, world.person('sam', 100)),
  ]
  await world.solidify()
  await world.settle()
  assert.deepEqual(await fatesOf(world, paid), [
    ['held', HIGH_RISK],
    ['credited', null],
  ])
  assert.equal(await anna.balance(), 7)
  assert.deepEqual(await bookedTo(world, paid[0]!), ['held_deposits'])
  const at = await worldOperator(world)
  const listed = await at.json<{ tx_id: string; risk_level: string }[]>('deposits', 'list')
  const levels = paid.map((id) => listed.find(({ tx_id }) => tx_id === id)!.risk_level)
  assert.deepEqual(levels, ['high', 'low'])
  const shown = await at.json<{
    screenings: {
      reading: { severe_share: string; severe_usd: string; floors: string[] }
      ways: { category: string; steps: { from: string; to: string; carried: string }[] }[]
    }[]
  }>('deposits', 'show', paid[0]!)
  const [{ reading, ways } = assert.fail()] = shown.screenings
  assert.deepEqual([reading.severe_share, reading.severe_usd], ['1.0000', '1500.00'])
  assert.deepEqual(
    ways.map(({ category, steps }) => [category, steps.map(({ from }) => from)]),
    [['mixer', [mule.address, mixer.address]]],
  )
  const resolve = ['deposits', 'resolve', paid[0]!, '--credit', anna.id, '--reason', 'explained']
  const refused = await at.type(...resolve)
  assert.match(refused.err, /of high risk: --blocked-reviewed/)
  await at.json(...resolve, '--blocked-reviewed')
  assert.deepEqual((await fatesOf(world, paid))[0]![0], 'resolved')
  assert.equal(await anna.balance(), 5_007)
})

test('the level is that of a check of the transfer', async (t) => {
  const { world, mule, anna } = await withMule(t, HIGH)
  const sam = world.person('sam', 100_000)
  const mixed = world.person('mixed', 100)
  world.pay(mixed.address, 30_000n * TRX, sam)
  world.pay(mixed.address, 1_000n * TRX, mule)
  const paid = [mule, mixed, sam].map((one) => world.pay(anna.deposit_address, 900n * TRX, one))
  await world.solidify()
  await world.settle()
  const rich = await world.customer({ trx: 100 })
  for (const hash of paid) {
    const [screening] = await findScreenings(world.sql, hash)
    const asked = { type: 'hash', network: 'TRX', hash, address: anna.deposit_address }
    const { result } = await rich.call('/v1/aml-checks/new', { ...asked, direction: 'deposit' })
    await world.drain()
    const { id } = result as { id: string }
    const check = await rich.get<{ risk_score: string; risk_level: string }>(
      '/v1/aml-checks/check',
      { id },
    )
    const { risk_score, risk_level } = screening!.reading!
    assert.deepEqual([risk_score, risk_level], [check.risk_score, check.risk_level])
  }
})

for (const recharge_at of ['inclusion', 'solid'] as const)
  test(`a direct recharge of high risk is held (recharges at ${recharge_at})`, async (t) => {
    const { world, mule } = await withMule(t, HIGH, { recharge_at })
    const sam = world.person('sam', 100)
    const paid = [mule, sam].map((one) => world.pay(world.recharge.address, 3n * TRX, one))
    world.mine()
    await world.drain()
    assert.deepEqual(
      (await fatesOf(world, paid)).map(([state]) => state),
      ['seen', 'seen'],
      'nothing is sold for what is not known yet',
    )
    await world.solidify()
    await world.settle()
    await world.solidify()
    const fates = await fatesOf(world, paid)
    assert.deepEqual([fates[0], fates[1]![0]], [['held', HIGH_RISK], 'delivered'])
    assert.equal(await world.energyLimit(mule.address), 0)
    const { result } = (
      await world.api.inject({ method: 'GET', url: `/deposits/${paid[0]}` })
    ).json()
    const [{ state, reason }] = result.deposits
    assert.deepEqual([state, reason], ['held', null], 'strangers do not learn why')
  })

test('where money of high risk is held, a deposit waits for the index', async (t) => {
  const { world, mule, anna } = await withMule(t, HIGH)
  const paid = [
    world.pay(anna.deposit_address, 5_000n * TRX, mule),
    world.pay(anna.deposit_address, 7n * TRX, world.person('sam', 100)),
  ]
  world.mine(20)
  await drainWithout(world, 'index')
  assert.deepEqual(
    (await fatesOf(world, paid)).map(([state]) => state),
    ['seen', 'seen'],
  )
  await world.drain()
  assert.deepEqual(
    (await fatesOf(world, paid)).map(([state]) => state),
    ['held', 'credited'],
  )
})

test('where it is not held, nothing waits, and it is known afterwards', async (t) => {
  const { world, mule, mixer, anna } = await withMule(t, {})
  const paid = [
    world.pay(anna.deposit_address, 5_000n * TRX, mule),
    world.pay(anna.deposit_address, 7n * TRX, world.person('sam', 100)),
  ]
  world.mine(20)
  await drainWithout(world, 'index')
  assert.equal(await anna.balance(), 5_007, 'no deposit waits for the index')
  const [queued] = await findScreenings(world.sql, paid[0]!)
  assert.deepEqual([queued!.screened_at, queued!.reading], [null, null])
  await world.drain()
  const [dirty] = await findScreenings(world.sql, paid[0]!)
  assert.equal(dirty!.reading!.risk_level, 'high')
  assert.equal(dirty!.ways![0]!.steps.at(-1)!.from, mixer.address)
  const [clean] = await findScreenings(world.sql, paid[1]!)
  assert.deepEqual([clean!.reading!.risk_level, clean!.ways], ['low', []])
})

test('who is blacklisted is held first, and none is where the policy says none', async (t) => {
  const { world, mule, anna } = await withMule(t, HIGH)
  await world.blacklist(mule.address)
  const held = world.pay(anna.deposit_address, 5_000n * TRX, mule)
  await world.solidify()
  assert.deepEqual(await fatesOf(world, [held]), [['held', BLOCKED]])
  await publish(world, { hold_deposits_from: 'none' })
  const credited = world.pay(anna.deposit_address, 6_000n * TRX, mule)
  await world.solidify()
  assert.deepEqual(await fatesOf(world, [credited]), [['credited', null]])
  assert.equal(await anna.balance(), 6_000)
})

test('for a sender whom an operator has allowed, floors do not act', async (t) => {
  const { world, mixer, anna } = await withMule(t, HIGH)
  const trader = world.person('trader', 100)
  // 40 % of a mixer's: 70 by the floor, 55 by the mean.
  world.pay(trader.address, 8_000n * TRX, mixer)
  world.pay(trader.address, 12_000n * TRX, world.person('sam', 20_000))
  await world.solidify()
  const held = world.pay(anna.deposit_address, 9_000n * TRX, trader)
  await world.solidify()
  assert.deepEqual(await fatesOf(world, [held]), [['held', HIGH_RISK]])
  const at = await worldOperator(world)
  await at.json('aml', 'allow', trader.address, 'known', '--expires', '2099-01-01')
  const credited = world.pay(anna.deposit_address, 9_000n * TRX, trader)
  await world.solidify()
  assert.deepEqual(await fatesOf(world, [credited]), [['credited', null]])
})

test('tokens of high risk are held as that, and what is dust is ignored', async (t) => {
  const { world, mule, mixer, anna } = await withMule(t, HIGH)
  const send = (from: typeof mule, to: Address, units: bigint) => {
    const data = `a9059cbb${addressWord(to)}${numberWord(units)}`
    const call = { contract_address: addressToHex(USDT), data }
    const answer = world.scene.send(from, 'TriggerSmartContract', call, { fee_limit: 1_000n * TRX })
    world.mine()
    return String(answer.txid)
  }
  world.scene.post('/devchain/mint', { address: mixer.address, amount: 10_000_000_000n })
  send(mixer, mule.address, 5_000_000_000n)
  const paid = [
    send(mule, anna.deposit_address, 2_000_000_000n),
    world.pay(anna.deposit_address, 50_000n, mule),
  ]
  await world.solidify()
  await world.settle()
  assert.deepEqual(await fatesOf(world, paid), [
    ['held', HIGH_RISK],
    ['ignored', HIGH_RISK],
  ])
  const [screening] = await findScreenings(world.sql, paid[0]!)
  assert.equal(screening!.reading!.severe_usd, '2000.00')
})

test('what is held for another reason is shown with its way, too, when it is clean', async (t) => {
  const { world, anna } = await withMule(t, HIGH)
  const sam = world.person('sam', 1_000)
  world.scene.post('/devchain/mint', { address: sam.address, amount: 10_000_000_000n })
  const data = `a9059cbb${addressWord(anna.deposit_address)}${numberWord(2_000_000_000n)}`
  const call = { contract_address: addressToHex(USDT), data }
  const sent = world.scene.send(sam, 'TriggerSmartContract', call, { fee_limit: 1_000n * TRX })
  const tx_id = String(sent.txid)
  await world.solidify()
  await world.settle()
  assert.deepEqual(await fatesOf(world, [tx_id]), [['held', 'a token that is not TRX']])
  const [screening] = await findScreenings(world.sql, tx_id)
  assert.equal(screening!.reading!.risk_level, 'low')
  assert.equal(screening!.ways!.length, 1)
})

test('what a contract sends is held by where it came from, once it is borne out', async (t) => {
  const { world, anna } = await withMule(t, HIGH)
  const owner = world.person('owner', 10_000)
  const send = (name: string) => {
    const contract = world.person(name)
    world.scene.post('/devchain/contract', { address: contract.address, owner: owner.address })
    world.scene.post('/devchain/fund', { address: contract.address, sun: 9_000n * TRX })
    const data =
      selectorOf('send(address,uint256)') +
      addressWord(anna.deposit_address) +
      numberWord(5_000n * TRX)
    const call = { contract_address: contract.hex, data }
    const answer = world.scene.send(owner, 'TriggerSmartContract', call, { fee_limit: 900n * TRX })
    world.mine()
    return { address: contract.address, tx_id: String(answer.txid) }
  }
  const [tumbler, splitter] = [send('tumbler'), send('splitter')]
  await label(world, tumbler.address, 'mixer')
  // The index is ready with the label before their blocks are solid.
  await world.drain()
  await world.solidify()
  await world.solidify()
  assert.deepEqual(await fatesOf(world, [tumbler.tx_id, splitter.tx_id]), [
    ['held', HIGH_RISK],
    ['credited', null],
  ])
  assert.equal(await anna.balance(), 5_000)
})
