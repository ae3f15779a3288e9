import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { insertCustomers, MADE_AT } from 'penstock-test/harness/screening_rows.ts'
import { later } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  addEntry,
  assignCase,
  type Case,
  CLOSING_CODES,
  changeCase,
  escalateCase,
  findOpenCase,
  insertCase,
  joinCase,
  type Level,
  letsGo,
  type Priority,
  remindCase,
  reopenCase,
  requireCase,
  waitCase,
} from './cases.ts'

const HOUR_MS = 3_600_000
const at = MADE_AT
const clock = { now: () => at }
const inHours = (hours: number) => later(clock, hours * HOUR_MS)
const hoursOf = ({ due_at }: Pick<Case, 'due_at'>) => (+due_at - +at) / HOUR_MS
const by = { by: 'olga', at, text: 'a test' }

type Brief = Partial<Pick<Case, 'id' | 'customer_id' | 'address' | 'priority' | 'risk_level'>>

const open = (tx: Tx, one: Brief = {}) => {
  const plain = { id: 'one', customer_id: null, address: 'there', risk_level: null }
  return insertCase(tx, { ...plain, priority: 'normal', ...one }, by)
}

async function caseRows(t: TestContext) {
  const { sql } = await freshDatabase(t)
  await insertCustomers(sql, ['anna', 'bert'])
  return sql
}

const entryKinds = async (sql: Sql | Tx, id = 'one') =>
  (
    await sql<{ kind: string }>`
    select kind from aml_case_entry where case_id = ${id} order by number`
  ).map(({ kind }) => kind)

const notes = async (sql: Sql | Tx) =>
  (await sql<{ type: string }>`select type from event_note order by id`).map(({ type }) => type)

/** A priority and a level, as the table below has them; a dash is no level. */
const read = (text: string) => {
  const [priority, level] = text.split(' ') as [Priority, Level | '-']
  return { priority, risk_level: level === '-' ? null : level }
}

test('what is found anew makes a case more urgent and worse, and never less', async (t) => {
  const sql = await caseRows(t)
  const cases: [before: string, found: string, after: string][] = [
    ['normal -', 'normal low', 'normal low 72'],
    ['normal low', 'low medium', 'normal medium 72'],
    ['normal high', 'high medium', 'high high 24'],
    ['high medium', 'urgent -', 'urgent medium 4'],
    ['urgent high', 'high low', 'urgent high 4'],
    ['low -', 'normal -', 'normal - 72'],
    ['low low', 'low high', 'low high 168'],
  ]
  for (const [before, found, after] of cases) {
    const id = `${before} and ${found}`
    await sql.begin(async (tx) => {
      const one = await open(tx, { id, address: id, ...read(before) })
      await joinCase(tx, one!, read(found), { kind: 'alert', ...by })
    })
    const now = await requireCase(sql, id)
    assert.equal(`${now.priority} ${now.risk_level ?? '-'} ${hoursOf(now)}`, after, id)
  }
  const opened = await notes(sql)
  assert.deepEqual(opened, Array(cases.length).fill('case.opened'), 'its state is the same')
})

test('a case that becomes more urgent is due sooner, or when it was due already', async (t) => {
  const sql = await caseRows(t)
  // Urgent from now on is due in four hours.
  for (const [due, priority, hours, is_reminded] of [
    [3, 'urgent', 3, true],
    [4, 'urgent', 4, true],
    [5, 'urgent', 4, false],
    [500, 'normal', 500, true],
  ] as const) {
    const id = `due in ${due}`
    await sql.begin(async (tx) => {
      await open(tx, { id, address: id })
      await tx`
        update aml_case set due_at = ${inHours(due)}, reminded_at = ${at} where id = ${id}`
      const before = await requireCase(tx, id)
      await joinCase(tx, before, { priority, risk_level: null }, { kind: 'alert', ...by })
    })
    const now = await requireCase(sql, id)
    assert.deepEqual([hoursOf(now), now.reminded_at !== null], [hours, is_reminded], id)
  }
})

test('an escalated case is high or urgent, and due no later than it was', async (t) => {
  const sql = await caseRows(t)
  for (const [priority, due, after, hours] of [
    ['low', 168, 'high', 24],
    ['normal', 5, 'high', 5],
    ['high', 24, 'high', 24],
    ['urgent', 100, 'urgent', 4],
    ['urgent', 2, 'urgent', 2],
  ] as const) {
    const id = `${priority} ${due}`
    await sql.begin(async (tx) => {
      await open(tx, { id, address: id, priority })
      await tx`update aml_case set due_at = ${inHours(due)} where id = ${id}`
      await escalateCase(tx, { ...by, id })
    })
    const now = await requireCase(sql, id)
    assert.deepEqual([now.state, now.priority, hoursOf(now)], ['escalated', after, hours], id)
    await assert.rejects(
      sql.begin((tx) => escalateCase(tx, { ...by, id })),
      /olga has escalated it already/,
    )
  }
})

test('a case is assigned once to the same person, and told only of what has changed', async (t) => {
  const sql = await caseRows(t)
  const assign = (owner: string) => sql.begin((tx) => assignCase(tx, { ...by, id: 'one', owner }))
  await sql.begin((tx) => open(tx))
  assert.equal((await assign('bea')).actions.length, 1)
  assert.deepEqual((await assign('bea')).actions, [], 'it is with her')
  assert.equal((await assign('olga')).actions.length, 1)
  await sql.begin((tx) => waitCase(tx, { ...by, id: 'one', until: inHours(1) }))
  assert.equal((await assign('olga')).actions.length, 1, 'it does not wait any more')
  await sql.begin((tx) =>
    changeCase(tx, { by: 'olga', at, id: 'one', settings: { priority: 'low' } }),
  )
  assert.deepEqual(await entryKinds(sql), [
    ...['opened', 'assigned', 'assigned', 'waiting', 'assigned', 'changed'],
  ])
  assert.deepEqual(await notes(sql), ['case.opened', ...Array(4).fill('case.changed')])
})

test('what is changed of a case is said, and only a new day may be late again', async (t) => {
  const sql = await caseRows(t)
  await sql.begin((tx) => open(tx))
  await sql.begin((tx) => open(tx, { id: 'other', address: 'elsewhere' }))
  await sql`update aml_case set reminded_at = ${at}`
  const change = (settings: Parameters<typeof changeCase>[1]['settings']) =>
    sql.begin((tx) => changeCase(tx, { by: 'olga', at, id: 'one', settings }))
  await change({ priority: 'urgent', report_reference: 'FIU 7' })
  const reminded = await requireCase(sql, 'one')
  assert.deepEqual([reminded.reminded_at, hoursOf(reminded)], [at, 72])
  await change({ due_at: inHours(5) })
  const again = await requireCase(sql, 'one')
  assert.deepEqual([again.reminded_at, hoursOf(again)], [null, 5])
  assert.deepEqual([again.priority, again.report_reference], ['urgent', 'FIU 7'])
  const texts = await sql<{ text: string }>`
    select text from aml_case_entry where kind = 'changed' order by number`
  assert.deepEqual(
    texts.map(({ text }) => text),
    ['priority urgent, report FIU 7', 'due 2026-11-21T17:00:00Z'],
  )
  const other = await requireCase(sql, 'other')
  assert.deepEqual([other.priority, other.reminded_at, hoursOf(other)], ['normal', at, 72])
})

test('an address has one case that is not closed for each customer, and for none', async (t) => {
  const sql = await caseRows(t)
  await sql.begin(async (tx) => {
    for (const customer_id of ['anna', 'bert', null]) {
      const id = `of ${customer_id}`
      assert.equal((await open(tx, { id, customer_id }))?.id, id)
      assert.equal(await open(tx, { id: 'twice', customer_id }), undefined)
      assert.equal((await findOpenCase(tx, customer_id, 'there'))?.id, id)
      assert.equal(await findOpenCase(tx, customer_id, 'elsewhere'), undefined)
    }
    await tx`
      update aml_case set state = 'closed', closed_at = ${at}, closed_by = 'olga',
        code = 'explained' where id = 'of anna'`
    assert.equal(await findOpenCase(tx, 'anna', 'there'), undefined)
    assert.equal((await open(tx, { id: 'next', customer_id: 'anna' }))?.id, 'next')
    await assert.rejects(
      reopenCase(tx, { ...by, id: 'of anna' }),
      /The address has case next, which is not closed/,
    )
  })
})

test('a case is late from the moment that it is due, once, unless it is closed', async (t) => {
  const sql = await caseRows(t)
  const remind = (id: string, hours: number) =>
    sql.begin((tx) => remindCase(tx, id, inHours(hours)))
  const just_before = 72 - 1 / HOUR_MS
  await sql.begin(async (tx) => {
    for (const id of ['one', 'closed', 'waits', 'other']) await open(tx, { id, address: id })
    await tx`
      update aml_case set state = 'closed', closed_at = ${at}, closed_by = 'olga',
        code = 'explained' where id = 'closed'`
    await tx`update aml_case set state = 'waiting', owner = 'bea' where id = 'waits'`
  })
  assert.equal(await remind('one', just_before), false)
  assert.equal(await remind('one', 72), true)
  assert.equal(await remind('one', 73), false)
  assert.equal(await remind('closed', 73), false)
  assert.equal(await remind('waits', 73), true)
  const rows = await sql<{ id: string; state: string; is_reminded: boolean }>`
    select id, state, reminded_at is not null as is_reminded from aml_case order by id`
  assert.deepEqual(
    rows.map(({ id, state, is_reminded }) => [id, state, is_reminded]),
    [
      ['closed', 'closed', false],
      ['one', 'open', true],
      ['other', 'open', false],
      ['waits', 'assigned', true],
    ],
  )
  assert.deepEqual(await entryKinds(sql), ['opened', 'late'])
  assert.deepEqual((await notes(sql)).slice(4), ['case.late', 'case.late'])
})

/** Entries beside the first one. */
const fill = (tx: Tx, kind: 'note' | 'file', count: number) => tx`
  insert into aml_case_entry (case_id, number, kind, at, made_by, text, name, sha256)
  select 'one', n + 1, ${kind}, ${at}, 'olga', '', case ${kind} when 'file' then 'a' end,
    case ${kind} when 'file' then 'a' end
  from generate_series(1, ${count}::integer) as n`

test('a case takes fifty files and two thousand entries, and others do not count', async (t) => {
  const sql = await caseRows(t)
  const file = { kind: 'file', text: '', name: 'a.txt', sha256: 'a' }
  const add = (tx: Tx, entry: Parameters<typeof addEntry>[1]['entry'], id = 'one') =>
    addEntry(tx, { by: 'olga', at, id, entry })
  for (const [kind, count, entry, refused] of [
    ['file', 49, file, undefined],
    ['file', 50, file, /has 50 files already/],
    ['file', 50, { kind: 'note', text: '' }, undefined],
    ['note', 60, file, undefined],
    ['note', 1_998, { kind: 'note', text: '' }, undefined],
    ['note', 1_999, { kind: 'note', text: '' }, /has 2000 entries already/],
  ] as const)
    await sql
      .begin(async (tx) => {
        await open(tx)
        await fill(tx, kind, count)
        await open(tx, { id: 'other', address: 'elsewhere' })
        assert.equal((await add(tx, file, 'other')).number, 2)
        if (refused) await assert.rejects(add(tx, entry), refused)
        else assert.equal((await add(tx, entry)).number, count + 2)
        throw new Error('undo')
      })
      .catch((thrown: Error) => assert.equal(thrown.message, 'undo', `${count} ${kind}`))
})

test('it is for two to let go what is high, or may be', () => {
  const lets = ['low', 'medium', 'high', null].flatMap((level) =>
    CLOSING_CODES.filter((code) => letsGo({ risk_level: level as Level | null }, code)).map(
      (code) => `${level} ${code}`,
    ),
  )
  assert.deepEqual(lets, [
    ...['high false_positive', 'high explained', 'null false_positive', 'null explained'],
  ])
})
