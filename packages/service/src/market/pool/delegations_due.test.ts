// When delegations are to be taken back, or are: looked at one by one beside others that are not
// due, and when something else has happened in between.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import {
  begun_at,
  type DelegationRow,
  HOUR_MS,
  insertDelegation as insert,
  wallet,
} from 'penstock-test/harness/delegation_rows.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { withRace } from 'penstock-test/harness/race.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  activateDelegations,
  failDelegations,
  insertDelegations,
  reclaimedStep,
  reclaimStep,
  revertDelegations,
} from './delegations.ts'

const over_at = new Date(begun_at.getTime() + HOUR_MS)
const later = new Date(over_at.getTime() + 1)
const before = new Date(over_at.getTime() - 1)
const after_block = new Date(begun_at.getTime() + 3_000)

/** Block 50 is confirmed, an hour after the delegations began; there are others around it. */
async function confirmed(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into block (number, id, parent_id, time, contents)
    select number, 'block ' || number, '',
      ${over_at}::timestamptz + (number - 50) * interval '1 minute', '{}'
    from generate_series(49, 51) as number`
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (51, 'block 51', ${over_at}, 51, 50, ${over_at})`
  return sql
}

const needsOf = (sql: Sql) => {
  let made = 0
  return {
    sql,
    clock: { now: () => over_at },
    new_id: () => `made ${++made}`,
    permissions: new Map([[wallet, 2]]),
  }
}

const stateOf = async (sql: Sql, id: string) => {
  const [row] = await sql<{ state: string }>`select state from delegation where id = ${id}`
  return row!.state
}

async function remove(sql: Sql, id: string): Promise<void> {
  await sql`delete from delegation where id = ${id}`
  await sql`delete from attempt where subject = any(${[`delegate:${id}`, `reclaim:${id}`]})`
}

test('due is what is active, solid and over by the confirmed block, of our wallets', async (t) => {
  const sql = await confirmed(t)
  const step = reclaimStep(needsOf(sql))
  const [active, elsewhere] = [{ state: 'active' }, { of_wallet: person('cold').address }]
  const rows: [row: Omit<DelegationRow, 'id'>, is_due: boolean][] = [
    [active, true],
    [{ ...active, expires_at: before }, true],
    [{ ...active, expires_at: later }, false],
    // Its hour was counted from another block than the one that it is in now.
    [{ ...active, expires_at: later, delegated_at: after_block }, false],
    [{ ...active, attempt: 'included' }, false],
    [{ ...active, attempt: 'sent' }, false],
    [{ ...active, ...elsewhere }, false],
    [{ state: 'delegating' }, false],
    [{ state: 'reclaiming' }, false],
    [{ state: 'ended' }, false],
    [{ state: 'failed' }, false],
  ]
  await insert(sql, { id: 'other', state: 'ended' })
  await insert(sql, { id: 'other later', ...active, expires_at: later })
  for (const [i, [row, is_due]] of rows.entries()) {
    const id = `one${i}`
    const what = JSON.stringify(row)
    await insert(sql, { id, ...row })
    assert.equal(await isDue(sql, step), is_due, what)
    assert.equal(await step.run(), is_due, what)
    assert.equal(await stateOf(sql, id), is_due ? 'reclaiming' : row.state, what)
    await remove(sql, id)
  }
  await sql`delete from chain`
  await insert(sql, { id: 'unknown', ...active })
  assert.equal(await isDue(sql, step), false, 'no block is known')
  assert.equal(await step.run(), false)
})

test('due is what a block has taken back, or is dead, and what a fork has undone', async (t) => {
  const sql = await confirmed(t)
  const step = reclaimedStep({ sql })
  const rows: [state: string, reclaim: string, uncovered: boolean, to?: string][] = [
    ['reclaiming', 'included', false, 'ended'],
    ['reclaiming', 'solid', false, 'ended'],
    ['reclaiming', 'dead', false, 'active'],
    ['reclaiming', 'new', false],
    ['reclaiming', 'sent', false],
    ['reclaiming', 'sent', true],
    ['ended', 'signed', true, 'reclaiming'],
    ['ended', 'sent', true, 'reclaiming'],
    ['ended', 'dead', true, 'active'],
    ['ended', 'sent', false],
    ['ended', 'dead', false],
    ['ended', 'included', true],
    ['ended', 'solid', false],
  ]
  // Of each kind, none of which is due.
  await insert(sql, { id: 'waits', state: 'reclaiming', reclaim: 'sent' })
  await insert(sql, { id: 'lost', state: 'active', attempt: 'sent', uncovered: true })
  await insert(sql, { id: 'dead', state: 'failed', attempt: 'dead', uncovered: true })
  await insert(sql, { id: 'over', state: 'ended' })
  for (const [i, [state, reclaim, uncovered, to = state]] of rows.entries()) {
    const id = `one${i}`
    const what = `${state} ${reclaim} ${uncovered}`
    await insert(sql, { id, state, reclaim, uncovered })
    assert.equal(await isDue(sql, step), to !== state, what)
    assert.equal(await step.run(), to !== state, what)
    assert.equal(await stateOf(sql, id), to, what)
    await remove(sql, id)
  }
})

test('what is no more as it was found is not taken back, nor what was not found', async (t) => {
  const sql = await confirmed(t)
  const ids = ['gone', 'unsolid', 'longer', 'stays', 'taken']
  for (const id of ids) await insert(sql, { id, state: 'active' })
  const raced = withRace(sql, async () => {
    await sql`
      update delegation set state = 'failed', delegated_at = null, expires_at = null
      where id = 'gone'`
    await sql`
      update attempt set block_time = block_time + interval '1 minute'
      where id in ('delegate:taken', 'delegate:unsolid')`
    await sql`update attempt set state = 'included' where id = 'delegate:unsolid'`
    await sql`update delegation set expires_at = ${later} where id = 'longer'`
    await sql`
      insert into attempt (id, subject, contract, send_at, made_at)
      values ('elsewhere', 'elsewhere', '{}', ${over_at}, ${over_at})`
    await sql`
      update delegation set state = 'reclaiming', reclaim_id = 'elsewhere' where id = 'taken'`
    await insert(sql, { id: 'new', state: 'active' })
  })
  assert.equal(await reclaimStep(needsOf(raced)).run(), true)
  const moved = await sql<{ id: string; reclaim_id: string }>`
    select id, reclaim_id from delegation where state = 'reclaiming' order by id`
  assert.deepEqual(
    moved.map(({ id, reclaim_id }) => [id, reclaim_id]),
    [
      ['stays', 'made 1'],
      ['taken', 'elsewhere'],
    ],
  )
  const counted_anew = await sql`select from delegation where delegated_at <> ${begun_at}`
  assert.equal(counted_anew.length, 0)
})

test('two hundred that are not due keep none waiting that is', async (t) => {
  for (const [state, attempt] of [
    ['ended', 'solid'],
    ['active', 'included'],
  ] as const) {
    const sql = await confirmed(t)
    await insert(sql, { id: 'many', state, attempt, expires_at: before })
    await insert(sql, { id: 'due', state: 'active' })
    for (const prefix of ['delegate:', 'reclaim:'])
      await sql`
        insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
          made_at, block_number, block_time)
        select id || i, id || i, contract, state, id || i, signed, expires_at, send_at, made_at,
          block_number, block_time
        from attempt, generate_series(1, 200) as i where id = ${`${prefix}many`}`
    await sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
      select id || i, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id || i, reclaim_id || i, delegated_at, expires_at, reclaimed_at
      from delegation, generate_series(1, 200) as i where id = 'many'`
    assert.equal(await reclaimStep(needsOf(sql)).run(), true, state)
    assert.equal(await stateOf(sql, 'due'), 'reclaiming', state)
  }
})

test('an hour is counted anew of what is due and has moved, and of nothing else', async (t) => {
  const sql = await confirmed(t)
  const moveBlock = (id: string, minutes: number) => sql`
    update attempt set block_time = ${begun_at}::timestamptz + make_interval(mins => ${minutes})
    where id = ${`delegate:${id}`}`
  await insert(sql, { id: 'not due', state: 'active', expires_at: later })
  await insert(sql, { id: 'due', state: 'active' })
  await insert(sql, { id: 'due and there', state: 'active' })
  await moveBlock('not due', 7)
  await moveBlock('due', 3)
  assert.equal(await reclaimStep(needsOf(sql)).run(), true)
  const rows = await sql<{ id: string; state: string; delegated_at: Date; expires_at: Date }>`
    select id, state, delegated_at, expires_at from delegation order by id`
  const minutes = (time: Date) => (time.getTime() - begun_at.getTime()) / 60_000
  assert.deepEqual(
    rows.map((one) => [one.id, one.state, minutes(one.delegated_at), minutes(one.expires_at) | 0]),
    [
      ['due', 'active', 3, 63],
      ['due and there', 'reclaiming', 0, 60],
      ['not due', 'active', 0, 60],
    ],
  )
})

test('what a fork took back or is dead moves by its name, and no other', async (t) => {
  const sql = await confirmed(t)
  const ids = ['a', 'b', 'c']
  for (const id of ids) await insert(sql, { id, state: 'active' })
  const states = async () => Promise.all(ids.map((id) => stateOf(sql, id)))
  await sql.begin(async (tx) => {
    for (const move of [activateDelegations, revertDelegations, failDelegations]) move(tx, [])
  })
  assert.deepEqual(await states(), ['active', 'active', 'active'])
  await sql.begin(async (tx) => revertDelegations(tx, ['a']))
  assert.deepEqual(await states(), ['delegating', 'active', 'active'])
  await sql.begin(async (tx) => failDelegations(tx, ['b']))
  assert.deepEqual(await states(), ['delegating', 'failed', 'active'])
  await sql.begin(async (tx) => activateDelegations(tx, ['a']))
  assert.deepEqual(await states(), ['active', 'failed', 'active'])
})

test('a delegation is asked for of its resource, by the key of its wallet', async (t) => {
  const sql = await confirmed(t)
  await insert(sql, { id: 'other', state: 'failed', attempt: 'dead' })
  const part = { wallet, amount: 1, stake_sun: 1_000_000n }
  const of = { order_id: 'order of other', receiver: person('bob').address, part }
  const ratio = { total_limit: 1n, total_weight: 1n }
  await sql.begin(async (tx) =>
    insertDelegations(tx, needsOf(sql), [
      { ...of, ratio, resource: 'energy' },
      { ...of, ratio, resource: 'bandwidth' },
    ]),
  )
  const asked = await sql<{ resource: string; asked: string }>`
    select d.resource, a.contract #>> '{parameter,value,resource}' as asked
    from delegation as d join attempt as a on a.id = d.attempt_id
    where d.state = 'delegating' order by 1`
  assert.deepEqual(
    asked.map(({ resource, asked }) => [resource, asked]),
    [
      ['bandwidth', 'BANDWIDTH'],
      ['energy', 'ENERGY'],
    ],
  )
  const strange = {
    ...of,
    ratio,
    resource: 'energy',
    part: { ...part, wallet: of.receiver },
  } as const
  await assert.rejects(
    sql.begin(async (tx) => insertDelegations(tx, needsOf(sql), [strange])),
    /no key is configured for the wallet/,
  )
})
