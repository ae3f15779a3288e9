import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withRace } from 'penstock-test/harness/race.ts'
import { keepMore } from 'penstock-test/harness/without_triggers.ts'
import { makeWorld, TRX, type World } from 'penstock-test/harness/world.ts'
import type { Transport } from '../../chain/node/node.ts'
import { perform } from '../../events/log/changes.ts'
import { Outage } from '../../lib/fault.ts'
import { setSwitches, switches } from '../../market/prices/switches.ts'
import { alerts } from '../monitoring/alerts.ts'
import { chainView } from './chain.ts'
import { acceptFindings, readFindings, watchBooksStep } from './watch.ts'

const onSale = async (world: World) =>
  (await switches(world.sql)).filter((one) => one.on_sale).length

/** Until the next check that is due has looked twice. */
async function checked(world: World): Promise<void> {
  await world.advance(700)
  await world.settle()
  await world.advance(15)
  await world.settle()
}

async function putOnSale(world: World): Promise<void> {
  const clock = { now: () => world.now }
  const operator = { made_by: 'anna', reason: 'seen to' }
  await perform({ sql: world.sql, clock }, { operator, action: 'services on' }, async (tx, at) => {
    const names = (await switches(tx)).map(({ name }) => name)
    await acceptFindings(tx, at)
    return setSwitches(tx, { names, on_sale: true, changed_by: 'anna', at })
  })
  await world.advance(2)
}

test('books that do not balance stop selling alone, until an operator lifts it', async (t) => {
  const world = await makeWorld(t, { watches_books: true, forges: true })
  const anna = await world.customer({ trx: 100 })
  const bob = world.person('bob', 1)
  await checked(world)
  const all = (await switches(world.sql)).length
  assert.equal(await onSale(world), all)
  const [check] = await world.sql<{ checked_at: Date }>`select checked_at from books_check`
  assert.ok(check)

  const account = `customer:${anna.id}`
  await keepMore(world.sql, account, 1n)
  await world.advance(700)
  const sold = await anna.buyEnergy(bob.address, 65_000)
  await world.advance(15)
  assert.equal(await onSale(world), 0)
  await world.settle()
  const refused = await anna.call('/v1/transaction/new', {
    service: 'energy',
    params: { address: bob.address, amount: 65_000, duration: 1 },
  })
  assert.equal(refused.code, 35)
  assert.equal((await anna.check(sold.id)).status, 'success')
  assert.equal(typeof (await anna.balance()), 'number')
  const names = (await alerts({ sql: world.sql, now: world.now })).map(({ alert }) => alert)
  assert.ok(names.includes('books_broken'))
  const standing = await readFindings(world.sql, { limit: 1 })
  assert.ok(standing.checked_at !== null && standing.findings >= 2n)
  assert.deepEqual(
    standing.listed.map(({ rule }) => rule),
    ['C2'],
  )
  const [record] = await world.sql<{ made_by: string; reason: string }>`
    select made_by, reason from operator_action order by number desc limit 1`
  assert.deepEqual(record, { made_by: 'books check', reason: 'C2, C7 broken' })

  await putOnSale(world)
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  await keepMore(world.sql, account, -1n)
  await checked(world)
  assert.equal(await onSale(world), all, 'what is right again stops nothing')
  assert.equal((await readFindings(world.sql, { limit: 1 })).findings, 0n)
})

test('broken books let no refund be signed, until an operator has seen to it', async (t) => {
  const world = await makeWorld(t, { watches_books: true, forges: true })
  const anna = await world.customer({ trx: 100 })
  const bob = world.person('bob', 100)
  await keepMore(world.sql, `customer:${anna.id}`, 1n)
  await checked(world)
  assert.equal(await onSale(world), 0)
  const tx_id = world.pay(world.recharge.address, 1n * TRX, bob)
  const refund = async () => {
    const [row] = await world.sql<{ state: string; answer: string | null }>`
      select d.state, a.answer from deposit as d left join attempt as a on a.id = d.refund_id
      where d.tx_id = ${tx_id}`
    return row
  }
  await world.solidify()
  await world.advance(60)
  const waits = await refund()
  assert.equal(waits?.state, 'refunding')
  assert.match(waits.answer ?? '', /what no operator has accepted/)
  // That it is right again says nobody who could be believed.
  await keepMore(world.sql, `customer:${anna.id}`, -1n)
  for (const seconds of [700, 15, 700, 15]) {
    await world.advance(seconds)
    await world.drain()
  }
  assert.equal((await readFindings(world.sql, { limit: 1 })).findings, 0n)
  const names = (await alerts({ sql: world.sql, now: world.now })).map(({ alert }) => alert)
  assert.ok(names.includes('books_broken'))
  assert.equal((await refund())?.state, 'refunding')
  const worker = world.database.connect({ role: 'penstock_worker' })
  t.after(() => worker.close())
  await worker`delete from books_finding`
  await worker`delete from alert where alert = 'books_broken'`
  await assert.rejects(worker`update books_finding set accepted_at = now()`, { code: '42501' })
  await assert.rejects(worker`update service set on_sale = true`, { code: '42501' })
  await assert.rejects(worker`update aml_service set on_sale = true`, { code: '42501' })
  await worker`update books_finding set gone_at = now(), found_at = '-infinity'`
  const [kept] = await world.sql`
    select count(*)::int as findings from books_finding where accepted_at is null`
  assert.deepEqual(kept, { findings: 2 })
  await world.advance(60)
  assert.equal((await refund())?.state, 'refunding')
  await putOnSale(world)
  for (let i = 0; i < 4 && (await refund())?.state !== 'refunded'; i++) {
    await world.advance(120)
    await world.solidify()
    await world.settle()
  }
  assert.equal((await refund())?.state, 'refunded')
})

test('an accepted finding does not stop the sale again, and a new one does', async (t) => {
  const world = await makeWorld(t, { watches_books: true, forges: true })
  const anna = await world.customer({ trx: 100 })
  const price = (name: string) =>
    world.sql`update price set changed_by = ${name} where resource = 'bandwidth'`
  await price('mallory')
  await checked(world)
  assert.equal(await onSale(world), 0)
  await putOnSale(world)
  await checked(world)
  assert.notEqual(await onSale(world), 0)
  await keepMore(world.sql, `customer:${anna.id}`, 1n)
  await checked(world)
  assert.equal(await onSale(world), 0)
  await keepMore(world.sql, `customer:${anna.id}`, -1n)
  await price('shipped')
})

test('what is only late, or put right before the second look, stops nothing', async (t) => {
  const world = await makeWorld(t, { watches_books: true, forges: true })
  const { id } = await world.customer({ trx: 100 })
  await world.sql`update pool set reserved = reserved + 1 where resource = 'energy'`
  await checked(world)
  await world.sql`update pool set reserved = reserved - 1 where resource = 'energy'`
  await world.advance(700)
  await keepMore(world.sql, `customer:${id}`, 1n)
  await world.settle()
  await keepMore(world.sql, `customer:${id}`, -1n)
  await world.advance(15)
  await world.settle()
  assert.notEqual(await onSale(world), 0)
  assert.equal((await readFindings(world.sql, { limit: 1 })).findings, 0n)
})

test('an accepted finding stays the same while account and place are used', async (t) => {
  const world = await makeWorld(t, { watches_books: true, forges: true })
  const anna = await world.customer({ trx: 100 })
  const bob = world.person('bob', 1)
  await keepMore(world.sql, `customer:${anna.id}`, 1n)
  await checked(world)
  assert.equal(await onSale(world), 0)
  await putOnSale(world)
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  await checked(world)
  assert.notEqual(await onSale(world), 0)
  await keepMore(world.sql, `customer:${anna.id}`, -1n)
})

test('what a check finds that takes an hour stops selling, once', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const { id } = await world.customer({ trx: 100 })
  await keepMore(world.sql, `customer:${id}`, 1n)
  const { sql } = world
  const clock = { now: () => world.now }
  const quick = watchBooksStep({ sql, clock, chain: undefined })
  const slow = watchBooksStep({
    sql,
    clock,
    chain: undefined,
    notedRoots: async () => {
      world.wait(3_600)
      return []
    },
  })
  assert.equal(await slow.run(), true)
  assert.notEqual(await onSale(world), 0)
  world.wait(15)
  assert.equal(await slow.run(), true)
  assert.equal(await onSale(world), 0)
  // What another process has concluded since the first look stands.
  world.wait(4 * 86_400)
  assert.equal(await slow.run(), true)
  await keepMore(sql, `customer:${id}`, -1n)
  assert.equal(await quick.run(), true)
  assert.equal((await readFindings(sql, { limit: 1 })).findings, 0n)
  await keepMore(sql, `customer:${id}`, 1n)
  world.wait(15)
  assert.equal(await slow.run(), false)
  assert.equal((await readFindings(sql, { limit: 1 })).findings, 0n)
  await keepMore(sql, `customer:${id}`, -1n)
})

test('a process that was paused while another made the check concludes nothing', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const { id } = await world.customer({ trx: 100 })
  const needs = { clock: { now: () => world.now }, chain: undefined }
  const other = watchBooksStep({ ...needs, sql: world.sql })
  const findings = async () => (await readFindings(world.sql, { limit: 1 })).findings
  /** What happens meanwhile does so after so many looks. */
  const paused = (meanwhile: () => Promise<void>, looks: number) =>
    watchBooksStep({ ...needs, sql: withRace(world.sql, meanwhile, { before: looks + 1 }) })
  const foundByOther = async () => {
    world.wait(3_600)
    await keepMore(world.sql, `customer:${id}`, 1n)
    assert.equal(await other.run(), true)
    world.wait(15)
    assert.equal(await other.run(), true)
    assert.notEqual(await findings(), 0n)
  }
  await paused(foundByOther, 1).run()
  assert.notEqual(await findings(), 0n)
  // Nor what both its looks have found, when another has seen that it is gone.
  const goneByOther = async () => {
    world.wait(3_600)
    await keepMore(world.sql, `customer:${id}`, -1n)
    assert.equal(await other.run(), true)
    assert.equal(await findings(), 0n)
  }
  const late = paused(goneByOther, 2)
  world.wait(86_400)
  assert.equal(await late.run(), true)
  world.wait(15)
  await late.run()
  assert.equal(await findings(), 0n)
})

test('what a process has found that ends before its second look stops selling soon', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const { id } = await world.customer({ trx: 100 })
  await keepMore(world.sql, `customer:${id}`, 1n)
  const needs = { sql: world.sql, clock: { now: () => world.now }, chain: undefined }
  assert.equal(await watchBooksStep(needs).run(), true)
  const other = watchBooksStep(needs)
  world.wait(60)
  assert.equal(await other.run(), false, 'the second look may be under way')
  world.wait(60)
  assert.equal(await other.run(), true)
  world.wait(15)
  assert.equal(await other.run(), true)
  assert.equal(await onSale(world), 0)
  await keepMore(world.sql, `customer:${id}`, -1n)
})

test('a second look that fails is made again, and not forgotten with what was found', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const { id } = await world.customer({ trx: 100 })
  await keepMore(world.sql, `customer:${id}`, 1n)
  let looks = 0
  const watch = watchBooksStep({
    sql: world.sql,
    clock: { now: () => world.now },
    chain: undefined,
    notedRoots: async () => {
      looks += 1
      if (looks === 2) throw new Outage('the database')
      return []
    },
  })
  assert.equal(await watch.run(), true)
  world.wait(15)
  await assert.rejects(watch.run(), Outage)
  assert.equal(await watch.run(), true)
  assert.deepEqual([looks, await onSale(world)], [3, 0])
  assert.equal(await watch.run(), false)
  await keepMore(world.sql, `customer:${id}`, -1n)
})

test('what was found on the chain stays found while no node answers, however old', async (t) => {
  const world = await makeWorld(t, { watches_books: true, forges: true })
  const anna = await world.customer({ trx: 100 })
  await world.sql`update deposit set amount_sun = amount_sun + 1`
  let answers = true
  const transport: Transport = async ({ url, body }) => {
    if (!answers) throw new Error('ECONNREFUSED')
    return world.scene.devchain.request('POST', new URL(url).pathname, body)
  }
  const chain = chainView([{ url: 'http://devchain' }], transport)
  const watch = watchBooksStep({ sql: world.sql, clock: { now: () => world.now }, chain })
  const look = async () => {
    for (const seconds of [700, 15]) {
      world.wait(seconds)
      await watch.run()
    }
    return world.sql`
      select rule, subject from books_finding
      where subject in (select tx_id from deposit) and gone_at is null
        order by rule`
  }
  const found = await look()
  assert.equal(found.length, 1)
  await putOnSale(world)
  answers = false
  assert.deepEqual(await look(), found)
  answers = true
  assert.deepEqual(await look(), found)
  assert.notEqual(await onSale(world), 0)
  world.wait(3 * 3_600)
  assert.deepEqual(await look(), found)
  assert.deepEqual(await look(), found)
  assert.notEqual(await onSale(world), 0)
  await world.sql`update deposit set amount_sun = amount_sun - 1`
  assert.deepEqual(await look(), [])
  assert.equal(await anna.balance(), 100)
})
