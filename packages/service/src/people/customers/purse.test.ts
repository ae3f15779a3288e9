import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import {
  customerAccount,
  move,
  openAccount,
  spendable,
  WORLD,
} from '../../ledger/accounts/ledger.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import {
  type Buyer,
  holdPrices,
  isReplay,
  NamedPurchases,
  openPurse,
  releasePrice,
} from './purse.ts'
import { noteRefusedByCap, spentOn, takeReachedCaps } from './spending.ts'

const NOW = new Date('2025-06-01T12:00:00Z')
const TOMORROW = new Date('2025-06-02T12:00:00Z')

async function withWallet(sql: Sql, customer_id: string, amount_sun: bigint): Promise<void> {
  const credit = customerAccount(customer_id)
  await sql.begin(async (tx) => {
    await tx`
      insert into customer (id, name, deposit_index, deposit_address, created_at)
      values (${customer_id}, 'Anna', 1, ${EXAMPLE.address}, ${NOW})`
    await tx`
      insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at,
        require_v2, created_at)
      values ('key', ${customer_id}, 'Key', ${'0'.repeat(64)}, 'sealed', ${NOW}, false, ${NOW})`
    await openAccount(tx, credit)
    await move(tx, { id: `deposit:${customer_id}`, debit: WORLD, credit, amount_sun, made_at: NOW })
  })
}

const capped = (daily_cap_sun: bigint): Buyer => ({
  customer_id: 'anna',
  key: { key_id: 'key', spends_from: 'key', daily_cap_sun },
})

test('purchases of one batch are judged by what those before them have left', async (t) => {
  const { sql } = await freshDatabase(t)
  await withWallet(sql, 'anna', 100n)
  const anna = { customer_id: 'anna' }
  const nobody = { customer_id: 'nobody' }
  await sql.begin(async (tx) => {
    const purse = await openPurse(tx, [anna, anna, nobody], NOW)
    assert.equal(purse.refuseWallet(nobody)?.key, 'wallet_not_found')
    assert.equal(purse.refuseWallet(anna), undefined)
    assert.equal(purse.refusePrice(anna, 101n)?.key, 'insufficient_funds')
    assert.equal(purse.refusePrice(anna, 60n), undefined)
    purse.take(anna, 60n)
    assert.equal(purse.refusePrice(anna, 41n)?.key, 'insufficient_funds')
    assert.equal(purse.refusePrice(anna, 40n), undefined)
  })
})

test('a key may spend its cap in a day, and what is given back may be spent again', async (t) => {
  const { sql } = await freshDatabase(t)
  await withWallet(sql, 'anna', 1_000n)
  const buyer = capped(100n)
  const price = { hold_id: 'order:1', customer_id: 'anna', key_id: 'key', price_sun: 60n }
  await sql.begin(async (tx) => {
    const purse = await openPurse(tx, [buyer], NOW)
    assert.equal(purse.refusePrice(buyer, 101n)?.key, 'insufficient_funds.daily_cap')
    purse.take(buyer, 60n)
    assert.equal(purse.refusePrice(buyer, 41n)?.key, 'insufficient_funds.daily_cap')
    holdPrices(tx, [price, { ...price, hold_id: 'order:2', price_sun: 0n }], NOW)
  })
  assert.equal(await spendable(sql, customerAccount('anna')), 940n)
  const refusals = await sql.begin(async (tx) => {
    const [today, tomorrow] = [
      await openPurse(tx, [buyer], NOW),
      await openPurse(tx, [buyer], TOMORROW),
    ]
    return [today, tomorrow].map((purse) => purse.refusePrice(buyer, 41n)?.key)
  })
  assert.deepEqual(refusals, ['insufficient_funds.daily_cap', undefined])
  await sql.begin(async (tx) => {
    await openPurse(tx, [buyer], NOW)
    await releasePrice(tx, price, { held_at: NOW, now: TOMORROW })
  })
  assert.equal(await spendable(sql, customerAccount('anna')), 1_000n)
  assert.deepEqual(await sql.begin((tx) => spentOn(tx, ['key'], NOW)), new Map([['key', 0n]]))
})

test('the balance is looked at before the cap, whichever is passed by more', async (t) => {
  const { sql } = await freshDatabase(t)
  await withWallet(sql, 'anna', 10n)
  const purse = await sql.begin((tx) => openPurse(tx, [capped(5n)], NOW))
  assert.equal(purse.refusePrice(capped(5n), 11n)?.key, 'insufficient_funds')
  assert.equal(purse.refusePrice(capped(5n), 6n)?.key, 'insufficient_funds.daily_cap')
  assert.equal(purse.refusePrice(capped(5n), 5n), undefined)
})

test("a name is a customer's own, and means what was bought under it", () => {
  const bought = new NamedPurchases<{ what: string; how_many: number }>()
  bought.add('anna', 'x', { what: 'energy', how_many: 1 })
  bought.add('anna', null, { what: 'energy', how_many: 2 })
  assert.equal(bought.find('anna', null), undefined)
  assert.equal(bought.find('bert', 'x'), undefined)
  const found = bought.find('anna', 'x')!
  assert.ok(isReplay(found, { what: 'energy', how_many: 1 }, ['what', 'how_many']))
  assert.ok(!isReplay(found, { what: 'energy', how_many: 3 }, ['what', 'how_many']))
})

test('a cap that is reached is noted once a day, taken once, and kept for a week', async (t) => {
  const { sql } = await freshDatabase(t)
  await withWallet(sql, 'anna', 100n)
  const note = (day: string) =>
    sql.begin(async (tx) => noteRefusedByCap(tx, ['key', 'key'], new Date(`${day}T12:00:00Z`)))
  const take = (limit = 10) => sql.begin((tx) => takeReachedCaps(tx, { limit, now: NOW }))
  const kept = async () => {
    const rows = await sql<{ day: string }>`select day::text from api_key_cap order by day`
    return rows.map(({ day }) => day)
  }
  const anna = { id: 'key', customer_id: 'anna' }
  for (const day of ['2025-06-01', '2025-05-24', '2025-05-25', '2025-06-01']) await note(day)
  assert.deepEqual(await take(1), [anna])
  assert.deepEqual(await kept(), ['2025-05-25', '2025-06-01'])
  assert.deepEqual(await take(), [anna, anna])
  assert.deepEqual(await take(), [])
  assert.deepEqual(await kept(), ['2025-05-25', '2025-06-01'])
})
