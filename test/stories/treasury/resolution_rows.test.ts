// How what is held is ended by hand, case by case: which deposit is meant, what a transaction has
// sent back, what is refused, and where the money is booked.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import type { StoredBlock } from 'penstock-service/chain/follow/blocks.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { heldSenders } from 'penstock-service/screening/engine/barred.ts'
import { BLOCKED, findDeposits, HIGH_RISK } from 'penstock-service/treasury/deposits/deposits.ts'
import {
  findResolutions,
  openDeposit,
  resolveDeposit,
  sentIn,
  type Way,
} from 'penstock-service/treasury/deposits/resolutions.ts'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from '../../harness/database.ts'

const now = new Date('2026-10-08T15:26:32Z')
const [sam, thief, bob] = [person('sam').address, person('thief').address, person('bob').address]
const BLOCK = 7
const CAME = 1_000n

type Row = {
  tx_id?: string
  position?: number
  state?: string
  reason?: string
  customer?: string | null
  from?: string
  token?: string | null
}

class Desk {
  readonly sql: Sql

  constructor(sql: Sql) {
    this.sql = sql
  }

  /** Two customers, of whom zoe is closed; a thief; money that is held for anna, and for nobody. */
  static async of(t: TestContext): Promise<Desk> {
    const { sql } = await freshDatabase(t)
    for (const id of ['anna', 'zoe']) await sql.begin((tx) => makeCustomer(tx, { id, at: now }))
    await sql`update customer set state = 'closed' where id = 'zoe'`
    await sql`
      insert into flow_freeze (address, token, frozen, number) values (${thief}, 'coin', true, 1)`
    await sql`
      update account set posted_sun = 100000 where id in ('held_deposits',
        'customer:direct_recharge')`
    return new Desk(sql)
  }

  async add(row: Row): Promise<void> {
    const { tx_id = 'one', position = 0, state = 'held', reason = 'why', token = null } = row
    const { customer = 'anna', from = sam } = row
    await this.sql`
      insert into deposit (tx_id, position, from_address, to_address, amount_sun, token,
        token_amount, block_number, block_time, customer_id, state, reason, due_at, seen_at,
        solid_at)
      values (${tx_id}, ${position}, ${from}, 'us', ${token ? null : CAME}, ${token},
        ${token ? String(CAME) : null}::numeric, ${BLOCK}, ${now}, ${customer}, ${state},
        ${reason}, ${now}, ${now}, ${now})`
  }

  resolve(tx_id: string, way: Way, { reviewed = false, position = 0 } = {}) {
    const clock = { now: () => now }
    return this.sql.begin((tx) =>
      resolveDeposit(tx, heldSenders({ clock }), {
        deposit: { tx_id, position },
        way,
        blocked_reviewed: reviewed,
        made_at: now,
        made_by: 'olga',
        reason: 'looked into',
      }),
    )
  }

  async bookings(): Promise<string[]> {
    const rows = await this.sql<{ line: string }>`
      select concat_ws(' ', id, debit, credit, amount_sun) as line from transfer order by id`
    return rows.map(({ line }) => line)
  }
}

const OFF: Way = { way: 'written_off' }
const credit = (customer_id: string): Way => ({ way: 'credited', customer_id })
const back = (amount: bigint, { block = BLOCK, keep_rest = false, tx_id = 'back' } = {}): Way => ({
  way: 'sent_back',
  sent: { tx_id, to: sam, amount, block_number: block },
  keep_rest,
})

test('the deposit that is meant is the one at the position, or the only open one', async (t) => {
  const desk = await Desk.of(t)
  await desk.add({ tx_id: 'one', state: 'ignored' })
  await desk.add({ tx_id: 'two' })
  await desk.add({ tx_id: 'two', position: -1, state: 'ignored' })
  await desk.add({ tx_id: 'half', state: 'credited' })
  await desk.add({ tx_id: 'half', position: -1 })
  await desk.add({ tx_id: 'done', state: 'resolved' })
  await desk.add({ tx_id: 'done', position: -1, state: 'credited' })
  const meant: [tx_id: string, position: number | undefined, found: number | RegExp][] = [
    ['one', undefined, 0],
    ['one', 0, 0],
    ['one', 3, /There is no deposit at the position 3 of one/],
    ['two', undefined, /several that are held or ignored, at -1, 0: which --position/],
    ['two', 0, 0],
    ['two', -1, -1],
    ['half', undefined, -1],
    ['half', 0, /The deposit is credited: only/],
    ['done', undefined, /The deposit is credited, resolved: only/],
    ['none', undefined, /No deposit came with the transaction none/],
    ['none', 0, /No deposit came with the transaction none/],
  ]
  for (const [tx_id, position, found] of meant) {
    const asked = openDeposit(desk.sql, { tx_id, position })
    if (found instanceof RegExp) await assert.rejects(asked, found)
    else assert.equal((await asked).position, found, `${tx_id} ${position}`)
  }
})

test('what was sent back is the sum of what the transaction sent there, of that asset', () => {
  const move = { tx_id: 'back', kind: 'transfer', index: 0, asset: 'TRX', from: bob } as const
  const contents: StoredBlock['contents'] = {
    moves: [
      { ...move, to: sam, amount: 3n },
      { ...move, to: sam, amount: 4n },
      { ...move, to: bob, amount: 50n },
      { ...move, to: sam, amount: 600n, tx_id: 'other' },
      { ...move, to: bob, amount: 1n, tx_id: 'least' },
    ],
    unfollowed: [
      { ...move, to: sam, amount: 7_000n, asset: 'coin' },
      { ...move, to: sam, amount: 1n, asset: 'coin' },
    ],
    unknown: [],
    freezes: [],
    energy_uses: [],
    fees: [],
  }
  const sent = (tx_id: string, to: typeof sam, asset: string) =>
    sentIn({ number: BLOCK, contents }, { tx_id, to, asset })
  assert.deepEqual(sent('back', sam, 'TRX'), {
    tx_id: 'back',
    to: sam,
    amount: 7n,
    block_number: 7,
  })
  assert.equal(sent('back', sam, 'coin').amount, 7_001n)
  assert.equal(sent('least', bob, 'TRX').amount, 1n)
  assert.throws(() => sent('other', bob, 'TRX'), /The transaction other has sent no TRX to/)
  assert.throws(() => sent('back', bob, 'coin'), /has sent no of the token coin to/)
})

test('each way books what came from where it lies to where it goes', async (t) => {
  const desk = await Desk.of(t)
  await desk.add({ tx_id: 'a' })
  await desk.add({ tx_id: 'a', position: -1 })
  await desk.add({ tx_id: 'b', customer: null })
  for (const tx_id of ['c', 'd', 'e']) await desk.add({ tx_id })
  for (const tx_id of ['f', 'g']) await desk.add({ tx_id, token: 'coin' })
  await desk.resolve('a', credit('anna'))
  await desk.resolve('b', OFF)
  await desk.resolve('c', back(CAME))
  await desk.resolve('d', back(CAME - 1n, { keep_rest: true, tx_id: 'short' }))
  await desk.resolve('e', back(CAME - 2n, { keep_rest: true, tx_id: 'shorter', block: 8 }))
  await desk.resolve('f', OFF)
  await desk.resolve('g', back(CAME, { tx_id: 'coins' }))
  assert.deepEqual(await desk.bookings(), [
    'resolution:a held_deposits customer:anna 1000',
    'resolution:b customer:direct_recharge written_off 1000',
    'resolution:c held_deposits world 1000',
    'resolution:d held_deposits world 999',
    'resolution:d/rest held_deposits written_off 1',
    'resolution:e held_deposits world 998',
    'resolution:e/rest held_deposits written_off 2',
  ])
  const states = (await findDeposits(desk.sql, 'a')).map(({ position, state }) => [position, state])
  assert.deepEqual(states, [
    [-1, 'held'],
    [0, 'resolved'],
  ])
  const rows = []
  for (const tx_id of ['a', 'b', 'd'])
    for (const one of await findResolutions(desk.sql, tx_id))
      rows.push([one.tx_id, one.way, one.sent_by, one.sent_amount, one.sent_block, one.customer_id])
  assert.deepEqual(
    rows.map((row) => row.map((one) => (one === null ? null : String(one)))),
    [
      ['a', 'credited', null, null, null, 'anna'],
      ['b', 'written_off', null, null, null, null],
      ['d', 'sent_back', 'short', '999', '7', null],
    ],
  )
})

test('what may not be is refused, and changes nothing', async (t) => {
  const desk = await Desk.of(t)
  await desk.add({ tx_id: 'one' })
  await desk.add({ tx_id: 'one', position: -1, state: 'resolved' })
  await desk.add({ tx_id: 'done', state: 'credited' })
  await desk.add({ tx_id: 'token', token: 'coin' })
  await desk.sql`
    insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at)
    values ('ours', 'refund:x', '{}', 'sent', 'ours', ${Buffer.of()}, ${now}, ${now}, ${now})`
  await desk.sql`
    insert into collection (id, receiver, digest, expires_at, made_at, made_by)
    values ('c', ${sam}, ${'0'.repeat(64)}, ${now}, ${now}, 'olga')`
  await desk.sql`
    insert into collection_transfer (tx_id, collection_id, position, address, deposit_index, amount,
      raw_data, expires_at, due_at)
    values ('collected', 'c', 0, 'us', 0, ${String(CAME)}::numeric, ${Buffer.of()}, ${now}, ${now})`
  const refused: [tx_id: string, way: Way, why: RegExp, position?: number][] = [
    ['done', OFF, /^The deposit is credited: only what is held/],
    ['none', OFF, /^The deposit is undefined: only what is held/],
    ['one', OFF, /^The deposit is resolved: only what is held/, -1],
    ['one', credit('nina'), /^There is no customer nina/],
    ['one', credit('zoe'), /^The customer zoe is closed, for good/],
    ['token', credit('anna'), /^A token cannot be credited/],
    ['one', back(CAME + 1n), /^It has sent 1001 sun, and only 1000 came/],
    ['one', back(CAME - 1n), /^It has sent 999 sun of 1000: --keep-rest/],
    ['one', back(CAME + 1n, { keep_rest: true }), /^It has sent 1001 sun, and only/],
    ['token', back(CAME - 1n), /^It has sent 999 of the token of 1000/],
    ['token', back(CAME + 1n), /^It has sent 1001 of the token, and only 1000/],
    ['one', back(CAME, { block: BLOCK - 1 }), /^It was in a block before the deposit/],
    ['one', back(CAME, { tx_id: 'ours' }), /^The service itself has sent ours/],
    ['one', back(CAME, { tx_id: 'collected' }), /^The transaction collected is part of a coll/],
  ]
  for (const [tx_id, way, why, position = 0] of refused)
    await assert.rejects(desk.resolve(tx_id, way, { position }), { message: why })
  assert.deepEqual(await desk.bookings(), [])
  const rows = await desk.sql`select 1 from deposit_resolution`
  assert.equal(rows.length, 0)
  await desk.resolve('one', back(CAME))
})

test('what was blocked, or comes from whom is, is ended after a look alone', async (t) => {
  const desk = await Desk.of(t)
  await desk.add({ tx_id: 'blocked', reason: BLOCKED })
  await desk.add({ tx_id: 'thief', from: thief })
  await desk.add({ tx_id: 'risk', reason: HIGH_RISK })
  await desk.add({ tx_id: 'clean' })
  const why = [/is or was blacklisted/, /is or was blacklisted/, /The money is of high risk/]
  for (const [i, tx_id] of ['blocked', 'thief', 'risk'].entries()) {
    await assert.rejects(desk.resolve(tx_id, OFF), why[i]!)
    await desk.resolve(tx_id, OFF, { reviewed: true })
  }
  await desk.resolve('clean', OFF)
  assert.equal((await desk.bookings()).length, 4)
})
