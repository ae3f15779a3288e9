import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { askEndpoint } from 'penstock-test/harness/endpoint_calls.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { type BriefEntry, publishLabels } from 'penstock-test/harness/labels.ts'
import { untilBlocked } from 'penstock-test/harness/own_transaction.ts'
import { insertChecks, insertCustomers, MADE_AT } from 'penstock-test/harness/screening_rows.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { idMaker, idOf, systemRandom } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { levelChanges, watchRoutes } from '../reports/watch_routes.ts'
import { hurryFailed } from './watch_rules.ts'
import {
  type Needs,
  type NewWatch,
  rescreenStep,
  retainStep,
  unwatch,
  watch,
  watchedAmong,
  watchWithin,
} from './watches.ts'

const HOUR_MS = 3_600_000
const after = (ms: number) => new Date(MADE_AT.getTime() + ms)
const clock = { now: () => MADE_AT }
const address = (name: string) => person(name).address

/** The step, for an index of this label set. */
function rescreen(sql: Sql, label_set: number | undefined) {
  const current = () => (label_set === undefined ? undefined : { label_set })
  const generations = { current } as Needs['generations']
  return rescreenStep({ sql, clock, new_id: idMaker(clock, systemRandom), generations })
}

type WatchRow = { name: string; label_set?: number; due_at?: Date; check?: string; moved?: number }

async function insertWatches(sql: Sql, watches: readonly WatchRow[], customer_id = 'anna') {
  for (const { name, label_set = 3, due_at = MADE_AT, check = null, moved = null } of watches)
    await sql`
      insert into aml_watch (customer_id, address, made_at, label_set, due_at, check_id,
        moved_number)
      values (${customer_id}, ${address(name)}, ${MADE_AT}, ${label_set}, ${due_at}, ${check},
        ${moved})`
}

type StandingRow = { address: string; customer_id: string; label_set: number; due_at: Date }

/** For each watch of these names, whether it was asked about anew, and when it is due. */
async function standing(sql: Sql, names: readonly string[], customer_id = 'anna') {
  const rows = await sql<StandingRow & { is_new: boolean }>`
    select w.address, w.label_set, w.due_at, coalesce(c.solid_number = 0 and c.state = 'pending'
      and c.id <> 'open' and c.address = w.address, false) as is_new
    from aml_watch as w left join aml_check as c on c.id = w.check_id
    where w.customer_id = ${customer_id}`
  return names.map((name) => {
    const { is_new, label_set, due_at } = rows.find((row) => row.address === address(name))!
    return `${name}: ${is_new ? 'asked' : 'left'} ${label_set} ${+due_at - +MADE_AT}`
  })
}

test('a watch is asked about when its labels are old, or it is due and not answered', async (t) => {
  const { sql } = await freshDatabase(t)
  const [recent, day_ago] = [after(-3_600_000), after(-DAY_MS)]
  await insertChecks(sql, [
    { id: 'open', state: 'pending', created_at: recent },
    { id: 'recent', created_at: recent, index_number: 7 },
    { id: 'old', created_at: day_ago, index_number: 7 },
    { id: 'failed', state: 'failed', created_at: recent },
  ])
  const later = after(1)
  await insertWatches(sql, [
    { name: 'outdated', label_set: 2, due_at: later, check: 'recent', moved: 7 },
    { name: 'never', due_at: MADE_AT },
    { name: 'ahead', label_set: 5 },
    { name: 'open', check: 'open' },
    { name: 'current', check: 'recent', moved: 7 },
    { name: 'moved', check: 'recent', moved: 8 },
    { name: 'old', check: 'old' },
    { name: 'failed', check: 'failed' },
    { name: 'not due', due_at: later },
  ])
  await insertWatches(sql, [{ name: 'current', due_at: later }], 'bert')
  const step = rescreen(sql, 3)
  assert.deepEqual([await isDue(sql, step), await step.run()], [true, true])
  const names = ['outdated', 'never', 'ahead', 'open', 'current', 'moved', 'old', 'failed']
  const [in_a_day, in_23_hours] = [DAY_MS, DAY_MS - 3_600_000]
  assert.deepEqual(await standing(sql, [...names, 'not due']), [
    `outdated: asked 3 ${in_a_day}`,
    `never: asked 3 ${in_a_day}`,
    `ahead: asked 5 ${in_a_day}`,
    'open: left 3 10000',
    `current: left 3 ${in_23_hours}`,
    `moved: asked 3 ${in_a_day}`,
    `old: asked 3 ${in_a_day}`,
    `failed: asked 3 ${in_a_day}`,
    'not due: left 3 1',
  ])
  assert.deepEqual(await standing(sql, ['current'], 'bert'), ['current: left 3 1'])
  const superseded = await sql<{ supersedes: string }>`
    select supersedes from aml_check where supersedes is not null order by supersedes`
  assert.deepEqual(
    superseded.map(({ supersedes }) => supersedes),
    ['failed', 'old', 'recent', 'recent'],
  )
  assert.deepEqual([await isDue(sql, step), await step.run()], [false, false])
})

test('rescreening is due by each of its reasons alone, and waits for an index', async (t) => {
  const { sql } = await freshDatabase(t)
  const step = rescreen(sql, 3)
  await step.run()
  assert.equal(await isDue(sql, step), false)
  await insertWatches(sql, [{ name: 'one', due_at: after(1) }])
  assert.equal(await isDue(sql, step), false, 'in a moment')
  assert.equal(await isDue(sql, rescreen(sql, 3)), true, 'the newest lists were not looked at')
  await sql`update aml_watch set due_at = ${MADE_AT}`
  assert.equal(await isDue(sql, step), true)
  await sql`update aml_watch set due_at = ${after(1)}, label_set = 2`
  assert.equal(await isDue(sql, step), true)
  assert.equal(await rescreen(sql, undefined).run(), false)
  assert.equal(await step.run(), true)
  assert.equal(await isDue(sql, step), false)
  await publishLabels(sql, [{ address: address('one'), category: 'scam' }], { at: MADE_AT })
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), false)
  assert.equal(await isDue(sql, step), false)
})

test('whom an authority lists is asked about before the index knows the list', async (t) => {
  const { sql } = await freshDatabase(t)
  const listed = (name: string, more: Partial<BriefEntry> = {}): BriefEntry => ({
    address: address(name),
    category: 'sanctions',
    kind: 'authority',
    ...more,
  })
  await publishLabels(sql, [listed('taken off'), listed('plain')], {
    at: MADE_AT,
    list: 'ofac_sdn',
  })
  const entries = [
    listed('plain'),
    listed('from now', { valid_from: MADE_AT }),
    listed('from later', { valid_from: after(1) }),
    listed('until now', { valid_to: MADE_AT }),
    listed('until later', { valid_to: after(1) }),
    listed('barred before'),
    listed('answered before'),
    listed('curated', { kind: 'curated' }),
  ]
  await publishLabels(sql, entries, { at: MADE_AT, list: 'ofac_sdn' })
  await insertChecks(sql, [{ id: 'barred', blacklist: true }, { id: 'answered' }])
  const checks: Record<string, string> = {
    'barred before': 'barred',
    'answered before': 'answered',
  }
  const all = ['taken off', 'plain', 'from now', 'from later', 'until now', 'until later']
  const rest = ['barred before', 'answered before', 'curated', 'not listed']
  const due_at = after(DAY_MS)
  await insertWatches(
    sql,
    [...all, ...rest].map((name) => {
      const check = checks[name]
      return { name, label_set: 9, due_at, ...(check !== undefined && { check }) }
    }),
  )
  assert.equal(await rescreen(sql, 1).run(), true)
  const asked = (await standing(sql, [...all, ...rest])).filter((one) => one.includes(': asked'))
  assert.deepEqual(
    asked.map((one) => one.split(':')[0]),
    ['plain', 'from now', 'until later', 'answered before'],
  )
})

test('whom a list names is asked about though the step fails that has seen it first', async (t) => {
  const { sql } = await freshDatabase(t)
  let fails = true
  const begin: Sql['begin'] = (work) =>
    sql.begin(async (tx) => {
      const done = await work(tx)
      if (fails) throw new Error('the connection is gone')
      return done
    })
  const step = rescreen(Object.assign(sql.bind(undefined), sql, { begin }), 0)
  const sanctioned = { category: 'sanctions', kind: 'authority' } as const
  await publishLabels(sql, [{ address: address('listed'), ...sanctioned }], {
    at: MADE_AT,
    list: 'ofac_sdn',
  })
  await insertWatches(sql, [{ name: 'listed', label_set: 0, due_at: after(DAY_MS) }])
  await assert.rejects(step.run(), /is gone/)
  fails = false
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  assert.deepEqual(await standing(sql, ['listed']), [`listed: asked 0 ${DAY_MS}`])
})

test('a level has changed between an answer and the last one that it supersedes', async (t) => {
  const { sql } = await freshDatabase(t)
  const old = { ended_at: after(-1) }
  const low = { risk_level: 'low', ...old } as const
  await insertChecks(sql, [
    { id: 'a1', ...low },
    { id: 'a2', supersedes: 'a1' },
    { id: 'b1', ...low },
    { id: 'b2', supersedes: 'b1', ...old },
    { id: 'c1', ...low },
    { id: 'c2', supersedes: 'c1', risk_level: 'low' },
    { id: 'd1', ...low },
    { id: 'd2', supersedes: 'd1', state: 'failed' },
    { id: 'd3', supersedes: 'd2', state: 'pending' },
    { id: 'd4', supersedes: 'd3', risk_level: 'medium' },
    { id: 'e1', state: 'failed' },
    { id: 'e2', supersedes: 'e1' },
    { id: 'f1', ...low },
    { id: 'f2', ...old, supersedes: 'f1' },
    { id: 'f3', supersedes: 'f2' },
    { id: 'g1' },
  ])
  assert.deepEqual(
    (await levelChanges(sql, MADE_AT)).map((one) => [one.check_id, one.from_level, one.to_level]),
    [
      ['a2', 'low', 'high'],
      ['d4', 'low', 'medium'],
    ],
  )
})

test('evidence and answers are kept until the check has ended for so long', async (t) => {
  const { sql } = await freshDatabase(t)
  const step = retainStep({ sql, clock }, 30)
  assert.deepEqual([await isDue(sql, step), await step.run()], [false, false])
  const end = -30 * DAY_MS
  const keep = async (name: string, table: 'evidence' | 'answer', [made, ended]: number[]) => {
    const id = idOf(after(made!), `${name} ${table}`)
    await insertChecks(sql, [{ id, address: name, ended_at: after(ended!) }])
    const text = `${name} ${table}`
    if (table === 'evidence')
      await sql`
        insert into aml_evidence
        values (${id}, ${text}, encode(sha256(${text}::text::bytea), 'hex'))`
    else
      await sql`
        insert into aml_answer (check_id, provider, outcome, body, sha256, received_at)
        values (${id}, 'x', 'answered', ${Buffer.from(text)}, '', ${MADE_AT})`
  }
  const left = async () => {
    const rows = await sql<{ name: string }>`
      select convert_from(body, 'UTF8') as name from aml_answer
      union all select canonical from aml_evidence order by 1`
    return rows.map(({ name }) => name)
  }
  for (const table of ['evidence', 'answer'] as const) {
    await keep('kept', table, [end + 1, end + 2])
    assert.equal(await isDue(sql, step), false, table)
    await keep('gone', table, [end - 2, end - 1])
    assert.deepEqual([await isDue(sql, step), await step.run()], [true, true], table)
    await keep('at the end', table, [end - 2, end])
    await keep('over it', table, [end - 2, end + 1])
    assert.equal(await step.run(), false)
    assert.deepEqual(await left(), [`at the end ${table}`, `kept ${table}`, `over it ${table}`])
    await sql`delete from aml_evidence`
    await sql`delete from aml_answer`
  }
})

const RULES = { any_incoming_usd: 5n, severe_share_bp: 7, severe_usd: 9n, sent_to: true }

type RuledRow = {
  who: string
  label_set: number
  reference: string | null
  severe_usd: bigint | null
  seen_usd: bigint | null
}

test('what is wanted of a watch changes that one alone; what is left out stays', async (t) => {
  const { sql } = await freshDatabase(t)
  const [there, other] = [address('there'), address('other')]
  const want = (customer_id: string, ...watches: NewWatch[]) =>
    sql.begin((tx) => watch(tx, { customer_id, made_at: MADE_AT, watches }))
  const rows = async () => {
    const all = await sql<RuledRow>`
      select customer_id || case address when ${there} then ' there' else ' other' end as who,
        label_set, reference, severe_usd, seen_usd
      from aml_watch order by who desc`
    return all.map((row) => Object.values(row).map(String).join(' '))
  }
  assert.equal(await want('anna', { address: there, reference: 'A' }, { address: other }), 2)
  assert.equal(await want('bert', { address: there, reference: 'B', rules: RULES }), 1)
  await sql`update aml_watch set label_set = 4, seen_usd = 1`
  const untouched = ['bert there 4 B 9 1', 'anna other 4 null null 1']
  assert.equal(await want('anna', { address: there }), 0)
  assert.deepEqual(await rows(), [untouched[0], 'anna there 4 A null 1', untouched[1]])
  assert.equal(await want('anna', { address: there, reference: 'C' }), 0)
  assert.deepEqual(await rows(), [untouched[0], 'anna there 4 C null 1', untouched[1]])
  assert.equal(await want('anna', { address: there, rules: { ...RULES, severe_usd: 3n } }), 0)
  assert.deepEqual(await rows(), [untouched[0], 'anna there -1 C 3 null', untouched[1]])
  await sql`update aml_watch set label_set = 4, seen_usd = 1`
  assert.equal(await want('anna', { address: there, reference: 'D' }), 0)
  assert.deepEqual(await rows(), [untouched[0], 'anna there 4 D 3 1', untouched[1]])
  assert.equal(await watchedAmong(sql, new Set([there, address('nowhere')])), 1)
  assert.equal(await watchedAmong(sql, new Set([address('nowhere')])), 0)
  const end = (which: Parameters<typeof unwatch>[1]) => sql.begin((tx) => unwatch(tx, which))
  assert.equal(await end({ customer_id: 'anna', address: address('nowhere') }), 0)
  assert.equal(await end({ customer_id: 'anna', address: there }), 1)
  assert.deepEqual(await rows(), untouched)
  await want('anna', { address: there })
  assert.equal(await end({ customer_id: 'anna' }), 2)
  assert.deepEqual(await rows(), [untouched[0]])
})

test('a customer watches a hundred thousand addresses, whatever others watch', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertCustomers(sql, ['anna', 'bert'])
  await sql`
    insert into aml_watch (customer_id, address, made_at, label_set)
    select case when n < 100000 then 'anna' else 'bert' end, n, ${MADE_AT}, 0
    from generate_series(1, 100001) as n`
  const want = (name: string) =>
    sql.begin((tx) => {
      const watches = [{ address: address(name) }]
      return watchWithin(tx, { customer_id: 'anna', made_at: MADE_AT, watches })
    })
  assert.equal(await want('the last'), 1)
  assert.equal(await want('one more'), undefined)
  const body = { address: address('one more by a call') }
  const call = askEndpoint(watchRoutes({ sql, clock }), '/v1/aml-watch/new', { body })
  await assert.rejects(call, /100000 addresses are watched already/)
})

test('a watch whose check failed is due at once for want of an index, or in an hour', async (t) => {
  const { sql } = await freshDatabase(t)
  const errors = {
    stale: 'index_stale',
    late: 'timed_out',
    away: 'provider_transient',
    refused: 'provider_auth',
    used_up: 'provider_quota',
    no_answer: 'provider_permanent',
    not_theirs: 'provider_unsupported',
    other: '',
  }
  const ids = Object.keys(errors)
  await insertChecks(
    sql,
    ids.map((id) => ({ id })),
  )
  const due_at = after(DAY_MS)
  await insertWatches(
    sql,
    ids.map((id) => ({ name: id, check: id, due_at })),
  )
  await insertChecks(sql, [{ id: 'soon' }])
  await insertWatches(sql, [{ name: 'soon', check: 'soon', due_at: after(1) }])
  const failed = Object.entries({ ...errors, soon: 'timed_out' }).flatMap(([id, error]) =>
    error === '' ? [] : { check: { id }, error },
  )
  await sql.begin((tx) => hurryFailed(tx, failed, MADE_AT))
  assert.deepEqual(await standing(sql, [...ids, 'soon']), [
    `stale: left -1 ${DAY_MS}`,
    `late: left 3 ${HOUR_MS}`,
    `away: left 3 ${HOUR_MS}`,
    `refused: left 3 ${HOUR_MS}`,
    `used_up: left 3 ${HOUR_MS}`,
    `no_answer: left 3 ${DAY_MS}`,
    `not_theirs: left 3 ${DAY_MS}`,
    `other: left 3 ${DAY_MS}`,
    'soon: left 3 1',
  ])
})

test('a watch whose checks fail one after the other is due ever more seldom', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertChecks(sql, [{ id: 'answered' }])
  const ids = [1, 2, 3, 4, 5, 6, 7].map((n) => `failed ${n}`)
  for (const [i, id] of ids.entries()) {
    const supersedes = ids[i - 1] ?? 'answered'
    await insertChecks(sql, [{ id, state: 'failed', supersedes }])
  }
  await insertWatches(
    sql,
    ids.map((id) => ({ name: id, check: id, due_at: after(DAY_MS) })),
  )
  const failed = ids.map((id) => ({ check: { id }, error: 'provider_transient' }))
  await sql.begin((tx) => hurryFailed(tx, failed, MADE_AT))
  assert.deepEqual(
    await standing(sql, ids),
    [1, 2, 4, 8, 16, 24, 24].map((hours, i) => `${ids[i]}: left 3 ${hours * HOUR_MS}`),
  )
})

test('whoever changes several watches takes them in one order', async (t) => {
  const { sql } = await freshDatabase(t)
  // Read in the order of the rows, these are the other way about.
  const owners = ['cora', 'bert', 'anna']
  for (const customer_id of owners) {
    await insertChecks(sql, [{ id: customer_id, customer_id, address: address('listed') }])
    await insertWatches(sql, [{ name: 'listed', check: customer_id }], customer_id)
  }
  const sanctioned = { category: 'sanctions', kind: 'authority' } as const
  const list = { at: MADE_AT, list: 'ofac_sdn' }
  await publishLabels(sql, [{ address: address('listed'), ...sanctioned }], list)
  const fail = (error: string) => () =>
    sql.begin((tx) =>
      hurryFailed(
        tx,
        owners.map((id) => ({ check: { id }, error })),
        MADE_AT,
      ),
    )
  const step = rescreen(sql, 3)
  for (const change of [fail('timed_out'), fail('index_stale'), () => step.run()]) {
    const { changing } = await sql.begin(async (tx) => {
      await tx`select from aml_watch where customer_id = 'anna' for update`
      const changing = change()
      await untilBlocked(sql, changing)
      await tx`select from aml_watch where customer_id = 'cora' for update`
      return { changing }
    })
    await changing
  }
})

test('a customer who changes several watches takes them in the same order', async (t) => {
  const { sql } = await freshDatabase(t)
  // Read in the order of the rows, these are the other way about.
  const names = ['a', 'b', 'c'].sort((a, b) => (address(a) < address(b) ? 1 : -1))
  await insertWatches(
    sql,
    names.map((name) => ({ name })),
  )
  const [last, first] = [address(names[0]!), address(names.at(-1)!)]
  const rules = { any_incoming_usd: 1n, severe_share_bp: null, severe_usd: null, sent_to: false }
  const watches = names.map((name) => ({ address: address(name), rules }))
  const whose = { customer_id: 'anna', made_at: MADE_AT }
  const named = watches.map(({ address }) => ({ address, reference: 'x' }))
  for (const change of [
    (tx: Tx) => watch(tx, { ...whose, watches }),
    (tx: Tx) => watch(tx, { ...whose, watches: named }),
    (tx: Tx) => unwatch(tx, whose),
  ]) {
    const { changing } = await sql.begin(async (tx) => {
      await tx`select from aml_watch where address = ${first} for update`
      const changing = sql.begin(change)
      await untilBlocked(sql, changing)
      await tx`select from aml_watch where address = ${last} for update`
      return { changing }
    })
    await changing
  }
})
