// Two hundred webhooks of ten customers at names that are never answered, `/v1/webhook/test` beside
// as fast as it is allowed, and name servers that stop answering for the node and the database,
// too: what others buy, read and are told must not notice. The same calls are timed while nothing
// is attacked, while ten other customers call as much and their names are answered, and during it,
// in turns whose order changes: a machine that has other work to do has it for all three. A ratio
// is the median of those of the turns, each made of what was measured within some seconds: one
// hiccup of the machine falls into one turn. The p99 of everything stands beside it.
//
// Two ratios come out. Silent names beside those that are answered: that is the names, for the load
// is the same. Silent names beside nothing at all: that is the names and the load of the attackers'
// calls. Both must hold. What the processor did in each phase is printed beside them.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { allowNetwork, createWebhook } from 'penstock-service/events/webhooks/webhooks.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { depositAddresses } from 'penstock-service/people/customers/deposit_addresses.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { processCpuUs, serverCpuReader } from '../../bench/parts/cpu.ts'
import { readArguments } from '../../tools/arguments.ts'
import { asRole } from '../harness/database.ts'
import { type NameAnswer, startNameServer } from '../harness/name_server.ts'
import { type Access, Rig } from './rig.ts'
import type { BuyerOrder, BuyerTimes } from './slow_names_buyer.ts'
import type { Attacker, Order } from './slow_names_thread.ts'

const ATTACKERS = 10
const WEBHOOKS_EACH = 20
const BLOCK_MS = 500
const RATIO_MAX = 1.2
const HERE: NameAnswer = { addresses: [['127.0.0.1']] }

const say = (line: string) => process.stdout.write(`${line}\n`)

/** The same address with a name for this machine. */
const named = (url: string, name: string) => url.replace(/127\.0\.0\.1|localhost/, name)

const WHAT = ['purchase', 'read', 'notice'] as const
type Times = Record<(typeof WHAT)[number], number[]>
const PHASES = ['quiet', 'answered', 'silent'] as const
type Phase = (typeof PHASES)[number]
/** A hundred purchases each: their p99 is not the slowest alone. */
const SLICE_SECONDS = 10
/** As long as the attackers call in a row. */
const WARM_SECONDS = 15
const REST_MS = 1_000
const none = (): Times => ({ purchase: [], read: [], notice: [] })

const partOf = (all: readonly number[], part: number): number =>
  [...all].sort((a, b) => a - b)[Math.floor((all.length - 1) * part)] ?? Number.NaN

/** A receiver whose calls are timed from when the event happened. */
async function startReceiver(late: (ms: number) => void) {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += String(part)
    late(Date.now() - Date.parse((JSON.parse(body) as { timestamp: string }).timestamp))
    response.writeHead(204).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

function needsOf(rig: Rig) {
  const { seal } = rig
  const new_id = idMaker(systemClock, systemRandom)
  const deposit_address = depositAddresses(rig.sandbox.wallets.deposit_xpub)
  return { clock: systemClock, random: systemRandom, new_id, seal, deposit_address }
}

/** Ten customers with keys and webhooks, which are told of all that is triggered. */
function makeAttackers(rig: Rig, phase: Phase): Promise<Attacker[]> {
  const needs = needsOf(rig)
  return rig.sql.begin(async (tx) => {
    const made: Attacker[] = []
    for (let i = 0; i < ATTACKERS; i++) {
      const { id: customer_id } = await createCustomer(tx, needs, { name: 'x' })
      const scopes = ['read', 'webhooks'] as const
      const { token, secret } = await issueKey(tx, needs, { customer_id, name: 'key', scopes })
      const ids: string[] = []
      for (let j = 0; j < WEBHOOKS_EACH; j++) {
        const url = `https://n${i}-${j}.${phase}.example/`
        const { webhook } = await createWebhook(tx, needs, { customer_id, url, scopes })
        ids.push(webhook.id)
      }
      made.push({ token, secret, ids })
    }
    return made
  })
}

/** The attackers of a phase, who wait to be told. */
async function startAttackers(rig: Rig, phase: Phase): Promise<Worker> {
  const workerData: Order = {
    api_url: rig.api_urls[0]!,
    attackers: await makeAttackers(rig, phase),
  }
  return new Worker(new URL('./slow_names_thread.ts', import.meta.url), { workerData })
}

/** Milliseconds of the processor that the service and its database have taken so far. */
async function cpuReader(rig: Rig): Promise<() => Promise<number>> {
  const server = await serverCpuReader(rig.sql)
  const pids = rig.members.map(({ child }) => child.pid!)
  return async () => {
    const all = await Promise.all([server(), ...pids.map(processCpuUs)])
    return all.reduce((sum, one) => sum + one, 0) / 1_000
  }
}

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, { numbers: { seconds: 30 } })
  let attacked = false
  const names = await startNameServer((name) =>
    name !== 'hook.example' && (attacked || name.endsWith('silent.example')) ? 'silent' : HERE,
  )
  const rig = await Rig.open({
    node_urls: async () => [],
    env: {
      PENSTOCK_DNS_SERVERS: names.address,
      PENSTOCK_ALLOW_HTTP_NODES: 'yes',
      PENSTOCK_ALLOW_UNVERIFIED_DATABASE: 'yes',
    },
  })
  const node = ['--node-url', named(rig.chain.url, 'node.example')]
  let times = none()
  const receiver = await startReceiver((ms) => times.notice.push(ms))
  const threads = new Map<Phase | 'buyer', Worker>()
  try {
    for (const role of ['api', 'worker'] as const) {
      const DATABASE_URL = asRole(named(rig.database_url, 'db.example'), `penstock_${role}`)
      await rig.start(role, node, { env: { DATABASE_URL } })
    }
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    await tellHonest(rig, receiver.port)
    for (const phase of ['answered', 'silent'] as const)
      threads.set(phase, await startAttackers(rig, phase))
    const buyer = startBuyer(rig)
    threads.set('buyer', buyer)
    const readCpu = await cpuReader(rig)
    const all: Record<Phase, Times[]> = { quiet: [], answered: [], silent: [] }
    const cpu_ms: Record<Phase, number> = { quiet: 0, answered: 0, silent: 0 }
    const run = async (phase: Phase, seconds: number) => {
      attacked = phase === 'silent'
      threads.get(phase)?.postMessage(true)
      times = none()
      const before_ms = await readCpu()
      const { purchase, read } = await useFor(buyer, seconds)
      times = { ...times, purchase, read }
      cpu_ms[phase] += (await readCpu()) - before_ms
      threads.get(phase)?.postMessage(false)
      // What was under way ends, and is nobody else's.
      attacked = false
      await delay(REST_MS)
      return times
    }
    // What is called for the first time is compiled first.
    for (const phase of PHASES) {
      await run(phase, WARM_SECONDS)
      cpu_ms[phase] = 0
    }
    const slices = Math.ceil(numbers.seconds / SLICE_SECONDS)
    for (let slice = 0; slice < slices; slice++)
      for (const i of PHASES.keys()) {
        const phase = PHASES[(i + slice) % PHASES.length]!
        all[phase].push(await run(phase, SLICE_SECONDS))
      }
    await rig.stopMining()
    const figures = WHAT.map((what) => {
      const of = (phase: Phase) => all[phase].flatMap((one) => one[what])
      const at = (part: number) => PHASES.map((phase) => partOf(of(phase), part))
      const p99_ms = (phase: Phase, slice: number) => partOf(all[phase][slice]![what], 0.99)
      const to = (other: Phase) => {
        const ratios = [...Array(slices).keys()].map((i) => p99_ms('silent', i) / p99_ms(other, i))
        return partOf(ratios, 0.5)
      }
      return {
        what,
        counts: PHASES.map((phase) => of(phase).length),
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        to_answered: to('answered'),
        to_quiet: to('quiet'),
      }
    })
    const refused = { count: failed.length, some: failed.slice(0, 3) }
    const cpu = PHASES.map((phase) => Math.round(cpu_ms[phase] / slices / SLICE_SECONDS))
    const told = { phases: PHASES, cpu_ms_a_second: cpu, asked: names.asked.size, refused, figures }
    say(JSON.stringify(told, null, json ? 0 : 2))
    const holds = ({ to_answered, to_quiet }: (typeof figures)[number]) =>
      Math.max(to_answered, to_quiet) <= RATIO_MAX
    return failed.length === 0 && figures.every(holds)
  } finally {
    await Promise.all([...threads.values()].map((thread) => thread.terminate()))
    receiver.close()
    names.close()
    await rig.close()
  }
}

/** What was not answered, or refused. */
const failed: string[] = []

/** A webhook of the first customer at a name that is answered. */
async function tellHonest(rig: Rig, port: number): Promise<void> {
  const { customer_id } = rig.customers[0]!
  const at = systemClock.now()
  await rig.sql.begin(async (tx) => {
    await allowNetwork(tx, { customer_id, network: '127.0.0.0/8', at })
    const url = `http://hook.example:${port}/`
    await createWebhook(tx, needsOf(rig), { customer_id, url, scopes: [...SCOPES] })
  })
}

/** The customer who is timed, for so many seconds. */
async function useFor(buyer: Worker, seconds: number): Promise<Pick<Times, 'purchase' | 'read'>> {
  const answered = once(buyer, 'message') as Promise<[BuyerTimes]>
  buyer.postMessage(seconds)
  const [times] = await answered
  failed.push(...times.failed)
  return times
}

function startBuyer(rig: Rig): Worker {
  const [{ token, secret }] = rig.customers as [Access]
  const { address } = rig.sandbox.funded_accounts[0]!
  const workerData: BuyerOrder = { api_url: rig.api_urls[0]!, token, secret, address }
  return new Worker(new URL('./slow_names_buyer.ts', import.meta.url), { workerData })
}
