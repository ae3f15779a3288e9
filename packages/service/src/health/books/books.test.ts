// The books' check finds what is wrong. One service is led through everything it sells; then one
// thing after another is made wrong in its rows, and exactly the rules that speak of it must be
// broken.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moveByHand } from 'penstock-test/harness/moving_by_hand.ts'
import { makeWorld, openWorld, TRX, type World } from 'penstock-test/harness/world.ts'
import pg from 'pg'
import type { Transport } from '../../chain/node/node.ts'
import { perform } from '../../events/log/changes.ts'
import { accountSums } from '../../ledger/accounts/books.ts'
import { firstIdAt } from '../../lib/ids.ts'
import { setFee } from '../../market/prices/fees.ts'
import { setPrices } from '../../market/prices/tiers.ts'
import { setPlan } from '../../market/subscriptions/plans.ts'
import { connect, type Sql } from '../../platform/database/sql.ts'
import { checkAllBooks, type RuleReport } from './books.ts'
import { chainView } from './chain.ts'
import { ROW_RULES } from './rules.ts'
import type { Scope } from './scope.ts'

/** Deposit, energy that has ended, energy that lives, a bundle, a new address, a subscription, a
 *  failure, and direct recharges. */
async function everything(world: World): Promise<void> {
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 1_000 })
  const energy = { address: bob.address, amount: 65_000, duration: 1 }
  const { id } = await anna.get<{ id: string }>('/v1/quote/new', {
    service: 'energy',
    params: energy,
  })
  await anna.get('/v1/quote/accept', { id })
  await world.settle()
  await world.solidify()
  await world.advance(3_600)
  await world.settle()
  await world.solidify()
  await anna.buy({
    service: 'resource_bundle',
    params: { address: bob.address, amounts: { energy: 65_000, bandwidth: 1_000 }, duration: 1 },
  })
  await anna.buy({ service: 'activate_address', params: { address: world.person('carl').address } })
  const params = {
    address: world.person('dora', 1).address,
    duration: 0,
    transactions_limit: 0,
    activate_address: false,
  }
  await anna.get('/v1/subscription/start', { subscription_id: 'unlimited_energy', params })
  world.pay(world.recharge.address, 3n * TRX)
  world.pay(world.recharge.address, 1n * TRX)
  await world.settle()
  await world.solidify()
  world.network.loses = (type) => type === 'DelegateResourceContract'
  await anna.buyEnergy(bob.address, 131_000)
  await world.settle()
  world.network.loses = () => false
  await world.solidify()
  await world.settle()
  await world.solidify()
  await moveByHand(world, anna)
  const clock = { now: () => world.now }
  const operator = { made_by: 'anna', reason: 'dearer' }
  const terms = { name: 'Small', initial_price_sun: 1_000_000n, price_sun: 2_000_000n }
  await perform({ sql: world.sql, clock }, { operator, action: 'plans set' }, (tx, at) =>
    setPlan(tx, { key: 'small', terms, confirmed: false, at, changed_by: 'anna' }),
  )
  const tiers = [{ min_amount: 300n, max_amount: 100_000n, price_sun: 1_100_000n }]
  await perform({ sql: world.sql, clock }, { operator, action: 'prices set' }, (tx, at) =>
    setPrices(tx, {
      resource: 'bandwidth',
      tiers,
      replace: false,
      confirmed: false,
      at,
      changed_by: 'anna',
    }),
  )
  for (const price_sun of [1_500_000n, 1_600_000n]) {
    await perform({ sql: world.sql, clock }, { operator, action: 'fees set' }, (tx, at) =>
      setFee(tx, { name: 'activate_address', price_sun, confirmed: false, at, changed_by: 'anna' }),
    )
  }
}

const broken = (reports: readonly RuleReport[]): string[] =>
  reports.filter(({ state }) => state === 'broken').map(({ rule }) => rule)

const transportOf =
  (world: World): Transport =>
  async ({ url, body }) =>
    world.scene.devchain.request('POST', new URL(url).pathname, body)

const look = (sql: Sql, transport: Transport) =>
  checkAllBooks({
    sql,
    wait: async () => {},
    chain: chainView([{ url: 'http://devchain' }], transport),
  })

/** Of an attempt that is in no block, which has cost nothing. */
const NO_BLOCK = `block_number = null, block_time = null, fee_sun = null, bandwidth = null,
  energy = null`

/** What is made wrong, how, and which rules must say so. */
const WRONGS: [what: string, statement: string, rules: string[]][] = [
  [
    'money that nobody gave',
    `insert into transfer values ('gift', 'move', null, 'nobody', 'revenue', 5, now())`,
    ['C1', 'C2', 'C4', 'C7'],
  ],
  [
    'a collection that nothing has left by',
    `insert into transfer
       values ('collected:x', 'move', null, 'treasury:collected', 'world', 5, now())`,
    ['C18'],
  ],
  [
    'a reward that nobody has withdrawn',
    `insert into transfer
       values ('reward:x', 'move', null, 'treasury:wallets', 'income:votes', 5, now())`,
    ['C7', 'C19'],
  ],
  [
    'a balance that is kept wrongly',
    `update account set posted_sun = posted_sun + 1 where id like 'customer:01%'`,
    ['C2', 'C7'],
  ],
  [
    'a capture of more than was held',
    `update transfer set amount_sun = amount_sun + 10000
     where kind = 'capture' and debit like 'customer:01%' and id < 'order:' || (
       select max(id) from orders where state = 'success' and customer_id like '01%')`,
    ['C2', 'C4', 'C7', 'C10', 'C16'],
  ],
  [
    'a customer who spent more than there was',
    `insert into transfer select 'gone', 'move', null, id, 'revenue', 5000000000, now() ` +
      `from account where id like 'customer:01%'`,
    ['C2', 'C3', 'C4', 'C7'],
  ],
  [
    'an order that was paid and given back',
    `update orders set state = 'failed' where state = 'success' and service = 'activate_address'`,
    ['C4', 'C14'],
  ],
  [
    'an order that is dated back, with its event',
    `update orders set created_at = created_at - interval '2 minutes'
     where quote_id is null and amount_sun > 0 and customer_id <> 'direct_recharge'`,
    ['C4'],
  ],
  [
    'a hold that is for nothing',
    `insert into transfer select 'order:nothing', 'hold', null, id, 'revenue', 5, now()
       from account where id like 'customer:01%';
     update account set held_sun = held_sun + 5 where id like 'customer:01%'`,
    ['C4'],
  ],
  [
    'a subscription that runs and was given back',
    `update subscription set state = 'error'`,
    ['C4', 'C14'],
  ],
  [
    'a check that ended and was not charged',
    `insert into aml_check (id, customer_id, type, network, address, price_sun, solid_number,
                            due_at, created_at, ended_at, state, risk_score, risk_level)
     select 'check', id, 'address', 'TRX', deposit_address, 1000000, 1, now(), now(), now(),
       'completed', '25.0', 'low'
     from customer`,
    ['C4', 'C14'],
  ],
  [
    'an order that is a success and was not charged',
    `delete from transfer where kind = 'capture' and id like 'order:' || (
       select id from orders where service = 'resource_bundle') || '%'`,
    ['C2', 'C4', 'C7', 'C10'],
  ],
  [
    'a part that was never delivered',
    `delete from delegation where resource = 'bandwidth' and state = 'active'`,
    ['C5', 'C8'],
  ],
  [
    'a part that was delivered twice',
    `update delegation set amount = amount * 2 where resource = 'bandwidth' and state = 'active'`,
    ['C5', 'C9'],
  ],
  [
    'one transaction for two orders',
    'update orders set tx_id = (select tx_id from orders where service = ' +
      `'resource_bundle') where service = 'activate_address'`,
    ['C5'],
  ],
  [
    "a hash that is none of the order's",
    `update orders set tx_id = repeat('0', 64) where service = 'resource_bundle'`,
    ['C5'],
  ],
  [
    'the hash of a transaction that was for something else',
    `update orders set tx_id = (select tx_id from attempt where subject like 'reclaim:%' limit 1)
     where service = 'activate_address'`,
    ['C5'],
  ],
  [
    'an activation that is none, by the hash of a transaction for nothing',
    `insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at)
       select 'forged', '', '{}', 'dead', repeat('1', 64), '', now(), now(), now();
     update orders set tx_id = repeat('1', 64), activation_id = null
     where service = 'activate_address'`,
    ['C5'],
  ],
  [
    'a delegation that is live and whose transaction is dead',
    `update attempt set state = 'dead', ${NO_BLOCK} where id in (
       select attempt_id from delegation where resource = 'bandwidth' and state = 'active')`,
    ['C5', 'C8'],
  ],
  [
    'a solid transaction that the chain does not have',
    `update attempt set tx_id = repeat('0', 64) where subject like 'reclaim:%' and state = 'solid'`,
    ['C5'],
  ],
  [
    'a solid transaction in another block of that number',
    `update attempt set block_id = repeat('0', 64) where subject like 'reclaim:%'
       and state = 'solid'`,
    ['C5'],
  ],
  [
    'a solid transaction at another time than its block',
    `update attempt set block_time = block_time + interval '1 second'
     where subject like 'reclaim:%' and state = 'solid'`,
    ['C5', 'C9'],
  ],
  [
    'a deposit that was credited twice',
    `insert into transfer select 'deposit:again', 'move', null, 'world', id, 5, now()
       from account where id like 'customer:01%';
     update account set posted_sun = posted_sun + 5 where id like 'customer:01%'`,
    ['C6', 'C7'],
  ],
  [
    'a deposit that was not booked',
    `delete from transfer where id like 'deposit:%' and amount_sun = 3000000`,
    ['C6', 'C7', 'C10'],
  ],
  [
    'a deposit of another amount than on the chain',
    `update deposit set amount_sun = amount_sun + 1 where state = 'credited';
     update transfer set amount_sun = amount_sun + 1 where id like 'deposit:%'
       and credit like 'customer:01%';
     update account set posted_sun = posted_sun + 1 where id like 'customer:01%'`,
    ['C6', 'C10', 'C13', 'C16'],
  ],
  [
    'a refund that was not booked',
    `delete from transfer where id like 'refund:%'`,
    ['C6', 'C7', 'C10'],
  ],
  [
    'a delegation that was taken back too early',
    `update delegation set expires_at = reclaimed_at + interval '1 second' where state = 'ended'`,
    ['C9'],
  ],
  [
    'a delegation by another ratio, which its receipt says',
    `update delegation set total_limit = total_limit * 2 where state = 'active'`,
    ['C9'],
  ],
  [
    'a delegation by no ratio',
    `update delegation set total_weight = 0 where state = 'active' and resource = 'energy'`,
    ['C9'],
  ],
  [
    'a delegation that was forgotten',
    `update delegation set delegated_at = delegated_at - interval '2 hours',
       expires_at = expires_at - interval '2 hours'
     where state = 'active'`,
    ['C9'],
  ],
  [
    'an hour that was shorter',
    `update delegation set expires_at = expires_at - interval '1 minute' where state = ` +
      `'active' and resource = 'bandwidth'`,
    ['C9'],
  ],
  [
    'a reclaim of another stake',
    `update attempt
     set contract = jsonb_set(contract, '{parameter,value,balance,int64}', '"1000000"')
     where subject like 'reclaim:%' and state = 'solid'`,
    ['C9'],
  ],
  [
    'stake that is delegated and not known',
    `update delegation set stake_sun = stake_sun + 1
     where state = 'active' and resource = 'bandwidth';
     update attempt set contract = jsonb_set(contract, '{parameter,value,balance,int64}',
       to_jsonb(stake_sun::text))
     from delegation as d where d.attempt_id = attempt.id`,
    ['C8'],
  ],
  [
    'a record that was changed',
    `update operator_action set reason = 'cheaper' where number = 1`,
    ['C10'],
  ],
  ['a record that was taken out', `delete from operator_action where number = 1`, ['C10']],
  [
    'a price without a record',
    // What was not shipped was in force from its time on, and sold before.
    `update price set changed_by = 'mallory' where resource = 'bandwidth'`,
    ['C10', 'C17'],
  ],
  [
    'what is sold at the price of before, while the same bought before is right',
    `insert into orders (id, customer_id, service, address, energy, bandwidth, activate, state,
       to_delegate, amount_sun, tx_id, due_at, created_at)
     select id || '/later', customer_id, service, address, energy, bandwidth, false, state,
       to_delegate, amount_sun, tx_id, due_at, (select max(since) + interval '1 hour' from price)
     from orders where service = 'resource_bundle'`,
    ['C4', 'C5', 'C14', 'C17'],
  ],
  [
    'an activation below the fee',
    `update orders set fee_sun = fee_sun - 1, amount_sun = amount_sun - 1
     where service = 'activate_address' and fee_sun > 0`,
    ['C4', 'C17'],
  ],
  [
    'money that went from one customer to another',
    `insert into transfer select 'theft', 'move', null, id, 'customer:other', 1000, now()
       from account where id like 'customer:01%';
     insert into account values ('customer:other', false, 1000, 0);
     update account set posted_sun = posted_sun - 1000 where id like 'customer:01%'`,
    ['C4'],
  ],
  [
    'a charge that nothing was used for',
    `insert into transfer select 'subscription:x/y/1', 'move', null, id, 'revenue', 1000, now()
       from account where id like 'customer:01%';
     update account set posted_sun = posted_sun - 1000 where id like 'customer:01%'`,
    ['C4'],
  ],
  [
    'a use that was charged and not booked',
    `insert into subscription_use select id, 'y', 1, 1, 500, now(), 1, true from subscription;
     update subscription set total_sun = total_sun + 500`,
    ['C4'],
  ],
  [
    'a fee of a refund that was not made',
    `insert into transfer values ('refund_fee:y', 'move', null, ` +
      `'customer:direct_recharge', 'revenue', 300000, now())`,
    ['C4'],
  ],
  [
    'an account that may be overdrawn',
    `insert into account values ('customer:mallory', true, 0, 0)`,
    ['C3'],
  ],
  [
    'an order that was delivered to somebody else',
    `update orders set address = 'T' || repeat('x', 33) where service = 'resource_bundle'`,
    ['C5'],
  ],
  [
    'an activation that was charged and is not in a block',
    `update attempt set state = 'dead', ${NO_BLOCK} where subject like 'activate:%'`,
    ['C5'],
  ],
  [
    'a deposit that went back and was delivered',
    `update deposit set state = 'held', reason = 'x' where state = 'delivered'`,
    ['C6'],
  ],
  [
    'a deposit that somebody else was delivered for',
    'update deposit set order_id = (select id from orders where service = ' +
      `'resource_bundle') where state = 'delivered'`,
    ['C6'],
  ],
  [
    'an hour that began before its block',
    `update delegation set delegated_at = delegated_at - interval '5 minutes',
       expires_at = expires_at - interval '5 minutes'
     where state = 'ended'`,
    ['C9'],
  ],
  [
    'a delegation that ended by a transaction that is dead',
    `update attempt set state = 'dead', ${NO_BLOCK} where subject like 'reclaim:%'
       and state = 'solid'`,
    ['C8', 'C9'],
  ],
  [
    'an entry that was put in before all that are sealed',
    `insert into transfer overriding system value
     select 'first', 'hold', null, id, 'revenue', 5, now(), 0 from account
       where id like 'customer:01%';
     insert into transfer overriding system value
     select 'first/release', 'release', 'first', id, 'revenue', 5, now(), -1 from account
       where id like 'customer:01%'`,
    ['C4', 'C10'],
  ],
  [
    'a fee that was changed in its row',
    `update fee set price_sun = 1 where until is null`,
    ['C10'],
  ],
  [
    'a fee that was ended without a record',
    `update fee set until = now() where until is null`,
    ['C10'],
  ],
  [
    'a service that was switched without a record',
    `update service set on_sale = false where name = 'energy'`,
    ['C10'],
  ],
  [
    'a plan that was changed in its row',
    `update plan set price_sun = 1 where key = 'small'`,
    ['C10'],
  ],
  [
    'a tier that was ended without a record',
    `update price set until = now() where resource = 'bandwidth' and until is null`,
    ['C10'],
  ],
  [
    'a deposit that is called resolved, and nobody has decided how',
    `delete from deposit_resolution where way = 'written_off'`,
    ['C12'],
  ],
  [
    'a deposit that was resolved and is held',
    `update deposit set state = 'held' where state = 'resolved' and amount_sun = 21000000`,
    ['C12'],
  ],
  [
    'a deposit that was credited by hand to somebody else',
    `update deposit_resolution set customer_id = 'other' where way = 'credited'`,
    ['C12'],
  ],
  [
    'a deposit that went two ways',
    `insert into transfer
     select id || '/again', 'move', null, 'held_deposits', 'written_off', amount_sun, now()
     from transfer where id like 'resolution:%' and credit like 'customer:%'`,
    ['C12'],
  ],
  [
    'a resolution that was not booked',
    `delete from transfer where id like 'resolution:%' and credit = 'written_off' and ` +
      'amount_sun = 22000000',
    ['C12'],
  ],
  [
    'money that was said to be sent back by more than was sent',
    `update deposit_resolution set sent_amount = sent_amount + 1000000 where way = 'sent_back'`,
    ['C7', 'C12'],
  ],
  [
    'a deposit that was sent back by a transaction of the service',
    `update deposit_resolution
     set sent_by = (select tx_id from attempt where subject like 'refund:%' limit 1)
     where way = 'sent_back'`,
    ['C12'],
  ],
  [
    'a correction of another amount',
    `update correction set amount_sun = amount_sun + 1 where id = 'more'`,
    ['C12'],
  ],
  ['a correction that nobody has made', `delete from correction where id = 'less'`, ['C12']],
  [
    'a correction and a resolution without their records',
    `update correction set made_by = 'mallory', made_at = now() where id = 'less';
     update deposit_resolution set made_at = now() where way = 'credited'`,
    ['C10'],
  ],
  [
    'corrections that wanted a second operator, and had none',
    `insert into approval_rule values ('2000-01-01', 'name', 1, 'shipped')`,
    ['C12'],
  ],
  [
    'an approval of what was not made',
    `insert into correction_proposal select 'never', customer_id, 1, 'why', now(), 'shipped', 'a',
       now() + interval '1 hour', now(), 'bea', 'b' from correction limit 1`,
    ['C12'],
  ],
  [
    'a rule about second operators that nobody has recorded',
    `insert into approval_rule values (now(), 'none', 7, 'mallory')`,
    ['C10'],
  ],
  [
    'a balance at the end of an hour that is not what the entries come to',
    `update summary set balance_sun = balance_sun + 1 where bucket = 'hour'`,
    ['C16'],
  ],
  [
    'an hour that is summarised without what was spent in it',
    `delete from summary where spent_sun > 0 and bucket = 'hour'`,
    ['C16'],
  ],
  [
    'an invoice for nothing',
    `insert into invoice select 1, id, '2020-01-01', now(), 5, '{"total":"0.000005"}', '' from
       customer limit 1`,
    ['C16'],
  ],
  [
    'a deposit that was credited though it is held',
    `update deposit set state = 'credited' where state = 'resolved' and amount_sun = 22000000`,
    ['C6', 'C12', 'C14'],
  ],
  [
    'an order that cost more than its quote said',
    `update quote set amount_sun = amount_sun - 1`,
    ['C15'],
  ],
  [
    'an order of something else than its quote was for',
    `update quote set energy = energy + 1`,
    ['C15'],
  ],
  [
    'room that is reserved for nothing',
    `update pool set reserved = reserved + 1 where resource = 'energy'`,
    ['C11'],
  ],
  ['an event that was taken out', `delete from event where type = 'order.failed'`, ['C14']],
  [
    'an end that was told twice',
    `insert into event
     select customer_id, number + 1000, id || 'x', type, subject, at, test, data from event
     where type = 'order.failed';
     update event_counter as c set last_number = last_number + 1000
     from event as e where e.customer_id = c.customer_id and e.number > 1000`,
    ['C14'],
  ],
  [
    'an order that is late, and nobody was told',
    `update orders set delayed_at = created_at where state = 'success' and customer_id in (
       select customer_id from event)`,
    ['C14'],
  ],
  [
    'a note that nobody numbers',
    `insert into event_note (customer_id, type, subject, at, data)
     select customer_id, 'order.reverted', subject, at, data from event
     where type = 'order.created' order by number limit 1`,
    ['C14'],
  ],
]

/** The tables that are made wrong. */
const TABLES = [
  ...[
    'account',
    'transfer',
    'orders',
    'delegation',
    'attempt',
    'deposit',
    'subscription',
    'aml_check',
    'pool',
    'quote',
  ],
  ...[
    'deposit_resolution',
    'correction',
    'approval_rule',
    'correction_proposal',
    'summary',
    'invoice',
    'operator_action',
    'price',
    'fee',
    'service',
    'plan',
    'subscription_use',
    'event',
    'event_counter',
    'event_note',
  ],
]

test('each kind of error is found by the rules about it, and by no other', async (t) => {
  const world = await openWorld()
  const { url } = world.database
  await everything(world)
  assert.deepEqual(broken(await look(world.sql, transportOf(world))), [])
  await world.close()

  const sql = connect({ url })
  const hand = new pg.Client({ connectionString: url })
  await hand.connect()
  t.after(async () => {
    await hand.end()
    await sql.close()
    await world.database.drop()
  })
  // Without triggers and foreign keys: this is the hand of somebody who may do anything.
  await hand.query('set session_replication_role = replica')
  await hand.query('alter table account drop constraint account_not_overdrawn')
  await hand.query('alter table account drop constraint account_of_customer_never_negative')
  await hand.query('alter table invoice drop constraint invoice_hash_is_true')
  await hand.query(TABLES.map((table) => `create table kept_${table} as table ${table};`).join(''))
  const restore = TABLES.map(
    (table) =>
      `delete from ${table}; insert into ${table} overriding system value table kept_${table};`,
  )
  for (const [what, statement, rules] of WRONGS) {
    const results = [await hand.query(statement)].flat()
    assert.ok(
      results.every(({ rowCount }) => (rowCount ?? 0) > 0),
      `${what}: nothing was made wrong`,
    )
    const reports = await look(sql, transportOf(world))
    const found = JSON.stringify(reports.flatMap((one) => one.findings))
    assert.deepEqual([...new Set(broken(reports))], rules, `${what}: ${found}`)
    await hand.query(restore.join(''))
  }
  assert.deepEqual(broken(await look(sql, transportOf(world))), [])
})

/** The rules that a check finds broken which goes on from there. */
const brokenFrom = (sql: Sql, scope: Scope): Promise<string[]> =>
  sql.begin(async (tx) => {
    const sums = await accountSums(tx)
    const found: string[] = []
    for (const { rule, find } of ROW_RULES)
      for (const one of await find(tx, sums, [], scope))
        found.push(`${rule} ${one.subject}: ${one.found}`)
    return found
  })

test('wherever a check goes on from, it finds nothing where everything holds', async (t) => {
  const world = await makeWorld(t, { forges: true })
  await everything(world)
  const { sql } = world
  const entries = await sql<{ number: bigint; made_at: Date }>`
    select number, made_at from transfer order by number`
  const last = entries.at(-1)!.number
  const times = [...new Set(entries.map(({ made_at }) => made_at.getTime()))]
  assert.ok(times.length > 5, `${times.length} times`)
  // Nothing goes on from before the first entry.
  for (const time of times.slice(1)) {
    const before_entry = entries.findLast(({ made_at }) => made_at.getTime() < time)!.number
    for (const sealed_entry of [before_entry, (before_entry + last) / 2n, last]) {
      const since = new Date(time)
      // Summaries go on from the beginning of a day alone.
      const found = await brokenFrom(sql, {
        seal: undefined,
        sealed_entry,
        since,
        first_id: firstIdAt(since),
        before_entry,
      })
      const where = `since ${since.toISOString()}, entry ${sealed_entry}`
      assert.deepEqual(
        found.filter((one) => !one.startsWith('C16 ')),
        [],
        where,
      )
    }
  }
})

test('what is right again at the second look was never broken', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const { sql } = world
  await sql`update pool set reserved = reserved + 1 where resource = 'energy'`
  let looks = 0
  const wait = async () => {
    looks += 1
    await sql`update pool set reserved = reserved - 1 where resource = 'energy'`
  }
  assert.deepEqual(broken(await checkAllBooks({ sql, wait, chain: undefined })), [])
  assert.equal(looks, 1)
})

test('a wallet that delegates what nobody bought is found on the chain', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const bob = world.person('bob', 1)
  const [wallet] = world.wallets.pool
  const stake = { receiver_address: bob.hex, balance: 5n * TRX, resource: 'ENERGY' }
  world.scene.do(world.person('pool-0'), 'DelegateResourceContract', stake)
  await world.solidify()
  const reports = await look(world.sql, transportOf(world))
  assert.deepEqual(broken(reports), ['C8'])
  assert.deepEqual(reports.find(({ state }) => state === 'broken')?.findings, [
    {
      subject: `${wallet!.address} ${bob.address} energy`,
      found: 'the chain has 5000000 sun more delegated than our delegations add up to',
    },
  ])
  world.scene.do(world.person('pool-0'), 'UnDelegateResourceContract', stake)
})

test('rules about the chain are not checked while no node answers or it is behind', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const states = (reports: RuleReport[]) => reports.map(({ rule, state }) => `${rule} ${state}`)
  const unchecked = (reports: RuleReport[]) =>
    states(reports).filter((one) => one.endsWith('not checked'))
  const { sql } = world
  const without = await checkAllBooks({ sql, wait: async () => {}, chain: undefined })
  const by_node = ['C5', 'C6', 'C6', 'C8', 'C13', 'C19'].map((rule) => `${rule} not checked`)
  assert.deepEqual(unchecked(without), by_node)
  const away = await look(sql, () => Promise.reject(new Error('ECONNREFUSED')))
  assert.ok(unchecked(away).includes('C8 not checked'))
  world.mine(40)
  assert.deepEqual(unchecked(await look(sql, transportOf(world))), ['C8 not checked'])
})
