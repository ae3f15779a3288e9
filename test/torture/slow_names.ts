// Two hundred webhooks of ten customers at names that are never answered, `/v1/webhook/test`
// beside, and name servers that stop answering for the node and the database, too: what others buy,
// read and are told must not notice. The same calls are timed while nothing is attacked, while the
// attackers call as much and their names are answered, and during it, in turns: a machine that has
// other work to do has it for all three.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { allowNetwork, createWebhook } from 'penstock-service/events/webhooks/webhooks.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { depositAddresses } from 'penstock-service/people/customers/deposit_addresses.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { Penstock } from '../../packages/sdk/src/penstock.ts'
import { readArguments } from '../../tools/arguments.ts'
import { asRole } from '../harness/database.ts'
import { type NameAnswer, startNameServer } from '../harness/name_server.ts'
import { type Access, Rig } from './rig.ts'

const ATTACKERS = 10
const WEBHOOKS_EACH = 20
const BLOCK_MS = 500
const EVERY_MS = 100
const PAUSE_MS = 1_000
const RATIO_MAX = 1.2
const HERE: NameAnswer = { addresses: [['127.0.0.1']] }

const say = (line: string) => process.stdout.write(`${line}\n`)

/** The same address with a name for this machine. */
const named = (url: string, name: string) => url.replace(/127\.0\.0\.1|localhost/, name)

const WHAT = ['purchase', 'read', 'notice'] as const
type Times = Record<(typeof WHAT)[number], number[]>
const PHASES = ['quiet', 'answered', 'silent'] as const
type Phase = (typeof PHASES)[number]
const SLICE_SECONDS = 5
const WARM_SECONDS = 5
const none = (): Times => ({ purchase: [], read: [], notice: [] })

const p99 = (all: readonly number[]): number =>
  [...all].sort((a, b) => a - b)[Math.floor((all.length - 1) * 0.99)] ?? Number.NaN

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

/** The attackers' keys and webhooks, which are told of all that is triggered. */
function makeAttackers(rig: Rig): Promise<{ access: Access; ids: string[] }[]> {
  const needs = needsOf(rig)
  return rig.sql.begin(async (tx) => {
    const made: { access: Access; ids: string[] }[] = []
    for (let i = 0; i < ATTACKERS; i++) {
      const { id: customer_id, deposit_address } = await createCustomer(tx, needs, { name: 'x' })
      const scopes = ['read', 'webhooks'] as const
      const key = await issueKey(tx, needs, { customer_id, name: 'key', scopes: [...scopes] })
      const ids: string[] = []
      for (let j = 0; j < WEBHOOKS_EACH; j++) {
        const url = `https://n${i}-${j}.silent.example/`
        const { webhook } = await createWebhook(tx, needs, { customer_id, url, scopes })
        ids.push(webhook.id)
      }
      made.push({ access: { customer_id, deposit_address, ...key }, ids })
    }
    return made
  })
}

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, { numbers: { seconds: 30 } })
  let attacked = false
  let answers_attackers = false
  const isSilent = (name: string) =>
    attacked || (name.endsWith('silent.example') && !answers_attackers)
  const answered = (name: string) => (name === 'hook.example' ? HERE : undefined)
  const names = await startNameServer(
    (name) => answered(name) ?? (isSilent(name) ? 'silent' : HERE),
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
  try {
    for (const role of ['api', 'worker'] as const) {
      const DATABASE_URL = asRole(named(rig.database_url, 'db.example'), `penstock_${role}`)
      await rig.start(role, node, { env: { DATABASE_URL } })
    }
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    await tellHonest(rig, receiver.port)
    const attackers = await makeAttackers(rig)
    const all: Record<Phase, Times> = { quiet: none(), answered: none(), silent: none() }
    const run = async (phase: Phase, seconds: number) => {
      times = none()
      let over = false
      attacked = phase === 'silent'
      answers_attackers = phase === 'answered'
      const attacks =
        phase === 'quiet' ? [] : attackers.map((one) => attackUntil(rig, one, () => over))
      await useFor(rig, seconds, () => times)
      over = true
      await Promise.all(attacks)
      return times
    }
    await run('quiet', WARM_SECONDS)
    for (let slice = 0; slice * SLICE_SECONDS < numbers.seconds; slice++)
      for (const phase of PHASES) {
        const found = await run(phase, SLICE_SECONDS)
        for (const what of WHAT) all[phase][what].push(...found[what])
      }
    await rig.stopMining()
    const figures = WHAT.map((what) => {
      const [quiet_ms, answered_ms, silent_ms] = PHASES.map((phase) => p99(all[phase][what]))
      const counts = PHASES.map((phase) => all[phase][what].length)
      const ratio = silent_ms! / quiet_ms!
      return {
        what,
        counts,
        quiet_ms,
        answered_ms,
        silent_ms,
        ratio,
        of_names: silent_ms! / answered_ms!,
      }
    })
    const refused = { count: failed.length, some: failed.slice(0, 3) }
    say(JSON.stringify({ asked: names.asked.size, refused, figures }, null, json ? 0 : 2))
    return failed.length === 0 && figures.every(({ ratio }) => ratio <= RATIO_MAX)
  } finally {
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

const clientOf = (rig: Rig, { token, secret }: Pick<Access, 'token' | 'secret'>) =>
  new Penstock({ url: rig.api_urls[0]!, token, secret, retries: 0, timeout_ms: 15_000 })

/** An attacker tries webhooks, and lets all be told. */
async function attackUntil(
  rig: Rig,
  { access, ids }: { access: Access; ids: string[] },
  isOver: () => boolean,
): Promise<void> {
  const client = clientOf(rig, access)
  const lane = async (first: number) => {
    for (let i = first; !isOver(); i += 4) {
      const id = ids[i % ids.length]!
      await client.webhooks.test({ id, type: 'order.created' }).catch(() => {})
      await client.events.trigger({ type: 'order.created', webhook_id: id }).catch(() => {})
      // What is measured are the names, and not how many calls a machine can take.
      await delay(PAUSE_MS)
    }
  }
  await Promise.all([0, 1, 2, 3].map(lane))
}

/** One customer buys and reads, so often a second; each answer is timed. */
async function useFor(rig: Rig, seconds: number, times: () => Times): Promise<void> {
  const client = clientOf(rig, rig.customers[0]!)
  const [to] = rig.sandbox.funded_accounts
  const ends_ms = performance.now() + seconds * 1_000
  const asked: Promise<void>[] = []
  const timed = async (what: 'purchase' | 'read', call: () => Promise<unknown>) => {
    const began_ms = performance.now()
    const list = times()[what]
    try {
      await call()
    } catch (thrown) {
      failed.push(`${what}: ${String(thrown)}`)
    }
    list.push(performance.now() - began_ms)
  }
  const params = { address: to!.address, amount: 32_000, duration: 1 }
  while (performance.now() < ends_ms) {
    asked.push(timed('purchase', () => client.orders.create({ service: 'energy', params })))
    asked.push(timed('read', () => client.balance.get()))
    await delay(EVERY_MS)
  }
  await Promise.all(asked)
}
