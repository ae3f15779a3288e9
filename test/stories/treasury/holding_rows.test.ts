// Rows of what addresses hold, just inside and just outside of what the step asks a node for and
// compares: the step alone, with a node of which each answer is given.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { pack } from 'penstock-service/chain/follow/contents.ts'
import type { Node } from 'penstock-service/chain/node/node.ts'
import { Outage } from 'penstock-service/lib/fault.ts'
import { firstIdAt } from 'penstock-service/lib/ids.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { Step } from 'penstock-service/platform/steps/step.ts'
import { heldSenders } from 'penstock-service/screening/engine/barred.ts'
import { holdingsStep } from 'penstock-service/treasury/deposits/holdings.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { freshDatabase } from '../../harness/database.ts'
import { ownTransaction } from '../../harness/own_transaction.ts'

const begin_ms = Date.UTC(2026, 9, 8, 12)
const YOUNG_MS = 600_000
const anna = person('anna').address
const bert = person('bert').address
const recharge = person('recharge').address
const sam = person('sam').address

type Holding = {
  address: string
  number?: number
  sun?: bigint
  compared?: boolean
  due_ms?: number
}
type Row = { tx_id: string; to?: string; state?: string; sun?: bigint; block?: number }

class Desk {
  readonly sql: Sql
  readonly url: string
  readonly step: Step
  now_ms = begin_ms
  /** Which node was asked for the balance of whom, and for which fees. */
  asked: string[] = []
  head = { number: 5, id: 'head' }
  balance: (name: string) => Promise<bigint> = async () => 100n
  fee: (tx_id: string) => Promise<bigint | undefined> = async () => undefined

  constructor(sql: Sql, url: string) {
    this.sql = sql
    this.url = url
    const clock = { now: () => new Date(this.now_ms) }
    this.step = holdingsStep({
      sql,
      clock,
      node: this.node(),
      recharge_address: recharge,
      recharge_at: 'inclusion',
      heldSenders: heldSenders({ clock }),
      issuers: { unasked: async () => [], ask: async () => {} },
      dust_sun: 1n,
      wake: () => {},
    })
  }

  /** Deposits were read up to the 10th block. Addresses were looked through now, and an address
   *  is looked at again in ten seconds at the earliest. */
  static async of(t: TestContext): Promise<Desk> {
    const { sql, url } = await freshDatabase(t)
    await sql`insert into cursor (name, number) values ('deposits', 10), ('z', 90)`
    const desk = new Desk(sql, url)
    await desk.customer(firstIdAt(new Date(0)), anna)
    assert.equal(await desk.step.run(), true)
    assert.deepEqual(
      (await sql<{ address: string }>`select address from holding`)
        .map((one) => one.address)
        .sort(),
      [anna, recharge].sort(),
    )
    await desk.clear()
    return desk
  }

  private node(): Node {
    const only = (name: string): Node =>
      ({
        solidHead: async () => this.head,
        holdings: async (address: string) => {
          this.asked.push(`${name} ${this.nameOf(address)}`)
          return this.balance(name)
        },
      }) as unknown as Node
    const feeOf = async (tx_id: string) => {
      this.asked.push(tx_id)
      return this.fee(tx_id)
    }
    return { names: ['a', 'b'], only, feeOf } as unknown as Node
  }

  nameOf = (address: string) =>
    Object.entries({ anna, bert, recharge, sam }).find(([, one]) => one === address)?.[0]

  customer(id: string, address: string) {
    return this.sql`
      insert into customer (id, name, created_at, deposit_index, deposit_address)
      values (${id}, ${id}, now(), nextval('customer_deposit_index'), ${address})`
  }

  /** Nothing is due any more. */
  async clear(): Promise<void> {
    this.asked = []
    await this.sql`delete from deposit_outflow`
    await this.sql`delete from deposit`
    await this.sql`
      update holding set due_at = 'infinity', compared = true, number = 5, held_sun = 0,
        read_from = 'a', prior_sun = 0, surplus_sun = 0`
  }

  async hold({ address, number = 5, sun = 0n, compared = true, due_ms }: Holding): Promise<void> {
    const due_at = due_ms === undefined ? 'infinity' : new Date(this.now_ms + due_ms)
    await this.sql`
      insert into holding (address, prior_sun, number, held_sun, read_from, compared, due_at)
      values (${address}, 0, ${number}, ${sun}, 'a', ${compared}, ${due_at})
      on conflict (address) do update set number = ${number}, held_sun = ${sun},
        compared = ${compared}, due_at = ${due_at}`
  }

  async deposit({ tx_id, to = anna, state = 'unproven', sun = 7n, block = 5 }: Row): Promise<void> {
    const solid = state === 'unproven' || state === 'seen' ? null : new Date(this.now_ms)
    await this.sql`
      insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
        block_time, customer_id, state, reason, solid_at, due_at, seen_at)
      values (${tx_id}, -1, ${sam}, ${to}, ${sun}, ${block}, now(), 'anna', ${state}, 'why',
        ${solid}, now(), now())`
  }

  async outflow(
    tx_id: string,
    more: Partial<Record<'block' | 'due_ms' | 'seen_ms', number>> & {
      address?: string
      fee?: bigint
    },
  ): Promise<void> {
    const { block = 5, due_ms = 9, seen_ms = 0, address = anna, fee = null } = more
    await this.sql`
      insert into deposit_outflow (tx_id, address, block_number, amount_sun, fee_sun, seen_at,
        due_at)
      values (${tx_id}, ${address}, ${block}, 3, ${fee}, ${new Date(this.now_ms + seen_ms)},
        ${new Date(this.now_ms + due_ms)})`
  }

  async isDue(): Promise<boolean> {
    return await isDue(this.sql, this.step)
  }

  async holding(address: string) {
    const [row] = await this.sql<{
      number: bigint
      held_sun: bigint
      compared: boolean
      surplus_sun: bigint
      due_at: Date
    }>`
      select number, held_sun, compared, surplus_sun, due_at from holding
      where address = ${address}`
    return row!
  }
}

test('the step is due for a row that it can do something about, and for no other', async (t) => {
  const desk = await Desk.of(t)
  const rows: [name: string, make: () => Promise<unknown>, due: boolean][] = [
    ['nothing', async () => {}, false],
    ['a fee to ask for', () => desk.outflow('a', { due_ms: 0 }), true],
    ['a fee to ask for later', () => desk.outflow('a', { due_ms: 1 }), false],
    ['a fee that is known', () => desk.outflow('a', { due_ms: 0, fee: 0n }), false],
    ['what a contract sent', () => desk.deposit({ tx_id: 'a', block: 6 }), true],
    ['the balance is of its block', () => desk.deposit({ tx_id: 'a', block: 5 }), false],
    ['no address of ours', () => desk.deposit({ tx_id: 'a', to: sam, block: 6 }), false],
    ['credited', () => desk.deposit({ tx_id: 'a', state: 'credited', block: 6 }), false],
    [
      'not compared yet',
      async () => {
        await desk.deposit({ tx_id: 'a', block: 6 })
        await desk.hold({ address: anna, compared: false })
      },
      false,
    ],
    ['its turn, and a look too many', () => desk.hold({ address: anna, due_ms: 0 }), false],
    ['to compare', () => desk.hold({ address: anna, compared: false, due_ms: 0 }), true],
    ['to compare later', () => desk.hold({ address: anna, compared: false, due_ms: 1 }), false],
    [
      'the last block that was read',
      () => desk.hold({ address: anna, compared: false, due_ms: 0, number: 10 }),
      true,
    ],
    [
      'a block that was not read',
      () => desk.hold({ address: anna, compared: false, due_ms: 0, number: 11 }),
      false,
    ],
  ]
  for (const [name, make, due] of rows) {
    await desk.clear()
    await make()
    assert.equal(await desk.isDue(), due, name)
  }
})

test('a customer who is new has a row at once, and every other within the hour', async (t) => {
  const desk = await Desk.of(t)
  const old = new Date(begin_ms - YOUNG_MS - 1)
  await desk.customer(firstIdAt(old), bert)
  assert.equal(await desk.isDue(), false)
  await desk.step.run()
  assert.equal((await desk.sql`select 1 from holding`).length, 2)
  await desk.customer(firstIdAt(new Date(begin_ms - YOUNG_MS)), sam)
  assert.equal(await desk.isDue(), true)
  await desk.step.run()
  await desk.clear()
  assert.equal((await desk.holding(sam)).compared, true)
  assert.equal(await desk.holding(bert), undefined)
  desk.now_ms = begin_ms + 3_600_000 - 1
  assert.equal(await desk.isDue(), false)
  await desk.step.run()
  assert.equal(await desk.holding(bert), undefined)
  desk.now_ms += 1
  assert.equal(await desk.isDue(), true)
  await desk.step.run()
  assert.equal((await desk.sql`select 1 from holding`).length, 4)
  await desk.clear()
  assert.equal(await desk.isDue(), false, 'once an hour')
})

test('an address has its turn ten seconds after the last, and the first that is due', async (t) => {
  const desk = await Desk.of(t)
  await desk.hold({ address: anna, due_ms: 10_000 })
  await desk.hold({ address: bert, due_ms: 10_001 })
  await desk.hold({ address: recharge, due_ms: 0, compared: false, number: 90 })
  desk.now_ms += 9_999
  await desk.step.run()
  assert.deepEqual(desk.asked, [])
  desk.now_ms += 1
  assert.equal(await desk.isDue(), true)
  assert.equal(await desk.step.run(), true)
  assert.deepEqual(desk.asked, ['b anna'])
  const { number, held_sun, surplus_sun, compared, due_at } = await desk.holding(anna)
  assert.deepEqual([number, held_sun, surplus_sun, compared], [5n, 100n, 100n, true])
  assert.equal(due_at.getTime(), desk.now_ms + 60_000)
  assert.equal((await desk.holding(bert)).held_sun, 0n, 'nothing was read of the other')
})

test('what a contract sent goes before whose turn it is, whenever that was', async (t) => {
  const desk = await Desk.of(t)
  await desk.hold({ address: bert, due_ms: 0 })
  await desk.deposit({ tx_id: 'one', block: 5 })
  await desk.hold({ address: anna, number: 4 })
  await desk.deposit({ tx_id: 'two', to: sam, block: 9 })
  await desk.deposit({ tx_id: 'three', to: recharge, state: 'credited', block: 9 })
  await desk.sql`
    insert into block (number, id, parent_id, time, contents, read_from)
    values (5, 'five', 'four', now(), '{"m": [], "f": [], "e": []}', '{b}')`
  desk.now_ms += 10_000
  assert.equal(await desk.step.run(), true)
  assert.deepEqual(desk.asked, ['a anna'], 'a node that did not give the block')
  desk.asked = []
  await desk.step.run()
  assert.deepEqual(desk.asked, ['b bert'], 'that was no look of a turn')
})

test('a balance counts that is of the block or later, from a node that says one', async (t) => {
  const desk = await Desk.of(t)
  const begin = async () => {
    await desk.clear()
    await desk.deposit({ tx_id: 'one', block: 6 })
    await desk.hold({ address: bert, number: 3 })
  }
  await begin()
  assert.equal(await desk.step.run(), false, 'both nodes are at the block before')
  assert.deepEqual(desk.asked, ['b anna', 'b anna', 'b anna', 'a anna', 'a anna', 'a anna'])
  const waits = await desk.holding(anna)
  assert.deepEqual([waits.number, waits.due_at.getTime()], [5n, desk.now_ms + 60_000])
  assert.equal(String((await desk.holding(bert)).due_at), 'Infinity', 'the other does not wait')
  await begin()
  desk.head = { number: 6, id: 'six' }
  desk.balance = async (name) => {
    if (name === 'b') throw new Outage('down')
    return 7n
  }
  assert.equal(await desk.step.run(), true)
  assert.deepEqual(desk.asked.slice(2), ['b anna', 'a anna'])
  assert.equal((await desk.holding(anna)).number, 6n)
  assert.equal((await desk.holding(bert)).number, 3n)
  await begin()
  desk.balance = async () => {
    desk.head = { number: 6, id: `${desk.asked.length}` }
    return 7n
  }
  assert.equal(await desk.step.run(), false, 'the chain went on meanwhile')
  await begin()
  desk.balance = async () => {
    throw new Error('out of order')
  }
  await assert.rejects(desk.step.run(), /out of order/)
})

test('a balance that another process has read meanwhile stays', async (t) => {
  const desk = await Desk.of(t)
  await desk.deposit({ tx_id: 'one', block: 5 })
  await desk.hold({ address: anna, number: 4 })
  desk.balance = async () => {
    await desk.hold({ address: anna, number: 90, sun: 5n, compared: false })
    return 7n
  }
  await desk.step.run()
  const { number, held_sun } = await desk.holding(anna)
  assert.deepEqual([number, held_sun], [90n, 5n])
})

test('fees are asked for that are due, and each is kept with its own transaction', async (t) => {
  const desk = await Desk.of(t)
  await desk.outflow('told', { due_ms: 0 })
  await desk.outflow('later', { due_ms: 1 })
  await desk.outflow('known', { due_ms: 0, fee: 9n })
  desk.fee = async (tx_id) => (tx_id === 'told' ? 4n : undefined)
  assert.equal(await desk.step.run(), true)
  assert.deepEqual(desk.asked, ['told'])
  await desk.outflow('untold', { due_ms: 0 })
  assert.equal(await desk.step.run(), false)
  const rows = await desk.sql<{ tx_id: string; fee_sun: bigint | null; due_at: Date }>`
    select tx_id, fee_sun, due_at from deposit_outflow order by tx_id`
  assert.deepEqual(
    rows.map(({ tx_id, fee_sun, due_at }) => [tx_id, fee_sun, due_at.getTime() - desk.now_ms]),
    [
      ['known', 9n, 0],
      ['later', null, 1],
      ['told', 4n, 10_000],
      ['untold', null, 10_000],
    ],
  )
  await desk.outflow('fails', { due_ms: 0 })
  desk.fee = async () => {
    throw new Outage('down')
  }
  await assert.rejects(desk.step.run(), /down/)
})

test('a balance is compared when all that left is known, or a day later', async (t) => {
  const desk = await Desk.of(t)
  const day_ms = -86_400_000
  const rows: [name: string, make: () => Promise<unknown>, compared: boolean][] = [
    ['at once', async () => {}, true],
    ['in its block', () => desk.outflow('a', {}), false],
    ['in a block after it', () => desk.outflow('a', { block: 6 }), true],
    ['of another address', () => desk.outflow('a', { address: bert }), true],
    ['with its fee', () => desk.outflow('a', { fee: 1n }), true],
    ['for a day', () => desk.outflow('a', { seen_ms: day_ms }), true],
    ['for nearly a day', () => desk.outflow('a', { seen_ms: day_ms + 1 }), false],
    [
      'for a day, from the beginning',
      async () => {
        await desk.outflow('a', { seen_ms: day_ms })
        await desk.sql`update holding set prior_sun = null`
      },
      false,
    ],
    ['later', () => desk.hold({ address: anna, compared: false, due_ms: 1 }), false],
    ['read', () => desk.hold({ address: anna, compared: false, due_ms: 0, number: 10 }), true],
    ['unread', () => desk.hold({ address: anna, compared: false, due_ms: 0, number: 11 }), false],
  ]
  for (const [name, make, compared] of rows) {
    await desk.clear()
    await desk.hold({ address: anna, compared: false, due_ms: 0 })
    await make()
    assert.equal(await desk.step.run(), compared, name)
    assert.equal((await desk.holding(anna)).compared, compared, name)
  }
})

test('what came and went at an address, up to its block, is what it should hold', async (t) => {
  const desk = await Desk.of(t)
  await desk.hold({ address: anna, compared: false, due_ms: 0, sun: 1_000n })
  await desk.hold({ address: bert, compared: false, due_ms: 1, number: 3 })
  await desk.deposit({ tx_id: 'in', state: 'credited', sun: 100n })
  await desk.deposit({ tx_id: 'after', state: 'credited', sun: 20n, block: 6 })
  await desk.deposit({ tx_id: 'seen', state: 'seen', sun: 30n })
  await desk.deposit({ tx_id: 'other', state: 'credited', sun: 40n, to: bert })
  await desk.outflow('out', { fee: 2n })
  await desk.outflow('out after', { fee: 2n, block: 6 })
  await desk.outflow('out other', { fee: 2n, address: bert })
  assert.equal(await desk.step.run(), true)
  assert.equal((await desk.holding(anna)).surplus_sun, 1_000n - 100n + 5n)
  const { compared, surplus_sun } = await desk.holding(bert)
  assert.deepEqual([compared, surplus_sun], [false, 0n])
})

test('what a contract sent is credited to the sun that is there, and held beyond', async (t) => {
  const desk = await Desk.of(t)
  await desk.sql`insert into account (id) values ('customer:anna')`
  await desk.sql`update customer set id = 'anna'`
  const move = (tx_id: string, to: string, amount: bigint) =>
    ({ tx_id, kind: 'internal', index: 0, asset: 'TRX', from: sam, to, amount }) as never
  const moves = [move('first', anna, 7n), move('second', anna, 5n), move('third', anna, 2n)]
  const none = { unfollowed: [], unknown: [], freezes: [], energy_uses: [], fees: [] }
  await desk.sql`
    insert into block (number, id, parent_id, time, contents)
    values (5, 'five', 'four', now(), ${pack({ ...none, moves })})`
  await desk.deposit({ tx_id: 'first', sun: 7n })
  await desk.deposit({ tx_id: 'second', sun: 5n })
  await desk.deposit({ tx_id: 'third', sun: 2n })
  await desk.deposit({ tx_id: 'fourth', sun: 1n, block: 6 })
  await desk.deposit({ tx_id: 'fifth', sun: 1n, to: bert })
  await desk.deposit({ tx_id: 'before', sun: 10n, state: 'credited' })
  await desk.hold({ address: anna, compared: false, due_ms: 0, sun: 10n + 7n + 2n })
  assert.equal(await desk.step.run(), true)
  const rows = await desk.sql<{ fate: string }>`
    select concat_ws(' ', tx_id, state, amount_sun) as fate from deposit order by tx_id`
  assert.deepEqual(
    rows.map(({ fate }) => fate),
    [
      'before credited 10',
      'fifth unproven 1',
      'first credited 7',
      'fourth unproven 1',
      'second held',
      'third credited 2',
    ],
  )
  assert.equal((await desk.holding(anna)).surplus_sun, 0n)
  await desk.hold({ address: anna, compared: false, due_ms: 0, number: 6, sun: 19n })
  await desk.step.run()
  const [fourth] = await desk.sql`select state from deposit where tx_id = 'fourth'`
  assert.deepEqual(fourth, { state: 'held' })
})

test('an address that another process compares is left to it', async (t) => {
  const desk = await Desk.of(t)
  await desk.hold({ address: anna, compared: false, due_ms: 0 })
  const other = await ownTransaction(t, desk.url)
  await other.query('select 1 from holding where address = $1 for update', [anna])
  assert.equal(await desk.step.run(), false)
  await other.query('rollback')
  assert.equal(await desk.step.run(), true)
})
