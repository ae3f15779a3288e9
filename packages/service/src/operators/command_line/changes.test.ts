// What operators change, as they type it: prices, switches, customers, keys, each with its record.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { person } from 'penstock-devchain/scene.ts'
import {
  operatorWithCustomer,
  quietOperator,
  SEALING_KEY,
  walletsFile,
} from 'penstock-test/harness/operator.ts'
import { repeatable } from 'penstock-test/harness/world.ts'
import { keysOfTokens, sealContext, tokenHash } from '../../people/keys/keys.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { type Io, runCommand } from './run.ts'

test('a tier is changed by ending one row and beginning another, at one moment', async (t) => {
  const { json, sql } = await quietOperator(t)
  await json('prices', 'set', 'energy', '32000-130999=0.05', '--by', 'anna', '--reason', 'dearer')
  const rows = await sql<{
    price_sun: bigint
    since: Date
    until: Date | null
    changed_by: string
  }>`
    select price_sun, since, until, changed_by from price where resource = 'energy'
      and min_amount = 32000 order by id`
  assert.deepEqual(
    rows.map(({ price_sun, changed_by }) => [price_sun, changed_by]),
    [
      [45_000n, 'shipped'],
      [50_000n, 'anna'],
    ],
  )
  assert.deepEqual(rows[0]!.until, rows[1]!.since)
  assert.equal(rows[1]!.until, null)
  const [action] = await json<Record<string, unknown>[]>('actions', 'list')
  assert.deepEqual(action, {
    number: 1,
    made_at: rows[1]!.since.toISOString(),
    made_by: 'anna',
    reason: 'dearer',
    action: 'prices set',
    // What the database saw, whatever was typed.
    made_role: 'penstock',
    made_from: '127.0.0.1',
    subject: 'price:energy',
    before: { '32000-130999': '0.045', '131000-3000000': '0.042' },
    after: { '32000-130999': '0.05', '131000-3000000': '0.042' },
  })
})

test('setting what is so already changes nothing and records nothing', async (t) => {
  const { type, json, sql } = await quietOperator(t)
  for (const typed of [
    'prices set energy 32000-130999=0.045',
    'fees set activate_address 1.4',
    'services on energy',
  ]) {
    const { code, out } = await type(...typed.split(' '))
    assert.deepEqual([code, out.trim().split('\n').at(-1)], [0, 'No change.'], typed)
  }
  assert.deepEqual(await json('actions', 'list'), [])
  assert.deepEqual(await sql`select 1 from price where changed_by <> 'shipped'`, [])
})

test('tiers never overlap, and a refused change leaves everything as it was', async (t) => {
  const { type, json } = await quietOperator(t)
  const before = await json('prices', 'list')
  const overlapping = await type(
    'prices',
    'set',
    'energy',
    '3000001-4000000=0.04',
    '40000-50000=0.05',
  )
  assert.deepEqual(
    [overlapping.code, overlapping.err],
    [
      2,
      '40000-50000 overlaps the tier 32000-130999 of energy, which is in force: ' +
        'remove that one first, or give all tiers of energy at once with --replace.\n',
    ],
  )
  const twins = await type('prices', 'set', 'energy', '1-10=1', '10-20=1', '--replace')
  assert.deepEqual(
    [twins.code, twins.err],
    [2, '1-10 and 10-20 overlap: one tier answers for an amount.\n'],
  )
  assert.deepEqual(await json('prices', 'list'), before)
  assert.deepEqual(await json('actions', 'list'), [])
})

test('all tiers of a resource are replaced at once; a removed one is off sale', async (t) => {
  const { json } = await quietOperator(t)
  type Tier = {
    min_amount: number
    max_amount: number
    price_sun: number
    cost_of_min_sun: number
    changed_by: string
  }
  const set = await json<Tier[]>(
    'prices',
    'set',
    'energy',
    '32000-99999=0.05',
    '100000-3000000=0.04',
    '--replace',
  )
  assert.deepEqual(
    set.map(({ min_amount, price_sun, cost_of_min_sun, changed_by }) => [
      min_amount,
      price_sun,
      cost_of_min_sun,
      changed_by,
    ]),
    [
      [32_000, 50_000, 1_600_000, 'ops'],
      [100_000, 40_000, 4_000_000, 'ops'],
    ],
  )
  const left = await json<Tier[]>('prices', 'remove', 'energy', '100000-3000000')
  assert.deepEqual(
    left.map(({ max_amount }) => max_amount),
    [99_999],
  )
  const history = await json<{ until: string | null }[]>('prices', 'history', 'energy')
  assert.equal(history.length, 4)
  assert.equal(history.filter(({ until }) => until === null).length, 1)
})

test('a price that looks mistyped is not put in force without a confirmation', async (t) => {
  const { type, json } = await quietOperator(t)
  const before = await json('prices', 'list')
  const mistakes: [typed: string, sentence: string][] = [
    [
      'prices set energy 32000-130999=0.000045',
      '32000-130999: 0.045 -> 0.000045 TRX (x0.001): a price stays above a tenth and ' +
        'below ten times of what it is.',
    ],
    [
      'prices set energy 32000-130999=0.0045',
      '32000-130999: 0.045 -> 0.0045 TRX (x0.1): a price stays above a tenth and below ' +
        'ten times of what it is.',
    ],
    [
      'prices set energy 32000-3000000=0.45 --replace',
      '32000-3000000: 0.045 -> 0.45 TRX (x10): a price stays above a tenth and below ten ' +
        'times of what it is.',
    ],
    [
      'prices set energy 1-31999=0.0009',
      '1-31999: none -> 0.0009 TRX: a new price is from 0.001 to 1 TRX.',
    ],
    [
      'fees set activate_address 140',
      'activate_address: 1.4 -> 140 TRX (x100): a price stays above a tenth and below ten ' +
        'times of what it is.',
    ],
    [
      'plans set unlimited_energy --price 0',
      'price: 2.8 -> 0 TRX (x0): a price stays above a tenth and below ten times of what it is.',
    ],
    ['plans set free --name Free --initial-price 0 --price 0', 'The plan free would cost nothing.'],
  ]
  for (const [typed, sentence] of mistakes) {
    const { code, err } = await type(...typed.split(' '))
    assert.deepEqual(
      [code, err],
      [2, `${sentence} Nothing is changed; --yes does it all the same.\n`],
      typed,
    )
  }
  assert.deepEqual(await json('prices', 'list'), before)
  assert.deepEqual(await json('actions', 'list'), [])
  for (const [typed] of mistakes)
    assert.equal((await type(...typed.split(' '), '--yes')).code, 0, typed)
})

test('what a change of a price does is said: old, new, and by how much', async (t) => {
  const { type } = await quietOperator(t)
  const { out } = await type(
    'prices',
    'set',
    'energy',
    '32000-99999=0.0495',
    '100000-3000000=0.045',
    '--replace',
  )
  assert.deepEqual(out.trim().split('\n').slice(-4, -1), [
    '32000-99999: 0.045 -> 0.0495 TRX (x1.1)',
    '100000-3000000: 0.045 -> 0.045 TRX (x1)',
    '100000-3000000: 0.042 -> 0.045 TRX (x1.07)',
  ])
})

test('a flat price and a switch are changed with their history', async (t) => {
  const { json } = await quietOperator(t)
  await json('fees', 'set', 'activate_address', '1.5')
  const fees = await json<{ price_sun: number }[]>('fees', 'history', 'activate_address')
  assert.deepEqual(
    fees.map(({ price_sun }) => price_sun),
    [1_500_000, 1_400_000],
  )
  await json('fees', 'set', 'aml_hash', '1.6')
  const checks = await json<{ price_sun: number }[]>('fees', 'history', 'aml_hash')
  assert.deepEqual(
    checks.map(({ price_sun }) => price_sun),
    [1_600_000, 1_500_000],
  )
  await json('services', 'off', 'energy', 'aml_hash', '--reason', 'maintenance')
  await json('services', 'on', '--all')
  const history = await json<
    { name: string; on_sale: boolean; made_by: string; reason: string | null }[]
  >('services', 'history', 'energy')
  assert.deepEqual(
    history.map(({ name, on_sale, made_by, reason }) => [name, on_sale, made_by, reason]),
    [
      ['energy', true, 'ops', null],
      ['energy', false, 'ops', 'maintenance'],
    ],
  )
})

test('a plan is versioned: changed by a new row, off sale, made with its prices', async (t) => {
  const { json, type } = await quietOperator(t)
  type Row = {
    key: string
    price_sun: number
    included: number
    until: string | null
    changed_by: string
  }
  const changed = await json<Row[]>('plans', 'set', 'unlimited_energy', '--price', '3')
  assert.deepEqual(
    changed.map(({ key, price_sun, included }) => [key, price_sun, included]),
    [
      ['unlimited_energy', 3_000_000, 2],
      ['energy_pack_100', 0, 100],
    ],
  )
  const again = await type('plans', 'set', 'unlimited_energy', '--price', '3')
  assert.match(again.out, /No change\.\n$/)
  const bare = await type('plans', 'set', 'small', '--price', '3')
  assert.deepEqual(
    [bare.code, bare.err],
    [2, 'There is no plan small: a new one needs --name, --initial-price and --price.\n'],
  )
  await json(
    'plans',
    'set',
    'small',
    '--name',
    'Small',
    '--initial-price',
    '5',
    '--price',
    '0',
    '--duration-days',
    '7',
  )
  await json('plans', 'remove', 'energy_pack_100')
  const gone = await type('plans', 'remove', 'energy_pack_100')
  assert.equal(gone.err, 'There is no plan energy_pack_100; there are: unlimited_energy, small.\n')
  const versions = await json<Row[]>('plans', 'history', 'unlimited_energy')
  assert.deepEqual(
    versions.map(({ price_sun, until, changed_by }) => [price_sun, until === null, changed_by]),
    [
      [3_000_000, true, 'ops'],
      [2_800_000, false, 'shipped'],
    ],
  )
  const actions = await json<{ subject: string }[]>('actions', 'list', '--subject', 'plan')
  assert.deepEqual(
    actions.map(({ subject }) => subject),
    ['plan:energy_pack_100', 'plan:small', 'plan:unlimited_energy'],
  )
  assert.equal((await type('books', 'check')).code, 0)
})

test('one of the services that does not exist leaves the others as they were', async (t) => {
  const { type, json } = await quietOperator(t)
  const { code, err } = await type('services', 'off', 'energy', 'lunch')
  assert.equal(code, 1)
  assert.match(
    err,
    /^There is no service lunch; there are: activate_address, aml_address, aml_hash, bandwidth, /,
  )
  const services = await json<{ on_sale: boolean }[]>('services', 'list')
  assert.ok(services.every(({ on_sale }) => on_sale))
})

test('two operators who change one price at once both succeed, one after the other', async (t) => {
  const { json, io, sql } = await quietOperator(t)
  const silent: Io = { ...io, out: () => {} }
  const set = (price: string) =>
    runCommand(['prices', 'set', 'energy', `32000-130999=${price}`], silent)
  assert.deepEqual(await Promise.all(['0.05', '0.06', '0.07', '0.08'].map(set)), [0, 0, 0, 0])
  const [in_force] = await sql<{ count: bigint }>`
    select count(*) from price where resource = 'energy' and min_amount = 32000 and until is null`
  assert.equal(in_force?.count, 1n)
  const actions = await json<{ number: number }[]>('actions', 'list', '--subject', 'price')
  assert.deepEqual(
    actions.map(({ number }) => number),
    [4, 3, 2, 1],
  )
})

test('a customer is created with the next deposit address, and is found again', async (t) => {
  const { json, customer } = await operatorWithCustomer(t)
  const { id } = await json<{ id: string }>('customers', 'create', 'Bob')
  const list = await json<{ id: string; name: string; spendable_sun: number }[]>(
    'customers',
    'list',
  )
  assert.deepEqual(
    list.map(({ id, name, spendable_sun }) => [id, name, spendable_sun]),
    [
      [customer, 'Anna', 0],
      [id, 'Bob', 0],
    ],
  )
  assert.deepEqual(
    (await json<{ name: string }[]>('customers', 'list', '--after', customer)).map(
      ({ name }) => name,
    ),
    ['Bob'],
  )
  const shown = await json<{ name: string; keys: unknown[] }>('customers', 'show', id)
  assert.deepEqual([shown.name, shown.keys], ['Bob', []])
})

test('a key is issued with its limits, works, and is never shown again', async (t) => {
  const { type, json, sql, customer } = await operatorWithCustomer(t)
  const issue = ['keys', 'issue', customer, '--name', 'shop', '--scope', 'read', '--scope', 'buy']
  const receiver = person('bob').address
  const limits = ['--network', '203.0.113.0/24', '--daily-cap', '12.5', '--require-v2']
  limits.push('--receiver', receiver)
  const { token, secret } = await json<{ token: string; secret: string }>(...issue, ...limits)
  const [row] = await keysOfTokens(sql, [tokenHash(token)])
  assert.ok(row)
  const seal = sealWith(
    { current: 'k1', keys: { k1: Buffer.from(SEALING_KEY, 'hex') } },
    repeatable('x'),
  )
  assert.equal(seal.open(row.sealed_secret, sealContext(row.id)), secret)
  const { scopes, allowed_networks, receivers, daily_cap_sun, require_v2 } = row
  assert.deepEqual(
    { scopes, allowed_networks, receivers, daily_cap_sun, require_v2 },
    {
      scopes: ['read', 'buy'],
      allowed_networks: ['203.0.113.0/24'],
      receivers: [receiver],
      daily_cap_sun: 12_500_000n,
      require_v2: true,
    },
  )
  const elsewhere = [
    ['keys', 'list', customer],
    ['customers', 'show', customer],
    ['actions', 'list'],
  ]
  for (const words of elsewhere) {
    const { out } = await type(...words, '--json')
    assert.ok(!out.includes(secret) && !out.includes(token), words.join(' '))
  }
})

test('a network that is none is refused, and no key is made', async (t) => {
  const { type, json, customer } = await operatorWithCustomer(t)
  const { code } = await type('keys', 'issue', customer, '--network', '203.0.113.0/40')
  assert.equal(code, 2)
  assert.deepEqual(await json('keys', 'list', customer), [])
})

test('a key is revoked once; revoking it again says so and records nothing', async (t) => {
  const { type, json, customer } = await operatorWithCustomer(t)
  const { key_id } = await json<{ key_id: string }>('keys', 'issue', customer)
  const { revoked_at } = await json<{ revoked_at: string }>(
    'keys',
    'revoke',
    key_id,
    '--reason',
    'lost',
  )
  const again = await type('keys', 'revoke', key_id)
  assert.deepEqual([again.code, again.out.trim().split('\n').at(-1)], [0, 'It was revoked before.'])
  const [key] = await json<{ revoked_at: string }[]>('keys', 'list', customer)
  assert.equal(key?.revoked_at, revoked_at)
  const actions = await json<{ action: string }[]>('actions', 'list', '--subject', `key:${key_id}`)
  assert.deepEqual(
    actions.map(({ action }) => action),
    ['keys revoke', 'keys issue'],
  )
})

test('a new key takes either signature, unless the operator says otherwise', async (t) => {
  const { type, json, customer } = await operatorWithCustomer(t)
  const issued = await json<{ key_id: string; signatures: string }>('keys', 'issue', customer)
  const strict = await json<{ key_id: string; signatures: string }>(
    'keys',
    'issue',
    customer,
    '--require-v2',
  )
  assert.deepEqual([issued.signatures, strict.signatures], ['v1 or v2', 'v2'])
  const keys = await json<{ id: string; require_v2: boolean }[]>('keys', 'list', customer)
  assert.deepEqual(
    keys.map(({ id, require_v2 }) => [id, require_v2]),
    [
      [issued.key_id, false],
      [strict.key_id, true],
    ],
  )
  // And so says the help of it.
  const help = (await type('keys', 'issue', '--help')).out.replaceAll(/\s+/g, ' ')
  assert.match(help, /It takes requests with either signature/)
  assert.match(help, /--require-v2 /)
  const both = await type('keys', 'issue', customer, '--require-v2', '--allow-v1')
  assert.deepEqual([both.code, both.err], [2, '--require-v2 and --allow-v1 exclude one another.\n'])
})

test('a key expires on a day or after a number of days, and never in the past', async (t) => {
  const { type, json, io, customer } = await operatorWithCustomer(t)
  type KeyAnswer = { key_id: string; expires_at: string | null }
  const before_ms = io.clock.now().getTime()
  const { expires_at } = await json<KeyAnswer>('keys', 'issue', customer, '--expires', '90d')
  const days = (Date.parse(expires_at!) - before_ms) / 86_400_000
  assert.ok(days > 90 && days < 90.01, String(days))
  const on_day = await json<KeyAnswer>('keys', 'issue', customer, '--expires', '2099-01-01')
  assert.equal(on_day.expires_at, '2099-01-01T00:00:00.000Z')
  const wrong: [string, string][] = [
    ['2001-01-01', '--expires 2001-01-01 is not in the future.'],
    ['0d', '--expires 0d is not in the future.'],
    ['soon', '--expires soon: it is a day, a time in UTC, a number of days like 90d, or never.'],
  ]
  for (const [given, sentence] of wrong) {
    const { code, err } = await type('keys', 'issue', customer, '--expires', given)
    assert.deepEqual([code, err], [2, `${sentence}\n`])
  }
})

test("a key's limits are changed one by one, lifted, and recorded before and after", async (t) => {
  const { type, json, customer } = await operatorWithCustomer(t)
  const { key_id } = await json<{ key_id: string }>(
    'keys',
    'issue',
    customer,
    '--scope',
    'read',
    '--daily-cap',
    '5',
  )
  const limits = [
    '--scope',
    'all',
    '--daily-cap',
    'none',
    '--network',
    '203.0.113.0/24',
    '--receiver',
    person('bob').address,
    '--expires',
    '2099-01-01',
  ]
  const flags = ['--allow-v1', '--require-external-id', '--name', 'shop']
  const changed = await json<Record<string, unknown>>('keys', 'change', key_id, ...limits, ...flags)
  const { id: _, created_at, ...now } = changed
  assert.deepEqual(now, {
    name: 'shop',
    scopes: ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'],
    allowed_networks: ['203.0.113.0/24'],
    receivers: [person('bob').address],
    daily_cap_sun: null,
    require_v2: false,
    require_external_id: true,
    expires_at: '2099-01-01T00:00:00.000Z',
    revoked_at: null,
    made_by_key: null,
    last_used_at: null,
    old_secret_until: null,
  })
  const again = await type('keys', 'change', key_id, ...limits, ...flags)
  assert.deepEqual([again.code, again.out.trim().split('\n').at(-1)], [0, 'No change.'])
  await json(
    'keys',
    'change',
    key_id,
    '--network',
    'any',
    '--receiver',
    'any',
    '--expires',
    'never',
    '--allow-no-external-id',
  )
  type RecordItem = { action: string; before: object; after: object }
  const actions = await json<RecordItem[]>('actions', 'list', '--subject', `key:${key_id}`)
  assert.deepEqual(
    actions.map(({ action }) => action),
    ['keys change', 'keys change', 'keys issue'],
  )
  assert.deepEqual(actions[0]!.after, {
    allowed_networks: null,
    receivers: null,
    require_external_id: false,
    expires_at: null,
  })
  const wrong: [string[], number, RegExp][] = [
    [[], 2, /nothing to change is given/],
    [['--network', '203.0.113.0/40'], 2, /^--network: /],
    [['--network', 'any', '--network', '203.0.113.1'], 2, /give it alone/],
    [['--receiver', 'TNotAnAddress'], 2, /^--receiver TNotAnAddress: it is not an address/],
    [['--receiver', 'any', '--receiver', person('bob').address], 2, /give it alone/],
    [['--scope', 'all', '--scope', 'read'], 2, /give it alone/],
    [['--daily-cap', '-1'], 2, /^--daily-cap -1: /],
  ]
  for (const [words, code, sentence] of wrong) {
    const said = await type('keys', 'change', key_id, ...words)
    assert.equal(said.code, code, words.join(' '))
    assert.match(said.err, sentence)
  }
  await json('keys', 'revoke', key_id)
  assert.equal(
    (await type('keys', 'change', key_id, '--name', 'x')).err,
    `The key ${key_id} is revoked, for good.\n`,
  )
})

test('a customer is suspended, resumed and closed for good, each with its record', async (t) => {
  const { type, json, customer } = await operatorWithCustomer(t)
  const { key_id } = await json<{ key_id: string }>('keys', 'issue', customer)
  const state = async () => (await json<{ state: string }>('customers', 'show', customer)).state
  const said = async (verb: string) => {
    const { code, out, err } = await type('customers', verb, customer, '--reason', 'test')
    return [code, (out || err).trim().split('\n').at(-1)]
  }
  await said('suspend')
  assert.equal(await state(), 'suspended')
  assert.deepEqual(await said('suspend'), [0, 'No change.'])
  await said('resume')
  assert.equal(await state(), 'active')
  const closed = await json<Record<string, unknown>>(
    'customers',
    'close',
    customer,
    '--reason',
    'fraud',
  )
  assert.deepEqual(closed, {
    id: customer,
    state: 'closed',
    revoked_keys: 1,
    ended_subscriptions: 0,
  })
  assert.deepEqual(await said('close'), [0, 'It was closed before.'])
  for (const verb of ['suspend', 'resume'])
    assert.deepEqual(await said(verb), [1, `The customer ${customer} is closed, for good.`])
  const issued = await type('keys', 'issue', customer)
  assert.deepEqual(
    [issued.code, issued.err],
    [1, `The customer ${customer} is closed: it has no keys any more.\n`],
  )
  const [key] = await json<{ revoked_at: string | null }[]>('keys', 'list', customer)
  assert.notEqual(key?.revoked_at, null)
  const [listed] = await json<{ state: string }[]>('customers', 'list')
  assert.equal(listed?.state, 'closed')
  const records = await json<{ action: string; after: unknown }[]>(
    'actions',
    'list',
    '--subject',
    `customer:${customer}`,
  )
  assert.deepEqual(
    records.map(({ action }) => action),
    ['customers close', 'customers resume', 'customers suspend', 'customers create'],
  )
  const [revocation] = await json<{ action: string }[]>(
    'actions',
    'list',
    '--subject',
    `key:${key_id}`,
  )
  assert.equal(revocation?.action, 'customers close')
})

test('secrets are sealed anew with the first key configured, and open with it alone', async (t) => {
  const { type, json, io, sql, customer } = await operatorWithCustomer(t)
  const { key_id, secret } = await json<{ key_id: string; secret: string }>(
    'keys',
    'issue',
    customer,
  )
  const fresh = '08'.repeat(32)
  const configure = (PENSTOCK_SECRET_KEY: string) => Object.assign(io.env, { PENSTOCK_SECRET_KEY })
  configure(`k2:${fresh},k1:${SEALING_KEY}`)
  assert.deepEqual(await json('keys', 'reseal'), { resealed: 1 })
  assert.deepEqual(await json('keys', 'reseal'), { resealed: 0 })
  const [row] = await sql<{
    sealed_secret: string
  }>`select sealed_secret from api_key where id = ${key_id}`
  const seal = sealWith({ current: 'k2', keys: { k2: Buffer.from(fresh, 'hex') } }, repeatable('x'))
  assert.equal(seal.open(row!.sealed_secret, sealContext(key_id)), secret)
  configure('k2:7')
  const { code, err } = await type('keys', 'reseal')
  assert.deepEqual(
    [code, err],
    [2, 'PENSTOCK_SECRET_KEY is not 64 hexadecimal characters, or a list of id:hex with commas.\n'],
  )
})

test('a key is not sealed with another key than those of the database', async (t) => {
  const { type, json, io, customer } = await operatorWithCustomer(t)
  await json('keys', 'issue', customer)
  Object.assign(io.env, { PENSTOCK_SECRET_KEY: '09'.repeat(32) })
  const { code, err } = await type('keys', 'issue', customer)
  assert.deepEqual(
    [code, err],
    [1, 'The secrets in this database are not sealed with the key that is configured here.\n'],
  )
})

test('an address is not derived from another public key than those of the database', async (t) => {
  const { type, io } = await operatorWithCustomer(t)
  const other = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive(
    "m/44'/195'/0'",
  ).publicExtendedKey
  Object.assign(io.env, { PENSTOCK_WALLETS: await walletsFile(t, other) })
  const { code, err } = await type('customers', 'create', 'Bob')
  assert.equal(code, 1)
  assert.equal(
    err,
    'The deposit addresses of this database are not from the public key that is configured here.\n',
  )
})

test('without a sealing key or wallets, a change that needs them says so', async (t) => {
  const { type, io, customer } = await operatorWithCustomer(t)
  Object.assign(io.env, { PENSTOCK_SECRET_KEY: '', PENSTOCK_WALLETS: '' })
  const empty = ['--data-dir', await mkdtemp(join(tmpdir(), 'penstock-cli-'))]
  t.after(() => rm(empty[1]!, { recursive: true }))
  const issued = await type('keys', 'issue', customer, ...empty)
  assert.equal(issued.code, 1)
  assert.match(issued.err, /^There is no sealing key: set PENSTOCK_SECRET_KEY/)
  const created = await type('customers', 'create', 'Bob', ...empty)
  assert.deepEqual(
    [created.code, created.err],
    [1, 'Deposit addresses need the public key of the wallets: set PENSTOCK_WALLETS.\n'],
  )
})

test("a customer's text neither steers a terminal nor becomes a formula", async (t) => {
  const { type, json } = await quietOperator(t)
  await json('customers', 'create', 'Eve\u001b[2J\u202e\n\u009b1m')
  const { out } = await type('customers', 'list')
  assert.match(out, /Eve·\[2J···1m/)
  const { out: printed } = await type('customers', 'list', '--json')
  const steers = (code: number) => code === 0x1b || (code >= 0x7f && code <= 0x9f)
  assert.ok(![...printed].some((one) => steers(one.charCodeAt(0))))
  assert.equal(JSON.parse(printed)[0].name, 'Eve\u001b[2J\u202e\n\u009b1m')
})
