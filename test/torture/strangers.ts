// `npm run torture -- strangers`: everything that somebody without a key can do to the port, and
// with a token that leaked, while customers buy and look at a steady rate. The processes run with
// their default limits. Customers are measured before, during and after: none of them may be
// refused, no process may end, and who does not read must be gone in time.

import { execFile } from 'node:child_process'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { signedCall } from '../../bench/parts/load.ts'
import { readArguments } from '../../tools/arguments.ts'
import { type Access, type Member, Rig } from './rig.ts'
import type { Attack, Counts, Order } from './strangers_thread.ts'

const BLOCK_MS = 500
/** Each tenth call of the customers is a purchase, the others look. */
const BUYS_EVERY = 10
const SLOW_SECONDS = 38
const CALM_SECONDS = 12
/** Where a purchase finds no room in the pool: it fills while hours do not pass. */
const HOUR_EVERY_MS = 4_000

/** One after another. */
const ATTACKS = ['resets', 'health', 'connections'] as const
const DURING: readonly string[] = [...ATTACKS, 'restart']

/** The service's own limits, but for the rate: one stranger of ours is not as fast as a real
 *  one. */
const ENVIRONMENT = { PENSTOCK_REQUESTS_PER_SECOND: '50', PENSTOCK_CONNECTIONS_PER_ADDRESS: '' }

type Sample = { phase: string; buys: boolean; ms: number }

/** Customers who call at a steady rate, whether or not earlier calls are answered, and never a
 *  second time. */
class Customers {
  phase = 'before'
  readonly samples: Sample[] = []
  readonly failures: Record<string, number> = {}
  /** Where they call. */
  urls: string[] = []
  private readonly accesses: readonly Access[]
  private readonly address: string
  private readonly calls = new Map<string, ReturnType<typeof signedCall>>()
  private readonly open = new Set<Promise<void>>()
  private calling = true
  private loop: Promise<void> = Promise.resolve()

  constructor(accesses: readonly Access[], address: string) {
    this.accesses = accesses
    this.address = address
  }

  begin(per_second: number): void {
    const began_ms = performance.now()
    this.loop = (async () => {
      for (let n = 0; this.calling; n++) {
        await delay(Math.max(0, began_ms + (1_000 * n) / per_second - performance.now()))
        const call = this.call(n)
        this.open.add(call)
        void call.finally(() => this.open.delete(call))
      }
    })()
  }

  async end(): Promise<void> {
    this.calling = false
    await this.loop
    await Promise.all(this.open)
  }

  /** Waits until all that was asked so far is answered. */
  async settled(): Promise<void> {
    await Promise.all([...this.open])
  }

  private async call(n: number): Promise<void> {
    const { phase } = this
    const began_ms = performance.now()
    const outcome = await this.ask(n).catch((thrown: Error) => thrown.message)
    this.samples.push({ phase, buys: n % BUYS_EVERY === 0, ms: performance.now() - began_ms })
    if (outcome !== 0)
      this.failures[`${phase}: ${outcome}`] = (this.failures[`${phase}: ${outcome}`] ?? 0) + 1
  }

  private async ask(n: number): Promise<number> {
    const access = this.accesses[n % this.accesses.length]!
    const url = this.urls[Math.floor(n / this.accesses.length) % this.urls.length]!
    const name = `${url} ${access.token}`
    const call = this.calls.get(name) ?? signedCall(url, access)
    this.calls.set(name, call)
    const params = { address: this.address, amount: 32_000, duration: 1 }
    const purchase = { service: 'energy', params, external_id: `honest-${n}` }
    const { code } = await (n % BUYS_EVERY === 0
      ? call('/v1/transaction/new', purchase)
      : call('/v1/balance', {}))
    return code
  }

  /** How long the answers of some phases took: those that only look, and purchases. */
  figures(phases: readonly string[]) {
    const of = (buys: boolean) => {
      const taken = this.samples.filter(
        (sample) => sample.buys === buys && phases.includes(sample.phase),
      )
      const times = taken.map(({ ms }) => ms).sort((a, b) => a - b)
      const at = (share: number) =>
        Math.round(10 * (times[Math.floor(share * times.length)] ?? 0)) / 10
      return { calls: times.length, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(0.999999) }
    }
    return { looks: of(false), buys: of(true) }
  }
}

/** Attacks under way, and what came of those that have ended. */
class Strangers {
  readonly told: Record<string, Counts> = {}
  private readonly workers = new Set<Worker>()
  private readonly order: Omit<Order, 'attack' | 'seconds'>

  constructor(order: Omit<Order, 'attack' | 'seconds'>) {
    this.order = order
  }

  async attack(attack: Attack, seconds: number): Promise<void> {
    const workerData: Order = { ...this.order, attack, seconds }
    const worker = new Worker(new URL('./strangers_thread.ts', import.meta.url), { workerData })
    this.workers.add(worker)
    this.told[attack] = await new Promise<Counts>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
    this.workers.delete(worker)
    await worker.terminate()
  }

  /** From now on they turn to other processes. */
  turnTo(ports: number[]): void {
    this.order.ports = ports
    for (const worker of this.workers) worker.postMessage(ports)
  }
}

const portOf = ({ api_url }: Member) => Number(new URL(api_url!).port)

async function memoryOf(members: readonly Member[]): Promise<number> {
  const pids = members.map(({ child }) => String(child.pid))
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', pids.join(',')])
  return Math.round(Math.max(...stdout.trim().split('\n').map(Number)) / 1_024)
}

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, {
    numbers: { seconds: 15, rate: 40, connections: 5_000 },
  })
  const say = (line: string) => (json ? process.stderr : process.stdout).write(`${line}\n`)
  say('a database, a chain, and three processes of the service are started')
  const rig = await Rig.open({ env: ENVIRONMENT })
  try {
    const torture = new Torture(rig, { ...numbers, say })
    const result = await torture.run()
    process.stdout.write(`${JSON.stringify(result, null, json ? 0 : 2)}\n`)
    return result.ok
  } finally {
    await rig.close()
  }
}

type Settings = { seconds: number; rate: number; connections: number; say: (line: string) => void }

class Torture {
  private readonly rig: Rig
  private readonly settings: Settings
  private readonly expected = new Set<Member>()
  private readonly ended: string[] = []
  private readonly memory_mib: Record<string, number> = {}
  private apis: Member[] = []

  constructor(rig: Rig, settings: Settings) {
    this.rig = rig
    this.settings = settings
  }

  async run() {
    const { rig, settings } = this
    this.apis = await Promise.all([this.start(), this.start()])
    await this.watch(await rig.start('worker'))
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    const hours = setInterval(() => rig.passAnHour(), HOUR_EVERY_MS)
    const customers = new Customers(rig.customers, rig.sandbox.funded_accounts[0]!.address)
    customers.urls = this.apis.map(({ api_url }) => api_url!)
    const token = rig.customers[0]!.token
    const strangers = new Strangers({
      ports: this.apis.map(portOf),
      token,
      connections: settings.connections,
    })
    customers.begin(settings.rate)
    this.lag.enable()
    await this.calm(customers, 'before')
    await this.attacks(customers, strangers)
    await this.calm(customers, 'after')
    await customers.end()
    clearInterval(hours)
    settings.say('everything comes to rest, and the auditor looks')
    const findings = await rig.lookAtRest()
    return this.judged(customers, strangers, findings)
  }

  private async start(): Promise<Member> {
    const member = await this.rig.start('api')
    this.watch(member)
    return member
  }

  /** Notes when a process ends that nobody has told to. */
  private watch(member: Member): void {
    void member.ended.then((code) => {
      if (!this.expected.has(member))
        this.ended.push(`${member.role} ended with ${code}: ${member.said.slice(-500)}`)
    })
  }

  /** How late our own thread is: beyond this it is the machine that is slow, and not the
   *  service. */
  private readonly lag = monitorEventLoopDelay({ resolution: 10 })

  private async calm(customers: Customers, phase: string): Promise<void> {
    this.settings.say(`${CALM_SECONDS} s of quiet ${phase} the attacks`)
    customers.phase = phase
    await delay(CALM_SECONDS * 1_000)
    this.memory_mib[phase] = await memoryOf(this.apis)
  }

  private async attacks(customers: Customers, strangers: Strangers): Promise<void> {
    const { seconds, say } = this.settings
    const all = Math.max(SLOW_SECONDS, 4 * seconds)
    const throughout = (['junk', 'leaked', 'slow'] as const).map((attack) =>
      strangers.attack(attack, attack === 'slow' ? SLOW_SECONDS : all),
    )
    say(`${all} s of junk, of wrong signatures with a leaked token, and of people who do not read`)
    for (const attack of ATTACKS) {
      say(`${seconds} s of ${attack}`)
      customers.phase = attack
      await strangers.attack(attack, seconds)
      this.memory_mib[attack] = await memoryOf(this.apis)
    }
    customers.phase = 'restart'
    say('one process after the other is replaced, and junk is there before the customers')
    for (const old of [...this.apis]) await this.replace(old, customers, strangers)
    await Promise.all(throughout)
  }

  /** As in a rolling restart, but the strangers find the new process first. */
  private async replace(old: Member, customers: Customers, strangers: Strangers): Promise<void> {
    const fresh = await this.start()
    this.apis = [...this.apis.filter((member) => member !== old), fresh]
    strangers.turnTo(this.apis.map(portOf))
    await delay(3_000)
    customers.urls = this.apis.map(({ api_url }) => api_url!)
    await customers.settled()
    this.expected.add(old)
    await old.kill('SIGTERM')
  }

  private judged(customers: Customers, strangers: Strangers, findings: string[]) {
    const { failures } = customers
    const { ended, memory_mib } = this
    const slow_gone = strangers.told.slow?.alive_after_30_seconds === 0
    const ok = ended.length + Object.keys(failures).length + findings.length === 0 && slow_gone
    for (const member of this.rig.members) this.expected.add(member)
    return {
      ok,
      honest: {
        before: customers.figures(['before']),
        during: customers.figures(DURING),
        after: customers.figures(['after']),
        failures,
        each: Object.fromEntries(DURING.map((phase) => [phase, customers.figures([phase])])),
      },
      ended,
      slow_gone,
      strangers: strangers.told,
      memory_mib,
      own_lag_max_ms: Math.round(this.lag.max / 1e6),
      findings,
    }
  }
}
