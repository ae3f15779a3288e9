// An order whose transactions are solid for 30 days: their bytes are emptied, and all that is said
// of the order stays, its proof to the last byte. Time passes by the rows: the database keeps what
// is young by its own clock.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkProof } from 'penstock-service/market/receipts/proof_checking.ts'
import type { Proof } from 'penstock-service/market/receipts/proofs.ts'
import pg from 'pg'
import { Auditor } from '../../auditor/audit.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, type World } from '../../harness/world.ts'

type Bytes = { id: string; state: string; signed: boolean; answer: boolean; stamp: number | null }

const bytesOf = (world: World) => world.sql<Bytes>`
  select id, state, signed is not null as signed, answer is not null as answer,
    octet_length(stamp) as stamp from attempt order by id`

/** Runs the step as if solid transactions were so many days older. */
async function emptyAfter(world: World, days: number): Promise<void> {
  const age = (by: number) => world.sql`
    update attempt set made_at = made_at - ${by}::int * interval '1 day',
      block_time = block_time - ${by}::int * interval '1 day' where state in ('included', 'solid')`
  const step = world.app.steps.find(({ name }) => name === 'empty_bytes')!
  // Where the world's clock is ahead of the database's, that one counts.
  const ahead_ms = Math.max(0, world.now.getTime() - Date.now())
  const by = days + Math.ceil(ahead_ms / 86_400_000)
  await age(by)
  while (await step.run());
  await age(-by)
}

/** What the auditor finds, who reads the rows and the chain for himself. */
async function audit(world: World): Promise<string[]> {
  const client = new pg.Client({ connectionString: world.database.url })
  await client.connect()
  try {
    const post = async (path: string, body: object) =>
      world.scene.post(path, body as Record<string, never>)
    const { pool, activation } = world.wallets
    const wallets = [...pool, activation].map(({ address }) => address)
    return await new Auditor({ client, post, wallets, from_block: 1 }).look()
  } finally {
    await client.end()
  }
}

test('what is solid for 30 days loses its bytes, and the order keeps its proof', async (t) => {
  const world = await makeWorld(t)
  const at = await worldOperator(world)
  const anna = await world.customer({ trx: 500 })
  const eve = world.person('eve').address
  const order = await anna.buyEnergy(eve, 65_000, { activate_address: true })
  await world.settle()
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  await world.solidify()
  await world.advance(86_400)
  const young = await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  const proof = await at.json<Proof>('orders', 'prove', order.id)
  const shown = await at.json('orders', 'show', order.id)
  const before = await bytesOf(world)
  const solid = before.filter(({ state }) => state === 'solid')
  assert.deepEqual([solid.length, before.length], [3, 4], 'that of the young order is not solid')
  assert.ok(before.every(({ signed, stamp }) => signed && stamp === null))

  await emptyAfter(world, 27)
  assert.deepEqual(await bytesOf(world), before, 'what is young is not emptied')
  await emptyAfter(world, 31)
  assert.deepEqual(
    await bytesOf(world),
    before.map((one) =>
      one.state === 'solid' ? { ...one, signed: false, answer: false, stamp: 18 } : one,
    ),
  )

  const again = await at.json<Proof>('orders', 'prove', order.id)
  assert.equal(again.transactions.length, 3)
  assert.deepEqual(again.transactions, proof.transactions)
  assert.deepEqual(await checkProof(again, {}), [])
  assert.deepEqual(await at.json('orders', 'show', order.id), shown)
  const { hash } = again.transactions[0]!
  const attempt = await at.json<Record<string, unknown>>('attempts', 'show', hash)
  assert.deepEqual([attempt.state, attempt.tx_id, attempt.signed], ['solid', hash, null])
  const books = await at.type('books', 'check', '--node-url', 'http://127.0.0.1')
  assert.equal(books.code, 0, books.out)
  assert.deepEqual(await audit(world), [])
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  await world.verify()
  assert.equal((await at.json<{ state: string }>('orders', 'show', young.id)).state, 'success')
})

test('what cannot be made again of the little that stays keeps its bytes', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 500 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await world.solidify()
  // As if it had been found on the chain with another expiry than its row says.
  await world.sql`update attempt set expires_at = expires_at + interval '1 second'`
  await emptyAfter(world, 31)
  const [kept] = await bytesOf(world)
  assert.deepEqual([kept!.signed, kept!.answer, kept!.stamp], [true, true, 0])
  const step = world.app.steps.find(({ name }) => name === 'empty_bytes')!
  assert.equal(await step.run(), false, 'it is looked at once')
})

test('one that was found on the chain long afterwards keeps its bytes for 30 days', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 500 })
  for (const name of ['bob', 'carl']) await anna.buyEnergy(world.person(name, 1).address, 65_000)
  await world.settle()
  await world.solidify()
  const [found] = await world.sql<{ id: string }>`
    update attempt set made_at = made_at + interval '40 days'
    where id = (select min(id) from attempt) returning id`
  await emptyAfter(world, 31)
  const kept = await world.sql<{ id: string }>`select id from attempt where signed is not null`
  assert.deepEqual([...kept], [found])
})
