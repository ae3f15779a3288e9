// What the world does to the service: blocks, forks, jumps of the clocks, people who pay, lost and
// late transactions, and a network whose numbers drift. Nothing here knows the service.

import { selectorOf, wordOfAddress, wordOfInteger } from 'penstock-devchain/calls/abi.ts'
import { transactionHex } from 'penstock-devchain/chain/transactions.ts'
import { type Person, person } from 'penstock-devchain/scene.ts'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import type { Dice } from './dice.ts'
import type { Network } from './network.ts'
import type { Events, Plan } from './plan.ts'
import { pay, type Scenario, sendToken, spendEnergy } from './scenario.ts'
import type { Trace } from './trace.ts'

const DEPOSITS_SUN = [1_000_001, 3_000_000, 5_900_000, 30_000_000, 50_000_000, 70_000_000]
/** Enough for one purchase, or two. */
const POOR_DEPOSITS_SUN = [3_000_000, 5_900_000]
/** Below the least, what buys something, and above the most. */
const RECHARGES_SUN = [100_000, 900_000, 1_440_000, 1_500_000, 3_000_001, 5_600_000, 200_000_000]
/** Together less than the margin that the service adds to a stake. */
const DRIFT_MAX = 0.004

const SOLID_LAG_MAX = 18

type Setting = { scenario: Scenario; network: Network; dice: Dice; trace: Trace; plan: Plan }

export class Outside {
  now_ms: number
  private readonly scenario: Scenario
  private readonly network: Network
  private readonly dice: Dice
  private readonly trace: Trace
  private readonly plan: Plan
  /** A branch that will be given up, and when. */
  private detour: { from_block: number; left: number; solid_lag: number } | undefined
  /** A detour begins when a transaction waits for a block. */
  private wants_detour = false
  private drift = 0

  constructor({ scenario, network, dice, trace, plan }: Setting) {
    this.scenario = scenario
    this.network = network
    this.dice = dice
    this.trace = trace
    this.plan = plan
    this.now_ms = this.chain.head_time_ms + 1_000
  }

  private get chain() {
    return this.scenario.scene.devchain.chain
  }

  /** Whether the next block is due by the clock on the wall. */
  get isBlockDue(): boolean {
    return this.chain.head_time_ms + 3_000 <= this.now_ms
  }

  mine(time_ms?: number): void {
    this.network.deliverLate()
    const block = this.scenario.scene.devchain.mine(time_ms)
    this.trace.note('block', `${block.header.number} with ${block.transactions.length}`)
  }

  /** So many blocks that all before them is solid. */
  solidify(): void {
    for (let i = 0; i < this.chain.solid_lag_blocks + 2; i++) this.mine()
    this.now_ms = Math.max(this.now_ms, this.chain.head_time_ms) + 1_000
  }

  /** Addresses that somebody else has activated. */
  private readonly activated = new Set<Address>()

  /** Both clocks, with one block at the end. */
  jump(seconds: number): void {
    this.now_ms = Math.max(this.now_ms, this.chain.head_time_ms) + seconds * 1_000
    this.mine(this.now_ms)
  }

  /** One thing that happens; 'crash' and 'use' are for the caller. */
  event(deposit_addresses: readonly Address[]): keyof Events {
    const { dice } = this
    if (this.detour && this.detour.left-- <= 0) this.comeBack()
    if (this.wants_detour && !this.detour && this.chain.pendingSize() > 0) this.wander()
    const kind = dice.weighted(this.plan.events)
    if (!['fork', 'detour', 'deposit', 'recharge', 'use'].includes(kind))
      this.trace.note('event', kind)
    if (kind === 'deposit') this.deposit(dice.pick(deposit_addresses))
    else if (kind === 'recharge')
      this.send('recharge', this.scenario.wallets.recharge_address, dice.pick(RECHARGES_SUN))
    else if (kind === 'fork') this.fork(this.drawDepth())
    else if (kind === 'detour') this.wants_detour = true
    else if (kind === 'node_down') this.network.down_for = dice.between(2, 20)
    else if (kind === 'solid_lag') this.chain.setSolidLag(dice.between(2, SOLID_LAG_MAX))
    else if (kind === 'wall_jump') this.now_ms += dice.pick([-4_000, 10_000, 61_000, 700_000])
    else if (kind === 'chain_jump') this.jump(dice.pick([30, 61, 90]))
    else if (kind === 'hour') this.jump(dice.pick([3_000, 3_590, 3_600, 3_601]))
    else if (kind === 'blocks') for (let i = 0; i < dice.between(2, 8); i++) this.mine()
    else if (kind === 'outsider_activates') this.activate(dice.pick(this.scenario.inactive))
    else if (kind === 'contract') this.callContract(dice.pick(deposit_addresses))
    else if (kind === 'drift') this.driftOn()
    else if (kind === 'stake_leaves') this.unstake()
    else if (kind === 'day') this.jump(86_400)
    else if (kind === 'dust') this.dust(deposit_addresses)
    else if (kind === 'spam') this.spam(deposit_addresses)
    return kind
  }

  private activate(address: Address): void {
    this.activated.add(address)
    this.send('activate', address, 1)
  }

  /** Anyone who activated an address does it again when a fork has taken that away. */
  activateAgain(): void {
    for (const address of this.activated) this.send('activate', address, 1)
  }

  /** Begins a detour, when something waits for a block. */
  leave(): boolean {
    if (this.detour || this.chain.pendingSize() === 0) return false
    this.wander()
    return true
  }

  /** A fork as any other, outside of the time of troubles. */
  forkBack(): void {
    this.fork(this.drawDepth())
  }

  deposit(to: Address, sun?: number): void {
    const usual = this.plan.poor ? POOR_DEPOSITS_SUN : DEPOSITS_SUN
    this.send('deposit', to, sun ?? this.dice.pick(usual))
  }

  /** Somebody sends a token: mostly one of those who are subscribed. */
  spend(subscribed: readonly Address[]): void {
    const { subscribers } = this.scenario
    const mine = subscribers.filter(({ address }) => subscribed.includes(address))
    const from = this.dice.pick(mine.length > 0 && this.dice.chance(0.9) ? mine : subscribers)
    this.trace.note(
      'use',
      `by ${from.address} ${spendEnergy(this.scenario, from) ? 'sent' : 'refused'}`,
    )
  }

  private send(what: string, to: Address, sun: number): void {
    const taken = pay(this.scenario, this.dice.pick(this.scenario.payers), { to, sun: BigInt(sun) })
    this.trace.note(what, `${sun} sun to ${to} ${taken ? 'sent' : 'refused'}`)
  }

  /** Too little to be worth anything, to one of the addresses that are ours. */
  private dust(deposit_addresses: readonly Address[]): void {
    const to = this.dice.pick([this.scenario.wallets.recharge_address, ...deposit_addresses])
    this.send('dust', to, this.dice.pick([1, 99_999]))
  }

  /** A token that nobody asked for. */
  private spam(deposit_addresses: readonly Address[]): void {
    const to = this.dice.pick([this.scenario.wallets.recharge_address, ...deposit_addresses])
    const from = this.dice.pick(this.scenario.payers)
    this.scenario.scene.post('/devchain/mint', { address: from.address, amount: 10n })
    this.trace.note('spam', `to ${to} ${sendToken(this.scenario, from, to) ? 'sent' : 'refused'}`)
  }

  /** Deep enough for the newest block with transactions, or any depth that is possible. */
  private drawDepth(): number {
    const { chain, dice } = this
    const deep = chain.head_number - chain.solid_block.header.number
    if (deep < 1) return 0
    for (let depth = 1; depth <= deep && dice.chance(0.8); depth++) {
      if (chain.block(chain.head_number - depth + 1)!.transactions.length > 0) return depth
    }
    return dice.between(1, deep)
  }

  /** The newest blocks give way to others: their transactions come again, later or never, and some
   *  that had reached nobody here are known on the other branch. */
  private fork(depth: number): void {
    if (depth < 1) return
    const { chain, dice } = this
    chain.reorganize(depth, dice.chance(0.5))
    this.network.deliverStrays()
    // Another producer's slot: the new blocks are not those that were taken back.
    this.mine(chain.head_time_ms + dice.pick([6_000, 9_000]))
    for (let made = dice.between(0, 1); made < depth; made++) this.mine()
    this.trace.note('fork', `${depth} blocks, head is ${chain.head_number}`)
  }

  /** A branch of slow blocks that will be given up: what waited for a block reaches only the other
   *  branch, and what expires on this one has not expired there. */
  private wander(): void {
    const { chain, dice } = this
    this.wants_detour = false
    const waiting = chain.pendingTransactions().map(transactionHex)
    this.mine()
    chain.reorganize(1, true)
    this.network.stray(waiting)
    this.detour = {
      from_block: chain.head_number,
      left: dice.between(2, 8),
      solid_lag: chain.solid_lag_blocks,
    }
    // While the producers disagree nothing becomes solid.
    chain.setSolidLag(SOLID_LAG_MAX)
    this.jump(dice.between(62, 90))
    this.trace.note('detour', `${waiting.length} transactions, head is ${chain.head_number}`)
  }

  comeBack(): void {
    const { chain } = this
    if (!this.detour) return
    const depth = chain.head_number - this.detour.from_block
    chain.setSolidLag(this.detour.solid_lag)
    this.detour = undefined
    if (depth <= chain.head_number - chain.solid_block.header.number) this.fork(depth)
  }

  /** A contract of a payer's, made when it is first called, sends TRX to an address or delegates
   *  stake to it. */
  private callContract(to: Address): void {
    const { scenario, dice } = this
    const { scene } = scenario
    const [owner] = scenario.payers as [Person, ...Person[]]
    const contract = person('contract')
    if (!this.has_contract) {
      scene.post('/devchain/contract', { address: contract.address, owner: owner.address })
      scene.post('/devchain/fund', { address: contract.address, sun: 10_000_000_000n })
      this.has_contract = true
    }
    const word = wordOfAddress(addressToHex(to))
    const sun = wordOfInteger(BigInt(dice.pick(DEPOSITS_SUN)))
    const kind = dice.pick(['send', 'freeze', 'delegate', 'undelegate'] as const)
    const energy = wordOfInteger(1n)
    const data = {
      send: selectorOf('send(address,uint256)') + word + sun,
      freeze: selectorOf('freeze(uint256,uint256)') + wordOfInteger(100_000_000n) + energy,
      delegate: selectorOf('delegate(address,uint256,uint256)') + word + sun + energy,
      undelegate: selectorOf('undelegate(address,uint256,uint256)') + word + sun + energy,
    }[kind]
    const answer = scene.send(
      owner,
      'TriggerSmartContract',
      { contract_address: contract.hex, data },
      { fee_limit: 1_000_000_000n },
    )
    this.trace.note('contract', `${kind} for ${to} ${answer.result === true ? 'sent' : 'refused'}`)
  }

  private has_contract = false

  /** Others stake: the same stake yields a little less. */
  private driftOn(): void {
    if (this.drift >= DRIFT_MAX) return
    this.drift += 0.001
    const grown = (trx: bigint) => trx + (trx * BigInt(Math.round(this.drift * 10_000))) / 10_000n
    const { energy_weight_trx, net_weight_trx } = this.scenario.rest_of_network
    this.chain.decree({
      kind: 'weights',
      energy_weight_trx: grown(energy_weight_trx),
      net_weight_trx: grown(net_weight_trx),
    })
  }

  /** As an operator does who reads `order_owed`: stake that is on its way out stays. */
  stakeAgain(): void {
    for (const owner of this.scenario.pool)
      this.scenario.scene.send(owner, 'CancelAllUnfreezeV2Contract', {})
  }

  /** The operator takes some stake out of a wallet. */
  private unstake(): void {
    const owner = this.dice.pick(this.scenario.pool)
    const unfreeze_balance = BigInt(this.dice.between(500, 3_000)) * 1_000_000n
    this.scenario.scene.send(owner, 'UnfreezeBalanceV2Contract', {
      unfreeze_balance,
      resource: 'ENERGY',
    })
  }
}
