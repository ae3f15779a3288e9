// Rows of direct recharges, just inside and just outside of what each step takes up: one of each
// is written down, and the step alone is asked and run.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { NETWORK_FEE_SUN, REFUND_MAX_SUN } from 'penstock-service/chain/signing/signer.ts'
import type { OrderPlacer } from 'penstock-service/market/orders/placing.ts'
import type { Prices } from 'penstock-service/market/prices/prices.ts'
import { DIRECT_RECHARGE } from 'penstock-service/people/customers/customers.ts'
import { refuseReceiver } from 'penstock-service/people/customers/purse.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { Step } from 'penstock-service/platform/steps/step.ts'
import { InvalidParams, ServiceUnavailable } from 'penstock-service/platform/wire/endpoint.ts'
import { heldSenders } from 'penstock-service/screening/engine/barred.ts'
import { BLOCKED, deliveryName } from 'penstock-service/treasury/deposits/deposits.ts'
import { pages } from 'penstock-service/treasury/deposits/pages.ts'
import {
  rechargedStep,
  rechargeStep,
  refundedStep,
  refundStep,
} from 'penstock-service/treasury/deposits/recharges.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { freshDatabase } from '../../harness/database.ts'

const now = new Date('2026-10-08T15:26:32Z')
const at = (ms: number) => new Date(now.getTime() + ms)
const DUST_SUN = 100_000n
const [sender, wallet] = [person('sender').address, person('wallet').address]

type Row = {
  tx_id?: string
  position?: number
  state?: string
  sun?: bigint | null
  block?: number
  solid?: boolean
  due?: Date
  reason?: string
  from?: string
  /** The states of its order and of its refund. */
  order?: string
  attempt?: string
}

type TryOrder = OrderPlacer['tryOrder']

const NOTHING_ON_SALE: Prices = { tiers: [], activation_sun: 1n, on_sale: new Set() }

class Desk {
  readonly sql: Sql
  witnessed: string[] = []

  constructor(sql: Sql) {
    this.sql = sql
  }

  /** Blocks were read up to the 10th, and of the head up to the 20th. */
  static async of(t: TestContext): Promise<Desk> {
    const { sql } = await freshDatabase(t)
    await sql`
      insert into cursor (name, number) values ('deposits', 10), ('arrivals', 20), ('z', 90)`
    return new Desk(sql)
  }

  get needs() {
    const clock = { now: () => now }
    let made = 0
    return {
      sql: this.sql,
      clock,
      new_id: () => `made ${++made}`,
      prices: async () => NOTHING_ON_SALE,
      tryOrder: (): ReturnType<TryOrder> => assert.fail('nothing is sold here'),
      isWitnessed: async (tx_id: string) => {
        this.witnessed.push(tx_id)
        return false
      },
      refund_wallet: { address: wallet, permission_id: 2 },
      heldSenders: heldSenders({ clock }),
      issuers: { ask: async () => {} },
      dust_sun: DUST_SUN,
    }
  }

  async add(row: Row): Promise<void> {
    const { tx_id = 'one', position = 0, state = 'returning', sun = 5_000_000n } = row
    const { block = 10, solid = true, due = now, reason = 'why', from = sender } = row
    const id = `${tx_id} ${position}`
    if (row.order) await this.order(id, `order of ${id}`, row.order)
    if (row.attempt) await this.attempt(id, `refund:${tx_id} of ${position}`, row.attempt)
    await this.sql`
      insert into deposit (tx_id, position, from_address, to_address, amount_sun, token,
        token_amount, block_number, block_time, state, reason, order_id, refund_id, solid_at,
        due_at, seen_at)
      values (${tx_id}, ${position}, ${from}, 'us', ${sun}, ${sun === null ? 'coin' : null},
        ${sun === null ? 1 : null}, ${block}, ${now}, ${state}, ${reason},
        ${row.order ? id : null}, ${row.attempt ? id : null}, ${solid ? now : null}, ${due},
        ${now})`
  }

  order(id: string, external_id: string, state: string, customer_id = DIRECT_RECHARGE) {
    return this.sql`
      insert into orders (id, customer_id, external_id, service, address, energy, activate, state,
        to_delegate, amount_sun, tx_id, due_at, created_at)
      values (${id}, ${customer_id}, ${external_id}, 'energy', 'bob', 1, false, ${state}, false,
        0, 'tx', ${now}, ${now})`
  }

  attempt(id: string, subject: string, state: string) {
    const signed = state === 'new' ? null : { tx_id: `tx of ${id}`, expires_at: now }
    const block = state === 'solid' ? 10 : null
    return this.sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_time)
      values (${id}, ${subject}, '{}', ${state}, ${signed?.tx_id ?? null},
        ${signed ? Buffer.of() : null}, ${signed?.expires_at ?? null}, ${now}, ${now}, ${block},
        ${block === null ? null : now})`
  }

  async isDue(step: Step): Promise<boolean> {
    return await isDue(this.sql, step)
  }

  /** Their states, by transaction and position. */
  async states(): Promise<string> {
    const rows = await this.sql<{ tx_id: string; position: number; state: string }>`
      select tx_id, position, state from deposit order by tx_id, position`
    return rows.map((one) => `${one.tx_id} ${one.position} ${one.state}`).join(', ')
  }

  async one() {
    const [row] = await this.sql<{ state: string; reason: string; refund_id: string | null }>`
      select state, reason, refund_id from deposit where tx_id = 'one' and position = 0`
    return row!
  }

  async clear(): Promise<void> {
    await this.sql`delete from deposit`
    await this.sql`delete from orders`
    await this.sql`delete from attempt`
  }
}

/** Whether a step is due, and says that it has moved something, for each row alone. */
async function eachAlone(
  desk: Desk,
  step: Step,
  rows: readonly [row: Row, due: boolean, moved: boolean][],
): Promise<void> {
  for (const [row, due, moved] of rows) {
    await desk.clear()
    await desk.add(row)
    const name = JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
    assert.equal(await desk.isDue(step), due, `due: ${name}`)
    assert.equal(await step.run(), moved, `moved: ${name}`)
  }
}

test('a recharge is taken up when it is due, and its block was read', async (t) => {
  const desk = await Desk.of(t)
  const received = { state: 'received', solid: true }
  const young = { state: 'received', solid: false, block: 20 }
  await eachAlone(desk, rechargeStep(desk.needs), [
    [received, true, true],
    [{ ...received, due: at(-1) }, true, true],
    [{ ...received, due: at(1) }, false, false],
    [{ ...received, block: 90 }, true, true],
    [{ ...received, state: 'seen' }, false, false],
    [{ ...received, state: 'held' }, false, false],
    // Not before another node has it, too.
    [young, true, false],
    [{ ...young, block: 21 }, false, false],
    [{ ...young, due: at(1) }, false, false],
    [{ ...young, state: 'seen' }, false, false],
    // What solid blocks should have had is gone.
    [{ ...young, block: 11, due: at(1) }, false, false],
    [{ ...young, block: 10, due: at(1) }, true, true],
    [{ ...young, block: 10, state: 'seen' }, true, true],
    [{ ...young, block: 10, state: 'returning' }, true, true],
    [{ ...young, block: 10, state: 'held' }, false, false],
  ])
  assert.deepEqual(desk.witnessed, ['one'], 'no other had to be asked about')
})

test('what is taken up is left alone for half a minute, or looked at again soon', async (t) => {
  const desk = await Desk.of(t)
  const step = rechargeStep(desk.needs)
  await desk.add({ tx_id: 'solid', state: 'received' })
  await desk.add({ tx_id: 'young', state: 'received', solid: false, block: 20 })
  await desk.add({ tx_id: 'young', position: -1, state: 'received', due: at(9) })
  await desk.add({ tx_id: 'later', state: 'received', due: at(9) })
  await step.run()
  const rows = await desk.sql<{ tx_id: string; position: number; due_at: Date }>`
    select tx_id, position, due_at from deposit order by tx_id, position`
  assert.deepEqual(
    rows.map((one) => [one.tx_id, one.position, one.due_at.getTime() - now.getTime()]),
    [
      ['later', 0, 9],
      ['solid', 0, 30_000],
      ['young', -1, 9],
      ['young', 0, 3_000],
    ],
  )
})

/** Energy at a TRX for each 1000, from 1000 to 9000. */
const PRICES: Prices = {
  tiers: [
    {
      resource: 'energy',
      duration_hours: 1,
      min_amount: 1_000,
      max_amount: 9_000,
      price_sun: 1_000_000n,
    },
  ],
  activation_sun: 1n,
  on_sale: new Set([DIRECT_RECHARGE]),
}

test('why a recharge buys nothing is said, and it goes back; or it is ordered', async (t) => {
  const desk = await Desk.of(t)
  const { needs } = desk
  await desk.sql`
    insert into flow_freeze (address, token, frozen, number) values ('thief', 'coin', true, 1)`
  const none: TryOrder = () => assert.fail('it is not to be ordered')
  const full: TryOrder = async () => ServiceUnavailable()
  const bad: TryOrder = async () => InvalidParams().because('no such address')
  const at_least = { solid: false, block: 20 }
  const two_minutes = 120_000
  const ends: [row: Row, tryOrder: TryOrder, waited_ms: number, reason: RegExp | undefined][] = [
    [{ from: 'thief' }, none, 0, /^blocked: the sender/],
    [{ sun: null }, none, 0, /^the amount is in no tier$/],
    [{ sun: 999_999n }, none, 0, /^the amount is in no tier$/],
    [{}, bad, 0, new RegExp(InvalidParams().message)],
    [{}, full, two_minutes, undefined],
    [{}, full, two_minutes + 1, /^the pool could not deliver it$/],
    [at_least, bad, 0, new RegExp(InvalidParams().message)],
  ]
  for (const [row, tryOrder, waited_ms, reason] of ends) {
    await desk.clear()
    await desk.add({ ...row, state: 'received', due: now })
    await desk.sql`update deposit set seen_at = ${at(-waited_ms)}`
    const more = { prices: async () => PRICES, tryOrder, isWitnessed: async () => true }
    const moved = await rechargeStep({ ...needs, ...more }).run()
    const found = await desk.one()
    assert.equal(moved, reason !== undefined)
    assert.equal(found.state, reason ? 'returning' : 'received')
    assert.match(found.reason, reason ?? /^why$/)
  }
  await desk.clear()
  await desk.add({ state: 'received' })
  const off = { ...PRICES, on_sale: new Set<never>() }
  await rechargeStep({ ...needs, prices: async () => off, tryOrder: none }).run()
  assert.equal((await desk.one()).reason, 'direct recharge is off sale')
})

test('an order for a recharge is placed while it is there to be delivered', async (t) => {
  const desk = await Desk.of(t)
  let asked = 0
  const tryOrder: TryOrder = async ({ energy, internal }) => {
    asked += 1
    assert.deepEqual([energy, internal!.agreed_sun], [5_000, 5_000_000n])
    const { lock, note } = internal!.cause!
    return desk.sql.begin(async (tx) => {
      const fault = await lock(tx)
      if (fault) return fault
      const order = { id: 'ordered', energy: 5_000n } as Parameters<typeof note>[1]
      await desk.order('ordered', deliveryName('one'), 'new')
      await note(tx, order)
      return { order, replayed: false } as Awaited<ReturnType<TryOrder>>
    })
  }
  const needs = { ...desk.needs, prices: async () => PRICES, tryOrder }
  await desk.add({ state: 'received' })
  assert.equal(await rechargeStep(needs).run(), true)
  assert.deepEqual([asked, await desk.states()], [1, 'one 0 delivering'])
  await desk.clear()
  await desk.add({ state: 'received' })
  // Meanwhile another gives it back.
  const ask = async () => void (await desk.sql`update deposit set state = 'returning'`)
  assert.equal(await rechargeStep({ ...needs, issuers: { ask } }).run(), false)
  const { state, reason } = await desk.one()
  assert.deepEqual([asked, state, reason], [2, 'returning', 'why'])
})

test('a sender blacklisted while the order is judged gets nothing, nor the money', async (t) => {
  const desk = await Desk.of(t)
  // What is asked of the chain takes a while, in which the sender is frozen.
  const tryOrder: TryOrder = async ({ internal }) => {
    await desk.sql`
      insert into flow_freeze (address, token, frozen, number) values (${sender}, 'coin', true, 1)`
    const fault = await desk.sql.begin((tx) => internal!.cause!.lock(tx))
    return fault ?? assert.fail('it would be ordered')
  }
  const needs = { ...desk.needs, prices: async () => PRICES, tryOrder }
  await desk.add({ state: 'received' })
  assert.equal(await rechargeStep(needs).run(), true)
  const { state, reason } = await desk.one()
  assert.deepEqual([state, reason], ['returning', 'blocked: the sender is blacklisted'])
})

test('that nothing is sold to a blacklisted sender is shown to no stranger', async (t) => {
  const desk = await Desk.of(t)
  const tryOrder: TryOrder = async () => refuseReceiver('barred')!
  const needs = { ...desk.needs, prices: async () => PRICES, tryOrder }
  const tx_id = '3f7a'.repeat(16)
  const dust = { ...needs, refund_wallet: undefined }
  for (const step of [rechargeStep(needs), refundStep(dust)]) {
    if ((await desk.states()) === '') await desk.add({ tx_id, state: 'received' })
    await step.run()
    const [row] = await desk.sql<{ reason: string }>`select reason from deposit`
    assert.match(row!.reason, /^This address is blacklisted/, 'the house sees it')
    const [page] = pages({ sql: desk.sql, clock: needs.clock })
    const { body } = await page!.handle({ params: { tx_id }, request_id: 'r' } as never)
    const [shown] = JSON.parse(String(body)).result.deposits
    assert.equal(shown.reason, null)
  }
})

test('an order placed before is taken over: its own, of direct recharge', async (t) => {
  const desk = await Desk.of(t)
  const step = rechargeStep(desk.needs)
  await desk.order('foreign', deliveryName('one'), 'new', 'anna')
  await desk.order('other', deliveryName('two'), 'new')
  await desk.add({ state: 'received' })
  await step.run()
  assert.equal(await desk.states(), 'one 0 returning')
  await desk.add({ tx_id: 'two', state: 'received' })
  assert.equal(await step.run(), true)
  assert.equal(await desk.states(), 'one 0 returning, two 0 delivering')
  const [row] = await desk.sql`select order_id, energy from deposit where tx_id = 'two'`
  assert.deepEqual(row, { order_id: 'other', energy: 1n })
})

test('a delivery is looked at when its own order has ended', async (t) => {
  const desk = await Desk.of(t)
  const step = rechargedStep(desk.needs)
  const delivering = { state: 'delivering' }
  await eachAlone(desk, step, [
    [{ ...delivering, order: 'success' }, true, true],
    [{ ...delivering, order: 'failed' }, true, true],
    [{ ...delivering, order: 'new' }, false, false],
    [{ ...delivering, order: 'pending' }, false, false],
    [{ state: 'delivered', order: 'success' }, false, false],
  ])
  await desk.clear()
  await desk.order('another', 'another', 'success')
  await desk.add({ ...delivering, order: 'pending' })
  assert.equal(await desk.isDue(step), false, 'the order of something else')
})

test('what goes back is taken up when its block is solid', async (t) => {
  const desk = await Desk.of(t)
  await eachAlone(desk, refundStep(desk.needs), [
    [{ state: 'returning' }, true, true],
    [{ state: 'returning', due: at(9) }, true, true],
    [{ state: 'returning', solid: false }, false, false],
    [{ state: 'received' }, false, false],
    [{ state: 'refunding', attempt: 'new' }, true, false],
    [{ state: 'refunding', attempt: 'sent' }, false, false],
    [{ state: 'refunded', attempt: 'new' }, false, false],
    [{ state: 'returning', sun: null }, true, false],
  ])
})

test('a refund is withdrawn that is not signed, and goes to whom nothing may', async (t) => {
  const desk = await Desk.of(t)
  const step = refundStep(desk.needs)
  await desk.sql`
    insert into flow_freeze (address, token, frozen, number) values ('thief', 'coin', true, 1)`
  const refunding = { state: 'refunding', attempt: 'new' }
  await desk.add({ tx_id: 'a', ...refunding, from: 'thief' })
  await desk.add({ tx_id: 'b', ...refunding })
  await desk.add({ tx_id: 'c', ...refunding, from: 'thief', attempt: 'sent' })
  await desk.add({ tx_id: 'd', ...refunding, from: 'thief', state: 'refunded' })
  assert.equal(await step.run(), true)
  const rows = await desk.sql<{ id: string; state: string }>`
    select id, state from attempt order by id`
  assert.deepEqual(
    rows.map(({ id, state }) => `${id} ${state}`),
    ['a 0 dead', 'b 0 new', 'c 0 sent', 'd 0 new'],
  )
  assert.equal(await step.run(), false, 'there is nothing more to withdraw')
  await desk.clear()
  await desk.add({ ...refunding, from: 'thief' })
  assert.equal(await step.run(), true, 'it alone')
})

test('what goes back is not held up by the many that do not', async (t) => {
  const desk = await Desk.of(t)
  for (let i = 0; i < 50; i++)
    await desk.add({ tx_id: `other ${i}`, state: i % 2 ? 'held' : 'received', due: at(-9) })
  for (let i = 0; i < 50; i++) await desk.add({ tx_id: `new ${i}`, solid: false, due: at(-9) })
  await desk.add({})
  assert.equal(await refundStep(desk.needs).run(), true)
  assert.equal((await desk.one()).state, 'refunding')
})

test('how much may go back: from half a TRX to a thousand, with the fee on top', async (t) => {
  const desk = await Desk.of(t)
  const least = 500_000n + NETWORK_FEE_SUN
  const most = REFUND_MAX_SUN + NETWORK_FEE_SUN
  const ends: [row: Row, state: string, reason: string][] = [
    [{ sun: least }, 'refunding', 'why'],
    [{ sun: least - 1n }, 'held', 'why; too little to send back'],
    [{ sun: most }, 'refunding', 'why'],
    [{ sun: most + 1n }, 'held', 'why; more than a refund may send'],
    [{ sun: DUST_SUN }, 'held', 'why; too little to send back'],
    [{ sun: DUST_SUN - 1n }, 'ignored', 'why; too little to send back'],
    [{ from: wallet }, 'held', 'why; it came from the wallet for refunds'],
    [{ reason: BLOCKED }, 'held', BLOCKED],
    [{ reason: BLOCKED, sun: DUST_SUN - 1n }, 'ignored', BLOCKED],
  ]
  for (const [row, state, reason] of ends) {
    await desk.clear()
    await desk.add(row)
    assert.equal(await refundStep(desk.needs).run(), true)
    const found = await desk.one()
    assert.deepEqual([found.state, found.reason], [state, reason])
  }
  await desk.clear()
  await desk.add({})
  await refundStep({ ...desk.needs, refund_wallet: undefined }).run()
  const { state, reason } = await desk.one()
  assert.deepEqual([state, reason], ['held', 'why; no wallet for refunds is configured'])
})

test('what was delivered, or goes back already, is not sent back once more', async (t) => {
  const desk = await Desk.of(t)
  const step = refundStep(desk.needs)
  // Of others, failed, and dead: none of them is in the way.
  await desk.order('foreign', deliveryName('one'), 'success', 'anna')
  await desk.order('other', deliveryName('two'), 'success')
  await desk.order('failed', deliveryName('three'), 'failed')
  await desk.attempt('dead', 'refund:one', 'dead')
  await desk.attempt('other', 'refund:two', 'sent')
  await desk.add({ position: -1, solid: false })
  await desk.add({})
  await desk.add({ tx_id: 'three', due: at(-1) })
  assert.equal(await step.run(), true)
  assert.equal(await desk.states(), 'one -1 returning, one 0 refunding, three 0 refunding')
  const crossed = await desk.sql`
    select 1 from deposit join attempt as a on a.id = refund_id
    where subject <> 'refund:' || deposit.tx_id`
  assert.equal(crossed.length, 0, 'each has its own')
  assert.match((await desk.one()).refund_id!, /^made/)
  await desk.clear()
  await desk.attempt('sent', 'refund:one', 'sent')
  await desk.add({})
  assert.equal(await step.run(), true)
  assert.equal((await desk.one()).refund_id, 'sent')
  await desk.clear()
  await desk.order('delivers', deliveryName('one'), 'pending')
  await desk.add({})
  await assert.rejects(step.run(), /was delivered and cannot go back/)
  const [{ due_at } = assert.fail()] = await desk.sql<{ due_at: Date }>`
    select due_at from deposit`
  assert.deepEqual(due_at, at(3_000))
})

test('what another has decided about meanwhile is not sent back', async (t) => {
  const desk = await Desk.of(t)
  await desk.add({})
  await desk.add({ tx_id: 'unsigned', state: 'refunding', attempt: 'new' })
  const step = refundStep({
    ...desk.needs,
    heldSenders: async () => {
      await desk.sql`update deposit set state = 'held' where tx_id = 'one'`
      return new Set()
    },
  })
  assert.equal(await step.run(), false)
  assert.equal((await desk.one()).state, 'held')
})

test('a refund is booked when its own attempt is solid, and made again when dead', async (t) => {
  const desk = await Desk.of(t)
  const step = refundedStep(desk.needs)
  const refunding = { state: 'refunding' }
  await eachAlone(desk, step, [
    [{ ...refunding, attempt: 'new' }, false, false],
    [{ ...refunding, attempt: 'sent' }, false, false],
    [{ ...refunding, attempt: 'dead' }, true, true],
    [{ state: 'refunded', attempt: 'dead' }, false, false],
    [{ state: 'refunded', attempt: 'solid' }, false, false],
  ])
  await desk.clear()
  await desk.attempt('another', 'another', 'solid')
  await desk.add({ ...refunding, attempt: 'sent' })
  assert.equal(await desk.isDue(step), false, 'the attempt of something else')
  await desk.sql`
    update attempt set state = 'solid', block_number = 10, block_time = ${now}
    where id = 'one 0'`
  await desk.sql`update account set posted_sun = 5000000 where id = 'customer:direct_recharge'`
  assert.equal(await desk.isDue(step), true)
  assert.equal(await step.run(), true)
  assert.equal((await desk.one()).state, 'refunded')
  const booked = await desk.sql<{ id: string; amount_sun: bigint }>`
    select id, amount_sun from transfer order by id`
  assert.deepEqual(
    booked.map(({ id, amount_sun }) => [id, amount_sun]),
    [
      ['refund:one', 4_700_000n],
      ['refund_fee:one', 300_000n],
    ],
  )
})
