import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { poolRows, poolWallets } from './figures.ts'

test('what is out is counted from its plan until it is back, in its wallet alone', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const shownNow = async () => {
    const [delegation] = await world.sql<{ state: string; wallet: string; stake_sun: bigint }>`
      select state, wallet, stake_sun from delegation`
    const { state, wallet, stake_sun } = delegation!
    const [rows, wallets] = [await poolRows(world.sql), await poolWallets(world.sql)]
    const energy = rows.find(({ resource }) => resource === 'energy')!
    const bandwidth = rows.find(({ resource }) => resource === 'bandwidth')!
    const out = wallets.filter(({ delegations }) => delegations > 0n)
    assert.deepEqual([bandwidth.out, bandwidth.out_sun], [0n, 0n])
    const shown = out.map((one) => [one.address, one.resource, one.out_sun, one.delegations])
    const is_out = energy.out === 65_000n && energy.out_sun === stake_sun
    const of_wallet = [[wallet, 'energy', stake_sun, 1n]]
    if (is_out) assert.deepEqual(shown, of_wallet)
    else assert.deepEqual([energy.out, energy.out_sun, shown], [0n, 0n, []])
    return [state, is_out]
  }
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.drain()
  assert.deepEqual(await shownNow(), ['delegating', true])
  await world.settle()
  assert.deepEqual(await shownNow(), ['active', true])
  await world.solidify()
  await world.advance(3_600)
  await world.solidify()
  assert.deepEqual(await shownNow(), ['reclaiming', true])
  await world.settle()
  await world.solidify()
  assert.deepEqual(await shownNow(), ['ended', false])
})
