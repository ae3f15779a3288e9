// What a trial of a policy counts, of answers whose evidence is written by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { insertChecks, MADE_AT } from 'penstock-test/harness/screening_rows.ts'
import { firstIdAt, idOf } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { currentPolicy, type Policy, publishPolicy, SHIPPED_POLICY } from '../engine/policy.ts'
import { tryPolicy } from './trying.ts'

/** Evidence about money that was all of one category: of mixers that is 100.0 and high, of what is
 *  not known 25.0 and low. */
const evidenceOf = (category: string, address: string) =>
  JSON.stringify({
    engine: 'embedded',
    asked: { type: 'address', direction: null },
    notes: [],
    policy: { version: '1', trx_micro_usd: '300000' },
    screened: { address, in_force: null },
    entries: [],
    factors: [{ category, usd: '300.00', direct_usd: '0.00', units: { TRX: '1000000000' } }],
    destinations: null,
    blacklisted_by: [],
  })

type AnswerRow = {
  customer_id?: string
  address?: string
  category?: 'mixer' | 'unidentified'
  score?: string
  level?: 'low' | 'medium' | 'high'
  policy?: number | null
  provider?: string
  kept?: boolean
}

async function insertAnswers(sql: Sql, answers: Record<string, AnswerRow>): Promise<void> {
  for (const [name, answer] of Object.entries(answers)) {
    const { customer_id = 'anna', address = name, category = 'unidentified' } = answer
    const is_mixer = category === 'mixer'
    const { score = is_mixer ? '100.0' : '25.0', level = is_mixer ? 'high' : 'low' } = answer
    const { policy = 1, provider = 'embedded', kept = true } = answer
    const id = idOf(MADE_AT, name)
    await insertChecks(sql, [{ id, customer_id, address, risk_level: level }])
    await sql`
      update aml_check set risk_score = ${score}, policy = ${policy}, provider = ${provider}
      where id = ${id}`
    const canonical = evidenceOf(category, address)
    if (kept)
      await sql`
        insert into aml_evidence
        values (${id}, ${canonical}, encode(sha256(${canonical}::text::bytea), 'hex'))`
  }
}

const tried = (sql: Sql, policy: Partial<Policy>, since = new Date(0)) =>
  tryPolicy(sql, { policy: { ...SHIPPED_POLICY, ...policy }, since })

test('a trial counts what comes out as it was, and what would be another level', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertAnswers(sql, {
    same: {},
    'of bert': { customer_id: 'bert' },
    also: {},
    high: { category: 'mixer' },
    'another score': { score: '24.0' },
    'another level': { level: 'medium' },
    'of a provider': { provider: 'amlbot' },
    'of nobody known': { policy: null },
    'not kept': { kept: false },
  })
  await insertChecks(sql, [
    { id: idOf(MADE_AT, 'failed'), state: 'failed' },
    { id: idOf(MADE_AT, 'waits'), state: 'pending' },
  ])
  const { changes, ...trial } = await tried(sql, { medium_from: 20 })
  assert.deepEqual(trial, {
    answers: 6,
    reproduced: 4,
    left_out: 3,
    before: { low: 4, medium: 1, high: 1 },
    after: { low: 0, medium: 5, high: 1 },
    queue: { before: 1, after: 1 },
    lacking: { net_new: 0, recent: 0, sent: 0, index_rules: 0 },
  })
  assert.deepEqual(changes, [
    { customer_id: 'anna', from: 'low', to: 'medium', answers: 3 },
    { customer_id: 'bert', from: 'low', to: 'medium', answers: 1 },
  ])
  assert.deepEqual((await tried(sql, {})).changes.length, 1, 'the one that was another level')
})

test('who waits for a person is counted once, where the policy has it reviewed', async (t) => {
  const { sql } = await freshDatabase(t)
  const body = { ...SHIPPED_POLICY, review_high_answers: false }
  await sql.begin((tx) => publishPolicy(tx, { body, published_by: 'x', published_at: MADE_AT }))
  const { version } = await currentPolicy(sql)
  await insertAnswers(sql, {
    one: { category: 'mixer', address: 'there' },
    twice: { category: 'mixer', address: 'there' },
    'of bert': { category: 'mixer', address: 'there', customer_id: 'bert' },
    unreviewed: { category: 'mixer', policy: version },
    low: {},
    'low, unreviewed': { policy: version },
  })
  assert.deepEqual((await tried(sql, {})).queue, { before: 2, after: 3 })
  assert.deepEqual((await tried(sql, { review_high_answers: false })).queue, {
    before: 2,
    after: 0,
  })
  assert.deepEqual((await tried(sql, { medium_from: 10, high_from: 20 })).queue.after, 5)
})

test('a trial begins with the answers of a moment, and reads all from there', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertAnswers(sql, { one: {} })
  const answers = async (ms: number) => (await tried(sql, {}, new Date(+MADE_AT + ms))).answers
  assert.deepEqual([await answers(0), await answers(1)], [1, 0])
  const later = new Date(+MADE_AT + 10)
  await sql`
    insert into aml_check (id, customer_id, type, network, address, state, price_sun, solid_number,
      due_at, created_at)
    select ${firstIdAt(later)} || n, 'anna', 'address', 'TRX', 'x', 'pending', 0, 0, ${later},
      ${later} from generate_series(1, 1001) as n`
  await insertChecks(sql, [{ id: idOf(new Date(+later + 1), 'last') }])
  const done: number[] = []
  const policy = SHIPPED_POLICY
  const { left_out } = await tryPolicy(sql, { policy, since: later }, (seen) => done.push(seen))
  assert.deepEqual([left_out, done], [1, [0, 0, 1]])
})
