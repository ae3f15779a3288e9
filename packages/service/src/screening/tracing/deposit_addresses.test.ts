// Which addresses are deposit addresses of a service, at the edge of every rule for that, and which
// rows of the found ones a generation takes and a list shows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { packTransfers } from '../../chain/transfers/packed.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { categoryNumber } from '../flow/categories.ts'
import { FlowIndex } from '../flow/flow_index.ts'
import type { Label } from '../flow/labels.ts'
import { addressWords } from '../flow/memory.ts'
import {
  type Deposit,
  depositsOf,
  listDeposits,
  revokeDeposit,
  SweepTally,
  storeFound,
  sweeper,
  takeOverDeposits,
} from './deposit_addresses.ts'

const hex = (n: number) => n.toString(16).padStart(2, '0').repeat(20)
const [ME, SHOP, SHOP_TOO, OTHER_SHOP, STRANGER] = [1, 2, 3, 4, 5].map(hex) as [
  string,
  string,
  string,
  string,
  string,
]
const label = (address: string, more: Partial<Label> = {}): Label => ({
  address,
  category: categoryNumber('exchange_licensed')!,
  confidence: 50,
  kind: 'curated',
  from_ms: Number.NEGATIVE_INFINITY,
  to_ms: Number.POSITIVE_INFINITY,
  ...more,
})
const ENTITIES = new Map([
  [SHOP, 'shop'],
  [SHOP_TOO, 'shop'],
  [OTHER_SHOP, 'other'],
])

type Sweep = { from?: string; to: string; amount: number; asset?: number }

/** The verdict about one who sends so; `labels`: of services. */
function verdict(
  sends: readonly Sweep[],
  {
    labels = [SHOP, SHOP_TOO, OTHER_SHOP].map((one) => label(one)),
    assets = [0],
    known = [] as string[],
    own = undefined as Label | undefined,
  } = {},
): string | undefined {
  const tally = new SweepTally(known)
  for (const one of labels) tally.addLabel(one)
  const sweepers = [undefined, ...assets.map((asset) => ({ asset, address: ME }))]
  tally.addCandidates(sweepers, { labelOf: () => own })
  tally.note(
    packTransfers(
      sends.map(({ from = ME, to, amount, asset = 0 }) => ({
        asset,
        from: Buffer.from(from, 'hex'),
        to: Buffer.from(to, 'hex'),
        amount: BigInt(amount),
      })),
    ),
  )
  return tally.found(ENTITIES).map(({ entity, sweeps }) => `${entity} ${sweeps}`)[0]
}

const twice = (to: string, half: number) => [
  { to, amount: half },
  { to, amount: half },
]

test('who sends nine tenths to one service, in two sweeps, is its deposit address', () => {
  assert.equal(verdict(twice(SHOP, 50)), 'shop 2')
  assert.equal(verdict([{ to: SHOP, amount: 100 }]), undefined, 'one sweep')
  const elsewhere = (amount: number) => [...twice(SHOP, 45), { to: STRANGER, amount }]
  assert.equal(verdict(elsewhere(10)), 'shop 2')
  assert.equal(verdict(elsewhere(11)), undefined)
  assert.equal(verdict([...twice(SHOP, 25), ...twice(SHOP_TOO, 25)]), 'shop 4', 'one entity')
  assert.equal(verdict([...twice(SHOP, 25), ...twice(OTHER_SHOP, 25)]), undefined)
  const back = (amount: number) => [...twice(SHOP, 50), { from: SHOP, to: ME, amount }]
  assert.equal(verdict(back(15)), 'shop 2')
  assert.equal(verdict(back(16)), undefined, 'it got too much back')
  assert.equal(verdict([...twice(SHOP, 50), { from: STRANGER, to: ME, amount: 900 }]), 'shop 2')
  assert.equal(verdict([...twice(SHOP, 50), { from: STRANGER, to: SHOP, amount: 9 }]), 'shop 2')
})

test('all that it sends, of every asset, has to go to the same', () => {
  const token = (to: string) => twice(to, 7).map((one) => ({ ...one, asset: 1 }))
  const assets = [0, 1]
  assert.equal(verdict([...twice(SHOP, 5), ...token(SHOP_TOO)], { assets }), 'shop 2')
  assert.equal(verdict([...twice(SHOP, 5), ...token(OTHER_SHOP)], { assets }), undefined)
  assert.equal(verdict([...twice(SHOP, 5), ...token(STRANGER)], { assets }), undefined)
  assert.equal(verdict([...twice(SHOP, 5), ...token(SHOP)]), undefined, 'an asset not looked at')
})

test('only sure labels of services that give addresses to customers count', () => {
  const of = (more: Partial<Label>) =>
    verdict(twice(SHOP, 50), { labels: [label(SHOP, more)] }) !== undefined
  const services: [Partial<Label>, boolean][] = [
    [{}, true],
    [{ confidence: 49 }, false],
    [{ kind: 'heuristic' }, false],
    [{ kind: 'authority' }, true],
    [{ category: categoryNumber('mixer')! }, true],
    [{ category: categoryNumber('scam')! }, false],
    [{ category: categoryNumber('bridge')! }, false],
  ]
  for (const [more, counts] of services) assert.equal(of(more), counts, JSON.stringify(more))
  const own = label(ME)
  assert.equal(verdict(twice(SHOP, 50), { own }), undefined, 'who has a label is somebody')
  assert.equal(verdict(twice(SHOP, 50), { own, known: [ME] }), 'shop 2', 'as one found before')
})

test('who dealt with services is found by them, and the found are in order', () => {
  const tally = new SweepTally()
  tally.addLabel(label(SHOP))
  const transfers = [ME, STRANGER].flatMap((from) =>
    twice(SHOP, 5).map(({ amount }) => ({
      asset: 0,
      from: Buffer.from(from, 'hex'),
      to: Buffer.from(SHOP, 'hex'),
      amount: BigInt(amount),
    })),
  )
  tally.note(packTransfers(transfers))
  assert.deepEqual(tally.servicesMet(), [])
  const sweepers = [STRANGER, ME].map((address) => ({ asset: 0, address }))
  tally.addCandidates(sweepers, { labelOf: () => undefined })
  tally.note(packTransfers(transfers))
  assert.deepEqual(tally.servicesMet(), [SHOP])
  const found = tally.found(new Map())
  assert.deepEqual(
    found.map(({ address, service, entity, category }) => [address, service, entity, category]),
    [ME, STRANGER].map((address) => [address, SHOP, SHOP, 'exchange_licensed']),
  )
})

test('a slot may be a sweeper that sent twice, nine tenths of it to such a service', () => {
  const of = (sends: readonly [to: string, amount: number][], category = 'exchange_licensed') => {
    const index = new FlowIndex([label(SHOP, { category: categoryNumber(category)! })])
    index.beginBlock(1, 1)
    const slot = (address: string) => index.slot(3, addressWords(Buffer.from(address, 'hex')))
    index.transfer(slot(STRANGER), slot(ME), { low: 1_000, high: 0 }, 1)
    for (const [i, [to, low]] of sends.entries())
      index.transfer(slot(ME), slot(to), { low, high: 0 }, i + 2)
    return sweeper(index, slot(ME))
  }
  const found = { asset: 3, address: ME }
  assert.deepEqual(
    of([
      [SHOP, 45],
      [SHOP, 45],
      [STRANGER, 10],
    ]),
    found,
  )
  assert.equal(
    of([
      [SHOP, 45],
      [SHOP, 45],
      [STRANGER, 11],
    ]),
    undefined,
  )
  assert.equal(of([[SHOP, 90]]), undefined)
  assert.equal(
    of(
      twice(SHOP, 9).map(({ to, amount }) => [to, amount]),
      'scam',
    ),
    undefined,
  )
})

const AT = new Date(Date.UTC(2026, 9, 8))
const deposit = (address: string, more: Partial<Deposit> = {}): Deposit => ({
  address,
  service: SHOP,
  entity: 'shop',
  category: 'exchange_licensed',
  sweeps: 2,
  ...more,
})

/** Generations 1 to 3, of which the second was in use last. */
async function generations(sql: Sql) {
  await sql`
    insert into label_set (number, sha256, note, published_at, published_by)
    values (1, ${'0'.repeat(64)}, 'test', ${AT}, 'test')`
  await sql`
    insert into flow_generation (label_set, begun_at, reach, first_number, rules, active_at)
    select 1, ${AT}, reach, 1, 2, case when reach < 2 then ${AT}::timestamptz end
    from generate_series(0, 2) as reach`
}

test('what a reading finds replaces what those before it found, and no later ones', async (t) => {
  const { sql } = await freshDatabase(t)
  const found = async () =>
    (
      await sql<{ address: string; height: bigint }>`
        select address, height from flow_deposit_found order by address`
    ).map(({ address, height }) => [address, Number(height)])
  const store = (height: number, ...addresses: string[]) =>
    sql.begin((tx) =>
      storeFound(
        tx,
        addresses.map((one) => deposit(one)),
        height,
      ),
    )
  await store(10, ME, SHOP)
  await store(10, ME, STRANGER)
  const at_ten = [ME, SHOP, STRANGER].map((one) => [one, 10])
  assert.deepEqual(await found(), at_ten)
  await store(9)
  assert.deepEqual(await found(), at_ten)
  await store(11, SHOP)
  assert.deepEqual(await found(), [[SHOP, 11]])
})

test('a generation takes what was found and not revoked; the one in use is listed', async (t) => {
  const { sql } = await freshDatabase(t)
  await generations(sql)
  const revoke = (address: string) =>
    sql.begin((tx) => revokeDeposit(tx, { address, reason: 'no', by: 'me', at: AT }))
  assert.equal(await revoke(STRANGER), true)
  assert.equal(await revoke(STRANGER), false, 'it was said before')
  const found = [deposit(ME), deposit(STRANGER), deposit(SHOP_TOO, { entity: 'a shop' })]
  await sql.begin((tx) => storeFound(tx, found, 5))
  for (const number of [1, 2]) await sql.begin((tx) => takeOverDeposits(tx, number))
  await sql.begin((tx) => storeFound(tx, [deposit(OTHER_SHOP)], 6))
  await sql.begin((tx) => takeOverDeposits(tx, 3))
  const addresses = (all: readonly Deposit[]) => all.map(({ address }) => address)
  assert.deepEqual(addresses(await depositsOf(sql, 2)), [ME, SHOP_TOO])
  assert.deepEqual(addresses(await depositsOf(sql, 3)), [OTHER_SHOP])
  assert.equal(await revoke(ME), true)
  const listed = await listDeposits(sql, 5)
  assert.deepEqual(
    listed.map(({ address, revoked_at }) => [address, revoked_at]),
    [
      [SHOP_TOO, null],
      [ME, AT],
    ],
  )
  assert.deepEqual(addresses(await listDeposits(sql, 1)), [SHOP_TOO])
})
