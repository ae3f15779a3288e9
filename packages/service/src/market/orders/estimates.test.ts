// What a transfer is estimated to take and to cost, by what the chain says of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import type { ConstantCall } from '../../chain/node/node.ts'
import type { Receiver } from '../../chain/receivers/receivers.ts'
import { Fault, Outage } from '../../lib/fault.ts'
import type { Prices, Tier } from '../prices/prices.ts'
import { type Estimate, estimateTransfer, type Needs, orUnavailable } from './estimates.ts'

const tier = (resource: Tier['resource'], min_amount: number, price_sun: bigint): Tier => ({
  resource,
  duration_hours: 1,
  min_amount,
  max_amount: 2 * min_amount - 1,
  price_sun,
})

/** Of the first tier 1,000 units are a hundredth of a TRX, and of the second two. */
const TIERS = [
  tier('energy', 50_000, 10_000n),
  tier('energy', 100_000, 20_000n),
  tier('bandwidth', 500, 1n),
]

type Question = {
  sender?: Receiver
  tried?: Partial<ConstantCall>
  balance?: Partial<ConstantCall>
  energy_fee_sun?: bigint
  tiers?: Tier[]
  on_sale?: string[]
}

const CALLED: ConstantCall = { succeeded: true, energy: 60_000n, result: '', said: '' }
const REVERTED = { succeeded: false, energy: 7n, said: 'REVERT opcode executed' }
const word = (count: number) => count.toString(16).padStart(64, '0')

function estimate(asked: Question): Promise<Estimate> {
  const { sender = 'active', tried = {}, balance = {}, energy_fee_sun } = asked
  const { tiers = TIERS, on_sale = ['energy', 'activate_address'] } = asked
  const called = { ...CALLED, ...tried }
  const node = {
    parameters: async () =>
      new Map(energy_fee_sun === undefined ? [] : [['getEnergyFee', energy_fee_sun] as const]),
    constantCall: async ({ selector }: { selector: string }) =>
      selector.startsWith('transfer') ? called : { ...CALLED, ...balance },
  } as unknown as Needs['node']
  const prices: Prices = { tiers, activation_sun: 1_100_000n, on_sale: new Set(on_sale) }
  return estimateTransfer(
    { node, prices: async () => prices, receiver: async () => sender },
    {
      from: person('anna').address,
      to: person('bob').address,
      contract: person('token').address,
      contract_param: 'params.contract_address',
    },
  )
}

const refused = (asking: Promise<unknown>) =>
  asking.then(
    () => assert.fail('it is not refused'),
    (thrown: unknown) => {
      assert.ok(thrown instanceof Fault)
      const { about } = thrown
      return `${thrown.code} ${about && 'because' in about ? about.because : about?.param}`
    },
  )

test('a transfer costs its energy by the tier for it, and never less than is sold', async () => {
  const cases: [energy: bigint, amount: number, cents: bigint][] = [
    [60_000n, 60_000, 60n],
    [49_999n, 50_000, 50n],
    [100_000n, 100_000, 200n],
    [300_000n, 300_000, 600n],
  ]
  for (const [energy, amount, cents] of cases) {
    assert.deepEqual(await estimate({ tried: { energy } }), {
      amount,
      price_sun: cents * 10_000n,
      activation_sun: 0n,
      fee_limit_sun: energy * 100n,
      bandwidth: 345,
    })
  }
  const { fee_limit_sun } = await estimate({ energy_fee_sun: 210n })
  assert.equal(fee_limit_sun, 60_000n * 210n, 'by the price of the chain')
})

test('a transfer that fails takes what one takes to who holds some, or none', async () => {
  const cases: [balance: Partial<ConstantCall>, amount: number][] = [
    [{ result: word(0) }, 131_000],
    [{ result: word(1) }, 65_000],
    [{ result: word(2) }, 65_000],
    [{ result: word(1), succeeded: false }, 131_000],
    [{ result: '' }, 131_000],
    [{ result: `${word(1)}00` }, 131_000],
  ]
  for (const [balance, amount] of cases)
    assert.equal((await estimate({ tried: REVERTED, balance })).amount, amount, balance.result)
  const said = 'Contract is not exist'
  assert.equal(
    await refused(estimate({ tried: { ...REVERTED, said }, balance: { result: word(1) } })),
    '10 params.contract_address',
  )
})

test('an estimate is made only of what is on sale, for a sender that is known', async () => {
  const silent = '35 the chain does not answer'
  assert.equal((await estimate({ sender: 'inactive' })).activation_sun, 1_100_000n)
  assert.equal((await estimate({ on_sale: ['energy'] })).activation_sun, 0n)
  assert.match(
    await refused(estimate({ sender: 'inactive', on_sale: ['energy'] })),
    /^35 .*off sale/,
  )
  assert.equal(await refused(estimate({ on_sale: [] })), '35 energy is off sale')
  assert.equal(await refused(estimate({ sender: 'unknown' })), silent)
  assert.equal(await refused(estimate({ sender: 'unknown', on_sale: [] })), silent)
  assert.equal(
    await refused(estimate({ tiers: TIERS.slice(2) })),
    '35 no amount of energy has a price',
  )
})

test('an outage of the chain is said as one; whatever else is thrown stays as it is', async () => {
  assert.match(await refused(orUnavailable(Promise.reject(new Outage('down')))), /^35 /)
  const bug = new TypeError('a bug')
  await assert.rejects(orUnavailable(Promise.reject(bug)), bug)
  assert.equal(await orUnavailable(Promise.resolve(1)), 1)
})
