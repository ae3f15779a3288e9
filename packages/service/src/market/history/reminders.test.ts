import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { type DelegationRow, insertDelegation } from 'penstock-test/harness/delegation_rows.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { endingStep, remindStep, solidifyStep } from './reminders.ts'

const now = new Date('2026-10-08T13:00:00Z')
const clock = { now: () => now }
const later = (ms: number) => new Date(now.getTime() + ms)
const MINUTE_MS = 60_000

async function withAnna(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql.begin((tx) => makeCustomer(tx, { id: 'anna', at: now }))
  return sql
}

/** Inserts each row by itself, and looks whether the step says that it is due, and does it. */
async function requireDue(
  { sql, step, column }: { sql: Sql; step: Step; column: 'delayed_at' | 'solid_at' | 'ending_at' },
  rows: readonly [title: string, is_due: boolean, insert: (id: string) => Promise<unknown>][],
): Promise<void> {
  for (const [title, is_due, insert] of rows) {
    await insert(title)
    assert.equal(await isDue(sql, step), is_due, `${title}: due`)
    assert.equal(await step.run(), is_due, `${title}: done`)
    assert.equal(await step.run(), false, `${title}: done once`)
    const found = await sql<Record<string, Date | null>>`
      select delayed_at, solid_at, ending_at from orders where id = ${`order of ${title}`}`
    const marked = found[0]?.[column] ?? null
    assert.equal(marked?.getTime() === now.getTime(), is_due, `${title}: marked`)
    await sql`update orders set state = 'failed', to_delegate = false
      where id = ${`order of ${title}`} and state in ('new', 'pending')`
  }
}

test('an order is late that is open for five minutes and was not said to be', async (t) => {
  const sql = await withAnna(t)
  const insert = (state: string, age_ms: number, delayed_at: Date | null) => (id: string) =>
    sql`
    insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
      amount_sun, tx_id, due_at, created_at, delayed_at)
    values (${`order of ${id}`}, 'anna', 'energy', ${person('bob').address}, 1, false, ${state},
      ${['new', 'pending'].includes(state)}, 0, ${state === 'success' ? 'tx' : null}, ${now},
      ${later(-age_ms)}, ${delayed_at})`
  await requireDue({ sql, step: remindStep({ sql, clock }), column: 'delayed_at' }, [
    ['new', true, insert('new', 300_000, null)],
    ['pending', true, insert('pending', 300_000, null)],
    ['young', false, insert('new', 299_999, null)],
    ['said', false, insert('new', 300_000, later(-1))],
    ['failed', false, insert('failed', 300_000, null)],
    ['success', false, insert('success', 300_000, null)],
  ])
})

type LateCase = [
  waits_for: string,
  part: Omit<DelegationRow, 'id'>,
  more?: { to_delegate?: boolean; activation?: string },
]

test('an order that is late says what it waits for', async (t) => {
  const sql = await withAnna(t)
  const [unsigned, sent] = [
    { state: 'delegating', attempt: 'new' },
    { state: 'delegating', attempt: 'sent' },
  ]
  const cases: LateCase[] = [
    ['signature', unsigned],
    ['block', sent],
    ['block', { state: 'failed', attempt: 'new' }],
    ['room', unsigned, { to_delegate: true }],
    ['room', sent, { to_delegate: true, activation: 'active' }],
    ['activation', unsigned, { to_delegate: true, activation: 'new' }],
    ['activation', sent, { activation: 'activating' }],
    ['block', sent, { activation: 'active' }],
  ]
  for (const [i, [, part, { to_delegate = false, activation } = {}]] of cases.entries()) {
    const id = `${i}`
    await insertDelegation(sql, { ...part, id, order: 'pending' })
    if (activation)
      await sql`
        insert into activation (id, address, state, made_at)
        values (${id}, ${id}, ${activation}, ${now})`
    await sql`
      update orders set created_at = ${later(-300_000)}, to_delegate = ${to_delegate},
        activation_id = ${activation ? id : null}
      where id = ${`order of ${id}`}`
  }
  assert.equal(await remindStep({ sql, clock }).run(), true)
  const events = await sql<{ data: string }>`
    select data from event_note where type = 'order.delayed' order by subject`
  assert.deepEqual(
    events.map(({ data }) => JSON.parse(data).waits_for),
    cases.map(([waits_for]) => waits_for),
  )
})

test('an order is irreversible once its activation is, or somebody else has made it', async (t) => {
  const sql = await withAnna(t)
  const insert = (attempt: string | undefined) => async (id: string) => {
    await insertDelegation(sql, { id, state: 'active' })
    // With the attempt of another delegation, that of the activation.
    if (attempt) await insertDelegation(sql, { id: `${id} made`, state: 'active', attempt })
    await sql`update orders set solid_at = ${later(-1)} where id = ${`order of ${id} made`}`
    await sql`
      insert into activation (id, address, state, attempt_id, made_at)
      values (${id}, ${id}, 'active', ${attempt ? `delegate:${id} made` : null}, ${now})`
    await sql`update orders set activation_id = ${id} where id = ${`order of ${id}`}`
  }
  await requireDue({ sql, step: solidifyStep({ sql, clock }), column: 'solid_at' }, [
    ['included', false, insert('included')],
    ['solid', true, insert('solid')],
    ['not ours', true, insert(undefined)],
  ])
})

test('an order is irreversible once each delegation that has not failed is', async (t) => {
  const sql = await withAnna(t)
  const insert = (row: Omit<DelegationRow, 'id'>) => (id: string) =>
    insertDelegation(sql, { id, ...row })
  const solid_before = async (id: string) => {
    await insertDelegation(sql, { id, state: 'active' })
    await sql`update orders set solid_at = ${later(-1)} where id = ${`order of ${id}`}`
  }
  const with_more = async (id: string) => {
    await insertDelegation(sql, { id, state: 'active' })
    await sql`update orders set to_delegate = true where id = ${`order of ${id}`}`
  }
  await requireDue({ sql, step: solidifyStep({ sql, clock }), column: 'solid_at' }, [
    ['solid', true, insert({ state: 'active' })],
    ['ended', true, insert({ state: 'ended' })],
    ['included', false, insert({ state: 'active', attempt: 'included' })],
    ['failed', true, insert({ state: 'failed', attempt: 'dead' })],
    ['pending', false, insert({ state: 'active', order: 'pending' })],
    ['before', false, solid_before],
    ['more', false, with_more],
  ])
})

test('an hour is nearly over from as many minutes before as are set, until it is', async (t) => {
  const sql = await withAnna(t)
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (1, 'a', ${now}, 1, 1, ${now})`
  const insert =
    (left_ms: number, row: Partial<DelegationRow> = {}, minutes: number | null = 10) =>
    async (id: string) => {
      await sql`
        insert into customer_setting (customer_id, ending_minutes, changed_at)
        values ('anna', ${minutes}, ${now})
        on conflict (customer_id) do update set ending_minutes = excluded.ending_minutes`
      await insertDelegation(sql, { id, state: 'active', expires_at: later(left_ms), ...row })
      await sql`
        update orders set created_at = ${later(left_ms - 60 * MINUTE_MS)}
        where id = ${`order of ${id}`}`
    }
  const before = async (id: string) => {
    await insert(10 * MINUTE_MS)(id)
    await sql`update orders set ending_at = ${later(-1)} where id = ${`order of ${id}`}`
  }
  const ended = async (id: string) => {
    await insert(10 * MINUTE_MS)(id)
    await sql`update orders set ended_at = ${later(-1)} where id = ${`order of ${id}`}`
  }
  // An hour cannot be over sooner than a minute before one is.
  const placed = (ago_ms: number) => async (id: string) => {
    await insert(10 * MINUTE_MS)(id)
    await sql`update orders set created_at = ${later(-ago_ms)} where id = ${`order of ${id}`}`
  }
  await requireDue({ sql, step: endingStep({ sql, clock }), column: 'ending_at' }, [
    ['placed later', false, placed(49 * MINUTE_MS - 1)],
    ['placed then', true, placed(49 * MINUTE_MS)],
    ['ended', false, ended],
    ['too early', false, insert(10 * MINUTE_MS + 1)],
    ['over', false, insert(0)],
    ['reclaiming', false, insert(10 * MINUTE_MS, { state: 'reclaiming' })],
    ['pending', false, insert(10 * MINUTE_MS, { order: 'pending' })],
    ['before', false, before],
    ['unset', false, insert(-1, {}, null)],
    ['first', true, insert(10 * MINUTE_MS)],
    ['last', true, insert(1)],
  ])
})
