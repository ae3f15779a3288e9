import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { systemClock } from '../../lib/clock.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { createCustomer } from '../customers/customers.ts'
import { depositAddresses } from '../customers/deposit_addresses.ts'
import { readLimits } from './forms.ts'
import { issueKey, lockKey, lockKeys } from './keys.ts'
import { findMade, printMade } from './made.ts'

const at = new Date('2026-10-08T15:26:32Z')
const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/195'/0'")
const needs = {
  clock: systemClock,
  random: systemRandom,
  new_id: idMaker(systemClock, systemRandom),
  seal: sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom),
  deposit_address: depositAddresses(account.publicExtendedKey),
}

/** Two customers, and keys of theirs by name. */
async function withKeys(t: TestContext) {
  const { sql } = await freshDatabase(t)
  const customer = async () =>
    (await sql.begin((tx) => createCustomer(tx, needs, { name: 'Somebody' }))).id
  const [anna, bert] = [await customer(), await customer()]
  const key = async (name: string, customer_id = anna) =>
    (await sql.begin((tx) => issueKey(tx, needs, { customer_id, name }))).key_id
  const namesOf = async (id: string, except?: string) => {
    const found = await findMade(sql, { customer_id: anna, id, ...(except && { except }) })
    return found.map(({ kind, name }) => `${kind} ${name}`).sort()
  }
  return { sql, anna, bert, key, namesOf }
}

test('a key has made what it has made, what was shown to it, and what those made', async (t) => {
  const { sql, anna, bert, key, namesOf } = await withKeys(t)
  const [root, child, shown, grandchild] = [
    await key('root'),
    await key('child'),
    await key('shown'),
    await key('grandchild'),
  ]
  const [gone, other, foreign] = [await key('gone'), await key('other'), await key('far', bert)]
  const makes = (maker: string, id: string) => sql`
    update api_key set made_by_key = ${maker} where id = ${id}`
  for (const id of [child, gone, foreign]) await makes(root, id)
  await makes(child, grandchild)
  await sql`update api_key set secret_by_key = ${root} where id = ${shown}`
  await sql`update api_key set revoked_at = ${at} where id = ${gone}`
  await sql`
    insert into webhook (id, customer_id, url, scopes, position, made_at, made_by_key)
    values ('hook', ${anna}, 'https://shop.example/in', '{read}', 0, ${at}, ${shown})`
  const all = ['key child', 'key grandchild', 'key shown', 'webhook shop.example']
  assert.deepEqual(await namesOf(root), all)
  assert.deepEqual(await namesOf(child), ['key grandchild'])
  assert.deepEqual(await namesOf(other), [])
  // Who asks is not listed, nor what only it has made.
  assert.deepEqual(await namesOf(root, child), ['key shown', 'webhook shop.example'])
  await sql`update webhook set state = 'removed' where id = 'hook'`
  assert.deepEqual(await namesOf(root), all.slice(0, 3))
  // One who was shown a link that was followed.
  const inviting = async (id: string, used_at: Date | null) => {
    await sql`
      insert into service_user (id, customer_id, name, role, invited_at, invited_by)
      values (${id}, ${anna}, ${id}, 'reader', ${at}, 'olga')`
    await sql`
      insert into user_link (token_hash, user_id, purpose, made_at, ends_at, used_at, made_by_key)
      values (${id.padEnd(64, '0')}, ${id}, 'join', ${at}, ${at}, ${used_at}, ${child})`
  }
  await inviting('f00d', at)
  await inviting('beef', null)
  assert.deepEqual(await namesOf(child), ['key grandchild', 'user f00d'])
})

test('keys are locked and read that are asked for, and no others', async (t) => {
  const { sql, bert, key } = await withKeys(t)
  const [one, two, other] = [await key('one'), await key('two'), await key('other', bert)]
  await sql.begin(async (tx) => {
    assert.deepEqual([...(await lockKeys(tx, [two, one])).keys()], [one, two].sort())
    assert.deepEqual([...(await lockKeys(tx, [])).keys()], [])
    assert.equal((await lockKey(tx, other))?.name, 'other')
    assert.equal(await lockKey(tx, 'none'), undefined)
    // Others can still be locked by somebody else.
    await sql.begin(async (elsewhere) => {
      await elsewhere`set local lock_timeout = '1s'`
      await elsewhere`select 1 from api_key where id = ${await key('free')} for update`
    })
  })
})

test('limits are read as they were asked for: each scope once, any network alone', () => {
  const read = (values: Parameters<typeof readLimits>[0]) => readLimits(values, at)
  assert.deepEqual(read({ scopes: ['read', 'buy', 'read'] }).scopes, ['read', 'buy'])
  const networks = (...given: string[]) => read({ networks: given }).allowed_networks
  assert.equal(networks('any'), null)
  assert.deepEqual(networks('10.0.0.0/8', '192.0.2.7'), ['10.0.0.0/8', '192.0.2.7'])
  for (const wrong of [
    ['any', '10.0.0.0/8'],
    ['any', 'any'],
    ['10.0.0.0/8', 'any'],
  ])
    assert.throws(() => networks(...wrong), /Not an address or network/, wrong.join())
  assert.equal(read({ daily_cap: 'none' }).daily_cap_sun, null)
  const nothing = read({})
  assert.deepEqual(
    [nothing.scopes, nothing.allowed_networks, nothing.receivers, nothing.daily_cap_sun],
    [undefined, undefined, undefined, undefined],
  )
  assert.deepEqual([nothing.expires_at, nothing.require_v2], [undefined, undefined])
})

test('what is listed as made is of the one customer, of use, and not what made it', async (t) => {
  const { sql, anna, bert, key, namesOf } = await withKeys(t)
  const root = await key('root')
  const [child, grandchild, far] = [await key('child'), await key('grand'), await key('far', bert)]
  await sql`update api_key set secret_by_key = ${root} where id = ${far}`
  await sql`update api_key set made_by_key = ${root} where id = ${child}`
  await sql`update api_key set made_by_key = ${child} where id = ${grandchild}`
  await sql`update api_key set made_by_key = ${grandchild} where id = ${root}`
  const user = async (
    id: string,
    { customer_id = anna, invited_by = 'olga', ended_at = null as Date | null } = {},
  ) => {
    await sql`
      insert into service_user (id, customer_id, name, role, invited_at, invited_by, ended_at)
      values (${id}, ${customer_id}, ${id}, 'reader', ${at}, ${invited_by}, ${ended_at})`
    await sql`
      insert into api_key (id, user_id, customer_id, name, secret_made_at, require_v2, created_at,
        made_by_key, secret_by_key, revoked_at)
      values (${id}, ${id}, ${customer_id}, ${`key of ${id}`}, ${at}, false, ${at}, ${root},
        ${root}, ${id === 'bare' ? at : null})`
  }
  await user('invited', { invited_by: child })
  await user('bare', { invited_by: root })
  await user('ended', { invited_by: root, ended_at: at })
  await user('away', { invited_by: root, customer_id: bert })
  await user('shown', { customer_id: bert })
  await user('other')
  await sql`
    insert into user_link (token_hash, user_id, purpose, made_at, ends_at, used_at, made_by_key)
    values (${'f'.repeat(64)}, 'shown', 'join', ${at}, ${at}, ${at}, ${root})`
  for (const [id, customer_id, made_by] of [
    ['hook', anna, root],
    ['hook of none', anna, null],
    ['hook away', bert, root],
  ] as const)
    await sql`
      insert into webhook (id, customer_id, url, scopes, position, made_at, made_by_key)
      values (${id}, ${customer_id}, ${`https://${id.replaceAll(' ', '-')}.example/in`}, '{read}',
        0, ${at}, ${made_by})`
  const all = ['key child', 'key grand', 'user bare', 'user invited', 'webhook hook.example']
  assert.deepEqual(await namesOf(root), all)
  assert.deepEqual(
    await namesOf(root, grandchild),
    all.filter((one) => one !== 'key grand'),
  )
})

test('what was made is printed by its kind, with what this call has ended', () => {
  const made = (kind: 'key' | 'user' | 'webhook', id: string) => ({
    kind,
    id,
    name: id,
    made_by: 'root',
  })
  const print = (id: string, ended: boolean) => ({ id, name: id, made_by: 'root', ended })
  const things = [made('key', 'a'), made('user', 'b'), made('webhook', 'c'), made('key', 'd')]
  assert.deepEqual(printMade(things, new Set(['b', 'd'])), {
    keys: [print('a', false), print('d', true)],
    users: [print('b', true)],
    webhooks: [print('c', false)],
  })
})
