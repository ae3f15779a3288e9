// What a receipt says, on rows written by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { delivered_at, ReceiptBook, receiver } from 'penstock-test/harness/receipt_book.ts'
import { Fault } from '../../lib/fault.ts'
import { type Receipt, receiptOf } from './receipts.ts'
import { receiptRoutes } from './routes.ts'
import { publicKeys } from './signing_keys.ts'
import { verifyReceipt } from './verifying.ts'

const ISSUER = { service: 'Penstock', network: null, issued_at: '2026-10-08T15:26:32Z' }
const TIME = '2026-10-08T15:26:32Z'

const issue = async (book: ReceiptBook, id = 'o1'): Promise<Receipt | undefined> =>
  receiptOf(book.sql, await book.read(id), ISSUER)

test('there is a receipt once all of both resources is in blocks, and not before', async (t) => {
  const book = await ReceiptBook.of(t)
  await book.order('o1', { service: 'resource_bundle', energy: 50, bandwidth: 70 })
  await book.order('o2')
  const parts = async () =>
    (await issue(book))?.parts.map(({ resource, amount }) => `${resource} ${amount}`)
  await book.part('of another', { order: 'o2', amount: 50 })
  assert.equal(await parts(), undefined)
  await book.part('e1', { amount: 20 })
  await book.part('b1', { resource: 'bandwidth', amount: 70 })
  assert.equal(await parts(), undefined, 'a part of the energy')
  // None of these counts.
  await book.part('failed', { state: 'failed', amount: 30, attempt: 'dead' })
  await book.part('under way', { state: 'delegating', amount: 30 })
  await book.part('lost', { amount: 30, attempt: 'sent' })
  assert.equal(await parts(), undefined)
  await book.part('e2', { state: 'reclaiming', amount: 30 })
  assert.deepEqual(await parts(), ['energy 20', 'energy 30', 'bandwidth 70'])
  await book.sql`update orders set bandwidth = 71 where id = 'o1'`
  assert.equal(await parts(), undefined, 'a part of the bandwidth')
  await book.sql`update orders set bandwidth = 70, energy = 49 where id = 'o1'`
  assert.equal(await parts(), undefined, 'more than was bought')
})

test('a receipt is solid when all of it is, and ended when all is back for good', async (t) => {
  const book = await ReceiptBook.of(t)
  await book.activation('a1')
  await book.order('o1', { energy: 100, activate: true, activation_id: 'a1' })
  await book.part('e1', { state: 'ended' })
  await book.part('e2', { state: 'ended' })
  const set = (id: string, state: string) =>
    book.sql`update attempt set state = ${state} where id = ${id}`
  const steps: [id: string, state: string, wanted: string][] = [
    ['e1', 'solid', 'delivered'],
    ['a1', 'solid', 'delivered'],
    ['e2', 'solid', 'solid'],
    ['a1', 'included', 'delivered'],
    ['a1', 'solid', 'solid'],
    ['e1 back', 'solid', 'solid'],
    ['e2 back', 'solid', 'ended'],
    ['e1 back', 'included', 'solid'],
  ]
  for (const [id, state, wanted] of steps) {
    await set(id, state)
    assert.equal((await issue(book))?.state, wanted, `${id} ${state}`)
  }
  // One part is enough to be ended, and none is not.
  await book.order('o2')
  await book.part('e3', { order: 'o2', state: 'ended', attempt: 'solid', reclaim: 'solid' })
  assert.equal((await issue(book, 'o2'))?.state, 'ended')
  await book.order('o3', { service: 'activate_address', activate: true, activation_id: 'a1' })
  assert.equal((await issue(book, 'o3'))?.state, 'solid')
})

test('a part says its stake, what that gave, its block, and what took it back', async (t) => {
  const book = await ReceiptBook.of(t)
  await book.order('o1', { energy: 250 })
  const hashes = [
    await book.part('e1', { state: 'active' }),
    await book.part('e2', { state: 'reclaiming', reclaim: 'sent' }),
    await book.part('e3', { state: 'reclaiming', ratio: [null, 1] }),
    await book.part('e4', { state: 'ended', reclaim: 'solid', ratio: [30, null] }),
    await book.part('e5', { ratio: [null, null] }),
  ]
  const issued = await issue(book)
  assert.deepEqual(issued?.parts[0], {
    resource: 'energy',
    amount: 50,
    stake_sun: 2_000_000,
    units_of_stake: 60,
    hash: hashes[0]![0],
    block_number: 90,
    block_id: 'block 90',
    block_time: TIME,
    expires_at: TIME,
    reclaim_hash: null,
    reclaim_block_number: null,
  })
  assert.deepEqual(
    issued.parts.map(({ hash, units_of_stake, reclaim_hash, reclaim_block_number }) => [
      ...[hash, units_of_stake, reclaim_hash, reclaim_block_number],
    ]),
    [
      [hashes[0]![0], 60, null, null],
      [hashes[1]![0], 60, null, null],
      [hashes[2]![0], null, hashes[2]![1], 90],
      [hashes[3]![0], null, hashes[3]![1], 90],
      [hashes[4]![0], null, null, null],
    ],
  )
})

test('an activation is said that the order paid for, and one that is missing waits', async (t) => {
  const book = await ReceiptBook.of(t)
  const hash = await book.activation('ours')
  await book.activation('of others', 'active', null)
  await book.activation('under way', 'activating', 'sent')
  await book.activation('lost', 'active', 'sent')
  await book.activation('failed', 'failed', null)
  type Hash = string | null | undefined
  const rows: [activation: string | null, activate: boolean, energy: Hash, alone: Hash][] = [
    [null, true, null, null],
    ['ours', false, null, null],
    ['ours', true, hash, hash],
    ['of others', true, null, undefined],
    ['under way', true, undefined, undefined],
    ['lost', true, undefined, undefined],
    ['failed', true, undefined, undefined],
  ]
  for (const [i, [activation_id, activate, energy, alone]] of rows.entries())
    for (const [service, wanted] of [
      ['energy', energy],
      ['activate_address', alone],
    ] as const) {
      const id = `${service} ${i}`
      await book.order(id, { service, activate, activation_id })
      if (service === 'energy') await book.part(id, { order: id })
      const issued = await issue(book, id)
      const found = issued && (issued.activation?.hash ?? null)
      assert.equal(found, wanted, `${id} of ${activation_id}`)
    }
  const { activation } = (await issue(book, 'energy 2'))!
  assert.deepEqual(activation, { hash, block_number: 90, block_id: 'block 90', block_time: TIME })
})

test('a receipt has the entries of its order, and the seal of the last of them', async (t) => {
  const book = await ReceiptBook.of(t)
  const said = async () => {
    const { entries, seal } = (await issue(book))!
    return [entries.map(({ id, kind }) => `${id} ${kind}`), seal?.number ?? null]
  }
  await book.order('o1')
  await book.order('o2')
  await book.charge('o2')
  await book.part('e1')
  assert.deepEqual(await said(), [['order:o1 hold'], null])
  await book.sealAt(delivered_at)
  assert.deepEqual(await said(), [['order:o1 hold'], 1])
  await book.charge('o1')
  const both = ['order:o1 hold', 'order:o1/capture capture']
  assert.deepEqual(await said(), [both, null])
  // The last number of the seal is that of the last entry.
  await book.sealAt(delivered_at)
  await book.order('o3')
  await book.sealAt(delivered_at)
  assert.deepEqual(await said(), [both, 2])
  const [seal] = await book.sql<{ sha256: string }>`select sha256 from journal where number = 2`
  assert.equal((await issue(book))?.seal?.sha256, seal!.sha256)
  const { order } = (await issue(book))!
  assert.deepEqual(order.params, {
    address: receiver,
    amounts: { energy: 50 },
    duration: 1,
    activate_address: false,
  })
})

test('a receipt is given of a success, to its customer, by either of its names', async (t) => {
  const book = await ReceiptBook.of(t)
  await book.order('o1', { external_id: 'mine' })
  await book.part('e1')
  await book.order('o2', { state: 'pending' })
  await book.part('e2', { order: 'o2' })
  await book.order('o3')
  const [endpoint] = receiptRoutes({ ...book, service: 'Penstock', network: async () => 'private' })
  const ask = async (body: object, customer_id = 'anna') => {
    const asked = { body, customer: { customer_id } }
    return (await endpoint!.handle(asked as never)) as { receipt: Receipt; jws: string }
  }
  const refused = (code: number) => (thrown: unknown) =>
    thrown instanceof Fault && thrown.code === code
  for (const body of [{ id: 'o1' }, { external_id: 'mine' }, { id: '', external_id: 'mine' }]) {
    const { receipt, jws } = await ask(body)
    assert.deepEqual([receipt.order.id, receipt.network], ['o1', 'private'])
    const keys = (await publicKeys(book.sql, book.seal)).map(({ id, public_key }) => ({
      kty: 'OKP',
      crv: 'Ed25519',
      x: public_key,
      kid: id,
    }))
    assert.equal((await verifyReceipt(jws, { keys })).receipt.order.id, 'o1')
  }
  await assert.rejects(ask({}), refused(2))
  await assert.rejects(ask({ id: 'o1' }, 'bert'), refused(20))
  await assert.rejects(ask({ id: 'o9' }), refused(20))
  await assert.rejects(ask({ id: 'o2' }), refused(74))
  await assert.rejects(ask({ id: 'o3' }), refused(74), 'nothing of it is delivered')
})
