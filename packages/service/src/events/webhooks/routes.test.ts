// How customers try, replay and look into what webhooks are told: called on rows.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { asks, callerOf, NOW, withKeysAndUsers } from 'penstock-test/harness/keys_and_users.ts'
import { Type } from 'typebox'
import type { Fault } from '../../lib/fault.ts'
import { firstIdAt } from '../../lib/ids.ts'
import type { Customer, Scope } from '../../platform/wire/endpoint.ts'
import { eventKind } from '../log/kinds.ts'
import { routes as eventRoutes } from '../log/routes.ts'
import { EventStreams } from '../log/streams.ts'
import type { Caller, CallOutcome } from './caller.ts'
import { webhookKinds } from './forms.ts'
import { webhookRoutes } from './routes.ts'

const [TEST, ENDING] = ['webhook.test', 'key.ending']
const KINDS = [
  ...webhookKinds,
  eventKind('key.ending', { data: Type.Object({}), when: 'never', scope: 'manage', sample: {} }),
]

async function withRoutes(t: TestContext) {
  const found = await withKeysAndUsers(t)
  const { sql, needs } = found
  let outcome: Partial<CallOutcome> = {}
  const caller: Caller = {
    call: async () => ({ status: 200, error: null, body: 'ok', ms: 5, ...outcome }),
    close() {},
  }
  const woken: string[] = []
  const wake = (step: string) => {
    woken.push(step)
  }
  const streams = new EventStreams({
    sql,
    clock: needs.clock,
    print: () => '',
    scopesOf: async () => new Map(),
    openSessions: async () => new Set(),
  })
  const trial = { caller, user_agent: 'Penstock/test', tellStreams: () => {}, kinds: KINDS }
  const ask = callerOf([
    ...webhookRoutes({ ...needs, ...trial, wake, own_host: 'own.example' }),
    ...eventRoutes({ sql, kinds: KINDS, streams }),
  ])
  const refusal = (who: Customer, path: string, body: object) =>
    ask(who, path, body).then(
      () => undefined,
      (thrown: unknown) => (thrown as Fault).key,
    )
  const scopes: readonly Scope[] = ['read', 'webhooks']
  const key = { ...asks(await found.issue({ scopes })), scopes }
  const beta = { ...asks(await found.issue({ customer_id: 'beta' }), undefined, 'beta'), scopes }
  await sql`delete from event_note`
  const make = async (body: object = {}, who: Customer = key) =>
    (
      await ask<{ webhook: { id: string } }>(who, '/v1/webhook/new', {
        url: 'https://hook.example/',
        ...body,
      })
    ).webhook.id
  const answers = (given: Partial<CallOutcome>) => {
    outcome = given
  }
  return { ...found, ask, refusal, key, beta, make, answers, woken }
}

test('a webhook asks for types that its key may read, and is called by limits', async (t) => {
  const { ask, refusal, key, make } = await withRoutes(t)
  const path = '/v1/webhook/new'
  const url = 'https://hook.example/'
  for (const [types, expected] of [
    [[TEST], undefined],
    [[TEST, ENDING], 'invalid_service_or_params.types'],
    [['none'], 'invalid_service_or_params.types'],
    [[], undefined],
  ] as const)
    assert.equal(await refusal(key, path, { url, types }), expected, `${types}`)
  assert.equal(await refusal(key, path, { url: 'https://own.example/' }), 'url_refused.address')
  type Form = { types: string[] | null; per_second: number | null; at_once: number }
  const id = await make({ types: [TEST], per_second: 3, at_once: 2 })
  const change = (body: object) => ask<Form>(key, '/v1/webhook/change', { id, ...body })
  for (const [body, expected] of [
    [{}, [[TEST], 3, 2]],
    [{ per_second: 0 }, [[TEST], null, 2]],
    [{ per_second: 1 }, [[TEST], 1, 2]],
    [{ types: [] }, [null, 1, 2]],
  ] as const) {
    const { types, per_second, at_once } = await change(body)
    assert.deepEqual([types, per_second, at_once], expected)
  }
  const own = { id, url: 'https://own.example/' }
  assert.equal(await refusal(key, '/v1/webhook/change', own), 'url_refused.address')
})

test('what was done with a webhook is recorded, of its URL no query', async (t) => {
  const { sql, ask, key, make } = await withRoutes(t)
  const id = await make({ url: 'https://hook.example/?secret=1' })
  const change = (body: object) => ask(key, '/v1/webhook/change', { id, ...body })
  await change({ url: 'https://hook.example/?secret=2' })
  await change({})
  await change({ state: 'off' })
  await ask(key, '/v1/webhook/rotate', { id })
  await ask(key, '/v1/webhook/remove', { id })
  const rows = await sql<{ action: string; after: Record<string, unknown> | null }>`
    select action, after from customer_action where subject = ${`webhook:${id}`} order by number`
  assert.deepEqual(
    rows.map(({ action, after }) => [action, after?.url, after?.url_changed, after?.state]),
    [
      ['webhook/new', 'https://hook.example/?…', undefined, 'on'],
      ['webhook/change', 'https://hook.example/?…', true, 'on'],
      ['webhook/change', 'https://hook.example/?…', undefined, 'off'],
      ['webhook/rotate', undefined, undefined, undefined],
      ['webhook/remove', undefined, undefined, undefined],
    ],
  )
})

test('a webhook is asked for by its own customer alone', async (t) => {
  const { refusal, beta, key, make } = await withRoutes(t)
  const id = await make()
  const by_id = ['check', 'change', 'rotate', 'remove'].map((name) => `/v1/webhook/${name}`)
  for (const [path, body] of [
    ...by_id.map((one) => [one, { id }] as const),
    ['/v1/webhook/test', { id, type: TEST }],
    ['/v1/webhook/replay', { id, after: 0 }],
    ['/v1/event/trigger', { webhook_id: id, type: TEST }],
    ['/v1/notice/check', { webhook_id: id, number: 1 }],
    ['/v1/notice/retry', { webhook_id: id, number: 1 }],
  ] as const)
    assert.equal(await refusal(beta, path, body), 'not_found.webhook', path)
  assert.equal(await refusal(key, '/v1/webhook/check', { id }), undefined)
})

test('who leads a webhook elsewhere is told nothing there that only others may read', async (t) => {
  const { sql, ask, refusal, key, make, issue } = await withRoutes(t)
  const scopes: readonly Scope[] = ['read', 'webhooks', 'manage']
  const owner = { ...asks(await issue({ scopes })), scopes }
  const open: Record<string, string> = {}
  for (const name of ['same', 'led', 'asked']) {
    const id = await make({}, owner)
    open[name] = id
    await sql`
      insert into notice (webhook_id, number, event_id, type, subject, state, due_at)
      select ${id}, n, n::text, case when n < 3 then ${TEST!} else ${ENDING!} end, 'a',
        case when n % 2 = 0 then 'due' else 'delivered' end, ${NOW}
      from generate_series(1, 4) as n`
  }
  await sql`
    insert into event (customer_id, number, id, type, subject, at, test, data)
    select 'alpha', n, n::text, case when n < 3 then ${TEST!} else ${ENDING!} end, 'a', ${NOW},
      false, '{}' from generate_series(1, 4) as n`
  const [same, led, asked] = [open.same!, open.led!, open.asked!]
  await ask(key, '/v1/webhook/change', { id: same, description: 'the same' })
  await ask(key, '/v1/webhook/change', { id: led, url: 'https://elsewhere.example/' })
  await ask(owner, '/v1/webhook/change', { id: asked, url: 'https://elsewhere.example/' })
  const retried = async (webhook_id: string) => {
    const rows = await sql<{ state: string }>`
      select state from notice where webhook_id = ${webhook_id} order by number`
    const before = rows.map(({ state }) => state).join(' ')
    const retry = (number: number) => refusal(key, '/v1/notice/retry', { webhook_id, number })
    return [before, await retry(1), await retry(3), await retry(4)]
  }
  const AS_IT_WAS = ['delivered due delivered due', undefined, undefined, undefined]
  assert.deepEqual(await retried(same), AS_IT_WAS)
  assert.deepEqual(await retried(asked), AS_IT_WAS)
  const none = 'not_found.notice'
  assert.deepEqual(await retried(led), ['delivered due delivered passed', undefined, none, none])
})

type Trial = { event: { number: number; test: boolean }; call: { status: number | null } }

test('a trial is kept as delivered or dead, and success calls at once what is due', async (t) => {
  const { sql, ask, key, make, answers, refusal } = await withRoutes(t)
  const id = await make()
  const later = new Date(NOW.getTime() + 60_000)
  const states = async () => {
    const rows = await sql<{ text: string }>`
      select state || case when due_at = ${NOW} then '!' else '' end as text from notice
      where webhook_id = ${id} order by number`
    return rows.map(({ text }) => text)
  }
  await sql`
    insert into notice (webhook_id, number, event_id, type, subject, due_at)
    values (${id}, 0, 'e', ${TEST!}, 'a', ${later})`
  await sql`update webhook set failed_in_a_row = 3, failing_since = ${NOW}`
  const trial = () => ask<Trial>(key, '/v1/webhook/test', { id, type: TEST })
  answers({ status: 500 })
  const failed = await trial()
  assert.deepEqual([failed.event.number, failed.event.test, failed.call.status], [1, true, 500])
  assert.deepEqual(await states(), ['due', 'dead!'])
  answers({ status: 204 })
  assert.equal((await trial()).call.status, 204)
  assert.deepEqual(await states(), ['due!', 'dead!', 'delivered!'])
  for (const type of ['none', ENDING])
    assert.equal(
      await refusal(key, '/v1/webhook/test', { id, type }),
      'invalid_service_or_params.type',
    )
  const [row] = await sql<{ position: bigint; failed_in_a_row: number }>`
    select position, failed_in_a_row from webhook where id = ${id}`
  assert.deepEqual([row!.position, row!.failed_in_a_row], [2n, 0])
})

test('an event that did not happen passes what has read all before, and is told one', async (t) => {
  const { sql, ask, key, beta, make } = await withRoutes(t)
  const [read, named, behind, off] = [await make(), await make(), await make(), await make()]
  const foreign = await make({}, beta)
  await sql`update webhook set position = 0`
  await sql`insert into event_counter (customer_id, last_number) values ('alpha', 3)`
  await sql`update webhook set position = 3 where id = any(${[read, named, off, foreign]})`
  await sql`update webhook set state = 'off' where id = ${off}`
  await ask(key, '/v1/event/trigger', { type: TEST, webhook_id: named })
  const rows = await sql<{ id: string; position: bigint; told: bigint }>`
    select id, position, (select count(*) from notice where webhook_id = id) as told
    from webhook`
  const found = new Map(rows.map(({ id, position, told }) => [id, [position, told]]))
  assert.deepEqual(
    [read, named, behind, off, foreign].map((id) => found.get(id)),
    [
      [4n, 0n],
      [4n, 1n],
      [0n, 0n],
      [3n, 0n],
      [3n, 0n],
    ],
  )
  const actions = await sql<{ action: string; after: object }>`
    select action, after from customer_action where action = 'event/trigger'`
  assert.deepEqual(actions[0]!.after, { type: TEST, webhook_id: named })
})

test('a customer tries 500 times within an hour', async (t) => {
  const { sql, refusal, key } = await withRoutes(t)
  const add = (ms: number, count: number, customer_id = 'alpha', kind = 'test') => sql`
    insert into event (customer_id, number, id, type, subject, at, test, data)
    select ${customer_id}, ${-ms}::bigint * 1000 + n, ${`${customer_id}${kind}${ms}`} || n,
      ${TEST!}, ${`${kind}:${firstIdAt(new Date(NOW.getTime() + ms)).slice(0, 20)}`}
        || lpad(n::text, 6, '0'), ${NOW}, true, '{}'
    from generate_series(0, ${count - 1}) as n`
  await add(-3_600_001, 30)
  await add(-3_600_000, 499)
  await add(-2, 30, 'beta')
  await add(-1, 30, 'alpha', 'tests')
  await sql`insert into event_counter (customer_id, last_number) values ('alpha', ${10n ** 12n})`
  const trigger = () => refusal(key, '/v1/event/trigger', { type: TEST })
  assert.equal(await trigger(), undefined)
  assert.equal(await trigger(), 'limit_reached.test')
})

test('what is kept is replayed to one that is on, from a number or a time on', async (t) => {
  const { sql, ask, refusal, key, make } = await withRoutes(t)
  const id = await make()
  const path = '/v1/webhook/replay'
  await sql`
    insert into event (customer_id, number, id, type, subject, at, test, data)
    select 'alpha', n, n::text, ${TEST!}, n::text, ${NOW}, false, '{}'
    from generate_series(3, 5) as n`
  await sql`insert into event_counter (customer_id, last_number) values ('alpha', 5)`
  await sql`update webhook set position = 5`
  const since = NOW.toISOString()
  const after = 'invalid_service_or_params.after'
  assert.equal(await refusal(key, path, { id }), after)
  assert.equal(await refusal(key, path, { id, after: 3, since }), after)
  assert.equal(await refusal(key, path, { id, after: 1 }), 'too_old')
  const replay = async (body: object) => {
    await sql`delete from notice`
    return (await ask<{ notices: number }>(key, path, { id, ...body })).notices
  }
  assert.equal(await replay({ after: 2 }), 0, 'nothing was given up')
  assert.equal(await replay({ after: 2, which: 'all' }), 3)
  assert.equal(await replay({ after: 4, which: 'all' }), 1)
  assert.equal(await replay({ since, which: 'all' }), 3)
  assert.equal(await replay({ since, until: '2026-10-08T15:26:31Z', which: 'all' }), 0)
  const retry = (number: number) => refusal(key, '/v1/notice/retry', { webhook_id: id, number })
  await replay({ after: 4, which: 'all' })
  assert.deepEqual([await retry(5), await retry(4)], [undefined, 'not_found.notice'])
  const check = (number: number) => refusal(key, '/v1/notice/check', { webhook_id: id, number })
  assert.deepEqual([await check(5), await check(4)], [undefined, 'not_found.notice'])
  await ask(key, '/v1/webhook/change', { id, state: 'off' })
  assert.equal(await refusal(key, path, { id, after: 2 }), 'conflict.not_on')
  assert.equal(await retry(5), 'conflict.not_on')
})

test('notices are listed page by page, where the last page has ended', async (t) => {
  const { sql, ask, refusal, key, make } = await withRoutes(t)
  const id = await make()
  await sql`
    insert into notice (webhook_id, number, event_id, type, subject, due_at)
    select ${id}, n, n::text, ${TEST!}, 'a', ${NOW} from generate_series(1, 3) as n`
  type Page = { items: { number: number }[]; next: string | null }
  const list = async (body: object) => {
    const page = await ask<Page>(key, '/v1/notices/list', body)
    return [page.items.map(({ number }) => number), page.next]
  }
  assert.deepEqual(await list({ limit: 2 }), [[3, 2], `2.${id}`])
  assert.deepEqual(await list({ limit: 2, before: `2.${id}` }), [[1], null])
  assert.deepEqual(await list({ event: 2 }), [[2], null])
  for (const before of ['2', `.${id}`, `x.${id}`, '2.', `2.${id}.`])
    assert.equal(
      await refusal(key, '/v1/notices/list', { before }),
      'invalid_service_or_params.before',
      before,
    )
})

test('an event is shown as its scope allows, and one not kept is too old', async (t) => {
  const { sql, ask, refusal, key, beta } = await withRoutes(t)
  for (const [number, type] of [
    [3, TEST],
    [4, ENDING],
    [5, 'unknown'],
  ] as const)
    await sql`
      insert into event (customer_id, number, id, type, subject, at, test, data)
      values ('alpha', ${number}, ${String(number)}, ${type!}, 'a', ${NOW}, false, '{"a":1}')`
  await sql`insert into event_counter (customer_id, last_number) values ('alpha', 5)`
  const path = '/v1/event/check'
  const dataOf = async (number: number, scopes: readonly Scope[]) =>
    (await ask<{ data: object | null }>({ ...key, scopes }, path, { number })).data
  assert.deepEqual(await dataOf(3, ['webhooks']), { a: 1 })
  assert.deepEqual([await dataOf(3, ['read']), await dataOf(4, ['webhooks'])], [null, null])
  assert.deepEqual([await dataOf(4, ['manage']), await dataOf(5, ['manage'])], [{ a: 1 }, { a: 1 }])
  assert.equal(await dataOf(5, ['webhooks', 'read']), null)
  const check = (number: number, who: Customer = key) => refusal(who, path, { number })
  assert.deepEqual(
    [await check(0), await check(1), await check(2), await check(6), await check(3, beta)],
    ['not_found.event', 'too_old', 'too_old', 'not_found.event', 'not_found.event'],
  )
  const list = (body: object) => refusal(key, '/v1/events/list', body)
  assert.deepEqual([await list({ after: 1 }), await list({ after: 2 })], ['too_old', undefined])
  assert.equal(await list({ after: 2, before: '4' }), 'invalid_service_or_params.after')
  assert.equal(await list({ types: [TEST, 'other'] }), 'invalid_service_or_params.types')
  assert.deepEqual(
    [await list({ types: [TEST] }), await list({ before: '4' })],
    [undefined, undefined],
  )
})
