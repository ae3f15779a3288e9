// What a policy has to say to be one, which of them is in force, and what its versions changed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  beginWithNewest,
  currentPolicy,
  judgedPolicy,
  publishPolicy,
  readPolicy,
  requirePolicy,
  SHIPPED_NEWEST,
  SHIPPED_POLICY,
  withLater,
} from './policy.ts'
import { policyHistory } from './policy_history.ts'

const AT = new Date(Date.UTC(2026, 9, 8))
const HUGE = Number.MAX_SAFE_INTEGER
const NOT_WHOLE = [-1, 0.5, '1', null, Number.NaN, HUGE + 1]
const FLOORS = [
  'direct',
  'indirect',
  'combined',
  'direct_amount',
  'indirect_amount',
  'destination',
  'destination_indirect',
] as const

const floor = { share_bp: 10_000, usd: HUGE, points: 100 }
const zero = { share_bp: 0, usd: 0, points: 0 }
const routed = (key: string, route: unknown) => ({ routes: { [key]: route } })
const made = (change: object) => ({ ...SHIPPED_NEWEST, ...change })

const isRefused = (change: object, why: RegExp) =>
  assert.throws(
    () => requirePolicy(made(change), 2),
    { name: 'Refused', message: why },
    JSON.stringify(change),
  )
const isTaken = (change: object) => assert.doesNotThrow(() => judgedPolicy(made(change), 2))

test('every number of a policy is whole and within its bounds, and may be at them', () => {
  const bounded = {
    trx_micro_usd: [0, HUGE],
    token_micro_usd: [0, HUGE],
    medium_from: [0, 70],
    high_from: [30, 100],
    full_confidence: [1, 100],
    index_rules: [2, 3],
  }
  for (const [name, [least, most]] of Object.entries(bounded)) {
    for (const value of [least, most]) isTaken({ [name]: value })
    for (const value of NOT_WHOLE) isRefused({ [name]: value }, new RegExp(name))
    if (most !== HUGE && name !== 'medium_from')
      isRefused({ [name]: most! + 1 }, new RegExp(`${name} is not a whole number`))
  }
  isTaken({ sent: false, index_rules: 1 })
  isRefused({ index_rules: 0 }, /index_rules is 0/)
  isRefused({ full_confidence: 0 }, /full_confidence is 0/)
  isTaken({ medium_from: 70, high_from: 70 })
  isRefused({ medium_from: 71, high_from: 70 }, /medium_from is above high_from/)
  const { weights } = SHIPPED_POLICY
  for (const mixer of [0, 100]) isTaken({ weights: { ...weights, mixer } })
  for (const mixer of [...NOT_WHOLE, 101])
    isRefused({ weights: { ...weights, mixer } }, /the weight of mixer/)
})

test('every floor has a share, an amount and points within their bounds', () => {
  for (const name of FLOORS) {
    isTaken({ [name]: [] })
    isTaken({ [name]: [floor, zero] })
    for (const odd of [null, [], 'x']) isRefused({ [name]: [odd] }, /no proper/)
    for (const value of [...NOT_WHOLE, 10_001])
      isRefused({ [name]: [zero, { ...zero, share_bp: value }] }, /a share of/)
    for (const usd of NOT_WHOLE) isRefused({ [name]: [{ ...zero, usd }] }, /an amount of/)
    for (const points of [...NOT_WHOLE, 101])
      isRefused({ [name]: [{ ...zero, points }] }, /the points of/)
  }
})

test('a part of the wrong kind is refused by its name', () => {
  for (const name of Object.keys(SHIPPED_POLICY).filter((one) => one !== 'version'))
    isRefused({ [name]: null }, new RegExp(name))
  isRefused({ routes: [] }, /no proper routes/)
  isRefused({ severe: {} }, /no proper severe/)
  isRefused({ counts: ['gross', 'all'] }, /counts is not a list/)
  isRefused({ counts: [] }, /counts is not a list/)
  isRefused({ hold_deposits_from: 'low' }, /hold_deposits_from is not one of/)
  for (const body of [null, undefined, 'p3', 3])
    assert.throws(() => requirePolicy(body, 2), /A policy is an object/)
})

test('a route names who answers and how, and our own engine for its network alone', () => {
  const use = ['embedded']
  const sound = { use: ['misttrack', 'amlbot'], mode: 'first' }
  for (const key of ['TRX/address', 'TRX/hash', 'ETH/hash']) isTaken(routed(key, sound))
  isTaken(routed('TRX/hash', { use: ['misttrack', 'embedded'], mode: 'maximum' }))
  const odd: [string, unknown][] = [
    ['TRX/block', sound],
    ['trx/hash', sound],
    ['/hash', sound],
    ['TRX/hash2', sound],
    ['a TRX/hash', sound],
    ['TRX/hash', null],
    ['TRX/hash', [sound]],
    ['TRX/hash', { use: 'embedded', mode: 'first' }],
    ['TRX/hash', { use: [], mode: 'first' }],
    ['TRX/hash', { use: ['embedded', 1], mode: 'first' }],
    ['TRX/hash', { use, mode: 'last' }],
    ['TRX/hash', { use }],
    ['ETH/hash', { use, mode: 'first' }],
    ['ETH/address', { use: ['misttrack', 'embedded'], mode: 'maximum' }],
    ['ETRX/hash', { use, mode: 'first' }],
  ]
  for (const [key, route] of odd) isRefused(routed(key, route), /is not sound/)
})

test('what would mean nothing cannot be published, and stays readable where it was', () => {
  const sound = { use: ['embedded'], mode: 'first' }
  const odd: [object, RegExp][] = [
    [{ colour: 'red' }, /The policy has "colour"/],
    [{ weights: { ...SHIPPED_POLICY.weights, fun: 1 } }, /weights, has "fun"/],
    [{ sent: true, index_rules: 1 }, /needs "index_rules": 2/],
    [{ severe: ['mixer', 'scam', 'mixer'] }, /severe has mixer twice/],
    [{ counts: ['gross', 'gross'] }, /counts has gross twice/],
    [routed('TRX/hash', { ...sound, also: 1 }), /TRX\/hash has "also"/],
    [routed('TRX/hash', { use: ['a', 'b', 'a'], mode: 'first' }), /TRX\/hash has a twice/],
    [routed('DOGE/hash', { use: ['a'], mode: 'first' }), /no network known here/],
    ...FLOORS.map((name): [object, RegExp] => [
      { [name]: [zero, { ...zero, more: 1 }] },
      new RegExp(`A floor of ${name} has "more"`),
    ]),
  ]
  for (const [change, why] of odd) {
    assert.throws(() => judgedPolicy(made(change), 2), { name: 'Refused', message: why })
    assert.doesNotThrow(() => requirePolicy(made(change), 2))
  }
})

test('an older policy says whose deposits are held with true or false, and not twice', () => {
  const held = (body: object) => withLater(body).hold_deposits_from
  assert.equal(held({}), 'blacklisted')
  assert.equal(held({ hold_deposits_from: 'high' }), 'high')
  assert.equal(held({ hold_blacklisted_senders: true }), 'blacklisted')
  assert.equal(held({ hold_blacklisted_senders: false }), 'none')
  assert.equal('hold_blacklisted_senders' in withLater({ hold_blacklisted_senders: true }), false)
  assert.throws(() => withLater({ hold_blacklisted_senders: 'yes' }), /no proper hold_black/)
  assert.throws(
    () => withLater({ hold_blacklisted_senders: true, hold_deposits_from: 'high' }),
    /says both/,
  )
})

const publish = (sql: Sql, body: object) =>
  sql.begin((tx) => publishPolicy(tx, { body, published_by: 'somebody', published_at: AT }))

test('the newest version is in force, and every other is read by its number', async (t) => {
  const { sql } = await freshDatabase(t)
  assert.equal(await currentPolicy(sql), SHIPPED_POLICY)
  assert.equal(await publish(sql, made({ name: 'second' })), 2)
  assert.equal(await publish(sql, made({ name: 'third' })), 3)
  assert.equal(await publish(sql, made({ name: 'fourth', high_from: 80 })), 4)
  assert.equal((await currentPolicy(sql)).name, 'fourth')
  const read = await Promise.all([1, 2, 3, 4].map((version) => readPolicy(sql, version)))
  assert.deepEqual(
    read.map(({ version, name }) => [version, name]),
    [
      [1, 'p1'],
      [2, 'second'],
      [3, 'third'],
      [4, 'fourth'],
    ],
  )
  await assert.rejects(readPolicy(sql, 5), /no policy 5/)
})

test('a history of policies ends with the shipped one, and each has its changes', async (t) => {
  const { sql } = await freshDatabase(t)
  const of = async (limit: number) =>
    (await policyHistory(sql, limit)).map(({ version, published_by, changes }) => [
      version,
      published_by,
      changes.map(({ field }) => field).join(),
    ])
  assert.deepEqual(await of(2), [[1, null, '']])
  await publish(sql, { ...SHIPPED_POLICY, medium_from: 40 })
  await publish(sql, { ...SHIPPED_POLICY, medium_from: 40, high_from: 80 })
  const third = [3, 'somebody', 'high_from']
  const second = [2, 'somebody', 'medium_from']
  const all = [third, second, [1, null, '']]
  assert.deepEqual(await of(1), [third])
  assert.deepEqual(await of(2), [third, second])
  assert.deepEqual(await of(3), all)
  assert.deepEqual(await of(4), all)
})

test('the newest shipped policy is put in force where nothing was used yet', async (t) => {
  const clock = { now: () => AT }
  const { sql } = await freshDatabase(t)
  assert.equal(await beginWithNewest(sql, clock), true)
  const { version, name } = await currentPolicy(sql)
  assert.deepEqual([version, name], [2, SHIPPED_NEWEST.name])
  assert.equal(await beginWithNewest(sql, clock), false, 'a policy was published')
  const followed = await freshDatabase(t)
  await followed.sql`
    insert into flow_block (number, id, time, first_sequence, transfers, tx_ids, freezes)
    values (1, ${'0'.repeat(64)}, ${AT}, 1, '', '', '[]')`
  assert.equal(await beginWithNewest(followed.sql, clock), false, 'a block is in the log')
  assert.equal(await currentPolicy(followed.sql), SHIPPED_POLICY)
  const asked = await freshDatabase(t)
  await asked.sql`
    insert into aml_check (id, customer_id, type, network, address, price_sun, solid_number, due_at,
      created_at)
    values ('c', 'me', 'address', 'TRX', 'T', 0, 0, ${AT}, ${AT})`
  assert.equal(await beginWithNewest(asked.sql, clock), false, 'something was screened')
})
