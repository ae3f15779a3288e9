import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import {
  insertChecks,
  insertCustomers,
  insertReviews,
  MADE_AT,
} from 'penstock-test/harness/screening_rows.ts'
import type { Tx } from '../../platform/database/sql.ts'
import {
  addSubject,
  type CaseFilter,
  type CaseSubject,
  listCases,
  readFile,
  showCase,
} from './case_subjects.ts'
import { addEntry, insertCase } from './cases.ts'

const by = { by: 'olga', at: MADE_AT }
const DUE_AT = new Date(MADE_AT.getTime() + 72 * 3_600_000)
const BEFORE_DUE = new Date(DUE_AT.getTime() - 1)

/** Cases of Anna, Bert and nobody, about one address each unless it is said. */
async function cases(t: TestContext) {
  const { sql } = await freshDatabase(t)
  await insertCustomers(sql, ['anna', 'bert'])
  const insert = (id: string, customer_id: string | null, address = id) =>
    sql.begin((tx) => {
      const one = { id, customer_id, address, priority: 'normal', risk_level: null } as const
      return insertCase(tx, one, { ...by, text: 'opened' })
    })
  await insert('1 anna', 'anna')
  await insert('2 bert', 'bert')
  await insert('3 nobody', null)
  return { sql, insert }
}

test('cases are listed by all that is asked for, newest first', async (t) => {
  const { sql } = await cases(t)
  await sql`update aml_case set state = 'assigned', owner = ' Olga ' where id = '2 bert'`
  await sql`
    update aml_case set state = 'closed', closed_at = ${MADE_AT}, closed_by = 'x',
      code = 'explained', owner = 'x' where id = '3 nobody'`
  const list = async (wanted: Partial<CaseFilter>) => {
    const found = await listCases(sql, { late: false, now: DUE_AT, limit: 10, ...wanted })
    return found.map(({ id, is_late }) => `${id.split(' ')[1]}${is_late ? ' late' : ''}`)
  }
  for (const [wanted, found] of [
    [{}, ['nobody', 'bert late', 'anna late']],
    [{ now: BEFORE_DUE }, ['nobody', 'bert', 'anna']],
    [{ late: true }, ['bert late', 'anna late']],
    [{ late: true, now: BEFORE_DUE }, []],
    [{ state: 'open' }, ['anna late']],
    [{ state: 'closed' }, ['nobody']],
    [{ owner: 'OLGA' }, ['bert late']],
    [{ owner: 'bea' }, []],
    [{ customer: 'anna' }, ['anna late']],
    [{ customer: 'anna', state: 'closed' }, []],
    [{ before: '3 nobody' }, ['bert late', 'anna late']],
    [{ before: '2 bert' }, ['anna late']],
    [{ limit: 1 }, ['nobody']],
  ] as const)
    assert.deepEqual(await list(wanted), found, JSON.stringify(wanted))
})

const add = (tx: Tx, id: string, kind: CaseSubject['kind'], subject: string) =>
  addSubject(tx, { ...by, id, kind, subject })

test("a case takes checks of its customer, of no customer's anybody's, each once", async (t) => {
  const { sql } = await cases(t)
  await insertChecks(sql, [
    { id: 'of anna', risk_level: 'medium' },
    { id: 'of bert', customer_id: 'bert', risk_level: 'high' },
    { id: 'waits', state: 'pending' },
  ])
  const addTo = (id: string, kind: CaseSubject['kind'], subject: string) =>
    sql.begin((tx) => add(tx, id, kind, subject))
  assert.equal((await addTo('1 anna', 'check', 'of anna')).result.risk_level, 'medium')
  assert.equal((await addTo('1 anna', 'check', 'waits')).result.risk_level, 'medium')
  await assert.rejects(addTo('1 anna', 'check', 'of bert'), /Check of bert is another customer's/)
  await assert.rejects(addTo('1 anna', 'check', 'none'), /There is no check none/)
  await assert.rejects(addTo('1 anna', 'check', 'of anna'), /The case has it already/)
  assert.equal((await addTo('1 anna', 'deposit', 'of anna')).result.risk_level, 'medium')
  assert.equal((await addTo('1 anna', 'address', 'of bert')).result.risk_level, 'medium')
  assert.equal((await addTo('3 nobody', 'check', 'of bert')).result.risk_level, 'high')
})

test('a case is about two hundred things at most, and those of others do not count', async (t) => {
  const { sql } = await cases(t)
  const fill = (id: string, count: number) => sql`
    insert into aml_case_subject (case_id, kind, subject, added_at, added_by)
    select ${id}, 'address', 'a' || n, ${MADE_AT}, 'x' from generate_series(1, ${count}::int) as n`
  await fill('1 anna', 199)
  await fill('2 bert', 199)
  await sql.begin((tx) => add(tx, '1 anna', 'address', 'last'))
  await assert.rejects(
    sql.begin((tx) => add(tx, '1 anna', 'address', 'more')),
    /A case is about 200 things at most/,
  )
})

test('a case shows what is its own, and the earlier ones of its address', async (t) => {
  const { sql, insert } = await cases(t)
  await insert('0 earlier', 'bert', '1 anna')
  await insertChecks(sql, [{ id: 'c1' }, { id: 'c2' }, { id: 'c3' }])
  await insertReviews(sql, [
    { check_id: 'c1', address: 'a' },
    { check_id: 'c2', address: 'b' },
    { check_id: 'c3', address: 'c' },
  ])
  await sql.begin(async (tx) => {
    await add(tx, '1 anna', 'check', 'c1')
    await add(tx, '1 anna', 'deposit', 'c2')
    await add(tx, '3 nobody', 'check', 'c3')
    await addEntry(tx, { ...by, id: '1 anna', entry: { kind: 'note', text: 'a note' } })
    const file = { kind: 'file', text: 'a file', name: 'a.txt', sha256: 'x' }
    await addEntry(tx, { ...by, id: '1 anna', entry: file })
  })
  const shown = await showCase(sql, '1 anna', DUE_AT)
  assert.deepEqual(
    shown.subjects.map(({ kind, subject }) => `${kind} ${subject}`),
    ['check c1', 'deposit c2'],
  )
  assert.deepEqual(
    shown.reviews.map(({ check_id }) => check_id),
    ['c1'],
  )
  assert.deepEqual(
    shown.entries.map(({ number, kind, text }) => [number, kind, text]),
    [
      [1, 'opened', 'opened'],
      [2, 'added', 'check c1'],
      [3, 'added', 'deposit c2'],
      [4, 'note', 'a note'],
      [5, 'file', ''],
    ],
  )
  assert.deepEqual(
    shown.earlier.map(({ id }) => id),
    ['0 earlier'],
  )
  assert.equal(shown.is_late, true)
  assert.equal((await showCase(sql, '1 anna', BEFORE_DUE)).is_late, false)
  await sql`
    update aml_case set state = 'closed', closed_at = ${MADE_AT}, closed_by = 'x',
      code = 'explained' where id = '1 anna'`
  assert.equal((await showCase(sql, '1 anna', DUE_AT)).is_late, false, 'it is closed')
  await assert.rejects(showCase(sql, 'none', DUE_AT), /There is no case none/)
})

test('a file is read by its case and its number, and nothing else is one', async (t) => {
  const { sql } = await cases(t)
  const attach = (id: string, name: string) =>
    sql.begin((tx) => {
      const file = { kind: 'file', text: `text of ${name}`, name, sha256: 'x' }
      return addEntry(tx, { ...by, id, entry: file })
    })
  for (const [id, name] of [
    ['1 anna', 'a'],
    ['1 anna', 'b'],
    ['2 bert', 'c'],
  ] as const)
    await attach(id, name)
  assert.equal((await readFile(sql, '1 anna', 2)).text, 'text of a')
  assert.equal((await readFile(sql, '1 anna', 3)).text, 'text of b')
  assert.equal((await readFile(sql, '2 bert', 2)).name, 'c')
  for (const [id, number] of [
    ['1 anna', 1],
    ['1 anna', 4],
    ['2 bert', 3],
    ['3 nobody', 2],
  ] as const)
    await assert.rejects(readFile(sql, id, number), new RegExp(`Case ${id} has no file ${number}`))
})
