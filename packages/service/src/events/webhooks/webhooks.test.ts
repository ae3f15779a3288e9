// What becomes of the rows of webhooks, of their secrets and of what they are still to be told:
// rows on both sides of every bound.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { firstIdAt, idMaker, systemRandom } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import {
  allowedNetworks,
  allowNetwork,
  callAnew,
  changeWebhook,
  createWebhook,
  denyNetwork,
  disableWebhook,
  eraseWebhooks,
  findWebhook,
  listWebhooks,
  lockWebhook,
  type NewWebhook,
  newestSealedSecrets,
  noteAnswered,
  removeWebhook,
  resealWebhookSecrets,
  rotateSecret,
  secretsAlive,
  type WebhookChange,
  type WebhookState,
  webhookContext,
} from './webhooks.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const HOUR_MS = 3_600_000
const after = (ms: number) => new Date(NOW.getTime() + ms)
const clock = { now: () => NOW }
const keys = { a: new Uint8Array(32).fill(1), b: new Uint8Array(32).fill(2) }
const sealBy = (current: 'a' | 'b') => sealWith({ current, keys }, systemRandom)
const needs = {
  clock,
  random: systemRandom,
  new_id: idMaker(clock, systemRandom),
  seal: sealBy('a'),
}

type Row = {
  id: string
  customer_id?: string
  url?: string
  state?: WebhookState
  position?: number
  types?: string[]
  made_by_key?: string
}

/** One that has failed three times, waits, and has failed since an hour ago. */
async function insert(sql: Sql, row: Row): Promise<void> {
  const { id, customer_id = 'anna', url = `https://${id}.example/`, state = 'on' } = row
  await sql`
    insert into webhook (id, customer_id, url, description, types, scopes, state, reason, position,
      made_at, failing_since, failed_in_a_row, paused_until, per_second, made_by_key)
    values (${id}, ${customer_id}, ${url}, 'of before', ${row.types ?? null}, '{read}', ${state},
      ${state === 'disabled' ? 'it answered 410' : null}, ${row.position ?? 0}, ${NOW},
      ${after(-HOUR_MS)}, 3, ${after(HOUR_MS)}, 7, ${row.made_by_key ?? null})`
}

/** One notice of each state, of the type that is named like its state, and two that are due. */
async function insertNotices(sql: Sql, webhook_id: string): Promise<void> {
  for (const [i, [type, state]] of [
    ['order.created', 'due'],
    ['order.failed', 'due'],
    ['order.created', 'dead'],
    ['order.created', 'delivered'],
    ['order.created', 'passed'],
  ].entries())
    await sql`
      insert into notice (webhook_id, number, event_id, type, subject, state, calls, due_at)
      values (${webhook_id}, ${i + 1}, ${`${webhook_id} ${i}`}, ${type}, 'order:a', ${state}, 2,
        ${after(HOUR_MS)})`
}

/** The states of its notices, with a mark at those that are called at once. */
async function noticesOf(sql: Sql, webhook_id: string): Promise<string> {
  const rows = await sql<{ state: string; calls: number; due_at: Date }>`
    select state, calls, due_at from notice where webhook_id = ${webhook_id} order by number`
  const isNow = (due_at: Date) => due_at.getTime() === NOW.getTime()
  return rows
    .map(({ state, calls, due_at }) => (calls === 0 && isNow(due_at) ? `${state}!` : state))
    .join(' ')
}

async function eventsOf(sql: Sql): Promise<string[]> {
  const rows = await sql<{ type: string; subject: string }>`
    select type, subject from event_note order by id`
  return rows.map(({ type, subject }) => `${type} ${subject}`)
}

const anna = (id: string) => ({ customer_id: 'anna', id })

test('a customer has at most 20 webhooks, and makes at most 200 in a day', async (t) => {
  const { sql } = await freshDatabase(t)
  const create = () =>
    sql.begin((tx) =>
      createWebhook(tx, needs, {
        customer_id: 'anna',
        url: 'https://hook.example/',
        scopes: ['read'],
      }),
    )
  const add = (at: Date, count: number, state: WebhookState, customer_id = 'anna') => sql`
    insert into webhook (id, customer_id, url, scopes, state, position, made_at)
    select ${firstIdAt(at).slice(0, 20)} || lpad((${customer_id === 'anna' ? 0 : 500} + n)::text, 6,
      '0'), ${customer_id}, 'https://a.example/', '{read}', ${state}, 0, ${NOW}
    from generate_series(0, ${count - 1}) as n`
  await add(after(-3 * DAY_MS), 300, 'removed')
  await add(after(-2 * DAY_MS), 19, 'off')
  await add(after(-4 * DAY_MS), 60, 'on', 'bert')
  await create()
  await assert.rejects(create(), /There are 20 webhooks already/)
  await sql`update webhook set state = 'removed'`
  await add(after(-DAY_MS - 1), 20, 'removed')
  await add(after(-DAY_MS), 198, 'removed')
  await add(after(-1), 60, 'removed', 'bert')
  await create()
  await assert.rejects(create(), /200 webhooks were made within a day/)
})

test('a new webhook reads on from where the log of its customer ends', async (t) => {
  const { sql } = await freshDatabase(t)
  const create = async (customer_id: string, wanted: Partial<NewWebhook> = {}, own?: string) => {
    const given = { customer_id, url: 'https://hook.example/', scopes: ['read'] as const }
    const made = await sql.begin((tx) => createWebhook(tx, needs, { ...given, ...wanted }, own))
    return made.webhook
  }
  const first = await create('anna')
  assert.deepEqual(
    [first.position, first.at_once, first.per_second, first.types, first.description, first.state],
    [0n, 8, null, null, null, 'on'],
  )
  await sql`insert into event_counter (customer_id, last_number) values ('anna', 7), ('bert', 9)`
  const second = await create('anna', {
    at_once: 2,
    per_second: 3,
    types: ['order.created'],
    description: 'mine',
  })
  assert.deepEqual(
    [second.position, second.at_once, second.per_second, second.types, second.description],
    [7n, 2, 3, ['order.created'], 'mine'],
  )
  await assert.rejects(create('anna', {}, 'hook.example'), /That is this service itself/)
  await sql`
    insert into webhook_network (customer_id, network, made_at)
    values ('bert', '10.0.0.0/8', ${NOW})`
  const url = 'http://10.0.0.1/'
  await assert.rejects(create('anna', { url }), /Only https is called/)
  assert.equal((await create('bert', { url })).position, 9n)
})

test('a network is allowed and denied once, to one customer', async (t) => {
  const { sql } = await freshDatabase(t)
  const allow = (customer_id: string, network: string) =>
    sql.begin((tx) => allowNetwork(tx, { customer_id, network, at: NOW }))
  const deny = (customer_id: string, network: string) =>
    sql.begin((tx) => denyNetwork(tx, { customer_id, network }))
  assert.deepEqual(
    [await allow('anna', '10.2.0.0/16'), await allow('anna', '10.1.0.0/16')],
    [true, true],
  )
  assert.deepEqual(
    [await allow('anna', '10.1.0.0/16'), await allow('bert', '10.1.0.0/16')],
    [false, true],
  )
  assert.deepEqual(await allowedNetworks(sql, 'anna'), ['10.1.0.0/16', '10.2.0.0/16'])
  assert.deepEqual(
    [await deny('anna', '10.3.0.0/16'), await deny('anna', '10.1.0.0/16')],
    [false, true],
  )
  assert.deepEqual(await allowedNetworks(sql, 'anna'), ['10.2.0.0/16'])
  assert.deepEqual(await allowedNetworks(sql, 'bert'), ['10.1.0.0/16'])
})

test('a webhook is found and locked by its own customer, until it is removed', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const state of ['on', 'off', 'disabled', 'removed'] as const)
    await insert(sql, { id: state, state })
  for (const find of [
    (customer_id: string, id: string) => findWebhook(sql, { customer_id, id }),
    (customer_id: string, id: string) => sql.begin((tx) => lockWebhook(tx, { customer_id, id })),
  ]) {
    for (const id of ['on', 'off', 'disabled']) assert.equal((await find('anna', id)).id, id)
    for (const [customer_id, id] of [
      ['anna', 'removed'],
      ['anna', 'none'],
      ['bert', 'on'],
    ] as const)
      await assert.rejects(find(customer_id, id), /There is no such webhook/)
  }
})

test('a change changes what it names, and leaves the rest of the webhook', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into customer (id, name, deposit_index, deposit_address, created_at)
    values ('anna', 'anna', 0, ${'T'.padEnd(34, '1')}, ${NOW})`
  for (const [i, id] of ['maker', 'changer'].entries())
    await sql`
      insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at,
        require_v2, created_at)
      values (${id}, 'anna', ${id}, ${String(i).repeat(64)}, '', ${NOW}, false, ${NOW})`
  let made = 0
  for (const [change, expected] of [
    [{}, {}],
    [{ description: 'new' }, { description: 'new' }],
    [{ at_once: 3 }, { at_once: 3 }],
    [{ per_second: 5 }, { per_second: 5 }],
    [{ per_second: null }, { per_second: null }],
    [{ types: ['key.ending'] }, { types: ['key.ending'], scopes: ['money'] }],
    [{ types: null }, { types: null, scopes: ['money'] }],
    [{ by_key: 'changer' }, {}],
    [
      { url: 'https://new.example/', by_key: 'changer' },
      { url: 'https://new.example/', scopes: ['money'], made_by_key: 'changer' },
    ],
    [
      { url: 'https://new.example/' },
      { url: 'https://new.example/', scopes: ['money'], made_by_key: null },
    ],
  ] as [Partial<WebhookChange>, object][]) {
    const id = `w${made++}`
    await insert(sql, { id, types: ['order.created'], made_by_key: 'maker' })
    const rowOf = async () => (await sql`select * from webhook where id = ${id}`)[0]!
    const before = await rowOf()
    await sql.begin((tx) => changeWebhook(tx, needs, anna(id), { scopes: ['money'], ...change }))
    assert.deepEqual(await rowOf(), { ...before, ...expected })
  }
  const others = await sql`select 1 from webhook where made_by_key = 'maker'`
  assert.equal(others.length, made - 2)
})

test('a URL is judged when it changes, by what its customer is allowed', async (t) => {
  const { sql } = await freshDatabase(t)
  const url = 'http://10.0.0.1/'
  await insert(sql, { id: 'annas', url })
  await insert(sql, { id: 'berts', customer_id: 'bert' })
  await sql`
    insert into webhook_network (customer_id, network, made_at)
    values ('bert', '10.0.0.0/8', ${NOW})`
  const change = (customer_id: string, wanted: Partial<WebhookChange>) =>
    sql.begin((tx) => {
      const which = { customer_id, id: `${customer_id}s` }
      const own_host = 'own.example'
      return changeWebhook(tx, needs, which, { scopes: ['read'], ...wanted }, { own_host })
    })
  assert.equal((await change('anna', { url, at_once: 3 })).at_once, 3)
  await assert.rejects(change('anna', { url: `${url}other` }), /Only https is called/)
  assert.equal((await change('bert', { url })).url, url)
  await assert.rejects(change('bert', { url: 'https://own.example/' }), /this service itself/)
})

test('put on again, a webhook is as one that never failed, and calls what is due', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`insert into event_counter (customer_id, last_number) values ('anna', 7), ('bert', 9)`
  const DUE = 'due due dead delivered passed'
  const AT_ONCE = 'due! due! dead delivered passed'
  const PASSED = 'passed passed dead delivered passed'
  const FAILED = [3, after(-HOUR_MS), after(HOUR_MS)]
  const FRESH = [0, null, null]
  let made = 0
  const enabled: string[] = []
  for (const [before, change, state, health, position, notices] of [
    ['on', {}, 'on', FAILED, 2n, DUE],
    ['on', { state: 'on' }, 'on', FAILED, 2n, DUE],
    ['on', { state: 'on', from_now: true }, 'on', FAILED, 2n, DUE],
    ['on', { state: 'off' }, 'off', FAILED, 2n, DUE],
    ['on', { state: 'off', from_now: true }, 'off', FAILED, 2n, DUE],
    ['off', {}, 'off', FAILED, 2n, DUE],
    ['off', { state: 'on' }, 'on', FRESH, 2n, AT_ONCE],
    ['off', { state: 'on', from_now: true }, 'on', FRESH, 7n, PASSED],
    ['disabled', {}, 'disabled', FAILED, 2n, DUE],
    ['disabled', { state: 'off' }, 'off', FAILED, 2n, DUE],
    ['disabled', { state: 'on' }, 'on', FRESH, 2n, AT_ONCE],
    ['disabled', { state: 'on', from_now: true }, 'on', FRESH, 7n, PASSED],
    ['off', { from_now: true }, 'off', FAILED, 2n, DUE],
    ['on', { types: ['order.failed'] }, 'on', FAILED, 2n, 'passed due dead delivered passed'],
    ['on', { types: [] }, 'on', FAILED, 2n, PASSED],
    ['on', { types: null }, 'on', FAILED, 2n, DUE],
  ] as [WebhookState, Partial<WebhookChange>, WebhookState, unknown[], bigint, string][]) {
    const [id, other] = [`w${made}`, `other${made++}`]
    for (const one of [id, other]) {
      await insert(sql, { id: one, state: before, position: 2, types: ['order.solid'] })
      await insertNotices(sql, one)
    }
    const webhook = await sql.begin((tx) =>
      changeWebhook(tx, needs, anna(id), { scopes: ['read'], ...change }),
    )
    const [row] = await sql<{ paused_until: Date | null }>`
      select paused_until from webhook where id = ${id}`
    const text = JSON.stringify([before, change])
    assert.deepEqual([webhook.state, webhook.position], [state, position], text)
    assert.equal(webhook.reason, state === 'disabled' ? 'it answered 410' : null, text)
    const found = [webhook.failed_in_a_row, webhook.failing_since, row!.paused_until]
    assert.deepEqual(found, health, text)
    assert.equal(await noticesOf(sql, id), notices, text)
    assert.equal(await noticesOf(sql, other), DUE, 'those of another')
    if (before === 'disabled' && state === 'on') enabled.push(`webhook.enabled webhook:${id}`)
  }
  assert.deepEqual(await eventsOf(sql), enabled)
})

test('without a log a webhook that goes on from now on begins with the first event', async (t) => {
  const { sql } = await freshDatabase(t)
  await insert(sql, { id: 'w', state: 'off', position: 2 })
  const change = { state: 'on', from_now: true, scopes: ['read'] } as const
  const webhook = await sql.begin((tx) => changeWebhook(tx, needs, anna('w'), change))
  assert.equal(webhook.position, 0n)
})

test('one is disabled by hand, for a reason, and that is told', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const id of ['one', 'other']) await insert(sql, { id })
  const disable = (id: string, customer_id = 'anna') =>
    sql.begin((tx) => disableWebhook(tx, { customer_id, id }, { reason: 'asked', at: NOW }))
  await assert.rejects(disable('one', 'bert'), /There is no such webhook/)
  await disable('one')
  const rows = await sql<{ id: string; state: string; reason: string | null }>`
    select id, state, reason from webhook order by id`
  assert.deepEqual(
    rows.map(({ id, state, reason }) => [id, state, reason]),
    [
      ['one', 'disabled', 'asked'],
      ['other', 'on', null],
    ],
  )
  assert.deepEqual(await eventsOf(sql), ['webhook.disabled webhook:one'])
  const [note] = await sql<{ data: string }>`select data from event_note`
  const { failing_since } = JSON.parse(note!.data) as { failing_since: string | null }
  assert.equal(failing_since, '2026-10-08T14:26:32Z')
})

test('one that answers is called as if it had never failed, and no other', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const id of ['answered', 'anew', 'other']) {
    await insert(sql, { id })
    await insertNotices(sql, id)
  }
  await sql.begin(async (tx) => {
    callAnew(tx, { id: 'anew' })
    await noteAnswered(tx, { id: 'answered' }, NOW)
  })
  const rows = await sql<{
    id: string
    failed_in_a_row: number
    paused_until: Date | null
    failing_since: Date | null
  }>`select id, failed_in_a_row, paused_until, failing_since from webhook order by id`
  const [paused, since] = [after(HOUR_MS), after(-HOUR_MS)]
  assert.deepEqual(
    rows.map((row) => [row.id, row.failed_in_a_row, row.paused_until, row.failing_since]),
    [
      ['anew', 0, null, since],
      ['answered', 0, null, null],
      ['other', 3, paused, since],
    ],
  )
  assert.deepEqual(
    [await noticesOf(sql, 'anew'), await noticesOf(sql, 'answered')],
    ['due due dead delivered passed', 'due! due! dead delivered passed'],
  )
})

const insertSecret = (
  sql: Sql,
  {
    webhook_id,
    number,
    until,
    made_at = NOW,
    by = 'a',
  }: {
    webhook_id: string
    number: number
    until: Date | null
    made_at?: Date
    by?: 'a' | 'b'
  },
) => sql`
  insert into webhook_secret (webhook_id, number, sealed_secret, made_at, until)
  values (${webhook_id}, ${number},
    ${sealBy(by).seal(`${webhook_id} ${number}`, webhookContext(webhook_id))},
    ${made_at}, ${until})`

test('a webhook that is removed loses its secrets, and what it was to be told', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const [id, customer_id, state] of [
    ['one', 'anna', 'disabled'],
    ['two', 'anna', 'on'],
    ['gone', 'anna', 'removed'],
    ['far', 'bert', 'on'],
  ] as const) {
    await insert(sql, { id, customer_id, state })
    await insertNotices(sql, id)
    await insertSecret(sql, { webhook_id: id, number: 1, until: null })
  }
  const all = async () => {
    const rows = await sql<{ text: string }>`
      select concat_ws(' ', id, state, reason, url, description,
        (select count(*) from webhook_secret where webhook_id = id)) as text
      from webhook order by id`
    return rows.map(({ text }) => text)
  }
  const remove = (id: string) => sql.begin((tx) => removeWebhook(tx, anna(id)))
  await assert.rejects(remove('gone'), /There is no such webhook/)
  await assert.rejects(remove('far'), /There is no such webhook/)
  await remove('one')
  assert.deepEqual(await all(), [
    'far on https://far.example/ of before 1',
    'gone removed https://gone.example/ of before 1',
    'one removed https://one.example/ of before 0',
    'two on https://two.example/ of before 1',
  ])
  const [DUE, PASSED] = ['due due dead delivered passed', 'passed passed dead delivered passed']
  assert.deepEqual([await noticesOf(sql, 'one'), await noticesOf(sql, 'two')], [PASSED, DUE])
  const erase = () => sql.begin((tx) => eraseWebhooks(tx, 'anna'))
  assert.deepEqual([await erase(), await erase()], [1, 0])
  assert.deepEqual(await all(), [
    'far on https://far.example/ of before 1',
    'gone removed https://erased.invalid/ 1',
    'one removed https://erased.invalid/ 0',
    'two removed https://erased.invalid/ 0',
  ])
  assert.deepEqual([await noticesOf(sql, 'two'), await noticesOf(sql, 'far')], [PASSED, DUE])
})

test('another secret ends those before after the hours, none later than it was to', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const id of ['one', 'other']) await insert(sql, { id })
  await insertSecret(sql, { webhook_id: 'one', number: 1, until: NOW })
  await insertSecret(sql, { webhook_id: 'one', number: 2, until: null })
  await insertSecret(sql, { webhook_id: 'other', number: 1, until: null })
  const rotate = (overlap_hours: number) =>
    sql.begin((tx) => rotateSecret(tx, needs, { ...anna('one'), overlap_hours }))
  const ends = async (id = 'one') => {
    const rows = await sql<{ until: Date | null }>`
      select until from webhook_secret where webhook_id = ${id} order by number`
    return rows.map(({ until }) => until && (until.getTime() - NOW.getTime()) / HOUR_MS)
  }
  await rotate(24)
  assert.deepEqual(await ends(), [0, 24, null])
  await assert.rejects(rotate(1), /Two secrets are alive already/)
  await sql`update webhook_secret set until = ${after(1)} where webhook_id = 'one' and number = 2`
  await assert.rejects(rotate(1), /Two secrets are alive already/)
  await sql`
    update webhook_secret set until = ${after(-HOUR_MS)} where webhook_id = 'one' and number = 2`
  const { secret } = await rotate(2)
  assert.deepEqual(await ends(), [0, -1, 2, null])
  await rotate(0)
  assert.deepEqual(await ends(), [0, -1, 0, 0, null])
  assert.deepEqual(await ends('other'), [null])
  const [sealed] = await sql<{ sealed_secret: string }>`
    select sealed_secret from webhook_secret where webhook_id = 'one' and number = 4`
  assert.equal(needs.seal.open(sealed!.sealed_secret, webhookContext('one')), secret)
})

test('secrets sign until they end, and are sealed again by the key of now', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const id of ['one', 'two', 'three']) await insert(sql, { id })
  await insert(sql, { id: 'gone', state: 'removed' })
  for (const [webhook_id, number, by, hour, until] of [
    ['gone', 1, 'a', 9, null],
    ['one', 1, 'a', 8, NOW],
    ['one', 2, 'a', 7, after(1)],
    ['one', 3, 'a', 1, null],
    ['two', 1, 'a', 6, null],
    ['three', 1, 'b', 2, null],
  ] as const)
    await insertSecret(sql, { webhook_id, number, by, until, made_at: after(hour * HOUR_MS) })
  const alive = async (id: string, at = NOW) =>
    (await secretsAlive(sql, id, at)).map(({ number }) => number)
  assert.deepEqual([await alive('one'), await alive('two')], [[3, 2], [1]])
  assert.deepEqual([await alive('one', after(1)), await alive('one', after(-1))], [[3], [3, 2, 1]])
  const newest = async (at = NOW) => {
    const found = await newestSealedSecrets(sql, at)
    return found.map(({ webhook_id, sealed_secret, sealed_by }) => {
      const secret = sealBy('a').open(sealed_secret, webhookContext(webhook_id))
      return `${sealed_by} ${secret}`
    })
  }
  assert.deepEqual(await newest(), ['a one 2', 'b three 1'])
  assert.deepEqual(await newest(after(1)), ['a two 1', 'b three 1'])
  const reseal = () => sql.begin((tx) => resealWebhookSecrets(tx, sealBy('b')))
  assert.deepEqual([await reseal(), await reseal()], [5, 0])
  const only_new = sealWith({ current: 'b', keys: { b: keys.b } }, systemRandom)
  const rows = await sql<{ webhook_id: string; number: number; sealed_secret: string }>`
    select webhook_id, number, sealed_secret from webhook_secret`
  for (const { webhook_id, number, sealed_secret } of rows) {
    const opened = only_new.open(sealed_secret, webhookContext(webhook_id))
    assert.equal(opened, `${webhook_id} ${number}`)
  }
})

test('a list of webhooks has what was asked for, newest first, with how they stand', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const [id, customer_id, state] of [
    ['a', 'anna', 'on'],
    ['b', 'anna', 'removed'],
    ['c', 'anna', 'off'],
    ['d', 'bert', 'on'],
  ] as const)
    await insert(sql, { id, customer_id, state, position: 2 })
  await sql`insert into event_counter (customer_id, last_number) values ('anna', 7)`
  await insertNotices(sql, 'a')
  for (const [webhook_id, number, until] of [
    ['a', 1, NOW],
    ['a', 2, after(1)],
    ['a', 3, null],
    ['c', 1, null],
  ] as const)
    await insertSecret(sql, { webhook_id, number, until })
  type Filter = Partial<Parameters<typeof listWebhooks>[1]>
  const list = (wanted: Filter) => listWebhooks(sql, { limit: 9, at: NOW, ...wanted })
  for (const [wanted, expected] of [
    [{}, 'dca'],
    [{ limit: 2 }, 'dc'],
    [{ customer_id: 'anna' }, 'ca'],
    [{ customer_id: 'bert' }, 'd'],
    [{ id: 'a' }, 'a'],
    [{ id: 'b' }, ''],
    [{ before: 'c' }, 'a'],
    [{ before: 'd' }, 'ca'],
    [{ state: 'on' }, 'da'],
    [{ state: 'removed' }, ''],
  ] as const satisfies [Filter, string][])
    assert.equal((await list(wanted)).map(({ id }) => id).join(''), expected)
  const [one] = await list({ id: 'a' })
  assert.deepEqual(
    one!.secrets.map(({ number }) => number),
    [3, 2],
  )
  const reports = (await list({})).map(({ waiting, due, dead, secrets }) => ({
    counts: [waiting, due, dead],
    secrets: secrets.map(({ number, until }) => [number, until]),
  }))
  assert.deepEqual(reports, [
    { counts: [-2n, 0n, 0n], secrets: [] },
    { counts: [5n, 0n, 0n], secrets: [[1, null]] },
    {
      counts: [5n, 2n, 1n],
      secrets: [
        [3, null],
        [2, after(1)],
      ],
    },
  ])
})

test('while one makes a webhook nobody makes another for the same customer', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const [i, id] of ['anna', 'bert'].entries())
    await sql`
      insert into customer (id, name, deposit_index, deposit_address, created_at)
      values (${id}, ${id}, ${i}, ${`T${String(i).padStart(33, '1')}`}, ${NOW})`
  const isFree = (id: string) =>
    sql
      .begin((tx) => tx`select 1 from customer where id = ${id} for no key update nowait`)
      .then(
        () => true,
        () => false,
      )
  await sql.begin(async (tx) => {
    const wanted = { customer_id: 'anna', url: 'https://a.example/', scopes: ['read'] } as const
    await createWebhook(tx, needs, wanted)
    assert.deepEqual([await isFree('anna'), await isFree('bert')], [false, true])
  })
})
