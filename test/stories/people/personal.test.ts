// Personal data on request: whoever asks gets a copy of all that is kept, without a secret in it;
// and what names a person goes when that is asked for, from every table but those that the answer
// names.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booksFindings, worldOperator } from '../../harness/operator.ts'
import { joinedByPassword, signedIn } from '../../harness/users.ts'
import { Visitor } from '../../harness/visitor.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

type Copy = {
  of: string
  truncated: string[]
  left_out: string[]
  data: Record<string, Record<string, unknown>[]>
}
type Erasure = Record<string, number> & { stays: { what: string; why: string }[] }

/** Names nobody else has, so that they can be sought in every table. */
const FIRM = 'Wolpertinger GmbH'
const WOMAN = 'Xaverine Yodelmeier'
const SIGN_IN = 'xaverine.y'
const HOOK = 'https://hooks.wolpertinger.example/in?key=1'

/** Where the documented answers say that names stay. */
const STAYS = ['customer_action', 'operator_action', 'event', 'event_note', 'invoice']

/** The tables in which any row has one of these texts. */
async function tablesWith({ sql }: World, texts: readonly string[]): Promise<string[]> {
  const rows = await sql<{ name: string }>`
    select relname as name from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace and query_to_xml(
      format('select t::text from %I as t', relname), false, true, '')::text
      ilike any(${texts.map((text) => `%${text}%`)})
    order by relname`
  return rows.map(({ name }) => name)
}

async function firm(world: World): Promise<{ firm: Customer; user_id: string }> {
  const firm = await world.customer({ trx: 100, scopes: ['read', 'buy', 'manage', 'webhooks'] })
  await world.sql`update customer set name = ${FIRM} where id = ${firm.id}`
  const { visitor, user_id } = await joinedByPassword(world, { customer_id: firm.id }, SIGN_IN)
  await visitor.ask('/v1/user/change', { id: user_id, name: WOMAN })
  await firm.get('/v1/webhook/new', { url: HOOK, description: WOMAN })
  await visitor.ask('/v1/key/new', { name: `bot of ${WOMAN}`, scopes: ['read'] })
  await visitor.ask('/v1/settings/change', { billing: [FIRM, 'Way 1'] })
  // A try with another password: of whom it is, the name alone says.
  const typed = { sign_in_name: SIGN_IN, password: 'another one', code: '000000' }
  const { key } = await new Visitor(world.api, { ip: '192.0.2.77' }).call(
    '/session/password',
    typed,
  )
  assert.equal(key, 'auth.sign_in')
  return { firm, user_id }
}

test('whoever asks gets all that is kept, and no secret with it', async (t) => {
  const world = await makeWorld(t)
  const { firm: customer, user_id } = await firm(world)
  const at = await worldOperator(world)
  await at.json('customers', 'note', customer.id, `${WOMAN} prefers to be called`)
  const copy = await at.json<Copy>('customers', 'export', customer.id)
  assert.equal(copy.data.notes![0]!.text, `${WOMAN} prefers to be called`)
  assert.equal(copy.of, `customer:${customer.id}`)
  assert.deepEqual(copy.truncated, [])
  assert.equal(copy.data.customer![0]!.name, FIRM)
  assert.equal(copy.data.users![0]!.sign_in_name, SIGN_IN)
  assert.equal(copy.data.webhooks![0]!.url, HOOK)
  assert.ok(copy.data.sessions!.length > 0 && copy.data.deposits!.length > 0)
  const text = JSON.stringify(copy)
  const secrets = await world.sql<{ secret: string }>`
    select token_hash as secret from api_key where token_hash is not null
    union all select sealed_secret from api_key where sealed_secret is not null
    union all select hash from user_password union all select sealed_totp from user_password
    union all select token_hash from user_session union all select mark from user_session
    union all select sealed_secret from webhook_secret`
  assert.ok(secrets.length > 5)
  for (const { secret } of secrets) assert.ok(!text.includes(secret))
  assert.ok(!text.includes(customer.token) && !text.includes(customer.secret))
  const other = await world.customer({ trx: 1 })
  const empty = await at.json<Copy>('customers', 'export', other.id)
  assert.ok(!JSON.stringify(empty).includes(customer.id), 'of nobody else')
  const of_user = await at.json<Copy>('users', 'export', user_id)
  assert.equal(of_user.data.user![0]!.name, WOMAN)
  const outcomes = of_user.data.sign_ins!.map(({ outcome }) => outcome)
  assert.ok(outcomes.includes('done') && outcomes.includes('failed'))
  assert.deepEqual(copy.data.settings![0]!.billing, [FIRM, 'Way 1'])
  // Every table with rows of a customer is in the copy, or is known to be left out.
  const tables = await world.sql<{ name: string }>`
    select distinct c.relname as name
    from pg_attribute as a join pg_class as c on c.oid = a.attrelid
    where a.attname = 'customer_id' and c.relkind = 'r'
      and c.relnamespace = 'public'::regnamespace order by 1`
  assert.deepEqual(
    tables.map(({ name }) => name).filter((name) => !IN_THE_COPY.includes(name)),
    LEFT_OUT,
    'a new table with rows of customers: is it part of what they may ask for?',
  )
})

const IN_THE_COPY = (
  'aml_check aml_watch api_key correction customer_action customer_note customer_setting deposit ' +
  'event invoice orders pairing refusal service_user sign_up subscription webhook'
).split(' ')
/** Cases and the house's own entries; counts; and what becomes one of the others, or is over in a
 *  minute. */
const LEFT_OUT = (
  'aml_case aml_case_alert aml_count aml_count_delta aml_entry aml_review correction_proposal ' +
  'deposit_resolution event_counter event_note invoice_progress quote refusal_day summary ' +
  'webhook_network'
).split(' ')

test('what names a person goes when it is asked for, but where the answer says', async (t) => {
  const world = await makeWorld(t)
  const { firm: customer, user_id } = await firm(world)
  const at = await worldOperator(world)
  const names = [FIRM, WOMAN, SIGN_IN, 'wolpertinger', '192.0.2.77']
  await world.sql`
    update user_session set ip = '192.0.2.77', browser = ${`Browser of ${WOMAN}`}
    where user_id = ${user_id}`
  await at.json('customers', 'note', customer.id, `${WOMAN} prefers to be called`)
  const refused = async (...words: string[]) => {
    const { code, err } = await at.type(...words)
    assert.notEqual(code, 0)
    return err
  }
  assert.match(await refused('users', 'erase', user_id), /Remove that user first/)
  assert.match(await refused('customers', 'erase', customer.id), /Close it first/)
  assert.match(await refused('customers', 'erase', 'nobody'), /There is no customer nobody/)
  assert.match(await refused('users', 'erase', 'nobody'), /There is no user nobody/)
  await at.json('customers', 'close', customer.id)
  assert.match(await refused('customers', 'erase', customer.id), /It has money with us/)
  const all = await at.json<{ id: string; spendable_sun: number }[]>('customers', 'list')
  const { spendable_sun } = all.find(({ id }) => id === customer.id)!
  await at.json(
    'customers',
    'debit',
    customer.id,
    String(spendable_sun / 1e6),
    '--reason',
    'paid out',
  )
  const erased = await at.json<Erasure>('customers', 'erase', customer.id)
  const { users, keys, webhooks, notes } = erased
  assert.deepEqual([users, keys, webhooks, notes], [1, 2, 1, 1])
  assert.ok(erased.sessions! > 0 && erased.sign_ins! > 0 && erased.stays.length > 3)
  const left = await tablesWith(world, names)
  assert.deepEqual(
    left.filter((table) => !STAYS.includes(table)),
    [],
  )
  const again = await at.json<Erasure>('customers', 'erase', customer.id)
  assert.deepEqual([again.keys, again.webhooks, again.sign_ins], [0, 0, 0], 'again: nothing')
  // The name one signs in with is free for somebody else, and what is left holds.
  const other = await world.customer()
  await joinedByPassword(world, { customer_id: other.id }, SIGN_IN)
  assert.deepEqual(await booksFindings(at), [])
})

test('who is to get an invoice is erased after it, and that has its name', async (t) => {
  const world = await makeWorld(t)
  const { firm: customer } = await firm(world)
  const at = await worldOperator(world)
  await customer.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await at.json('customers', 'close', customer.id)
  await at.json('customers', 'debit', customer.id, '97.07', '--reason', 'paid out')
  const { code, err } = await at.type('customers', 'erase', customer.id)
  assert.notEqual(code, 0)
  assert.match(err, /The invoice of 2026-05 is not issued yet, and would have no name/)
  await world.advance(35 * 86_400)
  await world.drain()
  await at.json('customers', 'erase', customer.id)
  const invoices = await world.sql<{ document: string }>`
    select document from invoice where customer_id = ${customer.id}`
  assert.deepEqual(
    invoices.map(({ document }) => JSON.parse(document).customer.name),
    [FIRM],
  )
})

test('who would rather not wait for the invoice gets one without a name', async (t) => {
  const world = await makeWorld(t)
  const { firm: customer } = await firm(world)
  const at = await worldOperator(world)
  await customer.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await at.json('customers', 'close', customer.id)
  await at.json('customers', 'debit', customer.id, '97.07', '--reason', 'paid out')
  await at.json('customers', 'erase', customer.id, '--nameless-invoice')
  await world.advance(35 * 86_400)
  await world.drain()
  const invoices = await world.sql<{ document: string }>`
    select document from invoice where customer_id = ${customer.id}`
  assert.deepEqual(
    invoices.map(({ document }) => JSON.parse(document).customer),
    [{ id: customer.id, name: 'erased', billing: [] }],
  )
})

test('a user who was removed is erased alone', async (t) => {
  const world = await makeWorld(t)
  const { firm: customer, user_id } = await firm(world)
  const at = await worldOperator(world)
  const owner = await signedIn(world, { customer_id: customer.id })
  await at.json('users', 'remove', user_id)
  const erased = await at.json<Erasure>('users', 'erase', user_id)
  assert.equal(erased.users, 1)
  assert.equal((await at.json<Copy>('users', 'export', user_id)).data.user![0]!.name, 'erased')
  const { items } = await owner.ask('/v1/users/list')
  const names = (items as { id: string; name: string }[]).map(({ id, name }) => [id, name])
  assert.ok(names.some(([id, name]) => id === user_id && name === 'erased'))
  assert.ok((await owner.ask('/v1/balance')).balance !== undefined, 'the others go on')
})
