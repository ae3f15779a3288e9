// Rewards of votes against an oracle that goes block by block, as the network's nodes do: each
// block pays its witness and the first 127 by votes, each of them keeps its brokerage, and what is
// left is divided among votes at the end of the cycle.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { audit, person, Scene, TRX } from '../scene.ts'
import { defaultParameters } from '../state/parameters.ts'

const alice = person('alice')
const bob = person('bob')
const carol = person('carol')

const DECIMALS = 10n ** 18n
type Votes = ReadonlyMap<string, bigint>
type Voter = { votes: Votes; allowance: bigint; begin: number; end: number; at?: Votes }

/** The network's rules, one payment after another. */
class Oracle {
  cycle = 0
  readonly counted = new Map<string, bigint>()
  readonly next = new Map<string, bigint>()
  readonly brokerage = new Map<string, number>()
  private paid_by = new Map<string, number>()
  private readonly pot = new Map<string, bigint>()
  private readonly vi = new Map<string, bigint>()
  readonly kept = new Map<string, bigint>()
  private readonly voters = new Map<string, Voter>()

  constructor(witnesses: readonly { address: string; voteCount?: number }[]) {
    for (const { address, voteCount = 0 } of witnesses) this.stand(address, BigInt(voteCount))
  }

  stand(address: string, votes: bigint): void {
    this.counted.set(address, votes)
    this.next.set(address, votes)
    this.brokerage.set(address, 20)
  }

  block(witness: string, maintains: boolean): void {
    this.pay(witness, defaultParameters.getWitnessPayPerBlock)
    const sum = [...this.counted.values()].reduce((a, b) => a + b, 0n)
    const each = defaultParameters.getWitness127PayPerBlock / Number(sum)
    for (const [address, votes] of this.counted) this.pay(address, Math.trunc(Number(votes) * each))
    if (maintains) this.maintain()
  }

  private pay(address: string, sun: number): void {
    const own = Math.trunc(((this.paid_by.get(address) ?? 20) / 100) * sun)
    this.pot.set(address, (this.pot.get(address) ?? 0n) + BigInt(sun - own))
    this.kept.set(address, (this.kept.get(address) ?? 0n) + BigInt(own))
  }

  private maintain(): void {
    for (const [address, votes] of this.counted) {
      const pot = this.pot.get(address) ?? 0n
      const more = votes === 0n ? 0n : (pot * DECIMALS) / votes
      this.vi.set(`${this.cycle} ${address}`, this.viOf(this.cycle - 1, address) + more)
    }
    this.pot.clear()
    for (const [address, votes] of this.next) this.counted.set(address, votes)
    this.paid_by = new Map(this.brokerage)
    this.cycle += 1
  }

  private viOf = (cycle: number, address: string) => this.vi.get(`${cycle} ${address}`) ?? 0n

  private earned(votes: Votes, begin: number, end: number): bigint {
    let sun = 0n
    for (const [address, count] of votes) {
      const delta = this.viOf(end - 1, address) - this.viOf(begin - 1, address)
      if (begin < end && delta > 0n) sun += (delta * count) / DECIMALS
    }
    return sun
  }

  voter(name: string): Voter {
    const known = this.voters.get(name)
    if (known) return known
    const made: Voter = { votes: new Map(), allowance: 0n, begin: 0, end: -1 }
    this.voters.set(name, made)
    return made
  }

  settle(name: string): Voter {
    const one = this.voter(name)
    const { cycle } = this
    if (one.begin > cycle || (one.begin === cycle && one.at)) return one
    if (one.begin + 1 === one.end && one.begin < cycle) {
      if (one.at) one.allowance += this.earned(one.at, one.begin, one.end)
      one.begin += 1
    }
    delete one.at
    if (one.votes.size === 0) {
      one.begin = cycle + 1
      return one
    }
    one.allowance += this.earned(one.votes, one.begin, cycle)
    Object.assign(one, { begin: cycle, end: cycle + 1, at: one.votes })
    return one
  }

  vote(name: string, votes: Votes): void {
    const one = this.settle(name)
    for (const [address, count] of one.votes)
      this.next.set(address, this.next.get(address)! - count)
    for (const [address, count] of votes) this.next.set(address, this.next.get(address)! + count)
    one.votes = votes
  }

  withdraw(name: string): bigint {
    const one = this.settle(name)
    const sun = one.allowance
    one.allowance = 0n
    return sun
  }
}

type WitnessRow = { address: string; voteCount?: number }
const witnessesOf = (on: Scene) => on.get('/wallet/listwitnesses').witnesses as WitnessRow[]

/** A chain with its oracle beside it. */
class Watched {
  readonly on: Scene
  readonly oracle: Oracle
  readonly witnesses: readonly WitnessRow[]

  constructor(funded: Record<string, bigint>) {
    this.on = new Scene(funded)
    this.on.leaveBlocksUnsigned()
    this.witnesses = witnessesOf(this.on)
    this.oracle = new Oracle(this.witnesses)
    const { chain } = this.on.devchain
    const tell = chain.onInput
    chain.onInput = (input) => {
      tell(input)
      if (input.kind === 'block') this.see(input.block.header)
    }
    for (let number = 1; number <= chain.head_number; number++)
      this.see(chain.block(number)!.header)
  }

  private see({
    number,
    timestamp,
    witness_address,
  }: {
    number: number
    timestamp: number
    witness_address: string
  }): void {
    const { calendar } = this.on.devchain.chain
    const before = this.on.devchain.chain.block(number - 1)!.header.timestamp
    this.oracle.block(witness_address, calendar.maintains(before, timestamp))
  }

  vote(who: typeof alice, votes: Record<string, bigint>): void {
    const list = Object.entries(votes)
    this.on.do(who, 'VoteWitnessContract', {
      votes: list.map(([vote_address, vote_count]) => ({ vote_address, vote_count })),
    })
    this.oracle.vote(who.address, new Map(list))
  }

  /** To the next maintenance, and some blocks after it. */
  period(blocks: number): void {
    this.on.devchain.mine(Number(this.on.get('/wallet/getnextmaintenancetime').num))
    this.on.mine(blocks)
  }

  reward = (who: typeof alice) =>
    BigInt(this.on.post('/wallet/getReward', { address: who.address }).reward as number)

  withdraw(who: typeof alice): bigint {
    const before = this.on.balance(who)
    const receipt = this.on.do(who, 'WithdrawBalanceContract', {})
    const sun = this.on.balance(who) - before + BigInt((receipt.fee as number | undefined) ?? 0)
    assert.equal(BigInt(receipt.withdraw_amount as number), sun)
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
      assert.equal(watched.withdraw(who), oracle.withdraw(who.address), `period ${period}`)
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
  assert.equal(watched.withdraw(alice), oracle.withdraw(alice.address))
  assert.match(refused(), /^The last withdraw time is \d+, less than 24 hours$/)
  on.wait(86_400)
  assert.equal(watched.withdraw(alice), oracle.withdraw(alice.address))
  on.wait(86_400)
  // Votes that unfreezing takes earn up to then.
  on.do(alice, 'UnfreezeBalanceV2Contract', {
    unfreeze_balance: 900_000_000n * TRX,
    resource: 'ENERGY',
  })
  oracle.vote(alice.address, new Map())
  const left = watched.reward(alice)
  watched.period(2)
  watched.period(2)
  assert.ok(watched.reward(alice) >= left)
  assert.equal(watched.withdraw(alice), oracle.withdraw(alice.address))
})
