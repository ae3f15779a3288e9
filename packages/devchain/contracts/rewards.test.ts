// Rewards of votes against an oracle that goes block by block, as the network's nodes do.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RewardOracle, watchRewards } from '../reward_oracle.ts'
import { audit, person, Scene, TRX } from '../scene.ts'

const alice = person('alice')
const bob = person('bob')
const carol = person('carol')

type WitnessRow = { address: string; voteCount?: number }
const witnessesOf = (on: Scene) => on.get('/wallet/listwitnesses').witnesses as WitnessRow[]

/** A chain with its oracle beside it. */
class Watched {
  readonly on: Scene
  readonly oracle: RewardOracle
  readonly witnesses: readonly WitnessRow[]

  constructor(funded: Record<string, bigint>) {
    this.on = new Scene(funded)
    this.on.leaveBlocksUnsigned()
    this.witnesses = witnessesOf(this.on)
    this.oracle = watchRewards(this.on)
  }

  vote(who: typeof alice, votes: Record<string, bigint>): void {
    this.on.do(who, 'VoteWitnessContract', {
      votes: Object.entries(votes).map(([vote_address, vote_count]) => ({
        vote_address,
        vote_count,
      })),
    })
  }

  /** To the next maintenance, and some blocks after it. */
  period(blocks: number): void {
    this.on.devchain.mine(Number(this.on.get('/wallet/getnextmaintenancetime').num))
    this.on.mine(blocks)
  }

  reward = (who: typeof alice) =>
    BigInt(this.on.post('/wallet/getReward', { address: who.address }).reward as number)

  /** Withdraws, and compares what came with what the oracle says. */
  withdraw(who: typeof alice): bigint {
    const before = this.on.balance(who)
    const receipt = this.on.do(who, 'WithdrawBalanceContract', {})
    const sun = this.on.balance(who) - before + BigInt((receipt.fee as number | undefined) ?? 0)
    assert.equal(BigInt(receipt.withdraw_amount as number), sun)
    assert.equal(sun, this.oracle.withdrawn.get(String(receipt.id)))
    return sun
  }
}

const stake = (on: Scene, who: typeof alice, trx: bigint) =>
  on.do(who, 'FreezeBalanceV2Contract', { frozen_balance: trx * TRX, resource: 'ENERGY' })

test('a year of maintenances pays voters what the oracle says, to the sun', () => {
  const watched = new Watched({
    alice: 900_000_000n * TRX,
    bob: 50_000_000n * TRX,
    carol: 20_000n * TRX,
  })
  const { on, oracle, witnesses } = watched
  const [one, two, three] = witnesses.map(({ address }) => address) as [string, string, string]
  stake(on, alice, 800_000_000n)
  stake(on, bob, 40_000_000n)
  on.do(carol, 'WitnessCreateContract', { url: Buffer.from('carol').toString('hex') })
  oracle.stand(carol.hex, 0n)
  on.do(carol, 'UpdateBrokerageContract', { brokerage: 7 })
  oracle.brokerage.set(carol.hex, 7)
  watched.vote(alice, { [one]: 500_000_001n, [two]: 299_999_999n })
  watched.vote(bob, { [carol.hex]: 40_000_000n })
  let claims = 0
  for (let period = 0; period < 4 * 365; period++) {
    watched.period(1 + (period % 3))
    if (period % 97 === 40) watched.vote(alice, { [one]: 300_000_000n, [three]: 7n })
    if (period % 97 === 41) watched.vote(alice, { [two]: 700_000_000n, [carol.hex]: 1n })
    if (period % 211 === 100) {
      on.do(carol, 'UpdateBrokerageContract', { brokerage: period % 100 })
      oracle.brokerage.set(carol.hex, period % 100)
    }
    if (period % 30 !== 29) continue
    for (const who of [alice, bob]) {
      assert.ok(watched.withdraw(who) > 0n, `period ${period}`)
      claims += 1
    }
  }
  assert.equal(claims, 96)
  // What the witness that was voted for keeps is its own.
  const kept = oracle.kept.get(carol.hex)!
  assert.equal(watched.reward(carol) > 0n && watched.reward(carol) <= kept, true)
  const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
  assert.equal(held_sun + burned_sun, issued_sun)
})

test('votes earn from the next maintenance on, and once a day what they earned is paid', () => {
  const watched = new Watched({ alice: 1_000_000_000n * TRX })
  const { on, oracle, witnesses } = watched
  const [one, two] = witnesses.map(({ address }) => address) as [string, string]
  const refused = () =>
    String(on.send(alice, 'WithdrawBalanceContract', {}).message).replace(
      'Contract validate error : ',
      '',
    )
  stake(on, alice, 900_000_000n)
  assert.equal(refused(), 'witnessAccount does not have any reward')
  watched.vote(alice, { [one]: 900_000_000n })
  on.mine(10)
  assert.equal(watched.reward(alice), 0n, 'nothing in the cycle in which it has voted')
  watched.period(3)
  assert.equal(watched.reward(alice), 0n)
  watched.period(1)
  const first = watched.reward(alice)
  assert.ok(first > 0n)
  // Other votes in the middle of a cycle: the old ones earn to its end.
  watched.vote(alice, { [two]: 50_000_000n })
  watched.period(1)
  assert.ok(watched.reward(alice) > first)
  assert.ok(watched.withdraw(alice) > 0n)
  assert.match(refused(), /^The last withdraw time is \d+, less than 24 hours$/)
  on.wait(86_400)
  assert.ok(watched.withdraw(alice) > 0n)
  on.wait(86_400)
  // Votes that unfreezing takes earn up to then.
  on.do(alice, 'UnfreezeBalanceV2Contract', {
    unfreeze_balance: 900_000_000n * TRX,
    resource: 'ENERGY',
  })
  oracle.vote(alice.hex, new Map())
  const left = watched.reward(alice)
  watched.period(2)
  watched.period(2)
  assert.ok(watched.reward(alice) >= left)
  assert.ok(watched.withdraw(alice) > 0n)
})
