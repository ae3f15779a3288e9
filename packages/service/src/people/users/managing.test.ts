// Whom one who asks lets in, changes, gives a new link and takes out: rows on both sides of every
// limit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { asks, NOW, withKeysAndUsers } from 'penstock-test/harness/keys_and_users.ts'
import type { Tx } from '../../platform/database/sql.ts'
import type { NewKey } from '../keys/keys.ts'
import {
  changeByCustomer,
  inviteByCustomer,
  recordedUser,
  recoverByCustomer,
  removeByCustomer,
} from './managing.ts'
import { lockUser, type UserChange } from './users.ts'

const [ANNA, BERT, CARL] = ['anna', 'bert', 'carl'].map((name) => person(name).address) as [
  string,
  string,
  string,
]
const MANAGE = ['read', 'manage'] as const
const READER = { name: 'Bert', role: 'reader' } as const

test('who lets somebody in gives no more than it has, and all when none is said', async (t) => {
  const { sql, needs, begin, issue, keyOf, refusal } = await withKeysAndUsers(t)
  const other = await issue()
  const invite = (limits: Partial<NewKey>, more: object = {}) =>
    issue({ scopes: MANAGE, ...limits }).then((id) => ({
      id,
      invited: (tx: Tx) => inviteByCustomer(tx, needs, asks(id), { ...READER, ...more }),
    }))
  for (const [limits, more] of [
    [{}, { role: 'finance' }],
    [{ allowed_networks: ['203.0.113.0/24'] }, {}],
    [{ expires_at: new Date('2027-01-01Z') }, {}],
    [{ daily_cap_sun: 5n }, { daily_cap_sun: 6n }],
    [{ daily_cap_sun: 5n }, { daily_cap_sun: null }],
    [{ receivers: [ANNA] }, { receivers: [ANNA, BERT] }],
    [{ receivers: [ANNA] }, { receivers: null }],
  ] as const) {
    const { invited } = await invite(limits, more)
    assert.equal(await refusal(invited), 'forbidden.wider', JSON.stringify(Object.keys(limits)))
  }
  assert.equal((await sql`select 1 from service_user`).length, 0)
  for (const [limits, more, expected] of [
    [{}, {}, [null, null, null]],
    [{ require_v2: true, require_external_id: true }, {}, [null, null, null]],
    [{ daily_cap_sun: 5n, receivers: [ANNA] }, {}, [5n, [ANNA], 'own']],
    [{ daily_cap_sun: 5n, spends_from: other }, { daily_cap_sun: 4n }, [4n, null, other]],
    [{ receivers: [ANNA, BERT] }, { receivers: [BERT] }, [null, [BERT], null]],
    [{}, { receivers: null, daily_cap_sun: null }, [null, null, null]],
  ] as const) {
    const { id: asking, invited } = await invite(limits, more)
    const { id, link } = await begin(invited)
    const { daily_cap_sun, receivers, spends_from } = await keyOf(id)
    const from = spends_from === asking ? 'own' : spends_from
    assert.deepEqual([daily_cap_sun, receivers, from], expected)
    assert.equal(link.token.length, 43)
  }
  const actions = await sql<{ action: string; before: object | null }>`
    select action, before from customer_action`
  assert.equal(actions.length, 6)
  for (const one of actions) assert.deepEqual([one.action, one.before], ['user/invite', null])
})

test('who may not manage users, or no more, lets nobody in', async (t) => {
  const { sql, needs, issue, invite, refusal } = await withKeysAndUsers(t)
  const gone = await issue({ scopes: MANAGE })
  await sql`update api_key set revoked_at = ${NOW} where id = ${gone}`
  const reader = await invite({ role: 'reader' })
  for (const [who, expected] of [
    [asks(gone), 'auth'],
    [asks('none'), 'auth'],
    [asks(await issue({ scopes: ['read'] })), 'auth.scope'],
    [asks(await issue()), 'auth.scope'],
    [asks(reader, 'reader'), 'forbidden.role'],
    [asks(await invite(), 'owner'), undefined],
    [asks(await issue({ scopes: MANAGE })), undefined],
  ] as const) {
    const letIn = (tx: Tx) => inviteByCustomer(tx, needs, who, READER)
    assert.equal(await refusal(letIn), expected)
  }
})

test('a change is recorded that changes something, each of its fields for itself', async (t) => {
  const { sql, begin, issue, invite } = await withKeysAndUsers(t)
  const asking = asks(await issue({ scopes: ['read', 'money', 'manage'] }))
  const limited = { daily_cap_sun: 5n, receivers: [ANNA, BERT] }
  const open = { daily_cap_sun: null, receivers: null }
  for (const [of, change, changes] of [
    [limited, {}, false],
    [limited, { name: 'Anna', role: 'reader', ...limited }, false],
    [limited, { name: 'Bert' }, true],
    [limited, { role: 'finance' }, true],
    [limited, { daily_cap_sun: 4n }, true],
    [limited, { daily_cap_sun: null }, true],
    [limited, { receivers: [BERT, ANNA] }, true],
    [limited, { receivers: [ANNA] }, true],
    [limited, { receivers: [ANNA, BERT, CARL] }, true],
    [limited, { receivers: null }, true],
    [open, {}, false],
    [open, open, false],
    [open, { receivers: [ANNA] }, true],
    [open, { daily_cap_sun: 0n }, true],
  ] as [object, UserChange, boolean][]) {
    const id = await invite({ role: 'reader', ...of })
    await begin((tx) => changeByCustomer(tx, asking, { id, at: NOW, change }))
    const recorded = await sql<{ before: object | null; after: object }>`
      select before, after from customer_action where subject = ${`user:${id}`}`
    assert.equal(recorded.length === 1, changes, JSON.stringify(Object.entries(change), print))
    if (recorded[0]) assert.notEqual(recorded[0].before, null)
    const noted = await sql`
      select 1 from event_note where type = 'user.changed' and subject = ${`user:${id}`}`
    assert.equal(noted.length === 1, changes, 'it is told')
    const after = await begin((tx) => lockUser(tx, { id }))
    const { name, role, daily_cap_sun, receivers } = after!
    const expected = { name: 'Anna', role: 'reader', ...of, ...change }
    assert.deepEqual({ name, role, daily_cap_sun, receivers }, expected)
  }
})

const print = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

test('a user is changed by the own customer, before the end, by one not narrower', async (t) => {
  const { sql, needs, issue, invite, refusal } = await withKeysAndUsers(t)
  const asking = asks(await issue({ scopes: MANAGE }))
  const [reader, finance] = [await invite({ role: 'reader' }), await invite({ role: 'finance' })]
  const gone = await invite({ role: 'reader' })
  await sql`update service_user set ended_at = ${NOW} where id = ${gone}`
  const foreign = await invite({ role: 'reader', customer_id: 'beta' })
  const wider = { role: 'finance' }
  for (const [id, expected] of [
    [gone, 'not_found.user'],
    [foreign, 'not_found.user'],
    ['none', 'not_found.user'],
    [finance, 'forbidden.wider'],
    [reader, undefined],
  ] as const) {
    const change = { name: 'Bert' }
    for (const work of [
      (tx: Tx) => changeByCustomer(tx, asking, { id, at: NOW, change }),
      (tx: Tx) => recoverByCustomer(tx, needs, asking, id),
      (tx: Tx) => removeByCustomer(tx, asking, { id, at: NOW }),
    ])
      assert.equal(await refusal(work), expected)
  }
  const other = await invite({ role: 'reader' })
  const promote = (tx: Tx) => changeByCustomer(tx, asking, { id: other, at: NOW, change: wider })
  assert.equal(await refusal(promote), 'forbidden.wider')
})

test('an owner who has joined gets no new link from others, anybody else does', async (t) => {
  const { needs, issue, invite, refusal } = await withKeysAndUsers(t)
  const all = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'] as const
  const asking = asks(await issue({ scopes: all }))
  for (const [role, joined, expected] of [
    ['owner', true, 'forbidden.owner'],
    ['owner', false, undefined],
    ['reader', true, undefined],
    ['reader', false, undefined],
  ] as const) {
    const id = await invite({ role, joined })
    const recover = (tx: Tx) => recoverByCustomer(tx, needs, asking, id)
    assert.equal(await refusal(recover), expected, `${role}, joined: ${joined}`)
  }
})

test('a key with a cap is shown no link of a user who spends beside it', async (t) => {
  const { needs, issue, invite, refusal } = await withKeysAndUsers(t)
  const scopes = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'] as const
  const [capped, free] = [await issue({ scopes, daily_cap_sun: 5n }), await issue({ scopes })]
  for (const [user, expected] of [
    [{ role: 'developer', daily_cap_sun: 5n }, 'forbidden.wider'],
    [{ role: 'developer', daily_cap_sun: 5n, spends_from: capped }, undefined],
    [{ role: 'developer', daily_cap_sun: 0n }, undefined],
    [{ role: 'finance', daily_cap_sun: 5n }, undefined],
  ] as const) {
    const id = await invite(user)
    const recover = (by: string) => (tx: Tx) => recoverByCustomer(tx, needs, asks(by), id)
    assert.equal(await refusal(recover(capped)), expected)
    assert.equal(await refusal(recover(free)), undefined)
  }
})

test('the record says of a user what limits it, and whether it has ended', async (t) => {
  const { begin, invite } = await withKeysAndUsers(t)
  const id = await invite({ daily_cap_sun: 5_000_000n, receivers: [ANNA] })
  const user = (await begin((tx) => lockUser(tx, { id })))!
  const said = { name: 'Anna', role: 'owner' }
  assert.deepEqual(JSON.parse(JSON.stringify(recordedUser(user))), {
    ...said,
    daily_cap: 5,
    receivers: [ANNA],
    ended: false,
  })
  const gone = recordedUser({ ...user, ended_at: NOW, daily_cap_sun: null, receivers: null })
  assert.deepEqual(gone, { ...said, daily_cap: null, receivers: null, ended: true })
})
