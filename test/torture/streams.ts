// `npm run torture -- streams`: a thousand streams of twenty customers while events are numbered at
// a steady pace and the API is stopped and started again, now told to end and now killed. On every
// stream each number must follow the one before, and at the end all have everything.

import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { depositAddresses } from 'penstock-service/people/customers/deposit_addresses.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import { readArguments } from '../../tools/arguments.ts'
import {
  latenessWithin,
  type ReaderAccess,
  type StreamReaders,
  startStreamReaders,
} from '../../tools/stream_readers.ts'
import { freePort } from '../runtimes/runtimes.ts'
import { type Member, Rig } from './rig.ts'

const CUSTOMERS = 20
/** Of a key ten streams may be open, of a customer fifty. */
const KEYS_EACH = 5
const SAID_EVERY_MS = 60_000
const ALL_THERE_MS_MAX = 120_000
const DATA = 'x'.repeat(700)

const say = (line: string) => process.stdout.write(`${line}\n`)

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, {
    numbers: { streams: 1_000, seconds: 600, restarts: 3, 'events-per-second': 200 },
  })
  const rig = await Rig.open()
  const readers = await startStreamReaders()
  try {
    const customers = await makeCustomers(rig)
    const api = new Api(rig, await freePort())
    await Promise.all([api.start(), rig.start('worker')])
    const keys = customers.flatMap((one) => one.keys)
    await readers.open({ api_url: api.url, keys, streams: numbers.streams })
    if (!json) say(`${numbers.streams} streams are open`)
    const restarting = api.restart({ times: numbers.restarts, within_ms: numbers.seconds * 1_000 })
    const events = await note(rig, {
      customer_ids: customers.map(({ customer_id }) => customer_id),
      seconds: numbers.seconds,
      per_second: numbers['events-per-second'],
      tell: json ? () => {} : say,
    })
    await restarting
    const expected = (events / CUSTOMERS) * numbers.streams
    const heard = await untilAllThere(readers, expected)
    const findings = [
      ...heard.findings,
      ...(heard.events === expected ? [] : [`${heard.events} came, and not ${expected}`]),
    ]
    const { reopened } = heard
    const result = {
      ...numbers,
      events,
      heard: heard.events,
      reopened,
      commit_to_stream_p50_ms: latenessWithin(heard, 0.5),
      commit_to_stream_p99_ms: latenessWithin(heard, 0.99),
      findings: findings.slice(0, 20),
    }
    say(JSON.stringify(result, null, json ? 0 : 2))
    return findings.length === 0
  } finally {
    readers.stop()
    await rig.close()
  }
}

/** The API of one port, one process after another. */
class Api {
  private readonly rig: Rig
  private readonly port: number
  private member: Member | undefined

  constructor(rig: Rig, port: number) {
    this.rig = rig
    this.port = port
  }

  get url(): string {
    return this.member!.api_url!
  }

  async start(): Promise<void> {
    this.member = await this.rig.start('api', ['--port', String(this.port)])
  }

  /** Spread evenly over the time. */
  async restart({ times, within_ms }: { times: number; within_ms: number }): Promise<void> {
    for (let i = 0; i < times; i++) {
      await delay(within_ms / (times + 1))
      await this.member!.kill(i % 2 === 0 ? 'SIGTERM' : 'SIGKILL')
      await this.start()
    }
  }
}

type StreamingCustomer = { customer_id: string; keys: ReaderAccess[] }

async function makeCustomers({ sql, seal, sandbox }: Rig): Promise<StreamingCustomer[]> {
  const new_id = idMaker(systemClock, systemRandom)
  const deposit_address = depositAddresses(sandbox.wallets.deposit_xpub)
  const needs = { clock: systemClock, random: systemRandom, new_id, seal, deposit_address }
  return sql.begin(async (tx) => {
    const customers: StreamingCustomer[] = []
    for (let i = 0; i < CUSTOMERS; i++) {
      const { id: customer_id } = await createCustomer(tx, needs, { name: `reader ${i}` })
      const keys: ReaderAccess[] = []
      for (let key = 0; key < KEYS_EACH; key++)
        keys.push(await issueKey(tx, needs, { customer_id, name: `key ${key}` }))
      customers.push({ customer_id, keys })
    }
    return customers
  })
}

type NoteInput = {
  customer_ids: readonly string[]
  seconds: number
  per_second: number
  tell: (line: string) => void
}

/** As many events of one customer as of another. Returns how many. */
async function note({ sql }: Rig, { customer_ids, seconds, per_second, tell }: NoteInput) {
  const count = Math.floor((seconds * per_second) / customer_ids.length) * customer_ids.length
  const began_ms = Date.now()
  let said_ms = began_ms
  for (let i = 0; i < count; i++) {
    const due_ms = began_ms + (i * 1_000) / per_second
    if (due_ms > Date.now()) await delay(due_ms - Date.now())
    const data = JSON.stringify({ committed_ms: Date.now(), text: DATA })
    await sql`
      with noted as (
        insert into event_note (customer_id, type, subject, at, data)
        values (${customer_ids[i % customer_ids.length]!}, 'order.created', ${`order:${i}`}, now(),
                ${data})
        returning 1)
      select pg_notify('penstock_wake', 'publish') from noted`
    if (Date.now() - said_ms > SAID_EVERY_MS) {
      said_ms = Date.now()
      tell(`${i + 1} of ${count} events`)
    }
  }
  return count
}

async function untilAllThere(readers: StreamReaders, expected: number) {
  let heard = await readers.heard()
  for (const began_ms = Date.now(); heard.events < expected; heard = await readers.heard()) {
    if (Date.now() - began_ms > ALL_THERE_MS_MAX) break
    await delay(500)
  }
  return heard
}
