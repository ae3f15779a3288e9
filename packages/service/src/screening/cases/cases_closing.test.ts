// Who closes a case and when, and what a closed one takes: on rows.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { insertChecks, insertReviews, MADE_AT } from 'penstock-test/harness/screening_rows.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { addSubject } from './case_subjects.ts'
import {
  addEntry,
  assignCase,
  type ClosingCode,
  changeCase,
  closeCase,
  escalateCase,
  insertCase,
  reopenCase,
  requireCase,
  waitCase,
} from './cases.ts'

const at = MADE_AT
const said = { at, text: 'a test' }

/** Two cases; what is done is done to the first unless it is said. */
async function cases(t: TestContext) {
  const { sql } = await freshDatabase(t)
  const doing = <T>(work: (tx: Tx) => Promise<T>) => sql.begin(work)
  for (const id of ['one', 'other'])
    await doing((tx) => {
      const plain = {
        customer_id: null,
        address: id,
        risk_level: null,
        priority: 'normal',
      } as const
      return insertCase(tx, { id, ...plain }, { by: 'olga', ...said })
    })
  const assign = (owner: string, id = 'one') =>
    doing((tx) => assignCase(tx, { id, owner, by: 'olga', ...said }))
  const close = (by: string, code: ClosingCode = 'explained', id = 'one') =>
    doing((tx) => closeCase(tx, { id, code, by, ...said }))
  const standing = async (id = 'one') => {
    const { state, owner, escalated_by, closed_by, code } = await requireCase(sql, id)
    return [state, owner, escalated_by, closed_by, code].join(' ')
  }
  return { sql, doing, assign, close, standing }
}

test('only its owner closes a case, however the name is spelled, and nobody else', async (t) => {
  const { assign, close, standing } = await cases(t)
  await assert.rejects(close('olga'), /It is with nobody: assign it first/)
  await assign('bea')
  await assert.rejects(close('olga'), /It is with bea, who alone can close it/)
  await close(' BEA ')
  assert.equal(await standing(), 'closed bea   BEA  explained')
  assert.equal(await standing('other'), 'open    ')
})

test('who has escalated a case neither takes nor closes it', async (t) => {
  const { doing, assign, close, standing } = await cases(t)
  await doing((tx) => escalateCase(tx, { id: 'one', by: 'olga', ...said }))
  assert.equal(await standing(), 'escalated  olga  ')
  await assert.rejects(assign('Olga '), /olga has escalated it: it goes to another/)
  await assign('bea')
  await assert.rejects(close('OLGA'), /OLGA has escalated it: another one closes it/)
  await close('bea')
  assert.equal(await standing(), 'closed bea olga bea explained')
})

test('a case is not closed while an answer of its own waits', async (t) => {
  const { sql, doing, assign, close, standing } = await cases(t)
  const ids = ['decided', 'of a deposit', 'elsewhere', 'own', 'nowhere']
  await insertChecks(
    sql,
    ids.map((id) => ({ id, address: id })),
  )
  await insertReviews(
    sql,
    ids.map((id) => ({
      check_id: id,
      address: id,
      state: id === 'decided' ? 'decided' : 'open',
    })),
  )
  const add = (subject: string, kind: 'check' | 'deposit' = 'check', id = 'one') =>
    doing((tx) => addSubject(tx, { id, kind, subject, by: 'olga', at }))
  await add('decided')
  await add('of a deposit', 'deposit')
  await add('elsewhere', 'check', 'other')
  await assign('bea')
  await add('own')
  await assert.rejects(close('bea'), /The answer of check own waits: decide it first/)
  await sql`delete from aml_review where check_id = 'own'`
  await close('bea')
  assert.equal(await standing(), 'closed bea  bea explained')
})

test('a case is closed as reported when the report has a reference', async (t) => {
  const { doing, assign, close, standing } = await cases(t)
  for (const id of ['one', 'other']) await assign('bea', id)
  await assert.rejects(close('bea', 'reported'), /It has no reference of a report/)
  const settings = { report_reference: 'FIU 7' }
  await doing((tx) => changeCase(tx, { id: 'one', by: 'bea', at, settings }))
  await close('bea', 'reported')
  await close('bea', 'barred', 'other')
  assert.equal(await standing(), 'closed bea  bea reported')
  assert.equal(await standing('other'), 'closed bea  bea barred')
})

test('a closed case takes nothing until it is reopened, with nobody', async (t) => {
  const { sql, doing, assign, close, standing } = await cases(t)
  await assert.rejects(
    doing((tx) => reopenCase(tx, { id: 'one', by: 'olga', ...said })),
    /It is not closed: it is open/,
  )
  await doing((tx) => escalateCase(tx, { id: 'one', by: 'olga', ...said }))
  await assign('bea')
  await close('bea')
  const by = { id: 'one', by: 'bea', at }
  const entry = { kind: 'note', text: '' }
  const works: ((tx: Tx) => Promise<unknown>)[] = [
    (tx: Tx) => assignCase(tx, { owner: 'bea', text: '', ...by }),
    (tx: Tx) => waitCase(tx, { until: at, text: '', ...by }),
    (tx: Tx) => escalateCase(tx, { text: '', ...by }),
    (tx: Tx) => closeCase(tx, { code: 'explained', text: '', ...by }),
    (tx: Tx) => changeCase(tx, { settings: { priority: 'low' }, ...by }),
    (tx: Tx) => addEntry(tx, { entry, ...by }),
    (tx: Tx) => addSubject(tx, { kind: 'address', subject: 'x', ...by }),
  ]
  for (const work of works)
    await assert.rejects(doing(work), /bea has closed it \(explained\): it can be reopened/)
  await doing((tx) => reopenCase(tx, { text: 'again', ...by }))
  assert.equal(await standing(), 'open    ')
  assert.equal((await requireCase(sql, 'one')).closed_at, null)
  await assert.rejects(
    doing((tx) => waitCase(tx, { until: at, text: '', ...by })),
    /It is with nobody: assign it first/,
  )
  assert.equal(await standing('other'), 'open    ')
})

test('a case that is not there is said not to be', async (t) => {
  const { sql, doing } = await cases(t)
  const none = /There is no case none/
  await assert.rejects(requireCase(sql, 'none'), none)
  await assert.rejects(
    doing((tx) => escalateCase(tx, { id: 'none', by: 'olga', ...said })),
    none,
  )
  await assert.rejects(
    doing((tx) => reopenCase(tx, { id: 'none', by: 'olga', ...said })),
    none,
  )
})
