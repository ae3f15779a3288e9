// A second pair of eyes: a correction that one operator proposes and another one approves.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type Operator, worldOperator } from '../../harness/operator.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

const WHY = ['--reason', 'lost in an outage']

type Proposal = { id: string; approved_by: string | null; ends_at: string }
type Setting = { world: World; anna: Customer; at: Operator }

/** A customer with 10 TRX, and a rule that wants a second operator from 5 TRX on. */
async function underRule(t: Parameters<typeof makeWorld>[0], second = 'name'): Promise<Setting> {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10 })
  const at = await worldOperator(world)
  await at.json('approvals', 'set', second, '--from', '5', ...WHY)
  world.wait(120)
  return { world, anna, at }
}

const propose = (at: Operator, anna: Customer, word: string, trx: string, id: string) =>
  at.json<{ made_at: string | null }>(
    ...['customers', word, anna.id, trx, '--id', id, '--by', 'ada', ...WHY],
  )

const give = (at: Operator, id: string, by: string) => at.type('approvals', 'give', id, '--by', by)

/** The rules of the books that are broken. */
async function broken(at: Operator): Promise<string[]> {
  const { out } = await at.type('books', 'check', '--json')
  const rules = (JSON.parse(out) as { rules: { rule: string; state: string }[] }).rules
  return rules.filter(({ state }) => state === 'broken').map(({ rule }) => rule)
}

test('what one operator proposes moves nothing until another one approves it', async (t) => {
  const { world, anna, at } = await underRule(t)
  const small = await propose(at, anna, 'credit', '4.999999', 'small')
  assert.ok(small.made_at, 'below the amount one is enough')
  assert.equal(await anna.balance(), 14.999999)
  assert.equal((await propose(at, anna, 'credit', '5', 'ticket 8')).made_at, null)
  assert.equal((await propose(at, anna, 'debit', '6', 'ticket 9')).made_at, null)
  // The same again changes nothing; the id for another amount is refused.
  assert.equal((await propose(at, anna, 'credit', '5', 'ticket 8')).made_at, null)
  const other = await at.type('customers', 'credit', anna.id, '6', '--id', 'ticket 8', ...WHY)
  assert.match(other.err, /was used for another correction/)
  assert.equal(await anna.balance(), 14.999999)
  for (const by of ['ada', ' ADA ']) {
    const said = await give(at, 'ticket 8', by)
    assert.deepEqual([said.code, /proposed it cannot approve/.test(said.err)], [1, true])
  }
  assert.match((await give(at, 'ticket 7', 'bea')).err, /Nothing is proposed/)
  const open = await at.json<Proposal[]>('approvals', 'list', '--open')
  assert.deepEqual(open.map(({ id }) => id).toSorted(), ['ticket 8', 'ticket 9'])
  for (const id of ['ticket 8', 'ticket 9']) assert.equal((await give(at, id, 'bea')).code, 0)
  assert.equal(await anna.balance(), 13.999999)
  assert.match((await give(at, 'ticket 8', 'cleo')).err, /bea has approved it already/)
  assert.ok((await propose(at, anna, 'credit', '5', 'ticket 8')).made_at, 'it is made')
  assert.equal(await anna.balance(), 13.999999)
  assert.deepEqual(await at.json('approvals', 'list', '--open'), [])
  const actions = await at.json<{ subject: string; made_by: string }[]>('actions', 'list')
  assert.deepEqual(actions.map(({ subject, made_by }) => [subject, made_by]).toSorted(), [
    ['approvals', 'ops'],
    ['correction:small', 'ada'],
    ['correction:ticket 8', 'bea'],
    ['correction:ticket 9', 'bea'],
    ['proposal:ticket 8', 'ada'],
    ['proposal:ticket 9', 'ada'],
  ])
  assert.deepEqual(await broken(at), [])
  await world.settle()
})

test('a proposal ends with its hour, and can be made anew', async (t) => {
  const { world, anna, at } = await underRule(t)
  await propose(at, anna, 'credit', '5', 'ticket 8')
  world.wait(3_600)
  const late = await give(at, 'ticket 8', 'bea')
  assert.deepEqual([late.code, /hour is over/.test(late.err)], [1, true])
  assert.deepEqual(await at.json('approvals', 'list', '--open'), [])
  assert.equal(await anna.balance(), 10)
  await propose(at, anna, 'credit', '5', 'ticket 8')
  world.wait(3_599)
  assert.equal((await give(at, 'ticket 8', 'bea')).code, 0)
  assert.equal(await anna.balance(), 15)
  assert.deepEqual(await broken(at), [])
})

test('approved by several at once, a correction is made once', async (t) => {
  const { world, anna, at } = await underRule(t)
  const operators = await Promise.all([1, 2, 3, 4].map(() => worldOperator(world)))
  const proposed = await Promise.all(
    operators.map((one) => propose(one, anna, 'credit', '5', 'ticket 8')),
  )
  assert.ok(proposed.every(({ made_at }) => made_at === null))
  const said = await Promise.all(operators.map((one, i) => give(one, 'ticket 8', `bea ${i}`)))
  assert.deepEqual(said.map(({ code }) => code).toSorted(), [0, 1, 1, 1])
  assert.equal(await anna.balance(), 15)
  const [row] = await world.sql`
    select count(*) as entries from transfer where id = 'correction:ticket 8'`
  assert.equal(Number(row!.entries), 1)
  // A debit that two approvals of two proposals would overdraw: one of them is refused.
  await propose(at, anna, 'debit', '10', 'more')
  await propose(at, anna, 'debit', '10', 'too much')
  const debits = await Promise.all([
    give(at, 'more', 'bea'),
    give(operators[1]!, 'too much', 'bea'),
  ])
  assert.deepEqual(debits.map(({ code }) => code).toSorted(), [0, 1])
  assert.equal(await anna.balance(), 5)
  const [open] = await at.json<Proposal[]>('approvals', 'list', '--open')
  assert.equal(open?.approved_by, null, 'what was refused is not approved')
  assert.deepEqual(await broken(at), [])
})

test('where the rule says so, the second is another role of the database', async (t) => {
  const { world, anna, at } = await underRule(t, 'role')
  const role = `second_${randomUUID().replaceAll('-', '')}`
  await world.sql.begin(async (tx) => {
    await tx`select set_config('penstock.role', ${role}, true)`
    await tx`
      do $$ begin
        execute format('create role %I login superuser password ''second''',
          current_setting('penstock.role'));
      end $$`
  })
  const drop = () =>
    world.sql.begin(async (tx) => {
      await tx`select set_config('penstock.role', ${role}, true)`
      await tx`
        do $$ begin execute format('drop role %I', current_setting('penstock.role')); end $$`
    })
  try {
    await propose(at, anna, 'credit', '5', 'ticket 8')
    const same = await give(at, 'ticket 8', 'bea')
    assert.deepEqual([same.code, /role .* has proposed it/.test(same.err)], [1, true])
    const bea = await worldOperator(world)
    const url = new URL(bea.io.env.DATABASE_URL!)
    url.username = role
    url.password = 'second'
    bea.io.env.DATABASE_URL = url.toString()
    const own = await give(bea, 'ticket 8', 'ada')
    assert.deepEqual([own.code, /proposed it cannot approve/.test(own.err)], [1, true])
    assert.equal((await give(bea, 'ticket 8', 'bea')).code, 0)
    assert.equal(await anna.balance(), 15)
    assert.deepEqual(await broken(at), [])
  } finally {
    await drop()
  }
})
