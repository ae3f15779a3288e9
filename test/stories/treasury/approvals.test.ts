// A second pair of eyes: a correction that one operator proposes and another one approves.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { correct } from 'penstock-service/treasury/corrections/corrections.ts'
import { type Operator, worldOperator } from '../../harness/operator.ts'
import { linkFor } from '../../harness/users.ts'
import { type Customer, makeWorld, TRX, type World } from '../../harness/world.ts'

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
  // What was approved is no proposal any more, also when its hour is over.
  world.wait(3_600)
  const approvals = () => world.sql`
    select proposed_at, approved_at, approved_by from correction_proposal where id = 'ticket 8'`
  const before = await approvals()
  await at.type(
    ...[
      'customers',
      'credit',
      anna.id,
      '5',
      '--id',
      'ticket 8',
      '--reason',
      'again',
      '--by',
      'eve',
    ],
  )
  assert.deepEqual(await approvals(), before)
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

test('many small corrections are one: of a day, by whomever and for whomever', async (t) => {
  const { world, anna, at } = await underRule(t)
  const bert = await world.customer()
  const credit = (to: Customer, id: string, by: string) =>
    at.json<{ made_at: string | null }>(
      ...['customers', 'credit', to.id, '0.999999', '--id', id, '--by', by, ...WHY],
    )
  for (let i = 0; i < 5; i++) assert.ok((await credit(anna, `${i}`, 'ada')).made_at, `${i}`)
  assert.equal((await credit(anna, 'sixth', 'ada')).made_at, null)
  assert.equal((await credit(anna, 'by another', 'bea')).made_at, null)
  assert.equal((await credit(bert, 'for another', 'cleo')).made_at, null)
  assert.equal(await anna.balance(), 14.999995)
  // What a second has approved is not counted, and a day later nothing of this is.
  assert.equal((await give(at, 'sixth', 'bea')).code, 0)
  world.wait(24 * 3_600 + 1)
  assert.ok((await credit(bert, 'next day', 'ada')).made_at)
  assert.deepEqual(await broken(at), [])
})

test('of ten at once that come to more together, no more are made than may be', async (t) => {
  const { anna, at, world } = await underRule(t)
  const operators = await Promise.all(Array.from({ length: 10 }, () => worldOperator(world)))
  const made = await Promise.all(
    operators.map((one, i) => propose(one, anna, 'credit', '1', `at once ${i}`)),
  )
  assert.equal(made.filter(({ made_at }) => made_at !== null).length, 4)
  assert.deepEqual(await broken(at), [])
})

test('a correction around the rule is found in the minute after it was set, too', async (t) => {
  const { world, anna, at } = await underRule(t)
  await at.json('approvals', 'set', 'name', '--from', '4', ...WHY)
  world.wait(1)
  const wanted = { id: 'alone', customer_id: anna.id, amount_sun: 6_000_000n, reason: 'none' }
  const made = { made_at: world.now, made_by: 'mallory', invoice_number: null }
  await world.sql.begin((tx) => correct(tx, { ...wanted, ...made }))
  assert.ok((await broken(at)).includes('C12'))
})

/** The id that something was proposed under. */
function proposedAs({ code, err }: { code: number; err: string }): string {
  assert.equal(code, 1, err)
  return /approvals allow (\S+)\. Then do the same again/.exec(err)![1]!
}

test('each other door wants a second operator, too, and a looser rule', async (t) => {
  const { world, anna, at } = await underRule(t)
  const { user_id } = await linkFor(world, { customer_id: anna.id })
  const finance = await linkFor(world, { customer_id: anna.id, role: 'finance' })
  const bob = world.person('bob', 100)
  await world.blacklist(bob.address)
  const held = world.pay(anna.deposit_address, 20n * TRX, bob)
  await world.solidify()
  const reader = await linkFor(world, { customer_id: anna.id, role: 'reader' })
  const developer = await linkFor(world, { customer_id: anna.id, role: 'developer' })
  const { id: auditor } = await at.json<{ id: string }>('operators', 'invite', 'Otto', ...WHY)
  const [key] = await at.json<{ id: string }[]>('keys', 'list', anna.id)
  const doors = [
    ['keys', 'issue', anna.id, '--scope', 'read'],
    ['keys', 'rotate', key!.id],
    ['deposits', 'resolve', held, '--credit', anna.id, '--blocked-reviewed'],
    ['keys', 'change', key!.id, '--scope', 'all'],
    ['users', 'recover', user_id],
    ['users', 'recover', developer.user_id],
    ['users', 'invite', anna.id, 'Mallory'],
    ['users', 'invite', anna.id, 'Mallory', '--role', 'developer'],
    ['users', 'change', finance.user_id, '--role', 'owner'],
    ['operators', 'invite', 'Mallory', '--role', 'operator'],
    ['operators', 'change', auditor, '--role', 'admin'],
    ['prices', 'set', 'energy', '32000-200000=0.000001', '--replace', '--yes'],
    ['fees', 'set', 'activate_address', '0.000001', '--yes'],
    ['plans', 'set', 'unlimited_energy', '--price', '0', '--initial-price', '0', '--yes'],
    ['approvals', 'set', 'none'],
    ['approvals', 'set', 'name', '--from', '6'],
  ]
  const why = ['--by', 'ada', ...WHY]
  for (const door of doors) {
    const words = door.join(' ')
    const id = proposedAs(await at.type(...door, ...why))
    // The same again proposes nothing anew, nor may who has proposed it allow it.
    assert.equal(proposedAs(await at.type(...door, ...why)), id)
    assert.match((await at.type('approvals', 'allow', id, '--by', 'ADA')).err, /cannot allow it/)
    // Another's yes is for the one who asked, for that alone, and once.
    assert.equal((await at.type('approvals', 'allow', id, '--by', 'bea')).code, 0, words)
    assert.notEqual(proposedAs(await at.type(...door, '--by', 'mallory', ...WHY)), id)
    if (words.startsWith('approvals')) continue
    if (words.startsWith('deposits')) assert.equal(await anna.balance(), 10)
    const done = await at.type(...door, ...why)
    assert.equal(done.code, 0, `${words}: ${done.err}`)
    // What is so already wants nobody.
    if (words.includes(' change ')) continue
    assert.notEqual(proposedAs(await at.type(...door, ...why)), id)
  }
  // Who may neither spend nor agree is let in by one alone, as are less rights and a stricter rule.
  const narrowed = ['--scope', 'read', '--daily-cap', '5', '--network', '10.0.0.0/8']
  for (const alone of [
    ['users', 'recover', reader.user_id],
    ['users', 'change', reader.user_id, '--role', 'finance'],
    ['users', 'invite', anna.id, 'Rosa', '--role', 'reader'],
    ['operators', 'invite', 'Rosa'],
    ['operators', 'change', auditor, '--role', 'operator'],
    ['fees', 'set', 'aml_address', '1.2'],
    ['keys', 'change', key!.id, '--name', 'narrow', ...narrowed],
  ])
    assert.equal((await at.type(...alone, ...why)).code, 0, alone.join(' '))
  for (const more of [
    ['--daily-cap', '6'],
    ['--network', 'any'],
    ['--network', 'nowhere'],
  ])
    assert.notEqual((await at.type('keys', 'change', key!.id, ...more, ...why)).code, 0, `${more}`)
  assert.equal((await at.type('approvals', 'set', 'name', '--from', '1', ...why)).code, 0)
  world.wait(1)
  const off = await at.type('approvals', 'set', 'none', ...why)
  assert.equal(off.code, 0, off.err)
  world.wait(1)
  assert.equal((await at.type('keys', 'issue', anna.id, '--scope', 'read', ...why)).code, 0)
  const listed = await at.json<{ used_at: string | null }[]>('approvals', 'operations')
  assert.equal(listed.filter(({ used_at }) => used_at !== null).length, 15)
})

test('an allowance ends with the hour of its proposal', async (t) => {
  const { world, anna, at } = await underRule(t)
  const door = ['keys', 'issue', anna.id, '--scope', 'read', '--by', 'ada', ...WHY]
  const id = proposedAs(await at.type(...door))
  assert.equal((await at.type('approvals', 'allow', id, '--by', 'bea')).code, 0)
  world.wait(3_600)
  const anew = proposedAs(await at.type(...door))
  assert.notEqual(anew, id)
  world.wait(3_600)
  assert.match((await at.type('approvals', 'allow', anew, '--by', 'bea')).err, /hour is over/)
})
