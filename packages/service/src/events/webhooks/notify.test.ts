import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { withRace } from 'penstock-test/harness/race.ts'
import { type ReceivedEvent, TYPES, webhookRig } from 'penstock-test/harness/webhook_rig.ts'
import { Webhook as Verifier } from 'standardwebhooks'
import { Errors } from 'typebox/schema'
import { drain, type Step } from '../../platform/steps/step.ts'
import { listEvents } from '../log/events.ts'
import { webhookKinds } from './forms.ts'
import { type Replay, replayNotices } from './notices.ts'
import {
  changeWebhook,
  disableWebhook,
  lockWebhook,
  removeWebhook,
  rotateSecret,
} from './webhooks.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

test('what is written once a webhook was led elsewhere is told there alone', async (t) => {
  const { sql, needs, heard, steps, process, ...on } = await webhookRig(t)
  const { webhook } = await on.webhook({ url: 'https://before.example/' })
  await on.note(2)
  await drain(steps.slice(0, 1))
  const url = 'https://after.example/'
  const which = { customer_id: 'anna', id: webhook.id }
  // Before the process writes what is to be called, and after it has looked where.
  const lead = () => sql.begin((tx) => changeWebhook(tx, needs, which, { url, scopes: ['read'] }))
  await process('P3', withRace(sql, lead)).run()
  assert.deepEqual(
    heard.map(({ call }) => call.url.host),
    ['after.example', 'after.example'],
  )
})

test('every event reaches the webhook, once, signed so that anybody can verify it', async (t) => {
  const on = await webhookRig(t)
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
  const on = await webhookRig(t)
  const { webhook, secret } = await on.webhook()
  const which = { customer_id: 'anna', id: webhook.id, overlap_hours: 24 }
  const rotated = await on.sql.begin((tx) => rotateSecret(tx, on.needs, which))
  await assert.rejects(
    on.sql.begin((tx) => rotateSecret(tx, on.needs, which)),
    { code: 74 },
  )
  const verifies = (heard: ReceivedEvent, by: string) => {
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
  const on = await webhookRig(t)
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
  const on = await webhookRig(t)
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
  const on = await webhookRig(t)
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

test('once a receiver is back, what waits for its next try is told at once', async (t) => {
  const on = await webhookRig(t)
  await on.webhook()
  on.answers(() => ({ status: 500 }))
  await on.note(5)
  // Each is called four times: nobody is there, and the next try would be in two hours.
  for (const pause_ms of [0, 6 * SECOND, 6 * MINUTE, 33 * MINUTE]) {
    on.pass(pause_ms)
    await on.run()
  }
  assert.equal(on.heard.length, 20)
  on.answers(() => ({}))
  on.pass(MINUTE)
  await on.run()
  assert.deepEqual(await on.states(), Array(5).fill('delivered'))
})

test('one that has refused for five days is disabled, and goes on where it stopped', async (t) => {
  const on = await webhookRig(t)
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
  await on.sql.begin((tx) => changeWebhook(tx, on.needs, which, { state: 'on', scopes: ['read'] }))
  await on.run()
  assert.deepEqual(await state(), { state: 'on', reason: null })
  const told = new Set(on.heard.slice(calls).map(({ number }) => number))
  // 31 says that it was disabled, which it does not ask for.
  assert.ok(told.has(32))
})

test('410 disables it at once; 429 with Retry-After is kept', async (t) => {
  const on = await webhookRig(t)
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
  const on = await webhookRig(t)
  // The second is none that its maker may read.
  const { webhook } = await on.webhook({ types: ['order.succeeded', 'key.created'] })
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
  const on = await webhookRig(t, { patience_ms: 100 })
  await on.webhook({ url: 'https://slow.example/' })
  await on.webhook()
  const stuck = Promise.withResolvers<void>()
  const slow = () => on.heard.filter(({ call }) => call.url.host === 'slow.example').length
  on.answers(async ({ call }) => {
    if (call.url.host === 'slow.example') await stuck.promise
    return {}
  })
  await on.note(20)
  const delivered = async () => (await on.states()).filter((state) => state === 'delivered').length
  for (let i = 0; i < 100 && (await delivered()) < 20; i++) await on.run()
  assert.deepEqual([slow(), on.heard.length], [8, 28], 'eight calls at once hang')
  stuck.resolve()
  for (let i = 0; i < 100 && (await delivered()) < 40; i++) await on.run()
  assert.equal(await delivered(), 40)
})

test('two hundred webhooks of ten customers hold up no webhook of another', async (t) => {
  const { heard, sql, webhook, note, run } = await webhookRig(t)
  const many = Array.from({ length: 10 }, (_, i) => `many-${i}`)
  const customers = [...many.flatMap((one) => Array<string>(20).fill(one)), 'bert']
  for (const customer_id of customers)
    await webhook({ customer_id, url: `https://${customer_id}.example/` })
  await note(1)
  await sql`
    insert into event_note (customer_id, type, subject, at, data)
    select other.customer_id, type, subject, at, data from event_note,
      unnest(${[...many, 'bert']}::text[]) as other (customer_id)`
  await run()
  const hosts = heard.map(({ call }) => call.url.host)
  assert.equal(hosts.length, 201)
  const place = hosts.indexOf('bert.example')
  assert.ok(place >= 0 && place < 25, `called as number ${place}`)
})

test('who has as many webhooks as a process takes holds up no other for longer', async (t) => {
  const { heard, sql, webhook, note, steps } = await webhookRig(t, { webhooks_max: 2 })
  for (const name of ['one', 'two']) await webhook({ url: `https://${name}.example/` })
  await webhook({ customer_id: 'bert', url: 'https://bert.example/' })
  // Of one subject a batch has one call.
  await note(30, () => 'order:1')
  await sql`
    insert into event_note (customer_id, type, subject, at, data)
    select 'bert', type, subject, at, data from event_note limit 1`
  await drain(steps.slice(0, 2))
  const hosts = heard.map(({ call }) => call.url.host)
  assert.equal(hosts.length, 61)
  const place = hosts.indexOf('bert.example')
  assert.ok(place >= 0 && place < 10, `called as number ${place}`)
})

test('64 calls of a customer at once, and of a webhook as many as it allows', async (t) => {
  const on = await webhookRig(t, { patience_ms: 100 })
  for (let i = 0; i < 6; i++) await on.webhook({ url: `https://h${i}.example/`, at_once: 16 })
  const stuck = Promise.withResolvers<void>()
  on.answers(async () => {
    await stuck.promise
    return {}
  })
  await on.note(40)
  for (let i = 0; i < 100 && on.heard.length < 64; i++) await on.run()
  await on.run()
  assert.equal(on.heard.length, 64)
  const hosts = Object.values(Object.groupBy(on.heard, ({ call }) => call.url.host))
  assert.ok(hosts.every((calls) => calls!.length <= 16))
  stuck.resolve()
  const left = async () => (await on.states()).filter((state) => state !== 'delivered').length
  for (let i = 0; i < 100 && (await left()) > 0; i++) await on.run()
  assert.equal(on.heard.length, 240)
})

test('five customers whose receivers hang leave most of what goes on to others', async (t) => {
  const { heard, sql, webhook, note, steps, answers } = await webhookRig(t, { patience_ms: 100 })
  const many = Array.from({ length: 5 }, (_, i) => `many-${i}`)
  for (const customer_id of many.flatMap((one) => Array<string>(4).fill(one)))
    await webhook({ customer_id, url: `https://${customer_id}.example/`, at_once: 16 })
  const hanging: (() => void)[] = []
  const told = () => heard.filter(({ call }) => call.url.host === 'bert.example').length
  answers(async ({ call }) => {
    if (call.url.host.startsWith('many')) await new Promise<void>((go) => hanging.push(go))
    return {}
  })
  const tell = async (names: readonly string[]) => {
    await note(30)
    await sql`
      insert into event_note (customer_id, type, subject, at, data)
      select other.customer_id, type, subject, at, data from event_note,
        unnest(${names}::text[]) as other (customer_id)`
  }
  const run = () => drain(steps.slice(0, 2))
  await tell(many)
  for (let i = 0; i < 100 && hanging.length < 256; i++) await run()
  await webhook({ customer_id: 'bert', url: 'https://bert.example/' })
  await tell(['bert'])
  for (let i = 0; i < 5; i++) await run()
  assert.deepEqual([hanging.length, told()], [256, 0])
  let answered = 0
  for (; answered < 100 && told() < 30; answered++) {
    hanging.shift()!()
    await delay(5)
  }
  assert.ok(told() === 30 && answered < 10, `${told()} calls after ${answered} answers`)
  answers(() => ({}))
  for (const go of hanging) go()
  for (let i = 0; i < 100 && heard.length < 20 * 30 + 30; i++) await run()
})

test('per_second spreads the calls, and 502 halves that for five minutes', async (t) => {
  const on = await webhookRig(t)
  await on.webhook({ per_second: 10, at_once: 1 })
  await on.note(1)
  await on.run()
  const gaps = (from: number) =>
    on.heard.slice(from).map(({ at_ms }, i) => at_ms - on.heard[from + i - 1]!.at_ms)
  await on.note(30)
  await on.run()
  assert.ok(
    gaps(1).every((gap) => gap >= 100),
    `${gaps(1)}`,
  )
  on.answers(() => ({ status: on.heard.length === 32 ? 502 : 200 }))
  await on.note(20, (i) => `order:slow${i}`)
  on.pass(SECOND)
  await on.run()
  on.pass(6 * SECOND)
  await on.run()
  const slow_from = on.heard.length
  await on.note(10, (i) => `order:slower${i}`)
  await on.run()
  assert.ok(
    gaps(slow_from).every((gap) => gap >= 200),
    `${gaps(slow_from)}`,
  )
  on.pass(5 * MINUTE)
  const quick_from = on.heard.length + 1
  await on.note(10, (i) => `order:quick${i}`)
  await on.run()
  assert.deepEqual(
    gaps(quick_from),
    gaps(quick_from).map(() => 100),
  )
})

test('what is tried before its time uses up none of the schedule', async (t) => {
  const on = await webhookRig(t)
  await on.webhook()
  on.answers(() => ({ status: 500 }))
  await on.note(30)
  for (let minute = 0; minute < 60; minute++) {
    await on.run()
    on.pass(MINUTE)
  }
  assert.ok(on.heard.length > 60, `${on.heard.length} calls`)
  assert.deepEqual(new Set(await on.states()), new Set(['due']))
})

test('disabled and enabled are told as events, with the webhook as it was', async (t) => {
  const on = await webhookRig(t)
  const { webhook } = await on.webhook()
  on.answers(() => ({ status: 410 }))
  await on.note(1)
  await on.run()
  on.answers(() => ({}))
  const which = { customer_id: 'anna', id: webhook.id }
  // The last two are no news: its owner has done that, and could do it without end.
  for (const state of ['on', 'off', 'on'] as const)
    await on.sql.begin((tx) => changeWebhook(tx, on.needs, which, { state, scopes: ['read'] }))
  await on.run()
  const told = await listEvents(on.sql, { customer_id: 'anna', after: 1n, limit: 10 })
  for (const { type, data } of told) {
    const { data: schema } = webhookKinds.find((kind) => kind.type === type)!
    const [, errors] = Errors(schema, JSON.parse(data))
    assert.deepEqual(errors, [])
  }
  assert.deepEqual(
    told.map(({ type, subject, data }) => {
      const { state, reason } = JSON.parse(data) as { state: string; reason: string | null }
      return { type, subject, state, reason }
    }),
    [
      { type: 'webhook.disabled', state: 'disabled', reason: 'it answered 410' },
      { type: 'webhook.enabled', state: 'on', reason: null },
    ].map((one) => ({ ...one, subject: `webhook:${webhook.id}` })),
  )
})

test('a change leads what is told no further than those may read who change it', async (t) => {
  const on = await webhookRig(t)
  const { webhook } = await on.webhook({ scopes: ['read', 'money'] })
  const which = { customer_id: 'anna', id: webhook.id }
  const change = (given: object) =>
    on.sql.begin((tx) => changeWebhook(tx, on.needs, which, { scopes: ['read'], ...given }))
  assert.deepEqual((await change({ at_once: 2 })).scopes, ['read', 'money'])
  assert.deepEqual((await change({ url: 'https://other.example/' })).scopes, ['read'])
  await change({ scopes: ['read', 'money'], types: null })
  assert.deepEqual((await change({ types: ['order.created'] })).scopes, ['read'])
})

test('what is due and no longer asked for is passed over', async (t) => {
  const on = await webhookRig(t)
  const { webhook } = await on.webhook()
  on.answers(() => ({ status: 500 }))
  await on.note(1)
  await on.note(1, () => 'order:b', 'order.succeeded')
  await on.run()
  const which = { customer_id: 'anna', id: webhook.id }
  const types = ['order.succeeded']
  await on.sql.begin((tx) => changeWebhook(tx, on.needs, which, { types, scopes: ['read'] }))
  assert.deepEqual(await on.states(), ['passed', 'due'])
})

test('what is not kept any more is passed over, and holds up nothing', async (t) => {
  const on = await webhookRig(t)
  await on.webhook()
  on.answers(() => ({ status: 500 }))
  await on.note(2, () => 'order:a')
  await on.run()
  await on.sql`delete from event where number = 1`
  on.answers(() => ({}))
  on.pass(DAY)
  await on.run()
  assert.deepEqual(await on.states(), ['passed', 'delivered'])
})

test('a replay tells again what it is asked for, also what was passed over', async (t) => {
  const on = await webhookRig(t)
  const { webhook } = await on.webhook()
  const replay = (given: Partial<Replay>) =>
    on.sql.begin(async (tx) => {
      const locked = await lockWebhook(tx, { customer_id: 'anna', id: webhook.id })
      const wanted: Replay = { after: 0n, which: 'all', ...given }
      const readable = () => TYPES
      return replayNotices(tx, locked, wanted, { now: on.needs.clock.now(), readable })
    })
  await on.note(3)
  on.pass(HOUR)
  await on.note(2, (i) => `order:late${i}`, 'order.succeeded')
  await on.run()
  const ids = on.heard.map(({ id }) => id)
  const again = async (given: Partial<Replay>) => {
    const from = on.heard.length
    const count = await replay(given)
    await on.run()
    const heard = on.heard.slice(from)
    assert.equal(heard.length, count)
    assert.ok(heard.every(({ id, number }) => ids[number - 1] === id))
    return heard.map(({ number }) => number)
  }
  assert.deepEqual(await again({}), [1, 2, 3, 4, 5])
  assert.deepEqual(await again({ after: 3n }), [4, 5])
  assert.deepEqual(await again({ since: on.needs.clock.now() }), [4, 5])
  assert.deepEqual(await again({ until: new Date(on.needs.clock.now().getTime() - 1) }), [1, 2, 3])
  assert.deepEqual(await again({ types: ['order.succeeded', 'key.created'] }), [4, 5])
  assert.deepEqual(await again({ which: 'dead' }), [])
  await on.sql`delete from notice where number = 2`
  assert.deepEqual(await again({ until: new Date(on.needs.clock.now().getTime() - 1) }), [1, 2, 3])
  await on.sql`update notice set state = 'dead' where number = 5`
  assert.deepEqual(await again({ which: 'dead' }), [5])
})

test('a replay sends at once what waits for its next try, after any failures', async (t) => {
  for (const events of [2, 30]) {
    const on = await webhookRig(t)
    const { webhook } = await on.webhook()
    on.answers(() => ({ status: 500, ...(events === 2 && { retry_after_seconds: 3_600 }) }))
    await on.note(events)
    await on.run()
    // The receiver is mended before any of them would be tried again.
    on.answers(() => ({}))
    const failed = on.heard.length
    const again = (after: bigint) =>
      on.sql.begin(async (tx) => {
        const locked = await lockWebhook(tx, { customer_id: 'anna', id: webhook.id })
        const made = { now: on.needs.clock.now(), readable: () => TYPES }
        return replayNotices(tx, locked, { after, which: 'dead' }, made)
      })
    on.pass(1)
    const sent = await again(1n)
    assert.ok(sent > 0)
    await on.run()
    assert.ok(on.heard.length - failed >= events - 1, `${on.heard.length - failed} calls`)
    // What is under way is not counted twice.
    assert.equal(await again(1n), 0)
  }
})

/** How often a process takes the webhook up before it rests; 20: it does not. */
async function leases(step: Step): Promise<number> {
  for (let runs = 0; runs < 20; runs++) if (!(await step.run())) return runs
  return 20
}

test('a log that is not kept any more leaves nothing to look for again and again', async (t) => {
  const on = await webhookRig(t)
  await on.webhook()
  on.answers(() => ({ status: 500 }))
  await on.note(2)
  await on.run()
  assert.deepEqual(await on.states(), ['due', 'due'])
  const [publish, notify] = on.steps as [Step, Step]
  // More is numbered while nobody notifies, and none of it is kept.
  await on.note(2)
  await publish.run()
  await on.sql`delete from event`
  on.pass(MINUTE)
  assert.ok((await leases(notify)) < 3)
  assert.deepEqual(await on.states(), ['passed', 'passed'])
  on.answers(() => ({}))
  on.heard.length = 0
  await on.note(1)
  await on.run()
  assert.deepEqual(
    on.heard.map(({ number }) => number),
    [5],
  )
})

test('a webhook that cannot be called for a fault of ours is tried twice a minute', async (t) => {
  const on = await webhookRig(t)
  await on.webhook()
  await on.sql`update webhook_secret set sealed_secret = ''`
  const { open } = on.needs.seal
  on.needs.seal.open = () => {
    throw new Error('there is no such sealing key')
  }
  t.after(() => {
    on.needs.seal.open = open
  })
  await on.note(1)
  const [publish, notify] = on.steps as [Step, Step]
  await publish.run()
  assert.equal(await leases(notify), 1)
  on.needs.seal.open = open
  on.pass(MINUTE)
  await on.run()
  assert.deepEqual(await on.states(), ['delivered'])
})

test('a clock that was set back does not keep a process busy', async (t) => {
  const on = await webhookRig(t)
  await on.webhook({ per_second: 1 })
  await on.note(1)
  await on.run()
  on.pass(-HOUR)
  await on.note(1)
  await on.run()
  assert.equal(on.heard.length, 2)
})

test('one that is put off, or removed, while it is called is told so once', async (t) => {
  const on = await webhookRig(t)
  const { webhook } = await on.webhook()
  const which = { customer_id: 'anna', id: webhook.id }
  on.answers(async () => {
    await on.sql.begin((tx) => disableWebhook(tx, which, { reason: 'by hand', at: new Date() }))
    return { status: 410 }
  })
  await on.note(1)
  await on.run()
  const told = await on.sql<{ data: string }>`
    select data from event where type = 'webhook.disabled'`
  assert.deepEqual(
    told.map(({ data }) => (JSON.parse(data) as { reason: string }).reason),
    ['by hand'],
  )
})

test('nothing is called without a signature', async (t) => {
  const on = await webhookRig(t)
  const { webhook } = await on.webhook()
  await on.note(1)
  await on.steps[0]!.run()
  // It is removed between being taken up and being called.
  await on.sql`delete from webhook_secret where webhook_id = ${webhook.id}`
  await on.steps[1]!.run()
  assert.deepEqual(on.heard, [])
})
