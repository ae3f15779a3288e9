// What the evidence of a screening says, of a small log whose every transfer is known.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  addressNumbered,
  idNumbered,
  type LoggedMove,
  loggedWorld,
  momentOf,
} from 'penstock-test/harness/logged_world.ts'
import type { Facts } from 'penstock-test/harness/screening_world.ts'
import type { Address } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { makeEntry } from '../labels/entries.ts'
import { readBars } from './bars.ts'
import { type Basis, counterpartyOf, mostImportant, type Question } from './findings.ts'
import { levelOfReading, moneyReader } from './money.ts'
import { requirePolicy, SHIPPED_NEWEST, SHIPPED_POLICY } from './policy.ts'
import { screenAddress, screenTransaction } from './screening.ts'

const [MIXER, SHOP, ME, FRIEND, STRANGER, LISTED, FROZEN, NEW_ONE] = [1, 2, 3, 4, 5, 6, 7, 8].map(
  addressNumbered,
) as [Address, Address, Address, Address, Address, Address, Address, Address]
const [TRX, TOKEN] = [0, 1]
const P2 = requirePolicy(SHIPPED_NEWEST, 2)

const move = (
  tx: number,
  from: Address,
  to: Address,
  asset: number,
  whole: number,
): LoggedMove => ({
  tx,
  from,
  to,
  asset,
  amount: BigInt(whole * 1_000_000),
})

const BLOCKS = [
  [
    move(1, MIXER, ME, TOKEN, 1_000),
    move(2, STRANGER, ME, TRX, 500),
    move(9, LISTED, FROZEN, TRX, 5),
  ],
  [move(3, ME, SHOP, TOKEN, 300), move(4, ME, FRIEND, TOKEN, 100)],
  [move(5, FRIEND, STRANGER, TOKEN, 50), move(5, FRIEND, STRANGER, TRX, 50)],
]

async function someWorld(t: TestContext) {
  const { sql, clock, generations } = await loggedWorld(t, {
    labels: [
      { address: MIXER, category: 'mixer', entity: 'Some mixer' },
      { address: MIXER, category: 'scam', confidence: 20 },
      { address: SHOP, category: 'exchange_licensed' },
      { address: LISTED, category: 'sanctions', kind: 'authority' },
    ],
    blocks: BLOCKS,
    freezes: [[USDT, FROZEN, true]],
  })
  const basis: Basis = {
    sql,
    generation: generations.current()!,
    policy: P2,
    carried_blocks: 10_000,
    bars: undefined,
  }
  return { sql, clock, generations, basis }
}

const asking = (address: Address, more: Partial<Question> = {}): Question => ({
  type: 'address',
  network: 'TRX',
  address,
  hash: null,
  direction: null,
  customer_id: 'me',
  created_at: momentOf(0),
  ...more,
})

const factsOf = ({ evidence }: { evidence: string }) =>
  JSON.parse(evidence) as Facts & Record<string, unknown>
const factsAbout = async (basis: Basis, address: Address) =>
  factsOf(await screenAddress(basis, asking(address)))

const GROSS = 'Received amounts are gross: money that went out and came back counts again.'
const NEW = 'The score is by what is new: money that was here before and came back is not.'
const NO_ENDS = 'Where what was sent has ended, beyond its receivers, is not known yet.'
const NO_HISTORY = 'The index has no history of this address.'

test('evidence says what came, from whom, by which way, and where it went', async (t) => {
  const { basis } = await someWorld(t)
  const facts = await factsAbout(basis, ME)
  const new_ones = {
    mixer: { share: '0.8696', usd: '1000.00' },
    unidentified: { share: '0.1304', usd: '150.00' },
  }
  assert.deepEqual(facts.counted, { net_new: new_ones, recent: new_ones })
  assert.deepEqual(facts.destinations, {
    sent_usd: '400.00',
    to: { exchange_licensed: '300.00' },
  })
  assert.deepEqual(
    facts.factors.map((one) => [one.category, one.usd, one.direct_usd, one.mean_hops, one.units]),
    [
      ['mixer', '1000.00', '1000.00', '1.00', { USDT: '1000000000' }],
      ['unidentified', '150.00', '0.00', '1.00', { TRX: '500000000' }],
    ],
  )
  assert.deepEqual(
    facts.factors.map(({ origins }) => origins.map(({ entity }) => entity)),
    [['Some mixer'], []],
  )
  assert.deepEqual(
    facts.factors.map(({ path }) => path.map(({ tx_id, carried }) => [tx_id, carried])),
    [[[idNumbered(1), '1000000000']], [[idNumbered(2), '500000000']]],
  )
  assert.deepEqual(
    facts.floors.filter(({ rule }) => rule === 'combined').map(({ of }) => of),
    [undefined, 'net_new', 'recent'],
  )
  assert.equal('of' in facts.floors[0]!, false)
  const { index, sent } = facts
  assert.deepEqual([index.last_block_time, sent], ['2026-10-01T00:00:06.000Z', null])
  assert.equal('imported' in index, false)
  assert.deepEqual(facts.notes, [GROSS, NEW, NO_ENDS])
})

test('of a labelled address its labels are named, and which of them is in force', async (t) => {
  const { basis } = await someWorld(t)
  const { screened, counted, factors, destinations } = await factsAbout(basis, MIXER)
  assert.deepEqual(
    screened.labels.map(({ category }) => category),
    ['mixer', 'scam'],
  )
  assert.deepEqual(screened.in_force, {
    category: 'mixer',
    confidence: '100',
    kind: 'curated',
    terminal: true,
  })
  assert.deepEqual([counted, factors], [{ net_new: {}, recent: {} }, []])
  assert.deepEqual(destinations, { sent_usd: '1000.00', to: {} })
  assert.equal((await factsAbout(basis, ME)).screened.in_force, null)
  assert.deepEqual((await factsAbout(basis, NEW_ONE)).notes, [NO_HISTORY, GROSS, NEW, NO_ENDS])
})

test('the engine has a name for what it looks at, and none for what it does not', async (t) => {
  const { basis } = await someWorld(t)
  const bars: Basis['bars'] = async (party) => (await readBars(basis.sql, [party], momentOf(0)))[0]!
  const without: Basis['bars'] = async (party) => ({ ...(await bars(party)), issuers: undefined })
  const p1 = SHIPPED_POLICY
  const engines: [Partial<Basis>, string][] = [
    [{ policy: p1 }, 'penstock 2'],
    [{ policy: p1, bars: without }, 'penstock 3'],
    [{ policy: p1, bars }, 'penstock 4'],
    [{ policy: { ...p1, counts: ['gross', 'net_new'] }, bars }, 'penstock 5'],
    [{ policy: { ...p1, sent: true }, bars }, 'penstock 5'],
    [{ bars }, 'penstock 5'],
  ]
  const engineOf = async ([how]: (typeof engines)[number]) =>
    (await factsAbout({ ...basis, ...how }, ME)).engine
  assert.deepEqual(
    await Promise.all(engines.map(engineOf)),
    engines.map(([, name]) => name),
  )
  const old = await factsAbout({ ...basis, policy: p1 }, ME)
  for (const name of ['bars', 'counted', 'sent']) assert.equal(name in old, false, name)
  assert.equal(old.destinations, null)
  const sent = await factsAbout({ ...basis, policy: { ...p1, sent: true } }, ME)
  assert.deepEqual(sent.counted, {})
  const net_new = await factsAbout({ ...basis, policy: { ...p1, counts: ['net_new'] } }, ME)
  assert.deepEqual(Object.keys(net_new.counted), ['net_new'])
  assert.equal('sent' in net_new, false)
})

test('an address is barred by lists, freezes and denials of what the index knows', async (t) => {
  const { sql, basis } = await someWorld(t)
  const judged = async (address: Address) => {
    const { blacklisted_by, screened, result } = await factsAbout(basis, address)
    return [blacklisted_by.join(), screened.frozen_by_issuer, result.risk_score]
  }
  assert.deepEqual(await judged(LISTED), ['list', false, '100.0'])
  assert.deepEqual(await judged(FROZEN), ['issuer_freeze', true, '100.0'])
  assert.deepEqual(await judged(ME), ['', false, '90.2'])
  const decide = (kind: 'allow' | 'deny', address: Address) =>
    makeEntry(sql as never, () => `${kind} ${address}`, {
      customer_id: null,
      address,
      kind,
      reason: 'so',
      made_by: 'me',
      made_at: momentOf(0),
      expires_at: null,
    })
  await decide('deny', FRIEND)
  assert.deepEqual(await judged(FRIEND), ['denied', false, '100.0'])
  await decide('allow', MIXER)
  await decide('allow', ME)
  const policy = { ...P2, medium_from: 1, direct: [{ share_bp: 0, usd: 1, points: 99 }] }
  const { result, blacklisted_by } = await factsAbout({ ...basis, policy }, ME)
  assert.deepEqual([result.raw_score, result.risk_score], ['99.0', '90.2'])
  assert.deepEqual(blacklisted_by, [])
})

test('what was sent is known as of a night, which is said after two days', async (t) => {
  const { basis } = await someWorld(t)
  const { generation } = basis
  const HOURS_48 = 48 * 3_600_000
  const readAt = (time_ms: number) =>
    factsAbout(
      { ...basis, sent: { generation: 1, height: 99, time_ms, state: generation.state } },
      ME,
    )
  const at_ms = generation.index.block_time_ms
  const fresh = await readAt(at_ms - HOURS_48)
  assert.deepEqual(fresh.notes, [GROSS, NEW])
  assert.deepEqual(fresh.sent!.ended, {
    mixer: { share: '0.8696', usd: '1000.00' },
    unidentified: { share: '0.1304', usd: '150.00' },
  })
  const { notes } = await readAt(at_ms - HOURS_48 - 1)
  assert.equal(notes.length, 3)
  assert.match(notes[2]!, /known as of 2026-09-29T00:00:05.999Z alone/)
})

test('a note says what bars an address by another label set, or without an issuer', async (t) => {
  const { basis } = await someWorld(t)
  const notesOf = async (label_set: number) => {
    const bars: Basis['bars'] = async (party) => {
      const [now] = await readBars(basis.sql, [party], momentOf(0))
      return { ...now!, label_set }
    }
    return (await factsAbout({ ...basis, bars }, ME)).notes
  }
  const asked = new RegExp(`Whether the issuer of ${USDT} froze the address before block 100`)
  const [unasked, ...same] = await notesOf(1)
  assert.match(unasked!, asked)
  assert.deepEqual(same, [GROSS, NEW, NO_ENDS])
  const [other, next] = await notesOf(2)
  assert.match(other!, /from label set 2; shares are by label set 1/)
  assert.match(next!, asked)
})

test('evidence names whose history was imported, and says where no list is loaded', async (t) => {
  const { generations, sql } = await loggedWorld(t, { labels: [], blocks: BLOCKS })
  const generation = generations.current()!
  const basis: Basis = { sql, generation, policy: P2, carried_blocks: 10_000, bars: undefined }
  const { notes } = await factsAbout(basis, ME)
  const NO_LIST = 'No list is loaded: nothing is known of who addresses belong to.'
  assert.deepEqual(notes, [NO_LIST, GROSS, NEW, NO_ENDS])
  const source = { source: 'a friend', first_block: 1, last_block: 99, files: 2, sha256: 'ab' }
  const imported = await factsAbout(
    { ...basis, generation: { ...generation, imported: [source] } },
    ME,
  )
  assert.deepEqual(imported.index.imported, [
    { source: 'a friend', first_block: '1', last_block: '99', files: '2', sha256: 'ab' },
  ])
  const { index } = generation
  const before_any = Object.create(index, { block_time_ms: { value: Number.NaN } })
  const empty = await factsAbout({ ...basis, generation: { ...generation, index: before_any } }, ME)
  assert.equal(empty.index.last_block_time, null)
})

test('of a transaction the money is judged, or its receiver, or nothing', async (t) => {
  const { basis } = await someWorld(t)
  const screen = (
    tx: number,
    address: Address,
    { direction = 'deposit' as Question['direction'], block = 102, carried_blocks = 10_000 } = {},
  ) => {
    const hash = idNumbered(tx)
    const question = { ...asking(address, { direction }), hash, type: 'hash' as const }
    return screenTransaction({ ...basis, carried_blocks }, question, block)
  }
  assert.equal(await screen(6, STRANGER), 'no_transfer')
  assert.equal(await screen(5, ME), 'not_in_transaction')
  const of = async (...how: Parameters<typeof screen>) => {
    const result = await screen(...how)
    assert.ok(typeof result !== 'string')
    return factsOf(result)
  }
  for (const named of [STRANGER, FRIEND]) {
    const facts = await of(5, named)
    assert.equal(facts.screened.address, FRIEND, 'the sender')
    assert.deepEqual(
      facts.factors.map((one) => [one.category, one.usd, one.direct_usd, one.path.length]),
      [
        ['mixer', '50.00', '0.00', 3],
        ['unidentified', '15.00', '0.00', 1],
      ],
    )
    assert.deepEqual(facts.notes, [GROSS, NEW])
    assert.equal(facts.destinations, null)
  }
  const direct = await of(1, ME, { block: 100 })
  assert.deepEqual([direct.factors[0]!.usd, direct.factors[0]!.direct_usd], ['1000.00', '1000.00'])
  const out = await of(4, ME, { direction: 'withdrawal', block: 101 })
  assert.equal(out.screened.address, FRIEND, 'the receiver')
  assert.deepEqual(out.notes, [GROSS, NEW, NO_ENDS])
  assert.deepEqual((out.transfers as object[]).length, 1)
  const kept = await of(1, ME, { block: 100, carried_blocks: 2 })
  assert.deepEqual(kept.notes, [GROSS, NEW])
  const forgotten = await of(1, ME, { block: 100, carried_blocks: 1 })
  assert.match(forgotten.notes[0]!, /It is not kept any more what the transfer carried/)
  assert.equal(forgotten.notes.length, 4)
})

test('money that arrived is read by what it carried, one transfer by one', async (t) => {
  const { sql, clock, generations } = await someWorld(t)
  const { height, read, ways } = moneyReader({ sql, clock, generations, carried_blocks: 10_000 })
  const money = (tx: number, asset: string, amount: bigint, block_number = 102) => ({
    tx_id: idNumbered(tx),
    block_number,
    from: FRIEND,
    to: STRANGER,
    asset,
    amount,
    customer_id: 'me',
  })
  const all = [
    money(5, USDT, 50_000_000n),
    money(5, 'TRX', 50_000_000n),
    money(5, USDT, 50_000_000n),
    money(5, USDT, 50_000_001n),
    { ...money(1, USDT, 1_000_000_000n, 100), from: MIXER, to: ME },
  ]
  assert.equal(height(), 102)
  assert.deepEqual(await read(sql, P2, []), [])
  const readings = await read(sql, P2, all)
  assert.deepEqual(
    readings.map(
      (one) => one && [one.risk_score, one.severe_share, one.severe_usd, one.risk_level],
    ),
    [
      ['100.0', '1.0000', '50.00', 'high'],
      ['25.0', '0.0000', '0.00', 'low'],
      undefined,
      undefined,
      ['100.0', '1.0000', '1000.00', 'high'],
    ],
  )
  assert.deepEqual(readings[0]!.factors, [
    { category: 'mixer', share: '1.0000', usd: '50.00', direct_usd: '0.00' },
  ])
  assert.deepEqual(readings[4]!.floors.slice(0, 2), ['own_label mixer', 'direct mixer'])
  assert.deepEqual(readings[4]!.floors.includes('combined'), true)
  const steps = (await ways(P2, all)).map((found) =>
    found.map(({ category, steps }) => [category, steps.map(({ carried }) => carried)]),
  )
  assert.deepEqual(steps, [
    [['mixer', ['50000000', '100000000', '1000000000']]],
    [['unidentified', ['50000000']]],
    [],
    [],
    [['mixer', ['1000000000']]],
  ])
  const nothing = moneyReader({
    sql,
    clock,
    generations: { current: () => undefined },
    carried_blocks: 1,
  })
  assert.equal(nothing.height(), undefined)
  assert.deepEqual(await nothing.read(sql, P2, all.slice(0, 2)), [undefined, undefined])
  assert.deepEqual(await nothing.ways(P2, all.slice(0, 2)), [[], []])
})

test('money is judged by decisions about its sender, and of no worth it is no risk', async (t) => {
  const { sql, clock, generations } = await someWorld(t)
  const { read } = moneyReader({ sql, clock, generations, carried_blocks: 10_000 })
  const money = {
    tx_id: idNumbered(5),
    block_number: 102,
    from: FRIEND,
    to: STRANGER,
    asset: 'TRX',
    amount: 50_000_000n,
    customer_id: 'me',
  }
  const riskOf = async (customer_id: string, policy = P2) => {
    const [reading] = await read(sql, policy, [{ ...money, customer_id }])
    return reading!
  }
  const worthless = await riskOf('me', { ...P2, trx_micro_usd: 0 })
  assert.deepEqual(
    [worthless.severe_share, worthless.severe_usd, worthless.factors],
    ['0.0000', '0.00', []],
  )
  for (const [customer_id, kind] of [
    ['denying', 'deny'],
    ['allowing', 'allow'],
  ] as const)
    await makeEntry(sql as never, () => customer_id, {
      customer_id,
      address: FRIEND,
      kind,
      reason: 'so',
      made_by: 'me',
      made_at: momentOf(0),
      expires_at: null,
    })
  const risks = await Promise.all(['me', 'denying', 'allowing'].map((one) => riskOf(one)))
  assert.deepEqual(
    risks.map((one) => one.risk_level),
    ['low', 'high', 'low'],
  )
  const small = { ...P2, weights: { ...P2.weights, mixer: 0 }, direct: [], combined: [] }
  const severe = { ...small, indirect: [{ share_bp: 0, usd: 1, points: 80 }] }
  const token = async (customer_id: string) =>
    (await read(sql, severe, [{ ...money, asset: USDT, customer_id }]))[0]!
  const [of_me, allowed] = [await token('me'), await token('allowing')]
  assert.deepEqual([of_me.risk_score, allowed.risk_score], ['80.0', '0.0'])
  assert.equal(levelOfReading(severe, of_me), 'high')
  assert.equal(levelOfReading({ ...severe, high_from: 81 }, of_me), 'medium')
  assert.equal(levelOfReading(P2, worthless), 'low')
  const label = { factors: [], floors: ['combined', 'own_label mixer'] }
  assert.equal(levelOfReading(P2, label), 'high')
  assert.equal(levelOfReading(P2, { factors: [], floors: ['combined'] }), 'low')
})

test('the other side of a transaction is its sender, or the receiver of what leaves', async (t) => {
  const { basis } = await someWorld(t)
  const of = (tx: number, address: Address, direction: Question['direction'], block = 101) =>
    counterpartyOf(basis, { ...asking(address, { direction }), hash: idNumbered(tx) }, block)
  assert.equal(await of(3, ME, 'deposit'), ME)
  assert.equal(await of(3, SHOP, null), ME)
  assert.equal(await of(3, ME, 'withdrawal'), SHOP)
  assert.equal(await of(3, SHOP, 'withdrawal'), SHOP)
  assert.equal(await of(3, STRANGER, 'deposit'), undefined, 'it took no part')
  assert.equal(await of(9, ME, 'deposit'), undefined, 'it is not in the block')
  // The largest counts, and what somebody received goes before what it sent.
  const two = [
    move(1, ME, SHOP, TRX, 1_000),
    move(1, FRIEND, ME, TRX, 9),
    move(1, ME, FRIEND, TRX, 5),
  ]
  const { generations, sql } = await loggedWorld(t, {
    labels: [],
    blocks: [[...two, move(1, STRANGER, ME, TOKEN, 9), move(1, LISTED, ME, TOKEN, 9)]],
  })
  const other = { ...basis, sql, generation: generations.current()! }
  const sides = await Promise.all(
    (['deposit', 'withdrawal'] as const).flatMap((direction) =>
      [ME, SHOP, FRIEND].map((address) =>
        counterpartyOf(other, { ...asking(address, { direction }), hash: idNumbered(1) }, 100),
      ),
    ),
  )
  assert.deepEqual(sides, [STRANGER, ME, ME, ME, SHOP, FRIEND])
})

test('the six categories of most worth are followed back, of those that can be', () => {
  const amounts = [5n, 9n, 9n, 1n, 0n, 7n, 8n, 2n, 3n]
  const starts = [1, 2, 3, undefined, 5, 6, 7, 8, 9]
  assert.deepEqual(
    mostImportant(amounts, starts).map(({ category, sequence, value }) => [
      ...[category, sequence, value],
    ]),
    [
      [1, 2, 9n],
      [2, 3, 9n],
      [6, 7, 8n],
      [5, 6, 7n],
      [0, 1, 5n],
      [8, 9, 3n],
    ],
  )
  assert.deepEqual(mostImportant([1n, 2n], [undefined, undefined]), [])
})
