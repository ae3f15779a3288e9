// How a change of a key reaches what it has made, and how many keys there may be.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { asks, NOW, withKeysAndUsers } from 'penstock-test/harness/keys_and_users.ts'
import { firstIdAt } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { grantKey, KEYS_A_DAY, KEYS_MAX } from './grants.ts'
import {
  changeKey,
  type KeyLimits,
  lockKey,
  noteReachedCaps,
  revokeKey,
  revokeKeys,
} from './keys.ts'

const after = (ms: number) => new Date(NOW.getTime() + ms)
const DAY_MS = 24 * 3_600_000
const [ANNA, BERT, CARL] = ['anna', 'bert', 'carl'].map((name) => person(name).address) as [
  string,
  string,
  string,
]

const change = (sql: Sql, id: string, limits: KeyLimits) =>
  sql.begin(async (tx) => changeKey(tx, (await lockKey(tx, id))!, { ...limits, at: NOW }))

/** From which day on it is counted what a key spends. */
const countedFrom = async (sql: Sql, id: string) => {
  const [row] = await sql<{ day: string | null }>`
    select spending_counted_from::text as day from api_key where id = ${id}`
  return row!.day
}

test('what a key spends is counted where it has a cap, from a day that is whole', async (t) => {
  const { sql, issue, invite } = await withKeysAndUsers(t)
  const open = await issue()
  const capped = await issue({ daily_cap_sun: 0n })
  const [user, capped_user] = [await invite(), await invite({ daily_cap_sun: 5n })]
  assert.deepEqual(
    [await countedFrom(sql, open), await countedFrom(sql, capped)],
    [null, '2026-10-08'],
  )
  assert.deepEqual(
    [await countedFrom(sql, user), await countedFrom(sql, capped_user)],
    [null, '2026-10-08'],
  )
  await change(sql, open, { daily_cap_sun: 5n })
  assert.equal(await countedFrom(sql, open), '2026-10-09')
  await change(sql, capped, { daily_cap_sun: 5n })
  await change(sql, capped, { name: 'other' })
  assert.equal(await countedFrom(sql, capped), '2026-10-08')
  await change(sql, capped, { daily_cap_sun: null })
  assert.equal(await countedFrom(sql, capped), null)
})

test('when the end of a key changes, the reminder of it is due again', async (t) => {
  const { sql, issue } = await withKeysAndUsers(t)
  const [id, other] = [await issue({ expires_at: after(1) }), await issue({ expires_at: after(1) })]
  const endings = async () => {
    await sql`update api_key set ending_at = ${NOW} where id = ${other}`
    const rows = await sql`select id from api_key where ending_at is not null order by id`
    return rows.map((row) => row.id)
  }
  for (const [limits, stays] of [
    [{ name: 'other' }, true],
    [{ expires_at: after(1) }, true],
    [{ expires_at: after(2) }, false],
    [{ expires_at: null }, false],
  ] as const) {
    await sql`update api_key set ending_at = ${NOW}, expires_at = ${after(1)} where id = ${id}`
    await change(sql, id, limits)
    assert.deepEqual(await endings(), stays ? [id, other] : [other])
  }
})

test('what a key has made delivers to its receivers alone, and spends from its cap', async (t) => {
  const { sql, issue, invite, keyOf } = await withKeysAndUsers(t)
  const root = await issue()
  const made = {
    open: await issue({ made_by_key: root }),
    narrow: await issue({ made_by_key: root, receivers: [ANNA, BERT] }),
    user: await invite({ role: 'reader', invited_by: root }),
    foreign: await issue({ made_by_key: root, customer_id: 'beta' }),
    foreign_user: await invite({ role: 'reader', invited_by: root, customer_id: 'beta' }),
    revoked: await issue({ made_by_key: root }),
    other: await issue(),
  }
  const by_user = await issue({ made_by_key: made.user })
  await sql`update api_key set revoked_at = ${NOW} where id = ${made.revoked}`
  // Who makes whom has no end here: a maker whose secret was shown to what it has made.
  await sql`update api_key set made_by_key = ${by_user} where id = ${root}`
  const limitsOf = async () => {
    const found: Record<string, unknown> = {}
    for (const [name, id] of Object.entries({ root, ...made, by_user })) {
      const { receivers, daily_cap_sun, spends_from } = await keyOf(id)
      found[name] = [receivers, daily_cap_sun, spends_from === root ? 'root' : spends_from]
    }
    return found
  }
  const none = [null, null, null]
  await change(sql, root, { receivers: [BERT, CARL] })
  const bound = [[BERT, CARL], null, null]
  const rest = { foreign: none, foreign_user: none, revoked: none, other: none }
  assert.deepEqual(await limitsOf(), {
    root: bound,
    open: bound,
    narrow: [[BERT], null, null],
    user: bound,
    by_user: bound,
    ...rest,
  })
  await change(sql, root, { receivers: null, daily_cap_sun: 5n })
  const capped = [[BERT, CARL], 5n, 'root']
  assert.deepEqual(await limitsOf(), {
    root: [null, 5n, null],
    open: capped,
    narrow: [[BERT], 5n, 'root'],
    user: capped,
    by_user: capped,
    ...rest,
  })
})

test('one made key follows, too, and is counted from tomorrow when it had no cap', async (t) => {
  const { sql, issue, keyOf } = await withKeysAndUsers(t)
  const root = await issue({ daily_cap_sun: 9n })
  const made = await issue({ made_by_key: root, spends_from: root })
  const counted = await issue({ daily_cap_sun: 9n, spends_from: root })
  await change(sql, root, { daily_cap_sun: 5n })
  assert.deepEqual(
    [(await keyOf(made)).daily_cap_sun, await countedFrom(sql, made)],
    [5n, '2026-10-09'],
  )
  await sql`update api_key set made_by_key = ${root} where id = ${counted}`
  await change(sql, root, { daily_cap_sun: 4n })
  assert.deepEqual(
    [(await keyOf(counted)).daily_cap_sun, await countedFrom(sql, counted)],
    [4n, '2026-10-08'],
  )
})

test('it is noted of each key that it is made, and that it is revoked', async (t) => {
  const { sql, begin, issue } = await withKeysAndUsers(t)
  const [one, two, foreign] = [await issue(), await issue(), await issue({ customer_id: 'beta' })]
  const notes = async (type: string) => {
    const rows = await sql<{ subject: string; customer_id: string }>`
      select subject, customer_id from event_note where type = ${type} order by subject`
    return rows.map(({ subject, customer_id }) => `${customer_id} ${subject}`)
  }
  const of_alpha = [`alpha key:${one}`, `alpha key:${two}`]
  assert.deepEqual(await notes('key.created'), [...of_alpha, `beta key:${foreign}`])
  await begin((tx) => revokeKeys(tx, { customer_id: 'alpha', at: NOW }))
  assert.deepEqual(await notes('key.revoked'), of_alpha)
  await begin((tx) => revokeKey(tx, { customer_id: 'beta', key_id: foreign, at: NOW }))
  assert.deepEqual(await notes('key.revoked'), [...of_alpha, `beta key:${foreign}`])
  const keys = [{ id: one, customer_id: 'alpha' }]
  await begin((tx) => noteReachedCaps(tx, keys, NOW))
  assert.deepEqual(await notes('key.cap_reached'), [`alpha key:${one}`])
})

test('a hundred keys can be used, and five hundred are made in a day', async (t) => {
  const { sql, needs, issue, invite, refusal } = await withKeysAndUsers(t)
  const asking = asks(await issue())
  await invite()
  const insert = (
    first: number,
    last: number,
    id: string,
    row: { revoked?: boolean; ended?: Date },
  ) =>
    sql`
      insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at,
        require_v2, require_external_id, created_at, revoked_at, expires_at)
      select left(${id}, 20) || lpad(n::text, 6, '0'), 'alpha', 'made',
        encode(sha256(n::text::bytea), 'hex'), '', ${NOW}, false, false, ${NOW},
        ${row.revoked ? NOW : null}, ${row.ended ?? null}
      from generate_series(${first}::integer, ${last}) as n`
  const before = firstIdAt(after(-DAY_MS - 1))
  const make = () => refusal((tx) => grantKey(tx, needs, asking, { name: 'made' }))
  await insert(1, 1, before, { revoked: true })
  await insert(2, 2, before, { ended: NOW })
  await insert(3, KEYS_MAX, before, { ended: after(1) })
  assert.deepEqual([await make(), await make()], [undefined, 'limit_reached.key'])
  await sql`update api_key set revoked_at = ${NOW} where id < ${firstIdAt(after(-DAY_MS))}`
  const today = firstIdAt(after(-DAY_MS))
  await insert(KEYS_MAX + 1, KEYS_MAX + KEYS_A_DAY - 3, today, { revoked: true })
  assert.deepEqual([await make(), await make()], [undefined, 'limit_reached.key'])
})
