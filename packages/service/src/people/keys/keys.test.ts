import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { systemClock } from '../../lib/clock.ts'
import { Fault } from '../../lib/fault.ts'
import { firstIdAt, idMaker, systemRandom } from '../../lib/ids.ts'
import { brokenConstraint, type Sql } from '../../platform/database/sql.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { createCustomer } from '../customers/customers.ts'
import { depositAddresses } from '../customers/deposit_addresses.ts'
import { reportKeys } from './forms.ts'
import {
  changeKey,
  countKeys,
  countKeysSince,
  issueKey,
  isToken,
  keysOfTokens,
  listKeys,
  lockKey,
  type NewKey,
  resealSecrets,
  revokeKey,
  sealContext,
  tokenHash,
} from './keys.ts'

const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/195'/0'")
const keys = { a: new Uint8Array(32).fill(1), b: new Uint8Array(32).fill(2) }
const seal = sealWith({ current: 'a', keys: { a: keys.a } }, systemRandom)
const needs = {
  clock: systemClock,
  random: systemRandom,
  new_id: idMaker(systemClock, systemRandom),
  seal,
  deposit_address: depositAddresses(account.publicExtendedKey),
}

async function customer(sql: Sql): Promise<string> {
  return (await sql.begin((tx) => createCustomer(tx, needs, { name: 'Somebody' }))).id
}
const issue = (sql: Sql, wanted: NewKey) => sql.begin((tx) => issueKey(tx, needs, wanted))

test('token and secret are 32 random bytes with prefixes that can be recognised', async (t) => {
  const { sql } = await freshDatabase(t)
  const { token, secret } = await issue(sql, { customer_id: await customer(sql), name: 'web' })
  assert.match(token, /^pst_[\w-]{43}$/)
  assert.match(secret, /^pss_[\w-]{43}$/)
  assert.equal(Buffer.from(token.slice(4), 'base64url').length, 32)
  assert.ok(isToken(token))
  for (const text of [undefined, '', secret, token.slice(1), `${token}x`, `${token}\n`])
    assert.ok(!isToken(text))
})

test('the table holds neither token nor secret in the clear', async (t) => {
  const { sql } = await freshDatabase(t)
  const { key_id, token, secret } = await issue(sql, {
    customer_id: await customer(sql),
    name: 'web',
  })
  const [row] = await sql<{ text: string }>`select api_key::text as text from api_key`
  assert.ok(!row!.text.includes(token.slice(4)))
  assert.ok(!row!.text.includes(secret.slice(4)))
  const [key] = await keysOfTokens(sql, [tokenHash(token)])
  assert.equal(seal.open(key!.sealed_secret, sealContext(key_id)), secret)
})

test('a key is listed with its limits and without anything secret', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  const limits = {
    name: 'web',
    scopes: ['read', 'buy'] as const,
    allowed_networks: ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7'],
    receivers: ['TJRabPrwbZy45sbavfcjinPJC18kjpRTv8'],
    daily_cap_sun: 5_000_000n,
    require_v2: true,
    require_external_id: true,
    expires_at: new Date('2099-01-01T00:00:00Z'),
  }
  const { key_id } = await issue(sql, { customer_id, ...limits })
  await issue(sql, { customer_id, name: 'plain' })
  const [limited, plain] = await listKeys(sql, customer_id)
  const { created_at, ...rest } = limited!
  assert.ok(created_at instanceof Date)
  assert.deepEqual(rest, {
    id: key_id,
    customer_id,
    revoked_at: null,
    made_by_key: null,
    spends_from: null,
    secret_made_at: created_at,
    old_secret_made_at: null,
    old_secret_until: null,
    last_used_at: null,
    user_id: null,
    ...limits,
  })
  const { scopes, allowed_networks, daily_cap_sun, require_v2 } = plain!
  assert.deepEqual([scopes, allowed_networks, daily_cap_sun, require_v2], [null, null, null, false])
})

test('a revoked key is listed and no longer found by token; others are untouched', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  const gone = await issue(sql, { customer_id, name: 'gone' })
  const kept = await issue(sql, { customer_id, name: 'kept' })
  const at = new Date()
  assert.ok(await sql.begin((tx) => revokeKey(tx, { customer_id, key_id: gone.key_id, at })))
  assert.ok(
    !(await sql.begin((tx) =>
      revokeKey(tx, { customer_id, key_id: gone.key_id, at: new Date(0) }),
    )),
  )
  const found = await keysOfTokens(
    sql,
    [gone, kept].map(({ token }) => tokenHash(token)),
  )
  assert.deepEqual(
    found.map(({ id }) => id),
    [kept.key_id],
  )
  assert.deepEqual(
    (await listKeys(sql, customer_id)).map(({ revoked_at }) => revoked_at),
    [at, null],
  )
})

test('nobody revokes the key of another customer', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  const { key_id } = await issue(sql, { customer_id, name: 'web' })
  const of_another = { customer_id: await customer(sql), key_id, at: new Date() }
  assert.ok(!(await sql.begin((tx) => revokeKey(tx, of_another))))
  assert.equal((await listKeys(sql, customer_id))[0]!.revoked_at, null)
})

test('limits that mean nothing are refused', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  for (const network of [
    '',
    'example.com',
    '203.0.113.0/33',
    '203.0.113.0/',
    '203.0.113/24',
    '::/129',
    '1.2.3.4/8/8',
    '1.2.3.4/-1',
  ])
    await assert.rejects(issue(sql, { customer_id, name: 'x', allowed_networks: [network] }), Fault)
  const breaks = async (wanted: Partial<NewKey>, constraint: string) =>
    assert.rejects(
      issue(sql, { customer_id, name: 'x', ...wanted }),
      (thrown) => brokenConstraint(thrown) === constraint,
    )
  await breaks({ scopes: [] }, 'api_key_scopes_known')
  await breaks({ scopes: ['root' as 'read'] }, 'api_key_scopes_known')
  await breaks({ allowed_networks: [] }, 'api_key_allowed_networks_not_empty')
  await breaks({ daily_cap_sun: -1n }, 'api_key_daily_cap_not_negative')
  await breaks({ customer_id: 'nobody' }, 'api_key_of_customer')
  await breaks({ name: '' }, 'api_key_name_length')
  assert.deepEqual(await listKeys(sql, customer_id), [])
})

test('after secrets were sealed again the old sealing key is not needed', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  const issued = [
    await issue(sql, { customer_id, name: 'one' }),
    await issue(sql, { customer_id, name: 'two' }),
  ]
  const both = sealWith({ current: 'b', keys }, systemRandom)
  assert.equal(await sql.begin((tx) => resealSecrets(tx, both)), 2)
  assert.equal(await sql.begin((tx) => resealSecrets(tx, both)), 0)
  const only_new = sealWith({ current: 'b', keys: { b: keys.b } }, systemRandom)
  for (const { key_id, token, secret } of issued) {
    const [key] = await keysOfTokens(sql, [tokenHash(token)])
    assert.equal(only_new.open(key!.sealed_secret, sealContext(key_id)), secret)
  }
})

test('a sealed secret that was moved to another key does not open', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  const [one, two] = [
    await issue(sql, { customer_id, name: 'one' }),
    await issue(sql, { customer_id, name: 'two' }),
  ]
  await sql`
    update api_key set sealed_secret = (select sealed_secret from api_key where id = ${one.key_id})
      where id = ${two.key_id}`
  const [key] = await keysOfTokens(sql, [tokenHash(two.token)])
  assert.throws(() => seal.open(key!.sealed_secret, sealContext(two.key_id)))
})

const made_at = new Date('2026-10-08T15:26:32Z')

type Row = {
  id: string
  made_by?: string
  cap?: bigint
  spends_from?: string
  revoked?: boolean
  expires_at?: Date
}

async function insertKeys(sql: Sql, customer_id: string, rows: readonly Row[]): Promise<void> {
  for (const one of rows)
    await sql`
      insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at,
        require_v2, created_at, made_by_key, daily_cap_sun, spends_from, spending_counted_from,
        revoked_at, expires_at)
      values (${one.id}, ${customer_id}, ${one.id}, ${tokenHash(one.id)}, '', ${made_at},
        false, ${made_at}, ${one.made_by ?? null}, ${one.cap ?? null}, ${one.spends_from ?? null},
        ${one.cap === undefined ? null : '2026-01-01'}, ${one.revoked ? made_at : null},
        ${one.expires_at ?? null})`
}

test('a cap that is put on a key is on all that it has made, and on no other', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  await insertKeys(sql, customer_id, [
    { id: 'root' },
    { id: 'made', made_by: 'root' },
    { id: 'made lower', made_by: 'root', cap: 50n, spends_from: 'root' },
    { id: 'made higher', made_by: 'root', cap: 500n },
    { id: 'made by made', made_by: 'made' },
    { id: 'made, revoked', made_by: 'root', revoked: true },
    { id: 'made by revoked', made_by: 'made, revoked' },
    { id: 'other' },
    { id: 'made by other', made_by: 'other' },
  ])
  await sql.begin(async (tx) => {
    const key = (await lockKey(tx, 'root'))!
    await changeKey(tx, key, { daily_cap_sun: 100n, at: made_at })
  })
  const rows = await sql<{ id: string; text: string }>`
    select id, concat_ws(' ', daily_cap_sun, spends_from, spending_counted_from) as text
    from api_key`
  const [today, before] = ['2026-10-09', '2026-01-01']
  assert.deepEqual(Object.fromEntries(rows.map(({ id, text }) => [id, text])), {
    root: `100 ${today}`,
    made: `100 root ${today}`,
    'made lower': `50 root ${before}`,
    'made higher': `100 root ${today}`,
    'made by made': `100 root ${today}`,
    'made, revoked': '',
    'made by revoked': `100 root ${today}`,
    other: '',
    'made by other': '',
  })
})

test('keys are counted while they can be used, and by the moment they were made', async (t) => {
  const { sql } = await freshDatabase(t)
  const [customer_id, other_id] = [await customer(sql), await customer(sql)]
  const since = new Date('2026-10-07T15:26:32Z')
  const first = firstIdAt(since)
  const later = new Date(made_at.getTime() + 1)
  await insertKeys(sql, customer_id, [
    { id: first },
    { id: `${first}-later`, expires_at: later },
    { id: '0 expired', expires_at: made_at },
    { id: '0 revoked', revoked: true },
  ])
  await insertKeys(sql, other_id, [{ id: `${first}-other` }])
  await sql.begin(async (tx) => {
    assert.equal(await countKeys(tx, customer_id, made_at), 2)
    assert.equal(await countKeysSince(tx, customer_id, since), 2)
    assert.equal(await countKeysSince(tx, other_id, since), 1)
  })
})

test('keys are listed newest first, page by page, by who has them and who made them', async (t) => {
  const { sql } = await freshDatabase(t)
  const [customer_id, other_id] = [await customer(sql), await customer(sql)]
  await insertKeys(sql, customer_id, [
    { id: '1' },
    { id: '2', made_by: '1' },
    { id: '3', made_by: '2' },
    { id: '4', made_by: '1' },
  ])
  await insertKeys(sql, other_id, [{ id: '5' }])
  const listed = async (wanted: Omit<Parameters<typeof reportKeys>[1], 'day' | 'limit'>) => {
    const found = await reportKeys(sql, { limit: 3, day: '2026-10-08', ...wanted })
    return found.map(({ id }) => id).join('')
  }
  assert.equal(await listed({}), '543')
  assert.equal(await listed({ before: '3' }), '21')
  assert.equal(await listed({ customer_id }), '432')
  assert.equal(await listed({ customer_id, before: '2' }), '1')
  assert.equal(await listed({ made_by_key: '1' }), '42')
  assert.equal(await listed({ ids: ['1', '5'] }), '51')
  assert.equal(await listed({ ids: ['1', '5'], customer_id }), '1')
})

test('keys are listed by what they are at a moment', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  await insertKeys(sql, customer_id, [
    { id: 'revoked', revoked: true, expires_at: made_at },
    { id: 'ended', expires_at: made_at },
    { id: 'ending', expires_at: new Date(made_at.getTime() + 1) },
    { id: 'endless' },
  ])
  const listed = async (state: 'active' | 'ended' | 'revoked', at: Date) => {
    const is = { state, at }
    const found = await reportKeys(sql, { customer_id, is, limit: 9, day: '2026-10-08' })
    return found.map(({ id }) => id)
  }
  assert.deepEqual(await listed('active', made_at), ['endless', 'ending'])
  assert.deepEqual(await listed('ended', made_at), ['ended'])
  assert.deepEqual(await listed('ended', new Date(made_at.getTime() + 1)), ['ending', 'ended'])
  assert.deepEqual(await listed('revoked', made_at), ['revoked'])
})

test('a secret of before is sealed again where it alone is old; users have none', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  const { key_id, secret } = await issue(sql, { customer_id, name: 'one' })
  const both = sealWith({ current: 'b', keys }, systemRandom)
  await sql`
    update api_key set old_sealed_secret = sealed_secret, old_secret_made_at = ${made_at},
      old_secret_until = ${made_at}, sealed_secret = ${both.seal(secret, sealContext(key_id))}`
  await sql`
    insert into service_user (id, customer_id, name, role, invited_at, invited_by)
    values ('anna', ${customer_id}, 'Anna', 'reader', ${made_at}, 'olga')`
  await sql`
    insert into api_key (id, user_id, customer_id, name, secret_made_at, require_v2, created_at)
    values ('anna', 'anna', ${customer_id}, 'Anna', ${made_at}, false, ${made_at})`
  const reseal = () => sql.begin((tx) => resealSecrets(tx, both))
  assert.deepEqual([await reseal(), await reseal()], [1, 0])
  const only_new = sealWith({ current: 'b', keys: { b: keys.b } }, systemRandom)
  const [row] = await sql<{ sealed_secret: string; old_sealed_secret: string }>`
    select sealed_secret, old_sealed_secret from api_key where id = ${key_id}`
  for (const sealed of [row!.sealed_secret, row!.old_sealed_secret])
    assert.equal(only_new.open(sealed, sealContext(key_id)), secret)
})

test('a change of a key without limits holds up nothing that it has made', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customer(sql)
  await insertKeys(sql, customer_id, [{ id: 'root' }, { id: 'made', made_by: 'root' }])
  const isFree = () =>
    sql
      .begin((tx) => tx`select 1 from api_key where id = 'made' for no key update nowait`)
      .then(
        () => true,
        () => false,
      )
  for (const [daily_cap_sun, free] of [
    [undefined, true],
    [5n, false],
  ] as const)
    await sql.begin(async (tx) => {
      const key = (await lockKey(tx, 'root'))!
      await changeKey(tx, key, { name: 'other', daily_cap_sun, at: made_at })
      assert.equal(await isFree(), free)
    })
})
