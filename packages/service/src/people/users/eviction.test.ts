// Ends of things with their maker, and what stays: one of each kind, for each who may ask.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asks, NOW, withKeysAndUsers } from 'penstock-test/harness/keys_and_users.ts'
import type { Customer } from '../../platform/wire/endpoint.ts'
import { endMade } from './eviction.ts'

const MANAGE = ['read', 'manage'] as const

type Ending = { asking: Customer | undefined; with_made: boolean; keep_subscriptions?: boolean }

/** A key that has made a key, a webhook and users, and one that may do no more than readers do. */
async function withMade(t: Parameters<typeof withKeysAndUsers>[0]) {
  const { sql, begin, issue, invite } = await withKeysAndUsers(t)
  const root = await issue()
  const made = {
    key: await issue({ made_by_key: root }),
    reader: await invite({ role: 'reader', invited_by: root }),
    owner: await invite({ invited_by: root }),
    invited: await invite({ invited_by: root, joined: false }),
  }
  await sql`
    insert into webhook (id, customer_id, url, scopes, position, made_at, made_by_key)
    values ('hook', 'alpha', 'https://shop.example/in', '{read}', 0, ${NOW}, ${root})`
  const names = new Map(Object.entries({ ...made, hook: 'hook' }).map(([name, id]) => [id, name]))
  const narrow = asks(await issue({ scopes: MANAGE }))
  const owner = asks(await invite(), 'owner')
  /** The names of what has ended, and of those keys whose subscriptions were ended. */
  const end = async ({ asking, with_made, keep_subscriptions = false }: Ending) => {
    const stopped: string[] = []
    const endSubscriptions = async (_: unknown, { key_id }: { key_id: string }) => {
      stopped.push(names.get(key_id)!)
      return ['subscription']
    }
    const ending = { customer_id: 'alpha', id: root, with_made, keep_subscriptions, at: NOW }
    const { made, ended, ended_subscriptions } = await begin((tx) =>
      endMade(tx, { endSubscriptions }, asking, ending),
    )
    assert.equal(ended_subscriptions, stopped.length)
    const printed = [...made.keys, ...made.users, ...made.webhooks]
    assert.equal(printed.length, 5)
    const by_print = printed.flatMap((one) => (one.ended ? names.get(one.id)! : []))
    const by_action = ended.map(({ subject }) => names.get(subject.replace(/^\w+:/, ''))!)
    assert.deepEqual([...by_print].sort(), [...by_action].sort())
    for (const { action } of ended) assert.match(action, /^(webhook|user)\/remove$|^key\/revoke$/)
    return { ended: by_action.sort(), stopped: stopped.sort() }
  }
  const gone = async () => {
    const rows = await sql<{ id: string }>`
      select id from api_key where revoked_at is not null and user_id is null
      union all select id from service_user where ended_at is not null
      union all select id from webhook where state = 'removed'`
    return rows.map(({ id }) => names.get(id)!).sort()
  }
  return { sql, end, gone, narrow, owner }
}

const ALL = ['hook', 'invited', 'key', 'owner', 'reader']

for (const [title, who, with_made, expected] of [
  ['invitations alone end unless more is asked for', 'narrow', false, ['invited']],
  ['invitations alone end, also for the operator', 'operator', false, ['invited']],
  ['who could do more than the one who asks stays', 'narrow', true, ALL.toSpliced(3, 1)],
  ['all ends for an owner', 'owner', true, ALL],
  ['all ends for the operator', 'operator', true, ALL],
  [
    'one who asks by no key that is there ends nobody who has joined',
    'none',
    true,
    ALL.slice(0, 3),
  ],
] as const)
  test(title, async (t) => {
    const { end, gone, narrow, owner } = await withMade(t)
    const asking = { narrow, owner, operator: undefined, none: asks('none') }[who]
    const { ended, stopped } = await end({ asking, with_made })
    assert.deepEqual(ended, expected)
    assert.deepEqual(await gone(), expected)
    assert.deepEqual(
      stopped,
      expected.filter((name) => name !== 'hook'),
      'what it has started',
    )
  })

test('subscriptions go on that are to be kept', async (t) => {
  const { end } = await withMade(t)
  const keep_subscriptions = true
  const { ended, stopped } = await end({ asking: undefined, with_made: true, keep_subscriptions })
  assert.deepEqual([ended, stopped], [ALL, []])
})
