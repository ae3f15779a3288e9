// Which allow and deny entries are in force for whom, and when an allow entry wakes up.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { untilBlocked } from 'penstock-test/harness/own_transaction.ts'
import { addressFromBytes } from 'penstock-tron/address.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Entry,
  entriesFor,
  findEntry,
  listEntries,
  makeEntry,
  noteAllowed,
  type SevereAmounts,
  withdrawEntry,
} from './entries.ts'

const at = (ms: number) => new Date(Date.parse('2026-11-01T00:00:00Z') + ms)
const address = (n: number) => addressFromBytes(Uint8Array.of(0x41, ...new Uint8Array(20).fill(n)))
const [A, B, C] = [address(1), address(2), address(3)]

const make = (sql: Sql, id: string, more: Partial<Entry> = {}) =>
  sql.begin((tx) =>
    makeEntry(tx, () => id, {
      customer_id: null,
      address: A,
      kind: 'allow',
      reason: 'known',
      made_by: 'anna',
      made_at: at(0),
      expires_at: null,
      ...more,
    }),
  )

test('an entry is in force for its customer, or all, until its end', async (t) => {
  const { sql } = await freshDatabase(t)
  await make(sql, 'for all')
  await make(sql, 'of bert', { customer_id: 'bert', made_at: at(-1) })
  await make(sql, 'of cora', { customer_id: 'cora' })
  await make(sql, 'of another', { address: B })
  await make(sql, 'of nobody asked', { address: C, customer_id: 'bert' })
  await make(sql, 'later', { made_at: at(1) })
  await make(sql, 'ends', { expires_at: at(10) })
  await make(sql, 'taken back')
  await withdraw(sql, 'taken back', { ms: 10 })
  const inForce = async (ms: number) => {
    const parties = [
      { address: A, customer_id: 'bert' },
      { address: B, customer_id: 'bert' },
      { address: A, customer_id: 'dora' },
    ]
    return (await entriesFor(sql, parties, at(ms))).map((some) => some.map(({ id }) => id))
  }
  const all = ['ends', 'for all', 'taken back']
  assert.deepEqual(await inForce(-1), [['of bert'], [], []])
  assert.deepEqual(await inForce(0), [['of bert', ...all], ['of another'], all])
  assert.deepEqual(await inForce(9), [
    ['of bert', ...all, 'later'],
    ['of another'],
    [...all, 'later'],
  ])
  const left = ['for all', 'later']
  assert.deepEqual(await inForce(10), [['of bert', ...left], ['of another'], left])
  assert.deepEqual(await entriesFor(sql, [], at(9)), [])
})

const withdraw = (sql: Sql, id: string, { ms = 0, who = null as string | null } = {}) =>
  sql.begin((tx) => withdrawEntry(tx, { id, customer_id: who, at: at(ms) }))

test('an entry is withdrawn once, by whom it belongs to', async (t) => {
  const { sql } = await freshDatabase(t)
  await make(sql, 'house')
  await make(sql, 'bert', { customer_id: 'bert' })
  await make(sql, 'other')
  assert.equal(await withdraw(sql, 'none'), false)
  assert.equal(await withdraw(sql, 'house', { who: 'bert' }), false)
  assert.equal(await withdraw(sql, 'bert'), false)
  assert.equal(await withdraw(sql, 'bert', { who: 'cora' }), false)
  assert.equal(await withdraw(sql, 'house', { ms: 5 }), true)
  assert.equal(await withdraw(sql, 'house', { ms: 6 }), false)
  assert.equal(await withdraw(sql, 'bert', { who: 'bert', ms: 7 }), true)
  const ended = async (id: string) => (await findEntry(sql, id))?.withdrawn_at
  assert.deepEqual(await Promise.all(['house', 'bert', 'other', 'none'].map(ended)), [
    at(5),
    at(7),
    null,
    undefined,
  ])
})

test('entries are listed newest first, of one address or of all', async (t) => {
  const { sql } = await freshDatabase(t)
  await make(sql, '1', { made_at: at(2) })
  await make(sql, '2')
  await make(sql, '3', { address: B })
  const ids = async (wanted: Parameters<typeof listEntries>[1]) =>
    (await listEntries(sql, wanted)).map(({ id }) => id)
  assert.deepEqual(await ids({ limit: 9 }), ['1', '3', '2'])
  assert.deepEqual(await ids({ limit: 2 }), ['1', '3'])
  assert.deepEqual(await ids({ limit: 9, address: A }), ['1', '2'])
  assert.deepEqual(await ids({ limit: 9, address: C }), [])
})

test('an allow entry wakes up at five percent more, or at twice and a thousand more', async (t) => {
  const { sql } = await freshDatabase(t)
  const none = { share_bp: 0, usd: null }
  const wakes = async (seen: SevereAmounts, now: SevereAmounts) => {
    const id = [seen.share_bp, seen.usd, now.share_bp, now.usd].join()
    await make(sql, id)
    await make(sql, `beside ${id}`)
    assert.equal(await sql.begin((tx) => noteAllowed(tx, id, seen)), false, 'it is used first')
    return sql.begin((tx) => noteAllowed(tx, id, now))
  }
  const share = (share_bp: number) => ({ share_bp, usd: null })
  assert.equal(await wakes(share(100), share(599)), false)
  assert.equal(await wakes(share(100), share(600)), true)
  const usd = (usd: bigint) => ({ share_bp: 0, usd })
  for (const [before, after, wakes_up] of [
    [400n, 1_399n, false],
    [400n, 1_400n, true],
    [5_000n, 9_999n, false],
    [5_000n, 10_000n, true],
    [1_000n, 1_999n, false],
    [1_000n, 2_000n, true],
  ] as const)
    assert.equal(await wakes(usd(before), usd(after)), wakes_up, `${before} to ${after}`)
  assert.equal(await wakes(none, { share_bp: 0, usd: 9n ** 9n }), false, 'it was not known before')
  assert.equal(await wakes(usd(1n), none), false)
  assert.equal(await sql.begin((tx) => noteAllowed(tx, 'none', none)), false)
  const [row] = await sql<{ beside: bigint }>`
    select count(*) as beside from aml_entry where id like 'beside%' and seen_severe_bp is not null`
  assert.equal(row!.beside, 0n)
})

test('of two first uses of an allow entry at once, the later meets the other', async (t) => {
  const { sql } = await freshDatabase(t)
  await make(sql, 'it')
  const note = (share_bp: number) =>
    sql.begin((tx) => noteAllowed(tx, 'it', { share_bp, usd: null }))
  const { later } = await sql.begin(async (tx) => {
    await noteAllowed(tx, 'it', { share_bp: 100, usd: null })
    const later = note(700)
    await untilBlocked(sql, later)
    return { later }
  })
  assert.equal(await later, true)
  assert.equal(await note(1_100), false)
})

test('who uses an allow entry again and sees no more waits for no other', async (t) => {
  const { sql } = await freshDatabase(t)
  await make(sql, 'it')
  const note = (share_bp: number) =>
    sql.begin((tx) => noteAllowed(tx, 'it', { share_bp, usd: null }))
  await note(100)
  await sql.begin(async (tx) => {
    assert.equal(await noteAllowed(tx, 'it', { share_bp: 100, usd: null }), false)
    assert.equal(await note(200), false)
    assert.equal(await note(700), true)
  })
})

test('what is seen of an allow entry stays as it was until it wakes up', async (t) => {
  const { sql } = await freshDatabase(t)
  await make(sql, 'it')
  const note = (share_bp: number) =>
    sql.begin((tx) => noteAllowed(tx, 'it', { share_bp, usd: null }))
  assert.equal(await note(0), false)
  assert.equal(await note(300), false)
  assert.equal(await note(499), false, 'it grows from what was noted, not from the last look')
  assert.equal(await note(500), true)
  assert.equal(await note(999), false)
})
