// Which answers wait for a person, by what was decided before; and what a decision, a list and a
// look at one are about: on rows.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { ownTransaction, untilBlocked } from 'penstock-test/harness/own_transaction.ts'
import { insertChecks, insertReviews, MADE_AT } from 'penstock-test/harness/screening_rows.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { readBars } from '../engine/bars.ts'
import { allowedUntil, makeEntry } from '../labels/entries.ts'
import type { AnsweredCheck, Check } from './checks.ts'
import { type Decision, decideReview, listReviews, openReviews, showReview } from './reviews.ts'

const clock = { now: () => MADE_AT }
const needs = { clock, new_id: idMaker(clock, systemRandom) }
const address = (name: string) => person(name).address

const decide = (sql: Sql, check_id: string, decision: Decision) =>
  sql.begin((tx) =>
    decideReview(tx, needs, { check_id, decision, reason: 'x', by: 'olga', at: MADE_AT }),
  )

type BriefOutcome = { score?: string; raw?: string; level?: 'low' | 'medium' | 'high' }

/** The answer of a check, with what bars its address now. */
async function answerOf(tx: Tx, check_id: string, said: BriefOutcome): Promise<AnsweredCheck> {
  const { score = '75.0', raw = score, level = 'high' } = said
  const [check] = await tx<Check>`select * from aml_check where id = ${check_id}`
  const { customer_id } = check!
  const factor = { name: 'mixer', label: 'Mixer', group: 'high', score: 0.5 } as const
  const [bars] = await readBars(tx, [{ address: check!.address, customer_id }], MADE_AT)
  return {
    check: check!,
    result: {
      outcome: {
        factors: [factor],
        base_score: score,
        raw_score: raw,
        score,
        level,
        blacklist: false,
        floors: [],
      },
      evidence: '{}',
      provider: 'embedded',
      policy: 1,
      index: undefined,
      bars,
    },
  }
}

async function reviewing(t: TestContext) {
  const { sql, url } = await freshDatabase(t)
  /** Whether an answer about the address of a name waits. */
  const waits = async (name: string, said: BriefOutcome = {}, customer_id = 'anna') => {
    const id = `${name} ${customer_id} ${JSON.stringify(said)}`
    await insertChecks(sql, [{ id, address: address(name), customer_id }])
    await sql.begin(async (tx) => openReviews(tx, [await answerOf(tx, id, said)], MADE_AT))
    return (await sql`select from aml_review where check_id = ${id}`).length === 1
  }
  /** A review of an answer of 75, open or decided, of the address of a name. */
  const before = async (name: string, state: Decision | 'open', customer_id = 'anna') => {
    const check_id = `${name} of ${customer_id}`
    const one = { address: address(name), customer_id }
    await insertChecks(sql, [{ id: check_id, ...one }])
    await insertReviews(sql, [{ check_id, ...one }])
    if (state !== 'open') await decide(sql, check_id, state)
  }
  return { sql, url, waits, before }
}

test('what was decided before says whether an answer waits again', async (t) => {
  const { sql, waits, before } = await reviewing(t)
  await before('denied by bert', 'deny', 'bert')
  for (const name of ['denied', 'withdrawn', 'withdrawn, no worse']) await before(name, 'deny')
  await sql`
    update aml_entry set withdrawn_at = ${MADE_AT}
    where address = any(${['withdrawn', 'withdrawn, no worse'].map(address)})`
  for (const name of ['left, better', 'left, the same', 'left, worse']) await before(name, 'leave')
  for (const name of ['allowed, worse', 'allowed', 'allowed and grown']) await before(name, 'allow')
  await sql`update aml_entry set seen_severe_bp = 0 where address = ${address('allowed and grown')}`
  await before('waiting', 'open')
  for (const [name, score, expected] of [
    ['new', '75.0', true],
    ['waiting', '76.0', false],
    ['denied by bert', '75.0', true],
    ['denied', '99.0', false],
    ['withdrawn', '76.0', true],
    ['withdrawn, no worse', '75.0', false],
    ['left, better', '74.0', false],
    ['left, the same', '75.0', false],
    ['left, worse', '76.0', true],
    ['allowed', '75.0', false],
    ['allowed, worse', '76.0', true],
    ['allowed and grown', '75.0', true],
  ] as const)
    assert.equal(await waits(name, { score }), expected, name)
})

test('a worse answer waits though a better one is decided at the same moment', async (t) => {
  const { sql, waits, before } = await reviewing(t)
  await before('anna', 'open')
  const leave = { check_id: 'anna of anna', decision: 'leave', reason: 'x', by: 'olga' } as const
  const worse = await sql.begin(async (tx) => {
    await decideReview(tx, needs, { ...leave, at: MADE_AT })
    const waiting = waits('anna', { score: '99.0' })
    await untilBlocked(sql, waiting)
    return { waiting }
  })
  assert.equal(await worse.waiting, true)
})

test('what is high waits, and what would be high and has grown since it was allowed', async (t) => {
  const { sql, waits } = await reviewing(t)
  const entry = (name: string, kind: 'allow' | 'deny', seen: number | null) =>
    sql.begin(async (tx) => {
      const made = { reason: 'x', made_by: 'olga', made_at: MADE_AT, expires_at: null }
      const about = { customer_id: 'anna', address: address(name), kind }
      const { id } = await makeEntry(tx, needs.new_id, { ...about, ...made })
      await tx`update aml_entry set seen_severe_bp = ${seen} where id = ${id}`
    })
  for (const name of ['a', 'b', 'c', 'd', 'both', 'the first', 'the last'])
    await entry(name, 'allow', name === 'd' ? null : name === 'the last' ? 5_000 : 0)
  await entry('both', 'deny', 5_000)
  await entry('the first', 'allow', 5_000)
  await entry('the last', 'allow', 0)
  for (const [name, level, raw, expected] of [
    ['plain', 'high', '10.0', true],
    ['other', 'medium', '75.0', false],
    ['a', 'medium', '70.0', true],
    ['b', 'medium', '69.9', false],
    ['c', 'low', '10.0', false],
    ['d', 'medium', '75.0', false],
    ['both', 'medium', '75.0', true],
    ['the first', 'medium', '75.0', true],
    ['the last', 'medium', '75.0', true],
  ] as const)
    assert.equal(await waits(name, { score: '20.0', level, raw }), expected, name)
})

test('what grew before the address was allowed waits again', async (t) => {
  const { sql, waits, before } = await reviewing(t)
  const ten = JSON.stringify([{ name: 'mixer', label: 'Mixer', group: 'high', score: 0.1 }])
  const evidence = '{"factors":[{"category":"mixer","usd":"90.00"}]}'
  for (const [name, factors] of [
    ['grown', ten],
    ['the same', ten.replace('0.1', '0.5')],
    ['not kept', ten],
  ] as const) {
    await before(name, 'open')
    const id = `${name} of anna`
    await sql`update aml_check set policy = 1, risk_factors = ${factors}::jsonb where id = ${id}`
    if (name !== 'not kept')
      await sql`
        insert into aml_evidence
        values (${id}, ${evidence}, encode(sha256(${evidence}::text::bytea), 'hex'))`
    await decide(sql, id, 'allow')
  }
  const seen = await sql`
    select seen_severe_bp as bp, seen_severe_usd as usd from aml_entry order by 1`
  const of = (bp: number | null, usd: bigint | null) => ({ bp, usd })
  assert.deepEqual(seen, [of(1_000, 90n), of(5_000, 90n), of(null, null)])
  // The next answer has half of it severe.
  for (const [name, expected] of [
    ['grown', true],
    ['the same', false],
    ['not kept', false],
  ] as const)
    assert.equal(await waits(name, { score: '20.0', level: 'low', raw: '75.0' }), expected, name)
})

test('two that use the same allow entries of the house do not stop each other', async (t) => {
  const { sql, url } = await reviewing(t)
  const made = { kind: 'allow', reason: 'x', made_by: 'olga', made_at: MADE_AT } as const
  for (const name of ['a', 'b']) {
    const entry = { customer_id: null, address: address(name), expires_at: null, ...made }
    await sql.begin((tx) => makeEntry(tx, () => name, entry))
  }
  await insertChecks(
    sql,
    ['a', 'b'].map((id) => ({ id, address: address(id) })),
  )
  const other = await ownTransaction(t, url)
  const use = `update aml_entry set seen_severe_bp = 100 where id = $1`
  await other.query(use, ['a'])
  const answering = sql.begin(async (tx) => {
    const of = (id: string) => answerOf(tx, id, { level: 'low' })
    await openReviews(tx, [await of('b'), await of('a')], MADE_AT)
  })
  await other.waitedFor(answering)
  await other.query(use, ['b'])
  await other.commit()
  await answering
  // Each has far more than the other saw.
  const waiting = await sql<{ check_id: string }>`select check_id from aml_review order by 1`
  assert.deepEqual(waiting, [{ check_id: 'a' }, { check_id: 'b' }])
})

test('of answers about one address the worst waits, and each address for itself', async (t) => {
  const { sql } = await reviewing(t)
  await insertChecks(sql, [
    { id: 'better', address: address('one') },
    { id: 'worse', address: address('one') },
    { id: 'other', address: address('other') },
    { id: 'of bert', address: address('one'), customer_id: 'bert' },
  ])
  await sql.begin(async (tx) => {
    const answers = [
      await answerOf(tx, 'better', { score: '71.0' }),
      await answerOf(tx, 'worse', { score: '72.0' }),
      await answerOf(tx, 'other', {}),
      await answerOf(tx, 'of bert', {}),
    ]
    await openReviews(tx, [], MADE_AT)
    await openReviews(tx, answers, MADE_AT)
  })
  const noted = await sql<{ subject: string }>`select subject from event_note order by subject`
  assert.deepEqual(
    noted.map(({ subject }) => subject),
    ['review:of bert', 'review:other', 'review:worse'],
  )
})

test('a decision is about its own answer, and the others go on waiting', async (t) => {
  const { sql, before } = await reviewing(t)
  for (const name of ['a', 'b', 'c']) await before(name, 'open')
  const { after } = await decide(sql, 'b of anna', 'deny')
  const [next] =
    await sql`select address, supersedes from aml_check where id = ${after.next_check_id}`
  assert.deepEqual(next, { address: address('b'), supersedes: 'b of anna' })
  await decide(sql, 'c of anna', 'allow')
  const entries = await sql`select address, kind, expires_at from aml_entry order by kind`
  assert.deepEqual(entries, [
    { address: address('c'), kind: 'allow', expires_at: allowedUntil(MADE_AT) },
    { address: address('b'), kind: 'deny', expires_at: null },
  ])
  const rows = await sql<{ text: string }>`
    select concat_ws(' ', check_id, state, decision) as text from aml_review order by check_id`
  assert.deepEqual(
    rows.map(({ text }) => text),
    ['a of anna open', 'b of anna decided deny', 'c of anna decided allow'],
  )
  await assert.rejects(decide(sql, 'b of anna', 'leave'), /olga has decided it already: deny/)
  await assert.rejects(decide(sql, 'none', 'leave'), /There is no review of check none/)
})

test('reviews are listed by state, newest first, and shown with what was before', async (t) => {
  const { sql } = await freshDatabase(t)
  const here = { address: 'here' }
  await insertChecks(sql, [
    { id: '1', risk_level: 'low' },
    { id: '2', risk_level: 'medium' },
    { id: '3' },
    { id: '4' },
    { id: '5', ...here },
    { id: '6', customer_id: 'bert' },
    { id: '7' },
  ])
  const decided = { state: 'decided' } as const
  await insertReviews(sql, [
    { check_id: '1', ...decided },
    { check_id: '2', ...decided },
    { check_id: '3', ...decided },
    { check_id: '5', ...here, ...decided },
    { check_id: '6', customer_id: 'bert', ...decided },
    { check_id: '7' },
  ])
  await sql`insert into aml_evidence values ('3', '{"a":1}', encode(sha256('{"a":1}'), 'hex'))`
  const list = async (wanted: Partial<Parameters<typeof listReviews>[1]>) =>
    (await listReviews(sql, { limit: 10, ...wanted })).map(({ check_id }) => check_id).join('')
  assert.equal(await list({}), '765321')
  assert.equal(await list({ state: 'open' }), '7')
  assert.equal(await list({ state: 'decided' }), '65321')
  assert.equal(await list({ before: '3' }), '21')
  assert.equal(await list({ state: 'open', before: '7' }), '')
  assert.equal(await list({ limit: 2 }), '76')
  const [two] = await listReviews(sql, { before: '3', limit: 1 })
  assert.equal(two!.risk_level, 'medium')
  const shown = await showReview(sql, '3')
  assert.deepEqual(shown.evidence, { a: 1 })
  assert.deepEqual(
    shown.earlier.map(({ check_id }) => check_id),
    ['2', '1'],
  )
  const first = await showReview(sql, '1')
  assert.deepEqual([first.evidence, first.earlier, first.risk_level], [null, [], 'low'])
  assert.deepEqual((await showReview(sql, '6')).earlier, [])
  assert.deepEqual((await showReview(sql, '5')).earlier, [])
  await assert.rejects(showReview(sql, '4'), /There is no review of check 4/)
})
