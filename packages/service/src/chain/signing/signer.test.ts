// What is signed and what is not, by rows of a real database: as they are when something is bought,
// and as somebody would forge them.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { createDatabase, dropDatabase } from 'penstock-test/harness/database.ts'
import { recoverAddress } from 'penstock-tron/keys.ts'
import { encode, type Message, message } from 'penstock-tron/protobuf.ts'
import { contract, encodeRawData, type RawData, transactionId } from 'penstock-tron/transaction.ts'
import { connect, type Sql, type Tx } from '../../platform/database/sql.ts'
import { memoryLog, type SignatureLog, type SignatureRecord } from './signature_log.ts'
import {
  localSigner,
  type Signer,
  type SignerNeeds,
  type SignerOptions,
  type Wallet,
} from './signer.ts'
import { forgetAmountsStep } from './signing_amounts.ts'

const TRX = 1_000_000n
const MAX_SUN = 1_000n * TRX
const wallet = (name: string, permission_id: number): Wallet => ({
  address: person(name).address,
  permission_id,
  private_key: person(`${name} hot`).key,
})
const pool = wallet('pool', 2)
const other = wallet('other', 3)
const activation = wallet('activation', 2)
const refund = wallet('refund', 2)
const recharge_address = person('recharge').address
const options: SignerOptions = {
  pool: [pool, other],
  activation,
  refund,
  recharge_address,
  delegation_max_sun: MAX_SUN,
  refund_max_sun: 500_000_000n,
}

let now = new Date(1_780_000_000_000)
const bob = person('bob')
let sql: Sql
let name: string
let url: string

after(async () => {
  await sql.close()
  await dropDatabase(name)
})

before(async () => {
  const database = await createDatabase()
  name = database.name
  url = database.url
  sql = connect({ url: database.url, connections_max: 2 })
  // One unit of energy for each TRX of stake.
  await sql`update pool set total_limit = 1000, total_weight = 1000 where resource = 'energy'`
  // So that what is measured by the other resource is far too much.
  await sql`update pool set total_limit = 1000, total_weight = 1 where resource = 'bandwidth'`
  await sql`
    insert into price (resource, min_amount, max_amount, price_sun, changed_by)
    values ('energy', 1, 1000, 1, 'shipped')`
})

// What the signers of a test have counted is not for those of the next.
beforeEach(() => sql`delete from signing_amount`)

/** A signer with a log of its own, which is empty when none is given. */
function signerWith(more: Partial<SignerNeeds> = {}, wallets: Partial<SignerOptions> = {}): Signer {
  return localSigner(
    { ...options, ...wallets },
    {
      sql,
      clock: { now: () => now },
      log: memoryLog(),
      isStopped: () => false,
      stakes: () => undefined,
      stopped_here: () => false,
      ...more,
    },
  )
}

type Extra = Partial<RawData> & { permission_id?: number }

function raw(type: string, value: Message, { permission_id = 2, ...more }: Extra = {}) {
  return encodeRawData({
    ref_block_bytes: '0001',
    ref_block_hash: '0102030405060708',
    timestamp: now.getTime(),
    expiration: now.getTime() + 60_000,
    contract: [contract(type, value, permission_id)],
    ...more,
  })
}

const delegation = {
  owner_address: person('pool').hex,
  receiver_address: bob.hex,
  balance: 50_000_000n,
  resource: 'ENERGY',
}
const creation = { owner_address: person('activation').hex, account_address: bob.hex }
const payment = { owner_address: person('refund').hex, to_address: bob.hex, amount: 4_700_000n }

let made = 0
function newName(of: string): string {
  made += 1
  return `${of}${made}`
}

async function attemptFor(subject: string, id = newName('attempt')): Promise<string> {
  await sql`
    insert into attempt (id, subject, contract, send_at, made_at)
      values (${id}, ${subject}, '{}', ${now}, ${now})`
  return id
}

/** An order for 50 energy that is paid for, unless it is said otherwise. */
async function order({
  state = 'pending',
  hold = true,
  amount_sun = 10_000n,
  energy = 50,
  fee_sun = 0n,
  created_at = now,
} = {}): Promise<string> {
  const id = newName('order')
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
      amount_sun, fee_sun, tx_id,
                        due_at, created_at)
    values (${id}, 'anna', 'energy', ${bob.address}, ${energy}, false, ${state},
      false, ${amount_sun + fee_sun}, ${fee_sun}, 'shown',
            ${now}, ${created_at})`
  if (!hold) return id
  await sql`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    values (${`order:${id}`}, 'hold', 'customer:anna', 'revenue', ${10_000n + fee_sun}, ${now})`
  return id
}

/** How a hold ended. */
const resolve = (order_id: string, kind: 'capture' | 'release') => sql`
  insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
  values (${`order:${order_id}/${kind}`}, ${kind}, ${`order:${order_id}`}, 'customer:anna',
          'revenue', 10000, ${now})`

type DelegateInput = { subject?: string; amount?: number; stake_sun?: bigint; by?: Wallet }

/** A delegation of an order, and the attempt for it. */
async function delegating(
  order_id: string,
  { subject, amount = 50, stake_sun = 50_000_000n, by = pool }: DelegateInput = {},
) {
  const id = newName('delegation')
  const attempt = await attemptFor(subject ?? `delegate:${id}`)
  await sql`
    insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, attempt_id)
    values (${id}, ${order_id}, ${by.address}, ${bob.address}, 'energy', ${amount}, ${stake_sun},
            ${attempt})`
  return { id, attempt }
}

/** A delegation that is to be taken back. */
async function reclaiming(): Promise<string> {
  const { id } = await delegating(await order())
  const attempt = await attemptFor(`reclaim:${id}`)
  await sql`
    update delegation set state = 'reclaiming', delegated_at = ${now}, expires_at = ${now},
      reclaim_id = ${attempt}
    where id = ${id}`
  return attempt
}

async function activating({ ordered = true, fee_sun = 1_400_000n } = {}): Promise<string> {
  const id = newName('activation')
  const attempt = await attemptFor(`activate:${id}`)
  // One is under way for an address at a time.
  await sql`update activation set state = 'active' where state = 'activating'`
  await sql`
    insert into activation (id, address, state, attempt_id, made_at)
    values (${id}, ${bob.address}, 'activating', ${attempt}, ${now})`
  const order_id = await order({ fee_sun })
  if (ordered)
    await sql`update orders set activation_id = ${id}, activate = true where id = ${order_id}`
  return attempt
}

/** A deposit of 5 TRX to the published address that is to go back. */
async function refunding({ booked = true, to = recharge_address, position = 0 } = {}) {
  const tx_id = newName('deposit')
  const attempt = await attemptFor(`refund:${tx_id}`)
  await sql`
    insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
      block_time, state, reason,
                         refund_id, solid_at, due_at, seen_at)
    values (${tx_id}, ${position}, ${bob.address}, ${to}, 5000000,
      1, ${now}, 'refunding', 'no room', ${attempt}, ${now},
            ${now}, ${now})`
  if (booked) {
    await sql`
      insert into transfer (id, kind, debit, credit, amount_sun, made_at)
      values (${`deposit:${tx_id}`}, 'move', 'world', 'customer:direct_recharge', 5000000, ${now})`
  }
  return { tx_id, attempt }
}

const DELEGATE = 'DelegateResourceContract'
const UNDELEGATE = 'UnDelegateResourceContract'

/** What becomes of one. */
async function ask(signer: Signer, attempt: string, raw_data: Uint8Array) {
  const [outcome] = await signer([{ attempt, raw_data }])
  return outcome!
}

/** The reason why a signature is refused. */
async function whyNot(
  attempt: string,
  raw_data: Uint8Array,
  signer = signerWith(),
): Promise<string> {
  const outcome = await ask(signer, attempt, raw_data)
  assert.equal(outcome.state, 'refused')
  return outcome.state === 'refused' ? outcome.why : ''
}

test('each wallet signs what it is for and what is asked for, with its own key', async () => {
  const cases: [string, string, Message, string][] = [
    [(await delegating(await order())).attempt, DELEGATE, delegation, 'pool'],
    [await reclaiming(), UNDELEGATE, delegation, 'pool'],
    [await activating(), 'AccountCreateContract', creation, 'activation'],
    [(await refunding()).attempt, 'TransferContract', payment, 'refund'],
  ]
  const sign = signerWith()
  for (const [attempt, type, value, by] of cases) {
    const raw_data = raw(type, value)
    const outcome = await ask(sign, attempt, raw_data)
    assert.equal(outcome.state, 'signed', `${type}: ${JSON.stringify(outcome)}`)
    if (outcome.state !== 'signed') continue
    assert.equal(outcome.tx_id, transactionId(raw_data))
    assert.deepEqual(outcome.raw_data, raw_data)
    assert.deepEqual(outcome.expires_at, new Date(now.getTime() + 60_000))
    assert.equal(recoverAddress(outcome.tx_id, outcome.signature), person(`${by} hot`).address)
  }
  const { attempt } = await delegating(await order(), { by: other })
  const third = raw(
    DELEGATE,
    { ...delegation, owner_address: person('other').hex },
    { permission_id: 3 },
  )
  const outcome = await ask(sign, attempt, third)
  assert.ok(outcome.state === 'signed')
  assert.equal(recoverAddress(outcome.tx_id, outcome.signature), person('other hot').address)
})

test('a batch comes back in its order, and what is wrong in it stops nothing else', async () => {
  const good = await Promise.all(
    [1, 2, 3].map(async () => (await delegating(await order())).attempt),
  )
  const bytes = [0, 1, 2].map((more) =>
    raw(DELEGATE, delegation, { timestamp: now.getTime() + more }),
  )
  const batch = good.map((attempt, i) => ({ attempt, raw_data: bytes[i]! }))
  batch.splice(1, 0, { attempt: 'no such attempt', raw_data: bytes[0]! })
  const outcomes = await signerWith()(batch)
  assert.deepEqual(
    outcomes.map(({ state }) => state),
    ['signed', 'refused', 'signed', 'signed'],
  )
  const ids = outcomes.flatMap((one) => (one.state === 'signed' ? [one.tx_id] : []))
  assert.deepEqual(ids, bytes.map(transactionId))
})

test('an open order, or one owed after a fork, is delivered; an unpaid one is not', async () => {
  const bytes = raw(DELEGATE, delegation)
  const owed = await order({ state: 'success' })
  await resolve(owed, 'capture')
  assert.equal((await ask(signerWith(), (await delegating(owed)).attempt, bytes)).state, 'signed')
  const paidBack = await order()
  await resolve(paidBack, 'release')
  const uncharged = await order({ state: 'success' })
  const cases: [string, RegExp][] = [
    [await order({ hold: false }), /not paid for/],
    [await order({ amount_sun: 0n }), /not paid for/],
    [await order({ amount_sun: 10_001n }), /not paid for/],
    [await order({ amount_sun: 9_999n }), /costs less than any price in force/],
    [await order({ energy: 200_000 }), /costs less than any price in force/],
    [await order({ energy: 3_000_001 }), /costs less than any price in force/],
    [paidBack, /not paid for/],
    [uncharged, /not paid for/],
    [await order({ state: 'failed' }), /no order that is open or owed/],
  ]
  for (const [of, why] of cases)
    assert.match(await whyNot((await delegating(of)).attempt, bytes), why)
})

test('an order of a day ago is delivered no more, but when a fork took it back', async () => {
  const bytes = raw(DELEGATE, delegation)
  const day_ago = new Date(now.getTime() - 86_400_000)
  const later = new Date(day_ago.getTime() + 1)
  const why = await whyNot((await delegating(await order({ created_at: day_ago }))).attempt, bytes)
  assert.match(why, /its order was made more than a day before/)
  const owed = await order({ state: 'success', created_at: day_ago })
  await resolve(owed, 'capture')
  for (const one of [owed, await order({ created_at: later })])
    assert.equal((await ask(signerWith(), (await delegating(one)).attempt, bytes)).state, 'signed')
})

test('a delegation row without an order, or unlike it, gets nothing', async () => {
  const bytes = raw(DELEGATE, delegation)
  const delivered = await order()
  await delegating(delivered)
  assert.match(
    await whyNot((await delegating(delivered)).attempt, bytes),
    /no order that is open or owed wants/,
  )
  const more = await delegating(await order(), { amount: 51 })
  assert.match(await whyNot(more.attempt, bytes), /no order that is open or owed wants/)
  const dear = await delegating(await order(), { stake_sun: 900_000_000n })
  const dearer = raw(DELEGATE, { ...delegation, balance: 900_000_000n })
  assert.match(
    await whyNot(dear.attempt, dearer),
    /900000000 sun is far more than its amount needs/,
  )
  const { attempt, id } = await delegating(await order())
  const wrong: [Message, RegExp][] = [
    [{ receiver_address: person('thief').hex }, /it is for T\w+, and not for T\w+/],
    [{ balance: 50_000_001n }, /it is of 50000000 sun, and not of 50000001/],
    [{ resource: 'BANDWIDTH' }, /it is of energy, and not of bandwidth/],
  ]
  for (const [change, why] of wrong)
    assert.match(await whyNot(attempt, raw(DELEGATE, { ...delegation, ...change })), why)
  const elsewhere = raw(
    DELEGATE,
    { ...delegation, owner_address: person('other').hex },
    { permission_id: 3 },
  )
  assert.match(await whyNot(attempt, elsewhere), /it is from T\w+, and not from/)
  assert.match(await whyNot(attempt, raw(UNDELEGATE, delegation)), /is not what a delegate needs/)
  await sql`update delegation set state = 'failed' where id = ${id}`
  assert.match(await whyNot(attempt, bytes), new RegExp(`delegate:${id} is failed`))
  const stolen = await delegating(await order(), { subject: 'delegate:another' })
  assert.match(await whyNot(stolen.attempt, bytes), /the attempt is for delegate:another/)
})

test("a subscription's and a direct recharge's order is delivered, a forged one not", async () => {
  const bytes = raw(DELEGATE, delegation)
  const house = async (customer_id: string, external_id: string, amount_sun: bigint) => {
    const id = await order({ hold: false, amount_sun })
    await sql`
      update orders set customer_id = ${customer_id}, external_id = ${external_id} where id = ${id}`
    return (await delegating(id)).attempt
  }
  await sql`
    insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included,
      transactions_limit,
                      duration_days, energy_per_transaction, changed_by)
    values ('small', 'small', 0, 0, 5, 0, 0, 0, 50, 'test')`
  await sql`
    insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
      activate_address, total_sun,
                              look_at, idle_since, created_at)
    select 'sub', 'anna', id, ${bob.address}, 0, 0, false, 0, ${now}, ${now}, ${now} from plan
      where key = 'small'`
  assert.equal(
    (await ask(signerWith(), await house('subscriptions', 'sub/1', 0n), bytes)).state,
    'signed',
  )
  assert.match(await whyNot(await house('subscriptions', 'none/1', 0n), bytes), /not paid for/)
  await sql`update plan set energy_per_transaction = 49 where key = 'small'`
  assert.match(await whyNot(await house('subscriptions', 'sub/2', 0n), bytes), /not paid for/)
  const { tx_id } = await refunding()
  await sql`update deposit set state = 'received' where tx_id = ${tx_id}`
  const recharged = await house('direct_recharge', `deposit:${tx_id}`, 5_000_000n)
  assert.match(await whyNot(recharged, bytes), /not paid for/)
  const [{ order_id } = { order_id: '' }] = await sql<{ order_id: string }>`
    select order_id from delegation where attempt_id = ${recharged}`
  await sql`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    values (${`order:${order_id}`}, 'hold', 'customer:direct_recharge', 'revenue', 5000000, ${now})`
  for (const state of ['seen', 'returning', 'refunding', 'refunded', 'held', 'gone']) {
    await sql`update deposit set state = ${state} where tx_id = ${tx_id}`
    assert.match(await whyNot(recharged, bytes), /not paid for/, state)
  }
  await sql`
    update deposit set state = 'delivering', order_id = ${order_id} where tx_id = ${tx_id}`
  assert.equal((await ask(signerWith(), recharged, bytes)).state, 'signed')
})

test('the smallest sums and the largest that are allowed are signed', async () => {
  for (const sun of [TRX, MAX_SUN]) {
    const row = { stake_sun: sun, amount: Number(sun / TRX) }
    const { attempt } = await delegating(await order({ energy: 1_000 }), row)
    const bytes = raw(DELEGATE, { ...delegation, balance: sun })
    assert.equal((await ask(signerWith(), attempt, bytes)).state, 'signed', `delegate ${sun}`)
  }
  const { attempt: other_sum } = await delegating(await order())
  const smallest = await whyNot(other_sum, raw(DELEGATE, { ...delegation, balance: 1n }))
  assert.equal(smallest, 'it is of 50000000 sun, and not of 1')
  for (const amount of [1n, 4_700_000n]) {
    const { attempt } = await refunding()
    const bytes = raw('TransferContract', { ...payment, amount })
    const signer = signerWith({}, { refund_max_sun: 4_700_000n })
    assert.equal((await ask(signer, attempt, bytes)).state, 'signed', `refund ${amount}`)
  }
  const { attempt } = await delegating(await order())
  const day = raw(DELEGATE, delegation, { expiration: now.getTime() + 86_400_000 })
  assert.equal((await ask(signerWith(), attempt, day)).state, 'signed', 'valid for a day')
})

test('no sum of nothing is signed, and none beyond the most that is allowed', async () => {
  const sums: [string, (attempt: bigint) => Promise<[string, Uint8Array]>][] = [
    [
      'a refund',
      async (amount) => [
        (await refunding()).attempt,
        raw('TransferContract', { ...payment, amount }),
      ],
    ],
    [
      'a delegation',
      async (balance) => [
        (await delegating(await order())).attempt,
        raw(DELEGATE, { ...delegation, balance }),
      ],
    ],
  ]
  for (const [what, asking] of sums)
    for (const sun of [0n, -1n, 10n ** 15n])
      assert.match(await whyNot(...(await asking(sun))), /sun is too much/, `${what} of ${sun}`)
})

test('a forged activation, refund or attempt gets nothing', async () => {
  const pay = raw('TransferContract', payment)
  const alone = await attemptFor('refund:nothing')
  assert.equal(await whyNot(alone, pay), 'nothing asks for this attempt')
  assert.match(
    await whyNot(await activating({ ordered: false }), raw('AccountCreateContract', creation)),
    /no order/,
  )
  const cases = [{ booked: false }, { to: person('elsewhere').address }, { position: -1 }]
  for (const wrong of cases)
    assert.match(await whyNot((await refunding(wrong)).attempt, pay), /no such deposit is booked/)
  const { attempt, tx_id } = await refunding()
  const dear = raw('TransferContract', { ...payment, amount: 4_700_001n })
  assert.equal(await whyNot(attempt, dear), '4700001 sun is more than the 4700000 of the deposit')
  const thief = raw('TransferContract', { ...payment, to_address: person('thief').hex })
  assert.match(await whyNot(attempt, thief), /and not for T/)
  await sql`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    values (${`refund:${tx_id}`}, 'move', 'customer:direct_recharge', 'world', 4700000, ${now})`
  assert.match(await whyNot(attempt, pay), /that has not gone back/)
})

test('an attempt asked for again gets its first signature, from any process', async () => {
  const entries: SignatureRecord[] = []
  const { attempt } = await delegating(await order())
  const first = await ask(
    signerWith({ log: memoryLog(entries) }),
    attempt,
    raw(DELEGATE, delegation),
  )
  now = new Date(now.getTime() + 5_000)
  const later = raw(DELEGATE, delegation)
  const again = await ask(signerWith({ log: memoryLog(entries) }), attempt, later)
  assert.equal(first.state, 'signed')
  assert.deepEqual(again, first)
  assert.equal(entries.length, 1)
  await sql`update attempt set state = 'dead' where id = ${attempt}`
  assert.deepEqual(await ask(signerWith(), attempt, later), { state: 'moot' })
})

test("a second transaction is signed when the first is dead, a refund's much later", async () => {
  const entries: SignatureRecord[] = []
  const sign = () => signerWith({ log: memoryLog(entries) })
  const { attempt, tx_id } = await refunding()
  assert.equal((await ask(sign(), attempt, raw('TransferContract', payment))).state, 'signed')
  // Somebody renames the first, so that the database lets another be made.
  await sql`update attempt set subject = 'gone' where id = ${attempt}`
  const second = await attemptFor(`refund:${tx_id}`)
  await sql`update deposit set refund_id = ${second} where tx_id = ${tx_id}`
  now = new Date(now.getTime() + 600_000)
  assert.match(
    await whyNot(second, raw('TransferContract', payment), sign()),
    /was signed for refund:\w+ before/,
  )
  await sql`update attempt set state = 'dead' where id = ${attempt}`
  now = new Date(now.getTime() - 500_000)
  assert.equal((await ask(sign(), second, raw('TransferContract', payment))).state, 'waits')
  now = new Date(now.getTime() + 500_000)
  assert.equal((await ask(sign(), second, raw('TransferContract', payment))).state, 'signed')
})

test('of the signatures for a subject the last to expire counts, whenever it is read', async () => {
  const entries: SignatureRecord[] = []
  const { attempt, tx_id } = await refunding()
  const sign = () => signerWith({ log: memoryLog(entries) })
  const another = async (before: string) => {
    await sql`update attempt set state = 'dead' where id = ${before}`
    const next = await attemptFor(`refund:${tx_id}`)
    await sql`update deposit set refund_id = ${next} where tx_id = ${tx_id}`
    return next
  }
  assert.equal((await ask(sign(), attempt, raw('TransferContract', payment))).state, 'signed')
  now = new Date(now.getTime() + 600_000)
  const second = await another(attempt)
  assert.equal((await ask(sign(), second, raw('TransferContract', payment))).state, 'signed')
  // The files of several processes are read one after the other.
  entries.reverse()
  const third = await another(second)
  assert.equal((await ask(sign(), third, raw('TransferContract', payment))).state, 'waits')
})

test('what was signed is given again for two hours; after that nothing is', async () => {
  const entries: SignatureRecord[] = []
  const { attempt } = await delegating(await order())
  const sign = () => signerWith({ log: memoryLog(entries) })
  const first = await ask(sign(), attempt, raw(DELEGATE, delegation))
  const began = now
  now = new Date(began.getTime() + 7_199_999)
  assert.deepEqual(await ask(sign(), attempt, raw(DELEGATE, delegation)), first)
  now = new Date(began.getTime() + 7_200_000)
  const why = await whyNot(attempt, raw(DELEGATE, delegation), sign())
  assert.match(why, /was signed for it, too long ago/)
})

/** That something was signed for a subject by another attempt, so long before. */
const signedBefore = (
  subject: string,
  type: string,
  { age_ms = 0, attempt = 'lost', expires_at = 0 } = {},
): SignatureRecord => ({
  at: now.getTime() - age_ms,
  attempt,
  subject,
  tx_id: 'earlier',
  type,
  wallet: pool.address,
  receiver: bob.address,
  sun: 1n,
  expires_at,
  raw_data: '',
})

test('a signature for the same is known for two days, that of a refund for 31', async () => {
  const DAY_MS = 86_400_000
  for (const [age_ms, state] of [
    [2 * DAY_MS - 1, 'refused'],
    [2 * DAY_MS, 'signed'],
  ] as const) {
    const { id, attempt } = await delegating(await order())
    const log = memoryLog([signedBefore(`delegate:${id}`, DELEGATE, { age_ms })])
    const outcome = await ask(signerWith({ log }), attempt, raw(DELEGATE, delegation))
    assert.equal(outcome.state, state, `a delegation after ${age_ms}`)
  }
  for (const [age_ms, state] of [
    [2 * DAY_MS, 'refused'],
    [31 * DAY_MS, 'refused'],
    [31 * DAY_MS + 1, 'signed'],
  ] as const) {
    const { tx_id, attempt } = await refunding()
    const log = memoryLog([signedBefore(`refund:${tx_id}`, 'TransferContract', { age_ms })])
    const outcome = await ask(signerWith({ log }), attempt, raw('TransferContract', payment))
    assert.equal(outcome.state, state, `a refund after ${age_ms}`)
  }
})

test('the next for the same ends half a minute later, a refund three minutes', async () => {
  const dead = await attemptFor('over')
  const another = await attemptFor('over too')
  await sql`update attempt set state = 'dead' where id = any(${[dead, another]})`
  const cases = [
    [29_999, DELEGATE, 'waits'],
    [30_000, DELEGATE, 'signed'],
    [179_999, 'TransferContract', 'waits'],
    [180_000, 'TransferContract', 'signed'],
  ] as const
  for (const [later_ms, type, state] of cases) {
    const is_refund = type === 'TransferContract'
    const { attempt } = is_refund ? await refunding() : await delegating(await order())
    const [row] = await sql<{ subject: string }>`select subject from attempt where id = ${attempt}`
    const expires_at = now.getTime() + 60_000 - later_ms
    const earlier = signedBefore(row!.subject, type, { attempt: dead, expires_at })
    // Of two that ended at the same time the one that is read later counts, which is dead as well.
    const both = [earlier, { ...earlier, attempt: another, tx_id: 'other' }]
    const bytes = is_refund ? raw(type, payment) : raw(type, delegation)
    const outcome = await ask(signerWith({ log: memoryLog(both) }), attempt, bytes)
    assert.equal(outcome.state, state, `${type} after ${later_ms}`)
    const alive = memoryLog([{ ...earlier, attempt: 'lost' }])
    const { state: of_one_alive } = await ask(signerWith({ log: alive }), attempt, bytes)
    assert.equal(of_one_alive, 'refused', 'one that is not dead is in the way, however old')
  }
})

test('a reclaim waits for no other machine that counts', async (t) => {
  // Its statements may take as long as they like, but for a lock they do not wait.
  const of_the_hurried = new URL(url)
  of_the_hurried.searchParams.set('options', '-c lock_timeout=300')
  const hurried = connect({ url: of_the_hurried.href, connections_max: 2 })
  t.after(() => hurried.close())
  const attempt = await reclaiming()
  const { attempt: moot } = await delegating(await order())
  await sql`update attempt set state = 'dead' where id = ${moot}`
  const signer = signerWith({ sql: hurried })
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(720461515)`
    const outcomes = await signer([
      { attempt, raw_data: raw(UNDELEGATE, delegation) },
      { attempt: moot, raw_data: raw(DELEGATE, delegation) },
    ])
    assert.deepEqual(
      outcomes.map(({ state }) => state),
      ['signed', 'moot'],
    )
  })
})

test('nothing is given out before it is on disk', async () => {
  const broken: SignatureLog = { ...memoryLog(), append: () => Promise.reject(new Error('ENOSPC')) }
  const { attempt } = await delegating(await order())
  await assert.rejects(
    ask(signerWith({ log: broken }), attempt, raw(DELEGATE, delegation)),
    /ENOSPC/,
  )
})

test('above a limit nothing is signed until the time is over; reclaims have none', async () => {
  const entries: SignatureRecord[] = []
  const limits = { delegated_trx_hour: 120 }
  const sign = signerWith({ log: memoryLog(entries) }, { limits })
  const next = async () => (await delegating(await order())).attempt
  const bytes = () => raw(DELEGATE, delegation)
  assert.equal((await ask(sign, await next(), bytes())).state, 'signed')
  assert.equal((await ask(sign, await next(), bytes())).state, 'signed')
  const third = await next()
  assert.match(await whyNot(third, bytes(), sign), /above a limit: delegated_trx_hour/)
  const restarted = signerWith({ log: memoryLog(entries) }, { limits })
  assert.match(await whyNot(third, bytes(), restarted), /above a limit/)
  assert.equal((await ask(sign, await reclaiming(), raw(UNDELEGATE, delegation))).state, 'signed')
  now = new Date(now.getTime() + 3_600_000)
  assert.match(await whyNot(third, bytes(), sign), /above a limit/, 'never over less than an hour')
  now = new Date(now.getTime() + 61_000)
  assert.equal((await ask(sign, third, bytes())).state, 'signed')
})

const countedRows = async () => (await sql`select number from signing_amount`).length

test('all machines together sign no more than a limit, at the same time too', async () => {
  const limits = { delegated_trx_hour: 620 }
  // Each has files of its own, and connections, as on a machine.
  const machines = [0, 1, 2].map(() => signerWith({}, { limits }))
  const attempts = await Promise.all(
    Array.from({ length: 15 }, async () => (await delegating(await order())).attempt),
  )
  const outcomes = await Promise.all(
    attempts.map((attempt, i) => {
      const bytes = raw(DELEGATE, delegation, { timestamp: now.getTime() + i })
      return ask(machines[i % 3]!, attempt, bytes)
    }),
  )
  const signed = outcomes.filter(({ state }) => state === 'signed')
  assert.equal(signed.length, 12, '600 TRX of 620')
  assert.equal(await countedRows(), 12)
  const refused = outcomes.find((one) => one.state === 'refused')
  assert.ok(refused?.state === 'refused')
  assert.match(
    refused.why,
    /above a limit of all machines together: delegated_trx_hour: 600000000 and 50000000 more/,
  )
  // One that starts later reads what was counted before.
  const bytes = raw(DELEGATE, delegation)
  const restarted = signerWith({}, { limits })
  const { attempt } = await delegating(await order())
  assert.match(await whyNot(attempt, bytes, restarted), /limit of all machines/)
  assert.equal(
    (await ask(restarted, await reclaiming(), raw(UNDELEGATE, delegation))).state,
    'signed',
    'what is taken back has no limit',
  )
  now = new Date(now.getTime() + 3_661_000)
  assert.equal((await ask(restarted, attempt, raw(DELEGATE, delegation))).state, 'signed')
})

test('refunds and activations are counted by all machines as well', async () => {
  const limits = { refunds_hour: 1, activations_day: 1 }
  const [one, two] = [signerWith({}, { limits }), signerWith({}, { limits })]
  const pay = raw('TransferContract', payment)
  assert.equal((await ask(one, (await refunding()).attempt, pay)).state, 'signed')
  assert.match(await whyNot((await refunding()).attempt, pay, two), /together: refunds_hour/)
  const create = raw('AccountCreateContract', creation)
  assert.equal((await ask(two, await activating(), create)).state, 'signed')
  assert.match(await whyNot(await activating(), create, one), /together: activations_day/)
})

test('what was counted and then not signed counts; another signs it later', async () => {
  const limits = { delegated_trx_hour: 120 }
  const broken: SignatureLog = { ...memoryLog(), append: () => Promise.reject(new Error('ENOSPC')) }
  const { attempt } = await delegating(await order())
  const bytes = raw(DELEGATE, delegation)
  await assert.rejects(ask(signerWith({ log: broken }, { limits }), attempt, bytes), /ENOSPC/)
  assert.equal(await countedRows(), 1)
  const other_machine = signerWith({}, { limits })
  assert.deepEqual(await ask(other_machine, attempt, bytes), {
    state: 'waits',
    why: 'another process has counted it just now',
  })
  now = new Date(now.getTime() + 5_000)
  assert.equal((await ask(other_machine, attempt, raw(DELEGATE, delegation))).state, 'signed')
  assert.equal(await countedRows(), 2)
  const next = (await delegating(await order())).attempt
  assert.match(await whyNot(next, raw(DELEGATE, delegation), other_machine), /of all machines/)
})

test('while nothing can be kept nothing more is counted', async () => {
  const limits = { delegated_trx_hour: 120 }
  let is_full = true
  const kept = memoryLog()
  const log: SignatureLog = {
    ...kept,
    append: (entries) => (is_full ? Promise.reject(new Error('ENOSPC')) : kept.append(entries)),
  }
  const sign = signerWith({ log }, { limits })
  const { attempt } = await delegating(await order())
  for (let i = 0; i < 60; i++) {
    await assert.rejects(ask(sign, attempt, raw(DELEGATE, delegation)), /ENOSPC/)
    now = new Date(now.getTime() + 10_000)
  }
  assert.equal(await countedRows(), 1, 'of a try that failed, and none of those after it')
  is_full = false
  assert.equal((await ask(sign, attempt, raw(DELEGATE, delegation))).state, 'signed')
  assert.equal(await countedRows(), 2)
})

test('rows that lie stop signing, and let nobody sign more than his own file says', async () => {
  const limits = { delegated_trx_hour: 120 }
  const sign = signerWith({ log: memoryLog() }, { limits })
  const next = async () => (await delegating(await order())).attempt
  const bytes = raw(DELEGATE, delegation)
  assert.equal((await ask(sign, await next(), bytes)).state, 'signed')
  assert.equal((await ask(sign, await next(), bytes)).state, 'signed')
  await sql`delete from signing_amount`
  assert.match(await whyNot(await next(), bytes, sign), /above a limit: delegated_trx_hour/)
  const later = new Date(now.getTime() + 86_400_000)
  await sql`
    insert into signing_amount (attempt, type, wallet, sun, at)
    values ('lie', ${DELEGATE}, ${pool.address}, ${120n * TRX}, ${later})`
  assert.match(await whyNot(await next(), bytes, signerWith({}, { limits })), /of all machines/)
})

test('a batch whose count the database has not taken counts for nothing', async () => {
  const limits = { delegated_trx_hour: 60 }
  let fails = true
  const failing: Sql = Object.assign((...query: Parameters<Sql>) => sql(...query), {
    ...sql,
    begin: (<T>(work: (tx: Tx) => Promise<T>) =>
      sql.begin(async (tx) => {
        const done = await work(tx)
        if (fails) throw new Error('the connection is gone')
        return done
      })) as Sql['begin'],
  }) as Sql
  const sign = signerWith({ sql: failing }, { limits })
  const { attempt } = await delegating(await order())
  const bytes = raw(DELEGATE, delegation)
  for (const _ of [1, 2, 3]) await assert.rejects(ask(sign, attempt, bytes), /is gone/)
  assert.equal(await countedRows(), 0)
  fails = false
  assert.equal((await ask(sign, attempt, bytes)).state, 'signed')
})

test('what no limit looks at any more is forgotten', async () => {
  const at = (hours: number) => new Date(now.getTime() - hours * 3_600_000)
  await sql`
    insert into signing_amount (attempt, type, wallet, sun, at)
    values ('old', ${DELEGATE}, ${pool.address}, 1, ${at(49)}),
           ('young', ${DELEGATE}, ${pool.address}, 1, ${at(25)})`
  const step = forgetAmountsStep({ sql, clock: { now: () => now } })
  assert.equal(await step.run(), true)
  assert.equal(await step.run(), false)
  assert.deepEqual(await sql`select attempt from signing_amount`, [{ attempt: 'young' }])
})

test('the limits that are left out follow from what each wallet has staked', async () => {
  const stakes = new Map([
    [pool.address, 40_000_000n],
    [other.address, 1_000_000_000n],
  ])
  const sign = signerWith({ stakes: () => stakes })
  const next = async (by: Wallet) => (await delegating(await order(), { by })).attempt
  const from = { ...delegation, owner_address: person('other').hex }
  assert.equal((await ask(sign, await next(pool), raw(DELEGATE, delegation))).state, 'signed')
  assert.match(await whyNot(await next(pool), raw(DELEGATE, delegation), sign), /wallet_trx_hour/)
  assert.equal(
    (await ask(sign, await next(other), raw(DELEGATE, from, { permission_id: 3 }))).state,
    'signed',
  )
})

test('while it is stopped nothing is signed, by whichever of the three ways', async () => {
  const { attempt } = await delegating(await order())
  const bytes = raw(DELEGATE, delegation)
  const stateOf = async (signer = signerWith()) => (await ask(signer, attempt, bytes)).state
  assert.equal(await stateOf(signerWith({ stopped_here: () => true })), 'waits')
  assert.equal(
    await stateOf(signerWith({ isStopped: (address) => address === pool.address })),
    'waits',
  )
  await sql`update signing set stopped = true`
  assert.equal(await stateOf(), 'waits')
  await sql`
    insert into operator_action (made_at, made_by, action, subject, after)
    values (${now}, 'anna', 'signer stop', 'signing', '{"stopped": true}')`
  await sql`update signing set stopped = false`
  assert.equal(
    await stateOf(),
    'waits',
    'a row that is changed back without a record changes nothing',
  )
  await sql`delete from signing`
  assert.equal(await stateOf(), 'waits')
  await sql`insert into signing default values`
  await sql`
    insert into operator_action (made_at, made_by, action, subject, after)
    values (${now}, 'anna', 'signer go', 'signing', '{"stopped": false}')`
  assert.equal(await stateOf(), 'signed')
})

const RAW_WITH_MORE = message({ more: [900, 'int64'] })

test('nothing of another form is signed, whatever asks', async () => {
  const { attempt } = await delegating(await order())
  const more = encode(RAW_WITH_MORE, { more: 1n })
  const refused: Record<string, Uint8Array> = {
    'a payment of a pool wallet': raw('TransferContract', {
      ...payment,
      owner_address: person('pool').hex,
    }),
    'a payment of the activation wallet': raw('TransferContract', {
      ...payment,
      owner_address: person('activation').hex,
    }),
    'a payment of more than a refund may be': raw('TransferContract', {
      ...payment,
      amount: 500_000_001n,
    }),
    'a payment of nothing': raw('TransferContract', { ...payment, amount: 0n }),
    'a delegation of the refund wallet': raw('DelegateResourceContract', {
      ...delegation,
      owner_address: person('refund').hex,
    }),
    'a delegation of the activation wallet': raw('DelegateResourceContract', {
      ...delegation,
      owner_address: person('activation').hex,
    }),
    'a delegation of a stranger': raw('DelegateResourceContract', {
      ...delegation,
      owner_address: bob.hex,
    }),
    'a delegation by another permission': raw('DelegateResourceContract', delegation, {
      permission_id: 3,
    }),
    "a delegation by the owner's permission": raw('DelegateResourceContract', delegation, {
      permission_id: 0,
    }),
    'a delegation of more than may be': raw('DelegateResourceContract', {
      ...delegation,
      balance: MAX_SUN + 1n,
    }),
    'a delegation of nothing': raw('DelegateResourceContract', { ...delegation, balance: 0n }),
    'a delegation of less than nothing': raw('DelegateResourceContract', {
      ...delegation,
      balance: -5n,
    }),
    'a locked delegation': raw('DelegateResourceContract', { ...delegation, lock: true }),
    'a locked delegation with a period': raw('DelegateResourceContract', {
      ...delegation,
      lock: true,
      lock_period: 1n,
    }),
    'an activation by a pool wallet': raw('AccountCreateContract', {
      ...creation,
      owner_address: person('pool').hex,
    }),
    'an unstaking': raw('UnfreezeBalanceV2Contract', {
      owner_address: person('pool').hex,
      unfreeze_balance: 1n,
      resource: 'ENERGY',
    }),
    'a stake': raw('FreezeBalanceV2Contract', {
      owner_address: person('pool').hex,
      frozen_balance: 1n,
      resource: 'ENERGY',
    }),
    'a change of permissions': raw('AccountPermissionUpdateContract', {
      owner_address: person('pool').hex,
    }),
    'a call of a contract': raw('TriggerSmartContract', {
      owner_address: person('pool').hex,
      contract_address: bob.hex,
    }),
    'a vote': raw('VoteWitnessContract', { owner_address: person('pool').hex }),
    'a memo': raw('DelegateResourceContract', delegation, { data: 'ab' }),
    'a fee limit': raw('DelegateResourceContract', delegation, { fee_limit: 1n }),
    'more than a day': raw('DelegateResourceContract', delegation, {
      expiration: now.getTime() + 86_400_001,
    }),
    'no time': raw('DelegateResourceContract', delegation, { timestamp: 0 }),
    'no contract': raw('DelegateResourceContract', delegation, { contract: [] }),
    'two contracts': raw('DelegateResourceContract', delegation, {
      contract: [
        contract('DelegateResourceContract', delegation, 2),
        contract('DelegateResourceContract', delegation, 2),
      ],
    }),
    'an unknown field': Buffer.concat([raw('DelegateResourceContract', delegation), more]),
    'two messages in one': Buffer.concat([
      raw('DelegateResourceContract', delegation),
      raw('AccountCreateContract', creation),
    ]),
    'cut-off bytes': raw('DelegateResourceContract', delegation).slice(0, -3),
    'no bytes': new Uint8Array(),
    'a nonsense byte': Uint8Array.of(0xff),
  }
  for (const [what, bytes] of Object.entries(refused)) {
    assert.equal((await ask(signerWith(), attempt, bytes)).state, 'refused', what)
  }
})

test('without a wallet for refunds, or without its key, no payment is signed', async () => {
  const { attempt } = await refunding()
  const bytes = raw('TransferContract', payment)
  assert.match(await whyNot(attempt, bytes, signerWith({}, { refund: undefined })), /no key here/)
  const { private_key: _, ...keyless } = refund
  assert.match(
    await whyNot(attempt, bytes, signerWith({}, { refund: keyless })),
    /this process has no key/,
  )
})

test('a wallet with a bad key or address stops the process at start', () => {
  const make = (bad: Partial<Wallet>) => () => signerWith({}, { pool: [{ ...pool, ...bad }] })
  assert.throws(make({ private_key: 'abc' }))
  assert.throws(make({ private_key: '0'.repeat(64) }))
  assert.throws(make({ address: 'T123' }))
})
