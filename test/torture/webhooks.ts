// `npm run torture -- webhooks`: twenty webhooks of four customers who buy, while workers are
// killed and started again: of two that run, one or both at a time. Every event must reach every
// webhook at least once, always under its own id, and of one subject the first calls must come in
// the order of the numbers. Then, without kills, one receiver is away for a while and comes back:
// meanwhile it costs a bounded number of rows and the others nothing.

import { setTimeout as delay } from 'node:timers/promises'
import { allowNetwork, createWebhook } from 'penstock-service/events/webhooks/webhooks.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { readArguments } from '../../tools/arguments.ts'
import { Dice } from '../simulator/dice.ts'
import { Buyers } from './buyers.ts'
import { Hook, startReceiver } from './receiver.ts'
import { Rig } from './rig.ts'

const WEBHOOKS_EACH = 5
const PEOPLE = 4
const PAUSE_MS = 100
const BLOCK_MS = 200
const OPEN_MAX = 1_000
/** From the return of a receiver until it is tried, and what a slow machine takes besides. */
const BACK_MS_MAX = 60_000 + 120_000
const QUIET_MS_MAX = 300_000
const SCOPES = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'] as const

const say = (line: string) => process.stdout.write(`${line}\n`)

type Receiver = Awaited<ReturnType<typeof startReceiver>>

export async function run(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { kills: 100, 'away-seconds': 60 },
    texts: ['seed'],
  })
  const dice = new Dice(texts.seed ?? 'webhooks')
  const rig = await Rig.open()
  const receiver = await startReceiver(dice)
  const buyers = new Buyers(rig)
  const findings: string[] = []
  let killed = 0
  try {
    await Promise.all((['api', 'worker', 'worker'] as const).map((role) => rig.start(role)))
    await rig.fund()
    await makeWebhooks(rig, receiver)
    await noteBeginnings(rig, receiver)
    buyers.begin(PEOPLE, PAUSE_MS)
    rig.keepMining(BLOCK_MS)
    while (killed < numbers.kills) {
      await delay(dice.between(100, 1_500))
      const before = killed
      killed += await killWorkers(rig, dice)
      if (!json && Math.floor(killed / 20) > Math.floor(before / 20))
        say(`${killed} kills, ${callsOf(receiver)} calls`)
    }
    const away = await goAway(rig, receiver, numbers['away-seconds'])
    await buyers.endWhenSoldTo()
    findings.push(...away.findings, ...(await untilQuiet(rig)), ...(await compare(rig, receiver)))
    const result = {
      killed,
      webhooks: receiver.hooks.size,
      events: await eventCount(rig),
      calls: callsOf(receiver),
      first_calls: [...receiver.hooks.values()].reduce((sum, { first }) => sum + first.length, 0),
      away: away.figures,
      findings: findings.slice(0, 20),
    }
    say(JSON.stringify(result, null, json ? 0 : 2))
  } finally {
    receiver.close()
    await rig.close()
  }
  return findings.length === 0
}

const callsOf = ({ hooks }: Receiver) =>
  [...hooks.values()].reduce((sum, { calls }) => sum + calls, 0)

async function eventCount({ sql }: Rig): Promise<number> {
  const [row] = await sql<{ count: bigint }>`
    select count(*) as count from event where customer_id <> 'house'`
  return Number(row!.count)
}

/** The first is the one that goes away. */
async function makeWebhooks(rig: Rig, receiver: Receiver): Promise<void> {
  const new_id = idMaker(systemClock, systemRandom)
  const needs = { clock: systemClock, random: systemRandom, new_id, seal: rig.seal }
  for (const { customer_id } of rig.customers) {
    await rig.sql.begin(async (tx) => {
      const allowed = { customer_id, network: '127.0.0.0/8', at: systemClock.now() }
      await allowNetwork(tx, allowed)
      for (let i = 0; i < WEBHOOKS_EACH; i++) {
        const path = `/${receiver.hooks.size}`
        const wanted = { customer_id, url: `${receiver.url}${path}`, scopes: SCOPES }
        const { secret } = await createWebhook(tx, needs, wanted)
        receiver.hooks.set(path, new Hook(path, { customer_id, secret }))
      }
    })
  }
}

/** By customer: the number of the newest event. */
async function newestNumbers(sql: Rig['sql']): Promise<Map<string, bigint>> {
  const ends = await sql<{ customer_id: string; last_number: bigint }>`
    select customer_id, last_number from event_counter`
  return new Map(ends.map(({ customer_id, last_number }) => [customer_id, last_number]))
}

/** What was numbered while the webhooks were made is told to some of them; from here on to all. */
async function noteBeginnings(rig: Rig, { hooks }: Receiver): Promise<void> {
  const { sql } = rig
  await rig.until(
    'what is noted is not numbered',
    async () => (await sql`select 1 from event_note limit 1`).length === 0,
  )
  const last_of = await newestNumbers(sql)
  for (const hook of hooks.values()) hook.begins_after = last_of.get(hook.customer_id) ?? 0n
}

/** Kills one worker, or both, in the midst of whatever they do, and starts as many. */
async function killWorkers(rig: Rig, dice: Dice): Promise<number> {
  const workers = rig.members.filter(({ role }) => role === 'worker')
  const victims = dice.chance(0.2) ? workers : [dice.pick(workers)]
  await Promise.all(victims.map((worker) => worker.kill('SIGKILL')))
  await Promise.all(victims.map(() => rig.start('worker')))
  return victims.length
}

/** What a receiver that is away costs, how soon it has everything again, and how late the others
 *  hear meanwhile. */
async function goAway(rig: Rig, receiver: Receiver, seconds: number) {
  const [one, ...others] = [...receiver.hooks.values()]
  // What the kills have left behind is not what is measured.
  const findings = await untilQuiet(rig)
  const lateness = async (look: () => Promise<void>) => {
    const from = others.map(({ first }) => first.length)
    for (const end_ms = Date.now() + seconds * 1_000; Date.now() < end_ms; ) {
      await look()
      await delay(250)
    }
    const late = others.flatMap(({ first }, i) => first.slice(from[i]).map((one) => one.late_ms))
    late.sort((a, b) => a - b)
    return late[Math.floor(0.99 * (late.length - 1))] ?? 0
  }
  const others_p99_ms_before = await lateness(async () => {})
  one!.away = true
  let open_most = 0
  const others_p99_ms_meanwhile = await lateness(async () => {
    open_most = Math.max(open_most, (await leftOf(rig, one!)).due)
  })
  const left = await leftOf(rig, one!)
  one!.away = false
  const began_ms = Date.now()
  for (let last = left; last.due + last.waiting > 10; last = await leftOf(rig, one!)) {
    if (Date.now() - began_ms > BACK_MS_MAX) {
      findings.push(`${last.due + last.waiting} are not told ${BACK_MS_MAX} ms after the return`)
      break
    }
    await delay(100)
  }
  const caught_up_ms = Date.now() - began_ms
  if (open_most > OPEN_MAX) findings.push(`${open_most} notices were open at once`)
  const missed = left.due + left.waiting
  const times = { others_p99_ms_before, others_p99_ms_meanwhile, caught_up_ms }
  return { findings, figures: { seconds, missed, open_most, ...times } }
}

async function leftOf({ sql }: Rig, { path, customer_id }: Hook) {
  const [row] = await sql<{ due: bigint; waiting: bigint }>`
    select (select count(*) from notice where webhook_id = w.id and state = 'due') as due,
      (select last_number from event_counter as c where c.customer_id = w.customer_id) - position
        as waiting
    from webhook as w where customer_id = ${customer_id} and url like ${`%:%${path}`}`
  return { due: Number(row!.due), waiting: Number(row!.waiting) }
}

/** Waits until nothing is to be told any more but what has just happened. */
async function untilQuiet({ sql }: Rig): Promise<string[]> {
  const end_ms = Date.now() + QUIET_MS_MAX
  for (;;) {
    const [old] = await sql<{ count: bigint }>`
      select count(*) as count from notice as n join event as e on e.id = n.event_id
      where n.state = 'due' and e.at < now() - interval '7 seconds'`
    const [behind] = await sql<{ count: bigint }>`
      select count(*) as count from webhook as w join event_counter as c using (customer_id)
      where last_number - position > 100`
    if (old!.count + behind!.count === 0n) return []
    if (Date.now() > end_ms) return [`${old!.count} notices are not told, after minutes`]
    await delay(200)
  }
}

/** Holds what has arrived against the log, as far as it goes now: the chain goes on, and with it
 *  the log. */
async function compare({ sql }: Rig, { hooks }: Receiver): Promise<string[]> {
  const findings: string[] = []
  const last_of = await newestNumbers(sql)
  const customers = [...last_of.keys()]
  const numbers = [...last_of.values()]
  for (const end_ms = Date.now() + QUIET_MS_MAX; Date.now() < end_ms; await delay(200)) {
    const [open] = await sql`
      select 1 from webhook as w
        join unnest(${customers}::text[], ${numbers}::bigint[]) as e (customer_id, last_number)
        using (customer_id)
      where position < e.last_number or exists (
        select from notice as n
        where n.webhook_id = w.id and n.state = 'due' and n.number <= e.last_number) limit 1`
    if (!open) break
  }
  for (const hook of hooks.values()) {
    const last = last_of.get(hook.customer_id) ?? 0n
    const events = await sql<{ number: bigint; id: string }>`
      select number, id from event
      where customer_id = ${hook.customer_id} and not test and number <= ${last}
        and number > ${hook.begins_after}`
    if (events.length < 10) findings.push(`${hook.path}: only ${events.length} events happened`)
    for (const { number, id } of events) {
      const told = hook.ids.get(Number(number))
      if (told !== id) findings.push(`${hook.path} was told ${told} of event ${number}, ${id}`)
    }
    findings.push(...hook.findings, ...hook.outOfOrder())
  }
  return findings
}
