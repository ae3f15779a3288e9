// What operators do about money by hand: deposits that are held come to an end, and accounts are
// put right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Person } from 'penstock-devchain/scene.ts'
import { listCorrections } from 'penstock-service/treasury/corrections/corrections.ts'
import { findDeposits } from 'penstock-service/treasury/deposits/deposits.ts'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { addressWord, numberWord, USDT } from 'penstock-tron/tokens.ts'
import { type Operator, worldOperator } from '../../harness/operator.ts'
import { type Customer, makeWorld, TRX, type World } from '../../harness/world.ts'

const stateOf = async (world: World, tx_id: string) =>
  (await findDeposits(world.sql, tx_id)).map((one) => one.state)

async function sumOf(world: World, account: string): Promise<bigint> {
  const [row] = await world.sql<{ sun: bigint }>`
    select coalesce(sum(case when credit = ${account} then amount_sun else -amount_sun end),
      0)::bigint as sun
    from transfer where kind in ('move', 'capture') and ${account} in (debit, credit)`
  return row!.sun
}

/** The books hold, by the service's own rules and with the chain beside them. */
async function holds(at: Operator): Promise<void> {
  const { code, out } = await at.type('books', 'check', '--node-url', 'http://127.0.0.1')
  assert.equal(code, 0, out)
}

function sendToken(world: World, from: Person, to: Address, amount: bigint): string {
  const data = `a9059cbb${addressWord(to)}${numberWord(amount)}`
  const message = { contract_address: addressToHex(USDT), data }
  const answer = world.scene.send(from, 'TriggerSmartContract', message, {
    fee_limit: 1_000n * TRX,
  })
  assert.equal(answer.result, true, String(answer.message))
  return String(answer.txid)
}

type Scene = {
  world: World
  at: Operator
  anna: Customer
  owner: Person
  /** What the whale sent is more than a refund may send, the thief is blacklisted. */
  whale: Person
  thief: Person
  big: string
  blocked: string
  token: string
}

/** Three deposits that are held: TRX at the published address, TRX at a customer's, and a token. */
async function someHeld(t: Parameters<typeof makeWorld>[0]): Promise<Scene> {
  const world = await makeWorld(t, { tokens: [USDT] })
  const anna = await world.customer()
  const [whale, thief, owner] = [
    world.person('whale', 3_000),
    world.person('thief', 100),
    world.person('owner', 9_000),
  ]
  for (const { address } of [whale, owner])
    world.scene.post('/devchain/mint', { address, amount: 50_000_000n })
  world.mine()
  await world.blacklist(thief.address)
  const big = world.pay(world.recharge.address, 1_001n * TRX, whale)
  const blocked = world.pay(anna.deposit_address, 20n * TRX, thief)
  const token = sendToken(world, whale, anna.deposit_address, 5_000_000n)
  await world.solidify()
  await world.drain()
  for (const tx_id of [big, blocked, token])
    assert.deepEqual(await stateOf(world, tx_id), ['held'], tx_id)
  return { world, at: await worldOperator(world), anna, owner, whale, thief, big, blocked, token }
}

const WHY = ['--reason', 'looked into']

test('a held deposit ends in one of three ways, with its record, and its alert', async (t) => {
  const { world, at, anna, owner, whale, big, blocked, token } = await someHeld(t)
  const alerts = async () => {
    const { out } = await at.type('status', '--json')
    return (JSON.parse(out) as { alerts: { alert: string }[] }).alerts.some(
      ({ alert }) => alert === 'deposit_held',
    )
  }
  assert.equal(await alerts(), true)
  const listed = await at.type('deposits', 'list', '--state', 'held')
  assert.match(
    listed.out,
    /age seconds.*blocked: the sender is blacklisted.*penstock-admin deposits resolve TX_ID/s,
  )
  const back = world.pay(whale.address, 1_001n * TRX, owner)
  const token_back = sendToken(world, owner, whale.address, 5_000_000n)
  const early = await at.type('deposits', 'resolve', big, '--sent-by', back, ...WHY)
  assert.equal(early.code, 1, 'it is in no solid block yet')
  await world.solidify()
  const sent = await at.json<Record<string, unknown>>(
    'deposits',
    'resolve',
    big,
    '--sent-by',
    back.toUpperCase(),
    ...WHY,
  )
  assert.deepEqual(
    [sent.state, sent.way, sent.sent_by, sent.sent_to, sent.sent_amount],
    ['resolved', 'sent_back', back, whale.address, 1_001_000_000],
  )
  const unseen = await at.type('deposits', 'resolve', blocked, '--credit', anna.id, ...WHY)
  assert.deepEqual([unseen.code, /blocked-reviewed/.test(unseen.err)], [1, true])
  assert.equal(await anna.balance(), 0)
  await at.json('deposits', 'resolve', blocked, '--credit', anna.id, '--blocked-reviewed', ...WHY)
  assert.equal(await anna.balance(), 20)
  // The node is asked, although the block is kept here too.
  const node = ['--node-url', 'http://127.0.0.1']
  await at.json('deposits', 'resolve', token, '--sent-by', token_back, ...node, ...WHY)
  for (const tx_id of [big, blocked, token])
    assert.deepEqual(await stateOf(world, tx_id), ['resolved'])
  assert.equal(await sumOf(world, 'held_deposits'), 0n)
  assert.equal(await sumOf(world, 'customer:direct_recharge'), 0n)
  assert.equal(await alerts(), false)
  await holds(at)
  const shown = await at.json<{ resolutions: { reason: string }[]; entries: { id: string }[] }>(
    'deposits',
    'show',
    big,
  )
  assert.deepEqual(
    [shown.resolutions[0]?.reason, shown.entries.map(({ id }) => id)],
    ['looked into', [`deposit:${big}`, `resolution:${big}`]],
  )
  const records = await at.json<{ subject: string; reason: string }[]>(
    'actions',
    'list',
    '--subject',
    'deposit',
  )
  assert.deepEqual(
    records.map(({ subject }) => subject.split('/')[0]),
    [token, blocked, big].map((tx_id) => `deposit:${tx_id}`),
  )
  const { result } = (await world.api.inject({ method: 'GET', url: `/deposits/${big}` })).json()
  assert.equal(result.deposits[0].state, 'resolved')
  const { lines } = await at.json<{ lines: { service: string }[] }>(
    'customers',
    'statement',
    anna.id,
  )
  assert.deepEqual(
    lines.map(({ service }) => service),
    ['deposit'],
    'as the customer has it',
  )
})

test('who was blacklisted when it came is reviewed, though no list has him any more', async (t) => {
  const { world, at, anna, blocked } = await someHeld(t)
  await world.sql`update flow_freeze set frozen = false`
  const credit = ['deposits', 'resolve', blocked, '--credit', anna.id]
  const unseen = await at.type(...credit, ...WHY)
  assert.deepEqual([unseen.code, /is or was blacklisted/.test(unseen.err)], [1, true])
  assert.equal(await anna.balance(), 0)
  await at.json(...credit, '--blocked-reviewed', ...WHY)
  assert.equal(await anna.balance(), 20)
})

test('what has no owner is written off, as is the rest of a partial return', async (t) => {
  const { world, at, owner, whale, thief, big, blocked } = await someHeld(t)
  const elsewhere = world.person('elsewhere', 1).address
  const part = world.pay(whale.address, 1_000n * TRX, owner)
  const other = world.pay(elsewhere, 20n * TRX, owner)
  await world.solidify()
  const refused = await at.type('deposits', 'resolve', big, '--sent-by', part, ...WHY)
  assert.match(refused.err, /keep-rest/)
  await at.json('deposits', 'resolve', big, '--sent-by', part, '--keep-rest', ...WHY)
  assert.equal(await sumOf(world, 'written_off'), 1n * TRX)
  const to = ['--sent-by', other, '--blocked-reviewed', ...WHY]
  const wrong = await at.type('deposits', 'resolve', blocked, ...to)
  assert.match(wrong.err, new RegExp(`no TRX to ${thief.address}`))
  await at.json('deposits', 'resolve', blocked, '--to', elsewhere, ...to)
  const dust = world.pay(world.recharge.address, 50_000n, whale)
  await world.solidify()
  await world.drain()
  assert.deepEqual(await stateOf(world, dust), ['ignored'])
  await at.json('deposits', 'resolve', dust, '--written-off', ...WHY)
  assert.equal(await sumOf(world, 'written_off'), 1n * TRX + 50_000n)
  await holds(at)
})

test('what cannot be done about a deposit is refused, and everything stays', async (t) => {
  const { world, at, anna, owner, whale, big, blocked, token } = await someHeld(t)
  const zoe = await world.customer()
  await at.json('customers', 'close', zoe.id)
  const credited = world.pay(anna.deposit_address, 5n * TRX, owner)
  const returned = world.pay(world.recharge.address, 1n * TRX, owner)
  const more = world.pay(whale.address, 1_002n * TRX, owner)
  const back = world.pay(whale.address, 1_001n * TRX, owner)
  await world.solidify()
  await world.settle()
  await world.solidify()
  const [refund] = await world.sql<{
    tx_id: string
  }>`select tx_id from attempt where subject like 'refund:%'`
  const none = 'ab'.repeat(32)
  const before = await world.sql`select * from deposit order by tx_id, position`
  const cases: [code: number, said: RegExp, ...typed: string[]][] = [
    [2, /takes one of/, big, ...WHY],
    [2, /takes one of/, big, '--written-off', '--credit', anna.id, ...WHY],
    [2, /takes one of/, big, '--written-off', '--sent-by', back, ...WHY],
    [2, /--reason is missing/, big, '--written-off'],
    [2, /--reason is missing/, big, '--written-off', '--reason', ' '],
    [2, /belong to --sent-by/, big, '--written-off', '--to', whale.address, ...WHY],
    [2, /belong to --sent-by/, big, '--written-off', '--keep-rest', ...WHY],
    [2, /not the id of a transaction/, 'abc', '--written-off', ...WHY],
    [2, /not the id of a transaction/, big, '--sent-by', 'abc', ...WHY],
    [2, /not an address/, big, '--sent-by', back, '--to', 'abc', ...WHY],
    [1, /No deposit came/, none, '--written-off', ...WHY],
    [1, /no deposit at the position 3/, big, '--position', '3', '--written-off', ...WHY],
    [1, /no deposit at the position -1/, big, '--position=-1', '--written-off', ...WHY],
    [1, /is credited: only what/, credited, '--written-off', ...WHY],
    [1, /is refunded: only what/, returned, '--written-off', ...WHY],
    [1, /There is no customer/, big, '--credit', '01x', ...WHY],
    [1, /There is no customer/, big, '--credit', 'direct_recharge', ...WHY],
    [1, /is closed, for good/, big, '--credit', zoe.id, ...WHY],
    [1, /A token cannot be credited/, token, '--credit', anna.id, ...WHY],
    [1, /not in a solid block/, big, '--sent-by', none, ...WHY],
    [
      1,
      /not on the node's solid chain/,
      big,
      '--sent-by',
      none,
      '--node-url',
      'http://127.0.0.1',
      ...WHY,
    ],
    [1, /only 1001000000 came/, big, '--sent-by', more, ...WHY],
    [1, /no TRX to/, big, '--sent-by', credited, ...WHY],
    [
      1,
      /service itself has sent/,
      big,
      '--sent-by',
      refund!.tx_id,
      '--to',
      owner.address,
      '--keep-rest',
      ...WHY,
    ],
    [1, /no of the token|has sent no/, token, '--sent-by', back, ...WHY],
    [1, /blocked-reviewed/, blocked, '--written-off', ...WHY],
  ]
  for (const [code, said, ...typed] of cases) {
    const answer = await at.type('deposits', 'resolve', ...typed)
    assert.deepEqual(
      [answer.code, said.test(answer.err)],
      [code, true],
      `${typed.join(' ')}: ${answer.err}`,
    )
  }
  assert.deepEqual(await world.sql`select * from deposit order by tx_id, position`, before)
  assert.deepEqual(await world.sql`select * from deposit_resolution`, [])
  // One transaction resolves one deposit, and one deposit is resolved once.
  await at.json('deposits', 'resolve', big, '--sent-by', back, ...WHY)
  const twin = world.pay(world.recharge.address, 1_001n * TRX, whale)
  await world.solidify()
  await world.drain()
  const later = await at.type('deposits', 'resolve', twin, '--sent-by', back, ...WHY)
  assert.match(later.err, /was in a block before the deposit/)
  const again = await at.type('deposits', 'resolve', big, '--written-off', ...WHY)
  assert.match(again.err, /is resolved: only what/)
  await holds(at)
})

test('one transaction cannot stand for two deposits that came before it', async (t) => {
  const { world, at, owner, whale, big } = await someHeld(t)
  const twin = world.pay(world.recharge.address, 1_001n * TRX, whale)
  await world.solidify()
  await world.drain()
  const back = world.pay(whale.address, 1_001n * TRX, owner)
  await world.solidify()
  await at.json('deposits', 'resolve', big, '--sent-by', back, ...WHY)
  const { code, err } = await at.type('deposits', 'resolve', twin, '--sent-by', back, ...WHY)
  assert.deepEqual([code, err], [2, 'That transaction has resolved another deposit.\n'])
  assert.deepEqual(await stateOf(world, twin), ['held'])
})

test('the second operator finds it resolved, and one being sent back stays', async (t) => {
  const { world, at, anna, owner, blocked, big } = await someHeld(t)
  const operators = await Promise.all([1, 2, 3, 4].map(() => worldOperator(world)))
  const ways = [['--credit', anna.id], ['--written-off'], ['--credit', anna.id], ['--written-off']]
  const answers = await Promise.all(
    operators.map((operator, i) =>
      operator.type('deposits', 'resolve', blocked, ...ways[i]!, '--blocked-reviewed', ...WHY),
    ),
  )
  assert.deepEqual(answers.map(({ code }) => code).toSorted(), [0, 1, 1, 1])
  const moved = await world.sql`select 1 from transfer where id = ${`resolution:${blocked}`}`
  assert.equal(moved.length, 1)
  // Until a refund has come to its end it is nobody's to resolve.
  const returned = world.pay(world.recharge.address, 1n * TRX, owner)
  await world.solidify()
  for (const blocks of [0, 1, 20]) {
    world.mine(blocks)
    await world.drain()
    const { code } = await at.type('deposits', 'resolve', returned, '--written-off', ...WHY)
    assert.equal(code, 1)
  }
  await world.solidify()
  assert.deepEqual(await stateOf(world, returned), ['refunded'])
  assert.deepEqual(await stateOf(world, big), ['held'])
  await holds(at)
})

test('an account is corrected to the sun; lists are of one customer or of all', async (t) => {
  const world = await makeWorld(t)
  const [anna, zoe] = [await world.customer({ trx: 1 }), await world.customer()]
  const at = await worldOperator(world)
  await at.json('customers', 'credit', anna.id, '0.000001', ...WHY)
  await at.json('customers', 'credit', zoe.id, '0.000002', ...WHY)
  assert.equal(await sumOf(world, `customer:${anna.id}`), 1_000_001n)
  assert.equal(await sumOf(world, `customer:${zoe.id}`), 2n)
  const listedOf = async (customer_id: string | undefined) =>
    (await listCorrections(world.sql, { customer_id, limit: 9 })).map((one) => one.customer_id)
  assert.deepEqual(await listedOf(anna.id), [anna.id])
  assert.deepEqual((await listedOf(undefined)).sort(), [anna.id, zoe.id].sort())
})

test('an account is corrected by entries with a reason, never below zero', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const at = await worldOperator(world)
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  const free = await anna.balance()
  type CorrectionAnswer = { id: string; amount_sun: number }
  const credit = await at.json<CorrectionAnswer>('customers', 'credit', anna.id, '12.5', ...WHY)
  assert.equal(credit.amount_sun, 12_500_000)
  assert.equal(await anna.balance(), free + 12.5)
  world.wait(1)
  const debit = await at.json<CorrectionAnswer>(
    'customers',
    'debit',
    anna.id,
    '2.5',
    '--id',
    'ticket 7',
    ...WHY,
  )
  assert.deepEqual([debit.id, debit.amount_sun], ['ticket 7', -2_500_000])
  const same = await at.json<CorrectionAnswer>(
    'customers',
    'debit',
    anna.id,
    '2.5',
    '--id',
    'ticket 7',
    '--reason',
    'again',
  )
  assert.deepEqual(same, debit)
  assert.equal(await anna.balance(), free + 10)
  const cases: [code: number, said: RegExp, ...typed: string[]][] = [
    [2, /--reason is missing/, 'credit', anna.id, '1'],
    [2, /more than 0/, 'credit', anna.id, '0', ...WHY],
    [2, /no option -1/, 'debit', anna.id, '-1', ...WHY],
    [2, /--yes/, 'credit', anna.id, '1000.000001', ...WHY],
    [2, /1 to 100 characters/, 'credit', anna.id, '1', '--id', 'x'.repeat(101), ...WHY],
    [1, /There is no customer/, 'credit', 'direct_recharge', '1', ...WHY],
    [1, /There is no customer/, 'debit', '01x', '1', ...WHY],
    [1, /was used for another/, 'debit', anna.id, '2.6', '--id', 'ticket 7', ...WHY],
    [1, /was used for another/, 'credit', anna.id, '2.5', '--id', 'ticket 7', ...WHY],
    [1, /can spend/, 'debit', anna.id, String(free + 11), ...WHY],
  ]
  for (const [code, said, verb, ...typed] of cases) {
    const answer = await at.type('customers', verb!, ...typed)
    assert.deepEqual(
      [answer.code, said.test(answer.err)],
      [code, true],
      `${verb} ${typed.join(' ')}: ${answer.err}`,
    )
  }
  assert.equal(await anna.balance(), free + 10)
  world.wait(1)
  await at.json('customers', 'credit', anna.id, '1500', '--yes', ...WHY)
  const { lines } = await at.json<{ lines: { service: string; amount_sun: number }[] }>(
    'customers',
    'statement',
    anna.id,
  )
  assert.deepEqual(
    lines.filter(({ service }) => service === 'correction').map((one) => one.amount_sun),
    [12_500_000, -2_500_000, 1_500_000_000],
  )
  const listed = await at.json<CorrectionAnswer[]>('customers', 'corrections', anna.id)
  assert.deepEqual(
    listed.map((one) => one.amount_sun).toSorted(),
    [-2_500_000, 12_500_000, 1_500_000_000],
  )
  assert.equal((await at.json<unknown[]>('actions', 'list', '--subject', 'correction')).length, 3)
  await world.settle()
  await holds(at)
})

test('a correction asked for several times at once is made once, and not overdrawn', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10 })
  const operators = await Promise.all([1, 2, 3, 4].map(() => worldOperator(world)))
  const credits = await Promise.all(
    operators.map((at) => at.type('customers', 'credit', anna.id, '3', '--id', 'same', ...WHY)),
  )
  assert.deepEqual(
    credits.map(({ code }) => code),
    [0, 0, 0, 0],
  )
  assert.equal(await anna.balance(), 13)
  const debits = await Promise.all(
    operators.map((at, i) =>
      at.type('customers', 'debit', anna.id, '5', '--id', `debit ${i}`, ...WHY),
    ),
  )
  assert.deepEqual(debits.map(({ code }) => code).toSorted(), [0, 0, 1, 1])
  assert.equal(await anna.balance(), 3)
  await holds(operators[0]!)
})
