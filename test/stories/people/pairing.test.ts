// A program gets a key that a user approves: what it is told when, and what those gain who guess,
// repeat, hurry, wait too long, or may not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginPairing } from 'penstock-service/people/pairing/pairings.ts'
import { drain } from 'penstock-service/platform/steps/step.ts'
import { eventually } from '../../harness/eventually.ts'
import { signedIn } from '../../harness/users.ts'
import { Customer, makeWorld, type World } from '../../harness/world.ts'

type Reply = { code: number; key?: string; result: Record<string, unknown>; status: number }

/** What a program without a key is answered. */
async function ask(world: World, path: string, body: object, ip = '192.0.2.7'): Promise<Reply> {
  const url = `/v1/pairing/${path}`
  const payload = JSON.stringify(body)
  const response = await world.api.inject({ method: 'POST', url, payload, remoteAddress: ip })
  const { code, key, result = {} } = response.json()
  return { code, key, result, status: response.statusCode }
}

type Begun = { code: string; poll_secret: string; ends_at: string }

async function begin(world: World, name = 'penstock on laptop', ip?: string): Promise<Begun> {
  const { result, code } = await ask(world, 'new', { name, scopes: ['read', 'buy'] }, ip)
  assert.equal(code, 0)
  return result as Begun
}

const take = (world: World, { poll_secret }: Begun) => ask(world, 'take', { poll_secret })

async function setUp(t: Parameters<typeof makeWorld>[0], role = 'owner') {
  const world = await makeWorld(t)
  const customer = await world.customer({ trx: 100 })
  const user = await signedIn(world, { customer_id: customer.id, role })
  return { world, customer, user }
}

test('a program is given a key by the user who types its code, and signs with it', async (t) => {
  const { world, customer, user } = await setUp(t)
  const begun = await begin(world)
  assert.match(begun.code, /^[B-Z]{4}-[B-Z]{4}$/)
  assert.deepEqual((await take(world, begun)).result, { state: 'open', key: null })
  const typed = begun.code.replace('-', ' ').toLowerCase()
  const shown = await user.ask('/v1/pairing/check', { code: typed })
  assert.deepEqual(
    [shown.name, shown.ip, shown.scopes],
    ['penstock on laptop', '192.0.2.7', ['read', 'buy']],
  )
  const limits = { scopes: ['read'], networks: ['127.0.0.0/8'], daily_cap: 5, require_v2: false }
  const key = await user.ask('/v1/pairing/approve', { code: typed, ...limits })
  assert.deepEqual(
    [key.name, key.scopes, key.networks, key.daily_cap, key.require_v2, key.made_by],
    ['penstock on laptop', ['read'], ['127.0.0.0/8'], 5, false, user.user_id],
  )
  const { result } = await take(world, begun)
  const taken = result.key as { id: string; token: string; secret: string }
  assert.deepEqual([result.state, taken.id], ['approved', key.id])
  const { id, deposit_address } = customer
  const program = new Customer(world, { ...taken, id, deposit_address })
  const { key: mine } = await program.get<{ key: { id: string } }>('/v1/whoami')
  assert.equal(mine.id, key.id)
  const again = await take(world, begun)
  assert.deepEqual([again.code, again.key, again.result], [74, 'conflict.taken', {}])
  const rows = await world.sql<{ row: string }>`select p::text as row from pairing as p`
  for (const hidden of [begun.code, begun.poll_secret, taken.token, taken.secret])
    assert.ok(!JSON.stringify(rows).includes(hidden))
})

test('a code is worth nothing once it was answered, to whomever', async (t) => {
  const { world, user } = await setUp(t)
  const { id: customer_id } = await world.customer()
  const other = await signedIn(world, { customer_id })
  const [approved, refused] = [await begin(world), await begin(world)]
  const unknown = await other.call('/v1/pairing/check', { code: 'BBBB-BBBB' })
  await user.ask('/v1/pairing/approve', { code: approved.code, scopes: ['read'] })
  await user.ask('/v1/pairing/refuse', { code: refused.code })
  for (const visitor of [user, other])
    for (const { code } of [approved, refused])
      for (const path of ['check', 'approve', 'refuse']) {
        const body = path === 'approve' ? { code, scopes: ['read'] } : { code }
        const reply = await visitor.call(`/v1/pairing/${path}`, body)
        const { key, error } = reply
        assert.deepEqual([key, error], [unknown.key, unknown.error], `${path} ${code}`)
      }
  assert.deepEqual((await take(world, refused)).result, { state: 'refused', key: null })
  const { items } = (await user.ask('/v1/keys/list')) as { items: { name: string }[] }
  assert.equal(items.filter(({ name }) => name.startsWith('penstock on')).length, 1)
})

test('of eight approvals at once one makes a key; of eight who take it one is told', async (t) => {
  const { world, user } = await setUp(t)
  const begun = await begin(world)
  const body = { code: begun.code, scopes: ['read'] }
  const eight = Array.from({ length: 8 }, () => begun)
  const approvals = await Promise.all(eight.map(() => user.call('/v1/pairing/approve', body)))
  assert.deepEqual(approvals.map(({ code }) => code).sort(), [0, 70, 70, 70, 70, 70, 70, 70])
  const taken = await Promise.all(eight.map((one) => take(world, one)))
  assert.deepEqual(taken.map(({ code }) => code).sort(), [0, 74, 74, 74, 74, 74, 74, 74])
  const { items } = (await user.ask('/v1/keys/list')) as { items: object[] }
  assert.equal(items.length, 2)
})

test('roles, presence and width: who may make no such key may approve none', async (t) => {
  const { world, customer, user } = await setUp(t, 'developer')
  const { code } = await begin(world)
  const approve = { code, scopes: ['read'] }
  for (const role of ['reader', 'finance']) {
    const visitor = await signedIn(world, { customer_id: customer.id, role })
    for (const path of ['check', 'approve', 'refuse'])
      assert.equal((await visitor.call(`/v1/pairing/${path}`, approve)).key, 'forbidden.role')
  }
  const wide = await user.call('/v1/pairing/approve', { code, scopes: ['manage'] })
  assert.equal(wide.key, 'forbidden.wider')
  await world.sql`update user_session set stepped_up_until = null`
  world.wait(2)
  assert.equal((await user.call('/v1/pairing/approve', approve)).key, 'forbidden.step_up')
  assert.equal((await user.call('/v1/pairing/check', { code })).code, 0)
  const by_key = await customer.call('/v1/pairing/approve', approve)
  assert.equal(by_key.key, 'auth.scope')
  // A page of another site cannot begin one with the user's cookie, and there is none to take.
  for (const path of ['new', 'take'])
    assert.equal((await user.call(`/v1/pairing/${path}`, { name: 'x' })).status, 404)
})

test('after ten minutes a code is none; a key that nobody took is revoked', async (t) => {
  const { world, user } = await setUp(t)
  const [late, untaken, taken] = [await begin(world), await begin(world), await begin(world)]
  for (const { code } of [untaken, taken])
    await user.ask('/v1/pairing/approve', { code, scopes: ['read'] })
  assert.equal((await take(world, taken)).code, 0)
  world.wait(601)
  const body = { code: late.code, scopes: ['read'] }
  assert.equal((await user.call('/v1/pairing/approve', body)).key, 'not_found.pairing')
  for (const one of [late, untaken, taken])
    assert.equal((await take(world, one)).key, 'not_found.pairing')
  const step = world.app.api_steps.find(({ name }) => name === 'end_pairings')!
  await step.run()
  await world.drain()
  assert.equal((await world.sql`select 1 from pairing`).length, 0)
  const { items } = (await user.ask('/v1/keys/list')) as { items: { revoked_at: string | null }[] }
  assert.equal(items.filter(({ revoked_at }) => revoked_at !== null).length, 1)
  const { items: events } = (await user.ask('/v1/events/list')) as { items: { type: string }[] }
  assert.equal(events.filter(({ type }) => type === 'key.revoked').length, 1)
})

test('all codes that have ended are forgotten at once, and none that waits', async (t) => {
  const { world } = await setUp(t)
  // More than one run of the step takes.
  await strangers(world, 'n', (i) => `203.0.${i}.1`, 150)
  world.wait(601)
  const waits = await begin(world)
  await drain(world.app.api_steps.filter(({ name }) => name === 'end_pairings'))
  const left = await world.sql<{ name: string }>`select name from pairing`
  assert.deepEqual(
    left.map(({ name }) => name),
    ['penstock on laptop'],
  )
  assert.deepEqual((await take(world, waits)).result, { state: 'open', key: null })
})

test('each letter is as likely as any other: a byte that favours some makes none', async (t) => {
  const { sql, now } = await makeWorld(t)
  // Of 256 bytes, 240 are shared out evenly among the 20 letters; the others come first.
  let next = 240
  const random = { bytes: (n: number) => Uint8Array.from({ length: n }, () => next++ % 256) }
  const needs = { sql, clock: { now: () => now }, random, new_id: () => 'p'.repeat(26) }
  const { code } = await beginPairing(needs, { name: 'mine', ip: '192.0.2.7', scopes: null })
  assert.equal(code, 'BCDF-GHJK')
})

test('a scope that a program asks for twice is asked for once', async (t) => {
  const { world, user } = await setUp(t)
  const { result } = await ask(world, 'new', { name: 'mine', scopes: ['read', 'buy', 'read'] })
  const shown = await user.ask('/v1/pairing/check', { code: result.code })
  assert.deepEqual(shown.scopes, ['read', 'buy'])
})

test('codes are not guessed, nor do those who ask for many fill the table', async (t) => {
  const { world, user } = await setUp(t)
  const replies = []
  for (let i = 0; i < 25; i++)
    replies.push(await user.call('/v1/pairing/check', { code: `BCDF-GHJ${'BCDFGHJKLM'[i % 10]}` }))
  const refused = replies.filter(({ status }) => status === 429)
  assert.deepEqual([refused.length, replies[0]!.key], [5, 'not_found.pairing'])
  assert.ok(Number(refused[0]!.headers['retry-after']) > 0)
  // Another customer is not kept from it.
  const { id: customer_id } = await world.customer()
  const other = await signedIn(world, { customer_id })
  const begun = await begin(world, 'mine', '198.51.100.1')
  assert.equal((await other.call('/v1/pairing/check', { code: begun.code })).code, 0)

  const many = Array.from({ length: 14 }, () => ask(world, 'new', { name: 'flood' }, '203.0.113.9'))
  const keys = (await Promise.all(many)).map(({ key }) => key)
  assert.equal(keys.filter((key) => key === 'limit_reached.pairing').length, 4)
  assert.equal((await ask(world, 'new', { name: 'else' }, '203.0.113.10')).code, 0)
  world.wait(601)
  assert.equal((await ask(world, 'new', { name: 'later' }, '203.0.113.9')).code, 0)
})

test('strangers with many networks push out their own codes, and nobody else', async (t) => {
  const { world, user } = await setUp(t)
  const honest = await begin(world, 'mine', '198.51.100.1')
  // As many as there may be of one /48, and of one /16: the next is refused, elsewhere not.
  await strangers(world, 'n', (i) => `2001:db8:1:${i.toString(16)}::/64`, 100)
  const more = await ask(world, 'new', { name: 'flood' }, '2001:db8:1:ffff::1')
  assert.equal(more.key, 'limit_reached.pairing')
  await strangers(world, 'o', (i) => `203.0.${i}.1`, 100)
  const of_16 = await ask(world, 'new', { name: 'flood' }, '203.0.255.1')
  assert.equal(of_16.key, 'limit_reached.pairing')
  // All places are taken, most of them by one /48 that holds more than it could today.
  await strangers(world, 'p', (i) => `2001:db8:2:${i.toString(16)}::/64`, 799)
  assert.equal((await begin(world, 'late', '192.0.2.1')).code.length, 9)
  const [count] = await world.sql<{ all: bigint; first: bigint }>`
    select count(*) as "all", count(*) filter (where id = ${`p${'0'.repeat(25)}`}) as first
    from pairing`
  assert.deepEqual([count!.all, count!.first], [1000n, 0n])
  assert.equal((await user.call('/v1/pairing/check', { code: honest.code })).code, 0)
})

test('a code that is approved while another is asked for is not pushed out', async (t) => {
  const { world, user } = await setUp(t)
  const begun = await begin(world, 'mine', '198.51.100.1')
  // All places are taken, and of the network that has most of them this one is the oldest.
  await world.sql`update pairing set network = '203.0.0.1'`
  await strangers(world, 'zo', (i) => `203.0.${i % 256}.${Math.floor(i / 256)}`, 900)
  await strangers(world, 'zp', (i) => `2001:db8:${i.toString(16)}::/64`, 99)
  let asked: Promise<Reply> | undefined
  await world.sql.begin(async (tx) => {
    await tx`select 1 from pairing where name = 'mine' for no key update`
    asked = ask(world, 'new', { name: 'late' }, '192.0.2.1')
    await eventually('the other waits', async () => {
      const [waits] = await world.sql`
        select 1 from pg_stat_activity
        where wait_event_type = 'Lock' and query like '%delete from pairing%'`
      return waits
    })
    await tx`
      update pairing set approved_at = ${world.now}, customer_id = k.customer_id, key_id = k.id,
        sealed_key = 'sealed'
      from api_key as k where pairing.name = 'mine' and k.id = ${user.user_id}`
  })
  assert.equal((await asked)?.code, 0)
  const [kept] = await world.sql`select 1 from pairing where name = 'mine'`
  assert.ok(kept, begun.code)
})

/** Codes that wait, each of another network. */
async function strangers(
  { sql, now }: World,
  word: string,
  networkAt: (i: number) => string,
  count: number,
): Promise<void> {
  const networks = Array.from({ length: count }, (_, i) => networkAt(i))
  const ends_at = new Date(now.getTime() + 500_000)
  await sql`
    insert into pairing (id, code_hash, poll_hash, name, ip, network, made_at, ends_at)
    select rpad(${word}, 22, '0') || lpad((n - 1)::text, 4, '0'),
      encode(sha256(convert_to(network, 'utf8')), 'hex'),
      encode(sha256(convert_to('poll' || network, 'utf8')), 'hex'), 'flood', '192.0.2.9', network,
      ${now}, ${ends_at}
    from unnest(${networks}::text[]) with ordinality as given (network, n)`
}

test('the name of a program steers no terminal and hides nothing', async (t) => {
  const world = await makeWorld(t)
  const names = ['\x1b[31mred', 'a\u202eb', 'a\nb', '', 'x'.repeat(101), 7, '\u0000']
  for (const name of names)
    assert.match(
      String((await ask(world, 'new', { name })).key),
      /^invalid_service_or_params(\.name)?$/,
      JSON.stringify(name),
    )
  for (const poll_secret of ['', 'psp_', 'x'.repeat(101), null]) {
    const { code } = await ask(world, 'take', { poll_secret })
    assert.ok(code === 2 || code === 70, String(code))
  }
  assert.equal((await ask(world, 'new', { name: 'a', scopes: ['all'] })).code, 2)
})

test('who tries codes keeps no colleague from refusing one', async (t) => {
  const { world, user, customer } = await setUp(t)
  const thief = await signedIn(world, { customer_id: customer.id })
  const waits = await begin(world)
  const guess = { code: 'BBBB-BBBB' }
  for (const path of ['check', 'refuse'])
    for (let i = 0; i < 21; i++) await thief.call(`/v1/pairing/${path}`, guess)
  for (const path of ['check', 'refuse'])
    assert.equal((await thief.call(`/v1/pairing/${path}`, guess)).status, 429, path)
  const { code } = waits
  assert.equal((await user.call('/v1/pairing/check', { code })).status, 429)
  await user.ask('/v1/pairing/refuse', { code })
})
