import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { setApprovalRule } from './approvals.ts'
import {
  allowOperation,
  listOperationProposals,
  proposeOperation,
  useAllowance,
} from './second_operators.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 9, 8, 12, minute))
const KEY = { action: 'keys new', body: '{"customer": "anna", "name": "shop"}', by: 'olga' }

async function desk(t: TestContext) {
  const { sql } = await freshDatabase(t)
  const rule = { second: 'name' as const, from_sun: 0n }
  await sql.begin((tx) => setApprovalRule(tx, rule, { at: at(-1), by: 'olga' }))
  let made = 0
  return {
    sql,
    propose: (more: Partial<typeof KEY>, minute: number) =>
      sql.begin((tx) =>
        proposeOperation(
          tx,
          { ...KEY, ...more },
          { id: `${++made}`, reason: null, at: at(minute) },
        ),
      ),
    allow: (id: string, by: string, minute: number) =>
      sql.begin((tx) => allowOperation(tx, { id, at: at(minute), by })),
    use: (id: string, minute: number) => sql.begin((tx) => useAllowance(tx, id, at(minute))),
  }
}

test('what is proposed is the very same, by the same operator, within the hour', async (t) => {
  const { propose } = await desk(t)
  const first = await propose({}, 0)
  assert.deepEqual(first, { id: '1', allowed: false, is_new: true })
  const same = { id: '1', allowed: false, is_new: false }
  assert.deepEqual(await propose({}, 1), same)
  assert.deepEqual(await propose({ by: ' OLGA' }, 1), same)
  assert.deepEqual(await propose({ body: '{"name": "shop", "customer": "anna"}' }, 1), same)
  const others = [{ action: 'keys change' }, { body: '{"name": "shop"}' }, { by: 'piet' }]
  for (const other of others) assert.equal((await propose(other, 1)).is_new, true)
  assert.equal((await propose({}, 60)).is_new, true, 'its hour is over')
})

test('one proposal is allowed, and no other comes along', async (t) => {
  const { sql, propose, allow } = await desk(t)
  for (const body of ['{"n": 1}', '{"n": 2}', '{"n": 3}']) await propose({ body }, 0)
  const allowed = await allow('2', 'piet', 1)
  assert.deepEqual([allowed.id, allowed.body, allowed.approved_by], ['2', { n: 2 }, 'piet'])
  assert.deepEqual(
    (await listOperationProposals(sql, { limit: 9 })).map((one) => [one.id, one.approved_by]),
    [
      ['3', null],
      ['2', 'piet'],
      ['1', null],
    ],
  )
  assert.equal((await propose({ body: '{"n": 2}' }, 2)).allowed, true)
  assert.equal((await propose({ body: '{"n": 2}', action: 'keys change' }, 2)).allowed, false)
  assert.equal((await propose({ body: '{"n": 2}', by: 'rita' }, 2)).allowed, false)
  await assert.rejects(allow('2', 'rita', 3), /piet has allowed it already/)
  await assert.rejects(allow('1', 'Olga', 3), /has proposed it cannot allow it/)
  await assert.rejects(allow('9', 'piet', 3), /Nothing is proposed under the id 9/)
})

test('what is allowed is done once, within its hour, and not before it is allowed', async (t) => {
  const { propose, allow, use } = await desk(t)
  const late = /was done already, or its hour is over/
  await propose({}, 0)
  await propose({ by: 'rita' }, 0)
  await assert.rejects(use('1', 1), late)
  await allow('1', 'piet', 1)
  await allow('2', 'piet', 1)
  await assert.rejects(use('1', 60), late)
  await use('1', 59)
  await assert.rejects(use('1', 59), late)
  assert.equal((await propose({}, 59)).is_new, true, 'what was used allows nothing more')
  await use('2', 59)
})
