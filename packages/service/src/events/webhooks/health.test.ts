// What calls say of a webhook: when it is slow, paused, disabled or well again, and how it is
// called meanwhile. Of each bound both sides.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { webhookRig } from 'penstock-test/harness/webhook_rig.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { CallOutcome } from './caller.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** A webhook, and what is called at one moment. */
async function withWebhook(t: TestContext) {
  const on = await webhookRig(t)
  const { webhook } = await on.webhook()
  const { sql, needs } = on
  const { id } = webhook
  const now = () => needs.clock.now().getTime()
  const at = (ms: number) => new Date(now() + ms)
  const health = async () => {
    const [row] = await sql<{
      state: string
      reason: string | null
      failed_in_a_row: number
      failing_since: Date | null
      slow_until: Date | null
      paused_until: Date | null
      called_at: Date | null
    }>`select * from webhook where id = ${id}`
    return row!
  }
  const reset = () => sql`
    update webhook set state = 'on', reason = null, failed_in_a_row = 0, failing_since = null,
      slow_until = null, paused_until = null, called_at = null, at_once = 8, per_second = null
    where id = ${id}`
  /** One event, answered so, by a webhook that has failed before. */
  const answered = async (
    outcome: Partial<CallOutcome>,
    { failed = 0, since_ms = undefined as number | undefined } = {},
  ) => {
    await sql`delete from notice`
    await reset()
    await sql`
      update webhook set failed_in_a_row = ${failed},
        failing_since = ${since_ms === undefined ? null : at(since_ms)}, called_at = ${at(-MINUTE)}
      where id = ${id}`
    on.answers(() => outcome)
    await on.note(1)
    await on.run()
    return health()
  }
  return { ...on, id, at, now, health, reset, answered }
}

test('a receiver is slow for five minutes after 429, 502 or 504, and after no other', async (t) => {
  const { answered, at } = await withWebhook(t)
  for (const [status, is_slow] of [
    [429, true],
    [502, true],
    [504, true],
    [500, false],
    [503, false],
    [404, false],
    [200, false],
    [null, false],
  ] as const) {
    const { slow_until } = await answered({ status })
    assert.deepEqual(slow_until, is_slow ? at(5 * MINUTE) : null, `${status}`)
  }
})

test('a receiver that refuses is left alone for as long as it asks', async (t) => {
  const { answered, at } = await withWebhook(t)
  for (const [status, retry_after_seconds, pause_ms] of [
    [503, 7, 7_000],
    [429, 1, 1_000],
    [503, 0, null],
    [503, undefined, null],
    [200, 7, null],
  ] as const) {
    const { paused_until } = await answered({
      status,
      ...(retry_after_seconds !== undefined && { retry_after_seconds }),
    })
    assert.deepEqual(paused_until, pause_ms === null ? null : at(pause_ms), `${status}`)
  }
})

test('one that fails is disabled by 410, or by 20 failures in five days', async (t) => {
  const { answered, at } = await withWebhook(t)
  const WORN = 'no call succeeded for five days'
  for (const [status, failed, since_ms, reason] of [
    [410, 0, undefined, 'it answered 410'],
    [500, 0, undefined, null],
    [500, 19, -5 * DAY, WORN],
    [500, 25, -5 * DAY, WORN],
    [500, 18, -5 * DAY, null],
    [500, 19, -5 * DAY + 1, null],
    [200, 19, -5 * DAY, null],
  ] as const) {
    const found = await answered({ status }, { failed, ...(since_ms && { since_ms }) })
    const text = `${status} after ${failed}`
    assert.deepEqual([found.state, found.reason], [reason ? 'disabled' : 'on', reason], text)
    const is_delivered = status === 200
    assert.equal(found.failed_in_a_row, is_delivered ? 0 : failed + 1, text)
    const since = is_delivered ? null : at(since_ms ?? 0)
    assert.deepEqual(found.failing_since, since, text)
    assert.deepEqual(found.called_at, at(0), text)
  }
})

test('once one that has failed 20 times is back, what waits is called at once', async (t) => {
  const { sql, id, at, reset, note, run, answers } = await withWebhook(t)
  for (const [failed, expected] of [
    [19, ['due', 'delivered']],
    [20, ['delivered', 'delivered']],
  ] as const) {
    await reset()
    await sql`delete from notice`
    await note(2)
    await sql`update webhook set state = 'off'`
    answers(() => ({}))
    await run()
    const [end] = await sql<{ number: bigint }>`select max(number) as number from event`
    await sql`
      insert into notice (webhook_id, number, event_id, type, subject, due_at)
      select ${id}, number, id, type, number::text,
        case when number = ${end!.number} then ${at(0)} else ${at(MINUTE)}::timestamptz end
      from event where number > ${end!.number - 2n}`
    await sql`
      update webhook set state = 'on', position = ${end!.number}, failed_in_a_row = ${failed},
        called_at = ${at(-MINUTE)}`
    await run()
    const rows = await sql<{ state: string }>`select state from notice order by number`
    assert.deepEqual(
      rows.map(({ state }) => state),
      expected,
    )
  }
})

test('calls keep the pace that was asked for, half of it while the receiver is slow', async (t) => {
  const { sql, note, run, waits, reset, at } = await withWebhook(t)
  const pauses = async (set: () => Promise<unknown>) => {
    await reset()
    await sql`delete from notice`
    await set()
    waits.length = 0
    await note(3)
    await run()
    return [...waits]
  }
  const set = (per_second: number | null, called_ms: number | null, slow_ms: number | null) => () =>
    sql`
      update webhook set per_second = ${per_second},
        called_at = ${called_ms === null ? null : at(called_ms)},
        slow_until = ${slow_ms === null ? null : at(slow_ms)}, at_once = 1`
  assert.deepEqual(await pauses(set(null, -1, null)), [])
  assert.deepEqual(await pauses(set(4, null, null)), [250, 250])
  assert.deepEqual(await pauses(set(4, -250, null)), [250, 250])
  assert.deepEqual(await pauses(set(4, -100, null)), [150, 250, 250])
  assert.deepEqual(await pauses(set(4, 5_000, null)), [250, 250, 250], 'a clock that is ahead')
  assert.deepEqual(await pauses(set(4, null, MINUTE)), [500, 500])
  assert.deepEqual(await pauses(set(4, null, 0)), [250, 250], 'slow no more')
})

test('as many are called at once as the webhook allows, half while it is slow', async (t) => {
  const { sql, note, run, answers, reset, at } = await withWebhook(t)
  let under_way = 0
  let most = 0
  const mostOf = async (at_once: number, slow_ms: number | null) => {
    await reset()
    await sql`delete from notice`
    await sql`
      update webhook set at_once = ${at_once},
        slow_until = ${slow_ms === null ? null : at(slow_ms)}`
    most = 0
    answers(async () => {
      under_way++
      most = Math.max(most, under_way)
      await new Promise((resolve) => setImmediate(resolve))
      under_way--
      return {}
    })
    await note(20)
    await run()
    return most
  }
  assert.equal(await mostOf(8, null), 8)
  assert.equal(await mostOf(8, MINUTE), 4)
  assert.equal(await mostOf(8, 0), 8)
  assert.equal(await mostOf(3, MINUTE), 1)
  assert.equal(await mostOf(1, MINUTE), 1)
})

test('twenty failures in a row end a batch, and one that succeeds begins anew', async (t) => {
  const { sql, note, run, answers, heard, reset, health } = await withWebhook(t)
  const callsOf = async (statuses: (call: number) => number, failed = 0) => {
    await reset()
    await sql`delete from notice`
    await sql`update webhook set at_once = 1, failed_in_a_row = ${failed}`
    const from = heard.length
    answers(() => ({ status: statuses(heard.length - from) }))
    await note(30)
    await run()
    return heard.length - from
  }
  assert.equal(await callsOf(() => 500), 20)
  assert.equal((await health()).failed_in_a_row, 20)
  assert.equal(await callsOf((call) => (call === 3 ? 200 : 500)), 23)
  assert.equal(await callsOf(() => 500, 15), 5)
  assert.equal(await callsOf((call) => (call === 4 ? 410 : 500)), 4)
  assert.equal((await health()).state, 'disabled')
  assert.equal(await callsOf(() => 200, 15), 30)
})

test('no call of a batch is begun after ten seconds, but the next batch goes on', async (t) => {
  const { sql, note, run, answers, heard, pass, reset, health, at } = await withWebhook(t)
  for (const [ms, called] of [
    [5_000, 3],
    [5_001, 2],
  ] as const) {
    await reset()
    await sql`delete from notice`
    await sql`update webhook set at_once = 1`
    const from = heard.length
    const leases: number[] = []
    answers(async () => {
      const { called_at } = await health()
      leases.push(called_at === null ? 0 : 1)
      pass(ms)
      return {}
    })
    await note(5)
    await run()
    assert.equal(heard.length - from, 5)
    // What comes after the first batch sees that this was called.
    assert.equal(leases.filter((one) => one === 0).length, called)
    assert.deepEqual((await health()).called_at, at(0))
  }
})

test('a run says whether it has taken up a webhook, and is due while one is told', async (t) => {
  const { sql, steps, webhook, note, answers } = await webhookRig(t, { patience_ms: 1 })
  const [publish, notify] = steps as [Step, Step]
  await webhook()
  assert.deepEqual([await isDue(sql, notify), await notify.run()], [false, false])
  const answered = Promise.withResolvers<void>()
  answers(async () => {
    await answered.promise
    return {}
  })
  await note(1)
  await publish.run()
  assert.deepEqual([await notify.run(), await isDue(sql, notify)], [true, true])
  answered.resolve()
  for (let more = 0; more < 1_000 && (await isDue(sql, notify)); more++) await notify.run()
  assert.deepEqual([await isDue(sql, notify), await notify.run()], [false, false])
})
