import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import {
  insertChecks,
  insertCustomers,
  insertReviews,
  MADE_AT,
} from 'penstock-test/harness/screening_rows.ts'
import { later } from '../../lib/clock.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { type CaseAlert, keepAlerts, openCasesStep, remindCasesStep } from './case_opening.ts'
import { insertSubject } from './case_subjects.ts'
import { insertCase } from './cases.ts'

const TRANSFER = { tx_id: 'tx', asset: 'TRX', usd: '12.00', counterparty: 'eve', category: 'mixer' }

const alertOf = (rule: string, data: Partial<CaseAlert['data']> = {}): CaseAlert => ({
  customer_id: 'anna',
  at: MADE_AT,
  data: { address: 'there', rule, transfer: null, before: null, after: '0.5', ...data },
})

/** The steps of cases, at a time that a test moves. */
async function caseSteps(t: TestContext) {
  const { sql } = await freshDatabase(t)
  await insertCustomers(sql, ['anna', 'bert'])
  const time = { now: MADE_AT }
  const clock = { now: () => time.now }
  const needs = { sql, clock, new_id: idMaker(clock, systemRandom) }
  const [opens, reminds] = [openCasesStep(needs), remindCasesStep(needs)]
  const keep = (...alerts: CaseAlert[]) => sql.begin(async (tx) => keepAlerts(tx, alerts))
  const insert = (id: string, customer_id: string | null = null, address = id) =>
    sql.begin((tx) => {
      const one = { id, customer_id, address, priority: 'normal', risk_level: null } as const
      return insertCase(tx, one, { by: 'olga', at: MADE_AT, text: '' })
    })
  const close = (id: string) => sql`
    update aml_case set state = 'closed', closed_at = ${MADE_AT}, closed_by = 'olga',
      code = 'explained' where id = ${id}`
  const entries = () => sql<{ kind: string; text: string }>`
    select kind, text from aml_case_entry order by case_id, number`
  return { sql, time, clock, opens, reminds, keep, insert, close, entries }
}

test('an answer that waits is in a case once, by how bad it is', async (t) => {
  const { sql, opens } = await caseSteps(t)
  assert.deepEqual([await isDue(sql, opens), await opens.run()], [false, false])
  await insertChecks(sql, [
    { id: 'barred', address: 'barred', blacklist: true },
    { id: 'decided', address: 'decided' },
    { id: 'high', address: 'high' },
    { id: 'of bert', address: 'high', customer_id: 'bert', risk_level: 'medium' },
  ])
  await insertReviews(sql, [{ check_id: 'decided', address: 'decided', state: 'decided' }])
  assert.deepEqual([await isDue(sql, opens), await opens.run()], [false, false])
  await insertReviews(sql, [
    { check_id: 'barred', address: 'barred' },
    { check_id: 'high', address: 'high' },
    { check_id: 'of bert', address: 'high', customer_id: 'bert' },
  ])
  assert.deepEqual([await isDue(sql, opens), await opens.run()], [true, true])
  assert.deepEqual([await isDue(sql, opens), await opens.run()], [false, false])
  const cases = await sql<Record<'address' | 'priority' | 'risk_level' | 'subject', string>>`
    select c.address, c.priority, c.risk_level, s.subject
    from aml_case as c left join aml_case_subject as s on s.case_id = c.id order by s.subject`
  assert.deepEqual(
    cases.map(({ subject, ...one }) => [subject, one.address, one.priority, one.risk_level]),
    [
      ['barred', 'barred', 'urgent', 'high'],
      ['high', 'high', 'high', 'high'],
      ['of bert', 'high', 'high', 'medium'],
    ],
  )
})

test('one answer alone opens a case, and a further one of its address joins it', async (t) => {
  const { sql, opens, insert, entries } = await caseSteps(t)
  await insertChecks(sql, [{ id: 'first' }, { id: 'second' }])
  await insertReviews(sql, [{ check_id: 'first' }])
  // A deposit of that name, and another check, are no reason to leave the answer out.
  await insert('other')
  const added = { added_at: MADE_AT, added_by: 'olga' }
  await sql.begin(async (tx) => {
    await insertSubject(tx, 'other', { kind: 'deposit', subject: 'first', ...added })
    await insertSubject(tx, 'other', { kind: 'check', subject: 'second', ...added })
  })
  assert.deepEqual([await isDue(sql, opens), await opens.run()], [true, true])
  const kinds = async () =>
    (await entries()).map(({ kind }) => kind).filter((kind) => kind !== 'opened')
  assert.deepEqual(await kinds(), [])
  await sql`
    update aml_review set state = 'decided', decision = 'leave', reason = 'x', decided_by = 'x',
      decided_at = ${MADE_AT}`
  await insertChecks(sql, [{ id: 'third' }])
  await insertReviews(sql, [{ check_id: 'third' }])
  assert.equal(await opens.run(), true)
  assert.deepEqual(await kinds(), ['review'])
  assert.deepEqual([await isDue(sql, opens), await opens.run()], [false, false])
})

test('alerts about severe money are taken once, and amounts alone are not', async (t) => {
  const { sql, opens, keep, entries } = await caseSteps(t)
  await keep(alertOf('any_incoming_usd'))
  assert.deepEqual([await isDue(sql, opens), await opens.run()], [false, false])
  for (const alert of [
    alertOf('severe_share'),
    alertOf('severe_usd', { before: '29' }),
    alertOf('sent_to', { transfer: TRANSFER }),
  ]) {
    await keep(alertOf('any_incoming_usd'), alert)
    assert.deepEqual([await isDue(sql, opens), await opens.run()], [true, true], 'one is enough')
    assert.deepEqual([await isDue(sql, opens), await opens.run()], [false, false])
  }
  assert.deepEqual(
    (await entries()).map(({ kind, text }) => `${kind} ${text}`),
    [
      'opened severe_share: not known before, 0.5 now',
      'alert severe_usd: 29 before, 0.5 now',
      'alert sent_to: 12.00 USD of TRX to eve (mixer) in tx',
    ],
  )
})

test('a case has two hundred alerts at most, whatever else is in it or others', async (t) => {
  const { sql, opens, keep, insert } = await caseSteps(t)
  await insert('one', 'anna', 'there')
  await insert('other')
  const add = (id: string, kind: string, from: number, to: number) => sql`
    insert into aml_case_entry (case_id, number, kind, at, made_by, text)
    select ${id}, n, ${kind}, ${MADE_AT}, 'x', ''
    from generate_series(${from}::integer, ${to}::integer) as n`
  await add('one', 'note', 2, 221)
  await add('one', 'alert', 222, 420)
  await add('other', 'alert', 2, 260)
  const alerts = async () =>
    (await sql`select from aml_case_entry where case_id = 'one' and kind = 'alert'`).length
  assert.equal(await alerts(), 199)
  await keep(alertOf('severe_usd'))
  await opens.run()
  assert.equal(await alerts(), 200)
  await keep(alertOf('severe_usd'))
  await opens.run()
  assert.equal(await alerts(), 200)
})

test('cases are said to be late from when they are due, and each once', async (t) => {
  const { sql, time, clock, reminds, insert, close, entries } = await caseSteps(t)
  for (const id of ['closed', 'one', 'other']) await insert(id)
  await close('closed')
  time.now = later(clock, 72 * 3_600_000 - 1)
  assert.deepEqual([await isDue(sql, reminds), await reminds.run()], [false, false])
  time.now = later(clock, 1)
  assert.deepEqual([await isDue(sql, reminds), await reminds.run()], [true, true])
  assert.deepEqual([await isDue(sql, reminds), await reminds.run()], [false, false])
  assert.deepEqual(
    (await entries()).map(({ kind }) => kind),
    ['opened', 'opened', 'late', 'opened', 'late'],
  )
})
