import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressToHex } from 'penstock-tron/address.ts'
import { USDT } from '../devchain.ts'
import { person, Scene, TRX } from '../scene.ts'
import { defaultParameters } from '../state/parameters.ts'
import type { Token } from '../state/records.ts'
import { selectorOf, wordOfAddress, wordOfInteger } from './abi.ts'
import { penaltyAt } from './energy_penalty.ts'

const alice = person('alice')
const bob = person('bob')
const SIX_HOURS_S = 21_600

const penalty = (given: Partial<Token>, cycle: number) => {
  const token = { held: false, factor: 0, energy_used: 0, cycle: 1, ...given } as Token
  return penaltyAt(token, cycle, { ...defaultParameters, getDynamicEnergyThreshold: 1000 })
}

test('a contract that used more than the threshold costs a fifth more, up to a maximum', () => {
  assert.equal(penalty({ energy_used: 1001 }, 2).factor, 2000)
  assert.equal(penalty({ energy_used: 1001, factor: 2000 }, 2).factor, 4400)
  assert.equal(penalty({ energy_used: 1001, factor: 33_000 }, 2).factor, 34_000)
  assert.equal(penalty({ energy_used: 1000 }, 2).factor, 0)
  assert.equal(penalty({ energy_used: 5000 }, 1).factor, 0)
})

test('each quiet cycle takes a twentieth off, down to nothing, also when several passed', () => {
  assert.equal(penalty({ factor: 2000 }, 2).factor, 1400)
  assert.equal(penalty({ factor: 2000 }, 3).factor, 830)
  assert.equal(penalty({ factor: 2000, energy_used: 1001 }, 3).factor, 3680)
  assert.equal(penalty({ factor: 34_000 }, 200).factor, 0)
  assert.deepEqual(penalty({ factor: 2000, energy_used: 7 }, 9), {
    factor: 0,
    energy_used: 0,
    cycle: 9,
  })
})

test('a held factor stays, and a contract that has no cycle starts cold', () => {
  assert.equal(penalty({ factor: 34_000, held: true }, 500).factor, 34_000)
  assert.equal(penalty({ factor: 34_000, cycle: 0 }, 3).factor, 0)
})

test("a token's calls get dearer with its use, cheaper without, at each maintenance", () => {
  const options = { parameters: { getDynamicEnergyThreshold: 40_000 } }
  const on = new Scene({ alice: 10_000n * TRX, bob: 100n * TRX }, options)
  on.post('/devchain/mint', { address: alice.address, amount: 1000 })
  on.post('/devchain/mint', { address: bob.address, amount: 1 })
  on.post('/devchain/set_factor', { factor: 0, held: false })
  const contract_address = addressToHex(USDT)
  const data = selectorOf('transfer(address,uint256)') + wordOfAddress(bob.hex) + wordOfInteger(1n)
  const pay = () =>
    (
      on.do(
        alice,
        'TriggerSmartContract',
        { contract_address, data },
        { fee_limit: 100n * TRX },
      ) as {
        receipt: { energy_usage_total: number; energy_penalty_total?: number }
      }
    ).receipt
  const state = () => {
    const info = on.post('/wallet/getcontractinfo', { value: contract_address })
    return info.contract_state as {
      energy_usage?: number
      energy_factor?: number
      update_cycle: number
    }
  }
  assert.equal(pay().energy_usage_total, 14_631)
  pay()
  pay()
  assert.equal(state().energy_usage, 3 * 14_631)
  on.wait(SIX_HOURS_S)
  assert.equal(state().energy_factor, 2000)
  // The penalty that a factor of 0.2 puts on the table's costs.
  assert.equal(pay().energy_penalty_total, Math.trunc(((64_285 - 14_631) * 2000) / 34_000))
  on.wait(2 * SIX_HOURS_S)
  assert.equal(state().energy_factor, 830)
  on.post('/devchain/set_factor', { factor: 34_000 })
  on.wait(100 * SIX_HOURS_S)
  assert.equal(pay().energy_usage_total, 64_285)
})
