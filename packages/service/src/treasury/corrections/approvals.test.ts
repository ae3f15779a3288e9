import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { untilBlocked } from 'penstock-test/harness/own_transaction.ts'
import { customerAccount, spendable } from '../../ledger/accounts/ledger.ts'
import type { Prices, Tier } from '../../market/prices/prices.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type ApprovalRule,
  approveCorrection,
  correctOrPropose,
  isLooser,
  listProposals,
  readApprovalRule,
  setApprovalRule,
} from './approvals.ts'
import { listCorrections } from './corrections.ts'
import { routes } from './routes.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 9, 8, 12, minute))

const TIER: Tier = {
  resource: 'energy',
  duration_hours: 1,
  min_amount: 1_000,
  max_amount: 9_000,
  price_sun: 45_000n,
}

type Wish = { customer_id?: string; sun?: bigint; minute?: number; invoice_number?: bigint | null }

class Desk {
  readonly sql: Sql

  constructor(sql: Sql) {
    this.sql = sql
  }

  /** Two customers, and a rule that wants a second operator from ten sun on. */
  static async of(t: TestContext): Promise<Desk> {
    const { sql } = await freshDatabase(t)
    for (const id of ['anna', 'bert'])
      await sql.begin((tx) => makeCustomer(tx, { id, at: at(-60) }))
    const desk = new Desk(sql)
    await desk.rule({ second: 'name', from_sun: 10n })
    return desk
  }

  async rule(rule: ApprovalRule, minute = -1): Promise<number> {
    const { actions } = await this.sql.begin((tx) =>
      setApprovalRule(tx, rule, { at: at(minute), by: 'olga' }),
    )
    return actions.length
  }

  /** The outcome: made, made before, proposed, or proposed before. */
  async correct(id: string, wish: Wish = {}): Promise<string> {
    const { customer_id = 'anna', sun = 100n, minute = 0, invoice_number = null } = wish
    const by = { made_at: at(minute), made_by: 'olga', reason: 'why' }
    const outcome = await this.sql.begin((tx) =>
      correctOrPropose(tx, { id, customer_id, amount_sun: sun, invoice_number, ...by }),
    )
    if ('made' in outcome) return outcome.made ? 'made' : 'made before'
    return outcome.proposed ? 'proposed' : 'proposed before'
  }

  approve(id: string, by: string, minute: number) {
    return this.sql.begin((tx) => approveCorrection(tx, { id, at: at(minute), by }))
  }

  async open(minute: number): Promise<string[]> {
    const found = await listProposals(this.sql, { open: true, now: at(minute), limit: 9 })
    return found.map(({ id }) => id)
  }
}

const USED = /was used for another correction/

test('the same correction at the same moment is made once, and never proposed too', async (t) => {
  const desk = await Desk.of(t)
  const wanted = { id: 'one', customer_id: 'anna', amount_sun: 6n, invoice_number: null }
  const correction = { ...wanted, made_at: at(0), made_by: 'olga', reason: 'why' }
  const twin = await desk.sql.begin(async (tx) => {
    await correctOrPropose(tx, correction)
    const asked = desk.correct('one', { sun: 6n })
    await untilBlocked(desk.sql, asked)
    return { asked }
  })
  assert.equal(await twin.asked, 'made before')
  assert.deepEqual(await desk.open(1), [])
})

test('a rule is looser when fewer must approve, or only from more on; off is never', () => {
  const rule = (second: ApprovalRule['second'], from_sun: bigint) => ({ second, from_sun })
  const rows: [rule: ApprovalRule, than: ApprovalRule, looser: boolean][] = [
    [rule('name', 10n), rule('role', 10n), true],
    [rule('none', 10n), rule('name', 10n), true],
    [rule('role', 10n), rule('name', 10n), false],
    [rule('name', 10n), rule('name', 10n), false],
    [rule('name', 11n), rule('name', 10n), true],
    [rule('role', 11n), rule('name', 10n), true],
    [rule('name', 9n), rule('name', 10n), false],
    [rule('none', 99n), rule('none', 10n), false],
  ]
  for (const [one, than, looser] of rows)
    assert.equal(isLooser(one, than), looser, `${one.second} ${one.from_sun}`)
})

test('a rule that is set as it is changes nothing, and either half of it something', async (t) => {
  const desk = await Desk.of(t)
  assert.equal(await desk.rule({ second: 'name', from_sun: 10n }, 1), 0)
  assert.equal(await desk.rule({ second: 'name', from_sun: 20n }, 2), 1)
  assert.equal(await desk.rule({ second: 'role', from_sun: 20n }, 3), 1)
  assert.equal(await desk.rule({ second: 'role', from_sun: 20n }, 4), 0)
})

test('an id that is proposed stands for its customer, amount and invoice alone', async (t) => {
  const desk = await Desk.of(t)
  assert.equal(await desk.correct('one'), 'proposed')
  const others: Wish[] = [{ customer_id: 'bert' }, { sun: 101n }, { invoice_number: 7n }]
  // While it is open, and when its hour is over.
  for (const minute of [1, 61]) {
    for (const other of others)
      await assert.rejects(desk.correct('one', { ...other, minute }), USED, `${minute}`)
    assert.equal(await desk.correct('one', { minute: 59 }), 'proposed before')
  }
  assert.equal(await desk.correct('one', { minute: 60 }), 'proposed')
  assert.equal(await desk.correct('one', { minute: 61 }), 'proposed before')
})

test('open is what can be approved: not what was, and not what has expired', async (t) => {
  const desk = await Desk.of(t)
  await desk.correct('expires')
  await desk.correct('approved', { minute: 30 })
  await desk.correct('open', { minute: 31 })
  assert.deepEqual(await desk.open(32), ['open', 'approved', 'expires'])
  await desk.approve('approved', 'piet', 33)
  assert.deepEqual(await desk.open(34), ['open', 'expires'])
  assert.deepEqual(await desk.open(60), ['open'])
  const all = await listProposals(desk.sql, { open: false, now: at(60), limit: 9 })
  assert.equal(all.length, 3)
})

test('what a second operator has approved is not counted, all else of a day is', async (t) => {
  const desk = await Desk.of(t)
  assert.equal(await desk.correct('small', { sun: 6n }), 'made')
  assert.equal(await desk.correct('large', { sun: 100n }), 'proposed')
  await desk.approve('large', 'piet', 1)
  assert.equal(await desk.correct('fits', { sun: -3n, minute: 2 }), 'made')
  assert.equal(await desk.correct('edge', { sun: 1n, minute: 3 }), 'proposed')
  // A day after the first one it alone does not count any more.
  assert.equal(await desk.correct('later', { sun: 6n, minute: 24 * 60 }), 'made')
  assert.equal(await desk.correct('later', { sun: 6n, minute: 24 * 60 }), 'made before')
  await assert.rejects(desk.correct('later', { sun: 7n, minute: 24 * 60 }), USED)
})

test('where roles must differ, another name is not enough, and another role is', async (t) => {
  const desk = await Desk.of(t)
  await desk.rule({ second: 'role', from_sun: 10n }, 0)
  await desk.correct('same')
  await desk.correct('other', { customer_id: 'bert' })
  await desk.sql`update correction_proposal set proposed_role = 'role_b' where id = 'other'`
  await assert.rejects(desk.approve('same', 'piet', 1), /The role .* has proposed it/)
  assert.equal((await desk.approve('other', 'piet', 1)).id, 'other')
})

test('who has proposed approves nothing, however the name is written', async (t) => {
  const desk = await Desk.of(t)
  await desk.correct('one')
  await assert.rejects(desk.approve('one', ' Olga ', 1), /has proposed it cannot approve it/)
  await assert.rejects(desk.approve('two', 'piet', 1), /Nothing is proposed under the id two/)
  await assert.rejects(desk.approve('one', 'piet', 60), /hour is over/)
  await desk.correct('other', { customer_id: 'bert', minute: 2 })
  const { id, made_by } = await desk.approve('other', 'piet', 3)
  assert.deepEqual([id, made_by], ['other', 'olga'])
  await assert.rejects(desk.approve('other', 'rita', 4), /piet has approved it already/)
  const listed = async (customer_id?: string) =>
    (await listCorrections(desk.sql, { customer_id, limit: 9 })).map((one) => one.id)
  assert.deepEqual(await listed('bert'), ['other'])
  assert.deepEqual(await listed('anna'), [])
  assert.deepEqual(await listed(), ['other'])
})

test('a rule is in force from the moment that it begins, until another does', async (t) => {
  const desk = await Desk.of(t)
  await desk.rule({ second: 'role', from_sun: 20n }, 5)
  const rule = async (ms: number) => {
    const { second, from_sun } = await readApprovalRule(desk.sql, new Date(at(0).getTime() + ms))
    return `${second} ${from_sun}`
  }
  const minute = 60_000
  assert.deepEqual(
    [await rule(-minute - 1), await rule(-minute), await rule(5 * minute - 1)],
    ['none 0', 'name 10', 'name 10'],
  )
  assert.equal(await rule(5 * minute), 'role 20')
  assert.equal(await desk.correct('before', { minute: 4, sun: 19n }), 'proposed')
  assert.equal(await desk.correct('after', { minute: 5, sun: 19n }), 'made')
})

test('all that can be spent may be taken, and not a sun more; a sun may be given', async (t) => {
  const desk = await Desk.of(t)
  await desk.rule({ second: 'none', from_sun: 0n }, 0)
  const balance = async () => spendable(desk.sql, customerAccount('anna'))
  await desk.correct('one', { sun: 1n })
  assert.equal(await balance(), 1n)
  await desk.correct('two', { sun: 4n })
  await assert.rejects(desk.correct('much', { sun: -6n }), /The customer can spend 0.000005 TRX/)
  assert.equal(await desk.correct('all', { sun: -5n }), 'made')
  assert.equal(await balance(), 0n)
  await assert.rejects(desk.correct('more', { sun: -1n }), /The customer can spend 0 TRX/)
  for (const customer_id of ['nina', 'direct_recharge'])
    await assert.rejects(desk.correct('x', { customer_id }), /There is no customer/)
  await desk.rule({ second: 'name', from_sun: 0n }, 1)
  for (const customer_id of ['nina', 'direct_recharge'])
    await assert.rejects(desk.correct('x', { customer_id, minute: 2 }), /There is no customer/)
})

test('what is proposed again is found among others, and not when it was approved', async (t) => {
  const desk = await Desk.of(t)
  for (const id of ['one', 'two', 'three']) await desk.correct(id, { sun: BigInt(id.length) + 9n })
  for (const id of ['one', 'two', 'three'])
    assert.equal(
      await desk.correct(id, { sun: BigInt(id.length) + 9n, minute: 1 }),
      'proposed before',
      id,
    )
  // Its correction is not there: a restore has lost it.
  await desk.sql`
    update correction_proposal set approved_at = ${at(2)}, approved_by = 'piet',
      approved_role = 'role' where id = 'two'`
  assert.equal(await desk.correct('two', { sun: 12n, minute: 60 }), 'proposed before')
  assert.equal(await desk.correct('one', { sun: 12n, minute: 60 }), 'proposed')
})

test('what was made without an approval counts, and is not approved later', async (t) => {
  const desk = await Desk.of(t)
  assert.equal(await desk.correct('one', { sun: 12n }), 'proposed')
  await desk.rule({ second: 'none', from_sun: 0n }, 1)
  assert.equal(await desk.correct('one', { sun: 12n, minute: 2 }), 'made')
  await desk.rule({ second: 'name', from_sun: 20n }, 3)
  assert.equal(await desk.correct('two', { sun: 7n, minute: 4 }), 'made')
  assert.equal(await desk.correct('three', { sun: 1n, minute: 5 }), 'proposed')
  await assert.rejects(desk.approve('one', 'piet', 6), /It was made before, without an approval/)
  assert.deepEqual(await desk.open(6), ['three', 'one'])
})

test('a balance is of who has an account, and rates are there while there are any', async (t) => {
  const desk = await Desk.of(t)
  const prices = (resources: Tier['resource'][], on_sale: Prices['on_sale']) => async () => ({
    tiers: resources.map((resource) => ({ ...TIER, resource })),
    activation_sun: 1n,
    on_sale,
  })
  const recharge_address = person('recharge').address
  const ask = (path: string, customer_id: string, of = prices([], new Set())) => {
    const all = routes({ sql: desk.sql, prices: of, recharge_address })
    const { handle } = all.find((one) => one.path === path)!
    return handle({ body: {}, customer: { customer_id } } as never) as Promise<{
      balance?: unknown
      address?: string
      rates?: unknown[]
    }>
  }
  assert.equal((await ask('/v1/balance', 'anna')).address, person('anna').address)
  for (const id of ['nina', 'direct_recharge'])
    await assert.rejects(ask('/v1/balance', id), /Wallet not found/)
  const on = new Set(['direct_recharge'] as const)
  const info = (resources: Tier['resource'][], on_sale: Prices['on_sale']) =>
    ask('/v1/direct-recharge-info', 'anna', prices(resources, on_sale))
  assert.equal((await info(['energy', 'bandwidth'], on)).rates!.length, 1)
  assert.equal((await info(['energy', 'energy'], on)).rates!.length, 2)
  await assert.rejects(info(['bandwidth'], on), /Service unavailable/)
  await assert.rejects(info(['energy', 'energy'], new Set()), /Service unavailable/)
})
