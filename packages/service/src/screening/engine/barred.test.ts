// Which rows bar an address: of each predicate, rows just inside of it and just outside.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { type BriefEntry, publishLabels } from 'penstock-test/harness/labels.ts'
import { writeLog } from 'penstock-test/harness/logged_world.ts'
import { type Address, addressFromBytes } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { barredReader, heldSenders, severeTerminals } from './barred.ts'
import {
  type Bars,
  type BarsRecord,
  barReasons,
  barsAgree,
  barsFact,
  barsPlaceOf,
  notAsked,
  readBars,
  readBarsThen,
} from './bars.ts'
import { publishPolicy, SHIPPED_NEWEST } from './policy.ts'

const AT = new Date(Date.UTC(2026, 9, 8))
const at = (ms: number) => new Date(AT.getTime() + ms)
const clock = { now: () => AT }
const ME = 'customer'

const OTHER_TOKEN = addressFromBytes(Uint8Array.of(0x41, 99, ...new Uint8Array(19)))

/** Names for addresses, so that failures can be read. */
function namedAddresses() {
  const names = new Map<Address, string>()
  const byName = new Map<string, Address>()
  const of = (name: string): Address => {
    const known = byName.get(name)
    if (known) return known
    const made = addressFromBytes(Uint8Array.of(0x41, names.size + 1, ...new Uint8Array(19)))
    names.set(made, name)
    byName.set(name, made)
    return made
  }
  const all = () => [...names.keys()]
  return { of, all, nameOf: (address: Address) => names.get(address)! }
}

type Names = ReturnType<typeof namedAddresses>

async function listed(sql: Sql, { of }: Names) {
  const one = (name: string, more: Partial<BriefEntry> = {}): BriefEntry => ({
    address: of(name),
    category: 'sanctions',
    kind: 'authority',
    ...more,
  })
  await publishLabels(sql, [one('listed before')], { at: AT })
  await publishLabels(
    sql,
    [
      one('listed'),
      one('listed from now', { valid_from: AT }),
      one('listed soon', { valid_from: at(1) }),
      one('listed still', { valid_to: at(1) }),
      one('listed until now', { valid_to: AT }),
      one('curated', { kind: 'curated' }),
    ],
    { at: AT },
  )
}

async function frozen(sql: Sql, { of }: Names) {
  await sql`
    insert into flow_asset (number, contract, symbol, decimals)
    values (1, ${USDT}, 'USDT', 6), (2, ${OTHER_TOKEN}, 'OTHER', 6)`
  const freeze = (name: string, token: string, is: boolean) => sql`
    insert into flow_freeze (token, address, frozen, number)
    values (${token}, ${of(name)}, ${is}, 5)`
  await freeze('frozen', USDT, true)
  await freeze('thawed', USDT, false)
  await freeze('thawed since it was asked', USDT, false)
  await freeze('of another token thawed', OTHER_TOKEN, false)
  const word = (name: string, said: string, asked_at: Date) => sql`
    insert into issuer_word (address, token, asked_at, said, nodes, error)
    values (${of(name)}, ${USDT}, ${asked_at}, ${said}, 1,
      ${said === 'not_asked' ? 'down' : null})`
  await word('said frozen', 'frozen', at(-5))
  await word('said frozen then', 'frozen', at(-5))
  await word('said frozen then', 'not_frozen', at(-4))
  await word('said frozen now', 'not_frozen', at(-5))
  await word('said frozen now', 'frozen', at(-4))
  await word('asked in vain since', 'frozen', at(-5))
  await word('asked in vain since', 'not_asked', at(-4))
  await word('never answered', 'not_asked', at(-4))
  await word('thawed since it was asked', 'frozen', at(-5))
  await word('of another token thawed', 'frozen', at(-5))
}

async function denied(sql: Sql, { of }: Names) {
  let id = 0
  const deny = (name: string, more: object = {}) => {
    const row = { customer_id: null, kind: 'deny', made_at: AT, expires_at: null, ...more }
    const { customer_id, kind, made_at, expires_at, withdrawn_at } = {
      withdrawn_at: null,
      ...row,
    }
    return sql`
      insert into aml_entry
        (id, customer_id, address, kind, reason, made_by, made_at, expires_at, withdrawn_at)
      values (${`entry${++id}`}, ${customer_id}, ${of(name)}, ${kind}, 'so', 'me', ${made_at},
        ${expires_at}, ${withdrawn_at})`
  }
  await deny('denied')
  await deny('denied soon', { made_at: at(1) })
  await deny('denied by me', { customer_id: ME })
  await deny('denied by another', { customer_id: 'another' })
  await deny('allowed', { kind: 'allow' })
  await deny('denied still', { expires_at: at(1) })
  await deny('denied until now', { expires_at: AT })
  await deny('withdrawn soon', { withdrawn_at: at(1) })
  await deny('withdrawn', { withdrawn_at: AT })
}

const BARRED = [
  'asked in vain since',
  'denied',
  'denied still',
  'frozen',
  'listed',
  'listed from now',
  'listed still',
  'of another token thawed',
  'said frozen',
  'said frozen now',
  'withdrawn soon',
]

async function someRows(t: TestContext) {
  const { sql } = await freshDatabase(t)
  const named = namedAddresses()
  named.of('unknown')
  await listed(sql, named)
  await frozen(sql, named)
  await denied(sql, named)
  return { sql, named }
}

const publish = (sql: Sql, change: object) =>
  sql.begin((tx) =>
    publishPolicy(tx, {
      body: { ...SHIPPED_NEWEST, ...change },
      published_by: 'test',
      published_at: AT,
    }),
  )

test('money of those is held whom a list, an issuer or the house bars now', async (t) => {
  const { sql, named } = await someRows(t)
  const held = async (addresses: readonly Address[]) =>
    [...(await heldSenders({ clock })(sql, addresses))].map(named.nameOf).sort()
  assert.deepEqual(await held(named.all()), BARRED)
  for (const address of named.all())
    assert.deepEqual(
      await held([address]),
      BARRED.filter((name) => name === named.nameOf(address)),
      named.nameOf(address),
    )
  await publish(sql, { hold_deposits_from: 'none' })
  assert.deepEqual(await held(named.all()), [])
  await publish(sql, { hold_deposits_from: 'high' })
  assert.deepEqual(await held(named.all()), BARRED)
})

test('nothing is sold to a barred address where the policy says so', async (t) => {
  const { sql, named } = await someRows(t)
  const asked: Address[] = []
  const issuers = { ask: async (addresses: readonly Address[]) => void asked.push(...addresses) }
  const isBarred = (name: string) => barredReader({ sql, clock, issuers })(named.of(name))
  await publish(sql, { refuse_blacklisted_receivers: false })
  assert.equal(await isBarred('frozen'), false)
  assert.deepEqual(asked, [], 'no issuer is asked in vain')
  await publish(sql, { refuse_blacklisted_receivers: true })
  assert.equal(await isBarred('frozen'), true)
  assert.equal(await isBarred('unknown'), false)
  assert.deepEqual(asked.map(named.nameOf), ['frozen', 'unknown'])
})

test('a severe terminal is one by a sure label of a severe category that is valid', async (t) => {
  const { sql } = await freshDatabase(t)
  const named = namedAddresses()
  const one = (name: string, more: Partial<BriefEntry> = {}): BriefEntry => ({
    address: named.of(name),
    category: 'mixer',
    ...more,
  })
  await publishLabels(sql, [one('before')], { at: AT })
  await publishLabels(
    sql,
    [
      one('sure enough', { confidence: 50 }),
      one('not sure', { confidence: 49 }),
      one('not severe', { category: 'gambling' }),
      one('from now', { valid_from: AT }),
      one('soon', { valid_from: at(1) }),
      one('still', { valid_to: at(1) }),
      one('until now', { valid_to: AT }),
      one('of two', { category: 'scam' }),
      one('of two', { category: 'mixer' }),
      one('official', { category: 'gambling', kind: 'authority' }),
      one('official mixer', { kind: 'authority' }),
      one('not asked about'),
    ],
    { at: AT },
  )
  const found = await severeTerminals(
    sql,
    named.all().filter((address) => named.nameOf(address) !== 'not asked about'),
    { at: AT, severe: ['scam', 'mixer'] },
  )
  assert.deepEqual(Object.fromEntries([...found].map(([a, b]) => [named.nameOf(a), b])), {
    'sure enough': 'mixer',
    'from now': 'mixer',
    still: 'mixer',
    'of two': 'mixer',
    official: 'blacklisted',
    'official mixer': 'mixer',
  })
})

/** What the rows above say of each, for somebody who is a customer. */
const REASONS: Readonly<Record<string, string>> = {
  listed: 'list',
  'listed from now': 'list',
  'listed still': 'list',
  frozen: 'issuer_freeze',
  'said frozen': 'issuer_freeze',
  'said frozen now': 'issuer_freeze',
  'asked in vain since': 'issuer_freeze',
  'of another token thawed': 'issuer_freeze',
  denied: 'denied',
  'denied by me': 'denied',
  'denied still': 'denied',
  'withdrawn soon': 'denied',
}

test('what bars an address is read of each for itself, with the reason', async (t) => {
  const { sql, named } = await someRows(t)
  const parties = named.all().map((address) => ({ address, customer_id: ME }))
  const all = await readBars(sql, parties, AT)
  const reasons = all.flatMap((bars) => {
    const said = barReasons(bars).join()
    return said === '' ? [] : [[named.nameOf(bars.address), said]]
  })
  const sorted = (of: string[][]) => of.toSorted(([a], [b]) => (a! < b! ? -1 : 1))
  assert.deepEqual(sorted(reasons as string[][]), sorted(Object.entries(REASONS)))
  for (const one of all) {
    const [alone] = await readBars(sql, [{ address: one.address, customer_id: ME }], AT)
    assert.deepEqual(alone, one, named.nameOf(one.address))
    assert.deepEqual(
      one.labels.filter((label) => label.address !== one.address),
      [],
    )
    assert.deepEqual([one.label_set, one.first_block, one.last_block], [2, null, null])
  }
})

const tokens = (bars: Bars) => bars.issuers!.map(({ token, said }) => [token, said])

test("an issuer's last word counts on each token of which the log has none", async (t) => {
  const { sql, named } = await someRows(t)
  const of = async (name: string) =>
    (await readBars(sql, [{ address: named.of(name), customer_id: ME }], AT))[0]!
  const sorted = (pairs: string[][]) => pairs.toSorted(([a], [b]) => (a! < b! ? -1 : 1))
  const both = (usdt: string, other: string) =>
    sorted([
      [USDT, usdt],
      [OTHER_TOKEN, other],
    ])
  assert.deepEqual(tokens(await of('unknown')), both('not_asked', 'not_asked'))
  assert.deepEqual(tokens(await of('said frozen then')), both('not_frozen', 'not_asked'))
  assert.deepEqual(tokens(await of('never answered')), both('not_asked', 'not_asked'))
  assert.deepEqual(tokens(await of('frozen')), [[OTHER_TOKEN, 'not_asked']])
  assert.deepEqual(tokens(await of('of another token thawed')), [[USDT, 'frozen']])
  assert.deepEqual(notAsked(await of('said frozen')), [OTHER_TOKEN])
  const { issuers: _, ...before } = await of('said frozen')
  assert.deepEqual(notAsked({ ...before, issuers: undefined }), [])
})

test('a reading is done again from what it says it read, though rows came since', async (t) => {
  const { sql, named } = await someRows(t)
  const parties = named.all().map((address) => ({ address, customer_id: ME }))
  const all = await readBars(sql, parties, AT)
  await publishLabels(sql, [{ address: named.of('unknown'), category: 'scam' }], { at: AT })
  await sql`
    insert into issuer_word (address, token, asked_at, said, nodes)
    select address, token, ${AT}, 'no_list', 1 from issuer_word where said = 'frozen'`
  for (const [i, bars] of all.entries()) {
    // As evidence has it.
    const record = barsFact(bars) as unknown as BarsRecord
    const again = await readBarsThen(sql, parties[i]!, barsPlaceOf(record))
    // The log of these rows has no blocks: freezes of it are read from those.
    const wanted = { ...bars, frozen: [] }
    assert.deepEqual(barsFact(again), barsFact(wanted), named.nameOf(bars.address))
    assert.deepEqual(again.entries, bars.entries)
  }
})

test('freezes of a reading are those of its blocks, and words those of its time', async (t) => {
  const { sql, named } = await someRows(t)
  const one = named.of('unknown')
  const party = { address: one, customer_id: ME }
  // Written before the word that counts, of a time at which the other token was asked.
  const word = (token: Address, said: string, asked_at: Date) => sql`
    insert into issuer_word (address, token, asked_at, said, nodes, error)
    values (${one}, ${token}, ${asked_at}, ${said}, 1, ${said === 'not_asked' ? 'down' : null})`
  await word(USDT, 'not_asked', at(-4))
  await word(USDT, 'frozen', at(-5))
  await word(OTHER_TOKEN, 'not_frozen', at(-4))
  const [bars] = await readBars(sql, [party], AT)
  const { issuers } = await readBarsThen(sql, party, bars!)
  assert.deepEqual(issuers!.map(({ said, at }) => [said, at]).sort(), [
    ['frozen', at(-5)],
    ['not_frozen', at(-4)],
  ])
  for (const [first, frozen] of [
    [100, true],
    [101, false],
    [102, true],
  ] as const)
    await writeLog(sql, [[]], { first, freezes: [[USDT, one, frozen]] })
  const then = async (first_block: bigint | null, last_block: bigint | null) =>
    (await readBarsThen(sql, party, { ...bars!, first_block, last_block })).frozen
  assert.deepEqual(await then(100n, 100n), [{ token: USDT, block: 100n }])
  assert.deepEqual(await then(100n, 101n), [])
  assert.deepEqual(await then(100n, 102n), [{ token: USDT, block: 102n }])
  assert.deepEqual(await then(null, null), [])
})

test('a reading that says no block, or asked nobody, says so again', () => {
  const record = {
    at: AT.toISOString(),
    label_set: '2',
    first_block: '5',
    last_block: null,
    issuers: [{ token: USDT, said: 'not_asked' as const, at: null }],
  }
  assert.deepEqual(barsPlaceOf(record), {
    at: AT,
    label_set: 2,
    first_block: 5n,
    last_block: null,
    issuers: [{ token: USDT, said: 'not_asked', at: null }],
  })
  const { issuers: _, ...older } = record
  const swapped = { ...older, first_block: null, last_block: '7' }
  const { first_block, last_block, issuers } = barsPlaceOf(swapped)
  assert.deepEqual([first_block, last_block, issuers], [null, 7n, undefined])
})

test('two readings agree that say the same, whenever and of whatever rows', async (t) => {
  const { sql, named } = await someRows(t)
  const of = async (name: string) => {
    const [bars] = await readBars(sql, [{ address: named.of(name), customer_id: ME }], AT)
    return bars!
  }
  const [denied_one, said] = [await of('denied'), await of('said frozen')]
  const later = { ...said, at: at(9), label_set: 7, last_block: 9n }
  const asked_again = said.issuers!.map((one) => ({ ...one, at: at(9) }))
  assert.equal(barsAgree(said, { ...later, issuers: asked_again }), true)
  const thawed = said.issuers!.map((one) => ({ ...one, said: 'not_frozen' as const }))
  const changes = {
    labels: (await of('listed')).labels,
    frozen: (await of('frozen')).frozen,
    issuers: thawed,
    entries: denied_one.entries,
  }
  for (const [name, value] of Object.entries(changes))
    assert.equal(barsAgree(said, { ...said, [name]: value }), false, name)
})
