// Keys that sign receipts, on rows written by hand: which are ours, which sign, and which are
// marked or sealed again.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { calculateJwkThumbprint } from 'jose'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { recordActions } from '../../ledger/accounts/actions.ts'
import { systemRandom } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Seal, sealWith } from '../../platform/seal/seal.ts'
import {
  findSigningKey,
  hasSigningKey,
  makeSigningKey,
  missingFor,
  openSigningKey,
  provideSigningKey,
  publicKeys,
  resealSigningKey,
  rotateSigningKey,
  signingKey,
  signingKeyMissing,
} from './signing_keys.ts'

const now = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => now }
const keys = { a: new Uint8Array(32).fill(1), b: new Uint8Array(32).fill(2) }
const seal = sealWith({ current: 'a', keys: { a: keys.a } }, systemRandom)
const both = sealWith({ current: 'b', keys }, systemRandom)
const needs = { clock, random: systemRandom, seal }

/** A key pair with the seed of its private part. */
async function newPair() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const id = await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x })
  return { id, x, seed: privateKey.export({ format: 'jwk' }).d! }
}

type Row = { id?: string; mark?: string | null; signs?: boolean; sealed_seed?: string; by?: Seal }

/** A row of a key that is over, or that signs; without a mark, unless it is given. */
async function insert(sql: Sql, row: Row = {}): Promise<string> {
  const { x, seed, ...pair } = await newPair()
  const { id = pair.id, mark = null, signs = false, sealed_seed = seed, by = seal } = row
  const sealed = signs ? by.seal(sealed_seed, `signing_key:${id}`) : null
  const own = mark === 'own' ? by.mark(`${id} ${x}`, 'signing key') : mark
  await sql`
    insert into signing_key (id, public_key, sealed_private_key, mark, made_at, retired_at)
    values (${id}, ${x}, ${sealed}, ${own}, ${new Date(now.getTime() - 1)}, ${signs ? null : now})`
  return id
}

const marksOf = async (sql: Sql): Promise<Map<string, string | null>> => {
  const rows = await sql<{ id: string; mark: string | null }>`select id, mark from signing_key`
  return new Map(rows.map(({ id, mark }) => [id, mark]))
}

/** The keys whose mark a piece of work changes. */
async function remarked(sql: Sql, work: () => Promise<unknown>): Promise<string[]> {
  const before = await marksOf(sql)
  await work()
  const after = await marksOf(sql)
  return [...after].filter(([id, mark]) => before.get(id) !== mark).map(([id]) => id)
}

const provide = (sql: Sql, by: Seal = seal) =>
  sql.begin((tx) => provideSigningKey(tx, { ...needs, seal: by }))

test('a key is made where none signs, and those that are over do not count', async (t) => {
  const { sql } = await freshDatabase(t)
  assert.equal(await hasSigningKey(sql), false)
  assert.equal(await findSigningKey(sql, seal), undefined)
  await insert(sql, { mark: 'own' })
  assert.equal(await hasSigningKey(sql), false)
  await assert.rejects(signingKey(sql, seal), /no key of ours signs receipts/)
  const made = await makeSigningKey(sql, needs)
  assert.equal(await hasSigningKey(sql), true)
  assert.deepEqual(await signingKey(sql, seal), made)
  assert.equal(await makeSigningKey(sql, needs), undefined)
  assert.equal((await sql`select 1 from signing_key`).length, 2)
  assert.equal((await publicKeys(sql, seal))[0]?.id, made?.id, 'the newest first')
})

test('a key that signs is used and published with a mark of ours alone', async (t) => {
  const { sql } = await freshDatabase(t)
  const id = await insert(sql, { signs: true })
  const found = async (by: Seal) => [
    (await findSigningKey(sql, by))?.id,
    (await publicKeys(sql, by)).map((key) => key.id),
  ]
  assert.deepEqual(await found(seal), [undefined, []])
  await sql`update signing_key set mark = ${seal.mark('another', 'signing key')}`
  assert.deepEqual(await found(seal), [undefined, []])
  const [row] = await sql<{ public_key: string }>`select public_key from signing_key`
  await sql`update signing_key set mark = ${seal.mark(`${id} ${row!.public_key}`, 'signing key')}`
  assert.deepEqual(await found(seal), [id, [id]])
  const strange = sealWith({ current: 'a', keys: { a: keys.b } }, systemRandom)
  assert.deepEqual(await found(strange), [undefined, []])
})

test('a key without a mark is marked where its private part or a record shows it', async (t) => {
  const { sql } = await freshDatabase(t)
  const ids = await Promise.all(Array.from({ length: 6 }, () => insert(sql)))
  const [before, after, among, elsewhere, unknown, other] = ids as [string, ...string[]]
  const wrong_mark = await insert(sql, { mark: `a.${'A'.repeat(43)}` })
  const renamed = await insert(sql, { id: 'renamed' })
  const record = (subject: string, of: { before?: object; after?: object }) =>
    sql.begin((tx) =>
      recordActions(
        tx,
        { operator: { made_by: 'olga', reason: null }, action: 'receipts key', made_at: now },
        [{ subject, before: of.before ?? null, after: of.after ?? null }],
      ),
    )
  await record('receipts', { before: { key_id: before } })
  await record('receipts', { after: { key_id: after } })
  await record('receipts', { after: { marked_keys: ['x', among] } })
  await record('keys', { before: { key_id: elsewhere }, after: { marked_keys: [other] } })
  await record('receipts', { after: { marked_keys: [wrong_mark, renamed], key_id: 'x' } })
  const signing = await insert(sql, { signs: true })
  const shown = [before, after, among, signing].toSorted()
  const marked = await remarked(sql, async () => {
    const actions = await provide(sql)
    assert.equal(actions.length, 1)
    const { marked_keys } = actions[0]!.after as { marked_keys: string[] }
    assert.deepEqual(marked_keys.toSorted(), shown)
  })
  assert.deepEqual(marked.toSorted(), shown)
  assert.equal((await marksOf(sql)).get(unknown!), null)
  assert.equal((await findSigningKey(sql, seal))?.id, signing)
  assert.deepEqual((await publicKeys(sql, seal)).map(({ id }) => id).toSorted(), shown)
  assert.deepEqual(await provide(sql), [], 'once')
})

test('what is provided is said: the key that was marked, and the one that was made', async (t) => {
  const { sql } = await freshDatabase(t)
  const [made] = await provide(sql)
  const { key_id } = made!.after as { key_id: string }
  assert.deepEqual(made, { subject: 'receipts', before: null, after: { key_id } })
  assert.equal((await signingKey(sql, seal)).id, key_id)
  assert.deepEqual(await provide(sql), [])
  await sql`update signing_key set mark = null`
  const marked = { subject: 'receipts', before: null, after: { marked_keys: [key_id] } }
  assert.deepEqual(await provide(sql), [marked])
})

test('a private part of another key, or one that does not open, shows nothing', async (t) => {
  const { sql } = await freshDatabase(t)
  const sealed_seed = (await newPair()).seed
  const strange = sealWith({ current: 'b', keys: { b: keys.b } }, systemRandom)
  for (const row of [{ sealed_seed }, { by: strange }]) {
    await insert(sql, { signs: true, ...row })
    assert.deepEqual(await provide(sql), [])
    await sql`delete from signing_key`
  }
})

test('a new key takes the place of the one that signs, and the older ones stay', async (t) => {
  const { sql } = await freshDatabase(t)
  const old = await insert(sql, { mark: 'own' })
  const first = await makeSigningKey(sql, needs)
  const at = new Date(now.getTime() + 9)
  const rotate = (random = systemRandom) =>
    sql.begin((tx) => rotateSigningKey(tx, { seal, random, clock: { now: () => at } }))
  const { before, after } = await rotate()
  assert.equal(before, first!.id)
  assert.deepEqual(await signingKey(sql, seal), after)
  const rows = await sql<{ id: string; at: Date | null; signs: boolean }>`
    select id, retired_at as at, sealed_private_key is not null as signs from signing_key`
  const found = Object.fromEntries(rows.map((row) => [row.id, [row.at, row.signs]]))
  const wanted = { [old]: [now, false], [before!]: [at, false], [after.id]: [null, true] }
  assert.deepEqual(found, wanted)
  // As if another process had made the same one at the same moment.
  const seed = Buffer.from(
    seal.open(after.sealed_private_key, `signing_key:${after.id}`),
    'base64url',
  )
  await assert.rejects(rotate({ bytes: () => seed }), /Somebody else has just changed the key/)
  assert.equal((await signingKey(sql, seal)).id, after.id)
  await sql`delete from signing_key`
  assert.equal((await rotate()).before, null)
})

test('keys of ours are marked and sealed again by another sealing key, others not', async (t) => {
  const { sql } = await freshDatabase(t)
  const over = await insert(sql, { mark: 'own' })
  const none = await insert(sql)
  const wrong = await insert(sql, { mark: `a.${'A'.repeat(43)}` })
  const signing = await insert(sql, { mark: 'own', signs: true })
  const { sealed_private_key } = await signingKey(sql, seal)
  const reseal = (by: Seal) => sql.begin((tx) => resealSigningKey(tx, by))
  assert.deepEqual(await remarked(sql, async () => assert.equal(await reseal(seal), 0)), [])
  const marked = await remarked(sql, async () => assert.equal(await reseal(both), 1))
  assert.deepEqual(marked.toSorted(), [over, signing].toSorted())
  assert.equal((await marksOf(sql)).get(none), null)
  assert.equal((await marksOf(sql)).get(wrong)?.startsWith('a.'), true)
  const only_new = sealWith({ current: 'b', keys: { b: keys.b } }, systemRandom)
  const key = await signingKey(sql, only_new)
  assert.notEqual(key.sealed_private_key, sealed_private_key)
  const seed = seal.open(sealed_private_key, `signing_key:${signing}`)
  assert.equal(openSigningKey(only_new, key).export({ format: 'jwk' }).d, seed)
  assert.equal(await reseal(both), 0)
  assert.deepEqual(
    (await publicKeys(sql, only_new)).map(({ id }) => id).toSorted(),
    marked.toSorted(),
  )
})

test('the sealing key is missing that a private part is of, and of no other part', async (t) => {
  const { sql } = await freshDatabase(t)
  await insert(sql, { mark: 'b.unknown' })
  assert.equal(await signingKeyMissing(sql, seal), undefined)
  const id = await insert(sql, { signs: true, by: both })
  assert.equal(await signingKeyMissing(sql, seal), 'b')
  assert.equal(await signingKeyMissing(sql, both), undefined)
  assert.equal(missingFor(seal, [{ id, sealed_private_key: null }]), undefined)
  assert.equal(missingFor(seal, [{ id: 'x', sealed_private_key: seal.seal('y', 'z') }]), 'a')
})
