// How many calls a second reach one webhook, and twenty, from a log that is full, against a bare
// loop of http.request with the same signed bodies in the same run; and, at 200 events a second,
// how long it is from the commit of what happened to the first call that tells of it. Service,
// PostgreSQL and the receiver, which is a process of its own, share the machine.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Event, eventBody, listEvents } from 'penstock-service/events/log/events.ts'
import { publishStep } from 'penstock-service/events/log/publish.ts'
import { webhookCaller } from 'penstock-service/events/webhooks/caller.ts'
import { notifyStep } from 'penstock-service/events/webhooks/notify.ts'
import {
  newWebhookSecret,
  signingKey,
  webhookHeaders,
} from 'penstock-service/events/webhooks/signing.ts'
import { allowNetwork, createWebhook } from 'penstock-service/events/webhooks/webhooks.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { startSteps } from 'penstock-service/platform/steps/step.ts'
import { atEnd } from '../tools/ending.ts'

const CALLS = 20_000
const WARM_UP = 2_000
const AT_ONCE = 16
const MANY = 20
const PACE_PER_SECOND = 200
const PACE_SECONDS = 15
const TYPE = 'order.succeeded'
/** As long as a delivered order is. */
const DATA = JSON.stringify({ id: 'x'.repeat(26), text: 'x'.repeat(700) })

const new_id = idMaker(systemClock, systemRandom)
/** What it takes to seal is not what is measured: secrets are read once for a hundred calls. */
const seal = { seal: (secret: string) => secret, open: (sealed: string) => sealed }
const needs = { clock: systemClock, new_id, random: systemRandom, seal }

export async function run({ json }: { json: boolean }): Promise<void> {
  const postgres = await startPostgres({ throw_away: true })
  const sql = connect({ url: postgres.url, connections_max: 20 })
  const receiver = await startReceiver()
  try {
    await migrate(postgres.url)
    await calledBare(sql, receiver, WARM_UP)
    const before = await calledBare(sql, receiver, CALLS)
    const one = await calledByService(sql, receiver, 1)
    const many = await calledByService(sql, receiver, MANY)
    const after = await calledBare(sql, receiver, CALLS)
    const bare = Math.round((before + after) / 2)
    report(json, { bare, one, many, lateness_ms: await lateness(sql, receiver) })
  } finally {
    receiver.stop()
    await sql.close()
    await postgres.stop()
  }
}

type Receiver = {
  url: string
  ask<Answer>(what: 'count' | 'times' | 'forget'): Promise<Answer>
  stop(): void
}

async function startReceiver(): Promise<Receiver> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'parts/webhook_receiver.ts'))
  const end = atEnd(() => child.kill())
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    url: `http://127.0.0.1:${port}`,
    async ask<Answer>(what: string) {
      const answered = once(child, 'message')
      child.send(what)
      return ((await answered) as [Answer])[0]
    },
    stop: () => void end(),
  }
}

const untilHeard = async (receiver: Receiver, wanted: number): Promise<void> => {
  while ((await receiver.ask<{ count: number }>('count')).count < wanted) await delay(5)
}

/** Events of a customer, each about another subject, numbered. */
async function logEvents(sql: Sql, customer_id: string, count: number): Promise<void> {
  await sql`
    insert into event_note (customer_id, type, subject, at, data)
    select ${customer_id}, ${TYPE}, 'order:' || ${new_id()} || n, now(), ${DATA}
    from generate_series(1, ${count}) as n`
  const publish = publishStep({ sql, tellStreams: () => {} })
  while (await publish.run());
}

/** The same bodies and headers, sent as fast as so many at once can be. */
async function calledBare(sql: Sql, receiver: Receiver, count: number): Promise<number> {
  const customer_id = `bare-${new_id()}`
  await logEvents(sql, customer_id, count)
  const events: Event[] = []
  while (events.length < count) {
    const after = events.at(-1)?.number ?? 0n
    events.push(...(await listEvents(sql, { customer_id, after, limit: 1_000 })))
  }
  const secret = newWebhookSecret(systemRandom)
  const signed = events.map((event) => {
    const body = eventBody(event)
    return {
      body,
      headers: webhookHeaders([signingKey(secret)], { id: event.id, body }, new Date()),
    }
  })
  const agent = new Agent({ keepAlive: true })
  const send = ({ body, headers }: (typeof signed)[0]) =>
    new Promise<void>((resolve, reject) => {
      const length = { 'content-length': String(Buffer.byteLength(body)) }
      const options = { method: 'POST', agent, headers: { ...headers, ...length } }
      const sent = request(`${receiver.url}/bare`, options, (response) => {
        response.resume().on('end', resolve)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const began_ms = performance.now()
  const queue = signed.values()
  const lane = async () => {
    for (const one of queue) await send(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  const ms = performance.now() - began_ms
  agent.destroy()
  return Math.round((count / ms) * 1_000)
}

async function makeWebhooks(sql: Sql, receiver: Receiver, count: number): Promise<string> {
  const customer_id = `hooked-${new_id()}`
  await sql.begin(async (tx) => {
    await allowNetwork(tx, { customer_id, network: '127.0.0.0/8', at: new Date() })
    for (let i = 0; i < count; i++) {
      const url = `${receiver.url}/${i}`
      const wanted = { customer_id, url, scopes: ['read' as const], at_once: AT_ONCE }
      await createWebhook(tx, needs, wanted)
    }
  })
  return customer_id
}

/** A worker with the steps that tell, as the service runs them. */
function startWorker(sql: Sql) {
  const caller = webhookCaller()
  const log = (what: string, fields?: object) =>
    process.stderr.write(`${what} ${JSON.stringify(fields)}\n`)
  const running = startSteps(
    [
      publishStep({ sql, tellStreams: () => {} }),
      notifyStep({
        ...needs,
        sql,
        log,
        caller,
        process: new_id(),
        readable: () => [TYPE],
        chance: Math.random,
        wait: (ms) => delay(ms),
        wake: (step) => running.wake(step),
        user_agent: 'Penstock/bench',
      }),
    ],
    log,
  )
  return {
    wake: running.wake,
    async stop() {
      await running.stop()
      caller.close()
    },
  }
}

/** Calls a second, from a log that is full, to so many webhooks together. */
async function calledByService(sql: Sql, receiver: Receiver, webhooks: number): Promise<number> {
  const customer_id = await makeWebhooks(sql, receiver, webhooks)
  await logEvents(sql, customer_id, CALLS / webhooks)
  await receiver.ask('forget')
  const began_ms = performance.now()
  const worker = startWorker(sql)
  await untilHeard(receiver, CALLS)
  const ms = performance.now() - began_ms
  await worker.stop()
  await sql`update webhook set state = 'removed' where customer_id = ${customer_id}`
  return Math.round((CALLS / ms) * 1_000)
}

/** From the commit of a note, its writer having said so, to the first call, in
 *  milliseconds. */
async function lateness(sql: Sql, receiver: Receiver): Promise<number[]> {
  const customer_id = await makeWebhooks(sql, receiver, 1)
  await receiver.ask('forget')
  const worker = startWorker(sql)
  const committed: number[] = []
  const began_ms = Date.now()
  for (let i = 0; i < PACE_PER_SECOND * PACE_SECONDS; i++) {
    await delay(Math.max(0, began_ms + (i * 1_000) / PACE_PER_SECOND - Date.now()))
    await sql`
      insert into event_note (customer_id, type, subject, at, data)
      values (${customer_id}, ${TYPE}, ${`order:${i}`}, now(), ${DATA})`
    committed.push(Date.now())
    worker.wake('publish')
  }
  await untilHeard(receiver, committed.length)
  const { times } = await receiver.ask<{ times: [string, number][] }>('times')
  await worker.stop()
  const events = await sql<{ number: bigint; id: string }>`
    select number, id from event where customer_id = ${customer_id} order by number`
  const heard = new Map(times)
  return events.map(({ id }, i) => heard.get(`/0 ${id}`)! - committed[i]!)
}

function report(
  json: boolean,
  {
    bare,
    one,
    many,
    lateness_ms,
  }: Record<'bare' | 'one' | 'many', number> & {
    lateness_ms: number[]
  },
): void {
  const sorted = lateness_ms.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!
  const share = (calls: number) => Math.round((calls / bare) * 100) / 100
  const figures = {
    bare_calls_per_second: bare,
    calls_per_second_to_one: one,
    calls_per_second_to_twenty: many,
    share_of_bare_to_one: share(one),
    share_of_bare_to_twenty: share(many),
    commit_to_call_p50_ms: at(0.5),
    commit_to_call_p99_ms: at(0.99),
  }
  if (json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else {
    process.stdout.write(
      [
        `a bare loop of http.request   ${bare} calls a second`,
        `to one webhook                ${one}, ${share(one)} of it (2,000 and 0.4 are wanted)`,
        `to ${MANY} webhooks                ${many}, ${share(many)} of it`,
        `commit to first call          p50 ${at(0.5)} ms   p99 ${at(0.99)} ms at ` +
          `${PACE_PER_SECOND} events a second (250 ms are wanted)`,
        '',
      ].join('\n'),
    )
  }
}
