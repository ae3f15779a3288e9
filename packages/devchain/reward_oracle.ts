// An oracle of votes' rewards for tests: it goes block by block, as the network's nodes do, where
// rewards.ts works a whole cycle out at once. Each block pays its witness and the first 127 by
// votes, each of them keeps its brokerage, and what is left is divided among votes at the end of
// the cycle.

import type { Message } from 'penstock-tron/protobuf.ts'
import type { Block } from './chain/blocks.ts'
import type { Scene } from './scene.ts'
import { defaultParameters } from './state/parameters.ts'

const DECIMALS = 10n ** 18n
type Votes = ReadonlyMap<string, bigint>
type Voter = { votes: Votes; allowance: bigint; begin: number; end: number; at?: Votes }

/** The network's rules, one payment after another, block by block. */
export class RewardOracle {
  private cycle = 0
  /** The sun that each withdrawal has paid, by its transaction. */
  readonly withdrawn = new Map<string, bigint>()
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

  /** A block: its transactions first, then what it pays, then the count of votes. */
  see({ header, transactions }: Block, maintains: boolean): void {
    for (const { transaction } of transactions) {
      const { contract_name, message, owner_address, id } = transaction
      if (contract_name === 'VoteWitnessContract') this.vote(owner_address, votesIn(message))
      if (contract_name === 'WithdrawBalanceContract')
        this.withdrawn.set(id, this.withdraw(owner_address))
    }
    const witness = header.witness_address
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

const votesIn = ({ votes = [] }: Message): Votes =>
  new Map(
    (votes as Message[]).map(({ vote_address, vote_count }) => [
      String(vote_address),
      BigInt(String(vote_count)),
    ]),
  )

/** The oracle of a chain without forks, from its first block on. */
export function watchRewards(scene: Scene): RewardOracle {
  const { chain } = scene.devchain
  const listed = scene.get('/wallet/listwitnesses').witnesses
  const oracle = new RewardOracle(listed as { address: string; voteCount?: number }[])
  const see = (block: Block) => {
    const before = chain.block(block.header.number - 1)!.header.timestamp
    oracle.see(block, chain.calendar.maintains(before, block.header.timestamp))
  }
  for (let number = 1; number <= chain.head_number; number++) see(chain.block(number)!)
  const tell = chain.onInput
  chain.onInput = (input) => {
    tell(input)
    if (input.kind === 'block') see(input.block)
  }
  return oracle
}
