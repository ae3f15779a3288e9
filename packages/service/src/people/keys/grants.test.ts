import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import fc from 'fast-check'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { customerAccount, move, WORLD } from '../../ledger/accounts/ledger.ts'
import { Fault } from '../../lib/fault.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import type { Customer, Scope } from '../../platform/wire/endpoint.ts'
import { createCustomer } from '../customers/customers.ts'
import { depositAddresses } from '../customers/deposit_addresses.ts'
import { holdPrices, openPurse } from '../customers/purse.ts'
import { cappedKey } from '../customers/spending.ts'
import {
  alterKey,
  giveUpKey,
  grantKey,
  isWider,
  KEYS_A_DAY,
  KEYS_MAX,
  rotateKey,
} from './grants.ts'
import { issueKey, type KeyLimits, type KeyRow, listKeys } from './keys.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const clock = { now: () => NOW }
const seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/195'/0'")
const needs = {
  clock,
  random: systemRandom,
  new_id: idMaker(clock, systemRandom),
  seal,
  deposit_address: depositAddresses(xpub.publicExtendedKey),
}

const hours = (count: number) => new Date(NOW.getTime() + count * 3_600_000)
const NETWORKS = ['203.0.113.0/24', '203.0.113.128/25', '203.0.113.7', '2001:db8::/32', '0.0.0.0/0']
const RECEIVERS = ['anna', 'bob', 'carl'].map((name) => person(name).address)
const SCOPES: Scope[] = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage']

const limits = fc.record({
  scopes: fc.option(fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1 })),
  allowed_networks: fc.option(
    fc.uniqueArray(fc.constantFrom(...NETWORKS), { minLength: 1, maxLength: 3 }),
  ),
  receivers: fc.option(fc.uniqueArray(fc.constantFrom(...RECEIVERS), { minLength: 1 })),
  daily_cap_sun: fc.option(fc.constantFrom(0n, 1_000_000n, 5_000_000n, 10_000_000n)),
  require_v2: fc.boolean(),
  require_external_id: fc.boolean(),
  expires_at: fc.option(fc.constantFrom(hours(1), hours(2), hours(3))),
})

/** What somebody does by a key that may manage: which of the keys at hand asks, about which. */
const steps = fc.array(
  fc.record({
    what: fc.constantFrom('new', 'new', 'change', 'rotate', 'revoke'),
    asks: fc.nat(20),
    about: fc.nat(20),
    limits: fc.record(
      Object.fromEntries(
        [
          'scopes',
          'allowed_networks',
          'receivers',
          'daily_cap_sun',
          'require_v2',
          'expires_at',
        ].map((name) => [
          name,
          fc.oneof(
            { weight: 4, arbitrary: fc.constant(undefined) },
            { weight: 1, arbitrary: limits.map((all) => all[name as keyof typeof all]) },
          ),
        ]),
      ),
    ),
  }),
  { minLength: 5, maxLength: 25 },
)

const asCustomer = (key: KeyRow): Customer => ({
  customer_id: key.customer_id,
  key_id: key.id,
  scopes: key.scopes ?? undefined,
  daily_cap_sun: key.daily_cap_sun ?? undefined,
  spends_from: key.spends_from ?? undefined,
  receivers: key.receivers ?? undefined,
  require_external_id: key.require_external_id,
  suspended: false,
})

async function customerWithMoney(sql: Sql): Promise<string> {
  return sql.begin(async (tx) => {
    const { id } = await createCustomer(tx, needs, { name: 'Somebody' })
    const credit = customerAccount(id)
    const amount_sun = 1_000_000_000n
    await move(tx, { id: `deposit:${id}`, debit: WORLD, credit, amount_sun, made_at: NOW })
    return id
  })
}

/** The keys of which somebody who began with one has token and secret: it, and all that it made. */
async function atHand(sql: Sql, customer_id: string, root_id: string): Promise<KeyRow[]> {
  const keys = await listKeys(sql, customer_id)
  return keys.filter((key) => key.id === root_id || key.made_by_key !== null)
}

/** Spends by a key as much as its cap allows, up to 20 TRX. Says how much. */
async function spendAll(sql: Sql, key: KeyRow): Promise<bigint> {
  const { customer_id, id: key_id } = key
  const buyer = { customer_id, key: cappedKey(asCustomer(key)) }
  let spent = 0n
  for (let i = 0; i < 20; i++) {
    const price_sun = 1_000_000n
    const bought = await sql.begin(async (tx) => {
      const purse = await openPurse(tx, [buyer], NOW)
      if (purse.refusePrice(buyer, price_sun)) return false
      const hold_id = `order:${needs.new_id()}`
      const of_capped = buyer.key ? key_id : null
      holdPrices(tx, [{ hold_id, customer_id, key_id: of_capped, price_sun }], NOW)
      return true
    })
    if (bought) spent += price_sun
  }
  return spent
}

test('a key is never wider than itself, and what two keys exclude a third does too', () => {
  fc.assert(fc.property(limits, (one) => !isWider(one, one)))
  fc.assert(
    fc.property(
      limits,
      limits,
      limits,
      (a, b, c) => isWider(a, b) || isWider(b, c) || !isWider(a, c),
    ),
    { numRuns: 2_000 },
  )
})

test('no sequence of calls gets more out of a key than it has', { timeout: 120_000 }, async (t) => {
  const { sql } = await freshDatabase(t)
  let granted = 0
  const property = fc.asyncProperty(limits, steps, async (first, calls) => {
    const customer_id = await customerWithMoney(sql)
    const scopes: Scope[] = [
      ...new Set([...(first.scopes ?? (['read', 'buy'] as const)), 'manage'] as const),
    ]
    const wanted = Object.fromEntries(
      Object.entries({ ...first, scopes }).filter(([, limit]) => limit !== null),
    )
    const root = await sql.begin((tx) =>
      issueKey(tx, needs, { customer_id, name: 'first', ...wanted }),
    )
    const [as_it_was] = await listKeys(sql, customer_id)
    for (const { what, asks, about, limits } of calls) {
      const keys = await atHand(sql, customer_id, root.key_id)
      const usable = keys.filter((key) => key.revoked_at === null && key.scopes?.includes('manage'))
      const asking = usable[asks % usable.length]
      const { id } = keys[about % keys.length]!
      if (!asking || (what === 'revoke' && id === root.key_id)) continue
      const customer = asCustomer(asking)
      const given = limits as KeyLimits
      const done = await sql
        .begin(async (tx) => {
          if (what === 'new') await grantKey(tx, needs, customer, { ...given, name: 'made' })
          if (what === 'change') await alterKey(tx, customer, { ...given, id, at: NOW })
          if (what === 'rotate') await rotateKey(tx, needs, customer, { id, overlap_hours: 1 })
          if (what === 'revoke') await giveUpKey(tx, customer, { id, at: NOW })
          return 1
        })
        .catch((thrown: unknown) => {
          assert.ok(thrown instanceof Fault, String(thrown))
          return 0
        })
      if (what === 'new') granted += done
    }
    const keys = await atHand(sql, customer_id, root.key_id)
    for (const key of keys) assert.ok(!isWider(key, as_it_was!), JSON.stringify(key.scopes))
    if (as_it_was!.daily_cap_sun === null) return
    let spent_sun = 0n
    for (const key of keys.filter(({ revoked_at }) => revoked_at === null))
      spent_sun += await spendAll(sql, key)
    assert.ok(spent_sun <= as_it_was!.daily_cap_sun, `${spent_sun} of ${as_it_was!.daily_cap_sun}`)
  })
  await fc.assert(property, { numRuns: 100 })
  assert.ok(granted > 100, `only ${granted} keys were made`)
})

test('a customer has a hundred keys that can be used, and no more', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customerWithMoney(sql)
  const scopes = ['read', 'manage'] as const
  const { key_id } = await sql.begin((tx) =>
    issueKey(tx, needs, { customer_id, name: 'first', scopes }),
  )
  const [root] = await listKeys(sql, customer_id)
  const make = () => sql.begin((tx) => grantKey(tx, needs, asCustomer(root!), { name: 'made' }))
  const made = await Promise.allSettled(Array.from({ length: KEYS_MAX + 5 }, make))
  const refused = made.filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 6, 'the first counts too')
  await assert.rejects(make(), { code: 72, key: 'limit_reached.key' })
  const other = (await listKeys(sql, customer_id)).find(({ id }) => id !== key_id)!
  await sql.begin((tx) => giveUpKey(tx, asCustomer(root!), { id: other.id, at: NOW }))
  await make()
})

test('keys that are made and revoked again and again are no more than 500 a day', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customerWithMoney(sql)
  let now = NOW
  const later_needs = { ...needs, clock: { now: () => now } }
  const of_clock = { ...later_needs, new_id: idMaker(later_needs.clock, systemRandom) }
  const scopes = ['manage'] as const
  await sql.begin((tx) => issueKey(tx, of_clock, { customer_id, name: 'first', scopes }))
  const [root] = await listKeys(sql, customer_id)
  await sql`
    insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at,
      require_v2, require_external_id, created_at, revoked_at)
    select left(${root!.id}, 20) || lpad(n::text, 6, '0'), ${customer_id}, 'made',
      encode(sha256(n::text::bytea), 'hex'), '', ${NOW}, false, false, ${NOW}, ${NOW}
    from generate_series(2, ${KEYS_A_DAY}) as n`
  const make = () =>
    sql.begin((tx) => grantKey(tx, of_clock, asCustomer(root!), { name: 'one more' }))
  await assert.rejects(make(), { code: 72, key: 'limit_reached.key' })
  now = hours(25)
  await make()
})

test('a key leaves alone what is wider, and makes nothing that ends later', async (t) => {
  const { sql } = await freshDatabase(t)
  const customer_id = await customerWithMoney(sql)
  const issue = (more: object) =>
    sql.begin((tx) => issueKey(tx, needs, { customer_id, name: 'key', ...more }))
  const { key_id } = await issue({ scopes: ['manage'], expires_at: hours(2) })
  const { key_id: id } = await issue({ scopes: ['manage', 'buy'], expires_at: hours(1) })
  const asking = asCustomer((await listKeys(sql, customer_id)).find((one) => one.id === key_id)!)
  const wider = { code: 73, key: 'forbidden.wider' }
  const refused = (work: (tx: Tx) => Promise<unknown>) => assert.rejects(sql.begin(work), wider)
  await refused((tx) => rotateKey(tx, needs, asking, { id, overlap_hours: 0 }))
  await refused((tx) => alterKey(tx, asking, { id, at: hours(0), scopes: ['manage'] }))
  for (const expires_at of [hours(3), null])
    await refused((tx) => grantKey(tx, needs, asking, { name: 'late', expires_at }))
})
