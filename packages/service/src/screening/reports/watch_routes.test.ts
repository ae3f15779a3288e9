// Which watches are listed, added and removed by the calls about them, on rows.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { askEndpoint } from 'penstock-test/harness/endpoint_calls.ts'
import { insertChecks, insertCustomers, MADE_AT } from 'penstock-test/harness/screening_rows.ts'
import { Fault } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { watchRoutes } from './watch_routes.ts'

const address = (name: string) => person(name).address
const NO_RULES = {
  any_incoming_usd: null,
  severe_share_bp: null,
  severe_usd: null,
  sent_to: false,
}

type WatchItem = {
  address: string
  check: { id: string; status: string } | null
  level_before: string | null
  reference: string | null
  rules: Record<string, unknown>
}

/** The calls, for Anna, who is not the only customer. */
async function calls(t: TestContext) {
  const { sql } = await freshDatabase(t)
  await insertCustomers(sql, ['anna', 'bert'])
  const routes = watchRoutes({ sql, clock: { now: () => MADE_AT } })
  const ask = (call: string, body: object) => askEndpoint(routes, `/v1/${call}`, { body })
  const list = async (body: object) => {
    const { items, next } = (await ask('aml-watches/list', body)) as {
      items: WatchItem[]
      next: string | null
    }
    return { items, next }
  }
  return { sql, ask, list }
}

type WatchRow = { name: string; check_id?: string; customer_id?: string; age_s?: number }

async function insertWatches(sql: Sql, watches: readonly WatchRow[]): Promise<void> {
  for (const { name, check_id = null, customer_id = 'anna', age_s = 0 } of watches)
    await sql`
      insert into aml_watch (customer_id, address, made_at, label_set, check_id)
      values (${customer_id}, ${address(name)}, ${new Date(+MADE_AT - age_s * 1_000)}, 0,
        ${check_id})`
}

const namesOf = (items: readonly WatchItem[], names: readonly string[]) =>
  items.map((item) => names.find((name) => address(name) === item.address))

test('watches are listed by all that is asked for, newest first', async (t) => {
  const { sql, list } = await calls(t)
  await insertChecks(sql, [{ id: 'high' }, { id: 'low', risk_level: 'low' }, { id: 'other' }])
  await insertWatches(sql, [
    { name: 'one', check_id: 'high' },
    { name: 'two', check_id: 'low', age_s: 1 },
    { name: 'three', age_s: 2 },
    { name: 'one', customer_id: 'bert', check_id: 'high' },
    { name: 'four', customer_id: 'bert', check_id: 'high' },
  ])
  const names = ['one', 'two', 'three', 'four']
  for (const [body, found] of [
    [{}, ['one', 'two', 'three']],
    [{ address: address('two') }, ['two']],
    [{ address: address('four') }, []],
    [{ level: 'high' }, ['one']],
    [{ level: 'low' }, ['two']],
    [{ level: 'medium' }, []],
    [{ before: `${+MADE_AT}.${address('one')}` }, ['two', 'three']],
    [{ before: `${+MADE_AT - 1_000}.${address('two')}` }, ['three']],
    [{ before: `${+MADE_AT - 1_000}.${address('two')}`, level: 'low' }, []],
  ] as const) {
    const { items, next } = await list(body)
    assert.deepEqual([namesOf(items, names), next], [found, null], JSON.stringify(body))
  }
  const first = await list({ limit: 2 })
  assert.equal(first.next, `${+MADE_AT - 1_000}.${address('two')}`)
  assert.deepEqual(namesOf((await list({ limit: 3 })).items, names), ['one', 'two', 'three'])
  assert.equal((await list({ limit: 3 })).next, null)
})

test('where a page ended is a time and an address, and nothing else is taken', async (t) => {
  const { list } = await calls(t)
  for (const before of ['x', `${+MADE_AT}`, `${+MADE_AT}.${'T'.repeat(34)}`, `.${address('one')}`])
    await assert.rejects(list({ before }), (thrown) => {
      assert.ok(thrown instanceof Fault, String(thrown))
      return thrown.key === 'invalid_service_or_params.before'
    })
})

test('a watch shows its newest check, and the level of the last answer before', async (t) => {
  const { sql, list } = await calls(t)
  const [low, medium] = [{ risk_level: 'low' }, { risk_level: 'medium' }] as const
  await insertChecks(sql, [
    { id: 'a0', ...medium },
    { id: 'a1', supersedes: 'a0', ...low },
    { id: 'a2', supersedes: 'a1', state: 'failed' },
    { id: 'a3', supersedes: 'a2' },
    { id: 'b0', ...low },
    { id: 'b1', supersedes: 'b0', ...medium },
    { id: 'b2', supersedes: 'b1', state: 'pending' },
    { id: 'c1' },
    { id: 'd1', state: 'failed' },
    { id: 'd2', supersedes: 'd1' },
  ])
  await insertWatches(sql, [
    { name: 'a', check_id: 'a3' },
    { name: 'b', check_id: 'b2' },
    { name: 'c', check_id: 'c1' },
    { name: 'd', check_id: 'd2' },
    { name: 'e' },
  ])
  const { items } = await list({})
  const shown = items.map(({ check, level_before }) =>
    check ? `${check.id} ${check.status} after ${level_before}` : `none after ${level_before}`,
  )
  assert.deepEqual(shown.sort(), [
    'a3 completed after low',
    'b2 pending after medium',
    'c1 completed after null',
    'd2 completed after null',
    'none after null',
  ])
  const alone = await list({ address: address('a') })
  assert.equal(alone.items[0]!.check!.id, 'a3')
})

test('a watch that is added has the reference and the rules that are given', async (t) => {
  const { sql, ask } = await calls(t)
  const there = address('one')
  const changes = async () =>
    (await sql<{ after: string }>`select after::text from customer_action order by number`).map(
      ({ after }) => JSON.parse(after) as object,
    )
  const add = async (body: object) => {
    const { rules, reference } = (await ask('aml-watch/new', {
      address: there,
      ...body,
    })) as WatchItem
    return [reference, rules]
  }
  assert.deepEqual(await add({}), [null, NO_RULES])
  assert.deepEqual(await changes(), [{ address: there }])
  assert.deepEqual(await add({}), [null, NO_RULES])
  assert.equal((await changes()).length, 1, 'nothing is another')
  assert.deepEqual(await add({ reference: 'R' }), ['R', NO_RULES])
  assert.deepEqual((await changes()).slice(1), [{ address: there, reference: 'R' }])
  for (const rules of [
    { any_incoming_usd: 0 },
    { severe_share_bp: 1, severe_usd: 2, sent_to: true },
  ]) {
    assert.deepEqual(await add({ rules }), ['R', { ...NO_RULES, ...rules }])
    assert.deepEqual((await changes()).at(-1), { address: there, rules })
  }
  assert.equal((await changes()).length, 4)
})

const isFault = (key: string) => (thrown: unknown) => {
  assert.ok(thrown instanceof Fault, String(thrown))
  assert.equal(thrown.key, key)
  return true
}

test('a watch that is gone at the moment that it was made is not there', async (t) => {
  const { sql, ask } = await calls(t)
  await sql`
    create function take_away() returns trigger language plpgsql as
      'begin delete from aml_watch; return null; end'`
  await sql`
    create constraint trigger taken after insert on aml_watch deferrable initially deferred
      for each row execute function take_away()`
  await assert.rejects(
    ask('aml-watch/new', { address: address('one') }),
    isFault('not_found.watch'),
  )
})

test("a customer's own watch is removed, and that is noted", async (t) => {
  const { sql, ask } = await calls(t)
  await insertWatches(sql, [
    { name: 'one' },
    { name: 'two' },
    { name: 'one', customer_id: 'bert' },
    { name: 'three', customer_id: 'bert' },
  ])
  const remove = (name: string) => ask('aml-watch/remove', { address: address(name) })
  assert.deepEqual(await remove('one'), { address: address('one') })
  for (const name of ['one', 'three'])
    await assert.rejects(remove(name), isFault('not_found.watch'), name)
  const left = await sql<{ customer_id: string; address: string }>`
    select customer_id, address from aml_watch order by made_at`
  assert.equal(left.length, 3)
  assert.ok(left.some((one) => one.customer_id === 'bert' && one.address === address('one')))
  const noted = await sql`select action, subject from customer_action`
  assert.deepEqual(noted, [{ action: 'aml-watch/remove', subject: `aml_watch:${address('one')}` }])
})
