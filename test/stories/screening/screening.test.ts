// Screening through the front door: customers ask over the API, the operator works at the command
// line, and what moves moves on the chain.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { selectorOf, wordOfAddress, wordOfInteger } from 'penstock-devchain/calls/abi.ts'
import { USDT } from 'penstock-devchain/devchain.ts'
import type { Policy } from 'penstock-service/screening/engine/policy.ts'
import {
  type Provider,
  type ProviderAnswer,
  ProviderFailure,
} from 'penstock-service/screening/providers/provider.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { type Operator, worldOperator } from '../../harness/operator.ts'
import {
  type Customer,
  makeWorld,
  TRX,
  type World,
  type WorldOptions,
} from '../../harness/world.ts'

type Person = ReturnType<World['person']>

type Check = {
  id: string
  status: string
  risk_score: string | null
  risk_level: string | null
  blacklist: boolean
  risk_factors: { name: string; score: number; group: string; label: string }[]
  checked_at: string
}

type Watch = { reference: string | null; rules: Record<string, unknown> }
type Alert = { rule: string; reference: string; transfer: { usd: string } | null }

type Stage = { world: World; operator: Operator; anna: Customer; folder: string }

async function stage(t: TestContext, options: WorldOptions = {}): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-screening-'))
  t.after(() => rm(folder, { recursive: true }))
  const world = await makeWorld(t, { tokens: [USDT], ...options })
  const anna = await world.customer({ trx: 100 })
  return { world, operator: await worldOperator(world), anna, folder }
}

/** Loads the operator's labels, as rows of a table, and lets them act. */
async function label({ operator, folder, world }: Stage, ...rows: string[]): Promise<void> {
  const file = join(folder, 'labels.csv')
  await writeFile(
    file,
    ['address,category,entity,confidence,valid_from,valid_to', ...rows].join('\n'),
  )
  await operator.json('lists', 'import', 'operator', file)
  await world.drain()
}

async function sendToken(world: World, from: Person, to: string, units: bigint): Promise<string> {
  const data =
    selectorOf('transfer(address,uint256)') + wordOfAddress(addressToHex(to)) + wordOfInteger(units)
  return callToken(world, from, data)
}

function callToken(world: World, from: Person, data: string): string {
  const message = { contract_address: addressToHex(USDT), data }
  const answer = world.scene.send(from, 'TriggerSmartContract', message, {
    fee_limit: 1_000n * TRX,
  })
  assert.equal(answer.result, true, String(answer.message))
  world.mine()
  return String(answer.txid)
}

const people = (world: World, ...names: string[]) =>
  names.map((name) => world.person(name, 1_000_000)) as [Person, ...Person[]]

async function ask({ world, anna }: Stage, body: Record<string, unknown>): Promise<Check> {
  const { id } = await anna.get<Check>('/v1/aml-checks/new', {
    type: 'address',
    network: 'TRX',
    ...body,
  })
  await world.drain()
  return anna.get<Check>('/v1/aml-checks/check', { id })
}

const named = ({ risk_factors }: Check) => risk_factors.map(({ name, score }) => [name, score])

test('a check is held, answered and charged; without lists it says so', async (t) => {
  const on = await stage(t)
  const { world, operator, anna } = on
  const [bob] = people(world, 'bob')
  const asked = { type: 'address', network: 'TRX', address: bob.address }
  const placed = await anna.get<Check>('/v1/aml-checks/new', asked)
  assert.deepEqual(placed, {
    id: placed.id,
    ...asked,
    status: 'pending',
    risk_score: null,
    risk_level: null,
    blacklist: false,
    risk_factors: [],
    sent_factors: [],
    checked_at: `${world.now.toISOString().slice(0, 19)}Z`,
  })
  assert.equal(await anna.balance(), 99)
  await world.drain()
  const done = await anna.get<Check>('/v1/aml-checks/check', { id: placed.id })
  assert.deepEqual(done, {
    ...placed,
    status: 'completed',
    risk_score: '25.0',
    risk_level: 'low',
    risk_factors: [{ name: 'unidentified', label: 'Unidentified', group: 'low', score: 1 }],
  })
  assert.equal(await anna.balance(), 99)
  const entries = await world.sql<{
    kind: string
  }>`
    select kind from transfer where id like ${`aml:${placed.id}%`}
      or hold_id = ${`aml:${placed.id}`} order by made_at, kind desc`
  assert.deepEqual(entries.map(({ kind }) => kind).sort(), ['capture', 'hold'])
  const { evidence } = await operator.json<{ evidence: { notes: string[] } }>(
    'aml',
    'report',
    placed.id,
  )
  assert.match(evidence.notes[0]!, /No list is loaded/)
  const { code, out } = await operator.type('status', '--json')
  const status = JSON.parse(out) as { screening: { lists: string }; alerts: { alert: string }[] }
  assert.equal(code, 1, 'somebody should look')
  assert.deepEqual(
    status.alerts.map(({ alert }) => alert),
    ['lists_none'],
  )
  assert.match(status.screening.lists, /^none/)
  assert.match((await operator.type('lists', 'show')).out, /Nothing is loaded/)
})

test('money is followed through others; deposits and withdrawals are judged apart', async (t) => {
  const on = await stage(t)
  const { world, operator } = on
  const [mixer, middle, shop, exchange] = people(world, 'mixer', 'middle', 'shop', 'exchange') as [
    Person,
    Person,
    Person,
    Person,
  ]
  await label(
    on,
    `${mixer.address},mixer,Spinner,100,,`,
    `${exchange.address},exchange_licensed,Big,100,,`,
  )
  world.scene.post('/devchain/mint', { address: exchange.address, amount: 10_000_000_000n })
  world.pay(middle.address, 1_000n * TRX, mixer)
  await sendToken(world, exchange, middle.address, 700_000_000n)
  const first = world.pay(shop.address, 500n * TRX, middle)
  world.mine()
  const second = await sendToken(world, middle, shop.address, 350_000_000n)
  world.pay(mixer.address, 100n * TRX, shop)
  await world.solidify()

  // 500 TRX are 150 USD of the mixer, beside 350 USDT of the exchange.
  const address = await ask(on, { address: shop.address })
  assert.deepEqual(
    [address.status, address.risk_score, address.risk_level],
    ['completed', '37.0', 'medium'],
  )
  assert.deepEqual(named(address), [
    ['exchange_licensed', 0.7],
    ['mixer', 0.3],
  ])
  const deposit = await ask(on, {
    type: 'hash',
    address: shop.address,
    hash: first,
    direction: 'deposit',
  })
  assert.deepEqual([deposit.risk_score, named(deposit)], ['100.0', [['mixer', 1]]])
  const clean = await ask(on, { type: 'hash', address: shop.address, hash: second.toUpperCase() })
  assert.deepEqual([clean.risk_score, named(clean)], ['10.0', [['exchange_licensed', 1]]])
  const withdrawal = await ask(on, {
    type: 'hash',
    address: shop.address,
    hash: second,
    direction: 'withdrawal',
  })
  // Everything it sent in TRX went to the mixer, but only 30 USD of it.
  assert.deepEqual([withdrawal.risk_score, named(withdrawal)], ['37.0', named(address)])
  world.pay(mixer.address, 300n * TRX, shop)
  await world.solidify()
  const again = await ask(on, {
    type: 'hash',
    address: shop.address,
    hash: second,
    direction: 'withdrawal',
  })
  assert.deepEqual([again.risk_score, again.risk_level], ['75.0', 'high'])
  assert.equal(
    (await ask(on, { address: shop.address })).risk_score,
    '37.0',
    'whom one sends to counts for withdrawals only',
  )

  for (const { id } of [address, deposit, clean, withdrawal, again]) {
    const replayed = await operator.json<{ same: boolean }>('aml', 'replay', id)
    assert.equal(replayed.same, true)
  }
  const page = join(on.folder, 'report.html')
  assert.match(
    (await operator.type('aml', 'report', deposit.id, '--out', page)).out,
    /report\.html/,
  )
  const html = (await operator.type('aml', 'report', deposit.id)).out
  assert.ok(
    html.includes('class="flow"') &&
      html.includes(first) &&
      html.includes('Spinner') &&
      !html.includes('<script'),
  )
  const reported = await operator.json<{ check_id: string }>('aml', 'report', deposit.id)
  assert.equal(reported.check_id, deposit.id)
  const { block, state_sha256 } = await operator.json<Record<string, unknown>>('aml', 'state')
  assert.ok(Number(block) > 0 && /^[0-9a-f]{64}$/.test(String(state_sha256)))
  const begun = await operator.json<{ reach: number }>('aml', 'rebuild', '--reason', 'new services')
  assert.ok(begun.reach > 0)
})

test('a denied address is blacklisted, an allowed one keeps the mean, until the end', async (t) => {
  const on = await stage(t)
  const { world, operator, anna, folder } = on
  const [mixer, rich, shop] = people(world, 'mixer', 'rich', 'shop') as [Person, Person, Person]
  await label(on, `${mixer.address},mixer,Spinner,100,,`)
  world.pay(shop.address, 400n * TRX, mixer)
  world.pay(shop.address, 40_000n * TRX, rich)
  await world.solidify()
  const score = async () => {
    const { risk_score, blacklist } = await ask(on, { address: shop.address })
    return [risk_score, blacklist]
  }
  assert.deepEqual(await score(), ['75.0', false])
  const expires = new Date(world.now.getTime() + 3_600_000).toISOString().slice(0, 19)
  const allowed = await operator.json<{ id: string }>(
    'aml',
    'allow',
    shop.address,
    'a known shop',
    '--customer',
    anna.id,
    '--expires',
    `${expires}Z`,
  )
  assert.deepEqual(await score(), ['25.7', false])
  world.wait(2)
  const denied = await operator.json<{ id: string }>('aml', 'deny', shop.address, 'charged back')
  assert.deepEqual(await score(), ['100.0', true])
  world.wait(2)
  const ended = await operator.json<{ withdrawn_at: string }>('aml', 'withdraw', denied.id)
  world.wait(2)
  assert.deepEqual(
    await operator.json('aml', 'withdraw', denied.id),
    ended,
    'what has ended, has ended then',
  )
  assert.deepEqual(await operator.type('aml', 'deny', shop.address, ''), {
    code: 2,
    out: '',
    err: 'Why has 1 to 1000 characters.\n',
  })
  assert.deepEqual(await score(), ['25.7', false])
  await world.advance(3_600)
  assert.deepEqual(await score(), ['75.0', false])
  assert.equal((await operator.json<unknown[]>('aml', 'entries', shop.address)).length, 2)
  assert.match((await operator.type('aml', 'withdraw', allowed.id)).out, /withdrawn/)

  const policy = await operator.json<Policy>('aml', 'policy')
  const file = join(folder, 'policy.json')
  await writeFile(
    file,
    JSON.stringify({ ...policy, name: 'strict', direct: [{ share_bp: 50, usd: 100, points: 90 }] }),
  )
  const published = await operator.json<Policy>('aml', 'publish', file)
  assert.deepEqual([published.version, published.name], [2, 'strict'])
  await world.advance(3)
  assert.deepEqual(await score(), ['90.0', false])
  await writeFile(file, JSON.stringify({ ...policy, weights: {} }))
  assert.deepEqual(await operator.type('aml', 'publish', file), {
    code: 1,
    out: '',
    err: 'In the policy, the weight of sanctions is not a whole number from 0 to 100.\n',
  })
})

test('a frozen address is blacklisted while the issuer says so; labels have times', async (t) => {
  const on = await stage(t)
  const { world } = on
  const [bob, casino, guest] = people(world, 'bob', 'casino', 'guest') as [Person, Person, Person]
  const key = world.scene.devchain.usdt_owner_key
  const owner = { key, address: addressOf(key), hex: addressToHex(addressOf(key)) }
  world.scene.devchain.fund(owner.address, 10_000n * TRX)
  callToken(world, owner, selectorOf('addBlackList(address)') + wordOfAddress(bob.hex))
  await world.solidify()
  const frozen = await ask(on, { address: bob.address })
  assert.deepEqual(
    [frozen.risk_score, frozen.blacklist, named(frozen)],
    ['100.0', true, [['issuer_frozen', 1]]],
  )
  callToken(world, owner, selectorOf('removeBlackList(address)') + wordOfAddress(bob.hex))
  await world.solidify()
  assert.deepEqual([(await ask(on, { address: bob.address })).blacklist], [false])

  world.pay(guest.address, 10n * TRX, casino)
  world.mine()
  const until = new Date(world.scene.devchain.head.header.timestamp + 3_000).toISOString()
  world.mine()
  world.pay(guest.address, 30n * TRX, casino)
  await world.solidify()
  await label(on, `${casino.address},gambling,Dice,100,,${until}`)
  assert.deepEqual(named(await ask(on, { address: guest.address })), [
    ['unidentified', 0.75],
    ['gambling', 0.25],
  ])
})

test('what cannot be answered is given up after ten minutes and costs nothing', async (t) => {
  const on = await stage(t)
  const { world, anna } = on
  const [bob, carl] = people(world, 'bob', 'carl') as [Person, Person]
  const unknown = await ask(on, { type: 'hash', address: bob.address, hash: 'ab'.repeat(32) })
  assert.equal(unknown.status, 'processing')
  await world.advance(9)
  const status = async (id: string) =>
    (await anna.get<Check>('/v1/aml-checks/check', { id })).status
  assert.equal(await status(unknown.id), 'failed')
  assert.equal(await anna.balance(), 100)

  const hash = world.pay(carl.address, TRX, bob)
  world.mine()
  const early = await ask(on, { type: 'hash', address: carl.address, hash })
  assert.deepEqual([early.status, await anna.balance()], ['processing', 98.5])
  await world.solidify()
  world.wait(2)
  await world.drain()
  assert.equal(await status(early.id), 'completed')

  world.network.down = true
  const waiting = await anna.get<Check>('/v1/aml-checks/new', {
    type: 'address',
    network: 'TRX',
    address: bob.address,
  })
  world.wait(120)
  const steps = world.app.steps.filter(({ name }) => name === 'screen' || name === 'fail_late')
  for (const step of steps) await step.run()
  assert.equal(
    await status(waiting.id),
    'pending',
    'an index that nobody has fed for two minutes says nothing',
  )
  world.wait(600)
  for (const step of steps) await step.run()
  assert.deepEqual([await status(waiting.id), await anna.balance()], ['failed', 98.5])
  world.network.down = false
  await world.advance(3)
})

test('a check that a crashed process had taken is taken again, and charged once', async (t) => {
  const on = await stage(t)
  const { world, anna } = on
  const [bob] = people(world, 'bob')
  const { id } = await anna.get<Check>('/v1/aml-checks/new', {
    type: 'address',
    network: 'TRX',
    address: bob.address,
  })
  // The connections break after the check was taken up and before it is settled.
  const screen = world.app.steps.find(({ name }) => name === 'screen')!
  await world.sql`
    create function break_off() returns trigger language plpgsql as
    $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`
  await world.sql`
    create trigger break_off before insert on aml_evidence
      for each row execute function break_off()`
  await assert.rejects(screen.run())
  const state = async () => (await anna.get<Check>('/v1/aml-checks/check', { id })).status
  assert.equal(await state(), 'processing')
  await world.sql`drop trigger break_off on aml_evidence`
  await world.drain()
  assert.equal(await state(), 'processing', 'the process that took it up may be at it still')
  await world.advance(93)
  assert.deepEqual([await state(), await anna.balance()], ['completed', 99])
  const captures = await world.sql`select 1 from transfer where hold_id = ${`aml:${id}`}`
  assert.equal(captures.length, 1)
  type Page = { total: number; items: Check[] }
  assert.equal((await anna.get<Page>('/v1/aml-checks/history', { status: 'completed' })).total, 1)
})

const answering = (name: string, answer: () => ProviderAnswer): Provider => ({
  name,
  covers: () => true,
  screen: async () => answer(),
})
const ANSWER: ProviderAnswer = {
  score: 64,
  level: undefined,
  blacklist: false,
  shares: [{ category: 'scam', share: 0.6 }],
  reference: 'x',
  body: Buffer.from('{}'),
}

test('providers answer where the policy says so: in order, or all, the worst counts', async (t) => {
  let broken = true
  const first = answering('first', () => {
    if (broken) throw new ProviderFailure('transient', 'no')
    return ANSWER
  })
  const on = await stage(t, { providers: [first] })
  const { world, operator, anna, folder } = on
  const [bob] = people(world, 'bob')
  const btc = {
    type: 'address',
    network: 'BTC',
    address: 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
  }
  const refused = await anna.call('/v1/aml-checks/new', btc)
  assert.deepEqual([refused.code, refused.key], [2, 'invalid_service_or_params.network'])
  const policy = await operator.json<Policy>('aml', 'policy')
  const publish = async (routes: Policy['routes']) => {
    await writeFile(
      join(folder, 'p.json'),
      JSON.stringify({ ...policy, routes: { ...policy.routes, ...routes } }),
    )
    const { out } = await operator.type('aml', 'publish', join(folder, 'p.json'))
    assert.match(out, /No provider is called first: asking it fails\.$/m)
    await world.advance(3)
  }
  await publish({
    'TRX/address': { use: ['first', 'embedded'], mode: 'first' },
    'BTC/address': { use: ['first'], mode: 'first' },
  })
  const provider = async (id: string) =>
    (await operator.json<{ provider: string }>('aml', 'show', id)).provider
  const fallen_back = await ask(on, { address: bob.address })
  assert.deepEqual([fallen_back.risk_score, await provider(fallen_back.id)], ['25.0', 'embedded'])
  const nobody = await ask(on, btc)
  assert.deepEqual([nobody.status, await anna.balance()], ['failed', 99])
  broken = false
  const answered = await ask(on, btc)
  assert.deepEqual(
    [answered.risk_score, answered.risk_level, named(answered)],
    [
      '64.0',
      'medium',
      [
        ['scam', 0.6],
        ['unidentified', 0.4],
      ],
    ],
  )
  await publish({ 'TRX/address': { use: ['first', 'embedded'], mode: 'maximum' } })
  const both = await ask(on, { address: bob.address })
  assert.deepEqual([both.risk_score, await provider(both.id)], ['64.0', 'embedded+first'])
})

test('nothing is sold to a blacklisted address, if the policy says so', async (t) => {
  const on = await stage(t)
  const { world, operator, anna, folder } = on
  const [bob] = people(world, 'bob')
  await operator.json('aml', 'deny', bob.address, 'no')
  world.wait(2)
  const wanted = {
    service: 'energy',
    params: { address: bob.address, amount: 65_000, duration: 1 },
    external_id: 'one',
  }
  const before = await anna.buy(wanted)
  const policy = await operator.json<Policy>('aml', 'policy')
  assert.equal(policy.refuse_blacklisted_receivers, false)
  await writeFile(
    join(folder, 'p.json'),
    JSON.stringify({ ...policy, refuse_blacklisted_receivers: true }),
  )
  await operator.json('aml', 'publish', join(folder, 'p.json'))
  await world.advance(3)
  const refused = await anna.call('/v1/transaction/new', { ...wanted, external_id: 'two' })
  assert.deepEqual([refused.code, refused.key], [10, 'invalid_network_address.blacklisted'])
  assert.equal((await anna.buy(wanted)).id, before.id, 'what was sold before is found again')
  await world.settle()
})

test('watched addresses are screened again when labels change; operators see it', async (t) => {
  const on = await stage(t)
  const { world, operator, anna } = on
  const [thief, shop] = people(world, 'thief', 'shop') as [Person, Person]
  world.pay(shop.address, 10n * TRX, thief)
  await world.solidify()
  await operator.json('aml', 'watch', anna.id, shop.address)
  await world.drain()
  const since = world.now.toISOString().slice(0, 19)
  world.wait(2)
  await label(on, `${thief.address},stolen_coins,Heist,100,,`)
  await world.drain()
  type Change = { address: string; from_level: string; to_level: string }
  const changes = await operator.json<Change[]>('aml', 'changes', '--since', `${since}Z`)
  assert.deepEqual(
    changes.map(({ address, from_level, to_level }) => [address, from_level, to_level]),
    [[shop.address, 'low', 'high']],
  )
  const { items } = await anna.get<{ items: Check[] }>('/v1/aml-checks/history')
  assert.deepEqual(
    items.map(({ risk_score }) => risk_score),
    ['100.0', '25.0'],
  )
  assert.equal(await anna.balance(), 100)
  const [watched] = await operator.json<{ risk_level: string }[]>('aml', 'watches')
  assert.equal(watched!.risk_level, 'high')
  await operator.json('aml', 'unwatch', anna.id, shop.address)
  assert.deepEqual(await operator.json('aml', 'watches'), [])
})

test("a hash check without direction is a deposit's; a page past the end is empty", async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10 })
  const asked = {
    type: 'hash',
    network: 'TRX',
    address: world.person('bob', 1).address,
    hash: 'ab'.repeat(32),
  }
  for (const direction of [undefined, null, '', 'deposit']) {
    const made = await anna.get<{ direction: string | null }>('/v1/aml-checks/new', {
      ...asked,
      direction,
    })
    assert.equal(made.direction, 'deposit', String(direction))
  }
  for (const page of [2, 2 ** 31 - 1, Number.MAX_SAFE_INTEGER]) {
    const body = { page, per_page: 50 }
    assert.deepEqual(await anna.get('/v1/aml-checks/history', body), {
      ...body,
      total: 4,
      items: [],
    })
  }
})

test('watches have references and rules, one by one or from a file', async (t) => {
  const { world, operator, anna, folder } = await stage(t)
  const [bob, cleo] = people(world, 'bob', 'cleo') as [Person, Person]
  const rules = { any_incoming_usd: 100, severe_share_bp: 500 }
  const body = { address: bob.address, reference: 'supplier 17', rules }
  const none = { any_incoming_usd: null, severe_share_bp: null, severe_usd: null, sent_to: false }
  const made = await anna.get<Watch>('/v1/aml-watch/new', body)
  assert.deepEqual([made.reference, made.rules], ['supplier 17', { ...none, ...rules }])
  const same = await anna.get<Watch>('/v1/aml-watch/new', { address: bob.address })
  assert.deepEqual([same.reference, same.rules], [made.reference, made.rules], 'it stays so')
  const changed = await anna.get<Watch>('/v1/aml-watch/new', {
    address: bob.address,
    rules: { sent_to: true },
  })
  assert.deepEqual(changed.rules, { ...none, sent_to: true })
  for (const wrong of [{ any_incoming_usd: -1 }, { severe_share_bp: 0 }, { sent_to: 'yes' }]) {
    const { code, key } = await anna.call('/v1/aml-watch/new', { ...body, rules: wrong })
    assert.deepEqual([code, key], [2, 'invalid_service_or_params.rules'])
  }
  const file = join(folder, 'watches.csv')
  const header = 'address,reference,any_incoming_usd'
  await writeFile(file, `${header}\n${bob.address},,5\n${cleo.address},Cleo,7\nT1,,\n`)
  const refused = await operator.type('aml', 'import-watches', anna.id, file)
  assert.deepEqual([refused.code, refused.err], [1, 'line 4: "T1" is not an address.\n'])
  const listed = async () =>
    (await anna.get<{ items: Watch[] }>('/v1/aml-watches/list', {})).items
      .map(({ reference, rules: { any_incoming_usd } }) => [reference, any_incoming_usd])
      .sort()
  assert.deepEqual(await listed(), [['supplier 17', null]])
  await writeFile(file, `${header}\n${bob.address},,5\n${cleo.address},Cleo,7\n`)
  const imported = await operator.json('aml', 'import-watches', anna.id, file)
  assert.deepEqual(imported, { customer_id: anna.id, in_file: 2, added: 1 })
  assert.deepEqual(await listed(), [
    ['Cleo', 7],
    ['supplier 17', 5],
  ])
  await world.drain()
  // What a rule finds is told through the front door.
  world.pay(cleo.address, 40n * TRX, bob)
  await world.solidify()
  await world.settle()
  const { items } = await anna.get<{ items: { type: string; data: Alert }[] }>('/v1/events/list', {
    types: ['aml_watch.alert'],
  })
  assert.deepEqual(
    items.map(({ data }) => [data.rule, data.reference, data.transfer?.usd]),
    [['any_incoming_usd', 'Cleo', '12.00']],
  )
})
