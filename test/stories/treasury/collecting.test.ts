// What lies on deposit addresses is collected: a file is made, signed where no network is, sent,
// and counted when it is there.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { Fault } from 'penstock-service/lib/fault.ts'
import type { Purchase } from 'penstock-service/market/orders/placing.ts'
import { readPrices } from 'penstock-service/market/prices/prices.ts'
import { energizeStep } from 'penstock-service/treasury/collecting/energy.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { transactionId } from 'penstock-tron/transaction.ts'
import {
  assertExact,
  type Batch,
  balanceOf,
  broadcast,
  collect,
  collectingTown,
  depositSecret,
  killedAfter,
  NODE,
  readBatch,
  show,
  type Town,
  type TownSize,
  tokensOf,
} from '../../harness/collecting.ts'
import { booksFindings } from '../../harness/operator.ts'
import { makeWorld, TRX } from '../../harness/world.ts'

/** More of both, for the figure: COLLECT_ADDRESSES=1000 COLLECT_WITH_TOKEN=200. */
const ADDRESSES = Number(process.env.COLLECT_ADDRESSES ?? 12)
const WITH_TOKEN = Number(process.env.COLLECT_WITH_TOKEN ?? 4)
const TRANSFERS = ADDRESSES + WITH_TOKEN

async function townOf(t: TestContext, size: TownSize): Promise<Town> {
  const town = await collectingTown(await makeWorld(t, { tokens: [USDT] }), size)
  t.after(town.end)
  return town
}

const sign = ({ at, file }: Town) => at.type('wallets', 'sign', file)

/** Blocks until what was sent is confirmed and counted. */
async function count({ world }: Town): Promise<void> {
  for (let i = 0; i < 3; i++) await world.solidify()
}

test('TRX and tokens are collected in one signing, killed wherever it may be', async (t) => {
  const town = await townOf(t, { addresses: ADDRESSES, with_token: WITH_TOKEN, from_trx: 40n })
  const { world, at, safe, paid, file } = town
  const before = await show(town)
  const came = paid.reduce((sum, { sun }) => sum + sun, 0n)
  assert.equal(BigInt(before.trx_sun), came)
  assert.deepEqual(
    [before.addresses, before.collected_sun, before.under_way_sun],
    [ADDRESSES, 0, 0],
  )
  assert.equal(before.tokens[0]!.addresses, WITH_TOKEN)
  assert.ok(before.places.every(({ since }) => since !== null))

  // Killed while it asks: nothing is written down. Killed before the file is there: it is not lost.
  const words = ['treasury', 'collect', '--to', safe.address, '--token', USDT, '--burn', ...NODE]
  for (const requests of [0, 3, 20, 40])
    assert.equal(await killedAfter(town, requests, ...words, '--file', file), false)
  assert.equal((await show(town)).under_way_sun, 0)
  const lost = await at.type(...words, '--file', join(town.folder, 'absent', 'batch.json'))
  assert.notEqual(lost.code, 0)
  const again = await at.type(...words, '--file', file)
  assert.match(again.err, /There is nothing to collect/)
  const [made] = await at.json<{ id: string; transfers: number }[]>('treasury', 'list')
  assert.equal(made!.transfers, TRANSFERS)
  await at.json('treasury', 'file', made!.id, '--file', file, ...NODE)

  assert.equal((await sign(town)).code, 0)
  // A deposit that comes meanwhile stays for the next time.
  world.pay(paid[0]!.address, 7n * TRX)
  paid[0]!.sun += 7n * TRX
  world.mine()
  let kills = 0
  for (let requests = 1; ; requests += Math.max(3, TRANSFERS >> 4)) {
    if (await killedAfter(town, requests, 'wallets', 'broadcast', file, '--burn', ...NODE)) break
    kills += 1
    if (kills % 3 === 0) world.mine()
    if (kills % 4 === 0) await world.drain()
  }
  assert.ok(kills > 10, `killed ${kills} times`)
  world.mine(2)
  await world.drain()
  // What a fork takes back is there again with the same bytes.
  world.fork(2)
  await world.drain()
  assert.deepEqual((await broadcast(town, '--burn')).refused, [])
  await count(town)

  const shown = await assertExact(town)
  assert.equal(shown.under_way_sun, 0)
  const [done] = await at.json<{ made: number; collected: number; failed: number }[]>(
    'treasury',
    'list',
  )
  assert.deepEqual([done!.made, done!.collected, done!.failed], [0, TRANSFERS, 0])
  for (const { address, tokens } of paid)
    if (tokens > 0n) assert.equal(await tokensOf(town, address), 0n)
  assert.ok((await balanceOf(town, paid[0]!.address)) >= 7n * TRX)
  // Again: nothing is there twice, and the rest is another collection.
  const twice = await broadcast(town, '--burn')
  assert.deepEqual([twice.sent, twice.there], [0, TRANSFERS])
  assert.ok((await collect(town)).transfers >= 1)
  assert.deepEqual(await booksFindings(at), [])
})

test('tokens wait for energy, and an address is in no second file meanwhile', async (t) => {
  const town = await townOf(t, { addresses: 3, with_token: 1 })
  const { world, at, paid, file } = town
  const made = await collect(town, '--token', USDT)
  assert.equal(made.transfers, 4)
  assert.equal(made.fees_max_sun > 0, true)
  assert.ok(made.energy_needed >= 64_000)
  assert.match(
    (await at.type('treasury', 'collect', '--to', town.safe.address, '--file', file, ...NODE)).err,
    /There is nothing to collect/,
  )
  assert.equal((await sign(town)).code, 0)
  const first = await broadcast(town)
  assert.deepEqual([first.sent, first.waiting], [3, 1])
  await count(town)
  assert.equal((await assertExact(town)).tokens[0]!.under_way, 2_000_000)

  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(paid[0]!.address, 131_000)
  await world.settle()
  const second = await broadcast(town)
  assert.deepEqual([second.sent, second.there, second.waiting], [1, 3, 0])
  await count(town)
  assert.deepEqual((await show(town)).tokens, [])
  assert.equal(await tokensOf(town, town.safe.address), 2_000_000n)
})

test('a customer of the house buys the energy for tokens, once, from our own pool', async (t) => {
  const town = await townOf(t, { addresses: 4, with_token: 3 })
  const { world, at, paid } = town
  const made = await collect(town, '--token', USDT)
  assert.equal((await sign(town)).code, 0)
  assert.deepEqual((await broadcast(town)).waiting, 3)
  type Energy = Record<'transfers' | 'burning_sun' | 'pool_cost_sun' | 'buying_sun', number> & {
    least: string
    asked: number
  }
  const energy = (...more: string[]) =>
    at.json<Energy>('treasury', 'energy', made.id, ...NODE, ...more)
  const looked = await energy()
  assert.deepEqual([looked.transfers, looked.least, looked.asked], [3, 'pool', 0])
  assert.ok(looked.burning_sun > looked.pool_cost_sun && looked.buying_sun > 0)
  const house = await world.customer({ trx: 500 })
  paid.push({ address: house.deposit_address, sun: 500n * TRX, tokens: 0n })
  const why = ['--customer', house.id, '--reason', 'to collect']
  const asked = await energy(...why)
  assert.equal(asked.asked, 3)
  assert.equal((await energy(...why)).asked, 0, 'twice is once')
  // Killed after the order was placed and before that was noted: it is the same order.
  const energize = world.app.steps.find(({ name }) => name === 'energize')!
  while (await energize.run()) {}
  await world.sql`update collection_transfer set energy_order = null where token is not null`
  await world.settle()
  const orders = await world.sql<{ state: string; name: string }>`
    select state, split_part(external_id, ':', 1) as name from orders
    where customer_id = ${house.id}`
  assert.deepEqual([...orders], Array(3).fill({ state: 'success', name: 'collect' }))
  const noted = await world.sql`
    select 1 from collection_transfer as t join orders as o on o.id = t.energy_order
    where o.address = t.address`
  assert.equal(noted.length, 3)
  const sent = await broadcast(town)
  assert.deepEqual([sent.sent, sent.there, sent.waiting], [3, 4, 0])
  await count(town)
  const shown = await assertExact(town)
  assert.deepEqual(shown.tokens, [])
  for (const { address, tokens } of paid)
    if (tokens > 0n) assert.equal(await tokensOf(town, address), 0n)
  const spent = await world.sql<{ sun: bigint }>`
    select sum(amount_sun)::bigint as sun from orders where customer_id = ${house.id}`
  assert.equal(Number(spent[0]!.sun), looked.buying_sun)
  assert.deepEqual(await booksFindings(at), [])
})

test('who cannot buy the energy is told why, and nothing is ordered', async (t) => {
  const town = await townOf(t, { addresses: 1, with_token: 1 })
  const { world, at } = town
  const made = await collect(town, '--token', USDT)
  const poor = await world.customer()
  const type = (collection: string, customer: string) =>
    at.type('treasury', 'energy', collection, ...NODE, '--customer', customer, '--reason', 'a test')
  assert.match((await type('nothing', poor.id)).err, /There is no collection nothing/)
  assert.match((await type(made.id, 'nobody')).err, /There is no active customer nobody/)
  assert.equal((await type(made.id, poor.id)).code, 0)
  await world.drain()
  const said = async () => {
    const [row] = await world.sql<{ by: string | null; said: string }>`
      select energy_by as by, energy_said as said from collection_transfer
      where token is not null`
    return row!
  }
  assert.equal((await said()).by, poor.id)
  await world.advance(700)
  await world.drain()
  assert.equal((await said()).by, null, 'given up after ten minutes')
  assert.match((await said()).said, /wallet|balance|money|funds/i)
  assert.equal((await world.sql`select 1 from orders`).length, 0)
  // What a customer has is spent by two where corrections want two.
  await at.json('approvals', 'set', 'name', '--from', '5', '--reason', 'a test')
  assert.match((await type(made.id, poor.id)).err, /wants a second operator: .* approvals allow/)
  assert.equal((await said()).by, null)
})

test('two processes that order the energy at once go by one amount and one order', async (t) => {
  const town = await townOf(t, { addresses: 1, with_token: 1 })
  const { world, at } = town
  const { sql } = world
  const made = await collect(town, '--token', USDT)
  const house = await world.customer({ trx: 500 })
  const words = ['treasury', 'energy', made.id, ...NODE, '--customer', house.id]
  assert.equal((await at.type(...words, '--reason', 'to collect')).code, 0)
  const asked: Purchase[] = []
  /** One of the two, and what the other does before the node answers, and before the order. */
  const energize = (before: { answer?: () => Promise<unknown>; order?: () => Promise<unknown> }) =>
    energizeStep({
      sql,
      clock: { now: () => world.now },
      node: {
        ...world.node,
        async resource(...of) {
          await before.answer?.()
          return world.node.resource(...of)
        },
      },
      prices: () => readPrices(sql),
      async tryOrder(purchase) {
        asked.push(purchase)
        await before.order?.()
        return new Fault(13, 'insufficient_balance', 'no money')
      },
    }).run()
  const row = async () => {
    const [one] = await sql<{ by: string | null; order: string | null }>`
      select energy_by as by, energy_order as order from collection_transfer
      where token is not null`
    return one!
  }
  await energize({
    answer: () => sql`update collection_transfer set energy_amount = 77000 where token is not null`,
  })
  assert.deepEqual([asked[0]!.energy, asked[0]!.refusal], [77_000, undefined])
  // Refused after ten minutes: given up, if the other has not placed it in the same moment.
  world.wait(700)
  await energize({
    order: () => sql`update collection_transfer set energy_order = 'o' where token is not null`,
  })
  assert.deepEqual(await row(), { by: house.id, order: 'o' })
  // Nor is it bought by who may not buy any more.
  await sql`update collection_transfer set energy_order = null where token is not null`
  assert.equal((await at.type('customers', 'suspend', house.id, '--reason', 'a test')).code, 0)
  await energize({})
  assert.match(String(asked.at(-1)!.refusal), /the customer is not active/)
  assert.deepEqual(await row(), { by: null, order: null })
})

test('for a file that expires within minutes no energy is bought any more', async (t) => {
  const town = await townOf(t, { addresses: 1, with_token: 1 })
  const { world, at } = town
  const made = await collect(town, '--token', USDT, '--hours', '1')
  const house = await world.customer()
  await world.advance(3_180)
  const words = ['treasury', 'energy', made.id, ...NODE, '--customer', house.id]
  assert.equal((await at.type(...words, '--reason', 'to collect')).code, 0)
  await world.drain()
  const credit = ['customers', 'credit', house.id, '100', '--id', 'c', '--reason', 'a test']
  assert.equal((await at.type(...credit)).code, 0)
  await world.advance(330)
  await world.drain()
  assert.equal((await world.sql`select 1 from orders`).length, 0)
  const [row] = await world.sql<{ by: string | null; said: string }>`
    select energy_by as by, energy_said as said from collection_transfer where token is not null`
  assert.deepEqual(row, { by: null, said: 'the file expires within minutes' })
})

test('what has expired and no chain has is dead, and is in another file', async (t) => {
  const town = await townOf(t, { addresses: 6, with_token: 0 })
  const { world, at, file } = town
  await collect(town, '--hours', '1')
  assert.equal((await sign(town)).code, 0)
  await killedAfter(town, 5, 'wallets', 'broadcast', file, ...NODE)
  await count(town)
  const [half] = await at.json<{ made: number; collected: number }[]>('treasury', 'list')
  assert.ok(half!.collected > 0 && half!.made > 0, JSON.stringify(half))
  await world.advance(3_590)
  // It is not known yet whether what was not seen may still come.
  assert.match(
    (await at.type('treasury', 'collect', '--to', town.safe.address, '--file', file, ...NODE)).err,
    /nothing to collect/,
  )
  await world.advance(20)
  const late = await at.type('wallets', 'broadcast', file, ...NODE)
  assert.match(late.err, /^It could be sent until .*: make another with treasury collect/)
  await count(town)
  const [ended] = await at.json<{ made: number; dead: number }[]>('treasury', 'list')
  assert.deepEqual([ended!.made, ended!.dead], [0, half!.made])
  const rest = await collect(town)
  assert.equal(rest.transfers, half!.made)
  assert.equal((await sign(town)).code, 0)
  assert.equal((await broadcast(town)).sent, half!.made)
  await count(town)
  const shown = await assertExact(town)
  assert.equal(shown.trx_sun, 0)
})

test('a file that was changed or is another ends in one sentence, and sends nothing', async (t) => {
  const town = await townOf(t, { addresses: 3, with_token: 1, from_trx: 40n })
  const { world, at, file, safe } = town
  const thief = world.person('thief', 1)
  const refused = async (why: RegExp, ...words: string[]) => {
    const { code, out, err } = await at.type(...words)
    assert.notEqual(code, 0, `${words.join(' ')}: ${out}`)
    assert.match(err, why)
    assert.equal(err.trim().split('\n').length, 1, err)
  }
  const wanted = (to: string) => ['treasury', 'collect', '--to', to, '--file', file, ...NODE]
  await refused(/is not in collect_to of the file of wallets/, ...wanted(thief.address))
  await town.allow(town.paid[0]!.address, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', safe.address)
  await refused(/is the deposit address of/, ...wanted(town.paid[0]!.address))
  await town.allow(safe.address, thief.address)
  await collect(town, '--token', USDT, '--burn')
  const unsigned = await readFile(file, 'utf8')
  const batch = JSON.parse(unsigned) as Batch
  const write = (changed: unknown) => writeFile(file, JSON.stringify(changed))
  const signing = (why: RegExp) => refused(why, 'wallets', 'sign', file)
  const sending = (why: RegExp) => refused(why, 'wallets', 'broadcast', file, '--burn', ...NODE)

  await sending(/is not signed yet/)
  await town.allow(thief.address)
  await signing(/is not in collect_to/)
  await town.allow(safe.address)
  // Every byte of every transfer, of which any change is seen.
  for (const [p, { transfers }] of batch.parts.entries()) {
    for (const [i, { raw_data }] of transfers.entries()) {
      for (let at = 0; at < raw_data.length; at += 2) {
        const changed = structuredClone(batch)
        const byte = (Number.parseInt(raw_data.slice(at, at + 2), 16) ^ 1).toString(16)
        changed.parts[p]!.transfers[i]!.raw_data =
          raw_data.slice(0, at) + byte.padStart(2, '0') + raw_data.slice(at + 2)
        await write(changed)
        await signing(/was changed|has no transfers|from an address twice/)
      }
    }
  }
  await write({ ...batch, digest: '0'.repeat(64) })
  await signing(/its digest is not that of its transfers/)
  await write({ ...batch, parts: [] })
  await signing(/has no transfers/)
  await write({ ...batch, parts: [{ transfers: 3 }] })
  await signing(/has another form/)
  const [one] = batch.parts[0]!.transfers
  const ids = [one!, one!].map(({ raw_data }) => transactionId(Buffer.from(raw_data, 'hex')))
  const { hash } = await import('node:crypto')
  const doubled = hash('sha256', ids.join(), 'hex')
  await write({ ...batch, digest: doubled, parts: [{ transfers: [one, one] }] })
  await signing(/collects from an address twice/)
  await writeFile(file, unsigned)
  town.types(
    HDKey.fromMasterSeed(new Uint8Array(32).fill(9)).derive("m/44'/195'/0'").privateExtendedKey,
  )
  await signing(/These are not the words of deposit_xpub/)
  for (const secret of ['some words', 'xprv1234', '']) {
    town.types(secret)
    await signing(/^Standard input has no/)
  }
  town.types(depositSecret())
  assert.equal((await sign(town)).code, 0)

  const signed = await readBatch(town)
  await write({ ...signed, network: '0'.repeat(64) })
  await sending(/is of another network than the node: nothing was sent/)
  const swapped = structuredClone(signed)
  const [a, b] = swapped.parts[0]!.transfers
  ;[a!.signature, b!.signature] = [b!.signature!, a!.signature!]
  await write(swapped)
  await sending(/the signature for .* is of something else/)
  await write({ ...signed, digest: signed.digest.replace(/^./, 'x') })
  await sending(/was changed/)
  world.mine()
  const shown = await show(town)
  assert.equal(await balanceOf(town, safe.address), TRX, 'nothing was sent')
  assert.equal(shown.collected_sun, 0)
  await writeFile(file, JSON.stringify(signed))
  await world.advance(23 * 3_600 + 60)
  await sending(/^It could be sent until/)
  assert.equal(await balanceOf(town, safe.address), TRX)
  await signing(/^It could be sent until/)
})

test('a batch that a restored database lacks is noted again, and counts once', async (t) => {
  const town = await townOf(t, { addresses: 2, with_token: 0 })
  const { world, at, file } = town
  await collect(town)
  assert.equal((await sign(town)).code, 0)
  await world.sql`delete from collection_transfer`
  await world.sql`delete from collection`
  await broadcast(town)
  await count(town)
  assert.ok((await show(town)).left_otherwise_sun > 0)
  for (const is_new of [true, false]) {
    const adopted = await at.json<{ is_new: boolean }>('treasury', 'adopt', file)
    assert.equal(adopted.is_new, is_new)
  }
  await count(town)
  const shown = await assertExact(town)
  assert.deepEqual([shown.trx_sun, shown.left_otherwise_sun], [0, 0])
  assert.deepEqual(await booksFindings(at), [])
})

test('what a blacklisted sender has paid in stays where it is', async (t) => {
  const town = await townOf(t, { addresses: 1, with_token: 0 })
  const { world, paid } = town
  const thief = world.person('black', 1_000)
  await world.blacklist(thief.address)
  world.pay(paid[0]!.address, 30n * TRX, thief)
  await count(town)
  assert.equal((await show(town)).blocked_sun, 30_000_000)
  await collect(town)
  assert.equal((await sign(town)).code, 0)
  assert.equal((await broadcast(town)).sent, 1)
  await count(town)
  assert.equal(await balanceOf(town, paid[0]!.address), 30n * TRX)
})
