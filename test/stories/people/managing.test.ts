// What a customer does with its own users and their sessions, by an owner who is signed in or by a
// key: who may, what becomes of it, and what nobody gets by it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  codeAt,
  joinedByPasskey,
  joinedByPassword,
  linkFor,
  PASSWORD,
  signedIn,
} from '../../harness/users.ts'
import { Visitor } from '../../harness/visitor.ts'
import { Customer, makeWorld, type World } from '../../harness/world.ts'

type User = { id: string; name: string; role: string; daily_cap: number | null }
type Invitation = { user: User; link: string; link_ends_at: string }
type Session = { id: string; user: { id: string }; current: boolean; ip: string; browser: string }

const NOBODY = '01jq7h6bvf6p5t1amnz6y3n8c4'
const tokenOf = ({ link }: Invitation) => link.split('#')[1]!

const sessionsOf = async (visitor: Visitor) =>
  (await visitor.ask('/v1/sessions/list')).items as Session[]

/** What a new link leads to: a browser that has joined with another password. */
async function joinBy(world: World, invited: Invitation, sign_in_name: string) {
  const visitor = new Visitor(world.api)
  const token = tokenOf(invited)
  const { totp } = await visitor.ask('/session/join', { token })
  const { secret, offer } = totp as { secret: string; offer: string }
  const choice = { token, sign_in_name, password: PASSWORD, code: codeAt(secret, world.now), offer }
  await visitor.ask('/session/join', choice)
  return { visitor, secret }
}

test('an owner lets somebody in, changes role and cap, and takes the person out', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer({ trx: 100 })
  const owner = await signedIn(world, { customer_id })
  const wanted = { name: 'Bert', role: 'developer', daily_cap: 20 }
  const invited = (await owner.ask('/v1/user/invite', wanted)) as Invitation
  assert.match(invited.link, /^https:\/\/api\.example\.com\/portal\/join#[\w-]{43}$/)
  assert.equal(Date.parse(invited.link_ends_at) - world.now.getTime(), 72 * 3_600_000)
  const { id } = invited.user
  const { visitor: bert } = await joinBy(world, invited, 'bert')
  const used = await new Visitor(world.api).call('/session/join', { token: tokenOf(invited) })
  assert.equal(used.key, 'auth.link')
  const { items } = await owner.ask('/v1/users/list')
  const [listed] = items as (User & { sign_in_name: string })[]
  assert.deepEqual([listed!.id, listed!.sign_in_name, listed!.daily_cap], [id, 'bert', 20])
  assert.ok(!JSON.stringify(items).includes(tokenOf(invited)))
  const changed = await owner.ask('/v1/user/change', { id, name: 'Berta', daily_cap: 'none' })
  assert.deepEqual([changed.name, changed.daily_cap, changed.role], ['Berta', null, 'developer'])
  assert.equal((await bert.call('/v1/keys/list')).code, 0)
  await owner.ask('/v1/user/change', { id, role: 'finance' })
  world.wait(2)
  assert.equal((await bert.call('/v1/keys/list')).key, 'auth.session')
  const { made, ...removed } = await owner.ask('/v1/user/remove', { id })
  assert.deepEqual(made, { keys: [], users: [], webhooks: [] })
  assert.ok(removed.ended_at)
  assert.deepEqual(await owner.ask('/v1/user/check', { id }), removed)
  for (const path of ['change', 'remove', 'recover'])
    assert.equal((await owner.call(`/v1/user/${path}`, { id })).key, 'not_found.user', path)
  await world.drain()
  const events = await world.sql<{ type: string }>`
    select type from event where customer_id = ${customer_id} and subject = ${`user:${id}`}
    order by number`
  assert.deepEqual(
    events.map(({ type }) => type.replace('user.', '')),
    ['invited', 'joined', 'changed', 'changed', 'removed'],
  )
})

test('a recovery ends at once all that signed in before', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const owner = await joinedByPassword(world, { customer_id }, 'olga')
  const finance = { customer_id, role: 'finance' }
  const paul = await joinedByPassword(world, finance, 'paul')
  const kim = await joinedByPasskey(world, finance, 'kim')
  for (const { user_id: id, visitor } of [paul, kim]) {
    assert.equal((await visitor.call('/v1/balance')).code, 0)
    const recovered = (await owner.visitor.ask('/v1/user/recover', { id })) as Invitation
    world.wait(2)
    assert.equal((await visitor.call('/v1/balance')).key, 'auth.session')
    const [left] = await world.sql`
      select 1 from passkey where user_id = ${id}
      union all select 1 from user_password where user_id = ${id}
      union all select 1 from recovery_code where user_id = ${id}`
    assert.equal(left, undefined)
    // Only the newest link works.
    const again = (await owner.visitor.ask('/v1/user/recover', { id })) as Invitation
    const old = await new Visitor(world.api).call('/session/join', { token: tokenOf(recovered) })
    assert.equal(old.key, 'auth.link')
    await joinBy(world, again, `new.${id.slice(-6)}`)
  }
  world.wait(60)
  const anew = new Visitor(world.api)
  const typed = { sign_in_name: 'paul', password: PASSWORD, code: codeAt(paul.secret, world.now) }
  assert.equal((await anew.call('/session/password', typed)).key, 'auth.sign_in')
  const code = paul.recovery_codes[0]
  const on_paper = await anew.call('/session/recovery', { sign_in_name: 'paul', code })
  assert.equal(on_paper.key, 'auth.sign_in')
  // An owner who has joined is the operator's to recover; one who never came is not.
  const second = await joinedByPassword(world, { customer_id }, 'oleg')
  const refused = await owner.visitor.call('/v1/user/recover', { id: second.user_id })
  assert.deepEqual([refused.code, refused.key], [73, 'forbidden.owner'])
  const wanted = { name: 'Otto', role: 'owner' }
  const { user } = (await owner.visitor.ask('/v1/user/invite', wanted)) as Invitation
  await owner.visitor.ask('/v1/user/recover', { id: user.id })
})

test("another customer's user and session answer as if there were none", async (t) => {
  const world = await makeWorld(t)
  const [anna, bert] = [await world.customer(), await world.customer()]
  const owner = await signedIn(world, { customer_id: anna.id })
  const foreign = await signedIn(world, { customer_id: bert.id })
  const of_house = await signedInHouse(world)
  const [session] = await sessionsOf(foreign)
  const without_id = ({ code, key, error, result }: Awaited<ReturnType<Visitor['call']>>) => ({
    code,
    key,
    error: error?.replace(/"\w{26}"/, '"…"'),
    result,
  })
  const users = [foreign.user_id, of_house.user_id]
  for (const path of ['check', 'change', 'recover', 'remove'])
    for (const id of users) {
      const absent = without_id(await owner.call(`/v1/user/${path}`, { id: NOBODY }))
      assert.equal(absent.code, 70)
      assert.deepEqual(without_id(await owner.call(`/v1/user/${path}`, { id })), absent, path)
    }
  const absent = without_id(await owner.call('/v1/session/end', { id: NOBODY }))
  for (const id of [session!.id, of_house.session_id])
    assert.deepEqual(without_id(await owner.call('/v1/session/end', { id })), absent)
  assert.equal((await foreign.call('/v1/balance')).code, 0)
  const { items } = await owner.ask('/v1/users/list')
  assert.deepEqual(
    (items as User[]).map(({ id }) => id),
    [owner.user_id],
  )
  assert.deepEqual((await owner.ask('/v1/actions/list')).items, [])
})

/** Somebody of the house who is signed in, by rows. */
async function signedInHouse({ sql, now }: World) {
  const [user_id, session_id] = ['01m7xps0ca8ksnnfg71x89vdp6', '01m7xps0ca8ksnnfg71x89vdp7']
  await sql`
    insert into service_user (id, customer_id, name, role, invited_at, invited_by, joined_at)
    values (${user_id}, null, 'Ops', 'admin', ${now}, 'test', ${now})`
  await sql`
    insert into user_session (id, token_hash, user_id, made_at, used_at, ends_at, ip, browser)
    values (${session_id}, ${'0'.repeat(64)}, ${user_id}, ${now}, ${now},
      ${new Date(now.getTime() + 3_600_000)}, '192.0.2.9', 'x')`
  return { user_id, session_id }
}

test('a key manages only users who can do no more than itself', async (t) => {
  const world = await makeWorld(t)
  const all = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'] as const
  const anna = await world.customer({ scopes: [...all] })
  const made = (await anna.get<Invitation>('/v1/user/invite', { name: 'Otto', role: 'owner' })).user
  const keyWith = async (more: object) => {
    const given = { name: 'k', ...more }
    const { token, secret } = await anna.get<{ token: string; secret: string }>(
      '/v1/key/new',
      given,
    )
    const { id, deposit_address } = anna
    return new Customer(world, { id, deposit_address, token, secret })
  }
  const reader = { name: 'Rosa', role: 'reader' }
  const narrow = await keyWith({ scopes: ['read', 'manage'] })
  const rosa = (await narrow.get<Invitation>('/v1/user/invite', reader)).user
  for (const [path, body] of [
    ['invite', { ...reader, role: 'finance' }],
    ['change', { id: rosa.id, role: 'finance' }],
    ['change', { id: made.id, name: 'x' }],
    ['remove', { id: made.id }],
    ['recover', { id: made.id }],
  ] as const) {
    const { code, key } = await narrow.call(`/v1/user/${path}`, body)
    assert.deepEqual([code, key], [73, 'forbidden.wider'], path)
  }
  // A user can come from anywhere, and for ever.
  const from_one = await keyWith({ scopes: [...all], networks: ['127.0.0.1', '::1'] })
  const until = new Date(world.now.getTime() + 3_600_000).toISOString()
  const ending = await keyWith({ scopes: [...all], ends_at: until })
  for (const key of [from_one, ending])
    assert.equal((await key.call('/v1/user/invite', reader)).key, 'forbidden.wider')
  // What a user of a capped key spends counts as the key's.
  const capped = await keyWith({ scopes: [...all], daily_cap: 50 })
  const developer = { name: 'Sam', role: 'developer' }
  const { user: sam } = await capped.get<Invitation>('/v1/user/invite', developer)
  assert.equal(sam.daily_cap, 50)
  const more = await capped.call('/v1/user/change', { id: sam.id, daily_cap: 51 })
  assert.equal(more.key, 'forbidden.wider')
  const [keys] = await world.sql<{ same: boolean }>`
    select u.spends_from = k.id as same from api_key as u, api_key as k
    where u.id = ${sam.id} and k.daily_cap_sun = 50000000 and k.user_id is null`
  assert.equal(keys!.same, true)
  const without = await keyWith({ scopes: ['read', 'buy'] })
  assert.equal((await without.call('/v1/user/invite', reader)).key, 'auth.scope')
})

test('of two owners who take each other out at once, one stays', async (t) => {
  const world = await makeWorld(t)
  for (let round = 0; round < 3; round++) {
    const { id: customer_id } = await world.customer()
    const [a, b] = [await signedIn(world, { customer_id }), await signedIn(world, { customer_id })]
    const verb = ['remove', 'change', 'remove'][round]!
    const body = (id: string) => (verb === 'remove' ? { id } : { id, role: 'reader' })
    const replies = await Promise.all([
      a.call(`/v1/user/${verb}`, body(b.user_id)),
      b.call(`/v1/user/${verb}`, body(a.user_id)),
    ])
    assert.deepEqual(replies.filter(({ code }) => code === 0).length, 1)
    const [left] = await world.sql<{ owners: number }>`
      select count(*)::integer as owners from service_user
      where customer_id = ${customer_id} and role = 'owner' and ended_at is null`
    assert.equal(left!.owners, 1)
  }
  const { id: customer_id } = await world.customer()
  const last = await signedIn(world, { customer_id })
  for (const [verb, more] of [
    ['remove', {}],
    ['change', { role: 'finance' }],
  ] as const) {
    const { code, key } = await last.call(`/v1/user/${verb}`, { id: last.user_id, ...more })
    assert.deepEqual([code, key], [74, 'conflict.last_owner'])
  }
})

test('one who lost the role a moment ago manages nobody any more', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const [a, b] = [await signedIn(world, { customer_id }), await signedIn(world, { customer_id })]
  assert.equal((await b.call('/v1/balance')).code, 0)
  await a.ask('/v1/user/change', { id: b.user_id, role: 'reader' })
  // The session of b is remembered for a second, with the role that it had.
  const { code, key } = await b.call('/v1/user/invite', { name: 'Eve', role: 'reader' })
  assert.deepEqual([code, key], [73, 'forbidden.role'])
})

test('users see and end their own sessions, owners those of all', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const owner = await joinedByPassword(world, { customer_id }, 'olga')
  const reader = await joinedByPassword(world, { customer_id, role: 'reader' }, 'rosa')
  world.wait(60)
  const second = new Visitor(world.api, { ip: '198.51.100.7' })
  const code = codeAt(reader.secret, world.now)
  await second.ask('/session/password', { sign_in_name: 'rosa', password: PASSWORD, code })
  const own = await sessionsOf(reader.visitor)
  assert.deepEqual(
    own.map(({ user, current, ip }) => [user.id, current, ip]),
    [
      [reader.user_id, false, '198.51.100.7'],
      [reader.user_id, true, '192.0.2.1'],
    ],
  )
  const all = await sessionsOf(owner.visitor)
  assert.equal(all.length, 3)
  assert.ok(!/[\w-]{43}/.test(JSON.stringify(all)), 'no token')
  const of_owner = all.find(({ user }) => user.id === owner.user_id)!
  const refused = await reader.visitor.call('/v1/session/end', { id: of_owner.id })
  assert.equal(refused.key, 'not_found.session')
  await reader.visitor.ask('/v1/session/end', { id: own[0]!.id })
  world.wait(2)
  assert.equal((await second.call('/v1/balance')).key, 'auth.session')
  await owner.visitor.ask('/v1/session/end', { id: own[1]!.id })
  assert.equal((await owner.visitor.call('/v1/session/end', { id: own[1]!.id })).code, 70)
  world.wait(2)
  assert.equal((await reader.visitor.call('/v1/balance')).key, 'auth.session')
  assert.deepEqual(
    (await sessionsOf(owner.visitor)).map(({ user }) => user.id),
    [owner.user_id],
  )
  // What rests for too long is over, and is not listed.
  world.wait(12 * 3_600 + 1)
  const later = await signedIn(world, { customer_id })
  assert.equal((await sessionsOf(later)).length, 1)
})

test('a customer has fifty users, and invites two hundred a day', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const owner = await signedIn(world, { customer_id })
  const reader = (i: number) => ({ name: `r${i}`, role: 'reader' })
  let left = 199
  for (let i = 1; i < 50; i++, left--) await owner.ask('/v1/user/invite', reader(i))
  const full = await owner.call('/v1/user/invite', reader(50))
  assert.deepEqual([full.code, full.key], [72, 'limit_reached.user'])
  for (; left > 0; left--) {
    const { items } = await owner.ask('/v1/users/list', { limit: 1 })
    await owner.ask('/v1/user/remove', { id: (items as User[])[0]!.id })
    await owner.ask('/v1/user/invite', reader(left))
  }
  const { items } = await owner.ask('/v1/users/list', { limit: 1 })
  await owner.ask('/v1/user/remove', { id: (items as User[])[0]!.id })
  const { error } = await owner.call('/v1/user/invite', reader(0))
  assert.match(error!, /200 users were invited within a day/)
})

test('a name that is taken is refused before a passkey is made, and the link stays', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const owner = await joinedByPassword(world, { customer_id }, 'olga')
  const wanted = { name: 'Bert', role: 'reader' }
  const invited = (await owner.visitor.ask('/v1/user/invite', wanted)) as Invitation
  const token = tokenOf(invited)
  const visitor = new Visitor(world.api)
  const taken = await visitor.call('/session/join', { token, sign_in_name: 'olga' })
  assert.deepEqual([taken.code, taken.key], [74, 'conflict.sign_in_name'])
  const free = await visitor.ask('/session/join', { token, sign_in_name: 'bert' })
  assert.deepEqual([free.session, free.recovery_codes], [null, null])
  assert.equal(visitor.cookie, undefined)
  await joinBy(world, invited, 'bert')
})

test('a cap holds for keys that were made before it, and for what those have made', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id, deposit_address } = await world.customer({ trx: 1_000 })
  const owner = await signedIn(world, { customer_id })
  const bert = await signedIn(world, { customer_id, role: 'developer' })
  type MadeKey = { token: string; secret: string; key: { id: string } }
  const scopes = ['read', 'buy']
  const made = (await bert.ask('/v1/key/new', {
    name: 'bot',
    scopes,
    require_v2: false,
  })) as MadeKey
  const { token, secret } = made
  const bot = new Customer(world, { id: customer_id, deposit_address, token, secret })
  const below = (await owner.ask('/v1/key/new', { name: 'other', scopes })) as MadeKey
  const { address } = world.person('bob', 1)
  const order = (amount: number) => ({
    service: 'energy',
    params: { address, amount, duration: 1 },
  })
  assert.equal((await bot.call('/v1/transaction/new', order(65_000))).code, 0)
  await owner.ask('/v1/user/change', { id: bert.user_id, daily_cap: 5 })
  world.wait(2)
  const refused = await bot.call('/v1/transaction/new', order(131_000))
  assert.equal(refused.key, 'insufficient_funds.daily_cap')
  const limits = await world.sql<{ id: string; daily_cap_sun: bigint | null; spends_from: string }>`
    select id, daily_cap_sun, spends_from from api_key
    where id in (${made.key.id}, ${below.key.id}) order by id`
  assert.deepEqual(limits, [
    { id: made.key.id, daily_cap_sun: 5_000_000n, spends_from: bert.user_id },
    { id: below.key.id, daily_cap_sun: null, spends_from: null },
  ])
  // A smaller cap makes theirs smaller, too; a larger one leaves them.
  for (const [daily_cap, left] of [
    [3, 3_000_000n],
    [50, 3_000_000n],
  ] as const) {
    await owner.ask('/v1/user/change', { id: bert.user_id, daily_cap })
    const [key] = await world.sql<{ daily_cap_sun: bigint }>`
      select daily_cap_sun from api_key where id = ${made.key.id}`
    assert.equal(key!.daily_cap_sun, left)
  }
  // It holds for whom she had invited, too.
  const invited = (await owner.ask('/v1/user/invite', { name: 'Eve', role: 'developer' })) as {
    user: { id: string }
  }
  await owner.ask('/v1/user/change', { id: owner.user_id, daily_cap: 40 })
  const eve = await world.sql`
    select daily_cap_sun, spends_from from api_key where id = ${invited.user.id}`
  assert.deepEqual(eve, [{ daily_cap_sun: 40_000_000n, spends_from: owner.user_id }])
})

test('a user with receivers buys for these alone, and so do keys and users of hers', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id, deposit_address } = await world.customer({ trx: 1_000 })
  const owner = await signedIn(world, { customer_id })
  const bert = await signedIn(world, { customer_id, role: 'developer' })
  const [mine, other] = [world.person('carl', 1).address, world.person('dora', 1).address]
  const order = (address: string) => ({
    service: 'energy',
    params: { address, amount: 65_000, duration: 1 },
  })
  type MadeKey = { token: string; secret: string; key: { id: string; receivers: string[] | null } }
  const key = { name: 'bot', scopes: ['read', 'buy'] }
  const before = (await bert.ask('/v1/key/new', key)) as MadeKey
  const changed = await owner.ask('/v1/user/change', { id: bert.user_id, receivers: [mine, mine] })
  assert.deepEqual(changed.receivers, [mine], 'each once')
  world.wait(2)
  const { token, secret } = before
  const bot = new Customer(world, { id: customer_id, deposit_address, token, secret })
  for (const asks of [bert, bot]) {
    const refused = await asks.call('/v1/transaction/new', order(other))
    assert.deepEqual([refused.code, refused.key], [73, 'forbidden.receiver'])
    assert.equal((await asks.call('/v1/transaction/new', order(mine))).code, 0)
  }
  type Invitation = { user: { id: string; receivers: string[] | null } }
  const early = (await owner.ask('/v1/user/invite', {
    name: 'Eve',
    role: 'developer',
  })) as Invitation
  assert.equal(early.user.receivers, null)
  const heir = (await bert.ask('/v1/key/new', key)) as MadeKey
  assert.deepEqual(heir.key.receivers, [mine])
  const wide = await bert.call('/v1/key/new', { ...key, receivers: ['any'] })
  assert.equal(wide.key, 'forbidden.wider')
  // The owner, once bound, lets nobody in for others, nor frees herself or anybody.
  await owner.ask('/v1/user/change', { id: owner.user_id, receivers: [mine, other] })
  world.wait(2)
  const eve = await owner.ask('/v1/user/check', { id: early.user.id })
  assert.deepEqual(eve.receivers, [mine, other], 'invited before the owner was bound')
  const reader = { name: 'Rita', role: 'reader' }
  const { user } = (await owner.ask('/v1/user/invite', reader)) as Invitation
  assert.deepEqual(user.receivers, [mine, other], 'as the one who asks')
  for (const [path, body] of [
    ['/v1/user/invite', { ...reader, receivers: ['any'] }],
    ['/v1/user/invite', { ...reader, receivers: [world.person('erna', 1).address] }],
    ['/v1/user/change', { id: owner.user_id, receivers: ['any'] }],
    ['/v1/user/change', { id: bert.user_id, receivers: ['any'] }],
  ] as const)
    assert.equal((await owner.call(path, body)).key, 'forbidden.wider', JSON.stringify(body))
  for (const receivers of [[], ['any', mine], ['T0'], 'any', [mine.toLowerCase()]]) {
    const { code, key } = await owner.call('/v1/user/invite', { ...reader, receivers })
    assert.deepEqual([code, key], [2, 'invalid_service_or_params.receivers'])
  }
})

test('users are listed in pages, each of them once', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const owner = await signedIn(world, { customer_id })
  for (let i = 0; i < 4; i++) await linkFor(world, { customer_id, role: 'reader' })
  const page = async (before?: string) =>
    (await owner.ask('/v1/users/list', { limit: 2, ...(before && { before }) })).items as {
      id: string
    }[]
  const first = await page()
  const second = await page(first[1]!.id)
  const third = await page(second[1]!.id)
  const ids = [...first, ...second, ...third].map(({ id }) => id)
  assert.deepEqual([ids.length, ids], [5, [...new Set(ids)].sort().reverse()])
})
