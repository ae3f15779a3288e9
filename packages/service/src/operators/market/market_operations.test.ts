// What operators may ask of the market, and what is refused, at the exact limits: each operation as
// it is run, on rows.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { clock, now, STATES, SubscriptionBook } from 'penstock-test/harness/subscription_book.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { LocalNeeds, Terminal } from '../table/operation.ts'
import {
  chainOperations,
  delegationOperations,
  orderOperations,
  subscriptionOperations,
} from './orders.ts'
import { priceRuleOperations } from './price_rules.ts'
import { priceOperations, serviceOperations } from './prices.ts'
import { proofOperations } from './proofs.ts'
import { receiptOperations } from './receipts.ts'

const OPERATIONS = [
  ...priceOperations,
  ...serviceOperations,
  ...priceRuleOperations,
  ...orderOperations,
  ...delegationOperations,
  ...subscriptionOperations,
  ...chainOperations,
  ...proofOperations,
  ...receiptOperations,
]

const operation = (words: string) => OPERATIONS.find(({ cli }) => cli.words === words)!

class Desk {
  readonly sql: Sql
  parameters = new Map<string, bigint>()
  count = 0

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<Desk> {
    const { sql } = await freshDatabase(t)
    return new Desk(sql)
  }

  ask(words: string, body: object = {}) {
    const needs = {
      sql: this.sql,
      clock,
      new_id: () => `made ${++this.count}`,
      wake: () => {},
      node: () => ({ parameters: async () => this.parameters }),
    } as unknown as LocalNeeds
    return operation(words).run(needs, { body, operator: { made_by: 'olga', reason: null } })
  }

  async note(words: string, body: object): Promise<string | undefined> {
    return (await this.ask(words, body)).note?.split('\n').at(-1)
  }

  async value<Value>(words: string, body: object = {}): Promise<Value> {
    return (await this.ask(words, body)).value as Value
  }

  /** What is refused, in its first words. */
  async refused(words: string, body: object): Promise<string> {
    return this.ask(words, body).then(
      () => 'accepted',
      ({ message }: Error) => message,
    )
  }
}

const CHANGED = 'Changed: in force in every process within a second.'

test('tiers, ranges and steps are typed in their forms', () => {
  const read = (words: string, field: string, given: string) => {
    const reading = operation(words).cli.read[field]!
    try {
      return reading(given, field)
    } catch (thrown) {
      return (thrown as Error).message.split(':')[0]
    }
  }
  const tier = { min_amount: 10, max_amount: 20, price_sun: 50_000 }
  assert.deepEqual(read('prices set', 'tiers', '10-20=0.05'), tier)
  for (const wrong of ['10=0.05', '10-20', '10-20=', 'x-20=1', '-20=1'])
    assert.equal(read('prices set', 'tiers', wrong), `${wrong} is not a tier`)
  const { price_sun: _price, ...range } = tier
  assert.deepEqual(read('prices remove', 'range', '10-20'), range)
  for (const wrong of ['10', '10-', '-20', '10-20-30'])
    assert.equal(read('prices remove', 'range', wrong), `${wrong} is not a range`)
  const step = { full_percent: 80, raise_percent: 10 }
  assert.deepEqual(read('price-rules set', 'steps', '80=10'), step)
  for (const wrong of ['80', '80=', '=10', '1000=1', '1=10000'])
    assert.equal(read('price-rules set', 'steps', wrong), `${wrong} is not a step`)
})

test('prices are set by tiers, and a change says whether it has changed anything', async (t) => {
  const desk = await Desk.of(t)
  const set = (...tiers: object[]) => ({ resource: 'energy', tiers })
  const tier = { min_amount: 32_000, max_amount: 130_999, price_sun: 50_000 }
  const more = { min_amount: 131_000, max_amount: 3_000_000, price_sun: 41_000 }
  assert.match(await desk.refused('prices set', set()), /no tier was given/)
  assert.equal(await desk.note('prices set', set(tier)), CHANGED)
  assert.equal(await desk.note('prices set', set(tier)), 'No change.')
  assert.equal(await desk.note('prices set', set(tier, more)), CHANGED)
})

test('what is burned is said as the node says it, for 1000 units', async (t) => {
  const desk = await Desk.of(t)
  const value = () => desk.value('prices burning')
  assert.deepEqual(await value(), { energy_sun: null, bandwidth_sun: null })
  desk.parameters = new Map([['getEnergyFee', 100n]])
  assert.deepEqual(await value(), { energy_sun: 100_000n, bandwidth_sun: null })
})

test('a plan has a key of letters and digits, and what is given of its terms', async (t) => {
  const desk = await Desk.of(t)
  const terms = { name: 'Night', initial_price_sun: 4, price_sun: 2 }
  const set = (plan: string, given: object) => ({ plan, ...given })
  for (const key of ['', 'a b', 'a.b', 'a'.repeat(65)])
    assert.match(await desk.refused('plans set', set(key, terms)), /The key of a plan/, key)
  for (const key of ['a', 'a-b_9', 'a'.repeat(64)])
    assert.equal(await desk.note('plans set', set(key, terms)), CHANGED, key)
  assert.match(await desk.refused('plans set', set('b', { name: 'b' })), /no plan b/)
  assert.equal(await desk.note('plans set', set('a', { energy: 7 })), CHANGED)
  const [plan] = await desk.sql`
    select name, initial_price_sun as start_sun, price_sun, energy_per_transaction as energy
    from plan where key = 'a' and until is null`
  assert.deepEqual(plan, { name: 'Night', start_sun: 4n, price_sun: 2n, energy: 7 })
})

test('services are switched by their names, or all at once, and never neither', async (t) => {
  const desk = await Desk.of(t)
  type Switch = { name: string; on_sale: boolean }
  const names = async (on_sale: boolean) => {
    const list = await desk.value<Switch[]>('services list')
    return list.filter((one) => one.on_sale === on_sale).map(({ name }) => name)
  }
  const all = await names(true)
  assert.deepEqual(await names(false), [])
  for (const body of [{}, { all: true, names: ['energy'] }])
    assert.match(await desk.refused('services off', body), /give the services, or --all/)
  assert.equal(await desk.note('services off', { names: ['energy', 'bandwidth'] }), CHANGED)
  assert.deepEqual((await names(false)).sort(), ['bandwidth', 'energy'])
  assert.equal(await desk.note('services on', { names: ['energy'] }), CHANGED)
  assert.deepEqual(await names(false), ['bandwidth'])
  await desk.ask('services off', { all: true })
  assert.deepEqual(await names(false), all)
  await desk.ask('services on', { all: true })
  assert.deepEqual(await names(true), all)
  const changed = async (body: object) =>
    new Set((await desk.value<Switch[]>('services history', body)).map(({ name }) => name))
  assert.deepEqual(await changed({ name: 'energy' }), new Set(['energy']))
  assert.deepEqual(await changed({}), new Set(all))
})

test('findings are seen to when nothing is off sale because of them any more', async (t) => {
  const desk = await Desk.of(t)
  const { sql } = desk
  const names = ['energy', 'bandwidth']
  await sql`
    update service set on_sale = false, changed_by = 'books check' where name = any(${names})`
  await sql`
    insert into books_finding (rule, subject, found, found_at)
    values ('rule', 'subject', 'found', ${now})`
  const isSeenTo = async () => {
    const [finding] = await sql<{ accepted_at: Date | null }>`select accepted_at from books_finding`
    return finding!.accepted_at !== null
  }
  await desk.ask('services on', { names: ['energy'] })
  assert.equal(await isSeenTo(), false, 'the check has taken another one off sale')
  await desk.ask('services off', { names: ['bandwidth'] })
  await sql`update service set changed_by = 'olga' where name = 'bandwidth'`
  await desk.ask('services off', { names: ['resource_bundle'] })
  assert.equal(await isSeenTo(), false, 'nothing is put on sale')
  await sql`update service set changed_by = 'books check' where name = 'energy'`
  await desk.ask('services on', { names: ['energy'] })
  assert.equal(await isSeenTo(), true, 'what is on sale is so whoever has switched it')
})

test('quotes bind for five seconds or more, or there are none', async (t) => {
  const desk = await Desk.of(t)
  const seconds = (quote_seconds: number) => ({ quote_seconds })
  assert.match(await desk.refused('offers set', {}), /nothing to change/)
  for (const few of [1, 4])
    assert.match(await desk.refused('offers set', seconds(few)), /is 0, or 5 to 300/)
  for (const given of [5, 0, 300]) {
    assert.equal(await desk.note('offers set', seconds(given)), 'In force at once.', `${given}`)
    assert.equal(await desk.note('offers set', seconds(given)), 'No change.', `${given}`)
  }
  for (const forecast of ['hidden', 'shown']) {
    await desk.ask('offers set', { forecast })
    const offer = { quote_seconds_max: 300, forecast_shown: forecast === 'shown' }
    assert.deepEqual(await desk.value('offers show'), offer)
  }
})

test('the steps of a rule rise, from 1 to 100 percent and up to a thousand', async (t) => {
  const desk = await Desk.of(t)
  const step = (full_percent: number, raise_percent: number) => ({ full_percent, raise_percent })
  const rule = (...steps: object[]) => ({ resource: 'energy', steps })
  const many = (count: number) => Array.from({ length: count }, (_, i) => step(i + 1, i + 1))
  const rows: [body: object, refused: RegExp | undefined][] = [
    [rule(step(0, 1)), /from 1 to 100/],
    [rule(step(101, 1)), /from 1 to 100/],
    [rule(step(1, 0)), /from 1 to 100/],
    [rule(step(1, 1_001)), /from 1 to 100/],
    [rule(step(1, 1), step(100, 1_000)), undefined],
    [rule(step(5, 5), step(5, 6)), /fuller and higher/],
    [rule(step(5, 5), step(6, 5)), /fuller and higher/],
    [rule(step(5, 5), step(6, 6), step(6, 7)), /fuller and higher/],
    [rule(...many(10)), undefined],
    [rule(...many(11)), /10 steps at most/],
    [rule(), /takes steps/],
    [{ resource: 'energy', none: true, margin: 5 }, /takes steps/],
    [{ ...rule(step(1, 1)), none: true }, /takes steps/],
    [rule(step(1, 1)), undefined],
    [{ resource: 'energy', margin: 0 }, undefined],
    [{ resource: 'energy', none: true }, undefined],
  ]
  for (const [body, refused] of rows) {
    const said = await desk.refused('price-rules set', body)
    if (refused) assert.match(said, refused, JSON.stringify(body))
    else assert.equal(said, 'accepted', JSON.stringify(body))
  }
  assert.equal(await desk.note('price-rules set', { resource: 'energy', none: true }), 'No change.')
  assert.equal(await desk.note('price-rules set', rule(step(1, 1))), undefined)
})

test('the capital has a price from 0 to 100 percent, with two decimals at most', async (t) => {
  const desk = await Desk.of(t)
  const rows: [given: string, percent: string | undefined][] = [
    ['0', '0.00'],
    ['7.5', '7.50'],
    ['12.05', '12.05'],
    ['100', '100.00'],
    ['100.00', '100.00'],
    ['100.01', undefined],
    ['', undefined],
    ['.5', undefined],
    ['7.555', undefined],
    ['1000', undefined],
  ]
  for (const [given, percent] of rows) {
    if (percent === undefined)
      assert.match(await desk.refused('pool capital', { percent: given }), /PERCENT is a number/)
    else assert.deepEqual(await desk.value('pool capital', { percent: given }), { percent })
  }
})

test('a forecast has the points that are multiples of what is asked', async (t) => {
  const desk = await Desk.of(t)
  assert.match(await desk.refused('chain show', {}), /No block has been followed/)
  await new SubscriptionBook(desk.sql).chain(now)
  const minutes = async (body: object) =>
    (await desk.value<{ minutes: number }[]>('pool forecast', body)).map((one) => one.minutes)
  const every = await minutes({ every: 20 })
  assert.deepEqual(new Set(every), new Set([0, 20, 40, 60]))
  assert.equal((await minutes({})).includes(5), true)
  assert.equal((await desk.value<{ head_number: number }>('chain show')).head_number, 20)
})

test('an operator ends a subscription that runs, and says so', async (t) => {
  const book = await SubscriptionBook.of(t)
  const desk = new Desk(book.sql)
  const ended: string[] = []
  for (const state of STATES) {
    await book.subscription(state, { state })
    const said = await desk.ask('subscriptions stop', { subscription: state }).then(
      ({ value }) => `${(value as { state: string }).state}`,
      ({ message }: Error) => message,
    )
    ended.push(said)
  }
  assert.deepEqual(ended, [
    'error',
    'error',
    'stopped',
    'The subscription stopped does not run: it is stopped.',
    'The subscription expired does not run: it is expired.',
    'The subscription error does not run: it is error.',
  ])
})

test('receipts and proofs are read from files, with keys and roots if they are named', async () => {
  const files: Record<string, string> = {
    alone: ' a.b.c\n',
    answer: '{"result": {"jws": "a.b.c"}}',
    result: '{"jws": "a.b.c"}',
    'without one': '{"result": {}}',
    'no JSON': '{',
    keys: 'the keys',
    roots: 'the roots',
  }
  const terminal = { readFile: async (name: string) => files[name]! } as unknown as Terminal
  const read = (words: string, extras: object) =>
    operation(words).cli.before!({ ...extras }, terminal)
  const jws = 'a.b.c'
  for (const file of ['alone', 'answer', 'result'])
    assert.deepEqual(await read('receipts verify', { file }), { jws }, file)
  assert.deepEqual(await read('receipts verify', { file: 'alone', keys_file: 'keys' }), {
    jws,
    keys: 'the keys',
  })
  await assert.rejects(read('receipts verify', { file: 'without one' }), /has no jws/)
  await assert.rejects(read('receipts verify', { file: 'no JSON' }), /is not JSON/)
  const proof = { file: 'result' }
  const found = { proof: files.result }
  assert.deepEqual(await read('orders verify', proof), found)
  assert.deepEqual(await read('orders verify', { ...proof, roots_file: 'roots' }), {
    ...found,
    roots: 'the roots',
  })
  assert.deepEqual(await read('orders verify', { ...proof, keys_file: 'keys' }), {
    ...found,
    keys: 'the keys',
  })
})
