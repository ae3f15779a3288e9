// When checks are answered, wait and fail: by what a node says of a transaction, how old the check
// and what is known of the chain are, and what has changed meanwhile.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { untilBlocked } from 'penstock-test/harness/own_transaction.ts'
import { insertChecks } from 'penstock-test/harness/screening_rows.ts'
import {
  makeScreeningWorld,
  type ScreeningWorld,
  TRX,
} from 'penstock-test/harness/screening_world.ts'
import type { Whereabouts } from '../../chain/node/node.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import { issuersOf } from '../engine/issuers.ts'
import { publishPolicy, type Route, SHIPPED_NEWEST, SHIPPED_POLICY } from '../engine/policy.ts'
import { makeEntry } from '../labels/entries.ts'
import { type Provider, ProviderFailure } from '../providers/provider.ts'
import { askProvidersStep, failLateStep, type Needs, screenStep } from './answering.ts'

/** A world with an index, whose node says of every transaction what a test wants. */
async function answering(t: TestContext, more: Partial<Needs> = {}) {
  const world = await makeScreeningWorld(t)
  await world.settle()
  const { sql, clock, node, new_id } = world
  const said: { where: Whereabouts | Error } = { where: { found: 'nowhere' } }
  const whereabouts = async () => {
    if (said.where instanceof Error) throw said.where
    return said.where
  }
  const needs: Needs = {
    sql,
    clock,
    reads: () => ({ ...node, whereabouts }),
    generations: world.process.generations,
    carried_blocks: 10_000,
    issuers: issuersOf({ sql, clock, node }),
    ...more,
  }
  const { index, first_block } = needs.generations.current()!
  /** Asked so long ago, and tried so often. */
  const insert = async (
    how: { type?: 'address' | 'hash'; age_ms?: number; tries?: number; hash?: string } & {
      direction?: 'deposit' | 'withdrawal'
      network?: string
      address?: string
    } = {},
  ) => {
    const { type = 'address', age_ms = 0, tries = 0, network = 'TRX', hash, direction } = how
    const { address = world.person().address } = how
    const id = new_id()
    const created_at = new Date(world.now_ms - age_ms)
    await insertChecks(sql, [{ id, type, address, state: 'pending', created_at }])
    await sql`
      update aml_check set due_at = ${clock.now()}, tries = ${tries}, network = ${network},
        hash = case type when 'hash' then ${hash ?? 'ab'.repeat(32)} end,
        direction = ${direction ?? null}
      where id = ${id}`
    return id
  }
  /** How it stands: why it has failed, or how long it waits. */
  const standing = async (id: string) => {
    const { state, error, due_at } = await world.check(id)
    return state === 'processing' ? `${state} ${+due_at - world.now_ms}` : `${state} ${error}`
  }
  return { world, needs, said, newest: index.block_number, first_block, insert, standing }
}

const solid = (block_number: number) => ({ found: 'solid', block_number }) as const

test('a transaction is waited for, looked for less often, and given up', async (t) => {
  const { needs, said, newest, first_block, insert, standing } = await answering(t)
  const screen = screenStep(needs)
  const [nowhere, head] = [{ found: 'nowhere' }, { found: 'head' }] as const
  for (const [where, age_ms, tries, result] of [
    [nowhere, 5_999, 0, 'processing 1000'],
    [nowhere, 0, 1, 'processing 2000'],
    [nowhere, 0, 2, 'processing 3000'],
    [nowhere, 0, 9, 'processing 3000'],
    [nowhere, 6_000, 0, 'failed tx_not_found'],
    [head, 60_000, 1, 'processing 2000'],
    [solid(newest + 1), 60_000, 1, 'processing 2000'],
    [solid(newest), 0, 0, 'failed no_transfer'],
    [solid(first_block), 0, 0, 'failed no_transfer'],
    [solid(first_block - 1), 0, 0, 'failed not_covered'],
    [new TooManyRequests(1), 0, 5, 'processing 1000'],
  ] as const) {
    said.where = where
    const id = await insert({ type: 'hash', age_ms, tries })
    assert.equal(await screen.run(), true)
    assert.equal(await standing(id), result, `${JSON.stringify(where)} ${age_ms} ${tries}`)
  }
  said.where = new Error('the node is broken')
  const [broken, address] = [await insert({ type: 'hash', tries: 5 }), await insert()]
  await assert.rejects(screen.run(), /the node is broken/)
  assert.equal(await standing(broken), 'processing 1000')
  assert.equal(await standing(address), 'completed null', 'what is broken holds up nothing else')
  assert.equal(await screen.run(), false)
})

test('nothing is answered while the chain is not live, asked each half second', async (t) => {
  const { world, needs, insert, standing } = await answering(t)
  const { sql } = world
  const live_ms = world.now_ms
  const seen = (ms: number) => sql`update chain set seen_at = ${new Date(ms)}`
  for (const [after_ms, answers] of [
    [0, true],
    [499, true],
    [500, false],
    [-1, false],
  ] as const) {
    const screen = screenStep(needs)
    await seen(live_ms)
    world.now_ms = live_ms
    assert.equal(await screen.run(), false, 'there is nothing to do')
    await seen(live_ms - 60_000)
    world.now_ms = live_ms + after_ms
    const id = await insert()
    assert.equal(await screen.run(), answers, `${after_ms}`)
    assert.equal((await world.check(id)).state, answers ? 'completed' : 'pending')
    await screen.run()
    assert.equal((await world.check(id)).state, answers ? 'completed' : 'pending')
  }
  world.now_ms = live_ms
  await seen(live_ms)
  const id = await insert()
  const of = (generation: ReturnType<Needs['generations']['current']>) =>
    screenStep({ ...needs, generations: { current: () => generation } }).run()
  const { current } = needs.generations
  assert.equal(await of(undefined), false, 'no index')
  assert.equal(await of({ ...current()!, block_id: undefined }), false, 'an index of no block')
  assert.equal(await of(current()), true)
  assert.equal(await standing(id), 'completed null')
  await sql`delete from chain`
  await insert()
  assert.equal(await of(current()), false, 'no chain')
})

test('answering is due for what is not ended, from the moment that it is due', async (t) => {
  const { world, needs, insert } = await answering(t)
  const { sql } = world
  const steps = [screenStep(needs), askProvidersStep(needs)]
  const due = () => Promise.all(steps.map((step) => isDue(sql, step)))
  await insertChecks(sql, [{ id: 'completed' }, { id: 'failed', state: 'failed' }])
  const id = await insert()
  for (const [state, ms, is_due] of [
    ['pending', 0, true],
    ['pending', 1, false],
    ['processing', 0, true],
    ['processing', 1, false],
  ] as const) {
    await sql`
      update aml_check set state = ${state}, due_at = ${new Date(world.now_ms + ms)}
      where id = ${id}`
    assert.deepEqual(await due(), [is_due, is_due], `${state} ${ms}`)
  }
})

test('a check fails when it has waited for more than ten minutes, and is due', async (t) => {
  const { world, needs, insert, standing } = await answering(t)
  const { sql } = world
  const step = failLateStep(needs)
  await insertChecks(sql, [
    { id: 'completed', created_at: new Date(0) },
    { id: 'failed', state: 'failed', created_at: new Date(0) },
  ])
  const failing = async (state: string, age_ms: number, due_in_ms = 0) => {
    const id = await insert({ age_ms })
    await sql`
      update aml_check set state = ${state}, due_at = ${new Date(world.now_ms + due_in_ms)}
      where id = ${id}`
    const is_due = await isDue(sql, step)
    assert.equal(await step.run(), is_due, `${state} ${age_ms}`)
    const stands = await standing(id)
    await sql`delete from aml_check where id = ${id}`
    return is_due ? stands : 'not due'
  }
  assert.equal(await failing('pending', 600_001), 'failed index_stale')
  assert.equal(await failing('processing', 600_001), 'failed timed_out')
  assert.equal(await failing('pending', 600_000), 'not due')
  assert.equal(await failing('processing', 600_001, 1), 'not due')
})

/** Makes an entry of an operator about an address. */
const bar = ({ sql, new_id, clock }: ScreeningWorld, address: string) =>
  sql.begin((tx) => {
    const made = { reason: 'x', made_by: 'olga', made_at: clock.now(), expires_at: null }
    const entry = { customer_id: null, address, kind: 'deny' as const, ...made }
    return makeEntry(tx, new_id, entry)
  })

const publish = ({ sql, clock }: ScreeningWorld, body: object) =>
  sql.begin((tx) => publishPolicy(tx, { body, published_by: 'test', published_at: clock.now() }))

const route = (world: ScreeningWorld, key: string, wanted: Route) =>
  publish(world, { ...SHIPPED_POLICY, routes: { ...SHIPPED_POLICY.routes, [key]: wanted } })

const failing: Provider = {
  name: 'other',
  covers: () => true,
  screen: async () => {
    throw new ProviderFailure('transient', 'no')
  },
}

test('an answer that the newest rows contradict is made anew at once', async (t) => {
  let asked = 0
  const { world, needs, insert, standing } = await answering(t, { providers: [failing] })
  await route(world, 'TRX/address', { use: ['other', 'embedded'], mode: 'first' })
  const { address } = world.person()
  // Who is barred is read for the answer, and then once more.
  const ask = async () => {
    asked += 1
    if (asked === 2) await bar(world, address)
  }
  const step = askProvidersStep({ ...needs, issuers: { ask } })
  const id = await insert({ address })
  assert.equal(await step.run(), true)
  assert.deepEqual([asked, await standing(id)], [2, 'processing 0'])
  assert.equal(await step.run(), true)
  const { state, blacklist } = await world.check(id)
  assert.deepEqual([state, blacklist], ['completed', true])
})

/** One that finds nothing bad. */
function clean(): Provider & { asked: number } {
  const provider: Provider & { asked: number } = {
    name: 'other',
    asked: 0,
    covers: () => true,
    screen: async () => {
      provider.asked += 1
      const said = { level: undefined, blacklist: false, reference: 'r', shares: [] }
      return { score: 5, ...said, body: new Uint8Array() }
    },
  }
  return provider
}

test('a check that is answered and asked anew at the same moment is both', async (t) => {
  const { world, needs, insert, standing } = await answering(t)
  const { sql } = world
  const address = world.person().address
  const id = await insert({ address })
  const at = world.clock.now()
  await sql`
    insert into aml_watch (customer_id, address, made_at, label_set, check_id)
    values ('anna', ${address}, ${at}, 0, ${id})`
  const { answering: answer } = await sql.begin(async (tx) => {
    await tx`select from aml_watch where check_id = ${id} for update`
    const answering = screenStep(needs).run()
    await untilBlocked(sql, answering)
    await tx`
      insert into aml_check (id, customer_id, type, network, address, price_sun, solid_number,
        due_at, created_at, supersedes)
      values ('anew', 'anna', 'address', 'TRX', ${address}, 0, 0, ${at}, ${at}, ${id})`
    return { answering }
  })
  assert.equal(await answer, true)
  assert.equal(await standing(id), 'completed null')
})

test('what is answered and what fails takes its watches in one order', async (t) => {
  const [answered, failed] = ['cora', 'anna']
  let fails = ''
  const other = clean()
  const screen: Provider['screen'] = async (question, signal) => {
    if (question.address === fails) throw new ProviderFailure('transient', 'it is away')
    return other.screen(question, signal)
  }
  const { world, needs, insert } = await answering(t, { providers: [{ ...other, screen }] })
  await route(world, 'TRX/address', { use: ['other'], mode: 'first' })
  const { sql } = world
  for (const customer_id of [answered, failed]) {
    const address = world.person().address
    if (customer_id === failed) fails = address
    const id = await insert({ address })
    await sql`update aml_check set customer_id = ${customer_id} where id = ${id}`
    await sql`
      insert into aml_watch (customer_id, address, made_at, label_set, check_id)
      values (${customer_id}, ${address}, ${world.clock.now()}, 0, ${id})`
  }
  const { answering: answer } = await sql.begin(async (tx) => {
    await tx`select from aml_watch where customer_id = ${failed} for update`
    const answering = askProvidersStep(needs).run()
    await untilBlocked(sql, answering)
    await tx`select from aml_watch where customer_id = ${answered} for update`
    return { answering }
  })
  assert.equal(await answer, true)
  const ended = await sql`
    select customer_id, state from aml_check where customer_id in ('anna', 'cora') order by 1`
  assert.deepEqual(ended, [
    { customer_id: failed, state: 'failed' },
    { customer_id: answered, state: 'completed' },
  ])
})

test('nobody else takes up a check while its providers may still be answering', async (t) => {
  const use = ['one', 'two', 'three', 'four']
  let meanwhile = async () => {}
  const others = use.map((name) => ({ ...clean(), name }))
  const { world, needs, insert, standing } = await answering(t, { providers: others })
  for (const other of others) {
    const { screen } = other
    other.screen = async (...of) => {
      // Each may take all the time that there is for one.
      world.now_ms += 25_000
      if (other === others.at(-1)) await meanwhile()
      return screen(...of)
    }
  }
  await route(world, 'TRX/address', { use, mode: 'maximum' })
  const [step, another] = [askProvidersStep(needs), askProvidersStep(needs)]
  meanwhile = async () => {
    meanwhile = async () => {}
    assert.equal(await another.run(), false)
  }
  const id = await insert()
  assert.equal(await step.run(), true)
  assert.equal(await standing(id), 'completed null')
})

/** A world whose checks a provider answers: whose lists were looked at for one, by where its
 *  transaction is; `wait`: the provider was not asked. */
async function askedOutside(t: TestContext) {
  const other = clean()
  const made = await answering(t, { providers: [other] })
  const { world, needs, said, insert } = made
  const outside: Route = { use: ['other'], mode: 'first' }
  const body = structuredClone(SHIPPED_POLICY)
  for (const key of ['TRX/address', 'TRX/hash', 'ETH/address', 'ETH/hash'])
    Object.assign(body.routes, { [key]: outside })
  await publish(world, body)
  const step = askProvidersStep(needs)
  const party = async (how: Parameters<typeof insert>[0], where: Whereabouts) => {
    said.where = where
    const { asked } = other
    const id = await insert(how)
    assert.equal(await step.run(), true)
    const { state } = await world.check(id)
    assert.equal(other.asked - asked, state === 'completed' ? 1 : 0)
    if (state !== 'completed') return 'wait'
    const { bars, notes = [] } = (await world.evidence(id)) as unknown as {
      bars: { address: string } | null
      notes?: string[]
    }
    assert.equal(
      notes.some((note) => /whom the transaction is from or to/.test(note)),
      !bars,
    )
    return bars?.address
  }
  return { ...made, party }
}

const DEPOSIT = { type: 'hash', direction: 'deposit' } as const
const WITHDRAWAL = { type: 'hash', direction: 'withdrawal' } as const

test('of what our index cannot have, only who receives is known', async (t) => {
  const { world, newest, first_block, party } = await askedOutside(t)
  const { address } = world.person()
  const [deposit, withdrawal] = [
    { ...DEPOSIT, address },
    { ...WITHDRAWAL, address },
  ]
  const head = { found: 'head' } as const
  assert.equal(await party({ address }, head), address)
  assert.equal(await party({ ...deposit, network: 'ETH' }, head), undefined)
  assert.equal(await party({ ...withdrawal, network: 'ETH' }, head), address)
  assert.equal(await party(deposit, head), 'wait')
  assert.equal(await party(withdrawal, head), 'wait')
  assert.equal(await party(deposit, solid(first_block - 1)), undefined)
  assert.equal(await party(withdrawal, solid(first_block - 1)), address)
  assert.equal(await party(deposit, solid(newest)), undefined, 'it moved nothing')
  assert.equal(await party(withdrawal, solid(newest)), address)
})

test('of a transaction the other side is looked at, once it can be looked up', async (t) => {
  const { world, party } = await askedOutside(t)
  const [from, to] = [world.person(), world.person()]
  const hash = world.send(from, to, TRX)
  await world.settle()
  const where = await world.node.whereabouts(hash)
  const asked = { hash, address: to.address }
  assert.equal(await party({ ...DEPOSIT, ...asked }, where), from.address)
  assert.equal(await party({ ...WITHDRAWAL, ...asked }, where), to.address)
  world.now_ms += 60_000
  assert.equal(await party({ ...DEPOSIT, ...asked }, where), 'wait', 'no node was heard of')
  assert.equal(await party({ address: to.address }, where), to.address)
})

test('where sent money has ended is in the evidence as far as the index has come', async (t) => {
  const { world, needs, insert } = await answering(t)
  await publish(world, SHIPPED_NEWEST)
  world.now_ms += 2_000
  await world.settle()
  const sent = world.process.sent.current()!
  const newest = needs.generations.current()!.index.block_number
  for (const [height, counts] of [
    [newest, true],
    [newest + 1, false],
  ] as const) {
    const current = () => ({ ...sent, height })
    const id = await insert()
    assert.equal(await screenStep({ ...needs, sent: { current } }).run(), true)
    assert.equal((await world.evidence(id)).sent !== null, counts, `${height - newest}`)
  }
  const id = await insert()
  const unread = { current: () => undefined }
  assert.equal(await screenStep({ ...needs, sent: unread }).run(), true)
  assert.equal((await world.evidence(id)).sent, null)
})
