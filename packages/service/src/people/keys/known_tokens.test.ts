import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { listenForWakes } from '../../platform/steps/wake.ts'
import { issueKey, revokeKey, tokenHash } from './keys.ts'
import { KnownTokens, readTokensStep } from './known_tokens.ts'

const seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)

test("all keys' tokens are known from the first reading, new ones from the next", async (t) => {
  const { sql } = await freshDatabase(t)
  let now_ms = Date.UTC(2026, 9, 8)
  const clock = { now: () => new Date(now_ms) }
  const needs = { clock, random: systemRandom, new_id: idMaker(clock, systemRandom), seal }
  const customer_id = needs.new_id()
  await sql`
    insert into customer (id, name, deposit_index, deposit_address, created_at)
    values (${customer_id}, 'Somebody', 0, ${'T'.repeat(34)}, ${clock.now()})`
  const issue = async () => {
    const { key_id, token } = await sql.begin((tx) =>
      issueKey(tx, needs, { customer_id, name: 'key' }),
    )
    return { key_id, token_hash: tokenHash(token) }
  }
  const known = new KnownTokens()
  const step = readTokensStep({ sql, clock }, known)
  const [first, revoked] = [await issue(), await issue()]
  await sql.begin((tx) => revokeKey(tx, { customer_id, key_id: revoked.key_id, at: clock.now() }))
  now_ms += 3_600_000
  await step.run()
  assert.deepEqual([known.has(first.token_hash), known.has(revoked.token_hash)], [true, false])
  // A key may be made by a clock that is behind ours.
  now_ms -= 300_000
  const second = await issue()
  now_ms += 360_000
  assert.ok(!known.has(second.token_hash))
  await step.run()
  assert.deepEqual(
    [known.has(second.token_hash), known.has(tokenHash('pst_other')), known.size],
    [true, false, 2],
  )
})

test('whoever makes a key wakes those who read tokens, once it is there', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const clock = { now: () => new Date() }
  const needs = { clock, random: systemRandom, new_id: idMaker(clock, systemRandom), seal }
  const customer_id = needs.new_id()
  await sql`
    insert into customer (id, name, deposit_index, deposit_address, created_at)
    values (${customer_id}, 'Somebody', 0, ${'T'.repeat(34)}, ${clock.now()})`
  const known = new KnownTokens()
  const step = readTokensStep({ sql, clock }, known)
  const read = Promise.withResolvers<void>()
  const listening = listenForWakes(url, (name) => {
    if (name === step.name) void step.run().then(() => read.resolve())
  })
  t.after(() => listening.stop())
  await listens(sql)
  const { token } = await sql.begin((tx) => issueKey(tx, needs, { customer_id, name: 'key' }))
  await read.promise
  assert.ok(known.has(tokenHash(token)))
})

/** Waits until somebody listens. */
async function listens(sql: Sql): Promise<void> {
  for (;;) {
    const [one] = await sql`
      select 1 from pg_stat_activity
      where application_name = 'penstock wake' and query = 'listen penstock_wake'
        and state = 'idle' and datname = current_database()`
    if (one) return
    await delay(20)
  }
}
