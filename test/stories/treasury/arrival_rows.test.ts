// What blocks bring to addresses of ours, one movement of each kind: what becomes of it, where it
// is booked, and what is written down of what leaves.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import type { StoredBlock } from 'penstock-service/chain/follow/blocks.ts'
import { pack } from 'penstock-service/chain/follow/contents.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { heldSenders } from 'penstock-service/screening/engine/barred.ts'
import {
  type Policy,
  publishPolicy,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import {
  arriveStep,
  creditStep,
  type Needs,
  WORTHLESS_ROWS,
} from 'penstock-service/treasury/deposits/deposit_step.ts'
import type { Address } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { freshDatabase } from '../../harness/database.ts'

const now = new Date('2026-10-08T15:26:32Z')
const DUST_SUN = 100_000n
const BLOCK = 7
const [anna, zoe, recharge, sam, thief] = ['anna', 'zoe', 'recharge', 'sam', 'thief'].map(
  (name) => person(name).address,
) as [Address, Address, Address, Address, Address]

type Contents = StoredBlock['contents']
type Kind = Contents['moves'][number]['kind']
type Movement = {
  tx_id: string
  to?: Address
  from?: Address
  amount?: bigint
  asset?: string
  kind?: Kind
  /** Which of the lists of a block has it. */
  list?: 'moves' | 'unfollowed' | 'unknown'
  owner?: Address
}

/** A block with movements, in the order in which they are given. */
function blockOf(sent: readonly Movement[], more: Partial<Contents> = {}): StoredBlock {
  const contents: Contents = {
    moves: [],
    unfollowed: [],
    unknown: [],
    freezes: [],
    energy_uses: [],
    fees: [],
  }
  for (const [i, one] of sent.entries()) {
    const { tx_id, to = anna, from = sam, amount = 5_000_000n, asset = 'TRX' } = one
    const { kind = 'transfer', list = 'moves', owner } = one
    const index = kind === 'event' ? i + 1 : 0
    const move = { tx_id, kind, index, asset, from, to, amount, note: 'odd' }
    if (list === 'unknown') contents.unknown.push(move)
    else contents[list].push(move)
    if (owner) contents.energy_uses.push({ tx_id, owner, energy: 1n, staked: 1n })
  }
  return { number: BLOCK, id: 'block', time: now, contents: { ...contents, ...more } }
}

class Desk {
  readonly sql: Sql
  woken: string[] = []
  asked: string[] = []
  /** Whom issuers have not been asked about. */
  unasked = new Set<Address>()
  recharge_at: Needs['recharge_at'] = 'inclusion'

  constructor(sql: Sql) {
    this.sql = sql
  }

  /** Two customers, of whom zoe is suspended, and a thief whose token is frozen. */
  static async of(t: TestContext): Promise<Desk> {
    const { sql } = await freshDatabase(t)
    for (const [id, address] of [
      ['anna', anna],
      ['zoe', zoe],
    ] as const) {
      const needs = { clock: { now: () => now }, new_id: () => id, deposit_address: () => address }
      await sql.begin((tx) => createCustomer(tx, needs, { name: id }))
    }
    await sql`update customer set state = 'suspended' where id = 'zoe'`
    await sql`
      insert into flow_freeze (address, token, frozen, number) values (${thief}, 'coin', true, 1)`
    return new Desk(sql)
  }

  get needs(): Needs {
    const clock = { now: () => now }
    return {
      sql: this.sql,
      clock,
      recharge_address: recharge,
      recharge_at: this.recharge_at,
      heldSenders: heldSenders({ clock }),
      issuers: {
        unasked: async (_, addresses) => addresses.filter((one) => this.unasked.has(one)),
        ask: async (addresses) => {
          this.asked.push(...addresses)
          this.unasked.clear()
        },
      },
      dust_sun: DUST_SUN,
      wake: (step) => this.woken.push(step),
    }
  }

  policy(more: Partial<Policy>) {
    const body = { ...SHIPPED_POLICY, ...more }
    return this.sql.begin((tx) =>
      publishPolicy(tx, { body, published_by: 'test', published_at: now }),
    )
  }

  read(step: typeof creditStep, sent: readonly Movement[], more?: Partial<Contents>) {
    return this.sql.begin((tx) => step(this.needs).reads.work(tx, [blockOf(sent, more)]))
  }

  /** Stores a block, to be read by the step itself. */
  async store(block: StoredBlock): Promise<void> {
    await this.sql`
      insert into block (number, id, parent_id, time, contents)
      values (${block.number}, ${block.id}, 'parent', ${now}, ${pack(block.contents)})`
    await this.sql`
      insert into chain (head_number, head_id, head_time, solid_number, seen_at, confirmed_number)
      values (${BLOCK}, 'block', ${now}, ${BLOCK}, ${now}, ${BLOCK})`
  }

  /** What is said of each: its transaction, state and reason. */
  async fates(): Promise<string[]> {
    const rows = await this.sql<{ fate: string }>`
      select concat_ws(' ', tx_id, state, reason) as fate from deposit order by tx_id, position`
    return rows.map(({ fate }) => fate)
  }

  async bookings(): Promise<string[]> {
    const rows = await this.sql<{ line: string }>`
      select id || ' ' || credit as line from transfer order by id`
    return rows.map(({ line }) => line)
  }
}

const token = { kind: 'event', asset: USDT } as const
const worthless = { kind: 'event', asset: 'coin', list: 'unfollowed' } as const
const odd = { kind: 'internal', list: 'unknown', amount: 1n } as const
const ODD = 'an internal transaction that is not known to move TRX: "odd"'

test('what a solid block brings has its fate by what it is', async (t) => {
  const desk = await Desk.of(t)
  const sent: [sent: Omit<Movement, 'tx_id'>, fate: string | undefined, account?: string][] = [
    [{}, 'credited', 'customer:anna'],
    [{ amount: 1n }, 'credited', 'customer:anna'],
    [{ amount: 0n }, undefined],
    [{ to: sam }, undefined],
    [{ to: recharge }, 'received', 'customer:direct_recharge'],
    [{ to: zoe, amount: DUST_SUN }, 'held the customer is suspended', 'held_deposits'],
    [{ to: zoe, amount: DUST_SUN - 1n }, 'ignored the customer is suspended', 'held_deposits'],
    [{ from: thief }, 'held blocked: the sender is blacklisted', 'held_deposits'],
    [{ owner: thief }, 'held blocked: the sender is blacklisted', 'held_deposits'],
    [{ owner: sam }, 'credited', 'customer:anna'],
    [
      { from: thief, to: recharge },
      'held blocked: the sender is blacklisted',
      'customer:direct_recharge',
    ],
    [{ ...token, amount: 1_000_000n }, 'held a token that is not TRX'],
    [{ ...token, amount: 999_999n }, 'ignored a token that is not TRX'],
    [{ ...token, from: thief }, 'held blocked: the sender is blacklisted'],
    [{ ...worthless, from: thief }, 'ignored a token that is not followed'],
    [{ ...worthless, kind: 'internal' }, 'ignored a token that is not followed'],
    [odd, `held ${ODD}`],
    [{ ...odd, to: recharge, from: thief }, `held ${ODD}`],
    [{ kind: 'call_value' }, 'unproven'],
    [{ kind: 'internal', to: recharge }, 'unproven'],
  ]
  const ids = sent.map((_, i) => String.fromCharCode(97 + i))
  await desk.read(
    creditStep,
    sent.map(([one], i) => ({ tx_id: ids[i]!, ...one })),
  )
  assert.deepEqual(
    await desk.fates(),
    sent.flatMap(([, fate], i) => (fate ? [`${ids[i]} ${fate}`] : [])),
  )
  const bookings = await desk.bookings()
  assert.deepEqual(
    bookings.map((line) => line.replace(/^deposit:(.)(\/\S+)?/, '$1')),
    sent.flatMap(([, , account], i) => (account ? [`${ids[i]} ${account}`] : [])),
  )
  const queued = await desk.sql<{ tx_id: string }>`
    select tx_id from deposit_screening order by tx_id`
  const screened = /^(credited|received)|customer is|blacklisted$|^held a token/
  const wanted = sent.flatMap(([, fate], i) => (fate?.match(screened) ? [ids[i]] : []))
  assert.deepEqual(
    queued.map(({ tx_id }) => tx_id),
    wanted,
    'what the log cannot have is not screened',
  )
})

test('at the head only what is sold for at inclusion is more than seen', async (t) => {
  const sent: Movement[] = [
    { tx_id: 'clean', to: recharge },
    { tx_id: 'customer' },
    { tx_id: 'inner', to: recharge, kind: 'internal' },
    { tx_id: 'thief', to: recharge, from: thief },
  ]
  const seen = ['customer seen', 'inner seen', 'thief seen']
  for (const [recharge_at, hold_deposits_from, clean] of [
    ['inclusion', 'blacklisted', 'clean received'],
    ['solid', 'blacklisted', 'clean seen'],
    ['inclusion', 'high', 'clean seen'],
  ] as const) {
    const desk = await Desk.of(t)
    desk.recharge_at = recharge_at
    await desk.policy({ hold_deposits_from })
    await desk.read(arriveStep, sent)
    assert.deepEqual(await desk.fates(), [clean, ...seen], `${recharge_at} ${hold_deposits_from}`)
    // What is there still is not taken back, and what is not is.
    await desk.read(arriveStep, sent.slice(0, 2))
    assert.deepEqual((await desk.fates()).map((one) => one.split(' ')[1]).slice(1), [
      'seen',
      'gone',
      'gone',
    ])
  }
})

test('several in one transaction have places of their own', async (t) => {
  const desk = await Desk.of(t)
  await desk.read(arriveStep, [
    { tx_id: 'a', kind: 'call_value' },
    { tx_id: 'a', kind: 'internal' },
    { tx_id: 'b', kind: 'internal' },
    { tx_id: 'a', ...token },
    { tx_id: 'c' },
  ])
  const rows = await desk.sql<{ tx_id: string; position: number }>`
    select tx_id, position from deposit order by tx_id, position`
  assert.deepEqual(
    rows.map(({ tx_id, position }) => `${tx_id} ${position}`),
    ['a -2', 'a -1', 'a 4', 'b -1', 'c 0'],
  )
})

test('of worthless tokens the first ten of a transaction are there, and a count', async (t) => {
  const desk = await Desk.of(t)
  const many = Array.from({ length: WORTHLESS_ROWS + 2 }, () => ({ tx_id: 'many', ...worthless }))
  const few = Array.from({ length: WORTHLESS_ROWS }, () => ({ tx_id: 'few', ...worthless }))
  await desk.read(creditStep, [...many, { tx_id: 'many', ...token }, ...few])
  const rows = await desk.sql<{ tx_id: string; rows: bigint; left_out: bigint; most: number }>`
    select tx_id, count(*) as rows, sum(left_out) as left_out, max(left_out) as most from deposit
    where state = 'ignored' group by tx_id order by tx_id`
  assert.deepEqual(rows, [
    { tx_id: 'few', rows: 10n, left_out: 0n, most: 0 },
    { tx_id: 'many', rows: 10n, left_out: 2n, most: 2 },
  ])
})

test('what leaves an address of ours is written down once, with what it sent', async (t) => {
  const desk = await Desk.of(t)
  const outflows = async () =>
    (
      await desk.sql<{ line: string }>`
        select tx_id || ' ' || amount_sun as line from deposit_outflow order by tx_id`
    ).map(({ line }) => line)
  await desk.read(creditStep, [{ tx_id: 'none', from: sam, to: thief, owner: sam }])
  assert.deepEqual(await outflows(), [])
  await desk.read(creditStep, [{ tx_id: 'alone', from: recharge, to: sam }])
  assert.deepEqual(await outflows(), ['alone 5000000'])
  await desk.read(
    creditStep,
    [
      { tx_id: 'a', from: anna, to: sam, amount: 3n },
      { tx_id: 'b', from: anna, to: sam, amount: 4n, kind: 'call_value', owner: anna },
      { tx_id: 'c', from: recharge, to: sam, asset: '1000001', list: 'unfollowed' },
      { tx_id: 'd', from: anna, to: sam, ...token },
      { tx_id: 'e', from: anna, to: sam, kind: 'internal' },
      { tx_id: 'f', from: sam, to: thief },
      { tx_id: 'g', from: sam, to: thief, owner: zoe },
    ],
    {
      fees: [
        { tx_id: 'h', owner: anna },
        { tx_id: 'i', owner: sam },
      ],
    },
  )
  assert.deepEqual(await outflows(), ['a 3', 'alone 5000000', 'b 4', 'c 0', 'g 0', 'h 0'])
})

test('issuers are asked about senders before anything of them is credited', async (t) => {
  const desk = await Desk.of(t)
  const step = creditStep(desk.needs)
  await desk.store(blockOf([{ tx_id: 'one' }]))
  desk.unasked.add(sam)
  await assert.rejects(desk.read(creditStep, [{ tx_id: 'one' }]), /were not asked about all/)
  assert.deepEqual(await desk.fates(), [])
  assert.equal(await step.run(), true)
  assert.deepEqual([desk.asked, await desk.fates()], [[sam], ['one credited']])
  assert.equal(await step.run(), false, 'there is no other block')
})

test('who has a contract send is asked about as the contract is; others are not', async (t) => {
  const desk = await Desk.of(t)
  const step = creditStep(desk.needs)
  await desk.store(blockOf([{ tx_id: 'one', owner: zoe }, { tx_id: 'two' }]))
  desk.unasked.add(zoe)
  assert.equal(await step.run(), true)
  assert.deepEqual(desk.asked, [zoe])
  const calm = await Desk.of(t)
  await calm.store(blockOf([{ tx_id: 'one' }]))
  assert.equal(await creditStep(calm.needs).run(), true)
  assert.deepEqual(calm.asked, [])
})

test('what goes wrong with a block is thrown, and nothing of it is credited', async (t) => {
  const desk = await Desk.of(t)
  await desk.store(blockOf([{ tx_id: 'one' }]))
  const broken = () => Promise.reject(new Error('out of order'))
  await assert.rejects(creditStep({ ...desk.needs, heldSenders: broken }).run(), /out of order/)
  assert.deepEqual([await desk.fates(), desk.asked, desk.woken], [[], [], []])
})

test('where money of high risk is held, one is queued before it is booked', async (t) => {
  for (const kind of ['transfer', 'internal'] as const) {
    const desk = await Desk.of(t)
    await desk.policy({ hold_deposits_from: 'high' })
    await desk.store(
      blockOf([
        { tx_id: 'one', kind },
        { tx_id: 'odd', ...odd },
      ]),
    )
    const step = creditStep(desk.needs)
    for (let run = 0; run < 2; run++) {
      assert.equal(await step.run(), false)
      assert.deepEqual(await desk.fates(), ['one seen'])
    }
    assert.deepEqual(desk.woken, ['screen_deposits', 'screen_deposits'])
    const [queued] = await desk.sql`select tx_id, screened_at from deposit_screening`
    assert.deepEqual(queued, { tx_id: 'one', screened_at: null })
    await desk.sql`update deposit_screening set screened_at = ${now}`
    assert.equal(await step.run(), true)
    const fate = kind === 'transfer' ? 'one credited' : 'one unproven'
    assert.deepEqual(await desk.fates(), [`odd held ${ODD}`, fate])
  }
})

test('what was read to be of high risk is held, and what is of less is not', async (t) => {
  const desk = await Desk.of(t)
  await desk.policy({ hold_deposits_from: 'high' })
  const levels = ['high', 'medium', 'low']
  await desk.store(blockOf(levels.map((tx_id) => ({ tx_id }))))
  const step = creditStep(desk.needs)
  await step.run()
  await desk.sql`
    update deposit_screening set screened_at = ${now}, risk_level = tx_id,
      reading = jsonb_build_object('risk_level', tx_id)`
  assert.equal(await step.run(), true)
  assert.deepEqual(await desk.fates(), [
    'high held blocked: the money is of high risk',
    'low credited',
    'medium credited',
  ])
})
