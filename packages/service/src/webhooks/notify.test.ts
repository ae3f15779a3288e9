import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Webhook as Verifier } from 'standardwebhooks'
import { publishStep } from '../events/publish.ts'
import { idMaker, systemRandom } from '../lib/ids.ts'
import { silentLog } from '../lib/log.ts'
import { drain } from '../steps/step.ts'
import type { Call, Caller, CallOutcome } from './caller.ts'
import { notifyStep } from './notify.ts'
import { changeWebhook, createWebhook, removeWebhook, rotateSecret } from './webhooks.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const TYPES = ['order.created', 'order.succeeded']
const seal = { seal: (secret: string) => `sealed ${secret}`, open: (text: string) => text.slice(7) }

type Heard = {
  number: number
  subject: string
  type: string
  id: string
  at_ms: number
  call: Call
}

/** A service of webhooks alone, on a clock that the test turns, and a receiver that answers what it
 *  is told to. */
async function rig(t: TestContext) {
  const { sql } = await freshDatabase(t)
  let now_ms = Date.UTC(2026, 10, 22)
  const clock = { now: () => new Date(now_ms) }
  const new_id = idMaker(clock, systemRandom)
  const heard: Heard[] = []
  let answer: (heard: Heard) => Partial<CallOutcome> | Promise<Partial<CallOutcome>> = () => ({})
  const caller: Caller = {
    async call(call) {
      const { number, subject, type, id } = JSON.parse(call.body) as Heard
      const one = { number, subject, type, id, at_ms: now_ms, call }
      heard.push(one)
      return { status: 200, error: null, body: 'ok', ms: 5, ...(await answer(one)) }
    },
    close() {},
  }
  const needs = { sql, clock, new_id, random: systemRandom, seal }
  const process = (name: string) =>
    notifyStep({
      ...needs,
      log: silentLog,
      caller,
      process: name,
      readable: () => TYPES,
      chance: () => 0.5,
      wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      user_agent: 'Penstock/test',
    })
  const steps = [
    publishStep({ sql, printers: {}, tellStreams: () => {} }),
    process('P1'),
    process('P2'),
  ]
  return {
    sql,
    heard,
    needs,
    steps,
    answers(how: typeof answer) {
      answer = how
    },
    pass: (ms: number) => {
      now_ms += ms
    },
    run: () => drain(steps),
    webhook: (wanted: { types?: string[]; at_once?: number } = {}) =>
      sql.begin((tx) =>
        createWebhook(tx, needs, {
          customer_id: 'anna',
          url: 'https://hook.example/',
          scopes: ['read'],
          ...wanted,
        }),
      ),
    async note(count: number, subject = (i: number) => `order:${i}`, type = 'order.created') {
      for (let i = 0; i < count; i++) {
        await sql`
          insert into event_note (customer_id, type, subject, at, data)
          values ('anna', ${type}, ${subject(i)}, ${clock.now()}, '{"id":"x"}')`
      }
    },
    states: async () => {
      const rows = await sql<{
        state: string
      }>`select state from notice order by webhook_id, number`
      return rows.map(({ state }) => state)
    },
  }
}

test('every event reaches the webhook, once, signed so that anybody can verify it', async (t) => {
  const on = await rig(t)
  const { secret } = await on.webhook()
  await on.note(3)
  await on.run()
  assert.deepEqual(
    on.heard.map(({ number }) => number),
    [1, 2, 3],
  )
  assert.deepEqual(await on.states(), ['delivered', 'delivered', 'delivered'])
  const [first] = on.heard
  const verifier = new Verifier(secret)
  const headers = { ...first!.call.headers }
  // The library compares with the time of now.
  headers['webhook-timestamp'] = String(Math.floor(Date.now() / 1_000))
  assert.throws(() => verifier.verify(first!.call.body, headers), /signature/i)
  await on.run()
  assert.equal(on.heard.length, 3)
})

test('a signature is right for its time, and by each secret that is alive', async (t) => {
  const on = await rig(t)
  const { webhook, secret } = await on.webhook()
  const which = { customer_id: 'anna', id: webhook.id, overlap_hours: 24 }
  const rotated = await on.sql.begin((tx) => rotateSecret(tx, on.needs, which))
  await assert.rejects(
    on.sql.begin((tx) => rotateSecret(tx, on.needs, which)),
    { code: 74 },
  )
  const verifies = (heard: Heard, by: string) => {
    const { body, headers } = heard.call
    const real = Date.now
    // The library reads the time of the machine; the rig has a clock of its own.
    Date.now = () => heard.at_ms
    try {
      new Verifier(by).verify(body, { ...headers })
      return true
    } catch {
      return false
    } finally {
      Date.now = real
    }
  }
  await on.note(1)
  await on.run()
  assert.deepEqual(
    [verifies(on.heard[0]!, secret), verifies(on.heard[0]!, rotated.secret)],
    [true, true],
  )
  on.pass(24 * HOUR)
  await on.note(1)
  await on.run()
  assert.deepEqual(
    [verifies(on.heard[1]!, secret), verifies(on.heard[1]!, rotated.secret)],
    [false, true],
  )
  const { call } = on.heard[1]!
  const body = call.body.replace('"id":"x"', '"id":"y"')
  const altered = { ...on.heard[1]!, call: { ...call, body } }
  assert.equal(verifies(altered, rotated.secret), false)
})

test('what fails is called again by the schedule, ten times, under the same id', async (t) => {
  const on = await rig(t)
  await on.webhook()
  on.answers(() => ({ status: 500 }))
  await on.note(1)
  const waits: number[] = []
  await on.run()
  for (let call = 2; call <= 10; call++) {
    const [{ due_at }] = (await on.sql<{ due_at: Date }>`select due_at from notice`) as [
      { due_at: Date },
    ]
    const wait_ms = due_at.getTime() - on.heard.at(-1)!.at_ms
    waits.push(wait_ms / SECOND)
    on.pass(wait_ms - 1)
    await on.run()
    assert.equal(on.heard.length, call - 1, `before call ${call}`)
    on.pass(1)
    await on.run()
    assert.equal(on.heard.length, call)
  }
  assert.deepEqual(waits, [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400])
  assert.deepEqual(await on.states(), ['dead'])
  assert.equal(new Set(on.heard.map(({ id }) => id)).size, 1)
})

test('events of one subject arrive in order: one waits for one that failed', async (t) => {
  const on = await rig(t)
  await on.webhook()
  on.answers(({ number }) => ({ status: number === 1 && on.heard.length === 1 ? 503 : 200 }))
  await on.note(1, () => 'order:a')
  await on.note(1, () => 'order:a', 'order.succeeded')
  await on.note(1, () => 'order:b')
  await on.run()
  assert.deepEqual(
    on.heard.map(({ number }) => number),
    [1, 3],
  )
  on.pass(6 * SECOND)
  await on.run()
  assert.deepEqual(
    on.heard.map(({ number }) => number),
    [1, 3, 1, 2],
  )
})

test('a receiver that is away costs a thousand rows, and gets all in the end', async (t) => {
  const on = await rig(t)
  await on.webhook({ at_once: 16 })
  let away = true
  on.answers(() => (away ? { status: null, error: 'connect' } : {}))
  await on.sql`
    insert into event_note (customer_id, type, subject, at, data)
    select 'anna', 'order.created', 'order:' || n, now(), '{}' from generate_series(1, 1500) as n`
  for (let minute = 0; minute < 10; minute++) {
    await on.run()
    on.pass(MINUTE)
  }
  const calls_while_away = on.heard.length
  const [open] = await on.sql<{
    count: bigint
  }>`select count(*) as count from notice where state = 'due'`
  assert.ok(open!.count <= 1_000n, `${open!.count} are open`)
  // Some twenty, then one a minute.
  assert.ok(calls_while_away < 60, `${calls_while_away} calls`)
  away = false
  const delivered = async () => (await on.states()).filter((state) => state === 'delivered').length
  for (let seconds = 0; seconds < 90 && (await delivered()) < 1_500; seconds++) {
    await on.run()
    on.pass(SECOND)
  }
  assert.equal(await delivered(), 1_500)
  assert.equal(new Set(on.heard.map(({ id }) => id)).size, 1_500)
})

test('one that has refused for five days is disabled, and goes on where it stopped', async (t) => {
  const on = await rig(t)
  const { webhook } = await on.webhook()
  on.answers(() => ({ status: 500 }))
  await on.note(30)
  for (let hour = 0; hour < 6 * 24; hour++) {
    await on.run()
    on.pass(HOUR)
  }
  const state = async () => {
    const [row] = await on.sql<{
      state: string
      reason: string | null
    }>`select state, reason from webhook`
    return row
  }
  assert.deepEqual(await state(), { state: 'disabled', reason: 'no call succeeded for five days' })
  const calls = on.heard.length
  await on.note(1)
  await on.run()
  assert.equal(on.heard.length, calls)
  on.answers(() => ({}))
  const which = { customer_id: 'anna', id: webhook.id }
  await on.sql.begin((tx) => changeWebhook(tx, on.needs, which, { state: 'on' }))
  await on.run()
  assert.deepEqual(await state(), { state: 'on', reason: null })
  const told = new Set(on.heard.slice(calls).map(({ number }) => number))
  assert.ok(told.has(31))
})

test('410 disables it at once; 429 with Retry-After is kept', async (t) => {
  const on = await rig(t)
  await on.webhook()
  on.answers(() => ({ status: 429, retry_after_seconds: 120 }))
  await on.note(1)
  await on.run()
  on.pass(119 * SECOND)
  await on.run()
  assert.equal(on.heard.length, 1)
  on.answers(() => ({ status: 410 }))
  on.pass(2 * SECOND)
  await on.run()
  assert.equal(on.heard.length, 2)
  const [row] = await on.sql<{ state: string; reason: string }>`select state, reason from webhook`
  assert.deepEqual(row, { state: 'disabled', reason: 'it answered 410' })
})

test('types are chosen, tests are not told, and a removed one is called no more', async (t) => {
  const on = await rig(t)
  const { webhook } = await on.webhook({ types: ['order.succeeded'] })
  await on.note(2)
  await on.note(1, () => 'order:a', 'order.succeeded')
  await on.note(1, () => 'key:a', 'key.created')
  await on.sql`
    insert into event_note (customer_id, type, subject, at, test, data)
    values ('anna', 'order.succeeded', 'test:a', now(), true, '{}')`
  await on.run()
  assert.deepEqual(
    on.heard.map(({ number }) => number),
    [3],
  )
  on.answers(() => ({ status: 500 }))
  await on.note(1, () => 'order:b', 'order.succeeded')
  await on.run()
  await on.sql.begin((tx) => removeWebhook(tx, { customer_id: 'anna', id: webhook.id }))
  on.pass(DAY)
  await on.run()
  assert.equal(on.heard.length, 2)
  assert.deepEqual(await on.states(), ['delivered', 'passed'])
})

test('one that is slow holds up no other', async (t) => {
  const on = await rig(t)
  const { webhook: slow } = await on.webhook()
  await on.webhook()
  let free: () => void = () => {}
  const stuck = new Promise<void>((resolve) => {
    free = resolve
  })
  let slow_calls = 0
  on.answers(async ({ call }) => {
    // Which of the two it is says the signature alone, so the first eight calls are the slow one's.
    if (slow_calls < 8 && call.headers['webhook-id'] !== undefined && slow.id !== '') {
      slow_calls += 1
      await stuck
    }
    return {}
  })
  await on.note(20)
  await on.run()
  const delivered = (await on.states()).filter((state) => state === 'delivered').length
  assert.ok(delivered >= 12, `${delivered} of 40 are delivered while the other hangs`)
  free()
  for (let i = 0; i < 20; i++) await on.run()
})
