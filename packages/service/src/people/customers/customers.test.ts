import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { customerAccount, spendable } from '../../ledger/accounts/ledger.ts'
import { systemClock } from '../../lib/clock.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { brokenConstraint } from '../../platform/database/sql.ts'
import {
  type CustomerRow,
  createCustomer,
  customersOfAddresses,
  findCustomer,
  listCustomers,
  type Needs,
  setCustomerState,
} from './customers.ts'
import { depositAddresses } from './deposit_addresses.ts'

const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/195'/0'")
const deposit_address = depositAddresses(account.publicExtendedKey)
const needs: Needs = {
  clock: systemClock,
  new_id: idMaker(systemClock, systemRandom),
  deposit_address,
}

test('a customer has the next deposit address and an empty account', async (t) => {
  const { sql } = await freshDatabase(t)
  const first = await sql.begin((tx) => createCustomer(tx, needs, { name: 'First' }))
  const second = await sql.begin((tx) => createCustomer(tx, needs, { name: 'First' }))
  assert.deepEqual([first.deposit_index, second.deposit_index], [0, 1])
  assert.deepEqual(
    [first.deposit_address, second.deposit_address],
    [deposit_address(0), deposit_address(1)],
  )
  assert.equal(await spendable(sql, customerAccount(first.id)), 0n)
  assert.deepEqual(await findCustomer(sql, first.id), first)
  assert.equal(await findCustomer(sql, 'nobody'), undefined)
})

test('a creation rolled back leaves no customer and no account, and uses no address', async (t) => {
  const { sql } = await freshDatabase(t)
  let id = ''
  await assert.rejects(
    sql.begin(async (tx) => {
      id = (await createCustomer(tx, needs, { name: 'Gone' })).id
      throw new Error('enough')
    }),
    /enough/,
  )
  assert.equal(await findCustomer(sql, id), undefined)
  assert.equal(await spendable(sql, customerAccount(id)), undefined)
  assert.equal(
    (await sql.begin((tx) => createCustomer(tx, needs, { name: 'Next' }))).deposit_index,
    1,
  )
})

test('customers created at once get addresses of their own', async (t) => {
  const { sql } = await freshDatabase(t)
  const create = () => sql.begin((tx) => createCustomer(tx, needs, { name: 'One of many' }))
  const created = await Promise.all(Array.from({ length: 20 }, create))
  assert.equal(new Set(created.map((customer) => customer.deposit_address)).size, 20)
})

test('customers are listed in pages, in the order of their ids', async (t) => {
  const { sql } = await freshDatabase(t)
  const created: CustomerRow[] = []
  for (const name of ['A', 'B', 'C'])
    created.push(await sql.begin((tx) => createCustomer(tx, needs, { name })))
  assert.deepEqual(await listCustomers(sql), created)
  assert.deepEqual(await listCustomers(sql, { limit: 2 }), created.slice(0, 2))
  assert.deepEqual(await listCustomers(sql, { after: created[1]!.id }), created.slice(2))
  await sql.begin((tx) => setCustomerState(tx, created[1]!.id, 'closed'))
  const listed = async (filter: Parameters<typeof listCustomers>[1]) =>
    (await listCustomers(sql, filter)).map(({ name }) => name)
  assert.deepEqual(await listed({ state: 'active' }), ['A', 'C'])
  assert.deepEqual(await listed({ state: 'closed', name: 'b' }), ['B'])
  assert.deepEqual(await listed({ name: 'c', after: created[2]!.id }), [])
})

test('the customers of deposit addresses are found, and strangers are not', async (t) => {
  const { sql } = await freshDatabase(t)
  const { id } = await sql.begin((tx) => createCustomer(tx, needs, { name: 'A' }))
  const found = await customersOfAddresses(sql, [deposit_address(0), deposit_address(9)])
  assert.deepEqual(found, new Map([[deposit_address(0), { id, state: 'active' }]]))
  assert.deepEqual(await customersOfAddresses(sql, []), new Map())
})

test('a name that is empty or too long is refused by the table', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const name of ['', 'x'.repeat(201)])
    await assert.rejects(
      sql.begin((tx) => createCustomer(tx, needs, { name })),
      (thrown) => brokenConstraint(thrown) === 'customer_name_length',
    )
})
