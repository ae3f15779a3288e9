// Which webhooks and notices are taken up, written, listed, called again and forgotten: rows on
// both sides of every bound.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { DAY_MS } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  addCall,
  addNotice,
  callsOfNotice,
  dueNotices,
  isDelivered,
  type LeasedWebhook,
  leasableWebhooks,
  leaseWebhooks,
  listNotices,
  type NoticeFilter,
  type NoticeState,
  noteCalls,
  passForgotten,
  pruneNoticesStep,
  type Replay,
  releaseWebhook,
  replayNotices,
  retryNotice,
  takeEvents,
} from './notices.ts'
import { afterCall } from './retries.ts'
import { lockWebhook } from './webhooks.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const after = (ms: number) => new Date(NOW.getTime() + ms)
const [CREATED, FAILED] = ['order.created', 'order.failed']
const readable = () => [CREATED!, FAILED!]

type Row = {
  id?: string
  customer_id?: string
  state?: 'on' | 'off' | 'disabled' | 'removed'
  types?: string[]
  position?: number
  leased_by?: string
  leased_until?: Date
  paused_until?: Date
  failed_in_a_row?: number
  called_at?: Date
}

async function insert(sql: Sql, row: Row = {}): Promise<void> {
  const { id = 'w', customer_id = 'anna', state = 'on', position = 0 } = row
  await sql`
    insert into webhook (id, customer_id, url, types, scopes, state, reason, position, made_at,
      failed_in_a_row, paused_until, called_at, leased_by, leased_until)
    values (${id}, ${customer_id}, 'https://a.example/', ${row.types ?? null}, '{read}', ${state},
      ${state === 'disabled' ? 'asked' : null}, ${position}, ${NOW}, ${row.failed_in_a_row ?? 0},
      ${row.paused_until ?? null}, ${row.called_at ?? null}, ${row.leased_by ?? null},
      ${row.leased_until ?? null})`
}

type NoticeRow = {
  webhook_id?: string
  number: number
  subject?: string
  state?: NoticeState
  due_at?: Date
  calls?: number
}

async function notice(sql: Sql, row: NoticeRow, count = 1): Promise<void> {
  const { webhook_id = 'w', number, state = 'due', due_at = NOW, calls = 0 } = row
  await sql`
    insert into notice (webhook_id, number, event_id, type, subject, state, calls, due_at)
    select ${webhook_id}, n, n::text, ${CREATED}, coalesce(${row.subject ?? null}, n::text),
      ${state}, ${calls}, ${due_at}
    from generate_series(${number}::integer, ${number + count - 1}) as n`
}

type EventRow = {
  customer_id?: string
  number: number
  type?: string
  subject?: string
  at?: Date
  test?: boolean
}

async function event(sql: Sql, row: EventRow, count = 1): Promise<void> {
  const { customer_id = 'anna', number, type = CREATED, at = NOW } = row
  await sql`
    insert into event (customer_id, number, id, type, subject, at, test, data)
    select ${customer_id}, n, ${customer_id} || n, ${type}, ${row.subject ?? 'order:a'}, ${at},
      ${row.test ?? false}, '{}'
    from generate_series(${number}::integer, ${number + count - 1}) as n`
}

const counter = (sql: Sql, last_number: number, customer_id = 'anna') => sql`
  insert into event_counter (customer_id, last_number) values (${customer_id}, ${last_number})
  on conflict (customer_id) do update set last_number = excluded.last_number`

const positionOf = async (sql: Sql, id = 'w') =>
  (await sql<{ position: bigint }>`select position from webhook where id = ${id}`)[0]!.position

const statesOf = async (sql: Sql, id = 'w') => {
  const rows = await sql<{ text: string }>`
    select number || ' ' || state as text from notice where webhook_id = ${id} order by number`
  return rows.map(({ text }) => text)
}

const lease = async (sql: Sql, limit = 9) => {
  const leased = await leaseWebhooks(sql, { process: 'P1', now: NOW, limit })
  return leased.map(({ id }) => id).sort()
}

const isLeasable = (sql: Sql, busy = false) =>
  isDue(sql, {
    name: 'notify',
    rest_ms: 1_000,
    due: (fragment) => leasableWebhooks(fragment, { now: NOW, busy }),
    run: async () => false,
  })

const LATER = after(1)

test('a webhook is taken up that is on, free, not paused, and has something to tell', async (t) => {
  const { sql } = await freshDatabase(t)
  const ahead = (row: Row) => async () => {
    await counter(sql, 1)
    await insert(sql, row)
  }
  const open =
    (row: Row, ...notices: Partial<NoticeRow>[]) =>
    async () => {
      await insert(sql, { position: 1, ...row })
      for (const [i, one] of notices.entries()) await notice(sql, { number: i + 1, ...one })
    }
  const with_other = async () => {
    await open({}, { due_at: LATER })()
    await insert(sql, { id: 'other', state: 'off' })
    await notice(sql, { webhook_id: 'other', number: 1 })
    await counter(sql, 1)
    await counter(sql, 9, 'bert')
  }
  const minute_ago = after(-60_000)
  for (const [title, prepare, expected] of [
    ['the log goes on', ahead({}), true],
    ['the log has ended', ahead({ position: 1 }), false],
    ['the log goes on, off', ahead({ state: 'off' }), false],
    ['due now', open({}, {}), true],
    ['due later', open({}, { due_at: LATER }), false],
    ['due later, of one who has no log', open({ position: 0 }, { due_at: LATER }), false],
    ['delivered', open({}, { state: 'delivered' }), false],
    ['one is delivered, another due later', open({}, { state: 'dead' }, { due_at: LATER }), false],
    ['off', open({ state: 'off' }, {}), false],
    ['disabled', open({ state: 'disabled' }, {}), false],
    ['removed', open({ state: 'removed' }, {}), false],
    ['a lease that is over', open({ leased_by: 'P2', leased_until: NOW }, {}), true],
    ['a lease', open({ leased_by: 'P2', leased_until: LATER }, {}), false],
    ['a pause that is over', open({ paused_until: NOW }, {}), true],
    ['a pause', open({ paused_until: LATER }, {}), false],
    ['failed 19 times', open({ failed_in_a_row: 19, called_at: NOW }, {}), true],
    ['failed, a minute ago', open({ failed_in_a_row: 20, called_at: minute_ago }, {}), true],
    ['failed lately', open({ failed_in_a_row: 20, called_at: after(-59_999) }, {}), false],
    [
      'failed 20 times, due later',
      open({ failed_in_a_row: 20, called_at: minute_ago }, { due_at: LATER }),
      true,
    ],
    [
      'failed 19 times, due later',
      open({ failed_in_a_row: 19, called_at: minute_ago }, { due_at: LATER }),
      false,
    ],
    ["due later; another's are due now, and its log goes on", with_other, false],
  ] as const) {
    for (const table of ['notice', 'webhook', 'event_counter'] as const) {
      if (table === 'notice') await sql`delete from notice`
      else if (table === 'webhook') await sql`delete from webhook`
      else await sql`delete from event_counter`
    }
    await prepare()
    assert.equal(await isLeasable(sql), expected, `${title}: is one to be taken up`)
    assert.deepEqual(await lease(sql), expected ? ['w'] : [], title)
  }
  assert.equal(await isLeasable(sql, true), true, 'a process that is busy looks again')
})

test('a webhook with a thousand open notices reads no further, and tells the first', async (t) => {
  const { sql } = await freshDatabase(t)
  await counter(sql, 5_000)
  for (const id of ['full', 'room', 'late', 'behind']) await insert(sql, { id })
  await notice(sql, { webhook_id: 'full', number: 1, due_at: LATER }, 1_000)
  await notice(sql, { webhook_id: 'room', number: 1, due_at: LATER }, 999)
  await notice(sql, { webhook_id: 'room', number: 2_000, state: 'dead' }, 5)
  await notice(sql, { webhook_id: 'late', number: 1, due_at: LATER }, 1_000)
  await notice(sql, { webhook_id: 'late', number: 1_001 })
  await notice(sql, { webhook_id: 'behind', number: 1, due_at: LATER }, 999)
  await notice(sql, { webhook_id: 'behind', number: 1_000 })
  assert.deepEqual(await lease(sql), ['behind', 'room'])
})

test('of one subject a later notice waits for the first, of another it does not', async (t) => {
  const { sql } = await freshDatabase(t)
  await insert(sql, { id: 'same' })
  await insert(sql, { id: 'other' })
  for (const webhook_id of ['same', 'other']) {
    await notice(sql, { webhook_id, number: 1, subject: 'a', due_at: LATER })
    await notice(sql, { webhook_id, number: 2, subject: webhook_id === 'same' ? 'a' : 'b' })
  }
  assert.deepEqual(await lease(sql), ['other'])
})

test('those that have waited longest are taken up first, but for what is locked', async (t) => {
  const { sql } = await freshDatabase(t)
  await counter(sql, 1)
  await insert(sql, { id: 'a', called_at: after(-1) })
  await insert(sql, { id: 'b', called_at: after(-2) })
  await insert(sql, { id: 'd' })
  await insert(sql, { id: 'c' })
  await sql.begin(async (tx) => {
    await tx`select 1 from webhook where id = 'c' for update`
    assert.deepEqual(await lease(sql, 1), ['d'])
  })
  assert.deepEqual(await lease(sql, 2), ['b', 'c'])
  const rows = await sql<{ id: string }>`
    select id from webhook where leased_by = 'P1' and leased_until = ${after(30_000)} order by id`
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['b', 'c', 'd'],
  )
  await releaseWebhook(sql, { id: 'b', process: 'P2' })
  await releaseWebhook(sql, { id: 'c', process: 'P1' })
  assert.deepEqual(await lease(sql), ['a', 'c'])
})

const take = (sql: Sql, id = 'w', process = 'P1') =>
  sql.begin((tx) => takeEvents(tx, { id, process, now: NOW, readable }))

test('what is taken of the log is what its webhook asks for and may read', async (t) => {
  const { sql } = await freshDatabase(t)
  await insert(sql, { leased_by: 'P1', position: 1 })
  await insert(sql, { id: 'some', leased_by: 'P1', types: [FAILED!, 'key.ending'] })
  await insert(sql, { id: 'off', leased_by: 'P1', state: 'off' })
  await event(sql, { number: 1 }, 2)
  await event(sql, { number: 3, type: FAILED! })
  await event(sql, { number: 4, type: 'key.ending' })
  await event(sql, { number: 5, test: true })
  await event(sql, { number: 1, customer_id: 'bert' }, 9)
  await counter(sql, 5)
  assert.deepEqual([await take(sql, 'w', 'P2'), await take(sql, 'off')], [false, false])
  assert.deepEqual([await take(sql), await take(sql)], [true, false])
  assert.deepEqual(await statesOf(sql), ['2 due', '3 due'])
  assert.deepEqual([await positionOf(sql), await positionOf(sql, 'some')], [5n, 0n])
  assert.equal(await take(sql, 'some'), true)
  assert.deepEqual(await statesOf(sql, 'some'), ['3 due'])
  const [row] = await sql<{ event_id: string; type: string; due_at: Date; calls: number }>`
    select event_id, type, due_at, calls from notice where webhook_id = 'some'`
  assert.deepEqual([row!.event_id, row!.type, row!.due_at, row!.calls], ['anna3', FAILED, NOW, 0])
})

test('200 events are taken at once, and no more than a thousand notices are open', async (t) => {
  const { sql } = await freshDatabase(t)
  await event(sql, { number: 1 }, 401)
  await event(sql, { number: 1, customer_id: 'bert' }, 500)
  await counter(sql, 401)
  for (const id of ['w', 'full', 'room']) await insert(sql, { id, leased_by: 'P1' })
  await notice(sql, { webhook_id: 'full', number: 1_000 }, 1_000)
  await notice(sql, { webhook_id: 'room', number: 1_000 }, 999)
  await notice(sql, { webhook_id: 'room', number: 3_000, state: 'delivered' }, 9)
  const takes = async (id: string) => [await take(sql, id), await positionOf(sql, id)]
  assert.deepEqual(await takes('w'), [true, 200n])
  assert.deepEqual(await takes('w'), [true, 400n])
  assert.deepEqual(await takes('w'), [true, 401n])
  assert.deepEqual(await takes('w'), [false, 401n])
  assert.deepEqual(await takes('full'), [false, 0n])
  assert.deepEqual(await takes('room'), [true, 1n])
  assert.deepEqual(await takes('room'), [false, 1n])
})

test('where what comes next is not kept, a webhook goes on at the end of its log', async (t) => {
  const { sql } = await freshDatabase(t)
  await insert(sql, { leased_by: 'P1' })
  await event(sql, { number: 1, customer_id: 'bert' })
  await counter(sql, 9, 'bert')
  assert.deepEqual([await take(sql), await positionOf(sql)], [false, 0n])
  await counter(sql, 7)
  assert.deepEqual([await take(sql), await positionOf(sql)], [true, 7n])
  assert.deepEqual([await take(sql), await positionOf(sql)], [false, 7n])
})

test('called are the oldest open notices of their subjects that are due', async (t) => {
  const { sql } = await freshDatabase(t)
  await event(sql, { number: 1 }, 9)
  await event(sql, { number: 1, customer_id: 'bert' }, 9)
  await insert(sql)
  await insert(sql, { id: 'other' })
  for (const [number, subject, due_at, state] of [
    [1, 'a', LATER, 'due'],
    [2, 'a', NOW, 'due'],
    [3, 'b', NOW, 'delivered'],
    [4, 'b', NOW, 'due'],
    [5, 'b', NOW, 'due'],
    [6, 'c', NOW, 'due'],
    [7, 'd', LATER, 'due'],
  ] as const)
    await notice(sql, { number, subject, due_at, state, calls: number })
  await notice(sql, { webhook_id: 'other', number: 8, subject: 'e' })
  const due = async (failed_in_a_row: number, limit = 9) => {
    const webhook = { id: 'w', customer_id: 'anna', failed_in_a_row } as LeasedWebhook
    const found = await dueNotices(sql, webhook, { now: NOW, limit })
    assert.ok(
      found.every(({ customer_id, calls, number }) => {
        return customer_id === 'anna' && calls === Number(number)
      }),
    )
    return found.map(({ number }) => Number(number))
  }
  assert.deepEqual(await due(0), [4, 6])
  assert.deepEqual(await due(19, 1), [4])
  assert.deepEqual(await due(20), [1], 'one that fails on and on is asked with the oldest')
})

test('a notice is called that is among the thousand that are open longest', async (t) => {
  const { sql } = await freshDatabase(t)
  await insert(sql)
  await event(sql, { number: 1 }, 1_001)
  await notice(sql, { number: 1, due_at: LATER }, 999)
  await notice(sql, { number: 1_000 }, 2)
  const webhook = { id: 'w', customer_id: 'anna', failed_in_a_row: 0 } as LeasedWebhook
  const found = await dueNotices(sql, webhook, { now: NOW, limit: 9 })
  assert.deepEqual(
    found.map(({ number }) => number),
    [1_000n],
  )
})

test('a notice is delivered by an answer from 200 to 299', () => {
  const by = (status: number | null) => isDelivered({ status, error: null, body: null, ms: 1 })
  assert.deepEqual([199, 200, 299, 300, null].map(by), [false, true, true, false, false])
})

test('each failure puts off the next call, until the tenth, unless it was made early', () => {
  const chance = () => 0.5
  const call = (calls: number, due_at: Date, is_delivered = false) => {
    const {
      state,
      due_at: next,
      ...made
    } = afterCall({ calls, due_at }, { at: NOW, is_delivered }, chance)
    return [state, made.calls, (next.getTime() - NOW.getTime()) / 1_000]
  }
  assert.deepEqual(call(0, NOW), ['due', 1, 5])
  assert.deepEqual(call(8, NOW), ['due', 9, 86_400])
  assert.deepEqual(call(9, NOW), ['dead', 10, 0])
  assert.deepEqual(call(3, after(2_000)), ['due', 3, 2])
  assert.deepEqual(call(3, after(2_000), true), ['delivered', 4, 0])
  const spread = (part: number) =>
    afterCall({ calls: 1, due_at: NOW }, { at: NOW, is_delivered: false }, () => part).due_at
  assert.deepEqual([spread(0), spread(1)], [after(270_000), after(330_000)])
})

test('what came of a call is kept of its notice, unless that is open no more', async (t) => {
  const { sql } = await freshDatabase(t)
  await event(sql, { number: 1 }, 3)
  for (const id of ['w', 'other']) {
    await insert(sql, { id })
    await notice(sql, { webhook_id: id, number: 1, subject: 'a' }, 3)
  }
  await sql`update notice set subject = number::text`
  const webhook = { id: 'w', customer_id: 'anna', failed_in_a_row: 0 } as LeasedWebhook
  const due = await dueNotices(sql, webhook, { now: NOW, limit: 9 })
  await sql`update notice set state = 'passed' where webhook_id = 'w' and number = 3`
  const made = due.map((one, i) => ({
    notice: one,
    at: NOW,
    outcome: { status: [200, 500, 200][i]!, error: null, body: `${i}`, ms: i },
  }))
  const note = () => sql.begin((tx) => noteCalls(tx, 'w', made, () => 0.5))
  await note()
  await note()
  assert.deepEqual(await statesOf(sql), ['1 delivered', '2 due', '3 passed'])
  assert.deepEqual(await statesOf(sql, 'other'), ['1 due', '2 due', '3 due'])
  const calls = await sql<{ number: bigint; status: number }>`
    select number, status from webhook_call order by number`
  assert.deepEqual(
    calls.map(({ number, status }) => [number, status]),
    [
      [1n, 200],
      [2n, 500],
      [3n, 200],
    ],
  )
})

test('passed over are open notices whose event is not kept, of the one webhook', async (t) => {
  const { sql } = await freshDatabase(t)
  await event(sql, { number: 1 })
  await event(sql, { number: 2, customer_id: 'bert' })
  for (const id of ['w', 'other']) {
    await insert(sql, { id })
    await notice(sql, { webhook_id: id, number: 1 }, 2)
    await notice(sql, { webhook_id: id, number: 3, state: 'dead' })
  }
  const pass = () => passForgotten(sql, { id: 'w', customer_id: 'anna' })
  assert.deepEqual([await pass(), await pass()], [true, false])
  assert.deepEqual(await statesOf(sql), ['1 due', '2 passed', '3 dead'])
  assert.deepEqual(await statesOf(sql, 'other'), ['1 due', '2 due', '3 dead'])
})

test('a list of notices has what was asked for, newest first, with the last call', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const [id, customer_id, state] of [
    ['a', 'anna', 'on'],
    ['b', 'anna', 'off'],
    ['c', 'anna', 'removed'],
    ['d', 'bert', 'on'],
  ] as const) {
    await insert(sql, { id, customer_id, state })
    for (const number of [1, 2, 3])
      await notice(sql, { webhook_id: id, number, state: number === 2 ? 'dead' : 'due' })
  }
  for (const number of [1, 2, 3]) await event(sql, { number, subject: `order:${number}` })
  await event(sql, { number: 1, customer_id: 'bert', subject: 'order:3' })
  const call = (number: number, ms: number, webhook_id = 'a') => ({
    webhook_id,
    row: { number: BigInt(number), at: after(ms), ms, status: 500, error: null, body: null },
  })
  await sql.begin(async (tx) => {
    for (const { webhook_id, row } of [call(1, 1), call(1, 2), call(2, 3), call(2, 9, 'b')])
      addCall(tx, webhook_id, row)
  })
  const list = (wanted: Partial<NoticeFilter>) =>
    listNotices(sql, { customer_id: 'anna', limit: 9, ...wanted })
  for (const [wanted, expected] of [
    [{}, 'b3 a3 b2 a2 b1 a1'],
    [{ limit: 3 }, 'b3 a3 b2'],
    [{ customer_id: 'bert' }, 'd3 d2 d1'],
    [{ webhook_id: 'a' }, 'a3 a2 a1'],
    [{ webhook_id: 'c' }, ''],
    [{ webhook_id: 'd' }, ''],
    [{ state: 'dead' }, 'b2 a2'],
    [{ number: 3n }, 'b3 a3'],
    [{ subject: 'order:3' }, 'b3 a3'],
    [{ before: { number: 2n, webhook_id: 'b' } }, 'a2 b1 a1'],
    [{ before: { number: 2n, webhook_id: 'a' } }, 'b1 a1'],
  ] as [Partial<NoticeFilter>, string][]) {
    const found = (await list(wanted)).map(({ webhook_id, number }) => `${webhook_id}${number}`)
    assert.equal(found.join(' '), expected)
  }
  const last = await list({ webhook_id: 'a' })
  assert.deepEqual(
    last.map((one) => one.last?.ms),
    [undefined, 3, 2],
  )
  const calls = async (webhook_id: string, number: bigint) =>
    (await callsOfNotice(sql, { webhook_id, number })).map(({ ms }) => ms)
  assert.deepEqual([await calls('a', 1n), await calls('a', 2n)], [[2, 1], [3]])
  assert.deepEqual([await calls('b', 2n), await calls('a', 3n)], [[9], []])
  await sql`
    insert into webhook_call (webhook_id, number, at, ms)
    select 'a', 3, ${NOW}::timestamptz + n * interval '1 second', n
    from generate_series(1, 101) as n`
  assert.deepEqual([(await calls('a', 3n)).length, (await calls('a', 3n))[99]], [100, 2])
})

const inLocked = <T>(sql: Sql, work: (tx: Tx, webhook: LeasedWebhook) => Promise<T>) =>
  sql.begin(async (tx) => {
    const webhook = await lockWebhook(tx, { customer_id: 'anna', id: 'w' })
    return work(tx, webhook as LeasedWebhook)
  })

test('a replay makes due what was read of the log, is asked for, and is not due', async (t) => {
  const { sql } = await freshDatabase(t)
  await insert(sql, { position: 8 })
  await insert(sql, { id: 'other', position: 8 })
  for (const number of [1, 2, 3, 4, 5, 8, 9]) await event(sql, { number, at: after(number) })
  await event(sql, { number: 6, type: FAILED!, at: after(6) })
  await event(sql, { number: 7, test: true, at: after(7) })
  await event(sql, { number: 10, type: 'key.ending' })
  await event(sql, { number: 1, customer_id: 'bert' }, 8)
  const replay = async (wanted: Partial<Replay>) => {
    await sql`delete from notice`
    const NOTICES = ['delivered', 'dead', 'due', 'due', 'passed'] as const
    for (const [i, state] of NOTICES.entries())
      await notice(sql, { number: i + 1, state, due_at: i === 3 ? LATER : NOW, calls: 3 })
    await notice(sql, { webhook_id: 'other', number: 8, state: 'dead' })
    const count = await inLocked(sql, (tx, webhook) =>
      replayNotices(tx, webhook, { after: 0n, which: 'all', ...wanted }, { now: NOW, readable }),
    )
    const rows = await sql<{ number: bigint }>`
      select number from notice
      where webhook_id = 'w' and state = 'due' and calls = 0 and due_at = ${NOW} order by number`
    assert.equal(count, rows.length)
    assert.deepEqual(await statesOf(sql, 'other'), ['8 dead'])
    return rows.map(({ number }) => Number(number)).join('')
  }
  assert.equal(await replay({}), '124568')
  assert.equal(await replay({ which: 'dead' }), '24')
  assert.equal(await replay({ after: 4n }), '568')
  assert.equal(await replay({ since: after(4) }), '4568')
  assert.equal(await replay({ until: after(4) }), '124')
  assert.equal(await replay({ types: [FAILED!, 'key.ending'] }), '6')
})

test('one notice is called again whose event is kept, whatever has become of it', async (t) => {
  const { sql } = await freshDatabase(t)
  await event(sql, { number: 1 }, 2)
  await event(sql, { number: 3, customer_id: 'bert' })
  for (const id of ['w', 'other']) {
    await insert(sql, { id })
    await notice(sql, { webhook_id: id, number: 1, state: 'dead', calls: 9 })
    await notice(sql, { webhook_id: id, number: 3, state: 'dead' })
  }
  const retry = (number: bigint) =>
    inLocked(sql, (tx, webhook) => retryNotice(tx, webhook, { number, now: LATER, readable }))
  assert.deepEqual([await retry(1n), await retry(2n), await retry(3n)], [true, false, false])
  assert.deepEqual(await statesOf(sql), ['1 due', '3 dead'])
  assert.deepEqual(await statesOf(sql, 'other'), ['1 dead', '3 dead'])
  const [row] = await sql<{ calls: number; due_at: Date }>`
    select calls, due_at from notice where webhook_id = 'w' and number = 1`
  assert.deepEqual([row!.calls, row!.due_at], [0, LATER])
  const [found] = await dueNotices(sql, { id: 'w', customer_id: 'anna' } as LeasedWebhook, {
    now: LATER,
    limit: 1,
  })
  await inLocked(sql, async (tx, webhook) => {
    addNotice(tx, webhook, { ...found!, number: 9n }, { state: 'passed', calls: 1, due_at: NOW })
  })
  assert.deepEqual(await statesOf(sql), ['1 due', '3 dead', '9 passed'])
})

test('calls are forgotten after 14 days, and notices when their event is', async (t) => {
  const { sql } = await freshDatabase(t)
  const step = pruneNoticesStep({ sql, clock: { now: () => NOW } }, 30)
  const [CALLS, NOTICES] = [after(-14 * DAY_MS), after(-30 * DAY_MS)]
  const call = (at: Date, count = 1) => sql`
    insert into webhook_call (webhook_id, number, at, ms)
    select 'w', n, ${at}, 1 from generate_series(1, ${count}) as n`
  await insert(sql)
  await call(CALLS)
  await event(sql, { number: 1 })
  await event(sql, { number: 2, customer_id: 'bert' })
  await notice(sql, { number: 3, due_at: NOTICES })
  assert.equal(await isDue(sql, step), false)
  assert.equal(await step.run(), false)
  assert.deepEqual(await statesOf(sql), ['3 due'])
  await call(new Date(CALLS.getTime() - 1), 5_000)
  assert.equal(await isDue(sql, step), true)
  assert.deepEqual([await step.run(), await step.run()], [true, false])
  assert.equal(await isDue(sql, step), false)
  assert.equal((await sql`select 1 from webhook_call`).length, 1)
  const old = new Date(NOTICES.getTime() - 1)
  await notice(sql, { number: 1, due_at: old })
  await notice(sql, { number: 2, due_at: old, state: 'delivered' })
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), false)
  assert.deepEqual(await statesOf(sql), ['1 due', '3 due'])
  await notice(sql, { number: 4, due_at: old }, 5_000)
  assert.deepEqual([await step.run(), await step.run()], [true, false])
  assert.deepEqual(await statesOf(sql), ['1 due', '3 due'])
})
