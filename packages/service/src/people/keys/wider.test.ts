// Which key is wider than another, whose keys somebody sees and changes, and what a new key has
// where nothing is said: on rows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { asks, NOW, withKeysAndUsers } from 'penstock-test/harness/keys_and_users.ts'
import type { Tx } from '../../platform/database/sql.ts'
import {
  alterKey,
  giveUpKey,
  grantKey,
  isWider,
  ownOnly,
  requireSeen,
  rotateKey,
} from './grants.ts'

const hours = (count: number) => new Date(NOW.getTime() + count * 3_600_000)
const [ANNA, BERT, CARL] = ['anna', 'bert', 'carl'].map((name) => person(name).address) as [
  string,
  string,
  string,
]

type Limits = Parameters<typeof isWider>[0]

const OWN: Limits = {
  scopes: ['read', 'manage'],
  allowed_networks: ['203.0.113.0/24', '198.51.100.7'],
  receivers: [ANNA, BERT],
  daily_cap_sun: 5_000_000n,
  require_v2: true,
  require_external_id: true,
  expires_at: hours(2),
}
const NO_LIMITS: Limits = {
  scopes: null,
  allowed_networks: null,
  receivers: null,
  daily_cap_sun: null,
  require_v2: false,
  require_external_id: false,
  expires_at: null,
}
const NOT_WIDER: readonly Partial<Limits>[] = [
  {},
  { scopes: ['read'] },
  { allowed_networks: ['203.0.113.7'] },
  { allowed_networks: ['198.51.100.7', '203.0.113.128/25'] },
  { receivers: [BERT] },
  { daily_cap_sun: 4_999_999n },
  { daily_cap_sun: 0n },
  { expires_at: hours(1) },
]
/** By the field of the wire. */
const WIDER: readonly [string, Partial<Limits>][] = [
  ['scopes', { scopes: ['read', 'buy'] }],
  ['scopes', { scopes: null }],
  ['networks', { allowed_networks: ['203.0.113.0/23'] }],
  ['networks', { allowed_networks: ['203.0.113.7', '192.0.2.1'] }],
  ['networks', { allowed_networks: null }],
  ['receivers', { receivers: [ANNA, CARL] }],
  ['receivers', { receivers: null }],
  ['daily_cap', { daily_cap_sun: 5_000_001n }],
  ['daily_cap', { daily_cap_sun: null }],
  ['ends_at', { expires_at: hours(3) }],
  ['ends_at', { expires_at: null }],
  ['require_v2', { require_v2: false }],
  ['require_external_id', { require_external_id: false }],
]

test('a key is wider when any of its limits allows more, and not when none does', () => {
  for (const less of NOT_WIDER) {
    const limits = { ...OWN, ...less }
    assert.equal(isWider(limits, OWN), false, Object.keys(less)[0])
    assert.equal(isWider({ ...limits, scopes: ['read'] }, NO_LIMITS), false)
  }
  for (const [field, more] of WIDER) assert.equal(isWider({ ...OWN, ...more }, OWN), true, field)
  assert.equal(isWider(NO_LIMITS, NO_LIMITS), false)
  assert.equal(isWider({ ...NO_LIMITS, scopes: ['manage'] }, NO_LIMITS), true)
})

test('who would make something wider is told by which field', async (t) => {
  const { needs, begin, issue, keyOf } = await withKeysAndUsers(t)
  const limits = Object.entries(OWN).filter(([, limit]) => limit !== null)
  const id = await issue(Object.fromEntries(limits))
  const narrow = await issue({ ...Object.fromEntries(limits), scopes: ['read'] })
  for (const [param, more] of WIDER) {
    const wider = { code: 73, key: 'forbidden.wider', about: { because: `by ${param}`, param } }
    const given = { ...more, name: 'made' }
    await assert.rejects(
      begin((tx) => grantKey(tx, needs, asks(id), given)),
      wider,
    )
    await assert.rejects(
      begin((tx) => alterKey(tx, asks(id), { ...more, id: narrow, at: NOW })),
      wider,
    )
    const changed = await keyOf(narrow)
    assert.deepEqual(changed.scopes, ['read'])
  }
  for (const less of NOT_WIDER) {
    const made = await begin((tx) => grantKey(tx, needs, asks(id), { ...less, name: 'made' }))
    const { allowed_networks, receivers, daily_cap_sun, expires_at, ...rest } = await keyOf(
      made.key_id,
    )
    const { scopes, require_v2, require_external_id } = rest
    const found = { scopes, allowed_networks, receivers, daily_cap_sun, require_v2 }
    assert.deepEqual({ ...found, require_external_id, expires_at }, { ...OWN, ...less })
    assert.deepEqual([rest.made_by_key, rest.spends_from], [id, id])
  }
})

test('a new key spends from the one that makes it when that has a cap', async (t) => {
  const { needs, begin, issue, keyOf } = await withKeysAndUsers(t)
  const capped = await issue({ daily_cap_sun: 1n })
  for (const [limits, spends_from] of [
    [{}, null],
    [{ daily_cap_sun: 2n }, 'itself'],
    [{ daily_cap_sun: 1n, spends_from: capped }, capped],
  ] as const) {
    const maker = await issue(limits)
    const { key_id } = await begin((tx) => grantKey(tx, needs, asks(maker), { name: 'made' }))
    const expected = spends_from === 'itself' ? maker : spends_from
    assert.equal((await keyOf(key_id)).spends_from, expected)
  }
})

test('a key changes another that is no wider and not revoked, and never itself', async (t) => {
  const { sql, needs, issue, refusal } = await withKeysAndUsers(t)
  const asking = await issue()
  const [same, gone, wider] = [await issue(), await issue(), await issue({ scopes: ['manage'] })]
  await sql`update api_key set revoked_at = ${NOW} where id = ${gone}`
  const change = (id: string) => (tx: Tx) => alterKey(tx, asks(asking), { id, name: 'b', at: NOW })
  const rotate = (id: string) => (tx: Tx) =>
    rotateKey(tx, needs, asks(asking), { id, overlap_hours: 0 })
  for (const [id, expected] of [
    [same, undefined],
    [gone, 'conflict.revoked'],
    [asking, 'forbidden.self'],
    [wider, 'forbidden.wider'],
  ] as const)
    for (const work of [change(id), rotate(id)]) assert.equal(await refusal(work), expected)
})

test('a key is seen by its customer, and by a user who may not manage keys the own', async (t) => {
  const { sql, issue, invite, refusal } = await withKeysAndUsers(t)
  const [asking, anna, manager] = [
    await issue(),
    await invite({ role: 'developer' }),
    await invite(),
  ]
  const foreign = await issue({ customer_id: 'beta' })
  const other = await invite({ role: 'reader' })
  const by = {
    key: asks(asking),
    anna: asks(anna, 'developer'),
    owner: asks(manager, 'owner'),
  }
  assert.deepEqual(
    [ownOnly(by.key), ownOnly(by.anna), ownOnly(by.owner)],
    [undefined, anna, undefined],
  )
  for (const [who, made_by_key, expected] of [
    ['key', undefined, undefined],
    ['key', anna, undefined],
    ['anna', anna, undefined],
    ['anna', undefined, 'not_found.key'],
    ['anna', asking, 'not_found.key'],
    ['owner', anna, undefined],
    ['owner', undefined, undefined],
  ] as const) {
    const id = await issue({ made_by_key })
    const seen = await refusal((tx) => requireSeen(tx, by[who], id))
    const ended = await refusal((tx) => giveUpKey(tx, by[who], { id, at: NOW }))
    assert.deepEqual([seen, ended], [expected, expected], `${who}, made by ${made_by_key}`)
  }
  for (const id of [foreign, other, anna, 'none'])
    for (const who of ['key', 'anna', 'owner'] as const) {
      assert.equal(await refusal((tx) => requireSeen(tx, by[who], id)), 'not_found.key')
      const end = (tx: Tx) => giveUpKey(tx, by[who], { id, at: NOW })
      assert.equal(await refusal(end), 'not_found.key', `${who} ends ${id}`)
    }
  const withUsers = (who: keyof typeof by, id: string) =>
    refusal((tx) => requireSeen(tx, by[who], id, { users: true }))
  const foreign_user = await invite({ role: 'reader', customer_id: 'beta' })
  for (const [who, id, expected] of [
    ['key', other, undefined],
    ['owner', other, undefined],
    ['anna', anna, undefined],
    ['anna', other, 'not_found.key'],
    ['key', foreign_user, 'not_found.key'],
    ['key', asking, undefined],
  ] as const)
    assert.equal(await withUsers(who, id), expected, `${who} sees ${id}`)
  const actions = await sql<{ before: object | null }>`select before from customer_action`
  assert.equal(actions.length, 5)
  assert.ok(
    actions.every(({ before }) => before !== null),
    'how it was before is recorded',
  )
})

test('a key that is revoked or unknown by now makes and ends nothing', async (t) => {
  const { sql, needs, issue, refusal } = await withKeysAndUsers(t)
  const [gone, id] = [await issue(), await issue()]
  await sql`update api_key set revoked_at = ${NOW} where id = ${gone}`
  for (const asking of [asks(gone), asks('none')]) {
    const make = (tx: Tx) => grantKey(tx, needs, asking, { name: 'made' })
    const end = (tx: Tx) => giveUpKey(tx, asking, { id, at: NOW })
    for (const work of [make, end]) assert.equal(await refusal(work), 'auth')
  }
  assert.equal((await sql`select 1 from api_key where revoked_at is null`).length, 1)
  assert.equal((await sql`select 1 from customer_action`).length, 0)
})

test('a key with a cap is shown no secret of what spends beside it', async (t) => {
  const { needs, issue, refusal } = await withKeysAndUsers(t)
  const asking = await issue({ scopes: ['read', 'buy', 'aml', 'manage'], daily_cap_sun: 5n })
  const parent = await issue({ daily_cap_sun: 5n })
  for (const [limits, expected] of [
    [{ daily_cap_sun: 5n }, 'forbidden.wider'],
    [{ daily_cap_sun: 1n, scopes: ['aml'] }, 'forbidden.wider'],
    [{ daily_cap_sun: 5n, spends_from: parent }, 'forbidden.wider'],
    [{ daily_cap_sun: 5n, spends_from: asking }, undefined],
    [{ daily_cap_sun: 0n }, undefined],
    [{ daily_cap_sun: 5n, scopes: ['read', 'manage'] }, undefined],
  ] as const) {
    const id = await issue(limits)
    const rotate = (by: string) => (tx: Tx) =>
      rotateKey(tx, needs, asks(by), { id, overlap_hours: 0 })
    assert.equal(await refusal(rotate(asking)), expected, JSON.stringify(limits, printed))
    const change = (tx: Tx) => alterKey(tx, asks(asking), { id, name: 'b', at: NOW })
    assert.equal(await refusal(change), undefined)
    const free = await issue({ scopes: ['read', 'buy', 'aml', 'manage'] })
    assert.equal(await refusal(rotate(free)), undefined)
    const sibling = await issue({
      scopes: ['read', 'buy', 'aml', 'manage'],
      daily_cap_sun: 9n,
      spends_from: asking,
    })
    assert.equal(await refusal(rotate(sibling)), expected)
  }
})

const printed = (_name: string, one: unknown) => (typeof one === 'bigint' ? String(one) : one)
