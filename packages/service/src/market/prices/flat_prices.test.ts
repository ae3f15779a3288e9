// Flat prices, switches, and what is said of prices that were, on rows written by hand.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { printJson } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { feeHistory, feesInForce, setFee } from './fees.ts'
import { routes } from './routes.ts'
import { setSwitches, switches } from './switches.ts'

const begun = new Date('2026-10-01T00:00:00Z')
const ended = new Date('2026-10-02T00:00:00Z')
const at = new Date('2026-10-08T15:26:32Z')

/** Three prices in force, each with one that has ended; and a customer who is told of changes. */
async function withFees(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql.begin((tx) => makeCustomer(tx, { id: 'anna', at: begun }))
  await sql`delete from fee`
  await sql`delete from aml_price`
  await sql`delete from event_note`
  await sql`
    insert into fee (name, price_sun, since, until, changed_by)
    values ('activate_address', 700, ${begun}, ${ended}, 'olga'),
      ('activate_address', 800, ${ended}, null, 'olga')`
  await sql`
    insert into aml_price (type, price_sun, since, until, changed_by)
    values ('address', 70, ${begun}, ${ended}, 'olga'), ('address', 80, ${ended}, null, 'olga'),
      ('hash', 75, ${begun}, ${ended}, 'olga'), ('hash', 85, ${ended}, null, 'olga')`
  return sql
}

/** All rows, each with the day of its end. */
async function rowsOf(sql: Sql): Promise<string[]> {
  const rows = await feeHistory(sql, { limit: 99 })
  return rows
    .map(({ name, price_sun, until }) => `${name} ${price_sun} ${until?.getUTCDate() ?? ''}`.trim())
    .toSorted()
}

const BEFORE = [
  'activate_address 700 2',
  'activate_address 800',
  'aml_address 70 2',
  'aml_address 80',
  'aml_hash 75 2',
  'aml_hash 85',
]

const set = (sql: Sql, name: string, price_sun: bigint) =>
  sql.begin((tx) => setFee(tx, { name, price_sun, confirmed: false, at, changed_by: 'nina' }))

const notesOf = async (sql: Sql): Promise<string[]> =>
  (
    await sql<{ type: string; subject: string; data: string }>`
      select type, subject, data from event_note order by id`
  ).map(({ type, subject, data }) => {
    const { price, services } = JSON.parse(data) as { price?: number; services?: string[] }
    return `${type} ${subject} ${price ?? services}`
  })

test('a flat price ends where a new one of its name begins, and no other does', async (t) => {
  const sql = await withFees(t)
  assert.deepEqual(
    (await feesInForce(sql)).map(({ name, price_sun }) => [name, price_sun]),
    [
      ['activate_address', 800n],
      ['aml_address', 80n],
      ['aml_hash', 85n],
    ],
  )
  const same = await set(sql, 'activate_address', 800n)
  assert.deepEqual([same.actions, same.changes, same.result.length], [[], [], 3])
  await assert.rejects(set(sql, 'aml_wallet', 1n), {
    message:
      'There is no flat price aml_wallet; there are: activate_address, aml_address, aml_hash.',
  })
  await assert.rejects(set(sql, 'aml_hash', 850n), /Nothing is changed/)
  assert.deepEqual([await rowsOf(sql), await notesOf(sql)], [BEFORE, []])

  const activation = await set(sql, 'activate_address', 900n)
  assert.deepEqual(activation.changes, [{ what: 'activate_address', before: 800n, after: 900n }])
  const [before, after] = [{ price_trx: '0.0008' }, { price_trx: '0.0009' }]
  assert.deepEqual(activation.actions, [{ subject: 'fee:activate_address', before, after }])
  assert.equal(activation.result[0]?.price_sun, 900n)
  const [first, second, ...checks] = BEFORE
  const activations = [first, `${second} 8`, 'activate_address 900']
  assert.deepEqual(await rowsOf(sql), [...activations, ...checks])
  await set(sql, 'aml_address', 90n)
  const addresses = ['aml_address 70 2', 'aml_address 80 8', 'aml_address 90']
  assert.deepEqual(await rowsOf(sql), [...activations, ...addresses, ...checks.slice(2)])
  assert.deepEqual(await notesOf(sql), [
    'price.changed price:activate_address 0.0009',
    'price.changed price:aml_address 0.00009',
  ])
})

test('flat prices that were are listed newest first, of one name or of all', async (t) => {
  const sql = await withFees(t)
  const prices = async (name: string | undefined, limit = 9) =>
    (await feeHistory(sql, { name, limit })).map(({ price_sun }) => Number(price_sun))
  assert.deepEqual(await prices(undefined), [800, 80, 85, 700, 70, 75])
  assert.deepEqual(await prices('aml_hash'), [85, 75])
  assert.deepEqual(await prices('activate_address', 1), [800])
  assert.deepEqual(await prices('none'), [])
})

test('services are switched by name, and one that already is so stays unchanged', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql.begin((tx) => makeCustomer(tx, { id: 'anna', at: begun }))
  await sql`delete from event_note`
  const turn = (names: string[], on_sale: boolean) =>
    sql.begin((tx) => setSwitches(tx, { names, on_sale, changed_by: 'nina', at }))
  const off = async () =>
    (await switches(sql)).filter(({ on_sale }) => !on_sale).map(({ name }) => name)
  const turned = async () =>
    (await switches(sql)).filter((one) => one.changed_by === 'nina').map(({ name }) => name)
  await sql`update service set on_sale = name <> 'bandwidth', changed_by = 'olga'`
  await sql`update aml_service set on_sale = true, changed_by = 'olga'`
  await assert.rejects(turn(['energy', 'aml_wallet'], false), {
    message: /^There is no service aml_wallet; there are: activate_address, aml_address, aml_hash/,
  })
  assert.deepEqual([await off(), await turned()], [['bandwidth'], []])
  assert.deepEqual((await turn(['bandwidth'], false)).actions, [])
  assert.deepEqual((await turn(['energy', 'aml_hash'], true)).actions, [])
  assert.deepEqual([await turned(), await notesOf(sql)], [[], []])

  const one = await turn(['energy', 'bandwidth'], false)
  assert.deepEqual(one.actions, [
    { subject: 'service:energy', before: { on_sale: true }, after: { on_sale: false } },
  ])
  assert.deepEqual([await off(), await turned()], [['bandwidth', 'energy'], ['energy']])
  const check = await turn(['aml_hash'], false)
  assert.equal(check.result.find(({ name }) => name === 'aml_hash')?.on_sale, false)
  assert.deepEqual(await turned(), ['aml_hash', 'energy'])
  await turn(['aml_hash', 'aml_address', 'bandwidth'], true)
  assert.deepEqual([await off(), await turned()], [['energy'], ['aml_hash', 'bandwidth', 'energy']])
  assert.deepEqual(await notesOf(sql), [
    'service.off services energy',
    'service.off services aml_hash',
    'service.on services aml_hash,bandwidth',
  ])
})

test('prices are shown that were in force at a time or later, each with its end', async (t) => {
  const sql = await withFees(t)
  await sql`delete from price`
  await sql`
    insert into price (resource, min_amount, max_amount, price_sun, since, until, changed_by)
    values ('energy', 10, 19, 4000000, ${begun}, ${ended}, 'olga'),
      ('energy', 10, 19, 5000000, ${ended}, null, 'olga'),
      ('bandwidth', 10, 19, 6000000, ${ended}, null, 'olga')`
  type Row = { price: number; until: string | null }
  const shown = async (body: { resource?: string; since?: string }) => {
    const [endpoint] = routes({ sql })
    const text = printJson((await endpoint!.handle({ body } as never)) as object)
    const { tiers, fees } = JSON.parse(text) as Record<'tiers' | 'fees', Row[]>
    const words = ({ price, until }: Row) => `${price} until ${until}`
    return [tiers.map(words), fees.map(words)]
  }
  const end = '2026-10-02T00:00:00Z'
  const [newer, older] = [['5 until null', '6 until null'], `4 until ${end}`]
  const newer_fees = ['0.0008 until null', '0.00008 until null', '0.000085 until null']
  const older_fees = [`0.0007 until ${end}`, `0.00007 until ${end}`, `0.000075 until ${end}`]
  assert.deepEqual(await shown({}), [
    [...newer, older],
    [...newer_fees, ...older_fees],
  ])
  assert.deepEqual(await shown({ resource: 'energy' }), [['5 until null', older], []])
  assert.deepEqual(await shown({ since: end }), [newer, newer_fees])
  const [tiers, fees] = await shown({ since: '2026-10-01T23:59:59Z' })
  assert.deepEqual([tiers?.length, fees?.length], [3, 6])
})
