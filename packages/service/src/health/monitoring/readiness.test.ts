import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase, TestDatabase } from 'penstock-test/harness/database.ts'
import { correctedClock, systemClock } from '../../lib/clock.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { createCustomer } from '../../people/customers/customers.ts'
import { issueKey } from '../../people/keys/keys.ts'
import { readMigrations } from '../../platform/database/migrations.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { alerts } from './alerts.ts'
import { watchReadiness } from './readiness.ts'

const known_schema = (await readMigrations()).at(-1)!.number
const seal = sealWith({ current: 'k1', keys: { k1: new Uint8Array(32).fill(1) } }, systemRandom)

/** A watch whose clock is ours to turn. */
async function watched(t: TestContext, needs: { known_schema?: number; loosened?: string[] } = {}) {
  const { sql, name, url } = await freshDatabase(t)
  const clock = { ahead_ms: 0, now: () => new Date(Date.now() + clock.ahead_ms) }
  const corrected = correctedClock(clock)
  // As in a process that does everything: who runs the steps may not read the keys of customers.
  const roles = new TestDatabase({ name, url })
  const worker_sql = roles.connect({ role: 'penstock_worker' })
  const api_sql = roles.connect({ role: 'penstock_api' })
  t.after(() => Promise.all([worker_sql.close(), api_sql.close()]))
  const own = { clock, corrected, seal, known_schema }
  const connected = { sql: worker_sql, credentials_sql: api_sql }
  const watch = watchReadiness({ ...connected, ...own, ...needs })
  const look = async () => {
    await watch.step.run()
    return answer()
  }
  const answer = () => {
    const { ready, reasons, notices } = watch.readiness()
    return {
      ready,
      reasons: reasons.map(({ reason }) => reason),
      notices: notices.map(({ reason }) => reason),
    }
  }
  return { sql, clock, watch, look, answer }
}

/** A key whose secret another process has sealed, with a key of its own. */
async function issueElsewhere(tx: Tx): Promise<void> {
  const needs = {
    clock: systemClock,
    random: systemRandom,
    new_id: idMaker(systemClock, systemRandom),
    seal: sealWith({ current: 'k1', keys: { k1: new Uint8Array(32).fill(2) } }, systemRandom),
    deposit_address: () => person('anna').address,
  }
  const { id: customer_id } = await createCustomer(tx, needs, { name: 'Anna' })
  await issueKey(tx, needs, { customer_id, name: 'shop' })
}

const follow = (sql: Sql, seen_at: Date, head_seen_at = seen_at) => sql`
  insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at,
    head_seen_at)
  values (1, 'x', ${head_seen_at}, 1, 1, ${seen_at}, ${head_seen_at})
  on conflict (one) do update set seen_at = excluded.seen_at, head_seen_at = excluded.head_seen_at`

test('a process is ready from its start to its stop, while the database answers', async (t) => {
  const { clock, watch, look, answer, sql } = await watched(t)
  // Time stands: between two lines here, a busy machine may let more than a second go by.
  const began_ms = Date.now()
  clock.now = () => new Date(began_ms + clock.ahead_ms)
  await follow(sql, new Date())
  assert.deepEqual(answer(), { ready: false, reasons: ['starting'], notices: [] })
  assert.deepEqual(await look(), { ready: false, reasons: ['starting'], notices: [] })
  watch.enter('serving')
  assert.deepEqual(answer(), { ready: true, reasons: [], notices: [] })
  clock.ahead_ms = 4_000
  assert.equal(answer().ready, true)
  clock.ahead_ms = 7_000
  assert.deepEqual(answer().reasons, ['database_silent'])
  assert.deepEqual((await look()).reasons, [], 'it answers again')
  watch.enter('stopping')
  assert.deepEqual(answer().reasons, ['stopping'])
})

test('that nothing is sold is said, and takes no process off the net', async (t) => {
  const { watch, look, sql } = await watched(t)
  watch.enter('serving')
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000)
  assert.deepEqual(await look(), { ready: true, reasons: [], notices: ['chain_unknown'] })
  await follow(sql, ago(45))
  assert.deepEqual(await look(), { ready: true, reasons: [], notices: ['chain_silent'] })
  await follow(sql, ago(0), ago(90))
  assert.deepEqual(await look(), { ready: true, reasons: [], notices: ['chain_still'] })
  await follow(sql, ago(0))
  await sql`update service set on_sale = false`
  assert.deepEqual(await look(), { ready: true, reasons: [], notices: ['off_sale'] })
})

test('a wrong clock, another sealing key and an older database make it not ready', async (t) => {
  const { clock, watch, look, sql } = await watched(t)
  watch.enter('serving')
  clock.ahead_ms = 29_000
  assert.deepEqual((await look()).reasons, [])
  for (const ahead_ms of [32_000, -32_000]) {
    clock.ahead_ms = ahead_ms
    assert.deepEqual((await look()).reasons, ['clock_off'])
    // What is decided goes by the clock of the database all the same.
    await follow(sql, new Date())
    assert.deepEqual((await look()).notices, [])
  }
  await sql`delete from chain`
  clock.ahead_ms = 0
  await sql.begin((tx) => issueElsewhere(tx))
  // Which secret is the newest is read every ten seconds.
  clock.ahead_ms = 10_000
  assert.deepEqual((await look()).reasons, ['sealing_key'])
  await sql`update api_key set revoked_at = now()`
  clock.ahead_ms = 20_000
  assert.deepEqual((await look()).reasons, [])
  const old = await watched(t, { known_schema: known_schema + 1 })
  old.watch.enter('serving')
  assert.deepEqual((await old.look()).reasons, ['schema_old'])
  const ahead = await watched(t, { known_schema: known_schema - 1 })
  ahead.watch.enter('serving')
  assert.deepEqual(await ahead.look(), {
    ready: true,
    reasons: [],
    notices: ['chain_unknown', 'schema_new'],
  })
})

test('a process with loosened safety says so, and status warns of it', async (t) => {
  const { sql, clock, look } = await watched(t, {
    loosened: ['PENSTOCK_ALLOW_HTTP_NODES', 'PENSTOCK_ALLOW_OLD_NODE'],
  })
  await look()
  const warned = async () =>
    (await alerts({ sql, now: clock.now() })).filter(({ alert }) => alert === 'safety_loosened')
  const [warning] = await warned()
  assert.equal(
    warning?.what,
    'a process runs with PENSTOCK_ALLOW_HTTP_NODES, PENSTOCK_ALLOW_OLD_NODE',
  )
  clock.ahead_ms = 299_000
  await look()
  clock.ahead_ms = 500_000
  assert.equal((await warned()).length, 1, 'it goes on')
  clock.ahead_ms = 700_000
  assert.deepEqual(await warned(), [])
})
