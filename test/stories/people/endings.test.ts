// What ends something gets through, whatever somebody has filled: the owner of a stolen key throws
// the thief out although the thief has made as many changes as may be, with that very key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDING_VERBS } from 'penstock-service/ledger/accounts/customer_actions.ts'
import { type Endpoint, SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import pg from 'pg'
import { sender, subscribe, wanted } from '../../harness/subscribers.ts'
import { codeAt, joinedByPasskey, PASSWORD, signedIn } from '../../harness/users.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

/** What begins or changes something, by the last word of its path. */
const OTHER_VERBS = ['new', 'start', 'accept', 'approve', 'invite', 'change', 'test', 'trigger']
const LIMIT_REACHED = 72
/** What moves nothing of the customer's, and says so by its word. */
const REPEATING_VERBS = ['replay', 'retry', 'take']

/** Of signing in, by what follows `/session`. What ends a session, or what one signs in with. */
const SESSION_ENDINGS = ['/end', '/passkeys/remove', '/totp', '/recovery/new']
const OTHER_SESSION_CALLS = ['/link', '/join', '/passkey', '/password', '/recovery', '/step-up']
const NEW_CREDENTIALS = ['/passkeys/new', '/passkeys/rename']

const lastWord = (path: string) => path.split('/').at(-1)!
const endsSomething = ({ path, mutating }: Endpoint) =>
  mutating &&
  (path.startsWith('/session/')
    ? SESSION_ENDINGS.includes(path.replace('/session', ''))
    : ENDING_VERBS.includes(lastWord(path)))

/** Of the wire, and of the portal. */
const endpointsOf = ({ app }: World): Endpoint[] => [
  ...app.endpoints,
  ...app.mounts.flatMap(({ endpoints }) =>
    endpoints.filter(({ path }) => path.startsWith('/session/')),
  ),
]

test('of each path that changes something is known whether it ends something', async (t) => {
  const world = await makeWorld(t)
  const changing = endpointsOf(world).filter(({ mutating }) => mutating)
  const [sessions, wire] = [true, false].map((is) =>
    changing.map(({ path }) => path).filter((path) => path.startsWith('/session/') === is),
  )
  const known = [...ENDING_VERBS, ...OTHER_VERBS, ...REPEATING_VERBS]
  assert.deepEqual(
    wire!.filter((path) => !known.includes(lastWord(path))),
    [],
    'say whether they end something (ledger/accounts/customer_actions.ts)',
  )
  for (const verb of ENDING_VERBS) assert.ok(wire!.map(lastWord).includes(verb), verb)
  const of_sessions = [...SESSION_ENDINGS, ...OTHER_SESSION_CALLS, ...NEW_CREDENTIALS]
  assert.deepEqual(sessions!.sort(), of_sessions.map((path) => `/session${path}`).sort())
})

test('nothing that ends something has a bound', async (t) => {
  const world = await makeWorld(t)
  const bounded = endpointsOf(world).filter(
    (one) => endsSomething(one) && one.faults.some(({ code }) => code === LIMIT_REACHED),
  )
  assert.deepEqual(
    bounded.map(({ path }) => path),
    [],
  )
})

/** The changes of a day, all by one key or user. */
async function fill({ sql, now }: World, { id }: Customer, made_by: string): Promise<void> {
  // Each row is chained to the one before: all in one statement may take longer than one may.
  for (let i = 0; i < 10; i++)
    await sql`
      insert into customer_action (customer_id, made_at, made_by, action, subject, ip)
      select ${id}, ${now}, ${made_by}, 'settings/change', 'settings', null
      from generate_series(1, 1000)`
}

/** A table in which a bound counts rows; which of them is copied, how often, and what of a copy is
 *  its own, as SQL with `n`. */
type FillPlan = { table: string; where: string; own: Record<string, string>; count: number }

/** As ids are: all of the same moment. */
const ID = "left(id, 20) || lpad(n::text, 6, '0')"
const SUM = "encode(sha256((id || n)::bytea), 'hex')"

/** Each bound of a customer's, by the key of its refusal. */
const fillings = (customer_id: string, user_id: string): Record<string, FillPlan[]> => {
  const own = `customer_id = '${customer_id}'`
  return {
    key: [
      {
        table: 'api_key',
        where: `${own} and user_id is null`,
        own: { id: ID, token_hash: SUM },
        count: 500,
      },
    ],
    user: [
      { table: 'service_user', where: own, own: { id: ID, sign_in_name: 'null' }, count: 200 },
    ],
    webhook: [{ table: 'webhook', where: own, own: { id: ID }, count: 200 }],
    watch: [
      {
        table: 'aml_watch',
        where: own,
        own: { address: "'T' || n", due_at: "'infinity'::text" },
        count: 100_000,
      },
    ],
    quote: [{ table: 'quote', where: own, own: { id: ID }, count: 1_000 }],
    test: [
      {
        table: 'event',
        where: `${own} and starts_with(subject, 'test:')`,
        own: { id: ID, number: '-n', subject: `'test:' || ${ID}` },
        count: 500,
      },
    ],
    pairing: [
      {
        table: 'pairing',
        where: 'true',
        own: { id: ID, code_hash: SUM, poll_hash: SUM },
        count: 1_000,
      },
    ],
    passkey: [
      {
        table: 'passkey',
        where: `user_id = '${user_id}'`,
        own: { id: 'id || n' },
        count: 20,
      },
    ],
  }
}

/** As the owner of the database. */
async function fillAll({ database }: World, all: Record<string, FillPlan[]>): Promise<void> {
  const client = new pg.Client(database.url)
  await client.connect()
  try {
    // 100,000 rows without a look at what each refers to.
    await client.query('set session_replication_role = replica')
    for (const { table, where, own, count } of Object.values(all).flat()) {
      const pairs = Object.entries(own).map(([name, made]) => `'${name}', ${made}`)
      await client.query(`
        insert into ${table} overriding system value
        select copy.* from ${table} as one, generate_series(1, ${count}) as n,
          jsonb_populate_record(one, jsonb_build_object(${pairs.join(', ')})) as copy
        where one.ctid = (select min(ctid) from ${table} where ${where})`)
    }
  } finally {
    await client.end()
  }
}

/** What each path that ends something is called with, where there is something to end. */
async function endings(world: World, anna: Customer): Promise<Record<string, () => object>> {
  const made = await anna.get<{ key: { id: string } }>('/v1/key/new', {
    name: 'a',
    scopes: ['read'],
  })
  const { user } = await anna.get<{ user: { id: string } }>('/v1/user/invite', {
    name: 'Bert',
    role: 'reader',
  })
  const url = 'https://shop.example/hook'
  const hook = await anna.get<{ webhook: { id: string } }>('/v1/webhook/new', { url })
  await anna.get('/v1/aml-watch/new', { address: world.person('nina').address })
  const supplied = sender(world)
  const { id } = await subscribe(world, anna, wanted(supplied.address))
  await world.settle()
  const { code } = await anna.get<{ code: string }>('/v1/pairing/new', { name: 'a program' })
  await signedIn(world, { customer_id: anna.id, role: 'reader' })
  const { items } = await anna.get<{ items: { id: string }[] }>('/v1/sessions/list')
  return {
    '/v1/webhook/rotate': () => ({ id: hook.webhook.id }),
    '/v1/webhook/change': () => ({ id: hook.webhook.id, state: 'off' }),
    '/v1/webhook/remove': () => ({ id: hook.webhook.id }),
    '/v1/key/rotate': () => ({ id: made.key.id }),
    '/v1/key/revoke': () => ({ id: made.key.id }),
    '/v1/user/recover': () => ({ id: user.id }),
    '/v1/user/remove': () => ({ id: user.id }),
    '/v1/session/end': () => ({ id: items[0]!.id }),
    '/v1/subscription/stop': () => ({ id }),
    '/v1/aml-watch/remove': () => ({ address: world.person('nina').address }),
    '/v1/pairing/refuse': () => ({ code }),
  }
}

/** Streams hold no row: nothing that is written counts them. */
const HOLDS_NO_ROW = 'stream'

test('whatever is full, what there is is ended all the same, with a record', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 500, scopes: [...SCOPES] })
  const of = { customer_id: anna.id }
  const { id: key_id } = (await anna.get<{ key: { id: string } }>('/v1/whoami')).key
  const asked = await endings(world, anna)
  const begun = beginnings(world.person('bob', 1).address)
  for (const path of ['/v1/quote/new', '/v1/event/trigger']) await anna.get(path, begun[path])
  const { visitor, user_id } = await joinedByPasskey(world, of)
  const all = endpointsOf(world)
  const ending = all.filter((one) => endsSomething(one) && one.path.startsWith('/v1/'))
  assert.deepEqual(
    ending.map(({ path }) => path).filter((path) => !(path in asked)),
    [],
    'nothing is tried with them',
  )
  const full = fillings(anna.id, user_id)
  const bounds = all.flatMap(({ faults }) => faults.filter(({ code }) => code === LIMIT_REACHED))
  const nouns = [...new Set(bounds.map(({ key }) => key.replace('limit_reached.', '')))]
  assert.deepEqual(nouns.sort(), [...Object.keys(full), HOLDS_NO_ROW].sort(), 'what fills it?')
  await fillAll(world, full)
  for (const made_by of [`key:${key_id}`, `user:${user_id}`]) await fill(world, anna, made_by)

  // Nothing more is begun.
  const { status } = await anna.call('/v1/settings/change', { balance_low: 3 })
  assert.equal(status, 429)
  for (const [path, body] of Object.entries(begun)) {
    const { code, key, error } = await anna.call(path, body)
    assert.equal(code, LIMIT_REACHED, `${path}: ${key} ${error}`)
  }
  assert.equal((await visitor.call('/session/passkeys/new')).code, LIMIT_REACHED)

  // But whatever there is ends.
  for (const [path, body] of Object.entries(asked)) {
    const { code, error } = await anna.call(path, body())
    assert.equal(code, 0, `${path}: ${error}`)
    await requireRecorded(world, anna, path.replace('/v1/', ''))
  }
  const { totp } = await visitor.ask('/session/totp')
  const { secret, offer } = totp as { secret: string; offer: string }
  const code = codeAt(secret, world.now)
  await visitor.ask('/session/totp', { password: PASSWORD, code, offer })
  const { passkeys } = await visitor.ask('/session/passkeys/list')
  const [passkey] = passkeys as { id: string }[]
  await visitor.ask('/session/passkeys/remove', { id: passkey!.id })
  await requireRecorded(world, anna, 'session/passkeys/remove')
  await visitor.ask('/session/recovery/new')
  await visitor.ask('/session/end', { everywhere: true })
  // The very key that was stolen.
  assert.equal((await anna.call('/v1/key/revoke', { id: key_id })).code, 0)
})

/** What begins what is full, with an address that is on the chain. */
const beginnings = (address: string): Record<string, object> => ({
  '/v1/key/new': { name: 'one more', scopes: ['read'] },
  '/v1/user/invite': { name: 'Carl', role: 'reader' },
  '/v1/webhook/new': { url: 'https://shop.example/more' },
  '/v1/aml-watch/new': { address },
  '/v1/quote/new': { service: 'energy', params: { address, energy_amount: 65_000, duration: 1 } },
  '/v1/event/trigger': { type: 'order.succeeded' },
  '/v1/pairing/new': { name: 'one more' },
})

async function requireRecorded({ sql }: World, { id }: Customer, action: string): Promise<void> {
  const [last] = await sql<{ action: string }>`
    select action from customer_action where customer_id = ${id} order by number desc limit 1`
  assert.equal(last!.action, action)
}

test('what a thief fills with one key is not what the owner has', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: [...SCOPES] })
  await fill(world, anna, 'key:stolen')
  assert.equal((await anna.call('/v1/settings/change', { balance_low: 3 })).code, 0)
  const made = await anna.call('/v1/key/new', { name: 'another', scopes: ['read'] })
  assert.equal(made.code, 0)
  const visitor = await signedIn(world, { customer_id: anna.id })
  await fill(world, anna, `user:${visitor.user_id}`)
  const { status } = await visitor.call('/v1/settings/change', { balance_low: 4 })
  assert.equal(status, 429)
  const id = (made.result.key as { id: string }).id
  await visitor.ask('/v1/key/revoke', { id })
})
