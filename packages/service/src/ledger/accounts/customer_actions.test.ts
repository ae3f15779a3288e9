import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { withoutTriggers } from 'penstock-test/harness/without_triggers.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Actor, listCustomerActions, recordCustomerAction } from './customer_actions.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 9, 8, 15, minute))

async function customer(sql: Sql, id: string): Promise<Actor> {
  await sql.begin((tx) => makeCustomer(tx, { id, at: at(0) }))
  return { customer_id: id, key_id: 'own' }
}

type Change = { action: string; subject: string; before?: object | null; after?: object | null }

const record = (sql: Sql, made_at: Date, actor: Actor, change: Change) =>
  sql.begin((tx) =>
    recordCustomerAction(tx, made_at, { before: null, after: {}, ...change, actor }),
  )

test('what changes nothing is not recorded; what begins or ends something is', async (t) => {
  const { sql } = await freshDatabase(t)
  const actor = await customer(sql, 'anna')
  const change = { action: 'key/change', subject: 'key:1' }
  const rows: [before: object | null, after: object | null, recorded: boolean][] = [
    [{ a: 1 }, { a: 1 }, false],
    [{ a: 1 }, { a: 2 }, true],
    [null, { a: 1 }, true],
    [{ a: 1 }, null, true],
    [null, null, true],
  ]
  let recorded = 0
  for (const [before, after, is] of rows) {
    await record(sql, at(0), actor, { ...change, before, after })
    recorded += Number(is)
    const listed = await listCustomerActions(sql, { customer_id: 'anna', limit: 9 })
    assert.equal(listed.length, recorded, JSON.stringify([before, after]))
  }
})

test('what was changed a whole day before counts no longer for the changes of a day', async (t) => {
  const { sql } = await freshDatabase(t)
  const actor = await customer(sql, 'anna')
  const insert = (made_by: string, made_at: Date, count: number) => sql`
    insert into customer_action (customer_id, made_at, made_by, action, subject)
    select 'anna', ${made_at}, ${made_by}, 'settings/change', 'settings'
    from generate_series(1, ${count}::integer)`
  const change = (after: object) =>
    record(sql, at(24 * 60), actor, { action: 'settings/change', subject: 'settings', after })
  await insert('key:own', at(0), 1)
  // Another's, so that the customer has had enough in all, and one below it of its own.
  await insert('key:other', at(1), 1)
  for (let i = 0; i < 9; i++) await insert('key:own', at(1), 1_111)
  await change({ a: 1 })
  await assert.rejects(change({ a: 2 }), TooManyRequests)
})

/** A key's records of a customer, numbered from one on. */
const insertMany = (sql: Sql, customer_id: string, action: string) =>
  withoutTriggers(
    sql,
    (tx) => tx`
      insert into customer_action (customer_id, number, made_at, made_by, action, subject, sha256)
      select ${customer_id}, n, ${at(1)}, 'key:own', ${action}, 'settings', 'no sum'
      from generate_series(1, 10000) as n`,
  )

test('the changes of a day are those of a key of one customer, and no endings', async (t) => {
  const { sql } = await freshDatabase(t)
  const [anna, carl] = [await customer(sql, 'anna'), await customer(sql, 'carl')]
  await insertMany(sql, 'anna', 'settings/change')
  await insertMany(sql, 'carl', 'key/revoke')
  // Another's, of before: its number says nothing of theirs.
  await withoutTriggers(
    sql,
    (tx) => tx`
      insert into customer_action (customer_id, number, made_at, made_by, action, subject, sha256)
      values ('bert', 30000, ${new Date(at(0).getTime() - DAY_MS)}, 'key:own', 'a', 's', 'no sum')`,
  )
  const change = (actor: Actor, action: string) =>
    record(sql, at(24 * 60), actor, { action, subject: 'settings' })
  await assert.rejects(change(anna, 'settings/change'), TooManyRequests)
  await change(anna, 'key/revoke')
  await change({ ...anna, key_id: 'other' }, 'settings/change')
  await change(carl, 'settings/change')
})

test('a record is found by who, what, whereof and when, newest first, page by page', async (t) => {
  const { sql } = await freshDatabase(t)
  const [anna, bert] = [await customer(sql, 'anna'), await customer(sql, 'bert')]
  const other_key = { ...anna, key_id: 'other' }
  await record(sql, at(1), anna, { action: 'key/new', subject: 'key:1' })
  await record(sql, at(2), other_key, { action: 'key/new', subject: 'key:2' })
  await record(sql, at(3), anna, { action: 'key/change', subject: 'key:1' })
  await record(sql, at(4), anna, { action: 'settings/change', subject: 'keys' })
  await record(sql, at(5), bert, { action: 'key/new', subject: 'key:3' })
  type Filter = Partial<Parameters<typeof listCustomerActions>[1]>
  const rows: [wanted: Filter, minutes: number[]][] = [
    [{}, [4, 3, 2, 1]],
    [{ limit: 2 }, [4, 3]],
    [{ before: 3n }, [2, 1]],
    [{ made_by: 'key:own' }, [4, 3, 1]],
    [{ made_by: 'key:other' }, [2]],
    [{ action: 'key/new' }, [2, 1]],
    [{ subject: 'key' }, [3, 2, 1]],
    [{ subject: 'key:1' }, [3, 1]],
    [{ subject: 'keys' }, [4]],
    [{ since: at(3) }, [4, 3]],
    [{ until: at(3) }, [2, 1]],
    [{ customer_id: 'bert' }, [5]],
  ]
  for (const [wanted, minutes] of rows) {
    const found = await listCustomerActions(sql, { customer_id: 'anna', limit: 9, ...wanted })
    assert.deepEqual(
      found.map(({ made_at }) => made_at.getUTCMinutes()),
      minutes,
      JSON.stringify({ ...wanted, before: `${wanted.before}` }),
    )
  }
})
