// Making an account by e-mail: the worth of a letter and for how long, who gets none, and that
// neither a crash nor a stranger makes a second customer, or learns who has one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outage } from 'penstock-service/lib/fault.ts'
import type { Letter } from 'penstock-service/people/sign_up/mailer.ts'
import { Authenticator, type Options } from '../../harness/authenticator.ts'
import { Visitor } from '../../harness/visitor.ts'
import { makeWorld, type World } from '../../harness/world.ts'

type Outcome = 'sent' | 'refused' | Error

/** A post office that takes what it is told to, and all letters where it is told nothing. */
async function setUp(t: Parameters<typeof makeWorld>[0], ...outcomes: Outcome[]) {
  const letters: Letter[] = []
  const mailer = async (letter: Letter) => {
    letters.push(letter)
    const outcome = outcomes.shift() ?? 'sent'
    if (outcome instanceof Error) throw outcome
    return outcome
  }
  const world = await makeWorld(t, { mailer })
  const page = (ip = '192.0.2.1') => new Visitor(world.api, { ip })
  const ask = (email: string, ip?: string) =>
    page(ip).call('/session/sign_up', { email, language: 'en' })
  const open = (token: string, name?: string) =>
    page().call('/session/sign_up/open', { token, ...(name !== undefined && { name }) })
  return { world, letters, page, ask, open }
}

const tokenIn = ({ text }: Letter) =>
  /https:\/\/api\.example\.com\/portal\/sign-up#([\w-]{43})\n/.exec(text)![1]!

const customers = async ({ sql }: World) =>
  (
    await sql<{ name: string }>`select name from customer where id <> 'direct_recharge'
    and id <> 'subscriptions' order by id`
  ).map(({ name }) => name)

/** Drains although a step throws, as it does when a letter cannot be sent. */
const drainAnyhow = (world: World) => world.drain().catch(() => {})

test('who follows the letter has an account, joins it as its owner and can buy', async (t) => {
  const { world, letters, page, ask, open } = await setUp(t)
  const said = await page().call('/session/begin', {})
  assert.equal(said.result.sign_up_possible, true)
  assert.deepEqual([(await ask('Anna@Example.com')).code, letters.length], [0, 0])
  await world.drain()
  assert.deepEqual([letters.length, letters[0]!.to], [1, 'Anna@Example.com'])
  assert.deepEqual(await customers(world), [])
  const token = tokenIn(letters[0]!)
  const email = 'Anna@Example.com'
  assert.deepEqual((await open(token)).result, { state: 'letter', email, name: null })
  const opening = { state: 'opening', email, name: 'Anna & Co' }
  assert.deepEqual((await open(token, ' Anna & Co ')).result, opening)
  // The token lets nobody in before there is an account.
  assert.equal((await page().call('/session/join', { token })).key, 'auth.link')
  await world.drain()
  const opened = { ...opening, state: 'opened' }
  assert.deepEqual((await open(token, 'Another')).result, opened)
  assert.deepEqual((await open(token)).result, opened)
  assert.deepEqual(await customers(world), ['Anna & Co'])
  const visitor = page()
  const { passkey, role } = await visitor.ask('/session/join', { token })
  assert.equal(role, 'owner')
  const made = new Authenticator().create(passkey as Options)
  await visitor.ask('/session/join', { token, sign_in_name: 'anna@example.com', passkey: made })
  const { result } = await visitor.call('/v1/balance')
  assert.equal(result.balance, 0)
  const [row] = await world.sql`
    select count(*)::int as users from service_user where customer_id is not null`
  assert.deepEqual(row, { users: 1 })
  // Used once, it lets nobody else in.
  assert.equal((await page().call('/session/join', { token })).key, 'auth.link')
})

test('many who open a letter at once get one customer and one user', async (t) => {
  const { world, letters, ask, open } = await setUp(t)
  await ask('anna@example.com')
  await world.drain()
  const token = tokenIn(letters[0]!)
  await Promise.all(['One', 'Two', 'Three'].map((name) => open(token, name)))
  await world.drain()
  await Promise.all([open(token), open(token), open(token)])
  const [users] = await world.sql`
    select count(*)::int as users from service_user where customer_id is not null`
  assert.deepEqual([(await customers(world)).length, users], [1, { users: 1 }])
})

test('a letter is worth nothing after a day, and a made-up token never', async (t) => {
  const { world, letters, ask, open } = await setUp(t)
  await ask('anna@example.com')
  await world.drain()
  const token = tokenIn(letters[0]!)
  world.wait(24 * 3_600 - 60)
  assert.equal((await open(token)).code, 0)
  world.wait(61)
  const [late, unknown] = [await open(token, 'Anna'), await open('x'.repeat(43), 'Anna')]
  assert.deepEqual([late.key, unknown.key, late.error], ['auth.link', 'auth.link', unknown.error])
  world.wait(8 * 86_400)
  await world.drain()
  assert.deepEqual(await world.sql`select 1 from sign_up`, [])
})

test('whoever has an account is answered like all others, and told in the letter', async (t) => {
  const { world, letters, ask, open } = await setUp(t)
  const first = await ask('anna@example.com')
  await world.drain()
  await open(tokenIn(letters[0]!), 'Anna')
  await world.drain()
  const again = await ask('ANNA@example.com')
  await world.drain()
  assert.deepEqual([again.code, again.result], [first.code, first.result])
  assert.equal(letters.length, 2)
  assert.match(
    letters[1]!.text,
    /You have one\. Sign in here:\n\nhttps:\/\/api\.example\.com\/portal\n/,
  )
  assert.doesNotMatch(letters[1]!.text, /sign-up#/)
})

test('an e-mail is sent three letters in a day, however often it is typed', async (t) => {
  const { world, letters, ask } = await setUp(t)
  const codes: number[] = []
  for (let i = 0; i < 5; i++)
    codes.push((await ask(i % 2 ? 'anna@example.com' : 'Anna@example.com', `192.0.2.${i}`)).code)
  await world.drain()
  assert.deepEqual([codes, letters.length], [[0, 0, 0, 0, 0], 3])
  world.wait(86_400 + 1)
  await ask('anna@example.com', '192.0.2.9')
  await world.drain()
  assert.equal(letters.length, 4)
})

test('one network asks five times in an hour and no more', async (t) => {
  const { world, ask } = await setUp(t)
  const keys: (string | undefined)[] = []
  for (let i = 0; i < 6; i++) keys.push((await ask(`anna${i}@example.com`)).key)
  assert.deepEqual(
    [keys.slice(0, 5).every((key) => key === undefined), keys[5]],
    [true, 'limit_reached.sign_up'],
  )
  assert.equal((await ask('bert@example.com', '198.51.100.1')).code, 0)
  world.wait(3_601)
  assert.equal((await ask('carl@example.com')).code, 0)
})

test('an e-mail or a name that is none is refused with its field', async (t) => {
  const { world, letters, ask, open } = await setUp(t)
  for (const email of [
    'anna',
    'anna@host',
    'a@b@example.com',
    'anna@example.com\r\nbcc: bert@example.com',
    '"anna"@example.com',
    'anna@example.com,bert@example.com',
    `${'a'.repeat(65)}@example.com`,
  ])
    assert.equal((await ask(email)).key, 'invalid_service_or_params.email', email)
  await ask('anna@example.com')
  await world.drain()
  const token = tokenIn(letters[0]!)
  for (const name of [' ', 'a\u0007b', 'a\u202eb', 'x'.repeat(201)])
    assert.equal((await open(token, name)).key, 'invalid_service_or_params.name', name)
  assert.deepEqual([letters.length, await customers(world)], [1, []])
})

test('a letter that the server does not take goes out later, with the same link', async (t) => {
  const { world, letters, ask, open } = await setUp(t, new Outage('the SMTP server: ECONNECTION'))
  await ask('anna@example.com')
  await drainAnyhow(world)
  const [row] = await world.sql`select state, tries, last_fault from sign_up`
  assert.deepEqual(row, { state: 'asked', tries: 1, last_fault: 'the SMTP server: ECONNECTION' })
  await world.drain()
  assert.equal(letters.length, 1)
  world.wait(31)
  await world.drain()
  assert.equal(letters.length, 2)
  assert.equal(tokenIn(letters[0]!), tokenIn(letters[1]!))
  assert.equal((await open(tokenIn(letters[1]!), 'Anna')).result.state, 'opening')
})

test('a letter that nobody receives is not sent again', async (t) => {
  const { world, letters, ask } = await setUp(t, 'refused')
  await ask('nobody@example.com')
  await world.drain()
  world.wait(3 * 3_600)
  await world.drain()
  const [row] = await world.sql`select state, sealed_token from sign_up`
  assert.deepEqual([letters.length, row], [1, { state: 'refused', sealed_token: null }])
})

test('where the operator does not allow it, nobody signs up', async (t) => {
  const world = await makeWorld(t)
  const page = new Visitor(world.api)
  const { result } = await page.call('/session/begin', {})
  assert.equal(result.sign_up_possible, false)
  const asked = await page.call('/session/sign_up', { email: 'a@example.com', language: 'en' })
  assert.notEqual(asked.code, 0)
  assert.deepEqual(await world.sql`select 1 from sign_up`, [])
})
