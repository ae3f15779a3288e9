import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { freshDatabase, TestDatabase } from 'penstock-test/harness/database.ts'
import { Misuse } from '../../config.ts'
import { HOUSE } from '../../events/log/events.ts'
import { createWebhook, removeWebhook } from '../../events/webhooks/webhooks.ts'
import { recordActions } from '../../ledger/accounts/actions.ts'
import { systemClock } from '../../lib/clock.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import {
  makeSigningKey,
  publicKeys,
  resealSigningKey,
  rotateSigningKey,
  signingKey,
} from '../../market/receipts/signing_keys.ts'
import { createCustomer } from '../../people/customers/customers.ts'
import { depositAddresses } from '../../people/customers/deposit_addresses.ts'
import { issueKey, revokeKey } from '../../people/keys/keys.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { readSealingKeys, type Seal, type SealingKeys, sealWith } from '../../platform/seal/seal.ts'
import { keysAtStart, sealingKeys } from './sealing_keys.ts'

const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/195'/0'")
const [RIGHT, WRONG] = ['11'.repeat(32), '22'.repeat(32)]

async function dataFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-sealing-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A customer with a key, whose secret is sealed by the given keys. */
async function keyHolder(
  sql: Sql,
  sealing: SealingKeys,
): Promise<{ customer_id: string; key_id: string }> {
  const needs = {
    clock: systemClock,
    random: systemRandom,
    new_id: idMaker(systemClock, systemRandom),
    seal: sealWith(sealing, systemRandom),
    deposit_address: depositAddresses(account.publicExtendedKey),
  }
  return sql.begin(async (tx) => {
    const { id: customer_id } = await createCustomer(tx, needs, { name: 'Anna' })
    return {
      customer_id,
      key_id: (await issueKey(tx, needs, { customer_id, name: 'shop' })).key_id,
    }
  })
}

test('a key is made and kept where nothing is sealed yet, and found again', async (t) => {
  const { sql } = await freshDatabase(t)
  const where = { data_dir: join(await dataFolder(t), 'data'), secret_key: undefined }
  const first = await sealingKeys(where, sql, sql)
  await keyHolder(sql, first)
  assert.deepEqual(await sealingKeys(where, sql, sql), first)
  assert.match(await readFile(join(where.data_dir, 'secret.key'), 'utf8'), /^[0-9a-f]{64}\n$/)
})

test("a start with another key than the database's, or with none, is refused", async (t) => {
  const { sql } = await freshDatabase(t)
  const data_dir = await dataFolder(t)
  await keyHolder(sql, readSealingKeys(RIGHT)!)
  for (const secret_key of [WRONG, `k2:${RIGHT}`, `k1:${WRONG},k2:${RIGHT}`]) {
    await assert.rejects(sealingKeys({ data_dir, secret_key }, sql, sql), (thrown) => {
      assert.ok(thrown instanceof Misuse && /another key k1/.test(thrown.message), String(thrown))
      assert.ok(!thrown.message.includes(WRONG) && !thrown.message.includes(RIGHT))
      return true
    })
  }
  await assert.rejects(
    sealingKeys({ data_dir, secret_key: undefined }, sql, sql),
    /set PENSTOCK_SECRET_KEY/,
  )
  await assert.rejects(readFile(join(data_dir, 'secret.key')), /ENOENT/, 'no key was made')
  assert.equal((await sealingKeys({ data_dir, secret_key: RIGHT }, sql, sql)).current, 'k1')
})

test('every key that still opens secrets is needed, until they are revoked', async (t) => {
  const { sql } = await freshDatabase(t)
  const data_dir = await dataFolder(t)
  const old = await keyHolder(sql, readSealingKeys(`k1:${RIGHT}`)!)
  await keyHolder(sql, readSealingKeys(`k2:${WRONG}`)!)
  const fresh_only = () => sealingKeys({ data_dir, secret_key: `k2:${WRONG}` }, sql, sql)
  await assert.rejects(fresh_only(), /another key k1\./)
  await sealingKeys({ data_dir, secret_key: `k2:${WRONG},k1:${RIGHT}` }, sql, sql)
  await sql.begin((tx) => revokeKey(tx, { ...old, at: new Date() }))
  assert.equal((await fresh_only()).current, 'k2')
})

test('a key that opens nothing but the secret of a webhook is needed too', async (t) => {
  const { sql } = await freshDatabase(t)
  const data_dir = await dataFolder(t)
  const sealed = (key: string) => ({
    clock: systemClock,
    random: systemRandom,
    new_id: idMaker(systemClock, systemRandom),
    seal: sealWith(readSealingKeys(key)!, systemRandom),
  })
  const wanted = { customer_id: HOUSE, url: 'https://ops.example/', scopes: ['house'] as const }
  const { webhook } = await sql.begin((tx) => createWebhook(tx, sealed(`k1:${RIGHT}`), wanted))
  const start = (secret_key: string | undefined) => sealingKeys({ data_dir, secret_key }, sql, sql)
  await assert.rejects(start(`k2:${WRONG}`), /another key k1\./)
  await assert.rejects(start(undefined), /set PENSTOCK_SECRET_KEY/)
  assert.equal((await start(`k2:${WRONG},k1:${RIGHT}`)).current, 'k2')
  await sql.begin((tx) => removeWebhook(tx, { customer_id: HOUSE, id: webhook.id }))
  assert.equal((await start(`k2:${WRONG}`)).current, 'k2')
})

test('a kept key that others can read, or that is damaged, is refused', async (t) => {
  const { sql } = await freshDatabase(t)
  const where = { data_dir: await dataFolder(t), secret_key: undefined }
  const file = join(where.data_dir, 'secret.key')
  await writeFile(file, `${RIGHT}\n`, { mode: 0o600 })
  await sealingKeys(where, sql, sql)
  await chmod(file, 0o640)
  await assert.rejects(sealingKeys(where, sql, sql), /chmod 600/)
  await writeFile(file, RIGHT.slice(1))
  await chmod(file, 0o600)
  await assert.rejects(sealingKeys(where, sql, sql), /damaged/)
})

test('the key that signs receipts is needed too, until another has taken its place', async (t) => {
  const { sql } = await freshDatabase(t)
  const data_dir = await dataFolder(t)
  const needs = (key: string) => ({
    sql,
    clock: systemClock,
    random: systemRandom,
    seal: sealWith(readSealingKeys(key)!, systemRandom),
  })
  await makeSigningKey(sql, needs(RIGHT))
  await makeSigningKey(sql, needs(WRONG))
  const { id } = await signingKey(sql, needs(RIGHT).seal)
  const start = (secret_key: string | undefined) => sealingKeys({ data_dir, secret_key }, sql, sql)
  await assert.rejects(start(WRONG), /another key k1/)
  await assert.rejects(start(undefined), /set PENSTOCK_SECRET_KEY/)
  assert.equal((await start(RIGHT)).current, 'k1')
  assert.equal(await sql.begin((tx) => resealSigningKey(tx, needs(RIGHT).seal)), 0)
  const both = `k2:${WRONG},k1:${RIGHT}`
  assert.equal(await sql.begin((tx) => resealSigningKey(tx, needs(both).seal)), 1)
  assert.equal((await signingKey(sql, needs(both).seal)).id, id)
  assert.equal((await start(`k2:${WRONG}`)).current, 'k2')
  const { before, after } = await sql.begin((tx) => rotateSigningKey(tx, needs(RIGHT)))
  assert.deepEqual([before, after.id === id], [id, false])
  assert.equal((await start(RIGHT)).current, 'k1')
})

/** Keys for receipts as an installation has them that began before there were marks: the first is
 *  retired, the second signs, and a third was put there by somebody. */
async function oldKeys(sql: Sql, seal: Seal): Promise<{ first: string; second: string }> {
  const needs = { clock: systemClock, random: systemRandom, seal }
  const by = { operator: { made_by: 'olga', reason: null }, action: 'receipts rotate' }
  await makeSigningKey(sql, needs)
  const { before, after } = await sql.begin(async (tx) => {
    const rotated = await rotateSigningKey(tx, needs)
    const key_id = { key_id: rotated.before }
    const action = { subject: 'receipts', before: key_id, after: { key_id: rotated.after.id } }
    await recordActions(tx, { ...by, made_at: new Date() }, [action])
    return rotated
  })
  // One after the other, however quickly both were made.
  await sql`update signing_key set mark = null`
  await sql`
    update signing_key set made_at = made_at - interval '1 second' where id = ${before}`
  await sql`
    insert into signing_key (id, public_key, made_at, retired_at)
    values (${THIEF.kid}, ${THIEF.x}, now(), now())`
  return { first: before!, second: after.id }
}

/** The public key of somebody, with its thumbprint. */
const THIEF = {
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
}

test('keys from before there were marks are kept when they can be shown to be ours', async (t) => {
  const { sql } = await freshDatabase(t)
  const [right, wrong] = [RIGHT, WRONG].map((key) => sealWith(readSealingKeys(key)!, systemRandom))
  const { first, second } = await oldKeys(sql, right!)
  assert.deepEqual(await publicKeys(sql, right!), [])
  const where = { data_dir: await dataFolder(t), secret_key: RIGHT }
  await keysAtStart(where, sql, sql)
  const listed = async (seal: Seal) => (await publicKeys(sql, seal)).map(({ id }) => id)
  assert.deepEqual(await listed(right!), [second, first])
  assert.deepEqual(await listed(wrong!), [])
  const records = await sql<{ after: unknown }>`
    select after from operator_action where made_by = 'start'`
  assert.deepEqual(records, [{ after: { marked_keys: [second, first] } }])
  // All marks follow the sealing key, those of keys that sign no more too.
  const both = sealWith(readSealingKeys(`k2:${WRONG},k1:${RIGHT}`)!, systemRandom)
  await sql.begin((tx) => resealSigningKey(tx, both))
  const next = sealWith(readSealingKeys(`k2:${WRONG}`)!, systemRandom)
  assert.deepEqual(await listed(next), [second, first])
})

test('who may not make keys for receipts starts with one of ours or not at all', async (t) => {
  const { sql, url, name } = await freshDatabase(t)
  const api_sql = new TestDatabase({ name, url }).connect({ role: 'penstock_api' })
  t.after(() => api_sql.close())
  const where = { data_dir: await dataFolder(t), secret_key: RIGHT }
  const start = () => keysAtStart(where, api_sql, api_sql)
  await assert.rejects(start(), /No key that signs receipts .* `penstock-admin migrate`/)
  await keysAtStart(where, sql, sql)
  await start()
  await sql`update signing_key set mark = null`
  await assert.rejects(start(), /No key that signs receipts has the mark/)
})
