// One run of one seed. First anything may happen, in an order and at moments that the seed decides:
// steps, purchases, blocks, forks, lost answers, outages, crashes, a second instance. Then all
// troubles end, time goes on, and everything must come to rest. The auditor looks in
// between and at the end.

import { person } from 'penstock-devchain/scene.ts'
import type { SignatureRecord } from 'penstock-service/chain/signing/signature_log.ts'
import { HOUSE_SCOPES } from 'penstock-service/events/log/kinds.ts'
import { createWebhook } from 'penstock-service/events/webhooks/webhooks.ts'
import { Outage } from 'penstock-service/lib/fault.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { Step } from 'penstock-service/platform/steps/step.ts'
import { publishPolicy, SHIPPED_POLICY } from 'penstock-service/screening/engine/policy.ts'
import { setPlan } from 'penstock-service/treasury/votes/plan.ts'
import { addressFromHex } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type pg from 'pg'
import { Auditor } from '../auditor/audit.ts'
import { emptyTables } from '../harness/database.ts'
import { publishLabels } from '../harness/labels.ts'
import { runNotDue } from '../harness/not_due.ts'
import { type Access, ask, drawWish, hasName, look, type Wish } from './buyer.ts'
import { Collector } from './collector.ts'
import { Dice } from './dice.ts'
import { signedForgeries } from './forgeries.ts'
import { type BlockedCounter, Gate, type Op, type Passage } from './gate.ts'
import { Instance, type Surroundings } from './instance.ts'
import { Network, NO_TROUBLES } from './network.ts'
import { Operator } from './operator.ts'
import { Outside } from './outside.ts'
import { drawPlan, type Emphasis, type Plan } from './plan.ts'
import { Receiver } from './receiver.ts'
import { hasOpenOrders, hasOwedOrders, isAtRest, ownFindings } from './rest.ts'
import { buildScenario, type Scenario } from './scenario.ts'
import { Screening, Subscribing, sellPlans, type Task } from './tasks.ts'
import { Trace } from './trace.ts'

/** The database that runs share, one after the other. */
export type RunDatabase = { sql: Sql; auditor: pg.Client; countBlocked: BlockedCounter }

export type Verdict = {
  seed: string
  findings: string[]
  trace: Trace
  counts: Record<string, number>
}

const JOBS_MAX = 7
/** A webhook is told all there is of its customer. */
const CUSTOMER_SCOPES = HOUSE_SCOPES.filter((scope) => scope !== 'house')
/** What a node that lies says was paid. */
const LIE_SUN = 77_000_000n
/** How often blocks are followed, at least, when no trouble keeps them from it. */
const FOLLOW_MS = 2_000
/** Steps that are needed only where there are such things: while everything comes to rest they run
 *  there, and at the end. */
const SUBSCRIPTION_STEPS = ['use', 'confirm_uses', 'supply', 'withdraw_supply']
const CHECK_STEPS = ['screen', 'ask_providers', 'fold_counts']
const INDEX_STEPS = ['record', 'index']

const bywaysOf = ({ subscriptions, checks, screens_deposits }: Plan): string[] => [
  ...(subscriptions.most === 0 ? SUBSCRIPTION_STEPS : []),
  ...(checks.most === 0 ? CHECK_STEPS : []),
  ...(checks.most === 0 && !screens_deposits ? INDEX_STEPS : []),
]
/** Steps that may rest for longer clean up: until the end they run in the time of troubles only. */
const REST_MS_MAX = 3_000
/** From this round on the way to rest nothing new happens. */
const LAST_ROUND = 3
/** Rounds on the way to rest that go on to the next count of votes, where there are votes. */
const VOTING_ROUNDS = 14
const PERIOD_S = 21_600
/** Steps that production runs most often, and, where there are webhooks, those that call them. */
const BUSY_STEPS = new Set(['follow', 'sign', 'send', 'settle', 'delegate'])
const TELLING_STEPS = new Set(['publish', 'notify'])
/** And where servers are lost: the step that must not rely on what the lost one had. */
const SEALING_STEPS = new Set(['seal'])
const NO_STEPS: ReadonlySet<string> = new Set()

/** `emphasis`: what happens often; the seed decides when left out. */
export async function runSeed(
  database: RunDatabase,
  seed: string,
  emphasis?: Emphasis,
): Promise<Verdict> {
  await emptyTables(database.sql)
  const run = new Run(database, seed, emphasis)
  try {
    await run.begin()
    await run.letAnythingHappen()
    await run.comeToRest()
  } catch (thrown) {
    run.findings.push(thrown instanceof Error ? `${thrown.stack}` : String(thrown))
  } finally {
    await run.end()
  }
  if (run.gate.races > 0) run.trace.add('races', run.gate.races)
  return { seed, findings: run.findings, trace: run.trace, counts: run.trace.counts }
}

const walletsOf = ({ pool, activation, refund }: Scenario['wallets']) => [
  ...pool,
  activation,
  ...(refund ? [refund] : []),
]

/** Where there are subscriptions, some keys may spend only so much in a day. */
const drawCap = ({ subscriptions }: Plan, dice: Dice): bigint | undefined =>
  subscriptions.most > 0 && dice.chance(0.3) ? BigInt(dice.between(6, 20)) * 1_000_000n : undefined

type Job = { instance: Instance; name: string }

class Run {
  readonly findings: string[] = []
  readonly trace: Trace
  private readonly database: RunDatabase
  private readonly dice: Dice
  private readonly plan: Plan
  readonly gate: Gate
  private readonly scenario: Scenario
  private readonly network: Network
  private readonly receiver: Receiver
  private readonly auditor: Auditor
  private readonly jobs = new Set<Job>()
  private readonly wishes: Wish[] = []
  private customers: Access[] = []
  private subscribing: Subscribing | undefined
  private screening: Screening | undefined
  private operator: Operator | undefined
  private collector: Collector | undefined
  /** Senders whose money is held from the beginning to the end. */
  private readonly held_senders: string[] = []
  private instances: Instance[] = []
  private started = 0
  private first_block = 0
  private readonly outside: Outside
  private readonly byways: Set<string>
  /** Whether blocks are read in one transaction for all, as in production, or by each alone. */
  private readonly joined: boolean

  constructor(database: RunDatabase, seed: string, emphasis?: Emphasis) {
    this.database = database
    this.dice = new Dice(seed)
    this.plan = drawPlan(this.dice.fork('plan'), emphasis)
    this.joined = this.dice.fork('readers').chance(0.5)
    this.trace = new Trace(`${this.plan.instances} instances, ${this.plan.name}`)
    this.gate = new Gate(database.countBlocked)
    this.scenario = buildScenario(this.dice.fork('town'))
    this.network = new Network(this.scenario.scene.devchain, this.dice.fork('network'))
    this.network.onTrouble = (what) => this.trace.note('trouble', what)
    this.receiver = new Receiver(this.dice.fork('receiver'))
    this.auditor = new Auditor({
      client: database.auditor,
      post: async (path, body) => this.scenario.scene.post(path, body as Record<string, never>),
      wallets: walletsOf(this.scenario.wallets).map(({ address }) => address),
      from_block: this.chain.solid_block.header.number,
    })
    // What happens before the troubles is told in them.
    this.byways = new Set(['publish', 'notify', ...bywaysOf(this.plan)])
    this.outside = new Outside({ ...this, dice: this.dice.fork('outside') })
  }

  private get chain() {
    return this.scenario.scene.devchain.chain
  }

  /** Whatever a run has left open must not stand in the way of the next one. */
  end(): Promise<void> {
    return this.gate.end(this.instances.map(({ life }) => life))
  }

  // How it begins: the service follows the chain, the customers exist and most have money.

  async begin(): Promise<void> {
    for (let i = 0; i < this.plan.instances; i++) this.startInstance()
    const [instance] = this.instances
    const { app } = instance!
    this.customers = await this.database.sql.begin(async (tx) => {
      const needs = {
        clock: this.clock,
        random: { bytes: (n: number) => this.dice.bytes(n) },
        ...app,
      }
      const made: Access[] = []
      const caps = this.dice.fork('caps')
      for (let i = 0; i < this.plan.customers; i++) {
        const { id, deposit_address } = await createCustomer(tx, needs, { name: `customer ${i}` })
        const daily_cap_sun = drawCap(this.plan, caps)
        const { token, secret } = await issueKey(tx, needs, {
          customer_id: id,
          name: 'key',
          daily_cap_sun,
        })
        if (this.plan.webhooks) {
          const url = this.receiver.urlFor(id)
          await createWebhook(tx, needs, { customer_id: id, url, scopes: CUSTOMER_SCOPES })
        }
        made.push({ customer_id: id, token, secret, deposit_address })
      }
      return made
    })
    if (this.plan.subscriptions.most > 0) await sellPlans(this.database.sql, this.clock)
    if (this.plan.by_hand > 0) await this.blacklistOne()
    if (this.plan.screens_deposits) await this.labelOne()
    if (this.plan.votes) await this.planVotes()
    this.Tasks()
    await instance!.run(app.steps[0]!)
    this.first_block = this.chain.solid_block.header.number
    for (const { deposit_address } of this.customers)
      if (this.dice.chance(0.9)) this.outside.deposit(deposit_address)
    if (this.plan.subscriptions.most > 0)
      this.outside.deposit(this.customers[0]!.deposit_address, 300_000_000)
    this.outside.solidify()
    await this.drain('rested')
    if (this.plan.subscriptions.most > 0) await this.subscribeSome()
  }

  /** Somebody who sends money is blacklisted from the beginning to the end. */
  private async blacklistOne(): Promise<void> {
    const { address } = this.scenario.payers.at(-1)!
    this.held_senders.push(address)
    await this.database.sql`
        insert into flow_freeze (token, address, frozen, number)
          values (${USDT}, ${address}, true, 0)`
  }

  /** Somebody who sends money is a mixer, as is known from the beginning, and money of high risk is
   *  held however little it is. */
  private async labelOne(): Promise<void> {
    const { address } = this.scenario.payers[0]!
    this.held_senders.push(address)
    const at = new Date(0)
    await publishLabels(this.database.sql, [{ address, category: 'mixer' }], { at })
    const direct = [{ share_bp: 1, usd: 0, points: 75 }]
    const body = { ...SHIPPED_POLICY, direct, hold_deposits_from: 'high' as const }
    await this.database.sql.begin((tx) =>
      publishPolicy(tx, { body, published_by: 'simulator', published_at: at }),
    )
  }

  /** The stake votes for two witnesses, one of which it favours. */
  private async planVotes(): Promise<void> {
    const [one, two] = this.chain.witnesses.map(({ address }) => addressFromHex(address))
    const at = new Date(0)
    const plan = [one!, two!].map((witness, i) => ({ witness, weight: i + 1 }))
    await this.database.sql.begin((tx) => setPlan(tx, plan, { at, by: 'simulator' }))
  }

  /** Most subscriptions run when the troubles begin. */
  private async subscribeSome(): Promise<void> {
    for (const start of this.subscribing?.starts() ?? [])
      await this.runTask(this.instances[0]!, start)
    await this.drain('woken')
    this.outside.mine()
    await this.drain('woken')
  }

  private Tasks(): void {
    const { customers, plan, scenario } = this
    const { active, inactive, subscribers } = scenario
    const addresses = subscribers.map(({ address }) => address)
    this.subscribing = new Subscribing({
      dice: this.dice.fork('subscribing'),
      customers,
      wishes_max: plan.subscriptions.most,
      addresses: [...addresses, ...active.slice(0, 1)],
    })
    this.operator = new Operator({
      dice: this.dice.fork('operator'),
      scenario,
      customers,
      clock: this.clock,
    })
    this.collector = new Collector({
      dice: this.dice.fork('collector'),
      scenario,
      clock: this.clock,
    })
    this.screening = new Screening({
      dice: this.dice.fork('screening'),
      customers,
      wishes_max: plan.checks.most,
      addresses: [...active, ...inactive, ...addresses],
      transactions: scenario.mined,
    })
  }

  private readonly clock = { now: () => new Date(this.outside.now_ms) }

  /** `signed`: what the one before it has signed on the same machine. */
  private startInstance(signed: SignatureRecord[] = []): void {
    const skew_ms = this.dice.between(-this.plan.skew_ms, this.plan.skew_ms)
    const { sql } = this.database
    const around: Surroundings = {
      sql,
      gate: this.gate,
      network: this.network,
      receiver: this.receiver,
      scenario: this.scenario,
      nodes: this.plan.nodes,
      joined: this.joined,
      recharge_at: this.plan.recharge_at,
      signed,
      onBug: (what) => this.findings.push(`a mistake of ours: ${what}`),
      dice: this.dice.fork(`instance ${this.started}`),
      clock: { now: () => new Date(this.outside.now_ms + skew_ms) },
    }
    this.instances.push(new Instance(`P${this.started++}`, around))
  }

  // The time of troubles.

  async letAnythingHappen(): Promise<void> {
    this.gate.open = false
    this.network.troubles = this.plan.troubles
    this.receiver.troubles = 20
    this.beginToLie()
    for (let moment = 0; moment < this.plan.moments; moment++) {
      this.trace.moment = moment
      this.outside.now_ms += this.dice.between(0, 150)
      await this.gate.quiet()
      await this.something()
      if (this.findings.length > 0) return
      if (this.dice.chance(this.plan.audits)) await this.audit()
    }
  }

  private beginToLie(): void {
    const { lie } = this.plan
    if (lie === undefined) return
    const { recharge_address } = this.scenario.wallets
    const to = [...this.customers.map(({ deposit_address }) => deposit_address), recharge_address]
    this.network.aim = { to, sun: LIE_SUN, from: this.scenario.payers[0]!.address }
    this.network.liar_name = 'node0'
    this.network.liar.from_block = this.chain.head_number + 1
    this.network.liar.lie = lie
  }

  private async something(): Promise<void> {
    const { plan, dice } = this
    const kind = dice.weighted({
      release: this.gate.held.length > 0 ? 10 : 0,
      step: this.jobs.size < JOBS_MAX ? 4 : 0,
      wish: this.jobs.size < JOBS_MAX ? plan.wish_rate : 0,
      block: this.outside.isBlockDue ? 3 : 0.02,
      event: plan.event_rate,
      subscription: this.jobs.size < JOBS_MAX ? plan.subscriptions.rate : 0,
      check: this.jobs.size < JOBS_MAX ? plan.checks.rate : 0,
      by_hand: this.jobs.size < JOBS_MAX ? plan.by_hand : 0,
      collect: this.jobs.size < JOBS_MAX ? plan.collects : 0,
    })
    if (kind === 'release') await this.release()
    else if (kind === 'step') this.startStep()
    else if (kind === 'wish') this.startWish()
    else if (kind === 'block')
      this.outside.mine(this.dice.chance(0.9) ? undefined : this.outside.now_ms)
    else if (kind === 'subscription') this.startTask(this.subscribing?.next())
    else if (kind === 'check') this.startTask(this.screening?.next())
    else if (kind === 'by_hand') this.startTask(this.operator?.next())
    else if (kind === 'collect') this.startTask(this.collector?.next())
    else await this.event()
  }

  /** Lets something pass, and mostly what follows from it too: how soon another comes in between is
   *  the seed's matter. */
  private async release(): Promise<void> {
    let op: Op | undefined = this.dice.pick(this.gate.held)
    while (op) {
      const passage = this.drawPassage(op)
      this.trace.note(
        passage === 'through' ? 'release' : passage,
        `${op.life.name} ${op.kind} ${op.label}`,
      )
      const { asked } = this.gate
      await this.gate.release(op, passage)
      if (passage === 'unreplicated') await this.promote()
      this.replaceDead()
      const next: Op[] = this.gate.held.filter((one) => one.number >= asked)
      op = next.length > 0 && this.dice.chance(this.plan.momentum) ? next.at(-1) : undefined
    }
  }

  private drawPassage(op: Op): Passage {
    const { plan, dice } = this
    if (dice.chance(plan.crashes)) return dice.pick(['killed_before', 'killed_after'] as const)
    if (op.lose && plan.promotions > 0 && dice.chance(plan.promotions)) return 'unreplicated'
    // The network has troubles of its own, and a rollback that fails is a rollback.
    if (op.kind === 'node' || op.kind === 'rollback') return 'through'
    return dice.chance(plan.outages) ? dice.pick(['refused', 'unanswered'] as const) : 'through'
  }

  /** Another server has taken over. What was open is gone, and so are the numbers that a sequence
   *  has given since the last commit. */
  private async promote(): Promise<void> {
    this.trace.note('promoted', '')
    for (const { connections } of this.instances) connections.loseServer()
    const lost = this.gate.held.filter(({ kind }) => kind !== 'node')
    for (const op of lost) {
      if (this.gate.held.includes(op)) await this.gate.release(op, 'refused')
    }
    await this.gate.quiet()
    await this.database.sql`
      select setval('transfer_number_seq', greatest((select max(number) from transfer),
        (select max(last_entry) from journal_mark), (select max(last_entry) from journal), 1))`
  }

  /** A new instance for each that was killed: what it was doing is lost. */
  private replaceDead(): void {
    for (const instance of this.instances.filter(({ life }) => life.dead)) {
      this.gate.forget(instance.life)
      for (const job of this.jobs) if (job.instance === instance) this.jobs.delete(job)
      this.instances = this.instances.filter((one) => one !== instance)
      this.startInstance(instance.signed)
    }
  }

  private startStep(): void {
    const instance = this.dice.pick(this.instances)
    const idle = instance.app.steps.filter((step) => !instance.running.has(step))
    // Its timer would have gone off.
    if (this.outside.now_ms - instance.followed_at_ms > FOLLOW_MS) instance.woken.add('follow')
    const woken = idle.filter((step) => instance.woken.has(step.name))
    const telling = this.plan.webhooks ? TELLING_STEPS : NO_STEPS
    const sealing = this.plan.promotions > 0 ? SEALING_STEPS : NO_STEPS
    const busy = idle.filter(({ name }) =>
      [BUSY_STEPS, telling, sealing].some((steps) => steps.has(name)),
    )
    const choice = this.dice.weighted({
      woken: woken.length > 0 ? 6 : 0,
      busy: busy.length > 0 ? 3 : 0,
      any: 1,
    })
    const step = this.dice.pick({ woken, busy, any: idle }[choice])
    // Who has something to tell wakes all processes at once.
    const others = telling.has(step.name) ? this.instances.filter((one) => one !== instance) : []
    for (const one of [instance, ...others]) this.startOne(one, step.name)
  }

  private startOne(instance: Instance, name: string): void {
    const step = instance.app.steps.find((one) => one.name === name)!
    if (instance.running.has(step)) return
    this.trace.note('step', `${instance.life.name} ${name}`)
    if (name === 'follow') instance.followed_at_ms = this.outside.now_ms
    this.start({ instance, name }, () => this.runStep(instance, step))
  }

  private async runStep(instance: Instance, step: Step): Promise<void> {
    try {
      await instance.run(step)
    } catch (thrown) {
      this.trace.note('step failed', `${instance.life.name} ${step.name}: ${String(thrown)}`)
      if (thrown instanceof Outage) return
      this.findings.push(
        `step ${step.name} threw ${thrown instanceof Error ? thrown.stack : String(thrown)}`,
      )
    }
  }

  private start(job: Job, work: () => Promise<void>): void {
    this.jobs.add(job)
    work()
      .catch((thrown: unknown) => this.findings.push(`${job.name} threw ${String(thrown)}`))
      .finally(() => {
        this.jobs.delete(job)
        this.gate.activity += 1
      })
  }

  /** A new wish, or an old one again: a twin, a retry after a lost answer, or a look at it. */
  private startWish(): void {
    const { dice, scenario } = this
    const instance = dice.pick(this.instances)
    const again = this.wishes.filter(hasName)
    const sold = this.wishes.filter((wish) => wish.id !== undefined)
    const kinds = {
      fresh: this.wishes.length < this.plan.wishes ? 3 : 0,
      again: again.length > 0 ? 2 : 0,
    }
    const kind = dice.weighted({ ...kinds, look: sold.length > 0 ? 1 : 0, nothing: 0.001 })
    if (kind === 'nothing') return
    if (kind === 'look') {
      const wish = dice.pick(sold)
      this.start({ instance, name: 'look' }, async () => this.note(await look(instance, wish)))
      return
    }
    const who = dice.pick(this.customers)
    const wish =
      kind === 'again' ? dice.pick(again) : drawWish(dice, { who, ...scenario }, this.wishes.length)
    if (kind === 'fresh') this.wishes.push(wish)
    this.buy(instance, wish)
    if (hasName(wish) && dice.chance(0.2)) this.buy(dice.pick(this.instances), wish)
  }

  private buy(instance: Instance, wish: Wish): void {
    const { service, params, external_id = 'unnamed' } = wish
    const of = `${external_id} ${service}${wish.by_quote ? ' by quote' : ''}`
    this.trace.note('ask', `${instance.life.name} ${of} ${JSON.stringify(params)}`)
    this.start({ instance, name: 'purchase' }, async () => {
      const { code, objection } = await ask(instance, wish)
      this.trace.note(
        'told',
        `${wish.external_id ?? 'unnamed'}: ${code === 0 ? wish.id : `code ${code}`}`,
      )
      this.trace.add(`${wish.by_quote ? 'quote told' : 'told'} ${code}`, 1)
      this.note(objection)
    })
  }

  /** Sometimes twice at once, as a client does who has no answer. */
  private startTask(task: Task | undefined): void {
    if (!task) return
    const { dice, instances } = this
    for (let twins = dice.chance(0.15) ? 2 : 1; twins > 0; twins--) {
      const instance = dice.pick(instances)
      this.trace.note('ask', `${instance.life.name} ${task.name} ${task.about}`)
      this.start({ instance, name: task.name }, () => this.runTask(instance, task))
    }
  }

  private async runTask(instance: Instance, task: Task): Promise<void> {
    const { told, objection } = await task.run(instance)
    this.trace.note('told', `${task.name}: ${told}`)
    this.trace.add(`${task.name} told ${told.split(' ')[0]}`, 1)
    this.note(objection)
  }

  private note(finding: string | undefined): void {
    if (finding !== undefined) this.findings.push(finding)
  }

  private async event(): Promise<void> {
    const kind = this.outside.event(this.customers.map(({ deposit_address }) => deposit_address))
    if (kind === 'crash') await this.crash()
    if (kind === 'use') this.outside.spend(this.subscribing?.running ?? [])
    if (kind === 'fork' && this.dice.chance(0.3)) await this.audit()
  }

  private async crash(): Promise<void> {
    this.dice.pick(this.instances).life.kill()
    await this.gate.quiet()
    this.replaceDead()
  }

  private async audit(): Promise<void> {
    this.trace.note('audit', '')
    this.findings.push(
      ...(await this.auditor.look()),
      ...(await this.earlySuccesses()),
      ...(await ownFindings(this.database.sql)),
    )
  }

  /** A success was in a block before it was called one. */
  private async earlySuccesses(): Promise<string[]> {
    const rows = await this.database.sql<{ id: string; tx_id: string }>`
      select id, tx_id from orders where state = 'success'`
    return rows
      .filter(({ tx_id }) => !this.scenario.mined.has(tx_id))
      .map(({ id, tx_id }) => `C5 order ${id} is a success and ${tx_id} was never in a block`)
  }

  /** What is in blocks has been seen there by every step, and is not solid: now some of it is not
   *  there any more. Or what has been sent expires on a branch that is given up when everybody has
   *  seen that. */
  private async forkOnceMore(): Promise<void> {
    await this.drain('woken')
    if (this.dice.chance(0.5) && this.outside.leave()) {
      await this.drain('woken')
      this.outside.mine()
      await this.drain('woken')
      this.outside.comeBack()
    } else {
      this.outside.mine()
      await this.drain('woken')
      this.outside.forkBack()
    }
    if (this.dice.chance(0.5)) await this.drain('woken')
  }

  // How it ends.

  async comeToRest(): Promise<void> {
    if (this.findings.length > 0) return
    this.trace.note('phase', 'rest')
    this.network.troubles = NO_TROUBLES
    this.receiver.troubles = 0
    this.byways.delete('publish')
    if (this.plan.webhooks) this.byways.delete('notify')
    this.network.liar.lie = undefined
    this.network.down_for = 0
    this.chain.setSolidLag(Math.min(this.chain.solid_lag_blocks, 3))
    for (const { connections } of this.instances) connections.settle()
    await this.finishJobs()
    this.gate.open = true
    this.findings.push(...(await this.auditor.look()))
    for (let round = 0; round < 60 && this.findings.length === 0; round++) {
      const may_rest = round > (this.plan.votes ? VOTING_ROUNDS : 0)
      if (may_rest && !this.network.isLate && (await isAtRest(this.database.sql))) {
        await this.drain('all')
        this.findings.push(
          ...(await this.auditor.lookAtRest(this.place)),
          ...(await ownFindings(this.database.sql)),
        )
        this.findings.push(...this.receiver.findings(this.auditor.events))
        if (this.receiver.calls > 0) this.trace.add('webhook calls', this.receiver.calls)
        for (const [what, count] of Object.entries(this.auditor.outcomes()))
          this.trace.add(what, count)
        if (this.findings.length === 0) await this.steal()
        return
      }
      const open = await hasOpenOrders(this.database.sql)
      const shortly = open && round % 3 !== 2
      this.outside.jump(shortly ? 3 : open ? 70 : this.dice.pick([3_000, 3_500, 3_600]))
      if (this.plan.votes && round < VOTING_ROUNDS && !open) await this.passPeriod()
      await this.endSubscriptions(round)
      if (this.plan.by_hand > 0 && round < LAST_ROUND) await this.moveByHand()
      if (this.plan.collects > 0 && round < LAST_ROUND) await this.collectSome()
      if (round < this.plan.late_forks) await this.forkOnceMore()
      if (round === LAST_ROUND) this.outside.activateAgain()
      // Not for orders that were never delivered: the service pays those back by itself.
      if (round >= LAST_ROUND && (await hasOwedOrders(this.database.sql))) this.outside.stakeAgain()
      // From here on a block is solid soon: fewer are needed.
      if (round >= LAST_ROUND) this.chain.setSolidLag(1)
      this.outside.solidify()
      await this.drain(shortly ? 'woken' : 'rested')
    }
    if (this.findings.length > 0) return
    this.findings.push('it does not come to rest', ...(await this.auditor.lookAtRest(this.place)))
  }

  /** Last of all, because its rows break the books. */
  private async steal(): Promise<void> {
    const { sql } = this.database
    const { sign } = this.instances[0]!.app
    const thief = person('thief').address
    const findings = await signedForgeries({
      sql,
      sign,
      wallets: this.scenario.wallets,
      thief,
      now: this.clock.now(),
    })
    this.findings.push(...findings)
  }

  /** Lets everything under way end, without troubles. */
  private async finishJobs(): Promise<void> {
    for (let turns = 0; ; turns++) {
      await this.gate.quiet()
      // What was to be killed after a statement that waited for a lock dies only now.
      this.replaceDead()
      if (this.gate.held.length === 0) break
      await this.gate.release(this.dice.pick(this.gate.held), 'through')
      if (turns > 5_000) throw new Error('what is under way does not end')
    }
    const { waiting } = this.gate
    if (waiting.length > 0) throw new Error(`statements wait for each other: ${waiting.join('; ')}`)
    if (this.jobs.size > 0)
      throw new Error(`still under way: ${[...this.jobs].map(({ name }) => name).join(', ')}`)
  }

  /** Runs steps of one instance, in the order in which an order meets them, until none moves:
   *  those that were woken, or also those that have rested, or all there are. */
  private async drain(which: 'woken' | 'rested' | 'all'): Promise<void> {
    const instance = this.instances[0]!
    const { steps } = instance.app
    const needed = steps.filter(
      ({ name, rest_ms }) => rest_ms <= REST_MS_MAX && !this.byways.has(name),
    )
    const looked_at = which === 'all' ? steps : needed
    await instance.drain(looked_at, { rested: which !== 'woken' })
    // While troubles last, steps run in any order anyway, due or not.
    if (!this.gate.open) return
    await runNotDue(this.database.sql, looked_at, instance.askDue).catch((thrown: Error) => {
      this.findings.push(thrown.message)
    })
  }

  private get place() {
    const { recharge_address, refund } = this.scenario.wallets
    const { first_block, held_senders } = this
    return { first_block, recharge_address, refund_address: refund?.address, held_senders }
  }

  /** Most is held only when it is solid: operators go on while everything comes to rest. */
  private async moveByHand(): Promise<void> {
    for (let left = 4; left > 0 && this.operator; left--)
      await this.runTask(this.instances[0]!, this.operator.next())
  }

  /** Votes are counted, and earn; what is withdrawn of that is in a block, and not solid yet. */
  private async passPeriod(): Promise<void> {
    this.outside.jump(PERIOD_S)
    for (let blocks = 2; blocks > 0; blocks--) {
      this.outside.mine()
      await this.drain('rested')
    }
    this.findings.push(...(await this.auditor.look()))
  }

  /** Files that were made in troubled times are sent now, or too late. What is in a block then is
   *  not solid yet. */
  private async collectSome(): Promise<void> {
    for (let left = 4; left > 0 && this.collector; left--)
      await this.runTask(this.instances[0]!, this.collector.next())
    this.outside.mine()
    await this.drain('rested')
    this.findings.push(...(await this.auditor.look()))
  }

  /** Some more is used; then all are stopped, and the days go by of those that cannot be. */
  private async endSubscriptions(round: number): Promise<void> {
    if (this.plan.subscriptions.most === 0) return
    if (round < LAST_ROUND) this.outside.spend(this.subscribing?.running ?? [])
    if (round < LAST_ROUND || round > LAST_ROUND + 1) return
    this.findings.push(...(await this.auditor.look()))
    for (const stop of this.subscribing?.stops() ?? []) await this.runTask(this.instances[0]!, stop)
    if (round > LAST_ROUND) this.outside.jump(2 * 86_400)
  }
}
